//! The temperature at which a row of costs has a given perplexity.
//!
//! p_j ∝ exp(−c_j/ε) has the Shannon entropy H = log Z + ⟨c⟩/ε, which grows with ε from the
//! logarithm of the number of cheapest entries to the logarithm of their whole number, and
//! dH/d(log ε) = Var(c)/ε². Newton's method on log ε inside a bracket finds H = log ξ.

use crate::error::{Error, Result};
use crate::numeric::exponential::exp;
use crate::numeric::vector::{LANES, vectorized};

/// How far an entropy may be from its goal.
const ENTROPY_TOLERANCE: f64 = 1e-11;
/// Steps of Newton's method or bisection; doubles have no room for more.
const MAX_STEPS: usize = 200;
/// The longest step in log ε.
const LONGEST_STEP: f64 = 3.0;

/// A row p_j = exp((μ − c_j)/ε) of sum 1. At ε = 0 it is uniform on its cheapest entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Calibrated {
    /// Temperature ε; 0 where even the cheapest entries alone are too many.
    pub(crate) epsilon: f64,
    /// −ε·log Σ exp(−c/ε).
    pub(crate) mu: f64,
}

impl Calibrated {
    /// The probability of an entry, up to rounding of the sum.
    #[inline(always)]
    pub(crate) fn weight(self, cost: f64) -> f64 {
        match self.epsilon > 0.0 {
            true => exp((self.mu - cost) / self.epsilon),
            false => f64::from(u8::from(cost <= self.mu)),
        }
    }
}

/// Finds the temperature of row `sample`. `scratch` is overwritten.
pub(crate) fn calibrate(costs: &[f32], perplexity: f64, sample: usize, scratch: &mut Vec<f64>) -> Result<Calibrated> {
    if costs.len() as f64 <= perplexity {
        let allowed = format!("less than {}, the number of neighbours of sample {sample}", costs.len());
        return Err(Error::parameter("perplexity", perplexity, allowed));
    }
    let least = costs.iter().copied().fold(f32::INFINITY, f32::min);
    scratch.clear();
    scratch.extend(costs.iter().map(|&c| f64::from(c) - f64::from(least)));
    let least = f64::from(least);
    let cheapest = scratch.iter().filter(|&&c| c == 0.0).count();
    if cheapest as f64 >= perplexity {
        return Ok(Calibrated { epsilon: 0.0, mu: least });
    }
    crate::interrupt::look();
    let mean = scratch.iter().sum::<f64>() / scratch.len() as f64;
    let (start, goal) = (mean.ln(), perplexity.ln());
    scratch.resize(scratch.len().next_multiple_of(LANES), f64::INFINITY);
    let (groups, _) = scratch.as_chunks();
    let (epsilon, total) = vectorized(
        #[inline(always)]
        || temperature(groups, start, goal),
    );
    Ok(Calibrated { epsilon, mu: least - epsilon * total.ln() })
}

/// ε and Σ exp(−c/ε), by Newton's method on log ε from `start` inside a bracket.
#[inline(always)]
fn temperature(costs: &[[f64; LANES]], start: f64, goal: f64) -> (f64, f64) {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut at = start;
    for _ in 0..MAX_STEPS {
        let epsilon = at.exp();
        let sums = Sums::new(costs, epsilon);
        let (entropy, derivative) = sums.entropy_and_derivative(epsilon);
        let short = goal - entropy;
        if short.abs() <= ENTROPY_TOLERANCE {
            return (epsilon, sums.total);
        }
        if short > 0.0 {
            low = at;
        } else {
            high = at;
        }
        let newton = at + (short / derivative).clamp(-LONGEST_STEP, LONGEST_STEP);
        // NaN when the row has collapsed to its cheapest entries and the derivative is lost.
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        at = if next.is_finite() { next } else { at + LONGEST_STEP * short.signum() };
        if at <= low || at >= high {
            break;
        }
    }
    let epsilon = at.exp();
    (epsilon, Sums::new(costs, epsilon).total)
}

