//! CO-Optimal Transport (Redko et al. 2020) as co-clustering: groups of samples, groups of features, and the matrix of their means.
//!
//! ```text
//! min over S, T, U:  Σ (X[i,j] − S[k,l])²·T[i,k]·U[j,l],    T·1 = h,  U·1 = w
//! ```
//!
//! with the column sums of T and U learnt or given. Given U and S, the cost of sample i at cluster k is, up to a constant of the row,
//! a squared distance between m numbers, ‖y_i − s_k‖² with y[l] = (X·U)[i,l]/√u_l and s[l] = S[k,l]·√u_l (u = Uᵀ1), so a round is two
//! transport problems between few points and the mean S = TᵀX·U ⊘ t·uᵀ after each. None of the three raises the objective.

use crate::data::Samples;
use crate::error::{Error, Result};
use crate::memory::{FIXED, MemoryPlan, bytes};
use crate::numeric::Matrix;
use crate::numeric::kmeans::KMeans;
use crate::observe::{Observer, Round, Stage, StopReason, Stopping, drive};
use crate::outcome::{Outcome, lowest_of};
use crate::plan::{Plan, check_prototypes};
use crate::setters;
use crate::transport::FeatureCost;
use crate::transport::balanced::{nearest, solve};
use crate::weights::{Demand, PrototypeWeights, SampleWeights, WeightRule};

/// Rounds of the k-means that a descent begins with.
const ROUNDS: usize = 30;

/// Co-clustering of samples and features.
///
/// ```
/// use gromap::Matrix;
/// use gromap::solve::Coot;
/// // Blocks of a checkerboard.
/// let x = Matrix::from_fn(12, 9, |i, j| if (i / 6 + j / 3) % 2 == 0 { 1.0 } else { 0.0 });
/// let found = Coot::builder(2, 2).fit(&x)?;
/// assert!(found.outcome.loss < 1e-12);
/// let (rows, columns) = (found.plan.labels(), found.feature_plan.labels());
/// assert!((0..12).all(|i| (rows[i] == rows[0]) == (i < 6)));
/// assert!((0..9).all(|j| (columns[j] == columns[0]) == (j / 3 != 1)));
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Coot {
    /// Clusters of samples n.
    pub clusters: usize,
    /// Clusters of features m.
    pub feature_clusters: usize,
    /// What clusters of samples weigh.
    pub prototype_weights: PrototypeWeights,
    /// What clusters of features weigh.
    pub feature_weights: PrototypeWeights,
    /// Starts from several seeds, of which the lowest loss is kept.
    pub n_init: usize,
    /// When to stop.
    pub stopping: Stopping,
    /// Seed of the starts.
    pub seed: u64,
}

/// Both memberships, and what the clusters have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedCoot {
    /// From samples to their clusters, T.
    pub plan: Plan,
    /// From features to theirs, U.
    pub feature_plan: Plan,
    /// The summary S, n×m: the mean of every block.
    pub summary: Matrix<'static>,
    /// How they were reached.
    pub outcome: Outcome,
}

impl Coot {
    /// So many clusters of samples and of features, with learnt weights.
    pub fn builder(clusters: usize, feature_clusters: usize) -> Self {
        Self {
            clusters,
            feature_clusters,
            prototype_weights: PrototypeWeights::Learned,
            feature_weights: PrototypeWeights::Learned,
            n_init: 1,
            stopping: Stopping { max_rounds: 200, rel_tolerance: 1e-9, abs_tolerance: 0.0 },
            seed: 0,
        }
    }

    setters! {
        /// What clusters of samples weigh: what their samples do, or given shares.
        prototype_weights: PrototypeWeights,
        /// What clusters of features weigh: what their features do, or given shares.
        feature_weights: PrototypeWeights,
        /// Starts from several seeds and keeps the lowest loss.
        n_init: usize,
        /// When to stop.
        stopping: Stopping,
        /// Seed of the starts.
        seed: u64,
    }

