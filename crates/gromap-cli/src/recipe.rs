//! From options, which are plain data, to what the core fits. Options that would have no effect are refused with the
//! reason, so that nobody believes in a number that was never used.

use std::path::Path;

use clap::ArgMatches;
use clap::parser::ValueSource;
use gromap::affinity::KernelFunction;
use gromap::{
    AlphaScale, GromovClustering, GromovDr, MemoryPlan, Method, Plan, Projection, SampleWeights, Scalar, Scaling,
    Start, Stopping,
};

use crate::args::options::{self, FitOptions, Precomputed};
use crate::args::values::Components;
use crate::args::{Target, TargetScale};
use crate::data::source::Room;
use crate::data::vector;
use crate::failure::{Failure, Outcome, near_miss};

/// When the core stops unless told; the tests below hold it to that.
pub(crate) const MAP_STOPPING: Stopping = Stopping { max_rounds: 100, rel_tolerance: 1e-5, abs_tolerance: 0.0 };
pub(crate) const CLUSTERS_STOPPING: Stopping = Stopping { max_rounds: 200, rel_tolerance: 1e-9, abs_tolerance: 0.0 };

/// The verbs that fit something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    Map,
    Path,
    Clusters,
    Embedding,
}

/// Which options were given, and with another value than they have anyway.
pub(crate) struct Asked<'m> {
    pub(crate) matches: &'m ArgMatches,
    pub(crate) command: &'m clap::Command,
}

impl Asked<'_> {
    fn changed(&self, id: &str) -> bool {
        if self.matches.value_source(id) != Some(ValueSource::CommandLine) {
            return false;
        }
        let defaults = self.command.get_arguments().find(|arg| arg.get_id() == id).map(clap::Arg::get_default_values);
        let default = defaults.and_then(<[_]>::first).map(|value| value.as_os_str());
        let given = self.matches.get_raw(id).and_then(|mut values| values.next_back());
        given.is_none() || given != default
    }

    /// Refuses options that would have no effect.
    pub(crate) fn check(&self, goal: Goal, options: &FitOptions) -> Outcome<()> {
        let refuse = |ids: &[&str], reason: &str| match ids.iter().find(|id| self.changed(id)) {
            Some(id) => Err(Failure::usage(format!("--{} has no effect: {reason}", id.replace('_', "-")))),
            None => Ok(()),
        };
        let method = options.method;
        match goal {
            Goal::Clusters => {
                let ids =
                    ["dims", "alpha", "alpha_scale", "normalization", "kernel", "gamma", "coef0", "degree", "images"];
                refuse(&ids, "clusters have no places on a map")?;
            }
            Goal::Embedding => {
                let ids =
                    ["alpha", "alpha_scale", "init", "n_init", "solver", "max_rounds", "tolerance", "strict", "images"];
                refuse(&ids, "embed gives every sample its own place, without a start or rounds")?;
            }
            Goal::Map | Goal::Path => {
                if self.matches.value_source("report").is_none() {
                    refuse(&["images"], "pictures are shown in the report, which --report FILE.html writes")?;
                }
            }
        }
        if !method.has_perplexity() {
            refuse(&["perplexity"], &format!("{method} has no perplexity"))?;
        }
        if !method.uses_neighbors() {
            refuse(&["neighbors"], &format!("{method} looks at all pairs, not at neighbours"))?;
        }
        if !matches!(method, Method::TSne | Method::TSnekhorn) {
            refuse(&["normalization"], "it is for tsne and tsnekhorn")?;
        }
        if options.alpha == 1.0 {
            refuse(&["alpha_scale"], "with --alpha 1 there is nothing to weigh")?;
        }
        self.check_kernel(options)?;
        match options.precomputed {
            None => Ok(()),
            Some(Precomputed::Distance) => refuse(&["pca", "scale"], "DATA are distances, not samples"),
            Some(Precomputed::Similarity) => {
                let ids = ["pca", "scale", "perplexity", "neighbors", "kernel", "gamma", "coef0", "degree"];
                refuse(&ids, "DATA are similarities, not samples")
            }
        }
    }

    fn check_kernel(&self, options: &FitOptions) -> Outcome<()> {
        use options::Kernel;
        let unused: &[&str] = match (options.method, options.kernel) {
            (Method::KernelPca, Kernel::Poly) => &[],
            (Method::KernelPca, Kernel::Sigmoid) => &["degree"],
            (Method::KernelPca, Kernel::Rbf | Kernel::Laplacian) => &["coef0", "degree"],
            (Method::KernelPca, Kernel::Cosine) => &["gamma", "coef0", "degree"],
            _ => &["kernel", "gamma", "coef0", "degree"],
        };
        match unused.iter().find(|id| self.changed(id)) {
            None => Ok(()),
            Some(id) if options.method == Method::KernelPca => {
                Err(Failure::usage(format!("--{id} has no effect: the kernel is {:?}", options.kernel).to_lowercase()))
            }
            Some(id) => Err(Failure::usage(format!("--{id} has no effect: it is for --method kernel-pca"))),
        }
    }
}

