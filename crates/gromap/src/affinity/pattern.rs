//! Which pairs of samples a sparse affinity looks at: the k-nearest-neighbour graph united with its
//! transpose, in compressed rows.
//!
//! Both entries of a pair carry the same cost, to the bit, and each knows where the other stands:
//! what is symmetric by its formula comes out symmetric without further care. With k = N−1 every
//! pair is there, and the sparse method is the dense one.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::neighbors::Neighbors;
use crate::similarity::Sparse;

/// Rows handled together in a pass. Fixed, so that results do not depend on the number of threads.
const ROWS: usize = 256;

/// A symmetric pattern of pairs (i, j), i ≠ j, and the cost of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    costs: Vec<f32>,
    mirrors: Vec<u32>,
}

impl Pattern {
    /// Unites the neighbour graph with its transpose. Where both directions give a distance, the
    /// one found from the sample with the lower index counts.
    ///
    /// ```
    /// use gromap::affinity::Pattern;
    /// use gromap::neighbors::Neighbors;
    /// let neighbors = Neighbors::new(1, vec![1, 0, 1], vec![1.0, 1.0, 4.0])?;
    /// let pattern = Pattern::new(&neighbors)?;
    /// assert_eq!(pattern.row(1), (&[0, 2][..], &[1.0, 4.0][..]));
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn new(neighbors: &Neighbors) -> Result<Self> {
        let samples = neighbors.len();
        let incoming = Incoming::new(neighbors);
        // Each row is united twice, once to be counted: rows that are kept until all are known would take as much again as the pattern.
        let counted = |scratch: &mut Vec<u32>, i: usize| {
            let mut length = 0;
            united_row(neighbors, &incoming, i, scratch, |_, _| length += 1);
            length
        };
        let lengths: Vec<usize> = (0..samples).into_par_iter().map_init(Vec::new, counted).collect();
        let mut offsets = Vec::with_capacity(samples + 1);
        offsets.push(0);
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let stored = offsets[samples];
        if stored > u32::MAX as usize {
            let allowed = format!("small enough that at most {} pairs are stored, not {stored}", u32::MAX);
            return Err(Error::parameter("neighbors", neighbors.k() as f64, allowed));
        }
        let mut pattern = Self { offsets, columns: Vec::new(), costs: Vec::new(), mirrors: Vec::new() };
        let (mut columns, mut costs) = (vec![0; stored], vec![0.0; stored]);
        let pieces = pattern.split(&mut columns).into_iter().zip(pattern.split(&mut costs));
        let work: Vec<_> = pattern.blocks().into_iter().zip(pieces).collect();
        work.into_par_iter().for_each_init(Vec::new, |scratch, (rows, (columns, costs))| {
            let mut entries = columns.iter_mut().zip(costs);
            for i in rows {
                united_row(neighbors, &incoming, i, scratch, |j, distance| {
                    if let Some((column, cost)) = entries.next() {
                        (*column, *cost) = (j, distance);
                    }
                });
            }
        });
        drop(incoming);
        pattern.mirrors = mirrors(&pattern.offsets, &columns);
        (pattern.columns, pattern.costs) = (columns, costs);
        Ok(pattern)
    }

    /// Number of samples N.
    #[allow(clippy::len_without_is_empty)] // a pattern of no samples does not exist
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of stored entries: twice the number of pairs.
    pub fn stored(&self) -> usize {
        self.columns.len()
    }

    /// Row i: the samples it is paired with, ascending, and the cost of each pair.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let range = self.range(i);
        (&self.columns[range.clone()], &self.costs[range])
    }

    /// Where the entries of row i stand among all entries.
    #[inline]
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.offsets[i]..self.offsets[i + 1]
    }

    /// For the entries of row i, (i, j): where (j, i) stands among all entries.
    #[inline]
    pub fn mirrors(&self, i: usize) -> &[u32] {
        &self.mirrors[self.range(i)]
    }

    /// A similarity with these values in the places of the pattern.
    pub(crate) fn with_values(self, values: Vec<f32>) -> Result<Sparse<'static, f32>> {
        Sparse::new(self.offsets, self.columns, values)
    }

    /// Combines directed values (i, j) and (j, i), rows by ascending columns and zero where absent,
    /// into one symmetric value for each pair.
    pub(crate) fn combine(
        self,
        rows: &[Vec<(u32, f32)>],
        value: impl Fn(f64, f64) -> f64,
    ) -> Result<Sparse<'static, f32>> {
        let mut directed = vec![0.0f32; self.stored()];
        for (i, row) in rows.iter().enumerate() {
            let mut entries = row.iter().peekable();
            for (at, j) in self.range(i).zip(self.row(i).0) {
                if let Some(&(_, value)) = entries.next_if(|entry| entry.0 == *j) {
                    directed[at] = value;
                }
            }
        }
        let pairs = directed.iter().zip(&self.mirrors);
        let values = pairs.map(|(&a, &mirror)| value(f64::from(a), f64::from(directed[mirror as usize])) as f32);
        let values = values.collect();
        self.with_values(values)
    }

    /// The blocks of rows of a pass.
    pub(crate) fn blocks(&self) -> Vec<std::ops::Range<usize>> {
        let samples = self.len();
        (0..samples).step_by(ROWS).map(|start| start..(start + ROWS).min(samples)).collect()
    }

    /// Cuts one value for each entry into the pieces of the blocks.
    pub(crate) fn split<'v, T>(&self, mut values: &'v mut [T]) -> Vec<&'v mut [T]> {
        let mut pieces = Vec::with_capacity(self.len().div_ceil(ROWS));
        for rows in self.blocks() {
            let (piece, rest) = values.split_at_mut(self.offsets[rows.end] - self.offsets[rows.start]);
            pieces.push(piece);
            values = rest;
        }
        pieces
    }
}

