//! What fit, path, cluster and embed share: read, plan, fit, and tell.

use std::path::{Path as FilePath, PathBuf};

use gromap::data::{Form, Shape};
use gromap::observe::StopReason;
use gromap::options::{FittedTo, Level, Parameters, Scaling, Start};
use gromap::similarity::{Similarity, Sparse};
use gromap::{Data, Model, Path, SampleWeights};
use serde_json::{Map, Value};

use super::{Exit, memory, print, room};
use crate::args::options::FitOptions;
use crate::config;
use crate::data::source::Room;
use crate::data::{self, Content, Dataset, Request};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::recipe::{self, Asked, Goal};
use crate::results::{Run, Summary};
use crate::watch::{self, Voice, Watch, say};

/// A similarity or a graph that lives as long as the data that refer to it.
enum Owned<'a> {
    Nothing,
    Similarity(Box<dyn Similarity + 'a>),
    Graph(Sparse<'a, f32>),
}

impl<'a> Owned<'a> {
    /// What data of this kind refer to.
    fn of(content: &'a Content, kind: FittedTo) -> Outcome<Self> {
        Ok(match kind {
            FittedTo::Samples | FittedTo::Distances => Self::Nothing,
            FittedTo::Similarity => Self::Similarity(content.similarity()?),
            FittedTo::Graph => Self::Graph(content.graph()?),
        })
    }

    fn data(&'a self, content: &'a Content, kind: FittedTo) -> Outcome<Data<'a>> {
        match (self, content) {
            (Self::Similarity(similarity), _) => Ok(Data::similarity(&**similarity)),
            (Self::Graph(graph), _) => Ok(Data::Graph(graph)),
            (Self::Nothing, Content::Dense(pairs)) if kind == FittedTo::Distances => Ok(Data::Distances(pairs.view())),
            (Self::Nothing, Content::Dense(samples)) => Ok(Data::Samples(samples.view())),
            (Self::Nothing, Content::Sparse(_)) => {
                let message = "distances of all pairs are needed, and a sparse matrix does not have them";
                Err(Failure::usage(message).hint("use --precomputed similarity if its entries are similarities"))
            }
        }
    }
}

/// A fit that is to be done.
pub(super) struct Job<'a> {
    pub(super) goal: Goal,
    pub(super) data: &'a FilePath,
    pub(super) options: &'a FitOptions,
    /// The recipe that options ask for.
    pub(super) make: &'a (dyn Fn(&FitOptions) -> Parameters + Sync),
    /// The numbers of prototypes of a path, and how each starts.
    pub(super) levels: Option<(&'a [usize], Level)>,
}

/// A fit that is done.
pub(super) struct Done {
    /// One model, or one for each level.
    pub(super) path: Path,
    pub(super) dataset: Dataset,
    pub(super) run: Run,
}

impl Done {
    /// The model, where there is one.
    pub(super) fn model(&self) -> &Model {
        &self.path.models[0]
    }
}

