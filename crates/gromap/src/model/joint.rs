//! Block coordinate descent between the plan and the prototypes.
//!
//! ```text
//! E(T, Z) = α·Σ L(c·C_X[ij], C_Z[kl])·T[ik]·T[jl] + β·Σ ‖x_i − f_k‖²·T[ik]
//! ```
//!
//! A round moves samples with C_Z = k(Z, q) fixed, then prototypes with (M, q) fixed, in closed form for the
//! Gram families and by Adam for kernels of the distance. Where C_Z is normalised against q it changes with the
//! plan, but only for the better: log(qᵀWq) is concave in q, so that a fixed C_Z is a majorant that touches,
//! and the same holds by rows and for doubly stochastic kernels. So E never rises; should rounding or unusual weights make
//! it, the round is undone and the descent ends.
//!
//! c scales the similarity to what C_Z is compared with: hᵀ(c·C_X)h = 1 for kernels normalised against the
//! measure, ΣC_X = 1 over cells, and rows that sum to 1 on average for a kernel whose rows do.
//!
//! Of the structural term only a share, the coupling λ, is compared with the map; the rest with the target that suits the plan
//! best, as in a barycenter:
//!
//! ```text
//! λ·E(T, C_Z) + (1 − λ)·min over C̄ of E(T, C̄)
//! ```
//!
//! In two dimensions C_Z cannot be all that the groups are to each other. At λ = 1, the paper's, samples go where the map can
//! show them best, which costs purity and, for kernels of inner products, whole prototypes; at λ = 0 groups are clusters, placed
//! afterwards. The prototypes minimise the same function of (M, q) at every λ.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::placement::RowStep;
use crate::data::Samples;
use crate::embedding::adam::Adam;
use crate::embedding::objective::Objective;
use crate::embedding::{MapKernel, Normalization, Radial, closed_form};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::observe::{Observer, Round, StopReason, Stopping, drive};
use crate::plan::Plan;
use crate::similarity::Similarity;
use crate::solve::{Settings, Solver};
use crate::transport::{
    FeatureCost, FreePart, PlanSummary, TransportProblem, TransportState, made_feasible, without_zeros,
};
use crate::weights::{Demand, SampleWeights};

/// Prototypes without places yet are optimised first in more dimensions than the map has, where they can pass each other,
/// then on the map. Prototypes that have places go on from there.
const IN_HIGHER_DIMS: Adam = Adam { steps: 600, learning_rate: 1.0 };
const ON_THE_MAP: Adam = Adam { steps: 600, learning_rate: 0.3 };
const CONTINUED: Adam = Adam { steps: 150, learning_rate: 0.3 };
/// Both in a third of the steps, where only a rough map is wanted.
const ROUGH: (Adam, Adam) = (Adam { steps: 200, learning_rate: 1.0 }, Adam { steps: 200, learning_rate: 0.3 });
/// The dimensions that the optimisation starts in.
const START_DIMS: usize = 8;
/// Spread of the starts, next to the width 1 of the kernels.
const START_SPREAD: f64 = 0.1;
/// With more prototypes than this they are placed from scratch only once, from one start instead of three.
const FEW_PROTOTYPES: usize = 500;
/// Sweeps of vertex descent in a round, each against the kernel of the weights as they are then.
const SWEEPS: usize = 2;
/// Steps of the other solvers in a round, at most.
const PLAN_STEPS: usize = 50;

/// What is fixed during a descent.
pub(crate) struct Joint<'a> {
    pub(crate) similarity: &'a dyn Similarity,
    pub(crate) kernel: MapKernel,
    pub(crate) loss: Loss,
    pub(crate) dims: usize,
    pub(crate) settings: Settings,
    /// Features of the samples, where they count.
    pub(crate) features: Option<&'a Samples<'a>>,
    /// c.
    pub(crate) scale: f64,
    /// Σ f1(c·C_X)·h·h, if known.
    pub(crate) constant: Option<f64>,
    /// α and β.
    pub(crate) shares: (f64, f64),
    /// How often prototypes are placed from scratch when a descent stalls.
    pub(crate) refreshes: usize,
    /// How much of the structural term is compared with the map; the rest with the target that suits the plan best.
    pub(crate) coupling: f64,
    /// What prototypes must weigh, if anything in particular.
    pub(crate) demand: Option<&'a Demand>,
}

