//! What is written comes back.

use super::*;
use crate::affinity::{Kernel, KernelFunction, Multiplier, Training};
use crate::data::{Data, Run};
use crate::embedding::Normalization;
use crate::loss::Loss;
use crate::method::Method;
use crate::model::{AlphaScale, Common, GromovClustering, GromovDr, Parameters, Projection, Scaling, Target};
use crate::numeric::Matrix;
use crate::observe::{StopReason, Stopping};
use crate::plan::Plan;
use crate::similarity::{Definiteness, Dense};
use crate::solve::{Scale, Solver};
use crate::table::{Cells, Column, Gaps, Missing, Rules, Shell};
use crate::weights::{PrototypeWeights, SampleWeights};

pub(super) const SAMPLES: usize = 24;

/// A ring in three features, none of them round numbers: connected, so that every method has a map of it.
fn samples() -> Matrix<'static> {
    let angle = |i: usize| i as f64 * std::f64::consts::TAU / SAMPLES as f64;
    Matrix::from_fn(SAMPLES, 3, |i, j| match j {
        0 => 10.0 * angle(i).cos(),
        1 => 7.0 * angle(i).sin(),
        _ => ((i * i) % 7) as f64 / 3.0,
    })
}

pub(super) fn new_samples() -> Matrix<'static> {
    Matrix::from_fn(9, 3, |i, j| (i + j) as f64 / 7.0 + 5.0 * (i % 3) as f64)
}

pub(super) fn builder(method: Method) -> GromovDr {
    GromovDr::builder().method(method).prototypes(5).perplexity(4.0).seed(3)
}

pub(super) fn fit(parameters: GromovDr) -> Model {
    parameters.fit(samples()).unwrap()
}

pub(super) fn soft() -> Model {
    let mut asked = builder(Method::TSne).solver(Solver::Mirror).init(Start::Random);
    asked.common.settings.entropy = 0.05;
    let model = fit(asked);
    assert!(model.plan.hard_labels().is_none());
    model
}

fn common(model: &mut Model) -> &mut Common {
    let Parameters::Map(asked) = &mut model.parameters else { panic!("not a map") };
    &mut asked.common
}

/// A file small enough to be damaged everywhere.
pub(super) fn small() -> Model {
    let samples = Matrix::new(vec![0.1f64, 0.2, 0.4, 5.0, 5.3, 5.9], 6, 1).unwrap();
    GromovDr::builder().method(Method::Pca).prototypes(2).dims(1).fit(&samples).unwrap()
}

/// Comes back equal, to the same bytes, and places new samples as before.
fn comes_back(model: &Model) {
    let bytes = model.to_bytes();
    assert_eq!(bytes, model.to_bytes());
    let again = Model::from_bytes(&bytes).unwrap();
    assert_eq!(&again, model);
    // Equal numbers may differ in the sign of a zero: equal bytes do not.
    assert_eq!(again.to_bytes(), bytes);
    assert_eq!(again.predict(new_samples()), model.predict(new_samples()));
    assert_eq!(again.place(new_samples()), model.place(new_samples()));
    assert_eq!(again.embedding(), model.embedding());
    assert_eq!(again.sample_places(), model.sample_places());
    assert_eq!(again.places_of(new_samples()), model.places_of(new_samples()));
}

fn text(model: &Model) -> String {
    serde_json::to_string(&Header::of(model)).unwrap()
}

#[test]
fn every_method_comes_back_with_few_prototypes_and_with_all() {
    for &method in Method::ALL {
        let parameters = builder(method).neighbors(Some(12));
        comes_back(&fit(parameters.clone()));
        comes_back(&parameters.fit(samples().single()).unwrap());
        comes_back(&fit(parameters.every_sample()));
    }
}

#[test]
fn fused_soft_and_several_scales_come_back() {
    comes_back(&fit(builder(Method::TSnekhorn).alpha(0.3, AlphaScale::AtStart)));
    comes_back(&fit(builder(Method::Pca).alpha(0.7, AlphaScale::Raw).scale(Scaling::MinMax)));
    comes_back(&soft());
    comes_back(&fit(builder(Method::TSnekhorn).perplexities(&[2.5, 1.0 / 0.3])));
    comes_back(&fit(builder(Method::TSnekhorn).normalization(Normalization::Cells).loss(Loss::Square)));
}

