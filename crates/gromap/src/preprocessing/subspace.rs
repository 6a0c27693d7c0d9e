//! The leading eigenvectors of a covariance too large to be formed, by subspace iteration.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::eigen::symmetric_eigen;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::scalar::Scalar;
use crate::similarity::sum_in_order;
use crate::vector::{dot, vectorized};

/// Rounds at most; images need about ten.
const MAX_ROUNDS: usize = 60;

/// Change of a variance, relative to the largest, at which the subspace stands still.
const REL_TOLERANCE: f64 = 1e-9;

/// Groups of samples whose sums are made apart: enough for many threads, few enough to be held.
const GROUPS: usize = 8;

/// Samples multiplied at once.
const DEPTH: usize = 64;

/// The largest eigenvalues of Σ (x − mean)(x − mean)ᵀ, descending, at least `wanted` of them, and
/// their eigenvectors as rows.
pub(super) fn leading_subspace<S: Scalar>(
    samples: &Matrix<'_, S>,
    mean: &[f64],
    wanted: usize,
    seed: u64,
) -> Result<(Vec<f64>, Matrix<'static>)> {
    let features = samples.columns();
    // The more directions beyond those wanted, the faster the wanted ones settle.
    let width = (wanted + wanted / 2 + 10).min(samples.rows().min(features));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut basis = Matrix::from_fn(width, features, |_, _| centred(&mut rng));
    orthonormalize(&mut basis, &mut rng);
    let mut values = vec![0.0; width];
    for _ in 0..MAX_ROUNDS {
        let mut image = times_scatter(samples, mean, &basis);
        let (found, turn) = symmetric_eigen(&product(&image, &basis))?;
        let change = found.iter().zip(&values).take(wanted).map(|(new, old)| (new - old).abs()).fold(0.0, f64::max);
        values = found;
        if change <= REL_TOLERANCE * values[0].abs() {
            return Ok((values, combine(&turn, &basis)));
        }
        image = combine(&turn, &image);
        orthonormalize(&mut image, &mut rng);
        basis = image;
    }
    let (values, turn) = symmetric_eigen(&product(&times_scatter(samples, mean, &basis), &basis))?;
    Ok((values, combine(&turn, &basis)))
}

fn centred(rng: &mut Xoshiro256PlusPlus) -> f64 {
    rng.random::<f64>() - 0.5
}

/// left·rightᵀ
fn product(left: &Matrix<'_>, right: &Matrix<'_>) -> Matrix<'static> {
    let mut out = Matrix::zeros(left.rows(), right.rows());
    let (rows, columns) = (left.rows(), right.rows());
    let into = MatMut::from_row_major_slice_mut(out.values_mut(), rows, columns);
    matmul(into, Accum::Replace, left.as_faer(), right.as_faer().transpose(), 1.0, Par::Seq);
    out
}

/// turn·basis
fn combine(turn: &Matrix<'_>, basis: &Matrix<'_>) -> Matrix<'static> {
    let mut out = Matrix::zeros(turn.rows(), basis.columns());
    let into = MatMut::from_row_major_slice_mut(out.values_mut(), turn.rows(), basis.columns());
    matmul(into, Accum::Replace, turn.as_faer(), basis.as_faer(), 1.0, Par::Seq);
    out
}

/// basis · Σ (x − mean)(x − mean)ᵀ, in two thin products for each piece of the samples.
fn times_scatter<S: Scalar>(samples: &Matrix<'_, S>, mean: &[f64], basis: &Matrix<'_>) -> Matrix<'static> {
    let (rows, features, width) = (samples.rows(), basis.columns(), basis.rows());
    let size = rows.div_ceil(GROUPS);
    let of_group = |group: usize| {
        let mut sums = vec![0.0; width * features];
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
            matmul(into, Accum::Replace, piece, basis.as_faer().transpose(), 1.0, Par::Seq);
            let coordinates = MatRef::from_row_major_slice(coordinates, depth, width);
            let into = MatMut::from_row_major_slice_mut(&mut sums, width, features);
            matmul(into, Accum::Add, coordinates.transpose(), piece, 1.0, Par::Seq);
        }
        sums
    };
    let sums = sum_in_order((0..GROUPS).into_par_iter().map(of_group).collect());
    let mut out = Matrix::zeros(width, features);
    out.values_mut().copy_from_slice(&sums);
    out
}

/// Makes rows orthonormal, each against those above it, twice for accuracy. A row that lies among
/// those above it is replaced by a random one.
fn orthonormalize(basis: &mut Matrix<'_>, rng: &mut Xoshiro256PlusPlus) {
    let features = basis.columns();
    for r in 0..basis.rows() {
        let (above, row) = basis.values_mut().split_at_mut(r * features);
        let row = &mut row[..features];
        loop {
            let before = vectorized(
                #[inline(always)]
                || norm(row),
            );
            for _ in 0..2 {
                for other in above.chunks_exact(features) {
                    vectorized(
                        #[inline(always)]
                        || subtract_projection(row, other),
                    );
                }
            }
            let after = vectorized(
                #[inline(always)]
                || norm(row),
            );
            if after > 1e-10 * before && after.is_normal() {
                row.iter_mut().for_each(|v| *v /= after);
                break;
            }
            row.iter_mut().for_each(|v| *v = centred(rng));
        }
    }
}

#[inline(always)]
fn norm(row: &[f64]) -> f64 {
    dot(row, row).sqrt()
}

#[inline(always)]
fn subtract_projection(row: &mut [f64], direction: &[f64]) {
    let along = dot(row, direction);
    for (v, d) in row.iter_mut().zip(direction) {
        *v -= along * d;
    }
}
