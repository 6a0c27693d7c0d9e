//! The raw kernel of a neighbour embedding: how similar two prototypes are, as a function of their distance.
//!
//! | profile | w(d²) | log w | ∂ log w / ∂d² | 1/w − 1 |
//! |---|---|---|---|---|
//! | Gaussian | exp(−d²) | −d² | −1 | exp(d²) − 1 |
//! | Student | 1/(1 + d²) | −log(1 + d²) | −w | d² |
//! | heavy-tailed | (1 + 2d²)^{−1/2} | −½·log(1 + 2d²) | −w² | (1 + 2d²)^{1/2} − 1 |
//! | UMAP | 1/(1 + u), u = a·d^{2b} | −log(1 + u) | −b·u·w/d² | u |
//!
//! The heavy-tailed profile is (1 + d²/α)^{−α} of Kobak, Linderman, Steinerberger, Kluger and Berens (2019) at α = 1/2; Student's is the
//! same at α = 1, and the Gaussian its limit for large α. The slower a profile falls, the farther apart a map puts what is
//! hardly similar, next to the distances of what is.
//!
//! The formulas stand here once. They are evaluated in two ways: with the functions of the standard library, where an
//! n×n kernel is formed ([`Profile::at`]), and with the functions of `numeric/`, which have no branches, in loops that
//! the compiler turns into vector instructions (`pairs.rs`).

use super::umap_curve;
use crate::error::{Error, Result};
use crate::numeric::vector::vectorized;
use crate::numeric::{exponential, logarithm, root};

/// Logarithms of a kernel are kept above this: a positive entry never becomes zero, on which the logarithmic losses would
/// be infinite.
pub(super) const LEAST_LOGARITHM: f64 = -690.0;

/// How the raw kernel falls with the distance d.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Profile {
    /// exp(−d²)
    Gaussian,
    /// 1/(1 + d²)
    Student,
    /// (1 + 2d²)^{−1/2}
    HeavyTailed,
    /// 1/(1 + a·d^{2b})
    Umap {
        /// a
        a: f64,
        /// b
        b: f64,
    },
}

impl Profile {
    /// UMAP's curve: 1 up to `min_dist`, then falling like exp(−(d − min_dist)/spread), fitted by
    /// least squares.
    ///
    /// ```
    /// use gromap::embedding::Profile;
    /// let Profile::Umap { a, b } = Profile::umap(0.1, 1.0)? else { unreachable!() };
    /// assert!((a - 1.577).abs() < 1e-3 && (b - 0.895).abs() < 1e-3);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn umap(min_dist: f64, spread: f64) -> Result<Self> {
        if !(spread > 0.0 && spread.is_finite()) {
            return Err(Error::parameter("spread", spread, "positive and finite"));
        }
        if !(min_dist >= 0.0 && min_dist <= spread) {
            return Err(Error::parameter("min_dist", min_dist, format!("between 0 and spread, {spread}")));
        }
        let (a, b) = umap_curve::fit(min_dist, spread);
        Ok(Self::Umap { a, b })
    }

    /// w in place of squared distances, in vector instructions.
    pub(crate) fn values(self, squares: &mut [f64]) {
        self.replace(squares, |kernel| kernel.w);
    }

    /// log w, likewise.
    pub(crate) fn logs(self, squares: &mut [f64]) {
        self.replace(squares, |kernel| kernel.log);
    }

    fn replace(self, squares: &mut [f64], of: impl Fn(RawKernel) -> f64 + Copy) {
        vectorized(
            #[inline(always)]
            || match self {
                Self::Gaussian => squares.iter_mut().for_each(|s| *s = of(Gaussian.at::<true>(*s))),
                Self::Student => squares.iter_mut().for_each(|s| *s = of(Student.at::<true>(*s))),
                Self::HeavyTailed => squares.iter_mut().for_each(|s| *s = of(HeavyTailed.at::<true>(*s))),
                Self::Umap { a, b } => {
                    let curve = Umap { a, b };
                    squares.iter_mut().for_each(|s| *s = of(curve.at::<true>(s.max(f64::MIN_POSITIVE))));
                }
            },
        );
    }

    /// The kernel at one squared distance, by the functions of the standard library.
    #[inline]
    pub(super) fn at(self, square: f64) -> RawKernel {
        match self {
            Self::Gaussian => Gaussian.at::<false>(square),
            Self::Student => Student.at::<false>(square),
            Self::HeavyTailed => HeavyTailed.at::<false>(square),
            // At zero the derivative is infinite, but what it is multiplied with, z_k − z_l, is zero: any finite number
            // will do.
            Self::Umap { a, b } => Umap { a, b }.at::<false>(square.max(f64::MIN_POSITIVE)),
        }
    }
}

