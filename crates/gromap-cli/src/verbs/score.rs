//! `gromap score`: labels against classes.

use gromap_report::Classes;
use serde_json::json;

use super::{Exit, print, room};
use crate::args::ScoreArgs;
use crate::data::vector;
use crate::failure::{Failure, Outcome, shown};
use crate::model_file;
use crate::results::Scores;
use crate::watch;

pub(super) fn run(args: &ScoreArgs) -> Outcome<Exit> {
    let room = room(&args.run);
    let truth = vector::read(&args.labels, room)?;
    let (samples, scores) = if model_file::is_likely(&args.scored) {
        let model = model_file::read(&args.scored, room)?;
        let classes = Classes::new(&vector::fitting(truth, model.plan.len(), "labels")?);
        let scores = watch::on_threads(args.run.threads, || Ok(Scores::of_model(&classes, &model)?))?;
        (model.plan.len(), scores)
    } else {
        let (truth, found) = both(truth, vector::read(&args.scored, room)?, args)?;
        (truth.len(), Scores::of_labels(&Classes::new(&truth), &Classes::new(&found).of_samples)?)
    };
    if args.run.json {
        let object = json!({"version": env!("CARGO_PKG_VERSION"), "n_samples": samples, "metrics": scores.to_json()});
        print(format_args!("{object}\n"))?;
    } else {
        print(&scores)?;
    }
    Ok(Exit::Done)
}

/// Two files of labels; either may have a header, which shows when one has a line more than the other.
fn both(truth: Vec<String>, found: Vec<String>, args: &ScoreArgs) -> Outcome<(Vec<String>, Vec<String>)> {
    let headless = |values: &[String]| {
        let first = values.first().map(|value| value.parse::<f64>().is_err()).unwrap_or(false);
        first && values[1..].iter().all(|value| value.parse::<f64>().is_ok())
    };
    // A word above nothing but numbers is a header.
    let bare = |mut values: Vec<String>| {
        if headless(&values) && values.len() > 1 {
            values.remove(0);
        }
        values
    };
    let (truth, found) = (bare(truth), bare(found));
    let count = truth.len().min(found.len());
    if truth.len().abs_diff(found.len()) > 1 || count == 0 {
        let (scored, labels) = (shown(&args.scored), shown(&args.labels));
        let message = format!("{scored} has {} labels, but {labels} has {}", found.len(), truth.len());
        return Err(Failure::data(message));
    }
    Ok((vector::fitting(truth, count, "labels")?, vector::fitting(found, count, "labels")?))
}
