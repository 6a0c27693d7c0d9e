//! The transport plan T (N×n): who stands for whom, and with how much mass.
//!
//! A row holds the few prototypes that share a sample, almost always one. Row sums are the sample
//! weights from birth and stay so: every constructor and every change goes through this file, or through `plan/stored.rs`,
//! which restores a plan from a file.

mod stored;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::blocks::shuffle;
use crate::weights::SampleWeights;

/// How far a given row may be from its sample's weight, relative to that weight.
const ROW_SUM_TOLERANCE: f64 = 1e-6;

/// A transport plan with sparse rows and fixed row sums.
///
/// ```
/// use gromap::{Plan, SampleWeights};
/// let plan = Plan::from_labels(vec![0, 1, 1, 0], 2, SampleWeights::uniform(4)?)?;
/// assert_eq!(plan.weights(), vec![0.5, 0.5]);
/// assert_eq!(plan.hardness(), 1.0);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    sample_weights: SampleWeights,
    prototypes: usize,
    rows: PlanEntries,
}

/// The entries of a plan, as they are stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PlanEntries {
    /// One prototype a sample.
    Hard(Vec<u32>),
    /// Sample i holds `lengths[i]` entries from `starts[i]` on; a row may shrink in place.
    Soft { starts: Vec<usize>, lengths: Vec<u32>, prototypes: Vec<u32>, mass: Vec<f64> },
}

/// One row of a plan: its prototypes, and how much of the sample each of them takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanRow<'a> {
    /// Prototypes, each named once.
    pub prototypes: &'a [u32],
    /// Mass of each, all positive unless the sample weighs nothing.
    pub mass: &'a [f64],
}

impl<'a> PlanRow<'a> {
    /// Pairs of prototype and mass.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.prototypes.iter().zip(self.mass).map(|(&k, &m)| (k as usize, m))
    }

    /// The changes of mass that give the whole row to one prototype.
    pub(crate) fn moved_to(self, to: u32) -> impl Iterator<Item = (usize, f64)> + 'a {
        let whole: f64 = self.mass.iter().sum();
        let leaving = self.prototypes.iter().zip(self.mass).map(|(&k, &mass)| (k as usize, -mass));
        leaving.chain([(to as usize, whole)])
    }
}

/// A plan seen from the prototypes: the samples of each, and their mass.
#[derive(Debug, Clone)]
pub struct Columns {
    offsets: Vec<usize>,
    samples: Vec<u32>,
    mass: Vec<f64>,
}

impl Columns {
    /// Sorts entries (sample, prototype, mass) by prototype, in two passes over them.
    fn new<I: Iterator<Item = (usize, usize, f64)>>(prototypes: usize, entries: impl Fn() -> I) -> Self {
        let mut offsets = vec![0; prototypes + 1];
        entries().for_each(|(_, k, _)| offsets[k + 1] += 1);
        for k in 0..prototypes {
            offsets[k + 1] += offsets[k];
        }
        let mut next = offsets.clone();
        let (mut samples, mut mass) = (vec![0; offsets[prototypes]], vec![0.0; offsets[prototypes]]);
        for (i, k, m) in entries() {
            samples[next[k]] = i as u32;
            mass[next[k]] = m;
            next[k] += 1;
        }
        Self { offsets, samples, mass }
    }

    /// Number of entries.
    pub(crate) fn entries(&self) -> usize {
        self.samples.len()
    }

    /// Samples of prototype k, ascending, with their mass.
    pub fn column(&self, k: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[k]..self.offsets[k + 1];
        (&self.samples[range.clone()], &self.mass[range])
    }
}

impl Plan {
    /// Every sample belongs to the prototype its label names.
    pub fn from_labels(labels: Vec<u32>, prototypes: usize, weights: SampleWeights) -> Result<Self> {
        check_prototypes(prototypes, weights.len())?;
        Error::check_len("number of labels", weights.len(), labels.len())?;
        if let Some(&label) = labels.iter().find(|&&l| l as usize >= prototypes) {
            return Err(Error::parameter("label", f64::from(label), format!("less than {prototypes}")));
        }
        Ok(Self { sample_weights: weights, prototypes, rows: PlanEntries::Hard(labels) })
    }

