//! Every operator against the plain matrix it stands for, in one table.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::error::Error;
use crate::numeric::Scalar;
use crate::weights::SampleWeights;

/// An operator and the matrix it stands for, entries in \[0, 1\].
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) operator: Box<dyn Similarity>,
    pub(crate) matrix: Matrix<'static>,
}

fn uniform(rng: &mut Xoshiro256PlusPlus, rows: usize, columns: usize) -> Matrix<'static> {
    Matrix::from_fn(rows, columns, |_, _| rng.random::<f64>())
}

fn product(a: &Matrix<'_>, b: &Matrix<'_>) -> Matrix<'static> {
    Matrix::from_fn(a.rows(), b.rows(), |i, j| a.row(i).iter().zip(b.row(j)).map(|(x, y)| x * y).sum())
}

/// The numbers that single precision keeps, and the same again in double.
fn rounded(matrix: &Matrix<'_>) -> (Matrix<'static, f32>, Matrix<'static>) {
    let single = matrix.single().into_owned();
    let double = Matrix::from_fn(matrix.rows(), matrix.columns(), |i, j| f64::from(single[(i, j)]));
    (single, double)
}

fn sparse_of<S: Scalar>(matrix: &Matrix<'_, S>) -> Sparse<'static, S> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..matrix.rows() {
        for (j, &value) in matrix.row(i).iter().enumerate().filter(|(_, v)| v.to_f64() != 0.0) {
            columns.push(j as u32);
            values.push(value);
        }
        offsets.push(columns.len());
    }
    Sparse::new(offsets, columns, values).unwrap()
}

/// Leaves a sum its parts for as long as the test runs.
fn leak<T: Similarity + 'static>(operator: T) -> &'static dyn Similarity {
    Box::leak(Box::new(operator))
}

/// A·Bᵀ, or A·Aᵀ.
fn low_rank_of<S: Scalar>(left: Matrix<'static, S>, right: Matrix<'static, S>, symmetric: bool) -> LowRank<'static, S> {
    if symmetric { LowRank::symmetric(left) } else { LowRank::new(left, right) }.unwrap()
}

/// The table: every operator, in single and double precision, symmetric or not.
pub(crate) fn cases(seed: u64, samples: usize, symmetric: bool) -> Vec<Case> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rank = 3;
    let left = uniform(&mut rng, samples, rank);
    let right = if symmetric { left.clone() } else { uniform(&mut rng, samples, rank) };
    let scale = 1.0 / rank as f64;
    let scaled = |m: &Matrix<'_>| Matrix::from_fn(m.rows(), m.columns(), |i, j| m[(i, j)] * scale.sqrt());
    let (left, right) = (scaled(&left), scaled(&right));
    let full = product(&left, &right);
    let keep: Vec<bool> = (0..samples * samples).map(|_| rng.random::<f64>() < 0.5).collect();
    let holes = Matrix::from_fn(samples, samples, |i, j| {
        let (a, b) = if symmetric { (i.min(j), i.max(j)) } else { (i, j) };
        if keep[a * samples + b] { full[(i, j)] } else { 0.0 }
    });
    let ((single_left, left_kept), (single_right, right_kept)) = (rounded(&left), rounded(&right));
    let ((single, kept), (single_holes, holes_kept)) = (rounded(&full), rounded(&holes));
    let of_kept = product(&left_kept, &right_kept);
    let sum = Matrix::from_fn(samples, samples, |i, j| 0.3 * full[(i, j)] + 0.6 * holes[(i, j)]);
    let parts = vec![(0.3, leak(Dense::new(full.clone()).unwrap())), (0.6, leak(sparse_of(&holes)))];
    let case =
        |name, operator: Box<dyn Similarity>, matrix: &Matrix<'static>| Case { name, operator, matrix: matrix.clone() };
    vec![
        case("dense", Box::new(Dense::new(full.clone()).unwrap()), &full),
        case("low-rank", Box::new(low_rank_of(left, right, symmetric)), &full),
        case("sparse, all entries", Box::new(sparse_of(&full)), &full),
        case("sparse", Box::new(sparse_of(&holes)), &holes),
        case("single dense", Box::new(Dense::new(single).unwrap()), &kept),
        case("single low-rank", Box::new(low_rank_of(single_left, single_right, symmetric)), &of_kept),
        case("single sparse", Box::new(sparse_of(&single_holes)), &holes_kept),
        case("sum", Box::new(WeightedSum::new(parts).unwrap()), &sum),
    ]
}

