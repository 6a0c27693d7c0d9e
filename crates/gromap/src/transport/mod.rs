//! The transport side: the best plan T for a given target C̄ (n×n).
//!
//! ```text
//! E(T) = α·( Σ f1(C_X)·h·h + qᵀ f2(C̄) q − ⟨M, g(C̄)⟩ ) + (1−α)·Σ ‖x_i − f_k‖²·T[i,k]
//!                constant       repulsion    attraction          features
//! M = Tᵀ C_X T,  q = Tᵀ1
//! ```
//!
//! A [`TransportProblem`] holds what is fixed, a [`TransportState`] the plan and everything that
//! follows from it. A [`PlanStep`] is one step of mathematics from one state to a lower one; looping
//! and stopping are the driver's (`observe.rs`).

pub(crate) mod balanced;
mod balanced_gradient;
mod conditional_gradient;
mod feature_cost;
mod mirror_descent;
#[cfg(test)]
mod tests;
pub(crate) mod vertex;

pub(crate) use self::balanced_gradient::{BalancedGradient, made_feasible};
pub(crate) use self::conditional_gradient::ConditionalGradient;
pub(crate) use self::feature_cost::{FeatureCost, square};
pub(crate) use self::mirror_descent::MirrorDescent;
pub(crate) use self::vertex::VertexDescent;

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::blocks::blocks;
use crate::plan::{Plan, PlanRow};
use crate::similarity::{Side, Similarity, Sketch};

/// The waist of the method: all that the embedding side ever sees of the data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlanSummary {
    /// M = Tᵀ C_X T, n×n.
    pub mass: Matrix<'static>,
    /// q = Tᵀ1.
    pub weights: Vec<f64>,
}

impl PlanSummary {
    /// Sums up a plan whose products are known.
    pub(crate) fn new(plan: &Plan, products: &Products<'_>) -> Self {
        Self { mass: products.direct.plan_mass(plan), weights: plan.weights() }
    }
}

/// A similarity, a target and a loss: everything but the plan.
pub(crate) struct TransportProblem<'a> {
    pub(crate) similarity: &'a dyn Similarity,
    /// α·f2(C̄): the repulsion is qᵀ f2 q.
    pub(crate) repulsion: Matrix<'static>,
    /// α·g(C̄): the attraction is ⟨M, g⟩.
    pub(crate) attraction: Matrix<'static>,
    /// What (C T)[i, l] takes from the gradient, by rows l: α·g(C̄)ᵀ, and α·g(C̄) with it where C is
    /// symmetric, so that one product serves both sides.
    pub(crate) direct_attraction: Matrix<'static>,
    /// α·Σ f1·h·h, or 0 where it is not known.
    constant: f64,
    pub(crate) features: Option<FeatureCost<'a>>,
    /// The part of the objective whose target is free, if there is one.
    pub(crate) free: Option<FreePart>,
}

/// A share of the structural term whose target follows the plan: at every plan it is the best there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FreePart {
    pub(crate) loss: Loss,
    /// c of c·C_X.
    pub(crate) scale: f64,
    pub(crate) share: f64,
}

impl FreePart {
    /// What changes of the loss of C_X itself are multiplied with: ψ(c·m, p) = c·ψ(m, p) − c·m·log c for KL, and the sum of
    /// all m is the same for every plan.
    pub(crate) fn factor(self) -> f64 {
        self.share * if self.loss == Loss::Square { self.scale * self.scale } else { self.scale }
    }

    fn value(self, summary: &PlanSummary) -> f64 {
        let q = &summary.weights;
        let at_best = |k: usize, l: usize| self.loss.at_best_target(self.scale * summary.mass[(k, l)], q[k] * q[l]);
        let row = |k: usize| (0..q.len()).map(|l| at_best(k, l)).sum::<f64>();
        self.share * (0..q.len()).map(row).sum::<f64>()
    }
}

impl<'a> TransportProblem<'a> {
    /// The structural part of a problem, weighted by `alpha`; `constant` is Σ f1·h·h.
    pub(crate) fn new(
        similarity: &'a dyn Similarity,
        target: &Matrix<'_>,
        loss: Loss,
        alpha: f64,
        constant: f64,
    ) -> Self {
        Self::scaled(similarity, 1.0, target, loss, alpha, constant)
    }

