//! How names and numbers stand in the JSON text. The names are those of commands and documents, and part of the format:
//! renaming a variant in the code must not rename it here.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::affinity::KernelFunction;
use crate::embedding::Normalization;
use crate::loss::Loss;
use crate::method::Method;
use crate::model::placement::Weighing;
use crate::model::{AlphaScale, Projection, Scaling};
use crate::observe::StopReason;
use crate::similarity::Definiteness;
use crate::solve::Solver;

/// Methods by their own names.
pub(super) mod method {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(method.name())
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Method, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A number: shortest digits that give the same bits back, or a word where JSON has no digits for it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Other(String),
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        if value.is_finite() { Self::Finite(value) } else { Self::Other(value.to_string()) }
    }
}

impl TryFrom<Number> for f64 {
    type Error = std::num::ParseFloatError;

    fn try_from(number: Number) -> Result<Self, Self::Error> {
        match number {
            Number::Finite(value) => Ok(value),
            Number::Other(word) => word.parse(),
        }
    }
}

/// One number.
pub(super) mod number {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Number::from(*value).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Number::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}

/// None or one number.
mod perhaps {
    use super::*;

    pub(super) fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(Number::from).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        let number = Option::<Number>::deserialize(deserializer)?;
        number.map(f64::try_from).transpose().map_err(D::Error::custom)
    }
}

/// A list of numbers.
pub(super) mod numbers {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().copied().map(Number::from))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let numbers = Vec::<Number>::deserialize(deserializer)?;
        numbers.into_iter().map(f64::try_from).collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Loss")]
pub(super) enum LossForm {
    #[serde(rename = "square")]
    Square,
    #[serde(rename = "kl")]
    Kl,
    #[serde(rename = "bce")]
    BinaryCrossEntropy,
}

/// A loss in an option.
#[derive(Serialize, Deserialize)]
pub(super) struct NamedLoss(#[serde(with = "LossForm")] pub(super) Loss);

#[derive(Serialize, Deserialize)]
#[serde(remote = "StopReason", rename_all = "snake_case")]
pub(super) enum StopForm {
    Converged,
    Stationary,
    MaxRounds,
    Interrupted,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Definiteness", rename_all = "kebab-case")]
pub(super) enum DefinitenessForm {
    Psd,
    Nsd,
    SquaredEuclidean,
    Unknown,
}

/// A certificate in an option.
#[derive(Serialize, Deserialize)]
pub(super) struct NamedDefiniteness(#[serde(with = "DefinitenessForm")] pub(super) Definiteness);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Normalization", rename_all = "kebab-case")]
pub(super) enum NormalizationForm {
    None,
    Cells,
    Measure,
    Rows,
    DoublyStochastic,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AlphaScale", rename_all = "kebab-case")]
pub(super) enum AlphaScaleForm {
    AtStart,
    Raw,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Projection", rename_all = "kebab-case")]
pub(super) enum ProjectionForm {
    Auto,
    None,
    To(usize),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Scaling", rename_all = "kebab-case")]
pub(super) enum ScalingForm {
    None,
    Standard,
    MinMax,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Solver", deny_unknown_fields)]
pub(super) enum SolverForm {
    #[serde(rename = "vertex")]
    Vertex,
    #[serde(rename = "cg")]
    ConditionalGradient,
    #[serde(rename = "mirror")]
    Mirror {
        #[serde(with = "perhaps")]
        epsilon: Option<f64>,
        #[serde(with = "number")]
        entropy: f64,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "KernelFunction", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum KernelForm {
    Rbf {
        #[serde(with = "perhaps")]
        gamma: Option<f64>,
    },
    Polynomial {
        #[serde(with = "perhaps")]
        gamma: Option<f64>,
        #[serde(with = "number")]
        coef0: f64,
        degree: u32,
    },
    Sigmoid {
        #[serde(with = "perhaps")]
        gamma: Option<f64>,
        #[serde(with = "number")]
        coef0: f64,
    },
    Laplacian {
        #[serde(with = "perhaps")]
        gamma: Option<f64>,
    },
    Cosine,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Weighing", rename_all = "lowercase")]
pub(super) enum WeighingForm {
    Entropic(#[serde(with = "numbers")] Vec<f64>, #[serde(with = "number")] f64),
    Fuzzy,
    Graph(#[serde(with = "number")] f64),
}
