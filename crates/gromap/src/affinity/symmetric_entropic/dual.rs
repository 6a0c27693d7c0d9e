//! The dual of the symmetric entropic affinity, and the passes over the pattern it needs.
//!
//! ```text
//! P_ij = exp(ℓ_ij),  ℓ_ij = (μ_i + μ_j − 2c_ij)/(ε_i + ε_j)
//! f(ε, μ) = ½·Σ (ε_i + ε_j)·P_ij − (log ξ + 1)·Σ ε_i − Σ μ_i          convex
//! ∂f/∂ε_i = Σ_j P_ij·(1 − ℓ_ij) − log ξ − 1,    ∂f/∂μ_i = Σ_j P_ij − 1
//! ```
//!
//! With w = P/(ε_i + ε_j) and s_ij = (v_i + v_j) − ℓ_ij·(u_i + u_j), the Hessian takes (u, v) to
//! (−Σ_j wℓs, Σ_j ws). Every pass reads whole rows and writes only its own: nothing is scattered,
//! so blocks of rows run in parallel and the result does not depend on their number of threads.
//! ℓ and w are kept in single precision for the products, which only shape a direction; values and
//! gradients are computed in double.

use rayon::prelude::*;

use super::newton::Held;
use super::row::Row;
use crate::affinity::pattern::{Pattern, split_rows};
use crate::numeric::exponential::exp;
use crate::numeric::vector::{LANES, vectorized};

/// One number for ε_i and one for μ_i.
pub(super) type Pair = [f64; 2];

/// Entries collected before the arithmetic on them.
const CHUNK: usize = 32 * LANES;
/// An exponent whose exponential is zero, below that of any entry.
const NO_MASS: f64 = -1e300;
/// What is larger is cut to this for the products.
const LARGEST: f64 = 1e30;

/// The problem: costs on a pattern, and the least entropy of a row.
pub(super) struct Dual<'a> {
    pattern: &'a Pattern,
    /// Costs are multiplied by this, so that temperatures are of order one.
    scale: f64,
    /// log ξ + 1
    least_entropy: f64,
}

/// Everything known at a point (ε, μ).
pub(super) struct Evaluation {
    /// What each row adds to f. They are kept apart because a difference of sums would drown what cold rows have to say
    /// in the rounding of warm ones; a row that stayed where it was adds nothing to a sum of differences.
    pub(super) values: Vec<f64>,
    /// ∂f/∂(ε_i, μ_i): what the entropy and the sum of row i have too much.
    pub(super) gradient: Vec<Pair>,
    /// The 2×2 diagonal blocks of the Hessian: εε, εμ, μμ.
    pub(super) blocks: Vec<[f64; 3]>,
}

/// What products with the Hessian need of every entry, at the point that was evaluated last: w and ℓ. They are most of what is held, so that there is
/// one of them for a point and the one that is tried next.
pub(super) struct Entries {
    weights: Vec<f32>,
    logarithms: Vec<f32>,
}

impl<'a> Dual<'a> {
    pub(super) fn new(pattern: &'a Pattern, scale: f64, perplexity: f64) -> Self {
        Self { pattern, scale, least_entropy: perplexity.ln() + 1.0 }
    }

    /// Room for an evaluation.
    pub(super) fn blank(&self) -> Evaluation {
        Evaluation {
            values: vec![f64::INFINITY; self.pattern.len()],
            gradient: vec![[0.0; 2]; self.pattern.len()],
            blocks: vec![[0.0; 3]; self.pattern.len()],
        }
    }

    /// Room for its entries.
    pub(super) fn blank_entries(&self) -> Entries {
        let stored = self.pattern.stored();
        Entries { weights: vec![0.0; stored], logarithms: vec![0.0; stored] }
    }

