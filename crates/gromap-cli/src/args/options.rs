//! The options that fit, path, cluster and embed share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gromap::affinity::KernelFunction;
use gromap::embedding::Normalization;
use gromap::options::{AlphaScale, FittedTo, Projection, Scaling};
use gromap::solve::Solver;
use gromap::{Loss, Method, ViewWeights};

use super::table::TableOptions;
use super::values::{Bytes, List, Picture, method, not_negative, positive, share, threads, word, words};

const INPUT: &str = "Input";
const MAP: &str = "Map";
const FIT: &str = "Fit";
const RUN: &str = "Run";

/// The kinds of data that are not samples.
const PAIRS: [&str; 3] = ["distance", "similarity", "graph"];

/// What is read.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DataOptions {
    /// The format of DATA, if its name does not tell
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = INPUT)]
    pub(crate) format: Option<Format>,

    /// Another view of the same samples, in the same order: a file like DATA; give it again for more views
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    pub(crate) view: Vec<PathBuf>,

    /// Classes of the samples, for scores and colours: a column of DATA, or a file with one per sample
    #[arg(long, value_name = "FILE|COLUMN", help_heading = INPUT)]
    pub(crate) labels: Option<String>,

    /// Precision of the samples [default: the file's own; f32 for IDX files and images]
    #[arg(long, value_name = "PRECISION", value_enum, help_heading = INPUT)]
    pub(crate) precision: Option<Precision>,
}

/// What is mapped, how, and within which limits.
#[derive(Debug, Clone, Args)]
pub(crate) struct FitOptions {
    #[command(flatten)]
    pub(crate) data: DataOptions,

    #[command(flatten)]
    pub(crate) table: TableOptions,

    /// Weights of the samples: a column of DATA, or a file with one per sample
    #[arg(long, value_name = "FILE|COLUMN", help_heading = INPUT)]
    pub(crate) weights: Option<String>,

    /// The samples are images of this size, to be shown in the report
    #[arg(long, value_name = "WxH[xC]", help_heading = INPUT)]
    pub(crate) images: Option<Picture>,

    /// DATA is an N×N matrix of distances or similarities, or a graph [default for lists of edges], not samples
    #[arg(long, value_name = "KIND", value_parser = word::<FittedTo>(PAIRS), help_heading = INPUT)]
    pub(crate) precomputed: Option<FittedTo>,

    /// With --view: how much each view counts, DATA first: the same, by how well common clusters serve it, or as in 0.3,0.7
    #[arg(long, value_name = "WEIGHTS", default_value_t, help_heading = INPUT)]
    pub(crate) view_weights: ViewWeights,

    /// Scale every feature: not at all, to mean 0 and standard deviation 1, or to the range 0 to 1; auto is standard for
    /// tables with text or dates, and none for all else
    #[arg(long, value_name = "SCALING", value_parser = words!(Scaling), default_value_t, help_heading = INPUT)]
    pub(crate) scale: Scaling,

    /// Principal components to keep before the neighbour search: a number, none, or auto (50 if there are more)
    #[arg(long, value_name = "NUMBER", default_value_t, help_heading = INPUT)]
    pub(crate) pca: Projection,

    /// The method: which similarity of the samples the map reproduces, and how
    #[arg(long, value_name = "METHOD", value_parser = method(), default_value_t, help_heading = MAP)]
    pub(crate) method: Method,

    /// Dimensions of the map
    #[arg(long, value_name = "NUMBER", value_parser = positive, default_value = "2", help_heading = MAP)]
    pub(crate) dims: usize,

    /// Perplexity, the effective number of neighbours; of several, as in 15,150, the similarities are averaged
    #[arg(long, value_name = "NUMBER", default_value = "30", help_heading = MAP)]
    pub(crate) perplexity: List<f64>,

    /// Nearest neighbours of each sample to use [default: the method's own, such as three times the perplexity]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = MAP)]
    pub(crate) neighbors: Option<usize>,

    /// The kernel of kernel-pca
    #[arg(long, value_name = "KERNEL", value_parser = words!(KernelFunction), default_value_t, help_heading = MAP)]
    pub(crate) kernel: KernelFunction,

    /// The coefficient gamma of that kernel [default: one over the number of features]
    #[arg(long, value_name = "NUMBER", value_parser = not_negative, help_heading = MAP)]
    pub(crate) gamma: Option<f64>,

    /// The constant of the polynomial and sigmoid kernels
    #[arg(long, value_name = "NUMBER", default_value = "1", allow_negative_numbers = true, help_heading = MAP)]
    pub(crate) coef0: f64,

    /// The degree of the polynomial kernel
    #[arg(long, value_name = "NUMBER", default_value = "3", help_heading = MAP)]
    pub(crate) degree: u32,

    /// What the kernel of a neighbour embedding is divided by [default: the method's own]
    #[arg(long, value_name = "SUM", value_parser = words!(Normalization), help_heading = MAP)]
    pub(crate) normalization: Option<Normalization>,

