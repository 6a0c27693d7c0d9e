//! Mirror descent: the soft alternative.
//!
//! Minimises J(T) = E(T) + η·Σ T·log T over plans, by multiplicative steps of inverse size ε ≥ η:
//!
//! ```text
//! T' ∝ T^(1−η/ε) ⊙ exp(−∂E/∂T / ε),   rows rescaled, in the log domain
//! ```
//!
//! η = 0 minimises E itself, which is what POT calls its entropic solver; η = ε is the fixed point
//! T ∝ exp(−∂E/∂T / ε) of the entropic objective. A step that would raise J is taken again with twice the ε, so
//! that the loss never rises.

use rayon::prelude::*;

use super::{PlanStep, TransportProblem, TransportState};
use crate::numeric::blocks::blocks;
use crate::plan::Plan;

/// Doublings of ε before a step is given up.
const MAX_DOUBLINGS: usize = 40;

/// Multiplicative steps on soft plans.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MirrorDescent {
    /// Inverse step size ε; `None` takes a tenth of the largest spread of the gradient in a row.
    pub epsilon: Option<f64>,
    /// Weight η of the entropy in the objective.
    pub entropy: f64,
}

impl<'s> PlanStep<'s> for MirrorDescent {
    /// η·Σ T·log T.
    fn penalty(&self, plan: &Plan) -> f64 {
        if self.entropy == 0.0 {
            return 0.0;
        }
        let of_row = |i| plan.row(i).mass.iter().map(|&m| crate::numeric::logarithm::x_log_x(m)).sum::<f64>();
        self.entropy * (0..plan.len()).map(of_row).sum::<f64>()
    }

    fn step(&mut self, problem: &TransportProblem<'_>, state: &mut TransportState<'s>) -> bool {
        let gradient: Vec<Vec<f64>> =
            blocks(state.plan.len()).map(|rows| problem.gradient_rows(state, rows).gradient).collect();
        let n = problem.prototypes();
        let mut epsilon = self.epsilon.unwrap_or_else(|| 0.1 * largest_spread(&gradient, n)).max(self.entropy);
        if epsilon <= 0.0 {
            return false;
        }
        let before = state.loss + self.penalty(&state.plan);
        for _ in 0..MAX_DOUBLINGS {
            let plan = multiply(&state.plan, &gradient, epsilon, self.entropy);
            if plan == state.plan {
                return false;
            }
            let next = state.with_plan(problem, plan);
            if next.loss + self.penalty(&next.plan) <= before {
                *state = next;
                return true;
            }
            epsilon *= 2.0;
        }
        false
    }
}

/// T^(1−η/ε) ⊙ exp(−G/ε), rows rescaled; an entry that is zero stays so unless the exponent of T is.
fn multiply(plan: &Plan, gradient: &[Vec<f64>], epsilon: f64, entropy: f64) -> Plan {
    let n = plan.prototypes();
    let keep = 1.0 - entropy / epsilon;
    let block_size = gradient[0].len() / n;
    let mut row = vec![f64::NEG_INFINITY; n];
    Plan::from_rows(n, plan.sample_weights().clone(), |i| {
        let at = (i % block_size) * n;
        let gradient = &gradient[i / block_size][at..at + n];
        row.fill(if keep == 0.0 { 0.0 } else { f64::NEG_INFINITY });
        if keep != 0.0 {
            plan.row(i).iter().for_each(|(k, mass)| row[k] = keep * mass.ln());
        }
        row.iter_mut().zip(gradient).for_each(|(log, g)| *log -= g / epsilon);
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter().map(|log| (log - largest).exp()).enumerate().collect::<Vec<_>>().into_iter()
    })
}

/// The largest difference between two entries of a row.
fn largest_spread(gradient: &[Vec<f64>], n: usize) -> f64 {
    let spread = |row: &[f64]| {
        let (low, high) = row.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        high - low
    };
    gradient.iter().flat_map(|block| block.chunks_exact(n)).map(spread).fold(0.0, f64::max)
}
