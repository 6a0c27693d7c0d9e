//! Views, from whole fits: sums, weights that are learned, new samples, files, and what is refused.

use super::*;
use crate::affinity::testing::{cloud, entries, scattered};
use crate::method::Method;
use crate::model::path::Level;
use crate::model::{GromovClustering, GromovDr, Model, Places};
use crate::similarity::Dense;

const SAMPLES: usize = 120;

/// Two views with the same three groups, and one of noise.
fn views() -> [Matrix<'static, f32>; 3] {
    [scattered(SAMPLES, 3, 5), scattered(SAMPLES, 4, 6), cloud(SAMPLES, 5, 7)]
}

fn recipe(method: Method) -> GromovDr {
    GromovDr::builder().method(method).prototypes(6).perplexity(8.0).seed(1)
}

fn fit(method: Method, weights: ViewWeights) -> Model {
    recipe(method).view_weights(weights).fit(Data::views(views())).unwrap()
}

fn prepared<'a>(recipe: &GromovDr, data: &'a [Data<'a>]) -> Together<'a, 'static> {
    let weights: &'static SampleWeights = Box::leak(Box::new(SampleWeights::uniform(SAMPLES).unwrap()));
    let purpose = recipe.purpose(Some(6));
    let part = |view| recipe.common.prepare_one(view, purpose, (weights, None), &mut ()).unwrap();
    let parts: Vec<Prepared<'_>> = data.iter().map(part).collect();
    let measured = parts.iter().map(|part| Measured::of(part.similarity(), purpose.loss, weights).unwrap()).collect();
    let shares = vec![1.0 / data.len() as f64; data.len()];
    Together { parts, measured, shares, weights, loss: purpose.loss }
}

#[test]
fn the_objective_of_learned_weights_never_rises() {
    for method in [Method::TSnekhorn, Method::Pca, Method::Umap, Method::LaplacianEigenmaps] {
        let recipe = recipe(method);
        let given = views();
        let data: Vec<Data<'_>> = given.iter().map(Into::into).collect();
        let together = prepared(&recipe, &data);
        let (shares, history) = together.learned(6, recipe.common.recipe().is_local(), 0).unwrap();
        assert!(history.len() > 1, "{method}");
        assert!(history.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9 * pair[0].abs()), "{method} {history:?}");
        assert!(shares.iter().all(|share| *share > 0.0 && *share < 1.0), "{method} {shares:?}");
        // Noise has the least to say.
        assert!(shares[2] < shares[0].min(shares[1]), "{method} {shares:?}");
    }
}

/// E_v by its definition, over all pairs.
#[test]
fn losses_of_views_are_those_of_the_definition() {
    for method in [Method::TSnekhorn, Method::Pca] {
        let recipe = recipe(method);
        let given = views();
        let data: Vec<Data<'_>> = given.iter().map(Into::into).collect();
        let together = prepared(&recipe, &data);
        let labels: Vec<u32> = (0..SAMPLES as u32).map(|i| i % 3).collect();
        let plan = Plan::from_labels(labels, 3, together.weights.clone()).unwrap();
        let target = Matrix::from_fn(3, 3, |k, l| 0.4 + 0.3 * (k == l) as u32 as f64);
        let found = together.losses(&plan, &target);
        for (v, (part, measured)) in together.parts.iter().zip(&together.measured).enumerate() {
            let c = entries(part.similarity());
            let pair = |i: usize, j: usize| {
                let (a, b) = (c[(i, j)] / measured.unit, target[(i % 3, j % 3)]);
                together.loss.f1(a) + together.loss.f2(b) - a * together.loss.g(b)
            };
            let all: f64 = (0..SAMPLES).map(|i| (0..SAMPLES).map(|j| pair(i, j)).sum::<f64>()).sum();
            let expected = all / (SAMPLES * SAMPLES) as f64;
            assert!((found[v] - expected).abs() < 1e-5 * expected.abs(), "{method} {v}: {} {expected}", found[v]);
        }
    }
}

#[test]
fn one_view_alone_is_a_plain_fit() {
    let samples = scattered(SAMPLES, 3, 5);
    let plain = recipe(Method::TSnekhorn).fit(&samples).unwrap();
    for weights in [ViewWeights::Equal, ViewWeights::Learned, ViewWeights::Given(vec![2.0])] {
        let one = recipe(Method::TSnekhorn).view_weights(weights).fit(Data::views([&samples])).unwrap();
        assert_eq!((one.view_weights(), one.plan.labels()), (vec![1.0], plain.plan.labels()));
    }
    // A view that counts nothing is as good as none.
    let noise = cloud(SAMPLES, 5, 7);
    let recipe = recipe(Method::TSnekhorn).view_weights(ViewWeights::Given(vec![1.0, 0.0]));
    let one = recipe.fit(Data::views([&samples, &noise])).unwrap();
    assert_eq!(one.view_weights(), [1.0, 0.0]);
}

#[test]
fn every_method_takes_views_comes_back_from_its_file_and_places_samples() {
    for &method in Method::ALL {
        for weights in [ViewWeights::Equal, ViewWeights::Learned] {
            let model = fit(method, weights);
            let again = Model::from_bytes(&model.to_bytes()).unwrap();
            assert_eq!(again, model, "{method}");
            assert_eq!(again.to_bytes(), model.to_bytes());
            let placed = model.place_by(Data::views(views()), Places::Sample).unwrap();
            let labels = placed.labels.unwrap();
            let same = labels.iter().zip(model.plan.labels()).filter(|(a, b)| **a == *b).count();
            assert!(10 * same >= 9 * SAMPLES, "{method}: {same}");
            if model.parameters.spec().uses.neighbors {
                assert_eq!(same, SAMPLES, "{method}: samples that were seen are known");
            }
            assert_eq!(model.features.as_ref().map(Matrix::columns), Some(12));
        }
        let all = recipe(method).every_sample().fit(Data::views(views()));
        let places = all.and_then(|all| all.place(Data::views(views()))).unwrap().places;
        assert_eq!((places.rows(), places.columns()), (SAMPLES, 2));
    }
}

