//! From samples to C_X: one recipe for each input similarity of the paper.
//!
//! A recipe is plain data and knows nothing of samples; [`InputAffinity::build`] may fail and gives
//! an [`Affinity`], which may not. What a recipe could not do as well as asked (a solver that ran
//! out of steps, a graph in pieces) stands in its warnings.
//!
//! | recipe | C_X | operator |
//! |---|---|---|
//! | [`Linear`] | X_c·X_cᵀ (PCA) | low rank |
//! | [`Kernel`] | a centred kernel (kernel PCA) | dense, or low rank by landmarks |
//! | [`SquaredDistance`] | −H·E·H (MDS) | low rank, or dense from given distances |
//! | [`Geodesic`] | −H·E·H with distances along the neighbour graph (Isomap) | dense, or low rank by landmarks |
//! | [`NormalizedGraph`] | I + the normalised neighbour graph (Laplacian eigenmaps) | sparse |
//! | [`FuzzySet`] | UMAP's fuzzy simplicial set | sparse |
//! | [`Entropic`] | rows of a given perplexity (SNE), or their symmetric mean (t-SNE) | sparse |
//! | [`SymmetricEntropic`] | doubly stochastic, every row of a given perplexity (SNEkhorn) | sparse |
//! | [`Precomputed`] | a given one, checked for what the method needs | dense or sparse |

mod calibration;
mod entropic;
mod fuzzy;
mod geodesic;
mod graph;
mod kernel;
mod landmarks;
mod linear;
mod pattern;
mod precomputed;
mod symmetric_entropic;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use self::entropic::calibrated_row;
pub use self::entropic::{Entropic, Symmetry};
pub use self::fuzzy::FuzzySet;
pub(crate) use self::fuzzy::membership_row;
pub use self::geodesic::Geodesic;
pub use self::graph::NormalizedGraph;
pub use self::kernel::{Kernel, KernelFunction};
pub use self::landmarks::Landmarks;
pub use self::linear::{Linear, SquaredDistance};
pub use self::pattern::Pattern;
pub use self::precomputed::Precomputed;
pub use self::symmetric_entropic::{Solution, SymmetricEntropic};
use crate::error::{Error, Result};
use crate::neighbors::{Metric, Neighbors, nearest_neighbors};
use crate::numeric::Matrix;
use crate::numeric::Scalar;
use crate::observe::{Event, Observer, Stage};
use crate::similarity::{Dense, LowRank, Similarity, Sparse};

/// A recipe for an input similarity.
pub trait InputAffinity<S: Scalar>: Send + Sync {
    /// Builds the similarity of `samples`, one in each row, telling an observer when neighbours are sought and when the
    /// similarity is made of them.
    fn build_observed(&self, samples: &Matrix<'_, S>, observer: &mut dyn Observer) -> Result<Affinity<S>>;

    /// Builds the similarity of `samples`, one in each row.
    fn build(&self, samples: &Matrix<'_, S>) -> Result<Affinity<S>> {
        self.build_observed(samples, &mut ())
    }
}

/// An input similarity, and what there is to say about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Affinity<S: Scalar> {
    /// The similarity.
    pub operator: Operator<S>,
    /// What was not done as well as asked.
    pub warnings: Vec<Warning>,
}

/// The form in which a similarity is held.
#[derive(Debug, Clone, PartialEq)]
pub enum Operator<S: Scalar> {
    /// Every entry.
    Dense(Dense<'static, S>),
    /// The entries that are not zero.
    Sparse(Sparse<'static, f32>),
    /// Thin factors.
    LowRank(LowRank<'static, S>),
}

/// Something a recipe did, but not as well as asked.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// A solver ran out of steps.
    #[error("the symmetric entropic affinity is not exact: residual {residual:.1e} after {steps} Newton steps")]
    NotConverged {
        /// Newton steps taken.
        steps: usize,
        /// The largest error of a row sum or an entropy.
        residual: f64,
    },
    /// The neighbour graph was in pieces, which the shortest edges between them have joined.
    #[error(
        "the neighbour graph has {components} components, joined by their shortest edges; more neighbors avoid that"
    )]
    ComponentsJoined {
        /// How many pieces.
        components: usize,
    },
}

impl<S: Scalar> Affinity<S> {
    /// The similarity as solvers take it.
    pub fn similarity(&self) -> &dyn Similarity {
        match &self.operator {
            Operator::Dense(dense) => dense,
            Operator::Sparse(sparse) => sparse,
            Operator::LowRank(low_rank) => low_rank,
        }
    }

