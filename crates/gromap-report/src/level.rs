//! One map of a path, as it is shown: who belongs to each prototype, in which order, of which classes.

use gromap::{Matrix, Model, Plan};

use crate::report::{Compared, Report};
use crate::scores;

/// A sample is listed with a prototype that takes at least this share of it.
const LISTED_SHARE: f64 = 0.01;

/// Features by which a prototype stands out.
const OUTSTANDING: usize = 5;

/// A model and what the report knows of it.
pub(crate) struct Level<'a> {
    pub(crate) model: &'a Model,
    /// Members of prototype k are `members[offsets[k]..offsets[k + 1]]`.
    pub(crate) offsets: Vec<u32>,
    pub(crate) members: Vec<u32>,
    /// The share of each member that is this prototype's, where some are not whole.
    pub(crate) shares: Option<Vec<f32>>,
    /// Share of a prototype's mass that comes from samples of no other.
    pub(crate) hardness: Vec<f32>,
    /// Classes of each prototype and their share of its mass, the largest first.
    pub(crate) classes: Option<Vec<Vec<(u32, f64)>>>,
    /// Mean pictures.
    pub(crate) means: Option<Vec<Vec<f32>>>,
    /// Whether members are ordered by their distance to the mean.
    pub(crate) ordered: bool,
    pub(crate) profiles: Option<Profiles>,
    pub(crate) silhouette: Option<f64>,
    pub(crate) homogeneity: Option<f64>,
}

/// Mean samples in units of their spread over the map: what a prototype looks like where there are no pictures.
pub(crate) struct Profiles {
    /// n×bins, row by row; neighbouring features share a bin when there are many.
    pub(crate) bars: Vec<f32>,
    pub(crate) bins: usize,
    /// The features that are farthest from their mean, n×(at most 5), with their value and its distance in spreads.
    pub(crate) outstanding: Vec<(u32, f32, f32)>,
    pub(crate) per_prototype: usize,
}

impl<'a> Level<'a> {
    pub(crate) fn new(report: &Report<'_>, model: &'a Model) -> Self {
        let plan = &model.plan;
        let means = report.images.as_ref().map(|images| images.means(plan));
        let compared = report.compared();
        let centres = centres(compared.as_ref(), model, means.as_deref());
        let (offsets, members, shares) = members(plan, compared.as_ref().zip(centres.as_deref()));
        let classes = report.classes.as_ref().map(|classes| class_shares(plan, &classes.of_samples));
        let silhouette = match (&report.classes, &classes, &compared, &centres) {
            (Some(_), Some(shares), _, _) => scores::of_classes(model, shares),
            (_, _, Some(compared), Some(centres)) => scores::of_members(plan, compared, centres),
            _ => None,
        };
        let homogeneity = report.classes.as_ref().and_then(|classes| scores::homogeneity(plan, &classes.of_samples));
        let profiles = model.features.as_ref().map(|features| Profiles::new(features, &model.weights));
        Self {
            model,
            offsets,
            members,
            shares,
            hardness: hardness(plan),
            classes,
            means,
            ordered: centres.is_some(),
            profiles,
            silhouette,
            homogeneity,
        }
    }

    /// Number of prototypes.
    pub(crate) fn len(&self) -> usize {
        self.model.weights.len()
    }

    /// The strongest links. A model whose prototypes were changed after the fit has none.
    pub(crate) fn links(&self) -> &'a [(u32, u32, f64)] {
        let fit = self.model.links.iter().all(|link| (link.0.max(link.1) as usize) < self.len());
        if fit { &self.model.links } else { &[] }
    }

    /// Members of a prototype, in order.
    pub(crate) fn members_of(&self, k: usize) -> &[u32] {
        &self.members[self.offsets[k] as usize..self.offsets[k + 1] as usize]
    }
}

/// What members of each prototype are compared with.
fn centres(compared: Option<&Compared<'_>>, model: &Model, means: Option<&[Vec<f32>]>) -> Option<Vec<Vec<f32>>> {
    match (compared?, &model.features) {
        (Compared::Pictures(_), _) => means.map(<[_]>::to_vec),
        (Compared::Samples(samples), Some(features)) if features.columns() == samples.columns() => {
            Some((0..features.rows()).map(|k| features.row(k).iter().map(|&x| x as f32).collect()).collect())
        }
        (Compared::Samples(_), _) => None,
    }
}

/// The squared distance of two points.
pub(crate) fn squared_distance(x: &[f32], y: &[f32]) -> f32 {
    // Eight sums side by side, so that they stand in one register.
    let mut sums = [0.0_f32; 8];
    let (xs, x_rest) = x.as_chunks::<8>();
    let (ys, y_rest) = y.as_chunks::<8>();
    for (x, y) in xs.iter().zip(ys) {
        for lane in 0..8 {
            sums[lane] += (x[lane] - y[lane]) * (x[lane] - y[lane]);
        }
    }
    let rest: f32 = x_rest.iter().zip(y_rest).map(|(x, y)| (x - y) * (x - y)).sum();
    sums.iter().sum::<f32>() + rest
}

