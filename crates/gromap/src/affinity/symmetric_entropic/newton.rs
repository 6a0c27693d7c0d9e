//! A Levenberg–Marquardt Newton method for the dual, with temperatures kept at or above a floor.
//!
//! Each step solves (H + λ·D)·d = −e by conjugate gradients, D being the 2×2 diagonal blocks of H,
//! which also precondition. H ⪯ 2D, so the damped system is well conditioned as long as λ is not
//! tiny. A row whose entropy is above the bound although its temperature is at the floor satisfies
//! its constraint with room to spare: its temperature is held for the step.
//!
//! Plain Newton has e = ∇f, and crawls or overshoots where row sums are far from one, since f is made
//! of exponentials. The same matrix serves Newton's method on the logarithm of the row sums, log r = 0,
//! and on the entropies S of the rows scaled to sum one, S = log ξ, with another right-hand side:
//! e_μ = r·log r, e_ε = r·(S − log ξ) + (S − log r)·r·log r, which agrees with ∇f to first order. That
//! is what a step tries first; after a step that was refused, ∇f itself, a sure descent.
//!
//! Three things make it safe on any data. A step counts only if f falls; when it is refused, every row is solved by
//! itself instead, which never raises f (`row.rs`). Temperatures may differ by many orders of magnitude, and neither f nor
//! conjugate gradients see cold rows beside warm ones; but warm rows hardly depend on cold ones, so a step
//! moves only rows within a window of temperatures around the warmest that is not yet solved. And if −f exceeds what any
//! solution could cost, there is none, and the search ends.

use super::dual::{Dual, Entries, Evaluation, Pair};

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
/// Damping at the start.
const FIRST_DAMPING: f64 = 1e-2;
/// Damping below which less makes no difference.
const LEAST_DAMPING: f64 = 1e-7;
/// Damping beyond which steps are too short to be worth a pass: back to the start, rows by themselves have moved on.
const MAX_DAMPING: f64 = 1e3;
/// Rows this much warmer or colder than the warmest that is not solved wait.
const WINDOW: f64 = 1e4;
/// Steps without progress after which there is no more to be had.
const MAX_IDLE: usize = 40;
/// What counts as progress: this share of the worst error, or of the rows that are off.
const PROGRESS: f64 = 0.99;
/// The rounding of f, as a share of what rows add to it.
const ROUNDING: f64 = 1e-12;

/// The floor of a temperature, as a share of where it started.
const FIRST_SHARE: f64 = 0.03;
/// Once solved, and while the floor still shows, it is lowered by this factor,
const SHARE_DECREASE: f64 = 0.1;
/// but not below this.
const LAST_SHARE: f64 = 1e-8;

/// Where the solver starts.
pub(super) struct Start {
    pub(super) at: Vec<Pair>,
    /// Rows that have more than ξ neighbours at the least cost: at any low temperature these share the mass, so the floor
    /// is where they start.
    pub(super) tied: Vec<bool>,
}

/// Where the solver stopped.
#[derive(Clone)]
pub(super) struct Outcome {
    pub(super) at: Vec<Pair>,
    pub(super) steps: usize,
    pub(super) passes: usize,
    pub(super) residuals: Residuals,
    /// Rows whose sum or entropy is off by more than the tolerance.
    pub(super) unsolved: Vec<u32>,
    pub(super) end: End,
}

/// Why the solver stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Errors and gap are within the tolerance.
    Converged,
    /// Steps ran out, or brought nothing any more.
    Stuck,
    /// No point satisfies the constraints: −f exceeds the cost that any would have.
    Infeasible,
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

