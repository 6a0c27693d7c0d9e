//! Input similarities: samples in, a similarity out, as ndarray, compressed rows or factors.

use gromap::affinity::{
    Entropic, FuzzySet, Geodesic, InputAffinity, Kernel, Landmarks, Linear, NormalizedGraph, SquaredDistance,
    SymmetricEntropic, Symmetry, build,
};
use gromap::neighbors::{Descent, Exact, Metric, NeighborSearch, nearest_neighbors};
use gromap::similarity::{Contents, Similarity, Sparse};
use gromap::{Data, Error};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::arguments::{SamplesArgument, word};
use crate::running::Running;
use crate::{results, to_python};

/// A recipe of `python/gromap/affinity.py`, whose attributes are its parameters.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub(crate) struct Recipe<'py>(Bound<'py, PyAny>);

impl<'py> Recipe<'py> {
    fn get<T: FromPyObjectOwned<'py>>(&self, name: &str) -> PyResult<T> {
        self.0.getattr(name)?.extract().map_err(Into::into)
    }

    fn metric(&self) -> PyResult<Metric> {
        word(&self.get::<String>("metric")?)
    }

    fn landmarks(&self, seed: u64) -> PyResult<Option<Landmarks>> {
        Ok(self.get::<Option<usize>>("landmarks")?.map(|count| Landmarks { count, seed }))
    }

    fn symmetric_entropic(&self) -> PyResult<SymmetricEntropic> {
        Ok(SymmetricEntropic {
            perplexity: self.get("perplexity")?,
            neighbors: self.get("neighbors")?,
            metric: self.metric()?,
            tolerance: self.get("tol")?,
            max_steps: self.get("max_iter")?,
        })
    }

    /// The recipe of the core that this one names.
    fn parse(&self, seed: u64) -> PyResult<Box<dyn InputAffinity>> {
        Ok(match self.get::<String>("_kind")?.as_str() {
            "linear" => Box::new(Linear),
            "squared_distance" => Box::new(SquaredDistance),
            "kernel" => Box::new(Kernel {
                function: word(&self.get::<String>("kernel")?)?,
                gamma: self.get("gamma")?,
                coef0: self.get("coef0")?,
                degree: self.get("degree")?,
                landmarks: self.landmarks(seed)?,
            }),
            "geodesic" => Box::new(Geodesic {
                neighbors: self.get("neighbors")?,
                metric: self.metric()?,
                landmarks: self.landmarks(seed)?,
            }),
            "normalized_graph" => {
                Box::new(NormalizedGraph { neighbors: self.get("neighbors")?, metric: self.metric()? })
            }
            "fuzzy_set" => Box::new(FuzzySet {
                neighbors: self.get("neighbors")?,
                perplexity: self.get("perplexity")?,
                metric: self.metric()?,
            }),
            "entropic" => Box::new(Entropic {
                perplexity: self.get("perplexity")?,
                neighbors: self.get("neighbors")?,
                metric: self.metric()?,
                symmetry: if self.get("symmetric")? { Symmetry::Joint } else { Symmetry::Conditional },
            }),
            "symmetric_entropic" => Box::new(self.symmetric_entropic()?),
            other => return Err(PyValueError::new_err(format!("no affinity is named '{other}'"))),
        })
    }
}

/// Builds an input similarity: its arrays, and its warnings.
#[pyfunction]
pub(crate) fn affinity<'py>(
    py: Python<'py>,
    samples: SamplesArgument<'py>,
    recipe: Recipe<'py>,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let (data, recipe) = (Data::Samples(samples.samples()?), recipe.parse(seed)?);
    let built = Running::default().run(py, |reporter| build(&*recipe, &data, reporter))?;
    let out = PyDict::new(py);
    out.set_item("similarity", contents(py, &*built.similarity)?)?;
    out.set_item("warnings", built.warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok(out)
}

fn contents<'py>(py: Python<'py>, similarity: &dyn Similarity) -> PyResult<Bound<'py, PyAny>> {
    match similarity.contents() {
        Contents::Dense(entries) => results::samples(py, &entries),
        Contents::Sparse(sparse) => Ok(compressed_rows(py, sparse)?.into_any()),
        Contents::LowRank(left, right) => {
            let factors = std::iter::once(&left).chain(&right).map(|factor| results::samples(py, factor));
            Ok(PyTuple::new(py, factors.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        Contents::Other => Err(to_python(Error::Unsupported("this similarity has no arrays to show".into()))),
    }
}

/// Values, columns and offsets, as scipy takes them; a list, so that it is not taken for factors.
fn compressed_rows<'py>(py: Python<'py>, sparse: &Sparse<'_, f32>) -> PyResult<Bound<'py, PyList>> {
    let (offsets, columns, values) = sparse.compressed_rows();
    let offsets: Vec<i64> = offsets.iter().map(|&o| o as i64).collect();
    let columns: Vec<i64> = columns.iter().map(|&c| i64::from(c)).collect();
    let parts = [
        PyArray1::from_slice(py, values).into_any(),
        columns.into_pyarray(py).into_any(),
        offsets.into_pyarray(py).into_any(),
    ];
    PyList::new(py, parts)
}

/// The symmetric entropic affinity with its temperatures and how well it is solved.
#[pyfunction]
pub(crate) fn symmetric_entropic<'py>(
    py: Python<'py>,
    samples: SamplesArgument<'py>,
    recipe: Recipe<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let (samples, solver) = (samples.samples()?, recipe.symmetric_entropic()?);
    let solution = Running::default().run(py, |_| solver.solve_samples(samples))?;
    let out = PyDict::new(py);
    out.set_item("similarity", compressed_rows(py, &solution.affinity)?)?;
    out.set_item("temperatures", PyArray1::from_slice(py, &solution.temperatures))?;
    out.set_item("multipliers", PyArray1::from_slice(py, &solution.multipliers))?;
    out.set_item("row_sum_error", solution.row_sum_error)?;
    out.set_item("entropy_error", solution.entropy_error)?;
    out.set_item("gap", solution.gap)?;
    out.set_item("inactive", solution.inactive)?;
    out.set_item("steps", solution.steps)?;
    out.set_item("passes", solution.passes)?;
    out.set_item("converged", solution.converged)?;
    out.set_item("is_infeasible", solution.is_infeasible)?;
    out.set_item("unsolved", PyArray1::from_slice(py, &solution.unsolved))?;
    Ok(out)
}

/// The k nearest other samples of every sample: indices and distances, N×k.
#[pyfunction]
#[pyo3(signature = (samples, k, metric, search, seed))]
pub(crate) fn neighbors<'py>(
    py: Python<'py>,
    samples: SamplesArgument<'py>,
    k: usize,
    metric: &str,
    search: &str,
    seed: u64,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let samples = samples.samples()?;
    let metric = word(metric)?;
    let found = Running::default().run(py, |_| match search {
        "exact" => Exact.search(&samples.single(), k, metric),
        "descent" => Descent::new(seed).search(&samples.single(), k, metric),
        "auto" => nearest_neighbors(&samples.single(), k, metric, seed),
        other => Err(Error::Name { what: "search", name: other.into(), allowed: "auto, exact, descent".into() }),
    })?;
    let shape = [found.len(), found.k()];
    let (indices, distances) = found.into_parts();
    Ok((indices.into_pyarray(py).reshape(shape)?.into_any(), distances.into_pyarray(py).reshape(shape)?.into_any()))
}
