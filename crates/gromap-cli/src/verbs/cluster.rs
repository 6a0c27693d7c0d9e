//! `gromap cluster`: one label for each sample.

use gromap::options::Target;
use gromap::solve::Scale;
use serde_json::{Map, json};

use super::job::Job;
use super::{Exit, arrays, coot, page, print_bytes};
use crate::args::ClusterArgs;
use crate::args::values::COOT;
use crate::failure::{Failure, Outcome};
use crate::output::{Existing, Output};
use crate::recipe::{self, Asked, Goal};
use crate::results::Summary;

pub(super) fn run(args: &ClusterArgs, asked: &Asked<'_>) -> Outcome<Exit> {
    if asked.says("method", COOT) {
        return coot::run(args, asked);
    }
    let ids = ["feature_clusters", "feature_weights", "feature_output", "summary"];
    asked.refuse(&ids, "it is for --method coot, which clusters features too")?;
    let hint = "clusters have no places on a map: gromap fit draws one, and --report is for --method coot";
    asked.refuse(&["report"], hint)?;
    if args.target == Target::Free && args.target_scale == Scale::Raw {
        return Err(Failure::usage("--target-scale has no effect: it is for --target identity"));
    }
    if args.target == Target::Identity && args.coarse.is_some() {
        return Err(Failure::usage(
            "--coarse has no effect: it is for --target free, which learns how clusters relate",
        ));
    }
    args.coarse.as_deref().map_or(Ok(()), |path| page::check_ending("--coarse", path, &["npz", "mtx"]))?;
    let is_model = args.output.as_deref().and_then(std::path::Path::extension).is_some_and(|ending| ending == "gromap");
    let table = args.output.as_deref().filter(|_| !is_model);
    let format = arrays::Format::of(table, ", or in .gromap for a model")?;
    let existing = Existing::forced(args.options.run.force);
    let output = Output::optional(args.output.as_deref(), existing);
    let coarse = Output::optional(args.coarse.as_deref(), existing);
    let job = Job {
        goal: Goal::Clusters,
        data: &args.data,
        options: &args.options,
        make: &|options| recipe::clusters(options, args.clusters, args.target, args.target_scale),
        levels: None,
    };
    job.check(output.iter().chain(&coarse))?;
    let Some(done) = job.run(asked)? else { return Ok(Exit::Done) };
    if let (Some(output), Some(target)) = (&coarse, &done.model().target) {
        let is_archive = page::ending(output.path()).is_some_and(|ending| ending == "npz");
        let graph = arrays::CoarseGraph { target, weights: &done.model().weights };
        output.write(&if is_archive { graph.archive()? } else { graph.matrix_market() })?;
    }
    let labels = done.model().plan.labels();
    let table = arrays::Table { ids: done.dataset.ids.as_deref(), labels: Some(&labels), places: None };
    let mut more = Map::new();
    match &output {
        Some(output) if is_model => output.write(&done.model().to_bytes())?,
        Some(output) => output.write(&table.bytes(format)?)?,
        None if args.options.run.json => drop(more.insert("labels".into(), json!(labels))),
        None => print_bytes(&table.bytes(format)?)?,
    }
    let summary = Summary::new(done.run.clone(), done.model(), done.dataset.classes.as_ref())?;
    job.tell(&summary, more, output.is_none())?;
    Ok(job.exit(&done.path))
}