#[test]
fn preparations_come_back() {
    for scaling in [Scaling::Standard, Scaling::MinMax, Scaling::None] {
        for method in [Method::TSnekhorn, Method::Mds, Method::KernelPca] {
            let model = fit(builder(method).scale(scaling).pca(Projection::To(2)));
            assert!(model.views[0].preparation.pca.is_some());
            assert_eq!(model.views[0].preparation.scaler.is_some(), scaling != Scaling::None);
            comes_back(&model);
        }
    }
}

#[test]
fn weights_come_back_as_they_were_and_uniform_ones_take_no_room() {
    let weights: Vec<f64> = (0..SAMPLES).map(|i| (i % 4) as f64 * ((i + 1) as f64).sqrt()).collect();
    let weights = SampleWeights::new(&weights).unwrap();
    assert_ne!(SampleWeights::new(&weights).unwrap(), weights, "scaling again must change them, or nothing is tested");
    for parameters in [builder(Method::Umap), builder(Method::Isomap), builder(Method::Pca).every_sample()] {
        comes_back(
            &parameters.fit_with(&(&samples()).into(), Run { weights: Some(&weights), ..Run::default() }).unwrap(),
        );
    }
    let uniform = fit(builder(Method::Pca)).to_bytes();
    assert!(!uniform.windows(14).any(|window| window == b"sample_weights"));
}

#[test]
fn dropped_prototypes_stay_dropped() {
    let labels = (0..SAMPLES as u32).map(|i| 2 * (i % 3)).collect();
    let start = Plan::from_labels(labels, 6, SampleWeights::uniform(SAMPLES).unwrap()).unwrap();
    let stopping = Stopping { max_rounds: 0, rel_tolerance: 0.1, abs_tolerance: 1e-300 };
    let model = fit(builder(Method::TSne).prototypes(6).init(Start::Plan(start)).stopping(stopping));
    assert_eq!(model.kept, [0, 2, 4]);
    assert_eq!(model.outcome.stop, StopReason::MaxRounds);
    comes_back(&model);
}

#[test]
fn a_model_of_a_similarity_still_places_no_new_samples() {
    let similarity = Dense::new(Matrix::from_fn(SAMPLES, SAMPLES, |i, j| 1.0 / (1 + i.abs_diff(j)) as f64)).unwrap();
    for features in [None, Some(samples().into())] {
        let model = builder(Method::Pca).fit(Data::Similarity { similarity: &similarity, features }).unwrap();
        assert_eq!(model.views[0].training, Training::Unknown);
        comes_back(&model);
        assert!(matches!(model.predict(new_samples()), Err(Error::Unsupported(_))));
    }
}

#[test]
fn plans_of_any_shape_come_back() {
    let mut plan = Plan::random(5, SampleWeights::uniform(SAMPLES).unwrap(), 1).unwrap();
    let mut model = soft();
    for round in 0..3 {
        common(&mut model).init = Start::Plan(plan.clone());
        comes_back(&model);
        // A row that shrinks leaves room behind.
        plan.assign(7 * round, 2);
    }
    (0..SAMPLES).for_each(|i| plan.assign(i, i as u32 % 5));
    model.weights = plan.weights();
    model.plan = plan;
    assert!(matches!(&model.placement.multiplier, Multiplier::Plan(plan) if *plan != model.plan));
    comes_back(&model);
}

#[test]
fn places_that_were_turned_come_back() {
    let mut model = fit(builder(Method::TSne).every_sample());
    let bytes = model.to_bytes().len();
    model.prototypes = Matrix::from_fn(SAMPLES, 2, |i, c| -model.prototypes[(i, 1 - c)]);
    comes_back(&model);
    assert!(model.to_bytes().len() > bytes + 16 * SAMPLES, "places equal to the prototypes are not stored twice");
}

