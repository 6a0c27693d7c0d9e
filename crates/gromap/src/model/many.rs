//! Many prototypes: the descent of `joint.rs` without anything of size n×n.
//!
//! From a few hundred prototypes on, most of them do not see each other, and M = TᵀC_X T is as sparse as C_X. C_Z is known by the places
//! and a factor for each prototype, C_kl = f_k·w(d²_kl)·f_l, and its entries are computed where they are asked for:
//!
//! | part | cost of a pass |
//! |---|---|
//! | M of a plan | the stored entries of C_X |
//! | prototypes: attraction, and repulsion by a tree or on a grid | the stored entries of M, and n·log n |
//! | samples: 16 candidates each, against the prototypes that the sample sees | N·16·(prototypes seen) |
//! | a move: the repulsion of all prototypes follows | n |
//!
//! At n = N nothing is left to move, and the rest is the classical embedding (`classical.rs`), whose optimiser this shares.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::classical::OF_MANY;
use super::joint::Joint;
use super::levels::{self, Level};
use super::own_places::OwnPlaces;
use crate::embedding::descent::{Descent, Pace};
use crate::embedding::frozen_map::repulsion_weights;
use crate::embedding::objective::{Factored, Objective};
use crate::embedding::{MapKernel, Normalization, Profile, Radial};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::blocks::shuffle;
use crate::observe::{Observer, Round, StopReason, Stopping, drive};
use crate::plan::Plan;
use crate::similarity::{Contents, Similarity, Sparse};
use crate::solve::{Settings, Solver};
use crate::transport::Products;
use crate::transport::vertex::{
    Both, Breadth, Criterion, PairMass, Scratch, Separable, SparseMass, Sweeps, Visitor, seen_candidates,
};

/// With fewer prototypes than this, n×n matrices are the faster way.
pub(super) const LEAST_PROTOTYPES: usize = 250;
/// Sweeps of a round, at most; the later ones visit only samples with a neighbour that moved.
const SWEEPS: usize = 3;
/// Steps from the start (`levels.rs`) and before samples move.
const FIRST_STEPS: usize = 200;
/// Steps of the prototypes in a round: twice as many as in the round before, up to the most, once fewer samples move than one in so many.
const STEPS: (usize, usize) = (100, 400);
const ONE_MOVES_IN: usize = 1000;
/// Rounds end when one lowers the loss by no more than this many times the tolerance of the fit, which is meant for fewer steps.
const TOLERANCES_OF_A_ROUND: f64 = 100.0;
/// Near the end, when a round lowers the loss by no more than this many times what ends it, samples look at all prototypes they see.
const LAST_TOLERANCES: f64 = 3.0;

/// What is fixed during a descent.
#[derive(Clone, Copy)]
pub(super) struct Many<'a> {
    similarity: &'a Sparse<'a, f32>,
    radial: Radial,
    dims: usize,
    settings: Settings,
    /// c of c·C_X.
    scale: f64,
    /// Σ f1(c·C_X)·h·h, if known.
    constant: Option<f64>,
    /// How much of the structural term is compared with the map (`joint.rs`).
    coupling: f64,
}

/// A descent that ended.
pub(super) struct Descended {
    pub(super) plan: Plan,
    pub(super) places: Matrix<'static>,
    pub(super) own_places: OwnPlaces,
    pub(super) history: Vec<f64>,
    pub(super) stop: StopReason,
}

impl Descended {
    /// The loss at the end.
    pub(super) fn loss(&self) -> f64 {
        self.history.last().copied().unwrap_or(f64::INFINITY)
    }
}

/// The current iterate.
struct Iterate {
    plan: Plan,
    mass: SparseMass,
    weights: Vec<f64>,
    /// The prototypes, and how they move.
    descent: Descent,
    pace: Pace,
    /// Steps of the next round.
    steps: usize,
    /// C_Z.
    kernel: Factored,
    loss: f64,
}

/// Whether so many prototypes of this kernel, loss and solver are found this way, if the similarity is one of neighbours and
/// symmetric, and features do not count.
pub(super) fn serves(kernel: MapKernel, loss: Loss, solver: Solver, prototypes: usize) -> bool {
    let MapKernel::Radial(Radial { normalization, .. }) = kernel else { return false };
    let is_one_law = matches!(normalization, Normalization::Measure | Normalization::DoublyStochastic);
    prototypes >= LEAST_PROTOTYPES && is_one_law && loss == Loss::Kl && solver == Solver::Vertex
}

impl<'a> Many<'a> {
    /// The same problem, if it is one of many prototypes: a symmetric similarity of neighbours, KL against a kernel of the distance
    /// that is one law on pairs, and samples that move one by one.
    pub(super) fn of(joint: &Joint<'a>, prototypes: usize) -> Option<Self> {
        let MapKernel::Radial(radial) = joint.kernel else { return None };
        let Contents::Sparse(similarity) = joint.similarity.contents() else { return None };
        let serves = serves(joint.kernel, joint.loss, joint.settings.solver, prototypes);
        (serves && similarity.is_symmetric() && joint.features.is_none()).then_some(Self {
            similarity,
            radial,
            dims: joint.dims,
            settings: joint.settings,
            scale: joint.scale,
            constant: joint.constant,
            coupling: joint.coupling,
        })
    }

