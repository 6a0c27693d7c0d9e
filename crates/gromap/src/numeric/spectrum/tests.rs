//! Eigenpairs against the whole decomposition, and against spectra that are known.

use std::f64::consts::PI;

use rand::RngExt;

use super::*;
use crate::similarity::{Dense, LowRank, Sparse};

fn rng(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// Entries around zero: half the eigenvalues are negative.
fn indefinite(seed: u64, size: usize) -> Matrix<'static> {
    let half = random_columns(size, size, &mut rng(seed));
    Matrix::from_fn(size, size, |i, j| half[(i, j)] + half[(j, i)])
}

/// A thin factor whose columns matter less and less.
fn factor(seed: u64, size: usize, rank: usize) -> Matrix<'static> {
    let columns = random_columns(size, rank, &mut rng(seed));
    Matrix::from_fn(size, rank, |i, j| columns[(i, j)] * 0.8f64.powi(j as i32))
}

fn times(matrix: &Matrix<'_>) -> impl Fn(&Matrix<'_>) -> Matrix<'static> {
    move |x| combined(matrix, x)
}

/// Rings of `lengths` samples, each joined to two neighbours of its own ring.
fn rings(lengths: &[usize]) -> Sparse<'static, f64> {
    let (mut offsets, mut columns, mut first) = (vec![0], Vec::new(), 0);
    for &length in lengths {
        for i in 0..length {
            let mut row = [(first + (i + 1) % length) as u32, (first + (i + length - 1) % length) as u32];
            row.sort_unstable();
            columns.extend(row);
            offsets.push(columns.len());
        }
        first += length;
    }
    let values = vec![1.0; columns.len()];
    Sparse::new(offsets, columns, values).unwrap()
}

/// Descending values, orthonormal vectors, small residuals, signs as promised.
fn assert_eigenpairs(operator: Operator<'_>, found: &Eigenpairs, expected: &[f64], tolerance: f64) {
    let wanted = expected.len();
    assert_eq!((found.values.len(), found.vectors.columns()), (wanted, wanted));
    assert!(found.values.windows(2).all(|pair| pair[0] >= pair[1]));
    for (value, expected) in found.values.iter().zip(expected) {
        assert!((value - expected).abs() <= tolerance, "{:?} are not {expected:?}", found.values);
    }
    let products = gram(&found.vectors, &found.vectors);
    for a in 0..wanted {
        for b in 0..wanted {
            let expected = if a == b { 1.0 } else { 0.0 };
            assert!((products[(a, b)] - expected).abs() < 1e-12, "vectors {a}, {b}");
        }
    }
    let worst = residuals(&operator(&found.vectors), &found.vectors, &found.values).into_iter().fold(0.0, f64::max);
    assert!(worst <= tolerance, "residual {worst}");
    assert!((worst - found.residual).abs() <= 1e-3 * tolerance, "{worst} is reported as {}", found.residual);
    for c in 0..wanted {
        let entry = |i: usize| found.vectors[(i, c)];
        let largest =
            (0..found.vectors.rows()).fold(0, |best, i| if entry(i).abs() > entry(best).abs() { i } else { best });
        assert!(entry(largest) > 0.0, "the sign of vector {c}");
    }
}

fn search(low: Option<f64>) -> Search {
    Search { low, ..Search::default() }
}

/// Beyond the size that is decomposed as a whole, and below.
#[test]
fn random_matrices_have_the_eigenpairs_of_their_decomposition() {
    for (size, wanted) in [(600, 7), (420, 1), (300, 20), (257, 3), (100, 30), (90, 90)] {
        let matrix = indefinite(size as u64, size);
        let operator = times(&matrix);
        let (values, _) = symmetric_eigen(&matrix).unwrap();
        let found = leading_eigenpairs(&operator, size, wanted, &search(None)).unwrap();
        assert_eigenpairs(&operator, &found, &values[..wanted], 1e-9 * values[0]);
    }
}

