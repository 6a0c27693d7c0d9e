//! E as a function of the prototypes alone: what Adam descends.
//!
//! With M and q fixed, W_kl = w(d²_kl) and s = ΣM, up to terms without Z,
//!
//! | loss, normalisation | E |
//! |---|---|
//! | KL, measure | −⟨M, log W⟩ + s·log(qᵀWq) |
//! | KL, cells | −⟨M, log W⟩ + s·log(ΣW) + qᵀWq / ΣW |
//! | KL, none | −⟨M, log W⟩ + qᵀWq |
//! | BCE, none | −⟨M, log W − log(1−W)⟩ − qᵀ log(1−W) q |
//!
//! Each is a function of three sums over pairs: a pull −⟨M, a(W)⟩, a push qᵀ r(W) q and the cells
//! Σ r(W). One pass gathers them and, for every prototype, their slopes Σ_l (…)·(z_k − z_l); the factors
//! of the slopes are known when it ends. Nothing of size n×n is written, and at n = N, where M is as sparse
//! as C_X, nothing of that size is read. A pass costs, for each pair, a division, some 4d + 6 multiplications and,
//! only where E itself is asked for, a logarithm or two.
//!
//! Kernels that are normalised by rows or doubly stochastic, and other pairs of loss and normalisation, go
//! through [`PrototypeKernel`] and its n×n matrices.

use rayon::prelude::*;

use super::kernel::PrototypeKernel;
use super::radial::{Normalization, Profile, Radial};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::exponential::exp;
use crate::numeric::logarithm::ln;
use crate::numeric::vector::{LANES, wide_dot};
use crate::similarity::{Similarity, Sparse};

/// Squared distances are kept above this where a logarithm or a slope would be infinite at zero.
const LEAST_SQUARE: f64 = 1e-12;
/// exp of what is below this is zero.
const LEAST_LOGARITHM: f64 = -690.0;
/// Prototypes handled by one task.
const ROWS: usize = 16;

/// M, in the form that suits its size.
#[derive(Clone)]
pub(crate) enum Mass<'a> {
    /// n×n, and zeros that make rows as long as vectors want them.
    Dense(Matrix<'a>),
    /// M_kl = q_k·c·C_kl·q_l of a symmetric C and a factor c: every prototype is one sample.
    Samples(&'a Sparse<'static, f32>, f64),
}

/// E(Z) for given M and q.
#[derive(Clone)]
pub(crate) struct Landscape<'a> {
    kernel: Radial,
    loss: Loss,
    mass: Mass<'a>,
    weights: &'a [f64],
    /// s = ΣM.
    total: f64,
    /// Whether a prototype meets itself. Not where it is a single sample, and not under a loss that is
    /// infinite there.
    loops: bool,
    /// How much stronger than they are pulls count.
    pull_factor: f64,
}

impl<'a> Landscape<'a> {
    /// The landscape of a summary, n×n.
    pub(crate) fn new(kernel: Radial, loss: Loss, mass: &'a Matrix<'_>, weights: &'a [f64]) -> Self {
        let total = mass.values().iter().sum();
        let n = mass.rows();
        let symmetric = |k, l| if l < n { 0.5 * (mass[(k, l)] + mass[(l, k)]) } else { 0.0 };
        let mass = match Self::streams(kernel, loss) {
            true => Matrix::from_fn(n, n.next_multiple_of(LANES), symmetric),
            false => mass.view(),
        };
        Self {
            kernel,
            loss,
            mass: Mass::Dense(mass),
            weights,
            total,
            loops: loss != Loss::BinaryCrossEntropy,
            pull_factor: 1.0,
        }
    }

    /// The landscape of classical embedding: a prototype for every sample of `scale` times a symmetric
    /// similarity.
    pub(crate) fn of_samples(
        kernel: Radial,
        loss: Loss,
        similarity: &'a Sparse<'static, f32>,
        weights: &'a [f64],
        scale: f64,
    ) -> Self {
        let of_row = |k: usize| {
            let (columns, values) = similarity.row(k);
            weights[k] * columns.iter().zip(values).map(|(&l, &v)| f64::from(v) * weights[l as usize]).sum::<f64>()
        };
        let total = scale * (0..similarity.len()).map(of_row).sum::<f64>();
        Self { kernel, loss, mass: Mass::Samples(similarity, scale), weights, total, loops: false, pull_factor: 1.0 }
    }

    /// The same, but no prototype meets itself.
    pub(crate) fn without_loops(mut self) -> Self {
        self.loops = false;
        self
    }

    /// The same with pulls that are stronger than they should be.
    pub(crate) fn exaggerated(&self, factor: f64) -> Self {
        Self { pull_factor: factor, ..self.clone() }
    }

