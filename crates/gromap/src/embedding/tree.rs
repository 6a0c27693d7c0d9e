//! Repulsion by a tree (Barnes and Hut, 1986): O(n·log n) on maps of any width, in one to three dimensions.
//!
//! A binary tree halves the prototypes by their median along the wider axis until [`LEAF`] or fewer are left. To the prototypes of a leaf, those of a
//! branch that is small next to its distance act together: as 2d charges that have their total, their mean and their covariance Σ = A·Aᵀ,
//!
//! ```text
//! μ ± √d·a_c,   each with 1/2d of the charge,   a_c the columns of A (Cholesky)
//! ```
//!
//! which leaves an error of third order in radius over distance, where the mean alone leaves one of second order. Such charges are
//! prototypes like others, so that the kernel is all that has to be known of a loss, and one loop serves near and far. A branch counts as small if
//!
//! ```text
//! radius² < θ²·(distance² + softness²)
//! ```
//!
//! where a kernel that is flat on the scale of its softness forgives as much. The prototypes of a leaf share the list of what acts on them; of 10,000
//! on a wide map it has some 500 entries.
//!
//! Leaves are worked on by any thread, and each by itself: the same bytes for any number of threads.

use rayon::prelude::*;

use super::pairs::{Coordinates, PairSum, Part, kept_apart};
use super::profile::{Curve, HeavyTailed, Profile, Student, Umap};
use super::repulsion::repulsion;
use crate::loss::Loss;
use crate::numeric::vector::{LANES, vectorized};

/// Prototypes of a leaf, at most.
const LEAF: usize = 32;
/// θ
const OPENING: f64 = 0.5;
/// Prototypes below which halves are not shared between threads.
const LEAST_SHARED: usize = 4096;

/// What the sum is of.
#[derive(Clone, Copy)]
pub(super) struct Interaction {
    pub(super) profile: Profile,
    pub(super) loss: Loss,
    /// Whether the pair of a prototype with itself counts.
    pub(super) self_pairs: bool,
}

/// The sum cᵀ r(W) c with charges c that are not negative, without the factor c_k in the gradient at prototype k; nothing for maps of more than
/// three dimensions, where a place is not a number, and for the Gaussian, which on all scales falls too fast for its distance.
pub(super) fn sum<const VALUE: bool>(
    interaction: Interaction,
    coordinates: &Coordinates,
    charges: &[f64],
) -> Option<PairSum> {
    let n = coordinates.prototypes;
    let is_finite = (0..coordinates.dims).all(|c| coordinates.axis(c)[..n].iter().all(|z| z.is_finite()));
    match coordinates.dims {
        _ if !is_finite => None,
        1 => of_dims::<1, VALUE>(interaction, coordinates, charges),
        2 => of_dims::<2, VALUE>(interaction, coordinates, charges),
        3 => of_dims::<3, VALUE>(interaction, coordinates, charges),
        _ => None,
    }
}

fn of_dims<const D: usize, const VALUE: bool>(
    Interaction { profile, loss, self_pairs }: Interaction,
    coordinates: &Coordinates,
    charges: &[f64],
) -> Option<PairSum> {
    let tree = || Tree::<D>::new(coordinates, charges);
    // Every arm names its loss, and its profile, so that each loop is compiled for one of them.
    Some(match (loss, profile) {
        (_, Profile::Gaussian) => return None,
        (Loss::BinaryCrossEntropy, Profile::Student) => tree().sum::<VALUE, true, _>(Student, self_pairs),
        (Loss::BinaryCrossEntropy, Profile::HeavyTailed) => tree().sum::<VALUE, true, _>(HeavyTailed, self_pairs),
        (Loss::BinaryCrossEntropy, Profile::Umap { a, b }) => tree().sum::<VALUE, true, _>(Umap { a, b }, self_pairs),
        (_, Profile::Student) => tree().sum::<VALUE, false, _>(Student, self_pairs),
        (_, Profile::HeavyTailed) => tree().sum::<VALUE, false, _>(HeavyTailed, self_pairs),
        (_, Profile::Umap { a, b }) => tree().sum::<VALUE, false, _>(Umap { a, b }, self_pairs),
    })
}

