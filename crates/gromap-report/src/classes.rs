//! Classes of samples: one order of their names for the page, the command and Python.

use std::collections::HashMap;

/// The class of each sample, as an index into the names.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// Names, in the order in which they are shown.
    pub names: Vec<String>,
    /// The class of each sample.
    pub of_samples: Vec<u32>,
}

impl Classes {
    /// Classes of labels by ascending name; numbers, if all names are numbers, by their value.
    ///
    /// ```
    /// use gromap_report::Classes;
    /// let classes = Classes::new(&["10", "2", "10"]);
    /// assert_eq!((classes.names, classes.of_samples), (vec!["2".into(), "10".into()], vec![1, 0, 1]));
    /// ```
    pub fn new<L: AsRef<str>>(labels: &[L]) -> Self {
        let mut names: Vec<&str> = labels.iter().map(AsRef::as_ref).collect();
        names.sort_unstable();
        names.dedup();
        let numbers = names.iter().map(|name| name.parse::<f64>().map(|number| (number, *name)));
        if let Ok(mut numbers) = numbers.collect::<Result<Vec<_>, _>>() {
            numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
            names = numbers.into_iter().map(|(_, name)| name).collect();
        }
        let place: HashMap<&str, u32> = names.iter().zip(0..).map(|(&name, i)| (name, i)).collect();
        let of_samples = labels.iter().map(|label| place[label.as_ref()]).collect();
        Self { names: names.into_iter().map(Into::into).collect(), of_samples }
    }
}