/// Weights that differ, one of them zero.
pub(crate) fn uneven_weights(samples: usize) -> SampleWeights {
    let weights: Vec<f64> = (0..samples).map(|i| (i % 4) as f64 + if i == 0 { 0.0 } else { 0.5 }).collect();
    SampleWeights::new(&weights).unwrap()
}

pub(crate) fn as_matrix(plan: &Plan) -> Matrix<'static> {
    let mut dense = Matrix::zeros(plan.len(), plan.prototypes());
    for i in 0..plan.len() {
        plan.row(i).iter().for_each(|(k, mass)| dense[(i, k)] += mass);
    }
    dense
}

fn all_rows(case: &Case, sketch: &dyn Sketch, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; case.matrix.rows() * n];
    sketch.product_rows(0..case.matrix.rows(), &mut out);
    out
}

fn expected_rows(matrix: &Matrix<'_>, plan: &Plan, side: Side) -> Vec<f64> {
    let matrix = if side == Side::Direct { matrix.clone() } else { matrix.transposed() };
    product(&matrix, &as_matrix(plan).transposed()).values().to_vec()
}

fn assert_close(case: &Case, what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() < 1e-13, "{} {what}: {f} is not {e}", case.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn products_are_those_of_the_matrix(
        seed in 0u64..1000, samples in 4usize..24, n in 1usize..5, symmetric: bool, soft: bool,
    ) {
        let weights = uneven_weights(samples);
        let plan = if soft { Plan::random(n, weights, seed) } else { Plan::random_labels(n, weights, seed) }.unwrap();
        for case in cases(seed, samples, symmetric) {
            prop_assert_eq!(case.operator.is_symmetric(), symmetric, "{}", case.name);
            prop_assert_eq!(case.operator.len(), samples);
            for side in [Side::Direct, Side::Transposed] {
                let sketch = case.operator.sketch(&plan, side);
                assert_close(&case, "product", &all_rows(&case, &*sketch, n), &expected_rows(&case.matrix, &plan, side));
            }
            let sketch = case.operator.sketch(&plan, Side::Direct);
            let mass = sketch.plan_mass(&plan);
            let dense = as_matrix(&plan).transposed();
            assert_close(&case, "mass", mass.values(), product(&product(&dense, &case.matrix.transposed()), &dense).values());
        }
    }

    #[test]
    fn thin_products_are_those_of_the_matrix(
        seed in 0u64..1000, samples in 1usize..24, columns in 0usize..20, symmetric: bool,
    ) {
        let x = uniform(&mut Xoshiro256PlusPlus::seed_from_u64(seed + 1), samples, columns);
        for case in cases(seed, samples, symmetric) {
            for (side, matrix) in [(Side::Direct, case.matrix.clone()), (Side::Transposed, case.matrix.transposed())] {
                let found = case.operator.times(&x, side);
                prop_assert_eq!((found.rows(), found.columns()), (samples, columns));
                assert_close(&case, "thin product", found.values(), product(&matrix, &x.transposed()).values());
            }
        }
    }

    #[test]
    fn sketches_follow_moves_and_blends(
        seed in 0u64..1000, symmetric: bool, gamma in 0.0..1.0f64, sample in 0usize..9, to in 0u32..3,
    ) {
        let (samples, n) = (9, 3);
        let plan = Plan::random(n, uneven_weights(samples), seed).unwrap();
        let hard = Plan::random_labels(n, uneven_weights(samples), seed + 1).unwrap();
        for case in cases(seed, samples, symmetric) {
            for side in [Side::Direct, Side::Transposed] {
                let mut sketch = case.operator.sketch(&plan, side);
                sketch.blend(gamma, &*case.operator.sketch(&hard, side));
                let mut now = plan.clone();
                now.blend(gamma, &hard.labels());
                assert_close(&case, "blend", &all_rows(&case, &*sketch, n), &expected_rows(&case.matrix, &now, side));
                sketch.reassign(sample, now.row(sample), to);
                let mut moved = now.clone();
                moved.assign(sample, to);
                assert_close(&case, "move", &all_rows(&case, &*sketch, n), &expected_rows(&case.matrix, &moved, side));
            }
        }
    }

    #[test]
    fn sketches_follow_new_labels(seed in 0u64..1000, symmetric: bool, changes in 0usize..9, soft: bool) {
        let (samples, n) = (9, 3);
        let before = Plan::random_labels(n, uneven_weights(samples), seed).unwrap();
        let mut labels = before.labels();
        labels.iter_mut().take(changes).for_each(|label| *label = (*label + 1) % n as u32);
        let after = before.relabelled(&labels);
        for case in cases(seed, samples, symmetric) {
            for side in [Side::Direct, Side::Transposed] {
                let mut sketch = case.operator.sketch(&before, side);
                if soft {
                    sketch.numbers_mut();
                }
                sketch.reassign_all(&before, &labels);
                assert_close(&case, "labels", &all_rows(&case, &*sketch, n), &expected_rows(&case.matrix, &after, side));
            }
        }
    }

    #[test]
    fn constants_bounds_and_diagonals_are_those_of_the_matrix(seed in 0u64..1000, samples in 1usize..12, symmetric: bool) {
        let weights = uneven_weights(samples.max(2));
        for case in cases(seed, samples.max(2), symmetric) {
            let bounds = case.operator.bounds();
            for i in 0..case.matrix.rows() {
                assert_close(&case, "diagonal", &[case.operator.diagonal(i)], &[case.matrix[(i, i)]]);
                for &value in case.matrix.row(i) {
                    prop_assert!(bounds.low.value <= value + 1e-15 && value <= bounds.high.value + 1e-15);
                }
            }
            for loss in [Loss::Square, Loss::Kl, Loss::BinaryCrossEntropy] {
                let term = |i: usize, j: usize| loss.f1(case.matrix[(i, j)]) * weights[i] * weights[j];
                let n = case.matrix.rows();
                let expected: f64 = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| term(i, j)).sum();
                if let Some(found) = case.operator.constant(loss, &weights) {
                    assert_close(&case, "constant", &[found], &[expected]);
                }
            }
        }
    }
}

