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

/// What prototypes weigh.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum PrototypeWeights {
    /// What their samples weigh, which is learnt. The default.
    #[default]
    Learned,
    /// 1/n each.
    Uniform,
    /// These shares of the whole, which sum to 1.
    Given(Vec<f64>),
}

/// What prototypes must weigh, as shares of the whole: nothing in particular, something between bounds, or exactly something.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WeightRule {
    /// What they weigh.
    pub prototype_weights: PrototypeWeights,
    /// What every prototype weighs at least, where weights are learnt.
    pub min_weight: Option<f64>,
    /// What every prototype weighs at most, where weights are learnt.
    pub max_weight: Option<f64>,
}

/// What n prototypes must receive at least and may receive at most.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Demand {
    pub(crate) low: Vec<f64>,
    pub(crate) high: Vec<f64>,
}

impl Demand {
    /// Exactly these shares.
    pub(crate) fn exactly(shares: &[f64]) -> Self {
        Self { low: shares.to_vec(), high: shares.to_vec() }
    }

    /// Whether these weights are within it.
    pub(crate) fn is_met_by(&self, weights: &[f64]) -> bool {
        let bounds = self.low.iter().zip(&self.high);
        weights.iter().zip(bounds).all(|(q, (low, high))| *q >= low - ROUNDING && *q <= high + ROUNDING)
    }
}

impl WeightRule {
    /// Whether weights are learnt without bounds.
    pub(crate) fn is_free(&self) -> bool {
        *self == Self::default()
    }

    /// What so many prototypes must weigh; `None` where they may weigh anything.
    pub(crate) fn demand(&self, prototypes: usize) -> Result<Option<Demand>> {
        let Self { prototype_weights, min_weight, max_weight } = self;
        let bounds = [("min_weight", *min_weight), ("max_weight", *max_weight)];
        if let PrototypeWeights::Learned = prototype_weights {
            return if self.is_free() { Ok(None) } else { self.bounds(prototypes).map(Some) };
        }
        if let Some((name, Some(bound))) = bounds.into_iter().find(|(_, bound)| bound.is_some()) {
            return Err(Error::parameter(name, bound, "left out where prototype_weights are not learned"));
        }
        match prototype_weights {
            PrototypeWeights::Given(shares) => check_shares(shares, prototypes).map(|()| Some(Demand::exactly(shares))),
            _ => Ok(Some(Demand::exactly(&vec![1.0 / prototypes as f64; prototypes]))),
        }
    }

    fn bounds(&self, prototypes: usize) -> Result<Demand> {
        let (low, high) = (self.min_weight.unwrap_or(0.0), self.max_weight.unwrap_or(1.0));
        let n = prototypes as f64;
        if !(0.0..=1.0).contains(&low) || n * low > 1.0 + ROUNDING {
            let allowed = format!("from 0 to 1/{prototypes}: {prototypes} prototypes share a whole of 1");
            return Err(Error::parameter("min_weight", low, allowed));
        }
        if !(0.0..=1.0).contains(&high) || n * high < 1.0 - ROUNDING {
            let allowed = format!("from 1/{prototypes} to 1: {prototypes} prototypes share a whole of 1");
            return Err(Error::parameter("max_weight", high, allowed));
        }
        if low > high {
            return Err(Error::parameter("min_weight", low, format!("at most max_weight, which is {high}")));
        }
        Ok(Demand { low: vec![low; prototypes], high: vec![high; prototypes] })
    }
}

/// How much each of several views of the same samples counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ViewWeights {
    /// All the same.
    #[default]
    Equal,
    /// By how well one plan serves each of them (`model/views.rs`).
    Learned,
    /// In these proportions.
    Given(Vec<f64>),
}

