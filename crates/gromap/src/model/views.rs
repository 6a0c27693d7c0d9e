//! Several views of the same samples: one plan, one map.
//!
//! Each view is scaled, projected and compared by itself, divided by its unit u_v, and counts by its weight:
//!
//! ```text
//! C_X = Σ_v w_v·C_v/u_v,   Σ_v w_v = 1        u_v = hᵀC_v h (KL), ‖C_v‖ in the metric of h (square), 1 (binary cross-entropy)
//! ```
//!
//! All losses split as f1(a) + f2(b) − a·g(b), so that the loss of the sum is the weighted sum of the losses of the views, up to
//! what no plan changes: a fit to C_X is a fit to all views at once.
//!
//! Learned weights minimise, together with a plan T and a free target C̄ of as many clusters as prototypes are asked for, at most 50,
//!
//! ```text
//! J(T, C̄, w) = Σ_v w_v·E_v(T, C̄) + λ·Σ_v w_v·log(V·w_v)
//! ```
//!
//! E_v is what the common clusters leave unexplained of view v. For given T and C̄ the best weights are w_v ∝ exp(−E_v/λ); for given
//! weights T and C̄ are clusters of C_X, and descend. So J never rises. λ is a tenth of what the views lose with one cluster, on
//! average: none takes all because it is the easiest to fit, though noise is left with next to nothing.

use super::options::Common;
use super::preparation::Preparation;
use super::prepared::{Held, Prepared, Purpose};
use crate::affinity::Training;
use crate::data::{Data, Samples};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::numeric::{Matrix, Scalar};
use crate::observe::{Observer, Stopping};
use crate::plan::Plan;
use crate::similarity::{Similarity, WeightedSum, merged};
use crate::solve::{Barycenter, Input, Settings, Solver};
use crate::start::{Ground, Start};
use crate::transport::{PlanSummary, Products, inner, quadratic_form};
use crate::weights::{SampleWeights, ViewWeights};

/// λ of the entropy of learned weights.
const TEMPERATURE: f64 = 0.1;
/// Clusters that weights are learned with, at most.
const MOST_CLUSTERS: usize = 50;
/// Rounds of plan and weights, which end when one lowers J by no more than this.
const MOST_ROUNDS: usize = 30;
const TOLERANCE: f64 = 1e-6;

/// A view on its way into a fit.
pub(crate) struct View<'a> {
    /// w_v.
    pub(crate) share: f64,
    /// w_v/u_v.
    pub(crate) factor: f64,
    pub(crate) preparation: Preparation,
    /// Scaled and projected samples, if there are samples.
    pub(crate) samples: Option<Samples<'a>>,
    /// The features as they were given: the prototypes have their means.
    pub(crate) features: Option<Samples<'a>>,
    /// The similarity of this view, where there are several.
    pub(crate) similarity: Option<Held<'a>>,
}

/// What a model keeps of a view.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FittedView {
    /// w_v.
    pub(crate) share: f64,
    /// w_v/u_v.
    pub(crate) factor: f64,
    pub(crate) preparation: Preparation,
    pub(crate) training: Training,
}

impl<'a> View<'a> {
    /// The only one.
    pub(crate) fn only(features: Option<Samples<'a>>) -> Self {
        let preparation = Preparation::default();
        Self { share: 1.0, factor: 1.0, preparation, samples: None, features, similarity: None }
    }
}

/// Prepared samples of all views in single precision, each with a variance of its weight: what starts are made from.
pub(crate) fn together<'m>(views: &[&'m View<'_>], weights: &[f64]) -> Option<Matrix<'m, f32>> {
    let single = |view: &&'m View<'_>| Some(view.preparation.single(view.samples.as_ref()?));
    if let [only] = views {
        return single(only);
    }
    let parts: Vec<Matrix<'_, f32>> = views.iter().map(single).collect::<Option<_>>()?;
    let factors: Vec<f64> =
        views.iter().zip(&parts).map(|(view, part)| (view.share / variance(part, weights)).sqrt()).collect();
    Some(side_by_side(&parts, |v, value| (factors[v] * value) as f32))
}

