//! Vertex descent: exact moves of single samples.
//!
//! Good optima are hard (Theorem 1 of the paper), so the search goes from vertex to vertex:
//! samples are visited in a seeded random order, and each goes to the prototype that lowers E most,
//! with M and q following at once (Hartigan's idea for k-means, on E). For a sample of mass h,
//!
//! ```text
//! r = (C_X T)[i, ·] and s = (C_Xᵀ T)[i, ·], without the sample's own share
//! ```
//!
//! say all that is needed: taking i out of its row and putting it whole into prototype b changes row
//! and column b of M by h·r and h·s, its corner by h²·C_X[i,i], and q_b by h. A [`Criterion`] turns
//! that into the cost of putting i into every b worth a look; the sample moves if the best beats staying.
//!
//! A visit costs one row of C_X·T (a look at each neighbour, for a sparse similarity) and what the
//! criterion needs; a sweep over a sparse similarity is O(nnz) for a given n. Most visits end where they began, and
//! only those that do not change anything: samples are asked on all threads, against one state of the plan, whether they
//! would move, and those that would are visited one after the other, each against the state that the moves before it left.
//! So no move raises the loss, and the same bytes come out for any number of threads.

mod both;
mod by_rows;
mod features;
mod fixed;
mod free;
mod pair_mass;
mod separable;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

pub(crate) use self::both::Both;
pub(crate) use self::features::FeatureTerm;
pub(crate) use self::fixed::FixedTarget;
pub(crate) use self::free::{FreeSummary, FreeTarget};
pub(crate) use self::pair_mass::{PairMass, SparseMass};
pub(crate) use self::separable::{Separable, seen_candidates};
use super::{PlanStep, PlanSummary, Products, TransportProblem, TransportState};
use crate::numeric::blocks::shuffle;
use crate::plan::{Plan, PlanRow};
use crate::similarity::{ProductRow, Sketch};

/// A move must lower the loss by more than this share of the costs compared: less is rounding.
const ROUNDING: f64 = 1e-13;

/// With fewer samples than this, sharing a sweep between threads costs more than it saves.
const LEAST_PARALLEL: usize = 4096;
/// Samples that look at one state of the plan together, and how many of them a thread takes at once.
const TOGETHER: usize = 1024;
const PIECE: usize = 64;
/// Prototypes that a sample looks at before it looks at all that it sees. The best one is nearly always among them.
const NEAR: usize = 16;

/// One sample that may leave its row for a prototype.
pub(crate) struct Visitor<'a> {
    pub(crate) sample: usize,
    /// Its mass h.
    pub(crate) mass: f64,
    /// (C_X T)[i, ·] without its own share.
    pub(crate) row: &'a [f64],
    /// (C_Xᵀ T)[i, ·] without its own share.
    pub(crate) column: &'a [f64],
    /// C_X[i, i].
    pub(crate) own: f64,
    /// Prototypes where row or column is not zero, ascending.
    pub(crate) seen: &'a [u32],
    /// The row of the plan it comes from.
    pub(crate) from: PlanRow<'a>,
}

/// Room for criteria to work in.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) first: Vec<f64>,
    pub(crate) second: Vec<f64>,
    pub(crate) third: Vec<f64>,
}

/// How many prototypes a sample looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breadth {
    /// Of those that it sees, the [`NEAR`] that it is most similar to.
    Near,
    /// All that are worth a look.
    Full,
}

/// What the objective says of putting a sample into a prototype.
pub(crate) trait Criterion: Sync {
    /// The prototypes that are worth a look, ascending; where the visitor comes from is among them.
    fn candidates(&self, visitor: &Visitor<'_>, breadth: Breadth, out: &mut Vec<u32>);

    /// Adds to the cost of every candidate what it costs to put the visitor there, once it is out of its row, and
    /// returns the cost of putting it back as it was.
    fn add_costs(&self, visitor: &Visitor<'_>, candidates: &[u32], costs: &mut [f64], scratch: &mut Scratch) -> f64;

    /// Takes the visitor out of its row and puts it whole into prototype `to`.
    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32);
}

/// A move that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Move {
    pub(crate) sample: usize,
    pub(crate) to: u32,
    /// Change of the loss, below zero.
    pub(crate) change: f64,
}