/// The largest in size are negative: they are not what is asked for.
#[test]
fn the_largest_are_meant_by_value_and_not_by_size() {
    let factor = factor(3, 500, 6);
    let gram_of = LowRank::symmetric(factor.clone()).unwrap();
    let small = symmetric_eigen(&gram(&factor, &factor)).unwrap().0;
    let operator = |x: &Matrix<'_>| {
        let mut image = gram_of.times(x, Side::Direct);
        image.values_mut().iter_mut().for_each(|v| *v *= -1.0);
        (0..500)
            .for_each(|i| image.row_mut(i).iter_mut().zip(x.row(i)).for_each(|(y, x)| *y += (i % 3) as f64 * 1e-2 * x));
        image
    };
    let found = leading_eigenpairs(&operator, 500, 4, &search(None)).unwrap();
    assert!(small[0] > 10.0);
    // 166 samples share the value 0.02, of which six directions may be taken.
    assert_eigenpairs(&operator, &found, &[2e-2; 4], 1e-9);
}

#[test]
fn operators_of_low_rank_have_vectors_beyond_their_rank() {
    for (rank, wanted, low) in [(3, 8, None), (3, 8, Some(0.0)), (12, 12, None), (12, 5, Some(0.0)), (1, 1, None)] {
        let factor = factor(rank as u64, 700, rank);
        let gram_of = LowRank::symmetric(factor.clone()).unwrap();
        let operator = |x: &Matrix<'_>| gram_of.times(x, Side::Direct);
        let mut values = symmetric_eigen(&gram(&factor, &factor)).unwrap().0;
        values.resize(wanted.max(rank), 0.0);
        let found = leading_eigenpairs(&operator, 700, wanted, &search(low)).unwrap();
        assert_eigenpairs(&operator, &found, &values[..wanted], 1e-9 * values[0]);
    }
}

#[test]
fn a_zero_operator_has_orthonormal_vectors() {
    for size in [1, 5, 900] {
        let operator = |x: &Matrix<'_>| Matrix::zeros(x.rows(), x.columns());
        let found = leading_eigenpairs(&operator, size, 4.min(size), &search(None)).unwrap();
        assert_eigenpairs(&operator, &found, &vec![0.0; 4.min(size)], 0.0);
    }
}

/// The eigenvalues of a ring of N are 2·cos(2πk/N), each but the ends twice.
#[test]
fn the_tiny_gaps_of_a_ring_are_resolved() {
    let size = 2000;
    let ring = rings(&[size]);
    let expected: Vec<f64> =
        (0..9).map(|k: usize| 2.0 * (2.0 * PI * k.div_ceil(2) as f64 / size as f64).cos()).collect();
    let found = leading_of_similarity(&ring, None, 9).unwrap();
    assert!(expected[1] - expected[3] < 3e-5);
    // An eigenvalue is off by at most the square of its residual over the gap.
    for (value, expected) in found.values.iter().zip(&expected) {
        assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
    }
    assert_eigenpairs(&|x| ring.times(x, Side::Direct), &found, &expected, 2e-9);
}

/// I + the normalised graph of a path, with its known eigenvalues 1 + cos(πk/(N − 1)).
#[test]
fn the_tiny_gaps_of_a_path_are_resolved() {
    let size = 1500;
    let degree = |i: usize| if i == 0 || i == size - 1 { 1.0f64 } else { 2.0 };
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..size {
        for j in i.saturating_sub(1)..(i + 2).min(size) {
            columns.push(j as u32);
            values.push(if i == j { 1.0 } else { 1.0 / (degree(i) * degree(j)).sqrt() });
        }
        offsets.push(columns.len());
    }
    let path = Sparse::new(offsets, columns, values).unwrap().with_definiteness(Definiteness::Psd);
    let expected: Vec<f64> = (0..10).map(|k| 1.0 + (PI * k as f64 / (size - 1) as f64).cos()).collect();
    let found = leading_of_similarity(&path, None, 10).unwrap();
    assert_eigenpairs(&|x| path.times(x, Side::Direct), &found, &expected, 2e-9);
}

/// A graph in pieces has its largest eigenvalue once for each, here also more often than the block has
/// vectors.
#[test]
fn equal_eigenvalues_are_found_as_often_as_they_occur() {
    let pieces = rings(&[100, 150, 200, 250]);
    let found = leading_of_similarity(&pieces, None, 7).unwrap();
    let second = |length: f64| 2.0 * (2.0 * PI / length).cos();
    let expected = [2.0, 2.0, 2.0, 2.0, second(250.0), second(250.0), second(200.0)];
    assert_eigenpairs(&|x| pieces.times(x, Side::Direct), &found, &expected, 2e-9);
    let many = rings(&[40; 50]);
    let found = leading_of_similarity(&many, None, 5).unwrap();
    assert_eigenpairs(&|x| many.times(x, Side::Direct), &found, &[2.0; 5], 2e-9);
}

