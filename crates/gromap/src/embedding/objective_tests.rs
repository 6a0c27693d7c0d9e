//! Every gradient against finite differences, every value against the n×n kernel it stands for.

use super::*;
use crate::embedding::Profile;
use crate::embedding::adam::Adam;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const N: usize = 9;

fn random(rows: usize, columns: usize, seed: u64) -> Matrix<'static> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Matrix::from_fn(rows, columns, |_, _| 3.0 * rng.random::<f64>() - 1.5)
}

fn mass() -> Matrix<'static> {
    let raw = random(N, N, 1);
    Matrix::from_fn(N, N, |k, l| if (k + l) % 4 == 3 { 0.0 } else { 0.01 * (raw[(k, l)].abs() + raw[(l, k)].abs()) })
}

fn weights() -> Vec<f64> {
    let raw: Vec<f64> = (0..N).map(|k| 1.0 + (k % 3) as f64).collect();
    let sum: f64 = raw.iter().sum();
    raw.iter().map(|w| w / sum).collect()
}

fn kernels() -> Vec<(Radial, Loss)> {
    let umap = Profile::Umap { a: 1.577, b: 0.895 };
    let profiles = [Profile::Student, Profile::Gaussian, Profile::HeavyTailed, umap];
    let normalizations = [
        Normalization::None,
        Normalization::Cells,
        Normalization::Measure,
        Normalization::Rows,
        Normalization::DoublyStochastic,
        Normalization::DoublyStochasticCells,
    ];
    let radial = |profile, normalization| Radial { profile, normalization };
    let kl = profiles.iter().flat_map(|&p| normalizations.iter().map(move |&n| (radial(p, n), Loss::Kl)));
    let others = profiles.iter().flat_map(|&p| {
        [(radial(p, Normalization::None), Loss::BinaryCrossEntropy), (radial(p, Normalization::Measure), Loss::Square)]
    });
    kl.chain(others).collect()
}

/// E and its gradient, from factors of one.
fn at(objective: &Objective<'_>, z: &Matrix<'_>) -> (f64, Matrix<'static>) {
    objective.value_and_gradient(z, &mut objective.scaling()).unwrap()
}

fn assert_gradient(objective: &Objective<'_>, z: &Matrix<'_>, name: &str) {
    let mut scaling = objective.scaling();
    let (_, gradient) = objective.value_and_gradient(z, &mut scaling).unwrap();
    assert_eq!(objective.gradient(z, &mut scaling).unwrap(), gradient, "{name}");
    let step = 1e-6;
    for entry in 0..z.values().len() {
        let value = |by: f64| {
            let mut moved = z.clone().into_owned();
            moved.values_mut()[entry] += by;
            at(objective, &moved).0
        };
        let expected = (value(step) - value(-step)) / (2.0 * step);
        let found = gradient.values()[entry];
        assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{name} {entry}: {found} {expected}");
    }
}

#[test]
fn gradients_are_finite_differences() {
    let (mass, q) = (mass(), weights());
    for (kernel, loss) in kernels() {
        for dims in [1, 2, 3] {
            let objective = Objective::new(kernel, loss, &mass, &q);
            assert_gradient(&objective, &random(N, dims, 7), &format!("{kernel:?} {loss}"));
            assert_gradient(
                &objective.with_early_exaggeration(4.0),
                &random(N, dims, 7),
                &format!("{kernel:?} {loss} exaggerated"),
            );
            let alone = Objective::new(kernel, loss, &mass, &q).without_self_pairs();
            assert_gradient(&alone, &random(N, dims, 8), &format!("{kernel:?} {loss} without self pairs"));
        }
    }
}

/// The pass over pairs against the n×n matrices of the kernel, up to terms without Z.
#[test]
fn values_differ_as_the_loss_of_the_kernel_does() {
    let (mass, q) = (mass(), weights());
    for (kernel, loss) in kernels().into_iter().filter(|&(kernel, loss)| Objective::is_of_pair_sums(kernel, loss)) {
        let objective = Objective::new(kernel, loss, &mass, &q);
        let margins: Vec<f64> = (0..N).map(|k| mass.row(k).iter().sum()).collect();
        let by_definition = |z: &Matrix<'_>| {
            let c = kernel.matched(z, &q, &margins).unwrap();
            let pairs = (0..N).flat_map(|k| (0..N).map(move |l| (k, l)));
            let pairs = pairs.filter(|(k, l)| loss != Loss::BinaryCrossEntropy || k != l);
            pairs.map(|(k, l)| q[k] * q[l] * loss.f2(c[(k, l)]) - mass[(k, l)] * loss.g(c[(k, l)])).sum::<f64>()
        };
        let (a, b) = (random(N, 2, 3), random(N, 2, 4));
        let found = at(&objective, &a).0 - at(&objective, &b).0;
        let expected = by_definition(&a) - by_definition(&b);
        assert!((found - expected).abs() < 1e-10, "{kernel:?} {loss}: {found} {expected}");
    }
}