impl ViewWeights {
    /// Given proportions as shares of a whole, checked; equal shares where weights are not given.
    pub(crate) fn first(&self, views: usize) -> Result<Vec<f64>> {
        let Self::Given(given) = self else { return Ok(vec![1.0 / views as f64; views]) };
        Error::check_len("number of view_weights", views, given.len())?;
        if let Some(v) = given.iter().position(|weight| !weight.is_finite() || *weight < 0.0) {
            return Err(Error::parameter(
                "view_weights",
                given[v],
                format!("finite and not negative (view {})", v + 1),
            ));
        }
        let sum: f64 = given.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            return Err(Error::parameter("sum of view_weights", sum, "positive: one view must count"));
        }
        Ok(given.iter().map(|weight| weight / sum).collect())
    }
}

/// How far given shares may be from a sum of 1.
const SHARES: f64 = 1e-6;

fn check_shares(shares: &[f64], prototypes: usize) -> Result<()> {
    Error::check_len("number of prototype_weights", prototypes, shares.len())?;
    if let Some(k) = shares.iter().position(|share| !share.is_finite() || *share < 0.0) {
        return Err(Error::parameter("prototype_weights", shares[k], format!("finite and not negative (entry {k})")));
    }
    let sum: f64 = shares.iter().sum();
    if (sum - 1.0).abs() > SHARES {
        return Err(Error::parameter("sum of prototype_weights", sum, "1: they are shares of the whole"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_cannot_hold_are_refused() {
        let given = |shares: &[f64]| WeightRule {
            prototype_weights: PrototypeWeights::Given(shares.to_vec()),
            ..WeightRule::default()
        };
        let bounds = |min_weight, max_weight| WeightRule { min_weight, max_weight, ..WeightRule::default() };
        let message = |rule: WeightRule| rule.demand(4).unwrap_err().to_string();
        assert_eq!(WeightRule::default().demand(4), Ok(None));
        assert!(message(given(&[0.5, 0.5])).contains("number of prototype_weights: expected 4, found 2"));
        assert!(message(given(&[0.5, 0.5, 0.5, -0.5])).contains("prototype_weights is -0.5; it must be finite"));
        assert!(message(given(&[0.5, 0.5, 0.5, 0.5])).contains("sum of prototype_weights is 2; it must be 1"));
        assert!(message(bounds(Some(0.3), None)).contains("min_weight is 0.3; it must be from 0 to 1/4"));
        assert!(message(bounds(None, Some(0.2))).contains("max_weight is 0.2; it must be from 1/4 to 1"));
        assert!(message(bounds(Some(f64::NAN), None)).contains("min_weight is NaN"));
        assert!(message(bounds(Some(-0.1), None)).contains("min_weight is -0.1"));
        let both = WeightRule { max_weight: Some(0.5), ..given(&[0.25; 4]) };
        assert!(message(both).contains("max_weight is 0.5; it must be left out"));
        let uniform = WeightRule { prototype_weights: PrototypeWeights::Uniform, ..WeightRule::default() };
        assert_eq!(uniform.demand(4), Ok(Some(Demand::exactly(&[0.25; 4]))));
        let demand = bounds(Some(0.25), Some(0.25)).demand(4).unwrap().unwrap();
        assert!(demand.is_met_by(&[0.25; 4]) && !demand.is_met_by(&[0.26, 0.24, 0.25, 0.25]));
    }

    #[test]
    fn weights_of_views_are_proportions() {
        let given = |weights: &[f64]| ViewWeights::Given(weights.to_vec()).first(2);
        let message = |weights: &[f64]| given(weights).unwrap_err().to_string();
        assert_eq!(given(&[1.0, 3.0]), Ok(vec![0.25, 0.75]));
        assert_eq!(ViewWeights::Learned.first(4), Ok(vec![0.25; 4]));
        assert!(message(&[1.0]).contains("number of view_weights: expected 2, found 1"));
        assert!(message(&[1.0, -1.0]).contains("view_weights is -1; it must be finite and not negative (view 2)"));
        assert!(message(&[f64::NAN, 1.0]).contains("(view 1)"));
        assert!(message(&[0.0, 0.0]).contains("sum of view_weights is 0"));
    }

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
