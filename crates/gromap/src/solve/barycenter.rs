//! srGWB: the target of n prototypes that is closest to one or several inputs, found together with
//! the plans. This is the clustering end of the method.
//!
//! ```text
//! min over C̄, F and plans T_s:  Σ_s λ_s · ( α·E(T_s; C̄) + (1−α)·Σ ‖x_i − f_k‖²·T_s[i,k] )
//! ```
//!
//! Given the plans, C̄ = Σ λ·M_s ⊘ Σ λ·q_s q_sᵀ and F = Σ λ·T_sᵀX_s ⊘ Σ λ·q_s are best, for all three
//! losses. Vertex descent keeps them so after every single move; the other solvers alternate.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::data::Samples;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::observe::{Observer, Round, StopReason, drive};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::setters;
use crate::similarity::Similarity;
use crate::solve::{Settings, Solver, check_alpha};
use crate::transport::vertex::{FeatureTerm, FreeSummary, FreeTarget, Sweeps};
use crate::transport::{
    FeatureCost, PlanSummary, Products, TransportProblem, TransportState, made_feasible, square, without_zeros,
};
use crate::weights::{Demand, PrototypeWeights, SampleWeights, WeightRule};

/// One input of a barycenter: a similarity and what comes with it.
#[derive(Clone)]
pub struct Input<'a> {
    similarity: &'a dyn Similarity,
    share: f64,
    sample_weights: Option<SampleWeights>,
    features: Option<Samples<'a>>,
    start: Option<Plan>,
}

impl<'a> Input<'a> {
    /// A similarity with uniform sample weights, no features and a random start.
    pub fn new(similarity: &'a dyn Similarity) -> Self {
        Self { similarity, share: 1.0, sample_weights: None, features: None, start: None }
    }

    setters! {
        /// How much this input counts; only ratios between inputs matter.
        share: f64,
    }

    /// Weighs the samples.
    pub fn sample_weights(mut self, weights: SampleWeights) -> Self {
        self.sample_weights = Some(weights);
        self
    }

    /// Features of the samples, for a fused barycenter.
    pub fn features(mut self, samples: impl Into<Samples<'a>>) -> Self {
        self.features = Some(samples.into());
        self
    }

    /// Starts from this plan.
    pub fn start(mut self, plan: Plan) -> Self {
        self.start = Some(plan);
        self
    }
}

/// Semi-relaxed Gromov-Wasserstein barycenter of one or several inputs.
///
/// ```
/// use gromap::Matrix;
/// use gromap::similarity::LowRank;
/// use gromap::solve::{Barycenter, Input};
/// let x = Matrix::new(vec![1.0, 0.0, 1.1, 0.0, 0.0, 0.9, 0.0, 1.0], 4, 2)?;
/// let similarity = LowRank::symmetric(x)?;
/// let result = Barycenter::new(vec![Input::new(&similarity)], 2).solve()?;
/// assert_eq!(result.outcome.hardness, 1.0);
/// assert!(result.outcome.certificate.is_some()); // A·Aᵀ: Theorem 1 applies
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Clone)]
pub struct Barycenter<'a> {
    inputs: Vec<Input<'a>>,
    prototypes: usize,
    loss: Loss,
    alpha: f64,
    rule: WeightRule,
    settings: Settings,
}

/// A learnt target, the plans to it, and how they were reached.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedBarycenter {
    /// The target C̄, n×n; zero where a prototype is not used.
    pub target: Matrix<'static>,
    /// Features of the prototypes, n×p, when inputs have features; zero where one is not used.
    pub features: Option<Matrix<'static>>,
    /// One plan for each input.
    pub plans: Vec<Plan>,
    /// How they were reached; hardness is over all inputs.
    pub outcome: Outcome,
}

impl<'a> Barycenter<'a> {
    /// The problem with the square loss and default settings.
    pub fn new(inputs: Vec<Input<'a>>, prototypes: usize) -> Self {
        let (rule, settings) = (WeightRule::default(), Settings::default());
        Self { inputs, prototypes, loss: Loss::Square, alpha: 1.0, rule, settings }
    }

    setters! {
        /// Compares similarities by this loss.
        loss: Loss,
        /// Weight α of the structure against the features of the inputs.
        alpha: f64,
        /// Chooses solver, stopping rule and seed.
        settings: Settings,
        /// What prototypes weigh, for every input: whatever suits them, or given shares. These need conditional gradient, whose
        /// linear step then is a balanced transport problem.
        rule.prototype_weights: PrototypeWeights,
        /// What every prototype weighs at least, as a share of the whole.
        rule.min_weight: Option<f64>,
        /// What every prototype weighs at most, as a share of the whole.
        rule.max_weight: Option<f64>,
    }