/// Sweeps of vertex descent over a plan and its products.
pub(crate) struct Sweeps<'a, 's> {
    plan: &'a mut Plan,
    products: &'a mut Products<'s>,
}

/// What one visit works in.
#[derive(Default)]
struct Room {
    row: ProductRow,
    column: ProductRow,
    seen: Vec<u32>,
    candidates: Vec<u32>,
    costs: Vec<f64>,
    scratch: Scratch,
}

impl<'a, 's> Sweeps<'a, 's> {
    pub(crate) fn new(plan: &'a mut Plan, products: &'a mut Products<'s>) -> Self {
        Self { plan, products }
    }

    /// Visits every sample once; returns how many moved.
    pub(crate) fn sweep<C: Criterion>(
        &mut self,
        criterion: &mut C,
        breadth: Breadth,
        rng: &mut Xoshiro256PlusPlus,
        on_move: impl FnMut(&Plan, Move),
    ) -> usize {
        let mut order: Vec<u32> = (0..self.plan.len() as u32).collect();
        shuffle(&mut order, rng);
        self.sweep_over(&order, criterion, breadth, on_move)
    }

    /// Visits some samples in this order; returns how many moved.
    pub(crate) fn sweep_over<C: Criterion>(
        &mut self,
        order: &[u32],
        criterion: &mut C,
        breadth: Breadth,
        mut on_move: impl FnMut(&Plan, Move),
    ) -> usize {
        let mut moves = 0;
        let mut room = Room::default();
        for together in order.chunks(TOGETHER) {
            let willing = self.willing(together, criterion, breadth);
            for &i in willing.as_deref().unwrap_or(together) {
                if let Some(made) = self.visit(i as usize, criterion, breadth, &mut room) {
                    moves += 1;
                    on_move(self.plan, made);
                }
            }
        }
        self.plan.compact();
        moves
    }

    /// A sweep near by, and, if nothing moves there, one that looks at everything; returns how many moved.
    pub(crate) fn sweep_until_broad<C: Criterion>(&mut self, criterion: &mut C, rng: &mut Xoshiro256PlusPlus) -> usize {
        let moves = self.sweep(criterion, Breadth::Near, rng, |_, _| ());
        if moves > 0 || self.plan.prototypes() <= NEAR {
            return moves;
        }
        self.sweep(criterion, Breadth::Full, rng, |_, _| ())
    }

    /// Those of some samples that would move from the plan as it is, found on all threads; `None` if they are too few to
    /// share. The others stay where they are: moves of those before them could change their mind, which is left to the
    /// next sweep.
    fn willing<C: Criterion>(&self, together: &[u32], criterion: &C, breadth: Breadth) -> Option<Vec<u32>> {
        if self.plan.len() < LEAST_PARALLEL || together.len() <= PIECE {
            return None;
        }
        let moves = |room: &mut Room, piece: &[u32]| -> Vec<u32> {
            crate::interrupt::look();
            piece.iter().copied().filter(|&i| self.best_move(i as usize, criterion, breadth, room).is_some()).collect()
        };
        let pieces: Vec<_> = together.par_chunks(PIECE).map_init(Room::default, moves).collect();
        Some(pieces.concat())
    }

    /// Moves one sample to its best prototype, if that is a better one.
    fn visit<C: Criterion>(&mut self, i: usize, criterion: &mut C, breadth: Breadth, room: &mut Room) -> Option<Move> {
        crate::interrupt::look();
        let made = self.best_move(i, criterion, breadth, room)?;
        let visitor = self.visitor(i, room);
        criterion.put_into(&visitor, made.to);
        self.products.reassign(i, self.plan.row(i), made.to);
        self.plan.assign(i, made.to);
        Some(made)
    }

