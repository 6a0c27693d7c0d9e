//! Adam (Kingma and Ba, 2015) on the prototypes: minimises an [`Objective`].
//!
//! The steps of Adam do not depend on the scale of E, which shrinks with n² and differs between losses: a learning rate is
//! a length on the map, about how far a prototype moves in one step. It falls linearly to zero, so that a run of any number
//! of steps ends at rest, and E itself is evaluated only at the start and at the end.

use super::objective::Objective;
use crate::error::Result;
use crate::numeric::Matrix;

/// Decay of the running means of the gradient and of its square: β₁ and β₂.
const FIRST_DECAY: f64 = 0.9;
const SECOND_DECAY: f64 = 0.99;
/// Keeps a prototype whose gradient was always zero where it is.
const FLOOR: f64 = 1e-30;

/// On a map that is wider than this (root mean square of the places), the learning rate grows with it: kernels with heavy tails make
/// maps of hundreds of their own widths, on which steps of one width would lead nowhere.
const UNIT_EXTENT: f64 = 30.0;

/// Share of the steps before the extra dimensions begin to shrink, and what they are multiplied with in all the steps
/// after.
const UNSHRUNK_STEPS: f64 = 0.35;
const TOTAL_SHRINKAGE: f64 = 0.02;

/// The optimiser's settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Adam {
    pub(crate) steps: usize,
    /// The learning rate of the first step.
    pub(crate) learning_rate: f64,
}

impl Adam {
    /// Minimises from `start`. Returns the value and the prototypes at the end, or those of the start if its value is lower.
    pub(crate) fn descend(&self, objective: &Objective<'_>, start: Matrix<'static>) -> Result<(f64, Matrix<'static>)> {
        let mut scaling = objective.scaling();
        let before = objective.value_and_gradient(&start, &mut scaling)?.0;
        let end = self.run(start.clone(), |_, prototypes| objective.gradient(prototypes, &mut scaling))?;
        let after = objective.value_and_gradient(&end, &mut scaling)?.0;
        Ok(if after <= before { (after, end) } else { (before, start) })
    }

    /// Minimises from a start that has more than `dims` dimensions, and shrinks the extra ones gradually to (nearly) zero
    /// on the way; they are left out of what is returned. With more dimensions, prototypes that block each other's way on
    /// the map can move past each other, so that the end is lower than from a start on the map itself.
    pub(crate) fn descend_from_higher_dims(
        &self,
        objective: &Objective<'_>,
        start: Matrix<'static>,
        dims: usize,
    ) -> Result<Matrix<'static>> {
        let unshrunk = (UNSHRUNK_STEPS * self.steps as f64) as usize;
        let shrink = TOTAL_SHRINKAGE.powf(1.0 / (self.steps - unshrunk).max(1) as f64);
        let mut scaling = objective.scaling();
        let end = self.run(start, |step, prototypes| {
            let gradient = objective.gradient(prototypes, &mut scaling)?;
            if step > unshrunk {
                let columns = prototypes.columns();
                let rows = prototypes.values_mut().chunks_exact_mut(columns);
                rows.for_each(|row| row[dims..].iter_mut().for_each(|z| *z *= shrink));
            }
            Ok(gradient)
        })?;
        Ok(Matrix::from_fn(end.rows(), dims, |k, c| end[(k, c)]))
    }

    /// All steps from `start`. `gradient` is given the number of the step and the prototypes, which it may change.
    fn run(
        &self,
        start: Matrix<'static>,
        mut gradient: impl FnMut(usize, &mut Matrix<'static>) -> Result<Matrix<'static>>,
    ) -> Result<Matrix<'static>> {
        let size = start.values().len();
        let (mut first, mut second) = (vec![0.0; size], vec![0.0; size]);
        let (mut first_power, mut second_power) = (1.0, 1.0);
        let mut prototypes = start;
        for step in 0..self.steps {
            crate::interrupt::look();
            let gradient = gradient(step, &mut prototypes)?;
            first_power *= FIRST_DECAY;
            second_power *= SECOND_DECAY;
            let left = 1.0 - step as f64 / self.steps as f64;
            let rate = self.learning_rate * left * (extent(&prototypes) / UNIT_EXTENT).max(1.0) / (1.0 - first_power);
            let moments = first.iter_mut().zip(&mut second);
            let entries = prototypes.values_mut().iter_mut().zip(gradient.values()).zip(moments);
            for ((z, gradient), (first, second)) in entries {
                *first = FIRST_DECAY * *first + (1.0 - FIRST_DECAY) * gradient;
                *second = SECOND_DECAY * *second + (1.0 - SECOND_DECAY) * gradient * gradient;
                *z -= rate * *first / ((*second / (1.0 - second_power)).sqrt() + FLOOR);
            }
        }
        Ok(prototypes)
    }
}

/// Root mean square of the distances of prototypes from the origin.
fn extent(prototypes: &Matrix<'_>) -> f64 {
    (prototypes.values().iter().map(|z| z * z).sum::<f64>() / prototypes.rows().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::{Normalization, Profile, Radial};
    use crate::loss::Loss;

    /// Places that look random, in [−1, 1].
    fn scattered(n: usize, dims: usize, turn: usize) -> Matrix<'static> {
        Matrix::from_fn(n, dims, |k, c| {
            let c = c + dims * turn;
            ((k * 7919 + c * 104_729 + k * k * 31 + k * c * 17) % 1009) as f64 / 504.5 - 1.0
        })
    }

    fn small(matrix: &Matrix<'_>) -> Matrix<'static> {
        Matrix::from_fn(matrix.rows(), matrix.columns(), |k, c| 0.1 * matrix[(k, c)])
    }

    #[test]
    fn starting_in_higher_dims_ends_lower_than_starting_in_the_plane() {
        let n = 60;
        let points = scattered(n, 3, 0);
        let square =
            |k: usize, l: usize| points.row(k).iter().zip(points.row(l)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let similarity = |k: usize, l: usize| if k == l { 0.0 } else { (-5.0 * square(k, l)).exp() };
        let mass = Matrix::from_fn(n, n, similarity);
        let total: f64 = mass.values().iter().sum();
        let mass = Matrix::from_fn(n, n, |k, l| mass[(k, l)] / total);
        let weights = vec![1.0 / n as f64; n];
        let radial = Radial { profile: Profile::Student, normalization: Normalization::Measure };
        let objective = Objective::new(radial, Loss::Kl, &mass, &weights);
        let in_plane = |turn| {
            let start = small(&scattered(n, 2, turn));
            Adam { steps: 1200, learning_rate: 1.0 }.descend(&objective, start).unwrap().0
        };
        let mean = (0..5).map(in_plane).sum::<f64>() / 5.0;
        let end = Adam { steps: 600, learning_rate: 1.0 }
            .descend_from_higher_dims(&objective, small(&scattered(n, 8, 0)), 2)
            .unwrap();
        assert_eq!((end.rows(), end.columns()), (n, 2));
        let from_higher = Adam { steps: 600, learning_rate: 0.3 }.descend(&objective, end).unwrap().0;
        assert!(from_higher < mean - 1e-3, "from higher dimensions {from_higher}, in the plane {mean}");
    }
}