    /// Whether one pass over pairs is enough.
    pub(crate) fn streams(kernel: Radial, loss: Loss) -> bool {
        use Normalization::{Cells, Measure, None};
        matches!((loss, kernel.normalization), (Loss::Kl, None | Cells | Measure) | (Loss::BinaryCrossEntropy, None))
    }

    /// E and ∂E/∂Z (n×d).
    pub(crate) fn slope(&self, prototypes: &Matrix<'_>) -> Result<(f64, Matrix<'static>)> {
        match &self.mass {
            Mass::Dense(mass) if !Self::streams(self.kernel, self.loss) => self.slope_by_kernel(prototypes, mass),
            _ => Ok(self.slope_by_pairs::<true>(prototypes)),
        }
    }

    /// ∂E/∂Z alone, which takes no logarithms where one pass over pairs is enough.
    pub(crate) fn slope_alone(&self, prototypes: &Matrix<'_>) -> Result<Matrix<'static>> {
        match &self.mass {
            Mass::Dense(mass) if !Self::streams(self.kernel, self.loss) => {
                Ok(self.slope_by_kernel(prototypes, mass)?.1)
            }
            _ => Ok(self.slope_by_pairs::<false>(prototypes).1),
        }
    }

    fn slope_by_kernel(&self, prototypes: &Matrix<'_>, mass: &Matrix<'_>) -> Result<(f64, Matrix<'static>)> {
        let (q, n) = (self.weights, self.weights.len());
        let kernel = self.kernel.eval(prototypes, q)?;
        let mut value = 0.0;
        let gradient = Matrix::from_fn(n, n, |k, l| {
            if k == l && !self.loops {
                return 0.0;
            }
            let (pairs, mass, b) = (q[k] * q[l], self.pull_factor * mass[(k, l)], kernel[(k, l)]);
            value += pairs * self.loss.f2(b) - mass * self.loss.g(b);
            let (push, pull) = self.loss.slopes(b);
            pairs * push - mass * pull
        });
        Ok((value, self.kernel.pull_back(prototypes, q, &kernel, &gradient)?))
    }

    /// E, if its `VALUE` is asked for, and ∂E/∂Z.
    fn slope_by_pairs<const VALUE: bool>(&self, prototypes: &Matrix<'_>) -> (f64, Matrix<'static>) {
        let (n, d) = (prototypes.rows(), prototypes.columns());
        let axes = Axes::new(prototypes, self.weights);
        let tasks: Vec<(Sums, Vec<f64>)> = (0..n.div_ceil(ROWS))
            .into_par_iter()
            .with_min_len(if n < 256 { usize::MAX } else { 1 })
            .map_init(Rows::default, |rows, task| {
                crate::interrupt::look();
                let mut sums = Sums::default();
                let mut slopes = vec![0.0; 3 * d * ROWS];
                for (k, slopes) in (task * ROWS..n.min((task + 1) * ROWS)).zip(slopes.chunks_exact_mut(3 * d)) {
                    let turn = Turn::<VALUE> { landscape: self, k, axes: &axes, rows, sums: &mut sums, slopes };
                    pulp::Arch::new().dispatch(turn);
                }
                (sums, slopes)
            })
            .collect();
        let mut sums = Sums::default();
        tasks.iter().for_each(|(part, _)| sums.add(part));
        let (value, push, cells) = self.combine(&sums);
        let slopes = tasks.iter().flat_map(|(_, slopes)| slopes.chunks_exact(3 * d)).take(n);
        let mut gradient = Matrix::zeros(n, d);
        for ((slopes, out), q) in slopes.zip(gradient.values_mut().chunks_exact_mut(d)).zip(self.weights) {
            for (c, out) in out.iter_mut().enumerate() {
                *out = 4.0 * (push * q * slopes[d + c] + cells * slopes[2 * d + c] - self.pull_factor * slopes[c]);
            }
        }
        (value, gradient)
    }

    /// E from its sums, and its slopes in the push and in the cells.
    fn combine(&self, sums: &Sums) -> (f64, f64, f64) {
        let &Sums { pull, push, cells } = sums;
        let (pull, s) = (self.pull_factor * pull, self.total);
        match self.kernel.normalization {
            Normalization::Measure => (s * push.ln() - pull, s / push, 0.0),
            Normalization::Cells => {
                (s * cells.ln() + push / cells - pull, 1.0 / cells, s / cells - push / (cells * cells))
            }
            _ => (push - pull, 1.0, 0.0),
        }
    }
}

/// The turn of one prototype in a pass over pairs.
struct Turn<'t, const VALUE: bool> {
    landscape: &'t Landscape<'t>,
    k: usize,
    axes: &'t Axes,
    rows: &'t mut Rows,
    sums: &'t mut Sums,
    /// Pull, push and cells, d numbers each.
    slopes: &'t mut [f64],
}

