//! The cost of moves for a free target under KL with one input, where Q = qqᵀ separates.
//!
//! ψ = m − m·log m + m·log q_k + m·log q_l, so that of the loss of a row and a column of M
//!
//! ```text
//! −Σ_l [φ(M_bl + h·r_l) − φ(M_bl)],  φ(m) = m·log m,   and   Σ_k μ_k·log q_k,  μ the margins of M
//! ```
//!
//! are left, and only the entries of M that change are computed: a candidate costs O(prototypes seen) instead of O(n),
//! where a sample sees a prototype if it has a similarity other than zero to it. Of M only those entries are read and
//! changed, so that it may be a matrix or, for many prototypes, a list of what is not zero ([`PairMass`]).

use super::pair_mass::PairMass;
use super::{Breadth, Criterion, NEAR, Scratch, Visitor};
use crate::loss::Loss;
use crate::numeric::logarithm::{ln, x_log_x};
use crate::numeric::vector::vectorized;
use crate::similarity::Side;

/// M, q, and what follows from them.
#[derive(Clone)]
pub(crate) struct Separable<M> {
    /// α, the weight of the structural term.
    factor: f64,
    symmetric: bool,
    mass: M,
    /// q
    weights: Vec<f64>,
    /// log q, zero for an empty prototype.
    logs: Vec<f64>,
    /// Sums of rows and columns of M together.
    margins: Vec<f64>,
    /// Entries of the plan in each prototype: zero is empty, whatever rounding says.
    members: Vec<u32>,
}

impl<M: PairMass> Separable<M> {
    pub(crate) fn new(factor: f64, symmetric: bool, mass: M, weights: Vec<f64>, members: Vec<u32>) -> Self {
        let mut margins = vec![0.0; weights.len()];
        mass.for_each(|k, l, m| {
            margins[k] += m;
            margins[l] += m;
        });
        let logs = weights.iter().map(|&q| log_weight(q)).collect();
        Self { factor, symmetric, mass, weights, logs, margins, members }
    }

    /// Σ ψ(M, Q), weighted by α.
    fn value(&self) -> f64 {
        let mut total = 0.0;
        self.mass.for_each(|k, l, m| total += Loss::Kl.at_best_target(m, self.weights[k] * self.weights[l]));
        self.factor * total
    }

    /// Adds (or, with `sign` −1, takes away) a share t of the visitor at prototype k.
    fn shift(&mut self, visitor: &Visitor<'_>, k: usize, t: f64, sign: f64) {
        let step = sign * t;
        for &l in visitor.seen {
            let l = l as usize;
            self.mass.add(k, l, step * visitor.row[l]);
            self.mass.add(l, k, step * visitor.column[l]);
            let both = step * (visitor.row[l] + visitor.column[l]);
            self.margins[k] += both;
            self.margins[l] += both;
        }
        self.weights[k] += step;
        self.logs[k] = log_weight(self.weights[k]);
    }

    /// The visitor's similarity to itself, between the prototypes that share it.
    fn shift_corner(&mut self, k: usize, l: usize, change: f64) {
        self.mass.add(k, l, change);
        self.margins[k] += change;
        self.margins[l] += change;
    }

    /// Takes the visitor out of its row.
    fn take_out(&mut self, visitor: &Visitor<'_>) {
        for (k, t) in visitor.from.iter() {
            self.shift(visitor, k, t, -1.0);
            visitor.from.iter().for_each(|(l, u)| self.shift_corner(k, l, -visitor.own * t * u));
            self.members[k] -= 1;
        }
        for (k, _) in visitor.from.iter().filter(|&(k, _)| self.members[k] == 0) {
            // A prototype that lost its last entry is empty to the bit.
            (self.weights[k], self.margins[k], self.logs[k]) = (0.0, 0.0, 0.0);
            self.mass.clear(k);
        }
    }

    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }
}

/// log q, and zero for an empty prototype, which nothing is multiplied with.
fn log_weight(weight: f64) -> f64 {
    if weight > 0.0 { weight.ln() } else { 0.0 }
}

/// The prototypes that the visitor sees, or the nearest of them, where it comes from, and one that is empty; ascending.
pub(crate) fn seen_candidates(visitor: &Visitor<'_>, members: &[u32], breadth: Breadth, out: &mut Vec<u32>) {
    out.clear();
    out.extend_from_slice(visitor.seen);
    if breadth == Breadth::Near && out.len() > NEAR {
        let similarity = |k: u32| visitor.row[k as usize] + visitor.column[k as usize];
        out.select_nth_unstable_by(NEAR, |&k, &l| similarity(l).total_cmp(&similarity(k)).then(k.cmp(&l)));
        out.truncate(NEAR);
        out.sort_unstable();
    }
    let empty = members.iter().position(|&m| m == 0).map(|k| k as u32);
    for &k in visitor.from.prototypes.iter().chain(&empty) {
        if let Err(at) = out.binary_search(&k) {
            out.insert(at, k);
        }
    }
}

impl<M: PairMass> Criterion for Separable<M> {
    fn candidates(&self, visitor: &Visitor<'_>, breadth: Breadth, out: &mut Vec<u32>) {
        seen_candidates(visitor, &self.members, breadth, out);
    }

    fn add_costs(&self, visitor: &Visitor<'_>, candidates: &[u32], costs: &mut [f64], scratch: &mut Scratch) -> f64 {
        if let [only] = *visitor.from.prototypes {
            let at = candidates.binary_search(&only).unwrap_or(0);
            let before = costs[at];
            Removed::new(self, visitor, Some(only as usize)).add_costs(candidates, costs, scratch);
            return costs[at] - before;
        }
        let mut without = self.clone();
        without.take_out(visitor);
        Removed::new(&without, visitor, None).add_costs(candidates, costs, scratch);
        self.value() - without.value()
    }

    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32) {
        self.take_out(visitor);
        let b = to as usize;
        self.shift(visitor, b, visitor.mass, 1.0);
        self.shift_corner(b, b, visitor.own * visitor.mass * visitor.mass);
        self.members[b] += 1;
    }
}

