//! Results as dictionaries of arrays; `python/gromap` gives them their names and types.

use gromap::data::Samples;
use gromap::solve::{BalancedPlan, FittedBarycenter, Transport};
use gromap::types::Scalar;
use gromap::{Matrix, Outcome, Plan};
use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods};
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

pub(crate) fn matrix<'py, S: Scalar + Element>(py: Python<'py>, matrix: &Matrix<'_, S>) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_slice(py, matrix.values());
    Ok(flat.reshape([matrix.rows(), matrix.columns()])?.into_any())
}

pub(crate) fn samples<'py>(py: Python<'py>, samples: &Samples<'_>) -> PyResult<Bound<'py, PyAny>> {
    match samples {
        Samples::F32(samples) => matrix(py, samples),
        Samples::F64(samples) => matrix(py, samples),
    }
}

/// How a result was reached.
pub(crate) fn outcome<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("loss", outcome.loss)?;
    out.set_item("loss_is_complete", outcome.loss_is_complete)?;
    out.set_item("loss_curve", PyArray1::from_slice(py, &outcome.history))?;
    out.set_item("stop_reason", outcome.stop.name())?;
    out.set_item("hardness", outcome.hardness)?;
    out.set_item("certificate", outcome.certificate.map(|kind| kind.name()))?;
    out.set_item("warnings", outcome.warnings.clone())?;
    Ok(out)
}

pub(crate) fn transport<'py>(py: Python<'py>, result: &Transport) -> PyResult<Bound<'py, PyDict>> {
    let out = outcome(py, &result.outcome)?;
    out.set_item("plan", plan(py, &result.plan)?)?;
    out.set_item("weights", PyArray1::from_slice(py, &result.weights))?;
    Ok(out)
}

pub(crate) fn balanced<'py>(py: Python<'py>, result: &BalancedPlan) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("plan", plan(py, &result.plan)?)?;
    out.set_item("cost", result.cost)?;
    out.set_item("stop_reason", result.stop.name())?;
    out.set_item("hardness", result.plan.hardness())?;
    Ok(out)
}

pub(crate) fn barycenter<'py>(py: Python<'py>, result: &FittedBarycenter) -> PyResult<Bound<'py, PyDict>> {
    let out = outcome(py, &result.outcome)?;
    out.set_item("target", matrix(py, &result.target)?)?;
    out.set_item("features", result.features.as_ref().map(|f| matrix(py, f)).transpose()?)?;
    out.set_item("plans", result.plans.iter().map(|p| plan(py, p)).collect::<PyResult<Vec<_>>>()?)?;
    let weights = result.plans.iter().map(|p| PyArray1::from_vec(py, p.weights()));
    out.set_item("weights", weights.collect::<Vec<_>>())?;
    Ok(out)
}
