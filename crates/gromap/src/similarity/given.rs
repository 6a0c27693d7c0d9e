//! Similarities that a caller has already, in either precision: whoever reads them from a file or from Python compiles no
//! numerical code.

use std::borrow::Cow;

use super::{Dense, LowRank, Similarity, Sparse};
use crate::data::{Samples, either};
use crate::error::{Error, Result};
use crate::numeric::Scalar;

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

/// The weights of a graph by its edges, in compressed rows with ascending columns; the values are a matrix of one row. Single
/// precision is enough for a graph.
///
/// ```
/// use gromap::{Data, GromovClustering, Matrix, similarity};
/// let edges = Matrix::new(vec![1.0f64; 6], 1, 6)?;
/// let pairs = similarity::graph(vec![0, 1, 2, 3, 4, 5, 6], vec![1, 0, 3, 2, 5, 4], &edges)?;
/// let labels = GromovClustering::builder(3).fit(Data::Graph(&pairs))?.plan.labels();
/// assert!(labels[0] == labels[1] && labels[2] == labels[3] && labels[0] != labels[2]);
/// # Ok::<(), gromap::Error>(())
/// ```
pub fn graph<'a>(
    offsets: impl Into<Cow<'a, [usize]>>,
    columns: impl Into<Cow<'a, [u32]>>,
    values: impl Into<Samples<'a>>,
) -> Result<Sparse<'a, f32>> {
    let values = match values.into() {
        Samples::F32(values) => values.into_values(),
        Samples::F64(values) => values.values().iter().map(|&value| value as f32).collect(),
    };
    Sparse::new(offsets, columns, values)
}

/// The weights of a graph by all its pairs, N×N; zeros are no edges.
///
/// ```
/// use gromap::{Matrix, similarity};
/// let pairs = Matrix::new(vec![0.0, 1.0, 1.0, 0.0], 2, 2)?;
/// assert_eq!(similarity::graph_of_pairs(&pairs)?.stored(), 2);
/// # Ok::<(), gromap::Error>(())
/// ```
pub fn graph_of_pairs<'a>(pairs: impl Into<Samples<'a>>) -> Result<Sparse<'static, f32>> {
    let pairs = pairs.into();
    Error::check_len("columns of the graph", pairs.len(), pairs.columns())?;
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    either!(&pairs, |m| for i in 0..m.rows() {
        for (j, value) in m.row(i).iter().enumerate().filter(|(_, value)| value.to_f64() != 0.0) {
            columns.push(j as u32);
            values.push(value.to_f64() as f32);
        }
        offsets.push(columns.len());
    });
    Sparse::new(offsets, columns, values)
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
