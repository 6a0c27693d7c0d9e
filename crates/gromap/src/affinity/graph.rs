//! I + D^{−1/2}·W·D^{−1/2}: the neighbour graph of Laplacian eigenmaps, shifted to be positive
//! semi-definite.
//!
//! W is scikit-learn's `SpectralEmbedding(affinity="nearest_neighbors")` graph, the mean of the
//! connectivity and its transpose: 1 for samples that name each other, ½ where only one does. Loops
//! count in the number of neighbours but, as there, not in the degrees.

use super::{Affinity, NeighborAffinity, NeighborWeights, Neighborhood, Pattern, check_neighbors_with_self};
use crate::error::Result;
use crate::neighbors::{Metric, Neighbors};
use crate::similarity::{Definiteness, Sparse};

/// The recipe of the normalised neighbour graph.
///
/// ```
/// use gromap::affinity::{InputAffinity, NormalizedGraph};
/// use gromap::Matrix;
/// use gromap::similarity::Definiteness;
/// let samples = Matrix::from_fn(30, 1, |i, _| (i * i) as f64);
/// let affinity = NormalizedGraph { neighbors: Some(5), ..NormalizedGraph::default() }.build(&samples)?;
/// assert_eq!(affinity.similarity.definiteness(), Definiteness::Psd);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormalizedGraph {
    /// Neighbours of a sample as scikit-learn counts them, the sample itself among them; `None` is ⌊N/10⌋, at least 2.
    pub neighbors: Option<usize>,
    /// The distance.
    pub metric: Metric,
}

impl Default for NormalizedGraph {
    fn default() -> Self {
        Self { neighbors: None, metric: Metric::Euclidean }
    }
}

impl NormalizedGraph {
    /// Neighbours, the sample itself among them.
    fn with_self(&self, samples: usize) -> usize {
        self.neighbors.unwrap_or((samples / 10).max(2))
    }
}

impl NeighborWeights for NormalizedGraph {
    fn neighborhood(&self, samples: usize) -> Neighborhood {
        Neighborhood { k: self.with_self(samples).saturating_sub(1), metric: self.metric }
    }

    /// Equal weights over the degree.
    fn weigh(&self, distances: &[f32], _: usize) -> Result<Vec<f64>> {
        Ok(vec![1.0 / distances.len() as f64; distances.len()])
    }
}

impl NeighborAffinity for NormalizedGraph {
    fn of_neighbors(&self, neighbors: &Neighbors) -> Result<Affinity> {
        let graph = connectivity(neighbors)?;
        let samples = neighbors.len();
        let degree = |i: usize| graph.row(i).1.iter().map(|&w| f64::from(w)).sum::<f64>();
        let scales: Vec<f64> = (0..samples).map(|i| 1.0 / degree(i).sqrt()).collect();
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..samples {
            let (row, weights) = graph.row(i);
            let diagonal = row.partition_point(|&j| (j as usize) < i);
            let scaled = |(&j, &w): (&u32, &f32)| (f64::from(w) * (scales[i] * scales[j as usize])) as f32;
            columns.extend_from_slice(&row[..diagonal]);
            values.extend(row[..diagonal].iter().zip(&weights[..diagonal]).map(scaled));
            columns.push(i as u32);
            values.push(1.0);
            columns.extend_from_slice(&row[diagonal..]);
            values.extend(row[diagonal..].iter().zip(&weights[diagonal..]).map(scaled));
            offsets.push(columns.len());
        }
        Ok(Sparse::new(offsets, columns, values)?.with_definiteness(Definiteness::Psd).into())
    }

    fn check(&self, samples: usize) -> Result<()> {
        check_neighbors_with_self(self.with_self(samples), samples)
    }
}

/// ½·(A + Aᵀ) of the connectivity A, without loops.
fn connectivity(neighbors: &Neighbors) -> Result<Sparse<'static, f32>> {
    let ones = |i: usize| {
        let mut row: Vec<(u32, f32)> = neighbors.row(i).0.iter().map(|&j| (j, 1.0)).collect();
        row.sort_unstable_by_key(|entry| entry.0);
        row
    };
    let rows: Vec<_> = (0..neighbors.len()).map(ones).collect();
    Pattern::new(neighbors)?.combine(&rows, |a, b| 0.5 * (a + b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::testing::{scattered, sparse_of};
    use crate::neighbors::nearest_neighbors;
    use crate::similarity::Similarity;

    #[test]
    fn it_is_the_shifted_normalised_graph() {
        let samples = scattered(40, 3, 6);
        let neighbors = nearest_neighbors(&samples, 4, Metric::Euclidean, 0).expect("neighbours");
        let found = sparse_of(&NormalizedGraph::default().of_neighbors(&neighbors).expect("a graph"));
        let names = |i: usize, j: usize| f64::from(u8::from(neighbors.row(i).0.contains(&(j as u32))));
        let weight = |i: usize, j: usize| 0.5 * (names(i, j) + names(j, i));
        let degree = |i: usize| (0..40).map(|j| weight(i, j)).sum::<f64>();
        assert!(found.is_symmetric());
        for i in 0..40 {
            let (columns, values) = found.row(i);
            for j in 0..40 {
                let value = columns.binary_search(&(j as u32)).map_or(0.0, |at| f64::from(values[at]));
                let expected = f64::from(u8::from(i == j)) + weight(i, j) / (degree(i) * degree(j)).sqrt();
                assert!((value - expected).abs() < 1e-6, "({i}, {j}): {value} {expected}");
            }
        }
    }

    /// D^{1/2}·1 is the leading eigenvector, of eigenvalue 2.
    #[test]
    fn its_leading_eigenvector_is_known() {
        let samples = scattered(50, 3, 7);
        let neighbors = nearest_neighbors(&samples, 5, Metric::Euclidean, 0).expect("neighbours");
        let graph = connectivity(&neighbors).expect("a graph");
        let found = sparse_of(&NormalizedGraph::default().of_neighbors(&neighbors).expect("a graph"));
        let root = |i: usize| graph.row(i).1.iter().map(|&w| f64::from(w)).sum::<f64>().sqrt();
        for i in 0..50 {
            let (columns, values) = found.row(i);
            let product: f64 = columns.iter().zip(values).map(|(&j, &v)| f64::from(v) * root(j as usize)).sum();
            assert!((product - 2.0 * root(i)).abs() < 1e-5);
        }
    }
}
