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
