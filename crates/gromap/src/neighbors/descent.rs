//! Neighbours of neighbours: the approximate search for many samples.
//!
//! NN-descent rests on one observation: a neighbour of my neighbour is likely my neighbour. Here it
//! is asked of groups instead of pairs. A round cuts the samples into groups of near ones by random
//! hyperplanes, new ones every round; a group pools its members' present neighbours; every member
//! is compared with the whole pool by the matrix products of the exact search, and keeps the best.
//! A member so sees the neighbours of all that are near it, at the speed of a product rather than
//! of scattered single distances.
//!
//! Rounds are synchronous: all groups read the lists of the round before and no group knows of
//! another. With the distances measured in `f64`, the result depends on the samples and the seed
//! alone.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::candidates::Query;
use super::exact::{Exact, QUERIES, REFERENCES, Tile, check_farthest};
use super::metric::{Frame, Points, Samples};
use super::partition::partition;
use super::{Metric, NeighborSearch, Neighbors, Ties, check_samples, distance_of, index_of};
use crate::error::Result;
use crate::numeric::Matrix;
use crate::numeric::vector::vectorized;

/// Samples a group is compared with, at most.
const POOL: usize = 4096;

/// Share of the lists' entries changed in a round at which the search stops.
const STILL: f64 = 0.015;

/// An entry of a list not yet filled: farther than anything.
const NOBODY: u64 = u64::MAX;

/// Samples beyond which an exact answer is no longer worth its time.
const EXACT_SAMPLES: usize = 100_000;

/// Whether to use [`Descent`] instead of [`Exact`]; [`nearest_neighbors`](super::nearest_neighbors)
/// says what was measured.
pub(super) fn is_worth_it(samples: usize) -> bool {
    samples > EXACT_SAMPLES
}

/// The approximate search: about N·p·4096 multiplications a round, some five rounds, and 24·N·k bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descent {
    seed: u64,
    max_rounds: usize,
}

impl Descent {
    /// A search that starts from `seed`: the same seed, the same neighbours.
    pub fn new(seed: u64) -> Self {
        Self { seed, max_rounds: 12 }
    }

    /// Rounds at most, 12 unless told; it stops before when the lists stand still.
    pub fn max_rounds(mut self, rounds: usize) -> Self {
        self.max_rounds = rounds.max(1);
        self
    }
}

impl NeighborSearch for Descent {
    /// A set so small that pools would hold much of it is searched exactly.
    fn search(&self, samples: &Matrix<'_, f32>, k: usize, metric: Metric) -> Result<Neighbors> {
        check_samples(samples.rows(), samples.columns(), k)?;
        if samples.rows() < 2 * pool_size(k) {
            return Exact.search(samples, k, metric);
        }
        let samples = Samples::new(samples, metric)?;
        let frame = Frame::new(metric, &[&samples]);
        let points = Points::new(samples, &frame);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut lists = vec![NOBODY; points.len() * k];
        for _ in 0..self.max_rounds {
            let groups = partition(&points, QUERIES, rng.random());
            let changed = round(&points, k, &groups, &mut lists);
            if changed as f64 <= STILL * lists.len() as f64 {
                break;
            }
        }
        for (i, list) in lists.chunks_exact(k).enumerate() {
            check_farthest(&query(&points, i as u32, k), list[k - 1])?;
        }
        Ok(Neighbors::from_keys(k, &lists, Ties::of))
    }
}

/// Sample i among the others.
fn query<'a>(points: &'a Points<'a>, i: u32, k: usize) -> Query<'a> {
    Query { queries: points, references: points, i: i as usize, k, ties: Ties::of(i as usize) }
}

fn pool_size(k: usize) -> usize {
    POOL.max(8 * k)
}

/// Improves all lists and says how many entries are new.
fn round(points: &Points<'_>, k: usize, groups: &[Vec<u32>], lists: &mut [u64]) -> usize {
    let before = &*lists;
    let improved: Vec<(Vec<u64>, usize)> = (0..groups.len())
        .into_par_iter()
        .map_init(|| Group::new(points, k, before), |group, at| group.improve(groups, at))
        .collect();
    let mut changed = 0;
    for (members, (better, new)) in groups.iter().zip(improved) {
        changed += new;
        for (&i, list) in members.iter().zip(better.chunks_exact(k)) {
            lists[i as usize * k..(i as usize + 1) * k].copy_from_slice(list);
        }
    }
    changed
}

/// What a thread needs to improve the lists of one group after another.
struct Group<'a> {
    points: &'a Points<'a>,
    k: usize,
    lists: &'a [u64],
    tile: Tile,
    /// How often a sample is named by the group; all zero between groups.
    named: Vec<u16>,
    pool: Vec<u32>,
    queries: Vec<f32>,
    references: Vec<f32>,
    shift: Vec<f32>,
    /// The member (plus one) whose list holds a sample.
    known_to: Vec<u32>,
    merged: Vec<u64>,
}

