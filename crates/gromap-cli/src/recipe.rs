//! From options, which are plain data, to a recipe of the core. Options that would have no effect are refused, with the
//! reason.

use std::path::Path;

use clap::ArgMatches;
use clap::parser::ValueSource;
use gromap::affinity::{Kernel, KernelFunction};
use gromap::data::Shape;
use gromap::memory::MemoryPlan;
use gromap::options::{Common, FittedTo, Parameters, Start, Target};
use gromap::solve::{Scale, Solver};
use gromap::{GromovClustering, GromovDr, Method, Plan, PrototypeWeights, SampleWeights};

use crate::args::options::FitOptions;
use crate::data::source::Room;
use crate::data::vector;
use crate::failure::{Failure, Outcome, clipped, near_miss};

/// The verbs that fit something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    Map,
    Path,
    Clusters,
    Embedding,
}

/// Which options were given with a value other than their default.
pub(crate) struct Asked<'m> {
    pub(crate) matches: &'m ArgMatches,
    pub(crate) command: &'m clap::Command,
}

impl Asked<'_> {
    fn changed(&self, id: &str) -> bool {
        if !self.is_given(id) {
            return false;
        }
        let defaults = self.command.get_arguments().find(|arg| arg.get_id() == id).map(clap::Arg::get_default_values);
        let default = defaults.and_then(<[_]>::first).map(|value| value.as_os_str());
        let given = self.matches.get_raw(id).and_then(|mut values| values.next_back());
        given.is_none() || given != default
    }

    pub(crate) fn is_given(&self, id: &str) -> bool {
        self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// Whether an option has this very word for its value.
    pub(crate) fn says(&self, id: &str, word: &str) -> bool {
        self.matches.get_raw(id).and_then(|mut values| values.next_back()).is_some_and(|value| value == word)
    }

    /// Refuses those of these options that were given.
    pub(crate) fn refuse(&self, ids: &[&str], reason: &str) -> Outcome<()> {
        match ids.iter().find(|id| self.changed(id)) {
            Some(id) => Err(Failure::usage(format!("--{} has no effect: {reason}", id.replace('_', "-")))),
            None => Ok(()),
        }
    }

    /// Refuses options that would have no effect.
    pub(crate) fn check(&self, goal: Goal, options: &FitOptions) -> Outcome<()> {
        let refuse = |ids: &[&str], reason: &str| self.refuse(ids, reason);
        if options.data.view.is_empty() {
            refuse(&["view_weights"], "it is for several views, which --view adds")?;
        }
        let method = options.method;
        match goal {
            Goal::Clusters => {
                let ids = ["dims", "alpha", "alpha_scale", "normalization", "coupling", "images"];
                refuse(&ids, "clusters have no places on a map")?;
            }
            Goal::Embedding => {
                let ids = ["alpha", "alpha_scale", "coupling", "init", "n_init", "solver", "max_rounds"];
                let weights = ["prototype_weights", "min_weight", "max_weight"];
                let ids = [&ids[..], &["tolerance", "strict", "images"], &weights].concat();
                refuse(&ids, "embed gives every sample its own place, without an initial assignment or rounds")?;
            }
            Goal::Map | Goal::Path => {
                if self.matches.value_source("report").is_none() {
                    refuse(&["images"], "images are shown in the report, which --report FILE.html writes")?;
                }
            }
        }
        let uses = method.uses();
        if !uses.perplexity {
            refuse(&["perplexity"], &format!("{method} has no perplexity"))?;
        }
        if !uses.neighbors {
            refuse(&["neighbors"], &format!("{method} uses all pairs, not nearest neighbours"))?;
        }
        if !uses.normalization {
            let others = Method::ALL.iter().filter(|method| method.uses().normalization).map(|method| method.name());
            refuse(&["normalization"], &format!("it is for {}", others.collect::<Vec<_>>().join(", ")))?;
        }
        if options.alpha == 1.0 {
            refuse(&["alpha_scale"], "with --alpha 1 there is nothing to weigh")?;
        }
        let unused: &[&str] = match options.kernel {
            _ if !uses.kernel => &["kernel", "gamma", "coef0", "degree"],
            KernelFunction::Polynomial => &[],
            KernelFunction::Sigmoid => &["degree"],
            KernelFunction::Rbf | KernelFunction::Laplacian => &["coef0", "degree"],
            KernelFunction::Cosine => &["gamma", "coef0", "degree"],
        };
        let reason = match uses.kernel {
            true => format!("the kernel is {}", options.kernel),
            false => "it is for --method kernel-pca".into(),
        };
        refuse(unused, &reason)?;
        let is_fixed = options.prototype_weights != "learned" || options.min_weight.or(options.max_weight).is_some();
        if is_fixed && options.solver == Solver::Vertex && self.is_given("solver") {
            let message = "--solver vertex moves samples one by one, which given weights of prototypes do not allow";
            return Err(Failure::usage(message).hint("leave --solver out: conditional gradient (cg) is used then"));
        }
        match options.fitted_to() {
            FittedTo::Samples => Ok(()),
            FittedTo::Distances => refuse(&["pca", "scale", "images"], "DATA are distances, not samples"),
            kind @ (FittedTo::Similarity | FittedTo::Graph) => {
                let ids = ["pca", "scale", "images", "perplexity", "neighbors", "kernel", "gamma", "coef0", "degree"];
                let what = if kind == FittedTo::Graph { "a graph" } else { "similarities" };
                refuse(&ids, &format!("DATA are {what}, not samples"))
            }
        }
    }
}

