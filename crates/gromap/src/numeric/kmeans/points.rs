//! Samples as k-means sees them: centred, scaled to coordinates of at most one, in `f32`.
//!
//! Centring keeps ‖x‖² + ‖c‖² − 2·⟨x, c⟩ from losing distances that are small beside the samples, and
//! coordinates of at most one keep it from overflowing.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::numeric::blocks::{BLOCK, blocks, sum_in_order};
use crate::numeric::vector::vectorized;
use crate::numeric::{Matrix, Scalar};

/// Samples of a tile of distances.
const SAMPLES: usize = 256;

/// Centres of a tile of distances, which stays in the second cache.
const CENTRES: usize = 512;

/// Centred and scaled samples, N×p.
pub(super) struct Points {
    features: usize,
    values: Vec<f32>,
}

impl Points {
    /// Centres on the weighted mean.
    pub(super) fn new<S: Scalar>(samples: &Matrix<'_, S>, weights: &[f64]) -> Self {
        let features = samples.columns();
        let centre = weighted_mean(samples, weights);
        let of_block = |rows| largest_offset_of_block(samples, &centre, rows);
        let largest = blocks(samples.rows()).map(of_block).reduce(|| 0.0, f64::max);
        // A power of two scales exactly; a spread too small for one counts as none.
        let scale = if largest > f64::MIN_POSITIVE { (-largest.log2().ceil()).exp2() } else { 0.0 };
        let mut values = vec![0.0; samples.values().len()];
        let pieces = values.par_chunks_mut(BLOCK * features).zip(samples.values().par_chunks(BLOCK * features));
        pieces.for_each(|(out, samples)| {
            for (out, row) in out.chunks_exact_mut(features).zip(samples.chunks_exact(features)) {
                for ((out, x), c) in out.iter_mut().zip(row).zip(&centre) {
                    *out = ((x.to_f64() - c) * scale) as f32;
                }
            }
        });
        Self { features, values }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() / self.features
    }

    pub(super) fn features(&self) -> usize {
        self.features
    }

    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.features..(i + 1) * self.features]
    }

    /// Some samples, one after the other.
    pub(super) fn rows(&self, names: &[usize]) -> Vec<f32> {
        names.iter().flat_map(|&i| self.row(i).iter().copied()).collect()
    }

    /// The nearest centre of every sample, the first of equals: the least of ‖c‖² − 2·⟨x, c⟩.
    pub(super) fn nearest(&self, centres: &[f32]) -> Vec<u32> {
        let centres = Centres::new(centres, self.features);
        let mut labels = vec![0; self.len()];
        let blocks = labels.par_chunks_mut(SAMPLES).zip(self.values.par_chunks(SAMPLES * self.features));
        blocks.for_each_init(
            || vec![0.0; SAMPLES * CENTRES],
            |tile, (labels, samples)| nearest_of_block(&centres, samples, tile, labels),
        );
        labels
    }

    /// ‖x − c‖² of every sample and the centre of its label, from their differences: zero if and only
    /// if they are equal.
    pub(super) fn squared_distances(&self, centres: &[f32], labels: &[u32]) -> Vec<f64> {
        let p = self.features;
        let distance = |(i, &k): (usize, &u32)| {
            let centre = &centres[k as usize * p..(k as usize + 1) * p];
            self.row(i).iter().zip(centre).map(|(&x, &c)| (f64::from(x) - f64::from(c)).powi(2)).sum()
        };
        labels.par_iter().enumerate().with_min_len(BLOCK).map(distance).collect()
    }
}

/// Centres with their norms, which all samples are compared with.
struct Centres<'a> {
    features: usize,
    values: &'a [f32],
    /// ‖c‖².
    norms: Vec<f32>,
}

impl<'a> Centres<'a> {
    fn new(values: &'a [f32], features: usize) -> Self {
        Self { features, values, norms: values.chunks_exact(features).map(squared_norm).collect() }
    }
}

