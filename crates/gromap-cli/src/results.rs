//! What was found, as one JSON object for programs and as a table for people.

use std::fmt;

use gromap::metrics::{Agreement, silhouette};
use gromap::{Clustering, Definiteness, Matrix, Method, Model, StopReason};
use serde_json::{Map, Value, json};

use crate::data::Classes;
use crate::machine;
use crate::watch::Seconds;

/// Lines of the table, at most.
const MOST_LINES: usize = 25;

/// How well labels agree with classes, and places with both.
#[derive(Debug, Clone)]
pub(crate) struct Scores {
    agreement: Agreement,
    /// Of the prototypes' places, each of the class that most of its samples have; not always defined.
    silhouette: Option<f64>,
}

impl Scores {
    /// Scores of labels, and of places if they have any.
    pub(crate) fn new(classes: &Classes, labels: &[u32], places: Option<&Matrix<'_>>) -> gromap::Result<Self> {
        let agreement = Agreement::new(&classes.of_samples, labels)?;
        let silhouette = places.and_then(|places| {
            let majorities = majorities(classes, labels, places.rows());
            let known: Vec<usize> = (0..places.rows()).filter(|&k| majorities[k].is_some()).collect();
            let rows = Matrix::from_fn(known.len(), places.columns(), |k, c| places[(known[k], c)]);
            let of_rows: Vec<u32> = known.iter().filter_map(|&k| majorities[k]).collect();
            silhouette(&rows, &of_rows).ok()
        });
        Ok(Self { agreement, silhouette })
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "ari": self.agreement.adjusted_rand_index(),
            "ami": self.agreement.adjusted_mutual_information(),
            "nmi": self.agreement.normalized_mutual_information(),
            "homogeneity": self.agreement.homogeneity(),
            "completeness": self.agreement.completeness(),
            "silhouette": self.silhouette,
        })
    }
}

impl fmt::Display for Scores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agreement = &self.agreement;
        writeln!(f, "adjusted Rand index            {:.4}", agreement.adjusted_rand_index())?;
        writeln!(f, "adjusted mutual information    {:.4}", agreement.adjusted_mutual_information())?;
        writeln!(f, "normalised mutual information  {:.4}", agreement.normalized_mutual_information())?;
        writeln!(f, "homogeneity                    {:.4}", agreement.homogeneity())?;
        writeln!(f, "completeness                   {:.4}", agreement.completeness())?;
        match self.silhouette {
            Some(silhouette) => writeln!(f, "silhouette                     {silhouette:.4}"),
            None => Ok(()),
        }
    }
}

/// The class that most samples of each label have, the first of equals; `None` for a label without samples.
fn majorities(classes: &Classes, labels: &[u32], count: usize) -> Vec<Option<u32>> {
    let table = counts(classes, labels, count);
    let most = |row: &Vec<usize>| {
        let best = row.iter().copied().max().filter(|&best| best > 0)?;
        row.iter().position(|&count| count == best).map(|class| class as u32)
    };
    table.iter().map(most).collect()
}

/// How many samples of each class each label has.
fn counts(classes: &Classes, labels: &[u32], count: usize) -> Vec<Vec<usize>> {
    let mut table = vec![vec![0; classes.names.len()]; count];
    labels.iter().zip(&classes.of_samples).for_each(|(&label, &class)| table[label as usize][class as usize] += 1);
    table
}

/// The certificate in JSON.
pub(crate) fn certificate(certificate: Definiteness) -> &'static str {
    match certificate {
        Definiteness::Psd => "psd",
        Definiteness::Nsd => "nsd",
        Definiteness::SquaredEuclidean => "squared_euclidean",
        Definiteness::Unknown => "unknown",
    }
}

/// What every fit has: a map of any size, or clusters.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) places: Option<&'a Matrix<'static>>,
    pub(crate) weights: &'a [f64],
    pub(crate) labels: Vec<u32>,
    loss: f64,
    history: &'a [f64],
    pub(crate) stop: StopReason,
    hardness: f64,
    certificate: Option<Definiteness>,
    warnings: &'a [String],
}

