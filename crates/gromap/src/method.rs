//! The methods: each is an input similarity, a kernel of the prototypes and a loss.
//!
//! | method | C_X | C_Z | loss |
//! |---|---|---|---|
//! | pca | X_c·X_cᵀ | Gram | square |
//! | kernel-pca | centred kernel | Gram | square |
//! | mds | −H·E·H, squared distances | Gram | square |
//! | isomap | the same along the neighbour graph | Gram | square |
//! | laplacian-eigenmaps | I + normalised neighbour graph | orthonormal Gram | square |
//! | sne | entropic rows | Gaussian, by rows | KL |
//! | tsne | entropic rows, symmetrised | Student, over the measure | KL |
//! | snekhorn | symmetric entropic | Gaussian, doubly stochastic | KL |
//! | tsnekhorn | symmetric entropic | Student, doubly stochastic | KL |
//! | heavy-tsne | symmetric entropic | heavy-tailed, doubly stochastic | KL |
//! | fuzzy-tsne | fuzzy simplicial set | heavy-tailed, doubly stochastic | KL |
//! | umap | fuzzy simplicial set | UMAP's curve | binary cross-entropy |
//!
//! A new method is a variant, its word in `vocabulary.rs`, and its row in [`Method::spec`], the only place that tells
//! methods apart; a similarity that does not exist yet is one file in `affinity/`. Tests that go through all methods, the
//! memory plan, the model file, the command and the Python package then know it. `Chain`, which exists in the tests of
//! this crate alone, proves that.

use crate::affinity::{
    Entropic, FuzzySet, Geodesic, InputAffinity, Kernel, Linear, Mean, NormalizedGraph, SquaredDistance,
    SymmetricEntropic, Symmetry,
};
use crate::embedding::{MapKernel, Normalization, Profile, Radial};
use crate::loss::Loss;

/// A row of the table above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// Principal components.
    Pca,
    /// Principal components of a kernel.
    KernelPca,
    /// Classical scaling of squared distances.
    Mds,
    /// Classical scaling of distances along the neighbour graph.
    Isomap,
    /// Eigenvectors of the neighbour graph.
    LaplacianEigenmaps,
    /// Stochastic neighbour embedding.
    Sne,
    /// t-distributed stochastic neighbour embedding.
    TSne,
    /// Doubly stochastic neighbour embedding.
    Snekhorn,
    /// Symmetric entropic affinity against a doubly stochastic Student kernel.
    TSnekhorn,
    /// The same with a heavy-tailed kernel, which keeps groups farther apart.
    HeavyTSne,
    /// The same with UMAP's similarity of a third of the neighbours: the default.
    #[default]
    FuzzyTSne,
    /// Fuzzy simplicial sets.
    Umap,
    /// A method of the tests: neighbours that all count the same, on a Student kernel.
    #[cfg(test)]
    Chain,
}

/// UMAP's curve with its own defaults, `Profile::umap(0.1, 1.0)`.
const UMAP: Profile = Profile::Umap { a: 1.576_943_613_490_278_6, b: 0.895_060_719_356_783_8 };

/// What recipes may ask for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AffinityOptions<'o> {
    pub(crate) perplexities: &'o [f64],
    pub(crate) neighbors: Option<usize>,
    pub(crate) kernel: Kernel,
}

/// What a method is made of.
pub(crate) struct Spec {
    /// How C_X is made.
    pub(crate) recipe: Box<dyn InputAffinity>,
    /// How prototypes relate.
    pub(crate) kernel: MapKernel,
    /// How similarities are compared.
    pub(crate) loss: Loss,
    /// Coordinates on the map are those of the kernel times this: −H·E·H is twice the matrix of inner products, and a
    /// map is in the unit of the distances.
    pub(crate) unit: f64,
    /// Whether new samples go where most of their neighbours are: lengths of paths and degrees of nodes would change with
    /// a new sample, so that the gradient of the plan is not known for it.
    pub(crate) votes: bool,
    /// The options that have an effect.
    pub(crate) uses: Uses,
}

/// Options that only some methods have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Uses {
    /// C_X is calibrated to a perplexity.
    pub perplexity: bool,
    /// C_X is made from nearest neighbours, and samples may be projected before.
    pub neighbors: bool,
    /// C_X is a kernel.
    pub kernel: bool,
    /// What the kernel of the prototypes is divided by can be chosen.
    pub normalization: bool,
}

