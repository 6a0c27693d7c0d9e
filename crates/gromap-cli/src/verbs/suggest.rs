//! `gromap suggest`: how many prototypes to take, and why; `gromap fit -n auto` takes them.

use std::path::Path;

use gromap::GromovDr;
use gromap::options::{Parameters, Suggestion};
use serde_json::json;

use super::{Exit, print, room};
use crate::args::SuggestArgs;
use crate::args::options::FitOptions;
use crate::data::{self, Content, Dataset, Request};
use crate::failure::{Failure, Outcome};
use crate::recipe;
use crate::watch::{self, say};

pub(super) fn run(args: &SuggestArgs) -> Outcome<Exit> {
    let dataset = data::read(&Request {
        table: Some(&args.table),
        text: args.table.text.as_deref(),
        ..Request::samples(&args.data, &args.options, room(&args.run))
    })?;
    let mut asked = GromovDr::builder().method(args.method).perplexities(&args.perplexity.0).seed(args.seed);
    asked = asked.scale(args.scale).pca(args.pca);
    let asked = Parameters::Map(asked);
    let data = samples_of(&dataset)?;
    let found = watch::on_threads(args.run.threads, || Ok(asked.suggest(&data, of_table(&dataset))?))?;
    if args.run.json {
        let row = |row: &gromap::options::Candidate| json!({"n_prototypes": row.prototypes, "stability": row.stability, "loss": row.loss, "silhouette": row.silhouette});
        let object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "n_samples": dataset.len(),
            "n_prototypes": found.prototypes,
            "sentence": found.sentence(),
            "link": found.link,
            "reference_link": found.reference_link,
            "table": found.table.iter().map(row).collect::<Vec<_>>(),
            "seed": args.seed,
            "warnings": dataset.warnings,
        });
        print(format_args!("{object}\n"))?;
        return Ok(Exit::Done);
    }
    if !args.run.quiet {
        dataset.warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
    }
    print(table(&found))?;
    Ok(Exit::Done)
}

/// A line for every number of prototypes, and the sentence.
fn table(found: &Suggestion) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.3}"));
    let mut text = String::from("prototypes  stability          loss  silhouette\n");
    for row in &found.table {
        let (stability, silhouette) = (number(row.stability), number(row.silhouette));
        text += &format!("{:>10}  {stability:>9}  {:>12.6e}  {silhouette:>10}\n", row.prototypes, row.loss);
    }
    format!("{text}\n{}\n", found.sentence())
}

/// The number of prototypes that is suggested for a fit with these options.
pub(super) fn count(path: &Path, options: &FitOptions) -> Outcome<usize> {
    if options.precomputed.is_some() || path == Path::new("-") {
        let message = "--prototypes auto counts groups among samples that are read from a file";
        return Err(Failure::usage(message).hint("give --prototypes a number"));
    }
    let dataset = data::read(&Request {
        weights: options.weights.as_deref(),
        table: Some(&options.table),
        text: options.table.text.as_deref(),
        ..Request::samples(path, &options.data, room(&options.run))
    })?;
    let asked = recipe::map(options, None);
    let data = samples_of(&dataset)?;
    let found = watch::on_threads(options.run.threads, || Ok(asked.count_groups(&data, of_table(&dataset))?))?;
    if !options.run.quiet && !options.run.json {
        say(found.sentence());
    }
    Ok(found.prototypes)
}

/// A run that knows what table its samples were.
fn of_table(dataset: &Dataset) -> gromap::Run<'_> {
    gromap::Run { table: dataset.table.as_ref(), ..gromap::Run::default() }
}

fn samples_of(dataset: &Dataset) -> Outcome<gromap::Data<'_>> {
    match dataset.views[..] {
        [] => rows_of(dataset),
        _ => Ok(gromap::Data::Views(dataset.all_views().map(rows_of).collect::<Outcome<_>>()?)),
    }
}

fn rows_of(view: &Dataset) -> Outcome<gromap::Data<'_>> {
    match &view.content {
        Content::Dense(samples) => Ok(gromap::Data::Samples(samples.view())),
        Content::Sparse(_) => {
            Err(Failure::usage("groups are counted among samples: rows of numbers, not a sparse matrix"))
        }
    }
}
