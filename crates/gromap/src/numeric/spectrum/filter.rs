//! Chebyshev's polynomial of an operator: between −1 and 1 on `[low, cut]`, steep above.
//!
//! With x = (λ − centre)/half, T_d(x) = cosh(d·acosh x) above the cut: of all polynomials of its degree
//! that stay within ±1 on the interval, the one that grows fastest beyond it. It is computed by its
//! recurrence, divided at each step by its value at the largest eigenvalue, so that nothing overflows.

use rayon::prelude::*;

use super::{Block, Operator};
use crate::numeric::Matrix;
use crate::numeric::blocks::BLOCK;

/// Products with the operator in a round, at most: between two rounds the cut is moved.
const MAX_DEGREE: usize = 60;

/// log of what the largest eigenvector may grow by, against what is left behind, in a round: more, and
/// rounding would drown the others.
const MAX_GROWTH: f64 = 16.0;

/// The cut is at least this share of the spectrum below what is wanted. Were it closer, as among many
/// equal eigenvalues, nothing would grow.
const LEAST_GAP: f64 = 1e-4;

/// The polynomial of a round.
pub(super) struct Filter {
    centre: f64,
    half: f64,
    top: f64,
    degree: usize,
}

impl Filter {
    /// What lets the first `wanted` of these approximate eigenvalues pass; none lies below `low`.
    pub(super) fn new(low: f64, values: &[f64], wanted: usize) -> Self {
        let (top, least, last) = (values[0], values[wanted - 1], values[values.len() - 1]);
        // An interval of no length, as of an operator of low rank, is given some.
        let cut = last.min(least - LEAST_GAP * (least - low)).max(low + 1e-9 * (top - low));
        let (centre, half) = (0.5 * (cut + low), 0.5 * (cut - low));
        let growth = ((top - centre) / half).max(1.0).acosh();
        let degree = ((MAX_GROWTH / growth) as usize).clamp(2, MAX_DEGREE);
        Self { centre, half, top, degree }
    }

    /// p(A)·X. The first product is the one the block already holds.
    pub(super) fn apply(&self, operator: Operator<'_>, block: Block) -> Matrix<'static> {
        let Self { centre, half, top, degree } = *self;
        let first = half / (top - centre);
        let Block { vectors: mut before, image: mut now, .. } = block;
        step(&mut now, &before, None, [first / half, -centre * first / half, 0.0]);
        let mut ratio = first;
        for _ in 1..degree {
            let next = 1.0 / (2.0 / first - ratio);
            let image = operator(&now);
            let scale = 2.0 * next / half;
            step(&mut before, &now, Some(&image), [-ratio * next, -centre * scale, scale]);
            std::mem::swap(&mut before, &mut now);
            ratio = next;
        }
        now
    }
}

/// out = a·out + b·x + c·y
fn step(out: &mut Matrix<'_>, x: &Matrix<'_>, y: Option<&Matrix<'_>>, [a, b, c]: [f64; 3]) {
    let pieces = out.values_mut().par_chunks_mut(16 * BLOCK).zip(x.values().par_chunks(16 * BLOCK));
    match y {
        None => pieces.for_each(|(out, x)| out.iter_mut().zip(x).for_each(|(out, x)| *out = a * *out + b * x)),
        Some(y) => pieces.zip(y.values().par_chunks(16 * BLOCK)).for_each(|((out, x), y)| {
            out.iter_mut().zip(x.iter().zip(y)).for_each(|(out, (x, y))| *out = a * *out + b * x + c * y);
        }),
    }
}
