//! Repulsion on a regular grid, for a prototype for every sample: O(N) and a Fourier transform instead of O(N²).
//!
//! The repulsion under the KL loss is a potential, φ(x) = Σ_l q_l·w(‖x − z_l‖²), and all that is asked for are its values and its
//! slopes at the prototypes:
//!
//! ```text
//! rows       q_k·(Wq)_k                        = q_k·φ(z_k)
//! gradient   Σ_l q_l·w′(d²_kl)·(z_k − z_l)     = ½·∇φ(z_k)
//! ```
//!
//! The kernel is smooth, so that it is interpolated by quintic B-splines S on nodes a distance h apart, in both its arguments:
//!
//! ```text
//! w(‖x − z‖²) ≈ Σ_ij S(x/h − i)·g_{i−j}·S(z/h − j)
//! ```
//!
//! with g such that the two agree at the nodes: the samples of w over the transform of the samples of S, twice. So weights are spread to 6 nodes
//! along each axis, convolved with g (`numeric/fourier.rs`), and values and slopes are read off the same splines. One field is transformed,
//! where schemes that interpolate the forces (Linderman et al., 2019) transform three or four. What is computed is the gradient of what
//! is computed as a value, whatever h is; and the pair of a prototype with itself is taken out exactly as it was put in.
//!
//! The spacing that keeps gradients within 1% is [`widest_spacing`]; on a map that is small next to the kernel, as at the start of a descent,
//! it is halved until the map has [`LEAST_NODES`]. Where a map needs more nodes than [`MOST_NODES`], or so many that a tree is sooner done,
//! nothing is returned, and the sum is left to another way (`repulsion.rs`).
//!
//! Weights are spread strip by strip of the grid, each by one task and in the order of the prototypes: the same bytes for any number of threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::pairs::{Coordinates, PairSum};
use super::profile::Profile;
use crate::numeric::blocks::BLOCK;
use crate::numeric::fourier::{Axis, Convolution, fast_length};
use crate::numeric::vector::vectorized;

/// Nodes across a map, at least: near the start of a descent, on a map much smaller than the kernel, only differences count.
const LEAST_NODES: f64 = 48.0;
/// Times that nodes are brought closer, at most: on a map smaller than that the kernel is a parabola, which splines follow exactly, and between
/// nodes closer still nothing but rounding is left of its slope.
const MOST_HALVINGS: f64 = 13.0;
/// Nodes of a grid, at most.
const MOST_NODES: usize = 1 << 22;
/// Nodes for each prototype, at most, and prototypes, at least: else a tree is sooner done.
const NODES_OF_A_PROTOTYPE: usize = 10;
const LEAST_PROTOTYPES: usize = 5000;
/// Nodes between the farthest two and the middle of the cyclic grid, where the kernel has a kink that interpolation feels around it.
const MARGIN: usize = 10;
/// Nodes that a prototype touches along an axis.
const SUPPORT: usize = 6;
/// Rows of the grid that one task spreads weights to.
const STRIP: usize = 32;

/// The repulsion between prototypes in one or two dimensions.
pub(super) struct Grid {
    /// Whether the pair of a prototype with itself counts.
    pub(super) self_pairs: bool,
    /// What the last pass prepared: most of the next ones need the same.
    prepared: Mutex<Option<Prepared>>,
}

/// The convolution for one spacing and size of the grid.
struct Prepared {
    layout: Layout,
    profile: Profile,
    convolution: Convolution,
    /// g at the offsets 0 to 5 along each axis.
    near: [[f64; SUPPORT]; SUPPORT],
}

/// Where the nodes are.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Layout {
    /// h
    spacing: f64,
    rows: Axis,
    columns: Axis,
}

impl Grid {
    pub(super) fn new(self_pairs: bool) -> Self {
        Self { self_pairs, prepared: Mutex::new(None) }
    }

