//! The features that colours and the table of groups show: for each prototype the mean of its members, the most telling first.
//!
//! A feature tells about the prototypes as far as its spread lies between them: the variance of the prototypes' means over
//! the variance of the samples,
//!
//! ```text
//! η²_j = Σ_k w_k (m_kj − m̄_j)² / Var(x_j)
//! ```
//!
//! which has no unit, so that features of different scales compare. Without the samples there is no variance to divide by,
//! and features stay in the order of the data. Pixels are left out: pictures show them.

use gromap::{Matrix, Model};

use crate::report::Report;

/// Means that a page holds at most, all levels together.
const MOST_MEANS: usize = 400_000;
/// Features that a page holds at least, where there are as many.
const LEAST_FEATURES: usize = 24;
/// More than these are no choice.
const MOST_FEATURES: usize = 600;

/// Which features a page holds.
pub(crate) struct Telling {
    /// Their columns, the most telling first.
    pub(crate) columns: Vec<u32>,
    /// The share of the variance of each that lies between prototypes of the last level.
    pub(crate) explained: Option<Vec<f32>>,
}

impl Telling {
    /// Chosen by the last level; `None` where a level has no means, or pictures show them.
    pub(crate) fn new(report: &Report<'_>, models: &[&Model]) -> Option<Self> {
        if report.images.is_some() || models.iter().any(|model| model.features.is_none()) {
            return None;
        }
        let last = models.last()?;
        let features = last.features.as_ref()?;
        let prototypes: usize = models.iter().map(|model| model.weights.len()).sum();
        let most = (MOST_MEANS / prototypes.max(1)).clamp(LEAST_FEATURES, MOST_FEATURES);
        let explained = report.samples.as_ref().map(|samples| explained(features, &last.weights, samples));
        let mut columns: Vec<u32> = (0..features.columns() as u32).collect();
        if let Some(share) = &explained {
            columns.sort_by(|&a, &b| share[b as usize].total_cmp(&share[a as usize]).then(a.cmp(&b)));
        }
        columns.truncate(most);
        let explained = explained.map(|share| columns.iter().map(|&column| share[column as usize] as f32).collect());
        Some(Self { columns, explained })
    }

    /// The means of these features, prototype by prototype.
    pub(crate) fn means(&self, model: &Model) -> Vec<f32> {
        let Some(features) = &model.features else { return Vec::new() };
        let row = |k: usize| self.columns.iter().map(move |&column| features.row(k)[column as usize] as f32);
        (0..features.rows()).flat_map(row).collect()
    }
}

/// η² of every feature, 0 where nothing varies.
fn explained(features: &Matrix<'_>, weights: &[f64], samples: &Matrix<'_, f32>) -> Vec<f64> {
    let p = features.columns();
    let (mut mean, mut between) = (vec![0.0; p], vec![0.0; p]);
    for (k, weight) in weights.iter().enumerate() {
        mean.iter_mut().zip(features.row(k)).for_each(|(mean, x)| *mean += weight * x);
    }
    for (k, weight) in weights.iter().enumerate() {
        let gaps = features.row(k).iter().zip(&mean).map(|(x, mean)| x - mean);
        between.iter_mut().zip(gaps).for_each(|(sum, gap)| *sum += weight * gap * gap);
    }
    let mut whole = vec![0.0; p];
    for i in 0..samples.rows() {
        let gaps = samples.row(i).iter().zip(&mean).map(|(&x, mean)| f64::from(x) - mean);
        whole.iter_mut().zip(gaps).for_each(|(sum, gap)| *sum += gap * gap);
    }
    let share = |j: usize| {
        let whole = whole[j] / samples.rows() as f64;
        // Rounding is no spread.
        if whole > 1e-12 * mean[j] * mean[j] { (between[j] / whole).min(1.0) } else { 0.0 }
    };
    (0..p).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_tells_as_much_as_lies_between_prototypes() {
        // Two prototypes of two samples: the first feature is theirs, the second is noise inside them, the third is both.
        let samples =
            Matrix::new(vec![0.0_f32, 1.0, 0.0, 0.0, -1.0, 2.0, 4.0, 1.0, 4.0, 4.0, -1.0, 6.0], 4, 3).unwrap();
        let features = Matrix::new(vec![0.0, 0.0, 1.0, 4.0, 0.0, 5.0], 2, 3).unwrap();
        let found = explained(&features, &[0.5, 0.5], &samples);
        // Between: 4 of 4; 0 of 1; 4 of 5.
        assert_eq!(found, [1.0, 0.0, 0.8]);
    }

    #[test]
    fn a_constant_tells_nothing() {
        let samples = Matrix::new(vec![0.1_f32; 6], 6, 1).unwrap();
        let features = Matrix::new(vec![f64::from(0.1_f32); 2], 2, 1).unwrap();
        assert_eq!(explained(&features, &[0.5, 0.5], &samples), [0.0]);
    }
}