impl<const VALUE: bool> pulp::WithSimd for Turn<'_, VALUE> {
    type Output = ();

    /// Adds prototype k to the sums, and writes its slopes.
    #[inline(always)]
    fn with_simd<V: pulp::Simd>(self, simd: V) {
        let Self { landscape, k, axes, rows: Rows { all, near }, sums, slopes } = self;
        let (d, profile, loss) = (axes.dims, landscape.kernel.profile, landscape.loss);
        all.measure(k, axes);
        match &landscape.mass {
            Mass::Dense(mass) => {
                all.apply::<VALUE>(profile, loss);
                if !landscape.loops {
                    all.forget(k);
                }
                if VALUE {
                    sums.pull += wide_dot(simd, mass.row(k), &all.attraction);
                }
                all.weigh_pull(mass.row(k));
                all.slopes(simd, k, axes, &mut slopes[..d]);
            }
            // Pulls come from few.
            Mass::Samples(similarity, scale) => {
                let (columns, values) = similarity.row(k);
                near.choose(all, columns);
                near.apply::<VALUE>(profile, loss);
                match loss {
                    Loss::BinaryCrossEntropy => all.apply::<VALUE>(profile, loss),
                    _ => all.apply::<false>(profile, loss),
                }
                all.forget(k);
                slopes[..d].fill(0.0);
                let q = landscape.weights;
                for (at, (&l, &value)) in columns.iter().zip(values).enumerate() {
                    let l = l as usize;
                    let mass = if l == k { 0.0 } else { scale * q[k] * f64::from(value) * q[l] };
                    if VALUE {
                        sums.pull += mass * near.attraction[at];
                    }
                    for (c, slope) in slopes[..d].iter_mut().enumerate() {
                        *slope += mass * near.pull[at] * (axes.of(c)[k] - axes.of(c)[l]);
                    }
                }
            }
        }
        let (q, ones) = (axes.weights(), axes.ones());
        sums.push += q[k] * wide_dot(simd, q, &all.repulsion);
        all.weigh_push(q);
        all.slopes(simd, k, axes, &mut slopes[d..2 * d]);
        if landscape.kernel.normalization == Normalization::Cells {
            sums.cells += wide_dot(simd, ones, &all.repulsion);
            all.weigh_push(ones);
            all.slopes(simd, k, axes, &mut slopes[2 * d..]);
        }
    }
}

/// Coordinates one after the other, then what to sum with: ones, and weights. Each ends in zeros that make it as long
/// as vectors want it.
struct Axes {
    dims: usize,
    length: usize,
    values: Vec<f64>,
}

impl Axes {
    fn new(prototypes: &Matrix<'_>, weights: &[f64]) -> Self {
        let (n, dims) = (prototypes.rows(), prototypes.columns());
        let length = n.next_multiple_of(LANES);
        let mut values = vec![0.0; (dims + 2) * length];
        for (k, row) in prototypes.values().chunks_exact(dims).enumerate() {
            row.iter().enumerate().for_each(|(c, &z)| values[c * length + k] = z);
        }
        values[dims * length..][..n].fill(1.0);
        values[(dims + 1) * length..][..n].copy_from_slice(weights);
        Self { dims, length, values }
    }

    #[inline(always)]
    fn of(&self, axis: usize) -> &[f64] {
        &self.values[axis * self.length..][..self.length]
    }

    #[inline(always)]
    fn ones(&self) -> &[f64] {
        self.of(self.dims)
    }

    #[inline(always)]
    fn weights(&self) -> &[f64] {
        self.of(self.dims + 1)
    }
}

/// What E is made of.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// ⟨M, a(W)⟩
    pull: f64,
    /// qᵀ r(W) q
    push: f64,
    /// Σ r(W)
    cells: f64,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.pull += other.pull;
        self.push += other.push;
        self.cells += other.cells;
    }
}

/// The pairs of one prototype with all, and with those that pull it.
#[derive(Default)]
struct Rows {
    all: Row,
    near: Row,
}

/// Pairs of one prototype.
#[derive(Default)]
struct Row {
    squares: Vec<f64>,
    /// a(W)
    attraction: Vec<f64>,
    /// Its slope in d².
    pull: Vec<f64>,
    /// r(W)
    repulsion: Vec<f64>,
    /// Its slope in d².
    push: Vec<f64>,
    /// A slope, weighted.
    weighted: Vec<f64>,
}

