//! The `gromap` command.
//!
//! [`args`] says what may be asked, as plain data; a module per verb does it and writes to a stream
//! it is given; this file joins the two and turns the outcome into an exit code: 0 done, 1 failed,
//! 2 asked wrongly (clap's own).

mod args;
mod demo;
mod demo_data;
mod summary;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Verb};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough, as in `gromap demo | head`: nothing went wrong.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // There is no one left to tell if this fails too.
            let _ = writeln!(io::stderr(), "gromap: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    match &arguments.verb {
        Verb::Demo(demo) => demo::run(demo, out),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
