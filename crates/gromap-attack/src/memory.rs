//! The memory plan is a promise: what a fit is planned to hold at once against what it was measured to hold.
//!
//! Every case is a fit in a process of its own, which makes its data, fits, and says how far its resident memory rose at
//! most (`VmHWM` of Linux, reset before the data are made). The plan must be an upper bound, and beyond the part of
//! it that does not grow with the data no more than half as much again as was measured.

use std::fs::read_to_string;
use std::process::Command;

use gromap::data::{Form, Shape};
use gromap::memory::MemoryPlan;
use gromap::observe::{Event, Flow, Observer, Stage, Stopping};
use gromap::options::{AlphaScale, Parameters, Projection, Scaling, Target};
use gromap::similarity::{Dense, Similarity, Sparse};
use gromap::solve::{Scale, Solver};
use gromap::{Data, GromovClustering, GromovDr, Matrix, Method, Run};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How much more than was measured may be planned, where enough was measured to tell.
const MOST: f64 = 1.5;
const ENOUGH: u64 = 32 << 20;

/// What to try.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only a few small cases
    #[arg(long)]
    smoke: bool,
    /// Only cases whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Shows every stage of a fit
    #[arg(long)]
    stages: bool,
    /// Runs one case and prints the peak of every stage: what the processes of the cases are started with
    #[arg(long, hide = true)]
    case: Option<usize>,
}

/// What a fit is given.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Given {
    /// Samples of so many features.
    Single(usize),
    Double(usize),
    /// Samples of so many features without groups, in single precision: most groups of a start see each other.
    Cloud(usize),
    /// A dense similarity, in double precision; not symmetric, for the plan cannot know of one that is.
    Similarity,
    /// Distances of all pairs, in single precision.
    Distances,
    /// A sparse similarity with so many entries in a row, not symmetric either.
    Graph(usize),
}

use Given::{Cloud, Distances, Double, Graph, Similarity as Pairs, Single};

