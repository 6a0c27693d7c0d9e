//! `gromap transform`: new samples on an old map.

use std::time::Instant;

use gromap::{Matrix, Model, Scalar};
use serde_json::json;

use super::{Exit, arrays, print, print_bytes};
use crate::args::TransformArgs;
use crate::data::source::Room;
use crate::data::{self, Content, Request, WithSamples};
use crate::failure::{Failure, Outcome};
use crate::machine;
use crate::model_file::Opened;
use crate::output::{Existing, Output};
use crate::results::Scores;
use crate::watch::{self, say};

pub(super) fn run(args: &TransformArgs) -> Outcome<Exit> {
    let start = Instant::now();
    let output = Output::optional(args.output.as_deref(), Existing::forced(args.run.force))?;
    let format = arrays::Format::of(args.output.as_deref())?;
    let room = Room(args.run.max_memory.map_or_else(machine::default_limit, |bytes| bytes.0));
    watch::listen();
    let opened = Opened::read(&args.model, room)?;
    let request = Request { path: &args.data, options: &args.options, weights: None, is_precomputed: false, room };
    let dataset = data::read(&request)?;
    let Content::Dense(samples) = &dataset.content else {
        return Err(Failure::usage("new samples must be rows of numbers"));
    };
    let read = start.elapsed().as_secs_f64();
    let (placed, threads) = watch::on_threads(args.run.threads, || {
        Ok((samples.with(Place(&opened.model))?, rayon::current_num_threads()))
    })?;
    let (labels, places) = placed;
    let scores = match &dataset.classes {
        Some(classes) => Some(Scores::new(classes, &labels, Some(&opened.model.prototypes))?),
        None => None,
    };
    let table = arrays::Table { ids: dataset.ids.as_deref(), labels: Some(&labels), places: Some(&places) };
    match &output {
        Some(output) => output.write(&table.bytes(format)?)?,
        None if args.run.json => {}
        None => print_bytes(&table.bytes(format)?)?,
    }
    if args.run.json {
        let mut object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "method": opened.method().name(),
            "n_samples": samples.rows,
            "n_features": samples.columns,
            "n_prototypes": opened.model.weights.len(),
            "dims": places.columns(),
            "seconds": {"read": read, "total": start.elapsed().as_secs_f64()},
            "peak_memory_bytes": machine::peak(),
            "metrics": scores.as_ref().map(Scores::to_json),
            "threads": threads,
            "warnings": dataset.warnings,
        });
        if output.is_none() {
            object["labels"] = json!(labels);
            object["coordinates"] = json!(arrays::rows(&places));
        }
        print(format_args!("{object}\n"))?;
    } else if !args.run.quiet {
        dataset.warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
        scores.iter().for_each(say);
    }
    Ok(Exit::Done)
}

/// Labels and places of new samples.
struct Place<'a>(&'a Model);

impl WithSamples for Place<'_> {
    type Output = (Vec<u32>, Matrix<'static>);

    fn call<S: Scalar>(self, samples: &Matrix<'_, S>) -> Outcome<Self::Output> {
        Ok((self.0.predict(samples)?, self.0.transform(samples)?))
    }
}
