//! From a [`GromovDr`] and samples to a [`Model`].

use super::joint::{Descended, Embedding, Joint, Place};
use super::placement::{Placement, RowStep, Rows, Side};
use super::preparation::Preparation;
use super::{AlphaScale, GromovDr, Model, classical, coarse};
use crate::affinity::{Affinity, Operator};
use crate::embedding::closed_form;
use crate::error::{Error, Result};
use crate::features::Samples;
use crate::loss::Loss;
use crate::method::{Kernel, Method};
use crate::numeric::Matrix;
use crate::numeric::Scalar;
use crate::observe::{Event, Observer, Stage, StopReason};
use crate::plan::{Plan, check_prototypes};
use crate::similarity::{Similarity, Sparse};
use crate::start::{Ground, Start};
use crate::weights::SampleWeights;

/// What a fit works on.
pub(super) struct Given<'a> {
    pub(super) similarity: &'a dyn Similarity,
    /// The similarity once more, if it is stored by rows.
    pub(super) sparse: Option<&'a Sparse<'static, f32>>,
    /// Scaled and projected samples.
    pub(super) samples: Option<Matrix<'a, f32>>,
    /// Scaled samples, for the fused term.
    pub(super) features: Option<Samples<'a>>,
    pub(super) weights: SampleWeights,
}

/// Samples on their way into a fit.
pub(crate) struct Prepared<'m, S: Scalar> {
    pub(crate) preparation: Preparation,
    /// Scaled and projected.
    pub(crate) samples: Matrix<'m, S>,
    pub(crate) affinity: Affinity<S>,
}

impl<S: Scalar> Prepared<'_, S> {
    /// The scaled samples, if α lets features count.
    pub(super) fn features<'f>(&self, samples: &'f Matrix<'_, S>, alpha: f64) -> Result<Option<Matrix<'f, S>>> {
        (alpha < 1.0).then(|| self.preparation.scaled(samples)).transpose()
    }
}

impl<'a> Given<'a> {
    /// Prepared samples, and their features where they count.
    pub(super) fn of<S: Scalar>(
        prepared: &'a Prepared<'_, S>,
        features: Option<Samples<'a>>,
        weights: SampleWeights,
    ) -> Self {
        let sparse = match &prepared.affinity.operator {
            Operator::Sparse(sparse) => Some(sparse),
            _ => None,
        };
        let samples = Some(prepared.samples.single());
        Self { similarity: prepared.affinity.similarity(), sparse, samples, features, weights }
    }
}

/// What a fit found.
pub(super) struct Found {
    /// Places on the map.
    pub(super) places: Matrix<'static>,
    pub(super) plan: Plan,
    /// Which prototypes of those asked for they are.
    pub(super) kept: Vec<u32>,
    pub(super) loss: f64,
    pub(super) loss_is_complete: bool,
    pub(super) history: Vec<f64>,
    pub(super) stop: StopReason,
    pub(super) step: Option<RowStep>,
    /// Eigenvalues behind the coordinates of a classical spectral embedding.
    pub(super) eigenvalues: Vec<f64>,
}

impl GromovDr {
    /// Fits to samples, one in each row.
    pub fn fit<S: Scalar>(&self, samples: &Matrix<'_, S>) -> Result<Model> {
        self.fit_observed(samples, None, &mut ())
    }

    /// Fits to weighted samples, telling an observer of every stage and round.
    pub fn fit_observed<S: Scalar>(
        &self,
        samples: &Matrix<'_, S>,
        weights: Option<&SampleWeights>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let weights = self.checked_weights(samples.rows(), weights)?;
        let prepared = self.prepare(samples, observer)?;
        let scaled = prepared.features(samples, self.alpha)?;
        let features = scaled.as_ref().map(|scaled| S::samples(scaled.view()));
        let given = Given::of(&prepared, features, weights);
        let found = self.solve(&given, self.prototypes, &self.start, observer)?;
        self.model_of_samples(found, samples, &prepared)
    }

    /// Fits to a given similarity, with features for images and profiles if there are any. The method says
    /// how prototypes relate and how similarities are compared. New samples cannot be placed.
    pub fn fit_similarity(
        &self,
        similarity: &dyn Similarity,
        features: Option<Samples<'_>>,
        weights: Option<&SampleWeights>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let weights = self.checked_weights(similarity.len(), weights)?;
        if let Some(features) = &features {
            features.check(similarity.len())?;
        }
        let fused = features.clone().filter(|_| self.alpha < 1.0);
        let given = Given { similarity, sparse: None, samples: None, features: fused, weights };
        let found = self.solve(&given, self.prototypes, &self.start, observer)?;
        let placement = Placement { rows: Rows::Unknown, side: found.side(self.method), step: found.step.clone() };
        self.model(found, similarity, features, Preparation::default(), placement)
    }

