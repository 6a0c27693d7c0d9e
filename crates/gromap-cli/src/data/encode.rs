//! From what a table holds to samples: by the rules of the core, or as the table that a model was fitted to became its own.
//!
//! A table of numbers alone, without gaps or ids, is samples already and is not touched.

use gromap::data::Samples;
use gromap::table::{Cells, Column, Encoding, Gaps, Ids, Rules, Shell};
use gromap::{Error, Matrix, Model};

use super::{Content, Loaded, Request, vector};
use crate::args::options::Precision;
use crate::failure::{Failure, Outcome, clipped, listed, shown};

/// A column that has more than this share of the variance leaves nothing to the others.
const NEARLY_ALL: f64 = 0.95;

/// What became of a table.
#[derive(Default)]
pub(super) struct Tabulated {
    /// How, unless it was one of numbers alone.
    pub(super) table: Option<Encoding>,
    pub(super) kept: Kept,
    pub(super) warnings: Vec<String>,
}

/// The rows that are kept, where some are left out.
#[derive(Default)]
pub(super) struct Kept(Option<Vec<usize>>);

impl Kept {
    /// Of values of all rows, those that are kept.
    pub(super) fn of(&self, values: Vec<String>, rows: usize, what: &str) -> Outcome<Vec<String>> {
        // What stood in the table itself is of the rows that are kept.
        if self.0.as_ref().is_some_and(|kept| kept.len() == values.len()) {
            return Ok(values);
        }
        let values = vector::fitting(values, rows, what)?;
        Ok(match &self.0 {
            None => values,
            Some(kept) => kept.iter().map(|&row| values[row].clone()).collect(),
        })
    }
}

/// Makes samples of what was loaded. Labels, weights, ids and texts then belong to the rows that are left.
pub(super) fn tabulated(request: &Request<'_>, loaded: &mut Loaded) -> Outcome<Tabulated> {
    let (rules, known) = (request.rules(), request.model.and_then(|model| model.table.as_ref()));
    if loaded.is_graph || !matches!(loaded.content, Content::Dense(_)) || request.is_precomputed {
        return Ok(Tabulated { warnings: ignored(request, loaded), ..Tabulated::default() });
    }
    let encoding = match (rules, known) {
        (_, Some(known)) if loaded.feature_names.is_some() || !loaded.texts.is_empty() => known.clone(),
        // An array goes by position, as its features.
        (_, Some(known)) => return Ok(Tabulated { table: Some(known.clone()), ..Tabulated::default() }),
        (None, None) => {
            if let Some(model) = request.model {
                check_gaps(request, loaded, model)?;
            }
            return Ok(Tabulated { warnings: ignored(request, loaded), ..Tabulated::default() });
        }
        (Some(mut rules), None) => {
            // The words that name prototypes are no feature.
            rules.exclude.extend(request.text.map(Into::into));
            if is_edge_list(&loaded.names) {
                let message = format!("{} is a list of edges by its columns", shown(request.path));
                return Err(Failure::usage(message).hint("add --format edges"));
            }
            let mut warnings = Vec::new();
            if is_plain(&rules, request, loaded, &mut warnings) {
                return Ok(Tabulated { warnings, ..Tabulated::default() });
            }
            return apply(request, loaded, |columns| {
                let learnt = rules.learn(columns).map_err(|error| Failure::from(error).about(shown(request.path)))?;
                Ok((learnt.encoding, learnt.notes))
            });
        }
    };
    apply(request, loaded, |_| Ok((encoding, Vec::new())))
}

