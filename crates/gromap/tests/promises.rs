//! What the crate promises of whole solutions: losses never rise, the number of threads leaves no
//! trace, hard problems get hard answers, bad input is named.

#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not take for tests

use gromap::observe::{Event, Flow, Stage, StopReason, Stopping};
use gromap::options::Start;
use gromap::similarity::{Definiteness, Dense, LowRank, Similarity, Sparse, WeightedSum};
use gromap::solve::{Barycenter, Input, Scale, Settings, Solver, Srgw, Transport};
use gromap::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const LOSSES: [Loss; 3] = [Loss::Square, Loss::Kl, Loss::BinaryCrossEntropy];

/// A factor with entries in \[0, 1/√rank\], so that its Gram matrix has entries in \[0, 1\].
fn factor(seed: u64, samples: usize, rank: usize) -> Matrix<'static> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Matrix::from_fn(samples, rank, |_, _| rng.random::<f64>() / (rank as f64).sqrt())
}

fn gram(factor: &Matrix<'_>) -> Matrix<'static> {
    let dot = |i, j| factor.row(i).iter().zip(factor.row(j)).map(|(a, b): (&f64, &f64)| a * b).sum::<f64>().min(1.0);
    Matrix::from_fn(factor.rows(), factor.rows(), dot)
}

/// A ring of neighbours in groups of ten, as a sparse similarity.
fn ring(samples: usize, neighbors: usize) -> Sparse<'static, f32> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..samples {
        let mut row: Vec<usize> =
            (1..=neighbors).flat_map(|d| [(i + d) % samples, (i + samples - d) % samples]).collect();
        row.sort_unstable();
        row.dedup();
        for j in row {
            columns.push(j as u32);
            values.push(if i / 10 == j / 10 { 0.9 } else { 0.1 });
        }
        offsets.push(columns.len());
    }
    Sparse::new(offsets, columns, values).unwrap()
}

fn operators(seed: u64, samples: usize) -> Vec<(&'static str, Box<dyn Similarity>)> {
    let factor = factor(seed, samples, 4);
    let dense = Dense::new(gram(&factor)).unwrap();
    let single = Matrix::from_fn(samples, samples, |i, j| gram_entry(&factor, i, j) as f32);
    vec![
        ("dense", Box::new(dense)),
        ("dense, single", Box::new(Dense::new(single).unwrap())),
        ("low-rank", Box::new(LowRank::symmetric(factor).unwrap())),
        ("sparse", Box::new(ring(samples, 4))),
    ]
}

fn gram_entry(factor: &Matrix<'_>, i: usize, j: usize) -> f64 {
    factor.row(i).iter().zip(factor.row(j)).map(|(a, b)| a * b).sum()
}

/// Every solver, and mirror descent with an entropy.
fn solvers() -> [Settings; 4] {
    let plain = |solver| Settings { solver, ..Settings::default() };
    let mirror = plain(Solver::Mirror);
    let entropic = Settings { epsilon: Some(0.02), entropy: 0.01, ..mirror };
    [plain(Solver::Vertex), plain(Solver::ConditionalGradient), mirror, entropic]
}

