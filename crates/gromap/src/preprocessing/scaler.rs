//! Features brought to one scale: (x − shift)·factor, column by column.

use std::ops::Range;

use super::check_transform;
use crate::error::{Error, Result};
use crate::numeric::centring::{column_means, column_sums};
use crate::numeric::{Matrix, Scalar};

/// A fitted scaling of the features. Fitting is two passes over the samples.
///
/// A column that never changes carries nothing: it becomes 0 everywhere, and is not divided by its
/// width of 0.
///
/// ```
/// use gromap::Matrix;
/// use gromap::preprocessing::Scaler;
/// let samples = Matrix::new(vec![1.0, 5.0, 3.0, 5.0], 2, 2)?;
/// assert_eq!(Scaler::standard(&samples)?.transform(&samples)?.values(), &[-1.0, 0.0, 1.0, 0.0]);
/// assert_eq!(Scaler::min_max(&samples)?.transform(&samples)?.values(), &[0.0, 0.0, 1.0, 0.0]);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scaler {
    shift: Vec<f64>,
    factor: Vec<f64>,
}

impl Scaler {
    /// Mean 0 and standard deviation 1 (dividing by N).
    pub fn standard<S: Scalar>(samples: &Matrix<'_, S>) -> Result<Self> {
        samples.check_fit()?;
        let ranges = ranges(samples);
        let means = column_means(samples);
        let squares = column_sums(samples, |column, value| (value - means[column]).powi(2));
        let deviation = squares.into_iter().map(|sum| (sum / samples.rows() as f64).sqrt());
        Ok(Self::new(means.iter().copied().zip(deviation), &ranges))
    }

    /// Mean 0, and for each range of columns a variance of 1 in all: several columns that are one thing count as one.
    ///
    /// ```
    /// use gromap::Matrix;
    /// use gromap::preprocessing::Scaler;
    /// let samples = Matrix::new(vec![3.0, 1.0, 0.0, 7.0, 0.0, 1.0], 2, 3)?;
    /// let scaler = Scaler::standard_together(&samples, &[0..1, 1..3])?;
    /// let expected = [0.5, 2f64.sqrt(), 2f64.sqrt()];
    /// assert!(scaler.factor().iter().zip(expected).all(|(factor, expected)| (factor - expected).abs() < 1e-12));
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn standard_together<S: Scalar>(samples: &Matrix<'_, S>, ranges: &[Range<usize>]) -> Result<Self> {
        let mut scaler = Self::standard(samples)?;
        Error::check_len("columns of the ranges", samples.columns(), ranges.iter().map(Range::len).sum())?;
        for range in ranges.iter().filter(|range| range.len() > 1) {
            let factors = scaler.factor.get_mut(range.clone()).unwrap_or_default();
            // A constant column has a factor of 1 and nothing to add.
            let is_constant = |j: usize| (0..samples.rows()).all(|i| samples[(i, j)] == samples[(0, j)]);
            let varying = range.clone().zip(&*factors).filter(|(j, _)| !is_constant(*j));
            let variance: f64 = varying.map(|(_, factor)| factor.powi(-2)).sum();
            let factor = variance.sqrt().recip();
            factors.fill(if factor.is_normal() { factor } else { 1.0 });
        }
        Ok(scaler)
    }

    /// Smallest value 0 and largest 1.
    pub fn min_max<S: Scalar>(samples: &Matrix<'_, S>) -> Result<Self> {
        samples.check_fit()?;
        let ranges = ranges(samples);
        Ok(Self::new(ranges.iter().map(|&(low, high)| (low, high - low)), &ranges))
    }

    /// From the origin and the width of each column. A constant column is recognised by its range,
    /// which has no rounding; a width that underflows is as good as none.
    fn new(origins: impl Iterator<Item = (f64, f64)>, ranges: &[(f64, f64)]) -> Self {
        let of_column = |((origin, width), &(low, high)): ((f64, f64), &(f64, f64))| {
            if low == high {
                (low, 1.0)
            } else if width.is_normal() && width.recip().is_finite() {
                (origin, width.recip())
            } else {
                (origin, 1.0)
            }
        };
        let (shift, factor) = origins.zip(ranges).map(of_column).unzip();
        Self { shift, factor }
    }

    /// A scaling that was fitted before.
    pub(crate) fn restored(shift: Vec<f64>, factor: Vec<f64>) -> Result<Self> {
        Error::check_len("factors of the scaling", shift.len(), factor.len())?;
        Ok(Self { shift, factor })
    }

