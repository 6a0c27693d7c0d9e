//! The place of given samples among all neighbours of a sample, by counting those that are nearer.
//!
//! r(i,j) = 1 + the number of samples nearer to i than j, by the order of the searches: the stored
//! distance, then the index. Nothing is sorted and no row is kept. A tile of fast arithmetic tells most
//! samples apart by its bounds; the few within rounding of a given distance are measured.

use rayon::prelude::*;

use super::candidates::Query;
use super::exact::{QUERIES, REFERENCES, check_farthest};
use super::metric::{Frame, Points, Samples};
use super::{Metric, Neighbors, Ties, check_samples, distance_of};
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::vector::vectorized;

/// References compared with all given samples at once, in registers and the first cache.
const CHUNK: usize = 64;

/// The rank of each of `neighbors` by the distances between `samples`, 1 for the nearest other sample;
/// row after row, in the order of `neighbors`, which may come from other coordinates.
pub(crate) fn ranks(samples: &Matrix<'_, f32>, neighbors: &Neighbors, metric: Metric) -> Result<Vec<u32>> {
    let (count, k) = (samples.rows(), neighbors.k());
    check_samples(count, samples.columns(), k)?;
    Error::check_len("samples that have neighbors", count, neighbors.len())?;
    let samples = Samples::new(samples, metric)?;
    let frame = Frame::new(metric, &[&samples]);
    let points = Points::new(samples, &frame);
    let mut ranks = vec![0; count * k];
    ranks.par_chunks_mut(QUERIES * k).enumerate().try_for_each_init(
        || vec![0.0; QUERIES * REFERENCES],
        |values, (block, out)| {
            let rows = block * QUERIES..block * QUERIES + out.len() / k;
            let given = rows.clone().map(|i| Given::new(&points, i, neighbors.row(i).0));
            let mut given = given.collect::<Result<Vec<_>>>()?;
            for first in (0..count).step_by(REFERENCES) {
                crate::interrupt::look();
                let columns = first..(first + REFERENCES).min(count);
                let values = &mut values[..rows.len() * columns.len()];
                points.rank(points.working(rows.clone()), points.working(columns.clone()), values);
                for (values, given) in values.chunks_exact(columns.len()).zip(&mut given) {
                    vectorized(
                        #[inline(always)]
                        || given.count(values, first),
                    );
                }
            }
            let found = given.iter().flat_map(|given| &given.samples).map(|sample| 1 + sample.nearer);
            out.iter_mut().zip(found).for_each(|(out, rank)| *out = rank);
            Ok(())
        },
    )?;
    Ok(ranks)
}

/// The given samples of one query.
struct Given<'a> {
    query: Query<'a>,
    samples: Vec<Counted>,
    /// v above which a reference is certainly farther than all of them.
    reach: f32,
}

/// A given sample, and how many are known to be nearer.
struct Counted {
    /// Distance and index.
    key: u64,
    /// v above which a reference is certainly farther.
    farther: f32,
    /// v below which, with twice the slack of the reference, it is certainly nearer.
    certain: f32,
    nearer: u32,
}

impl<'a> Given<'a> {
    fn new(points: &'a Points<'a>, i: usize, given: &[u32]) -> Result<Self> {
        let query = Query { queries: points, references: points, i, k: given.len(), ties: Ties::ByIndex };
        let counted = |&j: &u32| {
            let key = query.measured(j);
            check_farthest(&query, key)?;
            let (farther, certain) = (points.threshold(i, distance_of(key)), points.certain(i, distance_of(key)));
            Ok(Counted { key, farther, certain, nearer: 0 })
        };
        let samples = given.iter().map(counted).collect::<Result<Vec<_>>>()?;
        let reach = samples.iter().map(|sample| sample.farther).fold(f32::MIN, f32::max);
        Ok(Self { query, samples, reach })
    }

