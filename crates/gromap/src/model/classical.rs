//! One prototype for every sample: T = diag(h), and what is left is classical dimension reduction.
//!
//! The Gram families are eigenproblems of D_h^{1/2}·C_X·D_h^{1/2}, solved through products with the operator, never as an
//! N×N matrix. Neighbour embeddings minimise the same objective as prototypes do; its attraction is as sparse as C_X,
//! and its repulsion runs over all pairs, approximately if there are many. The pair of a sample with itself does not count, as in all
//! implementations of these methods. UMAP's objective alone is another one than with fewer prototypes: the one that its sampling minimises.

use super::levels::{self, Level};
use crate::embedding::adam::Adam;
use crate::embedding::descent::{Descent, Pace};
use crate::embedding::objective::Objective;
use crate::embedding::{MapKernel, Normalization, Radial, closed_form};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::spectrum::{leading_of_similarity, roughly_leading_of_similarity};
use crate::observe::{Observer, Round, StopReason, Stopping, drive};
use crate::similarity::{Contents, Similarity, Sparse};

/// The pace of many samples, about half of what they would fly apart at, and of few, from where Adam brought them.
const MANY: usize = 1000;
pub(super) const OF_MANY: Pace = Pace { momentum: 0.9, rate: 0.5 };
const OF_FEW: Pace = Pace { momentum: 0.8, rate: 0.5 };
/// Steps of a round, after which the loss is looked at. Fewer say little: at this pace some of them lower the loss hardly at all.
const ROUND: usize = 100;
/// Rounds end when one lowers the loss by no more than this many times the tolerance of the fit, which is meant for rounds that find a
/// plan too: 1.5% unless asked otherwise.
const TOLERANCES_OF_A_ROUND: f64 = 1500.0;
/// Times that the rate is halved in a round that would end higher than it began.
const MOST_HALVINGS: usize = 6;

/// Adam, for few samples, which it leaves at rest, and for losses and kernels with forces on all scales.
const ADAM: [(f64, Adam); 2] =
    [(12.0, Adam { steps: 250, learning_rate: 1.0 }), (1.0, Adam { steps: 750, learning_rate: 1.0 })];
/// What tells whether it came to an end.
const MORE: Adam = Adam { steps: ROUND, learning_rate: 0.1 };

/// Pairs that umap-learn draws at random, and repels, for every pair of neighbours: its negative_sample_rate.
const NEGATIVES: f64 = 5.0;

/// Spread of the start, next to the width 1 of the kernels.
const START_SPREAD: f64 = 1e-2;

/// Columns of an N×N matrix that are made at once.
const PIECE: usize = 64;

/// Places of the samples, as the kernel takes them.
pub(crate) struct Places {
    pub(crate) prototypes: Matrix<'static>,
    /// The eigenvalues of C_X behind the coordinates; empty for neighbour embedding.
    pub(crate) eigenvalues: Vec<f64>,
    /// The loss at the start and after every round, never increasing.
    pub(crate) history: Vec<f64>,
    pub(crate) stop: StopReason,
}

impl Places {
    /// Those of a closed form.
    fn found(prototypes: Matrix<'static>, eigenvalues: Vec<f64>, loss: f64) -> Self {
        Self { prototypes, eigenvalues, history: vec![loss], stop: StopReason::Converged }
    }
}

/// What is minimised besides the places, and when that ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    pub(crate) dims: usize,
    /// What the similarity is multiplied with.
    pub(crate) scale: f64,
    /// The part of the loss that no places change, as far as it is known.
    pub(crate) constant: f64,
    pub(crate) stopping: Stopping,
}