fn settings(solver: Settings, seed: u64) -> Settings {
    Settings { seed, stopping: Stopping { max_rounds: 30, ..Stopping::default() }, ..solver }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_history_never_rises(seed in 0u64..1000, soft: bool) {
        let (samples, n) = (40, 4);
        let weights: Vec<f64> = (0..samples).map(|i| 1.0 + (i % 3) as f64).collect();
        let weights = SampleWeights::new(&weights).unwrap();
        let start = if soft { Plan::random(n, weights.clone(), seed) } else { Plan::random_labels(n, weights.clone(), seed) };
        let start = start.unwrap();
        let target = factor(seed + 1, n, n);
        let target = Matrix::from_fn(n, n, |k, l| 0.05 + 0.9 * target[(k, l)]);
        for (name, operator) in operators(seed, samples) {
            for loss in LOSSES {
                for solver in solvers() {
                    let settings = settings(solver, seed);
                    let fixed = Srgw::new(&*operator, target.clone()).loss(loss).sample_weights(weights.clone());
                    let fixed = fixed.start(start.clone()).settings(settings).solve().unwrap();
                    let input = Input::new(&*operator).sample_weights(weights.clone()).start(start.clone());
                    let free = Barycenter::new(vec![input], n).loss(loss).settings(settings).solve().unwrap();
                    for (history, kind) in [(&fixed.outcome.history, "fixed"), (&free.outcome.history, "free")] {
                        let rises = history.windows(2).any(|pair| pair[1] > pair[0]);
                        prop_assert!(!rises, "{name} {loss} {solver:?} {kind}: {history:?}");
                    }
                    prop_assert!((0.0..=1.0).contains(&fixed.outcome.hardness));
                    let mass: f64 = fixed.weights.iter().sum();
                    prop_assert!((mass - 1.0).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn a_permutation_of_the_samples_permutes_the_answer(seed in 0u64..1000) {
        let (samples, n) = (30, 3);
        let factor = factor(seed, samples, 4);
        let backwards = Matrix::from_fn(samples, 4, |i, j| factor[(samples - 1 - i, j)]);
        let labels: Vec<u32> = (0..samples as u32).map(|i| (i * 7) % n).collect();
        let reversed: Vec<u32> = labels.iter().rev().copied().collect();
        let solve = |factor: Matrix<'static>, labels: Vec<u32>| {
            let operator = LowRank::symmetric(factor).unwrap();
            let start = Plan::from_labels(labels, n as usize, SampleWeights::uniform(samples).unwrap()).unwrap();
            let input = Input::new(&operator).start(start);
            let settings = settings(Settings { solver: Solver::ConditionalGradient, ..Settings::default() }, 0);
            Barycenter::new(vec![input], n as usize).settings(settings).solve().unwrap()
        };
        let (forward, backward) = (solve(factor, labels), solve(backwards, reversed));
        prop_assert!((forward.outcome.loss - backward.outcome.loss).abs() < 1e-12);
        let flipped: Vec<u32> = backward.plans[0].labels().into_iter().rev().collect();
        prop_assert_eq!(forward.plans[0].labels(), flipped);
    }

    #[test]
    fn on_a_gram_matrix_the_barycenter_is_hard(seed in 0u64..1000, n in 2usize..8) {
        // Theorem 1, from the paper's random soft starts.
        let operator = LowRank::symmetric(factor(seed, 50, 5)).unwrap();
        let weights = SampleWeights::uniform(50).unwrap();
        let start = Plan::random(n, weights, seed).unwrap();
        for solver in [Solver::Vertex, Solver::ConditionalGradient] {
            let input = Input::new(&operator).start(start.clone());
            let stopping = Stopping { max_rounds: 1000, rel_tolerance: 0.0, abs_tolerance: 0.0 };
            let settings = Settings { solver, seed, stopping, ..Settings::default() };
            let found = Barycenter::new(vec![input], n).settings(settings).solve().unwrap();
            prop_assert_eq!(found.outcome.certificate, Some(Definiteness::Psd));
            prop_assert_eq!(found.outcome.hardness, 1.0, "{:?}", solver);
        }
    }
}

#[test]
fn several_inputs_share_a_target_and_the_loss_is_theirs() {
    let n = 3;
    for loss in LOSSES {
        for (solver, alpha) in solvers().into_iter().flat_map(|solver| [(solver, 1.0), (solver, 0.4)]) {
            let (first, second) = (factor(1, 30, 4), factor(2, 22, 4));
            let gram_first = Dense::new(gram(&first)).unwrap();
            let low_rank = LowRank::new(second.clone(), factor(3, 22, 4)).unwrap(); // not symmetric
            let inputs = vec![
                Input::new(&gram_first).features(first.clone()),
                Input::new(&low_rank).features(second.clone()).share(3.0),
            ];
            let problem = Barycenter::new(inputs, n).loss(loss).alpha(alpha).settings(settings(solver, 5));
            let found = problem.solve().unwrap();
            assert!(found.outcome.history.windows(2).all(|pair| pair[1] <= pair[0]), "{loss} {solver:?} {alpha}");
            // The same plans against the learnt target and features, one input at a time.
            let target = Matrix::from_fn(n, n, |k, l| found.target[(k, l)].clamp(1e-300, 1.0 - 1e-16));
            let features = found.features.clone().unwrap();
            let parts = [(0.25, &gram_first as &dyn Similarity, first), (0.75, &low_rank as &dyn Similarity, second)];
            let again: f64 = parts
                .into_iter()
                .zip(&found.plans)
                .map(|((share, similarity, samples), plan)| {
                    let none = Stopping { max_rounds: 0, ..Stopping::default() };
                    let settings = Settings { stopping: none, ..Settings::default() };
                    let fixed = Srgw::new(similarity, target.clone()).loss(loss).start(plan.clone());
                    share
                        * fixed
                            .features(samples, features.clone(), alpha)
                            .settings(settings)
                            .solve()
                            .unwrap()
                            .outcome
                            .loss
                })
                .sum();
            // A low-rank similarity leaves the constant of KL and BCE out, here as there; the total
            // says so and leaves out that of the others too.
            let constant = if found.outcome.loss_is_complete {
                0.0
            } else {
                let weights = SampleWeights::uniform(30).unwrap();
                alpha * 0.25 * gram_first.constant(loss, &weights).unwrap()
            };
            assert!(
                (found.outcome.loss + constant - again).abs() < 1e-9,
                "{loss} {solver:?} {alpha}: {} {again}",
                found.outcome.loss
            );
        }
    }
}

#[test]
fn the_number_of_threads_leaves_no_trace() {
    let samples = 2500; // three blocks of rows
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut bits = Vec::new();
            for (_, operator) in operators(3, samples) {
                for solver in solvers() {
                    let stopping = Stopping { max_rounds: 4, ..Stopping::default() };
                    let settings = Settings { seed: 1, stopping, ..solver };
                    let found = Barycenter::new(vec![Input::new(&*operator)], 5).settings(settings).solve().unwrap();
                    bits.extend(found.outcome.history.iter().map(|loss| loss.to_bits()));
                    bits.extend(found.target.values().iter().map(|v| v.to_bits()));
                    bits.extend(found.plans[0].labels().iter().map(|&l| u64::from(l)));
                }
            }
            bits
        })
    };
    let one = run(1);
    assert!(one.len() > 4 * samples);
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
}

/// Groups of samples around points of a line, far enough apart to be told from each other.
fn groups(samples: usize) -> Matrix<'static> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    Matrix::from_fn(samples, 4, |i, j| 3.0 * ((i % 5) * (j + 1)) as f64 + rng.random::<f64>())
}

