//! The JSON text of a model file: all that is not a tensor.

use serde::{Deserialize, Serialize};

use super::container::{FORMAT, VERSION};
use super::forms::Number;
use super::parameters::ParametersForm;
use crate::affinity::Multiplier;
use crate::model::views::FittedView;
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
    /// The views, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    views: Vec<ViewForm>,
}

/// A view but for its tensors.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ViewForm {
    pub(super) share: Number,
    pub(super) factor: Number,
    pub(super) features: Option<usize>,
}

impl ViewForm {
    fn of(view: &FittedView) -> Self {
        Self { share: Number(view.share), factor: Number(view.factor), features: view.preparation.features }
    }
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
            features: model.views.first().and_then(|view| view.preparation.features),
            feature_names: model.feature_names.clone(),
            table: model.table.clone(),
            multiplier: MultiplierForm::of(model),
            views: if model.views.len() > 1 { model.views.iter().map(ViewForm::of).collect() } else { Vec::new() },
        }
    }

    /// All views, also where there is only one.
    pub(super) fn view_forms(&self) -> Vec<ViewForm> {
        if self.views.is_empty() {
            return vec![ViewForm { share: Number(1.0), factor: Number(1.0), features: self.features }];
        }
        self.views.clone()
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
