//! Balanced optimal transport by itself: the plan of lowest cost between two sets of weights, exact or with entropy.

use crate::data::Samples;
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::observe::StopReason;
use crate::plan::Plan;
use crate::setters;
use crate::transport::FeatureCost;
use crate::transport::balanced::{RowCosts, Sinkhorn, cost_of, sinkhorn, solve};
use crate::weights::{Demand, PrototypeWeights, SampleWeights, WeightRule};

/// Optimal transport from N samples to n points, both with given weights.
///
/// ```
/// use gromap::Matrix;
/// use gromap::solve::BalancedTransport;
/// // Three samples on a line, and two points that must share them equally.
/// let samples = Matrix::new(vec![0.0, 1.0, 2.0], 3, 1)?;
/// let points = Matrix::new(vec![0.0, 2.0], 2, 1)?;
/// let found = BalancedTransport::between(&samples, points).solve()?;
/// assert!((found.cost - 1.0 / 3.0).abs() < 1e-12); // the sample in the middle is split
/// assert_eq!(found.plan.entries(), 4);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BalancedTransport<'a> {
    costs: Costs<'a>,
    sample_weights: Option<SampleWeights>,
    weights: PrototypeWeights,
    epsilon: Option<f64>,
    max_rounds: usize,
    tolerance: f64,
}

/// Costs as they were given.
#[derive(Debug, Clone)]
enum Costs<'a> {
    Matrix(Matrix<'a>),
    /// Squared distances, which are computed row by row.
    Between(Samples<'a>, Matrix<'a>),
}

/// An optimal plan and what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct BalancedPlan {
    /// The plan T.
    pub plan: Plan,
    /// Σ c·T, without entropy.
    pub cost: f64,
    /// Why it ended; the exact solver always converges.
    pub stop: StopReason,
}

impl<'a> BalancedTransport<'a> {
    /// Given costs, a row for each sample.
    pub fn new(costs: Matrix<'a>) -> Self {
        Self::of(Costs::Matrix(costs))
    }

    /// Squared distances between samples and points; nothing of size N×n is held by the exact solver.
    pub fn between(samples: impl Into<Samples<'a>>, points: Matrix<'a>) -> Self {
        Self::of(Costs::Between(samples.into(), points))
    }

    fn of(costs: Costs<'a>) -> Self {
        Self {
            costs,
            sample_weights: None,
            weights: PrototypeWeights::Uniform,
            epsilon: None,
            max_rounds: 10_000,
            tolerance: 1e-9,
        }
    }

    setters! {
        /// Passes of the entropic solver, at most.
        max_rounds: usize,
        /// How far, all together, the column sums of the entropic plan may be from the weights.
        tolerance: f64,
    }

    /// Weighs the samples; uniform if not said.
    pub fn sample_weights(mut self, weights: SampleWeights) -> Self {
        self.sample_weights = Some(weights);
        self
    }

    /// Weights of the points, which sum to 1; uniform if not said.
    pub fn weights(mut self, weights: &[f64]) -> Self {
        self.weights = PrototypeWeights::Given(weights.to_vec());
        self
    }

    /// Adds ε·Σ T·(log T − 1) to the cost and solves by Sinkhorn's algorithm in the log domain.
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = Some(epsilon);
        self
    }

    /// Solves.
    pub fn solve(&self) -> Result<BalancedPlan> {
        let features;
        let costs: &dyn RowCosts = match &self.costs {
            Costs::Matrix(costs) => {
                costs.check_finite("cost")?;
                costs
            }
            Costs::Between(samples, points) => {
                samples.check(samples.len())?;
                points.check_finite("points")?;
                Error::check_len("columns of the points", samples.columns(), points.columns())?;
                features = FeatureCost::new(samples, points.view(), 1.0);
                &features
            }
        };
        let (samples, n) = (costs.len(), costs.sinks());
        if n == 0 {
            return Err(Error::parameter("columns of the cost", 0.0, "at least 1"));
        }
        let sample_weights = match &self.sample_weights {
            Some(weights) => weights.clone(),
            None => SampleWeights::uniform(samples)?,
        };
        Error::check_len("number of sample_weights", samples, sample_weights.len())?;
        let rule = WeightRule { prototype_weights: self.weights.clone(), ..WeightRule::default() };
        let demand = rule.demand(n)?.unwrap_or(Demand::exactly(&[1.0]));
        let (plan, stop) = match self.epsilon {
            None => (solve(costs, &sample_weights, &demand, None).plan, StopReason::Converged),
            Some(epsilon) if epsilon.is_finite() && epsilon > 0.0 => {
                let asked = Sinkhorn { epsilon, max_rounds: self.max_rounds, tolerance: self.tolerance };
                sinkhorn(costs, &sample_weights, &demand.low, asked)
            }
            Some(epsilon) => return Err(Error::parameter("epsilon", epsilon, "finite and positive")),
        };
        let cost = cost_of(costs, &plan);
        Ok(BalancedPlan { plan, cost, stop })
    }
}
