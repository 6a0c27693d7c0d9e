//! C = A·Bᵀ with thin factors: the Gram matrices of PCA and MDS, Nyström approximations.
//!
//! The sketch of a plan is BᵀT, kept by prototypes (n×r): a scatter-add of N rows when the plan is
//! hard. Rows of C·T are then a thin product with A.

use std::borrow::Cow;
use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::{Bounds, Contents, Definiteness, Extreme, Side, Similarity, Sketch};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::numeric::blocks::{BLOCK, blocks, sum_of_blocks};
use crate::numeric::vector::vectorized;
use crate::numeric::{Matrix, Scalar};
use crate::plan::{Plan, PlanRow};

/// A similarity A·Bᵀ, or A·Aᵀ.
#[derive(Debug, Clone, PartialEq)]
pub struct LowRank<'a, S: Scalar = f64> {
    left: Matrix<'a, S>,
    /// `None` is A·Aᵀ.
    right: Option<Matrix<'a, S>>,
}

impl<'a, S: Scalar> LowRank<'a, S> {
    /// C = A·Aᵀ: symmetric and positive semi-definite.
    pub fn symmetric(factor: Matrix<'a, S>) -> Result<Self> {
        check_factor(&factor)?;
        Ok(Self { left: factor, right: None })
    }

    /// C = A·Bᵀ.
    pub fn new(left: Matrix<'a, S>, right: Matrix<'a, S>) -> Result<Self> {
        check_factor(&left)?;
        check_factor(&right)?;
        Error::check_len("rows of the right factor", left.rows(), right.rows())?;
        Error::check_len("columns of the right factor", left.columns(), right.columns())?;
        Ok(Self { left, right: Some(right) })
    }

    /// A.
    pub fn left(&self) -> &Matrix<'a, S> {
        &self.left
    }

    /// B, unless it is A.
    pub fn right(&self) -> Option<&Matrix<'a, S>> {
        self.right.as_ref()
    }

    /// The rank r of the factors.
    pub fn rank(&self) -> usize {
        self.left.columns()
    }

    fn factors(&self, side: Side) -> (&Matrix<'a, S>, &Matrix<'a, S>) {
        let right = self.right.as_ref().unwrap_or(&self.left);
        match side {
            Side::Direct => (&self.left, right),
            Side::Transposed => (right, &self.left),
        }
    }
}

fn check_factor<S: Scalar>(factor: &Matrix<'_, S>) -> Result<()> {
    if factor.rows() == 0 || factor.columns() == 0 {
        return Err(Error::parameter("size of a factor", 0.0, "at least 1 × 1"));
    }
    factor.check_finite("factor")
}

/// TᵀB by prototypes, n×r.
fn compress<S: Scalar>(factor: &Matrix<'_, S>, plan: &Plan) -> Vec<f64> {
    let numbers = plan.prototypes() * factor.columns();
    sum_of_blocks(plan.len(), numbers, |rows| compressed_of_block(factor, plan, rows))
}

/// What a block of rows adds to TᵀB.
fn compressed_of_block<S: Scalar>(factor: &Matrix<'_, S>, plan: &Plan, rows: Range<usize>) -> Vec<f64> {
    let r = factor.columns();
    let mut sums = vec![0.0; plan.prototypes() * r];
    vectorized(
        #[inline(always)]
        || {
            for i in rows.clone() {
                let row = factor.row(i);
                for (k, mass) in plan.row(i).iter() {
                    for (sum, value) in sums[k * r..(k + 1) * r].iter_mut().zip(row) {
                        *sum += mass * value.to_f64();
                    }
                }
            }
        },
    );
    sums
}

/// XᵀB by columns of X, b×r.
fn compress_columns<S: Scalar>(factor: &Matrix<'_, S>, x: &Matrix<'_>) -> Vec<f64> {
    let numbers = x.columns() * factor.columns();
    sum_of_blocks(factor.rows(), numbers, |rows| compressed_columns_of_block(factor, x, rows))
}

/// What a block of rows adds to XᵀB.
fn compressed_columns_of_block<S: Scalar>(factor: &Matrix<'_, S>, x: &Matrix<'_>, rows: Range<usize>) -> Vec<f64> {
    let (r, b) = (factor.columns(), x.columns());
    let mut sums = vec![0.0; b * r];
    matmul(
        MatMut::from_row_major_slice_mut(&mut sums, b, r),
        Accum::Replace,
        x.as_faer().subrows(rows.start, rows.len()).transpose(),
        MatRef::from_row_major_slice(&S::double(&factor.values()[rows.start * r..rows.end * r]), rows.len(), r),
        1.0,
        Par::Seq,
    );
    sums
}

