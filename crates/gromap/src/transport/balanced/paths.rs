//! An optimal basis for rows that are held, by successive shortest paths between sinks.
//!
//! Every sample begins at the sink that its costs and the potentials v like best. Then mass leaves sinks that are too full along
//! shortest paths to those with room, where a step from sink a to sink b moves the sample at a that this costs least:
//!
//! ```text
//! length of a → b:  v_a − v_b + min over samples i with mass at a of (c[i,b] − c[i,a])  ≥ 0
//! ```
//!
//! After every path potentials change by the distances, so that lengths stay not negative (Edmonds and Karp 1972). There are n sinks
//! and n² lengths however many samples there are, and about as many paths as there is mass to move: with good
//! potentials, few. For every two sinks the few samples of the least cost are listed in order; when they have left, all of the
//! sink are read again.
//!
//! The cells that samples are split between, and one of length zero for every sink that these leave apart, are a spanning tree: the
//! simplex takes it as its basis, and has nothing left to do but to prove it.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::Sinks;
use super::basis::{Basis, Parts};
use super::start::nearest;
use crate::numeric::Matrix;

/// Samples that are listed for two sinks, at most.
const LISTED: usize = 8;
/// Paths for every sample and sink after which the simplex takes over.
const MOST_PATHS: usize = 4;

/// The basis of an optimal plan, but for rounding; `None` where there is none without costs that are infinite.
pub(super) fn basis(costs: &Matrix<'_>, units: &[i64], sinks: &Sinks, potentials: &[f64]) -> Option<Basis> {
    let mut flow = Flow::new(costs, units, sinks, potentials.to_vec());
    let most = MOST_PATHS * (costs.rows() + costs.columns());
    let mut paths = 0;
    while flow.excess.iter().any(|&excess| excess > 0) {
        crate::interrupt::look();
        paths += 1;
        let to = (paths <= most).then(|| flow.shortest()).flatten()?;
        flow.send(to);
    }
    flow.break_cycles();
    let hooks = flow.hooks()?;
    Some(flow.into_basis(hooks))
}

/// Where mass is, and what it would cost to move.
struct Flow<'a> {
    costs: &'a Matrix<'a>,
    units: &'a [i64],
    /// The sink of samples that are not split.
    home: Vec<u32>,
    /// All parts of the others.
    splits: BTreeMap<u32, Vec<(u32, i64)>>,
    /// Samples with mass at every sink.
    members: Vec<Vec<u32>>,
    /// What every sink has too much; negative where there is room.
    excess: Vec<i64>,
    v: Vec<f64>,
    /// For every two sinks what it costs least to move a sample, which it is, and the others that are listed.
    least: Vec<f64>,
    steps: Vec<Step>,
    search: Search,
}

/// From one sink to another.
#[derive(Clone)]
struct Step {
    sample: u32,
    /// By cost, the least last.
    listed: Vec<(f64, u32)>,
    /// No sample that is not listed costs less.
    limit: f64,
}

/// Distances from sinks that are too full.
struct Search {
    distances: Vec<f64>,
    from: Vec<u32>,
    is_done: Vec<bool>,
}

const NONE: u32 = u32::MAX;

impl Step {
    fn new() -> Self {
        Self { sample: NONE, listed: Vec::with_capacity(LISTED), limit: f64::INFINITY }
    }

    /// Lists a sample if it is one of the cheapest; equal ones by their number.
    #[inline]
    fn offer(&mut self, cost: f64, sample: u32) {
        if cost >= self.limit {
            return;
        }
        let at = self.listed.partition_point(|&(other, i)| (other, i) > (cost, sample));
        if self.listed.len() == LISTED {
            if at == 0 {
                self.limit = cost;
                return;
            }
            self.limit = self.listed[0].0;
            self.listed.copy_within(1..at, 0);
            self.listed[at - 1] = (cost, sample);
        } else {
            self.listed.insert(at, (cost, sample));
        }
    }