    /// The same for `scale` times the similarity.
    pub(crate) fn scaled(
        similarity: &'a dyn Similarity,
        scale: f64,
        target: &Matrix<'_>,
        loss: Loss,
        alpha: f64,
        constant: f64,
    ) -> Self {
        let map =
            |f: &dyn Fn(f64) -> f64| Matrix::from_fn(target.rows(), target.columns(), |k, l| alpha * f(target[(k, l)]));
        let attraction = map(&|b| scale * loss.g(b));
        let mut direct_attraction = attraction.transposed();
        if similarity.is_symmetric() {
            direct_attraction.values_mut().iter_mut().zip(attraction.values()).for_each(|(direct, g)| *direct += g);
        }
        Self {
            similarity,
            repulsion: map(&|b| loss.f2(b)),
            attraction,
            direct_attraction,
            constant: alpha * constant,
            features: None,
            free: None,
        }
    }

    /// Adds a part whose target is free, and its share of Σ f1·h·h.
    pub(crate) fn with_free_part(mut self, free: FreePart, constant: f64) -> Self {
        self.constant += free.share * constant;
        self.free = Some(free).filter(|free| free.share > 0.0);
        self
    }

    /// The sum of the structural parts of two problems on the same similarity; features are this one's.
    pub(crate) fn plus(mut self, other: &Self) -> Self {
        let add = |to: &mut Matrix<'_>, from: &Matrix<'_>| {
            to.values_mut().iter_mut().zip(from.values()).for_each(|(to, from)| *to += from);
        };
        add(&mut self.repulsion, &other.repulsion);
        add(&mut self.attraction, &other.attraction);
        add(&mut self.direct_attraction, &other.direct_attraction);
        self.constant += other.constant;
        self
    }

    /// Adds the linear term of the fused objective.
    pub(crate) fn with_features(mut self, features: Option<FeatureCost<'a>>) -> Self {
        self.features = features;
        self
    }

    /// Number of prototypes n.
    pub(crate) fn prototypes(&self) -> usize {
        self.repulsion.rows()
    }

    /// E of a plan with this summary and this linear cost.
    pub(crate) fn value(&self, summary: &PlanSummary, linear: f64) -> f64 {
        let q = &summary.weights;
        let free = self.free.map_or(0.0, |free| free.value(summary));
        self.constant + quadratic_form(q, &self.repulsion, q) - inner(&summary.mass, &self.attraction) + free + linear
    }

    /// The rows of ∂E/∂T, up to a constant in each row, for a block of samples.
    pub(crate) fn gradient_rows(&self, state: &TransportState<'_>, rows: Range<usize>) -> GradientRows {
        crate::interrupt::look();
        let (count, n) = (rows.len(), self.prototypes());
        let products = ProductRows::of(&state.products, rows.clone(), n);
        let mut gradient = vec![0.0; count * n];
        let mut linear = Vec::new();
        if let Some(features) = &self.features {
            linear = vec![0.0; count * n];
            features.rows(rows, &mut linear);
            gradient.copy_from_slice(&linear);
        }
        for row in gradient.chunks_exact_mut(n) {
            row.iter_mut().zip(&state.repulsion_gradient).for_each(|(g, r)| *g += r);
        }
        let mut subtract = |product: &[f64], attraction: MatRef<'_, f64>| {
            matmul(
                MatMut::from_row_major_slice_mut(&mut gradient, count, n),
                Accum::Add,
                MatRef::from_row_major_slice(product, count, n),
                attraction,
                -1.0,
                Par::Seq,
            );
        };
        // Σ_l (C T)[i,l]·g[k,l] + Σ_l (Cᵀ T)[i,l]·g[l,k]
        subtract(&products.direct, self.direct_attraction.as_faer());
        if let Some(transposed) = &products.other {
            subtract(transposed, self.attraction.as_faer());
        }
        GradientRows { gradient, linear, products }
    }

    /// α·(g + gᵀ): what r_l = (C T)[i, l] takes from the gradient of a sample whose similarity to every other is the
    /// same in both directions, by rows l.
    pub(crate) fn symmetric_attraction(&self) -> Matrix<'static> {
        let n = self.prototypes();
        Matrix::from_fn(n, n, |l, k| self.attraction[(l, k)] + self.attraction[(k, l)])
    }

    /// (f2 + f2ᵀ)·q, the gradient of the repulsion qᵀ f2 q, which is the same for all samples.
    pub(crate) fn repulsion_gradient(&self, q: &[f64]) -> Vec<f64> {
        (0..self.prototypes())
            .map(|k| (0..q.len()).map(|l| (self.repulsion[(k, l)] + self.repulsion[(l, k)]) * q[l]).sum())
            .collect()
    }
}

