//! Every gradient against finite differences, every normalisation against what it promises.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::numeric::Matrix;

fn random(rows: usize, columns: usize, seed: u64) -> Matrix<'static> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Matrix::from_fn(rows, columns, |_, _| 2.0 * rng.random::<f64>() - 1.0)
}

fn weights(n: usize, unused: Option<usize>) -> Vec<f64> {
    let raw = random(1, n, 77);
    let mut q: Vec<f64> = raw.values().iter().map(|v| 1.2 + v).collect();
    if let Some(k) = unused {
        q[k] = 0.0;
    }
    let total: f64 = q.iter().sum();
    q.iter().map(|v| v / total).collect()
}

const PROFILES: [Profile; 4] =
    [Profile::Gaussian, Profile::Student, Profile::HeavyTailed, Profile::Umap { a: 1.577, b: 0.895 }];
const NORMALIZATIONS: [Normalization; 6] = [
    Normalization::None,
    Normalization::Cells,
    Normalization::Measure,
    Normalization::Rows,
    Normalization::DoublyStochastic,
    Normalization::DoublyStochasticCells,
];

/// Σ u·C + v·C², with arbitrary (asymmetric) u and v: its gradient has no structure to hide behind.
fn assert_gradient(kernel: &dyn PrototypeKernel, z: &Matrix<'_>, q: &[f64], name: &str) {
    let n = z.rows();
    let (u, v) = (random(n, n, 5), random(n, n, 6));
    let loss = |z: &Matrix<'_>| {
        let c = kernel.eval(z, q).expect("a kernel");
        let terms = c.values().iter().zip(u.values()).zip(v.values());
        terms.map(|((c, u), v)| u * c + v * c * c).sum::<f64>()
    };
    let c = kernel.eval(z, q).expect("a kernel");
    let gradient = Matrix::from_fn(n, n, |k, l| u[(k, l)] + 2.0 * v[(k, l)] * c[(k, l)]);
    let found = kernel.pull_back(z, q, &c, &gradient).expect("a gradient");
    let scale = found.values().iter().fold(0.0f64, |m, g| m.max(g.abs()));
    assert!(scale > 1e-6, "{name}: the gradient is zero");
    for at in 0..z.values().len() {
        let step = 1e-5;
        let moved = |by: f64| {
            let mut moved = z.clone();
            moved.values_mut()[at] += by;
            loss(&moved)
        };
        let expected = (moved(step) - moved(-step)) / (2.0 * step);
        let error = (found.values()[at] - expected).abs();
        assert!(error <= 1e-7 * scale.max(1.0) + 1e-6 * scale, "{name}[{at}]: {} {expected}", found.values()[at]);
    }
}

#[test]
fn radial_gradients_are_exact() {
    for profile in PROFILES {
        for normalization in NORMALIZATIONS {
            for unused in [None, Some(3)] {
                let name = format!("{profile:?} {normalization:?} {unused:?}");
                assert_gradient(&Radial { profile, normalization }, &random(9, 2, 1), &weights(9, unused), &name);
            }
        }
    }
}

#[test]
fn gram_gradients_are_exact() {
    assert_gradient(&Gram, &random(8, 3, 2), &weights(8, Some(2)), "gram");
    assert_gradient(&OrthonormalGram, &random(8, 3, 3), &weights(8, Some(2)), "orthonormal gram");
}

