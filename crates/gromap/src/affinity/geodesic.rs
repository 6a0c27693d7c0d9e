//! −H·E·H with E the squared lengths of shortest paths along the neighbour graph: Isomap.
//!
//! The graph joins neighbours both ways. Where it is in pieces, each pair of them is joined by its
//! shortest edge, as scikit-learn does, and the result says so. With landmarks only their paths are
//! searched, and all samples are placed by their distances to them (landmark scaling).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::entropic::calibrated_row;
use super::landmarks::{Spectrum, low_rank};
use super::linear::{check_size, negative_centred};
use super::{
    Affinity, InputAffinity, Landmarks, NEIGHBORS_PER_PERPLEXITY, NeighborWeights, Neighborhood, NewSamples, Pattern,
    Source, Warning,
};
use crate::data::{Data, Samples, either};
use crate::error::{Error, Result};
use crate::memory::{MemoryPlan, Sizes};
use crate::neighbors::Metric;
use crate::numeric::{Matrix, Scalar};
use crate::observe::Stage;

/// The recipe of geodesic distances.
///
/// ```
/// use gromap::Matrix;
/// use gromap::affinity::{Geodesic, InputAffinity};
/// let samples = Matrix::from_fn(30, 2, |i, j| if j == 0 { (i as f64).cos() } else { (i as f64).sin() });
/// assert_eq!(Geodesic::default().build(&samples)?.similarity.len(), 30);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geodesic {
    /// Neighbours of a sample, itself not counted.
    pub neighbors: usize,
    /// The length of an edge.
    pub metric: Metric,
    /// `None` is exact: an N×N matrix.
    pub landmarks: Option<Landmarks>,
}

impl Default for Geodesic {
    fn default() -> Self {
        Self { neighbors: 5, metric: Metric::Euclidean, landmarks: None }
    }
}

impl Geodesic {
    /// The lengths of shortest paths from `sources` (rows) to all samples, and the number of
    /// components that the neighbour graph had.
    pub fn distances<'a>(
        &self,
        samples: impl Into<Samples<'a>>,
        sources: &[usize],
    ) -> Result<(Matrix<'static>, usize)> {
        let (data, mut nobody) = (Data::Samples(samples.into()), ());
        self.paths(&mut Source::new(&data, &mut nobody)?, sources)
    }

    fn paths(&self, source: &mut Source<'_>, sources: &[usize]) -> Result<(Matrix<'static>, usize)> {
        let samples = source.samples()?;
        let n = samples.len();
        if let Some(&source) = sources.iter().find(|&&source| source >= n) {
            return Err(Error::parameter("source", source as f64, format!("less than {n}, the number of samples")));
        }
        let unit = source.unit(self.metric);
        let near = source.neighbors(NeighborWeights::neighborhood(self, n))?;
        let mut graph = Graph { pattern: Pattern::new(&near)?, bridges: vec![Vec::new(); n] };
        let (labels, components) = graph.components();
        either!(samples, |samples| graph.join(samples, (self.metric, unit), &labels, components))?;
        let mut out = Matrix::zeros(sources.len(), n);
        let rows = out.values_mut().par_chunks_mut(n).zip(sources);
        rows.for_each(|(row, &source)| {
            graph.shortest_paths(source, row);
            row.iter_mut().for_each(|length| *length /= unit);
        });
        Ok((out, components))
    }

    /// −H·E·H of the lengths, N×N in the precision of the samples or thin by landmarks.
    fn centred<S: Scalar>(&self, distances: &Matrix<'_>, chosen: &[usize]) -> Result<Affinity> {
        if self.landmarks.is_some() {
            let (across, among) = against_landmarks(distances, chosen);
            return Ok(low_rank::<S>(&across, &among, Spectrum::Positive)?.into());
        }
        let stored = Matrix::from_fn(distances.rows(), distances.columns(), |i, j| S::from_f64(distances[(i, j)]));
        Ok(negative_centred(&stored)?.into())
    }
}

impl InputAffinity for Geodesic {
    fn build_from(&self, source: &mut Source<'_>) -> Result<Affinity> {
        let samples = source.samples()?;
        let chosen = match self.landmarks {
            None => (0..samples.len()).collect(),
            Some(landmarks) => landmarks.draw(samples.len())?,
        };
        let (distances, components) = self.paths(source, &chosen)?;
        check_size(distances.values().iter().fold(0.0, |most, &length| length.max(most)))?;
        let affinity = match samples {
            // Squares of lengths that need a unit of their own would not fit.
            Samples::F32(_) if source.unit(self.metric) == 1.0 => self.centred::<f32>(&distances, &chosen)?,
            _ => self.centred::<f64>(&distances, &chosen)?,
        };
        let warnings = if components > 1 { vec![Warning::ComponentsJoined { components }] } else { Vec::new() };
        Ok(Affinity { warnings, ..affinity })
    }

    fn neighborhood(&self, samples: usize) -> Option<Neighborhood> {
        Some(NeighborWeights::neighborhood(self, samples))
    }

