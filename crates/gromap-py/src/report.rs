//! Maps as a page or a picture: models and what is known of their samples in, text out.

use gromap::Path;
use gromap_report::{Blocks, Classes, Column, Images, Report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::{SamplesArgument, matrix};
use crate::model::FittedModel;

/// What is known of the samples, by attribute.
#[derive(FromPyObject)]
pub(crate) struct About<'py> {
    title: Option<String>,
    /// The name of the class of each sample.
    labels: Option<Vec<String>>,
    columns: Vec<(String, ColumnArgument)>,
    ids: Option<Vec<String>>,
    /// A picture in each row; width, height and channels.
    images: Option<(SamplesArgument<'py>, (usize, usize, usize))>,
    samples: Option<SamplesArgument<'py>>,
    feature_names: Option<Vec<String>>,
    parameters: Vec<(String, String)>,
    /// More about how the map was made.
    facts: Vec<(String, String)>,
    /// A name of each prototype, level by level.
    names: Option<Vec<Vec<String>>>,
    /// Numbers of each prototype, level by level.
    numbers: Vec<(String, Vec<Vec<f64>>)>,
}

#[derive(FromPyObject)]
enum ColumnArgument {
    Numbers(Vec<f64>),
    Text(Vec<String>),
}

/// The levels of a path, fewest prototypes first, and what each hands on to the next.
type Levels<'py> = (Vec<PyRef<'py, FittedModel>>, Vec<Vec<(u32, u32, f64)>>);

/// One self-contained page.
#[pyfunction]
pub(crate) fn html<'py>(py: Python<'py>, levels: Levels<'py>, about: About<'py>) -> PyResult<String> {
    draw(py, levels, about, |report| report.html())
}

/// A static picture.
#[pyfunction]
pub(crate) fn svg<'py>(py: Python<'py>, levels: Levels<'py>, about: About<'py>) -> PyResult<String> {
    draw(py, levels, about, |report| report.svg())
}

fn draw<'py>(
    py: Python<'py>,
    (models, lineage): Levels<'py>,
    about: About<'py>,
    draw: fn(&Report<'_>) -> Result<String, gromap_report::Error>,
) -> PyResult<String> {
    let path;
    let mut report = match models.as_slice() {
        [model] => Report::new(&model.0),
        several => {
            path = Path { models: several.iter().map(|model| model.0.clone()).collect(), lineage };
            Report::of_path(&path)
        }
    };
    if let Some(title) = about.title {
        report = report.title(title);
    }
    if let Some(labels) = about.labels {
        report = report.classes(Classes::new(&labels));
    }
    for (name, column) in about.columns {
        report = report.column(
            name,
            match column {
                ColumnArgument::Numbers(numbers) => Column::Numbers(numbers),
                ColumnArgument::Text(text) => Column::Text(text),
            },
        );
    }
    if let Some(ids) = about.ids {
        report = report.ids(ids);
    }
    if let Some((values, size)) = &about.images {
        report = report.images(Images::from_values(&values.samples()?, *size).map_err(refused)?);
    }
    if let Some(samples) = &about.samples {
        report = report.samples(samples.samples()?);
    }
    if let Some(names) = about.feature_names {
        report = report.feature_names(names);
    }
    if let Some(names) = about.names {
        report = report.prototype_names(names);
    }
    for (name, numbers) in about.numbers {
        report = report.prototype_numbers(name, numbers);
    }
    for (name, value) in about.facts {
        report = report.fact(name, value);
    }
    report = report.parameters(about.parameters);
    py.detach(|| draw(&report)).map_err(refused)
}

/// What is known of a co-clustered matrix, by attribute.
#[derive(FromPyObject)]
pub(crate) struct AboutBlocks<'py> {
    labels: Vec<u32>,
    feature_labels: Vec<u32>,
    summary: numpy::PyReadonlyArray2<'py, f64>,
    samples: Option<SamplesArgument<'py>>,
    title: Option<String>,
    ids: Option<Vec<String>>,
    feature_names: Option<Vec<String>>,
}

/// A co-clustered matrix as a page, or as a static picture.
#[pyfunction]
pub(crate) fn blocks<'py>(py: Python<'py>, about: AboutBlocks<'py>, is_picture: bool) -> PyResult<String> {
    let summary = matrix(&about.summary)?;
    let mut blocks = Blocks::new(&about.labels, &about.feature_labels, &summary).map_err(refused)?;
    if let Some(samples) = &about.samples {
        blocks = blocks.samples(samples.samples()?).map_err(refused)?;
    }
    if let Some(title) = about.title {
        blocks = blocks.title(title);
    }
    if let Some(ids) = &about.ids {
        blocks = blocks.ids(ids).map_err(refused)?;
    }
    if let Some(names) = &about.feature_names {
        blocks = blocks.feature_names(names).map_err(refused)?;
    }
    Ok(py.detach(|| if is_picture { blocks.svg() } else { blocks.html() }))
}

fn refused(error: gromap_report::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