/// Bytes that a tree of so many prototypes takes, at most: of each its point, its sums and its share of branches, of which there are two for every
/// half-filled leaf.
pub(super) fn most_bytes(prototypes: u64) -> u64 {
    let branches = 4 * prototypes / LEAF as u64 + 2;
    prototypes * (size_of::<Point<3>>() + size_of::<(Part, [f64; 3])>()) as u64
        + branches * (size_of::<Branch<3>>() + size_of::<Vec<f64>>()) as u64
}

/// A prototype, in the order of the tree.
#[derive(Clone, Copy)]
struct Point<const D: usize> {
    place: [f64; D],
    charge: f64,
    index: u32,
}

/// A branch: how much it holds and where.
#[derive(Clone, Copy)]
struct Branch<const D: usize> {
    charge: f64,
    mean: [f64; D],
    /// Σ times the charge.
    spread: [[f64; D]; D],
    /// The smallest box around it.
    low: [f64; D],
    high: [f64; D],
}

impl<const D: usize> Branch<D> {
    const EMPTY: Self = Self {
        charge: 0.0,
        mean: [0.0; D],
        spread: [[0.0; D]; D],
        low: [f64::INFINITY; D],
        high: [f64::NEG_INFINITY; D],
    };

    fn of(point: &Point<D>) -> Self {
        Self { charge: point.charge, mean: point.place, low: point.place, high: point.place, ..Self::EMPTY }
    }

    /// Both together.
    fn with(&self, other: &Self) -> Self {
        let charge = self.charge + other.charge;
        let share = if charge > 0.0 { other.charge / charge } else { 0.5 };
        let apart: [f64; D] = std::array::from_fn(|c| other.mean[c] - self.mean[c]);
        let between = self.charge * share;
        Self {
            charge,
            mean: std::array::from_fn(|c| self.mean[c] + share * apart[c]),
            spread: std::array::from_fn(|r| {
                std::array::from_fn(|c| self.spread[r][c] + other.spread[r][c] + between * apart[r] * apart[c])
            }),
            low: std::array::from_fn(|c| self.low[c].min(other.low[c])),
            high: std::array::from_fn(|c| self.high[c].max(other.high[c])),
        }
    }

    /// The square of its largest possible distance from its mean.
    fn radius_square(&self) -> f64 {
        (0..D).map(|c| (self.mean[c] - self.low[c]).max(self.high[c] - self.mean[c]).powi(2)).sum()
    }

    /// The square of the distance between its mean and the box of another.
    fn distance_square(&self, other: &Self) -> f64 {
        let outside = |c: usize| (other.low[c] - self.mean[c]).max(self.mean[c] - other.high[c]).max(0.0);
        (0..D).map(|c| outside(c).powi(2)).sum()
    }

    /// The charges that act in its place.
    fn stand_ins(&self, mut add: impl FnMut([f64; D], f64)) {
        let charge = self.charge / (2 * D) as f64;
        let factor = D as f64 / self.charge;
        // Columns of the Cholesky factor of the covariance, which may be of any rank.
        let mut left = self.spread;
        for c in 0..D {
            let pivot = left[c][c].max(0.0);
            let scale = if pivot > 1e-14 * self.spread[c][c] { (factor / pivot).sqrt() } else { 0.0 };
            let column: [f64; D] = std::array::from_fn(|r| if r < c { 0.0 } else { scale * left[r][c] });
            for r in c..D {
                for other in c..D {
                    left[r][other] -= column[r] * column[other] / factor;
                }
            }
            add(std::array::from_fn(|r| self.mean[r] + column[r]), charge);
            add(std::array::from_fn(|r| self.mean[r] - column[r]), charge);
        }
    }
}

/// Charges side by side.
#[derive(Clone, Copy)]
struct Group<const D: usize> {
    places: [[f64; LANES]; D],
    charges: [f64; LANES],
}

/// What acts on the prototypes of a leaf.
struct Sources<const D: usize> {
    groups: Vec<Group<D>>,
    length: usize,
}

