//! Distances stand for samples, similarities for both, and a method that exists in the tests alone needs no other file.

use super::*;
use crate::affinity::testing::scattered;
use crate::memory::MemoryPlan;
use crate::method::Method;
use crate::model::{FittedTo, GromovClustering, Target};
use crate::solve::Scale;

/// Samples whose distances are exact enough to order neighbours as the samples do.
fn both() -> (Matrix<'static, f32>, Matrix<'static, f64>) {
    let samples = scattered(60, 3, 7);
    let distance = |i: usize, j: usize| {
        let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
        samples.row(i).iter().zip(samples.row(j)).map(square).sum::<f64>().sqrt()
    };
    let distances = Matrix::from_fn(60, 60, distance);
    (samples, distances)
}

fn check(recipe: GromovDr) {
    let (samples, distances) = both();
    let from_samples = recipe.clone().fit(&samples).unwrap();
    let from_distances = recipe.fit(Data::distances(&distances)).unwrap();
    assert_eq!((from_samples.fitted_to, from_distances.fitted_to), (FittedTo::Samples, FittedTo::Distances));
    let (a, b) = (from_samples.outcome.loss, from_distances.outcome.loss);
    assert!((a - b).abs() <= 1e-4 * (1.0 + a.abs()), "{a} {b}");
}

macro_rules! distances_stand_for_samples {
    ($($name:ident $method:expr;)*) => {$(
        #[test]
        fn $name() {
            // Every sample a prototype: no start, which would look at samples.
            check(GromovDr::builder().method($method).every_sample().perplexity(8.0));
        }
    )*};
}

distances_stand_for_samples! {
    mds Method::Mds;
    laplacian_eigenmaps Method::LaplacianEigenmaps;
    sne Method::Sne;
    tsne Method::TSne;
    snekhorn Method::Snekhorn;
    tsnekhorn Method::TSnekhorn;
    heavy_tsne Method::HeavyTSne;
    fuzzy_tsne Method::FuzzyTSne;
    umap Method::Umap;
    chain Method::Chain;
}

#[test]
fn two_perplexities_are_the_mean_of_both() {
    check(GromovDr::builder().method(Method::TSne).every_sample().perplexities(&[4.0, 9.0]));
}

#[test]
fn what_needs_samples_says_so() {
    let (_, distances) = both();
    for method in [Method::Pca, Method::KernelPca, Method::Isomap] {
        let found = GromovDr::builder().method(method).fit(Data::distances(&distances));
        let message = found.unwrap_err().to_string();
        assert!(message.contains(method.name()) && message.contains("mds, laplacian-eigenmaps, sne"), "{message}");
    }
    let wide = Matrix::<f64>::zeros(3, 4);
    assert!(matches!(GromovDr::builder().fit(Data::distances(&wide)), Err(Error::Shape { .. })));
}

/// `Chain` is a variant, a word, a row of `Method::spec` and one file: it fits, clusters, places new samples, plans its
/// memory and comes back from a file, at n < N and n = N, as every method of the table does.
#[test]
fn a_method_is_one_row_and_one_file() {
    let (samples, _) = both();
    assert_eq!("chain".parse(), Ok(Method::Chain));
    let asked = GromovDr::builder().method(Method::Chain).prototypes(3);
    for recipe in [asked.clone(), asked.every_sample()] {
        let model = recipe.fit(&samples).unwrap();
        assert_eq!(Model::from_bytes(&model.to_bytes()), Ok(model.clone()));
        assert_eq!(model.place(&samples).unwrap().places, model.embedding());
        let shape =
            crate::data::Shape { samples: 1000, form: crate::data::Form::Samples { features: 3 }, is_single: true };
        let MemoryPlan { neighbors, .. } = recipe.memory_plan(&shape);
        assert_eq!(neighbors.map(|near| near.k), Some(4));
    }
    let clusters = GromovClustering::builder(3).method(Method::Chain).fit(&samples).unwrap();
    assert_eq!(clusters.predict(&samples), Ok(clusters.plan.labels()));
}

/// Clusters are models like maps: they place new samples and come back from a file; unused ones take nobody.
#[test]
fn clusters_place_new_samples() {
    let samples = scattered(90, 3, 3);
    let moved = Matrix::from_fn(90, 3, |i, j| samples[(i, j)] + 1e-3);
    for &method in Method::ALL {
        for target in [Target::Free, Target::Identity] {
            // Inner products of centred samples are negative, which partitions of the identity may not be asked for here.
            let asked = GromovClustering::builder(3).method(method).perplexity(8.0).target(target, Scale::UnitMaximum);
            let model = asked.fit(&samples).unwrap();
            assert_eq!((model.prototypes.columns(), model.kept.len()), (0, 3));
            let again = Model::from_bytes(&model.to_bytes()).unwrap();
            assert_eq!(again, model);
            let labels = again.predict(&moved).unwrap();
            let same = labels.iter().zip(model.plan.labels()).filter(|(a, b)| **a == *b).count();
            assert!(same >= 80, "{method} {target}: {same} of 90 stay where they were");
            assert!(labels.iter().all(|&label| model.weights[label as usize] > 0.0), "{method} {target}");
        }
    }
}
