//! Convolution of a field on a regular grid with an even kernel, by the fast Fourier transform:
//!
//! ```text
//! out[i] = Σ_j g[i − j]·f[j]    for i, j among ny×nx nodes
//! ```
//!
//! On a grid that is padded with zeros to more than twice the nodes of an axis, the sum is a cyclic one, and a product of
//! transforms. An even kernel has a real transform, so that a field, itself real, is packed two rows to a complex one.
//! Zeros are not transformed: rows are, as far as there are nodes, and each column of their transforms is then padded, transformed,
//! multiplied and brought back in one go, in a buffer that stays in the cache. The padded transform is never held as a whole.
//!
//! Rows and columns are transformed one by one, so that the bytes do not depend on the number of threads.

use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

/// Columns that are transformed by one task: a cache line of complex numbers holds four.
const TILE: usize = 8;

/// An axis of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Nodes that hold something.
    pub(crate) nodes: usize,
    /// Nodes of the cyclic grid; 1 for an axis that a grid of one dimension lacks.
    pub(crate) padded: usize,
}

/// The transforms along one axis.
#[derive(Clone)]
struct Transforms {
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
}

impl Transforms {
    fn new(planner: &mut FftPlanner<f64>, length: usize) -> Self {
        Self { forward: planner.plan_fft_forward(length), inverse: planner.plan_fft_inverse(length) }
    }

    fn scratch(&self) -> Vec<Complex<f64>> {
        let length = self.forward.get_inplace_scratch_len().max(self.inverse.get_inplace_scratch_len());
        vec![Complex::default(); length]
    }
}

/// The convolution with one kernel, and the space it takes.
pub(crate) struct Convolution {
    rows: Axis,
    columns: Axis,
    along_rows: Transforms,
    along_columns: Transforms,
    /// The transform of the kernel, column by column, over the number of nodes of the cyclic grid.
    spectrum: Vec<f64>,
    /// Transforms of the rows of the field.
    transforms: Vec<Complex<f64>>,
    /// The same after the columns were convolved, [`TILE`] columns after another.
    tiles: Vec<Complex<f64>>,
}

impl Convolution {
    /// Prepares the convolution with the kernel `g[row][column]`, divided by the product of one `filter` for each axis: the transform, at
    /// every frequency from 0 to that of the padded axis, of what the field was smoothed with.
    pub(crate) fn new(
        [rows, columns]: [Axis; 2],
        kernel: impl Fn(usize, usize) -> f64 + Sync,
        filter: impl Fn(f64) -> f64,
    ) -> Self {
        let mut planner = FftPlanner::new();
        let [along_columns, along_rows] = [rows, columns].map(|axis| Transforms::new(&mut planner, axis.padded));
        let kept = columns.padded / 2 + 1;
        let tiles = kept.div_ceil(TILE);
        let mut convolution = Self {
            rows,
            columns,
            along_rows,
            along_columns,
            spectrum: Vec::new(),
            transforms: vec![Complex::default(); rows.nodes.next_multiple_of(2) * kept],
            tiles: vec![Complex::default(); tiles * rows.nodes * TILE],
        };
        convolution.spectrum = convolution.transformed(kernel);
        let filters = [rows, columns].map(|axis| -> Vec<f64> {
            let turn = std::f64::consts::TAU / axis.padded as f64;
            (0..axis.padded).map(|k| if axis.padded == 1 { 1.0 } else { filter(turn * k as f64) }).collect()
        });
        let nodes = (rows.padded * columns.padded) as f64;
        for (column, values) in convolution.spectrum.chunks_exact_mut(rows.padded).enumerate() {
            for (value, by_row) in values.iter_mut().zip(&filters[0]) {
                *value /= nodes * by_row * filters[1][column];
            }
        }
        convolution
    }

    /// Number of columns of a real transform: the others are their mirror image.
    fn kept(&self) -> usize {
        self.columns.padded / 2 + 1
    }

