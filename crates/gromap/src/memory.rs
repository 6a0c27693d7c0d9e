//! What a fit will hold, known before anything is allocated.
//!
//! A [`MemoryPlan`] lists every part that grows with the data, from the stage that makes it to the stage that last needs
//! it; the peak is the stage in which most is held at once. Counts are upper bounds where the data decide: the neighbour
//! graph united with its transpose has between N·k and 2·N·k entries, and 2·N·k is what is planned for. What does not grow
//! with N, p or n (tiles of matrix products, threads) is left out; it is a few megabytes.

use crate::clustering::GromovClustering;
use crate::error::{Error, Result};
use crate::method::Method;
use crate::model::{GromovDr, Projection, Scaling};
use crate::neighbors::searches_exactly;
use crate::numeric::Scalar;
use crate::observe::Stage;
use crate::solve::Solver;
use crate::start::most_groups;

/// One thing that is held for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// What it is.
    pub what: &'static str,
    /// How large it becomes.
    pub bytes: u64,
    /// The stage that makes it.
    pub from: Stage,
    /// The last stage that needs it.
    pub until: Stage,
}

/// How neighbours will be sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighborhood {
    /// Neighbours of each sample.
    pub k: usize,
    /// Whether they are the nearest for certain.
    pub exact: bool,
}

/// What a fit will hold, and when.
///
/// ```
/// use gromap::{GromovDr, Method};
/// let fit = GromovDr::builder().method(Method::KernelPca);
/// let plan = fit.memory_plan::<f64>(25_000, 10);
/// assert!(plan.peak() > 5_000_000_000); // N×N doubles
/// assert!(plan.check(1 << 30).unwrap_err().to_string().contains("kernel matrix"));
/// assert!(GromovDr::builder().memory_plan::<f64>(25_000, 10).check(1 << 30).is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryPlan {
    /// Every part, by the stage that makes it.
    pub parts: Vec<Part>,
    /// The search for neighbours, where the method makes one.
    pub neighbors: Option<Neighborhood>,
}

const STAGES: [Stage; 5] = [Stage::Prepare, Stage::Neighbors, Stage::Affinity, Stage::Start, Stage::Fit];

impl MemoryPlan {
    /// The most that is held at once.
    pub fn peak(&self) -> u64 {
        STAGES.iter().map(|&stage| self.total(stage)).max().unwrap_or(0)
    }

    /// What is held during a stage.
    pub fn held(&self, stage: Stage) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.from <= stage && stage <= part.until)
    }

    fn total(&self, stage: Stage) -> u64 {
        self.held(stage).fold(0, |total, part| total.saturating_add(part.bytes))
    }

    /// Refuses to hold more than `limit` bytes at once, naming the largest part of the fullest stage.
    pub fn check(&self, limit: u64) -> Result<()> {
        let needed = self.peak();
        if needed <= limit {
            return Ok(());
        }
        let fullest = STAGES.iter().max_by_key(|&&stage| self.total(stage));
        let largest = fullest.and_then(|&stage| self.held(stage).max_by_key(|part| part.bytes));
        let (what, bytes) = largest.map_or(("nothing", 0), |part| (part.what, part.bytes));
        Err(Error::Memory { needed, limit, what, bytes })
    }

    fn hold(&mut self, what: &'static str, bytes: u64, from: Stage, until: Stage) {
        if bytes > 0 {
            self.parts.push(Part { what, bytes, from, until });
        }
    }
}

/// Bytes of so many values; a product that no machine could hold stays at the largest number.
fn bytes(of_one: u64, counts: &[u64]) -> u64 {
    counts.iter().fold(of_one, |product, &count| product.saturating_mul(count))
}

/// Sizes of a fit.
struct Sizes {
    samples: u64,
    features: u64,
    /// Features after projection.
    kept: u64,
    prototypes: u64,
    /// Bytes of a stored value.
    value: u64,
}

impl GromovDr {
    /// What [`fit`](Self::fit) will hold for so many samples of so many features, stored as `S`.
    pub fn memory_plan<S: Scalar>(&self, samples: usize, features: usize) -> MemoryPlan {
        let kept = self.components(samples, features).unwrap_or(features);
        let sizes = Sizes {
            samples: samples as u64,
            features: features as u64,
            kept: kept as u64,
            prototypes: self.prototypes.unwrap_or(samples).min(samples) as u64,
            value: size_of::<S>() as u64,
        };
        let mut plan = MemoryPlan { parts: Vec::new(), neighbors: self.neighborhood(samples) };
        let whole = bytes(sizes.value, &[sizes.samples, sizes.features]);
        plan.hold("samples", whole, Stage::Prepare, Stage::Fit);
        self.plan_preparation(&sizes, &mut plan);
        self.plan_affinity(&sizes, &mut plan);
        self.plan_descent(&sizes, &mut plan);
        plan
    }