    /// Value, gradient, diagonal blocks, and what products with the Hessian need.
    pub(super) fn evaluate(&self, at: &[Pair], out: &mut Evaluation, entries: &mut Entries) {
        let pattern = self.pattern;
        let derivatives = split_rows(&mut out.gradient).into_iter().zip(split_rows(&mut out.blocks));
        let row_outputs = derivatives.zip(split_rows(&mut out.values));
        let entry_outputs = pattern.split(&mut entries.weights).into_iter().zip(pattern.split(&mut entries.logarithms));
        let work: Vec<_> = pattern.blocks().into_iter().zip(row_outputs).zip(entry_outputs).collect();
        work.into_par_iter().for_each(|((rows, ((gradient, blocks), values)), (mut weights, mut logarithms))| {
            for (((i, gradient), block), value) in rows.zip(gradient).zip(blocks).zip(values) {
                let length = pattern.range(i).len();
                let (w, rest) = weights.split_at_mut(length);
                weights = rest;
                let (l, rest) = logarithms.split_at_mut(length);
                logarithms = rest;
                let sums = vectorized(
                    #[inline(always)]
                    || self.evaluate_row(at, i, w, l),
                );
                *gradient = [sums.mass - sums.mass_log - self.least_entropy, sums.mass - 1.0];
                *block = [sums.curvature[2], -sums.curvature[1], sums.curvature[0]];
                *value = 0.5 * sums.energy - self.least_entropy * at[i][0] - at[i][1];
            }
        });
    }

    /// Σ_i max_j c_ij, which no ⟨P, C⟩ with rows of sum one exceeds. As −f is at most the ⟨P, C⟩ of every P that satisfies
    /// the constraints, a point with −f above this proves that there is none.
    pub(super) fn most_cost(&self) -> f64 {
        let dearest = |i: usize| f64::from(self.pattern.row(i).1.iter().copied().fold(0.0, f32::max));
        self.scale * (0..self.pattern.len()).map(dearest).sum::<f64>()
    }

    #[inline(always)]
    fn evaluate_row(&self, at: &[Pair], i: usize, weights: &mut [f32], logarithms: &mut [f32]) -> RowSums {
        let mut lanes = [[0.0; LANES]; 6];
        let mut chunk = Chunk::new();
        let outputs = weights.chunks_mut(CHUNK).zip(logarithms.chunks_mut(CHUNK));
        for (start, (weights, logarithms)) in (0..).step_by(CHUNK).zip(outputs) {
            let groups = self.gather(at, i, start, &mut chunk);
            let mut w = [[0.0f32; LANES]; CHUNK / LANES];
            let mut l = [[0.0f32; LANES]; CHUNK / LANES];
            for group in 0..groups {
                for lane in 0..LANES {
                    let temperature = chunk.temperatures[group][lane];
                    let inverse = 1.0 / temperature;
                    let logarithm = chunk.exponents[group][lane] * inverse;
                    let mass = exp(logarithm);
                    let weight = mass * inverse;
                    lanes[0][lane] += mass;
                    lanes[1][lane] += mass * logarithm;
                    lanes[2][lane] += mass * temperature;
                    lanes[3][lane] += weight;
                    lanes[4][lane] += weight * logarithm;
                    lanes[5][lane] += weight * logarithm * logarithm;
                    // Beyond single precision, where 0·∞ would spoil a product.
                    w[group][lane] = weight.min(LARGEST) as f32;
                    l[group][lane] = logarithm.max(-LARGEST) as f32;
                }
            }
            weights.copy_from_slice(&w.as_flattened()[..weights.len()]);
            logarithms.copy_from_slice(&l.as_flattened()[..logarithms.len()]);
        }
        let [mass, mass_log, energy, w, wl, wll] = lanes.map(|sums| sums.iter().sum());
        RowSums { mass, mass_log, energy, curvature: [w, wl, wll] }
    }

