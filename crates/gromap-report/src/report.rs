//! What a report is made of, and its checks: a builder that holds everything and fails in one place.

use std::borrow::Cow;

use gromap::data::Samples;
use gromap::options::FittedTo;
use gromap::{Matrix, Model, Path};

use crate::classes::Classes;
use crate::error::Error;
use crate::level::Level;
use crate::pictures::Images;
use crate::telling::Telling;
use crate::{facts, page, payload, svg};

/// The links from the prototypes of one level to those of the next: (before, here, shared mass).
pub(crate) type Links = [(u32, u32, f64)];

/// A map, and what is known of its samples.
///
/// Everything but the model is optional. What comes once for each sample must come for all of them, in the order
/// of the samples that were fitted; [`Report::html`] and [`Report::svg`] say what does not fit.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    models: Vec<&'a Model>,
    lineage: Vec<&'a Links>,
    pub(crate) title: String,
    pub(crate) classes: Option<Classes>,
    pub(crate) columns: Vec<(String, Column)>,
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) images: Option<Images>,
    pub(crate) samples: Option<Matrix<'a, f32>>,
    pub(crate) feature_names: Option<Vec<String>>,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) data_hash: Option<String>,
    /// A name of each prototype, level by level.
    pub(crate) prototype_names: Option<Vec<Vec<String>>>,
    /// Numbers of each prototype, level by level.
    pub(crate) prototype_numbers: Vec<(String, Vec<Vec<f64>>)>,
}

/// One value for each sample.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers to colour by; NaN is a missing value.
    Numbers(Vec<f64>),
    /// Text to search in.
    Text(Vec<String>),
}

impl<'a> Report<'a> {
    /// A report of one map.
    pub fn new(model: &'a Model) -> Self {
        Self::of_levels(vec![model], Vec::new())
    }

    /// A report of several maps of growing n, with a slider from few prototypes to many.
    pub fn of_path(path: &'a Path) -> Self {
        Self::of_levels(path.models.iter().collect(), path.lineage.iter().map(Vec::as_slice).collect())
    }

    fn of_levels(models: Vec<&'a Model>, lineage: Vec<&'a Links>) -> Self {
        let feature_names = models.first().and_then(|model| model.feature_names.clone());
        // What the model knows is shown unless something else is given.
        let known = models.last().and_then(|model| model.classes.clone());
        let classes = known.map(|(names, of_samples)| Classes { names, of_samples });
        let ids = models.last().and_then(|model| model.ids.clone());
        let prototype_names = models.iter().map(|model| model.prototype_names.clone()).collect();
        Self {
            models,
            lineage,
            title: "A map of weighted prototypes".into(),
            classes,
            columns: Vec::new(),
            ids,
            images: None,
            samples: None,
            feature_names,
            parameters: Vec::new(),
            facts: Vec::new(),
            data_hash: None,
            prototype_names,
            prototype_numbers: Vec::new(),
        }
    }

    /// What stands above the map.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// The class of each sample.
    pub fn classes(mut self, classes: Classes) -> Self {
        self.classes = Some(classes);
        self
    }

    /// Adds a column: one value for each sample.
    pub fn column(mut self, name: impl Into<String>, column: Column) -> Self {
        self.columns.push((name.into(), column));
        self
    }

    /// Names of the samples; without them they go by their row numbers, from 0.
    pub fn ids(mut self, ids: Vec<String>) -> Self {
        self.ids = Some(ids);
        self
    }

    /// A picture of each sample.
    pub fn images(mut self, images: Images) -> Self {
        self.images = Some(images);
        self
    }

    /// The samples themselves. They are not shown, but order the members of a prototype by their distance to its mean
    /// where pictures do not.
    pub fn samples(mut self, samples: impl Into<Samples<'a>>) -> Self {
        self.samples = Some(match samples.into() {
            Samples::F32(samples) => samples,
            wide => wide.single().into_owned(),
        });
        self
    }

    /// Names of the features, for what a prototype stands out by; without them, those that the model has.
    pub fn feature_names(mut self, names: Vec<String>) -> Self {
        self.feature_names = Some(names);
        self
    }

    /// Parameters for the footer, in this order.
    pub fn parameters(mut self, parameters: Vec<(String, String)>) -> Self {
        self.parameters = parameters;
        self
    }

    /// Adds something to know about how the map was made, for "details": what several views weigh, how many samples stand for
    /// all of a larger set. What the models say of themselves is there without asking.
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    /// A hash of the data, so that a map can be matched with what it was made of.
    pub fn data_hash(mut self, hash: impl Into<String>) -> Self {
        self.data_hash = Some(hash.into());
        self
    }

    /// Names of the prototypes, one list for each level. Without them a prototype goes by its largest class, by the features
    /// that it stands out by, or by the first words of its most typical member, whichever there is.
    pub fn prototype_names(mut self, names: Vec<Vec<String>>) -> Self {
        self.prototype_names = Some(names);
        self
    }

    /// Adds a number of each prototype to colour by, such as how stable it is; one list for each level, NaN where unknown.
    pub fn prototype_numbers(mut self, name: impl Into<String>, numbers: Vec<Vec<f64>>) -> Self {
        self.prototype_numbers.push((name.into(), numbers));
        self
    }

    /// One HTML file: viewer, styles and data, nothing fetched.
    pub fn html(&self) -> Result<String, Error> {
        self.check()?;
        Ok(page::html(&self.title, &payload::encode(self, &self.levels())))
    }

