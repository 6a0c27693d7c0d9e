//! From a file to samples, and what comes with them: classes, weights, names, pictures.
//!
//! One reader for each format gives a [`Loaded`]; [`read`] picks it, finds labels and weights in columns or in files of
//! their own, and makes a [`Dataset`] of it. No reader trusts what it reads: a header is checked against the size of the file
//! and against the memory we may hold before anything is allocated, and bad input is named by its row and column.

#[cfg(feature = "columnar")]
mod claims;
#[cfg(feature = "columnar")]
mod columnar;
mod edges;
mod encode;
mod folder;
#[cfg(feature = "columnar")]
mod footer;
mod idx;
mod lines;
mod mtx;
mod npy;
mod npz;
pub mod probe;
pub(crate) mod source;
mod sparse;
mod table;
pub(crate) mod vector;

use std::path::{Path, PathBuf};

use gromap::data::{Form, Samples, Shape};
use gromap::options::FittedTo;
use gromap::similarity::{self, Similarity, Sparse};
use gromap::table::{Encoding, Rules};
use gromap::{Matrix, Model};
use gromap_report::Classes;

use crate::args::options::{DataOptions, Format, Precision};
use crate::args::table::TableOptions;
use crate::args::values::Picture;
use crate::failure::{Failure, Outcome, clipped, listed, near_miss, shown};
pub(crate) use encode::dominated;
use source::{Room, Source};
pub(crate) use sparse::Rows;
pub(crate) use table::Role;

/// Numbers in the precision they came in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Values {
    fn bytes(&self) -> u64 {
        match self {
            Self::F32(values) => 4 * values.len() as u64,
            Self::F64(values) => 8 * values.len() as u64,
        }
    }

    pub(crate) fn to_f64(&self) -> Vec<f64> {
        match self {
            Self::F32(values) => values.iter().map(|&value| f64::from(value)).collect(),
            Self::F64(values) => values.clone(),
        }
    }

    fn with_precision(self, precision: Precision) -> Self {
        match (precision, self) {
            (Precision::F32, Self::F64(values)) => Self::F32(values.iter().map(|&value| value as f32).collect()),
            (Precision::F64, Self::F32(values)) => Self::F64(values.iter().map(|&value| value.into()).collect()),
            (_, same) => same,
        }
    }

    /// The same numbers as samples, one in each row.
    fn into_samples(self, rows: usize, columns: usize) -> Outcome<Samples<'static>> {
        Ok(match self {
            Self::F32(values) => Matrix::new(values, rows, columns)?.into(),
            Self::F64(values) => Matrix::new(values, rows, columns)?.into(),
        })
    }
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// Every value.
    Dense(Samples<'static>),
    /// The values that are not zero: a graph, or samples with few of them.
    Sparse(Rows),
}

/// What a reader found.
#[derive(Debug)]
pub(crate) struct Loaded {
    content: Content,
    /// The column or array that was asked for as labels, or that is there for them.
    labels: Option<Vec<String>>,
    weights: Option<Vec<f64>>,
    ids: Option<Vec<String>>,
    /// Text columns, which are shown but are not features.
    texts: Vec<(String, Vec<String>)>,
    feature_names: Option<Vec<String>>,
    /// Features that are dates, in days.
    dates: Vec<String>,
    /// The column that the ids are from.
    id: Option<String>,
    /// The line of each row, where a file has lines.
    lines: Option<Vec<u64>>,
    /// All names there are to ask for.
    names: Vec<String>,
    picture: Option<Picture>,
    is_graph: bool,
}

impl Loaded {
    fn new(content: Content) -> Self {
        Self {
            content,
            labels: None,
            weights: None,
            ids: None,
            texts: Vec::new(),
            feature_names: None,
            dates: Vec::new(),
            id: None,
            lines: None,
            names: Vec::new(),
            picture: None,
            is_graph: false,
        }
    }
}

