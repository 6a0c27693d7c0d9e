//! UMAP's fuzzy simplicial set: how surely two samples are neighbours.
//!
//! With ρ_i the distance of the nearest neighbour, p_{j|i} = exp(−max(0, d_ij − ρ_i)/σ_i), σ_i such that a
//! row adds up to log₂ ξ, where umap-learn has ξ = k, the number of neighbours; the two directions of a pair are united as
//! probabilities, p + pᵀ − p·pᵀ. Other affinities have rows of one sum; here a sample counts by how many have it as a neighbour.
//! The search for σ follows umap-learn step by step, tolerance included: small memberships depend on
//! where exactly it stops.

use rayon::prelude::*;

use super::{
    Affinity, NeighborAffinity, NeighborWeights, Neighborhood, Pattern, check_neighbors_with_self, check_perplexity,
};
use crate::error::{Error, Result};
use crate::neighbors::{Metric, Neighbors};

/// Neighbours unless asked for, as in umap-learn; of a perplexity too, at least: graphs of fewer fall to pieces.
const NEIGHBORS: usize = 15;
const MAX_BISECTIONS: usize = 64;
const SUM_TOLERANCE: f64 = 1e-5;
/// σ is at least this share of the mean distance.
const LEAST_SCALE: f64 = 1e-3;

/// The recipe of UMAP's fuzzy simplicial set.
///
/// ```
/// use gromap::Matrix;
/// use gromap::affinity::{FuzzySet, InputAffinity};
/// let samples = Matrix::from_fn(40, 1, |i, _| (i * i) as f64);
/// let affinity = FuzzySet::default().build(&samples)?;
/// assert!(affinity.similarity.bounds().high.value <= 1.0);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FuzzySet {
    /// Neighbours of a sample as umap-learn counts them: the sample itself is one of them; `None` is the perplexity, at least 15,
    /// or all there are.
    pub neighbors: Option<usize>,
    /// ξ: a row adds up to its logarithm to base 2; `None` is the number of neighbours, as in umap-learn.
    pub perplexity: Option<f64>,
    /// The distance.
    pub metric: Metric,
}

impl Default for FuzzySet {
    fn default() -> Self {
        Self { neighbors: None, perplexity: None, metric: Metric::Euclidean }
    }
}

impl NeighborWeights for FuzzySet {
    fn neighborhood(&self, samples: usize) -> Neighborhood {
        Neighborhood { k: self.with_self(samples).saturating_sub(1), metric: self.metric }
    }

    fn weigh(&self, distances: &[f32], _: usize) -> Result<Vec<f64>> {
        let mean = distances.iter().map(|&d| f64::from(d)).sum::<f64>() / distances.len() as f64;
        Ok(surely(distances, self.goal(distances), mean))
    }
}

impl NeighborAffinity for FuzzySet {
    fn of_neighbors(&self, neighbors: &Neighbors) -> Result<Affinity> {
        let samples = neighbors.len();
        let sums: Vec<f64> = (0..samples).map(|i| neighbors.row(i).1.iter().map(|&d| f64::from(d)).sum()).collect();
        // umap-learn's rows begin with the sample itself, at distance 0.
        let mean = sums.iter().sum::<f64>() / (samples * (neighbors.k() + 1)) as f64;
        let rows: Vec<Vec<(u32, f32)>> = (0..samples)
            .into_par_iter()
            .map(|i| memberships(neighbors, i, self.goal(neighbors.row(i).1), mean))
            .collect();
        Ok(Pattern::new(neighbors)?.combine(&rows, |a, b| a + b - a * b)?.into())
    }

    fn check(&self, samples: usize) -> Result<()> {
        let with_self = self.with_self(samples);
        if let Some(perplexity) = self.perplexity {
            check_perplexity(perplexity, samples)?;
            if perplexity > with_self as f64 {
                let allowed = format!("at most {with_self}, the number of neighbours");
                return Err(Error::parameter("perplexity", perplexity, allowed));
            }
        }
        check_neighbors_with_self(with_self, samples)
    }
}

