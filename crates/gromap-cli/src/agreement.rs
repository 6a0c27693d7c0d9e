//! How well two labellings of the same samples agree.

use std::collections::HashMap;
use std::hash::Hash;

/// The adjusted Rand index (Hubert and Arabie, 1985): the share of pairs of samples on which two
/// labellings agree, moved and scaled so that chance gives 0 and equality, up to names, gives 1.
pub(crate) fn adjusted_rand_index<A: Eq + Hash + Copy, B: Eq + Hash + Copy>(left: &[A], right: &[B]) -> f64 {
    let both = pairs_within(left.iter().zip(right));
    let (within_left, within_right) = (pairs_within(left), pairs_within(right));
    let by_chance = within_left * within_right / pairs(left.len());
    let at_most = (within_left + within_right) / 2.0;
    // One group in each labelling, or every sample alone in each: nothing differs.
    if at_most == by_chance || left.len() < 2 { 1.0 } else { (both - by_chance) / (at_most - by_chance) }
}

/// Pairs of samples that share a label.
fn pairs_within<L: Eq + Hash>(labels: impl IntoIterator<Item = L>) -> f64 {
    let mut counts = HashMap::new();
    labels.into_iter().for_each(|label| *counts.entry(label).or_insert(0_usize) += 1);
    // Whole numbers below 2⁵³: the order of the sum does not matter.
    counts.into_values().map(pairs).sum()
}

/// Pairs among `count` things.
fn pairs(count: usize) -> f64 {
    count as f64 * (count as f64 - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::adjusted_rand_index;

    #[test]
    fn names_do_not_matter() {
        assert_eq!(adjusted_rand_index(&[0, 0, 1, 1, 2], &['c', 'c', 'a', 'a', 'b']), 1.0);
    }

    #[test]
    fn one_group_split_in_two_is_worth_four_sevenths() {
        // Pairs: 1 in both, 2 and 1 within, 6 in all; (1 − 1/3) / (3/2 − 1/3).
        let index = adjusted_rand_index(&[0, 0, 1, 1], &[0, 0, 1, 2]);
        assert!((index - 4.0 / 7.0).abs() < 1e-15, "{index}");
    }

    #[test]
    fn crossed_groups_are_worse_than_chance() {
        // Pairs: none in both, 2 and 2 within, 6 in all; (0 − 2/3) / (2 − 2/3).
        assert!((adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 0, 1]) + 0.5).abs() < 1e-15);
    }

    #[test]
    fn one_group_says_nothing_about_ten() {
        let classes: Vec<usize> = (0..100).map(|i| i % 10).collect();
        assert_eq!(adjusted_rand_index(&[0; 100], &classes), 0.0);
    }

    #[test]
    fn nothing_to_compare_is_agreement() {
        assert_eq!(adjusted_rand_index(&[0; 5], &[1; 5]), 1.0);
        assert_eq!(adjusted_rand_index(&[0], &[1]), 1.0);
        assert_eq!(adjusted_rand_index::<u8, u8>(&[], &[]), 1.0);
    }
}
