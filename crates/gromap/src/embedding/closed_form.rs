//! The best prototypes of the Gram families, in closed form.
//!
//! With D_q = diag(q), the eigenpairs (λ, v) of A = D_q^{−1/2}·M·D_q^{−1/2} give both:
//!
//! - Z·Zᵀ closest to the barycenter in the square loss: Z = D_q^{−1/2}·V·Λ^{1/2} of the largest λ ≥ 0;
//! - the frame ZᵀD_qZ = I closest to it: Z = D_q^{−1/2}·V. For a normalised graph the first eigenvector is the square root of the
//!   degrees, which says nothing of places but belongs to the kernel: a frame for d dimensions has d + 1 columns, and its
//!   places on the map are the others over the first.
//!
//! The same formulas serve n = N, with the eigenpairs of the operator.

use crate::error::Result;
use crate::numeric::Matrix;
use crate::numeric::eigen::symmetric_eigen;
use crate::transport::PlanSummary;

/// Eigenpairs of A for a summary: values, descending, and vectors as rows.
fn eigenpairs(summary: &PlanSummary) -> Result<(Vec<f64>, Matrix<'static>)> {
    let roots = inverse_roots(&summary.weights);
    let (mass, n) = (&summary.mass, roots.len());
    let entry = |k: usize, l: usize| 0.5 * (mass[(k, l)] + mass[(l, k)]) * roots[k] * roots[l];
    symmetric_eigen(&Matrix::from_fn(n, n, entry))
}

/// 1/√q; zero for a prototype that is not used.
pub(crate) fn inverse_roots(weights: &[f64]) -> Vec<f64> {
    weights.iter().map(|&q| if q > 0.0 { 1.0 / q.sqrt() } else { 0.0 }).collect()
}

/// Prototypes whose inner products are closest to the barycenter of a summary.
pub(crate) fn gram(summary: &PlanSummary, dims: usize) -> Result<Matrix<'static>> {
    let (values, vectors) = eigenpairs(summary)?;
    Ok(scaled(&values, &vectors, &summary.weights, dims))
}

/// D_q^{−1/2}·V·Λ^{1/2} from eigenvectors as rows; coordinates beyond the eigenvectors are zero.
pub(crate) fn scaled(values: &[f64], vectors: &Matrix<'_>, weights: &[f64], dims: usize) -> Matrix<'static> {
    let roots = inverse_roots(weights);
    Matrix::from_fn(weights.len(), dims, |k, c| match values.get(c) {
        Some(value) if *value > 0.0 => vectors[(c, k)] * roots[k] * value.sqrt(),
        _ => 0.0,
    })
}

/// The frame of a summary for so many dimensions.
pub(crate) fn frame(summary: &PlanSummary, dims: usize) -> Result<Matrix<'static>> {
    let (_, vectors) = eigenpairs(summary)?;
    Ok(unit_frame(&vectors, &summary.weights, dims))
}

/// D_q^{−1/2}·V from eigenvectors as rows; columns beyond the eigenvectors are zero.
pub(crate) fn unit_frame(vectors: &Matrix<'_>, weights: &[f64], dims: usize) -> Matrix<'static> {
    let roots = inverse_roots(weights);
    let entry = |k: usize, row: usize| if row < vectors.rows() { vectors[(row, k)] * roots[k] } else { 0.0 };
    Matrix::from_fn(weights.len(), dims + 1, entry)
}

/// The columns of a frame after the first.
pub(crate) fn coordinates(frame: &Matrix<'_>) -> Matrix<'static> {
    Matrix::from_fn(frame.rows(), frame.columns() - 1, |k, c| frame[(k, c + 1)])
}

/// The places of a frame on the map: every coordinate over the first column, which undoes the degrees of a normalised graph
/// (the generalised eigenvectors of Laplacian eigenmaps).
pub(crate) fn places(frame: &Matrix<'_>) -> Matrix<'static> {
    let largest = (0..frame.rows()).fold(0.0f64, |m, k| m.max(frame[(k, 0)].abs()));
    let divisor = |k: usize| if frame[(k, 0)].abs() > 1e-8 * largest { frame[(k, 0)] } else { 1.0 };
    Matrix::from_fn(frame.rows(), frame.columns() - 1, |k, c| frame[(k, c + 1)] / divisor(k))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> PlanSummary {
        let weights = vec![0.1, 0.2, 0.3, 0.25, 0.15, 0.0];
        let factor = Matrix::from_fn(6, 3, |k, c| ((k * k + 2 * c * k + c) % 7) as f64 - 3.0);
        let gram = |k: usize, l: usize| factor.row(k).iter().zip(factor.row(l)).map(|(a, b)| a * b).sum::<f64>();
        let mass = Matrix::from_fn(6, 6, |k, l| weights[k] * gram(k, l) * weights[l]);
        PlanSummary { mass, weights }
    }

    /// Σ q·q·(ZZᵀ)² − 2·⟨M, ZZᵀ⟩
    fn loss(summary: &PlanSummary, z: &Matrix<'_>) -> f64 {
        let q = &summary.weights;
        let mut total = 0.0;
        for k in 0..q.len() {
            for l in 0..q.len() {
                let c: f64 = z.row(k).iter().zip(z.row(l)).map(|(a, b)| a * b).sum();
                total += q[k] * q[l] * c * c - 2.0 * summary.mass[(k, l)] * c;
            }
        }
        total
    }

    #[test]
    fn no_neighbour_beats_the_closed_form() {
        let summary = summary();
        for dims in [1, 2, 3, 4] {
            let best = gram(&summary, dims).unwrap();
            let lowest = loss(&summary, &best);
            for at in 0..best.values().len() {
                for step in [-1e-3, 1e-3] {
                    let mut other = best.clone();
                    other.values_mut()[at] += step;
                    assert!(loss(&summary, &other) >= lowest - 1e-12);
                }
            }
        }
    }

    #[test]
    fn enough_dimensions_give_the_barycenter() {
        let summary = summary();
        let z = gram(&summary, 5).unwrap();
        for k in 0..5 {
            for l in 0..5 {
                let c: f64 = z.row(k).iter().zip(z.row(l)).map(|(a, b)| a * b).sum();
                let target = summary.mass[(k, l)] / (summary.weights[k] * summary.weights[l]);
                assert!((c - target).abs() < 1e-9, "{c} {target}");
            }
        }
        assert_eq!(z.row(5), &[0.0; 5]);
    }

    #[test]
    fn a_frame_is_orthonormal_against_the_weights() {
        let summary = summary();
        let z = frame(&summary, 2).unwrap();
        let product = |a: &dyn Fn(usize) -> f64, b: &dyn Fn(usize) -> f64| {
            (0..6).map(|k| summary.weights[k] * a(k) * b(k)).sum::<f64>()
        };
        for c in 0..3 {
            for e in 0..3 {
                let expected = if c == e { 1.0 } else { 0.0 };
                assert!((product(&|k| z[(k, c)], &|k| z[(k, e)]) - expected).abs() < 1e-9);
            }
        }
    }
}
