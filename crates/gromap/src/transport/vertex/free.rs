//! The cost of moves for a free target: after every move the target is the best there is.
//!
//! With M = Σ λ·M_s and Q = Σ λ·q_s q_sᵀ over the inputs, the best target M ⊘ Q leaves the loss
//! Σ ψ(M, Q), ψ(m, p) = min over b of p·f2(b) − m·g(b). Putting a sample into b changes row and column b
//! of both, so its cost is a sum over one row and one column.
//!
//! For KL and one input Q = qqᵀ separates, ψ = m − m·log m + m·log q_k + m·log q_l, and only the entries
//! of M that change are computed: a candidate costs O(prototypes seen) instead of O(n), where a sample
//! sees a prototype if it has a similarity other than zero to it.
//!
//! Candidates are the prototypes that the sample sees, where it comes from, and one that is empty.

use super::{Criterion, FeatureTerm, Visitor};
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::logarithm::{ln, x_log_x};
use crate::numeric::vector::vectorized;
use crate::plan::Plan;
use crate::similarity::{Side, Similarity};
use crate::transport::{FreePart, PlanSummary};

/// What of M and q a visitor's removal may touch, to be put back to the bit.
enum Saved {
    Nothing,
    /// Prototype, its row and column of M and of Q.
    One(usize, [Vec<f64>; 3]),
    All(Box<(Matrix<'static>, Matrix<'static>)>),
}

pub(crate) struct FreeTarget<'a> {
    loss: Loss,
    /// α, the weight of the structural term.
    factor: f64,
    /// λ, the weight of the visitors' input.
    share: f64,
    symmetric: bool,
    /// One input and KL: Q separates and is not kept.
    separable: bool,
    mass: Matrix<'static>,
    pairs: Matrix<'static>,
    /// q of the visitors' input.
    weights: Vec<f64>,
    /// Entries of the plans in each prototype, over all inputs: zero is empty, whatever rounding says.
    members: Vec<u32>,
    /// Sums of rows and columns of M together; kept where Q separates.
    margins: Vec<f64>,
    saved: Saved,
    saved_weights: Vec<f64>,
    saved_margins: Vec<f64>,
    features: Option<FeatureTerm<'a>>,
}

/// What the free target needs to know of all inputs together.
pub(crate) struct FreeSummary<'s> {
    pub(crate) loss: Loss,
    pub(crate) factor: f64,
    pub(crate) symmetric: bool,
    /// λ and summary of each input.
    pub(crate) inputs: Vec<(f64, &'s PlanSummary)>,
    /// Entries of the plans in each prototype, over all inputs.
    pub(crate) members: Vec<u32>,
}

impl FreeSummary<'_> {
    /// M = Σ λ·M_s and Q = Σ λ·q_s q_sᵀ.
    pub(crate) fn totals(&self) -> (Matrix<'static>, Matrix<'static>) {
        let n = self.members.len();
        let total = |entry: &dyn Fn(&PlanSummary, usize, usize) -> f64| {
            Matrix::from_fn(n, n, |k, l| self.inputs.iter().map(|(share, s)| share * entry(s, k, l)).sum())
        };
        (total(&|s, k, l| s.mass[(k, l)]), total(&|s, k, l| s.weights[k] * s.weights[l]))
    }

    /// Σ ψ(M, Q), weighted by α.
    pub(crate) fn loss(&self) -> f64 {
        let (mass, pairs) = self.totals();
        self.factor * sum_at_best(self.loss, &mass, &pairs)
    }

    /// The best target, M ⊘ Q; zero where a prototype is not used.
    pub(crate) fn best_target(&self) -> Matrix<'static> {
        let (mass, pairs) = self.totals();
        let entry = |k, l| if pairs[(k, l)] > 0.0 { mass[(k, l)] / pairs[(k, l)] } else { 0.0 };
        Matrix::from_fn(self.members.len(), self.members.len(), entry)
    }
}

fn sum_at_best(loss: Loss, mass: &Matrix<'_>, pairs: &Matrix<'_>) -> f64 {
    mass.values().iter().zip(pairs.values()).map(|(&m, &p)| loss.at_best_target(m, p)).sum()
}

