//! Data of any form on their way into a fit: one shape for samples, distances and similarities.

use super::novelty::Reach;
use super::options::{Common, Parameters};
use super::own_places::{self, OwnPlaces};
use super::placement::{Placement, RowStep};
use super::preparation::Preparation;
use super::{FittedTo, Model, links};
use crate::affinity::{self, Affinity, InputAffinity, Multiplier, RandomWalk, Training, Warning};
use crate::data::{Data, Run, Samples};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::method::Method;
use crate::numeric::Matrix;
use crate::observe::{Event, Observer, Stage, StopReason};
use crate::outcome::{Outcome, check_number};
use crate::plan::Plan;
use crate::similarity::Similarity;
use crate::start::Ground;
use crate::table::Encoding;
use crate::weights::SampleWeights;

/// Names of features that a model keeps, at most: the header of its file must stay below 100 MB, whatever must be escaped.
const MOST_NAME_BYTES: usize = 10 << 20;

/// What a fit works on.
pub(crate) struct Prepared<'a> {
    similarity: Held<'a>,
    fitted_to: FittedTo,
    preparation: Preparation,
    /// Scaled and projected samples, if there are samples.
    samples: Option<Samples<'a>>,
    /// The features as they were given: the prototypes have their means.
    features: Option<Samples<'a>>,
    /// The features as the fused term compares them, if it counts.
    pub(crate) fused: Option<Samples<'a>>,
    feature_names: Option<Vec<String>>,
    table: Option<Encoding>,
    pub(crate) weights: SampleWeights,
    /// Nodes of a graph that weigh nothing and join the heaviest prototype.
    set_aside: Vec<u32>,
    /// The edges that C_X was made of, where there are any.
    graph: Option<&'a dyn Similarity>,
    warnings: Vec<String>,
    /// Whether C_X is not exactly what the method asks for.
    is_inexact: bool,
}

enum Held<'a> {
    Given(&'a dyn Similarity),
    Built(Box<dyn Similarity>),
}

/// What a fit found.
pub(crate) struct Found {
    /// Places on the map; n×0 without one.
    pub(crate) places: Matrix<'static>,
    /// The target of clusters.
    pub(crate) target: Option<Matrix<'static>>,
    pub(crate) plan: Plan,
    /// Which prototypes of those asked for they are.
    pub(crate) kept: Vec<u32>,
    pub(crate) loss: f64,
    pub(crate) loss_is_complete: bool,
    pub(crate) history: Vec<f64>,
    pub(crate) stop: StopReason,
    /// How samples choose among prototypes; `None` where every sample is one.
    pub(crate) step: Option<RowStep>,
    /// How samples get places of their own; `None` where every sample is a prototype, and for clusters.
    pub(crate) own_places: Option<OwnPlaces>,
    /// Eigenvalues behind the coordinates of a classical spectral embedding.
    pub(crate) eigenvalues: Vec<f64>,
}

impl Common {
    /// Scales and projects samples, and builds C_X; `is_fused` where features count beside it. For at most so many prototypes,
    /// as far as that is known.
    pub(crate) fn prepare<'a>(
        &self,
        data: &'a Data<'_>,
        is_fused: bool,
        prototypes: Option<usize>,
        (weights, table): (Option<&SampleWeights>, Option<&Encoding>),
        observer: &mut dyn Observer,
    ) -> Result<Prepared<'a>> {
        let weights = match weights {
            Some(weights) => {
                Error::check_len("number of sample_weights", data.len(), weights.len())?;
                weights.clone()
            }
            None => SampleWeights::uniform(data.len())?,
        };
        weights.check_several()?;
        let own = weights.clone();
        let given = |similarity, fitted_to, features| Prepared::given(similarity, fitted_to, features, own);
        match data {
            Data::Samples(samples) => {
                observer.on(&Event::Stage(Stage::Prepare));
                samples.check_finite("samples")?;
                if let Some(table) = table {
                    Error::check_len("features of the table", samples.columns(), table.width())?;
                }
                let components = self.components(samples.len(), samples.columns());
                let preparation = Preparation::fit(samples, table, self.scale, components)?;
                let ready = preparation.apply(samples)?;
                let preparation = preparation.framed(&ready);
                let affinity = affinity::build(&*self.recipe(), &Data::Samples(ready.view()), observer)?;
                let fused = is_fused.then(|| preparation.scaled(samples)).transpose()?;
                let prepared = |similarity| given(similarity, FittedTo::Samples, Some(samples.view()));
                let table = table.cloned();
                Ok(Prepared { preparation, samples: Some(ready), fused, table, ..built(affinity, prepared) })
            }
            Data::Distances(_) => {
                self.check_distances()?;
                let affinity = affinity::build(&*self.recipe(), data, observer)?;
                Ok(built(affinity, |similarity| given(similarity, FittedTo::Distances, None)))
            }
            Data::Similarity { similarity, features } => {
                if let Some(features) = features {
                    features.check(similarity.len())?;
                }
                let features = features.as_ref().map(Samples::view);
                let fused = features.clone().filter(|_| is_fused);
                Ok(Prepared { fused, ..given(Held::Given(*similarity), FittedTo::Similarity, features) })
            }
            Data::Graph(graph) => {
                observer.on(&Event::Stage(Stage::Affinity));
                let found = RandomWalk::default().of_graph(graph, &weights, prototypes)?;
                found.weights.check_several()?;
                let affinity = Affinity { similarity: Box::new(found.similarity), warnings: found.warnings };
                let given = |similarity| Prepared::given(similarity, FittedTo::Graph, None, found.weights);
                Ok(Prepared { set_aside: found.set_aside, graph: Some(*graph), ..built(affinity, given) })
            }
        }
    }

    /// Refuses distances where the method needs samples.
    fn check_distances(&self) -> Result<()> {
        if self.recipe().takes_distances() {
            return Ok(());
        }
        let takes = |method: &&Method| Self { method: **method, ..self.clone() }.recipe().takes_distances();
        let allowed: Vec<&str> = Method::ALL.iter().filter(takes).map(|method| method.name()).collect();
        let (what, name) = ("method for given distances", self.method.name().into());
        Err(Error::Name { what, name, allowed: allowed.join(", ") })
    }
}

