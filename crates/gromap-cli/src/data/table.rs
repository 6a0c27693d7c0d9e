//! Tables of text, `.csv` and `.tsv`: a header, then one sample in each row.
//!
//! Columns of numbers are features. The columns of labels and weights are named by the user; a column that is called id, index
//! or name (or nothing, as pandas writes its index) names the samples; columns of text are kept to be shown. A column that is
//! numbers in some rows and text in others is a mistake, and so is a missing number: both are named by line and column. Where
//! a model says by name which columns are its features, only those are looked at, in whatever order they come.

use std::io::BufRead;

use csv::ByteRecord;
use gromap::table::{Kind as FieldKind, Shell, decimal, is_missing, names_samples};

use super::lines::Records;
use super::source::{Room, Source, Stream};
use super::{Content, Loaded, Values, Wanted};
use crate::failure::{Failure, Kind, Outcome, clipped, listed};

/// Rows from which it is told what each column is.
const LOOKED_AT: usize = 1000;

/// Lines from which it is told what separates cells.
const LINES_SNIFFED: usize = 20;

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Feature,
    Label,
    Weight,
    Id,
    Text,
    /// Nothing that is asked for.
    Unused,
}

/// The role that a name alone decides.
pub(super) fn named_role(name: &str, wanted: &Wanted) -> Option<Role> {
    if wanted.labels.as_deref() == Some(name) {
        return Some(Role::Label);
    }
    if wanted.weights.as_deref() == Some(name) {
        return Some(Role::Weight);
    }
    if wanted.text.as_deref() == Some(name) {
        return Some(Role::Text);
    }
    let is_id = names_samples(name);
    if let Some(table) = &wanted.table {
        let field = table.fields.iter().find(|field| field.name == name);
        return match field.map(|field| &field.kind) {
            _ if table.id.as_deref() == Some(name) => Some(Role::Id),
            // Values that look like numbers are values all the same.
            Some(FieldKind::Category(_)) => Some(Role::Text),
            Some(FieldKind::Number | FieldKind::Date(_)) => None,
            None => Some(if is_id && table.id.is_none() { Role::Id } else { wanted.others }),
        };
    }
    if let Some(rules) = &wanted.rules {
        let is_named = rules.id.as_deref() == Some(name) || rules.id.is_none() && is_id && !rules.keeps(name);
        return match rules.exclude.iter().any(|other| other == name) {
            true => Some(Role::Unused),
            false => is_named.then_some(Role::Id),
        };
    }
    let Some(features) = &wanted.features else { return is_id.then_some(Role::Id) };
    // The numbers of a list are named after their column: a[0], a[1], …
    let belongs = |feature: &String| {
        feature.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('[') && rest.ends_with(']'))
    };
    Some(match (features.iter().any(belongs), is_id) {
        (true, _) => Role::Feature,
        (false, true) => Role::Id,
        (false, false) => wanted.others,
    })
}

/// The role of a column that its name left open: numbers that were not asked for are of no use, text can be shown.
pub(super) fn settled(role: Role, name: &str, wanted: &Wanted) -> Role {
    let is_kept = wanted.rules.as_ref().is_none_or(|rules| rules.keeps(name));
    if role == Role::Feature && !is_kept { Role::Unused } else { role }
}

/// What separates the cells of a table: what its name says, unless the first lines speak for something else.
fn delimiter(stream: &mut Stream<'_>, usual: u8) -> Outcome<u8> {
    let start = stream.bytes.fill_buf().map_err(|error| Failure::reading(&stream.name, &error))?;
    // The last line may go on.
    let end = start.iter().rposition(|&byte| byte == b'\n').unwrap_or(start.len());
    let lines: Vec<&[u8]> =
        start[..end].split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).take(LINES_SNIFFED).collect();
    let counts = |delimiter: u8| -> Option<usize> {
        let count = |line: &&[u8]| {
            let mut quoted = false;
            let outside = |&&byte: &&u8| {
                quoted ^= byte == b'"';
                byte == delimiter && !quoted
            };
            line.iter().filter(outside).count()
        };
        let first = lines.first().map(count).filter(|&count| count > 0)?;
        lines.iter().all(|line| count(line) == first).then_some(first)
    };
    let others = [b',', b';', b'\t'].into_iter().filter(|&other| other != usual);
    let found = [usual].into_iter().chain(others).filter_map(|delimiter| Some((counts(delimiter)?, delimiter)));
    // The first of equals is the usual one.
    Ok(found.reduce(|best, next| if next.0 > best.0 { next } else { best }).map_or(usual, |(_, delimiter)| delimiter))
}

/// The records of a table; what separates their cells is looked for.
pub(super) fn records(source: &Source, usual: u8, room: Room) -> Outcome<Records<'static>> {
    let mut stream = source.stream()?;
    let delimiter = delimiter(&mut stream, usual)?;
    Ok(Records::new(stream, delimiter, room))
}

