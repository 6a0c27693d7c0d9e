//! Where bytes come from: a file, or standard input held in memory. Gzip is decompressed on the fly.
//!
//! Readers ask two questions before they allocate: can the source hold what its header claims ([`Stream::most`]), and may
//! we hold it ([`Room`])? So a header of a few bytes can never make us take gigabytes.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;

use crate::args::values::Bytes;
use crate::failure::{Failure, Kind, Outcome, shown};

/// Deflate makes at most 1,032 bytes of one.
const MOST_INFLATION: u64 = 1032;

/// Bytes turned into values at once.
const CHUNK: usize = 1 << 16;

/// The way out where memory is short.
const LESS: &str = "raise --max-memory, or keep fewer rows or columns";

/// The memory limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room(pub(crate) u64);

impl Room {
    /// Refuses what does not fit, before it is allocated.
    pub(crate) fn check(self, what: &str, bytes: u64) -> Outcome<()> {
        if bytes <= self.0 {
            return Ok(());
        }
        let (needed, limit) = (Bytes(bytes), Bytes(self.0));
        let message = format!("{what} needs {needed} of memory, and the limit is {limit}");
        Err(Failure::new(Kind::Memory, message).hint(LESS))
    }

    /// Refuses rows × columns values of so many bytes.
    pub(crate) fn check_values(self, what: &str, rows: usize, columns: usize, size: usize) -> Outcome<()> {
        let bytes = (rows as u64).saturating_mul(columns as u64).saturating_mul(size as u64);
        self.check(what, bytes)
    }
}

/// Bytes with a name.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) name: String,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    File(PathBuf, u64),
    Memory(Arc<[u8]>),
}

/// Bytes as they come, and how many of them there can be.
pub(crate) struct Stream<'a> {
    pub(crate) bytes: Box<dyn BufRead + 'a>,
    pub(crate) most: u64,
    /// Whether `most` is exact; only then is memory allocated at once for all that a header claims.
    pub(crate) is_exact: bool,
    pub(crate) name: String,
}

/// What can be read from anywhere in it.
pub(crate) trait Seekable: Read + Seek {}
impl<T: Read + Seek> Seekable for T {}

impl Source {
    /// A file; what is no file of the disk is read at once, up to the limit.
    pub(crate) fn file(path: &Path, room: Room) -> Outcome<Self> {
        let name = shown(path);
        let metadata = std::fs::metadata(path).map_err(|error| Failure::reading(&name, &error))?;
        if metadata.is_dir() {
            return Err(Failure::data(format!("{name} is a folder")));
        }
        // A pipe has no length and can be read only once.
        if !metadata.is_file() {
            let file = File::open(path).map_err(|error| Failure::reading(&name, &error))?;
            return Self::drained(name, file, room);
        }
        Ok(Self { name, content: Content::File(path.into(), metadata.len()) })
    }

    /// Everything that comes, up to the limit.
    pub(crate) fn drained(name: String, from: impl Read, room: Room) -> Outcome<Self> {
        let mut bytes = Vec::new();
        let most = room.0.saturating_add(1);
        from.take(most).read_to_end(&mut bytes).map_err(|error| Failure::reading(&name, &error))?;
        if bytes.len() as u64 > room.0 {
            let message = format!("{name} needs more memory than the limit of {}", Bytes(room.0));
            return Err(Failure::new(Kind::Memory, message).hint(LESS));
        }
        Ok(Self::memory(name, bytes))
    }

    /// Bytes that are there already.
    pub(crate) fn memory(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { name: name.into(), content: Content::Memory(bytes.into()) }
    }

