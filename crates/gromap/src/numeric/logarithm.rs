//! A natural logarithm without branches, which the compiler can turn into vector code.
//!
//! x = 2^k·m with m in [√½, √2); log m = 2·artanh(s), s = (m−1)/(m+1), by its odd series up to s¹⁹
//! (|s| ≤ 0.1716, so the first term left out is below 1e-17). Relative error stays within a few
//! units in the last place, which is all that sums of x·log x need.

use std::f64::consts::LN_2;

/// log x for a positive, normal x.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const MANTISSA: u64 = 0x000f_ffff_ffff_ffff;
    // Subtracting √½ before splitting puts the mantissa into [√½, √2). The exponent is read as a
    // double by its bits, since few machines convert 64-bit integers in vectors.
    const MAGIC: u64 = 0x4330_0000_0000_0000; // 2^52
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (shifted as i64 >> 52) + 1024;
    let k = f64::from_bits(MAGIC | exponent as u64) - (4_503_599_627_370_496.0 + 1024.0);
    let m = f64::from_bits((shifted & MANTISSA).wrapping_add(SQRT_HALF));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let series =
        [1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0];
    let mut sum = 0.0;
    for coefficient in series {
        sum = sum * z + coefficient;
    }
    k * LN_2 + 2.0 * (s + s * z * sum)
}

/// x·log x with its limit at 0; denormal numbers count as 0.
#[inline(always)]
pub(crate) fn x_log_x(x: f64) -> f64 {
    let safe = if x >= f64::MIN_POSITIVE { x } else { 1.0 };
    x * ln(safe)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_logarithm(exponent in -300.0..300.0f64, mantissa in 1.0..10.0f64) {
            let x = mantissa * 10f64.powf(exponent);
            let (ours, theirs) = (super::ln(x), x.ln());
            prop_assert!((ours - theirs).abs() <= 4e-16 * theirs.abs().max(1e-3), "{x} {ours} {theirs}");
        }

        #[test]
        fn it_is_exact_near_one(x in 0.5..2.0f64) {
            prop_assert!((super::ln(x) - x.ln()).abs() <= 2e-16);
        }
    }

    #[test]
    fn zero_has_its_limit() {
        assert_eq!(super::x_log_x(0.0), 0.0);
        assert_eq!(super::x_log_x(1.0), 0.0);
        assert_eq!(super::x_log_x(1e-310), 0.0);
    }
}