/// What the columns of a table are for, as far as the user or a model has said.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) labels: Option<String>,
    pub(crate) weights: Option<String>,
    /// The features that a model was fitted with, by name; without them, every column of numbers is a feature.
    features: Option<Vec<String>>,
    /// What the other columns are for, if the features are known by name.
    others: Role,
    /// What is asked of a table that is fitted to.
    rules: Option<Rules>,
    /// How the table that a model was fitted to became its features.
    table: Option<Encoding>,
    /// The column whose words name the prototypes.
    text: Option<String>,
}

/// Everything known of the data.
#[derive(Debug)]
pub(crate) struct Dataset {
    pub(crate) name: String,
    pub(crate) content: Content,
    pub(crate) classes: Option<Classes>,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) texts: Vec<(String, Vec<String>)>,
    pub(crate) feature_names: Option<Vec<String>>,
    /// How a table became the samples, unless it was one of numbers alone.
    pub(crate) table: Option<Encoding>,
    pub(crate) picture: Option<Picture>,
    /// Whether this is a matrix of pairs, not samples.
    pub(crate) is_precomputed: bool,
    pub(crate) warnings: Vec<String>,
    /// The other views of the same samples.
    pub(crate) views: Vec<Dataset>,
}

impl Dataset {
    /// Number of samples.
    pub(crate) fn len(&self) -> usize {
        self.content.len()
    }

    /// This view and the others.
    pub(crate) fn all_views(&self) -> impl Iterator<Item = &Dataset> {
        std::iter::once(self).chain(&self.views)
    }

    /// Names of the features for the model, view by view, unless two of a view are the same: new columns could then not be
    /// matched by name.
    pub(crate) fn unique_names(&self) -> Option<Vec<String>> {
        let unique = |view: &Dataset| {
            let names = view.feature_names.as_ref()?;
            let different: std::collections::HashSet<&String> = names.iter().collect();
            (different.len() == names.len()).then(|| names.clone())
        };
        self.all_views().map(unique).collect::<Option<Vec<_>>>().map(|names| names.concat())
    }

    /// Names of the features of all views, as far as all have names.
    pub(crate) fn all_names(&self) -> Option<Vec<String>> {
        self.all_views().map(|view| view.feature_names.clone()).collect::<Option<Vec<_>>>().map(|names| names.concat())
    }

    /// The features of all views side by side.
    pub(crate) fn all_features(&self) -> Option<Samples<'_>> {
        let dense = |view: &'_ Dataset| match &view.content {
            Content::Dense(samples) => Some(samples.clone()),
            Content::Sparse(_) => None,
        };
        if self.views.is_empty() {
            let Content::Dense(samples) = &self.content else { return None };
            return Some(samples.view());
        }
        self.all_views().map(dense).collect::<Option<Vec<_>>>().map(Samples::side_by_side)
    }

    /// The text column of a name.
    pub(crate) fn text(&self, name: &str) -> Outcome<&[String]> {
        let found = self.texts.iter().find(|(other, _)| other == name).map(|(_, texts)| texts.as_slice());
        found.ok_or_else(|| {
            let there = listed(self.texts.iter().map(|(name, _)| name.as_str()));
            let there = if there.is_empty() { "there is none".into() } else { format!("there are {there}") };
            Failure::usage(format!("--text {}: {} has no text column of this name", clipped(name), self.name))
                .hint(there)
        })
    }

    /// Names of prototypes by the words of a column.
    pub(crate) fn names(&self, model: &Model, text: &str) -> Outcome<Vec<String>> {
        Ok(gromap_report::names_from_texts(model, self.text(text)?))
    }

    /// Models that know what their samples and prototypes are called; the words of a column may name prototypes.
    pub(crate) fn named(&self, mut path: gromap::Path, text: Option<&str>) -> Outcome<gromap::Path> {
        for model in &mut path.models {
            model.ids.clone_from(&self.ids);
            model.classes = self.classes.as_ref().map(|classes| (classes.names.clone(), classes.of_samples.clone()));
            model.prototype_names = text.map(|text| self.names(model, text)).transpose()?;
        }
        Ok(path)
    }

    /// What decides how much memory a fit takes.
    pub(crate) fn shape(&self) -> Shape {
        if !self.views.is_empty() {
            return Shape::of_views(&self.all_views().map(Dataset::own_shape).collect::<Vec<_>>());
        }
        self.own_shape()
    }

    fn own_shape(&self) -> Shape {
        match &self.content {
            Content::Dense(samples) => {
                shaped((samples.len(), samples.columns()), samples.is_single(), self.is_precomputed)
            }
            Content::Sparse(rows) => {
                let form = Form::Pairs { stored: rows.stored() as u64 };
                Shape { samples: rows.len(), form, is_single: rows.is_single() }
            }
        }
    }
}