/// Samples in a row that are alike the more the nearer, up to four apart.
fn chain(size: usize) -> Sparse<'static, f32> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..size {
        for j in (0..size).filter(|&j| i != j && i.abs_diff(j) < 5) {
            columns.push(j as u32);
            values.push(1.0 / (1 + i.abs_diff(j)) as f32);
        }
        offsets.push(columns.len());
    }
    Sparse::new(offsets, columns, values).unwrap()
}

/// What UMAP's sampling minimises in expectation, by its definition; and its gradient.
#[test]
fn negatives_repel_so_many_times_as_much_as_neighbors_attract() {
    let size = 12;
    let (sparse, q, z) = (chain(size), vec![1.0 / 12.0; size], random(size, 2, 5));
    let profile = Profile::Umap { a: 1.577, b: 0.895 };
    let kernel = Radial { profile, normalization: Normalization::None };
    let objective = Objective::of_samples(kernel, Loss::BinaryCrossEntropy, &sparse, &q, 2.5).with_negatives(5.0);
    let mut places = z.clone();
    assert_gradient(&objective, &places, "sampled");
    let mass = |i: usize, j: usize| {
        let near = i != j && i.abs_diff(j) < 5;
        if near { 2.5 * q[i] * q[j] * f64::from(1.0 / (1 + i.abs_diff(j)) as f32) } else { 0.0 }
    };
    let pairs = || (0..size).flat_map(|i| (0..size).map(move |j| (i, j))).filter(|(i, j)| i != j);
    let total: f64 = pairs().map(|(i, j)| mass(i, j)).sum();
    for by in [0.0, 0.3] {
        places[(3, 1)] += by;
        let w =
            |i: usize, j: usize| profile.at((0..2).map(|c| (places[(i, c)] - places[(j, c)]).powi(2)).sum::<f64>()).w;
        let term = |(i, j)| mass(i, j) * w(i, j).ln() + 5.0 * total * q[i] * q[j] * (1.0 - w(i, j)).ln();
        let (found, expected) = (at(&objective, &places).0, -pairs().map(term).sum::<f64>());
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}

#[test]
fn single_precision_is_enough_where_the_repulsion_is_approximate() {
    let size = 900;
    let (sparse, q) = (chain(size), vec![1.0 / 900.0; size]);
    for (profile, spread) in [(Profile::Student, 30.0), (Profile::HeavyTailed, 500.0), (Profile::Gaussian, 0.5)] {
        for dims in [1, 2] {
            // A curve on a wide map, so that neighbours are near each other and far from the origin.
            let place = |k: usize, c: usize| spread + 0.1 * ((k * (c + 1)) as f64 + ((7 * k + c) % 5) as f64);
            let z = Matrix::from_fn(size, dims, place);
            let coordinates = Coordinates::new(&z, &q);
            let pairs = StoredPairs { similarity: &sparse, weights: Some(&q), scale: 2.5 };
            let rough = attraction::in_single_precision(pairs, profile, &coordinates).expect("a plane");
            let exact = attraction::of_stored_pairs::<false>(pairs, profile, Loss::Kl, &coordinates);
            for (rough, exact) in [(&rough.gradient, &exact.gradient), (&rough.stiffness, &exact.stiffness)] {
                let far: f64 = rough.iter().zip(exact).map(|(a, b)| (a - b).powi(2)).sum();
                let whole: f64 = exact.iter().map(|b| b * b).sum();
                assert!(whole > 0.0 && far < 1e-6 * whole, "{profile:?}, {dims}: {far} of {whole}");
            }
        }
    }
}

#[test]
fn samples_are_prototypes_of_their_own_similarity() {
    let size = 40;
    let near = |i: usize, j: usize| i != j && i.abs_diff(j) < 5;
    let value = |i: usize, j: usize| 1.0f32 / (1 + i.abs_diff(j)) as f32;
    let sparse = chain(size);
    let q: Vec<f64> = (0..size).map(|i| (1.0 + (i % 2) as f64) / 60.0).collect();
    let dense =
        Matrix::from_fn(size, size, |i, j| if near(i, j) { 2.5 * q[i] * f64::from(value(i, j)) * q[j] } else { 0.0 });
    let z = random(size, 2, 5);
    for (kernel, loss) in kernels().into_iter().filter(|&(kernel, loss)| Objective::is_of_pair_sums(kernel, loss)) {
        let (value, gradient) = at(&Objective::of_samples(kernel, loss, &sparse, &q, 2.5), &z);
        let (expected, expected_gradient) = at(&Objective::new(kernel, loss, &dense, &q).without_self_pairs(), &z);
        assert!((value - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{kernel:?} {value} {expected}");
        let far =
            gradient.values().iter().zip(expected_gradient.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-12, "{kernel:?} {loss}: {far}");
    }
}

/// M as it is, weights included, with and without the pairs of a prototype with itself.
#[test]
fn a_sparse_mass_is_the_dense_one() {
    let (q, z) = (weights(), random(N, 2, 5));
    let raw = mass();
    let single = |k: usize, l: usize| raw[(k, l)] as f32;
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for k in 0..N {
        for l in (0..N).filter(|&l| single(k, l) != 0.0) {
            columns.push(l as u32);
            values.push(single(k, l));
        }
        offsets.push(columns.len());
    }
    let sparse = Sparse::new(offsets, columns, values).unwrap();
    let dense = Matrix::from_fn(N, N, |k, l| f64::from(single(k, l)));
    for (kernel, loss) in kernels().into_iter().filter(|&(kernel, loss)| Objective::is_of_pair_sums(kernel, loss)) {
        for self_pairs in [false, true] {
            for dims in [1, 2, 3] {
                let z = Matrix::from_fn(N, dims, |k, c| if c < 2 { z[(k, c)] } else { z[(k, 0)] * z[(k, 1)] });
                let (value, gradient) = at(&Objective::of_sparse(kernel, loss, &sparse, &q, self_pairs), &z);
                let expected = Objective::new(kernel, loss, &dense, &q);
                let (expected, slopes) = at(&if self_pairs { expected } else { expected.without_self_pairs() }, &z);
                let name = format!("{kernel:?} {loss} {self_pairs} {dims}");
                assert!((value - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{name}: {value} {expected}");
                let far = gradient.values().iter().zip(slopes.values()).map(|(a, b)| (a - b).abs());
                assert!(far.fold(0.0, f64::max) < 1e-12, "{name}");
            }
        }
    }
}

#[test]
fn adam_ends_below_its_start_and_where_the_gradient_is_zero() {
    let (mass, q) = (mass(), weights());
    // Under the binary cross-entropy these masses, which no similarity in [0, 1] has, attract without end.
    for (kernel, loss) in kernels().into_iter().filter(|(_, loss)| *loss != Loss::BinaryCrossEntropy) {
        let objective = Objective::new(kernel, loss, &mass, &q);
        let start = random(N, 2, 9);
        let (before, _) = at(&objective, &start);
        let (after, end) = Adam { steps: 2000, learning_rate: 0.3 }.descend(&objective, start).unwrap();
        let (value, gradient) = at(&objective, &end);
        assert!(after < before && (after - value).abs() < 1e-9, "{kernel:?} {loss}");
        let steepest = gradient.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
        assert!(steepest < 2e-3, "{kernel:?} {loss}: {steepest}");
    }
}

/// The springs of a prototype are what its gradient is made of, one by one.
#[test]
fn stiffness_is_the_sum_of_all_springs() {
    let (mass, q, z) = (mass(), weights(), random(N, 2, 5));
    for profile in [Profile::Student, Profile::HeavyTailed] {
        let kernel = Radial { profile, normalization: Normalization::Measure };
        let objective = Objective::new(kernel, Loss::Kl, &mass, &q);
        let (gradient, stiffness) = objective.gradient_and_stiffness(&z, &mut objective.scaling()).unwrap();
        let at = |k: usize, l: usize| profile.at((0..2).map(|c| (z[(k, c)] - z[(l, c)]).powi(2)).sum());
        let total = |f: &dyn Fn(usize, usize) -> f64| (0..N).flat_map(|k| (0..N).map(move |l| f(k, l))).sum::<f64>();
        let share = total(&|k, l| mass[(k, l)]) / total(&|k, l| q[k] * at(k, l).w * q[l]);
        for k in 0..N {
            let attraction = |l: usize| -mass[(k, l)] * at(k, l).log_derivative;
            let repulsion = |l: usize| -share * q[k] * q[l] * at(k, l).w * at(k, l).log_derivative;
            let springs: f64 = (0..N).map(|l| attraction(l) + repulsion(l)).sum();
            assert!((stiffness[k] - springs).abs() < 1e-12, "{profile:?} {k}");
            let force: f64 = (0..N).map(|l| 4.0 * (attraction(l) - repulsion(l)) * (z[(k, 0)] - z[(l, 0)])).sum();
            assert!((gradient[(k, 0)] - force).abs() < 1e-12, "{profile:?} {k}");
        }
    }
}