    /// What [`fit_similarity`](Self::fit_similarity) will hold for an N×N similarity with so many stored entries, of
    /// `S`; N² of them are a dense one.
    pub fn memory_plan_of_similarity<S: Scalar>(&self, samples: usize, stored: u64) -> MemoryPlan {
        let value = size_of::<S>() as u64;
        let (n, prototypes) = (samples as u64, self.prototypes.unwrap_or(samples).min(samples) as u64);
        let sizes = Sizes { samples: n, features: 0, kept: 0, prototypes, value };
        let mut plan = MemoryPlan { parts: Vec::new(), neighbors: None };
        let dense = stored >= bytes(1, &[n, n]);
        let entry = if dense { value } else { value + 4 };
        // Twice, because the transpose of one that is not symmetric is kept too.
        plan.hold("given similarity", bytes(2 * entry, &[stored]), Stage::Prepare, Stage::Fit);
        if dense {
            plan.hold("products with the similarity", bytes(8, &[n, prototypes]), Stage::Start, Stage::Fit);
        }
        if prototypes == n && self.method.is_local() {
            plan.hold("similarities and forces of all pairs", bytes(24, &[n, n]), Stage::Fit, Stage::Fit);
        }
        self.plan_descent(&sizes, &mut plan);
        plan
    }

    /// Components that samples are projected to, if they are.
    fn components(&self, samples: usize, features: usize) -> Option<usize> {
        match self.projection {
            Projection::None => None,
            Projection::To(components) => Some(components.min(features)),
            Projection::Auto => Projection::automatic(self.method, samples, features),
        }
    }

    /// The neighbours that the method will look at.
    fn neighborhood(&self, samples: usize) -> Option<Neighborhood> {
        let k = self.method.neighbors_of(samples, &self.options)?;
        Some(Neighborhood { k, exact: searches_exactly(samples) })
    }

    fn plan_preparation(&self, sizes: &Sizes, plan: &mut MemoryPlan) {
        let whole = bytes(sizes.value, &[sizes.samples, sizes.features]);
        let projected = sizes.kept < sizes.features || matches!(self.projection, Projection::To(_));
        if self.scaling != Scaling::None {
            // Projected samples are made from scaled ones, which then go; the fused term scales once more.
            let until = if projected && self.alpha == 1.0 { Stage::Prepare } else { Stage::Fit };
            plan.hold("scaled samples", whole, Stage::Prepare, until);
        }
        if projected {
            plan.hold(
                "scatter of the features",
                bytes(16, &[sizes.features, sizes.features.min(sizes.samples)]),
                Stage::Prepare,
                Stage::Prepare,
            );
            plan.hold(
                "projected samples",
                bytes(sizes.value, &[sizes.samples, sizes.kept]),
                Stage::Prepare,
                Stage::Fit,
            );
        }
    }

    fn plan_affinity(&self, sizes: &Sizes, plan: &mut MemoryPlan) {
        let &Sizes { samples: n, kept, value, prototypes, .. } = sizes;
        if let Some(Neighborhood { k, exact }) = plan.neighbors {
            let list = bytes(8, &[n, k as u64]);
            let single = bytes(4, &[n, kept]);
            plan.hold(
                "samples in single precision",
                if value == 4 { single } else { single.saturating_mul(2) },
                Stage::Neighbors,
                Stage::Neighbors,
            );
            plan.hold(
                "lists of the search",
                if exact { list } else { list.saturating_mul(2) },
                Stage::Neighbors,
                Stage::Neighbors,
            );
            plan.hold("neighbours", list, Stage::Neighbors, Stage::Affinity);
        }
        match self.method {
            Method::Pca | Method::Mds => {
                plan.hold("centred samples", bytes(value, &[n, kept]), Stage::Affinity, Stage::Fit);
            }
            Method::KernelPca => {
                plan.hold("samples in double precision", bytes(8, &[n, kept]), Stage::Affinity, Stage::Affinity);
                plan.hold("kernel matrix, N×N", bytes(value, &[n, n]), Stage::Affinity, Stage::Fit);
                plan.hold("products with the kernel matrix", bytes(8, &[n, prototypes]), Stage::Start, Stage::Fit);
            }
            Method::Isomap => {
                plan.hold(
                    "lengths of all shortest paths, N×N",
                    bytes(8 + value, &[n, n]),
                    Stage::Affinity,
                    Stage::Affinity,
                );
                plan.hold("similarity of all pairs, N×N", bytes(value, &[n, n]), Stage::Affinity, Stage::Fit);
                plan.hold("products with the similarity", bytes(8, &[n, prototypes]), Stage::Start, Stage::Fit);
            }
            _ => self.plan_sparse(n, plan),
        }
    }