#[test]
fn models_are_the_same_bytes_for_any_number_of_threads() {
    let samples = groups(120);
    for &method in Method::ALL {
        for recipe in [GromovDr::builder().prototypes(8), GromovDr::builder().every_sample()] {
            let recipe = recipe.method(method).perplexity(10.0).neighbors(Some(20)).seed(5);
            let fit = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| recipe.fit(&samples)).unwrap().to_bytes()
            };
            let alone = fit(1);
            assert!(alone == fit(2) && alone == fit(4), "{method} {:?}", recipe);
        }
    }
}

#[test]
fn models_do_not_care_for_the_order_of_samples() {
    let samples = groups(150);
    let turned = Matrix::from_fn(150, 4, |i, j| samples[(149 - i, j)]);
    for method in [Method::Pca, Method::TSnekhorn] {
        let fit = |samples: &Matrix<'_>| {
            let recipe = GromovDr::builder().prototypes(5).method(method).perplexity(10.0).seed(0);
            recipe.fit(samples).unwrap().plan.labels()
        };
        let (labels, mirrored) = (fit(&samples), fit(&turned));
        for i in 0..150 {
            for j in 0..150 {
                assert_eq!(labels[i] == labels[j], mirrored[149 - i] == mirrored[149 - j], "{method}");
            }
        }
    }
}

#[test]
fn an_observer_may_stop_a_model_and_keeps_the_best() {
    let samples = groups(200);
    let mut stages = Vec::new();
    let mut rounds = 0;
    let mut watch = |event: &Event| match event {
        Event::Stage(stage) => {
            stages.push(*stage);
            Flow::Continue
        }
        _ => {
            rounds += 1;
            if rounds > 1 { Flow::Stop } else { Flow::Continue }
        }
    };
    let recipe = GromovDr::builder().prototypes(9).perplexity(10.0).init(Start::Random);
    let model = recipe.fit_with(&(&samples).into(), Run { observer: Some(&mut watch), ..Run::default() }).unwrap();
    assert_eq!(model.outcome.stop, StopReason::Interrupted);
    assert_eq!(model.outcome.history.last(), Some(&model.outcome.loss));
    assert_eq!(stages, [Stage::Prepare, Stage::Neighbors, Stage::Affinity, Stage::Start, Stage::Fit]);
}

