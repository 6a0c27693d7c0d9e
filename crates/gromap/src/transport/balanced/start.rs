//! A feasible plan to begin with: every sample at the sink that its costs and the potentials like best, then, cheapest first,
//! out of sinks that are too full.
//!
//! A sample is split only where that makes a sink exactly full, and full sinks are left alone: there are fewer splits than
//! sinks, and no cycles.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::basis::Basis;
use super::{RowCosts, Sinks};
use crate::numeric::blocks::blocks;

/// A basis of a feasible plan.
pub(super) fn basis(costs: &dyn RowCosts, units: Vec<i64>, sinks: &Sinks, potentials: &[f64]) -> Basis {
    let n = sinks.of.len();
    let capacity = sinks.perturbed();
    let mut placed = Placed { labels: nearest(costs, potentials), room: capacity.clone(), splits: BTreeMap::new() };
    let samples = units.len() - usize::from(sinks.filler > 0);
    for (&label, units) in placed.labels[..samples].iter().zip(&units) {
        placed.room[label as usize] -= units;
    }
    if sinks.filler > 0 {
        placed.use_options(&units[..samples], sinks);
        placed.fill(samples, sinks, (&capacity, potentials));
    }
    while placed.room.iter().any(|&room| room < 0) {
        placed.relieve(costs, &units[..samples], potentials);
    }
    let splits: Vec<_> = placed.splits.into_iter().collect();
    // Asked for the few cells of the tree only.
    let cost = |sample: usize, sink: usize| {
        let mut row = vec![0.0; n];
        costs.rows(sample..sample + 1, &mut row);
        row[sink]
    };
    Basis::new(units, placed.labels, &splits, n, cost)
}

/// Samples on their way to a feasible plan.
struct Placed {
    labels: Vec<u32>,
    /// What every sink can still take; negative where it has too much.
    room: Vec<i64>,
    /// Parts of split samples; the first is what has not been moved.
    splits: BTreeMap<u32, Vec<(u32, i64)>>,
}

impl Placed {
    /// Moves whole samples that a sink need not receive to where it may.
    fn use_options(&mut self, units: &[i64], sinks: &Sinks) {
        for (label, units) in self.labels.iter_mut().zip(units) {
            let (here, option) = (*label as usize, *label as usize + 1);
            let is_option = !sinks.is_optional[here] && sinks.of.get(option) == Some(&sinks.of[here]);
            if is_option && -self.room[here] >= *units {
                self.room[here] += units;
                self.room[option] -= units;
                *label = option as u32;
            }
        }
    }

    /// Gives the filler what is left free, where potentials want it most. What then remains takes whole sinks, and all samples
    /// leave them: of the sinks that share the filler at most one is shared with samples that are split, so no cycle goes
    /// through it.
    fn fill(&mut self, filler: usize, sinks: &Sinks, (capacity, v): (&[i64], &[f64])) {
        let mut left = sinks.filler;
        let mut order: Vec<usize> = (0..v.len()).filter(|&sink| sinks.is_optional[sink]).collect();
        order.sort_by(|&a, &b| v[b].total_cmp(&v[a]));
        let mut parts: BTreeMap<u32, i64> = BTreeMap::new();
        let mut give = |sink: usize, most: i64, left: &mut i64, room: &mut [i64]| {
            let part = most.min(*left);
            if part > 0 {
                *parts.entry(sink as u32).or_default() += part;
                room[sink] -= part;
                *left -= part;
            }
            part.max(0)
        };
        let mut given = vec![0; v.len()];
        for &sink in &order {
            given[sink] = give(sink, self.room[sink], &mut left, &mut self.room);
        }
        for &sink in &order {
            give(sink, capacity[sink] - given[sink], &mut left, &mut self.room);
        }
        match parts.len() {
            1 => self.labels[filler] = *parts.keys().next().unwrap_or(&0),
            _ => {
                self.splits.insert(filler as u32, parts.into_iter().collect());
            }
        }
    }

    /// Moves samples out of sinks that are too full, each to the best of those with room, cheapest first.
    fn relieve(&mut self, costs: &dyn RowCosts, units: &[i64], potentials: &[f64]) {
        let mut moves: Vec<(f64, u32, u32)> =
            blocks(units.len()).flat_map_iter(|rows| self.moves_of_block(costs, units, potentials, rows)).collect();
        moves.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, sample, to) in moves {
            let from = self.labels[sample as usize] as usize;
            let (over, room) = (-self.room[from], self.room[to as usize]);
            if over <= 0 || room <= 0 {
                continue;
            }
            let held = self.splits.get(&sample).map_or(units[sample as usize], |parts| parts[0].1);
            let part = held.min(over).min(room);
            self.room[from] += part;
            self.room[to as usize] -= part;
            match (self.splits.get_mut(&sample), part == held) {
                (None, true) => self.labels[sample as usize] = to,
                (None, false) => {
                    self.splits.insert(sample, vec![(from as u32, held - part), (to, part)]);
                }
                (Some(parts), true) => {
                    self.labels[sample as usize] = to;
                    parts[0] = (to, part);
                }
                (Some(parts), false) => {
                    parts[0].1 -= part;
                    parts.push((to, part));
                }
            }
        }
    }

    /// What it costs samples of a block to leave a sink that is too full for the best of those with room.
    fn moves_of_block(
        &self,
        costs: &dyn RowCosts,
        units: &[i64],
        v: &[f64],
        rows: Range<usize>,
    ) -> Vec<(f64, u32, u32)> {
        let n = v.len();
        let mut block = vec![0.0; rows.len() * n];
        costs.rows(rows.clone(), &mut block);
        let open: Vec<usize> = (0..n).filter(|&sink| self.room[sink] > 0).collect();
        let mut moves = Vec::new();
        for (i, row) in rows.zip(block.chunks_exact(n)) {
            let from = self.labels[i] as usize;
            if self.room[from] >= 0 || units[i] == 0 {
                continue;
            }
            let better =
                |best: (f64, usize), &k: &usize| if row[k] - v[k] < best.0 { (row[k] - v[k], k) } else { best };
            let (cost, to) = open.iter().fold((f64::INFINITY, NOWHERE), better);
            if to != NOWHERE {
                moves.push((cost - (row[from] - v[from]), i as u32, to as u32));
            }
        }
        moves
    }
}

/// No sink.
const NOWHERE: usize = usize::MAX;

/// The sink of the lowest cost less potential for every sample, the first of equals.
pub(crate) fn nearest(costs: &dyn RowCosts, v: &[f64]) -> Vec<u32> {
    blocks(costs.len()).flat_map_iter(|rows| nearest_of_block(costs, v, rows)).collect()
}

fn nearest_of_block(costs: &dyn RowCosts, v: &[f64], rows: Range<usize>) -> Vec<u32> {
    let n = v.len();
    let mut block = vec![0.0; rows.len() * n];
    costs.rows(rows, &mut block);
    let of_row = |row: &[f64]| {
        let better = |best: (f64, u32), (k, (c, v)): (usize, (&f64, &f64))| {
            if c - v < best.0 { (c - v, k as u32) } else { best }
        };
        row.iter().zip(v).enumerate().fold((f64::INFINITY, 0), better).1
    };
    block.chunks_exact(n).map(of_row).collect()
}
