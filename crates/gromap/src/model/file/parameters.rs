//! What was asked for, in the words that the command and Python use too.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::forms::{Number, word};
use crate::affinity::{Kernel, KernelFunction};
use crate::embedding::Normalization;
use crate::error::Result;
use crate::loss::Loss;
use crate::method::Method;
use crate::model::{AlphaScale, Common, GromovClustering, GromovDr, Parameters, Projection, Scaling, Target};
use crate::observe::Stopping;
use crate::plan::Plan;
use crate::solve::{Scale, Settings, Solver};
use crate::start::Start;
use crate::weights::{PrototypeWeights, ViewWeights, WeightRule};

/// What maps and clusters share, and what one of them has.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParametersForm {
    common: CommonForm,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    map: Option<MapForm>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    clusters: Option<ClustersForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommonForm {
    method: Method,
    perplexity: Vec<Number>,
    neighbors: Option<usize>,
    kernel: KernelFunction,
    gamma: Option<Number>,
    coef0: Number,
    degree: u32,
    loss: Option<Loss>,
    /// "plan" for a plan that is in the tensors.
    init: String,
    n_init: usize,
    #[serde(default)]
    prototype_weights: WeightsForm,
    #[serde(default)]
    min_weight: Option<Number>,
    #[serde(default)]
    max_weight: Option<Number>,
    solver: Solver,
    epsilon: Option<Number>,
    entropy: Number,
    max_rounds: usize,
    tolerance: Number,
    abs_tolerance: Number,
    seed: u64,
    #[serde(with = "word")]
    pca: Projection,
    scale: Scaling,
    #[serde(default = "WeightsForm::equal")]
    view_weights: WeightsForm,
}

/// A word, or the share of every prototype.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WeightsForm {
    Word(String),
    Given(Vec<Number>),
}

impl Default for WeightsForm {
    fn default() -> Self {
        Self::Word("learned".into())
    }
}

impl WeightsForm {
    /// What models without views have.
    fn equal() -> Self {
        Self::Word("equal".into())
    }