/// What a fit will hold for data of this shape.
pub(crate) fn memory_plan(recipe: &Parameters, shape: &Shape, levels: Option<&[usize]>) -> MemoryPlan {
    match (recipe, levels) {
        (Parameters::Map(recipe), Some(sizes)) => recipe.path_memory_plan(shape, sizes),
        (Parameters::Map(recipe), None) => recipe.memory_plan(shape),
        (Parameters::Clusters(recipe), _) => recipe.memory_plan(shape),
    }
}

/// The map that the options ask for; `prototypes` is `None` for one of every sample.
pub(crate) fn map(options: &FitOptions, prototypes: Option<usize>) -> Parameters {
    let mut recipe = GromovDr::builder()
        .prototypes(prototypes)
        .dims(options.dims)
        .normalization(options.normalization)
        .coupling(options.coupling)
        .alpha(options.alpha, options.alpha_scale);
    set_common(&mut recipe.common, options);
    Parameters::Map(recipe)
}

/// The clusters that the options ask for.
pub(crate) fn clusters(options: &FitOptions, clusters: usize, target: Target, scale: Scale) -> Parameters {
    let mut recipe = GromovClustering::builder(clusters).target(target, scale);
    set_common(&mut recipe.common, options);
    Parameters::Clusters(recipe)
}

/// The options that maps and clusters share; the start is not known before the data are.
fn set_common(common: &mut Common, options: &FitOptions) {
    let &FitOptions { kernel, gamma, coef0, degree, .. } = options;
    common.method = options.method;
    common.perplexities = options.perplexity.0.clone();
    common.neighbors = options.neighbors;
    common.kernel = Kernel { function: kernel, gamma, coef0, degree, ..Kernel::default() };
    common.loss = options.loss;
    common.n_init = options.n_init;
    common.pca = options.pca;
    common.scale = options.scale;
    common.view_weights = options.view_weights.clone();
    // A file is read with the data; what it asks for takes no more memory.
    common.rule.prototype_weights = options.prototype_weights.parse().unwrap_or(PrototypeWeights::Uniform);
    common.rule.min_weight = options.min_weight;
    common.rule.max_weight = options.max_weight;
    common.settings.solver = options.solver;
    common.settings.seed = options.seed;
    let stopping = &mut common.settings.stopping;
    stopping.max_rounds = options.max_rounds.unwrap_or(stopping.max_rounds);
    stopping.rel_tolerance = options.tolerance.unwrap_or(stopping.rel_tolerance);
}

