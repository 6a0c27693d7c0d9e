//! The row of C_X that a new sample would have, times what the model multiplies it by.
//!
//! A row c of similarities to the N training samples is never kept: it becomes r = c·T at once, n numbers for a plan T, or
//! r = c·Z where every sample is a prototype. How c is found is the recipe's ([`NewSamples`]); what must be remembered of
//! the training samples is a [`Training`]. Each new sample goes by itself, and the others do not matter.
//!
//! Recipes of neighbours remember their training samples. One that comes again, to the bit, is known as that sample.

use rayon::prelude::*;

use super::{Kernel, Neighborhood};
use crate::data::{Samples, either};
use crate::error::{Error, Result};
use crate::neighbors::Exact;
use crate::numeric::centring::column_means;
use crate::numeric::{Matrix, Scalar};
use crate::plan::Plan;
use crate::preprocessing::Frame;
use crate::similarity::{Contents, Similarity};

/// How a recipe finds the row of a new sample.
pub enum NewSamples<'r> {
    /// c = factor·(x − mean)·Aᵀ for C_X = A·Aᵀ.
    Product {
        /// What brings a centred new sample to the unit of A.
        factor: f64,
    },
    /// A centred kernel with the training samples.
    Kernel(&'r Kernel),
    /// Weights on the nearest training samples.
    Neighbors(&'r dyn NeighborWeights),
}

/// Weights of the nearest training samples of a new one.
pub trait NeighborWeights: Send + Sync {
    /// How many neighbours of each of so many samples are looked at, and in which metric.
    fn neighborhood(&self, samples: usize) -> Neighborhood;

    /// What the nearest of so many training samples, at these distances, weigh for a new sample.
    fn weigh(&self, distances: &[f32], samples: usize) -> Result<Vec<f64>>;
}

/// What is remembered of the training samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Training {
    /// Nothing: there were distances or a similarity instead of samples.
    Unknown,
    /// For products: the mean of the training samples, and Aᵀ·T, p×n.
    Product { mean: Vec<f64>, sketch: Matrix<'static> },
    /// For kernels: the samples, the column means of the training kernel times T, and its overall mean.
    Kernel { samples: Matrix<'static, f32>, means: (Vec<f64>, f64) },
    /// For neighbours: the samples.
    Neighbors { samples: Matrix<'static, f32> },
}

/// What rows are multiplied by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Multiplier {
    /// The plan T.
    Plan(Plan),
    /// N×d: the places z_j of the samples, or h_j·z_j/λ where that times a row of C_X is a place (Nyström).
    Places(Matrix<'static>),
}

impl Multiplier {
    /// Columns of T or of the places.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Plan(plan) => plan.prototypes(),
            Self::Places(places) => places.columns(),
        }
    }

    /// Adds weight·(row j) to a row of products.
    pub(crate) fn add(&self, out: &mut [f64], j: usize, weight: f64) {
        match self {
            Self::Plan(plan) => plan.row(j).iter().for_each(|(k, mass)| out[k] += weight * mass),
            Self::Places(places) => out.iter_mut().zip(places.row(j)).for_each(|(o, z)| *o += weight * z),
        }
    }
}

/// Whether a new sample that is a training sample is taken for that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recognised {
    /// It is.
    ByItself,
    /// Only among others, of which this is one view: it gets a row of products like any other.
    ByAllViews,
}

/// What is known of a new sample.
pub(crate) enum Known {
    /// Its row of products.
    Products(Vec<f64>),
    /// It is this training sample.
    Seen(usize),
}

impl NewSamples<'_> {
    /// What must be remembered of training samples and their similarity; `frame` is how samples enter single precision.
    pub(crate) fn training(
        &self,
        samples: &Samples<'_>,
        frame: Option<&Frame>,
        similarity: &dyn Similarity,
        multiplier: &Multiplier,
    ) -> Result<Training> {
        let kept = || frame.map_or_else(|| samples.single(), |frame| frame.single(samples)).into_owned();
        match self {
            Self::Product { factor } => {
                let Contents::LowRank(left, _) = similarity.contents() else {
                    return Err(Error::Unsupported("products need a similarity of low rank".into()));
                };
                Ok(Training::Product {
                    mean: either!(samples, |samples| column_means(samples)),
                    sketch: either!(&left, |left| sketch(left, *factor, multiplier)),
                })
            }
            Self::Kernel(kernel) => {
                let (columns, overall) = match frame {
                    None => either!(samples, |samples| kernel.means(samples))?,
                    Some(frame) => kernel.means(&frame.double(samples, kernel.origin()))?,
                };
                let mut weighted = vec![0.0; multiplier.width()];
                columns.iter().enumerate().for_each(|(j, &mean)| multiplier.add(&mut weighted, j, mean));
                Ok(Training::Kernel { samples: kept(), means: (weighted, overall) })
            }
            Self::Neighbors(_) => Ok(Training::Neighbors { samples: kept() }),
        }
    }

    /// What is known of every new sample; `frame` is how samples entered single precision.
    pub(crate) fn rows(
        &self,
        training: &Training,
        multiplier: &Multiplier,
        (new, frame): (&Samples<'_>, Option<&Frame>),
        recognised: Recognised,
    ) -> Result<Vec<Known>> {
        match (self, training) {
            (Self::Product { .. }, Training::Product { mean, sketch }) => {
                Ok(either!(new, |new| by_product(new, mean, sketch)))
            }
            (Self::Kernel(kernel), Training::Kernel { samples, means }) => {
                let Some(frame) = frame else {
                    let wide = Matrix::from_fn(samples.rows(), samples.columns(), |i, j| f64::from(samples[(i, j)]));
                    return either!(new, |new| by_kernel(kernel, &wide, means, multiplier, new));
                };
                let (training, new) = (frame.undone(samples, kernel.origin()), frame.double(new, kernel.origin()));
                by_kernel(kernel, &training, means, multiplier, &new)
            }
            (Self::Neighbors(weights), Training::Neighbors { samples }) => {
                let new = frame.map_or_else(|| new.single(), |frame| frame.single(new));
                by_neighbors(*weights, samples, multiplier, &new, recognised)
            }
            (_, Training::Unknown) => Err(Error::Unsupported(
                "new samples cannot be placed: this model was fitted to distances or a similarity, not to samples"
                    .into(),
            )),
            _ => Err(Error::Unsupported("the model remembers its training samples in another form".into())),
        }
    }
}

