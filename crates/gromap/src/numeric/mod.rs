//! Arithmetic that knows nothing of the method: matrices, fixed blocks of rows, eigenvectors, k-means, and the
//! elementary functions in vectors.
//!
//! Everything here gives the same bytes for any number of threads: work is cut into blocks of a fixed size, and partial
//! sums are added in the order of the blocks (`blocks.rs`).

pub(crate) mod blocks;
pub(crate) mod centring;
pub(crate) mod eigen;
pub(crate) mod exponential;
pub(crate) mod fourier;
pub(crate) mod kmeans;
pub(crate) mod logarithm;
mod matrix;
pub(crate) mod root;
mod scalar;
pub(crate) mod spectrum;
pub(crate) mod vector;

pub use self::matrix::Matrix;
pub use self::scalar::Scalar;
