//! A Levenberg–Marquardt Newton method for the dual, with temperatures kept at or above a floor.
//!
//! Each step solves (H + λ·D)·d = −e by conjugate gradients, D being the 2×2 diagonal blocks of H,
//! which also precondition. H ⪯ 2D, so the damped system is well conditioned as long as λ is not
//! tiny. A row whose entropy is above the bound although its temperature is at the floor satisfies
//! its constraint with room to spare: its temperature is frozen for the step.
//!
//! Plain Newton has e = ∇f, and crawls or overshoots where row sums are far from one, since f is made
//! of exponentials. The same matrix serves Newton's method on the logarithm of the row sums, log r = 0,
//! and on the entropies S of the rows scaled to sum one, S = log ξ, with another right-hand side:
//! e_μ = r·log r, e_ε = r·(S − log ξ) + (S − log r)·r·log r, which agrees with ∇f to first order. That
//! is what a step tries first; after a step that was refused, ∇f itself, a sure descent.

use super::dual::{Dual, Evaluation, Pair};

/// Sinkhorn steps before Newton's, at most.
const MAX_BALANCING: usize = 60;
/// Sinkhorn steps after a Newton step, at most.
const MAX_REBALANCING: usize = 6;
/// Newton starts once every row sum is within this factor of one, as a logarithm.
const BALANCED: f64 = 0.5;
/// The largest change of log ε in one step.
const LONGEST_STEP: f64 = 2.0;
/// The share of the promised decrease below which a step is refused.
const LEAST_QUALITY: f64 = 0.01;
/// Conjugate gradient steps for one Newton step, at most.
const MAX_INNER: usize = 100;
/// Damping below which less makes no difference.
const LEAST_DAMPING: f64 = 1e-7;
/// Damping beyond which no step is worth trying.
const MAX_DAMPING: f64 = 1e12;

/// The floor of a temperature, as a share of where it started.
const FIRST_SHARE: f64 = 0.03;
/// Once solved, and while the floor still shows, it is lowered by this factor,
const SHARE_DECREASE: f64 = 0.1;
/// but not below this.
const LAST_SHARE: f64 = 1e-8;

/// Where the solver stopped.
#[derive(Clone)]
pub(super) struct Outcome {
    pub(super) at: Vec<Pair>,
    pub(super) steps: usize,
    pub(super) passes: usize,
    pub(super) residuals: Residuals,
    pub(super) converged: bool,
}

/// How far a point is from the optimality conditions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Residuals {
    /// Largest error of a row sum.
    pub(super) row_sum: f64,
    /// Largest error of an entropy; being above the bound is none where the temperature is at the floor.
    pub(super) entropy: f64,
    /// What the floor costs: Σ ε_i·(entropy above the bound) over those rows, as a share of Σ ε_i.
    pub(super) gap: f64,
    /// Rows whose entropy is above the bound.
    pub(super) inactive: usize,
}

impl Residuals {
    fn largest(&self) -> f64 {
        self.row_sum.max(self.entropy)
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) tolerance: f64,
    pub(super) max_steps: usize,
}

/// Minimises the dual from `at`.
///
/// Rows next to each other that are both cold are hard to solve for, so the floor starts warm and
/// is lowered from solution to solution, until what it costs is within the tolerance too. If steps
/// run out on the way, the last solution counts.
pub(super) fn minimise(dual: &Dual<'_>, mut at: Vec<Pair>, limits: Limits) -> Outcome {
    let mut floor: Vec<f64> = at.iter().map(|[epsilon, _]| FIRST_SHARE * epsilon).collect();
    let mut share = FIRST_SHARE;
    let mut passes = balance(dual, &mut at, MAX_BALANCING);
    let mut state = State::new(dual, at);
    passes += 1;
    let mut solved: Option<Outcome> = None;
    for steps in 0.. {
        let mut frozen = frozen(&state.at, &state.here, &floor);
        let residuals = residuals(&state, &frozen);
        let near = residuals.largest() <= limits.tolerance;
        let converged = near && (residuals.gap <= limits.tolerance || share <= LAST_SHARE);
        let outcome = || Outcome { at: state.at.clone(), steps, passes, residuals, converged };
        if converged {
            return outcome();
        }
        if steps >= limits.max_steps || state.damping > MAX_DAMPING {
            return solved.map_or_else(outcome, |solved| Outcome { steps, passes, ..solved });
        }
        if near {
            solved = Some(outcome());
            share *= SHARE_DECREASE;
            floor.iter_mut().for_each(|floor| *floor *= SHARE_DECREASE);
            frozen.fill(false);
        }
        let forcing = (0.5 * residuals.largest()).clamp(1e-4, 0.1);
        passes += state.advance(dual, &floor, &frozen, forcing);
    }
    unreachable!("the number of steps is limited")
}

