//! How far the neighbours on a map are those of the samples.
//!
//! With r(i,j) the rank of sample j among the neighbours of i by distance between samples, and K(i) the
//! k nearest neighbours of i on the map, trustworthiness charges every neighbour on the map for how far
//! beyond the k-th place it stands among the samples (Venna and Kaski, 2001):
//!
//! ```text
//! T(k) = 1 − 2 / (N·k·(2N − 3k − 1))·Σ_i Σ_{j∈K(i)} max(0, r(i,j) − k)
//! ```
//!
//! Ranks are counted tile by tile, exactly, and no N×N matrix is kept: beside the samples, 16·N·k bytes
//! and about 1 MB a thread. Neighbours are those of the crate's exact search: Euclidean, of coordinates
//! in single precision, ties to the smaller index.

use crate::data::Samples;
use crate::error::{Error, Result};
use crate::neighbors::{Exact, Metric, Neighbors, ranks};

/// Whether neighbours on the map are neighbours among the samples: 1 if all of them are, about 1/2 for a
/// random map. N²·(p + d) operations.
///
/// Refuses `k` of half the samples or more, for which the score has no lower bound of 0.
///
/// ```
/// use gromap::{Matrix, metrics::trustworthiness};
/// let samples = Matrix::new(vec![0.0, 1.0, 2.0, 10.0, 12.0], 5, 1)?;
/// let map = Matrix::new(vec![0.0, 1.0, 9.0, 10.0, 12.0], 5, 1)?;
/// // On the map, the third and the fourth are nearest to each other. Among the samples, the fourth is
/// // the third nearest of the third (2 too far), and the third the second of the fourth (1 too far).
/// assert!((trustworthiness(&samples, &map, 1)? - (1.0 - 2.0 / 30.0 * 3.0)).abs() < 1e-15);
/// # Ok::<(), gromap::Error>(())
/// ```
pub fn trustworthiness<'s, 'e>(
    samples: impl Into<Samples<'s>>,
    embedding: impl Into<Samples<'e>>,
    k: usize,
) -> Result<f64> {
    trust(&samples.into(), &embedding.into(), k)
}

fn trust(samples: &Samples<'_>, embedding: &Samples<'_>, k: usize) -> Result<f64> {
    let count = samples.len();
    Error::check_len("rows of the embedding", count, embedding.len())?;
    if k == 0 || 2 * k >= count {
        let allowed = format!("at least 1 and less than half the number of samples, {count}");
        return Err(Error::parameter("neighbors", k as f64, allowed));
    }
    let ranks = ranks(&samples.single(), &neighbors("embedding", embedding, k)?, Metric::SquaredEuclidean)?;
    let excess: u64 = ranks.into_iter().map(|rank| u64::from(rank).saturating_sub(k as u64)).sum();
    let (n, k) = (count as f64, k as f64);
    Ok(1.0 - excess as f64 * (2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))))
}

/// The mean share of the `k` nearest neighbours of a sample that are still among its `k` nearest on the
/// map. N²·(p + d) operations.
///
/// ```
/// use gromap::{Matrix, metrics::neighborhood_preservation};
/// let samples = Matrix::new(vec![0.0, 1.0, 2.0, 10.0, 12.0], 5, 1)?;
/// let map = Matrix::new(vec![0.0, 1.0, 9.0, 10.0, 12.0], 5, 1)?;
/// assert_eq!(neighborhood_preservation(&samples, &map, 1)?, 3.0 / 5.0);
/// # Ok::<(), gromap::Error>(())
/// ```
pub fn neighborhood_preservation<'s, 'e>(
    samples: impl Into<Samples<'s>>,
    embedding: impl Into<Samples<'e>>,
    k: usize,
) -> Result<f64> {
    preserved(&samples.into(), &embedding.into(), k)
}

fn preserved(samples: &Samples<'_>, embedding: &Samples<'_>, k: usize) -> Result<f64> {
    Error::check_len("rows of the embedding", samples.len(), embedding.len())?;
    let (before, after) = (neighbors("samples", samples, k)?, neighbors("embedding", embedding, k)?);
    let mut sorted = Vec::with_capacity(k);
    let mut kept = 0;
    for i in 0..before.len() {
        sorted.clear();
        sorted.extend_from_slice(before.row(i).0);
        sorted.sort_unstable();
        kept += after.row(i).0.iter().filter(|j| sorted.binary_search(j).is_ok()).count();
    }
    Ok(kept as f64 / before.indices().len() as f64)
}

