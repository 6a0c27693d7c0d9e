//! `gromap fit`: data in, a map of prototypes out.

use gromap::Model;
use serde_json::Map;

use super::job::{Done, Fit, Job};
use super::page::{Maps, Page};
use super::{Exit, page};
use crate::args::FitArgs;
use crate::failure::Outcome;
use crate::output::{Existing, Output};
use crate::recipe::{self, Asked, Goal, Recipe};
use crate::results::{Found, Summary};

pub(super) fn run(args: &FitArgs, asked: &Asked<'_>) -> Outcome<Exit> {
    let existing = Existing::forced(args.options.run.force);
    let output = Output::optional(args.output.as_deref(), existing)?;
    let report = Output::optional(args.report.as_deref(), existing)?;
    let job = Job {
        goal: Goal::Map,
        data: &args.data,
        options: &args.options,
        prototypes: Some(args.prototypes),
        make: &|options| Recipe::Map(recipe::map(options, Some(args.prototypes))),
        levels: None,
    };
    let Some(Done { fit: Fit::Map(model), dataset, run }) = job.run(asked)? else { return Ok(Exit::Done) };
    let model: &Model = &model;
    if let Some(output) = output {
        output.write(&model.to_bytes())?;
    }
    if let Some(report) = report {
        let page = Page::of_data(&dataset, args.options.images, page::parameters(asked));
        report.write(page.html(Maps::One(model))?.as_bytes())?;
    }
    let summary = Summary::new(run, Found::from(model), dataset.classes.as_ref())?;
    job.tell(&summary, Map::new(), false)?;
    Ok(job.exit(&[model.stop]))
}