fn shaped((rows, columns): (usize, usize), is_single: bool, is_precomputed: bool) -> Shape {
    let form = match is_precomputed {
        true => Form::Pairs { stored: (rows as u64).saturating_mul(columns as u64) },
        false => Form::Samples { features: columns },
    };
    Shape { samples: rows, form, is_single }
}

/// What to read, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) path: &'a Path,
    pub(crate) options: &'a DataOptions,
    pub(crate) weights: Option<&'a str>,
    /// What the columns of a table that is fitted to are for.
    pub(crate) table: Option<&'a TableOptions>,
    /// The column whose words name the prototypes.
    pub(crate) text: Option<&'a str>,
    /// The model whose features are read, matched by name if both have names; `others` is the role of all other columns.
    pub(crate) model: Option<&'a Model>,
    pub(crate) others: Role,
    /// Which of the views of the model this is.
    pub(crate) view: usize,
    /// Whether a graph or a matrix of all pairs is meant, not samples.
    pub(crate) is_precomputed: bool,
    pub(crate) room: Room,
}

/// Reads samples, or an N×N matrix, with their labels and weights, and other views of them.
pub(crate) fn read(request: &Request<'_>) -> Outcome<Dataset> {
    let mut dataset = request.read()?;
    let options = DataOptions { precision: request.options.precision, ..DataOptions::default() };
    for (v, path) in request.options.view.iter().enumerate() {
        let view = Request { path, options: &options, weights: None, view: v + 1, ..*request }.read()?;
        if view.len() != dataset.len() {
            let (name, found, expected) = (&view.name, view.len(), dataset.len());
            let message = format!("{name} has {found} samples, but {} has {expected}", dataset.name);
            return Err(Failure::data(message).hint("all views have the same samples in the same order"));
        }
        dataset.warnings.extend(view.warnings.iter().map(|warning| format!("{}: {warning}", view.name)));
        dataset.views.push(view);
    }
    Ok(dataset)
}

/// Number of samples and features, if the header of the file has them; no values are read.
pub(crate) fn shape(request: &Request<'_>) -> Outcome<Option<Shape>> {
    // Other views count too.
    if !request.options.view.is_empty() {
        return Ok(None);
    }
    // Standard input and pipes can be read only once.
    if request.path.as_os_str() == "-" || request.path.exists() && !request.path.is_file() {
        return Ok(None);
    }
    let (size, is_single) = match request.format()? {
        Format::Npy => npy::extent(&Source::file(request.path, request.room)?)?,
        Format::Idx => idx::extent(&Source::file(request.path, request.room)?)?,
        _ => return Ok(None),
    };
    let is_single = request.options.precision.map_or(is_single, |precision| precision == Precision::F32);
    Ok(Some(shaped(size, is_single, request.is_precomputed)))
}

impl<'a> Request<'a> {
    /// Samples, without weights.
    pub(crate) fn samples(path: &'a Path, options: &'a DataOptions, room: Room) -> Self {
        Self {
            path,
            options,
            weights: None,
            table: None,
            text: None,
            model: None,
            others: Role::Text,
            view: 0,
            is_precomputed: false,
            room,
        }
    }