/// The start: a name, or a file with the label of every sample.
pub(crate) fn start(init: &str, prototypes: usize, weights: &SampleWeights, room: Room) -> Outcome<Start> {
    if let Ok(start) = init.parse() {
        return Ok(start);
    }
    let path = Path::new(init);
    if !path.is_file() {
        let names: Vec<&str> = Start::names().collect();
        let failure =
            Failure::usage(format!("--init {} is neither a file nor one of {}", clipped(init), names.join(", ")));
        return Err(match near_miss(init, names) {
            Some(near) => failure.hint(format!("did you mean --init {near}?")),
            None => failure,
        });
    }
    let words = vector::fitting(vector::read(path, room)?, weights.len(), "labels to start from")?;
    let label = |(row, word): (usize, &String)| {
        let number = word.parse::<u32>().ok().filter(|&label| (label as usize) < prototypes);
        number.ok_or_else(|| {
            let (most, word) = (prototypes - 1, clipped(word));
            Failure::data(format!("{init}: label {row} is \"{word}\"; it must be a whole number from 0 to {most}"))
        })
    };
    let labels = words.iter().enumerate().map(label).collect::<Outcome<Vec<u32>>>()?;
    Ok(Start::Plan(Plan::from_labels(labels, prototypes, weights.clone())?))
}

/// What prototypes weigh: a word, or a file with the share of each.
pub(crate) fn prototype_weights(given: &str, prototypes: usize, room: Room) -> Outcome<PrototypeWeights> {
    shares("--prototype-weights", given, (prototypes, "prototypes"), room)
}

