//! Models and clusterings: parameters by attribute and samples in, a fitted object or its arrays out.

use gromap::embedding::Normalization;
use gromap::{
    AlphaScale, Clustering, GromovClustering, GromovDr, Level, Method, Model, Plan, Projection, SampleWeights, Scale,
    Scaling, Settings, Start, Stopping, Target,
};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments::{InputArgument, SamplesArgument, SettingsArgument, matrix, parse_loss, with_samples};
use crate::running::Running;
use crate::{affinity, results, to_python};

/// What the estimators ask for.
#[derive(FromPyObject)]
pub(crate) struct Parameters<'py> {
    n_prototypes: Option<usize>,
    n_components: usize,
    method: String,
    perplexity: Vec<f64>,
    n_neighbors: Option<usize>,
    kernel: affinity::KernelArgument,
    normalization: String,
    loss: Option<String>,
    alpha: f64,
    alpha_scale: String,
    init: InitArgument<'py>,
    n_init: usize,
    pca: PcaArgument,
    scale: String,
    settings: SettingsArgument,
}

#[derive(FromPyObject)]
enum InitArgument<'py> {
    Name(String),
    Labels(PyReadonlyArray1<'py, u32>),
    Plan(numpy::PyReadonlyArray2<'py, f64>),
}

#[derive(FromPyObject)]
enum PcaArgument {
    Components(usize),
    Name(String),
}

fn one_of<T>(what: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T>
where
    T: Copy,
{
    if let Some((_, choice)) = choices.iter().find(|(key, _)| *key == name) {
        return Ok(*choice);
    }
    let names: Vec<String> = choices.iter().map(|(key, _)| format!("'{key}'")).collect();
    Err(PyValueError::new_err(format!("{what} is '{name}'; it must be one of {}", names.join(", "))))
}

impl Parameters<'_> {
    fn start(&self, weights: &SampleWeights) -> PyResult<Start> {
        Ok(match &self.init {
            InitArgument::Labels(labels) => {
                let n = self.n_prototypes.unwrap_or(weights.len());
                Start::Plan(Plan::from_labels(labels.as_slice()?.to_vec(), n, weights.clone()).map_err(to_python)?)
            }
            InitArgument::Plan(plan) => {
                Start::Plan(Plan::from_dense(&matrix(plan)?, weights.clone()).map_err(to_python)?)
            }
            InitArgument::Name(name) => match name.as_str() {
                "auto" => Start::Auto,
                "agglomerative" => Start::Agglomerative,
                "spectral" => Start::Spectral,
                "kmeans" => Start::KMeans,
                "random" => Start::Random,
                other => {
                    return Err(PyValueError::new_err(format!(
                        "init is '{other}'; it must be 'auto', 'agglomerative', 'spectral', 'kmeans', 'random', labels or \
                         a plan"
                    )));
                }
            },
        })
    }

    fn projection(&self) -> PyResult<Projection> {
        match &self.pca {
            PcaArgument::Components(components) => Ok(Projection::To(*components)),
            PcaArgument::Name(name) => one_of("pca", name, &[("auto", Projection::Auto), ("none", Projection::None)]),
        }
    }

    fn method(&self) -> PyResult<Method> {
        self.method.parse().map_err(to_python)
    }

    fn scaling(&self) -> PyResult<Scaling> {
        let choices = [("none", Scaling::None), ("standard", Scaling::Standard), ("minmax", Scaling::MinMax)];
        one_of("scale", &self.scale, &choices)
    }

    /// Settings whose tolerance is a share of the loss: that of similarities that sum to N is of the order 1/N, and no
    /// absolute change of it means the same twice.
    fn relative_settings(&self) -> PyResult<Settings> {
        let settings = self.settings.parse()?;
        Ok(Settings { stopping: Stopping { abs_tolerance: 0.0, ..settings.stopping }, ..settings })
    }

    fn reduction(&self, weights: &SampleWeights) -> PyResult<GromovDr> {
        let settings = self.relative_settings()?;
        let normalization = [("measure", Normalization::Measure), ("cells", Normalization::Cells)];
        let scale = [("start", AlphaScale::AtStart), ("raw", AlphaScale::Raw)];
        let mut recipe = GromovDr::builder()
            .method(self.method()?)
            .dims(self.n_components)
            .perplexities(&self.perplexity)
            .neighbors(self.n_neighbors)
            .kernel(self.kernel.parse()?)
            .normalization(one_of("normalization", &self.normalization, &normalization)?)
            .alpha(self.alpha, one_of("alpha_scale", &self.alpha_scale, &scale)?)
            .start(self.start(weights)?)
            .n_init(self.n_init)
            .solver(settings.solver)
            .stopping(settings.stopping)
            .seed(settings.seed)
            .projection(self.projection()?)
            .scaling(self.scaling()?);
        if let Some(loss) = &self.loss {
            recipe = recipe.loss(parse_loss(loss)?);
        }
        Ok(match self.n_prototypes {
            Some(prototypes) => recipe.prototypes(prototypes),
            None => recipe.every_sample(),
        })
    }

    fn clustering(&self, weights: &SampleWeights, target: &str, scale: &str) -> PyResult<GromovClustering> {
        let settings = self.relative_settings()?;
        let scale = one_of("target_scale", scale, &[("raw", Scale::Raw), ("max", Scale::UnitMaximum)])?;
        let target = one_of("target", target, &[("free", Target::Free), ("identity", Target::Identity(scale))])?;
        let mut recipe = GromovClustering::builder(self.n_prototypes.unwrap_or(0))
            .target(target)
            .method(self.method()?)
            .perplexities(&self.perplexity)
            .neighbors(self.n_neighbors)
            .start(self.start(weights)?)
            .n_init(self.n_init)
            .solver(settings.solver)
            .stopping(settings.stopping)
            .seed(settings.seed)
            .projection(self.projection()?)
            .scaling(self.scaling()?);
        if let Some(loss) = &self.loss {
            recipe = recipe.loss(parse_loss(loss)?);
        }
        Ok(recipe)
    }
}

fn weights_of(samples: usize, weights: Option<PyReadonlyArray1<'_, f64>>) -> PyResult<SampleWeights> {
    match weights {
        Some(array) => SampleWeights::new(array.as_slice()?),
        None => SampleWeights::uniform(samples),
    }
    .map_err(to_python)
}

/// A fitted model.
#[pyclass(frozen, name = "Model", module = "gromap._core")]
pub(crate) struct FittedModel(pub(crate) Model);

/// Fits a model to samples.
#[pyfunction]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    parameters: Parameters<'py>,
    samples: SamplesArgument<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    running: Running,
) -> PyResult<FittedModel> {
    with_samples!(samples, |samples| {
        let weights = weights_of(samples.rows(), weights)?;
        let recipe = parameters.reduction(&weights)?;
        running.run(py, |reporter| recipe.fit_observed(&samples, Some(&weights), reporter)).map(FittedModel)
    })
}

