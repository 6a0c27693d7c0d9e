//! Models, maps and clusters alike: parameters by attribute and data in, a fitted object out.

use gromap::options::{Common, Level, Start};
use gromap::{GromovClustering, GromovDr, Model, SampleWeights};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments::{
    DataArgument, NewSamplesArgument, PlanArgument, RuleArgument, SettingsArgument, ViewWeightsArgument, word,
};
use crate::running::Running;
use crate::{results, to_python};

/// What both estimators ask for, by attribute.
#[derive(FromPyObject)]
struct CommonParameters<'py> {
    method: String,
    perplexity: Vec<f64>,
    n_neighbors: Option<usize>,
    kernel: String,
    gamma: Option<f64>,
    coef0: f64,
    degree: u32,
    loss: Option<String>,
    init: InitArgument<'py>,
    n_init: usize,
    pca: String,
    scale: String,
    view_weights: ViewWeightsArgument<'py>,
    rule: RuleArgument<'py>,
    settings: SettingsArgument,
}

#[derive(FromPyObject)]
enum InitArgument<'py> {
    Name(String),
    Plan(PlanArgument<'py>),
}

impl CommonParameters<'_> {
    /// Writes them over the defaults.
    fn set(&self, common: &mut Common, prototypes: Option<usize>, weights: &SampleWeights) -> PyResult<()> {
        common.method = word(&self.method)?;
        common.perplexities.clone_from(&self.perplexity);
        common.neighbors = self.n_neighbors;
        common.kernel.function = word(&self.kernel)?;
        common.kernel.gamma = self.gamma;
        common.kernel.coef0 = self.coef0;
        common.kernel.degree = self.degree;
        common.loss = self.loss.as_deref().map(word).transpose()?;
        common.init = match &self.init {
            InitArgument::Name(name) => word(name)?,
            InitArgument::Plan(plan) => Start::Plan(plan.plan(prototypes.unwrap_or(weights.len()), weights)?),
        };
        common.n_init = self.n_init;
        common.rule = self.rule.parse()?;
        common.settings = self.settings.parse()?;
        common.pca = word(&self.pca)?;
        common.scale = word(&self.scale)?;
        common.view_weights = self.view_weights.parse()?;
        Ok(())
    }
}

/// What a map is asked for, by attribute.
#[derive(FromPyObject)]
pub(crate) struct MapParameters<'py> {
    common: CommonParameters<'py>,
    n_prototypes: Option<usize>,
    n_components: usize,
    alpha: f64,
    alpha_scale: String,
    normalization: Option<String>,
    coupling: f64,
}

impl MapParameters<'_> {
    fn recipe(&self, weights: &SampleWeights) -> PyResult<GromovDr> {
        let mut recipe = GromovDr::builder()
            .prototypes(self.n_prototypes)
            .dims(self.n_components)
            .alpha(self.alpha, word(&self.alpha_scale)?)
            .normalization(self.normalization.as_deref().map(word).transpose()?)
            .coupling(self.coupling);
        self.common.set(&mut recipe.common, self.n_prototypes, weights)?;
        Ok(recipe)
    }
}

/// What clusters are asked for, by attribute.
#[derive(FromPyObject)]
pub(crate) struct ClusterParameters<'py> {
    common: CommonParameters<'py>,
    n_clusters: usize,
    target: String,
    target_scale: String,
}

impl ClusterParameters<'_> {
    fn recipe(&self, weights: &SampleWeights) -> PyResult<GromovClustering> {
        let target = (word(&self.target)?, word(&self.target_scale)?);
        let mut recipe = GromovClustering::builder(self.n_clusters).target(target.0, target.1);
        self.common.set(&mut recipe.common, Some(self.n_clusters), weights)?;
        Ok(recipe)
    }
}

