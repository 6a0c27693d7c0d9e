//! Attacks on what gromap promises, each a command that says how many cases it tried and how many broke a promise.
//!
//! ```text
//! cargo run --release -p gromap-attack -- families --seeds 40        fits of natural data of every kind
//! cargo run --release -p gromap-attack -- memory                     planned against measured peaks of memory
//! cargo run --release -p gromap-attack -- mutate --seconds 3600      damaged files for every reader
//! ```
//!
//! The exit code is 0 only if every promise held. `scripts/test` runs a small slice of each.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a program, whose figures are its output

mod families;
mod memory;
mod mutate;
mod natural;

use std::process::ExitCode;

use clap::Parser;

/// Attacks on what gromap promises.
#[derive(Debug, Parser)]
#[command(name = "attack", version)]
enum Attack {
    /// Fits natural data of every kind, with every method
    Families(families::Options),
    /// Compares the planned with the measured peak of memory
    Memory(memory::Options),
    /// Reads damaged files with every reader
    Mutate(mutate::Options),
}

fn main() -> ExitCode {
    let held = match Attack::parse() {
        Attack::Families(options) => families::run(&options),
        Attack::Memory(options) => memory::run(&options),
        Attack::Mutate(options) => mutate::run(&options),
    };
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
