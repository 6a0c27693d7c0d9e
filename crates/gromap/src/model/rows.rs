//! How each method finds the similarities of a new sample to the training samples.

use super::GromovDr;
use super::placement::{Rows, Side, Weighing};
use crate::affinity::{Affinity, Operator};
use crate::error::Result;
use crate::method::Method;
use crate::numeric::Matrix;
use crate::numeric::Scalar;

impl GromovDr {
    /// What the similarities of new samples are made from.
    pub(super) fn rows<S: Scalar>(
        &self,
        affinity: &Affinity<S>,
        prepared: &Matrix<'_, S>,
        side: &Side,
    ) -> Result<Rows> {
        let size = prepared.rows();
        let training = || prepared.single().into_owned();
        let options = &self.options;
        let near = |k: usize| k.clamp(1, size);
        let among =
            |neighbors: usize, weighing| Rows::Neighbors { samples: training(), neighbors: near(neighbors), weighing };
        Ok(match (self.method, &affinity.operator) {
            (Method::Pca | Method::Mds, Operator::LowRank(factor)) => {
                let mean = crate::numeric::centring::column_means(prepared);
                let unit = if self.method == Method::Mds { std::f64::consts::SQRT_2 } else { 1.0 };
                Rows::Factor { mean, sketch: sketch(factor.left(), unit, side) }
            }
            (Method::KernelPca, _) => {
                let (columns, overall) = options.kernel.means(prepared)?;
                let mut weighted = vec![0.0; side.width()];
                columns.iter().enumerate().for_each(|(j, &mean)| side.add(&mut weighted, j, mean));
                Rows::Kernel { function: options.kernel, samples: training(), means: (weighted, overall) }
            }
            (Method::Isomap, _) => {
                let neighbors = options.neighbors.unwrap_or(5);
                among(neighbors, Weighing::Entropic(vec![(near(neighbors) as f64 / 3.0).max(1.0)], 1.0))
            }
            (Method::LaplacianEigenmaps, _) => {
                let neighbors = near(options.neighbors.unwrap_or(size.div_ceil(10)) - 1);
                among(neighbors, Weighing::Graph(neighbors as f64))
            }
            (Method::Umap, _) => among(options.neighbors.unwrap_or(15) - 1, Weighing::Fuzzy),
            (method, _) => {
                let widest = options.perplexities.iter().copied().fold(0.0, f64::max);
                let factor = if method == Method::TSne { 1.0 / size as f64 } else { 1.0 };
                let neighbors = options.neighbors.unwrap_or((3.0 * widest).ceil() as usize);
                among(neighbors, Weighing::Entropic(options.perplexities.clone(), factor))
            }
        })
    }
}

/// unit·Aᵀ·T, p×n.
fn sketch<S: Scalar>(factor: &Matrix<'_, S>, unit: f64, side: &Side) -> Matrix<'static> {
    let (mut sketch, mut row) = (Matrix::zeros(factor.columns(), side.width()), vec![0.0; side.width()]);
    for i in 0..factor.rows() {
        row.fill(0.0);
        side.add(&mut row, i, unit);
        for (a, out) in factor.row(i).iter().zip(sketch.values_mut().chunks_exact_mut(row.len())) {
            out.iter_mut().zip(&row).for_each(|(o, r)| *o += a.to_f64() * r);
        }
    }
    sketch
}
