//! What every sum over pairs of prototypes has in common.
//!
//! A sum is gathered prototype by prototype. The row of prototype k holds the squared distances to all others, functions
//! of the kernel at those distances ([`fill`]), and gives two things: what it adds to the sum, and
//! Σ_l (…)·(z_k − z_l), the gradient at z_k but for a factor. [`run`] does this for all rows on all threads.
//!
//! Rows are handled in blocks of a fixed number, and blocks are added in their order, so that results are the same for
//! any number of threads.

use rayon::prelude::*;

use super::profile::{Curve, Gaussian, HeavyTailed, Profile, RawKernel, Student, Umap};
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::vector::{LANES, wide_dot};

/// Squared distances are kept above this where a logarithm or a derivative would be infinite at zero.
const LEAST_SQUARE: f64 = 1e-12;
/// Prototypes handled by one task.
const ROWS: usize = 16;
/// With fewer prototypes than this, sharing the work between threads costs more than it saves.
const LEAST_PARALLEL: usize = 256;

/// The sum Σ_kl m_kl·f(d²_kl) over all pairs, for symmetric coefficients m.
pub(super) struct PairSum {
    /// What the pairs of every prototype add to it.
    pub(super) rows: Vec<f64>,
    /// Σ_l m_kl·f′(d²_kl)·(z_k − z_l) for every prototype k, d numbers each: a quarter of the gradient. One factor 2 is
    /// missing because each pair is counted from both its ends, another because ∂d²/∂z_k = 2·(z_k − z_l).
    pub(super) gradient: Vec<f64>,
    /// −Σ_l m_kl·f′(d²_kl): how stiff the springs are that the gradient at k is made of.
    pub(super) stiffness: Vec<f64>,
}

/// What the pairs of one prototype add to a sum, and their stiffness.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    pub(super) value: f64,
    pub(super) stiffness: f64,
}

impl PairSum {
    pub(super) fn value(&self) -> f64 {
        self.rows.iter().sum()
    }
}

/// The prototypes axis by axis, as vector instructions want them: each axis, and the weights, are contiguous and end in
/// zeros up to a multiple of [`LANES`].
pub(super) struct Coordinates {
    /// n
    pub(super) prototypes: usize,
    /// d
    pub(super) dims: usize,
    /// The length of an axis with its zeros.
    padded: usize,
    /// The axes, then ones, then weights.
    values: Vec<f64>,
}

impl Coordinates {
    pub(super) fn new(prototypes: &Matrix<'_>, weights: &[f64]) -> Self {
        let (n, dims) = (prototypes.rows(), prototypes.columns());
        let padded = n.next_multiple_of(LANES);
        let mut values = vec![0.0; (dims + 2) * padded];
        for (k, row) in prototypes.values().chunks_exact(dims).enumerate() {
            row.iter().enumerate().for_each(|(c, &z)| values[c * padded + k] = z);
        }
        values[dims * padded..][..n].fill(1.0);
        values[(dims + 1) * padded..][..n].copy_from_slice(weights);
        Self { prototypes: n, dims, padded, values }
    }

    #[inline(always)]
    pub(super) fn axis(&self, axis: usize) -> &[f64] {
        &self.values[axis * self.padded..][..self.padded]
    }

    /// As many ones as there are prototypes.
    #[inline(always)]
    pub(super) fn ones(&self) -> &[f64] {
        self.axis(self.dims)
    }

    /// q
    #[inline(always)]
    pub(super) fn weights(&self) -> &[f64] {
        self.axis(self.dims + 1)
    }

    /// The squared distances of prototype k to all, and to the origin for the padding, written to `out`.
    #[inline(always)]
    pub(super) fn squared_distances<'o>(&self, k: usize, out: &'o mut Vec<f64>) -> &'o [f64] {
        out.clear();
        out.resize(self.padded, 0.0);
        for c in 0..self.dims {
            let axis = self.axis(c);
            let here = axis[k];
            for (square, there) in out.iter_mut().zip(axis) {
                *square += (here - there) * (here - there);
            }
        }
        out
    }

    #[inline(always)]
    pub(super) fn squared_distance(&self, k: usize, l: usize) -> f64 {
        (0..self.dims).map(|c| self.axis(c)[k] - self.axis(c)[l]).map(|difference| difference * difference).sum()
    }
}