#[test]
fn blocks_do_not_show_in_products() {
    // More samples than a block, in single and in double precision, hard and soft.
    let samples = 2 * BLOCK + 37;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let factor = uniform(&mut rng, samples, 2);
    let single = Matrix::from_fn(samples, samples, |i, j| {
        (factor[(i, 0)] * factor[(j, 0)] + factor[(i, 1)] * factor[(j, 1)]) as f32
    });
    let double = Matrix::from_fn(samples, samples, |i, j| f64::from(single[(i, j)]));
    let single = Dense::new(single).unwrap();
    let double = Dense::new(double).unwrap();
    let weights = uneven_weights(samples);
    for plan in [Plan::random(4, weights.clone(), 1).unwrap(), Plan::random_labels(5, weights, 1).unwrap()] {
        let n = plan.prototypes();
        let (of_single, of_double) = (single.sketch(&plan, Side::Direct), double.sketch(&plan, Side::Direct));
        for i in [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 36] {
            let expected: Vec<f64> = (0..n)
                .map(|k| {
                    let of = |j| double.source(Side::Direct)[(i, j)] * as_entry(&plan, j, k);
                    (0..samples).map(of).sum()
                })
                .collect();
            for sketch in [&of_single, &of_double] {
                let mut row = vec![0.0; n];
                sketch.product_rows(i..i + 1, &mut row);
                for (found, expected) in row.iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-12, "row {i}: {found} is not {expected}");
                }
            }
        }
    }
}

/// More samples than a block and than the rows that are multiplied at once.
#[test]
fn threads_and_blocks_do_not_show_in_thin_products() {
    let samples = BLOCK + 37;
    let x = uniform(&mut Xoshiro256PlusPlus::seed_from_u64(7), samples, 11);
    for case in cases(3, samples, false) {
        for (side, matrix) in [(Side::Direct, case.matrix.clone()), (Side::Transposed, case.matrix.transposed())] {
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| case.operator.times(&x, side))
            };
            let one = with(1);
            assert!(one == with(2) && one == with(4), "{}", case.name);
            for (found, expected) in one.values().iter().zip(product(&matrix, &x.transposed()).values()) {
                assert!((found - expected).abs() < 1e-11, "{}: {found} is not {expected}", case.name);
            }
        }
    }
}