/// A point on the way, what is known there, and how cautious the next step is.
struct State {
    at: Vec<Pair>,
    here: Evaluation,
    trial: Evaluation,
    damping: f64,
    refused: bool,
}

impl State {
    fn new(dual: &Dual<'_>, at: Vec<Pair>) -> Self {
        let (mut here, trial) = (dual.blank(), dual.blank());
        dual.evaluate(&at, &mut here);
        Self { at, here, trial, damping: 1e-2, refused: false }
    }

    /// Tries one Newton step. Gives the number of passes.
    fn advance(&mut self, dual: &Dual<'_>, floor: &[f64], frozen: &[bool], forcing: f64) -> usize {
        let here = &self.here;
        let system = System { dual, here, damping: self.damping, frozen };
        let errors = if self.refused { here.gradient.clone() } else { dual.logarithmic_errors(here) };
        let (direction, inner) = system.solve(&errors, forcing);
        let mut next = step(&self.at, &direction, here, floor);
        dual.evaluate(&next, &mut self.trial);
        let mut passes = inner + 1;
        if !is_balanced(&self.trial) {
            passes += balance(dual, &mut next, MAX_REBALANCING) + 1;
            dual.evaluate(&next, &mut self.trial);
        }
        let promised = -0.5 * dot(&errors, &direction);
        let quality = quality(here, &self.trial, promised, frozen);
        self.refused = quality <= LEAST_QUALITY;
        if !self.refused {
            self.at = next;
            std::mem::swap(&mut self.here, &mut self.trial);
        }
        let factor = match quality {
            q if q > 0.75 => 0.2,
            q if q > 0.25 => 0.5,
            q if q > LEAST_QUALITY => 3.0,
            _ => 8.0,
        };
        self.damping = (factor * self.damping).max(LEAST_DAMPING);
        passes
    }
}

/// Sinkhorn steps on μ at fixed ε: brings row sums that are far from one (a sample far from all
/// others, or one that a Newton step threw off) to where Newton's method works. Gives the number
/// of passes.
fn balance(dual: &Dual<'_>, at: &mut [Pair], max_passes: usize) -> usize {
    for pass in 1..=max_passes {
        crate::interrupt::look();
        let sums = dual.log_sums(at);
        if sums.iter().all(|[log_sum, _]| log_sum.abs() <= BALANCED) {
            return pass;
        }
        // Both ends of a pair move: half of what each would need alone.
        at.iter_mut().zip(&sums).for_each(|(at, [log_sum, temperature])| at[1] -= 0.5 * log_sum * temperature);
    }
    max_passes
}

/// Whether every row sum is where Newton's method works.
fn is_balanced(here: &Evaluation) -> bool {
    here.gradient.iter().all(|[_, excess]| (excess + 1.0).ln().abs() <= BALANCED)
}

/// Temperatures at the floor that the gradient would lower further.
fn frozen(at: &[Pair], here: &Evaluation, floor: &[f64]) -> Vec<bool> {
    let rows = at.iter().zip(&here.gradient).zip(floor);
    rows.map(|((at, gradient), &floor)| at[0] <= floor && gradient[0] >= 0.0).collect()
}

fn residuals(state: &State, frozen: &[bool]) -> Residuals {
    let mut found = Residuals { row_sum: 0.0, entropy: 0.0, gap: 0.0, inactive: 0 };
    for (([entropy, row_sum], [epsilon, _]), &frozen) in state.here.gradient.iter().zip(&state.at).zip(frozen) {
        found.row_sum = found.row_sum.max(row_sum.abs());
        if frozen {
            found.inactive += 1;
            found.gap += epsilon * entropy;
        } else {
            found.entropy = found.entropy.max(entropy.abs());
        }
    }
    found.gap /= state.at.iter().map(|[epsilon, _]| epsilon).sum::<f64>();
    found
}

/// Follows the direction, downwards in log ε, so that temperatures stay positive. Where that is not
/// ε + u, μ makes up for it, so that the row keeps its mass to first order.
fn step(at: &[Pair], direction: &[Pair], here: &Evaluation, floor: &[f64]) -> Vec<Pair> {
    let moved = |(((&[epsilon, mu], &[u, v]), &[_, mixed, curvature]), &floor): (((&Pair, &Pair), &[f64; 3]), &f64)| {
        let change = (u / epsilon).clamp(-LONGEST_STEP, LONGEST_STEP);
        let ratio = if change < 0.0 { change.exp() } else { 1.0 + change };
        let next = (epsilon * ratio).max(floor);
        let excess = next - (epsilon + u);
        [next, mu + v - excess * mixed / (curvature + f64::MIN_POSITIVE)]
    };
    at.iter().zip(direction).zip(&here.blocks).zip(floor).map(moved).collect()
}