/// A visitor out of its row, and what is the same for all candidates.
struct Removed<'f, 'v, M> {
    target: &'f Separable<M>,
    visitor: &'f Visitor<'v>,
    /// The prototype that the visitor was in, and whether nobody is left there.
    own: Option<(usize, bool)>,
    /// Where that stands among those that the visitor sees.
    at_own: Option<usize>,
    /// Σ r + s, and Σ (r + s)·log q.
    margin: f64,
    logs: f64,
}

impl<'f, 'v, M: PairMass> Removed<'f, 'v, M> {
    /// The visitor out of prototype `own`, where all of it is; without `own` it is out already.
    fn new(target: &'f Separable<M>, visitor: &'f Visitor<'v>, own: Option<usize>) -> Self {
        let own = own.map(|a| (a, target.members[a] == 1));
        let at_own = own.and_then(|(a, _)| visitor.seen.binary_search(&(a as u32)).ok());
        let mut removed = Self { target, visitor, own, at_own, margin: 0.0, logs: 0.0 };
        for &l in visitor.seen {
            let both = visitor.row[l as usize] + visitor.column[l as usize];
            removed.margin += both;
            removed.logs += both * removed.log_weight(l as usize);
        }
        removed
    }

    /// Adds the cost of putting the visitor into every candidate.
    fn add_costs(&self, candidates: &[u32], costs: &mut [f64], scratch: &mut Scratch) {
        let Scratch { first: rises, second: column_rises, third: entries } = scratch;
        let &Self { target, visitor, .. } = self;
        let collect = |of: &[f64], out: &mut Vec<f64>| {
            out.clear();
            out.extend(visitor.seen.iter().map(|&l| visitor.mass * of[l as usize]));
        };
        collect(visitor.row, rises);
        if !target.symmetric {
            collect(visitor.column, column_rises);
        }
        vectorized(
            #[inline(always)]
            || {
                for (&b, cost) in candidates.iter().zip(costs.iter_mut()) {
                    let b = b as usize;
                    let mut by_lines = self.rise(b, Side::Direct, rises, entries);
                    by_lines += match target.symmetric {
                        true => by_lines,
                        false => self.rise(b, Side::Transposed, column_rises, entries),
                    };
                    *cost += target.factor * (self.rest(b) - by_lines);
                }
            },
        );
    }

    /// log q of a prototype without the visitor.
    #[inline(always)]
    fn log_weight(&self, k: usize) -> f64 {
        match self.own {
            Some((a, _)) if a == k => log_weight(self.weight(k)),
            _ => self.target.logs[k],
        }
    }

    /// q of a prototype without the visitor.
    #[inline(always)]
    fn weight(&self, k: usize) -> f64 {
        match self.own {
            Some((a, is_empty)) if a == k => {
                if is_empty {
                    0.0
                } else {
                    self.target.weights[k] - self.visitor.mass
                }
            }
            _ => self.target.weights[k],
        }
    }

    /// Σ of what φ rises by over entries of row (or column) b of M, but for the corner.
    #[inline(always)]
    fn rise(&self, b: usize, side: Side, rises: &[f64], entries: &mut Vec<f64>) -> f64 {
        let Self { target, visitor, .. } = self;
        target.mass.read(b, side, visitor.seen, entries);
        let h = visitor.mass;
        match (self.own, self.at_own) {
            (Some((a, true)), _) if a == b => entries.fill(0.0),
            (Some((a, false)), _) if a == b => entries.iter_mut().zip(rises).for_each(|(m, dm)| *m -= dm),
            (Some((_, true)), Some(at)) => entries[at] = 0.0,
            (Some((_, false)), Some(at)) => {
                entries[at] -= h * if side == Side::Direct { visitor.column[b] } else { visitor.row[b] };
            }
            _ => {}
        }
        // The corner is counted by itself.
        let corner = visitor.seen.binary_search(&(b as u32)).ok();
        for (m, dm) in entries.iter_mut().zip(rises) {
            *m = x_log_x(*m + dm) - x_log_x(*m);
        }
        if let Some(corner) = corner {
            entries[corner] = 0.0;
        }
        entries.iter().sum()
    }

    /// What the corner and the margins change by.
    #[inline(always)]
    fn rest(&self, b: usize) -> f64 {
        let Self { target, visitor, margin, logs, .. } = self;
        let (h, both) = (visitor.mass, visitor.row[b] + visitor.column[b]);
        let own = h * visitor.own;
        let (mut corner, mut margin_b) = (target.mass.corner(b), target.margins[b]);
        match self.own {
            Some((a, true)) if a == b => (corner, margin_b) = (0.0, 0.0),
            Some((a, false)) if a == b => {
                corner -= h * (both + own);
                margin_b -= h * (margin + both + 2.0 * own);
            }
            Some(_) => margin_b -= h * both,
            None => {}
        }
        let (q, before) = (self.weight(b), self.log_weight(b));
        let after = ln(q + h);
        // Σ μ·log q: the margins of the others rise by h·(r + s), that of b by all of it and its own.
        let rise = h * (margin + both + 2.0 * own);
        x_log_x(corner) - x_log_x(corner + h * (both + own)) + h * (logs - both * before) + (margin_b + rise) * after
            - margin_b * before
            + h * margin
            + h * own
    }
}
