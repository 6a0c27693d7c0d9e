//! The `gromap` command, as a library: the program of that name and the Python package both call [`run`].
//!
//! [`args`] says what may be asked, as plain data; a module per verb does it and writes to a stream
//! it is given; this file joins the two and turns the outcome into an exit code: 0 done, 1 failed,
//! 2 asked wrongly (clap's own).

mod args;
mod demo;
mod demo_data;
mod summary;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser;

use args::{Arguments, Verb};

/// Runs the command with these arguments, the first of which is the name of the program, and returns its exit code.
/// What it says goes to the standard streams of the process.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match Arguments::try_parse_from(args) {
        Ok(arguments) => arguments,
        Err(error) => {
            // There is no one left to tell if this fails too.
            let _ = error.print();
            return error.exit_code().try_into().unwrap_or(2);
        }
    };
    match dispatch(&arguments, &mut io::stdout().lock()) {
        Ok(()) => 0,
        // The reader has seen enough, as in `gromap demo | head`: nothing went wrong.
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "gromap: {error:#}");
            1
        }
    }
}

fn dispatch(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    match &arguments.verb {
        Verb::Demo(demo) => demo::run(demo, out),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