    fn given(shares: &[f64]) -> Self {
        Self::Given(shares.iter().copied().map(Number).collect())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MapForm {
    prototypes: Option<usize>,
    dims: usize,
    normalization: Option<Normalization>,
    coupling: Number,
    alpha: Number,
    alpha_scale: AlphaScale,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClustersForm {
    clusters: usize,
    target: Target,
    target_scale: Scale,
}

impl ParametersForm {
    pub(super) fn of(parameters: &Parameters) -> Self {
        let common = CommonForm::of(parameters.common());
        // Without `..`: a new parameter does not compile until it is in the file.
        match parameters {
            Parameters::Map(GromovDr { common: _, prototypes, dims, normalization, coupling, alpha, alpha_scale }) => {
                let (prototypes, dims, normalization) = (*prototypes, *dims, *normalization);
                let (coupling, alpha, alpha_scale) = (Number(*coupling), Number(*alpha), *alpha_scale);
                let map = MapForm { prototypes, dims, normalization, coupling, alpha, alpha_scale };
                Self { common, map: Some(map), clusters: None }
            }
            Parameters::Clusters(GromovClustering { common: _, clusters, target, target_scale }) => {
                let clusters = ClustersForm { clusters: *clusters, target: *target, target_scale: *target_scale };
                Self { common, map: None, clusters: Some(clusters) }
            }
        }
    }

    /// What was asked for; `read_plan` finds a plan that was given as a start.
    pub(super) fn asked(self, read_plan: impl FnOnce() -> Result<Plan>) -> Result<Parameters> {
        let common = self.common.asked(read_plan)?;
        match (self.map, self.clusters) {
            (Some(MapForm { prototypes, dims, normalization, coupling, alpha, alpha_scale }), None) => {
                let (coupling, alpha) = (coupling.0, alpha.0);
                Ok(Parameters::Map(GromovDr { common, prototypes, dims, normalization, coupling, alpha, alpha_scale }))
            }
            (None, Some(ClustersForm { clusters, target, target_scale })) => {
                Ok(Parameters::Clusters(GromovClustering { common, clusters, target, target_scale }))
            }
            _ => Err(super::container::damaged("it is neither a map nor clusters, or both")),
        }
    }
}

impl CommonForm {
    fn of(common: &Common) -> Self {
        let Common {
            method,
            perplexities,
            neighbors,
            kernel,
            loss,
            init,
            n_init,
            rule,
            settings,
            pca,
            scale,
            view_weights,
        } = common;
        let WeightRule { prototype_weights, min_weight, max_weight } = rule;
        let &Kernel { function, gamma, coef0, degree, landmarks: _ } = kernel;
        let &Settings { solver, epsilon, entropy, stopping, seed } = settings;
        let Stopping { max_rounds, rel_tolerance: tolerance, abs_tolerance } = stopping;
        Self {
            method: *method,
            perplexity: perplexities.iter().copied().map(Number).collect(),
            neighbors: *neighbors,
            kernel: function,
            gamma: gamma.map(Number),
            coef0: Number(coef0),
            degree,
            loss: *loss,
            init: init.name().into(),
            n_init: *n_init,
            prototype_weights: match prototype_weights {
                PrototypeWeights::Given(shares) => WeightsForm::given(shares),
                named => WeightsForm::Word(named.name().into()),
            },
            min_weight: min_weight.map(Number),
            max_weight: max_weight.map(Number),
            solver,
            epsilon: epsilon.map(Number),
            entropy: Number(entropy),
            max_rounds,
            tolerance: Number(tolerance),
            abs_tolerance: Number(abs_tolerance),
            seed,
            pca: *pca,
            scale: *scale,
            view_weights: match view_weights {
                ViewWeights::Given(shares) => WeightsForm::given(shares),
                named => WeightsForm::Word(named.name().into()),
            },
        }
    }

    fn asked(self, read_plan: impl FnOnce() -> Result<Plan>) -> Result<Common> {
        let number = |number: Number| number.0;
        let (rel_tolerance, abs_tolerance) = (self.tolerance.0, self.abs_tolerance.0);
        let stopping = Stopping { max_rounds: self.max_rounds, rel_tolerance, abs_tolerance };
        let (epsilon, entropy) = (self.epsilon.map(number), self.entropy.0);
        let (gamma, coef0, degree) = (self.gamma.map(number), self.coef0.0, self.degree);
        Ok(Common {
            method: self.method,
            perplexities: self.perplexity.into_iter().map(number).collect(),
            neighbors: self.neighbors,
            kernel: Kernel { function: self.kernel, gamma, coef0, degree, landmarks: None },
            loss: self.loss,
            init: if self.init == "plan" { Start::Plan(read_plan()?) } else { self.init.parse()? },
            n_init: self.n_init,
            rule: WeightRule {
                prototype_weights: match self.prototype_weights {
                    WeightsForm::Word(word) => word.parse()?,
                    WeightsForm::Given(shares) => PrototypeWeights::Given(shares.into_iter().map(number).collect()),
                },
                min_weight: self.min_weight.map(number),
                max_weight: self.max_weight.map(number),
            },
            settings: Settings { solver: self.solver, epsilon, entropy, stopping, seed: self.seed },
            pca: self.pca,
            scale: self.scale,
            view_weights: match self.view_weights {
                WeightsForm::Word(word) => word.parse()?,
                WeightsForm::Given(shares) => ViewWeights::Given(shares.into_iter().map(number).collect()),
            },
        })
    }
}

impl Parameters {
    /// Everything that was asked for, by the names and words that the command, Python and the model file share.
    ///
    /// ```
    /// # let samples = gromap::Matrix::from_fn(30, 2, |i, j| ((i * (j + 3)) % 11) as f64);
    /// let model = gromap::GromovDr::builder().method(gromap::Method::Pca).prototypes(4).fit(&samples)?;
    /// let asked = model.parameters.to_json();
    /// assert_eq!((asked["method"].as_str(), asked["prototypes"].as_u64()), (Some("pca"), Some(4)));
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn to_json(&self) -> Map<String, Value> {
        let form = ParametersForm::of(self);
        let object = |value: serde_json::Result<Value>| match value {
            Ok(Value::Object(object)) => object,
            _ => Map::new(),
        };
        let mut all = object(serde_json::to_value(&form.common));
        all.extend(object(serde_json::to_value(&form.map)));
        all.extend(object(serde_json::to_value(&form.clusters)));
        all
    }
}
