//! A similarity that the caller has already: nothing to compute, something to check.
//!
//! Methods differ in what they can take. A Gram family needs C = Cᵀ, a neighbour embedding needs
//! entries that are not negative; where that fails, the error names the entry.

use super::Affinity;
use crate::error::{Error, Result};
use crate::numeric::{Matrix, Scalar};
use crate::similarity::{Dense, Similarity, Sparse};

/// What the method that takes a given similarity needs of it.
///
/// ```
/// use gromap::Matrix;
/// use gromap::affinity::Precomputed;
/// let given = Matrix::new(vec![1.0, 0.5, 0.2, 1.0], 2, 2)?;
/// let error = Precomputed::symmetric().dense(given).err().unwrap();
/// assert!(error.to_string().contains("similarity[0, 1] is 0.5"));
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Precomputed {
    needs_symmetry: bool,
    needs_no_negatives: bool,
}

impl Precomputed {
    /// For methods that take any similarity.
    pub fn any() -> Self {
        Self::default()
    }

    /// For methods that need C = Cᵀ.
    pub fn symmetric() -> Self {
        Self { needs_symmetry: true, ..Self::default() }
    }

    /// Also without negative entries, for neighbour embedding.
    pub fn not_negative(mut self) -> Self {
        self.needs_no_negatives = true;
        self
    }

    /// Takes a dense similarity, N×N.
    pub fn dense<S: Scalar>(&self, given: Matrix<'static, S>) -> Result<Affinity> {
        let dense = Dense::new(given)?;
        self.check(&dense, || {
            let given = dense.matrix();
            let value = |i: usize, j: usize| given[(i, j)].to_f64();
            // The largest difference: rounding alone makes small ones.
            let pairs = (0..given.rows()).flat_map(|i| (i + 1..given.columns()).map(move |j| (i, j)));
            let differences = pairs.map(|(i, j)| (i, j, value(i, j), value(j, i)));
            differences.max_by(|x, y| (x.2 - x.3).abs().total_cmp(&(y.2 - y.3).abs()))
        })?;
        Ok(dense.into())
    }

    /// Takes a sparse similarity.
    pub fn sparse(&self, given: Sparse<'static, f32>) -> Result<Affinity> {
        self.check(&given, || {
            let pairs = (0..given.len()).flat_map(|i| given.row(i).0.iter().map(move |&j| (i, j as usize)));
            let value = |i: usize, j: usize| given.entry(i, j);
            pairs.map(|(i, j)| (i, j, value(i, j), value(j, i))).find(|&(_, _, a, b)| a != b)
        })?;
        Ok(given.into())
    }

    /// Refuses what the method cannot take; `mismatch` finds an entry that differs from its mirror.
    fn check(&self, given: &dyn Similarity, mismatch: impl FnOnce() -> Option<(usize, usize, f64, f64)>) -> Result<()> {
        let low = given.bounds().low;
        if self.needs_no_negatives && low.value < 0.0 {
            let (row, column) = low.at.unwrap_or_default();
            return Err(Error::Negative { row, column, value: low.value });
        }
        if self.needs_symmetry && !given.is_symmetric() {
            let (row, column, value, mirrored) = mismatch().unwrap_or((0, 0, f64::NAN, f64::NAN));
            return Err(Error::Asymmetric { row, column, value, mirrored });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(values: Vec<f64>) -> Matrix<'static> {
        Matrix::new(values, 2, 2).unwrap()
    }

    fn sparse(low: f32) -> Sparse<'static, f32> {
        Sparse::new(vec![0, 1, 2], vec![1, 0], vec![0.5, low]).unwrap()
    }

    #[test]
    fn what_a_method_cannot_take_is_named() {
        let lopsided = dense(vec![1.0, 0.5, 0.2, 1.0]);
        let negative = dense(vec![1.0, -0.5, -0.5, 1.0]);
        let asymmetric = Error::Asymmetric { row: 0, column: 1, value: 0.5, mirrored: 0.2 };
        assert_eq!(Precomputed::symmetric().dense(lopsided.clone()).err().unwrap(), asymmetric);
        let below = Error::Negative { row: 0, column: 1, value: -0.5 };
        assert_eq!(Precomputed::symmetric().not_negative().dense(negative.clone()).err().unwrap(), below);
        assert!(Precomputed::any().dense(lopsided.clone()).is_ok());
        assert!(Precomputed::symmetric().dense(negative.clone()).is_ok());
        assert!(Precomputed::any().not_negative().dense(lopsided.clone()).is_ok());
        let wide = Matrix::new(vec![1.0; 6], 2, 3).unwrap();
        assert!(matches!(Precomputed::any().dense(wide.clone()), Err(Error::Shape { .. })));
    }

    #[test]
    fn so_it_is_for_sparse_ones() {
        let recipe = Precomputed::symmetric().not_negative();
        assert!(matches!(recipe.sparse(sparse(0.25)), Err(Error::Asymmetric { row: 0, column: 1, .. })));
        assert!(matches!(recipe.sparse(sparse(-0.5)), Err(Error::Negative { row: 1, column: 0, .. })));
        assert!(recipe.sparse(sparse(0.5)).is_ok());
        assert!(Precomputed::any().sparse(sparse(-0.5)).is_ok());
    }
}