impl Spec {
    /// Inner products of the prototypes, compared by squares.
    fn gram(recipe: impl InputAffinity + 'static) -> Self {
        let uses = Uses::default();
        Self { recipe: Box::new(recipe), kernel: MapKernel::Gram, loss: Loss::Square, unit: 1.0, votes: false, uses }
    }

    /// A kernel of the distances between prototypes, compared by the Kullback-Leibler divergence.
    fn radial(recipe: Box<dyn InputAffinity>, profile: Profile, normalization: Normalization) -> Self {
        let kernel = MapKernel::Radial(Radial { profile, normalization });
        let uses = Uses { perplexity: true, neighbors: true, kernel: false, normalization: true };
        Self { recipe, kernel, loss: Loss::Kl, unit: 1.0, votes: false, uses }
    }

    fn uses(mut self, uses: Uses) -> Self {
        self.uses = uses;
        self
    }
}

impl Method {
    /// The one table: what each method is made of. `normalization` replaces the method's own, where its kernel has one.
    pub(crate) fn spec(self, options: &AffinityOptions<'_>, normalization: Option<Normalization>) -> Spec {
        let neighbors = options.neighbors;
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let graph = Uses { neighbors: true, ..Uses::default() };
        let radial = |recipe, profile, own: Normalization| Spec::radial(recipe, profile, normalization.unwrap_or(own));
        let entropic = |symmetry| -> Box<dyn InputAffinity> {
            let of = |&perplexity| Entropic { perplexity, neighbors, symmetry, ..Entropic::default() };
            Box::new(Mean(options.perplexities.iter().map(of).collect()))
        };
        let symmetric = || -> Box<dyn InputAffinity> {
            let of = |&perplexity| SymmetricEntropic { perplexity, neighbors, ..SymmetricEntropic::default() };
            Box::new(Mean(options.perplexities.iter().map(of).collect()))
        };
        let fuzzy = || -> Box<dyn InputAffinity> {
            let of = |&perplexity| FuzzySet { neighbors, perplexity: Some(perplexity), ..FuzzySet::default() };
            Box::new(Mean(options.perplexities.iter().map(of).collect()))
        };
        match self {
            Self::Pca => Spec::gram(Linear),
            Self::KernelPca => Spec::gram(options.kernel).uses(Uses { kernel: true, ..Uses::default() }),
            Self::Mds => Spec { unit: half, ..Spec::gram(SquaredDistance) },
            Self::Isomap => {
                let default = Geodesic::default();
                let recipe = Geodesic { neighbors: neighbors.unwrap_or(default.neighbors), ..default };
                Spec { unit: half, votes: true, ..Spec::gram(recipe) }.uses(graph)
            }
            Self::LaplacianEigenmaps => {
                let recipe = NormalizedGraph { neighbors, ..NormalizedGraph::default() };
                Spec { kernel: MapKernel::Orthonormal, votes: true, ..Spec::gram(recipe) }.uses(graph)
            }
            Self::Sne => radial(entropic(Symmetry::Conditional), Profile::Gaussian, Normalization::Rows),
            Self::TSne => radial(entropic(Symmetry::Joint), Profile::Student, Normalization::Measure),
            Self::Snekhorn => radial(symmetric(), Profile::Gaussian, Normalization::DoublyStochastic),
            Self::TSnekhorn => radial(symmetric(), Profile::Student, Normalization::DoublyStochastic),
            Self::HeavyTSne => radial(symmetric(), Profile::HeavyTailed, Normalization::DoublyStochastic),
            Self::FuzzyTSne => radial(fuzzy(), Profile::HeavyTailed, Normalization::DoublyStochastic),
            Self::Umap => {
                let recipe = Box::new(FuzzySet { neighbors, ..FuzzySet::default() });
                let spec = radial(recipe, UMAP, Normalization::None);
                Spec { loss: Loss::BinaryCrossEntropy, uses: Uses { perplexity: false, ..spec.uses }, ..spec }
            }
            #[cfg(test)]
            Self::Chain => {
                let recipe = crate::affinity::Chain { neighbors: neighbors.unwrap_or(4) };
                radial(Box::new(recipe), Profile::Student, Normalization::Measure)
            }
        }
    }

    /// The options that have an effect with this method.
    pub fn uses(self) -> Uses {
        let options = AffinityOptions { perplexities: &[1.0], neighbors: None, kernel: Kernel::default() };
        self.spec(&options, None).uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_that_of_umaps_defaults() {
        assert_eq!(Profile::umap(0.1, 1.0), Ok(UMAP));
    }
}
