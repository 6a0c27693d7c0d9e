//! What a fit will hold, known before anything is allocated.
//!
//! A [`MemoryPlan`] lists every part that grows with the data, from the stage that makes it to the stage that last needs
//! it; the peak is the stage in which most is held at once. Counts are upper bounds where the data decide: the neighbour
//! graph united with its transpose has between N·k and 2·N·k entries, and 2·N·k is what is planned for. What does not grow
//! with N, p or n (tiles of matrix products, stacks of threads, pages of code) is a part of its own, of a fixed size.
//!
//! What counts is what the system sees. An allocator gives large blocks back to it, but keeps small ones for the next that
//! ask, so that rows of a graph that were made one by one are held until the end, and are counted until then.
//! `attack memory` compares plans with measured peaks.

use crate::error::{Error, Result};
use crate::observe::Stage;

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
pub struct Search {
    /// Neighbours of each sample.
    pub k: usize,
    /// Whether they are the nearest for certain.
    pub exact: bool,
}

/// What a fit will hold, and when.
///
/// ```
/// use gromap::data::{Form, Shape};
/// use gromap::{GromovDr, Method};
/// let shape = Shape { samples: 25_000, form: Form::Samples { features: 10 }, is_single: false };
/// let plan = GromovDr::builder().method(Method::KernelPca).memory_plan(&shape);
/// assert!(plan.peak() > 5_000_000_000); // N×N doubles
/// assert!(plan.check(1 << 30).unwrap_err().to_string().contains("kernel matrix"));
/// assert!(GromovDr::builder().memory_plan(&shape).check(1 << 30).is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryPlan {
    /// Every part, by the stage that makes it.
    pub parts: Vec<Part>,
    /// The search for neighbours, where the method makes one.
    pub neighbors: Option<Search>,
}

/// What does not grow with the data: tiles of matrix products, stacks of threads, pages of code.
pub(crate) const FIXED: u64 = 20 << 20;

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
        let (what, bytes) = self.largest();
        Err(Error::Memory { needed, limit, what, bytes })
    }

    /// Refuses what the allocator would not give, which ends a program otherwise.
    pub(crate) fn check_room(&self) -> Result<()> {
        let needed = self.peak();
        let mut room = Vec::<u8>::new();
        let is_there = usize::try_from(needed).is_ok_and(|needed| room.try_reserve_exact(needed).is_ok());
        // Looked at, so that the compiler does not leave the question out.
        if is_there && std::hint::black_box(room).is_empty() {
            return Ok(());
        }
        let (what, bytes) = self.largest();
        Err(Error::NoRoom { needed, what, bytes })
    }

    /// The largest part of the fullest stage.
    fn largest(&self) -> (&'static str, u64) {
        let fullest = STAGES.iter().max_by_key(|&&stage| self.total(stage));
        let largest = fullest.and_then(|&stage| self.held(stage).max_by_key(|part| part.bytes));
        largest.map_or(("nothing", 0), |part| (part.what, part.bytes))
    }

    /// Adds a part.
    pub fn hold(&mut self, what: &'static str, bytes: u64, from: Stage, until: Stage) {
        if bytes > 0 {
            self.parts.push(Part { what, bytes, from, until });
        }
    }

    /// Adds an N×N similarity and what solvers keep beside a dense one: its product with the plan.
    pub(crate) fn hold_dense_similarity(&mut self, what: &'static str, sizes: &Sizes) {
        self.hold(what, sizes.values(sizes.samples), Stage::Affinity, Stage::Fit);
        // Where every sample is a prototype there is no plan to multiply with.
        if sizes.prototypes < sizes.samples {
            let products = bytes(8, &[sizes.samples, sizes.prototypes]);
            self.hold("products with the similarity", products, Stage::Start, Stage::Fit);
        }
    }
}

/// Bytes of so many values; a product that no machine could hold stays at the largest number.
pub(crate) fn bytes(of_one: u64, counts: &[u64]) -> u64 {
    counts.iter().fold(of_one, |product, &count| product.saturating_mul(count))
}

/// Sizes of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Number of samples N.
    pub samples: u64,
    /// Number of features p.
    pub features: u64,
    /// Features that are left after the projection.
    pub kept: u64,
    /// Number of prototypes n.
    pub prototypes: u64,
    /// Bytes of a stored value.
    pub value: u64,
}

impl Sizes {
    /// Bytes of a matrix with a row for each sample and so many columns.
    pub fn values(&self, columns: u64) -> u64 {
        bytes(self.value, &[self.samples, columns])
    }

    /// Pairs of samples of which each has so many, or all there are.
    pub fn pairs(&self, of_each: u64) -> u64 {
        bytes(1, &[self.samples, of_each.min(self.samples)])
    }
}
