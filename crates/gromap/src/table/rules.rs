//! What is asked of a table, and what each of its columns then is.

use std::collections::HashMap;

use super::cells::{Cells, Column, Decimals, decimal, decimals, is_missing};
use super::dates::{self, DateOrder};
use super::encoding::{Encoding, Field, Kind};
use super::{Categorical, Missing, Shell, clipped, listed};
use crate::error::{Error, Result};

/// Values of a column of words that become features, at most; and of one that was asked for by name.
const MOST_VALUES: usize = 50;
const MOST_VALUES_ASKED: usize = 1000;
/// Letters of all names and values: a model keeps them in the header of its file.
const MOST_LETTERS: usize = 10 << 20;
/// Rows from which on a column that counts them is taken for ids.
const LEAST_COUNTED: usize = 10;
/// Columns that an error says the reason of.
const NOTES_IN_ERROR: usize = 1;

/// What is asked of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rules {
    /// The columns that are features; all that can be, unless given.
    pub columns: Option<Vec<String>>,
    /// Columns that are left out.
    pub exclude: Vec<String>,
    /// The column that names the samples.
    pub id: Option<String>,
    /// What to do about missing values.
    pub missing: Missing,
    /// What columns of words are for.
    pub categorical: Categorical,
    /// How messages name options.
    pub shell: Shell,
}

/// What a table was found to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Learnt {
    /// Its columns as features.
    pub encoding: Encoding,
    /// What was decided that a user should know.
    pub notes: Vec<String>,
}

/// A column of numbers that names samples rather than tells of them, and what there is to say of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Ids {
    /// It counts the rows, or is called an id and never repeats: it is no feature.
    Taken(String),
    /// It rises with every row, as ids do, and stays a feature.
    Suspected(String),
}

/// Whether a column of this name names the samples.
pub fn names_samples(name: &str) -> bool {
    ["", "id", "ids", "index", "name", "unnamed: 0"].contains(&name.trim().to_lowercase().as_str())
}

/// Whether a name says that a column holds ids, such as customer_id or orderID.
fn is_called_id(name: &str) -> bool {
    let name = name.trim();
    let lower = name.to_lowercase();
    let parts = ["_id", " id", "-id", ".id"].iter().any(|end| lower.ends_with(end));
    let camel = name.strip_suffix("Id").or_else(|| name.strip_suffix("ID"));
    parts
        || camel.is_some_and(|rest| rest.ends_with(|c: char| c.is_lowercase()))
        || ["uuid", "guid"].contains(&lower.as_str())
}

impl Rules {
    /// Whether anything is asked for that arrays of numbers do not have.
    pub fn is_plain(&self) -> bool {
        let Self { columns, exclude, id, missing, categorical, shell: _ } = self;
        let nothing = columns.is_none() && exclude.is_empty() && id.is_none();
        nothing && *missing == Missing::Error && *categorical == Categorical::OneHot
    }

