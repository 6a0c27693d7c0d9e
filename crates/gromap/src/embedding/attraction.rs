//! Attraction: the sum ⟨M, a(W)⟩ over pairs of prototypes, and its gradient.
//!
//! | loss | a(W) | ∂a/∂d² |
//! |---|---|---|
//! | KL | log W | ∂ log W/∂d² |
//! | binary cross-entropy | log W − log(1−W) | (∂ log W/∂d²) / (1−W) |
//!
//! The objective subtracts it: prototypes with much similarity between them, M_kl, are drawn together. A dense M (n×n)
//! needs the distances of all pairs, as the repulsion does, and shares them with it (`dense.rs`). With a prototype for
//! every sample, or for few samples, M is sparse as C_X is, and only its stored pairs are visited ([`of_stored_pairs`]).

use rayon::prelude::*;

use super::pairs::{At, Coordinates, PairSum, Part, Row, RowPass, Store, fill, kept_apart, run};
use super::profile::{Curve, Gaussian, HeavyTailed, Profile, RawKernel, Student, Umap};
use crate::loss::Loss;
use crate::numeric::blocks::BLOCK;
use crate::numeric::logarithm::ln;
use crate::numeric::vector::{LANES, vectorized};
use crate::similarity::Sparse;

/// Stores a, if its `VALUE` is asked for, and ∂a/∂d².
pub(super) struct Attraction<'r, const VALUE: bool> {
    values: &'r mut [f64],
    derivatives: &'r mut [f64],
}

impl<'r, const VALUE: bool> Attraction<'r, VALUE> {
    /// Room for `length` pairs in a row.
    #[inline(always)]
    pub(super) fn in_row(row: &'r mut Row, length: usize) -> Self {
        row.resize(length);
        Self { values: &mut row.values[..length], derivatives: &mut row.derivatives[..length] }
    }
}

impl<const VALUE: bool> Store for Attraction<'_, VALUE> {
    #[inline(always)]
    fn set(&mut self, loss: Loss, l: usize, kernel: RawKernel) {
        let [value, derivative] = match loss {
            Loss::BinaryCrossEntropy => attraction::<VALUE, true>(kernel),
            _ => attraction::<VALUE, false>(kernel),
        };
        self.derivatives[l] = derivative;
        if VALUE {
            self.values[l] = value;
        }
    }
}

/// a, if its `VALUE` is asked for, and ∂a/∂d².
#[inline(always)]
fn attraction<const VALUE: bool, const BCE: bool>(kernel: RawKernel) -> [f64; 2] {
    let RawKernel { log, log_derivative, odds, slope_by_odds, .. } = kernel;
    match (BCE, VALUE) {
        (false, _) => [log, log_derivative],
        (true, false) => [0.0, slope_by_odds * (1.0 + odds)],
        (true, true) => [-ln(odds), slope_by_odds * (1.0 + odds)], // log W − log(1 − W)
    }
}

/// A sparse M: M_kl = q_k·c·C_kl·q_l of a symmetric similarity C of samples and a factor c, or C itself. Pairs of a prototype with
/// itself do not attract, for they cannot come closer.
#[derive(Clone, Copy)]
pub(super) struct StoredPairs<'a> {
    /// C
    pub(super) similarity: &'a Sparse<'a, f32>,
    /// q, if C is without them.
    pub(super) weights: Option<&'a [f64]>,
    /// c
    pub(super) scale: f64,
}

impl StoredPairs<'_> {
    /// Σ_l M_kl, with M_kk if the pair of a prototype with itself counts.
    pub(super) fn margin(&self, k: usize, self_pairs: bool) -> f64 {
        let (columns, values) = self.similarity.row(k);
        let counted = columns.iter().zip(values).filter(|(l, _)| self_pairs || **l as usize != k);
        let weight = |l: usize| self.weights.map_or(1.0, |weights| weights[l]);
        self.scale * weight(k) * counted.map(|(&l, &value)| f64::from(value) * weight(l as usize)).sum::<f64>()
    }
}

