//! Data without groups, to compare with: a Gaussian of the same mean and covariance; and parts of data.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::data::{Samples, either};
use crate::error::Result;
use crate::numeric::Matrix;
use crate::numeric::eigen::symmetric_eigen;

/// Samples that a covariance is estimated from, and features that it is estimated of, at most.
const MOST_ROWS: usize = 20_000;
const MOST_FEATURES: usize = 1000;

/// So many samples of a Gaussian with the mean and the covariance of these.
pub(super) fn gaussian(samples: &Samples<'_>, count: usize, seed: u64) -> Result<Matrix<'static>> {
    let (rows, columns) = (samples.len(), samples.columns());
    let step = rows.div_ceil(MOST_ROWS);
    let taken: Vec<usize> = (0..rows).step_by(step).collect();
    let part = rows_of(samples, &taken);
    let mut all = Matrix::zeros(taken.len(), columns);
    part.copy_rows(0..taken.len(), all.values_mut());
    let mut mean = vec![0.0; columns];
    (0..all.rows()).for_each(|i| mean.iter_mut().zip(all.row(i)).for_each(|(m, x)| *m += x / taken.len() as f64));
    for i in 0..all.rows() {
        all.row_mut(i).iter_mut().zip(&mean).for_each(|(x, m)| *x -= m);
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = || {
        let (a, b): (f64, f64) = (rng.random(), rng.random());
        (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    };
    if columns > MOST_FEATURES {
        // Too many for their covariance: features by themselves, of which no group is made either.
        let spread = |c: usize| ((0..all.rows()).map(|i| all[(i, c)].powi(2)).sum::<f64>() / taken.len() as f64).sqrt();
        let spread: Vec<f64> = (0..columns).map(spread).collect();
        return Ok(Matrix::from_fn(count, columns, |_, c| mean[c] + spread[c] * normal()));
    }
    let mut covariance = Matrix::zeros(columns, columns);
    for i in 0..all.rows() {
        let row = all.row(i);
        for (a, x) in row.iter().enumerate() {
            covariance.row_mut(a)[..=a].iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y / taken.len() as f64);
        }
    }
    let (values, axes) = symmetric_eigen(&covariance)?;
    let mut out = Matrix::zeros(count, columns);
    for i in 0..count {
        let row = out.row_mut(i);
        row.copy_from_slice(&mean);
        for (axis, value) in values.iter().enumerate() {
            let along = value.max(0.0).sqrt() * normal();
            row.iter_mut().zip(axes.row(axis)).for_each(|(x, a)| *x += along * a);
        }
    }
    Ok(out)
}

/// Some of the samples, in their precision.
pub(super) fn rows_of(samples: &Samples<'_>, rows: &[usize]) -> Samples<'static> {
    either!(samples, |m| Matrix::from_fn(rows.len(), m.columns(), |i, j| m[(rows[i], j)]).into())
}

/// So many of `size`, ascending, drawn without replacement.
pub(super) fn drawn(size: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut all: Vec<usize> = (0..size).collect();
    let count = count.min(size);
    for at in 0..count {
        let other = rng.random_range(at..size);
        all.swap(at, other);
    }
    all.truncate(count);
    all.sort_unstable();
    all
}
