//! Exact balanced optimal transport from N samples to n ≪ N sinks:
//!
//! ```text
//! min over T ≥ 0:  Σ c[i,k]·T[i,k],   T·1 = h,   low ≤ Tᵀ1 ≤ high
//! ```
//!
//! by a transportation simplex. Its basis is a tree in which nearly all samples are leaves, so that it is kept for the n sinks and the
//! samples between them only (`basis.rs`). Costs are read row by row, some rows at a time: in such a *group* samples that cost less
//! elsewhere are moved until there are none, then comes the next, until a round over all groups moves nothing. That is
//! the proof of optimality. Nothing of size N×n is held.
//!
//! The start decides how much there is to do. Potentials of a good part of the samples are nearly those of all, so the
//! problem is first solved for every eighth of them (and for that, of every eighth of those), and begins with every sample at the
//! sink that these potentials suggest. Where all rows can be held, mass then goes along shortest paths between sinks until they
//! are filled (`paths.rs`), and the simplex proves what it is given; where not, a start is made feasible (`start.rs`) and the
//! simplex does the rest.
//!
//! Bounds are the same problem: a sink that must receive `low` and may receive up to `high` is two, the second of which is shared with a
//! *filler*, one more sample that costs nothing there and takes what is left free.

mod basis;
mod paths;
mod sinkhorn;
mod start;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use self::basis::Basis;
pub(crate) use self::sinkhorn::{Sinkhorn, sinkhorn};
pub(crate) use self::start::nearest;
use super::FeatureCost;
use crate::numeric::Matrix;
use crate::numeric::blocks::{BLOCK, blocks};
use crate::plan::Plan;
use crate::weights::{Demand, SampleWeights};
use rayon::prelude::*;

/// Costs that are priced together, and so held, at most: some megabytes.
const GROUP: usize = 1 << 20;
/// Rows that a pivot takes the best of.
const CHUNK: usize = 8;
/// One of so many rows goes into the smaller problem that potentials begin with.
const STRIDE: usize = 8; // a divisor of BLOCK
/// Rows for every sink below which potentials begin at zero.
const FEW: usize = 8;
/// The whole mass, in units that masses are whole numbers of: few enough for a share of it to be exact to a unit.
const WHOLE: i64 = 1 << 50;
/// How far a share may be from a whole number of units and still be meant to be one.
const ROUNDING: f64 = 0.1;

/// Costs of N samples at n sinks, which are read by rows.
pub(crate) trait RowCosts: Sync {
    /// Number of samples N.
    fn len(&self) -> usize;
    /// Number of sinks n.
    fn sinks(&self) -> usize;
    /// Writes the costs of some samples, n numbers each.
    fn rows(&self, rows: Range<usize>, out: &mut [f64]);
}

impl RowCosts for Matrix<'_> {
    fn len(&self) -> usize {
        Matrix::rows(self)
    }

    fn sinks(&self) -> usize {
        self.columns()
    }

    fn rows(&self, rows: Range<usize>, out: &mut [f64]) {
        let n = self.columns();
        out.copy_from_slice(&self.values()[rows.start * n..rows.end * n]);
    }
}

impl RowCosts for FeatureCost<'_> {
    fn len(&self) -> usize {
        self.samples().len()
    }

    fn sinks(&self) -> usize {
        self.prototypes().rows()
    }

    fn rows(&self, rows: Range<usize>, out: &mut [f64]) {
        FeatureCost::rows(self, rows, out);
    }
}

/// An optimal plan, and the potentials that prove it.
pub(crate) struct Solution {
    pub(crate) plan: Plan,
    /// Where another problem with the same demand may begin.
    pub(crate) potentials: Vec<f64>,
}

/// The plan of lowest cost. `potentials` are those of a problem like this one, if there are any.
pub(crate) fn solve(
    costs: &dyn RowCosts,
    weights: &SampleWeights,
    demand: &Demand,
    potentials: Option<&[f64]>,
) -> Solution {
    let sinks = Sinks::new(demand, weights);
    let units = sinks.units(weights);
    let expanded = Expanded { costs, sinks: &sinks };
    let potentials = potentials.filter(|v| v.len() == sinks.of.len()).map(<[f64]>::to_vec);
    let basis = optimal(&expanded, units.clone(), &sinks, potentials);
    let potentials = basis.potentials().to_vec();
    Solution { plan: sinks.plan(basis, &units, weights), potentials }
}