/// Fits a model to a given similarity.
#[pyfunction]
pub(crate) fn fit_similarity<'py>(
    py: Python<'py>,
    parameters: Parameters<'py>,
    input: InputArgument<'py>,
    running: Running,
) -> PyResult<FittedModel> {
    let similarity = input.similarity()?;
    let (weights, _) = input.weights_and_start(1, similarity.len())?;
    let (recipe, features) = (parameters.reduction(&weights)?, input.features()?);
    running.run(py, |reporter| recipe.fit_similarity(&*similarity, features, Some(&weights), reporter)).map(FittedModel)
}

/// Fits a model to distances.
#[pyfunction]
pub(crate) fn fit_distances<'py>(
    py: Python<'py>,
    parameters: Parameters<'py>,
    distances: SamplesArgument<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    running: Running,
) -> PyResult<FittedModel> {
    with_samples!(distances, |distances| {
        let weights = weights_of(distances.rows(), weights)?;
        let recipe = parameters.reduction(&weights)?;
        running.run(py, |reporter| recipe.fit_distances(&distances, Some(&weights), reporter)).map(FittedModel)
    })
}

/// Models of several n, and how much mass each prototype hands on.
#[pyfunction]
#[allow(clippy::type_complexity)] // a list of models, a list of triples
pub(crate) fn path<'py>(
    py: Python<'py>,
    parameters: Parameters<'py>,
    samples: SamplesArgument<'py>,
    levels: (Vec<usize>, bool),
    weights: Option<PyReadonlyArray1<'py, f64>>,
    running: Running,
) -> PyResult<(Vec<FittedModel>, Vec<Vec<(u32, u32, f64)>>)> {
    let (sizes, warm) = levels;
    let level = if warm { Level::Warm } else { Level::Fresh };
    let found = with_samples!(samples, |samples| {
        let weights = weights_of(samples.rows(), weights)?;
        let recipe = parameters.reduction(&weights)?;
        running.run(py, |reporter| recipe.path_observed(&samples, &sizes, level, Some(&weights), reporter))?
    });
    Ok((found.models.into_iter().map(FittedModel).collect(), found.lineage))
}

