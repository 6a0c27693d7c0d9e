//! Blocks of rows: the unit of every pass over samples.
//!
//! A block does not depend on the number of threads, and partial results are put together in the order of the blocks:
//! that is what makes results the same bytes everywhere.
//!
//! Every pass that gathers something from the samples is written in three parts:
//!
//! ```text
//! state      what all blocks read and none changes: centres, factors, a gradient's target
//! f_of_block (state, rows or their data) → part    a named function without side effects
//! merge      parts in the order of their blocks → result: sum_of_blocks, or the part's own `merge`
//! ```
//!
//! A part is small: its size does not grow with N, or it holds one label for each row of the block. Parts that are matrices
//! of all pairs of prototypes are merged as they come, so that few of them are held at once. So blocks can be
//! worked on in any order, by any thread, and by another machine too: a worker that holds some of the samples, from a
//! multiple of [`BLOCK`] on, runs the same function on its own blocks and sends the parts to where they are merged. Rows
//! are counted within the data that the function is given.

use std::ops::Range;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Samples handled together in a pass.
pub const BLOCK: usize = 1024;

/// The blocks of rows of a pass over `samples` samples.
pub(crate) fn blocks(samples: usize) -> impl IndexedParallelIterator<Item = Range<usize>> {
    (0..samples.div_ceil(BLOCK)).into_par_iter().map(move |b| {
        crate::interrupt::look();
        b * BLOCK..((b + 1) * BLOCK).min(samples)
    })
}

/// Parts that are held at once, at most, if they are large.
const HELD: usize = 4;
/// Numbers that parts hold together before they are large.
const FEW_NUMBERS: usize = 1 << 19;

/// Parts of so many numbers each that are held at once, beside what they are merged into.
pub(crate) fn parts_held(numbers: usize) -> usize {
    (FEW_NUMBERS / numbers.max(1)).max(HELD.min(threads()))
}

/// Makes a part of so many numbers from every block of rows, and merges the parts in the order of the blocks.
pub(crate) fn merge_blocks<P: Send>(
    samples: usize,
    numbers: usize,
    of_block: impl Fn(Range<usize>) -> P + Sync,
    mut merge: impl FnMut(P),
) {
    let mut parts = Vec::new();
    let held = parts_held(numbers);
    for first in (0..blocks(samples).len()).step_by(held) {
        blocks(samples).skip(first).take(held).map(&of_block).collect_into_vec(&mut parts);
        parts.drain(..).for_each(&mut merge);
    }
}

/// The sum of the parts of all blocks, so many numbers each, in the order of the blocks.
pub(crate) fn sum_of_blocks(
    samples: usize,
    numbers: usize,
    of_block: impl Fn(Range<usize>) -> Vec<f64> + Sync,
) -> Vec<f64> {
    let mut total = Vec::new();
    merge_blocks(samples, numbers, of_block, |part| match total.is_empty() {
        true => total = part,
        false => add(&mut total, &part),
    });
    total
}

fn add(total: &mut [f64], part: &[f64]) {
    total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
}

/// Adds partial sums in the order of their blocks.
pub(crate) fn sum_in_order(partial: Vec<Vec<f64>>) -> Vec<f64> {
    let mut partial = partial.into_iter();
    let mut total = partial.next().unwrap_or_default();
    for part in partial {
        add(&mut total, &part);
    }
    total
}

/// Fisher-Yates, so that orders depend on nothing but the seed.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut Xoshiro256PlusPlus) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.random_range(0..=i));
    }
}

/// Threads that work here: those of the pool at hand, or one for each core. Asking the pool that everyone shares would
/// start it.
pub(crate) fn threads() -> usize {
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A part that counts how many of its kind there are.
    struct Counted<'c>(&'c AtomicUsize, Vec<f64>);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn few_large_parts_are_held_at_once() {
        let (samples, numbers) = (40 * BLOCK - 7, 1 << 20);
        let (held, mut most, mut order) = (AtomicUsize::new(0), 0, Vec::new());
        let of_block = |rows: Range<usize>| {
            held.fetch_add(1, Ordering::SeqCst);
            Counted(&held, vec![rows.start as f64])
        };
        merge_blocks(samples, numbers, of_block, |part| {
            most = most.max(held.load(Ordering::SeqCst));
            order.push(part.1[0] as usize / BLOCK);
        });
        assert!(most <= HELD, "{most}");
        assert_eq!(order, (0..40).collect::<Vec<_>>());
        assert_eq!((parts_held(1 << 15), parts_held(0)), (16, FEW_NUMBERS));
    }

    #[test]
    fn sums_do_not_depend_on_how_many_are_held() {
        let of_block = |rows: Range<usize>| {
            rows.map(|i| [(i as f64).sin(), 1.0 / (1.0 + i as f64)])
                .fold(vec![0.0; 2], |sum, next| vec![sum[0] + next[0], sum[1] + next[1]])
        };
        let at_once = sum_in_order(blocks(10_000).map(of_block).collect());
        for numbers in [2, 1 << 18, 1 << 30] {
            assert_eq!(sum_of_blocks(10_000, numbers, of_block), at_once);
        }
    }
}
