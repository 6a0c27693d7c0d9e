//! What Python hands over, as the core wants it. Arrays are borrowed; `python/gromap` has already
//! made them contiguous and of a known type.

use std::str::FromStr;

use gromap::data::Samples;
use gromap::observe::Stopping;
use gromap::options::{FittedTo, WeightRule};
use gromap::similarity::{self, Similarity, Sparse};
use gromap::solve::{BalancedTransport, Settings};
use gromap::types::Scalar;
use gromap::{Data, Matrix, Plan, PrototypeWeights, Run, SampleWeights, ViewWeights};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::running::Running;
use crate::{table, to_python};

/// A matrix in either precision.
#[derive(FromPyObject)]
pub(crate) enum SamplesArgument<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

impl SamplesArgument<'_> {
    pub(crate) fn samples(&self) -> PyResult<Samples<'_>> {
        Ok(match self {
            Self::F32(array) => matrix(array)?.into(),
            Self::F64(array) => matrix(array)?.into(),
        })
    }
}

/// Samples, or several views of them.
#[derive(FromPyObject)]
pub(crate) enum NewSamplesArgument<'py> {
    One(SamplesArgument<'py>),
    Views(Vec<SamplesArgument<'py>>),
}

impl NewSamplesArgument<'_> {
    pub(crate) fn data(&self) -> PyResult<Data<'_>> {
        Ok(match self {
            Self::One(array) => Data::Samples(array.samples()?),
            Self::Views(arrays) => {
                Data::views(arrays.iter().map(SamplesArgument::samples).collect::<PyResult<Vec<_>>>()?)
            }
        })
    }
}

/// A matrix in any of its forms: every entry, the factor A or the factors (A, B), or compressed rows as offsets, columns
/// and one row of values.
#[derive(FromPyObject)]
enum ArrayArgument<'py> {
    Dense(SamplesArgument<'py>),
    Factor((SamplesArgument<'py>,)),
    Factors((SamplesArgument<'py>, SamplesArgument<'py>)),
    Sparse((PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u32>, SamplesArgument<'py>)),
}

impl ArrayArgument<'_> {
    fn samples(&self) -> PyResult<Samples<'_>> {
        match self {
            Self::Dense(array) => array.samples(),
            _ => Err(PyValueError::new_err("samples and distances must be given as a dense array")),
        }
    }

    fn similarity(&self) -> PyResult<Box<dyn Similarity + '_>> {
        match self {
            Self::Dense(array) => similarity::dense(array.samples()?),
            Self::Factor((factor,)) => similarity::low_rank(factor.samples()?, None),
            Self::Factors((left, right)) => similarity::low_rank(left.samples()?, Some(right.samples()?)),
            Self::Sparse((offsets, columns, values)) => {
                similarity::sparse(whole(offsets)?, columns.as_slice()?, values.samples()?)
            }
        }
        .map_err(to_python)
    }

    fn graph(&self) -> PyResult<Sparse<'_, f32>> {
        match self {
            Self::Dense(array) => similarity::graph_of_pairs(array.samples()?),
            Self::Sparse((offsets, columns, values)) => {
                similarity::graph(whole(offsets)?, columns.as_slice()?, values.samples()?)
            }
            _ => {
                return Err(PyValueError::new_err(
                    "a graph must be given as an array or a sparse matrix, not by factors",
                ));
            }
        }
        .map_err(to_python)
    }
}

/// The offsets of compressed rows.
fn whole(offsets: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let whole = offsets.as_slice()?.iter().map(|&o| usize::try_from(o)).collect::<Result<_, _>>();
    whole.map_err(|_| PyValueError::new_err("indptr of the sparse matrix has a negative entry"))
}

/// A hard plan by its labels, or any plan by its entries.
#[derive(FromPyObject)]
pub(crate) enum PlanArgument<'py> {
    Labels(PyReadonlyArray1<'py, u32>),
    Dense(PyReadonlyArray2<'py, f64>),
}

impl PlanArgument<'_> {
    pub(crate) fn plan(&self, prototypes: usize, weights: &SampleWeights) -> PyResult<Plan> {
        match self {
            Self::Labels(labels) => Plan::from_labels(labels.as_slice()?.to_vec(), prototypes, weights.clone()),
            Self::Dense(array) => Plan::from_dense(&matrix(array)?, weights.clone()),
        }
        .map_err(to_python)
    }
}

