//! Inner products and squared distances: PCA and classical scaling.
//!
//! −H·E·H with E the squared Euclidean distances of samples is 2·X_c·X_cᵀ, so both are thin products
//! of the centred samples. Only distances given without samples need a dense matrix.

use std::f64::consts::SQRT_2;

use super::{Affinity, InputAffinity, NewSamples, Source};
use crate::data::{Samples, either};
use crate::error::{Error, Result};
use crate::memory::{MemoryPlan, Sizes, bytes};
use crate::numeric::blocks::{BLOCK, parts_held};
use crate::numeric::centring::{centre_both, centred_columns};
use crate::numeric::{Matrix, Scalar};
use crate::observe::Stage;
use crate::similarity::{Dense, LowRank};

/// Losses are squares of squares of distances: shorter ones than this vanish, and longer ones than its inverse overflow.
const LEAST: f64 = 1e-70;

/// X_c·X_cᵀ, the similarity of PCA.
///
/// ```
/// use gromap::Matrix;
/// use gromap::affinity::{InputAffinity, Linear};
/// let affinity = Linear.build(&Matrix::new(vec![1.0, 3.0], 2, 1)?)?;
/// assert_eq!(affinity.similarity.diagonal(0), 1.0);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Linear;

impl InputAffinity for Linear {
    fn build_from(&self, source: &mut Source<'_>) -> Result<Affinity> {
        centred_products(source.samples()?, 1.0)
    }

    fn new_samples(&self) -> NewSamples<'_> {
        NewSamples::Product { factor: 1.0 }
    }

    fn memory(&self, sizes: &Sizes, plan: &mut MemoryPlan) {
        plan_factor(sizes, plan);
    }
}

/// (scale·X_c)·(scale·X_c)ᵀ.
fn centred_products(samples: &Samples<'_>, scale: f64) -> Result<Affinity> {
    fn of<S: Scalar>(samples: &Matrix<'_, S>, scale: f64) -> Result<LowRank<'static, S>> {
        let centred: Matrix<'static, S> = centred_columns(samples, scale);
        // NaN counts as too large.
        check_size(
            centred
                .values()
                .iter()
                .fold(0.0, |most: f64, x| if x.to_f64().abs() <= most { most } else { x.to_f64().abs() }),
        )?;
        LowRank::symmetric(centred)
    }
    either!(samples, |samples| of(samples, scale).map(Affinity::from))
}

/// Refuses samples whose distances have squares, or squares of those, that no number holds.
pub(super) fn check_size(largest: f64) -> Result<()> {
    if largest == 0.0 || (LEAST..=1.0 / LEAST).contains(&largest) {
        return Ok(());
    }
    let allowed = format!("from {LEAST:e} to {:e}, so that losses can be computed; scale the samples", 1.0 / LEAST);
    Err(Error::parameter("largest distance between samples", largest, allowed))
}

fn plan_factor(sizes: &Sizes, plan: &mut MemoryPlan) {
    plan.hold("centred samples", sizes.values(sizes.kept), Stage::Affinity, Stage::Fit);
    let numbers = bytes(1, &[sizes.prototypes, sizes.kept]);
    let parts = parts_held(numbers as usize).min(sizes.samples.div_ceil(BLOCK as u64) as usize) as u64 + 1;
    if sizes.prototypes < sizes.samples {
        plan.hold("sums over blocks of samples", bytes(8, &[numbers, parts]), Stage::Start, Stage::Fit);
    }
}

/// −H·E·H with E squared distances, the similarity of classical scaling (MDS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SquaredDistance;

impl SquaredDistance {
    /// From given distances (not squared): symmetric, not negative, zero on the diagonal.
    ///
    /// ```
    /// use gromap::affinity::SquaredDistance;
    /// use gromap::Matrix;
    /// use gromap::similarity::Similarity;
    /// let distances = Matrix::new(vec![0.0, 2.0, 2.0, 0.0], 2, 2)?;
    /// assert_eq!(SquaredDistance.from_distances(&distances)?.diagonal(0), 2.0);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn from_distances<S: Scalar>(&self, distances: &Matrix<'_, S>) -> Result<Dense<'static, S>> {
        let n = distances.rows();
        Error::check_len("columns of the distances", n, distances.columns())?;
        distances.check_finite("distances")?;
        for i in 0..n {
            for j in 0..=i {
                let (a, b) = (distances[(i, j)].to_f64(), distances[(j, i)].to_f64());
                let allowed = |what: &str| Error::parameter("distance", a, format!("{what} (row {i}, column {j})"));
                if a < 0.0 {
                    return Err(allowed("not negative"));
                }
                if i == j && a != 0.0 {
                    return Err(allowed("zero on the diagonal"));
                }
                if (a - b).abs() > 1e-5 * (a + b.abs()) {
                    return Err(allowed(&format!("the same both ways, not {b} in return")));
                }
                if !S::from_f64(a * a).to_f64().is_finite() {
                    return Err(allowed("small enough that its square can be held; scale the distances"));
                }
            }
        }
        negative_centred(distances)
    }
}