/// The attraction between the stored pairs.
pub(super) fn of_stored_pairs<const VALUE: bool>(
    pairs: StoredPairs<'_>,
    profile: Profile,
    loss: Loss,
    coordinates: &Coordinates,
) -> PairSum {
    if coordinates.dims <= 2 {
        return on_plane::<VALUE>(pairs, profile, loss, coordinates);
    }
    let [sum] = run(&Pass::<VALUE> { pairs, profile, loss }, coordinates);
    sum
}

/// Rows that one task of [`on_plane`] handles.
const ROWS: usize = 128;

/// The same in one or two dimensions. Of all that a descent does at n = N this is the longest part, and it waits for memory: so the
/// coordinates of a prototype stand next to each other, those of a row's neighbours are gathered once, and what follows is arithmetic on a few
/// numbers in the cache, eight at a time.
fn on_plane<const VALUE: bool>(
    pairs: StoredPairs<'_>,
    profile: Profile,
    loss: Loss,
    coordinates: &Coordinates,
) -> PairSum {
    let (n, dims) = (coordinates.prototypes, coordinates.dims);
    let (x, y) = (coordinates.axis(0), coordinates.axis(dims - 1));
    let places: Vec<[f64; 2]> =
        (0..n).into_par_iter().with_min_len(BLOCK).map(|k| [x[k], if dims == 2 { y[k] } else { 0.0 }]).collect();
    let (mut rows, mut stiffness, mut gradient) = (vec![0.0; n], vec![0.0; n], vec![0.0; n * dims]);
    let parts = rows.par_chunks_mut(ROWS).zip(stiffness.par_chunks_mut(ROWS));
    parts.zip(gradient.par_chunks_mut(ROWS * dims)).enumerate().for_each_init(
        Gathered::default,
        |gathered, (block, ((rows, stiffness), gradient))| {
            crate::interrupt::look();
            vectorized(
                #[inline(always)]
                || {
                    for (at, out) in gradient.chunks_exact_mut(dims).enumerate() {
                        let k = block * ROWS + at;
                        gathered.fill(pairs, &places, k);
                        let [value, slope_x, slope_y, stiff] = gathered.sums::<VALUE>(profile, loss);
                        let factor = pairs.scale * pairs.weights.map_or(1.0, |weights| weights[k]);
                        rows[at] = factor * value;
                        stiffness[at] = factor * stiff;
                        out[0] = factor * slope_x;
                        if let Some(out) = out.get_mut(1) {
                            *out = factor * slope_y;
                        }
                    }
                },
            );
        },
    );
    PairSum { rows, gradient, stiffness }
}

/// The neighbours of one prototype: z_k − z_l and the mass of every pair, in groups of [`LANES`], the last of which ends in pairs without mass.
#[derive(Default)]
struct Gathered {
    groups: Vec<[[f64; LANES]; 3]>,
}

impl Gathered {
    #[inline(always)]
    fn fill(&mut self, pairs: StoredPairs<'_>, places: &[[f64; 2]], k: usize) {
        let (columns, values) = pairs.similarity.row(k);
        self.groups.clear();
        self.groups.resize(columns.len().div_ceil(LANES), [[0.0; LANES]; 3]);
        let [x, y] = places[k];
        for (group, (columns, values)) in self.groups.iter_mut().zip(columns.chunks(LANES).zip(values.chunks(LANES))) {
            let [by_x, by_y, masses] = group;
            for (lane, (&l, &value)) in columns.iter().zip(values).enumerate() {
                let place = places[l as usize];
                (by_x[lane], by_y[lane]) = (x - place[0], y - place[1]);
                masses[lane] = if l as usize == k { 0.0 } else { f64::from(value) };
            }
            if let Some(weights) = pairs.weights {
                masses.iter_mut().zip(columns).for_each(|(mass, &l)| *mass *= weights[l as usize]);
            }
        }
    }

