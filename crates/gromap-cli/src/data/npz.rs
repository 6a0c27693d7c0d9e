//! Archives of numpy arrays: X and y, or the layout of `scipy.sparse.save_npz`.

use std::io::BufReader;

use zip::ZipArchive;

use super::npy::Header;
use super::source::{Room, Seekable, Source, Stream};
use super::sparse::Rows;
use super::{Content, Loaded, Values, Wanted};
use crate::failure::{Failure, Outcome, clipped, listed};

/// Deflate makes at most 1,032 bytes of one.
const MOST_INFLATION: u64 = 1032;

/// An archive, and the names of its arrays.
struct Arrays {
    archive: ZipArchive<Box<dyn Seekable>>,
    names: Vec<String>,
    source: String,
    room: Room,
}

impl Arrays {
    fn open(source: &Source, room: Room) -> Outcome<Self> {
        let bad = |error: &dyn std::fmt::Display| {
            Failure::data(format!("{}: it is no archive of arrays: {error}", source.name))
        };
        let archive = ZipArchive::new(source.seekable()?).map_err(|error| bad(&error))?;
        let names = archive.file_names().filter_map(|name| Some(name.ok()?.strip_suffix(".npy")?.to_owned())).collect();
        Ok(Self { archive, names, source: source.name.clone(), room })
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }

    /// Reads one array.
    fn read<T>(&mut self, name: &str, read: impl FnOnce(&Header, &mut Stream<'_>, Room) -> Outcome<T>) -> Outcome<T> {
        let label = format!("{}, array {}", self.source, clipped(name));
        let bad = |error: zip::result::ZipError| Failure::data(format!("{label}: {error}"));
        let entry = self.archive.by_name(&format!("{name}.npy")).map_err(bad)?;
        let most = entry.size().min(entry.compressed_size().saturating_mul(MOST_INFLATION));
        let mut stream = Stream { bytes: Box::new(BufReader::new(entry)), most, is_exact: false, name: label.clone() };
        let header = Header::read(&mut stream)?;
        read(&header, &mut stream, self.room)
    }

    fn numbers(&mut self, name: &str) -> Outcome<Vec<f64>> {
        self.read(name, |header, stream, room| header.numbers(stream, room)).map(|values| values.to_f64())
    }

    /// Whole numbers that are not negative.
    fn counts(&mut self, name: &str) -> Outcome<Vec<usize>> {
        let numbers = self.numbers(name)?;
        let wrong = numbers.iter().position(|&number| number < 0.0 || number.fract() != 0.0 || number > 2f64.powi(53));
        if let Some(at) = wrong {
            let message = format!("{}, array {}: entry {at} is {}", self.source, clipped(name), numbers[at]);
            return Err(Failure::data(message));
        }
        Ok(numbers.iter().map(|&number| number as usize).collect())
    }
}

/// Samples or a sparse matrix, with labels.
pub(super) fn read(source: &Source, wanted: &Wanted, room: Room) -> Outcome<Loaded> {
    let mut arrays = Arrays::open(source, room)?;
    let mut loaded = if arrays.has("format") && arrays.has("shape") {
        let rows = sparse(&mut arrays).map_err(|failure| failure.about(&source.name))?;
        Loaded::new(Content::Sparse(rows))
    } else {
        let name = samples_name(&arrays)?;
        arrays.read(&name, |header, stream, room| header.samples(stream, room))?
    };
    let labels = wanted.labels.as_deref().filter(|name| arrays.has(name)).or(arrays.has("y").then_some("y"));
    // What was asked for and is not here is a file.
    let asked_elsewhere = wanted.labels.as_deref().is_some_and(|name| !arrays.has(name));
    if let Some(name) = labels.filter(|_| !asked_elsewhere) {
        let name = name.to_owned();
        loaded.labels = Some(arrays.read(&name, |header, stream, room| header.labels(stream, room))?);
    }
    if let Some(name) = wanted.weights.as_deref().filter(|name| arrays.has(name)) {
        loaded.weights = Some(arrays.numbers(name)?);
    }
    loaded.names = arrays.names;
    Ok(loaded)
}

/// X, or the only array there is besides y.
fn samples_name(arrays: &Arrays) -> Outcome<String> {
    let others: Vec<&String> = arrays.names.iter().filter(|name| !["y", "labels"].contains(&name.as_str())).collect();
    match others.as_slice() {
        _ if arrays.has("X") => Ok("X".into()),
        [only] => Ok((*only).clone()),
        _ => {
            let names = listed(arrays.names.iter().map(String::as_str));
            let message = format!("{}: no array is named X; there are {names}", arrays.source);
            Err(Failure::data(message).hint("save it with numpy.savez(file, X=samples, y=labels)"))
        }
    }
}

/// scipy's rows, columns or coordinates.
fn sparse(arrays: &mut Arrays) -> Outcome<Rows> {
    let format = arrays.read("format", |header, stream, room| header.labels(stream, room))?;
    let shape = arrays.counts("shape")?;
    let [height, width] = shape[..] else { return Err(Failure::data("its shape has not two numbers")) };
    let data = arrays.read("data", |header, stream, room| header.numbers(stream, room))?;
    let small = |numbers: Vec<usize>, most: usize, what: &str| -> Outcome<Vec<u32>> {
        let wrong = numbers.iter().find(|&&number| number >= most.min(u32::MAX as usize));
        match wrong {
            Some(number) => Err(Failure::data(format!("{what} {number} is beyond the {most} there are"))),
            None => Ok(numbers.into_iter().map(|number| number as u32).collect()),
        }
    };
    match format.first().map(String::as_str) {
        Some("csr") => {
            let columns = small(arrays.counts("indices")?, width, "column")?;
            let offsets = arrays.counts("indptr")?;
            if offsets.len() != height.saturating_add(1) {
                return Err(Failure::data(format!("{height} rows need {height} + 1 offsets, not {}", offsets.len())));
            }
            Rows::from_parts(offsets, columns, data, width)
        }
        Some("csc") => {
            let rows = small(arrays.counts("indices")?, height, "row")?;
            let offsets = arrays.counts("indptr")?;
            let values = data.to_f64();
            let ends = (offsets.first(), offsets.last()) == (Some(&0), Some(&rows.len()));
            let fits = offsets.len() == width.saturating_add(1) && offsets.is_sorted() && ends;
            if !fits || values.len() != rows.len() {
                return Err(Failure::data(
                    "the compressed columns are damaged: indptr, indices and data do not fit together",
                ));
            }
            let column = |at: usize| offsets.partition_point(|&offset| offset <= at) - 1;
            let entries: Vec<_> = (0..rows.len()).map(|at| (rows[at], column(at) as u32, values[at])).collect();
            from_entries((height, width), &entries, &data)
        }
        Some("coo") => {
            let rows = small(arrays.counts("row")?, height, "row")?;
            let columns = small(arrays.counts("col")?, width, "column")?;
            let values = data.to_f64();
            if rows.len() != values.len() || columns.len() != values.len() {
                return Err(Failure::data("row, col and data differ in length"));
            }
            let entries: Vec<_> = (0..rows.len()).map(|at| (rows[at], columns[at], values[at])).collect();
            from_entries((height, width), &entries, &data)
        }
        other => Err(Failure::data(format!("a sparse matrix of format {}", clipped(other.unwrap_or("?"))))
            .hint("save it with .tocsr()")),
    }
}

/// Entries that stand for the same place are added, as scipy does; single precision stays single.
fn from_entries(size: (usize, usize), entries: &[(u32, u32, f64)], data: &Values) -> Outcome<Rows> {
    let rows = Rows::from_entries(size, entries, |a, b| a + b)?;
    Ok(match data {
        Values::F32(_) => rows.with_precision(crate::args::options::Precision::F32),
        Values::F64(_) => rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Role;

    /// Columns that begin after the first value leave it without one.
    #[test]
    fn compressed_columns_begin_at_the_first_value() {
        use std::io::Write;
        let array = |descr: &str, shape: &str, values: &[u8]| {
            let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
            [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), values].concat()
        };
        let load = |offsets: [u8; 3]| {
            let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            let arrays = [
                ("format", array("|S3", "()", b"csc")),
                ("shape", array("|u1", "(2,)", &[2, 2])),
                ("indices", array("|u1", "(2,)", &[0, 1])),
                ("indptr", array("|u1", "(3,)", &offsets)),
                ("data", array("|u1", "(2,)", &[5, 6])),
            ];
            for (name, bytes) in arrays {
                writer.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
                writer.write_all(&bytes).unwrap();
            }
            let source = Source::memory("a.npz", writer.finish().unwrap().into_inner());
            let (rules, table, text) = (None, None, None);
            let wanted = Wanted { labels: None, weights: None, features: None, others: Role::Text, rules, table, text };
            read(&source, &wanted, Room(1 << 20))
        };
        assert_eq!(super::super::doubles(&load([0, 1, 2]).unwrap().content), [5.0, 0.0, 0.0, 6.0]);
        assert!(load([1, 1, 2]).unwrap_err().message.contains("compressed columns are damaged"));
    }
}