#[test]
fn several_perplexities_share_one_search_for_neighbours() {
    let mut searches = 0;
    let mut watch = |event: &Event| {
        searches += usize::from(matches!(event, Event::Stage(Stage::Neighbors)));
        Flow::Continue
    };
    let recipe = GromovDr::builder().prototypes(5).perplexities(&[5.0, 12.0, 30.0]);
    recipe.fit_with(&(&groups(120)).into(), Run { observer: Some(&mut watch), ..Run::default() }).unwrap();
    assert_eq!(searches, 1);
}

#[test]
fn scores_are_the_same_bytes_for_any_number_of_threads() {
    let (samples, map) = (factor(3, 900, 6), factor(4, 900, 2));
    let label = |i: usize, groups: u32| (samples[(i, 0)] * 1e4) as u32 % groups;
    let truth: Vec<u32> = (0..900).map(|i| label(i, 7)).collect();
    let found: Vec<u32> = (0..900).map(|i| label(i, 45)).collect();
    let weights: Vec<f64> = (0..900).map(|i| samples[(i, 1)]).collect();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            [
                metrics::Agreement::new(&truth, &found).unwrap().adjusted_mutual_information(),
                metrics::weighted_silhouette(&map, &truth, &weights).unwrap(),
                metrics::trustworthiness(&samples, &map, 9).unwrap(),
                metrics::neighborhood_preservation(&samples, &map, 9).unwrap(),
            ]
            .map(f64::to_bits)
        })
    };
    assert_eq!(run(1), run(2));
    assert_eq!(run(1), run(5));
}

#[test]
fn groups_that_are_there_are_found() {
    let similarity = ring(60, 9);
    let best = (0..5)
        .map(|seed| {
            let settings = Settings { seed, ..Settings::default() };
            Barycenter::new(vec![Input::new(&similarity)], 6).loss(Loss::Kl).settings(settings).solve().unwrap()
        })
        .min_by(|a, b| a.outcome.loss.total_cmp(&b.outcome.loss))
        .unwrap();
    let labels = best.plans[0].labels();
    for group in labels.chunks(10) {
        assert!(group.iter().all(|label| label == &group[0]), "{labels:?}");
    }
}

#[test]
fn an_observer_may_stop_and_keeps_the_best() {
    let operator = LowRank::symmetric(factor(0, 80, 5)).unwrap();
    let mut seen = Vec::new();
    let mut stop_at_two = |event: &Event| {
        let Event::Round { round, loss } = event else { return Flow::Continue };
        seen.push(*loss);
        if *round == 2 { Flow::Stop } else { Flow::Continue }
    };
    let found = Barycenter::new(vec![Input::new(&operator)], 6).solve_observed(&mut stop_at_two).unwrap();
    assert_eq!(found.outcome.stop, StopReason::Interrupted);
    assert_eq!(found.outcome.history, seen);
    assert_eq!(found.outcome.loss, seen[2]);
}

#[test]
fn the_scale_of_the_identity_target_is_an_option() {
    let operator = LowRank::symmetric(factor(2, 40, 3)).unwrap();
    let solve = |scale| Srgw::identity(&operator, 4, scale).solve();
    let raw = solve(Scale::Raw).unwrap();
    let unit = solve(Scale::UnitMaximum).unwrap();
    assert_ne!(raw.outcome.loss, unit.outcome.loss);
    let largest = operator.bounds().high.value;
    let scaled = WeightedSum::new(vec![(1.0 / largest, &operator)]).unwrap();
    assert_eq!(unit, Srgw::identity(&scaled, 4, Scale::Raw).solve().unwrap());
    let nothing = Dense::new(Matrix::<f64>::zeros(3, 3)).unwrap();
    assert!(Srgw::identity(&nothing, 2, Scale::UnitMaximum).solve().is_err());
}

