//! The objective E(Z): the loss as a function of the prototypes alone, with M and q fixed. Adam minimises it.
//!
//! With W_kl = w(d²_kl) for the squared distance of prototypes k and l, and s = ΣM, up to terms without Z,
//!
//! | loss, normalisation | E |
//! |---|---|
//! | KL, measure | −⟨M, log W⟩ + s·log(qᵀWq/s) + s |
//! | KL, cells | −⟨M, log W⟩ + s·log(ΣW) + qᵀWq / ΣW |
//! | KL, none | −⟨M, log W⟩ + qᵀWq |
//! | KL, doubly stochastic | −⟨M, log W⟩ + min over a > 0 of s·log(q̃ᵀWq̃/s) + s − 2·⟨m, log a⟩, q̃ = q∘a |
//! | binary cross-entropy, none | −⟨M, log W − log(1−W)⟩ − qᵀ log(1−W) q |
//! | the same as it is sampled | −⟨M, log W⟩ − m·s·qᵀ log(1−W) q |
//!
//! The doubly stochastic one is the measure normalisation with a factor of its own for every prototype. m = M·1 are the margins of M, and
//! at the best factors those of the kernel are the same (`scaling.rs`), so that its gradient is the measure's with weights q̃.
//! The last one is what UMAP minimises in expectation, which draws m pairs at random for every pair of neighbours and repels them
//! (Damrich and Hamprecht, 2021): all pairs together repel m times as much as the neighbours attract.
//!
//! Each is a function of three sums over pairs: the attraction ⟨M, a(W)⟩ (`attraction.rs`) and the repulsions qᵀ r(W) q and
//! Σ r(W) (`repulsion.rs`). Value and gradient are put together here from these sums and their gradients. Nothing of
//! size n×n is written, and at n = N, where M is as sparse as C_X, nothing of that size is read. A pass costs, for each
//! pair, a division, some 4d + 6 multiplications and, only where E itself is asked for, a logarithm or two.
//!
//! Kernels that are normalised by rows, and other pairs of loss and normalisation, go through [`PrototypeKernel`] and its n×n matrices.

use rayon::prelude::*;

use super::attraction::{self, StoredPairs};
use super::dense::DensePass;
use super::kernel::PrototypeKernel;
use super::pairs::{Coordinates, PairSum};
use super::profile::Profile;
use super::radial::{Normalization, Radial};
use super::repulsion::{Repulsion, RepulsionSums};
use super::scaling::{APPROXIMATE_TOLERANCE, OBJECTIVE_TOLERANCE, Scaling};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::vector::LANES;
use crate::similarity::{Similarity, Sparse};