    /// Collects μ_i + μ_j − 2c and ε_i + ε_j of the entries of row i from `start` on. Room behind
    /// the last entry is filled with entries of no mass. Gives the number of groups.
    #[inline(always)]
    fn gather(&self, at: &[Pair], i: usize, start: usize, chunk: &mut Chunk) -> usize {
        let own = at[i];
        let (columns, costs) = self.pattern.row(i);
        let end = columns.len().min(start + CHUNK);
        let exponents = chunk.exponents.as_flattened_mut();
        let temperatures = chunk.temperatures.as_flattened_mut();
        let entries = columns[start..end].iter().zip(&costs[start..end]);
        for (((&j, &cost), exponent), temperature) in entries.zip(exponents.iter_mut()).zip(temperatures.iter_mut()) {
            [*exponent, *temperature] = self.entry(own, at[j as usize], cost);
        }
        let count = end - start;
        let groups = count.div_ceil(LANES);
        exponents[count..groups * LANES].fill(NO_MASS);
        temperatures[count..groups * LANES].fill(1.0);
        groups
    }

    /// μ_i + μ_j − 2c and ε_i + ε_j of the entries of row i.
    pub(super) fn entries(&self, at: &[Pair], i: usize) -> impl ExactSizeIterator<Item = Pair> {
        let (columns, costs) = self.pattern.row(i);
        columns.iter().zip(costs).map(move |(&j, &cost)| self.entry(at[i], at[j as usize], cost))
    }

    #[inline(always)]
    fn entry(&self, [epsilon, mu]: Pair, [epsilon_j, mu_j]: Pair, cost: f32) -> Pair {
        [(mu + mu_j) - 2.0 * self.scale * f64::from(cost), epsilon + epsilon_j]
    }

    /// The gradient as Newton's method on log r and on the entropy of r⁻¹·P_i would have it.
    pub(super) fn logarithmic_errors(&self, here: &Evaluation) -> Vec<Pair> {
        let error = |&[entropy, sum]: &Pair| {
            let (r, h) = (sum + 1.0, entropy + self.least_entropy);
            if r < f64::MIN_POSITIVE {
                return [entropy, sum];
            }
            let shannon = h / r - 1.0 + r.ln();
            let of_sum = r * r.ln();
            [r * (shannon + 1.0 - self.least_entropy) + (shannon - r.ln()) * of_sum, of_sum]
        };
        here.gradient.iter().map(error).collect()
    }

    /// What `step` says of every row by itself, the others held.
    fn row_by_row<T: Send + Default + Clone>(&self, at: &[Pair], step: impl Fn(&Row, usize) -> T + Sync) -> Vec<T> {
        let mut out = vec![T::default(); self.pattern.len()];
        let work: Vec<_> = self.pattern.blocks().into_iter().zip(split_rows(&mut out)).collect();
        work.into_par_iter().for_each_init(Row::default, |row, (rows, out)| {
            for (i, out) in rows.zip(out) {
                crate::interrupt::look();
                row.gather(self, at, i);
                *out = step(row, i);
            }
        });
        out
    }

    /// A Sinkhorn step: moves every μ_i half of the way towards where row i, by itself, sums to one. Gives the largest
    /// |logarithm of a row sum| before. It never raises f (see `row.rs`).
    pub(super) fn balance(&self, at: &mut [Pair]) -> f64 {
        let steps = self.row_by_row(at, |row, _| row.balancing());
        let mut largest = 0.0f64;
        for (at, [log_sum, v]) in at.iter_mut().zip(&steps) {
            at[1] += 0.5 * v;
            largest = largest.max(log_sum.abs());
        }
        largest
    }

    /// Moves every (ε_i, μ_i) half of the way to where row i, by itself, has its sum and its entropy, but no ε below its
    /// floor. It never raises f (see `row.rs`).
    pub(super) fn row_wise_step(&self, at: &mut [Pair], floor: &[f64]) {
        let steps = self.row_by_row(at, |row, i| row.solved(at[i][0], floor[i], self.least_entropy));
        at.iter_mut().zip(&steps).for_each(|(at, [u, v])| *at = [at[0] + 0.5 * u, at[1] + 0.5 * v]);
    }

