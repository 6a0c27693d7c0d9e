//! How a long computation talks to whoever started it: typed events out, continue or stop back.

/// What an observer is told.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A stage of a fit begins.
    Stage(Stage),
    /// A round of the solver ended.
    Round {
        /// Rounds done so far; 0 is the start.
        round: usize,
        /// The loss now, never above the one of the round before.
        loss: f64,
    },
}

/// The stages of a fit, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Samples are scaled and projected.
    Prepare,
    /// Neighbours are sought, where the method looks at any.
    Neighbors,
    /// The input similarity is made.
    Affinity,
    /// The plan and the prototypes from which the descent starts.
    Start,
    /// The descent.
    Fit,
}

/// What an observer answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// End now, and keep the best state so far.
    Stop,
}

/// Watches a computation, and may end it.
///
/// `()` watches nothing; any `FnMut(&Event) -> Flow` is an observer.
pub trait Observer {
    /// Called after every round.
    fn on(&mut self, event: &Event) -> Flow;
}

impl Observer for () {
    fn on(&mut self, _: &Event) -> Flow {
        Flow::Continue
    }
}

impl<F: FnMut(&Event) -> Flow> Observer for F {
    fn on(&mut self, event: &Event) -> Flow {
        self(event)
    }
}

/// Why a computation ended. Running out of rounds is not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The last round changed the loss by no more than the tolerance.
    Converged,
    /// No step could lower the loss: a local optimum of the solver's moves.
    Stationary,
    /// The limit of rounds was reached.
    MaxRounds,
    /// It converged, but on a similarity that is not exactly the one asked for: the warnings say why.
    Inexact,
    /// The observer asked to stop.
    Interrupted,
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// Rounds at most.
    pub max_rounds: usize,
    /// Stop when a round lowers the loss by no more than this share of it.
    pub rel_tolerance: f64,
    /// Stop when a round lowers the loss by no more than this.
    pub abs_tolerance: f64,
}

impl Default for Stopping {
    fn default() -> Self {
        Self { max_rounds: 1000, rel_tolerance: 1e-9, abs_tolerance: 1e-9 }
    }
}

/// What one round did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Round {
    pub(crate) loss: f64,
    /// Whether anything changed at all.
    pub(crate) moved: bool,
}

/// The one loop: runs rounds until they stop paying, and keeps the history of the loss.
pub(crate) fn drive(
    stopping: &Stopping,
    observer: &mut dyn Observer,
    first_loss: f64,
    mut round: impl FnMut() -> Round,
) -> (Vec<f64>, StopReason) {
    let mut history = vec![first_loss];
    let mut loss = first_loss;
    loop {
        let rounds = history.len() - 1;
        if observer.on(&Event::Round { round: rounds, loss }) == Flow::Stop {
            return (history, StopReason::Interrupted);
        }
        if rounds >= stopping.max_rounds {
            return (history, StopReason::MaxRounds);
        }
        let next = round();
        if !next.moved {
            return (history, StopReason::Stationary);
        }
        debug_assert!(next.loss <= loss + 1e-9 * (1.0 + loss.abs()), "the loss rose from {loss} to {}", next.loss);
        // Rounding of the last digits is not an increase.
        let lowered = (loss - next.loss).max(0.0);
        loss = loss.min(next.loss);
        history.push(loss);
        if lowered <= stopping.abs_tolerance || lowered <= stopping.rel_tolerance * loss.abs() {
            observer.on(&Event::Round { round: rounds + 1, loss });
            return (history, StopReason::Converged);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halving(stopping: Stopping, observer: &mut dyn Observer) -> (Vec<f64>, StopReason) {
        let mut loss = 1.0;
        drive(&stopping, observer, 1.0, || {
            loss *= 0.5;
            Round { loss, moved: true }
        })
    }

    #[test]
    fn it_stops_for_the_reason_that_comes_first() {
        let patient = Stopping { max_rounds: 100, rel_tolerance: 0.0, abs_tolerance: 0.1 };
        let (history, reason) = halving(patient, &mut ());
        assert_eq!((history.len(), reason), (5, StopReason::Converged));
        let (history, reason) = halving(Stopping { max_rounds: 2, ..patient }, &mut ());
        assert_eq!((history, reason), (vec![1.0, 0.5, 0.25], StopReason::MaxRounds));
        let mut stop_at_one = |event: &Event| match event {
            Event::Round { round: 1, .. } => Flow::Stop,
            _ => Flow::Continue,
        };
        let (history, reason) = halving(patient, &mut stop_at_one);
        assert_eq!((history.len(), reason), (2, StopReason::Interrupted));
        let (history, reason) = drive(&patient, &mut (), 1.0, || Round { loss: 1.0, moved: false });
        assert_eq!((history, reason), (vec![1.0], StopReason::Stationary));
    }

    #[test]
    fn the_last_round_is_told_too() {
        let mut told = Vec::new();
        let mut note = |event: &Event| {
            if let Event::Round { loss, .. } = event {
                told.push(*loss);
            }
            Flow::Continue
        };
        let stopping = Stopping { max_rounds: 100, rel_tolerance: 0.0, abs_tolerance: 0.2 };
        let (history, _) = halving(stopping, &mut note);
        assert_eq!(told, history);
    }
}