    /// The similarity as solvers take it, in a box of its own.
    pub fn into_similarity(self) -> Box<dyn Similarity> {
        match self.operator {
            Operator::Dense(dense) => Box::new(dense),
            Operator::Sparse(sparse) => Box::new(sparse),
            Operator::LowRank(low_rank) => Box::new(low_rank),
        }
    }
}

impl<S: Scalar> From<Sparse<'static, f32>> for Affinity<S> {
    fn from(sparse: Sparse<'static, f32>) -> Self {
        Self { operator: Operator::Sparse(sparse), warnings: Vec::new() }
    }
}

impl<S: Scalar> From<Dense<'static, S>> for Affinity<S> {
    fn from(dense: Dense<'static, S>) -> Self {
        Self { operator: Operator::Dense(dense), warnings: Vec::new() }
    }
}

impl<S: Scalar> From<LowRank<'static, S>> for Affinity<S> {
    fn from(low_rank: LowRank<'static, S>) -> Self {
        Self { operator: Operator::LowRank(low_rank), warnings: Vec::new() }
    }
}

/// Neighbours in proportion to the perplexity: beyond three times as many, weights are negligible.
const NEIGHBORS_PER_PERPLEXITY: f64 = 3.0;

/// ⌈3ξ⌉.
pub(crate) fn neighbors_of_perplexity(perplexity: f64) -> usize {
    (NEIGHBORS_PER_PERPLEXITY * perplexity).ceil() as usize
}

/// The neighbours that an affinity of this perplexity looks at: as many as asked, or ⌈3ξ⌉.
fn perplexity_neighbors<S: Scalar>(
    samples: &Matrix<'_, S>,
    perplexity: f64,
    neighbors: Option<usize>,
    metric: Metric,
    observer: &mut dyn Observer,
) -> Result<Neighbors> {
    check_samples(samples)?;
    check_perplexity(perplexity, samples.rows())?;
    let most = samples.rows() - 1;
    let k = neighbors.unwrap_or(neighbors_of_perplexity(perplexity)).min(most.max(neighbors.unwrap_or(0)));
    check_perplexity(perplexity, k + 1)?;
    sought(samples, k, metric, observer)
}

/// Neighbours as scikit-learn's graphs and umap-learn count them: the sample itself is one.
fn neighbors_with_self<S: Scalar>(
    samples: &Matrix<'_, S>,
    neighbors: usize,
    metric: Metric,
    observer: &mut dyn Observer,
) -> Result<Neighbors> {
    check_samples(samples)?;
    if neighbors < 2 || neighbors > samples.rows() {
        let allowed = format!("at least 2 and at most {}, the number of samples (each counts itself)", samples.rows());
        return Err(Error::parameter("neighbors", neighbors as f64, allowed));
    }
    sought(samples, neighbors - 1, metric, observer)
}

/// The neighbours, as a stage of its own; what follows is the similarity's.
fn sought<S: Scalar>(
    samples: &Matrix<'_, S>,
    k: usize,
    metric: Metric,
    observer: &mut dyn Observer,
) -> Result<Neighbors> {
    observer.on(&Event::Stage(Stage::Neighbors));
    let neighbors = nearest_neighbors(samples, k, metric, 0)?;
    observer.on(&Event::Stage(Stage::Affinity));
    Ok(neighbors)
}

/// Refuses a perplexity that rows with `samples` − 1 entries cannot have.
fn check_perplexity(perplexity: f64, samples: usize) -> Result<()> {
    let most = samples.saturating_sub(1);
    if perplexity >= 1.0 && perplexity < most as f64 {
        return Ok(());
    }
    Err(Error::parameter(
        "perplexity",
        perplexity,
        format!("at least 1 and less than {most}, the number of neighbours"),
    ))
}

/// Refuses samples that no similarity can tell apart.
fn check_samples<S: Scalar>(samples: &Matrix<'_, S>) -> Result<()> {
    samples.check_finite("samples")?;
    if samples.rows() < 2 || samples.columns() == 0 {
        let smallest = samples.rows().min(samples.columns());
        return Err(Error::parameter("size of the samples", smallest as f64, "at least 2 rows and 1 column"));
    }
    let first = samples.row(0);
    if (1..samples.rows()).all(|i| samples.row(i) == first) {
        return Err(Error::parameter("number of different samples", 1.0, "at least 2: all samples are equal"));
    }
    Ok(())
}
