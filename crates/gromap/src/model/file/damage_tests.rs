//! What was not written as it is, is refused.

use proptest::prelude::*;

use super::checksum::crc64;
use super::tests::{SAMPLES, builder, fit, new_samples, small, soft};
use super::*;
use crate::affinity::{Multiplier, Training};
use crate::method::Method;
use crate::model::own_places::OwnPlaces;
use crate::model::{AlphaScale, GromovDr, Parameters, Scaling};
use crate::numeric::Matrix;
use crate::plan::Plan;
use crate::weights::SampleWeights;

#[track_caller]
fn refused(bytes: &[u8], problem: &str) {
    match Model::from_bytes(bytes) {
        Err(Error::DamagedModel(found)) => assert!(found.contains(problem), "{found}"),
        other => panic!("{other:?}"),
    }
}

/// Changes that no accident makes: the checksum is made to match.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 8;
    let checksum = crc64(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
    let mut bytes = bytes.to_vec();
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    bytes
}

fn map(model: &mut Model) -> &mut GromovDr {
    let Parameters::Map(asked) = &mut model.parameters else { panic!("not a map") };
    asked
}

/// An archive of our own making: header, data, checksum.
fn archive(header: &str, data: &[u8]) -> Vec<u8> {
    resealed([&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat())
}

#[test]
fn a_file_cut_short_or_made_longer_is_refused() {
    let bytes = small().to_bytes();
    for length in 0..bytes.len() {
        assert!(matches!(Model::from_bytes(&bytes[..length]), Err(Error::DamagedModel(_))), "{length}");
    }
    for extra in [&[0][..], b" ", &[0; 8], &bytes] {
        refused(&[&bytes, extra].concat(), "bytes of tensors expected");
    }
    refused(b"", "0 bytes are too few");
    refused(b"x,y\n1.0,2.0\n3.0,4.0\n", "a header of 3184095724714929272 bytes expected, 12 found");
}

#[test]
fn a_bit_changed_anywhere_is_refused() {
    let bytes = small().to_bytes();
    let mut changed = bytes.clone();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            changed[at] = bytes[at] ^ (1 << bit);
            assert!(Model::from_bytes(&changed).is_err(), "byte {at}, bit {bit}");
        }
        changed[at] = bytes[at];
    }
    assert!(Model::from_bytes(&changed).is_ok());
}