    fn new_samples(&self) -> NewSamples<'_> {
        NewSamples::Neighbors(self)
    }

    fn memory(&self, sizes: &Sizes, plan: &mut MemoryPlan) {
        let pairs = sizes.pairs(sizes.samples);
        let making = pairs.saturating_mul(8 + sizes.value);
        plan.hold("lengths of all shortest paths, N×N", making, Stage::Affinity, Stage::Affinity);
        plan.hold_dense_similarity("similarity of all pairs, N×N", sizes);
    }
}

/// Lengths of paths are not known for a new sample: its neighbours stand for it, by rows of a perplexity.
impl NeighborWeights for Geodesic {
    fn neighborhood(&self, _: usize) -> Neighborhood {
        Neighborhood { k: self.neighbors, metric: self.metric }
    }

    fn weigh(&self, distances: &[f32], _: usize) -> Result<Vec<f64>> {
        let squares: Vec<f32> = distances.iter().map(|d| d * d).collect();
        calibrated_row(&squares, (distances.len() as f64 / NEIGHBORS_PER_PERPLEXITY).max(1.0))
    }
}

/// −E centred over the landmarks: of all samples with them, and among themselves.
fn against_landmarks(distances: &Matrix<'_>, chosen: &[usize]) -> (Matrix<'static>, Matrix<'static>) {
    let (m, n) = (chosen.len(), distances.columns());
    let square = |l: usize, i: usize| distances[(l, i)].powi(2);
    let row_mean = |i: usize| (0..m).map(|l| square(l, i)).sum::<f64>() / m as f64;
    let landmark_means: Vec<f64> = chosen.iter().map(|&i| row_mean(i)).collect();
    let mean = landmark_means.iter().sum::<f64>() / m as f64;
    let means: Vec<f64> = (0..n).map(row_mean).collect();
    let centred = |i: usize, l: usize| -square(l, i) + means[i] + landmark_means[l] - mean;
    (
        Matrix::from_fn(n, m, centred),
        Matrix::from_fn(m, m, |a, b| 0.5 * (centred(chosen[a], b) + centred(chosen[b], a))),
    )
}

/// The neighbour graph and the edges that join its pieces.
struct Graph {
    pattern: Pattern,
    bridges: Vec<Vec<(u32, f32)>>,
}

impl Graph {
    /// Neighbours of a node and the lengths of the edges.
    fn edges(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (columns, lengths) = self.pattern.row(i);
        let inner = columns.iter().copied().zip(lengths.iter().copied());
        inner.chain(self.bridges[i].iter().copied()).map(|(j, length)| (j as usize, f64::from(length)))
    }

    /// A label for every node, the same within a piece, and the number of pieces.
    fn components(&self) -> (Vec<usize>, usize) {
        let n = self.pattern.len();
        let mut labels = vec![usize::MAX; n];
        let mut count = 0;
        for start in 0..n {
            if labels[start] != usize::MAX {
                continue;
            }
            labels[start] = count;
            let mut stack = vec![start];
            while let Some(i) = stack.pop() {
                for (j, _) in self.edges(i) {
                    if labels[j] == usize::MAX {
                        labels[j] = count;
                        stack.push(j);
                    }
                }
            }
            count += 1;
        }
        (labels, count)
    }

    /// Adds the shortest edge between every two pieces, its length times the unit of the others.
    fn join<S: Scalar>(
        &mut self,
        samples: &Matrix<'_, S>,
        (metric, unit): (Metric, f64),
        labels: &[usize],
        components: usize,
    ) -> Result<()> {
        let members = |c: usize| (0..labels.len()).filter(move |&i| labels[i] == c).collect::<Vec<_>>();
        let members: Vec<Vec<usize>> = (0..components).map(members).collect();
        for a in 0..components {
            for b in 0..a {
                let shortest = members[a]
                    .par_iter()
                    .filter_map(|&i| {
                        crate::interrupt::look();
                        members[b]
                            .iter()
                            .map(|&j| (metric.between(samples.row(i), samples.row(j)), i, j))
                            .min_by(ascending)
                    })
                    .min_by(ascending);
                if let Some((length, i, j)) = shortest {
                    let length = length * unit;
                    self.bridges[i].push((j as u32, length as f32));
                    self.bridges[j].push((i as u32, length as f32));
                }
            }
        }
        Ok(())
    }

    /// Dijkstra's algorithm; nodes out of reach would stay infinite, but the graph is connected.
    fn shortest_paths(&self, source: usize, lengths: &mut [f64]) {
        crate::interrupt::look();
        lengths.fill(f64::INFINITY);
        lengths[source] = 0.0;
        let mut heap = BinaryHeap::from([Reached { length: 0.0, node: source }]);
        while let Some(Reached { length, node }) = heap.pop() {
            if length > lengths[node] {
                continue;
            }
            for (next, edge) in self.edges(node) {
                let through = length + edge;
                if through < lengths[next] {
                    lengths[next] = through;
                    heap.push(Reached { length: through, node: next });
                }
            }
        }
    }
}

