//! The features of the samples, and what it costs to stand far from them: the linear term of the
//! fused objective, Σ ‖x_i − f_k‖²·T[i,k], row by row and never as an N×n matrix.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::plan::Plan;

/// Samples N×p, in either storage.
#[derive(Debug, Clone, PartialEq)]
pub enum Samples<'a> {
    /// Single precision.
    F32(Matrix<'a, f32>),
    /// Double precision.
    F64(Matrix<'a, f64>),
}

impl<'a> From<Matrix<'a, f32>> for Samples<'a> {
    fn from(matrix: Matrix<'a, f32>) -> Self {
        Self::F32(matrix)
    }
}

impl<'a> From<Matrix<'a, f64>> for Samples<'a> {
    fn from(matrix: Matrix<'a, f64>) -> Self {
        Self::F64(matrix)
    }
}

impl Samples<'_> {
    /// Number of samples N.
    #[allow(clippy::len_without_is_empty)] // only ever compared with another length
    pub fn len(&self) -> usize {
        match self {
            Self::F32(m) => m.rows(),
            Self::F64(m) => m.rows(),
        }
    }

    /// Number of features p.
    pub fn columns(&self) -> usize {
        match self {
            Self::F32(m) => m.columns(),
            Self::F64(m) => m.columns(),
        }
    }

    /// Refuses the wrong number of rows, NaN and infinities.
    pub(crate) fn check(&self, samples: usize) -> Result<()> {
        Error::check_len("rows of the features", samples, self.len())?;
        match self {
            Self::F32(m) => m.check_finite("features"),
            Self::F64(m) => m.check_finite("features"),
        }
    }

    /// Copies rows, widened.
    pub(crate) fn copy_rows(&self, rows: Range<usize>, out: &mut [f64]) {
        let range = rows.start * self.columns()..rows.end * self.columns();
        match self {
            Self::F32(m) => out.iter_mut().zip(&m.values()[range]).for_each(|(o, v)| *o = f64::from(*v)),
            Self::F64(m) => out.copy_from_slice(&m.values()[range]),
        }
    }

    /// TᵀX, n×p: the features of each prototype times its weight.
    pub(crate) fn gather(&self, plan: &Plan) -> Matrix<'static> {
        let mut sums = Matrix::zeros(plan.prototypes(), self.columns());
        let mut sample = vec![0.0; self.columns()];
        for i in 0..plan.len() {
            self.copy_rows(i..i + 1, &mut sample);
            for (k, mass) in plan.row(i).iter() {
                sums.row_mut(k).iter_mut().zip(&sample).for_each(|(sum, x)| *sum += mass * x);
            }
        }
        sums
    }

    /// F = TᵀX / q, n×p: the mean features of each prototype; zero where one is not used.
    pub(crate) fn means(&self, plan: &Plan) -> Matrix<'static> {
        let mut means = self.gather(plan);
        for (k, &weight) in plan.weights().iter().enumerate() {
            let scale = if weight > 0.0 { 1.0 / weight } else { 0.0 };
            means.row_mut(k).iter_mut().for_each(|value| *value *= scale);
        }
        means
    }

    /// Σ h_i·‖x_i‖².
    pub(crate) fn weighted_square(&self, weights: &[f64]) -> f64 {
        let mut sample = vec![0.0; self.columns()];
        let of_sample = |(i, h): (usize, &f64)| {
            self.copy_rows(i..i + 1, &mut sample);
            h * square(&sample)
        };
        weights.iter().enumerate().map(of_sample).sum()
    }
}

/// ‖x‖².
#[inline]
pub(crate) fn square(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

/// β·‖x_i − f_k‖² for given prototype features f.
#[derive(Debug, Clone)]
pub(crate) struct FeatureCost<'a> {
    samples: &'a Samples<'a>,
    prototypes: Matrix<'a>,
    /// ‖f_k‖².
    squares: Vec<f64>,
    factor: f64,
}

impl<'a> FeatureCost<'a> {
    pub(crate) fn new(samples: &'a Samples<'a>, prototypes: Matrix<'a>, factor: f64) -> Self {
        let squares = (0..prototypes.rows()).map(|k| square(prototypes.row(k))).collect();
        Self { samples, prototypes, squares, factor }
    }

    /// The costs of a range of samples, n numbers each.
    pub(crate) fn rows(&self, rows: Range<usize>, out: &mut [f64]) {
        let (count, n, p) = (rows.len(), self.prototypes.rows(), self.prototypes.columns());
        let mut samples = vec![0.0; count * p];
        self.samples.copy_rows(rows, &mut samples);
        for (row, x) in out.chunks_exact_mut(n).zip(samples.chunks_exact(p)) {
            let own = square(x);
            row.iter_mut().zip(&self.squares).for_each(|(o, f)| *o = self.factor * (own + f));
        }
        matmul(
            MatMut::from_row_major_slice_mut(out, count, n),
            Accum::Add,
            MatRef::from_row_major_slice(&samples, count, p),
            self.prototypes.as_faer().transpose(),
            -2.0 * self.factor,
            Par::Seq,
        );
    }
}