#[test]
fn a_newer_format_is_named_before_anything_else_is_wrong() {
    let bytes = replaced(&small().to_bytes(), r#"\"version\":1"#, r#"\"version\":2"#);
    let newer = Error::NewerModel { format: 2, known: 1 };
    assert_eq!(Model::from_bytes(&bytes), Err(newer.clone()));
    assert_eq!(Model::from_bytes(&resealed(bytes)), Err(newer.clone()));
    let known = "the model file was written by a newer gromap (format 2; this one reads up to 1)";
    assert_eq!(newer.to_string(), known);
    let unknown = r#"{"__metadata__":{"gromap-model":"{\"format\":\"gromap-model\",\"version\":2,\"new\":[]}"}}"#;
    assert_eq!(Model::from_bytes(&archive(unknown, &[0; 8])), Err(newer));
    refused(&resealed(replaced(&small().to_bytes(), r#"\"version\":1"#, r#"\"version\":0"#)), "format 0");
}

#[test]
fn other_archives_are_refused() {
    refused(&archive("{}", &[0; 8]), "it holds no gromap model");
    refused(&archive(r#"{"__metadata__":{"gromap-model":"[]"}}"#, &[]), "");
    let stamp = r#""__metadata__":{"gromap-model":"{\"format\":\"gromap-model\",\"version\":1}"}"#;
    refused(&archive(&format!("{{{stamp}}}"), &[0; 8]), "0 bytes of tensors expected, 8 found");
    let lone = r#""checksum":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}"#;
    refused(&archive(&format!("{{{stamp},{lone}}}"), &[0; 8]), "missing field");
    refused(&archive(&format!("{{{stamp},{}}}", lone.replace("checksum", "check")), &[0; 8]), "no tensor \"checksum\"");
    // More than the address space: the sum of it all must not overflow.
    let huge = |i: u64| {
        let (size, start) = ((1u64 << 61) - 1, i * ((1 << 61) - 1));
        format!(r#""{i}":{{"dtype":"U8","shape":[{size}],"data_offsets":[{start},{}]}}"#, start + size)
    };
    let all: Vec<String> = (0..8).map(huge).collect();
    refused(&archive(&format!("{{{stamp},{}}}", all.join(",")), &[0; 8]), "bytes of tensors expected, 8 found");
    let name = r#"\"format\":\"gromap-model\""#;
    refused(&resealed(replaced(&small().to_bytes(), name, r#"\"format\":\"gromap-motel\""#)), "gromap-motel");
}

#[test]
fn what_a_damaged_file_says_is_cut_short() {
    let long = format!(r#"{{"__metadata__":{{"gromap-model":"\"{}\""}}}}"#, "ü".repeat(100_000));
    let Err(Error::DamagedModel(problem)) = Model::from_bytes(&archive(&long, &[0; 8])) else { panic!("not refused") };
    assert!(problem.starts_with("invalid type: string \"üü") && problem.ends_with("ü…"), "{problem}");
    assert_eq!(problem.chars().count(), 501);
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    type Change = fn(&mut Model);
    let table: [(Change, &str); 24] = [
        (|model| model.weights.truncate(4), "number of weights: expected 5, found 4"),
        (|model| model.weights[0] += 0.1, "weights are not those of its plan"),
        (|model| model.weights[0] = f64::NAN, "number 0 of its tensor \"weights\" is NaN"),
        (|model| model.kept.truncate(4), "kept: expected 5, found 4"),
        (|model| model.kept.swap(0, 1), "not in order"),
        (|model| model.prototypes = Matrix::zeros(4, 2), "number of prototypes: expected 5, found 4"),
        (|model| model.prototypes = Matrix::zeros(5, 3), "dimensions of the map: expected 2, found 3"),
        (|model| model.features = Some(Matrix::zeros(4, 3)), "number of mean samples"),
        (|model| map(model).alpha = 2.0, "alpha is 2"),
        (|model| map(model).coupling = 1.5, "coupling"),
        (|model| model.placement.step = None, "fits neither"),
        (|model| model.placement.multiplier = Multiplier::Places(Matrix::zeros(SAMPLES, 2)), "fits neither"),
        (|model| model.views[0].preparation.features = None, "it has features of the scaling, but no samples"),
        (|model| model.views[0].preparation.features = Some(4), "features of the scaling: expected 4, found 3"),
        (
            |model| model.views[0].training = Training::Product { mean: vec![], sketch: Matrix::zeros(0, 5) },
            "does not fit its method",
        ),
        (|model| model.target = Some(Matrix::zeros(5, 5)), "a map has none"),
        (|model| model.feature_names = Some(vec!["a".into()]), "names of features: expected 3, found 1"),
        (|model| model.ids = Some(vec!["a".into()]), "names of samples: expected"),
        (|model| model.prototype_names = Some(vec!["a".into()]), "names of prototypes: expected"),
        (|model| model.classes = Some((vec!["a".into()], vec![1; model.plan.len()])), "a class without a name"),
        (|model| model.links = vec![(0, 5, 0.1)], "its links"),
        (|model| model.links = vec![(1, 1, 0.1)], "its links"),
        (|model| model.links = vec![(1, 2, 0.1), (0, 1, 0.1)], "its links"),
        (|model| model.links = vec![(0, 1, -0.1)], "its links"),
    ];
    let good = fit(builder(Method::TSnekhorn).scale(Scaling::Standard).alpha(0.5, AlphaScale::Raw));
    for (change, problem) in table {
        let mut model = good.clone();
        change(&mut model);
        refused(&model.to_bytes(), problem);
    }
    let mut model = good.clone();
    for neighbors in [0, SAMPLES + 1] {
        map(&mut model).common.neighbors = Some(neighbors);
        refused(&model.to_bytes(), "neighbors is");
    }
    let mut model = good.clone();
    model.sample_places = None;
    refused(&model.to_bytes(), "samples have places of their own");
    model.sample_places = Some(Matrix::zeros(SAMPLES, 3));
    refused(&model.to_bytes(), "columns of the places of samples: expected 2, found 3");
    for (rule, problem) in [
        (None, "does not fit its method"),
        (
            Some(OwnPlaces::LeastSquares { columns: Matrix::zeros(5, 2), shift: vec![0.0; 2] }),
            "does not fit its method",
        ),
        (Some(OwnPlaces::Row { repulsion: vec![1.0; 4] }), "weights of the repulsion: expected 5, found 4"),
        (Some(OwnPlaces::Row { repulsion: vec![-1.0; 5] }), "a weight of the repulsion is negative"),
    ] {
        let mut model = good.clone();
        model.placement.own_places = rule;
        refused(&model.to_bytes(), problem);
    }
    let mut model = good;
    model.placement.step.as_mut().unwrap().attraction = Some(Matrix::zeros(5, 4));
    refused(&model.to_bytes(), "columns of the attraction: expected 5, found 4");
}

#[test]
fn numbers_that_no_fit_gives_are_refused() {
    type Change = fn(&mut Model);
    fn step(model: &mut Model) -> &mut crate::model::placement::RowStep {
        model.placement.step.as_mut().unwrap()
    }
    let table: [(Change, &str); 10] = [
        (|model| model.prototypes.values_mut()[3] = f64::NAN, "number 3 of its tensor \"prototypes\" is NaN"),
        (|model| model.prototypes.values_mut()[0] = f64::INFINITY, "\"prototypes\" is inf"),
        (|model| model.features.as_mut().unwrap().values_mut()[1] = f64::NEG_INFINITY, "\"features\" is -inf"),
        (|model| model.outcome.history[0] = f64::NAN, "\"history\" is NaN"),
        (|model| model.outcome.loss = f64::NAN, "its loss is NaN"),
        (|model| model.outcome.hardness = f64::INFINITY, "its hardness is inf"),
        (|model| step(model).attraction.as_mut().unwrap().values_mut()[0] = f64::NAN, "\"step.attraction\" is NaN"),
        (|model| step(model).repulsion[1] = f64::NAN, "\"step.repulsion\" is NaN"),
        (|model| step(model).repulsion[1] = f64::NEG_INFINITY, "\"step.repulsion\" is -inf"),
        (
            |model| {
                let Training::Neighbors { samples } = &mut model.views[0].training else { panic!("other training") };
                samples.values_mut()[4] = f32::NAN;
            },
            "number 4 of its tensor \"training.samples\" is NaN",
        ),
    ];
    let good = fit(builder(Method::TSnekhorn));
    assert_eq!(Model::from_bytes(&good.to_bytes()).as_ref(), Ok(&good));
    for (change, problem) in table {
        let mut model = good.clone();
        change(&mut model);
        refused(&model.to_bytes(), problem);
    }
}

#[test]
fn wrong_entries_of_plans_are_refused() {
    let (hard, soft) = (small().to_bytes(), soft().to_bytes());
    // The labels of the small model are the last before the checksum, by their size and name.
    let mut label = hard.clone();
    let at = hard.len() - 12;
    label[at] = 7;
    refused(&resealed(label), "label is 7; it must be less than 2");
    let swapped = replaced(&hard, "\"plan.labels\"", "\"plan.xabels\"");
    refused(&resealed(swapped), "no tensor \"plan.starts\"");
    refused(&resealed(replaced(&hard, "\"history\"", "\"hislory\"")), "no tensor \"history\"");
    refused(&resealed(replaced(&hard, "\"features\":{", "\"feature5\":{")), "\"feature5\" that does not belong");
    let wide = replaced(&soft, "\"plan.mass\":{\"dtype\":\"F64\"", "\"plan.mass\":{\"dtype\":\"I64\"");
    refused(&resealed(wide), "\"plan.mass\" is a tensor of I64");
}

#[test]
fn rows_of_stored_plans_are_checked() {
    use crate::plan::PlanEntries::Soft;
    let weights = || SampleWeights::uniform(2).unwrap();
    let plan = |starts: [usize; 2], lengths: [u32; 2], prototypes: [u32; 3], mass: [f64; 3]| {
        let (starts, lengths) = (starts.to_vec(), lengths.to_vec());
        Plan::restored(Soft { starts, lengths, prototypes: prototypes.to_vec(), mass: mass.to_vec() }, 2, weights())
    };
    assert!(plan([0, 2], [2, 1], [0, 1, 1], [0.2, 0.3, 0.5]).is_ok());
    for wrong in [
        plan([0, 2], [2, 2], [0, 1, 1], [0.2, 0.3, 0.5]),
        plan([0, usize::MAX], [2, 1], [0, 1, 1], [0.2, 0.3, 0.5]),
        plan([0, 2], [2, 0], [0, 1, 1], [0.2, 0.3, 0.5]),
        plan([0, 2], [2, 1], [0, 2, 1], [0.2, 0.3, 0.5]),
        plan([0, 2], [2, 1], [1, 1, 1], [0.2, 0.3, 0.5]),
        plan([0, 2], [2, 1], [0, 1, 1], [0.2, 0.2, 0.5]),
        plan([0, 2], [2, 1], [0, 1, 1], [0.6, -0.1, 0.5]),
        plan([0, 2], [2, 1], [0, 1, 1], [f64::NAN, 0.3, 0.5]),
    ] {
        assert!(wrong.is_err());
    }
    assert!(SampleWeights::restored(vec![0.5, 0.6]).is_err());
    assert!(SampleWeights::restored(vec![0.5, -0.5]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), length in 0u8..200) {
        prop_assert!(Model::from_bytes(&bytes).is_err());
        let begun = [&[length, 0, 0, 0, 0, 0, 0, 0][..], b"{\"", &bytes].concat();
        prop_assert!(Model::from_bytes(&begun).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A file that lies on purpose is refused or used, but nothing panics.
    #[test]
    fn forged_files_never_panic(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        static MODELS: std::sync::LazyLock<[Vec<u8>; 4]> = std::sync::LazyLock::new(|| {
            let every = fit(builder(Method::KernelPca).every_sample());
            [small().to_bytes(), soft().to_bytes(), fit(builder(Method::Umap)).to_bytes(), every.to_bytes()]
        });
        for bytes in &*MODELS {
            let mut forged = bytes.clone();
            places.iter().for_each(|(at, byte)| forged[at.index(bytes.len())] = *byte);
            if let Ok(model) = Model::from_bytes(&resealed(forged)) {
                let _ = (model.place(new_samples()), model.embedding());
            }
        }
    }
}