impl<const D: usize> Sources<D> {
    fn clear(&mut self) {
        self.groups.clear();
        self.length = 0;
    }

    fn add(&mut self, place: [f64; D], charge: f64) {
        let lane = self.length % LANES;
        if lane == 0 {
            // Lanes that stay empty are without charge, and where nothing is infinite.
            self.groups.push(Group { places: place.map(|z| [z + 1.0; LANES]), charges: [0.0; LANES] });
        }
        if let Some(group) = self.groups.last_mut() {
            group.places.iter_mut().zip(place).for_each(|(axis, z)| axis[lane] = z);
            group.charges[lane] = charge;
        }
        self.length += 1;
    }
}

struct Tree<const D: usize> {
    points: Vec<Point<D>>,
    /// Halvings from the whole to a leaf.
    depth: u32,
    /// The whole at 1, the halves of branch b at 2b and 2b + 1.
    branches: Vec<Branch<D>>,
}

impl<const D: usize> Tree<D> {
    fn new(coordinates: &Coordinates, charges: &[f64]) -> Self {
        let n = coordinates.prototypes;
        let place = |k: usize| std::array::from_fn(|c| coordinates.axis(c)[k]);
        let mut points: Vec<Point<D>> =
            (0..n).map(|k| Point { place: place(k), charge: charges[k], index: k as u32 }).collect();
        let depth = n.div_ceil(LEAF).next_power_of_two().ilog2();
        halve(&mut points, Halves { branch: 1, depth, n });
        let mut tree = Self { points, depth, branches: vec![Branch::EMPTY; 2 << depth] };
        let leaves = 1usize << depth;
        for leaf in 0..leaves {
            tree.branches[leaves + leaf] =
                tree.leaf(leaf).iter().map(Branch::of).reduce(|a, b| a.with(&b)).unwrap_or(Branch::EMPTY);
        }
        for b in (1..leaves).rev() {
            tree.branches[b] = tree.branches[2 * b].with(&tree.branches[2 * b + 1]);
        }
        tree
    }

    /// The prototypes of a leaf.
    fn leaf(&self, leaf: usize) -> &[Point<D>] {
        let first = |leaf: usize| (leaf * self.points.len()) >> self.depth;
        &self.points[first(leaf)..first(leaf + 1)]
    }

    fn sum<const VALUE: bool, const BCE: bool, C: Curve>(&self, curve: C, self_pairs: bool) -> PairSum {
        let softness_square = if BCE { 0.0 } else { C::SOFTNESS * C::SOFTNESS };
        let leaves: Vec<Vec<(Part, [f64; D])>> = (0..1usize << self.depth)
            .into_par_iter()
            .map_init(
                || (Sources { groups: Vec::new(), length: 0 }, Vec::new()),
                |(sources, stack), leaf| {
                    crate::interrupt::look();
                    self.gather(leaf, softness_square, sources, stack);
                    let points = self.leaf(leaf);
                    let mut sums = vec![(Part::default(), [0.0; D]); points.len()];
                    vectorized(
                        #[inline(always)]
                        || {
                            for (sum, point) in sums.iter_mut().zip(points) {
                                *sum = acting::<D, VALUE, BCE, _>(curve, point, &sources.groups);
                            }
                        },
                    );
                    sums
                },
            )
            .collect();
        let own = match self_pairs {
            true => 0.0,
            false => repulsion::<VALUE, BCE>(curve.at::<true>(kept_apart(0.0, &curve, BCE))).0,
        };
        let n = self.points.len();
        let mut sum = PairSum { rows: vec![0.0; n], gradient: vec![0.0; n * D], stiffness: vec![0.0; n] };
        for (point, (part, slopes)) in self.points.iter().zip(leaves.iter().flatten()) {
            let k = point.index as usize;
            sum.rows[k] = point.charge * (part.value - point.charge * own);
            sum.stiffness[k] = part.stiffness;
            sum.gradient[k * D..][..D].copy_from_slice(slopes);
        }
        sum
    }