/// M, and with it how the sums over pairs are computed.
#[derive(Clone)]
enum Mass<'a> {
    /// n×n, for kernels that need n×n matrices.
    Matrix(Matrix<'a>),
    /// n×n, symmetric, in rows that end in zeros up to a multiple of [`LANES`]: attraction and repulsion in one pass.
    Dense(Matrix<'a>),
    /// Sparse: attraction between the stored pairs, and a repulsion of its own.
    Sparse(StoredPairs<'a>, Repulsion),
}

/// C_Z by its factors: C_kl = f_k·w(d²_kl)·f_l.
pub(crate) struct Factored {
    /// f
    pub(crate) factors: Vec<f64>,
    /// C_Z·q
    pub(crate) sums: Vec<f64>,
    /// E
    pub(crate) value: f64,
}

/// E at some places.
struct Evaluated {
    value: f64,
    gradient: Matrix<'static>,
    /// Of every prototype the springs of attraction and repulsion, all of which count.
    stiffness: Vec<f64>,
}

/// With more prototypes than this, sums over all pairs are left to the approximation that the steps are made with.
const MOST_EXACT: usize = 20_000;

/// E(Z) for given M and q.
#[derive(Clone)]
pub(crate) struct Objective<'a> {
    kernel: Radial,
    loss: Loss,
    mass: Mass<'a>,
    /// q
    weights: &'a [f64],
    /// m = M·1, over the pairs that count.
    margins: Vec<f64>,
    /// Whether the pair of a prototype with itself counts. Not where a prototype is a single sample, and not under a loss
    /// that is infinite there.
    self_pairs: bool,
    /// What the attraction is multiplied with; 1 but for early exaggeration.
    exaggeration: f64,
    /// m, if the binary cross-entropy is minimised as it is sampled.
    negatives: Option<f64>,
    /// Whether repulsion counts as as stiff as it is strong, which no spring exceeds. Of t-SNE's maps of all samples that makes the rate of a sample the one in
    /// proportion to N which they need, whichever way the repulsion is computed: a grid knows no better, and a descent may go from it to a tree.
    is_stiff: bool,
}

impl<'a> Objective<'a> {
    /// The objective for prototypes of many samples, M of size n×n.
    pub(crate) fn new(kernel: Radial, loss: Loss, mass: &'a Matrix<'_>, weights: &'a [f64]) -> Self {
        let n = mass.rows();
        let symmetric = |k: usize, l: usize| if l < n { 0.5 * (mass[(k, l)] + mass[(l, k)]) } else { 0.0 };
        let margins = (0..n).map(|k| (0..n).map(|l| symmetric(k, l)).sum()).collect();
        let mass = match Self::is_of_pair_sums(kernel, loss) {
            true => Mass::Dense(Matrix::from_fn(n, n.next_multiple_of(LANES), symmetric)),
            false => Mass::Matrix(mass.view()),
        };
        let self_pairs = loss != Loss::BinaryCrossEntropy;
        Self { kernel, loss, mass, weights, margins, self_pairs, exaggeration: 1.0, negatives: None, is_stiff: false }
    }

    /// The objective of classical embedding: one prototype for every sample of `scale` times a symmetric similarity. The pair of a
    /// sample with itself does not count.
    pub(crate) fn of_samples(
        kernel: Radial,
        loss: Loss,
        similarity: &'a Sparse<'a, f32>,
        weights: &'a [f64],
        scale: f64,
    ) -> Self {
        let pairs = StoredPairs { similarity, weights: Some(weights), scale };
        let is_stiff = loss == Loss::Kl && kernel.profile == Profile::Student;
        Self { is_stiff, ..Self::of_pairs((kernel, loss), pairs, weights, false) }
    }

    /// The objective for many prototypes of few samples each: a symmetric M as it is, weights included, of which few entries are not zero.
    /// Under the binary cross-entropy, which is infinite there, the pair of a prototype with itself never counts.
    pub(crate) fn of_sparse(
        kernel: Radial,
        loss: Loss,
        mass: &'a Sparse<'a, f32>,
        weights: &'a [f64],
        self_pairs: bool,
    ) -> Self {
        let self_pairs = self_pairs && loss != Loss::BinaryCrossEntropy;
        Self::of_pairs((kernel, loss), StoredPairs { similarity: mass, weights: None, scale: 1.0 }, weights, self_pairs)
    }

    fn of_pairs((kernel, loss): (Radial, Loss), pairs: StoredPairs<'a>, weights: &'a [f64], self_pairs: bool) -> Self {
        let margins = (0..pairs.similarity.len()).into_par_iter().map(|k| pairs.margin(k, self_pairs)).collect();
        let repulsion = Repulsion::fastest(weights.len(), kernel, self_pairs);
        let mass = Mass::Sparse(pairs, repulsion);
        Self { kernel, loss, mass, weights, margins, self_pairs, exaggeration: 1.0, negatives: None, is_stiff: false }
    }

    /// The same, but the pair of a prototype with itself does not count.
    pub(crate) fn without_self_pairs(mut self) -> Self {
        if self.self_pairs {
            let (Mass::Matrix(mass) | Mass::Dense(mass)) = &self.mass else { return self };
            self.margins.iter_mut().enumerate().for_each(|(k, margin)| *margin -= mass[(k, k)]);
            self.self_pairs = false;
        }
        self
    }

    /// The same with early exaggeration: the attraction is multiplied with `factor`, which lets clusters form and move
    /// past each other before the objective itself is minimised.
    pub(crate) fn with_early_exaggeration(&self, factor: f64) -> Self {
        Self { exaggeration: factor, ..self.clone() }
    }

    /// The binary cross-entropy as it is sampled with so many negative pairs for every pair of neighbours. Only for an M of stored pairs.
    pub(crate) fn with_negatives(self, rate: f64) -> Self {
        Self { negatives: Some(rate), ..self }
    }

    /// Whether E is one of the table above, a function of a few sums over pairs that needs no n×n kernel.
    pub(crate) fn is_of_pair_sums(kernel: Radial, loss: Loss) -> bool {
        use Normalization::{Cells, DoublyStochastic, Measure, None};
        matches!(
            (loss, kernel.normalization),
            (Loss::Kl, None | Cells | Measure | DoublyStochastic) | (Loss::BinaryCrossEntropy, None)
        )
    }

    /// Where the factors of a doubly stochastic kernel begin.
    pub(crate) fn scaling(&self) -> Scaling {
        let has_factors = self.kernel.normalization == Normalization::DoublyStochastic;
        Scaling::new(if has_factors && Self::is_of_pair_sums(self.kernel, self.loss) { self.weights.len() } else { 0 })
    }

    /// E and ∂E/∂Z (n×d), at the best factors.
    pub(crate) fn value_and_gradient(
        &self,
        prototypes: &Matrix<'_>,
        scaling: &mut Scaling,
    ) -> Result<(f64, Matrix<'static>)> {
        if let (Some(repulsion), false) = (self.repulsion(), scaling.is_empty()) {
            let sums = |weights: &[f64]| {
                repulsion.sums::<false>(self.kernel, self.loss, &Coordinates::new(prototypes, weights)).weighted.rows
            };
            let is_approximate = matches!(repulsion, Repulsion::Approximate(_));
            let tolerance = if is_approximate { APPROXIMATE_TOLERANCE } else { OBJECTIVE_TOLERANCE };
            scaling.settle(self.weights, &self.margins, tolerance, sums);
        }
        let Evaluated { value, gradient, .. } = self.evaluate::<true>(prototypes, scaling)?;
        Ok((value, gradient))
    }

    /// C_Z as it is normalised here, for kernels that are one law on pairs and an M of stored pairs. The sums run over all pairs
    /// where that takes no longer than the steps that came before.
    pub(crate) fn factored(&self, prototypes: &Matrix<'_>, scaling: &mut Scaling) -> Result<Factored> {
        let value = self.value_and_gradient(prototypes, scaling)?.0;
        let weights = scaling.times(self.weights);
        let coordinates = Coordinates::new(prototypes, &weights);
        let is_small = self.weights.len() <= MOST_EXACT;
        let repulsion = self.repulsion().filter(|_| !is_small).unwrap_or(Repulsion::exact(self.self_pairs));
        let sums = repulsion.sums::<false>(self.kernel, self.loss, &coordinates).weighted;
        let whole = self.margins.iter().sum::<f64>() / sums.value();
        let factors = scaling.times(&vec![whole.sqrt(); weights.len()]);
        // q̃_k·(W·q̃)_k, by q_k; where nobody is, by the definition.
        let alone = |k: usize| {
            let square = |l: usize| coordinates.squared_distance(k, l);
            (0..weights.len()).map(|l| weights[l] * self.kernel.profile.at(square(l)).w).sum::<f64>()
        };
        let sum = |k: usize| match self.weights[k] {
            0.0 => whole.sqrt() * factors[k] * alone(k),
            weight => whole * sums.rows[k] / weight,
        };
        Ok(Factored { value, sums: (0..weights.len()).map(sum).collect(), factors })
    }

    fn repulsion(&self) -> Option<Repulsion> {
        match &self.mass {
            Mass::Matrix(_) => None,
            Mass::Dense(_) => Some(Repulsion::exact(self.self_pairs)),
            Mass::Sparse(_, repulsion) => Some(repulsion.clone()),
        }
    }

    /// ∂E/∂Z (n×d) alone, which takes no logarithms where E is a function of sums over pairs. Factors are not settled but
    /// follow the prototypes, one step of theirs for each of Adam's: the pass that gives the gradient gives that step too.
    pub(crate) fn gradient(&self, prototypes: &Matrix<'_>, scaling: &mut Scaling) -> Result<Matrix<'static>> {
        Ok(self.evaluate::<false>(prototypes, scaling)?.gradient)
    }

    /// The same, and how stiff the springs are that hold every prototype and push it: a rate over that is right wherever it is.
    pub(super) fn gradient_and_stiffness(
        &self,
        prototypes: &Matrix<'_>,
        scaling: &mut Scaling,
    ) -> Result<(Matrix<'static>, Vec<f64>)> {
        let Evaluated { gradient, stiffness, .. } = self.evaluate::<false>(prototypes, scaling)?;
        Ok((gradient, stiffness))
    }

    /// E, which is only right if its `VALUE` is asked for, ∂E/∂Z, and the stiffness of it.
    fn evaluate<const VALUE: bool>(&self, prototypes: &Matrix<'_>, scaling: &mut Scaling) -> Result<Evaluated> {
        let &Self { kernel, loss, self_pairs, .. } = self;
        let weights = scaling.times(self.weights);
        let (attraction, repulsion) = match &self.mass {
            Mass::Matrix(mass) => {
                let (value, gradient) = self.by_kernel_matrix(prototypes, mass)?;
                return Ok(Evaluated { value, gradient, stiffness: self.weights.to_vec() });
            }
            Mass::Dense(mass) => {
                DensePass::<VALUE> { kernel, loss, mass, self_pairs }.sums(&Coordinates::new(prototypes, &weights))
            }
            Mass::Sparse(pairs, repulsion) => {
                let coordinates = Coordinates::new(prototypes, &weights);
                // Where negative pairs are drawn apart, all that neighbours do is attract: log W, as under KL.
                let of_neighbors = if self.negatives.is_some() { Loss::Kl } else { loss };
                let is_rough = !VALUE && of_neighbors == Loss::Kl && matches!(repulsion, Repulsion::Approximate(_));
                let roughly = || attraction::in_single_precision(*pairs, kernel.profile, &coordinates);
                let precisely =
                    || attraction::of_stored_pairs::<VALUE>(*pairs, kernel.profile, of_neighbors, &coordinates);
                let attraction = is_rough.then(roughly).flatten().unwrap_or_else(precisely);
                (attraction, repulsion.sums::<VALUE>(kernel, loss, &coordinates))
            }
        };
        let mut found = self.put_together(&attraction, &repulsion, &weights, prototypes.columns());
        found.value -= 2.0 * scaling.logs(&self.margins);
        if !VALUE {
            scaling.step(&self.margins, &repulsion.weighted.rows);
        }
        Ok(found)
    }

    /// E, but for the term of the factors, and ∂E/∂Z from the sums and their gradients.
    fn put_together(&self, attraction: &PairSum, repulsion: &RepulsionSums, weights: &[f64], dims: usize) -> Evaluated {
        use Normalization::{Cells, DoublyStochastic, Measure};
        let (s, weighted) = (self.margins.iter().sum::<f64>(), repulsion.weighted.value());
        let attracted = self.exaggeration * attraction.value();
        // E, and its derivatives with respect to the sums qᵀ r(W) q and Σ r(W).
        let (value, by_weighted, by_cells) = match (self.kernel.normalization, &repulsion.cells) {
            // A prototype that is alone has no pairs, and no repulsion.
            (Measure | DoublyStochastic, _) if s == 0.0 => (-attracted, 0.0, 0.0),
            (Measure | DoublyStochastic, _) => (s * ((weighted / s).ln() + 1.0) - attracted, s / weighted, 0.0),
            (Cells, Some(cells)) => {
                let cells = cells.value();
                let value = s * cells.ln() + weighted / cells - attracted;
                (value, 1.0 / cells, s / cells - weighted / (cells * cells))
            }
            _ => {
                let share = self.negatives.map_or(1.0, |negatives| negatives * s);
                (share * weighted - attracted, share, 0.0)
            }
        };
        let mut gradient = Matrix::zeros(weights.len(), dims);
        for (k, out) in gradient.values_mut().chunks_exact_mut(dims).enumerate() {
            let here = k * dims..(k + 1) * dims;
            let (attracted, repelled) =
                (&attraction.gradient[here.clone()], &repulsion.weighted.gradient[here.clone()]);
            let of_cells = repulsion.cells.as_ref().map(|cells| &cells.gradient[here]);
            for (c, out) in out.iter_mut().enumerate() {
                let repelled = by_weighted * weights[k] * repelled[c] + of_cells.map_or(0.0, |g| by_cells * g[c]);
                *out = 4.0 * (repelled - self.exaggeration * attracted[c]);
            }
        }
        let of_cells = |k: usize| repulsion.cells.as_ref().map_or(0.0, |cells| by_cells * cells.stiffness[k]);
        let stiffness = (0..weights.len()).map(|k| {
            let of_weighted = match self.is_stiff {
                true => repulsion.weighted.rows[k],
                false => weights[k] * repulsion.weighted.stiffness[k],
            };
            by_weighted * of_weighted + of_cells(k) + self.exaggeration * attraction.stiffness[k]
        });
        Evaluated { value, stiffness: stiffness.collect(), gradient }
    }

    /// E and ∂E/∂Z through the n×n kernel C and ∂E/∂C.
    fn by_kernel_matrix(&self, prototypes: &Matrix<'_>, mass: &Matrix<'_>) -> Result<(f64, Matrix<'static>)> {
        let (q, n) = (self.weights, self.weights.len());
        let kernel = self.kernel.eval(prototypes, q)?;
        let mut value = 0.0;
        let by_kernel = Matrix::from_fn(n, n, |k, l| {
            if k == l && !self.self_pairs {
                return 0.0;
            }
            let (pairs, mass, b) = (q[k] * q[l], self.exaggeration * mass[(k, l)], kernel[(k, l)]);
            value += pairs * self.loss.f2(b) - mass * self.loss.g(b);
            let (repulsion, attraction) = self.loss.derivatives(b);
            pairs * repulsion - mass * attraction
        });
        Ok((value, self.kernel.pull_back(prototypes, q, &kernel, &by_kernel)?))
    }
}

#[cfg(test)]
#[path = "objective_tests.rs"]
mod tests;