impl<S: Scalar> Similarity for LowRank<'_, S> {
    fn len(&self) -> usize {
        self.left.rows()
    }

    fn is_symmetric(&self) -> bool {
        self.right.is_none()
    }

    fn definiteness(&self) -> Definiteness {
        if self.right.is_none() { Definiteness::Psd } else { Definiteness::Unknown }
    }

    /// By Cauchy-Schwarz; the upper bound of A·Aᵀ is attained on the diagonal.
    fn bounds(&self) -> Bounds {
        let norm = |row: &[S]| row.iter().map(|v| v.to_f64().powi(2)).sum::<f64>().sqrt();
        let largest = |m: &Matrix<'_, S>| (0..m.rows()).map(|i| norm(m.row(i))).fold(0.0, f64::max);
        let (left, right) = self.factors(Side::Direct);
        let bound = largest(left) * largest(right);
        let not_negative = |m: &Matrix<'_, S>| m.values().iter().all(|v| v.to_f64() >= 0.0);
        let low = if not_negative(left) && not_negative(right) { 0.0 } else { -bound };
        Bounds { low: Extreme { value: low, at: None }, high: Extreme { value: bound, at: None } }
    }

    fn contents(&self) -> Contents<'_> {
        Contents::LowRank((&self.left).into(), self.right.as_ref().map(Into::into))
    }

    fn diagonal(&self, i: usize) -> f64 {
        let (left, right) = self.factors(Side::Direct);
        left.row(i).iter().zip(right.row(i)).map(|(a, b)| a.to_f64() * b.to_f64()).sum()
    }

    /// Square: ⟨AᵀDₕA, BᵀDₕB⟩. The other losses would need every entry.
    fn constant(&self, loss: Loss, weights: &[f64]) -> Option<f64> {
        if loss != Loss::Square {
            return None;
        }
        let left = weighted_gram(&self.left, weights);
        let right = self.right.as_ref().map(|right| weighted_gram(right, weights));
        Some(inner_of_grams(&left, right.as_ref().unwrap_or(&left), self.rank()))
    }

    fn sketch<'a>(&'a self, plan: &Plan, side: Side) -> Box<dyn Sketch + 'a> {
        Box::new(LowRankSketch { operator: self, side, compressed: compress(self.factors(side).1, plan) })
    }

    fn times(&self, x: &Matrix<'_>, side: Side) -> Matrix<'static> {
        let (samples, columns) = (self.len(), x.columns());
        let compressed = compress_columns(self.factors(side).1, x);
        let sketch = LowRankSketch { operator: self, side, compressed };
        let mut product = Matrix::zeros(samples, columns);
        let pieces = product.values_mut().par_chunks_mut(BLOCK * columns.max(1));
        pieces.zip(blocks(samples)).for_each(|(out, rows)| sketch.product_rows(rows, out));
        product
    }
}

/// BᵀT by prototypes, n×r (or AᵀT, for the transpose).
#[derive(Clone)]
struct LowRankSketch<'a, S: Scalar> {
    operator: &'a LowRank<'a, S>,
    side: Side,
    compressed: Vec<f64>,
}

impl<S: Scalar> Sketch for LowRankSketch<'_, S> {
    fn product_rows(&self, rows: Range<usize>, out: &mut [f64]) {
        let (left, rank) = (self.operator.factors(self.side).0, self.operator.rank());
        let rows = &left.values()[rows.start * rank..rows.end * rank];
        pulp::Arch::new().dispatch(ThinProduct { rows, compressed: &self.compressed, rank, out });
    }

    fn reassign(&mut self, sample: usize, from: PlanRow<'_>, to: u32) {
        let (row, r) = (self.operator.factors(self.side).1.row(sample), self.operator.rank());
        for (k, mass) in from.moved_to(to) {
            for (sum, value) in self.compressed[k * r..(k + 1) * r].iter_mut().zip(row) {
                *sum += mass * value.to_f64();
            }
        }
    }

    fn numbers(&self) -> Vec<Cow<'_, [f64]>> {
        vec![Cow::Borrowed(&self.compressed)]
    }

    fn numbers_mut(&mut self) -> Vec<&mut [f64]> {
        vec![&mut self.compressed]
    }

    fn boxed_clone<'a>(&self) -> Box<dyn Sketch + 'a>
    where
        Self: 'a,
    {
        Box::new(self.clone())
    }

    /// Once many samples change, gathering all of them in parallel is faster.
    fn reassign_all(&mut self, before: &Plan, after: &[u32]) {
        let moved = before.moved_by(after);
        if moved.clone().count() > self.operator.len() / 4 {
            self.compressed = compress(self.operator.factors(self.side).1, &before.relabelled(after));
        } else {
            moved.for_each(|(i, to)| self.reassign(i, before.row(i), to));
        }
    }

    /// (AᵀT)ᵀ·(BᵀT): two thin factors.
    fn plan_mass(&self, plan: &Plan) -> Matrix<'static> {
        let (n, r) = (plan.prototypes(), self.operator.rank());
        let (right, left) =
            (&self.compressed, self.operator.right.as_ref().map(|_| compress(&self.operator.left, plan)));
        let as_rows = |values| MatRef::from_row_major_slice(values, n, r);
        let mut mass = Matrix::zeros(n, n);
        matmul(
            MatMut::from_row_major_slice_mut(mass.values_mut(), n, n),
            Accum::Replace,
            as_rows(left.as_ref().unwrap_or(right)),
            as_rows(right).transpose(),
            1.0,
            Par::Seq,
        );
        mass
    }
}

