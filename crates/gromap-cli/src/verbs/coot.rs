//! `gromap cluster --method coot`: a cluster for every sample and every feature, and the means of their blocks.

use std::fmt::Write;
use std::path::Path;

use gromap::data::{Form, Samples, Shape};
use gromap::observe::{Event, Observer, Stage};
use gromap::options::FittedTo;
use gromap::solve::{Coot, FittedCoot};
use gromap::{PrototypeWeights, SampleWeights};
use gromap_report::Blocks;
use serde_json::{Map, json};

use super::job::Job;
use super::{Exit, arrays, memory, page, print, print_bytes, room};
use crate::args::ClusterArgs;
use crate::args::values::{Bytes, COOT};
use crate::config;
use crate::data::source::Room;
use crate::data::{self, Content, Dataset};
use crate::failure::{Failure, Outcome};
use crate::output::{Existing, Output};
use crate::recipe::{self, Asked, Goal};
use crate::results::{Run, Summary};
use crate::watch::{self, Watch};

/// Runs from different seeds, unless it is said how many: as in Python.
const RUNS: usize = 10;
/// Rows and columns of the means that people are shown.
const MOST_MEANS: (usize, usize) = (25, 10);

pub(super) fn run(args: &ClusterArgs, asked: &Asked<'_>) -> Outcome<Exit> {
    let files = Files::new(args)?;
    let job = Job {
        goal: Goal::Clusters,
        data: &args.data,
        options: &args.options,
        make: &|options| recipe::clusters(options, args.clusters, args.target, args.target_scale),
        levels: None,
    };
    job.check(files.outputs())?;
    if args.options.print_config {
        return print(config::printed(effective(asked))).map(|()| Exit::Done);
    }
    check(&job, asked)?;
    let coot = recipe(args, asked)?;
    let limit = room(&args.options.run);
    let mut watch = Watch::new(job.voice(), coot.stopping.max_rounds);
    let request = job.request(limit);
    if let Some(shape) = data::shape(&request)?
        && is_only_planned(args, &coot, &shape, limit)?
    {
        return Ok(Exit::Done);
    }
    let dataset = data::read(&request)?;
    if is_only_planned(args, &coot, &dataset.shape(), limit)? {
        return Ok(Exit::Done);
    }
    let coot = weighted(coot, args, limit)?;
    job.tell_warnings(&dataset.warnings);
    let samples = samples(&dataset)?;
    watch.read();
    let (found, threads) = watch::on_threads(args.options.run.threads, || {
        watch.on(&Event::Stage(Stage::Fit));
        let weights = dataset.weights.as_deref().map(SampleWeights::new).transpose()?;
        let found = coot.fit_with(samples, weights.as_ref(), &mut watch).map_err(|error| {
            let failure = Failure::from(error);
            Failure { message: failure.message.replace("--prototypes", "--clusters"), ..failure }
        })?;
        Ok((found, rayon::current_num_threads()))
    })?;
    let run = Run {
        method: COOT,
        samples: dataset.len(),
        features: Some(samples.columns()),
        prototypes: args.clusters,
        seed: args.options.seed,
        threads,
        seconds: watch.finish(),
        warnings: dataset.warnings.clone(),
    };
    files.write(&found, &dataset)?;
    let more = files.more(&found);
    if files.labels.is_none() && !args.options.run.json {
        print_bytes(&labels(&found, &dataset, arrays::Format::Csv)?)?;
    }
    let parts = (&found.plan, &found.outcome);
    let summary = Summary::of_plan(run, parts, dataset.classes.as_ref(), means(&found))?;
    job.tell(&summary, more, files.labels.is_none())?;
    Ok(job.exit_of(&[found.outcome.stop]))
}

/// The files that were asked for, each with its format.
struct Files {
    labels: Option<(Output, arrays::Format)>,
    features: Option<(Output, arrays::Format)>,
    summary: Option<(Output, arrays::Format)>,
    report: Option<Output>,
    /// Whether the report is the picture alone.
    is_picture: bool,
}

