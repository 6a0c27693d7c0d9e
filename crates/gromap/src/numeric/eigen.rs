//! Eigenvectors of a small symmetric matrix, on one thread: a parallel decomposition would not give
//! the same bytes for any number of threads.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, Par};

use crate::error::{Error, Result};
use crate::interrupt;
use crate::numeric::Matrix;

/// Matrices larger than this are decomposed for longer than a request to end should wait.
const LARGE: usize = 1000;

/// Eigenvalues, descending, and the eigenvectors as rows. Reads the lower triangle.
pub(crate) fn symmetric_eigen(matrix: &Matrix<'_>) -> Result<(Vec<f64>, Matrix<'static>)> {
    // On NaN the iteration below never ends.
    matrix.check_finite("symmetric matrix")?;
    if matrix.rows() <= LARGE || !interrupt::is_watched() {
        return decompose(matrix);
    }
    // One call of the library, which looks at nothing: it gets a thread and a matrix of its own, to be left alone with
    // when the work must end. It then ends by itself.
    let own = Matrix::from_fn(matrix.rows(), matrix.columns(), |i, j| matrix[(i, j)]);
    interrupt::wait_for(move || decompose(&own))
}

fn decompose(matrix: &Matrix<'_>) -> Result<(Vec<f64>, Matrix<'static>)> {
    let size = matrix.rows();
    let mut values = Diag::<f64>::zeros(size);
    let mut vectors = Mat::<f64>::zeros(size, size);
    let scratch = self_adjoint_evd_scratch::<f64>(size, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    self_adjoint_evd(
        matrix.as_faer(),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| Error::parameter("size of a symmetric matrix", size as f64, "such that its eigenvalues converge"))?;
    let values_down = (0..size).rev().map(|i| values.column_vector()[i]).collect();
    Ok((values_down, Matrix::from_fn(size, size, |i, j| vectors[(j, size - 1 - i)])))
}

/// Turns a direction so that its entry of largest size, the first if several, is positive.
pub(crate) fn fix_sign(direction: &mut [f64]) {
    let largest = direction.iter().fold(0.0f64, |best, v| if v.abs() > best.abs() { *v } else { best });
    if largest < 0.0 {
        direction.iter_mut().for_each(|v| *v = -*v);
    }
}
