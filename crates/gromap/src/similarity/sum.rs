//! Σ_s w_s·C_s: several similarities of the same samples, or one of them rescaled.

use std::borrow::Cow;
use std::ops::Range;

use super::{Bounds, Contents, Definiteness, Dense, Extreme, LowRank, Side, Similarity, Sketch, Sparse};
use crate::data::{Samples, either};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::numeric::{Matrix, Scalar};
use crate::plan::{Plan, PlanRow};

/// A weighted sum of similarities of the same samples.
#[derive(Clone)]
pub struct WeightedSum<'a> {
    parts: Vec<(f64, &'a dyn Similarity)>,
}

impl<'a> WeightedSum<'a> {
    /// Sums `parts`, each with a positive weight.
    ///
    /// ```
    /// use gromap::Matrix;
    /// use gromap::similarity::{Dense, Similarity, WeightedSum};
    /// let c = Dense::new(Matrix::new(vec![2.0, 1.0, 1.0, 2.0], 2, 2)?)?;
    /// let half = WeightedSum::new(vec![(0.5, &c as &dyn Similarity)])?;
    /// assert_eq!(half.diagonal(0), 1.0);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn new(parts: Vec<(f64, &'a dyn Similarity)>) -> Result<Self> {
        let Some((_, first)) = parts.first() else {
            return Err(Error::parameter("number of similarities", 0.0, "at least 1"));
        };
        for (weight, part) in &parts {
            if !(weight.is_finite() && *weight > 0.0) {
                return Err(Error::parameter("weight of a similarity", *weight, "finite and positive"));
            }
            Error::check_len("samples of a similarity in a sum", first.len(), part.len())?;
        }
        Ok(Self { parts })
    }
}

impl Similarity for WeightedSum<'_> {
    fn len(&self) -> usize {
        self.parts[0].1.len()
    }

    fn is_symmetric(&self) -> bool {
        self.parts.iter().all(|(_, part)| part.is_symmetric())
    }

    /// Each known kind is closed under positive sums.
    fn definiteness(&self) -> Definiteness {
        let first = self.parts[0].1.definiteness();
        let same = self.parts.iter().all(|(_, part)| part.definiteness() == first);
        if same { first } else { Definiteness::Unknown }
    }

    fn bounds(&self) -> Bounds {
        let add = |side: fn(&Bounds) -> Extreme| {
            let extremes = self.parts.iter().map(|(weight, part)| {
                let extreme = side(&part.bounds());
                Extreme { value: weight * extreme.value, at: extreme.at }
            });
            // Two entries at different places do not add up to one entry.
            let total = |a: Extreme, b: Extreme| Extreme {
                value: a.value + b.value,
                at: if a.at == b.at { a.at } else { None },
            };
            extremes.reduce(total).unwrap_or(Extreme { value: 0.0, at: None })
        };
        Bounds { low: add(|b| b.low), high: add(|b| b.high) }
    }

    fn diagonal(&self, i: usize) -> f64 {
        self.parts.iter().map(|(weight, part)| weight * part.diagonal(i)).sum()
    }

    /// f1 is not additive: known only for the square of a single part.
    fn constant(&self, loss: Loss, weights: &[f64]) -> Option<f64> {
        match (loss, &self.parts[..]) {
            (Loss::Square, [(weight, part)]) => Some(weight * weight * part.constant(loss, weights)?),
            _ => None,
        }
    }

    fn sketch<'a>(&'a self, plan: &Plan, side: Side) -> Box<dyn Sketch + 'a> {
        let parts = self.parts.iter().map(|(weight, part)| (*weight, part.sketch(plan, side)));
        Box::new(SumSketch { parts: parts.collect() })
    }

    fn times(&self, x: &Matrix<'_>, side: Side) -> Matrix<'static> {
        let mut total = Matrix::zeros(self.len(), x.columns());
        for (weight, part) in &self.parts {
            let product = part.times(x, side);
            total.values_mut().iter_mut().zip(product.values()).for_each(|(sum, value)| *sum += weight * value);
        }
        total
    }
}