/// Embeds every sample.
pub(crate) fn embed(
    similarity: &dyn Similarity,
    weights: &[f64],
    (kernel, loss): (MapKernel, Loss),
    task: Task,
    observer: &mut dyn Observer,
) -> Result<Places> {
    let Task { dims, constant, .. } = task;
    match kernel {
        MapKernel::Gram => {
            let found = leading_of_similarity(similarity, Some(weights), dims.min(weights.len()))?;
            let vectors = found.vectors.transposed();
            let prototypes = closed_form::scaled(&found.values, &vectors, weights, dims);
            // ‖C − ZZᵀ‖² = ‖C‖² − Σ λ² in the metric of the weights.
            let value = -found.values.iter().map(|value| value.max(0.0).powi(2)).sum::<f64>();
            Ok(Places::found(prototypes, found.values, constant + value))
        }
        MapKernel::Orthonormal => {
            let found = leading_of_similarity(similarity, Some(weights), (dims + 1).min(weights.len()))?;
            let prototypes = closed_form::unit_frame(&found.vectors.transposed(), weights, dims);
            let value: f64 = found.values.iter().skip(1).map(|value| 1.0 - 2.0 * value).sum();
            Ok(Places::found(prototypes, found.values, constant + value))
        }
        MapKernel::Radial(radial) => neighbor_embedding(similarity, weights, (radial, loss), task, observer),
    }
}

fn neighbor_embedding(
    similarity: &dyn Similarity,
    weights: &[f64],
    (radial, loss): (Radial, Loss),
    task: Task,
    observer: &mut dyn Observer,
) -> Result<Places> {
    let scale = task.scale;
    if loss == Loss::BinaryCrossEntropy && Objective::is_of_pair_sums(radial, loss) {
        return as_umap(similarity, weights, radial, task, observer);
    }
    // What does not count is not wrong: pairs of a sample with itself are compared with what they are.
    let own = |(i, h): (usize, &f64)| loss.at_best_target(scale * h * h * similarity.diagonal(i), h * h);
    let constant = task.constant + weights.iter().enumerate().map(own).sum::<f64>();
    let dense;
    let objective = match similarity.contents() {
        Contents::Sparse(sparse) if Objective::is_of_pair_sums(radial, loss) && sparse.is_symmetric() => {
            Objective::of_samples(radial, loss, sparse, weights, scale)
        }
        _ => {
            dense = dense_mass(similarity, weights, scale);
            Objective::new(radial, loss, &dense, weights).without_self_pairs()
        }
    };
    let task = Task { constant, ..task };
    let is_one_law = matches!(radial.normalization, Normalization::Measure | Normalization::DoublyStochastic);
    if let (true, Contents::Sparse(sparse)) = (is_one_law && loss == Loss::Kl, similarity.contents())
        && weights.len() >= MANY
        && sparse.is_symmetric()
        && !radial.magnifies_tails()
    {
        let level = Level { similarity: sparse, scale, weights, is_weighted: false };
        let mut descent = levels::begin(radial, level, &objective, task.dims)?;
        if descent.value(&objective)?.is_finite() {
            return in_rounds(&objective, descent, OF_MANY, task, observer);
        }
    }
    let mut prototypes = spectral_start(similarity, weights, weights, task.dims)?;
    for (exaggeration, adam) in ADAM {
        prototypes = adam.descend(&objective.with_early_exaggeration(exaggeration), prototypes)?.1;
    }
    if is_one_law && loss == Loss::Kl {
        return in_rounds(&objective, Descent::new(&objective, prototypes), OF_FEW, task, observer);
    }
    let before = constant + Descent::new(&objective, prototypes.clone()).value(&objective)?;
    let (value, prototypes) = MORE.descend(&objective, prototypes)?;
    let history = vec![before, before.min(constant + value)];
    let is_at_rest = before - history[1] <= TOLERANCES_OF_A_ROUND * task.stopping.rel_tolerance * history[1].abs();
    let stop = if is_at_rest { StopReason::Converged } else { StopReason::MaxRounds };
    Ok(Places { prototypes, eigenvalues: Vec::new(), history, stop })
}

/// UMAP's loss as it is sampled (`objective.rs`): what umap-learn minimises, though by all pairs instead of some that are drawn.
fn as_umap(
    similarity: &dyn Similarity,
    weights: &[f64],
    radial: Radial,
    task: Task,
    observer: &mut dyn Observer,
) -> Result<Places> {
    let all;
    let (sparse, scale, is_weighted) = match similarity.contents() {
        Contents::Sparse(sparse) if sparse.is_symmetric() => (sparse, task.scale, false),
        _ => {
            all = all_pairs(&dense_mass(similarity, weights, task.scale))?;
            (&all, 1.0, true)
        }
    };
    let objective = match is_weighted {
        true => Objective::of_sparse(radial, Loss::BinaryCrossEntropy, sparse, weights, false),
        false => Objective::of_samples(radial, Loss::BinaryCrossEntropy, sparse, weights, scale),
    };
    let objective = objective.with_negatives(NEGATIVES);
    let level = Level { similarity: sparse, scale, weights, is_weighted };
    let descent = levels::begin(radial, level, &objective, task.dims)?;
    in_rounds(&objective, descent, OF_MANY, Task { constant: 0.0, ..task }, observer)
}