    /// Whether a column may be a feature, as far as its name decides.
    pub fn keeps(&self, name: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|other| other == name);
        match &self.columns {
            Some(columns) => has(columns) && !has(&self.exclude),
            None => {
                !has(&self.exclude) && self.id.as_deref() != Some(name) && !(self.id.is_none() && names_samples(name))
            }
        }
    }

    /// Refuses names that a table does not have, or that are asked for twice over.
    pub fn check(&self, names: &[String]) -> Result<()> {
        let columns = self.columns.iter().flatten().map(|name| ("columns", name));
        let exclude = self.exclude.iter().map(|name| ("exclude", name));
        let id = self.id.iter().map(|name| ("id", name));
        for (option, name) in columns.chain(exclude).chain(id) {
            if !names.contains(name) {
                let message = format!("{}: there is no column of this name", self.shell.option(option, &clipped(name)));
                return Err(Error::Table {
                    message,
                    way_out: format!("the columns are {}", listed(names.iter().map(String::as_str))),
                });
            }
        }
        if let Some(name) = self.columns.iter().flatten().find(|name| self.exclude.contains(name)) {
            let message = format!("column \"{}\" is asked for and left out", clipped(name));
            let way_out =
                format!("name it in {} or in {}", self.shell.option("columns", "…"), self.shell.option("exclude", "…"));
            return Err(Error::Table { message, way_out });
        }
        Ok(())
    }

    /// Finds out what each column is. Columns that [`keeps`](Self::keeps) leaves out may be there; the one that names the samples
    /// should.
    pub fn learn(&self, columns: &[Column]) -> Result<Learnt> {
        let mut found = Found::default();
        let named = columns.iter().find(|column| match &self.id {
            Some(id) => *id == column.name,
            None => names_samples(&column.name) && !self.keeps(&column.name) && !self.exclude.contains(&column.name),
        });
        found.id = named.map(|column| column.name.clone());
        for column in columns.iter().filter(|column| self.keeps(&column.name)) {
            if let Some(kind) = self.kind(column, &mut found)? {
                let fill = fill(&kind, &column.cells, self.missing);
                found.fields.push(Field { name: column.name.clone(), kind, fill });
            }
        }
        if found.fields.is_empty() {
            let there = listed(columns.iter().map(|column| column.name.as_str()));
            let message = format!("no column is left as a feature; there are {there}");
            let why: String = found.notes.iter().take(NOTES_IN_ERROR).map(|note| format!("{note}; ")).collect();
            let way_out = format!("{why}name those to use with {}", self.shell.columns("columns", "…"));
            return Err(Error::Table { message, way_out });
        }
        let (fields, id) = (std::mem::take(&mut found.fields), found.id.take());
        let encoding = Encoding { fields, id, missing: self.missing };
        if encoding.feature_names().iter().map(String::len).sum::<usize>() > MOST_LETTERS {
            let message = "the names and values of its columns are too long to keep".into();
            let way_out = format!("use {}", self.shell.option("categorical", "show"));
            return Err(Error::Table { message, way_out });
        }
        Ok(Learnt { encoding, notes: found.notes(self.shell) })
    }

    fn is_asked(&self, name: &str) -> bool {
        self.columns.iter().flatten().any(|other| other == name)
    }

    /// What a column is; nothing if it is no feature.
    fn kind(&self, column: &Column, found: &mut Found) -> Result<Option<Kind>> {
        let name = &column.name;
        match &column.cells {
            Cells::Days(_) => {
                found.dates.push(name.clone());
                Ok(Some(Kind::Date(DateOrder::YearFirst)))
            }
            Cells::Numbers(values) => Ok(self.number(name, values, found)),
            Cells::Text(words) => self.text(name, words, found),
        }
    }

    /// Whether a column of numbers looks like ids; one that was asked for by name is a feature without a word.
    pub fn ids(&self, name: &str, values: &[f64]) -> Option<Ids> {
        if self.is_asked(name) || values.len() < LEAST_COUNTED {
            return None;
        }
        let integers = || values.iter().all(|value| value.fract() == 0.0);
        let starts = matches!(values.first(), Some(first) if *first == 0.0 || *first == 1.0);
        let is_counted = starts && values.windows(2).all(|pair| pair[1] - pair[0] == 1.0);
        if is_counted || is_called_id(name) && integers() && is_distinct(values) {
            let (name, keep) = (clipped(name), self.shell.columns("columns", name));
            return Some(Ids::Taken(format!(
                "column {name} holds ids and is not used as a feature; {keep} would use it"
            )));
        }
        let rises = values.windows(2).all(|pair| pair[1] > pair[0]);
        (rises && integers()).then(|| {
            let (name, leave) = (clipped(name), self.shell.columns("exclude", name));
            Ids::Suspected(format!("column {name} rises with every row, as ids do; {leave} would leave it out"))
        })
    }

    /// A column of numbers, unless it is one of ids.
    fn number(&self, name: &str, values: &[f64], found: &mut Found) -> Option<Kind> {
        match self.ids(name, values) {
            Some(Ids::Taken(note)) => {
                found.notes.push(note);
                found.id.get_or_insert_with(|| name.to_owned());
                None
            }
            Some(Ids::Suspected(note)) => {
                found.notes.push(note);
                Some(Kind::Number)
            }
            None => Some(Kind::Number),
        }
    }

    /// A column of text: numbers with decimal commas, dates, words of few values, or text to be shown.
    fn text(&self, name: &str, words: &[String], found: &mut Found) -> Result<Option<Kind>> {
        match decimals(words) {
            Some(Decimals::Points) => return Ok(Some(Kind::Number)),
            Some(Decimals::Commas) => {
                found.notes.push(format!("column {}: commas are read as decimal commas", clipped(name)));
                return Ok(Some(Kind::Number));
            }
            Some(Decimals::Unclear) => {
                let example = words.iter().find(|word| word.contains(',')).map_or("", |word| word.trim());
                let message = format!(
                    "column \"{}\": \"{}\" may have a decimal comma or a comma between thousands",
                    clipped(name),
                    clipped(example)
                );
                let way_out = format!(
                    "write its numbers with a decimal point and nothing between thousands, or leave it out with {}",
                    self.shell.columns("exclude", name)
                );
                return Err(Error::Table { message, way_out });
            }
            None => {}
        }
        let there = words.iter().map(|word| word.trim()).filter(|word| !is_missing(word));
        match dates::order(there.clone()) {
            Ok(Some(order)) => {
                found.dates.push(name.to_owned());
                return Ok(Some(Kind::Date(order)));
            }
            Ok(None) => {}
            Err(()) => {
                let example = there.clone().next().unwrap_or_default();
                let message = format!(
                    "column \"{}\": \"{}\" may begin with the day or with the month",
                    clipped(name),
                    clipped(example)
                );
                let way_out = format!(
                    "write dates as 2024-03-05, or leave the column out with {}",
                    self.shell.columns("exclude", name)
                );
                return Err(Error::Table { message, way_out });
            }
        }
        self.category(name, there, found)
    }

    fn category<'w>(
        &self,
        name: &str,
        words: impl Iterator<Item = &'w str>,
        found: &mut Found,
    ) -> Result<Option<Kind>> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut rows = 0;
        for word in words {
            *counts.entry(word).or_default() += 1;
            rows += 1;
        }
        let different = counts.len();
        let is_asked = self.is_asked(name);
        if self.categorical == Categorical::Show || different == 0 {
            found.shown.push(name.to_owned());
            return Ok(None);
        }
        let most = if is_asked { MOST_VALUES_ASKED } else { MOST_VALUES };
        if is_asked && different > most {
            let message = format!(
                "column \"{}\" has {different} different values, and more than {most} do not become features",
                clipped(name)
            );
            return Err(Error::Table {
                message,
                way_out: format!("leave it out of {}", self.shell.option("columns", "…")),
            });
        }
        if !is_asked && (different > most || 2 * different > rows) {
            let ask = self.shell.columns("columns", name);
            let why = if different > most { format!("more than {most}") } else { "too many for its rows".into() };
            found.notes.push(format!(
                "column {} has {different} different values, {why}: it is shown, not used as a feature{}",
                clipped(name),
                if different <= MOST_VALUES_ASKED { format!("; {ask} would use it") } else { String::new() }
            ));
            return Ok(None);
        }
        let mut values: Vec<String> = counts.into_keys().map(Into::into).collect();
        values.sort_unstable();
        found.words.push(format!("{} ({different} values)", clipped(name)));
        Ok(Some(Kind::Category(values)))
    }
}

