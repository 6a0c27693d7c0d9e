//! The weights h of the samples: what a sample counts for, and so what a row of a plan sums to.

use std::sync::Arc;

use crate::error::{Error, Result};

/// How far the sum of scaled weights may be from 1.
const ROUNDING: f64 = 1e-9;

/// Weights of the samples: finite, not negative, sum 1. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleWeights(Arc<[f64]>);

impl SampleWeights {
    /// 1/N each.
    pub fn uniform(samples: usize) -> Result<Self> {
        if samples == 0 {
            return Err(Error::parameter("number of samples", 0.0, "at least 1"));
        }
        Ok(Self(vec![1.0 / samples as f64; samples].into()))
    }

    /// Checks the weights and scales them to sum 1.
    pub fn new(weights: &[f64]) -> Result<Self> {
        if let Some(index) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            return Err(Error::Weight { index, value: weights[index] });
        }
        // Scaling by the largest first keeps the sum of huge weights finite.
        let largest = weights.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            return Err(Error::NoWeight);
        }
        let sum: f64 = weights.iter().map(|w| w / largest).sum();
        Ok(Self(weights.iter().map(|w| w / largest / sum).collect()))
    }
}

impl SampleWeights {
    /// Refuses all weight on one of several samples, which leaves nothing to compare it with.
    pub(crate) fn check_several(&self) -> Result<()> {
        let mut weighed = self.iter().enumerate().filter(|(_, weight)| **weight > 0.0).map(|(index, _)| index);
        match (weighed.next(), weighed.next()) {
            (Some(only), None) if self.len() > 1 => {
                let allowed = format!("at least 2: sample_weights[{only}] is the only one that is not zero");
                Err(Error::parameter("number of samples with weight", 1.0, allowed))
            }
            _ => Ok(()),
        }
    }

    /// Weights that were scaled before, as they are: another division would change their last digits.
    pub(crate) fn restored(weights: Vec<f64>) -> Result<Self> {
        let scaled = Self::new(&weights)?;
        match (0..weights.len()).find(|&i| (weights[i] - scaled[i]).abs() > ROUNDING) {
            None => Ok(Self(weights.into())),
            Some(index) => Err(Error::Weight { index, value: weights[index] }),
        }
    }
}

impl std::ops::Deref for SampleWeights {
    type Target = [f64];
    #[inline]
    fn deref(&self) -> &[f64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_weights_are_refused() {
        assert_eq!(SampleWeights::new(&[1.0, -2.0]), Err(Error::Weight { index: 1, value: -2.0 }));
        assert!(matches!(SampleWeights::new(&[f64::NAN]), Err(Error::Weight { index: 0, .. })));
        assert_eq!(SampleWeights::new(&[0.0, 0.0]), Err(Error::NoWeight));
        assert_eq!(SampleWeights::new(&[]), Err(Error::NoWeight));
        assert!(SampleWeights::uniform(0).is_err());
        assert_eq!(&*SampleWeights::new(&[1e308, 1e308]).unwrap(), &[0.5, 0.5]);
    }
}