/// A block of rows of the gradient and what it was made from.
pub(crate) struct GradientRows {
    pub(crate) gradient: Vec<f64>,
    /// The feature costs of the block; empty if there are none.
    pub(crate) linear: Vec<f64>,
    pub(crate) products: ProductRows,
}

/// A block of rows of C·T and Cᵀ·T; the latter only if it differs.
pub(crate) struct ProductRows {
    pub(crate) direct: Vec<f64>,
    other: Option<Vec<f64>>,
}

impl ProductRows {
    fn of(products: &Products<'_>, rows: Range<usize>, n: usize) -> Self {
        let product = |sketch: &dyn Sketch| {
            let mut out = vec![0.0; rows.len() * n];
            sketch.product_rows(rows.clone(), &mut out);
            out
        };
        Self { direct: product(&*products.direct), other: products.transposed.as_deref().map(product) }
    }

    pub(crate) fn transposed(&self) -> &[f64] {
        self.other.as_ref().unwrap_or(&self.direct)
    }
}

/// C·T, and Cᵀ·T if that is something else.
pub(crate) struct Products<'s> {
    pub(crate) similarity: &'s dyn Similarity,
    pub(crate) direct: Box<dyn Sketch + 's>,
    pub(crate) transposed: Option<Box<dyn Sketch + 's>>,
}

impl<'s> Products<'s> {
    /// Multiplies the similarity by a plan.
    pub(crate) fn new(similarity: &'s dyn Similarity, plan: &Plan) -> Self {
        let transposed = (!similarity.is_symmetric()).then(|| similarity.sketch(plan, Side::Transposed));
        Self { similarity, direct: similarity.sketch(plan, Side::Direct), transposed }
    }

    /// Follows one change of the plan: row `sample`, which was `from`, goes whole to prototype `to`.
    fn reassign(&mut self, sample: usize, from: PlanRow<'_>, to: u32) {
        self.sketches().for_each(|sketch| sketch.reassign(sample, from, to));
    }

    /// Follows a change from one hard plan to another.
    fn reassign_all(&mut self, before: &Plan, after: &[u32]) {
        self.sketches().for_each(|sketch| sketch.reassign_all(before, after));
    }

    /// (1−γ)·self + γ·other, of the same similarity.
    fn blend(&mut self, gamma: f64, other: &Self) {
        if gamma >= 1.0 {
            self.clone_from(other);
            return;
        }
        let others = std::iter::once(&other.direct).chain(&other.transposed);
        self.sketches().zip(others).for_each(|(sketch, other)| sketch.blend(gamma, &**other));
    }

    fn sketches(&mut self) -> impl Iterator<Item = &mut Box<dyn Sketch + 's>> {
        std::iter::once(&mut self.direct).chain(&mut self.transposed)
    }
}

impl Clone for Products<'_> {
    fn clone(&self) -> Self {
        let transposed = self.transposed.as_ref().map(|sketch| sketch.boxed_clone());
        Self { similarity: self.similarity, direct: self.direct.boxed_clone(), transposed }
    }
}

/// A plan and what follows from it.
#[derive(Clone)]
pub(crate) struct TransportState<'s> {
    pub(crate) plan: Plan,
    pub(crate) products: Products<'s>,
    pub(crate) summary: PlanSummary,
    /// (1−α)·Σ ‖x_i − f_k‖²·T[i,k].
    pub(crate) linear: f64,
    /// (f2 + f2ᵀ)·q.
    repulsion_gradient: Vec<f64>,
    pub(crate) loss: f64,
}

