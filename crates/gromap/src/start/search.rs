//! A better partition of few groups into n: whole groups move, clusters split and merge.
//!
//! Groups of samples that stay together are samples themselves, with C = M ⊘ qqᵀ and weights q, so the
//! vertex descent of the barycenter serves them unchanged; a move then carries hundreds of samples
//! over a barrier that none of them would cross alone. What such moves cannot do, trading a cluster
//! here for one there, is tried directly: merge the two clusters that lose least, split the one that
//! gains most, descend, and keep what is lower.
//!
//! It runs on levels of the dendrogram from coarse to fine, as multigrid does.

use std::cmp::Ordering;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::agglomeration::{Dendrogram, merge_costs};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::plan::Plan;
use crate::similarity::{Similarity, Sparse};
use crate::transport::vertex::{FreeSummary, FreeTarget, Sweeps};
use crate::transport::{PlanSummary, Products};
use crate::weights::SampleWeights;

/// Groups of the coarsest level for every cluster.
const GROUPS_PER_CLUSTER: usize = 5;
/// Sweeps of a descent, at most.
const SWEEPS: usize = 20;
/// Work of all trials: their number times the clusters they look at.
const TRIALS_TIMES_CLUSTERS: usize = 500;
/// A trial must lower the loss by this share of it.
const LEAST_GAIN: f64 = 1e-9;

/// The n clusters of the groups of a summary that cost least, as far as they are found.
pub(super) fn partition(summary: &PlanSummary, loss: Loss, clusters: usize, seed: u64) -> Result<Vec<u32>> {
    let dendrogram = Dendrogram::new(summary, loss, clusters);
    let fine = GroupSearch::new(summary, loss)?;
    let coarse_size = GROUPS_PER_CLUSTER * clusters;
    if coarse_size >= summary.weights.len() {
        return fine.search(dendrogram.cut(clusters), clusters, seed);
    }
    let cut = dendrogram.cut(coarse_size);
    let summary = fine.summary_of(&cut, coarse_size)?;
    let coarse = GroupSearch::new(&summary, loss)?;
    let greedy = Dendrogram::new(&summary, loss, clusters).cut(clusters);
    let found = coarse.search(greedy, clusters, seed)?;
    fine.search(cut.iter().map(|&group| found[group as usize]).collect(), clusters, seed)
}

/// The search for a partition of groups, which are samples of their own here.
struct GroupSearch<'s> {
    loss: Loss,
    summary: &'s PlanSummary,
    similarity: Sparse<'static, f64>,
    weights: SampleWeights,
}

impl<'s> GroupSearch<'s> {
    fn new(summary: &'s PlanSummary, loss: Loss) -> Result<Self> {
        let (similarity, weights) = similarity_of_groups(summary)?;
        Ok(Self { loss, summary, similarity, weights })
    }

    fn plan(&self, labels: &[u32], clusters: usize) -> Result<Plan> {
        Plan::from_labels(labels.to_vec(), clusters, self.weights.clone())
    }

    fn summary_of(&self, labels: &[u32], clusters: usize) -> Result<PlanSummary> {
        let plan = self.plan(labels, clusters)?;
        Ok(PlanSummary::new(&plan, &Products::new(&self.similarity, &plan)))
    }

    fn value(&self, labels: &[u32], clusters: usize) -> Result<f64> {
        Ok(free_summary(self.loss, &self.summary_of(labels, clusters)?, vec![0; clusters]).loss())
    }

    fn descend(&self, labels: &[u32], clusters: usize, seed: u64) -> Result<Vec<u32>> {
        let plan = self.plan(labels, clusters)?;
        Ok(vertex_descent(&self.similarity, plan, self.loss, SWEEPS, seed).labels())
    }

