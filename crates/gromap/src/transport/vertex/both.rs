//! The sum of two objectives: a move costs what it costs in both.

use super::{Criterion, Visitor};

pub(super) struct Both<A, B> {
    first: A,
    second: B,
    /// Costs in the second.
    costs: Vec<f64>,
}

impl<A: Criterion, B: Criterion> Both<A, B> {
    pub(super) fn new(first: A, second: B) -> Self {
        Self { first, second, costs: Vec::new() }
    }
}

impl<A: Criterion, B: Criterion> Criterion for Both<A, B> {
    fn take_out(&mut self, visitor: &Visitor<'_>, costs: &mut [f64]) -> f64 {
        self.costs.resize(costs.len(), 0.0);
        let stay = self.first.take_out(visitor, costs) + self.second.take_out(visitor, &mut self.costs);
        costs.iter_mut().zip(&self.costs).for_each(|(cost, other)| *cost += other);
        stay
    }

    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32) {
        self.first.put_into(visitor, to);
        self.second.put_into(visitor, to);
    }

    fn put_back(&mut self, visitor: &Visitor<'_>) {
        self.first.put_back(visitor);
        self.second.put_back(visitor);
    }
}
