//! `gromap demo`: maps the embedded images by the default method, prints a summary and writes the page.

use std::path::Path;

use gromap::data::Samples;
use gromap::{GromovDr, Matrix, Method, Run};
use gromap_report::{Classes, Report};
use serde_json::Value;

use super::page::{Page, check_ending};
use super::{Exit, print};
use crate::args::DemoArgs;
use crate::args::values::Picture;
use crate::data::{Content, Dataset};
use crate::demo_data::{CLASSES, DemoData, IMAGES, PIXELS, SIDE};
use crate::failure::{Outcome, shown};
use crate::output::{Existing, Output};
use crate::results::{self, Summary};
use crate::watch::{self, Voice, Watch};

/// The default output; being the program's own file, it is replaced.
const OUTPUT: &str = "gromap-demo.html";

pub(super) fn run(args: &DemoArgs) -> Outcome<Exit> {
    let output = match &args.output {
        Some(path) => {
            check_ending("-o", path, &["html", "htm"])?;
            Output::new(path, Existing::forced(args.force))
        }
        None => Output::new(Path::new(OUTPUT), Existing::Replace),
    };
    Output::check([&output], &[])?;
    let recipe = GromovDr::builder().prototypes(args.prototypes as usize).seed(args.seed);
    let mut watch = Watch::new(Voice::Bar, recipe.common.settings.stopping.max_rounds);
    let (samples, classes) = images()?;
    watch.read();
    let (model, threads) = watch::on_threads(None, || {
        let model = recipe.fit_with(&samples.view().into(), Run { observer: Some(&mut watch), ..Run::default() })?;
        Ok((model, rayon::current_num_threads()))
    })?;
    let dataset = dataset(samples, classes);
    let run = results::Run {
        method: Method::default(),
        samples: IMAGES,
        features: Some(PIXELS),
        prototypes: args.prototypes as usize,
        seed: args.seed,
        threads,
        seconds: watch.finish(),
        warnings: Vec::new(),
    };
    let parameters = [
        ("method", Method::default().to_string()),
        ("prototypes", args.prototypes.to_string()),
        ("seed", args.seed.to_string()),
    ];
    let mut page = Page::of_data(&dataset, None, parameters.map(|(name, value)| (name.to_owned(), value)).to_vec());
    page.title = Some("Fashion-MNIST, 2,000 pictures".into());
    output.write(page.complete(Report::new(&model))?.html()?.as_bytes())?;
    let summary = Summary::new(run, &model, dataset.classes.as_ref())?;
    if args.json {
        let mut object = summary.to_json();
        object.insert("report".into(), Value::String(output.path().display().to_string()));
        print(format_args!("{}\n", Value::Object(object)))?;
    } else {
        print(format_args!("{summary}map         {}, to be opened in a browser\n", shown(output.path())))?;
    }
    Ok(if watch::is_interrupted() { Exit::Interrupted } else { Exit::Done })
}

/// The images and their classes.
fn images() -> Outcome<(Samples<'static>, Classes)> {
    let data = DemoData::load()?;
    let pixels: Vec<f32> = data.pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
    let of_samples = data.labels.iter().map(|&label| label.into()).collect();
    let classes = Classes { names: CLASSES.map(String::from).to_vec(), of_samples };
    Ok((Matrix::new(pixels, IMAGES, PIXELS)?.into(), classes))
}

fn dataset(samples: Samples<'static>, classes: Classes) -> Dataset {
    Dataset {
        name: "Fashion-MNIST".into(),
        content: Content::Dense(samples),
        classes: Some(classes),
        weights: None,
        ids: None,
        texts: Vec::new(),
        feature_names: None,
        picture: Some(Picture { width: SIDE, height: SIDE, channels: 1 }),
        is_precomputed: false,
        warnings: Vec::new(),
    }
}
