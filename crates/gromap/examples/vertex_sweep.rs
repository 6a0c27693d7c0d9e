//! What a sweep of vertex descent over a sparse similarity costs, at three sizes.
//!
//! Prints one JSON object for each size: entries, seconds of a sweep and nanoseconds for each entry,
//! for a free and for a fixed target. Linear cost shows as nanoseconds that do not grow. Run with
//! `cargo run --release --example vertex_sweep`.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use gromap::observe::{StopReason, Stopping};
use gromap::similarity::Sparse;
use gromap::solve::{Barycenter, Input, Settings, Srgw};
use gromap::{Loss, Matrix};

const NEIGHBORS: usize = 75;
const PROTOTYPES: usize = 50;

/// Samples on a ring, alike to those near them: as many neighbours each as a kNN graph has.
fn ring(samples: usize) -> gromap::Result<Sparse<'static, f32>> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..samples {
        let near = (1..=NEIGHBORS).flat_map(|d| [((i + d) % samples, d), ((i + samples - d) % samples, d)]);
        let mut row: Vec<(usize, usize)> = near.collect();
        row.sort_unstable();
        columns.extend(row.iter().map(|&(j, _)| j as u32));
        values.extend(row.iter().map(|&(_, d)| (-(d as f32) / 20.0).exp()));
        offsets.push(columns.len());
    }
    Sparse::new(offsets, columns, values)
}

/// Sweeps made: the rounds of the history, and the last one that found nothing to move.
fn sweeps(history: &[f64], stop: StopReason) -> usize {
    history.len() - usize::from(stop != StopReason::Stationary)
}

/// Median seconds of sweeps: those of a solve with many less those of a solve with none.
fn sweep_seconds(mut solve: impl FnMut(Settings) -> gromap::Result<usize>) -> gromap::Result<f64> {
    let settings = |max_rounds| Settings {
        stopping: Stopping { max_rounds, rel_tolerance: 0.0, abs_tolerance: 0.0 },
        ..Settings::default()
    };
    let mut seconds = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        solve(settings(0))?;
        let none = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let rounds = solve(settings(6))?;
        seconds.push((start.elapsed().as_secs_f64() - none) / rounds as f64);
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[2])
}

fn main() -> gromap::Result<()> {
    let largest: usize = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(40_000);
    let target = Matrix::from_fn(PROTOTYPES, PROTOTYPES, |k, l| if k == l { 0.1 } else { 1e-4 });
    for samples in [largest / 4, largest / 2, largest] {
        let similarity = ring(samples)?;
        let free = sweep_seconds(|settings| {
            let problem = Barycenter::new(vec![Input::new(&similarity)], PROTOTYPES).loss(Loss::Kl);
            let result = problem.settings(settings).solve()?;
            Ok(sweeps(&result.outcome.history, result.outcome.stop))
        })?;
        let fixed = sweep_seconds(|settings| {
            let problem = Srgw::new(&similarity, target.view()).loss(Loss::Kl);
            let result = problem.settings(settings).solve()?;
            Ok(sweeps(&result.outcome.history, result.outcome.stop))
        })?;
        let entries = similarity.stored();
        let each = |seconds: f64| seconds * 1e9 / entries as f64;
        println!(
            "{{\"samples\": {samples}, \"entries\": {entries}, \"free_seconds\": {free:.6}, \"free_ns_per_entry\": {:.2}, \
             \"fixed_seconds\": {fixed:.6}, \"fixed_ns_per_entry\": {:.2}}}",
            each(free),
            each(fixed),
        );
    }
    Ok(())
}
