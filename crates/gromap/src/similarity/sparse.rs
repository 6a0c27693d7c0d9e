//! A sparse similarity in compressed rows. A product with a plan is one look at each neighbour's
//! label, so the sketch is the plan itself.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::{Bounds, Contents, Definiteness, Extreme, ProductRow, Side, Similarity, Sketch};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::numeric::blocks::{BLOCK, blocks};
use crate::numeric::vector::vectorized;
use crate::numeric::{Matrix, Scalar};
use crate::plan::{Plan, PlanRow};

/// Columns of a thin matrix next to each other in a panel.
const PANEL: usize = 8;

/// Rows of a thin product made together: fewer than a block, for rows differ in length.
const PIECE: usize = BLOCK / 8;

/// Compressed rows: row i holds `columns[offsets[i]..offsets[i+1]]`, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Sparse<'a, S: Scalar = f32> {
    rows: CompressedRows<'a, S>,
    /// The transpose, only if it differs.
    transposed: Option<CompressedRows<'a, S>>,
    definiteness: Definiteness,
    bounds: Bounds,
}

#[derive(Debug, Clone, PartialEq)]
struct CompressedRows<'a, S: Scalar> {
    offsets: Cow<'a, [usize]>,
    columns: Cow<'a, [u32]>,
    values: Cow<'a, [S]>,
}

impl<'a, S: Scalar> Sparse<'a, S> {
    /// Takes compressed rows with ascending columns; entries that are not stored are zero.
    ///
    /// ```
    /// use gromap::similarity::{Similarity, Sparse};
    /// let c = Sparse::new(vec![0, 1, 2], vec![1, 0], vec![0.5f32, 0.5])?;
    /// assert!(c.is_symmetric() && c.len() == 2);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn new(
        offsets: impl Into<Cow<'a, [usize]>>,
        columns: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [S]>>,
    ) -> Result<Self> {
        let rows = CompressedRows { offsets: offsets.into(), columns: columns.into(), values: values.into() };
        rows.check()?;
        let bounds = rows.bounds();
        let transposed = rows.transpose();
        let scale = bounds.low.value.abs().max(bounds.high.value.abs());
        let symmetric = rows.offsets == transposed.offsets
            && rows.columns == transposed.columns
            && rows
                .values
                .iter()
                .zip(transposed.values.iter())
                .all(|(a, b)| (a.to_f64() - b.to_f64()).abs() <= 8.0 * S::EPSILON * scale);
        let transposed = (!symmetric).then_some(transposed);
        Ok(Self { rows, transposed, definiteness: Definiteness::Unknown, bounds })
    }

    /// Σ weight·C, entry by entry: several views or scales of the same samples as one matrix.
    ///
    /// ```
    /// use gromap::similarity::Sparse;
    /// let c = Sparse::new(vec![0, 1, 2], vec![1, 0], vec![0.5f32, 0.5])?;
    /// assert_eq!(Sparse::weighted_sum(&[(0.5, &c), (1.5, &c)])?.entry(0, 1), 1.0);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn weighted_sum(parts: &[(f64, &Sparse<'_, S>)]) -> Result<Sparse<'static, S>> {
        let Some((_, first)) = parts.first() else {
            return Err(Error::parameter("number of similarities", 0.0, "at least 1"));
        };
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for (weight, part) in parts {
            Error::check_len("samples of a similarity in a sum", first.len(), part.len())?;
            if !weight.is_finite() {
                return Err(Error::parameter("weight of a similarity", *weight, "finite"));
            }
        }
        for i in 0..first.len() {
            let entries = parts.iter().flat_map(|(weight, part)| {
                let (columns, values) = part.row(i);
                columns.iter().zip(values).map(move |(&j, value)| (j, weight * value.to_f64()))
            });
            let mut row: Vec<(u32, f64)> = entries.collect();
            row.sort_by_key(|entry| entry.0);
            for chunk in row.chunk_by(|a, b| a.0 == b.0) {
                columns.push(chunk[0].0);
                values.push(S::from_f64(chunk.iter().map(|entry| entry.1).sum()));
            }
            offsets.push(columns.len());
        }
        Sparse::new(offsets, columns, values)
    }

    /// States what the caller knows of the signs of the matrix.
    pub fn with_definiteness(mut self, definiteness: Definiteness) -> Self {
        self.definiteness = definiteness;
        self
    }

    /// Number of stored entries.
    pub fn stored(&self) -> usize {
        self.rows.values.len()
    }

    /// C\[i, j\], zero where nothing is stored.
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        let (columns, values) = self.rows.row(i);
        columns.binary_search(&(j as u32)).map_or(0.0, |at| values[at].to_f64())
    }

    /// Offsets, columns and values of the compressed rows.
    pub fn compressed_rows(&self) -> (&[usize], &[u32], &[S]) {
        (&self.rows.offsets, &self.rows.columns, &self.rows.values)
    }

    /// Row i: its columns, ascending, and their values.
    pub fn row(&self, i: usize) -> (&[u32], &[S]) {
        self.rows.row(i)
    }

    /// Column j: its rows, ascending, and their values.
    pub(crate) fn column(&self, j: usize) -> (&[u32], &[S]) {
        self.side(Side::Transposed).row(j)
    }

    fn side(&self, side: Side) -> &CompressedRows<'a, S> {
        match (side, &self.transposed) {
            (Side::Transposed, Some(transposed)) => transposed,
            _ => &self.rows,
        }
    }

    /// C·T (or Cᵀ·T), N×n.
    fn multiply(&self, plan: &Plan, side: Side) -> Vec<f64> {
        let n = plan.prototypes();
        let mut values = vec![0.0; self.rows.len() * n];
        values.par_chunks_mut(BLOCK * n).zip(blocks(self.rows.len())).for_each(|(out, rows)| {
            self.multiply_rows(plan, side, rows, out);
        });
        values
    }

    /// Some rows of it.
    fn multiply_rows(&self, plan: &Plan, side: Side, rows: Range<usize>, out: &mut [f64]) {
        let (matrix, n) = (self.side(side), plan.prototypes());
        out.fill(0.0);
        match plan.hard_labels() {
            Some(labels) => {
                let weights = plan.sample_weights();
                for (i, sums) in rows.zip(out.chunks_exact_mut(n)) {
                    let (columns, values) = matrix.row(i);
                    for (&j, value) in columns.iter().zip(values) {
                        sums[labels[j as usize] as usize] += value.to_f64() * weights[j as usize];
                    }
                }
            }
            None => {
                for (i, sums) in rows.zip(out.chunks_exact_mut(n)) {
                    crate::interrupt::look();
                    let (columns, values) = matrix.row(i);
                    for (&j, value) in columns.iter().zip(values) {
                        for (k, mass) in plan.row(j as usize).iter() {
                            sums[k] += value.to_f64() * mass;
                        }
                    }
                }
            }
        }
    }
}