    /// The transform of an even kernel, which is real, column by column.
    fn transformed(&self, kernel: impl Fn(usize, usize) -> f64 + Sync) -> Vec<f64> {
        let (kept, [height, width]) = (self.kept(), [self.rows.padded, self.columns.padded]);
        // Two even rows as one complex one: the transforms of both are real and do not mix.
        let half = height / 2 + 1;
        let mut by_rows = vec![0.0; half.next_multiple_of(2) * kept];
        by_rows.par_chunks_mut(2 * kept).enumerate().for_each_init(
            || (vec![Complex::default(); width], self.along_rows.scratch()),
            |(line, scratch), (pair, out)| {
                for (x, value) in line.iter_mut().enumerate() {
                    let at = |y: usize| kernel(y, x.min(width - x));
                    *value = Complex::new(at(2 * pair), at(2 * pair + 1));
                }
                self.along_rows.forward.process_with_scratch(line, scratch);
                let (first, second) = out.split_at_mut(kept);
                for ((value, first), second) in line.iter().zip(first).zip(second) {
                    (*first, *second) = (value.re, value.im);
                }
            },
        );
        let mut spectrum = vec![0.0; kept * height];
        spectrum.par_chunks_mut(2 * height).enumerate().for_each_init(
            || (vec![Complex::default(); height], self.along_columns.scratch()),
            |(line, scratch), (pair, out)| {
                for (y, value) in line.iter_mut().enumerate() {
                    let row = &by_rows[y.min(height - y) * kept..][..kept];
                    *value = Complex::new(row[2 * pair], row.get(2 * pair + 1).copied().unwrap_or(0.0));
                }
                self.along_columns.forward.process_with_scratch(line, scratch);
                let (first, second) = out.split_at_mut(height);
                first.iter_mut().zip(line.iter()).for_each(|(out, value)| *out = value.re);
                second.iter_mut().zip(line.iter()).for_each(|(out, value)| *out = value.im);
            },
        );
        spectrum
    }

    /// What the filtered kernel is at the first `count` offsets along each axis, row by row.
    pub(crate) fn kernel_near_zero(&self, count: usize) -> Vec<f64> {
        let (kept, [height, width]) = (self.kept(), [self.rows.padded, self.columns.padded]);
        let cosines = |length: usize, offset: usize| -> Vec<f64> {
            let turn = std::f64::consts::TAU / length as f64;
            (0..length).map(|k| (turn * (k * offset % length) as f64).cos()).collect()
        };
        let by_row: Vec<Vec<f64>> = (0..count).map(|offset| cosines(height, offset)).collect();
        let by_column: Vec<Vec<f64>> = (0..count).map(|offset| cosines(width, offset)).collect();
        let mut out = vec![0.0; count * count];
        for (column, values) in self.spectrum.chunks_exact(height).enumerate().take(kept) {
            let mirrored = column > 0 && 2 * column != width;
            for (cosines, out) in by_row.iter().zip(out.chunks_exact_mut(count)) {
                let sum = crate::numeric::vector::dot(values, cosines) * if mirrored { 2.0 } else { 1.0 };
                out.iter_mut().zip(&by_column).for_each(|(out, cosines)| *out += sum * cosines[column]);
            }
        }
        out
    }

    /// Convolves a field, row by row, and writes the result over it.
    pub(crate) fn apply(&mut self, field: &mut [f64]) {
        self.transform_rows(field);
        self.convolve_columns();
        self.bring_back(field);
    }

    fn transform_rows(&mut self, field: &[f64]) {
        let (kept, nodes, width) = (self.kept(), self.columns.nodes, self.columns.padded);
        let along = &self.along_rows;
        self.transforms.par_chunks_mut(2 * kept).zip(field.par_chunks(2 * nodes)).for_each_init(
            || (vec![Complex::default(); width], along.scratch()),
            |(line, scratch), (out, rows)| {
                let (first, second) = rows.split_at(nodes);
                line.iter_mut().zip(first).for_each(|(value, &re)| *value = Complex::new(re, 0.0));
                line.iter_mut().zip(second).for_each(|(value, &im)| value.im = im);
                line[nodes..].fill(Complex::default());
                along.forward.process_with_scratch(line, scratch);
                // The transforms of two real rows, untangled: F(−k) is the conjugate of F(k).
                let (first, second) = out.split_at_mut(kept);
                for (k, (first, second)) in first.iter_mut().zip(second).enumerate() {
                    let (here, there) = (line[k], line[(width - k) % width].conj());
                    *first = (here + there).scale(0.5);
                    let turned = (here - there).scale(0.5);
                    *second = Complex::new(turned.im, -turned.re);
                }
            },
        );
    }