/// Minimises the dual.
///
/// Rows next to each other that are both cold are hard to solve for, so the floor starts warm and
/// is lowered from solution to solution, until what it costs is within the tolerance too. If steps
/// run out on the way, the last solution counts; if there is none, the point with the smallest error.
pub(super) fn minimise(dual: &Dual<'_>, Start { mut at, tied }: Start, limits: Limits) -> Outcome {
    let share_of = |tied: bool, share: f64| if tied { 1.0 } else { share };
    let mut floor: Vec<f64> = at.iter().zip(&tied).map(|(at, &tied)| share_of(tied, FIRST_SHARE) * at[0]).collect();
    let mut share = FIRST_SHARE;
    let most_cost = dual.most_cost();
    let mut passes = balance(dual, &mut at, MAX_BALANCING);
    let mut state = State::new(dual, at);
    passes += 1;
    let (mut solved, mut best) = (None::<Outcome>, None::<Outcome>);
    let mut idle = 0;
    for steps in 0.. {
        let is_inactive = inactive(&state, &floor);
        let errors = row_errors(&state, &is_inactive);
        let residuals = residuals(&state, &is_inactive, &tied);
        let near = residuals.largest() <= limits.tolerance;
        let converged = near && (residuals.gap <= limits.tolerance || share <= LAST_SHARE);
        let outcome = |end: End| {
            let is_off = |&i: &u32| errors[i as usize] > limits.tolerance;
            let unsolved = (0..errors.len() as u32).filter(is_off).collect();
            Outcome { at: state.at.clone(), steps, passes, residuals, unsolved, end }
        };
        if converged {
            return outcome(End::Converged);
        }
        let cost: f64 = -state.here.values.iter().sum::<f64>();
        if cost > most_cost * (1.0 + ROUNDING) + f64::MIN_POSITIVE {
            return outcome(End::Infeasible);
        }
        match best.as_ref().is_none_or(|best| is_progress(&errors, &residuals, best, limits.tolerance)) {
            true => (best, idle) = (Some(outcome(End::Stuck)), 0),
            false => idle += 1,
        }
        if steps >= limits.max_steps || idle >= MAX_IDLE {
            let last = solved.or(best).unwrap_or_else(|| outcome(End::Stuck));
            return Outcome { steps, passes, ..last };
        }
        let mut held = held(&state, &floor, &errors, &is_inactive, limits.tolerance);
        if near {
            solved = Some(outcome(End::Stuck));
            (best, idle) = (None, 0);
            share *= SHARE_DECREASE;
            floor.iter_mut().zip(&tied).for_each(|(floor, &tied)| *floor *= share_of(tied, SHARE_DECREASE));
            held.iter_mut().zip(&tied).for_each(|(held, &tied)| *held = if tied { *held } else { Held::Nothing });
        }
        let moving = errors.iter().zip(&held).filter(|(_, held)| **held != Held::Row).map(|(error, _)| *error);
        let forcing = (0.5 * moving.fold(0.0, f64::max)).clamp(1e-4, 0.1);
        passes += state.advance(dual, &floor, &held, forcing);
    }
    unreachable!("the number of steps is limited")
}

/// Whether the worst error or the number of rows that are off has shrunk since the best point so far.
fn is_progress(errors: &[f64], residuals: &Residuals, best: &Outcome, tolerance: f64) -> bool {
    let off = errors.iter().filter(|&&error| error > tolerance).count();
    residuals.largest() < PROGRESS * best.residuals.largest() || (off as f64) < PROGRESS * best.unsolved.len() as f64
}

/// What of a row does not move in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// Its temperature, which is at the floor.
    Temperature,
    /// All of it: it waits for warmer rows, or is warmer and solved.
    Row,
}

impl Held {
    /// What a step may use of a pair of numbers of this row.
    pub(super) fn moving(self, [of_epsilon, of_mu]: Pair) -> Pair {
        match self {
            Self::Nothing => [of_epsilon, of_mu],
            Self::Temperature => [0.0, of_mu],
            Self::Row => [0.0, 0.0],
        }
    }
}

/// A point on the way, what is known there, and how cautious the next step is.
struct State {
    at: Vec<Pair>,
    here: Evaluation,
    trial: Evaluation,
    /// Those of `here`, until a step is tried.
    entries: Entries,
    damping: f64,
    refused: bool,
}

impl State {
    fn new(dual: &Dual<'_>, at: Vec<Pair>) -> Self {
        let (mut here, trial, mut entries) = (dual.blank(), dual.blank(), dual.blank_entries());
        dual.evaluate(&at, &mut here, &mut entries);
        Self { at, here, trial, entries, damping: FIRST_DAMPING, refused: false }
    }