    /// out = (Hessian + damping·its diagonal blocks)·direction, with what is held left out.
    pub(super) fn multiply(
        &self,
        (here, entries): (&Evaluation, &Entries),
        damping: f64,
        held: &[Held],
        direction: &[Pair],
        out: &mut [Pair],
    ) {
        let pattern = self.pattern;
        let work: Vec<_> = pattern.blocks().into_iter().zip(split_rows(out)).collect();
        work.into_par_iter().for_each(|(rows, out)| {
            for (i, out) in rows.zip(out) {
                let range = pattern.range(i);
                let row = (pattern.row(i).0, &entries.weights[range.clone()], &entries.logarithms[range]);
                let [first, second] = multiply_row(row, direction[i], direction);
                let ([u, v], [a, b, c]) = (direction[i], here.blocks[i]);
                *out = held[i].moving([first + damping * (a * u + b * v), second + damping * (b * u + c * v)]);
            }
        });
    }

    /// P at a point, entry by entry of the pattern.
    pub(super) fn affinity(&self, at: &[Pair]) -> Vec<f32> {
        let pattern = self.pattern;
        let mut values = vec![0.0f32; pattern.stored()];
        let work: Vec<_> = pattern.blocks().into_iter().zip(pattern.split(&mut values)).collect();
        work.into_par_iter().for_each(|(rows, values)| {
            let first = pattern.range(rows.start).start;
            for i in rows {
                let range = pattern.range(i);
                let values = &mut values[range.start - first..range.end - first];
                vectorized(
                    #[inline(always)]
                    || self.affinity_row(at, i, values),
                );
            }
        });
        values
    }

    #[inline(always)]
    fn affinity_row(&self, at: &[Pair], i: usize, values: &mut [f32]) {
        let mut chunk = Chunk::new();
        for (start, values) in (0..).step_by(CHUNK).zip(values.chunks_mut(CHUNK)) {
            self.gather(at, i, start, &mut chunk);
            let entries = chunk.exponents.as_flattened().iter().zip(chunk.temperatures.as_flattened());
            for (value, (exponent, temperature)) in values.iter_mut().zip(entries) {
                *value = exp(exponent / temperature) as f32;
            }
        }
    }
}

/// Entries of a row, collected so that the arithmetic on them runs in vectors.
struct Chunk {
    exponents: [[f64; LANES]; CHUNK / LANES],
    temperatures: [[f64; LANES]; CHUNK / LANES],
}

impl Chunk {
    fn new() -> Self {
        Self { exponents: [[NO_MASS; LANES]; CHUNK / LANES], temperatures: [[1.0; LANES]; CHUNK / LANES] }
    }
}

/// Sums over the entries of a row.
struct RowSums {
    /// Σ P
    mass: f64,
    /// Σ Pℓ
    mass_log: f64,
    /// Σ (ε_i + ε_j)P
    energy: f64,
    /// Σ w, Σ wℓ, Σ wℓ²
    curvature: [f64; 3],
}

/// One row of the Hessian times a direction, in four interleaved sums: the gathers overlap.
#[inline(always)]
fn multiply_row((columns, weights, logarithms): (&[u32], &[f32], &[f32]), own: Pair, direction: &[Pair]) -> Pair {
    const WIDTH: usize = 4;
    let mut sums = [[0.0; 2]; WIDTH];
    let mut add = |lane: usize, j: u32, weight: f32, logarithm: f32| {
        let [u, v] = direction[j as usize];
        let l = f64::from(logarithm);
        let ws = f64::from(weight) * ((own[1] + v) - l * (own[0] + u));
        sums[lane][0] -= ws * l;
        sums[lane][1] += ws;
    };
    let (column_groups, column_rest) = columns.as_chunks::<WIDTH>();
    let (weight_groups, weight_rest) = weights.as_chunks::<WIDTH>();
    let (logarithm_groups, logarithm_rest) = logarithms.as_chunks::<WIDTH>();
    for ((c, w), l) in column_groups.iter().zip(weight_groups).zip(logarithm_groups) {
        for lane in 0..WIDTH {
            add(lane, c[lane], w[lane], l[lane]);
        }
    }
    for ((c, w), l) in column_rest.iter().zip(weight_rest).zip(logarithm_rest) {
        add(0, *c, *w, *l);
    }
    let total = |part: usize| (sums[0][part] + sums[1][part]) + (sums[2][part] + sums[3][part]);
    [total(0), total(1)]
}