/// What can be fitted: a map or clusters.
#[derive(Debug, Clone)]
pub(crate) enum Recipe {
    Map(GromovDr),
    Clusters(GromovClustering),
}

impl Recipe {
    /// What a fit to samples will hold.
    pub(crate) fn plan<S: Scalar>(&self, samples: usize, features: usize) -> MemoryPlan {
        match self {
            Self::Map(recipe) => recipe.memory_plan::<S>(samples, features),
            Self::Clusters(recipe) => recipe.memory_plan::<S>(samples, features),
        }
    }

    /// What a fit to a similarity will hold.
    pub(crate) fn plan_of_similarity<S: Scalar>(&self, samples: usize, stored: u64) -> MemoryPlan {
        match self {
            Self::Map(recipe) => recipe.memory_plan_of_similarity::<S>(samples, stored),
            Self::Clusters(recipe) => recipe.memory_plan_of_similarity::<S>(samples, stored),
        }
    }
}

/// The map that the options ask for; `prototypes` is `None` for one of every sample.
pub(crate) fn map(options: &FitOptions, prototypes: Option<usize>) -> GromovDr {
    let stopping = stopping(options, MAP_STOPPING);
    let recipe = GromovDr::builder()
        .method(options.method)
        .dims(options.dims)
        .perplexities(&options.perplexity.0)
        .neighbors(options.neighbors)
        .kernel(kernel(options))
        .normalization(match options.normalization {
            options::Normalization::Measure => gromap::embedding::Normalization::Measure,
            options::Normalization::Cells => gromap::embedding::Normalization::Cells,
        })
        .alpha(
            options.alpha,
            match options.alpha_scale {
                options::AlphaScale::Start => AlphaScale::AtStart,
                options::AlphaScale::Raw => AlphaScale::Raw,
            },
        )
        .n_init(options.n_init)
        .solver(solver(options))
        .stopping(stopping)
        .seed(options.seed)
        .projection(projection(options))
        .scaling(scaling(options));
    let recipe = match options.loss {
        Some(loss) => recipe.loss(core_loss(loss)),
        None => recipe,
    };
    match prototypes {
        Some(prototypes) => recipe.prototypes(prototypes),
        None => recipe.every_sample(),
    }
}

/// The clusters that the options ask for.
pub(crate) fn clusters(options: &FitOptions, clusters: usize, target: Target, scale: TargetScale) -> GromovClustering {
    let recipe = GromovClustering::builder(clusters)
        .target(match (target, scale) {
            (Target::Free, _) => gromap::Target::Free,
            (Target::Identity, TargetScale::Max) => gromap::Target::Identity(gromap::Scale::UnitMaximum),
            (Target::Identity, TargetScale::Raw) => gromap::Target::Identity(gromap::Scale::Raw),
        })
        .method(options.method)
        .perplexities(&options.perplexity.0)
        .neighbors(options.neighbors)
        .n_init(options.n_init)
        .solver(solver(options))
        .stopping(stopping(options, CLUSTERS_STOPPING))
        .seed(options.seed)
        .projection(projection(options))
        .scaling(scaling(options));
    match options.loss {
        Some(loss) => recipe.loss(core_loss(loss)),
        None => recipe,
    }
}

/// When to stop: by rounds, and by the share of the loss that a round is worth.
fn stopping(options: &FitOptions, default: Stopping) -> Stopping {
    Stopping {
        max_rounds: options.max_rounds.unwrap_or(default.max_rounds),
        rel_tolerance: options.tolerance.unwrap_or(default.rel_tolerance),
        ..default
    }
}

fn core_loss(loss: options::Loss) -> gromap::Loss {
    match loss {
        options::Loss::Square => gromap::Loss::Square,
        options::Loss::Kl => gromap::Loss::Kl,
        options::Loss::Bce => gromap::Loss::BinaryCrossEntropy,
    }
}

fn solver(options: &FitOptions) -> gromap::Solver {
    match options.solver {
        options::Solver::Vertex => gromap::Solver::Vertex,
        options::Solver::Cg => gromap::Solver::ConditionalGradient,
        options::Solver::Mirror => gromap::Solver::Mirror { epsilon: None, entropy: 0.0 },
    }
}

