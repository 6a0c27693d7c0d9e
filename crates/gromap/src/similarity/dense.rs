//! A similarity held as an N×N matrix.
//!
//! The product with a plan never multiplies matrices when the plan is hard. Row j of C belongs to
//! one prototype, so it is added to that prototype's running sum: with the samples visited in the
//! order of their prototypes, the sum stays in the first cache and C streams past once. An
//! asymmetric matrix keeps its transpose as well, so that both products read rows.

use std::borrow::Cow;
use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::{Bounds, Contents, Definiteness, Extreme, Side, Similarity, Sketch};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::numeric::blocks::BLOCK;
use crate::numeric::vector::vectorized;
use crate::numeric::{Matrix, Scalar};
use crate::plan::{Columns, Plan, PlanRow};

/// Rows of C added at once: as many streams as memory serves best.
const STREAMS: usize = 8;

/// Samples in a tile of the product: wide enough to stream, narrow enough that a running sum and
/// the pieces added to it share the second cache. Measured with 8 streams, N = 10,000: 512 columns
/// reach 58% of the speed of a plain read, 1024 84%, 4096 95%.
const TILE: usize = 4 * BLOCK;

/// Rows of C multiplied by a thin matrix at once: widened, a few thousand samples' worth of them
/// stay in the second cache. Measured in `f64`, N = 10,000: the product with 1 to 16 columns takes
/// 29 to 49 ms on two threads, where a plain read takes 15 to 33.
const THIN_ROWS: usize = 32;

/// Entries per row of a plan beyond which a matrix product beats adding rows.
const SOFT_ENTRIES: usize = 3;

/// An N×N matrix, borrowed or owned.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense<'a, S: Scalar = f64> {
    matrix: Matrix<'a, S>,
    /// The transpose, only if it differs.
    transposed: Option<Matrix<'a, S>>,
    definiteness: Definiteness,
    bounds: Bounds,
}

impl<'a, S: Scalar> Dense<'a, S> {
    /// Takes a square matrix; NaN and infinities are refused. Whether it is symmetric (up to
    /// rounding) is looked up here, once.
    pub fn new(matrix: Matrix<'a, S>) -> Result<Self> {
        if matrix.rows() == 0 {
            return Err(Error::parameter("number of samples", 0.0, "at least 1"));
        }
        Error::check_len("columns of a similarity", matrix.rows(), matrix.columns())?;
        let bounds = finite_bounds(&matrix)?;
        let scale = bounds.low.value.abs().max(bounds.high.value.abs());
        let symmetric = is_symmetric(&matrix, 8.0 * S::EPSILON * scale);
        let transposed = (!symmetric).then(|| matrix.transposed());
        Ok(Self { matrix, transposed, definiteness: Definiteness::Unknown, bounds })
    }

    /// States what the caller knows of the signs of the matrix.
    pub fn with_definiteness(mut self, definiteness: Definiteness) -> Self {
        self.definiteness = definiteness;
        self
    }

    /// The matrix.
    pub fn matrix(&self) -> &Matrix<'a, S> {
        &self.matrix
    }

    /// C·T (or Cᵀ·T), in tiles of samples.
    fn multiply(&self, plan: &Plan, side: Side) -> Vec<f64> {
        let (samples, n) = (self.matrix.rows(), plan.prototypes());
        let mut values = vec![0.0; samples * n];
        if plan.entries() > SOFT_ENTRIES * samples {
            let tiles = values.par_chunks_mut(TILE * n).enumerate();
            tiles.for_each(|(t, out)| multiply_tile(self.source(side), plan, t * TILE, out));
        } else {
            self.add(&mut values, side, &plan.columns(), n);
        }
        values
    }

    /// Adds the product of C with the entries of a plan: each prototype of each tile on its own, so
    /// that threads have enough to share.
    fn add(&self, values: &mut [f64], side: Side, entries: &Columns, n: usize) {
        let source = self.source(side);
        values.par_chunks_mut(TILE * n).enumerate().for_each(|(t, tile)| {
            let width = tile.len() / n;
            tile.par_chunks_mut(width).enumerate().for_each(|(k, sum)| {
                let (members, mass) = entries.column(k);
                vectorized(
                    #[inline(always)]
                    || add_rows(source, t * TILE, members, mass, sum),
                );
            });
        });
    }

    /// The matrix whose row j holds what sample j adds to every row of the product.
    pub(super) fn source(&self, side: Side) -> &Matrix<'a, S> {
        match (side, &self.transposed) {
            (Side::Direct, Some(transposed)) => transposed,
            _ => &self.matrix,
        }
    }
}

