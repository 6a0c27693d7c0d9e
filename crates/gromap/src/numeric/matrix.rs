//! A row-major matrix, borrowed or owned: samples, factors, targets, features.

use std::borrow::Cow;

use faer::MatRef;

use crate::error::{Error, Result};
use crate::numeric::Scalar;

/// Values that are checked between two looks at an interrupt.
const PIECE: usize = 1 << 20;

/// Beyond this, squares summed over samples might overflow.
const LARGEST: f64 = 1e100;

/// A row-major matrix over a borrowed or an owned buffer.
///
/// ```
/// use gromap::Matrix;
/// let m = Matrix::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3)?;
/// assert_eq!(m.row(1), &[4.0, 5.0, 6.0]);
/// assert_eq!(m[(0, 2)], 3.0);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix<'a, S: Scalar = f64> {
    values: Cow<'a, [S]>,
    rows: usize,
    columns: usize,
}

impl<'a, S: Scalar> Matrix<'a, S> {
    /// Views `values` as `rows` × `columns`.
    pub fn new(values: impl Into<Cow<'a, [S]>>, rows: usize, columns: usize) -> Result<Self> {
        let values = values.into();
        let expected = rows.saturating_mul(columns);
        Error::check_len("number of values in a matrix", expected, values.len())?;
        Ok(Self { values, rows, columns })
    }

    /// Builds a matrix entry by entry.
    pub fn from_fn(rows: usize, columns: usize, mut entry: impl FnMut(usize, usize) -> S) -> Self {
        let mut values = Vec::with_capacity(rows * columns);
        for i in 0..rows {
            values.extend((0..columns).map(|j| entry(i, j)));
        }
        Self { values: values.into(), rows, columns }
    }

    /// Copies rows of equal length.
    ///
    /// ```
    /// use gromap::Matrix;
    /// assert_eq!(Matrix::from_rows(&[[1.0, 2.0], [3.0, 4.0]])?[(1, 0)], 3.0);
    /// assert!(Matrix::from_rows(&[vec![1.0, 2.0], vec![3.0]]).is_err());
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn from_rows<R: AsRef<[S]>>(rows: &[R]) -> Result<Matrix<'static, S>> {
        let columns = rows.first().map_or(0, |row| row.as_ref().len());
        let mut values = Vec::with_capacity(rows.len() * columns);
        for (i, row) in rows.iter().map(AsRef::as_ref).enumerate() {
            Error::check_len(&format!("length of row {i}"), columns, row.len())?;
            values.extend_from_slice(row);
        }
        Matrix::new(values, rows.len(), columns)
    }

    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { values: vec![S::default(); rows * columns].into(), rows, columns }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All values, row after row.
    pub fn values(&self) -> &[S] {
        &self.values
    }

    /// All values, row after row, borrowed if the matrix was.
    pub(crate) fn into_values(self) -> Cow<'a, [S]> {
        self.values
    }

    /// All values, row after row, for writing; copies a borrowed buffer first.
    pub fn values_mut(&mut self) -> &mut [S] {
        self.values.to_mut()
    }

    /// One row.
    #[inline]
    pub fn row(&self, i: usize) -> &[S] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }

    /// One row, for writing; copies a borrowed buffer first.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [S] {
        let columns = self.columns;
        &mut self.values.to_mut()[i * columns..(i + 1) * columns]
    }

    /// The transposed matrix, copied.
    pub fn transposed(&self) -> Matrix<'static, S> {
        Matrix::from_fn(self.columns, self.rows, |i, j| self[(j, i)])
    }

    /// The same matrix, borrowed.
    pub fn view(&self) -> Matrix<'_, S> {
        Matrix { values: Cow::Borrowed(&self.values), ..*self }
    }

    /// The same matrix in single precision, copied only if it is not.
    pub fn single(&self) -> Matrix<'_, f32> {
        Matrix { values: S::single(&self.values), rows: self.rows, columns: self.columns }
    }

    /// The same matrix in a buffer of its own.
    pub fn into_owned(self) -> Matrix<'static, S> {
        Matrix { values: Cow::Owned(self.values.into_owned()), rows: self.rows, columns: self.columns }
    }

    /// Refuses NaN and infinities, naming the first such entry.
    pub fn check_finite(&self, what: &'static str) -> Result<()> {
        let is_bad = |v: &S| !v.to_f64().is_finite();
        // Whole pieces without leaving early, which the compiler turns into vectors.
        let has_bad = |values: &[S]| {
            crate::interrupt::look();
            values.iter().fold(false, |bad, v| bad | is_bad(v))
        };
        let piece = self.values.chunks(PIECE).position(has_bad);
        let of_piece = |piece: usize| self.values[piece * PIECE..].iter().position(is_bad).map(|at| piece * PIECE + at);
        match piece.and_then(of_piece) {
            None => Ok(()),
            Some(at) => Err(Error::NotFinite {
                what,
                row: at / self.columns,
                column: at % self.columns,
                value: self.values[at].to_f64(),
            }),
        }
    }

    /// Refuses samples that nothing can be fitted to: none, not finite, or so large that their squares overflow.
    pub(crate) fn check_fit(&self) -> Result<()> {
        if self.rows == 0 {
            return Err(Error::parameter("number of samples", 0.0, "at least 1"));
        }
        if self.columns == 0 {
            return Err(Error::parameter("number of features", 0.0, "at least 1"));
        }
        self.check_finite("samples")?;
        match self.values.iter().position(|v| v.to_f64().abs() > LARGEST) {
            None => Ok(()),
            Some(at) => {
                let (row, column) = (at / self.columns, at % self.columns);
                let allowed = format!("at most {LARGEST:e} in size (row {row}, column {column})");
                Err(Error::parameter("entry of the samples", self.values[at].to_f64(), allowed))
            }
        }
    }

    /// The same matrix for faer's products and decompositions.
    pub(crate) fn as_faer(&self) -> MatRef<'_, S> {
        MatRef::from_row_major_slice(&self.values, self.rows, self.columns)
    }
}

impl<S: Scalar> std::ops::Index<(usize, usize)> for Matrix<'_, S> {
    type Output = S;
    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &S {
        debug_assert!(j < self.columns);
        &self.values[i * self.columns + j]
    }
}

impl<S: Scalar> std::ops::IndexMut<(usize, usize)> for Matrix<'_, S> {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut S {
        debug_assert!(j < self.columns);
        let at = i * self.columns + j;
        &mut self.values.to_mut()[at]
    }
}
