//! What a fit will hold, part by part: the recipe says what its similarity takes (`affinity/`), the rest is here.

use super::coarse::MOST_MAPPED;
use super::many;
use super::options::{Common, GromovClustering, GromovDr};
use super::preparation::{Projection, Scaling};
use crate::affinity::{InputAffinity, NewSamples, RandomWalk};
use crate::data::{Form, Shape};
use crate::embedding::{MapKernel, most_bytes_of_repulsion};
use crate::memory::{FIXED, MemoryPlan, Search, Sizes, bytes};
use crate::method::Spec;
use crate::neighbors::searches_exactly;
use crate::numeric::blocks::{BLOCK, parts_held};
use crate::numeric::kmeans::most_seeded;
use crate::observe::Stage;
use crate::preprocessing::EXACT_FEATURES;
use crate::solve::Solver;
use crate::start::most_groups;

/// Bytes of a pair of prototypes that see each other: while samples move it is held three times, and once in compressed rows.
const SPARSE_PAIR: u64 = 72;

const REPULSION: &str = "approximate repulsion";
const OF_PROTOTYPES: &str = "similarities of prototypes";
const FIRST_GROUPS: &str = "similarities of the first groups";

impl GromovDr {
    /// What [`fit`](Self::fit) will hold for data of this shape.
    pub fn memory_plan(&self, shape: &Shape) -> MemoryPlan {
        let fused = self.alpha < 1.0;
        let features = match shape.form {
            Form::Samples { features } | Form::Views { features, .. } if fused => features as u64,
            _ => 0,
        };
        let kernel = self.common.spec(self.normalization).kernel;
        let solver = self.common.solver();
        let is_sparse = |n| !fused && many::serves(kernel, self.common.loss(), solver, n);
        let mut plan = self.common.memory_plan(shape, self.prototypes, fused, self.prototypes.is_some_and(is_sparse));
        let (samples, dims) = (shape.samples as u64, self.dims as u64);
        if let Some(n) = self.prototypes.filter(|&n| n < shape.samples) {
            // Adam runs from several starts at once, in eight dimensions at least, and keeps its steps.
            let places = match kernel {
                MapKernel::Radial(_) => {
                    if !kernel.needs_all_pairs(self.common.loss()) && !is_sparse(n) {
                        plan_map_of_groups(shape.samples, n, &mut plan);
                    }
                    bytes(300, &[n as u64, dims.max(8)])
                }
                MapKernel::Gram | MapKernel::Orthonormal => bytes(48, &[n as u64, dims]),
            };
            plan.hold("places and their steps", places, Stage::Start, Stage::Fit);
            // Twice, while those of the blocks are put together.
            plan.hold("places of the samples", bytes(16, &[samples, dims]), Stage::Fit, Stage::Fit);
            if is_sparse(n) {
                plan.hold(REPULSION, most_bytes_of_repulsion(n as u64, dims), Stage::Fit, Stage::Fit);
            }
            let compared = bytes(32, &[n as u64, features]);
            plan.hold("mean samples while they are compared", compared, Stage::Start, Stage::Fit);
        } else {
            // Places, gradients and their parts, the best so far; and some numbers of every sample whatever the dimensions.
            let steps = bytes(130, &[samples, dims]).saturating_add(bytes(72, &[samples]));
            plan.hold("places and their steps", steps, Stage::Fit, Stage::Fit);
            if matches!(kernel, MapKernel::Radial(_)) {
                plan.hold(REPULSION, most_bytes_of_repulsion(samples, dims), Stage::Fit, Stage::Fit);
            }
            plan.hold("eigenvectors", eigenvectors(samples, dims.saturating_add(1)), Stage::Fit, Stage::Fit);
            self.plan_all_pairs(shape, &mut plan);
        }
        plan
    }

    /// What [`path`](Self::path) will hold for data of this shape: the largest of its fits, and a model of every size.
    pub fn path_memory_plan(&self, shape: &Shape, sizes: &[usize]) -> MemoryPlan {
        let most = sizes.iter().copied().max();
        let mut plan = Self { prototypes: most.or(self.prototypes), ..self.clone() }.memory_plan(shape);
        let samples = shape.samples as u64;
        let features = match shape.form {
            Form::Samples { features } | Form::Views { features, .. } => features as u64,
            Form::Pairs { .. } | Form::Graph { .. } => 0,
        };
        let of_model = |&n: &usize| {
            let (n, dims) = (n as u64, self.dims as u64);
            bytes(8, &[n, features.saturating_add(n).saturating_add(dims)])
                .saturating_add(bytes(4, &[samples, features.saturating_add(2)]))
                .saturating_add(bytes(8, &[samples, dims]))
        };
        let models = sizes.iter().map(of_model).fold(0u64, u64::saturating_add);
        plan.hold("models of the path", models, Stage::Fit, Stage::Fit);
        plan
    }

