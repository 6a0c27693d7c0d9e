//! C_Z = k(Z): how prototypes relate, and how a gradient with respect to C_Z becomes one with respect to Z.
//!
//! | kernel | C_Z | for |
//! |---|---|---|
//! | [`Gram`](super::Gram) | Z·Zᵀ | pca, kernel-pca, mds, isomap |
//! | [`OrthonormalGram`](super::OrthonormalGram) | Z·(ZᵀD_q Z)⁻¹·Zᵀ | laplacian eigenmaps |
//! | [`Radial`](super::Radial) | a function of distances, normalised | sne, tsne, snekhorn, tsnekhorn, heavy-tsne, fuzzy-tsne, umap |

use crate::error::{Error, Result};
use crate::numeric::Matrix;

/// How the similarity of prototypes follows from their places.
pub trait PrototypeKernel: Send + Sync {
    /// C_Z (n×n) of n prototypes, one in each row, and their weights q.
    fn eval(&self, prototypes: &Matrix<'_>, weights: &[f64]) -> Result<Matrix<'static>>;

    /// ∂E/∂Z (n×d) from `gradient` = ∂E/∂C_Z (n×n) at C_Z = `kernel`, which is what
    /// [`eval`](Self::eval) gave for the same prototypes and weights. The weights are constants.
    fn pull_back(
        &self,
        prototypes: &Matrix<'_>,
        weights: &[f64],
        kernel: &Matrix<'_>,
        gradient: &Matrix<'_>,
    ) -> Result<Matrix<'static>>;
}

/// Refuses weights that do not fit the prototypes.
pub(super) fn check_prototypes(prototypes: &Matrix<'_>, weights: &[f64]) -> Result<()> {
    Error::check_len("number of prototype weights", prototypes.rows(), weights.len())?;
    if prototypes.rows() == 0 || prototypes.columns() == 0 {
        return Err(Error::parameter("size of the prototypes", 0.0, "at least 1 × 1"));
    }
    prototypes.check_finite("prototypes")
}

/// Refuses matrices that are not n×n.
pub(super) fn check_square(what: &str, n: usize, matrix: &Matrix<'_>) -> Result<()> {
    Error::check_len(&format!("rows of the {what}"), n, matrix.rows())?;
    Error::check_len(&format!("columns of the {what}"), n, matrix.columns())
}
