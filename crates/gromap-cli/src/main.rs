//! The `gromap` program: all it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    gromap_cli::run(std::env::args_os()).into()
}
