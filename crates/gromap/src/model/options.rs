//! What can be asked for: the options that maps and clusters share, and those that only one of them has.
//!
//! Options are plain data with a setter each; they are checked once, when something is fitted, and a [`Model`](super::Model)
//! keeps them.

use crate::affinity::{InputAffinity, Kernel};
use crate::embedding::{MapKernel, Normalization};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::method::{AffinityOptions, Method, Spec};
use crate::model::preparation::{Projection, Scaling};
use crate::observe::Stopping;
use crate::setters;
use crate::solve::{Scale, Settings, Solver};
use crate::start::Start;
use crate::weights::{PrototypeWeights, ViewWeights, WeightRule};

/// What maps and clusters are both asked for: the similarity of the samples, and how the plan is found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Common {
    /// The method, whose similarity and loss are used.
    pub method: Method,
    /// Effective numbers of neighbours of the entropic affinities; of several the mean affinity is taken.
    pub perplexities: Vec<f64>,
    /// Neighbours looked at; `None` is what the method likes (⌈3ξ⌉ for a perplexity ξ).
    pub neighbors: Option<usize>,
    /// The kernel of kernel PCA.
    pub kernel: Kernel,
    /// How similarities are compared; `None` is the method's own.
    pub loss: Option<Loss>,
    /// Where the descent starts.
    pub init: Start,
    /// Starts from several seeds, of which the lowest loss is kept.
    pub n_init: usize,
    /// What prototypes weigh.
    pub rule: WeightRule,
    /// Solver, stopping rule and seed.
    pub settings: Settings,
    /// Projection of the samples before neighbours are sought.
    pub pca: Projection,
    /// Scaling of the features before anything else.
    pub scale: Scaling,
    /// How much each of several views counts.
    pub view_weights: ViewWeights,
}

impl Common {
    fn new(stopping: Stopping) -> Self {
        Self {
            method: Method::default(),
            perplexities: vec![30.0],
            neighbors: None,
            kernel: Kernel::default(),
            loss: None,
            init: Start::default(),
            n_init: 1,
            rule: WeightRule::default(),
            settings: Settings { stopping, ..Settings::default() },
            pca: Projection::default(),
            scale: Scaling::default(),
            view_weights: ViewWeights::default(),
        }
    }

    /// What the method is made of, with these options.
    pub(crate) fn spec(&self, normalization: Option<Normalization>) -> Spec {
        let Self { perplexities, neighbors, kernel, .. } = self;
        self.method.spec(&AffinityOptions { perplexities, neighbors: *neighbors, kernel: *kernel }, normalization)
    }

    /// How the method makes C_X.
    pub(crate) fn recipe(&self) -> Box<dyn InputAffinity> {
        self.spec(None).recipe
    }

    /// How similarities are compared.
    pub(crate) fn loss(&self) -> Loss {
        self.loss.unwrap_or(self.spec(None).loss)
    }

    /// Components that so many samples of so many features are projected to, if they are.
    pub(crate) fn components(&self, samples: usize, features: usize) -> Option<usize> {
        self.pca.components(self.method.uses().neighbors, samples, features)
    }

    /// Refuses what no samples could be fitted with.
    pub(crate) fn check(&self) -> Result<()> {
        self.settings.check()?;
        self.settings.check_rule(&self.rule)?;
        if self.n_init == 0 {
            return Err(Error::parameter("n_init", 0.0, "at least 1"));
        }
        if self.perplexities.is_empty() {
            return Err(Error::parameter("number of perplexities", 0.0, "at least 1"));
        }
        Ok(())
    }
}

