use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::observe::StopReason;

/// The lowest cost of a tiny problem: the best of all spanning trees, each solved from its leaves.
fn by_enumeration(costs: &Matrix<'_>, h: &[f64], q: &[f64]) -> f64 {
    let (samples, n) = (h.len(), q.len());
    let cells: Vec<(usize, usize)> = (0..samples).flat_map(|i| (0..n).map(move |k| (i, k))).collect();
    let mut best = f64::INFINITY;
    for chosen in 0u32..1 << cells.len() {
        if chosen.count_ones() as usize != samples + n - 1 {
            continue;
        }
        let mut left: Vec<(usize, usize)> =
            cells.iter().enumerate().filter(|(c, _)| chosen >> c & 1 == 1).map(|(_, &cell)| cell).collect();
        let (mut rows, mut columns) = (h.to_vec(), q.to_vec());
        let mut total = Some(0.0);
        while let (Some(sum), false) = (total, left.is_empty()) {
            let alone = left.iter().position(|&(i, k)| {
                left.iter().filter(|cell| cell.0 == i).count() == 1
                    || left.iter().filter(|cell| cell.1 == k).count() == 1
            });
            total = alone.and_then(|at| {
                let (i, k) = left.swap_remove(at);
                let is_row = left.iter().all(|cell| cell.0 != i);
                let mass = if is_row { rows[i] } else { columns[k] };
                rows[i] -= mass;
                columns[k] -= mass;
                (mass >= -1e-12).then_some(sum + mass * costs[(i, k)])
            });
        }
        let is_solved = rows.iter().chain(&columns).all(|rest| rest.abs() < 1e-9);
        if let (Some(total), true) = (total, is_solved) {
            best = best.min(total);
        }
    }
    best
}

fn cost_of(plan: &Plan, costs: &Matrix<'_>) -> f64 {
    super::cost_of(costs, plan)
}

/// Shares that sum to 1, some of them zero.
fn shares(weights: &[u8]) -> Vec<f64> {
    let sum: f64 = weights.iter().map(|&w| f64::from(w)).sum();
    weights.iter().map(|&w| if sum > 0.0 { f64::from(w) / sum } else { 1.0 / weights.len() as f64 }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn tiny_problems_have_the_cost_of_the_best_tree(
        (samples, n) in prop::sample::select(vec![(1usize, 1usize), (3, 1), (2, 2), (3, 2), (5, 2), (4, 3), (3, 3), (2, 4)]),
        costs in prop::collection::vec(-3i8..4, 12),
        h in prop::collection::vec(0u8..4, 5),
        q in prop::collection::vec(0u8..4, 4),
    ) {
        let costs = Matrix::from_fn(samples, n, |i, k| f64::from(costs[i * n + k]));
        let weights = SampleWeights::new(&shares(&h[..samples])).unwrap();
        let q = shares(&q[..n]);
        let found = solve(&costs, &weights, &Demand::exactly(&q), None);
        let expected = by_enumeration(&costs, &weights, &q);
        prop_assert!((cost_of(&found.plan, &costs) - expected).abs() < 1e-9, "{} {expected}", cost_of(&found.plan, &costs));
        for (found, asked) in found.plan.weights().iter().zip(&q) {
            prop_assert!((found - asked).abs() < 1e-12);
        }
    }
}

fn random(samples: usize, n: usize, seed: u64, integers: bool) -> Matrix<'static> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Matrix::from_fn(samples, n, |_, _| if integers { f64::from(rng.random_range(0..6u8)) } else { rng.random() })
}

/// u + v ≤ c everywhere, with equality where there is mass: the proof of optimality, without the solver's own.
fn is_proven(found: &Solution, costs: &Matrix<'_>) {
    let v = &found.potentials;
    for i in 0..costs.rows() {
        let reduced = |k: usize| costs[(i, k)] - v[k];
        let least = (0..v.len()).map(reduced).fold(f64::INFINITY, f64::min);
        for (k, _) in found.plan.row(i).iter() {
            assert!(reduced(k) - least < 1e-11, "sample {i} at {k}: {} over {least}", reduced(k));
        }
    }
}

#[test]
fn large_problems_are_proven_and_sparse() {
    for (seed, (samples, n, integers)) in
        [(3000, 20, false), (3000, 20, true), (40, 40, false), (1000, 50, true), (999, 7, false)]
            .into_iter()
            .enumerate()
    {
        let costs = random(samples, n, seed as u64, integers);
        let weights: Vec<f64> = (0..samples).map(|i| if seed % 2 == 0 { 1.0 } else { (i % 5) as f64 }).collect();
        let weights = SampleWeights::new(&weights).unwrap();
        let q: Vec<f64> = (0..n).map(|k| if seed < 2 { 1.0 } else { 1.0 + (k % 3) as f64 }).collect();
        let q: Vec<f64> = q.iter().map(|w| w / q.iter().sum::<f64>()).collect();
        let found = solve(&costs, &weights, &Demand::exactly(&q), None);
        is_proven(&found, &costs);
        assert!(found.plan.entries() < samples + n, "{} entries", found.plan.entries());
        for (found, asked) in found.plan.weights().iter().zip(&q) {
            assert!((found - asked).abs() < 1e-12);
        }
        let again = solve(&costs, &weights, &Demand::exactly(&q), Some(&found.potentials));
        assert!((cost_of(&again.plan, &costs) - cost_of(&found.plan, &costs)).abs() < 1e-12);
    }
}

