//! `gromap demo`: maps the embedded images by the default method, says what it found and draws it.

use std::path::Path;

use gromap::{GromovDr, Method};
use serde_json::Value;

use super::page::{Maps, Page};
use super::{Exit, print};
use crate::args::DemoArgs;
use crate::args::values::Picture;
use crate::data::{Classes, Content, Dataset, Samples, Values, WithSamples};
use crate::demo_data::{CLASSES, DemoData, IMAGES, PIXELS, SIDE};
use crate::failure::Outcome;
use crate::output::{Existing, Output};
use crate::recipe::MAP_STOPPING;
use crate::results::{Found, Run, Summary};
use crate::watch::{self, Voice, Watch};

/// Where the map goes unless told; it is the program's own, and is replaced.
const OUTPUT: &str = "gromap-demo.html";

pub(super) fn run(args: &DemoArgs) -> Outcome<Exit> {
    let output = match &args.output {
        Some(path) => Output::new(path, Existing::forced(args.force))?,
        None => Output::new(Path::new(OUTPUT), Existing::Replace)?,
    };
    watch::listen();
    let mut watch = Watch::new(Voice::Bar, MAP_STOPPING.max_rounds);
    let dataset = dataset()?;
    watch.read();
    let recipe = GromovDr::builder().prototypes(args.prototypes as usize).seed(args.seed);
    let (model, threads) = watch::on_threads(None, || {
        let Content::Dense(samples) = &dataset.content else { unreachable!("pictures are dense") };
        Ok((samples.with(Fit { recipe: &recipe, watch: &mut watch })?, rayon::current_num_threads()))
    })?;
    let run = Run {
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
    output.write(page.html(Maps::One(&model))?.as_bytes())?;
    let summary = Summary::new(run, Found::from(&model), dataset.classes.as_ref())?;
    if args.json {
        let mut object = summary.to_json();
        object.insert("report".into(), Value::String(output.path().display().to_string()));
        print(format_args!("{}\n", Value::Object(object)))?;
    } else {
        print(format_args!("{summary}map         {}, to be opened in a browser\n", output.path().display()))?;
    }
    Ok(if watch::is_interrupted() { Exit::Interrupted } else { Exit::Done })
}

/// The pictures and their kinds.
fn dataset() -> Outcome<Dataset> {
    let data = DemoData::load()?;
    let pixels = data.pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
    let samples = Samples { values: Values::F32(pixels), rows: IMAGES, columns: PIXELS };
    Ok(Dataset {
        name: "Fashion-MNIST".into(),
        content: Content::Dense(samples),
        classes: Some(Classes {
            names: CLASSES.map(String::from).to_vec(),
            of_samples: data.labels.iter().map(|&label| label.into()).collect(),
        }),
        weights: None,
        ids: None,
        texts: Vec::new(),
        feature_names: None,
        picture: Some(Picture { width: SIDE, height: SIDE, channels: 1 }),
        warnings: Vec::new(),
    })
}

/// The fit of the demo.
struct Fit<'a> {
    recipe: &'a GromovDr,
    watch: &'a mut Watch,
}

impl WithSamples for Fit<'_> {
    type Output = gromap::Model;

    fn call<S: gromap::Scalar>(self, samples: &gromap::Matrix<'_, S>) -> Outcome<gromap::Model> {
        Ok(self.recipe.fit_observed(samples, None, self.watch)?)
    }
}