impl<S: Scalar> CompressedRows<'_, S> {
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    #[inline]
    fn row(&self, i: usize) -> (&[u32], &[S]) {
        let range = self.offsets[i]..self.offsets[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    fn check(&self) -> Result<()> {
        if self.offsets.len() < 2 {
            return Err(Error::parameter("number of samples", 0.0, "at least 1"));
        }
        let samples = self.len();
        let wrong = |row: usize, problem: &str| Err(Error::Sparse { row, problem: problem.into() });
        Error::check_len("first offset of a sparse similarity", 0, self.offsets[0])?;
        Error::check_len("number of columns stored", self.values.len(), self.columns.len())?;
        Error::check_len("last offset of a sparse similarity", self.values.len(), self.offsets[samples])?;
        for i in 0..samples {
            let (start, end) = (self.offsets[i], self.offsets[i + 1]);
            if start > end || end > self.values.len() {
                return wrong(i, "offsets must not decrease");
            }
            let (columns, values) = self.row(i);
            if columns.windows(2).any(|pair| pair[0] >= pair[1]) {
                return wrong(i, "columns must ascend, each named once");
            }
            if columns.last().is_some_and(|&last| last as usize >= samples) {
                return wrong(i, &format!("a column is not below {samples}, the number of samples"));
            }
            if let Some(at) = values.iter().position(|v| !v.to_f64().is_finite()) {
                let (column, value) = (columns[at] as usize, values[at].to_f64());
                return Err(Error::NotFinite { what: "similarity", row: i, column, value });
            }
        }
        Ok(())
    }

    fn bounds(&self) -> Bounds {
        let full = self.values.len() == self.len() * self.len();
        let zero = Extreme { value: 0.0, at: None };
        let (mut low, mut high) = if full {
            (Extreme { value: f64::INFINITY, at: None }, Extreme { value: f64::NEG_INFINITY, at: None })
        } else {
            (zero, zero)
        };
        for i in 0..self.len() {
            let (columns, values) = self.row(i);
            for (&j, value) in columns.iter().zip(values) {
                let entry = Extreme { value: value.to_f64(), at: Some((i, j as usize)) };
                if entry.value < low.value {
                    low = entry;
                }
                if entry.value > high.value {
                    high = entry;
                }
            }
        }
        Bounds { low, high }
    }

    /// Counting sort by column; rows come out ascending.
    fn transpose(&self) -> CompressedRows<'static, S> {
        let samples = self.len();
        let mut offsets = vec![0; samples + 1];
        for &j in self.columns.iter() {
            offsets[j as usize + 1] += 1;
        }
        for j in 0..samples {
            offsets[j + 1] += offsets[j];
        }
        let mut next = offsets.clone();
        let mut columns = vec![0; self.columns.len()];
        let mut values = vec![S::default(); self.values.len()];
        for i in 0..samples {
            let (row_columns, row_values) = self.row(i);
            for (&j, &value) in row_columns.iter().zip(row_values) {
                let at = &mut next[j as usize];
                columns[*at] = i as u32;
                values[*at] = value;
                *at += 1;
            }
        }
        CompressedRows { offsets: offsets.into(), columns: columns.into(), values: values.into() }
    }
}