/// How prototypes are sought.
#[derive(Debug, Clone)]
pub(crate) enum Embedding {
    /// On from these.
    From(Matrix<'static>),
    /// From half as many eigenvectors of the coarse graph, in fewer steps.
    Rough,
    /// From the eigenvectors of the coarse graph.
    Quick,
    /// From there and from random places with a seed, the lowest loss of all.
    Best(u64),
}

/// The current iterate of a descent: plan, prototypes, and what follows from them.
#[derive(Clone)]
pub(crate) struct Iterate {
    pub(crate) plan: Plan,
    /// Z, as the kernel takes it.
    pub(crate) prototypes: Matrix<'static>,
    /// C_Z.
    pub(crate) target: Matrix<'static>,
    pub(crate) summary: PlanSummary,
    /// F, where it counts.
    pub(crate) features: Option<Matrix<'static>>,
    pub(crate) loss: f64,
}

/// A descent that ended.
pub(crate) struct Descended {
    pub(crate) iterate: Iterate,
    pub(crate) history: Vec<f64>,
    pub(crate) stop: StopReason,
}

impl<'a> Joint<'a> {
    /// c and Σ f1(c·C_X)·h·h for a kernel.
    pub(crate) fn scale_of(
        kernel: MapKernel,
        loss: Loss,
        similarity: &dyn Similarity,
        weights: &SampleWeights,
    ) -> Result<(f64, Option<f64>)> {
        let constant = similarity.constant(loss, weights);
        let normalization = match kernel {
            MapKernel::Gram => return Ok((1.0, constant)),
            // In the metric of the weights a frame has eigenvalues 1 and I + W̃ at most 2/N, about its mean entry.
            MapKernel::Orthonormal => Normalization::Measure,
            MapKernel::Radial(Radial { normalization, .. }) => normalization,
        };
        let of_measure = total_mass(similarity, weights.clone())?;
        let scale = match normalization {
            Normalization::None => return Ok((1.0, constant)),
            Normalization::Measure | Normalization::Rows | Normalization::DoublyStochastic => 1.0 / of_measure,
            Normalization::Cells | Normalization::DoublyStochasticCells => {
                let samples = weights.len();
                let mean = total_mass(similarity, SampleWeights::uniform(samples)?)?;
                let cells = (samples as f64).powi(if normalization == Normalization::Cells { 2 } else { 1 });
                1.0 / (mean * cells)
            }
        };
        let constant = match loss {
            Loss::Kl => constant.map(|constant| scale * constant + scale * scale.ln() * of_measure),
            Loss::Square => constant.map(|constant| scale * scale * constant),
            Loss::BinaryCrossEntropy => None, // f1(c·a) does not follow from f1(a)
        };
        Ok((scale, constant))
    }

    /// Places prototypes for a starting plan.
    pub(crate) fn start(&self, plan: Plan, embedding: Embedding) -> Result<Iterate> {
        let products = crate::transport::Products::new(self.similarity, &plan);
        let summary = PlanSummary::new(&plan, &products);
        let n = plan.prototypes();
        let mut iterate = Iterate {
            plan,
            prototypes: Matrix::zeros(n, self.dims),
            target: Matrix::zeros(n, n),
            summary,
            features: None,
            loss: f64::INFINITY,
        };
        self.embed(&mut iterate, embedding)?;
        self.evaluate(&mut iterate)?;
        Ok(iterate)
    }

