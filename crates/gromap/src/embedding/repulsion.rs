//! Repulsion: the sums qᵀ r(W) q and, for one normalisation, Σ r(W) over all pairs of prototypes, and their gradients.
//!
//! | loss | r(W) | ∂r/∂d² |
//! |---|---|---|
//! | KL | W | W·∂ log W/∂d² |
//! | binary cross-entropy | −log(1−W) | W·(∂ log W/∂d²) / (1−W) |
//!
//! The objective adds a function of them: what is not held together by attraction moves apart. Unlike attraction,
//! repulsion acts between all pairs, so that an exact pass costs O(n²·d): nothing for n prototypes, much for n = N.
//! From [`LEAST_APPROXIMATE`] prototypes on the sums are therefore approximated, to within 1% of the exact gradient:
//!
//! | way | serves | cost of a pass |
//! |---|---|---|
//! | `grid.rs` | KL, one or two dimensions, maps not too wide for their number of prototypes | n, and a Fourier transform of some nodes |
//! | `tree.rs` | one to three dimensions, any width, all kernels but the Gaussian | n·log n |
//! | all pairs | everything else | n² |
//!
//! A further approximation would be one more row, computed in a file of its own, that returns the same [`PairSum`].

use std::sync::Arc;

use super::grid::{self, Grid};
use super::pairs::{At, Coordinates, PairSum, Part, Row, RowPass, Store, fill, run};
use super::profile::RawKernel;
use super::radial::{Normalization, Radial};
use super::tree::{self, Interaction};
use crate::loss::Loss;
use crate::numeric::logarithm::ln;

/// Prototypes from which on an approximation is sooner done than all pairs.
const LEAST_APPROXIMATE: usize = 700;

/// How the repulsion between prototypes is computed.
#[derive(Clone)]
pub(super) enum Repulsion {
    /// Over all pairs of different prototypes.
    Exact,
    /// Over all pairs, those of a prototype with itself among them.
    ExactWithSelf,
    /// On a grid or by a tree, whichever is the sooner for the map at hand.
    Approximate(Arc<Grid>),
}

/// What any way to compute the repulsion returns.
pub(super) struct RepulsionSums {
    /// qᵀ r(W) q, but the factor q_k is left out of the gradient and the stiffness at prototype k. The value is needed for the normalised KL
    /// loss in any case, and else only where the value of the objective is asked for.
    pub(super) weighted: PairSum,
    /// Σ r(W), where the kernel is normalised over cells.
    pub(super) cells: Option<PairSum>,
}

impl Repulsion {
    /// Over all pairs, those of a prototype with itself if they count.
    pub(super) fn exact(self_pairs: bool) -> Self {
        if self_pairs { Self::ExactWithSelf } else { Self::Exact }
    }

    /// The fastest way for so many prototypes that is accurate.
    pub(super) fn fastest(prototypes: usize, kernel: Radial, self_pairs: bool) -> Self {
        match prototypes >= LEAST_APPROXIMATE && !kernel.magnifies_tails() {
            true => Self::Approximate(Arc::new(Grid::new(self_pairs))),
            false => Self::exact(self_pairs),
        }
    }

    /// The repulsion of every prototype from all others.
    pub(super) fn sums<const VALUE: bool>(
        &self,
        kernel: Radial,
        loss: Loss,
        coordinates: &Coordinates,
    ) -> RepulsionSums {
        let self_pairs = match self {
            Self::Exact => false,
            Self::ExactWithSelf => true,
            Self::Approximate(grid) => {
                let interaction = Interaction { profile: kernel.profile, loss, self_pairs: grid.self_pairs };
                let on_grid = |charges: &[f64]| grid.sum(kernel.profile, coordinates, charges);
                let by_tree = |charges: &[f64]| tree::sum::<VALUE>(interaction, coordinates, charges);
                let sum = |charges: &[f64]| {
                    (loss == Loss::Kl).then(|| on_grid(charges)).flatten().or_else(|| by_tree(charges))
                };
                if let Some(weighted) = sum(coordinates.weights()) {
                    let by_cells = kernel.normalization == Normalization::Cells;
                    return RepulsionSums { weighted, cells: by_cells.then(|| sum(coordinates.ones())).flatten() };
                }
                grid.self_pairs
            }
        };
        let [weighted, cells] = run(&ExactPass::<VALUE> { kernel, loss, self_pairs }, coordinates);
        RepulsionSums::new(weighted, cells, kernel)
    }
}

