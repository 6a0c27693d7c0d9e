"""Graphs as data: communities come back, and what is odd about a graph is defined."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from gromap import GromovClustering, GromovDR, load, metrics


def block_model(sizes, inside, between, *, hubs=False, alone=0, seed=0):
    """A graph of groups; with hubs, degrees differ by an order of magnitude."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    activity = rng.pareto(2.5, len(groups)) + 0.5 if hubs else np.ones(len(groups))
    chances = np.where(groups[:, None] == groups, inside, between) * np.outer(activity, activity)
    edges = np.triu(rng.random(chances.shape) < chances, 1)
    graph = np.zeros((len(groups) + alone,) * 2)
    graph[: len(groups), : len(groups)] = edges | edges.T
    return sp.csr_array(graph), groups


def communities(graph, n, **more):
    return GromovClustering(n, precomputed="graph", random_state=0, **more).fit(graph)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(block_model([100, 100, 100, 100], 0.1, 0.005), id="equal blocks"),
        pytest.param(block_model([250, 100, 50], 0.12, 0.01), id="unequal blocks"),
        pytest.param(block_model([200, 150, 100], 0.06, 0.003, hubs=True), id="hubs"),
    ],
)
def test_blocks_come_back(model):
    graph, groups = model
    degrees = graph.sum(axis=0)
    linked = degrees > 3
    labels = communities(graph, groups.max() + 1).labels_
    assert metrics.adjusted_rand_score(groups[linked], labels[linked]) > 0.9


def test_lone_nodes_and_crumbs_take_no_cluster():
    graph, groups = block_model([120, 100, 80], 0.12, 0.005, alone=5)
    crumbs = graph.tolil()
    crumbs[300, 301] = crumbs[301, 300] = 1
    with pytest.warns(UserWarning, match="3 nodes without edges and 2 nodes in components too small"):
        found = communities(crumbs.tocsr(), 3)
    assert metrics.adjusted_rand_score(groups, found.labels_[:300]) > 0.9
    assert set(found.labels_[300:]) == {np.argmax(found.weights_)}


def test_weights_are_those_of_degrees():
    graph, groups = block_model([60, 60], 0.2, 0.01)
    found = communities(graph, 2)
    degrees = graph.sum(axis=0)
    of_cluster = np.bincount(found.labels_, weights=degrees) / degrees.sum()
    np.testing.assert_allclose(found.weights_, of_cluster, atol=0.02)
    assert len(groups) == found.plan_.shape[0]


def test_forms_directions_and_loops_do_not_matter():
    graph, _ = block_model([60, 60], 0.2, 0.01)
    plain = communities(graph, 2)
    upper = sp.triu(graph, 1) * 2
    loops = graph + sp.diags_array(np.arange(120.0))
    for other in (graph.toarray(), graph.tocoo(), upper, loops, graph.astype(np.float32)):
        same = communities(other, 2)
        np.testing.assert_array_equal(same.labels_, plain.labels_)
        assert same.loss_ == plain.loss_


def test_a_map_and_its_file(tmp_path):
    graph, groups = block_model([80, 80, 80], 0.15, 0.01, alone=2)
    with pytest.warns(UserWarning, match="2 nodes without edges"):
        m = GromovDR(12, precomputed="graph", random_state=0).fit(graph)
    assert metrics.homogeneity_score(groups, m.labels_[:240]) > 0.9
    assert np.isfinite(m.sample_places_).all() and np.isfinite(m.embedding_).all()
    m.save(tmp_path / "graph.gromap")
    again = load(tmp_path / "graph.gromap")
    assert again.precomputed == "graph"
    np.testing.assert_array_equal(again.labels_, m.labels_)
    with pytest.raises(ValueError):
        m.predict(graph)


def test_a_place_for_every_node():
    graph, _ = block_model([40, 40], 0.3, 0.02, alone=1)
    with pytest.warns(UserWarning, match="1 node without edges"):
        m = GromovDR(None, precomputed="graph", random_state=0).fit(graph)
    assert m.embedding_.shape == (81, 2) and np.isfinite(m.embedding_).all()


def test_a_start_by_labels():
    graph, groups = block_model([60, 60], 0.2, 0.01)
    found = communities(graph, 2, init=groups)
    np.testing.assert_array_equal(found.labels_, groups)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.array([[0, 1, 0], [1, 0, -2.0], [0, 1, 0]]), r"\[1, 2\]"),
        (np.diag([1.0, 2.0, 3.0]), "number of edges"),
        (np.ones((3, 2)), "must be square"),
        ((np.ones((3, 1)),), "array"),
    ],
)
def test_what_is_no_graph_is_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        communities(graph, 2)


def test_of_two_starts_the_lower_loss_is_kept():
    graph, _ = block_model([150, 90, 60, 50, 40], 0.12, 0.03, hubs=True)
    losses = {init: communities(graph, 5, init=init).loss_ for init in ("auto", "agglomerative", "spectral")}
    assert losses["auto"] == min(losses.values())
    assert losses["agglomerative"] != losses["spectral"]


def test_graphs_of_networkx_keep_their_names_and_order(tmp_path):
    nx = pytest.importorskip("networkx")
    array, groups = block_model([60, 60], 0.2, 0.01)
    graph = nx.Graph()
    order = np.random.default_rng(0).permutation(120)
    graph.add_nodes_from(f"node {i}" for i in order)
    for i, j in zip(*sp.triu(array).nonzero(), strict=True):
        graph.add_edge(f"node {i}", f"node {j}", weight=2.0)
    found = communities(graph, 2)
    assert list(found.node_names_) == [f"node {i}" for i in order]
    np.testing.assert_array_equal(found.labels_, communities(2 * array[order][:, order], 2).labels_)
    assert metrics.adjusted_rand_score(groups[order], found.labels_) == 1.0
    nx.write_graphml(graph, tmp_path / "g.graphml")
    again = communities(tmp_path / "g.graphml", 2)
    np.testing.assert_array_equal(again.node_names_, found.node_names_)
    np.testing.assert_array_equal(again.labels_, found.labels_)
    assert list(pickle.loads(pickle.dumps(found)).node_names_) == list(found.node_names_)
    assert not hasattr(found.fit(array), "node_names_")
    GromovDR(12, precomputed="graph", random_state=0).fit(graph).report(tmp_path / "map.html")


def test_directions_and_parallel_edges_of_networkx_add_up():
    nx = pytest.importorskip("networkx")
    array, _ = block_model([40, 40], 0.3, 0.02)
    both = nx.MultiDiGraph()
    both.add_nodes_from(range(80))
    both.add_edges_from(zip(*array.nonzero(), strict=True))
    both.add_edges_from(zip(*array.nonzero(), strict=True))
    assert communities(both, 2).loss_ == communities(array, 2).loss_


def test_files_that_are_no_graphs_are_refused(tmp_path):
    nx = pytest.importorskip("networkx")
    with pytest.raises(ValueError, match="ending .graphml"):
        communities("graph.txt", 2)
    with pytest.raises(ValueError, match="0 nodes"):
        communities(nx.Graph(), 2)
