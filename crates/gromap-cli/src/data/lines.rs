//! Lines of text, one at a time, none longer than is sane.

use std::io::{BufRead, Read};

use super::source::Stream;
use crate::failure::{Failure, Outcome};

/// No line of numbers is this long.
const LONGEST: u64 = 1 << 20;

/// Calls `each` with the number (from 1) and the text of every line that is neither empty nor a comment.
pub(super) fn for_each(
    stream: &mut Stream<'_>,
    comments: &[char],
    mut each: impl FnMut(usize, &str) -> Outcome<()>,
) -> Outcome<()> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = stream.bytes.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        let length = read.map_err(|error| Failure::reading(&stream.name, &error))?;
        if length == 0 {
            return Ok(());
        }
        let about = |problem: &str| Failure::data(format!("{}, line {number}: {problem}", stream.name));
        if length as u64 == LONGEST {
            return Err(about("it is too long for a line of numbers"));
        }
        let text = std::str::from_utf8(&line).map_err(|_| about("it is not text"))?.trim();
        if !text.is_empty() && !text.starts_with(comments) {
            each(number, text)?;
        }
    }
    Ok(())
}