impl<'a> From<&'a Model> for Found<'a> {
    fn from(model: &'a Model) -> Self {
        Self {
            places: Some(&model.prototypes),
            weights: &model.weights,
            labels: model.plan.labels(),
            loss: model.loss,
            history: &model.history,
            stop: model.stop,
            hardness: model.hardness,
            certificate: model.certificate,
            warnings: &model.warnings,
        }
    }
}

impl<'a> From<&'a Clustering> for Found<'a> {
    fn from(clustering: &'a Clustering) -> Self {
        Self {
            places: None,
            weights: &clustering.weights,
            labels: clustering.plan.labels(),
            loss: clustering.loss,
            history: &clustering.history,
            stop: clustering.stop,
            hardness: clustering.hardness,
            certificate: clustering.certificate,
            warnings: &clustering.warnings,
        }
    }
}

/// What was asked for, and what else a run has to say.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) method: Method,
    pub(crate) samples: usize,
    pub(crate) features: Option<usize>,
    /// Prototypes or clusters asked for.
    pub(crate) prototypes: usize,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) seconds: Seconds,
    pub(crate) warnings: Vec<String>,
}

/// A result, ready to be told.
#[derive(Debug)]
pub(crate) struct Summary<'a> {
    pub(crate) run: Run,
    pub(crate) found: Found<'a>,
    pub(crate) classes: Option<&'a Classes>,
    pub(crate) scores: Option<Scores>,
    lists_prototypes: bool,
}

/// One line of the table.
struct Line<'a> {
    index: usize,
    members: usize,
    weight: f64,
    /// The class most members have, and the share that do.
    majority: Option<(&'a str, f64)>,
}

impl<'a> Summary<'a> {
    pub(crate) fn new(run: Run, found: Found<'a>, classes: Option<&'a Classes>) -> gromap::Result<Self> {
        let scores = classes.map(|classes| Scores::new(classes, &found.labels, found.places)).transpose()?;
        Ok(Self { run, found, classes, scores, lists_prototypes: true })
    }

    /// The same without a line for every prototype, and without the scores that are about them.
    pub(crate) fn without_prototypes(self) -> Self {
        Self { lists_prototypes: false, ..self }
    }