/// A fit: its name, N, what is given and the recipe.
struct Case(&'static str, usize, Given, Parameters);

/// Every round holds as much as the first.
const ROUNDS: Stopping = Stopping { max_rounds: 1, rel_tolerance: 0.0, abs_tolerance: 0.0 };

fn map(method: Method, prototypes: impl Into<Option<usize>>) -> GromovDr {
    GromovDr::builder().method(method).prototypes(prototypes).stopping(ROUNDS)
}

fn all(method: Method) -> GromovDr {
    map(method, None)
}

/// A few small cases, which a build for tests runs in seconds.
fn small_cases() -> Vec<Case> {
    use Method::{KernelPca, Pca, TSne, TSnekhorn, Umap};
    let case = |name, samples, given, recipe| Case(name, samples, given, Parameters::Map(recipe));
    vec![
        case("tsne, small", 1_000, Double(5), map(TSne, 10)),
        case("tsne, n = 300, small", 2_000, Single(5), map(TSne, 300).perplexity(5.0)),
        case("tsnekhorn, small", 600, Single(20), map(TSnekhorn, 10)),
        case("umap, every sample, small", 500, Single(10), all(Umap)),
        case("pca, many dims, small", 1_000, Double(50), map(Pca, 100).dims(40)),
        case("kernel-pca, small", 1_500, Double(3), map(KernelPca, 10)),
    ]
}

fn cases() -> Vec<Case> {
    use Method::*;
    let case = |name, samples, given, recipe| Case(name, samples, given, Parameters::Map(recipe));
    let clusters = |name, samples, given, recipe| Case(name, samples, given, Parameters::Clusters(recipe));
    let few = |recipe: GromovDr| recipe.perplexity(10.0);
    vec![
        case("fuzzy-tsne", 10_000, Single(50), map(FuzzyTSne, 50)),
        case("fuzzy-tsne, n = 1000", 20_000, Single(20), map(FuzzyTSne, 1_000)),
        case("tsnekhorn", 10_000, Single(50), map(TSnekhorn, 50)),
        case("tsnekhorn, n = 500", 10_000, Double(20), map(TSnekhorn, 500)),
        case("tsnekhorn, n = 1000", 20_000, Single(10), few(map(TSnekhorn, 1_000))),
        case("tsnekhorn, no groups", 10_000, Cloud(20), map(TSnekhorn, 500)),
        case("tsne, no groups", 5_000, Cloud(50), map(TSne, 200)),
        clusters("clusters, no groups", 10_000, Cloud(20), GromovClustering::builder(500)),
        case("tsnekhorn, large N", 60_000, Single(10), few(map(TSnekhorn, 10))),
        case("tsnekhorn, PCA of 784", 5_000, Single(784), map(TSnekhorn, 200)),
        case("tsnekhorn, scaled, PCA", 5_000, Double(1_000), map(TSnekhorn, 10).scale(Scaling::Standard)),
        case("tsnekhorn, fused", 5_000, Double(200), map(TSnekhorn, 50).alpha(0.5, AlphaScale::AtStart)),
        case(
            "tsnekhorn, fused, scaled",
            5_000,
            Double(200),
            map(TSnekhorn, 50).alpha(0.5, AlphaScale::AtStart).scale(Scaling::MinMax),
        ),
        case("tsnekhorn, two perplexities", 10_000, Single(20), map(TSnekhorn, 50).perplexities(&[5.0, 30.0])),
        case("tsnekhorn, every sample", 2_000, Single(20), all(TSnekhorn)),
        case(
            "tsnekhorn, cells",
            5_000,
            Single(20),
            map(TSnekhorn, 200).normalization(gromap::embedding::Normalization::Cells),
        ),
        case("tsne, p = 2", 30_000, Double(2), map(TSne, 200)),
        case("tsne, n = 1000", 10_000, Single(100), map(TSne, 1_000).pca(Projection::None)),
        case("tsne, every sample, 3 dims", 2_000, Double(50), all(TSne).dims(3)),
        case("tsne, conditional gradient", 5_000, Single(20), map(TSne, 200).solver(Solver::ConditionalGradient)),
        case("tsne, mirror descent", 5_000, Single(20), map(TSne, 100).solver(Solver::Mirror)),
        case("tsne, square loss", 5_000, Single(20), map(TSne, 200).loss(gromap::Loss::Square)),
        case("sne", 5_000, Double(20), map(Sne, 20)),
        case("sne, every sample", 1_000, Single(20), all(Sne)),
        case("snekhorn", 10_000, Single(20), map(Snekhorn, 20)),
        case("snekhorn, every sample", 300, Single(20), all(Snekhorn)),
        case("umap", 30_000, Single(10), map(Umap, 10)),
        case("umap, n = 200", 30_000, Double(10), map(Umap, 200)),
        case("umap, every sample", 2_000, Single(10), all(Umap)),
        case("umap, large N", 60_000, Single(50), map(Umap, 10)),
        case("laplacian-eigenmaps", 5_000, Single(20), map(LaplacianEigenmaps, 50)),
        case("laplacian-eigenmaps, every sample", 5_000, Double(20), all(LaplacianEigenmaps).neighbors(Some(20))),
        case("isomap", 3_000, Single(10), map(Isomap, 50)),
        case("isomap, double, every sample", 2_000, Double(10), all(Isomap)),
        case("pca", 60_000, Single(50), map(Pca, 10)),
        case("pca, n = 1000", 3_000, Double(200), map(Pca, 1_000)),
        case("pca, every sample", 60_000, Double(100), all(Pca)),
        case("pca, 200 dims", 4_000, Single(300), map(Pca, 300).dims(200)),
        case("pca, p = 1000", 10_000, Double(1_000), map(Pca, 10)),
        case("mds", 10_000, Double(50), map(Mds, 100)),
        case("mds, distances", 3_000, Distances, map(Mds, 50)),
        case("kernel-pca", 4_000, Single(20), map(KernelPca, 50)),
        case("kernel-pca, double, every sample", 3_000, Double(20), all(KernelPca)),
        case("tsnekhorn, distances", 4_000, Distances, map(TSnekhorn, 50)),
        case("given dense similarity", 4_000, Pairs, map(Mds, 50)),
        case("given dense similarity, tsne", 3_000, Pairs, map(TSne, 200)),
        case("given graph", 30_000, Graph(30), map(TSne, 50)),
        case("given graph, every sample", 2_000, Graph(30), all(TSne)),
        clusters("clusters", 10_000, Single(20), GromovClustering::builder(10)),
        clusters("clusters, n = 500", 10_000, Double(20), GromovClustering::builder(500)),
        clusters(
            "clusters, identity",
            10_000,
            Single(20),
            GromovClustering::builder(10).target(Target::Identity, Scale::UnitMaximum),
        ),
        clusters("clusters, kernel-pca", 4_000, Double(20), GromovClustering::builder(50).method(KernelPca)),
        clusters("clusters of a graph", 30_000, Graph(20), GromovClustering::builder(20)),
    ]
}

/// Whether every promise held.
pub(crate) fn run(options: &Options) -> bool {
    let cases = if options.smoke { small_cases() } else { cases() };
    if let Some(case) = options.case {
        return match measured(&cases[case]) {
            Ok(peaks) => {
                peaks.iter().for_each(|(stage, peak)| println!("{stage} {peak}"));
                true
            }
            Err(problem) => {
                println!("{problem}");
                false
            }
        };
    }
    println!("{:>34} {:>7} {:>16} {:>9} {:>9}  ratio", "fit", "N", "given", "planned", "measured");
    let mut broken = 0;
    let chosen: Vec<usize> = (0..cases.len()).filter(|&at| cases[at].0.contains(&options.only)).collect();
    for &at in &chosen {
        let Case(name, samples, given, _) = &cases[at];
        let plan = cases[at].plan();
        let planned = plan.peak();
        let verdict = match peak_of(at, options.smoke) {
            Err(problem) => Err(format!("{:>9} {:>6}  {problem}", "", "")),
            Ok(peaks) => {
                let peak = peaks.iter().map(|(_, peak)| *peak).max().unwrap_or(0);
                if options.stages {
                    tell_stages(&plan, &peaks);
                }
                let ratio = planned as f64 / peak as f64;
                let shown = format!("{:>9} {ratio:>6.2}", megabytes(peak));
                let is_wide = peak >= ENOUGH && ratio > MOST;
                match (peak <= planned, is_wide) {
                    (true, false) => Ok(shown),
                    (false, _) => Err(format!("{shown}  more than was planned")),
                    (_, true) => Err(format!("{shown}  much less than was planned")),
                }
            }
        };
        broken += usize::from(verdict.is_err());
        let verdict = verdict.unwrap_or_else(|problem| problem);
        println!("{name:>34} {samples:>7} {:>16} {:>9} {verdict}", format!("{given:?}"), megabytes(planned));
    }
    println!("{} fits, {broken} of them broke the promise", chosen.len());
    broken == 0
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// What was planned and measured in every stage.
fn tell_stages(plan: &MemoryPlan, peaks: &Peaks) {
    for (name, peak) in peaks {
        let parts: Vec<_> = [Stage::Prepare, Stage::Neighbors, Stage::Affinity, Stage::Start, Stage::Fit]
            .into_iter()
            .filter(|stage| stage.name() == name)
            .flat_map(|stage| plan.held(stage))
            .collect();
        let planned = parts.iter().map(|part| part.bytes).sum();
        println!("  {name:>12} {:>10} {:>10}", megabytes(planned), megabytes(*peak));
        parts.iter().for_each(|part| println!("  {:>12} {:>10}    {}", "", megabytes(part.bytes), part.what));
    }
}

/// By how much the resident memory rose in every stage, at most.
type Peaks = Vec<(String, u64)>;

/// The peaks that a process of its own measures.
fn peak_of(case: usize, smoke: bool) -> Result<Peaks, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["memory", "--case", &case.to_string()]).args(smoke.then_some("--smoke"));
    let said = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&said.stdout);
    let problem = || format!("{} {}", text.trim(), String::from_utf8_lossy(&said.stderr).trim());
    let peak = |line: &str| {
        let (stage, peak) = line.split_once(' ')?;
        Some((stage.to_owned(), peak.parse().ok()?))
    };
    if !said.status.success() {
        return Err(problem());
    }
    text.lines().map(peak).collect::<Option<Peaks>>().filter(|peaks| !peaks.is_empty()).ok_or_else(problem)
}