    /// Number of bytes, before any decompression.
    pub(crate) fn len(&self) -> u64 {
        match &self.content {
            Content::File(_, length) => *length,
            Content::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// The bytes as they are.
    pub(crate) fn seekable(&self) -> Outcome<Box<dyn Seekable>> {
        Ok(match &self.content {
            Content::File(path, _) => Box::new(self.open(path)?),
            Content::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
        })
    }

    /// The bytes one after the other, without their gzip if they have any.
    pub(crate) fn stream(&self) -> Outcome<Stream<'static>> {
        let mut bytes: Box<dyn BufRead + 'static> = match &self.content {
            Content::File(path, _) => Box::new(BufReader::with_capacity(1 << 16, self.open(path)?)),
            Content::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
        };
        let start = bytes.fill_buf().map_err(|error| Failure::reading(&self.name, &error))?;
        let name = self.name.clone();
        if !start.starts_with(&[0x1f, 0x8b]) {
            return Ok(Stream { bytes, most: self.len(), is_exact: true, name });
        }
        let most = self.len().saturating_mul(MOST_INFLATION);
        let bytes = Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(bytes)));
        Ok(Stream { bytes, most, is_exact: false, name })
    }

    /// The whole of it, if it fits.
    pub(crate) fn whole(&self, room: Room) -> Outcome<Arc<[u8]>> {
        match &self.content {
            Content::Memory(bytes) => Ok(Arc::clone(bytes)),
            Content::File(path, length) => {
                room.check(&self.name, *length)?;
                std::fs::read(path).map(Arc::from).map_err(|error| Failure::reading(&self.name, &error))
            }
        }
    }

    fn open(&self, path: &Path) -> Outcome<File> {
        File::open(path).map_err(|error| Failure::reading(&self.name, &error))
    }
}

impl Stream<'_> {
    /// Fills a small buffer whole.
    pub(crate) fn exactly(&mut self, buffer: &mut [u8], what: &str) -> Outcome<()> {
        self.bytes.read_exact(buffer).map_err(|error| self.short(&error, what))
    }

    /// Reads `count` values of `size` bytes. The count was checked against the source before; where it may still be too
    /// large, as with compressed data, memory grows only with what is read.
    pub(crate) fn values<T>(&mut self, count: usize, size: usize, value: impl Fn(&[u8]) -> T) -> Outcome<Vec<T>> {
        let mut values = Vec::with_capacity(if self.is_exact { count } else { count.min(1 << 20) });
        let mut buffer = vec![0; size * (CHUNK / size).max(1)];
        while values.len() < count {
            let bytes = size * (count - values.len()).min(buffer.len() / size);
            let part = &mut buffer[..bytes];
            self.bytes.read_exact(part).map_err(|error| self.short(&error, "its values"))?;
            values.extend(part.chunks_exact(size).map(&value));
        }
        Ok(values)
    }

    /// Refuses a header that claims more than the source can hold.
    pub(crate) fn check_claim(&self, what: &str, bytes: u64) -> Outcome<()> {
        if bytes <= self.most {
            return Ok(());
        }
        let (name, most) = (&self.name, self.most);
        Err(Failure::data(format!("{name}: the header claims {bytes} bytes of {what}, but there are at most {most}")))
    }

    fn short(&self, error: &std::io::Error, what: &str) -> Failure {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Failure::data(format!("{}: it ends within {what}", self.name)),
            _ => Failure::reading(&self.name, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_seen_through() {
        let mut encoder = flate2::read::GzEncoder::new(&b"hello"[..], flate2::Compression::fast());
        let mut packed = Vec::new();
        encoder.read_to_end(&mut packed).unwrap();
        let mut text = String::new();
        Source::memory("x", packed).stream().unwrap().bytes.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn what_is_claimed_must_be_there_and_fit() {
        let mut stream = Source::memory("x", &b"12345"[..]).stream().unwrap();
        assert!(stream.check_claim("numbers", 5).is_ok());
        assert_eq!(stream.check_claim("numbers", 6).unwrap_err().kind, Kind::Data);
        assert_eq!(stream.values(2, 2, |bytes| bytes[1]).unwrap(), b"24");
        assert_eq!(stream.values(1, 2, |bytes| bytes[1]).unwrap_err().kind, Kind::Data);
        assert_eq!(Room(10).check("x", 11).unwrap_err().kind, Kind::Memory);
        assert_eq!(Room(10).check_values("x", usize::MAX, usize::MAX, 8).unwrap_err().kind, Kind::Memory);
        assert_eq!(Source::drained("x".into(), &b"12345"[..], Room(4)).unwrap_err().kind, Kind::Memory);
    }
}