/// Reads a table with columns between commas or tabs, as its name says, or between what its first lines have.
pub(super) fn read(source: &Source, usual: u8, wanted: &Wanted, room: Room) -> Outcome<Loaded> {
    let records = records(source, usual, room)?;
    let mut rows = Rows { records, waiting: Vec::new().into_iter(), name: source.name.clone() };
    let (mut first, mut held) = (Vec::new(), 0);
    while first.len() <= LOOKED_AT
        && let Some(record) = rows.next()?
    {
        held += (record.as_slice().len() + record.len() * size_of::<usize>()) as u64;
        room.check(&rows.name, held)?;
        first.push(record);
    }
    let (names, has_header) = header(first.first().ok_or_else(|| rows.bad("there is no row"))?);
    match (has_header, &wanted.features) {
        (true, _) => drop(first.remove(0)),
        (false, None) => {}
        (false, Some(features)) => {
            let columns = listed(features.iter().map(String::as_str));
            let failure = rows.bad(&format!("it has no header, and the model was fitted with the columns {columns}"));
            return Err(
                failure.hint("name the columns in its first line, or give an array (.npy), which goes by position")
            );
        }
    }
    if first.is_empty() {
        return Err(rows.bad("there is a header, but no row"));
    }
    if let Some(rules) = &wanted.rules {
        rules.check(&names).map_err(|error| asked_wrongly(error, &rows.name))?;
    }
    let roles = roles(&names, &first, wanted, &rows.name)?;
    rows.waiting = first.into_iter();
    let mut table = Table::new(names, roles, room);
    while let Some(record) = rows.next()? {
        table.push(&record, &rows.name)?;
    }
    if table.features == 0 && wanted.features.is_none() && wanted.table.is_none() && wanted.rules.is_none() {
        let names = listed(table.names.iter().map(String::as_str));
        return Err(rows.bad(&format!("no column of numbers is left as a feature; there are {names}")));
    }
    table.finish(has_header)
}

/// Records: those that were looked at already, then the rest of the file.
struct Rows<'a> {
    records: Records<'a>,
    waiting: std::vec::IntoIter<ByteRecord>,
    name: String,
}

impl Rows<'_> {
    fn next(&mut self) -> Outcome<Option<ByteRecord>> {
        match self.waiting.next() {
            Some(record) => Ok(Some(record)),
            None => self.records.next(),
        }
    }

    fn bad(&self, problem: &str) -> Failure {
        Failure::data(format!("{}: {problem}", self.name))
    }
}

fn cell(record: &ByteRecord, column: usize) -> String {
    String::from_utf8_lossy(record.get(column).unwrap_or_default()).trim().to_owned()
}