    /// Takes the cheapest that is still there; what it costs.
    fn settle(&mut self, is_there: impl Fn(u32) -> bool) -> f64 {
        while self.listed.pop_if(|&mut (_, sample)| !is_there(sample)).is_some() {}
        let (cost, sample) = self.listed.last().copied().unwrap_or((f64::INFINITY, NONE));
        self.sample = sample;
        cost
    }
}

impl<'a> Flow<'a> {
    fn new(costs: &'a Matrix<'a>, units: &'a [i64], sinks: &Sinks, v: Vec<f64>) -> Self {
        let n = v.len();
        let mut excess: Vec<i64> = sinks.capacity.iter().map(|capacity| -capacity).collect();
        let mut members = vec![Vec::new(); n];
        let mut home = vec![0; units.len()];
        for (i, &units) in units.iter().enumerate().filter(|(_, units)| **units > 0) {
            let sink = roomiest(costs.row(i), &v, &excess);
            home[i] = sink as u32;
            members[sink].push(i as u32);
            excess[sink] += units;
        }
        let of_sink = |(a, members): (usize, &Vec<u32>)| {
            let mut steps = vec![Step::new(); n];
            for &i in members {
                let row = costs.row(i as usize);
                let own = row[a];
                steps.iter_mut().zip(row).for_each(|(step, cost)| step.offer(cost - own, i));
            }
            steps
        };
        let mut steps: Vec<Step> = members.par_iter().enumerate().flat_map_iter(of_sink).collect();
        let least = steps.iter_mut().map(|step| step.settle(|_| true)).collect();
        let search = Search { distances: vec![0.0; n], from: vec![NONE; n], is_done: vec![false; n] };
        Self { costs, units, home, splits: BTreeMap::new(), members, excess, v, least, steps, search }
    }

    /// The sample that it costs least to move.
    fn mover(&self, a: usize, b: usize) -> u32 {
        self.steps[a * self.v.len() + b].sample
    }

    fn length(&self, a: usize, b: usize) -> f64 {
        // Below zero it is rounding.
        (self.least[a * self.v.len() + b] + (self.v[a] - self.v[b])).max(0.0)
    }

    /// How much of a sample is at a sink.
    fn held(&self, sample: u32, sink: usize) -> i64 {
        match self.splits.get(&sample) {
            Some(parts) => parts.iter().find(|part| part.0 as usize == sink).map_or(0, |part| part.1),
            None if self.home[sample as usize] as usize == sink => self.units[sample as usize],
            None => 0,
        }
    }

    /// The nearest sink with room, and potentials with which the way to it has length zero; `None` where no way leads.
    fn shortest(&mut self) -> Option<usize> {
        let n = self.v.len();
        let Self { search, least, v, excess, .. } = self;
        search.from.fill(NONE);
        search.is_done.fill(false);
        for (distance, &excess) in search.distances.iter_mut().zip(&*excess) {
            *distance = if excess > 0 { 0.0 } else { f64::INFINITY };
        }
        let found = loop {
            let open = (0..n).filter(|&a| !search.is_done[a]);
            let next = open.reduce(|a, b| if search.distances[b] < search.distances[a] { b } else { a });
            let Some(a) = next.filter(|&a| search.distances[a] < f64::INFINITY) else { break None };
            if excess[a] < 0 {
                break Some(a);
            }
            search.is_done[a] = true;
            let (so_far, v_a) = (search.distances[a], v[a]);
            let ends = search.distances.iter_mut().zip(&mut search.from);
            for ((end, from), (cost, v_b)) in ends.zip(least[a * n..(a + 1) * n].iter().zip(&*v)) {
                let distance = so_far + (cost + (v_a - v_b)).max(0.0);
                // Sinks that are done are nearer.
                if distance < *end {
                    (*end, *from) = (distance, a as u32);
                }
            }
        };
        if let Some(to) = found {
            for a in (0..n).filter(|&a| search.is_done[a]) {
                v[a] += search.distances[a] - search.distances[to];
            }
        }
        found
    }

