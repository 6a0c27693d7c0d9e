//! How far points keep away from those of other labels (Rousseeuw, 1987).
//!
//! With a_i the mean distance of point i to the others of its label and b_i the smallest mean distance
//! to the points of another label, the score of a point is
//!
//! ```text
//! s_i = (b_i − a_i) / max(a_i, b_i),      0 where it is alone with its label
//! ```
//!
//! and that of all points is its mean. Points may weigh differently, as the prototypes of a map do:
//!
//! ```text
//! a_i = Σ_{j∈c(i), j≠i} q_j·d_ij / Σ_{j∈c(i), j≠i} q_j,   b_i = min_{c≠c(i)} Σ_{j∈c} q_j·d_ij / Σ_{j∈c} q_j,
//! s   = Σ q_i·s_i / Σ q_i
//! ```
//!
//! Equal weights give the plain score, the scale of the weights does not matter, and a point of weight 0
//! is as good as absent. To every other point, a point of twice the weight is two points; for the point
//! itself it is not, because a copy would be a companion at distance zero, and weight is not company: a
//! heavy point that is alone with its label scores 0 as a light one does.

use rayon::prelude::*;

use super::numbered;
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::vector::vectorized;
use crate::weights::SampleWeights;

/// Points next to each other in a panel, so that their sums stand side by side in registers.
const PANEL: usize = 32;

/// Points that meet a panel while it is in the cache.
const QUERIES: usize = 16;

/// The mean silhouette of labelled points, in [−1, 1]; n²·d operations, 8·n·d bytes.
///
/// Refuses fewer than two labels, and a label for every point.
///
/// ```
/// use gromap::{Matrix, metrics::silhouette};
/// let points = Matrix::new(vec![0.0, 1.0, 10.0, 11.0], 4, 1)?;
/// let score = silhouette(&points, &[0, 0, 1, 1])?;
/// assert!((score - (19.0 / 21.0 + 17.0 / 19.0) / 2.0).abs() < 1e-15);
/// # Ok::<(), gromap::Error>(())
/// ```
pub fn silhouette(points: &Matrix<'_>, labels: &[u32]) -> Result<f64> {
    weighted_silhouette(points, labels, &vec![1.0; points.rows()])
}

/// The mean silhouette of labelled points of given weights, in [−1, 1]; n²·d operations, 8·n·d bytes.
///
/// Distances within and between labels are averaged by weight, and so are the scores; points without
/// weight are left out, also when labels are counted.
///
/// ```
/// use gromap::{Matrix, metrics::{silhouette, weighted_silhouette}};
/// let points = Matrix::new(vec![0.0, 1.0, 10.0, 11.0, 5.0], 5, 1)?;
/// let score = weighted_silhouette(&points, &[0, 0, 1, 1, 2], &[0.25, 0.25, 0.25, 0.25, 0.0])?;
/// assert_eq!(score, silhouette(&Matrix::new(&points.values()[..4], 4, 1)?, &[0, 0, 1, 1])?);
/// # Ok::<(), gromap::Error>(())
/// ```
pub fn weighted_silhouette(points: &Matrix<'_>, labels: &[u32], weights: &[f64]) -> Result<f64> {
    let labelled = Labelled::new(points, labels, weights)?;
    let (mut sum, mut total) = (0.0, 0.0);
    for (score, member) in labelled.scores().into_iter().zip(&labelled.members) {
        sum += member.weight * score;
        total += member.weight;
    }
    Ok(sum / total)
}

/// A point that has a weight.
struct Member {
    /// Row of the matrix.
    point: usize,
    cluster: usize,
    weight: f64,
    /// Weight of the others of its label.
    company: f64,
}

/// The points that have a weight, in panels.
struct Labelled<'a> {
    points: &'a Matrix<'a>,
    members: Vec<Member>,
    /// Panels one after the other, each feature by feature, scaled.
    panels: Vec<f64>,
    /// A power of two that keeps squares within range; the score has no unit.
    scale: f64,
    /// Weight of each label.
    masses: Vec<f64>,
}

