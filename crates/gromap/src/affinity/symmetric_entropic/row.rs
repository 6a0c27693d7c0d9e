//! One row of the dual by itself: its own temperature and multiplier move, those of the others are held.
//!
//! With a_j = μ_i + μ_j − 2c_ij and t_j = ε_i + ε_j, moving the row by (u, v) gives P_j = exp((a_j + v)/(t_j + u)) and adds
//! F(u, v) = Σ_j (t_j + u)·P_j − (log ξ + 1)·u − v to twice the row's share of f.
//!
//! Why *half* of the way there is safe for all rows at once: (t, a) ↦ t·exp(a/t) is convex, so what a pair adds after
//! both of its ends have moved by half is at most the mean of what it would add if either end alone had moved by the
//! whole. Summed over pairs, f falls by at least half of what the F_i fall together. A damped step along a direction has no such bound
//! where temperatures differ by orders of magnitude: what is a short step for warm pairs takes cold ones beyond any number.

use super::dual::{Dual, Pair};
use crate::numeric::exponential::exp;

/// Newton steps for one number of one row, at most.
const MAX_STEPS: usize = 30;
/// How far an entropy may be from its goal: there are more rounds to come.
const ENTROPY_TOLERANCE: f64 = 1e-4;
/// How far the logarithm of a sum may be from zero.
const SUM_TOLERANCE: f64 = 1e-6;
/// The largest change of log ε in one step.
const LONGEST_STEP: f64 = 2.0;
/// The share of its own temperature that a row keeps at least.
const LEAST_SHARE: f64 = 1e-3;

const LANES: usize = 8;

/// The entries of a row.
#[derive(Default)]
pub(super) struct Row {
    /// a_j
    exponents: Vec<f64>,
    /// t_j
    temperatures: Vec<f64>,
}

impl Row {
    /// Collects the entries of row i.
    pub(super) fn gather(&mut self, dual: &Dual<'_>, at: &[Pair], i: usize) {
        self.exponents.clear();
        self.temperatures.clear();
        for [exponent, temperature] in dual.entries(at, i) {
            self.exponents.push(exponent);
            self.temperatures.push(temperature);
        }
    }

    /// log Σ P_j, and its derivative in v: the mean of 1/(t_j + u) under P. Safe however far the sum is from one.
    fn log_sum(&self, u: f64, v: f64) -> Pair {
        let [largest, sum, inverse, ..] = pulp::Arch::new().dispatch(|| self.moments(u, v));
        [largest + sum.ln(), inverse / sum]
    }

    /// The largest logarithm ℓ, then with p = exp(ℓ_j − largest): Σp, Σp/t, Σpℓ, Σpℓ/t, Σpℓ²/t.
    #[inline(always)]
    fn moments(&self, u: f64, v: f64) -> [f64; 6] {
        let mut largest = f64::NEG_INFINITY;
        for (exponent, temperature) in self.exponents.iter().zip(&self.temperatures) {
            let logarithm = (exponent + v) / (temperature + u);
            largest = if logarithm > largest { logarithm } else { largest };
        }
        let mut sums = [[0.0; LANES]; 5];
        let mut add = |lane: usize, exponent: f64, temperature: f64| {
            let inverse = 1.0 / (temperature + u);
            let logarithm = (exponent + v) * inverse;
            let mass = exp(logarithm - largest);
            // A mass of nothing may meet a logarithm beyond any number.
            let weighted = if mass > 0.0 { mass * logarithm } else { 0.0 };
            sums[0][lane] += mass;
            sums[1][lane] += mass * inverse;
            sums[2][lane] += weighted;
            sums[3][lane] += weighted * inverse;
            sums[4][lane] += if mass > 0.0 { weighted * logarithm * inverse } else { 0.0 };
        };
        let (exponents, exponent_rest) = self.exponents.as_chunks::<LANES>();
        let (temperatures, temperature_rest) = self.temperatures.as_chunks::<LANES>();
        for (exponents, temperatures) in exponents.iter().zip(temperatures) {
            for lane in 0..LANES {
                add(lane, exponents[lane], temperatures[lane]);
            }
        }
        for (exponent, temperature) in exponent_rest.iter().zip(temperature_rest) {
            add(0, *exponent, *temperature);
        }
        let [mass, inverse, log, log_inverse, square] = sums.map(|lanes| lanes.iter().sum());
        [largest, mass, inverse, log, log_inverse, square]
    }

    /// log Σ P_j at the start, and the v near it at which the row sums to one, its logarithm being within the tolerance.
    ///
    /// log Σ P_j is convex and rises in v, so that Newton's method comes down to its zero from any point above, without
    /// ever passing it. From below, the first step goes above.
    pub(super) fn balanced(&self, u: f64, start: f64, tolerance: f64) -> Pair {
        let [first, mut slope] = self.log_sum(u, start);
        let (mut v, mut log_sum) = (start, first);
        for _ in 0..MAX_STEPS {
            let next = v - log_sum / slope;
            if log_sum.abs() <= tolerance || !next.is_finite() || next == v {
                return [first, v];
            }
            v = next;
            [log_sum, slope] = self.log_sum(u, v);
        }
        // Still above: the coldest pair bounds the slope, so that this stays below.
        let coldest = self.temperatures.iter().copied().fold(f64::INFINITY, f64::min) + u;
        [first, if first < 0.0 { start - first * coldest } else { v }]
    }

    /// The (u, v) at which the row has the sum one and the least entropy, or the sum one and the temperature from which
    /// half of the way goes to its floor. Nothing if it would not lower F.
    pub(super) fn solved(&self, own: f64, floor: f64, least_entropy: f64) -> Pair {
        let lowest = (2.0 * (floor - own)).max((LEAST_SHARE - 1.0) * own);
        let balanced = |u: f64, v: f64| self.balanced(u, v, SUM_TOLERANCE)[1];
        let (mut u, mut v) = (0.0, balanced(0.0, 0.0));
        for _ in 0..MAX_STEPS {
            let [_, mass, inverse, log, log_inverse, square] = pulp::Arch::new().dispatch(|| self.moments(u, v));
            let excess = 1.0 - log / mass - least_entropy;
            if excess.abs() <= ENTROPY_TOLERANCE || (u <= lowest && excess > 0.0) {
                break;
            }
            // Along sums of one: the entropy rises with u by the variance of ℓ, as weighted by P/t.
            let slope = (square - log_inverse * log_inverse / inverse) / mass;
            let change = (-excess / (slope * (own + u))).clamp(-LONGEST_STEP, LONGEST_STEP);
            let ratio = if change < 0.0 { change.exp() } else { 1.0 + change };
            let next = ((own + u) * ratio - own).max(lowest);
            if !next.is_finite() || next == u {
                break;
            }
            u = next;
            v = balanced(u, v);
        }
        let value = |u: f64, v: f64| self.value(u, v) - least_entropy * u - v;
        if value(u, v) <= value(0.0, 0.0) { [u, v] } else { [0.0, balanced(0.0, 0.0)] }
    }

    /// Σ (t_j + u)·P_j
    fn value(&self, u: f64, v: f64) -> f64 {
        let entries = self.exponents.iter().zip(&self.temperatures);
        entries.map(|(exponent, temperature)| (temperature + u) * exp((exponent + v) / (temperature + u))).sum()
    }
}
