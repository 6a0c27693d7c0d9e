//! The place of one sample among prototypes that do not move.
//!
//! A sample i of prototype k has a row of products r = (C_X·T)\[i,·\]. With prototypes, weights and factors frozen, its own row of
//! the objective is a function of its place z alone,
//!
//! ```text
//! E_i(z) = Σ_l −r_l·log w(s_l) + b_k·v_l·ρ(s_l),    s_l = ‖z − z_l‖², and s_k = ‖z − z_k‖² + c_k²
//! ```
//!
//! | loss, normalisation | r | v | b_k | ρ |
//! |---|---|---|---|---|
//! | KL, doubly stochastic | of sum one | q∘a, with the factors a of the prototypes | 1 / Σ_l v_l·w(‖z_k − z_l‖²) | w |
//! | KL, rows, cells, and all others | of sum one | q, or ones | the same | w |
//! | KL, measure and none | as it is | q times what W is multiplied with | 1 | w |
//! | binary cross-entropy, none | as it is | q − r | 1 | −log(1 − w) |
//!
//! At z_k the mean of all these gradients over the members of k is the gradient of the objective at z_k, which is zero: members
//! go where they differ from their prototype, and their mean stays near it.
//!
//! **The own prototype is no point.** It stands for samples all over its cell, and as a point it would hold every one of them in a
//! well of width 1, the width of the kernel, however large the cell: a map of dots. Its squared distance is softened by c_k², the
//! mean squared distance of the d + 1 prototypes nearest to it, which is the size of its cell.
//!
//! Few dimensions make Newton's method cheap: a step costs O(n). It starts at the own prototype; where the Hessian is not
//! positive definite, the quadratic that majorises the attraction (log w is concave in the squared distance, so Weiszfeld's step)
//! takes its place, and every step is shortened until E_i falls.
//!
//! **The nearest prototype stays the own one.** If the line from z_k through the minimum z leaves the cell at distance b, the
//! sample is placed on it at distance
//!
//! ```text
//! t / √(1 + (t/b)²),    t = ‖z − z_k‖,   b at most c_k where the cell is open
//! ```
//!
//! which is t well inside the cell and stays below b: borders are approached but neither crossed nor piled up on.

use rayon::prelude::*;

use super::profile::{Curve, Gaussian, HeavyTailed, Profile, RawKernel, Student, Umap};
use super::radial::{Normalization, Radial};
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::logarithm::ln;
use crate::numeric::vector::{dot, vectorized};

/// Newton steps, at most; five to ten are usual.
const MOST_STEPS: usize = 30;
/// A step shorter than this, next to the size of the cell, is the last.
const SHORTEST_STEP: f64 = 1e-5;
/// Times that a step is halved before it is given up.
const MOST_HALVINGS: usize = 12;
/// The share of the decrease that the gradient promises which a step must reach.
const LEAST_DECREASE: f64 = 1e-4;
/// Squared distances are kept above this where a logarithm or a derivative would be infinite at zero.
const LEAST_SQUARE: f64 = 1e-12;

/// Prototypes that do not move, and what is the same for all samples placed among them.
pub(crate) struct FrozenMap<'a> {
    profile: Profile,
    is_bce: bool,
    /// Whether rows are taken with sum one, against the repulsion of the own prototype.
    by_rows: bool,
    prototypes: &'a Matrix<'a>,
    /// The same, axis by axis.
    axes: Matrix<'static>,
    /// v
    repulsion: &'a [f64],
    /// c²
    cells: Vec<f64>,
    /// b
    factors: Vec<f64>,
}

/// A sample that is being placed: its row, and room for what is computed of it.
#[derive(Default)]
pub(crate) struct Row {
    /// r and the prototypes it is not zero for.
    attraction: Vec<(usize, f64)>,
    /// b_k·v
    repulsion: Vec<f64>,
    /// ρ, and ∂/∂s and ∂²/∂s² of what every prototype adds.
    repelled: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
    squares: Vec<f64>,
}

/// E_i at a place.
struct Value {
    value: f64,
    gradient: Vec<f64>,
    /// d×d, by rows.
    hessian: Vec<f64>,
    /// The curvature of the quadratic that majorises the attraction.
    majorant: f64,
}

