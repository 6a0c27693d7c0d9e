//! How sure the groups of a model are: refits on halves of the samples, matched to the model.
//!
//! Of every prototype k the group that covers it best is looked for among those of a refit, by the Jaccard index on the samples
//! that both have seen,
//!
//! ```text
//! J_k = max_l |k ∩ l| / |k ∪ l|,      averaged over refits
//! ```
//!
//! and of every sample the share of its group that is still with it. Both are 1 for groups that are always found, but groups of
//! data without any are found again to some degree too (half of a line is half of a line). So the same is done to a
//! Gaussian of the same mean and covariance, fitted alike: prototypes whose index its prototypes reach as well are no better
//! than chance.

use super::options::Parameters;
use super::reference::{drawn, gaussian, rows_of};
use super::suggest::fit_to_size;
use super::{FittedTo, Model};
use crate::data::{Data, Run, Samples};
use crate::error::{Error, Result};
use crate::observe::{Event, Flow, Observer, Stage};
use crate::start::Start;
use crate::table::Encoding;

/// Refits of the data without groups, at most.
const MOST_REFERENCE: usize = 5;
/// The share of its prototypes that one must be better than.
const QUANTILE: f64 = 0.95;

/// How sure the groups of a model are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stability {
    /// For every prototype, how much of it refits find again: the mean Jaccard index, from 0 to 1.
    pub prototypes: Vec<f64>,
    /// For every sample, the share of its group that is with it in refits; NaN where no half-sample had it.
    pub samples: Vec<f64>,
    /// The index that chance reaches: that of 95 in 100 prototypes in data of the same covariance without groups.
    pub reference: f64,
    /// Refits done.
    pub resamples: usize,
}

impl Stability {
    /// The mean index of the prototypes.
    pub fn mean(&self) -> f64 {
        self.prototypes.iter().sum::<f64>() / self.prototypes.len().max(1) as f64
    }

    /// Prototypes that are no better than those of data without groups.
    pub fn doubtful(&self) -> Vec<usize> {
        (0..self.prototypes.len()).filter(|&k| self.prototypes[k] <= self.reference).collect()
    }

    /// What to warn of, if anything.
    pub fn warning(&self) -> Option<String> {
        let (doubtful, all) = (self.doubtful().len(), self.prototypes.len());
        let reference = self.reference;
        if doubtful == 0 {
            return None;
        }
        let what = if 2 * doubtful > all { "most groups are" } else { "some groups are" };
        Some(format!(
            "{what} no better than those of data without groups: {doubtful} of {all} prototypes are found again by a Jaccard \
             index of at most {reference:.2}, which 95 in 100 prototypes of a Gaussian with the same mean and covariance \
             stay below"
        ))
    }
}

impl Model {
    /// Refits on halves of the samples it was fitted to, and says what of its groups is found again.
    ///
    /// ```
    /// # let even = |x: f64| 10.0 * (x - x.floor());
    /// # let samples = gromap::Matrix::from_fn(180, 2, |i, j| even(i as f64 * [0.618, 0.755][j]) + 60.0 * (i % 3) as f64);
    /// let model = gromap::GromovClustering::builder(3).perplexity(10.0).fit(&samples)?;
    /// let found = model.stability(&(&samples).into(), 5, Default::default())?;
    /// assert!(found.prototypes.iter().all(|&index| index > 0.99) && found.warning().is_none());
    /// # Ok::<(), gromap::Error>(())
    /// ```
    pub fn stability(&self, data: &Data<'_>, resamples: usize, run: Run<'_>) -> Result<Stability> {
        let Data::Samples(samples) = data else {
            let message =
                "stability is found by refits on halves of the samples; this needs samples, not pairs of them";
            return Err(Error::Unsupported(message.into()));
        };
        let [view] = &self.views[..] else {
            return Err(Error::Unsupported("stability is known for one view of the samples, not for several".into()));
        };
        if self.fitted_to != FittedTo::Samples {
            return Err(Error::Unsupported("the model was not fitted to samples".into()));
        }
        Error::check_len("number of samples the model was fitted to", self.plan.len(), samples.len())?;
        if let Some(expected) = view.preparation.features {
            Error::check_len("number of features", expected, samples.columns())?;
        }
        samples.check_finite("samples")?;
        if resamples == 0 {
            return Err(Error::parameter("number of resamples", 0.0, "at least 1"));
        }
        let half = samples.len() / 2;
        let Some(prototypes) = self.parameters.prototypes().filter(|&n| n <= half) else {
            let allowed = format!("at most {half}, half of the samples, which refits see");
            let asked = self.parameters.prototypes().unwrap_or(samples.len());
            return Err(Error::parameter("number of prototypes", asked as f64, allowed));
        };
        let mut nobody = ();
        let observer = run.observer.unwrap_or(&mut nobody);
        let labels = self.plan.labels();
        let own = Refits { parameters: &self.parameters, prototypes, table: self.table.as_ref() };
        let found = own.matched(samples, &labels, resamples, observer)?;
        let alike: Samples<'_> = gaussian(samples, samples.len(), self.parameters.common().settings.seed)?.into();
        let alike_labels = own.fit(&alike)?;
        let chance = own.matched(&alike, &alike_labels, resamples.min(MOST_REFERENCE), observer)?;
        let mut indices: Vec<f64> = chance.0.into_iter().flatten().collect();
        indices.sort_by(f64::total_cmp);
        let at = ((QUANTILE * indices.len() as f64).ceil() as usize).clamp(1, indices.len().max(1)) - 1;
        let reference = indices.get(at).copied().unwrap_or(0.0);
        let prototypes = (0..self.weights.len()).map(|k| found.0.get(k).copied().flatten().unwrap_or(0.0)).collect();
        Ok(Stability { prototypes, samples: found.1, reference, resamples })
    }
}

