//! What the command line may say, as plain data. Comments on the fields are the help text that users read.
//!
//! Options that verbs share are in `options.rs`, values that are more than a number or a name in `values.rs`; the words of
//! choices are the core's. A verb shows only the options that have an effect; `recipe.rs` refuses the others, with the reason.

pub(crate) mod options;
pub(crate) mod table;
pub(crate) mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use gromap::Method;
use gromap::options::{Projection, Scaling, Target};
use gromap::solve::Scale;

use crate::demo_data;
use options::{DataOptions, FitOptions, RunOptions};
use table::TableOptions;
use values::{Count, List, Picture, method_or_coot, positive, words};

/// Turn a dataset into a map of weighted prototypes
///
/// Every prototype stands for a group of similar samples: a few prototypes are a clustering, one for every sample is
/// dimensionality reduction. The method is semi-relaxed Gromov-Wasserstein dimension reduction.
///
/// DATA is a file (.npy, .npz, .csv, .tsv, .parquet, .arrow, .mtx, .edges, IDX files such as MNIST's; text and IDX also
/// with .gz), a folder of PNG or JPEG images, or - for standard input with --format.
#[derive(Debug, Parser)]
#[command(name = "gromap", version, arg_required_else_help = true, max_term_width = 100, after_long_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad data, 4 stopped before convergence with --strict,
130 interrupted (143 by SIGTERM, 129 by SIGHUP).
Data go to standard output or to -o, progress and warnings to standard error. NO_COLOR is respected.";

#[derive(Debug, Subcommand)]
#[command(args_override_self = true)]
pub(crate) enum Verb {
    Fit(FitArgs),
    Path(PathArgs),
    Cluster(ClusterArgs),
    Embed(EmbedArgs),
    Transform(TransformArgs),
    Compare(CompareArgs),
    Suggest(SuggestArgs),
    Stability(StabilityArgs),
    Score(ScoreArgs),
    Report(ReportArgs),
    Describe(DescribeArgs),
    Info(InfoArgs),
    Demo(DemoArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Map a dataset onto prototypes
///
/// Finds the prototypes, their coordinates and the samples that belong to each, and prints a summary. -o saves the model for
/// transform, score, report and info; --report writes the map as one HTML file.
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

    /// Number of prototypes, or auto for what gromap suggest would take
    #[arg(short = 'n', long, value_name = "NUMBER|auto", default_value = "50")]
    pub(crate) prototypes: Count,

    /// Write the model to this file
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) output: Option<PathBuf>,

    /// Write the map to this HTML file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Write a place of its own for every sample to this file: .csv, .tsv, or .npy (coordinates only)
    #[arg(long, value_name = "FILE")]
    pub(crate) places: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: FitOptions,
}

// clap takes `{n}` in a help text for the end of a line; a code that nobody sees keeps it from that.
const LEVEL_NAMES: &str = "Write the model of every level; {\x1b[0mn} in the name becomes its number of prototypes";

/// Map a dataset onto several numbers of prototypes, from few to many
///
/// The similarity of the samples is computed once, and every map is aligned with the previous one. The report has a slider
/// from few prototypes to many.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap path t10k-images-idx3-ubyte.gz --prototypes 10,20,50,100,200 --report slider.html
  gromap path cells.npz --prototypes 5,10,20 -o 'cells-{\x1b[0mn}.gromap' --json"
)]
pub(crate) struct PathArgs {
    /// What to map
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// Numbers of prototypes, ascending
    #[arg(short = 'n', long, value_name = "N,N,…")]
    pub(crate) prototypes: List<usize>,

    /// Start each level from the previous one, with its heaviest prototypes split
    #[arg(long)]
    pub(crate) warm: bool,

    /// Write a model for every level
    #[arg(short, long, value_name = "MODEL-{n}", help = LEVEL_NAMES)]
    pub(crate) output: Option<String>,

    /// Write the maps, with a slider, to this HTML file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: FitOptions,
}

const COOT: &str = "Clusters of features";
const CLUSTER_METHOD: &str = "\
The method: which similarity of the samples the clusters reproduce; coot clusters samples and features at once";
const CLUSTER_RUNS: &str = "\
Number of runs from different seeds; the one with the lowest loss is kept [default for coot: 10]";

/// Cluster a dataset
///
/// Finds clusters without a map, and prints one label for each sample. With the free target, the similarities between
/// clusters are learnt (srGWB); with the identity, a cluster is similar only to itself (srGWI). -o model.gromap saves a model,
/// for which transform gives the labels of new samples. With --method coot features are clustered together with the samples.
#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = "\
Examples:
  gromap cluster t10k-images-idx3-ubyte.gz --clusters 10 -o labels.csv
  gromap cluster genes.csv --method coot --clusters 6 --feature-clusters 10 --report blocks.html",
    mut_arg("method", |arg| arg.value_parser(method_or_coot()).help(CLUSTER_METHOD)),
    mut_arg("n_init", |arg| arg.help(CLUSTER_RUNS)),
    mut_arg("dims", |arg| arg.hide(true)), mut_arg("alpha", |arg| arg.hide(true)),
    mut_arg("alpha_scale", |arg| arg.hide(true)), mut_arg("normalization", |arg| arg.hide(true)),
    mut_arg("coupling", |arg| arg.hide(true)), mut_arg("images", |arg| arg.hide(true)))]
