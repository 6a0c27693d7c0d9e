//! The three losses of the paper, in the split form that the whole crate rests on:
//!
//! ```text
//! L(a, b) = f1(a) + f2(b) − a·g(b)
//! ```
//!
//! | loss | f1(a) | f2(b) | g(b) |
//! |---|---|---|---|
//! | square | a² | b² | 2b |
//! | KL | a·log a − a | b | log b |
//! | binary cross-entropy | a·log a + (1−a)·log(1−a) | −log(1−b) | log(b/(1−b)) |
//!
//! with 0·log 0 = 0. Nothing is added inside a logarithm: an entry outside the domain is an error at
//! the door, and a zero in a learnt target counts as the smallest positive number.

use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::logarithm::{ln, x_log_x};
use crate::similarity::Bounds;

/// How a pair of similarities is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loss {
    /// (a − b)²
    Square,
    /// a·log(a/b) − a + b, for similarities that are not negative
    Kl,
    /// a·log(a/b) + (1−a)·log((1−a)/(1−b)), for similarities in \[0, 1\]
    BinaryCrossEntropy,
}

/// −log of the smallest positive double, which stands for 0 in a learnt target (and for 1 − b at
/// b = 1): a barrier that no mass pays for, and that the rounding of a sum does not trip.
const BARRIER: f64 = 744.440_071_921_381_2;

impl Loss {
    /// f1: the part that depends on the input similarity alone.
    #[inline(always)]
    pub fn f1(self, a: f64) -> f64 {
        match self {
            Self::Square => a * a,
            Self::Kl => x_log_x(a) - a,
            Self::BinaryCrossEntropy => x_log_x(a) + x_log_x(1.0 - a),
        }
    }

    /// f2: the part that depends on the target alone.
    #[inline]
    pub fn f2(self, b: f64) -> f64 {
        match self {
            Self::Square => b * b,
            Self::Kl => b,
            Self::BinaryCrossEntropy => (-(-b).ln_1p()).min(BARRIER),
        }
    }

    /// g: what multiplies the input similarity.
    #[inline]
    pub fn g(self, b: f64) -> f64 {
        match self {
            Self::Square => 2.0 * b,
            Self::Kl => b.ln().max(-BARRIER),
            Self::BinaryCrossEntropy => (b.ln() - (-b).ln_1p()).clamp(-BARRIER, BARRIER),
        }
    }

    /// The derivatives of f2 and g.
    #[inline]
    pub(crate) fn derivatives(self, b: f64) -> (f64, f64) {
        match self {
            Self::Square => (2.0 * b, 2.0),
            Self::Kl => (1.0, 1.0 / b),
            Self::BinaryCrossEntropy => (1.0 / (1.0 - b), 1.0 / (b * (1.0 - b))),
        }
    }

    /// The least value of `pairs·f2(b) − mass·g(b)` over b, which is reached at b = mass/pairs.
    ///
    /// Summed over all pairs of prototypes this is the loss of the free target, up to f1.
    #[inline]
    pub fn at_best_target(self, mass: f64, pairs: f64) -> f64 {
        if pairs <= 0.0 {
            return 0.0;
        }
        match self {
            Self::Square => -mass * mass / pairs,
            Self::Kl if mass >= f64::MIN_POSITIVE && pairs >= f64::MIN_POSITIVE => mass * (1.0 - ln(mass) + ln(pairs)),
            Self::Kl => 0.0,
            Self::BinaryCrossEntropy => {
                let b = (mass / pairs).clamp(0.0, 1.0);
                -pairs * (x_log_x(b) + x_log_x(1.0 - b))
            }
        }
    }

    /// The sum of it over all pairs of prototypes.
    pub(crate) fn sum_at_best_target(self, mass: &Matrix<'_>, pairs: &Matrix<'_>) -> f64 {
        mass.values().iter().zip(pairs.values()).map(|(&m, &p)| self.at_best_target(m, p)).sum()
    }

