//! k-means against its plain definition, and what a start needs of it.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::points::Points;
use super::*;

/// Samples in a few tight groups, far from the origin.
fn grouped(seed: u64, samples: usize, features: usize, groups: usize) -> Matrix<'static> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let centres = Matrix::from_fn(groups, features, |_, _| 10.0 * rng.random::<f64>() + 100.0);
    Matrix::from_fn(samples, features, |i, j| centres[(i % groups, j)] + rng.random::<f64>())
}

fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum()
}

/// The weighted mean of each cluster.
fn plain_means(samples: &Matrix<'_>, weights: &[f64], labels: &[u32], clusters: usize) -> Matrix<'static> {
    let total = |k: usize| -> f64 { (0..labels.len()).filter(|&i| labels[i] as usize == k).map(|i| weights[i]).sum() };
    Matrix::from_fn(clusters, samples.columns(), |k, j| {
        let members = (0..labels.len()).filter(|&i| labels[i] as usize == k);
        members.map(|i| weights[i] * samples[(i, j)]).sum::<f64>() / total(k)
    })
}

fn plain_nearest(samples: &Matrix<'_>, centres: &Matrix<'_>) -> Vec<u32> {
    let nearest = |i: usize| {
        let far = |k: usize| squared_distance(samples.row(i), centres.row(k));
        (0..centres.rows()).fold(0, |best, k| if far(k) < far(best) { k } else { best }) as u32
    };
    (0..samples.rows()).map(nearest).collect()
}

/// Whether some sample is as near to a second centre as to its own, but for what single precision leaves of the difference.
fn is_tied(samples: &Matrix<'_>, centres: &Matrix<'_>) -> bool {
    let tied = |i: usize| {
        let mut far: Vec<f64> = (0..centres.rows()).map(|k| squared_distance(samples.row(i), centres.row(k))).collect();
        far.sort_by(f64::total_cmp);
        far.len() > 1 && far[1] - far[0] < 1e-4
    };
    (0..samples.rows()).any(tied)
}

fn inertia(samples: &Matrix<'_>, weights: &[f64], labels: &[u32], clusters: usize) -> f64 {
    let means = plain_means(samples, weights, labels, clusters);
    let term = |i: usize| weights[i] * squared_distance(samples.row(i), means.row(labels[i] as usize));
    (0..labels.len()).filter(|&i| weights[i] > 0.0).map(term).sum()
}

fn used(labels: &[u32]) -> usize {
    labels.iter().collect::<std::collections::HashSet<_>>().len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The same alternation in plain `f64`, from the same samples as centres.
    #[test]
    fn rounds_are_those_of_plain_lloyd(
        seed in 0u64..1000, samples in 30usize..400, features in 1usize..7, clusters in 1usize..9, rounds in 0usize..6,
    ) {
        let data = grouped(seed, samples, features, 5);
        let weights: Vec<f64> = (0..samples).map(|i| 0.5 + (i % 3) as f64).collect();
        let seeds: Vec<usize> = (0..clusters).map(|k| k * samples / clusters).collect();
        let points = Points::new(&data, &weights);
        let found = lloyd(&points, &weights, points.rows(&seeds), rounds);
        let mut centres = Matrix::from_fn(clusters, features, |k, j| data[(seeds[k], j)]);
        let mut expected = plain_nearest(&data, &centres);
        prop_assume!(!is_tied(&data, &centres));
        for _ in 0..rounds {
            centres = plain_means(&data, &weights, &expected, clusters);
            expected = plain_nearest(&data, &centres);
            prop_assume!(!is_tied(&data, &centres));
            // The reference fills no empty cluster.
            prop_assume!(used(&expected) == clusters);
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn more_rounds_cost_less(seed in 0u64..1000, clusters in 1usize..40) {
        let data = grouped(seed, 300, 4, 7);
        let weights: Vec<f64> = (0..300).map(|i| (i % 4) as f64).collect();
        let cost = |max_rounds: usize| {
            let labels = KMeans { clusters, max_rounds, seed }.labels(&data, &weights).unwrap();
            assert_eq!(used(&labels), clusters);
            inertia(&data, &weights, &labels, clusters)
        };
        let costs: Vec<f64> = (0..12).map(cost).collect();
        prop_assert!(costs.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-6)), "{:?}", costs);
    }

    /// A sample that counts twice is two samples, to the seeds as to the means.
    #[test]
    fn a_double_weight_is_a_duplicate(seed in 0u64..1000, clusters in 1usize..8) {
        let data = grouped(seed, 60, 3, 6);
        let twice = Matrix::from_fn(120, 3, |i, j| data[(i / 2, j)]);
        let model = KMeans { clusters, max_rounds: 20, seed };
        let of_weights = model.labels(&data, &[2.0; 60]).unwrap();
        let of_duplicates = model.labels(&twice, &[1.0; 120]).unwrap();
        prop_assert_eq!(of_duplicates.iter().step_by(2).copied().collect::<Vec<_>>(), of_weights.clone());
        prop_assert_eq!(of_duplicates.iter().skip(1).step_by(2).copied().collect::<Vec<_>>(), of_weights);
    }

    /// As many clusters as there are different samples: each is a cluster, however often it occurs.
    #[test]
    fn no_cluster_is_empty_while_samples_differ(
        seed in 0u64..1000, values in prop::collection::vec(0u8..9, 1..50), extra in 0usize..4, rounds in 0usize..4,
    ) {
        let samples = Matrix::from_fn(values.len(), 2, |i, j| f64::from(values[i]) * [1.0, -0.3][j]);
        let weights: Vec<f64> = (0..values.len()).map(|i| ((i + 1) % 3) as f64).collect();
        let distinct = values.iter().collect::<std::collections::HashSet<_>>().len();
        for clusters in 1..=distinct {
            let labels = KMeans { clusters, max_rounds: rounds, seed }.labels(&samples, &weights).unwrap();
            prop_assert_eq!(used(&labels), clusters);
        }
        let clusters = (distinct + extra).min(values.len());
        let labels = KMeans { clusters, max_rounds: rounds, seed }.labels(&samples, &weights).unwrap();
        prop_assert!(used(&labels) >= distinct && labels.iter().all(|&k| (k as usize) < clusters));
    }
}

#[test]
fn groups_are_found() {
    let data = grouped(3, 900, 10, 9);
    let single = data.single();
    let labels = KMeans { clusters: 9, max_rounds: 20, seed: 1 }.labels(&single, &[1.0; 900]).unwrap();
    assert!((9..900).all(|i| labels[i] == labels[i % 9]));
    assert_eq!(used(&labels), 9);
}

/// The farthest sample is alone: taking it would empty the cluster it is in.
#[test]
fn a_cluster_is_not_emptied_to_fill_another() {
    let data = Matrix::new(vec![0.0, 10.0, 11.0], 3, 1).unwrap();
    let points = Points::new(&data, &[1.0; 3]);
    let (centres, mut labels) = (points.rows(&[1, 2, 2]), vec![0, 1, 1]);
    fill_empty(&points, &[1.0; 3], &centres, &mut labels, vec![1, 2, 0]);
    assert_eq!(labels, [0, 2, 1]);
}

/// By weight times squared distance; samples of no weight only when no other is left.
#[test]
fn an_empty_cluster_takes_what_costs_most() {
    let data = Matrix::new(vec![0.0, 1.0, 5.0, 9.0], 4, 1).unwrap();
    let filled = |weights: &[f64], clusters: usize| {
        let points = Points::new(&data, weights);
        let (centres, mut labels) = (points.rows(&vec![0; clusters]), vec![0; 4]);
        let mut counts = vec![0; clusters];
        counts[0] = 4;
        fill_empty(&points, weights, &centres, &mut labels, counts);
        labels
    };
    assert_eq!(filled(&[1.0, 1.0, 1.0, 1.0], 2), [0, 0, 0, 1]);
    assert_eq!(filled(&[1.0, 1.0, 4.0, 1.0], 2), [0, 0, 1, 0]);
    assert_eq!(filled(&[1.0, 1.0, 0.0, 0.0], 3), [0, 1, 0, 2]);
}

/// Samples of no weight move no mean, but have a cluster.
#[test]
fn samples_without_weight_follow() {
    let data = Matrix::new(vec![0.0, 1.0, 10.0, 11.0, 1000.0], 5, 1).unwrap();
    let labels = KMeans { clusters: 2, max_rounds: 20, seed: 0 }.labels(&data, &[1.0, 1.0, 1.0, 1.0, 0.0]).unwrap();
    assert_eq!((labels[0], labels[2], labels[2]), (labels[1], labels[3], labels[4]));
    assert_ne!(labels[0], labels[2]);
}

#[test]
fn every_sample_can_be_a_cluster() {
    let data = grouped(4, 700, 3, 11);
    let labels = KMeans { clusters: 700, max_rounds: 5, seed: 2 }.labels(&data, &[1.0; 700]).unwrap();
    assert_eq!(used(&labels), 700);
}

/// More samples than seeds are drawn from, more centres than a tile has.
#[test]
fn threads_and_tiles_change_no_byte() {
    let data = grouped(5, 6300, 13, 40).single().into_owned();
    let weights: Vec<f64> = (0..6300).map(|i| 1.0 + (i % 5) as f64).collect();
    for clusters in [100, 590] {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| KMeans { clusters, max_rounds: 4, seed: 3 }.labels(&data, &weights).unwrap())
        };
        let one = with(1);
        assert_eq!(used(&one), clusters);
        assert!(one == with(2) && one == with(4));
    }
}