    /// Counts the references from `first` on, whose v is `values` plus their shift.
    #[inline(always)]
    fn count(&mut self, values: &[f32], first: usize) {
        let references = self.query.references;
        for (at, values) in values.chunks(CHUNK).enumerate() {
            let first = first + at * CHUNK;
            let (mut least, mut most) = ([f32::INFINITY; CHUNK], [f32::INFINITY; CHUNK]);
            let constants = references.shift()[first..].iter().zip(&references.slacks()[first..]);
            for (lane, (value, (shift, slack))) in values.iter().zip(constants).enumerate() {
                least[lane] = value + shift;
                most[lane] = least[lane] + 2.0 * slack;
            }
            // A sample is not its own neighbour.
            if let Some(own) = self.query.i.checked_sub(first).filter(|&own| own < CHUNK) {
                (least[own], most[own]) = (f32::INFINITY, f32::INFINITY);
            }
            let mut any = false;
            for v in least {
                any |= v <= self.reach;
            }
            if any {
                self.samples.iter_mut().for_each(|sample| sample.count(&self.query, first, &least, &most));
            }
        }
    }
}

impl Counted {
    /// Counts the references from `first` on, by the bounds of their v where these suffice.
    #[inline(always)]
    fn count(&mut self, query: &Query<'_>, first: usize, least: &[f32; CHUNK], most: &[f32; CHUNK]) {
        let (mut certain, mut possible) = (0u32, 0u32);
        for lane in 0..CHUNK {
            certain += u32::from(most[lane] < self.certain);
            possible += u32::from(least[lane] <= self.farther);
        }
        self.nearer += if possible == certain { certain } else { self.measure(query, first, least, most) };
    }

    /// The same, measuring those that bounds do not decide.
    #[cold]
    #[inline(never)]
    fn measure(&self, query: &Query<'_>, first: usize, least: &[f32; CHUNK], most: &[f32; CHUNK]) -> u32 {
        let is_nearer = |lane: usize| {
            most[lane] < self.certain || least[lane] <= self.farther && query.measured((first + lane) as u32) < self.key
        };
        (0..CHUNK).map(|lane| u32::from(is_nearer(lane))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::testing::{cloud, scattered};
    use crate::neighbors::{Exact, NeighborSearch};

    /// Ranks are the places in the search for all neighbours.
    fn check(samples: &Matrix<'_, f32>, k: usize, metric: Metric) {
        let all = Exact.ordered(samples, samples.rows() - 1, metric).unwrap();
        let given = Exact.search(&cloud(samples.rows(), 2, 9), k, Metric::Euclidean).unwrap();
        let found = ranks(samples, &given, metric).unwrap();
        for (i, found) in found.chunks_exact(k).enumerate() {
            let place = |j: &u32| 1 + all.row(i).0.iter().position(|other| other == j).unwrap() as u32;
            let expected: Vec<u32> = given.row(i).0.iter().map(place).collect();
            assert_eq!(found, expected, "row {i}, {metric:?}");
        }
    }

    #[test]
    fn ranks_are_places_in_the_whole_order() {
        for metric in [Metric::SquaredEuclidean, Metric::Euclidean, Metric::Cosine, Metric::Manhattan] {
            check(&scattered(700, 6, 1), 9, metric);
        }
    }

    /// Fast arithmetic tells nothing apart: everything is measured, and the index decides.
    #[test]
    fn duplicates_and_offsets_are_ranked_by_measuring() {
        let noise = cloud(600, 3, 2);
        check(&Matrix::from_fn(600, 3, |i, j| 1e4 + (2.0 * noise[(i, j)]).round()), 9, Metric::SquaredEuclidean);
        check(&Matrix::from_fn(600, 3, |i, j| if i == 0 { 1e5 } else { noise[(i, j)] }), 9, Metric::SquaredEuclidean);
        check(&Matrix::from_fn(300, 3, |_, _| 1.5), 299, Metric::SquaredEuclidean);
    }

    #[test]
    fn a_distance_that_cannot_be_stored_is_refused() {
        let samples = Matrix::new(vec![0.0f32, 1.0, 2.0, 3e38], 4, 1).unwrap();
        let given = Exact.search(&cloud(4, 2, 0), 3, Metric::Euclidean).unwrap();
        assert!(matches!(
            ranks(&samples, &given, Metric::SquaredEuclidean),
            Err(Error::Parameter { name: "distance", .. })
        ));
    }
}
