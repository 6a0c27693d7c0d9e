//! Where new samples go: one row step with the prototypes and their weights frozen.
//!
//! A new sample has a row c of similarities to the training samples, by the method's own recipe. Its row of
//! products r = c·T is all that the gradient of the plan needs,
//!
//! ```text
//! G_k = α·( y_k − Σ_l r_l·(g + gᵀ)[l,k] ) + β·‖x − f_k‖²,   y = (f2 + f2ᵀ) q
//! ```
//!
//! and the sample goes to the prototype of the lowest G. Where every sample is a prototype, r = c·Z/λ are the coordinates
//! themselves (the Nyström formula), or the mean place of the neighbours. Each new sample is
//! placed by itself.
//!
//! Methods of neighbours remember their training samples. One that comes again, to the bit, is where the fit put it.

use rayon::prelude::*;

use super::preparation::Preparation;
use crate::affinity::{KernelFunction, calibrated_row, membership_row};
use crate::error::{Error, Result};
use crate::features::FeatureCost;
use crate::neighbors::{Exact, Metric};
use crate::numeric::Matrix;
use crate::numeric::Scalar;
use crate::plan::Plan;

/// How a row of similarities to the training samples becomes a row of products.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rows {
    /// Nothing is known of new samples: the similarity was given.
    Unknown,
    /// c = (x − mean)·Aᵀ: r = (x − mean)·sketch, p numbers to as many as the sketch has columns.
    Factor {
        /// Mean of the training samples.
        mean: Vec<f64>,
        /// Aᵀ·T, p×n.
        sketch: Matrix<'static>,
    },
    /// A centred kernel with the training samples.
    Kernel {
        /// The kernel.
        function: KernelFunction,
        /// The training samples.
        samples: Matrix<'static, f32>,
        /// Means of the training kernel by column, times T, and its overall mean.
        means: (Vec<f64>, f64),
    },
    /// Weights on the nearest training samples.
    Neighbors {
        /// The training samples.
        samples: Matrix<'static, f32>,
        /// How many neighbours.
        neighbors: usize,
        /// What they weigh.
        weighing: Weighing,
    },
}

/// What the neighbours of a new sample weigh.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Weighing {
    /// Rows of these perplexities, averaged, times a factor.
    Entropic(Vec<f64>, f64),
    /// UMAP's membership.
    Fuzzy,
    /// Equal weights over this degree.
    Graph(f64),
}

/// What is multiplied by the rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Side {
    /// The plan T.
    Plan(Plan),
    /// N×d: the places z_j of the samples, or h_j·z_j/λ where that times a row of C_X is a place.
    Places(Matrix<'static>),
}

impl Side {
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

/// What becomes of a row of products.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowStep {
    /// α·c·(g + gᵀ), by rows l.
    pub(crate) pull: Matrix<'static>,
    /// α·y.
    pub(crate) pressure: Vec<f64>,
    /// Prototype features and β, where they count.
    pub(crate) features: Option<(Matrix<'static>, f64)>,
}

impl RowStep {
    /// The prototype with most of the products.
    pub(crate) fn vote(prototypes: usize) -> Self {
        let identity = Matrix::from_fn(prototypes, prototypes, |k, l| if k == l { 1.0 } else { 0.0 });
        Self { pull: identity, pressure: vec![0.0; prototypes], features: None }
    }
}

/// What is known of a new sample.
enum Known {
    /// Its row of products.
    Products(Vec<f64>),
    /// It is this training sample.
    Seen(usize),
}

/// All that new samples need.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placement {
    pub(crate) rows: Rows,
    pub(crate) side: Side,
    /// `None` where every sample is a prototype.
    pub(crate) step: Option<RowStep>,
}

impl Placement {
    /// Labels of new samples.
    pub(crate) fn predict<S: Scalar>(&self, samples: &Matrix<'_, S>, preparation: &Preparation) -> Result<Vec<u32>> {
        let (Some(step), Side::Plan(plan)) = (&self.step, &self.side) else {
            return Err(Error::Unsupported(
                "every sample is a prototype of this model: new samples have places (transform), not labels".into(),
            ));
        };
        let n = step.pressure.len();
        let scaled = step.features.as_ref().map(|_| preparation.scaled(samples)).transpose()?;
        let scaled = scaled.as_ref().map(|scaled| S::samples(scaled.view()));
        let cost = step.features.as_ref().zip(scaled.as_ref());
        let cost = cost.map(|((features, share), samples)| FeatureCost::new(samples, features.view(), *share));
        let (rows, labels) = (self.known(samples, preparation)?, plan.labels());
        let label = |i: usize| {
            let products = match &rows[i] {
                Known::Seen(j) => return labels[*j],
                Known::Products(products) => products,
            };
            let mut gradient = step.pressure.clone();
            if let Some(cost) = &cost {
                let mut linear = vec![0.0; n];
                cost.rows(i..i + 1, &mut linear);
                gradient.iter_mut().zip(&linear).for_each(|(g, c)| *g += c);
            }
            for (l, r) in products.iter().enumerate().filter(|(_, r)| **r != 0.0) {
                gradient.iter_mut().zip(step.pull.row(l)).for_each(|(g, pull)| *g -= r * pull);
            }
            let better = |best: (u32, f64), (k, &g): (usize, &f64)| if g < best.1 { (k as u32, g) } else { best };
            gradient.iter().enumerate().fold((0, f64::INFINITY), better).0
        };
        Ok((0..samples.rows()).into_par_iter().map(label).collect())
    }

