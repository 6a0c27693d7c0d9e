use super::*;
use crate::numeric::Matrix;

/// A graph from its edges, each both ways.
fn graph(nodes: usize, edges: &[(usize, usize)]) -> Sparse<'static, f32> {
    directed(nodes, &edges.iter().flat_map(|&(i, j)| [(i, j, 1.0), (j, i, 1.0)]).collect::<Vec<_>>())
}

fn directed(nodes: usize, edges: &[(usize, usize, f32)]) -> Sparse<'static, f32> {
    let mut pairs = Matrix::<f32>::zeros(nodes, nodes);
    edges.iter().for_each(|&(i, j, weight)| pairs[(i, j)] += weight);
    crate::similarity::graph_of_pairs(&pairs).expect("a graph")
}

fn of(graph: &Sparse<'_, f32>, clusters: Option<usize>) -> GraphAffinity {
    let weights = SampleWeights::uniform(graph.len()).expect("weights");
    RandomWalk::default().of_graph(graph, &weights, clusters).expect("a similarity")
}

/// Two rings with chords and one edge between them.
fn rings() -> Vec<(usize, usize)> {
    let ring = |first: usize| (0..9).flat_map(move |i| [1, 2].map(|step| (first + i, first + (i + step) % 9)));
    ring(0).chain(ring(9)).chain([(0, 9)]).collect()
}

#[test]
fn it_is_the_mean_of_powers_against_chance() {
    let edges = rings();
    let found = of(&graph(18, &edges), None);
    let linked = |i: usize, j: usize| f64::from(u8::from(edges.contains(&(i, j)) || edges.contains(&(j, i))));
    let degree = |i: usize| (0..18).map(|j| linked(i, j)).sum::<f64>();
    let total: f64 = (0..18).map(degree).sum();
    let step = Matrix::from_fn(18, 18, |i, j| linked(i, j) / degree(i));
    let times = |a: &Matrix<'_>| Matrix::from_fn(18, 18, |i, j| (0..18).map(|l| a[(i, l)] * step[(l, j)]).sum());
    let powers = std::iter::successors(Some(step.clone()), |power| Some(times(power))).take(5).collect::<Vec<_>>();
    for i in 0..18 {
        assert!((found.weights[i] - degree(i) / total).abs() < 1e-6);
        for j in 0..18 {
            let met = powers.iter().map(|power| power[(i, j)]).sum::<f64>() / 5.0;
            let expected = met / (degree(j) / total);
            assert!((found.similarity.entry(i, j) - expected).abs() < 1e-4 * (1.0 + expected), "({i}, {j})");
        }
    }
    assert!(found.similarity.is_symmetric() && found.set_aside.is_empty() && found.warnings.is_empty());
}

#[test]
fn only_the_likeliest_nodes_are_kept() {
    let graph = graph(18, &rings());
    let weights = SampleWeights::uniform(18).unwrap();
    let found = RandomWalk { kept: 4, ..RandomWalk::default() }.of_graph(&graph, &weights, None).unwrap();
    assert!(found.similarity.stored() <= 2 * 4 * 18);
    assert!(found.similarity.is_symmetric());
    let sum: f64 = (0..18)
        .flat_map(|i| (0..18).map(move |j| (i, j)))
        .map(|(i, j)| found.weights[i] * found.weights[j] * found.similarity.entry(i, j))
        .sum();
    assert!((sum - 1.0).abs() < 1e-5, "{sum}");
}

#[test]
fn loops_and_directions_change_nothing() {
    let edges = rings();
    let plain = of(&graph(18, &edges), None);
    let one_way: Vec<_> = edges.iter().map(|&(i, j)| (i, j, 2.0)).chain([(3, 3, 7.0)]).collect();
    let found = of(&directed(18, &one_way), None);
    assert_eq!(found.similarity, plain.similarity);
    assert_eq!(found.weights, plain.weights);
}

#[test]
fn crumbs_are_set_aside_and_said() {
    // A triangle and a lone node beside the rings.
    let edges: Vec<_> = rings().into_iter().chain([(18, 19), (19, 20), (20, 18)]).collect();
    let graph = graph(22, &edges);
    let found = of(&graph, Some(2));
    assert_eq!(found.set_aside, [18, 19, 20, 21]);
    assert!([18, 19, 20, 21].iter().all(|&i| found.weights[i] == 0.0 && found.similarity.row(i).0.is_empty()));
    let said = found.warnings[0].to_string();
    assert_eq!(
        said,
        "1 node without edges and 3 nodes in components too small for a cluster: put into the heaviest prototype"
    );
    // For many clusters the triangle is one of them, and so it is where all components are small.
    assert_eq!(of(&graph, Some(20)).set_aside, [21]);
    let pairs: Vec<_> = (0..40).map(|i| (2 * i, 2 * i + 1)).collect();
    assert!(of(&self::graph(80, &pairs), Some(2)).set_aside.is_empty());
}

#[test]
fn a_node_that_counts_for_nothing_is_not_there() {
    let edges: Vec<_> = rings().into_iter().chain([(18, 0), (18, 9)]).collect();
    let mut counts = vec![1.0; 19];
    counts[18] = 0.0;
    let found =
        RandomWalk::default().of_graph(&graph(19, &edges), &SampleWeights::new(&counts).unwrap(), None).unwrap();
    let plain = of(&graph(18, &rings()), None);
    assert_eq!(found.set_aside, [18]);
    (0..18).for_each(|i| assert!((found.weights[i] - plain.weights[i]).abs() < 1e-9));
}

#[test]
fn what_no_walk_can_use_is_refused() {
    let weights = SampleWeights::uniform(2).unwrap();
    let negative = directed(2, &[(0, 1, 1.0), (1, 0, -2.0)]);
    let walk = RandomWalk::default();
    let refused = |graph| walk.of_graph(graph, &weights, None).err();
    assert_eq!(refused(&negative), Some(Error::Negative { row: 1, column: 0, value: -2.0 }));
    let loops = directed(2, &[(0, 0, 1.0)]);
    assert!(refused(&loops).unwrap().to_string().contains("number of edges"));
}
