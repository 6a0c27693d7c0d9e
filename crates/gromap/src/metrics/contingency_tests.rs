//! Scores of labels against counting pairs, summing definitions and trying every order.

use proptest::prelude::*;

use super::*;

type Score = fn(&Agreement) -> f64;

const SCORES: [(&str, Score); 6] = [
    ("adjusted Rand index", Agreement::adjusted_rand_index),
    ("adjusted mutual information", Agreement::adjusted_mutual_information),
    ("normalized mutual information", Agreement::normalized_mutual_information),
    ("homogeneity", Agreement::homogeneity),
    ("completeness", Agreement::completeness),
    ("V-measure", Agreement::v_measure),
];

fn agreement(truth: &[u32], found: &[u32]) -> Agreement {
    Agreement::new(truth, found).unwrap()
}

/// Agreement of the pairs, one after the other.
fn plain_rand(truth: &[u32], found: &[u32]) -> f64 {
    let [mut both, mut of_truth, mut of_found, mut all] = [0.0; 4];
    for i in 0..truth.len() {
        for j in 0..i {
            let (same_truth, same_found) = (truth[i] == truth[j], found[i] == found[j]);
            both += f64::from(u8::from(same_truth && same_found));
            of_truth += f64::from(u8::from(same_truth));
            of_found += f64::from(u8::from(same_found));
            all += 1.0;
        }
    }
    let chance = of_truth * of_found / all;
    (both - chance) / (0.5 * (of_truth + of_found) - chance)
}

/// MI and the two entropies by their definition over all pairs of labels below 10.
fn plain_information(truth: &[u32], found: &[u32], weights: &[f64]) -> (f64, f64, f64) {
    let total: f64 = weights.iter().sum();
    let share =
        |of: &dyn Fn(usize) -> bool| (0..truth.len()).filter(|&i| of(i)).map(|i| weights[i]).sum::<f64>() / total;
    let term = |p: f64, q: f64| if p == 0.0 { 0.0 } else { p * (p / q).ln() };
    let (mut mutual, mut of_truth, mut of_found) = (0.0, 0.0, 0.0);
    for u in 0..10 {
        let p = share(&|i| truth[i] == u);
        of_truth -= term(p, 1.0);
        of_found -= term(share(&|i| found[i] == u), 1.0);
        for v in 0..10 {
            mutual += term(share(&|i| truth[i] == u && found[i] == v), p * share(&|i| found[i] == v));
        }
    }
    (mutual, of_truth, of_found)
}

/// The mean of MI over all orders of the found labels (Heap's algorithm).
fn plain_expectation(truth: &[u32], found: &[u32]) -> f64 {
    let mut found = found.to_vec();
    let weights = vec![1.0; truth.len()];
    let (mut sum, mut orders) = (plain_information(truth, &found, &weights).0, 1.0);
    let (mut counters, mut at) = (vec![0; truth.len()], 1);
    while at < truth.len() {
        if counters[at] < at {
            found.swap(if at % 2 == 0 { 0 } else { counters[at] }, at);
            sum += plain_information(truth, &found, &weights).0;
            orders += 1.0;
            counters[at] += 1;
            at = 1;
        } else {
            counters[at] = 0;
            at += 1;
        }
    }
    sum / orders
}

