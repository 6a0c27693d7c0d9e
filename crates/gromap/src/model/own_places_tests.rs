//! Places of samples, from whole fits: every method, all dimensions, weights, pairs, threads.

use super::*;
use crate::affinity::testing::scattered;
use crate::data::{Data, Run};
use crate::embedding::Normalization;
use crate::method::Method;
use crate::model::options::GromovDr;
use crate::model::path::Level;
use crate::model::{Model, Places};
use crate::similarity::Dense;
use crate::solve::Solver;
use crate::weights::SampleWeights;

const SAMPLES: usize = 120;

fn samples() -> Matrix<'static, f32> {
    let noise = scattered(SAMPLES, 3, 5);
    Matrix::from_fn(SAMPLES, 3, |i, j| noise[(i, j)] + if j == i % 3 { 4.0 } else { 0.0 })
}

fn recipe(method: Method) -> GromovDr {
    GromovDr::builder().method(method).prototypes(8).perplexity(8.0).seed(1)
}

fn is_radial(model: &Model) -> bool {
    matches!(model.parameters.spec().kernel, MapKernel::Radial(_))
}

/// The shape is right, all is finite, some samples left their prototype, and kernels of the distance keep each in its cell.
fn check(model: &Model) {
    let (places, dims) = (model.sample_places(), model.prototypes.columns());
    assert_eq!((places.rows(), places.columns()), (model.plan.len(), dims));
    places.check_finite("places").unwrap();
    assert_ne!(places, model.embedding());
    if is_radial(model) {
        for (i, own) in model.plan.labels().into_iter().enumerate() {
            let square = |k: usize| {
                places.row(i).iter().zip(model.prototypes.row(k)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
            };
            let nearest = (0..model.prototypes.rows()).min_by(|&a, &b| square(a).total_cmp(&square(b)));
            assert_eq!(nearest, Some(own as usize), "{} sample {i}", model.parameters.common().method);
        }
    }
}

#[test]
fn every_method_places_training_samples_and_new_ones_alike() {
    let samples = samples();
    for &method in Method::ALL {
        for dims in [1, 2, 3] {
            let model = recipe(method).dims(dims).fit(&samples).unwrap();
            check(&model);
            let again = model.places_of(&samples).unwrap();
            let size = model.prototypes.values().iter().fold(0.0f64, |most, z| most.max(z.abs()));
            // Graphs know a sample that they have seen; products of it are rounded differently.
            let places = model.sample_places();
            let worst = again.values().iter().zip(places.values()).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
            assert!(worst <= 1e-5 * size, "{method} {dims}: {worst} of {size}");
            // A sample beside one that was seen is beside it on the map.
            let beside = Matrix::from_fn(SAMPLES, 3, |i, j| samples[(i, j)] + 1e-4);
            let placed = model.place_by(&beside, Places::Sample).unwrap();
            let near = (0..SAMPLES).filter(|&i| {
                let apart = placed.places.row(i).iter().zip(places.row(i)).map(|(a, b)| (a - b).abs());
                apart.fold(0.0, f64::max) < 0.2 * size
            });
            // The mean of its neighbours is not where a sample of a fine wave is.
            let wanted = if model.parameters.spec().votes { SAMPLES / 2 } else { SAMPLES * 8 / 10 };
            assert!(near.count() >= wanted, "{method} {dims}");
        }
    }
}

#[test]
fn the_steps_end_the_same_on_any_number_of_threads() {
    let samples = samples();
    for method in [Method::FuzzyTSne, Method::Umap, Method::Isomap] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let model = recipe(method).fit(&samples).unwrap();
                (model.places_of(scattered(50, 3, 9)).unwrap(), model)
            })
        };
        assert_eq!(on(1), on(3), "{method}");
    }
}

#[test]
fn every_normalisation_and_a_soft_plan_have_places() {
    let samples = samples();
    for &normalization in Normalization::ALL {
        check(&recipe(Method::TSne).normalization(Some(normalization)).fit(&samples).unwrap());
    }
    check(&recipe(Method::TSne).loss(Loss::Square).fit(&samples).unwrap());
    check(&recipe(Method::TSne).solver(Solver::ConditionalGradient).fit(&samples).unwrap());
}

