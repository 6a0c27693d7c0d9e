//! The parts of a model as tensors, and back through the constructors that check them.

use super::container::{Reader, Writer, damaged};
use super::header::{MultiplierForm, ViewForm};
use crate::affinity::{Multiplier, Training};
use crate::error::{Error, Result};
use crate::model::novelty::Reach;
use crate::model::own_places::OwnPlaces;
use crate::model::placement::{Placement, RowStep};
use crate::model::preparation::Preparation;
use crate::model::views::FittedView;
use crate::numeric::Matrix;
use crate::plan::{Plan, PlanEntries as Entries};
use crate::preprocessing::{Frame, Pca, Scaler};
use crate::weights::SampleWeights;

/// Writes a plan under a name: `prototypes`, `labels` or `starts`, `entries` and `mass`; `lengths` where rows have room
/// to spare; `sample_weights` unless they are uniform.
pub(super) fn write_plan<'a>(out: &mut Writer<'a>, name: &str, plan: &'a Plan) {
    out.scalar(format!("{name}.prototypes"), plan.prototypes() as u64);
    let weights: &[f64] = plan.sample_weights();
    if SampleWeights::uniform(weights.len()).as_deref() != Ok(weights) {
        out.vector(format!("{name}.sample_weights"), weights);
    }
    match plan.stored() {
        Entries::Hard(labels) => out.vector(format!("{name}.labels"), labels),
        Entries::Soft { starts, lengths, prototypes, mass } => {
            out.vector(format!("{name}.starts"), starts.iter().map(|&start| start as u64).collect::<Vec<_>>());
            if lengths_between(starts, mass.len()).as_ref() != Some(lengths) {
                out.vector(format!("{name}.lengths"), lengths);
            }
            out.vector(format!("{name}.entries"), prototypes);
            out.vector(format!("{name}.mass"), mass);
        }
    }
}

/// Lengths of rows that fill the room from each start to the next, if the starts ascend.
fn lengths_between(starts: &[usize], entries: usize) -> Option<Vec<u32>> {
    let ends = starts.iter().skip(1).copied().chain([entries]);
    starts.iter().zip(ends).map(|(&start, end)| u32::try_from(end.checked_sub(start)?).ok()).collect()
}

pub(super) fn read_plan(from: &mut Reader<'_>, name: &str) -> Result<Plan> {
    let named = |part: &str| format!("{name}.{part}");
    let size = |value: u64| usize::try_from(value).map_err(damaged);
    let prototypes = size(from.scalar(&named("prototypes"))?)?;
    let rows = if from.has(&named("labels")) {
        Entries::Hard(from.vector(&named("labels"))?)
    } else {
        let starts = from.vector(&named("starts"))?.into_iter().map(size).collect::<Result<Vec<_>>>()?;
        let mass: Vec<f64> = from.vector(&named("mass"))?;
        let lengths = if from.has(&named("lengths")) {
            from.vector(&named("lengths"))?
        } else {
            lengths_between(&starts, mass.len()).ok_or_else(|| damaged("the rows of its plan are not in order"))?
        };
        Entries::Soft { starts, lengths, prototypes: from.vector(&named("entries"))?, mass }
    };
    let samples = match &rows {
        Entries::Hard(labels) => labels.len(),
        Entries::Soft { starts, .. } => starts.len(),
    };
    let weights = if from.has(&named("sample_weights")) {
        SampleWeights::restored(from.vector(&named("sample_weights"))?)?
    } else {
        SampleWeights::uniform(samples)?
    };
    Plan::restored(rows, prototypes, weights)
}

/// Writes texts under a name: the letters of all of them, and how many each has.
pub(super) fn write_texts(out: &mut Writer<'_>, name: &str, texts: &[String]) {
    out.vector(
        format!("{name}.letters"),
        texts.iter().flat_map(|text| text.chars().map(u32::from)).collect::<Vec<_>>(),
    );
    out.vector(format!("{name}.lengths"), texts.iter().map(|text| text.chars().count() as u64).collect::<Vec<_>>());
}

/// Texts, if there are any of this name.
pub(super) fn read_texts(from: &mut Reader<'_>, name: &str) -> Result<Option<Vec<String>>> {
    if !from.has(&format!("{name}.letters")) {
        return Ok(None);
    }
    let letters: Vec<u32> = from.vector(&format!("{name}.letters"))?;
    let lengths: Vec<u64> = from.vector(&format!("{name}.lengths"))?;
    let mut rest = letters.as_slice();
    let mut texts = Vec::with_capacity(lengths.len());
    for length in lengths {
        let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let (text, after) = split.ok_or_else(|| damaged(format!("its {name} have too few letters")))?;
        let text: Option<String> = text.iter().map(|&letter| char::from_u32(letter)).collect();
        texts.push(text.ok_or_else(|| damaged(format!("its {name} hold what is no letter")))?);
        rest = after;
    }
    if rest.is_empty() { Ok(Some(texts)) } else { Err(damaged(format!("its {name} have too many letters"))) }
}

