//! The model: samples in, a map of weighted prototypes out.
//!
//! [`GromovDr`] says what is wanted and is checked once, when it is fitted; a [`Model`] is what came out, and what new
//! samples need to find their place on it. With n prototypes the plan and the prototypes are found together
//! (`joint.rs`); with one prototype for every sample the plan is known, and what is left is classical
//! dimension reduction (`classical.rs`).

mod classical;
mod coarse;
mod distances;
mod file;
mod fitting;
mod joint;
mod path;
mod placement;
mod preparation;
mod rows;

pub use self::path::{Level, Path};
use self::placement::Placement;
use self::preparation::Preparation;
pub use self::preparation::{Projection, Scaling};
use crate::affinity::KernelFunction;
use crate::embedding::Normalization;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::method::{AffinityOptions, Method};
use crate::numeric::Matrix;
use crate::numeric::Scalar;
use crate::observe::{StopReason, Stopping};
use crate::plan::Plan;
use crate::similarity::Definiteness;
use crate::solve::{Settings, Solver};
use crate::start::Start;

/// Joint clustering and dimension reduction: N samples become n prototypes on a map.
///
/// ```
/// use gromap::{GromovDr, Matrix, Method};
/// // Two groups on a line.
/// let samples = Matrix::from_fn(40, 1, |i, _| (i % 20) as f64 + if i < 20 { 0.0 } else { 100.0 });
/// let model = GromovDr::builder().prototypes(4).method(Method::TSnekhorn).perplexity(5.0).seed(0).fit(&samples)?;
/// assert_eq!((model.prototypes.rows(), model.prototypes.columns()), (4, 2));
/// assert!((model.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// let labels = model.plan.labels();
/// assert!(labels[..20].iter().all(|label| !labels[20..].contains(label)));
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GromovDr {
    pub(crate) method: Method,
    pub(crate) prototypes: Option<usize>,
    pub(crate) dims: usize,
    pub(crate) options: AffinityOptions,
    pub(crate) normalization: Normalization,
    pub(crate) loss: Option<Loss>,
    pub(crate) alpha: f64,
    pub(crate) alpha_scale: AlphaScale,
    pub(crate) start: Start,
    pub(crate) n_init: usize,
    pub(crate) settings: Settings,
    pub(crate) projection: Projection,
    pub(crate) scaling: Scaling,
}

/// What α weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AlphaScale {
    /// Both terms divided by their value at the start: α = 0.5 gives them equal say.
    #[default]
    AtStart,
    /// The terms as they are, as in the paper.
    Raw,
}

impl Default for GromovDr {
    fn default() -> Self {
        // Only shares of a loss mean something: its unit is that of the similarity.
        let stopping = Stopping { max_rounds: 100, rel_tolerance: 1e-5, abs_tolerance: 0.0 };
        Self {
            method: Method::default(),
            prototypes: Some(50),
            dims: 2,
            options: AffinityOptions {
                perplexities: vec![30.0],
                neighbors: None,
                kernel: KernelFunction::Rbf { gamma: None },
            },
            normalization: Normalization::Measure,
            loss: None,
            alpha: 1.0,
            alpha_scale: AlphaScale::default(),
            start: Start::default(),
            n_init: 1,
            settings: Settings { stopping, ..Settings::default() },
            projection: Projection::default(),
            scaling: Scaling::default(),
        }
    }
}

impl GromovDr {
    /// The defaults: t-SNEkhorn, 50 prototypes in the plane, perplexity 30.
    pub fn builder() -> Self {
        Self::default()
    }

    /// Chooses the method.
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Number of prototypes n.
    pub fn prototypes(mut self, prototypes: usize) -> Self {
        self.prototypes = Some(prototypes);
        self
    }

    /// A prototype for every sample: classical dimension reduction.
    pub fn every_sample(mut self) -> Self {
        self.prototypes = None;
        self
    }

    /// Dimensions d of the map.
    pub fn dims(mut self, dims: usize) -> Self {
        self.dims = dims;
        self
    }

    /// The effective number of neighbours of the entropic affinities.
    pub fn perplexity(self, perplexity: f64) -> Self {
        self.perplexities(&[perplexity])
    }

    /// Several perplexities: the similarity is the mean of theirs, near and far at once.
    pub fn perplexities(mut self, perplexities: &[f64]) -> Self {
        self.options.perplexities = perplexities.to_vec();
        self
    }

    /// Neighbours looked at; `None` is what the method likes (⌈3ξ⌉ for a perplexity ξ).
    pub fn neighbors(mut self, neighbors: Option<usize>) -> Self {
        self.options.neighbors = neighbors;
        self
    }

    /// The kernel of kernel PCA.
    pub fn kernel(mut self, kernel: KernelFunction) -> Self {
        self.options.kernel = kernel;
        self
    }

    /// What the Student kernel of t-SNE and t-SNEkhorn is divided by; the measure unless asked otherwise.
    pub fn normalization(mut self, normalization: Normalization) -> Self {
        self.normalization = normalization;
        self
    }

