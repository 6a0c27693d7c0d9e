//! Adam on the prototypes of a landscape (Kingma and Ba, 2015).
//!
//! Steps do not depend on the scale of E, which shrinks with n² and differs between losses: a rate is a
//! length in the plane. It falls linearly to zero, so that a run of any length ends settled, and the
//! lowest point seen is what is returned.

use super::landscape::Landscape;
use crate::error::Result;
use crate::matrix::Matrix;

const FIRST_DECAY: f64 = 0.9;
const SECOND_DECAY: f64 = 0.99;
/// What keeps a prototype without a slope where it is.
const FLOOR: f64 = 1e-30;

/// How long and how fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Adam {
    /// Steps.
    pub(crate) steps: usize,
    /// Length of the first steps.
    pub(crate) rate: f64,
}

impl Adam {
    /// Goes down from `start`; gives the lowest point seen and its value, never above the start's.
    pub(crate) fn descend(&self, landscape: &Landscape<'_>, start: Matrix<'static>) -> Result<(f64, Matrix<'static>)> {
        let size = start.values().len();
        let (mut first, mut second) = (vec![0.0; size], vec![0.0; size]);
        let (mut fade_first, mut fade_second) = (1.0, 1.0);
        let mut here = start;
        let (mut best, mut lowest) = (here.clone(), f64::INFINITY);
        for step in 0..=self.steps {
            crate::interrupt::look();
            let (value, slope) = landscape.slope(&here)?;
            if value < lowest {
                (lowest, best) = (value, here.clone());
            }
            if step == self.steps {
                break;
            }
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
        Ok((lowest, best))
    }
}
