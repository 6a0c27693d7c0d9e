//! What must agree in a model that was read, so that nothing it is asked later can fail for a reason inside the file.

use super::container::damaged;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::model::placement::{Placement, Rows, Side};
use crate::numeric::Matrix;
use crate::numeric::Scalar;

/// How far a weight may be from the sum it stands for.
const ROUNDING: f64 = 1e-9;

impl Model {
    /// Refuses parts that do not fit together.
    pub(super) fn check_parts(&self) -> Result<()> {
        self.parameters.check()?;
        let n = self.plan.prototypes();
        Error::check_len("number of prototypes", n, self.prototypes.rows())?;
        Error::check_len("dimensions of the map", self.parameters.dims, self.prototypes.columns())?;
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
        self.check_side()?;
        self.check_step()?;
        self.check_rows()
    }

    fn check_side(&self) -> Result<()> {
        match (&self.placement.side, &self.placement.step) {
            (Side::Plan(plan), Some(_)) => {
                Error::check_len("samples of the placement", self.plan.len(), plan.len())?;
                Error::check_len("prototypes of the placement", self.plan.prototypes(), plan.prototypes())
            }
            (Side::Places(places), None) => check_shape("places", places, (self.plan.len(), self.prototypes.columns())),
            _ => Err(damaged("its placement fits neither prototypes nor samples")),
        }
    }

    fn check_step(&self) -> Result<()> {
        let Some(step) = &self.placement.step else { return Ok(()) };
        let n = self.plan.prototypes();
        check_shape("pull", &step.pull, (n, n))?;
        Error::check_len("length of the pressure", n, step.pressure.len())?;
        match (&step.features, self.preparation.features) {
            (Some((features, _)), Some(width)) => check_shape("prototype features", features, (n, width)),
            (Some((features, _)), None) => Error::check_len("number of prototype features", n, features.rows()),
            (None, _) => Ok(()),
        }
    }

    fn check_rows(&self) -> Result<()> {
        let Placement { rows, side, .. } = &self.placement;
        if *rows == Rows::Unknown {
            return Ok(());
        }
        let features = self.preparation.features;
        let given = features.ok_or_else(|| damaged("it places new samples, but says not of how many features"))?;
        let width = self.preparation.pca.as_ref().map_or(given, |pca| pca.components().rows());
        let training = (self.plan.len(), width);
        match rows {
            Rows::Unknown => Ok(()),
            Rows::Factor { mean, sketch } => {
                Error::check_len("length of the mean", width, mean.len())?;
                check_shape("sketch", sketch, (width, side.width()))
            }
            Rows::Kernel { function, samples, means } => {
                function.check()?;
                Error::check_len("number of kernel means", side.width(), means.0.len())?;
                check_shape("training samples", samples, training)
            }
            Rows::Neighbors { samples, neighbors, .. } => {
                let most = self.plan.len();
                if !(1..=most).contains(neighbors) {
                    return Err(Error::parameter("neighbors", *neighbors as f64, format!("from 1 to {most}")));
                }
                check_shape("training samples", samples, training)
            }
        }
    }
}

fn check_shape<S: Scalar>(what: &str, matrix: &Matrix<'_, S>, (rows, columns): (usize, usize)) -> Result<()> {
    Error::check_len(&format!("rows of the {what}"), rows, matrix.rows())?;
    Error::check_len(&format!("columns of the {what}"), columns, matrix.columns())
}