    /// Takes an N×n matrix of mass; rows must sum to the sample weights (to 1e-6) and are rescaled
    /// to do so exactly.
    pub fn from_dense(values: &Matrix<'_>, weights: SampleWeights) -> Result<Self> {
        check_prototypes(values.columns(), weights.len())?;
        Error::check_len("rows of the plan", weights.len(), values.rows())?;
        values.check_finite("plan")?;
        let mut rows = EntriesBuilder::new(weights.len());
        for (i, &weight) in weights.iter().enumerate() {
            let row = values.row(i);
            if let Some(column) = row.iter().position(|&m| m < 0.0) {
                let allowed = format!("not negative (row {i}, column {column})");
                return Err(Error::parameter("plan entry", row[column], allowed));
            }
            let sum: f64 = row.iter().sum();
            if (sum - weight).abs() > ROW_SUM_TOLERANCE * weight.max(f64::MIN_POSITIVE) {
                return Err(Error::RowSum { row: i, expected: weight, found: sum });
            }
            rows.push(row.iter().copied().enumerate(), weight);
        }
        Ok(Self { sample_weights: weights, prototypes: values.columns(), rows: rows.finish() })
    }

    /// The paper's start: rows drawn uniformly and normalised.
    pub fn random(prototypes: usize, weights: SampleWeights, seed: u64) -> Result<Self> {
        check_prototypes(prototypes, weights.len())?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut row = vec![0.0; prototypes];
        let mut rows = EntriesBuilder::new(weights.len());
        for &weight in weights.iter() {
            row.fill_with(|| rng.random::<f64>());
            rows.push(row.iter().copied().enumerate(), weight);
        }
        Ok(Self { sample_weights: weights, prototypes, rows: rows.finish() })
    }

    /// A hard random start: labels drawn uniformly, each prototype named at least once.
    pub fn random_labels(prototypes: usize, weights: SampleWeights, seed: u64) -> Result<Self> {
        check_prototypes(prototypes, weights.len())?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let n = prototypes as u32;
        let mut labels: Vec<u32> =
            (0..weights.len() as u32).map(|i| if i < n { i } else { rng.random_range(0..n) }).collect();
        shuffle(&mut labels, &mut rng);
        Ok(Self { sample_weights: weights, prototypes, rows: PlanEntries::Hard(labels) })
    }

    /// Rows proportional to `entries(i)`, whatever their sums.
    pub(crate) fn from_rows<I>(prototypes: usize, weights: SampleWeights, mut entries: impl FnMut(usize) -> I) -> Self
    where
        I: Iterator<Item = (usize, f64)>,
    {
        let mut rows = EntriesBuilder::new(weights.len());
        for (i, &weight) in weights.iter().enumerate() {
            rows.push(entries(i), weight);
        }
        Self { sample_weights: weights, prototypes, rows: rows.finish() }
    }

    /// Number of samples N.
    #[allow(clippy::len_without_is_empty)] // a plan of no samples does not exist
    pub fn len(&self) -> usize {
        self.sample_weights.len()
    }

    /// Number of prototypes n, used or not.
    pub fn prototypes(&self) -> usize {
        self.prototypes
    }

    /// The row sums h.
    pub fn sample_weights(&self) -> &SampleWeights {
        &self.sample_weights
    }