impl<'s> TransportState<'s> {
    /// A plan with its products and summary; it still has to enter a problem.
    pub(crate) fn new(plan: Plan, products: Products<'s>, summary: PlanSummary) -> Self {
        Self { plan, products, summary, linear: 0.0, repulsion_gradient: Vec::new(), loss: f64::INFINITY }
    }

    /// Multiplies the similarity of a problem by the plan, and enters it.
    pub(crate) fn of(problem: &TransportProblem<'s>, plan: Plan) -> Self {
        Self::multiplied(problem.similarity, problem, plan)
    }

    /// The state of another plan in the same problem.
    pub(crate) fn with_plan(&self, problem: &TransportProblem<'_>, plan: Plan) -> Self {
        Self::multiplied(self.products.similarity, problem, plan)
    }

    fn multiplied(similarity: &'s dyn Similarity, problem: &TransportProblem<'_>, plan: Plan) -> Self {
        let products = Products::new(similarity, &plan);
        let summary = PlanSummary::new(&plan, &products);
        let mut state = Self::new(plan, products, summary);
        state.enter(problem);
        state
    }

    /// Takes up a problem on the same similarity: another target, other prototype features.
    pub(crate) fn enter(&mut self, problem: &TransportProblem<'_>) {
        self.linear = linear_cost(problem, &self.plan);
        self.refresh(problem);
    }

    /// Recomputes what follows from summary and linear cost.
    pub(crate) fn refresh(&mut self, problem: &TransportProblem<'_>) {
        self.repulsion_gradient = problem.repulsion_gradient(&self.summary.weights);
        self.loss = problem.value(&self.summary, self.linear);
    }
}

/// (1−α)·Σ ‖x_i − f_k‖²·T\[i,k\], or 0 without features.
pub(crate) fn linear_cost(problem: &TransportProblem<'_>, plan: &Plan) -> f64 {
    let Some(features) = &problem.features else { return 0.0 };
    let partial: Vec<f64> = blocks(plan.len()).map(|rows| linear_cost_of_block(features, plan, rows)).collect();
    partial.into_iter().sum()
}

/// What a block of rows adds to ⟨feature costs, T⟩.
fn linear_cost_of_block(features: &FeatureCost<'_>, plan: &Plan, rows: Range<usize>) -> f64 {
    let n = plan.prototypes();
    let mut costs = vec![0.0; rows.len() * n];
    features.rows(rows.clone(), &mut costs);
    let of_row = |(i, costs): (usize, &[f64])| plan.row(i).iter().map(|(k, m)| m * costs[k]).sum::<f64>();
    rows.zip(costs.chunks_exact(n)).map(of_row).sum()
}

/// A learnt target with the least similarity there is where it has none. Prototypes without similarity between them may have some
/// through a sample that joins one of them, and what is compared by its logarithm is infinite there.
pub(crate) fn without_zeros(mut target: Matrix<'static>, loss: Loss) -> Matrix<'static> {
    if loss != Loss::Square {
        let least = target.values().iter().copied().filter(|entry| *entry > 0.0).fold(1.0, f64::min);
        target.values_mut().iter_mut().for_each(|entry| *entry = entry.max(least));
    }
    target
}

/// One step from a plan to a better one, on a similarity that lives for `'s`.
pub(crate) trait PlanStep<'s> {
    /// Lowers the loss and returns true, or returns false and leaves the state as it was.
    fn step(&mut self, problem: &TransportProblem<'_>, state: &mut TransportState<'s>) -> bool;

    /// What the step minimises beyond the loss of the problem.
    fn penalty(&self, _: &Plan) -> f64 {
        0.0
    }
}

/// xᵀ·A·y
pub(crate) fn quadratic_form(x: &[f64], a: &Matrix<'_>, y: &[f64]) -> f64 {
    x.iter().enumerate().map(|(k, x)| x * a.row(k).iter().zip(y).map(|(a, y)| a * y).sum::<f64>()).sum()
}

/// ⟨A, B⟩
pub(crate) fn inner(a: &Matrix<'_>, b: &Matrix<'_>) -> f64 {
    a.values().iter().zip(b.values()).map(|(a, b)| a * b).sum()
}
