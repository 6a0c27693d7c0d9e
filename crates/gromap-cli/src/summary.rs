//! What the demo found, as a table for people and as JSON for programs.

use std::fmt;

use gromap::metrics::Agreement;
use gromap::{Definiteness, StopReason};
use serde_json::{Value, json};

use crate::demo_data::{CLASSES, DemoData, IMAGES, PIXELS};

/// A clustering, in the terms of the summary: nothing here knows how it was found.
pub(crate) struct Clustering {
    /// The prototype of each image.
    pub(crate) labels: Vec<u32>,
    /// The weight of each prototype.
    pub(crate) weights: Vec<f64>,
    /// The loss of the result.
    pub(crate) loss: f64,
    /// The loss at the start and after each round.
    pub(crate) loss_history: Vec<f64>,
    /// Why the solver stopped.
    pub(crate) stop_reason: StopReason,
    /// Share of the images' mass that goes to one prototype only.
    pub(crate) hardness: f64,
    /// Why a hard plan must be among the best, if that is known.
    pub(crate) certificate: Option<Definiteness>,
}

/// Where the time went.
pub(crate) struct Seconds {
    pub(crate) read: f64,
    pub(crate) fit: f64,
    pub(crate) total: f64,
}

/// One line of the table.
struct Prototype {
    index: usize,
    weight: f64,
    members: usize,
    majority: &'static str,
    /// Share of the members that are of the majority class.
    purity: f64,
}

/// Everything there is to say about one run.
pub(crate) struct Summary {
    clustering: Clustering,
    /// The prototypes that stand for at least one image, the heaviest first.
    prototypes: Vec<Prototype>,
    ari: f64,
    seed: u64,
    seconds: Seconds,
}

impl Summary {
    pub(crate) fn new(clustering: Clustering, data: &DemoData, seed: u64, seconds: Seconds) -> gromap::Result<Self> {
        let prototypes = describe(&clustering, &data.labels);
        let classes: Vec<u32> = data.labels.iter().map(|&class| class.into()).collect();
        let ari = Agreement::new(&classes, &clustering.labels)?.adjusted_rand_index();
        Ok(Self { clustering, prototypes, ari, seed, seconds })
    }

    pub(crate) fn to_json(&self) -> Value {
        let prototypes: Vec<Value> = self.prototypes.iter().map(Prototype::to_json).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "method": "mds",
            "n_samples": IMAGES,
            "n_features": PIXELS,
            "n_prototypes": self.clustering.weights.len(),
            "n_used": prototypes.len(),
            "loss": self.clustering.loss,
            "loss_history": self.clustering.loss_history,
            "stop_reason": self.clustering.stop_reason.to_string(),
            "hardness": self.clustering.hardness,
            "certificate": self.clustering.certificate.map(name),
            "seconds": { "read": self.seconds.read, "fit": self.seconds.fit, "total": self.seconds.total },
            "metrics": { "ari": self.ari },
            "seed": self.seed,
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
            "weight": self.weight,
            "members": self.members,
            "majority": self.majority,
            "purity": self.purity,
        })
    }
}

/// The prototypes in use, the heaviest first.
fn describe(clustering: &Clustering, classes: &[u8]) -> Vec<Prototype> {
    let mut counts = vec![[0_usize; CLASSES.len()]; clustering.weights.len()];
    for (&k, &class) in clustering.labels.iter().zip(classes) {
        counts[k as usize][usize::from(class)] += 1;
    }
    let mut prototypes: Vec<Prototype> = counts
        .iter()
        .zip(&clustering.weights)
        .enumerate()
        .filter_map(|(index, (counts, &weight))| {
            let members: usize = counts.iter().sum();
            let (&most, majority) = counts.iter().zip(CLASSES).max_by_key(|(count, _)| **count)?;
            let purity = most as f64 / members as f64;
            (members > 0).then_some(Prototype { index, weight, members, majority, purity })
        })
        .collect();
    prototypes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    prototypes
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "prototype  weight  members  majority    purity")?;
        for Prototype { index, weight, members, majority, purity } in &self.prototypes {
            writeln!(f, "{index:>9}  {weight:>6.4}  {members:>7}  {majority:<10}  {:>5.1}%", 100.0 * purity)?;
        }
        let Clustering { weights, loss, loss_history, stop_reason, hardness, .. } = &self.clustering;
        // The history begins with the start.
        let rounds = loss_history.len().saturating_sub(1);
        writeln!(f)?;
        writeln!(f, "images      {IMAGES} of {PIXELS} pixels")?;
        writeln!(f, "prototypes  {} of {} in use", self.prototypes.len(), weights.len())?;
        writeln!(f, "loss        {loss:.6}")?;
        writeln!(f, "rounds      {rounds}, {stop_reason}")?;
        writeln!(f, "hardness    {hardness:.4}")?;
        writeln!(f, "ARI         {:.4} against the kinds of clothing", self.ari)?;
        write!(f, "seconds     {:.2}, of which {:.2} to fit", self.seconds.total, self.seconds.fit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clustering(labels: Vec<u32>, weights: Vec<f64>) -> Clustering {
        Clustering {
            labels,
            weights,
            loss: 1.0,
            loss_history: vec![2.0, 1.0],
            stop_reason: StopReason::Converged,
            hardness: 1.0,
            certificate: None,
        }
    }

    #[test]
    fn prototypes_come_heaviest_first_and_unused_ones_not_at_all() {
        let found = describe(&clustering(vec![0, 2, 2, 2], vec![0.25, 0.0, 0.75]), &[5, 9, 9, 1]);
        let lines: Vec<_> = found.iter().map(|p| (p.index, p.weight, p.members, p.majority, p.purity)).collect();
        assert_eq!(lines, [(2, 0.75, 3, "Ankle boot", 2.0 / 3.0), (0, 0.25, 1, "Sandal", 1.0)]);
    }
}
