//! From a [`GromovDr`] and data to a map.

use super::joint::{Descended, Embedding, Iterate, Joint};
use super::many::{self, Many};
use super::options::{AlphaScale, GromovDr, Parameters};
use super::own_places::OwnPlaces;
use super::placement::RowStep;
use super::prepared::{self, Found, Prepared, Purpose};
use super::{Model, classical, coarse};
use crate::data::{Data, Run};
use crate::embedding::{MapKernel, closed_form};
use crate::error::{Error, Result};
use crate::method::Spec;
use crate::numeric::Matrix;
use crate::observe::{Event, Observer, Stage};
use crate::outcome::lowest_of;
use crate::plan::{Plan, check_prototypes};
use crate::start::{Ground, Start};

impl GromovDr {
    /// Fits a map to samples, distances or a similarity.
    ///
    /// ```
    /// use gromap::{Data, GromovDr, Matrix};
    /// let far = |i: usize, j: usize| if i / 20 == j / 20 { 0.0 } else { 100.0 };
    /// let distances = Matrix::from_fn(40, 40, |i, j| (i as f64 - j as f64).abs() + far(i, j));
    /// let model = GromovDr::builder().prototypes(2).perplexity(5.0).fit(Data::distances(&distances))?;
    /// let labels = model.plan.labels();
    /// assert!((0..40).all(|i| (labels[i] == labels[0]) == (i < 20)));
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn fit<'d>(&self, data: impl Into<Data<'d>>) -> Result<Model> {
        self.fit_with(&data.into(), Run::default())
    }

    /// The same with weighted samples, with names for their features, or telling an observer of every stage and round.
    pub fn fit_with(&self, data: &Data<'_>, run: Run<'_>) -> Result<Model> {
        self.check()?;
        self.check_dims(data.len())?;
        self.memory_plan(&data.shape()).check_room()?;
        prepared::run(&self.common, data, self.purpose(self.prototypes), run, |prepared, observer| {
            let found = self.solve(prepared, self.prototypes, &self.common.init, observer)?;
            prepared.model(Parameters::Map(self.clone()), found)
        })
    }

    /// What data are prepared for, if there are so many prototypes.
    pub(super) fn purpose(&self, prototypes: Option<usize>) -> Purpose {
        Purpose { is_fused: self.alpha < 1.0, prototypes, loss: self.common.loss() }
    }

    /// Finds plan and prototypes.
    pub(super) fn solve(
        &self,
        prepared: &Prepared<'_>,
        prototypes: Option<usize>,
        start: &Start,
        observer: &mut dyn Observer,
    ) -> Result<Found> {
        let spec = self.common.spec(self.normalization);
        let loss = self.common.loss();
        if self.alpha < 1.0 && prepared.fused.is_none() {
            return Err(Error::parameter("alpha", self.alpha, "1 unless there are samples or features"));
        }
        let similarity = prepared.similarity();
        loss.check_similarity(&similarity.bounds())?;
        let (scale, constant) = Joint::scale_of(spec.kernel, loss, similarity, &prepared.weights)?;
        if !scale.is_finite() || scale <= 0.0 {
            let allowed = "positive and finite among the samples that have weight";
            return Err(Error::parameter("sum of the similarity", 1.0 / scale, allowed));
        }
        if prototypes.is_none_or(|n| n == prepared.weights.len()) {
            if !self.common.rule.is_free() {
                return Err(Error::Unsupported(
                    "prototype_weights, min_weight and max_weight are for fewer prototypes than samples: where every sample \
                     is a prototype, it weighs what the sample does"
                        .into(),
                ));
            }
            observer.on(&Event::Stage(Stage::Fit));
            return self.classical(prepared, &spec, (scale, constant), observer);
        }
        let demand = self.common.rule.demand(prototypes.unwrap_or(1))?;
        let joint = Joint {
            similarity,
            kernel: spec.kernel,
            loss,
            dims: self.dims,
            settings: self.common.settings.with(demand.as_ref()),
            features: prepared.fused.as_ref(),
            scale,
            constant,
            shares: (self.alpha, 1.0 - self.alpha),
            refreshes: 1,
            coupling: self.coupling,
            demand: demand.as_ref(),
        };
        self.joint(joint, prepared, prototypes.unwrap_or(1), start, observer)
    }

    /// The lowest of `n_init` descents.
    fn joint(
        &self,
        mut joint: Joint<'_>,
        prepared: &Prepared<'_>,
        prototypes: usize,
        start: &Start,
        observer: &mut dyn Observer,
    ) -> Result<Found> {
        let ground = prepared.ground(&self.common, joint.loss);
        check_prototypes(prototypes, prepared.weights.len())?;
        if let Some(many) = Many::of(&joint, prototypes) {
            return self.many(many, &ground, prototypes, start, observer);
        }
        let mut is_scaled = self.alpha == 1.0 || self.alpha_scale == AlphaScale::Raw;
        let descend = |seed: u64| {
            observer.on(&Event::Stage(Stage::Start));
            let mut iterate = match (start, joint.kernel) {
                (Start::Auto | Start::Agglomerative, MapKernel::Radial(_)) => {
                    coarse::start(&joint, &ground, prototypes, seed)?
                }
                _ => joint.start(start.plan(&ground, prototypes, seed)?, Embedding::Best(seed))?,
            };
            iterate = joint.meet_demand(iterate)?;
            if !is_scaled {
                joint.shares = self.scaled_shares(&joint, &iterate)?;
                joint.evaluate(&mut iterate)?;
                is_scaled = true;
            }
            joint.settings.seed = seed;
            observer.on(&Event::Stage(Stage::Fit));
            joint.descend(iterate, observer)
        };
        let settings = &self.common.settings;
        let of = |found: &Descended| (found.iterate.loss, found.stop);
        let Descended { iterate, history, stop } = lowest_of(self.common.n_init, settings.seed, descend, of)?;
        let found = Found {
            places: self.on_the_map(&iterate.prototypes),
            target: None,
            kept: (0..prototypes as u32).collect(),
            step: Some(joint.row_step(&iterate)),
            own_places: Some(OwnPlaces::of(
                joint.kernel,
                joint.loss,
                &iterate,
                (joint.scale, self.common.spec(self.normalization).unit),
            )?),
            plan: iterate.plan,
            loss: iterate.loss,
            loss_is_complete: joint.constant.is_some() || self.alpha == 0.0,
            history,
            stop,
            eigenvalues: Vec::new(),
        };
        Ok(found.without_unused())
    }

    /// The same for many prototypes.
    fn many(
        &self,
        many: Many<'_>,
        ground: &Ground<'_>,
        prototypes: usize,
        start: &Start,
        observer: &mut dyn Observer,
    ) -> Result<Found> {
        let descend = |seed: u64| {
            observer.on(&Event::Stage(Stage::Start));
            let plan = start.plan(ground, prototypes, seed)?;
            observer.on(&Event::Stage(Stage::Fit));
            many.with_seed(seed).descend(plan, observer)
        };
        let of = |found: &many::Descended| (found.loss(), found.stop);
        let found = lowest_of(self.common.n_init, self.common.settings.seed, descend, of)?;
        let loss = found.loss();
        let many::Descended { plan, places, own_places, history, stop } = found;
        let found = Found {
            places: self.on_the_map(&places),
            target: None,
            kept: (0..prototypes as u32).collect(),
            step: Some(RowStep::vote(prototypes)),
            own_places: Some(own_places),
            plan,
            loss,
            loss_is_complete: many.loss_is_complete(),
            history,
            stop,
            eigenvalues: Vec::new(),
        };
        Ok(found.without_unused())
    }

    /// α and 1−α over the two terms at the start.
    fn scaled_shares(&self, joint: &Joint<'_>, iterate: &Iterate) -> Result<(f64, f64)> {
        if joint.constant.is_none() {
            return Err(Error::Unsupported(
                "the scaled alpha divides by the loss at the start, which is not fully known for this sum of \
                 similarities; use the raw alpha"
                    .into(),
            ));
        }
        let (structure, features) = joint.terms(iterate);
        let over = |share: f64, term: f64| if term > 0.0 { share / term } else { share };
        Ok((over(self.alpha, structure), over(1.0 - self.alpha, features)))
    }

    /// A prototype for every sample.
    fn classical(
        &self,
        prepared: &Prepared<'_>,
        spec: &Spec,
        (scale, constant): (f64, Option<f64>),
        observer: &mut dyn Observer,
    ) -> Result<Found> {
        if self.alpha < 1.0 {
            return Err(Error::parameter("alpha", self.alpha, "1 where every sample is a prototype"));
        }
        let weights = &prepared.weights;
        let stopping = self.common.settings.stopping;
        let task = classical::Task { dims: self.dims, scale, constant: constant.unwrap_or(0.0), stopping };
        let kernel = (spec.kernel, self.common.loss());
        let found = classical::embed(prepared.similarity(), weights, kernel, task, observer)?;
        Ok(Found {
            places: self.on_the_map(&found.prototypes),
            target: None,
            kept: (0..weights.len() as u32).collect(),
            plan: Plan::from_labels((0..weights.len() as u32).collect(), weights.len(), weights.clone())?,
            loss: found.history.last().copied().unwrap_or(f64::NAN),
            loss_is_complete: constant.is_some(),
            history: found.history,
            stop: found.stop,
            step: None,
            own_places: None,
            eigenvalues: found.eigenvalues,
        })
    }

    /// Coordinates as they are shown: those of a frame without its degrees, and in the unit of the method.
    fn on_the_map(&self, prototypes: &Matrix<'static>) -> Matrix<'static> {
        let Spec { kernel, unit, .. } = self.common.spec(self.normalization);
        if kernel == MapKernel::Orthonormal {
            return closed_form::places(prototypes);
        }
        Matrix::from_fn(prototypes.rows(), prototypes.columns(), |k, c| unit * prototypes[(k, c)])
    }
}

#[cfg(test)]
#[path = "fitting_tests.rs"]
mod tests;