    /// Solves.
    pub fn solve(&self) -> Result<FittedBarycenter> {
        self.solve_observed(&mut ())
    }

    /// Solves, telling an observer of every round.
    pub fn solve_observed(&self, observer: &mut dyn Observer) -> Result<FittedBarycenter> {
        self.check()?;
        let demand = self.rule.demand(self.prototypes)?;
        let settings = self.settings.with(demand.as_ref());
        let plans = self.starts()?;
        let total: f64 = self.inputs.iter().map(|input| input.share).sum();
        let shares: Vec<f64> = self.inputs.iter().map(|input| input.share / total).collect();
        let plans = match &demand {
            Some(demand) => self.feasible(plans, &shares, demand),
            None => plans,
        };
        let mut products: Vec<_> =
            self.inputs.iter().zip(&plans).map(|(input, plan)| Products::new(input.similarity, plan)).collect();
        let mut fit = Fit::new(self, settings, shares, &plans, &products);
        fit.demand = demand;
        let first = fit.loss() + fit.penalty();
        let stopping = &settings.stopping;
        let (history, stop) = match settings.solver {
            Solver::Vertex => {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.settings.seed);
                drive(stopping, observer, first, || {
                    let inputs = products.iter_mut().enumerate();
                    let moves: usize = inputs.map(|(s, products)| fit.sweep(s, products, &mut rng)).sum();
                    Round { loss: fit.loss(), moved: moves > 0 }
                })
            }
            _ => {
                let summaries = fit.summaries.clone();
                let started = plans.into_iter().zip(products).zip(summaries);
                let mut states: Vec<_> =
                    started.map(|((plan, products), summary)| TransportState::new(plan, products, summary)).collect();
                let mut loss = first;
                drive(stopping, observer, first, || {
                    let before = (fit.demand.is_some()).then(|| (fit.plans.clone(), fit.summaries.clone()));
                    let moved = fit.alternate(&mut states);
                    let next = fit.loss() + fit.penalty();
                    match before {
                        // The target was not quite the best one: a round that gains less than that costs is undone.
                        Some((plans, summaries)) if next > loss => {
                            (fit.plans, fit.summaries) = (plans, summaries);
                            fit.gather();
                            Round { loss, moved: false }
                        }
                        _ => {
                            loss = next;
                            Round { loss, moved }
                        }
                    }
                })
            }
        };
        fit.finish(history, stop)
    }

    /// Plans that meet a demand, from some that need not: along the gradient at their best target.
    fn feasible(&self, plans: Vec<Plan>, shares: &[f64], demand: &Demand) -> Vec<Plan> {
        let products: Vec<_> =
            self.inputs.iter().zip(&plans).map(|(input, plan)| Products::new(input.similarity, plan)).collect();
        let fit = Fit::new(self, self.settings, shares.to_vec(), &plans, &products);
        let (target, features) = (without_zeros(fit.summary().best_target(), self.loss), fit.best_features());
        let problems = fit.problems(&target, features.as_ref());
        let inputs = problems.iter().zip(plans).zip(products).zip(&fit.summaries);
        inputs
            .map(|(((problem, plan), products), summary)| {
                let mut state = TransportState::new(plan, products, summary.clone());
                state.enter(problem);
                made_feasible(problem, &state, demand).unwrap_or(state.plan)
            })
            .collect()
    }

    fn starts(&self) -> Result<Vec<Plan>> {
        let start = |(index, input): (usize, &Input<'_>)| {
            let size = (input.similarity.len(), self.prototypes);
            self.settings.start(input.start.as_ref(), input.sample_weights.as_ref(), size, index as u64)
        };
        self.inputs.iter().enumerate().map(start).collect()
    }

    fn check(&self) -> Result<()> {
        self.settings.check()?;
        self.settings.check_rule(&self.rule)?;
        let Some(first) = self.inputs.first() else {
            return Err(Error::parameter("number of inputs", 0.0, "at least 1"));
        };
        let columns = first.features.as_ref().map(Samples::columns);
        check_alpha(self.alpha, columns.is_some())?;
        for input in &self.inputs {
            if !(input.share.is_finite() && input.share > 0.0) {
                return Err(Error::parameter("share of an input", input.share, "finite and positive"));
            }
            if let Some(weights) = &input.sample_weights {
                Error::check_len("number of sample_weights", input.similarity.len(), weights.len())?;
            }
            let own = input.features.as_ref().map(Samples::columns);
            Error::check_len("columns of the features of an input", columns.unwrap_or(0), own.unwrap_or(0))?;
            if let Some(samples) = &input.features {
                samples.check(input.similarity.len())?;
            }
            self.loss.check_similarity(&input.similarity.bounds())?;
        }
        Ok(())
    }
}

