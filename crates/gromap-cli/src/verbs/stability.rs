//! `gromap stability`: how much of the groups of a model is found again in halves of the samples.

use serde_json::json;

use super::{Exit, one_view, print, room};
use crate::args::StabilityArgs;
use crate::data::{self, Request, Role};
use crate::failure::Outcome;
use crate::model_file;
use crate::watch::{self, say};

pub(super) fn run(args: &StabilityArgs) -> Outcome<Exit> {
    let room = room(&args.run);
    let model = model_file::read(&args.model, room)?;
    let request = Request::samples(&args.data, &args.options, room);
    let dataset = data::read(&Request { model: Some(&model), others: Role::Unused, ..request })?;
    let samples = one_view(&dataset)?;
    let data = gromap::Data::Samples(samples.view());
    let found =
        watch::on_threads(args.run.threads, || Ok(model.stability(&data, args.resamples, gromap::Run::default())?))?;
    if args.run.json {
        let shares: Vec<Option<f64>> = found.samples.iter().map(|share| share.is_finite().then_some(*share)).collect();
        let object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "n_samples": samples.len(),
            "n_prototypes": found.prototypes.len(),
            "n_resamples": found.resamples,
            "stability": found.mean(),
            "reference": found.reference,
            "prototypes": found.prototypes,
            "doubtful": found.doubtful(),
            "co_assignment": shares,
            "warnings": dataset.warnings.iter().cloned().chain(found.warning()).collect::<Vec<_>>(),
        });
        print(format_args!("{object}\n"))?;
        return Ok(Exit::Done);
    }
    let mut text = String::from("prototype   weight  found again\n");
    for (k, (index, weight)) in found.prototypes.iter().zip(&model.weights).enumerate() {
        let mark = if *index <= found.reference { "  no better than chance" } else { "" };
        text += &format!("{k:>9}  {weight:>7.4}  {index:>11.3}{mark}\n");
    }
    text += &format!("\nstability   {:.3} on average, by chance up to {:.3}\n", found.mean(), found.reference);
    print(text)?;
    if !args.run.quiet {
        let warnings = dataset.warnings.iter().cloned().chain(found.warning());
        warnings.for_each(|warning| say(format_args!("warning: {warning}")));
    }
    Ok(Exit::Done)
}
