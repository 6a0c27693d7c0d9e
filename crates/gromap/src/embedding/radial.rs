//! Kernels of the distance, W_kl = w(‖z_k − z_l‖²), and what they are divided by.
//!
//! With L = log W and A = C∘∂E/∂C, which is ∂E/∂(log C), each normalisation gives ∂E/∂L:
//!
//! | normalisation | C | ∂E/∂L_kl |
//! |---|---|---|
//! | none | W | A_kl |
//! | cells | W / ΣW | A_kl − (ΣA)·C_kl |
//! | measure | W / qᵀWq | A_kl − (ΣA)·q_k·C_kl·q_l |
//! | rows | W_kl / Σ_m W_km q_m | A_kl − (Σ_m A_km)·C_kl·q_l |
//! | doubly stochastic | e^{α_k}·W_kl·e^{α_l} with C·q = 1 | A_kl − t_k·C_kl·q_l, (I + D_q C)·t = (A + Aᵀ)·1 |
//! | doubly stochastic, cells | the same with C·1 = 1 | the same with ones for q |
//!
//! The line before the last follows from differentiating C·q = 1. For the KL loss and a similarity whose plan
//! has M·1 = q the right-hand side is zero: then t = 0 and only A is left, as the envelope theorem says.

use rayon::prelude::*;

use super::kernel::{PrototypeKernel, check_prototypes, check_square};
use super::profile::{LEAST_LOGARITHM, Profile};
use super::scaling;
use crate::error::{Error, Result};
use crate::numeric::Matrix;

/// What the raw kernel is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Normalization {
    /// Nothing.
    None,
    /// The sum over its n² cells (the paper's).
    Cells,
    /// qᵀWq: a law on pairs of prototypes drawn by their weights.
    Measure,
    /// Σ_l W_kl q_l, each row by itself (SNE).
    Rows,
    /// Scaled on both sides so that C·q = 1: SNEkhorn and tSNEkhorn against the weights of the prototypes.
    DoublyStochastic,
    /// Scaled on both sides so that C·1 = 1: the same as published, where prototypes have no weights.
    DoublyStochasticCells,
}

impl Normalization {
    /// Whether the weighted mean of the entries is 1, so that some are above.
    pub(crate) fn has_mean_one(self) -> bool {
        matches!(self, Self::Measure | Self::Rows | Self::DoublyStochastic)
    }
}

/// A kernel of the distance, normalised.
///
/// ```
/// use gromap::Matrix;
/// use gromap::embedding::{Normalization, Profile, PrototypeKernel, Radial};
/// let kernel = Radial { profile: Profile::Student, normalization: Normalization::Cells };
/// let c = kernel.eval(&Matrix::new(vec![0.0, 1.0], 2, 1)?, &[0.5, 0.5])?;
/// assert!((c.values().iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Radial {
    /// How it falls with the distance.
    pub profile: Profile,
    /// What it is divided by.
    pub normalization: Normalization,
}

impl PrototypeKernel for Radial {
    fn eval(&self, prototypes: &Matrix<'_>, weights: &[f64]) -> Result<Matrix<'static>> {
        check_prototypes(prototypes, weights)?;
        let n = prototypes.rows();
        let mut kernel = Matrix::zeros(n, n);
        kernel.values_mut().par_chunks_mut(n).enumerate().for_each(|(k, row)| {
            for (l, value) in row.iter_mut().enumerate() {
                *value = self.profile.at(squared_distance(prototypes, k, l)).log;
            }
        });
        let row_sum = |row: &[f64]| row.iter().sum::<f64>();
        let weighted_sum = |row: &[f64]| row.iter().zip(weights).map(|(c, q)| c * q).sum::<f64>();
        kernel.values_mut().par_iter_mut().for_each(|value| *value = value.max(LEAST_LOGARITHM).exp());
        let rows = || kernel.values().chunks_exact(n);
        let divisors: Vec<f64> = match self.normalization {
            Normalization::None => return Ok(kernel),
            Normalization::DoublyStochastic => {
                check_weights(weights)?;
                scaling::scale(&mut kernel, weights, weights);
                return Ok(kernel);
            }
            Normalization::DoublyStochasticCells => {
                let ones = vec![1.0; n];
                scaling::scale(&mut kernel, &ones, &ones);
                return Ok(kernel);
            }
            Normalization::Cells => vec![rows().map(row_sum).sum(); n],
            Normalization::Measure => vec![rows().zip(weights).map(|(row, q)| q * weighted_sum(row)).sum(); n],
            Normalization::Rows => rows().map(weighted_sum).collect(),
        };
        if let Some(at) = divisors.iter().position(|&d| d <= 0.0) {
            return Err(Error::parameter("sum of the prototype weights", divisors[at], "positive"));
        }
        for (row, divisor) in kernel.values_mut().chunks_exact_mut(n).zip(&divisors) {
            row.iter_mut().for_each(|value| *value /= divisor);
        }
        Ok(kernel)
    }

    fn pull_back(
        &self,
        prototypes: &Matrix<'_>,
        weights: &[f64],
        kernel: &Matrix<'_>,
        gradient: &Matrix<'_>,
    ) -> Result<Matrix<'static>> {
        check_prototypes(prototypes, weights)?;
        let (n, d) = (prototypes.rows(), prototypes.columns());
        check_square("gradient", n, gradient)?;
        check_square("kernel", n, kernel)?;
        let by_log = self.log_gradient(weights, kernel, gradient);
        let mut out = Matrix::zeros(n, d);
        out.values_mut().par_chunks_mut(d).enumerate().for_each(|(k, out)| {
            let here = prototypes.row(k);
            for l in (0..n).filter(|&l| l != k) {
                let derivative = self.profile.at(squared_distance(prototypes, k, l)).log_derivative;
                let factor = 2.0 * (by_log[(k, l)] + by_log[(l, k)]) * derivative;
                for ((out, a), b) in out.iter_mut().zip(here).zip(prototypes.row(l)) {
                    *out += factor * (a - b);
                }
            }
        });
        Ok(out)
    }
}

