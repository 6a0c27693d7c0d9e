//! `gromap compare`: new samples against those a model was fitted to.

use gromap::options::Comparison;
use serde_json::json;

use super::{Exit, one_view, print, room};
use crate::args::CompareArgs;
use crate::data::{self, Request, Role};
use crate::failure::Outcome;
use crate::model_file;
use crate::watch::{self, say};

/// Rows of outliers that are printed; JSON has all.
const SHOWN: usize = 10;

pub(super) fn run(args: &CompareArgs) -> Outcome<Exit> {
    let room = room(&args.run);
    let model = model_file::read(&args.model, room)?;
    let request = Request::samples(&args.data, &args.options, room);
    let dataset = data::read(&Request { model: Some(&model), others: Role::Unused, ..request })?;
    let samples = one_view(&dataset)?;
    let found = watch::on_threads(args.run.threads, || Ok(model.compare(samples.view())?))?;
    if args.run.json {
        let shift = |shift: &gromap::options::Shift| json!({"before": shift.before, "after": shift.after, "error": shift.error});
        let object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "n_samples": samples.len(),
            "n_prototypes": found.shifts.len(),
            "placed": found.placed,
            "outliers": found.outliers,
            "shifts": found.shifts.iter().map(shift).collect::<Vec<_>>(),
            "warnings": dataset.warnings,
        });
        print(format_args!("{object}\n"))?;
        return Ok(Exit::Done);
    }
    if !args.run.quiet {
        dataset.warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
    }
    print(text(&found))?;
    Ok(Exit::Done)
}

fn text(found: &Comparison) -> String {
    let mut text = String::from("prototype   before     now   standard errors\n");
    for (k, shift) in found.shifts.iter().enumerate() {
        let apart = if shift.error > 0.0 { (shift.after - shift.before) / shift.error } else { 0.0 };
        text += &format!("{k:>9}  {:>7.4}  {:>7.4}  {apart:>+14.1}\n", shift.before, shift.after);
    }
    let rows: Vec<String> = found.outliers.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if found.outliers.len() > SHOWN { ", …" } else { "" };
    text += &format!("\nplaced      {:.1}% of the new samples\n", 100.0 * found.placed);
    text += &match found.outliers.len() {
        0 => "outliers    none\n".into(),
        count => {
            format!("outliers    {count}, farther than any seen: rows {}{more}, counted from 0\n", rows.join(", "))
        }
    };
    text
}