impl FuzzySet {
    fn with_self(&self, samples: usize) -> usize {
        let own = self.perplexity.map_or(NEIGHBORS, |perplexity| NEIGHBORS.max(perplexity.ceil() as usize));
        self.neighbors.unwrap_or(own.min(samples))
    }

    /// What a row of neighbours at these distances adds up to.
    fn goal(&self, distances: &[f32]) -> f64 {
        self.perplexity.unwrap_or((distances.len() + 1) as f64).log2()
    }
}

/// How surely each neighbour of sample i is one, by ascending columns.
fn memberships(neighbors: &Neighbors, i: usize, goal: f64, mean: f64) -> Vec<(u32, f32)> {
    let (columns, distances) = neighbors.row(i);
    let surely = surely(distances, goal, mean).into_iter().map(|membership| membership as f32);
    let mut row: Vec<(u32, f32)> = columns.iter().copied().zip(surely).collect();
    row.sort_unstable_by_key(|entry| entry.0);
    row
}

/// How surely neighbours at these distances, ascending, are neighbours; `mean` is a typical distance.
fn surely(distances: &[f32], goal: f64, mean: f64) -> Vec<f64> {
    let rho = f64::from(distances.iter().copied().find(|&d| d > 0.0).unwrap_or(0.0));
    let beyond: Vec<f64> = distances.iter().map(|&d| f64::from(d) - rho).collect();
    let members = (distances.len() + 1) as f64;
    let row_mean = distances.iter().map(|&d| f64::from(d)).sum::<f64>() / members;
    let least = LEAST_SCALE * if rho > 0.0 { row_mean } else { mean };
    let sigma = bandwidth(&beyond, goal).max(least);
    let membership = |beyond: f64| if beyond <= 0.0 || sigma == 0.0 { 1.0 } else { (-beyond / sigma).exp() };
    beyond.iter().map(|&b| membership(b)).collect()
}

