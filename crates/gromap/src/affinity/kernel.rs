//! Centred kernels: kernel PCA.
//!
//! Functions and defaults are those of scikit-learn's pairwise kernels but for `gamma` of functions of a distance, which is one
//! over the median distance unless given (1/p for the others): 1/p sees nothing but noise in samples that are not scaled.
//! Exact, the matrix is dense and built by tiles of inner products; with landmarks it is low rank.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, Par};
use rayon::prelude::*;

use super::landmarks::{Spectrum, low_rank};
use super::{Affinity, InputAffinity, Landmarks, NewSamples, Source};
use crate::data::either;
use crate::error::{Error, Result};
use crate::memory::{MemoryPlan, Sizes, bytes};
use crate::numeric::blocks::threads;
use crate::numeric::centring::{centre_both, centred_columns};
use crate::numeric::{Matrix, Scalar};
use crate::observe::Stage;
use crate::preprocessing::Origin;
use crate::similarity::{Definiteness, Dense};

/// Rows of the kernel made together.
const TILE: usize = 256;
/// Samples whose distances have the median that γ follows.
const MEDIAN_OF: usize = 400;

/// A function of two samples x and y.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum KernelFunction {
    /// exp(−γ·‖x − y‖²)
    #[default]
    Rbf,
    /// (γ·x·y + c)^degree
    Polynomial,
    /// tanh(γ·x·y + c)
    Sigmoid,
    /// exp(−γ·Σ|x − y|)
    Laplacian,
    /// x·y / (‖x‖·‖y‖)
    Cosine,
}

/// The recipe of a centred kernel. Parameters that its function does not have are not looked at, as in scikit-learn.
///
/// ```
/// use gromap::Matrix;
/// use gromap::affinity::{InputAffinity, Kernel};
/// let samples = Matrix::from_fn(20, 2, |i, j| (i * (j + 1)) as f64);
/// let kernel = Kernel { gamma: Some(0.1), ..Kernel::default() };
/// assert_eq!(kernel.build(&samples)?.similarity.len(), 20);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernel {
    /// The function of two samples.
    pub function: KernelFunction,
    /// γ; `None` is one over the median of what it multiplies (‖x − y‖² or Σ|x − y|) for functions of a distance, one over the
    /// number of features for functions of inner products.
    pub gamma: Option<f64>,
    /// c
    pub coef0: f64,
    /// The power of the polynomial.
    pub degree: u32,
    /// `None` is exact: an N×N matrix.
    pub landmarks: Option<Landmarks>,
}

impl Default for Kernel {
    fn default() -> Self {
        Self { function: KernelFunction::Rbf, gamma: None, coef0: 1.0, degree: 3, landmarks: None }
    }
}

impl InputAffinity for Kernel {
    fn build_from(&self, source: &mut Source<'_>) -> Result<Affinity> {
        self.check()?;
        let samples = source.samples()?;
        either!(samples, |samples| samples.check_fit())?;
        either!(samples, |samples| self.of(samples))
    }

    fn new_samples(&self) -> NewSamples<'_> {
        NewSamples::Kernel(self)
    }

    fn memory(&self, sizes: &Sizes, plan: &mut MemoryPlan) {
        let wide = sizes.samples.saturating_mul(sizes.kept).saturating_mul(8);
        plan.hold("samples in double precision", wide, Stage::Affinity, Stage::Affinity);
        let tiles = bytes(8 * TILE as u64, &[sizes.samples, threads() as u64 + 1]);
        plan.hold("tiles of the kernel", tiles, Stage::Affinity, Stage::Fit);
        plan.hold_dense_similarity("kernel matrix, N×N", sizes);
    }
}

impl Kernel {
    fn of<S: Scalar>(&self, samples: &Matrix<'_, S>) -> Result<Affinity> {
        let prepared = self.prepare(samples)?;
        let gamma = self.gamma_for(&prepared);
        let Some(landmarks) = self.landmarks else {
            let mut kernel: Matrix<'static, S> = self.matrix(&prepared, &prepared, gamma);
            centre_both(&mut kernel);
            return Ok(Dense::new(kernel)?.with_definiteness(self.definiteness()).into());
        };
        let chosen = landmarks.draw(samples.rows())?;
        let rows = Matrix::from_fn(chosen.len(), samples.columns(), |m, j| prepared[(chosen[m], j)]);
        let across: Matrix<'_> = self.matrix(&prepared, &rows, gamma);
        let among: Matrix<'_> = self.matrix(&rows, &rows, gamma);
        Ok(low_rank::<S>(&across, &among, Spectrum::Whole)?.into())
    }