    /// The move of one sample that lowers the loss most, if any does. The room holds the visitor afterwards.
    fn best_move<C: Criterion>(&self, i: usize, criterion: &C, breadth: Breadth, room: &mut Room) -> Option<Move> {
        if self.plan.sample_weights()[i] == 0.0 {
            return None;
        }
        self.read_rows(i, room);
        let (mut candidates, mut costs) = (std::mem::take(&mut room.candidates), std::mem::take(&mut room.costs));
        let mut scratch = std::mem::take(&mut room.scratch);
        let visitor = self.visitor(i, room);
        criterion.candidates(&visitor, breadth, &mut candidates);
        costs.clear();
        costs.resize(candidates.len(), 0.0);
        let stay = criterion.add_costs(&visitor, &candidates, &mut costs, &mut scratch);
        let (to, best) = lowest(&candidates, &costs);
        (room.candidates, room.costs, room.scratch) = (candidates, costs, scratch);
        let change = best - stay;
        (change < -ROUNDING * (stay.abs() + best.abs())).then_some(Move { sample: i, to, change })
    }

    fn visitor<'v>(&'v self, i: usize, room: &'v Room) -> Visitor<'v> {
        Visitor {
            sample: i,
            mass: self.plan.sample_weights()[i],
            row: &room.row.values,
            column: if self.products.transposed.is_some() { &room.column.values } else { &room.row.values },
            own: self.products.similarity.diagonal(i),
            seen: &room.seen,
            from: self.plan.row(i),
        }
    }

    /// r and s of sample i, and where they are not zero.
    fn read_rows(&self, i: usize, room: &mut Room) {
        let own = self.products.similarity.diagonal(i);
        let Room { row, column, seen, .. } = room;
        let read = |sketch: &dyn Sketch, out: &mut ProductRow| {
            out.clear(self.plan.prototypes());
            sketch.product_row(i, out);
            self.plan.row(i).iter().for_each(|(k, mass)| out.add(k, -own * mass));
        };
        read(&*self.products.direct, row);
        seen.clear();
        seen.extend_from_slice(&row.seen);
        if let Some(sketch) = &self.products.transposed {
            read(&**sketch, column);
            seen.extend_from_slice(&column.seen);
            seen.sort_unstable();
            seen.dedup();
            seen.retain(|&k| row.values[k as usize] != 0.0 || column.values[k as usize] != 0.0);
        } else {
            seen.retain(|&k| row.values[k as usize] != 0.0);
        }
    }
}

/// The first of the smallest costs.
fn lowest(candidates: &[u32], costs: &[f64]) -> (u32, f64) {
    let better = |best: (u32, f64), (&k, &cost): (&u32, &f64)| if cost < best.1 { (k, cost) } else { best };
    candidates.iter().zip(costs).fold((0, f64::INFINITY), better)
}

/// Sweeps of vertex descent for a fixed target.
#[derive(Debug, Clone)]
pub(crate) struct VertexDescent {
    rng: Xoshiro256PlusPlus,
}

impl VertexDescent {
    /// Visits samples in an order that depends on the seed alone.
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }
}

impl<'s> PlanStep<'s> for VertexDescent {
    fn step(&mut self, problem: &TransportProblem<'_>, state: &mut TransportState<'s>) -> bool {
        let mut plan = state.plan.clone();
        let mut fixed = FixedTarget::new(problem, &state.summary.weights);
        let free = problem.free.map(|free| FreeTarget::of_part(free, problem.similarity, &state.plan, &state.summary));
        let mut sweeps = Sweeps::new(&mut plan, &mut state.products);
        let moves = match free {
            None => sweeps.sweep_until_broad(&mut fixed, &mut self.rng),
            Some(free) => sweeps.sweep_until_broad(&mut Both { first: fixed, second: free }, &mut self.rng),
        };
        if moves == 0 {
            return false;
        }
        state.plan = plan;
        state.summary = PlanSummary::new(&state.plan, &state.products);
        state.enter(problem);
        true
    }
}