/// Names of classes and the class of each sample, if they are known.
pub(super) fn read_classes(from: &mut Reader<'_>) -> Result<Option<(Vec<String>, Vec<u32>)>> {
    let names = read_texts(from, "classes.names")?;
    names.map(|names| Ok((names, from.vector("classes.of_samples")?))).transpose()
}

/// Links as three vectors, where there are any.
pub(super) fn write_links(out: &mut Writer<'_>, links: &[(u32, u32, f64)]) {
    if !links.is_empty() {
        out.vector("links.from", links.iter().map(|link| link.0).collect::<Vec<u32>>());
        out.vector("links.to", links.iter().map(|link| link.1).collect::<Vec<u32>>());
        out.vector("links.share", links.iter().map(|link| link.2).collect::<Vec<f64>>());
    }
}

pub(super) fn read_links(from: &mut Reader<'_>) -> Result<Vec<(u32, u32, f64)>> {
    if !from.has("links.from") {
        return Ok(Vec::new());
    }
    let (ends, others) = (from.vector::<u32>("links.from")?, from.vector::<u32>("links.to")?);
    let shares = from.vector::<f64>("links.share")?;
    Error::check_len("number of other ends of links", ends.len(), others.len())?;
    Error::check_len("number of shares of links", ends.len(), shares.len())?;
    Ok(ends.into_iter().zip(others).zip(shares).map(|((k, l), share)| (k, l, share)).collect())
}

pub(super) fn read_reach(from: &mut Reader<'_>) -> Result<Reach> {
    let reach = Reach { spreads: from.vector("reach.spreads")?, limit: from.scalar("reach.limit")? };
    let is_positive = reach.limit > 0.0 && reach.spreads.iter().all(|&spread| spread > 0.0);
    match is_positive {
        true => Ok(reach),
        false => Err(damaged("how far its samples are is not positive")),
    }
}

/// What stands before the names of the parts of a view: nothing for the first.
fn of_view(view: usize) -> String {
    if view == 0 { String::new() } else { format!("view{}.", view + 1) }
}

/// Writes what a model keeps of its views but their weights, which are in the header.
pub(super) fn write_views<'a>(out: &mut Writer<'a>, views: &'a [FittedView]) {
    for (v, view) in views.iter().enumerate() {
        write_preparation(out, &of_view(v), &view.preparation);
        write_training(out, &of_view(v), &view.training);
    }
}

/// Views with these weights and numbers of features.
pub(super) fn read_views(from: &mut Reader<'_>, forms: &[ViewForm]) -> Result<Vec<FittedView>> {
    let view = |(v, form): (usize, &ViewForm)| {
        let preparation = read_preparation(from, &of_view(v), form.features)?;
        let training = read_training(from, &of_view(v))?;
        Ok(FittedView { share: form.share.0, factor: form.factor.0, preparation, training })
    };
    forms.iter().enumerate().map(view).collect()
}

fn write_preparation<'a>(out: &mut Writer<'a>, view: &str, preparation: &'a Preparation) {
    let named = |part: &str| format!("{view}{part}");
    if let Some(scaler) = &preparation.scaler {
        out.vector(named("scaler.shift"), scaler.shift());
        out.vector(named("scaler.factor"), scaler.factor());
    }
    if let Some(pca) = &preparation.pca {
        out.vector(named("pca.mean"), pca.mean());
        out.matrix(named("pca.components"), pca.components());
        out.vector(named("pca.explained_variance"), pca.explained_variance());
        out.scalar(named("pca.total_variance"), pca.total_variance());
    }
    if let Some(frame) = &preparation.frame {
        out.vector(named("frame.centre"), frame.centre());
        out.scalar(named("frame.scale"), frame.scale());
    }
}

fn read_preparation(from: &mut Reader<'_>, view: &str, features: Option<usize>) -> Result<Preparation> {
    let named = |part: &str| format!("{view}{part}");
    let mut preparation = Preparation { features, scaler: None, pca: None, frame: None };
    if from.has(&named("scaler.shift")) {
        let scaler = Scaler::restored(from.vector(&named("scaler.shift"))?, from.vector(&named("scaler.factor"))?)?;
        check_features("features of the scaling", features, scaler.shift().len())?;
        preparation.scaler = Some(scaler);
    }
    if from.has(&named("pca.mean")) {
        let (mean, components) = (from.vector(&named("pca.mean"))?, from.matrix(&named("pca.components"))?);
        let variances = (from.vector(&named("pca.explained_variance"))?, from.scalar(&named("pca.total_variance"))?);
        check_features("features of the projection", features, mean.len())?;
        preparation.pca = Some(Pca::restored(mean, components, variances.0, variances.1)?);
    }
    if from.has(&named("frame.centre")) {
        let frame = Frame::restored(from.vector(&named("frame.centre"))?, from.scalar(&named("frame.scale"))?)?;
        let width = preparation.pca.as_ref().map(|pca| pca.components().rows()).or(features);
        check_features("features of the centre", width, frame.centre().len())?;
        preparation.frame = Some(frame);
    }
    Ok(preparation)
}

