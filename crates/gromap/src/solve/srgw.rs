//! srGW: the best plan from N samples to the n prototypes of a *given* target.

use crate::data::Samples;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::observe::{Observer, Round, drive};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::setters;
use crate::similarity::{Bounds, Similarity, WeightedSum};
use crate::solve::{Settings, check_alpha};
use crate::transport::{FeatureCost, TransportProblem, TransportState, made_feasible};
use crate::weights::{PrototypeWeights, SampleWeights, WeightRule};

/// Semi-relaxed Gromov-Wasserstein transport to a given target.
///
/// ```
/// use gromap::Matrix;
/// use gromap::similarity::LowRank;
/// use gromap::solve::Srgw;
/// // Two groups of samples, and a target of two unrelated prototypes.
/// let x = Matrix::new(vec![1.0, 0.0, 1.1, 0.0, 0.0, 0.9, 0.0, 1.0], 4, 2)?;
/// let similarity = LowRank::symmetric(x)?;
/// let target = Matrix::new(vec![1.0, 0.0, 0.0, 1.0], 2, 2)?;
/// let result = Srgw::new(&similarity, target).solve()?;
/// let labels = result.plan.labels();
/// assert!(labels[0] == labels[1] && labels[2] == labels[3] && labels[0] != labels[2]);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Clone)]
pub struct Srgw<'a> {
    similarity: &'a dyn Similarity,
    scale: Scale,
    target: Matrix<'a>,
    loss: Loss,
    sample_weights: Option<SampleWeights>,
    features: Option<(Samples<'a>, Matrix<'a>)>,
    alpha: f64,
    start: Option<Plan>,
    rule: WeightRule,
    settings: Settings,
}

/// What a similarity is multiplied by before it meets the identity: the result of srGWI depends
/// on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scale {
    /// The similarity as it is.
    Raw,
    /// So that its largest absolute entry is 1.
    UnitMaximum,
}

/// A plan and how it was reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Transport {
    /// The plan T.
    pub plan: Plan,
    /// Its column sums q.
    pub weights: Vec<f64>,
    /// How it was reached.
    pub outcome: Outcome,
}

impl<'a> Srgw<'a> {
    /// The problem with the square loss, uniform weights and default settings.
    pub fn new(similarity: &'a dyn Similarity, target: Matrix<'a>) -> Self {
        Self {
            similarity,
            scale: Scale::Raw,
            target,
            loss: Loss::Square,
            sample_weights: None,
            features: None,
            alpha: 1.0,
            start: None,
            rule: WeightRule::default(),
            settings: Settings::default(),
        }
    }

    /// srGWI: n prototypes that are alike only to themselves, which partitions a graph.
    pub fn identity(similarity: &'a dyn Similarity, prototypes: usize, scale: Scale) -> Self {
        let identity = Matrix::from_fn(prototypes, prototypes, |k, l| if k == l { 1.0 } else { 0.0 });
        Self { scale, ..Self::new(similarity, identity) }
    }

    setters! {
        /// Compares similarities by this loss.
        loss: Loss,
        /// Chooses solver, stopping rule and seed.
        settings: Settings,
        /// What prototypes weigh: whatever suits them, or given shares, with which this is Gromov-Wasserstein transport between
        /// fixed weights, by conditional gradient.
        rule.prototype_weights: PrototypeWeights,
        /// What every prototype weighs at least, as a share of the whole.
        rule.min_weight: Option<f64>,
        /// What every prototype weighs at most, as a share of the whole.
        rule.max_weight: Option<f64>,
    }

    /// Weighs the samples.
    pub fn sample_weights(mut self, weights: SampleWeights) -> Self {
        self.sample_weights = Some(weights);
        self
    }

    /// Adds (1−α)·Σ ‖x_i − f_k‖²·T\[i,k\] to α times the loss.
    pub fn features(mut self, samples: impl Into<Samples<'a>>, prototypes: Matrix<'a>, alpha: f64) -> Self {
        self.features = Some((samples.into(), prototypes));
        self.alpha = alpha;
        self
    }

