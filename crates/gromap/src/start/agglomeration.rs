//! Greedy merging of small groups into prototypes: the start that finds the best optima.
//!
//! A partition into groups is a hard plan, and at its best target costs Σ ψ(M, qqᵀ) (the loss of the
//! free target). Merging x and y adds their rows and columns of M and their weights, which raises the
//! cost by
//!
//! ```text
//! 2·Σ_{l ≠ x,y} [ψ(M_xl + M_yl, (q_x+q_y)·q_l) − ψ(M_xl, q_x·q_l) − ψ(M_yl, q_y·q_l)] + the corner
//! ```
//!
//! For KL that is the mutual information that the merge loses; there ψ = m − m·log m + m·log q_x + m·log q_l, whose last
//! parts add up to 2·μ·log q over groups with μ the row sums of M, so that a logarithm is needed only for groups l that
//! both x and y see, which means that M between them is not zero. Each step merges the pair that costs least among
//! groups that see each other; afterwards only the terms l of the merged pair have changed in the costs of its
//! neighbours. One run gives the partitions of every size.

use rayon::prelude::*;

use crate::loss::Loss;
use crate::numeric::logarithm::{ln, x_log_x};
use crate::numeric::vector::vectorized;
use crate::transport::PlanSummary;

/// The order in which groups were merged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dendrogram {
    leaves: usize,
    /// (kept, merged into it), by number of leaf.
    merges: Vec<(u32, u32)>,
}

impl Dendrogram {
    /// Merges the groups of a summary, of which every one has weight, until `fewest` are left.
    pub(crate) fn new(summary: &PlanSummary, loss: Loss, fewest: usize) -> Self {
        let leaves = summary.weights.len();
        let mut groups = Agglomeration::new(summary, loss);
        let merges = (fewest.max(1)..leaves).map(|_| groups.merge_cheapest()).collect();
        Self { leaves, merges }
    }

    /// The group of every leaf when `groups` are left, numbered by their first leaf.
    pub(crate) fn cut(&self, groups: usize) -> Vec<u32> {
        let merges = &self.merges[..self.leaves.saturating_sub(groups).min(self.merges.len())];
        let mut parent: Vec<u32> = (0..self.leaves as u32).collect();
        merges.iter().for_each(|&(kept, merged)| parent[merged as usize] = kept);
        let root = |mut leaf: u32| {
            while parent[leaf as usize] != leaf {
                leaf = parent[leaf as usize];
            }
            leaf as usize
        };
        let mut names = vec![u32::MAX; self.leaves];
        let mut next = 0;
        let mut name = |root: usize| {
            if names[root] == u32::MAX {
                names[root] = next;
                next += 1;
            }
            names[root]
        };
        (0..self.leaves as u32).map(|leaf| name(root(leaf))).collect()
    }
}

/// What merging any two groups that see each other would cost: (cost, one, other), one < other.
pub(super) fn merge_costs(summary: &PlanSummary, loss: Loss) -> Vec<(f64, u32, u32)> {
    let groups = Agglomeration::new(summary, loss);
    let edges = groups.edges.iter().enumerate().flat_map(|(x, row)| row.iter().map(move |edge| (x as u32, edge)));
    edges.filter(|(x, edge)| *x < edge.to).map(|(x, edge)| (edge.cost, x, edge.to)).collect()
}

/// What a group knows of another one that it sees.
#[derive(Debug, Clone, Copy)]
struct Edge {
    to: u32,
    /// M between the two.
    mass: f64,
    /// ψ(M, q·q) between the two.
    psi: f64,
    /// What merging the two would cost.
    cost: f64,
}

/// Groups on the way to be merged: M between them, and what each merge would cost.
struct Agglomeration {
    loss: Loss,
    weights: Vec<f64>,
    /// Row sums of M.
    margins: Vec<f64>,
    /// M and ψ of each group with itself.
    corners: Vec<(f64, f64)>,
    /// Edges by ascending `to`; none once a group is merged.
    edges: Vec<Vec<Edge>>,
    /// The cheapest edge of each group: cost and where to.
    best: Vec<(f64, u32)>,
    alive: Vec<u32>,
    /// M between every group and the two that merge, while they do.
    to_kept: Vec<f64>,
    to_merged: Vec<f64>,
    /// For KL, what the two terms of a group with them have above the term of the whole.
    gaps: Vec<f64>,
}

