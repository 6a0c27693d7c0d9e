//! What a recipe is given to build C_X from: samples or distances, and their neighbours for the asking.

use super::Neighborhood;
use crate::data::{Data, Samples, either};
use crate::error::{Error, Result};
use crate::neighbors::{Metric, Neighbors, nearest_neighbors};
use crate::numeric::{Matrix, Scalar};
use crate::observe::{Event, Observer, Stage};
use crate::preprocessing::{Frame, scale_for};

/// Samples or distances on their way into a similarity.
pub struct Source<'a> {
    points: Points<'a>,
    observer: &'a mut dyn Observer,
}

/// What is known of the samples.
enum Points<'a> {
    Samples(&'a Samples<'a>),
    Distances(&'a Samples<'a>),
}

impl<'a> Source<'a> {
    /// Refuses samples that no similarity can tell apart, and distances that are not N×N.
    pub(crate) fn new(data: &'a Data<'a>, observer: &'a mut dyn Observer) -> Result<Self> {
        let points = match data {
            Data::Samples(samples) => {
                check_samples(samples)?;
                Points::Samples(samples)
            }
            Data::Distances(distances) => {
                Error::check_len("columns of the distances", distances.len(), distances.columns())?;
                Points::Distances(distances)
            }
            Data::Similarity { .. } | Data::Graph(_) | Data::Views(_) => {
                return Err(Error::Unsupported("a similarity that is given is not made from anything".into()));
            }
        };
        Ok(Self { points, observer })
    }

    /// Number of samples N.
    #[allow(clippy::len_without_is_empty)] // there are samples
    pub fn len(&self) -> usize {
        match &self.points {
            Points::Samples(points) | Points::Distances(points) => points.len(),
        }
    }

    /// The samples; refused where there are only distances.
    pub fn samples(&mut self) -> Result<&'a Samples<'a>> {
        self.observer.on(&Event::Stage(Stage::Affinity));
        match self.points {
            Points::Samples(samples) => Ok(samples),
            Points::Distances(_) => {
                Err(Error::Unsupported("this similarity is made from samples, not from distances".into()))
            }
        }
    }

    /// The distances, if these are what there is.
    pub fn distances(&self) -> Option<&'a Samples<'a>> {
        match self.points {
            Points::Distances(distances) => Some(distances),
            Points::Samples(_) => None,
        }
    }

    /// What the distances of neighbours are multiplied by, so that single precision holds their squares: a power of two, 1
    /// for samples of ordinary size.
    pub fn unit(&self, metric: Metric) -> f64 {
        let scale = match self.points {
            Points::Samples(samples) => frame(samples, metric).scale(),
            Points::Distances(distances) => scale_of(distances),
        };
        match metric {
            Metric::SquaredEuclidean => scale * scale,
            Metric::Euclidean | Metric::Manhattan => scale,
            Metric::Cosine => 1.0,
        }
    }

    /// The nearest neighbours of every sample, a stage of its own, their distances times the [`unit`](Self::unit). Given
    /// distances are Euclidean ones, or stand for them.
    pub fn neighbors(&mut self, Neighborhood { k, metric }: Neighborhood) -> Result<Neighbors> {
        self.observer.on(&Event::Stage(Stage::Neighbors));
        let neighbors = match self.points {
            Points::Samples(samples) => nearest_neighbors(&frame(samples, metric).single(samples), k, metric, 0)?,
            Points::Distances(distances) => {
                let near = match scale_of(distances) {
                    1.0 => either!(distances, |distances| Neighbors::from_distances(distances, k))?,
                    scale => Neighbors::from_distances(&scaled(distances, scale), k)?,
                };
                if metric == Metric::SquaredEuclidean { near.squared()? } else { near }
            }
        };
        self.observer.on(&Event::Stage(Stage::Affinity));
        Ok(neighbors)
    }
}

/// How samples enter single precision. The cosine is one of directions from zero, which has to stay where it is.
fn frame(samples: &Samples<'_>, metric: Metric) -> Frame {
    if metric == Metric::Cosine { Frame::in_place(samples) } else { Frame::of(samples) }
}

/// What given distances are multiplied by.
fn scale_of(distances: &Samples<'_>) -> f64 {
    let largest = either!(distances, |m| m.values().iter().fold(0.0f64, |most, value| most.max(value.to_f64())));
    scale_for(0.5 * largest)
}

fn scaled(distances: &Samples<'_>, scale: f64) -> Matrix<'static> {
    either!(distances, |m| Matrix::from_fn(m.rows(), m.columns(), |i, j| scale * m[(i, j)].to_f64()))
}

/// Refuses samples that no similarity can tell apart.
fn check_samples(samples: &Samples<'_>) -> Result<()> {
    samples.check_finite("samples")?;
    if samples.len() < 2 || samples.columns() == 0 {
        let smallest = samples.len().min(samples.columns());
        return Err(Error::parameter("size of the samples", smallest as f64, "at least 2 rows and 1 column"));
    }
    let is_equal = either!(samples, |m| (1..m.rows()).all(|i| m.row(i) == m.row(0)));
    if is_equal {
        return Err(Error::parameter("number of different samples", 1.0, "at least 2: all samples are equal"));
    }
    Ok(())
}
