//! The exact search: every pair is ranked by tiles of matrix products, the few candidates of each
//! query are measured.
//!
//! A tile of 256 queries by 1024 references stays in the second cache. Its product runs on one
//! thread, near the peak of the machine; threads share out the blocks of queries, and no query
//! knows of another, so the result does not depend on how they are shared.

use std::ops::Range;

use rayon::prelude::*;

use super::candidates::{Candidates, Query};
use super::metric::{Frame, Points, Samples};
use super::{Metric, NeighborSearch, Neighbors, Ties, check_k, check_samples, distance_of, index_of};
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::vector::vectorized;

/// Queries of a tile.
pub(super) const QUERIES: usize = 256;

/// References of a tile.
pub(super) const REFERENCES: usize = 1024;

/// The exact search: N²·p multiplications at the speed of a matrix product, about 1 MB of memory a
/// thread and 4·N·p bytes beside the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exact;

impl NeighborSearch for Exact {
    fn search(&self, samples: &Matrix<'_, f32>, k: usize, metric: Metric) -> Result<Neighbors> {
        among(samples, k, metric, Ties::of)
    }
}

impl Exact {
    /// The same, with ties to the smaller index.
    pub(crate) fn ordered(&self, samples: &Matrix<'_, f32>, k: usize, metric: Metric) -> Result<Neighbors> {
        among(samples, k, metric, |_| Ties::ByIndex)
    }

    /// The `k` nearest of `references` for each of `queries`, which are other samples: what places
    /// new samples on a map. Each row depends on its own query alone. N·M·p multiplications.
    ///
    /// ```
    /// use gromap::Matrix;
    /// use gromap::neighbors::{Exact, Metric};
    /// let training = Matrix::new(vec![0.0f32, 1.0, 3.0], 3, 1)?;
    /// let new = Matrix::new(vec![2.5f32], 1, 1)?;
    /// let neighbors = Exact.cross(&training, &new, 2, Metric::Euclidean)?;
    /// assert_eq!(neighbors.row(0), (&[2, 1][..], &[0.5, 1.5][..]));
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn cross(
        &self,
        references: &Matrix<'_, f32>,
        queries: &Matrix<'_, f32>,
        k: usize,
        metric: Metric,
    ) -> Result<Neighbors> {
        // One more than there are: a lone reference may be found by another sample.
        check_samples(references.rows().saturating_add(1), references.columns(), 1)?;
        check_k(k, references.rows())?;
        Error::check_len("features of the new samples", references.columns(), queries.columns())?;
        let (references, queries) = (Samples::new(references, metric)?, Samples::new(queries, metric)?);
        let frame = Frame::new(metric, &[&references, &queries]);
        search(&Points::new(queries, &frame), &Points::new(references, &frame), k, Own::Allowed, |_| Ties::ByIndex)
    }
}

/// Whether queries are the references, and a sample would find itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    Allowed,
    Excluded,
}

/// The nearest other samples of every sample.
fn among(samples: &Matrix<'_, f32>, k: usize, metric: Metric, ties: fn(usize) -> Ties) -> Result<Neighbors> {
    check_samples(samples.rows(), samples.columns(), k)?;
    let samples = Samples::new(samples, metric)?;
    let frame = Frame::new(metric, &[&samples]);
    let points = Points::new(samples, &frame);
    search(&points, &points, k, Own::Excluded, ties)
}

fn search(
    queries: &Points<'_>,
    references: &Points<'_>,
    k: usize,
    own: Own,
    ties: fn(usize) -> Ties,
) -> Result<Neighbors> {
    let mut keys = vec![0; queries.len() * k];
    let guess = Guess::new(references, k);
    keys.par_chunks_mut(QUERIES * k).enumerate().try_for_each_init(
        || (Tile::new(k, references.len()), Vec::new()),
        |(tile, room), (block, out)| {
            let rows = block * QUERIES..block * QUERIES + out.len() / k;
            let pass = Pass { queries, references, k, own, ties };
            match &guess {
                Some(guess) => guess.restart(tile, queries, rows.clone(), room),
                None => tile.candidates_mut().iter_mut().for_each(|candidates| candidates.restart(f32::MAX)),
            }
            pass.scan(tile, rows.clone());
            let mut missed = Vec::new();
            for (row, out) in out.chunks_exact_mut(k).enumerate() {
                if !pass.write(tile, row, rows.start + row, out)? {
                    missed.push(row);
                }
            }
            for row in missed {
                let i = rows.start + row;
                tile.candidates_mut()[0].restart(f32::MAX);
                pass.scan(tile, i..i + 1);
                pass.write(tile, 0, i, &mut out[row * k..(row + 1) * k])?;
            }
            Ok(())
        },
    )?;
    Ok(Neighbors::from_keys(k, &keys, ties))
}

/// What a block of queries is compared with.
struct Pass<'a> {
    queries: &'a Points<'a>,
    references: &'a Points<'a>,
    k: usize,
    own: Own,
    ties: fn(usize) -> Ties,
}

