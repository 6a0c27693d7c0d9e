//! Samples on their way into single precision, in which neighbours and groups are sought: (x − centre)·scale, rounded once.
//!
//! Distances do not change with the centre, and by a known factor with the scale. Numbers of double precision far from zero
//! keep their differences that way, and squares of distances neither overflow nor vanish. The scale is a power of two, which
//! rounds nothing. Samples that need neither (most do not) go into single precision as they are.

use rayon::prelude::*;

use crate::data::{Samples, either};
use crate::error::{Error, Result};
use crate::numeric::blocks::blocks;
use crate::numeric::{Matrix, Scalar};

/// A column is moved where its centre is farther from zero than so many times the typical spread of the samples: closer
/// ones lose no more than the last four bits.
const FAR: f64 = 16.0;
/// Rows that the centre is found from.
const ROWS: usize = 1023;
/// Coordinates, seen from the centre, whose squares need no scale: the largest lies in between.
const ORDINARY: (f64, f64) = (1.0 / (1u64 << 30) as f64, (1u64 << 40) as f64);
/// Where the largest coordinate comes to lie: high, so that samples near each other beside one that is far stay apart, or
/// at one.
const HIGH: i32 = 55;

/// Where samples are seen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Zero.
    Zero,
    /// The centre of a frame, for functions of differences alone.
    Centre,
}

/// How samples enter single precision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// Taken away from each column; most are zero.
    centre: Vec<f64>,
    /// Multiplied into every column after that, a power of two.
    scale: f64,
}

impl Frame {
    /// The frame that samples need.
    pub(crate) fn of(samples: &Samples<'_>) -> Self {
        // Single precision loses nothing by staying where it is.
        let centre = match samples {
            Samples::F32(samples) => vec![0.0; samples.columns()],
            Samples::F64(samples) => far_centre(samples),
        };
        Self::around(samples, centre)
    }

    /// The frame of samples whose lengths matter, which have to stay where they are.
    pub(crate) fn in_place(samples: &Samples<'_>) -> Self {
        Self::around(samples, vec![0.0; samples.columns()])
    }

    fn around(samples: &Samples<'_>, centre: Vec<f64>) -> Self {
        let scale = scale_for(either!(samples, |samples| half_extent(samples, &centre)));
        Self { centre, scale }
    }

