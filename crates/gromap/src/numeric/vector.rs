//! Loops compiled for the widest vector unit of the machine at hand.

/// Runs `f` with the instructions of the machine.
///
/// Only what is inlined into the call is compiled for them: mark the closure and what it calls
/// `#[inline(always)]`. Closures are called as `FnMut` because the adapter that calls one as `FnOnce`
/// is a function of its own, compiled for the oldest machine.
#[inline(always)]
pub(crate) fn vectorized<R>(f: impl FnMut() -> R) -> R {
    struct Call<F>(F);
    impl<R, F: FnMut() -> R> pulp::WithSimd for Call<F> {
        type Output = R;
        #[inline(always)]
        fn with_simd<V: pulp::Simd>(mut self, _: V) -> R {
            (self.0)()
        }
    }
    pulp::Arch::new().dispatch(Call(f))
}

/// Numbers that are summed side by side, on every machine, so that sums are the same on all of them.
pub(crate) const LANES: usize = 8;

/// x·y in interleaved sums, which the compiler turns into vectors.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (x_groups, x_rest) = x.as_chunks::<LANES>();
    let (y_groups, y_rest) = y.as_chunks::<LANES>();
    for (a, b) in x_groups.iter().zip(y_groups) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// x·y of equal lengths, a multiple of [`LANES`]. Written for vectors, since of such a sum compilers make but two lanes; to be
/// inlined into a function of `simd`.
#[inline(always)]
pub(crate) fn wide_dot<V: pulp::Simd>(simd: V, x: &[f64], y: &[f64]) -> f64 {
    let parts = LANES / V::F64_LANES;
    let ((x, _), (y, _)) = (V::as_simd_f64s(x), V::as_simd_f64s(y));
    let mut lanes = [0.0; LANES];
    // One register after the other, by index: sums in an array, or iterators over pairs of parts, end up in memory.
    for (part, out) in V::as_mut_simd_f64s(&mut lanes).0.iter_mut().enumerate() {
        let mut sum = simd.splat_f64s(0.0);
        let mut at = part;
        while at < x.len().min(y.len()) {
            sum = simd.add_f64s(sum, simd.mul_f64s(x[at], y[at]));
            at += parts;
        }
        *out = sum;
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dot<'a>(&'a [f64], &'a [f64]);

    impl pulp::WithSimd for Dot<'_> {
        type Output = f64;

        #[inline(always)]
        fn with_simd<V: pulp::Simd>(self, simd: V) -> f64 {
            wide_dot(simd, self.0, self.1)
        }
    }

    #[test]
    fn a_wide_dot_is_the_same_to_the_bit_on_every_machine() {
        let x: Vec<f64> = (0..56).map(|i| ((i * 37 + 11) % 101) as f64 / 7.0).collect();
        let y: Vec<f64> = (0..56).map(|i| 1.0 / (i + 3) as f64).collect();
        let here = pulp::Arch::new().dispatch(Dot(&x, &y));
        assert_eq!(here, pulp::WithSimd::with_simd(Dot(&x, &y), pulp::Scalar));
        assert!((here - dot(&x, &y)).abs() < 1e-12);
    }
}
