//! What is done to samples before anything else: scaling of the features, projection to fewer.
//!
//! Each is fitted once and then applied to any samples of as many features, row by row: the result
//! of a row depends on that row alone, bit for bit, so a new sample is treated as it would have
//! been in the training set. Sums over samples are carried in `f64` whatever the storage.

mod pca;
mod scaler;
mod subspace;

pub use self::pca::Pca;
pub use self::scaler::Scaler;
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::Scalar;

/// Beyond this, squares summed over samples might overflow.
const LARGEST: f64 = 1e100;

/// Samples that can be fitted to: some, finite, not so large that their squares overflow.
pub(crate) fn check_fit<S: Scalar>(samples: &Matrix<'_, S>) -> Result<()> {
    if samples.rows() == 0 {
        return Err(Error::parameter("number of samples", 0.0, "at least 1"));
    }
    if samples.columns() == 0 {
        return Err(Error::parameter("number of features", 0.0, "at least 1"));
    }
    samples.check_finite("samples")?;
    match samples.values().iter().position(|v| v.to_f64().abs() > LARGEST) {
        None => Ok(()),
        Some(at) => {
            let (row, column) = (at / samples.columns(), at % samples.columns());
            let allowed = format!("at most {LARGEST:e} in size (row {row}, column {column})");
            Err(Error::parameter("entry of the samples", samples.values()[at].to_f64(), allowed))
        }
    }
}

/// Samples that a fitted transformation can be applied to.
fn check_transform<S: Scalar>(samples: &Matrix<'_, S>, features: usize) -> Result<()> {
    Error::check_len("features of the samples", features, samples.columns())?;
    samples.check_finite("samples")
}
