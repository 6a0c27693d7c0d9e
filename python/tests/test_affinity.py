"""Input similarities against the libraries people know: scikit-learn, umap-learn, openTSNE."""

import numpy as np
import openTSNE.affinity
import pytest
import scipy.sparse as sp
import umap.umap_
from gromap import affinity
from scipy.linalg import eigh
from scipy.spatial.distance import pdist
from sklearn import manifold
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold._spectral_embedding import _spectral_embedding
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(center, 1.0, (80, 6)) for center in (0.0, 2.5, 5.0)])
N = len(X)


def centred(K):
    H = np.eye(len(K)) - 1.0 / len(K)
    return H @ K @ H


def dense(C):
    """Any form as a matrix."""
    if isinstance(C, tuple):
        return C[0] @ C[-1].T
    return C.toarray() if sp.issparse(C) else C


def close(found, expected, tolerance=1e-4):
    scale = np.abs(expected).max()
    assert np.abs(found - expected).max() <= tolerance * scale


def entrywise(found, expected, tolerance=1e-4):
    """Relative difference of every entry that is not zero."""
    np.testing.assert_array_equal(found != 0, expected != 0)
    where = expected != 0
    assert np.abs(found[where] / expected[where] - 1).max() <= tolerance


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_linear_is_pca(dtype):
    C = affinity.Linear().fit(X.astype(dtype))
    assert isinstance(C, tuple) and C[0].dtype == dtype
    scores = PCA(6).fit_transform(X)
    close(dense(C), scores @ scores.T)


def test_squared_distance_is_classical_mds():
    expected = -centred(euclidean_distances(X, squared=True))
    close(dense(affinity.SquaredDistance().fit(X)), expected)


KERNELS = {
    "rbf": {"gamma": 0.05},
    "poly": {"gamma": 0.1, "coef0": 1.0, "degree": 2},
    "sigmoid": {"gamma": 0.01, "coef0": 0.5},
    "laplacian": {"gamma": 0.1},
    "cosine": {},
}


# Kernels of a distance fall to 1/e at the median distance; the others have scikit-learn's defaults.
DEFAULTS = {
    "rbf": {"gamma": 1 / np.median(pdist(X, "sqeuclidean"))},
    "laplacian": {"gamma": 1 / np.median(pdist(X, "cityblock"))},
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name):
    parameters = KERNELS[name]
    expected = centred(pairwise_kernels(X, metric=name, **parameters))
    C = affinity.Kernel(kernel=name, **parameters).fit(X)
    close(C, expected)
    if name != "laplacian":  # KernelPCA has no name for it
        sk = KernelPCA(3, kernel=name, **{k: v for k, v in parameters.items()}).fit(X)
        values = np.sort(eigh(C, eigvals_only=True))[::-1][:3]
        np.testing.assert_allclose(values, sk.eigenvalues_, rtol=1e-4)
    close(affinity.Kernel(kernel=name).fit(X), centred(pairwise_kernels(X, metric=name, **DEFAULTS.get(name, {}))))


@pytest.mark.parametrize("name", ["rbf", "laplacian", "cosine"])
def test_landmarks_come_near_and_at_full_rank_are_exact(name):
    def error(landmarks):
        found = dense(affinity.Kernel(kernel=name, landmarks=landmarks, random_state=1).fit(X))
        return np.linalg.norm(found - exact) / np.linalg.norm(exact)

    exact = affinity.Kernel(kernel=name).fit(X)
    assert error(N) < 1e-4
    assert error(120) < 0.25 and error(120) <= error(20) + 1e-9


def test_geodesic_is_isomap():
    sk = manifold.Isomap(n_neighbors=8).fit(X)
    close(affinity.Geodesic(neighbors=8).fit(X), -centred(sk.dist_matrix_**2))


def test_geodesic_joins_components_as_scikit_learn_does():
    apart = np.concatenate([X[:40], X[:40] + 100.0])
    with pytest.warns(UserWarning):
        expected = manifold.Isomap(n_neighbors=5).fit(apart).dist_matrix_
    with pytest.warns(UserWarning, match="2 components"):
        C = affinity.Geodesic(neighbors=5).fit(apart)
    close(C, -centred(expected**2))