/// Σ weight·C as one matrix, where all parts are sparse, dense or of the form A·Aᵀ: solvers then see one of these. `None` for others.
pub(crate) fn merged(parts: &[(f64, &dyn Similarity)]) -> Result<Option<Box<dyn Similarity>>> {
    let definiteness = WeightedSum::new(parts.to_vec())?.definiteness();
    let (mut sparse, mut dense, mut factors) = (Vec::new(), Vec::new(), Vec::new());
    for (weight, part) in parts {
        match part.contents() {
            Contents::Sparse(part) => sparse.push((*weight, part)),
            Contents::Dense(part) => dense.push((*weight, part)),
            Contents::LowRank(left, None) => factors.push((weight.sqrt(), left)),
            _ => {}
        }
    }
    Ok(if sparse.len() == parts.len() {
        Some(Box::new(Sparse::weighted_sum(&sparse)?.with_definiteness(definiteness)))
    } else if dense.len() == parts.len() {
        Some(match dense.iter().all(|(_, part)| part.is_single()) {
            true => Box::new(Dense::new(added::<f32>(&dense))?.with_definiteness(definiteness)),
            false => Box::new(Dense::new(added::<f64>(&dense))?.with_definiteness(definiteness)),
        })
    } else if factors.len() == parts.len() {
        Some(match factors.iter().all(|(_, part)| part.is_single()) {
            true => Box::new(LowRank::symmetric(beside::<f32>(&factors))?),
            false => Box::new(LowRank::symmetric(beside::<f64>(&factors))?),
        })
    } else {
        None
    })
}

/// Σ weight·matrix.
fn added<S: Scalar>(parts: &[(f64, Samples<'_>)]) -> Matrix<'static, S> {
    let (rows, columns) = parts.first().map_or((0, 0), |(_, part)| (part.len(), part.columns()));
    let entry = |part: &Samples<'_>, i, j| either!(part, |m| m[(i, j)].to_f64());
    Matrix::from_fn(rows, columns, |i, j| {
        S::from_f64(parts.iter().map(|(weight, part)| weight * entry(part, i, j)).sum())
    })
}

/// The matrices weight·A one beside the other.
fn beside<S: Scalar>(parts: &[(f64, Samples<'_>)]) -> Matrix<'static, S> {
    let rows = parts.first().map_or(0, |(_, part)| part.len());
    let columns: Vec<(usize, usize)> =
        parts.iter().enumerate().flat_map(|(v, (_, part))| (0..part.columns()).map(move |j| (v, j))).collect();
    Matrix::from_fn(rows, columns.len(), |i, c| {
        let (v, j) = columns[c];
        S::from_f64(parts[v].0 * either!(&parts[v].1, |m| m[(i, j)].to_f64()))
    })
}

/// The weight and the sketch of each part.
struct SumSketch<'a> {
    parts: Vec<(f64, Box<dyn Sketch + 'a>)>,
}

impl Sketch for SumSketch<'_> {
    fn product_rows(&self, rows: Range<usize>, out: &mut [f64]) {
        let mut product = vec![0.0; out.len()];
        out.fill(0.0);
        for (weight, part) in &self.parts {
            part.product_rows(rows.clone(), &mut product);
            out.iter_mut().zip(&product).for_each(|(sum, value)| *sum += weight * value);
        }
    }

    fn reassign(&mut self, sample: usize, from: PlanRow<'_>, to: u32) {
        self.parts.iter_mut().for_each(|(_, part)| part.reassign(sample, from, to));
    }

    fn numbers(&self) -> Vec<Cow<'_, [f64]>> {
        self.parts.iter().flat_map(|(_, part)| part.numbers()).collect()
    }

    fn numbers_mut(&mut self) -> Vec<&mut [f64]> {
        self.parts.iter_mut().flat_map(|(_, part)| part.numbers_mut()).collect()
    }

    fn boxed_clone<'a>(&self) -> Box<dyn Sketch + 'a>
    where
        Self: 'a,
    {
        Box::new(SumSketch { parts: self.parts.iter().map(|(weight, part)| (*weight, part.boxed_clone())).collect() })
    }

    /// Not one vector, but one for each part.
    fn is_numbers(&self) -> bool {
        false
    }

    fn plan_mass(&self, plan: &Plan) -> Matrix<'static> {
        let n = plan.prototypes();
        let mut total = Matrix::zeros(n, n);
        for (weight, part) in &self.parts {
            let mass = part.plan_mass(plan);
            total.values_mut().iter_mut().zip(mass.values()).for_each(|(sum, value)| *sum += weight * value);
        }
        total
    }
}