impl<'a> Group<'a> {
    fn new(points: &'a Points<'a>, k: usize, lists: &'a [u64]) -> Self {
        Self {
            points,
            k,
            lists,
            // A member meets itself in the pool: one candidate more.
            tile: Tile::new(k + 1, points.len()),
            named: vec![0; points.len()],
            pool: Vec::new(),
            queries: Vec::new(),
            references: Vec::new(),
            shift: Vec::new(),
            known_to: vec![0; points.len()],
            merged: Vec::new(),
        }
    }

    fn list(&self, i: u32) -> &'a [u64] {
        &self.lists[i as usize * self.k..(i as usize + 1) * self.k]
    }

    /// New lists of the members of group `at`, and how many of their entries are new.
    fn improve(&mut self, groups: &[Vec<u32>], at: usize) -> (Vec<u64>, usize) {
        let members = &groups[at];
        self.fill_pool(groups, at);
        self.scan(members);
        let mut better = Vec::with_capacity(members.len() * self.k);
        let mut new = 0;
        for (row, &i) in members.iter().enumerate() {
            new += vectorized(
                #[inline(always)]
                || self.merge(row, i),
            );
            better.extend_from_slice(&self.merged[..self.k]);
        }
        (better, new)
    }

    /// The samples named most often by the members: their neighbours, and the groups around.
    fn fill_pool(&mut self, groups: &[Vec<u32>], at: usize) {
        let around = (1024.max(3 * self.k)).div_ceil(QUERIES / 2).min(groups.len());
        let first = (at - at % around).min(groups.len() - around);
        let (named, pool) = (&mut self.named, &mut self.pool);
        pool.clear();
        let mut name = |j: u32| {
            let count = &mut named[j as usize];
            if *count == 0 {
                pool.push(j);
            }
            *count = count.saturating_add(1);
        };
        groups[first..first + around].iter().flatten().for_each(|&j| name(j));
        for &i in &groups[at] {
            let list = &self.lists[i as usize * self.k..(i as usize + 1) * self.k];
            list.iter().filter(|&&key| key != NOBODY).for_each(|&key| name(index_of(key, Ties::of(i as usize))));
        }
        let most = pool_size(self.k);
        if pool.len() > most {
            pool.select_nth_unstable_by_key(most, |&j| (u16::MAX - named[j as usize], j));
            pool[most..].iter().for_each(|&j| named[j as usize] = 0);
            pool.truncate(most);
        }
        pool.iter().for_each(|&j| named[j as usize] = 0);
        pool.sort_unstable();
    }

    /// Ranks the whole pool for every member.
    fn scan(&mut self, members: &[u32]) {
        let points = self.points;
        self.queries.clear();
        for (&i, candidates) in members.iter().zip(self.tile.candidates_mut()) {
            self.queries.extend_from_slice(points.row(i as usize));
            let farthest = self.lists[(i as usize + 1) * self.k - 1];
            candidates.restart(match farthest {
                NOBODY => f32::MAX,
                key => points.threshold(i as usize, distance_of(key)),
            });
        }
        for names in self.pool.chunks(REFERENCES) {
            crate::interrupt::look();
            self.references.clear();
            self.shift.clear();
            for &j in names {
                self.references.extend_from_slice(points.row(j as usize));
                self.shift.push(points.shift()[j as usize]);
            }
            let query = |row: usize| query(points, members[row], self.k + 1);
            self.tile.rank(points, &self.queries, &self.references);
            self.tile.offer(&self.shift, query, |at| names[at]);
        }
    }

    /// Puts the best of the old list and the new candidates of member i into `merged`; the number
    /// of new ones.
    #[inline(always)]
    fn merge(&mut self, row: usize, i: u32) -> usize {
        let list = self.list(i);
        let query = query(self.points, i, self.k);
        let known = |key: u64| index_of(key, query.ties) as usize;
        self.merged.clear();
        self.merged.extend_from_slice(list);
        for &key in list.iter().filter(|&&key| key != NOBODY) {
            self.known_to[known(key)] = i + 1;
        }
        for j in self.tile.candidates(row).references() {
            if j != i && self.known_to[j as usize] != i + 1 {
                self.merged.push(query.measured(j));
            }
        }
        if self.merged.len() == self.k {
            return 0;
        }
        self.merged.sort_unstable();
        let kept = &self.merged[..self.k];
        kept.iter().filter(|&&key| self.known_to[known(key)] != i + 1).count()
    }
}