/// Bytes that an approximation for so many prototypes takes, at most.
pub(crate) fn most_bytes(prototypes: u64, dims: u64) -> u64 {
    match dims {
        _ if prototypes < LEAST_APPROXIMATE as u64 => 0,
        1 | 2 => grid::most_bytes(prototypes).max(tree::most_bytes(prototypes)),
        3 => tree::most_bytes(prototypes),
        _ => 0,
    }
}

impl RepulsionSums {
    /// Keeps the sum over cells where the kernel is normalised over them.
    pub(super) fn new(weighted: PairSum, cells: PairSum, kernel: Radial) -> Self {
        Self { weighted, cells: (kernel.normalization == Normalization::Cells).then_some(cells) }
    }
}

/// Stores r, where its sum is needed, and ∂r/∂d².
pub(super) struct Repelling<'r, const VALUE: bool> {
    values: &'r mut [f64],
    derivatives: &'r mut [f64],
}

impl<'r, const VALUE: bool> Repelling<'r, VALUE> {
    /// Room for `length` pairs in a row.
    #[inline(always)]
    pub(super) fn in_row(row: &'r mut Row, length: usize) -> Self {
        row.resize(length);
        Self { values: &mut row.values[..length], derivatives: &mut row.derivatives[..length] }
    }
}

impl<const VALUE: bool> Store for Repelling<'_, VALUE> {
    #[inline(always)]
    fn set(&mut self, loss: Loss, l: usize, kernel: RawKernel) {
        (self.values[l], self.derivatives[l]) = match loss {
            Loss::BinaryCrossEntropy => repulsion::<VALUE, true>(kernel),
            _ => repulsion::<VALUE, false>(kernel),
        };
    }
}

/// r, where its sum is needed, and ∂r/∂d², by the table above.
#[inline(always)]
pub(super) fn repulsion<const VALUE: bool, const BCE: bool>(kernel: RawKernel) -> (f64, f64) {
    let RawKernel { w, log, log_derivative, odds, slope_by_odds } = kernel;
    match BCE {
        true => (if VALUE { -(log + ln(odds)) } else { 0.0 }, slope_by_odds), // −log(1 − W)
        false => (w, log_derivative * w),
    }
}

/// What the row of prototype k adds to the sums qᵀ r(W) q and Σ r(W); writes their gradients at k.
#[inline(always)]
pub(super) fn of_row<V: pulp::Simd>(
    at: At<'_, V>,
    normalization: Normalization,
    row: &mut Row,
    [of_weighted, of_cells]: [&mut [f64]; 2],
) -> [Part; 2] {
    let At { simd, k, coordinates } = at;
    let mut cells = Part::default();
    if normalization == Normalization::Cells {
        cells = Part { value: row.sum(simd, coordinates.ones()), stiffness: row.gradient(at, of_cells) };
    }
    let q = coordinates.weights();
    let value = q[k] * row.sum(simd, q);
    row.weigh(q);
    [Part { value, stiffness: row.gradient(at, of_weighted) }, cells]
}

/// All pairs, row by row.
struct ExactPass<const VALUE: bool> {
    kernel: Radial,
    loss: Loss,
    self_pairs: bool,
}

/// The pairs of one prototype.
#[derive(Default)]
struct Scratch {
    squares: Vec<f64>,
    row: Row,
}

impl<const VALUE: bool> RowPass<2> for ExactPass<VALUE> {
    type Scratch = Scratch;

    #[inline(always)]
    fn row<V: pulp::Simd>(
        &self,
        at: At<'_, V>,
        Scratch { squares, row }: &mut Scratch,
        gradients: [&mut [f64]; 2],
    ) -> [Part; 2] {
        let &Self { kernel, loss, self_pairs } = self;
        let squares = at.coordinates.squared_distances(at.k, squares);
        fill(kernel.profile, loss, squares, Repelling::<VALUE>::in_row(row, squares.len()));
        if !self_pairs {
            row.remove(at.k);
        }
        of_row(at, kernel.normalization, row, gradients)
    }
}
