//! Weighted k-means, as a start: which samples a prototype begins with.
//!
//! ```text
//! minimise Σ_i w_i·‖x_i − c_{l(i)}‖²,   l(i) = the nearest centre,   c_k = the mean of its samples
//! ```
//!
//! The two conditions take turns (Lloyd), each lowering the sum, from seeds drawn far apart
//! ([`seeding`]). A round is 2·N·n·p operations at the speed of a matrix product in `f32`: two centres
//! that are equally near up to its rounding may be taken for each other, which a start can bear. Means
//! are sums in `f64`, over the samples of a centre in their order, so threads change no byte.

mod points;
mod seeding;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use self::points::Points;
pub(crate) use self::seeding::most_seeded;
use crate::error::{Error, Result};
use crate::numeric::vector::vectorized;
use crate::numeric::{Matrix, Scalar};

/// Clusters whose means a thread computes together, at least.
const FEW_CLUSTERS: usize = 16;

/// Weighted k-means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KMeans {
    /// Number of clusters n.
    pub(crate) clusters: usize,
    /// Means are computed at most this many times.
    pub(crate) max_rounds: usize,
    /// Seed of the first centres.
    pub(crate) seed: u64,
}

impl KMeans {
    /// The cluster of every sample. None is empty if there are as many different samples as clusters,
    /// told apart in `f32` after centring.
    pub(crate) fn labels<S: Scalar>(&self, samples: &Matrix<'_, S>, weights: &[f64]) -> Result<Vec<u32>> {
        samples.check_fit()?;
        check_weights(weights, samples.rows())?;
        if self.clusters == 0 || self.clusters > samples.rows() {
            let allowed = format!("from 1 to {}, the number of samples", samples.rows());
            return Err(Error::parameter("clusters", self.clusters as f64, allowed));
        }
        let points = Points::new(samples, weights);
        let seeds = seeding::seeds(&points, weights, self.clusters, self.seed);
        Ok(lloyd(&points, weights, points.rows(&seeds), self.max_rounds))
    }
}

fn check_weights(weights: &[f64], samples: usize) -> Result<()> {
    Error::check_len("number of sample weights", samples, weights.len())?;
    match weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        Some(index) => Err(Error::Weight { index, value: weights[index] }),
        None if weights.iter().all(|w| *w == 0.0) => Err(Error::NoWeight),
        None => Ok(()),
    }
}

/// Alternates means and nearest centres until no label changes.
fn lloyd(points: &Points, weights: &[f64], mut centres: Vec<f32>, max_rounds: usize) -> Vec<u32> {
    let clusters = centres.len() / points.features();
    let mut labels = points.nearest(&centres);
    for round in 0.. {
        let members = Members::new(&labels, clusters);
        if members.any_empty() {
            fill_empty(points, weights, &centres, &mut labels, members.counts());
        }
        if round == max_rounds {
            break;
        }
        let members = Members::new(&labels, clusters);
        means(points, weights, &members, &mut centres);
        let next = points.nearest(&centres);
        if next == labels {
            break;
        }
        labels = next;
    }
    labels
}

/// Samples by cluster, in their order.
struct Members {
    offsets: Vec<usize>,
    samples: Vec<u32>,
}

impl Members {
    /// Counting sort.
    fn new(labels: &[u32], clusters: usize) -> Self {
        let mut offsets = vec![0; clusters + 1];
        labels.iter().for_each(|&k| offsets[k as usize + 1] += 1);
        (0..clusters).for_each(|k| offsets[k + 1] += offsets[k]);
        let mut next = offsets.clone();
        let mut samples = vec![0; labels.len()];
        for (i, &k) in labels.iter().enumerate() {
            samples[next[k as usize]] = i as u32;
            next[k as usize] += 1;
        }
        Self { offsets, samples }
    }

    fn of(&self, cluster: usize) -> &[u32] {
        &self.samples[self.offsets[cluster]..self.offsets[cluster + 1]]
    }

    fn counts(&self) -> Vec<usize> {
        self.offsets.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn any_empty(&self) -> bool {
        self.offsets.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// The weighted mean of every cluster; samples that all weigh nothing count alike, and a cluster
/// without samples stays where it is.
fn means(points: &Points, weights: &[f64], members: &Members, centres: &mut [f32]) {
    let features = points.features();
    let clusters = centres.par_chunks_exact_mut(features).enumerate().with_min_len(FEW_CLUSTERS);
    clusters.for_each_init(
        || vec![0.0; features],
        |sums, (k, centre)| {
            let members = members.of(k);
            let total: f64 = members.iter().map(|&i| weights[i as usize]).sum();
            let weight = |i: u32| if total > 0.0 { weights[i as usize] / total } else { 1.0 / members.len() as f64 };
            if members.is_empty() {
                return;
            }
            sums.fill(0.0);
            vectorized(
                #[inline(always)]
                || {
                    for &i in members {
                        let weight = weight(i);
                        for (sum, &x) in sums.iter_mut().zip(points.row(i as usize)) {
                            *sum += weight * f64::from(x);
                        }
                    }
                },
            );
            centre.iter_mut().zip(&*sums).for_each(|(c, &sum)| *c = sum as f32);
        },
    );
}

/// Gives each empty cluster a sample of its own: the one that costs most where it is. Clusters stay
/// empty only when every sample left is where its centre is, or alone.
fn fill_empty(points: &Points, weights: &[f64], centres: &[f32], labels: &mut [u32], mut counts: Vec<usize>) {
    let far = points.squared_distances(centres, labels);
    let mut order: Vec<usize> = (0..labels.len()).filter(|&i| far[i] > 0.0).collect();
    // Samples of no weight cost nothing: they come last, the farthest first.
    let cost = |i: usize| (weights[i] * far[i], far[i]);
    order.sort_by(|&a, &b| {
        let ((a_cost, a_far), (b_cost, b_far)) = (cost(a), cost(b));
        b_cost.total_cmp(&a_cost).then(b_far.total_cmp(&a_far))
    });
    let mut order = order.into_iter();
    for k in 0..counts.len() {
        if counts[k] > 0 {
            continue;
        }
        let Some(i) = order.find(|&i| counts[labels[i] as usize] > 1) else { return };
        counts[labels[i] as usize] -= 1;
        counts[k] += 1;
        labels[i] = k as u32;
    }
}