#[test]
fn normalisations_keep_their_promise() {
    let (z, q) = (random(12, 2, 4), weights(12, Some(5)));
    for profile in PROFILES {
        let eval = |normalization| Radial { profile, normalization }.eval(&z, &q).expect("a kernel");
        let weighted = |c: &Matrix<'_>, k: usize| c.row(k).iter().zip(&q).map(|(c, q)| c * q).sum::<f64>();
        let raw = eval(Normalization::None);
        assert!((0..12).all(|k| raw[(k, k)] == 1.0));
        assert!((eval(Normalization::Cells).values().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let measure = eval(Normalization::Measure);
        assert!(((0..12).map(|k| q[k] * weighted(&measure, k)).sum::<f64>() - 1.0).abs() < 1e-12);
        let rows = eval(Normalization::Rows);
        let doubly = eval(Normalization::DoublyStochastic);
        let plain = eval(Normalization::DoublyStochasticCells);
        assert!((0..12).all(|k| (plain.row(k).iter().sum::<f64>() - 1.0).abs() < 1e-11));
        for k in 0..12 {
            assert!((weighted(&rows, k) - 1.0).abs() < 1e-12);
            assert!((weighted(&doubly, k) - 1.0).abs() < 1e-11, "{profile:?} {}", weighted(&doubly, k));
            assert!((0..12).all(|l| (doubly[(k, l)] - doubly[(l, k)]).abs() <= 1e-12 * doubly[(k, l)]));
        }
    }
}

#[test]
fn far_prototypes_keep_a_positive_kernel() {
    let z = Matrix::new(vec![0.0, 1e3, -1e3, 1e3 + 0.5], 4, 1).expect("prototypes");
    let q = [0.25; 4];
    for normalization in NORMALIZATIONS {
        let kernel = Radial { profile: Profile::Gaussian, normalization };
        let c = kernel.eval(&z, &q).expect("a kernel");
        assert!(c.values().iter().all(|c| *c > 0.0 && c.is_finite()), "{normalization:?}");
        // The gradient of −⟨M, log C⟩ with all mass on the farthest pair: finite, though C is tiny.
        let gradient = Matrix::from_fn(4, 4, |k, l| if (k, l) == (1, 2) { -1.0 / c[(k, l)] } else { 0.0 });
        let found = kernel.pull_back(&z, &q, &c, &gradient).expect("a gradient");
        assert!(found.values().iter().all(|g| g.is_finite()), "{normalization:?}");
        assert!(found[(1, 0)] > 0.0 && found[(2, 0)] < 0.0, "{normalization:?}: descent brings them together");
    }
}

/// With M·1 = q the doubly stochastic gradient of −⟨M, log C⟩ + qᵀCq is that of a kernel whose scaling
/// is held fixed.
#[test]
fn the_envelope_theorem_holds() {
    let (z, q) = (random(7, 2, 8), weights(7, None));
    let kernel = Radial { profile: Profile::Gaussian, normalization: Normalization::DoublyStochastic };
    let c = kernel.eval(&z, &q).expect("a kernel");
    // Any doubly stochastic target against q will do: that of other prototypes.
    let other = kernel.eval(&random(7, 2, 9), &q).expect("a kernel");
    let mass = Matrix::from_fn(7, 7, |k, l| q[k] * other[(k, l)] * q[l]);
    let gradient = Matrix::from_fn(7, 7, |k, l| q[k] * q[l] - mass[(k, l)] / c[(k, l)]);
    let found = kernel.pull_back(&z, &q, &c, &gradient).expect("a gradient");
    for k in 0..7 {
        for axis in 0..2 {
            let term = |l: usize| 4.0 * (mass[(k, l)] - q[k] * c[(k, l)] * q[l]) * (z[(k, axis)] - z[(l, axis)]);
            let expected: f64 = (0..7).map(term).sum();
            assert!((found[(k, axis)] - expected).abs() < 1e-10, "{} {expected}", found[(k, axis)]);
        }
    }
}

#[test]
fn orthonormal_gram_is_a_projection() {
    let (z, q) = (random(10, 3, 10), weights(10, None));
    let c = OrthonormalGram.eval(&z, &q).expect("a kernel");
    for k in 0..10 {
        for l in 0..10 {
            let twice: f64 = (0..10).map(|m| c[(k, m)] * q[m] * c[(m, l)]).sum();
            assert!((twice - c[(k, l)]).abs() < 1e-10);
        }
    }
    let dependent = Matrix::from_fn(10, 2, |k, _| k as f64);
    assert!(OrthonormalGram.eval(&dependent, &q).is_err(), "two equal columns span one direction");
}

/// Values of umap-learn 0.5.12, `umap.umap_.find_ab_params(spread, min_dist)`.
#[test]
fn umap_curves_are_those_of_umap_learn() {
    for (min_dist, spread, a, b) in [
        (0.1, 1.0, 1.576_943_460, 0.895_060_878),
        (0.0, 1.0, 1.932_808_397, 0.790_494_973),
        (0.5, 1.0, 0.583_030_020, 1.334_166_992),
        (0.01, 0.5, 5.720_240_827, 0.810_876_759),
        (0.9, 1.0, 0.164_903_885, 1.803_038_468),
        (0.25, 2.0, 0.416_273_497, 0.921_855_132),
    ] {
        let Profile::Umap { a: found_a, b: found_b } = Profile::umap(min_dist, spread).expect("a curve") else {
            panic!("not a curve of UMAP")
        };
        assert!((found_a - a).abs() <= 1e-5 * a && (found_b - b).abs() <= 1e-5 * b, "{found_a} {found_b}");
    }
}

#[test]
fn bad_input_is_named() {
    let kernel = Radial { profile: Profile::Student, normalization: Normalization::Measure };
    let z = random(3, 2, 1);
    let message = |found: crate::Result<Matrix<'static>>| found.expect_err("refused").to_string();
    assert!(message(kernel.eval(&z, &[0.5, 0.5])).contains("expected 3, found 2"));
    assert!(message(kernel.eval(&z, &[0.0; 3])).contains("sum of the prototype weights"));
    let balanced = Radial { normalization: Normalization::DoublyStochastic, ..kernel };
    assert!(message(balanced.eval(&z, &[0.0; 3])).contains("sum of the prototype weights"));
    assert!(message(balanced.eval(&z, &[0.5, -0.5, 1.0])).contains("prototype 1"));
    assert!(message(kernel.pull_back(&z, &[0.3; 3], &Matrix::zeros(3, 3), &Matrix::zeros(2, 3))).contains("gradient"));
    assert!(
        Profile::umap(2.0, 1.0).is_err() && Profile::umap(0.1, 0.0).is_err() && Profile::umap(f64::NAN, 1.0).is_err()
    );
}
