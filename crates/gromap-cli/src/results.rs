//! What was found, as one JSON object for programs and as a table for people.

use std::fmt;

use gromap::metrics::Agreement;
use gromap::similarity::Definiteness;
use gromap::{Matrix, Model, Outcome, Plan};
use gromap_report::Classes;
use serde_json::{Map, Value, json};

use crate::failure::clipped;
use crate::machine;
use crate::watch::Seconds;

/// Lines of the table, at most.
const MOST_LINES: usize = 25;

/// How well labels agree with classes, and places with both.
#[derive(Debug, Clone)]
pub(crate) struct Scores {
    agreement: Agreement,
    /// The silhouette of the page: prototypes at their places, labelled by the class of most of their mass.
    silhouette: Option<f64>,
}

impl Scores {
    /// Scores of labels without places.
    pub(crate) fn of_labels(classes: &Classes, labels: &[u32]) -> gromap::Result<Self> {
        Ok(Self { agreement: Agreement::new(&classes.of_samples, labels)?, silhouette: None })
    }

    /// Scores of a model whose samples have these classes.
    pub(crate) fn of_model(classes: &Classes, model: &Model) -> gromap::Result<Self> {
        let silhouette = gromap_report::silhouette(model, &classes.of_samples);
        Ok(Self { silhouette, ..Self::of_labels(classes, &model.plan.labels())? })
    }

    /// Scores of new samples that a model has placed.
    pub(crate) fn of_placed(classes: &Classes, model: &Model, labels: &[u32]) -> gromap::Result<Self> {
        let silhouette = gromap_report::silhouette_of_placed(model, labels, &classes.of_samples);
        Ok(Self { silhouette, ..Self::of_labels(classes, labels)? })
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

/// How many samples of each class each label has.
fn counts(classes: &Classes, labels: &[u32], count: usize) -> Vec<Vec<usize>> {
    let mut table = vec![vec![0; classes.names.len()]; count];
    labels.iter().zip(&classes.of_samples).for_each(|(&label, &class)| table[label as usize][class as usize] += 1);
    table
}

/// The size of a run, its options and its timings.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) method: &'static str,
    pub(crate) samples: usize,
    pub(crate) features: Option<usize>,
    /// Number of prototypes or clusters that were requested.
    pub(crate) prototypes: usize,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) seconds: Seconds,
    pub(crate) warnings: Vec<String>,
}

/// A result, ready to be printed.
#[derive(Debug)]
pub(crate) struct Summary<'a> {
    pub(crate) run: Run,
    pub(crate) outcome: &'a Outcome,
    /// Of the prototypes.
    weights: Vec<f64>,
    /// Where they are, if they are on a map.
    places: Option<&'a Matrix<'static>>,
    labels: Vec<u32>,
    /// How much each view counts.
    view_weights: Vec<f64>,
    pub(crate) classes: Option<&'a Classes>,
    pub(crate) scores: Option<Scores>,
    lists_prototypes: bool,
    /// What else there is to say to people.
    more: String,
}

/// One line of the table.
struct Line<'a> {
    index: usize,
    members: usize,
    weight: f64,
    /// The class most members have, the first of equals, and the share that do.
    majority: Option<(&'a str, f64)>,
}

impl<'a> Summary<'a> {
    pub(crate) fn new(run: Run, model: &'a Model, classes: Option<&'a Classes>) -> gromap::Result<Self> {
        let scores = classes.map(|classes| Scores::of_model(classes, model)).transpose()?;
        let places = model.is_map().then_some(&model.prototypes);
        let (outcome, weights, labels) = (&model.outcome, model.weights.clone(), model.plan.labels());
        let (view_weights, more) = (model.view_weights(), String::new());
        Ok(Self { run, outcome, weights, places, labels, view_weights, classes, scores, lists_prototypes: true, more })
    }

    /// Clusters that are no model, and what else there is to say of them to people.
    pub(crate) fn of_plan(
        run: Run,
        (plan, outcome): (&Plan, &'a Outcome),
        classes: Option<&'a Classes>,
        more: String,
    ) -> gromap::Result<Self> {
        let (weights, labels) = (plan.weights(), plan.labels());
        let scores = classes.map(|classes| Scores::of_labels(classes, &labels)).transpose()?;
        let (places, view_weights) = (None, vec![1.0]);
        Ok(Self { run, outcome, weights, places, labels, view_weights, classes, scores, lists_prototypes: true, more })
    }

    /// The same without a line for every prototype.
    pub(crate) fn without_prototypes(self) -> Self {
        Self { lists_prototypes: false, ..self }
    }

    /// All warnings, of the data and of the fit.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.run.warnings.iter().chain(&self.outcome.warnings).cloned().collect()
    }