    /// The model of what was found for samples.
    pub(super) fn model_of_samples<S: Scalar>(
        &self,
        found: Found,
        samples: &Matrix<'_, S>,
        prepared: &Prepared<'_, S>,
    ) -> Result<Model> {
        let affinity = &prepared.affinity;
        let side = found.side(self.method);
        let rows = self.rows(affinity, &prepared.samples, &side)?;
        // Distances along a graph and degrees of its nodes would change with a new sample: its neighbours vote.
        let votes = matches!(self.method, Method::Isomap | Method::LaplacianEigenmaps);
        let step = found.step.clone().map(|step| if votes { RowStep::vote(step.pressure.len()) } else { step });
        let placement = Placement { rows, side, step };
        let features = S::samples(samples.view());
        let preparation = prepared.preparation.clone();
        let mut model = self.model(found, affinity.similarity(), Some(features), preparation, placement)?;
        model.warnings = affinity.warnings.iter().map(ToString::to_string).collect();
        Ok(model)
    }

    pub(crate) fn checked_weights(&self, samples: usize, weights: Option<&SampleWeights>) -> Result<SampleWeights> {
        self.check()?;
        match weights {
            Some(weights) => {
                Error::check_len("number of sample_weights", samples, weights.len())?;
                Ok(weights.clone())
            }
            None => SampleWeights::uniform(samples),
        }
    }

    /// Scales and projects samples, and builds their similarity.
    pub(crate) fn prepare<'m, S: Scalar>(
        &self,
        samples: &'m Matrix<'_, S>,
        observer: &mut dyn Observer,
    ) -> Result<Prepared<'m, S>> {
        observer.on(&Event::Stage(Stage::Prepare));
        samples.check_finite("samples")?;
        let preparation = Preparation::fit(samples, self.method, self.scaling, self.projection)?;
        let prepared = preparation.apply(samples)?;
        if !self.method.uses_neighbors() {
            observer.on(&Event::Stage(Stage::Affinity));
        }
        let affinity = self.method.affinity(&prepared, &self.options, observer)?;
        Ok(Prepared { preparation, samples: prepared, affinity })
    }

    /// Finds plan and prototypes.
    pub(super) fn solve(
        &self,
        given: &Given<'_>,
        prototypes: Option<usize>,
        start: &Start,
        observer: &mut dyn Observer,
    ) -> Result<Found> {
        let kernel = self.method.kernel(self.normalization)?;
        let loss = self.loss.unwrap_or(self.method.loss());
        if !matches!(kernel, Kernel::Radial(_)) && loss != Loss::Square {
            let name = loss.to_string();
            return Err(Error::Name { what: "loss of a Gram method", name, allowed: "square".into() });
        }
        if self.alpha < 1.0 && given.features.is_none() {
            return Err(Error::parameter("alpha", self.alpha, "1 unless there are samples or features"));
        }
        loss.check_similarity(&given.similarity.bounds())?;
        let (scale, constant) = Joint::scale_of(kernel, loss, given.similarity, &given.weights)?;
        if !scale.is_finite() || scale <= 0.0 {
            return Err(Error::parameter("sum of the similarity", 1.0 / scale, "positive and finite"));
        }
        if prototypes.is_none_or(|n| n == given.weights.len()) {
            observer.on(&Event::Stage(Stage::Fit));
            return self.classical(given, (kernel, loss), scale, constant);
        }
        let joint = Joint {
            similarity: given.similarity,
            kernel,
            loss,
            dims: self.dims,
            settings: self.settings,
            features: given.features.as_ref(),
            scale,
            constant,
            shares: (self.alpha, 1.0 - self.alpha),
            refreshes: 1,
        };
        self.joint(joint, given, prototypes.unwrap_or(1), start, observer)
    }

    /// What starts are made from.
    pub(super) fn ground<'g>(&self, given: &'g Given<'_>) -> Ground<'g> {
        Ground {
            similarity: given.similarity,
            samples: given.samples.as_ref().map(Matrix::view),
            weights: &given.weights,
            loss: self.loss.unwrap_or(self.method.loss()),
            is_local: self.method.is_local(),
            solver: self.settings.solver,
        }
    }

    /// The lowest of `n_init` descents.
    fn joint(
        &self,
        mut joint: Joint<'_>,
        given: &Given<'_>,
        prototypes: usize,
        start: &Start,
        observer: &mut dyn Observer,
    ) -> Result<Found> {
        let ground = self.ground(given);
        check_prototypes(prototypes, given.weights.len())?;
        let mut best: Option<Descended> = None;
        for init in 0..self.n_init {
            let seed = self.settings.seed.wrapping_add(init as u64);
            observer.on(&Event::Stage(Stage::Start));
            let mut place = match (start, joint.kernel) {
                (Start::Auto | Start::Agglomerative, Kernel::Radial(_)) => {
                    coarse::start(&joint, &ground, prototypes, seed)?
                }
                _ => joint.start(start.plan(&ground, prototypes, seed)?, Embedding::Best(seed))?,
            };
            if init == 0 && self.alpha < 1.0 && self.alpha_scale == AlphaScale::AtStart {
                joint.shares = self.scaled_shares(&joint, &place)?;
                joint.evaluate(&mut place)?;
            }
            joint.settings.seed = seed;
            observer.on(&Event::Stage(Stage::Fit));
            let found = joint.descend(place, observer)?;
            let interrupted = found.stop == StopReason::Interrupted;
            if best.as_ref().is_none_or(|best| found.place.loss < best.place.loss) {
                best = Some(found);
            }
            if interrupted {
                break;
            }
        }
        let Some(Descended { place, history, stop }) = best else { unreachable!("n_init is at least 1") };
        let step = joint.row_step(&place);
        let found = Found {
            places: self.on_the_map(&place.prototypes, &place.left_out),
            kept: (0..prototypes as u32).collect(),
            plan: place.plan,
            loss: place.loss,
            loss_is_complete: joint.constant.is_some() || self.alpha == 0.0,
            history,
            stop,
            step: Some(step),
            eigenvalues: Vec::new(),
        };
        Ok(found.without_unused())
    }

    /// α and 1−α over the two terms at the start.
    fn scaled_shares(&self, joint: &Joint<'_>, place: &Place) -> Result<(f64, f64)> {
        if joint.constant.is_none() {
            return Err(Error::Unsupported(
                "the scaled alpha divides by the loss at the start, which is not fully known for this sum of \
                 similarities; use the raw alpha"
                    .into(),
            ));
        }
        let (structure, features) = joint.terms(place);
        let over = |share: f64, term: f64| if term > 0.0 { share / term } else { share };
        Ok((over(self.alpha, structure), over(1.0 - self.alpha, features)))
    }

    fn classical(&self, given: &Given<'_>, method: (Kernel, Loss), scale: f64, constant: Option<f64>) -> Result<Found> {
        if self.alpha < 1.0 {
            return Err(Error::parameter("alpha", self.alpha, "1 where every sample is a prototype"));
        }
        let weights = &given.weights;
        let found = classical::embed(given.similarity, given.sparse, weights, method, (self.dims, scale))?;
        let loss = constant.unwrap_or(0.0) + found.value;
        Ok(Found {
            places: self.on_the_map(&found.prototypes, &found.left_out),
            kept: (0..weights.len() as u32).collect(),
            plan: Plan::from_labels((0..weights.len() as u32).collect(), weights.len(), weights.clone())?,
            loss,
            loss_is_complete: constant.is_some(),
            history: vec![loss],
            stop: StopReason::Converged,
            step: None,
            eigenvalues: found.eigenvalues,
        })
    }

    /// Coordinates as they are shown: those of a frame without its degrees, and those of −H·E·H, which is twice the
    /// matrix of inner products, in the unit of the distances.
    fn on_the_map(&self, prototypes: &Matrix<'static>, left_out: &[f64]) -> Matrix<'static> {
        match self.method {
            Method::LaplacianEigenmaps => closed_form::places(prototypes, left_out),
            Method::Mds | Method::Isomap => {
                let unit = std::f64::consts::FRAC_1_SQRT_2;
                Matrix::from_fn(prototypes.rows(), prototypes.columns(), |k, c| unit * prototypes[(k, c)])
            }
            _ => prototypes.clone(),
        }
    }

    /// A model of all that is known.
    fn model(
        &self,
        found: Found,
        similarity: &dyn Similarity,
        features: Option<Samples<'_>>,
        preparation: Preparation,
        placement: Placement,
    ) -> Result<Model> {
        let kind = similarity.definiteness();
        let certified = self.loss.unwrap_or(self.method.loss()) == Loss::Square && kind.has_hard_optimum();
        Ok(Model {
            parameters: self.clone(),
            prototypes: found.places,
            weights: found.plan.weights(),
            features: features.map(|samples| samples.means(&found.plan)),
            hardness: found.plan.hardness(),
            plan: found.plan,
            kept: found.kept,
            loss: found.loss,
            loss_is_complete: found.loss_is_complete,
            history: found.history,
            stop: found.stop,
            certificate: certified.then_some(kind),
            warnings: Vec::new(),
            preparation,
            placement,
        })
    }
}

