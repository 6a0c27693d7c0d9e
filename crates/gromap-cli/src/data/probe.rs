//! The readers as an attack sees them: bytes in, and whether they were accepted out. What a command does with the data before
//! it fits them is done here too, so that damage that passes a reader meets the next door.

use std::cell::RefCell;
use std::path::Path;

use clap::{CommandFactory, FromArgMatches};
use gromap::SampleWeights;
use gromap::table::Missing;
use gromap_report::Classes;

use super::source::{Room, Source};
use super::{DataOptions, Failure, Format, Outcome, Precision, Request, Role, edges, folder, idx, load, npy, vector};
use crate::args::Arguments;
use crate::args::table::TableOptions;
use crate::config;

/// What bytes are read as.
#[derive(Debug, Clone, Copy)]
pub enum Reading<'a> {
    /// Samples, of which `label` are the labels and `weight` the weights, where they are there.
    Samples,
    /// New samples of a model with these features.
    Features(&'a [&'a str]),
    /// A matrix of all pairs.
    Pairs,
    /// One picture of a folder.
    Picture,
    /// Labels, and weights where they are numbers.
    Values,
    /// Options of `gromap fit`.
    Options,
}

/// Reads bytes as a file of this name, whose ending tells the format, and says what a user would be told if they are refused.
pub fn read(name: &str, bytes: Vec<u8>, reading: Reading<'_>, max_memory: u64) -> Result<(), String> {
    let (source, room) = (Source::memory(name, bytes), Room(max_memory));
    let outcome = match reading {
        Reading::Samples => samples(&source, None, room),
        Reading::Features(features) => samples(&source, Some(features), room),
        Reading::Pairs => pairs(&source, room),
        Reading::Picture => {
            folder::decode(&source, room).and_then(|picture| folder::samples(&[picture], room)).map(|_| ())
        }
        Reading::Values => values(&source, room),
        Reading::Options => options(&source, room),
    };
    outcome.map_err(|failure| failure.to_string())
}

fn samples(source: &Source, features: Option<&[&str]>, room: Room) -> Outcome<()> {
    let options = DataOptions { labels: Some("label".into()), ..DataOptions::default() };
    let asked = TableOptions { missing: Missing::Median, ..TableOptions::default() };
    // What is fitted to may be anything; a model knows its features.
    let table = features.is_none().then_some(&asked);
    let request =
        Request { weights: Some("weight"), table, ..Request::samples(Path::new(&source.name), &options, room) };
    let format = request.format()?;
    match format {
        Format::Npy => drop(npy::extent(source)?),
        Format::Idx => drop(idx::extent(source)?),
        _ => {}
    }
    let mut wanted = request.wanted();
    wanted.features = features.map(|names| names.iter().map(ToString::to_string).collect());
    wanted.others = if features.is_some() { Role::Unused } else { Role::Text };
    let loaded = match matches!(format, Format::Csv | Format::Tsv) && edges::is_table(source) {
        true => edges::table(source, room)?,
        false => load(source, format, &wanted, room)?,
    };
    // What is not in the file would be looked for beside it.
    let options = DataOptions {
        labels: loaded.labels.as_ref().and(options.labels.clone()),
        precision: Some(Precision::F64),
        ..options.clone()
    };
    let weights = loaded.weights.as_ref().and(request.weights);
    let dataset = Request { options: &options, weights, ..request }.finish(loaded)?;
    dataset.shape();
    dataset.unique_names();
    dataset.weights.map_or(Ok(()), |weights| checked(&weights))
}

fn pairs(source: &Source, room: Room) -> Outcome<()> {
    let options = DataOptions::default();
    let request = Request { is_precomputed: true, ..Request::samples(Path::new(&source.name), &options, room) };
    let loaded = load(source, request.format()?, &request.wanted(), room)?;
    let dataset = request.finish(loaded)?;
    dataset.shape();
    dataset.content.similarity().map(|_| ())
}

fn values(source: &Source, room: Room) -> Outcome<()> {
    let words = vector::of(source, room)?;
    Classes::new(&words);
    // Labels need not be numbers; weights must be.
    match vector::numbers(&words, &source.name) {
        Ok(numbers) => checked(&numbers),
        Err(_) => Ok(()),
    }
}

fn checked(weights: &[f64]) -> Outcome<()> {
    Ok(SampleWeights::new(weights).map(|_| ())?)
}

fn options(source: &Source, room: Room) -> Outcome<()> {
    thread_local! {
        static COMMAND: RefCell<clap::Command> = RefCell::new(Arguments::command());
    }
    let bytes = source.whole(room)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Failure::data(format!("{}: it is not text", source.name)))?;
    let words = ["gromap", "fit", "x.npy"].map(str::to_owned).into_iter().chain(config::options(&source.name, text)?);
    let parsed = COMMAND.with_borrow_mut(|command| command.try_get_matches_from_mut(words));
    parsed.and_then(|matches| Arguments::from_arg_matches(&matches)).map(|_| ()).map_err(|error| crate::usage(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_a_file_is_not_repeated_without_end() {
        let file = format!("{} = 1", "prototypes".repeat(300));
        let error = read("x.toml", file.into_bytes(), Reading::Options, 1 << 20).unwrap_err();
        assert!(error.starts_with("unexpected argument '--prototypesprototypes") && error.len() < 1100, "{error}");
    }
}