/// Cuts one value for each row into the pieces of the blocks.
pub(crate) fn split_rows<T>(values: &mut [T]) -> Vec<&mut [T]> {
    values.chunks_mut(ROWS).collect()
}

/// Who names a sample as a neighbour, ascending, and at what distance.
struct Incoming {
    offsets: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

impl Incoming {
    /// Counting sort by the sample named.
    fn new(neighbors: &Neighbors) -> Self {
        let samples = neighbors.len();
        let mut offsets = vec![0; samples + 1];
        for i in 0..samples {
            neighbors.row(i).0.iter().for_each(|&j| offsets[j as usize + 1] += 1);
        }
        for j in 0..samples {
            offsets[j + 1] += offsets[j];
        }
        let mut next = offsets.clone();
        let mut entries = vec![(0, 0.0); offsets[samples]];
        for i in 0..samples {
            let (columns, distances) = neighbors.row(i);
            for (&j, &distance) in columns.iter().zip(distances) {
                entries[next[j as usize]] = (i as u32, distance);
                next[j as usize] += 1;
            }
        }
        Self { offsets, entries }
    }
}

/// Merges whom sample i names with who names it; the finder's index decides between two distances. `order` is room for the ranks of whom it names.
fn united_row(
    neighbors: &Neighbors,
    incoming: &Incoming,
    i: usize,
    order: &mut Vec<u32>,
    mut add: impl FnMut(u32, f32),
) {
    let (columns, distances) = neighbors.row(i);
    order.clear();
    order.extend(0..columns.len() as u32);
    order.sort_unstable_by_key(|&rank| columns[rank as usize]);
    let mut ours = order.iter().map(|&rank| (columns[rank as usize], distances[rank as usize])).peekable();
    let mut theirs = incoming.entries[incoming.offsets[i]..incoming.offsets[i + 1]].iter().copied().peekable();
    while let (Some(&a), Some(&b)) = (ours.peek(), theirs.peek()) {
        let (j, distance) = if a.0 < b.0 || (a.0 == b.0 && i < b.0 as usize) { a } else { b };
        add(j, distance);
        ours.next_if(|_| a.0 <= b.0);
        theirs.next_if(|_| b.0 <= a.0);
    }
    ours.for_each(|(j, distance)| add(j, distance));
    theirs.for_each(|(j, distance)| add(j, distance));
}

/// Rows ascend, so the entries of column j met row by row are the entries of row j in order.
fn mirrors(offsets: &[usize], columns: &[u32]) -> Vec<u32> {
    let mut next = offsets.to_vec();
    let mirror = |&j: &u32| {
        let at = next[j as usize];
        next[j as usize] += 1;
        at as u32
    };
    columns.iter().map(mirror).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::affinity::testing::{line, scattered};
    use crate::neighbors::{Metric, nearest_neighbors};

    proptest! {
        #[test]
        fn it_is_the_union_with_the_transpose(seed in 0u64..1000, samples in 3usize..40, k in 1usize..12) {
            let k = k.min(samples - 1);
            let x = scattered(samples, 3, seed);
            let neighbors = nearest_neighbors(&x, k, Metric::SquaredEuclidean, 0).expect("neighbours");
            let pattern = Pattern::new(&neighbors).expect("a pattern");
            let names = |i: usize, j: usize| neighbors.row(i).0.contains(&(j as u32));
            for i in 0..samples {
                let expected: Vec<u32> =
                    (0..samples).filter(|&j| names(i, j) || names(j, i)).map(|j| j as u32).collect();
                prop_assert_eq!(pattern.row(i).0, &expected[..]);
                for (at, &mirror) in pattern.range(i).zip(pattern.mirrors(i)) {
                    let j = pattern.columns[at] as usize;
                    prop_assert_eq!(pattern.columns[mirror as usize] as usize, i);
                    prop_assert!(pattern.range(j).contains(&(mirror as usize)));
                    prop_assert_eq!(pattern.costs[at].to_bits(), pattern.costs[mirror as usize].to_bits());
                }
            }
        }
    }

    #[test]
    fn two_distances_of_one_pair_become_one() {
        let neighbors = Neighbors::new(1, vec![1, 0], vec![1.0, 1.5]).expect("neighbours");
        let pattern = Pattern::new(&neighbors).expect("a pattern");
        assert_eq!((pattern.row(0).1, pattern.row(1).1), (&[1.0][..], &[1.0][..]));
    }

    #[test]
    fn all_neighbours_give_all_pairs() {
        let neighbors = nearest_neighbors(&line(6), 5, Metric::SquaredEuclidean, 0).expect("neighbours");
        let pattern = Pattern::new(&neighbors).expect("a pattern");
        assert_eq!(pattern.stored(), 30);
        assert_eq!(pattern.row(2), (&[0, 1, 3, 4, 5][..], &[4.0, 1.0, 1.0, 4.0, 9.0][..]));
    }
}