/// The setters of the options that maps and clusters share.
macro_rules! common_setters {
    ($kind:ident) => {
        impl $kind {
            /// The effective number of neighbours of the entropic affinities.
            pub fn perplexity(self, perplexity: f64) -> Self {
                self.perplexities(&[perplexity])
            }

            /// Several perplexities: the similarity is the mean of theirs, near and far at once.
            pub fn perplexities(mut self, perplexities: &[f64]) -> Self {
                self.common.perplexities = perplexities.to_vec();
                self
            }

            /// Compares similarities by this loss; `None` is the method's own.
            pub fn loss(mut self, loss: impl Into<Option<Loss>>) -> Self {
                self.common.loss = loss.into();
                self
            }

            setters! {
                /// Chooses the method.
                common.method: Method,
                /// Neighbours looked at; `None` is what the method likes (⌈3ξ⌉ for a perplexity ξ).
                common.neighbors: Option<usize>,
                /// The kernel of kernel PCA.
                common.kernel: Kernel,
                /// Where the descent starts.
                common.init: Start,
                /// Starts from several seeds and keeps the lowest loss.
                common.n_init: usize,
                /// What prototypes weigh: what their samples do, or given shares. The plan then follows the gradient, by
                /// conditional gradient, and samples may be split between prototypes.
                common.rule.prototype_weights: PrototypeWeights,
                /// What every prototype weighs at least, as a share of the whole.
                common.rule.min_weight: Option<f64>,
                /// What every prototype weighs at most, as a share of the whole.
                common.rule.max_weight: Option<f64>,
                /// How the plan is improved.
                common.settings.solver: Solver,
                /// When to stop.
                common.settings.stopping: Stopping,
                /// Seed of everything random.
                common.settings.seed: u64,
                /// Projection of the samples before neighbours are sought.
                common.pca: Projection,
                /// Scaling of the features before anything else.
                common.scale: Scaling,
                /// How much each of several views counts.
                common.view_weights: ViewWeights,
            }
        }
    };
}

common_setters!(GromovDr);
common_setters!(GromovClustering);

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
#[non_exhaustive]
pub struct GromovDr {
    /// What maps share with clusters.
    pub common: Common,
    /// Number of prototypes n; `None` is one for every sample.
    pub prototypes: Option<usize>,
    /// Dimensions d of the map.
    pub dims: usize,
    /// What the kernel of a neighbour embedding is divided by; `None` is the method's own.
    pub normalization: Option<Normalization>,
    /// How much the map has to say about the groups: 1 as in the paper, 0 for groups that are found without a map and then
    /// placed.
    pub coupling: f64,
    /// Weight of the structure against the features of the samples.
    pub alpha: f64,
    /// What α weighs.
    pub alpha_scale: AlphaScale,
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
        Self {
            // Only shares of a loss mean something: its unit is that of the similarity.
            common: Common::new(Stopping { max_rounds: 100, rel_tolerance: 1e-5, abs_tolerance: 0.0 }),
            prototypes: Some(50),
            dims: 2,
            normalization: None,
            coupling: 0.25,
            alpha: 1.0,
            alpha_scale: AlphaScale::default(),
        }
    }
}

impl GromovDr {
    /// The defaults: heavy-tailed t-SNE, 50 prototypes in the plane, perplexity 30.
    pub fn builder() -> Self {
        Self::default()
    }

    /// Number of prototypes n; `None` is one for every sample.
    pub fn prototypes(mut self, prototypes: impl Into<Option<usize>>) -> Self {
        self.prototypes = prototypes.into();
        self
    }

    /// A prototype for every sample: classical dimension reduction.
    pub fn every_sample(self) -> Self {
        self.prototypes(None)
    }

    setters! {
        /// Dimensions d of the map.
        dims: usize,
        /// How much the map has to say about the groups: 1 as in the paper, 0 for groups that are found without a map and
        /// then placed.
        coupling: f64,
    }

    /// What the kernel of a neighbour embedding is divided by; `None` is the method's own.
    pub fn normalization(mut self, normalization: impl Into<Option<Normalization>>) -> Self {
        self.normalization = normalization.into();
        self
    }

    /// Weight of the structure against the features of the samples: 1 leaves features out.
    pub fn alpha(mut self, alpha: f64, scale: AlphaScale) -> Self {
        self.alpha = alpha;
        self.alpha_scale = scale;
        self
    }

