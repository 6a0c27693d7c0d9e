//! Input similarities: samples in, a similarity out, as ndarray, compressed rows or factors.

use gromap::affinity::{
    Affinity, Entropic, FuzzySet, Geodesic, InputAffinity, Kernel, KernelFunction, Landmarks, Linear, NormalizedGraph,
    Operator, SquaredDistance, SymmetricEntropic, Symmetry,
};
use gromap::{Descent, Exact, Matrix, Metric, NeighborSearch, Neighbors, Scalar, Sparse, nearest_neighbors};
use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::{SamplesArgument, matrix};
use crate::running::Running;

/// The parameters of every recipe, by attribute; a recipe reads those it has.
#[derive(FromPyObject)]
pub(crate) struct Recipe {
    kind: String,
    metric: Option<String>,
    perplexity: Option<f64>,
    neighbors: Option<usize>,
    symmetric: Option<bool>,
    kernel: Option<String>,
    gamma: Option<f64>,
    coef0: Option<f64>,
    degree: Option<u32>,
    landmarks: Option<usize>,
    tol: Option<f64>,
    max_iter: Option<usize>,
    seed: u64,
}

fn parse_metric(name: Option<&str>, default: Metric) -> PyResult<Metric> {
    match name {
        None => Ok(default),
        Some("sqeuclidean") => Ok(Metric::SquaredEuclidean),
        Some("euclidean") => Ok(Metric::Euclidean),
        Some("cosine") => Ok(Metric::Cosine),
        Some("manhattan") => Ok(Metric::Manhattan),
        Some(other) => Err(PyValueError::new_err(format!(
            "metric is '{other}'; it must be 'sqeuclidean', 'euclidean', 'cosine' or 'manhattan'"
        ))),
    }
}

/// A function of two samples and its parameters, by attribute.
#[derive(FromPyObject)]
pub(crate) struct KernelArgument {
    kernel: String,
    gamma: Option<f64>,
    coef0: Option<f64>,
    degree: Option<u32>,
}

impl KernelArgument {
    pub(crate) fn parse(&self) -> PyResult<KernelFunction> {
        let (gamma, coef0) = (self.gamma, self.coef0.unwrap_or(1.0));
        Ok(match self.kernel.as_str() {
            "rbf" => KernelFunction::Rbf { gamma },
            "poly" => KernelFunction::Polynomial { gamma, coef0, degree: self.degree.unwrap_or(3) },
            "sigmoid" => KernelFunction::Sigmoid { gamma, coef0 },
            "laplacian" => KernelFunction::Laplacian { gamma },
            "cosine" => KernelFunction::Cosine,
            other => {
                return Err(PyValueError::new_err(format!(
                    "kernel is '{other}'; it must be 'rbf', 'poly', 'sigmoid', 'laplacian' or 'cosine'"
                )));
            }
        })
    }
}

impl Recipe {
    fn metric(&self, default: Metric) -> PyResult<Metric> {
        parse_metric(self.metric.as_deref(), default)
    }

    fn landmarks(&self) -> Option<Landmarks> {
        self.landmarks.map(|count| Landmarks { count, seed: self.seed })
    }

    fn kernel_function(&self) -> PyResult<KernelFunction> {
        let kernel = self.kernel.clone().unwrap_or_else(|| "rbf".into());
        KernelArgument { kernel, gamma: self.gamma, coef0: self.coef0, degree: self.degree }.parse()
    }

    fn symmetric_entropic(&self) -> PyResult<SymmetricEntropic> {
        let default = SymmetricEntropic::default();
        Ok(SymmetricEntropic {
            perplexity: self.perplexity.unwrap_or(default.perplexity),
            neighbors: self.neighbors,
            metric: self.metric(default.metric)?,
            tolerance: self.tol.unwrap_or(default.tolerance),
            max_steps: self.max_iter.unwrap_or(default.max_steps),
        })
    }

    /// The recipe of the core that this one names.
    fn affinity<S: Scalar>(&self) -> PyResult<Box<dyn InputAffinity<S>>> {
        Ok(match self.kind.as_str() {
            "linear" => Box::new(Linear),
            "squared_distance" => Box::new(SquaredDistance),
            "kernel" => Box::new(Kernel { function: self.kernel_function()?, landmarks: self.landmarks() }),
            "geodesic" => {
                let default = Geodesic::default();
                let neighbors = self.neighbors.unwrap_or(default.neighbors);
                Box::new(Geodesic { neighbors, metric: self.metric(default.metric)?, landmarks: self.landmarks() })
            }
            "normalized_graph" => {
                let metric = self.metric(NormalizedGraph::default().metric)?;
                Box::new(NormalizedGraph { neighbors: self.neighbors, metric })
            }
            "fuzzy_set" => {
                let default = FuzzySet::default();
                let neighbors = self.neighbors.unwrap_or(default.neighbors);
                Box::new(FuzzySet { neighbors, metric: self.metric(default.metric)? })
            }
            "entropic" => {
                let default = Entropic::default();
                Box::new(Entropic {
                    perplexity: self.perplexity.unwrap_or(default.perplexity),
                    neighbors: self.neighbors,
                    metric: self.metric(default.metric)?,
                    symmetry: if self.symmetric == Some(false) { Symmetry::Conditional } else { Symmetry::Joint },
                })
            }
            "symmetric_entropic" => Box::new(self.symmetric_entropic()?),
            other => return Err(PyValueError::new_err(format!("no affinity is named '{other}'"))),
        })
    }
}

