//! Which n: how many groups there are, and a table of numbers of prototypes to choose from.
//!
//! Samples are cut into many groups by the clustering of this crate, and groups are joined where the boundary between them is no
//! boundary (`boundaries.rs`). The same is done to a Gaussian of the same mean and covariance, in which there are none: its
//! weakest link says how weak a link may be by chance and by the shape of the cloud. Groups count as apart where less than half
//! as much crosses as there; n is the number of those that are left. No labels are asked for and nothing is fitted to any.
//!
//! What crosses is seen on the similarity of the method. For the default and for methods of all pairs that is the symmetric entropic affinity:
//! its rows have one sum and one perplexity, so that boundaries are compared like with like. On the default's own fuzzy set, whose
//! neighbourhoods are narrower, a group of a hundred samples falls into halves.

use super::boundaries::{Join, joined};
use super::options::{Common, GromovClustering, Parameters};
use super::preparation::{Projection, Scaling};
use super::prepared::{self, Prepared, Purpose};
use super::reference::{drawn, gaussian, rows_of};
use super::stability::jaccard;
use crate::data::{Data, Run, Samples};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::method::Method;
use crate::metrics;
use crate::numeric::Matrix;
use crate::observe::{Event, Stage, Stopping};
use crate::similarity::{Contents, Sparse};
use crate::solve::{Barycenter, Input, Settings, Solver};
use crate::start::{Ground, Start, without_gaps};
use crate::weights::{ViewWeights, WeightRule};

/// Groups that samples are cut into at first, and samples for each of them at least.
const FIRST_GROUPS: usize = 80;
const MOST_FIRST_GROUPS: usize = 320;
const SAMPLES_PER_GROUP: usize = 12;
/// Boundaries count where less than this share crosses of what crosses the weakest link of data without groups.
const SHARE: f64 = 0.5;
/// What that weakest link is at most, and where there are no samples to draw such data like: as much as crosses the middle.
const USUAL_LINK: f64 = 1.0;
/// Samples of the data without groups, of a half-sample, and of a silhouette, at most.
const MOST_REFERENCE: usize = 10_000;
const MOST_HALF: usize = 2_500;
const MOST_SILHOUETTE: usize = 2_000;
/// Half-samples for the stability of the table.
const HALVES: u64 = 5;
/// Clusters of all sizes are cut from one similarity.
const PURPOSE: Purpose = Purpose { is_fused: false, prototypes: None, loss: Loss::Kl };
/// Rounds of a descent for the table: it need not be exact.
const ROUNDS: usize = 15;
/// Numbers of groups that the table has beside the one suggested.
const PATH: [usize; 10] = [2, 3, 5, 8, 12, 20, 30, 50, 80, 120];

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// Number of prototypes n.
    pub prototypes: usize,
    /// How much of a group is found again in half of the samples: the mean Jaccard index; `None` without samples.
    pub stability: Option<f64>,
    /// The loss of the clusters; of one similarity, so that those of several n can be compared.
    pub loss: f64,
    /// The silhouette of the samples by their groups; `None` without samples.
    pub silhouette: Option<f64>,
}

/// How many prototypes to take, and why.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Suggestion {
    /// How many prototypes to take; 1 where there are no groups.
    pub prototypes: usize,
    /// How well the two groups of the suggestion that are linked best are linked: about 1 within a group, near 0 between groups that
    /// are apart. `None` for a single group.
    pub link: Option<f64>,
    /// The weakest link in data of the same mean and covariance without groups, at most 1.
    pub reference_link: f64,
    /// The path, by ascending n.
    pub table: Vec<Candidate>,
}

impl Suggestion {
    /// What to take and why, in one sentence.
    pub fn sentence(&self) -> String {
        let limit = SHARE * self.reference_link;
        match self.link {
            None => format!(
                "There are no groups to count: no boundary is crossed by less than {limit:.2} times what crosses the middle of \
                 a group, half of what data of the same covariance without groups show ({:.2}).",
                self.reference_link
            ),
            Some(link) => format!(
                "Take n = {}: so many groups are apart, with at most {link:.2} times as much crossing between them as \
                 through their middles, and less than {limit:.2} counts as apart, half of what data of the same covariance \
                 without groups show ({:.2}).",
                self.prototypes, self.reference_link
            ),
        }
    }
}