/// Rows and prototypes in one tile of a thin product: sixteen running sums, as many as registers hold.
const HIGH: usize = 4;
const WIDE: usize = 4;

/// out = rows·compressedᵀ, both with `rank` numbers a row: a few rows against a few prototypes at a
/// time. A general product would want a widened copy of the whole block, and loses half its speed on
/// so few columns.
struct ThinProduct<'a, S> {
    rows: &'a [S],
    compressed: &'a [f64],
    rank: usize,
    out: &'a mut [f64],
}

impl<S: Scalar> pulp::WithSimd for ThinProduct<'_, S> {
    type Output = ();

    #[inline(always)]
    fn with_simd<V: pulp::Simd>(self, simd: V) {
        let Self { rows, compressed, rank, out } = self;
        let n = compressed.len() / rank;
        let mut wide = vec![0.0; HIGH * rank];
        for (rows, out) in rows.chunks(HIGH * rank).zip(out.chunks_mut(HIGH * n)) {
            wide.iter_mut().zip(rows).for_each(|(wide, value)| *wide = value.to_f64());
            let rows = std::array::from_fn(|i| &wide[i * rank..(i + 1) * rank]);
            for first in (0..n).step_by(WIDE) {
                let width = WIDE.min(n - first);
                // Where a tile is cut off, its last prototype is repeated and the result not used.
                let prototypes = std::array::from_fn(|k| &compressed[(first + k.min(width - 1)) * rank..][..rank]);
                let tile = dot_tile(simd, rows, prototypes);
                for (out, row) in out.chunks_exact_mut(n).zip(&tile) {
                    out[first..first + width].copy_from_slice(&row[..width]);
                }
            }
        }
    }
}

/// All dot products of a few rows with a few prototypes.
#[inline(always)]
fn dot_tile<V: pulp::Simd>(simd: V, rows: [&[f64]; HIGH], prototypes: [&[f64]; WIDE]) -> [[f64; WIDE]; HIGH] {
    let rows = rows.map(V::as_simd_f64s);
    let prototypes = prototypes.map(V::as_simd_f64s);
    let length = rows[0].0.len();
    let (a, b) = (rows.map(|row| &row.0[..length]), prototypes.map(|prototype| &prototype.0[..length]));
    let mut sums = [[simd.splat_f64s(0.0); WIDE]; HIGH];
    for at in 0..length {
        for k in 0..WIDE {
            for i in 0..HIGH {
                sums[i][k] = simd.mul_add_f64s(a[i][at], b[k][at], sums[i][k]);
            }
        }
    }
    // Plain loops: a closure here would be compiled without the vector unit.
    let mut tile = [[0.0; WIDE]; HIGH];
    for i in 0..HIGH {
        for k in 0..WIDE {
            let rest: f64 = rows[i].1.iter().zip(prototypes[k].1).map(|(a, b)| a * b).sum();
            tile[i][k] = simd.reduce_sum_f64s(sums[i][k]) + rest;
        }
    }
    tile
}

/// Rows of a Gram matrix computed together.
const BAND: usize = 64;

/// AᵀDₕA, r×r, in bands of rows, each from its own diagonal block on: the rest is symmetric.
fn weighted_gram<S: Scalar>(factor: &Matrix<'_, S>, weights: &[f64]) -> Vec<f64> {
    let r = factor.columns();
    let mut total = vec![0.0; r * r];
    // Blocks in sequence, bands in parallel: r×r partial sums for every block would be large.
    for start in (0..factor.rows()).step_by(BLOCK) {
        let height = BLOCK.min(factor.rows() - start);
        let weighted = Matrix::from_fn(height, r, |i, j| factor[(start + i, j)].to_f64() * weights[start + i].sqrt());
        total.par_chunks_mut(BAND * r).enumerate().for_each(|(band, out)| {
            let (first, rows) = (band * BAND, out.len() / r);
            matmul(
                MatMut::from_row_major_slice_mut(out, rows, r).subcols_mut(first, r - first),
                Accum::Add,
                weighted.as_faer().subcols(first, rows).transpose(),
                weighted.as_faer().subcols(first, r - first),
                1.0,
                Par::Seq,
            );
        });
    }
    total
}

/// ⟨G, H⟩ of two such matrices.
fn inner_of_grams(g: &[f64], h: &[f64], r: usize) -> f64 {
    let of_row = |i: usize| {
        let (first, next) = (i / BAND * BAND, (i / BAND + 1) * BAND);
        let part = |range: Range<usize>| -> f64 {
            let range = i * r + range.start.min(r)..i * r + range.end.min(r);
            g[range.clone()].iter().zip(&h[range]).map(|(g, h)| g * h).sum()
        };
        part(first..next) + 2.0 * part(next..r)
    };
    (0..r).map(of_row).sum()
}
