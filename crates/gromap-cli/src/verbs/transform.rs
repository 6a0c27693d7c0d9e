//! `gromap transform`: labels and places of new samples.

use std::time::Instant;

use gromap::data::Samples;
use gromap::options::{Placed, Places};
use gromap::{Data, Matrix, Model};
use serde_json::json;

use super::{Exit, arrays, print, print_bytes, room};
use crate::args::TransformArgs;
use crate::data::{self, Content, Request, Role};
use crate::failure::{Failure, Outcome, shown};
use crate::output::{Existing, Output};
use crate::results::Scores;
use crate::watch::{self, say};
use crate::{machine, model_file};

pub(super) fn run(args: &TransformArgs) -> Outcome<Exit> {
    let start = Instant::now();
    let format = arrays::Format::of(args.output.as_deref(), "")?;
    let own_format = arrays::Format::of_option("--places", args.places.as_deref(), "")?;
    let existing = Existing::forced(args.run.force);
    let output = Output::optional(args.output.as_deref(), existing);
    let own_output = Output::optional(args.places.as_deref(), existing);
    let room = room(&args.run);
    let request = Request::samples(&args.data, &args.options, room);
    Output::check(output.iter().chain(&own_output), &[request.files(), vec![args.model.clone()]].concat())?;
    let model = model_file::read(&args.model, room)?;
    if own_output.is_some() && !model.is_map() {
        let message = format!("--places: {} holds clusters, which have no places", shown(&args.model));
        return Err(Failure::usage(message).hint("leave --places out, or give a model that fit or path wrote"));
    }
    let dataset = data::read(&Request { model: Some(&model), others: Role::Unused, ..request })?;
    let samples = |view: &data::Dataset| match &view.content {
        Content::Dense(samples) => Ok(samples.clone()),
        Content::Sparse(_) => Err(Failure::usage("new samples must be rows of numbers")),
    };
    let mut views = dataset.all_views().map(samples).collect::<Outcome<Vec<_>>>()?;
    let n_features: usize = views.iter().map(Samples::columns).sum();
    let new = if views.len() == 1 { Data::Samples(views.remove(0)) } else { Data::views(views) };
    let read = start.elapsed().as_secs_f64();
    let wanted = if own_output.is_some() { Places::Sample } else { Places::Prototype };
    let (Placed { labels, places }, scores, threads) = watch::on_threads(args.run.threads, || {
        let placed = model.place_by(new, wanted)?;
        let both = dataset.classes.as_ref().zip(placed.labels.as_deref());
        let scores = both.map(|(classes, labels)| Scores::of_placed(classes, &model, labels)).transpose()?;
        Ok((placed, scores, rayon::current_num_threads()))
    })?;
    let labels = labels.as_deref();
    if let Some(output) = &own_output {
        let table = arrays::Table { ids: dataset.ids.as_deref(), labels, places: Some(&places) };
        output.write(&table.bytes(own_format)?)?;
    }
    let places = match labels {
        Some(labels) => of_prototypes(&model, labels),
        None => places,
    };
    // Clusters have no places, and a model with a prototype for every sample has no labels for others.
    let places = model.is_map().then_some(places);
    let table = arrays::Table { ids: dataset.ids.as_deref(), labels, places: places.as_ref() };
    match &output {
        Some(output) => output.write(&table.bytes(format)?)?,
        None if args.run.json => {}
        None => print_bytes(&table.bytes(format)?)?,
    }
    if args.run.json {
        let mut object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "method": model.parameters.common().method.name(),
            "n_samples": dataset.len(),
            "n_features": n_features,
            "n_prototypes": model.weights.len(),
            "dims": places.as_ref().map(Matrix::columns),
            "seconds": {"read": read, "total": start.elapsed().as_secs_f64()},
            "peak_memory_bytes": machine::peak(),
            "metrics": scores.as_ref().map(Scores::to_json),
            "threads": threads,
            "warnings": dataset.warnings,
        });
        if output.is_none() {
            object["labels"] = json!(labels);
            object["coordinates"] = json!(places.as_ref().map(arrays::rows));
        }
        print(format_args!("{object}\n"))?;
    } else if !args.run.quiet {
        dataset.warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
        scores.iter().for_each(say);
    }
    Ok(Exit::Done)
}

/// The places of the prototypes that samples belong to.
fn of_prototypes(model: &Model, labels: &[u32]) -> Matrix<'static> {
    let prototypes = &model.prototypes;
    Matrix::from_fn(labels.len(), prototypes.columns(), |i, c| prototypes[(labels[i] as usize, c)])
}