    /// Refuses parameters out of range.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.coef0.is_finite() {
            return Err(Error::parameter("coef0", self.coef0, "finite"));
        }
        match self.gamma {
            Some(gamma) if !(gamma > 0.0 && gamma.is_finite()) => {
                Err(Error::parameter("gamma", gamma, "positive and finite"))
            }
            _ => Ok(()),
        }
    }

    /// Where samples may be seen from: anywhere for functions of differences.
    pub(super) fn origin(&self) -> Origin {
        match self.function {
            KernelFunction::Rbf | KernelFunction::Laplacian => Origin::Centre,
            KernelFunction::Polynomial | KernelFunction::Sigmoid | KernelFunction::Cosine => Origin::Zero,
        }
    }

    /// What is known of the centred kernel's signs.
    fn definiteness(&self) -> Definiteness {
        match self.function {
            KernelFunction::Sigmoid => Definiteness::Unknown,
            KernelFunction::Polynomial if self.coef0 < 0.0 => Definiteness::Unknown,
            _ => Definiteness::Psd,
        }
    }

    /// Samples in double precision, as the function takes them: centred where only differences
    /// matter, of length one for the cosine.
    fn prepare<S: Scalar>(&self, samples: &Matrix<'_, S>) -> Result<Matrix<'static>> {
        let (n, p) = (samples.rows(), samples.columns());
        match self.function {
            KernelFunction::Rbf | KernelFunction::Laplacian => Ok(centred_columns(samples, 1.0)),
            KernelFunction::Polynomial | KernelFunction::Sigmoid => {
                Ok(Matrix::from_fn(n, p, |i, j| samples[(i, j)].to_f64()))
            }
            KernelFunction::Cosine => {
                let length = |i: usize| samples.row(i).iter().map(|v| v.to_f64().powi(2)).sum::<f64>().sqrt();
                let lengths: Vec<f64> = (0..n).map(length).collect();
                if let Some(row) = lengths.iter().position(|&l| l == 0.0) {
                    let allowed = format!("positive for the cosine kernel (row {row})");
                    return Err(Error::parameter("length of a sample", 0.0, allowed));
                }
                Ok(Matrix::from_fn(n, p, |i, j| samples[(i, j)].to_f64() / lengths[i]))
            }
        }
    }

    /// The function of new samples (rows) with training samples, not centred. A row depends on its own sample.
    pub(super) fn across(&self, new: &Matrix<'_>, training: &Matrix<'_>) -> Result<Matrix<'static>> {
        Error::check_len("number of features", training.columns(), new.columns())?;
        let gamma = self.gamma_for(training);
        if self.function == KernelFunction::Cosine {
            return Ok(self.matrix(&self.prepare(new)?, &self.prepare(training)?, gamma));
        }
        Ok(self.matrix(new, training, gamma))
    }

    /// γ as it was given, or as the training samples have it: one over the median distance of pairs of some of them.
    fn gamma_for(&self, training: &Matrix<'_>) -> f64 {
        let (size, features) = (training.rows(), training.columns());
        let of_pair: fn(f64) -> f64 = match (self.gamma, self.function) {
            (Some(gamma), _) => return gamma,
            (None, KernelFunction::Rbf) => |difference| difference * difference,
            (None, KernelFunction::Laplacian) => f64::abs,
            _ => return 1.0 / features as f64,
        };
        let some = size.min(MEDIAN_OF);
        let row = |i: usize| training.row(i * size / some);
        let distance = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| of_pair(a - b)).sum::<f64>();
        let pairs = (0..some).flat_map(|i| (0..i).map(move |j| (i, j)));
        let mut distances: Vec<f64> = pairs.map(|(i, j)| distance(i, j)).filter(|distance| *distance > 0.0).collect();
        let middle = distances.len() / 2;
        match distances.is_empty() {
            true => 1.0 / features as f64,
            false => 1.0 / *distances.select_nth_unstable_by(middle, f64::total_cmp).1,
        }
    }

    /// Means of the training kernel: of every column, and of all.
    pub(super) fn means<S: Scalar>(&self, training: &Matrix<'_, S>) -> Result<(Vec<f64>, f64)> {
        let size = training.rows();
        let wide = Matrix::from_fn(size, training.columns(), |i, j| training[(i, j)].to_f64());
        let mut means = vec![0.0; size];
        for first in (0..size).step_by(TILE) {
            let rows = TILE.min(size - first);
            let block = Matrix::from_fn(rows, wide.columns(), |i, j| wide[(first + i, j)]);
            for row in self.across(&block, &wide)?.values().chunks_exact(size) {
                means.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / size as f64);
            }
        }
        let overall = means.iter().sum::<f64>() / size as f64;
        Ok((means, overall))
    }

    /// The function of every row of `left` with every row of `right`.
    fn matrix<S: Scalar>(&self, left: &Matrix<'_>, right: &Matrix<'_>, gamma: f64) -> Matrix<'static, S> {
        let m = right.rows();
        let norms: Vec<f64> = (0..m).map(|j| right.row(j).iter().map(|v| v * v).sum()).collect();
        let mut out = Matrix::zeros(left.rows(), m);
        out.values_mut().par_chunks_mut(TILE * m).enumerate().for_each(|(tile, out)| {
            let first = tile * TILE;
            let rows = first..first + out.len() / m;
            crate::interrupt::look();
            if self.function == KernelFunction::Laplacian {
                for (i, out) in rows.zip(out.chunks_exact_mut(m)) {
                    crate::interrupt::look();
                    for (j, out) in out.iter_mut().enumerate() {
                        let distance: f64 = left.row(i).iter().zip(right.row(j)).map(|(a, b)| (a - b).abs()).sum();
                        *out = S::from_f64((-gamma * distance).exp());
                    }
                }
                return;
            }
            let mut products = vec![0.0; out.len()];
            matmul(
                MatMut::from_row_major_slice_mut(&mut products, rows.len(), m),
                Accum::Replace,
                left.as_faer().subrows(rows.start, rows.len()),
                right.as_faer().transpose(),
                1.0,
                Par::Seq,
            );
            for ((i, out), products) in rows.zip(out.chunks_exact_mut(m)).zip(products.chunks_exact(m)) {
                let norm: f64 = left.row(i).iter().map(|v| v * v).sum();
                for ((out, product), other) in out.iter_mut().zip(products).zip(&norms) {
                    *out = S::from_f64(self.of_product(*product, norm + other, gamma));
                }
            }
        });
        out
    }

    /// The function, from the inner product and the sum of the squared lengths.
    #[inline]
    fn of_product(&self, product: f64, lengths: f64, gamma: f64) -> f64 {
        match self.function {
            KernelFunction::Rbf => (-gamma * (lengths - 2.0 * product).max(0.0)).exp(),
            KernelFunction::Polynomial => (gamma * product + self.coef0).powi(self.degree as i32),
            KernelFunction::Sigmoid => (gamma * product + self.coef0).tanh(),
            KernelFunction::Laplacian | KernelFunction::Cosine => product,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::testing::{entries, scattered};

    fn exact(function: KernelFunction, samples: &Matrix<'_>) -> Matrix<'static> {
        entries(&*Kernel { function, ..Kernel::default() }.build(samples).expect("a kernel").similarity)
    }

    /// `KernelCenterer().fit_transform(pairwise_kernels(X, metric))` of scikit-learn.
    #[test]
    fn kernels_are_those_of_scikit_learn() {
        let samples = Matrix::from_fn(5, 3, |i, j| ((i * 7 + j * 3) % 5) as f64 / 2.0 + i as f64 / 4.0);
        for (&function, expected) in KernelFunction::ALL.iter().zip(SCIKIT_LEARN) {
            let kernel = Kernel { function, gamma: Some(1.0 / 3.0), ..Kernel::default() };
            let found = entries(&*kernel.build(&samples).expect("a kernel").similarity);
            for ((i, j), expected) in [(0, 0), (0, 3), (4, 2)].into_iter().zip(expected) {
                assert!((found[(i, j)] - expected).abs() < 1e-9, "{function:?} {} {expected}", found[(i, j)]);
            }
        }
    }

    const SCIKIT_LEARN: [[f64; 3]; 5] = [
        [0.708_040_807_529, -0.121_169_312_03, -0.189_246_844_596],
        [41.698_278_356_481, -8.176_576_967_593, -29.547_381_365_741],
        [0.027_218_446_607, 0.022_734_997_035, -0.002_247_831_856],
        [0.578_342_558_736, -0.154_678_483_209, -0.036_203_753_891],
        [0.425_053_389_919, 0.155_082_475_537, -0.019_779_272_761],
    ];

    #[test]
    fn all_samples_as_landmarks_are_exact() {
        let single = scattered(40, 3, 3);
        let samples = Matrix::from_fn(40, 3, |i, j| f64::from(single[(i, j)]) + 0.1);
        for &function in KernelFunction::ALL {
            let landmarks = Some(Landmarks { count: 40, seed: 1 });
            let affinity = Kernel { function, landmarks, ..Kernel::default() }.build(&samples).expect("a kernel");
            let (thin, dense) = (entries(&*affinity.similarity), exact(function, &samples));
            let scale = dense.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
            for (a, b) in thin.values().iter().zip(dense.values()) {
                assert!((a - b).abs() < 1e-5 * scale, "{function:?} {a} {b}");
            }
        }
    }

    #[test]
    fn half_of_the_samples_come_close() {
        let single = scattered(60, 2, 3);
        let samples = Matrix::from_fn(60, 2, |i, j| f64::from(single[(i, j)]));
        let dense = Kernel { gamma: Some(0.01), ..Kernel::default() };
        let thin = Kernel { landmarks: Some(Landmarks { count: 30, seed: 1 }), ..dense };
        let [thin, dense] = [thin, dense].map(|kernel| entries(&*kernel.build(&samples).expect("a kernel").similarity));
        let error = thin.values().iter().zip(dense.values()).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(error < 1e-3, "{error}");
    }

    /// Half of the pairs are nearer than the distance at which the kernel falls to 1/e, whatever the unit.
    #[test]
    fn gamma_follows_the_unit_of_the_samples() {
        let single = scattered(60, 3, 3);
        for unit in [1e-3, 1.0, 1e4] {
            let samples = Matrix::from_fn(60, 3, |i, j| unit * f64::from(single[(i, j)]));
            for (function, power) in [(KernelFunction::Rbf, 2), (KernelFunction::Laplacian, 1)] {
                let gamma = Kernel { function, ..Kernel::default() }.gamma_for(&samples);
                let distance = |i: usize, j: usize| {
                    (0..3).map(|c| (samples[(i, c)] - samples[(j, c)]).abs().powi(power)).sum::<f64>()
                };
                let pairs = (0..60).flat_map(|i| (0..i).map(move |j| (i, j)));
                let nearer = pairs.filter(|&(i, j)| gamma * distance(i, j) < 1.0).count();
                assert!((880..=890).contains(&nearer), "{function:?} {unit}: {nearer} of 1770");
            }
        }
    }

    #[test]
    fn bad_input_is_named() {
        let refused =
            |kernel: Kernel, samples: &Matrix<'_>| kernel.build(samples).map(|_| ()).expect_err("refused").to_string();
        let samples = Matrix::from_fn(6, 2, |i, _| i as f64);
        let rbf = |gamma| Kernel { gamma, ..Kernel::default() };
        assert!(refused(rbf(Some(0.0)), &samples).contains("gamma is 0"));
        assert!(refused(rbf(Some(f64::NAN)), &samples).contains("gamma is NaN"));
        assert!(refused(Kernel { function: KernelFunction::Cosine, ..Kernel::default() }, &samples).contains("row 0"));
        let many = Kernel { landmarks: Some(Landmarks { count: 7, seed: 0 }), ..rbf(None) };
        assert!(refused(many, &samples).contains("landmarks is 7"));
    }
}
