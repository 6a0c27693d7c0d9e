//! The feature term with free prototype features, β·Σ λ·h_i·‖x_i − f_k‖² at its best f.
//!
//! With S_k = Σ λ·T[i,k]·x_i and w_k = Σ λ·T[i,k] the best f_k is S_k / w_k and the term is
//! β·(Σ λ·h_i·‖x_i‖² − Σ ‖S_k‖²/w_k), so a move changes two prototypes and is known from the dot
//! products x·S.

use super::Visitor;
use crate::data::Samples;
use crate::numeric::Matrix;
use crate::numeric::vector::dot;
use crate::transport::square;

#[derive(Clone)]
pub(crate) struct FeatureTerm<'a> {
    samples: &'a Samples<'a>,
    /// β, the weight of the term.
    factor: f64,
    /// λ, the weight of the visitors' input.
    share: f64,
    /// S.
    sums: Matrix<'static>,
    /// w.
    weights: Vec<f64>,
    /// ‖S_k‖².
    squares: Vec<f64>,
}

impl<'a> FeatureTerm<'a> {
    pub(crate) fn new(
        samples: &'a Samples<'a>,
        factor: f64,
        share: f64,
        sums: Matrix<'static>,
        weights: Vec<f64>,
    ) -> Self {
        let squares = (0..sums.rows()).map(|k| square(sums.row(k))).collect();
        Self { samples, factor, share, sums, weights, squares }
    }

    /// Adds the cost of putting the visitor into every candidate, and returns the cost of putting it back as it was.
    /// `is_empty` says whether a prototype has no other member.
    pub(crate) fn add_costs(
        &self,
        visitor: &Visitor<'_>,
        is_empty: impl Fn(usize) -> bool,
        candidates: &[u32],
        costs: &mut [f64],
    ) -> f64 {
        let x = self.sample(visitor);
        let x_square = square(&x);
        let mut back = 0.0;
        for (&k, cost) in candidates.iter().zip(costs) {
            let k = k as usize;
            let own: f64 = visitor.from.iter().filter(|&(l, _)| l == k).map(|(_, mass)| self.share * mass).sum();
            let (along, rest, weight) = self.without(&x, k, own, is_empty(k));
            let after = |mass: f64| (rest + 2.0 * mass * along + mass * mass * x_square) / (weight + mass);
            let before = if weight > 0.0 { rest / weight } else { 0.0 };
            *cost -= self.factor * (after(self.share * visitor.mass) - before);
            if own > 0.0 {
                back -= self.factor * (after(own) - before);
            }
        }
        back
    }

    fn sample(&self, visitor: &Visitor<'_>) -> Vec<f64> {
        let mut x = vec![0.0; self.sums.columns()];
        self.samples.copy_rows(visitor.sample..visitor.sample + 1, &mut x);
        x
    }

    /// x·S_k, ‖S_k‖² and w_k once the visitor's share `own` is out; nothing for an empty prototype.
    fn without(&self, x: &[f64], k: usize, own: f64, empty: bool) -> (f64, f64, f64) {
        let sum = self.sums.row(k);
        if empty {
            (0.0, 0.0, 0.0)
        } else if own == 0.0 {
            (dot(x, sum), self.squares[k], self.weights[k])
        } else {
            let left = || sum.iter().zip(x).map(|(s, x)| (s - own * x, x));
            let along = left().map(|(s, x)| s * x).sum();
            (along, left().map(|(s, _)| s * s).sum(), self.weights[k] - own)
        }
    }

    /// Follows a move.
    pub(crate) fn put_into(&mut self, visitor: &Visitor<'_>, to: u32) {
        let x = self.sample(visitor);
        let changes = visitor.from.iter().map(|(k, mass)| (k, -mass)).chain([(to as usize, visitor.mass)]);
        for (k, mass) in changes {
            let mass = self.share * mass;
            self.weights[k] += mass;
            self.sums.row_mut(k).iter_mut().zip(&x).for_each(|(sum, x)| *sum += mass * x);
            self.squares[k] = square(self.sums.row(k));
        }
    }
}