    /// Coordinates of new samples where every training sample is a prototype.
    pub(crate) fn places<S: Scalar>(
        &self,
        samples: &Matrix<'_, S>,
        preparation: &Preparation,
    ) -> Result<Matrix<'static>> {
        let rows = self.known(samples, preparation)?.into_iter().map(|known| match known {
            Known::Products(products) => products,
            Known::Seen(j) => {
                let mut place = vec![0.0; self.side.width()];
                self.side.add(&mut place, j, 1.0);
                place
            }
        });
        Matrix::new(rows.flatten().collect::<Vec<_>>(), samples.rows(), self.side.width())
    }

    /// What is known of every new sample.
    fn known<S: Scalar>(&self, samples: &Matrix<'_, S>, preparation: &Preparation) -> Result<Vec<Known>> {
        let prepared = preparation.apply(samples)?;
        match &self.rows {
            Rows::Unknown => Err(Error::Unsupported(
                "new samples cannot be placed: this model was fitted to a similarity, not to samples".into(),
            )),
            Rows::Factor { mean, sketch } => Ok(by_factor(&prepared, mean, sketch)),
            Rows::Kernel { function, samples, means } => self.by_kernel(&prepared, *function, samples, means),
            Rows::Neighbors { samples, neighbors, weighing } => {
                self.by_neighbors(&prepared.single(), samples, *neighbors, weighing)
            }
        }
    }

    fn by_kernel<S: Scalar>(
        &self,
        new: &Matrix<'_, S>,
        function: KernelFunction,
        training: &Matrix<'static, f32>,
        (columns, overall): &(Vec<f64>, f64),
    ) -> Result<Vec<Known>> {
        let width = self.side.width();
        let mut total = vec![0.0; width];
        (0..training.rows()).for_each(|j| self.side.add(&mut total, j, 1.0));
        let training = Matrix::from_fn(training.rows(), training.columns(), |i, j| f64::from(training[(i, j)]));
        let of_sample = |i: usize| {
            // One row at a time: a product of several rounds differently.
            let sample = Matrix::from_fn(1, new.columns(), |_, j| new[(i, j)].to_f64());
            let row = function.across(&sample, &training)?;
            let mean = row.values().iter().sum::<f64>() / row.columns() as f64;
            let mut out = vec![0.0; width];
            row.values().iter().enumerate().for_each(|(j, &value)| self.side.add(&mut out, j, value));
            let centre = total.iter().zip(columns);
            out.iter_mut().zip(centre).for_each(|(o, (t, c))| *o += (overall - mean) * t - c);
            Ok(Known::Products(out))
        };
        (0..new.rows()).into_par_iter().map(of_sample).collect()
    }

    fn by_neighbors(
        &self,
        new: &Matrix<'_, f32>,
        training: &Matrix<'static, f32>,
        neighbors: usize,
        weighing: &Weighing,
    ) -> Result<Vec<Known>> {
        let metric = match weighing {
            Weighing::Entropic(..) => Metric::SquaredEuclidean,
            Weighing::Fuzzy | Weighing::Graph(_) => Metric::Euclidean,
        };
        let found = Exact.cross(training, new, neighbors, metric)?;
        let width = self.side.width();
        (0..new.rows())
            .into_par_iter()
            .map(|i| {
                let (nearest, distances) = found.row(i);
                if let Some(&seen) = nearest.iter().find(|&&j| training.row(j as usize) == new.row(i)) {
                    return Ok(Known::Seen(seen as usize));
                }
                let weights = weighing.weights(distances)?;
                let mut out = vec![0.0; width];
                nearest.iter().zip(&weights).for_each(|(&j, &weight)| self.side.add(&mut out, j as usize, weight));
                if matches!(self.side, Side::Places(_)) {
                    let whole: f64 = weights.iter().sum();
                    out.iter_mut().for_each(|o| *o /= whole);
                }
                Ok(Known::Products(out))
            })
            .collect()
    }
}

impl Weighing {
    fn weights(&self, distances: &[f32]) -> Result<Vec<f64>> {
        match self {
            Self::Entropic(perplexities, factor) => {
                let share = factor / perplexities.len() as f64;
                let mut weights = vec![0.0; distances.len()];
                for &perplexity in perplexities {
                    let row = calibrated_row(distances, perplexity)?;
                    weights.iter_mut().zip(row).for_each(|(weight, p)| *weight += share * p);
                }
                Ok(weights)
            }
            Self::Fuzzy => Ok(membership_row(distances)),
            Self::Graph(degree) => Ok(vec![1.0 / degree; distances.len()]),
        }
    }
}

/// (x − mean)·sketch.
fn by_factor<S: Scalar>(new: &Matrix<'_, S>, mean: &[f64], sketch: &Matrix<'_>) -> Vec<Known> {
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