    /// Co-clusters samples of equal weight.
    pub fn fit<'a>(&self, samples: impl Into<Samples<'a>>) -> Result<FittedCoot> {
        self.fit_with(&samples.into(), None, &mut ())
    }

    /// The same with weighted samples, or telling an observer of every round.
    pub fn fit_with(
        &self,
        samples: &Samples<'_>,
        weights: Option<&SampleWeights>,
        observer: &mut dyn Observer,
    ) -> Result<FittedCoot> {
        samples.check_finite("samples")?;
        let (rows, columns) = (samples.len(), samples.columns());
        check_prototypes(self.clusters, rows)?;
        if self.feature_clusters == 0 || self.feature_clusters > columns {
            let allowed = format!("from 1 to {columns}, the number of features");
            return Err(Error::parameter("n_feature_clusters", self.feature_clusters as f64, allowed));
        }
        if self.n_init == 0 {
            return Err(Error::parameter("n_init", 0.0, "at least 1"));
        }
        let mut values = vec![0.0; rows * columns];
        samples.copy_rows(0..rows, &mut values);
        let by_rows = Matrix::new(values, rows, columns)?;
        let demand = |weights: &PrototypeWeights, n: usize| {
            WeightRule { prototype_weights: weights.clone(), ..WeightRule::default() }.demand(n)
        };
        let sides = [
            Side {
                demand: demand(&self.prototype_weights, self.clusters)?,
                weights: weights.map_or_else(|| SampleWeights::uniform(rows), |weights| Ok(weights.clone()))?,
                clusters: self.clusters,
                values: by_rows.transposed(),
            },
            Side {
                demand: demand(&self.feature_weights, self.feature_clusters).map_err(of_features)?,
                weights: SampleWeights::uniform(columns)?,
                clusters: self.feature_clusters,
                values: by_rows,
            },
        ];
        Error::check_len("number of sample_weights", rows, sides[0].weights.len())?;
        let descend = |seed| self.descend(&sides, seed, observer);
        lowest_of(self.n_init, self.seed, descend, |found| (found.outcome.loss, found.outcome.stop))
    }

    /// What a fit will hold for so many samples and features, as they are in memory.
    pub fn memory_plan(&self, samples: usize, features: usize, is_single: bool) -> MemoryPlan {
        let (rows, columns) = (samples as u64, features as u64);
        let (n, m) = (self.clusters as u64, self.feature_clusters as u64);
        let mut plan = MemoryPlan { parts: Vec::new(), neighbors: None };
        let mut hold = |what, size| plan.hold(what, size, Stage::Prepare, Stage::Fit);
        hold("samples", bytes(if is_single { 4 } else { 8 }, &[rows, columns]));
        hold("samples by rows and by columns", bytes(16, &[rows, columns]));
        // Sums over clusters, and points between which mass is transported: of samples, then of features.
        hold(
            "sums over clusters",
            bytes(8, &[n, columns]).saturating_add(bytes(16, &[m, rows])).max(bytes(24, &[n, columns])),
        );
        hold("plans", bytes(64, &[rows.saturating_add(columns)]));
        hold("threads, tiles and code", FIXED);
        plan
    }

    fn descend(&self, sides: &[Side; 2], seed: u64, observer: &mut dyn Observer) -> Result<FittedCoot> {
        let [of_samples, of_features] = sides;
        // A side's own rows are the other's columns.
        let mut plan = of_samples.start(&of_features.values, seed)?;
        let mut feature_plan = of_features.start(&of_samples.values, seed)?;
        let whole = Samples::from(&of_features.values);
        let square: f64 = {
            let w = 1.0 / of_features.weights.len() as f64;
            w * whole.weighted_square(&of_samples.weights)
        };
        let mut summary = Matrix::zeros(self.clusters, self.feature_clusters);
        let value = |plan: &Plan, feature_plan: &Plan, summary: &Matrix<'_>| {
            let (t, u) = (plan.weights(), feature_plan.weights());
            let of_row = |k: usize| t[k] * summary.row(k).iter().zip(&u).map(|(s, u)| u * s * s).sum::<f64>();
            (square - (0..t.len()).map(of_row).sum::<f64>()).max(0.0)
        };
        mean_blocks(&whole, &plan, &feature_plan, &mut summary);
        let round = |plan: &mut Plan, feature_plan: &mut Plan, summary: &mut Matrix<'static>| -> Result<()> {
            *plan = of_samples.step(feature_plan, summary)?;
            mean_blocks(&whole, plan, feature_plan, summary);
            *feature_plan = of_features.step(plan, &summary.transposed())?;
            mean_blocks(&whole, plan, feature_plan, summary);
            Ok(())
        };
        if sides.iter().any(|side| side.demand.is_some()) {
            // K-means knows nothing of the weights asked for: the descent begins where they hold.
            round(&mut plan, &mut feature_plan, &mut summary)?;
        }
        let first = value(&plan, &feature_plan, &summary);
        let mut failure = None;
        let (history, stop) = drive(&self.stopping, observer, first, || {
            let (before, other_before) = (plan.clone(), feature_plan.clone());
            if let Err(error) = round(&mut plan, &mut feature_plan, &mut summary) {
                failure = Some(error);
                return Round { loss: f64::INFINITY, moved: false };
            }
            let moved = plan != before || feature_plan != other_before;
            Round { loss: value(&plan, &feature_plan, &summary), moved }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let loss = history.last().copied().unwrap_or(first);
        let (hardness, certificate, warnings) = (plan.hardness(), None, Vec::new());
        let stop = if stop == StopReason::Stationary { StopReason::Converged } else { stop };
        let outcome =
            Outcome { loss, loss_is_complete: true, history, stop, hardness, certificate, warnings }.checked()?;
        Ok(FittedCoot { plan, feature_plan, summary, outcome })
    }
}

/// What is wrong with weights, as those of features.
fn of_features(error: Error) -> Error {
    match error {
        Error::Parameter { name: "sum of prototype_weights", value, allowed } => {
            Error::Parameter { name: "sum of feature_weights", value, allowed }
        }
        Error::Parameter { name: "prototype_weights", value, allowed } => {
            Error::Parameter { name: "feature_weights", value, allowed }
        }
        Error::Shape { expected, found, .. } => {
            Error::Shape { what: "number of feature_weights".into(), expected, found }
        }
        other => other,
    }
}

