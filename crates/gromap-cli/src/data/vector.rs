//! One value for each sample, from a file of its own: labels, weights, a start.
//!
//! `.npy`, IDX, or text with one value in each line; of a table, the column that is called label, labels, class, y, weight or
//! weights, or the only one there is.

use std::path::Path;

use super::idx;
use super::lines::Records;
use super::npy::Header;
use super::source::{Room, Source};
use crate::failure::{Failure, Outcome, clipped, listed};

/// Names of columns that hold labels or weights.
const NAMES: [&str; 8] = ["label", "labels", "class", "classes", "y", "weight", "weights", "cluster"];

/// Reads the values as text. Where a line could be a header or a value, the number of samples decides: see [`fitting`].
pub(crate) fn read(path: &Path, room: Room) -> Outcome<Vec<String>> {
    of(&Source::file(path, room)?, room)
}

/// The values of a source, whose name tells the format.
pub(super) fn of(source: &Source, room: Room) -> Outcome<Vec<String>> {
    let name = source.name.to_lowercase();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    if plain.ends_with(".npy") {
        let mut stream = source.stream()?;
        return Header::read(&mut stream)?.labels(&mut stream, room);
    }
    if plain.ends_with("-ubyte") || plain.ends_with(".idx") {
        return idx::labels(source, room);
    }
    lines(source, if plain.ends_with(".tsv") { b'\t' } else { b',' }, room)
}

/// Values in text, with the header if there may be one.
fn lines(source: &Source, delimiter: u8, room: Room) -> Outcome<Vec<String>> {
    let mut records = Records::new(source.stream()?, delimiter, room);
    let (mut values, mut column, mut held) = (Vec::new(), None, 0);
    while let Some(record) = records.next()? {
        let cells: Vec<String> = record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect();
        let line = record.position().map_or(0, csv::Position::line);
        let at = match column {
            Some(column) => column,
            None => {
                let found = if cells.len() == 1 { Some(0) } else { named(&cells) };
                let Some(found) = found else {
                    let (file, columns) = (&source.name, listed(cells.iter().map(String::as_str)));
                    let message =
                        format!("{file} has the columns {columns}; one of them must be called label or weight");
                    return Err(Failure::data(message));
                };
                column = Some(found);
                if cells.len() > 1 {
                    continue;
                }
                found
            }
        };
        let value = cells.get(at).ok_or_else(|| {
            Failure::data(format!(
                "{}, line {line}: {} cells, but the value is in cell {}",
                source.name,
                cells.len(),
                at + 1
            ))
        })?;
        held += (value.len() + size_of::<String>()) as u64;
        room.check(&source.name, held)?;
        values.push(value.clone());
    }
    Ok(values)
}

fn named(cells: &[String]) -> Option<usize> {
    NAMES.iter().find_map(|name| cells.iter().position(|cell| cell.to_lowercase() == *name))
}

/// The values of `samples` samples: one more is a header.
pub(crate) fn fitting(mut values: Vec<String>, samples: usize, what: &str) -> Outcome<Vec<String>> {
    if values.len() == samples + 1 {
        values.remove(0);
    }
    if values.len() != samples {
        return Err(Failure::data(format!("there are {} {what}, but {samples} samples", values.len())));
    }
    Ok(values)
}

/// Values that must be numbers.
pub(crate) fn numbers(values: &[String], name: &str) -> Outcome<Vec<f64>> {
    let number = |(row, value): (usize, &String)| {
        let bad = |_| Failure::data(format!("{}: value {row} is \"{}\", not a number", clipped(name), clipped(value)));
        value.parse().map_err(bad)
    };
    values.iter().enumerate().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Outcome<Vec<String>> {
        lines(&Source::memory("l.csv", text.as_bytes()), b',', Room(1 << 20))
    }

    #[test]
    fn one_column_or_the_one_with_a_name() {
        assert_eq!(load("a\nb\n").unwrap(), ["a", "b"]);
        assert_eq!(load("sample,label\n0,x\n1,y\n").unwrap(), ["x", "y"]);
        assert!(load("p,q\n0,x\n").unwrap_err().message.contains("the columns p, q"));
    }

    #[test]
    fn an_endless_line_is_refused() {
        let failure = load(&format!("a\n{}", "b".repeat(1 << 20))).unwrap_err();
        assert!(failure.message.starts_with("l.csv, line 2: the row that begins here is longer than"));
        let failure = numbers(&["1".into(), "x".repeat(5_000_000)], "w.csv").unwrap_err();
        assert!(failure.message.starts_with("w.csv: value 1 is \"xxx") && failure.message.len() < 200);
    }

    #[test]
    fn the_number_of_samples_tells_a_header() {
        let values = || load("label\na\nb\n").unwrap();
        assert_eq!(fitting(values(), 2, "labels").unwrap(), ["a", "b"]);
        assert_eq!(fitting(values(), 3, "labels").unwrap(), ["label", "a", "b"]);
        assert!(fitting(values(), 5, "labels").unwrap_err().message.contains("3 labels, but 5 samples"));
    }
}
