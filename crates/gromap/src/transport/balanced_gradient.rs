//! Conditional gradient between fixed weights (Corollary 1 of the paper): Gromov-Wasserstein transport with both marginals given.
//!
//! ```text
//! D = argmin ⟨∂E/∂T, D⟩,   D ≥ 0,   D·1 = h,   low ≤ Dᵀ1 ≤ high
//! ```
//!
//! Rows are no longer free to choose by themselves: the linear problem is a balanced transport problem, solved exactly
//! (`balanced/`), from the potentials of the round before. D has at most N + n − 1 entries, nearly all rows one. The rest is
//! as in `conditional_gradient.rs`: along D − T the objective is a quadratic in γ.

use std::ops::Range;

use super::balanced::{RowCosts, Solution, solve};
use super::conditional_gradient::{along, best_step, blend_summary};
use super::{PlanStep, PlanSummary, Products, TransportProblem, TransportState};
use crate::numeric::Matrix;
use crate::numeric::blocks::merge_blocks;
use crate::plan::Plan;
use crate::weights::Demand;

/// Moves the plan towards the one that the gradient points at among those that meet the demand.
pub(crate) struct BalancedGradient {
    demand: Demand,
    potentials: Option<Vec<f64>>,
}

impl BalancedGradient {
    pub(crate) fn new(demand: Demand) -> Self {
        Self { demand, potentials: None }
    }
}

/// The gradient as costs.
struct Gradient<'a, 's> {
    problem: &'a TransportProblem<'a>,
    state: &'a TransportState<'s>,
}

impl RowCosts for Gradient<'_, '_> {
    fn len(&self) -> usize {
        self.state.plan.len()
    }

    fn sinks(&self) -> usize {
        self.problem.prototypes()
    }

    fn rows(&self, rows: Range<usize>, out: &mut [f64]) {
        out.copy_from_slice(&self.problem.gradient_rows(self.state, rows).gradient);
    }
}

/// The plan that the gradient points at among those that meet a demand, unless this one does.
pub(crate) fn made_feasible(
    problem: &TransportProblem<'_>,
    state: &TransportState<'_>,
    demand: &Demand,
) -> Option<Plan> {
    let is_met = demand.is_met_by(&state.plan.weights());
    let costs = Gradient { problem, state };
    (!is_met).then(|| solve(&costs, state.plan.sample_weights(), demand, None).plan)
}

impl<'s> PlanStep<'s> for BalancedGradient {
    fn step(&mut self, problem: &TransportProblem<'_>, state: &mut TransportState<'s>) -> bool {
        let costs = Gradient { problem, state };
        let weights = state.plan.sample_weights();
        let Solution { plan, potentials } = solve(&costs, weights, &self.demand, self.potentials.as_deref());
        self.potentials = Some(potentials);
        let mut products = Products::new(state.products.similarity, &plan);
        if state.products.direct.is_numbers() {
            products.direct.numbers_mut();
        }
        let vertex = PlanSummary::new(&plan, &products);
        let (cross, linear) = cross(problem, state, &plan);
        let (derivative, curvature) = along(problem, state, &vertex, &cross, linear);
        let gamma = best_step(derivative, curvature);
        // A step this small is rounding.
        let moves = gamma > f64::EPSILON && plan != state.plan;
        if moves {
            state.plan = state.plan.toward(gamma, &plan);
            state.products.blend(gamma, &products);
            blend_summary(&mut state.summary, gamma, &vertex, &cross);
            state.linear += gamma * (linear - state.linear);
            state.refresh(problem);
        }
        moves
    }
}

/// DᵀC T + TᵀC D, and ⟨feature costs, D⟩.
fn cross(problem: &TransportProblem<'_>, state: &TransportState<'_>, plan: &Plan) -> (Matrix<'static>, f64) {
    let n = problem.prototypes();
    let mut sums = vec![0.0; n * n + 1];
    let of_block = |rows| cross_of_block(problem, state, plan, rows);
    merge_blocks(plan.len(), n * n + 1, of_block, |part: Vec<f64>| {
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    });
    let linear = sums.pop().unwrap_or(0.0);
    (Matrix::new(sums, n, n).expect("n×n by construction"), linear)
}

/// What a block of rows adds to both, the second behind the first.
fn cross_of_block(
    problem: &TransportProblem<'_>,
    state: &TransportState<'_>,
    plan: &Plan,
    rows: Range<usize>,
) -> Vec<f64> {
    let n = problem.prototypes();
    let block = problem.gradient_rows(state, rows.clone());
    let mut sums = vec![0.0; n * n + 1];
    for (at, i) in rows.enumerate() {
        let range = at * n..(at + 1) * n;
        for (k, mass) in plan.row(i).iter() {
            for (l, value) in block.products.direct[range.clone()].iter().enumerate() {
                sums[k * n + l] += mass * value;
            }
            for (l, value) in block.products.transposed()[range.clone()].iter().enumerate() {
                sums[l * n + k] += mass * value;
            }
            sums[n * n] += block.linear.get(at * n + k).map_or(0.0, |cost| mass * cost);
        }
    }
    sums
}