fn labels(len: std::ops::Range<usize>) -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    len.prop_flat_map(|len| (prop::collection::vec(0u32..5, len), prop::collection::vec(0u32..7, len)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_rand_index_counts_pairs((truth, found) in labels(2..60)) {
        let expected = plain_rand(&truth, &found);
        prop_assume!(expected.is_finite());
        let index = agreement(&truth, &found).adjusted_rand_index();
        prop_assert!((index - expected).abs() < 1e-12, "{} {}", index, expected);
    }

    #[test]
    fn information_is_that_of_the_definition(
        (truth, found) in labels(2..60), weights in prop::collection::vec(0u8..4, 60),
    ) {
        let weights: Vec<f64> = weights[..truth.len()].iter().map(|&w| f64::from(w)).collect();
        prop_assume!(weights.iter().any(|&w| w > 0.0));
        let (mutual, of_truth, of_found) = plain_information(&truth, &found, &weights);
        prop_assume!(of_truth > 1e-9 && of_found > 1e-9);
        let scores = Information::new(&truth, &found, &weights).unwrap();
        let (homogeneity, completeness) = (mutual / of_truth, mutual / of_found);
        prop_assert!((scores.homogeneity() - homogeneity).abs() < 1e-12);
        prop_assert!((scores.completeness() - completeness).abs() < 1e-12);
        let mean = 2.0 * mutual / (of_truth + of_found);
        prop_assert!((scores.v_measure() - mean).abs() < 1e-12);
        prop_assert!((scores.normalized_mutual_information() - mean).abs() < 1e-12);
        let counted = agreement(&truth, &found);
        let equal = Information::new(&truth, &found, &vec![0.1; truth.len()]).unwrap();
        prop_assert!((counted.homogeneity() - equal.homogeneity()).abs() < 1e-12);
        prop_assert!((counted.completeness() - equal.completeness()).abs() < 1e-12);
    }

    #[test]
    fn names_do_not_matter((truth, found) in labels(1..60), shift in 1u32..9) {
        let renamed: Vec<u32> = found.iter().map(|label| 4_000_000_000 - 100 * ((label + shift) % 9)).collect();
        let (before, after) = (agreement(&truth, &found), agreement(&truth, &renamed));
        let itself = agreement(&found, &renamed);
        for (name, score) in SCORES {
            prop_assert_eq!(score(&before).to_bits(), score(&after).to_bits(), "{}", name);
            prop_assert_eq!(score(&itself), 1.0, "{}", name);
        }
    }

    #[test]
    fn the_two_sides_change_places((truth, found) in labels(1..60)) {
        let (one, other) = (agreement(&truth, &found), agreement(&found, &truth));
        prop_assert!((one.homogeneity() - other.completeness()).abs() < 1e-14);
        for (name, score) in [SCORES[0], SCORES[1], SCORES[5]] {
            prop_assert!((score(&one) - score(&other)).abs() < 1e-12, "{}", name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn adjusted_information_is_measured_from_the_mean_over_all_orders((truth, found) in labels(2..7)) {
        let (mutual, of_truth, of_found) = plain_information(&truth, &found, &vec![1.0; truth.len()]);
        let (expected, mean) = (plain_expectation(&truth, &found), 0.5 * (of_truth + of_found));
        prop_assume!(mean - expected > 1e-9);
        let score = agreement(&truth, &found).adjusted_mutual_information();
        prop_assert!((score - (mutual - expected) / (mean - expected)).abs() < 1e-10);
    }
}

#[test]
fn crossed_groups_are_worse_than_chance() {
    // Pairs: none in both, 2 and 2 within, 6 in all; (0 − 2/3) / (2 − 2/3).
    assert_eq!(agreement(&[0, 0, 1, 1], &[0, 1, 0, 1]).adjusted_rand_index(), -0.5);
    assert!(agreement(&[0, 0, 1, 1], &[0, 1, 0, 1]).adjusted_mutual_information() < -0.4);
}

#[test]
fn one_group_says_nothing_about_ten() {
    let classes: Vec<u32> = (0..100).map(|i| i % 10).collect();
    let found = agreement(&classes, &[0; 100]);
    let scores: Vec<f64> = SCORES.iter().map(|(_, score)| score(&found)).collect();
    assert_eq!(scores, [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
}

/// Every labelling of as many groups as samples says as much.
#[test]
fn a_group_for_each_sample_is_no_better_than_chance() {
    let alone: Vec<u32> = (0..300_000).collect();
    let pairs: Vec<u32> = alone.iter().map(|i| i / 2).collect();
    let found = agreement(&pairs, &alone);
    assert_eq!((found.homogeneity(), found.adjusted_rand_index()), (1.0, 0.0));
    assert!(found.adjusted_mutual_information().abs() < 1e-12, "{}", found.adjusted_mutual_information());
}

#[test]
fn nothing_to_compare_is_agreement() {
    let alone: Vec<u32> = (0..50).collect();
    for (truth, found) in [(&[0; 5][..], &[1; 5][..]), (&[0], &[1]), (&[], &[]), (&alone, &alone)] {
        for (name, score) in SCORES {
            assert_eq!(score(&agreement(truth, found)), 1.0, "{name}");
        }
    }
}

#[test]
fn wrong_labels_and_weights_are_named() {
    let message = Agreement::new(&[0, 1, 2], &[0, 1]).unwrap_err().to_string();
    assert_eq!(message, "number of found labels: expected 3, found 2");
    assert!(Information::new(&[0, 1], &[0, 1], &[1.0]).is_err());
    assert_eq!(Information::new(&[0, 1], &[0, 1], &[1.0, -1.0]), Err(Error::Weight { index: 1, value: -1.0 }));
}
