//! `gromap demo`: maps the embedded images by the default method, prints a summary and writes the page.
//!
//! The page is a path from few prototypes to many, since that is what a first look should show; the summary is of one level that fits
//! a terminal. With `--prototypes` there is only that one.

use std::path::Path;

use gromap::data::Samples;
use gromap::options::Level;
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

/// The levels of the page, and the one that is printed.
const LEVELS: [usize; 6] = [5, 10, 20, 50, 100, 200];
const PRINTED: usize = 20;

pub(super) fn run(args: &DemoArgs) -> Outcome<Exit> {
    let output = match &args.output {
        Some(path) => {
            check_ending("-o", path, &["html", "htm"])?;
            Output::new(path, Existing::forced(args.force))
        }
        None => Output::new(Path::new(OUTPUT), Existing::Replace),
    };
    Output::check([&output], &[])?;
    let sizes = args.prototypes.map_or(LEVELS.to_vec(), |asked| vec![asked as usize]);
    let recipe = GromovDr::builder().seed(args.seed);
    let mut watch = Watch::new(Voice::Bar, recipe.common.settings.stopping.max_rounds);
    let (samples, classes) = images()?;
    watch.read();
    let (path, threads) = watch::on_threads(None, || {
        let run = Run { observer: Some(&mut watch), ..Run::default() };
        let path = recipe.path_with(&samples.view().into(), &sizes, Level::Fresh, run)?;
        Ok((path, rayon::current_num_threads()))
    })?;
    // Interrupted, a path has the levels that were reached.
    let reached = &sizes[..path.models.len()];
    let at = reached.iter().rposition(|&size| sizes.len() == 1 || size <= PRINTED).unwrap_or(0);
    let (model, prototypes) = (&path.models[at], sizes[at]);
    let dataset = dataset(samples, classes);
    let run = results::Run {
        method: Method::default().name(),
        samples: IMAGES,
        features: Some(PIXELS),
        prototypes,
        seed: args.seed,
        threads,
        seconds: watch.finish(),
        warnings: Vec::new(),
    };
    let parameters = [
        ("method", Method::default().to_string()),
        ("prototypes", reached.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        ("seed", args.seed.to_string()),
    ];
    let mut page = Page::of_data(&dataset, None, parameters.map(|(name, value)| (name.to_owned(), value)).to_vec());
    page.title = Some("Fashion-MNIST, 2,000 pictures".into());
    output.write(page.complete(Report::of_path(&path))?.html()?.as_bytes())?;
    let summary = Summary::new(run, model, dataset.classes.as_ref())?;
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
        table: None,
        views: Vec::new(),
        picture: Some(Picture { width: SIDE, height: SIDE, channels: 1 }),
        is_precomputed: false,
        warnings: Vec::new(),
    }
}
