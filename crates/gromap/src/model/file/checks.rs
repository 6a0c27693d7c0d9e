//! What must agree in a model that was read, so that nothing it is asked later can fail for a reason inside the file.

use super::container::damaged;
use crate::affinity::{Multiplier, NewSamples, Training};
use crate::embedding::MapKernel;
use crate::error::{Error, Result};
use crate::model::own_places::OwnPlaces;
use crate::model::views::FittedView;
use crate::model::{Model, Parameters};
use crate::numeric::{Matrix, Scalar};

/// How far a weight may be from the sum it stands for.
const ROUNDING: f64 = 1e-9;

impl Model {
    /// Refuses parts that do not fit together.
    pub(super) fn check_parts(&self) -> Result<()> {
        self.parameters.check()?;
        let numbers = [("loss", self.outcome.loss), ("hardness", self.outcome.hardness)];
        if let Some((what, value)) = numbers.into_iter().find(|(_, value)| !value.is_finite()) {
            return Err(damaged(format!("its {what} is {value}")));
        }
        let n = self.plan.prototypes();
        Error::check_len("number of prototypes", n, self.prototypes.rows())?;
        let dims = if let Parameters::Map(asked) = &self.parameters { asked.dims } else { 0 };
        Error::check_len("dimensions of the map", dims, self.prototypes.columns())?;
        Error::check_len("number of weights", n, self.weights.len())?;
        Error::check_len("number of prototypes that were kept", n, self.kept.len())?;
        let near = |(weight, mass): (&f64, f64)| (weight - mass).abs() <= ROUNDING;
        if !self.weights.iter().zip(self.plan.weights()).all(near) {
            return Err(damaged("its weights are not those of its plan"));
        }
        if self.kept.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(damaged("the prototypes that were kept are not in order"));
        }
        if let Some(features) = &self.features {
            Error::check_len("number of mean samples", n, features.rows())?;
        }
        if let Some(reach) = &self.reach {
            Error::check_len("spreads of the prototypes", n, reach.spreads.len())?;
        }
        match (&self.target, self.is_map()) {
            (None, true) => {}
            (Some(target), false) => check_shape("target", target, (n, n))?,
            _ => return Err(damaged("clusters have a target, and a map has none")),
        }
        if let (Some(names), features) = (&self.feature_names, self.features.as_ref()) {
            Error::check_len("names of features", features.map_or(0, Matrix::columns), names.len())?;
        }
        self.check_names()?;
        self.check_links()?;
        self.check_view_weights()?;
        self.check_multiplier()?;
        self.check_step()?;
        self.check_own_places()?;
        self.views.iter().try_for_each(|view| self.check_training(view))
    }

    fn check_view_weights(&self) -> Result<()> {
        let whole: f64 = self.views.iter().map(|view| view.share).sum();
        let is_weight = |value: f64| value.is_finite() && value >= 0.0;
        if !self.views.iter().all(|view| is_weight(view.share) && is_weight(view.factor))
            || (whole - 1.0).abs() > ROUNDING
        {
            return Err(damaged("the weights of its views are not shares of a whole"));
        }
        match (&self.features, self.view_features()) {
            (Some(features), Some(sum)) if self.views.len() > 1 => {
                Error::check_len("features of the views", features.columns(), sum)
            }
            _ => Ok(()),
        }
    }

    /// Features of all views, if they are samples.
    fn view_features(&self) -> Option<usize> {
        self.views.iter().map(|view| view.preparation.features).sum()
    }

    /// What comes once for each feature, sample or prototype.
    fn check_names(&self) -> Result<()> {
        if let Some(table) = &self.table {
            Error::check_len(
                "features of the table",
                self.features.as_ref().map_or(0, Matrix::columns),
                table.width(),
            )?;
            let widths = table.fields.iter().zip(table.ranges());
            for (fill, range) in widths.filter_map(|(field, range)| Some((field.fill.as_ref()?, range))) {
                Error::check_len("values that stand in for missing ones", range.len(), fill.len())?;
                if fill.iter().any(|value| !value.is_finite()) {
                    return Err(damaged("a value that stands in for missing ones is not finite"));
                }
            }
        }
        if let Some(ids) = &self.ids {
            Error::check_len("names of samples", self.plan.len(), ids.len())?;
        }
        if let Some((names, of_samples)) = &self.classes {
            Error::check_len("classes of samples", self.plan.len(), of_samples.len())?;
            if of_samples.iter().any(|&class| class as usize >= names.len()) {
                return Err(damaged("a sample has a class without a name"));
            }
        }
        match &self.prototype_names {
            Some(names) => Error::check_len("names of prototypes", self.plan.prototypes(), names.len()),
            None => Ok(()),
        }
    }

    fn check_links(&self) -> Result<()> {
        let n = self.plan.prototypes() as u64;
        let fits =
            |&(k, l, share): &(u32, u32, f64)| k < l && u64::from(l) < n && (0.0..=1.0 + ROUNDING).contains(&share);
        let ascend = |pair: &[(u32, u32, f64)]| (pair[0].0, pair[0].1) < (pair[1].0, pair[1].1);
        match self.links.iter().all(fits)
            && self.links.windows(2).all(ascend)
            && (self.is_map() || self.links.is_empty())
        {
            true => Ok(()),
            false => Err(damaged("its links are not in order, or not between its prototypes")),
        }
    }

    fn check_multiplier(&self) -> Result<()> {
        match (&self.placement.multiplier, &self.placement.step) {
            (Multiplier::Plan(plan), Some(_)) => {
                Error::check_len("samples of the placement", self.plan.len(), plan.len())?;
                Error::check_len("prototypes of the placement", self.plan.prototypes(), plan.prototypes())
            }
            (Multiplier::Places(places), None) => {
                check_shape("places", places, (self.plan.len(), self.prototypes.columns()))
            }
            _ => Err(damaged("its placement fits neither prototypes nor samples")),
        }
    }

    fn check_step(&self) -> Result<()> {
        let Some(step) = &self.placement.step else { return Ok(()) };
        let n = self.plan.prototypes();
        step.attraction.as_ref().map_or(Ok(()), |attraction| check_shape("attraction", attraction, (n, n)))?;
        Error::check_len("length of the repulsion", n, step.repulsion.len())?;
        match (&step.features, self.view_features()) {
            (Some((features, _)), Some(width)) => check_shape("prototype features", features, (n, width)),
            (Some((features, _)), None) => Error::check_len("number of prototype features", n, features.rows()),
            (None, _) => Ok(()),
        }
    }

    fn check_own_places(&self) -> Result<()> {
        let (n, dims) = (self.plan.prototypes(), self.prototypes.columns());
        match (&self.sample_places, self.is_map() && self.placement.step.is_some()) {
            (Some(places), true) => check_shape("places of samples", places, (self.plan.len(), dims))?,
            (None, false) => {}
            _ => return Err(damaged("samples have places of their own on a map of fewer prototypes, and only there")),
        }
        let spec = self.parameters.spec();
        match (&self.placement.own_places, spec.kernel) {
            (None, _) if spec.votes || self.sample_places.is_none() => Ok(()),
            (Some(OwnPlaces::LeastSquares { columns, shift }), MapKernel::Gram) if !spec.votes => {
                check_shape("columns that give places", columns, (n, dims))?;
                Error::check_len("length of the shift of places", dims, shift.len())
            }
            (Some(OwnPlaces::Row { repulsion }), MapKernel::Radial(_)) => {
                match repulsion.iter().all(|weight| *weight >= 0.0) {
                    true => Error::check_len("weights of the repulsion", n, repulsion.len()),
                    false => Err(damaged("a weight of the repulsion is negative")),
                }
            }
            _ => Err(damaged("how samples get places of their own does not fit its method")),
        }
    }

    fn check_training(&self, view: &FittedView) -> Result<()> {
        let (training, multiplier) = (&view.training, &self.placement.multiplier);
        if *training == Training::Unknown {
            return Ok(());
        }
        let features = view.preparation.features;
        let given = features.ok_or_else(|| damaged("it places new samples, but says not of how many features"))?;
        let width = view.preparation.pca.as_ref().map_or(given, |pca| pca.components().rows());
        let samples = self.plan.len();
        let spec = self.parameters.spec();
        match (training, spec.recipe.new_samples()) {
            (Training::Product { mean, sketch }, NewSamples::Product { .. }) => {
                Error::check_len("length of the mean", width, mean.len())?;
                check_shape("sketch", sketch, (width, multiplier.width()))
            }
            (Training::Kernel { samples: kept, means }, NewSamples::Kernel(kernel)) => {
                kernel.check()?;
                Error::check_len("number of kernel means", multiplier.width(), means.0.len())?;
                check_shape("training samples", kept, (samples, width))
            }
            (Training::Neighbors { samples: kept }, NewSamples::Neighbors(weights)) => {
                let k = weights.neighborhood(samples).k;
                if k == 0 || k > samples {
                    return Err(Error::parameter("neighbors", k as f64, format!("from 1 to {samples}")));
                }
                check_shape("training samples", kept, (samples, width))
            }
            _ => Err(damaged("what it remembers of its samples does not fit its method")),
        }
    }
}

fn check_shape<S: Scalar>(what: &str, matrix: &Matrix<'_, S>, (rows, columns): (usize, usize)) -> Result<()> {
    Error::check_len(&format!("rows of the {what}"), rows, matrix.rows())?;
    Error::check_len(&format!("columns of the {what}"), columns, matrix.columns())
}
