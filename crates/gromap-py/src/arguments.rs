//! What Python hands over, as the core wants it. Arrays are borrowed; `python/gromap` has already
//! made them contiguous and of a known type.

use gromap::{
    Dense, Loss, LowRank, Matrix, Plan, SampleWeights, Samples, Scalar, Settings, Similarity, Solver, Sparse, Stopping,
};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::to_python;

/// A similarity in any of its forms and precisions.
#[derive(FromPyObject)]
enum SimilarityArgument<'py> {
    Dense32(PyReadonlyArray2<'py, f32>),
    Dense64(PyReadonlyArray2<'py, f64>),
    Factor32((PyReadonlyArray2<'py, f32>,)),
    Factor64((PyReadonlyArray2<'py, f64>,)),
    Factors32((PyReadonlyArray2<'py, f32>, PyReadonlyArray2<'py, f32>)),
    Factors64((PyReadonlyArray2<'py, f64>, PyReadonlyArray2<'py, f64>)),
    Sparse32(SparseArgument<'py, f32>),
    Sparse64(SparseArgument<'py, f64>),
}

/// Compressed rows: offsets, columns, values.
type SparseArgument<'py, S> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, S>);

#[derive(FromPyObject)]
pub(crate) enum SamplesArgument<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

/// Runs the same code on samples of either precision.
macro_rules! with_samples {
    ($argument:expr, |$samples:ident| $body:expr) => {
        match &$argument {
            SamplesArgument::F32(array) => {
                let $samples = matrix(array)?;
                $body
            }
            SamplesArgument::F64(array) => {
                let $samples = matrix(array)?;
                $body
            }
        }
    };
}
pub(crate) use with_samples;

#[derive(FromPyObject)]
enum PlanArgument<'py> {
    Labels(PyReadonlyArray1<'py, u32>),
    Dense(PyReadonlyArray2<'py, f64>),
}

/// A similarity and what comes with it, by attribute.
#[derive(FromPyObject)]
pub(crate) struct InputArgument<'py> {
    similarity: SimilarityArgument<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    features: Option<SamplesArgument<'py>>,
    plan: Option<PlanArgument<'py>>,
}

pub(crate) fn matrix<'a, S: Scalar + Element>(array: &'a PyReadonlyArray2<'_, S>) -> PyResult<Matrix<'a, S>> {
    Matrix::new(array.as_slice()?, array.shape()[0], array.shape()[1]).map_err(to_python)
}

/// A small matrix of doubles: a target, the features of prototypes.
pub(crate) fn target_matrix<'a>(array: &'a PyReadonlyArray2<'_, f64>) -> PyResult<Matrix<'a>> {
    matrix(array)
}

fn boxed<'a>(similarity: gromap::Result<impl Similarity + 'a>) -> PyResult<Box<dyn Similarity + 'a>> {
    Ok(Box::new(similarity.map_err(to_python)?))
}

fn sparse<'a, S: Scalar + Element>((offsets, columns, values): &'a SparseArgument<'_, S>) -> PyResult<Sparse<'a, S>> {
    let offsets = offsets.as_slice()?.iter().map(|&o| usize::try_from(o)).collect::<Result<Vec<_>, _>>();
    let offsets = offsets.map_err(|_| PyValueError::new_err("indptr of the sparse similarity has a negative entry"))?;
    Sparse::new(offsets, columns.as_slice()?, values.as_slice()?).map_err(to_python)
}

impl InputArgument<'_> {
    pub(crate) fn similarity(&self) -> PyResult<Box<dyn Similarity + '_>> {
        use SimilarityArgument as Form;
        match &self.similarity {
            Form::Dense32(array) => boxed(Dense::new(matrix(array)?)),
            Form::Dense64(array) => boxed(Dense::new(matrix(array)?)),
            Form::Factor32((factor,)) => boxed(LowRank::symmetric(matrix(factor)?)),
            Form::Factor64((factor,)) => boxed(LowRank::symmetric(matrix(factor)?)),
            Form::Factors32((left, right)) => boxed(LowRank::new(matrix(left)?, matrix(right)?)),
            Form::Factors64((left, right)) => boxed(LowRank::new(matrix(left)?, matrix(right)?)),
            Form::Sparse32(parts) => boxed(Ok(sparse(parts)?)),
            Form::Sparse64(parts) => boxed(Ok(sparse(parts)?)),
        }
    }

    pub(crate) fn features(&self) -> PyResult<Option<Samples<'_>>> {
        Ok(match &self.features {
            None => None,
            Some(SamplesArgument::F32(array)) => Some(matrix(array)?.into()),
            Some(SamplesArgument::F64(array)) => Some(matrix(array)?.into()),
        })
    }

    pub(crate) fn weights_and_start(
        &self,
        prototypes: usize,
        samples: usize,
    ) -> PyResult<(SampleWeights, Option<Plan>)> {
        let weights = match &self.weights {
            Some(array) => SampleWeights::new(array.as_slice()?),
            None => SampleWeights::uniform(samples),
        }
        .map_err(to_python)?;
        let start = match &self.plan {
            None => None,
            Some(PlanArgument::Labels(labels)) => {
                Some(Plan::from_labels(labels.as_slice()?.to_vec(), prototypes, weights.clone()).map_err(to_python)?)
            }
            Some(PlanArgument::Dense(array)) => {
                Some(Plan::from_dense(&matrix(array)?, weights.clone()).map_err(to_python)?)
            }
        };
        Ok((weights, start))
    }
}

pub(crate) fn parse_loss(name: &str) -> PyResult<Loss> {
    match name {
        "square" => Ok(Loss::Square),
        "kl" => Ok(Loss::Kl),
        "bce" => Ok(Loss::BinaryCrossEntropy),
        _ => Err(PyValueError::new_err(format!("loss is '{name}'; it must be 'square', 'kl' or 'bce'"))),
    }
}

/// Solver, stopping rule and seed, by attribute.
#[derive(FromPyObject)]
pub(crate) struct SettingsArgument {
    solver: String,
    epsilon: Option<f64>,
    max_iter: usize,
    tol: f64,
    seed: u64,
}

impl SettingsArgument {
    pub(crate) fn parse(&self) -> PyResult<Settings> {
        let solver = match (self.solver.as_str(), self.epsilon) {
            ("mirror", epsilon) => Solver::Mirror { epsilon, entropy: 0.0 },
            ("vertex" | "cg", Some(_)) => {
                return Err(PyValueError::new_err("epsilon is the step of solver='mirror'; other solvers take none"));
            }
            ("vertex", None) => Solver::Vertex,
            ("cg", None) => Solver::ConditionalGradient,
            (name, _) => {
                let message = format!("solver is '{name}'; it must be 'vertex', 'cg' or 'mirror'");
                return Err(PyValueError::new_err(message));
            }
        };
        let stopping = Stopping { max_rounds: self.max_iter, rel_tolerance: self.tol, abs_tolerance: self.tol };
        Ok(Settings { solver, stopping, seed: self.seed })
    }
}
