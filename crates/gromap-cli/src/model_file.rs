//! Model files: read whole, and checked by the core.

use std::path::Path;

use gromap::Model;

use crate::data::source::{Room, Source};
use crate::failure::{Failure, Outcome, shown};

/// Reads a model file.
pub(crate) fn read(path: &Path, room: Room) -> Outcome<Model> {
    let bytes = Source::file(path)?.whole(room)?;
    Model::from_bytes(&bytes).map_err(|error| Failure::from(error).about(shown(path)))
}

/// Whether a file begins like a model, so that a damaged model is not taken for a file of labels.
pub(crate) fn is_likely(path: &Path) -> bool {
    let start = Source::file(path).and_then(|source| {
        let mut start = [0; 9];
        source.stream()?.exactly(&mut start, "the header").map(|()| start)
    });
    start.is_ok_and(|start| start[8] == b'{')
}