/// A barycenter on its way: plans, their summaries, and what the loss is made of.
struct Fit<'f, 'a> {
    problem: &'f Barycenter<'a>,
    settings: Settings,
    /// What prototypes must weigh.
    demand: Option<Demand>,
    /// λ, sum 1.
    shares: Vec<f64>,
    plans: Vec<Plan>,
    summaries: Vec<PlanSummary>,
    /// TᵀX of each input; empty without features.
    gathered: Vec<Matrix<'static>>,
    /// Σ λ·Σ f1·h·h, if known.
    constant: Option<f64>,
    /// Σ λ·Σ h·‖x‖².
    spread: f64,
}

impl<'f, 'a> Fit<'f, 'a> {
    fn new(
        problem: &'f Barycenter<'a>,
        settings: Settings,
        shares: Vec<f64>,
        plans: &[Plan],
        products: &[Products<'_>],
    ) -> Self {
        let with_share = || problem.inputs.iter().zip(&shares).zip(plans);
        let constant = with_share()
            .map(|((input, share), plan)| Some(share * input.similarity.constant(problem.loss, plan.sample_weights())?))
            .sum();
        let spread = with_share()
            .filter_map(|((input, share), plan)| {
                Some(share * input.features.as_ref()?.weighted_square(plan.sample_weights()))
            })
            .sum();
        let gather = |(input, plan): (&Input<'_>, &Plan)| Some(input.features.as_ref()?.gather(plan));
        Self {
            problem,
            settings,
            demand: None,
            plans: plans.to_vec(),
            summaries: plans.iter().zip(products).map(|(plan, products)| PlanSummary::new(plan, products)).collect(),
            gathered: problem.inputs.iter().zip(plans).filter_map(gather).collect(),
            shares,
            constant,
            spread,
        }
    }

    fn summary(&self) -> FreeSummary<'_> {
        let n = self.problem.prototypes;
        let mut members = vec![0; n];
        for plan in &self.plans {
            members.iter_mut().zip(plan.members()).for_each(|(sum, members)| *sum += members);
        }
        FreeSummary {
            loss: self.problem.loss,
            factor: self.problem.alpha,
            symmetric: self.problem.inputs.iter().all(|input| input.similarity.is_symmetric()),
            inputs: self.shares.iter().copied().zip(&self.summaries).collect(),
            members,
        }
    }

    /// Σ λ·TᵀX and Σ λ·q.
    fn feature_sums(&self) -> Option<(Matrix<'static>, Vec<f64>)> {
        let columns = self.gathered.first()?.columns();
        let n = self.problem.prototypes;
        let (mut sums, mut weights) = (Matrix::zeros(n, columns), vec![0.0; n]);
        for ((share, gathered), summary) in self.shares.iter().zip(&self.gathered).zip(&self.summaries) {
            sums.values_mut().iter_mut().zip(gathered.values()).for_each(|(sum, value)| *sum += share * value);
            weights.iter_mut().zip(&summary.weights).for_each(|(sum, q)| *sum += share * q);
        }
        Some((sums, weights))
    }

    /// Brings TᵀX up to date with the plans.
    fn gather(&mut self) {
        let inputs = self.problem.inputs.iter().zip(&self.plans);
        self.gathered = inputs.filter_map(|(input, plan)| Some(input.features.as_ref()?.gather(plan))).collect();
    }

    /// F, zero where a prototype is not used.
    fn best_features(&self) -> Option<Matrix<'static>> {
        let (mut sums, weights) = self.feature_sums()?;
        for (k, &weight) in weights.iter().enumerate() {
            let scale = if weight > 0.0 { 1.0 / weight } else { 0.0 };
            sums.row_mut(k).iter_mut().for_each(|value| *value *= scale);
        }
        Some(sums)
    }