impl Case {
    fn plan(&self) -> MemoryPlan {
        let &Case(_, samples, given, ref recipe) = self;
        let pairs = samples as u64 * samples as u64;
        let form = match given {
            Single(features) | Double(features) | Cloud(features) => Form::Samples { features },
            Pairs | Distances => Form::Pairs { stored: pairs },
            Graph(entries) => Form::Pairs { stored: samples as u64 * entries as u64 },
        };
        let shape = Shape { samples, form, is_single: matches!(given, Single(_) | Cloud(_) | Distances | Graph(_)) };
        match recipe {
            Parameters::Map(recipe) => recipe.memory_plan(&shape),
            Parameters::Clusters(recipe) => recipe.memory_plan(&shape),
        }
    }
}

/// Reads the peak of a stage when the next one begins.
struct Watch {
    before: u64,
    stage: Stage,
    peaks: Peaks,
}

impl Watch {
    /// Ends a stage, and forgets its peak.
    fn end_stage(&mut self) -> Result<(), String> {
        let peak = resident("VmHWM:")?.saturating_sub(self.before);
        self.peaks.push((self.stage.name().to_owned(), peak));
        std::fs::write("/proc/self/clear_refs", "5").map_err(|error| error.to_string())
    }
}

impl Observer for Watch {
    fn on(&mut self, event: &Event) -> Flow {
        if let Event::Stage(stage) = event {
            // The end of the last stage says if this does not work.
            let _ = self.end_stage();
            self.stage = *stage;
        }
        Flow::Continue
    }
}