/// Σ h_i·‖x_i − mean‖², not zero.
fn variance(samples: &Matrix<'_, f32>, weights: &[f64]) -> f64 {
    let of_column = |j: usize| {
        let values = || weights.iter().enumerate().map(|(i, h)| (h, f64::from(samples[(i, j)])));
        let mean: f64 = values().map(|(h, x)| h * x).sum();
        values().map(|(h, x)| h * (x - mean) * (x - mean)).sum::<f64>()
    };
    (0..samples.columns()).map(of_column).sum::<f64>().max(f64::MIN_POSITIVE)
}

/// Matrices with as many rows, one beside the other.
pub(crate) fn side_by_side<S: Scalar, R: Scalar>(
    parts: &[Matrix<'_, S>],
    entry: impl Fn(usize, f64) -> R,
) -> Matrix<'static, R> {
    let columns: Vec<(usize, usize)> =
        parts.iter().enumerate().flat_map(|(v, part)| (0..part.columns()).map(move |j| (v, j))).collect();
    let rows = parts.first().map_or(0, Matrix::rows);
    Matrix::from_fn(rows, columns.len(), |i, c| {
        let (v, j) = columns[c];
        entry(v, parts[v][(i, j)].to_f64())
    })
}

/// Refuses views that do not belong together.
pub(crate) fn check(views: &[Data<'_>]) -> Result<()> {
    let Some(first) = views.first() else {
        return Err(Error::parameter("number of views", 0.0, "at least 1"));
    };
    for (v, view) in views.iter().enumerate() {
        if matches!(view, Data::Graph(_) | Data::Views(_)) {
            let message = "a view is samples, distances or a similarity: a graph also says what its nodes weigh";
            return Err(Error::Unsupported(message.into()).in_view(v, views.len()));
        }
        if std::mem::discriminant(view) != std::mem::discriminant(first) {
            let message = "it is of another kind than the first: all must be samples, distances or similarities";
            return Err(Error::Unsupported(message.into()).in_view(v, views.len()));
        }
        Error::check_len("number of samples", first.len(), view.len())
            .map_err(|error| error.in_view(v, views.len()))?;
    }
    Ok(())
}

impl Common {
    /// Prepares views one by one, and puts them together.
    pub(super) fn prepare_views<'a>(
        &self,
        views: &'a [Data<'_>],
        purpose: Purpose,
        weights: &SampleWeights,
        observer: &mut dyn Observer,
    ) -> Result<Prepared<'a>> {
        let count = views.len();
        let shares = self.view_weights.first(count)?;
        let mut parts = Vec::new();
        for (v, view) in views.iter().enumerate() {
            let part = self.prepare_one(view, purpose, (weights, None), observer).and_then(|part| {
                purpose.loss.check_similarity(&part.similarity().bounds())?;
                Ok(part)
            });
            parts.push(part.map_err(|error| error.in_view(v, count))?);
        }
        let of_view = |(v, part): (usize, &Prepared<'_>)| {
            Measured::of(part.similarity(), purpose.loss, weights).map_err(|error| error.in_view(v, count))
        };
        let measured = parts.iter().enumerate().map(of_view).collect::<Result<Vec<_>>>()?;
        let mut together = Together { parts, measured, shares, weights, loss: purpose.loss };
        if self.view_weights == ViewWeights::Learned && count > 1 {
            let is_local = self.recipe().is_local();
            let clusters = purpose.prototypes.unwrap_or(usize::MAX).min(MOST_CLUSTERS).min(weights.len());
            together.shares = together.learned(clusters, is_local, self.settings.seed)?.0;
        }
        together.prepared(purpose.is_fused)
    }
}

/// What is known of the similarity of a view by itself.
struct Measured {
    /// u_v.
    unit: f64,
    /// Σ f1(C_v/u_v)·h·h, if known.
    constant: Option<f64>,
    /// hᵀ(C_v/u_v)h.
    mass: f64,
}

