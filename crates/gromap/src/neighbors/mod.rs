//! Who is near whom: the k nearest neighbours of every sample.
//!
//! Every sparse similarity starts here. A [`NeighborSearch`] turns samples into [`Neighbors`]; two
//! of them are in the tree:
//!
//! | search | cost | result |
//! |---|---|---|
//! | [`Exact`] | N²·p by matrix products | the k nearest, exactly |
//! | [`Descent`] | about N·p·2·10⁴ | nearly all of them, the same for the same seed |
//!
//! Both find candidates with fast `f32` arithmetic whose rounding is bounded, and then measure the
//! few that are left in `f64`. The result therefore does not depend on the order of a sum, on the
//! number of threads or on the vector unit of the machine. The distance that counts is the one
//! stored, rounded to `f32`.
//!
//! Ties are shared fairly: each sample has an order of its own for the others at equal distance, as good
//! as random. If they went to the smaller index, equal samples would all name the same few, and no
//! similarity on such a graph could treat its rows alike.

mod candidates;
mod descent;
mod exact;
mod metric;
mod partition;
mod ranks;
#[cfg(test)]
mod tests;

pub use self::descent::Descent;
pub use self::exact::Exact;
pub use self::metric::Metric;
pub(crate) use self::ranks::ranks;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::numeric::{Matrix, Scalar};

/// A way to find neighbours; an index of another library joins here.
pub trait NeighborSearch: Sync {
    /// The `k` nearest other samples of every sample.
    ///
    /// Refuses `k` = 0, `k` ≥ N, entries that are not finite and, for [`Metric::Cosine`], a sample
    /// without a direction.
    fn search(&self, samples: &Matrix<'_, f32>, k: usize, metric: Metric) -> Result<Neighbors>;
}

/// The `k` nearest samples of each of N samples, by ascending distance; ties are in no order.
///
/// Distances are in the unit of the metric: squared for [`Metric::SquaredEuclidean`]. A sample is
/// not its own neighbour. Takes 8·N·k bytes.
///
/// ```
/// use gromap::Matrix;
/// use gromap::neighbors::{Exact, Metric, NeighborSearch};
/// let samples = Matrix::new(vec![0.0f32, 1.0, 3.0, 7.0], 4, 1)?;
/// let neighbors = Exact.search(&samples, 2, Metric::SquaredEuclidean)?;
/// assert_eq!(neighbors.row(0), (&[1, 2][..], &[1.0, 9.0][..]));
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbors {
    k: usize,
    indices: Vec<u32>,
    distances: Vec<f32>,
}

impl Neighbors {
    /// Takes neighbours found elsewhere: N rows of `k` indices and their distances.
    ///
    /// Rows may come in any order of distance and are sorted. Refused are indices out of range, a
    /// sample named twice in a row or as its own neighbour, and distances that are negative or not
    /// finite.
    pub fn new(k: usize, indices: Vec<u32>, distances: Vec<f32>) -> Result<Self> {
        if k == 0 {
            return Err(Error::parameter("neighbors", 0.0, "at least 1"));
        }
        let samples = indices.len() / k;
        check_k(k, samples.saturating_sub(1))?;
        Error::check_len("number of neighbor indices", samples * k, indices.len())?;
        Error::check_len("number of neighbor distances", indices.len(), distances.len())?;
        let mut keys = Vec::with_capacity(indices.len());
        for i in 0..samples {
            let range = i * k..(i + 1) * k;
            check_row(i, samples, &indices[range.clone()], &distances[range.clone()])?;
            let row = indices[range.clone()].iter().zip(&distances[range]);
            let start = keys.len();
            keys.extend(row.map(|(&j, &distance)| key(distance, Ties::of(i), j)));
            keys[start..].sort_unstable();
        }
        Ok(Self::from_keys(k, &keys, Ties::of))
    }

