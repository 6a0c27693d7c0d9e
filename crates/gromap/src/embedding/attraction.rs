//! Attraction: the sum ⟨M, a(W)⟩ over pairs of prototypes, and its gradient.
//!
//! | loss | a(W) | ∂a/∂d² |
//! |---|---|---|
//! | KL | log W | ∂ log W/∂d² |
//! | binary cross-entropy | log W − log(1−W) | (∂ log W/∂d²) / (1−W) |
//!
//! The objective subtracts it: prototypes with much similarity between them, M_kl, are drawn together. A dense M (n×n)
//! needs the distances of all pairs, as the repulsion does, and shares them with it (`dense.rs`). With a prototype for
//! every sample M is as sparse as C_X, and only its stored pairs are visited ([`of_stored_pairs`]).

use super::pairs::{At, Coordinates, PairSum, Row, RowPass, Store, fill, run};
use super::profile::{Profile, RawKernel};
use crate::loss::Loss;
use crate::numeric::logarithm::ln;
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
        let RawKernel { w, log, log_derivative, odds } = kernel;
        let is_bce = loss == Loss::BinaryCrossEntropy;
        self.derivatives[l] = if is_bce { log_derivative / (odds * w) } else { log_derivative };
        if VALUE {
            let log_rest = log + ln(odds); // log(1 − W)
            self.values[l] = if is_bce { log - log_rest } else { log };
        }
    }
}

/// M where every prototype is one sample: M_kl = q_k·c·C_kl·q_l of a symmetric similarity C and a factor c.
#[derive(Clone, Copy)]
pub(super) struct StoredPairs<'a> {
    pub(super) similarity: &'a Sparse<'a, f32>,
    /// q
    pub(super) weights: &'a [f64],
    /// c
    pub(super) scale: f64,
}

/// The attraction between the stored pairs; the similarity of a sample to itself is left out.
pub(super) fn of_stored_pairs<const VALUE: bool>(
    pairs: StoredPairs<'_>,
    profile: Profile,
    loss: Loss,
    coordinates: &Coordinates,
) -> PairSum {
    let [sum] = run(&Pass::<VALUE> { pairs, profile, loss }, coordinates);
    sum
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
    ) -> [f64; 1] {
        let (columns, values) = self.pairs.similarity.row(k);
        squares.clear();
        squares.extend(columns.iter().map(|&l| coordinates.squared_distance(k, l as usize)));
        fill(self.profile, self.loss, squares, Attraction::<VALUE>::in_row(row, columns.len()));
        let (q, mut sum) = (self.pairs.weights, 0.0);
        for (at, (&l, &value)) in columns.iter().zip(values).enumerate() {
            let l = l as usize;
            let mass = if l == k { 0.0 } else { self.pairs.scale * q[k] * f64::from(value) * q[l] };
            if VALUE {
                sum += mass * row.values[at];
            }
            for (c, out) in gradient.iter_mut().enumerate() {
                let axis = coordinates.axis(c);
                *out += mass * row.derivatives[at] * (axis[k] - axis[l]);
            }
        }
        [sum]
    }
}
