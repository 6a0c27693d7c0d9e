//! Symmetric scaling of a positive kernel: C_kl = e^{α_k}·W_kl·e^{α_l} with C·q = 1.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::numeric::Matrix;

/// Largest error of a row, as a logarithm.
const TOLERANCE: f64 = 1e-13;
/// Sinkhorn steps, at most; a positive definite kernel needs some twenty.
const MAX_STEPS: usize = 2000;
/// Conjugate gradient steps, at most. The matrix has its eigenvalues between 1 and 2.
const MAX_INNER: usize = 200;

/// Adds α_k + α_l to the logarithms of a kernel. Steps stop at rounding error or after a fixed
/// number; weights must be neither negative nor all zero.
pub(super) fn scale(logarithms: &mut Matrix<'_>, weights: &[f64]) -> Result<()> {
    if let Some(index) = weights.iter().position(|q| !q.is_finite() || *q < 0.0) {
        let allowed = format!("finite and not negative (prototype {index})");
        return Err(Error::parameter("prototype weight", weights[index], allowed));
    }
    if weights.iter().all(|&q| q == 0.0) {
        return Err(Error::parameter("sum of the prototype weights", 0.0, "positive"));
    }
    let n = weights.len();
    let log_weights: Vec<f64> = weights.iter().map(|q| q.ln()).collect();
    let mut alpha = vec![0.0; n];
    for _ in 0..MAX_STEPS {
        let shift: Vec<f64> = alpha.iter().zip(&log_weights).map(|(a, q)| a + q).collect();
        let log_sum = |row: &[f64]| {
            let exponents = || row.iter().zip(&shift).map(|(l, s)| l + s);
            let largest = exponents().fold(f64::NEG_INFINITY, f64::max);
            largest + exponents().map(|e| (e - largest).exp()).sum::<f64>().ln()
        };
        let sums: Vec<f64> = logarithms.values().par_chunks(n).map(log_sum).collect();
        let errors = || alpha.iter().zip(&sums).map(|(a, s)| a + s);
        if errors().all(|e| e.abs() <= TOLERANCE) {
            break;
        }
        alpha = errors().zip(&alpha).map(|(e, a)| a - 0.5 * e).collect();
    }
    for (k, row) in logarithms.values_mut().chunks_exact_mut(n).enumerate() {
        row.iter_mut().zip(&alpha).for_each(|(l, a)| *l += alpha[k] + a);
    }
    Ok(())
}

/// Solves (I + D_q C)·t = s: t = s − √q∘z with (I + √q C √q)·z = √q∘(C·s), by conjugate gradients.
pub(super) fn pull_back(kernel: &Matrix<'_>, weights: &[f64], right: &[f64]) -> Vec<f64> {
    let n = weights.len();
    let roots: Vec<f64> = weights.iter().map(|q| q.sqrt()).collect();
    let times_kernel = |x: &[f64]| -> Vec<f64> {
        kernel.values().par_chunks(n).map(|row| row.iter().zip(x).map(|(c, x)| c * x).sum()).collect()
    };
    let scaled = |x: &[f64]| -> Vec<f64> { x.iter().zip(&roots).map(|(x, r)| x * r).collect() };
    let mut residual = scaled(&times_kernel(right));
    let mut solution = vec![0.0; n];
    let mut search = residual.clone();
    let mut length = dot(&residual, &residual);
    let goal = 1e-28 * length;
    for _ in 0..MAX_INNER {
        if length <= goal || length == 0.0 {
            break;
        }
        let mut product = scaled(&times_kernel(&scaled(&search)));
        product.iter_mut().zip(&search).for_each(|(p, s)| *p += s);
        let stride = length / dot(&search, &product);
        solution.iter_mut().zip(&search).for_each(|(x, s)| *x += stride * s);
        residual.iter_mut().zip(&product).for_each(|(r, p)| *r -= stride * p);
        let next = dot(&residual, &residual);
        let turn = next / length;
        search.iter_mut().zip(&residual).for_each(|(s, r)| *s = r + turn * *s);
        length = next;
    }
    right.iter().zip(scaled(&solution)).map(|(s, z)| s - z).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
