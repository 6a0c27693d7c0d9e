//! What the demo found, as a table for people and as JSON for programs.

use std::fmt;

use gromap::metrics::Agreement;
use gromap::{Definiteness, Method, Model};
use serde_json::{Value, json};

use crate::args::DemoArgs;
use crate::demo_data::{CLASSES, DemoData, IMAGES, PIXELS};

/// Where the time went.
#[derive(Default)]
pub(crate) struct Seconds {
    pub(crate) read: f64,
    pub(crate) affinity: f64,
    pub(crate) init: f64,
    pub(crate) fit: f64,
    pub(crate) total: f64,
}

/// One line of the table.
struct Prototype {
    index: usize,
    place: Vec<f64>,
    weight: f64,
    members: usize,
    majority: &'static str,
    /// Share of the members that are of the majority class.
    purity: f64,
}

/// Everything there is to say about one run.
pub(crate) struct Summary {
    model: Model,
    /// How many prototypes were asked for.
    asked: u32,
    /// Those in use, the heaviest first.
    prototypes: Vec<Prototype>,
    agreement: Agreement,
    seed: u64,
    seconds: Seconds,
}

impl Summary {
    pub(crate) fn new(model: Model, data: &DemoData, args: &DemoArgs, seconds: Seconds) -> gromap::Result<Self> {
        let labels = model.plan.labels();
        let classes: Vec<u32> = data.labels.iter().map(|&class| class.into()).collect();
        let agreement = Agreement::new(&classes, &labels)?;
        let places: Vec<&[f64]> = (0..model.weights.len()).map(|k| model.prototypes.row(k)).collect();
        let prototypes = describe(&labels, &model.weights, &places, &data.labels);
        Ok(Self { model, asked: args.prototypes, prototypes, agreement, seed: args.seed, seconds })
    }

    pub(crate) fn to_json(&self) -> Value {
        let prototypes: Vec<Value> = self.prototypes.iter().map(Prototype::to_json).collect();
        let (model, seconds) = (&self.model, &self.seconds);
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "method": Method::default().name(),
            "n_samples": IMAGES,
            "n_features": PIXELS,
            "n_prototypes": self.asked,
            "n_used": prototypes.len(),
            "dims": model.prototypes.columns(),
            "loss": model.loss,
            "loss_history": model.history,
            "stop_reason": model.stop.to_string(),
            "hardness": model.hardness,
            "certificate": model.certificate.map(name),
            "seconds": {
                "read": seconds.read,
                "affinity": seconds.affinity,
                "init": seconds.init,
                "fit": seconds.fit,
                "total": seconds.total,
            },
            "metrics": {
                "ari": self.agreement.adjusted_rand_index(),
                "ami": self.agreement.adjusted_mutual_information(),
                "nmi": self.agreement.normalized_mutual_information(),
                "homogeneity": self.agreement.homogeneity(),
                "completeness": self.agreement.completeness(),
            },
            "seed": self.seed,
            "warnings": model.warnings,
            "prototypes": prototypes,
        })
    }
}

/// The certificate in JSON.
fn name(certificate: Definiteness) -> &'static str {
    match certificate {
        Definiteness::Psd => "psd",
        Definiteness::Nsd => "nsd",
        Definiteness::SquaredEuclidean => "squared_euclidean",
        Definiteness::Unknown => "unknown",
    }
}

impl Prototype {
    fn to_json(&self) -> Value {
        json!({
            "index": self.index,
            "place": self.place,
            "weight": self.weight,
            "members": self.members,
            "majority": self.majority,
            "purity": self.purity,
        })
    }
}

/// The prototypes, the heaviest first.
fn describe(labels: &[u32], weights: &[f64], places: &[&[f64]], classes: &[u8]) -> Vec<Prototype> {
    let mut counts = vec![[0_usize; CLASSES.len()]; weights.len()];
    for (&k, &class) in labels.iter().zip(classes) {
        counts[k as usize][usize::from(class)] += 1;
    }
    let mut prototypes: Vec<Prototype> = counts
        .iter()
        .enumerate()
        .filter_map(|(index, counts)| {
            let members: usize = counts.iter().sum();
            let (&most, majority) = counts.iter().zip(CLASSES).max_by_key(|(count, _)| **count)?;
            let (place, weight, purity) = (places[index].to_vec(), weights[index], most as f64 / members as f64);
            (members > 0).then_some(Prototype { index, place, weight, members, majority, purity })
        })
        .collect();
    prototypes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    prototypes
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "prototype       x       y  weight  members  majority    purity")?;
        for Prototype { index, place, weight, members, majority, purity } in &self.prototypes {
            let purity = 100.0 * purity;
            let [x, y] = [0, 1].map(|axis| place.get(axis).copied().unwrap_or(0.0));
            writeln!(f, "{index:>9}  {x:>6.2}  {y:>6.2}  {weight:>6.4}  {members:>7}  {majority:<10}  {purity:>5.1}%")?;
        }
        let Model { loss, history, stop, hardness, .. } = &self.model;
        // The history begins with the start.
        let rounds = history.len().saturating_sub(1);
        let (ari, homogeneity) = (self.agreement.adjusted_rand_index(), self.agreement.homogeneity());
        let Seconds { affinity, init, fit, total, .. } = &self.seconds;
        writeln!(f)?;
        writeln!(f, "images      {IMAGES} of {PIXELS} pixels")?;
        writeln!(f, "prototypes  {} in use, by {}", self.prototypes.len(), Method::default())?;
        writeln!(f, "loss        {loss:.6}")?;
        writeln!(f, "rounds      {rounds}, {stop}")?;
        writeln!(f, "hardness    {hardness:.4}")?;
        writeln!(f, "kinds       homogeneity {homogeneity:.4}, adjusted Rand index {ari:.4}")?;
        write!(f, "seconds     {total:.2}: {affinity:.2} similarity, {init:.2} start, {fit:.2} fit")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_come_heaviest_first_and_unused_ones_not_at_all() {
        let found = describe(&[0, 2, 2, 2], &[0.25, 0.0, 0.75], &[&[1.0, 2.0][..]; 3], &[5, 9, 9, 1]);
        let lines: Vec<_> = found.iter().map(|p| (p.index, p.weight, p.members, p.majority, p.purity)).collect();
        assert_eq!(lines, [(2, 0.75, 3, "Ankle boot", 2.0 / 3.0), (0, 0.25, 1, "Sandal", 1.0)]);
    }
}