    /// Reads this view.
    fn read(&self) -> Outcome<Dataset> {
        let format = self.format()?;
        self.check_table(format)?;
        let loaded = self.load(format, &self.wanted())?;
        self.finish(loaded)
    }

    /// The files that may be read; a column that is asked for by name is one of them if there is a file of that name.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let named = [self.options.labels.as_deref(), self.weights].into_iter().flatten().map(PathBuf::from);
        let pictures = if self.path.is_dir() { folder::pictures(self.path).unwrap_or_default() } else { Vec::new() };
        let pictures = pictures.into_iter().map(|(file, _)| file);
        let views = self.options.view.iter().cloned();
        [self.path.to_owned()]
            .into_iter()
            .chain(views)
            .chain(named)
            .chain(idx::beside(self.path))
            .chain(pictures)
            .collect()
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            labels: self.options.labels.clone(),
            weights: self.weights.map(Into::into),
            features: self.model.and_then(|model| Some(model.names_of_view(self.view)?.to_vec())),
            others: self.others,
            rules: self.rules(),
            table: self.model.and_then(|model| model.table.clone()),
            text: self.text.map(Into::into),
        }
    }

    /// What is asked of a table that is fitted to.
    fn rules(&self) -> Option<Rules> {
        let is_table = self.format().is_ok_and(Format::is_table) && !self.is_precomputed;
        self.table.filter(|_| is_table).map(TableOptions::rules)
    }

    /// Refuses what is asked of a table where there is none.
    fn check_table(&self, format: Format) -> Outcome<()> {
        let given = self.table.and_then(TableOptions::given).or(self.text.map(|_| "--text"));
        match given {
            Some(option) if !format.is_table() || self.is_precomputed => {
                let message = format!("{option} has no effect: {} is not a table of samples", shown(self.path));
                Err(Failure::usage(message).hint("tables are .csv, .tsv, .parquet and .arrow files"))
            }
            _ => Ok(()),
        }
    }

    /// Whether DATA can be nothing but a graph: a list of edges, or a table of the columns source, target and perhaps weight.
    pub(crate) fn is_edge_list(&self) -> bool {
        match self.format() {
            Ok(Format::Edges) => true,
            Ok(Format::Csv | Format::Tsv) => self.is_edge_table(),
            _ => false,
        }
    }

    fn is_edge_table(&self) -> bool {
        let for_samples = self.model.is_some_and(|model| model.fitted_to == FittedTo::Samples);
        if for_samples || self.path.as_os_str() == "-" || !self.path.is_file() {
            return false;
        }
        Source::file(self.path, self.room).is_ok_and(|source| edges::is_table(&source))
    }

    /// The format that was asked for, or the one the name tells.
    fn format(&self) -> Outcome<Format> {
        if let Some(format) = self.options.format {
            return Ok(format);
        }
        if self.path.as_os_str() == "-" {
            return Err(Failure::usage("standard input has no name to tell its format")
                .hint("give --format, such as --format csv"));
        }
        if self.path.is_dir() {
            return Ok(Format::Folder);
        }
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let stem = name.strip_suffix(".gz").unwrap_or(&name);
        let endings = [
            (".npy", Format::Npy),
            (".npz", Format::Npz),
            (".csv", Format::Csv),
            (".tsv", Format::Tsv),
            (".tab", Format::Tsv),
            (".parquet", Format::Parquet),
            (".arrow", Format::Arrow),
            (".feather", Format::Arrow),
            (".mtx", Format::Mtx),
            (".edges", Format::Edges),
            (".edgelist", Format::Edges),
            ("-ubyte", Format::Idx),
            (".idx", Format::Idx),
        ];
        let found = endings.iter().find(|(ending, _)| stem.ends_with(ending)).map(|(_, format)| *format);
        found.ok_or_else(|| {
            let known = endings.map(|(ending, _)| ending).join(", ");
            let message =
                format!("the name of {} does not tell its format; known endings are {known}", shown(self.path));
            // That the file does not exist is worth more than that its name says nothing.
            match std::fs::metadata(self.path) {
                Err(error) => Failure::reading(&shown(self.path), &error),
                Ok(_) => Failure::usage(message).hint("give --format"),
            }
        })
    }

    fn load(&self, format: Format, wanted: &Wanted) -> Outcome<Loaded> {
        if format == Format::Folder {
            return folder::read(self.path, self.room);
        }
        let source = match self.path.to_str() {
            Some("-") => Source::drained("standard input".into(), std::io::stdin().lock(), self.room)?,
            _ => Source::file(self.path, self.room)?,
        };
        if source.len() == 0 {
            return Err(Failure::data(format!("{} is empty", source.name)));
        }
        let mut loaded = match matches!(format, Format::Csv | Format::Tsv) && self.is_edge_table() {
            true => edges::table(&source, self.room)?,
            false => load(&source, format, wanted, self.room)?,
        };
        if format == Format::Idx && wanted.labels.is_none() {
            loaded.labels = idx::labels_beside(self.path, self.room)?;
        }
        Ok(loaded)
    }

    /// Labels and weights, from columns or files, and checks of what belongs together.
    fn finish(&self, mut loaded: Loaded) -> Outcome<Dataset> {
        let rows = loaded.content.len();
        if loaded.is_graph && !self.is_precomputed {
            let message = format!("{} is a graph, not samples", shown(self.path));
            return Err(Failure::usage(message).hint("add --precomputed graph"));
        }
        let encode::Tabulated { table, kept, warnings } = encode::tabulated(self, &mut loaded)?;
        let content = match loaded.content {
            Content::Sparse(rows) if !self.is_precomputed => Content::Dense(rows.to_dense(self.room)?),
            content => content,
        };
        let content = match self.options.precision {
            None => content,
            Some(precision) => content.with_precision(precision),
        };
        let (content, feature_names) = match (content, loaded.feature_names) {
            (Content::Dense(samples), Some(names)) if table.is_none() => {
                let (samples, names) = self.matched(samples, names, &loaded.names)?;
                (Content::Dense(samples), Some(names))
            }
            unnamed => unnamed,
        };
        let mut dataset = Dataset {
            name: shown(self.path),
            content,
            classes: None,
            weights: loaded.weights,
            ids: loaded.ids,
            texts: loaded.texts,
            feature_names,
            table,
            picture: loaded.picture,
            is_precomputed: self.is_precomputed,
            warnings,
            views: Vec::new(),
        };
        let labels = match (&self.options.labels, loaded.labels) {
            (_, Some(labels)) => Some(labels),
            (None, None) => None,
            (Some(name), None) => Some(self.beside("--labels", name, &loaded.names)?),
        };
        if let Some(labels) = labels {
            let labels = kept.of(labels, rows, "labels")?;
            dataset.classes = Some(Classes::new(&labels));
        }
        if let (Some(name), None) = (self.weights, &dataset.weights) {
            let words = kept.of(self.beside("--weights", name, &loaded.names)?, rows, "weights")?;
            dataset.weights = Some(vector::numbers(&words, name)?);
        }
        Ok(dataset)
    }

    /// The features in the order of the model's, if there is one and both have names.
    fn matched(
        &self,
        samples: Samples<'static>,
        names: Vec<String>,
        all: &[String],
    ) -> Outcome<(Samples<'static>, Vec<String>)> {
        let Some(model) = self.model else { return Ok((samples, names)) };
        let columns = model.columns_of_view(self.view, &names).map_err(|error| {
            let there = listed(all.iter().map(String::as_str));
            Failure::from(error)
                .about(shown(self.path))
                .hint(format!("the columns of {} are {there}", shown(self.path)))
        })?;
        if columns.iter().copied().eq(0..names.len()) {
            return Ok((samples, names));
        }
        Ok((samples.select(&columns), columns.iter().map(|&column| names[column].clone()).collect()))
    }

    /// Labels or weights from a file with one value per sample, where the name is not a column.
    fn beside(&self, option: &str, name: &str, columns: &[String]) -> Outcome<Vec<String>> {
        let path = Path::new(name);
        if path.is_file() {
            return vector::read(path, self.room);
        }
        let columns = || columns.iter().map(String::as_str);
        let there = match columns().count() {
            0 => format!("{} has no columns with names", shown(self.path)),
            _ => format!("the columns of {} are {}", shown(self.path), listed(columns())),
        };
        let failure = Failure::usage(format!("{option} {} is neither a column nor a file; {there}", clipped(name)));
        Err(match near_miss(name, columns()) {
            Some(near) => failure.hint(format!("did you mean {option} {}?", clipped(near))),
            None => failure,
        })
    }
}