    /// Forces between all pairs of samples, for kernels that are normalised by more than one number and for similarities
    /// whose neighbours are not known.
    fn plan_all_pairs(&self, shape: &Shape, plan: &mut MemoryPlan) {
        let Spec { recipe, kernel, .. } = self.common.spec(self.normalization);
        let is_given = matches!(shape.form, Form::Pairs { .. });
        let of_pair = match kernel.needs_all_pairs(self.common.loss()) {
            true => 36,
            false if is_given => 24,
            false => return,
        };
        if recipe.is_local() {
            let pairs = bytes(of_pair, &[shape.samples as u64, shape.samples as u64]);
            plan.hold("similarities and forces of all pairs, N×N", pairs, Stage::Fit, Stage::Fit);
        }
    }
}

impl GromovClustering {
    /// What [`fit`](Self::fit) will hold for data of this shape.
    pub fn memory_plan(&self, shape: &Shape) -> MemoryPlan {
        self.common.memory_plan(shape, Some(self.clusters), false, false)
    }
}

impl Common {
    /// The solver that runs.
    fn solver(&self) -> Solver {
        if self.rule.is_free() { self.settings.solver } else { Solver::ConditionalGradient }
    }

    /// `is_sparse` where similarities of prototypes are kept only where there are some.
    fn memory_plan(&self, shape: &Shape, prototypes: Option<usize>, fused: bool, is_sparse: bool) -> MemoryPlan {
        let samples = shape.samples;
        let (views, features) = match shape.form {
            Form::Samples { features } => (1, features),
            Form::Views { views, features } => (views, features),
            Form::Pairs { .. } | Form::Graph { .. } => (1, 0),
        };
        let kept = |components: usize| components.saturating_mul(views).min(features);
        let sizes = Sizes {
            samples: samples as u64,
            features: features as u64,
            kept: self.components(samples, features).map_or(features, kept) as u64,
            prototypes: prototypes.unwrap_or(samples).min(samples) as u64,
            value: if shape.is_single { 4 } else { 8 },
        };
        let mut plan = MemoryPlan { parts: Vec::new(), neighbors: None };
        plan.hold("threads, tiles and code", FIXED, Stage::Prepare, Stage::Fit);
        let recipe = self.recipe();
        match shape.form {
            Form::Samples { .. } => {
                plan.hold("samples", sizes.values(sizes.features), Stage::Prepare, Stage::Fit);
                self.plan_preparation(&sizes, fused, &mut plan);
                plan_neighbors(&*recipe, &sizes, &mut plan);
                recipe.memory(&sizes, &mut plan);
            }
            Form::Views { .. } => {
                plan.hold("samples", sizes.values(sizes.features), Stage::Prepare, Stage::Fit);
                self.plan_preparation(&sizes, fused, &mut plan);
                plan_neighbors(&*recipe, &sizes, &mut plan);
                plan_views(&*recipe, &sizes, views as u64, &mut plan);
            }
            Form::Graph { stored } => RandomWalk::default().memory(samples as u64, stored, &mut plan),
            Form::Pairs { stored } => {
                plan_given(&sizes, stored, &mut plan);
                // Of distances a graph is made; a similarity that is given would do without.
                if recipe.is_local() && stored >= sizes.pairs(sizes.samples) {
                    plan_neighbors(&*recipe, &sizes, &mut plan);
                    plan.neighbors = None;
                    recipe.memory(&sizes, &mut plan);
                }
            }
        }
        self.plan_descent(&sizes, &*recipe, is_sparse, &mut plan);
        // Prototypes see each other where any view does.
        for part in plan.parts.iter_mut().filter(|part| part.what == OF_PROTOTYPES && is_sparse) {
            part.bytes = part.bytes.saturating_mul(views as u64);
        }
        plan
    }

    fn plan_preparation(&self, sizes: &Sizes, fused: bool, plan: &mut MemoryPlan) {
        let is_projected = sizes.kept < sizes.features || matches!(self.pca, Projection::To(_));
        if !matches!(self.scale, Scaling::Auto | Scaling::None) {
            // Projected samples are made from scaled ones, which then go; the fused term scales once more.
            let until = if is_projected && !fused { Stage::Prepare } else { Stage::Fit };
            plan.hold("scaled samples", sizes.values(sizes.features), Stage::Prepare, until);
        }
        if is_projected {
            let pairs = bytes(1, &[sizes.features, sizes.features.min(sizes.samples).min(EXACT_FEATURES as u64)]);
            plan.hold("scatter of the features", bytes(40, &[pairs]), Stage::Prepare, Stage::Prepare);
            plan.hold("scatter that the allocator keeps", bytes(16, &[pairs]), Stage::Prepare, Stage::Fit);
            plan.hold("projected samples", sizes.values(sizes.kept), Stage::Prepare, Stage::Fit);
        }
    }

