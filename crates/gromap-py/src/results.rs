//! Results as dictionaries of arrays; `python/gromap` gives them their names and types.

use gromap::{Definiteness, FittedBarycenter, Matrix, Plan, Transport};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Compressed rows of a plan: values, columns, offsets, as scipy takes them.
pub(crate) fn plan<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyTuple>> {
    let (mut values, mut columns, mut offsets) = (Vec::new(), Vec::new(), vec![0i64]);
    for i in 0..plan.len() {
        let mut row: Vec<(usize, f64)> = plan.row(i).iter().collect();
        row.sort_unstable_by_key(|&(k, _)| k);
        columns.extend(row.iter().map(|&(k, _)| k as i64));
        values.extend(row.iter().map(|&(_, mass)| mass));
        offsets.push(columns.len() as i64);
    }
    PyTuple::new(
        py,
        [values.into_pyarray(py).into_any(), columns.into_pyarray(py).into_any(), offsets.into_pyarray(py).into_any()],
    )
}

pub(crate) fn matrix<'py>(py: Python<'py>, matrix: &Matrix<'_>) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_slice(py, matrix.values());
    Ok(flat.reshape([matrix.rows(), matrix.columns()])?.into_any())
}

pub(crate) fn transport<'py>(py: Python<'py>, result: &Transport) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("plan", plan(py, &result.plan)?)?;
    out.set_item("weights", PyArray1::from_slice(py, &result.weights))?;
    out.set_item("loss", result.loss)?;
    out.set_item("loss_is_complete", result.loss_is_complete)?;
    out.set_item("loss_curve", PyArray1::from_slice(py, &result.history))?;
    out.set_item("stop_reason", result.stop.to_string())?;
    out.set_item("hardness", result.hardness)?;
    Ok(out)
}

pub(crate) fn barycenter<'py>(py: Python<'py>, result: &FittedBarycenter) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("target", matrix(py, &result.target)?)?;
    out.set_item("features", result.features.as_ref().map(|f| matrix(py, f)).transpose()?)?;
    out.set_item("plans", result.plans.iter().map(|p| plan(py, p)).collect::<PyResult<Vec<_>>>()?)?;
    let weights = result.plans.iter().map(|p| PyArray1::from_vec(py, p.weights()));
    out.set_item("weights", weights.collect::<Vec<_>>())?;
    out.set_item("loss", result.loss)?;
    out.set_item("loss_is_complete", result.loss_is_complete)?;
    out.set_item("loss_curve", PyArray1::from_slice(py, &result.history))?;
    out.set_item("stop_reason", result.stop.to_string())?;
    out.set_item("hardness", result.hardness)?;
    out.set_item("certificate", result.certificate.map(certificate))?;
    Ok(out)
}

pub(crate) fn certificate(kind: Definiteness) -> &'static str {
    match kind {
        Definiteness::Psd => "psd",
        Definiteness::Nsd => "nsd",
        Definiteness::SquaredEuclidean => "squared_euclidean",
        Definiteness::Unknown => "unknown",
    }
}