/// Samples or features: what is the same of both.
struct Side {
    demand: Option<Demand>,
    weights: SampleWeights,
    clusters: usize,
    /// X with the other side in its rows.
    values: Matrix<'static>,
}

impl Side {
    /// Clusters of this side's rows by k-means; column sums are not yet what is asked for.
    fn start(&self, rows: &Matrix<'_>, seed: u64) -> Result<Plan> {
        let labels = KMeans { clusters: self.clusters, max_rounds: ROUNDS, seed }.labels(rows, &self.weights)?;
        Plan::from_labels(labels, self.clusters, self.weights.clone())
    }

    /// The best plan of this side, given the other's plan and the summary with a row for each cluster of this side.
    fn step(&self, other: &Plan, summary: &Matrix<'_>) -> Result<Plan> {
        let roots: Vec<f64> = other.weights().iter().map(|u| u.sqrt()).collect();
        let sums = Samples::from(&self.values).gather(other);
        let over = |l: usize| if roots[l] > 0.0 { 1.0 / roots[l] } else { 0.0 };
        let points = Samples::F64(Matrix::from_fn(self.weights.len(), roots.len(), |i, l| sums[(l, i)] * over(l)));
        let centres = Matrix::from_fn(self.clusters, roots.len(), |k, l| summary[(k, l)] * roots[l]);
        let costs = FeatureCost::new(&points, centres, 1.0);
        match &self.demand {
            Some(demand) => Ok(solve(&costs, &self.weights, demand, None).plan),
            None => Plan::from_labels(nearest(&costs, &vec![0.0; self.clusters]), self.clusters, self.weights.clone()),
        }
    }
}

/// S = TᵀX·U ⊘ t·uᵀ; a block without weight stays what it was, where its cluster may be found again.
fn mean_blocks(samples: &Samples<'_>, plan: &Plan, feature_plan: &Plan, summary: &mut Matrix<'_>) {
    let gathered = samples.gather(plan);
    let (t, u) = (plan.weights(), feature_plan.weights());
    for (k, &t) in t.iter().enumerate().filter(|(_, t)| **t > 0.0) {
        let mut sums = vec![0.0; u.len()];
        for (j, x) in gathered.row(k).iter().enumerate() {
            feature_plan.row(j).iter().for_each(|(l, mass)| sums[l] += mass * x);
        }
        let entries = summary.row_mut(k).iter_mut().zip(sums.iter().zip(&u));
        entries.filter(|(_, (_, u))| **u > 0.0).for_each(|(s, (sum, u))| *s = sum / (t * u));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn blocks(noise: f64) -> Matrix<'static> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        Matrix::from_fn(60, 40, |i, j| {
            let (k, l) = (i % 3, j % 4);
            ((7 * k + 5 * l + k * l) % 11) as f64 + noise * (rng.random::<f64>() - 0.5)
        })
    }

    #[test]
    fn blocks_are_recovered_with_learnt_and_with_given_weights() {
        let x = blocks(0.5);
        for weights in [PrototypeWeights::Learned, PrototypeWeights::Uniform] {
            let coot = Coot::builder(3, 4).n_init(5).prototype_weights(weights.clone()).feature_weights(weights);
            let found = coot.fit(&x).unwrap();
            let (rows, columns) = (found.plan.labels(), found.feature_plan.labels());
            assert!((0..60).all(|i| rows[i] == rows[i % 3]) && (0..40).all(|j| columns[j] == columns[j % 4]));
            assert!(found.outcome.history.windows(2).all(|pair| pair[1] <= pair[0]));
            assert!(found.outcome.loss < 0.25 / 12.0 + 1e-3, "{}", found.outcome.loss);
        }
    }

    #[test]
    fn the_loss_is_the_objective() {
        let x = blocks(3.0);
        let given = PrototypeWeights::Given(vec![0.5, 0.3, 0.2]);
        let found = Coot::builder(3, 2).prototype_weights(given).fit(&x).unwrap();
        let mut sum = 0.0;
        for i in 0..60 {
            for (k, t) in found.plan.row(i).iter() {
                for j in 0..40 {
                    for (l, u) in found.feature_plan.row(j).iter() {
                        sum += (x[(i, j)] - found.summary[(k, l)]).powi(2) * t * u;
                    }
                }
            }
        }
        assert!((sum - found.outcome.loss).abs() < 1e-9 * sum);
        for (found, asked) in found.plan.weights().iter().zip([0.5, 0.3, 0.2]) {
            assert!((found - asked).abs() < 1e-12);
        }
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let x = blocks(1.0);
        assert!(Coot::builder(61, 2).fit(&x).is_err());
        let error = Coot::builder(2, 41).fit(&x).unwrap_err().to_string();
        assert_eq!(error, "n_feature_clusters is 41; it must be from 1 to 40, the number of features");
    }
}
