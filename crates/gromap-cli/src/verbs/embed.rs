//! `gromap embed`: a place for every sample.

use serde_json::{Map, json};

use super::job::Job;
use super::{Exit, arrays, print_bytes};
use crate::args::EmbedArgs;
use crate::failure::Outcome;
use crate::output::{Existing, Output};
use crate::recipe::{self, Asked, Goal};
use crate::results::Summary;

pub(super) fn run(args: &EmbedArgs, asked: &Asked<'_>) -> Outcome<Exit> {
    let format = arrays::Format::of(args.output.as_deref(), "")?;
    let output = Output::optional(args.output.as_deref(), Existing::forced(args.options.run.force));
    let job = Job {
        goal: Goal::Embedding,
        data: &args.data,
        options: &args.options,
        make: &|options| recipe::map(options, None),
        levels: None,
    };
    job.check(&output)?;
    let Some(done) = job.run(asked)? else { return Ok(Exit::Done) };
    let places = done.model().embedding();
    let table = arrays::Table { ids: done.dataset.ids.as_deref(), labels: None, places: Some(&places) };
    let mut more = Map::new();
    match &output {
        Some(output) => output.write(&table.bytes(format)?)?,
        None if args.options.run.json => drop(more.insert("coordinates".into(), json!(arrays::rows(&places)))),
        None => print_bytes(&table.bytes(format)?)?,
    }
    let summary = Summary::new(done.run.clone(), done.model(), done.dataset.classes.as_ref())?;
    // Every sample is its own prototype: a list of them would repeat the coordinates.
    job.tell(&summary.without_prototypes(), more, output.is_none())?;
    Ok(job.exit(&done.path))
}
