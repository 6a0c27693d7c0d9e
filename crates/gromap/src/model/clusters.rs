//! The clustering end of the method: a plan to a target without places, learnt (srGWB) or the identity (srGWI).

use super::options::{GromovClustering, Parameters, Target};
use super::placement::RowStep;
use super::prepared::{self, Found, Prepared, Purpose};
use super::{Common, Model};
use crate::data::{Data, Run};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::observe::{Event, Observer, Stage};
use crate::outcome::{Outcome, lowest_of};
use crate::plan::Plan;
use crate::solve::{Barycenter, Input, Scale, Settings, Srgw};
use crate::start::Start;
use crate::transport::TransportProblem;
use crate::weights::WeightRule;

/// Nodes of a graph beyond which small groups are not worth their time: they need more eigenvectors than there are clusters, and
/// those beyond hardly converge.
const LARGE_GRAPH: usize = 10_000;

impl GromovClustering {
    /// Clusters samples, distances or by a similarity.
    pub fn fit<'d>(&self, data: impl Into<Data<'d>>) -> Result<Model> {
        self.fit_with(&data.into(), Run::default())
    }

    /// The same with weighted samples, or telling an observer of every stage and round.
    pub fn fit_with(&self, data: &Data<'_>, run: Run<'_>) -> Result<Model> {
        self.check()?;
        self.memory_plan(&data.shape()).check_room()?;
        let purpose = Purpose { is_fused: false, prototypes: Some(self.clusters), loss: self.compared_by() };
        prepared::run(&self.common, data, purpose, run, |prepared, observer| {
            let found = self.solve(prepared, observer)?;
            prepared.model(Parameters::Clusters(self.clone()), found)
        })
    }

    /// The lowest of `n_init` descents.
    fn solve(&self, prepared: &Prepared<'_>, observer: &mut dyn Observer) -> Result<Found> {
        let Common { init, n_init, settings, .. } = &self.common;
        let loss = self.compared_by();
        loss.check_similarity(&prepared.similarity().bounds())?;
        let ground = prepared.ground(&self.common, loss);
        let similarity = prepared.similarity();
        // Small groups of a graph hide what only all its edges together show, and eigenvectors miss what is small.
        let starts = match init {
            Start::Auto if ground.is_graph && prepared.weights.len() > LARGE_GRAPH => vec![Start::Spectral],
            Start::Auto if ground.is_graph => vec![Start::Agglomerative, Start::Spectral],
            own => vec![own.clone()],
        };
        let mut descend = |start: &Start, seed: u64| -> Result<(Plan, Matrix<'static>, Outcome)> {
            observer.on(&Event::Stage(Stage::Start));
            let start = start.plan(&ground, self.clusters, seed)?;
            observer.on(&Event::Stage(Stage::Fit));
            let (settings, weights) = (Settings { seed, ..*settings }, prepared.weights.clone());
            let WeightRule { prototype_weights, min_weight, max_weight } = self.common.rule.clone();
            if self.target == Target::Free {
                let input = Input::new(similarity).sample_weights(weights).start(start);
                let problem = Barycenter::new(vec![input], self.clusters)
                    .loss(loss)
                    .settings(settings)
                    .prototype_weights(prototype_weights)
                    .min_weight(min_weight)
                    .max_weight(max_weight);
                let mut found = problem.solve_observed(observer)?;
                return Ok((found.plans.remove(0), found.target, found.outcome));
            }
            let problem = Srgw::identity(similarity, self.clusters, self.target_scale)
                .loss(loss)
                .settings(settings)
                .prototype_weights(prototype_weights)
                .min_weight(min_weight)
                .max_weight(max_weight);
            let found = problem.sample_weights(weights).start(start).solve_observed(observer)?;
            let identity = Matrix::from_fn(self.clusters, self.clusters, |k, l| if k == l { 1.0 } else { 0.0 });
            Ok((found.plan, identity, found.outcome))
        };
        let of = |(.., outcome): &(Plan, Matrix<'static>, Outcome)| (outcome.loss, outcome.stop);
        let of_starts = |seed| {
            let mut left = starts.iter();
            lowest_of(starts.len(), seed, |_| descend(left.next().unwrap_or(init), seed), of)
        };
        let (plan, target, outcome) = lowest_of(*n_init, settings.seed, of_starts, of)?;
        Ok(Found {
            places: Matrix::zeros(self.clusters, 0),
            step: Some(self.row_step(prepared, &plan, &target, loss)?),
            own_places: None,
            target: Some(target),
            plan,
            kept: (0..self.clusters as u32).collect(),
            loss: outcome.loss,
            loss_is_complete: outcome.loss_is_complete,
            history: outcome.history,
            stop: outcome.stop,
            eigenvalues: Vec::new(),
        })
    }

    /// How new samples choose among the clusters; those that are not used are out of reach.
    fn row_step(&self, prepared: &Prepared<'_>, plan: &Plan, target: &Matrix<'_>, loss: Loss) -> Result<RowStep> {
        let similarity = prepared.similarity();
        let scale = match self.target {
            Target::Free => Scale::Raw,
            Target::Identity => self.target_scale,
        };
        let problem = TransportProblem::scaled(similarity, scale.factor(&similarity.bounds())?, target, loss, 1.0, 0.0);
        let weights = plan.weights();
        let mut step = RowStep::of(&problem, &weights);
        let unused = step.repulsion.iter_mut().zip(&weights).filter(|(_, weight)| **weight == 0.0);
        unused.for_each(|(repulsion, _)| *repulsion = f64::INFINITY);
        Ok(step)
    }
}
