//! Factors of the prototypes that give a kernel the margins of M: a_k·W_kl·a_l with q̃∘(W·q̃) = m, q̃ = q∘a.
//!
//! They minimise s·log(q̃ᵀWq̃) − 2·⟨m, log a⟩, a convex function of log a. The step a_k ← a_k·√(m_k / (q̃∘Wq̃)_k) is Sinkhorn's for a
//! symmetric kernel, taken half-way: errors of log a shrink by at least a half in each, for a positive definite kernel.
//! Where M comes from a similarity with rows of sum one, m = q and the kernel is doubly stochastic against the weights.

use rayon::prelude::*;

use crate::numeric::Matrix;

/// Largest error of a margin, as a logarithm: of a kernel as a matrix, and of an objective, which is flat where margins are met.
const TOLERANCE: f64 = 1e-13;
pub(super) const OBJECTIVE_TOLERANCE: f64 = 1e-9;
/// The same for sums that are themselves approximate: the objective errs by the square of it.
pub(super) const APPROXIMATE_TOLERANCE: f64 = 1e-5;
/// Steps to get there, at most.
const MOST_STEPS: usize = 200;
/// Conjugate gradient steps, at most. The matrix has its eigenvalues between 1 and 2.
const MAX_INNER: usize = 200;
/// Largest change of a factor in one step, as a logarithm.
const LONGEST_STEP: f64 = 2.0;

/// The factors a; none for a kernel that has none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scaling {
    factors: Vec<f64>,
}

impl Scaling {
    /// Factors of one for so many prototypes.
    pub(super) fn new(prototypes: usize) -> Self {
        Self { factors: vec![1.0; prototypes] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.factors.is_empty()
    }

    /// q̃ = q∘a
    pub(super) fn times(&self, weights: &[f64]) -> Vec<f64> {
        match self.is_empty() {
            true => weights.to_vec(),
            false => weights.iter().zip(&self.factors).map(|(q, a)| q * a).collect(),
        }
    }

    /// ⟨m, log a⟩
    pub(super) fn logs(&self, margins: &[f64]) -> f64 {
        let term = |(m, a): (&f64, &f64)| if *m > 0.0 { m * a.ln() } else { 0.0 };
        margins.iter().zip(&self.factors).map(term).sum()
    }

    /// One step, given q̃∘(W·q̃); returns the largest error of a margin before it.
    pub(super) fn step(&mut self, margins: &[f64], found: &[f64]) -> f64 {
        let scale = margins.iter().sum::<f64>() / found.iter().sum::<f64>();
        let mut largest = 0.0f64;
        for ((factor, &wanted), &found) in self.factors.iter_mut().zip(margins).zip(found) {
            if wanted > 0.0 && found > 0.0 {
                let error = (wanted / (scale * found)).ln();
                largest = largest.max(error.abs());
                *factor *= (0.5 * error).clamp(-LONGEST_STEP, LONGEST_STEP).exp();
            }
        }
        largest
    }

    /// Steps until the margins are met but for a common factor; `found` gives q̃∘(W·q̃) of weights q̃.
    pub(super) fn settle(
        &mut self,
        weights: &[f64],
        margins: &[f64],
        tolerance: f64,
        found: impl Fn(&[f64]) -> Vec<f64>,
    ) {
        for _ in 0..MOST_STEPS {
            if self.step(margins, &found(&self.times(weights))) <= tolerance {
                break;
            }
        }
    }
}

/// Scales a kernel W, n×n, so that it has these margins against these weights. The row of a prototype without weight is as if it had
/// some: C·q = 1.
pub(super) fn scale(kernel: &mut Matrix<'_>, weights: &[f64], margins: &[f64]) {
    let n = weights.len();
    let times = |x: &[f64]| -> Vec<f64> {
        kernel.values().par_chunks(n).map(|row| row.iter().zip(x).map(|(c, x)| c * x).sum()).collect()
    };
    let mut scaling = Scaling::new(n);
    let by_row = |weights: &[f64]| times(weights).iter().zip(weights).map(|(sum, q)| sum * q).collect::<Vec<f64>>();
    scaling.settle(weights, margins, TOLERANCE, by_row);
    let balanced = scaling.times(weights);
    let sums = times(&balanced);
    let whole: f64 = sums.iter().zip(&balanced).map(|(sum, q)| sum * q).sum();
    let root = (margins.iter().sum::<f64>() / whole).sqrt();
    let factor = |k: usize| if weights[k] > 0.0 { root * scaling.factors[k] } else { 1.0 / (root * sums[k]) };
    let factors: Vec<f64> = (0..n).map(factor).collect();
    for (k, row) in kernel.values_mut().chunks_exact_mut(n).enumerate() {
        row.iter_mut().zip(&factors).for_each(|(c, a)| *c = (*c * factors[k] * a).max(f64::MIN_POSITIVE));
    }
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
