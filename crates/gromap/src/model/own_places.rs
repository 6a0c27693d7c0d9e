//! A place of its own for every sample, at the cost of the n prototypes: with these frozen, a sample's row of products
//! r = (C_X·T)\[i,·\] is all that its place depends on.
//!
//! - Kernels of the distance: the minimum of its own row of the objective, within its prototype's cell
//!   (`embedding/frozen_map.rs`).
//! - Inner products: least squares, min over z of Σ_l q_l·(r_l/q_l − ⟨z, z_l⟩)², in closed form
//!
//!   ```text
//!   z = (ZᵀD_qZ)⁺·Zᵀ·r
//!   ```
//!
//!   which for PCA is close to the projection on the axes of the map. The mean of the members of a prototype is the
//!   prototype, for M·Z = D_q·Z·Λ. Nothing keeps a sample in its cell: a projection puts some of one group upon another, and a
//!   place that is linear in the sample is worth more than a border.
//! - An orthonormal frame: the same with Z·Λ⁻¹, Λ = ZᵀMZ, since a frame leaves the eigenvalues out, then over its first column.
//!
//! Places of the training samples are found at the end of a fit, while C_X is at hand, and kept in the model: a few thousandths
//! to hundredths of the fit's time, N×d numbers, and they are the same after a model comes back from its file, also where it was
//! fitted to distances or to a similarity. New samples follow the same rule with the row that the method gives them. Where a method
//! cannot know that row (lengths of paths, degrees of nodes), they go to the mean place of their neighbours.

use std::ops::Range;

use rayon::prelude::*;

use super::joint::Iterate;
use super::prepared::Found;
use crate::embedding::frozen_map::{FrozenMap, Row, repulsion_weights};
use crate::embedding::{MapKernel, Radial};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::blocks::blocks;
use crate::numeric::eigen::symmetric_eigen;
use crate::plan::Plan;
use crate::similarity::{ProductRow, Side, Similarity, Sketch};

/// Directions in which prototypes spread less than this, next to the widest, have no coordinate.
const LEAST_SPREAD: f64 = 1e-12;

/// How a row of products becomes a place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OwnPlaces {
    /// r·columns + shift.
    LeastSquares { columns: Matrix<'static>, shift: Vec<f64> },
    /// r·columns, over its first entry; columns are n×(d+1).
    Frame { columns: Matrix<'static> },
    /// The minimum of the row of the objective; these weigh the repulsion of every prototype.
    Row { repulsion: Vec<f64> },
}

impl OwnPlaces {
    /// The rule of a map: where a descent ended, with prototypes as the kernel takes them, and at which scale of C_X.
    pub(crate) fn of(kernel: MapKernel, loss: Loss, iterate: &Iterate, (scale, unit): (f64, f64)) -> Result<Self> {
        let (z, q) = (&iterate.prototypes, &iterate.summary.weights);
        let spread = |a: usize, b: usize| (0..q.len()).map(|k| q[k] * z[(k, a)] * z[(k, b)]).sum::<f64>();
        let mass = &iterate.summary.mass;
        let within = |a: usize, b: usize| {
            let row = |k: usize| z[(k, a)] * (0..q.len()).map(|l| mass[(k, l)] * z[(l, b)]).sum::<f64>();
            (0..q.len()).map(row).sum::<f64>()
        };
        let d = z.columns();
        Ok(match kernel {
            MapKernel::Gram => {
                Self::LeastSquares { columns: solved(&Matrix::from_fn(d, d, spread), z, unit)?, shift: vec![0.0; d] }
            }
            MapKernel::Orthonormal => Self::Frame { columns: solved(&Matrix::from_fn(d, d, within), z, 1.0)? },
            MapKernel::Radial(radial) => {
                let diagonal: Vec<f64> = (0..q.len()).map(|k| iterate.target[(k, k)]).collect();
                Self::Row { repulsion: repulsion_weights(radial, loss, (&diagonal, q), scale) }
            }
        })
    }

    /// The same for some of the prototypes.
    pub(crate) fn restricted(self, kept: &[u32]) -> Self {
        let rows =
            |matrix: &Matrix<'_>| Matrix::from_fn(kept.len(), matrix.columns(), |k, c| matrix[(kept[k] as usize, c)]);
        match self {
            Self::LeastSquares { columns, shift } => Self::LeastSquares { columns: rows(&columns), shift },
            Self::Frame { columns } => Self::Frame { columns: rows(&columns) },
            Self::Row { repulsion } => Self::Row { repulsion: kept.iter().map(|&k| repulsion[k as usize]).collect() },
        }
    }
}

/// unit·Z·S⁺, so that r times it is the least-squares place.
fn solved(metric: &Matrix<'_>, z: &Matrix<'_>, unit: f64) -> Result<Matrix<'static>> {
    let (values, vectors) = symmetric_eigen(metric)?;
    let most = values.first().copied().unwrap_or(0.0);
    let inverse = |a: usize, b: usize| {
        let used = values.iter().enumerate().filter(|(_, value)| **value > LEAST_SPREAD * most && **value > 0.0);
        used.map(|(e, value)| vectors[(e, a)] * vectors[(e, b)] / value).sum::<f64>()
    };
    let d = z.columns();
    let inverse = Matrix::from_fn(d, d, inverse);
    Ok(Matrix::from_fn(z.rows(), d, |k, c| unit * (0..d).map(|a| z[(k, a)] * inverse[(a, c)]).sum::<f64>()))
}

