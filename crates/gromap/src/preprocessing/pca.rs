//! Principal components: the directions along which samples vary most.
//!
//! With up to 2000 features the p×p covariance is formed and decomposed: exact, N·p² multiplications.
//! With more, the covariance is never formed: its leading eigenvectors are found by products with a
//! few more vectors than asked for, 2·N·p·d multiplications each.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::check_transform;
use super::subspace::leading_subspace;
use crate::error::{Error, Result};
use crate::numeric::centring::{column_means, column_sums};
use crate::numeric::eigen::{fix_sign, symmetric_eigen};
use crate::numeric::vector::vectorized;
use crate::numeric::{Matrix, Scalar};

/// Features up to which the covariance is decomposed as a whole.
pub(crate) const EXACT_FEATURES: usize = 2000;

/// Features of a tile of the covariance.
const TILE: usize = 256;

/// Samples multiplied at once.
const DEPTH: usize = 512;

/// A fitted projection on the principal components.
///
/// The sign of a component is a matter of choice: its entry of largest size is positive.
///
/// ```
/// use gromap::Matrix;
/// use gromap::preprocessing::Pca;
/// let samples = Matrix::new(vec![0.0, 1.0, 2.0, 1.0, 4.0, 1.0], 3, 2)?;
/// let pca = Pca::fit(&samples, 1, 0)?;
/// assert_eq!(pca.explained_variance(), &[4.0]);
/// assert_eq!(pca.transform(&samples)?.values(), &[-2.0, 0.0, 2.0]);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pca {
    mean: Vec<f64>,
    components: Matrix<'static>,
    explained_variance: Vec<f64>,
    total_variance: f64,
}

impl Pca {
    /// Finds the first `components` directions, at most min(N, p) of them. `seed` starts the
    /// subspace when there are more than 2000 features, and is not used otherwise.
    pub fn fit<S: Scalar>(samples: &Matrix<'_, S>, components: usize, seed: u64) -> Result<Self> {
        samples.check_fit()?;
        let most = samples.rows().min(samples.columns());
        if components == 0 || components > most {
            let allowed = format!("from 1 to {most}, the smaller of the numbers of samples and features");
            return Err(Error::parameter("components", components as f64, allowed));
        }
        let mean = column_means(samples);
        let squares = column_sums(samples, |column, value| (value - mean[column]).powi(2));
        let (values, vectors) = if samples.columns() <= EXACT_FEATURES {
            symmetric_eigen(&scatter(samples, &mean))?
        } else {
            leading_subspace(samples, &mean, components, seed)?
        };
        // The usual estimate divides by N − 1.
        let count = samples.rows().saturating_sub(1).max(1) as f64;
        let features = samples.columns();
        let mut directions = Matrix::zeros(components, features);
        directions.values_mut().copy_from_slice(&vectors.values()[..components * features]);
        (0..components).for_each(|c| fix_sign(directions.row_mut(c)));
        Ok(Self {
            mean,
            components: directions,
            explained_variance: values[..components].iter().map(|v| v.max(0.0) / count).collect(),
            total_variance: squares.iter().sum::<f64>() / count,
        })
    }

    /// A projection that was fitted before.
    pub(crate) fn restored(
        mean: Vec<f64>,
        components: Matrix<'static>,
        explained_variance: Vec<f64>,
        total_variance: f64,
    ) -> Result<Self> {
        Error::check_len("features of the principal components", mean.len(), components.columns())?;
        Error::check_len("number of explained variances", components.rows(), explained_variance.len())?;
        Ok(Self { mean, components, explained_variance, total_variance })
    }

    /// Mean of the samples fitted to.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Directions of length 1, at right angles to each other, one a row.
    pub fn components(&self) -> &Matrix<'static> {
        &self.components
    }

    /// Variance along each component, descending.
    pub fn explained_variance(&self) -> &[f64] {
        &self.explained_variance
    }

    /// Variance along all directions together.
    pub fn total_variance(&self) -> f64 {
        self.total_variance
    }

    /// Coordinates of samples along the components, row by row: N·p·d multiplications.
    pub fn transform<S: Scalar>(&self, samples: &Matrix<'_, S>) -> Result<Matrix<'static, S>> {
        check_transform(samples, self.mean.len())?;
        let dims = self.components.rows();
        let panels = panels(&self.components);
        let mut projected = Matrix::zeros(samples.rows(), dims);
        projected.values_mut().par_chunks_mut(GROUP * dims).enumerate().with_min_len(16).for_each(|(group, out)| {
            let first = group * GROUP;
            let rows: [&[S]; GROUP] = std::array::from_fn(|r| samples.row((first + r).min(samples.rows() - 1)));
            vectorized(
                #[inline(always)]
                || project(rows, &self.mean, &panels, out, dims),
            );
        });
        Ok(projected)
    }
}

