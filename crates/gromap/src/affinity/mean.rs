//! The mean of several similarities of neighbours, such as those of several perplexities: near and far at once.
//!
//! Neighbours are sought once, as many as the widest of them looks at; the others take the nearest of these.

use super::{Affinity, NeighborAffinity, NeighborWeights, Neighborhood};
use crate::error::{Error, Result};
use crate::neighbors::Neighbors;
use crate::similarity::{Contents, Sparse};

/// The mean of recipes of one kind.
///
/// ```
/// use gromap::Matrix;
/// use gromap::affinity::{Entropic, InputAffinity, Mean};
/// let scale = |perplexity| Entropic { perplexity, ..Entropic::default() };
/// let samples = Matrix::from_fn(40, 1, |i, _| (i * i) as f64);
/// assert_eq!(Mean(vec![scale(3.0), scale(9.0)]).build(&samples)?.similarity.len(), 40);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mean<R>(pub Vec<R>);

impl<R: NeighborAffinity> NeighborWeights for Mean<R> {
    fn neighborhood(&self, samples: usize) -> Neighborhood {
        let widest = self.0.iter().map(|part| part.neighborhood(samples)).max_by_key(|near| near.k);
        widest.unwrap_or(Neighborhood { k: 0, metric: Default::default() })
    }

    fn weigh(&self, distances: &[f32], samples: usize) -> Result<Vec<f64>> {
        let share = 1.0 / self.0.len() as f64;
        let mut weights = vec![0.0; distances.len()];
        for part in &self.0 {
            let row = part.weigh(distances, samples)?;
            weights.iter_mut().zip(row).for_each(|(weight, p)| *weight += share * p);
        }
        Ok(weights)
    }
}

impl<R: NeighborAffinity> NeighborAffinity for Mean<R> {
    fn of_neighbors(&self, neighbors: &Neighbors) -> Result<Affinity> {
        if let [only] = &self.0[..] {
            return only.of_neighbors(neighbors);
        }
        let (mut similarities, mut warnings) = (Vec::new(), Vec::new());
        for part in &self.0 {
            let near = neighbors.nearest(part.neighborhood(neighbors.len()).k);
            let affinity = part.of_neighbors(&near)?;
            similarities.push(affinity.similarity);
            warnings.extend(affinity.warnings);
        }
        let share = 1.0 / similarities.len() as f64;
        let weighted = similarities.iter().map(|similarity| match similarity.contents() {
            Contents::Sparse(sparse) => Ok((share, sparse)),
            _ => Err(Error::Unsupported("only sparse similarities can be averaged".into())),
        });
        let mean = Sparse::weighted_sum(&weighted.collect::<Result<Vec<_>>>()?)?;
        Ok(Affinity { warnings, ..mean.into() })
    }

    fn check(&self, samples: usize) -> Result<()> {
        if self.0.is_empty() {
            return Err(Error::parameter("number of perplexities", 0.0, "at least 1"));
        }
        self.0.iter().try_for_each(|part| part.check(samples))
    }

    /// Each part is kept until the mean is made, and so are the rows of the mean until they are put together.
    fn bytes_per_entry(&self) -> (u64, u64) {
        let (making, kept) = self.0.first().map_or((0, 0), |part| part.bytes_per_entry());
        if self.0.len() < 2 {
            return (making, kept);
        }
        // Each has as many entries as it looks at neighbours; the widest counts.
        let k = |part: &R| part.neighborhood(usize::MAX).k as f64;
        let widest = self.0.iter().map(k).fold(1.0, f64::max);
        let parts = self.0.iter().map(|part| k(part) / widest).sum::<f64>();
        (making + (parts * kept as f64).ceil() as u64 + 8, kept)
    }
}