    /// The sum cᵀWc with charges c, without the factor c_k in the gradient at prototype k; nothing where a grid is not worth it.
    pub(super) fn sum(&self, profile: Profile, coordinates: &Coordinates, charges: &[f64]) -> Option<PairSum> {
        let of_axis = |c: usize| span(&coordinates.axis(c)[..coordinates.prototypes]);
        let spans = (0..coordinates.dims).map(of_axis).collect::<Option<Vec<(f64, f64)>>>()?;
        let layout = Layout::new(widest_spacing(profile)?, &spans, coordinates.prototypes)?;
        let held = self.held().take();
        let mut prepared = match held {
            Some(prepared) if prepared.layout == layout && prepared.profile == profile => prepared,
            _ => Prepared::new(layout, profile),
        };
        // Nodes are counted from the middle of the map, so that the grid has room on both sides.
        let corner =
            |(low, high): &(f64, f64), axis: Axis| 0.5 * (low + high) - 0.5 * layout.spacing * (axis.nodes - 1) as f64;
        let own = if self.self_pairs { profile.at(0.0).w } else { 0.0 };
        let axis = |c: usize| &coordinates.axis(c)[..coordinates.prototypes];
        let sum = match &spans[..] {
            [row] => {
                let corners = [corner(row, layout.rows), 0.0];
                prepared.sum::<1>(Charged { places: [axis(0), axis(0)], charges }, corners, own)
            }
            [column, row] => {
                let corners = [corner(row, layout.rows), corner(column, layout.columns)];
                prepared.sum::<SUPPORT>(Charged { places: [axis(1), axis(0)], charges }, corners, own)
            }
            _ => return None,
        };
        *self.held() = Some(prepared);
        Some(sum)
    }

    /// What was prepared. Not to be held while others work: a thread that waits for them may be given another sum of the same grid, of a
    /// descent beside this one, and would wait for itself. So it is taken out, and whoever finds nothing prepares anew.
    fn held(&self) -> MutexGuard<'_, Option<Prepared>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The distance of nodes on a wide map, in units of the kernel: such that on any places, and if every prototype stands alone, gradients are
/// within 1% of the exact ones. It is set by how fast the transform of the kernel falls: exp(−|k|) for Student's, exp(−|k|/√2) for the
/// heavy-tailed one. None where the kernel is not smooth.
fn widest_spacing(profile: Profile) -> Option<f64> {
    match profile {
        Profile::Student => Some(0.36),
        Profile::HeavyTailed => Some(0.26),
        Profile::Gaussian => Some(0.55),
        Profile::Umap { .. } => None,
    }
}

/// Bytes that a grid for so many prototypes takes, at most: of a node its field, its transforms before and after the columns, and four numbers
/// of the kernel's.
pub(crate) fn most_bytes(prototypes: u64) -> u64 {
    72 * (NODES_OF_A_PROTOTYPE as u64 * prototypes).min(MOST_NODES as u64)
}

/// The least and the largest; none if there is anything among them that is not a number, which `min` and `max` would pass over.
fn span(values: &[f64]) -> Option<(f64, f64)> {
    let is_finite = values.iter().all(|value| value.is_finite());
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    is_finite.then(|| values.iter().fold(ends, |(low, high), &v| (low.min(v), high.max(v))))
}

impl Layout {
    /// The grid for a map that spans this much; none if it is not worth it.
    fn new(widest: f64, spans: &[(f64, f64)], prototypes: usize) -> Option<Self> {
        if spans.iter().any(|(low, high)| !(high - low).is_finite()) {
            return None;
        }
        let width = spans.iter().map(|(low, high)| high - low).fold(0.0, f64::max);
        if !width.is_finite() {
            return None;
        }
        let halvings = (LEAST_NODES * widest / width).log2().ceil().clamp(0.0, MOST_HALVINGS);
        let spacing = widest * (-halvings).exp2();
        let axis = |(low, high): &(f64, f64)| {
            let nodes = (high - low) / spacing + (SUPPORT + 1) as f64;
            let padded = fast_length(2 * (nodes.min(MOST_NODES as f64) as usize + MARGIN));
            Axis { nodes: padded / 2 - MARGIN, padded }
        };
        let flat = Axis { nodes: 1, padded: 1 };
        let [rows, columns] = match spans {
            [row] => [axis(row), flat],
            [column, row] => [axis(row), axis(column)],
            _ => return None,
        };
        let nodes = rows.nodes.saturating_mul(columns.nodes);
        let is_worth_it = prototypes >= LEAST_PROTOTYPES && nodes <= NODES_OF_A_PROTOTYPE * prototypes;
        (nodes <= MOST_NODES && is_worth_it).then_some(Self { spacing, rows, columns })
    }
}

impl Prepared {
    fn new(layout: Layout, profile: Profile) -> Self {
        let square = layout.spacing * layout.spacing;
        let kernel = |y: usize, x: usize| profile.at(square * (y * y + x * x) as f64).w;
        // The transform of the spline at the nodes, (1, 26, 66, 26, 1)/120; once for each argument of the kernel.
        let smoothed = |angle: f64| ((66.0 + 52.0 * angle.cos() + 2.0 * (2.0 * angle).cos()) / 120.0).powi(2);
        let convolution = Convolution::new([layout.rows, layout.columns], kernel, smoothed);
        let values = convolution.kernel_near_zero(SUPPORT);
        let near = std::array::from_fn(|row| std::array::from_fn(|column| values[row * SUPPORT + column]));
        Self { layout, profile, convolution, near }
    }

