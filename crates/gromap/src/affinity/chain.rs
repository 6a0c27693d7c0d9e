//! A similarity for the tests alone: every neighbour counts 1. With its row in `method.rs` and its word in `vocabulary.rs`
//! it makes a method, which proves that nothing else has to know of a new one.

use super::{Affinity, NeighborAffinity, NeighborWeights, Neighborhood, Pattern};
use crate::error::Result;
use crate::neighbors::{Metric, Neighbors};

/// Every neighbour counts 1.
pub(crate) struct Chain {
    pub(crate) neighbors: usize,
}

impl NeighborWeights for Chain {
    fn neighborhood(&self, _: usize) -> Neighborhood {
        Neighborhood { k: self.neighbors, metric: Metric::Euclidean }
    }

    fn weigh(&self, distances: &[f32], _: usize) -> Result<Vec<f64>> {
        Ok(vec![1.0; distances.len()])
    }
}

impl NeighborAffinity for Chain {
    fn of_neighbors(&self, neighbors: &Neighbors) -> Result<Affinity> {
        let pattern = Pattern::new(neighbors)?;
        let ones = vec![1.0; pattern.stored()];
        Ok(pattern.with_values(ones)?.into())
    }

    fn check(&self, _: usize) -> Result<()> {
        Ok(())
    }
}
