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

use std::collections::HashMap;

use rayon::prelude::*;

use super::Model;
use super::own_places::{OwnPlaces, Placing};
use super::views::FittedView;
use crate::affinity::{Known, Multiplier, NewSamples, Recognised, Training};
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
        let samples = |data| match data {
            Data::Samples(samples) => Ok(samples),
            _ => Err(Error::Unsupported("new samples are placed by their features, not by pairs".into())),
        };
        let views = match data.into() {
            Data::Views(views) => views.into_iter().map(samples).collect::<Result<Vec<_>>>()?,
            one => vec![samples(one)?],
        };
        self.check_views(&views)?;
        self.place_samples(&views, places)
    }

    /// Refuses views that are not those of the model.
    fn check_views(&self, new: &[Samples<'_>]) -> Result<()> {
        Error::check_len("number of views", self.views.len(), new.len())?;
        for (v, (view, samples)) in self.views.iter().zip(new).enumerate() {
            let check = || {
                if let Some(expected) = view.preparation.features {
                    Error::check_len("number of features", expected, samples.columns())?;
                }
                Error::check_len("number of samples", new[0].len(), samples.len())?;
                samples.check_finite("samples")
            };
            check().map_err(|error| if new.len() > 1 { error.in_view(v, new.len()) } else { error })?;
        }
        Ok(())
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

    fn place_samples(&self, new: &[Samples<'_>], places: Places) -> Result<Placed> {
        let views = || self.views.iter().zip(new);
        let prepared = views().map(|(view, new)| view.preparation.apply(new)).collect::<Result<Vec<_>>>()?;
        let Placement { multiplier, step, .. } = &self.placement;
        let spec = self.parameters.spec();
        let known = |multiplier: &Multiplier| {
            known(&self.views, &prepared, multiplier, (&spec.recipe.new_samples(), spec.votes))
        };
        let rows = known(multiplier)?;
        let Some(step) = step else {
            return Ok(Placed { labels: None, places: multiplier.places(rows)? });
        };
        let scaled = || views().map(|(view, new)| view.preparation.scaled(new)).collect::<Result<Vec<_>>>();
        let one = |mut views: Vec<_>| if views.len() == 1 { views.remove(0) } else { Samples::side_by_side(views) };
        let scaled = step.features.as_ref().map(|_| scaled().map(one)).transpose()?;
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

/// What is known of new samples, by all views: a row of C_X is the weighted sum of the rows of the views.
fn known(
    views: &[FittedView],
    new: &[Samples<'_>],
    multiplier: &Multiplier,
    (recipe, votes): (&NewSamples<'_>, bool),
) -> Result<Vec<Known>> {
    let rows = |view: &FittedView, new: &Samples<'_>, recognised| {
        recipe.rows(&view.training, multiplier, (new, view.preparation.frame.as_ref()), recognised)
    };
    if let ([view], [new]) = (views, new) {
        return rows(view, new, Recognised::ByItself);
    }
    // Means over neighbours have no unit.
    let is_mean = matches!(recipe, NewSamples::Neighbors(_)) && (votes || matches!(multiplier, Multiplier::Places(_)));
    let mut sums = vec![vec![0.0; multiplier.width()]; new[0].len()];
    for (view, new) in views.iter().zip(new) {
        let factor = if is_mean { view.share } else { view.factor };
        for (sum, known) in sums.iter_mut().zip(rows(view, new, Recognised::ByAllViews)?) {
            let Known::Products(products) = known else { continue };
            sum.iter_mut().zip(products).for_each(|(sum, product)| *sum += factor * product);
        }
    }
    let seen = seen_before(views, new);
    let known = |(sum, seen): (Vec<f64>, Option<usize>)| seen.map_or(Known::Products(sum), Known::Seen);
    Ok(sums.into_iter().zip(seen).map(known).collect())
}

/// The training sample that each new one is, in all views, to the bit; only recipes of neighbours remember them all.
fn seen_before(views: &[FittedView], new: &[Samples<'_>]) -> Vec<Option<usize>> {
    let remembered = views.iter().map(|view| match &view.training {
        Training::Neighbors { samples } => Some(samples.view()),
        _ => None,
    });
    let Some(training) = remembered.collect::<Option<Vec<_>>>() else { return vec![None; new[0].len()] };
    let bits = |matrices: &[Matrix<'_, f32>], i: usize| -> Vec<u32> {
        // Zero is zero, whatever its sign.
        matrices.iter().flat_map(|matrix| matrix.row(i)).map(|value| (value + 0.0).to_bits()).collect()
    };
    let mut index = HashMap::new();
    for i in (0..training[0].rows()).rev() {
        index.insert(bits(&training, i), i);
    }
    let new: Vec<Matrix<'_, f32>> =
        views.iter().zip(new).map(|(view, samples)| view.preparation.single(samples)).collect();
    (0..new[0].rows()).map(|i| index.get(&bits(&new, i)).copied()).collect()
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
