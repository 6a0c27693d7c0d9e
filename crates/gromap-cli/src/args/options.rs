//! The options that fit, path, cluster and embed share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gromap::Method;

use super::values::{Bytes, Components, List, Picture, method, not_negative, positive, share};

const INPUT: &str = "Input";
const MAP: &str = "Map";
const FIT: &str = "Fit";
const RUN: &str = "Run";

/// What is read.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataOptions {
    /// The format of DATA, if its name does not tell
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = INPUT)]
    pub(crate) format: Option<Format>,

    /// Classes of the samples, for scores and colours: a column of DATA, or a file with one per sample
    #[arg(long, value_name = "FILE|COLUMN", help_heading = INPUT)]
    pub(crate) labels: Option<String>,

    /// Precision of the samples; the file's own unless given (IDX files and pictures are f32)
    #[arg(long, value_name = "PRECISION", value_enum, help_heading = INPUT)]
    pub(crate) precision: Option<Precision>,
}

/// What is mapped, how, and within which limits.
#[derive(Debug, Clone, Args)]
pub(crate) struct FitOptions {
    #[command(flatten)]
    pub(crate) data: DataOptions,

    /// Weights of the samples: a column of DATA, or a file with one per sample
    #[arg(long, value_name = "FILE|COLUMN", help_heading = INPUT)]
    pub(crate) weights: Option<String>,

    /// The size of the picture in every row, to be shown in the report
    #[arg(long, value_name = "WxH[xC]", help_heading = INPUT)]
    pub(crate) images: Option<Picture>,

    /// DATA is an N×N matrix or a graph, not samples
    #[arg(long, value_name = "KIND", value_enum, help_heading = INPUT)]
    pub(crate) precomputed: Option<Precomputed>,

    /// Scaling of the features
    #[arg(long, value_name = "SCALING", value_enum, default_value_t = Scale::None, help_heading = INPUT)]
    pub(crate) scale: Scale,

    /// Principal components kept before neighbours are sought: a number, none, or auto (50 of more)
    #[arg(long, value_name = "NUMBER", default_value = "auto", help_heading = INPUT)]
    pub(crate) pca: Components,

    /// How the map is made: pca, kernel-pca, mds, isomap, laplacian-eigenmaps, sne, tsne, snekhorn, tsnekhorn or umap
    #[arg(long, value_name = "METHOD", value_parser = method, default_value = "tsnekhorn", help_heading = MAP)]
    pub(crate) method: Method,

    /// Dimensions of the map
    #[arg(long, value_name = "NUMBER", value_parser = positive, default_value = "2", help_heading = MAP)]
    pub(crate) dims: usize,

    /// Effective number of neighbours; of several, as in 15,150, the mean similarity is taken
    #[arg(long, value_name = "NUMBER", default_value = "30", help_heading = MAP)]
    pub(crate) perplexity: List<f64>,

