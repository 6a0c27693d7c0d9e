//! One file for each verb, and what they share: reading and fitting (`job.rs`), the plan of memory (`memory.rs`), writing
//! arrays (`arrays.rs`), making reports (`page.rs`).

mod arrays;
mod cluster;
mod compare;
mod coot;
mod demo;
mod describe;
mod embed;
mod fit;
mod info;
mod job;
mod manual;
mod memory;
mod page;
mod path;
mod report;
mod score;
mod stability;
mod suggest;
mod transform;

use std::io::{IsTerminal, Write};

use clap::ArgMatches;
use gromap::data::Samples;

use crate::args::options::RunOptions;
use crate::args::{Arguments, Verb};
use crate::data::source::Room;
use crate::data::{Content, Dataset};
use crate::failure::{Failure, Outcome, safe};
use crate::recipe::Asked;
use crate::{machine, watch};

/// How a run ended, if nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// Rounds ran out, and `--strict` was asked for.
    NotConverged,
    /// A signal, such as Ctrl-C; the best state so far is kept.
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NotConverged => 4,
            Self::Interrupted => watch::exit_code(),
        }
    }
}

/// Does what was asked. `matches` tells what was given and what is a default.
pub(crate) fn run(arguments: &Arguments, matches: &ArgMatches, command: &clap::Command) -> Outcome<Exit> {
    let (name, matches) = matches.subcommand().ok_or_else(|| Failure::usage("no verb is given"))?;
    let command = command.find_subcommand(name).ok_or_else(|| Failure::usage("no verb is given"))?;
    let asked = Asked { matches, command };
    match &arguments.verb {
        Verb::Fit(args) => fit::run(args, &asked),
        Verb::Path(args) => path::run(args, &asked),
        Verb::Cluster(args) => cluster::run(args, &asked),
        Verb::Embed(args) => embed::run(args, &asked),
        Verb::Transform(args) => transform::run(args),
        Verb::Compare(args) => compare::run(args),
        Verb::Suggest(args) => suggest::run(args),
        Verb::Stability(args) => stability::run(args),
        Verb::Score(args) => score::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Describe(args) => describe::run(args),
        Verb::Info(args) => info::run(args),
        Verb::Demo(args) => demo::run(args),
        Verb::Completions(args) => manual::completions(args),
        Verb::Man(args) => manual::pages(args),
    }
}

/// The memory that a verb may take.
fn room(options: &RunOptions) -> Room {
    Room(options.max_memory.map_or_else(machine::default_limit, |bytes| bytes.0))
}

/// The samples of a verb that knows one view of them alone.
fn one_view(dataset: &Dataset) -> Outcome<&Samples<'static>> {
    if !dataset.views.is_empty() {
        let failure = Failure::usage("--view: this verb knows one view of the samples, not several");
        return Err(failure.hint("leave --view out, and give a model that was fitted to one view"));
    }
    match &dataset.content {
        Content::Dense(samples) => Ok(samples),
        Content::Sparse(_) => Err(Failure::usage("the samples must be rows of numbers, not a sparse matrix")),
    }
}

/// Writes text, for people or as JSON, to standard output.
fn print(text: impl std::fmt::Display) -> Outcome<()> {
    print_bytes(safe(&text.to_string()).as_bytes())
}

/// Writes data to standard output: to a program as they are, to a terminal what it can show.
fn print_bytes(bytes: &[u8]) -> Outcome<()> {
    watch::begin_work();
    let mut out = std::io::stdout().lock();
    let text = out.is_terminal().then(|| safe(&String::from_utf8_lossy(bytes)).into_owned());
    let bytes = text.as_ref().map_or(bytes, |text| text.as_bytes());
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(|error| Failure::io("cannot write to standard output", &error))
}
