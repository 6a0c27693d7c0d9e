//! What it costs a sample to stand for prototypes far from it in input space: the linear term of the fused objective,
//! Σ ‖x_i − f_k‖²·T[i,k], row by row and never as an N×n matrix.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use crate::data::Samples;
use crate::numeric::Matrix;
use crate::preprocessing::far_centre;

/// ‖x‖².
#[inline]
pub(crate) fn square(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

/// β·‖x_i − f_k‖² for given prototype features f, both seen from a centre where they are
/// far from zero: the difference of squares would be lost.
#[derive(Debug, Clone)]
pub(crate) struct FeatureCost<'a> {
    samples: &'a Samples<'a>,
    /// What is taken away from samples and prototypes; most of it is zero.
    centre: Vec<f64>,
    prototypes: Matrix<'a>,
    /// ‖f_k‖².
    squares: Vec<f64>,
    factor: f64,
}

impl<'a> FeatureCost<'a> {
    pub(crate) fn new(samples: &'a Samples<'a>, prototypes: Matrix<'a>, factor: f64) -> Self {
        let centre = far_centre(&prototypes);
        let prototypes =
            Matrix::from_fn(prototypes.rows(), prototypes.columns(), |k, j| prototypes[(k, j)] - centre[j]);
        let squares = (0..prototypes.rows()).map(|k| square(prototypes.row(k))).collect();
        Self { samples, centre, prototypes, squares, factor }
    }

    /// The samples.
    pub(crate) fn samples(&self) -> &Samples<'a> {
        self.samples
    }

    /// f, seen from the centre.
    pub(crate) fn prototypes(&self) -> &Matrix<'a> {
        &self.prototypes
    }

    /// The costs of a range of samples, n numbers each.
    pub(crate) fn rows(&self, rows: Range<usize>, out: &mut [f64]) {
        let (count, n, p) = (rows.len(), self.prototypes.rows(), self.prototypes.columns());
        let mut samples = vec![0.0; count * p];
        self.samples.copy_rows(rows, &mut samples);
        for row in samples.chunks_exact_mut(p.max(1)) {
            row.iter_mut().zip(&self.centre).for_each(|(x, c)| *x -= c);
        }
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
