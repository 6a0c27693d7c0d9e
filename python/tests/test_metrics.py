"""Scores against scikit-learn, and against the definition where it has none."""

import numpy as np
import pytest
from gromap import metrics
from sklearn import manifold
from sklearn import metrics as oracle
from sklearn.neighbors import NearestNeighbors

RNG = np.random.default_rng(0)
SCORES = [
    "adjusted_rand_score",
    "adjusted_mutual_info_score",
    "normalized_mutual_info_score",
    "homogeneity_score",
    "completeness_score",
    "v_measure_score",
]


def noisy(n, classes, found, noise):
    """Labels, and others that tell something about them."""
    truth = RNG.integers(0, classes, n)
    return truth, np.where(RNG.random(n) < noise, RNG.integers(0, found, n), truth * found // classes)


LABELS = {
    "close": noisy(500, 5, 8, 0.2),
    "random": noisy(300, 4, 6, 1.0),
    "many groups": noisy(400, 10, 200, 0.5),
    "large": noisy(20_000, 10, 50, 0.6),
    "equal up to names": (np.arange(90) % 7, (np.arange(90) % 7) * -3),
    "uneven": (np.r_[np.zeros(990), np.ones(10)], np.r_[np.zeros(500), np.ones(500)]),
    "one group found": (np.arange(40) % 4, np.zeros(40)),
    "one group each": (np.zeros(9), np.ones(9)),
    "all alone": (np.arange(30), np.arange(30)[::-1]),
    "alone against pairs": (np.arange(30) // 2, np.arange(30)),
    "one sample": ([3], [4]),
    "none": ([], []),
    "strings": (np.array(["ant", "bee", "cow"])[RNG.integers(0, 3, 60)], RNG.integers(0, 4, 60).astype(str)),
    "booleans": (RNG.random(50) < 0.3, RNG.random(50) < 0.6),
    "lists": ([1, 1, 2, 2, 3], ["x", "y", "y", "z", "z"]),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("score", SCORES)
def test_labels(score, labels):
    truth, found = LABELS[labels]
    result = getattr(metrics, score)(truth, found)
    assert type(result) is float
    assert result == pytest.approx(getattr(oracle, score)(truth, found), rel=0, abs=1e-10)


@pytest.mark.parametrize("score", SCORES)
def test_objects_without_an_order(score):
    kinds = np.empty(4, dtype=object)
    kinds[:] = [None, "a", 3, ("a", 1)]
    truth, found = LABELS["random"]
    assert getattr(metrics, score)(kinds[truth], found) == pytest.approx(
        getattr(metrics, score)(truth, found), abs=1e-12
    )


def points(n, d, classes):
    labels = RNG.integers(0, classes, n)
    return RNG.normal(size=(classes, d))[labels] * 2.0 + RNG.normal(size=(n, d)), labels


POINTS = {
    "flat": points(200, 2, 4),
    "deep": points(150, 30, 3),
    "many labels": points(120, 3, 60),
    "two": points(40, 1, 2),
}


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("weights", [None, 1.0, 1 / 3])
def test_silhouette(name, weights):
    X, labels = POINTS[name]
    weights = None if weights is None else np.full(len(X), weights)
    result = metrics.silhouette_score(X, labels.astype(str), weights)
    assert result == pytest.approx(oracle.silhouette_score(X, labels), rel=0, abs=1e-10)


def test_silhouette_takes_single_precision_and_integers():
    X = RNG.integers(0, 50, (80, 3))
    labels = RNG.integers(0, 3, 80)
    expected = oracle.silhouette_score(X.astype(float), labels)
    assert metrics.silhouette_score(X, labels) == pytest.approx(expected, abs=1e-10)
    assert metrics.silhouette_score(X.astype(np.float32), labels) == pytest.approx(expected, abs=1e-10)


def weighted_silhouette(X, labels, q):
    """By the definition."""
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    scores = np.zeros(len(X))
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        means = {
            c: np.average(distances[i, m], weights=q[m]) for c in set(labels) if (m := (labels == c) & others).any()
        }
        if labels[i] in means:
            a = means.pop(labels[i])
            b = min(means.values())
            scores[i] = (b - a) / max(a, b)
    return np.average(scores, weights=q)


@pytest.mark.parametrize("name", POINTS)
def test_weighted_silhouette_is_that_of_the_definition(name):
    X, labels = POINTS[name]
    q = RNG.gamma(0.5, size=len(X))
    expected = weighted_silhouette(X, labels, q)
    assert metrics.silhouette_score(X, labels, sample_weight=q) == pytest.approx(expected, abs=1e-10)
    padded = np.concatenate([X, np.full((1, X.shape[1]), 1e3)]), np.append(labels, 999), np.append(q, 0.0)
    assert metrics.silhouette_score(*padded) == pytest.approx(expected, abs=1e-10)


def pair(n, p, noise):
    """Samples and a map of them, in numbers that single precision holds."""
    X = RNG.normal(size=(n, p)).astype(np.float32)
    return X, (X[:, :2] + noise * RNG.normal(size=(n, 2))).astype(np.float32)


MAPS = {
    "plane": pair(300, 2, 0.1),
    "projection": pair(400, 20, 0.0),
    "random": pair(250, 5, 1e3),
    "tiles": pair(1500, 8, 0.3),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trustworthiness(name, k, dtype):
    X, Y = MAPS[name]
    expected = manifold.trustworthiness(X.astype(float), Y.astype(float), n_neighbors=k)
    result = metrics.trustworthiness(X.astype(dtype), Y.astype(dtype), n_neighbors=k)
    assert type(result) is float and result == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("k", [1, 5, 40])
def test_neighborhood_preservation(name, k):
    X, Y = MAPS[name]
    before, after = (NearestNeighbors(n_neighbors=k).fit(Z.astype(float)).kneighbors()[1] for Z in (X, Y))
    expected = np.mean([len(set(b) & set(a)) / k for b, a in zip(before, after, strict=True)])
    assert metrics.neighborhood_preservation(X, Y, n_neighbors=k) == pytest.approx(expected, rel=0, abs=1e-12)


def test_five_neighbours_are_the_default():
    X, Y = MAPS["projection"]
    assert metrics.trustworthiness(X, Y) == metrics.trustworthiness(X, Y, n_neighbors=5)
    assert metrics.neighborhood_preservation(X, Y) == metrics.neighborhood_preservation(X, Y, n_neighbors=5)


X, Y = MAPS["plane"]
BAD = {
    "lengths": (lambda: metrics.adjusted_rand_score([0, 1], [0]), "equal length, not 2 and 1"),
    "table of labels": (
        lambda: metrics.v_measure_score(np.zeros((2, 2)), [0, 1]),
        "labels_true must have one dimension",
    ),
    "found table": (lambda: metrics.v_measure_score([0, 1], np.zeros((2, 2))), "labels_pred must have one dimension"),
    "one label": (lambda: metrics.silhouette_score(X, np.zeros(300)), "number of distinct labels is 1"),
    "all labels": (lambda: metrics.silhouette_score(X, np.arange(300)), "number of distinct labels is 300"),
    "label missing": (lambda: metrics.silhouette_score(X, np.arange(299)), "number of labels: expected 300, found 299"),
    "weight missing": (lambda: metrics.silhouette_score(X, np.arange(300) % 2, np.ones(299)), "weights: expected 300"),
    "negative weight": (
        lambda: metrics.silhouette_score(X, np.arange(300) % 2, -np.ones(300)),
        r"sample_weights\[0\] is -1",
    ),
    "no weight": (lambda: metrics.silhouette_score(X, np.arange(300) % 2, np.zeros(300)), "sum to zero"),
    "points of one dimension": (lambda: metrics.silhouette_score(X[0], [0, 1]), "X must have two dimensions"),
    "NaN point": (lambda: metrics.silhouette_score(np.where(X == X[7, 1], np.nan, X), np.arange(300) % 2), r"\[7, 1\]"),
    "half of all": (lambda: metrics.trustworthiness(X, Y, n_neighbors=150), "neighbors is 150; .* less than half"),
    "no neighbours": (lambda: metrics.trustworthiness(X, Y, n_neighbors=0), "neighbors is 0"),
    "part of a neighbour": (lambda: metrics.trustworthiness(X, Y, n_neighbors=2.5), "2.5 is not a whole number from 0"),
    "all neighbours": (lambda: metrics.neighborhood_preservation(X, Y, n_neighbors=300), "neighbors is 300"),
    "short map": (lambda: metrics.trustworthiness(X, Y[:-1]), "rows of the embedding: expected 300, found 299"),
    "NaN on the map": (lambda: metrics.trustworthiness(X, np.where(Y == Y[7, 1], np.nan, Y)), r"embedding\[7, 1\]"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()
