//! Data of any form on their way into a fit: one shape for samples, distances, similarities and several views of them.

use super::novelty::Reach;
use super::options::{Common, Parameters};
use super::own_places::{self, OwnPlaces};
use super::placement::{Placement, RowStep};
use super::preparation::Preparation;
use super::views::{self, FittedView, View};
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
use crate::similarity::{Similarity, WeightedSum};
use crate::start::Ground;
use crate::table::Encoding;
use crate::weights::SampleWeights;

/// Names of features that a model keeps, at most: the header of its file must stay below 100 MB, whatever must be escaped.
const MOST_NAME_BYTES: usize = 10 << 20;

/// What a fit works on.
pub(crate) struct Prepared<'a> {
    pub(super) similarity: Held<'a>,
    pub(super) fitted_to: FittedTo,
    /// The samples, view by view; most data have one.
    pub(super) views: Vec<View<'a>>,
    /// The features as the fused term compares them, if it counts.
    pub(crate) fused: Option<Samples<'a>>,
    feature_names: Option<Vec<String>>,
    table: Option<Encoding>,
    pub(crate) weights: SampleWeights,
    /// Nodes of a graph that weigh nothing and join the heaviest prototype.
    set_aside: Vec<u32>,
    /// The edges that C_X was made of, where there are any.
    graph: Option<&'a dyn Similarity>,
    pub(super) warnings: Vec<String>,
    /// Whether C_X is not exactly what the method asks for.
    pub(super) is_inexact: bool,
}

/// A similarity of the caller's, one that was made, or a sum of the caller's.
pub(super) enum Held<'a> {
    Given(&'a dyn Similarity),
    Built(Box<dyn Similarity>),
    Sum(WeightedSum<'a>),
}

impl Held<'_> {
    pub(super) fn similarity(&self) -> &dyn Similarity {
        match self {
            Held::Given(similarity) => *similarity,
            Held::Built(similarity) => &**similarity,
            Held::Sum(sum) => sum,
        }
    }
}