    /// Refuses a similarity whose entries lie outside the domain of f1.
    pub(crate) fn check_similarity(self, bounds: &Bounds) -> Result<()> {
        let (low, high, domain) = match self {
            Self::Square => return Ok(()),
            Self::Kl => (0.0, f64::INFINITY, "without negative entries"),
            Self::BinaryCrossEntropy => (0.0, 1.0, "with entries in [0, 1]"),
        };
        let outside = [&bounds.low, &bounds.high].into_iter().find(|e| e.value < low || e.value > high);
        match outside {
            None => Ok(()),
            Some(extreme) => Err(match extreme.at {
                Some((row, column)) => {
                    Error::Domain { loss: self, what: "similarity", domain, row, column, value: extreme.value }
                }
                None => Error::UnknownDomain { loss: self, domain, low: bounds.low.value, high: bounds.high.value },
            }),
        }
    }

    /// Refuses a target on which the loss could be infinite.
    pub(crate) fn check_target(self, target: &Matrix<'_>) -> Result<()> {
        target.check_finite("target")?;
        let (low, high, domain) = match self {
            Self::Square => return Ok(()),
            Self::Kl => (0.0, f64::INFINITY, "with positive entries"),
            Self::BinaryCrossEntropy => (0.0, 1.0, "with entries strictly between 0 and 1"),
        };
        match target.values().iter().position(|&b| b <= low || b >= high) {
            None => Ok(()),
            Some(at) => Err(Error::Domain {
                loss: self,
                what: "target",
                domain,
                row: at / target.columns(),
                column: at % target.columns(),
                value: target.values()[at],
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSES: [Loss; 3] = [Loss::Square, Loss::Kl, Loss::BinaryCrossEntropy];

    fn textbook(loss: Loss, a: f64, b: f64) -> f64 {
        match loss {
            Loss::Square => (a - b).powi(2),
            Loss::Kl => a * (a / b).ln() - a + b,
            Loss::BinaryCrossEntropy => a * (a / b).ln() + (1.0 - a) * ((1.0 - a) / (1.0 - b)).ln(),
        }
    }

    #[test]
    fn the_split_form_is_the_textbook_loss() {
        for loss in LOSSES {
            for (a, b) in [(0.2, 0.7), (0.9, 0.1), (0.5, 0.5), (0.01, 0.99)] {
                let split = loss.f1(a) + loss.f2(b) - a * loss.g(b);
                assert!((split - textbook(loss, a, b)).abs() < 1e-14, "{loss} {a} {b}");
            }
        }
    }

    #[test]
    fn no_target_beats_the_best_one() {
        for loss in LOSSES {
            let (mass, pairs) = (0.3, 0.8);
            let at = |b: f64| pairs * loss.f2(b) - mass * loss.g(b);
            let best = loss.at_best_target(mass, pairs);
            assert!((best - at(mass / pairs)).abs() < 1e-15);
            for step in 1..1000 {
                assert!(at(f64::from(step) / 1000.0) >= best - 1e-15, "{loss}");
            }
        }
    }

    #[test]
    fn zero_similarity_costs_nothing_in_f1() {
        for loss in LOSSES {
            assert_eq!(loss.f1(0.0), 0.0);
            assert_eq!(loss.at_best_target(0.0, 0.5).abs(), 0.0);
        }
        assert_eq!(Loss::BinaryCrossEntropy.f1(1.0), 0.0);
    }

    #[test]
    fn a_zero_in_the_target_is_a_barrier_not_a_nan() {
        assert_eq!(Loss::Kl.g(0.0), f64::from_bits(1).ln());
        assert_eq!(0.0 * Loss::Kl.g(0.0), 0.0);
        let bce = Loss::BinaryCrossEntropy;
        assert_eq!(bce.g(0.0), -bce.g(1.0));
        assert_eq!(bce.f1(1.0) + bce.f2(1.0) - bce.g(1.0), 0.0);
    }
}
