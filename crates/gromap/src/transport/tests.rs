//! Objective, gradient, steps and single moves against brute force, over every operator and loss.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::vertex::{Breadth, FeatureTerm, FixedTarget, FreeSummary, FreeTarget, Sweeps};
use super::*;
use crate::data::Samples;
use crate::similarity::tests::{Case, as_matrix, cases, uneven_weights};
use crate::weights::SampleWeights;

const LOSSES: [Loss; 3] = [Loss::Square, Loss::Kl, Loss::BinaryCrossEntropy];
const SAMPLES: usize = 9;
const N: usize = 3;

/// Σ_ijkl L(C[i,j], C̄[k,l])·T[i,k]·T[j,l], by the definition.
fn brute_force(loss: Loss, matrix: &Matrix<'_>, target: &Matrix<'_>, plan: &Matrix<'_>) -> f64 {
    let mut total = 0.0;
    for i in 0..plan.rows() {
        for j in 0..plan.rows() {
            for k in 0..plan.columns() {
                for l in 0..plan.columns() {
                    let mass = plan[(i, k)] * plan[(j, l)];
                    if mass > 0.0 {
                        let (a, b) = (matrix[(i, j)], target[(k, l)]);
                        total += (loss.f1(a) + loss.f2(b) - a * loss.g(b)) * mass;
                    }
                }
            }
        }
    }
    total
}

fn brute_force_features(samples: &Matrix<'_>, prototypes: &Matrix<'_>, plan: &Matrix<'_>) -> f64 {
    let distance = |i: usize, k: usize| -> f64 {
        samples.row(i).iter().zip(prototypes.row(k)).map(|(x, f)| (x - f).powi(2)).sum()
    };
    (0..plan.rows())
        .flat_map(|i| (0..plan.columns()).map(move |k| (i, k)))
        .map(|(i, k)| distance(i, k) * plan[(i, k)])
        .sum()
}

fn random_matrix(seed: u64, rows: usize, columns: usize) -> Matrix<'static> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Matrix::from_fn(rows, columns, |_, _| 0.1 + 0.8 * rng.random::<f64>())
}

/// A fused problem on one case, with everything that brute force needs beside it.
struct Setting {
    case: Case,
    loss: Loss,
    alpha: f64,
    target: Matrix<'static>,
    samples: Samples<'static>,
    prototypes: Matrix<'static>,
    weights: SampleWeights,
}

impl Setting {
    fn all(seed: u64, symmetric: bool, alpha: f64) -> impl Iterator<Item = Setting> {
        LOSSES.into_iter().flat_map(move |loss| {
            cases(seed, SAMPLES, symmetric).into_iter().map(move |case| Setting {
                case,
                loss,
                alpha,
                target: random_matrix(seed + 1, N, N),
                samples: random_matrix(seed + 2, SAMPLES, 2).into(),
                prototypes: random_matrix(seed + 3, N, 2),
                weights: uneven_weights(SAMPLES),
            })
        })
    }

    fn constant(&self) -> f64 {
        let weights = &self.weights;
        let n = SAMPLES;
        (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .map(|(i, j)| self.loss.f1(self.case.matrix[(i, j)]) * weights[i] * weights[j])
            .sum()
    }

    fn problem(&self) -> TransportProblem<'_> {
        let features = FeatureCost::new(&self.samples, self.prototypes.view(), 1.0 - self.alpha);
        TransportProblem::new(&*self.case.operator, &self.target, self.loss, self.alpha, self.constant())
            .with_features((self.alpha < 1.0).then_some(features))
    }

    fn sample_matrix(&self) -> &Matrix<'static> {
        let Samples::F64(samples) = &self.samples else { unreachable!() };
        samples
    }

    /// The loss for the fixed target, by the definition.
    fn fixed(&self, plan: &Matrix<'_>) -> f64 {
        self.alpha * brute_force(self.loss, &self.case.matrix, &self.target, plan)
            + (1.0 - self.alpha) * brute_force_features(self.sample_matrix(), &self.prototypes, plan)
    }

    /// The loss at the best target and the best features, by the definition.
    fn free(&self, plan: &Matrix<'_>) -> f64 {
        let q: Vec<f64> = (0..N).map(|k| (0..SAMPLES).map(|i| plan[(i, k)]).sum()).collect();
        let target = Matrix::from_fn(N, N, |k, l| {
            let mut mass = 0.0;
            for i in 0..SAMPLES {
                for j in 0..SAMPLES {
                    mass += plan[(i, k)] * self.case.matrix[(i, j)] * plan[(j, l)];
                }
            }
            if q[k] * q[l] > 0.0 { (mass / (q[k] * q[l])).max(0.0) } else { 0.0 }
        });
        let features = Matrix::from_fn(N, 2, |k, c| {
            let sum: f64 = (0..SAMPLES).map(|i| plan[(i, k)] * self.sample_matrix()[(i, c)]).sum();
            if q[k] > 0.0 { sum / q[k] } else { 0.0 }
        });
        self.alpha * brute_force(self.loss, &self.case.matrix, &target, plan)
            + (1.0 - self.alpha) * brute_force_features(self.sample_matrix(), &features, plan)
    }

    fn plan(&self, soft: bool, seed: u64) -> Plan {
        let weights = self.weights.clone();
        if soft { Plan::random(N, weights, seed) } else { Plan::random_labels(N, weights, seed) }.unwrap()
    }

    fn label(&self) -> String {
        format!("{} {} alpha {}", self.case.name, self.loss, self.alpha)
    }
}