impl<S: Scalar> Similarity for Sparse<'_, S> {
    fn len(&self) -> usize {
        self.rows.len()
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
        S::contents(self)
    }

    fn diagonal(&self, i: usize) -> f64 {
        self.entry(i, i)
    }

    fn constant(&self, loss: Loss, weights: &[f64]) -> Option<f64> {
        let of_block = |rows| constant_of_block(&self.rows, loss, weights, rows);
        let partial: Vec<f64> = blocks(self.len()).map(of_block).collect();
        Some(partial.into_iter().sum())
    }

    /// A hard plan is its own sketch. A soft one would have every entry of every neighbour looked at
    /// in every product, so C·T is kept instead, which is no larger than such a plan.
    fn sketch<'a>(&'a self, plan: &Plan, side: Side) -> Box<dyn Sketch + 'a> {
        let mut sketch = SparseSketch { operator: self, side, plan: Some(plan.clone()), values: Vec::new() };
        if plan.hard_labels().is_none() {
            sketch.expand();
        }
        Box::new(sketch)
    }

    fn times(&self, x: &Matrix<'_>, side: Side) -> Matrix<'static> {
        let (matrix, columns, panels) = (self.side(side), x.columns(), panels(x));
        let mut product = Matrix::zeros(self.len(), columns);
        let pieces = product.values_mut().par_chunks_mut(PIECE * columns.max(1)).enumerate();
        pieces.for_each(|(piece, out)| {
            vectorized(
                #[inline(always)]
                || {
                    for (at, out) in out.chunks_exact_mut(columns).enumerate() {
                        let (names, values) = matrix.row(piece * PIECE + at);
                        for (panel, out) in panels.iter().zip(out.chunks_mut(PANEL)) {
                            let sums = weighted_sum(panel, names, values);
                            out.copy_from_slice(&sums[..out.len()]);
                        }
                    }
                },
            );
        });
        product
    }
}

/// What a block of rows adds to Σ f1(C\[i,j\])·h_i·h_j.
fn constant_of_block<S: Scalar>(
    matrix: &CompressedRows<'_, S>,
    loss: Loss,
    weights: &[f64],
    rows: Range<usize>,
) -> f64 {
    let of_row = |i: usize| {
        let (columns, values) = matrix.row(i);
        let sum: f64 = columns.iter().zip(values).map(|(&j, v)| loss.f1(v.to_f64()) * weights[j as usize]).sum();
        weights[i] * sum
    };
    rows.map(of_row).sum()
}