impl<'a> Labelled<'a> {
    fn new(points: &'a Matrix<'a>, labels: &[u32], weights: &[f64]) -> Result<Self> {
        Error::check_len("number of labels", points.rows(), labels.len())?;
        Error::check_len("number of sample weights", points.rows(), weights.len())?;
        if points.columns() == 0 {
            return Err(Error::parameter("number of features", 0.0, "at least 1"));
        }
        points.check_finite("points")?;
        SampleWeights::new(weights)?;
        // Not to sum 1 but to largest 1: equal weights are then whole numbers, whose sums are exact.
        let heaviest = weights.iter().copied().fold(0.0, f64::max);
        let weight = |i: usize| weights[i] / heaviest;
        let present: Vec<usize> = (0..labels.len()).filter(|&i| weight(i) > 0.0).collect();
        let (clusters, count) = numbered(present.iter().map(|&i| labels[i]));
        if count < 2 || count >= present.len() {
            let allowed = format!("at least 2 and fewer than the number of points, {}", present.len());
            return Err(Error::parameter("number of distinct labels", count as f64, allowed));
        }
        let largest = points.values().iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let exponent = if largest > 0.0 { -largest.log2().ceil() } else { 0.0 };
        let member = |(&point, cluster): (&usize, u32)| Member {
            point,
            cluster: cluster as usize,
            weight: weight(point),
            company: 0.0,
        };
        let members = present.iter().zip(clusters).map(member).collect();
        let scale = exponent.clamp(-1023.0, 1023.0).exp2();
        let mut labelled = Self { points, members, panels: Vec::new(), scale, masses: vec![0.0; count] };
        labelled.weigh();
        labelled.fill_panels();
        Ok(labelled)
    }

    /// Company is what comes before and what comes after: taking a heavy point from its whole label
    /// would round its light companions away.
    fn weigh(&mut self) {
        for member in &mut self.members {
            member.company = self.masses[member.cluster];
            self.masses[member.cluster] += member.weight;
        }
        let mut after = vec![0.0; self.masses.len()];
        for member in self.members.iter_mut().rev() {
            member.company += after[member.cluster];
            after[member.cluster] += member.weight;
        }
    }

    fn fill_panels(&mut self) {
        let features = self.points.columns();
        self.panels = vec![0.0; self.members.len().div_ceil(PANEL) * PANEL * features];
        for (panel, members) in self.panels.chunks_exact_mut(PANEL * features).zip(self.members.chunks(PANEL)) {
            for (lane, member) in members.iter().enumerate() {
                for (column, x) in panel.chunks_exact_mut(PANEL).zip(self.points.row(member.point)) {
                    column[lane] = x * self.scale;
                }
            }
        }
    }

    /// The score of each point.
    fn scores(&self) -> Vec<f64> {
        let of_group = |group: &[Member]| {
            crate::interrupt::look();
            let mut sums = vec![0.0; group.len() * self.masses.len()];
            vectorized(
                #[inline(always)]
                || self.add_distances(group, &mut sums),
            );
            let rows = group.iter().zip(sums.chunks_exact(self.masses.len()));
            rows.map(|(member, sums)| self.score(member, sums)).collect::<Vec<f64>>()
        };
        self.members.par_chunks(QUERIES).flat_map_iter(of_group).collect()
    }

    /// Adds q_j·d_ij to the sum of point i for the label of j, for all i of a group and all j.
    #[inline(always)]
    fn add_distances(&self, group: &[Member], sums: &mut [f64]) {
        let panels = self.panels.chunks_exact(PANEL * self.points.columns());
        for (panel, members) in panels.zip(self.members.chunks(PANEL)) {
            for (query, sums) in group.iter().zip(sums.chunks_exact_mut(self.masses.len())) {
                let mut distances = [0.0; PANEL];
                for (column, x) in panel.as_chunks::<PANEL>().0.iter().zip(self.points.row(query.point)) {
                    let x = x * self.scale;
                    for lane in 0..PANEL {
                        let gap = x - column[lane];
                        distances[lane] += gap * gap;
                    }
                }
                for distance in &mut distances {
                    *distance = distance.sqrt();
                }
                for (member, distance) in members.iter().zip(distances) {
                    sums[member.cluster] += member.weight * distance;
                }
            }
        }
    }