const NONE: (f64, u32) = (f64::INFINITY, u32::MAX);
/// Rows of costs that a thread takes at once.
const LEAST_SHARED: usize = 16;

/// What a pair of groups adds to the loss; for KL without the parts that add up over groups.
#[inline(always)]
fn term(loss: Loss, mass: f64, pairs: f64) -> f64 {
    if loss == Loss::Kl { -x_log_x(mass) } else { loss.at_best_target(mass, pairs) }
}

/// The part of KL that adds up over groups.
fn group_term(loss: Loss, margin: f64, weight: f64) -> f64 {
    if loss == Loss::Kl && margin > 0.0 { 2.0 * margin * ln(weight) } else { 0.0 }
}

impl Agglomeration {
    fn new(summary: &PlanSummary, loss: Loss) -> Self {
        let (q, n) = (&summary.weights, summary.weights.len());
        let mass = |x: usize, y: usize| 0.5 * (summary.mass[(x, y)] + summary.mass[(y, x)]);
        let psi = |m: f64, x: usize, y: usize| term(loss, m, q[x] * q[y]);
        let margin = |x: usize| (0..n).map(|y| mass(x, y)).sum();
        let edges_of = |x: usize| {
            let others = || (0..n).filter(|&y| y != x).map(|y| (y, mass(x, y))).filter(|&(_, m)| m != 0.0);
            // Counted first: a row that grows takes twice its room.
            let mut row = Vec::with_capacity(others().count());
            row.extend(others().map(|(y, m)| Edge { to: y as u32, mass: m, psi: psi(m, x, y), cost: 0.0 }));
            row
        };
        let mut groups = Self {
            loss,
            weights: q.clone(),
            margins: (0..n).map(margin).collect(),
            corners: (0..n).map(|x| (mass(x, x), psi(mass(x, x), x, x))).collect(),
            edges: (0..n).map(edges_of).collect(),
            best: vec![NONE; n],
            alive: (0..n as u32).collect(),
            to_kept: vec![0.0; n],
            to_merged: vec![0.0; n],
            gaps: vec![0.0; n],
        };
        let costs: Vec<Vec<f64>> = (0..n).into_par_iter().map(|x| groups.costs_of(x)).collect();
        for (x, costs) in costs.iter().enumerate() {
            groups.edges[x].iter_mut().zip(costs).for_each(|(edge, &cost)| edge.cost = cost);
            groups.find_best(x);
        }
        groups
    }

    /// What merging x with each that it sees costs, from scratch.
    fn costs_of(&self, x: usize) -> Vec<f64> {
        crate::interrupt::look();
        if self.loss != Loss::Kl {
            return self.edges[x].iter().map(|edge| self.cost(x, edge, self.common(x, edge.to as usize))).collect();
        }
        let (mut masses, mut terms) = (vec![0.0; self.weights.len()], vec![0.0; self.weights.len()]);
        for edge in &self.edges[x] {
            (masses[edge.to as usize], terms[edge.to as usize]) = (edge.mass, edge.psi);
        }
        let (mut both, mut apart) = (Vec::new(), Vec::new());
        let cost = |edge: &Edge| {
            // Where only the other end sees a group, x included, the two are the same to the bit.
            let others = &self.edges[edge.to as usize];
            both.clear();
            both.extend(others.iter().map(|other| masses[other.to as usize] + other.mass));
            apart.clear();
            apart.extend(others.iter().map(|other| terms[other.to as usize] + other.psi));
            vectorized(
                #[inline(always)]
                || both.iter_mut().for_each(|mass| *mass = -x_log_x(*mass)),
            );
            self.cost(x, edge, both.iter().zip(&apart).map(|(both, apart)| both - apart).sum())
        };
        self.edges[x].iter().map(cost).collect()
    }

    /// What the groups around x and y add to the cost of merging the two.
    fn common(&self, x: usize, y: usize) -> f64 {
        let q = self.weights[x] + self.weights[y];
        let (rows_x, rows_y) = (&self.edges[x], &self.edges[y]);
        let mut total = 0.0;
        let (mut i, mut j) = (0, 0);
        while i < rows_x.len() || j < rows_y.len() {
            let (to_x, to_y) = (rows_x.get(i).map_or(u32::MAX, |e| e.to), rows_y.get(j).map_or(u32::MAX, |e| e.to));
            let l = to_x.min(to_y);
            let (mut mass, mut psi) = (0.0, 0.0);
            if to_x == l {
                (mass, psi) = (rows_x[i].mass, rows_x[i].psi);
                i += 1;
            }
            if to_y == l {
                (mass, psi) = (mass + rows_y[j].mass, psi + rows_y[j].psi);
                j += 1;
            }
            if l as usize != x && l as usize != y {
                total += term(self.loss, mass, q * self.weights[l as usize]) - psi;
            }
        }
        total
    }

