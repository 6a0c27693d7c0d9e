//! Conditional gradient (Frank-Wolfe) at vertex cost.
//!
//! The linear problem over {T ≥ 0, T1 = h} is a row-wise argmin of the gradient, so the direction D
//! is hard: one entry a row. The product C·D is then a pass over C that adds and never multiplies
//! matrices, and C·T follows by blending. Along D − T the objective is a quadratic in γ, known
//! exactly from n×n summaries of T and D.
//!
//! A round costs one pass over the N×n gradient (in blocks of rows that stay in cache) and one
//! product of C with a hard plan; once directions differ little from round to round, only with what
//! changed.

use std::ops::Range;

use super::{PlanStep, PlanSummary, Products, TransportProblem, TransportState, inner, quadratic_form};
use crate::numeric::Matrix;
use crate::numeric::blocks::merge_blocks;
use crate::plan::Plan;
use crate::similarity::Similarity;

/// Moves all samples at once towards the vertex that the gradient points at.
///
/// One value serves one similarity: it remembers the direction of the round before.
#[derive(Clone, Default)]
pub(crate) struct ConditionalGradient<'s> {
    last: Option<Direction<'s>>,
}

/// A hard plan and its products.
#[derive(Clone)]
struct Direction<'s> {
    plan: Plan,
    products: Products<'s>,
}

impl<'s> Direction<'s> {
    fn new(similarity: &'s dyn Similarity, plan: Plan) -> Self {
        Self { products: Products::new(similarity, &plan), plan }
    }

    /// The same for other labels.
    fn turned(mut self, labels: &[u32]) -> Self {
        self.products.reassign_all(&self.plan, labels);
        self.plan = self.plan.relabelled(labels);
        self
    }
}

/// The hard plan D that minimises the linearised objective, for a block of rows or for all of them, and what the line
/// search needs to know of it.
struct LinearMinimum {
    /// The label of every row of D.
    labels: Vec<u32>,
    /// DᵀC T + TᵀC D, n×n.
    cross: Vec<f64>,
    /// ⟨feature costs, D⟩.
    linear: f64,
}

impl LinearMinimum {
    /// Adds the next block: its labels behind the others, the rest to the sums.
    fn merge(&mut self, part: Self) {
        self.labels.extend(part.labels);
        self.cross.iter_mut().zip(&part.cross).for_each(|(sum, cross)| *sum += cross);
        self.linear += part.linear;
    }
}

impl<'s> PlanStep<'s> for ConditionalGradient<'s> {
    fn step(&mut self, problem: &TransportProblem<'_>, state: &mut TransportState<'s>) -> bool {
        let n = problem.prototypes();
        let LinearMinimum { labels, cross, linear } = linear_minimum(problem, state);
        let cross = Matrix::new(cross, n, n).expect("n×n by construction");
        let mut direction = match self.last.take() {
            Some(last) => last.turned(&labels),
            None => Direction::new(state.products.similarity, state.plan.relabelled(&labels)),
        };
        if state.products.direct.is_numbers() {
            // Blending needs the numbers of the direction too: once they are there, its summary is read off them.
            direction.products.direct.numbers_mut();
        }
        let vertex = PlanSummary::new(&direction.plan, &direction.products);
        let (derivative, curvature) = along(problem, state, &vertex, &cross, linear);
        let gamma = best_step(derivative, curvature);
        // A step this small is rounding, or stopped by a zero in the target, where the logarithm of the loss is infinite.
        let moves = gamma > f64::EPSILON;
        if moves {
            state.plan.blend(gamma, &labels);
            state.products.blend(gamma, &direction.products);
            blend_summary(&mut state.summary, gamma, &vertex, &cross);
            state.linear += gamma * (linear - state.linear);
            state.refresh(problem);
        }
        self.last = Some(direction);
        moves
    }
}

/// D: the argmin of the gradient in every row.
fn linear_minimum(problem: &TransportProblem<'_>, state: &TransportState<'_>) -> LinearMinimum {
    let (samples, pairs) = (state.plan.len(), problem.prototypes().pow(2));
    let mut all = LinearMinimum { labels: Vec::with_capacity(samples), cross: vec![0.0; pairs], linear: 0.0 };
    let of_block = |rows| linear_minimum_of_block(problem, state, rows);
    merge_blocks(samples, pairs, of_block, |part| all.merge(part));
    all
}

/// The rows of D in a block, and what they add to the sums.
fn linear_minimum_of_block(
    problem: &TransportProblem<'_>,
    state: &TransportState<'_>,
    rows: Range<usize>,
) -> LinearMinimum {
    let (n, weights) = (problem.prototypes(), state.plan.sample_weights());
    let block = problem.gradient_rows(state, rows.clone());
    let labels: Vec<u32> = block.gradient.chunks_exact(n).map(argmin).collect();
    let mut cross = vec![0.0; n * n];
    let mut linear = 0.0;
    for (at, i) in rows.enumerate() {
        let (k, range) = (labels[at] as usize, at * n..(at + 1) * n);
        for (l, value) in block.products.direct[range.clone()].iter().enumerate() {
            cross[k * n + l] += weights[i] * value;
        }
        for (l, value) in block.products.transposed()[range].iter().enumerate() {
            cross[l * n + k] += weights[i] * value;
        }
        linear += block.linear.get(at * n + k).map_or(0.0, |cost| weights[i] * cost);
    }
    LinearMinimum { labels, cross, linear }
}

/// The first of the smallest.
fn argmin(row: &[f64]) -> u32 {
    let (mut best, mut at) = (row[0], 0);
    for (k, &value) in row.iter().enumerate().skip(1) {
        if value < best {
            (best, at) = (value, k);
        }
    }
    at as u32
}

/// E(T + γ(D−T)) − E(T) = derivative·γ + curvature·γ², exactly.
pub(super) fn along(
    problem: &TransportProblem<'_>,
    state: &TransportState<'_>,
    vertex: &PlanSummary,
    cross: &Matrix<'_>,
    linear: f64,
) -> (f64, f64) {
    let q = &state.summary.weights;
    let toward: Vec<f64> = vertex.weights.iter().zip(q).map(|(d, t)| d - t).collect();
    let repulsion = quadratic_form(&toward, &problem.repulsion, q) + quadratic_form(q, &problem.repulsion, &toward);
    let attraction = inner(cross, &problem.attraction);
    let here = inner(&state.summary.mass, &problem.attraction);
    let there = inner(&vertex.mass, &problem.attraction);
    let derivative = repulsion - (attraction - 2.0 * here) + (linear - state.linear);
    let curvature = quadratic_form(&toward, &problem.repulsion, &toward) - (there - attraction + here);
    (derivative, curvature)
}

/// Minimiser on \[0, 1\] of derivative·γ + curvature·γ².
pub(super) fn best_step(derivative: f64, curvature: f64) -> f64 {
    if curvature > 0.0 {
        (-derivative / (2.0 * curvature)).clamp(0.0, 1.0)
    } else if derivative + curvature < 0.0 {
        1.0
    } else {
        0.0
    }
}

/// The summary of (1−γ)T + γD.
pub(super) fn blend_summary(summary: &mut PlanSummary, gamma: f64, vertex: &PlanSummary, cross: &Matrix<'_>) {
    let stay = 1.0 - gamma;
    let entries = summary.mass.values_mut().iter_mut().zip(vertex.mass.values()).zip(cross.values());
    for ((here, there), cross) in entries {
        *here = stay * stay * *here + gamma * stay * cross + gamma * gamma * there;
    }
    summary.weights.iter_mut().zip(&vertex.weights).for_each(|(t, d)| *t = stay * *t + gamma * d);
}