/// Clusters samples.
#[pyfunction]
pub(crate) fn cluster<'py>(
    py: Python<'py>,
    parameters: Parameters<'py>,
    target: (String, String),
    samples: SamplesArgument<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    running: Running,
) -> PyResult<Bound<'py, PyDict>> {
    let found = with_samples!(samples, |samples| {
        let weights = weights_of(samples.rows(), weights)?;
        let recipe = parameters.clustering(&weights, &target.0, &target.1)?;
        running.run(py, |reporter| recipe.fit_observed(&samples, Some(&weights), reporter))?
    });
    clustering(py, &found)
}

/// Clusters by a given similarity.
#[pyfunction]
pub(crate) fn cluster_similarity<'py>(
    py: Python<'py>,
    parameters: Parameters<'py>,
    target: (String, String),
    input: InputArgument<'py>,
    running: Running,
) -> PyResult<Bound<'py, PyDict>> {
    let similarity = input.similarity()?;
    let (weights, _) = input.weights_and_start(1, similarity.len())?;
    let recipe = parameters.clustering(&weights, &target.0, &target.1)?;
    let found = running.run(py, |reporter| recipe.fit_similarity(&*similarity, Some(&weights), reporter))?;
    clustering(py, &found)
}

/// Clusters by distances.
#[pyfunction]
pub(crate) fn cluster_distances<'py>(
    py: Python<'py>,
    parameters: Parameters<'py>,
    target: (String, String),
    distances: SamplesArgument<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    running: Running,
) -> PyResult<Bound<'py, PyDict>> {
    let found = with_samples!(distances, |distances| {
        let weights = weights_of(distances.rows(), weights)?;
        let recipe = parameters.clustering(&weights, &target.0, &target.1)?;
        running.run(py, |reporter| recipe.fit_distances(&distances, Some(&weights), reporter))?
    });
    clustering(py, &found)
}

fn clustering<'py>(py: Python<'py>, found: &Clustering) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("plan", results::plan(py, &found.plan)?)?;
    out.set_item("weights", numpy::PyArray1::from_slice(py, &found.weights))?;
    out.set_item("target", results::matrix(py, &found.target)?)?;
    out.set_item("features", found.features.as_ref().map(|f| results::matrix(py, f)).transpose()?)?;
    out.set_item("loss", found.loss)?;
    out.set_item("loss_is_complete", found.loss_is_complete)?;
    out.set_item("loss_curve", numpy::PyArray1::from_slice(py, &found.history))?;
    out.set_item("stop_reason", found.stop.to_string())?;
    out.set_item("hardness", found.hardness)?;
    out.set_item("certificate", found.certificate.map(results::certificate))?;
    out.set_item("warnings", found.warnings.clone())?;
    Ok(out)
}

#[pymethods]
impl FittedModel {
    /// Everything a map shows.
    fn results<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let model = &self.0;
        let out = PyDict::new(py);
        out.set_item("prototypes", results::matrix(py, &model.prototypes)?)?;
        out.set_item("embedding", results::matrix(py, &model.embedding())?)?;
        out.set_item("weights", numpy::PyArray1::from_slice(py, &model.weights))?;
        out.set_item("features", model.features.as_ref().map(|f| results::matrix(py, f)).transpose()?)?;
        out.set_item("plan", results::plan(py, &model.plan)?)?;
        out.set_item("labels", numpy::PyArray1::from_vec(py, model.plan.labels()))?;
        out.set_item("kept", numpy::PyArray1::from_slice(py, &model.kept))?;
        out.set_item("loss", model.loss)?;
        out.set_item("loss_is_complete", model.loss_is_complete)?;
        out.set_item("loss_curve", numpy::PyArray1::from_slice(py, &model.history))?;
        out.set_item("stop_reason", model.stop.to_string())?;
        out.set_item("hardness", model.hardness)?;
        out.set_item("certificate", model.certificate.map(results::certificate))?;
        out.set_item("warnings", model.warnings.clone())?;
        Ok(out)
    }

    /// The prototype of every new sample.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        samples: SamplesArgument<'py>,
        running: Running,
    ) -> PyResult<Bound<'py, PyAny>> {
        let labels = with_samples!(samples, |samples| running.run(py, |_| self.0.predict(&samples)));
        Ok(numpy::PyArray1::from_vec(py, labels?).into_any())
    }

    /// The place of every new sample.
    fn transform<'py>(
        &self,
        py: Python<'py>,
        samples: SamplesArgument<'py>,
        running: Running,
    ) -> PyResult<Bound<'py, PyAny>> {
        let places = with_samples!(samples, |samples| running.run(py, |_| self.0.transform(&samples)));
        results::matrix(py, &places?)
    }

    /// The model as the bytes of a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// The model that `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Model::from_bytes(bytes).map(Self).map_err(to_python)
    }
}
