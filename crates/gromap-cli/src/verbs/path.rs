//! `gromap path`: several numbers of prototypes on one similarity.

use std::path::Path as FilePath;

use gromap::options::Level;
use gromap_report::Report;
use serde_json::{Value, json};

use super::job::{Done, Job};
use super::page::{self, Page};
use super::{Exit, print};
use crate::args::PathArgs;
use crate::failure::{Failure, Outcome};
use crate::output::{Existing, Output};
use crate::recipe::{self, Asked, Goal};
use crate::results::{Run, Summary};

pub(super) fn run(args: &PathArgs, asked: &Asked<'_>) -> Outcome<Exit> {
    let sizes = &args.prototypes.0;
    if sizes.windows(2).any(|pair| pair[0] >= pair[1]) || sizes.contains(&0) {
        return Err(Failure::usage("--prototypes must be ascending and at least 1, such as 10,20,50"));
    }
    if FilePath::new(&args.options.init).is_file() {
        return Err(Failure::usage("--init FILE is for one number of prototypes; a path has several"));
    }
    let existing = Existing::forced(args.options.run.force);
    let report = page::output(args.report.as_deref(), existing)?;
    let outputs = outputs(args, existing)?;
    let most = *sizes.last().unwrap_or(&1);
    let level = if args.warm { Level::Warm } else { Level::Fresh };
    let job = Job {
        goal: Goal::Path,
        data: &args.data,
        options: &args.options,
        make: &|options| recipe::map(options, Some(most)),
        levels: Some((sizes, level)),
    };
    job.check(outputs.iter().chain(&report))?;
    let Some(Done { path, dataset, run }) = job.run(asked)? else { return Ok(Exit::Done) };
    for (output, model) in outputs.iter().zip(&path.models) {
        output.write(&model.to_bytes())?;
    }
    if let Some(report) = report {
        let page = Page::of_data(&dataset, args.options.images, page::parameters(asked));
        report.write(page.complete(Report::of_path(&path))?.html()?.as_bytes())?;
    }
    let summary =
        |(model, &prototypes)| Summary::new(Run { prototypes, ..run.clone() }, model, dataset.classes.as_ref());
    let levels = path.models.iter().zip(sizes).map(summary).collect::<gromap::Result<Vec<_>>>()?;
    if args.options.run.json {
        let levels: Vec<Value> = levels.iter().map(|level| Value::Object(level.to_json())).collect();
        let object = json!({"version": env!("CARGO_PKG_VERSION"), "levels": levels, "lineage": path.lineage});
        print(format_args!("{object}\n"))?;
    } else if !args.options.run.quiet {
        print(table(&levels))?;
    }
    Ok(job.exit(&path))
}

/// A file for the model of each level.
fn outputs(args: &PathArgs, existing: Existing) -> Outcome<Vec<Output>> {
    let Some(name) = &args.output else { return Ok(Vec::new()) };
    page::check_model(FilePath::new(name))?;
    if !name.contains("{n}") {
        let message = format!("-o {name} must have {{n}} in it, for the number of prototypes of each level");
        return Err(Failure::usage(message));
    }
    let of_level = |n: &usize| Output::new(FilePath::new(&name.replace("{n}", &n.to_string())), existing);
    Ok(args.prototypes.0.iter().map(of_level).collect())
}

/// A line for each level.
fn table(levels: &[Summary<'_>]) -> String {
    let scored = levels.iter().any(|level| level.scores.is_some());
    let mut text = String::from("prototypes  in use          loss  rounds  stopped      hardness");
    text += if scored { "  homogeneity     ari\n" } else { "\n" };
    for level in levels {
        let object = level.to_json();
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let rounds = object["loss_history"].as_array().map_or(0, |history| history.len().saturating_sub(1));
        let (n, used, stop) = (level.run.prototypes, object["n_used"].to_string(), level.outcome.stop.name());
        let (loss, hardness) = (number(&object["loss"]), number(&object["hardness"]));
        text += &format!("{n:>10}  {used:>6}  {loss:>12.6}  {rounds:>6}  {stop:<11}  {hardness:>8.4}");
        if scored {
            let metrics = &object["metrics"];
            text += &format!("  {:>11.4}  {:>6.4}", number(&metrics["homogeneity"]), number(&metrics["ari"]));
        }
        text += "\n";
    }
    text
}