#[test]
fn weighted_samples_and_given_pairs_have_places() {
    let samples = samples();
    let weights = (0..SAMPLES).map(|i| if i == 7 { 0.0 } else { 1.0 + (i % 4) as f64 }).collect::<Vec<_>>();
    let weights = SampleWeights::new(&weights).unwrap();
    let square = |i: usize, j: usize| {
        samples.row(i).iter().zip(samples.row(j)).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
    };
    let distances = Matrix::from_fn(SAMPLES, SAMPLES, |i, j| square(i, j).sqrt());
    let similarity = Dense::new(Matrix::from_fn(SAMPLES, SAMPLES, |i, j| (-square(i, j)).exp())).unwrap();
    for method in [Method::FuzzyTSne, Method::Umap, Method::Mds] {
        let given = [(&samples).into(), Data::distances(&distances), Data::similarity(&similarity)];
        for data in given {
            let run = Run { weights: Some(&weights), ..Run::default() };
            let model = recipe(method).fit_with(&data, run).unwrap();
            check(&model);
            assert_eq!(Model::from_bytes(&model.to_bytes()).unwrap().sample_places(), model.sample_places());
        }
    }
    let model = recipe(Method::FuzzyTSne).fit(Data::distances(&distances)).unwrap();
    assert!(model.places_of(&samples).unwrap_err().to_string().contains("fitted to distances"));
    assert!(model.places_of(Data::distances(&distances)).unwrap_err().to_string().contains("not by pairs"));
}

#[test]
fn principal_components_are_projections_and_members_lie_about_their_prototype() {
    let samples = samples();
    let whole = recipe(Method::Pca).every_sample().fit(&samples).unwrap();
    assert_eq!(whole.sample_places(), whole.prototypes);
    assert_eq!(whole.places_of(&samples).unwrap(), whole.place(&samples).unwrap().places);
    for method in [Method::Pca, Method::Mds, Method::KernelPca, Method::Isomap] {
        let model = recipe(method).prototypes(30).fit(&samples).unwrap();
        let (places, plan) = (model.sample_places(), &model.plan);
        let means = crate::data::Samples::from(&places).means(plan);
        let apart = means.values().iter().zip(model.prototypes.values()).map(|(a, b)| (a - b).abs());
        let size = model.prototypes.values().iter().fold(0.0f64, |most, z| most.max(z.abs()));
        assert!(apart.fold(0.0, f64::max) < 1e-6 * size, "{method}");
    }
    // Up to the signs of the axes.
    let model = recipe(Method::Pca).prototypes(30).fit(&samples).unwrap();
    for c in 0..2 {
        let pairs = || (0..SAMPLES).map(|i| (model.sample_places()[(i, c)], whole.prototypes[(i, c)]));
        let product = |f: fn((f64, f64)) -> f64| pairs().map(f).sum::<f64>();
        let correlation = product(|(a, b)| a * b) / (product(|(a, _)| a * a) * product(|(_, b)| b * b)).sqrt();
        assert!(correlation.abs() > 0.98, "axis {c}: {correlation}");
    }
}

#[test]
fn the_only_sample_of_a_prototype_sits_on_it() {
    let samples = samples();
    let model = recipe(Method::TSnekhorn).prototypes(70).fit(&samples).unwrap();
    let labels = model.plan.labels();
    let alone = |i: &usize| labels.iter().filter(|label| **label == labels[*i]).count() == 1;
    let alone: Vec<usize> = (0..SAMPLES).filter(alone).collect();
    assert!(!alone.is_empty());
    let places = model.sample_places();
    assert!(alone.iter().all(|&i| places.row(i) == model.prototypes.row(labels[i] as usize)));
    check(&model);
}

#[test]
fn places_turn_with_the_maps_of_a_path() {
    let samples = samples();
    for method in [Method::Pca, Method::FuzzyTSne, Method::LaplacianEigenmaps] {
        let path = recipe(method).path(&samples, &[5, 9], Level::Fresh).unwrap();
        let (turned, alone) = (&path.models[1], recipe(method).prototypes(9).fit(&samples).unwrap());
        check(turned);
        let size = alone.prototypes.values().iter().fold(0.0f64, |most, z| most.max(z.abs()));
        // A turned map keeps the distance of every sample to every prototype.
        for i in 0..SAMPLES {
            let to = |model: &Model, k: usize| {
                let apart = model.sample_places().row(i).to_vec().into_iter().zip(model.prototypes.row(k));
                apart.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
            };
            assert!((0..9).all(|k| (to(turned, k) - to(&alone, k)).abs() < 1e-6 * size), "{method} {i}");
        }
        let (again, places) = (turned.places_of(&samples).unwrap(), turned.sample_places());
        let apart = again.values().iter().zip(places.values()).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f64::max) < 1e-4 * size, "{method}");
    }
}