    /// Subtracted from each column.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    /// Multiplied into each column after that.
    pub fn factor(&self) -> &[f64] {
        &self.factor
    }

    /// Scales samples, row by row. Those that were not fitted to may leave the range.
    pub fn transform<S: Scalar>(&self, samples: &Matrix<'_, S>) -> Result<Matrix<'static, S>> {
        check_transform(samples, self.shift.len())?;
        Ok(Matrix::from_fn(samples.rows(), samples.columns(), |i, j| {
            S::from_f64((samples[(i, j)].to_f64() - self.shift[j]) * self.factor[j])
        }))
    }
}

/// Smallest and largest value of each column.
fn ranges<S: Scalar>(samples: &Matrix<'_, S>) -> Vec<(f64, f64)> {
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); samples.columns()];
    for i in 0..samples.rows() {
        for ((low, high), value) in ranges.iter_mut().zip(samples.row(i)) {
            let value = value.to_f64();
            *low = low.min(value);
            *high = high.max(value);
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(matrix: &Matrix<'_>, column: usize) -> (f64, f64) {
        let values: Vec<f64> = (0..matrix.rows()).map(|i| matrix[(i, column)]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64)
    }

    fn columns() -> Matrix<'static> {
        Matrix::from_fn(3000, 3, |i, j| match j {
            0 => 1e6 + (i % 7) as f64,
            1 => 0.1,
            _ => -((i * i) as f64),
        })
    }

    #[test]
    fn standard_columns_have_mean_0_and_deviation_1() {
        let samples = columns();
        let scaled = Scaler::standard(&samples).unwrap().transform(&samples).unwrap();
        for column in [0, 2] {
            let (mean, variance) = moments(&scaled, column);
            assert!(mean.abs() < 1e-9 && (variance - 1.0).abs() < 1e-9, "column {column}: {mean} {variance}");
        }
    }

    #[test]
    fn min_max_columns_fill_the_unit_interval() {
        let samples = columns();
        let scaled = Scaler::min_max(&samples).unwrap().transform(&samples).unwrap();
        assert_eq!(ranges(&scaled), vec![(0.0, 1.0), (0.0, 0.0), (0.0, 1.0)]);
    }

    #[test]
    fn a_constant_column_becomes_zero_and_divides_nothing() {
        let samples = columns();
        for scaler in [Scaler::standard(&samples).unwrap(), Scaler::min_max(&samples).unwrap()] {
            assert_eq!(scaler.factor()[1], 1.0);
            let scaled = scaler.transform(&samples).unwrap();
            assert!((0..3000).all(|i| scaled[(i, 1)] == 0.0));
            let new = Matrix::new(vec![0.0, 2.1, 0.0], 1, 3).unwrap();
            assert_eq!(scaler.transform(&new).unwrap()[(0, 1)], 2.0);
        }
        let tiny = Matrix::new(vec![0.0f64, 5e-324], 2, 1).unwrap();
        for scaler in [Scaler::standard(&tiny).unwrap(), Scaler::min_max(&tiny).unwrap()] {
            assert!(scaler.transform(&tiny).unwrap().values().iter().all(|v| v.is_finite()));
        }
    }

    #[test]
    fn wrong_samples_are_refused() {
        let refused = |rows: usize, columns: usize| Scaler::standard(&Matrix::<f32>::zeros(rows, columns)).unwrap_err();
        assert!(matches!(refused(0, 3), Error::Parameter { name: "number of samples", .. }));
        assert!(matches!(refused(3, 0), Error::Parameter { name: "number of features", .. }));
        let mut bad = columns();
        bad[(5, 2)] = f64::NAN;
        assert!(matches!(Scaler::min_max(&bad), Err(Error::NotFinite { row: 5, column: 2, .. })));
        bad[(5, 2)] = -1e200;
        assert!(Scaler::min_max(&bad).unwrap_err().to_string().contains("row 5, column 2"));
        let scaler = Scaler::min_max(&columns()).unwrap();
        assert!(matches!(
            scaler.transform(&Matrix::<f32>::zeros(2, 4)),
            Err(Error::Shape { expected: 3, found: 4, .. })
        ));
        bad[(5, 2)] = f64::INFINITY;
        assert!(matches!(scaler.transform(&bad), Err(Error::NotFinite { row: 5, column: 2, .. })));
    }
}