    /// Spreads the charges, convolves, and reads values and slopes. With `WIDE` = 1 there is but one column of nodes.
    fn sum<const WIDE: usize>(&mut self, charged: Charged<'_>, corner: [f64; 2], own: f64) -> PairSum {
        let Layout { spacing, rows, columns } = self.layout;
        let frame = Frame { corner, density: 1.0 / spacing };
        let Charged { charges, .. } = charged;
        let prototypes = charged.places[0].len();
        let mut field = vec![0.0; rows.nodes * columns.nodes];
        spread::<WIDE>(&mut field, [rows.nodes, columns.nodes], charged, frame);
        self.convolution.apply(&mut field);
        let (near, dims) = (&self.near, if WIDE == 1 { 1 } else { 2 });
        let (mut sums, mut gradient) = (vec![0.0; prototypes], vec![0.0; prototypes * dims]);
        sums.par_chunks_mut(BLOCK).zip(gradient.par_chunks_mut(BLOCK * dims)).enumerate().for_each(
            |(block, (sums, gradient))| {
                vectorized(
                    #[inline(always)]
                    || {
                        for (at, (sum, slopes)) in sums.iter_mut().zip(gradient.chunks_exact_mut(dims)).enumerate() {
                            let k = block * BLOCK + at;
                            let stencil = Stencil::<WIDE>::of(charged, frame, k);
                            let [value, by_row, by_column] = stencil.read(&field, columns.nodes);
                            let [self_value, self_by_row, self_by_column] = stencil.of_itself(near);
                            let charge = charges[k];
                            *sum = charge * (value - charge * (self_value - own));
                            let half = 0.5 / spacing;
                            slopes[dims - 1] = half * (by_row - charge * self_by_row);
                            if WIDE > 1 {
                                slopes[0] = half * (by_column - charge * self_by_column);
                            }
                        }
                    },
                );
            },
        );
        // No spring is stiffer than where the kernel is steepest in d², which for all smooth kernels is as steep as the kernel is high.
        let stiffness = sums.iter().zip(charges).map(|(sum, charge)| if *charge > 0.0 { sum / charge } else { 0.0 });
        PairSum { stiffness: stiffness.collect(), rows: sums, gradient }
    }
}

/// Prototypes: where they are, rows first, and what they are charged with.
#[derive(Clone, Copy)]
struct Charged<'a> {
    places: [&'a [f64]; 2],
    charges: &'a [f64],
}

/// Where the first node is, and how many nodes there are along a unit of length.
#[derive(Clone, Copy)]
struct Frame {
    corner: [f64; 2],
    density: f64,
}

impl Frame {
    /// A place along an axis, counted in nodes.
    #[inline(always)]
    fn in_nodes(self, axis: usize, place: f64) -> f64 {
        (place - self.corner[axis]) * self.density
    }
}

/// The first node that a place counted in nodes touches.
#[inline(always)]
fn first_node(place: f64) -> usize {
    place as usize - (SUPPORT / 2 - 1)
}

/// The nodes that a place touches and the splines there: 6 rows, and `WIDE` columns.
struct Stencil<const WIDE: usize> {
    /// The first row and column.
    first: [usize; 2],
    by_row: Spline<SUPPORT>,
    by_column: Spline<WIDE>,
}

/// The splines of some nodes next to each other at one place, and their slopes.
struct Spline<const WIDE: usize> {
    /// The way from the node before to the one behind, between 0 and 1.
    t: f64,
    values: [f64; WIDE],
    slopes: [f64; WIDE],
}

/// The quintic spline between two nodes, at the six nodes around: row p holds the coefficients of t^p, t the way from the one to the other.
const QUINTIC: [[f64; SUPPORT]; 6] = over_120([
    [1.0, 26.0, 66.0, 26.0, 1.0, 0.0],
    [-5.0, -50.0, 0.0, 50.0, 5.0, 0.0],
    [10.0, 20.0, -60.0, 20.0, 10.0, 0.0],
    [-10.0, 20.0, 0.0, -20.0, 10.0, 0.0],
    [5.0, -20.0, 30.0, -20.0, 5.0, 0.0],
    [-1.0, 5.0, -10.0, 10.0, -5.0, 1.0],
]);

const fn over_120(mut table: [[f64; SUPPORT]; 6]) -> [[f64; SUPPORT]; 6] {
    let mut at = 0;
    while at < 6 * SUPPORT {
        table[at / SUPPORT][at % SUPPORT] /= 120.0;
        at += 1;
    }
    table
}

/// Σ S_a·S_b over the pairs of nodes that lie 0, 1, … apart, as polynomials of t likewise.
const WITH_ITSELF: [[f64; SUPPORT]; 11] = products_by_distance();

const fn products_by_distance() -> [[f64; SUPPORT]; 11] {
    let mut table = [[0.0; SUPPORT]; 11];
    let mut at = 0;
    while at < 36 * SUPPORT * SUPPORT {
        let (p, q, a, b) = (at / 216, at / 36 % 6, at / 6 % 6, at % 6);
        table[p + q][a.abs_diff(b)] += QUINTIC[p][a] * QUINTIC[q][b];
        at += 1;
    }
    table
}

/// Six polynomials at t, and their slopes, by Horner's rule.
#[inline(always)]
fn polynomials<const TERMS: usize>(table: &[[f64; SUPPORT]; TERMS], t: f64) -> [[f64; SUPPORT]; 2] {
    let (mut values, mut slopes) = (table[TERMS - 1], [0.0; SUPPORT]);
    for coefficients in table[..TERMS - 1].iter().rev() {
        for a in 0..SUPPORT {
            slopes[a] = slopes[a] * t + values[a];
            values[a] = values[a] * t + coefficients[a];
        }
    }
    [values, slopes]
}

impl<const WIDE: usize> Spline<WIDE> {
    /// At a place counted in nodes. Without an axis there is one node, and it is all there is.
    #[inline(always)]
    fn at(place: f64) -> Self {
        if WIDE == 1 {
            return Self { t: 0.0, values: [1.0; WIDE], slopes: [0.0; WIDE] };
        }
        let t = place - place.floor();
        let [values, slopes] = polynomials(&QUINTIC, t).map(|of_nodes| std::array::from_fn(|a| of_nodes[a]));
        Self { t, values, slopes }
    }

