//! Distances, twice: measured in `f64`, and ranked by fast `f32` arithmetic with a bounded error.
//!
//! For ranking, samples are moved to a common centre, scaled to coordinates of at most one (so that
//! nothing overflows) and rounded to `f32`. A tile of a matrix product then gives, for query i and
//! reference j, a value v with
//!
//! ```text
//! v + c_i − s_i  ≤  true distance  ≤  v + c_i + s_i + 2·s_j
//! ```
//!
//! where c_i is a constant of the query and s = γ·‖·‖ + tiny, γ = (p + 64)·2⁻²⁴, bounds what `f32`
//! may lose: p roundings of a sum of p products, and a few for centring, norms, thresholds and for
//! distances that tie once they are stored. Nothing within that bound is ever thrown away before it
//! has been measured, and that is why the fast path is exact.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::check_distance;
use crate::error::{Error, Result};
use crate::numeric::blocks::{BLOCK, blocks, sum_in_order};
use crate::numeric::vector::vectorized;
use crate::numeric::{Matrix, Scalar};

/// How the distance of two samples is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Metric {
    /// Σ(x−y)²: what the affinities of neighbour embedding are made of.
    #[default]
    SquaredEuclidean,
    /// √Σ(x−y)²
    Euclidean,
    /// 1 − ⟨x,y⟩/(‖x‖‖y‖), between 0 and 2; a sample of zeros has no direction and is refused.
    Cosine,
    /// Σ|x−y|; no matrix product helps, so it takes several times longer.
    Manhattan,
}

impl Metric {
    /// The distance of two samples in `f64`; `weights` are the inverse norms for the cosine.
    #[inline(always)]
    fn measure(self, x: &[f32], y: &[f32], weights: (f64, f64)) -> f64 {
        match self {
            Self::SquaredEuclidean => sum(x, y, |x, y| (x - y) * (x - y)),
            Self::Euclidean => sum(x, y, |x, y| (x - y) * (x - y)).sqrt(),
            // Half the squared distance of the directions: no cancellation near zero.
            Self::Cosine => 0.5 * sum(x, y, |x, y| (x * weights.0 - y * weights.1).powi(2)),
            Self::Manhattan => sum(x, y, |x, y| (x - y).abs()),
        }
    }

    /// The distance of two samples; NaN for the cosine of one without a direction.
    pub(crate) fn between<S: Scalar>(self, x: &[S], y: &[S]) -> f64 {
        let sum = |term: fn(f64, f64) -> f64| x.iter().zip(y).map(|(x, y)| term(x.to_f64(), y.to_f64())).sum::<f64>();
        match self {
            Self::SquaredEuclidean => sum(|x, y| (x - y) * (x - y)),
            Self::Euclidean => sum(|x, y| (x - y) * (x - y)).sqrt(),
            Self::Cosine => (1.0 - sum(|x, y| x * y) / (sum(|x, _| x * x) * sum(|_, y| y * y)).sqrt()).max(0.0),
            Self::Manhattan => sum(|x, y| (x - y).abs()),
        }
    }

    /// The ranked quantity, in unscaled units, of a stored distance.
    fn ranked(self, distance: f64) -> f64 {
        match self {
            Self::SquaredEuclidean | Self::Manhattan => distance,
            Self::Euclidean => distance * distance,
            Self::Cosine => 2.0 * distance,
        }
    }
}

/// Σ f(x, y) in eight interleaved sums, which the compiler turns into vectors and which are the
/// same on every machine.
#[inline(always)]
fn sum(x: &[f32], y: &[f32], f: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let (x_groups, x_rest) = x.as_chunks::<8>();
    let (y_groups, y_rest) = y.as_chunks::<8>();
    for (x, y) in x_groups.iter().zip(y_groups) {
        let (mut wide_x, mut wide_y) = ([0.0; 8], [0.0; 8]);
        for lane in 0..8 {
            wide_x[lane] = f64::from(x[lane]);
            wide_y[lane] = f64::from(y[lane]);
        }
        for lane in 0..8 {
            sums[lane] += f(wide_x[lane], wide_y[lane]);
        }
    }
    let mut total = 0.0;
    for (&x, &y) in x_rest.iter().zip(y_rest) {
        total += f(f64::from(x), f64::from(y));
    }
    let halves: [f64; 4] = std::array::from_fn(|lane| sums[lane] + sums[lane + 4]);
    total + ((halves[0] + halves[2]) + (halves[1] + halves[3]))
}

/// The common centre and scale of everything that is compared.
pub(super) struct Frame {
    metric: Metric,
    centre: Vec<f64>,
    scale: f64,
}