impl<'a> FreeTarget<'a> {
    /// The criterion for visitors of one input.
    pub(crate) fn new(summary: &FreeSummary<'_>, input: usize, features: Option<FeatureTerm<'a>>) -> Self {
        let (mass, pairs) = summary.totals();
        let n = mass.rows();
        let margin = |k| (0..n).map(|l| mass[(k, l)] + mass[(l, k)]).sum();
        let margins = (0..n).map(margin).collect();
        let (share, own) = summary.inputs[input];
        Self {
            loss: summary.loss,
            factor: summary.factor,
            share,
            symmetric: summary.symmetric,
            separable: summary.loss == Loss::Kl && summary.inputs.len() == 1 && share == 1.0,
            mass,
            pairs,
            weights: own.weights.clone(),
            members: summary.members.clone(),
            margins,
            saved: Saved::Nothing,
            saved_weights: Vec::new(),
            saved_margins: Vec::new(),
            features,
        }
    }

    /// The criterion of a part of a problem whose target is free.
    pub(super) fn of_part(part: FreePart, similarity: &dyn Similarity, plan: &Plan, summary: &PlanSummary) -> Self {
        let mut members = vec![0; plan.prototypes()];
        for i in (0..plan.len()).filter(|&i| plan.sample_weights()[i] > 0.0) {
            plan.row(i).iter().for_each(|(k, _)| members[k] += 1);
        }
        let (loss, factor, symmetric) = (part.loss, part.factor(), similarity.is_symmetric());
        Self::new(&FreeSummary { loss, factor, symmetric, inputs: vec![(1.0, summary)], members }, 0, None)
    }

