//! Pictures of the samples: the mean of each prototype's, and small ones of the samples themselves.
//!
//! A file that people send has room for so many pixels. Pictures are made smaller by whole factors until they fit; where
//! there are too many samples even for that, those nearest to the mean of their prototype keep theirs.

use gromap::Plan;
use gromap::data::Samples;

use crate::error::Error;

/// One picture for every sample, row by row, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Images {
    /// Width of a picture.
    pub width: usize,
    /// Height of a picture.
    pub height: usize,
    /// Values of a pixel: 1 (grey), 3 (RGB) or 4 (RGBA).
    pub channels: usize,
    /// All pixels: sample by sample, row by row, pixel by pixel.
    pub pixels: Vec<u8>,
}

/// Bytes that pictures of samples may take before they are compressed.
pub(crate) const SAMPLE_BYTES: usize = 12 << 20;

/// Bytes that mean pictures of all levels may take before they are compressed.
pub(crate) const MEAN_BYTES: usize = 3 << 20;

/// Pictures are not made smaller than this, on their longer side.
const SMALLEST_SIDE: usize = 16;

/// Nor are they kept larger than this.
const LARGEST_SIDE: usize = 128;

impl Images {
    /// Pictures of numbers, one row for each sample: shares of white (0 to 1) become bytes, bytes (0 to 255) stay, and
    /// anything else is stretched from its lowest value to its highest.
    ///
    /// ```
    /// use gromap::Matrix;
    /// use gromap_report::Images;
    /// let images = Images::from_values(&(&Matrix::new(vec![0.0, 0.5, 1.0], 1, 3)?).into(), (3, 1, 1))?;
    /// assert_eq!(images.pixels, [0, 128, 255]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_values(values: &Samples<'_>, (width, height, channels): (usize, usize, usize)) -> Result<Self, Error> {
        let size = width.saturating_mul(height).saturating_mul(channels);
        Error::check_length(format!("values of a picture of {width}×{height}×{channels}"), size, values.columns())?;
        let values: Vec<f64> = match values {
            Samples::F32(values) => values.values().iter().map(|&value| value.into()).collect(),
            Samples::F64(values) => values.values().to_vec(),
        };
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = match (lowest, highest) {
            (low, high) if low >= 0.0 && high <= 1.0 => (0.0, 1.0),
            (low, high) if low >= 0.0 && high <= 255.0 => (0.0, 255.0),
            other => other,
        };
        let scale = if high > low { 255.0 / (high - low) } else { 0.0 };
        let pixels = values.iter().map(|value| (scale * (value - low)).round() as u8).collect();
        Ok(Self { width, height, channels, pixels })
    }

    /// Refuses sizes that are no pictures, and a number of pixels that is not one picture for each sample.
    pub(crate) fn check(&self, samples: usize) -> Result<(), Error> {
        let Self { width, height, channels, .. } = *self;
        if width == 0 || height == 0 || !matches!(channels, 1 | 3 | 4) {
            return Err(Error::Picture { width, height, channels });
        }
        let expected = samples.saturating_mul(width).saturating_mul(height).saturating_mul(channels);
        let what = format!("bytes of {samples} pictures of {width}×{height}×{channels}");
        Error::check_length(what, expected, self.pixels.len())
    }

    /// Bytes of one picture.
    pub(crate) fn stride(&self) -> usize {
        self.width * self.height * self.channels
    }

    pub(crate) fn picture(&self, sample: usize) -> &[u8] {
        &self.pixels[sample * self.stride()..(sample + 1) * self.stride()]
    }

    /// The mean picture of each prototype, by mass.
    pub(crate) fn means(&self, plan: &Plan) -> Vec<Vec<f32>> {
        let columns = plan.columns();
        let mean = |k: usize| {
            let (samples, mass) = columns.column(k);
            let whole: f64 = mass.iter().sum();
            let mut mean = vec![0.0_f32; self.stride()];
            for (&sample, &mass) in samples.iter().zip(mass) {
                let share = if whole > 0.0 { mass / whole } else { 1.0 / samples.len() as f64 } as f32;
                let pixels = self.picture(sample as usize);
                mean.iter_mut().zip(pixels).for_each(|(sum, &pixel)| *sum += share * f32::from(pixel));
            }
            mean
        };
        (0..plan.prototypes()).map(mean).collect()
    }

    /// The smallest whole factor by which `count` pictures fit into `bytes`, within the limits of a side.
    pub(crate) fn factor(&self, count: usize, bytes: usize) -> usize {
        let longer = self.width.max(self.height);
        let least = longer.div_ceil(LARGEST_SIDE);
        let most = (longer / SMALLEST_SIDE).max(least);
        let size = |factor| count * self.width.div_ceil(factor) * self.height.div_ceil(factor) * self.channels;
        (least..most).find(|&factor| size(factor) <= bytes).unwrap_or(most)
    }

    /// Width and height after reduction.
    pub(crate) fn reduced_size(&self, factor: usize) -> (usize, usize) {
        (self.width.div_ceil(factor), self.height.div_ceil(factor))
    }

    /// A picture made smaller: each pixel is the mean of those it stands for.
    pub(crate) fn reduced<P: Copy + Into<f32>>(&self, picture: &[P], factor: usize) -> Vec<u8> {
        let (width, height) = self.reduced_size(factor);
        let mut out = Vec::with_capacity(width * height * self.channels);
        for y in 0..height {
            let rows = y * factor..((y + 1) * factor).min(self.height);
            for x in 0..width {
                let columns = x * factor..((x + 1) * factor).min(self.width);
                let count = (rows.len() * columns.len()) as f32;
                for channel in 0..self.channels {
                    let at = |row: usize, column: usize| (row * self.width + column) * self.channels + channel;
                    let of_row =
                        |row: usize| columns.clone().map(|column| picture[at(row, column)].into()).sum::<f32>();
                    let sum: f32 = rows.clone().map(of_row).sum();
                    out.push((sum / count).round().clamp(0.0, 255.0) as u8);
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gromap::SampleWeights;

    fn ramp(width: usize, height: usize, channels: usize, samples: usize) -> Images {
        let pixels = (0..width * height * channels * samples).map(|i| (i % 251) as u8).collect();
        Images { width, height, channels, pixels }
    }

    #[test]
    fn means_are_by_mass() {
        let images = Images { width: 1, height: 1, channels: 1, pixels: vec![0, 100, 200] };
        let weights = SampleWeights::new(&[1.0, 3.0, 4.0]).unwrap();
        let plan = Plan::from_labels(vec![0, 0, 1], 2, weights).unwrap();
        assert_eq!(images.means(&plan), [[75.0], [200.0]]);
    }

    #[test]
    fn reduction_takes_means_and_keeps_channels_apart() {
        let images = Images { width: 3, height: 2, channels: 3, pixels: Vec::new() };
        let picture: Vec<u8> = (0..6).flat_map(|i| [i * 10, 100, 200 + i]).collect();
        // Columns 0 and 1 of both rows, then column 2 alone.
        assert_eq!(images.reduced(&picture, 2), [20, 100, 202, 35, 100, 204]);
        assert_eq!(images.reduced(&picture, 1), picture);
    }

    #[test]
    fn pictures_are_reduced_only_as_far_as_they_must() {
        let images = ramp(128, 64, 1, 0);
        assert_eq!(images.factor(10, 10 * 128 * 64), 1);
        assert_eq!(images.factor(10, 10 * 128 * 64 - 1), 2);
        assert_eq!(images.factor(1_000_000, 1), 8);
        assert_eq!(ramp(500, 20, 1, 0).factor(1, 1 << 20), 4);
        assert_eq!(ramp(8, 8, 1, 0).factor(1 << 20, 1), 1);
    }

    #[test]
    fn what_is_no_picture_is_named() {
        let message = |images: Images, samples| images.check(samples).unwrap_err().to_string();
        assert!(message(ramp(2, 0, 1, 1), 1).starts_with("pictures of 2×0 pixels with 1 channels"));
        assert!(message(ramp(2, 2, 2, 1), 1).contains("2 channels"));
        assert_eq!(message(ramp(2, 2, 3, 4), 5), "bytes of 5 pictures of 2×2×3: expected 60, found 48");
        assert_eq!(ramp(2, 2, 4, 5).check(5), Ok(()));
    }
}
