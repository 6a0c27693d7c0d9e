"""Scores of small groups against their definitions, written plainly."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from gromap import metrics
from sklearn.neighbors import NearestNeighbors

RNG = np.random.default_rng(0)


def grouped(n, d, groups):
    labels = np.r_[np.arange(groups), RNG.integers(0, groups, n - groups)]
    return RNG.normal(size=(groups, d))[labels] + 0.3 * RNG.normal(size=(n, d)), labels


GROUPS = {
    "few": grouped(200, 3, 4),
    "many": grouped(300, 9, 60),
    "with a group of one": (np.r_[grouped(50, 2, 5)[0], [[9.0, 9.0]]], np.r_[grouped(50, 2, 5)[1], 7]),
    "far from zero": (grouped(80, 2, 4)[0] + 1e6, grouped(80, 2, 4)[1]),
    "blocks": grouped(41_000, 2, 30),
}


@pytest.mark.parametrize("name", GROUPS)
def test_compactness(name):
    X, labels = GROUPS[name]
    members = [X[labels == k] for k in np.unique(labels)]
    expected = [np.var(x, axis=0, ddof=1).mean() if len(x) > 1 else np.nan for x in members]
    np.testing.assert_allclose(metrics.compactness(X, labels), expected, rtol=1e-6)


@pytest.mark.parametrize("name", GROUPS)
def test_separation(name):
    X, labels = GROUPS[name]
    means = np.array([X[labels == k].mean(axis=0) for k in np.unique(labels)])
    distances = np.linalg.norm(means[:, None] - means, axis=2)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_allclose(metrics.separation(X, labels), distances.min(axis=1), rtol=1e-6)


@pytest.mark.parametrize("name", GROUPS)
def test_purity(name):
    labels = GROUPS[name][1]
    classes = np.array(["B", "T", "NK"])[RNG.integers(0, 3, len(labels))]
    expected = [max((classes[labels == k] == c).mean() for c in set(classes)) for k in np.unique(labels)]
    np.testing.assert_allclose(metrics.purity(classes, labels), expected)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("quantile", [0.5, 0.95])
def test_inner_normalized_variance(form, quantile):
    labels = np.r_[GROUPS["few"][1], 9]
    counts = RNG.poisson(RNG.gamma(0.5, 2.0, 40), (201, 40))
    expected = []
    for k in np.unique(labels):
        inside = counts[labels == k]
        seen = inside.mean(axis=0) > 0
        ratio = inside.var(axis=0, ddof=1)[seen] / inside.mean(axis=0)[seen] if len(inside) > 1 else [np.nan]
        expected.append(np.quantile(ratio, quantile))
    found = metrics.inner_normalized_variance(form(counts), labels, quantile=quantile)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_counting_noise_alone_has_a_ratio_of_one():
    counts = RNG.poisson(5.0, (4000, 30))
    assert metrics.inner_normalized_variance(counts, np.zeros(4000), quantile=0.5) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_correlation_error(form):
    X, labels = GROUPS["few"]
    X = np.c_[np.maximum(X, 0), np.full(len(X), 3.0)]  # a constant column does not count
    means = np.array([X[labels == k].mean(axis=0) for k in range(4)])[labels]
    total, between = np.cov(X[:, :3].T), np.cov(means[:, :3].T)
    deviation = np.sqrt(np.diag(total))
    lost = (total - between) / np.outer(deviation, deviation)
    expected = np.sqrt(np.mean(lost[~np.eye(3, dtype=bool)] ** 2))
    assert metrics.correlation_error(form(X), labels) == pytest.approx(expected, rel=1e-9)


def test_noise_of_its_own_in_every_column_is_no_correlation_error():
    labels = np.repeat([0, 1], 20_000)
    X = np.outer(labels, [1.0, -1.0, 2.0]) + RNG.normal(size=(40_000, 3))
    assert metrics.correlation_error(X, labels) < 0.01 < 0.15 < metrics.correlation_error(X, 0 * labels)


@pytest.mark.parametrize("k", [1, 7])
def test_label_agreement(k):
    X, labels = GROUPS["few"]
    near = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[1]
    expected = (labels[near] == labels[:, None]).mean()
    assert metrics.label_agreement(X, labels.astype(str), n_neighbors=k) == pytest.approx(expected)


def test_size_balance():
    labels = np.repeat(["a", "b", "c"], [10, 10, 80])
    shares = np.array([0.1, 0.1, 0.8])
    assert metrics.size_balance(labels) == pytest.approx(np.prod(shares**-shares) / 3)


def diffusion(X, components, k):
    """Dense, by the definition, from the walk itself."""
    distances, near = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
    W = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        W[i, near[i]] = np.exp(-distances[i] / distances[i, k // 3 - 1])
    W += W.T
    values, vectors = np.linalg.eig(W / W.sum(axis=1, keepdims=True))
    order = np.argsort(-values.real)[1 : components + 1]
    values, vectors = values.real[order], vectors.real[:, order]
    return vectors / np.linalg.norm(vectors, axis=0) * values / (1 - values)


@pytest.mark.parametrize("n", [20, 300])
def test_diffusion_components(n):
    X = np.c_[np.linspace(0, 3, n), RNG.normal(0, 0.1, n)].astype(np.float32)
    found, expected = metrics.diffusion_components(X, 3, n_neighbors=9), diffusion(X.astype(float), 3, 9)
    sign = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected * sign, atol=1e-4 * np.abs(expected).max())
    np.testing.assert_array_equal(found, metrics.diffusion_components(X, 3, n_neighbors=9))


def test_components_of_a_graph_in_pieces_are_those_within_them():
    piece = RNG.normal(size=(80, 2))
    with pytest.warns(UserWarning, match="in 2 pieces"):
        found = metrics.diffusion_components(np.r_[piece, piece + 100], 4, n_neighbors=10)
    found, pieces = found[:, :4], found[:, 4:]
    assert np.isfinite(found).all() and np.abs(found).max() < 1e3
    # A column for each piece, of the length of the longest.
    own = np.linalg.norm(found, axis=0).max() / np.sqrt(80)
    np.testing.assert_allclose(pieces, own * np.repeat(np.eye(2), 80, axis=0), rtol=1e-6)
    # Both pieces are alike, so that every eigenvalue of one is there twice.
    alone = metrics.diffusion_components(piece, 2, n_neighbors=10)
    weight = np.linalg.norm(alone, axis=0)
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), np.repeat(weight, 2), rtol=1e-3)


def test_copies_of_samples_do_not_fall_apart():
    X = np.repeat(np.linspace(0, 1, 30)[:, None], 5, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none of pieces
        first = metrics.diffusion_components(X, 1, n_neighbors=12)[:, 0]
    steps = np.diff(first.reshape(30, 5).mean(axis=1))
    assert (steps > 0).all() or (steps < 0).all()


X, Y = GROUPS["few"]
BAD = {
    "lengths": (lambda: metrics.compactness(X, Y[1:]), "components and labels must be of equal length, not 200 and 199"),
    "one group": (lambda: metrics.separation(X, 0 * Y), "separation is between at least two"),
    "negative": (lambda: metrics.inner_normalized_variance(X, Y), "X has negative entries"),
    "quantile": (lambda: metrics.inner_normalized_variance(X**2, Y, 95), "quantile is 95; it must be from 0 to 1"),
    "nothing": (lambda: metrics.size_balance([]), "labels are empty"),
    "no rows": (lambda: metrics.compactness(X[:0], Y[:0]), "components has no rows"),
    "no varying columns": (lambda: metrics.correlation_error(np.ones((9, 2)), np.arange(9)), "fewer than two columns"),
    "too many columns": (lambda: metrics.correlation_error(sp.csr_array((2, 10_001)), [0, 1]), "the most variable genes"),
    "neighbours": (lambda: metrics.label_agreement(X, Y, 200), "n_neighbors is 200; it must be from 1 to 199"),
    "classes": (lambda: metrics.purity(Y[1:], Y), "classes and labels must be of equal length, not 199 and 200"),
    "components": (lambda: metrics.diffusion_components(X[:20], 19, 5), "too few for 19 components"),
    "no components": (lambda: metrics.diffusion_components(X, 0), "n_components is 0; it must be at least 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()
