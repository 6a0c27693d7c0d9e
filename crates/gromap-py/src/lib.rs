//! Python bindings: arrays in, arrays out, nothing clever. What users see is `python/gromap`.

mod affinity;
mod arguments;
mod metrics;
mod model;
mod report;
mod results;
mod running;
mod table;

use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use crate::arguments::{InputArgument, RuleArgument, SettingsArgument, matrix, word};
use crate::running::Running;

/// The one place where an error of the core becomes a Python exception.
fn to_python(error: gromap::Error) -> PyErr {
    use gromap::Error;
    match &error {
        Error::Memory { .. } | Error::NoRoom { .. } => PyMemoryError::new_err(error.to_string()),
        // The one parameter that has another name here.
        Error::Parameter { name: "dims", value, allowed } => {
            PyValueError::new_err(format!("n_components is {value}; it must be {allowed}"))
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// srGW to a given target.
#[pyfunction]
#[pyo3(signature = (input, target, prototype_features, loss, alpha, rule, settings))]
#[allow(clippy::too_many_arguments)] // one for each of the function that users call
fn srgw<'py>(
    py: Python<'py>,
    input: InputArgument<'py>,
    target: numpy::PyReadonlyArray2<'py, f64>,
    prototype_features: Option<numpy::PyReadonlyArray2<'py, f64>>,
    loss: &str,
    alpha: f64,
    rule: RuleArgument<'py>,
    settings: SettingsArgument,
) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
    let target = matrix(&target)?;
    let loss = word(loss)?;
    let similarity = input.similarity()?;
    let features = input.features()?.zip(prototype_features.as_ref().map(matrix).transpose()?);
    let (weights, start) = input.weights_and_start(target.rows(), similarity.len())?;
    let (rule, settings) = (rule.parse()?, settings.parse()?);
    let result = Running::default().run(py, |reporter| {
        let mut problem = gromap::solve::Srgw::new(&*similarity, target)
            .loss(loss)
            .settings(settings)
            .prototype_weights(rule.prototype_weights)
            .min_weight(rule.min_weight)
            .max_weight(rule.max_weight)
            .sample_weights(weights);
        if let Some((samples, prototypes)) = features {
            problem = problem.features(samples, prototypes, alpha);
        }
        if let Some(start) = start {
            problem = problem.start(start);
        }
        problem.solve_observed(reporter)
    })?;
    results::transport(py, &result)
}

/// srGW barycenter of one or several inputs.
#[pyfunction]
#[pyo3(signature = (inputs, shares, prototypes, loss, alpha, rule, settings))]
#[allow(clippy::too_many_arguments)] // one for each of the function that users call
fn srgw_barycenter<'py>(
    py: Python<'py>,
    inputs: Vec<InputArgument<'py>>,
    shares: Vec<f64>,
    prototypes: usize,
    loss: &str,
    alpha: f64,
    rule: RuleArgument<'py>,
    settings: SettingsArgument,
) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
    let loss = word(loss)?;
    let (rule, settings) = (rule.parse()?, settings.parse()?);
    let similarities = inputs.iter().map(InputArgument::similarity).collect::<PyResult<Vec<_>>>()?;
    let mut parts = Vec::new();
    for ((input, similarity), share) in inputs.iter().zip(&similarities).zip(shares) {
        let (weights, start) = input.weights_and_start(prototypes, similarity.len())?;
        let mut part = gromap::solve::Input::new(&**similarity).share(share).sample_weights(weights);
        if let Some(samples) = input.features()? {
            part = part.features(samples);
        }
        if let Some(start) = start {
            part = part.start(start);
        }
        parts.push(part);
    }
    let problem = gromap::solve::Barycenter::new(parts, prototypes)
        .loss(loss)
        .alpha(alpha)
        .settings(settings)
        .prototype_weights(rule.prototype_weights)
        .min_weight(rule.min_weight)
        .max_weight(rule.max_weight);
    let result = Running::default().run(py, |reporter| problem.solve_observed(reporter))?;
    results::barycenter(py, &result)
}

