//! The two storage types. Data may be kept in `f32` to halve memory traffic; sums over samples are
//! always carried in `f64`.

use std::borrow::Cow;

use super::Matrix;
use crate::data::Samples;
use crate::similarity::{Contents, Sparse};

/// `f32` or `f64`, as storage of matrices.
pub trait Scalar: faer::traits::RealField + Copy + PartialOrd + Default + 'static + sealed::Sealed {
    /// Distance from one to the next larger value.
    const EPSILON: f64;
    /// Widens, exactly.
    fn to_f64(self) -> f64;
    /// Rounds to nearest.
    fn from_f64(value: f64) -> Self;
    /// The same numbers in single precision, copied only if they are not.
    fn single(values: &[Self]) -> Cow<'_, [f32]>;
    /// The same numbers in double precision, copied only if they are not.
    fn double(values: &[Self]) -> Cow<'_, [f64]>;
    /// A matrix as samples.
    fn samples(matrix: Matrix<'_, Self>) -> Samples<'_>;
    /// Compressed rows as others may look at them.
    fn contents<'s>(sparse: &'s Sparse<'_, Self>) -> Contents<'s>;
}

impl Scalar for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    fn samples(matrix: Matrix<'_, Self>) -> Samples<'_> {
        Samples::F32(matrix)
    }
    fn contents<'s>(sparse: &'s Sparse<'_, Self>) -> Contents<'s> {
        Contents::Sparse(sparse)
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn single(values: &[Self]) -> Cow<'_, [f32]> {
        Cow::Borrowed(values)
    }
    fn double(values: &[Self]) -> Cow<'_, [f64]> {
        values.iter().map(|&value| f64::from(value)).collect()
    }
}

impl Scalar for f64 {
    const EPSILON: f64 = f64::EPSILON;
    fn samples(matrix: Matrix<'_, Self>) -> Samples<'_> {
        Samples::F64(matrix)
    }
    fn contents<'s>(_: &'s Sparse<'_, Self>) -> Contents<'s> {
        Contents::Other
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    fn single(values: &[Self]) -> Cow<'_, [f32]> {
        values.iter().map(|&value| value as f32).collect()
    }
    fn double(values: &[Self]) -> Cow<'_, [f64]> {
        Cow::Borrowed(values)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