impl Row {
    /// Makes room for as many pairs as there are squares.
    #[inline(always)]
    fn make_room(&mut self) {
        let length = self.squares.len();
        for values in [&mut self.attraction, &mut self.pull, &mut self.repulsion, &mut self.push, &mut self.weighted] {
            values.resize(length, 0.0);
        }
    }

    /// The squared distances of k to all.
    #[inline(always)]
    fn measure(&mut self, k: usize, axes: &Axes) {
        self.squares.clear();
        self.squares.resize(axes.length, 0.0);
        for c in 0..axes.dims {
            let axis = axes.of(c);
            let here = axis[k];
            for (square, there) in self.squares.iter_mut().zip(axis) {
                *square += (here - there) * (here - there);
            }
        }
        self.make_room();
    }

    /// The squared distances to some of all.
    #[inline(always)]
    fn choose(&mut self, all: &Self, columns: &[u32]) {
        self.squares.clear();
        self.squares.extend(columns.iter().map(|&l| all.squares[l as usize]));
        self.make_room();
    }

    /// a, unless no `VALUE` needs it, r and their slopes at the squared distances.
    #[inline(always)]
    fn apply<const VALUE: bool>(&mut self, profile: Profile, loss: Loss) {
        match profile {
            Profile::Student => self.fill::<VALUE>(loss, |square| {
                let w = 1.0 / (1.0 + square);
                (w, -ln(1.0 + square), -w, square)
            }),
            Profile::Gaussian => self.fill::<VALUE>(loss, |square| {
                let log = (-square).max(LEAST_LOGARITHM);
                let w = exp(log);
                (w, log, -1.0, (1.0 - w) / w)
            }),
            Profile::Umap { a, b } => self.fill::<VALUE>(loss, |square| {
                let square = square.max(LEAST_SQUARE);
                let odds = a * exp(b * ln(square));
                let w = 1.0 / (1.0 + odds);
                (w, -ln(1.0 + odds), -b * odds * w / square, odds)
            }),
        }
    }

    /// `kernel` gives W, log W, the slope of log W in d², and 1/W − 1.
    #[inline(always)]
    fn fill<const VALUE: bool>(&mut self, loss: Loss, kernel: impl Fn(f64) -> (f64, f64, f64, f64)) {
        let n = self.squares.len();
        let (attraction, pull) = (&mut self.attraction[..n], &mut self.pull[..n]);
        let (repulsion, push) = (&mut self.repulsion[..n], &mut self.push[..n]);
        if loss == Loss::BinaryCrossEntropy {
            for l in 0..n {
                let (w, log, slope, odds) = kernel(self.squares[l].max(LEAST_SQUARE));
                let rest = odds * w; // 1 − W
                (pull[l], push[l]) = (slope / rest, slope * w / rest);
                if VALUE {
                    let apart = log + ln(odds); // log(1 − W)
                    (attraction[l], repulsion[l]) = (log - apart, -apart);
                }
            }
        } else {
            for l in 0..n {
                let (w, log, slope, _) = kernel(self.squares[l]);
                (pull[l], push[l]) = (slope, slope * w);
                repulsion[l] = w;
                if VALUE {
                    attraction[l] = log;
                }
            }
        }
    }

    /// Takes the pair of k with itself out.
    #[inline(always)]
    fn forget(&mut self, k: usize) {
        (self.attraction[k], self.pull[k], self.repulsion[k], self.push[k]) = (0.0, 0.0, 0.0, 0.0);
    }

    #[inline(always)]
    fn weigh_pull(&mut self, weights: &[f64]) {
        let pairs = self.weighted.iter_mut().zip(&self.pull).zip(weights);
        pairs.for_each(|((out, slope), weight)| *out = slope * weight);
    }

    #[inline(always)]
    fn weigh_push(&mut self, weights: &[f64]) {
        let pairs = self.weighted.iter_mut().zip(&self.push).zip(weights);
        pairs.for_each(|((out, slope), weight)| *out = slope * weight);
    }

    /// Σ_l weighted_l·(z_k − z_l).
    #[inline(always)]
    fn slopes<V: pulp::Simd>(&self, simd: V, k: usize, axes: &Axes, out: &mut [f64]) {
        let total = wide_dot(simd, &self.weighted, axes.ones());
        for (c, out) in out.iter_mut().enumerate() {
            let axis = axes.of(c);
            *out = total * axis[k] - wide_dot(simd, &self.weighted, axis);
        }
    }
}

#[cfg(test)]
#[path = "landscape_tests.rs"]
mod tests;