impl InputAffinity for SquaredDistance {
    fn build_from(&self, source: &mut Source<'_>) -> Result<Affinity> {
        match source.distances() {
            Some(distances) => either!(distances, |distances| self.from_distances(distances).map(Affinity::from)),
            None => centred_products(source.samples()?, SQRT_2),
        }
    }

    fn new_samples(&self) -> NewSamples<'_> {
        NewSamples::Product { factor: SQRT_2 }
    }

    fn memory(&self, sizes: &Sizes, plan: &mut MemoryPlan) {
        plan_factor(sizes, plan);
    }

    fn takes_distances(&self) -> bool {
        true
    }
}

/// −H·(D∘D)·H of a matrix of distances, made symmetric by the mean of both directions.
pub(super) fn negative_centred<S: Scalar>(distances: &Matrix<'_, S>) -> Result<Dense<'static, S>> {
    let n = distances.rows();
    let square = |i: usize, j: usize| distances[(i, j)].to_f64().powi(2);
    let mut similarity = Matrix::from_fn(n, n, |i, j| S::from_f64(-0.5 * (square(i, j) + square(j, i))));
    centre_both(&mut similarity);
    Dense::new(similarity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::testing::{entries, scattered};
    use crate::similarity::Similarity;

    fn samples() -> Matrix<'static, f64> {
        let single = scattered(30, 4, 9);
        Matrix::from_fn(30, 4, |i, j| f64::from(single[(i, j)]))
    }

    #[test]
    fn squared_distances_are_twice_the_inner_products() {
        let samples = samples();
        let distance = |i: usize, j: usize| {
            samples.row(i).iter().zip(samples.row(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        let given = SquaredDistance.from_distances(&Matrix::from_fn(30, 30, distance)).expect("a similarity");
        let thin = SquaredDistance.build(&samples).expect("a similarity");
        let pca = Linear.build(&samples).expect("a similarity");
        let [given, thin, pca] = [&given as &dyn Similarity, &*thin.similarity, &*pca.similarity].map(entries);
        for ((a, b), c) in given.values().iter().zip(thin.values()).zip(pca.values()) {
            assert!((a - b).abs() < 1e-10 && (a - 2.0 * c).abs() < 1e-10, "{a} {b} {c}");
        }
        for i in 0..30 {
            assert!(given.row(i).iter().sum::<f64>().abs() < 1e-9, "rows of a centred matrix add up to zero");
        }
    }

    #[test]
    fn bad_distances_are_named() {
        let refused = |values: Vec<f64>| {
            let matrix = Matrix::new(values, 2, 2).expect("a matrix");
            SquaredDistance.from_distances(&matrix).map(|_| ()).expect_err("refused").to_string()
        };
        assert!(refused(vec![0.0, -1.0, -1.0, 0.0]).contains("not negative (row 1, column 0)"));
        assert!(refused(vec![0.0, 1.0, 2.0, 0.0]).contains("not 1 in return"));
        assert!(refused(vec![1.0, 1.0, 1.0, 0.0]).contains("zero on the diagonal (row 0"));
        assert!(refused(vec![0.0, f64::NAN, 1.0, 0.0]).contains("distances[0, 1] is NaN"));
    }
}
