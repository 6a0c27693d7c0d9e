//! The nearest neighbours of every sample.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::scalar::Scalar;

/// How far two samples are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// ‖x − y‖²
    SquaredEuclidean,
    /// ‖x − y‖
    Euclidean,
    /// 1 − x·y / (‖x‖·‖y‖)
    Cosine,
    /// Σ|x − y|
    Manhattan,
}

/// The k nearest neighbours of every sample, itself left out, ascending by (distance, index).
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbors {
    k: usize,
    indices: Vec<u32>,
    distances: Vec<f32>,
}

impl Neighbors {
    /// Takes N×k indices and distances, row after row.
    pub fn new(k: usize, indices: Vec<u32>, distances: Vec<f32>) -> Result<Self> {
        Error::check_len("number of neighbour distances", indices.len(), distances.len())?;
        if k == 0 || !indices.len().is_multiple_of(k) {
            return Err(Error::parameter("neighbors", k as f64, "a positive divisor of the number of indices"));
        }
        let samples = indices.len() / k;
        for (i, (row, lengths)) in indices.chunks_exact(k).zip(distances.chunks_exact(k)).enumerate() {
            if let Some(&j) = row.iter().find(|&&j| j as usize >= samples || j as usize == i) {
                let allowed = format!("another sample than {i}, and less than {samples}");
                return Err(Error::parameter("neighbour index", f64::from(j), allowed));
            }
            if let Some(column) = lengths.iter().position(|d| !d.is_finite() || *d < 0.0) {
                let value = f64::from(lengths[column]);
                return Err(Error::NotFinite { what: "neighbour distances", row: i, column, value });
            }
        }
        Ok(Self { k, indices, distances })
    }

    /// Every other sample is looked at.
    pub fn brute_force<S: Scalar>(samples: &Matrix<'_, S>, k: usize, metric: Metric) -> Result<Self> {
        samples.check_finite("samples")?;
        let n = samples.rows();
        if k == 0 || k >= n {
            return Err(Error::parameter(
                "neighbors",
                k as f64,
                format!("at least 1 and less than {n}, the number of samples"),
            ));
        }
        let rows: Vec<Vec<(f32, u32)>> = (0..n)
            .into_par_iter()
            .map(|i| {
                let others = (0..n).filter(|&j| j != i);
                let mut row: Vec<(f32, u32)> =
                    others.map(|j| (distance(samples.row(i), samples.row(j), metric) as f32, j as u32)).collect();
                let ascending = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
                if k < row.len() {
                    row.select_nth_unstable_by(k, ascending);
                    row.truncate(k);
                }
                row.sort_unstable_by(ascending);
                row
            })
            .collect();
        let indices = rows.iter().flatten().map(|entry| entry.1).collect();
        let distances = rows.iter().flatten().map(|entry| entry.0).collect();
        Self::new(k, indices, distances)
    }

    /// Number of samples N.
    #[allow(clippy::len_without_is_empty)] // neighbours of no samples do not exist
    pub fn len(&self) -> usize {
        self.indices.len() / self.k
    }

    /// Number of neighbours of a sample.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The neighbours of sample i and their distances, nearest first.
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let range = i * self.k..(i + 1) * self.k;
        (&self.indices[range.clone()], &self.distances[range])
    }
}

impl Metric {
    /// The distance of two samples.
    pub(crate) fn between<S: Scalar>(self, x: &[S], y: &[S]) -> f64 {
        distance(x, y, self)
    }
}

fn distance<S: Scalar>(x: &[S], y: &[S], metric: Metric) -> f64 {
    let pairs = || x.iter().zip(y).map(|(a, b)| (a.to_f64(), b.to_f64()));
    match metric {
        Metric::SquaredEuclidean => pairs().map(|(a, b)| (a - b).powi(2)).sum(),
        Metric::Euclidean => pairs().map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
        Metric::Manhattan => pairs().map(|(a, b)| (a - b).abs()).sum(),
        Metric::Cosine => {
            let (mut dot, mut xx, mut yy) = (0.0, 0.0, 0.0);
            pairs().for_each(|(a, b)| {
                dot += a * b;
                xx += a * a;
                yy += b * b;
            });
            // A sample of length zero has no direction: NaN, which is refused.
            let distance = 1.0 - dot / (xx * yy).sqrt();
            if distance < 0.0 { 0.0 } else { distance }
        }
    }
}