/// The shares that an option gives to so many things: a word, or a file with the share of each.
pub(crate) fn shares(option: &str, given: &str, (count, what): (usize, &str), room: Room) -> Outcome<PrototypeWeights> {
    if let Ok(weights) = given.parse() {
        return Ok(weights);
    }
    let path = Path::new(given);
    if !path.is_file() {
        let names: Vec<&str> = PrototypeWeights::names().collect();
        let (given, words) = (clipped(given), names.join(", "));
        let failure = Failure::usage(format!("{option} {given} is neither a file nor one of {words}"));
        return Err(match near_miss(&given, names) {
            Some(near) => failure.hint(format!("did you mean {option} {near}?")),
            None => failure,
        });
    }
    let mut words = vector::read(path, room)?;
    // Of so few values a number is hardly a header.
    if words.len() == count + 1 && words[0].parse::<f64>().is_err() {
        words.remove(0);
    }
    if words.len() != count {
        let (given, found) = (clipped(given), words.len());
        return Err(Failure::data(format!("{given} has {found} shares, but there are {count} {what}")));
    }
    Ok(PrototypeWeights::Given(vector::numbers(&words, given)?))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};
    use gromap::embedding::Normalization;
    use gromap::observe::Stopping;
    use gromap::options::{AlphaScale, Projection, Scaling};
    use gromap::solve::Solver;
    use gromap::{Loss, ViewWeights};

    use super::*;
    use crate::args::{Arguments, Verb};

    fn fit(arguments: &[&str]) -> FitOptions {
        let matches =
            Arguments::command().try_get_matches_from(["gromap", "fit", "x.npy"].iter().chain(arguments)).unwrap();
        let Verb::Fit(fit) = Arguments::from_arg_matches(&matches).unwrap().verb else { panic!("not fit") };
        fit.options
    }

    #[test]
    fn without_options_it_is_what_the_core_does() {
        assert_eq!(map(&fit(&[]), Some(50)), Parameters::Map(GromovDr::builder()));
        let core = Parameters::Clusters(GromovClustering::builder(7));
        assert_eq!(clusters(&fit(&[]), 7, Target::Free, Scale::UnitMaximum), core);
    }

    #[test]
    fn every_option_reaches_the_core() {
        let core = GromovDr::builder;
        let check =
            |arguments: &[&str], core: GromovDr| assert_eq!(map(&fit(arguments), Some(50)), Parameters::Map(core));
        check(&["--method", "umap", "--neighbors", "9"], core().method(Method::Umap).neighbors(Some(9)));
        check(&["--perplexity", "15,150", "--dims", "3"], core().perplexities(&[15.0, 150.0]).dims(3));
        check(&["--loss", "bce", "--n-init", "4"], core().loss(Loss::BinaryCrossEntropy).n_init(4));
        check(&["--alpha", "0.5", "--alpha-scale", "raw"], core().alpha(0.5, AlphaScale::Raw));
        check(&["--pca", "7", "--scale", "minmax"], core().pca(Projection::To(7)).scale(Scaling::MinMax));
        check(&["--pca", "none"], core().pca(Projection::None));
        check(&["--normalization", "cells", "--seed", "5"], core().normalization(Normalization::Cells).seed(5));
        check(&["--coupling", "1"], core().coupling(1.0));
        check(&["--view-weights", "learned"], core().view_weights(ViewWeights::Learned));
        check(&["--view-weights", "1,2.5"], core().view_weights(ViewWeights::Given(vec![1.0, 2.5])));
        let stopping = Stopping { max_rounds: 3, rel_tolerance: 0.5, abs_tolerance: 0.0 };
        let bounds = core().min_weight(Some(0.01)).max_weight(Some(0.1));
        check(&["--min-weight", "0.01", "--max-weight", "0.1"], bounds);
        let cg = core().stopping(stopping).solver(Solver::ConditionalGradient);
        check(&["--max-rounds", "3", "--tolerance", "0.5", "--solver", "cg"], cg);
        let function = KernelFunction::Polynomial;
        let kernel = Kernel { function, gamma: Some(0.5), coef0: -2.0, degree: 4, ..Kernel::default() };
        let poly = ["--method", "kernel-pca", "--kernel", "poly", "--gamma", "0.5", "--coef0", "-2", "--degree", "4"];
        check(&poly, core().method(Method::KernelPca).kernel(kernel));
        let identity = GromovClustering::builder(3).target(Target::Identity, Scale::Raw).kernel(kernel);
        let asked = clusters(&fit(&poly), 3, Target::Identity, Scale::Raw);
        assert_eq!(asked, Parameters::Clusters(identity.method(Method::KernelPca)));
    }

    #[test]
    fn weights_of_prototypes_are_words_or_files() {
        let read = |given: &str| prototype_weights(given, 2, Room(1000));
        assert_eq!(read("uniform"), Ok(PrototypeWeights::Uniform));
        let hint = read("unifrom").unwrap_err().hint;
        assert_eq!(hint.as_deref(), Some("did you mean --prototype-weights uniform?"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shares.csv");
        std::fs::write(&path, "0.25\n0.75\n").unwrap();
        assert_eq!(read(path.to_str().unwrap()), Ok(PrototypeWeights::Given(vec![0.25, 0.75])));
        std::fs::write(&path, "0.25\n0.5\n0.25\n").unwrap();
        assert!(read(path.to_str().unwrap()).unwrap_err().message.contains("3 shares, but there are 2 prototypes"));
        std::fs::write(&path, "share\n0.25\n0.75\n").unwrap();
        assert_eq!(read(path.to_str().unwrap()), Ok(PrototypeWeights::Given(vec![0.25, 0.75])));
    }

    #[test]
    fn starts_are_names_or_files() {
        let weights = SampleWeights::uniform(3).unwrap();
        let begin = |init: &str| start(init, 2, &weights, Room(1000));
        assert_eq!(begin("spectral"), Ok(Start::Spectral));
        assert_eq!(begin("spectrum").unwrap_err().hint.as_deref(), Some("did you mean --init spectral?"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        std::fs::write(&path, "0\n1\n1\n").unwrap();
        assert!(matches!(begin(path.to_str().unwrap()), Ok(Start::Plan(plan)) if plan.labels() == [0, 1, 1]));
        std::fs::write(&path, "0\n1\n2\n").unwrap();
        assert!(
            begin(path.to_str().unwrap())
                .unwrap_err()
                .message
                .contains("label 2 is \"2\"; it must be a whole number from 0 to 1")
        );
    }
}