    /// The neighbour graph united with its transpose, what is solved on it, and the similarity that stays.
    fn plan_sparse(&self, n: u64, plan: &mut MemoryPlan) {
        let Some(Neighborhood { k, .. }) = plan.neighbors else { return };
        let directed = bytes(1, &[n, k as u64]);
        let stored = directed.saturating_mul(2).min(bytes(1, &[n, n]));
        let scales = self.options.perplexities.len() as u64;
        let (making, kept) = match self.method {
            // Rows as they are; the transpose is kept beside them.
            Method::Sne => (bytes(16, &[directed]), bytes(16, &[directed])),
            // Weights and their logarithms, here and at the next step, and what the pattern is made from.
            Method::Snekhorn | Method::TSnekhorn => (bytes(32, &[stored]), bytes(8, &[stored])),
            _ => (bytes(28, &[stored]), bytes(8, &[stored])),
        };
        plan.hold("neighbour graph while its weights are found", making, Stage::Affinity, Stage::Affinity);
        // Each scale is kept until their mean is made.
        let all = if scales > 1 && self.method.has_perplexity() { kept.saturating_mul(scales) } else { 0 };
        plan.hold("similarities of single perplexities", all, Stage::Affinity, Stage::Affinity);
        plan.hold("similarity", kept, Stage::Affinity, Stage::Fit);
    }

    fn plan_descent(&self, sizes: &Sizes, plan: &mut MemoryPlan) {
        let &Sizes { samples: n, features, kept, prototypes, value } = sizes;
        plan.hold("weights and labels", bytes(40, &[n]), Stage::Prepare, Stage::Fit);
        if value == 8 {
            plan.hold("samples in single precision, for the start", bytes(4, &[n, kept]), Stage::Start, Stage::Fit);
        }
        plan.hold("mean samples of the prototypes", bytes(8, &[prototypes, features]), Stage::Fit, Stage::Fit);
        plan.hold("samples that new ones are compared with", bytes(4, &[n, kept]), Stage::Fit, Stage::Fit);
        if prototypes == n {
            plan.hold("places and their steps", bytes(64, &[n, self.dims as u64]), Stage::Fit, Stage::Fit);
            if self.method == Method::Snekhorn {
                plan.hold("similarities and forces of all pairs, N×N", bytes(24, &[n, n]), Stage::Fit, Stage::Fit);
            }
            return;
        }
        if self.method.is_local() {
            let groups = most_groups(n as usize, prototypes as usize) as u64;
            plan.hold("similarities of the first groups", bytes(40, &[groups, groups]), Stage::Start, Stage::Start);
        }
        plan.hold("similarities of prototypes", bytes(80, &[prototypes, prototypes]), Stage::Fit, Stage::Fit);
        if self.settings.solver != Solver::Vertex {
            plan.hold("soft plan, N×n", bytes(36, &[n, prototypes]), Stage::Start, Stage::Fit);
        }
    }
}

impl GromovClustering {
    /// What [`fit`](Self::fit) will hold for so many samples of so many features, stored as `S`.
    pub fn memory_plan<S: Scalar>(&self, samples: usize, features: usize) -> MemoryPlan {
        self.as_map().memory_plan::<S>(samples, features)
    }

    /// What [`fit_similarity`](Self::fit_similarity) will hold for an N×N similarity with so many stored entries.
    pub fn memory_plan_of_similarity<S: Scalar>(&self, samples: usize, stored: u64) -> MemoryPlan {
        self.as_map().memory_plan_of_similarity::<S>(samples, stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(recipe: &GromovDr, samples: usize, features: usize) -> u64 {
        recipe.memory_plan::<f32>(samples, features).peak()
    }

    #[test]
    fn methods_of_all_pairs_need_their_square() {
        for method in [Method::KernelPca, Method::Isomap] {
            let recipe = GromovDr::builder().method(method);
            assert!(peak(&recipe, 20_000, 5) >= 4 * 20_000 * 20_000, "{method}");
        }
        for method in [Method::Pca, Method::Mds, Method::TSne, Method::TSnekhorn, Method::Umap] {
            let recipe = GromovDr::builder().method(method);
            assert!(peak(&recipe, 200_000, 5) < 200_000 * 200_000 / 20, "{method}");
        }
    }

    #[test]
    fn parts_that_follow_each_other_are_not_added_up() {
        let plan = GromovDr::builder().memory_plan::<f32>(10_000, 784);
        let all: u64 = plan.parts.iter().map(|part| part.bytes).sum();
        assert!(plan.peak() < all);
        assert!(plan.peak() >= 10_000 * 784 * 4);
        assert_eq!(plan.neighbors, Some(Neighborhood { k: 90, exact: true }));
        let many = GromovDr::builder().memory_plan::<f32>(100_001, 784);
        assert_eq!(many.neighbors, Some(Neighborhood { k: 90, exact: false }));
    }

    #[test]
    fn numbers_beyond_any_machine_do_not_wrap() {
        let plan = GromovDr::builder().method(Method::Isomap).memory_plan::<f64>(usize::MAX, usize::MAX);
        assert!(plan.check(u64::MAX - 1).is_err());
    }

    #[test]
    fn the_refusal_names_what_is_largest() {
        let error =
            GromovDr::builder().method(Method::Isomap).memory_plan::<f64>(20_000, 3).check(1 << 30).unwrap_err();
        let Error::Memory { needed, limit, what, .. } = error else { panic!("{error}") };
        assert!(needed > 6_400_000_000 && limit == 1 << 30 && what.contains("shortest paths"), "{needed} {what}");
    }
}
