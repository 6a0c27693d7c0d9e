//! The leading eigenpairs of a symmetric operator that can only be multiplied: A·v = λ·v for the
//! largest λ, by their value and not by their size.
//!
//! A block of more vectors than are wanted is multiplied by a polynomial of A that is small on the
//! eigenvalues to be left behind, `[low, cut]`, and grows as fast as any polynomial can above them
//! (Chebyshev's, [`filter`]):
//!
//! ```text
//! X ← orthonormal basis of p(A)·X,    XᵀAX = U·Θ·Uᵀ,    X ← X·U
//! ```
//!
//! until ‖A·x − θ·x‖ is small for every wanted pair. Eigenvalues that are nearly equal, as those of
//! the graphs of Laplacian eigenmaps, cost the square root of what a plain power would need; equal
//! ones (a graph in pieces) are found as often as they occur, because the block holds a random vector
//! for each. Everything is a product with A or with a thin matrix: no N×N matrix is formed, except
//! that of a small operator, which is decomposed as a whole.

mod filter;
#[cfg(test)]
mod tests;
mod thin;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use self::filter::Filter;
use self::thin::{combined, gram, orthonormal, random_columns, residuals};
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::eigen::{fix_sign, symmetric_eigen};
use crate::similarity::{Definiteness, Side, Similarity};

/// Operators up to this size are decomposed as a whole.
const SMALL: usize = 256;

/// Columns of the identity by which a small operator is multiplied at once.
const PIECE: usize = 64;

/// Steps that the lowest eigenvalue is estimated by.
const STEPS: usize = 12;

/// The residual that a start is content with, relative to the largest eigenvalue, and the rounds that it is worth.
const ROUGH: f64 = 1e-3;
const ROUGH_ROUNDS: usize = 10;

/// What rounding leaves of a residual, relative to the size of the operator.
const ROUNDING: f64 = 1e-13;

/// A symmetric operator: its product with a thin matrix.
pub(crate) type Operator<'a> = &'a dyn Fn(&Matrix<'_>) -> Matrix<'static>;

/// When eigenpairs are good enough, and where the search starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Search {
    /// ‖A·v − λ·v‖ of every pair, relative to the largest eigenvalue.
    pub(crate) rel_tolerance: f64,
    /// Times the block is filtered, at most.
    pub(crate) max_rounds: usize,
    /// A number that no eigenvalue lies below, if one is known.
    pub(crate) low: Option<f64>,
    /// Seed of the first block.
    pub(crate) seed: u64,
}

impl Default for Search {
    fn default() -> Self {
        Self { rel_tolerance: 1e-9, max_rounds: 100, low: None, seed: 0 }
    }
}

/// Eigenvalues and eigenvectors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Eigenpairs {
    /// The largest eigenvalues, descending.
    pub(crate) values: Vec<f64>,
    /// Their eigenvectors as columns, orthonormal, N×wanted; the entry of largest size of each is
    /// positive.
    pub(crate) vectors: Matrix<'static>,
    /// The largest ‖A·v − λ·v‖: above what was asked for only when the rounds ran out.
    pub(crate) residual: f64,
}

/// The `wanted` largest eigenvalues of a symmetric operator on `size` numbers, and their eigenvectors.
pub(crate) fn leading_eigenpairs(
    operator: Operator<'_>,
    size: usize,
    wanted: usize,
    search: &Search,
) -> Result<Eigenpairs> {
    if wanted == 0 || wanted > size {
        let allowed = format!("from 1 to {size}, the size of the operator");
        return Err(Error::parameter("number of eigenvectors", wanted as f64, allowed));
    }
    let operator = &|x: &Matrix<'_>| {
        crate::interrupt::look();
        operator(x)
    };
    // The more vectors beyond those wanted, the faster the wanted ones converge.
    let width = (wanted + (wanted / 2).max(6)).next_multiple_of(8);
    if size <= SMALL || 3 * width > size {
        return of_small(operator, size, wanted);
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(search.seed);
    let mut low = match search.low {
        Some(low) => low,
        None => lowest(operator, size, &mut rng)?,
    };
    let start = random_columns(size, width, &mut rng);
    let mut block = Block::new(operator, orthonormal(start, &mut rng)?)?;
    let mut round = 0;
    loop {
        let residual = block.residual(wanted);
        let (top, bottom) = (block.values[0], block.values[width - 1]);
        let largest = top.abs().max(low.abs());
        if round == search.max_rounds || residual <= (search.rel_tolerance * top.abs()).max(ROUNDING * largest) {
            return Ok(block.leading(wanted, residual));
        }
        // A block that holds something below the bound shows that the bound was too high.
        if bottom < low {
            low = bottom - 0.1 * (top - bottom);
        }
        let filtered = Filter::new(low, &block.values, wanted).apply(operator, block);
        block = Block::new(operator, orthonormal(filtered, &mut rng)?)?;
        round += 1;
    }
}

/// The leading eigenpairs of D^{1/2}·C·D^{1/2}, D holding the weights of the samples, or of C itself;
/// where C is not symmetric, of ½·(C + Cᵀ).
pub(crate) fn leading_of_similarity(
    similarity: &dyn Similarity,
    weights: Option<&[f64]>,
    wanted: usize,
) -> Result<Eigenpairs> {
    leading_by(similarity, weights, wanted, Search::default())
}