/// The `k` nearest neighbours, exactly.
fn neighbors(what: &'static str, points: &Samples<'_>, k: usize) -> Result<Neighbors> {
    points.check_finite(what)?;
    Exact.ordered(&points.single(), k, Metric::SquaredEuclidean)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Matrix;
    use crate::affinity::testing::{cloud, line, scattered};

    /// The others of a row by squared distance, then index.
    fn order(points: &Matrix<'_, f32>, i: usize) -> Vec<usize> {
        let distance = |j: usize| {
            let pairs = points.row(i).iter().zip(points.row(j));
            pairs.map(|(&x, &y)| (f64::from(x) - f64::from(y)).powi(2)).sum::<f64>() as f32
        };
        let mut others: Vec<usize> = (0..points.rows()).filter(|&j| j != i).collect();
        others.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
        others
    }

    /// Both scores, by sorting everything.
    fn plain(samples: &Matrix<'_, f32>, embedding: &Matrix<'_, f32>, k: usize) -> (f64, f64) {
        let n = samples.rows();
        let (mut excess, mut kept) = (0, 0);
        for i in 0..n {
            let before = order(samples, i);
            for j in &order(embedding, i)[..k] {
                let rank = 1 + before.iter().position(|other| other == j).unwrap();
                excess += rank.saturating_sub(k);
                kept += usize::from(rank <= k);
            }
        }
        let worst = (n * k * (2 * n - 3 * k - 1)) as f64 / 2.0;
        (1.0 - excess as f64 / worst, kept as f64 / (n * k) as f64)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn scores_are_those_of_sorting(seed in 0u64..1 << 32, n in 3usize..200, k in 1usize..20, coarse in any::<bool>()) {
            let k = k.min((n - 1) / 2);
            // Rounded coordinates tie in many places.
            let round = |x: f32| if coarse { (4.0 * x).round() } else { x };
            let rounded = |m: Matrix<'static, f32>| Matrix::from_fn(n, m.columns(), |i, j| round(m[(i, j)]));
            let (samples, embedding) = (rounded(scattered(n, 5, seed)), rounded(cloud(n, 2, seed + 1)));
            let (trust, preserved) = plain(&samples, &embedding, k);
            prop_assert!((trustworthiness(&samples, &embedding, k).unwrap() - trust).abs() < 1e-12);
            prop_assert_eq!(neighborhood_preservation(&samples, &embedding, k).unwrap(), preserved);
        }
    }

    /// Several tiles of queries and references.
    #[test]
    fn large_sets_are_right_too() {
        let (samples, embedding) = (scattered(1500, 4, 1), cloud(1500, 2, 2));
        let (trust, preserved) = plain(&samples, &embedding, 10);
        assert!((trustworthiness(&samples, &embedding, 10).unwrap() - trust).abs() < 1e-12);
        assert_eq!(neighborhood_preservation(&samples, &embedding, 10).unwrap(), preserved);
        assert!((trust - 0.5).abs() < 0.05 && preserved < 0.02, "{trust} {preserved}");
    }

    #[test]
    fn a_map_that_keeps_distances_is_perfect() {
        let samples = scattered(400, 3, 5);
        let turned = Matrix::from_fn(400, 3, |i, j| -2.0 * f64::from(samples[(i, (j + 1) % 3)]));
        assert_eq!(trustworthiness(&samples, &turned, 7), Ok(1.0));
        assert_eq!(neighborhood_preservation(&samples, &turned, 7), Ok(1.0));
    }

    #[test]
    fn bad_input_is_named() {
        let samples = line(10);
        let broken = Matrix::from_fn(10, 2, |i, j| if (i, j) == (4, 1) { f64::NAN } else { i as f64 });
        let message = |result: Result<f64>| result.unwrap_err().to_string();
        let half = "neighbors is 5; it must be at least 1 and less than half the number of samples, 10";
        assert_eq!(message(trustworthiness(&samples, &samples, 5)), half);
        assert!(message(trustworthiness(&samples, &samples, 0)).starts_with("neighbors is 0"));
        assert!(message(neighborhood_preservation(&samples, &samples, 10)).starts_with("neighbors is 10"));
        assert_eq!(message(trustworthiness(&samples, line(9), 2)), "rows of the embedding: expected 10, found 9");
        assert_eq!(
            message(neighborhood_preservation(&samples, line(9), 2)),
            "rows of the embedding: expected 10, found 9"
        );
        assert!(message(trustworthiness(&samples, &broken, 2)).starts_with("embedding[4, 1] is NaN"));
        assert!(message(trustworthiness(&broken, &samples, 2)).starts_with("samples[4, 1] is NaN"));
        assert!(message(neighborhood_preservation(&broken, &samples, 2)).starts_with("samples[4, 1] is NaN"));
    }
}
