//! `gromap cluster`: one label for each sample.

use serde_json::{Map, json};

use super::job::{Done, Fit, Job};
use super::{Exit, arrays, print_bytes};
use crate::args::{ClusterArgs, Target, TargetScale};
use crate::failure::{Failure, Outcome};
use crate::output::{Existing, Output};
use crate::recipe::{self, Asked, Goal, Recipe};
use crate::results::{Found, Summary};

pub(super) fn run(args: &ClusterArgs, asked: &Asked<'_>) -> Outcome<Exit> {
    if args.target == Target::Free && args.target_scale == TargetScale::Raw {
        return Err(Failure::usage("--target-scale has no effect: it is for --target identity"));
    }
    let output = Output::optional(args.output.as_deref(), Existing::forced(args.options.run.force))?;
    let format = arrays::Format::of(args.output.as_deref())?;
    let job = Job {
        goal: Goal::Clusters,
        data: &args.data,
        options: &args.options,
        prototypes: Some(args.clusters),
        make: &|options| Recipe::Clusters(recipe::clusters(options, args.clusters, args.target, args.target_scale)),
        levels: None,
    };
    let Some(Done { fit: Fit::Clusters(found), dataset, run }) = job.run(asked)? else { return Ok(Exit::Done) };
    let labels = found.plan.labels();
    let table = arrays::Table { ids: dataset.ids.as_deref(), labels: Some(&labels), places: None };
    let mut more = Map::new();
    match &output {
        Some(output) => output.write(&table.bytes(format)?)?,
        None if args.options.run.json => drop(more.insert("labels".into(), json!(labels))),
        None => print_bytes(&table.bytes(format)?)?,
    }
    let summary = Summary::new(run, Found::from(&*found), dataset.classes.as_ref())?;
    job.tell(&summary, more, output.is_none())?;
    Ok(job.exit(&[found.stop]))
}