#[test]
fn a_lower_start_is_kept_when_no_round_is_allowed() {
    let operator = LowRank::symmetric(factor(4, 30, 3)).unwrap();
    let stopping = Stopping { max_rounds: 0, ..Stopping::default() };
    let settings = Settings { stopping, ..Settings::default() };
    let found = Barycenter::new(vec![Input::new(&operator)], 3).settings(settings).solve().unwrap();
    assert_eq!((found.outcome.history.len(), found.outcome.stop), (1, StopReason::MaxRounds));
}

#[test]
fn bad_input_is_named() {
    let operator = LowRank::symmetric(factor(0, 10, 2)).unwrap();
    let eye = |n| Matrix::from_fn(n, n, |k, l| if k == l { 1.0 } else { 0.1 });
    let weights = |n: usize| SampleWeights::uniform(n).unwrap();
    let srgw = |target| Srgw::new(&operator, target);
    let message = |result: Result<Transport>| result.unwrap_err().to_string();

    assert!(message(srgw(Matrix::zeros(2, 3)).solve()).contains("columns of the target"));
    assert!(message(srgw(Matrix::zeros(0, 0)).solve()).contains("n_prototypes is 0"));
    assert!(message(srgw(eye(11)).solve()).contains("from 1 to 10"));
    assert!(message(srgw(eye(2)).sample_weights(weights(9)).solve()).contains("expected 10, found 9"));
    let uneven = SampleWeights::new(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]).unwrap();
    let start = Plan::random(2, uneven, 0).unwrap();
    assert!(matches!(srgw(eye(2)).start(start).solve(), Err(Error::RowSum { row: 0, .. })));
    let start = Plan::random(3, weights(10), 0).unwrap();
    assert!(message(srgw(eye(2)).start(start).solve()).contains("columns of the starting plan"));

    let mut wrong = eye(2);
    wrong[(1, 0)] = f64::NAN;
    assert!(message(srgw(wrong).solve()).contains("target[1, 0]"));
    let zeros = Matrix::from_fn(2, 2, |k, l| if k == l { 1.0 } else { 0.0 });
    assert!(message(srgw(zeros.clone()).loss(Loss::Kl).solve()).contains("target[0, 1] is 0"));
    assert!(message(srgw(zeros).loss(Loss::BinaryCrossEntropy).solve()).contains("strictly between 0 and 1"));

    let negative = Dense::new(Matrix::new(vec![1.0, 0.5, -0.25, 1.0], 2, 2).unwrap()).unwrap();
    let error = Barycenter::new(vec![Input::new(&negative)], 1).loss(Loss::Kl).solve().unwrap_err();
    assert!(matches!(error, Error::Domain { row: 1, column: 0, value: -0.25, .. }));
    let error = Barycenter::new(vec![], 1).solve().unwrap_err();
    assert!(error.to_string().contains("number of inputs"));
    let error = Barycenter::new(vec![Input::new(&operator).share(0.0)], 1).solve().unwrap_err();
    assert!(error.to_string().contains("share"));
    let error = Barycenter::new(vec![Input::new(&operator)], 2).alpha(0.5).solve().unwrap_err();
    assert!(error.to_string().contains("unless features are given"));

    let samples = factor(1, 10, 2);
    let fused = |prototypes, alpha| message(srgw(eye(2)).features(samples.clone(), prototypes, alpha).solve());
    assert!(fused(Matrix::zeros(2, 3), 0.5).contains("columns of the prototype features"));
    assert!(fused(Matrix::zeros(3, 2), 0.5).contains("rows of the prototype features"));
    assert!(fused(Matrix::zeros(2, 2), -0.5).contains("alpha is -0.5"));
    let few = factor(1, 9, 2);
    let error = srgw(eye(2)).features(few, Matrix::zeros(2, 2), 0.5).solve();
    assert!(message(error).contains("rows of the features"));

    let with = |settings| message(srgw(eye(2)).settings(settings).solve());
    let mirror = Settings { solver: Solver::Mirror, ..Settings::default() };
    assert!(with(Settings { epsilon: Some(0.0), ..mirror }).contains("epsilon"));
    assert!(with(Settings { entropy: f64::NAN, ..mirror }).contains("entropy"));
    assert!(with(Settings { epsilon: Some(0.1), ..Settings::default() }).contains("only the mirror solver"));
    let stopping = Stopping { rel_tolerance: -1.0, ..Stopping::default() };
    assert!(with(Settings { stopping, ..Settings::default() }).contains("rel_tolerance"));
}
