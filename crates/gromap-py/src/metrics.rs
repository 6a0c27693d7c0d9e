//! Scores of labels and maps: arrays in, one number out.

use gromap::metrics::{self, Agreement};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::{SamplesArgument, matrix};
use crate::running::Running;
use crate::to_python;

/// One score of how well two labellings agree, by its name.
#[pyfunction]
pub(crate) fn agreement<'py>(
    py: Python<'py>,
    truth: PyReadonlyArray1<'py, u32>,
    found: PyReadonlyArray1<'py, u32>,
    score: &str,
) -> PyResult<f64> {
    let score = match score {
        "adjusted_rand" => Agreement::adjusted_rand_index,
        "adjusted_mutual_info" => Agreement::adjusted_mutual_information,
        "normalized_mutual_info" => Agreement::normalized_mutual_information,
        "homogeneity" => Agreement::homogeneity,
        "completeness" => Agreement::completeness,
        "v_measure" => Agreement::v_measure,
        other => return Err(PyValueError::new_err(format!("no score is named '{other}'"))),
    };
    let (truth, found) = (truth.as_slice()?, found.as_slice()?);
    py.detach(|| Ok(score(&Agreement::new(truth, found)?))).map_err(to_python)
}

/// The mean silhouette of points, weighted if there are weights.
#[pyfunction]
pub(crate) fn silhouette<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, u32>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<f64> {
    let (points, labels) = (matrix(&points)?, labels.as_slice()?);
    let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
    Running::default().run(py, |_| match weights {
        Some(weights) => metrics::weighted_silhouette(&points, labels, weights),
        None => metrics::silhouette(&points, labels),
    })
}

/// How well a map keeps neighbours, by the name of the score.
#[pyfunction]
pub(crate) fn neighborhood<'py>(
    py: Python<'py>,
    samples: SamplesArgument<'py>,
    embedding: SamplesArgument<'py>,
    k: usize,
    score: &str,
) -> PyResult<f64> {
    let (samples, embedding) = (samples.samples()?, embedding.samples()?);
    Running::default().run(py, |_| match score {
        "trustworthiness" => metrics::trustworthiness(samples, embedding, k),
        _ => metrics::neighborhood_preservation(samples, embedding, k),
    })
}
