//! What is done to samples before anything else: scaling of the features, projection to fewer.
//!
//! Each is fitted once and then applied to any samples of as many features, row by row: the result
//! of a row depends on that row alone, bit for bit, so a new sample is treated as it would have
//! been in the training set. Sums over samples are carried in `f64` whatever the storage.

mod frame;
mod pca;
mod scaler;
mod subspace;

pub(crate) use self::frame::{Frame, Origin, far_centre, scale_for};
pub(crate) use self::pca::EXACT_FEATURES;
pub use self::pca::Pca;
pub use self::scaler::Scaler;
use crate::error::{Error, Result};
use crate::numeric::{Matrix, Scalar};

/// Samples that a fitted transformation can be applied to.
fn check_transform<S: Scalar>(samples: &Matrix<'_, S>, features: usize) -> Result<()> {
    Error::check_len("features of the samples", features, samples.columns())?;
    samples.check_finite("samples")
}