    /// Row i.
    #[inline]
    pub fn row(&self, i: usize) -> PlanRow<'_> {
        match &self.rows {
            PlanEntries::Hard(labels) => PlanRow {
                prototypes: std::slice::from_ref(&labels[i]),
                mass: std::slice::from_ref(&self.sample_weights[i]),
            },
            PlanEntries::Soft { starts, lengths, prototypes, mass } => {
                let range = starts[i]..starts[i] + lengths[i] as usize;
                PlanRow { prototypes: &prototypes[range.clone()], mass: &mass[range] }
            }
        }
    }

    /// The label of every sample when every row has a single entry.
    pub fn hard_labels(&self) -> Option<&[u32]> {
        match &self.rows {
            PlanEntries::Hard(labels) => Some(labels),
            PlanEntries::Soft { .. } => None,
        }
    }

    /// The prototype that takes most of each sample, the first of equals.
    pub fn labels(&self) -> Vec<u32> {
        let heaviest = |i| {
            let row = self.row(i);
            let first = (row.prototypes[0], row.mass[0]);
            let better = |best: (u32, f64), next: (u32, f64)| if next.1 > best.1 { next } else { best };
            row.prototypes.iter().copied().zip(row.mass.iter().copied()).fold(first, better).0
        };
        (0..self.len()).map(heaviest).collect()
    }

    /// Weights of the prototypes, q = Tᵀ1.
    pub fn weights(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.prototypes];
        for i in 0..self.len() {
            for (k, mass) in self.row(i).iter() {
                q[k] += mass;
            }
        }
        q
    }

    /// Samples with weight that each prototype takes all or some of.
    pub(crate) fn members(&self) -> Vec<u32> {
        let mut members = vec![0; self.prototypes];
        for i in (0..self.len()).filter(|&i| self.sample_weights[i] > 0.0) {
            self.row(i).prototypes.iter().for_each(|&k| members[k as usize] += 1);
        }
        members
    }

    /// Share of the sample mass that lies in rows with a single entry.
    pub fn hardness(&self) -> f64 {
        match &self.rows {
            PlanEntries::Hard(_) => 1.0,
            PlanEntries::Soft { lengths, .. } => {
                let soft: f64 = (0..self.len()).filter(|&i| lengths[i] > 1).map(|i| self.sample_weights[i]).sum();
                1.0 - soft
            }
        }
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        match &self.rows {
            PlanEntries::Hard(labels) => labels.len(),
            PlanEntries::Soft { lengths, .. } => lengths.iter().map(|&l| l as usize).sum(),
        }
    }

    /// The plan by prototypes.
    pub fn columns(&self) -> Columns {
        Columns::new(self.prototypes, || {
            (0..self.len()).flat_map(|i| self.row(i).iter().map(move |(k, mass)| (i, k, mass)))
        })
    }

    /// The samples that these labels would move, and where to.
    pub(crate) fn moved_by<'a>(&'a self, labels: &'a [u32]) -> impl Iterator<Item = (usize, u32)> + Clone + 'a {
        let labels = labels.iter().copied().enumerate();
        labels.filter(|&(i, label)| self.row(i).prototypes != [label])
    }

    /// What to add to this plan to reach the labels of another, by prototypes.
    pub(crate) fn changes_to(&self, labels: &[u32]) -> Columns {
        Columns::new(self.prototypes, || {
            let moved = self.moved_by(labels);
            moved.flat_map(|(i, label)| self.row(i).moved_to(label).map(move |(k, mass)| (i, k, mass)))
        })
    }

    /// (1−γ)·self + γ·D, where D is the hard plan with these labels.
    pub(crate) fn blend(&mut self, gamma: f64, labels: &[u32]) {
        if gamma >= 1.0 {
            self.rows = PlanEntries::Hard(labels.to_vec());
            return;
        }
        self.make_room(labels);
        let weights = &self.sample_weights;
        if let PlanEntries::Soft { starts, lengths, prototypes, mass } = &mut self.rows {
            for (i, &label) in labels.iter().enumerate() {
                let range = starts[i]..starts[i] + lengths[i] as usize;
                let (row, names) = (&mut mass[range.clone()], &prototypes[range]);
                for (m, &k) in row.iter_mut().zip(names) {
                    *m *= 1.0 - gamma;
                    if k == label {
                        *m += gamma * weights[i];
                    }
                }
                rescale(row, weights[i]);
            }
        }
    }

    /// (1−γ)·self + γ·other, of the same samples.
    pub(crate) fn toward(&self, gamma: f64, other: &Self) -> Self {
        if gamma >= 1.0 {
            return other.clone();
        }
        Self::from_rows(self.prototypes, self.sample_weights.clone(), |i| {
            let mut row: Vec<(usize, f64)> = self.row(i).iter().map(|(k, mass)| (k, (1.0 - gamma) * mass)).collect();
            for (k, mass) in other.row(i).iter() {
                match row.iter_mut().find(|entry| entry.0 == k) {
                    Some(entry) => entry.1 += gamma * mass,
                    None => row.push((k, gamma * mass)),
                }
            }
            row.into_iter()
        })
    }

    /// Gives every row an entry, if only an empty one, for its label; hard rows become soft.
    fn make_room(&mut self, labels: &[u32]) {
        let has_room = matches!(self.rows, PlanEntries::Soft { .. })
            && labels.iter().enumerate().all(|(i, label)| self.row(i).prototypes.contains(label));
        if has_room {
            return;
        }
        let (mut starts, mut lengths) = (Vec::with_capacity(self.len()), Vec::with_capacity(self.len()));
        let (mut prototypes, mut mass) = (Vec::new(), Vec::new());
        for (i, label) in labels.iter().enumerate() {
            let row = self.row(i);
            starts.push(prototypes.len());
            prototypes.extend_from_slice(row.prototypes);
            mass.extend_from_slice(row.mass);
            if !row.prototypes.contains(label) {
                prototypes.push(*label);
                mass.push(0.0);
            }
            lengths.push((prototypes.len() - starts[i]) as u32);
        }
        self.rows = PlanEntries::Soft { starts, lengths, prototypes, mass };
    }

    /// Gives all of sample i to one prototype.
    #[inline]
    pub(crate) fn assign(&mut self, i: usize, prototype: u32) {
        match &mut self.rows {
            PlanEntries::Hard(labels) => labels[i] = prototype,
            PlanEntries::Soft { starts, lengths, prototypes, mass } => {
                prototypes[starts[i]] = prototype;
                mass[starts[i]] = self.sample_weights[i];
                lengths[i] = 1;
            }
        }
    }

    /// The hard plan with these labels on the same samples.
    pub(crate) fn relabelled(&self, labels: &[u32]) -> Self {
        let rows = PlanEntries::Hard(labels.to_vec());
        Self { sample_weights: self.sample_weights.clone(), prototypes: self.prototypes, rows }
    }

    /// The same plan on the prototypes that are `kept`, ascending; the others carry no mass.
    pub(crate) fn restricted(&self, kept: &[u32]) -> Self {
        let mut names = vec![0; self.prototypes];
        kept.iter().enumerate().for_each(|(name, &k)| names[k as usize] = name as u32);
        let mut plan = self.clone();
        plan.prototypes = kept.len();
        match &mut plan.rows {
            PlanEntries::Hard(labels) => labels.iter_mut().for_each(|label| *label = names[*label as usize]),
            PlanEntries::Soft { prototypes, .. } => prototypes.iter_mut().for_each(|k| *k = names[*k as usize]),
        }
        plan
    }

    /// Forgets the room that soft rows no longer use.
    pub(crate) fn compact(&mut self) {
        if let PlanEntries::Soft { lengths, .. } = &self.rows
            && lengths.iter().all(|&l| l == 1)
        {
            self.rows = PlanEntries::Hard((0..self.len()).map(|i| self.row(i).prototypes[0]).collect());
        }
    }
}

