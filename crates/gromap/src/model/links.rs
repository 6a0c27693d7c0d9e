//! The strongest links between prototypes: where the similarity of samples runs from one prototype to another.
//!
//! ```text
//! M = TᵀC_X T        share of k and l:  (M_kl + M_lk) / ΣM,  what a sample is to itself left out
//! ```
//!
//! Of a graph they are its edges, each node counted once: C_X is how walks of several steps meet, against chance, and is larger
//! than zero between prototypes that no edge connects. A map puts near what is linked, as far as two dimensions allow; the
//! links say what it could not show.
//!
//! M itself is n×n, and most of it says little. A link is kept if it is among the strongest few of either end, and of
//! these the strongest few thousand: a page and a file hold no more of them, however large the data are. Rows of M are
//! made one at a time, while C_X is at hand.

use rayon::prelude::*;

use crate::plan::Plan;
use crate::similarity::{Contents, ProductRow, Side, Similarity, Sketch};

/// Links that a prototype asks for.
const OF_ONE: usize = 3;
/// Links of a model.
const MOST: usize = 4000;
/// With more prototypes than these, links are a grey cloud.
const MOST_PROTOTYPES: usize = 5000;

/// (prototype, prototype, share of all similarity), the lower number first, in the order of both; none where every pair of
/// samples relates, or some against each other.
pub(crate) fn strongest(similarity: &dyn Similarity, plan: &Plan) -> Vec<(u32, u32, f64)> {
    let n = plan.prototypes();
    let of_pairs = matches!(similarity.contents(), Contents::Dense(_) | Contents::LowRank(..));
    if of_pairs || similarity.bounds().low.value < 0.0 || !(2..=MOST_PROTOTYPES).contains(&n) {
        return Vec::new();
    }
    let columns = plan.columns();
    let sides = if similarity.is_symmetric() { &[Side::Direct][..] } else { &[Side::Direct, Side::Transposed] };
    let products: Vec<_> = sides.iter().map(|&side| similarity.sketch(plan, side)).collect();
    let row_of = |sum: &mut [f64], row: &mut ProductRow, k: usize| {
        sum.fill(0.0);
        let (samples, mass) = columns.column(k);
        for (&i, mass) in samples.iter().zip(mass) {
            for product in &products {
                add_row(&**product, similarity, plan, i as usize, row);
                row.seen.iter().for_each(|&l| sum[l as usize] += mass * row.values[l as usize]);
            }
        }
        (strongest_of(sum, k), sum.iter().sum::<f64>())
    };
    let rows: Vec<(Vec<(u32, f64)>, f64)> = (0..n)
        .into_par_iter()
        .map_init(|| (vec![0.0; n], ProductRow::default()), |(sum, row), k| row_of(sum, row, k))
        .collect();
    // One side of a symmetric similarity stands for both, here and in the whole.
    let whole: f64 = rows.iter().map(|row| row.1).sum::<f64>() / 2.0;
    if !(whole > 0.0 && whole.is_finite()) {
        return Vec::new();
    }
    let mut links: Vec<(u32, u32, f64)> = Vec::new();
    for (k, (row, _)) in rows.iter().enumerate() {
        links.extend(row.iter().map(|&(l, mass)| (l.min(k as u32), l.max(k as u32), mass / whole)));
    }
    let by_ends = |a: &(u32, u32, f64), b: &(u32, u32, f64)| (a.0, a.1).cmp(&(b.0, b.1));
    links.sort_by(by_ends);
    // Both ends may ask for a link, and sum the same numbers in another order.
    links.dedup_by(|b, a| (a.0, a.1) == (b.0, b.1));
    links.sort_by(|a, b| b.2.total_cmp(&a.2).then(by_ends(a, b)));
    links.truncate(MOST);
    links.sort_by(by_ends);
    links
}

/// A row of C·T without what the sample is to itself.
fn add_row(product: &dyn Sketch, similarity: &dyn Similarity, plan: &Plan, i: usize, row: &mut ProductRow) {
    row.clear(plan.prototypes());
    product.product_row(i, row);
    let itself = similarity.diagonal(i);
    if itself != 0.0 {
        plan.row(i).iter().for_each(|(k, mass)| row.add(k, -itself * mass));
    }
}

/// The largest entries of a row of M but its own, the lower number of equals first.
fn strongest_of(row: &[f64], own: usize) -> Vec<(u32, f64)> {
    let mut best: Vec<(u32, f64)> = Vec::with_capacity(OF_ONE + 1);
    for (l, &mass) in row.iter().enumerate() {
        if l == own || mass <= 0.0 || (best.len() == OF_ONE && mass <= best[OF_ONE - 1].1) {
            continue;
        }
        let at = best.partition_point(|entry| entry.1 >= mass);
        best.insert(at, (l as u32, mass));
        best.truncate(OF_ONE);
    }
    best
}

/// The same for a graph: the share of its edges, whatever its nodes weigh.
pub(crate) fn of_graph(graph: &dyn Similarity, plan: &Plan) -> Vec<(u32, u32, f64)> {
    let even = crate::weights::SampleWeights::uniform(plan.len());
    let each = even.and_then(|even| Plan::from_labels(plan.labels(), plan.prototypes(), even));
    each.map_or_else(|_| Vec::new(), |plan| strongest(graph, &plan))
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
