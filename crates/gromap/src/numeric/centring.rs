//! H·C·H and H·A with H = I − 11ᵀ/N: what is left when means are taken out.

use rayon::prelude::*;

use super::blocks::{blocks, sum_in_order};
use super::{Matrix, Scalar};

/// H·C·H of a symmetric matrix, in place.
pub(crate) fn centre_both<S: Scalar>(matrix: &mut Matrix<'_, S>) {
    let n = matrix.rows();
    let means: Vec<f64> = matrix.values().par_chunks(n).map(|row| sum(row) / n as f64).collect();
    let mean = means.iter().sum::<f64>() / n as f64;
    let rows = matrix.values_mut().par_chunks_mut(n).zip(&means);
    rows.for_each(|(row, row_mean)| {
        for (value, column_mean) in row.iter_mut().zip(&means) {
            // Grouped so that the two entries of a pair round alike.
            *value = S::from_f64(value.to_f64() - (row_mean + column_mean) + mean);
        }
    });
}

/// Sum over rows of `f(column, value)`, by column.
pub(crate) fn column_sums<S: Scalar>(matrix: &Matrix<'_, S>, f: impl Fn(usize, f64) -> f64 + Sync) -> Vec<f64> {
    let of_block = |rows: std::ops::Range<usize>| {
        let mut sums = vec![0.0; matrix.columns()];
        for i in rows {
            for ((column, sum), value) in sums.iter_mut().enumerate().zip(matrix.row(i)) {
                *sum += f(column, value.to_f64());
            }
        }
        sums
    };
    sum_in_order(blocks(matrix.rows()).map(of_block).collect())
}

/// The mean of every column.
pub(crate) fn column_means<S: Scalar>(matrix: &Matrix<'_, S>) -> Vec<f64> {
    let count = matrix.rows() as f64;
    column_sums(matrix, |_, value| value).into_iter().map(|sum| sum / count).collect()
}

/// scale·H·A, copied into the storage type.
pub(crate) fn centred_columns<S: Scalar, T: Scalar>(matrix: &Matrix<'_, S>, scale: f64) -> Matrix<'static, T> {
    let means = column_means(matrix);
    Matrix::from_fn(matrix.rows(), matrix.columns(), |i, j| T::from_f64(scale * (matrix[(i, j)].to_f64() - means[j])))
}

fn sum<S: Scalar>(row: &[S]) -> f64 {
    row.iter().map(|v| v.to_f64()).sum()
}