/// The plan itself, where a row of C·T is one look at each neighbour's label, or C·T.
#[derive(Clone)]
struct SparseSketch<'a, S: Scalar> {
    operator: &'a Sparse<'a, S>,
    side: Side,
    plan: Option<Plan>,
    /// C·T, N×n, when the plan is not kept.
    values: Vec<f64>,
}

impl<S: Scalar> SparseSketch<'_, S> {
    /// Replaces the plan by its product.
    fn expand(&mut self) {
        if let Some(plan) = self.plan.take() {
            self.values = self.operator.multiply(&plan, self.side);
        }
    }
}

impl<S: Scalar> Sketch for SparseSketch<'_, S> {
    fn product_rows(&self, rows: Range<usize>, out: &mut [f64]) {
        match &self.plan {
            Some(plan) => self.operator.multiply_rows(plan, self.side, rows, out),
            None => {
                let n = self.values.len() / self.operator.len();
                out.copy_from_slice(&self.values[rows.start * n..rows.end * n]);
            }
        }
    }

    /// Of a hard plan only the labels of the neighbours are touched.
    fn product_row(&self, row: usize, out: &mut ProductRow) {
        let Some((plan, labels)) = self.plan.as_ref().and_then(|plan| Some((plan, plan.hard_labels()?))) else {
            self.product_rows(row..row + 1, &mut out.values);
            out.list();
            return;
        };
        let (columns, values) = self.operator.side(self.side).row(row);
        let weights = plan.sample_weights();
        for (&j, value) in columns.iter().zip(values) {
            out.gather(labels[j as usize], value.to_f64() * weights[j as usize]);
        }
        out.order();
    }

    fn reassign(&mut self, sample: usize, from: PlanRow<'_>, to: u32) {
        if let Some(plan) = &mut self.plan {
            plan.assign(sample, to);
            return;
        }
        // Sample j meets row i of C·T by C[i, j]: a row of the other side.
        let n = self.values.len() / self.operator.len();
        let (rows, entries) = self.operator.side(self.side.other()).row(sample);
        for (k, mass) in from.moved_to(to) {
            for (&i, value) in rows.iter().zip(entries) {
                self.values[i as usize * n + k] += mass * value.to_f64();
            }
        }
    }

    fn numbers(&self) -> Vec<Cow<'_, [f64]>> {
        vec![match &self.plan {
            Some(plan) => Cow::Owned(self.operator.multiply(plan, self.side)),
            None => Cow::Borrowed(&self.values),
        }]
    }

    fn numbers_mut(&mut self) -> Vec<&mut [f64]> {
        self.expand();
        vec![&mut self.values]
    }

    fn boxed_clone<'a>(&self) -> Box<dyn Sketch + 'a>
    where
        Self: 'a,
    {
        Box::new(self.clone())
    }

    fn is_numbers(&self) -> bool {
        self.plan.is_none()
    }

    /// Once many samples change, their labels alone are the cheaper sketch.
    fn reassign_all(&mut self, before: &Plan, after: &[u32]) {
        let moved = before.moved_by(after);
        if moved.clone().count() > self.operator.len() / 8 {
            (self.plan, self.values) = (Some(before.relabelled(after)), Vec::new());
        } else {
            moved.for_each(|(i, to)| self.reassign(i, before.row(i), to));
        }
    }
}

/// The columns of a thin matrix in groups of [`PANEL`], so that their sums stand side by side in
/// registers.
fn panels(x: &Matrix<'_>) -> Vec<Vec<[f64; PANEL]>> {
    let panel = |first: usize| {
        let entry = |i: usize, lane: usize| x.row(i).get(first + lane).copied().unwrap_or(0.0);
        (0..x.rows()).map(|i| std::array::from_fn(|lane| entry(i, lane))).collect()
    };
    (0..x.columns()).step_by(PANEL).map(panel).collect()
}

/// Σ value·panel\[name\].
#[inline(always)]
fn weighted_sum<S: Scalar>(panel: &[[f64; PANEL]], names: &[u32], values: &[S]) -> [f64; PANEL] {
    let mut sums = [0.0; PANEL];
    for (&j, value) in names.iter().zip(values) {
        let (value, row) = (value.to_f64(), &panel[j as usize]);
        for lane in 0..PANEL {
            sums[lane] += value * row[lane];
        }
    }
    sums
}
