//! The leading eigenvectors of a covariance too large to be formed.
//!
//! Fewer samples than features: the N×N inner products G = X_c·X_cᵀ have the same eigenvalues, and X_cᵀ·u/√λ are the
//! directions. N²·p operations, half of them by symmetry, in the precision of the samples, summed in `f64`.
//! Otherwise the samples multiply, twice, a block of directions at a time.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::error::Result;
use crate::numeric::blocks::sum_in_order;
use crate::numeric::spectrum::{Search, leading_eigenpairs};
use crate::numeric::{Matrix, Scalar};
use crate::similarity::{Dense, Side, Similarity};

/// ‖A·v − λ·v‖ of a component, relative to the largest variance; the variances are then right to
/// the square of that over their distances.
const REL_TOLERANCE: f64 = 1e-7;

/// Samples whose inner products are formed, at most.
const MOST_PRODUCTS: usize = 5000;

/// Variance, relative to the largest, below which inner products of single precision are rounding.
const LEAST_VARIANCE: f64 = 1e-6;

/// Samples along the side of a tile of inner products, and features added before they are widened.
const TILE: usize = 256;
const CHUNK: usize = 1024;

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
    if samples.rows() <= MOST_PRODUCTS
        && samples.rows() < samples.columns()
        && let Some(found) = by_inner_products(samples, mean, wanted, &search)?
    {
        return Ok(found);
    }
    let found = leading_eigenpairs(&|x| times_scatter(samples, mean, x), samples.columns(), wanted, &search)?;
    Ok((found.values, found.vectors.transposed()))
}

/// The same by way of the samples; `None` if some direction wanted has no variance, and so no inner products.
fn by_inner_products<S: Scalar>(
    samples: &Matrix<'_, S>,
    mean: &[f64],
    wanted: usize,
    search: &Search,
) -> Result<Option<(Vec<f64>, Matrix<'static>)>> {
    let products = inner_products(samples, mean);
    let dense = Dense::new(products)?;
    let found = leading_eigenpairs(&|x| dense.times(x, Side::Direct), samples.rows(), wanted, search)?;
    if found.values[wanted - 1] <= LEAST_VARIANCE * found.values[0] {
        return Ok(None);
    }
    let mut directions = directions(samples, mean, &found.vectors);
    for direction in directions.values_mut().chunks_exact_mut(samples.columns()) {
        let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        direction.iter_mut().for_each(|v| *v /= length);
    }
    Ok(Some((found.values, directions)))
}

/// Uᵀ·X_c, one direction a row; threads share out the features.
fn directions<S: Scalar>(samples: &Matrix<'_, S>, mean: &[f64], vectors: &Matrix<'_>) -> Matrix<'static> {
    let (rows, features, wanted) = (samples.rows(), samples.columns(), vectors.columns());
    let strips: Vec<Vec<f64>> = (0..features.div_ceil(TILE))
        .into_par_iter()
        .map(|strip| {
            let columns = strip * TILE..((strip + 1) * TILE).min(features);
            let mut centred = Vec::with_capacity(rows * columns.len());
            for i in 0..rows {
                let row = samples.row(i)[columns.clone()].iter().zip(&mean[columns.clone()]);
                centred.extend(row.map(|(x, mean)| x.to_f64() - mean));
            }
            let mut out = vec![0.0; wanted * columns.len()];
            let into = MatMut::from_row_major_slice_mut(&mut out, wanted, columns.len());
            let right = MatRef::from_row_major_slice(&centred, rows, columns.len());
            matmul(into, Accum::Replace, vectors.as_faer().transpose(), right, 1.0, Par::Seq);
            out
        })
        .collect();
    Matrix::from_fn(wanted, features, |c, j| {
        let strip = &strips[j / TILE];
        strip[c * (strip.len() / wanted) + j % TILE]
    })
}

/// X_c·X_cᵀ. Threads share out the tiles; each adds all features in their order.
fn inner_products<S: Scalar>(samples: &Matrix<'_, S>, mean: &[f64]) -> Matrix<'static> {
    let (rows, features) = (samples.rows(), samples.columns());
    let mut centred = vec![S::default(); rows * features];
    centred.par_chunks_mut(features).zip(samples.values().par_chunks(features)).for_each(|(out, row)| {
        crate::interrupt::look();
        out.iter_mut().zip(row).zip(mean).for_each(|((out, x), mean)| *out = S::from_f64(x.to_f64() - mean));
    });
    let range = |tile: usize| tile * TILE..((tile + 1) * TILE).min(rows);
    let tiles: Vec<(usize, usize)> = (0..rows.div_ceil(TILE)).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
    let found: Vec<Vec<f64>> = tiles
        .par_iter()
        .map(|&(a, b)| {
            let (a, b) = (range(a), range(b));
            let all = MatRef::from_row_major_slice(&centred, rows, features);
            let (mut sums, mut part) = (vec![0.0; a.len() * b.len()], vec![S::default(); a.len() * b.len()]);
            for first in (0..features).step_by(CHUNK) {
                crate::interrupt::look();
                let count = CHUNK.min(features - first);
                let into = MatMut::from_row_major_slice_mut(&mut part, a.len(), b.len());
                let left = all.submatrix(a.start, first, a.len(), count);
                let right = all.submatrix(b.start, first, b.len(), count).transpose();
                matmul(into, Accum::Replace, left, right, S::from_f64(1.0), Par::Seq);
                sums.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part.to_f64());
            }
            sums
        })
        .collect();
    let mut products = Matrix::zeros(rows, rows);
    for (&(a, b), tile) in tiles.iter().zip(&found) {
        for (i, row) in range(a).zip(tile.chunks_exact(range(b).len())) {
            for (j, &value) in range(b).zip(row) {
                (products[(i, j)], products[(j, i)]) = (value, value);
            }
        }
    }
    products
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
            crate::interrupt::look();
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
