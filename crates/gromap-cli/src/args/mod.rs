//! What the command line may say, as plain data. Comments on the fields are the help text that users read.
//!
//! Options that verbs share are in `options.rs`, values that are more than a number or a name in `values.rs`. A verb
//! shows only the options that mean something to it; the rest is refused by `recipe.rs`, with the reason.

pub(crate) mod options;
pub(crate) mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::demo_data;
use options::{DataOptions, FitOptions, RunOptions};
use values::{List, Picture, positive};

/// Turn a dataset into a map of weighted prototypes
///
/// Prototypes stand for the samples that are alike: few of them are a clustering, many are a map. The method is
/// semi-relaxed Gromov-Wasserstein dimension reduction.
///
/// DATA is a file whose name tells its format (.npy, .npz, .csv, .tsv, .parquet, .arrow, .mtx, .edges, IDX files as those of
/// MNIST; text and IDX also as .gz), a folder of PNG or JPEG pictures, or - for standard input with --format.
#[derive(Debug, Parser)]
#[command(name = "gromap", version, arg_required_else_help = true, max_term_width = 100, after_long_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 asked wrongly, 3 bad data, 4 stopped before convergence with --strict, 130 interrupted.
Data go to standard output or to -o, progress and warnings to standard error. NO_COLOR is respected.";

#[derive(Debug, Subcommand)]
#[command(args_override_self = true)]
pub(crate) enum Verb {
    Fit(FitArgs),
    Path(PathArgs),
    Cluster(ClusterArgs),
    Embed(EmbedArgs),
    Transform(TransformArgs),
    Score(ScoreArgs),
    Report(ReportArgs),
    Info(InfoArgs),
    Demo(DemoArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Map a dataset onto prototypes
///
/// Finds the prototypes, their places and the samples they stand for, and prints what it found. -o keeps the model for
/// transform, score and report; --report makes one HTML file to look at and send.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap fit t10k-images-idx3-ubyte.gz --prototypes 100 --perplexity 50 --report map.html
  gromap fit cells.csv --labels type --scale standard -o cells.gromap --json"
)]
pub(crate) struct FitArgs {
    /// What to map
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// How many prototypes to look for
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = positive, default_value = "50")]
    pub(crate) prototypes: usize,

    /// Write the model to this file
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) output: Option<PathBuf>,

    /// Write a map to look at to this HTML file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: FitOptions,
}

/// Map a dataset onto several numbers of prototypes, from few to many
///
/// The similarity is made once; every map is turned onto the one before. The report has a slider from few prototypes to
/// many, along which they split.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap path t10k-images-idx3-ubyte.gz --prototypes 10,20,50,100,200 --report slider.html
  gromap path cells.npz --prototypes 5,10,20 -o 'cells-{n}.gromap' --json"
)]
pub(crate) struct PathArgs {
    /// What to map
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// How many prototypes to look for, ascending
    #[arg(short = 'n', long, value_name = "N,N,…")]
    pub(crate) prototypes: List<usize>,

    /// Start each level from the one before, its heaviest prototypes split, instead of afresh
    #[arg(long)]
    pub(crate) warm: bool,

    /// Write the model of every level, to this name with {n} for its number of prototypes
    #[arg(short, long, value_name = "MODEL-{n}")]
    pub(crate) output: Option<String>,

    /// Write maps to slide through to this HTML file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: FitOptions,
}

/// Cluster a dataset
///
/// The clustering end of the method: clusters without places. With a free target their similarities are learnt (srGWB);
/// with the identity, clusters are alike only to themselves (srGWI). Prints one label for each sample.
#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = "\
Examples:
  gromap cluster t10k-images-idx3-ubyte.gz --clusters 10 -o labels.csv
  gromap cluster friends.edges --precomputed similarity --clusters 4 --target identity",
    mut_arg("dims", |arg| arg.hide(true)), mut_arg("alpha", |arg| arg.hide(true)),
    mut_arg("alpha_scale", |arg| arg.hide(true)), mut_arg("normalization", |arg| arg.hide(true)),
    mut_arg("kernel", |arg| arg.hide(true)), mut_arg("gamma", |arg| arg.hide(true)),
    mut_arg("coef0", |arg| arg.hide(true)), mut_arg("degree", |arg| arg.hide(true)),
    mut_arg("images", |arg| arg.hide(true)))]
pub(crate) struct ClusterArgs {
    /// What to cluster
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// How many clusters to look for
    #[arg(short = 'k', long, value_name = "NUMBER", value_parser = positive)]
    pub(crate) clusters: usize,

    /// What clusters are compared with
    #[arg(long, value_name = "TARGET", value_enum, default_value_t = Target::Free)]
    pub(crate) target: Target,

    /// With --target identity: the similarity scaled to a largest entry of 1, or as it is
    #[arg(long, value_name = "SCALE", value_enum, default_value_t = TargetScale::Max)]
    pub(crate) target_scale: TargetScale,

    /// Write the labels to this file: .csv, .tsv or .npy
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: FitOptions,
}

