//! Similarities that a caller has already, in either precision: whoever reads them from a file or from Python compiles no
//! numerical code.

use std::borrow::Cow;

use super::{Dense, LowRank, Similarity, Sparse};
use crate::data::{Samples, either};
use crate::error::{Error, Result};

/// Every entry of an N×N matrix.
///
/// ```
/// use gromap::{Matrix, similarity};
/// assert_eq!(similarity::dense(&Matrix::from_fn(3, 3, |i, j| (i * j) as f32))?.len(), 3);
/// # Ok::<(), gromap::Error>(())
/// ```
pub fn dense<'a>(entries: impl Into<Samples<'a>>) -> Result<Box<dyn Similarity + 'a>> {
    either!(entries.into(), |entries| Ok(Box::new(Dense::new(entries)?)))
}

/// A·Bᵀ of thin factors of one precision, or A·Aᵀ of one factor.
///
/// ```
/// use gromap::{Matrix, similarity};
/// let factor = Matrix::from_fn(3, 1, |i, _| i as f64);
/// assert!(similarity::low_rank((&factor).into(), None)?.is_symmetric());
/// # Ok::<(), gromap::Error>(())
/// ```
pub fn low_rank<'a>(left: Samples<'a>, right: Option<Samples<'a>>) -> Result<Box<dyn Similarity + 'a>> {
    match (left, right) {
        (left, None) => either!(left, |left| Ok(Box::new(LowRank::symmetric(left)?))),
        (Samples::F32(left), Some(Samples::F32(right))) => Ok(Box::new(LowRank::new(left, right)?)),
        (Samples::F64(left), Some(Samples::F64(right))) => Ok(Box::new(LowRank::new(left, right)?)),
        _ => Err(Error::Unsupported("the factors of a similarity must be of one precision".into())),
    }
}

/// Compressed rows with ascending columns; the values are a matrix of one row.
///
/// ```
/// use gromap::{Matrix, similarity};
/// let values = Matrix::new(vec![0.5f32, 0.5], 1, 2)?;
/// assert_eq!(similarity::sparse(vec![0, 1, 2], vec![1, 0], &values)?.len(), 2);
/// # Ok::<(), gromap::Error>(())
/// ```
pub fn sparse<'a>(
    offsets: impl Into<Cow<'a, [usize]>>,
    columns: impl Into<Cow<'a, [u32]>>,
    values: impl Into<Samples<'a>>,
) -> Result<Box<dyn Similarity + 'a>> {
    either!(values.into(), |values| Ok(Box::new(Sparse::new(offsets, columns, values.into_values())?)))
}
