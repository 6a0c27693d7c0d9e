//! `gromap fit`: data in, a map of prototypes out.

use gromap_report::Report;
use serde_json::Map;

use super::job::Job;
use super::page::{self, Page};
use super::{Exit, arrays, suggest};
use crate::args::FitArgs;
use crate::args::values::Count;
use crate::failure::Outcome;
use crate::output::{Existing, Output};
use crate::recipe::{self, Asked, Goal};
use crate::results::Summary;

pub(super) fn run(args: &FitArgs, asked: &Asked<'_>) -> Outcome<Exit> {
    let existing = Existing::forced(args.options.run.force);
    args.output.as_deref().map_or(Ok(()), page::check_model)?;
    let output = Output::optional(args.output.as_deref(), existing);
    let report = page::output(args.report.as_deref(), existing)?;
    let format = arrays::Format::of_option("--places", args.places.as_deref(), "")?;
    let places = Output::optional(args.places.as_deref(), existing);
    let prototypes = match args.prototypes {
        Count::Exactly(count) => count,
        // What is printed or planned alone is so for a number of the usual size.
        Count::Auto if args.options.print_config || args.options.dry_run => 50,
        Count::Auto => suggest::count(&args.data, &args.options)?,
    };
    let job = Job {
        goal: Goal::Map,
        data: &args.data,
        options: &args.options,
        make: &|options| recipe::map(options, Some(prototypes)),
        levels: None,
    };
    job.check(output.iter().chain(&report).chain(&places))?;
    let Some(done) = job.run(asked)? else { return Ok(Exit::Done) };
    if let Some(output) = output {
        output.write(&done.model().to_bytes())?;
    }
    if let Some(report) = report {
        let page = Page::of_data(&done.dataset, args.options.images, page::parameters(asked));
        report.write(page.complete(Report::new(done.model()))?.html()?.as_bytes())?;
    }
    if let Some(output) = places {
        let (labels, places) = (done.model().plan.labels(), done.model().sample_places());
        let ids = done.dataset.ids.as_deref();
        let table = arrays::Table { ids, labels: Some(&labels), places: Some(&places) };
        output.write(&table.bytes(format)?)?;
    }
    let summary = Summary::new(done.run.clone(), done.model(), done.dataset.classes.as_ref())?;
    job.tell(&summary, Map::new(), false)?;
    Ok(job.exit(&done.path))
}
