//! The clustering end of the method: a target without places.
//!
//! With a free target (srGWB) the similarities of the clusters are learnt; with the identity (srGWI) clusters are
//! alike only to themselves, which partitions a graph and depends on the scale of the similarity.

use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::method::Method;
use crate::model::{GromovDr, Projection, Scaling};
use crate::numeric::Matrix;
use crate::numeric::Scalar;
use crate::observe::{Event, Observer, Stage, StopReason, Stopping};
use crate::plan::Plan;
use crate::similarity::{Definiteness, Similarity};
use crate::solve::{Barycenter, Input};
use crate::solve::{Scale, Srgw};
use crate::solve::{Settings, Solver};
use crate::start::{Ground, Start};
use crate::weights::SampleWeights;

/// What clusters are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The similarities that suit them best: srGWB.
    Free,
    /// The identity: srGWI, with the similarity scaled like this.
    Identity(Scale),
}

/// Clusters by semi-relaxed Gromov-Wasserstein, on any input similarity.
///
/// ```
/// use gromap::{GromovClustering, Matrix};
/// let samples = Matrix::from_fn(60, 1, |i, _| (i % 20) as f64 + 100.0 * (i / 20) as f64);
/// let found = GromovClustering::builder(3).perplexity(5.0).fit(&samples)?;
/// let labels = found.plan.labels();
/// assert!((0..60).all(|i| labels[i] == labels[i / 20 * 20]));
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GromovClustering {
    clusters: usize,
    target: Target,
    recipe: GromovDr,
}

/// Clusters and how they were reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// Which samples each cluster has.
    pub plan: Plan,
    /// Their weights; a cluster that is not used has none.
    pub weights: Vec<f64>,
    /// How clusters relate, n×n.
    pub target: Matrix<'static>,
    /// Their mean samples, n×p, if there were samples.
    pub features: Option<Matrix<'static>>,
    /// The loss reached.
    pub loss: f64,
    /// Whether the loss holds the part that no plan changes.
    pub loss_is_complete: bool,
    /// The loss at the start and after every round, never increasing.
    pub history: Vec<f64>,
    /// Why the solver stopped.
    pub stop: StopReason,
    /// Share of the sample mass in rows with a single entry.
    pub hardness: f64,
    /// Why a hard optimum must exist, if that is known.
    pub certificate: Option<Definiteness>,
    /// What was not done as well as asked.
    pub warnings: Vec<String>,
}

impl GromovClustering {
    /// So many clusters with a free target, on the similarity of t-SNEkhorn.
    pub fn builder(clusters: usize) -> Self {
        // Losses of similarities that sum to N are of the order 1/N: only shares of them mean something.
        let stopping = Stopping { max_rounds: 200, rel_tolerance: 1e-9, abs_tolerance: 0.0 };
        Self { clusters, target: Target::Free, recipe: GromovDr::builder().stopping(stopping) }
    }

    /// Chooses what clusters are compared with.
    pub fn target(mut self, target: Target) -> Self {
        self.target = target;
        self
    }

    /// Chooses the similarity and the loss that go with a method.
    pub fn method(mut self, method: Method) -> Self {
        self.recipe = self.recipe.method(method);
        self
    }

    /// The effective number of neighbours of the entropic affinities.
    pub fn perplexity(mut self, perplexity: f64) -> Self {
        self.recipe = self.recipe.perplexity(perplexity);
        self
    }

    /// Several perplexities: the similarity is the mean of theirs.
    pub fn perplexities(mut self, perplexities: &[f64]) -> Self {
        self.recipe = self.recipe.perplexities(perplexities);
        self
    }

    /// Neighbours looked at; `None` is what the method likes.
    pub fn neighbors(mut self, neighbors: Option<usize>) -> Self {
        self.recipe = self.recipe.neighbors(neighbors);
        self
    }

    /// Compares similarities by another loss than the method's own.
    pub fn loss(mut self, loss: Loss) -> Self {
        self.recipe = self.recipe.loss(loss);
        self
    }

    /// Where the descent starts.
    pub fn start(mut self, start: Start) -> Self {
        self.recipe = self.recipe.start(start);
        self
    }

    /// Starts from several seeds and keeps the lowest loss.
    pub fn n_init(mut self, n_init: usize) -> Self {
        self.recipe = self.recipe.n_init(n_init);
        self
    }