    /// The same with another order of visits.
    pub(super) fn with_seed(&self, seed: u64) -> Self {
        Self { settings: Settings { seed, ..self.settings }, ..*self }
    }

    /// Whether the loss is the whole loss.
    pub(super) fn loss_is_complete(&self) -> bool {
        self.constant.is_some()
    }

    /// Places prototypes for a plan, and descends from there. Samples that a start divides go whole to where most of them is.
    pub(super) fn descend(&self, plan: Plan, observer: &mut dyn Observer) -> Result<Descended> {
        let plan = plan.relabelled(&plan.labels());
        let mut here = self.iterate(plan, None, FIRST_STEPS)?;
        let mut failure = None;
        let mut seed = self.settings.seed;
        let stopping = self.settings.stopping;
        let stopping = Stopping { rel_tolerance: TOLERANCES_OF_A_ROUND * stopping.rel_tolerance, ..stopping };
        let mut breadth = Breadth::Near;
        let (history, stop) = drive(&stopping, observer, here.loss, || {
            seed = seed.wrapping_add(1);
            let moved = match self.round(&here, breadth, seed) {
                Ok(Some(next)) if next.loss <= here.loss => {
                    // What was looked at near by is looked at everywhere before the end.
                    let lowered = here.loss - next.loss;
                    let is_last = lowered <= LAST_TOLERANCES * stopping.rel_tolerance * next.loss.abs();
                    breadth = if is_last { Breadth::Full } else { Breadth::Near };
                    here = next;
                    true
                }
                Ok(_) => false,
                Err(error) => {
                    failure = Some(error);
                    false
                }
            };
            Round { loss: here.loss, moved }
        });
        match failure {
            Some(error) => Err(error),
            None => {
                let (own_places, places) = (self.own_places(&here), here.descent.prototypes().clone());
                Ok(Descended { plan: here.plan, places, own_places, history, stop })
            }
        }
    }

    /// How samples get places of their own.
    fn own_places(&self, here: &Iterate) -> OwnPlaces {
        let diagonal: Vec<f64> = here.kernel.factors.iter().map(|f| f * f).collect();
        let repulsion = repulsion_weights(self.radial, Loss::Kl, (&diagonal, &here.weights), self.scale);
        OwnPlaces::Row { repulsion }
    }

    /// One round: samples move against the prototypes, then prototypes against the plan; `None` if nothing moves.
    fn round(&self, here: &Iterate, breadth: Breadth, seed: u64) -> Result<Option<Iterate>> {
        let (plan, moved) = self.move_samples(here, breadth, seed);
        let (most, samples) = (STEPS.1, self.similarity.len());
        let steps = if moved * ONE_MOVES_IN < samples { most.min(2 * here.steps) } else { STEPS.0 };
        let next = self.iterate(plan, Some(here), steps)?;
        Ok((moved > 0 || next.descent.prototypes() != here.descent.prototypes()).then_some(next))
    }

    /// All that follows from a plan, with prototypes that go on from where they were, or begin at the eigenvectors of M.
    fn iterate(&self, plan: Plan, from: Option<&Iterate>, steps: usize) -> Result<Iterate> {
        let (weights, mass) = (plan.weights(), SparseMass::new(self.similarity, &plan));
        let compressed = mass.compressed(self.scale)?;
        let objective = Objective::of_sparse(self.radial, Loss::Kl, &compressed, &weights, true);
        let (mut descent, pace) = match from {
            Some(here) => (here.descent.clone(), here.pace),
            None => {
                let level = Level { similarity: &compressed, scale: 1.0, weights: &weights, is_weighted: true };
                (levels::begin(self.radial, level, &objective, self.dims)?, OF_MANY)
            }
        };
        let pace = levels::descend(&mut descent, &objective, pace, steps)?;
        let kernel = descent.factored(&objective)?;
        let mut free = 0.0;
        mass.for_each(|k, l, m| free += Loss::Kl.at_best_target(self.scale * m, weights[k] * weights[l]));
        let loss = self.constant.unwrap_or(0.0) + self.coupling * kernel.value + (1.0 - self.coupling) * free;
        Ok(Iterate { plan, mass, weights, descent, pace, steps, kernel, loss })
    }