def test_normalized_graph_is_that_of_spectral_embedding():
    graph = kneighbors_graph(X, 10, include_self=True)
    graph = (0.5 * (graph + graph.T)).toarray()
    np.fill_diagonal(graph, 0.0)
    degree = graph.sum(1)
    laplacian_free = graph / np.sqrt(np.outer(degree, degree))
    C = dense(affinity.NormalizedGraph(neighbors=10).fit(X))
    values, vectors = eigh(C)
    ours = vectors[:, -2]
    theirs = _spectral_embedding(
        graph, n_components=1, drop_first=True, eigen_solver="arpack", random_state=0
    ).ravel() * np.sqrt(degree)
    cosine = abs(ours @ theirs) / np.linalg.norm(ours) / np.linalg.norm(theirs)
    entrywise(C - np.diag(np.diag(C)), laplacian_free)
    assert cosine > 1 - 1e-4 and values.min() > -1e-6


@pytest.mark.parametrize("perplexity", [5.0, 30.0])
def test_entropic_rows_are_those_of_open_tsne(perplexity):
    k = int(3 * perplexity)
    theirs = openTSNE.affinity.PerplexityBasedNN(
        X, perplexity=perplexity, method="exact", symmetrize=False, k_neighbors=k
    ).P
    ours = affinity.Entropic(perplexity=perplexity, neighbors=k, symmetric=False).fit(X)
    ours, theirs = ours.toarray(), theirs.toarray()
    entrywise(ours, theirs / theirs.sum(1, keepdims=True))
    entropy = -(np.where(ours > 0, ours * np.log(np.where(ours > 0, ours, 1.0)), 0.0)).sum(1)
    np.testing.assert_allclose(np.exp(entropy), perplexity, rtol=1e-4)


def test_joint_entropic_is_the_mean_of_the_rows():
    rows = affinity.Entropic(perplexity=10.0, symmetric=False).fit(X).toarray()
    joint = affinity.Entropic(perplexity=10.0).fit(X).toarray()
    close(joint, (rows + rows.T) / (2 * N))
    assert joint.sum() == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("neighbors", [5, 15])
def test_fuzzy_set_is_that_of_umap(neighbors):
    distances, indices = NearestNeighbors(n_neighbors=neighbors).fit(X).kneighbors()
    indices = np.c_[np.arange(N), indices[:, : neighbors - 1]]
    distances = np.c_[np.zeros(N), distances[:, : neighbors - 1]]
    theirs, _, _ = umap.umap_.fuzzy_simplicial_set(
        X, neighbors, np.random.RandomState(0), "euclidean", knn_indices=indices, knn_dists=distances.astype(np.float32)
    )
    ours = affinity.FuzzySet(neighbors=neighbors).fit(X)
    entrywise(ours.toarray(), theirs.toarray())


@pytest.mark.parametrize("perplexity", [5.0, 30.0])
def test_symmetric_entropic_meets_its_conditions(perplexity):
    recipe = affinity.SymmetricEntropic(perplexity=perplexity, tol=1e-5)
    P = recipe.fit(X)
    matrix = P.toarray().astype(float)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-7)
    np.testing.assert_allclose(matrix.sum(1), 1.0, atol=1e-4)
    entropy = -(np.where(matrix > 0, matrix * np.log(np.where(matrix > 0, matrix, 1.0)), 0.0)).sum(1)
    assert np.all(entropy >= np.log(perplexity) - 1e-3)
    # The form of the solution: P = exp((mu_i + mu_j - 2 C_ij) / (eps_i + eps_j)).
    i, j = P.nonzero()
    cost = ((X[i] - X[j]) ** 2).sum(1)
    mu, eps = recipe.multipliers_, recipe.temperatures_
    heat = eps[i] + eps[j]
    warm = heat > 1e-2 * np.median(heat)  # next to zero, the rounding of the cost decides
    expected = np.exp((mu[i] + mu[j] - 2 * cost) / heat)
    assert warm.mean() > 0.95
    np.testing.assert_allclose(matrix[i, j][warm], expected[warm], rtol=1e-3, atol=1e-9)
    assert recipe.converged_
    quick = affinity.SymmetricEntropic(perplexity=perplexity)
    quick.fit(X)
    assert quick.converged_ and quick.steps_ <= 30
    assert max(quick.row_sum_error_, quick.entropy_error_) <= 1e-3


