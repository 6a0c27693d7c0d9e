//! `gromap describe`: what each prototype is, as a table.

use std::path::Path;

use gromap::Model;
use gromap::options::FittedTo;
use gromap_report::{About, Contrast, Group, describe};
use serde_json::{Value, json};

use super::{Exit, arrays, print, print_bytes, room};
use crate::args::DescribeArgs;
use crate::data::{self, Content, Dataset, Request};
use crate::failure::{Failure, Outcome, shown};
use crate::model_file;
use crate::output::{Existing, Output};
use crate::watch::say;

/// How a description is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Tsv,
    Markdown,
}

impl Format {
    fn of(path: Option<&Path>) -> Outcome<Self> {
        let Some(path) = path else { return Ok(Self::Markdown) };
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("tsv") => Ok(Self::Tsv),
            Some("md") => Ok(Self::Markdown),
            _ if path.exists() && !path.is_file() => Ok(Self::Csv),
            _ => Err(Failure::usage(format!("-o {} must end in .csv, .tsv or .md", shown(path)))),
        }
    }
}

pub(super) fn run(args: &DescribeArgs) -> Outcome<Exit> {
    let format = Format::of(args.output.as_deref())?;
    let output = Output::optional(args.output.as_deref(), Existing::forced(args.run.force));
    let about_data = [args.options.labels.is_some(), args.options.format.is_some(), args.options.precision.is_some()];
    if args.data.is_none() && (args.text.is_some() || about_data.contains(&true)) {
        return Err(Failure::usage("--text, --labels, --format and --precision are about the data; give --data"));
    }
    let room = room(&args.run);
    let mut files =
        args.data.as_deref().map_or_else(Vec::new, |data| Request::samples(data, &args.options, room).files());
    files.push(args.model.clone());
    Output::check(&output, &files)?;
    let model = model_file::read(&args.model, room)?;
    let dataset = args.data.as_deref().map(|path| read(args, &model, path)).transpose()?;
    let groups = crate::watch::on_threads(args.run.threads, || {
        let text = args.text.as_deref();
        groups(&model, dataset.as_ref(), text)
    })?;
    let bytes = match format {
        Format::Csv => table(&groups, b',')?,
        Format::Tsv => table(&groups, b'\t')?,
        Format::Markdown => markdown(&groups).into_bytes(),
    };
    match &output {
        Some(output) => output.write(&bytes)?,
        None if args.run.json => {}
        None => print_bytes(&bytes)?,
    }
    let warnings = dataset.map_or_else(Vec::new, |dataset| dataset.warnings);
    if args.run.json {
        let groups: Vec<Value> = groups.iter().enumerate().map(object).collect();
        let object = json!({"version": env!("CARGO_PKG_VERSION"), "groups": groups, "warnings": warnings});
        print(format_args!("{object}\n"))?;
    } else if !args.run.quiet {
        warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
    }
    Ok(Exit::Done)
}

/// The data that the model was fitted to.
fn read(args: &DescribeArgs, model: &Model, path: &Path) -> Outcome<Dataset> {
    let samples = Request::samples(path, &args.options, room(&args.run));
    let is_precomputed = model.fitted_to != FittedTo::Samples;
    let dataset = data::read(&Request { model: Some(model), text: args.text.as_deref(), is_precomputed, ..samples })?;
    let (found, expected) = (dataset.len(), model.plan.len());
    if found != expected {
        let message = format!("{} has {found} samples, but the model was fitted to {expected}", dataset.name);
        return Err(Failure::data(message).hint("give --data the file that fit was given"));
    }
    Ok(dataset)
}

fn groups(model: &Model, dataset: Option<&Dataset>, text: Option<&str>) -> Outcome<Vec<Group>> {
    let Some(dataset) = dataset else { return Ok(describe(model, &About::default())?) };
    let texts = text.map(|text| dataset.text(text));
    let samples = match &dataset.content {
        Content::Dense(samples) if !dataset.is_precomputed => Some(samples.view()),
        _ => None,
    };
    let (classes, ids) = (dataset.classes.as_ref(), dataset.ids.as_deref());
    Ok(describe(model, &About { samples, texts: texts.transpose()?, classes, ids, names: None })?)
}

