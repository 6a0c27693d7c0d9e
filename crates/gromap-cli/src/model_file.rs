//! Model files: read whole, checked by the core, and looked into for what was asked of them.

use std::path::Path;

use gromap::{Method, Model};
use serde_json::Value;

use crate::data::source::{Room, Source};
use crate::failure::{Failure, Outcome, shown};

/// A model, and the parameters it was fitted with as its file has them.
pub(crate) struct Opened {
    pub(crate) model: Model,
    pub(crate) parameters: Value,
}

impl Opened {
    /// Reads a model file.
    pub(crate) fn read(path: &Path, room: Room) -> Outcome<Self> {
        let bytes = Source::file(path)?.whole(room)?;
        let model = Model::from_bytes(&bytes).map_err(|error| Failure::from(error).about(shown(path)))?;
        let parameters = parameters(&bytes).unwrap_or_default();
        Ok(Self { model, parameters })
    }

    /// Whether a file looks like a model at all, so that something else can be told from a damaged one.
    pub(crate) fn is_likely(path: &Path) -> bool {
        let start = Source::file(path).and_then(|source| {
            let mut start = [0; 9];
            source.stream()?.exactly(&mut start, "the header").map(|()| start)
        });
        start.is_ok_and(|start| start[8] == b'{')
    }

    /// The method by its name.
    pub(crate) fn method(&self) -> Method {
        self.parameters["method"].as_str().and_then(|name| name.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn seed(&self) -> Option<u64> {
        self.parameters["seed"].as_u64()
    }

    /// Features of the samples it was fitted to.
    pub(crate) fn features(&self) -> Option<usize> {
        self.model.features.as_ref().map(gromap::Matrix::columns)
    }
}

/// The parameters in the header of a file that the core has accepted.
fn parameters(bytes: &[u8]) -> Option<Value> {
    let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let header: Value = serde_json::from_slice(bytes.get(8..)?.get(..usize::try_from(length).ok()?)?).ok()?;
    let text = header["__metadata__"]["gromap-model"].as_str()?;
    let header: Value = serde_json::from_str(text).ok()?;
    Some(header["parameters"].clone())
}