/// What is prepared with a similarity that was built, and what there is to say of it.
fn built<'a>(affinity: Affinity, prepared: impl FnOnce(Held<'a>) -> Prepared<'a>) -> Prepared<'a> {
    let Affinity { similarity, warnings } = affinity;
    Prepared {
        warnings: warnings.iter().map(ToString::to_string).collect(),
        is_inexact: warnings.iter().any(Warning::is_inexact),
        ..prepared(Held::Built(similarity))
    }
}

impl<'a> Prepared<'a> {
    /// A similarity and what is known of the samples, before anything else is.
    fn given(
        similarity: Held<'a>,
        fitted_to: FittedTo,
        features: Option<Samples<'a>>,
        weights: SampleWeights,
    ) -> Prepared<'a> {
        Prepared {
            similarity,
            fitted_to,
            preparation: Preparation::default(),
            samples: None,
            features,
            fused: None,
            feature_names: None,
            table: None,
            weights,
            set_aside: Vec::new(),
            graph: None,
            warnings: Vec::new(),
            is_inexact: false,
        }
    }

    /// The same, with names of the features for the model to keep.
    pub(crate) fn named(mut self, names: Option<&[String]>) -> Result<Self> {
        if let (Some(names), Some(features)) = (names, &self.features) {
            Error::check_len("names of features", features.columns(), names.len())?;
            if names.iter().map(String::len).sum::<usize>() <= MOST_NAME_BYTES {
                self.feature_names = Some(names.to_vec());
            } else {
                let warning = format!("names of features are not kept: they take more than {MOST_NAME_BYTES} bytes");
                self.warnings.push(warning);
            }
        }
        Ok(self)
    }

    pub(crate) fn similarity(&self) -> &dyn Similarity {
        match &self.similarity {
            Held::Given(similarity) => *similarity,
            Held::Built(similarity) => &**similarity,
        }
    }

    /// What starts are made from.
    pub(crate) fn ground(&self, common: &Common, loss: Loss) -> Ground<'_> {
        Ground {
            similarity: self.similarity(),
            samples: self.samples.as_ref().map(|samples| self.preparation.single(samples)),
            weights: &self.weights,
            loss,
            is_local: self.fitted_to == FittedTo::Graph || common.recipe().is_local(),
            is_graph: self.fitted_to == FittedTo::Graph,
            solver: common.settings.solver,
        }
    }

    /// The model of what was found.
    pub(crate) fn model(&self, parameters: Parameters, found: Found) -> Result<Model> {
        let found = found.with_joined(&self.set_aside);
        let spec = parameters.spec();
        let multiplier = found.multiplier(&*spec.recipe);
        let training = match &self.samples {
            Some(samples) => {
                let frame = self.preparation.frame.as_ref();
                spec.recipe.new_samples().training(samples, frame, self.similarity(), &multiplier)?
            }
            None => Training::Unknown,
        };
        let numbers = found.places.values().iter().chain(found.target.iter().flat_map(Matrix::values));
        numbers.copied().try_for_each(|value| check_number("place of a prototype", value))?;
        let sample_places =
            own_places::of_training(&found, self.similarity(), spec.kernel, parameters.common().loss())?;
        // Where the row of a new sample is not known, it goes by its neighbours.
        let own_places = found.own_places.filter(|_| !spec.votes);
        let step = found.step.map(|step| if spec.votes { RowStep::vote(step.repulsion.len()) } else { step });
        let links = match (parameters.is_map(), self.graph) {
            (false, _) => Vec::new(),
            (true, Some(graph)) => links::of_graph(graph, &found.plan),
            (true, None) => links::strongest(self.similarity(), &found.plan),
        };
        let kind = self.similarity().definiteness();
        let common = parameters.common();
        let certified = common.rule.is_free() && common.loss() == Loss::Square && kind.has_hard_optimum();
        let features = self.features.as_ref().map(|samples| samples.means(&found.plan));
        let reach = match (&self.samples, &self.features, &features) {
            (Some(_), Some(samples), Some(means)) => {
                Reach::of_training(&self.preparation, samples, means, &found.plan)?
            }
            _ => None,
        };
        Ok(Model {
            parameters,
            fitted_to: self.fitted_to,
            prototypes: found.places,
            sample_places,
            target: found.target,
            weights: found.plan.weights(),
            features,
            reach,
            feature_names: self.feature_names.clone(),
            table: self.table.clone(),
            ids: None,
            classes: None,
            prototype_names: None,
            outcome: Outcome {
                loss: found.loss,
                loss_is_complete: found.loss_is_complete,
                history: found.history,
                stop: match found.stop {
                    StopReason::Converged if self.is_inexact => StopReason::Inexact,
                    stop => stop,
                },
                hardness: found.plan.hardness(),
                certificate: certified.then_some(kind),
                warnings: self.warnings.clone(),
            }
            .checked()?,
            links,
            plan: found.plan,
            kept: found.kept,
            preparation: self.preparation.clone(),
            placement: Placement { training, multiplier, step, own_places },
        })
    }
}