    /// The map as a static picture in vectors; of a path, its last level.
    pub fn svg(&self) -> Result<String, Error> {
        self.check()?;
        Ok(svg::draw(self, (self.models.len() - 1, &Level::new(self, self.last()?))))
    }

    /// Which features the page shows.
    pub(crate) fn telling(&self) -> Option<Telling> {
        Telling::new(self, &self.models)
    }

    /// Number of samples.
    pub(crate) fn len(&self) -> usize {
        self.models.last().map_or(0, |model| model.plan.len())
    }

    /// Whether the samples are the nodes of a graph.
    pub(crate) fn is_graph(&self) -> bool {
        self.models.iter().any(|model| model.fitted_to == FittedTo::Graph)
    }

    /// What is told under "details": what the last model says of itself, then what was given.
    pub(crate) fn all_facts(&self) -> Vec<(String, String)> {
        let own = self.models.last().map_or_else(Vec::new, |model| facts::of(model));
        own.into_iter().chain(self.facts.iter().cloned()).collect()
    }

    pub(crate) fn lineage(&self) -> &[&'a Links] {
        &self.lineage
    }

    fn last(&self) -> Result<&'a Model, Error> {
        self.models.last().copied().ok_or(Error::NoLevels)
    }

    fn levels(&self) -> Vec<Level<'a>> {
        self.models.iter().map(|model| Level::new(self, model)).collect()
    }

    /// Refuses what does not belong to these samples.
    fn check(&self) -> Result<(), Error> {
        self.last()?;
        let samples = self.len();
        for (level, model) in self.models.iter().enumerate() {
            if !model.is_map() {
                return Err(Error::NoPlaces);
            }
            Error::check_length(format!("samples of level {level}"), samples, model.plan.len())?;
        }
        if let Some(Classes { names, of_samples }) = &self.classes {
            Error::check_length("number of classes of samples", samples, of_samples.len())?;
            let wrong = of_samples.iter().position(|&class| class as usize >= names.len());
            if let Some(sample) = wrong {
                return Err(Error::Class { sample, class: of_samples[sample], classes: names.len() });
            }
        }
        for (at, (name, column)) in self.columns.iter().enumerate() {
            let found = match column {
                Column::Numbers(values) => values.len(),
                Column::Text(values) => values.len(),
            };
            Error::check_length(format!("values of column {name:?}"), samples, found)?;
            if self.columns[..at].iter().any(|(other, _)| other == name) {
                return Err(Error::SameName(name.clone()));
            }
        }
        if let Some(ids) = &self.ids {
            Error::check_length("number of ids", samples, ids.len())?;
        }
        if let Some(images) = &self.images {
            images.check(samples)?;
        }
        self.check_prototypes()?;
        self.check_features(samples)
    }

    /// What comes once for each prototype of each level.
    fn check_prototypes(&self) -> Result<(), Error> {
        let names = self.prototype_names.iter().map(|names| ("names of prototypes".to_owned(), lengths(names)));
        let numbers =
            self.prototype_numbers.iter().map(|(name, numbers)| (format!("values of {name:?}"), lengths(numbers)));
        for (what, found) in names.chain(numbers) {
            Error::check_length(format!("levels of {what}"), self.models.len(), found.len())?;
            for (level, (model, found)) in self.models.iter().zip(found).enumerate() {
                Error::check_length(format!("{what} on level {level}"), model.weights.len(), found)?;
            }
        }
        for (at, (name, _)) in self.prototype_numbers.iter().enumerate() {
            if self.prototype_numbers[..at].iter().any(|(other, _)| other == name) {
                return Err(Error::SameName(name.clone()));
            }
        }
        Ok(())
    }

    fn check_features(&self, samples: usize) -> Result<(), Error> {
        let features = self.models.iter().find_map(|model| model.features.as_ref()).map(Matrix::columns);
        if let Some(given) = &self.samples {
            Error::check_length("rows of the samples", samples, given.rows())?;
            given.check_finite("samples")?;
            if let Some(features) = features {
                Error::check_length("features of the samples", features, given.columns())?;
            }
        }
        match (&self.feature_names, features) {
            (Some(names), Some(features)) => Error::check_length("names of features", features, names.len()),
            _ => Ok(()),
        }
    }

    /// What samples are compared by: themselves, or their pictures.
    pub(crate) fn compared(&self) -> Option<Compared<'_>> {
        match (&self.samples, &self.images) {
            (Some(samples), _) => Some(Compared::Samples(samples)),
            (None, Some(images)) => Some(Compared::Pictures(images)),
            (None, None) => None,
        }
    }
}

fn lengths<T>(levels: &[Vec<T>]) -> Vec<usize> {
    levels.iter().map(Vec::len).collect()
}

/// Points whose distances to the means of their prototypes can be taken.
pub(crate) enum Compared<'r> {
    Samples(&'r Matrix<'r, f32>),
    Pictures(&'r Images),
}

impl Compared<'_> {
    /// One sample as numbers.
    pub(crate) fn point(&self, sample: usize) -> Cow<'_, [f32]> {
        match self {
            Self::Samples(samples) => samples.row(sample).into(),
            Self::Pictures(images) => images.picture(sample).iter().map(|&pixel| f32::from(pixel)).collect(),
        }
    }
}