/// Components next to each other in a panel.
const PANEL: usize = 16;

/// Samples projected together; each has sums of its own, so none depends on the others.
const GROUP: usize = 4;

/// Components in groups of [`PANEL`], feature after feature.
fn panels(components: &Matrix<'_>) -> Vec<Vec<[f64; PANEL]>> {
    let panel = |first: usize| {
        let entry = |feature: usize, lane: usize| match first + lane {
            c if c < components.rows() => components[(c, feature)],
            _ => 0.0,
        };
        (0..components.columns()).map(|feature| std::array::from_fn(|lane| entry(feature, lane))).collect()
    };
    (0..components.rows()).step_by(PANEL).map(panel).collect()
}

/// Writes the coordinates of as many rows as `out` has room for.
#[inline(always)]
fn project<S: Scalar>(rows: [&[S]; GROUP], mean: &[f64], panels: &[Vec<[f64; PANEL]>], out: &mut [S], dims: usize) {
    for (at, panel) in panels.iter().enumerate() {
        let mut sums = [[0.0; PANEL]; GROUP];
        for (feature, (weights, mean)) in panel.iter().zip(mean).enumerate() {
            for r in 0..GROUP {
                let centred = rows[r][feature].to_f64() - mean;
                for lane in 0..PANEL {
                    sums[r][lane] += centred * weights[lane];
                }
            }
        }
        let width = PANEL.min(dims - at * PANEL);
        for (out, sums) in out.chunks_exact_mut(dims).zip(&sums) {
            let out = &mut out[at * PANEL..at * PANEL + width];
            out.iter_mut().zip(sums).for_each(|(out, &sum)| *out = S::from_f64(sum));
        }
    }
}

/// Σ (x − mean)(x − mean)ᵀ, its lower tiles. Threads share out the tiles and each adds all samples
/// in their order.
fn scatter<S: Scalar>(samples: &Matrix<'_, S>, mean: &[f64]) -> Matrix<'static> {
    let features = samples.columns();
    let count = features.div_ceil(TILE);
    let pairs: Vec<(usize, usize)> = (0..count).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
    let range = |tile: usize| tile * TILE..((tile + 1) * TILE).min(features);
    let tiles: Vec<Vec<f64>> = pairs
        .par_iter()
        .map(|&(a, b)| {
            let (a, b) = (range(a), range(b));
            let mut sums = vec![0.0; a.len() * b.len()];
            let (mut left, mut right) = (Vec::new(), Vec::new());
            for first in (0..samples.rows()).step_by(DEPTH) {
                crate::interrupt::look();
                let rows = first..(first + DEPTH).min(samples.rows());
                for (columns, out) in [(&a, &mut left), (&b, &mut right)] {
                    out.clear();
                    for i in rows.clone() {
                        let row = samples.row(i)[columns.clone()].iter().zip(&mean[columns.clone()]);
                        out.extend(row.map(|(x, mean)| x.to_f64() - mean));
                    }
                }
                matmul(
                    MatMut::from_row_major_slice_mut(&mut sums, a.len(), b.len()),
                    Accum::Add,
                    MatRef::from_row_major_slice(&left, rows.len(), a.len()).transpose(),
                    MatRef::from_row_major_slice(&right, rows.len(), b.len()),
                    1.0,
                    Par::Seq,
                );
            }
            sums
        })
        .collect();
    let mut matrix = Matrix::zeros(features, features);
    for (&(a, b), tile) in pairs.iter().zip(&tiles) {
        let columns = range(b);
        for (i, row) in range(a).zip(tile.chunks_exact(columns.len())) {
            matrix.row_mut(i)[columns.clone()].copy_from_slice(row);
        }
    }
    matrix
}

#[cfg(test)]
#[path = "pca_tests.rs"]
mod tests;