/// A matrix, half of it and half of its transpose, by its entries.
fn all_pairs(mass: &Matrix<'_>) -> Result<Sparse<'static, f32>> {
    let size = mass.rows();
    let columns: Vec<u32> = (0..size).flat_map(|_| 0..size as u32).collect();
    let halves = (0..size * size).map(|at| (at / size, at % size));
    let values: Vec<f32> = halves.map(|(i, j)| (0.5 * (mass[(i, j)] + mass[(j, i)])) as f32).collect();
    let offsets: Vec<usize> = (0..=size).map(|i| i * size).collect();
    Sparse::new(offsets, columns, values)
}

/// The leading eigenvectors of D^{1/2}·C·D^{1/2}, D = diag(`metric`), as places of prototypes of these weights, small: what is
/// near stays near from the first step on. The metric is that of the weights, or their inverse where C is M, weights included.
pub(super) fn spectral_start(
    similarity: &dyn Similarity,
    metric: &[f64],
    weights: &[f64],
    dims: usize,
) -> Result<Matrix<'static>> {
    let found = roughly_leading_of_similarity(similarity, metric, (dims + 1).min(weights.len()))?;
    let start = closed_form::places(&closed_form::unit_frame(&found.vectors.transposed(), weights, dims));
    let square = start.values().iter().map(|v| v * v).sum::<f64>() / start.values().len() as f64;
    let factor = START_SPREAD / square.sqrt().max(f64::MIN_POSITIVE);
    Ok(Matrix::from_fn(weights.len(), dims, |i, c| factor * start[(i, c)]))
}

/// Rounds of steps until one is worth no more than the tolerance. A round that would end higher starts again from where it began, at rest
/// and at half the rate.
fn in_rounds(
    objective: &Objective<'_>,
    mut descent: Descent,
    mut pace: Pace,
    task: Task,
    observer: &mut dyn Observer,
) -> Result<Places> {
    let mut best = (descent.value(objective)?, descent.prototypes().clone());
    let mut failed = None;
    let first = task.constant + best.0;
    let mut round = || -> Result<Round> {
        for _ in 0..MOST_HALVINGS {
            descent.run(objective, pace, ROUND)?;
            let value = descent.value(objective)?;
            if value < best.0 {
                best = (value, descent.prototypes().clone());
                return Ok(Round { loss: task.constant + value, moved: true });
            }
            pace.rate *= 0.5;
            descent.restart(objective, best.1.clone());
        }
        Ok(Round { loss: task.constant + best.0, moved: false })
    };
    let rel_tolerance = TOLERANCES_OF_A_ROUND * task.stopping.rel_tolerance;
    let stopping = Stopping { rel_tolerance, ..task.stopping };
    let (history, stop) = drive(&stopping, observer, first, || {
        round().unwrap_or_else(|error| {
            failed = Some(error);
            Round { loss: f64::NAN, moved: false }
        })
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(Places { prototypes: best.1, eigenvalues: Vec::new(), history, stop }),
    }
}

/// h_i·c·C_ij·h_j, N×N: only for kernels that need all pairs at once.
fn dense_mass(similarity: &dyn Similarity, weights: &[f64], scale: f64) -> Matrix<'static> {
    let size = weights.len();
    let mut mass = Matrix::zeros(size, size);
    for first in (0..size).step_by(PIECE) {
        let width = PIECE.min(size - first);
        let diagonal = |i: usize, j: usize| if i == first + j { scale * weights[i] } else { 0.0 };
        let piece = similarity.times(&Matrix::from_fn(size, width, diagonal), crate::similarity::Side::Direct);
        for (i, &weight) in weights.iter().enumerate() {
            let out = &mut mass.row_mut(i)[first..first + width];
            out.iter_mut().zip(piece.row(i)).for_each(|(mass, value)| *mass = value * weight);
        }
    }
    mass
}

#[cfg(test)]
#[path = "classical_tests.rs"]
mod tests;