    /// Compares similarities by another loss than the method's own.
    pub fn loss(mut self, loss: Loss) -> Self {
        self.loss = Some(loss);
        self
    }

    /// Weight of the structure against the features of the samples: 1 leaves features out.
    pub fn alpha(mut self, alpha: f64, scale: AlphaScale) -> Self {
        self.alpha = alpha;
        self.alpha_scale = scale;
        self
    }

    /// Where the descent starts.
    pub fn start(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// Starts from several seeds and keeps the lowest loss.
    pub fn n_init(mut self, n_init: usize) -> Self {
        self.n_init = n_init;
        self
    }

    /// How the plan is improved.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.settings.solver = solver;
        self
    }

    /// When to stop.
    pub fn stopping(mut self, stopping: Stopping) -> Self {
        self.settings.stopping = stopping;
        self
    }

    /// Seed of everything random.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Projection of the samples before neighbours are sought.
    pub fn projection(mut self, projection: Projection) -> Self {
        self.projection = projection;
        self
    }

    /// Scaling of the features before anything else.
    pub fn scaling(mut self, scaling: Scaling) -> Self {
        self.scaling = scaling;
        self
    }

    /// Refuses what no samples could be fitted with.
    fn check(&self) -> Result<()> {
        self.settings.check()?;
        if self.dims == 0 {
            return Err(Error::parameter("dims", 0.0, "at least 1"));
        }
        if self.n_init == 0 {
            return Err(Error::parameter("n_init", 0.0, "at least 1"));
        }
        if self.options.perplexities.is_empty() {
            return Err(Error::parameter("number of perplexities", 0.0, "at least 1"));
        }
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(Error::parameter("alpha", self.alpha, "from 0 to 1"));
        }
        if !matches!(self.normalization, Normalization::Measure | Normalization::Cells) {
            let allowed = "measure, cells".into();
            let name = format!("{:?}", self.normalization).to_lowercase();
            return Err(Error::Name { what: "normalization", name, allowed });
        }
        Ok(())
    }
}

/// A map of weighted prototypes, and how it was reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What was asked for.
    pub parameters: GromovDr,
    /// Places of the prototypes that are used, n×d.
    pub prototypes: Matrix<'static>,
    /// Their weights, sum 1, all positive.
    pub weights: Vec<f64>,
    /// Their mean samples, n×p, if there were samples.
    pub features: Option<Matrix<'static>>,
    /// Which samples they stand for.
    pub plan: Plan,
    /// Which of the prototypes asked for they are: the others lost all their samples and were dropped.
    pub kept: Vec<u32>,
    /// The loss reached.
    pub loss: f64,
    /// Whether the loss holds the part that neither plan nor prototypes change.
    pub loss_is_complete: bool,
    /// The loss at the start and after every round, never increasing.
    pub history: Vec<f64>,
    /// Why the descent ended.
    pub stop: StopReason,
    /// Share of the sample mass in rows with a single entry.
    pub hardness: f64,
    /// Why a hard optimum must exist, if that is known.
    pub certificate: Option<Definiteness>,
    /// What was not done as well as asked.
    pub warnings: Vec<String>,
    pub(crate) preparation: Preparation,
    pub(crate) placement: Placement,
}

impl Model {
    /// The place of every training sample, N×d: that of its prototype, or the mean of those that share it.
    pub fn embedding(&self) -> Matrix<'static> {
        let mut places = Matrix::zeros(self.plan.len(), self.prototypes.columns());
        for i in 0..self.plan.len() {
            let row = self.plan.row(i);
            let whole: f64 = row.mass.iter().sum();
            for (k, mass) in row.iter() {
                // A sample without weight still stands somewhere.
                let share = if whole > 0.0 { mass / whole } else { 1.0 };
                let place = self.prototypes.row(k);
                places.row_mut(i).iter_mut().zip(place).for_each(|(out, z)| *out += share * z);
            }
        }
        places
    }

    /// The prototype of every new sample. Each is placed by itself: the others do not matter.
    pub fn predict<S: Scalar>(&self, samples: &Matrix<'_, S>) -> Result<Vec<u32>> {
        self.check_new(samples)?;
        self.placement.predict(samples, &self.preparation)
    }

    fn check_new<S: Scalar>(&self, samples: &Matrix<'_, S>) -> Result<()> {
        if let Some(expected) = self.preparation.features {
            Error::check_len("number of features", expected, samples.columns())?;
        }
        samples.check_finite("samples")
    }

    /// The place of every new sample, N×d: that of its prototype; its own where every training sample is a prototype.
    pub fn transform<S: Scalar>(&self, samples: &Matrix<'_, S>) -> Result<Matrix<'static>> {
        if self.placement.step.is_none() {
            self.check_new(samples)?;
            return self.placement.places(samples, &self.preparation);
        }
        let labels = self.predict(samples)?;
        let dims = self.prototypes.columns();
        Ok(Matrix::from_fn(labels.len(), dims, |i, c| self.prototypes[(labels[i] as usize, c)]))
    }
}
