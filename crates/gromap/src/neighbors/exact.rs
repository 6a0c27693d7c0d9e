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
use super::{Metric, NeighborSearch, Neighbors, check_k, check_samples, distance_of};
use crate::error::{Error, Result};
use crate::matrix::Matrix;

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
        check_samples(samples.rows(), samples.columns(), k)?;
        let samples = Samples::new(samples, metric)?;
        let frame = Frame::new(metric, &[&samples]);
        let points = Points::new(samples, &frame);
        search(&points, &points, k, Own::Excluded)
    }
}

impl Exact {
    /// The `k` nearest of `references` for each of `queries`, which are other samples: what places
    /// new samples on a map. Each row depends on its own query alone. N·M·p multiplications.
    ///
    /// ```
    /// use gromap::{Exact, Matrix, Metric};
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
        search(&Points::new(queries, &frame), &Points::new(references, &frame), k, Own::Allowed)
    }
}

/// Whether queries are the references, and a sample would find itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    Allowed,
    Excluded,
}

fn search(queries: &Points<'_>, references: &Points<'_>, k: usize, own: Own) -> Result<Neighbors> {
    let mut keys = vec![0; queries.len() * k];
    keys.par_chunks_mut(QUERIES * k).enumerate().try_for_each_init(
        || Tile::new(k, references.len()),
        |tile, (block, out)| {
            let rows = block * QUERIES..block * QUERIES + out.len() / k;
            tile.candidates.iter_mut().for_each(|candidates| candidates.restart(f32::MAX));
            for first in (0..references.len()).step_by(REFERENCES) {
                let columns = first..(first + REFERENCES).min(references.len());
                tile.scan(queries, references, k, rows.clone(), columns, own);
            }
            for ((i, candidates), out) in rows.zip(&tile.candidates).zip(out.chunks_exact_mut(k)) {
                let query = Query { queries, references, i, k };
                pulp::Arch::new().dispatch(|| nearest(&query, candidates, &mut tile.measured, out));
                check_farthest(&query, out[k - 1])?;
            }
            Ok(())
        },
    )?;
    Ok(Neighbors::from_keys(k, &keys))
}

/// Measures the candidates and writes the k nearest in order.
#[inline(always)]
fn nearest(query: &Query<'_>, candidates: &Candidates, measured: &mut Vec<u64>, out: &mut [u64]) {
    measured.clear();
    measured.extend(candidates.references().map(|j| query.measured(j)));
    measured.sort_unstable();
    out.copy_from_slice(&measured[..out.len()]);
}

/// Refuses a distance too large to be stored.
pub(super) fn check_farthest(query: &Query<'_>, farthest: u64) -> Result<()> {
    if distance_of(farthest).is_finite() {
        return Ok(());
    }
    query.queries.check_stored(query.i, query.references, farthest as u32 as usize)
}

/// What a thread needs to work on a block of queries.
struct Tile {
    values: Vec<f32>,
    candidates: Vec<Candidates>,
    measured: Vec<u64>,
}

impl Tile {
    fn new(k: usize, references: usize) -> Self {
        let candidates = (0..QUERIES).map(|_| Candidates::new(k, references)).collect();
        Self { values: vec![0.0; QUERIES * REFERENCES], candidates, measured: Vec::new() }
    }

    fn scan(
        &mut self,
        queries: &Points<'_>,
        references: &Points<'_>,
        k: usize,
        rows: Range<usize>,
        columns: Range<usize>,
        own: Own,
    ) {
        let width = columns.len();
        let values = &mut self.values[..rows.len() * width];
        queries.rank(queries.working(rows.clone()), references.working(columns.clone()), values);
        let shift = &references.shift()[columns.clone()];
        for ((i, values), candidates) in rows.zip(values.chunks_exact_mut(width)).zip(&mut self.candidates) {
            if own == Own::Excluded && columns.contains(&i) {
                values[i - columns.start] = f32::INFINITY;
            }
            let query = Query { queries, references, i, k };
            let name = |at: usize| (columns.start + at) as u32;
            pulp::Arch::new().dispatch(|| query.offer(candidates, values, shift, name));
        }
    }
}