impl Parameters {
    /// Suggests a number of prototypes for data, with the method, perplexity and seed that these parameters have.
    ///
    /// ```
    /// use gromap::options::Parameters;
    /// use gromap::{GromovDr, Matrix};
    /// // Three groups of sixty samples.
    /// let even = |x: f64| 10.0 * (x - x.floor());
    /// let samples = Matrix::from_fn(180, 2, |i, j| even(i as f64 * [0.618, 0.755][j]) + 60.0 * (i % 3) as f64);
    /// let asked = Parameters::Map(GromovDr::builder().perplexity(10.0));
    /// assert_eq!(asked.suggest(&(&samples).into(), Default::default())?.prototypes, 3);
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn suggest(&self, data: &Data<'_>, run: Run<'_>) -> Result<Suggestion> {
        self.suggestion(data, run, true)
    }

    /// The same suggestion without its table, in a fraction of the time.
    pub fn count_groups(&self, data: &Data<'_>, run: Run<'_>) -> Result<Suggestion> {
        self.suggestion(data, run, false)
    }

    fn suggestion(&self, data: &Data<'_>, run: Run<'_>, with_table: bool) -> Result<Suggestion> {
        let samples = data.len();
        if samples < 2 * SAMPLES_PER_GROUP {
            let allowed = format!("at least {}, to tell groups from chance", 2 * SAMPLES_PER_GROUP);
            return Err(Error::parameter("number of samples", samples as f64, allowed));
        }
        let common = seen_by_neighbors(self.common(), samples);
        common.check()?;
        let clusters = GromovClustering { common: common.clone(), ..GromovClustering::builder(FIRST_GROUPS) };
        clusters.memory_plan(&data.shape()).check_room()?;
        prepared::run(&common, data, PURPOSE, run, |prepared, observer| {
            observer.on(&Event::Stage(Stage::Start));
            let cuts = Cuts::new(&common, prepared)?;
            let reference_link = match &cuts.ground.samples {
                Some(samples) => reference_link(&common, &samples.view().into())?,
                None => USUAL_LINK,
            };
            let (count, link) = cuts.groups_apart(SHARE * reference_link)?;
            let table = match with_table {
                true => cuts.table(&common, count)?,
                false => Vec::new(),
            };
            Ok(Suggestion { prototypes: count, link, reference_link, table })
        })
    }
}

/// The options with which boundaries are looked at: what crosses one is seen among neighbours alone, fewer than there are samples.
fn seen_by_neighbors(common: &Common, samples: usize) -> Common {
    let mut common = common.clone();
    if common.method == Method::default() || !common.recipe().is_local() {
        common.method = Method::TSnekhorn;
    }
    common.loss = Some(Loss::Kl);
    common.init = Start::Agglomerative;
    common.rule = WeightRule::default();
    common.settings.solver = Solver::Vertex;
    common.settings.stopping = Stopping { max_rounds: ROUNDS, rel_tolerance: 1e-6, abs_tolerance: 0.0 };
    fit_to_size(&mut common, samples);
    common
}

/// Lowers perplexities and neighbours that so few samples do not allow.
pub(super) fn fit_to_size(common: &mut Common, samples: usize) {
    let most = ((samples as f64 - 1.0) / 4.0).max(1.5);
    common.perplexities.iter_mut().for_each(|perplexity| *perplexity = perplexity.min(most));
    common.neighbors = common.neighbors.map(|k| k.min(samples - 1));
}

/// Clusters of the samples that are looked at, on one similarity.
struct Cuts<'a> {
    ground: Ground<'a>,
    similarity: &'a Sparse<'a, f32>,
    settings: Settings,
}

impl<'a> Cuts<'a> {
    fn new(common: &Common, prepared: &'a Prepared<'_>) -> Result<Self> {
        let ground = prepared.ground(common, Loss::Kl);
        let Contents::Sparse(similarity) = ground.similarity.contents() else {
            let message =
                "groups are counted among neighbours: give samples, distances, a graph or a sparse similarity";
            return Err(Error::Unsupported(message.into()));
        };
        Ok(Self { ground, similarity, settings: common.settings })
    }

    /// So many clusters, without gaps in their numbers, and their loss.
    fn clusters(&self, count: usize) -> Result<(Vec<u32>, usize, f64)> {
        let start = Start::Agglomerative.plan(&self.ground, count, self.settings.seed)?;
        let input = Input::new(self.similarity).sample_weights(self.ground.weights.clone()).start(start);
        let found = Barycenter::new(vec![input], count).loss(Loss::Kl).settings(self.settings).solve()?;
        let (labels, used) = without_gaps(&found.plans[0].labels(), self.ground.weights);
        Ok((labels, used, found.outcome.loss))
    }

    /// Many groups, joined again where there is no boundary.
    fn joins(&self, first: usize) -> Result<Vec<Join>> {
        let (labels, used, _) = self.clusters(first)?;
        joined(self.similarity, self.ground.weights, &labels, used)
    }

