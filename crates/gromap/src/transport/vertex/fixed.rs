//! The cost of moves for a fixed target, E = qᵀ f2 q − ⟨M, g⟩ + linear.
//!
//! Putting a sample of mass h into b, once it is out of its row:
//!
//! ```text
//! h·(y_b − r·g[b,·] − s·g[·,b]) + h²·(f2[b,b] − C_X[i,i]·g[b,b]) + h·linear,   y = (f2 + f2ᵀ) q
//! ```
//!
//! y is the gradient of the repulsion; it alone has to follow the moves. By itself it has all n prototypes as candidates:
//! each prototype with a non-zero product then subtracts one row of g, a contiguous vector, from the costs.

use super::{Breadth, Criterion, Scratch, Visitor};
use crate::numeric::Matrix;
use crate::numeric::vector::vectorized;
use crate::transport::TransportProblem;

pub(crate) struct FixedTarget<'a> {
    problem: &'a TransportProblem<'a>,
    /// f2 + f2ᵀ.
    symmetric_repulsion: Matrix<'static>,
    /// y = (f2 + f2ᵀ)·q.
    repulsion_gradient: Vec<f64>,
}

impl<'a> FixedTarget<'a> {
    pub(crate) fn new(problem: &'a TransportProblem<'a>, q: &[f64]) -> Self {
        let (f2, n) = (&problem.repulsion, problem.prototypes());
        Self {
            problem,
            symmetric_repulsion: Matrix::from_fn(n, n, |k, l| f2[(k, l)] + f2[(l, k)]),
            repulsion_gradient: problem.repulsion_gradient(q),
        }
    }

    /// Adds mass to q_k.
    fn add_mass(&mut self, k: usize, mass: f64) {
        self.repulsion_gradient.iter_mut().zip(self.symmetric_repulsion.row(k)).for_each(|(y, c)| *y += mass * c);
    }

    /// ∂E/∂T at the visitor's row once it is out, for every candidate, but for the features.
    fn derivatives(&self, visitor: &Visitor<'_>, candidates: &[u32], out: &mut Vec<f64>) {
        let of_candidates = |values: &[f64], out: &mut Vec<f64>| match candidates.len() == values.len() {
            true => out.extend_from_slice(values),
            false => out.extend(candidates.iter().map(|&k| values[k as usize])),
        };
        out.clear();
        of_candidates(&self.repulsion_gradient, out);
        for (k, mass) in visitor.from.iter() {
            add_row(out, candidates, -mass, self.symmetric_repulsion.row(k));
        }
        let symmetric = self.problem.similarity.is_symmetric();
        for &l in visitor.seen {
            let l = l as usize;
            add_row(out, candidates, -visitor.row[l], self.problem.direct_attraction.row(l));
            if !symmetric {
                add_row(out, candidates, -visitor.column[l], self.problem.attraction.row(l));
            }
        }
    }

    /// f2 − C_X[i,i]·g, what a pair of shares of the visitor adds.
    fn corner(&self, visitor: &Visitor<'_>, k: usize, l: usize) -> f64 {
        self.problem.repulsion[(k, l)] - visitor.own * self.problem.attraction[(k, l)]
    }
}

/// Adds a factor times a row of an n×n matrix, at the candidates.
#[inline]
fn add_row(out: &mut [f64], candidates: &[u32], factor: f64, row: &[f64]) {
    vectorized(
        #[inline(always)]
        || match candidates.len() == row.len() {
            true => out.iter_mut().zip(row).for_each(|(out, value)| *out += factor * value),
            false => out.iter_mut().zip(candidates).for_each(|(out, &k)| *out += factor * row[k as usize]),
        },
    );
}

impl Criterion for FixedTarget<'_> {
    fn candidates(&self, _: &Visitor<'_>, _: Breadth, out: &mut Vec<u32>) {
        out.clear();
        out.extend(0..self.problem.prototypes() as u32);
    }

    fn add_costs(&self, visitor: &Visitor<'_>, candidates: &[u32], costs: &mut [f64], scratch: &mut Scratch) -> f64 {
        let h = visitor.mass;
        let Scratch { first: derivatives, second: linear, .. } = scratch;
        self.derivatives(visitor, candidates, derivatives);
        if let Some(features) = &self.problem.features {
            linear.clear();
            linear.resize(self.problem.prototypes(), 0.0);
            features.rows(visitor.sample..visitor.sample + 1, linear);
            derivatives.iter_mut().zip(candidates).for_each(|(derivative, &k)| *derivative += linear[k as usize]);
        }
        // The row t costs t·derivative + tᵀ·corner·t, off the vertices too.
        let mut stay = 0.0;
        for ((cost, &derivative), &k) in costs.iter_mut().zip(&*derivatives).zip(candidates) {
            *cost += h * derivative + h * h * self.corner(visitor, k as usize, k as usize);
        }
        for (k, t) in visitor.from.iter() {
            if let Ok(at) = candidates.binary_search(&(k as u32)) {
                stay += t * derivatives[at];
            }
            stay += visitor.from.iter().map(|(l, u)| t * u * self.corner(visitor, k, l)).sum::<f64>();
        }
        stay
    }

    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32) {
        for (k, mass) in visitor.from.iter() {
            self.add_mass(k, -mass);
        }
        self.add_mass(to as usize, visitor.mass);
    }
}