/// Writes the nearest centre of each of at most [`SAMPLES`] samples; `tile` is room to work in.
fn nearest_of_block(centres: &Centres<'_>, samples: &[f32], tile: &mut [f32], labels: &mut [u32]) {
    let p = centres.features;
    let mut least = [f32::INFINITY; SAMPLES];
    let tiles = centres.values.chunks(CENTRES * p).zip(centres.norms.chunks(CENTRES));
    for (at, (centres, norms)) in tiles.enumerate() {
        crate::interrupt::look();
        let tile = &mut tile[..labels.len() * norms.len()];
        products(samples, centres, p, -2.0, tile);
        let mut rows = tile.chunks_exact(norms.len()).zip(labels.iter_mut().zip(&mut least));
        vectorized(
            #[inline(always)]
            || {
                for (row, (label, least)) in rows.by_ref() {
                    let (value, place) = least_of(row, norms);
                    if value < *least {
                        (*least, *label) = (value, (at * CENTRES) as u32 + place);
                    }
                }
            },
        );
    }
}

/// How far a block of samples is from the centre in any coordinate, at most.
fn largest_offset_of_block<S: Scalar>(samples: &Matrix<'_, S>, centre: &[f64], rows: Range<usize>) -> f64 {
    let of_row = |i: usize| {
        let offsets = samples.row(i).iter().zip(centre).map(|(x, c)| (x.to_f64() - c).abs());
        offsets.fold(0.0, f64::max)
    };
    rows.map(of_row).fold(0.0, f64::max)
}

/// Σ w·x / Σ w
fn weighted_mean<S: Scalar>(samples: &Matrix<'_, S>, weights: &[f64]) -> Vec<f64> {
    // Scaling by the largest first keeps sums of huge weights finite.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let of_block = |rows| weighted_sums_of_block(samples, weights, largest, rows);
    let mut sums = sum_in_order(blocks(samples.rows()).map(of_block).collect());
    let total = sums.pop().unwrap_or(1.0);
    sums.into_iter().map(|sum| sum / total).collect()
}

/// Σ w·x of a block of samples, and Σ w behind it; `largest` is what weights are divided by.
fn weighted_sums_of_block<S: Scalar>(
    samples: &Matrix<'_, S>,
    weights: &[f64],
    largest: f64,
    rows: Range<usize>,
) -> Vec<f64> {
    let mut sums = vec![0.0; samples.columns() + 1];
    for i in rows {
        let weight = weights[i] / largest;
        let row = samples.row(i).iter().map(|x| x.to_f64()).chain([1.0]);
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x);
    }
    sums
}

/// out = factor·a·bᵀ, both with `p` numbers a row.
pub(super) fn products(a: &[f32], b: &[f32], p: usize, factor: f32, out: &mut [f32]) {
    let (rows, columns) = (a.len() / p, b.len() / p);
    matmul(
        MatMut::from_row_major_slice_mut(out, rows, columns),
        Accum::Replace,
        MatRef::from_row_major_slice(a, rows, p),
        MatRef::from_row_major_slice(b, columns, p).transpose(),
        factor,
        Par::Seq,
    );
}

/// ‖x‖²
pub(super) fn squared_norm(x: &[f32]) -> f32 {
    x.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() as f32
}

/// The least of values + shift and its place, the first of equals: a least one in every lane, then
/// the least of those.
#[inline(always)]
fn least_of(values: &[f32], shift: &[f32]) -> (f32, u32) {
    const LANES: usize = 16;
    let (mut least, mut group) = ([f32::INFINITY; LANES], [0u32; LANES]);
    let (value_groups, value_rest) = values.as_chunks::<LANES>();
    let (shift_groups, shift_rest) = shift.as_chunks::<LANES>();
    for (at, (values, shift)) in value_groups.iter().zip(shift_groups).enumerate() {
        for lane in 0..LANES {
            let value = values[lane] + shift[lane];
            let better = value < least[lane];
            least[lane] = if better { value } else { least[lane] };
            group[lane] = if better { at as u32 } else { group[lane] };
        }
    }
    let mut best = (f32::INFINITY, 0);
    for lane in 0..LANES {
        let place = group[lane] * LANES as u32 + lane as u32;
        if least[lane] < best.0 || (least[lane] == best.0 && place < best.1) {
            best = (least[lane], place);
        }
    }
    let first = values.len() - value_rest.len();
    for (at, (value, shift)) in value_rest.iter().zip(shift_rest).enumerate() {
        if value + shift < best.0 {
            best = (value + shift, (first + at) as u32);
        }
    }
    best
}