fn number(record: &ByteRecord, column: usize) -> Option<f64> {
    let text = std::str::from_utf8(record.get(column).unwrap_or_default()).ok()?.trim();
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The names of the columns, and whether the first row has them. Names that are all numbers are names only if they are
/// 0, 1, 2, …, as pandas counts columns without a name.
fn header(first: &ByteRecord) -> (Vec<String>, bool) {
    let count = first.len();
    let cells: Vec<String> = (0..count).map(|column| cell(first, column)).collect();
    let counted = cells.iter().enumerate().all(|(column, text)| *text == column.to_string());
    let is_row = (0..count).all(|column| number(first, column).is_some());
    if is_row && !(counted && count > 1) {
        return ((0..count).map(|column| column.to_string()).collect(), false);
    }
    // Some programs begin text with a mark of its encoding.
    (cells.iter().map(|text| text.trim_start_matches('\u{feff}').to_owned()).collect(), true)
}

/// What each column is for.
fn roles(names: &[String], rows: &[ByteRecord], wanted: &Wanted, file: &str) -> Outcome<Vec<Role>> {
    let role = |(column, name): (usize, &String)| {
        if let Some(role) = named_role(name, wanted) {
            return Ok(role);
        }
        let text = |row: &&ByteRecord| number(row, column).is_none() && !is_missing(&cell(row, column));
        let texts = rows.iter().filter(text).count();
        let numbers = rows.iter().filter(|row| number(row, column).is_some()).count();
        match (numbers, texts) {
            (_, 0) => Ok(settled(Role::Feature, name, wanted)),
            (0, _) => Ok(Role::Text),
            // 2 among 1,5 and 0,5: the rules of tables say what the commas are.
            _ if rows.iter().filter(text).all(|row| decimal(&cell(row, column)).is_some()) => Ok(Role::Text),
            _ => {
                let row = rows.iter().find(text).map_or(0, line);
                let shown = clipped(&rows.iter().find(text).map(|row| cell(row, column)).unwrap_or_default());
                let message = format!("{file}, line {row}, column \"{}\": \"{shown}\" is not a number", clipped(name));
                Err(Failure::data(message).hint(not_a_number(name)))
            }
        }
    };
    names.iter().enumerate().map(role).collect()
}

/// Columns that were asked for and are not there.
pub(super) fn asked_wrongly(error: gromap::Error, file: &str) -> Failure {
    Failure { kind: Kind::Usage, ..Failure::from(error).about(file) }
}

/// The way out where a column of numbers holds something else.
fn not_a_number(column: &str) -> String {
    format!("other rows have numbers there: mend or empty the cell, or leave the column out with {}", exclude(column))
}

fn exclude(column: &str) -> String {
    Shell::Command.columns("exclude", &clipped(column))
}

fn line(record: &ByteRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

/// A table in the making.
struct Table {
    names: Vec<String>,
    roles: Vec<Role>,
    features: usize,
    values: Vec<f64>,
    rows: usize,
    labels: Vec<String>,
    weights: Vec<f64>,
    ids: Vec<String>,
    texts: Vec<Vec<String>>,
    text_bytes: u64,
    lines: Vec<u64>,
    room: Room,
}

impl Table {
    fn new(names: Vec<String>, roles: Vec<Role>, room: Room) -> Self {
        let count = |wanted: Role| roles.iter().filter(|&&role| role == wanted).count();
        let (features, texts) = (count(Role::Feature), vec![Vec::new(); count(Role::Text)]);
        let (values, labels, weights, ids) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            names,
            roles,
            features,
            values,
            rows: 0,
            labels,
            weights,
            ids,
            texts,
            text_bytes: 0,
            lines: Vec::new(),
            room,
        }
    }

    fn push(&mut self, record: &ByteRecord, file: &str) -> Outcome<()> {
        let columns = self.names.len();
        if record.len() != columns {
            let (line, found) = (line(record), record.len());
            return Err(Failure::data(format!("{file}, line {line}: {found} cells, but there are {columns} columns")));
        }
        let mut text = 0;
        for column in 0..columns {
            match self.roles[column] {
                // What becomes of missing numbers is decided when the whole table is known.
                Role::Feature if is_missing(&cell(record, column)) => self.values.push(f64::NAN),
                Role::Feature => self.values.push(self.number(record, column, file)?),
                Role::Weight => self.weights.push(self.number(record, column, file)?),
                Role::Label => self.labels.push(cell(record, column)),
                Role::Id if self.ids.len() <= self.rows => self.ids.push(cell(record, column)),
                Role::Id | Role::Unused => {}
                Role::Text => {
                    self.texts[text].push(cell(record, column));
                    text += 1;
                }
            }
            if !matches!(self.roles[column], Role::Feature | Role::Weight | Role::Unused) {
                self.text_bytes += (record.get(column).map_or(0, <[u8]>::len) + size_of::<String>()) as u64;
            }
        }
        self.rows += 1;
        self.lines.push(line(record));
        self.room.check(file, self.text_bytes + 8 * (self.values.len() + self.weights.len() + self.rows) as u64)
    }

    fn number(&self, record: &ByteRecord, column: usize, file: &str) -> Outcome<f64> {
        number(record, column).ok_or_else(|| {
            let (line, name, text) = (line(record), clipped(&self.names[column]), cell(record, column));
            let problem = match is_missing(&text) {
                true => "the number is missing".into(),
                false => format!("\"{}\" is not a number", clipped(&text)),
            };
            let failure = Failure::data(format!("{file}, line {line}, column \"{name}\": {problem}"));
            failure.hint(not_a_number(&self.names[column]))
        })
    }

    fn finish(self, has_header: bool) -> Outcome<Loaded> {
        let of = |wanted: Role| self.names.iter().zip(&self.roles).filter(move |(_, role)| **role == wanted);
        let samples = Values::F64(self.values).into_samples(self.rows, self.features)?;
        Ok(Loaded {
            labels: of(Role::Label).next().map(|_| self.labels),
            weights: of(Role::Weight).next().map(|_| self.weights),
            ids: of(Role::Id).next().map(|_| self.ids),
            feature_names: has_header.then(|| of(Role::Feature).map(|(name, _)| name.clone()).collect()),
            texts: of(Role::Text).map(|(name, _)| name.clone()).zip(self.texts).collect(),
            id: of(Role::Id).next().map(|(name, _)| name.clone()),
            lines: Some(self.lines),
            names: self.names,
            ..Loaded::new(Content::Dense(samples))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        let (rules, table, text) = (None, None, None);
        let (labels, weights) = (Some("kind".into()), Some("w".into()));
        Wanted { labels, weights, features: None, others: Role::Text, rules, table, text }
    }

    fn load(text: &str) -> Loaded {
        read(&Source::memory("t.csv", text.as_bytes()), b',', &wanted(), Room(1 << 20)).unwrap()
    }

    fn values(loaded: &Loaded) -> Vec<f64> {
        super::super::doubles(&loaded.content)
    }

    #[test]
    fn columns_have_roles() {
        let loaded = load("\u{feff}id,x,kind,w,note,y\na,1,cat,2,hi,3\nb,-1e1,dog,0.5,,4\n");
        assert_eq!(values(&loaded), [1.0, 3.0, -10.0, 4.0]);
        assert_eq!(loaded.labels.as_deref(), Some(&["cat".to_owned(), "dog".into()][..]));
        assert_eq!((loaded.weights, loaded.ids), (Some(vec![2.0, 0.5]), Some(vec!["a".into(), "b".into()])));
        assert_eq!(loaded.texts, [("note".to_owned(), vec!["hi".to_owned(), String::new()])]);
        assert_eq!(loaded.feature_names, Some(vec!["x".into(), "y".into()]));
    }

    #[test]
    fn what_separates_cells_is_found() {
        let expected = [1.5, 2.0, 3.0, 4.0];
        for text in ["a;b\n1.5;2\n3;4\n", "a\tb\n1.5\t2\n3\t4\n", "a,b\n1.5,2\n3,4\n", "\"a,c\";b\r\n1.5;2\r\n3;4"] {
            assert_eq!(values(&load(text)), expected, "{text}");
        }
        let commas = load("a;b\n1,5;2\n3,5;4\n");
        assert_eq!((values(&commas), commas.texts[0].1[1].as_str()), (vec![2.0, 4.0], "3,5"));
        let whole = load("a;b\n1,5;2\n3;4\n");
        assert_eq!((values(&whole), whole.texts[0].1[1].as_str()), (vec![2.0, 4.0], "3"));
        // A text may hold any of them.
        assert_eq!(values(&load("a,note\n1,x;y\n2,\"p;q;r\"\n")), [1.0, 2.0]);
    }

    #[test]
    fn missing_numbers_are_kept_for_later_with_their_lines() {
        let loaded = load("a,b\n\"1\n\",2\n3,NA\n");
        assert!(values(&loaded)[3].is_nan());
        assert_eq!(loaded.lines, Some(vec![2, 4]));
    }

    #[test]
    fn a_header_is_told_from_a_row() {
        assert_eq!(values(&load("1,2\n3,4\n")), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(values(&load("0,1\n3,4\n")), [3.0, 4.0]);
        assert_eq!(load("1,2\n3,4\n").names, ["0", "1"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |text: &str| {
            read(&Source::memory("t.csv", text.as_bytes()), b',', &wanted(), Room(1 << 20))
                .map(|_| ())
                .unwrap_err()
                .message
        };
        assert_eq!(message("a,b\n1,2\n3\n"), "t.csv, line 3: 1 cells, but there are 2 columns");
        assert_eq!(message("a,b\n1,2\n3,x\n"), "t.csv, line 3, column \"b\": \"x\" is not a number");
        assert_eq!(message("a,w\n1,2\n3,\n"), "t.csv, line 3, column \"w\": the number is missing");
        let long = message(&format!("a,b\n1,2\n3,{}\n", "z".repeat(50_000)));
        assert!(long.starts_with("t.csv, line 3, column \"b\": \"zzz") && long.len() < 200, "{long}");
        assert!(message("a,b\n").contains("no row"));
        assert!(message("kind\ncat\n").contains("no column of numbers"));
    }

    #[test]
    fn nothing_is_read_that_may_not_be_held() {
        let refused = |text: String, room: u64| {
            let failure = read(&Source::memory("t.csv", text.into_bytes()), b',', &wanted(), Room(room)).unwrap_err();
            assert_eq!(failure.kind, crate::failure::Kind::Memory, "{}", failure.message);
            failure.message
        };
        let endless = "9".repeat(1 << 20);
        assert!(refused(format!("a,b\n1,{endless}\n"), 1 << 20).starts_with("t.csv, line 2: the row that begins here"));
        assert!(refused(endless, 1 << 20).starts_with("t.csv, line 1: the row that begins here"));
        let unclosed = format!("a,b\n1,2\n3,\"{}", "4,5\n".repeat(100_000));
        assert!(refused(unclosed, 1 << 20).starts_with("t.csv, line 3: the row that begins here"));
        assert!(refused(",".repeat(60_000), 1 << 20).contains("line 1: a row of so many cells needs"));
        // Rows that are looked at first count, and so does every one after them.
        assert!(refused(format!("a,{}\n", "x".repeat(2000)).repeat(900), 1 << 20).contains("t.csv needs 1.0 MiB"));
    }
}
