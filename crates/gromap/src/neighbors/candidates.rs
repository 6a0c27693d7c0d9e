//! The few references of one query that may still be among its k nearest.

use super::metric::Points;
use super::{Ties, distance_of, key};

/// Values compared before asking whether any of them is good enough.
const CHUNK: usize = 16;

/// Room beyond k: the larger, the rarer the selections; the smaller, the tighter the threshold.
fn room(k: usize, references: usize) -> usize {
    (4 * k + 192).min(references) + CHUNK
}

/// Candidates of one query, as integers that sort by (v, reference).
pub(super) struct Candidates {
    keys: Vec<u64>,
    len: usize,
    /// References with a larger v are not looked at.
    threshold: f32,
    /// The threshold at the start, which may have been a guess.
    limit: f32,
}

/// Order-preserving bits of any float but NaN.
#[inline(always)]
pub(super) fn ascending(value: f32) -> u32 {
    let bits = value.to_bits();
    bits ^ ((bits as i32 >> 31) as u32 | 0x8000_0000)
}

/// The float of [`ascending`].
#[inline(always)]
fn value_of(key: u64) -> f32 {
    let bits = (key >> 32) as u32;
    f32::from_bits(if bits >> 31 == 1 { bits & 0x7fff_ffff } else { !bits })
}

impl Candidates {
    /// Room for the `k` nearest of `references`.
    pub(super) fn new(k: usize, references: usize) -> Self {
        Self { keys: vec![0; room(k, references)], len: 0, threshold: f32::MAX, limit: f32::MAX }
    }

    /// Forgets everything; only v up to `threshold` will be looked at.
    pub(super) fn restart(&mut self, threshold: f32) {
        self.len = 0;
        self.threshold = threshold;
        self.limit = threshold;
    }

    /// Appends the values up to `threshold`; there must be room for all of them.
    #[inline(always)]
    fn append(&mut self, values: &[f32; CHUNK], threshold: f32, name: impl Fn(usize) -> u32) {
        let mut good = 0u16;
        for (lane, v) in values.iter().enumerate() {
            good |= u16::from(*v <= threshold) << lane;
        }
        let free = &mut self.keys[self.len..self.len + CHUNK];
        let mut count = 0;
        while good != 0 {
            let lane = good.trailing_zeros() as usize % CHUNK;
            free[count % CHUNK] = u64::from(ascending(values[lane])) << 32 | u64::from(name(lane));
            count += 1;
            good &= good - 1;
        }
        self.len += count;
    }

    /// The references kept, in no order.
    pub(super) fn references(&self) -> impl Iterator<Item = u32> + '_ {
        self.keys[..self.len].iter().map(|&key| key as u32)
    }
}

/// One query against many references.
pub(super) struct Query<'a> {
    pub(super) queries: &'a Points<'a>,
    pub(super) references: &'a Points<'a>,
    pub(super) i: usize,
    pub(super) k: usize,
    /// The order of references at the same distance.
    pub(super) ties: Ties,
}

impl Query<'_> {
    /// Looks at a piece of a row: v = `values` + `shift`; `name` gives the reference at a position.
    #[inline(always)]
    pub(super) fn offer(
        &self,
        candidates: &mut Candidates,
        values: &[f32],
        shift: &[f32],
        name: impl Fn(usize) -> u32,
    ) {
        let (value_groups, value_rest) = values.as_chunks::<CHUNK>();
        let (shift_groups, shift_rest) = shift.as_chunks::<CHUNK>();
        let mut threshold = candidates.threshold;
        for (at, (values, shift)) in value_groups.iter().zip(shift_groups).enumerate() {
            let v: [f32; CHUNK] = std::array::from_fn(|lane| values[lane] + shift[lane]);
            let mut any = false;
            for v in v {
                any |= v <= threshold;
            }
            if any {
                candidates.append(&v, threshold, |lane| name(at * CHUNK + lane));
                threshold = self.make_room(candidates);
            }
        }
        let first = values.len() - value_rest.len();
        let mut v = [f32::INFINITY; CHUNK];
        for (v, (value, shift)) in v.iter_mut().zip(value_rest.iter().zip(shift_rest)) {
            *v = value + shift;
        }
        candidates.append(&v, threshold, |lane| name(first + lane));
        self.make_room(candidates);
    }

    /// Keeps room for a chunk and gives the threshold.
    #[inline(always)]
    fn make_room(&self, candidates: &mut Candidates) -> f32 {
        if candidates.len + CHUNK > candidates.keys.len() {
            let _ = self.compact(candidates);
        }
        candidates.threshold
    }

    /// Drops what cannot be among the k nearest, so that little is left to measure and to sort. False
    /// if the threshold at the start was too low to be sure that all of them are here.
    pub(super) fn narrow(&self, candidates: &mut Candidates) -> bool {
        candidates.len >= self.k && self.compact(candidates)
    }

    /// Drops what cannot be among the k nearest; whether nothing nearer can have been missed.
    #[cold]
    #[inline(never)]
    fn compact(&self, candidates: &mut Candidates) -> bool {
        let room = candidates.keys.len();
        let keys = &mut candidates.keys[..candidates.len];
        let (nearest, kth, _) = keys.select_nth_unstable(self.k - 1);
        let farthest = |key: &u64| value_of(*key) + 2.0 * self.references.slack(*key as u32 as usize);
        let reach = nearest.iter().map(farthest).fold(farthest(kth), f32::max);
        let reach = reach + 2.0 * self.queries.slack(self.i);
        let threshold = reach.min(candidates.threshold);
        candidates.threshold = threshold;
        let mut len = 0;
        for at in 0..candidates.len {
            candidates.keys[len] = candidates.keys[at];
            len += usize::from(value_of(candidates.keys[len]) <= threshold);
        }
        candidates.len = len;
        // Too many lie too close together for the fast arithmetic to tell (duplicates, above all).
        if len > self.k + (room - self.k) / 2 {
            return self.measure_and_keep(candidates) <= candidates.limit;
        }
        reach <= candidates.limit
    }

    /// Measures all candidates and keeps the k nearest; the v that a nearer one would not exceed.
    fn measure_and_keep(&self, candidates: &mut Candidates) -> f32 {
        let mut measured: Vec<(u64, u64)> =
            candidates.keys[..candidates.len].iter().map(|&k| (self.measured(k as u32), k)).collect();
        measured.select_nth_unstable(self.k - 1);
        let farthest = distance_of(measured[self.k - 1].0);
        candidates.keys.iter_mut().zip(&measured[..self.k]).for_each(|(slot, &(_, key))| *slot = key);
        candidates.len = self.k;
        let reach = self.queries.threshold(self.i, farthest);
        candidates.threshold = candidates.threshold.min(reach);
        reach
    }

    /// Reads a number from every cache line of the references' rows. These reads do not wait for one
    /// another, as those of one measurement after another would.
    #[inline(always)]
    pub(super) fn touch(&self, references: impl Iterator<Item = u32>) {
        const LINE: usize = 16;
        let lines = |j: u32| self.references.measured_row(j as usize).iter().step_by(LINE);
        std::hint::black_box(references.flat_map(lines).sum::<f32>());
    }

    /// The key of a reference by its measured distance.
    #[inline(always)]
    pub(super) fn measured(&self, reference: u32) -> u64 {
        key(self.queries.distance(self.i, self.references, reference as usize), self.ties, reference)
    }
}