/// Refuses numbers of prototypes that samples cannot fill.
pub(crate) fn check_prototypes(prototypes: usize, samples: usize) -> Result<()> {
    if prototypes == 0 || prototypes > samples {
        let allowed = format!("from 1 to {samples}, the number of samples");
        return Err(Error::parameter("n_prototypes", prototypes as f64, allowed));
    }
    Ok(())
}

/// Scales a row to sum to its sample's weight.
fn rescale(row: &mut [f64], weight: f64) {
    if let [only] = row {
        *only = weight;
        return;
    }
    let sum: f64 = row.iter().sum();
    if sum > 0.0 {
        row.iter_mut().for_each(|m| *m *= weight / sum);
    }
}

/// Collects rows, rescaling each to its sample's weight.
struct EntriesBuilder {
    starts: Vec<usize>,
    lengths: Vec<u32>,
    prototypes: Vec<u32>,
    mass: Vec<f64>,
}

impl EntriesBuilder {
    fn new(samples: usize) -> Self {
        Self {
            starts: Vec::with_capacity(samples),
            lengths: Vec::with_capacity(samples),
            prototypes: Vec::with_capacity(samples),
            mass: Vec::with_capacity(samples),
        }
    }

    /// Keeps the positive entries; a row without any (a sample of no weight) goes to prototype 0.
    fn push(&mut self, entries: impl Iterator<Item = (usize, f64)>, weight: f64) {
        let start = self.prototypes.len();
        for (k, mass) in entries.filter(|&(_, mass)| mass > 0.0) {
            self.prototypes.push(k as u32);
            self.mass.push(mass);
        }
        if self.prototypes.len() == start {
            self.prototypes.push(0);
            self.mass.push(weight);
        }
        rescale(&mut self.mass[start..], weight);
        self.starts.push(start);
        self.lengths.push((self.prototypes.len() - start) as u32);
    }

