//! Models, maps and clusters alike: parameters by attribute and data in, a fitted object out.

use gromap::options::{Candidate, Common, Level, Parameters, Start};
use gromap::{GromovClustering, GromovDr, Model, SampleWeights};
use gromap_report::{About, Classes};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments::{
    DataArgument, NewSamplesArgument, PlanArgument, RuleArgument, SamplesArgument, SettingsArgument,
    ViewWeightsArgument, word,
};
use crate::running::Running;
use crate::{results, table, to_python};

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

/// What is known beside a model, by attribute.
#[derive(FromPyObject)]
struct DescribeArgument<'py> {
    samples: Option<SamplesArgument<'py>>,
    texts: Option<Vec<String>>,
    labels: Option<Vec<String>>,
    ids: Option<Vec<String>>,
    names: Option<Vec<String>>,
}

/// How many prototypes to take, and why; without the table where only the number is wanted.
#[pyfunction]
pub(crate) fn suggest<'py>(
    py: Python<'py>,
    parameters: MapParameters<'py>,
    data: DataArgument<'py>,
    with_table: bool,
    running: Running,
) -> PyResult<Bound<'py, PyDict>> {
    let recipe = |weights: &_| parameters.recipe(weights).map(Parameters::Map);
    let found = data.run(py, &running, recipe, |recipe, data, run| match with_table {
        true => recipe.suggest(data, run),
        false => recipe.count_groups(data, run),
    })?;
    let out = PyDict::new(py);
    out.set_item("n_prototypes", found.prototypes)?;
    out.set_item("sentence", found.sentence())?;
    out.set_item("link", found.link)?;
    out.set_item("reference_link", found.reference_link)?;
    let row = |row: &Candidate| (row.prototypes, row.stability, row.loss, row.silhouette);
    out.set_item("table", found.table.iter().map(row).collect::<Vec<_>>())?;
    Ok(out)
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
        out.set_item("table", model.table.as_ref().map(table::text))?;
        out.set_item("ids", model.ids.clone())?;
        let classes = model.classes.as_ref();
        let class = |(names, of): &(Vec<String>, Vec<u32>)| -> Vec<String> {
            of.iter().map(|&class| names[class as usize].clone()).collect()
        };
        out.set_item("classes", classes.map(class))?;
        out.set_item("prototype_names", model.prototype_names.clone())?;
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

    /// The same model with names of its samples, of their classes, or of its prototypes; what is not given stays.
    fn named(
        &self,
        ids: Option<Vec<String>>,
        classes: Option<Vec<String>>,
        prototype_names: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let mut model = self.0.clone();
        let (samples, prototypes) = (model.plan.len(), model.weights.len());
        let checks = [
            ("ids", samples, ids.as_ref().map(Vec::len)),
            ("labels", samples, classes.as_ref().map(Vec::len)),
            ("names", prototypes, prototype_names.as_ref().map(Vec::len)),
        ];
        for (what, expected, found) in checks {
            if let Some(found) = found.filter(|found| *found != expected) {
                return Err(PyValueError::new_err(format!("{what}: expected {expected}, found {found}")));
            }
        }
        model.ids = ids.or(model.ids);
        let classes = classes.map(|labels| Classes::new(&labels)).map(|found| (found.names, found.of_samples));
        model.classes = classes.or(model.classes);
        model.prototype_names = prototype_names.or(model.prototype_names);
        Ok(Self(model))
    }

    /// Names of the prototypes by the words of a text of each sample.
    fn names_from_texts(&self, py: Python<'_>, texts: Vec<String>) -> Vec<String> {
        py.detach(|| gromap_report::names_from_texts(&self.0, &texts))
    }

    /// What each prototype is: name, weight, members, typical samples, and features with their contrasts.
    #[allow(clippy::type_complexity)] // rows of a table
    fn describe<'py>(&self, py: Python<'py>, about: DescribeArgument<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let classes = about.labels.as_ref().map(|labels| Classes::new(labels));
        let about = About {
            samples: about.samples.as_ref().map(SamplesArgument::samples).transpose()?,
            texts: about.texts.as_deref(),
            classes: classes.as_ref(),
            ids: about.ids.as_deref(),
            names: about.names.as_deref(),
        };
        let groups = py.detach(|| gromap_report::describe(&self.0, &about));
        let groups = groups.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let row = |group: gromap_report::Group| {
            let row = PyDict::new(py);
            row.set_item("name", group.name)?;
            row.set_item("weight", group.weight)?;
            row.set_item("members", group.members)?;
            row.set_item("typical", group.typical)?;
            let contrast = |c: gromap_report::Contrast| (c.feature, c.mean, c.against_rest, c.against_neighbors);
            row.set_item("features", group.features.into_iter().map(contrast).collect::<Vec<_>>())?;
            Ok(row)
        };
        groups.into_iter().map(row).collect()
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

    /// The prototype of every new sample, its distance from there, and whether that is farther than any seen.
    #[allow(clippy::type_complexity)] // three columns
    fn novelty<'py>(
        &self,
        py: Python<'py>,
        samples: NewSamplesArgument<'py>,
        running: Running,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>)> {
        let samples = samples.data()?;
        let found = running.run(py, |_| self.0.novelty(samples))?;
        let flags = PyArray1::from_vec(py, found.is_outlier);
        Ok((PyArray1::from_vec(py, found.labels), PyArray1::from_vec(py, found.distances), flags))
    }

    /// New samples against those fitted to: share placed, outliers, and before, after and error of every weight.
    #[allow(clippy::type_complexity)] // rows of a table
    fn compare<'py>(
        &self,
        py: Python<'py>,
        samples: NewSamplesArgument<'py>,
        running: Running,
    ) -> PyResult<(f64, Vec<usize>, Vec<(f64, f64, f64)>)> {
        let samples = samples.data()?;
        let found = running.run(py, |_| self.0.compare(samples))?;
        let shifts = found.shifts.iter().map(|shift| (shift.before, shift.after, shift.error)).collect();
        Ok((found.placed, found.outliers, shifts))
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

    /// What refits on halves of the samples find again.
    fn stability<'py>(
        &self,
        py: Python<'py>,
        samples: NewSamplesArgument<'py>,
        n_resamples: usize,
        running: Running,
    ) -> PyResult<Bound<'py, PyDict>> {
        let data = samples.data()?;
        let found = running.run(py, |reporter| {
            self.0.stability(&data, n_resamples, gromap::Run { observer: Some(reporter), ..gromap::Run::default() })
        })?;
        let out = PyDict::new(py);
        out.set_item("doubtful", PyArray1::from_vec(py, found.doubtful()))?;
        out.set_item("warning", found.warning())?;
        out.set_item("reference", found.reference)?;
        out.set_item("prototypes", PyArray1::from_vec(py, found.prototypes))?;
        out.set_item("samples", PyArray1::from_vec(py, found.samples))?;
        Ok(out)
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