/// Encodes what was loaded; `learn` says how.
fn apply(
    request: &Request<'_>,
    loaded: &mut Loaded,
    learn: impl FnOnce(&[Column]) -> Outcome<(Encoding, Vec<String>)>,
) -> Outcome<Tabulated> {
    let shown_too: Vec<String> = loaded.texts.iter().map(|(name, _)| name.clone()).collect();
    let columns = columns(request, loaded)?;
    let (encoding, mut warnings) = learn(&columns)?;
    request.room.check_values("the table as numbers", loaded.content.len(), encoding.width(), 8)?;
    let encoded =
        encoding.apply(&columns, Gaps::MayDrop, Shell::Command).map_err(|error| placed(request, loaded, error))?;
    // Text is shown too, whether it became features or not.
    for column in columns.into_iter().filter(|column| shown_too.contains(&column.name)) {
        if let Cells::Text(words) = column.cells {
            loaded.texts.push((column.name, words));
        }
    }
    warnings.extend(encoded.notes.iter().cloned());
    loaded.labels = loaded.labels.take().map(|labels| encoded.kept(labels));
    loaded.weights = loaded.weights.take().map(|weights| encoded.kept(weights));
    loaded.texts.iter_mut().for_each(|(_, texts)| *texts = encoded.kept(std::mem::take(texts)));
    // Rows that are left keep their numbers, so that results can be matched with the table.
    let numbers = encoded.rows.as_ref().map(|rows| rows.iter().map(ToString::to_string).collect());
    loaded.ids = encoded.ids.clone().or(loaded.ids.take().map(|ids| encoded.kept(ids))).or(numbers);
    loaded.feature_names = Some(encoding.feature_names());
    let was_single = matches!(loaded.content, Content::Dense(Samples::F32(_))) && !encoding.is_mixed();
    let content = Content::Dense(encoded.values.into());
    loaded.content = if was_single { content.with_precision(Precision::F32) } else { content };
    Ok(Tabulated { table: Some(encoding), kept: Kept(encoded.rows), warnings })
}

/// Text that nobody asked about.
fn ignored(request: &Request<'_>, loaded: &Loaded) -> Vec<String> {
    let names = listed(loaded.texts.iter().map(|(name, _)| name.as_str()));
    let is_said = request.model.is_none() && !loaded.texts.is_empty();
    is_said.then(|| format!("text columns are not used as features: {names}")).into_iter().collect()
}

fn is_edge_list(names: &[String]) -> bool {
    super::edges::is_header(names.iter().map(String::as_str))
}

/// Whether a table is samples as it is; columns that look like ids are looked for.
fn is_plain(rules: &Rules, request: &Request<'_>, loaded: &Loaded, warnings: &mut Vec<String>) -> bool {
    let Content::Dense(samples) = &loaded.content else { return true };
    let texts = loaded.texts.iter().filter(|(name, _)| request.text != Some(name)).count();
    let asks = Rules { columns: None, exclude: Vec::new(), ..rules.clone() };
    if texts > 0
        || !loaded.dates.is_empty()
        || !asks.is_plain()
        || samples.columns() == 0
        || first_gap(samples).is_some()
    {
        return false;
    }
    let names = loaded.feature_names.iter().flatten();
    for (column, name) in names.enumerate() {
        match rules.ids(name, &column_of(samples, column)) {
            Some(Ids::Taken(_)) => return false,
            Some(Ids::Suspected(note)) => warnings.push(note),
            None => {}
        }
    }
    true
}

fn column_of(samples: &Samples<'_>, column: usize) -> Vec<f64> {
    match samples {
        Samples::F32(matrix) => (0..matrix.rows()).map(|row| matrix[(row, column)].into()).collect(),
        Samples::F64(matrix) => (0..matrix.rows()).map(|row| matrix[(row, column)]).collect(),
    }
}

fn first_gap(samples: &Samples<'_>) -> Option<(usize, usize)> {
    let columns = samples.columns().max(1);
    let at = match samples {
        Samples::F32(matrix) => matrix.values().iter().position(|value| value.is_nan()),
        Samples::F64(matrix) => matrix.values().iter().position(|value| value.is_nan()),
    };
    at.map(|at| (at / columns, at % columns))
}