impl Measured {
    fn of(similarity: &dyn Similarity, loss: Loss, weights: &SampleWeights) -> Result<Self> {
        let everything = Plan::from_labels(vec![0; weights.len()], 1, weights.clone())?;
        let mass = PlanSummary::new(&everything, &Products::new(similarity, &everything)).mass[(0, 0)];
        let constant = similarity.constant(loss, weights);
        let unit = match loss {
            Loss::Kl => mass,
            Loss::Square => constant.map_or(f64::NAN, f64::sqrt),
            Loss::BinaryCrossEntropy => 1.0,
        };
        if !(unit.is_finite() && unit > 0.0) {
            let allowed = "known, positive and finite: it is what a view is divided by";
            return Err(Error::parameter("size of the similarity", unit, allowed));
        }
        let constant = constant.map(|constant| match loss {
            Loss::Kl => constant / unit - unit.ln(),
            Loss::Square => constant / (unit * unit),
            Loss::BinaryCrossEntropy => constant,
        });
        Ok(Self { unit, constant, mass: mass / unit })
    }

    /// The loss of a single cluster.
    fn whole(&self, loss: Loss) -> Result<f64> {
        let constant = self.constant.ok_or_else(|| {
            let message = "weights of views cannot be learned: the loss of a view of low rank is not fully known";
            Error::Unsupported(format!("{message}; give view_weights"))
        })?;
        Ok(constant + loss.at_best_target(self.mass, 1.0))
    }
}

/// Views that are put together.
struct Together<'a, 'w> {
    parts: Vec<Prepared<'a>>,
    measured: Vec<Measured>,
    shares: Vec<f64>,
    weights: &'w SampleWeights,
    loss: Loss,
}

/// The sum of some views: one matrix where their forms allow it.
enum Sum<'s> {
    Merged(Box<dyn Similarity>),
    Operators(WeightedSum<'s>),
}

impl Sum<'_> {
    fn similarity(&self) -> &dyn Similarity {
        match self {
            Self::Merged(similarity) => &**similarity,
            Self::Operators(sum) => sum,
        }
    }
}