/// Refits by the parameters of a model.
struct Refits<'a> {
    parameters: &'a Parameters,
    prototypes: usize,
    /// What table the samples were, which says how they are scaled.
    table: Option<&'a Encoding>,
}

/// An index for every group, and a share for every sample.
type Matched = (Vec<Option<f64>>, Vec<f64>);

impl Refits<'_> {
    /// Labels of a fit to samples.
    fn fit(&self, samples: &Samples<'_>) -> Result<Vec<u32>> {
        let mut parameters = self.parameters.clone();
        let common = parameters.common_mut();
        fit_to_size(common, samples.len());
        // A given plan is one of other samples.
        if matches!(common.init, Start::Plan(_)) {
            common.init = Start::Auto;
        }
        let data = Data::Samples(samples.view());
        let run = Run { table: self.table, ..Run::default() };
        let model = match parameters {
            Parameters::Map(asked) => asked.prototypes(self.prototypes).fit_with(&data, run),
            Parameters::Clusters(asked) => asked.fit_with(&data, run),
        }?;
        Ok(model.plan.labels())
    }

    /// What refits on halves find again of groups.
    fn matched(
        &self,
        samples: &Samples<'_>,
        labels: &[u32],
        resamples: usize,
        observer: &mut dyn Observer,
    ) -> Result<Matched> {
        let groups = labels.iter().max().map_or(0, |&label| label as usize + 1);
        let (mut indices, mut seen) = (vec![0.0; groups], vec![0usize; groups]);
        let (mut together, mut times) = (vec![0.0; labels.len()], vec![0usize; labels.len()]);
        let seed = self.parameters.common().settings.seed;
        for turn in 0..resamples {
            if observer.on(&Event::Stage(Stage::Fit)) == Flow::Stop {
                return Err(Error::Interrupted);
            }
            let taken = drawn(labels.len(), labels.len() / 2, seed.wrapping_add(turn as u64));
            let found = self.fit(&rows_of(samples, &taken))?;
            let before: Vec<u32> = taken.iter().map(|&i| labels[i]).collect();
            for (k, index) in jaccard(&before, &found).into_iter().enumerate() {
                if let Some(index) = index {
                    indices[k] += index;
                    seen[k] += 1;
                }
            }
            for (at, share) in co_assigned(&before, &found).into_iter().enumerate() {
                together[taken[at]] += share;
                times[taken[at]] += 1;
            }
        }
        let index = |k: usize| (seen[k] > 0).then(|| indices[k] / seen[k] as f64);
        let share = |i: usize| if times[i] > 0 { together[i] / times[i] as f64 } else { f64::NAN };
        Ok(((0..groups).map(index).collect(), (0..labels.len()).map(share).collect()))
    }
}

/// Members of each pair of groups, and of each group before and after.
fn counts(before: &[u32], after: &[u32]) -> (Vec<Vec<usize>>, Vec<usize>, Vec<usize>) {
    let size = |labels: &[u32]| labels.iter().max().map_or(0, |&label| label as usize + 1);
    let mut both = vec![vec![0; size(after)]; size(before)];
    let (mut rows, mut columns) = (vec![0; size(before)], vec![0; size(after)]);
    for (&k, &l) in before.iter().zip(after) {
        both[k as usize][l as usize] += 1;
        rows[k as usize] += 1;
        columns[l as usize] += 1;
    }
    (both, rows, columns)
}

/// For every group before, the Jaccard index of the one after that covers it best; `None` where it has no members.
pub(super) fn jaccard(before: &[u32], after: &[u32]) -> Vec<Option<f64>> {
    let (both, rows, columns) = counts(before, after);
    let index = |k: usize| {
        let of = |l: usize| both[k][l] as f64 / (rows[k] + columns[l] - both[k][l]).max(1) as f64;
        (rows[k] > 0).then(|| (0..columns.len()).map(of).fold(0.0, f64::max))
    };
    (0..rows.len()).map(index).collect()
}

/// For every sample, the share of the others of its group before that are with it after; 1 for one that was alone.
fn co_assigned(before: &[u32], after: &[u32]) -> Vec<f64> {
    let (both, rows, _) = counts(before, after);
    let share = |(&k, &l): (&u32, &u32)| match rows[k as usize] {
        1 => 1.0,
        all => (both[k as usize][l as usize] - 1) as f64 / (all - 1) as f64,
    };
    before.iter().zip(after).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_of_groups_are_those_of_sets() {
        let (before, after) = ([0, 0, 0, 1, 1, 3], [1, 1, 0, 0, 0, 0]);
        assert_eq!(jaccard(&before, &after), [Some(2.0 / 3.0), Some(0.5), None, Some(0.25)]);
        assert_eq!(co_assigned(&before, &after), [0.5, 0.5, 0.0, 1.0, 1.0, 1.0]);
    }
}