    /// What acts on the prototypes of a leaf: prototypes that are near, and stand-ins of branches that are far.
    fn gather(&self, leaf: usize, softness_square: f64, sources: &mut Sources<D>, stack: &mut Vec<usize>) {
        sources.clear();
        let leaves = 1usize << self.depth;
        let here = &self.branches[leaves + leaf];
        stack.clear();
        stack.push(1);
        while let Some(b) = stack.pop() {
            let branch = &self.branches[b];
            if branch.charge <= 0.0 {
                continue;
            }
            let distance_square = branch.distance_square(here);
            if branch.radius_square() < OPENING * OPENING * (distance_square + softness_square) {
                branch.stand_ins(|place, charge| sources.add(place, charge));
            } else if b < leaves {
                stack.extend([2 * b + 1, 2 * b]);
            } else {
                self.leaf(b - leaves).iter().for_each(|point| sources.add(point.place, point.charge));
            }
        }
    }
}

/// A branch that is still to be halved.
#[derive(Clone, Copy)]
struct Halves {
    branch: usize,
    /// That of the tree, and how many points it holds.
    depth: u32,
    n: usize,
}

impl Halves {
    /// Where the second half begins. Leaf l of the tree begins at l·n/2^depth, rounded down.
    fn middle(self) -> usize {
        let level = self.branch.ilog2();
        let at = self.branch - (1 << level);
        (((2 * at + 1) * self.n) >> (level + 1)) - ((at * self.n) >> level)
    }
}

/// Brings the points of each half together, by their median along the wider axis, down to the leaves.
fn halve<const D: usize>(points: &mut [Point<D>], halves: Halves) {
    if halves.branch.ilog2() == halves.depth {
        return;
    }
    let width = |c: usize| {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = points.iter().fold(ends, |(low, high), p| (p.place[c].min(low), p.place[c].max(high)));
        high - low
    };
    let widest = (1..D).fold(0, |best, c| if width(c) > width(best) { c } else { best });
    let middle = halves.middle();
    let order = |a: &Point<D>, b: &Point<D>| a.place[widest].total_cmp(&b.place[widest]).then(a.index.cmp(&b.index));
    points.select_nth_unstable_by(middle, order);
    let (first, second) = points.split_at_mut(middle);
    let mut first_half = || halve(first, Halves { branch: 2 * halves.branch, ..halves });
    let mut second_half = || halve(second, Halves { branch: 2 * halves.branch + 1, ..halves });
    if middle < LEAST_SHARED {
        first_half();
        second_half();
    } else {
        rayon::join(first_half, second_half);
    }
}

/// Σ_l c_l·r(d²_l), if asked for, −Σ_l c_l·r′(d²_l), and Σ_l c_l·r′(d²_l)·(z − z_l).
#[inline(always)]
fn acting<const D: usize, const VALUE: bool, const BCE: bool, C: Curve>(
    curve: C,
    point: &Point<D>,
    groups: &[Group<D>],
) -> (Part, [f64; D]) {
    let (mut values, mut stiffness) = ([0.0; LANES], [0.0; LANES]);
    let mut slopes = [[0.0; LANES]; D];
    for group in groups {
        for lane in 0..LANES {
            let mut square = 0.0;
            for c in 0..D {
                let by = point.place[c] - group.places[c][lane];
                square += by * by;
            }
            let (value, derivative) = repulsion::<VALUE, BCE>(curve.at::<true>(kept_apart(square, &curve, BCE)));
            values[lane] += group.charges[lane] * value;
            // What is in the same place, itself among it, pushes in no direction.
            let force = if square > 0.0 { group.charges[lane] * derivative } else { 0.0 };
            stiffness[lane] -= force;
            for (c, slope) in slopes.iter_mut().enumerate() {
                slope[lane] += force * (point.place[c] - group.places[c][lane]);
            }
        }
    }
    let whole = |[a, b, c, d, e, f, g, h]: [f64; LANES]| ((a + e) + (c + g)) + ((b + f) + (d + h));
    (Part { value: whole(values), stiffness: whole(stiffness) }, slopes.map(whole))
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
