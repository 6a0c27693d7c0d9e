//! C_X: how samples relate, as an operator.
//!
//! Solvers multiply a similarity by a plan and never index it. The product C·T is a [`Sketch`], an
//! object that the operator makes ([`Similarity::sketch`]): it holds whatever the operator needs to
//! give rows of C·T, always *linear* in T, so that a step of a solver updates it instead of
//! multiplying again. Every operator has its own type of sketch, which refers to the operator, so
//! the two cannot be mixed up. Eigenvectors need products with any thin matrix: [`Similarity::times`].
//!
//! | operator | sketch of T | cost for a hard T |
//! |---|---|---|
//! | [`Dense`] | C·T itself | N² (one pass over the matrix) |
//! | [`LowRank`] A·Bᵀ | Bᵀ·T | N·r |
//! | [`Sparse`] | T itself, or C·T once T is soft | nnz |
//! | [`WeightedSum`] | those of its parts | the sum |

mod dense;
mod given;
mod low_rank;
mod sparse;
mod sum;
#[cfg(test)]
pub(crate) mod tests;

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

pub use self::dense::Dense;
pub use self::given::{dense, graph, graph_of_pairs, low_rank, sparse};
pub use self::low_rank::LowRank;
pub use self::sparse::Sparse;
pub use self::sum::WeightedSum;
pub(crate) use self::sum::merged;
use crate::data::Samples;
use crate::loss::Loss;
use crate::numeric::Matrix;
pub use crate::numeric::blocks::BLOCK;
use crate::numeric::blocks::sum_of_blocks;
use crate::plan::{Plan, PlanRow};

/// C or its transpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// C·T
    Direct,
    /// Cᵀ·T
    Transposed,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Direct => Self::Transposed,
            Self::Transposed => Self::Direct,
        }
    }
}

/// What is known of the signs of a similarity, and so whether Theorem 1 of the paper applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Definiteness {
    /// Positive semi-definite.
    Psd,
    /// Negative semi-definite.
    Nsd,
    /// Squared Euclidean distances.
    SquaredEuclidean,
    /// Nothing is known.
    Unknown,
}

impl Definiteness {
    /// Whether vec(U)ᵀ(C⊗C)vec(U) is known to be convex on couplings, so that srGWB with the
    /// square loss has a hard optimum (Theorem 1).
    pub fn has_hard_optimum(self) -> bool {
        self != Self::Unknown
    }
}

/// An extreme entry, and where it stands if it is attained at a known place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extreme {
    /// The value, or a bound of it.
    pub value: f64,
    /// Row and column, if the value is an entry.
    pub at: Option<(usize, usize)>,
}

/// An interval that holds every entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// No entry is below this.
    pub low: Extreme,
    /// No entry is above this.
    pub high: Extreme,
}

/// What an operator holds, for those who show it or walk over its entries.
pub enum Contents<'a> {
    /// Every entry.
    Dense(Samples<'a>),
    /// Thin factors A and B, or A alone.
    LowRank(Samples<'a>, Option<Samples<'a>>),
    /// The entries that are not zero, in single precision.
    Sparse(&'a Sparse<'a, f32>),
    /// Something else.
    Other,
}

/// How N samples relate: an N×N matrix that is only ever multiplied.
#[allow(clippy::len_without_is_empty)] // a similarity of no samples does not exist
pub trait Similarity: Send + Sync {
    /// Number of samples N.
    fn len(&self) -> usize;

    /// Whether C = Cᵀ; then one product serves both sides.
    fn is_symmetric(&self) -> bool;

    /// What is known of its signs.
    fn definiteness(&self) -> Definiteness;

    /// An interval that holds every entry.
    fn bounds(&self) -> Bounds;

    /// C\[i, i\].
    fn diagonal(&self, i: usize) -> f64;

    /// What it holds; solvers never ask.
    fn contents(&self) -> Contents<'_> {
        Contents::Other
    }

    /// Σ f1(C\[i,j\])·h_i·h_j, or `None` where that would cost more than the operator's own products.
    fn constant(&self, loss: Loss, weights: &[f64]) -> Option<f64>;

    /// C·T (or Cᵀ·T), ready to give its rows and to follow changes of T.
    fn sketch<'a>(&'a self, plan: &Plan, side: Side) -> Box<dyn Sketch + 'a>;

    /// C·X (or Cᵀ·X) of a thin matrix, a row for each sample: what eigenvectors are found by.
    ///
    /// ```
    /// use gromap::Matrix;
    /// use gromap::similarity::{Dense, Side, Similarity};
    /// let c = Dense::new(Matrix::new(vec![1.0, 2.0, 3.0, 4.0], 2, 2)?)?;
    /// let x = Matrix::new(vec![1.0, -1.0], 2, 1)?;
    /// assert_eq!(c.times(&x, Side::Direct).values(), &[-1.0, -1.0]);
    /// assert_eq!(c.times(&x, Side::Transposed).values(), &[-2.0, -2.0]);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    fn times(&self, x: &Matrix<'_>, side: Side) -> Matrix<'static>;
}

/// One row of C·T, n numbers, and the prototypes where it is not zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProductRow {
    /// The row.
    pub values: Vec<f64>,
    /// Where it is not zero, ascending.
    pub seen: Vec<u32>,
}

