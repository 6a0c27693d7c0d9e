//! `gromap info`: what a model file holds.

use gromap::Model;
use gromap::similarity::Definiteness;
use serde_json::{Value, json};

use super::{Exit, print};
use crate::args::InfoArgs;
use crate::data::source::Room;
use crate::failure::Outcome;
use crate::{machine, model_file};

pub(super) fn run(args: &InfoArgs) -> Outcome<Exit> {
    let model = model_file::read(&args.model, Room(machine::default_limit()))?;
    let (asked, outcome) = (&model.parameters, &model.outcome);
    let object = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "method": asked.common().method.name(),
        "n_samples": model.plan.len(),
        "n_features": model.features.as_ref().map(gromap::Matrix::columns),
        "n_prototypes": asked.prototypes().unwrap_or(model.plan.len()),
        "n_used": model.weights.iter().filter(|&&weight| weight > 0.0).count(),
        "dims": model.is_map().then(|| model.prototypes.columns()),
        "loss": outcome.loss,
        "loss_history": outcome.history,
        "stop_reason": outcome.stop.name(),
        "hardness": outcome.hardness,
        "certificate": outcome.certificate.map(Definiteness::name),
        "view_weights": model.view_weights(),
        "seed": asked.common().settings.seed,
        "warnings": outcome.warnings,
        "parameters": asked.to_json(),
    });
    if args.json {
        print(format_args!("{object}\n"))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for key in
        ["method", "n_samples", "n_features", "n_prototypes", "n_used", "dims", "loss", "stop_reason", "hardness"]
    {
        text += &format!("{key:<14} {}\n", plain(&object[key]));
    }
    text += &format!("{:<14} {}\n\nfitted with\n", "rounds", outcome.history.len().saturating_sub(1));
    for (name, value) in parameters(&model) {
        text += &format!("  {name:<18} {value}\n");
    }
    outcome.warnings.iter().for_each(|warning| text += &format!("\nwarning: {warning}\n"));
    print(text)?;
    Ok(Exit::Done)
}

/// What a model was fitted with, name by name.
pub(super) fn parameters(model: &Model) -> Vec<(String, String)> {
    model.parameters.to_json().into_iter().map(|(name, value)| (name, plain(&value))).collect()
}

/// A value without the quotes of JSON; nothing is a dash.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
