use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

/// Samples whose variance falls from direction to direction, mixed, far from the origin.
fn mixed(seed: u64, rows: usize, columns: usize) -> Matrix<'static> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let hidden = columns.min(30);
    let mixing = Matrix::from_fn(hidden, columns, |_, _| rng.random::<f64>() - 0.5);
    let factors = Matrix::from_fn(rows, hidden, |_, j| (rng.random::<f64>() - 0.5) * 0.8f64.powi(j as i32));
    Matrix::from_fn(rows, columns, |i, j| 100.0 + (0..hidden).map(|h| factors[(i, h)] * mixing[(h, j)]).sum::<f64>())
}

/// The covariance, entry by entry.
fn plain_covariance(samples: &Matrix<'_>) -> Matrix<'static> {
    let (rows, columns) = (samples.rows(), samples.columns());
    let mean: Vec<f64> = (0..columns).map(|j| (0..rows).map(|i| samples[(i, j)]).sum::<f64>() / rows as f64).collect();
    Matrix::from_fn(columns, columns, |a, b| {
        let products = (0..rows).map(|i| (samples[(i, a)] - mean[a]) * (samples[(i, b)] - mean[b]));
        products.sum::<f64>() / (rows - 1) as f64
    })
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Orthonormal rows that the covariance only stretches, by falling variances.
fn assert_principal(pca: &Pca, covariance: &Matrix<'_>, tolerance: f64) {
    let (components, variances) = (pca.components(), pca.explained_variance());
    let scale = variances[0];
    assert!(variances.windows(2).all(|pair| pair[0] >= pair[1] && pair[1] >= 0.0));
    for a in 0..components.rows() {
        for b in 0..=a {
            let expected = if a == b { 1.0 } else { 0.0 };
            assert!((dot(components.row(a), components.row(b)) - expected).abs() < 1e-9, "components {a}, {b}");
        }
        for j in 0..covariance.rows() {
            let stretched = dot(covariance.row(j), components.row(a));
            let difference = (stretched - variances[a] * components[(a, j)]).abs();
            assert!(difference <= tolerance * scale, "component {a}, feature {j}: {difference}");
        }
        let largest = components.row(a).iter().fold(0.0f64, |best, v| if v.abs() > best.abs() { *v } else { best });
        assert!(largest > 0.0, "the sign of component {a}");
    }
}

#[test]
fn components_are_eigenvectors_of_the_covariance() {
    for (rows, columns, wanted) in [(200, 7, 7), (1500, 300, 12), (20, 40, 20), (3, 2, 1)] {
        let samples = mixed(1, rows, columns);
        let pca = Pca::fit(&samples, wanted, 0).unwrap();
        let covariance = plain_covariance(&samples);
        assert_principal(&pca, &covariance, 1e-10);
        let trace: f64 = (0..columns).map(|j| covariance[(j, j)]).sum();
        assert!((pca.total_variance() - trace).abs() < 1e-10 * trace);
    }
}

#[test]
fn many_features_give_the_same_components_without_the_covariance() {
    let samples = mixed(2, 150, EXACT_FEATURES + 5);
    let pca = Pca::fit(&samples, 8, 3).unwrap();
    assert_principal(&pca, &plain_covariance(&samples), 1e-6);
    assert_eq!(pca, Pca::fit(&samples, 8, 3).unwrap());
}

#[test]
fn a_subspace_beyond_the_rank_is_still_orthonormal() {
    let mut samples = Matrix::zeros(6, EXACT_FEATURES + 1);
    (0..6).for_each(|i| samples[(i, 0)] = i as f64);
    let pca = Pca::fit(&samples, 4, 0).unwrap();
    assert!((pca.explained_variance()[0] - 3.5).abs() < 1e-12);
    assert!(pca.explained_variance()[1..].iter().all(|v| v.abs() < 1e-12));
    for a in 0..4 {
        for b in 0..4 {
            let expected = if a == b { 1.0 } else { 0.0 };
            assert!((dot(pca.components().row(a), pca.components().row(b)) - expected).abs() < 1e-9);
        }
    }
}

#[test]
fn coordinates_have_the_explained_variances_and_no_correlation() {
    let samples = mixed(4, 500, 30);
    let pca = Pca::fit(&samples, 18, 0).unwrap();
    let covariance = plain_covariance(&pca.transform(&samples).unwrap());
    for a in 0..18 {
        for b in 0..18 {
            let expected = if a == b { pca.explained_variance()[a] } else { 0.0 };
            assert!((covariance[(a, b)] - expected).abs() < 1e-10, "{a}, {b}");
        }
    }
}

#[test]
fn a_sample_is_projected_the_same_alone_and_in_company() {
    let samples = mixed(5, 103, 37);
    let samples = Matrix::from_fn(103, 37, |i, j| samples[(i, j)] as f32);
    let pca = Pca::fit(&samples, 19, 0).unwrap();
    let together = pca.transform(&samples).unwrap();
    for i in 0..103 {
        let alone = pca.transform(&Matrix::new(samples.row(i), 1, 37).unwrap()).unwrap();
        assert_eq!(alone.row(0), together.row(i));
    }
}

#[test]
fn threads_change_no_byte() {
    for columns in [300, EXACT_FEATURES + 1] {
        let samples = mixed(6, 1200.min(300_000 / columns), columns);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let pca = Pca::fit(&samples, 5, 1).unwrap();
                let projected = pca.transform(&samples).unwrap();
                (pca, projected)
            })
        };
        let one = with(1);
        assert!(one == with(2) && one == with(4));
    }
}

#[test]
fn wrong_input_is_refused() {
    let samples = mixed(7, 10, 4);
    for components in [0, 5] {
        let error = Pca::fit(&samples, components, 0).unwrap_err();
        assert!(matches!(error, Error::Parameter { name: "components", .. }), "{error}");
    }
    let mut bad = samples.clone();
    bad[(7, 2)] = f64::NAN;
    assert!(matches!(Pca::fit(&bad, 2, 0), Err(Error::NotFinite { row: 7, column: 2, .. })));
    bad[(7, 2)] = 1e160;
    assert!(Pca::fit(&bad, 2, 0).unwrap_err().to_string().contains("row 7, column 2"));
    let pca = Pca::fit(&samples, 2, 0).unwrap();
    assert!(matches!(pca.transform(&Matrix::<f32>::zeros(3, 5)), Err(Error::Shape { expected: 4, found: 5, .. })));
    bad[(7, 2)] = f64::INFINITY;
    assert!(matches!(pca.transform(&bad), Err(Error::NotFinite { row: 7, column: 2, .. })));
    assert!(Pca::fit(&Matrix::<f32>::zeros(0, 2), 1, 0).is_err());
    assert_eq!(pca.transform(&Matrix::<f64>::zeros(0, 4)).unwrap().rows(), 0);
}

/// All samples equal: no direction is better than another, and nothing is divided by zero.
#[test]
fn samples_without_variance_have_components() {
    let samples = Matrix::new(vec![3.0f32; 12], 4, 3).unwrap();
    let pca = Pca::fit(&samples, 2, 0).unwrap();
    assert_eq!(pca.explained_variance(), &[0.0, 0.0]);
    assert!(pca.transform(&samples).unwrap().values().iter().all(|v| *v == 0.0));
}