    /// The same prototypes with weights that meet the demand: the plan that the gradient points at, unless this one does.
    pub(crate) fn meet_demand(&self, iterate: Iterate) -> Result<Iterate> {
        let Some(demand) = self.demand else { return Ok(iterate) };
        let against = |target: &Matrix<'_>, share: f64| {
            TransportProblem::scaled(self.similarity, self.scale, target, self.loss, share * self.shares.0, 0.0)
        };
        let free = without_zeros(self.best_target(&iterate.summary), self.loss);
        let problem = against(&iterate.target, self.coupling).plus(&against(&free, 1.0 - self.coupling));
        let state = TransportState::of(&problem, iterate.plan.clone());
        match made_feasible(&problem, &state, demand) {
            Some(plan) => self.start(plan, Embedding::From(iterate.prototypes)),
            None => Ok(iterate),
        }
    }

    /// What new samples need of a place.
    pub(crate) fn row_step(&self, iterate: &Iterate) -> RowStep {
        let (structure, summary) = (self.shares.0, &iterate.summary);
        let against = |target: &Matrix<'_>, share: f64| {
            TransportProblem::scaled(self.similarity, self.scale, target, self.loss, share * structure, 0.0)
        };
        let free = without_zeros(self.best_target(summary), self.loss);
        let problem = against(&iterate.target, self.coupling).plus(&against(&free, 1.0 - self.coupling));
        let features = iterate.features.clone().map(|features| (features, self.shares.1));
        RowStep { features, ..RowStep::of(&problem, &summary.weights) }
    }

    /// The structural loss, weighted by 1, and the cost of the features, weighted by 1.
    pub(crate) fn terms(&self, iterate: &Iterate) -> (f64, f64) {
        let problem = self.problem(&iterate.target, &iterate.summary, None, 1.0);
        let structure = problem.value(&iterate.summary, 0.0);
        let features = self.features.zip(iterate.features.as_ref()).map_or(0.0, |(samples, features)| {
            let problem = problem.with_features(Some(FeatureCost::new(samples, features.view(), 1.0)));
            crate::transport::linear_cost(&problem, &iterate.plan)
        });
        (structure, features)
    }

    /// Descends from a place.
    pub(crate) fn descend(&self, start: Iterate, observer: &mut dyn Observer) -> Result<Descended> {
        let mut here = start;
        let mut state =
            TransportState::of(&self.problem(&here.target, &here.summary, None, self.shares.0), here.plan.clone());
        let mut failure = None;
        let (mut seed, mut refreshes) = (self.settings.seed, self.refreshes);
        let (history, stop) = drive(&self.settings.stopping, observer, here.loss, || {
            seed = seed.wrapping_add(1);
            match self.round(&here, &mut state, seed, &mut refreshes) {
                Ok(Some(next)) if next.loss <= here.loss => {
                    here = next;
                    Round { loss: here.loss, moved: true }
                }
                Ok(_) => Round { loss: here.loss, moved: false },
                Err(error) => {
                    failure = Some(error);
                    Round { loss: here.loss, moved: false }
                }
            }
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(Descended { iterate: here, history, stop }),
        }
    }

    /// One round from `here`; `None` if nothing moved. Where it gains next to nothing, prototypes are placed from scratch,
    /// if that is still to be tried.
    fn round(
        &self,
        here: &Iterate,
        state: &mut TransportState<'_>,
        seed: u64,
        refreshes: &mut usize,
    ) -> Result<Option<Iterate>> {
        let mut next = here.clone();
        let moved = self.move_samples(&mut next, state, seed)?;
        self.embed(&mut next, Embedding::From(here.prototypes.clone()))?;
        self.evaluate(&mut next)?;
        let stalled = here.loss - next.loss <= self.settings.stopping.rel_tolerance * here.loss.abs();
        if stalled && *refreshes > 0 && here.prototypes.rows() <= FEW_PROTOTYPES {
            *refreshes -= 1;
            let mut afresh = next.clone();
            self.embed(&mut afresh, Embedding::Best(seed))?;
            self.evaluate(&mut afresh)?;
            if afresh.loss < next.loss {
                next = afresh;
            }
        }
        Ok((moved || next.prototypes != here.prototypes).then_some(next))
    }

    /// Improves the plan against the prototypes.
    fn move_samples(&self, iterate: &mut Iterate, state: &mut TransportState<'_>, seed: u64) -> Result<bool> {
        let mut step = Settings { seed, ..self.settings }.step(self.demand);
        let turns = if self.settings.solver == Solver::Vertex { SWEEPS } else { 1 };
        let mut moved = false;
        for _ in 0..turns {
            let target = self.target(&iterate.prototypes, &state.summary)?;
            let problem = self.problem(&target, &state.summary, iterate.features.as_ref(), self.shares.0);
            state.enter(&problem);
            if self.settings.solver == Solver::Vertex {
                moved |= step.step(&problem, state);
            } else {
                let stopping = Stopping { max_rounds: PLAN_STEPS, ..self.settings.stopping };
                let (history, _) = drive(&stopping, &mut (), state.loss + step.penalty(&state.plan), || {
                    let moved = step.step(&problem, state);
                    Round { loss: state.loss + step.penalty(&state.plan), moved }
                });
                moved |= history.len() > 1;
            }
            drop(problem);
            if let Some(samples) = self.features {
                iterate.features = Some(samples.means(&state.plan));
            }
        }
        iterate.plan = state.plan.clone();
        iterate.summary = state.summary.clone();
        Ok(moved)
    }

    /// Improves the prototypes against the plan.
    fn embed(&self, iterate: &mut Iterate, embedding: Embedding) -> Result<()> {
        match self.kernel {
            MapKernel::Gram => iterate.prototypes = closed_form::gram(&iterate.summary, self.dims)?,
            MapKernel::Orthonormal => iterate.prototypes = closed_form::frame(&iterate.summary, self.dims)?,
            MapKernel::Radial(radial) => {
                iterate.prototypes = self.neighbor_embedding(radial, &iterate.summary, embedding)?;
            }
        }
        Ok(())
    }

    /// Prototypes of a kernel of the distance.
    pub(super) fn neighbor_embedding(
        &self,
        radial: Radial,
        summary: &PlanSummary,
        embedding: Embedding,
    ) -> Result<Matrix<'static>> {
        let mass = scaled(&summary.mass, self.scale);
        let objective = Objective::new(radial, self.loss, &mass, &summary.weights);
        let (deep, half) = (START_DIMS.max(self.dims), (START_DIMS / 2).max(self.dims));
        let frame =
            |dims: usize| Ok(scaled(&closed_form::coordinates(&closed_form::frame(summary, dims)?), START_SPREAD));
        let (first, then) = if matches!(embedding, Embedding::Rough) { ROUGH } else { (IN_HIGHER_DIMS, ON_THE_MAP) };
        let starts = match embedding {
            Embedding::From(prototypes) => return Ok(CONTINUED.descend(&objective, prototypes)?.1),
            Embedding::Rough => vec![frame(half)?],
            Embedding::Best(seed) if summary.weights.len() <= FEW_PROTOTYPES => {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
                let spread = |_, _| START_SPREAD * (rng.random::<f64>() + rng.random::<f64>() - 1.0);
                vec![frame(deep)?, frame(half)?, Matrix::from_fn(summary.weights.len(), deep, spread)]
            }
            Embedding::Quick | Embedding::Best(_) => vec![frame(deep)?],
        };
        let ends = starts.into_par_iter().map(|start| {
            let start = first.descend_from_higher_dims(&objective, start, self.dims)?;
            then.descend(&objective, start)
        });
        let ends = ends.collect::<Result<Vec<_>>>()?;
        let lower = |best: (f64, _), next: (f64, _)| if next.0 < best.0 { next } else { best };
        Ok(ends.into_iter().reduce(lower).map(|end| end.1).unwrap_or_else(|| Matrix::zeros(0, self.dims)))
    }

    /// C_Z. Under the binary cross-entropy a prototype is not at distance zero from itself but as close as
    /// its samples are to each other, the best there is; the places of prototypes say nothing of it.
    fn target(&self, prototypes: &Matrix<'_>, summary: &PlanSummary) -> Result<Matrix<'static>> {
        let (q, n) = (&summary.weights, summary.weights.len());
        let mut target = match self.kernel {
            MapKernel::Radial(radial) => {
                let of_pair = |k: usize, l: usize| summary.mass[(k, l)] + summary.mass[(l, k)];
                let margin = |k: usize| 0.5 * self.scale * (0..n).map(|l| of_pair(k, l)).sum::<f64>();
                radial.matched(prototypes, q, &(0..n).map(margin).collect::<Vec<_>>())?
            }
            kernel => kernel.eval(prototypes, q)?,
        };
        if self.loss == Loss::BinaryCrossEntropy {
            for k in 0..q.len() {
                let pairs = q[k] * q[k];
                let own = if pairs > 0.0 { self.scale * summary.mass[(k, k)] / pairs } else { 0.0 };
                target[(k, k)] = own.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
            }
        }
        Ok(target)
    }

    /// The problem of the plan; `structure` weighs its structural part. Vertex descent keeps the target of the free part the best
    /// there is with every move; the other solvers take the best one of `summary`, which is never better elsewhere.
    fn problem<'p>(
        &'p self,
        target: &Matrix<'_>,
        summary: &PlanSummary,
        features: Option<&'p Matrix<'static>>,
        structure: f64,
    ) -> TransportProblem<'p> {
        let constant = self.constant.unwrap_or(0.0);
        let cost = self
            .features
            .zip(features)
            .map(|(samples, features)| FeatureCost::new(samples, features.view(), self.shares.1));
        let (coupled, free) = (self.coupling * structure, (1.0 - self.coupling) * structure);
        let problem = TransportProblem::scaled(self.similarity, self.scale, target, self.loss, coupled, constant)
            .with_features(cost);
        match (free > 0.0, self.settings.solver) {
            (false, _) => problem,
            (true, Solver::Vertex) => {
                problem.with_free_part(FreePart { loss: self.loss, scale: self.scale, share: free }, constant)
            }
            (true, _) => {
                // With given weights samples move together, which the gradient does not see: a barrier would end every step.
                let best = match self.demand {
                    Some(_) => without_zeros(self.best_target(summary), self.loss),
                    None => self.best_target(summary),
                };
                problem.plus(&TransportProblem::scaled(self.similarity, self.scale, &best, self.loss, free, constant))
            }
        }
    }

    /// C̄ = c·M ⊘ qqᵀ; zero where a prototype is not used.
    fn best_target(&self, summary: &PlanSummary) -> Matrix<'static> {
        let q = &summary.weights;
        let most = if self.loss == Loss::BinaryCrossEntropy { 1.0 } else { f64::INFINITY };
        Matrix::from_fn(q.len(), q.len(), |k, l| match q[k] * q[l] {
            pairs if pairs > 0.0 => (self.scale * summary.mass[(k, l)] / pairs).min(most),
            _ => 0.0,
        })
    }

    /// Brings target, features and loss up to date with plan and prototypes.
    pub(crate) fn evaluate(&self, iterate: &mut Iterate) -> Result<()> {
        iterate.target = self.target(&iterate.prototypes, &iterate.summary)?;
        iterate.features = self.features.map(|samples| samples.means(&iterate.plan));
        let problem = self.problem(&iterate.target, &iterate.summary, iterate.features.as_ref(), self.shares.0);
        iterate.loss = problem.value(&iterate.summary, crate::transport::linear_cost(&problem, &iterate.plan));
        Ok(())
    }
}

/// wᵀC w.
fn total_mass(similarity: &dyn Similarity, weights: SampleWeights) -> Result<f64> {
    let everything = Plan::from_labels(vec![0; weights.len()], 1, weights)?;
    let sketch = similarity.sketch(&everything, crate::similarity::Side::Direct);
    Ok(sketch.plan_mass(&everything)[(0, 0)])
}

fn scaled(matrix: &Matrix<'_>, factor: f64) -> Matrix<'static> {
    Matrix::from_fn(matrix.rows(), matrix.columns(), |k, l| factor * matrix[(k, l)])
}
