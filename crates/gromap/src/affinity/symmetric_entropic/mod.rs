//! The symmetric entropic affinity (SEA): doubly stochastic, every row of a given perplexity.
//!
//! ```text
//! min ⟨P, C⟩  over  P = Pᵀ, P·1 = 1, H(P_i) ≥ log ξ + 1,   H(p) = −Σ p·(log p − 1)
//! ```
//!
//! No row is spread wider than ξ neighbours asks for, none borrows mass from others, and nothing is
//! averaged afterwards (Van Assel et al., 2023). The dual has two numbers a sample and is solved by
//! Newton's method on the neighbour pattern; what proves a solution is its optimality conditions,
//! which the result states.
//!
//! On all pairs there always is a solution. On the pairs of a neighbour graph there may be none: where most samples have
//! the same few for neighbours, these would have to take more than a row may hold. That is noticed, and proved; the
//! similarity is then the entropic affinity of t-SNE.

mod dual;
mod newton;
mod row;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use self::dual::{Dual, Pair};
use self::newton::{End, Limits, Start, minimise};
use super::calibration::calibrate;
use super::entropic::{calibrated_row, conditional_rows};
use super::{
    Affinity, InexactRows, NeighborAffinity, NeighborWeights, Neighborhood, Pattern, Source, Warning, check_perplexity,
    perplexity_neighborhood,
};
use crate::data::{Data, Samples};
use crate::error::{Error, Result};
use crate::neighbors::{Metric, Neighbors};
use crate::similarity::Sparse;

/// The recipe of a symmetric entropic affinity.
///
/// ```
/// use gromap::affinity::SymmetricEntropic;
/// use gromap::Matrix;
/// use gromap::neighbors::{Metric, nearest_neighbors};
/// use gromap::similarity::Similarity;
/// let samples = Matrix::from_fn(30, 2, |i, j| ((i * i + 7 * j) % 31) as f64);
/// let neighbors = nearest_neighbors(&samples, 15, Metric::SquaredEuclidean, 0)?;
/// let solution = SymmetricEntropic { perplexity: 5.0, ..SymmetricEntropic::default() }.solve(&neighbors)?;
/// assert!(solution.converged && solution.affinity.is_symmetric());
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SymmetricEntropic {
    /// The effective number of neighbours ξ of every sample.
    pub perplexity: f64,
    /// How many neighbours are looked at; `None` is ⌈3ξ⌉. With N−1 the affinity is exact.
    pub neighbors: Option<usize>,
    /// The cost of a pair.
    pub metric: Metric,
    /// The largest error allowed in a row sum or an entropy, and the largest gap.
    pub tolerance: f64,
    /// Newton steps, at most.
    pub max_steps: usize,
}

impl Default for SymmetricEntropic {
    fn default() -> Self {
        Self { perplexity: 30.0, neighbors: None, metric: Metric::SquaredEuclidean, tolerance: 1e-3, max_steps: 200 }
    }
}

/// A symmetric entropic affinity, and how well it satisfies its optimality conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// P.
    pub affinity: Sparse<'static, f32>,
    /// The temperature ε of every row.
    pub temperatures: Vec<f64>,
    /// The multiplier μ of every row sum.
    pub multipliers: Vec<f64>,
    /// Largest error of a row sum.
    pub row_sum_error: f64,
    /// Largest error of an entropy: its distance from log ξ + 1. Being above that is no error
    /// where the temperature is as good as zero.
    pub entropy_error: f64,
    /// Rows whose entropy is above the bound, at a temperature as good as zero: hubs, which all
    /// others fill, and samples with more than ξ duplicates.
    pub inactive: usize,
    /// What their temperatures, not being zero, cost: Σ ε_i·(entropy above the bound) over these
    /// rows, as a share of Σ ε_i.
    pub gap: f64,
    /// Newton steps taken.
    pub steps: usize,
    /// Passes over the pattern: evaluations and products with the Hessian.
    pub passes: usize,
    /// Whether both errors and the gap are within the tolerance.
    pub converged: bool,
    /// Whether it is proved that no similarity on these pairs has rows of sum one and of this perplexity.
    pub is_infeasible: bool,
    /// The rows whose sum or entropy is off by more than the tolerance.
    pub unsolved: Vec<u32>,
}