/// factor·Aᵀ·T, p×n.
fn sketch<S: Scalar>(left: &Matrix<'_, S>, factor: f64, multiplier: &Multiplier) -> Matrix<'static> {
    let width = multiplier.width();
    let (mut sketch, mut row) = (Matrix::zeros(left.columns(), width), vec![0.0; width]);
    for i in 0..left.rows() {
        row.fill(0.0);
        multiplier.add(&mut row, i, factor);
        for (a, out) in left.row(i).iter().zip(sketch.values_mut().chunks_exact_mut(width)) {
            out.iter_mut().zip(&row).for_each(|(o, r)| *o += a.to_f64() * r);
        }
    }
    sketch
}

/// (x − mean)·sketch.
fn by_product<S: Scalar>(new: &Matrix<'_, S>, mean: &[f64], sketch: &Matrix<'_>) -> Vec<Known> {
    let of_sample = |i: usize| {
        let mut out = vec![0.0; sketch.columns()];
        for ((x, mean), row) in new.row(i).iter().zip(mean).zip(sketch.values().chunks_exact(sketch.columns())) {
            let centred = x.to_f64() - mean;
            out.iter_mut().zip(row).for_each(|(o, s)| *o += centred * s);
        }
        Known::Products(out)
    };
    (0..new.rows()).into_par_iter().map(of_sample).collect()
}

fn by_kernel<S: Scalar>(
    kernel: &Kernel,
    training: &Matrix<'_>,
    (columns, overall): &(Vec<f64>, f64),
    multiplier: &Multiplier,
    new: &Matrix<'_, S>,
) -> Result<Vec<Known>> {
    let width = multiplier.width();
    let mut total = vec![0.0; width];
    (0..training.rows()).for_each(|j| multiplier.add(&mut total, j, 1.0));
    let of_sample = |i: usize| {
        // One row at a time: a product of several rounds differently.
        let sample = Matrix::from_fn(1, new.columns(), |_, j| new[(i, j)].to_f64());
        let row = kernel.across(&sample, training)?;
        let mean = row.values().iter().sum::<f64>() / row.columns() as f64;
        let mut out = vec![0.0; width];
        row.values().iter().enumerate().for_each(|(j, &value)| multiplier.add(&mut out, j, value));
        let centre = total.iter().zip(columns);
        out.iter_mut().zip(centre).for_each(|(o, (t, c))| *o += (overall - mean) * t - c);
        Ok(Known::Products(out))
    };
    (0..new.rows()).into_par_iter().map(of_sample).collect()
}

fn by_neighbors(
    weights: &dyn NeighborWeights,
    training: &Matrix<'static, f32>,
    multiplier: &Multiplier,
    new: &Matrix<'_, f32>,
    recognised: Recognised,
) -> Result<Vec<Known>> {
    let size = training.rows();
    let Neighborhood { k, metric } = weights.neighborhood(size);
    let found = Exact.cross(training, new, k.clamp(1, size), metric)?;
    let width = multiplier.width();
    (0..new.rows())
        .into_par_iter()
        .map(|i| {
            let (nearest, distances) = found.row(i);
            let is_same = |j: &&u32| recognised == Recognised::ByItself && training.row(**j as usize) == new.row(i);
            if let Some(&seen) = nearest.iter().find(is_same) {
                return Ok(Known::Seen(seen as usize));
            }
            let weights = weights.weigh(distances, size)?;
            let mut out = vec![0.0; width];
            nearest.iter().zip(&weights).for_each(|(&j, &weight)| multiplier.add(&mut out, j as usize, weight));
            if matches!(multiplier, Multiplier::Places(_)) {
                let whole: f64 = weights.iter().sum();
                out.iter_mut().for_each(|o| *o /= whole);
            }
            Ok(Known::Products(out))
        })
        .collect()
}
