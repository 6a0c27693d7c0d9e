//! Thin matrices, N×b: products among them, block by block, and orthonormal bases.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::error::Result;
use crate::numeric::Matrix;
use crate::numeric::blocks::{BLOCK, sum_of_blocks};
use crate::numeric::eigen::symmetric_eigen;

/// Directions whose share of a basis, squared, is below this are rounding.
const LEAST_SHARE: f64 = 1e-13;

/// Numbers around zero.
pub(super) fn random_columns(rows: usize, columns: usize, rng: &mut Xoshiro256PlusPlus) -> Matrix<'static> {
    Matrix::from_fn(rows, columns, |_, _| rng.random::<f64>() - 0.5)
}

/// leftᵀ·right, small.
pub(super) fn gram(left: &Matrix<'_>, right: &Matrix<'_>) -> Matrix<'static> {
    let (rows, columns) = (left.columns(), right.columns());
    let of_block = |range: std::ops::Range<usize>| {
        let mut sums = vec![0.0; rows * columns];
        matmul(
            MatMut::from_row_major_slice_mut(&mut sums, rows, columns),
            Accum::Replace,
            left.as_faer().subrows(range.start, range.len()).transpose(),
            right.as_faer().subrows(range.start, range.len()),
            1.0,
            Par::Seq,
        );
        sums
    };
    let sums = sum_of_blocks(left.rows(), rows * columns, of_block);
    let mut product = Matrix::zeros(rows, columns);
    product.values_mut().copy_from_slice(&sums);
    product
}

/// thin·turn, thin again.
pub(super) fn combined(thin: &Matrix<'_>, turn: &Matrix<'_>) -> Matrix<'static> {
    let (width, columns) = (thin.columns(), turn.columns());
    let mut product = Matrix::zeros(thin.rows(), columns);
    let pieces = product.values_mut().par_chunks_mut(BLOCK * columns).zip(thin.values().par_chunks(BLOCK * width));
    pieces.for_each(|(out, rows)| {
        let height = rows.len() / width;
        matmul(
            MatMut::from_row_major_slice_mut(out, height, columns),
            Accum::Replace,
            MatRef::from_row_major_slice(rows, height, width),
            turn.as_faer(),
            1.0,
            Par::Seq,
        );
    });
    product
}

/// ‖image − value·vector‖ of every column.
pub(super) fn residuals(image: &Matrix<'_>, vectors: &Matrix<'_>, values: &[f64]) -> Vec<f64> {
    let of_block = |range: std::ops::Range<usize>| {
        let mut sums = vec![0.0; values.len()];
        for i in range {
            for (((sum, image), vector), value) in sums.iter_mut().zip(image.row(i)).zip(vectors.row(i)).zip(values) {
                *sum += (image - value * vector).powi(2);
            }
        }
        sums
    };
    sum_of_blocks(image.rows(), values.len(), of_block).into_iter().map(f64::sqrt).collect()
}

/// An orthonormal basis of the columns, as many as there are; where they depend on each other, random
/// directions take the place of what is missing.
///
/// With columns of length one and XᵀX = U·Λ·Uᵀ, the basis is X·U·Λ^{−1/2}: as exact as Λ is even, so
/// it is taken again until it was.
pub(super) fn orthonormal(mut columns: Matrix<'static>, rng: &mut Xoshiro256PlusPlus) -> Result<Matrix<'static>> {
    let (rows, width) = (columns.rows(), columns.columns());
    loop {
        let products = gram(&columns, &columns);
        let scales: Vec<f64> = (0..width).map(|c| products[(c, c)].sqrt()).map(inverse).collect();
        let scaled = Matrix::from_fn(width, width, |a, b| products[(a, b)] * scales[a] * scales[b]);
        let (shares, turn) = symmetric_eigen(&scaled)?;
        let kept = shares.iter().take_while(|share| **share > LEAST_SHARE * width as f64).count();
        let turn = Matrix::from_fn(width, kept, |c, k| scales[c] * turn[(k, c)] / shares[k].sqrt());
        let basis = combined(&columns, &turn);
        if kept == width && shares[width - 1] > 0.5 {
            return Ok(basis);
        }
        let fresh = random_columns(rows, width - kept, rng);
        columns = Matrix::from_fn(rows, width, |i, j| if j < kept { basis[(i, j)] } else { fresh[(i, j - kept)] });
    }
}

/// 1/x, or zero for what cannot be inverted.
fn inverse(x: f64) -> f64 {
    if (1.0 / x).is_finite() { 1.0 / x } else { 0.0 }
}
