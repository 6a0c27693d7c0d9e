//! `gromap info`: what a model file holds.

use serde_json::{Value, json};

use super::{Exit, print};
use crate::args::InfoArgs;
use crate::data::source::Room;
use crate::failure::Outcome;
use crate::machine;
use crate::model_file::Opened;
use crate::results::certificate;

pub(super) fn run(args: &InfoArgs) -> Outcome<Exit> {
    let opened = Opened::read(&args.model, Room(machine::default_limit()))?;
    let model = &opened.model;
    let object = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "method": opened.method().name(),
        "n_samples": model.plan.len(),
        "n_features": opened.features(),
        "n_prototypes": opened.parameters["prototypes"].as_u64().unwrap_or(model.plan.len() as u64),
        "n_used": model.weights.len(),
        "dims": model.prototypes.columns(),
        "loss": model.loss,
        "loss_history": model.history,
        "stop_reason": model.stop.to_string(),
        "hardness": model.hardness,
        "certificate": model.certificate.map(certificate),
        "seed": opened.seed(),
        "warnings": model.warnings,
        "parameters": opened.parameters,
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
    text += &format!("{:<14} {}\n\nfitted with\n", "rounds", model.history.len().saturating_sub(1));
    for (name, value) in parameters(&opened) {
        text += &format!("  {name:<18} {value}\n");
    }
    model.warnings.iter().for_each(|warning| text += &format!("\nwarning: {warning}\n"));
    print(text)?;
    Ok(Exit::Done)
}

/// What a model was fitted with, name by name.
pub(super) fn parameters(opened: &Opened) -> Vec<(String, String)> {
    let object = opened.parameters.as_object();
    object.into_iter().flatten().map(|(name, value)| (name.clone(), plain(value))).collect()
}

/// A value without the quotes of JSON; nothing is a dash.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