    /// Moves samples, and then those that have a neighbour among the moved; says how often one moved.
    fn move_samples(&self, here: &Iterate, breadth: Breadth, seed: u64) -> (Plan, usize) {
        let mut plan = here.plan.clone();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let free = (1.0 - self.coupling) * self.scale;
        let second = Separable::new(free, true, here.mass.clone(), here.weights.clone(), plan.members());
        let mut criterion = Both { first: MapTarget::new(self, here), second };
        let mut products = Products::new(self.similarity, &plan);
        let mut sweeps = Sweeps::new(&mut plan, &mut products);
        let mut order: Vec<u32> = (0..self.similarity.len() as u32).collect();
        let mut moves = 0;
        for _ in 0..SWEEPS {
            shuffle(&mut order, &mut rng);
            let mut moved = Vec::new();
            moves += sweeps.sweep_over(&order, &mut criterion, breadth, |_, made| moved.push(made.sample as u32));
            if moved.is_empty() {
                break;
            }
            order = self.neighbors_of(&moved);
        }
        (plan, moves)
    }

    /// The samples that are similar to some of these, ascending.
    fn neighbors_of(&self, samples: &[u32]) -> Vec<u32> {
        let mut is_near = vec![false; self.similarity.len()];
        for &i in samples {
            self.similarity.row(i as usize).0.iter().for_each(|&j| is_near[j as usize] = true);
        }
        (0..is_near.len() as u32).filter(|&i| is_near[i as usize]).collect()
    }
}

/// The cost of moves against C_Z, λ·(qᵀC_Z q − ⟨c·M, log C_Z⟩), as in `transport/vertex/fixed.rs`.
struct MapTarget<'m> {
    profile: Profile,
    places: &'m Matrix<'static>,
    /// f and log f.
    factors: &'m [f64],
    logs: Vec<f64>,
    /// C_Z·q, half of the gradient of the repulsion; it follows the moves.
    repulsion: Vec<f64>,
    scale: f64,
    coupling: f64,
}

impl<'m> MapTarget<'m> {
    fn new(many: &Many<'_>, here: &'m Iterate) -> Self {
        Self {
            profile: many.radial.profile,
            places: here.descent.prototypes(),
            factors: &here.kernel.factors,
            logs: here.kernel.factors.iter().map(|f| f.ln()).collect(),
            repulsion: here.kernel.sums.clone(),
            scale: many.scale,
            coupling: many.coupling,
        }
    }

    /// d² between prototype k and others, written to `out`.
    fn squares(&self, k: usize, others: impl Iterator<Item = usize>, out: &mut Vec<f64>) {
        let here = self.places.row(k);
        let square = |l: usize| here.iter().zip(self.places.row(l)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        out.clear();
        out.extend(others.map(square));
    }

    /// Row k of C_Z.
    fn row(&self, k: usize) -> Vec<f64> {
        let mut row = Vec::new();
        self.squares(k, 0..self.factors.len(), &mut row);
        self.profile.values(&mut row);
        row.iter_mut().zip(self.factors).for_each(|(c, f)| *c *= self.factors[k] * f);
        row
    }
}

impl Criterion for MapTarget<'_> {
    fn candidates(&self, visitor: &Visitor<'_>, breadth: Breadth, out: &mut Vec<u32>) {
        seen_candidates(visitor, &[], breadth, out);
    }

    fn add_costs(&self, visitor: &Visitor<'_>, candidates: &[u32], costs: &mut [f64], scratch: &mut Scratch) -> f64 {
        let Scratch { first: logs, second: own, .. } = scratch;
        let (h, c) = (visitor.mass, self.scale);
        let a = visitor.from.prototypes[0] as usize;
        // Σ r and Σ r·log f over the prototypes that the visitor sees.
        let (mut total, mut factors) = (0.0, 0.0);
        for &l in visitor.seen {
            total += visitor.row[l as usize];
            factors += visitor.row[l as usize] * self.logs[l as usize];
        }
        self.squares(a, candidates.iter().map(|&b| b as usize), own);
        self.profile.values(own);
        let mut stay = 0.0;
        for ((&b, cost), w) in candidates.iter().zip(costs).zip(own) {
            let b = b as usize;
            self.squares(b, visitor.seen.iter().map(|&l| l as usize), logs);
            self.profile.logs(logs);
            let along: f64 = logs.iter().zip(visitor.seen).map(|(log, &l)| visitor.row[l as usize] * log).sum();
            let attraction = c * (along + factors + total * self.logs[b]);
            let repulsion = self.repulsion[b] - h * self.factors[a] * self.factors[b] * *w;
            let corner = self.factors[b] * self.factors[b] - c * visitor.own * 2.0 * self.logs[b];
            let added = self.coupling * h * (2.0 * (repulsion - attraction) + h * corner);
            *cost += added;
            if b == a {
                stay = added;
            }
        }
        stay
    }

    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32) {
        let (joined, left) = (self.row(to as usize), self.row(visitor.from.prototypes[0] as usize));
        for (sum, (joined, left)) in self.repulsion.iter_mut().zip(joined.iter().zip(&left)) {
            *sum += visitor.mass * (joined - left);
        }
    }
}

#[cfg(test)]
#[path = "many_tests.rs"]
mod tests;
