//! What proves a symmetric entropic affinity: its optimality conditions, a plain dense solution, and
//! the same bytes for any number of threads.

use faer::linalg::solvers::Solve;
use faer::{Col, Mat};

use super::*;
use crate::affinity::InputAffinity;
use crate::affinity::testing::{cloud, scattered};
use crate::neighbors::nearest_neighbors;
use crate::numeric::Matrix;
use crate::similarity::Similarity;

fn neighbors(samples: &Matrix<'_, f32>, k: usize) -> Neighbors {
    nearest_neighbors(samples, k, Metric::SquaredEuclidean, 0).expect("neighbours")
}

fn recipe(perplexity: f64) -> SymmetricEntropic {
    SymmetricEntropic { perplexity, ..SymmetricEntropic::default() }
}

/// Row sums, entropies, symmetry and form, checked on the values alone.
fn assert_optimal(solution: &Solution, neighbors: &Neighbors, perplexity: f64, tolerance: f64) {
    let pattern = Pattern::new(neighbors).expect("a pattern");
    let (epsilon, mu) = (&solution.temperatures, &solution.multipliers);
    assert!(solution.converged && solution.affinity.is_symmetric());
    let mut above = 0;
    for i in 0..pattern.len() {
        let (columns, costs) = pattern.row(i);
        let (found, values) = solution.affinity.row(i);
        assert_eq!(columns, found);
        let (mut sum, mut entropy) = (0.0, 0.0);
        for ((&j, &cost), &value) in columns.iter().zip(costs).zip(values) {
            let (j, p) = (j as usize, f64::from(value));
            let form = ((mu[i] + mu[j] - 2.0 * f64::from(cost)) / (epsilon[i] + epsilon[j])).exp();
            assert!((p - form).abs() <= 1e-5 * form + 1e-30, "P[{i}, {j}] is {p}, not {form}");
            sum += p;
            entropy -= if p > 0.0 { p * (p.ln() - 1.0) } else { 0.0 };
        }
        assert!((sum - 1.0).abs() <= tolerance, "row {i} sums to {sum}");
        let excess = entropy - perplexity.ln() - 1.0;
        assert!(excess >= -tolerance, "row {i} has an entropy {excess} below the bound");
        above += usize::from(excess > tolerance);
    }
    assert!(above <= solution.inactive, "{above} rows above the bound, {} known", solution.inactive);
}

#[test]
fn it_satisfies_the_optimality_conditions() {
    for (perplexity, k) in [(5.0, 15), (15.0, 45), (40.0, 120)] {
        let neighbors = neighbors(&scattered(400, 4, 7), k);
        let solution = recipe(perplexity).solve(&neighbors).expect("a solution");
        assert_optimal(&solution, &neighbors, perplexity, 1e-3);
        assert!(solution.steps <= 30, "{} steps", solution.steps);
    }
}

#[test]
fn a_tighter_tolerance_is_reached() {
    let neighbors = neighbors(&cloud(200, 4, 8), 60);
    let solution = SymmetricEntropic { tolerance: 1e-8, ..recipe(20.0) }.solve(&neighbors).expect("a solution");
    assert!(solution.row_sum_error <= 1e-8 && solution.entropy_error <= 1e-8);
    assert_optimal(&solution, &neighbors, 20.0, 1e-5); // as far as single precision goes
}

