//! How near the product of a dense similarity with a hard plan comes to the speed of memory.
//!
//! Prints one JSON object: bytes of C_X per second in the product, and in a plain sum that reads the
//! same matrix with several streams a thread. Run with `cargo run --release --example dense_pass`.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use gromap::similarity::{Dense, Side, Similarity};
use gromap::{Matrix, Plan, SampleWeights};
use rayon::prelude::*;

/// Rows read at the same time by one thread, as in the best of the measured streams.
const STREAMS: usize = 8;

fn median_seconds(repeats: usize, mut run: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..repeats)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[repeats / 2]
}

/// Reads every number once; the sums only keep the reads from being dropped.
fn stream(values: &[f32], columns: usize) -> f32 {
    let of_rows = |rows: &[f32]| {
        pulp::Arch::new().dispatch(|| {
            let mut sums = [0.0f32; 16];
            let parts: Vec<&[f32]> = rows.chunks_exact(columns).collect();
            for at in (0..columns / 16 * 16).step_by(16) {
                for part in &parts {
                    let piece = &part[at..at + 16];
                    sums.iter_mut().zip(piece).for_each(|(sum, value)| *sum += value);
                }
            }
            sums.iter().sum::<f32>()
        })
    };
    values.par_chunks(STREAMS * columns).map(of_rows).sum()
}

fn main() -> gromap::Result<()> {
    let samples: usize = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(10_000);
    let prototypes: usize = std::env::args().nth(2).and_then(|arg| arg.parse().ok()).unwrap_or(10);
    let values: Vec<f32> = (0..samples * samples)
        .into_par_iter()
        .map(|at| {
            let (i, j) = (at / samples, at % samples);
            (((i + j) * 7919) % 1000) as f32 * 1e-3
        })
        .collect();
    let bytes = (values.len() * 4) as f64;
    let mut total = 0.0;
    let stream_seconds = median_seconds(15, || total += stream(&values, samples));
    let similarity = Dense::new(Matrix::new(values, samples, samples)?)?;
    let plan = Plan::random_labels(prototypes, SampleWeights::uniform(samples)?, 0)?;
    let pass_seconds = median_seconds(15, || drop(similarity.sketch(&plan, Side::Direct)));
    println!(
        "{{\"samples\": {samples}, \"prototypes\": {prototypes}, \"pass_seconds\": {pass_seconds:.6}, \
         \"pass_gb_per_s\": {:.2}, \"stream_gb_per_s\": {:.2}, \"share\": {:.3}, \"checksum\": {total}}}",
        bytes / pass_seconds / 1e9,
        bytes / stream_seconds / 1e9,
        stream_seconds / pass_seconds,
    );
    Ok(())
}
