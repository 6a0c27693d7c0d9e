//! The tree against the pass over all pairs, which it stands for.

use super::*;
use crate::embedding::radial::{Normalization, Radial};
use crate::embedding::repulsion::Repulsion;
use crate::embedding::testing::{error, places, weights};
use crate::numeric::Matrix;

const UMAP: Profile = Profile::Umap { a: 1.577, b: 0.895 };

fn exact(interaction: Interaction, coordinates: &Coordinates) -> PairSum {
    let kernel = Radial { profile: interaction.profile, normalization: Normalization::Measure };
    Repulsion::exact(interaction.self_pairs).sums::<true>(kernel, interaction.loss, coordinates).weighted
}

fn assert_accurate(dims: usize, n: usize, widths: &[f64]) {
    let kinds = [
        (Profile::Student, Loss::Kl),
        (Profile::HeavyTailed, Loss::Kl),
        (UMAP, Loss::Kl),
        (UMAP, Loss::BinaryCrossEntropy),
    ];
    for (profile, loss) in kinds {
        for &width in widths {
            for (clustered, weighted) in [(false, false), (false, true), (true, false), (true, true)] {
                let (z, q) = (places(n, dims, width, clustered), weights(n, weighted));
                let coordinates = Coordinates::new(&z, &q);
                let interaction = Interaction { profile, loss, self_pairs: false };
                let expected = exact(interaction, &coordinates);
                let found = sum::<true>(interaction, &coordinates, &q).expect("a tree");
                let name = format!("{profile:?}, {loss:?}, {width} wide, clustered {clustered}, weighted {weighted}");
                let (of_rows, of_gradient) =
                    (error(&found.rows, &expected.rows), error(&found.gradient, &expected.gradient));
                assert!(of_rows < 2e-3 && of_gradient < 1e-2, "{name}: {of_rows} {of_gradient}");
                let of_value = (found.value() / expected.value() - 1.0).abs();
                assert!(of_value < 2e-3, "{name}: {of_value}");
                let of_stiffness = error(&found.stiffness, &expected.stiffness);
                assert!(of_stiffness < 3e-2, "{name}: {of_stiffness}");
            }
        }
    }
}

#[test]
fn it_is_within_a_hundredth_of_all_pairs() {
    assert_accurate(1, 1000, &[1e-6, 1e-3, 3.0, 40.0, 4000.0]);
    assert_accurate(2, 1000, &[1e-6, 1e-3, 3.0, 40.0, 4000.0]);
    assert_accurate(2, 5000, &[40.0, 1e5]);
    assert_accurate(3, 1500, &[1e-6, 1e-3, 3.0, 40.0, 4000.0]);
}

/// A charge, and its mean and spread, do not depend on how far branches are looked into.
#[test]
fn stand_ins_have_the_moments_of_what_they_stand_for() {
    let (z, q) = (places(700, 3, 5.0, true), weights(700, true));
    let tree = Tree::<3>::new(&Coordinates::new(&z, &q), &q);
    let moments = |points: &[([f64; 3], f64)]| {
        let mut sums = vec![points.iter().map(|(_, charge)| charge).sum::<f64>()];
        for r in 0..3 {
            sums.push(points.iter().map(|(place, charge)| charge * place[r]).sum());
            (0..=r).for_each(|c| sums.push(points.iter().map(|(place, charge)| charge * place[r] * place[c]).sum()));
        }
        sums
    };
    let points: Vec<_> = tree.points.iter().map(|point| (point.place, point.charge)).collect();
    let mut stand_ins = Vec::new();
    tree.branches[1].stand_ins(|place, charge| stand_ins.push((place, charge)));
    assert_eq!(stand_ins.len(), 6);
    assert!(error(&moments(&stand_ins), &moments(&points)) < 1e-12);
}

#[test]
fn every_prototype_is_in_one_leaf() {
    for n in [1, 2, 31, 33, 1000, 1111] {
        let (z, q) = (places(n, 2, 5.0, true), weights(n, false));
        let tree = Tree::<2>::new(&Coordinates::new(&z, &q), &q);
        let mut seen: Vec<u32> = Vec::new();
        for leaf in 0..1 << tree.depth {
            let (points, branch) = (tree.leaf(leaf), &tree.branches[(1 << tree.depth) + leaf]);
            let is_inside = |p: &Point<2>| (0..2).all(|c| branch.low[c] <= p.place[c] && p.place[c] <= branch.high[c]);
            assert!(points.len() <= LEAF && points.iter().all(is_inside));
            seen.extend(points.iter().map(|point| point.index));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..n as u32).collect::<Vec<_>>());
    }
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let (z, q) = (places(9000, 2, 60.0, true), weights(9000, true));
    let interaction = Interaction { profile: Profile::HeavyTailed, loss: Loss::Kl, self_pairs: true };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let found = pool.install(|| sum::<true>(interaction, &Coordinates::new(&z, &q), &q)).expect("a tree");
        (found.rows, found.gradient)
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn prototypes_in_one_place_or_without_weight_are_no_trouble() {
    let interaction = |profile, loss| Interaction { profile, loss, self_pairs: false };
    let n = 900;
    let (same, q) = (Matrix::from_fn(n, 2, |_, _| 7.5), weights(n, false));
    let found = sum::<true>(interaction(Profile::Student, Loss::Kl), &Coordinates::new(&same, &q), &q).expect("a tree");
    assert!((found.value() - (1.0 - 1.0 / n as f64)).abs() < 1e-12 && found.gradient.iter().all(|g| g.abs() < 1e-12));
    let of_umap = interaction(UMAP, Loss::BinaryCrossEntropy);
    let found = sum::<true>(of_umap, &Coordinates::new(&same, &q), &q).expect("a tree");
    assert!(found.value().is_finite() && found.gradient.iter().all(|g| g.is_finite()));
    // All weight on a few.
    let (z, mut few) = (places(n, 2, 50.0, false), vec![0.0; n]);
    few[..3].fill(1.0 / 3.0);
    let coordinates = Coordinates::new(&z, &few);
    let heavy = interaction(Profile::HeavyTailed, Loss::Kl);
    let found = sum::<true>(heavy, &coordinates, &few).expect("a tree");
    assert!(error(&found.gradient, &exact(heavy, &coordinates).gradient) < 1e-12);
}

#[test]
fn what_no_tree_serves_is_left_to_all_pairs() {
    let q = weights(300, false);
    let sum = |profile: Profile, z: &Matrix<'_>| {
        sum::<true>(Interaction { profile, loss: Loss::Kl, self_pairs: false }, &Coordinates::new(z, &q), &q)
    };
    assert!(sum(Profile::Student, &places(300, 3, 10.0, false)).is_some());
    assert!(sum(Profile::Student, &places(300, 4, 10.0, false)).is_none(), "four dimensions");
    assert!(sum(Profile::Gaussian, &places(300, 2, 10.0, false)).is_none(), "a kernel that falls too fast");
    for wrong in [f64::INFINITY, f64::NAN] {
        let one = Matrix::from_fn(300, 2, |k, c| if (k, c) == (7, 0) { wrong } else { (k * c) as f64 });
        assert!(sum(Profile::Student, &one).is_none(), "{wrong}");
    }
}
