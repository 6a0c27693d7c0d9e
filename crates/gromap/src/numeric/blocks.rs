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
//! merge      parts in the order of their blocks → result: sum_in_order, or the part's own `merge`
//! ```
//!
//! A part is small: its size does not grow with N, or it holds one label for each row of the block. So blocks can be
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

/// Adds partial sums in the order of their blocks.
pub(crate) fn sum_in_order(partial: Vec<Vec<f64>>) -> Vec<f64> {
    let mut partial = partial.into_iter();
    let mut total = partial.next().unwrap_or_default();
    for part in partial {
        total.iter_mut().zip(&part).for_each(|(t, p)| *t += p);
    }
    total
}

/// Fisher-Yates, so that orders depend on nothing but the seed.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut Xoshiro256PlusPlus) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.random_range(0..=i));
    }
}