    fn loss(&self) -> f64 {
        let alpha = self.problem.alpha;
        let structure = alpha * self.constant.unwrap_or(0.0) + self.summary().loss();
        let gathered = self.feature_sums().map_or(0.0, |(sums, weights)| {
            let of = |(k, &w): (usize, &f64)| if w > 0.0 { square(sums.row(k)) / w } else { 0.0 };
            weights.iter().enumerate().map(of).sum()
        });
        structure + (1.0 - alpha) * (self.spread - gathered)
    }

    /// What the solver minimises beyond the loss.
    fn penalty(&self) -> f64 {
        let step = self.settings.step(None);
        self.plans.iter().zip(&self.shares).map(|(plan, share)| share * step.penalty(plan)).sum()
    }

    /// One sweep of vertex descent over the samples of input s.
    fn sweep(&mut self, s: usize, products: &mut Products<'_>, rng: &mut Xoshiro256PlusPlus) -> usize {
        let input = &self.problem.inputs[s];
        let fused = self.problem.alpha < 1.0;
        let features =
            input.features.as_ref().filter(|_| fused).zip(self.feature_sums()).map(|(samples, (sums, weights))| {
                FeatureTerm::new(samples, 1.0 - self.problem.alpha, self.shares[s], sums, weights)
            });
        let mut criterion = FreeTarget::new(&self.summary(), s, features);
        let plan = &mut self.plans[s];
        let moves = Sweeps::new(plan, products).sweep_until_broad(&mut criterion, rng);
        if moves > 0 {
            self.summaries[s] = PlanSummary::new(plan, products);
            if let Some(samples) = &input.features {
                self.gathered[s] = samples.gather(plan);
            }
        }
        moves
    }

    /// The problem of every plan, given target and features.
    fn problems<'p>(&self, target: &Matrix<'_>, features: Option<&'p Matrix<'static>>) -> Vec<TransportProblem<'p>>
    where
        'f: 'p,
    {
        let Barycenter { inputs, loss, alpha, .. } = self.problem;
        let of_input = |input: &'f Input<'a>| {
            let cost = input
                .features
                .as_ref()
                .filter(|_| *alpha < 1.0)
                .zip(features)
                .map(|(samples, features)| FeatureCost::new(samples, features.view(), 1.0 - alpha));
            TransportProblem::new(input.similarity, target, *loss, *alpha, 0.0).with_features(cost)
        };
        inputs.iter().map(of_input).collect()
    }

    /// One round of plans given target and features, then target and features given plans.
    fn alternate(&mut self, states: &mut [TransportState<'_>]) -> bool {
        let (mut target, features) = (self.summary().best_target(), self.best_features());
        if self.demand.is_some() {
            // The gradient does not see what samples that move together do to each other: a barrier would end every step.
            target = without_zeros(target, self.problem.loss);
        }
        let problems = self.problems(&target, features.as_ref());
        let mut moved = false;
        for (s, (problem, state)) in problems.iter().zip(states).enumerate() {
            state.enter(problem);
            let mut step = self.settings.step(self.demand.as_ref());
            let first = state.loss + step.penalty(&state.plan);
            let (history, _) = drive(&self.settings.stopping, &mut (), first, || {
                let moved = step.step(problem, state);
                Round { loss: state.loss + step.penalty(&state.plan), moved }
            });
            moved |= history.len() > 1;
            self.plans[s] = state.plan.clone();
            self.summaries[s] = state.summary.clone();
            if let Some(samples) = &self.problem.inputs[s].features {
                self.gathered[s] = samples.gather(&state.plan);
            }
        }
        moved
    }

    fn finish(self, history: Vec<f64>, stop: StopReason) -> Result<FittedBarycenter> {
        let problem = self.problem;
        let kinds: Vec<_> = problem.inputs.iter().map(|input| input.similarity.definiteness()).collect();
        let is_free = self.demand.is_none();
        let certified = is_free && problem.loss == Loss::Square && kinds.iter().all(|kind| kind.has_hard_optimum());
        let hardness = self.plans.iter().zip(&self.shares).map(|(plan, share)| share * plan.hardness()).sum();
        let outcome = Outcome {
            loss: self.settings.reported(self.loss(), &history),
            loss_is_complete: self.constant.is_some() || problem.alpha == 0.0,
            history,
            stop,
            hardness,
            certificate: certified.then(|| kinds[0]),
            warnings: Vec::new(),
        }
        .checked()?;
        let (target, features) = (self.summary().best_target(), self.best_features());
        Ok(FittedBarycenter { target, features, plans: self.plans, outcome })
    }
}
