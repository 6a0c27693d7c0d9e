//! Which solver runs, from which start, and for how long: what the two problems share.

use crate::error::{Error, Result};
use crate::observe::Stopping;
use crate::plan::Plan;
use crate::transport::{BalancedGradient, ConditionalGradient, MirrorDescent, PlanStep, VertexDescent};
use crate::weights::{Demand, SampleWeights, WeightRule};

/// How the plan is improved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Solver {
    /// Exact moves of single samples: finds the best optima. The default.
    #[default]
    Vertex,
    /// All samples at once along the gradient, with an exact line search: what POT does.
    ConditionalGradient,
    /// Multiplicative steps on soft plans.
    Mirror,
}

/// Solver, stopping rule and seed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Settings {
    /// How the plan is improved.
    pub solver: Solver,
    /// Inverse step size of mirror descent; `None` follows the spread of the gradient.
    pub epsilon: Option<f64>,
    /// Weight of the entropy Σ T·log T in the objective of mirror descent; 0 minimises the loss itself.
    pub entropy: f64,
    /// When to stop.
    pub stopping: Stopping,
    /// Seed of the start and of the order of visits.
    pub seed: u64,
}

impl Settings {
    /// Refuses numbers out of range.
    pub(crate) fn check(&self) -> Result<()> {
        let not_negative = |name, value: f64| {
            let fine = value.is_finite() && value >= 0.0;
            fine.then_some(()).ok_or_else(|| Error::parameter(name, value, "finite and not negative"))
        };
        not_negative("rel_tolerance", self.stopping.rel_tolerance)?;
        not_negative("abs_tolerance", self.stopping.abs_tolerance)?;
        not_negative("entropy", self.entropy)?;
        match self.epsilon {
            Some(epsilon) if !(epsilon.is_finite() && epsilon > 0.0) => {
                Err(Error::parameter("epsilon", epsilon, "finite and positive"))
            }
            Some(epsilon) if self.solver != Solver::Mirror => {
                Err(Error::parameter("epsilon", epsilon, "left out: only the mirror solver has a step"))
            }
            _ => Ok(()),
        }
    }

    /// The loss a result reports: the last of the history, or, where the history holds the entropy
    /// too, the loss without it.
    pub(crate) fn reported(&self, loss: f64, history: &[f64]) -> f64 {
        match history.last() {
            Some(&last) if self.solver != Solver::Mirror || self.entropy == 0.0 => last,
            _ => loss,
        }
    }

    /// The same for prototypes whose weights are asked for: samples cannot move one by one then, so the plan follows the
    /// gradient.
    pub(crate) fn with(self, demand: Option<&Demand>) -> Self {
        match demand {
            None => self,
            Some(_) => Self { solver: Solver::ConditionalGradient, ..self },
        }
    }

    /// Refuses a solver that cannot keep the weights of prototypes.
    pub(crate) fn check_rule(&self, rule: &WeightRule) -> Result<()> {
        if rule.is_free() || self.solver != Solver::Mirror {
            return Ok(());
        }
        Err(Error::Name {
            what: "solver for prototype weights that are not learned",
            name: self.solver.to_string(),
            allowed: "cg, vertex (which then is cg)".into(),
        })
    }

    /// The step for a fixed target.
    pub(crate) fn step<'s>(&self, demand: Option<&Demand>) -> Box<dyn PlanStep<'s> + 's> {
        if let Some(demand) = demand {
            return Box::new(BalancedGradient::new(demand.clone()));
        }
        match self.solver {
            Solver::Vertex => Box::new(VertexDescent::new(self.seed)),
            Solver::ConditionalGradient => Box::new(ConditionalGradient::default()),
            Solver::Mirror => Box::new(MirrorDescent { epsilon: self.epsilon, entropy: self.entropy }),
        }
    }

    /// Where input number `input` starts: the given plan, if it fits, or a random one that suits the
    /// solver: hard for vertices, the paper's soft rows otherwise. Weights are uniform unless given.
    pub(crate) fn start(
        &self,
        given: Option<&Plan>,
        weights: Option<&SampleWeights>,
        (samples, prototypes): (usize, usize),
        input: u64,
    ) -> Result<Plan> {
        let weights = match weights {
            Some(weights) => weights.clone(),
            None => SampleWeights::uniform(samples)?,
        };
        let seed = self.seed.wrapping_add(input);
        match (given, self.solver) {
            (Some(plan), _) => {
                check_start(plan, prototypes, &weights)?;
                Ok(plan.clone())
            }
            (None, Solver::Vertex) => Plan::random_labels(prototypes, weights, seed),
            (None, _) => Plan::random(prototypes, weights, seed),
        }
    }
}

/// Checks a given start against what it must fit.
pub(crate) fn check_start(plan: &Plan, prototypes: usize, weights: &SampleWeights) -> Result<()> {
    Error::check_len("rows of the starting plan", weights.len(), plan.len())?;
    Error::check_len("columns of the starting plan", prototypes, plan.prototypes())?;
    if let Some(row) = (0..plan.len()).find(|&i| (plan.sample_weights()[i] - weights[i]).abs() > 1e-12) {
        return Err(Error::RowSum { row, expected: weights[row], found: plan.sample_weights()[row] });
    }
    Ok(())
}

/// Checks α against the presence of features.
pub(crate) fn check_alpha(alpha: f64, has_features: bool) -> Result<()> {
    if !(0.0..=1.0).contains(&alpha) {
        return Err(Error::parameter("alpha", alpha, "from 0 to 1"));
    }
    if alpha < 1.0 && !has_features {
        return Err(Error::parameter("alpha", alpha, "1 unless features are given"));
    }
    Ok(())
}
