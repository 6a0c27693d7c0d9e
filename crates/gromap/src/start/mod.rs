//! Where a fit starts. The problem is not convex, so the start decides the result, and the lowest loss is
//! the best labelling.
//!
//! | start | what it does |
//! |---|---|
//! | agglomerative | over-clusters into n₀ groups, some 600 or 3n, and merges those that lose least |
//! | spectral | k-means on the leading eigenvectors of the similarity |
//! | k-means | k-means on the samples |
//! | random | the paper's: rows drawn uniformly; labels for vertex descent |
//!
//! A map of neighbours tries more partitions of the same groups before it begins (`model/coarse.rs`).
//!
//! Without samples (a given similarity) k-means runs on the leading eigenvectors of the similarity.

mod agglomeration;
mod search;

pub(crate) use search::similarity_of_groups;

use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::numeric::Matrix;
use crate::numeric::kmeans::KMeans;
use crate::numeric::spectrum::leading_of_similarity;
use crate::plan::{Plan, check_prototypes};
use crate::similarity::Similarity;
use crate::solve::Solver;
use crate::transport::{PlanSummary, Products};
use crate::weights::SampleWeights;

/// Where a fit starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Start {
    /// Agglomerative for similarities of neighbours, k-means for the others; clusters of a graph are the lower of agglomerative
    /// and spectral, and those of more than 10,000 nodes spectral alone.
    #[default]
    Auto,
    /// Greedy merging of small groups by the loss itself.
    Agglomerative,
    /// k-means on the leading eigenvectors of the similarity.
    Spectral,
    /// k-means on the samples.
    KMeans,
    /// Uniform random rows, or labels for vertex descent.
    Random,
    /// This plan.
    Plan(Plan),
}

/// Groups to merge from, at least and for every prototype.
const LEAST_GROUPS: usize = 600;
const GROUPS_PER_PROTOTYPE: usize = 3;
/// Samples in a group, on average, unless prototypes are that many.
const SAMPLES_PER_GROUP: usize = 5;
/// More groups than this are not worth their n₀² table: so many prototypes are not merged from groups but begin as groups.
const MOST_GROUPS: usize = 3000;
/// Rounds of k-means: groups need not be exact, and of many of them hardly one changes after a few.
pub(crate) const ROUNDS: usize = 20;
const MANY: usize = 1500;
const ROUNDS_OF_MANY: usize = 5;
/// Where there are no samples, k-means runs on the leading eigenvectors of the similarity: at most this many, and, for
/// small groups, one for this many samples. With as many eigenvectors as samples, all samples would be equally far apart.
const MOST_EIGENVECTORS: usize = 50;
const SAMPLES_PER_EIGENVECTOR: usize = 8;

/// What a start is made from.
pub(crate) struct Ground<'a> {
    pub(crate) similarity: &'a dyn Similarity,
    /// The samples as neighbours were sought among them, if there are any.
    pub(crate) samples: Option<Matrix<'a, f32>>,
    pub(crate) weights: &'a SampleWeights,
    pub(crate) loss: Loss,
    /// Whether the similarity links neighbours only.
    pub(crate) is_local: bool,
    /// Whether weights are those of the nodes of a graph, which a given plan does not know.
    pub(crate) is_graph: bool,
    pub(crate) solver: Solver,
}

impl Start {
    /// A plan of n prototypes; given plans are checked.
    pub(crate) fn plan(&self, ground: &Ground<'_>, prototypes: usize, seed: u64) -> Result<Plan> {
        let weights = ground.weights;
        check_prototypes(prototypes, weights.len())?;
        let labels = match self {
            Self::Plan(plan) if ground.is_graph => {
                Error::check_len("rows of the plan", weights.len(), plan.len())?;
                return Plan::from_labels(plan.labels(), prototypes, weights.clone());
            }
            Self::Plan(plan) => {
                crate::solve::check_start(plan, prototypes, weights)?;
                return Ok(plan.clone());
            }
            Self::Random if ground.solver == Solver::Vertex => {
                return Plan::random_labels(prototypes, weights.clone(), seed);
            }
            Self::Random => return Plan::random(prototypes, weights.clone(), seed),
            Self::Auto if ground.is_local => ground.agglomerate(prototypes, seed)?,
            Self::Agglomerative => ground.agglomerate(prototypes, seed)?,
            Self::Auto | Self::KMeans => ground.cluster(&ground.coordinates(prototypes)?, prototypes, seed)?,
            Self::Spectral => ground.cluster(&ground.eigenvectors(prototypes)?, prototypes, seed)?,
        };
        Plan::from_labels(labels, prototypes, weights.clone())
    }
}