/// σ with Σ exp(−beyond/σ) = goal, by bisection.
fn bandwidth(beyond: &[f64], goal: f64) -> f64 {
    let (mut low, mut high, mut sigma) = (0.0, f64::INFINITY, 1.0);
    for _ in 0..MAX_BISECTIONS {
        let sum: f64 = beyond.iter().map(|&b| if b > 0.0 { (-b / sigma).exp() } else { 1.0 }).sum();
        if (sum - goal).abs() < SUM_TOLERANCE {
            break;
        }
        if sum > goal {
            high = sigma;
        } else {
            low = sigma;
        }
        sigma = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * sigma };
    }
    sigma
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::InputAffinity;
    use crate::affinity::testing::{line, scattered, sparse_of};
    use crate::neighbors::nearest_neighbors;
    use crate::numeric::Matrix;
    use crate::similarity::{Similarity, Sparse};

    fn build(samples: &Matrix<'_, f32>, neighbors: usize) -> Sparse<'static, f32> {
        sparse_of(&FuzzySet { neighbors: Some(neighbors), ..FuzzySet::default() }.build(samples).expect("a fuzzy set"))
    }

    #[test]
    fn directed_rows_add_up_to_the_logarithm() {
        let neighbors = nearest_neighbors(&scattered(80, 3, 4), 9, Metric::Euclidean, 0).expect("neighbours");
        for i in 0..80 {
            let row = memberships(&neighbors, i, 10f64.log2(), 1.0);
            let sum: f64 = row.iter().map(|entry| f64::from(entry.1)).sum();
            assert!((sum - 10f64.log2()).abs() < 2e-5, "row {i}: {sum}");
            let nearest = neighbors.row(i).0[0];
            assert!(row.iter().any(|&(j, p)| j == nearest && p == 1.0));
        }
    }

    #[test]
    fn rows_of_a_perplexity_add_up_to_its_logarithm() {
        let recipe = FuzzySet { perplexity: Some(12.0), ..FuzzySet::default() };
        let k = |recipe: &FuzzySet, samples: usize| NeighborWeights::neighborhood(recipe, samples).k;
        assert_eq!((k(&recipe, 80), k(&recipe, 10)), (14, 9));
        assert_eq!(k(&FuzzySet { perplexity: Some(20.5), ..recipe }, 80), 20);
        let neighbors = nearest_neighbors(&scattered(80, 3, 4), 14, Metric::Euclidean, 0).expect("neighbours");
        for i in 0..80 {
            let sum: f64 = recipe.weigh(neighbors.row(i).1, 80).expect("a row").iter().sum();
            assert!((sum - 12f64.log2()).abs() < 2e-5, "row {i}: {sum}");
        }
        // As many neighbours as the perplexity: umap-learn's.
        let same = FuzzySet { neighbors: Some(10), perplexity: Some(10.0), ..FuzzySet::default() };
        let samples = scattered(80, 3, 4);
        assert_eq!(sparse_of(&same.build(&samples).expect("a fuzzy set")), build(&samples, 10));
        let refused = |perplexity, neighbors| {
            let recipe = FuzzySet { neighbors, perplexity: Some(perplexity), ..FuzzySet::default() };
            recipe.build(line(10)).map(|_| ()).expect_err("refused").to_string()
        };
        assert!(refused(9.0, None).contains("perplexity is 9") && refused(0.5, None).contains("perplexity is 0.5"));
        assert!(refused(6.0, Some(5)).contains("at most 5, the number of neighbours"));
    }

    #[test]
    fn the_union_is_symmetric_and_a_probability() {
        let set = build(&scattered(80, 3, 5), 10);
        assert!(set.is_symmetric() && set.bounds().low.value >= 0.0 && set.bounds().high.value <= 1.0);
    }

    /// `umap.umap_.fuzzy_simplicial_set` of umap-learn 0.5.12 on 0, 1, 4, 9, …, 49 with 4 neighbours.
    #[test]
    fn it_is_that_of_umap_learn() {
        let samples = Matrix::from_fn(8, 1, |i, _| (i * i) as f32);
        let set = build(&samples, 4);
        for (i, j, expected) in UMAP_LEARN {
            let (columns, values) = set.row(i);
            let found = columns.binary_search(&j).map_or(0.0, |at| f64::from(values[at]));
            assert!((found - expected).abs() <= 1e-5 * expected, "({i}, {j}): {found} {expected}");
        }
    }

    const UMAP_LEARN: [(usize, u32, f64); 15] = [
        (0, 1, 1.0),
        (0, 2, 0.871_729_97),
        (0, 3, 0.335_821_54),
        (1, 2, 1.0),
        (1, 3, 0.598_079_44),
        (2, 3, 1.0),
        (2, 4, 0.345_956_44),
        (3, 4, 1.0),
        (3, 5, 0.294_683_64),
        (4, 5, 1.0),
        (4, 6, 0.259_206_09),
        (4, 7, 0.397_746_24),
        (5, 6, 1.0),
        (5, 7, 0.602_259_04),
        (6, 7, 1.0),
    ];

    #[test]
    fn duplicates_and_bad_input() {
        let mut samples = line(20);
        for i in 0..10 {
            samples[(i, 0)] = 0.0;
        }
        let set = build(&samples, 5);
        assert!((0..20).all(|i| set.row(i).1.iter().all(|p| p.is_finite())));
        let refused = |neighbors: usize| {
            let recipe = FuzzySet { neighbors: Some(neighbors), ..FuzzySet::default() };
            recipe.build(line(10)).map(|_| ()).expect_err("refused").to_string()
        };
        assert!(refused(1).contains("neighbors is 1") && refused(11).contains("neighbors is 11"));
    }
}
