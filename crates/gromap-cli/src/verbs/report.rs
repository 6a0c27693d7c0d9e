//! `gromap report`: a model as a page.

use super::page::{Maps, Page};
use super::{Exit, info};
use crate::args::ReportArgs;
use crate::data::source::Room;
use crate::data::{self, Request};
use crate::failure::{Failure, Outcome, shown};
use crate::machine;
use crate::model_file::Opened;
use crate::output::{Existing, Output};
use crate::watch::say;

pub(super) fn run(args: &ReportArgs) -> Outcome<Exit> {
    let output = Output::new(&args.output, Existing::forced(args.run.force))?;
    let is_picture = args.output.extension().is_some_and(|extension| extension == "svg");
    if args.data.is_none()
        && (args.options.labels.is_some() || args.options.format.is_some() || args.options.precision.is_some())
    {
        return Err(Failure::usage("--labels, --format and --precision are about the data; give --data"));
    }
    let room = Room(args.run.max_memory.map_or_else(machine::default_limit, |bytes| bytes.0));
    let opened = Opened::read(&args.model, room)?;
    let dataset = match &args.data {
        None => None,
        Some(path) => {
            let is_precomputed = opened.model.features.is_none();
            let request = Request { path, options: &args.options, weights: None, is_precomputed, room };
            Some(data::read(&request)?)
        }
    };
    if let Some(dataset) = &dataset {
        let (found, expected) = (dataset.len(), opened.model.plan.len());
        if found != expected {
            let message = format!("{} has {found} samples, but the model was fitted to {expected}", dataset.name);
            return Err(Failure::data(message).hint("give --data the file that fit was given"));
        }
    }
    let title = args.title.clone().or_else(|| dataset.is_none().then(|| shown(&args.model)));
    let page = Page { dataset: dataset.as_ref(), picture: args.images, title, parameters: info::parameters(&opened) };
    let maps = Maps::One(&opened.model);
    let text =
        crate::watch::on_threads(args.run.threads, || if is_picture { page.svg(maps) } else { page.html(maps) })?;
    output.write(text.as_bytes())?;
    if args.run.json {
        let object = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"), "report": output.path(), "bytes": text.len(),
        });
        super::print(format_args!("{object}\n"))?;
    } else if !args.run.quiet {
        say(format_args!("wrote {}, {} bytes", shown(output.path()), text.len()));
    }
    Ok(Exit::Done)
}