/// v of the table above, for `scale` times the similarity and the diagonal of C_Z.
pub(crate) fn repulsion_weights(
    kernel: Radial,
    loss: Loss,
    (diagonal, weights): (&[f64], &[f64]),
    scale: f64,
) -> Vec<f64> {
    use Normalization::{Cells, DoublyStochastic, DoublyStochasticCells, Measure, None};
    let of = |(l, &q): (usize, &f64)| match (loss, kernel.normalization) {
        // w(0) = 1, so that the diagonal is what the kernel is multiplied with.
        (Loss::Kl, DoublyStochastic) => q * diagonal[l].sqrt(),
        (Loss::Kl, DoublyStochasticCells) => diagonal[l].sqrt(),
        (Loss::Kl, Cells) => 1.0,
        (Loss::Kl, Measure | None) => q * diagonal[l] / scale,
        _ => q,
    };
    weights.iter().enumerate().map(of).collect()
}

impl<'a> FrozenMap<'a> {
    /// Prototypes at these places, with the weights v of their repulsion.
    pub(crate) fn new(kernel: Radial, loss: Loss, prototypes: &'a Matrix<'a>, repulsion: &'a [f64]) -> Self {
        use Normalization::{Measure, None};
        let is_bce = (loss, kernel.normalization) == (Loss::BinaryCrossEntropy, None);
        let by_rows = !(is_bce || loss == Loss::Kl && matches!(kernel.normalization, Measure | None));
        let axes = prototypes.transposed();
        let around = |k: usize| {
            let squares = squared_distances(&axes, prototypes.row(k));
            let sum = || squares.iter().zip(repulsion).map(|(&s, v)| v * kernel.profile.at(s).w).sum::<f64>();
            (size_of_cell(squares.clone(), k, prototypes.columns() + 1), if by_rows { 1.0 / sum() } else { 1.0 })
        };
        let (cells, factors) = (0..prototypes.rows()).into_par_iter().map(around).unzip();
        Self { profile: kernel.profile, is_bce, by_rows, prototypes, axes, repulsion, cells, factors }
    }

    /// Writes the place of a sample of prototype `own` with these products.
    pub(crate) fn place(&self, own: usize, products: &[f64], row: &mut Row, out: &mut [f64]) {
        out.copy_from_slice(self.prototypes.row(own));
        if self.load(own, products, row) {
            self.descend(own, row, out, |_| {});
            self.keep_in_cell(own, out);
        }
    }

    /// Takes up the row of a sample; false if nothing draws it anywhere.
    fn load(&self, own: usize, products: &[f64], row: &mut Row) -> bool {
        row.attraction.clear();
        row.attraction.extend(products.iter().copied().enumerate().filter(|(_, r)| *r > 0.0));
        let whole: f64 = row.attraction.iter().map(|(_, r)| r).sum();
        if !(whole > 0.0 && whole.is_finite() && self.cells[own] > 0.0 && self.factors[own].is_finite()) {
            return false;
        }
        if self.by_rows {
            row.attraction.iter_mut().for_each(|(_, r)| *r /= whole);
        }
        row.repulsion.clear();
        row.repulsion.extend(self.repulsion.iter().map(|v| self.factors[own] * v));
        if self.is_bce {
            row.attraction.iter().for_each(|&(l, r)| row.repulsion[l] = (row.repulsion[l] - r).max(0.0));
        }
        true
    }

    /// Goes down from `place` to a minimum of E_i; tells of its value at the start and after every step.
    fn descend(&self, own: usize, row: &mut Row, place: &mut [f64], mut told: impl FnMut(f64)) {
        let mut here = self.value(own, row, place);
        told(here.value);
        let cell = self.cells[own].sqrt();
        for _ in 0..MOST_STEPS {
            let newton = solved(&here.hessian, &here.gradient);
            let weiszfeld = || here.gradient.iter().map(|g| -g / here.majorant).collect::<Vec<_>>();
            let Some((next, value, length)) = newton
                .and_then(|step| self.line_search(own, row, place, &here, step))
                .or_else(|| self.line_search(own, row, place, &here, weiszfeld()))
            else {
                break;
            };
            place.copy_from_slice(&next);
            here = value;
            told(here.value);
            if length <= SHORTEST_STEP * cell {
                break;
            }
        }
    }