    fn finish(self) -> PlanEntries {
        if self.prototypes.len() == self.starts.len() {
            return PlanEntries::Hard(self.prototypes);
        }
        let Self { starts, lengths, prototypes, mass } = self;
        PlanEntries::Soft { starts, lengths, prototypes, mass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row_sums_hold(plan: &Plan) {
        for i in 0..plan.len() {
            let sum: f64 = plan.row(i).mass.iter().sum();
            assert!((sum - plan.sample_weights()[i]).abs() <= 1e-15);
        }
    }

    proptest! {
        #[test]
        fn row_sums_survive_blending_and_assigning(
            seed in 0u64..1000, n in 1usize..6, samples in 6usize..20, gammas in prop::collection::vec(0.0..1.0, 5),
        ) {
            let weights: Vec<f64> = (0..samples).map(|i| (i % 4) as f64).collect();
            let weights = SampleWeights::new(&weights).unwrap();
            let mut plan = Plan::random(n, weights.clone(), seed).unwrap();
            for (round, gamma) in gammas.into_iter().enumerate() {
                let hard = Plan::random_labels(n, weights.clone(), seed + round as u64).unwrap();
                plan.blend(gamma, &hard.labels());
                row_sums_hold(&plan);
            }
            for i in 0..samples {
                plan.assign(i, 0);
                row_sums_hold(&plan);
            }
            plan.compact();
            prop_assert_eq!(plan.hard_labels().map(<[u32]>::len), Some(samples));
            prop_assert!((plan.weights()[0] - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn columns_are_the_rows_seen_from_the_other_side() {
        let plan = Plan::random(3, SampleWeights::uniform(5).unwrap(), 1).unwrap();
        let columns = plan.columns();
        for k in 0..3 {
            let (samples, mass) = columns.column(k);
            for (&i, &m) in samples.iter().zip(mass) {
                assert!(plan.row(i as usize).iter().any(|entry| entry == (k, m)));
            }
        }
    }

    #[test]
    fn a_random_hard_start_names_every_prototype() {
        for seed in 0..20 {
            let plan = Plan::random_labels(7, SampleWeights::uniform(9).unwrap(), seed).unwrap();
            assert!(plan.weights().iter().all(|&q| q > 0.0));
        }
    }

    #[test]
    fn wrong_plans_are_refused() {
        let weights = SampleWeights::uniform(2).unwrap();
        let dense = |v: Vec<f64>, n| Plan::from_dense(&Matrix::new(v, 2, n).unwrap(), weights.clone());
        assert!(matches!(dense(vec![0.5, 0.0, 0.3, 0.1], 2), Err(Error::RowSum { row: 1, .. })));
        assert!(matches!(dense(vec![0.5, 0.0, 0.6, -0.1], 2), Err(Error::Parameter { .. })));
        assert!(matches!(dense(vec![0.5, f64::NAN, 0.5, 0.0], 2), Err(Error::NotFinite { row: 0, column: 1, .. })));
        assert!(Plan::from_labels(vec![0, 2], 2, weights.clone()).is_err());
        assert!(Plan::from_labels(vec![0], 2, weights.clone()).is_err());
        assert!(Plan::random(0, weights.clone(), 0).is_err());
        assert!(Plan::random(3, weights, 0).is_err());
    }
}
