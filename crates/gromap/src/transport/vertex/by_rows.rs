//! The cost of moves for a free target in general: putting a sample into b changes row and column b of M and of Q, so that
//! its cost is a sum over one row and one column of ψ.

use super::free::is_empty_without;
use super::separable::seen_candidates;
use super::{Breadth, Criterion, Scratch, Visitor};
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::similarity::Side;

/// M, Q, and what they are made of.
#[derive(Clone)]
pub(super) struct ByRows {
    pub(super) loss: Loss,
    /// α, the weight of the structural term.
    pub(super) factor: f64,
    /// λ, the weight of the visitors' input.
    pub(super) share: f64,
    pub(super) symmetric: bool,
    pub(super) mass: Matrix<'static>,
    pub(super) pairs: Matrix<'static>,
    /// q of the visitors' input.
    pub(super) weights: Vec<f64>,
    /// Entries of the plans in each prototype, over all inputs: zero is empty, whatever rounding says.
    pub(super) members: Vec<u32>,
}

impl ByRows {
    fn value(&self) -> f64 {
        self.factor * self.loss.sum_at_best_target(&self.mass, &self.pairs)
    }

    /// Adds (or, with `sign` −1, takes away) a share t of the visitor at prototype k.
    fn shift(&mut self, visitor: &Visitor<'_>, k: usize, t: f64, sign: f64) {
        let step = sign * self.share * t;
        for &l in visitor.seen {
            let l = l as usize;
            self.mass[(k, l)] += step * visitor.row[l];
            self.mass[(l, k)] += step * visitor.column[l];
        }
        let own = self.weights[k];
        for l in (0..self.weights.len()).filter(|&l| l != k) {
            let change = step * self.weights[l];
            self.pairs[(k, l)] += change;
            self.pairs[(l, k)] += change;
        }
        self.pairs[(k, k)] += self.share * ((own + sign * t).powi(2) - own.powi(2));
        self.weights[k] += sign * t;
    }

    /// Takes the visitor out of its row.
    fn take_out(&mut self, visitor: &Visitor<'_>) {
        let own = self.share * visitor.own;
        for (k, t) in visitor.from.iter() {
            self.shift(visitor, k, t, -1.0);
            visitor.from.iter().for_each(|(l, u)| self.mass[(k, l)] -= own * t * u);
            self.members[k] -= 1;
        }
        for (k, _) in visitor.from.iter().filter(|&(k, _)| self.members[k] == 0) {
            // A prototype that lost its last entry is empty to the bit.
            self.weights[k] = 0.0;
            for l in 0..self.weights.len() {
                (self.mass[(k, l)], self.mass[(l, k)]) = (0.0, 0.0);
                (self.pairs[(k, l)], self.pairs[(l, k)]) = (0.0, 0.0);
            }
        }
    }
}

impl Criterion for ByRows {
    fn candidates(&self, visitor: &Visitor<'_>, breadth: Breadth, out: &mut Vec<u32>) {
        seen_candidates(visitor, &self.members, breadth, out);
    }

    fn add_costs(&self, visitor: &Visitor<'_>, candidates: &[u32], costs: &mut [f64], scratch: &mut Scratch) -> f64 {
        if let [only] = *visitor.from.prototypes {
            let at = candidates.binary_search(&only).unwrap_or(0);
            let before = costs[at];
            Removed { target: self, visitor, own: Some(only as usize) }.add_costs(candidates, costs, scratch);
            return costs[at] - before;
        }
        let mut without = self.clone();
        without.take_out(visitor);
        Removed { target: &without, visitor, own: None }.add_costs(candidates, costs, scratch);
        self.value() - without.value()
    }

    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32) {
        self.take_out(visitor);
        let b = to as usize;
        self.shift(visitor, b, visitor.mass, 1.0);
        self.mass[(b, b)] += self.share * visitor.own * visitor.mass * visitor.mass;
        self.members[b] += 1;
    }
}

