//! What fit, path, cluster and embed share: read, plan, fit, and tell.

use std::path::Path as FilePath;

use gromap::{Clustering, Dense, Level, Matrix, Model, Observer, Path, SampleWeights, Scalar, Start, StopReason};
use serde_json::{Map, Value};

use super::{Exit, plan, print};
use crate::args::options::{FitOptions, Precomputed};
use crate::config;
use crate::data::source::Room;
use crate::data::{self, Content, Dataset, Request, WithSamples};
use crate::failure::{Failure, Outcome};
use crate::machine;
use crate::recipe::{self, Asked, Goal, Recipe};
use crate::results::{Run, Summary};
use crate::watch::{self, Voice, Watch, say};

/// A fit that is to be done.
pub(super) struct Job<'a> {
    pub(super) goal: Goal,
    pub(super) data: &'a FilePath,
    pub(super) options: &'a FitOptions,
    /// Prototypes or clusters, the largest number of them; `None` is one for every sample.
    pub(super) prototypes: Option<usize>,
    /// The recipe that options ask for.
    pub(super) make: &'a (dyn Fn(&FitOptions) -> Recipe + Sync),
    /// The numbers of prototypes of a path, and how each starts.
    pub(super) levels: Option<(&'a [usize], Level)>,
}

/// What was fitted.
pub(super) enum Fit {
    Map(Box<Model>),
    Clusters(Box<Clustering>),
    Path(Box<Path>),
}

/// A fit that is done.
pub(super) struct Done {
    pub(super) fit: Fit,
    pub(super) dataset: Dataset,
    pub(super) run: Run,
}

impl Job<'_> {
    /// Fits, unless only a plan or the options were asked for.
    pub(super) fn run(&self, asked: &Asked<'_>) -> Outcome<Option<Done>> {
        if self.options.print_config {
            return print(config::printed(config::effective(asked.command, asked.matches))).map(|()| None);
        }
        asked.check(self.goal, self.options)?;
        let limit = self.options.run.max_memory.map_or_else(machine::default_limit, |bytes| bytes.0);
        watch::listen();
        let mut watch = Watch::new(self.voice(), self.max_rounds());
        let request = Request {
            path: self.data,
            options: &self.options.data,
            weights: self.options.weights.as_deref(),
            is_precomputed: self.options.precomputed.is_some(),
            room: Room(limit),
        };
        // What the head of the file tells is enough to refuse, before anything is read.
        if let Some(shape) = data::shape(&request)?
            && self.is_only_planned(&plan::Size::of_shape(shape, self.options), limit)?
        {
            return Ok(None);
        }
        let dataset = data::read(&request)?;
        if self.is_only_planned(&plan::Size::of_data(&dataset, self.options), limit)? {
            return Ok(None);
        }
        self.tell_warnings(&dataset.warnings);
        let weights = match &dataset.weights {
            Some(weights) => SampleWeights::new(weights)?,
            None => SampleWeights::uniform(dataset.len())?,
        };
        let most = self.prototypes.unwrap_or(dataset.len());
        let start = recipe::start(&self.options.init, most, &weights, request.room)?;
        watch.read();
        let (fit, threads) = watch::on_threads(self.options.run.threads, || {
            Ok((self.fit(&dataset, &weights, start, &mut watch)?, rayon::current_num_threads()))
        })?;
        let run = Run {
            method: self.options.method,
            samples: dataset.len(),
            features: match (&dataset.content, self.options.precomputed) {
                (Content::Dense(samples), None) => Some(samples.columns),
                _ => None,
            },
            prototypes: most,
            seed: self.options.seed,
            threads,
            seconds: watch.finish(),
            warnings: dataset.warnings.clone(),
        };
        Ok(Some(Done { fit, dataset, run }))
    }

    /// Refuses a plan that does not fit; prints it if that is all that was asked.
    fn is_only_planned(&self, size: &plan::Size, limit: u64) -> Outcome<bool> {
        if self.options.dry_run {
            plan::tell(self.options, size, &(self.make)(self.options), self.prototypes, limit)?;
            return Ok(true);
        }
        plan::check(self.options, size, self.make, limit)?;
        Ok(false)
    }

    fn voice(&self) -> Voice {
        match (self.options.run.quiet, self.options.verbose) {
            (true, _) => Voice::Quiet,
            (false, true) => Voice::Rounds,
            (false, false) => Voice::Bar,
        }
    }

    fn max_rounds(&self) -> usize {
        let default = if self.goal == Goal::Clusters { recipe::CLUSTERS_STOPPING } else { recipe::MAP_STOPPING };
        self.options.max_rounds.unwrap_or(default.max_rounds)
    }

    fn fit(&self, dataset: &Dataset, weights: &SampleWeights, start: Start, watch: &mut Watch) -> Outcome<Fit> {
        let recipe = match (self.make)(self.options) {
            Recipe::Map(recipe) => Recipe::Map(recipe.start(start)),
            Recipe::Clusters(recipe) => Recipe::Clusters(recipe.start(start)),
        };
        let precomputed = self.options.precomputed;
        if precomputed.is_some() && self.levels.is_some() {
            return Err(Failure::usage("path is made from samples, not with --precomputed"));
        }
        match (&dataset.content, precomputed) {
            (Content::Dense(samples), _) => {
                samples.with(FitDense { recipe: &recipe, weights, precomputed, levels: self.levels, watch })
            }
            (Content::Sparse(rows), Some(Precomputed::Similarity)) => {
                if rows.len() != rows.width() {
                    let (height, width) = (rows.len(), rows.width());
                    return Err(Failure::data(format!(
                        "a similarity of {height} rows needs as many columns, not {width}"
                    )));
                }
                fit_similarity(&recipe, &*rows.similarity()?, weights, watch)
            }
            (Content::Sparse(_), _) => {
                let message = "distances of all pairs are needed, and a sparse matrix does not have them";
                Err(Failure::usage(message)
                    .hint("use --precomputed similarity if its entries say how alike samples are"))
            }
        }
    }

    /// Warnings go to standard error; with --json they are in the object.
    fn tell_warnings(&self, warnings: &[String]) {
        if !self.options.run.quiet && !self.options.run.json {
            warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
        }
    }

    /// Prints a summary, where it belongs: as JSON on standard output, for people where the data are not.
    pub(super) fn tell(&self, summary: &Summary<'_>, more: Map<String, Value>, data_on_stdout: bool) -> Outcome<()> {
        let run = &self.options.run;
        if run.json {
            let mut object = summary.to_json();
            object.extend(more);
            return print(format_args!("{}\n", Value::Object(object)));
        }
        if run.quiet {
            return Ok(());
        }
        self.tell_warnings(&summary.warnings()[summary.run.warnings.len()..]);
        match data_on_stdout {
            true => say(summary),
            false => print(summary)?,
        }
        Ok(())
    }

    /// The exit code that goes with the reasons to stop.
    pub(super) fn exit(&self, stops: &[StopReason]) -> Exit {
        if watch::is_interrupted() || stops.contains(&StopReason::Interrupted) {
            return Exit::Interrupted;
        }
        match self.options.strict && stops.contains(&StopReason::MaxRounds) {
            true => Exit::NotConverged,
            false => Exit::Done,
        }
    }
}