fn as_entry(plan: &Plan, j: usize, k: usize) -> f64 {
    plan.row(j).iter().filter(|&(l, _)| l == k).map(|(_, mass)| mass).sum()
}

#[test]
fn wrong_matrices_are_refused_and_the_entry_named() {
    let dense = |values: Vec<f64>| Dense::new(Matrix::new(values, 2, 2).unwrap());
    assert!(matches!(
        dense(vec![1.0, 0.0, f64::NAN, 1.0]),
        Err(Error::NotFinite { what: "similarity", row: 1, column: 0, .. })
    ));
    assert!(matches!(dense(vec![f64::INFINITY; 4]), Err(Error::NotFinite { row: 0, column: 0, .. })));
    assert!(matches!(Dense::new(Matrix::new(vec![1.0; 6], 2, 3).unwrap()), Err(Error::Shape { .. })));
    assert!(Dense::new(Matrix::<f64>::zeros(0, 0)).is_err());
    assert!(Matrix::new(vec![1.0; 5], 2, 3).is_err());
    assert!(LowRank::new(Matrix::<f64>::zeros(3, 2), Matrix::zeros(2, 2)).is_err());
    assert!(LowRank::new(Matrix::<f64>::zeros(3, 2), Matrix::zeros(3, 1)).is_err());
    assert!(LowRank::symmetric(Matrix::<f64>::zeros(3, 0)).is_err());
    assert!(matches!(
        LowRank::symmetric(Matrix::new(vec![1.0, f64::NAN], 2, 1).unwrap()),
        Err(Error::NotFinite { what: "factor", row: 1, column: 0, .. })
    ));
}

#[test]
fn wrong_sparse_rows_are_refused_and_the_row_named() {
    let sparse = |offsets: Vec<usize>, columns: Vec<u32>, values: Vec<f32>| Sparse::new(offsets, columns, values);
    assert!(sparse(vec![0], vec![], vec![]).is_err());
    assert!(sparse(vec![0, 2, 1], vec![0, 1], vec![1.0; 2]).is_err());
    assert!(sparse(vec![0, 5, 2], vec![0, 1], vec![1.0; 2]).is_err());
    assert!(sparse(vec![1, 1, 2], vec![0, 1], vec![1.0; 2]).is_err());
    assert!(sparse(vec![0, 1, 2], vec![0], vec![1.0; 2]).is_err());
    assert!(matches!(sparse(vec![0, 0, 1], vec![2], vec![1.0]), Err(Error::Sparse { row: 1, .. })));
    assert!(matches!(sparse(vec![0, 2, 2], vec![1, 0], vec![1.0; 2]), Err(Error::Sparse { row: 0, .. })));
    assert!(matches!(sparse(vec![0, 2, 2], vec![1, 1], vec![1.0; 2]), Err(Error::Sparse { row: 0, .. })));
    assert!(matches!(sparse(vec![0, 0, 1], vec![0], vec![f32::NAN]), Err(Error::NotFinite { row: 1, column: 0, .. })));
}

#[test]
fn sums_know_what_their_parts_know() {
    let gram = LowRank::symmetric(Matrix::new(vec![1.0, 2.0, 3.0], 3, 1).unwrap()).unwrap();
    let plain = Dense::new(Matrix::<f64>::zeros(3, 3)).unwrap();
    let small = Dense::new(Matrix::<f64>::zeros(2, 2)).unwrap();
    let sum = |parts: Vec<(f64, &'static dyn Similarity)>| WeightedSum::new(parts);
    let (gram, plain, small) = (leak(gram), leak(plain), leak(small));
    assert_eq!(sum(vec![(0.5, gram), (2.0, gram)]).unwrap().definiteness(), Definiteness::Psd);
    assert_eq!(sum(vec![(0.5, gram), (2.0, plain)]).unwrap().definiteness(), Definiteness::Unknown);
    assert!(sum(vec![]).is_err());
    assert!(sum(vec![(1.0, gram), (1.0, small)]).is_err());
    assert!(sum(vec![(-1.0, gram)]).is_err());
    assert!(sum(vec![(f64::NAN, gram)]).is_err());
}
