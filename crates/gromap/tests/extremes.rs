//! Numbers of any size, losses of any kind, absurd parameters: a result that is one, or an error that says what to do.

#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not take for tests

use gromap::embedding::Normalization;
use gromap::observe::{Event, Flow};
use gromap::options::{AlphaScale, Level, Target};
use gromap::solve::Scale;
use gromap::types::Scalar;
use gromap::*;

/// Four groups of ten at the corners of a square, in steps that single precision holds exactly.
fn corners(store: impl Fn(f64) -> f64) -> Matrix<'static> {
    let offset = |i: usize, j: usize| ((i * 7919 + j * 2741 + i * i * 311) % 4093) as f64 / 4096.0;
    let corner = |i: usize, j: usize| 16.0 * (((i % 4) >> j) & 1) as f64;
    Matrix::from_fn(40, 2, |i, j| store(corner(i, j) + offset(i, j)))
}

fn single(samples: &Matrix<'_>) -> Matrix<'static, f32> {
    Matrix::from_fn(samples.rows(), samples.columns(), |i, j| samples[(i, j)] as f32)
}

fn recipe(method: Method) -> GromovDr {
    let neighbors = method.uses().neighbors && !method.uses().perplexity;
    GromovDr::builder().method(method).prototypes(4).perplexity(5.0).neighbors(neighbors.then_some(8))
}

/// Whether two labellings are the same but for names.
fn is_same(one: &[u32], other: &[u32]) -> bool {
    (0..40).all(|i| (0..40).all(|j| (one[i] == one[j]) == (other[i] == other[j])))
}

fn finds_the_groups(labels: &[u32]) -> bool {
    is_same(labels, &(0..40).map(|i| i % 4).collect::<Vec<_>>())
}

/// Four prototypes in the plane cannot be the four pieces of this graph.
fn is_spectral(method: Method) -> bool {
    method == Method::LaplacianEigenmaps
}

/// A fit that is done is finite and never rose; one that is refused was refused before anything was computed.
#[track_caller]
fn is_sound(fit: impl FnOnce(Run<'_>) -> Result<Model>, what: &str) -> bool {
    let mut stages = 0;
    let mut count = |event: &Event| {
        stages += usize::from(matches!(event, Event::Stage(_)));
        Flow::Continue
    };
    match fit(Run { observer: Some(&mut count), ..Run::default() }) {
        Err(error) => {
            assert!(matches!(error, Error::Name { .. }), "{what}: {error}");
            assert_eq!(stages, 0, "{what} was refused late: {error}");
            false
        }
        Ok(model) => {
            let history = &model.outcome.history;
            assert!(model.outcome.loss.is_finite() && history.iter().all(|loss| loss.is_finite()), "{what}");
            assert!(history.windows(2).all(|pair| pair[1] <= pair[0]), "{what}: {history:?}");
            assert!(model.prototypes.values().iter().all(|z| z.is_finite()), "{what}");
            assert!(model.place(corners(|x| x)).unwrap().places.values().iter().all(|z| z.is_finite()), "{what}");
            true
        }
    }
}

#[test]
fn every_loss_of_every_map_is_finite_or_refused() {
    let samples = corners(|x| x);
    let data = Data::from(&samples);
    for &method in Method::ALL {
        for loss in [Loss::Square, Loss::Kl, Loss::BinaryCrossEntropy] {
            for &normalization in Normalization::ALL {
                for prototypes in [Some(4), None] {
                    let asked = recipe(method).loss(loss).normalization(normalization).prototypes(prototypes);
                    let what = format!("{method} {loss} {normalization} {prototypes:?}");
                    let is_done = is_sound(|run| asked.fit_with(&data, run), &what);
                    let is_gram = !method.uses().perplexity && method != Method::Umap;
                    use Normalization::{Cells, DoublyStochasticCells, None};
                    let below_one = matches!(normalization, None | Cells | DoublyStochasticCells);
                    let is_defined = match loss {
                        Loss::Square => true,
                        Loss::Kl => !is_gram,
                        Loss::BinaryCrossEntropy => !is_gram && below_one,
                    };
                    assert_eq!(is_done, is_defined, "{what}");
                }
            }
        }
    }
}

#[test]
fn every_loss_of_clusters_is_finite_or_refused() {
    let samples = corners(|x| x);
    let data = Data::from(&samples);
    for method in [Method::Sne, Method::TSne, Method::Snekhorn, Method::TSnekhorn, Method::Umap] {
        for loss in [Loss::Square, Loss::Kl, Loss::BinaryCrossEntropy] {
            for target in [Target::Free, Target::Identity] {
                let asked = GromovClustering::builder(4).method(method).loss(loss).perplexity(5.0).neighbors(Some(15));
                let asked = asked.target(target, Scale::UnitMaximum);
                let is_done = is_sound(|run| asked.fit_with(&data, run), &format!("{method} {loss} {target:?}"));
                assert_eq!(is_done, target == Target::Free || loss == Loss::Square);
            }
        }
    }
}

#[test]
fn what_lies_far_from_zero_is_told_apart() {
    let near = corners(|x| x);
    for offset in [1e9, -1e12] {
        let far = corners(|x| x + offset);
        for &method in Method::ALL {
            let model = recipe(method).fit(&far).unwrap();
            let here = recipe(method).fit(&near).unwrap();
            assert_eq!(model.plan, here.plan, "{method} at {offset}");
            assert!(finds_the_groups(&model.plan.labels()) || is_spectral(method), "{method} at {offset}");
            let again = Model::from_bytes(&model.to_bytes()).unwrap();
            assert_eq!(again, model, "{method}");
            // New samples are seen from where the old ones were.
            let new = Matrix::from_fn(40, 2, |i, j| far[(i, j)] + 0.25);
            let placed = again.predict(&new).unwrap();
            assert_eq!(placed, here.predict(Matrix::from_fn(40, 2, |i, j| near[(i, j)] + 0.25)).unwrap(), "{method}");
            let all = recipe(method).every_sample().fit(&far).unwrap();
            assert!(all.place(&far).unwrap().places.values().iter().all(|z| z.is_finite()), "{method}");
        }
    }
}

#[test]
fn the_features_of_a_fused_map_may_lie_far_from_zero() {
    let fused = |samples: &Matrix<'_>| recipe(Method::TSne).alpha(0.1, AlphaScale::AtStart).fit(samples).unwrap();
    let (near, far) = (fused(&corners(|x| x)), fused(&corners(|x| x + 1e9)));
    assert_eq!(near.plan, far.plan);
    let (a, b) = (near.outcome.loss, far.outcome.loss);
    assert!((a - b).abs() < 1e-6 * a.abs(), "{a} {b}");
}

/// Maps of samples of another size are the same, in another unit.
#[track_caller]
fn check_size<S: Scalar>(method: Method, plain: &Model, samples: &Matrix<'_, S>, size: f64) {
    let model = recipe(method).fit(samples).unwrap();
    assert!(is_same(&model.plan.labels(), &plain.plan.labels()), "{method} times {size:e}");
    let placed = (model.predict(samples).unwrap(), plain.predict(corners(|x| x)).unwrap());
    assert!(is_same(&placed.0, &placed.1), "{method} times {size:e}");
    if !matches!(method, Method::Pca | Method::Mds | Method::Isomap) {
        return;
    }
    // These maps are in the unit of the samples; the signs of their axes are a matter of rounding.
    let places = (model.embedding(), plain.embedding());
    let distance = |places: &Matrix<'_>, j: usize| {
        places.row(0).iter().zip(places.row(j)).map(|(a, b)| (a - b).abs()).sum::<f64>()
    };
    for j in 1..40 {
        let (found, expected) = (distance(&places.0, j) / size, distance(&places.1, j));
        assert!((found - expected).abs() < 1e-3 * (1.0 + expected), "{method} times {size:e}: {found} {expected}");
    }
}

#[test]
fn samples_of_any_size_have_the_same_map() {
    for &method in Method::ALL.iter().filter(|method| **method != Method::KernelPca) {
        let plain = recipe(method).fit(corners(|x| x)).unwrap();
        for size in [1e30, 1e-30] {
            let samples = corners(|x| size * x);
            check_size(method, &plain, &samples, size);
            check_size(method, &plain, &single(&samples), size);
        }
        check_size(method, &plain, &single(&corners(|x| 1e-40 * x)), 1e-40);
    }
}

#[test]
fn the_largest_and_smallest_numbers_give_a_map_or_an_error() {
    for &method in Method::ALL {
        let plain = recipe(method).fit(corners(|x| x)).unwrap();
        for size in [1e100, 1e306, 1e-100, 1e-320] {
            for prototypes in [Some(4), None] {
                let samples = corners(|x| size * x);
                match recipe(method).prototypes(prototypes).fit(&samples) {
                    Ok(model) => {
                        let is_same = prototypes.is_none() || is_same(&model.plan.labels(), &plain.plan.labels());
                        assert!(is_same || method == Method::KernelPca, "{method} times {size:e}");
                        assert!(model.place(&samples).is_ok(), "{method} times {size:e}");
                    }
                    Err(Error::Parameter { allowed, .. }) => {
                        assert!(allowed.contains("scale") || allowed.contains("at most 1e100"), "{method}: {allowed}");
                    }
                    Err(other) => panic!("{method} times {size:e}: {other}"),
                }
            }
        }
    }
}

#[test]
fn distances_of_any_size_have_the_same_map() {
    let samples = corners(|x| x);
    let distance = |i: usize, j: usize| (samples[(i, 0)] - samples[(j, 0)]).hypot(samples[(i, 1)] - samples[(j, 1)]);
    for method in [Method::TSne, Method::TSnekhorn, Method::Umap] {
        for size in [1.0, 1e30, 1e-30, 1e300] {
            let distances = Matrix::from_fn(40, 40, |i, j| size * distance(i, j));
            let labels = recipe(method).fit(Data::distances(&distances)).unwrap().plan.labels();
            assert!(finds_the_groups(&labels), "{method} times {size:e}");
        }
    }
    let huge = Matrix::from_fn(40, 40, |i, j| (1e30 * distance(i, j)) as f32);
    let error = recipe(Method::Mds).fit(Data::distances(&huge)).unwrap_err().to_string();
    assert!(error.contains("scale the distances"), "{error}");
}

#[test]
fn absurd_dimensions_are_refused() {
    let samples = corners(|x| x);
    for &method in Method::ALL {
        for prototypes in [Some(4), None] {
            let asked = recipe(method).prototypes(prototypes).dims(1_000_000_000_000);
            let refused = asked.fit(&samples).unwrap_err();
            assert!(matches!(refused, Error::Parameter { name: "dims", .. }), "{method}: {refused}");
            let refused = asked.path(&samples, &[2, 3], Level::Fresh).unwrap_err();
            assert!(matches!(refused, Error::Parameter { name: "dims", .. }), "{method}: {refused}");
        }
    }
    assert!(recipe(Method::Pca).dims(40).fit(&samples).is_ok());
}

#[test]
fn other_absurd_parameters_are_refused() {
    let samples = corners(|x| x);
    let most = usize::MAX;
    for asked in [
        recipe(Method::TSne).prototypes(most),
        recipe(Method::TSne).neighbors(Some(most)),
        recipe(Method::Umap).neighbors(Some(most)),
        recipe(Method::Isomap).neighbors(Some(most)),
        recipe(Method::TSne).perplexity(1e300),
        recipe(Method::TSnekhorn).perplexities(&[5.0, 1e18]),
        recipe(Method::TSne).pca(options::Projection::To(most)),
        recipe(Method::TSne).n_init(0),
    ] {
        let refused = asked.fit(&samples).unwrap_err();
        assert!(matches!(refused, Error::Parameter { .. } | Error::NoRoom { .. }), "{refused}");
    }
    assert!(GromovClustering::builder(most).fit(&samples).is_err());
    assert!(recipe(Method::TSne).path(&samples, &[2, most], Level::Fresh).is_err());
}

#[test]
fn the_models_of_a_path_are_planned_for() {
    let shape = Data::from(&corners(|x| x)).shape();
    let few = recipe(Method::TSne).path_memory_plan(&shape, &[3]).peak();
    let many: Vec<usize> = (2..40).collect();
    assert!(recipe(Method::TSne).path_memory_plan(&shape, &many).peak() > few + 38 * 40 * 2 * 4);
}

#[test]
fn all_weight_on_one_sample_is_named() {
    let samples = corners(|x| x);
    let mut weights = vec![0.0; 40];
    weights[6] = 3.0;
    let weights = SampleWeights::new(&weights).unwrap();
    for &method in Method::ALL {
        let run = Run { weights: Some(&weights), ..Run::default() };
        let error = recipe(method).fit_with(&Data::from(&samples), run).unwrap_err().to_string();
        assert!(error.contains("sample_weights[6] is the only one"), "{method}: {error}");
    }
}
