//! Where very many prototypes begin.
//!
//! Under most kernels that is at the leading eigenvectors of M, small, from where early exaggeration takes them. Heavy-tailed maps are hundreds of times wider
//! than what holds their clusters together. Steps bring a prototype next to its neighbours soon, but clusters of them past each other late,
//! for all they hold to is near. Among prototypes merged by fours such a cluster is a few prototypes: what takes thousands of steps here takes a hundred
//! there, each a quarter as long. So there prototypes are merged with the most similar, level by level, until few are left; those begin at
//! eigenvectors; and what they were merged from begins around them, on a map as much wider as more prototypes need. Multilevel drawing of graphs
//! (Walshaw, 2001) is the same idea. t-SNE's maps end higher this way than through early exaggeration.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::classical::{OF_MANY, spectral_start};
use crate::embedding::descent::{Descent, Pace};
use crate::embedding::objective::Objective;
use crate::embedding::{Profile, Radial};
use crate::error::Result;
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::similarity::Sparse;
use crate::transport::vertex::SparseMass;

/// Early exaggeration, as in t-SNE: first with the attraction multiplied, which lets clusters pass through each other, then
/// as it is. After so many steps of it little moves any more.
const EXAGGERATION: f64 = 6.0;
const EXAGGERATED: (Pace, usize) = (Pace { momentum: 0.8, rate: 1.0 }, 100);
/// Prototypes of the coarsest level, at most.
const COARSEST: usize = 300;
/// Of four prototypes, those that merging may leave: where few are similar to any other, levels end.
const MOST_LEFT: usize = 3;
/// Steps of a level: of the coarsest, and of the others.
const STEPS: (usize, usize) = (400, 100);
/// Times that the rate is halved where steps do not lower the objective.
const MOST_HALVINGS: usize = 6;
/// How far from where it was merged into a prototype begins, at most, along each axis.
const AROUND: f64 = 0.5;

/// M of some prototypes, as c·q_k·C_kl·q_l, and q.
#[derive(Clone, Copy)]
pub(super) struct Level<'a> {
    pub(super) similarity: &'a Sparse<'a, f32>,
    /// c
    pub(super) scale: f64,
    /// q, and whether it is a part of C already.
    pub(super) weights: &'a [f64],
    pub(super) is_weighted: bool,
}

impl Level<'_> {
    /// M of groups of prototypes, with c and q as a part of it.
    fn merged(&self, labels: &[u32], groups: usize) -> Result<(Sparse<'static, f32>, Vec<f64>)> {
        let weight = |k: usize| if self.is_weighted { 1.0 } else { self.weights[k] };
        let mass = SparseMass::of_groups(self.similarity, labels, groups, weight).compressed(self.scale)?;
        let mut weights = vec![0.0; groups];
        labels.iter().zip(self.weights).for_each(|(&g, q)| weights[g as usize] += q);
        Ok((mass, weights))
    }

    /// Groups of two, each with the most similar of those that are left, and some of one; how many there are.
    fn pairs(&self) -> (Vec<u32>, usize) {
        const NOBODY: u32 = u32::MAX;
        let mut labels = vec![NOBODY; self.weights.len()];
        let mut groups = 0;
        for k in 0..labels.len() {
            if labels[k] != NOBODY {
                continue;
            }
            let (columns, values) = self.similarity.row(k);
            // M/qq, but for what is the same along the row.
            let density = |l: usize, value: f32| match self.is_weighted {
                true => f64::from(value) / self.weights[l].max(f64::MIN_POSITIVE),
                false => f64::from(value),
            };
            let free = columns.iter().zip(values).filter(|(l, _)| **l as usize != k && labels[**l as usize] == NOBODY);
            let best = free
                .map(|(&l, &value)| (density(l as usize, value), l))
                .fold((0.0, NOBODY), |best, one| if one.0 > best.0 { one } else { best });
            labels[k] = groups;
            if best.1 != NOBODY {
                labels[best.1 as usize] = groups;
            }
            groups += 1;
        }
        (labels, groups as usize)
    }
}

/// Brings the prototypes of a level to where a descent of its objective begins.
pub(super) fn begin(radial: Radial, level: Level<'_>, objective: &Objective<'_>, dims: usize) -> Result<Descent> {
    if radial.profile != Profile::HeavyTailed || level.weights.len() <= COARSEST {
        return from_eigenvectors(objective, level, dims);
    }
    let (first, pairs) = level.pairs();
    let (mass, weights) = level.merged(&first, pairs)?;
    let paired = Level { similarity: &mass, scale: 1.0, weights: &weights, is_weighted: true };
    let (second, groups) = paired.pairs();
    let (mass, weights) = paired.merged(&second, groups)?;
    let n = level.weights.len();
    if groups > MOST_LEFT * n / 4 {
        return from_eigenvectors(objective, level, dims);
    }
    let merged = Level { similarity: &mass, scale: 1.0, weights: &weights, is_weighted: true };
    let above = Objective::of_sparse(radial, Loss::Kl, &mass, &weights, true);
    let mut descent = begin(radial, merged, &above, dims)?;
    descend(&mut descent, &above, OF_MANY, if groups <= COARSEST { STEPS.0 } else { STEPS.1 })?;
    // The nearest of so many times the prototypes are as much more similar than the mean, while what lies far apart is as similar as before: w, which
    // is one near by and 1/d far away, has to fall by that factor more.
    let (places, wider) = (descent.prototypes(), n as f64 / groups as f64);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
    let start = Matrix::from_fn(n, dims, |k, c| {
        let around = AROUND * (2.0 * rng.random::<f64>() - 1.0);
        wider * places[(second[first[k] as usize] as usize, c)] + around
    });
    Ok(Descent::new(objective, start))
}

/// From the leading eigenvectors of D_q^{−1/2}·M·D_q^{−1/2}, which is D_q^{1/2}·C·D_q^{1/2} where weights are no part of C, through early exaggeration.
fn from_eigenvectors(objective: &Objective<'_>, level: Level<'_>, dims: usize) -> Result<Descent> {
    let metric = |q: &f64| match level.is_weighted {
        true if *q > 0.0 => 1.0 / q,
        true => 0.0,
        false => *q,
    };
    let metric: Vec<f64> = level.weights.iter().map(metric).collect();
    let start = spectral_start(level.similarity, &metric, level.weights, dims)?;
    let (mut pace, steps) = EXAGGERATED;
    let exaggerated = objective.with_early_exaggeration(EXAGGERATION);
    for _ in 0..MOST_HALVINGS {
        let mut descent = Descent::new(objective, start.clone());
        descent.run(&exaggerated, pace, steps)?;
        // Under a kernel that falls as fast as the Gaussian, prototypes may fly so far apart that nothing is left between them.
        if descent.value(objective)?.is_finite() {
            return Ok(descent);
        }
        pace.rate *= 0.25;
    }
    Ok(Descent::new(objective, start))
}

/// So many steps; where they would end higher than they began, again from there at half the rate. Returns the pace of the last ones.
pub(super) fn descend(descent: &mut Descent, objective: &Objective<'_>, mut pace: Pace, steps: usize) -> Result<Pace> {
    let (before, start) = (descent.value(objective)?, descent.prototypes().clone());
    for _ in 0..MOST_HALVINGS {
        descent.run(objective, pace, steps)?;
        if descent.value(objective)? <= before {
            return Ok(pace);
        }
        pace.rate *= 0.5;
        descent.restart(objective, start.clone());
    }
    Ok(pace)
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