    fn plan_descent(&self, sizes: &Sizes, recipe: &dyn InputAffinity, is_sparse: bool, plan: &mut MemoryPlan) {
        let &Sizes { samples: n, features, kept, prototypes, value } = sizes;
        plan.hold("weights and labels", bytes(40, &[n]), Stage::Prepare, Stage::Fit);
        plan.hold("mean samples of the prototypes", bytes(8, &[prototypes, features]), Stage::Fit, Stage::Fit);
        if !matches!(recipe.new_samples(), NewSamples::Product { .. }) {
            plan.hold("samples that new ones are compared with", bytes(4, &[n, kept]), Stage::Fit, Stage::Fit);
        }
        if prototypes == n {
            return;
        }
        let groups = most_groups(n as usize, prototypes as usize) as u64;
        if value == 8 {
            plan.hold("samples in single precision, for the start", bytes(4, &[n, kept]), Stage::Start, Stage::Fit);
        }
        let seeded = n
            .saturating_add(
                most_seeded(if recipe.is_local() { groups } else { prototypes } as usize, n as usize) as u64
            );
        plan.hold("samples as k-means sees them", bytes(4, &[seeded, kept]), Stage::Start, Stage::Start);
        if kept == 0 {
            let wanted = if recipe.is_local() { n / 8 } else { prototypes }.min(50);
            plan.hold("eigenvectors, for the start", eigenvectors(n, wanted), Stage::Start, Stage::Start);
        }
        if recipe.is_local() {
            plan.hold(FIRST_GROUPS, first_groups(recipe, sizes), Stage::Start, Stage::Start);
        }
        let pairs = bytes(1, &[prototypes, prototypes]);
        let similarities = match recipe.neighborhood(n as usize) {
            Some(near) if is_sparse => bytes(SPARSE_PAIR, &[pairs.min(sizes.pairs((near.k as u64).saturating_mul(2)))]),
            _ => bytes(128, &[pairs]),
        };
        plan.hold(OF_PROTOTYPES, similarities, Stage::Fit, Stage::Fit);
        if !self.rule.is_free() {
            // Rows are seldom split, but the gradient is held some rows at a time, for each of two sinks a prototype.
            plan.hold("potentials and margins", bytes(64, &[n]), Stage::Start, Stage::Fit);
            plan.hold("plan and gradient, N×n", bytes(52, &[n, prototypes]), Stage::Start, Stage::Fit);
        } else if self.settings.solver != Solver::Vertex {
            plan.hold("soft plan, N×n", bytes(36, &[n, prototypes]), Stage::Start, Stage::Fit);
        }
    }
}

/// A map of the groups that a start merges, beside what merging them takes.
fn plan_map_of_groups(samples: usize, prototypes: usize, plan: &mut MemoryPlan) {
    let groups = most_groups(samples, prototypes);
    let merging = plan.parts.iter().find(|part| part.what == FIRST_GROUPS).map_or(0, |part| part.bytes);
    if groups <= MOST_MAPPED {
        let mapping = bytes(72, &[groups as u64, groups as u64]).saturating_sub(merging);
        plan.hold("map of the first groups", mapping, Stage::Start, Stage::Start);
    }
}

/// The leading eigenvectors of an N×N operator, with the blocks that they are found in.
fn eigenvectors(samples: u64, wanted: u64) -> u64 {
    let width = wanted.saturating_add((wanted / 2).max(6)).saturating_add(7) / 8 * 8;
    bytes(48, &[samples, width.min(samples)])
}

/// Blocks up to this size are kept by the allocator when they are given back (glibc's largest threshold for mapping).
const KEPT_BY_ALLOCATOR: u64 = 32 << 20;

/// The groups that a start merges: their similarities while they are summed, or while they are merged.
fn first_groups(recipe: &dyn InputAffinity, sizes: &Sizes) -> u64 {
    let groups = most_groups(sizes.samples as usize, sizes.prototypes as usize);
    let pairs = bytes(1, &[groups as u64, groups as u64]);
    let summed = (1 + parts_held(groups * groups).min((sizes.samples as usize).div_ceil(BLOCK))) as u64;
    // Groups see each other where samples do.
    let seen = match recipe.neighborhood(sizes.samples as usize) {
        Some(near) => pairs.min(sizes.pairs((near.k as u64).saturating_mul(2))),
        None => pairs,
    };
    let merged = pairs.saturating_mul(16).saturating_add(seen.saturating_mul(40));
    let table = pairs.saturating_mul(8);
    let kept = if table <= KEPT_BY_ALLOCATOR { 2 } else { 0 };
    merged.max(table.saturating_mul(summed + kept))
}

