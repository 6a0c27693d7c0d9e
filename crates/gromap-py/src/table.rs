//! Tables as numbers: columns and rules in, an encoding as JSON and its features out.

use gromap::preprocessing::Scaler;
use gromap::table::{Cells, Column, Encoding, Gaps, Rules, Shell};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::{matrix, word};
use crate::{results, to_python};

/// The cells of a column: numbers, or days where `is_date`; or text.
#[derive(FromPyObject)]
pub(crate) enum CellsArgument<'py> {
    Numbers((PyReadonlyArray1<'py, f64>, bool)),
    Text(Vec<String>),
}

type ColumnsArgument<'py> = Vec<(String, CellsArgument<'py>)>;

fn columns(given: ColumnsArgument<'_>) -> PyResult<Vec<Column>> {
    let column = |(name, cells): (String, CellsArgument<'_>)| {
        let cells = match cells {
            CellsArgument::Numbers((values, false)) => Cells::Numbers(values.as_slice()?.to_vec()),
            CellsArgument::Numbers((values, true)) => Cells::Days(values.as_slice()?.to_vec()),
            CellsArgument::Text(words) => Cells::Text(words),
        };
        Ok(Column { name, cells })
    };
    given.into_iter().map(column).collect()
}

/// What is asked of a table, by attribute.
#[derive(FromPyObject)]
pub(crate) struct RulesArgument {
    columns: Option<Vec<String>>,
    exclude: Vec<String>,
    id: Option<String>,
    missing: String,
    categorical: String,
}

/// An encoding from its JSON.
pub(crate) fn encoding(text: &str) -> PyResult<Encoding> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("the encoding is damaged: {error}")))
}

/// An encoding as JSON.
pub(crate) fn text(encoding: &Encoding) -> String {
    serde_json::to_string(encoding).unwrap_or_default()
}

/// What the columns of a table are, and what there is to say of it.
#[pyfunction]
pub(crate) fn learn_table(
    py: Python<'_>,
    given: ColumnsArgument<'_>,
    rules: RulesArgument,
) -> PyResult<(String, Vec<String>)> {
    let RulesArgument { columns: names, exclude, id, missing, categorical } = rules;
    let (missing, categorical, shell) = (word(&missing)?, word(&categorical)?, Shell::Python);
    let rules = Rules { columns: names, exclude, id, missing, categorical, shell };
    let columns = columns(given)?;
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let learnt = py.detach(|| rules.check(&names).and_then(|()| rules.learn(&columns))).map_err(to_python)?;
    Ok((text(&learnt.encoding), learnt.notes))
}

/// The features of a table, the rows that were kept if not all were, their ids, and what there is to say.
#[pyfunction]
#[allow(clippy::type_complexity)] // an array and three lists
pub(crate) fn apply_table<'py>(
    py: Python<'py>,
    known: &str,
    given: ColumnsArgument<'py>,
    may_drop: bool,
) -> PyResult<(Bound<'py, PyAny>, Option<Vec<usize>>, Option<Vec<String>>, Vec<String>)> {
    let (encoding, columns) = (encoding(known)?, columns(given)?);
    let gaps = if may_drop { Gaps::MayDrop } else { Gaps::Refuse };
    let found = py.detach(|| encoding.apply(&columns, gaps, Shell::Python)).map_err(to_python)?;
    Ok((results::matrix(py, &found.values)?, found.rows, found.ids, found.notes))
}

/// Names of the features, and whether words or dates are among them.
#[pyfunction]
pub(crate) fn table_features(known: &str) -> PyResult<(Vec<String>, bool)> {
    let encoding = encoding(known)?;
    Ok((encoding.feature_names(), encoding.is_mixed()))
}

/// What is subtracted from the features and what they are multiplied by, so that every column counts alike.
#[pyfunction]
#[allow(clippy::type_complexity)] // two arrays
pub(crate) fn table_scaling<'py>(
    py: Python<'py>,
    known: &str,
    samples: PyReadonlyArray2<'py, f64>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
    let scaler = Scaler::standard_together(&matrix(&samples)?, &encoding(known)?.ranges()).map_err(to_python)?;
    Ok((PyArray1::from_slice(py, scaler.shift()), PyArray1::from_slice(py, scaler.factor())))
}
