//! Matrix Market: a header, sizes, and entries as text.
//!
//! ```text
//! %%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric
//! rows columns entries
//! row column value
//! ```

use super::source::{Room, Source};
use super::sparse::Rows;
use super::{Content, Loaded, Values, lines};
use crate::failure::{Failure, Outcome, clipped};

/// What the first line says.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Kind {
    is_array: bool,
    is_pattern: bool,
    /// What the entry across the diagonal is multiplied by, if there is one.
    mirrored: Option<f64>,
}

impl Kind {
    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ["%%matrixmarket", "matrix", layout @ ("coordinate" | "array"), field, symmetry] = words[..] else {
            return Err("it does not begin with %%MatrixMarket matrix coordinate or array".into());
        };
        if !["real", "double", "integer", "pattern"].contains(&field) {
            return Err(format!("its values are {}; they must be real, integer or pattern", clipped(field)));
        }
        let mirrored = match symmetry {
            "general" => None,
            "symmetric" => Some(1.0),
            "skew-symmetric" => Some(-1.0),
            _ => {
                let symmetry = clipped(symmetry);
                return Err(format!("its symmetry is {symmetry}; it must be general, symmetric or skew-symmetric"));
            }
        };
        Ok(Self { is_array: layout == "array", is_pattern: field == "pattern", mirrored })
    }
}

/// A matrix in the making.
struct Matrix {
    kind: Kind,
    /// Rows, columns and entries that the header claims.
    sizes: Option<[usize; 3]>,
    entries: Vec<(u32, u32, f64)>,
}

/// A sparse matrix, or a dense one from an array.
pub(super) fn read(source: &Source, room: Room) -> Outcome<Loaded> {
    let mut stream = source.stream()?;
    let mut first = Vec::new();
    let head = std::io::BufRead::read_until(&mut std::io::Read::take(&mut stream.bytes, 4096), b'\n', &mut first);
    head.map_err(|error| Failure::reading(&source.name, &error))?;
    let kind = Kind::parse(&String::from_utf8_lossy(&first))
        .map_err(|problem| Failure::data(format!("{}: {problem}", source.name)))?;
    let (most, name) = (stream.most, stream.name.clone());
    let mut matrix = Matrix { kind, sizes: None, entries: Vec::new() };
    lines::for_each(&mut stream, &['%'], |number, text| {
        let taken =
            matrix.line(text, most, room).map_err(|failure| failure.about(format_args!("{name}, line {}", number + 1)));
        taken.map(|_| ())
    })?;
    matrix.finish().map_err(|failure| failure.about(&name))
}

