//! Inner products of prototypes, as they are or of an orthonormal frame.

use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef, Side};

use super::kernel::{PrototypeKernel, check_prototypes, check_square};
use crate::error::{Error, Result};
use crate::numeric::Matrix;

/// C = Z·Zᵀ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gram;

impl PrototypeKernel for Gram {
    fn eval(&self, prototypes: &Matrix<'_>, weights: &[f64]) -> Result<Matrix<'static>> {
        check_prototypes(prototypes, weights)?;
        let z = prototypes.as_faer();
        Ok(from_faer((z * z.transpose()).as_ref()))
    }

    /// (G + Gᵀ)·Z
    fn pull_back(
        &self,
        prototypes: &Matrix<'_>,
        weights: &[f64],
        _: &Matrix<'_>,
        gradient: &Matrix<'_>,
    ) -> Result<Matrix<'static>> {
        check_prototypes(prototypes, weights)?;
        check_square("gradient", prototypes.rows(), gradient)?;
        let (z, g) = (prototypes.as_faer(), gradient.as_faer());
        Ok(from_faer((g * z + g.transpose() * z).as_ref()))
    }
}

/// A column of Z is taken to depend on those before it when less than this share of its squared
/// length is its own.
const LEAST_ANGLE: f64 = 1e-13;

/// C = Z·(ZᵀD_q Z)⁻¹·Zᵀ: the Gram matrix of the frame that Z spans, orthonormal against the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrthonormalGram;

impl OrthonormalGram {
    /// Z·(ZᵀD_q Z)⁻¹, n×d.
    fn dual_frame(prototypes: &Matrix<'_>, weights: &[f64]) -> Result<Mat<f64>> {
        check_prototypes(prototypes, weights)?;
        let z = prototypes.as_faer();
        let weighted = Mat::from_fn(z.nrows(), z.ncols(), |k, c| weights[k] * z[(k, c)]);
        let metric = z.transpose() * &weighted;
        let dependent = || {
            let allowed = "the number of columns: the prototypes must span as many directions";
            Error::parameter("rank of the prototypes", 0.0, allowed)
        };
        let factor = metric.llt(Side::Lower).map_err(|_| dependent())?;
        let independent = |c: usize| factor.L()[(c, c)].powi(2) > LEAST_ANGLE * metric[(c, c)];
        if !(0..metric.nrows()).all(independent) {
            return Err(dependent());
        }
        Ok(factor.solve(z.transpose()).transpose().to_owned())
    }
}

impl PrototypeKernel for OrthonormalGram {
    fn eval(&self, prototypes: &Matrix<'_>, weights: &[f64]) -> Result<Matrix<'static>> {
        let frame = Self::dual_frame(prototypes, weights)?;
        Ok(from_faer((frame * prototypes.as_faer().transpose()).as_ref()))
    }

    /// (I − D_q C)·(G + Gᵀ)·Z·(ZᵀD_q Z)⁻¹
    fn pull_back(
        &self,
        prototypes: &Matrix<'_>,
        weights: &[f64],
        kernel: &Matrix<'_>,
        gradient: &Matrix<'_>,
    ) -> Result<Matrix<'static>> {
        let frame = Self::dual_frame(prototypes, weights)?;
        check_square("gradient", prototypes.rows(), gradient)?;
        check_square("kernel", prototypes.rows(), kernel)?;
        let g = gradient.as_faer();
        let free = g * &frame + g.transpose() * &frame;
        let along = kernel.as_faer() * &free;
        Ok(Matrix::from_fn(free.nrows(), free.ncols(), |k, c| free[(k, c)] - weights[k] * along[(k, c)]))
    }
}

fn from_faer(matrix: MatRef<'_, f64>) -> Matrix<'static> {
    Matrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)])
}