/// Refuses another number of features than the samples had, and any where there were no samples.
fn check_features(what: &str, features: Option<usize>, found: usize) -> Result<()> {
    let expected = features.ok_or_else(|| damaged(format!("it has {what}, but no samples")))?;
    Error::check_len(what, expected, found)
}

fn write_training<'a>(out: &mut Writer<'a>, view: &str, training: &'a Training) {
    let named = |part: &str| format!("{view}training.{part}");
    match training {
        Training::Unknown => {}
        Training::Product { mean, sketch } => {
            out.vector(named("mean"), mean);
            out.matrix(named("sketch"), sketch);
        }
        Training::Kernel { samples, means } => {
            out.matrix(named("samples"), samples);
            out.vector(named("kernel_means"), &means.0);
            out.scalar(named("kernel_mean"), means.1);
        }
        Training::Neighbors { samples } => out.matrix(named("samples"), samples),
    }
}

fn read_training(from: &mut Reader<'_>, view: &str) -> Result<Training> {
    let named = |part: &str| format!("{view}training.{part}");
    // What is there says which of them it is.
    Ok(if from.has(&named("sketch")) {
        Training::Product { mean: from.vector(&named("mean"))?, sketch: from.matrix(&named("sketch"))? }
    } else if from.has(&named("kernel_means")) {
        let means = (from.vector(&named("kernel_means"))?, from.scalar(&named("kernel_mean"))?);
        Training::Kernel { samples: from.matrix(&named("samples"))?, means }
    } else if from.has(&named("samples")) {
        Training::Neighbors { samples: from.matrix(&named("samples"))? }
    } else {
        Training::Unknown
    })
}

pub(super) fn write_placement<'a>(out: &mut Writer<'a>, placement: &'a Placement, multiplier: &MultiplierForm) {
    match (&placement.multiplier, multiplier) {
        (Multiplier::Plan(plan), MultiplierForm::OwnPlan) => write_plan(out, "multiplier", plan),
        (Multiplier::Places(places), MultiplierForm::OwnPlaces) => out.matrix("multiplier.places", places),
        _ => {}
    }
    if let Some(RowStep { attraction, repulsion, features }) = &placement.step {
        if let Some(attraction) = attraction {
            out.matrix("step.attraction", attraction);
        }
        out.vector("step.repulsion", repulsion);
        if let Some((features, share)) = features {
            out.matrix("step.features", features);
            out.scalar("step.features_share", *share);
        }
    }
    match &placement.own_places {
        Some(OwnPlaces::LeastSquares { columns, shift }) => {
            out.matrix("own_places.columns", columns);
            out.vector("own_places.shift", shift);
        }
        Some(OwnPlaces::Row { repulsion }) => out.vector("own_places.repulsion", repulsion),
        // Frames are those of methods whose new samples go by their neighbours.
        Some(OwnPlaces::Frame { .. }) | None => {}
    }
}

pub(super) fn read_placement(
    from: &mut Reader<'_>,
    multiplier: &MultiplierForm,
    plan: &Plan,
    prototypes: &Matrix<'static>,
) -> Result<Placement> {
    let multiplier = match multiplier {
        MultiplierForm::Plan => Multiplier::Plan(plan.clone()),
        MultiplierForm::Prototypes => Multiplier::Places(prototypes.clone()),
        MultiplierForm::OwnPlan => Multiplier::Plan(read_plan(from, "multiplier")?),
        MultiplierForm::OwnPlaces => Multiplier::Places(from.matrix("multiplier.places")?),
    };
    let step = from.has("step.repulsion").then(|| read_step(from)).transpose()?;
    Ok(Placement { multiplier, step, own_places: read_own_places(from)? })
}

fn read_own_places(from: &mut Reader<'_>) -> Result<Option<OwnPlaces>> {
    if from.has("own_places.repulsion") {
        return Ok(Some(OwnPlaces::Row { repulsion: from.vector("own_places.repulsion")? }));
    }
    let least_squares = from.has("own_places.columns").then(|| -> Result<_> {
        let (columns, shift) = (from.matrix("own_places.columns")?, from.vector("own_places.shift")?);
        Ok(OwnPlaces::LeastSquares { columns, shift })
    });
    least_squares.transpose()
}

fn read_step(from: &mut Reader<'_>) -> Result<RowStep> {
    let attraction = from.has("step.attraction").then(|| from.matrix("step.attraction")).transpose()?;
    let repulsion = from.costs("step.repulsion")?;
    let features = from
        .has("step.features")
        .then(|| -> Result<_> { Ok((from.matrix("step.features")?, from.scalar("step.features_share")?)) });
    Ok(RowStep { attraction, repulsion, features: features.transpose()? })
}