impl Frame {
    /// Centres on the mean of the first set and makes room for all of them.
    pub(super) fn new(metric: Metric, sets: &[&Samples<'_>]) -> Self {
        let centre = sets[0].mean();
        let largest = sets.iter().map(|set| set.largest_distance_from(&centre)).fold(0.0, f64::max);
        // A power of two scales exactly.
        let exponent = if largest > 0.0 { -largest.log2().ceil() } else { 0.0 };
        Self { metric, centre, scale: exponent.clamp(-140.0, 60.0).exp2() }
    }

    /// Factor of the ranked quantity.
    fn unit(&self) -> f64 {
        if self.metric == Metric::Manhattan { self.scale } else { self.scale * self.scale }
    }
}

/// Samples and, for the cosine, their inverse norms.
pub(super) struct Samples<'a> {
    samples: &'a Matrix<'a, f32>,
    inverse_norms: Vec<f64>,
}

impl<'a> Samples<'a> {
    /// Checks that every sample is finite and has what the metric needs.
    pub(super) fn new(samples: &'a Matrix<'a, f32>, metric: Metric) -> Result<Self> {
        samples.check_finite("samples")?;
        let mut inverse_norms = Vec::new();
        if metric == Metric::Cosine {
            inverse_norms = (0..samples.rows())
                .into_par_iter()
                .with_min_len(BLOCK)
                .map(|i| 1.0 / sum(samples.row(i), samples.row(i), |x, _| x * x).sqrt())
                .collect();
            if let Some(row) = inverse_norms.iter().position(|inverse| !inverse.is_finite()) {
                let allowed = format!("positive for the cosine metric (row {row} holds only zeros)");
                return Err(Error::parameter("norm of a sample", 0.0, allowed));
            }
        }
        Ok(Self { samples, inverse_norms })
    }

    pub(super) fn len(&self) -> usize {
        self.samples.rows()
    }

    #[inline(always)]
    fn weight(&self, i: usize) -> f64 {
        self.inverse_norms.get(i).copied().unwrap_or(1.0)
    }

    /// Mean row; with the cosine, of the directions.
    fn mean(&self) -> Vec<f64> {
        let sums = sum_in_order(blocks(self.len()).map(|rows| self.sums_of_block(rows)).collect());
        sums.into_iter().map(|s| s / self.len() as f64).collect()
    }

    /// The sum of a block of rows.
    fn sums_of_block(&self, rows: Range<usize>) -> Vec<f64> {
        let mut sums = vec![0.0; self.samples.columns()];
        for i in rows {
            let weight = self.weight(i);
            sums.iter_mut().zip(self.samples.row(i)).for_each(|(s, &x)| *s += f64::from(x) * weight);
        }
        sums
    }

    /// Largest coordinate seen from `centre`.
    fn largest_distance_from(&self, centre: &[f64]) -> f64 {
        let of_row = |i: usize| {
            let weight = self.weight(i);
            let far = |(&x, c): (&f32, &f64)| (f64::from(x) * weight - c).abs();
            self.samples.row(i).iter().zip(centre).map(far).fold(0.0, f64::max)
        };
        blocks(self.len()).map(|rows| rows.map(of_row).fold(0.0, f64::max)).reduce(|| 0.0, f64::max)
    }
}

/// Samples in a [`Frame`], ready to be ranked and measured.
pub(super) struct Points<'a> {
    samples: Samples<'a>,
    frame: &'a Frame,
    /// Centred, scaled, rounded; N×p.
    working: Vec<f32>,
    /// c: what the constant of a sample is as a query.
    constant: Vec<f32>,
    /// What a sample adds to v as a reference: c_j − s_j.
    shift: Vec<f32>,
    /// s, the bound of what rounding may lose.
    slack: Vec<f32>,
}

impl<'a> Points<'a> {
    pub(super) fn new(samples: Samples<'a>, frame: &'a Frame) -> Self {
        let (rows, features) = (samples.len(), samples.samples.columns());
        let mut working = vec![0.0; rows * features];
        working.par_chunks_mut(BLOCK * features).enumerate().for_each(|(block, out)| {
            for (at, out) in out.chunks_exact_mut(features).enumerate() {
                let i = block * BLOCK + at;
                let weight = samples.weight(i);
                for ((out, &x), centre) in out.iter_mut().zip(samples.samples.row(i)).zip(&frame.centre) {
                    *out = ((f64::from(x) * weight - centre) * frame.scale) as f32;
                }
            }
        });
        let gamma = (features + 64) as f64 * f64::from(f32::EPSILON) / 2.0;
        // What underflow may lose: in a product, and when a distance is stored.
        let tiny = features as f64 * (-120f64).exp2() + frame.unit() * (-147f64).exp2();
        let (mut constant, mut shift, mut slack) = (Vec::new(), Vec::new(), Vec::new());
        for row in working.chunks_exact(features) {
            let (norm, own) = match frame.metric {
                Metric::Manhattan => (sum(row, row, |x, _| x.abs()), 0.0),
                _ => {
                    let squared = sum(row, row, |x, _| x * x);
                    (squared, squared)
                }
            };
            let lost = gamma * norm + tiny;
            constant.push(own as f32);
            shift.push((own - lost) as f32);
            slack.push(lost as f32);
        }
        Self { samples, frame, working, constant, shift, slack }
    }

    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    pub(super) fn features(&self) -> usize {
        self.samples.samples.columns()
    }