    /// Tries one Newton step, and solves every row by itself if it does not lower f. Gives the number of passes.
    fn advance(&mut self, dual: &Dual<'_>, floor: &[f64], held: &[Held], forcing: f64) -> usize {
        let here = &self.here;
        let system = System { dual, here, entries: &self.entries, damping: self.damping, held };
        let errors = if self.refused { here.gradient.clone() } else { dual.logarithmic_errors(here) };
        let (direction, inner) = system.solve(&errors, forcing);
        let mut next = step(&self.at, &direction, here, floor, held);
        dual.evaluate(&next, &mut self.trial, &mut self.entries);
        let mut passes = inner + 1;
        if !is_balanced(&self.trial) {
            passes += balance(dual, &mut next, MAX_REBALANCING) + 1;
            dual.evaluate(&next, &mut self.trial, &mut self.entries);
        }
        let promised = -0.5 * dot(&errors, &direction);
        let quality = quality(here, &self.trial, promised, held);
        self.refused = quality <= LEAST_QUALITY;
        if self.refused {
            dual.row_wise_step(&mut self.at, floor);
            dual.evaluate(&self.at, &mut self.here, &mut self.entries);
            passes += ROW_WISE_PASSES + 1;
        } else {
            self.at = next;
            std::mem::swap(&mut self.here, &mut self.trial);
        }
        let factor = match quality {
            q if q > 0.75 => 0.2,
            q if q > 0.25 => 0.5,
            q if q > LEAST_QUALITY => 3.0,
            _ => 8.0,
        };
        let damping = (factor * self.damping).max(LEAST_DAMPING);
        self.damping = if damping > MAX_DAMPING { FIRST_DAMPING } else { damping };
        passes
    }
}

/// What a row-wise step costs, in passes: about.
const ROW_WISE_PASSES: usize = 10;

/// Sinkhorn steps on μ at fixed ε: brings row sums that are far from one (a sample far from all
/// others, or one that a Newton step threw off) to where Newton's method works. Gives the number
/// of passes.
fn balance(dual: &Dual<'_>, at: &mut [Pair], max_passes: usize) -> usize {
    (1..=max_passes).find(|_| dual.balance(at) <= BALANCED).unwrap_or(max_passes)
}

/// Whether every row sum is where Newton's method works.
fn is_balanced(here: &Evaluation) -> bool {
    here.gradient.iter().all(|[_, excess]| (excess + 1.0).ln().abs() <= BALANCED)
}

/// Rows whose entropy is above the bound although their temperature is at the floor.
fn inactive(state: &State, floor: &[f64]) -> Vec<bool> {
    let rows = state.at.iter().zip(&state.here.gradient).zip(floor);
    rows.map(|((at, gradient), &floor)| at[0] <= floor && gradient[0] >= 0.0).collect()
}

/// The larger error of every row, that of its sum or that of its entropy.
fn row_errors(state: &State, is_inactive: &[bool]) -> Vec<f64> {
    let rows = state.here.gradient.iter().zip(is_inactive);
    rows.map(|([entropy, sum], &inactive)| if inactive { size(*sum) } else { size(*sum).max(size(*entropy)) }).collect()
}

/// What does not move in the next step.
///
/// A temperature at the floor is held if its row would lower it further: by its entropy alone, or by itself with μ.
fn held(state: &State, floor: &[f64], errors: &[f64], is_inactive: &[bool], tolerance: f64) -> Vec<Held> {
    let off = state.at.iter().zip(errors).filter(|(_, error)| **error > 0.5 * tolerance);
    let warmest = off.map(|(at, _)| at[0]).fold(0.0, f64::max);
    let rows = state.at.iter().zip(&state.here.gradient).zip(&state.here.blocks).zip(floor.iter().zip(is_inactive));
    rows.map(|(((at, gradient), block), (&floor, &inactive))| {
        let falls = || block[2] * gradient[0] >= block[1] * gradient[1];
        if inactive {
            // However cold it is, its mass is with others: its μ belongs to theirs.
            Held::Temperature
        } else if at[0] > WINDOW * warmest || WINDOW * at[0] < warmest {
            Held::Row
        } else if at[0] <= floor && falls() {
            Held::Temperature
        } else {
            Held::Nothing
        }
    })
    .collect()
}

/// The size of an error; what is no number is larger than any.
fn size(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error.abs() }
}

fn residuals(state: &State, is_inactive: &[bool], tied: &[bool]) -> Residuals {
    let mut found = Residuals { row_sum: 0.0, entropy: 0.0, gap: 0.0, inactive: 0 };
    let rows = state.here.gradient.iter().zip(&state.at).zip(is_inactive.iter().zip(tied));
    for (([entropy, row_sum], [epsilon, _]), (&inactive, &tied)) in rows {
        found.row_sum = found.row_sum.max(size(*row_sum));
        match inactive {
            true => {
                found.inactive += 1;
                found.gap += if tied { 0.0 } else { epsilon * entropy };
            }
            false => found.entropy = found.entropy.max(size(*entropy)),
        }
    }
    found.gap /= state.at.iter().map(|[epsilon, _]| epsilon).sum::<f64>();
    found
}