/// Rows in groups that do not fit together give what one group gives.
#[test]
fn groups_of_rows_lead_to_the_same_cost() {
    let (samples, n) = (5000, 300);
    let costs = random(samples, n, 3, false);
    let weights = SampleWeights::uniform(samples).unwrap();
    let demand = Demand::exactly(&vec![1.0 / n as f64; n]);
    assert!(samples > (GROUP / n).next_multiple_of(BLOCK));
    is_proven(&solve(&costs, &weights, &demand, None), &costs);
}

#[test]
fn equal_shares_of_equal_samples_split_nothing() {
    let (samples, n) = (1200, 40);
    let costs = random(samples, n, 5, false);
    let found =
        solve(&costs, &SampleWeights::uniform(samples).unwrap(), &Demand::exactly(&vec![1.0 / n as f64; n]), None);
    assert_eq!(found.plan.hardness(), 1.0);
    assert!(found.plan.members().iter().all(|&members| members == 30));
}

#[test]
fn bounds_hold_and_bind_only_where_they_must() {
    let (samples, n) = (2000, 12);
    let noise = random(samples, n, 4, false);
    let costs = Matrix::from_fn(samples, n, |i, k| noise[(i, k)] + 0.05 * k as f64);
    let weights = SampleWeights::uniform(samples).unwrap();
    let cost = |low: f64, high: f64| {
        let demand = Demand { low: vec![low; n], high: vec![high; n] };
        let found = solve(&costs, &weights, &demand, None);
        for q in found.plan.weights() {
            assert!(q > low - 1e-12 && q < high + 1e-12, "{q} not in [{low}, {high}]");
        }
        assert!(found.plan.entries() < samples + 2 * n);
        cost_of(&found.plan, &costs)
    };
    let free: f64 =
        (0..samples).map(|i| costs.row(i).iter().copied().fold(f64::INFINITY, f64::min)).sum::<f64>() / 2000.0;
    assert!((cost(0.0, 1.0) - free).abs() < 1e-12);
    let shares = vec![1.0 / n as f64; n];
    let exact = cost_of(&solve(&costs, &weights, &Demand::exactly(&shares), None).plan, &costs);
    assert!((cost(1.0 / n as f64, 1.0) - exact).abs() < 1e-9);
    let between = cost(0.06, 0.1);
    assert!(free < between && between < exact, "{free} {between} {exact}");
}

/// Bounds against the best of all demands between them, where sinks hold whole samples.
#[test]
fn bounds_are_the_best_demand_between_them() {
    let (samples, n) = (8, 3);
    for seed in 0..20 {
        let costs = random(samples, n, seed, seed % 2 == 0);
        let weights = SampleWeights::uniform(samples).unwrap();
        let exact = |counts: [usize; 3]| {
            let shares = counts.map(|count| count as f64 / samples as f64);
            cost_of(&solve(&costs, &weights, &Demand::exactly(&shares), None).plan, &costs)
        };
        let best = (1..=4)
            .flat_map(|a| (1..=4).map(move |b| [a, b, samples - a - b]))
            .filter(|counts| (1..=4).contains(&counts[2]))
            .map(exact)
            .fold(f64::INFINITY, f64::min);
        let found = solve(&costs, &weights, &Demand { low: vec![0.125; 3], high: vec![0.5; 3] }, None);
        assert!((cost_of(&found.plan, &costs) - best).abs() < 1e-12);
    }
}

#[test]
fn threads_change_nothing() {
    let costs = random(9000, 30, 1, false);
    let weights = SampleWeights::uniform(9000).unwrap();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| solve(&costs, &weights, &Demand::exactly(&[1.0 / 30.0; 30]), None).plan)
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn entropy_vanishes_into_the_exact_plan() {
    let costs = random(60, 4, 9, false);
    let weights = SampleWeights::uniform(60).unwrap();
    let q = [0.1, 0.2, 0.3, 0.4];
    let exact = cost_of(&solve(&costs, &weights, &Demand::exactly(&q), None).plan, &costs);
    let asked = Sinkhorn { epsilon: 0.01, max_rounds: 20_000, tolerance: 1e-10 };
    let (plan, stop) = sinkhorn(&costs, &weights, &q, asked);
    assert_eq!(stop, StopReason::Converged);
    assert!(plan.weights().iter().zip(&q).all(|(found, asked)| (found - asked).abs() < 1e-9));
    let gap = cost_of(&plan, &costs) - exact;
    assert!((0.0..2e-2).contains(&gap), "{gap}");
    let (empty, _) = sinkhorn(&costs, &weights, &[0.5, 0.0, 0.5, 0.0], asked);
    assert_eq!(empty.weights()[1], 0.0);
}

/// Skewed weights, some of them zero, and ties: where paths lead is optimal as it is, from any potentials.
#[test]
fn paths_leave_the_simplex_nothing_to_do() {
    let (samples, n) = (2000, 20);
    let weights: Vec<f64> = (0..samples).map(|i| (i % 7) as f64).collect();
    let weights = SampleWeights::new(&weights).unwrap();
    let shares: Vec<f64> = (0..n).map(|k| (1 + k) as f64 / 210.0).collect();
    let sinks = Sinks::new(&Demand::exactly(&shares), &weights);
    for (integers, v) in [(false, 0.0), (true, 0.0), (false, 0.02), (true, 1.0)] {
        let costs = random(samples, n, 7, integers);
        let potentials: Vec<f64> = (0..n).map(|k| v * k as f64).collect();
        let mut basis = paths::basis(&costs, &sinks.units(&weights), &sinks, &potentials).unwrap();
        assert!(!Group::of_matrix(&costs).settle(&mut basis, 1e-12, &mut Margins::new(samples)));
    }
}
