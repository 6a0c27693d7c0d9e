//! `gromap report`: a model as a page.

use gromap::options::FittedTo;
use gromap_report::Report;

use super::page::{Page, check_ending, ending};
use super::{Exit, info, room};
use crate::args::ReportArgs;
use crate::data::{self, Request};
use crate::failure::{Failure, Outcome, shown};
use crate::model_file;
use crate::output::{Existing, Output};
use crate::watch::say;

pub(super) fn run(args: &ReportArgs) -> Outcome<Exit> {
    check_ending("-o", &args.output, &["html", "htm", "svg"])?;
    let output = Output::new(&args.output, Existing::forced(args.run.force));
    let is_picture = ending(&args.output).is_some_and(|ending| ending == "svg");
    if args.data.is_none()
        && (args.options.labels.is_some() || args.options.format.is_some() || args.options.precision.is_some())
    {
        return Err(Failure::usage("--labels, --format and --precision are about the data; give --data"));
    }
    let room = room(&args.run);
    let mut files =
        args.data.as_deref().map_or_else(Vec::new, |data| Request::samples(data, &args.options, room).files());
    files.push(args.model.clone());
    Output::check([&output], &files)?;
    let mut model = model_file::read(&args.model, room)?;
    if !model.is_map() {
        return Err(Failure::from(gromap_report::Error::NoPlaces).about(shown(&args.model)));
    }
    let dataset = match &args.data {
        None => None,
        Some(path) => {
            let is_precomputed = model.fitted_to != FittedTo::Samples;
            let samples = Request::samples(path, &args.options, room);
            let text = args.text.as_deref();
            Some(data::read(&Request { model: Some(&model), text, is_precomputed, ..samples })?)
        }
    };
    if let Some(dataset) = &dataset {
        let (found, expected) = (dataset.len(), model.plan.len());
        if found != expected {
            let message = format!("{} has {found} samples, but the model was fitted to {expected}", dataset.name);
            return Err(Failure::data(message).hint("give --data the file that fit was given"));
        }
    }
    if let (Some(text), Some(dataset)) = (&args.text, &dataset) {
        model.prototype_names = Some(dataset.names(&model, text)?);
    }
    let title = args.title.clone().or_else(|| dataset.is_none().then(|| shown(&args.model)));
    let page = Page { dataset: dataset.as_ref(), picture: args.images, title, parameters: info::parameters(&model) };
    let text = crate::watch::on_threads(args.run.threads, || {
        let report = page.complete(Report::new(&model))?;
        Ok(if is_picture { report.svg()? } else { report.html()? })
    })?;
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
