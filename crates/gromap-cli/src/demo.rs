//! `gromap demo`: clusters the embedded images and says what it found.
//!
//! The similarity is the kernel of multidimensional scaling: squared distances E between images,
//! centred, −H·E·H = 2·X_c·X_cᵀ. It is positive semi-definite, so a hard clustering is among the
//! best plans, and its factor √2·X_c is all that is stored.

use std::io::Write;
use std::time::Instant;

use anyhow::Context;
use gromap::{Barycenter, Input, LowRank, Matrix, Settings};

use crate::args::DemoArgs;
use crate::demo_data::{DemoData, IMAGES, PIXELS};
use crate::summary::{Clustering, Seconds, Summary};

/// Runs the demo and writes its summary.
pub(crate) fn run(args: &DemoArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let start = Instant::now();
    let data = DemoData::load()?;
    let read = start.elapsed().as_secs_f64();
    let clustering = cluster(&data, args.prototypes as usize, args.seed)?;
    let total = start.elapsed().as_secs_f64();
    let seconds = Seconds { read, fit: total - read, total };
    let summary = Summary::new(clustering, &data, args.seed, seconds)?;
    if args.json {
        writeln!(out, "{}", summary.to_json())?
    } else {
        writeln!(out, "{summary}")?
    }
    Ok(())
}

/// Clusters the images: a barycenter of the MDS kernel with `prototypes` points.
fn cluster(data: &DemoData, prototypes: usize, seed: u64) -> anyhow::Result<Clustering> {
    let similarity = LowRank::symmetric(mds_factor(data))?;
    let settings = Settings { seed, ..Settings::default() };
    let fitted = Barycenter::new(vec![Input::new(&similarity)], prototypes).settings(settings).solve()?;
    let plan = fitted.plans.first().context("the solver returned no plan")?;
    Ok(Clustering {
        labels: plan.labels(),
        weights: plan.weights(),
        loss: fitted.loss,
        loss_history: fitted.history,
        stop_reason: fitted.stop,
        hardness: fitted.hardness,
        certificate: fitted.certificate,
    })
}

/// √2·X_c, with pixels from 0 to 1 and X_c centred.
fn mds_factor(data: &DemoData) -> Matrix<'static> {
    let mut mean = vec![0.0; PIXELS];
    for image in data.pixels.chunks_exact(PIXELS) {
        mean.iter_mut().zip(image).for_each(|(sum, &pixel)| *sum += f64::from(pixel) / IMAGES as f64);
    }
    let scale = std::f64::consts::SQRT_2 / 255.0;
    Matrix::from_fn(IMAGES, PIXELS, |i, j| scale * (f64::from(data.pixels[i * PIXELS + j]) - mean[j]))
}
