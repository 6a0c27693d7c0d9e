//! The leading eigenvectors of a covariance too large to be formed: the samples multiply, twice.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::error::Result;
use crate::matrix::Matrix;
use crate::scalar::Scalar;
use crate::similarity::sum_in_order;
use crate::spectrum::{Search, leading_eigenpairs};

/// ‖A·v − λ·v‖ of a component, relative to the largest variance; the variances are then right to
/// the square of that over their distances.
const REL_TOLERANCE: f64 = 1e-7;

/// Groups of samples whose sums are made apart: enough for many threads, few enough to be held.
const GROUPS: usize = 8;

/// Samples multiplied at once.
const DEPTH: usize = 64;

/// The `wanted` largest eigenvalues of Σ (x − mean)(x − mean)ᵀ, descending, and their eigenvectors as
/// rows.
pub(super) fn leading_subspace<S: Scalar>(
    samples: &Matrix<'_, S>,
    mean: &[f64],
    wanted: usize,
    seed: u64,
) -> Result<(Vec<f64>, Matrix<'static>)> {
    let search = Search { rel_tolerance: REL_TOLERANCE, low: Some(0.0), seed, ..Search::default() };
    let found = leading_eigenpairs(&|x| times_scatter(samples, mean, x), samples.columns(), wanted, &search)?;
    Ok((found.values, found.vectors.transposed()))
}

/// Σ (x − mean)(x − mean)ᵀ·thin, in two thin products for each piece of the samples.
fn times_scatter<S: Scalar>(samples: &Matrix<'_, S>, mean: &[f64], thin: &Matrix<'_>) -> Matrix<'static> {
    let (rows, features, width) = (samples.rows(), thin.rows(), thin.columns());
    let size = rows.div_ceil(GROUPS);
    let of_group = |group: usize| {
        let mut sums = vec![0.0; features * width];
        let mut centred = Vec::with_capacity(DEPTH * features);
        let mut coordinates = vec![0.0; DEPTH * width];
        let range = (group * size).min(rows)..((group + 1) * size).min(rows);
        for first in range.clone().step_by(DEPTH) {
            let last = (first + DEPTH).min(range.end);
            centred.clear();
            for i in first..last {
                centred.extend(samples.row(i).iter().zip(mean).map(|(x, mean)| x.to_f64() - mean));
            }
            let depth = last - first;
            let piece = MatRef::from_row_major_slice(&centred, depth, features);
            let coordinates = &mut coordinates[..depth * width];
            let into = MatMut::from_row_major_slice_mut(coordinates, depth, width);
            matmul(into, Accum::Replace, piece, thin.as_faer(), 1.0, Par::Seq);
            let coordinates = MatRef::from_row_major_slice(coordinates, depth, width);
            let into = MatMut::from_row_major_slice_mut(&mut sums, features, width);
            matmul(into, Accum::Add, piece.transpose(), coordinates, 1.0, Par::Seq);
        }
        sums
    };
    let sums = sum_in_order((0..GROUPS).into_par_iter().map(of_group).collect());
    let mut out = Matrix::zeros(features, width);
    out.values_mut().copy_from_slice(&sums);
    out
}
