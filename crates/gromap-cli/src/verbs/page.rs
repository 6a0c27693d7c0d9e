//! A map as a page: the model, and what is known of the data.

use std::path::Path;

use gromap::data::Samples;
use gromap_report::{Column, Images, Report};

use crate::args::values::Picture;
use crate::config;
use crate::data::{Content, Dataset};
use crate::failure::{Failure, Outcome, shown};
use crate::output::{Existing, Output};
use crate::recipe::Asked;

/// The extension of a file, in lower case.
pub(super) fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_lowercase())
}

/// Refuses an extension that stands for a format that cannot be written; a device or a pipe needs none.
pub(super) fn check_ending(option: &str, path: &Path, known: &[&str]) -> Outcome<()> {
    let is_known = ending(path).is_some_and(|ending| known.contains(&ending.as_str()));
    if is_known || (path.exists() && !path.is_file()) {
        return Ok(());
    }
    let known: Vec<String> =
        known.iter().filter(|ending| **ending != "htm").map(|ending| format!(".{ending}")).collect();
    Err(Failure::usage(format!("{option} {} must end in {}", shown(path), known.join(" or "))))
}

/// Where `--report` goes.
pub(super) fn output(path: Option<&Path>, existing: Existing) -> Outcome<Option<Output>> {
    path.map_or(Ok(()), |path| check_ending("--report", path, &["html", "htm"]))?;
    Ok(Output::optional(path, existing))
}

/// Refuses a name for a model that says it is something else that can be written.
pub(super) fn check_model(path: &Path) -> Outcome<()> {
    let way_out = match ending(path).as_deref() {
        Some("html" | "htm") => "--report FILE.html writes the map",
        Some("svg") => "gromap report MODEL -o FILE.svg draws the map",
        Some("csv" | "tsv" | "npy") => "gromap transform MODEL DATA -o FILE.csv writes labels and places",
        Some("json") => "--json prints what was found, so > FILE.json keeps it",
        _ => return Ok(()),
    };
    let message = format!("-o {} would be a model, and its name says something else", shown(path));
    Err(Failure::usage(message).hint(format!("name a model FILE.gromap; {way_out}")))
}

/// What a page shows beside the map.
#[derive(Default)]
pub(super) struct Page<'a> {
    pub(super) dataset: Option<&'a Dataset>,
    /// The size of a picture, if the data do not tell.
    pub(super) picture: Option<Picture>,
    pub(super) title: Option<String>,
    pub(super) parameters: Vec<(String, String)>,
}

/// Options that do not influence the map.
const NOT_SHOWN: [&str; 13] = [
    "output",
    "report",
    "json",
    "quiet",
    "verbose",
    "force",
    "threads",
    "max-memory",
    "strict",
    "labels",
    "weights",
    "images",
    "view",
];

/// The options of a run, for the footer.
pub(super) fn parameters(asked: &Asked<'_>) -> Vec<(String, String)> {
    let options = config::effective(asked.command, asked.matches).into_iter();
    let shown = options.filter(|(name, _)| !NOT_SHOWN.contains(&name.as_str()));
    shown.map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), Into::into))).collect()
}

impl<'a> Page<'a> {
    pub(super) fn of_data(dataset: &'a Dataset, picture: Option<Picture>, parameters: Vec<(String, String)>) -> Self {
        Self { dataset: Some(dataset), picture, title: None, parameters }
    }

    /// Adds all this to the report of a map.
    pub(super) fn complete<'r>(self, mut report: Report<'r>) -> Outcome<Report<'r>>
    where
        'a: 'r,
    {
        report = report.parameters(self.parameters);
        let title = self.title.or(self.dataset.map(|dataset| dataset.name.clone()));
        if let Some(title) = title {
            report = report.title(title);
        }
        let Some(dataset) = self.dataset else { return Ok(report) };
        if let Some(classes) = &dataset.classes {
            report = report.classes(classes.clone());
        }
        if let Some(ids) = &dataset.ids {
            report = report.ids(ids.clone());
        }
        for (name, texts) in &dataset.texts {
            report = report.column(name.clone(), Column::Text(texts.clone()));
        }
        let Content::Dense(samples) = &dataset.content else { return Ok(report) };
        report = report.data_hash(hash(samples));
        if dataset.is_precomputed {
            return Ok(report);
        }
        if let Some(picture) = self.picture.or(dataset.picture) {
            report = report.images(images(samples, picture)?);
        }
        if let Some(names) = dataset.all_names() {
            report = report.feature_names(names);
        }
        Ok(match dataset.all_features() {
            Some(samples) => report.samples(samples),
            None => report,
        })
    }
}

/// Samples as pictures.
fn images(samples: &Samples<'_>, picture: Picture) -> Outcome<Images> {
    let columns = samples.columns();
    if picture.len() != Some(columns) {
        let pixels = picture.len().unwrap_or(usize::MAX);
        return Err(Failure::usage(format!("--images {picture} needs {pixels} features, but there are {columns}")));
    }
    Ok(Images::from_values(samples, (picture.width, picture.height, picture.channels))?)
}

/// FNV-1a of the values, so that a map can be matched with its data.
fn hash(samples: &Samples<'_>) -> String {
    let mix = |hash: u64, bits: u64| (hash ^ bits).wrapping_mul(0x0100_0000_01b3);
    let start = 0xcbf2_9ce4_8422_2325;
    let hash = match samples {
        Samples::F32(m) => m.values().iter().fold(start, |hash, value| mix(hash, value.to_bits().into())),
        Samples::F64(m) => m.values().iter().fold(start, |hash, value| mix(hash, value.to_bits())),
    };
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: Vec<f64>) -> Samples<'static> {
        let columns = values.len();
        gromap::Matrix::new(values, 1, columns).unwrap().into()
    }

    #[test]
    fn values_become_bytes() {
        let picture = Picture { width: 3, height: 1, channels: 1 };
        let pixels = |values: Vec<f64>| images(&samples(values), picture).unwrap().pixels;
        assert_eq!(pixels(vec![0.0, 0.5, 1.0]), [0, 128, 255]);
        assert_eq!(pixels(vec![0.0, 20.0, 200.0]), [0, 20, 200]);
        assert_eq!(pixels(vec![-1.0, 0.0, 1.0]), [0, 128, 255]);
        assert_eq!(pixels(vec![7.0, 7.0, 700.0]), [0, 0, 255]);
        assert_eq!(pixels(vec![-7.0, -7.0, -7.0]), [0, 0, 0]);
        assert!(images(&samples(vec![1.0]), picture).unwrap_err().message.contains("needs 3 features"));
    }

    #[test]
    fn other_data_have_another_hash() {
        assert_ne!(hash(&samples(vec![1.0, 2.0])), hash(&samples(vec![2.0, 1.0])));
    }
}