impl Files {
    fn new(args: &ClusterArgs) -> Outcome<Self> {
        if args.output.as_deref().and_then(page::ending).as_deref() == Some("gromap") {
            let message = "co-clusters are no model that new samples could be placed by, so -o cannot write one";
            return Err(Failure::usage(message).hint("name the labels FILE.csv, FILE.tsv or FILE.npy"));
        }
        let existing = Existing::forced(args.options.run.force);
        let table = |option: &str, path: &Option<std::path::PathBuf>| -> Outcome<_> {
            let format = arrays::Format::of_option(option, path.as_deref(), "")?;
            Ok(Output::optional(path.as_deref(), existing).map(|output| (output, format)))
        };
        let check = |path: &Path| page::check_ending("--report", path, &["html", "htm", "svg"]);
        args.report.as_deref().map_or(Ok(()), check)?;
        Ok(Self {
            labels: table("-o", &args.output)?,
            features: table("--feature-output", &args.feature_output)?,
            summary: table("--summary", &args.summary)?,
            report: Output::optional(args.report.as_deref(), existing),
            is_picture: args.report.as_deref().and_then(page::ending).as_deref() == Some("svg"),
        })
    }

    fn outputs(&self) -> impl Iterator<Item = &Output> {
        let tables = [&self.labels, &self.features, &self.summary].into_iter().flatten().map(|(output, _)| output);
        tables.chain(&self.report)
    }

    fn write(&self, found: &FittedCoot, dataset: &Dataset) -> Outcome<()> {
        if let Some((output, format)) = &self.labels {
            output.write(&labels(found, dataset, *format)?)?;
        }
        if let Some((output, format)) = &self.features {
            let labels = found.feature_plan.labels();
            let ids = dataset.feature_names.as_deref();
            let table = arrays::Table { ids, labels: Some(&labels), places: None };
            output.write(&table.bytes_of("feature", *format)?)?;
        }
        if let Some((output, format)) = &self.summary {
            output.write(&arrays::matrix("cluster", &found.summary, *format)?)?;
        }
        if let Some(output) = &self.report {
            output.write(self.drawn(found, dataset)?.as_bytes())?;
        }
        Ok(())
    }

    fn drawn(&self, found: &FittedCoot, dataset: &Dataset) -> Outcome<String> {
        let (rows, columns) = (found.plan.labels(), found.feature_plan.labels());
        let mut blocks = Blocks::new(&rows, &columns, &found.summary)?;
        blocks = blocks.samples(samples(dataset)?.view())?.title(dataset.name.clone());
        if let Some(ids) = &dataset.ids {
            blocks = blocks.ids(ids)?;
        }
        if let Some(names) = &dataset.feature_names {
            blocks = blocks.feature_names(names)?;
        }
        Ok(if self.is_picture { blocks.svg() } else { blocks.html() })
    }

    /// The keys that only co-clusters have; what is in a file is not repeated.
    fn more(&self, found: &FittedCoot) -> Map<String, serde_json::Value> {
        let mut more = Map::new();
        more.insert("n_feature_clusters".into(), json!(found.summary.columns()));
        more.insert("summary".into(), json!(arrays::rows(&found.summary)));
        if self.labels.is_none() {
            more.insert("labels".into(), json!(found.plan.labels()));
        }
        if self.features.is_none() {
            more.insert("feature_labels".into(), json!(found.feature_plan.labels()));
        }
        more
    }
}

/// The table of the labels.
fn labels(found: &FittedCoot, dataset: &Dataset, format: arrays::Format) -> Outcome<Vec<u8>> {
    let labels = found.plan.labels();
    arrays::Table { ids: dataset.ids.as_deref(), labels: Some(&labels), places: None }.bytes(format)
}

/// All options, with the number of runs that is really made.
fn effective(asked: &Asked<'_>) -> Vec<(String, toml::Value)> {
    let mut options = config::effective(asked.command, asked.matches);
    if !asked.is_given("n_init") {
        let runs = options.iter_mut().filter(|(name, _)| name == "n-init");
        runs.for_each(|(_, value)| *value = toml::Value::Integer(RUNS as i64));
    }
    options
}

