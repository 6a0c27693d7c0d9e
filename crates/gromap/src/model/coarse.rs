//! Where the descent of a neighbour map begins: at the best of many ends of the same descent on groups of samples.
//!
//! Groups that stay together are samples themselves, with C = M ⊘ qqᵀ and weights q: E(T, Z) of a plan that
//! keeps groups together is E of the groups, to the digit. A descent there costs thousandths of one on
//! samples, so that several starts can be tried, and the order of their losses hardly changes when samples move on their own:
//!
//! - groups merged where that loses least, which knows nothing of the plane and is best for few prototypes;
//! - k-means on a map of the groups themselves, which knows nothing but the plane and is best for many.

use rayon::prelude::*;

use super::joint::{Descended, Embedding, Iterate, Joint};
use crate::embedding::MapKernel;
use crate::embedding::objective::Objective;
use crate::error::Result;
use crate::numeric::Matrix;
use crate::numeric::kmeans::KMeans;
use crate::observe::Stopping;
use crate::plan::Plan;
use crate::solve::Settings;
use crate::start::{Ground, ROUNDS, similarity_of_groups};

/// Starts from a map of the groups, at least and at most, and what their number times n² should not exceed.
const FROM_MAP: (usize, usize) = (2, 16);
const FROM_MAP_TIMES_PAIRS: usize = 80_000;
/// More groups than this are not mapped: each step of that looks at all pairs.
pub(super) const MOST_MAPPED: usize = 1500;
/// Rounds of a descent on groups, at most.
const MOST_ROUNDS: usize = 10;