/// What data are prepared for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purpose {
    /// Whether features count beside the similarity.
    pub(crate) is_fused: bool,
    /// The number of prototypes, at most, as far as it is known.
    pub(crate) prototypes: Option<usize>,
    /// How similarities are compared.
    pub(crate) loss: Loss,
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
    /// Scales and projects samples, and builds C_X, of one view or of several.
    fn prepare<'a>(
        &self,
        data: &'a Data<'_>,
        purpose: Purpose,
        (weights, table): (Option<&SampleWeights>, Option<&Encoding>),
        observer: &mut dyn Observer,
    ) -> Result<Prepared<'a>> {
        if let Data::Views(views) = data {
            views::check(views)?;
        }
        let weights = match weights {
            Some(weights) => {
                Error::check_len("number of sample_weights", data.len(), weights.len())?;
                weights.clone()
            }
            None => SampleWeights::uniform(data.len())?,
        };
        weights.check_several()?;
        match data {
            Data::Views(views) if views.len() > 1 => {
                if table.is_some() {
                    let message =
                        "a table with text, dates or gaps cannot be one of several views: make numbers of it first";
                    return Err(Error::Unsupported(message.into()));
                }
                self.prepare_views(views, purpose, &weights, observer)
            }
            one => {
                self.view_weights.first(1)?;
                let only = if let Data::Views(views) = one { &views[0] } else { one };
                self.prepare_one(only, purpose, (&weights, table), observer)
            }
        }
    }

    /// The same for one view.
    pub(super) fn prepare_one<'a>(
        &self,
        data: &'a Data<'_>,
        Purpose { is_fused, prototypes, .. }: Purpose,
        (weights, table): (&SampleWeights, Option<&Encoding>),
        observer: &mut dyn Observer,
    ) -> Result<Prepared<'a>> {
        let given = |similarity, fitted_to, features| {
            Prepared::of(similarity, fitted_to, vec![View::only(features)], weights.clone())
        };
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
                let view = View { preparation, samples: Some(ready), ..View::only(Some(samples.view())) };
                let prepared = |similarity| Prepared::of(similarity, FittedTo::Samples, vec![view], weights.clone());
                Ok(Prepared { fused, table: table.cloned(), ..built(affinity, prepared) })
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
                let found = RandomWalk::default().of_graph(graph, weights, prototypes)?;
                found.weights.check_several()?;
                let affinity = Affinity { similarity: Box::new(found.similarity), warnings: found.warnings };
                let prepared =
                    |similarity| Prepared::of(similarity, FittedTo::Graph, vec![View::only(None)], found.weights);
                Ok(Prepared { set_aside: found.set_aside, graph: Some(*graph), ..built(affinity, prepared) })
            }
            Data::Views(_) => Err(Error::Unsupported("a view is one of samples, distances or a similarity".into())),
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
    pub(super) fn of(
        similarity: Held<'a>,
        fitted_to: FittedTo,
        views: Vec<View<'a>>,
        weights: SampleWeights,
    ) -> Prepared<'a> {
        Prepared {
            similarity,
            fitted_to,
            views,
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
        let columns: Vec<usize> = self.features().map(Samples::columns).collect();
        if let (Some(names), false) = (names, columns.is_empty()) {
            Error::check_len("names of features", columns.iter().sum(), names.len())?;
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
        self.similarity.similarity()
    }

    /// The same, if it is the caller's.
    pub(super) fn given_similarity(&self) -> Option<&'a dyn Similarity> {
        match &self.similarity {
            Held::Given(similarity) => Some(*similarity),
            Held::Built(_) | Held::Sum(_) => None,
        }
    }

    /// The features as they were given, view by view.
    fn features(&self) -> impl Iterator<Item = &Samples<'a>> {
        self.views.iter().filter_map(|view| view.features.as_ref())
    }

    /// What starts are made from.
    pub(crate) fn ground(&self, common: &Common, loss: Loss) -> Ground<'_> {
        Ground {
            similarity: self.similarity(),
            samples: views::together(&self.views.iter().collect::<Vec<_>>(), &self.weights),
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
        let views = self.views.iter().map(|view| {
            let training = match &view.samples {
                Some(samples) => {
                    let similarity = view.similarity.as_ref().unwrap_or(&self.similarity).similarity();
                    let frame = view.preparation.frame.as_ref();
                    spec.recipe.new_samples().training(samples, frame, similarity, &multiplier)?
                }
                None => Training::Unknown,
            };
            let (share, factor, preparation) = (view.share, view.factor, view.preparation.clone());
            Ok(FittedView { share, factor, preparation, training })
        });
        let views = views.collect::<Result<Vec<_>>>()?;
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
        let features = self.means(&found.plan);
        let reach = match (&self.views[..], &features) {
            ([View { preparation, samples: Some(_), features: Some(samples), .. }], Some(means)) => {
                Reach::of_training(preparation, samples, means, &found.plan)?
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
            views,
            placement: Placement { multiplier, step, own_places },
        })
    }

    /// Mean samples of the prototypes, the features of all views side by side; `None` without features.
    fn means(&self, plan: &Plan) -> Option<Matrix<'static>> {
        let means: Vec<Matrix<'_>> = self.features().map(|samples| samples.means(plan)).collect();
        (!means.is_empty()).then(|| views::side_by_side(&means, |_, mean| mean))
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
    purpose: Purpose,
    run: Run<'_>,
    solve: impl FnOnce(&Prepared<'a>, &mut dyn Observer) -> Result<T>,
) -> Result<T> {
    let mut nobody = ();
    let observer = run.observer.unwrap_or(&mut nobody);
    let told = (run.weights, run.table);
    let prepared = common.prepare(data, purpose, told, observer)?.named(run.feature_names)?;
    solve(&prepared, observer)
}