    /// A frame that was found before.
    pub(crate) fn restored(centre: Vec<f64>, scale: f64) -> Result<Self> {
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Error::parameter("scale of the samples", scale, "positive and finite"));
        }
        Ok(Self { centre, scale })
    }

    /// Whether samples enter single precision as they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.scale == 1.0 && self.centre.iter().all(|&c| c == 0.0)
    }

    /// Taken away from each column.
    pub(crate) fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Multiplied into every column after that.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// Samples in single precision.
    pub(crate) fn single<'m>(&self, samples: &'m Samples<'_>) -> Matrix<'m, f32> {
        if self.is_plain() {
            return samples.single();
        }
        either!(samples, |samples| {
            Matrix::from_fn(samples.rows(), samples.columns(), |i, j| {
                // Scaled first: differences of the largest numbers would overflow.
                (samples[(i, j)].to_f64() * self.scale - self.centre[j] * self.scale) as f32
            })
        })
    }

    /// Samples in double precision, seen from an origin.
    pub(crate) fn double(&self, samples: &Samples<'_>, origin: Origin) -> Matrix<'static> {
        let taken = self.centre_from(origin);
        either!(samples, |samples| {
            Matrix::from_fn(samples.rows(), samples.columns(), |i, j| samples[(i, j)].to_f64() - taken[j])
        })
    }

    /// The samples that these were, up to rounding, seen from an origin.
    pub(crate) fn undone(&self, single: &Matrix<'_, f32>, origin: Origin) -> Matrix<'static> {
        let left: Vec<f64> = self.centre.iter().zip(self.centre_from(origin)).map(|(c, taken)| c - taken).collect();
        let undone = |i: usize, j: usize| f64::from(single[(i, j)]) / self.scale + left[j];
        Matrix::from_fn(single.rows(), single.columns(), undone)
    }

    fn centre_from(&self, origin: Origin) -> Vec<f64> {
        match origin {
            Origin::Zero => vec![0.0; self.centre.len()],
            Origin::Centre => self.centre.clone(),
        }
    }
}

/// A power of two that brings the largest of these coordinates, given by its half, to where its square has room.
pub(crate) fn scale_for(half: f64) -> f64 {
    if half == 0.0 || (0.5 * ORDINARY.0..=0.5 * ORDINARY.1).contains(&half) {
        return 1.0;
    }
    let exponent = half.log2().ceil() as i32 + 1;
    let place = if exponent > 0 { HIGH } else { 0 };
    // The smallest numbers there are need two steps.
    2f64.powi((place - exponent).min(1023))
}

/// Half of how far a sample is from the centre in any coordinate, at most: the whole may overflow.
fn half_extent<S: Scalar>(samples: &Matrix<'_, S>, centre: &[f64]) -> f64 {
    let of_row = |i: usize| {
        let halves = samples.row(i).iter().zip(centre).map(|(x, c)| (0.5 * x.to_f64() - 0.5 * c).abs());
        halves.fold(0.0, f64::max)
    };
    blocks(samples.rows()).map(|rows| rows.map(of_row).fold(0.0, f64::max)).reduce(|| 0.0, f64::max)
}

/// The median of every column that is far from zero, and zero for the others. A median is a sample's own number, and one
/// sample far away does not move it.
pub(crate) fn far_centre(samples: &Matrix<'_>) -> Vec<f64> {
    let rows = samples.rows();
    let count = rows.min(ROWS);
    let of_column = |j: usize| {
        let mut values: Vec<f64> = (0..count).map(|at| samples[(at * rows / count, j)]).collect();
        let centre = median(&mut values);
        values.iter_mut().for_each(|value| *value = (0.5 * *value - 0.5 * centre).abs());
        (centre, median(&mut values))
    };
    let columns: Vec<(f64, f64)> = (0..samples.columns()).into_par_iter().map(of_column).collect();
    let spread = columns.iter().map(|column| column.1).fold(0.0, f64::max);
    columns.into_iter().map(|(centre, _)| if 0.5 * centre.abs() > FAR * spread { centre } else { 0.0 }).collect()
}

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(samples: &Matrix<'_, f32>, i: usize, j: usize) -> f32 {
        samples.row(i).iter().zip(samples.row(j)).map(|(x, y)| (x - y) * (x - y)).sum()
    }

    /// Steps of 1/64 that single precision holds near zero.
    fn steps(offset: f64, size: f64) -> Matrix<'static> {
        Matrix::from_fn(50, 3, |i, j| size * (offset + ((i * (j + 3) * 7) % 64) as f64 / 64.0))
    }

    #[test]
    fn ordinary_samples_stay_as_they_are() {
        for samples in [steps(0.0, 1.0), steps(3.0, 255.0), steps(-1.0, 1e6), steps(0.0, 1e-6)] {
            assert!(Frame::of(&(&samples).into()).is_plain());
        }
        let single = Matrix::from_fn(50, 3, |i, j| 1e6 + steps(0.0, 1.0)[(i, j)] as f32);
        assert!(Frame::of(&(&single).into()).is_plain(), "distances of single precision are measured as they are");
    }

    #[test]
    fn differences_far_from_zero_are_kept() {
        let near = Frame::of(&(&steps(0.0, 1.0)).into()).single(&(&steps(0.0, 1.0)).into()).into_owned();
        let mut far = steps(1e9, 1.0);
        // One sample that is somewhere else does not move the centre.
        far.row_mut(49).fill(0.0);
        let far = Frame::of(&(&far).into()).single(&(&far).into()).into_owned();
        for i in 0..49 {
            assert!((0..49).all(|j| square(&near, i, j) == square(&far, i, j)), "sample {i}");
        }
    }

    #[test]
    fn squares_have_room() {
        for size in [1e300, 1e150, 1e30, 1e-30, 1e-150, 1e-300] {
            let samples = steps(0.0, size);
            let frame = Frame::of(&(&samples).into());
            assert_eq!(frame.scale().log2().fract(), 0.0, "a power of two");
            let single = frame.single(&(&samples).into()).into_owned();
            let largest = (0..50).map(|i| square(&single, 0, i)).fold(0.0, f32::max);
            let least = (1..50).map(|i| square(&single, 0, i)).filter(|&d| d > 0.0).fold(f32::MAX, f32::min);
            assert!(largest.is_finite() && least > 1e-30, "{size:e}: {least} to {largest}");
            let back = frame.undone(&single, Origin::Zero);
            let error = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * size;
            assert!(back.values().iter().zip(samples.values()).all(error), "{size:e}");
        }
    }

    #[test]
    fn the_smallest_numbers_have_room_too() {
        let samples = steps(0.0, 1e-320);
        let frame = Frame::of(&(&samples).into());
        assert!(frame.scale().is_finite());
        assert!(frame.single(&(&samples).into()).values().iter().any(|&x| x > 1e-13));
    }
}