/// Σ c·T.
pub(crate) fn cost_of(costs: &dyn RowCosts, plan: &Plan) -> f64 {
    let partial: Vec<f64> = blocks(plan.len()).map(|rows| cost_of_block(costs, plan, rows)).collect();
    partial.into_iter().sum()
}

fn cost_of_block(costs: &dyn RowCosts, plan: &Plan, rows: Range<usize>) -> f64 {
    let n = plan.prototypes();
    let mut block = vec![0.0; rows.len() * n];
    costs.rows(rows.clone(), &mut block);
    let of_row = |(i, costs): (usize, &[f64])| plan.row(i).iter().map(|(k, mass)| mass * costs[k]).sum::<f64>();
    rows.zip(block.chunks_exact(n)).map(of_row).sum()
}

/// Sinks as the simplex has them: those that must be filled, and those that may be.
struct Sinks {
    /// How many there were.
    asked: usize,
    /// The sink that each stands for.
    of: Vec<u32>,
    capacity: Vec<i64>,
    /// Whether the filler may go there.
    is_optional: Vec<bool>,
    /// Units of all samples.
    whole: i64,
    /// Units of the filler.
    filler: i64,
}

impl Sinks {
    fn new(demand: &Demand, weights: &SampleWeights) -> Self {
        let Demand { low, high } = demand;
        let n = high.len() as i64;
        let whole = WHOLE.min((1 << 62) / (n + 1));
        // Equal samples are the same number of units, of which equal sinks take a whole number.
        let samples = weights.len() as i64;
        let whole = match whole / (samples * n) {
            0 => whole,
            times if weights.iter().all(|weight| *weight == weights[0]) => times * samples * n,
            _ => whole,
        };
        let is_exact = low == high;
        let (must, may) = if is_exact {
            (in_units(low, whole), vec![0; high.len()])
        } else {
            let must: Vec<i64> = low.iter().map(|share| (share * whole as f64 + ROUNDING).floor() as i64).collect();
            let most = |(share, must): (&f64, &i64)| ((share * whole as f64 - ROUNDING).ceil() as i64 - must).max(0);
            let may = high.iter().zip(&must).map(most).collect();
            (must, may)
        };
        let mut sinks =
            Self { asked: high.len(), of: vec![], capacity: vec![], is_optional: vec![], whole, filler: -whole };
        for (k, (must, may)) in must.into_iter().zip(may).enumerate() {
            for (capacity, is_optional) in [(must, false), (may, true)] {
                if capacity > 0 {
                    sinks.of.push(k as u32);
                    sinks.capacity.push(capacity);
                    sinks.is_optional.push(is_optional);
                    sinks.filler += capacity;
                }
            }
        }
        sinks.repair();
        sinks
    }

    /// A unit more for every sink but the last, which pays for all: no sinks but all of them together are then filled by whole
    /// samples of equal weight, so that hardly a pivot moves nothing.
    fn perturbed(&self) -> Vec<i64> {
        let mut capacity = self.capacity.clone();
        let units = capacity.len() as i64 - 1;
        if let Some((last, others)) = capacity.split_last_mut()
            && *last > units
        {
            *last -= units;
            others.iter_mut().for_each(|capacity| *capacity += 1);
        }
        capacity
    }

    /// Bounds that leave no room, but for their last digit, are given it.
    fn repair(&mut self) {
        let largest = |sinks: &Self, optional: bool| {
            let which = (0..sinks.of.len()).filter(|&k| sinks.is_optional[k] == optional);
            which.reduce(|a, b| if sinks.capacity[b] > sinks.capacity[a] { b } else { a })
        };
        let must: i64 = (0..self.of.len()).filter(|&k| !self.is_optional[k]).map(|k| self.capacity[k]).sum();
        if let (true, Some(k)) = (must > self.whole, largest(self, false)) {
            self.capacity[k] -= must - self.whole;
            self.filler -= must - self.whole;
        }
        if let (true, Some(k)) = (self.filler < 0, largest(self, true).or(largest(self, false))) {
            self.capacity[k] -= self.filler;
            self.filler = 0;
        }
    }

