//! Model files: read whole, and checked by the core.

use std::path::Path;

use gromap::Model;

use crate::data::source::{Room, Source};
use crate::failure::{Failure, Outcome, shown};

/// Reads a model file.
pub(crate) fn read(path: &Path, room: Room) -> Outcome<Model> {
    let bytes = Source::file(path, room)?.whole(room)?;
    Model::from_bytes(&bytes).map_err(|error| Failure::from(error).about(shown(path)))
}

/// Whether a file begins like a model, so that a damaged model is not taken for a file of labels. What can be read only once
/// is not looked at.
pub(crate) fn is_likely(path: &Path) -> bool {
    let start = path.is_file().then(|| {
        let mut start = [0; 9];
        Source::file(path, Room(0))?.stream()?.exactly(&mut start, "the header").map(|()| start)
    });
    matches!(start, Some(Ok(start)) if start[8] == b'{')
}