fn object((k, group): (usize, &Group)) -> Value {
    let contrast = |contrast: &Contrast| {
        json!({
            "feature": contrast.feature,
            "mean": contrast.mean,
            "against_rest": contrast.against_rest,
            "against_neighbors": contrast.against_neighbors,
        })
    };
    json!({
        "prototype": k,
        "name": group.name,
        "weight": group.weight,
        "members": group.members,
        "typical": group.typical,
        "features": group.features.iter().map(contrast).collect::<Vec<_>>(),
    })
}

/// A row for each prototype, with four columns for each feature that is told.
fn table(groups: &[Group], delimiter: u8) -> Outcome<Vec<u8>> {
    let most = groups.iter().map(|group| group.features.len()).max().unwrap_or(0);
    let mut header: Vec<String> = ["prototype", "name", "weight", "members", "typical"].map(Into::into).to_vec();
    let columns = ["feature", "mean", "against_rest", "against_neighbors"];
    header.extend((1..=most).flat_map(|at| columns.map(|column| format!("{column}_{at}"))));
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    let trouble = |error: csv::Error| Failure::data(error.to_string());
    writer.write_record(&header).map_err(trouble)?;
    for (k, group) in groups.iter().enumerate() {
        let mut row = vec![k.to_string(), arrays::harmless(&group.name), group.weight.to_string()];
        row.extend([group.members.to_string(), arrays::harmless(&group.typical.join("; "))]);
        for Contrast { feature, mean, against_rest, against_neighbors } in &group.features {
            let near = against_neighbors.map_or_else(String::new, |near| near.to_string());
            row.extend([arrays::harmless(feature), mean.to_string(), against_rest.to_string(), near]);
        }
        row.resize(header.len(), String::new());
        writer.write_record(&row).map_err(trouble)?;
    }
    writer.into_inner().map_err(|error| Failure::data(error.to_string()))
}

/// A table for people.
fn markdown(groups: &[Group]) -> String {
    let mut text = String::from(
        "| prototype | name | weight | members | typical | features: mean (against the rest, against neighbours) |\n\
         |---:|---|---:|---:|---|---|\n",
    );
    let cell = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " ");
    for (k, group) in groups.iter().enumerate() {
        let feature = |Contrast { feature, mean, against_rest, against_neighbors }: &Contrast| {
            let near = against_neighbors.map_or_else(String::new, |near| format!(", {near:+.1}"));
            format!("{} {} ({against_rest:+.1}{near})", cell(feature), short(*mean))
        };
        let features: Vec<String> = group.features.iter().map(feature).collect();
        let (name, typical, weight) = (cell(&group.name), cell(&group.typical.join("; ")), 100.0 * group.weight);
        let (members, features) = (group.members, features.join("; "));
        text += &format!("| {k} | {name} | {weight:.1}% | {members} | {typical} | {features} |\n");
    }
    text
}

/// A number of at most four digits that count.
fn short(number: f64) -> String {
    let digits = 3 - number.abs().max(1e-300).log10().floor() as i32;
    match digits {
        ..=0 => format!("{number:.0}"),
        1..=6 => format!("{number:.*}", digits as usize).trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ if number == 0.0 => "0".into(),
        _ => format!("{number:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_cell_stays_there() {
        let contrast = Contrast { feature: "a|b".into(), mean: 1234.56, against_rest: 1.25, against_neighbors: None };
        let group = Group {
            name: "=x | y".into(),
            weight: 0.5,
            members: 3,
            typical: vec!["p".into(), "q".into()],
            features: vec![contrast],
        };
        assert!(
            markdown(std::slice::from_ref(&group))
                .ends_with("| 0 | =x \\| y | 50.0% | 3 | p; q | a\\|b 1235 (+1.2) |\n")
        );
        let table = String::from_utf8(table(&[group], b',').unwrap()).unwrap();
        assert!(table.ends_with("0,'=x | y,0.5,3,p; q,a|b,1234.56,1.25,\n"), "{table}");
    }

    #[test]
    fn numbers_are_short() {
        let shorts = [0.0, 12.0, -0.001234, 123_456.7, 1.5, 1e-9].map(short);
        assert_eq!(shorts, ["0", "12", "-0.001234", "123457", "1.5", "1.00e-9"]);
    }
}
