//! Landmarks: a few samples that stand for all in a low-rank approximation (Nyström).
//!
//! With K_m the matrix among the landmarks, K_m = U·Λ·Uᵀ, and K_n that of all samples with them,
//! C ≈ K_n·K_m⁻¹·K_nᵀ = A·Aᵀ with A = K_n·U·Λ^{−1/2}. A kernel that is not positive has negative
//! eigenvalues: then A·Bᵀ, B being A with those columns turned.

use faer::{Mat, Side};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::centring::centred_columns;
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::scalar::Scalar;
use crate::similarity::LowRank;

/// Eigenvalues below this share of the largest are left out.
const LEAST_EIGENVALUE: f64 = 1e-10;

/// How many samples stand for all, and which are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Landmarks {
    /// How many.
    pub count: usize,
    /// Seed of the draw.
    pub seed: u64,
}

impl Landmarks {
    /// The landmarks among `samples` samples, ascending.
    pub(super) fn draw(&self, samples: usize) -> Result<Vec<usize>> {
        if self.count < 2 || self.count > samples {
            let allowed = format!("at least 2 and at most {samples}, the number of samples");
            return Err(Error::parameter("landmarks", self.count as f64, allowed));
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut chosen: Vec<usize> = (0..samples).collect();
        for at in 0..self.count {
            chosen.swap(at, rng.random_range(at..samples));
        }
        chosen.truncate(self.count);
        chosen.sort_unstable();
        Ok(chosen)
    }
}

/// Which eigenvalues take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spectrum {
    /// All that matter.
    Whole,
    /// Only the positive ones.
    Positive,
}

/// The centred low-rank form of C from `across` (N×m, samples against landmarks) and `among` (m×m).
pub(super) fn low_rank<S: Scalar>(
    across: &Matrix<'_>,
    among: &Matrix<'_>,
    spectrum: Spectrum,
) -> Result<LowRank<'static, S>> {
    let eigen = among.as_faer().self_adjoint_eigen(Side::Lower).map_err(|_| {
        Error::parameter("landmarks", among.rows() as f64, "such that their matrix has an eigendecomposition")
    })?;
    let values: Vec<f64> = (0..among.rows()).map(|c| eigen.S().column_vector()[c]).collect();
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let matters = |v: f64| match spectrum {
        Spectrum::Whole => v.abs() > LEAST_EIGENVALUE * largest,
        Spectrum::Positive => v > LEAST_EIGENVALUE * largest,
    };
    let kept: Vec<usize> = (0..values.len()).rev().filter(|&c| matters(values[c])).collect();
    if kept.is_empty() {
        return Err(Error::parameter("number of different landmarks", 1.0, "at least 2"));
    }
    let basis = Mat::from_fn(values.len(), kept.len(), |i, c| eigen.U()[(i, kept[c])] / values[kept[c]].abs().sqrt());
    let product = across.as_faer() * basis;
    let factor = Matrix::from_fn(product.nrows(), product.ncols(), |i, c| product[(i, c)]);
    let left: Matrix<'static, S> = centred_columns(&factor, 1.0);
    if kept.iter().all(|&c| values[c] > 0.0) {
        return LowRank::symmetric(left);
    }
    let sign = |c: usize| S::from_f64(values[kept[c]].signum());
    let right = Matrix::from_fn(left.rows(), left.columns(), |i, c| left[(i, c)] * sign(c));
    LowRank::new(left, right)
}