/// Offsets, members and shares. The first member is the medoid: the one nearest to the mean has the least squared
/// distance to all others together.
fn members(plan: &Plan, compared: Option<(&Compared<'_>, &[Vec<f32>])>) -> (Vec<u32>, Vec<u32>, Option<Vec<f32>>) {
    let (columns, labels) = (plan.columns(), plan.labels());
    let (mut offsets, mut members, mut shares) = (vec![0], Vec::new(), Vec::new());
    for k in 0..plan.prototypes() {
        let (samples, mass) = columns.column(k);
        let mut listed: Vec<(f32, u32, f32)> = Vec::with_capacity(samples.len());
        for (&sample, &mass) in samples.iter().zip(mass) {
            let weight = plan.sample_weights()[sample as usize];
            let share = if weight > 0.0 { mass / weight } else { 1.0 };
            if share >= LISTED_SHARE || labels[sample as usize] as usize == k {
                let distance = compared
                    .map_or(0.0, |(points, centres)| squared_distance(&points.point(sample as usize), &centres[k]));
                listed.push((distance, sample, share as f32));
            }
        }
        listed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        members.extend(listed.iter().map(|entry| entry.1));
        shares.extend(listed.iter().map(|entry| entry.2));
        offsets.push(members.len() as u32);
    }
    let whole = plan.hard_labels().is_some();
    (offsets, members, (!whole).then_some(shares))
}

/// Share of each prototype's mass that lies in rows with a single entry.
fn hardness(plan: &Plan) -> Vec<f32> {
    if plan.hard_labels().is_some() {
        return vec![1.0; plan.prototypes()];
    }
    let (mut whole, mut hard) = (vec![0.0; plan.prototypes()], vec![0.0; plan.prototypes()]);
    for i in 0..plan.len() {
        let row = plan.row(i);
        for (k, mass) in row.iter() {
            whole[k] += mass;
            if row.prototypes.len() == 1 {
                hard[k] += mass;
            }
        }
    }
    whole.iter().zip(&hard).map(|(whole, hard)| if *whole > 0.0 { (hard / whole) as f32 } else { 1.0 }).collect()
}

/// The classes of each prototype by their share of its mass, the largest first, the lower index of equals.
pub(crate) fn class_shares(plan: &Plan, classes: &[u32]) -> Vec<Vec<(u32, f64)>> {
    let columns = plan.columns();
    let of_prototype = |k: usize| {
        let (samples, mass) = columns.column(k);
        let whole: f64 = mass.iter().sum();
        let mut sums = std::collections::BTreeMap::new();
        for (&sample, &mass) in samples.iter().zip(mass) {
            let share = if whole > 0.0 { mass / whole } else { 1.0 / samples.len() as f64 };
            *sums.entry(classes[sample as usize]).or_insert(0.0) += share;
        }
        let mut shares: Vec<(u32, f64)> = sums.into_iter().collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        shares
    };
    (0..plan.prototypes()).map(of_prototype).collect()
}

impl Profiles {
    /// Bars a small drawing can hold.
    const BINS: usize = 48;

    fn new(features: &Matrix<'_>, weights: &[f64]) -> Self {
        let (n, p) = (features.rows(), features.columns());
        let (mut mean, mut spread) = (vec![0.0; p], vec![0.0; p]);
        for (k, weight) in weights.iter().enumerate() {
            mean.iter_mut().zip(features.row(k)).for_each(|(mean, x)| *mean += weight * x);
        }
        for (k, weight) in weights.iter().enumerate() {
            let gaps = features.row(k).iter().zip(&mean).map(|(x, mean)| x - mean);
            spread.iter_mut().zip(gaps).for_each(|(sum, gap)| *sum += weight * gap * gap);
        }
        spread.iter_mut().for_each(|sum| *sum = sum.sqrt());
        let bins = p.min(Self::BINS);
        let per_prototype = p.min(OUTSTANDING);
        let mut bars = Vec::with_capacity(n * bins);
        let mut outstanding = Vec::with_capacity(n * per_prototype);
        for k in 0..n {
            let row = features.row(k);
            // A feature that is the same everywhere says nothing about a prototype; rounding is no spread.
            let score = |j: usize| {
                let told = spread[j] > 1e-12 * mean[j].abs();
                if told { ((row[j] - mean[j]) / spread[j]) as f32 } else { 0.0 }
            };
            let scores: Vec<f32> = (0..p).map(score).collect();
            bars.extend((0..bins).map(|bin| {
                let range = bin * p / bins..(bin + 1) * p / bins;
                let count = range.len() as f32;
                scores[range].iter().sum::<f32>() / count
            }));
            let mut order: Vec<usize> = (0..p).collect();
            order.sort_by(|&a, &b| scores[b].abs().total_cmp(&scores[a].abs()).then(a.cmp(&b)));
            outstanding.extend(order[..per_prototype].iter().map(|&j| (j as u32, row[j] as f32, scores[j])));
        }
        Self { bars, bins, outstanding, per_prototype }
    }
}