impl Radial {
    /// Whether the smallest entries matter as much as the largest: factors bring every row of a doubly stochastic kernel to its margin, that of a
    /// prototype far from all others too, where a Gaussian is smaller than what approximation and rounding leave of it.
    pub(crate) fn magnifies_tails(&self) -> bool {
        self.profile == Profile::Gaussian && self.normalization == Normalization::DoublyStochastic
    }

    /// C_Z as the objective means it: with the total of M under the measure normalisation, and with all margins of M under the
    /// doubly stochastic one. Where M comes from rows of sum one that is what [`eval`](PrototypeKernel::eval) gives.
    pub(crate) fn matched(&self, prototypes: &Matrix<'_>, weights: &[f64], margins: &[f64]) -> Result<Matrix<'static>> {
        let total: f64 = margins.iter().sum();
        match self.normalization {
            Normalization::DoublyStochastic if total > 0.0 => {
                let mut kernel = Self { normalization: Normalization::None, ..*self }.eval(prototypes, weights)?;
                scaling::scale(&mut kernel, weights, margins);
                Ok(kernel)
            }
            Normalization::Measure => {
                let mut kernel = self.eval(prototypes, weights)?;
                kernel.values_mut().iter_mut().for_each(|entry| *entry *= total);
                Ok(kernel)
            }
            _ => self.eval(prototypes, weights),
        }
    }

    /// ∂E/∂(log W), by the table above.
    fn log_gradient(&self, weights: &[f64], kernel: &Matrix<'_>, gradient: &Matrix<'_>) -> Matrix<'static> {
        let n = kernel.rows();
        let mut by_log = Matrix::from_fn(n, n, |k, l| kernel[(k, l)] * gradient[(k, l)]);
        let rows: Vec<f64> = (0..n).map(|k| by_log.row(k).iter().sum()).collect();
        let total: f64 = rows.iter().sum();
        let shares: Vec<f64> = match self.normalization {
            Normalization::None => return by_log,
            Normalization::Cells => vec![total; n],
            Normalization::Measure => weights.iter().map(|q| total * q).collect(),
            Normalization::Rows => rows,
            Normalization::DoublyStochastic | Normalization::DoublyStochasticCells => {
                let columns = (0..n).map(|l| (0..n).map(|k| by_log[(k, l)]).sum::<f64>());
                let both: Vec<f64> = rows.iter().zip(columns).map(|(row, column)| row + column).collect();
                let ones = vec![1.0; n];
                let is_weighted = self.normalization == Normalization::DoublyStochastic;
                scaling::pull_back(kernel, if is_weighted { weights } else { &ones }, &both)
            }
        };
        let by_cells = matches!(self.normalization, Normalization::Cells | Normalization::DoublyStochasticCells);
        for (k, share) in shares.iter().enumerate() {
            let entries = by_log.row_mut(k).iter_mut().zip(kernel.row(k)).zip(weights);
            entries.for_each(|((entry, c), q)| *entry -= share * c * if by_cells { 1.0 } else { *q });
        }
        by_log
    }
}

/// Refuses weights that no kernel can be balanced against.
fn check_weights(weights: &[f64]) -> Result<()> {
    if let Some(index) = weights.iter().position(|q| !q.is_finite() || *q < 0.0) {
        let allowed = format!("finite and not negative (prototype {index})");
        return Err(Error::parameter("prototype weight", weights[index], allowed));
    }
    if weights.iter().all(|&q| q == 0.0) {
        return Err(Error::parameter("sum of the prototype weights", 0.0, "positive"));
    }
    Ok(())
}

#[inline]
fn squared_distance(prototypes: &Matrix<'_>, k: usize, l: usize) -> f64 {
    prototypes.row(k).iter().zip(prototypes.row(l)).map(|(a, b)| (a - b) * (a - b)).sum()
}
