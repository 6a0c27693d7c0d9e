//! The JSON text of a model file: all that is not a tensor.

use serde::{Deserialize, Serialize};

use super::container::{FORMAT, VERSION};
use super::forms::*;
use crate::affinity::KernelFunction;
use crate::embedding::Normalization;
use crate::method::{AffinityOptions, Method};
use crate::model::placement::{Placement, Rows, Side, Weighing};
use crate::model::{AlphaScale, GromovDr, Model, Projection, Scaling};
use crate::observe::{StopReason, Stopping};
use crate::plan::Plan;
use crate::solve::{Settings, Solver};
use crate::start::Start;

/// All that is not a tensor.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    format: String,
    version: u32,
    /// The version of gromap that wrote it.
    gromap: String,
    pub(super) parameters: Parameters,
    #[serde(with = "number")]
    pub(super) loss: f64,
    pub(super) loss_is_complete: bool,
    #[serde(with = "StopForm")]
    pub(super) stop: StopReason,
    #[serde(with = "number")]
    pub(super) hardness: f64,
    pub(super) certificate: Option<NamedDefiniteness>,
    pub(super) warnings: Vec<String>,
    /// Number of features of the samples before any preparation.
    pub(super) features: Option<usize>,
    pub(super) rows: RowsForm,
    pub(super) side: SideForm,
}

impl Header {
    pub(super) fn of(model: &Model) -> Self {
        Self {
            format: FORMAT.into(),
            version: VERSION,
            gromap: env!("CARGO_PKG_VERSION").into(),
            parameters: Parameters::of(&model.parameters),
            loss: model.loss,
            loss_is_complete: model.loss_is_complete,
            stop: model.stop,
            hardness: model.hardness,
            certificate: model.certificate.map(NamedDefiniteness),
            warnings: model.warnings.clone(),
            features: model.preparation.features,
            rows: RowsForm::of(&model.placement.rows),
            side: SideForm::of(model, &model.placement),
        }
    }
}

/// How new samples are compared with the training samples, without the tensors.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum RowsForm {
    Unknown,
    Factor,
    Kernel(#[serde(with = "KernelForm")] KernelFunction),
    Neighbors {
        neighbors: usize,
        #[serde(with = "WeighingForm")]
        weighing: Weighing,
    },
}

impl RowsForm {
    fn of(rows: &Rows) -> Self {
        match rows {
            Rows::Unknown => Self::Unknown,
            Rows::Factor { .. } => Self::Factor,
            Rows::Kernel { function, .. } => Self::Kernel(*function),
            Rows::Neighbors { neighbors, weighing, .. } => {
                Self::Neighbors { neighbors: *neighbors, weighing: weighing.clone() }
            }
        }
    }
}

/// What the rows are multiplied by. What the model holds anyway is not stored twice.
#[derive(Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SideForm {
    /// The model's plan.
    Plan,
    /// The model's prototypes.
    Prototypes,
    /// A plan of its own.
    OwnPlan,
    /// Places of its own.
    OwnPlaces,
}

impl SideForm {
    fn of(model: &Model, placement: &Placement) -> Self {
        match &placement.side {
            Side::Plan(plan) if *plan == model.plan => Self::Plan,
            Side::Plan(_) => Self::OwnPlan,
            Side::Places(places) if *places == model.prototypes => Self::Prototypes,
            Side::Places(_) => Self::OwnPlaces,
        }
    }
}

/// What was asked for.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    #[serde(with = "method")]
    method: Method,
    prototypes: Option<usize>,
    dims: usize,
    #[serde(with = "numbers")]
    perplexities: Vec<f64>,
    neighbors: Option<usize>,
    #[serde(with = "KernelForm")]
    kernel: KernelFunction,
    #[serde(with = "NormalizationForm")]
    normalization: Normalization,
    loss: Option<NamedLoss>,
    #[serde(with = "number")]
    alpha: f64,
    #[serde(with = "AlphaScaleForm")]
    alpha_scale: AlphaScale,
    pub(super) start: StartForm,
    n_init: usize,
    #[serde(with = "SolverForm")]
    solver: Solver,
    max_rounds: usize,
    #[serde(with = "number")]
    rel_tolerance: f64,
    #[serde(with = "number")]
    abs_tolerance: f64,
    seed: u64,
    #[serde(with = "ProjectionForm")]
    projection: Projection,
    #[serde(with = "ScalingForm")]
    scaling: Scaling,
}

/// Where the fit started; a given plan is in the tensors.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum StartForm {
    Auto,
    Agglomerative,
    Spectral,
    KMeans,
    Random,
    Plan,
}

impl StartForm {
    fn of(start: &Start) -> Self {
        match start {
            Start::Auto => Self::Auto,
            Start::Agglomerative => Self::Agglomerative,
            Start::Spectral => Self::Spectral,
            Start::KMeans => Self::KMeans,
            Start::Random => Self::Random,
            Start::Plan(_) => Self::Plan,
        }
    }

    /// The start, with the plan that `read` finds if it is one.
    pub(super) fn start<E>(self, read: impl FnOnce() -> Result<Plan, E>) -> Result<Start, E> {
        Ok(match self {
            Self::Auto => Start::Auto,
            Self::Agglomerative => Start::Agglomerative,
            Self::Spectral => Start::Spectral,
            Self::KMeans => Start::KMeans,
            Self::Random => Start::Random,
            Self::Plan => Start::Plan(read()?),
        })
    }
}

impl Parameters {
    fn of(asked: &GromovDr) -> Self {
        // Without `..`: a new parameter does not compile until it is in the file.
        let GromovDr {
            method,
            prototypes,
            dims,
            options: AffinityOptions { perplexities, neighbors, kernel },
            normalization,
            loss,
            alpha,
            alpha_scale,
            start,
            n_init,
            settings: Settings { solver, stopping: Stopping { max_rounds, rel_tolerance, abs_tolerance }, seed },
            projection,
            scaling,
        } = asked;
        Self {
            method: *method,
            prototypes: *prototypes,
            dims: *dims,
            perplexities: perplexities.clone(),
            neighbors: *neighbors,
            kernel: *kernel,
            normalization: *normalization,
            loss: loss.map(NamedLoss),
            alpha: *alpha,
            alpha_scale: *alpha_scale,
            start: StartForm::of(start),
            n_init: *n_init,
            solver: *solver,
            max_rounds: *max_rounds,
            rel_tolerance: *rel_tolerance,
            abs_tolerance: *abs_tolerance,
            seed: *seed,
            projection: *projection,
            scaling: *scaling,
        }
    }

    /// What was asked for, from this start.
    pub(super) fn asked(self, start: Start) -> GromovDr {
        let stopping = Stopping {
            max_rounds: self.max_rounds,
            rel_tolerance: self.rel_tolerance,
            abs_tolerance: self.abs_tolerance,
        };
        GromovDr {
            method: self.method,
            prototypes: self.prototypes,
            dims: self.dims,
            options: AffinityOptions {
                perplexities: self.perplexities,
                neighbors: self.neighbors,
                kernel: self.kernel,
            },
            normalization: self.normalization,
            loss: self.loss.map(|named| named.0),
            alpha: self.alpha,
            alpha_scale: self.alpha_scale,
            start,
            n_init: self.n_init,
            settings: Settings { solver: self.solver, stopping, seed: self.seed },
            projection: self.projection,
            scaling: self.scaling,
        }
    }
}
