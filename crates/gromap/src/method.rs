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
//! | tsne | entropic rows, symmetrised | Student | KL |
//! | snekhorn | symmetric entropic | Gaussian, doubly stochastic | KL |
//! | tsnekhorn | symmetric entropic | Student | KL |
//! | umap | fuzzy simplicial set | UMAP's curve | binary cross-entropy |
//!
//! A new one is a variant, a row in each `match` below, a rule for new samples (`model/rows.rs`), a row in the
//! table of the tests and a line in the changelog.

use std::fmt;
use std::str::FromStr;

use crate::affinity::{
    Affinity, Entropic, FuzzySet, Geodesic, InputAffinity, Kernel as KernelAffinity, KernelFunction, Linear,
    NormalizedGraph, Operator, SquaredDistance, SymmetricEntropic, Symmetry, neighbors_of_perplexity,
};
use crate::embedding::{Gram, Normalization, OrthonormalGram, Profile, PrototypeKernel, Radial};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::Scalar;
use crate::observe::Observer;
use crate::similarity::Sparse;

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
    /// Symmetric entropic affinity against a Student kernel: the default.
    #[default]
    TSnekhorn,
    /// Fuzzy simplicial sets.
    Umap,
}

/// UMAP's own defaults of `min_dist` and `spread`.
const UMAP_CURVE: (f64, f64) = (0.1, 1.0);
/// Neighbours of the graphs that have no perplexity, as scikit-learn and umap-learn count them.
const ISOMAP_NEIGHBORS: usize = 5;
const UMAP_NEIGHBORS: usize = 15;