    /// What merging x with the other end of one of its edges costs, with what the groups around them add.
    fn cost(&self, x: usize, edge: &Edge, around: f64) -> f64 {
        let y = edge.to as usize;
        let q = self.weights[x] + self.weights[y];
        let ((own_x, psi_x), (own_y, psi_y)) = (self.corners[x], self.corners[y]);
        let corner = term(self.loss, own_x + own_y + 2.0 * edge.mass, q * q);
        let (margin_x, margin_y) = (self.margins[x], self.margins[y]);
        let groups = group_term(self.loss, margin_x + margin_y, q)
            - group_term(self.loss, margin_x, self.weights[x])
            - group_term(self.loss, margin_y, self.weights[y]);
        2.0 * around + corner - psi_x - psi_y - 2.0 * edge.psi + groups
    }

    fn find_best(&mut self, x: usize) {
        let cheaper = |best: (f64, u32), edge: &Edge| if edge.cost < best.0 { (edge.cost, edge.to) } else { best };
        self.best[x] = self.edges[x].iter().fold(NONE, cheaper);
    }

    /// Merges the cheapest pair, or the two lightest groups where none sees another.
    fn merge_cheapest(&mut self) -> (u32, u32) {
        let cheaper = |a: u32, b: u32| if self.best[b as usize].0 < self.best[a as usize].0 { b } else { a };
        let x = self.alive.iter().copied().reduce(cheaper).unwrap_or(0);
        let (cost, y) = self.best[x as usize];
        let (kept, merged) = if cost.is_finite() { (x.min(y), x.max(y)) } else { self.lightest_two() };
        self.merge(kept as usize, merged as usize);
        (kept, merged)
    }

    fn lightest_two(&self) -> (u32, u32) {
        let mut by_weight = self.alive.clone();
        by_weight.sort_by(|&a, &b| self.weights[a as usize].total_cmp(&self.weights[b as usize]).then(a.cmp(&b)));
        (by_weight[0].min(by_weight[1]), by_weight[0].max(by_weight[1]))
    }

    fn merge(&mut self, kept: usize, merged: usize) {
        let rows = [std::mem::take(&mut self.edges[kept]), std::mem::take(&mut self.edges[merged])];
        rows[0].iter().for_each(|edge| self.to_kept[edge.to as usize] = edge.mass);
        rows[1].iter().for_each(|edge| self.to_merged[edge.to as usize] = edge.mass);
        let between = self.to_kept[merged];
        let mut around: Vec<u32> = rows.iter().flatten().map(|edge| edge.to).collect();
        around.sort_unstable();
        around.dedup();
        around.retain(|&x| x as usize != kept && x as usize != merged);
        for &x in &around {
            let (a, b) = (self.to_kept[x as usize], self.to_merged[x as usize]);
            self.gaps[x as usize] = x_log_x(a + b) - x_log_x(a) - x_log_x(b);
        }
        self.shift_costs(&around, kept, merged);
        self.weights[kept] += self.weights[merged];
        self.margins[kept] += self.margins[merged];
        let own = self.corners[kept].0 + self.corners[merged].0 + 2.0 * between;
        self.corners[kept] = (own, term(self.loss, own, self.weights[kept].powi(2)));
        for &x in &around {
            self.join_edges(x as usize, kept, merged);
        }
        self.alive.retain(|&x| x as usize != merged);
        self.best[merged] = NONE;
        for row in &rows {
            row.iter().for_each(|edge| {
                let x = edge.to as usize;
                (self.to_kept[x], self.to_merged[x], self.gaps[x]) = (0.0, 0.0, 0.0);
            });
        }
        self.price_new(kept);
    }