/// What was loaded, column by column; texts are moved, not copied.
fn columns(request: &Request<'_>, loaded: &mut Loaded) -> Outcome<Vec<Column>> {
    let texts = std::mem::take(&mut loaded.texts);
    let Content::Dense(samples) = &loaded.content else { return Ok(Vec::new()) };
    request.room.check_values("the table column by column", samples.len(), 2 * samples.columns(), 8)?;
    let unnamed: Vec<String> = (0..samples.columns()).map(|column| column.to_string()).collect();
    let names = loaded.feature_names.as_ref().unwrap_or(&unnamed);
    let number = |(column, name): (usize, &String)| {
        let values = column_of(samples, column);
        let is_date = loaded.dates.contains(name);
        Column { name: name.clone(), cells: if is_date { Cells::Days(values) } else { Cells::Numbers(values) } }
    };
    let mut columns: Vec<Column> = names.iter().enumerate().map(number).collect();
    columns.extend(texts.into_iter().map(|(name, words)| Column { name, cells: Cells::Text(words) }));
    let ids = loaded.id.clone().zip(loaded.ids.clone());
    columns.extend(ids.map(|(name, ids)| Column { name, cells: Cells::Text(ids) }));
    // Features keep the order that the columns have.
    columns.sort_by_key(|column| loaded.names.iter().position(|name| *name == column.name));
    Ok(columns)
}

/// An error about a row, by the line that has it.
fn placed(request: &Request<'_>, loaded: &Loaded, error: Error) -> Failure {
    let file = shown(request.path);
    match (&error, &loaded.lines) {
        (Error::Cell { row, column, problem, way_out }, Some(lines)) => {
            let (line, column) = (lines.get(*row).copied().unwrap_or(0), clipped(column));
            Failure::data(format!("{file}, line {line}, column \"{column}\": {problem}")).hint(way_out.clone())
        }
        (Error::MissingColumns { .. }, _) => {
            let there = listed(loaded.names.iter().map(String::as_str));
            Failure::from(error).about(&file).hint(format!("the columns of {file} are {there}"))
        }
        _ => Failure::from(error).about(file),
    }
}

/// Refuses missing numbers where a model does not know what to do about them.
fn check_gaps(request: &Request<'_>, loaded: &Loaded, model: &Model) -> Outcome<()> {
    let Content::Dense(samples) = &loaded.content else { return Ok(()) };
    let Some((row, column)) = first_gap(samples) else { return Ok(()) };
    let names = loaded.feature_names.as_ref().or(model.feature_names.as_ref());
    let column = names.and_then(|names| names.get(column).cloned()).unwrap_or_else(|| column.to_string());
    let way_out = "fill it; a model that is fitted with --missing median or mean fills gaps of new tables".into();
    let problem = "the number is missing".into();
    Err(placed(request, loaded, Error::Cell { row, column, problem, way_out }))
}

/// What to say where one column has nearly all the variance of samples that are not scaled.
pub(crate) fn dominated(samples: &Samples<'_>, names: &[String]) -> Option<String> {
    fn variances<S: gromap::types::Scalar>(matrix: &Matrix<'_, S>) -> Vec<f64> {
        let (rows, columns) = (matrix.rows() as f64, matrix.columns());
        let mut means = vec![0.0; columns];
        let mut squares = vec![0.0; columns];
        let row = |i: usize| matrix.row(i).iter().map(|value| value.to_f64());
        (0..matrix.rows()).for_each(|i| means.iter_mut().zip(row(i)).for_each(|(sum, value)| *sum += value / rows));
        for i in 0..matrix.rows() {
            let gaps = row(i).zip(&means).map(|(value, mean)| value - mean);
            squares.iter_mut().zip(gaps).for_each(|(sum, gap)| *sum += gap * gap / rows);
        }
        squares
    }
    let variances = match samples {
        Samples::F32(matrix) => variances(matrix),
        Samples::F64(matrix) => variances(matrix),
    };
    let (at, most) = variances.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let share = most / variances.iter().sum::<f64>();
    // A number less than 100, also where the rest is next to nothing.
    let percent = (1000.0 * share).floor() / 10.0;
    (variances.len() > 1 && share > NEARLY_ALL && share < 1.0).then(|| {
        let name = clipped(names.get(at).map_or("", String::as_str));
        format!("column {name} has {percent}% of the variance, so the others hardly count; --scale standard makes all count alike")
    })
}