/// Reads bytes of a known format.
fn load(source: &Source, format: Format, wanted: &Wanted, room: Room) -> Outcome<Loaded> {
    match format {
        Format::Npy => npy::read(source, room),
        Format::Npz => npz::read(source, wanted, room),
        Format::Csv => table::read(source, b',', wanted, room),
        Format::Tsv => table::read(source, b'\t', wanted, room),
        #[cfg(feature = "columnar")]
        Format::Parquet => columnar::parquet(source, wanted, room),
        #[cfg(feature = "columnar")]
        Format::Arrow => columnar::arrow(source, wanted, room),
        #[cfg(not(feature = "columnar"))]
        Format::Parquet | Format::Arrow => {
            Err(Failure::usage("this gromap was built without Parquet and Arrow")
                .hint("build it with --features columnar"))
        }
        Format::Idx => idx::read(source, room),
        Format::Mtx => mtx::read(source, room),
        Format::Edges => edges::read(source, room),
        Format::Folder => Err(Failure::usage("a folder of pictures cannot come from a file or standard input")),
    }
}

impl Content {
    fn len(&self) -> usize {
        match self {
            Self::Dense(samples) => samples.len(),
            Self::Sparse(rows) => rows.len(),
        }
    }

    fn with_precision(self, precision: Precision) -> Self {
        match (self, precision) {
            (Self::Dense(wide @ Samples::F64(_)), Precision::F32) => Self::Dense(wide.single().into_owned().into()),
            (Self::Dense(Samples::F32(m)), Precision::F64) => {
                Self::Dense(Matrix::from_fn(m.rows(), m.columns(), |i, j| f64::from(m[(i, j)])).into())
            }
            (Self::Dense(same), _) => Self::Dense(same),
            (Self::Sparse(rows), _) => Self::Sparse(rows.with_precision(precision)),
        }
    }