pub(crate) fn weights_of(weights: Option<&PyReadonlyArray1<'_, f64>>, samples: usize) -> PyResult<SampleWeights> {
    match weights {
        Some(array) => SampleWeights::new(array.as_slice()?),
        None => SampleWeights::uniform(samples),
    }
    .map_err(to_python)
}

/// A matrix, or one for each view.
#[derive(FromPyObject)]
enum ArraysArgument<'py> {
    One(ArrayArgument<'py>),
    Views(Vec<ArrayArgument<'py>>),
}

/// A similarity or a graph that lives as long as the data that refer to it.
enum Owned<'a> {
    Nothing,
    Similarity(Box<dyn Similarity + 'a>),
    Graph(Sparse<'a, f32>),
}

impl ArrayArgument<'_> {
    /// What the data will refer to.
    fn owned(&self, kind: FittedTo) -> PyResult<Owned<'_>> {
        Ok(match kind {
            FittedTo::Samples | FittedTo::Distances => Owned::Nothing,
            FittedTo::Similarity => Owned::Similarity(self.similarity()?),
            FittedTo::Graph => Owned::Graph(self.graph()?),
        })
    }

    fn data<'a>(&'a self, kind: FittedTo, owned: &'a Owned<'a>) -> PyResult<Data<'a>> {
        Ok(match owned {
            Owned::Similarity(similarity) => Data::similarity(&**similarity),
            Owned::Graph(graph) => Data::Graph(graph),
            Owned::Nothing if kind == FittedTo::Distances => Data::Distances(self.samples()?),
            Owned::Nothing => Data::Samples(self.samples()?),
        })
    }
}

/// What a fit is given, by attribute.
#[derive(FromPyObject)]
pub(crate) struct DataArgument<'py> {
    /// "samples", "distance", "similarity" or "graph".
    kind: String,
    array: ArraysArgument<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    feature_names: Option<Vec<String>>,
    /// How a table became the samples, as JSON.
    table: Option<String>,
}

impl DataArgument<'_> {
    /// What `make` makes of the weights, run on the data without the GIL.
    pub(crate) fn run<R: Send, T: Send>(
        &self,
        py: Python<'_>,
        running: &Running,
        make: impl FnOnce(&SampleWeights) -> PyResult<R>,
        work: impl FnOnce(R, &Data<'_>, Run<'_>) -> gromap::Result<T> + Send,
    ) -> PyResult<T> {
        let kind = word(&self.kind)?;
        let arrays = match &self.array {
            ArraysArgument::One(array) => std::slice::from_ref(array),
            ArraysArgument::Views(arrays) => arrays,
        };
        let owned = arrays.iter().map(|array| array.owned(kind)).collect::<PyResult<Vec<_>>>()?;
        let views = arrays.iter().zip(&owned).map(|(array, owned)| array.data(kind, owned));
        let mut views = views.collect::<PyResult<Vec<_>>>()?;
        let data = match &self.array {
            ArraysArgument::One(_) => views.remove(0),
            ArraysArgument::Views(_) => Data::Views(views),
        };
        let weights = weights_of(self.weights.as_ref(), data.len())?;
        let made = make(&weights)?;
        let table = self.table.as_deref().map(table::encoding).transpose()?;
        let (weights, feature_names, table) = (Some(&weights), self.feature_names.as_deref(), table.as_ref());
        running.run(py, |reporter| work(made, &data, Run { weights, feature_names, table, observer: Some(reporter) }))
    }
}

/// One input of a transport problem, by attribute.
#[derive(FromPyObject)]
pub(crate) struct InputArgument<'py> {
    similarity: ArrayArgument<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    features: Option<SamplesArgument<'py>>,
    plan: Option<PlanArgument<'py>>,
}