/// Centres far apart are told apart beyond the first tile, and the first of equals is taken.
#[test]
fn samples_are_assigned_to_the_nearest_centre() {
    let centres = Matrix::from_fn(1300, 2, |k, j| if j == 0 { (k % 1195) as f64 } else { 1e3 });
    let samples = Matrix::from_fn(2000, 2, |i, j| if j == 0 { (i % 1195) as f64 + 0.3 } else { 990.0 });
    let nearest = |centres: &Matrix<'_>| {
        let both = [samples.values(), centres.values()].concat();
        let both = Matrix::new(both, samples.rows() + centres.rows(), 2).unwrap();
        let points = Points::new(&both, &vec![1.0; both.rows()]);
        let names: Vec<usize> = (samples.rows()..both.rows()).collect();
        let mut labels = points.nearest(&points.rows(&names));
        labels.truncate(samples.rows());
        labels
    };
    let labels = nearest(&centres);
    assert!(labels.iter().enumerate().all(|(i, &label)| label as usize == i % 1195));
    assert_eq!(labels, plain_nearest(&samples, &centres));
    let crowded = Matrix::from_fn(400, 2, |k, j| centres[(k % 205, j)]);
    assert!(nearest(&crowded).iter().all(|&label| label < 205));
}

/// The greedy draws spread seeds: all groups are hit at once.
#[test]
fn seeds_are_far_apart() {
    for seed in 0..20 {
        let data = grouped(seed, 5000, 4, 10);
        let weights = vec![1.0; 5000];
        let seeds = seeding::seeds(&Points::new(&data, &weights), &weights, 10, seed);
        let groups: std::collections::HashSet<usize> = seeds.iter().map(|i| i % 10).collect();
        assert!(groups.len() >= 9, "seed {seed}: {groups:?}");
    }
}

