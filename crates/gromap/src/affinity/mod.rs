//! From samples to C_X: one recipe for each input similarity of the paper.
//!
//! A recipe is plain data and owns all that is special about its similarity: how it is made from samples or distances,
//! which neighbours it looks at, the row of a new sample, and its memory ([`InputAffinity`]). Most recipes need the
//! neighbours of every sample and nothing else ([`NeighborAffinity`]). Building may fail; what comes out, an [`Affinity`],
//! may not. What was not done as well as asked (a solver that ran out of steps, a graph in pieces) stands in its warnings.
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
//! | [`Mean`] | the mean of several of the above that look at neighbours | sparse |
//! | [`RandomWalk`] | the nodes of a graph, as short random walks meet them | sparse |
//! | [`Precomputed`] | a given one, checked for what the method needs | dense or sparse |

mod calibration;
#[cfg(test)]
mod chain;
mod entropic;
mod fuzzy;
mod geodesic;
mod graph;
mod kernel;
mod landmarks;
mod linear;
mod mean;
mod new_samples;
mod pattern;
mod precomputed;
mod source;
mod symmetric_entropic;
#[cfg(test)]
pub(crate) mod testing;
mod walk;

#[cfg(test)]
pub(crate) use self::chain::Chain;
pub use self::entropic::{Entropic, Symmetry};
pub use self::fuzzy::FuzzySet;
pub use self::geodesic::Geodesic;
pub use self::graph::NormalizedGraph;
pub use self::kernel::{Kernel, KernelFunction};
pub use self::landmarks::Landmarks;
pub use self::linear::{Linear, SquaredDistance};
pub use self::mean::Mean;
pub(crate) use self::new_samples::{Known, Multiplier, Recognised, Training};
pub use self::new_samples::{NeighborWeights, NewSamples};
pub use self::pattern::Pattern;
pub use self::precomputed::Precomputed;
pub use self::source::Source;
pub use self::symmetric_entropic::{Solution, SymmetricEntropic};
pub use self::walk::{GraphAffinity, RandomWalk};
use crate::data::{Data, Samples};
use crate::error::{Error, Result};
use crate::memory::{MemoryPlan, Sizes};
use crate::neighbors::{Metric, Neighbors};
use crate::observe::{Observer, Stage};
use crate::similarity::Similarity;

/// A recipe for an input similarity: all that is known of C_X before there are samples.
pub trait InputAffinity: Send + Sync {
    /// Builds C_X from samples or distances; what else it needs of them, such as neighbours, it asks the source for.
    fn build_from(&self, source: &mut Source<'_>) -> Result<Affinity>;

    /// Neighbours that C_X is made from among so many samples; `None` where it looks at all pairs.
    fn neighborhood(&self, samples: usize) -> Option<Neighborhood> {
        let _ = samples; // all pairs
        None
    }

    /// How the row of C_X that a new sample would have is found.
    fn new_samples(&self) -> NewSamples<'_>;

    /// Adds what it holds, and in which stages, to a plan of memory that lists its neighbours already.
    fn memory(&self, sizes: &Sizes, plan: &mut MemoryPlan);

    /// Whether C_X links neighbours only: then groups that are linked are worth merging.
    fn is_local(&self) -> bool {
        false
    }

    /// Whether distances do instead of samples.
    fn takes_distances(&self) -> bool {
        false
    }

    /// Builds C_X of samples, one in each row.
    fn build<'a>(&self, samples: impl Into<Samples<'a>>) -> Result<Affinity>
    where
        Self: Sized,
    {
        build(self, &Data::Samples(samples.into()), &mut ())
    }
}

/// A recipe that needs nothing but the nearest neighbours of every sample and their distances. It is an [`InputAffinity`].
pub trait NeighborAffinity: NeighborWeights {
    /// Builds C_X from neighbours in its own metric.
    fn of_neighbors(&self, neighbors: &Neighbors) -> Result<Affinity>;

    /// Refuses parameters that do not suit so many samples.
    fn check(&self, samples: usize) -> Result<()>;

    /// Bytes that an entry of the neighbour graph takes until its weight is stored, and afterwards.
    fn bytes_per_entry(&self) -> (u64, u64) {
        (28, 8)
    }
}

impl<T: NeighborAffinity> InputAffinity for T {
    fn build_from(&self, source: &mut Source<'_>) -> Result<Affinity> {
        self.check(source.len())?;
        self.of_neighbors(&source.neighbors(NeighborWeights::neighborhood(self, source.len()))?)
    }

    fn neighborhood(&self, samples: usize) -> Option<Neighborhood> {
        Some(NeighborWeights::neighborhood(self, samples))
    }

    fn new_samples(&self) -> NewSamples<'_> {
        NewSamples::Neighbors(self)
    }

    /// The neighbour graph united with its transpose, what is solved on it, and the similarity that stays.
    fn memory(&self, sizes: &Sizes, plan: &mut MemoryPlan) {
        let k = NeighborWeights::neighborhood(self, sizes.samples as usize).k as u64;
        let stored = sizes.pairs(k.saturating_mul(2));
        let (making, kept) = self.bytes_per_entry();
        plan.hold(
            "neighbour graph while its weights are found",
            making.saturating_mul(stored),
            Stage::Affinity,
            Stage::Affinity,
        );
        plan.hold("similarity", kept.saturating_mul(stored), Stage::Start, Stage::Fit);
        plan.hold("rows that the allocator keeps", (making / 2).saturating_mul(stored), Stage::Start, Stage::Fit);
    }

    fn is_local(&self) -> bool {
        true
    }

    fn takes_distances(&self) -> bool {
        true
    }
}