/// Where the product of the tile of samples that starts at `start` lies in the sketch, and how
/// many samples it holds: n rows of that many numbers.
fn tile(samples: usize, n: usize, start: usize) -> (Range<usize>, usize) {
    let width = TILE.min(samples - start);
    (start * n..(start + width) * n, width)
}

impl<S: Scalar> Similarity for Dense<'_, S> {
    fn len(&self) -> usize {
        self.matrix.rows()
    }

    fn is_symmetric(&self) -> bool {
        self.transposed.is_none()
    }

    fn definiteness(&self) -> Definiteness {
        self.definiteness
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn contents(&self) -> Contents<'_> {
        Contents::Dense((&self.matrix).into())
    }

    fn diagonal(&self, i: usize) -> f64 {
        self.matrix[(i, i)].to_f64()
    }

    fn constant(&self, loss: Loss, weights: &[f64]) -> Option<f64> {
        let of_row = |i: usize| weights[i] * weighted_f1(loss, self.matrix.row(i), weights);
        let partial: Vec<f64> = (0..self.len()).into_par_iter().with_min_len(64).map(of_row).collect();
        Some(partial.into_iter().sum())
    }

    fn sketch<'a>(&'a self, plan: &Plan, side: Side) -> Box<dyn Sketch + 'a> {
        Box::new(DenseSketch { operator: self, side, values: self.multiply(plan, side) })
    }

    fn times(&self, x: &Matrix<'_>, side: Side) -> Matrix<'static> {
        // What a row of the product needs is what its sample would add to the other side's.
        let (source, samples, columns) = (self.source(side.other()), self.len(), x.columns());
        let mut product = Matrix::zeros(samples, columns);
        let pieces = product.values_mut().par_chunks_mut(THIN_ROWS * columns.max(1));
        pieces.zip(source.values().par_chunks(THIN_ROWS * samples)).for_each(|(out, rows)| {
            let height = rows.len() / samples;
            matmul(
                MatMut::from_row_major_slice_mut(out, height, columns),
                Accum::Replace,
                MatRef::from_row_major_slice(&S::double(rows), height, samples),
                x.as_faer(),
                1.0,
                Par::Seq,
            );
        });
        product
    }
}

/// C·T itself, in tiles of samples ([`tile`]).
#[derive(Clone)]
struct DenseSketch<'a, S: Scalar> {
    operator: &'a Dense<'a, S>,
    side: Side,
    values: Vec<f64>,
}

