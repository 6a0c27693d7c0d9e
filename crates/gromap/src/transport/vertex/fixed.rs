//! The cost of moves for a fixed target, E = qᵀ f2 q − ⟨M, g⟩ + linear.
//!
//! Putting a sample of mass h into b, once it is out of its row:
//!
//! ```text
//! h·(y_b − r·g[b,·] − s·g[·,b]) + h²·(f2[b,b] − C_X[i,i]·g[b,b]) + h·linear,   y = (f2 + f2ᵀ) q
//! ```
//!
//! y is the gradient of the repulsion; it alone has to follow the moves. All n prototypes are candidates:
//! each prototype with a non-zero product subtracts one row of g, a contiguous vector, from the costs.

use super::{Criterion, Visitor};
use crate::numeric::Matrix;
use crate::transport::TransportProblem;

pub(crate) struct FixedTarget<'a> {
    problem: &'a TransportProblem<'a>,
    /// f2 + f2ᵀ.
    symmetric_repulsion: Matrix<'static>,
    /// y = (f2 + f2ᵀ)·q.
    repulsion_gradient: Vec<f64>,
    /// Feature costs of the visitor.
    linear: Vec<f64>,
}

impl<'a> FixedTarget<'a> {
    pub(crate) fn new(problem: &'a TransportProblem<'a>, q: &[f64]) -> Self {
        let (f2, n) = (&problem.repulsion, problem.prototypes());
        Self {
            problem,
            symmetric_repulsion: Matrix::from_fn(n, n, |k, l| f2[(k, l)] + f2[(l, k)]),
            repulsion_gradient: problem.repulsion_gradient(q),
            linear: vec![0.0; n],
        }
    }

    /// Adds mass to q_k.
    fn add_mass(&mut self, k: usize, mass: f64) {
        self.repulsion_gradient.iter_mut().zip(self.symmetric_repulsion.row(k)).for_each(|(y, c)| *y += mass * c);
    }

    /// Cost of putting back a row shared by several prototypes: the same quadratic, off the vertices.
    fn cost_of_row(&self, visitor: &Visitor<'_>, costs: &[f64]) -> f64 {
        let (f2, g, h) = (&self.problem.repulsion, &self.problem.attraction, visitor.mass);
        let corner = |k: usize, l: usize| f2[(k, l)] - visitor.own * g[(k, l)];
        // costs[k] = h·derivative_k + h²·corner(k,k); the row t costs t·derivative + tᵀ·corner·t.
        let derivative = |k: usize| (costs[k] - h * h * corner(k, k)) / h;
        let linear: f64 = visitor.from.iter().map(|(k, t)| t * derivative(k)).sum();
        let pairs = visitor.from.iter().flat_map(|(k, t)| visitor.from.iter().map(move |(l, u)| (k, l, t * u)));
        linear + pairs.map(|(k, l, tu)| tu * corner(k, l)).sum::<f64>()
    }
}

impl Criterion for FixedTarget<'_> {
    fn take_out(&mut self, visitor: &Visitor<'_>, costs: &mut [f64]) -> f64 {
        let (f2, g, h) = (&self.problem.repulsion, &self.problem.attraction, visitor.mass);
        for (k, mass) in visitor.from.iter() {
            self.add_mass(k, -mass);
        }
        costs.copy_from_slice(&self.repulsion_gradient);
        let symmetric = self.problem.similarity.is_symmetric();
        for &l in visitor.seen {
            let l = l as usize;
            costs
                .iter_mut()
                .zip(self.problem.direct_attraction.row(l))
                .for_each(|(cost, g)| *cost -= visitor.row[l] * g);
            if !symmetric {
                costs.iter_mut().zip(g.row(l)).for_each(|(cost, g)| *cost -= visitor.column[l] * g);
            }
        }
        for (k, cost) in costs.iter_mut().enumerate() {
            *cost = h * *cost + h * h * (f2[(k, k)] - visitor.own * g[(k, k)]);
        }
        if let Some(features) = &self.problem.features {
            features.rows(visitor.sample..visitor.sample + 1, &mut self.linear);
            costs.iter_mut().zip(&self.linear).for_each(|(cost, linear)| *cost += h * linear);
        }
        match visitor.from.prototypes {
            [only] => costs[*only as usize],
            _ if h == 0.0 => 0.0,
            _ => self.cost_of_row(visitor, costs),
        }
    }

    fn put_into(&mut self, visitor: &Visitor<'_>, to: u32) {
        self.add_mass(to as usize, visitor.mass);
    }

    fn put_back(&mut self, visitor: &Visitor<'_>) {
        for (k, mass) in visitor.from.iter() {
            self.add_mass(k, mass);
        }
    }
}