impl Pass<'_> {
    fn query(&self, i: usize) -> Query<'_> {
        Query { queries: self.queries, references: self.references, i, k: self.k, ties: (self.ties)(i) }
    }

    /// Offers every reference to the candidates of the queries `rows`.
    fn scan(&self, tile: &mut Tile, rows: Range<usize>) {
        let references = self.references;
        for first in (0..references.len()).step_by(REFERENCES) {
            crate::interrupt::look();
            let columns = first..(first + REFERENCES).min(references.len());
            tile.rank(self.queries, self.queries.working(rows.clone()), references.working(columns.clone()));
            if self.own == Own::Excluded {
                let both = rows.start.max(first)..rows.end.min(columns.end);
                both.for_each(|i| tile.hide(i - rows.start, i - first));
            }
            tile.offer(&references.shift()[columns], |row| self.query(rows.start + row), |at| (first + at) as u32);
        }
    }

    /// Writes the k nearest of query i, whose candidates are those of `row`; false if some may have
    /// been missed.
    fn write(&self, tile: &mut Tile, row: usize, i: usize, out: &mut [u64]) -> Result<bool> {
        let query = self.query(i);
        if !query.narrow(&mut tile.candidates_mut()[row]) {
            return Ok(false);
        }
        let mut measured = std::mem::take(&mut tile.measured);
        vectorized(
            #[inline(always)]
            || nearest(&query, tile.candidates(row), &mut measured, out),
        );
        tile.measured = measured;
        check_farthest(&query, out[self.k - 1])?;
        Ok(true)
    }
}

/// A guess, from every few references, of how far the k-th nearest is: most of the others are then
/// never written down. A guess that was too low is noticed, and the query scanned again.
struct Guess {
    working: Vec<f32>,
    shift: Vec<f32>,
    /// Which of the sampled references, by v, is taken for the threshold.
    rank: usize,
}

impl Guess {
    /// `None` where there are too few references for a sample to pay.
    fn new(references: &Points<'_>, k: usize) -> Option<Self> {
        let stride = references.len() / REFERENCES;
        let expected = (k * REFERENCES) as f64 / references.len() as f64;
        // Three standard deviations above the rank that is expected: one query in hundreds fails.
        let rank = (expected + 3.0 * expected.sqrt() + 2.0) as usize;
        if stride < 4 || 4 * rank > REFERENCES {
            return None;
        }
        let sample = (0..REFERENCES).map(|at| at * stride);
        let working = sample.clone().flat_map(|j| references.row(j).iter().copied()).collect();
        Some(Self { working, shift: sample.map(|j| references.shift()[j]).collect(), rank })
    }

    /// Starts the candidates of the queries `rows` with the threshold that the sample suggests.
    fn restart(&self, tile: &mut Tile, queries: &Points<'_>, rows: Range<usize>, room: &mut Vec<f32>) {
        tile.rank(queries, queries.working(rows), &self.working);
        let Tile { values, candidates, .. } = tile;
        for (values, candidates) in values.chunks_exact(self.shift.len()).zip(candidates) {
            room.clear();
            room.extend(values.iter().zip(&self.shift).map(|(value, shift)| value + shift));
            let (_, threshold, _) = room.select_nth_unstable_by(self.rank, f32::total_cmp);
            candidates.restart(*threshold);
        }
    }
}

/// Measures the candidates and writes the k nearest in order.
#[inline(always)]
fn nearest(query: &Query<'_>, candidates: &Candidates, measured: &mut Vec<u64>, out: &mut [u64]) {
    measured.clear();
    query.touch(candidates.references());
    for j in candidates.references() {
        measured.push(query.measured(j));
    }
    measured.sort_unstable();
    out.copy_from_slice(&measured[..out.len()]);
}

/// Refuses a distance too large to be stored.
pub(super) fn check_farthest(query: &Query<'_>, farthest: u64) -> Result<()> {
    if distance_of(farthest).is_finite() {
        return Ok(());
    }
    query.queries.check_stored(query.i, query.references, index_of(farthest, query.ties) as usize)
}

/// What a thread needs to compare a block of queries with tiles of references.
pub(super) struct Tile {
    values: Vec<f32>,
    candidates: Vec<Candidates>,
    /// Room for measured candidates.
    measured: Vec<u64>,
    /// Size of the tile at hand.
    rows: usize,
    columns: usize,
}

impl Tile {
    /// Room for the candidates of `k` neighbours among `references`.
    pub(super) fn new(k: usize, references: usize) -> Self {
        let candidates = (0..QUERIES).map(|_| Candidates::new(k, references)).collect();
        Self { values: vec![0.0; QUERIES * REFERENCES], candidates, measured: Vec::new(), rows: 0, columns: 0 }
    }

    /// Candidates of a row.
    pub(super) fn candidates(&self, row: usize) -> &Candidates {
        &self.candidates[row]
    }

    /// Candidates of all rows.
    pub(super) fn candidates_mut(&mut self) -> &mut [Candidates] {
        &mut self.candidates
    }

    /// Ranks references by queries, both given as working rows.
    pub(super) fn rank(&mut self, points: &Points<'_>, queries: &[f32], references: &[f32]) {
        (self.rows, self.columns) = (queries.len() / points.features(), references.len() / points.features());
        points.rank(queries, references, &mut self.values[..self.rows * self.columns]);
    }

    /// Makes sure that a query does not find the reference at `column`.
    fn hide(&mut self, row: usize, column: usize) {
        self.values[row * self.columns + column] = f32::INFINITY;
    }

    /// Offers the ranked references, which add `shift` and are named by `name`, to the candidates.
    pub(super) fn offer<'q>(
        &mut self,
        shift: &[f32],
        query: impl Fn(usize) -> Query<'q>,
        name: impl Fn(usize) -> u32 + Copy,
    ) {
        let rows = self.values[..self.rows * self.columns].chunks_exact(self.columns);
        let mut rows = rows.zip(&mut self.candidates).enumerate();
        vectorized(
            #[inline(always)]
            || {
                for (row, (values, candidates)) in rows.by_ref() {
                    query(row).offer(candidates, values, shift, name);
                }
            },
        );
    }
}