/// A rule, ready to place samples one by one.
pub(crate) struct Placing<'a> {
    rule: &'a OwnPlaces,
    prototypes: &'a Matrix<'a>,
    map: Option<FrozenMap<'a>>,
    /// Prototypes that stand for one sample, which is where they are.
    is_alone: Vec<bool>,
}

impl<'a> Placing<'a> {
    /// Among prototypes at these places, whose samples have these labels.
    pub(crate) fn new(
        rule: &'a OwnPlaces,
        kernel: MapKernel,
        loss: Loss,
        (prototypes, labels): (&'a Matrix<'a>, &[u32]),
    ) -> Self {
        let of = |radial: Radial, repulsion: &'a [f64]| FrozenMap::new(radial, loss, prototypes, repulsion);
        let map = match (rule, kernel) {
            (OwnPlaces::Row { repulsion }, MapKernel::Radial(radial)) => Some(of(radial, repulsion)),
            _ => None,
        };
        let mut members = vec![0usize; prototypes.rows()];
        labels.iter().for_each(|&k| members[k as usize] += 1);
        Self { rule, prototypes, map, is_alone: members.into_iter().map(|members| members == 1).collect() }
    }

    /// Whether it counts what a sample is to itself, which a place among others does not follow from.
    fn leaves_itself_out(&self) -> bool {
        self.map.is_some()
    }

    /// Writes the place of a sample of prototype `own`.
    pub(crate) fn place(&self, own: usize, products: &[f64], row: &mut Row, out: &mut [f64]) {
        let times = |columns: &Matrix<'_>, c: usize| {
            products
                .iter()
                .zip(columns.values().chunks_exact(columns.columns()))
                .map(|(r, row)| r * row[c])
                .sum::<f64>()
        };
        match (self.rule, &self.map) {
            (OwnPlaces::LeastSquares { columns, shift }, _) => {
                out.iter_mut().zip(shift).enumerate().for_each(|(c, (z, shift))| *z = times(columns, c) + shift);
            }
            (OwnPlaces::Frame { columns }, _) => {
                // In a frame the mean square of a column is 1: this is as good as zero, as for prototypes.
                let first = Some(times(columns, 0)).filter(|first| first.abs() > 1e-8).unwrap_or(1.0);
                out.iter_mut().enumerate().for_each(|(c, z)| *z = times(columns, c + 1) / first);
            }
            (OwnPlaces::Row { .. }, Some(map)) if !self.is_alone[own] => map.place(own, products, row, out),
            (OwnPlaces::Row { .. }, _) => out.copy_from_slice(self.prototypes.row(own)),
        }
        if out.iter().any(|z| !z.is_finite()) {
            out.copy_from_slice(self.prototypes.row(own));
        }
    }
}

/// What a pass over the training samples reads.
struct Training<'a> {
    placing: Placing<'a>,
    similarity: &'a dyn Similarity,
    products: Box<dyn Sketch + 'a>,
    plan: &'a Plan,
    labels: &'a [u32],
}

/// Places of the training samples, N×d; `None` where they have none but their prototype's.
pub(crate) fn of_training(
    found: &Found,
    similarity: &dyn Similarity,
    kernel: MapKernel,
    loss: Loss,
) -> Result<Option<Matrix<'static>>> {
    let Some(rule) = &found.own_places else { return Ok(None) };
    let (plan, labels) = (&found.plan, found.plan.labels());
    let state = Training {
        placing: Placing::new(rule, kernel, loss, (&found.places, &labels)),
        similarity,
        products: similarity.sketch(plan, Side::Direct),
        plan,
        labels: &labels,
    };
    let dims = found.places.columns();
    let places: Vec<Vec<f64>> = blocks(plan.len()).map(|rows| places_of_block(&state, rows, dims)).collect();
    Matrix::new(places.concat(), plan.len(), dims).map(Some)
}

/// Places of a block of samples, one after the other.
fn places_of_block(state: &Training<'_>, rows: Range<usize>, dims: usize) -> Vec<f64> {
    let (mut products, mut row) = (ProductRow::default(), Row::default());
    let mut places = vec![0.0; rows.len() * dims];
    for (i, out) in rows.zip(places.chunks_exact_mut(dims)) {
        products.clear(state.plan.prototypes());
        state.products.product_row(i, &mut products);
        if state.placing.leaves_itself_out() {
            let itself = state.similarity.diagonal(i);
            state.plan.row(i).iter().for_each(|(k, mass)| products.add(k, -itself * mass));
        }
        state.placing.place(state.labels[i] as usize, &products.values, &mut row, out);
    }
    places
}

#[cfg(test)]
#[path = "own_places_tests.rs"]
mod tests;
