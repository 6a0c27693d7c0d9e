//! What a table became: its fields, and the same for every new table.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cells::{Cells, Column, decimal};
use super::dates::{self, DateOrder};
use super::{Missing, Shell, clipped, listed};
use crate::error::{Error, Result};
use crate::numeric::Matrix;

/// How the columns of a table become features, in this order. A model keeps it, with its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// The columns that are features.
    pub fields: Vec<Field>,
    /// The column that names the samples.
    pub id: Option<String>,
    /// What is done about missing values.
    pub missing: Missing,
}

/// A column that is a feature, or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// The name of the column.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What stands in for a missing value, one number for each of its features; nothing where missing values are not filled.
    pub fill: Option<Vec<f64>>,
}

/// What a column is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Numbers.
    Number,
    /// Dates, as days since 1970.
    Date(DateOrder),
    /// Words: a feature for each of these values, 0 or 1.
    Category(Vec<String>),
}

/// What becomes of rows with missing values that nothing stands in for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gaps {
    /// They are left out if the encoding says so.
    MayDrop,
    /// They are refused: there must be a result for every row.
    Refuse,
}

/// A table as numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// The features.
    pub values: Matrix<'static>,
    /// The rows that were kept, where some were left out.
    pub rows: Option<Vec<usize>>,
    /// Names of the rows that were kept.
    pub ids: Option<Vec<String>>,
    /// What there is to say of it.
    pub notes: Vec<String>,
}

impl Encoded {
    /// What belongs to the rows that were kept, of one value for each row.
    pub fn kept<T>(&self, values: Vec<T>) -> Vec<T> {
        let Some(rows) = &self.rows else { return values };
        let mut kept = rows.iter().copied().peekable();
        values
            .into_iter()
            .enumerate()
            .filter(|(row, _)| kept.next_if_eq(row).is_some())
            .map(|(_, value)| value)
            .collect()
    }
}

impl Field {
    /// Number of features.
    fn width(&self) -> usize {
        if let Kind::Category(values) = &self.kind { values.len() } else { 1 }
    }

    /// The feature at which each row is 1, or its number.
    fn cell(&self, places: &HashMap<&str, usize>, cells: &Cells, row: usize) -> Cell {
        if cells.lacks(row) {
            return Cell::Missing;
        }
        let number = |number: Option<f64>| number.map_or(Cell::Wrong, Cell::Number);
        match (&self.kind, cells) {
            (Kind::Number | Kind::Date(_), Cells::Days(values)) | (Kind::Number, Cells::Numbers(values)) => {
                number(Some(values[row]))
            }
            (Kind::Number, Cells::Text(words)) => number(decimal(&words[row])),
            (Kind::Date(order), Cells::Text(words)) => number(dates::days(&words[row], *order)),
            (Kind::Date(_), Cells::Numbers(_)) => Cell::Wrong,
            (Kind::Category(_), Cells::Text(words)) => {
                places.get(words[row].trim()).map_or(Cell::Unseen, |&at| Cell::Value(at))
            }
            (Kind::Category(_), _) => places.get(cells.word(row).as_str()).map_or(Cell::Unseen, |&at| Cell::Value(at)),
        }
    }
}

/// What a cell says to its field.
enum Cell {
    Number(f64),
    Value(usize),
    /// A value of words that fitting did not see.
    Unseen,
    Missing,
    Wrong,
}

impl Encoding {
    /// Number of features.
    pub fn width(&self) -> usize {
        self.fields.iter().map(Field::width).sum()
    }

