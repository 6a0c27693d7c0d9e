//! The kernels that methods choose from, as one type.

use super::objective::Objective;
use super::{Gram, PrototypeKernel, Radial};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;

/// How prototypes relate on a map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MapKernel {
    /// Inner products.
    Gram,
    /// Inner products of an orthonormal frame.
    Orthonormal,
    /// A function of distances.
    Radial(Radial),
}

impl MapKernel {
    /// C_Z of prototypes. A frame comes orthonormal from its closed form, and stays as it is while samples move.
    pub(crate) fn eval(self, prototypes: &Matrix<'_>, weights: &[f64]) -> Result<Matrix<'static>> {
        match self {
            Self::Gram | Self::Orthonormal => Gram.eval(prototypes, weights),
            Self::Radial(radial) => radial.eval(prototypes, weights),
        }
    }

    /// Whether the gradient of a loss needs C_Z as a matrix, because it is more than a few sums over pairs.
    pub(crate) fn needs_all_pairs(self, loss: Loss) -> bool {
        matches!(self, Self::Radial(radial) if !Objective::is_of_pair_sums(radial, loss))
    }
}
