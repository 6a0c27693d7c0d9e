//! Adam on the prototypes of a landscape (Kingma and Ba, 2015).
//!
//! Steps do not depend on the scale of E, which shrinks with n² and differs between losses: a rate is a
//! length in the plane. It falls linearly to zero, so that a run of any length ends settled and E is looked at
//! only where it begins and ends.

use super::landscape::Landscape;
use crate::error::Result;
use crate::numeric::Matrix;

const FIRST_DECAY: f64 = 0.9;
const SECOND_DECAY: f64 = 0.99;
/// What keeps a prototype without a slope where it is.
const FLOOR: f64 = 1e-30;

/// Share of a fold's steps before dimensions are pressed, and what is left of them at its end.
const UNPRESSED: f64 = 0.35;
const FLAT: f64 = 0.02;

/// How long and how fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Adam {
    /// Steps.
    pub(crate) steps: usize,
    /// Length of the first steps.
    pub(crate) rate: f64,
}

impl Adam {
    /// Goes down from `start`; gives where that ends and its value, or the start and its own if that is lower.
    pub(crate) fn descend(&self, landscape: &Landscape<'_>, start: Matrix<'static>) -> Result<(f64, Matrix<'static>)> {
        let before = landscape.slope(&start)?.0;
        let end = self.walk(start.clone(), |_, here| landscape.slope_alone(here))?;
        let after = landscape.slope(&end)?.0;
        Ok(if after <= before { (after, end) } else { (before, start) })
    }

    /// Goes down in all the dimensions of `start`, where prototypes can pass each other, while those after the
    /// first `dims` are pressed flat; gives where that ends, in `dims` dimensions.
    pub(crate) fn fold(
        &self,
        landscape: &Landscape<'_>,
        start: Matrix<'static>,
        dims: usize,
    ) -> Result<Matrix<'static>> {
        let free = (UNPRESSED * self.steps as f64) as usize;
        let press = FLAT.powf(1.0 / (self.steps - free).max(1) as f64);
        let end = self.walk(start, |step, here| {
            let slope = landscape.slope_alone(here)?;
            if step > free {
                let columns = here.columns();
                let rows = here.values_mut().chunks_exact_mut(columns);
                rows.for_each(|row| row[dims..].iter_mut().for_each(|z| *z *= press));
            }
            Ok(slope)
        })?;
        Ok(Matrix::from_fn(end.rows(), dims, |k, c| end[(k, c)]))
    }

    /// All steps from `start`; `look` is shown every point, may move it, and gives the slope there.
    fn walk(
        &self,
        start: Matrix<'static>,
        mut look: impl FnMut(usize, &mut Matrix<'static>) -> Result<Matrix<'static>>,
    ) -> Result<Matrix<'static>> {
        let size = start.values().len();
        let (mut first, mut second) = (vec![0.0; size], vec![0.0; size]);
        let (mut fade_first, mut fade_second) = (1.0, 1.0);
        let mut here = start;
        for step in 0..self.steps {
            crate::interrupt::look();
            let slope = look(step, &mut here)?;
            fade_first *= FIRST_DECAY;
            fade_second *= SECOND_DECAY;
            let rate = self.rate * (1.0 - step as f64 / self.steps as f64) / (1.0 - fade_first);
            let moments = first.iter_mut().zip(&mut second);
            for ((z, slope), (first, second)) in here.values_mut().iter_mut().zip(slope.values()).zip(moments) {
                *first = FIRST_DECAY * *first + (1.0 - FIRST_DECAY) * slope;
                *second = SECOND_DECAY * *second + (1.0 - SECOND_DECAY) * slope * slope;
                *z -= rate * *first / ((*second / (1.0 - fade_second)).sqrt() + FLOOR);
            }
        }
        Ok(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::Normalization;
    use crate::loss::Loss;
    use crate::method::{Kernel, Method};

    /// Places that look random, in [−1, 1].
    fn scattered(n: usize, dims: usize, turn: usize) -> Matrix<'static> {
        Matrix::from_fn(n, dims, |k, c| {
            let c = c + dims * turn;
            ((k * 7919 + c * 104_729 + k * k * 31 + k * c * 17) % 1009) as f64 / 504.5 - 1.0
        })
    }

    fn shrunk(matrix: &Matrix<'_>) -> Matrix<'static> {
        Matrix::from_fn(matrix.rows(), matrix.columns(), |k, c| 0.1 * matrix[(k, c)])
    }

    #[test]
    fn folding_ends_lower_than_starting_in_the_plane() {
        let n = 60;
        let points = scattered(n, 3, 0);
        let square =
            |k: usize, l: usize| points.row(k).iter().zip(points.row(l)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let pull = |k: usize, l: usize| if k == l { 0.0 } else { (-5.0 * square(k, l)).exp() };
        let mass = Matrix::from_fn(n, n, pull);
        let total: f64 = mass.values().iter().sum();
        let mass = Matrix::from_fn(n, n, |k, l| mass[(k, l)] / total);
        let weights = vec![1.0 / n as f64; n];
        let Ok(Kernel::Radial(radial)) = Method::TSnekhorn.kernel(Normalization::Measure) else { unreachable!() };
        let landscape = Landscape::new(radial, Loss::Kl, &mass, &weights);
        let in_plane = |turn| {
            let start = shrunk(&scattered(n, 2, turn));
            Adam { steps: 1200, rate: 1.0 }.descend(&landscape, start).unwrap().0
        };
        let mean = (0..5).map(in_plane).sum::<f64>() / 5.0;
        let flat = Adam { steps: 600, rate: 1.0 }.fold(&landscape, shrunk(&scattered(n, 8, 0)), 2).unwrap();
        assert_eq!((flat.rows(), flat.columns()), (n, 2));
        let folded = Adam { steps: 600, rate: 0.3 }.descend(&landscape, flat).unwrap().0;
        assert!(folded < mean - 1e-3, "folded {folded}, in the plane {mean}");
    }
}
