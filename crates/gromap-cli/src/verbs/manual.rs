//! `gromap completions` and `gromap man`: both are made from the definition of the command line, so they cannot be stale.

use clap::CommandFactory;
use clap_mangen::Man;

use super::{Exit, print_bytes};
use crate::args::{Arguments, CompletionsArgs, ManArgs};
use crate::failure::{Failure, Outcome, listed};
use crate::output::{Existing, Output};

pub(super) fn completions(args: &CompletionsArgs) -> Outcome<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "gromap", &mut script);
    print_bytes(&script).map(|()| Exit::Done)
}

pub(super) fn pages(args: &ManArgs) -> Outcome<Exit> {
    let mut program = Arguments::command();
    program.build();
    let verbs: Vec<&clap::Command> = program.get_subcommands().filter(|verb| verb.get_name() != "help").collect();
    if let Some(folder) = &args.output {
        let commands: Vec<&clap::Command> = verbs.iter().copied().chain([&program]).collect();
        let file = |command: &&clap::Command| {
            Output::new(&folder.join(format!("{}.1", name(command))), Existing::forced(args.force))
        };
        let outputs: Vec<Output> = commands.iter().map(file).collect();
        Output::check(&outputs, &[])?;
        for (output, command) in outputs.iter().zip(commands) {
            output.write(&page(command)?)?;
        }
        return Ok(Exit::Done);
    }
    let command = match &args.verb {
        None => &program,
        Some(wanted) => verbs.iter().find(|verb| verb.get_name() == wanted).ok_or_else(|| {
            Failure::usage(format!(
                "no verb is called {wanted}; there are {}",
                listed(verbs.iter().map(|verb| verb.get_name()))
            ))
        })?,
    };
    print_bytes(&page(command)?).map(|()| Exit::Done)
}

/// `gromap`, `gromap-fit`, …
fn name(command: &clap::Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

fn page(command: &clap::Command) -> Outcome<Vec<u8>> {
    let mut text = Vec::new();
    let man = Man::new(command.clone()).title(name(command).to_uppercase());
    man.render(&mut text).map_err(|error| Failure::io("cannot make the page", &error))?;
    Ok(text)
}