/// Makes the data of a case, fits, and gives by how much the resident memory rose in every stage.
fn measured(case: &Case) -> Result<Peaks, String> {
    rayon::broadcast(|_| ()); // the threads are there already
    let before = resident("VmRSS:")?;
    let &Case(_, samples, given, ref recipe) = case;
    let graph;
    let dense;
    let data = match given {
        Single(features) => Data::from(blobs(samples, features, 10, |x| x as f32)),
        Double(features) => Data::from(blobs(samples, features, 10, |x| x)),
        Cloud(features) => Data::from(blobs(samples, features, 1, |x| x as f32)),
        Distances => Data::distances(Matrix::from_fn(samples, samples, |i, j| distance(i, j) as f32)),
        Pairs => {
            let entry = |i: usize, j: usize| (1.0 + (i % 3) as f64) / (1.0 + distance(i, j));
            dense = Dense::new(Matrix::from_fn(samples, samples, entry));
            Data::similarity(dense.as_ref().map_err(ToString::to_string)? as &dyn Similarity)
        }
        Graph(entries) => {
            graph = ring(samples, entries);
            Data::similarity(graph.as_ref().map_err(ToString::to_string)? as &dyn Similarity)
        }
    };
    // What making the data took does not count.
    std::fs::write("/proc/self/clear_refs", "5").map_err(|error| error.to_string())?;
    let mut watch = Watch { before, stage: Stage::Prepare, peaks: Peaks::new() };
    let run = Run { observer: Some(&mut watch), ..Run::default() };
    let fitted = match recipe {
        Parameters::Map(recipe) => recipe.fit_with(&data, run),
        Parameters::Clusters(recipe) => recipe.fit_with(&data, run),
    };
    watch.end_stage()?;
    let model = fitted.map_err(|error| error.to_string())?;
    if !model.outcome.loss.is_finite() {
        return Err(format!("the loss is {}", model.outcome.loss));
    }
    Ok(watch.peaks)
}

/// A line of the status of this process, in bytes.
fn resident(name: &str) -> Result<u64, String> {
    let status = read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    number.map(|kilobytes| 1024 * kilobytes).ok_or_else(|| format!("the system does not say {name}"))
}

/// So many groups.
fn blobs<S: gromap::types::Scalar>(
    samples: usize,
    features: usize,
    groups: usize,
    store: impl Fn(f64) -> S,
) -> Matrix<'static, S> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
    let mut noise = move || rng.random::<f64>() + rng.random::<f64>() - 1.0;
    let centre = |group: usize, j: usize| (((group + 1) * (j + 3) * 7919) % 101) as f64 / 50.0;
    Matrix::from_fn(samples, features, |i, j| store(centre(i % groups, j) + noise()))
}

/// A distance of two samples on a line with gaps.
fn distance(i: usize, j: usize) -> f64 {
    let place = |i: usize| (i * 7919 % 1009) as f64 + 2000.0 * (i % 10) as f64;
    (place(i) - place(j)).abs() / 1000.0
}

/// A ring in which every sample sees so many others.
fn ring(samples: usize, entries: usize) -> gromap::Result<Sparse<'static, f32>> {
    let offsets: Vec<usize> = (0..=samples).map(|i| i * entries).collect();
    let row = |i: usize| {
        let mut row: Vec<u32> = (1..=entries / 2)
            .flat_map(|d| [(i + d) % samples, (i + samples - d) % samples])
            .map(|j| j as u32)
            .collect();
        row.sort_unstable();
        row
    };
    let columns: Vec<u32> = (0..samples).flat_map(row).collect();
    let values: Vec<f32> = (0..columns.len()).map(|at| 1.0 + (at / entries % 3) as f32).collect();
    Sparse::new(offsets, columns, values)
}
