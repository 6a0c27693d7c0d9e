//! `gromap embed`: a place for every sample.

use serde_json::{Map, json};

use super::job::{Done, Fit, Job};
use super::{Exit, arrays, print_bytes};
use crate::args::EmbedArgs;
use crate::failure::Outcome;
use crate::output::{Existing, Output};
use crate::recipe::{self, Asked, Goal, Recipe};
use crate::results::{Found, Summary};

pub(super) fn run(args: &EmbedArgs, asked: &Asked<'_>) -> Outcome<Exit> {
    let output = Output::optional(args.output.as_deref(), Existing::forced(args.options.run.force))?;
    let format = arrays::Format::of(args.output.as_deref())?;
    let job = Job {
        goal: Goal::Embedding,
        data: &args.data,
        options: &args.options,
        prototypes: None,
        make: &|options| Recipe::Map(recipe::map(options, None)),
        levels: None,
    };
    let Some(Done { fit: Fit::Map(model), dataset, run }) = job.run(asked)? else { return Ok(Exit::Done) };
    let places = model.embedding();
    let table = arrays::Table { ids: dataset.ids.as_deref(), labels: None, places: Some(&places) };
    let mut more = Map::new();
    match &output {
        Some(output) => output.write(&table.bytes(format)?)?,
        None if args.options.run.json => drop(more.insert("coordinates".into(), json!(arrays::rows(&places)))),
        None => print_bytes(&table.bytes(format)?)?,
    }
    let summary = Summary::new(run, Found::from(&*model), dataset.classes.as_ref())?;
    // Every sample is its own prototype: a list of them would say the coordinates again.
    job.tell(&summary.without_prototypes(), more, output.is_none())?;
    Ok(job.exit(&[model.stop]))
}
