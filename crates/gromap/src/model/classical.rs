//! One prototype for every sample: T = diag(h), and what is left is classical dimension reduction.
//!
//! The Gram families are eigenproblems of D_h^{1/2}·C_X·D_h^{1/2}, solved through products with the operator, never as an
//! N×N matrix. Neighbour embeddings minimise the same objective as prototypes do; its attraction is as sparse as C_X,
//! and its repulsion runs over all pairs. The pair of a sample with itself does not count, as in all implementations of these methods.

use crate::embedding::adam::Adam;
use crate::embedding::objective::Objective;
use crate::embedding::{MapKernel, Radial, closed_form};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::spectrum::leading_of_similarity;
use crate::similarity::{Contents, Similarity};

/// Early exaggeration, as in t-SNE: first with the attraction multiplied, which lets clusters pass through each other, then
/// as it is.
const EXAGGERATED: (f64, Adam) = (12.0, Adam { steps: 250, learning_rate: 1.0 });
const PLAIN: Adam = Adam { steps: 750, learning_rate: 1.0 };
/// Spread of the start, next to the width 1 of the kernels.
const START_SPREAD: f64 = 1e-2;

/// Columns of an N×N matrix that are made at once.
const PIECE: usize = 64;

/// Places of the samples, as the kernel takes them.
pub(crate) struct Places {
    pub(crate) prototypes: Matrix<'static>,
    /// The eigenvalues of C_X behind the coordinates; empty for neighbour embedding.
    pub(crate) eigenvalues: Vec<f64>,
    /// E, but for the part that no places change.
    pub(crate) value: f64,
}

/// Embeds every sample.
pub(crate) fn embed(
    similarity: &dyn Similarity,
    weights: &[f64],
    (kernel, loss): (MapKernel, Loss),
    (dims, scale): (usize, f64),
) -> Result<Places> {
    match kernel {
        MapKernel::Gram => {
            let found = leading_of_similarity(similarity, Some(weights), dims.min(weights.len()))?;
            let vectors = found.vectors.transposed();
            let prototypes = closed_form::scaled(&found.values, &vectors, weights, dims);
            // ‖C − ZZᵀ‖² = ‖C‖² − Σ λ² in the metric of the weights.
            let value = -found.values.iter().map(|value| value.max(0.0).powi(2)).sum::<f64>();
            Ok(Places { prototypes, eigenvalues: found.values, value })
        }
        MapKernel::Orthonormal => {
            let found = leading_of_similarity(similarity, Some(weights), (dims + 1).min(weights.len()))?;
            let prototypes = closed_form::unit_frame(&found.vectors.transposed(), weights, dims);
            let value = found.values.iter().skip(1).map(|value| 1.0 - 2.0 * value).sum();
            Ok(Places { prototypes, eigenvalues: found.values, value })
        }
        MapKernel::Radial(radial) => {
            let (value, prototypes) = neighbor_embedding(similarity, weights, (radial, loss), (dims, scale))?;
            Ok(Places { prototypes, eigenvalues: Vec::new(), value })
        }
    }
}

fn neighbor_embedding(
    similarity: &dyn Similarity,
    weights: &[f64],
    (radial, loss): (Radial, Loss),
    (dims, scale): (usize, f64),
) -> Result<(f64, Matrix<'static>)> {
    let size = weights.len();
    let found = leading_of_similarity(similarity, Some(weights), (dims + 1).min(size))?;
    let start = closed_form::places(&closed_form::unit_frame(&found.vectors.transposed(), weights, dims));
    let length = start.values().iter().map(|v| v * v).sum::<f64>() / start.values().len() as f64;
    let factor = START_SPREAD / length.sqrt().max(f64::MIN_POSITIVE);
    let start = Matrix::from_fn(size, dims, |i, c| factor * start[(i, c)]);
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
    let (exaggeration, first) = EXAGGERATED;
    let (_, start) = first.descend(&objective.with_early_exaggeration(exaggeration), start)?;
    let (value, places) = PLAIN.descend(&objective, start)?;
    // What does not count is not wrong: pairs of a sample with itself are compared with what they are.
    let own = |(i, h): (usize, &f64)| loss.at_best_target(scale * h * h * similarity.diagonal(i), h * h);
    Ok((value + weights.iter().enumerate().map(own).sum::<f64>(), places))
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