/// The dual solved as plainly as possible: a dense Hessian, its LU decomposition, and steps halved
/// until the dual or its gradient shrinks.
fn dense_reference(samples: &Matrix<'_, f32>, perplexity: f64) -> Mat<f64> {
    let n = samples.rows();
    let square = |i: usize, j: usize| {
        let pairs = samples.row(i).iter().zip(samples.row(j));
        pairs.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>()
    };
    let cost = Mat::from_fn(n, n, square);
    let mean = cost.sum() / (n * n) as f64;
    let log_p = |x: &Col<f64>, i: usize, j: usize| (x[n + i] + x[n + j] - 2.0 * cost[(i, j)]) / (x[i] + x[j]);
    let p = |x: &Col<f64>, i: usize, j: usize| if i == j { 0.0 } else { log_p(x, i, j).exp() };
    let gradient = |x: &Col<f64>| {
        Col::from_fn(2 * n, |at| match at < n {
            true => {
                let entropy = |j: usize| if j == at { 0.0 } else { p(x, at, j) * (1.0 - log_p(x, at, j)) };
                (0..n).map(entropy).sum::<f64>() - perplexity.ln() - 1.0
            }
            false => (0..n).map(|j| p(x, at - n, j)).sum::<f64>() - 1.0,
        })
    };
    let value = |x: &Col<f64>| {
        let energy = |i: usize| (0..n).map(|j| 0.5 * (x[i] + x[j]) * p(x, i, j)).sum::<f64>();
        (0..n).map(|i| energy(i) - (perplexity.ln() + 1.0) * x[i] - x[n + i]).sum::<f64>()
    };
    let mut x = Col::from_fn(2 * n, |at| if at < n { mean } else { -mean * (n as f64).ln() });
    for _ in 0..200 {
        let g = gradient(&x);
        if g.norm_max() < 1e-10 {
            break;
        }
        let mut hessian = Mat::<f64>::zeros(2 * n, 2 * n);
        for i in 0..n {
            for j in (0..n).filter(|&j| j != i) {
                let (w, l) = (p(&x, i, j) / (x[i] + x[j]), log_p(&x, i, j));
                for column in [i, j] {
                    hessian[(i, column)] += w * l * l;
                    hessian[(i, n + column)] -= w * l;
                    hessian[(n + i, column)] -= w * l;
                    hessian[(n + i, n + column)] += w;
                }
            }
        }
        let d = hessian.partial_piv_lu().solve(&g);
        let mut stride = 1.0;
        loop {
            let next = Col::from_fn(2 * n, |at| x[at] - stride * d[at]);
            let positive = (0..n).all(|i| next[i] > 0.1 * x[i]);
            let better =
                |x: &Col<f64>, next: &Col<f64>| value(next) < value(x) || gradient(next).norm_l2() < 0.5 * g.norm_l2();
            if stride < 1e-12 || (positive && better(&x, &next)) {
                x = next;
                break;
            }
            stride *= 0.5;
        }
    }
    assert!(gradient(&x).norm_max() < 1e-10, "the reference itself must be solved");
    Mat::from_fn(n, n, |i, j| p(&x, i, j))
}

#[test]
fn all_neighbours_give_the_dense_solution() {
    let samples = cloud(150, 5, 3);
    let reference = dense_reference(&samples, 30.0);
    let recipe = SymmetricEntropic { tolerance: 1e-9, ..recipe(30.0) };
    let solution = recipe.solve(&neighbors(&samples, 149)).expect("a solution");
    assert!(solution.converged && solution.inactive == 0 && solution.affinity.stored() == 150 * 149);
    for i in 0..150 {
        let (columns, values) = solution.affinity.row(i);
        for (&j, &value) in columns.iter().zip(values) {
            let expected = reference[(i, j as usize)];
            let error = (f64::from(value) - expected).abs();
            assert!(error <= 1e-5 * expected.max(1e-3), "P[{i}, {j}] is {value}, not {expected}");
        }
    }
}

#[test]
fn the_number_of_threads_does_not_show() {
    let samples = scattered(1500, 4, 5);
    let neighbors = neighbors(&samples, 30);
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| recipe(10.0).solve(&neighbors).expect("a solution"))
    };
    let one = with_threads(1);
    assert!(one.converged);
    for threads in [2, 4] {
        assert_eq!(with_threads(threads), one, "{threads} threads");
    }
}

#[test]
fn duplicates_do_no_harm() {
    let mut samples = scattered(300, 3, 11);
    for i in 0..60 {
        let copied = samples.row(5 * i + 1).to_vec();
        samples.row_mut(5 * i).copy_from_slice(&copied);
    }
    let neighbors = neighbors(&samples, 30);
    let solution = recipe(10.0).solve(&neighbors).expect("a solution");
    assert_optimal(&solution, &neighbors, 10.0, 1e-3);
}

#[test]
fn more_duplicates_than_the_perplexity_share_evenly() {
    // 25 copies of one sample among others far away: each has more equals than ξ asks for.
    let samples = Matrix::from_fn(100, 2, |i, j| if i < 25 { 0.0 } else { 20.0 + ((i * (7 + j)) % 31) as f32 });
    let neighbors = neighbors(&samples, 30);
    let solution = recipe(10.0).solve(&neighbors).expect("a solution");
    assert_optimal(&solution, &neighbors, 10.0, 1e-3);
    assert!(solution.inactive >= 25, "{} inactive", solution.inactive);
    let (columns, values) = solution.affinity.row(0);
    for (&j, &value) in columns.iter().zip(values) {
        let expected = if j < 25 { 1.0 / 24.0 } else { 0.0 };
        assert!((value - expected).abs() < 1e-4, "P[0, {j}] is {value}");
    }
}