/// Shorter first, then by indices: the same edge on any number of threads.
fn ascending(a: &(f64, usize, usize), b: &(f64, usize, usize)) -> Ordering {
    a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2)))
}

/// A node in the heap, the nearest on top.
#[derive(PartialEq)]
struct Reached {
    length: f64,
    node: usize,
}

impl Eq for Reached {}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        other.length.total_cmp(&self.length).then(other.node.cmp(&self.node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::testing::{entries, scattered};
    use crate::neighbors::nearest_neighbors;

    fn double(samples: &Matrix<'_, f32>) -> Matrix<'static> {
        Matrix::from_fn(samples.rows(), samples.columns(), |i, j| f64::from(samples[(i, j)]))
    }

    /// Floyd's algorithm on the graph, written out.
    fn all_paths(samples: &Matrix<'_>, k: usize) -> Matrix<'static> {
        let n = samples.rows();
        let neighbors = nearest_neighbors(samples, k, Metric::Euclidean, 0).expect("neighbours");
        let mut lengths = Matrix::from_fn(n, n, |i, j| if i == j { 0.0 } else { f64::INFINITY });
        for i in 0..n {
            for (&j, &d) in neighbors.row(i).0.iter().zip(neighbors.row(i).1) {
                lengths[(i, j as usize)] = f64::from(d);
                lengths[(j as usize, i)] = f64::from(d);
            }
        }
        for through in 0..n {
            for i in 0..n {
                for j in 0..n {
                    let around = lengths[(i, through)] + lengths[(through, j)];
                    lengths[(i, j)] = lengths[(i, j)].min(around);
                }
            }
        }
        lengths
    }

    #[test]
    fn paths_are_the_shortest() {
        let samples = double(&crate::affinity::testing::cloud(60, 2, 5));
        let sources: Vec<usize> = (0..60).collect();
        let recipe = Geodesic { neighbors: 8, ..Geodesic::default() };
        let (found, components) = recipe.distances(&samples, &sources).expect("distances");
        assert_eq!(components, 1);
        for (a, b) in found.values().iter().zip(all_paths(&samples, 8).values()) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn pieces_are_joined_by_their_shortest_edges() {
        // Three groups of five along lines, at the corners of a triangle: every pair gets its own edge.
        let corners = [[0.0, 0.0], [200.0, 0.0], [100.0, 150.0]];
        let samples = Matrix::from_fn(15, 2, |i, j| corners[i / 5][j] + if j == 0 { (i % 5) as f64 } else { 0.0 });
        let recipe = Geodesic { neighbors: 2, ..Geodesic::default() };
        let (found, components) = recipe.distances(&samples, &[0, 5]).expect("distances");
        assert_eq!(components, 3);
        let side = 96f64.hypot(150.0);
        for (at, expected) in [((0, 4), 4.0), ((0, 9), 204.0), ((0, 10), 4.0 + side), ((1, 14), side)] {
            assert!((found[at] - expected).abs() < 1e-4, "{at:?}: {} {expected}", found[at]);
        }
        let warnings = recipe.build(&samples).expect("an affinity").warnings;
        assert_eq!(warnings, [Warning::ComponentsJoined { components: 3 }]);
    }

    /// On a line geodesics are Euclidean, so the similarity is that of classical scaling, and a
    /// landmark approximation is exact.
    #[test]
    fn a_line_is_unrolled() {
        let samples = Matrix::from_fn(40, 2, |i, j| (i * i) as f64 * [0.6, 0.8][j] / 100.0);
        let recipe = Geodesic { neighbors: 3, ..Geodesic::default() };
        let exact = entries(&*recipe.build(&samples).expect("an affinity").similarity);
        let thin = Geodesic { landmarks: Some(Landmarks { count: 10, seed: 3 }), ..recipe };
        let thin = entries(&*thin.build(&samples).expect("an affinity").similarity);
        let scaling = entries(&*crate::affinity::SquaredDistance.build(&samples).expect("an affinity").similarity);
        let scale = scaling.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for ((a, b), c) in exact.values().iter().zip(thin.values()).zip(scaling.values()) {
            assert!((a - c).abs() < 1e-5 * scale && (b - c).abs() < 1e-5 * scale, "{a} {b} {c}");
        }
    }

    #[test]
    fn bad_input_is_named() {
        let samples = double(&scattered(10, 2, 1));
        let refused = |recipe: Geodesic| recipe.build(&samples).map(|_| ()).expect_err("refused").to_string();
        assert!(refused(Geodesic { neighbors: 10, ..Geodesic::default() }).contains("neighbors is 10"));
        let many = Some(Landmarks { count: 11, seed: 0 });
        assert!(refused(Geodesic { landmarks: many, ..Geodesic::default() }).contains("landmarks is 11"));
        assert!(Geodesic::default().distances(&samples, &[10]).is_err());
    }
}
