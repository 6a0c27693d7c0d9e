//! The grid against the pass over all pairs, which it stands for.

use super::*;
use crate::embedding::radial::{Normalization, Radial};
use crate::embedding::repulsion::Repulsion;
use crate::embedding::testing::{error, places, weights};
use crate::loss::Loss;
use crate::numeric::Matrix;

const PROFILES: [Profile; 3] = [Profile::Student, Profile::HeavyTailed, Profile::Gaussian];

fn exact(profile: Profile, coordinates: &Coordinates, self_pairs: bool) -> PairSum {
    let kernel = Radial { profile, normalization: Normalization::Measure };
    Repulsion::exact(self_pairs).sums::<true>(kernel, Loss::Kl, coordinates).weighted
}

fn assert_accurate(dims: usize, n: usize, widths: &[f64]) {
    for profile in PROFILES {
        for &width in widths {
            for (clustered, weighted) in [(false, false), (false, true), (true, false), (true, true)] {
                let (z, q) = (places(n, dims, width, clustered), weights(n, weighted));
                let coordinates = Coordinates::new(&z, &q);
                let expected = exact(profile, &coordinates, false);
                let found = Grid::new(false).sum(profile, &coordinates, &q).expect("a grid");
                let name = format!("{profile:?}, {width} wide, clustered {clustered}, weighted {weighted}");
                let (of_rows, of_gradient) =
                    (error(&found.rows, &expected.rows), error(&found.gradient, &expected.gradient));
                assert!(of_rows < 2e-3 && of_gradient < 1e-2, "{name}: {of_rows} {of_gradient}");
                let of_value = (found.value() / expected.value() - 1.0).abs();
                assert!(of_value < 3e-4, "{name}: {of_value}");
                let slack = 1e-3 * expected.stiffness.iter().copied().fold(0.0, f64::max);
                let is_bound = |(found, expected): (&f64, &f64)| found * 1.01 + slack >= *expected;
                assert!(found.stiffness.iter().zip(&expected.stiffness).all(is_bound), "{name}: stiffness");
            }
        }
    }
}

#[test]
fn on_a_plane_it_is_within_a_hundredth_of_all_pairs() {
    assert_accurate(2, 5000, &[1e-6, 1e-3, 3.0, 40.0]);
}

#[test]
fn on_a_line_it_is_within_a_hundredth_of_all_pairs() {
    assert_accurate(1, 5000, &[1e-6, 1e-3, 3.0, 40.0, 4000.0]);
}

/// The gradient is that of the value on the same grid, and with finite differences as exact as they are.
#[test]
fn the_gradient_is_that_of_the_value() {
    for profile in PROFILES {
        for (dims, self_pairs) in [(1, false), (2, true)] {
            let (n, q) = (5000, weights(5000, true));
            let mut z = places(n, dims, 30.0, false);
            // These stay where they are and span the grid.
            (0..dims).for_each(|c| (z.row_mut(0)[c], z.row_mut(1)[c]) = (-20.0, 20.0));
            let grid = Grid::new(self_pairs);
            let at = |z: &Matrix<'_>| grid.sum(profile, &Coordinates::new(z, &q), &q).expect("a grid");
            let gradient = at(&z).gradient;
            for entry in (2 * dims..n * dims).step_by(713) {
                let value = |by: f64| {
                    let mut moved = z.clone();
                    moved.values_mut()[entry] += by;
                    at(&moved).value()
                };
                let step = 1e-5;
                let expected = (value(step) - value(-step)) / (2.0 * step);
                let found = 4.0 * q[entry / dims] * gradient[entry];
                assert!((found - expected).abs() < 1e-8, "{profile:?} {entry}: {found} {expected}");
            }
        }
    }
}

#[test]
fn prototypes_see_themselves_only_if_that_counts() {
    // Far apart, and one heavier than all others together: what it does to itself would drown what the others do to it.
    let z = Matrix::from_fn(5184, 2, |k, c| if c == 0 { 0.7 * (k % 72) as f64 } else { 0.75 * (k / 72) as f64 });
    let (mut q, heavy) = (vec![2e-5; 5184], 1830);
    q[heavy] = 1.0 - 0.103_66;
    let coordinates = Coordinates::new(&z, &q);
    for profile in PROFILES {
        for self_pairs in [false, true] {
            let expected = exact(profile, &coordinates, self_pairs);
            let found = Grid::new(self_pairs).sum(profile, &coordinates, &q).expect("a grid");
            let close = |a: f64, b: f64| (a - b).abs() <= 2e-2 * b.abs() + 1e-6;
            assert!(close(found.rows[heavy], expected.rows[heavy]), "{profile:?} {self_pairs}");
            assert!(
                (0..2).all(|c| close(found.gradient[2 * heavy + c], expected.gradient[2 * heavy + c])),
                "{profile:?}"
            );
        }
    }
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let (z, q) = (places(6000, 2, 40.0, true), weights(6000, true));
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let sum =
            pool.install(|| Grid::new(false).sum(Profile::Student, &Coordinates::new(&z, &q), &q)).expect("a grid");
        (sum.rows, sum.gradient)
    };
    assert_eq!(with(1), with(3));
}

/// Descents from several starts share an objective, and a pool.
#[test]
fn sums_beside_each_other_do_not_wait_for_themselves() {
    let q = weights(5000, true);
    let grid = Grid::new(false);
    let sum = |turn: usize| {
        let z = places(5000, 2, 20.0 + turn as f64, true);
        grid.sum(Profile::Student, &Coordinates::new(&z, &q), &q).expect("a grid").value()
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
    let beside: Vec<f64> = pool.install(|| (0..48).into_par_iter().map(|turn| sum(turn % 6)).collect());
    let after: Vec<f64> = (0..48).map(|turn| sum(turn % 6)).collect();
    assert_eq!(beside, after);
}

#[test]
fn what_no_grid_serves_is_left_to_others() {
    let q = vec![1.0 / 5000.0; 5000];
    let sum = |profile: Profile, z: &Matrix<'_>| Grid::new(false).sum(profile, &Coordinates::new(z, &q), &q);
    let near = places(5000, 2, 10.0, false);
    assert!(sum(Profile::Student, &near).is_some());
    assert!(sum(Profile::Umap { a: 1.6, b: 0.9 }, &near).is_none(), "not smooth");
    assert!(sum(Profile::Student, &places(5000, 3, 10.0, false)).is_none(), "three dimensions");
    assert!(sum(Profile::Student, &places(5000, 2, 1e6, false)).is_none(), "prototypes far apart");
    for wrong in [f64::INFINITY, f64::NAN] {
        assert!(sum(Profile::Student, &Matrix::from_fn(5000, 2, |_, c| [1.0, wrong][c])).is_none(), "{wrong}");
        let one = Matrix::from_fn(5000, 2, |k, c| if (k, c) == (7, 0) { wrong } else { near[(k, c)] });
        assert!(sum(Profile::Student, &one).is_none(), "one {wrong}");
    }
    // All in one place: every pair at its best.
    let one = sum(Profile::Student, &Matrix::from_fn(5000, 2, |_, _| 7.5)).expect("a grid");
    assert!((one.value() - 4999.0 / 5000.0).abs() < 1e-9 && one.gradient.iter().all(|g| g.abs() < 1e-9));
}