    /// Σ_l m_l·a(d²_l) if asked for, Σ_l m_l·a′(d²_l)·(z_k − z_l), and −Σ_l m_l·a′(d²_l).
    #[inline(always)]
    fn sums<const VALUE: bool>(&self, profile: Profile, loss: Loss) -> [f64; 4] {
        // Every arm names its loss, and its profile, so that each loop is compiled for one of them.
        match (loss, profile) {
            (Loss::BinaryCrossEntropy, Profile::Gaussian) => self.sums_by::<VALUE, true>(Gaussian),
            (Loss::BinaryCrossEntropy, Profile::Student) => self.sums_by::<VALUE, true>(Student),
            (Loss::BinaryCrossEntropy, Profile::HeavyTailed) => self.sums_by::<VALUE, true>(HeavyTailed),
            (Loss::BinaryCrossEntropy, Profile::Umap { a, b }) => self.sums_by::<VALUE, true>(Umap { a, b }),
            (_, Profile::Gaussian) => self.sums_by::<VALUE, false>(Gaussian),
            (_, Profile::Student) => self.sums_by::<VALUE, false>(Student),
            (_, Profile::HeavyTailed) => self.sums_by::<VALUE, false>(HeavyTailed),
            (_, Profile::Umap { a, b }) => self.sums_by::<VALUE, false>(Umap { a, b }),
        }
    }

    #[inline(always)]
    fn sums_by<const VALUE: bool, const BCE: bool>(&self, curve: impl Curve) -> [f64; 4] {
        let mut sums = [[0.0; LANES]; 4];
        for [by_x, by_y, masses] in &self.groups {
            for lane in 0..LANES {
                let square = kept_apart(by_x[lane] * by_x[lane] + by_y[lane] * by_y[lane], &curve, BCE);
                let [value, derivative] = attraction::<VALUE, BCE>(curve.at::<true>(square));
                if VALUE {
                    sums[0][lane] += masses[lane] * value;
                }
                let force = masses[lane] * derivative;
                sums[1][lane] += force * by_x[lane];
                sums[2][lane] += force * by_y[lane];
                sums[3][lane] -= force;
            }
        }
        sums.map(|[a, b, c, d, e, f, g, h]| ((a + e) + (c + g)) + ((b + f) + (d + h)))
    }
}

/// The gradient alone, under the KL loss and in single precision: half the bytes to gather, and twice as many pairs at once. Places next to each
/// other on a map a thousand wide are then off by some 1e-4, less than what an approximate repulsion is off by. Nothing for UMAP's curve, and
/// for maps of more than two dimensions.
///
/// For the other profiles −∂ log w/∂d² = 1/(1 + c·d²), with c = 0 for the Gaussian, 1 for Student's and 2 for the heavy-tailed one.
pub(super) fn in_single_precision(
    pairs: StoredPairs<'_>,
    profile: Profile,
    coordinates: &Coordinates,
) -> Option<PairSum> {
    let c = match profile {
        Profile::Gaussian => 0.0,
        Profile::Student => 1.0,
        Profile::HeavyTailed => 2.0,
        Profile::Umap { .. } => return None,
    };
    let (n, dims) = (coordinates.prototypes, coordinates.dims);
    if dims > 2 {
        return None;
    }
    let (x, y) = (coordinates.axis(0), coordinates.axis(dims - 1));
    let place = |k: usize| [x[k] as f32, if dims == 2 { y[k] as f32 } else { 0.0 }];
    let places: Vec<[f32; 2]> = (0..n).into_par_iter().with_min_len(BLOCK).map(place).collect();
    let weights: Option<Vec<f32>> = pairs.weights.map(|weights| weights.iter().map(|&q| q as f32).collect());
    let (mut stiffness, mut gradient) = (vec![0.0; n], vec![0.0; n * dims]);
    let parts = stiffness.par_chunks_mut(ROWS).zip(gradient.par_chunks_mut(ROWS * dims));
    parts.enumerate().for_each(|(block, (stiffness, gradient))| {
        crate::interrupt::look();
        vectorized(
            #[inline(always)]
            || {
                for (at, out) in gradient.chunks_exact_mut(dims).enumerate() {
                    let k = block * ROWS + at;
                    let row = pairs.similarity.row(k);
                    let [by_x, by_y, stiff] = single_row(row, weights.as_deref(), &places, k, c);
                    let factor = pairs.scale * pairs.weights.map_or(1.0, |weights| weights[k]);
                    stiffness[at] = factor * f64::from(stiff);
                    out[0] = -factor * f64::from(by_x);
                    if let Some(out) = out.get_mut(1) {
                        *out = -factor * f64::from(by_y);
                    }
                }
            },
        );
    });
    Some(PairSum { rows: vec![0.0; n], gradient, stiffness })
}

