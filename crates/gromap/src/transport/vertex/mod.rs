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
//! that into the cost of putting i into every b; the sample moves if the best beats staying.
//!
//! A visit costs one row of C_X·T (a look at each neighbour, for a sparse similarity) and what the
//! criterion needs; a sweep over a sparse similarity is O(nnz) for a given n.

mod both;
mod features;
mod fixed;
mod free;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use self::both::Both;
pub(crate) use self::features::FeatureTerm;
pub(crate) use self::fixed::FixedTarget;
pub(crate) use self::free::{FreeSummary, FreeTarget};
use super::{PlanStep, PlanSummary, Products, TransportProblem, TransportState};
use crate::numeric::blocks::shuffle;
use crate::plan::{Plan, PlanRow};
use crate::similarity::Sketch;

/// A move must lower the loss by more than this share of the costs compared: less is rounding.
const ROUNDING: f64 = 1e-13;

/// One sample, taken out of its row and about to be put into a prototype.
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
    /// Prototypes where row or column is not zero.
    pub(crate) seen: &'a [u32],
    /// The row of the plan it comes from.
    pub(crate) from: PlanRow<'a>,
}

/// What the objective says of putting a sample into a prototype.
pub(crate) trait Criterion {
    /// Takes the visitor out. Writes, for every prototype, the cost of putting it there (infinity
    /// where it is not worth a look), and returns the cost of putting it back as it was.
    fn take_out(&mut self, visitor: &Visitor<'_>, costs: &mut [f64]) -> f64;

    /// Puts the visitor whole into prototype `to`.
    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32);

    /// Puts the visitor back as it was.
    fn put_back(&mut self, visitor: &Visitor<'_>);
}

/// A move that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Move {
    pub(crate) sample: usize,
    pub(crate) to: u32,
    /// Change of the loss, below zero.
    pub(crate) change: f64,
}

/// Sweeps of vertex descent over a plan: the plan, its products, and room to work in.
pub(crate) struct Sweeps<'a, 's> {
    plan: &'a mut Plan,
    products: &'a mut Products<'s>,
    row: Vec<f64>,
    column: Vec<f64>,
    costs: Vec<f64>,
    seen: Vec<u32>,
}

impl<'a, 's> Sweeps<'a, 's> {
    pub(crate) fn new(plan: &'a mut Plan, products: &'a mut Products<'s>) -> Self {
        let n = plan.prototypes();
        let room = || vec![0.0; n];
        Self { plan, products, row: room(), column: room(), costs: room(), seen: Vec::new() }
    }

    /// Visits every sample once; returns how many moved.
    pub(crate) fn sweep<C: Criterion>(
        &mut self,
        criterion: &mut C,
        rng: &mut Xoshiro256PlusPlus,
        mut on_move: impl FnMut(&Plan, Move),
    ) -> usize {
        let mut order: Vec<u32> = (0..self.plan.len() as u32).collect();
        shuffle(&mut order, rng);
        let mut moves = 0;
        for i in order {
            if let Some(made) = self.visit(i as usize, criterion) {
                moves += 1;
                on_move(self.plan, made);
            }
        }
        self.plan.compact();
        moves
    }

    /// Moves one sample to its best prototype, if that is a better one.
    fn visit<C: Criterion>(&mut self, i: usize, criterion: &mut C) -> Option<Move> {
        crate::interrupt::look();
        self.read_rows(i);
        let column = if self.products.transposed.is_some() { &self.column } else { &self.row };
        let visitor = Visitor {
            sample: i,
            mass: self.plan.sample_weights()[i],
            row: &self.row,
            column,
            own: self.products.similarity.diagonal(i),
            seen: &self.seen,
            from: self.plan.row(i),
        };
        let stay = criterion.take_out(&visitor, &mut self.costs);
        let (to, best) = lowest(&self.costs);
        let change = best - stay;
        if change < -ROUNDING * (stay.abs() + best.abs()) {
            criterion.put_into(&visitor, to);
            self.products.reassign(i, visitor.from, to);
            self.plan.assign(i, to);
            Some(Move { sample: i, to, change })
        } else {
            criterion.put_back(&visitor);
            None
        }
    }

    /// r and s of sample i, and where they are not zero.
    fn read_rows(&mut self, i: usize) {
        let own = self.products.similarity.diagonal(i);
        let read = |sketch: &dyn Sketch, out: &mut [f64]| {
            sketch.product_rows(i..i + 1, out);
            self.plan.row(i).iter().for_each(|(k, mass)| out[k] -= own * mass);
        };
        read(&*self.products.direct, &mut self.row);
        if let Some(sketch) = &self.products.transposed {
            read(&**sketch, &mut self.column);
        }
        let both = self.products.transposed.is_some();
        let is_seen = |k: &u32| {
            let k = *k as usize;
            self.row[k] != 0.0 || (both && self.column[k] != 0.0)
        };
        self.seen.clear();
        self.seen.extend((0..self.row.len() as u32).filter(is_seen));
    }
}

/// The first of the smallest costs.
fn lowest(costs: &[f64]) -> (u32, f64) {
    let better = |best: (u32, f64), (k, &cost): (usize, &f64)| if cost < best.1 { (k as u32, cost) } else { best };
    costs.iter().enumerate().fold((0, f64::INFINITY), better)
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
            None => sweeps.sweep(&mut fixed, &mut self.rng, |_, _| ()),
            Some(free) => sweeps.sweep(&mut Both::new(fixed, free), &mut self.rng, |_, _| ()),
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
