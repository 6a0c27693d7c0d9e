//! Maps to compare approximations on.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::numeric::Matrix;

/// Places of samples on a map `width` units wide: even, or in clusters of a fiftieth of it.
pub(super) fn places(n: usize, dims: usize, width: f64, clustered: bool) -> Matrix<'static> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let centres: Vec<f64> = (0..20 * dims).map(|_| width * (rng.random::<f64>() - 0.5)).collect();
    Matrix::from_fn(n, dims, |k, c| match clustered {
        true => {
            let noise = (0..4).map(|_| rng.random::<f64>() - 0.5).sum::<f64>();
            centres[k % 20 * dims + c] + width / 50.0 * noise
        }
        false => width * (rng.random::<f64>() - 0.5),
    })
}

/// Weights that differ a thousandfold, or none.
pub(super) fn weights(n: usize, weighted: bool) -> Vec<f64> {
    let raw = |k: usize| if weighted { 10f64.powf((k * 7919 % 301) as f64 / 100.0) } else { 1.0 };
    let sum: f64 = (0..n).map(raw).sum();
    (0..n).map(|k| raw(k) / sum).collect()
}

/// ‖a − b‖ / ‖b‖
pub(super) fn error(found: &[f64], expected: &[f64]) -> f64 {
    let square = |sum: f64, value: f64| sum + value * value;
    let apart = found.iter().zip(expected).map(|(a, b)| a - b).fold(0.0, square);
    (apart / expected.iter().copied().fold(0.0, square)).sqrt()
}
