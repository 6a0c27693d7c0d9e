//! Landmarks: a few samples that stand for all in a low-rank approximation (Nyström).
//!
//! With K_m the matrix among the landmarks, K_m = U·Λ·Uᵀ, and K_n that of all samples with them,
//! C ≈ K_n·K_m⁻¹·K_nᵀ = A·Aᵀ with A = K_n·U·Λ^{−1/2}. A kernel that is not positive has negative
//! eigenvalues: then A·Bᵀ, B being A with those columns turned.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::numeric::blocks::BLOCK;
use crate::numeric::centring::centred_columns;
use crate::numeric::eigen::symmetric_eigen;
use crate::numeric::{Matrix, Scalar};
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
    let (values, vectors) = symmetric_eigen(among)?;
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let matters = |v: f64| match spectrum {
        Spectrum::Whole => v.abs() > LEAST_EIGENVALUE * largest,
        Spectrum::Positive => v > LEAST_EIGENVALUE * largest,
    };
    let kept: Vec<usize> = (0..values.len()).filter(|&c| matters(values[c])).collect();
    if kept.is_empty() {
        return Err(Error::parameter("number of different landmarks", 1.0, "at least 2"));
    }
    let basis = Mat::from_fn(values.len(), kept.len(), |i, c| vectors[(kept[c], i)] / values[kept[c]].abs().sqrt());
    let mut factor = Matrix::zeros(across.rows(), kept.len());
    let (rows, columns) = (across.columns(), kept.len());
    factor.values_mut().par_chunks_mut(BLOCK * columns).zip(across.values().par_chunks(BLOCK * rows)).for_each(
        |(out, block)| {
            let count = block.len() / rows;
            let into = MatMut::from_row_major_slice_mut(out, count, columns);
            let left = MatRef::from_row_major_slice(block, count, rows);
            matmul(into, Accum::Replace, left, basis.as_ref(), 1.0, Par::Seq);
        },
    );
    let left: Matrix<'static, S> = centred_columns(&factor, 1.0);
    if kept.iter().all(|&c| values[c] > 0.0) {
        return LowRank::symmetric(left);
    }
    let sign = |c: usize| S::from_f64(values[kept[c]].signum());
    let right = Matrix::from_fn(left.rows(), left.columns(), |i, c| left[(i, c)] * sign(c));
    LowRank::new(left, right)
}