pub(crate) struct ClusterArgs {
    /// What to cluster
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// Number of clusters
    #[arg(short = 'k', long, value_name = "NUMBER", value_parser = positive)]
    pub(crate) clusters: usize,

    /// The similarities between clusters: learnt, or the identity
    #[arg(long, value_name = "TARGET", value_parser = words!(Target), default_value_t)]
    pub(crate) target: Target,

    /// With --target identity: scale the similarity to a maximum of 1, or take it as it is
    #[arg(long, value_name = "SCALE", value_parser = words!(Scale), default_value_t = Scale::UnitMaximum)]
    pub(crate) target_scale: Scale,

    /// Write the labels (.csv, .tsv or .npy) or the model (.gromap) to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the coarse graph to this file: how clusters relate and what they weigh (.npz, arrays target and weights; or .mtx)
    #[arg(long, value_name = "FILE")]
    pub(crate) coarse: Option<PathBuf>,
    /// With --method coot: number of clusters of features
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = COOT)]
    pub(crate) feature_clusters: Option<usize>,

    /// What clusters of features weigh: what their features do (learned), the same (uniform), or a file with their shares
    #[arg(long, value_name = "WEIGHTS|FILE", default_value = "learned", help_heading = COOT)]
    pub(crate) feature_weights: String,

    /// Write the cluster of every feature to this file: .csv, .tsv or .npy
    #[arg(long, value_name = "FILE", help_heading = COOT)]
    pub(crate) feature_output: Option<PathBuf>,

    /// Write the means of the blocks to this file, a row for each cluster of samples: .csv, .tsv or .npy
    #[arg(long, value_name = "FILE", help_heading = COOT)]
    pub(crate) summary: Option<PathBuf>,

    /// Write a picture of the data in the order of the clusters to this file: .html or .svg
    #[arg(long, value_name = "FILE", help_heading = COOT)]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: FitOptions,
}

/// Give every sample its own place
///
/// Classical dimensionality reduction: every sample is its own prototype. Prints the coordinates of each sample.
#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = "\
Examples:
  gromap embed iris.csv --labels species --method mds -o coordinates.csv
  gromap embed digits.npy --method tsne --perplexity 30 -o coordinates.npy",
    mut_arg("alpha", |arg| arg.hide(true)), mut_arg("alpha_scale", |arg| arg.hide(true)),
    mut_arg("coupling", |arg| arg.hide(true)),
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

/// Assign new samples to the prototypes of a model
///
/// Prints the label of each new sample, which is its prototype or cluster, and the coordinates of its place on the map. If
/// the model was fitted to a table with named columns, the columns of DATA are matched by name, in any order, and others are
/// ignored; without names they are matched by position.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap transform model.gromap new.csv -o placed.csv
  gromap transform model.gromap train-images-idx3-ubyte.gz --json > placed.json"
)]
pub(crate) struct TransformArgs {
    /// A model file, as fit, path or cluster write it
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// New samples
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// Write labels and coordinates to this file: .csv, .tsv, or .npy (coordinates only; labels of clusters)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write a place of its own for every new sample, not its prototype's, to this file: .csv, .tsv, or .npy (coordinates only)
    #[arg(long, value_name = "FILE")]
    pub(crate) places: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: DataOptions,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Compare new samples with those a model was fitted to
///
/// Prints for every prototype its weight in the model and its share of the new samples, how far these are apart in standard errors,
/// and the rows of new samples that are farther from their prototype than any sample was that the model was fitted to.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap compare cells.gromap new.csv
  gromap compare model.gromap new.npy --json"
)]
pub(crate) struct CompareArgs {
    /// A model file, as fit, path or cluster write it
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// New samples; columns are matched as in transform
    #[arg(value_name = "NEW")]
    pub(crate) data: PathBuf,

    #[command(flatten)]
    pub(crate) options: DataOptions,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Suggest a number of prototypes
///
/// Counts the groups that are apart, and prints a table over several numbers of prototypes: how much of the groups is found again
/// in half of the samples (stability), the loss, and the silhouette of the samples. The last line says what to take and why, or
/// that there are no groups.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap suggest cells.csv --labels type --scale standard
  gromap suggest digits.npy --json"
)]
pub(crate) struct SuggestArgs {
    /// Samples, one in each row
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// The method, by whose neighbours groups are told apart
    #[arg(long, value_name = "METHOD", value_parser = words!(Method), default_value_t)]
    pub(crate) method: Method,