    /// Sends what fits along the way that was found.
    fn send(&mut self, to: usize) {
        let mut way = Vec::new();
        let mut b = to;
        while self.search.from[b] != NONE {
            let a = self.search.from[b] as usize;
            way.push((self.mover(a, b), a, b));
            b = a;
        }
        let most = self.excess[b].min(-self.excess[to]);
        let units = way.iter().map(|&(sample, a, _)| self.held(sample, a)).fold(most, i64::min);
        self.excess[b] -= units;
        self.excess[to] += units;
        way.into_iter().rev().for_each(|(sample, a, b)| self.shift(sample, a, b, units));
    }

    /// Moves a part of a sample from one sink to another.
    fn shift(&mut self, sample: u32, from: usize, to: usize, units: i64) {
        let home = self.home[sample as usize];
        let parts = self.splits.entry(sample).or_insert_with(|| vec![(home, self.units[sample as usize])]);
        let is_new = match parts.iter_mut().find(|part| part.0 as usize == to) {
            Some(part) => {
                part.1 += units;
                false
            }
            None => {
                parts.push((to as u32, units));
                true
            }
        };
        if let Some(part) = parts.iter_mut().find(|part| part.0 as usize == from) {
            part.1 -= units;
        }
        let before = parts.len();
        parts.retain(|part| part.1 > 0);
        let has_left = parts.len() < before;
        if let [(sink, _)] = parts[..] {
            self.home[sample as usize] = sink;
            self.splits.remove(&sample);
        }
        if is_new {
            self.enter(sample, to);
        }
        if has_left {
            self.leave(sample, from);
        }
    }

    fn enter(&mut self, sample: u32, sink: usize) {
        self.members[sink].push(sample);
        let (n, row) = (self.v.len(), self.costs.row(sample as usize));
        let steps = self.steps[sink * n..(sink + 1) * n].iter_mut().zip(&mut self.least[sink * n..(sink + 1) * n]);
        for ((step, least), cost) in steps.zip(row) {
            let cost = cost - row[sink];
            step.offer(cost, sample);
            if (cost, sample) < (*least, step.sample) {
                (*least, step.sample) = (cost, sample);
            }
        }
    }

    fn leave(&mut self, sample: u32, sink: usize) {
        if let Some(at) = self.members[sink].iter().position(|&member| member == sample) {
            self.members[sink].swap_remove(at);
        }
        let n = self.v.len();
        for b in 0..n {
            if self.steps[sink * n + b].sample == sample {
                let mut step =
                    std::mem::replace(&mut self.steps[sink * n + b], Step { sample: NONE, listed: vec![], limit: 0.0 });
                let mut cost = step.settle(|sample| self.held(sample, sink) > 0);
                if step.sample == NONE && step.limit < f64::INFINITY {
                    step.limit = f64::INFINITY;
                    for &i in &self.members[sink] {
                        let row = self.costs.row(i as usize);
                        step.offer(row[b] - row[sink], i);
                    }
                    cost = step.settle(|_| true);
                }
                (self.steps[sink * n + b], self.least[sink * n + b]) = (step, cost);
            }
        }
    }

    /// Where split samples tie sinks together in a circle, mass goes round until a cell is empty: all of them have length zero.
    fn break_cycles(&mut self) {
        while let Some(circle) = circle(&self.splits, self.v.len()) {
            let units = circle.iter().map(|&(sample, from, _)| self.held(sample, from)).min().unwrap_or(0);
            circle.into_iter().for_each(|(sample, from, to)| self.shift(sample, from, to, units));
        }
    }

    /// Cells without mass that tie all sinks to the first: each leads from a sample up to its parent.
    fn hooks(&mut self) -> Option<Vec<(u32, u32)>> {
        let n = self.v.len();
        let mut parts = Parts::new(n);
        self.splits.values().for_each(|cells| cells.windows(2).for_each(|two| parts.join(two[0].0, two[1].0)));
        let part: Vec<u32> = (0..n as u32).map(|sink| parts.of(sink)).collect();
        let mut is_tied: Vec<bool> = (0..n).map(|sink| part[sink] == part[0]).collect();
        let mut hooks = Vec::new();
        while is_tied.contains(&false) {
            let loose = (0..n).filter(|&b| !is_tied[b]);
            let pairs = loose.flat_map(|b| (0..n).filter(|&a| is_tied[a]).map(move |a| (b, a)));
            let shortest = |x: (usize, usize), y: (usize, usize)| match self.length(y.0, y.1) < self.length(x.0, x.1) {
                true => y,
                false => x,
            };
            let (b, a) = pairs.reduce(shortest)?;
            let length = self.length(b, a);
            if length == f64::INFINITY {
                return None;
            }
            (0..n).filter(|&sink| !is_tied[sink]).for_each(|sink| self.v[sink] -= length);
            hooks.push((self.mover(b, a), a as u32));
            (0..n).filter(|&sink| part[sink] == part[b]).for_each(|sink| is_tied[sink] = true);
        }
        Some(hooks)
    }

