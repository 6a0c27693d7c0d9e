//! Which groups are real: how much crosses the boundary between two groups, against how much crosses inside them.
//!
//! Samples are cut into more groups than anyone expects, and these are joined again where the cut went through the middle of
//! something. A cut between a and b is judged by what crosses it, for every member of the smaller side,
//!
//! ```text
//! φ(a|b) = M_ab / min(q_a, q_b),      link(a, b) = φ(a|b) / mean of φ(a), φ(b), weighted by q
//! ```
//!
//! where φ(a) is the lowest such value of any cut that halves a, as far as the second eigenvector of its Laplacian finds it (each
//! side at least a quarter). Both sides of the ratio are cuts in the same data at the same places, so that neither the
//! dimension of the data, nor their number, nor the perplexity has to be known: in data without groups a boundary is as
//! easily crossed as the middle of a group and the link is about 1; between groups it is near 0. It is the relative
//! interconnectivity of Chameleon (Karypis, Han and Kumar, 1999) with conductances for its cuts.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::error::Result;
use crate::interrupt;
use crate::numeric::Matrix;
use crate::numeric::eigen::symmetric_eigen;
use crate::similarity::Sparse;

/// What a side of a cut that halves a group has at least.
const LEAST_SIDE: f64 = 0.25;
/// Graphs of more nodes are not decomposed but multiplied, so many times.
const SMALL: usize = 120;
const PRODUCTS: usize = 300;

/// Nodes with weights and the mass between them: a group of samples, or groups of groups.
struct Graph {
    weights: Vec<f64>,
    /// (other node, mass), without the node itself.
    edges: Vec<Vec<(u32, f64)>>,
}

/// Two groups that were joined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Join {
    /// The one that stays, and the one that joins it.
    pub(crate) pair: (u32, u32),
    /// How well they were linked: about 1 within something, near 0 between groups.
    pub(crate) link: f64,
}

/// Joins groups of samples, those best linked first, until one is left.
pub(crate) fn joined(
    similarity: &Sparse<'_, f32>,
    weights: &[f64],
    labels: &[u32],
    groups: usize,
) -> Result<Vec<Join>> {
    let mut members = vec![Vec::new(); groups];
    labels.iter().enumerate().filter(|&(i, _)| weights[i] > 0.0).for_each(|(i, &k)| members[k as usize].push(i as u32));
    let mass = masses(similarity, weights, labels, groups);
    let q: Vec<f64> = members.iter().map(|own| own.iter().map(|&i| weights[i as usize]).sum()).collect();
    let inner = |own: &Vec<u32>| graph_of(similarity, weights, own).halved();
    let mut halved: Vec<f64> = members.par_iter().map(inner).collect::<Result<_>>()?;
    // A group of a sample or two cannot be halved: everything in it crosses.
    let of_group = |k: usize| mass.row(k).iter().sum::<f64>() / q[k].max(f64::MIN_POSITIVE);
    halved.iter_mut().enumerate().for_each(|(k, value)| {
        if value.is_nan() {
            *value = of_group(k)
        }
    });
    Joining::new(mass, q, halved).run()
}