    /// In the costs of the groups around a pair with their others, puts the merged pair in place of its two halves. For KL, of which
    /// that is nearly all the work, on all threads: what a row becomes depends on no other row.
    fn shift_costs(&mut self, around: &[u32], kept: usize, merged: usize) {
        if self.loss != Loss::Kl {
            around.iter().for_each(|&x| self.shift_costs_of(x as usize, kept, merged));
            return;
        }
        let mut rows: Vec<Vec<Edge>> = around.iter().map(|&x| std::mem::take(&mut self.edges[x as usize])).collect();
        let groups = &*self;
        rows.par_iter_mut().zip(around).with_min_len(LEAST_SHARED).for_each(|(row, &x)| {
            // A group that only one of x and y sees adds what is linear in its mass: nothing changes.
            let changes = groups.changes_for_kl(x as usize, row);
            row.iter_mut().zip(changes).for_each(|(edge, change)| edge.cost += change);
        });
        around.iter().zip(rows).for_each(|(&x, row)| self.edges[x as usize] = row);
    }

    /// The same for one group, by definition.
    fn shift_costs_of(&mut self, x: usize, kept: usize, merged: usize) {
        let mut row = std::mem::take(&mut self.edges[x]);
        for edge in row.iter_mut().filter(|edge| edge.to as usize != kept && edge.to as usize != merged) {
            let y = edge.to as usize;
            edge.cost += self.change(x, y, self.weights[kept], self.weights[merged]);
            if self.to_kept[y] == 0.0 && self.to_merged[y] == 0.0 {
                self.copy_cost(y, x, edge.cost);
            }
        }
        self.edges[x] = row;
    }

    /// How the cost of merging x with each of its others changes when two groups merge.
    fn changes_for_kl(&self, x: usize, row: &[Edge]) -> Vec<f64> {
        let (kept_x, merged_x, gap) = (self.to_kept[x], self.to_merged[x], self.gaps[x]);
        let mut changes: Vec<f64> = row.iter().map(|edge| self.to_kept[edge.to as usize]).collect();
        let to_merged: Vec<f64> = row.iter().map(|edge| self.to_merged[edge.to as usize]).collect();
        let gaps: Vec<f64> = row.iter().map(|edge| self.gaps[edge.to as usize]).collect();
        vectorized(
            #[inline(always)]
            || {
                for ((change, &merged_y), &gap_y) in changes.iter_mut().zip(&to_merged).zip(&gaps) {
                    let (kept, merged) = (kept_x + *change, merged_x + merged_y);
                    let terms = x_log_x(kept) + x_log_x(merged) - x_log_x(kept + merged);
                    *change = if *change + merged_y > 0.0 { 2.0 * (terms + (gap + gap_y)) } else { 0.0 };
                }
            },
        );
        changes
    }

    /// How the cost of merging x and y changes when two groups merge, by definition.
    fn change(&self, x: usize, y: usize, q_kept: f64, q_merged: f64) -> f64 {
        let psi = |mass: f64, pairs: f64| term(self.loss, mass, pairs);
        let (q_x, q_y) = (self.weights[x], self.weights[y]);
        let joined = |a: f64, b: f64, q: f64| psi(a + b, (q_x + q_y) * q) - psi(a, q_x * q) - psi(b, q_y * q);
        let ((kept_x, merged_x), (kept_y, merged_y)) =
            ((self.to_kept[x], self.to_merged[x]), (self.to_kept[y], self.to_merged[y]));
        let halves = joined(kept_x, kept_y, q_kept) + joined(merged_x, merged_y, q_merged);
        2.0 * (joined(kept_x + merged_x, kept_y + merged_y, q_kept + q_merged) - halves)
    }

    /// Notes at x what merging it with y costs now.
    fn copy_cost(&mut self, x: usize, y: usize, cost: f64) {
        if let Ok(at) = self.edges[x].binary_search_by_key(&(y as u32), |edge| edge.to) {
            self.edges[x][at].cost = cost;
        }
        self.find_best(x);
    }

    /// Replaces the edges of x to the two halves by one to the whole, and gives the whole its own.
    fn join_edges(&mut self, x: usize, kept: usize, merged: usize) {
        let mass = self.to_kept[x] + self.to_merged[x];
        let psi = term(self.loss, mass, self.weights[x] * self.weights[kept]);
        let row = &mut self.edges[x];
        row.retain(|edge| edge.to as usize != merged);
        let edge = Edge { to: kept as u32, mass, psi, cost: 0.0 };
        match row.binary_search_by_key(&(kept as u32), |edge| edge.to) {
            Ok(at) => row[at] = edge,
            Err(at) => row.insert(at, edge),
        }
        self.edges[kept].push(Edge { to: x as u32, ..edge });
    }