fn projection(options: &FitOptions) -> Projection {
    match options.pca {
        Components::Auto => Projection::Auto,
        Components::None => Projection::None,
        Components::Some(components) => Projection::To(components),
    }
}

fn scaling(options: &FitOptions) -> Scaling {
    match options.scale {
        options::Scale::None => Scaling::None,
        options::Scale::Standard => Scaling::Standard,
        options::Scale::Minmax => Scaling::MinMax,
    }
}

fn kernel(options: &FitOptions) -> KernelFunction {
    use options::Kernel;
    let &FitOptions { gamma, coef0, degree, .. } = options;
    match options.kernel {
        Kernel::Rbf => KernelFunction::Rbf { gamma },
        Kernel::Poly => KernelFunction::Polynomial { gamma, coef0, degree },
        Kernel::Sigmoid => KernelFunction::Sigmoid { gamma, coef0 },
        Kernel::Laplacian => KernelFunction::Laplacian { gamma },
        Kernel::Cosine => KernelFunction::Cosine,
    }
}

const STARTS: [(&str, Start); 5] = [
    ("auto", Start::Auto),
    ("agglomerative", Start::Agglomerative),
    ("spectral", Start::Spectral),
    ("kmeans", Start::KMeans),
    ("random", Start::Random),
];

/// The start: a name, or a file with the label of every sample.
pub(crate) fn start(init: &str, prototypes: usize, weights: &SampleWeights, room: Room) -> Outcome<Start> {
    if let Some((_, start)) = STARTS.iter().find(|(name, _)| *name == init) {
        return Ok(start.clone());
    }
    let path = Path::new(init);
    if !path.is_file() {
        let names = STARTS.map(|(name, _)| name);
        let failure = Failure::usage(format!("--init {init} is neither a file nor one of {}", names.join(", ")));
        return Err(match near_miss(init, names) {
            Some(near) => failure.hint(format!("did you mean --init {near}?")),
            None => failure,
        });
    }
    let words = vector::fitting(vector::read(path, room)?, weights.len(), "labels to start from")?;
    let label = |(row, word): (usize, &String)| {
        let number = word.parse::<u32>().ok().filter(|&label| (label as usize) < prototypes);
        number.ok_or_else(|| {
            let most = prototypes - 1;
            Failure::data(format!("{init}: label {row} is \"{word}\"; it must be a whole number from 0 to {most}"))
        })
    };
    let labels = words.iter().enumerate().map(label).collect::<Outcome<Vec<u32>>>()?;
    Ok(Start::Plan(Plan::from_labels(labels, prototypes, weights.clone())?))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

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
        assert_eq!(map(&fit(&[]), Some(50)), GromovDr::builder());
        let core = GromovClustering::builder(7).target(gromap::Target::Free);
        assert_eq!(clusters(&fit(&[]), 7, Target::Free, TargetScale::Max), core);
    }

    #[test]
    fn every_option_reaches_the_core() {
        let core = GromovDr::builder;
        let asked = |arguments: &[&str]| map(&fit(arguments), Some(50));
        assert_eq!(asked(&["--method", "umap", "--neighbors", "9"]), core().method(Method::Umap).neighbors(Some(9)));
        assert_eq!(asked(&["--perplexity", "15,150", "--dims", "3"]), core().perplexities(&[15.0, 150.0]).dims(3));
        assert_eq!(asked(&["--loss", "bce", "--n-init", "4"]), core().loss(gromap::Loss::BinaryCrossEntropy).n_init(4));
        assert_eq!(asked(&["--alpha", "0.5", "--alpha-scale", "raw"]), core().alpha(0.5, AlphaScale::Raw));
        assert_eq!(
            asked(&["--pca", "7", "--scale", "minmax"]),
            core().projection(Projection::To(7)).scaling(Scaling::MinMax)
        );
        let cells = gromap::embedding::Normalization::Cells;
        assert_eq!(asked(&["--normalization", "cells", "--seed", "5"]), core().normalization(cells).seed(5));
        let stopping = Stopping { max_rounds: 3, rel_tolerance: 0.5, abs_tolerance: 0.0 };
        let cg = gromap::Solver::ConditionalGradient;
        assert_eq!(
            asked(&["--max-rounds", "3", "--tolerance", "0.5", "--solver", "cg"]),
            core().stopping(stopping).solver(cg)
        );
        let kernel = KernelFunction::Polynomial { gamma: Some(0.5), coef0: -2.0, degree: 4 };
        let poly = ["--method", "kernel-pca", "--kernel", "poly", "--gamma", "0.5", "--coef0", "-2", "--degree", "4"];
        assert_eq!(asked(&poly), core().method(Method::KernelPca).kernel(kernel));
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