/// Refuses what co-clustering has no use for.
fn check(job: &Job<'_>, asked: &Asked<'_>) -> Outcome<()> {
    let ids = ["dims", "alpha", "alpha_scale", "normalization", "coupling", "images"];
    asked.refuse(&ids, "clusters have no places on a map")?;
    let ids = ["perplexity", "neighbors", "kernel", "gamma", "coef0", "degree", "target", "target_scale", "loss"];
    asked.refuse(&ids, "coot compares values with the means of their blocks, not samples with each other")?;
    let ids = ["pca", "scale"];
    asked.refuse(&ids, "coot takes features as they are, for it clusters them")?;
    asked.refuse(&["init", "solver"], "coot begins at k-means and solves its two transport problems exactly")?;
    asked.refuse(&["min_weight", "max_weight"], "coot knows learned, uniform and given weights")?;
    if job.fitted_to() != FittedTo::Samples {
        let message = "--method coot clusters samples and their features; graphs, distances and similarities have none";
        return Err(Failure::usage(message).hint("leave --method out"));
    }
    Ok(())
}

/// What is asked for, but for weights that come from files.
fn recipe(args: &ClusterArgs, asked: &Asked<'_>) -> Outcome<Coot> {
    let Some(feature_clusters) = args.feature_clusters else {
        let message = "--method coot needs a number of clusters of features";
        return Err(Failure::usage(message).hint("add --feature-clusters NUMBER"));
    };
    let options = &args.options;
    let mut coot = Coot::builder(args.clusters, feature_clusters)
        .n_init(if asked.is_given("n_init") { options.n_init } else { RUNS })
        .seed(options.seed);
    coot.stopping.max_rounds = options.max_rounds.unwrap_or(coot.stopping.max_rounds);
    coot.stopping.rel_tolerance = options.tolerance.unwrap_or(coot.stopping.rel_tolerance);
    Ok(coot)
}

/// The same with its weights.
fn weighted(coot: Coot, args: &ClusterArgs, room: Room) -> Outcome<Coot> {
    let of = |option: &str, given: &str, count: usize, what: &str| -> Outcome<PrototypeWeights> {
        recipe::shares(option, given, (count, what), room)
    };
    let (n, m) = (coot.clusters, coot.feature_clusters);
    let weights = of("--prototype-weights", &args.options.prototype_weights, n, "clusters")?;
    let feature_weights = of("--feature-weights", &args.feature_weights, m, "clusters of features")?;
    Ok(coot.prototype_weights(weights).feature_weights(feature_weights))
}

/// Prints the plan of memory with `--dry-run`; otherwise refuses one that exceeds the limit.
fn is_only_planned(args: &ClusterArgs, coot: &Coot, shape: &Shape, Room(limit): Room) -> Outcome<bool> {
    let Form::Samples { features } = shape.form else { return Ok(false) };
    let plan = coot.memory_plan(shape.samples, features, shape.is_single);
    if args.options.dry_run {
        memory::tell_plan(&args.options, shape, (COOT, args.clusters), &plan, limit)?;
        return Ok(true);
    }
    plan.check(limit).map_err(|error| {
        let raise = format!("raise --max-memory to {}", memory::option_value(plan.peak()));
        Failure::from(error)
            .hint(format!("{raise}, or keep fewer samples or features: {} are needed", Bytes(plan.peak())))
    })?;
    Ok(false)
}

fn samples(dataset: &Dataset) -> Outcome<&Samples<'static>> {
    match &dataset.content {
        Content::Dense(samples) => Ok(samples),
        Content::Sparse(_) => Err(Failure::usage("--method coot clusters samples and their features, not pairs")),
    }
}

/// The means of the blocks as a table for people, and how many features each cluster has.
fn means(found: &FittedCoot) -> String {
    let (rows, columns) = (found.summary.rows().min(MOST_MEANS.0), found.summary.columns().min(MOST_MEANS.1));
    let mut members = vec![0; found.summary.columns()];
    found.feature_plan.labels().iter().for_each(|&label| members[label as usize] += 1);
    let more = found.summary.columns() - columns;
    let more = if more > 0 { format!("  … and {more} more") } else { String::new() };
    let line = |name: &str, cells: &dyn Fn(usize) -> String| {
        (0..columns).fold(format!("{name:>9}"), |text, l| text + &format!("  {:>9}", cells(l))) + &more + "\n"
    };
    let mut text =
        String::from("means of the blocks: clusters of features from left to right, with their number of features\n");
    text += &line("", &|l| l.to_string());
    text += &line("features", &|l| members[l].to_string());
    for k in 0..rows {
        text += &line(&k.to_string(), &|l| format!("{:.4}", found.summary[(k, l)]));
    }
    if found.summary.rows() > rows {
        let _ = writeln!(text, "          … and {} more", found.summary.rows() - rows);
    }
    text + "\n"
}
