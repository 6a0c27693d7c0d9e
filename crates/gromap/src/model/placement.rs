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
//! themselves (the Nyström formula), or the mean place of the neighbours. Each new sample is placed by itself.
//!
//! The place of a sample is that of its prototype, or, on request, one of its own ([`Places`]): by the same row r and the rule of
//! `own_places.rs`.

use rayon::prelude::*;

use super::Model;
use super::own_places::{OwnPlaces, Placing};
use crate::affinity::{Known, Multiplier, Training};
use crate::data::{Data, Samples};
use crate::embedding::frozen_map::Row;
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::transport::{FeatureCost, TransportProblem};

/// What becomes of a row of products.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowStep {
    /// α·c·(g + gᵀ), by rows l: what a product with prototype l adds to the attraction of every prototype. Without it
    /// a product with prototype l attracts to l alone, and the prototype with most of the products is taken.
    pub(crate) attraction: Option<Matrix<'static>>,
    /// α·y: what every prototype costs whatever the sample.
    pub(crate) repulsion: Vec<f64>,
    /// Prototype features and β, where they count.
    pub(crate) features: Option<(Matrix<'static>, f64)>,
}

impl RowStep {
    /// The step of a problem whose prototypes have these weights.
    pub(crate) fn of(problem: &TransportProblem<'_>, weights: &[f64]) -> Self {
        Self {
            attraction: Some(problem.symmetric_attraction()),
            repulsion: problem.repulsion_gradient(weights),
            features: None,
        }
    }

    /// The prototype with most of the products.
    pub(crate) fn vote(prototypes: usize) -> Self {
        Self { attraction: None, repulsion: vec![0.0; prototypes], features: None }
    }
}

/// All that new samples need.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placement {
    pub(crate) training: Training,
    pub(crate) multiplier: Multiplier,
    /// `None` where every sample is a prototype.
    pub(crate) step: Option<RowStep>,
    /// How a row becomes a place of its own; `None` where every sample is a prototype, for clusters, and where new samples go to
    /// the mean place of their neighbours.
    pub(crate) own_places: Option<OwnPlaces>,
}

/// Which place a sample has on a map of fewer prototypes than samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Places {
    /// That of its prototype.
    #[default]
    Prototype,
    /// One of its own.
    Sample,
}

/// Where new samples go.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The prototype of every new sample; `None` where every training sample is a prototype of its own.
    pub labels: Option<Vec<u32>>,
    /// The place of every new sample, N×d: that of its prototype, or its own. Clusters have no places: d is 0.
    pub places: Matrix<'static>,
}

