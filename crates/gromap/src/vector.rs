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

/// x·y in eight interleaved sums, which the compiler turns into vectors.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (x_groups, x_rest) = x.as_chunks::<8>();
    let (y_groups, y_rest) = y.as_chunks::<8>();
    for (a, b) in x_groups.iter().zip(y_groups) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}