    /// The features of each field.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let range = |field: &Field| {
            let range = start..start + field.width();
            start = range.end;
            range
        };
        self.fields.iter().map(range).collect()
    }

    /// A name for each feature: that of its column, with the value where a column of words has several.
    pub fn feature_names(&self) -> Vec<String> {
        let names = |field: &Field| match &field.kind {
            Kind::Category(values) => values.iter().map(|value| format!("{}={value}", field.name)).collect(),
            _ => vec![field.name.clone()],
        };
        self.fields.iter().flat_map(names).collect()
    }

    /// Whether features have different kinds of units: words or dates are among them.
    pub fn is_mixed(&self) -> bool {
        self.fields.iter().any(|field| field.kind != Kind::Number)
    }

    /// The features of a table. Columns may come in any order, others may stand between them; a missing one is an error that
    /// names it.
    pub fn apply(&self, columns: &[Column], gaps: Gaps, shell: Shell) -> Result<Encoded> {
        // Of columns with the same name the first counts.
        let by_name: HashMap<&str, &Cells> =
            columns.iter().rev().map(|column| (column.name.as_str(), &column.cells)).collect();
        let missing = self.fields.iter().map(|field| &field.name).filter(|name| !by_name.contains_key(name.as_str()));
        let missing: Vec<String> = missing.cloned().collect();
        if !missing.is_empty() {
            return Err(Error::MissingColumns { missing });
        }
        let cells: Vec<&Cells> = self.fields.iter().map(|field| by_name[field.name.as_str()]).collect();
        let count = columns.first().map_or(0, |column| column.cells.len());
        columns.iter().try_for_each(|column| Error::check_len("rows of a column", count, column.cells.len()))?;
        let may_drop = gaps == Gaps::MayDrop && self.missing == Missing::Drop;
        let lacks =
            |row: usize| self.fields.iter().zip(&cells).any(|(field, cells)| field.fill.is_none() && cells.lacks(row));
        let rows: Vec<usize> = (0..count).filter(|&row| !(may_drop && lacks(row))).collect();
        if rows.is_empty() {
            let message =
                format!("every row lacks a value of {}", listed(self.fields.iter().map(|field| field.name.as_str())));
            let way_out = format!(
                "use {}, or leave columns out with {}",
                shell.option("missing", "median"),
                shell.columns("exclude", "…")
            );
            return Err(Error::Table { message, way_out });
        }
        let mut values = Matrix::zeros(rows.len(), self.width());
        let mut unseen = BTreeMap::new();
        for ((at, (field, range)), cells) in self.fields.iter().zip(self.ranges()).enumerate().zip(&cells) {
            let places: HashMap<&str, usize> = match &field.kind {
                Kind::Category(values) => values.iter().enumerate().map(|(at, value)| (value.as_str(), at)).collect(),
                _ => HashMap::new(),
            };
            for (out, &row) in rows.iter().enumerate() {
                let target = &mut values.row_mut(out)[range.clone()];
                match (field.cell(&places, cells, row), &field.fill) {
                    (Cell::Number(number), _) => target[0] = number,
                    (Cell::Value(value), _) => target[value] = 1.0,
                    (Cell::Unseen, _) => unseen.entry(at).or_insert_with(Vec::new).push(row),
                    (Cell::Missing, Some(fill)) => target.copy_from_slice(fill),
                    (Cell::Missing, None) => return Err(self.lacking(field, row, shell)),
                    (Cell::Wrong, _) => return Err(wrong(field, &cells.word(row), row)),
                }
            }
        }
        let mut notes: Vec<String> =
            unseen.iter().map(|(&at, rows)| never_seen(&self.fields[at], cells[at], rows)).collect();
        if rows.len() < count {
            let dropped = count - rows.len();
            notes.push(format!("{dropped} of {count} rows have missing values and are left out"));
        }
        let ids = self.id.as_ref().and_then(|id| by_name.get(id.as_str()));
        let ids = ids.map(|cells| rows.iter().map(|&row| cells.word(row)).collect());
        Ok(Encoded { values, rows: (rows.len() < count).then_some(rows), ids, notes })
    }

    fn lacking(&self, field: &Field, row: usize, shell: Shell) -> Error {
        let what = if matches!(field.kind, Kind::Number) { "number" } else { "value" };
        let [drop, median, mean] = ["drop", "median", "mean"].map(|word| shell.option("missing", word));
        let way_out = match self.missing {
            Missing::Drop => {
                format!("every row needs a result: leave such rows out, or fit with {median}, which fills gaps")
            }
            _ => format!(
                "{median} or {mean} fills gaps, {drop} leaves such rows out, {} the column",
                shell.columns("exclude", &field.name)
            ),
        };
        Error::Cell { row, column: field.name.clone(), problem: format!("the {what} is missing"), way_out }
    }
}

fn wrong(field: &Field, word: &str, row: usize) -> Error {
    let what = if matches!(field.kind, Kind::Date(_)) { "a date as the others are written" } else { "a number" };
    let problem = format!("\"{}\" is not {what}", clipped(word));
    let way_out = "mend it, or leave it empty where the value is not known".into();
    Error::Cell { row, column: field.name.clone(), problem, way_out }
}

fn never_seen(field: &Field, cells: &Cells, rows: &[usize]) -> String {
    let mut words: Vec<String> = rows.iter().take(1000).map(|&row| cells.word(row)).collect();
    words.sort_unstable();
    words.dedup();
    let (name, words) = (clipped(&field.name), listed(words.iter().map(String::as_str)));
    let count = rows.len();
    let rows = if count == 1 { "1 row has".into() } else { format!("{count} rows have") };
    format!("column {name}: {rows} values that were not seen in fitting ({words}) and count as none of its values")
}