/// Balanced transport by given costs, or by squared distances between samples and points.
#[pyfunction]
#[pyo3(signature = (costs, sample_weights, weights, epsilon, max_iter, tol))]
fn balanced_transport<'py>(
    py: Python<'py>,
    costs: arguments::CostsArgument<'py>,
    sample_weights: numpy::PyReadonlyArray1<'py, f64>,
    weights: numpy::PyReadonlyArray1<'py, f64>,
    epsilon: Option<f64>,
    max_iter: usize,
    tol: f64,
) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
    let sample_weights = gromap::SampleWeights::new(sample_weights.as_slice()?).map_err(to_python)?;
    let mut problem = costs.problem()?.sample_weights(sample_weights).weights(weights.as_slice()?);
    problem = problem.max_rounds(max_iter).tolerance(tol);
    if let Some(epsilon) = epsilon {
        problem = problem.epsilon(epsilon);
    }
    let result = Running::default().run(py, |_| problem.solve())?;
    results::balanced(py, &result)
}

/// Clusters of samples and of features, by attribute.
#[derive(FromPyObject)]
struct CootParameters<'py> {
    n_clusters: usize,
    n_feature_clusters: usize,
    prototype_weights: arguments::WeightsArgument<'py>,
    feature_weights: arguments::WeightsArgument<'py>,
    n_init: usize,
    max_iter: usize,
    tol: f64,
    seed: u64,
}

/// Co-clusters samples and features.
#[pyfunction]
fn coot<'py>(
    py: Python<'py>,
    parameters: CootParameters<'py>,
    samples: arguments::SamplesArgument<'py>,
    weights: numpy::PyReadonlyArray1<'py, f64>,
    running: Running,
) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
    let weights = gromap::SampleWeights::new(weights.as_slice()?).map_err(to_python)?;
    let (max_rounds, rel_tolerance) = (parameters.max_iter, parameters.tol);
    let recipe = gromap::solve::Coot::builder(parameters.n_clusters, parameters.n_feature_clusters)
        .prototype_weights(parameters.prototype_weights.parse()?)
        .feature_weights(parameters.feature_weights.parse()?)
        .n_init(parameters.n_init)
        .stopping(gromap::observe::Stopping { max_rounds, rel_tolerance, abs_tolerance: 0.0 })
        .seed(parameters.seed);
    let samples = samples.samples()?;
    let result = running.run(py, |reporter| recipe.fit_with(&samples, Some(&weights), reporter))?;
    let out = results::outcome(py, &result.outcome)?;
    out.set_item("plan", results::plan(py, &result.plan)?)?;
    out.set_item("feature_plan", results::plan(py, &result.feature_plan)?)?;
    out.set_item("summary", results::matrix(py, &result.summary)?)?;
    Ok(out)
}

/// The `gromap` command; gives its exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| gromap_cli::run(arguments))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(affinity::affinity, module)?)?;
    module.add_function(wrap_pyfunction!(affinity::neighbors, module)?)?;
    module.add_function(wrap_pyfunction!(affinity::symmetric_entropic, module)?)?;
    module.add_function(wrap_pyfunction!(balanced_transport, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(coot, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::agreement, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::neighborhood, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::silhouette, module)?)?;
    module.add_class::<model::FittedModel>()?;
    module.add_function(wrap_pyfunction!(model::cluster, module)?)?;
    module.add_function(wrap_pyfunction!(model::fit, module)?)?;
    module.add_function(wrap_pyfunction!(model::path, module)?)?;
    module.add_function(wrap_pyfunction!(model::suggest, module)?)?;
    module.add_function(wrap_pyfunction!(report::blocks, module)?)?;
    module.add_function(wrap_pyfunction!(report::html, module)?)?;
    module.add_function(wrap_pyfunction!(report::svg, module)?)?;
    module.add_function(wrap_pyfunction!(srgw, module)?)?;
    module.add_function(wrap_pyfunction!(srgw_barycenter, module)?)?;
    module.add_function(wrap_pyfunction!(table::apply_table, module)?)?;
    module.add_function(wrap_pyfunction!(table::learn_table, module)?)?;
    module.add_function(wrap_pyfunction!(table::table_features, module)?)?;
    module.add_function(wrap_pyfunction!(table::table_scaling, module)?)
}
