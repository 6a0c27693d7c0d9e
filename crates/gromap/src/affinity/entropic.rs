//! Entropic affinities: every row spread over its neighbours to a given perplexity ξ.
//!
//! p_{j|i} = exp(−c_ij/ε_i) / Σ_l exp(−c_il/ε_i), with ε_i such that −Σ p log p = log ξ. SNE compares
//! these rows as they are; t-SNE takes (P + Pᵀ)/2N, a law on pairs. A new sample has a row of the same perplexity.

use rayon::prelude::*;

use super::calibration::calibrate;
use super::{
    Affinity, NeighborAffinity, NeighborWeights, Neighborhood, Pattern, check_perplexity, perplexity_neighborhood,
};
use crate::error::Result;
use crate::neighbors::{Metric, Neighbors};
use crate::similarity::Sparse;

/// Rows calibrated to a perplexity.
///
/// ```
/// use gromap::affinity::{Entropic, InputAffinity, Symmetry};
/// use gromap::Matrix;
/// let samples = Matrix::from_fn(20, 1, |i, _| (i * i) as f64);
/// let recipe = Entropic { perplexity: 4.0, symmetry: Symmetry::Conditional, ..Entropic::default() };
/// assert!(!recipe.build(&samples)?.similarity.is_symmetric());
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entropic {
    /// The effective number of neighbours ξ of every sample.
    pub perplexity: f64,
    /// How many neighbours are looked at; `None` is ⌈3ξ⌉. With N−1 the affinity is exact.
    pub neighbors: Option<usize>,
    /// The cost of a pair.
    pub metric: Metric,
    /// Rows as they are, or their symmetric mean.
    pub symmetry: Symmetry,
}

/// What becomes of the calibrated rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Symmetry {
    /// P itself, rows of sum 1 (SNE).
    Conditional,
    /// (P + Pᵀ)/2N, all entries of sum 1 (t-SNE).
    Joint,
}

impl Default for Entropic {
    fn default() -> Self {
        Self { perplexity: 30.0, neighbors: None, metric: Metric::SquaredEuclidean, symmetry: Symmetry::Joint }
    }
}

impl NeighborWeights for Entropic {
    fn neighborhood(&self, samples: usize) -> Neighborhood {
        perplexity_neighborhood(self.perplexity, self.neighbors, self.metric, samples)
    }

    fn weigh(&self, distances: &[f32], samples: usize) -> Result<Vec<f64>> {
        let row = calibrated_row(distances, self.perplexity)?;
        Ok(match self.symmetry {
            Symmetry::Conditional => row,
            Symmetry::Joint => row.into_iter().map(|p| p / samples as f64).collect(),
        })
    }
}

impl NeighborAffinity for Entropic {
    fn of_neighbors(&self, neighbors: &Neighbors) -> Result<Affinity> {
        check_perplexity(self.perplexity, neighbors.k() + 1)?;
        let rows = conditional_rows(neighbors, self.perplexity)?;
        let affinity = match self.symmetry {
            Symmetry::Conditional => {
                let offsets: Vec<usize> = (0..=rows.len()).map(|i| i * neighbors.k()).collect();
                let (columns, values): (Vec<u32>, Vec<f32>) = rows.into_iter().flatten().unzip();
                Sparse::new(offsets, columns, values)?
            }
            Symmetry::Joint => {
                let scale = 0.5 / rows.len() as f64;
                Pattern::new(neighbors)?.combine(&rows, |p, transposed| scale * (p + transposed))?
            }
        };
        Ok(affinity.into())
    }

    fn check(&self, samples: usize) -> Result<()> {
        check_perplexity(self.perplexity, samples)?;
        check_perplexity(self.perplexity, self.neighborhood(samples).k + 1)
    }

    fn bytes_per_entry(&self) -> (u64, u64) {
        match self.symmetry {
            // Rows as they are, half of what the union with the transpose would have; the transpose is kept beside them.
            Symmetry::Conditional => (8, 8),
            Symmetry::Joint => (28, 8),
        }
    }
}

/// A row of P for a sample with these costs, which may have more equal neighbours than it asks for.
pub(super) fn calibrated_row(costs: &[f32], perplexity: f64) -> Result<Vec<f64>> {
    let calibrated = calibrate(costs, perplexity, 0, &mut Vec::new())?;
    let weights: Vec<f64> = costs.iter().map(|&cost| calibrated.weight(f64::from(cost))).collect();
    let total: f64 = weights.iter().sum();
    Ok(weights.iter().map(|weight| weight / total).collect())
}

/// The rows of P, each by ascending columns.
pub(super) fn conditional_rows(neighbors: &Neighbors, perplexity: f64) -> Result<Vec<Vec<(u32, f32)>>> {
    let row = |scratch: &mut Vec<f64>, i: usize| conditional_row(neighbors, i, perplexity, scratch);
    (0..neighbors.len()).into_par_iter().map_init(Vec::new, row).collect()
}