fn steps<'s>(seed: u64) -> Vec<(&'static str, Box<dyn PlanStep<'s> + 's>)> {
    vec![
        ("conditional gradient", Box::new(ConditionalGradient::default())),
        ("vertex descent", Box::new(VertexDescent::new(seed))),
        ("mirror descent", Box::new(MirrorDescent { epsilon: Some(0.05), entropy: 0.0 })),
        ("mirror descent, own step", Box::new(MirrorDescent { epsilon: None, entropy: 0.0 })),
        ("entropic mirror descent", Box::new(MirrorDescent { epsilon: Some(0.05), entropy: 0.02 })),
        ("entropic fixed point", Box::new(MirrorDescent { epsilon: Some(0.03), entropy: 0.03 })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn the_objective_is_that_of_the_definition(seed in 0u64..1000, symmetric: bool, soft: bool, alpha in prop::sample::select(vec![1.0, 0.4, 0.0])) {
        for setting in Setting::all(seed, symmetric, alpha) {
            let plan = setting.plan(soft, seed);
            let expected = setting.fixed(&as_matrix(&plan));
            let found = TransportState::of(&setting.problem(), plan).loss;
            prop_assert!((found - expected).abs() < 1e-12, "{}: {found} is not {expected}", setting.label());
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences(seed in 0u64..1000, symmetric: bool, alpha in prop::sample::select(vec![1.0, 0.4])) {
        for setting in Setting::all(seed, symmetric, alpha) {
            let problem = setting.problem();
            let plan = setting.plan(true, seed);
            let state = TransportState::of(&problem, plan.clone());
            let gradient = problem.gradient_rows(&state, 0..SAMPLES).gradient;
            let dense = as_matrix(&plan);
            // Rows are known up to a constant, so differences within a row are compared.
            for i in 1..SAMPLES {
                for k in 1..N {
                    let step = 1e-6;
                    let shifted = |sign: f64| {
                        let mut plan = dense.clone();
                        plan[(i, k)] += sign * step;
                        plan[(i, 0)] -= sign * step;
                        setting.fixed(&plan)
                    };
                    let expected = (shifted(1.0) - shifted(-1.0)) / (2.0 * step);
                    let found = gradient[i * N + k] - gradient[i * N];
                    prop_assert!((found - expected).abs() < 1e-7, "{}: {found} is not {expected}", setting.label());
                }
            }
        }
    }

    #[test]
    fn no_step_raises_the_loss_and_all_keep_their_books(seed in 0u64..1000, symmetric: bool, soft: bool, alpha in prop::sample::select(vec![1.0, 0.4])) {
        for setting in Setting::all(seed, symmetric, alpha) {
            let problem = setting.problem();
            for (name, mut step) in steps(seed) {
                let mut state = TransportState::of(&problem, setting.plan(soft, seed));
                let mut before = state.loss + step.penalty(&state.plan);
                for _ in 0..4 {
                    let moved = step.step(&problem, &mut state);
                    let after = state.loss + step.penalty(&state.plan);
                    prop_assert!(after <= before + 1e-12, "{name}, {}: from {before} to {after}", setting.label());
                    before = after;
                    let expected = setting.fixed(&as_matrix(&state.plan));
                    prop_assert!((state.loss - expected).abs() < 1e-10, "{name}, {}: {} is not {expected}", setting.label(), state.loss);
                    if !moved {
                        break;
                    }
                }
            }
        }
    }

    #[test]
    fn every_move_towards_a_fixed_target_changes_the_loss_by_what_it_says(seed in 0u64..1000, symmetric: bool, soft: bool, alpha in prop::sample::select(vec![1.0, 0.4])) {
        for setting in Setting::all(seed, symmetric, alpha) {
            let problem = setting.problem();
            let mut plan = setting.plan(soft, seed);
            let mut before = setting.fixed(&as_matrix(&plan));
            let mut criterion = FixedTarget::new(&problem, &plan.weights());
            let mut products = Products::new(&*setting.case.operator, &plan);
            let mut descent = Sweeps::new(&mut plan, &mut products);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            for _ in 0..3 {
                descent.sweep(&mut criterion, Breadth::Full, &mut rng, |plan, made| {
                    let after = setting.fixed(&as_matrix(plan));
                    assert!(made.change < 0.0);
                    assert!((after - before - made.change).abs() < 1e-12, "{}: {made:?}, not {}", setting.label(), after - before);
                    before = after;
                });
            }
        }
    }

    #[test]
    fn every_move_with_a_free_target_changes_the_loss_by_what_it_says(seed in 0u64..1000, symmetric: bool, soft: bool, alpha in prop::sample::select(vec![1.0, 0.4])) {
        for setting in Setting::all(seed, symmetric, alpha) {
            let mut plan = setting.plan(soft, seed);
            let mut before = setting.free(&as_matrix(&plan));
            let mut products = Products::new(&*setting.case.operator, &plan);
            let state = PlanSummary::new(&plan, &products);
            let summary = free_summary(&setting, &plan, &state);
            let features = (alpha < 1.0).then(|| {
                FeatureTerm::new(&setting.samples, 1.0 - alpha, 1.0, setting.samples.gather(&plan), plan.weights())
            });
            let constant = setting.alpha * setting.constant();
            if alpha == 1.0 {
                prop_assert!((summary.loss() + constant - before).abs() < 1e-12);
            }
            let mut criterion = FreeTarget::new(&summary, 0, features);
            let mut descent = Sweeps::new(&mut plan, &mut products);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            for _ in 0..3 {
                descent.sweep(&mut criterion, Breadth::Full, &mut rng, |plan, made| {
                    let after = setting.free(&as_matrix(plan));
                    assert!(made.change < 0.0);
                    assert!((after - before - made.change).abs() < 1e-12, "{}: {made:?}, not {}", setting.label(), after - before);
                    before = after;
                });
            }
        }
    }
}

fn free_summary<'s>(setting: &Setting, plan: &Plan, summary: &'s PlanSummary) -> FreeSummary<'s> {
    let mut members = vec![0; N];
    for i in (0..plan.len()).filter(|&i| plan.sample_weights()[i] > 0.0) {
        plan.row(i).iter().for_each(|(k, _)| members[k] += 1);
    }
    FreeSummary {
        loss: setting.loss,
        factor: setting.alpha,
        symmetric: setting.case.operator.is_symmetric(),
        inputs: vec![(1.0, summary)],
        members,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn vertex_descent_ends_where_no_single_move_pays(seed in 0u64..1000, symmetric: bool) {
        for setting in Setting::all(seed, symmetric, 1.0) {
            let problem = setting.problem();
            let mut state = TransportState::of(&problem, setting.plan(false, seed));
            let mut descent = VertexDescent::new(seed);
            while descent.step(&problem, &mut state) {}
            let loss = setting.fixed(&as_matrix(&state.plan));
            for i in 0..SAMPLES {
                for k in 0..N as u32 {
                    let mut moved = state.plan.clone();
                    moved.assign(i, k);
                    prop_assert!(setting.fixed(&as_matrix(&moved)) >= loss - 1e-12, "{}", setting.label());
                }
            }
        }
    }

    #[test]
    fn with_a_free_part_no_single_move_pays_either(seed in 0u64..1000, symmetric: bool) {
        for setting in Setting::all(seed, symmetric, 1.0) {
            // A scale of 2 for losses that take any similarity from 0 on; masses below zero have no best target.
            let scale = if setting.loss == Loss::BinaryCrossEntropy { 1.0 } else { 2.0 };
            let free = FreePart { loss: setting.loss, scale, share: 0.7 };
            let (similarity, target) = (&*setting.case.operator, &setting.target);
            let problem =
                TransportProblem::scaled(similarity, scale, target, setting.loss, 0.3, 0.0).with_free_part(free, 0.0);
            let mut state = TransportState::of(&problem, setting.plan(false, seed));
            let mut descent = VertexDescent::new(seed);
            loop {
                let before = state.loss;
                if !descent.step(&problem, &mut state) {
                    break;
                }
                prop_assert!(state.loss < before, "{}", setting.label());
            }
            for i in 0..SAMPLES {
                // Prototypes that the sample does not see are no candidates.
                let entry = |j: usize| setting.case.matrix[(i, j)].abs() + setting.case.matrix[(j, i)].abs();
                let seen: Vec<u32> = (0..SAMPLES)
                    .filter(|&j| j != i && setting.weights[j] > 0.0 && entry(j) > 0.0)
                    .map(|j| state.plan.labels()[j])
                    .collect();
                for k in seen {
                    let mut moved = state.plan.clone();
                    moved.assign(i, k);
                    let value = TransportState::of(&problem, moved).loss;
                    prop_assert!(value >= state.loss - 1e-12, "{}: {value} {}", setting.label(), state.loss);
                }
            }
        }
    }

    #[test]
    fn vertex_descent_never_ends_above_the_conditional_gradient_it_starts_from(seed in 0u64..1000) {
        // A Gram matrix and its own best target: the optimum is hard, and so is where the gradient ends.
        for setting in Setting::all(seed, true, 1.0).filter(|s| s.loss == Loss::Square) {
            let problem = setting.problem();
            let mut state = TransportState::of(&problem, setting.plan(true, seed));
            let mut rounds = 0;
            let mut gradient = ConditionalGradient::default();
            while rounds < 200 && gradient.step(&problem, &mut state) {
                rounds += 1;
            }
            let reached = state.loss;
            let mut descent = VertexDescent::new(seed);
            while descent.step(&problem, &mut state) {}
            prop_assert!(state.loss <= reached + 1e-13, "{}: {} above {reached}", setting.label(), state.loss);
        }
    }
}