impl SymmetricEntropic {
    /// Solves for the affinity of samples, one in each row.
    pub fn solve_samples<'a>(&self, samples: impl Into<Samples<'a>>) -> Result<Solution> {
        let (data, mut nobody) = (Data::Samples(samples.into()), ());
        let mut source = Source::new(&data, &mut nobody)?;
        self.check(source.len())?;
        self.solve(&source.neighbors(self.neighborhood(source.len()))?)
    }

    /// Solves for the affinity on neighbours found before; their distances are the costs.
    pub fn solve(&self, neighbors: &Neighbors) -> Result<Solution> {
        check_perplexity(self.perplexity, neighbors.k() + 1)?;
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return Err(Error::parameter("tolerance", self.tolerance, "positive and finite"));
        }
        let pattern = Pattern::new(neighbors)?;
        let (start, scale) = start(&pattern, self.perplexity)?;
        let dual = Dual::new(&pattern, scale, self.perplexity);
        let limits = Limits { tolerance: self.tolerance, max_steps: self.max_steps };
        let outcome = minimise(&dual, start, limits);
        let values = dual.affinity(&outcome.at);
        Ok(Solution {
            temperatures: outcome.at.iter().map(|at| at[0] / scale).collect(),
            multipliers: outcome.at.iter().map(|at| at[1] / scale).collect(),
            row_sum_error: outcome.residuals.row_sum,
            entropy_error: outcome.residuals.entropy,
            inactive: outcome.residuals.inactive,
            gap: outcome.residuals.gap,
            steps: outcome.steps,
            passes: outcome.passes,
            converged: outcome.end == End::Converged,
            is_infeasible: outcome.end == End::Infeasible,
            unsolved: outcome.unsolved,
            affinity: pattern.with_values(values)?,
        })
    }
}

impl SymmetricEntropic {
    /// What takes its place where it does not exist: rows of the same perplexity, averaged with their transpose. They sum
    /// to one in the mean.
    fn replacement(&self, neighbors: &Neighbors) -> Result<Sparse<'static, f32>> {
        let rows = conditional_rows(neighbors, self.perplexity)?;
        Pattern::new(neighbors)?.combine(&rows, |p, transposed| 0.5 * (p + transposed))
    }
}

impl NeighborWeights for SymmetricEntropic {
    fn neighborhood(&self, samples: usize) -> Neighborhood {
        perplexity_neighborhood(self.perplexity, self.neighbors, self.metric, samples)
    }

    /// A row of the same perplexity, by itself.
    fn weigh(&self, distances: &[f32], _: usize) -> Result<Vec<f64>> {
        calibrated_row(distances, self.perplexity)
    }
}

impl NeighborAffinity for SymmetricEntropic {
    fn of_neighbors(&self, neighbors: &Neighbors) -> Result<Affinity> {
        let solution = self.solve(neighbors)?;
        if solution.converged {
            return Ok(solution.affinity.into());
        }
        let residual = solution.row_sum_error.max(solution.entropy_error);
        let rows = InexactRows::new(&solution.unsolved);
        if solution.is_infeasible || residual > WORST_RESIDUAL {
            let warning = Warning::Replaced { rows, is_infeasible: solution.is_infeasible };
            drop(solution); // its entries, before there are others
            return Ok(Affinity { warnings: vec![warning], ..self.replacement(neighbors)?.into() });
        }
        let warning = Warning::NotConverged { steps: solution.steps, residual: residual.max(solution.gap), rows };
        Ok(Affinity { warnings: vec![warning], ..solution.affinity.into() })
    }

    fn check(&self, samples: usize) -> Result<()> {
        check_perplexity(self.perplexity, samples)?;
        check_perplexity(self.perplexity, self.neighborhood(samples).k + 1)
    }

    /// The pattern, weights and their logarithms, or before that what the pattern is made from.
    fn bytes_per_entry(&self) -> (u64, u64) {
        (24, 8)
    }
}

/// Where row sums or entropies are off by more than this, the entropic affinity is the better one.
const WORST_RESIDUAL: f64 = 0.1;

/// The temperature of a row whose cheapest entries are too many already, as a share of what the next one costs more: it
/// gets no mass.
const COLD: f64 = 1.0 / 30.0;

/// The entropic affinity of every row by itself, with costs multiplied by a factor that brings the mean temperature to
/// one; and that factor.
fn start(pattern: &Pattern, perplexity: f64) -> Result<(Start, f64)> {
    let calibrated = |scratch: &mut Vec<f64>, i: usize| {
        let row = calibrate(pattern.row(i).1, perplexity, i, scratch)?;
        Ok([row.epsilon, row.mu])
    };
    let rows: Vec<Pair> = (0..pattern.len()).into_par_iter().map_init(Vec::new, calibrated).collect::<Result<_>>()?;
    let warm = rows.iter().map(|row| row[0]).filter(|&epsilon| epsilon > 0.0);
    let mean = warm.clone().sum::<f64>() / warm.count().max(1) as f64;
    let scale = if mean > 0.0 && (1.0 / mean).is_finite() { 1.0 / mean } else { 1.0 };
    let tempered = |(i, &[epsilon, mu]): (usize, &Pair)| match epsilon > 0.0 {
        true => [scale * epsilon, scale * mu],
        false => [cold(pattern.row(i).1).map_or(1.0, |epsilon| scale * epsilon), scale * mu],
    };
    let at = rows.iter().enumerate().map(tempered).collect();
    let tied = rows.iter().map(|row| row[0] <= 0.0).collect();
    Ok((Start { at, tied }, scale))
}

/// A temperature at which only the cheapest entries have mass; `None` if all are.
fn cold(costs: &[f32]) -> Option<f64> {
    let least = costs.iter().copied().fold(f32::INFINITY, f32::min);
    let dearer = costs.iter().copied().filter(|&cost| cost > least).fold(f32::INFINITY, f32::min);
    dearer.is_finite().then(|| COLD * (f64::from(dearer) - f64::from(least)))
}