    /// Perplexity, the effective number of neighbours
    #[arg(long, value_name = "NUMBER", default_value = "30")]
    pub(crate) perplexity: List<f64>,

    /// Scale every feature: not at all, to mean 0 and standard deviation 1, or to the range 0 to 1
    #[arg(long, value_name = "SCALING", value_parser = words!(Scaling), default_value_t)]
    pub(crate) scale: Scaling,

    /// Principal components to keep before the neighbour search: a number, none, or auto (50 if there are more)
    #[arg(long, value_name = "NUMBER", default_value_t)]
    pub(crate) pca: Projection,

    /// Random seed; the same seed gives the same result
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) table: TableOptions,

    #[command(flatten)]
    pub(crate) options: DataOptions,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Say how sure the groups of a model are
///
/// Fits the model again to halves of the samples, and prints for every prototype how much of it was found again, from 0 to 1 (the
/// mean Jaccard index). Groups of data without any are found again to some degree too: the last line warns where a Gaussian
/// with the same mean and covariance does as well.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap stability cells.gromap cells.csv --labels type
  gromap stability model.gromap digits.npy --resamples 50 --json"
)]
pub(crate) struct StabilityArgs {
    /// A model file, as fit, path or cluster write it
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// The samples it was fitted to
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// Number of refits, each on half of the samples
    #[arg(long, value_name = "NUMBER", value_parser = positive, default_value = "20")]
    pub(crate) resamples: usize,

    #[command(flatten)]
    pub(crate) options: DataOptions,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Compare a model, or labels, with known classes
///
/// Prints the adjusted Rand index, the adjusted and normalised mutual information, homogeneity and completeness; for a map
/// also the silhouette of its prototypes, each labelled by the class that most of its samples have.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap score model.gromap --labels t10k-labels-idx1-ubyte.gz
  gromap score labels.csv --labels truth.csv --json"
)]
pub(crate) struct ScoreArgs {
    /// A model file, or a file with one label per sample
    #[arg(value_name = "MODEL|LABELS")]
    pub(crate) scored: PathBuf,

    /// A file with the class of every sample
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: PathBuf,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Write the map of a model as an HTML page or a picture
///
/// The page is one file and needs no network. With --data, the data that the model was fitted to, it also shows classes,
/// text columns and images.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap report model.gromap -o map.html
  gromap report model.gromap --data t10k-images-idx3-ubyte.gz -o map.html --force"
)]
pub(crate) struct ReportArgs {
    /// A model file, as fit, path or cluster write it
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// The data it was fitted to
    #[arg(long, value_name = "DATA")]
    pub(crate) data: Option<PathBuf>,

    /// The file to write: .html, or .svg for a static picture
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The column of DATA whose words name the prototypes
    #[arg(long, value_name = "COLUMN", requires = "data")]
    pub(crate) text: Option<String>,

    /// The title [default: the name of the data, or of the model]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// The samples are images of this size
    #[arg(long, value_name = "WxH[xC]", requires = "data")]
    pub(crate) images: Option<Picture>,

    #[command(flatten)]
    pub(crate) options: DataOptions,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Say what each prototype is
///
/// For every prototype its name, weight, number of members, typical samples, and the features that set it apart: their means,
/// and how many standard deviations these are from the mean of all other samples and from that of the nearest prototypes on
/// the map. With --data, the data that the model was fitted to, deviations are those of the samples, and --text names
/// prototypes by their words.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap describe model.gromap
  gromap describe model.gromap --data sales.csv --text comment -o groups.csv"
)]
pub(crate) struct DescribeArgs {
    /// A model file, as fit, path or cluster write it
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// The data it was fitted to
    #[arg(long, value_name = "DATA")]
    pub(crate) data: Option<PathBuf>,

    /// The column of DATA whose words name the prototypes
    #[arg(long, value_name = "COLUMN")]
    pub(crate) text: Option<String>,

    /// Write the table to this file: .csv, .tsv or .md
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: DataOptions,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// Print what is in a model file
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap info model.gromap
  gromap info model.gromap --json"
)]
pub(crate) struct InfoArgs {
    /// A model file, as fit, path or cluster write it
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// Print one JSON object, also for errors
    #[arg(long)]
    pub(crate) json: bool,
}

/// Map 2,000 images of clothing that come with the program
///
/// Writes the map as an HTML page, and prints for each prototype its place, its weight, the number of its images, the most
/// frequent class and the fraction of the images that have it. The classes are used only for this: the map is made from pixels
/// alone.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  gromap demo
  gromap demo --prototypes 50 -o clothes.html"
)]
pub(crate) struct DemoArgs {
    /// Number of prototypes, 1 to 2000 [default: a slider from 5 to 200, of which the map of 20 is printed]
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = prototypes())]
    pub(crate) prototypes: Option<u32>,

    /// Random seed; the same seed gives the same result
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,

    /// The HTML file [default: gromap-demo.html, which is replaced if it exists]
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

/// A prototype has at least one image, so there are at most as many.
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
