//! Everything that can be wrong with what a caller hands in.
//!
//! A variant holds the offending value, where it stands, and the limit it broke, so that a message
//! written anywhere above (a terminal, a Python exception, JSON) can name the row, the column or
//! the parameter.

use crate::loss::Loss;

/// Result of every fallible call in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong with the input.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two things that must agree in size do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was being measured.
        what: String,
        /// The size it should have.
        expected: usize,
        /// The size it has.
        found: usize,
    },

    /// A matrix holds NaN or an infinity.
    #[error("{what}[{row}, {column}] is {value}; every entry must be finite")]
    NotFinite {
        /// Which matrix.
        what: &'static str,
        /// Row of the first such entry.
        row: usize,
        /// Column of the first such entry.
        column: usize,
        /// The entry.
        value: f64,
    },

    /// A sample weight is negative, NaN or infinite.
    #[error("sample_weights[{index}] is {value}; weights must be finite and not negative")]
    Weight {
        /// Which sample.
        index: usize,
        /// Its weight.
        value: f64,
    },

    /// All sample weights are zero.
    #[error("sample_weights sum to zero; at least one sample needs a positive weight")]
    NoWeight,

    /// An entry lies outside the domain of the loss.
    #[error("the {loss} loss needs {what} {domain}, but {what}[{row}, {column}] is {value}")]
    Domain {
        /// The loss.
        loss: Loss,
        /// Which matrix.
        what: &'static str,
        /// The admissible values, in words.
        domain: &'static str,
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// The entry.
        value: f64,
    },

    /// The entries of an operator cannot be shown to lie in the domain of the loss.
    #[error(
        "the {loss} loss needs a similarity {domain}, and this operator's entries are only known to \
         lie in [{low}, {high}]; give a dense or sparse similarity, or a factor without negative entries"
    )]
    UnknownDomain {
        /// The loss.
        loss: Loss,
        /// The admissible values, in words.
        domain: &'static str,
        /// Proven lower bound of the entries.
        low: f64,
        /// Proven upper bound of the entries.
        high: f64,
    },

    /// A method that needs a symmetric similarity was given another.
    #[error(
        "similarity[{row}, {column}] is {value}, but similarity[{column}, {row}] is {mirrored}; this method needs a \
         symmetric one"
    )]
    Asymmetric {
        /// Row of an entry that differs from its mirror.
        row: usize,
        /// Its column.
        column: usize,
        /// The entry.
        value: f64,
        /// The entry across the diagonal.
        mirrored: f64,
    },

    /// A method that needs a similarity without negative entries was given another.
    #[error("similarity[{row}, {column}] is {value}; this method needs entries that are not negative")]
    Negative {
        /// Row of the lowest entry.
        row: usize,
        /// Its column.
        column: usize,
        /// The entry.
        value: f64,
    },

    /// A parameter is outside its range.
    #[error("{name} is {value}; it must be {allowed}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The admissible values, in words.
        allowed: String,
    },

    /// A name that stands for nothing.
    #[error("unknown {what} \"{name}\"; it must be one of {allowed}")]
    Name {
        /// What was to be named.
        what: &'static str,
        /// The name given.
        name: String,
        /// The names there are.
        allowed: String,
    },

    /// One of several views is wrong.
    #[error("view {view} of {views}: {error}")]
    View {
        /// Which one, from 1 on.
        view: usize,
        /// How many there are.
        views: usize,
        /// What is wrong with it.
        error: Box<Error>,
    },

    /// Something was asked of a model that it cannot do.
    #[error("{0}")]
    Unsupported(String),

    /// New samples lack features that the model was fitted with.
    #[error("the model was fitted with {}, which the new samples do not have", listed(missing))]
    MissingColumns {
        /// The names of the features.
        missing: Vec<String>,
    },

    /// A cell of a table that cannot become a number, and the way out.
    #[error("row {row}, column \"{column}\": {problem}; {way_out}")]
    Cell {
        /// The row, counted from 0 without a header.
        row: usize,
        /// The name of the column.
        column: String,
        /// What is wrong with it.
        problem: String,
        /// What can be done about it.
        way_out: String,
    },

    /// A table that cannot become numbers, and the way out.
    #[error("{message}; {way_out}")]
    Table {
        /// What is wrong with it.
        message: String,
        /// What can be done about it.
        way_out: String,
    },

    /// A row of a given plan does not carry the mass of its sample.
    #[error("plan row {row} sums to {found}, but the sample's weight is {expected}")]
    RowSum {
        /// Which sample.
        row: usize,
        /// The weight of the sample.
        expected: f64,
        /// The sum found.
        found: f64,
    },

    /// Bytes that are no model, or no longer the one that was written.
    #[error("the model file is damaged: {0}")]
    DamagedModel(String),

    /// A model in a format that did not exist yet.
    #[error("the model file was written by a newer gromap (format {format}; this one reads up to {known})")]
    NewerModel {
        /// The format it was written in.
        format: u32,
        /// The newest format that can be read.
        known: u32,
    },

    /// What was fitted is not a number, or infinite.
    #[error("the fit broke down: the {what} came out as {value}; scale the data, or choose another loss or method")]
    BrokenDown {
        /// What of the fit.
        what: &'static str,
        /// What it came out as.
        value: f64,
    },

    /// An [`Interrupt`](crate::Interrupt) was requested before there was a result.
    #[error("interrupted before there was a result")]
    Interrupted,

    /// A fit would hold more than it may.
    #[error("this needs {} of memory, and the limit is {}; most of it, {}, is {what}", size(*needed), size(*limit), size(*bytes))]
    Memory {
        /// Bytes held at once, at most.
        needed: u64,
        /// Bytes that may be.
        limit: u64,
        /// The largest part.
        what: &'static str,
        /// Its bytes.
        bytes: u64,
    },

    /// A fit would hold more than the machine gives.
    #[error("this needs {} of memory, which there is not; most of it, {}, is {what}", size(*needed), size(*bytes))]
    NoRoom {
        /// Bytes held at once, at most.
        needed: u64,
        /// The largest part.
        what: &'static str,
        /// Its bytes.
        bytes: u64,
    },

    /// A column index of a sparse matrix is out of range, or its rows are not sorted.
    #[error("sparse similarity, row {row}: {problem}")]
    Sparse {
        /// Which row.
        row: usize,
        /// What is wrong with it.
        problem: String,
    },
}

/// Some names for a message; of many, the first ones.
fn listed(names: &[String]) -> String {
    const MOST: usize = 10;
    let first: Vec<String> = names.iter().take(MOST).map(|name| format!("\"{name}\"")).collect();
    let what = if names.len() == 1 { "the column" } else { "the columns" };
    let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
    format!("{what} {}{more}", first.join(", "))
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    let gibibytes = bytes as f64 / f64::from(1 << 30);
    if gibibytes < 1.0 { format!("{:.1} MiB", 1024.0 * gibibytes) } else { format!("{gibibytes:.1} GiB") }
}

impl Error {
    /// A size that does not fit, unless it does.
    pub(crate) fn check_len(what: &str, expected: usize, found: usize) -> Result<()> {
        if expected == found { Ok(()) } else { Err(Self::Shape { what: what.into(), expected, found }) }
    }

    /// The error of a view, by its index.
    pub(crate) fn in_view(self, index: usize, views: usize) -> Self {
        Self::View { view: index + 1, views, error: Box::new(self) }
    }

    /// A parameter outside its range.
    pub(crate) fn parameter(name: &'static str, value: f64, allowed: impl Into<String>) -> Self {
        Self::Parameter { name, value, allowed: allowed.into() }
    }
}