    /// How the plan is improved.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.recipe = self.recipe.solver(solver);
        self
    }

    /// When to stop.
    pub fn stopping(mut self, stopping: Stopping) -> Self {
        self.recipe = self.recipe.stopping(stopping);
        self
    }

    /// Seed of everything random.
    pub fn seed(mut self, seed: u64) -> Self {
        self.recipe = self.recipe.seed(seed);
        self
    }

    /// Projection of the samples before neighbours are sought.
    pub fn projection(mut self, projection: Projection) -> Self {
        self.recipe = self.recipe.projection(projection);
        self
    }

    /// Scaling of the features before anything else.
    pub fn scaling(mut self, scaling: Scaling) -> Self {
        self.recipe = self.recipe.scaling(scaling);
        self
    }

    /// Clusters samples, one in each row.
    pub fn fit<S: Scalar>(&self, samples: &Matrix<'_, S>) -> Result<Clustering> {
        self.fit_observed(samples, None, &mut ())
    }

    /// Clusters weighted samples, telling an observer of every stage and round.
    pub fn fit_observed<S: Scalar>(
        &self,
        samples: &Matrix<'_, S>,
        weights: Option<&SampleWeights>,
        observer: &mut dyn Observer,
    ) -> Result<Clustering> {
        let weights = self.recipe.checked_weights(samples.rows(), weights)?;
        let prepared = self.recipe.prepare(samples, observer)?;
        let similarity = prepared.affinity.similarity();
        let mut found = self.solve(similarity, Some(prepared.samples.single()), weights, observer)?;
        found.features = Some(S::samples(samples.view()).means(&found.plan));
        found.warnings = prepared.affinity.warnings.iter().map(ToString::to_string).collect();
        Ok(found)
    }

    /// Clusters by an N×N matrix of distances.
    pub fn fit_distances<S: Scalar>(
        &self,
        distances: &Matrix<'_, S>,
        weights: Option<&SampleWeights>,
        observer: &mut dyn Observer,
    ) -> Result<Clustering> {
        let affinity = self.recipe.affinity_of_distances(distances, observer)?;
        let mut found = self.fit_similarity(affinity.similarity(), weights, observer)?;
        found.warnings = affinity.warnings.iter().map(ToString::to_string).collect();
        Ok(found)
    }

    /// Clusters by a given similarity.
    pub fn fit_similarity(
        &self,
        similarity: &dyn Similarity,
        weights: Option<&SampleWeights>,
        observer: &mut dyn Observer,
    ) -> Result<Clustering> {
        let weights = self.recipe.checked_weights(similarity.len(), weights)?;
        self.solve(similarity, None, weights, observer)
    }

    /// The fit of a map that holds as much.
    pub(crate) fn as_map(&self) -> GromovDr {
        self.recipe.clone().prototypes(self.clusters)
    }

    fn solve(
        &self,
        similarity: &dyn Similarity,
        samples: Option<Matrix<'_, f32>>,
        weights: SampleWeights,
        observer: &mut dyn Observer,
    ) -> Result<Clustering> {
        let method = self.recipe.method;
        let loss = match self.target {
            Target::Free => self.recipe.loss.unwrap_or(method.loss()),
            // The other losses are infinite at the zeros of the identity.
            Target::Identity(_) => self.recipe.loss.unwrap_or(Loss::Square),
        };
        loss.check_similarity(&similarity.bounds())?;
        if self.recipe.alpha < 1.0 {
            return Err(Error::parameter("alpha", self.recipe.alpha, "1 for clustering"));
        }
        let ground = Ground {
            similarity,
            samples,
            weights: &weights,
            loss,
            is_local: method.is_local(),
            solver: self.recipe.settings.solver,
        };
        let mut best: Option<Clustering> = None;
        for init in 0..self.recipe.n_init {
            let seed = self.recipe.settings.seed.wrapping_add(init as u64);
            let settings = Settings { seed, ..self.recipe.settings };
            observer.on(&Event::Stage(Stage::Start));
            let start = self.recipe.start.plan(&ground, self.clusters, seed)?;
            observer.on(&Event::Stage(Stage::Fit));
            let found = match self.target {
                Target::Free => free(similarity, start, loss, settings, observer)?,
                Target::Identity(scale) => self.identity(similarity, scale, start, loss, settings, observer)?,
            };
            let interrupted = found.stop == StopReason::Interrupted;
            if best.as_ref().is_none_or(|best| found.loss < best.loss) {
                best = Some(found);
            }
            if interrupted {
                break;
            }
        }
        best.ok_or_else(|| Error::parameter("n_init", 0.0, "at least 1"))
    }

    fn identity(
        &self,
        similarity: &dyn Similarity,
        scale: Scale,
        start: Plan,
        loss: Loss,
        settings: Settings,
        observer: &mut dyn Observer,
    ) -> Result<Clustering> {
        let weights = start.sample_weights().clone();
        let found = Srgw::identity(similarity, self.clusters, scale)
            .loss(loss)
            .sample_weights(weights)
            .start(start)
            .settings(settings)
            .solve_observed(observer)?;
        Ok(Clustering {
            weights: found.weights,
            plan: found.plan,
            target: Matrix::from_fn(self.clusters, self.clusters, |k, l| if k == l { 1.0 } else { 0.0 }),
            features: None,
            loss: found.loss,
            loss_is_complete: found.loss_is_complete,
            history: found.history,
            stop: found.stop,
            hardness: found.hardness,
            certificate: None,
            warnings: Vec::new(),
        })
    }
}

fn free(
    similarity: &dyn Similarity,
    start: Plan,
    loss: Loss,
    settings: Settings,
    observer: &mut dyn Observer,
) -> Result<Clustering> {
    let (weights, clusters) = (start.sample_weights().clone(), start.prototypes());
    let input = Input::new(similarity).sample_weights(weights).start(start);
    let mut found = Barycenter::new(vec![input], clusters).loss(loss).settings(settings).solve_observed(observer)?;
    let plan = found.plans.remove(0);
    Ok(Clustering {
        weights: plan.weights(),
        plan,
        target: found.target,
        features: None,
        loss: found.loss,
        loss_is_complete: found.loss_is_complete,
        history: found.history,
        stop: found.stop,
        hardness: found.hardness,
        certificate: found.certificate,
        warnings: Vec::new(),
    })
}
