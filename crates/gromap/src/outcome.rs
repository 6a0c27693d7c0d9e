//! How a result was reached: what every solver and every model has to say beside its plan.

use crate::error::{Error, Result};
use crate::observe::StopReason;
use crate::similarity::Definiteness;

/// How a result was reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The loss reached.
    pub loss: f64,
    /// Whether the loss holds Σ f1(C_X)·h·h, which nothing learnt changes; it is left out where it would cost more than
    /// the solution.
    pub loss_is_complete: bool,
    /// The loss at the start and after every round, never increasing.
    pub history: Vec<f64>,
    /// Why the descent ended.
    pub stop: StopReason,
    /// Share of the sample mass in rows of the plan with a single entry.
    pub hardness: f64,
    /// Why a hard optimum must exist, if that is known (Theorem 1 of the paper: the square loss, and a similarity of one
    /// of these kinds).
    pub certificate: Option<Definiteness>,
    /// What was not done as well as asked.
    pub warnings: Vec<String>,
}

impl Outcome {
    /// The same, unless the descent broke down.
    pub(crate) fn checked(self) -> Result<Self> {
        check_number("loss", self.loss)?;
        self.history.iter().try_for_each(|&loss| check_number("loss", loss))?;
        Ok(self)
    }
}

/// Refuses NaN and infinities in what was fitted.
pub(crate) fn check_number(what: &'static str, value: f64) -> Result<()> {
    if value.is_finite() { Ok(()) } else { Err(Error::BrokenDown { what, value }) }
}

/// The lowest of several descents, each from its own seed; one that was interrupted is the last.
///
/// `loss_and_stop` reads what decides off a result.
pub(crate) fn lowest_of<T, E>(
    n_init: usize,
    seed: u64,
    mut descend: impl FnMut(u64) -> std::result::Result<T, E>,
    loss_and_stop: impl Fn(&T) -> (f64, StopReason),
) -> std::result::Result<T, E> {
    let mut best = descend(seed)?;
    let (mut lowest, mut stop) = loss_and_stop(&best);
    for init in 1..n_init {
        if stop == StopReason::Interrupted {
            break;
        }
        let next = descend(seed.wrapping_add(init as u64))?;
        let loss;
        (loss, stop) = loss_and_stop(&next);
        if loss < lowest {
            (best, lowest) = (next, loss);
        }
    }
    Ok(best)
}