/// Row i of P, by ascending columns.
fn conditional_row(
    neighbors: &Neighbors,
    i: usize,
    perplexity: f64,
    scratch: &mut Vec<f64>,
) -> Result<Vec<(u32, f32)>> {
    let (columns, costs) = neighbors.row(i);
    let calibrated = calibrate(costs, perplexity, i, scratch)?;
    let weights = costs.iter().map(|&cost| calibrated.weight(f64::from(cost)));
    let total: f64 = weights.clone().sum();
    let mut row: Vec<(u32, f32)> = columns.iter().copied().zip(weights.map(|w| (w / total) as f32)).collect();
    row.sort_unstable_by_key(|entry| entry.0);
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::InputAffinity;
    use crate::affinity::testing::{line, scattered, sparse_of};
    use crate::error::Error;
    use crate::neighbors::nearest_neighbors;
    use crate::numeric::Matrix;
    use crate::similarity::Similarity;

    fn sparse(recipe: Entropic, samples: &Matrix<'_, f32>) -> Sparse<'static, f32> {
        let k = recipe.neighbors.unwrap_or((3.0 * recipe.perplexity).ceil() as usize);
        let neighbors = nearest_neighbors(samples, k, recipe.metric, 0).expect("neighbours");
        sparse_of(&recipe.of_neighbors(&neighbors).expect("an affinity"))
    }

    #[test]
    fn conditional_rows_have_sum_one_and_their_perplexity() {
        let recipe = Entropic { perplexity: 5.0, symmetry: Symmetry::Conditional, ..Entropic::default() };
        let p = sparse(recipe, &scattered(100, 3, 1));
        assert!(!p.is_symmetric());
        for i in 0..100 {
            let (columns, values) = p.row(i);
            assert_eq!(columns.len(), 15);
            let sum: f64 = values.iter().map(|&v| f64::from(v)).sum();
            let entropy: f64 = -values.iter().map(|&v| f64::from(v) * f64::from(v).ln()).sum::<f64>();
            assert!((sum - 1.0).abs() < 1e-6 && (entropy - 5f64.ln()).abs() < 1e-5, "{sum} {entropy}");
        }
    }

    #[test]
    fn the_joint_affinity_is_the_symmetric_mean() {
        let samples = scattered(60, 3, 2);
        let recipe = Entropic { perplexity: 4.0, ..Entropic::default() };
        let joint = sparse(recipe, &samples);
        let p = sparse(Entropic { symmetry: Symmetry::Conditional, ..recipe }, &samples);
        let entry = |c: &Sparse<'_, f32>, i: usize, j: usize| {
            let (columns, values) = c.row(i);
            columns.binary_search(&(j as u32)).map_or(0.0, |at| f64::from(values[at]))
        };
        let mut total = 0.0;
        for i in 0..60 {
            for j in 0..60 {
                let expected = (entry(&p, i, j) + entry(&p, j, i)) / 120.0;
                assert!((entry(&joint, i, j) - expected).abs() < 1e-9, "{i} {j}");
                total += entry(&joint, i, j);
            }
        }
        assert!(joint.is_symmetric() && (total - 1.0).abs() < 1e-5);
    }

    #[test]
    fn bad_input_is_named() {
        let build = |recipe: Entropic, samples: &Matrix<'_, f32>| recipe.build(samples).map(|_| ());
        let message = |recipe, samples| build(recipe, samples).expect_err("refused").to_string();
        let ten = line(10);
        assert!(message(Entropic { perplexity: 9.0, ..Entropic::default() }, &ten).contains("perplexity is 9"));
        assert!(message(Entropic { perplexity: 0.5, ..Entropic::default() }, &ten).contains("perplexity is 0.5"));
        assert!(message(Entropic { perplexity: f64::NAN, ..Entropic::default() }, &ten).contains("perplexity is NaN"));
        let few = Entropic { perplexity: 5.0, neighbors: Some(4), ..Entropic::default() };
        assert!(message(few, &ten).contains("less than 4, the number of neighbours"));
        let many = Entropic { perplexity: 5.0, neighbors: Some(10), ..Entropic::default() };
        assert!(message(many, &ten).contains("neighbors is 10"));
        let equal = Matrix::from_fn(10, 2, |_, _| 3.0f32);
        assert!(message(Entropic { perplexity: 3.0, ..Entropic::default() }, &equal).contains("all samples are equal"));
        let mut spoilt = line(10);
        spoilt[(7, 0)] = f32::NAN;
        let found = build(Entropic { perplexity: 3.0, ..Entropic::default() }, &spoilt);
        assert!(matches!(found, Err(Error::NotFinite { what: "samples", row: 7, column: 0, .. })), "{found:?}");
    }
}