    /// Weights of samples in units, and the filler behind them, if there is one.
    fn units(&self, weights: &[f64]) -> Vec<i64> {
        let mut units = in_units(weights, self.whole);
        if self.filler > 0 {
            units.push(self.filler);
        }
        units
    }

    /// The plan of a basis, without the filler, and without what rounding to units left over.
    fn plan(&self, basis: Basis, units: &[i64], weights: &SampleWeights) -> Plan {
        let (labels, cells) = basis.into_plan();
        // Every sample and every sink may be off by half a unit, and paths of the tree add that up.
        let dust = (weights.len() + self.of.len()) as i64;
        let is_dust = |sample: u32, sink: u32, mass: i64| {
            mass <= dust && 2 * mass < units[sample as usize] && 2 * mass < self.capacity[sink as usize]
        };
        let mut parts: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
        let real = cells
            .into_iter()
            .filter(|&(sample, sink, mass)| (sample as usize) < weights.len() && !is_dust(sample, sink, mass));
        for (sample, sink, mass) in real {
            let sink = self.of[sink as usize] as usize;
            let row = parts.entry(sample).or_default();
            match row.iter_mut().find(|part| part.0 == sink) {
                Some(part) => part.1 += mass as f64,
                None => row.push((sink, mass as f64)),
            }
        }
        Plan::from_rows(self.asked, weights.clone(), |i| {
            let whole = [(self.of[labels[i] as usize] as usize, 1.0)];
            parts.get(&(i as u32)).cloned().unwrap_or_else(|| whole.to_vec()).into_iter()
        })
    }
}

/// Weights as whole numbers that sum to `whole` exactly.
fn in_units(weights: &[f64], whole: i64) -> Vec<i64> {
    let sum: f64 = weights.iter().sum();
    let mut units: Vec<i64> = weights.iter().map(|w| (w / sum * whole as f64).round() as i64).collect();
    let rest = whole - units.iter().sum::<i64>();
    // What rounding left over is a matter of the last digit of the largest.
    if let Some(largest) = (0..units.len()).reduce(|a, b| if units[b] > units[a] { b } else { a }) {
        units[largest] += rest;
    }
    units
}

/// The costs of the simplex: columns of sinks that stand for one may be several, and none where nothing may go.
struct Expanded<'a> {
    costs: &'a dyn RowCosts,
    sinks: &'a Sinks,
}

impl RowCosts for Expanded<'_> {
    fn len(&self) -> usize {
        self.costs.len() + usize::from(self.sinks.filler > 0)
    }

    fn sinks(&self) -> usize {
        self.sinks.of.len()
    }

    fn rows(&self, rows: Range<usize>, out: &mut [f64]) {
        let (n, all) = (self.costs.sinks(), self.sinks.of.len());
        let real = rows.start.min(self.costs.len())..rows.end.min(self.costs.len());
        let count = real.len();
        // Sinks in their own order, each once: the rows as they are.
        if all == n && self.sinks.of.iter().enumerate().all(|(k, &of)| k == of as usize) {
            self.costs.rows(real, &mut out[..count * n]);
        } else {
            let mut block = vec![0.0; count * n];
            self.costs.rows(real, &mut block);
            for (out, row) in out.chunks_exact_mut(all).zip(block.chunks_exact(n)) {
                out.iter_mut().zip(&self.sinks.of).for_each(|(out, &k)| *out = row[k as usize]);
            }
        }
        // Only differences within a row matter: without its least cost they are as exact as they can be.
        for row in out[..count * all].chunks_exact_mut(all) {
            let least = row.iter().copied().fold(f64::INFINITY, f64::min);
            row.iter_mut().for_each(|cost| *cost -= least);
        }
        for row in out[count * all..].chunks_exact_mut(all) {
            let cost = |optional: &bool| if *optional { 0.0 } else { f64::INFINITY };
            row.iter_mut().zip(self.sinks.is_optional.iter().map(cost)).for_each(|(out, cost)| *out = cost);
        }
    }
}