impl Model {
    /// Labels and places of new samples. Each is placed by itself: the others do not matter.
    ///
    /// ```
    /// use gromap::{GromovDr, Matrix, Method};
    /// let samples = Matrix::from_fn(30, 2, |i, j| ((i * (j + 3)) % 11) as f64);
    /// let placed = GromovDr::builder().method(Method::Pca).prototypes(4).fit(&samples)?.place(&samples)?;
    /// assert_eq!((placed.labels.map(|labels| labels.len()), placed.places.rows()), (Some(30), 30));
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn place<'d>(&self, data: impl Into<Data<'d>>) -> Result<Placed> {
        self.place_by(data, Places::Prototype)
    }

    /// The same with the places of the prototypes, or with places of their own.
    pub fn place_by<'d>(&self, data: impl Into<Data<'d>>, places: Places) -> Result<Placed> {
        let Data::Samples(samples) = data.into() else {
            return Err(Error::Unsupported("new samples are placed by their features, not by pairs".into()));
        };
        self.place_samples(&samples, places)
    }

    /// A place of its own for every new sample, N×d, by the rule that gave the training samples theirs
    /// ([`sample_places`](Self::sample_places)). Clusters have no places: d is 0.
    ///
    /// ```
    /// # let samples = gromap::Matrix::from_fn(50, 2, |i, j| ((i * (j + 3)) % 17) as f64 + 40.0 * (i % 3) as f64);
    /// let model = gromap::GromovDr::builder().prototypes(6).perplexity(5.0).fit(&samples)?;
    /// // A sample that was there before has the place it had.
    /// assert_eq!(model.places_of(&samples)?, model.sample_places());
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn places_of<'d>(&self, data: impl Into<Data<'d>>) -> Result<Matrix<'static>> {
        Ok(self.place_by(data, Places::Sample)?.places)
    }

    /// The prototype of every new sample; an error where every training sample is one.
    pub fn predict<'d>(&self, data: impl Into<Data<'d>>) -> Result<Vec<u32>> {
        self.place(data)?.labels.ok_or_else(|| {
            let message = "every sample is a prototype of this model: new samples have places (transform), not labels";
            Error::Unsupported(message.into())
        })
    }

    fn place_samples(&self, samples: &Samples<'_>, places: Places) -> Result<Placed> {
        if let Some(expected) = self.preparation.features {
            Error::check_len("number of features", expected, samples.columns())?;
        }
        samples.check_finite("samples")?;
        let prepared = self.preparation.apply(samples)?;
        let Placement { training, multiplier, step, .. } = &self.placement;
        let spec = self.parameters.spec();
        let known = |multiplier: &Multiplier| {
            let frame = self.preparation.frame.as_ref();
            spec.recipe.new_samples().rows(training, multiplier, &prepared, frame)
        };
        let rows = known(multiplier)?;
        let Some(step) = step else {
            return Ok(Placed { labels: None, places: multiplier.places(rows)? });
        };
        let scaled = step.features.as_ref().map(|_| self.preparation.scaled(samples)).transpose()?;
        let cost = step.features.as_ref().zip(scaled.as_ref());
        let cost = cost.map(|((features, share), samples)| FeatureCost::new(samples, features.view(), *share));
        let members = self.plan.labels();
        let label = |(i, known): (usize, &Known)| match known {
            Known::Seen(j) => members[*j],
            Known::Products(products) => step.label(products, cost.as_ref(), i),
        };
        let labels: Vec<u32> = rows.par_iter().enumerate().map(label).collect();
        let places = match (places, &self.sample_places) {
            (Places::Sample, Some(own)) => match &self.placement.own_places {
                Some(rule) => {
                    let map = (&self.prototypes, &members[..]);
                    let placing = Placing::new(rule, spec.kernel, self.parameters.common().loss(), map);
                    own_places(&placing, own, &rows, &labels)
                }
                None => {
                    let neighbors = Multiplier::Places(own.clone());
                    neighbors.places(known(&neighbors)?)?
                }
            },
            _ => {
                let dims = self.prototypes.columns();
                Matrix::from_fn(labels.len(), dims, |i, c| self.prototypes[(labels[i] as usize, c)])
            }
        };
        Ok(Placed { labels: Some(labels), places })
    }
}

/// Places of new samples with these labels; one that was seen in training has the place it had there.
fn own_places(placing: &Placing<'_>, trained: &Matrix<'_>, rows: &[Known], labels: &[u32]) -> Matrix<'static> {
    let mut places = Matrix::zeros(rows.len(), trained.columns());
    let out = places.values_mut().par_chunks_mut(trained.columns()).zip(rows).zip(labels);
    out.for_each_init(Row::default, |row, ((out, known), &label)| match known {
        Known::Seen(j) => out.copy_from_slice(trained.row(*j)),
        Known::Products(products) => placing.place(label as usize, products, row, out),
    });
    places
}

impl RowStep {
    /// The prototype of the lowest gradient for sample i.
    fn label(&self, products: &[f64], cost: Option<&FeatureCost<'_>>, i: usize) -> u32 {
        let mut gradient = self.repulsion.clone();
        if let Some(cost) = cost {
            let mut linear = vec![0.0; gradient.len()];
            cost.rows(i..i + 1, &mut linear);
            gradient.iter_mut().zip(&linear).for_each(|(g, c)| *g += c);
        }
        for (l, r) in products.iter().enumerate().filter(|(_, r)| **r != 0.0) {
            match &self.attraction {
                Some(attraction) => gradient.iter_mut().zip(attraction.row(l)).for_each(|(g, a)| *g -= r * a),
                None => gradient[l] -= r,
            }
        }
        let better = |best: (u32, f64), (k, &g): (usize, &f64)| if g < best.1 { (k as u32, g) } else { best };
        gradient.iter().enumerate().fold((0, f64::INFINITY), better).0
    }
}

impl Multiplier {
    /// Places of samples that are what their rows were multiplied with.
    fn places(&self, rows: Vec<Known>) -> Result<Matrix<'static>> {
        let count = rows.len();
        Matrix::new(rows.into_iter().flat_map(|known| self.place(known)).collect::<Vec<_>>(), count, self.width())
    }

    /// The place of a sample where every training sample has one.
    fn place(&self, known: Known) -> Vec<f64> {
        match known {
            Known::Products(products) => products,
            Known::Seen(j) => {
                let mut place = vec![0.0; self.width()];
                self.add(&mut place, j, 1.0);
                place
            }
        }
    }
}
