//! Samples cut into small groups of near ones, by random hyperplanes.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::candidates::ascending;
use super::metric::Points;
use crate::numeric::vector::vectorized;

/// Pairs of samples tried for a direction before a group counts as one point.
const TRIALS: usize = 8;

/// Groups of at most `most` samples, more than half of that each. Neighbouring groups of the
/// answer are neighbours in the tree. N·p·log(N/most) multiplications.
pub(super) fn partition(points: &Points<'_>, most: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut members: Vec<u32> = (0..points.len() as u32).collect();
    split(points, &mut members, most, seed)
}

/// Cuts at the median along the line through two random members; the seed of a half comes from the
/// seed of the whole, so the threads that share the halves do not matter.
fn split(points: &Points<'_>, members: &mut [u32], most: usize, seed: u64) -> Vec<Vec<u32>> {
    if members.len() <= most {
        return vec![members.to_vec()];
    }
    crate::interrupt::look();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut direction = vec![0.0; points.features()];
    for _ in 0..TRIALS {
        let mut pick = || points.row(members[rng.random_range(0..members.len())] as usize);
        let (a, b) = (pick(), pick());
        direction.iter_mut().zip(a.iter().zip(b)).for_each(|(d, (a, b))| *d = a - b);
        if direction.iter().any(|d| *d != 0.0) {
            break;
        }
    }
    let mut keys: Vec<u64> = Vec::with_capacity(members.len());
    vectorized(
        #[inline(always)]
        || {
            for &i in &*members {
                let along = dot(points.row(i as usize), &direction);
                keys.push(u64::from(ascending(along)) << 32 | u64::from(i));
            }
        },
    );
    let middle = members.len() / 2;
    keys.select_nth_unstable(middle);
    // The order within a half is the selection's own; sorting makes the answer independent of it.
    members.iter_mut().zip(&keys).for_each(|(member, &key)| *member = key as u32);
    drop(keys);
    let (left, right) = members.split_at_mut(middle);
    left.sort_unstable();
    right.sort_unstable();
    let (left_seed, right_seed) = (rng.random(), rng.random());
    let (mut left, right) =
        rayon::join(|| split(points, left, most, left_seed), || split(points, right, most, right_seed));
    left.extend(right);
    left
}

/// ⟨x, y⟩ in interleaved sums: the same on every machine.
#[inline(always)]
fn dot(x: &[f32], y: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let (x_groups, x_rest) = x.as_chunks::<LANES>();
    let (y_groups, y_rest) = y.as_chunks::<LANES>();
    for (x, y) in x_groups.iter().zip(y_groups) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let mut total = 0.0;
    for (x, y) in x_rest.iter().zip(y_rest) {
        total += x * y;
    }
    for sum in sums {
        total += sum;
    }
    total
}