    /// Σ S_a·S_b and Σ S′_a·S_b over the pairs of nodes that lie 0, 1, … apart. The second is half the slope of the first.
    #[inline(always)]
    fn with_itself(&self) -> [[f64; SUPPORT]; 2] {
        if WIDE == 1 {
            let alone = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            return [alone, [0.0; SUPPORT]];
        }
        let [values, slopes] = polynomials(&WITH_ITSELF, self.t);
        [values, slopes.map(|slope| 0.5 * slope)]
    }
}

impl<const WIDE: usize> Stencil<WIDE> {
    /// Around a prototype.
    #[inline(always)]
    fn of(charged: Charged<'_>, frame: Frame, k: usize) -> Self {
        let [row, column] = [0, 1].map(|axis| frame.in_nodes(axis, charged.places[axis][k]));
        let first_column = if WIDE == 1 { 0 } else { first_node(column) };
        Self { first: [first_node(row), first_column], by_row: Spline::at(row), by_column: Spline::at(column) }
    }

    /// The field here, and its slopes along rows and columns.
    #[inline(always)]
    fn read(&self, field: &[f64], columns: usize) -> [f64; 3] {
        let mut sums = [0.0; 3];
        for a in 0..SUPPORT {
            let nodes = &field[(self.first[0] + a) * columns + self.first[1]..][..WIDE];
            let (mut value, mut slope) = (0.0, 0.0);
            for (b, node) in nodes.iter().enumerate() {
                value += self.by_column.values[b] * node;
                slope += self.by_column.slopes[b] * node;
            }
            sums[0] += self.by_row.values[a] * value;
            sums[1] += self.by_row.slopes[a] * value;
            sums[2] += self.by_row.values[a] * slope;
        }
        sums
    }