/// The sample in the middle is the nearest of all others, which fill its row beyond the bound: its
/// temperature has to go to zero, or it shows in its neighbours.
#[test]
fn a_hub_comes_to_rest_near_zero() {
    let mut samples = cloud(60, 30, 23);
    samples.row_mut(0).fill(0.0);
    let neighbors = neighbors(&samples, 59);
    let solution = SymmetricEntropic { tolerance: 1e-7, ..recipe(10.0) }.solve(&neighbors).expect("a solution");
    assert_optimal(&solution, &neighbors, 10.0, 1e-5);
    assert!(solution.inactive >= 1 && solution.gap <= 1e-7, "{} {}", solution.inactive, solution.gap);
    assert!(solution.temperatures[0] < 1e-3 * solution.temperatures[1], "{:?}", &solution.temperatures[..2]);
}

#[test]
fn a_sample_far_from_all_others_is_served() {
    for distance in [1e2, 1e4, 1e6] {
        let mut samples = scattered(200, 3, 13);
        samples.row_mut(17).copy_from_slice(&[distance, -distance, 0.0]);
        let neighbors = neighbors(&samples, 30);
        let solution = recipe(10.0).solve(&neighbors).expect("a solution");
        assert!(solution.converged, "distance {distance}: {} {}", solution.row_sum_error, solution.entropy_error);
        let sum: f64 = solution.affinity.row(17).1.iter().map(|&v| f64::from(v)).sum();
        assert!((sum - 1.0).abs() < 1e-3, "distance {distance}: {sum}");
    }
}

#[test]
fn scale_does_not_matter() {
    let samples = scattered(120, 3, 17);
    let solve = |scale: f32| {
        let scaled = Matrix::from_fn(120, 3, |i, j| scale * samples[(i, j)]);
        recipe(10.0).solve(&neighbors(&scaled, 30)).expect("a solution")
    };
    let (small, large) = (solve(1e-12), solve(1e12));
    assert!(small.converged && large.converged);
    for i in 0..120 {
        let pairs = small.affinity.row(i).1.iter().zip(large.affinity.row(i).1);
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-3), "row {i}");
    }
}

#[test]
fn a_pattern_without_solution_is_reported() {
    // Samples 2 to 9 are paired with 0 and 1 only, whose rows have not the room for all of them.
    let indices = vec![1, 2, 0, 2, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1];
    let distances = (0..20).map(|d| 1.0 + 0.1 * d as f32).collect();
    let neighbors = Neighbors::new(2, indices, distances).expect("neighbours");
    let solution = recipe(1.5).solve(&neighbors).expect("an answer");
    assert!(!solution.converged && solution.is_infeasible, "{}", solution.row_sum_error);
    assert!(solution.steps < 20 && !solution.unsolved.is_empty(), "{} steps", solution.steps);
    // The entropic affinity takes its place, and the warning says so and why.
    let affinity = recipe(1.5).of_neighbors(&neighbors).expect("an affinity");
    let [warning] = &affinity.warnings[..] else { panic!("{:?}", affinity.warnings) };
    assert!(warning.is_inexact() && warning.to_string().contains("the same few neighbours"), "{warning}");
    assert!(warning.to_string().contains("rows ("), "{warning}");
    assert!(affinity.similarity.is_symmetric());
}

/// Cold rows beside warm ones: half of the samples a hundred million times closer together, heavy tails, groups of all
/// sizes and widths.
#[test]
fn temperatures_of_all_orders_are_solved_for() {
    let mixed = |scales: &[f32], each: usize, seed: u64| {
        let noise = cloud(scales.len() * each, 5, seed);
        Matrix::from_fn(scales.len() * each, 5, |i, j| scales[i / each] * noise[(i, j)])
    };
    let heavy = |seed: u64| {
        let (above, below) = (cloud(300, 10, seed), cloud(300, 10, seed + 100));
        Matrix::from_fn(300, 10, |i, j| above[(i, j)] / below[(i, j)])
    };
    let decades: Vec<f32> = (-6..=6).map(|decade| 10f32.powi(decade)).collect();
    for seed in 0..4 {
        for samples in [mixed(&[1e-8, 1.0], 46, seed), mixed(&decades, 25, seed), heavy(seed)] {
            let k = 90.min(samples.rows() - 1);
            let solution = recipe(30.0).solve(&neighbors(&samples, k)).expect("a solution");
            let worst = solution.row_sum_error.max(solution.entropy_error);
            // 1e-8 in squares is the precision of a double: multipliers of cold rows have no digit to spare.
            assert!(worst < 5e-3, "seed {seed}, {} rows: {worst:e} after {} steps", samples.rows(), solution.steps);
            assert!(solution.affinity.compressed_rows().2.iter().all(|p| (0.0..1.5).contains(p)));
        }
    }
}

