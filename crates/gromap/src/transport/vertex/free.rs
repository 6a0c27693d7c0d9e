//! The cost of moves for a free target: after every move the target is the best there is.
//!
//! With M = Σ λ·M_s and Q = Σ λ·q_s q_sᵀ over the inputs, the best target M ⊘ Q leaves the loss
//! Σ ψ(M, Q), ψ(m, p) = min over b of p·f2(b) − m·g(b). For KL and one input Q = qqᵀ separates, and far less has to be
//! looked at (`separable.rs`) than in general (`by_rows.rs`).
//!
//! Candidates are the prototypes that the sample sees, where it comes from, and one that is empty.

use super::by_rows::ByRows;
use super::separable::Separable;
use super::{Breadth, Criterion, FeatureTerm, Scratch, Visitor};
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::plan::Plan;
use crate::similarity::Similarity;
use crate::transport::{FreePart, PlanSummary};

/// The structural term, and the features if they count.
pub(crate) struct FreeTarget<'a> {
    structure: Structure,
    features: Option<FeatureTerm<'a>>,
}

enum Structure {
    Separable(Separable<Matrix<'static>>),
    ByRows(ByRows),
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
        self.factor * self.loss.sum_at_best_target(&mass, &pairs)
    }

    /// The best target, M ⊘ Q; zero where a prototype is not used.
    pub(crate) fn best_target(&self) -> Matrix<'static> {
        let (mass, pairs) = self.totals();
        let entry = |k, l| if pairs[(k, l)] > 0.0 { mass[(k, l)] / pairs[(k, l)] } else { 0.0 };
        Matrix::from_fn(self.members.len(), self.members.len(), entry)
    }
}

impl<'a> FreeTarget<'a> {
    /// The criterion for visitors of one input.
    pub(crate) fn new(summary: &FreeSummary<'_>, input: usize, features: Option<FeatureTerm<'a>>) -> Self {
        let (share, own) = summary.inputs[input];
        let (weights, members) = (own.weights.clone(), summary.members.clone());
        let structure = if summary.loss == Loss::Kl && summary.inputs.len() == 1 && share == 1.0 {
            let mass = own.mass.clone();
            Structure::Separable(Separable::new(summary.factor, summary.symmetric, mass, weights, members))
        } else {
            let (mass, pairs) = summary.totals();
            let &FreeSummary { loss, factor, symmetric, .. } = summary;
            Structure::ByRows(ByRows { loss, factor, share, symmetric, mass, pairs, weights, members })
        };
        Self { structure, features }
    }

    /// The criterion of a part of a problem whose target is free.
    pub(super) fn of_part(part: FreePart, similarity: &dyn Similarity, plan: &Plan, summary: &PlanSummary) -> Self {
        let (loss, factor, symmetric) = (part.loss, part.factor(), similarity.is_symmetric());
        let members = plan.members();
        Self::new(&FreeSummary { loss, factor, symmetric, inputs: vec![(1.0, summary)], members }, 0, None)
    }
}

impl Criterion for FreeTarget<'_> {
    fn candidates(&self, visitor: &Visitor<'_>, breadth: Breadth, out: &mut Vec<u32>) {
        match &self.structure {
            Structure::Separable(structure) => structure.candidates(visitor, breadth, out),
            Structure::ByRows(structure) => structure.candidates(visitor, breadth, out),
        }
    }

    fn add_costs(&self, visitor: &Visitor<'_>, candidates: &[u32], costs: &mut [f64], scratch: &mut Scratch) -> f64 {
        let (stay, members) = match &self.structure {
            Structure::Separable(s) => (s.add_costs(visitor, candidates, costs, scratch), s.members()),
            Structure::ByRows(s) => (s.add_costs(visitor, candidates, costs, scratch), &s.members[..]),
        };
        let is_empty = |k: usize| is_empty_without(visitor, members, k);
        stay + self.features.as_ref().map_or(0.0, |term| term.add_costs(visitor, is_empty, candidates, costs))
    }

    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32) {
        match &mut self.structure {
            Structure::Separable(structure) => structure.put_into(visitor, to),
            Structure::ByRows(structure) => structure.put_into(visitor, to),
        }
        if let Some(features) = &mut self.features {
            features.put_into(visitor, to);
        }
    }
}

/// Whether a prototype has no member but the visitor.
pub(super) fn is_empty_without(visitor: &Visitor<'_>, members: &[u32], k: usize) -> bool {
    members[k] == u32::from(visitor.from.prototypes.contains(&(k as u32)))
}
