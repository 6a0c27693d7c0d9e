//! Entropic balanced transport in the log domain:
//!
//! ```text
//! min over T ∈ U(h, q):  ⟨c, T⟩ + ε·Σ T·(log T − 1),   T[i,k] = exp((f_i + g_k − c[i,k]) / ε)
//! f_i = ε·log h_i − ε·log Σ_k exp((g_k − c[i,k]) / ε)      g_k = ε·log q_k − ε·log Σ_i exp((f_i − c[i,k]) / ε)
//! ```
//!
//! One pass over the rows of costs gives f, exactly, and what g needs; f itself is not kept. Sums of exponentials carry their
//! largest exponent with them, so that no ε is too small to be written down.

use std::ops::Range;

use super::RowCosts;
use crate::numeric::blocks::merge_blocks;
use crate::observe::StopReason;
use crate::plan::Plan;
use crate::weights::SampleWeights;

/// What an entropic problem is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sinkhorn {
    /// Weight ε of the entropy.
    pub(crate) epsilon: f64,
    /// Passes, at most.
    pub(crate) max_rounds: usize,
    /// How far the column sums may be from their demand, all together.
    pub(crate) tolerance: f64,
}

/// log Σ exp x of one sink: the largest x, and Σ exp(x − largest).
#[derive(Debug, Clone, Copy)]
struct LogSum {
    largest: f64,
    sum: f64,
}

impl LogSum {
    const NOTHING: Self = Self { largest: f64::NEG_INFINITY, sum: 0.0 };

    fn add(&mut self, x: f64) {
        self.merge(Self { largest: x, sum: 1.0 });
    }

    fn merge(&mut self, other: Self) {
        if other.largest == f64::NEG_INFINITY {
            return;
        }
        if other.largest <= self.largest {
            self.sum += other.sum * (other.largest - self.largest).exp();
        } else {
            self.sum = other.sum + self.sum * (self.largest - other.largest).exp();
            self.largest = other.largest;
        }
    }

    fn value(self) -> f64 {
        self.largest + self.sum.ln()
    }
}

/// The entropic plan, whose rows are exact and whose columns are within the tolerance if it says so.
pub(crate) fn sinkhorn(
    costs: &dyn RowCosts,
    weights: &SampleWeights,
    shares: &[f64],
    asked: Sinkhorn,
) -> (Plan, StopReason) {
    let n = shares.len();
    // In units of ε; a sink that receives nothing stays at −∞.
    let logs: Vec<f64> = shares.iter().map(|share| share.ln()).collect();
    let mut g: Vec<f64> = logs.iter().map(|&log| if log.is_finite() { 0.0 } else { log }).collect();
    let mut stop = StopReason::MaxRounds;
    for _ in 0..asked.max_rounds {
        let mut columns = vec![LogSum::NOTHING; n];
        let of_block = |rows| columns_of_block(costs, weights, &g, asked.epsilon, rows);
        merge_blocks(costs.len(), 2 * n, of_block, |part: Vec<LogSum>| {
            columns.iter_mut().zip(part).for_each(|(sum, part)| sum.merge(part));
        });
        // Column k of the plan that f and g make sums to exp(g_k + log Σ_i exp(f_i − c)).
        let off = |k: usize| ((g[k] + columns[k].value()).exp() - shares[k]).abs();
        if (0..n).filter(|&k| g[k].is_finite()).map(off).sum::<f64>() <= asked.tolerance {
            stop = StopReason::Converged;
            break;
        }
        (0..n).filter(|&k| logs[k].is_finite()).for_each(|k| g[k] = logs[k] - columns[k].value());
    }
    let mut row = vec![0.0; n];
    let plan = Plan::from_rows(n, weights.clone(), |i| {
        costs.rows(i..i + 1, &mut row);
        let log = |(c, g): (&f64, &f64)| g - c / asked.epsilon;
        let largest = row.iter().zip(&g).map(log).fold(f64::NEG_INFINITY, f64::max);
        let masses: Vec<f64> = row.iter().zip(&g).map(|entry| (log(entry) - largest).exp()).collect();
        masses.into_iter().enumerate()
    });
    (plan, stop)
}

/// What a block of rows adds to log Σ_i exp((f_i − c[i,k]) / ε), with f from g.
fn columns_of_block(
    costs: &dyn RowCosts,
    weights: &SampleWeights,
    g: &[f64],
    epsilon: f64,
    rows: Range<usize>,
) -> Vec<LogSum> {
    let n = g.len();
    let mut block = vec![0.0; rows.len() * n];
    costs.rows(rows.clone(), &mut block);
    let mut columns = vec![LogSum::NOTHING; n];
    for (i, row) in rows.zip(block.chunks_exact_mut(n)).filter(|(i, _)| weights[*i] > 0.0) {
        row.iter_mut().for_each(|c| *c /= -epsilon);
        let mut sum = LogSum::NOTHING;
        row.iter().zip(g).for_each(|(c, g)| sum.add(c + g));
        let f = weights[i].ln() - sum.value();
        row.iter().zip(&mut columns).for_each(|(c, column)| column.add(f + c));
    }
    columns
}