/// A function f(d²) at the pairs of one prototype.
#[derive(Default)]
pub(super) struct Row {
    /// f
    pub(super) values: Vec<f64>,
    /// f′, or after [`weigh`](Self::weigh) m·f′.
    pub(super) derivatives: Vec<f64>,
}

impl Row {
    /// Makes room for `length` pairs.
    #[inline(always)]
    pub(super) fn resize(&mut self, length: usize) {
        self.values.resize(length, 0.0);
        self.derivatives.resize(length, 0.0);
    }

    /// Takes the pair of prototype k with itself out.
    #[inline(always)]
    pub(super) fn remove(&mut self, k: usize) {
        (self.values[k], self.derivatives[k]) = (0.0, 0.0);
    }

    /// Σ_l m_l·f_l
    #[inline(always)]
    pub(super) fn sum<V: pulp::Simd>(&self, simd: V, coefficients: &[f64]) -> f64 {
        wide_dot(simd, coefficients, &self.values)
    }

    /// Multiplies f′ by the coefficients m of a sum.
    #[inline(always)]
    pub(super) fn weigh(&mut self, coefficients: &[f64]) {
        self.derivatives.iter_mut().zip(coefficients).for_each(|(derivative, m)| *derivative *= m);
    }

    /// Writes Σ_l f′_l·(z_k − z_l), and returns −Σ_l f′_l.
    #[inline(always)]
    pub(super) fn gradient<V: pulp::Simd>(&self, at: At<'_, V>, out: &mut [f64]) -> f64 {
        let At { simd, k, coordinates } = at;
        let total = wide_dot(simd, &self.derivatives, coordinates.ones());
        for (c, out) in out.iter_mut().enumerate() {
            let axis = coordinates.axis(c);
            *out = total * axis[k] - wide_dot(simd, &self.derivatives, axis);
        }
        -total
    }
}

/// Where functions of the kernel of a row are stored. A pair of stores is filled in one loop, which evaluates the kernel
/// once for both.
pub(super) trait Store {
    /// Stores the function at pair l. `loss` is a constant of the loop that calls this.
    fn set(&mut self, loss: Loss, l: usize, kernel: RawKernel);
}

impl<A: Store, B: Store> Store for (A, B) {
    #[inline(always)]
    fn set(&mut self, loss: Loss, l: usize, kernel: RawKernel) {
        self.0.set(loss, l, kernel);
        self.1.set(loss, l, kernel);
    }
}

/// Evaluates the kernel at all squared distances of a row.
#[inline(always)]
pub(super) fn fill(profile: Profile, loss: Loss, squares: &[f64], store: impl Store) {
    // Every arm names its loss, and below its profile, so that each loop is compiled for one of them.
    match loss {
        Loss::BinaryCrossEntropy => fill_for(profile, Loss::BinaryCrossEntropy, squares, store),
        _ => fill_for(profile, Loss::Kl, squares, store),
    }
}

#[inline(always)]
fn fill_for(profile: Profile, loss: Loss, squares: &[f64], store: impl Store) {
    match profile {
        Profile::Gaussian => fill_by(Gaussian, loss, squares, store),
        Profile::Student => fill_by(Student, loss, squares, store),
        Profile::HeavyTailed => fill_by(HeavyTailed, loss, squares, store),
        Profile::Umap { a, b } => fill_by(Umap { a, b }, loss, squares, store),
    }
}