impl Job<'_> {
    /// Reads the data and fits, unless only the memory plan or the options are to be printed.
    pub(super) fn run(&self, asked: &Asked<'_>) -> Outcome<Option<Done>> {
        if self.options.print_config {
            return print(config::printed(config::effective(asked.command, asked.matches))).map(|()| None);
        }
        asked.check(self.goal, self.options)?;
        let limit = room(&self.options.run);
        let mut recipe = (self.make)(self.options);
        let mut watch = Watch::new(self.voice(), recipe.common().settings.stopping.max_rounds);
        let request = self.request(limit);
        // The header of the file may be enough to refuse, before its values are read.
        if let Some(shape) = data::shape(&request)?
            && self.is_only_planned(self.options, &self.seen(shape), limit)?
        {
            return Ok(None);
        }
        let mut dataset = data::read(&request)?;
        // Before the fit, not after it.
        self.options.table.text.as_deref().map_or(Ok(()), |text| dataset.text(text).map(|_| ()))?;
        let shape = self.seen(dataset.shape());
        let options = self.scaled(&mut dataset);
        recipe = (self.make)(&options);
        if self.is_only_planned(&options, &shape, limit)? {
            return Ok(None);
        }
        self.tell_warnings(&dataset.warnings);
        let weights = match &dataset.weights {
            Some(weights) => SampleWeights::new(weights)?,
            None => SampleWeights::uniform(dataset.len())?,
        };
        let prototypes = recipe.prototypes().unwrap_or(dataset.len());
        let start = recipe::start(&self.options.init, prototypes, &weights, request.room)?;
        recipe.common_mut().rule.prototype_weights =
            recipe::prototype_weights(&self.options.prototype_weights, prototypes, request.room)?;
        watch.read();
        let (path, threads) = watch::on_threads(self.options.run.threads, || {
            Ok((self.fit(recipe, start, &dataset, &weights, &mut watch)?, rayon::current_num_threads()))
        })?;
        let path = dataset.named(path, self.options.table.text.as_deref())?;
        let run = Run {
            method: self.options.method.name(),
            samples: dataset.len(),
            features: match shape.form {
                Form::Samples { features } | Form::Views { features, .. } => Some(features),
                Form::Pairs { .. } | Form::Graph { .. } => None,
            },
            prototypes,
            seed: self.options.seed,
            threads,
            seconds: watch.finish(),
            warnings: dataset.warnings.clone(),
        };
        Ok(Some(Done { path, dataset, run }))
    }

    pub(super) fn request(&self, limit: Room) -> Request<'_> {
        let is_precomputed = self.fitted_to() != FittedTo::Samples;
        let weights = self.options.weights.as_deref();
        let samples = Request::samples(self.data, &self.options.data, limit);
        let (table, text) = (Some(&self.options.table), self.options.table.text.as_deref());
        Request { weights, table, text, is_precomputed, ..samples }
    }

    /// Refuses outputs that cannot be written, or that would replace what is read.
    pub(super) fn check<'o>(&self, outputs: impl IntoIterator<Item = &'o Output>) -> Outcome<()> {
        let mut files = self.request(Room(0)).files();
        files.push(PathBuf::from(&self.options.init));
        files.extend(self.options.config.clone());
        Output::check(outputs, &files)
    }

    /// Prints the memory plan with `--dry-run`; otherwise refuses one that exceeds the limit.
    fn is_only_planned(&self, options: &FitOptions, shape: &Shape, Room(limit): Room) -> Outcome<bool> {
        let levels = self.levels.map(|(sizes, _)| sizes);
        if options.dry_run {
            memory::tell(options, shape, (self.make, levels), limit)?;
            return Ok(true);
        }
        memory::check(options, shape, (self.make, levels), limit)?;
        Ok(false)
    }

    /// The options with the scaling that these data get, and what there is to say of it.
    fn scaled(&self, dataset: &mut Dataset) -> FitOptions {
        let mut options = self.options.clone();
        let scale = options.scale.resolved(dataset.table.as_ref());
        if scale == Scaling::Standard && options.scale == Scaling::Auto {
            options.scale = scale;
            let note = "every column is scaled to the same variance, text columns too; --scale none would not";
            dataset.warnings.push(note.into());
        }
        if let (Scaling::None, false, Content::Dense(samples), Some(names)) =
            (scale, dataset.is_precomputed, &dataset.content, &dataset.feature_names)
        {
            dataset.warnings.extend(data::dominated(samples, names));
        }
        options
    }

    /// What DATA is: as the options say, and a list of edges is a graph.
    pub(super) fn fitted_to(&self) -> FittedTo {
        let request = Request::samples(self.data, &self.options.data, Room(0));
        let is_graph = self.options.precomputed.is_none() && request.is_edge_list();
        if is_graph { FittedTo::Graph } else { self.options.fitted_to() }
    }

    /// A shape as a fit sees it: edges of a graph are no similarities.
    fn seen(&self, shape: Shape) -> Shape {
        match (self.fitted_to(), shape.form) {
            (FittedTo::Graph, Form::Pairs { stored }) => Shape { form: Form::Graph { stored }, ..shape },
            _ => shape,
        }
    }

    pub(super) fn voice(&self) -> Voice {
        match (self.options.run.quiet, self.options.verbose) {
            (true, _) => Voice::Quiet,
            (false, true) => Voice::Rounds,
            (false, false) => Voice::Bar,
        }
    }

    fn fit(
        &self,
        recipe: Parameters,
        start: Start,
        dataset: &Dataset,
        weights: &SampleWeights,
        watch: &mut Watch,
    ) -> Outcome<Path> {
        let kind = self.fitted_to();
        let owned = dataset.all_views().map(|view| Owned::of(&view.content, kind)).collect::<Outcome<Vec<_>>>()?;
        let views = dataset.all_views().zip(&owned).map(|(view, owned)| owned.data(&view.content, kind));
        let mut views = views.collect::<Outcome<Vec<_>>>()?;
        let data = if dataset.views.is_empty() { views.remove(0) } else { Data::Views(views) };
        let feature_names = dataset.unique_names().filter(|_| !dataset.is_precomputed);
        let (feature_names, table) = (feature_names.as_deref(), dataset.table.as_ref());
        let run = gromap::Run { weights: Some(weights), feature_names, table, observer: Some(watch) };
        let fitted = match (recipe, self.levels) {
            (Parameters::Map(recipe), Some((sizes, level))) => {
                return Ok(recipe.init(start).path_with(&data, sizes, level, run)?);
            }
            (Parameters::Map(recipe), None) => recipe.init(start).fit_with(&data, run)?,
            (Parameters::Clusters(recipe), _) => recipe.init(start).fit_with(&data, run).map_err(|error| {
                let failure = Failure::from(error);
                Failure { message: failure.message.replace("--prototypes", "--clusters"), ..failure }
            })?,
        };
        Ok(Path { models: vec![fitted], lineage: Vec::new() })
    }

    /// Warnings go to standard error; with --json they are in the object.
    pub(super) fn tell_warnings(&self, warnings: &[String]) {
        if !self.options.run.quiet && !self.options.run.json {
            warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
        }
    }

    /// Prints a summary: JSON on standard output; text there too, or on standard error if the data go to standard output.
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
    pub(super) fn exit(&self, path: &Path) -> Exit {
        self.exit_of(&path.models.iter().map(|model| model.outcome.stop).collect::<Vec<_>>())
    }

    /// The same without models.
    pub(super) fn exit_of(&self, stops: &[StopReason]) -> Exit {
        let stopped = |reason: StopReason| stops.contains(&reason);
        if watch::is_interrupted() || stopped(StopReason::Interrupted) {
            return Exit::Interrupted;
        }
        match self.options.strict && (stopped(StopReason::MaxRounds) || stopped(StopReason::Inexact)) {
            true => Exit::NotConverged,
            false => Exit::Done,
        }
    }
}