    /// The `k` nearest by a given N×N matrix of distances, row by row; the diagonal is not read.
    /// Costs one pass over the matrix.
    ///
    /// ```
    /// use gromap::Matrix;
    /// use gromap::neighbors::Neighbors;
    /// let distances = Matrix::new(vec![0.0, 2.0, 1.0, 2.0, 0.0, 5.0, 1.0, 5.0, 0.0], 3, 3)?;
    /// assert_eq!(Neighbors::from_distances(&distances, 1)?.row(1).0, &[0]);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn from_distances<S: Scalar>(distances: &Matrix<'_, S>, k: usize) -> Result<Self> {
        let samples = distances.rows();
        check_samples(samples, distances.columns(), k)?;
        Error::check_len("columns of a distance matrix", samples, distances.columns())?;
        let rows: Vec<Vec<u64>> = (0..samples)
            .into_par_iter()
            .with_min_len(16)
            .map(|i| {
                let mut keys = Vec::with_capacity(samples - 1);
                for (j, value) in distances.row(i).iter().enumerate().filter(|&(j, _)| j != i) {
                    let value = value.to_f64();
                    check_distance(i, j, value)?;
                    keys.push(key(value as f32, Ties::of(i), j as u32));
                }
                keys.select_nth_unstable(k - 1);
                keys.truncate(k);
                keys.sort_unstable();
                Ok(keys)
            })
            .collect::<Result<_>>()?;
        Ok(Self::from_keys(k, &rows.concat(), Ties::of))
    }

    /// Rows of sorted keys, and the order of ties of each.
    fn from_keys(k: usize, keys: &[u64], ties: impl Fn(usize) -> Ties + Sync) -> Self {
        let indices = keys.par_iter().enumerate().map(|(at, &key)| index_of(key, ties(at / k))).collect();
        let distances = keys.par_iter().map(|&key| distance_of(key)).collect();
        Self { k, indices, distances }
    }

    /// The same, with fewer neighbours each: the `k` nearest, or all there are.
    pub(crate) fn nearest(&self, k: usize) -> Self {
        let k = k.clamp(1, self.k);
        let rows = || (0..self.len()).map(|i| self.row(i));
        Self {
            k,
            indices: rows().flat_map(|row| row.0[..k].iter().copied()).collect(),
            distances: rows().flat_map(|row| row.1[..k].iter().copied()).collect(),
        }
    }

    /// The same neighbours with the squares of their distances.
    pub(crate) fn squared(self) -> Result<Self> {
        let squares = self.distances.iter().map(|distance| distance * distance).collect();
        Self::new(self.k, self.indices, squares)
    }

    /// Number of samples that have neighbours here.
    pub fn len(&self) -> usize {
        self.indices.len() / self.k
    }

    /// Whether there are no samples; only a search for no new sample gives this.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Neighbours of each sample.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Neighbours of sample i, nearest first, and their distances.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let range = i * self.k..(i + 1) * self.k;
        (&self.indices[range.clone()], &self.distances[range])
    }

    /// All indices and all distances, row after row.
    pub fn into_parts(self) -> (Vec<u32>, Vec<f32>) {
        (self.indices, self.distances)
    }

    /// All indices, row after row.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// All distances, row after row.
    pub fn distances(&self) -> &[f32] {
        &self.distances
    }
}

/// Neighbours by the search that suits the number of samples: [`Exact`] up to 100,000, [`Descent`]
/// from `seed` beyond.
///
/// The two break even near 50,000 samples (MNIST in 50 dimensions, k = 90, two threads: 1.4 s against
/// 1.7 at 40,000, 3.5 against 2.9 at 70,000; `experiments/bench/affinity` measures it). Up to 100,000 an
/// exact answer costs a few seconds more.
///
/// Distances are searched in single precision, whatever the samples are kept in.
pub fn nearest_neighbors<S: Scalar>(samples: &Matrix<'_, S>, k: usize, metric: Metric, seed: u64) -> Result<Neighbors> {
    let samples = &samples.single();
    if searches_exactly(samples.rows()) {
        Exact.search(samples, k, metric)
    } else {
        Descent::new(seed).search(samples, k, metric)
    }
}

/// Whether [`nearest_neighbors`] of so many samples are exact.
pub(crate) fn searches_exactly(samples: usize) -> bool {
    !descent::is_worth_it(samples)
}

/// The order of those at the same distance from one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ties {
    /// The smaller index first: for new samples, which no index stands for, and for scores, which others define so.
    ByIndex,
    /// An order as good as random, which this number decides.
    Scattered(u32),
}

impl Ties {
    /// The order of sample i.
    #[inline(always)]
    fn of(i: usize) -> Self {
        Self::Scattered(scatter(i as u32 ^ 0x5bd1_e995))
    }

