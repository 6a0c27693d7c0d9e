//! The JSON text of a model file: all that is not a tensor.

use serde::{Deserialize, Serialize};

use super::container::{FORMAT, VERSION};
use super::forms::Number;
use super::parameters::ParametersForm;
use crate::affinity::Multiplier;
use crate::model::{FittedTo, Model};
use crate::observe::StopReason;
use crate::similarity::Definiteness;
use crate::table::Encoding;

/// All that is not a tensor.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    format: String,
    version: u32,
    /// The version of gromap that wrote it.
    gromap: String,
    pub(super) parameters: ParametersForm,
    pub(super) fitted_to: FittedTo,
    pub(super) loss: Number,
    pub(super) loss_is_complete: bool,
    pub(super) stop: StopReason,
    pub(super) hardness: Number,
    pub(super) certificate: Option<Definiteness>,
    pub(super) warnings: Vec<String>,
    /// Number of features of the samples before any preparation.
    pub(super) features: Option<usize>,
    pub(super) feature_names: Option<Vec<String>>,
    /// How a table became the features; files from before there were any say nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) table: Option<Encoding>,
    pub(super) multiplier: MultiplierForm,
}

impl Header {
    pub(super) fn of(model: &Model) -> Self {
        let outcome = &model.outcome;
        Self {
            format: FORMAT.into(),
            version: VERSION,
            gromap: env!("CARGO_PKG_VERSION").into(),
            parameters: ParametersForm::of(&model.parameters),
            fitted_to: model.fitted_to,
            loss: Number(outcome.loss),
            loss_is_complete: outcome.loss_is_complete,
            stop: outcome.stop,
            hardness: Number(outcome.hardness),
            certificate: outcome.certificate,
            warnings: outcome.warnings.clone(),
            features: model.preparation.features,
            feature_names: model.feature_names.clone(),
            table: model.table.clone(),
            multiplier: MultiplierForm::of(model),
        }
    }
}

/// What the rows of new samples are multiplied by. What the model holds anyway is not stored twice.
#[derive(Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MultiplierForm {
    /// The model's plan.
    Plan,
    /// The model's prototypes.
    Prototypes,
    /// A plan of its own.
    OwnPlan,
    /// Places of its own.
    OwnPlaces,
}

impl MultiplierForm {
    fn of(model: &Model) -> Self {
        match &model.placement.multiplier {
            Multiplier::Plan(plan) if *plan == model.plan => Self::Plan,
            Multiplier::Plan(_) => Self::OwnPlan,
            Multiplier::Places(places) if *places == model.prototypes => Self::Prototypes,
            Multiplier::Places(_) => Self::OwnPlaces,
        }
    }
}