    /// Descends from `labels`, and then by trials of merging and splitting.
    fn search(&self, labels: Vec<u32>, clusters: usize, seed: u64) -> Result<Vec<u32>> {
        let mut best = self.descend(&labels, clusters, seed)?;
        let mut lowest = self.value(&best, clusters)?;
        let mut trials = TRIALS_TIMES_CLUSTERS / clusters;
        'improved: while clusters > 2 && trials > 0 {
            for trade in self.trades(&best, clusters, trials)? {
                trials -= 1;
                let labels = trade.applied_to(&best, clusters as u32);
                let found = self.descend(&labels, clusters, seed)?;
                let value = self.value(&found, clusters)?;
                if value < lowest - LEAST_GAIN * lowest.abs() {
                    (best, lowest) = (found, value);
                    continue 'improved;
                }
            }
            break;
        }
        Ok(best)
    }

    /// The most promising ways to merge two clusters and split another, so many of them, the best first.
    fn trades(&self, labels: &[u32], clusters: usize, most: usize) -> Result<Vec<Trade>> {
        let now = self.value(labels, clusters)?;
        let mut merges = merge_costs(&self.summary_of(labels, clusters)?, self.loss);
        keep_least(&mut merges, clusters, |x, y| x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        let mut splits = Vec::new();
        for cluster in 0..clusters as u32 {
            if let Some(half) = self.half(labels, cluster) {
                let split = with_half(labels, &half, clusters as u32);
                splits.push((now - self.value(&split, clusters + 1)?, cluster, half));
            }
        }
        // Of every merge at most two splits are left out, those of its own clusters: so many contain the best.
        keep_least(&mut splits, most + 2, |x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        let pairs = merges.iter().flat_map(|merge| splits.iter().enumerate().map(move |split| (merge, split)));
        let mut trades: Vec<(f64, (u32, u32, u32), usize)> = pairs
            .filter(|((_, a, b), (_, (_, c, _)))| c != a && c != b)
            .map(|(&(cost, a, b), (at, (gain, c, _)))| (cost - gain, (a, b, *c), at))
            .collect();
        keep_least(&mut trades, most, |x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        let trade = |(_, (into, merged, _), at): (_, _, usize)| Trade { into, merged, half: splits[at].2.clone() };
        Ok(trades.into_iter().map(trade).collect())
    }

    /// One half of the groups of a cluster, which merging them down to two leaves.
    fn half(&self, labels: &[u32], cluster: u32) -> Option<Vec<u32>> {
        let members: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == cluster).collect();
        if members.len() < 2 {
            return None;
        }
        let mass = Matrix::from_fn(members.len(), members.len(), |a, b| self.summary.mass[(members[a], members[b])]);
        let weights = members.iter().map(|&i| self.summary.weights[i]).collect();
        let halves = Dendrogram::new(&PlanSummary { mass, weights }, self.loss, 2).cut(2);
        Some(members.iter().zip(&halves).filter(|(_, half)| **half == 1).map(|(&i, _)| i as u32).collect())
    }
}

/// Two clusters merged, and half of another in the place that is left.
struct Trade {
    into: u32,
    merged: u32,
    /// The groups that leave their cluster.
    half: Vec<u32>,
}

impl Trade {
    fn applied_to(&self, labels: &[u32], clusters: u32) -> Vec<u32> {
        let mut traded = with_half(labels, &self.half, clusters);
        for label in &mut traded {
            *label = match *label {
                k if k == self.merged => self.into,
                k if k == clusters => self.merged,
                k => k,
            };
        }
        traded
    }
}

/// Labels with some groups in a new cluster.
fn with_half(labels: &[u32], half: &[u32], new: u32) -> Vec<u32> {
    let mut split = labels.to_vec();
    half.iter().for_each(|&i| split[i as usize] = new);
    split
}

/// The `most` least items, ascending.
fn keep_least<T>(items: &mut Vec<T>, most: usize, order: impl Fn(&T, &T) -> Ordering) {
    if most < items.len() {
        items.select_nth_unstable_by(most, &order);
        items.truncate(most);
    }
    items.sort_by(order);
}

/// Groups as samples of their own: C = M ⊘ qqᵀ, symmetric, and weights q.
pub(crate) fn similarity_of_groups(summary: &PlanSummary) -> Result<(Sparse<'static, f64>, SampleWeights)> {
    let (q, n) = (&summary.weights, summary.weights.len());
    let mass = |k: usize, l: usize| 0.5 * (summary.mass[(k, l)] + summary.mass[(l, k)]);
    let stored = (0..n).map(|k| (0..n).filter(|&l| mass(k, l) != 0.0).count()).sum();
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::with_capacity(stored), Vec::with_capacity(stored));
    for k in 0..n {
        for l in (0..n).filter(|&l| mass(k, l) != 0.0) {
            columns.push(l as u32);
            values.push(mass(k, l) / (q[k] * q[l]));
        }
        offsets.push(columns.len());
    }
    Ok((Sparse::new(offsets, columns, values)?, SampleWeights::new(q)?))
}

fn free_summary(loss: Loss, summary: &PlanSummary, members: Vec<u32>) -> FreeSummary<'_> {
    FreeSummary { loss, factor: 1.0, symmetric: true, inputs: vec![(1.0, summary)], members }
}

/// Vertex descent with a free target from a hard plan of a symmetric similarity.
pub(super) fn vertex_descent(
    similarity: &dyn Similarity,
    mut plan: Plan,
    loss: Loss,
    sweeps: usize,
    seed: u64,
) -> Plan {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut products = Products::new(similarity, &plan);
    for _ in 0..sweeps {
        let summary = PlanSummary::new(&plan, &products);
        let mut members = vec![0; summary.weights.len()];
        plan.labels().iter().for_each(|&k| members[k as usize] += 1);
        let mut criterion = FreeTarget::new(&free_summary(loss, &summary, members), 0, None);
        if Sweeps::new(&mut plan, &mut products).sweep_until_broad(&mut criterion, &mut rng) == 0 {
            break;
        }
    }
    plan
}