    /// Costs of merging the new group with those around it.
    fn price_new(&mut self, kept: usize) {
        let costs = self.costs_of(kept);
        for (at, cost) in costs.into_iter().enumerate() {
            self.edges[kept][at].cost = cost;
            self.copy_cost(self.edges[kept][at].to as usize, kept, cost);
        }
        self.find_best(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::Matrix;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn random_summary(n: usize, density: f64, seed: u64) -> PlanSummary {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut mass = Matrix::zeros(n, n);
        for x in 0..n {
            for y in 0..=x {
                let value = if x == y || rng.random::<f64>() < density { 0.02 * rng.random::<f64>() } else { 0.0 };
                (mass[(x, y)], mass[(y, x)]) = (value, value);
            }
        }
        let raw: Vec<f64> = (0..n).map(|_| 0.2 + rng.random::<f64>()).collect();
        let sum: f64 = raw.iter().sum();
        PlanSummary { mass, weights: raw.iter().map(|w| w / sum).collect() }
    }

    fn merged(summary: &PlanSummary, labels: &[u32], groups: usize) -> PlanSummary {
        let (mut mass, mut weights) = (Matrix::zeros(groups, groups), vec![0.0; groups]);
        for (x, &k) in labels.iter().enumerate() {
            weights[k as usize] += summary.weights[x];
            for (y, &l) in labels.iter().enumerate() {
                mass[(k as usize, l as usize)] += summary.mass[(x, y)];
            }
        }
        PlanSummary { mass, weights }
    }

    fn free_loss(summary: &PlanSummary, loss: Loss) -> f64 {
        let (q, n) = (&summary.weights, summary.weights.len());
        let pairs = (0..n).flat_map(|x| (0..n).map(move |y| (x, y)));
        pairs.map(|(x, y)| loss.at_best_target(summary.mass[(x, y)], q[x] * q[y])).sum()
    }

    /// Tries every pair of groups that see each other, by the definition of the loss.
    fn cheapest_by_trying(summary: &PlanSummary, labels: &[u32], groups: usize, loss: Loss) -> f64 {
        let now = merged(summary, labels, groups);
        let mut best = f64::INFINITY;
        for a in 0..groups {
            for b in a + 1..groups {
                if now.mass[(a, b)] == 0.0 {
                    continue;
                }
                let joined: Vec<u32> = (0..groups as u32)
                    .map(|k| {
                        if k as usize == b {
                            a as u32
                        } else if k as usize > b {
                            k - 1
                        } else {
                            k
                        }
                    })
                    .collect();
                best = best.min(free_loss(&merged(&now, &joined, groups - 1), loss));
            }
        }
        best
    }

    #[test]
    fn every_merge_is_the_cheapest_there_is() {
        for loss in [Loss::Kl, Loss::Square, Loss::BinaryCrossEntropy] {
            let summary = random_summary(24, 0.3, 5);
            let dendrogram = Dendrogram::new(&summary, loss, 1);
            for groups in (2..=24).rev() {
                let before = dendrogram.cut(groups);
                let after = merged(&summary, &dendrogram.cut(groups - 1), groups - 1);
                let best = cheapest_by_trying(&summary, &before, groups, loss);
                if best.is_finite() {
                    let ours = free_loss(&after, loss);
                    assert!((ours - best).abs() < 1e-12, "{loss} {groups}: {ours} {best}");
                }
            }
        }
    }

    #[test]
    fn groups_that_see_nobody_are_merged_by_weight() {
        let mut mass = Matrix::zeros(4, 4);
        (0..4).for_each(|k| mass[(k, k)] = 0.1);
        let summary = PlanSummary { mass, weights: vec![0.4, 0.1, 0.3, 0.2] };
        let dendrogram = Dendrogram::new(&summary, Loss::Kl, 1);
        assert_eq!(dendrogram.cut(4), [0, 1, 2, 3]);
        assert_eq!(dendrogram.cut(3), [0, 1, 2, 1]);
        assert_eq!(dendrogram.cut(1), [0, 0, 0, 0]);
    }

    #[test]
    fn a_cut_beyond_the_last_merge_is_the_last_one() {
        let dendrogram = Dendrogram::new(&random_summary(6, 1.0, 1), Loss::Kl, 3);
        assert_eq!(dendrogram.cut(1), dendrogram.cut(3));
        assert_eq!(dendrogram.cut(9), [0, 1, 2, 3, 4, 5]);
    }
}