/// What is known of a table so far.
#[derive(Default)]
struct Found {
    fields: Vec<Field>,
    id: Option<String>,
    notes: Vec<String>,
    dates: Vec<String>,
    words: Vec<String>,
    shown: Vec<String>,
}

impl Found {
    fn notes(self, shell: Shell) -> Vec<String> {
        let mut notes = self.notes;
        let names = |names: &[String]| listed(names.iter().map(String::as_str));
        if !self.words.is_empty() {
            let show = shell.option("categorical", "show");
            notes.push(format!(
                "text columns are features, one for each value: {}; {show} would leave them out",
                names(&self.words)
            ));
        }
        if !self.dates.is_empty() {
            notes.push(format!("dates are features, in days: {}", names(&self.dates)));
        }
        if !self.shown.is_empty() {
            notes.push(format!("text columns are not used as features: {}", names(&self.shown)));
        }
        notes
    }
}

fn is_distinct(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// What stands in for a missing value of a column.
fn fill(kind: &Kind, cells: &Cells, missing: Missing) -> Option<Vec<f64>> {
    if matches!(missing, Missing::Error | Missing::Drop) {
        return None;
    }
    let rows = (0..cells.len()).filter(|&row| !cells.lacks(row));
    if let Kind::Category(values) = kind {
        let places: HashMap<&str, usize> = values.iter().enumerate().map(|(at, value)| (value.as_str(), at)).collect();
        let mut counts = vec![0.0; values.len()];
        rows.filter_map(|row| places.get(cells.word(row).as_str()).copied()).for_each(|at| counts[at] += 1.0);
        let all: f64 = counts.iter().sum();
        let most =
            counts.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0))).map_or(0, |(at, _)| at);
        let share = |at: usize| match missing {
            Missing::Mean => counts[at] / all,
            _ => f64::from(u8::from(at == most)),
        };
        return Some((0..values.len()).map(share).collect());
    }
    let number = |row: usize| match (kind, cells) {
        (_, Cells::Numbers(values) | Cells::Days(values)) => Some(values[row]),
        (Kind::Date(order), Cells::Text(words)) => dates::days(&words[row], *order),
        (_, Cells::Text(words)) => decimal(&words[row]),
    };
    let mut numbers: Vec<f64> = rows.filter_map(number).collect();
    // A column of nothing has no middle; it is the same everywhere whatever stands in it.
    if numbers.is_empty() {
        return Some(vec![0.0]);
    }
    // Divided first, so that huge numbers have a mean too.
    let mean = numbers.iter().map(|number| number / numbers.len() as f64).sum::<f64>();
    numbers.sort_unstable_by(f64::total_cmp);
    let (low, high) = (numbers[(numbers.len() - 1) / 2], numbers[numbers.len() / 2]);
    Some(vec![if missing == Missing::Mean { mean } else { low / 2.0 + high / 2.0 }])
}