    /// A matrix of pairs as a similarity.
    pub(crate) fn similarity(&self) -> Outcome<Box<dyn Similarity + '_>> {
        match self {
            Self::Dense(matrix) => Ok(similarity::dense(matrix.view())?),
            Self::Sparse(rows) => rows.similarity(),
        }
    }

    /// A matrix of pairs as a graph.
    pub(crate) fn graph(&self) -> Outcome<Sparse<'_, f32>> {
        match self {
            Self::Dense(matrix) => Ok(similarity::graph_of_pairs(matrix.view())?),
            Self::Sparse(rows) => rows.graph(),
        }
    }
}

/// All values of samples in double precision.
#[cfg(test)]
pub(crate) fn doubles(content: &Content) -> Vec<f64> {
    match content {
        Content::Dense(Samples::F32(matrix)) => matrix.values().iter().map(|&value| value.into()).collect(),
        Content::Dense(Samples::F64(matrix)) => matrix.values().to_vec(),
        Content::Sparse(rows) => doubles(&Content::Dense(rows.to_dense(Room(1 << 20)).unwrap())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_sorted_by_value_or_by_name() {
        let labels = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let numbers = Classes::new(&labels(&["10", "9", "10", "2"]));
        assert_eq!((numbers.names, numbers.of_samples), (labels(&["2", "9", "10"]), vec![2, 1, 2, 0]));
        let words = Classes::new(&labels(&["b", "a10", "a9"]));
        assert_eq!(words.of_samples, [2, 0, 1]);
    }
}
