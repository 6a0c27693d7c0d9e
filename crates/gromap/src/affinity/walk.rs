//! The similarity of the nodes of a graph: how often a short random walk meets two of them, against chance.
//!
//! ```text
//! P = D⁻¹·A        K = diag(π)·(P + P² + … + P^t)/t,  π the degrees over their sum
//! h = K·1          C_X = K ⊘ h·hᵀ
//! ```
//!
//! Nodes weigh what their degrees say, so that hᵀ·C_X·h = 1 and the loss of a free target is minus the mutual information
//! of the clusters at the two ends of a walk. With t = 1 that is, up to constants, the likelihood of a block model with
//! corrected degrees (Karrer and Newman 2011): hubs make no cluster of their own, as they do where all nodes weigh the
//! same. A few more steps give the nodes of sparse graphs the neighbourhoods that their few edges do not show; all
//! matrices of the sum have the same margins, so no step weighs more than another.
//!
//! Only the nodes that a walk most likely meets are kept in each row: memory grows with N, never with N². A node whose
//! share of the walk is below a threshold for each of its edges is a hub seen from afar, and is not followed (as in the
//! approximate PageRank of Andersen, Chung and Lang 2006): all it would add is the background that h·hᵀ stands for.
//!
//! Edges without direction are what a walk needs, so A stands for (A + Aᵀ)/2; loops are left out, for they say nothing of
//! other nodes. A node without edges, or in a component too small to be a cluster, weighs nothing: it would otherwise
//! take a prototype from those that have something to tell. The model puts it into the heaviest prototype.

use rayon::prelude::*;

use super::Warning;
use crate::error::{Error, Result};
use crate::memory::{MemoryPlan, bytes};
use crate::observe::Stage;
use crate::similarity::{Similarity, Sparse};
use crate::weights::SampleWeights;

/// A component is too small for a cluster if it weighs less than this share of an average one.
const LEAST_CLUSTER: f64 = 0.25;
/// Unless such components hold more than this share of the whole graph.
const MOST_SET_ASIDE: f64 = 0.5;
/// Nodes are followed if each of their edges takes at least this share of the walk.
const LEAST_STEP: f64 = 1e-5;

/// The recipe of random walks on a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomWalk {
    /// Steps of the longest walk, t.
    pub steps: usize,
    /// Nodes that are kept of a walk, at most.
    pub kept: usize,
}

impl Default for RandomWalk {
    fn default() -> Self {
        Self { steps: 5, kept: 50 }
    }
}

/// C_X of a graph, and what goes with it.
pub struct GraphAffinity {
    /// The similarity.
    pub similarity: Sparse<'static, f32>,
    /// What the nodes weigh.
    pub weights: SampleWeights,
    /// Nodes without weight, ascending.
    pub set_aside: Vec<u32>,
    /// What there is to say about it.
    pub warnings: Vec<Warning>,
}

