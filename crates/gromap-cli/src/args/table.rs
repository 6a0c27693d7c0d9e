//! What the columns of a table are for.

use clap::Args;
use gromap::table::{Categorical, Missing, Rules, Shell};

use super::values::words;

const TABLE: &str = "Table";

/// What the columns of a table are for. A model remembers it, so that new tables are read alike.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TableOptions {
    /// The columns that are features, by name [default: all that can be]
    #[arg(long, value_name = "NAME,NAME,…", value_parser = names, help_heading = TABLE)]
    pub(crate) columns: Option<Names>,

    /// Columns to leave out, by name
    #[arg(long, value_name = "NAME,NAME,…", value_parser = names, help_heading = TABLE)]
    pub(crate) exclude: Option<Names>,

    /// The column that names the samples [default: one that is called id, index or name, or counts the rows]
    #[arg(long, value_name = "COLUMN", help_heading = TABLE)]
    pub(crate) id: Option<String>,

    /// Missing values: refuse them, drop their rows, or fill in the column's median or mean
    #[arg(long, value_name = "RULE", value_parser = words!(Missing), default_value_t, help_heading = TABLE)]
    pub(crate) missing: Missing,

    /// Text columns of few values: make a feature of each value (onehot), or only show them
    #[arg(long, value_name = "RULE", value_parser = words!(Categorical), default_value_t, help_heading = TABLE)]
    pub(crate) categorical: Categorical,

    /// The column whose words name the prototypes; it is no feature
    #[arg(long, value_name = "COLUMN", help_heading = TABLE)]
    pub(crate) text: Option<String>,
}

/// Names of columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names(pub(crate) Vec<String>);

/// Names between commas; one that has a comma itself stands in quotes, as in a table.
fn names(text: &str) -> Result<Names, String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(text.as_bytes());
    let record = reader.records().next().ok_or("a name is needed")?.map_err(|error| error.to_string())?;
    let names: Vec<String> = record.iter().map(Into::into).collect();
    if names.iter().all(String::is_empty) { Err("a name is needed".into()) } else { Ok(Names(names)) }
}

impl TableOptions {
    /// The same for the core.
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            columns: self.columns.clone().map(|names| names.0),
            exclude: self.exclude.clone().map_or_else(Vec::new, |names| names.0),
            id: self.id.clone(),
            missing: self.missing,
            categorical: self.categorical,
            shell: Shell::Command,
        }
    }

    /// The first option that was given, if any was.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let Self { columns, exclude, id, missing, categorical, text } = self;
        let given = [
            ("--columns", columns.is_some()),
            ("--exclude", exclude.is_some()),
            ("--id", id.is_some()),
            ("--missing", *missing != Missing::default()),
            ("--categorical", *categorical != Categorical::default()),
            ("--text", text.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_commas_in_quotes() {
        assert_eq!(names("a, b").unwrap().0, ["a", "b"]);
        assert_eq!(names("\"a, b\",c").unwrap().0, ["a, b", "c"]);
        assert!(names("").is_err());
    }
}
