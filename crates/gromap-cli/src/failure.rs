//! What can go wrong, in the words of the command line: a kind that decides the exit code, a message, and, where there
//! is one, a hint.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

/// Result of everything that can fail here.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Wrong usage: options, columns or formats that do not exist, or not for these data.
    Usage,
    /// The data are damaged, incomplete or not what the method can take.
    Data,
    /// An error of the operating system: a file that does not exist, a full disk.
    Io,
    /// More memory than allowed would be needed.
    Memory,
    /// Ended by a signal before there was anything to keep.
    Interrupted,
    /// Anything else.
    Failure,
}

impl Kind {
    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Data => "data",
            Self::Io => "io",
            Self::Memory => "memory",
            Self::Interrupted => "interrupted",
            Self::Failure => "failure",
        }
    }

    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Io | Self::Memory | Self::Failure => 1,
            Self::Usage => 2,
            Self::Data => 3,
            Self::Interrupted => crate::watch::exit_code(),
        }
    }
}

/// A failure and what could be done about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The reader of our output went away, as in `gromap demo | head`: nothing went wrong.
    pub(crate) is_broken_pipe: bool,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, is_broken_pipe: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    pub(crate) fn data(message: impl Into<String>) -> Self {
        Self::new(Kind::Data, message)
    }

    /// An error of the operating system, with what was attempted.
    pub(crate) fn io(doing: impl fmt::Display, error: &io::Error) -> Self {
        let is_broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        Self { is_broken_pipe, ..Self::new(Kind::Io, format!("{doing}: {error}")) }
    }

    /// An error while reading: the system's if it has an error number, otherwise the data's, such as a broken gzip stream.
    pub(crate) fn reading(name: &str, error: &io::Error) -> Self {
        if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::NotFound {
            return Self::io(format_args!("cannot read {name}"), error);
        }
        Self::data(format!("{name}: {error}"))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, with the name of the file it is about before the message.
    pub(crate) fn about(mut self, name: impl fmt::Display) -> Self {
        self.message = format!("{name}: {}", self.message);
        self
    }

    /// The object that programs read.
    pub(crate) fn to_json(&self) -> Value {
        let (message, hint) = (cut(&self.message, MOST_SAID), self.hint.as_deref().map(|hint| cut(hint, MOST_SAID)));
        json!({"error": {"kind": self.kind.name(), "message": message, "hint": hint}})
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", cut(&self.message, MOST_SAID))?;
        self.hint.iter().try_for_each(|hint| write!(f, "\n  hint: {}", cut(hint, MOST_SAID)))
    }
}

/// The names of the core's parameters as options. A parameter that is not here is a property of the data.
const OPTIONS: [(&str, &str); 17] = [
    ("n_prototypes", "--prototypes"),
    ("number of prototypes of a path", "--prototypes"),
    ("perplexity", "--perplexity"),
    ("number of perplexities", "--perplexity"),
    ("neighbors", "--neighbors"),
    ("dims", "--dims"),
    ("n_feature_clusters", "--feature-clusters"),
    ("n_init", "--n-init"),
    ("alpha", "--alpha"),
    ("gamma", "--gamma"),
    ("coef0", "--coef0"),
    ("degree", "--degree"),
    ("components", "--pca"),
    ("number of components", "--pca"),
    ("tolerance", "--tolerance"),
    ("view_weights", "--view-weights"),
    ("sum of view_weights", "--view-weights"),
];

impl From<gromap::Error> for Failure {
    fn from(error: gromap::Error) -> Self {
        use gromap::Error;
        match &error {
            Error::Parameter { name, value, allowed } => {
                match OPTIONS.iter().find(|(parameter, _)| parameter == name) {
                    Some((_, option)) => Self::usage(format!("{option} is {value}; it must be {allowed}")),
                    None => Self::data(error.to_string()),
                }
            }
            Error::Cell { row, column, problem, way_out } => {
                Self::data(format!("row {row}, column \"{}\": {problem}", clipped(column))).hint(way_out.clone())
            }
            Error::Table { message, way_out } => Self::data(message.clone()).hint(way_out.clone()),
            Error::View { view, views, error } => {
                Self::from((**error).clone()).about(format_args!("view {view} of {views}"))
            }
            Error::Name { .. } | Error::Unsupported(_) => Self::usage(error.to_string()),
            Error::Memory { .. } | Error::NoRoom { .. } => Self::new(Kind::Memory, error.to_string()),
            _ => Self::data(error.to_string()),
        }
    }
}

