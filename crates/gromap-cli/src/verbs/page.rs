//! A map as a page: what is known of the data beside what was found.

use gromap::{Matrix, Model, Path, Scalar};
use gromap_report::{Column, Images, Report};

use crate::args::values::Picture;
use crate::config;
use crate::data::{Content, Dataset, Samples, Values, WithSamples};
use crate::failure::{Failure, Outcome};
use crate::recipe::Asked;

/// One map, or several to slide through.
#[derive(Debug, Clone, Copy)]
pub(super) enum Maps<'a> {
    One(&'a Model),
    Path(&'a Path),
}

/// What stands around a map.
#[derive(Default)]
pub(super) struct Page<'a> {
    pub(super) dataset: Option<&'a Dataset>,
    /// The size of a picture, if the data do not tell.
    pub(super) picture: Option<Picture>,
    pub(super) title: Option<String>,
    pub(super) parameters: Vec<(String, String)>,
}

/// Options that say nothing about the map.
const NOT_SHOWN: [&str; 12] = [
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

    /// The page, as one HTML file.
    pub(super) fn html(self, maps: Maps<'_>) -> Outcome<String> {
        self.with_report(maps, |report| report.html())
    }

    /// The map, as a static picture.
    pub(super) fn svg(self, maps: Maps<'_>) -> Outcome<String> {
        self.with_report(maps, |report| report.svg())
    }

    fn with_report(
        self,
        maps: Maps<'_>,
        draw: impl FnOnce(&Report<'_>) -> Result<String, gromap_report::Error>,
    ) -> Outcome<String> {
        let mut report = match maps {
            Maps::One(model) => Report::new(model),
            Maps::Path(path) => Report::of_path(path),
        };
        report = report.parameters(self.parameters);
        let title = self.title.or(self.dataset.map(|dataset| dataset.name.clone()));
        if let Some(title) = title {
            report = report.title(title);
        }
        let Some(dataset) = self.dataset else { return Ok(draw(&report)?) };
        if let Some(classes) = &dataset.classes {
            report = report.classes(classes.names.clone(), classes.of_samples.clone());
        }
        if let Some(ids) = &dataset.ids {
            report = report.ids(ids.clone());
        }
        for (name, texts) in &dataset.texts {
            report = report.column(name.clone(), Column::Text(texts.clone()));
        }
        let Content::Dense(samples) = &dataset.content else { return Ok(draw(&report)?) };
        report = report.data_hash(hash(samples));
        if let Some(picture) = self.picture.or(dataset.picture) {
            report = report.images(images(samples, picture)?);
        }
        if let Some(names) = &dataset.feature_names {
            report = report.feature_names(names.clone());
        }
        samples.with(Draw { report, draw, takes_samples: takes_samples(maps, samples) })
    }
}

/// Whether the prototypes have mean samples to compare with: those of a matrix of pairs have none.
fn takes_samples(maps: Maps<'_>, samples: &Samples) -> bool {
    let model = match maps {
        Maps::One(model) => Some(model),
        Maps::Path(path) => path.models.first(),
    };
    let features = model.and_then(|model| model.features.as_ref());
    features.is_some_and(|features| features.columns() == samples.columns)
}

/// Draws with the samples, in whatever precision.
struct Draw<'a, F> {
    report: Report<'a>,
    draw: F,
    takes_samples: bool,
}

impl<F: FnOnce(&Report<'_>) -> Result<String, gromap_report::Error>> WithSamples for Draw<'_, F> {
    type Output = String;

    fn call<S: Scalar>(self, samples: &Matrix<'_, S>) -> Outcome<String> {
        let Self { report, draw, takes_samples } = self;
        if !takes_samples {
            return Ok(draw(&report)?);
        }
        Ok(draw(&report.samples(samples))?)
    }
}

/// Samples as pictures: shares of white become bytes, bytes stay, and anything else is stretched from its lowest value to its
/// highest.
fn images(samples: &Samples, picture: Picture) -> Outcome<Images> {
    if picture.len() != Some(samples.columns) {
        let (columns, pixels) = (samples.columns, picture.len().unwrap_or(usize::MAX));
        return Err(Failure::usage(format!("--images {picture} needs {pixels} features, but there are {columns}")));
    }
    let values = samples.values.to_f64();
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    let (low, high) = match (low, high) {
        (low, high) if low >= 0.0 && high <= 1.0 => (0.0, 1.0),
        (low, high) if low >= 0.0 && high <= 255.0 => (0.0, 255.0),
        other => other,
    };
    let scale = if high > low { 255.0 / (high - low) } else { 0.0 };
    let pixels = values.iter().map(|value| (scale * (value - low)).round() as u8).collect();
    Ok(Images { width: picture.width, height: picture.height, channels: picture.channels, pixels })
}

/// FNV-1a of the values, so that a map can be matched with its data.
fn hash(samples: &Samples) -> String {
    let mix = |hash: u64, bits: u64| (hash ^ bits).wrapping_mul(0x0100_0000_01b3);
    let start = 0xcbf2_9ce4_8422_2325;
    let hash = match &samples.values {
        Values::F32(values) => values.iter().fold(start, |hash, value| mix(hash, value.to_bits().into())),
        Values::F64(values) => values.iter().fold(start, |hash, value| mix(hash, value.to_bits())),
    };
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: Vec<f64>) -> Samples {
        Samples { rows: 1, columns: values.len(), values: Values::F64(values) }
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