impl ProductRow {
    /// A row of n zeros.
    pub fn clear(&mut self, prototypes: usize) {
        if self.values.len() == prototypes {
            self.seen.iter().for_each(|&k| self.values[k as usize] = 0.0);
        } else {
            self.values.clear();
            self.values.resize(prototypes, 0.0);
        }
        self.seen.clear();
    }

    /// Adds to one entry.
    pub(crate) fn add(&mut self, prototype: usize, value: f64) {
        // An entry may be zero and listed, where its parts cancelled.
        if self.values[prototype] == 0.0 && value != 0.0 {
            self.seen.push(prototype as u32);
            self.seen.sort_unstable();
            self.seen.dedup();
        }
        self.values[prototype] += value;
    }

    /// Adds to one entry of a row that is put in [`order`](Self::order) afterwards.
    #[inline]
    pub(crate) fn gather(&mut self, prototype: u32, value: f64) {
        let sum = &mut self.values[prototype as usize];
        if *sum == 0.0 && value != 0.0 {
            self.seen.push(prototype);
        }
        *sum += value;
    }

    /// Lists where the row is not zero.
    fn list(&mut self) {
        let Self { values, seen } = self;
        seen.clear();
        seen.extend((0..values.len() as u32).filter(|&k| values[k as usize] != 0.0));
    }

    /// Puts the list in order, and names each prototype once.
    pub(crate) fn order(&mut self) {
        // Looking at all prototypes is cheaper than sorting where many are seen.
        if SORTED_BELOW * self.seen.len() > self.values.len() {
            return self.list();
        }
        self.seen.sort_unstable();
        self.seen.dedup();
    }
}

/// A list that is shorter than this share of a row is sorted.
const SORTED_BELOW: usize = 16;

/// C·T (or Cᵀ·T) in the form that its operator keeps it: linear in T.
pub trait Sketch: Send + Sync {
    /// Writes rows of the product, one after the other, n numbers each. Solvers ask for ranges that
    /// do not cross a multiple of [`BLOCK`].
    fn product_rows(&self, rows: Range<usize>, out: &mut [f64]);

    /// Writes one row of the product and where it is not zero into `out`, which is clear.
    fn product_row(&self, row: usize, out: &mut ProductRow) {
        self.product_rows(row..row + 1, &mut out.values);
        out.list();
    }

    /// Follows one change of the plan: row `sample`, which was `from`, goes whole to prototype `to`.
    fn reassign(&mut self, sample: usize, from: PlanRow<'_>, to: u32);

    /// The numbers that stand for the product, linear in T; a sum of operators has a vector for each.
    fn numbers(&self) -> Vec<Cow<'_, [f64]>>;

    /// The same numbers to be changed in place; from here on the sketch is kept as numbers.
    fn numbers_mut(&mut self) -> Vec<&mut [f64]>;

    /// A copy.
    fn boxed_clone<'a>(&self) -> Box<dyn Sketch + 'a>
    where
        Self: 'a;

    /// Whether it is kept as one vector of numbers now, which [`numbers`](Self::numbers) only lends.
    fn is_numbers(&self) -> bool {
        true
    }

    /// (1−γ)·self + γ·other, for two sketches of the same operator and side.
    fn blend(&mut self, gamma: f64, other: &dyn Sketch) {
        for (numbers, other) in self.numbers_mut().into_iter().zip(other.numbers()) {
            let blend = |(a, b): (&mut [f64], &[f64])| a.iter_mut().zip(b).for_each(|(a, b)| *a += gamma * (b - *a));
            numbers.par_chunks_mut(64 * BLOCK).zip(other.par_chunks(64 * BLOCK)).for_each(blend);
        }
    }

    /// Follows a change from one hard plan to another.
    fn reassign_all(&mut self, before: &Plan, after: &[u32]) {
        for (i, to) in before.moved_by(after) {
            self.reassign(i, before.row(i), to);
        }
    }

    /// M = TᵀCT, n×n, if this is C·T of the same plan.
    fn plan_mass(&self, plan: &Plan) -> Matrix<'static> {
        let n = plan.prototypes();
        let mass = sum_of_blocks(plan.len(), n * n, |rows| plan_mass_of_block(self, plan, rows));
        Matrix::new(mass, n, n).expect("n×n by construction")
    }
}

/// What a block of rows adds to M = TᵀCT: Σ T\[i,·\]ᵀ·(C·T)\[i,·\].
fn plan_mass_of_block<K: Sketch + ?Sized>(sketch: &K, plan: &Plan, rows: Range<usize>) -> Vec<f64> {
    let n = plan.prototypes();
    let mut product = vec![0.0; rows.len() * n];
    sketch.product_rows(rows.clone(), &mut product);
    let mut mass = vec![0.0; n * n];
    for (i, row) in rows.zip(product.chunks_exact(n)) {
        scatter_row(&mut mass, plan.row(i), row);
    }
    mass
}

/// Adds the outer product of a plan row and `row` to an n×n matrix.
#[inline]
pub(crate) fn scatter_row(mass: &mut [f64], plan_row: PlanRow<'_>, row: &[f64]) {
    let n = row.len();
    for (k, m) in plan_row.iter() {
        for (sum, value) in mass[k * n..(k + 1) * n].iter_mut().zip(row) {
            *sum += m * value;
        }
    }
}