/// Follows the direction, downwards in log ε, so that temperatures stay positive. Where that is not
/// ε + u, μ makes up for it, so that the row keeps its mass to first order.
fn step(at: &[Pair], direction: &[Pair], here: &Evaluation, floor: &[f64], held: &[Held]) -> Vec<Pair> {
    let rows = at.iter().zip(direction).zip(&here.blocks).zip(floor.iter().zip(held));
    rows.map(|(((&[epsilon, mu], &[u, v]), &[_, mixed, curvature]), (&floor, &held))| {
        if held == Held::Row {
            return [epsilon, mu];
        }
        let change = (u / epsilon).clamp(-LONGEST_STEP, LONGEST_STEP);
        let ratio = if change < 0.0 { change.exp() } else { 1.0 + change };
        let next = (epsilon * ratio).max(floor);
        let excess = next - (epsilon + u);
        [next, mu + v - excess * mixed / (curvature + f64::MIN_POSITIVE)]
    })
    .collect()
}

/// How much of the promised decrease came true; 1 is what a quadratic gives.
///
/// Close to the optimum the decrease drowns in the rounding of f. There the gradient decides: it must have become clearly
/// shorter in the norm of D⁻¹.
fn quality(here: &Evaluation, trial: &Evaluation, promised: f64, held: &[Held]) -> f64 {
    let rows = || here.values.iter().zip(&trial.values);
    if !rows().all(|(_, trial)| trial.is_finite()) {
        return 0.0;
    }
    let decrease: f64 = rows().map(|(here, trial)| here - trial).sum();
    let changed: f64 = rows().filter(|(here, trial)| here != trial).map(|(here, _)| here.abs()).sum();
    if promised > ROUNDING * changed {
        return decrease / promised;
    }
    let [before, after] = [here, trial].map(|e| gradient_length(e, here, held));
    match after / before {
        ratio if ratio < 0.25 => 1.0,
        ratio if ratio < 0.9 => 0.5,
        _ => 0.0,
    }
}

/// ∇fᵀD⁻¹∇f with the gradient of one point and the blocks of another.
fn gradient_length(of: &Evaluation, metric: &Evaluation, held: &[Held]) -> f64 {
    let rows = of.gradient.iter().zip(&metric.blocks).zip(held);
    rows.map(|((&g, &block), &held)| {
        let g = held.moving(g);
        let [a, b] = solve_block(block, g, held);
        g[0] * a + g[1] * b
    })
    .sum()
}

/// The linear system of one step.
struct System<'a> {
    dual: &'a Dual<'a>,
    here: &'a Evaluation,
    entries: &'a Entries,
    damping: f64,
    held: &'a [Held],
}

impl System<'_> {
    /// Preconditioned conjugate gradients from zero, until the residual has shrunk to `forcing` of
    /// itself. Gives the direction and the number of products.
    fn solve(&self, errors: &[Pair], forcing: f64) -> (Vec<Pair>, usize) {
        let n = self.held.len();
        let descent = |(e, held): (&Pair, &Held)| held.moving([-e[0], -e[1]]);
        let mut residual: Vec<Pair> = errors.iter().zip(self.held).map(descent).collect();
        let mut solution = vec![[0.0; 2]; n];
        let mut product = vec![[0.0; 2]; n];
        let mut preconditioned = self.precondition(&residual);
        let mut search = preconditioned.clone();
        let mut length = dot(&residual, &preconditioned);
        let goal = forcing * forcing * length;
        for inner in 1..=MAX_INNER {
            crate::interrupt::look();
            self.dual.multiply((self.here, self.entries), self.damping, self.held, &search, &mut product);
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
        let solve = |((&r, &block), &held): ((&Pair, &[f64; 3]), &Held)| {
            let [u, v] = solve_block(block, r, held);
            [scale * u, scale * v]
        };
        residual.iter().zip(&self.here.blocks).zip(self.held).map(solve).collect()
    }
}

/// Solves one 2×2 block. A row whose entries are all alike has a singular one: a trace of the
/// diagonal is added.
fn solve_block([a, b, c]: [f64; 3], r: Pair, held: Held) -> Pair {
    let (a, c) = (a * (1.0 + 1e-9) + 1e-30, c * (1.0 + 1e-9) + 1e-30);
    match held {
        Held::Nothing => {}
        Held::Temperature => return [0.0, r[1] / c],
        Held::Row => return [0.0, 0.0],
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