    fn convolve_columns(&mut self) {
        let (kept, nodes, height) = (self.kept(), self.rows.nodes, self.rows.padded);
        let (along, transforms, spectrum) = (&self.along_columns, &self.transforms, &self.spectrum);
        self.tiles.par_chunks_mut(nodes * TILE).enumerate().for_each_init(
            || (vec![Complex::default(); TILE * height], along.scratch()),
            |(lines, scratch), (tile, out)| {
                crate::interrupt::look();
                let first = tile * TILE;
                let width = TILE.min(kept - first);
                let lines = &mut lines[..width * height];
                for (y, row) in transforms.chunks_exact(kept).take(nodes).enumerate() {
                    row[first..first + width].iter().enumerate().for_each(|(c, value)| lines[c * height + y] = *value);
                }
                for (line, spectrum) in
                    lines.chunks_exact_mut(height).zip(spectrum[first * height..].chunks_exact(height))
                {
                    line[nodes..].fill(Complex::default());
                    along.forward.process_with_scratch(line, scratch);
                    line.iter_mut().zip(spectrum).for_each(|(value, by)| *value = value.scale(*by));
                    along.inverse.process_with_scratch(line, scratch);
                }
                for (y, out) in out.chunks_exact_mut(TILE).enumerate() {
                    out[..width].iter_mut().enumerate().for_each(|(c, out)| *out = lines[c * height + y]);
                }
            },
        );
    }

    fn bring_back(&mut self, field: &mut [f64]) {
        let (kept, nodes, width) = (self.kept(), self.columns.nodes, self.columns.padded);
        let (along, tiles, tile_size) = (&self.along_rows, &self.tiles, self.rows.nodes * TILE);
        field.par_chunks_mut(2 * nodes).enumerate().for_each_init(
            || (vec![Complex::default(); width], along.scratch()),
            |(line, scratch), (pair, out)| {
                let has_second = out.len() > nodes;
                for k in 0..kept {
                    let at = |y: usize| tiles[k / TILE * tile_size + y * TILE + k % TILE];
                    let first = at(2 * pair);
                    let second = if has_second { at(2 * pair + 1) } else { Complex::default() };
                    // first + i·second, and at the mirror image what is the conjugate of both.
                    line[k] = Complex::new(first.re - second.im, first.im + second.re);
                    if k > 0 && 2 * k != width {
                        line[width - k] = Complex::new(first.re + second.im, second.re - first.im);
                    }
                }
                along.inverse.process_with_scratch(line, scratch);
                let (first, second) = out.split_at_mut(nodes);
                first.iter_mut().zip(line.iter()).for_each(|(out, value)| *out = value.re);
                second.iter_mut().zip(line.iter()).for_each(|(out, value)| *out = value.im);
            },
        );
    }
}

/// The least length from `least` on, even and a product of small primes, that transforms are fast at.
pub(crate) fn fast_length(least: usize) -> usize {
    let is_fast = |length: usize| {
        let mut rest = length;
        while rest.is_multiple_of(2) {
            rest /= 2;
        }
        while rest.is_multiple_of(3) {
            rest /= 3;
        }
        rest == 1 || rest == 5
    };
    (least.next_multiple_of(4)..).step_by(4).find(|&length| is_fast(length)).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(length: usize) -> Vec<f64> {
        (0..length).map(|i| ((i * 7919 + i * i * 31) % 1009) as f64 / 504.5 - 1.0).collect()
    }

    fn kernel(y: usize, x: usize) -> f64 {
        1.0 / (1.0 + (y * y) as f64 + 0.5 * (x * x) as f64 + (x * y) as f64)
    }

    #[test]
    fn it_is_the_sum_over_all_pairs_of_nodes() {
        for (height, width) in [(7, 5), (6, 1), (1, 9), (12, 12), (3, 21)] {
            let axis = |nodes: usize| Axis { nodes, padded: if nodes == 1 { 1 } else { fast_length(2 * nodes) } };
            let mut convolution = Convolution::new([axis(height), axis(width)], kernel, |_| 1.0);
            let field = field(height * width);
            let mut found = field.clone();
            convolution.apply(&mut found);
            for (at, found) in found.iter().enumerate() {
                let (y, x) = (at / width, at % width);
                let pair = |(j, f): (usize, &f64)| f * kernel(y.abs_diff(j / width), x.abs_diff(j % width));
                let expected: f64 = field.iter().enumerate().map(pair).sum();
                assert!((found - expected).abs() < 1e-12, "{height}×{width}, node {at}: {found} {expected}");
            }
            let near = convolution.kernel_near_zero(2.min(height).min(width));
            assert!((near[0] - kernel(0, 0)).abs() < 1e-12, "{near:?}");
            if near.len() == 4 {
                let expected = [kernel(0, 0), kernel(0, 1), kernel(1, 0), kernel(1, 1)];
                assert!(near.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{near:?}");
            }
        }
    }

    #[test]
    fn fast_lengths_are_even_and_not_much_longer() {
        assert_eq!((fast_length(1), fast_length(17), fast_length(100), fast_length(1025)), (4, 20, 108, 1080));
        assert!((8..3000).all(|least| (least..=least + least / 4 + 4).contains(&fast_length(least))));
    }
}