/// Some rows of costs, held.
struct Group<'a> {
    costs: &'a dyn RowCosts,
    rows: Range<usize>,
    values: Cow<'a, [f64]>,
}

impl<'a> Group<'a> {
    fn new(costs: &'a dyn RowCosts) -> Self {
        Self { costs, rows: 0..0, values: Cow::default() }
    }

    /// All rows of costs that are held anyway.
    fn of_matrix(costs: &'a Matrix<'_>) -> Self {
        Self { costs, rows: 0..costs.rows(), values: Cow::Borrowed(costs.values()) }
    }

    /// All rows as a matrix.
    fn into_matrix(mut self) -> Matrix<'static> {
        let (rows, columns) = (self.costs.len(), self.costs.sinks());
        self.read(0..rows);
        Matrix::new(self.values.into_owned(), rows, columns).expect("a row for each sample")
    }

    /// Reads other rows, a block for each thread at a time.
    fn read(&mut self, rows: Range<usize>) {
        if rows == self.rows {
            return;
        }
        let n = self.costs.sinks();
        let values = self.values.to_mut();
        values.resize(rows.len() * n, 0.0);
        let (first, costs) = (rows.start, self.costs);
        values.par_chunks_mut(BLOCK * n).enumerate().for_each(|(b, out)| {
            crate::interrupt::look();
            let start = first + b * BLOCK;
            costs.rows(start..start + out.len() / n, out);
        });
        self.rows = rows;
    }

    /// Largest cost in size.
    fn scale(&self) -> f64 {
        let larger = |a: f64, b: &f64| if b.is_finite() && b.abs() > a { b.abs() } else { a };
        self.values.iter().fold(0.0, larger)
    }

    /// Moves samples until none costs less elsewhere; whether any did.
    ///
    /// All rows are asked at the same potentials who would move; these lie where sinks meet and will move again, so they are let go
    /// until they rest before all are asked again. A row is not asked while its margin lasts.
    fn settle(&self, basis: &mut Basis, tolerance: f64, margins: &mut Margins) -> bool {
        let n = self.costs.sinks();
        let mut moved = false;
        loop {
            let drift = margins.drift(basis.potentials());
            let asked = margins.of_rows.par_chunks_mut(BLOCK).zip(self.values.par_chunks(BLOCK * n)).enumerate();
            let movers: Vec<u32> = asked
                .flat_map_iter(|(block, (margins, costs))| {
                    let first = block * BLOCK;
                    let row = |i: usize| (self.rows.start + first + i, &costs[i * n..(i + 1) * n]);
                    let mut movers = Vec::new();
                    for (i, margin) in margins.iter_mut().enumerate() {
                        *margin -= drift;
                        if *margin <= tolerance {
                            let (sample, costs) = row(i);
                            *margin = basis.margin(sample, costs);
                            if *margin < -tolerance {
                                movers.push((first + i) as u32);
                            }
                        }
                    }
                    movers
                })
                .collect();
            if movers.is_empty() {
                return moved;
            }
            moved = true;
            while self.sweep(&movers, basis, tolerance) {}
        }
    }

    /// Makes the best move of every few of these rows until there is none; whether there was one.
    fn sweep(&self, rows: &[u32], basis: &mut Basis, tolerance: f64) -> bool {
        crate::interrupt::look();
        let n = self.costs.sinks();
        let costs = |row: u32| &self.values[row as usize * n..(row as usize + 1) * n];
        let mut moved = false;
        for few in rows.chunks(CHUNK) {
            loop {
                let wish = |&row: &u32| {
                    let (sink, gain) = basis.wish(self.rows.start + row as usize, costs(row), tolerance)?;
                    Some((gain, row, sink))
                };
                let best = few.iter().filter_map(wish).reduce(|a, b| if b.0 > a.0 { b } else { a });
                let Some((_, row, sink)) = best else { break };
                basis.pivot(self.rows.start + row as usize, sink, costs(row));
                moved = true;
            }
        }
        moved
    }
}