    /// Centred rows.
    pub(super) fn working(&self, rows: Range<usize>) -> &[f32] {
        &self.working[rows.start * self.features()..rows.end * self.features()]
    }

    /// One centred row.
    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> &[f32] {
        &self.working[i * self.features()..(i + 1) * self.features()]
    }

    /// The row that distances are measured on.
    #[inline(always)]
    pub(super) fn measured_row(&self, i: usize) -> &[f32] {
        self.samples.samples.row(i)
    }

    /// What references add to v.
    pub(super) fn shift(&self) -> &[f32] {
        &self.shift
    }

    /// What rounding may lose of each.
    pub(super) fn slacks(&self) -> &[f32] {
        &self.slack
    }

    #[inline(always)]
    pub(super) fn slack(&self, i: usize) -> f32 {
        self.slack[i]
    }

    /// v below which a reference of query i may be as near as the stored distance `distance`.
    pub(super) fn threshold(&self, i: usize, distance: f32) -> f32 {
        let ranked = self.frame.metric.ranked(f64::from(distance)) * self.frame.unit();
        let slack = 2.0 * f64::from(self.slack[i]);
        let threshold = ranked * (1.0 + (-20f64).exp2()) - f64::from(self.constant[i]) + slack;
        threshold.min(f64::from(f32::MAX)) as f32
    }

    /// v below which, with twice its slack added, a reference of query i is certainly nearer than the
    /// stored distance `distance`.
    pub(super) fn certain(&self, i: usize, distance: f32) -> f32 {
        let ranked = self.frame.metric.ranked(f64::from(distance)) * self.frame.unit();
        let slack = 2.0 * f64::from(self.slack[i]);
        (ranked * (1.0 - (-20f64).exp2()) - f64::from(self.constant[i]) - slack) as f32
    }

    /// The distance of query i to sample j of `references`, as stored.
    #[inline(always)]
    pub(super) fn distance(&self, i: usize, references: &Points<'_>, j: usize) -> f32 {
        let weights = (self.samples.weight(i), references.samples.weight(j));
        self.frame.metric.measure(self.samples.samples.row(i), references.samples.samples.row(j), weights) as f32
    }

    /// The error for a distance that `f32` cannot hold.
    pub(super) fn check_stored(&self, i: usize, references: &Points<'_>, j: usize) -> Result<()> {
        let weights = (self.samples.weight(i), references.samples.weight(j));
        let (x, y) = (self.samples.samples.row(i), references.samples.samples.row(j));
        check_distance(i, j, self.frame.metric.measure(x, y, weights))
    }

    /// v − shift of all pairs of two groups of working rows, row-major.
    pub(super) fn rank(&self, queries: &[f32], references: &[f32], out: &mut [f32]) {
        let p = self.features();
        let (rows, columns) = (queries.len() / p, references.len() / p);
        match self.frame.metric {
            Metric::Manhattan => vectorized(
                #[inline(always)]
                || manhattan_tile(p, queries, references, out),
            ),
            _ => matmul(
                MatMut::from_row_major_slice_mut(out, rows, columns),
                Accum::Replace,
                MatRef::from_row_major_slice(queries, rows, p),
                MatRef::from_row_major_slice(references, columns, p).transpose(),
                -2.0,
                Par::Seq,
            ),
        }
    }
}

/// References next to each other in a panel of the Manhattan kernel.
const PANEL: usize = 64;

/// Σ|x−y| of all pairs. References are turned into panels of columns, so that the sums of a query
/// with all references of a panel stand side by side in registers.
#[inline(always)]
fn manhattan_tile(p: usize, queries: &[f32], references: &[f32], out: &mut [f32]) {
    let columns = references.len() / p;
    let mut panel = vec![[0.0f32; PANEL]; p];
    for (at, rows) in references.chunks(PANEL * p).enumerate() {
        let width = rows.len() / p;
        for (lane, row) in rows.chunks_exact(p).enumerate() {
            for (column, &y) in panel.iter_mut().zip(row) {
                column[lane] = y;
            }
        }
        for (x, out) in queries.chunks_exact(p).zip(out.chunks_exact_mut(columns)) {
            let mut sums = [0.0f32; PANEL];
            for (y, &x) in panel.iter().zip(x) {
                for lane in 0..PANEL {
                    sums[lane] += (x - y[lane]).abs();
                }
            }
            out[at * PANEL..at * PANEL + width].copy_from_slice(&sums[..width]);
        }
    }
}