    /// What a charge of one here reads of itself.
    #[inline(always)]
    fn of_itself(&self, near: &[[f64; SUPPORT]; SUPPORT]) -> [f64; 3] {
        let ([row_values, row_slopes], [values, slopes]) = (self.by_row.with_itself(), self.by_column.with_itself());
        let mut sums = [0.0; 3];
        for (a, near) in near.iter().enumerate() {
            let (mut value, mut slope) = (0.0, 0.0);
            for b in 0..WIDE {
                value += values[b] * near[b];
                slope += slopes[b] * near[b];
            }
            sums[0] += row_values[a] * value;
            sums[1] += row_slopes[a] * value;
            sums[2] += row_values[a] * slope;
        }
        sums
    }
}

/// Adds every charge to the nodes around it.
fn spread<const WIDE: usize>(field: &mut [f64], [rows, columns]: [usize; 2], charged: Charged<'_>, frame: Frame) {
    // Prototypes in the order of the first row that they touch, and within it in their own.
    let first_row = |&place: &f64| first_node(frame.in_nodes(0, place)) as u32;
    let first_rows: Vec<u32> = charged.places[0].par_iter().with_min_len(BLOCK).map(first_row).collect();
    let mut starts = vec![0; rows + 1];
    first_rows.iter().for_each(|&row| starts[row as usize + 1] += 1);
    (0..rows).for_each(|row| starts[row + 1] += starts[row]);
    let mut next = starts.clone();
    let mut order = vec![0u32; first_rows.len()];
    for (k, &row) in first_rows.iter().enumerate() {
        order[next[row as usize]] = k as u32;
        next[row as usize] += 1;
    }
    field.par_chunks_mut(STRIP * columns).enumerate().for_each(|(strip, nodes)| {
        crate::interrupt::look();
        let (top, below) = (strip * STRIP, strip * STRIP + nodes.len() / columns);
        let touching = starts[top.saturating_sub(SUPPORT - 1)]..starts[below];
        vectorized(
            #[inline(always)]
            || {
                for &k in &order[touching.clone()] {
                    let Stencil { first, by_row, by_column } = Stencil::<WIDE>::of(charged, frame, k as usize);
                    let charge = charged.charges[k as usize];
                    for a in 0..SUPPORT {
                        let row = first[0] + a;
                        if (top..below).contains(&row) {
                            let part = charge * by_row.values[a];
                            let nodes = &mut nodes[(row - top) * columns + first[1]..][..WIDE];
                            nodes.iter_mut().zip(by_column.values).for_each(|(node, value)| *node += part * value);
                        }
                    }
                }
            },
        );
    });
}

#[cfg(test)]
#[path = "grid_tests.rs"]
mod tests;
