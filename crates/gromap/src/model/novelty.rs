//! Samples unlike any seen: how far a new sample is from the mean sample of its prototype, against the training samples.
//!
//! ```text
//! d_i = ‖x_i − f_k‖ for its prototype k,      s_k² = (Σ_{j∈k} d_j² + s²) / (|k| + 1),      outlier: d_i / s_k > max_j d_j / s_k(j)
//! ```
//!
//! with scaled features, the maximum over the training samples, and s² the mean of all d²: a prototype of few samples does not
//! know its spread and borrows from the others. A new sample of the same kind is farther than all N seen with a chance of about
//! 1/N. The n spreads and the limit are in the model file.

use super::Model;
use super::preparation::Preparation;
use crate::data::{Data, Samples};
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::plan::Plan;

/// How far the training samples are from their prototypes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reach {
    /// s_k of every prototype, all positive.
    pub(crate) spreads: Vec<f64>,
    /// The largest d/s of the training samples.
    pub(crate) limit: f64,
}

impl Reach {
    /// That of the samples that a model was fitted to; `None` where every sample is its own mean.
    pub(crate) fn of_training(
        preparation: &Preparation,
        samples: &Samples<'_>,
        means: &Matrix<'_>,
        plan: &Plan,
    ) -> Result<Option<Self>> {
        let labels = plan.labels();
        let distances = distances(preparation, samples, means, &labels)?;
        let all = distances.iter().map(|d| d * d).sum::<f64>() / labels.len() as f64;
        if !(all > 0.0 && all.is_finite()) {
            return Ok(None);
        }
        let mut sums = vec![(all, 1.0); plan.prototypes()];
        for (&k, d) in labels.iter().zip(&distances) {
            sums[k as usize].0 += d * d;
            sums[k as usize].1 += 1.0;
        }
        let spreads: Vec<f64> = sums.iter().map(|(sum, count)| (sum / count).sqrt()).collect();
        let limit = labels.iter().zip(&distances).map(|(&k, d)| d / spreads[k as usize]).fold(0.0, f64::max);
        Ok(Some(Self { spreads, limit }))
    }
}

/// From every sample to the mean of its prototype, features scaled.
fn distances(preparation: &Preparation, samples: &Samples<'_>, means: &Matrix<'_>, labels: &[u32]) -> Result<Vec<f64>> {
    let scaled = preparation.scaled(samples)?;
    let given = means.view().into();
    let means = preparation.scaled(&given)?;
    let width = scaled.columns();
    let (mut sample, mut mean) = (vec![0.0; width], vec![0.0; width]);
    let mut distance = |(i, &k): (usize, &u32)| {
        scaled.copy_rows(i..i + 1, &mut sample);
        means.copy_rows(k as usize..k as usize + 1, &mut mean);
        sample.iter().zip(&mean).map(|(x, f)| (x - f) * (x - f)).sum::<f64>().sqrt()
    };
    Ok(labels.iter().enumerate().map(&mut distance).collect())
}

/// Where new samples belong, and how far from there they are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Novelty {
    /// The prototype of every new sample.
    pub labels: Vec<u32>,
    /// Its distance to the mean sample of that prototype, features scaled as for the fit.
    pub distances: Vec<f64>,
    /// Whether it is farther, for its prototype, than any training sample was.
    pub is_outlier: Vec<bool>,
}

/// How the samples of a prototype became more or fewer.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Shift {
    /// Its weight in the model.
    pub before: f64,
    /// Its share of the new samples.
    pub after: f64,
    /// The standard error of the difference, as if both were counts of independent samples.
    pub error: f64,
}

/// New samples against those that a model was fitted to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// Rows of the new samples that are unlike any seen.
    pub outliers: Vec<usize>,
    /// The share of the new samples that are not.
    pub placed: f64,
    /// For every prototype, its weight before and now.
    pub shifts: Vec<Shift>,
}

impl Model {
    /// The prototypes of new samples, how far from them they are, and whether that is farther than any training sample was.
    ///
    /// ```
    /// # let samples = gromap::Matrix::from_fn(60, 2, |i, j| ((i * (j + 3)) % 17) as f64 + 40.0 * (i % 3) as f64);
    /// let model = gromap::GromovDr::builder().prototypes(6).perplexity(5.0).fit(&samples)?;
    /// assert!(!model.novelty(&samples)?.is_outlier.contains(&true));
    /// let far = gromap::Matrix::from_fn(1, 2, |_, _| 1e4);
    /// assert_eq!(model.novelty(&far)?.is_outlier, [true]);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn novelty<'d>(&self, data: impl Into<Data<'d>>) -> Result<Novelty> {
        let data = data.into();
        let labels = self.predict(data.clone())?;
        let known = (&data, &self.features, &self.reach, self.views.first());
        let (Data::Samples(samples), Some(means), Some(reach), Some(view)) = known else {
            let message = "this model does not know how far its samples were: it was fitted to pairs, to several views, to equal \
                           samples, or by an earlier version";
            return Err(Error::Unsupported(message.into()));
        };
        let distances = distances(&view.preparation, samples, means, &labels)?;
        let is_far = |(&k, d): (&u32, &f64)| d / reach.spreads[k as usize] > reach.limit * (1.0 + 1e-9);
        let is_outlier = labels.iter().zip(&distances).map(is_far).collect();
        Ok(Novelty { labels, distances, is_outlier })
    }

    /// Compares new samples with those it was fitted to: which are unlike any, and how the weights of the prototypes shift.
    pub fn compare<'d>(&self, data: impl Into<Data<'d>>) -> Result<Comparison> {
        let found = self.novelty(data)?;
        let (old, new) = (self.plan.len() as f64, found.labels.len() as f64);
        let mut counts = vec![0.0; self.weights.len()];
        found.labels.iter().for_each(|&k| counts[k as usize] += 1.0);
        let shift = |(&before, count): (&f64, &f64)| {
            let after = count / new;
            let error = (before * (1.0 - before) / old + after * (1.0 - after) / new).max(0.0).sqrt();
            Shift { before, after, error }
        };
        let shifts = self.weights.iter().zip(&counts).map(shift).collect();
        let outliers: Vec<usize> = (0..found.labels.len()).filter(|&i| found.is_outlier[i]).collect();
        Ok(Comparison { placed: 1.0 - outliers.len() as f64 / new, outliers, shifts })
    }
}