    /// How many groups are linked by less than `limit`, and how well those that are linked best. More groups are begun with
    /// where so many are left that some may not have been cut at all.
    fn groups_apart(&self, limit: f64) -> Result<(usize, Option<f64>)> {
        let most = (self.ground.weights.len() / SAMPLES_PER_GROUP).min(MOST_FIRST_GROUPS);
        let mut first = FIRST_GROUPS.min(most);
        loop {
            let joins = self.joins(first)?;
            let (count, link) = match joins.iter().position(|join| join.link < limit) {
                Some(at) => (joins.len() + 1 - at, Some(joins[at].link)),
                None => (1, None),
            };
            if 2 * count <= first || first == most {
                return Ok((count, link));
            }
            first = (2 * first).min(most);
        }
    }

    /// The table: around the suggested number, and from few to many.
    fn table(&self, common: &Common, suggested: usize) -> Result<Vec<Candidate>> {
        let most = self.ground.weights.len() / SAMPLES_PER_GROUP;
        let mut sizes: Vec<usize> = PATH.into_iter().filter(|&n| n <= most && n <= 4 * suggested.max(5)).collect();
        sizes.extend((suggested > 1).then_some(suggested));
        sizes.sort_unstable();
        sizes.dedup();
        let found = sizes.iter().map(|&n| self.clusters(n)).collect::<Result<Vec<_>>>()?;
        let labels: Vec<&[u32]> = found.iter().map(|(labels, ..)| &labels[..]).collect();
        let stabilities = self.ground.samples.as_ref().map(|samples| {
            let samples = samples.view().into();
            stabilities(common, &samples, &sizes, &labels)
        });
        let stabilities = stabilities.transpose()?;
        let row = |(at, (labels, _, loss)): (usize, &(Vec<u32>, usize, f64))| {
            let silhouette = self.ground.samples.as_ref().and_then(|samples| silhouette(samples, labels));
            let stability = stabilities.as_ref().map(|all| all[at]);
            Candidate { prototypes: sizes[at], stability, loss: *loss, silhouette }
        };
        Ok(found.iter().enumerate().map(row).collect())
    }
}

/// The same for samples that are scaled, projected and of one view.
fn of_ready_samples(common: &Common) -> Common {
    let view_weights = ViewWeights::default();
    Common { scale: Scaling::None, pca: Projection::None, view_weights, ..common.clone() }
}

/// The weakest link in a Gaussian of the same mean and covariance.
fn reference_link(common: &Common, samples: &Samples<'_>) -> Result<f64> {
    let count = samples.len().min(MOST_REFERENCE);
    let alike = gaussian(samples, count, common.settings.seed)?;
    let mut common = of_ready_samples(common);
    fit_to_size(&mut common, count);
    let data = Data::from(&alike);
    let links = prepared::run(&common, &data, PURPOSE, Run::default(), |prepared, _| {
        Cuts::new(&common, prepared)?.joins(FIRST_GROUPS.min(count / SAMPLES_PER_GROUP))
    })?;
    Ok(links.iter().map(|join| join.link).fold(USUAL_LINK, f64::min))
}

/// How much of the groups of every size is found again in half of the samples: mean Jaccard indices.
fn stabilities(common: &Common, samples: &Samples<'_>, sizes: &[usize], labels: &[&[u32]]) -> Result<Vec<f64>> {
    let mut common = of_ready_samples(common);
    let count = (samples.len() / 2).min(MOST_HALF);
    fit_to_size(&mut common, count);
    let mut sums = vec![0.0; sizes.len()];
    for turn in 0..HALVES {
        let taken = drawn(samples.len(), count, common.settings.seed.wrapping_add(turn));
        let half = Data::Samples(rows_of(samples, &taken));
        prepared::run(&common, &half, PURPOSE, Run::default(), |prepared, _| {
            let cuts = Cuts::new(&common, prepared)?;
            for (at, &size) in sizes.iter().enumerate() {
                let (found, ..) = cuts.clusters(size.min(count))?;
                let before: Vec<u32> = taken.iter().map(|&i| labels[at][i]).collect();
                let groups: Vec<f64> = jaccard(&before, &found).into_iter().flatten().collect();
                sums[at] += groups.iter().sum::<f64>() / groups.len().max(1) as f64 / HALVES as f64;
            }
            Ok(())
        })?;
    }
    Ok(sums)
}

/// The silhouette of some of the samples; `None` where it is not defined.
fn silhouette(samples: &Matrix<'_, f32>, labels: &[u32]) -> Option<f64> {
    let taken = drawn(labels.len(), MOST_SILHOUETTE, 0);
    let points = Matrix::from_fn(taken.len(), samples.columns(), |i, j| f64::from(samples[(taken[i], j)]));
    let labels: Vec<u32> = taken.iter().map(|&i| labels[i]).collect();
    metrics::silhouette(&points, &labels).ok()
}