    /// Starts from this plan.
    pub fn start(mut self, plan: Plan) -> Self {
        self.start = Some(plan);
        self
    }

    /// Solves.
    pub fn solve(&self) -> Result<Transport> {
        self.solve_observed(&mut ())
    }

    /// Solves, telling an observer of every round.
    pub fn solve_observed(&self, observer: &mut dyn Observer) -> Result<Transport> {
        let factor = self.check()?;
        let scaled = WeightedSum::new(vec![(factor, self.similarity)])?;
        let similarity: &dyn Similarity = if factor == 1.0 { self.similarity } else { &scaled };
        let size = (similarity.len(), self.target.rows());
        let demand = self.rule.demand(size.1)?;
        let settings = self.settings.with(demand.as_ref());
        let start = self.settings.start(self.start.as_ref(), self.sample_weights.as_ref(), size, 0)?;
        let constant = similarity.constant(self.loss, start.sample_weights());
        let features = self
            .features
            .as_ref()
            .filter(|_| self.alpha < 1.0)
            .map(|(samples, prototypes)| FeatureCost::new(samples, prototypes.view(), 1.0 - self.alpha));
        let problem = TransportProblem::new(similarity, &self.target, self.loss, self.alpha, constant.unwrap_or(0.0))
            .with_features(features);
        let mut step = settings.step(demand.as_ref());
        let mut state = TransportState::of(&problem, start);
        if let Some(plan) = demand.as_ref().and_then(|demand| made_feasible(&problem, &state, demand)) {
            state = state.with_plan(&problem, plan);
        }
        let first = state.loss + step.penalty(&state.plan);
        let (history, stop) = drive(&settings.stopping, observer, first, || {
            let moved = step.step(&problem, &mut state);
            Round { loss: state.loss + step.penalty(&state.plan), moved }
        });
        let outcome = Outcome {
            loss: settings.reported(state.loss, &history),
            loss_is_complete: constant.is_some() || self.alpha == 0.0,
            history,
            stop,
            hardness: state.plan.hardness(),
            certificate: None,
            warnings: Vec::new(),
        }
        .checked()?;
        Ok(Transport { weights: state.plan.weights(), plan: state.plan, outcome })
    }

    /// Refuses what does not fit, and resolves the scale.
    fn check(&self) -> Result<f64> {
        self.settings.check()?;
        self.settings.check_rule(&self.rule)?;
        let n = self.target.rows();
        Error::check_len("columns of the target", n, self.target.columns())?;
        self.loss.check_target(&self.target)?;
        check_alpha(self.alpha, self.features.is_some())?;
        if let Some(weights) = &self.sample_weights {
            Error::check_len("number of sample_weights", self.similarity.len(), weights.len())?;
        }
        if let Some((samples, prototypes)) = &self.features {
            samples.check(self.similarity.len())?;
            prototypes.check_finite("prototype features")?;
            Error::check_len("rows of the prototype features", n, prototypes.rows())?;
            Error::check_len("columns of the prototype features", samples.columns(), prototypes.columns())?;
        }
        let bounds = self.similarity.bounds();
        self.loss.check_similarity(&bounds)?;
        self.scale.factor(&bounds)
    }
}

impl Scale {
    /// What a similarity with these entries is multiplied by.
    pub(crate) fn factor(self, bounds: &Bounds) -> Result<f64> {
        let largest = bounds.low.value.abs().max(bounds.high.value.abs());
        match self {
            Self::Raw => Ok(1.0),
            Self::UnitMaximum if largest > 0.0 => Ok(1.0 / largest),
            Self::UnitMaximum => {
                Err(Error::parameter("largest entry of the similarity", largest, "positive to be scaled to 1"))
            }
        }
    }
}
