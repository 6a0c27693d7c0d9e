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

/// x·y of several y in one pass, each as long as x, a multiple of [`LANES`]. Written for vectors, since compilers find
/// but two lanes of such sums; to be inlined into a function of `simd`.
#[inline(always)]
pub(crate) fn dots<V: pulp::Simd, const K: usize>(simd: V, x: &[f64], ys: [&[f64]; K]) -> [f64; K] {
    let parts = LANES / V::F64_LANES;
    let (x, _) = V::as_simd_f64s(x);
    let mut sums = [[simd.splat_f64s(0.0); LANES]; K];
    for k in 0..K {
        let (y, _) = V::as_simd_f64s(ys[k]);
        for (x, y) in x.chunks_exact(parts).zip(y.chunks_exact(parts)) {
            for part in 0..parts {
                sums[k][part] = simd.add_f64s(sums[k][part], simd.mul_f64s(x[part], y[part]));
            }
        }
    }
    let mut out = [0.0; K];
    for k in 0..K {
        let mut lanes = [0.0; LANES];
        let (into, _) = V::as_mut_simd_f64s(&mut lanes);
        into.copy_from_slice(&sums[k][..parts]);
        let [a, b, c, d, e, f, g, h] = lanes;
        out[k] = ((a + e) + (c + g)) + ((b + f) + (d + h));
    }
    out
}