/// Rows at equal distances from all others, many copies of one row, columns of zeros and ones.
#[test]
fn ties_have_a_solution() {
    let one_hot = Matrix::from_fn(500, 500, |i, j| f32::from(u8::from(i == j)));
    let categories = Matrix::from_fn(600, 12, |i, j| f32::from(u8::from((i * i + i / 7) % 12 == j)));
    let copies = Matrix::from_fn(400, 2, |i, j| if i < 200 { 0.5 } else { ((i * (7 + j)) % 31) as f32 });
    for samples in [one_hot, categories, copies] {
        let neighbors = neighbors(&samples, 90);
        let solution = recipe(30.0).solve(&neighbors).expect("a solution");
        assert_optimal(&solution, &neighbors, 30.0, 1e-3);
    }
}

/// Half of the way to where rows by themselves are solved never raises the dual, whatever it starts from.
#[test]
fn steps_of_rows_by_themselves_lower_the_dual() {
    for seed in 0..8 {
        let noise = cloud(80, 4, seed);
        let samples = Matrix::from_fn(80, 4, |i, j| 10f32.powi((i % 7) as i32 - 3) * noise[(i, j)]);
        let pattern = Pattern::new(&neighbors(&samples, 30)).expect("a pattern");
        let (Start { mut at, .. }, scale) = start(&pattern, 10.0).expect("a start");
        // Away from anything sensible.
        at.iter_mut().enumerate().for_each(|(i, at)| at[1] += ((i * 37) % 11) as f64 * at[0] - 5.0 * at[0]);
        let dual = Dual::new(&pattern, scale, 10.0);
        let floor: Vec<f64> = at.iter().map(|at| 0.03 * at[0]).collect();
        let value = |at: &[Pair]| {
            let mut here = dual.blank();
            dual.evaluate(at, &mut here, &mut dual.blank_entries());
            here.values.iter().sum::<f64>()
        };
        let mut before = value(&at);
        for round in 0..40 {
            match round % 2 {
                0 => dual.row_wise_step(&mut at, &floor),
                _ => _ = dual.balance(&mut at),
            }
            let after = value(&at);
            assert!(after <= before + 1e-10 * before.abs(), "seed {seed}, round {round}: {before} to {after}");
            before = after;
        }
    }
}

#[test]
fn building_warns_when_steps_run_out() {
    let samples = scattered(100, 3, 19);
    let build = |max_steps| SymmetricEntropic { max_steps, ..recipe(10.0) }.build(&samples).expect("an affinity");
    assert!(build(100).warnings.is_empty());
    let stopped = build(3).warnings;
    let [Warning::NotConverged { steps: 3, residual, rows }] = &stopped[..] else { panic!("{stopped:?}") };
    assert!(*residual > 1e-3 && rows.count > 0 && stopped[0].is_inexact(), "{residual} {rows}");
    assert!(matches!(build(0).warnings[..], [Warning::Replaced { is_infeasible: false, .. }]));
}

#[test]
fn bad_input_is_named() {
    let message = |recipe: SymmetricEntropic, samples: &Matrix<'_, f32>| {
        InputAffinity::build(&recipe, samples).map(|_| ()).expect_err("refused").to_string()
    };
    let samples = scattered(20, 3, 1);
    assert!(message(recipe(19.0), &samples).contains("perplexity is 19"));
    assert!(message(recipe(20.0), &samples).contains("perplexity is 20"));
    assert!(message(recipe(f64::NAN), &samples).contains("perplexity is NaN"));
    let never = SymmetricEntropic { tolerance: 0.0, ..recipe(5.0) };
    assert!(message(never, &samples).contains("tolerance is 0"));
    assert!(message(recipe(5.0), &Matrix::zeros(20, 3)).contains("all samples are equal"));
    let mut spoilt = scattered(20, 3, 1);
    spoilt[(4, 2)] = f32::INFINITY;
    assert!(message(recipe(5.0), &spoilt).contains("samples[4, 2] is inf"));
    let mut zero = scattered(20, 3, 1);
    zero.row_mut(6).fill(0.0);
    let cosine = SymmetricEntropic { metric: Metric::Cosine, ..recipe(5.0) };
    assert!(message(cosine, &zero).contains("norm of a sample is 0"));
}
