//! The sum of two objectives: a move costs what it costs in both.

use super::{Breadth, Criterion, Scratch, Visitor};

/// Two objectives. Candidates are those of the second, which looks at fewer.
pub(crate) struct Both<A, B> {
    pub(crate) first: A,
    pub(crate) second: B,
}

impl<A: Criterion, B: Criterion> Criterion for Both<A, B> {
    fn candidates(&self, visitor: &Visitor<'_>, breadth: Breadth, out: &mut Vec<u32>) {
        self.second.candidates(visitor, breadth, out);
    }

    fn add_costs(&self, visitor: &Visitor<'_>, candidates: &[u32], costs: &mut [f64], scratch: &mut Scratch) -> f64 {
        self.first.add_costs(visitor, candidates, costs, scratch)
            + self.second.add_costs(visitor, candidates, costs, scratch)
    }

    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32) {
        self.first.put_into(visitor, to);
        self.second.put_into(visitor, to);
    }
}