/// Fits a map.
#[pyfunction]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    parameters: MapParameters<'py>,
    data: DataArgument<'py>,
    running: Running,
) -> PyResult<FittedModel> {
    let recipe = |weights: &_| parameters.recipe(weights);
    data.run(py, &running, recipe, |recipe, data, run| recipe.fit_with(data, run)).map(FittedModel)
}

/// Finds clusters.
#[pyfunction]
pub(crate) fn cluster<'py>(
    py: Python<'py>,
    parameters: ClusterParameters<'py>,
    data: DataArgument<'py>,
    running: Running,
) -> PyResult<FittedModel> {
    let recipe = |weights: &_| parameters.recipe(weights);
    data.run(py, &running, recipe, |recipe, data, run| recipe.fit_with(data, run)).map(FittedModel)
}

/// Maps of several n, and how much mass each prototype hands on.
#[pyfunction]
#[allow(clippy::type_complexity)] // a list of models, a list of triples
pub(crate) fn path<'py>(
    py: Python<'py>,
    parameters: MapParameters<'py>,
    data: DataArgument<'py>,
    sizes: Vec<usize>,
    level: &str,
    running: Running,
) -> PyResult<(Vec<FittedModel>, Vec<Vec<(u32, u32, f64)>>)> {
    let level: Level = word(level)?;
    let recipe = |weights: &_| parameters.recipe(weights);
    let found = data.run(py, &running, recipe, |recipe, data, run| recipe.path_with(data, &sizes, level, run))?;
    Ok((found.models.into_iter().map(FittedModel).collect(), found.lineage))
}

/// A fitted map, or fitted clusters.
#[pyclass(frozen, name = "Model", module = "gromap._core")]
pub(crate) struct FittedModel(pub(crate) Model);

#[pymethods]
impl FittedModel {
    /// Everything it shows.
    fn results<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let model = &self.0;
        let out = results::outcome(py, &model.outcome)?;
        out.set_item("fitted_to", model.fitted_to.name())?;
        out.set_item("prototypes", results::matrix(py, &model.prototypes)?)?;
        out.set_item("embedding", results::matrix(py, &model.embedding())?)?;
        out.set_item("target", model.target.as_ref().map(|target| results::matrix(py, target)).transpose()?)?;
        out.set_item("weights", PyArray1::from_slice(py, &model.weights))?;
        out.set_item("features", model.features.as_ref().map(|f| results::matrix(py, f)).transpose()?)?;
        out.set_item("feature_names", model.feature_names.clone())?;
        out.set_item("view_weights", PyArray1::from_vec(py, model.view_weights()))?;
        out.set_item("plan", results::plan(py, &model.plan)?)?;
        out.set_item("labels", PyArray1::from_vec(py, model.plan.labels()))?;
        out.set_item("kept", PyArray1::from_slice(py, &model.kept))?;
        Ok(out)
    }

    /// What was asked for, as JSON, in the words of the model file.
    fn parameters(&self) -> String {
        serde_json::Value::Object(self.0.parameters.to_json()).to_string()
    }

    /// For every feature of a view of the model, the column of new samples that has its name.
    fn columns_of(&self, view: usize, names: Vec<String>) -> PyResult<Vec<usize>> {
        self.0.columns_of_view(view, &names).map_err(to_python)
    }

    /// The prototype or cluster of every new sample.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        samples: NewSamplesArgument<'py>,
        running: Running,
    ) -> PyResult<Bound<'py, PyAny>> {
        let samples = samples.data()?;
        let labels = running.run(py, |_| self.0.predict(samples))?;
        Ok(PyArray1::from_vec(py, labels).into_any())
    }

    /// The place of every new sample: that of its prototype, or one of its own.
    fn transform<'py>(
        &self,
        py: Python<'py>,
        samples: NewSamplesArgument<'py>,
        places: &str,
        running: Running,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (samples, places) = (samples.data()?, word(places)?);
        results::matrix(py, &running.run(py, |_| self.0.place_by(samples, places))?.places)
    }

    /// A place of its own for every training sample.
    fn sample_places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        results::matrix(py, &self.0.sample_places())
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
