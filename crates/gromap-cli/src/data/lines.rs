//! Lines of text and records of tables, one at a time, none longer than is sane.

use std::io::{self, BufRead, Read};

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::source::{Room, Stream};
use crate::args::values::Bytes;
use crate::failure::{Failure, Kind, Outcome};

/// No line of numbers is this long.
const LONGEST: u64 = 1 << 20;

/// A record may take this share of the memory we may hold: what is made of it takes several times as much.
const SHARE: u64 = 16;

/// Records of this length are always fine.
const ALWAYS_FINE: u64 = 1 << 16;

/// Bytes that the name or the value of a cell takes, even if it is empty.
const BYTES_PER_CELL: usize = 64;

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

/// The records of a table of text.
pub(super) struct Records<'a> {
    reader: Reader<Bounded<'a>>,
    longest: u64,
    room: Room,
    name: String,
}

/// Bytes up to a number of them.
struct Bounded<'a> {
    bytes: Box<dyn BufRead + 'a>,
    left: u64,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(read)
    }
}

impl<'a> Records<'a> {
    pub(super) fn new(Stream { bytes, name, .. }: Stream<'a>, delimiter: u8, room: Room) -> Self {
        let longest = (room.0 / SHARE).max(ALWAYS_FINE);
        let bytes = Bounded { bytes, left: longest };
        let reader = ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(bytes);
        Self { reader, longest, room, name }
    }

    pub(super) fn next(&mut self) -> Outcome<Option<ByteRecord>> {
        self.reader.get_mut().left = self.longest;
        let line = self.reader.position().line();
        let mut record = ByteRecord::new();
        match self.reader.read_byte_record(&mut record).map_err(csv::Error::into_kind) {
            Ok(false) => Ok(None),
            Ok(true) => {
                let fits = self.room.check_values("a row of so many cells", record.len(), 1, BYTES_PER_CELL);
                fits.map_err(|failure| failure.about(format_args!("{}, line {line}", self.name)))?;
                Ok(Some(record))
            }
            Err(csv::ErrorKind::Io(error)) if error.kind() == io::ErrorKind::FileTooLarge => {
                let (name, longest) = (&self.name, Bytes(self.longest));
                let message = format!("{name}, line {line}: the row that begins here is longer than {longest}");
                Err(Failure::new(Kind::Memory, message)
                    .hint("a quote that is not closed joins rows; if the row is really so long, raise --max-memory"))
            }
            Err(csv::ErrorKind::Io(error)) => Err(Failure::reading(&self.name, &error)),
            Err(other) => Err(Failure::data(format!("{}, line {line}: {other:?}", self.name))),
        }
    }
}