impl<S: Scalar> Sketch for DenseSketch<'_, S> {
    fn product_rows(&self, rows: Range<usize>, out: &mut [f64]) {
        let (samples, values) = (self.operator.len(), &self.values);
        let n = values.len() / samples;
        let start = rows.start - rows.start % TILE;
        let (range, width) = tile(samples, n, start);
        for (k, sums) in values[range].chunks_exact(width).enumerate() {
            for (row, sum) in out.chunks_exact_mut(n).zip(&sums[rows.start - start..rows.end - start]) {
                row[k] = *sum;
            }
        }
    }

    fn reassign(&mut self, sample: usize, from: PlanRow<'_>, to: u32) {
        let (samples, row) = (self.operator.len(), self.operator.source(self.side).row(sample));
        let values = &mut self.values;
        let n = values.len() / samples;
        vectorized(
            #[inline(always)]
            || {
                for start in (0..samples).step_by(TILE) {
                    let (range, width) = tile(samples, n, start);
                    let (out, row) = (&mut values[range], &row[start..start + width]);
                    for (k, mass) in from.moved_to(to) {
                        for (sum, value) in out[k * width..(k + 1) * width].iter_mut().zip(row) {
                            *sum += mass * value.to_f64();
                        }
                    }
                }
            },
        );
    }

    fn numbers(&self) -> Vec<Cow<'_, [f64]>> {
        vec![Cow::Borrowed(&self.values)]
    }

    fn numbers_mut(&mut self) -> Vec<&mut [f64]> {
        vec![&mut self.values]
    }

    fn boxed_clone<'a>(&self) -> Box<dyn Sketch + 'a>
    where
        Self: 'a,
    {
        Box::new(self.clone())
    }

    /// Adds what came and takes away what left, if that reads less than starting over.
    fn reassign_all(&mut self, before: &Plan, after: &[u32]) {
        let changes = before.changes_to(after);
        if changes.entries() < self.operator.len() {
            self.operator.add(&mut self.values, self.side, &changes, before.prototypes());
        } else {
            self.values = self.operator.multiply(&before.relabelled(after), self.side);
        }
    }
}

/// sum += Σ mass·source[member, start..], several rows at a time.
#[inline(always)]
fn add_rows<S: Scalar>(source: &Matrix<'_, S>, start: usize, members: &[u32], mass: &[f64], sum: &mut [f64]) {
    let width = sum.len();
    let piece = |j: u32| &source.row(j as usize)[start..start + width];
    let (groups, rest) = members.as_chunks::<STREAMS>();
    let (group_mass, rest_mass) = mass.as_chunks::<STREAMS>();
    for (group, m) in groups.iter().zip(group_mass) {
        // Slices of one known length, so that no index is checked in the loop.
        let rows = group.map(|j| &piece(j)[..width]);
        for at in 0..width {
            let term = |s: usize| m[s] * rows[s][at].to_f64();
            sum[at] += ((term(0) + term(1)) + (term(2) + term(3))) + ((term(4) + term(5)) + (term(6) + term(7)));
        }
    }
    for (&j, m) in rest.iter().zip(rest_mass) {
        for (s, a) in sum.iter_mut().zip(piece(j)) {
            *s += m * a.to_f64();
        }
    }
}

/// out = Tᵀ·source[.., start..], for a plan with many entries a row.
fn multiply_tile<S: Scalar>(source: &Matrix<'_, S>, plan: &Plan, start: usize, out: &mut [f64]) {
    const DEPTH: usize = 256;
    let n = plan.prototypes();
    let width = out.len() / n;
    let mut rows = vec![0.0; DEPTH * width];
    let mut mass = vec![0.0; DEPTH * n];
    for first in (0..plan.len()).step_by(DEPTH) {
        let depth = DEPTH.min(plan.len() - first);
        mass.fill(0.0);
        for (at, j) in (first..first + depth).enumerate() {
            let row = &source.row(j)[start..start + width];
            rows[at * width..(at + 1) * width].iter_mut().zip(row).for_each(|(r, v)| *r = v.to_f64());
            plan.row(j).iter().for_each(|(k, m)| mass[at * n + k] = m);
        }
        matmul(
            MatMut::from_row_major_slice_mut(out, n, width),
            Accum::Add,
            MatRef::from_row_major_slice(&mass[..depth * n], depth, n).transpose(),
            MatRef::from_row_major_slice(&rows[..depth * width], depth, width),
            1.0,
            Par::Seq,
        );
    }
}