/// A visitor out of its row: out of prototype `own`, where all of it is, or, without `own`, already.
struct Removed<'f, 'v> {
    target: &'f ByRows,
    visitor: &'f Visitor<'v>,
    own: Option<usize>,
}

impl Removed<'_, '_> {
    /// Adds the cost of putting the visitor into every candidate.
    fn add_costs(&self, candidates: &[u32], costs: &mut [f64], scratch: &mut Scratch) {
        let cost = |b: usize, scratch: &mut Scratch| match self.target.loss {
            Loss::Square => self.cost(b, scratch, |m, p| if p > 0.0 { -m * m / p } else { 0.0 }),
            loss => self.cost(b, scratch, |m, p| loss.at_best_target(m, p)),
        };
        for (&b, out) in candidates.iter().zip(costs) {
            *out += self.target.factor * cost(b as usize, scratch);
        }
    }

    /// Row b of M and of Q (or column b) without the visitor.
    fn line(&self, b: usize, side: Side, mass: &mut Vec<f64>, pairs: &mut Vec<f64>) {
        let Self { target, visitor, own } = self;
        let n = target.weights.len();
        mass.clear();
        match side {
            Side::Direct => mass.extend_from_slice(target.mass.row(b)),
            Side::Transposed => mass.extend((0..n).map(|l| target.mass[(l, b)])),
        }
        pairs.clear();
        pairs.extend_from_slice(target.pairs.row(b));
        let Some(a) = *own else { return };
        let (along, across) = match side {
            Side::Direct => (visitor.row, visitor.column),
            Side::Transposed => (visitor.column, visitor.row),
        };
        let step = target.share * visitor.mass;
        if is_empty_without(visitor, &target.members, a) {
            if a == b {
                mass.fill(0.0);
                pairs.fill(0.0);
            }
            (mass[a], pairs[a]) = (0.0, 0.0);
        } else if a == b {
            mass.iter_mut().zip(along).for_each(|(m, r)| *m -= step * r);
            pairs.iter_mut().zip(&target.weights).for_each(|(p, q)| *p -= step * q);
            mass[a] -= step * (across[a] + visitor.mass * visitor.own);
            pairs[a] -= step * (target.weights[a] - visitor.mass);
        } else {
            mass[a] -= step * across[b];
            pairs[a] -= step * target.weights[b];
        }
    }

    /// q of the visitor's input without the visitor.
    fn weight(&self, l: usize) -> f64 {
        let q = self.target.weights[l];
        match self.own {
            Some(a) if a == l && is_empty_without(self.visitor, &self.target.members, a) => 0.0,
            Some(a) if a == l => q - self.visitor.mass,
            _ => q,
        }
    }

    /// What putting the visitor whole into b changes in Σ ψ.
    fn cost(&self, b: usize, scratch: &mut Scratch, psi: impl Fn(f64, f64) -> f64) -> f64 {
        let Self { target, visitor, .. } = self;
        let step = target.share * visitor.mass;
        let change = |m: f64, p: f64, dm: f64, dp: f64| psi(m + dm, p + dp) - psi(m, p);
        let Scratch { first: mass, second: pairs, .. } = scratch;
        self.line(b, Side::Direct, mass, pairs);
        let corner = (mass[b], pairs[b]);
        let of_line = |mass: &[f64], pairs: &[f64], products: &[f64]| -> f64 {
            let rest = |l: usize| change(mass[l], pairs[l], step * products[l], step * self.weight(l));
            (0..mass.len()).filter(|&l| l != b).map(rest).sum()
        };
        let mut total = of_line(mass, pairs, visitor.row);
        if target.symmetric {
            total *= 2.0;
        } else {
            self.line(b, Side::Transposed, mass, pairs);
            total += of_line(mass, pairs, visitor.column);
        }
        let rise = step * (visitor.row[b] + visitor.column[b] + visitor.mass * visitor.own);
        total + change(corner.0, corner.1, rise, step * (2.0 * self.weight(b) + visitor.mass))
    }
}