    /// The longest of a step, its half, its quarter, … that lowers E_i, no longer than the cell is wide.
    fn line_search(
        &self,
        own: usize,
        row: &mut Row,
        place: &[f64],
        here: &Value,
        step: Vec<f64>,
    ) -> Option<(Vec<f64>, Value, f64)> {
        let length = norm(&step);
        let slope: f64 = step.iter().zip(&here.gradient).map(|(s, g)| s * g).sum();
        if !(length > 0.0 && length.is_finite() && slope < 0.0) {
            return None;
        }
        let mut share = (self.cells[own].sqrt() / length).min(1.0);
        for _ in 0..MOST_HALVINGS {
            let next: Vec<f64> = place.iter().zip(&step).map(|(z, s)| z + share * s).collect();
            let value = self.value(own, row, &next);
            if value.value <= here.value + LEAST_DECREASE * share * slope {
                return Some((next, value, share * length));
            }
            share *= 0.5;
        }
        None
    }

    /// E_i and its derivatives at a place.
    fn value(&self, own: usize, row: &mut Row, place: &[f64]) -> Value {
        match self.profile {
            Profile::Gaussian => self.value_on(Gaussian, own, row, place),
            Profile::Student => self.value_on(Student, own, row, place),
            Profile::HeavyTailed => self.value_on(HeavyTailed, own, row, place),
            Profile::Umap { a, b } => self.value_on(Umap { a, b }, own, row, place),
        }
    }

    fn value_on<C: Curve>(&self, curve: C, own: usize, row: &mut Row, place: &[f64]) -> Value {
        let Row { attraction, repulsion, repelled, first, second, squares } = row;
        let n = repulsion.len();
        [&mut *repelled, first, second, squares].into_iter().for_each(|numbers| numbers.resize(n, 0.0));
        let least = if C::SINGULAR_AT_ZERO || self.is_bce { LEAST_SQUARE } else { 0.0 };
        let mut value = vectorized(|| {
            squares.fill(0.0);
            for (axis, z) in self.axes.values().chunks_exact(n).zip(place) {
                squares.iter_mut().zip(axis).for_each(|(s, a)| *s += (z - a) * (z - a));
            }
            squares[own] += self.cells[own];
            let out = repelled.iter_mut().zip(first.iter_mut()).zip(second.iter_mut());
            for ((s, v), ((rho, first), second)) in squares.iter().zip(&*repulsion).zip(out) {
                let square = s.max(least);
                let kernel = curve.at::<true>(square);
                let (value, by_square, twice) = repelling(kernel, self.curvature(kernel, square), self.is_bce);
                (*rho, *first, *second) = (value, v * by_square, v * twice);
            }
            dot(repulsion, repelled)
        });
        let mut majorant = 0.0;
        for &(l, r) in &*attraction {
            let square = squares[l].max(least);
            let kernel = curve.at::<true>(square);
            value -= r * kernel.log;
            first[l] -= r * kernel.log_derivative;
            second[l] -= r * self.curvature(kernel, square);
            majorant -= 2.0 * r * kernel.log_derivative;
        }
        let (gradient, hessian) = self.derivatives(first, second, place);
        Value { value, gradient, hessian, majorant }
    }

    /// ∂² log w / ∂s²
    #[inline(always)]
    fn curvature(&self, kernel: RawKernel, square: f64) -> f64 {
        let slope = kernel.log_derivative;
        match self.profile {
            Profile::Gaussian => 0.0,
            Profile::Student => slope * slope,
            Profile::HeavyTailed => 2.0 * slope * slope,
            Profile::Umap { b, .. } => -slope / square * (1.0 - b * kernel.w),
        }
    }

    /// Gradient and Hessian in z of a sum of functions of the squared distances.
    fn derivatives(&self, first: &[f64], second: &[f64], place: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (n, dims) = (first.len(), place.len());
        let axes = self.axes.values();
        let axis = |c: usize| &axes[c * n..(c + 1) * n];
        let whole: f64 = first.iter().sum();
        let (mut gradient, mut hessian) = (vec![0.0; dims], vec![0.0; dims * dims]);
        for a in 0..dims {
            let of_axis = first.iter().zip(axis(a)).map(|(f, x)| f * (place[a] - x));
            gradient[a] = 2.0 * of_axis.sum::<f64>();
            for b in 0..=a {
                let pairs = second.iter().zip(axis(a)).zip(axis(b));
                let of_pair = pairs.map(|((s, x), y)| s * (place[a] - x) * (place[b] - y)).sum::<f64>();
                let entry = 4.0 * of_pair + if a == b { 2.0 * whole } else { 0.0 };
                (hessian[a * dims + b], hessian[b * dims + a]) = (entry, entry);
            }
        }
        (gradient, hessian)
    }

