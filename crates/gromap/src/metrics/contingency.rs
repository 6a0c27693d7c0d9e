//! How well two labellings of the same samples agree, from the table that counts each pair of labels.
//!
//! With n_uv samples of true label u and found label v, a_u and b_v its row and column sums and N all
//! of them, the scores come from two quantities:
//!
//! ```text
//! pairs         ARI = (Σ C(n_uv,2) − E) / ((Σ C(a_u,2) + Σ C(b_v,2))/2 − E),  E = Σ C(a_u,2)·Σ C(b_v,2) / C(N,2)
//! information   MI  = Σ n_uv/N·log(N·n_uv / (a_u·b_v)),   H(a) = −Σ a_u/N·log(a_u/N)
//! ```
//!
//! The table is sparse (at most N entries, whatever the numbers of labels) and built once, so that all
//! scores cost one pass over the labels.

use std::collections::HashMap;

use super::expectation::expected_information;
use super::numbered;
use crate::error::{Error, Result};
use crate::weights::SampleWeights;

/// How much mass each pair of labels holds, in order of first appearance.
#[derive(Debug, Clone)]
struct Table {
    cells: Vec<Cell>,
    /// Mass of each true label.
    truth: Vec<f64>,
    /// Mass of each found label.
    found: Vec<f64>,
    total: f64,
}

#[derive(Debug, Clone)]
struct Cell {
    truth: u32,
    found: u32,
    mass: f64,
}

impl Table {
    /// Counts samples, or adds up their weights; samples without weight are left out.
    fn new(truth: &[u32], found: &[u32], weight: impl Fn(usize) -> f64) -> Result<Self> {
        Error::check_len("number of found labels", truth.len(), found.len())?;
        if truth.len() > u32::MAX as usize {
            return Err(Error::parameter("number of samples", truth.len() as f64, format!("at most {}", u32::MAX)));
        }
        let present: Vec<usize> = (0..truth.len()).filter(|&i| weight(i) > 0.0).collect();
        let (truth, rows) = numbered(present.iter().map(|&i| truth[i]));
        let (found, columns) = numbered(present.iter().map(|&i| found[i]));
        let mut table = Self { cells: Vec::new(), truth: vec![0.0; rows], found: vec![0.0; columns], total: 0.0 };
        let mut places = HashMap::new();
        for ((i, truth), found) in present.into_iter().zip(truth).zip(found) {
            let place = *places.entry((truth, found)).or_insert(table.cells.len());
            if place == table.cells.len() {
                table.cells.push(Cell { truth, found, mass: 0.0 });
            }
            table.cells[place].mass += weight(i);
            table.truth[truth as usize] += weight(i);
            table.found[found as usize] += weight(i);
            table.total += weight(i);
        }
        Ok(table)
    }

    /// −Σ a/N·log(a/N); exactly 0 for one label.
    fn entropy(&self, masses: &[f64]) -> f64 {
        sum(masses.iter().map(|mass| mass / self.total * (self.total / mass).ln()))
    }

    fn information(&self) -> Information {
        let (truth, found) = (self.entropy(&self.truth), self.entropy(&self.found));
        let of_cell = |cell: &Cell| {
            let (row, column) = (self.truth[cell.truth as usize], self.found[cell.found as usize]);
            // In this order, equal labellings give the terms of the entropy to the last bit.
            cell.mass / self.total * (cell.mass / row * (self.total / column)).ln()
        };
        let mutual = sum(self.cells.iter().map(of_cell));
        // Between the bounds of the theory, which rounding may cross.
        Information { truth, found, mutual: mutual.clamp(0.0, truth.min(found)) }
    }
}

/// A sum that carries what rounding lost (Neumaier, 1974). A million equal terms lose five digits without.
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0f64, 0.0);
    for term in terms {
        let next = total + term;
        lost += if total.abs() >= term.abs() { (total - next) + term } else { (term - next) + total };
        total = next;
    }
    total + lost
}

/// What two labellings tell about each other, in nats; samples may weigh differently.
///
/// A sample of weight 2 counts as two samples, one of weight 0 as none; the scale of the weights does
/// not matter.
///
/// ```
/// use gromap::metrics::Information;
/// let information = Information::new(&[0, 0, 1, 1], &[5, 5, 6, 5], &[2.0, 2.0, 1.0, 0.0])?;
/// assert_eq!(information.homogeneity(), 1.0); // the one sample out of place weighs nothing
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Information {
    truth: f64,
    found: f64,
    mutual: f64,
}

impl Information {
    /// Compares labels of weighted samples.
    pub fn new(truth: &[u32], found: &[u32], weights: &[f64]) -> Result<Self> {
        Error::check_len("number of sample weights", truth.len(), weights.len())?;
        let weights = SampleWeights::new(weights)?;
        Ok(Table::new(truth, found, |i| weights[i])?.information())
    }

