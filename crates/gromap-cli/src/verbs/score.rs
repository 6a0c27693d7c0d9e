//! `gromap score`: labels against classes.

use serde_json::json;

use super::{Exit, print};
use crate::args::ScoreArgs;
use crate::data::source::Room;
use crate::data::{Classes, vector};
use crate::failure::{Failure, Outcome, shown};
use crate::machine;
use crate::model_file::Opened;
use crate::results::Scores;
use crate::watch;

pub(super) fn run(args: &ScoreArgs) -> Outcome<Exit> {
    let room = Room(args.run.max_memory.map_or_else(machine::default_limit, |bytes| bytes.0));
    let truth = vector::read(&args.labels, room)?;
    let scores = if Opened::is_likely(&args.scored) {
        let model = Opened::read(&args.scored, room)?.model;
        let labels = model.plan.labels();
        let classes = Classes::new(&vector::fitting(truth, labels.len(), "labels")?);
        score(args, &classes, &labels, Some(&model.prototypes))?
    } else {
        let (truth, found) = both(truth, vector::read(&args.scored, room)?, args)?;
        score(args, &Classes::new(&truth), &Classes::new(&found).of_samples, None)?
    };
    if args.run.json {
        print(format_args!(
            "{}\n",
            json!({"version": env!("CARGO_PKG_VERSION"), "n_samples": scores.1, "metrics": scores.0.to_json()})
        ))?;
    } else {
        print(&scores.0)?;
    }
    Ok(Exit::Done)
}

fn score(
    args: &ScoreArgs,
    classes: &Classes,
    labels: &[u32],
    places: Option<&gromap::Matrix<'_>>,
) -> Outcome<(Scores, usize)> {
    watch::on_threads(args.run.threads, || Ok((Scores::new(classes, labels, places)?, labels.len())))
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