/// The words of the file are those of the command and of Python.
#[test]
fn every_parameter_has_its_name_in_the_text() {
    let pca = || builder(Method::Pca);
    let mut mirror = pca().solver(Solver::Mirror);
    (mirror.common.settings.epsilon, mirror.common.settings.entropy) = (Some(0.1), 0.05);
    let rounds = Stopping { max_rounds: 7, rel_tolerance: 1e-7, abs_tolerance: 0.0 };
    let poly = Kernel { function: KernelFunction::Polynomial, degree: 4, ..Kernel::default() };
    let rbf = Kernel { gamma: Some(0.5), ..Kernel::default() };
    let plan = Plan::from_labels(vec![0; 6], 2, SampleWeights::uniform(6).unwrap()).unwrap();
    let table = [
        (pca(), r#""method":"pca","perplexity":[4.0],"neighbors":null"#),
        (pca(), r#""map":{"prototypes":5,"dims":2"#),
        (pca().every_sample(), r#""prototypes":null"#),
        (pca().neighbors(Some(3)), r#""neighbors":3"#),
        (pca().kernel(rbf), r#""kernel":"rbf","gamma":0.5"#),
        (pca().kernel(poly), r#""kernel":"poly","gamma":null,"coef0":1.0,"degree":4"#),
        (pca(), r#""normalization":null,"coupling":0.25,"alpha":1.0,"alpha_scale":"start""#),
        (pca().coupling(1.0), r#""coupling":1.0"#),
        (pca().normalization(Normalization::Cells), r#""normalization":"cells""#),
        (pca(), r#""loss":null"#),
        (pca().loss(Loss::Square), r#""loss":"square""#),
        (pca().alpha(0.25, AlphaScale::Raw), r#""alpha":0.25,"alpha_scale":"raw""#),
        (pca().init(Start::Auto), r#""init":"auto""#),
        (pca().init(Start::Agglomerative), r#""init":"agglomerative""#),
        (pca().init(Start::Spectral), r#""init":"spectral""#),
        (pca().init(Start::KMeans), r#""init":"kmeans""#),
        (pca().init(Start::Random), r#""init":"random""#),
        (pca().init(Start::Plan(plan)), r#""init":"plan""#),
        (pca().n_init(4), r#""n_init":4,"prototype_weights":"learned","min_weight":null"#),
        (pca().prototype_weights(PrototypeWeights::Uniform), r#""prototype_weights":"uniform""#),
        (pca().prototype_weights(PrototypeWeights::Given(vec![0.5, 0.5])), r#""prototype_weights":[0.5,0.5]"#),
        (pca().min_weight(Some(0.1)).max_weight(Some(0.5)), r#""min_weight":0.1,"max_weight":0.5"#),
        (pca().solver(Solver::Vertex), r#""solver":"vertex""#),
        (pca().solver(Solver::ConditionalGradient), r#""solver":"cg""#),
        (mirror, r#""solver":"mirror","epsilon":0.1,"entropy":0.05"#),
        (pca().stopping(rounds), r#""max_rounds":7,"tolerance":1e-7,"abs_tolerance":0.0"#),
        (pca().seed(u64::MAX), r#""seed":18446744073709551615"#),
        (pca().pca(Projection::Auto), r#""pca":"auto""#),
        (pca().pca(Projection::None), r#""pca":"none""#),
        (pca().pca(Projection::To(50)), r#""pca":"50""#),
        (pca().scale(Scaling::None), r#""scale":"none""#),
        (pca().scale(Scaling::Standard), r#""scale":"standard""#),
        (pca().scale(Scaling::MinMax), r#""scale":"minmax""#),
    ];
    let mut model = small();
    for (parameters, expected) in table {
        model.parameters = Parameters::Map(parameters.dims(1));
        let expected = expected.replace(r#""dims":2"#, r#""dims":1"#);
        assert!(text(&model).contains(&expected), "{expected} in {}", text(&model));
        comes_back(&model);
    }
}

#[test]
fn clusters_have_their_names_in_the_text_too() {
    let model = GromovClustering::builder(2).method(Method::Pca).target(Target::Identity, Scale::Raw);
    let model = model.fit(samples()).unwrap();
    assert!(text(&model).contains(r#""clusters":{"clusters":2,"target":"identity","target_scale":"raw"}"#));
    assert_eq!(model.parameters.to_json()["target"], "identity");
    comes_back(&model);
}

#[test]
fn names_of_features_come_back_and_find_their_columns() {
    let names = ["height", "width", "depth"].map(String::from);
    let run = Run { feature_names: Some(&names), ..Run::default() };
    let model = builder(Method::Pca).fit_with(&(&samples()).into(), run).unwrap();
    comes_back(&model);
    let again = Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(again.columns_of(&["depth", "age", "width", "height"]), Ok(vec![3, 2, 0]));
    let missing = again.columns_of(&["depth", "age"]).unwrap_err();
    assert_eq!(missing, Error::MissingColumns { missing: vec!["height".into(), "width".into()] });
    assert!(missing.to_string().contains("the columns \"height\", \"width\""), "{missing}");
    let endless = ["x".repeat(11 << 20), "y".into(), "z".into()];
    let run = Run { feature_names: Some(&endless), ..Run::default() };
    let nameless = builder(Method::Pca).fit_with(&samples().into(), run).unwrap();
    assert_eq!((&nameless.feature_names, nameless.outcome.warnings.len()), (&None, 1));
    comes_back(&nameless);
    let few = Run { feature_names: Some(&names[..2]), ..Run::default() };
    assert!(matches!(builder(Method::Pca).fit_with(&(&samples()).into(), few), Err(Error::Shape { .. })));
}

#[test]
fn names_of_samples_classes_and_prototypes_come_back() {
    let mut model = small();
    let (samples, prototypes) = (model.plan.len(), model.weights.len());
    model.ids = Some((0..samples).map(|i| format!("sample {i} 🦀")).collect());
    model.classes = Some((vec!["ä".into(), String::new()], (0..samples).map(|i| (i % 2) as u32).collect()));
    model.prototype_names = Some(vec!["one, two".into(); prototypes]);
    comes_back(&model);
}

#[test]
fn a_table_comes_back_and_is_scaled_by_columns() {
    let words: Vec<String> = (0..40).map(|i| ["a", "b", "c"][i % 3].into()).collect();
    let numbers = (0..40).map(|i| if i == 5 { f64::NAN } else { (i * i % 11) as f64 }).collect();
    let columns = [
        Column { name: "x".into(), cells: Cells::Numbers(numbers) },
        Column { name: "c".into(), cells: Cells::Text(words) },
    ];
    let rules = Rules { missing: Missing::Mean, ..Rules::default() };
    let encoding = rules.learn(&columns).unwrap().encoding;
    let encoded = encoding.apply(&columns, Gaps::Refuse, Shell::Command).unwrap();
    let run = Run { table: Some(&encoding), ..Run::default() };
    let model = builder(Method::Pca).fit_with(&(&encoded.values).into(), run).unwrap();
    assert_eq!(model.table.as_ref(), Some(&encoding));
    let scaled = model.views[0].preparation.scaler.as_ref().unwrap().transform(&encoded.values).unwrap();
    let variance = |j: usize| (0..40).map(|i| scaled[(i, j)].powi(2)).sum::<f64>() / 40.0;
    assert!((variance(0) - 1.0).abs() < 1e-9 && ((1..4).map(variance).sum::<f64>() - 1.0).abs() < 1e-9);
    assert_eq!(Model::from_bytes(&model.to_bytes()).unwrap(), model);
    let narrow = Run { table: Some(&encoding), ..Run::default() };
    assert!(matches!(builder(Method::Pca).fit_with(&(&samples()).into(), narrow), Err(Error::Shape { .. })));
}

#[test]
fn outcomes_have_their_names_in_the_text() {
    let mut model = small();
    assert!(text(&model).starts_with(r#"{"format":"gromap-model","version":1,"gromap":""#));
    for stop in [StopReason::Converged, StopReason::Stationary, StopReason::MaxRounds, StopReason::Interrupted] {
        model.outcome.stop = stop;
        assert!(text(&model).contains(&format!(r#""stop":"{stop}""#)));
        comes_back(&model);
    }
    let (psd, nsd) = (Some(Definiteness::Psd), Some(Definiteness::Nsd));
    for certificate in [None, psd, nsd, Some(Definiteness::SquaredEuclidean), Some(Definiteness::Unknown)] {
        model.outcome.certificate = certificate;
        model.outcome.loss_is_complete = !model.outcome.loss_is_complete;
        model.outcome.warnings.push("not \"all\" rows\nconverged: ξ".into());
        comes_back(&model);
    }
}

#[test]
fn numbers_keep_their_bits() {
    let mut model = small();
    for number in [0.1 + 0.2, -0.0, 5e-324, f64::MAX, -1.0 / 3.0, 9007199254740993.0] {
        (model.outcome.loss, model.outcome.hardness) = (number, -number);
        model.outcome.history = vec![number, -number];
        let common = common(&mut model);
        common.perplexities = vec![number, 1.0];
        common.kernel = Kernel { gamma: Some(number), ..Kernel::default() };
        comes_back(&model);
        assert_eq!(Model::from_bytes(&model.to_bytes()).unwrap().outcome.loss.to_bits(), number.to_bits());
    }
    for number in [f64::INFINITY, f64::NEG_INFINITY] {
        common(&mut model).perplexities = vec![number, 1.0];
        comes_back(&model);
    }
}

#[test]
fn losses_have_their_names_in_the_text() {
    for (loss, name) in [(Loss::Square, "square"), (Loss::Kl, "kl"), (Loss::BinaryCrossEntropy, "bce")] {
        assert_eq!(Parameters::Map(builder(Method::Umap).loss(loss)).to_json()["loss"], name);
    }
}
