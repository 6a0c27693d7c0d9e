//! The `gromap` command, as a library: the program of that name and the Python package both call [`run`].
//!
//! ```text
//! arguments ── config.rs: options from a file ── args/: plain data ── recipe.rs: what the core fits
//!    │
//!    ▼
//! verbs/: one file each ── data/: readers ── watch.rs: clock, bar, signals ── results.rs: JSON and tables ── output.rs: files
//! ```
//!
//! Everything that can go wrong is a `Failure` (`failure.rs`) whose kind is the exit code: 0 done, 1 failed, 2 wrong usage,
//! 3 bad data, 4 stopped before convergence with `--strict`, 128 and the number of the signal if one ended it.

mod args;
mod config;
mod data;
mod demo_data;
mod failure;
mod machine;
mod model_file;
mod output;
mod recipe;
mod results;
mod verbs;
mod watch;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write;

use clap::{CommandFactory, FromArgMatches};

use args::Arguments;
#[doc(hidden)]
pub use data::probe;
use failure::{Failure, Outcome, safe};
use verbs::Exit;

/// Runs the command with these arguments, the first of which is the name of the program, and returns its exit code.
/// What it says goes to the standard streams of the process.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = args.into_iter().collect();
    let wants_json = arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json");
    watch::listen(move |failure| tell(failure, wants_json));
    match parse_and_run(arguments, wants_json) {
        Ok(code) => code,
        // The reader has seen enough, as in `gromap demo | head`: nothing went wrong.
        Err(failure) if failure.is_broken_pipe => 0,
        Err(failure) => {
            tell(&failure, wants_json);
            failure.kind.exit_code()
        }
    }
}

/// Says what went wrong; there is no one left to tell if this fails too.
fn tell(failure: &Failure, wants_json: bool) {
    match wants_json {
        true => drop(writeln!(std::io::stdout(), "{}", safe(&failure.to_json().to_string()))),
        false => watch::say(format_args!("gromap: {failure}")),
    }
}

fn parse_and_run(arguments: Vec<OsString>, wants_json: bool) -> Outcome<u8> {
    let mut command = Arguments::command();
    let arguments = config::expanded(arguments)?;
    let are_plain = arguments.iter().all(|argument| matches!(safe(&argument.to_string_lossy()), Cow::Borrowed(_)));
    let parsed = command.try_get_matches_from_mut(arguments);
    let parsed = parsed.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches)));
    let (arguments, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) if error.exit_code() == 0 || !wants_json => {
            // Colours are clap's own, unless an argument brings some.
            match are_plain {
                true => drop(error.print()),
                false => watch::say(error.render().to_string().trim_end()),
            }
            return Ok(error.exit_code().try_into().unwrap_or(2));
        }
        Err(error) => return Err(usage(&error)),
    };
    verbs::run(&arguments, &matches, &command).map(Exit::code)
}

/// A usage error from clap's: the first paragraph of its message, and its tip if there is one.
fn usage(error: &clap::Error) -> Failure {
    /// What was given is repeated, and it may come from a file.
    const LONGEST: usize = 500;
    let text = error.render().to_string();
    let words = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paragraphs = text.split("\n\n").map(|paragraph| words(paragraph).chars().take(LONGEST).collect::<String>());
    let message = paragraphs.next().unwrap_or_default();
    let failure = Failure::usage(message.strip_prefix("error: ").unwrap_or(&message));
    match paragraphs.find_map(|paragraph| paragraph.strip_prefix("tip: ").map(str::to_owned)) {
        Some(tip) => failure.hint(tip),
        None => failure,
    }
}
