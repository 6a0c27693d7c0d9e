//! Searches against the plain definition, and everything that must be refused.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

const METRICS: [Metric; 4] = [Metric::SquaredEuclidean, Metric::Euclidean, Metric::Cosine, Metric::Manhattan];

/// The distance by its textbook formula.
fn plain_distance(x: &[f32], y: &[f32], metric: Metric) -> f64 {
    let pairs = || x.iter().zip(y).map(|(&x, &y)| (f64::from(x), f64::from(y)));
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    match metric {
        Metric::SquaredEuclidean => pairs().map(|(x, y)| (x - y).powi(2)).sum(),
        Metric::Euclidean => pairs().map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt(),
        Metric::Cosine => 1.0 - dot(x, y) / (dot(x, x) * dot(y, y)).sqrt(),
        Metric::Manhattan => pairs().map(|(x, y)| (x - y).abs()).sum(),
    }
}

/// Row i of the answer, by sorting everything; new samples are no row of their own.
fn plain_row(
    references: &Matrix<'_, f32>,
    query: &[f32],
    own: Option<usize>,
    k: usize,
    metric: Metric,
) -> Vec<(f32, u32)> {
    let others = (0..references.rows()).filter(|&j| Some(j) != own);
    let mut all: Vec<(f32, u32)> =
        others.map(|j| (plain_distance(query, references.row(j), metric) as f32, j as u32)).collect();
    let ties = own.map_or(Ties::ByIndex, Ties::of);
    all.sort_by_key(|&(distance, j)| key(distance, ties, j));
    all.truncate(k);
    all
}

fn found_row(neighbors: &Neighbors, i: usize) -> Vec<(f32, u32)> {
    let (indices, distances) = neighbors.row(i);
    distances.iter().copied().zip(indices.iter().copied()).collect()
}

/// Samples on a coarse grid: sums of squares are exact, ties and duplicates are many.
fn grid(seed: u64, rows: usize, columns: usize, levels: i32) -> Matrix<'static, f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Matrix::from_fn(rows, columns, |_, _| rng.random_range(1..=levels) as f32 * 0.25)
}

/// Samples around a few centres, far from the origin: `offset` spreads away.
fn clouds(seed: u64, rows: usize, columns: usize, offset: f32) -> Matrix<'static, f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = || (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
    let centres = Matrix::from_fn(5, columns, |_, _| 3.0 * normal());
    Matrix::from_fn(rows, columns, |i, j| offset + centres[(i % 5, j)] + normal())
}