    /// Q as it is now, also where it is not kept.
    fn pairs_now(&self) -> Matrix<'static> {
        if !self.separable {
            return self.pairs.clone();
        }
        let q = &self.weights;
        Matrix::from_fn(q.len(), q.len(), |k, l| q[k] * q[l])
    }

    /// Adds (or, with `sign` −1, takes away) a share t of the visitor at prototype k.
    fn shift(&mut self, visitor: &Visitor<'_>, k: usize, t: f64, sign: f64) {
        let n = self.weights.len();
        let step = sign * self.share * t;
        for &l in visitor.seen {
            let l = l as usize;
            self.mass[(k, l)] += step * visitor.row[l];
            self.mass[(l, k)] += step * visitor.column[l];
            if self.separable {
                let both = step * (visitor.row[l] + visitor.column[l]);
                self.margins[k] += both;
                self.margins[l] += both;
            }
        }
        if !self.separable {
            let own = self.weights[k];
            for l in (0..n).filter(|&l| l != k) {
                let change = step * self.weights[l];
                self.pairs[(k, l)] += change;
                self.pairs[(l, k)] += change;
            }
            self.pairs[(k, k)] += self.share * ((own + sign * t).powi(2) - own.powi(2));
        }
        self.weights[k] += sign * t;
    }

    /// The visitor's similarity to itself, between the prototypes that share it.
    fn shift_corner(&mut self, k: usize, l: usize, change: f64) {
        self.mass[(k, l)] += change;
        self.margins[k] += change;
        self.margins[l] += change;
    }

    fn save(&mut self, visitor: &Visitor<'_>) {
        self.saved = match *visitor.from.prototypes {
            [only] => {
                let k = only as usize;
                let column = (0..self.mass.rows()).map(|l| self.mass[(l, k)]).collect();
                let pairs = if self.separable { Vec::new() } else { self.pairs.row(k).to_vec() };
                Saved::One(k, [self.mass.row(k).to_vec(), column, pairs])
            }
            _ => Saved::All(Box::new((self.mass.clone(), self.pairs_now()))),
        };
        self.saved_weights.clone_from(&self.weights);
        self.saved_margins.clone_from(&self.margins);
    }

    /// A prototype that lost its last entry is empty to the bit.
    fn clear_if_empty(&mut self, k: usize) {
        if self.members[k] > 0 {
            return;
        }
        self.weights[k] = 0.0;
        self.margins[k] = 0.0;
        for l in 0..self.weights.len() {
            (self.mass[(k, l)], self.mass[(l, k)]) = (0.0, 0.0);
            (self.pairs[(k, l)], self.pairs[(l, k)]) = (0.0, 0.0);
        }
    }

    fn mark_candidates(&self, visitor: &Visitor<'_>, costs: &mut [f64]) {
        costs.fill(f64::INFINITY);
        let empty = self.members.iter().position(|&m| m == 0).map(|k| k as u32);
        for &k in visitor.seen.iter().chain(visitor.from.prototypes).chain(&empty) {
            costs[k as usize] = 0.0;
        }
    }

    /// Cost of putting the visitor whole into b, by one row and one column of ψ.
    fn cost_by_rows(&self, visitor: &Visitor<'_>, b: usize, psi: impl Fn(f64, f64) -> f64) -> f64 {
        let step = self.share * visitor.mass;
        let change = |m: f64, p: f64, dm: f64, dp: f64| psi(m + dm, p + dp) - psi(m, p);
        let (mass, pairs) = (self.mass.row(b), self.pairs.row(b));
        let mut total = 0.0;
        for l in 0..mass.len() {
            total += change(mass[l], pairs[l], step * visitor.row[l], step * self.weights[l]);
        }
        total -= change(mass[b], pairs[b], step * visitor.row[b], step * self.weights[b]);
        if self.symmetric {
            total *= 2.0;
        } else {
            for l in (0..mass.len()).filter(|&l| l != b) {
                total += change(self.mass[(l, b)], pairs[l], step * visitor.column[l], step * self.weights[l]);
            }
        }
        let corner = step * (visitor.row[b] + visitor.column[b] + visitor.mass * visitor.own);
        total + change(mass[b], pairs[b], corner, step * (2.0 * self.weights[b] + visitor.mass))
    }

    /// The same for KL and one input: only entries of M that change count.
    fn cost_separable(&self, visitor: &Visitor<'_>, b: usize, seen: &mut Seen) -> f64 {
        let h = visitor.mass;
        let by_row = seen.change(visitor, b, |l| self.mass[(b, l)], Side::Direct);
        let mut total = -by_row;
        total -= match self.symmetric {
            true => by_row,
            false => seen.change(visitor, b, |l| self.mass[(l, b)], Side::Transposed),
        };
        let at_b = visitor.row[b] + visitor.column[b];
        let (m, dm) = (self.mass[(b, b)], h * (at_b + h * visitor.own));
        total -= x_log_x(m + dm) - x_log_x(m);
        // Σ margins·log q: those of the others rise by h·(r + s), that of b by all of it and its own.
        let (q, margin_b) = (self.weights[b], self.margins[b]);
        let before = if q > 0.0 { ln(q) } else { 0.0 };
        let after = ln(q + h);
        let rise = h * (seen.margin + at_b + 2.0 * h * visitor.own);
        total + h * (seen.logs - at_b * before) + (margin_b + rise) * after - margin_b * before
            + h * seen.margin
            + h * h * visitor.own
    }

    fn write_costs(&self, visitor: &Visitor<'_>, costs: &mut [f64]) {
        let mut seen = if self.separable { Seen::new(visitor, &self.weights) } else { Seen::default() };
        for (b, cost) in costs.iter_mut().enumerate().filter(|(_, cost)| cost.is_finite()) {
            let by_rows = match self.loss {
                _ if self.separable => self.cost_separable(visitor, b, &mut seen),
                Loss::Square => self.cost_by_rows(visitor, b, |m, p| if p > 0.0 { -m * m / p } else { 0.0 }),
                loss => self.cost_by_rows(visitor, b, |m, p| loss.at_best_target(m, p)),
            };
            *cost = self.factor * by_rows;
        }
    }
}

/// What of a visitor is the same for all candidates where Q separates, and room to work in.
#[derive(Default)]
struct Seen {
    /// Σ r + s, and Σ (r + s)·log q.
    margin: f64,
    logs: f64,
    /// What entries of M rise by, h·r and h·s, for the prototypes that the visitor sees.
    rises: Vec<f64>,
    column_rises: Vec<f64>,
    changes: Vec<f64>,
}