impl RandomWalk {
    /// C_X of a graph given by its weights, of which none is negative; zero entries are no edges. `weights` say how often a
    /// node counts, equal ones change nothing. Components that are too small for one of so many clusters are set aside.
    ///
    /// ```
    /// use gromap::SampleWeights;
    /// use gromap::affinity::RandomWalk;
    /// use gromap::similarity::Sparse;
    /// let path = Sparse::new(vec![0, 1, 3, 4, 4], vec![1, 0, 2, 1], vec![1.0f32; 4])?;
    /// let found = RandomWalk::default().of_graph(&path, &SampleWeights::uniform(4)?, None)?;
    /// assert_eq!(found.set_aside, [3]);
    /// assert!((found.weights[1] - 0.5).abs() < 1e-6);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn of_graph(
        &self,
        graph: &Sparse<'_, f32>,
        weights: &SampleWeights,
        clusters: Option<usize>,
    ) -> Result<GraphAffinity> {
        if self.steps == 0 || self.kept == 0 {
            return Err(Error::parameter("steps and kept nodes of a walk", 0.0, "at least 1"));
        }
        let edges = Edges::new(graph, weights)?;
        let (set_aside, warnings) = edges.set_aside(clusters)?;
        let walks: Vec<Vec<(u32, f32)>> = (0..edges.len())
            .into_par_iter()
            .map_init(|| Room::new(edges.len()), |room, i| self.walk(&edges, i, room))
            .collect();
        let total: f64 = edges.degrees.iter().sum();
        let starts: Vec<f64> = edges.degrees.iter().map(|degree| degree / total).collect();
        let is_aside = flags(&set_aside, edges.len());
        let rows = both_ways(&walks, |i| if is_aside[i] { 0.0 } else { starts[i] });
        let (similarity, weights) = against_chance(&rows)?;
        Ok(GraphAffinity { similarity, weights, set_aside, warnings })
    }

    /// Adds what it holds to a plan of memory, for a graph of so many nodes and stored edges.
    pub(crate) fn memory(&self, nodes: u64, stored: u64, plan: &mut MemoryPlan) {
        // Each walk is met from both of its ends, unless the graph has fewer pairs.
        let entries = bytes(2, &[nodes, self.kept as u64]).min(bytes(1, &[nodes, nodes]));
        plan.hold("graph", bytes(16, &[stored]), Stage::Prepare, Stage::Fit);
        plan.hold("edges of both directions", bytes(24, &[stored]), Stage::Affinity, Stage::Affinity);
        plan.hold("random walks", bytes(48, &[entries]), Stage::Affinity, Stage::Affinity);
        plan.hold("similarity", bytes(16, &[entries]), Stage::Affinity, Stage::Fit);
    }

    /// Where walks from a node lead, on the mean of 1 to t steps: the likeliest nodes, ascending, their shares of sum 1.
    fn walk(&self, edges: &Edges, start: usize, room: &mut Room) -> Vec<(u32, f32)> {
        crate::interrupt::look();
        let mut at = vec![(start as u32, 1.0)];
        let mut met = Vec::new();
        for _ in 0..self.steps {
            for &(j, share) in &at {
                let (columns, values) = edges.row(j as usize);
                let of_edge = share / edges.degrees[j as usize];
                if share >= LEAST_STEP * columns.len() as f64 {
                    columns.iter().zip(values).for_each(|(&l, weight)| room.add(l, of_edge * weight));
                }
            }
            at = room.take(self.kept);
            met.extend_from_slice(&at);
        }
        met.iter().for_each(|&(j, share)| room.add(j, share));
        let mut met = room.take(self.kept);
        met.sort_unstable_by_key(|entry| entry.0);
        let whole: f64 = met.iter().map(|entry| entry.1).sum();
        met.into_iter().map(|(j, share)| (j, (share / whole) as f32)).collect()
    }
}

/// Edges without direction and loops, in compressed rows.
struct Edges {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    degrees: Vec<f64>,
}

impl Edges {
    fn new(graph: &Sparse<'_, f32>, weights: &SampleWeights) -> Result<Self> {
        let low = graph.bounds().low;
        if low.value < 0.0 {
            let (row, column) = low.at.unwrap_or_default();
            return Err(Error::Negative { row, column, value: low.value });
        }
        let count = |i: usize| weights[i] * weights.len() as f64;
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..graph.len() {
            let (to, from) = (graph.row(i), graph.column(i));
            for (j, there, back) in merged(to, from) {
                let weight = 0.5 * (there + back) * (count(i) * count(j as usize));
                if j as usize != i && weight > 0.0 {
                    columns.push(j);
                    values.push(weight);
                }
            }
            offsets.push(columns.len());
        }
        if columns.is_empty() {
            return Err(Error::parameter("number of edges", 0.0, "at least 1 between different nodes"));
        }
        let degrees = offsets.windows(2).map(|ends| values[ends[0]..ends[1]].iter().sum()).collect();
        Ok(Self { offsets, columns, values, degrees })
    }