/// Builds an input similarity: its form, its arrays, and its warnings.
#[pyfunction]
pub(crate) fn affinity<'py>(
    py: Python<'py>,
    samples: SamplesArgument<'py>,
    recipe: Recipe,
) -> PyResult<Bound<'py, PyDict>> {
    match &samples {
        SamplesArgument::F32(array) => build(py, &matrix(array)?, &recipe),
        SamplesArgument::F64(array) => build(py, &matrix(array)?, &recipe),
    }
}

fn build<'py, S: Scalar + Element>(
    py: Python<'py>,
    samples: &Matrix<'_, S>,
    recipe: &Recipe,
) -> PyResult<Bound<'py, PyDict>> {
    let affinity = recipe.affinity::<S>()?;
    let built = Running::default().run(py, |_| affinity.build(samples))?;
    let out = PyDict::new(py);
    out.set_item("similarity", operator(py, &built)?)?;
    out.set_item("warnings", built.warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok(out)
}

fn operator<'py, S: Scalar + Element>(py: Python<'py>, affinity: &Affinity<S>) -> PyResult<Bound<'py, PyAny>> {
    match &affinity.operator {
        Operator::Dense(dense) => array(py, dense.matrix()),
        Operator::Sparse(sparse) => Ok(compressed_rows(py, sparse)?.into_any()),
        Operator::LowRank(low_rank) => {
            let factors = std::iter::once(low_rank.left()).chain(low_rank.right());
            Ok(PyTuple::new(py, factors.map(|f| array(py, f)).collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
    }
}

fn array<'py, S: Scalar + Element>(py: Python<'py>, matrix: &Matrix<'_, S>) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_slice(py, matrix.values());
    Ok(flat.reshape([matrix.rows(), matrix.columns()])?.into_any())
}

/// Values, columns and offsets, as scipy takes them; a list, so that it is not taken for factors.
fn compressed_rows<'py>(py: Python<'py>, sparse: &Sparse<'_, f32>) -> PyResult<Bound<'py, pyo3::types::PyList>> {
    let (offsets, columns, values) = sparse.compressed_rows();
    let offsets: Vec<i64> = offsets.iter().map(|&o| o as i64).collect();
    let columns: Vec<i64> = columns.iter().map(|&c| i64::from(c)).collect();
    let parts = [
        PyArray1::from_slice(py, values).into_any(),
        columns.into_pyarray(py).into_any(),
        offsets.into_pyarray(py).into_any(),
    ];
    pyo3::types::PyList::new(py, parts)
}

/// The symmetric entropic affinity with its temperatures and how well it is solved.
#[pyfunction]
pub(crate) fn symmetric_entropic<'py>(
    py: Python<'py>,
    samples: PyReadonlyArray2<'py, f32>,
    recipe: Recipe,
) -> PyResult<Bound<'py, PyDict>> {
    let samples = matrix(&samples)?;
    let solver = recipe.symmetric_entropic()?;
    let solution = Running::default().run(py, |_| solver.solve_samples(&samples))?;
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
    Ok(out)
}

/// The k nearest other samples of every sample: indices and distances, N×k.
#[pyfunction]
#[pyo3(signature = (samples, k, metric, search, seed))]
pub(crate) fn neighbors<'py>(
    py: Python<'py>,
    samples: PyReadonlyArray2<'py, f32>,
    k: usize,
    metric: &str,
    search: &str,
    seed: u64,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let samples = matrix(&samples)?;
    let metric = parse_metric(Some(metric), Metric::SquaredEuclidean)?;
    let search: Box<dyn NeighborSearch + Send> = match search {
        "exact" => Box::new(Exact),
        "descent" => Box::new(Descent::new(seed)),
        "auto" => Box::new(Suitable(seed)),
        other => {
            let message = format!("search is '{other}'; it must be 'auto', 'exact' or 'descent'");
            return Err(PyValueError::new_err(message));
        }
    };
    let found = Running::default().run(py, |_| search.search(&samples, k, metric))?;
    let shape = [found.len(), found.k()];
    let (indices, distances) = found.into_parts();
    Ok((indices.into_pyarray(py).reshape(shape)?.into_any(), distances.into_pyarray(py).reshape(shape)?.into_any()))
}

/// Exact or not, by the number of samples.
struct Suitable(u64);

impl NeighborSearch for Suitable {
    fn search(&self, samples: &Matrix<'_, f32>, k: usize, metric: Metric) -> gromap::Result<Neighbors> {
        nearest_neighbors(samples, k, metric, self.0)
    }
}