/// A fit to a dense matrix of either precision.
struct FitDense<'a> {
    recipe: &'a Recipe,
    weights: &'a SampleWeights,
    precomputed: Option<Precomputed>,
    levels: Option<(&'a [usize], Level)>,
    watch: &'a mut Watch,
}

impl WithSamples for FitDense<'_> {
    type Output = Fit;

    fn call<S: Scalar>(self, samples: &Matrix<'_, S>) -> Outcome<Fit> {
        let Self { recipe, weights, levels, watch, .. } = self;
        match self.precomputed {
            None => fit_samples(recipe, samples, weights, levels, watch),
            Some(Precomputed::Similarity) => fit_similarity(recipe, &Dense::new(samples.view())?, weights, watch),
            Some(Precomputed::Distance) => Ok(match recipe {
                Recipe::Map(recipe) => Fit::Map(Box::new(recipe.fit_distances(samples, Some(weights), watch)?)),
                Recipe::Clusters(recipe) => {
                    Fit::Clusters(Box::new(recipe.fit_distances(samples, Some(weights), watch)?))
                }
            }),
        }
    }
}

fn fit_samples<S: Scalar>(
    recipe: &Recipe,
    samples: &Matrix<'_, S>,
    weights: &SampleWeights,
    levels: Option<(&[usize], Level)>,
    watch: &mut dyn Observer,
) -> Outcome<Fit> {
    let weights = Some(weights);
    Ok(match (recipe, levels) {
        (Recipe::Map(recipe), Some((sizes, level))) => {
            Fit::Path(Box::new(recipe.path_observed(samples, sizes, level, weights, watch)?))
        }
        (Recipe::Map(recipe), None) => Fit::Map(Box::new(recipe.fit_observed(samples, weights, watch)?)),
        (Recipe::Clusters(recipe), _) => Fit::Clusters(Box::new(recipe.fit_observed(samples, weights, watch)?)),
    })
}

fn fit_similarity(
    recipe: &Recipe,
    similarity: &dyn gromap::Similarity,
    weights: &SampleWeights,
    watch: &mut dyn Observer,
) -> Outcome<Fit> {
    Ok(match recipe {
        Recipe::Map(recipe) => Fit::Map(Box::new(recipe.fit_similarity(similarity, None, Some(weights), watch)?)),
        Recipe::Clusters(recipe) => Fit::Clusters(Box::new(recipe.fit_similarity(similarity, Some(weights), watch)?)),
    })
}
