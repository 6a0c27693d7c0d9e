//! With a prototype for every sample: no higher than the exact optimiser, the same bytes on any number of threads, finite whatever is asked for.

use super::*;
use crate::affinity::testing::scattered;
use crate::data::{Data, Run};
use crate::embedding::Profile;
use crate::method::Method;
use crate::model::{GromovDr, Model};
use crate::similarity::Sparse;
use crate::weights::SampleWeights;

/// Neighbours on a ring of clusters, alike the more the nearer.
fn ring(size: usize) -> Sparse<'static, f32> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..size {
        let mut row: Vec<(u32, f32)> = (1..=12)
            .flat_map(|step| [(i + step) % size, (i + size - step) % size].map(|j| (j, step)))
            .map(|(j, step)| (j as u32, if i / 50 == j / 50 { 1.0 } else { 0.05 } / step as f32))
            .collect();
        row.sort_by_key(|entry| entry.0);
        columns.extend(row.iter().map(|entry| entry.0));
        values.extend(row.iter().map(|entry| entry.1));
        offsets.push(columns.len());
    }
    Sparse::new(offsets, columns, values).unwrap()
}

#[test]
fn many_samples_end_no_higher_than_by_the_exact_optimiser() {
    let size = 1200;
    let similarity = ring(size);
    let weights: Vec<f64> = (0..size).map(|i| (1.0 + (i % 3) as f64) / (2.0 * size as f64)).collect();
    let mass = dense_mass(&similarity, &weights, 1.0);
    let total: f64 = mass.values().iter().sum();
    let mass = dense_mass(&similarity, &weights, 1.0 / total);
    // With its constant the loss is the KL divergence, of which the tolerance is a share.
    let part = |i: usize, j: usize| match mass[(i, j)] {
        m if m > 0.0 => m * (m / (weights[i] * weights[j])).ln() - m,
        _ => 0.0,
    };
    let constant: f64 = (0..size).map(|i| (0..size).filter(|&j| j != i).map(|j| part(i, j)).sum::<f64>()).sum();
    let stopping = Stopping { max_rounds: 100, rel_tolerance: 1e-5, abs_tolerance: 0.0 };
    let task = Task { dims: 2, scale: 1.0 / total, constant, stopping };
    for profile in [Profile::Student, Profile::HeavyTailed] {
        let radial = Radial { profile, normalization: Normalization::Measure };
        let found = neighbor_embedding(&similarity, &weights, (radial, Loss::Kl), task, &mut ()).unwrap();
        assert_eq!(found.stop, StopReason::Converged);
        let history = &found.history;
        assert!(history.len() > 2 && history.windows(2).all(|pair| pair[1] <= pair[0]), "{history:?}");
        // All pairs, and 1,000 steps of Adam.
        let exact = Objective::new(radial, Loss::Kl, &mass, &weights).without_self_pairs();
        let mut places = spectral_start(&similarity, &weights, &weights, 2).unwrap();
        for (exaggeration, adam) in ADAM {
            places = adam.descend(&exact.with_early_exaggeration(exaggeration), places).unwrap().1;
        }
        let value = |places: &Matrix<'static>| Descent::new(&exact, places.clone()).value(&exact).unwrap();
        let (ours, theirs) = (value(&found.prototypes), value(&places));
        assert!(ours <= theirs, "{profile:?}: {ours} {theirs}");
        let own: f64 = weights.iter().map(|h| Loss::Kl.at_best_target(0.0, h * h)).sum();
        let told = history[history.len() - 1];
        let is = constant + own + ours;
        assert!((told - is).abs() < 1e-3, "{profile:?}: {told} is reported of {is}");
    }
}

fn fitted(method: Method, samples: &Matrix<'_, f32>, perplexity: f64) -> Model {
    let weights: Vec<f64> = (0..samples.rows()).map(|i| 1.0 + (i % 4) as f64).collect();
    let weights = SampleWeights::new(&weights).unwrap();
    let run = Run { weights: Some(&weights), ..Run::default() };
    GromovDr::builder()
        .method(method)
        .every_sample()
        .perplexity(perplexity)
        .fit_with(&Data::from(samples), run)
        .unwrap_or_else(|error| panic!("{method}, perplexity {perplexity}: {error}"))
}

