//! M = Tᵀ C_X T while single samples move: entries of the rows that a sample sees are read, and rows of the prototypes
//! that it leaves and joins change.

use rayon::prelude::*;

use crate::numeric::Matrix;
use crate::plan::Plan;
use crate::similarity::{ProductRow, Side, Sparse};

/// M as a search over moves needs it.
pub(crate) trait PairMass: Clone + Sync {
    /// M between prototype k and each of `seen`, ascending: of row k, or of column k.
    fn read(&self, k: usize, side: Side, seen: &[u32], out: &mut Vec<f64>);

    /// M_kk
    fn corner(&self, k: usize) -> f64;

    /// Adds to M_kl.
    fn add(&mut self, k: usize, l: usize, change: f64);

    /// Makes row and column k zero.
    fn clear(&mut self, k: usize);

    /// Calls `f` with k, l and M_kl, wherever that is not zero.
    fn for_each(&self, f: impl FnMut(usize, usize, f64));
}

impl PairMass for Matrix<'static> {
    #[inline(always)]
    fn read(&self, k: usize, side: Side, seen: &[u32], out: &mut Vec<f64>) {
        out.clear();
        match side {
            Side::Direct => {
                let row = self.row(k);
                out.extend(seen.iter().map(|&l| row[l as usize]));
            }
            Side::Transposed => out.extend(seen.iter().map(|&l| self[(l as usize, k)])),
        }
    }

    fn corner(&self, k: usize) -> f64 {
        self[(k, k)]
    }

    fn add(&mut self, k: usize, l: usize, change: f64) {
        self[(k, l)] += change;
    }

    fn clear(&mut self, k: usize) {
        for l in 0..self.rows() {
            (self[(k, l)], self[(l, k)]) = (0.0, 0.0);
        }
    }

    fn for_each(&self, mut f: impl FnMut(usize, usize, f64)) {
        for k in 0..self.rows() {
            self.row(k).iter().enumerate().filter(|(_, m)| **m != 0.0).for_each(|(l, &m)| f(k, l, m));
        }
    }
}

/// A symmetric M of many prototypes, most of which do not see each other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SparseMass {
    /// Of every row, what is not zero, ascending.
    rows: Vec<Vec<(u32, f64)>>,
}

impl SparseMass {
    /// M of a hard plan of a symmetric similarity.
    pub(crate) fn new(similarity: &Sparse<'_, f32>, plan: &Plan) -> Self {
        let weights = plan.sample_weights();
        Self::of_groups(similarity, &plan.labels(), plan.prototypes(), |i| weights[i])
    }

    /// The same of groups of weighted samples: every group gathers the rows of its samples.
    pub(crate) fn of_groups(
        similarity: &Sparse<'_, f32>,
        labels: &[u32],
        groups: usize,
        weight: impl Fn(usize) -> f64 + Sync,
    ) -> Self {
        let mut members = vec![Vec::new(); groups];
        labels.iter().enumerate().for_each(|(i, &k)| members[k as usize].push(i));
        let of_group = |sums: &mut ProductRow, k: usize| {
            sums.clear(groups);
            for &i in &members[k] {
                let (neighbors, values) = similarity.row(i);
                for (&j, &value) in neighbors.iter().zip(values) {
                    sums.gather(labels[j as usize], weight(i) * f64::from(value) * weight(j as usize));
                }
            }
            sums.order();
            sums.seen.iter().map(|&l| (l, sums.values[l as usize])).collect()
        };
        let rows = (0..groups).into_par_iter().map_init(ProductRow::default, of_group).collect();
        Self { rows }
    }

    /// `scale` times M in compressed rows.
    pub(crate) fn compressed(&self, scale: f64) -> crate::error::Result<Sparse<'static, f32>> {
        let entries = || self.rows.iter().flatten();
        let mut offsets = vec![0];
        offsets.extend(self.rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        }));
        let columns: Vec<u32> = entries().map(|entry| entry.0).collect();
        let values: Vec<f32> = entries().map(|entry| (scale * entry.1) as f32).collect();
        Sparse::new(offsets, columns, values)
    }

    fn find(&self, k: usize, l: usize) -> Result<usize, usize> {
        self.rows[k].binary_search_by_key(&(l as u32), |entry| entry.0)
    }
}

impl PairMass for SparseMass {
    /// Both lists ascend, so that one walk along them will do. Row and column are the same.
    #[inline(always)]
    fn read(&self, k: usize, _: Side, seen: &[u32], out: &mut Vec<f64>) {
        let row = &self.rows[k];
        out.clear();
        let mut at = 0;
        for &l in seen {
            while at < row.len() && row[at].0 < l {
                at += 1;
            }
            out.push(if at < row.len() && row[at].0 == l { row[at].1 } else { 0.0 });
        }
    }

    fn corner(&self, k: usize) -> f64 {
        self.find(k, k).map_or(0.0, |at| self.rows[k][at].1)
    }

    fn add(&mut self, k: usize, l: usize, change: f64) {
        match self.find(k, l) {
            Ok(at) => self.rows[k][at].1 += change,
            Err(at) => self.rows[k].insert(at, (l as u32, change)),
        }
    }

    fn clear(&mut self, k: usize) {
        for (l, _) in std::mem::take(&mut self.rows[k]) {
            if let Ok(at) = self.find(l as usize, k) {
                self.rows[l as usize].remove(at);
            }
        }
    }

    fn for_each(&self, mut f: impl FnMut(usize, usize, f64)) {
        for (k, row) in self.rows.iter().enumerate() {
            row.iter().for_each(|&(l, m)| f(k, l as usize, m));
        }
    }
}
