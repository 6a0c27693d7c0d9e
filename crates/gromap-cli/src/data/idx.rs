//! IDX, the format of MNIST: a type, axes, and values, most significant byte first.
//!
//! ```text
//! 0 0 type axes  length of each axis (4 bytes)  values
//! ```
//!
//! Pixels (type 8, three axes) become numbers from 0 to 1 in single precision. The labels of `…-images-idx3-ubyte` are found
//! beside it, in `…-labels-idx1-ubyte`, with or without gzip.

use std::path::{Path, PathBuf};

use super::source::{Room, Source, Stream};
use super::{Content, Loaded, Values};
use crate::args::values::Picture;
use crate::failure::{Failure, Outcome};

struct Header {
    kind: u8,
    shape: Vec<usize>,
}

impl Header {
    fn read(stream: &mut Stream<'_>) -> Outcome<Self> {
        let mut start = [0; 4];
        stream.exactly(&mut start, "the header")?;
        let [zero, other, kind, axes] = start;
        if (zero, other) != (0, 0) || !(1..=4).contains(&axes) || size(kind).is_none() {
            return Err(Failure::data(format!("{}: it is not an IDX file: it begins with {start:?}", stream.name)));
        }
        let mut shape = Vec::new();
        for _ in 0..axes {
            let mut length = [0; 4];
            stream.exactly(&mut length, "the header")?;
            shape.push(u32::from_be_bytes(length) as usize);
        }
        Ok(Self { kind, shape })
    }

    /// Number of values, if the file can have them.
    fn count(&self, stream: &Stream<'_>) -> Outcome<usize> {
        let count = self.shape.iter().fold(1_u64, |product, &axis| product.saturating_mul(axis as u64));
        if count == 0 {
            return Err(Failure::data(format!("{}: its shape {:?} holds no values", stream.name, self.shape)));
        }
        stream.check_claim("values", count.saturating_mul(size(self.kind).unwrap_or(1) as u64))?;
        Ok(count as usize)
    }

    fn rows_and_columns(&self) -> (usize, usize) {
        (self.shape[0], self.shape[1..].iter().product())
    }
}

/// Bytes of a value of this type.
fn size(kind: u8) -> Option<usize> {
    match kind {
        8 | 9 => Some(1),
        0x0b => Some(2),
        0x0c | 0x0d => Some(4),
        0x0e => Some(8),
        _ => None,
    }
}

fn number(kind: u8, bytes: &[u8]) -> f64 {
    let bits = bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    match kind {
        9 => f64::from(bits as u8 as i8),
        0x0b => f64::from(bits as u16 as i16),
        0x0c => f64::from(bits as u32 as i32),
        0x0d => f64::from(f32::from_bits(bits as u32)),
        0x0e => f64::from_bits(bits),
        _ => bits as f64,
    }
}

/// Samples from a file.
pub(super) fn read(source: &Source, room: Room) -> Outcome<Loaded> {
    let mut stream = source.stream()?;
    let header = Header::read(&mut stream)?;
    let count = header.count(&stream)?;
    if header.shape.len() < 2 {
        return Err(Failure::data(format!("{}: one axis; these are labels, not samples", stream.name)));
    }
    let (rows, columns) = header.rows_and_columns();
    let (kind, width) = (header.kind, size(header.kind).unwrap_or(1));
    room.check_values(&stream.name, count, 1, if kind == 0x0e { 8 } else { 4 })?;
    let values = match kind {
        8 => Values::F32(stream.values(count, 1, |byte| f32::from(byte[0]) / 255.0)?),
        0x0e => Values::F64(stream.values(count, width, |bytes| number(kind, bytes))?),
        _ => Values::F32(stream.values(count, width, |bytes| number(kind, bytes) as f32)?),
    };
    let picture = match *header.shape.as_slice() {
        [_, height, width] => Some(Picture { width, height, channels: 1 }),
        _ => None,
    };
    Ok(Loaded { picture, ..Loaded::new(Content::Dense(values.into_samples(rows, columns)?)) })
}

/// Number of samples and features, and whether they are of single precision, without their values.
pub(super) fn extent(source: &Source) -> Outcome<((usize, usize), bool)> {
    let mut stream = source.stream()?;
    let header = Header::read(&mut stream)?;
    header.count(&stream)?;
    Ok((header.rows_and_columns(), header.kind != 0x0e))
}

/// Labels from a file of one axis.
pub(super) fn labels(source: &Source, room: Room) -> Outcome<Vec<String>> {
    let mut stream = source.stream()?;
    let header = Header::read(&mut stream)?;
    let count = header.count(&stream)?;
    if header.shape.len() != 1 {
        let axes = header.shape.len();
        return Err(Failure::data(format!("{}: {axes} axes; labels have one", stream.name)));
    }
    room.check_values(&stream.name, count, 1, 32)?;
    let kind = header.kind;
    stream.values(count, size(kind).unwrap_or(1), |bytes| number(kind, bytes).to_string())
}

/// The labels that go with a file of images, if they are beside it.
pub(super) fn labels_beside(path: &Path, room: Room) -> Outcome<Option<Vec<String>>> {
    let Some(found) = beside(path) else { return Ok(None) };
    labels(&Source::file(&found, room)?, room).map(Some)
}

/// The file of labels that belongs to a file of images.
pub(super) fn beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    // Some copies of MNIST write a dot where others write a dash.
    let (stem, dash) = ["-images-idx3-ubyte", "-images.idx3-ubyte"]
        .iter()
        .find_map(|ending| plain.strip_suffix(ending).map(|stem| (stem, ending.contains("images-"))))?;
    let labels = if dash { "-labels-idx1-ubyte" } else { "-labels.idx1-ubyte" };
    let candidates = [format!("{stem}{labels}"), format!("{stem}{labels}.gz")];
    candidates.iter().map(|name| path.with_file_name(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use gromap::data::Samples;

    use super::*;

    fn file(kind: u8, shape: &[u32], values: &[u8]) -> Source {
        let mut bytes = vec![0, 0, kind, shape.len() as u8];
        shape.iter().for_each(|axis| bytes.extend(axis.to_be_bytes()));
        bytes.extend(values);
        Source::memory("x-ubyte", bytes)
    }

    #[test]
    fn pixels_become_shares_and_other_numbers_stay() {
        let loaded = read(&file(8, &[1, 1, 2], &[255, 51]), Room(100)).unwrap();
        assert_eq!(loaded.picture, Some(Picture { width: 2, height: 1, channels: 1 }));
        assert!(matches!(loaded.content, Content::Dense(Samples::F32(m)) if m.values() == [1.0, 0.2]));
        let content = read(&file(0x0b, &[2, 1], &[0xff, 0xfe, 0, 5]), Room(100)).unwrap().content;
        assert!(matches!(content, Content::Dense(Samples::F32(m)) if m.values() == [-2.0, 5.0]));
        assert_eq!(labels(&file(8, &[2], &[7, 3]), Room(100)).unwrap(), ["7", "3"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |source: &Source| read(source, Room(1 << 20)).map(|_| ()).unwrap_err().message;
        assert!(message(&file(8, &[60000, 28, 28], &[0; 10])).contains("claims 47040000 bytes"));
        assert!(message(&file(8, &[u32::MAX, u32::MAX, u32::MAX], &[])).contains("claims"));
        assert!(message(&file(8, &[0, u32::MAX, u32::MAX, u32::MAX], &[])).contains("holds no values"));
        assert!(message(&file(7, &[1, 1], &[0])).contains("not an IDX file"));
        assert!(message(&file(8, &[2], &[7, 3])).contains("labels, not samples"));
    }
}
