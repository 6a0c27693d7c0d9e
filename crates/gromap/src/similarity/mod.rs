//! C_X: how samples relate, as an operator.
//!
//! Solvers multiply a similarity by a plan and never index it. The product C·T is kept as a
//! [`Sketch`]: whatever the operator needs to give rows of C·T, always *linear* in T, so that a
//! step of a solver updates it instead of multiplying again. Eigenvectors need products with any
//! thin matrix: [`Similarity::times`].
//!
//! | operator | sketch of T | cost for a hard T |
//! |---|---|---|
//! | [`Dense`] | C·T itself | N² (one pass over the matrix) |
//! | [`LowRank`] A·Bᵀ | Bᵀ·T | N·r |
//! | [`Sparse`] | T itself, or C·T once T is soft | nnz |
//! | [`WeightedSum`] | those of its parts | the sum |

mod dense;
mod low_rank;
mod sparse;
mod sum;
#[cfg(test)]
pub(crate) mod tests;

use std::ops::Range;

use rayon::prelude::*;

pub use self::dense::Dense;
pub use self::low_rank::LowRank;
pub use self::sparse::Sparse;
pub use self::sum::WeightedSum;
use crate::loss::Loss;
use crate::numeric::Matrix;
pub use crate::numeric::blocks::BLOCK;
use crate::numeric::blocks::{blocks, sum_in_order};
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

/// C·T in the form its operator keeps it: linear in T.
#[derive(Debug, Clone)]
pub enum Sketch {
    /// Numbers whose layout is the operator's affair.
    Values(Vec<f64>),
    /// The plan itself.
    Plan(Plan),
    /// One for each part of a sum.
    Parts(Vec<Sketch>),
}

impl Sketch {
    /// (1−γ)·self + γ·other, for two sketches of the same operator made of numbers.
    fn blend(&mut self, gamma: f64, other: &Self) {
        match (self, other) {
            (Self::Values(a), Self::Values(b)) => {
                let blend =
                    |(a, b): (&mut [f64], &[f64])| a.iter_mut().zip(b).for_each(|(a, b)| *a += gamma * (b - *a));
                a.par_chunks_mut(64 * BLOCK).zip(b.par_chunks(64 * BLOCK)).for_each(blend);
            }
            (Self::Parts(a), Self::Parts(b)) => a.iter_mut().zip(b).for_each(|(a, b)| a.blend(gamma, b)),
            _ => unreachable!("a sketch is made numbers before it is blended"),
        }
    }
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

    /// Σ f1(C\[i,j\])·h_i·h_j, or `None` where that would cost more than the operator's own products.
    fn constant(&self, loss: Loss, weights: &[f64]) -> Option<f64>;

    /// Everything needed to give rows of C·T (or Cᵀ·T).
    fn sketch(&self, plan: &Plan, side: Side) -> Sketch;

    /// Writes the rows of C·T (or Cᵀ·T), one after the other, n numbers each. Solvers ask for
    /// ranges that do not cross a multiple of [`BLOCK`].
    fn product_rows(&self, sketch: &Sketch, side: Side, rows: Range<usize>, out: &mut [f64]);

    /// C·X (or Cᵀ·X) of a thin matrix, a row for each sample: what eigenvectors are found by.
    ///
    /// ```
    /// use gromap::{Dense, Matrix, Side, Similarity};
    /// let c = Dense::new(Matrix::new(vec![1.0, 2.0, 3.0, 4.0], 2, 2)?)?;
    /// let x = Matrix::new(vec![1.0, -1.0], 2, 1)?;
    /// assert_eq!(c.times(&x, Side::Direct).values(), &[-1.0, -1.0]);
    /// assert_eq!(c.times(&x, Side::Transposed).values(), &[-2.0, -2.0]);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    fn times(&self, x: &Matrix<'_>, side: Side) -> Matrix<'static>;

    /// Puts a sketch into a form that can be blended: numbers, linear in the plan.
    fn materialise(&self, sketch: &mut Sketch, side: Side) {
        let _ = (sketch, side); // numbers already
    }

    /// (1−γ)·sketch + γ·other.
    fn blend(&self, sketch: &mut Sketch, side: Side, gamma: f64, other: &Sketch) {
        if gamma >= 1.0 {
            sketch.clone_from(other);
            return;
        }
        self.materialise(sketch, side);
        match other {
            Sketch::Values(_) => sketch.blend(gamma, other),
            _ => {
                let mut other = other.clone();
                self.materialise(&mut other, side);
                sketch.blend(gamma, &other);
            }
        }
    }

    /// Follows a change from one hard plan to another.
    fn reassign_all(&self, sketch: &mut Sketch, side: Side, before: &Plan, after: &[u32]) {
        for (i, to) in before.moved_by(after) {
            self.reassign(sketch, side, i, before.row(i), to);
        }
    }

    /// Follows one change of the plan: row `sample`, which was `from`, goes whole to prototype `to`.
    fn reassign(&self, sketch: &mut Sketch, side: Side, sample: usize, from: PlanRow<'_>, to: u32);

    /// M = TᵀCT, n×n, from the direct sketch of the same plan.
    fn plan_mass(&self, plan: &Plan, sketch: &Sketch) -> Matrix<'static> {
        let n = plan.prototypes();
        let partial: Vec<Vec<f64>> = blocks(self.len())
            .map(|rows| {
                let mut product = vec![0.0; rows.len() * n];
                self.product_rows(sketch, Side::Direct, rows.clone(), &mut product);
                let mut mass = vec![0.0; n * n];
                for (i, row) in rows.zip(product.chunks_exact(n)) {
                    scatter_row(&mut mass, plan.row(i), row);
                }
                mass
            })
            .collect();
        Matrix::new(sum_in_order(partial), n, n).expect("n×n by construction")
    }
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