/// Groups samples, and places prototypes for the best partition of the groups.
pub(super) fn start(joint: &Joint<'_>, ground: &Ground<'_>, prototypes: usize, seed: u64) -> Result<Iterate> {
    let groups = ground.groups(prototypes, seed)?;
    let merge = || groups.merged(ground.loss, prototypes, seed);
    let plan = |labels: &[u32]| Plan::from_labels(groups.samples(labels), prototypes, ground.weights.clone());
    let count = groups.summary.weights.len();
    let is_mapped = prototypes < count && count <= MOST_MAPPED;
    let radial = match joint.kernel {
        MapKernel::Radial(radial) if is_mapped && Objective::is_of_pair_sums(radial, joint.loss) => radial,
        _ => return joint.start(plan(&merge()?)?, Embedding::Best(seed)),
    };
    let (similarity, weights) = similarity_of_groups(&groups.summary)?;
    let stopping = Stopping { max_rounds: MOST_ROUNDS, ..joint.settings.stopping };
    let settings = Settings { stopping, seed, ..Settings::default() };
    let coarse = Joint {
        similarity: &similarity,
        settings,
        features: None,
        shares: (1.0, 0.0),
        refreshes: 0,
        demand: None,
        ..*joint
    };
    let map = || coarse.neighbor_embedding(radial, &groups.summary, Embedding::Rough);
    let (merged, map) = rayon::join(merge, map);
    let (merged, map) = (merged?, map?);
    let map = Matrix::from_fn(map.rows(), map.columns(), |k, c| map[(k, c)] as f32);
    let from_map = |turn: usize| {
        let seed = seed.wrapping_mul(FROM_MAP.1 as u64).wrapping_add(turn as u64);
        KMeans { clusters: prototypes, max_rounds: ROUNDS, seed }.labels(&map, &weights)
    };
    let descend = |labels: Vec<u32>| {
        let iterate = coarse.start(Plan::from_labels(labels, prototypes, weights.clone())?, Embedding::Quick)?;
        coarse.descend(iterate, &mut ())
    };
    let turns = (FROM_MAP_TIMES_PAIRS / (prototypes * prototypes)).clamp(FROM_MAP.0, FROM_MAP.1);
    let turns = (0..=turns).into_par_iter().map(|turn| match turn {
        0 => descend(merged.clone()),
        turn => descend(from_map(turn)?),
    });
    let ends = turns.collect::<Result<Vec<_>>>()?;
    let lower = |best: Descended, next: Descended| if next.iterate.loss < best.iterate.loss { next } else { best };
    match ends.into_iter().reduce(lower) {
        Some(end) => joint.start(plan(&end.iterate.plan.labels())?, Embedding::From(end.iterate.prototypes)),
        None => joint.start(plan(&merged)?, Embedding::Best(seed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::{Normalization, Profile, Radial};
    use crate::loss::Loss;
    use crate::similarity::Sparse;
    use crate::solve::Solver;
    use crate::weights::SampleWeights;

    /// A symmetric ring of 60 samples.
    fn ring() -> Sparse<'static, f64> {
        let near = |i: usize| {
            let mut row: Vec<(u32, f64)> = (1..=6)
                .flat_map(|d| [(i + d) % 60, (i + 60 - d) % 60].map(|j| (j as u32, 1.0 / (d + (i + j) % 3) as f64)))
                .collect();
            row.sort_by_key(|entry| entry.0);
            row
        };
        let rows: Vec<_> = (0..60).map(near).collect();
        let offsets: Vec<usize> = (0..=60).map(|i| 12 * i).collect();
        let (columns, values) = rows.concat().into_iter().unzip::<_, _, Vec<u32>, Vec<f64>>();
        Sparse::new(offsets, columns, values).unwrap()
    }

    fn joint<'a>(similarity: &'a Sparse<'static, f64>, weights: &SampleWeights) -> Joint<'a> {
        let kernel = MapKernel::Radial(Radial { profile: Profile::Student, normalization: Normalization::Measure });
        let (scale, constant) = Joint::scale_of(kernel, Loss::Kl, similarity, weights).unwrap();
        let stopping = Stopping { max_rounds: 20, rel_tolerance: 1e-6, abs_tolerance: 0.0 };
        let settings = Settings { stopping, ..Settings::default() };
        let (features, shares) = (None, (1.0, 0.0));
        let (loss, dims, refreshes, coupling, demand) = (Loss::Kl, 2, 0, 1.0, None);
        Joint {
            similarity,
            kernel,
            loss,
            dims,
            settings,
            features,
            scale,
            constant,
            shares,
            refreshes,
            coupling,
            demand,
        }
    }

    #[test]
    fn groups_have_the_loss_of_their_samples() {
        let (similarity, weights) = (ring(), SampleWeights::uniform(60).unwrap());
        let samples = joint(&similarity, &weights);
        let groups: Vec<u32> = (0..60).map(|i| i / 4).collect();
        let of_groups: Vec<u32> = (0..15).map(|g| g / 3).collect();
        let plan = |labels, n, weights: &SampleWeights| Plan::from_labels(labels, n, weights.clone()).unwrap();
        let fine = plan(groups.clone(), 15, &weights);
        let products = crate::transport::Products::new(&similarity, &fine);
        let summary = crate::transport::PlanSummary::new(&fine, &products);
        let (grouped, masses) = similarity_of_groups(&summary).unwrap();
        let coarse = Joint { similarity: &grouped, ..joint(&similarity, &weights) };
        let above = coarse.start(plan(of_groups.clone(), 5, &masses), Embedding::Quick).unwrap();
        let labels = groups.iter().map(|&g| of_groups[g as usize]).collect();
        let below = samples.start(plan(labels, 5, &weights), Embedding::Quick).unwrap();
        assert!((above.loss - below.loss).abs() < 1e-9 * below.loss.abs(), "{} {}", above.loss, below.loss);
    }

    #[test]
    fn groups_lead_to_lower_losses_than_random_starts() {
        let (similarity, weights) = (ring(), SampleWeights::uniform(60).unwrap());
        let joint = joint(&similarity, &weights);
        let ground = Ground {
            similarity: &similarity,
            samples: None,
            weights: &weights,
            loss: Loss::Kl,
            is_local: true,
            is_graph: false,
            solver: Solver::Vertex,
        };
        let found = joint.descend(start(&joint, &ground, 6, 0).unwrap(), &mut ()).unwrap().iterate.loss;
        let random = |seed| {
            let plan = Plan::random_labels(6, weights.clone(), seed).unwrap();
            joint.descend(joint.start(plan, Embedding::Best(seed)).unwrap(), &mut ()).unwrap().iterate.loss
        };
        let mean = (0..5).map(random).sum::<f64>() / 5.0;
        assert!(found < mean, "{found}, from random starts {mean}");
    }
}
