//! Attraction and repulsion in one pass, for a dense M: the two share the distances and the kernel of every pair, which
//! are most of the work.

use super::attraction::Attraction;
use super::pairs::{At, Coordinates, PairSum, Part, Row, RowPass, fill, run};
use super::radial::Radial;
use super::repulsion::{Repelling, RepulsionSums, of_row};
use crate::loss::Loss;
use crate::numeric::Matrix;

/// What a pass over a dense M needs to know.
#[derive(Clone, Copy)]
pub(super) struct DensePass<'a, const VALUE: bool> {
    pub(super) kernel: Radial,
    pub(super) loss: Loss,
    /// M, symmetric; rows end in zeros up to the length of an axis of the coordinates.
    pub(super) mass: &'a Matrix<'a>,
    /// Whether the pair of a prototype with itself counts.
    pub(super) self_pairs: bool,
}

impl<const VALUE: bool> DensePass<'_, VALUE> {
    /// The attraction and the repulsion between all prototypes.
    pub(super) fn sums(&self, coordinates: &Coordinates) -> (PairSum, RepulsionSums) {
        let [attraction, weighted, cells] = run(self, coordinates);
        (attraction, RepulsionSums::new(weighted, cells, self.kernel))
    }
}

/// The pairs of one prototype.
#[derive(Default)]
pub(super) struct Scratch {
    squares: Vec<f64>,
    attraction: Row,
    repulsion: Row,
}

impl<const VALUE: bool> RowPass<3> for DensePass<'_, VALUE> {
    type Scratch = Scratch;

    #[inline(always)]
    fn row<V: pulp::Simd>(
        &self,
        at: At<'_, V>,
        Scratch { squares, attraction, repulsion }: &mut Scratch,
        [of_attraction, of_weighted, of_cells]: [&mut [f64]; 3],
    ) -> [Part; 3] {
        let &Self { kernel, loss, mass, self_pairs } = self;
        let At { simd, k, coordinates } = at;
        let squares = coordinates.squared_distances(k, squares);
        let length = squares.len();
        let stores = (Attraction::<VALUE>::in_row(attraction, length), Repelling::<VALUE>::in_row(repulsion, length));
        fill(kernel.profile, loss, squares, stores);
        if !self_pairs {
            attraction.remove(k);
            repulsion.remove(k);
        }
        let value = if VALUE { attraction.sum(simd, mass.row(k)) } else { 0.0 };
        attraction.weigh(mass.row(k));
        let attracted = Part { value, stiffness: attraction.gradient(at, of_attraction) };
        let [weighted, cells] = of_row(at, kernel.normalization, repulsion, [of_weighted, of_cells]);
        [attracted, weighted, cells]
    }
}