/// The answer is right up to ties that rounding decides: every distance is that of its sample, they
/// ascend, and they are the smallest there are.
fn assert_nearest(samples: &Matrix<'_, f32>, neighbors: &Neighbors, metric: Metric) {
    for i in 0..samples.rows() {
        let expected = plain_row(samples, samples.row(i), Some(i), neighbors.k(), metric);
        let found = found_row(neighbors, i);
        assert!(found.windows(2).all(|pair| pair[0].0 <= pair[1].0), "row {i} does not ascend");
        for (&(distance, j), (best, _)) in found.iter().zip(expected) {
            let own = plain_distance(samples.row(i), samples.row(j as usize), metric) as f32;
            assert!((distance - own).abs() <= 1e-6 * own.max(1.0), "row {i}: {distance} is not {own}");
            assert!((distance - best).abs() <= 1e-6 * best.max(1.0), "row {i}: {distance} is not the best {best}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn exact_search_is_brute_force_with_its_ties(
        seed in 0u64..1 << 32, rows in 2usize..400, columns in 1usize..40, k in 1usize..60, levels in 1i32..9, pick in 0usize..3,
    ) {
        let metric = [Metric::SquaredEuclidean, Metric::Euclidean, Metric::Manhattan][pick];
        let (samples, k) = (grid(seed, rows, columns, levels), k.min(rows - 1));
        let neighbors = Exact.search(&samples, k, metric).unwrap();
        for i in 0..rows {
            prop_assert_eq!(found_row(&neighbors, i), plain_row(&samples, samples.row(i), Some(i), k, metric), "row {}", i);
        }
    }

    #[test]
    fn exact_search_survives_an_offset(
        seed in 0u64..1 << 32, rows in 2usize..300, columns in 1usize..70, k in 1usize..40, pick in 0usize..4,
        offset in prop::sample::select(vec![0.0f32, 1e3, 1e5]),
    ) {
        let samples = clouds(seed, rows, columns, offset);
        let neighbors = Exact.search(&samples, k.min(rows - 1), METRICS[pick]).unwrap();
        assert_nearest(&samples, &neighbors, METRICS[pick]);
    }

    #[test]
    fn a_new_sample_finds_the_same_references_alone_and_in_company(
        seed in 0u64..1 << 32, rows in 1usize..300, new in 1usize..20, columns in 1usize..20, pick in 0usize..4,
    ) {
        let (training, queries) = (grid(seed, rows, columns, 6), grid(seed + 1, new, columns, 9));
        let (k, metric) = (rows.min(7), METRICS[pick]);
        let together = Exact.cross(&training, &queries, k, metric).unwrap();
        for i in 0..new {
            let alone = Matrix::new(queries.row(i), 1, columns).unwrap();
            let alone = Exact.cross(&training, &alone, k, metric).unwrap();
            prop_assert_eq!(found_row(&together, i), found_row(&alone, 0));
            if metric != Metric::Cosine {
                prop_assert_eq!(found_row(&together, i), plain_row(&training, queries.row(i), None, k, metric));
            }
        }
    }
}

/// Several tiles of queries and of references, and lists that overflow many times.
#[test]
fn exact_search_is_right_beyond_one_tile() {
    let samples = clouds(3, 2600, 9, 10.0);
    for metric in METRICS {
        assert_nearest(&samples, &Exact.search(&samples, 20, metric).unwrap(), metric);
    }
    let ties = grid(4, 2600, 3, 4);
    let neighbors = Exact.search(&ties, 11, Metric::SquaredEuclidean).unwrap();
    for i in (0..2600).step_by(13) {
        let expected = plain_row(&ties, ties.row(i), Some(i), 11, Metric::SquaredEuclidean);
        assert_eq!(found_row(&neighbors, i), expected, "row {i}");
    }
}

#[test]
fn every_index_comes_back_from_its_place_among_ties() {
    for i in (0..1 << 20).step_by(997).chain([0, u32::MAX as usize]) {
        for j in [0, 1, 2, 255, 65_536, i as u32, u32::MAX] {
            assert_eq!(index_of(key(1.5, Ties::of(i), j), Ties::of(i)), j, "{i} {j}");
        }
    }
}

/// Nobody is named by many more than by others, as samples of low indices would be if ties went to them.
#[test]
fn equal_samples_are_named_equally_often() {
    let equal = Matrix::new(vec![0.1f32; 2000 * 3], 2000, 3).unwrap();
    let one_hot = Matrix::from_fn(500, 500, |i, j| f32::from(u8::from(i == j)));
    for (samples, k) in [(equal, 40), (one_hot, 90)] {
        for search in [&Exact as &dyn NeighborSearch, &Descent::new(1)] {
            let neighbors = search.search(&samples, k, Metric::SquaredEuclidean).unwrap();
            let mut named = vec![0usize; samples.rows()];
            for i in 0..samples.rows() {
                neighbors.row(i).0.iter().for_each(|&j| named[j as usize] += 1);
                let mut distinct = neighbors.row(i).0.to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                assert!(distinct.len() == k && !distinct.contains(&(i as u32)), "row {i}");
            }
            // Binomial: five standard deviations.
            let spread = 5.0 * (k as f64).sqrt();
            let (least, most) = (*named.iter().min().unwrap(), *named.iter().max().unwrap());
            assert!(least as f64 > k as f64 - spread && (most as f64) < k as f64 + spread, "{least} to {most}");
        }
    }
}

/// One far sample makes the others all but equal for the fast arithmetic.
#[test]
fn an_outlier_hides_nobody() {
    let mut samples = clouds(5, 900, 4, 0.0);
    samples.row_mut(17).fill(1e9);
    let neighbors = Exact.search(&samples, 8, Metric::SquaredEuclidean).unwrap();
    assert_nearest(&samples, &neighbors, Metric::SquaredEuclidean);
}

#[test]
fn samples_as_small_or_large_as_f32_allows_are_measured() {
    for scale in [1e-30f32, 1e-12, 1e12, 1e30] {
        let mut samples = clouds(6, 300, 5, 0.0);
        samples.values_mut().iter_mut().for_each(|v| *v *= scale);
        let neighbors = Exact.search(&samples, 5, Metric::Euclidean).unwrap();
        for i in 0..300 {
            let expected = plain_row(&samples, samples.row(i), Some(i), 5, Metric::Euclidean);
            let expected: Vec<u32> = expected.into_iter().map(|(_, j)| j).collect();
            assert_eq!(neighbors.row(i).0, expected, "scale {scale}, row {i}");
        }
    }
    let huge = Matrix::new(vec![1e30f32, 0.0, -1e30], 3, 1).unwrap();
    let error = Exact.search(&huge, 1, Metric::SquaredEuclidean).unwrap_err();
    assert!(
        matches!(&error, Error::Parameter { name: "distance", allowed, .. } if allowed.contains("row 0")),
        "{error}"
    );
}

#[test]
fn a_guess_that_is_too_low_is_noticed() {
    // Enough samples for a guess, on coordinates whose distances are exact. In the first, all are as
    // far from sample 0, so that rounding alone would decide who is within the guess; in the second,
    // those that the guess is made from lie closer together than the rest.
    let signs = grid(8, 5000, 16, 2);
    let shell = Matrix::from_fn(5000, 16, |i, j| if i == 0 { 0.0 } else { 8.0 * signs[(i, j)] - 3.0 });
    let fine = grid(9, 5000, 3, 40);
    let lopsided = Matrix::from_fn(5000, 3, |i, j| fine[(i, j)] + if i % 4 == 0 { 0.0 } else { 4000.0 });
    for samples in [shell, lopsided] {
        let neighbors = Exact.search(&samples, 15, Metric::SquaredEuclidean).unwrap();
        for i in [0, 1, 4, 400, 4999] {
            let expected = plain_row(&samples, samples.row(i), Some(i), 15, Metric::SquaredEuclidean);
            assert_eq!(found_row(&neighbors, i), expected, "row {i}");
        }
    }
}

#[test]
fn threads_change_no_byte() {
    let samples = clouds(7, 1500, 12, 0.0);
    let searches: [(&dyn NeighborSearch, Matrix<'_, f32>); 2] =
        [(&Exact, samples), (&Descent::new(3).max_rounds(3), clouds(7, 9000, 12, 0.0))];
    for (search, samples) in searches {
        for metric in METRICS {
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| search.search(&samples, 15, metric).unwrap())
            };
            let bits = |n: &Neighbors| n.distances().iter().map(|d| d.to_bits()).collect::<Vec<_>>();
            let one = with(1);
            for threads in [2, 4] {
                let more = with(threads);
                assert_eq!(one.indices(), more.indices());
                assert_eq!(bits(&one), bits(&more));
            }
        }
    }
}

#[test]
fn given_neighbors_are_sorted_and_checked() {
    let indices = vec![2, 1, 0, 2, 1, 0];
    let neighbors = Neighbors::new(2, indices.clone(), vec![1.0, 1.0, 3.0, 2.0, 0.5, -0.0]).unwrap();
    let (tied, distances) = neighbors.row(0);
    assert!((tied == [1, 2] || tied == [2, 1]) && distances == [1.0, 1.0], "{tied:?} {distances:?}");
    assert_eq!(neighbors.row(1), (&[2, 0][..], &[2.0, 3.0][..]));
    assert_eq!(neighbors.row(2).0, &[0, 1]);
    assert_eq!((neighbors.len(), neighbors.k()), (3, 2));

    let with = |at: usize, j: u32| {
        let mut indices = indices.clone();
        indices[at] = j;
        Neighbors::new(2, indices, vec![1.0; 6])
    };
    let problem = |result: Result<Neighbors>| result.unwrap_err().to_string();
    assert!(problem(with(2, 3)).contains("less than 3, the number of samples (row 1)"));
    assert!(problem(with(2, 1)).contains("row 1 itself"));
    assert!(problem(with(4, 0)).contains("once in row 2"));
    assert!(matches!(Neighbors::new(0, vec![], vec![]), Err(Error::Parameter { .. })));
    assert!(matches!(Neighbors::new(3, indices.clone(), vec![1.0; 6]), Err(Error::Parameter { .. })));
    assert!(matches!(Neighbors::new(2, vec![1, 2, 0, 2, 0, 1, 1], vec![1.0; 7]), Err(Error::Shape { .. })));
    assert!(matches!(Neighbors::new(2, indices.clone(), vec![1.0; 5]), Err(Error::Shape { .. })));
    let distances = vec![1.0, 1.0, 1.0, f32::NAN, 1.0, 1.0];
    let expected = Neighbors::new(2, indices.clone(), distances);
    assert!(matches!(expected, Err(Error::NotFinite { row: 1, column: 1, .. })));
    assert!(problem(Neighbors::new(2, indices, vec![1.0, 1.0, 1.0, -2.0, 1.0, 1.0])).contains("row 1"));
}

#[test]
fn given_distances_rank_like_samples() {
    let samples = grid(8, 40, 3, 5);
    let distances = Matrix::from_fn(40, 40, |i, j| {
        let own = if i == j { f64::NAN } else { 0.0 };
        own + plain_distance(samples.row(i), samples.row(j), Metric::Manhattan)
    });
    let expected = Exact.search(&samples, 6, Metric::Manhattan).unwrap();
    assert_eq!(Neighbors::from_distances(&distances, 6).unwrap(), expected);

    let matrix = |rows, columns| Matrix::from_fn(rows, columns, |i, j| (i + j) as f32);
    assert!(matches!(Neighbors::from_distances(&matrix(4, 3), 2), Err(Error::Shape { expected: 4, found: 3, .. })));
    assert!(matches!(Neighbors::from_distances(&matrix(4, 4), 4), Err(Error::Parameter { .. })));
    let mut bad = matrix(4, 4);
    bad[(2, 3)] = -1.0;
    assert!(Neighbors::from_distances(&bad, 1).unwrap_err().to_string().contains("row 2, column 3"));
    bad[(2, 3)] = f32::INFINITY;
    assert!(matches!(Neighbors::from_distances(&bad, 1), Err(Error::NotFinite { row: 2, column: 3, .. })));
}

#[test]
fn bad_input_is_named() {
    let searches: [&dyn NeighborSearch; 2] = [&Exact, &Descent::new(0)];
    for search in searches {
        let samples = grid(9, 5, 2, 9);
        let refused = |samples: &Matrix<'_, f32>, k, metric| search.search(samples, k, metric).unwrap_err();
        for k in [0, 5, 6] {
            let error = refused(&samples, k, Metric::Euclidean);
            assert!(
                matches!(&error, Error::Parameter { name: "neighbors", value, .. } if *value == k as f64),
                "{error}"
            );
        }
        let mut bad = samples.clone();
        bad[(3, 1)] = f32::NAN;
        let error = refused(&bad, 1, Metric::Manhattan);
        assert!(matches!(error, Error::NotFinite { what: "samples", row: 3, column: 1, .. }), "{error}");
        bad.row_mut(3).fill(0.0);
        assert!(search.search(&bad, 1, Metric::Euclidean).is_ok());
        let error = refused(&bad, 1, Metric::Cosine);
        assert!(error.to_string().contains("row 3"), "{error}");
        for (rows, columns) in [(0, 2), (1, 2), (3, 0)] {
            let error = refused(&Matrix::zeros(rows, columns), 1, Metric::Euclidean);
            assert!(matches!(error, Error::Parameter { .. }), "{rows}×{columns}: {error}");
        }
    }
}

#[test]
fn bad_new_samples_are_named() {
    let (training, new) = (grid(10, 5, 2, 9), grid(11, 3, 2, 9));
    let refused = |training: &Matrix<'_, f32>, new: &Matrix<'_, f32>, k| {
        Exact.cross(training, new, k, Metric::Cosine).unwrap_err()
    };
    assert!(matches!(refused(&training, &new, 6), Error::Parameter { name: "neighbors", .. }));
    assert!(matches!(refused(&training, &new, 0), Error::Parameter { name: "neighbors", .. }));
    assert!(matches!(refused(&Matrix::zeros(0, 2), &new, 1), Error::Parameter { .. }));
    assert!(matches!(refused(&training, &grid(1, 3, 3, 9), 1), Error::Shape { expected: 2, found: 3, .. }));
    let mut bad = new.clone();
    bad[(1, 0)] = f32::INFINITY;
    assert!(matches!(refused(&training, &bad, 1), Error::NotFinite { row: 1, column: 0, .. }));
    bad.row_mut(1).fill(0.0);
    assert!(refused(&training, &bad, 1).to_string().contains("row 1"));
    assert_eq!(Exact.cross(&training, &new, 5, Metric::Cosine).unwrap().k(), 5);
    assert!(Exact.cross(&training, &Matrix::zeros(0, 2), 5, Metric::Cosine).unwrap().is_empty());
}

/// Samples on a bent sheet in many dimensions, as real data are: few true dimensions, curved.
fn sheet(seed: u64, rows: usize, columns: usize) -> Matrix<'static, f32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let bends = Matrix::<f32>::from_fn(columns, 6, |_, _| 3.0 * (rng.random::<f32>() - 0.5));
    let hidden = Matrix::<f32>::from_fn(rows, 5, |_, _| rng.random());
    Matrix::from_fn(rows, columns, |i, j| {
        let along: f32 = hidden.row(i).iter().zip(bends.row(j)).map(|(h, b)| h * b).sum();
        (along + bends[(j, 5)]).sin()
    })
}

fn recall(found: &Neighbors, truth: &Neighbors) -> f64 {
    let hits = |i: usize| truth.row(i).0.iter().filter(|j| found.row(i).0.contains(j)).count();
    (0..truth.len()).map(hits).sum::<usize>() as f64 / truth.indices().len() as f64
}

#[test]
fn descent_finds_nearly_all() {
    let samples = sheet(12, 12_000, 24);
    for metric in METRICS {
        let truth = Exact.search(&samples, 15, metric).unwrap();
        let found = Descent::new(1).search(&samples, 15, metric).unwrap();
        let recall = recall(&found, &truth);
        assert!(recall > 0.97, "{metric:?}: recall {recall}");
        for i in 0..samples.rows() {
            let row = found_row(&found, i);
            assert!(row.windows(2).all(|pair| pair[0] < pair[1]), "row {i} does not ascend");
            assert!(row.iter().all(|&(_, j)| j as usize != i), "row {i} finds itself");
            for (distance, j) in row {
                // Where both searches name a sample, they measure it the same.
                let at = truth.row(i).0.iter().position(|&t| t == j);
                assert!(at.is_none_or(|at| truth.row(i).1[at].to_bits() == distance.to_bits()), "row {i}");
            }
        }
    }
}

/// The groups of a few rounds do not find this many by themselves.
#[test]
fn neighbors_of_neighbors_do_the_work() {
    let samples = sheet(16, 12_000, 24);
    let truth = Exact.search(&samples, 15, Metric::Euclidean).unwrap();
    let after = |rounds| {
        let found = Descent::new(1).max_rounds(rounds).search(&samples, 15, Metric::Euclidean).unwrap();
        recall(&found, &truth)
    };
    let (one, three) = (after(1), after(3));
    assert!(one < 0.9 && three > 0.99, "recall {one} after one round, {three} after three");
}

#[test]
fn descent_depends_on_its_seed_and_on_nothing_else() {
    let samples = sheet(13, 9000, 10);
    let search = |seed| Descent::new(seed).max_rounds(1).search(&samples, 10, Metric::Euclidean).unwrap();
    assert_eq!(search(4), search(4));
    assert_ne!(search(4), search(5));
}

/// More equal samples than a group or a pool holds.
#[test]
fn descent_survives_duplicates() {
    let mut samples = sheet(14, 9000, 3);
    (0..6000).for_each(|i| samples.row_mut(i).fill(0.5));
    let neighbors = Descent::new(0).search(&samples, 12, Metric::SquaredEuclidean).unwrap();
    assert!((0..6000).all(|i| neighbors.row(i).1.iter().all(|d| *d == 0.0)));
    let huge = Matrix::from_fn(9000, 1, |i, _| i as f32 * 1e34);
    let error = Descent::new(0).search(&huge, 2, Metric::SquaredEuclidean).unwrap_err();
    assert!(matches!(error, Error::Parameter { name: "distance", .. }), "{error}");
}

#[test]
fn the_choice_of_search_changes_nothing_for_few_samples() {
    let samples = sheet(15, 500, 6);
    let chosen = nearest_neighbors(&samples, 9, Metric::Cosine, 0).unwrap();
    assert_eq!(chosen, Exact.search(&samples, 9, Metric::Cosine).unwrap());
    assert_eq!(chosen, Descent::new(0).search(&samples, 9, Metric::Cosine).unwrap());
}