    /// Refuses what no samples could be fitted with.
    pub(crate) fn check(&self) -> Result<()> {
        self.common.check()?;
        if self.dims == 0 {
            return Err(Error::parameter("dims", 0.0, "at least 1"));
        }
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(Error::parameter("alpha", self.alpha, "from 0 to 1"));
        }
        if !(0.0..=1.0).contains(&self.coupling) {
            return Err(Error::parameter("coupling", self.coupling, "from 0 to 1"));
        }
        self.check_loss()
    }

    /// Refuses a loss that is not defined for the kernel of the prototypes.
    fn check_loss(&self) -> Result<()> {
        let loss = self.common.loss();
        let refused = |what, allowed: &str| Err(Error::Name { what, name: loss.to_string(), allowed: allowed.into() });
        match (self.common.spec(self.normalization).kernel, loss) {
            (MapKernel::Gram | MapKernel::Orthonormal, Loss::Kl | Loss::BinaryCrossEntropy) => {
                refused("loss of a Gram method", "square")
            }
            (MapKernel::Radial(radial), Loss::BinaryCrossEntropy) if radial.normalization.has_mean_one() => refused(
                "loss of a kernel with entries above 1",
                "square, kl (bce needs entries from 0 to 1: those of normalization cells, or of the method umap)",
            ),
            _ => Ok(()),
        }
    }

    /// Refuses more dimensions than so many samples can span; fewer than two samples are refused for themselves.
    pub(crate) fn check_dims(&self, samples: usize) -> Result<()> {
        if self.dims > samples.max(2) {
            let allowed = format!("at most {samples}, the number of samples: they span no more dimensions");
            return Err(Error::parameter("dims", self.dims as f64, allowed));
        }
        Ok(())
    }
}

/// Clusters by semi-relaxed Gromov-Wasserstein, on any input similarity: the end of the method without places.
///
/// With a free target (srGWB) the similarities of the clusters are learnt; with the identity (srGWI) clusters are alike
/// only to themselves, which partitions a graph and depends on the scale of the similarity.
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
#[non_exhaustive]
pub struct GromovClustering {
    /// What clusters share with maps.
    pub common: Common,
    /// Number of clusters n.
    pub clusters: usize,
    /// What clusters are compared with.
    pub target: Target,
    /// What the similarity is multiplied by before it meets the identity.
    pub target_scale: Scale,
}

/// What clusters are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Target {
    /// The similarities that suit them best: srGWB.
    #[default]
    Free,
    /// The identity: srGWI.
    Identity,
}

impl GromovClustering {
    /// So many clusters with a free target, on the similarity of the default method.
    pub fn builder(clusters: usize) -> Self {
        // Losses of similarities that sum to N are of the order 1/N: only shares of them mean something.
        let stopping = Stopping { max_rounds: 200, rel_tolerance: 1e-9, abs_tolerance: 0.0 };
        Self { common: Common::new(stopping), clusters, target: Target::Free, target_scale: Scale::UnitMaximum }
    }

    /// Chooses what clusters are compared with; the scale is that of the similarity where the target is the identity.
    pub fn target(mut self, target: Target, scale: Scale) -> Self {
        self.target = target;
        self.target_scale = scale;
        self
    }

    /// The loss: that of the method, but for the identity, at whose zeros the others are infinite.
    pub(crate) fn compared_by(&self) -> Loss {
        match self.target {
            Target::Free => self.common.loss(),
            Target::Identity => self.common.loss.unwrap_or(Loss::Square),
        }
    }

    /// Refuses what no samples could be fitted with.
    pub(crate) fn check(&self) -> Result<()> {
        self.common.check()?;
        if self.target == Target::Identity && self.compared_by() != Loss::Square {
            let (what, name) = ("loss of the identity target", self.compared_by().to_string());
            return Err(Error::Name { what, name, allowed: "square".into() });
        }
        Ok(())
    }
}

/// What a model was asked to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameters {
    /// A map.
    Map(GromovDr),
    /// Clusters without places.
    Clusters(GromovClustering),
}

impl Parameters {
    /// What maps and clusters share.
    pub fn common(&self) -> &Common {
        match self {
            Self::Map(asked) => &asked.common,
            Self::Clusters(asked) => &asked.common,
        }
    }

    /// The same, to be changed.
    pub fn common_mut(&mut self) -> &mut Common {
        match self {
            Self::Map(asked) => &mut asked.common,
            Self::Clusters(asked) => &mut asked.common,
        }
    }

    /// Whether a map is asked for.
    pub(crate) fn is_map(&self) -> bool {
        matches!(self, Self::Map(_))
    }

    /// Number of prototypes or clusters; `None` is one for every sample.
    pub fn prototypes(&self) -> Option<usize> {
        match self {
            Self::Map(asked) => asked.prototypes,
            Self::Clusters(asked) => Some(asked.clusters),
        }
    }

    /// What the method is made of.
    pub(crate) fn spec(&self) -> Spec {
        match self {
            Self::Map(asked) => asked.common.spec(asked.normalization),
            Self::Clusters(asked) => asked.common.spec(None),
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Map(asked) => asked.check(),
            Self::Clusters(asked) => asked.check(),
        }
    }
}