/// The search for neighbours, and what it finds.
fn plan_neighbors(recipe: &dyn InputAffinity, sizes: &Sizes, plan: &mut MemoryPlan) {
    let samples = sizes.samples as usize;
    let Some(near) = recipe.neighborhood(samples) else { return };
    let k = near.k.min(samples.saturating_sub(1));
    let exact = searches_exactly(samples);
    plan.neighbors = Some(Search { k, exact });
    let list = bytes(8, &[sizes.samples, k as u64]);
    let single = bytes(4, &[sizes.samples, sizes.kept]);
    let copies = if sizes.value == 4 { 1 } else { 2 };
    plan.hold("samples in single precision", single.saturating_mul(copies), Stage::Neighbors, Stage::Neighbors);
    let lists = if exact { list } else { list.saturating_mul(2) };
    plan.hold("lists of the search", lists, Stage::Neighbors, Stage::Neighbors);
    plan.hold("neighbours", list, Stage::Neighbors, Stage::Affinity);
}

/// The similarities of several views: made one after the other, kept beside their sum, which has the entries of all.
fn plan_views(recipe: &dyn InputAffinity, sizes: &Sizes, views: u64, plan: &mut MemoryPlan) {
    let mut one = MemoryPlan { parts: Vec::new(), neighbors: plan.neighbors };
    recipe.memory(sizes, &mut one);
    for part in one.parts {
        let times = if part.until == Stage::Fit { views.saturating_mul(2) } else { 1 };
        // The first views are kept while neighbours of the others are sought.
        let from = if part.until == Stage::Fit { part.from.min(Stage::Neighbors) } else { part.from };
        plan.hold(part.what, part.bytes.saturating_mul(times), from, part.until);
    }
    plan.hold("samples of all views, for the start", bytes(8, &[sizes.samples, sizes.kept]), Stage::Start, Stage::Fit);
}

/// A matrix of pairs that is given.
fn plan_given(sizes: &Sizes, stored: u64, plan: &mut MemoryPlan) {
    let dense = stored >= sizes.pairs(sizes.samples);
    let entry = if dense { sizes.value } else { sizes.value + 4 };
    // Twice, because the transpose of one that is not symmetric is kept too.
    plan.hold("given matrix of pairs", bytes(2 * entry, &[stored]), Stage::Prepare, Stage::Fit);
    if dense {
        let products = bytes(8, &[sizes.samples, sizes.prototypes]);
        plan.hold("products with the similarity", products, Stage::Start, Stage::Fit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::method::Method;

    fn shape(samples: usize, features: usize, is_single: bool) -> Shape {
        Shape { samples, form: Form::Samples { features }, is_single }
    }

    fn peak(recipe: &GromovDr, samples: usize, features: usize) -> u64 {
        recipe.memory_plan(&shape(samples, features, true)).peak()
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
        let plan = GromovDr::builder().memory_plan(&shape(10_000, 784, true));
        let all: u64 = plan.parts.iter().map(|part| part.bytes).sum();
        assert!(plan.peak() < all);
        assert!(plan.peak() >= 10_000 * 784 * 4);
        assert_eq!(plan.neighbors, Some(Search { k: 29, exact: true }));
        let many = GromovDr::builder().memory_plan(&shape(100_001, 784, true));
        assert_eq!(many.neighbors, Some(Search { k: 29, exact: false }));
    }

    #[test]
    fn numbers_beyond_any_machine_do_not_wrap() {
        let plan = GromovDr::builder().method(Method::Isomap).memory_plan(&shape(usize::MAX, usize::MAX, false));
        assert!(plan.check(u64::MAX - 1).is_err());
        let all = GromovDr::builder().neighbors(Some(usize::MAX)).memory_plan(&shape(1000, 3, true));
        assert_eq!(all.neighbors, Some(Search { k: 999, exact: true }));
        assert!(all.peak() < 1 << 30, "{}", all.peak());
    }

    #[test]
    fn the_refusal_names_what_is_largest() {
        let error = GromovDr::builder()
            .method(Method::Isomap)
            .memory_plan(&shape(20_000, 3, false))
            .check(1 << 30)
            .unwrap_err();
        let Error::Memory { needed, limit, what, .. } = error else { panic!("{error}") };
        assert!(needed > 6_400_000_000 && limit == 1 << 30 && what.contains("shortest paths"), "{needed} {what}");
    }
}