    /// The place of an index in this order.
    #[inline(always)]
    fn place(self, index: u32) -> u32 {
        match self {
            Self::ByIndex => index,
            Self::Scattered(by) => scatter(index ^ by),
        }
    }

    /// The index at a place.
    #[inline(always)]
    fn index(self, place: u32) -> u32 {
        match self {
            Self::ByIndex => place,
            Self::Scattered(by) => gather(place) ^ by,
        }
    }
}

/// An odd number with its bits well mixed: 2³² divided by the golden ratio.
const GOLDEN: u32 = 0x9e37_79b9;
/// GOLDEN·INVERSE = 1 in 32 bits.
const INVERSE: u32 = inverse(GOLDEN);

/// Newton's iteration doubles the right bits: 3 of them at the start, 48 after four steps.
const fn inverse(odd: u32) -> u32 {
    let mut x = odd;
    let mut step = 0;
    while step < 4 {
        x = x.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(x)));
        step += 1;
    }
    x
}

/// A permutation of 32-bit integers that leaves no pattern of its argument.
#[inline(always)]
const fn scatter(mut x: u32) -> u32 {
    let mut round = 0;
    while round < 3 {
        x = (x ^ (x >> 16)).wrapping_mul(GOLDEN);
        round += 1;
    }
    x ^ (x >> 16)
}

/// The argument of [`scatter`].
#[inline(always)]
const fn gather(mut x: u32) -> u32 {
    x ^= x >> 16;
    let mut round = 0;
    while round < 3 {
        x = x.wrapping_mul(INVERSE);
        x ^= x >> 16;
        round += 1;
    }
    x
}

/// Distance and index in one integer that sorts by the distance, then by the order of ties: the bits of floats that are
/// not negative ascend with their values. Adding zero turns −0 into 0.
#[inline(always)]
fn key(distance: f32, ties: Ties, index: u32) -> u64 {
    u64::from((distance + 0.0).to_bits()) << 32 | u64::from(ties.place(index))
}

/// The index in a key of this order of ties.
#[inline(always)]
fn index_of(key: u64, ties: Ties) -> u32 {
    ties.index(key as u32)
}

/// The distance in a key.
#[inline(always)]
fn distance_of(key: u64) -> f32 {
    f32::from_bits((key >> 32) as u32)
}

/// What every search over samples or distances asks for.
fn check_samples(samples: usize, features: usize, k: usize) -> Result<()> {
    if samples < 2 || samples > u32::MAX as usize {
        return Err(Error::parameter("number of samples", samples as f64, format!("from 2 to {}", u32::MAX)));
    }
    if features == 0 {
        return Err(Error::parameter("number of features", 0.0, "at least 1"));
    }
    check_k(k, samples - 1)
}

fn check_k(k: usize, most: usize) -> Result<()> {
    if k == 0 || k > most {
        let allowed = format!("from 1 to {most}, the number of samples there are to choose from");
        return Err(Error::parameter("neighbors", k as f64, allowed));
    }
    Ok(())
}

fn check_row(row: usize, samples: usize, indices: &[u32], distances: &[f32]) -> Result<()> {
    let wrong = |j: u32, allowed: String| Err(Error::parameter("neighbor index", f64::from(j), allowed));
    for (column, (&j, &distance)) in indices.iter().zip(distances).enumerate() {
        if j as usize >= samples {
            return wrong(j, format!("less than {samples}, the number of samples (row {row})"));
        }
        if j as usize == row {
            return wrong(j, format!("another sample than row {row} itself"));
        }
        check_distance(row, column, f64::from(distance))?;
    }
    let mut sorted = indices.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => wrong(pair[0], format!("named once in row {row}")),
        None => Ok(()),
    }
}

/// A distance that can be stored: finite (in `f32`) and not negative.
fn check_distance(row: usize, column: usize, value: f64) -> Result<()> {
    if !value.is_finite() {
        return Err(Error::NotFinite { what: "distances", row, column, value });
    }
    if value < 0.0 || value > f64::from(f32::MAX) {
        let allowed = format!("from 0 to {:e} (row {row}, column {column}); scale the data", f32::MAX);
        return Err(Error::parameter("distance", value, allowed));
    }
    Ok(())
}
