//! What the command line may say. Comments on the fields are the help text that users read.

use clap::{Args, Parser, Subcommand};

use crate::demo_data;

/// Turn a dataset into a map of weighted prototypes
///
/// Prototypes stand for the samples that are alike: few of them are a clustering, many are a map. The method is
/// semi-relaxed Gromov-Wasserstein dimension reduction.
#[derive(Debug, Parser)]
#[command(name = "gromap", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Demo(DemoArgs),
}

/// Map 2,000 pictures of clothing that come with the program
///
/// Prints, for each prototype, its place on the map, its weight, how many pictures it stands for, the kind of clothing
/// most of them show and the share that do. The kinds are used only for this summary: the map is made from pixels alone.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// How many prototypes to look for, 1 to 2000
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20, value_parser = prototypes())]
    pub(crate) prototypes: u32,

    /// Where the random start comes from; the same seed gives the same result
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// A prototype stands for at least one picture, so there are at most as many.
fn prototypes() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=demo_data::IMAGES as i64)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Arguments;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }
}