impl Ground<'_> {
    fn cluster(&self, points: &Matrix<'_, f32>, clusters: usize, seed: u64) -> Result<Vec<u32>> {
        let max_rounds = if clusters > MANY { ROUNDS_OF_MANY } else { ROUNDS };
        KMeans { clusters, max_rounds, seed }.labels(points, self.weights)
    }

    fn coordinates(&self, prototypes: usize) -> Result<Matrix<'_, f32>> {
        match &self.samples {
            Some(samples) => Ok(samples.view()),
            None => self.eigenvectors(prototypes),
        }
    }

    /// Leading eigenvectors: of a similarity of neighbours normalised by its degrees, and rows of length
    /// one; of another as it is, scaled by the roots of the eigenvalues.
    fn eigenvectors(&self, prototypes: usize) -> Result<Matrix<'static, f32>> {
        let size = self.similarity.len();
        let wanted = prototypes.clamp(2, MOST_EIGENVECTORS).min(size);
        if !self.is_local {
            let found = leading_of_similarity(self.similarity, None, wanted)?;
            let root = |c: usize| found.values[c].max(0.0).sqrt();
            return Ok(Matrix::from_fn(size, wanted, |i, c| (found.vectors[(i, c)] * root(c)) as f32));
        }
        // Nodes of a graph count by their weight: a pair of them has h_i·C_X[ij]·h_j, of which the degree is h_i·(C_X·h)_i.
        let count = |i: usize| if self.is_graph { self.weights[i] } else { 1.0 };
        let counts = Matrix::from_fn(size, 1, |i, _| count(i));
        let direct = self.similarity.times(&counts, crate::similarity::Side::Direct);
        let other = self.similarity.times(&counts, crate::similarity::Side::Transposed);
        let degrees = direct.values().iter().zip(other.values()).map(|(a, b)| 0.5 * (a + b));
        let over = |(i, degree): (usize, f64)| if degree > 0.0 { count(i) / degree } else { 0.0 };
        let weights: Vec<f64> = degrees.enumerate().map(over).collect();
        let found = leading_of_similarity(self.similarity, Some(&weights), wanted)?;
        let length = |i: usize| found.vectors.row(i).iter().map(|v| v * v).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        Ok(Matrix::from_fn(size, wanted, |i, c| (found.vectors[(i, c)] / length(i)) as f32))
    }

    /// Splits the heaviest clusters in two, by k-means, until there are `clusters`.
    pub(crate) fn split(&self, labels: &[u32], found: usize, clusters: usize, seed: u64) -> Result<Plan> {
        let points = self.coordinates(self.weights.len() / SAMPLES_PER_EIGENVECTOR)?;
        let mut labels = labels.to_vec();
        for new in found..clusters {
            let mut weights = vec![(0.0, 0); new];
            for (&label, weight) in labels.iter().zip(self.weights.iter()) {
                weights[label as usize].0 += weight;
                weights[label as usize].1 += 1;
            }
            // A cluster of a single sample cannot be split, whatever it weighs.
            let heavier = |best: usize, k: usize| {
                if weights[k].1 > 1 && (weights[best].1 < 2 || weights[k].0 > weights[best].0) { k } else { best }
            };
            let heaviest = (0..new).fold(0, heavier) as u32;
            let members: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == heaviest).collect();
            let rows = Matrix::from_fn(members.len(), points.columns(), |i, j| points[(members[i], j)]);
            let own: Vec<f64> = members.iter().map(|&i| self.weights[i]).collect();
            let halves = KMeans { clusters: 2.min(members.len()), max_rounds: ROUNDS, seed }.labels(&rows, &own)?;
            members.iter().zip(halves).filter(|(_, half)| *half == 1).for_each(|(&i, _)| labels[i] = new as u32);
        }
        Plan::from_labels(labels, clusters, self.weights.clone())
    }

    /// Over-clusters, merges, and lets groups move.
    fn agglomerate(&self, prototypes: usize, seed: u64) -> Result<Vec<u32>> {
        if most_groups(self.weights.len(), prototypes) <= prototypes {
            return self.small_groups(prototypes, seed);
        }
        let groups = self.groups(prototypes, seed)?;
        Ok(groups.samples(&groups.merged(self.loss, prototypes, seed)?))
    }

    /// Small groups of samples that are close: a few for every prototype.
    pub(crate) fn groups(&self, prototypes: usize, seed: u64) -> Result<SampleGroups> {
        let labels = self.small_groups(most_groups(self.weights.len(), prototypes), seed)?;
        let (labels, groups) = without_gaps(&labels, self.weights);
        let plan = Plan::from_labels(labels.clone(), groups, self.weights.clone())?;
        let summary = PlanSummary::new(&plan, &Products::new(self.similarity, &plan));
        Ok(SampleGroups { labels, summary })
    }

    /// So many of them.
    fn small_groups(&self, groups: usize, seed: u64) -> Result<Vec<u32>> {
        let samples = self.weights.len();
        if groups == samples {
            return Ok((0..samples as u32).collect());
        }
        self.cluster(&self.coordinates(samples / SAMPLES_PER_EIGENVECTOR)?, groups, seed)
    }
}

/// Samples in groups.
pub(crate) struct SampleGroups {
    /// The group of every sample.
    labels: Vec<u32>,
    pub(crate) summary: PlanSummary,
}

impl SampleGroups {
    /// Labels of the groups: those merged that lose least, as far as such a partition is found.
    pub(crate) fn merged(&self, loss: Loss, clusters: usize, seed: u64) -> Result<Vec<u32>> {
        let groups = self.summary.weights.len();
        if groups <= clusters {
            return Ok((0..groups as u32).collect());
        }
        search::partition(&self.summary, loss, clusters, seed)
    }

    /// Labels of the samples, from those of their groups.
    pub(crate) fn samples(&self, of_groups: &[u32]) -> Vec<u32> {
        self.labels.iter().map(|&group| of_groups[group as usize]).collect()
    }
}

/// Groups that the agglomerative start merges.
pub(crate) fn most_groups(samples: usize, prototypes: usize) -> usize {
    let groups = LEAST_GROUPS.min(samples / SAMPLES_PER_GROUP).max(GROUPS_PER_PROTOTYPE.saturating_mul(prototypes));
    groups.min(MOST_GROUPS).max(prototypes).min(samples)
}

/// Renames labels so that every name has weight; samples without weight join the first group.
pub(crate) fn without_gaps(labels: &[u32], weights: &[f64]) -> (Vec<u32>, usize) {
    let largest = labels.iter().copied().max().unwrap_or(0) as usize;
    let mut names = vec![None; largest + 1];
    let mut count = 0;
    for (&label, _) in labels.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        names[label as usize].get_or_insert_with(|| {
            count += 1;
            count - 1
        });
    }
    (labels.iter().map(|&label| names[label as usize].unwrap_or(0)).collect(), count as usize)
}