    fn len(&self) -> usize {
        self.degrees.len()
    }

    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[i]..self.offsets[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The component of every node, numbered by their first nodes.
    fn components(&self) -> (Vec<u32>, usize) {
        let (mut names, mut found, mut next) = (vec![u32::MAX; self.len()], 0, Vec::new());
        for first in 0..self.len() {
            if names[first] != u32::MAX {
                continue;
            }
            names[first] = found;
            next.push(first as u32);
            while let Some(i) = next.pop() {
                for &j in self.row(i as usize).0 {
                    if names[j as usize] == u32::MAX {
                        names[j as usize] = found;
                        next.push(j);
                    }
                }
            }
            found += 1;
        }
        (names, found as usize)
    }

    /// Nodes without edges, and those of components that are too small for one of so many clusters.
    fn set_aside(&self, clusters: Option<usize>) -> Result<(Vec<u32>, Vec<Warning>)> {
        let (names, found) = self.components();
        let mut shares = vec![0.0; found];
        let total: f64 = self.degrees.iter().sum();
        names.iter().zip(&self.degrees).for_each(|(&name, degree)| shares[name as usize] += degree / total);
        let least = LEAST_CLUSTER / clusters.map_or(f64::INFINITY, |clusters| clusters.max(1) as f64);
        let small: f64 = shares.iter().filter(|share| **share < least).sum();
        let least = if small > MOST_SET_ASIDE { 0.0 } else { least };
        let is_aside = |i: &usize| self.degrees[*i] == 0.0 || shares[names[*i] as usize] < least;
        let aside: Vec<u32> = (0..self.len()).filter(is_aside).map(|i| i as u32).collect();
        let alone = self.degrees.iter().filter(|degree| **degree == 0.0).count();
        let warning = Warning::SetAside { alone, small: aside.len() - alone };
        let warnings = if aside.is_empty() { Vec::new() } else { vec![warning] };
        Ok((aside, warnings))
    }
}

/// The entries of two rows of ascending columns, zero where one has none.
fn merged<'r>(
    (columns, values): (&'r [u32], &'r [f32]),
    (others, other_values): (&'r [u32], &'r [f32]),
) -> impl Iterator<Item = (u32, f64, f64)> + 'r {
    let (mut a, mut b) = (0, 0);
    std::iter::from_fn(move || {
        let j = *columns.get(a).into_iter().chain(others.get(b)).min()?;
        let mut entry = (j, 0.0, 0.0);
        if columns.get(a) == Some(&j) {
            entry.1 = f64::from(values[a]);
            a += 1;
        }
        if others.get(b) == Some(&j) {
            entry.2 = f64::from(other_values[b]);
            b += 1;
        }
        Some(entry)
    })
}

/// Where a walk is, while a step is added up.
struct Room {
    shares: Vec<f64>,
    touched: Vec<u32>,
}

impl Room {
    fn new(nodes: usize) -> Self {
        Self { shares: vec![0.0; nodes], touched: Vec::new() }
    }

    #[inline]
    fn add(&mut self, node: u32, share: f64) {
        if self.shares[node as usize] == 0.0 {
            self.touched.push(node);
        }
        self.shares[node as usize] += share;
    }

    /// The `most` largest shares; the room is empty afterwards.
    fn take(&mut self, most: usize) -> Vec<(u32, f64)> {
        let mut found: Vec<(u32, f64)> = self.touched.iter().map(|&j| (j, self.shares[j as usize])).collect();
        self.touched.drain(..).for_each(|j| self.shares[j as usize] = 0.0);
        if found.len() > most {
            found.select_nth_unstable_by(most, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            found.truncate(most);
        }
        // The order of the sums that follow is that of the nodes.
        found.sort_unstable_by_key(|entry| entry.0);
        found.retain(|entry| entry.1 > 0.0);
        found
    }
}

fn flags(listed: &[u32], len: usize) -> Vec<bool> {
    let mut flags = vec![false; len];
    listed.iter().for_each(|&i| flags[i as usize] = true);
    flags
}

/// ½·(W + Wᵀ) of rows W scaled by `scale`, ascending.
fn both_ways(walks: &[Vec<(u32, f32)>], scale: impl Fn(usize) -> f64) -> Vec<Vec<(u32, f64)>> {
    let mut counts = vec![0usize; walks.len()];
    walks.iter().flatten().for_each(|&(j, _)| counts[j as usize] += 1);
    let mut rows: Vec<Vec<(u32, f64)>> =
        walks.iter().zip(&counts).map(|(walk, count)| Vec::with_capacity(walk.len() + count)).collect();
    for (i, walk) in walks.iter().enumerate() {
        let scale = 0.5 * scale(i);
        for &(j, share) in walk.iter().filter(|_| scale > 0.0) {
            rows[i].push((j, scale * f64::from(share)));
            rows[j as usize].push((i as u32, scale * f64::from(share)));
        }
    }
    rows.par_iter_mut().for_each(|row| {
        row.sort_by_key(|entry| entry.0);
        row.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
    });
    rows
}

/// K ⊘ h·hᵀ with its margins h = K·1, all over the sum of K.
fn against_chance(rows: &[Vec<(u32, f64)>]) -> Result<(Sparse<'static, f32>, SampleWeights)> {
    let margins: Vec<f64> = rows.iter().map(|row| row.iter().map(|entry| entry.1).sum()).collect();
    let total: f64 = margins.iter().sum();
    let weights = SampleWeights::new(&margins)?;
    let stored = rows.iter().map(Vec::len).sum();
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::with_capacity(stored), Vec::with_capacity(stored));
    for (i, row) in rows.iter().enumerate() {
        columns.extend(row.iter().map(|entry| entry.0));
        values.extend(row.iter().map(|&(j, mass)| (mass / total / (weights[i] * weights[j as usize])) as f32));
        offsets.push(columns.len());
    }
    Ok((Sparse::new(offsets, columns, values)?, weights))
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