/// Σ_j f1(row[j])·weights[j].
fn weighted_f1<S: Scalar>(loss: Loss, row: &[S], weights: &[f64]) -> f64 {
    vectorized(
        #[inline(always)]
        || match loss {
            Loss::Square => weighted_sum(
                row,
                weights,
                #[inline(always)]
                |a| Loss::Square.f1(a),
            ),
            Loss::Kl => weighted_sum(
                row,
                weights,
                #[inline(always)]
                |a| Loss::Kl.f1(a),
            ),
            Loss::BinaryCrossEntropy => weighted_sum(
                row,
                weights,
                #[inline(always)]
                |a| Loss::BinaryCrossEntropy.f1(a),
            ),
        },
    )
}

/// Σ f(row[j])·weights[j] in eight interleaved sums, which the compiler turns into vectors.
#[inline(always)]
fn weighted_sum<S: Scalar>(row: &[S], weights: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let (row_groups, row_rest) = row.as_chunks::<8>();
    let (weight_groups, weight_rest) = weights.as_chunks::<8>();
    for (r, w) in row_groups.iter().zip(weight_groups) {
        for lane in 0..8 {
            sums[lane] += f(r[lane].to_f64()) * w[lane];
        }
    }
    let rest: f64 = row_rest.iter().zip(weight_rest).map(|(r, w)| f(r.to_f64()) * w).sum();
    sums.iter().sum::<f64>() + rest
}

/// Smallest and largest entry, or the first that is not finite.
fn finite_bounds<S: Scalar>(matrix: &Matrix<'_, S>) -> Result<Bounds> {
    /// Smallest, largest, and a number that is zero unless something was not finite.
    #[inline(always)]
    fn scan<S: Scalar>(row: &[S]) -> (S, S, S) {
        let (mut low, mut high, mut poison) = (row[0], row[0], S::default());
        for &value in row {
            low = if value < low { value } else { low };
            high = if value > high { value } else { high };
            poison += value * S::default();
        }
        (low, high, poison)
    }
    let of_row = |i: usize| {
        let (low, high, poison) = vectorized(
            #[inline(always)]
            || scan(matrix.row(i)),
        );
        (low.to_f64(), high.to_f64(), poison.to_f64() == 0.0)
    };
    let rows: Vec<(f64, f64, bool)> = (0..matrix.rows()).into_par_iter().with_min_len(64).map(of_row).collect();
    let place = |i: usize, wanted: &dyn Fn(f64) -> bool| {
        let column = matrix.row(i).iter().position(|v| wanted(v.to_f64())).unwrap_or(0);
        (i, column)
    };
    if let Some(i) = rows.iter().position(|&(_, _, finite)| !finite) {
        let (row, column) = place(i, &|v| !v.is_finite());
        let value = matrix[(row, column)].to_f64();
        return Err(Error::NotFinite { what: "similarity", row, column, value });
    }
    let (mut low, mut high) = ((f64::INFINITY, 0), (f64::NEG_INFINITY, 0));
    for (i, &(row_low, row_high, _)) in rows.iter().enumerate() {
        low = if row_low < low.0 { (row_low, i) } else { low };
        high = if row_high > high.0 { (row_high, i) } else { high };
    }
    let extreme = |(value, i): (f64, usize)| Extreme { value, at: Some(place(i, &|v| v == value)) };
    Ok(Bounds { low: extreme(low), high: extreme(high) })
}

/// Compares the matrix with its transpose in square tiles that fit the first cache.
fn is_symmetric<S: Scalar>(matrix: &Matrix<'_, S>, tolerance: f64) -> bool {
    const TILE: usize = 64;
    let samples = matrix.rows();
    (0..samples.div_ceil(TILE)).into_par_iter().all(|t| {
        let rows = t * TILE..((t + 1) * TILE).min(samples);
        (rows.start..samples).step_by(TILE).all(|first| {
            let columns = first..(first + TILE).min(samples);
            rows.clone().all(|i| {
                let row = &matrix.row(i)[columns.clone()];
                let mirrored = columns.clone().map(|j| matrix[(j, i)]);
                row.iter().zip(mirrored).all(|(a, b)| (a.to_f64() - b.to_f64()).abs() <= tolerance)
            })
        })
    })
}