impl Found {
    /// Drops prototypes that lost all their samples.
    fn without_unused(mut self) -> Self {
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
        self.step = self.step.map(|step| RowStep {
            pull: Matrix::from_fn(n, n, |k, l| step.pull[(at(k), at(l))]),
            pressure: (0..n).map(|k| step.pressure[at(k)]).collect(),
            features: step.features.map(|(features, share)| (rows(&features), share)),
        });
        self
    }

    /// What rows of similarities are multiplied by.
    fn side(&self, method: Method) -> Side {
        if self.step.is_some() {
            return Side::Plan(self.plan.clone());
        }
        // z_i = Σ_j C_ij·h_j·z_j / λ for the eigenvectors of C_X; a mean over neighbours needs no more than places.
        if !matches!(method, Method::Pca | Method::Mds | Method::KernelPca) {
            return Side::Places(self.places.clone());
        }
        let weights = self.plan.sample_weights();
        let over = |c: usize| match self.eigenvalues.get(c) {
            Some(value) if *value > 0.0 => 1.0 / value,
            _ => 0.0,
        };
        let dual = |j: usize, c: usize| weights[j] * self.places[(j, c)] * over(c);
        Side::Places(Matrix::from_fn(self.places.rows(), self.places.columns(), dual))
    }
}