impl Seen {
    fn new(visitor: &Visitor<'_>, weights: &[f64]) -> Self {
        let (mut margin, mut logs) = (0.0, 0.0);
        for &l in visitor.seen {
            let (both, q) = (visitor.row[l as usize] + visitor.column[l as usize], weights[l as usize]);
            margin += both;
            logs += if q > 0.0 { both * ln(q) } else { 0.0 };
        }
        let rises = |of: &[f64]| visitor.seen.iter().map(|&l| visitor.mass * of[l as usize]).collect();
        Self { margin, logs, rises: rises(visitor.row), column_rises: rises(visitor.column), changes: Vec::new() }
    }

    /// Σ of what m·log m rises by over entries of a row or column of M, but for the corner b.
    fn change(&mut self, visitor: &Visitor<'_>, b: usize, entry: impl Fn(usize) -> f64, side: Side) -> f64 {
        let rises = if side == Side::Direct { &self.rises } else { &self.column_rises };
        let changes = &mut self.changes;
        changes.clear();
        changes.extend(visitor.seen.iter().map(|&l| entry(l as usize)));
        vectorized(
            #[inline(always)]
            || {
                for (m, dm) in changes.iter_mut().zip(rises) {
                    *m = x_log_x(*m + dm) - x_log_x(*m);
                }
            },
        );
        if let Ok(corner) = visitor.seen.binary_search(&(b as u32)) {
            changes[corner] = 0.0;
        }
        changes.iter().sum()
    }
}

impl Criterion for FreeTarget<'_> {
    fn take_out(&mut self, visitor: &Visitor<'_>, costs: &mut [f64]) -> f64 {
        self.save(visitor);
        if visitor.mass == 0.0 {
            costs.fill(0.0);
            return 0.0;
        }
        let own = self.share * visitor.own;
        for (k, t) in visitor.from.iter() {
            self.shift(visitor, k, t, -1.0);
            visitor.from.iter().for_each(|(l, u)| self.shift_corner(k, l, -own * t * u));
            self.members[k] -= 1;
        }
        visitor.from.iter().for_each(|(k, _)| self.clear_if_empty(k));
        self.mark_candidates(visitor, costs);
        self.write_costs(visitor, costs);
        let stay = match (&self.saved, visitor.from.prototypes) {
            (Saved::All(saved), _) => {
                let (mass, pairs) = saved.as_ref();
                let whole = sum_at_best(self.loss, mass, pairs);
                self.factor * (whole - sum_at_best(self.loss, &self.mass, &self.pairs_now()))
            }
            (_, prototypes) => costs[prototypes[0] as usize],
        };
        let feature_stay = match &mut self.features {
            Some(features) => features.add_costs(visitor, &self.members, costs),
            None => 0.0,
        };
        stay + feature_stay
    }

    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32) {
        let b = to as usize;
        self.shift(visitor, b, visitor.mass, 1.0);
        self.shift_corner(b, b, self.share * visitor.own * visitor.mass * visitor.mass);
        self.members[b] += 1;
        if let Some(features) = &mut self.features {
            features.put_into(visitor, to);
        }
    }

    fn put_back(&mut self, visitor: &Visitor<'_>) {
        match std::mem::replace(&mut self.saved, Saved::Nothing) {
            Saved::Nothing => {}
            Saved::One(k, [row, column, pairs]) => {
                for (l, value) in column.into_iter().enumerate() {
                    self.mass[(l, k)] = value;
                }
                self.mass.row_mut(k).copy_from_slice(&row);
                for (l, value) in pairs.into_iter().enumerate() {
                    (self.pairs[(k, l)], self.pairs[(l, k)]) = (value, value);
                }
            }
            Saved::All(both) => (self.mass, self.pairs) = *both,
        }
        self.weights.clone_from(&self.saved_weights);
        self.margins.clone_from(&self.saved_margins);
        if visitor.mass > 0.0 {
            visitor.from.iter().for_each(|(k, _)| self.members[k] += 1);
        }
    }
}