    /// The prototypes that are used, the heaviest first.
    fn lines(&self) -> Vec<Line<'a>> {
        let count = self.weights.len();
        let mut members = vec![0; count];
        self.labels.iter().for_each(|&label| members[label as usize] += 1);
        let tables = self.classes.map(|classes| (counts(classes, &self.labels, count), classes));
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
                weight: self.weights[index],
                majority: majority(index),
            })
            .collect();
        lines.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        lines
    }

    /// The keys that every fit has; `docs/json.md` says what they mean.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let Self { run, outcome, .. } = self;
        let lines = self.lines();
        let listed = if self.lists_prototypes { &lines[..] } else { &[] };
        let prototypes: Vec<Value> = listed.iter().map(|line| self.line_json(line)).collect();
        let Seconds { read, neighbors, affinity, init, fit, total } = run.seconds;
        let seconds = json!({
            "read": read, "neighbors": neighbors, "affinity": affinity, "init": init, "fit": fit, "total": total,
        });
        let object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "method": run.method,
            "n_samples": run.samples,
            "n_features": run.features,
            "n_prototypes": run.prototypes,
            "n_used": lines.len(),
            "dims": self.places.map(Matrix::columns),
            "loss": outcome.loss,
            "loss_history": outcome.history,
            "stop_reason": outcome.stop.name(),
            "hardness": outcome.hardness,
            "certificate": outcome.certificate.map(Definiteness::name),
            "seconds": seconds,
            "peak_memory_bytes": machine::peak(),
            "metrics": self.scores.as_ref().map(Scores::to_json),
            "view_weights": self.view_weights,
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
        let place = self.places.map(|places| places.row(line.index));
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
        let place = if self.places.is_some() { "       x       y" } else { "" };
        let classes = if self.classes.is_some() { "  majority      purity" } else { "" };
        writeln!(f, "prototype{place}  weight  members{classes}")?;
        for Line { index, members, weight, majority } in lines.iter().take(MOST_LINES) {
            write!(f, "{index:>9}")?;
            if let Some(places) = self.places {
                let at = |axis: usize| places.row(*index).get(axis).copied().unwrap_or(0.0);
                write!(f, "  {:>6.2}  {:>6.2}", at(0), at(1))?;
            }
            write!(f, "  {weight:>6.4}  {members:>7}")?;
            if let Some((class, purity)) = majority {
                write!(f, "  {:<12}  {:>5.1}%", clipped(class), 100.0 * purity)?;
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
        let Self { run, outcome, .. } = self;
        if self.lists_prototypes {
            self.table(f)?;
        }
        f.write_str(&self.more)?;
        let features = run.features.map_or(String::new(), |features| format!(" of {features} features"));
        let used = self.weights.iter().filter(|&&weight| weight > 0.0).count();
        // The history begins with the start.
        let rounds = outcome.history.len().saturating_sub(1);
        let Seconds { read, neighbors, affinity, init, fit, total } = run.seconds;
        writeln!(f, "samples     {}{features}", run.samples)?;
        writeln!(f, "prototypes  {used} in use of {}, by {}", run.prototypes, run.method)?;
        if let [_, _, ..] = self.view_weights[..] {
            let weights: Vec<String> = self.view_weights.iter().map(|weight| format!("{weight:.4}")).collect();
            writeln!(f, "views       {} weighed {}", weights.len(), weights.join(", "))?;
        }
        writeln!(f, "loss        {:.6}", outcome.loss)?;
        writeln!(f, "rounds      {rounds}, {}", outcome.stop)?;
        writeln!(f, "hardness    {:.4}", outcome.hardness)?;
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
    use gromap::Method;

    use super::*;

    fn run() -> Run {
        let seconds = Seconds::default();
        Run {
            method: Method::Pca.name(),
            samples: 4,
            features: Some(1),
            prototypes: 3,
            seed: 0,
            threads: 1,
            seconds,
            warnings: Vec::new(),
        }
    }

    /// Four samples in three clusters, one of which stays empty.
    fn clusters(labels: Vec<u32>) -> Model {
        let weights = gromap::SampleWeights::uniform(4).unwrap();
        let start = gromap::options::Start::Plan(gromap::Plan::from_labels(labels, 3, weights).unwrap());
        let stopping = gromap::observe::Stopping { max_rounds: 0, rel_tolerance: 0.0, abs_tolerance: 0.0 };
        let recipe = gromap::GromovClustering::builder(3).method(Method::Pca).init(start).stopping(stopping);
        recipe.fit(gromap::Matrix::from_fn(4, 1, |i, _| i as f64)).unwrap()
    }

    #[test]
    fn prototypes_come_heaviest_first_and_unused_ones_not_at_all() {
        let classes = Classes { names: ["a", "b", "c"].map(String::from).to_vec(), of_samples: vec![1, 2, 2, 0] };
        let model = clusters(vec![0, 2, 2, 2]);
        let summary = Summary::new(run(), &model, Some(&classes)).unwrap();
        let lines: Vec<_> = summary.lines().iter().map(|l| (l.index, l.weight, l.members, l.majority)).collect();
        assert_eq!(lines, [(2, 0.75, 3, Some(("c", 2.0 / 3.0))), (0, 0.25, 1, Some(("b", 1.0)))]);
        assert_eq!(summary.to_json()["n_used"], 2);
    }

    #[test]
    fn the_majority_is_the_first_of_equals() {
        let classes = Classes { names: ["a", "b"].map(String::from).to_vec(), of_samples: vec![1, 0, 1, 1] };
        let model = clusters(vec![0, 0, 1, 1]);
        let lines = Summary::new(run(), &model, Some(&classes)).unwrap();
        let mut majorities: Vec<_> = lines.lines().iter().map(|line| (line.index, line.majority)).collect();
        majorities.sort_by_key(|line| line.0);
        assert_eq!(majorities, [(0, Some(("a", 0.5))), (1, Some(("b", 1.0)))]);
    }
}