impl From<gromap_report::Error> for Failure {
    fn from(error: gromap_report::Error) -> Self {
        match error {
            gromap_report::Error::NoPlaces => Self::usage(error.to_string()),
            _ => Self::data(error.to_string()),
        }
    }
}

/// A path for people.
pub(crate) fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".into() } else { on_one_line(&path.display().to_string()) }
}

/// Letters of a cell, a name or a value that a message repeats, and of a whole message.
const MOST_REPEATED: usize = 60;
const MOST_SAID: usize = 2000;

/// What a file or an option says, as a message repeats it: on one line, and no longer than anyone reads.
pub(crate) fn clipped(text: &str) -> String {
    // Whatever follows would be cut off again.
    let start = cut(text, MOST_REPEATED);
    cut(&on_one_line(&start), MOST_REPEATED).into_owned()
}

/// The beginning of a text, with an ellipsis if there is more.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) if text.len() > end => Cow::Owned(format!("{}…", &text[..end])),
        _ => Cow::Borrowed(text),
    }
}

fn on_one_line(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

/// Text that can do nothing to a terminal but appear there: what would move its cursor, change its state or turn the order of
/// letters round is written as the escape that JSON has for it, so JSON stays JSON. Ends of lines and tabs stay too.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    let acts = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match acts(c) {
            true => safe += &format!("\\u{:04x}", u32::from(c)),
            false => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// "did you mean", if a name is near one that exists.
pub(crate) fn near_miss<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let likeness = |other: &str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    let best = names.into_iter().map(|other| (likeness(other), other)).max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness > 0.8).map(|(_, other)| other)
}

/// Some names for a message; of many, the first ones.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const MOST: usize = 20;
    let mut names = names.into_iter();
    let first: Vec<String> = names.by_ref().take(MOST).map(clipped).collect();
    let rest = names.count();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_as_options_and_data_are_not() {
        let core = |name, allowed: &str| gromap::Error::Parameter { name, value: 7.0, allowed: allowed.into() };
        let wrong = Failure::from(core("n_prototypes", "from 1 to 5"));
        assert_eq!((wrong.kind, wrong.message.as_str()), (Kind::Usage, "--prototypes is 7; it must be from 1 to 5"));
        assert_eq!(Failure::from(core("number of different samples", "at least 2")).kind, Kind::Data);
    }

    #[test]
    fn near_misses_are_near() {
        assert_eq!(near_miss("specis", ["sepal", "species"]), Some("species"));
        assert_eq!(near_miss("Label", ["label"]), Some("label"));
        assert_eq!(near_miss("weight", ["x", "y"]), None);
    }

    #[test]
    fn many_names_are_cut_short() {
        assert_eq!(listed(["a", "b"]), "a, b");
        assert!(listed((0..30).map(|_| "x")).ends_with("x and 10 more"));
        assert!(listed(["x".repeat(5_000_000).as_str()]).chars().count() <= MOST_REPEATED + 1);
    }

    #[test]
    fn what_is_repeated_is_short_and_on_one_line() {
        assert_eq!(clipped("a\nb"), "a\\nb");
        assert_eq!(clipped(&"é".repeat(MOST_REPEATED)), "é".repeat(MOST_REPEATED));
        assert_eq!(clipped(&"é".repeat(MOST_REPEATED + 1)), "é".repeat(MOST_REPEATED) + "…");
        let long = Failure::data("x".repeat(5_000_000)).hint("y".repeat(5_000_000));
        assert!(long.to_string().len() < 2 * MOST_SAID + 100 && long.to_json().to_string().len() < 2 * MOST_SAID + 100);
    }

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        assert_eq!(safe("plain, é, 日本, 👩‍🔬\n\tindented"), "plain, é, 日本, 👩‍🔬\n\tindented");
        assert_eq!(safe("\u{1b}[2Jx\r\u{7f}\u{9b}1m"), "\\u001b[2Jx\\u000d\\u007f\\u009b1m");
        assert_eq!(safe("user\u{202e}txt\u{2066}"), "user\\u202etxt\\u2066");
        let value = Value::String("a\u{1b}\u{9b}\u{202e}\n\"".into());
        assert_eq!(serde_json::from_str::<Value>(&safe(&value.to_string())).unwrap(), value);
    }
}
