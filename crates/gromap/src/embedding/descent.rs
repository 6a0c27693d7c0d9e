//! Gradient descent with momentum and gains (Jacobs, 1988), as t-SNE is minimised: for many prototypes, each of little weight.
//!
//! ```text
//! v ← μ·v − η·γ∘(∂E/∂Z)/s,    Z ← Z + v
//! ```
//!
//! s_k is the stiffness of prototype k: attraction and repulsion are springs to all others, and s_k is the sum of what they are worth at their
//! present length. Where a map is as narrow as its kernel, s_k is the weight of the prototype but for a factor, and η/s_k the rate in proportion to N that t-SNE
//! needs (Belkina et al., 2019; Linderman and Steinerberger, 2019). On a wide map springs are as weak as the square of their length, and
//! steps as much longer: without that, heavy-tailed maps would not come to rest. γ is a gain for every coordinate: it grows while the force points
//! against the last steps, and shrinks while it follows them. No step is longer than a share of the map, so that nothing flies off and comes back.
//!
//! Adam, which divides by the size of each gradient, moves prototypes that are at rest as far as those that have a way to go, and needs its
//! rate to fall to zero. That suits few of them; of 10,000 images of MNIST it takes about twice the steps to the same loss.

use rayon::prelude::*;

use super::objective::{Factored, Objective};
use super::scaling::Scaling;
use crate::error::Result;
use crate::numeric::Matrix;
use crate::numeric::blocks::BLOCK;

/// What gains grow by, are multiplied with, and do not fall below.
const GAIN_GROWTH: f64 = 0.2;
const GAIN_DECAY: f64 = 0.8;
const LEAST_GAIN: f64 = 0.01;
/// The longest step: in units of the kernel, and on a wide map as a share of its extent.
const LONGEST_STEP: f64 = 5.0;
const LONGEST_SHARE: f64 = 0.1;

/// How far a step goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    /// μ
    pub(crate) momentum: f64,
    /// η
    pub(crate) rate: f64,
}

/// A descent on its way.
#[derive(Clone)]
pub(crate) struct Descent {
    prototypes: Matrix<'static>,
    velocity: Vec<f64>,
    gains: Vec<f64>,
    scaling: Scaling,
}

impl Descent {
    /// At rest.
    pub(crate) fn new(objective: &Objective<'_>, start: Matrix<'static>) -> Self {
        let size = start.values().len();
        Self { prototypes: start, velocity: vec![0.0; size], gains: vec![1.0; size], scaling: objective.scaling() }
    }

    /// Begins again at these prototypes.
    pub(crate) fn restart(&mut self, objective: &Objective<'_>, start: Matrix<'static>) {
        *self = Self::new(objective, start);
    }

    pub(crate) fn prototypes(&self) -> &Matrix<'static> {
        &self.prototypes
    }

    /// E here.
    pub(crate) fn value(&mut self, objective: &Objective<'_>) -> Result<f64> {
        Ok(objective.value_and_gradient(&self.prototypes, &mut self.scaling)?.0)
    }

    /// C_Z here.
    pub(crate) fn factored(&mut self, objective: &Objective<'_>) -> Result<Factored> {
        objective.factored(&self.prototypes, &mut self.scaling)
    }

    /// So many steps.
    pub(crate) fn run(&mut self, objective: &Objective<'_>, pace: Pace, steps: usize) -> Result<()> {
        let dims = self.prototypes.columns();
        for _ in 0..steps {
            crate::interrupt::look();
            let (gradient, stiffness) = objective.gradient_and_stiffness(&self.prototypes, &mut self.scaling)?;
            let longest = LONGEST_STEP.max(LONGEST_SHARE * extent(&self.prototypes));
            let places = self.prototypes.values_mut().par_chunks_mut(BLOCK * dims);
            let state = self.velocity.par_chunks_mut(BLOCK * dims).zip(self.gains.par_chunks_mut(BLOCK * dims));
            let forces = gradient.values().par_chunks(BLOCK * dims).zip(stiffness.par_chunks(BLOCK));
            places.zip(state).zip(forces).for_each(|((places, (velocity, gains)), (gradient, stiffness))| {
                let state = velocity.chunks_exact_mut(dims).zip(gains.chunks_exact_mut(dims));
                let rows = places.chunks_exact_mut(dims).zip(state).zip(gradient.chunks_exact(dims).zip(stiffness));
                rows.for_each(|((place, (velocity, gains)), (gradient, &stiffness))| {
                    let rate = if stiffness > 0.0 { pace.rate / stiffness } else { 0.0 };
                    let mut square = 0.0;
                    for ((velocity, gain), gradient) in velocity.iter_mut().zip(gains).zip(gradient) {
                        let against = (*gradient > 0.0) == (*velocity > 0.0);
                        *gain = if against { (*gain * GAIN_DECAY).max(LEAST_GAIN) } else { *gain + GAIN_GROWTH };
                        *velocity = pace.momentum * *velocity - rate * *gain * gradient;
                        square += *velocity * *velocity;
                    }
                    let shortened = if square > longest * longest { longest / square.sqrt() } else { 1.0 };
                    for (z, velocity) in place.iter_mut().zip(velocity) {
                        *velocity *= shortened;
                        *z += *velocity;
                    }
                });
            });
        }
        Ok(())
    }
}

/// Root mean square of the distances of prototypes from the origin.
fn extent(prototypes: &Matrix<'_>) -> f64 {
    (prototypes.values().iter().map(|z| z * z).sum::<f64>() / prototypes.rows().max(1) as f64).sqrt()
}