impl InputArgument<'_> {
    pub(crate) fn similarity(&self) -> PyResult<Box<dyn Similarity + '_>> {
        self.similarity.similarity()
    }

    pub(crate) fn features(&self) -> PyResult<Option<Samples<'_>>> {
        self.features.as_ref().map(SamplesArgument::samples).transpose()
    }

    pub(crate) fn weights_and_start(
        &self,
        prototypes: usize,
        samples: usize,
    ) -> PyResult<(SampleWeights, Option<Plan>)> {
        let weights = weights_of(self.weights.as_ref(), samples)?;
        let start = self.plan.as_ref().map(|plan| plan.plan(prototypes, &weights)).transpose()?;
        Ok((weights, start))
    }
}

pub(crate) fn matrix<'a, S: Scalar + Element>(array: &'a PyReadonlyArray2<'_, S>) -> PyResult<Matrix<'a, S>> {
    Matrix::new(array.as_slice()?, array.shape()[0], array.shape()[1]).map_err(to_python)
}

/// A choice by its word.
pub(crate) fn word<T: FromStr<Err = gromap::Error>>(name: &str) -> PyResult<T> {
    name.parse().map_err(to_python)
}

/// Costs N×n, or samples and points whose squared distances they are.
#[derive(FromPyObject)]
pub(crate) enum CostsArgument<'py> {
    Given(PyReadonlyArray2<'py, f64>),
    Between((SamplesArgument<'py>, PyReadonlyArray2<'py, f64>)),
}

impl CostsArgument<'_> {
    pub(crate) fn problem(&self) -> PyResult<BalancedTransport<'_>> {
        Ok(match self {
            Self::Given(costs) => BalancedTransport::new(matrix(costs)?),
            Self::Between((samples, points)) => BalancedTransport::between(samples.samples()?, matrix(points)?),
        })
    }
}

/// What prototypes weigh, by attribute: a word or their shares, and bounds.
#[derive(FromPyObject)]
pub(crate) struct RuleArgument<'py> {
    prototype_weights: WeightsArgument<'py>,
    min_weight: Option<f64>,
    max_weight: Option<f64>,
}

/// What clusters or prototypes weigh: a word, or their shares.
#[derive(FromPyObject)]
pub(crate) enum WeightsArgument<'py> {
    Name(String),
    Given(PyReadonlyArray1<'py, f64>),
}

impl WeightsArgument<'_> {
    pub(crate) fn parse(&self) -> PyResult<PrototypeWeights> {
        match self {
            Self::Name(name) => word(name),
            Self::Given(shares) => Ok(PrototypeWeights::Given(shares.as_slice()?.to_vec())),
        }
    }
}

impl RuleArgument<'_> {
    pub(crate) fn parse(&self) -> PyResult<WeightRule> {
        let prototype_weights = self.prototype_weights.parse()?;
        Ok(WeightRule { prototype_weights, min_weight: self.min_weight, max_weight: self.max_weight })
    }
}

/// How much each view counts: a word, or proportions.
#[derive(FromPyObject)]
pub(crate) enum ViewWeightsArgument<'py> {
    Name(String),
    Given(PyReadonlyArray1<'py, f64>),
}

impl ViewWeightsArgument<'_> {
    pub(crate) fn parse(&self) -> PyResult<ViewWeights> {
        match self {
            Self::Name(name) if ViewWeights::names().any(|word| word == name) => word(name),
            Self::Name(name) => Err(PyValueError::new_err(format!(
                "unknown view_weights \"{name}\"; it must be one of equal, learned, or an array"
            ))),
            Self::Given(weights) => Ok(ViewWeights::Given(weights.as_slice()?.to_vec())),
        }
    }
}

/// Solver, stopping rule and seed, by attribute.
#[derive(FromPyObject)]
pub(crate) struct SettingsArgument {
    solver: String,
    epsilon: Option<f64>,
    max_iter: usize,
    rel_tol: f64,
    abs_tol: f64,
    seed: u64,
}

impl SettingsArgument {
    pub(crate) fn parse(&self) -> PyResult<Settings> {
        let Self { epsilon, max_iter: max_rounds, rel_tol: rel_tolerance, abs_tol: abs_tolerance, seed, .. } = *self;
        let stopping = Stopping { max_rounds, rel_tolerance, abs_tolerance };
        Ok(Settings { solver: word(&self.solver)?, epsilon, entropy: 0.0, stopping, seed })
    }
}