impl Matrix {
    fn line(&mut self, text: &str, most: u64, room: Room) -> Outcome<()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some([height, width, claimed]) = self.sizes else {
            return self.begin(&words, most, room);
        };
        let number = |word: &str| {
            word.parse::<f64>().map_err(|_| Failure::data(format!("\"{}\" is not a number", clipped(word))))
        };
        if self.entries.len() == claimed {
            return Err(Failure::data(format!("there are more than the {claimed} entries that the header claims")));
        }
        if self.kind.is_array {
            let [word] = words[..] else { return Err(Failure::data("an array has one value in each line")) };
            let (row, column) = self.next_of_array(height);
            self.entries.push((row, column, number(word)?));
            return Ok(());
        }
        let place = |word: &str, most: usize| {
            let index = word.parse::<usize>().ok().filter(|index| (1..=most).contains(index));
            index.ok_or_else(|| Failure::data(format!("\"{}\" must be from 1 to {most}", clipped(word))))
        };
        let value = match (&words[..], self.kind.is_pattern) {
            ([_, _], true) => 1.0,
            ([_, _, value], false) => number(value)?,
            _ => return Err(Failure::data("an entry is a row, a column and, but for patterns, a value")),
        };
        let (row, column) = (place(words[0], height)? - 1, place(words[1], width)? - 1);
        self.entries.push((row as u32, column as u32, value));
        Ok(())
    }

    /// The line of sizes.
    fn begin(&mut self, words: &[&str], most: u64, room: Room) -> Outcome<()> {
        let numbers: Result<Vec<usize>, _> = words.iter().map(|word| word.parse()).collect();
        let (height, width, claimed) = match (numbers.as_deref(), self.kind.is_array) {
            (Ok(&[height, width, entries]), false) => (height, width, entries),
            (Ok(&[height, width]), true) => (height, width, self.kind.array_len(height, width)),
            _ => return Err(Failure::data("after the header come the numbers of rows, columns and entries")),
        };
        if height > u32::MAX as usize || width > u32::MAX as usize {
            return Err(Failure::data(format!("{height} rows and {width} columns are too many")));
        }
        if self.kind.mirrored.is_some() && height != width {
            return Err(Failure::data(format!("a symmetric matrix cannot have {height} rows and {width} columns")));
        }
        if height == 0 || width == 0 {
            return Err(Failure::data(format!("{height} rows and {width} columns hold no values")));
        }
        // The shortest entry is "1 1" or "0", and the end of its line.
        let shortest = if self.kind.is_array { 2 } else { 4 };
        if (claimed as u64).saturating_mul(shortest) > most.saturating_add(1) {
            return Err(Failure::data(format!(
                "the header claims {claimed} entries, but the file has at most {most} bytes"
            )));
        }
        room.check_values("the matrix", claimed, 1, 40)?;
        self.sizes = Some([height, width, claimed]);
        Ok(())
    }

    /// Where the next value of an array belongs: columns one after the other; of a symmetric one the lower half.
    fn next_of_array(&self, height: usize) -> (u32, u32) {
        let first = |column: u32| match self.kind.mirrored {
            None => 0,
            Some(1.0) => column,
            Some(_) => column + 1,
        };
        match self.entries.last() {
            None => (first(0), 0),
            Some(&(row, column, _)) if row as usize + 1 < height => (row + 1, column),
            Some(&(_, column, _)) => (first(column + 1), column + 1),
        }
    }

    fn finish(mut self) -> Outcome<Loaded> {
        let Some([height, width, claimed]) = self.sizes else { return Err(Failure::data("it ends before its sizes")) };
        if self.entries.len() != claimed {
            let found = self.entries.len();
            return Err(Failure::data(format!("the header claims {claimed} entries, but there are {found}")));
        }
        if let Some(sign) = self.kind.mirrored {
            let across: Vec<_> =
                self.entries.iter().filter(|(i, j, _)| i != j).map(|&(i, j, v)| (j, i, sign * v)).collect();
            self.entries.extend(across);
        }
        if !self.kind.is_array {
            let rows = Rows::from_entries((height, width), &self.entries, |a, b| a + b)?;
            return Ok(Loaded::new(Content::Sparse(rows)));
        }
        let mut values = vec![0.0; height * width];
        self.entries.iter().for_each(|&(row, column, value)| values[row as usize * width + column as usize] = value);
        Ok(Loaded::new(Content::Dense(Values::F64(values).into_samples(height, width)?)))
    }
}

impl Kind {
    /// Values that an array of this size stores.
    fn array_len(self, height: usize, width: usize) -> usize {
        let triangle = |n: usize| n.saturating_mul(n.saturating_add(1)) / 2;
        match self.mirrored {
            None => height.saturating_mul(width),
            Some(1.0) => triangle(height),
            Some(_) => triangle(height.saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(text: &str) -> Vec<f64> {
        super::super::doubles(&read(&Source::memory("a.mtx", text.as_bytes()), Room(1 << 20)).unwrap().content)
    }

    #[test]
    fn every_layout_is_read() {
        let head = "%%MatrixMarket matrix";
        assert_eq!(
            dense(&format!("{head} coordinate real general\n% note\n2 2 2\n1 2 0.5\n2 1 -1e1\n")),
            [0.0, 0.5, -10.0, 0.0]
        );
        assert_eq!(dense(&format!("{head} coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n")), [1.0, 1.0, 1.0, 0.0]);
        assert_eq!(dense(&format!("{head} array real general\n2 2\n1\n2\n3\n4\n")), [1.0, 3.0, 2.0, 4.0]);
        assert_eq!(dense(&format!("{head} array integer symmetric\n2 2\n1\n2\n3\n")), [1.0, 2.0, 2.0, 3.0]);
        assert_eq!(dense(&format!("{head} array real skew-symmetric\n2 2\n5\n")), [0.0, -5.0, 5.0, 0.0]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |text: &str| {
            read(&Source::memory("a.mtx", text.as_bytes()), Room(1 << 20)).map(|_| ()).unwrap_err().message
        };
        let head = "%%MatrixMarket matrix coordinate real general\n";
        assert!(message("1 2 3").contains("does not begin with"));
        assert!(message(&format!("{head}2 2 99999999999\n")).contains("claims 99999999999 entries"));
        assert!(message(&format!("{head}2 2 2\n1 1 1\n")).contains("claims 2 entries, but there are 1"));
        assert!(message(&format!("{head}2 2 1\n1 3 1\n")).contains("line 3: \"3\" must be from 1 to 2"));
        assert!(message(&format!("{head}2 2 1\n1 2 x\n")).contains("\"x\" is not a number"));
        assert!(message(&format!("{head}1000000000 2 0\n")).contains("nearly empty"));
        let array = "%%MatrixMarket matrix array real general\n4294967295 0\n";
        assert!(message(array).contains("line 2: 4294967295 rows and 0 columns hold no values"));
    }
}