    /// How much the map has to say about the groups, from 0 (groups are found without it, then placed) to 1 (as in the paper)
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.25", help_heading = MAP)]
    pub(crate) coupling: f64,

    /// The loss between similarities: squared, Kullback-Leibler or binary cross-entropy [default: the method's own]
    #[arg(long, value_name = "LOSS", value_parser = words!(Loss), help_heading = MAP)]
    pub(crate) loss: Option<Loss>,

    /// Weight of the similarities in the fused objective, from 0 to 1; the features have the rest
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1", help_heading = MAP)]
    pub(crate) alpha: f64,

    /// What alpha weighs: both terms divided by their value at the start, or as they are
    #[arg(long, value_name = "SCALE", value_parser = words!(AlphaScale), default_value_t, help_heading = MAP)]
    pub(crate) alpha_scale: AlphaScale,

    /// The initial assignment: auto, agglomerative, spectral, kmeans, random, or a file with one label per sample
    #[arg(long, value_name = "START|FILE", default_value = "auto", help_heading = FIT)]
    pub(crate) init: String,

    /// Number of runs from different seeds; the one with the lowest loss is kept
    #[arg(long, value_name = "NUMBER", value_parser = positive, default_value = "1", help_heading = FIT)]
    pub(crate) n_init: usize,

    /// What prototypes or clusters weigh: what their samples do (learned), the same (uniform), or a file with their shares
    #[arg(long, value_name = "WEIGHTS|FILE", default_value = "learned", help_heading = FIT)]
    pub(crate) prototype_weights: String,

    /// What each of them weighs at least, as a share of the whole
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = FIT)]
    pub(crate) min_weight: Option<f64>,

    /// What each of them weighs at most, as a share of the whole
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = FIT)]
    pub(crate) max_weight: Option<f64>,

    /// The solver of the transport plan: exact moves of single samples, conditional gradient, or mirror descent
    #[arg(long, value_name = "SOLVER", value_parser = words!(Solver), default_value_t, help_heading = FIT)]
    pub(crate) solver: Solver,

    /// Maximum number of rounds [default: 100; 200 for clusters]
    #[arg(long, value_name = "NUMBER", help_heading = FIT)]
    pub(crate) max_rounds: Option<usize>,

    /// Stop when a round lowers the loss by less than this fraction of it [default: 1e-5; 1e-9 for clusters]
    #[arg(long, value_name = "SHARE", value_parser = not_negative, help_heading = FIT)]
    pub(crate) tolerance: Option<f64>,

    /// Random seed; the same seed gives the same result
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = FIT)]
    pub(crate) seed: u64,

    /// Exit with code 4 if --max-rounds was reached before convergence
    #[arg(long, help_heading = FIT)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) run: RunOptions,

    /// Print how much memory the fit would take, and stop
    #[arg(long, help_heading = RUN)]
    pub(crate) dry_run: bool,

    /// Read options from a TOML file of `name = value` lines; the command line overrides it
    #[arg(long, value_name = "FILE.toml", help_heading = RUN)]
    pub(crate) config: Option<PathBuf>,

    /// Print all options as such a file, and stop
    #[arg(long, help_heading = RUN)]
    pub(crate) print_config: bool,

    /// Print the loss of every round
    #[arg(short, long, conflicts_with = "quiet", help_heading = RUN)]
    pub(crate) verbose: bool,
}

impl FitOptions {
    /// What DATA is.
    pub(crate) fn fitted_to(&self) -> FittedTo {
        self.precomputed.unwrap_or(FittedTo::Samples)
    }
}

/// How a verb works and what it says.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunOptions {
    /// Number of threads [default: one for each core]; the result does not depend on it
    #[arg(long, value_name = "NUMBER", value_parser = threads, help_heading = RUN)]
    pub(crate) threads: Option<usize>,

    /// Stop before using more memory than this, such as 8GiB [default: 80% of the machine's]
    #[arg(long, value_name = "SIZE", help_heading = RUN)]
    pub(crate) max_memory: Option<Bytes>,

    /// Replace output files that exist
    #[arg(long, help_heading = RUN)]
    pub(crate) force: bool,

    /// Print one JSON object, also for errors
    #[arg(long, help_heading = RUN)]
    pub(crate) json: bool,

    /// Print nothing but errors
    #[arg(short, long, help_heading = RUN)]
    pub(crate) quiet: bool,
}

/// File formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// An array of numpy
    Npy,
    /// Arrays X and y of numpy, or a sparse matrix of scipy
    Npz,
    /// A table with commas
    Csv,
    /// A table with tabs
    Tsv,
    /// Apache Parquet
    Parquet,
    /// Apache Arrow, as a file or a stream
    Arrow,
    /// The format of MNIST, also with gzip
    Idx,
    /// Matrix Market
    Mtx,
    /// A graph, one edge in every line: two nodes and perhaps a weight
    Edges,
    /// A folder of PNG and JPEG images
    Folder,
}

impl Format {
    /// Whether its columns can be anything.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Parquet | Self::Arrow)
    }
}

/// Storage of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    F32,
    F64,
}
