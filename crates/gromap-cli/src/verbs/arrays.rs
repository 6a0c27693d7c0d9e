//! Labels and coordinates as files: tables with a header, or arrays of numpy.

use std::io::{Cursor, Write};
use std::path::Path;

use gromap::Matrix;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::failure::{Failure, Outcome, shown};

/// How arrays are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Tsv,
    Npy,
}

impl Format {
    /// The format that a name tells; a table with commas where there is none. `or` is what else a name may tell.
    pub(super) fn of(path: Option<&Path>, or: &str) -> Outcome<Self> {
        Self::of_option("-o", path, or)
    }

    /// The same for the file of another option.
    pub(super) fn of_option(option: &str, path: Option<&Path>, or: &str) -> Outcome<Self> {
        let Some(path) = path else { return Ok(Self::Csv) };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("tsv") => Ok(Self::Tsv),
            Some("npy") => Ok(Self::Npy),
            // A device or a pipe has no format of its own.
            _ if path.exists() && !path.is_file() => Ok(Self::Csv),
            _ => Err(Failure::usage(format!("{option} {} must end in .csv, .tsv or .npy{or}", shown(path)))),
        }
    }
}

/// What there is to say of every sample.
pub(super) struct Table<'a> {
    pub(super) ids: Option<&'a [String]>,
    pub(super) labels: Option<&'a [u32]>,
    pub(super) places: Option<&'a Matrix<'a>>,
}

impl Table<'_> {
    pub(super) fn bytes(&self, format: Format) -> Outcome<Vec<u8>> {
        self.bytes_of("sample", format)
    }

    /// The same of something else than samples.
    pub(super) fn bytes_of(&self, what: &str, format: Format) -> Outcome<Vec<u8>> {
        match format {
            Format::Csv => self.text(what, b','),
            Format::Tsv => self.text(what, b'\t'),
            Format::Npy => Ok(self.array()),
        }
    }

    /// An array of coordinates, or of labels if there are no coordinates.
    fn array(&self) -> Vec<u8> {
        if let Some(places) = self.places {
            let shape = format!("({}, {})", places.rows(), places.columns());
            return array("<f8", &shape, places.values().iter().flat_map(|value| value.to_le_bytes()));
        }
        let labels = self.labels.unwrap_or_default();
        let values = labels.iter().flat_map(|&label| i64::from(label).to_le_bytes());
        array("<i8", &format!("({},)", labels.len()), values)
    }

    fn text(&self, what: &str, delimiter: u8) -> Outcome<Vec<u8>> {
        let count = self.labels.map(<[u32]>::len).or(self.places.map(Matrix::rows)).unwrap_or(0);
        let dims = self.places.map_or(0, Matrix::columns);
        let mut header = vec![what.to_owned()];
        header.extend(self.labels.map(|_| "label".to_owned()));
        header.extend((0..dims).map(|axis| axis_name(axis, dims)));
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        let trouble = |error: csv::Error| Failure::data(error.to_string());
        writer.write_record(&header).map_err(trouble)?;
        for i in 0..count {
            let mut row = vec![self.ids.map_or_else(|| i.to_string(), |ids| harmless(&ids[i]))];
            row.extend(self.labels.map(|labels| labels[i].to_string()));
            row.extend(self.places.into_iter().flat_map(|places| places.row(i)).map(ToString::to_string));
            writer.write_record(&row).map_err(trouble)?;
        }
        writer.into_inner().map_err(|error| Failure::data(error.to_string()))
    }
}

/// A matrix: in a table, its rows and columns go by their numbers, and `what` names the rows.
pub(super) fn matrix(what: &str, values: &Matrix<'_>, format: Format) -> Outcome<Vec<u8>> {
    let delimiter = match format {
        Format::Csv => b',',
        Format::Tsv => b'\t',
        Format::Npy => return Ok(Table { ids: None, labels: None, places: Some(values) }.array()),
    };
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    let trouble = |error: csv::Error| Failure::data(error.to_string());
    let header = std::iter::once(what.to_owned()).chain((0..values.columns()).map(|column| column.to_string()));
    writer.write_record(header).map_err(trouble)?;
    for i in 0..values.rows() {
        let row = std::iter::once(i.to_string()).chain(values.row(i).iter().map(ToString::to_string));
        writer.write_record(row).map_err(trouble)?;
    }
    writer.into_inner().map_err(|error| Failure::data(error.to_string()))
}