/// Views whose units differ by a million count the same.
#[test]
fn the_unit_of_a_view_does_not_matter() {
    let [first, second, _] = views();
    let large = Matrix::from_fn(SAMPLES, 4, |i, j| 1e3 * f64::from(second[(i, j)]));
    let second = Matrix::from_fn(SAMPLES, 4, |i, j| f64::from(second[(i, j)]));
    for method in [Method::Pca, Method::TSnekhorn, Method::KernelPca] {
        let labels = |second: &Matrix<'_>| {
            let views = Data::views([Samples::from(&first), Samples::from(second)]);
            recipe(method).fit(views).unwrap().plan.labels()
        };
        assert_eq!(labels(&second), labels(&large), "{method}");
    }
}

/// PCA of two views is PCA of their columns side by side, each view divided by the root of its unit.
#[test]
fn pca_of_views_is_pca_of_their_columns() {
    let [first, second, _] = views();
    let recipe = recipe(Method::Pca);
    let data = [Data::from(&first), Data::from(&second)];
    let together = prepared(&recipe, &data);
    let factors: Vec<f64> = together.measured.iter().map(|measured| (0.5 / measured.unit).sqrt()).collect();
    let both = Matrix::from_fn(SAMPLES, 7, |i, j| match j {
        0..3 => factors[0] * f64::from(first[(i, j)]),
        _ => factors[1] * f64::from(second[(i, j - 3)]),
    });
    let (one, two) =
        (recipe.clone().every_sample().fit(&both), recipe.every_sample().fit(Data::views([&first, &second])));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!(
        (one.outcome.loss - two.outcome.loss).abs() < 1e-5 * one.outcome.loss,
        "{} {}",
        one.outcome.loss,
        two.outcome.loss
    );
}

#[test]
fn paths_clusters_pairs_and_fused_fits_take_views() {
    let given = views();
    let path = recipe(Method::TSnekhorn).path(Data::views(&given), &[3, 6], Level::Warm).unwrap();
    assert_eq!(path.models[1].view_weights(), vec![1.0 / 3.0; 3]);
    let found =
        GromovClustering::builder(3).perplexity(8.0).view_weights(ViewWeights::Learned).fit(Data::views(&given));
    let labels = found.unwrap().plan.labels();
    assert!((0..SAMPLES).filter(|&i| labels[i] == labels[i % 3]).count() > SAMPLES - 10);
    let fused =
        recipe(Method::TSnekhorn).alpha(0.5, crate::model::AlphaScale::AtStart).fit(Data::views(&given)).unwrap();
    assert_eq!(fused.predict(Data::views(&given)).unwrap(), fused.plan.labels());
    let near = |view: &Matrix<'_, f32>| {
        let square = |i: usize, j: usize| {
            view.row(i).iter().zip(view.row(j)).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
        };
        Matrix::from_fn(SAMPLES, SAMPLES, |i, j| (-square(i, j)).exp())
    };
    let pairs: Vec<Matrix<'_>> = given.iter().map(near).collect();
    let operators: Vec<Dense<'_>> = pairs.iter().map(|pairs| Dense::new(pairs.view()).unwrap()).collect();
    let data = Data::views(operators.iter().map(|operator| Data::similarity(operator)));
    let model = recipe(Method::TSnekhorn).view_weights(ViewWeights::Learned).fit(data).unwrap();
    assert!(model.view_weights()[2] < 1.0 / 3.0 && model.features.is_none());
    assert!(model.predict(Data::views(&given)).is_err());
}

#[test]
fn views_that_do_not_belong_together_are_refused() {
    let [first, second, _] = views();
    let short = scattered(SAMPLES - 1, 3, 5);
    let flat = Matrix::from_fn(SAMPLES, 2, |_, _| 1.0);
    let error = |data: Data<'_>| recipe(Method::TSnekhorn).fit(data).unwrap_err().to_string();
    assert!(error(Data::Views(Vec::new())).contains("number of views is 0; it must be at least 1"));
    assert!(error(Data::views([&first, &short])).contains("view 2 of 2: number of samples: expected 120, found 119"));
    let constant = error(Data::views([Samples::from(&first), Samples::from(&flat)]));
    assert!(constant.contains("view 2 of 2: number of different samples is 1"), "{constant}");
    let mixed = Data::Views(vec![Data::from(&first), Data::distances(&flat)]);
    assert!(error(mixed).contains("view 2 of 2: it is of another kind"));
    assert!(error(Data::Views(vec![Data::views([&first])])).contains("view 1 of 1"));
    let given = |weights: Vec<f64>| {
        let recipe = recipe(Method::TSnekhorn).view_weights(ViewWeights::Given(weights));
        recipe.fit(Data::views([&first, &second])).unwrap_err().to_string()
    };
    assert!(given(vec![1.0]).contains("number of view_weights: expected 2, found 1"));
    assert!(given(vec![1.0, -1.0]).contains("view_weights is -1"));
    let model = recipe(Method::TSnekhorn).fit(Data::views([&first, &second])).unwrap();
    let refused = |data: Data<'_>| model.place(data).unwrap_err().to_string();
    assert!(refused(Data::from(&first)).contains("number of views: expected 2, found 1"));
    assert!(refused(Data::views([&second, &first])).contains("view 1 of 2: number of features: expected 3, found 4"));
}
