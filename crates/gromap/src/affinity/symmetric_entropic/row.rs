//! One row of the dual by itself: its own temperature and multiplier move, those of the others are held.
//!
//! With a_j = μ_i + μ_j − 2c_ij and t_j = ε_i + ε_j, moving the row by (u, v) gives P_j = exp((a_j + v)/(t_j + u)) and adds
//! F(u, v) = Σ_j (t_j + u)·P_j − (log ξ + 1)·u − v to twice the row's share of f.
//!
//! Why *half* of the way there is safe for all rows at once: (t, a) ↦ t·exp(a/t) is convex, so what a pair adds after
//! both of its ends have moved by half is at most the mean of what it would add if either end alone had moved by the
//! whole. Summed over pairs, f falls by at least half of what the F_i fall together. A damped step along a direction has no such bound
//! where temperatures differ by orders of magnitude: what is a short step for warm pairs takes cold ones beyond any number.

use std::ops::Range;

use super::dual::{Dual, Pair};
use crate::numeric::exponential::exp;
use crate::numeric::vector::{LANES, vectorized};

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

/// Rows whose sum is this close to one, as a logarithm, are moved by one Newton step.
const NEAR_ONE: f64 = 1.0;
/// How far the logarithm of a sum may be from zero after others are balanced: only half of the way is gone.
const BALANCED: f64 = 0.05;
/// An exponent whose exponential is zero: it fills the last group.
const NO_MASS: f64 = -1e300;
/// A sum of exponentials between these has lost nothing, and is not cut short.
const SAFE_SUMS: Range<f64> = 1e-200..1e200;

/// The entries of a row, in groups that become vectors.
#[derive(Default)]
pub(super) struct Row {
    /// a_j
    exponents: Vec<[f64; LANES]>,
    /// t_j
    temperatures: Vec<[f64; LANES]>,
}

impl Row {
    /// Collects the entries of row i. Room behind the last one is filled with entries of no mass.
    pub(super) fn gather(&mut self, dual: &Dual<'_>, at: &[Pair], i: usize) {
        let entries = dual.entries(at, i);
        let length = entries.len();
        self.exponents.resize(length.div_ceil(LANES), [NO_MASS; LANES]);
        self.temperatures.resize(length.div_ceil(LANES), [1.0; LANES]);
        let exponents = self.exponents.as_flattened_mut();
        let temperatures = self.temperatures.as_flattened_mut();
        for ((entry, exponent), temperature) in entries.zip(exponents.iter_mut()).zip(temperatures.iter_mut()) {
            [*exponent, *temperature] = entry;
        }
        exponents[length..].fill(NO_MASS);
        // As warm as another, so that it is neither the coldest nor below zero when the row gets colder.
        let warm = temperatures.first().copied().unwrap_or(1.0);
        temperatures[length..].fill(warm);
    }

