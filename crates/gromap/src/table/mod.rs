//! Tables as people have them, made into numbers: columns of numbers, dates and words, with gaps and ids.
//!
//! [`Rules`] say what is asked of a table, [`Rules::learn`] finds out what each column is, and the [`Encoding`] that it gives is
//! applied to that table and, because a model keeps it, to every new one. Both shells hand over columns; the rules are here, once.
//!
//! | column | features |
//! |---|---|
//! | numbers, also with decimal commas | one, as it is |
//! | dates (`dates.rs`) | one: days since 1970 |
//! | words of few values | one for each value, 0 or 1 |
//! | words of many values | none: shown, not used |
//! | ids | none: they name the samples |
//!
//! Features keep their units, so that the mean of a prototype can be read. Where a table is mixed (dates or words beside numbers)
//! `Scaling::Auto` divides every number by its standard deviation, and the 0 and 1 of a column of words, all of them, by
//!
//! ```text
//! √(Σ_v p_v (1 − p_v)) = √(1 − Σ_v p_v²)          p_v: the share of the value v
//! ```
//!
//! which gives that column, too, a variance of 1 in all: a column of words weighs as much as a column of numbers, however many
//! values it has and however rare they are.

mod cells;
mod dates;
mod encoding;
mod rules;

use std::borrow::Cow;

pub use self::cells::{Cells, Column, decimal, is_missing};
pub use self::dates::DateOrder;
pub use self::encoding::{Encoded, Encoding, Field, Gaps, Kind};
pub use self::rules::{Ids, Learnt, Rules, names_samples};

/// What to do about missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Missing {
    /// They are refused.
    #[default]
    Error,
    /// Rows with a missing value are left out.
    Drop,
    /// The median of the column; of words, the most frequent one.
    Median,
    /// The mean of the column; of words, the share of each value.
    Mean,
}

/// What columns of words are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Categorical {
    /// A feature for each value, 0 or 1, where there are few.
    #[default]
    OneHot,
    /// To be shown; they are no features.
    Show,
}

/// How options are written where a message names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Shell {
    /// `--missing median`.
    #[default]
    Command,
    /// `missing="median"`.
    Python,
}

impl Shell {
    /// An option with a value that is a word.
    pub fn option(self, name: &str, value: &str) -> String {
        let value = cut(value, MOST_TYPED);
        match self {
            Self::Command if value.contains([' ', '"', '\'', '$', '`', '\\']) => format!("--{name} '{value}'"),
            Self::Command => format!("--{name} {value}"),
            Self::Python => format!("{name}=\"{value}\""),
        }
    }

    /// An option that takes columns, with one of them.
    pub fn columns(self, name: &str, column: &str) -> String {
        match self {
            Self::Command => self.option(name, column),
            Self::Python => format!("{name}=[\"{}\"]", cut(column, MOST_TYPED)),
        }
    }
}

/// Letters of a name in a message, and of a value in an option, which is there to be copied.
const MOST_READ: usize = 40;
const MOST_TYPED: usize = 100;

/// A text in a message: no longer than anyone reads, on one line.
fn clipped(text: &str) -> String {
    cut(text, MOST_READ).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The beginning of a text, with an ellipsis if there is more.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Some names for a message; of many, the first ones.
fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const MOST: usize = 6;
    let mut names = names.into_iter();
    let first: Vec<String> = names.by_ref().take(MOST).map(clipped).collect();
    let rest = names.count();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests;