/// The kernel of one pair of prototypes.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawKernel {
    /// w
    pub(super) w: f64,
    /// log w
    pub(super) log: f64,
    /// ∂ log w / ∂d²
    pub(super) log_derivative: f64,
    /// 1/w − 1
    pub(super) odds: f64,
    /// ∂ log w / ∂d² over 1/w − 1, in as few divisions as it takes: they are what the pairs of UMAP wait for.
    pub(super) slope_by_odds: f64,
}

/// A profile as a type of its own, so that a loop over pairs is compiled for one formula.
pub(super) trait Curve: Copy + Sync {
    /// Whether the derivative of log w is infinite at distance zero.
    const SINGULAR_AT_ZERO: bool = false;
    /// The distance below which it is flat enough for many to act as one.
    const SOFTNESS: f64 = 0.0;

    /// The kernel at a squared distance; a singular one asks for a positive distance.
    fn at<const FAST: bool>(self, square: f64) -> RawKernel;
}

#[derive(Clone, Copy)]
pub(super) struct Gaussian;

#[derive(Clone, Copy)]
pub(super) struct Student;

#[derive(Clone, Copy)]
pub(super) struct HeavyTailed;

#[derive(Clone, Copy)]
pub(super) struct Umap {
    pub(super) a: f64,
    pub(super) b: f64,
}

impl Curve for Gaussian {
    #[inline(always)]
    fn at<const FAST: bool>(self, square: f64) -> RawKernel {
        let log = (-square).max(LEAST_LOGARITHM);
        let w = exp::<FAST>(log);
        let odds = (1.0 - w) / w;
        RawKernel { w, log, log_derivative: -1.0, odds, slope_by_odds: -1.0 / odds }
    }
}

impl Curve for Student {
    const SOFTNESS: f64 = 0.5;

    #[inline(always)]
    fn at<const FAST: bool>(self, square: f64) -> RawKernel {
        let w = 1.0 / (1.0 + square);
        let slope_by_odds = -1.0 / ((1.0 + square) * square);
        RawKernel { w, log: -ln_1p::<FAST>(square), log_derivative: -w, odds: square, slope_by_odds }
    }
}

impl Curve for HeavyTailed {
    const SOFTNESS: f64 = 0.4;

    #[inline(always)]
    fn at<const FAST: bool>(self, square: f64) -> RawKernel {
        let inside = 1.0 + 2.0 * square;
        let w = inverse_root::<FAST>(inside);
        let (log, odds) = (-0.5 * ln_1p::<FAST>(2.0 * square), inside * w - 1.0);
        RawKernel { w, log, log_derivative: -w * w, odds, slope_by_odds: -w * w / odds }
    }
}

impl Curve for Umap {
    const SINGULAR_AT_ZERO: bool = true;

    #[inline(always)]
    fn at<const FAST: bool>(self, square: f64) -> RawKernel {
        let odds = self.a * power::<FAST>(square, self.b);
        let w = 1.0 / (1.0 + odds);
        let slope_by_odds = -self.b / ((1.0 + odds) * square);
        RawKernel { w, log: -ln_1p::<FAST>(odds), log_derivative: slope_by_odds * odds, odds, slope_by_odds }
    }
}

/// exp x: without branches where `FAST`, for loops that become vector instructions.
#[inline(always)]
fn exp<const FAST: bool>(x: f64) -> f64 {
    if FAST { exponential::exp(x) } else { x.exp() }
}

/// log(1 + x), likewise.
#[inline(always)]
fn ln_1p<const FAST: bool>(x: f64) -> f64 {
    if FAST { logarithm::ln(1.0 + x) } else { x.ln_1p() }
}

/// x^{−1/2} of an x of at least 1, likewise.
#[inline(always)]
fn inverse_root<const FAST: bool>(x: f64) -> f64 {
    if FAST { root::inverse_root(x.min(f64::MAX)) } else { 1.0 / x.sqrt() }
}

/// x^y of a positive x, likewise.
#[inline(always)]
fn power<const FAST: bool>(x: f64, y: f64) -> f64 {
    if FAST { exponential::exp(y * logarithm::ln(x)) } else { x.powf(y) }
}