/// Pairs that are handled side by side in single precision.
const WIDE: usize = 16;

/// Σ_l f_l·(z_k − z_l) and Σ_l f_l of a row, f = m/(1 + c·d²).
#[inline(always)]
fn single_row(
    (columns, values): (&[u32], &[f32]),
    weights: Option<&[f32]>,
    places: &[[f32; 2]],
    k: usize,
    c: f32,
) -> [f32; 3] {
    let [x, y] = places[k];
    let mut sums = [[0.0; WIDE]; 3];
    let mut add = |columns: &[u32; WIDE], masses: &[f32; WIDE]| {
        let (mut by_x, mut by_y, mut masses) = ([0.0; WIDE], [0.0; WIDE], *masses);
        for lane in 0..WIDE {
            [by_x[lane], by_y[lane]] = places[columns[lane] as usize];
        }
        if let Some(weights) = weights {
            masses.iter_mut().zip(columns).for_each(|(mass, &l)| *mass *= weights[l as usize]);
        }
        for lane in 0..WIDE {
            let (by_x, by_y) = (x - by_x[lane], y - by_y[lane]);
            let force = masses[lane] / (1.0 + c * (by_x * by_x + by_y * by_y));
            sums[0][lane] += force * by_x;
            sums[1][lane] += force * by_y;
            // What is in the same place, itself among it, is no spring.
            sums[2][lane] += if by_x * by_x + by_y * by_y > 0.0 { force } else { 0.0 };
        }
    };
    let ((columns, rest), (values, values_rest)) = (columns.as_chunks::<WIDE>(), values.as_chunks::<WIDE>());
    columns.iter().zip(values).for_each(|(columns, values)| add(columns, values));
    if !rest.is_empty() {
        // The last ones, filled up with pairs of the prototype with itself, without mass.
        let (mut columns, mut masses) = ([k as u32; WIDE], [0.0; WIDE]);
        columns[..rest.len()].copy_from_slice(rest);
        masses[..rest.len()].copy_from_slice(values_rest);
        add(&columns, &masses);
    }
    sums.map(|lanes| {
        let halves: [f32; WIDE / 2] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + WIDE / 2]);
        let [a, b, c, d, e, f, g, h] = halves;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    })
}

struct Pass<'a, const VALUE: bool> {
    pairs: StoredPairs<'a>,
    profile: Profile,
    loss: Loss,
}

/// The stored pairs of one sample.
#[derive(Default)]
struct Scratch {
    squares: Vec<f64>,
    row: Row,
}

impl<const VALUE: bool> RowPass<1> for Pass<'_, VALUE> {
    type Scratch = Scratch;

    #[inline(always)]
    fn row<V: pulp::Simd>(
        &self,
        At { k, coordinates, .. }: At<'_, V>,
        Scratch { squares, row }: &mut Scratch,
        [gradient]: [&mut [f64]; 1],
    ) -> [Part; 1] {
        let (columns, values) = self.pairs.similarity.row(k);
        squares.clear();
        squares.extend(columns.iter().map(|&l| coordinates.squared_distance(k, l as usize)));
        fill(self.profile, self.loss, squares, Attraction::<VALUE>::in_row(row, columns.len()));
        let weight = |l: usize| self.pairs.weights.map_or(1.0, |weights| weights[l]);
        let mut part = Part::default();
        for (at, (&l, &value)) in columns.iter().zip(values).enumerate() {
            let l = l as usize;
            let mass = if l == k { 0.0 } else { self.pairs.scale * weight(k) * f64::from(value) * weight(l) };
            if VALUE {
                part.value += mass * row.values[at];
            }
            part.stiffness -= mass * row.derivatives[at];
            for (c, out) in gradient.iter_mut().enumerate() {
                let axis = coordinates.axis(c);
                *out += mass * row.derivatives[at] * (axis[k] - axis[l]);
            }
        }
        [part]
    }
}