    /// All warnings, of the data and of the fit.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.run.warnings.iter().chain(self.found.warnings).cloned().collect()
    }

    /// The prototypes that are used, the heaviest first.
    fn lines(&self) -> Vec<Line<'a>> {
        let count = self.found.weights.len();
        let mut members = vec![0; count];
        self.found.labels.iter().for_each(|&label| members[label as usize] += 1);
        let tables = self.classes.map(|classes| (counts(classes, &self.found.labels, count), classes));
        let majority = |index: usize| {
            let (counts, classes) = tables.as_ref()?;
            let most = counts[index].iter().copied().max()?;
            let class = counts[index].iter().position(|&count| count == most)?;
            Some((classes.names[class].as_str(), most as f64 / members[index] as f64))
        };
        let used = (0..count).filter(|&index| members[index] > 0);
        let mut lines: Vec<Line<'a>> = used
            .map(|index| Line {
                index,
                members: members[index],
                weight: self.found.weights[index],
                majority: majority(index),
            })
            .collect();
        lines.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        lines
    }

    /// The keys that every fit has; `docs/json.md` says what they mean.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let Self { run, found, .. } = self;
        let lines = self.lines();
        let listed = if self.lists_prototypes { &lines[..] } else { &[] };
        let prototypes: Vec<Value> = listed.iter().map(|line| self.line_json(line)).collect();
        let Seconds { read, neighbors, affinity, init, fit, total } = run.seconds;
        let seconds = json!({
            "read": read, "neighbors": neighbors, "affinity": affinity, "init": init, "fit": fit, "total": total,
        });
        let object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "method": run.method.name(),
            "n_samples": run.samples,
            "n_features": run.features,
            "n_prototypes": run.prototypes,
            "n_used": lines.len(),
            "dims": found.places.map(Matrix::columns),
            "loss": found.loss,
            "loss_history": found.history,
            "stop_reason": found.stop.to_string(),
            "hardness": found.hardness,
            "certificate": found.certificate.map(certificate),
            "seconds": seconds,
            "peak_memory_bytes": machine::peak(),
            "metrics": self.scores.as_ref().map(Scores::to_json),
            "seed": run.seed,
            "threads": run.threads,
            "warnings": self.warnings(),
            "prototypes": prototypes,
        });
        match object {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }

    fn line_json(&self, line: &Line<'_>) -> Value {
        let place = self.found.places.map(|places| places.row(line.index));
        json!({
            "index": line.index,
            "place": place,
            "weight": line.weight,
            "members": line.members,
            "majority": line.majority.map(|(class, _)| class),
            "purity": line.majority.map(|(_, purity)| purity),
        })
    }

    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines();
        let places = self.found.places;
        let place = if places.is_some() { "       x       y" } else { "" };
        let classes = if self.classes.is_some() { "  majority      purity" } else { "" };
        writeln!(f, "prototype{place}  weight  members{classes}")?;
        for Line { index, members, weight, majority } in lines.iter().take(MOST_LINES) {
            write!(f, "{index:>9}")?;
            if let Some(places) = places {
                let at = |axis: usize| places.row(*index).get(axis).copied().unwrap_or(0.0);
                write!(f, "  {:>6.2}  {:>6.2}", at(0), at(1))?;
            }
            write!(f, "  {weight:>6.4}  {members:>7}")?;
            if let Some((class, purity)) = majority {
                write!(f, "  {class:<12}  {:>5.1}%", 100.0 * purity)?;
            }
            writeln!(f)?;
        }
        match lines.len().saturating_sub(MOST_LINES) {
            0 => writeln!(f),
            more => writeln!(f, "          … and {more} more\n"),
        }
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, found, .. } = self;
        if self.lists_prototypes {
            self.table(f)?;
        }
        let features = run.features.map_or(String::new(), |features| format!(" of {features} features"));
        let used = found.weights.iter().filter(|&&weight| weight > 0.0).count();
        // The history begins with the start.
        let rounds = found.history.len().saturating_sub(1);
        let Seconds { read, neighbors, affinity, init, fit, total } = run.seconds;
        writeln!(f, "samples     {}{features}", run.samples)?;
        writeln!(f, "prototypes  {used} in use of {}, by {}", run.prototypes, run.method)?;
        writeln!(f, "loss        {:.6}", found.loss)?;
        writeln!(f, "rounds      {rounds}, {}", found.stop)?;
        writeln!(f, "hardness    {:.4}", found.hardness)?;
        if let Some(Scores { agreement, .. }) = &self.scores {
            let (homogeneity, ari) = (agreement.homogeneity(), agreement.adjusted_rand_index());
            writeln!(f, "classes     homogeneity {homogeneity:.4}, adjusted Rand index {ari:.4}")?;
        }
        writeln!(
            f,
            "seconds     {total:.2}: {read:.2} read, {neighbors:.2} neighbours, {affinity:.2} affinity, {init:.2} start, {fit:.2} fit"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        let seconds = Seconds::default();
        Run {
            method: Method::Pca,
            samples: 4,
            features: Some(1),
            prototypes: 3,
            seed: 0,
            threads: 1,
            seconds,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn prototypes_come_heaviest_first_and_unused_ones_not_at_all() {
        let classes = Classes { names: ["a", "b", "c"].map(String::from).to_vec(), of_samples: vec![1, 2, 2, 0] };
        let places = Matrix::from_fn(3, 2, |k, c| (k * 2 + c) as f64);
        let found = Found {
            places: Some(&places),
            weights: &[0.25, 0.0, 0.75],
            labels: vec![0, 2, 2, 2],
            loss: 1.0,
            history: &[2.0, 1.0],
            stop: StopReason::Converged,
            hardness: 1.0,
            certificate: None,
            warnings: &[],
        };
        let summary = Summary::new(run(), found, Some(&classes)).unwrap();
        let lines: Vec<_> = summary.lines().iter().map(|l| (l.index, l.weight, l.members, l.majority)).collect();
        assert_eq!(lines, [(2, 0.75, 3, Some(("c", 2.0 / 3.0))), (0, 0.25, 1, Some(("b", 1.0)))]);
        assert_eq!(summary.to_json()["n_used"], 2);
    }

    #[test]
    fn the_majority_is_the_first_of_equals() {
        let classes = Classes { names: ["a", "b"].map(String::from).to_vec(), of_samples: vec![1, 0, 1, 1] };
        assert_eq!(majorities(&classes, &[0, 0, 1, 1], 3), [Some(0), Some(1), None]);
    }
}
