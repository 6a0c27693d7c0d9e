//! How good a result is: labels against labels, labels against points, points against points.
//!
//! | score | compares | best, chance |
//! |---|---|---|
//! | [`Agreement`] | two labellings of the same samples | 1, and 0 where adjusted |
//! | [`silhouette`], [`weighted_silhouette`] | points of a map with their labels | 1, near 0 |
//! | [`trustworthiness`] | neighbours on a map with those of the samples | 1, near 1/2 |
//! | [`neighborhood_preservation`] | the same, by the share that is kept | 1, k/(N−1) |
//!
//! Definitions are those of scikit-learn wherever it has one, so that figures can be compared.

mod contingency;
mod expectation;
mod neighborhood;
mod silhouette;

use std::collections::HashMap;

pub use self::contingency::{Agreement, Information};
pub use self::neighborhood::{neighborhood_preservation, trustworthiness};
pub use self::silhouette::{silhouette, weighted_silhouette};

/// Labels by order of first appearance, 0, 1, 2, …, and how many there are. Names do not matter after
/// this: sums over labels have the same order, and so the same bytes, whatever the names.
fn numbered(labels: impl IntoIterator<Item = u32>) -> (Vec<u32>, usize) {
    let mut numbers = HashMap::new();
    let number = |label| {
        let next = numbers.len() as u32;
        *numbers.entry(label).or_insert(next)
    };
    let labels = labels.into_iter().map(number).collect();
    (labels, numbers.len())
}