    /// MI / H(truth): 1 if each found label holds samples of one true label only.
    pub fn homogeneity(&self) -> f64 {
        share(self.mutual, self.truth)
    }

    /// MI / H(found): 1 if all samples of a true label share a found label.
    pub fn completeness(&self) -> f64 {
        share(self.mutual, self.found)
    }

    /// Harmonic mean of homogeneity and completeness, which is MI over the mean of the two entropies.
    pub fn v_measure(&self) -> f64 {
        share(self.mutual, self.mean_entropy())
    }

    /// MI over the arithmetic mean of the two entropies; another name of the V-measure.
    pub fn normalized_mutual_information(&self) -> f64 {
        self.v_measure()
    }

    fn mean_entropy(&self) -> f64 {
        0.5 * (self.truth + self.found)
    }
}

/// `part` of `whole`; all of it where there is nothing to tell.
fn share(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 1.0 } else { part / whole }
}

/// Two labellings of the same samples, and the scores of how well they agree.
///
/// Every score is 1 for labellings that are equal up to names and when there is nothing to compare (one
/// group each, or no samples). The adjusted ones are 0 on average for labels dealt out at random. They
/// compare with all ways to deal out the samples, which is why only counted samples have them; for
/// weighted samples there is [`Information`].
///
/// ```
/// use gromap::metrics::Agreement;
/// let agreement = Agreement::new(&[0, 0, 1, 1], &[7, 7, 3, 4])?;
/// assert_eq!(agreement.homogeneity(), 1.0);
/// assert!((agreement.completeness() - 2.0 / 3.0).abs() < 1e-15);
/// assert!((agreement.v_measure() - 0.8).abs() < 1e-15);
/// assert!((agreement.adjusted_rand_index() - 4.0 / 7.0).abs() < 1e-15);
/// assert!((agreement.adjusted_mutual_information() - 4.0 / 7.0).abs() < 1e-15);
/// # Ok::<(), gromap::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Agreement {
    table: Table,
    information: Information,
}

impl Agreement {
    /// Compares labels of samples that count the same; one pass over them.
    pub fn new(truth: &[u32], found: &[u32]) -> Result<Self> {
        let table = Table::new(truth, found, |_| 1.0)?;
        let information = table.information();
        Ok(Self { table, information })
    }

    /// The share of pairs of samples on which the labellings agree, moved and scaled so that chance
    /// gives 0 (Hubert and Arabie, 1985). May be negative. Exact up to the last division.
    pub fn adjusted_rand_index(&self) -> f64 {
        let within = |masses: &[f64]| masses.iter().map(|&mass| pairs(mass)).sum::<i128>();
        let both: i128 = self.table.cells.iter().map(|cell| pairs(cell.mass)).sum();
        let (truth, found, all) = (within(&self.table.truth), within(&self.table.found), pairs(self.table.total));
        let most = (truth + found) * all - 2 * truth * found;
        // One group in each labelling, or every sample alone in each: nothing differs.
        if most == 0 { 1.0 } else { (2 * (both * all - truth * found)) as f64 / most as f64 }
    }

    /// (MI − E) / (mean entropy − E), with E the mean of MI over all ways to deal out the samples to
    /// groups of the same sizes (Vinh, Epps and Bailey, 2010). May be negative.
    pub fn adjusted_mutual_information(&self) -> f64 {
        let expected = expected_information(&self.table.truth, &self.table.found, self.table.total);
        let (gained, most) = (self.information.mutual - expected, self.information.mean_entropy() - expected);
        // Where both are zero up to rounding, they are equal to the last bit.
        if gained == most { 1.0 } else { gained / most }
    }

    /// MI over the arithmetic mean of the two entropies.
    pub fn normalized_mutual_information(&self) -> f64 {
        self.information.normalized_mutual_information()
    }

    /// MI / H(truth): 1 if each found label holds samples of one true label only.
    pub fn homogeneity(&self) -> f64 {
        self.information.homogeneity()
    }

    /// MI / H(found): 1 if all samples of a true label share a found label.
    pub fn completeness(&self) -> f64 {
        self.information.completeness()
    }

    /// Harmonic mean of homogeneity and completeness.
    pub fn v_measure(&self) -> f64 {
        self.information.v_measure()
    }
}

/// Pairs among `count` things. At most 2³² samples: products of two such numbers fit.
fn pairs(count: f64) -> i128 {
    let count = count as i128;
    count * (count - 1) / 2
}

#[cfg(test)]
#[path = "contingency_tests.rs"]
mod tests;