/// M without what samples are to themselves.
fn masses(similarity: &Sparse<'_, f32>, weights: &[f64], labels: &[u32], groups: usize) -> Matrix<'static> {
    let mut mass = Matrix::zeros(groups, groups);
    for i in 0..labels.len() {
        let (columns, values) = similarity.row(i);
        for (&j, &c) in columns.iter().zip(values).filter(|(j, _)| **j as usize != i) {
            let (a, b) = (labels[i] as usize, labels[j as usize] as usize);
            let half = 0.5 * f64::from(c) * weights[i] * weights[j as usize];
            mass[(a, b)] += half;
            mass[(b, a)] += half;
        }
    }
    mass
}

/// The samples of one group, which are given in ascending order.
fn graph_of(similarity: &Sparse<'_, f32>, weights: &[f64], members: &[u32]) -> Graph {
    let mut edges = vec![Vec::new(); members.len()];
    for (x, &i) in members.iter().enumerate() {
        let (columns, values) = similarity.row(i as usize);
        for (&j, &c) in columns.iter().zip(values).filter(|(j, _)| **j != i) {
            if let Ok(y) = members.binary_search(&j) {
                let half = 0.5 * f64::from(c) * weights[i as usize] * weights[j as usize];
                edges[x].push((y as u32, half));
                edges[y].push((x as u32, half));
            }
        }
    }
    Graph { weights: members.iter().map(|&i| weights[i as usize]).collect(), edges }
}

impl Graph {
    fn degree(&self, x: usize) -> f64 {
        self.edges[x].iter().map(|(_, mass)| mass).sum()
    }

    /// What crosses the best cut along the second eigenvector, for each member of its smaller side; NaN for fewer than two nodes.
    fn halved(&self) -> Result<f64> {
        interrupt::look();
        if self.weights.len() < 2 {
            return Ok(f64::NAN);
        }
        let place = self.second_eigenvector()?;
        let mut order: Vec<usize> = (0..place.len()).collect();
        order.sort_by(|&x, &y| place[x].total_cmp(&place[y]).then(x.cmp(&y)));
        let whole: f64 = self.weights.iter().sum();
        let mut before = vec![false; place.len()];
        let (mut side, mut cut) = (0.0, 0.0);
        let (mut best, mut most_even) = (f64::INFINITY, (0.0, f64::INFINITY));
        for &x in &order[..order.len() - 1] {
            before[x] = true;
            side += self.weights[x];
            let inwards = self.edges[x].iter().filter(|(y, _)| before[*y as usize]).map(|(_, mass)| mass).sum::<f64>();
            cut += self.degree(x) - 2.0 * inwards;
            let smaller = f64::min(side, whole - side);
            let value = cut.max(0.0) / smaller.max(f64::MIN_POSITIVE);
            if smaller >= LEAST_SIDE * whole {
                best = f64::min(best, value);
            }
            if smaller > most_even.0 {
                most_even = (smaller, value);
            }
        }
        Ok(if best.is_finite() { best } else { most_even.1 })
    }

    /// The second lowest f of (D − A)·f = λ·Q·f, by which the nodes are ordered.
    fn second_eigenvector(&self) -> Result<Vec<f64>> {
        let size = self.weights.len();
        let heaviest = self.weights.iter().copied().fold(0.0, f64::max);
        let root: Vec<f64> = self.weights.iter().map(|q| q.max(1e-12 * heaviest).sqrt()).collect();
        let degrees: Vec<f64> = (0..size).map(|x| self.degree(x)).collect();
        let vector = if size <= SMALL {
            let mut matrix = Matrix::zeros(size, size);
            for x in 0..size {
                matrix[(x, x)] -= degrees[x] / (root[x] * root[x]);
                self.edges[x]
                    .iter()
                    .for_each(|&(y, mass)| matrix[(x, y as usize)] += mass / (root[x] * root[y as usize]));
            }
            symmetric_eigen(&matrix)?.1.row(1).to_vec()
        } else {
            self.by_products(&root, &degrees)
        };
        Ok(vector.iter().zip(&root).map(|(v, r)| v / r).collect())
    }

    /// The same by powers of a shifted matrix, from a start that is always the same.
    fn by_products(&self, root: &[f64], degrees: &[f64]) -> Vec<f64> {
        let size = root.len();
        let shift = degrees.iter().zip(root).map(|(d, r)| d / (r * r)).fold(0.0, f64::max);
        let length = root.iter().map(|r| r * r).sum::<f64>().sqrt();
        let first: Vec<f64> = root.iter().map(|r| r / length).collect();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(size as u64);
        let mut vector: Vec<f64> = (0..size).map(|_| rng.random::<f64>() - 0.5).collect();
        let mut next = vec![0.0; size];
        for _ in 0..PRODUCTS {
            let along: f64 = vector.iter().zip(&first).map(|(v, f)| v * f).sum();
            vector.iter_mut().zip(&first).for_each(|(v, f)| *v -= along * f);
            let norm = vector.iter().map(|v| v * v).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            vector.iter_mut().for_each(|v| *v /= norm);
            for (x, out) in next.iter_mut().enumerate() {
                let own = (shift - degrees[x] / (root[x] * root[x])) * vector[x];
                let pull = |sum: f64, &(y, mass): &(u32, f64)| sum + mass * vector[y as usize] / root[y as usize];
                *out = own + self.edges[x].iter().fold(0.0, pull) / root[x];
            }
            std::mem::swap(&mut vector, &mut next);
        }
        vector
    }
}

/// Groups on the way to be joined.
struct Joining {
    /// M between the first groups.
    fine: Matrix<'static>,
    fine_weights: Vec<f64>,
    /// M between the groups as they are now.
    mass: Matrix<'static>,
    weights: Vec<f64>,
    halved: Vec<f64>,
    members: Vec<Vec<u32>>,
    alive: Vec<usize>,
}

impl Joining {
    fn new(mass: Matrix<'static>, weights: Vec<f64>, halved: Vec<f64>) -> Self {
        let alive: Vec<usize> = (0..weights.len()).filter(|&k| weights[k] > 0.0).collect();
        let members = (0..weights.len() as u32).map(|k| vec![k]).collect();
        Self { fine: mass.clone(), fine_weights: weights.clone(), mass, weights, halved, members, alive }
    }

    fn link(&self, a: usize, b: usize) -> f64 {
        let (q, other) = (self.weights[a], self.weights[b]);
        let crossing = self.mass[(a, b)] / f64::min(q, other);
        let inside = (q * self.halved[a] + other * self.halved[b]) / (q + other);
        crossing / inside.max(f64::MIN_POSITIVE)
    }

    fn run(mut self) -> Result<Vec<Join>> {
        let mut joins = Vec::with_capacity(self.alive.len());
        while self.alive.len() > 1 {
            let pairs =
                self.alive.iter().enumerate().flat_map(|(x, &a)| self.alive[x + 1..].iter().map(move |&b| (a, b)));
            let better = |best: ((usize, usize), f64), pair: (usize, usize)| {
                let link = self.link(pair.0, pair.1);
                if link > best.1 { (pair, link) } else { best }
            };
            let ((a, b), link) = pairs.fold(((0, 0), -1.0), better);
            joins.push(Join { pair: (a as u32, b as u32), link });
            self.join(a, b)?;
        }
        Ok(joins)
    }

    fn join(&mut self, a: usize, b: usize) -> Result<()> {
        self.alive.retain(|&k| k != b);
        self.weights[a] += self.weights[b];
        for &k in &self.alive {
            let sum = self.mass[(a, k)] + self.mass[(b, k)];
            self.mass[(a, k)] = sum;
            self.mass[(k, a)] = sum;
        }
        let joining = std::mem::take(&mut self.members[b]);
        self.members[a].extend(joining);
        self.halved[a] = self.graph_of(&self.members[a]).halved()?;
        Ok(())
    }

    fn graph_of(&self, members: &[u32]) -> Graph {
        let edges_of = |&k: &u32| {
            let mass = |(x, &l): (usize, &u32)| (x as u32, self.fine[(k as usize, l as usize)]);
            let others = members.iter().enumerate().filter(|(_, l)| **l != k);
            others.map(mass).filter(|(_, mass)| *mass > 0.0).collect()
        };
        let weights = members.iter().map(|&k| self.fine_weights[k as usize]).collect();
        Graph { weights, edges: members.iter().map(edges_of).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clouds of so many samples on a line, gaps between them: neighbours within three steps are alike.
    fn clouds(count: usize, size: usize) -> Sparse<'static, f32> {
        let total = count * size;
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..total {
            for j in i.saturating_sub(3)..(i + 4).min(total) {
                if j != i {
                    // The next cloud is seen, but hardly.
                    let share = if i / size == j / size { 1.0 } else { 0.01 };
                    columns.push(j as u32);
                    values.push(share / i.abs_diff(j) as f32);
                }
            }
            offsets.push(columns.len());
        }
        Sparse::new(offsets, columns, values).unwrap()
    }

    /// Groups that are apart. On a line two neighbours of equal length have a link of a half: whole groups lie on both sides of
    /// their boundary, and half a group on both sides of a middle. Less than half of that is apart.
    fn apart(similarity: &Sparse<'_, f32>, samples: usize, of_group: usize) -> usize {
        let labels: Vec<u32> = (0..samples).map(|i| (i / of_group) as u32).collect();
        let weights = vec![1.0 / samples as f64; samples];
        let joins = joined(similarity, &weights, &labels, samples / of_group).unwrap();
        joins.iter().position(|join| join.link < 0.25).map_or(1, |at| joins.len() + 1 - at)
    }

    #[test]
    fn clouds_are_counted_whatever_they_were_cut_into() {
        for of_group in [10, 20, 40] {
            assert_eq!(apart(&clouds(4, 120), 480, of_group), 4, "{of_group}");
        }
    }

    #[test]
    fn one_cloud_is_one() {
        assert_eq!(apart(&clouds(1, 480), 480, 40), 1);
    }

    #[test]
    fn a_group_is_halved_where_least_crosses() {
        // Two triangles and a bridge: the bridge of 0.1 between sides of three.
        let pairs = [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0), (3, 4, 1.0), (3, 5, 1.0), (4, 5, 1.0), (2, 3, 0.1)];
        let mut edges = vec![Vec::new(); 6];
        for (x, y, mass) in pairs {
            edges[x as usize].push((y, mass));
            edges[y as usize].push((x, mass));
        }
        let graph = Graph { weights: vec![1.0; 6], edges };
        assert!((graph.halved().unwrap() - 0.1 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn products_find_the_cut_that_decomposition_finds() {
        let members: Vec<u32> = (0..110).collect();
        let graph = graph_of(&clouds(2, 55), &vec![1.0; 110], &members);
        let root = vec![1.0; 110];
        let degrees: Vec<f64> = (0..110).map(|x| graph.degree(x)).collect();
        let (by_products, exact) = (graph.by_products(&root, &degrees), graph.second_eigenvector().unwrap());
        let sides = |vector: &[f64]| (0..110).map(|x| (vector[x] > 0.0) == (vector[0] > 0.0)).collect::<Vec<_>>();
        assert_eq!(sides(&by_products), sides(&exact));
        assert!((0..110).all(|x| sides(&exact)[x] == (x < 55)));
    }

    #[test]
    fn a_single_sample_is_a_group_too() {
        let labels: Vec<u32> = (0..60).map(|i| if i == 0 { 1 } else { 0 }).collect();
        let joins = joined(&clouds(1, 60), &vec![1.0; 60], &labels, 2).unwrap();
        assert!(joins.len() == 1 && joins[0].link.is_finite());
    }
}