def dense_symmetric_entropic(cost, perplexity):
    """The affinity by damped Newton steps on the dense dual, written for reading and not for speed."""
    n = len(cost)
    off = ~np.eye(n, dtype=bool)

    def evaluate(eps, mu):
        heat = eps[:, None] + eps
        logs = np.where(off, (mu[:, None] + mu - 2 * cost) / heat, 0.0)
        P = np.where(off, np.exp(np.minimum(logs, 500)), 0.0)
        value = 0.5 * (heat * P).sum() - (np.log(perplexity) + 1) * eps.sum() - mu.sum()
        gradient = np.r_[(P * (1 - logs)).sum(1) - np.log(perplexity) - 1, P.sum(1) - 1]
        return value, gradient, P, logs, P / heat

    eps, mu = np.full(n, np.median(cost)), np.full(n, -np.log(n) * np.median(cost))
    damping = 1e-6
    for _ in range(500):
        value, gradient, P, logs, w = evaluate(eps, mu)
        if np.abs(gradient).max() < 1e-9:
            return P
        blocks = [[w * logs**2, -w * logs], [-w * logs, w]]
        hessian = np.block([[b + np.diag(b.sum(1)) for b in row] for row in blocks])
        while True:
            step = np.linalg.solve(hessian + damping * np.diag(np.diag(hessian)), -gradient)
            if np.all(eps + step[:n] > 0) and evaluate(eps + step[:n], mu + step[n:])[0] < value + 1e-12 * abs(value):
                eps, mu, damping = eps + step[:n], mu + step[n:], damping / 10
                break
            damping *= 10
    raise AssertionError("the reference did not converge")


def test_symmetric_entropic_is_the_dense_solution():
    samples = RNG.normal(size=(500, 5)).astype(np.float32)
    recipe = affinity.SymmetricEntropic(perplexity=30.0, neighbors=499, tol=1e-7)
    found = recipe.fit(samples).toarray()
    cost = euclidean_distances(samples.astype(float), squared=True)
    close(found, dense_symmetric_entropic(cost, 30.0), 1e-5)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine", "manhattan"])
def test_neighbours_are_those_of_scikit_learn(metric):
    single = X.astype(np.float32)
    theirs, _ = (
        NearestNeighbors(n_neighbors=12, metric=metric, algorithm="brute").fit(single.astype(float)).kneighbors()
    )
    indices, distances = affinity.nearest_neighbors(single, 12, metric=metric)
    np.testing.assert_allclose(distances, theirs, rtol=1e-5, atol=1e-6)
    assert indices.shape == (N, 12) and not np.any(indices == np.arange(N)[:, None])


BAD = {
    "perplexity": (lambda: affinity.Entropic(perplexity=N).fit(X), "perplexity is 240"),
    "SEA perplexity": (lambda: affinity.SymmetricEntropic(perplexity=300.0).fit(X), "perplexity is 300"),
    "too many neighbours": (lambda: affinity.nearest_neighbors(X, N), "neighbors is 240"),
    "NaN": (lambda: affinity.Entropic().fit(np.where(np.arange(N)[:, None] == 7, np.nan, X)), r"\[7, 0\]"),
    "all equal": (lambda: affinity.Entropic(perplexity=5.0).fit(np.ones((50, 3))), "all samples are equal"),
    "metric": (lambda: affinity.Entropic(metric="haversine").fit(X), 'unknown metric "haversine"'),
    "kernel": (lambda: affinity.Kernel(kernel="wave").fit(X), 'unknown kernel "wave"'),
    "cosine of nothing": (
        lambda: affinity.nearest_neighbors(np.where(np.arange(N)[:, None] == 3, 0.0, X), 5, metric="cosine"),
        "3",
    ),
    "landmarks": (lambda: affinity.Kernel(landmarks=N + 1).fit(X), "landmarks is 241"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()