impl Method {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 10] = [
        Self::Pca,
        Self::KernelPca,
        Self::Mds,
        Self::Isomap,
        Self::LaplacianEigenmaps,
        Self::Sne,
        Self::TSne,
        Self::Snekhorn,
        Self::TSnekhorn,
        Self::Umap,
    ];

    /// The name in commands and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pca => "pca",
            Self::KernelPca => "kernel-pca",
            Self::Mds => "mds",
            Self::Isomap => "isomap",
            Self::LaplacianEigenmaps => "laplacian-eigenmaps",
            Self::Sne => "sne",
            Self::TSne => "tsne",
            Self::Snekhorn => "snekhorn",
            Self::TSnekhorn => "tsnekhorn",
            Self::Umap => "umap",
        }
    }

    /// How similarities are compared.
    pub fn loss(self) -> Loss {
        match self {
            Self::Pca | Self::KernelPca | Self::Mds | Self::Isomap | Self::LaplacianEigenmaps => Loss::Square,
            Self::Sne | Self::TSne | Self::Snekhorn | Self::TSnekhorn => Loss::Kl,
            Self::Umap => Loss::BinaryCrossEntropy,
        }
    }

    /// How prototypes relate. `normalization` replaces that of the Student kernels.
    pub fn kernel(self, normalization: Normalization) -> Result<Kernel> {
        let radial = |profile, normalization| Kernel::Radial(Radial { profile, normalization });
        Ok(match self {
            Self::Pca | Self::KernelPca | Self::Mds | Self::Isomap => Kernel::Gram,
            Self::LaplacianEigenmaps => Kernel::Orthonormal,
            Self::Sne => radial(Profile::Gaussian, Normalization::Rows),
            Self::TSne | Self::TSnekhorn => radial(Profile::Student, normalization),
            Self::Snekhorn => radial(Profile::Gaussian, Normalization::DoublyStochastic),
            Self::Umap => radial(Profile::umap(UMAP_CURVE.0, UMAP_CURVE.1)?, Normalization::None),
        })
    }

    /// Whether C_X links neighbours only: then groups that see each other are worth merging.
    pub fn is_local(self) -> bool {
        !matches!(self, Self::Pca | Self::KernelPca | Self::Mds | Self::Isomap)
    }

    /// Whether C_X is made from nearest neighbours, and samples may be projected before.
    pub fn uses_neighbors(self) -> bool {
        !matches!(self, Self::Pca | Self::KernelPca | Self::Mds)
    }

    /// Whether C_X is calibrated to a perplexity.
    pub fn has_perplexity(self) -> bool {
        matches!(self, Self::Sne | Self::TSne | Self::Snekhorn | Self::TSnekhorn)
    }

    /// Neighbours of each sample that C_X is made from, the sample itself not counted.
    pub(crate) fn neighbors_of(self, samples: usize, options: &AffinityOptions) -> Option<usize> {
        let k = match self {
            Self::Pca | Self::KernelPca | Self::Mds => return None,
            Self::Isomap => options.neighbors.unwrap_or(ISOMAP_NEIGHBORS),
            Self::LaplacianEigenmaps => options.neighbors.unwrap_or((samples / 10).max(2)).saturating_sub(1),
            Self::Umap => options.neighbors.unwrap_or(UMAP_NEIGHBORS).saturating_sub(1),
            Self::Sne | Self::TSne | Self::Snekhorn | Self::TSnekhorn => {
                let widest = options.perplexities.iter().copied().fold(0.0, f64::max);
                options.neighbors.unwrap_or(neighbors_of_perplexity(widest))
            }
        };
        Some(k.min(samples.saturating_sub(1)))
    }

    /// Builds C_X.
    pub(crate) fn affinity<S: Scalar>(
        self,
        samples: &Matrix<'_, S>,
        options: &AffinityOptions,
        observer: &mut dyn Observer,
    ) -> Result<Affinity<S>> {
        match self {
            Self::Pca => Linear.build(samples),
            Self::Mds => SquaredDistance.build(samples),
            Self::KernelPca => {
                KernelAffinity { function: options.kernel, landmarks: None }.build_observed(samples, observer)
            }
            Self::Isomap => {
                let neighbors = options.neighbors.unwrap_or(ISOMAP_NEIGHBORS);
                Geodesic { neighbors, ..Geodesic::default() }.build_observed(samples, observer)
            }
            Self::LaplacianEigenmaps => NormalizedGraph { neighbors: options.neighbors, ..NormalizedGraph::default() }
                .build_observed(samples, observer),
            Self::Umap => {
                let neighbors = options.neighbors.unwrap_or(UMAP_NEIGHBORS.min(samples.rows()));
                FuzzySet { neighbors, ..FuzzySet::default() }.build_observed(samples, observer)
            }
            Self::Sne | Self::TSne | Self::Snekhorn | Self::TSnekhorn => self.entropic(samples, options, observer),
        }
    }

    /// One affinity for each perplexity, and their mean.
    fn entropic<S: Scalar>(
        self,
        samples: &Matrix<'_, S>,
        options: &AffinityOptions,
        observer: &mut dyn Observer,
    ) -> Result<Affinity<S>> {
        let mut build = |&perplexity: &f64| -> Result<Affinity<S>> {
            let symmetry = if self == Self::Sne { Symmetry::Conditional } else { Symmetry::Joint };
            let neighbors = options.neighbors;
            match self {
                Self::Sne | Self::TSne => Entropic { perplexity, neighbors, symmetry, ..Entropic::default() }
                    .build_observed(samples, observer),
                _ => SymmetricEntropic { perplexity, neighbors, ..SymmetricEntropic::default() }
                    .build_observed(samples, observer),
            }
        };
        let mut parts = options.perplexities.iter().map(&mut build).collect::<Result<Vec<_>>>()?;
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        let share = 1.0 / parts.len() as f64;
        let sparse: Vec<(f64, &Sparse<'static, f32>)> = parts
            .iter()
            .filter_map(|part| match &part.operator {
                Operator::Sparse(sparse) => Some((share, sparse)),
                _ => None,
            })
            .collect();
        let operator = Operator::Sparse(Sparse::weighted_sum(&sparse)?);
        let warnings = parts.iter().flat_map(|part| part.warnings.clone()).collect();
        Ok(Affinity { operator, warnings })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = Error;

    /// Reads a name.
    ///
    /// ```
    /// use gromap::Method;
    /// assert_eq!("tsnekhorn".parse::<Method>()?, Method::TSnekhorn);
    /// assert!("tsn".parse::<Method>().unwrap_err().to_string().contains("tsnekhorn"));
    /// # Ok::<(), gromap::Error>(())
    /// ```
    fn from_str(name: &str) -> Result<Self> {
        let allowed = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| Error::Name { what: "method", name: name.into(), allowed: allowed() })
    }
}

/// How prototypes relate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kernel {
    /// Inner products.
    Gram,
    /// Inner products of an orthonormal frame.
    Orthonormal,
    /// A function of distances.
    Radial(Radial),
}

impl PrototypeKernel for Kernel {
    fn eval(&self, prototypes: &Matrix<'_>, weights: &[f64]) -> Result<Matrix<'static>> {
        match self {
            Self::Gram => Gram.eval(prototypes, weights),
            Self::Orthonormal => OrthonormalGram.eval(prototypes, weights),
            Self::Radial(radial) => radial.eval(prototypes, weights),
        }
    }

    fn pull_back(
        &self,
        prototypes: &Matrix<'_>,
        weights: &[f64],
        kernel: &Matrix<'_>,
        gradient: &Matrix<'_>,
    ) -> Result<Matrix<'static>> {
        match self {
            Self::Gram => Gram.pull_back(prototypes, weights, kernel, gradient),
            Self::Orthonormal => OrthonormalGram.pull_back(prototypes, weights, kernel, gradient),
            Self::Radial(radial) => radial.pull_back(prototypes, weights, kernel, gradient),
        }
    }
}

/// What the recipes of C_X ask for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AffinityOptions {
    pub(crate) perplexities: Vec<f64>,
    pub(crate) neighbors: Option<usize>,
    pub(crate) kernel: KernelFunction,
}