    /// Neighbours looked at [default: what the method likes, such as three times the perplexity]
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = MAP)]
    pub(crate) neighbors: Option<usize>,

    /// The kernel of kernel-pca
    #[arg(long, value_name = "KERNEL", value_enum, default_value_t = Kernel::Rbf, help_heading = MAP)]
    pub(crate) kernel: Kernel,

    /// The factor of that kernel [default: one over the number of features]
    #[arg(long, value_name = "NUMBER", value_parser = not_negative, help_heading = MAP)]
    pub(crate) gamma: Option<f64>,

    /// The constant of the polynomial and sigmoid kernels
    #[arg(long, value_name = "NUMBER", default_value = "1", allow_negative_numbers = true, help_heading = MAP)]
    pub(crate) coef0: f64,

    /// The power of the polynomial kernel
    #[arg(long, value_name = "NUMBER", default_value = "3", help_heading = MAP)]
    pub(crate) degree: u32,

    /// What the kernels of tsne and tsnekhorn are divided by; cells is the paper's
    #[arg(long, value_name = "BY", value_enum, default_value_t = Normalization::Measure, help_heading = MAP)]
    pub(crate) normalization: Normalization,

    /// How similarities are compared [default: the method's own]
    #[arg(long, value_name = "LOSS", value_enum, help_heading = MAP)]
    pub(crate) loss: Option<Loss>,

    /// Weight of the structure against the features of the samples; 1 leaves the features out
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1", help_heading = MAP)]
    pub(crate) alpha: f64,

    /// Whether both terms of alpha are divided by their value at the start, or taken as they are
    #[arg(long, value_name = "SCALE", value_enum, default_value_t = AlphaScale::Start, help_heading = MAP)]
    pub(crate) alpha_scale: AlphaScale,

    /// Where the descent starts: auto, agglomerative, spectral, kmeans, random, or a file with one label per sample
    #[arg(long, value_name = "START|FILE", default_value = "auto", help_heading = FIT)]
    pub(crate) init: String,

    /// Starts from several seeds, of which the lowest loss is kept
    #[arg(long, value_name = "NUMBER", value_parser = positive, default_value = "1", help_heading = FIT)]
    pub(crate) n_init: usize,

    /// How the plan is improved
    #[arg(long, value_name = "SOLVER", value_enum, default_value_t = Solver::Vertex, help_heading = FIT)]
    pub(crate) solver: Solver,

    /// Rounds at most [default: 100; 200 for clusters]
    #[arg(long, value_name = "NUMBER", help_heading = FIT)]
    pub(crate) max_rounds: Option<usize>,

    /// End when a round lowers the loss by less than this share of it [default: 1e-5; 1e-9 for clusters]
    #[arg(long, value_name = "SHARE", value_parser = not_negative, help_heading = FIT)]
    pub(crate) tolerance: Option<f64>,

    /// Where everything random comes from; the same seed gives the same result
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = FIT)]
    pub(crate) seed: u64,

    /// Exit with code 4 if the rounds ran out before the descent ended by itself
    #[arg(long, help_heading = FIT)]
    pub(crate) strict: bool,

    #[command(flatten)]
    pub(crate) run: RunOptions,

    /// Say what would be done and how much memory it takes, and do nothing
    #[arg(long, help_heading = RUN)]
    pub(crate) dry_run: bool,

    /// Read options from a TOML file, one `name = value` for each; those given here come first
    #[arg(long, value_name = "FILE.toml", help_heading = RUN)]
    pub(crate) config: Option<PathBuf>,

    /// Print all options as such a file, and do nothing
    #[arg(long, help_heading = RUN)]
    pub(crate) print_config: bool,

    /// Tell of every round
    #[arg(short, long, conflicts_with = "quiet", help_heading = RUN)]
    pub(crate) verbose: bool,
}

/// How a verb works and what it says.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunOptions {
    /// Threads to work on [default: one for each core]; the result does not depend on it
    #[arg(long, value_name = "NUMBER", value_parser = positive, help_heading = RUN)]
    pub(crate) threads: Option<usize>,

    /// Refuse what needs more memory than this, such as 8GiB [default: 80% of the machine's]
    #[arg(long, value_name = "SIZE", help_heading = RUN)]
    pub(crate) max_memory: Option<Bytes>,

    /// Replace output files that exist
    #[arg(long, help_heading = RUN)]
    pub(crate) force: bool,

    /// Print one JSON object, also for errors
    #[arg(long, help_heading = RUN)]
    pub(crate) json: bool,

    /// Say nothing but errors
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
    /// A folder of PNG and JPEG pictures
    Folder,
}

/// Storage of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    F32,
    F64,
}

/// What DATA is, if not samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precomputed {
    /// How far samples are from each other
    Distance,
    /// How alike samples are
    Similarity,
}

/// Scaling of the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    /// As they are
    None,
    /// Mean 0, standard deviation 1
    Standard,
    /// From 0 to 1
    Minmax,
}

/// Kernels, by scikit-learn's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kernel {
    Rbf,
    Poly,
    Sigmoid,
    Laplacian,
    Cosine,
}

/// What Student kernels are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Normalization {
    /// The sum over prototypes by their weights
    Measure,
    /// The sum over prototypes as they are
    Cells,
}

/// Losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Loss {
    /// Squared differences
    Square,
    /// Kullback-Leibler
    Kl,
    /// Binary cross-entropy
    Bce,
}

/// What alpha weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlphaScale {
    /// Both terms divided by their value at the start
    Start,
    /// The terms as they are
    Raw,
}

/// How the plan is improved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Solver {
    /// Exact moves of single samples
    Vertex,
    /// Conditional gradient
    Cg,
    /// Mirror descent, on soft plans
    Mirror,
}
