//! An exponential without branches, which the compiler can turn into vector code.
//!
//! x = k·log 2 + r with |r| ≤ ½·log 2; exp r by its series up to r¹³ (the first term left out is
//! below 5e-18), times 2^k by its bits. Below −708 the result is exactly 0, above 709 it stays at
//! exp 709: finite, and far beyond anything a caller accepts.

/// exp x, to a few units in the last place.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    // Adding 1.5·2^52 rounds to an integer and leaves it in the low bits.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let clamped = x.clamp(-708.0, 709.0);
    let shifted = clamped * std::f64::consts::LOG2_E + MAGIC;
    let k = shifted - MAGIC;
    let r = (clamped - k * LN_2_HIGH) - k * LN_2_LOW;
    let series = [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let mut sum = 1.0 / 6_227_020_800.0;
    for coefficient in series {
        sum = sum * r + coefficient;
    }
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let value = sum * scale;
    if x < -708.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_exponential(x in -707.9..709.0f64) {
            let (ours, theirs) = (super::exp(x), x.exp());
            prop_assert!((ours - theirs).abs() <= 6e-16 * theirs, "{x} {ours} {theirs}");
        }
    }

    #[test]
    fn the_ends_are_finite() {
        assert_eq!(super::exp(0.0), 1.0);
        assert_eq!(super::exp(-1e300), 0.0);
        assert_eq!(super::exp(f64::NEG_INFINITY), 0.0);
        assert!(super::exp(f64::INFINITY) > 8e307 && super::exp(f64::INFINITY).is_finite());
        assert!(super::exp(f64::NAN).is_nan());
    }
}
