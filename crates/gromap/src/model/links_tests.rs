//! The strongest links against M itself, and against edges that are counted.

use super::*;
use crate::data::Data;
use crate::method::Method;
use crate::model::{GromovDr, Model};
use crate::numeric::Matrix;
use crate::similarity::{Dense, Sparse};
use crate::weights::SampleWeights;

/// Numbers from 0 to 1 without a pattern.
fn noise(at: usize) -> f64 {
    ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1u64 << 24) as f64
}

/// Some pairs of samples, alike both ways or not, with entries on the diagonal.
fn pairs(samples: usize, is_symmetric: bool) -> Matrix<'static> {
    Matrix::from_fn(samples, samples, |i, j| {
        let at = if is_symmetric { i.min(j) * samples + i.max(j) } else { i * samples + j };
        if noise(at) < 0.3 { noise(at + 7919) } else { 0.0 }
    })
}

fn sparse(pairs: &Matrix<'_>) -> Sparse<'static, f64> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..pairs.rows() {
        for (j, &value) in pairs.row(i).iter().enumerate().filter(|(_, value)| **value != 0.0) {
            columns.push(j as u32);
            values.push(value);
        }
        offsets.push(columns.len());
    }
    Sparse::new(offsets, columns, values).unwrap()
}

/// All of M, entry by entry, and what is among the three largest of either end.
fn by_hand(pairs: &Matrix<'_>, plan: &Plan) -> Vec<(u32, u32, f64)> {
    let n = plan.prototypes();
    let mut mass = Matrix::zeros(n, n);
    for i in 0..pairs.rows() {
        for j in (0..pairs.rows()).filter(|&j| j != i) {
            for (k, a) in plan.row(i).iter() {
                for (l, b) in plan.row(j).iter() {
                    mass.row_mut(k)[l] += a * pairs[(i, j)] * b;
                }
            }
        }
    }
    let whole: f64 = mass.values().iter().sum();
    let share = |k: usize, l: usize| (mass[(k, l)] + mass[(l, k)]) / whole;
    let stronger = |k: usize, l: usize| (0..n).filter(|&m| m != k && share(k, m) > share(k, l)).count();
    let asked = |k: usize, l: usize| share(k, l) > 0.0 && stronger(k, l) < OF_ONE;
    let ends = (0..n).flat_map(|k| (k + 1..n).map(move |l| (k, l)));
    ends.filter(|&(k, l)| asked(k, l) || asked(l, k)).map(|(k, l)| (k as u32, l as u32, share(k, l))).collect()
}

#[track_caller]
fn agree(found: &[(u32, u32, f64)], expected: &[(u32, u32, f64)]) {
    let ends = |links: &[(u32, u32, f64)]| links.iter().map(|link| (link.0, link.1)).collect::<Vec<_>>();
    assert!(!expected.is_empty());
    assert_eq!(ends(found), ends(expected));
    assert!(found.iter().zip(expected).all(|(a, b)| (a.2 - b.2).abs() < 1e-12), "{found:?} {expected:?}");
}

#[test]
fn links_are_the_largest_entries_of_the_mass_between_prototypes() {
    let labels: Vec<u32> = (0..60).map(|i| (noise(i + 31) * 9.0) as u32).collect();
    let raw: Vec<f64> = (0..60).map(|i| noise(i) + 0.1).collect();
    let hard = Plan::from_labels(labels, 9, SampleWeights::new(&raw).unwrap()).unwrap();
    let soft = Plan::random(9, SampleWeights::new(&raw).unwrap(), 5).unwrap();
    for is_symmetric in [true, false] {
        let pairs = pairs(60, is_symmetric);
        let similarity = sparse(&pairs);
        assert_eq!(similarity.is_symmetric(), is_symmetric);
        for plan in [&hard, &soft] {
            agree(&strongest(&similarity, plan), &by_hand(&pairs, plan));
        }
    }
}

#[test]
fn relations_of_all_pairs_and_negative_ones_have_no_links() {
    let plan = Plan::from_labels((0..60).map(|i| i % 4).collect(), 4, SampleWeights::uniform(60).unwrap()).unwrap();
    let pairs = pairs(60, true);
    assert!(strongest(&Dense::new(pairs.view()).unwrap(), &plan).is_empty());
    assert!(!strongest(&sparse(&pairs), &plan).is_empty());
    let opposed = Matrix::from_fn(60, 60, |i, j| -pairs[(i, j)]);
    assert!(strongest(&sparse(&opposed), &plan).is_empty());
}

#[test]
fn there_are_never_more_than_a_page_can_show() {
    // Every sample is a prototype, and a star of neighbours to the next twenty.
    let samples = 4500;
    let (mut offsets, mut columns) = (vec![0], Vec::new());
    for i in 0..samples {
        let mut near: Vec<u32> = (1..=20).map(|step| ((i + step * step) % samples) as u32).collect();
        near.sort_unstable();
        near.dedup();
        columns.extend(near);
        offsets.push(columns.len());
    }
    let values: Vec<f32> = (0..columns.len()).map(|at| noise(at) as f32 + 0.1).collect();
    let plan = |n: usize| {
        let labels = (0..samples).map(|i| (i % n) as u32).collect();
        Plan::from_labels(labels, n, SampleWeights::uniform(samples).unwrap()).unwrap()
    };
    let similarity = Sparse::new(offsets, columns, values).unwrap();
    let links = strongest(&similarity, &plan(samples));
    assert_eq!(links.len(), MOST);
    assert!(links.windows(2).all(|pair| (pair[0].0, pair[0].1) < (pair[1].0, pair[1].1)));
}

fn map_of(graph: &Sparse<'_, f32>) -> Model {
    GromovDr::builder().method(Method::TSnekhorn).prototypes(6).seed(0).fit(Data::Graph(graph)).unwrap()
}

#[test]
fn links_of_a_graph_are_shares_of_its_edges() {
    // Six rings of ten nodes, each with edges to the next one alone.
    let node = |group: usize, at: usize| group % 6 * 10 + at % 10;
    let mut edges = Vec::new();
    for group in 0..6 {
        for at in 0..10 {
            edges.extend([(node(group, at), node(group, at + 1)), (node(group, at), node(group, at + 3))]);
        }
        edges.extend((0..group + 1).map(|at| (node(group, at), node(group + 1, at))));
    }
    let adjacency =
        Matrix::from_fn(60, 60, |i, j| edges.iter().filter(|&&edge| edge == (i, j) || edge == (j, i)).count() as f32);
    let graph = crate::similarity::graph_of_pairs(&adjacency).unwrap();
    let model = map_of(&graph);
    let labels = model.plan.labels();
    for &(k, l, share) in &model.links {
        let between = |&&(i, j): &&(usize, usize)| {
            let ends = (labels[i].min(labels[j]), labels[i].max(labels[j]));
            ends == (k, l)
        };
        let counted = edges.iter().filter(between).count() as f64 / edges.len() as f64;
        assert!((share - counted).abs() < 1e-9 && counted > 0.0, "{k} {l}: {share}, counted {counted}");
    }
    assert!(model.links.len() >= model.weights.len() - 1, "{:?}", model.links);
    assert_eq!(Model::from_bytes(&model.to_bytes()).unwrap().links, model.links);
}