#[test]
fn wrong_input_is_refused() {
    let data = grouped(1, 6, 2, 2);
    let labels = |clusters, weights: &[f64]| KMeans { clusters, max_rounds: 1, seed: 0 }.labels(&data, weights);
    assert!(matches!(labels(0, &[1.0; 6]), Err(Error::Parameter { name: "clusters", .. })));
    assert!(matches!(labels(7, &[1.0; 6]), Err(Error::Parameter { name: "clusters", .. })));
    assert!(matches!(labels(2, &[1.0; 5]), Err(Error::Shape { expected: 6, found: 5, .. })));
    assert!(matches!(labels(2, &[1.0, 1.0, -1.0, 1.0, 1.0, 1.0]), Err(Error::Weight { index: 2, .. })));
    assert_eq!(labels(2, &[0.0; 6]), Err(Error::NoWeight));
    let mut bad = data.clone();
    bad[(4, 1)] = f64::NAN;
    let model = KMeans { clusters: 2, max_rounds: 1, seed: 0 };
    assert!(matches!(model.labels(&bad, &[1.0; 6]), Err(Error::NotFinite { row: 4, column: 1, .. })));
}

/// Tiny, huge and constant samples overflow nothing.
#[test]
fn extreme_scales_are_borne() {
    for scale in [0.0, 1e-310, 1e-30, 1e30, 1e99] {
        let data = Matrix::from_fn(20, 2, |i, j| scale * ((i % 5) as f64 + 0.1 * j as f64));
        let labels = KMeans { clusters: 5, max_rounds: 3, seed: 0 }.labels(&data, &[1e-300; 20]).unwrap();
        assert!(scale == 0.0 || scale == 1e-310 || used(&labels) == 5, "{scale}");
    }
}