fn assert_finite(model: &Model, name: &str) {
    let history = &model.outcome.history;
    assert!(history.windows(2).all(|pair| pair[1] <= pair[0]), "{name}: {history:?}");
    assert!(model.outcome.loss.is_finite() && model.prototypes.values().iter().all(|z| z.is_finite()), "{name}");
}

const DESCENDED: [Method; 5] = [Method::TSne, Method::TSnekhorn, Method::FuzzyTSne, Method::Snekhorn, Method::Umap];

#[test]
fn bytes_do_not_depend_on_threads() {
    let samples = scattered(1100, 3, 5);
    for method in DESCENDED {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fitted(method, &samples, 10.0))
        };
        let (one, three) = (with(1), with(3));
        assert_finite(&one, method.name());
        assert!(one.to_bytes() == three.to_bytes(), "{method}");
    }
}

#[test]
fn bad_settings_end_finite() {
    let pairs = Matrix::from_fn(1200, 2, |i, j| (i / 2 * (j + 1)) as f32);
    let same = Matrix::from_fn(1100, 2, |i, _| (i % 2) as f32);
    let tiny = Matrix::from_fn(4, 2, |i, j| (i * i + j) as f32);
    for method in DESCENDED {
        for (samples, perplexity) in [(&pairs, 2.0), (&same, 5.0), (&tiny, 1.5)] {
            assert_finite(&fitted(method, samples, perplexity), &format!("{method}, {}", samples.rows()));
        }
    }
}

/// Pairs of samples far from all others, whose entries of a Gaussian are smaller than rounding: factors magnify them.
#[test]
fn samples_far_apart_are_balanced() {
    let pairs = Matrix::from_fn(1200, 2, |i, j| (i / 2 * (j + 1)) as f32);
    let loss = fitted(Method::Snekhorn, &pairs, 2.0).outcome.loss;
    assert!(loss < 1.0, "{loss}");
}

/// A matrix of all similarities is embedded as its entries are: the loss of either map is that of the definition. The maps themselves
/// may differ: rounding decides between folds of a ring, and is another one on other machines.
#[test]
fn umap_of_a_dense_similarity_is_that_of_its_entries() {
    let similarity = ring(60);
    let entries = Matrix::from_fn(60, 60, |i, j| {
        let (columns, values) = similarity.row(i);
        columns.iter().position(|&column| column as usize == j).map_or(0.0, |at| values[at])
    });
    let mass = |i: usize, j: usize| f64::from(entries[(i, j)]) / 3600.0;
    let total: f64 = (0..3600).map(|at| mass(at / 60, at % 60)).sum();
    let dense = crate::similarity::Dense::new(entries.clone()).unwrap();
    let weights = vec![1.0 / 60.0; 60];
    let profile = Profile::umap(0.1, 1.0).unwrap();
    let kernel = MapKernel::Radial(Radial { profile, normalization: Normalization::None });
    let loss = Loss::BinaryCrossEntropy;
    let stopping = Stopping { max_rounds: 3, rel_tolerance: 1e-5, abs_tolerance: 0.0 };
    let task = Task { dims: 2, scale: 1.0, constant: 0.0, stopping };
    let [sparse, dense] = [&similarity as &dyn Similarity, &dense]
        .map(|similarity| embed(similarity, &weights, (kernel, loss), task, &mut ()).unwrap());
    for places in [sparse, dense] {
        let z = &places.prototypes;
        let mut expected = 0.0;
        for (i, j) in (0..3600).map(|at| (at / 60, at % 60)).filter(|(i, j)| i != j) {
            let mut w = [(0..2).map(|k| (z[(i, k)] - z[(j, k)]).powi(2)).sum::<f64>()];
            profile.values(&mut w);
            expected -= mass(i, j) * w[0].ln() + NEGATIVES * total / 3600.0 * (1.0 - w[0]).ln();
        }
        let found = places.history[places.history.len() - 1];
        assert!((found - expected).abs() < 0.01 * expected.abs(), "{found} {expected}");
    }
}