#[test]
fn tiny_operators_are_decomposed_as_a_whole() {
    for size in 1..=5 {
        let matrix = indefinite(size as u64, size);
        let operator = times(&matrix);
        let (values, _) = symmetric_eigen(&matrix).unwrap();
        for wanted in 1..=size {
            let found = leading_eigenpairs(&operator, size, wanted, &search(None)).unwrap();
            assert_eigenpairs(&operator, &found, &values[..wanted], 1e-13);
        }
    }
}

/// D^{1/2}·C·D^{1/2}, entry by entry.
#[test]
fn weights_scale_both_sides() {
    let size = 400;
    let matrix = indefinite(9, size);
    let mut random = rng(10);
    let weights: Vec<f64> =
        (0..size).map(|i| if i == 3 { 0.0 } else { random.random::<f64>() / size as f64 }).collect();
    let scaled = Matrix::from_fn(size, size, |i, j| (weights[i] * weights[j]).sqrt() * matrix[(i, j)]);
    let (values, _) = symmetric_eigen(&scaled).unwrap();
    let found = leading_of_similarity(&Dense::new(matrix).unwrap(), Some(&weights), 5).unwrap();
    assert_eigenpairs(&times(&scaled), &found, &values[..5], 1e-9 * values[0]);
    assert!(found.vectors.row(3).iter().all(|v| v.abs() < 1e-9));
}

#[test]
fn a_lopsided_similarity_stands_for_its_symmetric_part() {
    let matrix = random_columns(300, 300, &mut rng(12));
    let even = Matrix::from_fn(300, 300, |i, j| 0.5 * (matrix[(i, j)] + matrix[(j, i)]));
    let (values, _) = symmetric_eigen(&even).unwrap();
    let found = leading_of_similarity(&Dense::new(matrix).unwrap(), None, 4).unwrap();
    assert_eigenpairs(&times(&even), &found, &values[..4], 1e-9 * values[0]);
}

#[test]
fn threads_change_no_byte() {
    let ring = rings(&[3000, 1000]);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let search = Search { max_rounds: 4, ..Search::default() };
        pool.install(|| leading_eigenpairs(&|x| ring.times(x, Side::Direct), 4000, 6, &search).unwrap())
    };
    let one = with(1);
    assert!(one == with(2) && one == with(4));
}

/// Out of rounds, the best there is comes with the residual it has.
#[test]
fn running_out_of_rounds_is_reported() {
    let ring = rings(&[2000]);
    let operator = |x: &Matrix<'_>| ring.times(x, Side::Direct);
    let hasty = Search { max_rounds: 1, ..Search::default() };
    let found = leading_eigenpairs(&operator, 2000, 3, &hasty).unwrap();
    assert!(found.residual > 2e-9);
    let worst = residuals(&operator(&found.vectors), &found.vectors, &found.values).into_iter().fold(0.0, f64::max);
    assert!((found.residual - worst).abs() < 1e-9);
}

/// A bound that does not hold is noticed.
#[test]
fn a_wrong_bound_only_costs_time() {
    let matrix = indefinite(11, 500);
    let (values, _) = symmetric_eigen(&matrix).unwrap();
    let operator = times(&matrix);
    let found = leading_eigenpairs(&operator, 500, 3, &search(Some(0.0))).unwrap();
    assert_eigenpairs(&operator, &found, &values[..3], 1e-9 * values[0]);
}

#[test]
fn wrong_input_is_refused() {
    let operator = |x: &Matrix<'_>| x.clone().into_owned();
    for wanted in [0, 6] {
        let error = leading_eigenpairs(&operator, 5, wanted, &search(None)).unwrap_err();
        assert!(matches!(error, Error::Parameter { name: "number of eigenvectors", .. }), "{error}");
    }
    for size in [5, 600] {
        let broken = |x: &Matrix<'_>| Matrix::from_fn(x.rows(), x.columns(), |_, _| f64::NAN);
        assert!(matches!(leading_eigenpairs(&broken, size, 2, &search(None)), Err(Error::NotFinite { .. })));
    }
    let even = Dense::new(Matrix::<f64>::zeros(2, 2)).unwrap();
    assert!(leading_of_similarity(&even, Some(&[1.0]), 1).is_err());
}
