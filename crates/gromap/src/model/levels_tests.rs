//! Levels of prototypes against their definitions.

use super::*;
use crate::embedding::Normalization;
use crate::similarity::Similarity;

/// A symmetric chain of samples, each similar to the two on either side.
fn chain(size: usize) -> Sparse<'static, f32> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..size {
        for j in i.saturating_sub(2)..size.min(i + 3) {
            if i != j {
                columns.push(j as u32);
                values.push(1.0 / (i.abs_diff(j) + (i + j) % 3) as f32);
            }
        }
        offsets.push(columns.len());
    }
    Sparse::new(offsets, columns, values).unwrap()
}

fn weights(size: usize) -> Vec<f64> {
    let whole: f64 = (0..size).map(|i| 1.0 + (i % 4) as f64).sum();
    (0..size).map(|i| (1.0 + (i % 4) as f64) / whole).collect()
}

#[test]
fn pairs_are_of_two_that_are_similar() {
    let (similarity, weights) = (chain(101), weights(101));
    let level = Level { similarity: &similarity, scale: 1.0, weights: &weights, is_weighted: false };
    let (labels, groups) = level.pairs();
    assert!(groups < 60, "{groups}");
    for g in 0..groups as u32 {
        let members: Vec<usize> = (0..101).filter(|&k| labels[k] == g).collect();
        match members[..] {
            [_] => {}
            [k, l] => assert!(similarity.entry(k, l) > 0.0, "{k} {l}"),
            _ => panic!("{members:?}"),
        }
    }
}

#[test]
fn a_level_above_has_the_mass_of_the_one_below() {
    let (similarity, weights) = (chain(101), weights(101));
    let level = Level { similarity: &similarity, scale: 3.0, weights: &weights, is_weighted: false };
    let (labels, groups) = level.pairs();
    let (mass, merged) = level.merged(&labels, groups).unwrap();
    for g in 0..groups {
        for h in 0..groups {
            let of = |group: usize| (0..101).filter(|&k| labels[k] as usize == group).collect::<Vec<usize>>();
            let row = |k: usize| of(h).iter().map(|&l| similarity.entry(k, l) * weights[l]).sum::<f64>();
            let expected: f64 = of(g).iter().map(|&k| weights[k] * row(k)).sum();
            assert!((mass.entry(g, h) - 3.0 * expected).abs() < 1e-7, "{g} {h}");
        }
    }
    assert!((merged.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    // And one more, now with weights as a part of it.
    let above = Level { similarity: &mass, scale: 1.0, weights: &merged, is_weighted: true };
    let (labels, groups) = above.pairs();
    let (twice, _) = above.merged(&labels, groups).unwrap();
    let total =
        |mass: &Sparse<'_, f32>| (0..mass.len()).flat_map(|k| mass.row(k).1.to_vec()).map(f64::from).sum::<f64>();
    assert!((total(&twice) / total(&mass) - 1.0).abs() < 1e-6);
}

/// A chain is drawn as one: on a map that levels begin, neighbours are nearer than others by far.
#[test]
fn levels_begin_a_heavy_tailed_map() {
    let (similarity, weights) = (chain(2000), weights(2000));
    let level = Level { similarity: &similarity, scale: 1.0, weights: &weights, is_weighted: false };
    let radial = Radial { profile: Profile::HeavyTailed, normalization: Normalization::DoublyStochastic };
    let objective = Objective::of_samples(radial, Loss::Kl, &similarity, &weights, 1.0);
    let mut descent = begin(radial, level, &objective, 2).unwrap();
    let by_levels = descent.value(&objective).unwrap();
    let mut other = from_eigenvectors(&objective, level, 2).unwrap();
    assert!(by_levels < other.value(&objective).unwrap(), "{by_levels}");
    let places = descent.prototypes();
    let apart = |k: usize, l: usize| (0..2).map(|c| (places[(k, c)] - places[(l, c)]).powi(2)).sum::<f64>().sqrt();
    let mean = |step: usize| (0..1000).map(|k| apart(k, k + step)).sum::<f64>() / 1000.0;
    assert!(mean(1) * 20.0 < mean(1000), "{} {}", mean(1), mean(1000));
}

/// Samples that are similar to none leave nothing to merge.
#[test]
fn levels_end_where_nothing_is_similar() {
    let alone = Sparse::<f32>::new(vec![0; 801], Vec::new(), Vec::new()).unwrap();
    let weights = weights(800);
    let level = Level { similarity: &alone, scale: 1.0, weights: &weights, is_weighted: false };
    let radial = Radial { profile: Profile::HeavyTailed, normalization: Normalization::DoublyStochastic };
    let objective = Objective::of_samples(radial, Loss::Kl, &alone, &weights, 1.0);
    let descent = begin(radial, level, &objective, 2).unwrap();
    assert!(descent.prototypes().values().iter().all(|z| z.is_finite()));
}