/// Place every sample by itself
///
/// Classical dimension reduction: every sample is its own prototype. Prints the coordinates of each sample.
#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = "\
Examples:
  gromap embed iris.csv --labels species --method mds -o coordinates.csv
  gromap embed digits.npy --method tsnekhorn --perplexity 30 -o coordinates.npy",
    mut_arg("alpha", |arg| arg.hide(true)), mut_arg("alpha_scale", |arg| arg.hide(true)),
    mut_arg("init", |arg| arg.hide(true)), mut_arg("n_init", |arg| arg.hide(true)),
    mut_arg("solver", |arg| arg.hide(true)), mut_arg("max_rounds", |arg| arg.hide(true)),
    mut_arg("tolerance", |arg| arg.hide(true)), mut_arg("strict", |arg| arg.hide(true)),
    mut_arg("images", |arg| arg.hide(true)), mut_arg("seed", |arg| arg.hide(true)))]
pub(crate) struct EmbedArgs {
    /// What to embed
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// Write the coordinates to this file: .npy, .csv or .tsv
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: FitOptions,
}

/// Place new samples on the map of a model
///
/// Each by itself: its prototype, and its coordinates. The columns of DATA are those the model was fitted to.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap transform model.gromap new.csv -o placed.csv
  gromap transform model.gromap train-images-idx3-ubyte.gz --json > placed.json"
)]
pub(crate) struct TransformArgs {
    /// A model that fit has written
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// New samples
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// Write labels and coordinates to this file: .csv, .tsv, or .npy (coordinates alone)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: DataOptions,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Compare a model, or labels, with known classes
///
/// Adjusted Rand index, adjusted and normalised mutual information, homogeneity and completeness; for a model also the
/// silhouette of its prototypes, each of the class that most of its samples have.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap score model.gromap --labels t10k-labels-idx1-ubyte.gz
  gromap score labels.csv --labels truth.csv --json"
)]
pub(crate) struct ScoreArgs {
    /// A model that fit has written, or a file with one label per sample
    #[arg(value_name = "MODEL|LABELS")]
    pub(crate) scored: PathBuf,

    /// A file with the class of every sample
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: PathBuf,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Make a map to look at from a model
///
/// One HTML file that opens without a network. With the data that the model was fitted to, it shows their classes, columns
/// and pictures.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap report model.gromap -o map.html
  gromap report model.gromap --data t10k-images-idx3-ubyte.gz -o map.html --force"
)]
pub(crate) struct ReportArgs {
    /// A model that fit has written
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// The data it was fitted to
    #[arg(long, value_name = "DATA")]
    pub(crate) data: Option<PathBuf>,

    /// The HTML file, or .svg for a static picture
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// What stands above the map [default: the name of the data, or of the model]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// The size of the picture in every row of the data
    #[arg(long, value_name = "WxH[xC]", requires = "data")]
    pub(crate) images: Option<Picture>,

    #[command(flatten)]
    pub(crate) options: DataOptions,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Say what is in a model file
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap info model.gromap
  gromap info model.gromap --json"
)]
pub(crate) struct InfoArgs {
    /// A model that fit has written
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// Print one JSON object, also for errors
    #[arg(long)]
    pub(crate) json: bool,
}

/// Map 2,000 pictures of clothing that come with the program
///
/// Writes a map to look at, and prints, for each prototype, its place, its weight, how many pictures it stands for, the kind
/// of clothing most of them show and the share that do. The kinds are used only for this: the map is made from pixels alone.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap demo
  gromap demo --prototypes 50 -o clothes.html"
)]
pub(crate) struct DemoArgs {
    /// How many prototypes to look for, 1 to 2000
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20, value_parser = prototypes())]
    pub(crate) prototypes: u32,

    /// Where the random start comes from; the same seed gives the same result
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,

    /// The HTML file; without this option gromap-demo.html, which is replaced if it exists
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: Option<PathBuf>,

    /// Replace the file of -o if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Print one JSON object instead of a table, also for errors
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gromap completions bash > ~/.local/share/bash-completion/completions/gromap
  gromap completions zsh > ~/.zfunc/_gromap")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

/// Print a page of the manual, or write all of them
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap man fit | man -l -
  gromap man -o ~/.local/share/man/man1"
)]
pub(crate) struct ManArgs {
    /// The verb whose page it is [default: the program's own]
    #[arg(value_name = "VERB")]
    pub(crate) verb: Option<String>,

    /// Write all pages into this folder, which must exist
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "verb")]
    pub(crate) output: Option<PathBuf>,

    /// Replace pages that exist
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// What clusters are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// The similarities that suit them best
    Free,
    /// Alike only to themselves
    Identity,
}

/// The similarity against an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetScale {
    /// Scaled to a largest entry of 1
    Max,
    /// As it is
    Raw,
}

/// A prototype stands for at least one picture, so there are at most as many.
fn prototypes() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=demo_data::IMAGES as i64)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Arguments;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_verb_has_two_examples_and_every_option_a_help_text() {
        for verb in Arguments::command().get_subcommands() {
            let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert_eq!(examples.matches("\n  gromap ").count(), 2, "{}", verb.get_name());
            for arg in verb.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {}", verb.get_name(), arg.get_id());
            }
        }
    }
}