#[inline(always)]
fn fill_by<C: Curve>(curve: C, loss: Loss, squares: &[f64], mut store: impl Store) {
    let is_bce = loss == Loss::BinaryCrossEntropy;
    // Counted by index: the compiler then sees that the stores are as long, and checks nothing inside the loop.
    #[expect(clippy::needless_range_loop)]
    for l in 0..squares.len() {
        store.set(loss, l, curve.at::<true>(kept_apart(squares[l], &curve, is_bce)));
    }
}

/// A squared distance at which the kernel and its loss, the binary cross-entropy or not, are finite.
#[inline(always)]
pub(super) fn kept_apart<C: Curve>(square: f64, _: &C, is_bce: bool) -> f64 {
    if C::SINGULAR_AT_ZERO || is_bce { square.max(LEAST_SQUARE) } else { square }
}

/// The prototype whose row is handled, and the vector instructions to handle it with.
#[derive(Clone, Copy)]
pub(super) struct At<'c, V> {
    pub(super) simd: V,
    pub(super) k: usize,
    pub(super) coordinates: &'c Coordinates,
}

/// A pass over the rows of all prototypes that gathers some sums over pairs at once.
pub(super) trait RowPass<const SUMS: usize>: Sync {
    /// Space that rows after one another share.
    type Scratch: Default;

    /// What the row of prototype k adds to each sum; writes the gradient of each at k, d numbers that are zero before.
    fn row<V: pulp::Simd>(
        &self,
        at: At<'_, V>,
        scratch: &mut Self::Scratch,
        gradients: [&mut [f64]; SUMS],
    ) -> [Part; SUMS];
}

/// Runs a pass over all rows.
pub(super) fn run<const SUMS: usize, P: RowPass<SUMS>>(pass: &P, coordinates: &Coordinates) -> [PairSum; SUMS] {
    let (n, d) = (coordinates.prototypes, coordinates.dims);
    let blocks: Vec<(Vec<[Part; SUMS]>, Vec<f64>)> = (0..n.div_ceil(ROWS))
        .into_par_iter()
        .with_min_len(if n < LEAST_PARALLEL { usize::MAX } else { 1 })
        .map_init(P::Scratch::default, |scratch, block| {
            crate::interrupt::look();
            let rows = block * ROWS..n.min((block + 1) * ROWS);
            // The gradients of all rows for the first sum, then for the next.
            let size = rows.len() * d;
            let mut gradients = vec![0.0; SUMS * size];
            let of_row = |(row, k): (usize, usize)| {
                let mut parts = gradients.chunks_exact_mut(size);
                let gradients = std::array::from_fn(|_| &mut parts.next().unwrap_or_default()[row * d..][..d]);
                pulp::Arch::new().dispatch(OneRow { pass, k, coordinates, scratch, gradients })
            };
            (rows.enumerate().map(of_row).collect(), gradients)
        })
        .collect();
    std::array::from_fn(|sum| {
        let room = Vec::with_capacity;
        let mut total = PairSum { rows: room(n), gradient: room(n * d), stiffness: room(n) };
        for (rows, gradients) in &blocks {
            let size = gradients.len() / SUMS;
            total.rows.extend(rows.iter().map(|row| row[sum].value));
            total.stiffness.extend(rows.iter().map(|row| row[sum].stiffness));
            total.gradient.extend_from_slice(&gradients[sum * size..][..size]);
        }
        total
    })
}

/// One row of a pass, with the instructions of the machine at hand.
struct OneRow<'p, const SUMS: usize, P: RowPass<SUMS>> {
    pass: &'p P,
    k: usize,
    coordinates: &'p Coordinates,
    scratch: &'p mut P::Scratch,
    gradients: [&'p mut [f64]; SUMS],
}

impl<const SUMS: usize, P: RowPass<SUMS>> pulp::WithSimd for OneRow<'_, SUMS, P> {
    type Output = [Part; SUMS];

    #[inline(always)]
    fn with_simd<V: pulp::Simd>(self, simd: V) -> [Part; SUMS] {
        let at = At { simd, k: self.k, coordinates: self.coordinates };
        self.pass.row(at, self.scratch, self.gradients)
    }
}