/// Moments of the costs under the unnormalised weights exp(−c/ε).
struct Sums {
    total: f64,
    first: f64,
    second: f64,
}

impl Sums {
    /// In interleaved sums, which the compiler turns into vectors: of groups that are copied, for of borrowed ones it
    /// does not.
    #[inline(always)]
    fn new(costs: &[[f64; LANES]], epsilon: f64) -> Self {
        let beta = 1.0 / epsilon;
        let mut sums = [[0.0; LANES]; 3];
        for &group in costs {
            for lane in 0..LANES {
                // An infinite cost weighs nothing, but 0·∞ is not 0.
                let cost = group[lane].min(f64::MAX.sqrt());
                let weight = exp(-cost * beta);
                sums[0][lane] += weight;
                sums[1][lane] += weight * cost;
                sums[2][lane] += weight * cost * cost;
            }
        }
        let [total, first, second] = sums.map(|lanes| lanes.iter().sum());
        Self { total, first, second }
    }

    #[inline(always)]
    fn entropy_and_derivative(&self, epsilon: f64) -> (f64, f64) {
        let mean = self.first / self.total;
        let variance = (self.second / self.total - mean * mean).max(0.0);
        (self.total.ln() + mean / epsilon, variance / (epsilon * epsilon))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(costs: &[f32], perplexity: f64) -> Vec<f64> {
        let calibrated = calibrate(costs, perplexity, 0, &mut Vec::new()).expect("a temperature");
        let weights: Vec<f64> = costs.iter().map(|&c| calibrated.weight(f64::from(c))).collect();
        let total: f64 = weights.iter().sum();
        if calibrated.epsilon > 0.0 {
            assert!((total - 1.0).abs() < 1e-6, "sum {total}");
        }
        weights.iter().map(|w| w / total).collect()
    }

    fn entropy(p: &[f64]) -> f64 {
        -p.iter().filter(|&&p| p > 0.0).map(|p| p * p.ln()).sum::<f64>()
    }

    proptest! {
        #[test]
        fn rows_reach_their_perplexity(
            costs in prop::collection::vec(0.0f32..1.0, 20..60),
            perplexity in 1.5..19.0f64,
            power in 1i32..12,
            log_scale in -15i32..15,
            shift in 0.0f32..1e3,
        ) {
            let scale = 10f32.powi(log_scale);
            let costs: Vec<f32> = costs.iter().map(|c| shift + scale * c.powi(power)).collect();
            let ties = costs.iter().filter(|&&c| c == costs.iter().copied().fold(f32::INFINITY, f32::min)).count();
            let found = entropy(&row(&costs, perplexity));
            if (ties as f64) < perplexity {
                prop_assert!((found - perplexity.ln()).abs() < 1e-8, "{found} {}", perplexity.ln());
            } else {
                prop_assert!((found - (ties as f64).ln()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn more_duplicates_than_the_perplexity_share_evenly() {
        assert_eq!(row(&[0.0, 0.0, 0.0, 1.0, 2.0], 2.0), [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0, 0.0]);
        assert_eq!(row(&[7.0; 4], 2.0), [0.25; 4]);
    }

    #[test]
    fn a_far_row_is_as_good_as_a_near_one() {
        let near = row(&[0.0, 1.0, 2.0, 3.0, 4.0], 2.5);
        let far = row(&[1e6, 1e6 + 1.0, 1e6 + 2.0, 1e6 + 3.0, 1e6 + 4.0], 2.5);
        assert!(near.iter().zip(&far).all(|(a, b)| (a - b).abs() < 1e-8));
    }

    #[test]
    fn a_perplexity_beyond_the_row_is_refused() {
        let found = calibrate(&[1.0, 2.0, 3.0], 3.0, 17, &mut Vec::new());
        let message = found.expect_err("too large").to_string();
        assert!(message.contains("perplexity is 3") && message.contains("sample 17"), "{message}");
    }
}