impl Found {
    /// What rows of similarities are multiplied by.
    fn multiplier(&self, recipe: &dyn InputAffinity) -> Multiplier {
        if self.step.is_some() {
            return Multiplier::Plan(self.plan.clone());
        }
        // A mean over neighbours needs no more than places; z_i = Σ_j C_ij·h_j·z_j / λ for the eigenvectors of C_X.
        if recipe.neighborhood(self.plan.len()).is_some() {
            return Multiplier::Places(self.places.clone());
        }
        let weights = self.plan.sample_weights();
        let over = |c: usize| match self.eigenvalues.get(c) {
            Some(value) if *value > 0.0 => 1.0 / value,
            _ => 0.0,
        };
        let dual = |j: usize, c: usize| weights[j] * self.places[(j, c)] * over(c);
        Multiplier::Places(Matrix::from_fn(self.places.rows(), self.places.columns(), dual))
    }

    /// Puts samples without weight into the heaviest prototype, unless each is its own.
    fn with_joined(mut self, samples: &[u32]) -> Self {
        let weights = self.plan.weights();
        let heavier = |best: usize, k: usize| if weights[k] > weights[best] { k } else { best };
        let heaviest = (0..weights.len()).fold(0, heavier) as u32;
        if self.step.is_some() {
            samples.iter().for_each(|&i| self.plan.assign(i as usize, heaviest));
        }
        self
    }

    /// Drops prototypes that lost all their samples.
    pub(crate) fn without_unused(mut self) -> Self {
        let weights = self.plan.weights();
        self.kept.retain(|&k| weights[k as usize] > 0.0);
        if self.kept.len() == weights.len() {
            return self;
        }
        let at = |k: usize| self.kept[k] as usize;
        let n = self.kept.len();
        let rows = |matrix: &Matrix<'_>| Matrix::from_fn(n, matrix.columns(), |k, c| matrix[(at(k), c)]);
        self.places = rows(&self.places);
        self.plan = self.plan.restricted(&self.kept);
        self.own_places = self.own_places.map(|rule| rule.restricted(&self.kept));
        self.step = self.step.map(|step| RowStep {
            attraction: step.attraction.map(|all| Matrix::from_fn(n, n, |k, l| all[(at(k), at(l))])),
            repulsion: (0..n).map(|k| step.repulsion[at(k)]).collect(),
            features: step.features.map(|(features, share)| (rows(&features), share)),
        });
        self
    }
}

/// Prepares data and runs `solve` on them: what every fit has in common.
pub(crate) fn run<'a, T>(
    common: &Common,
    data: &'a Data<'_>,
    (is_fused, prototypes): (bool, Option<usize>),
    run: Run<'_>,
    solve: impl FnOnce(&Prepared<'a>, &mut dyn Observer) -> Result<T>,
) -> Result<T> {
    let mut nobody = ();
    let observer = run.observer.unwrap_or(&mut nobody);
    let told = (run.weights, run.table);
    let prepared = common.prepare(data, is_fused, prototypes, told, observer)?.named(run.feature_names)?;
    solve(&prepared, observer)
}
