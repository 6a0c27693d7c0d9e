//! The model file: everything a [`Model`] is, as bytes, the same from Rust, Python and the command line.
//!
//! A file is a [safetensors](https://huggingface.co/docs/safetensors) archive, so any of its readers can open it:
//!
//! ```text
//! 8 bytes   length of the header
//! header    JSON: {"__metadata__": {"gromap-model": "<JSON text>"}, "prototypes": {dtype, shape, data_offsets}, …}
//! tensors   prototypes, weights, history, kept, target?, features?, plan.*, start.*?, scaler.*?, pca.*?, frame.*?,
//!           training.*?, multiplier.*?, step.*?, sample_places?, own_places.*?, ids.*?, classes.*?, prototype_names.*?,
//!           links.*?, reach.*?, and of a second view view2.scaler.*? and so on
//! 8 bytes   tensor "checksum": CRC-64/XZ of all bytes before it
//! ```
//!
//! The text holds names, counts and single numbers (`header.rs`, `parameters.rs`); anything as long as the data is a tensor. What is there
//! says what it is: `plan.labels` is a hard plan, `plan.starts` a soft one, no `scaler.shift` means no scaling, no `target` means a map. Tensors are
//! little endian, numbers in the text have the digits that give their bits back, and so a model that is read **equals** the one
//! that was written, and the same model is always written as the same bytes.
//!
//! Reading trusts nothing: a newer format is named first, then the checksum must match, then every part goes through the
//! constructors that check it, and what is left over is refused.

mod checks;
mod checksum;
mod container;
mod forms;
mod header;
mod parameters;
mod parts;

use self::container::{Reader, Writer, damaged};
use self::header::Header;
use super::Model;
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::start::Start;

impl Model {
    /// The model as the bytes of a file; nothing is opened or written here.
    ///
    /// ```
    /// use gromap::{GromovDr, Matrix, Method, Model};
    /// let samples = Matrix::from_fn(30, 2, |i, j| ((i * (j + 3)) % 11) as f64);
    /// let model = GromovDr::builder().method(Method::Pca).prototypes(4).fit(&samples)?;
    /// let again = Model::from_bytes(&model.to_bytes())?;
    /// assert_eq!(again, model);
    /// assert_eq!(again.predict(&samples)?, model.predict(&samples)?);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let header = Header::of(self);
        out.matrix("prototypes", &self.prototypes);
        out.vector("weights", &self.weights);
        out.vector("history", &self.outcome.history);
        out.vector("kept", &self.kept);
        if let Some(target) = &self.target {
            out.matrix("target", target);
        }
        if let Some(features) = &self.features {
            out.matrix("features", features);
        }
        if let Some(places) = &self.sample_places {
            out.matrix("sample_places", places);
        }
        if let Some(ids) = &self.ids {
            parts::write_texts(&mut out, "ids", ids);
        }
        if let Some((names, of_samples)) = &self.classes {
            parts::write_texts(&mut out, "classes.names", names);
            out.vector("classes.of_samples", of_samples);
        }
        if let Some(names) = &self.prototype_names {
            parts::write_texts(&mut out, "prototype_names", names);
        }
        parts::write_links(&mut out, &self.links);
        if let Some(reach) = &self.reach {
            out.vector("reach.spreads", &reach.spreads);
            out.scalar("reach.limit", reach.limit);
        }
        parts::write_plan(&mut out, "plan", &self.plan);
        if let Start::Plan(plan) = &self.parameters.common().init {
            parts::write_plan(&mut out, "start", plan);
        }
        parts::write_views(&mut out, &self.views);
        parts::write_placement(&mut out, &self.placement, &header.multiplier);
        let Ok(text) = serde_json::to_string(&header) else { unreachable!("names and numbers are always JSON") };
        out.finish(text)
    }

    /// The model that [`to_bytes`](Self::to_bytes) wrote, equal in every bit. Anything else is refused: bytes missing, added or
    /// changed as [`Error::DamagedModel`], a later format as [`Error::NewerModel`].
    ///
    /// ```
    /// use gromap::{Error, GromovDr, Matrix, Method, Model};
    /// let samples = Matrix::from_fn(30, 2, |i, j| ((i * (j + 3)) % 11) as f64);
    /// let mut bytes = GromovDr::builder().method(Method::Pca).prototypes(4).fit(&samples)?.to_bytes();
    /// bytes[1000] ^= 1;
    /// assert!(matches!(Model::from_bytes(&bytes), Err(Error::DamagedModel(_))));
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes).map_err(|error| match error {
            Error::DamagedModel(_) | Error::NewerModel { .. } => error,
            other => damaged(other),
        })
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let (mut from, text) = Reader::open(bytes)?;
        let header: Header = serde_json::from_str(&text).map_err(damaged)?;
        let plan = parts::read_plan(&mut from, "plan")?;
        let prototypes = from.matrix("prototypes")?;
        let views = parts::read_views(&mut from, &header.view_forms())?;
        let placement = parts::read_placement(&mut from, &header.multiplier, &plan, &prototypes)?;
        let model = Self {
            parameters: header.parameters.asked(|| parts::read_plan(&mut from, "start"))?,
            fitted_to: header.fitted_to,
            prototypes,
            target: from.has("target").then(|| from.matrix("target")).transpose()?,
            weights: from.vector("weights")?,
            features: from.has("features").then(|| from.matrix("features")).transpose()?,
            feature_names: header.feature_names,
            table: header.table,
            ids: parts::read_texts(&mut from, "ids")?,
            classes: parts::read_classes(&mut from)?,
            prototype_names: parts::read_texts(&mut from, "prototype_names")?,
            sample_places: from.has("sample_places").then(|| from.matrix("sample_places")).transpose()?,
            links: parts::read_links(&mut from)?,
            reach: from.has("reach.limit").then(|| parts::read_reach(&mut from)).transpose()?,
            plan,
            kept: from.vector("kept")?,
            outcome: Outcome {
                loss: header.loss.0,
                loss_is_complete: header.loss_is_complete,
                history: from.vector("history")?,
                stop: header.stop,
                hardness: header.hardness.0,
                certificate: header.certificate,
                warnings: header.warnings,
            },
            views,
            placement,
        };
        from.finish()?;
        model.check_parts()?;
        Ok(model)
    }
}

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod tests;