/// How much of the promised decrease came true; 1 is what a quadratic gives.
///
/// Close to the optimum the decrease drowns in the rounding of f. There, and where f rose, the
/// gradient decides: it must have become clearly shorter in the norm of D⁻¹.
fn quality(here: &Evaluation, trial: &Evaluation, promised: f64, frozen: &[bool]) -> f64 {
    if !trial.value.is_finite() {
        return 0.0;
    }
    let rounding = 1e-11 * here.value.abs().max(1.0);
    let decrease = here.value - trial.value;
    if promised > rounding && decrease > LEAST_QUALITY * promised {
        return decrease / promised;
    }
    let [before, after] = [here, trial].map(|e| gradient_length(e, here, frozen));
    match after / before {
        ratio if ratio < 0.25 => 1.0,
        ratio if ratio < 0.9 => 0.5,
        _ => 0.0,
    }
}

/// ∇fᵀD⁻¹∇f with the gradient of one point and the blocks of another.
fn gradient_length(of: &Evaluation, metric: &Evaluation, frozen: &[bool]) -> f64 {
    let rows = of.gradient.iter().zip(&metric.blocks).zip(frozen);
    rows.map(|((&g, &block), &frozen)| {
        let g = if frozen { [0.0, g[1]] } else { g };
        let [a, b] = solve_block(block, g, frozen);
        g[0] * a + g[1] * b
    })
    .sum()
}

/// The linear system of one step.
struct System<'a> {
    dual: &'a Dual<'a>,
    here: &'a Evaluation,
    damping: f64,
    frozen: &'a [bool],
}

impl System<'_> {
    /// Preconditioned conjugate gradients from zero, until the residual has shrunk to `forcing` of
    /// itself. Gives the direction and the number of products.
    fn solve(&self, errors: &[Pair], forcing: f64) -> (Vec<Pair>, usize) {
        let n = self.frozen.len();
        let descent = |(e, &frozen): (&Pair, &bool)| [if frozen { 0.0 } else { -e[0] }, -e[1]];
        let mut residual: Vec<Pair> = errors.iter().zip(self.frozen).map(descent).collect();
        let mut solution = vec![[0.0; 2]; n];
        let mut product = vec![[0.0; 2]; n];
        let mut preconditioned = self.precondition(&residual);
        let mut search = preconditioned.clone();
        let mut length = dot(&residual, &preconditioned);
        let goal = forcing * forcing * length;
        for inner in 1..=MAX_INNER {
            crate::interrupt::look();
            self.dual.multiply(self.here, self.damping, self.frozen, &search, &mut product);
            let curvature = dot(&search, &product);
            if !(curvature > 0.0 && curvature.is_finite()) {
                return (if inner == 1 { search } else { solution }, inner);
            }
            let stride = length / curvature;
            add_scaled(&mut solution, stride, &search);
            add_scaled(&mut residual, -stride, &product);
            preconditioned = self.precondition(&residual);
            let next = dot(&residual, &preconditioned);
            if next <= goal {
                return (solution, inner);
            }
            let turn = next / length;
            length = next;
            search.iter_mut().zip(&preconditioned).for_each(|(s, p)| *s = [p[0] + turn * s[0], p[1] + turn * s[1]]);
        }
        (solution, MAX_INNER)
    }

    fn precondition(&self, residual: &[Pair]) -> Vec<Pair> {
        let scale = 1.0 / (1.0 + self.damping);
        let solve = |((&r, &block), &frozen): ((&Pair, &[f64; 3]), &bool)| {
            let [u, v] = solve_block(block, r, frozen);
            [scale * u, scale * v]
        };
        residual.iter().zip(&self.here.blocks).zip(self.frozen).map(solve).collect()
    }
}

/// Solves one 2×2 block. A row whose entries are all alike has a singular one: a trace of the
/// diagonal is added.
fn solve_block([a, b, c]: [f64; 3], r: Pair, frozen: bool) -> Pair {
    let (a, c) = (a * (1.0 + 1e-9) + 1e-30, c * (1.0 + 1e-9) + 1e-30);
    if frozen {
        return [0.0, r[1] / c];
    }
    let determinant = a * c - b * b;
    [(c * r[0] - b * r[1]) / determinant, (a * r[1] - b * r[0]) / determinant]
}

fn dot(a: &[Pair], b: &[Pair]) -> f64 {
    let mut sums = [0.0; 2];
    a.iter().zip(b).for_each(|(a, b)| {
        sums[0] += a[0] * b[0];
        sums[1] += a[1] * b[1];
    });
    sums[0] + sums[1]
}

fn add_scaled(sum: &mut [Pair], scale: f64, of: &[Pair]) {
    sum.iter_mut().zip(of).for_each(|(s, o)| *s = [s[0] + scale * o[0], s[1] + scale * o[1]]);
}