/// How much the potentials must change, at least, before a row of a group can wish to move.
#[derive(Clone)]
struct Margins {
    of_rows: Vec<f64>,
    /// The potentials that they were measured at.
    potentials: Vec<f64>,
}

impl Margins {
    fn new(rows: usize) -> Self {
        Self { of_rows: vec![0.0; rows], potentials: Vec::new() }
    }

    /// What every margin has lost since potentials were others: they change what a row gains by a move by no more.
    fn drift(&mut self, v: &[f64]) -> f64 {
        let changes = v.iter().zip(&self.potentials).map(|(new, old)| new - old);
        let (least, most) = changes.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), c| (l.min(c), m.max(c)));
        let drift = if self.potentials.is_empty() { f64::INFINITY } else { most - least };
        self.potentials = v.to_vec();
        drift
    }
}

/// The basis of an optimal plan.
fn optimal(costs: &dyn RowCosts, units: Vec<i64>, sinks: &Sinks, potentials: Option<Vec<f64>>) -> Basis {
    let (samples, n) = (costs.len(), costs.sinks());
    let held = (GROUP / n).next_multiple_of(BLOCK);
    let whole = (samples <= held).then(|| Group::new(costs).into_matrix());
    let costs: &dyn RowCosts = whole.as_ref().map_or(costs, |whole| whole);
    let mut group = whole.as_ref().map_or_else(|| Group::new(costs), Group::of_matrix);
    let are_many = samples > FEW * n;
    let potentials = potentials.unwrap_or_else(|| match are_many {
        true => of_a_part(costs, &units, sinks),
        false => vec![0.0; n],
    });
    // The row that fills what bounds leave free cannot go everywhere, and paths want a way for every row.
    let has_paths = are_many && sinks.filler == 0;
    let by_paths = whole.as_ref().filter(|_| has_paths).and_then(|w| paths::basis(w, &units, sinks, &potentials));
    let mut basis = by_paths.unwrap_or_else(|| start::basis(costs, units, sinks, &potentials));
    let mut scale: f64 = 0.0;
    let mut is_settled = false;
    let firsts = (0..samples).step_by(held);
    let mut margins: Vec<Margins> = firsts.clone().map(|first| Margins::new(held.min(samples - first))).collect();
    while !is_settled {
        is_settled = true;
        for (first, margins) in firsts.clone().zip(&mut margins) {
            group.read(first..(first + held).min(samples));
            scale = scale.max(group.scale());
            // Potentials are sums along paths of the tree.
            let tolerance = scale * f64::EPSILON * (8 * n + 64) as f64;
            is_settled &= !group.settle(&mut basis, tolerance, margins) || samples <= held;
        }
    }
    basis
}

/// Potentials of the problem of some of the samples.
fn of_a_part(costs: &dyn RowCosts, units: &[i64], sinks: &Sinks) -> Vec<f64> {
    let n = costs.sinks();
    let samples = costs.len() - usize::from(sinks.filler > 0);
    let part: Vec<f64> = units[..samples].iter().step_by(STRIDE).map(|&units| units as f64).collect();
    if part.iter().all(|&units| units == 0.0) {
        return vec![0.0; n];
    }
    // A multiple of the stride begins every block.
    let of_block = |rows: Range<usize>| {
        let mut block = vec![0.0; rows.len() * n];
        costs.rows(rows, &mut block);
        block.chunks_exact(n).step_by(STRIDE).flatten().copied().collect::<Vec<_>>()
    };
    let mut values: Vec<f64> = blocks(samples).flat_map_iter(of_block).collect();
    let units = sinks.units(&part);
    values.resize(units.len() * n, 0.0);
    if sinks.filler > 0 {
        costs.rows(samples..samples + 1, &mut values[part.len() * n..]);
    }
    let values = Matrix::new(values, units.len(), n).expect("a row for each of the part");
    optimal(&values, units, sinks, None).potentials().to_vec()
}