impl<'a> Together<'a, '_> {
    /// C_X of these weights.
    fn sum(&self, shares: &[f64]) -> Result<Sum<'_>> {
        let all = shares.iter().zip(&self.measured).zip(&self.parts);
        let terms = all.map(|((share, measured), part)| (share / measured.unit, part.similarity()));
        let terms: Vec<(f64, &dyn Similarity)> = terms.filter(|(factor, _)| *factor > 0.0).collect();
        match merged(&terms)? {
            Some(similarity) => Ok(Sum::Merged(similarity)),
            None => WeightedSum::new(terms).map(Sum::Operators),
        }
    }

    /// Clusters of the weighted sum and weights by turns, from equal weights on: the weights, and J after every round.
    fn learned(&self, clusters: usize, is_local: bool, seed: u64) -> Result<(Vec<f64>, Vec<f64>)> {
        let whole = self.measured.iter().map(|measured| measured.whole(self.loss)).sum::<Result<f64>>()?;
        let temperature = (TEMPERATURE * whole / self.parts.len() as f64).max(f64::MIN_POSITIVE);
        let stopping = Stopping { max_rounds: 100, rel_tolerance: 1e-7, abs_tolerance: 0.0 };
        let settings = Settings { solver: Solver::Vertex, stopping, seed, ..Settings::default() };
        let mut shares = self.shares.clone();
        let mut start: Option<Plan> = None;
        let mut history: Vec<f64> = Vec::new();
        while history.len() < MOST_ROUNDS {
            let sum = self.sum(&shares)?;
            let plan = match start.take() {
                Some(plan) => plan,
                None => self.start(sum.similarity(), clusters, is_local, seed)?,
            };
            let input = Input::new(sum.similarity()).sample_weights(self.weights.clone()).start(plan);
            let problem = Barycenter::new(vec![input], clusters).loss(self.loss).settings(settings);
            let mut found = problem.solve_observed(&mut ())?;
            let plan = found.plans.remove(0);
            let losses = self.losses(&plan, &found.target);
            let next = best_shares(&losses, temperature);
            history.push(objective(&next, &losses, temperature));
            shares = next;
            start = Some(plan);
            if let [.., before, now] = history[..]
                && before - now <= TOLERANCE * temperature
            {
                break;
            }
        }
        Ok((shares, history))
    }

    /// Where clusters begin.
    fn start(&self, similarity: &dyn Similarity, clusters: usize, is_local: bool, seed: u64) -> Result<Plan> {
        let views: Vec<&View<'_>> = self.parts.iter().flat_map(|part| &part.views).collect();
        let samples = together(&views, self.weights);
        let (weights, loss, solver) = (self.weights, self.loss, Solver::Vertex);
        let ground = Ground { similarity, samples, weights, loss, is_local, is_graph: false, solver };
        Start::Auto.plan(&ground, clusters, seed)
    }

    /// E_v of every view.
    fn losses(&self, plan: &Plan, target: &Matrix<'_>) -> Vec<f64> {
        let map = |f: &dyn Fn(f64) -> f64| Matrix::from_fn(target.rows(), target.columns(), |k, l| f(target[(k, l)]));
        let (repulsion, attraction) = (map(&|b| self.loss.f2(b)), map(&|b| self.loss.g(b)));
        let of_view = |(part, measured): (&Prepared<'_>, &Measured)| {
            let summary = PlanSummary::new(plan, &Products::new(part.similarity(), plan));
            let q = &summary.weights;
            let pulled = inner(&summary.mass, &attraction) / measured.unit;
            measured.constant.unwrap_or(0.0) + quadratic_form(q, &repulsion, q) - pulled
        };
        self.parts.iter().zip(&self.measured).map(of_view).collect()
    }

    /// One similarity for all views, and what each of them keeps.
    fn prepared(self, is_fused: bool) -> Result<Prepared<'a>> {
        let count = self.parts.len();
        let given: Option<Vec<&'a dyn Similarity>> = self.parts.iter().map(Prepared::given_similarity).collect();
        let similarity = match (self.sum(&self.shares)?, given) {
            (Sum::Merged(similarity), _) => Held::Built(similarity),
            (Sum::Operators(_), Some(given)) => {
                let all = self.shares.iter().zip(&self.measured).zip(given);
                let terms = all.map(|((share, measured), part)| (share / measured.unit, part));
                Held::Sum(WeightedSum::new(terms.filter(|(factor, _)| *factor > 0.0).collect())?)
            }
            (Sum::Operators(_), None) => {
                return Err(Error::Unsupported("similarities of views that were built cannot be added".into()));
            }
        };
        let Self { parts, measured, shares, weights, .. } = self;
        let mut all = Prepared::of(similarity, parts[0].fitted_to, Vec::new(), weights.clone());
        let mut fused = Vec::new();
        for (v, part) in parts.into_iter().enumerate() {
            let Prepared { similarity, views, fused: own, warnings, is_inexact, .. } = part;
            all.warnings.extend(warnings.into_iter().map(|warning| format!("view {} of {count}: {warning}", v + 1)));
            all.is_inexact |= is_inexact;
            fused.extend(own);
            if let Some(view) = views.into_iter().next() {
                let (share, factor) = (shares[v], shares[v] / measured[v].unit);
                all.views.push(View { share, factor, similarity: Some(similarity), ..view });
            }
        }
        all.fused = (is_fused && fused.len() == count).then(|| Samples::side_by_side(fused));
        Ok(all)
    }
}

/// w_v ∝ exp(−E_v/λ).
fn best_shares(losses: &[f64], temperature: f64) -> Vec<f64> {
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let powers: Vec<f64> = losses.iter().map(|loss| ((least - loss) / temperature).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// J = Σ w_v·E_v + λ·Σ w_v·log(V·w_v).
fn objective(shares: &[f64], losses: &[f64], temperature: f64) -> f64 {
    let count = shares.len() as f64;
    let entropy = |share: f64| if share > 0.0 { share * (count * share).ln() } else { 0.0 };
    shares.iter().zip(losses).map(|(&share, loss)| share * loss + temperature * entropy(share)).sum()
}

#[cfg(test)]
#[path = "views_tests.rs"]
mod tests;