/// The same to two digits or so, as good as any others to start a descent from.
pub(crate) fn roughly_leading_of_similarity(
    similarity: &dyn Similarity,
    weights: &[f64],
    wanted: usize,
) -> Result<Eigenpairs> {
    let search = Search { rel_tolerance: ROUGH, max_rounds: ROUGH_ROUNDS, ..Search::default() };
    leading_by(similarity, Some(weights), wanted, search)
}

fn leading_by(
    similarity: &dyn Similarity,
    weights: Option<&[f64]>,
    wanted: usize,
    search: Search,
) -> Result<Eigenpairs> {
    let low = (similarity.definiteness() == Definiteness::Psd).then_some(0.0);
    let search = Search { low, ..search };
    let times = |x: &Matrix<'_>| {
        let mut product = similarity.times(x, Side::Direct);
        if !similarity.is_symmetric() {
            let other = similarity.times(x, Side::Transposed);
            product.values_mut().iter_mut().zip(other.values()).for_each(|(a, b)| *a = 0.5 * (*a + b));
        }
        product
    };
    let Some(weights) = weights else { return leading_eigenpairs(&times, similarity.len(), wanted, &search) };
    Error::check_len("number of sample weights", similarity.len(), weights.len())?;
    let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
    let scaled = |x: &Matrix<'_>| Matrix::from_fn(x.rows(), x.columns(), |i, j| roots[i] * x[(i, j)]);
    let operator = |x: &Matrix<'_>| scaled(&times(&scaled(x)));
    leading_eigenpairs(&operator, similarity.len(), wanted, &search)
}

/// Vectors that the operator stretches by `values` among themselves, descending: XᵀAX is diagonal.
struct Block {
    vectors: Matrix<'static>,
    /// A·X
    image: Matrix<'static>,
    values: Vec<f64>,
}

impl Block {
    /// Turns an orthonormal basis (Rayleigh-Ritz).
    fn new(operator: Operator<'_>, basis: Matrix<'static>) -> Result<Self> {
        let image = operator(&basis);
        let (values, turn) = symmetric_eigen(&gram(&basis, &image))?;
        let turn = turn.transposed();
        Ok(Self { vectors: combined(&basis, &turn), image: combined(&image, &turn), values })
    }

    /// The largest ‖A·x − θ·x‖ of the first `wanted`.
    fn residual(&self, wanted: usize) -> f64 {
        residuals(&self.image, &self.vectors, &self.values).into_iter().take(wanted).fold(0.0, f64::max)
    }

    fn leading(self, wanted: usize, residual: f64) -> Eigenpairs {
        let mut rows = self.vectors.transposed();
        (0..wanted).for_each(|c| fix_sign(rows.row_mut(c)));
        let vectors = Matrix::from_fn(self.vectors.rows(), wanted, |i, c| rows[(c, i)]);
        Eigenpairs { values: self.values[..wanted].to_vec(), vectors, residual }
    }
}

/// Multiplies the identity, then decomposes the matrix.
fn of_small(operator: Operator<'_>, size: usize, wanted: usize) -> Result<Eigenpairs> {
    let mut matrix = Matrix::zeros(size, size);
    for first in (0..size).step_by(PIECE) {
        let width = PIECE.min(size - first);
        let image = operator(&Matrix::from_fn(size, width, |i, j| if i == first + j { 1.0 } else { 0.0 }));
        (0..size).for_each(|i| matrix.row_mut(i)[first..first + width].copy_from_slice(image.row(i)));
    }
    let (values, turn) = symmetric_eigen(&matrix)?;
    let vectors = turn.transposed();
    let block = Block { image: combined(&matrix, &vectors), vectors, values };
    let residual = block.residual(wanted);
    Ok(block.leading(wanted, residual))
}

/// A number that no eigenvalue lies below, as a rule: the lowest that a few steps of Lanczos see, less
/// what they leave over.
fn lowest(operator: Operator<'_>, size: usize, rng: &mut Xoshiro256PlusPlus) -> Result<f64> {
    let mut before = Matrix::zeros(size, 1);
    let mut vector = orthonormal(random_columns(size, 1, rng), rng)?;
    let mut steps: Vec<(f64, f64)> = Vec::with_capacity(STEPS);
    loop {
        let mut next = operator(&vector);
        let along = gram(&vector, &next)[(0, 0)];
        let back = steps.last().map_or(0.0, |step| step.1);
        let pairs = vector.values().iter().zip(before.values());
        next.values_mut().iter_mut().zip(pairs).for_each(|(next, (v, b))| *next -= along * v + back * b);
        let left_over = gram(&next, &next)[(0, 0)].sqrt();
        steps.push((along, left_over));
        let largest = steps.iter().map(|(along, over)| along.abs().max(*over)).fold(0.0, f64::max);
        if steps.len() == STEPS || left_over <= 1e-10 * largest {
            let tridiagonal = Matrix::from_fn(steps.len(), steps.len(), |i, j| match i.abs_diff(j) {
                0 => steps[i].0,
                1 => steps[i.min(j)].1,
                _ => 0.0,
            });
            let (values, _) = symmetric_eigen(&tridiagonal)?;
            return Ok(values[values.len() - 1] - left_over);
        }
        next.values_mut().iter_mut().for_each(|v| *v /= left_over);
        before = std::mem::replace(&mut vector, next);
    }
}