/// How neighbours are sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighborhood {
    /// Neighbours of each sample, itself not counted.
    pub k: usize,
    /// The distance.
    pub metric: Metric,
}

/// C_X of samples or distances; a similarity that is given needs no recipe. Tells an observer when neighbours are sought
/// and when the similarity is made.
pub fn build(recipe: &dyn InputAffinity, data: &Data<'_>, observer: &mut dyn Observer) -> Result<Affinity> {
    recipe.build_from(&mut Source::new(data, observer)?)
}

/// An input similarity, and what there is to say about it.
pub struct Affinity {
    /// The similarity.
    pub similarity: Box<dyn Similarity>,
    /// What was not done as well as asked.
    pub warnings: Vec<Warning>,
}

impl<T: Similarity + 'static> From<T> for Affinity {
    fn from(similarity: T) -> Self {
        Self { similarity: Box::new(similarity), warnings: Vec::new() }
    }
}

/// Something a recipe did, but not as well as asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// A solver ran out of steps.
    #[error("the symmetric entropic affinity is not exact: residual {residual:.1e} after {steps} Newton steps, {rows}")]
    NotConverged {
        /// Newton steps taken.
        steps: usize,
        /// The largest error of a row sum or an entropy.
        residual: f64,
        /// The rows that are off.
        rows: InexactRows,
    },
    /// The symmetric entropic affinity does not exist on the neighbour graph, or was not found, and the entropic affinity
    /// takes its place.
    #[error(
        "the entropic affinity of t-SNE takes the place of the symmetric one, {}, {rows}; more neighbors may help",
        if *.is_infeasible {
            "which does not exist here: too many samples have the same few neighbours"
        } else {
            "which was not found"
        }
    )]
    Replaced {
        /// The rows that the symmetric affinity could not satisfy.
        rows: InexactRows,
        /// Whether it is proved that it does not exist.
        is_infeasible: bool,
    },
    /// The neighbour graph was in pieces, which the shortest edges between them have joined.
    #[error(
        "the neighbour graph has {components} components, joined by their shortest edges; more neighbors avoid that"
    )]
    ComponentsJoined {
        /// How many pieces.
        components: usize,
    },
    /// Nodes of a graph that no cluster can be made of.
    #[error("{}: put into the heaviest prototype", set_aside(*.alone, *.small))]
    SetAside {
        /// Nodes without an edge to another.
        alone: usize,
        /// Nodes in components that are too small.
        small: usize,
    },
}

/// What there is to say of nodes that no cluster can be made of.
fn set_aside(alone: usize, small: usize) -> String {
    let count = |nodes: usize| if nodes == 1 { "1 node".into() } else { format!("{nodes} nodes") };
    let alone = (alone > 0).then(|| format!("{} without edges", count(alone)));
    let small = (small > 0).then(|| format!("{} in components too small for a cluster", count(small)));
    alone.into_iter().chain(small).collect::<Vec<_>>().join(" and ")
}

impl Warning {
    /// Whether the similarity is not the one that was asked for, so that no result from it counts as exact.
    pub fn is_inexact(&self) -> bool {
        matches!(self, Self::NotConverged { .. } | Self::Replaced { .. })
    }
}

/// Rows that do not satisfy what they should: how many, and which are the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InexactRows {
    /// How many.
    pub count: usize,
    /// The first of them, from 0 on.
    pub first: Vec<u32>,
}

impl InexactRows {
    const SHOWN: usize = 5;

    fn new(rows: &[u32]) -> Self {
        Self { count: rows.len(), first: rows[..rows.len().min(Self::SHOWN)].to_vec() }
    }
}

impl std::fmt::Display for InexactRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first: Vec<String> = self.first.iter().map(ToString::to_string).collect();
        let more = if self.count > self.first.len() { ", …" } else { "" };
        match self.count {
            0 => write!(f, "though each row is by itself"),
            1 => write!(f, "in row {}", first.join(", ")),
            count => write!(f, "in {count} rows ({}{more})", first.join(", ")),
        }
    }
}

/// Neighbours in proportion to the perplexity: beyond three times as many, weights are negligible.
const NEIGHBORS_PER_PERPLEXITY: f64 = 3.0;

/// ⌈3ξ⌉.
fn neighbors_of_perplexity(perplexity: f64) -> usize {
    (NEIGHBORS_PER_PERPLEXITY * perplexity).ceil() as usize
}

/// The neighbours that rows of this perplexity look at: as many as asked, or ⌈3ξ⌉ of those there are.
fn perplexity_neighborhood(perplexity: f64, asked: Option<usize>, metric: Metric, samples: usize) -> Neighborhood {
    // However many are asked for, there is a number that is one more.
    let k = asked.map(|k| k.min(usize::MAX - 1));
    let k = k.unwrap_or_else(|| neighbors_of_perplexity(perplexity).min(samples.saturating_sub(1)));
    Neighborhood { k, metric }
}

/// Refuses a number of neighbours as scikit-learn's graphs and umap-learn count them, the sample itself among them.
fn check_neighbors_with_self(neighbors: usize, samples: usize) -> Result<()> {
    if neighbors < 2 || neighbors > samples {
        let allowed = format!("at least 2 and at most {samples}, the number of samples (each counts itself)");
        return Err(Error::parameter("neighbors", neighbors as f64, allowed));
    }
    Ok(())
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