    /// t_j of the coldest pair.
    fn coldest(&self) -> f64 {
        self.temperatures.as_flattened().iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// log Σ P_j, and its derivative in v: the mean of 1/(t_j + u) under P. Safe however far the sum is from one.
    fn log_sum(&self, u: f64, v: f64) -> Pair {
        let [sum, inverse] = self.masses(u, v);
        if SAFE_SUMS.contains(&sum) {
            return [sum.ln(), inverse / sum];
        }
        let [largest, sum, inverse, ..] = self.moments(u, v);
        [largest + sum.ln(), inverse / sum]
    }

    /// Σ P_j and Σ P_j/(t_j + u).
    fn masses(&self, u: f64, v: f64) -> Pair {
        vectorized(
            #[inline(always)]
            || {
                let mut sums = [[0.0; LANES]; 2];
                for (&exponents, &temperatures) in self.exponents.iter().zip(&self.temperatures) {
                    for lane in 0..LANES {
                        let inverse = 1.0 / (temperatures[lane] + u);
                        let mass = exp((exponents[lane] + v) * inverse);
                        sums[0][lane] += mass;
                        sums[1][lane] += mass * inverse;
                    }
                }
                sums.map(|lanes| lanes.iter().sum())
            },
        )
    }

    /// The largest logarithm ℓ, then with p = exp(ℓ_j − largest): Σp, Σp/t, Σpℓ, Σpℓ/t, Σpℓ²/t.
    fn moments(&self, u: f64, v: f64) -> [f64; 6] {
        vectorized(
            #[inline(always)]
            || {
                let groups = || self.exponents.iter().copied().zip(self.temperatures.iter().copied());
                let mut largest = [f64::NEG_INFINITY; LANES];
                for (exponents, temperatures) in groups() {
                    for lane in 0..LANES {
                        let logarithm = (exponents[lane] + v) / (temperatures[lane] + u);
                        largest[lane] = if logarithm > largest[lane] { logarithm } else { largest[lane] };
                    }
                }
                let largest = largest.into_iter().fold(f64::NEG_INFINITY, f64::max);
                let mut sums = [[0.0; LANES]; 5];
                for (exponents, temperatures) in groups() {
                    for lane in 0..LANES {
                        let inverse = 1.0 / (temperatures[lane] + u);
                        let logarithm = (exponents[lane] + v) * inverse;
                        let mass = exp(logarithm - largest);
                        // A mass of nothing may meet a logarithm beyond any number.
                        let weighted = if mass > 0.0 { mass * logarithm } else { 0.0 };
                        sums[0][lane] += mass;
                        sums[1][lane] += mass * inverse;
                        sums[2][lane] += weighted;
                        sums[3][lane] += weighted * inverse;
                        sums[4][lane] += if mass > 0.0 { weighted * logarithm * inverse } else { 0.0 };
                    }
                }
                let [mass, inverse, log, log_inverse, square] = sums.map(|lanes| lanes.iter().sum());
                [largest, mass, inverse, log, log_inverse, square]
            },
        )
    }

    /// log Σ P_j, and a v between zero and where the row sums to one, or a little beyond, at which F is lower.
    ///
    /// One Newton step will do: there are more rounds to come, and a look at the row is what costs. From above it never
    /// passes the zero. From below, with m = −log Σ P_j and x = v/t for the coldest t, dF/dv = Σ P_j − 1 is at most
    /// exp(v/t − m) − 1 on the way, so that F falls if (eˣ − 1)/x ≤ eᵐ. As the left side is e^(x/2)·sinh(x/2)/(x/2), which
    /// is at most e^(x/2 + x²/24), that x/2 + x²/24 ≤ m is enough. Temperatures within a factor of two are; rows of which
    /// one is far colder, and rows far from one, are solved.
    pub(super) fn balancing(&self) -> Pair {
        let [log_sum, slope] = self.log_sum(0.0, 0.0);
        let v = -log_sum / slope;
        let falls = || {
            let x = v / self.coldest();
            x * (0.5 + x / 24.0) <= -log_sum
        };
        match log_sum.abs() <= NEAR_ONE && (log_sum >= 0.0 || falls()) {
            true => [log_sum, v],
            false => self.balanced(0.0, 0.0, BALANCED),
        }
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
        [first, if first < 0.0 { start - first * (self.coldest() + u) } else { v }]
    }

    /// The (u, v) at which the row has the sum one and the least entropy, or the sum one and the temperature from which
    /// half of the way goes to its floor. Nothing if it would not lower F.
    pub(super) fn solved(&self, own: f64, floor: f64, least_entropy: f64) -> Pair {
        let lowest = (2.0 * (floor - own)).max((LEAST_SHARE - 1.0) * own);
        let balanced = |u: f64, v: f64| self.balanced(u, v, SUM_TOLERANCE)[1];
        let (mut u, mut v) = (0.0, balanced(0.0, 0.0));
        for _ in 0..MAX_STEPS {
            let [_, mass, inverse, log, log_inverse, square] = self.moments(u, v);
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
        let entries = self.exponents.as_flattened().iter().zip(self.temperatures.as_flattened());
        entries.map(|(exponent, temperature)| (temperature + u) * exp((exponent + v) / (temperature + u))).sum()
    }
}