    /// s_i from the sums of the distances to each label.
    fn score(&self, member: &Member, sums: &[f64]) -> f64 {
        if member.company == 0.0 {
            return 0.0;
        }
        let means = sums.iter().zip(&self.masses).map(|(sum, mass)| sum / mass).enumerate();
        let others = means.filter(|&(cluster, _)| cluster != member.cluster);
        let between = others.map(|(_, mean)| mean).fold(f64::INFINITY, f64::min);
        let within = sums[member.cluster] / member.company;
        let larger = within.max(between);
        // Everything in one place: neither near nor far.
        if larger == 0.0 { 0.0 } else { (between - within) / larger }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::testing::cloud;

    /// Scores by the definition, one point after the other; copies in the same place are company.
    fn plain_scores(points: &Matrix<'_>, labels: &[u32], weights: &[f64]) -> Vec<f64> {
        let distance = |i: usize, j: usize| {
            points.row(i).iter().zip(points.row(j)).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
        };
        let n = labels.len();
        let mean = |i: usize, label: u32| {
            let others = || (0..n).filter(move |&j| j != i && labels[j] == label);
            let mass: f64 = others().map(|j| weights[j]).sum();
            (others().map(|j| weights[j] * distance(i, j)).sum::<f64>() / mass, mass)
        };
        let of_point = |i: usize| {
            let (within, company) = mean(i, labels[i]);
            let others = (0..n).filter(|&j| labels[j] != labels[i]).map(|j| mean(i, labels[j]).0);
            let between = others.fold(f64::INFINITY, f64::min);
            if company == 0.0 { 0.0 } else { (between - within) / within.max(between) }
        };
        (0..n).map(of_point).collect()
    }

    fn plain(points: &Matrix<'_>, labels: &[u32], weights: &[f64]) -> f64 {
        let scores = plain_scores(points, labels, weights);
        scores.iter().zip(weights).map(|(s, w)| s * w).sum::<f64>() / weights.iter().sum::<f64>()
    }

    /// Points, labels with one that is alone, and weights.
    fn sample(n: usize, features: usize, seed: u64) -> (Matrix<'static>, Vec<u32>, Vec<f64>) {
        let noise = cloud(n, features + 1, seed);
        let points = Matrix::from_fn(n, features, |i, j| 0.3 * (i % 4) as f64 + f64::from(noise[(i, j)]));
        let labels = (0..n as u32).map(|i| if i == 5 { 99 } else { 7 * (i % 4) }).collect();
        (points, labels, (0..n).map(|i| 0.1 + f64::from(noise[(i, features)]).abs()).collect())
    }

    #[test]
    fn scores_are_those_of_the_definition() {
        for (n, features) in [(6, 1), (33, 2), (150, 7), (64, 40)] {
            let (points, labels, weights) = sample(n, features, n as u64);
            let even = vec![1.0; n];
            let (found, expected) = (silhouette(&points, &labels).unwrap(), plain(&points, &labels, &even));
            assert!((found - expected).abs() < 1e-13, "{found} is not {expected}");
            let found = weighted_silhouette(&points, &labels, &weights).unwrap();
            assert!((found - plain(&points, &labels, &weights)).abs() < 1e-13);
        }
    }

    #[test]
    fn the_scale_of_points_and_weights_does_not_matter() {
        let (points, labels, weights) = sample(90, 3, 1);
        let score = weighted_silhouette(&points, &labels, &weights).unwrap();
        for (unit, factor) in [(1e-200, 1e-300), (1e200, 1e307), (3.0, 1e-9)] {
            let scaled = Matrix::from_fn(90, 3, |i, j| unit * points[(i, j)]);
            let heavier: Vec<f64> = weights.iter().map(|w| w * factor).collect();
            let found = weighted_silhouette(&scaled, &labels, &heavier).unwrap();
            assert!((found - score).abs() < 1e-12, "{found} is not {score}");
        }
        let equal = weighted_silhouette(&points, &labels, &[1.0 / 90.0; 90]).unwrap();
        assert!((equal - silhouette(&points, &labels).unwrap()).abs() < 1e-14);
    }

    /// The points again, with some of them twice.
    #[test]
    fn twice_the_weight_is_two_points_to_all_others() {
        let (points, labels, _) = sample(40, 2, 2);
        let mut weights = vec![1.0; 40];
        weights[3] = 2.0;
        let doubled = Labelled::new(&points, &labels, &weights).unwrap().scores();
        let rows: Vec<usize> = (0..40).chain([3]).collect();
        let copied = Matrix::from_fn(41, 2, |i, j| points[(rows[i], j)]);
        let copied_labels: Vec<u32> = rows.iter().map(|&i| labels[i]).collect();
        let copied = Labelled::new(&copied, &copied_labels, &[1.0; 41]).unwrap().scores();
        let differences: Vec<f64> = (0..40).map(|i| (doubled[i] - copied[i]).abs()).collect();
        assert!((0..40).all(|i| i == 3 || differences[i] < 1e-13), "{differences:?}");
        assert!(differences[3] > 1e-3);
    }

    #[test]
    fn points_without_weight_are_absent() {
        let (points, labels, mut weights) = sample(80, 2, 3);
        weights[50..].fill(0.0);
        let fewer = Matrix::new(&points.values()[..100], 50, 2).unwrap();
        let expected = weighted_silhouette(&fewer, &labels[..50], &weights[..50]).unwrap();
        let found = weighted_silhouette(&points, &labels, &weights).unwrap();
        assert!((found - expected).abs() < 1e-15, "{found} is not {expected}");
    }

    #[test]
    fn a_light_companion_of_a_heavy_point_is_company() {
        let points = Matrix::new(vec![0.0, 1.0, 10.0, 11.0], 4, 1).unwrap();
        let found = weighted_silhouette(&points, &[0, 0, 1, 1], &[1.0, 1e-20, 1.0, 1.0]).unwrap();
        assert!((found - (19.0 / 21.0 + 9.0 / 10.0 + 10.0 / 11.0) / 3.0).abs() < 1e-12, "{found}");
    }

    #[test]
    fn everything_in_one_place_scores_nothing() {
        let points = Matrix::new(vec![2.0; 8], 4, 2).unwrap();
        assert_eq!(silhouette(&points, &[0, 0, 1, 1]), Ok(0.0));
    }

    #[test]
    fn bad_input_is_named() {
        let points = Matrix::new(vec![0.0, 1.0, 2.0], 3, 1).unwrap();
        let message =
            |labels: &[u32], weights: &[f64]| weighted_silhouette(&points, labels, weights).unwrap_err().to_string();
        let counts = "it must be at least 2 and fewer than the number of points";
        assert_eq!(message(&[4, 4, 4], &[1.0; 3]), format!("number of distinct labels is 1; {counts}, 3"));
        assert_eq!(message(&[0, 1, 2], &[1.0; 3]), format!("number of distinct labels is 3; {counts}, 3"));
        assert_eq!(message(&[0, 0, 1], &[1.0, 0.0, 1.0]), format!("number of distinct labels is 2; {counts}, 2"));
        assert_eq!(message(&[0, 1], &[1.0; 3]), "number of labels: expected 3, found 2");
        assert_eq!(message(&[0, 0, 1], &[1.0; 2]), "number of sample weights: expected 3, found 2");
        assert!(message(&[0, 0, 1], &[1.0, f64::NAN, 1.0]).contains("sample_weights[1] is NaN"));
        let points = Matrix::new(vec![0.0, 1.0, f64::NAN], 3, 1).unwrap();
        assert!(matches!(silhouette(&points, &[0, 0, 1]), Err(Error::NotFinite { row: 2, .. })));
        assert!(silhouette(&Matrix::zeros(3, 0), &[0, 0, 1]).is_err());
    }
}