    fn into_basis(mut self, hooks: Vec<(u32, u32)>) -> Basis {
        for (sample, sink) in hooks {
            let whole = (self.home[sample as usize], self.units[sample as usize]);
            self.splits.entry(sample).or_insert_with(|| vec![whole]).push((sink, 0));
        }
        // Samples without mass go where they cost least.
        if self.units.contains(&0) {
            let nearest = nearest(self.costs, &self.v);
            let weightless = (0..self.units.len()).filter(|&i| self.units[i] == 0);
            weightless.for_each(|i| self.home[i] = nearest[i]);
        }
        let splits: Vec<_> = self.splits.into_iter().collect();
        let cost = |sample: usize, sink: usize| self.costs[(sample, sink)];
        Basis::new(self.units.to_vec(), self.home, &splits, self.v.len(), cost)
    }
}

/// The sink of the lowest cost less potential; of equal ones, that with the most room, so that ties are no reason to move later.
fn roomiest(row: &[f64], v: &[f64], excess: &[i64]) -> usize {
    let reduced = row.iter().zip(v).map(|(cost, v)| cost - v);
    let least = reduced.clone().fold(f64::INFINITY, |a, b| if b < a { b } else { a });
    let best = reduced.enumerate().filter(|(_, cost)| *cost == least).map(|(sink, _)| sink);
    best.reduce(|a, b| if excess[b] < excess[a] { b } else { a }).unwrap_or(0)
}

/// Samples that are split in a circle of sinks, each with the sink that it leaves and the one that it goes to.
fn circle(splits: &BTreeMap<u32, Vec<(u32, i64)>>, n: usize) -> Option<Vec<(u32, usize, usize)>> {
    let mut parts = Parts::new(n);
    // Ties between sinks that are already in use, by sink.
    let mut ties: Vec<Vec<(u32, u32)>> = vec![Vec::new(); n];
    for (&sample, cells) in splits {
        // A sample ties its first sink to each of the others.
        let first = cells[0].0;
        for &(sink, _) in &cells[1..] {
            if parts.of(first) == parts.of(sink) {
                return Some(closed(&ties, (sample, first, sink)));
            }
            parts.join(first, sink);
            ties[first as usize].push((sample, sink));
            ties[sink as usize].push((sample, first));
        }
    }
    None
}

/// The way from the end of a tie back to its beginning, over others, and the tie itself.
fn closed(ties: &[Vec<(u32, u32)>], (sample, first, last): (u32, u32, u32)) -> Vec<(u32, usize, usize)> {
    let mut from: Vec<Option<(u32, u32)>> = vec![None; ties.len()];
    let mut queue = vec![last];
    let mut at = 0;
    while from[first as usize].is_none() && at < queue.len() {
        let sink = queue[at];
        at += 1;
        for &(sample, next) in &ties[sink as usize] {
            if from[next as usize].is_none() && next != last {
                from[next as usize] = Some((sample, sink));
                queue.push(next);
            }
        }
    }
    let mut way = vec![(sample, first as usize, last as usize)];
    let mut sink = first;
    while let (Some((sample, before)), true) = (from[sink as usize], sink != last) {
        match way.last_mut() {
            // What a sample only passes through does not count.
            Some(step) if step.0 == sample => step.1 = before as usize,
            _ => way.push((sample, before as usize, sink as usize)),
        }
        sink = before;
    }
    way
}
