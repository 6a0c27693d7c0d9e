//! The kernels that methods choose from, as one type.

use super::{Gram, Normalization, PrototypeKernel, Radial};
use crate::error::Result;
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

    /// Whether the gradient needs C_Z as a matrix, because its normalisation is more than one number.
    pub(crate) fn needs_all_pairs(self) -> bool {
        let Self::Radial(Radial { normalization, .. }) = self else { return false };
        matches!(normalization, Normalization::Rows | Normalization::DoublyStochastic)
    }
}
