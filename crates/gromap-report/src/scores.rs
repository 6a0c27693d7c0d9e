//! How good a level is, in the figures that the slider's chart shows.

use std::collections::BTreeMap;

use gromap::metrics::{Information, weighted_silhouette};
use gromap::{Model, Plan};

use crate::level::{class_shares, squared_distance};
use crate::report::Compared;

/// Multiplications that the silhouette of members may cost; with more samples, only every second, third, … is looked at.
const SILHOUETTE_COST: usize = 2_000_000_000;

/// The silhouette of a map, as in the paper: prototypes at their places, by weight, labelled by the class of most of their
/// mass. `None` where it is not defined: one class, or one for every prototype.
///
/// The page and the command's JSON both show this figure.
pub fn silhouette(model: &Model, classes: &[u32]) -> Option<f64> {
    of_classes(model, &class_shares(&model.plan, classes))
}

/// The same of new samples: prototypes weigh as many samples as were placed there, and have the class of most of them.
pub fn silhouette_of_placed(model: &Model, labels: &[u32], classes: &[u32]) -> Option<f64> {
    let mut counts = vec![BTreeMap::new(); model.weights.len()];
    for (&label, &class) in labels.iter().zip(classes) {
        *counts[label as usize].entry(class).or_insert(0.0) += 1.0;
    }
    let most = |best: (u32, f64), (&class, &count): (&u32, &f64)| if count > best.1 { (class, count) } else { best };
    let majorities: Vec<u32> = counts.iter().map(|counts| counts.iter().fold((0, 0.0), most).0).collect();
    let weights: Vec<f64> = counts.iter().map(|counts| counts.values().sum()).collect();
    weighted_silhouette(&model.prototypes, &majorities, &weights).ok()
}

/// The same from the shares of the classes.
pub(crate) fn of_classes(model: &Model, shares: &[Vec<(u32, f64)>]) -> Option<f64> {
    let labels: Vec<u32> = shares.iter().map(|shares| shares.first().map_or(0, |share| share.0)).collect();
    weighted_silhouette(&model.prototypes, &labels, &model.weights).ok()
}

/// Without classes: members in the space of the samples, by the distance to their own mean and to the nearest other.
pub(crate) fn of_members(plan: &Plan, points: &Compared<'_>, centres: &[Vec<f32>]) -> Option<f64> {
    if centres.len() < 2 {
        return None;
    }
    let (labels, weights) = (plan.labels(), plan.sample_weights());
    let cost = plan.len() * centres.len() * centres[0].len();
    let step = cost.div_ceil(SILHOUETTE_COST).max(1);
    let (mut sum, mut whole) = (0.0, 0.0);
    for i in (0..plan.len()).step_by(step) {
        let point = points.point(i);
        let own = labels[i] as usize;
        let within = squared_distance(&point, &centres[own]).sqrt();
        let others = centres.iter().enumerate().filter(|&(k, _)| k != own);
        let between = others.map(|(_, centre)| squared_distance(&point, centre)).fold(f32::INFINITY, f32::min).sqrt();
        let larger = within.max(between);
        let score = if larger > 0.0 { f64::from((between - within) / larger) } else { 0.0 };
        sum += weights[i] * score;
        whole += weights[i];
    }
    (whole > 0.0).then(|| sum / whole)
}

/// How far prototypes hold one class each, by the weights of the samples.
pub(crate) fn homogeneity(plan: &Plan, classes: &[u32]) -> Option<f64> {
    Information::new(classes, &plan.labels(), plan.sample_weights()).map(|found| found.homogeneity()).ok()
}
