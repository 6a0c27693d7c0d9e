//! `gromap demo`: maps the embedded images by the default method and says what it found.

use std::io::Write;
use std::time::Instant;

use gromap::{Event, Flow, GromovDr, Matrix, Stage};

use crate::args::DemoArgs;
use crate::demo_data::{DemoData, IMAGES, PIXELS};
use crate::summary::{Seconds, Summary};

/// Runs the demo and writes its summary.
pub(crate) fn run(args: &DemoArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let start = Instant::now();
    let data = DemoData::load()?;
    let images: Vec<f32> = data.pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
    let images = Matrix::new(images, IMAGES, PIXELS)?;
    let mut seconds = Seconds { read: start.elapsed().as_secs_f64(), ..Seconds::default() };
    let mut clock = (None, Instant::now());
    let mut watch = |event: &Event| {
        if let Event::Stage(stage) = event {
            seconds.note(clock.0.replace(*stage), clock.1.elapsed().as_secs_f64());
            clock.1 = Instant::now();
        }
        Flow::Continue
    };
    let recipe = GromovDr::builder().prototypes(args.prototypes as usize).seed(args.seed);
    let model = recipe.fit_observed(&images, None, &mut watch)?;
    seconds.note(clock.0, clock.1.elapsed().as_secs_f64());
    seconds.total = start.elapsed().as_secs_f64();
    let summary = Summary::new(model, &data, args, seconds)?;
    if args.json {
        writeln!(out, "{}", summary.to_json())?
    } else {
        writeln!(out, "{summary}")?
    }
    Ok(())
}

impl Seconds {
    /// Adds the time of a stage that ended.
    fn note(&mut self, stage: Option<Stage>, seconds: f64) {
        match stage {
            Some(Stage::Prepare | Stage::Neighbors | Stage::Affinity) => self.affinity += seconds,
            Some(Stage::Start) => self.init += seconds,
            Some(Stage::Fit) => self.fit += seconds,
            None => {}
        }
    }
}