    /// Brings a place back towards its prototype, by the rule above.
    fn keep_in_cell(&self, own: usize, place: &mut [f64]) {
        let here = self.prototypes.row(own);
        let way: Vec<f64> = place.iter().zip(here).map(|(z, k)| z - k).collect();
        let length = norm(&way);
        if length == 0.0 {
            return;
        }
        // z_k + τ·way/length is as far from z_l as from z_k where τ = ‖z_l − z_k‖²·length / (2·⟨way, z_l − z_k⟩).
        let border = (0..self.prototypes.rows()).filter(|&l| l != own).fold(self.cells[own].sqrt(), |border, l| {
            let apart = self.prototypes.row(l).iter().zip(here).map(|(l, k)| l - k);
            let (along, square) =
                apart.zip(&way).fold((0.0, 0.0), |(along, square), (e, w)| (along + e * w, square + e * e));
            if along > 0.0 { border.min(0.5 * square * length / along) } else { border }
        });
        let share = if border > 0.0 { 1.0 / (1.0 + (length / border).powi(2)).sqrt() } else { 0.0 };
        place.iter_mut().zip(here).zip(&way).for_each(|((z, k), w)| *z = k + share * w);
    }
}

/// ρ, ∂ρ/∂s and ∂²ρ/∂s².
#[inline(always)]
fn repelling(kernel: RawKernel, curvature: f64, is_bce: bool) -> (f64, f64, f64) {
    let RawKernel { w, log, log_derivative: slope, odds, .. } = kernel;
    if is_bce {
        return (-(log + ln(odds)), slope / odds, (curvature + slope * slope * (1.0 + odds) / odds) / odds);
    }
    (w, w * slope, w * (slope * slope + curvature))
}

/// The mean squared distance of the `count` nearest prototypes; 0 for one that is alone.
fn size_of_cell(mut squares: Vec<f64>, own: usize, count: usize) -> f64 {
    squares.swap_remove(own);
    let count = count.min(squares.len());
    if count == 0 {
        return 0.0;
    }
    squares.select_nth_unstable_by(count - 1, f64::total_cmp);
    squares[..count].sort_unstable_by(f64::total_cmp);
    squares[..count].iter().sum::<f64>() / count as f64
}

/// ‖z − z_l‖² for all prototypes, given axis by axis.
fn squared_distances(axes: &Matrix<'_>, place: &[f64]) -> Vec<f64> {
    let mut squares = vec![0.0; axes.columns()];
    for (axis, z) in axes.values().chunks_exact(axes.columns()).zip(place) {
        squares.iter_mut().zip(axis).for_each(|(s, a)| *s += (z - a) * (z - a));
    }
    squares
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// −H⁻¹·g by Cholesky's factors; `None` unless H is positive definite.
fn solved(hessian: &[f64], gradient: &[f64]) -> Option<Vec<f64>> {
    let d = gradient.len();
    let mut factor = hessian.to_vec();
    let mut x: Vec<f64> = gradient.iter().map(|g| -g).collect();
    for a in 0..d {
        for b in 0..=a {
            let before: f64 = (0..b).map(|c| factor[a * d + c] * factor[b * d + c]).sum();
            let rest = factor[a * d + b] - before;
            if a > b {
                factor[a * d + b] = rest / factor[b * d + b];
            } else if rest > 1e-12 * hessian[a * d + a].abs() {
                factor[a * d + a] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    for a in 0..d {
        let before: f64 = (0..a).map(|c| factor[a * d + c] * x[c]).sum();
        x[a] = (x[a] - before) / factor[a * d + a];
    }
    for a in (0..d).rev() {
        let after: f64 = (a + 1..d).map(|c| factor[c * d + a] * x[c]).sum();
        x[a] = (x[a] - after) / factor[a * d + a];
    }
    Some(x)
}

#[cfg(test)]
#[path = "frozen_map_tests.rs"]
mod tests;