/// Text as a cell that no spreadsheet takes for a formula: an apostrophe marks it as text. Numbers are numbers.
pub(super) fn harmless(text: &str) -> String {
    let is_number = || text.parse().is_ok_and(f64::is_finite);
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number() {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}

/// x, y, z; where there are more, axes have numbers.
fn axis_name(axis: usize, dims: usize) -> String {
    match ["x", "y", "z"].get(axis) {
        Some(name) if dims <= 3 => (*name).into(),
        _ => format!("x{axis}"),
    }
}

/// Coordinates as lists, for JSON.
pub(super) fn rows<'a>(places: &'a Matrix<'_>) -> Vec<&'a [f64]> {
    (0..places.rows()).map(|i| places.row(i)).collect()
}

/// How clusters relate and what they weigh.
pub(super) struct CoarseGraph<'a> {
    pub(super) target: &'a Matrix<'a>,
    pub(super) weights: &'a [f64],
}

impl CoarseGraph<'_> {
    /// Two arrays of numpy in one file, without a date: the same graph is the same bytes.
    pub(super) fn archive(&self) -> Outcome<Vec<u8>> {
        let n = self.weights.len();
        let bytes = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let target = array("<f8", &format!("({n}, {n})"), bytes(self.target.values()).into_iter());
        let weights = array("<f8", &format!("({n},)"), bytes(self.weights).into_iter());
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .last_modified_time(zip::DateTime::default());
        let trouble = |error: &dyn std::fmt::Display| Failure::data(format!("cannot make an archive: {error}"));
        for (name, array) in [("target.npy", target), ("weights.npy", weights)] {
            archive.start_file(name, options).map_err(|error| trouble(&error))?;
            archive.write_all(&array).map_err(|error| trouble(&error))?;
        }
        archive.finish().map(Cursor::into_inner).map_err(|error| trouble(&error))
    }

    /// The target as a matrix, with the weights in a comment.
    pub(super) fn matrix_market(&self) -> Vec<u8> {
        let (n, words) = (self.weights.len(), |values: &mut dyn Iterator<Item = f64>, between: &str| {
            values.map(|value| value.to_string()).collect::<Vec<_>>().join(between)
        });
        let weights = words(&mut self.weights.iter().copied(), " ");
        // Column by column.
        let entries = words(&mut (0..n * n).map(|at| self.target[(at % n, at / n)]), "\n");
        format!("%%MatrixMarket matrix array real general\n% weights of the clusters: {weights}\n{n} {n}\n{entries}\n")
            .into()
    }
}

/// An array as numpy writes it: the values begin at a multiple of 64 bytes.
fn array(descr: &str, shape: &str, values: impl Iterator<Item = u8>) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{text:<width$}\n", width = length - 1).bytes());
    bytes.extend(values);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_name_samples_and_axes() {
        let places = Matrix::new(vec![0.5, 1.0, 2.0, -3.0], 2, 2).unwrap();
        let ids = ["a".to_owned(), "b,c".into()];
        let table = Table { ids: Some(&ids), labels: Some(&[7, 8]), places: Some(&places) };
        let text = String::from_utf8(table.bytes(Format::Csv).unwrap()).unwrap();
        assert_eq!(text, "sample,label,x,y\na,7,0.5,1\n\"b,c\",8,2,-3\n");
    }

    #[test]
    fn text_is_never_a_formula() {
        for text in ["=1+1", "+cmd", "-x", "-", "@SUM(A1)", "\t=1", "\r=1", "-1+1"] {
            assert_eq!(harmless(text), format!("'{text}"));
        }
        for text in ["", "a=1", "-1", "+2.5", "-1e3", "7", "'x"] {
            assert_eq!(harmless(text), text);
        }
        let ids = ["=1+1".to_owned(), "-5".into()];
        let places = Matrix::new(vec![-0.5, 1.0], 2, 1).unwrap();
        let table = Table { ids: Some(&ids), labels: None, places: Some(&places) };
        assert_eq!(table.bytes(Format::Csv).unwrap(), b"sample,x\n'=1+1,-0.5\n-5,1\n");
    }

    #[test]
    fn arrays_are_those_of_numpy() {
        let bytes = Table { ids: None, labels: Some(&[7, 8]), places: None }.bytes(Format::Npy).unwrap();
        assert_eq!((bytes.len(), &bytes[..8], bytes[127]), (144, &b"\x93NUMPY\x01\x00"[..], b'\n'));
        assert_eq!(bytes[128..], [7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    }
}
