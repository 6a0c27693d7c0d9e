"""The model: classical ends against scikit-learn, and what every method promises on the way."""

import gromap
import numpy as np
import pytest
import scipy.sparse as sp
from gromap import GromovClustering, GromovDR, affinity, metrics
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits, make_blobs, make_swiss_roll
from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import Isomap, SpectralEmbedding
from sklearn.metrics import pairwise_distances

METHODS = [
    "pca", "kernel-pca", "mds", "isomap", "laplacian-eigenmaps", "sne", "tsne", "snekhorn", "tsnekhorn", "heavy-tsne",
    "fuzzy-tsne", "umap",
]  # fmt: skip


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600].astype(np.float64), y[:600]


def procrustes_error(found, expected):
    """What is left after the best rotation, relative to the size of what is expected."""
    found, expected = found - found.mean(0), expected - expected.mean(0)
    u, _, vt = np.linalg.svd(found.T @ expected)
    return np.abs(found @ (u @ vt) - expected).max() / np.abs(expected).max()


def classical_mds(X, d):
    E = squareform(pdist(X)) ** 2
    H = np.eye(len(X)) - 1 / len(X)
    values, vectors = np.linalg.eigh(-0.5 * H @ E @ H)
    return vectors[:, ::-1][:, :d] * np.sqrt(values[::-1][:d])


@pytest.mark.parametrize("d", [2, 3])
def test_pca_at_every_sample_is_pca(digits, d):
    X, _ = digits
    m = GromovDR(None, d, "pca").fit(X)
    reference = PCA(d).fit(X)
    assert procrustes_error(m.embedding_, reference.transform(X)) < 1e-4
    new = X[:50] + 0.5
    assert np.abs(np.abs(m.transform(new)) - np.abs(reference.transform(new))).max() < 1e-6 * np.abs(X).max()


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine"])
def test_kernel_pca_at_every_sample_is_kernel_pca(digits, kernel):
    X, _ = digits
    gamma = None if kernel == "cosine" else 1e-3
    m = GromovDR(None, 2, "kernel-pca", kernel=kernel, gamma=gamma).fit(X)
    reference = KernelPCA(2, kernel=kernel, gamma=gamma, eigen_solver="dense").fit(X)
    expected = reference.transform(X)
    assert procrustes_error(m.embedding_, expected) < 1e-4
    new = X[:40] + 0.25
    error = np.abs(np.abs(m.transform(new)) - np.abs(reference.transform(new))).max()
    assert error < 1e-4 * np.abs(expected).max()


def test_mds_at_every_sample_is_classical_scaling(digits):
    X, _ = digits
    m = GromovDR(None, 2, "mds").fit(X)
    assert procrustes_error(m.embedding_, classical_mds(X, 2)) < 1e-4


def test_isomap_at_every_sample_is_isomap():
    X, _ = make_swiss_roll(700, random_state=0)
    m = GromovDR(None, 2, "isomap", n_neighbors=10).fit(X)
    reference = Isomap(n_neighbors=10, n_components=2, eigen_solver="dense").fit_transform(X)
    assert procrustes_error(m.embedding_, reference) < 1e-4


def test_laplacian_eigenmaps_at_every_sample_is_spectral_embedding():
    X, _ = make_swiss_roll(700, random_state=1)  # no two neighbours equally far
    m = GromovDR(None, 2, "laplacian-eigenmaps", n_neighbors=30).fit(X)
    reference = SpectralEmbedding(2, n_neighbors=30, eigen_solver="arpack", random_state=0).fit_transform(X)
    for column in range(2):
        ours, theirs = m.embedding_[:, column], reference[:, column]
        ours, theirs = ours / np.linalg.norm(ours), theirs / np.linalg.norm(theirs)
        assert min(np.abs(ours - theirs).max(), np.abs(ours + theirs).max()) < 1e-4


def test_gram_prototypes_in_enough_dimensions_are_the_barycenter():
    X, _ = make_blobs(200, 6, centers=5, random_state=1)
    m = GromovDR(5, 5, "pca", init="kmeans", random_state=0, tol=1e-12).fit(X)
    b = gromap.srgw_barycenter((X - X.mean(0),), 5, plan=m.labels_, random_state=0, tol=1e-12)
    assert metrics.adjusted_rand_score(b.labels, m.labels_) == 1.0
    assert m.loss_ == pytest.approx(b.loss, rel=1e-8)
    assert np.abs(m.prototypes_ @ m.prototypes_.T - b.target).max() < 1e-8 * np.abs(b.target).max()


def test_all_neighbours_make_the_sparse_method_the_dense_one():
    X, y = make_blobs(80, 4, centers=4, random_state=2)
    sparse = affinity.SymmetricEntropic(perplexity=10, neighbors=79).fit(X)
    dense = sparse.toarray().astype(np.float64)
    for solver in ("vertex", "cg"):
        runs = [
            GromovDR(4, precomputed="similarity", init=y, solver=solver, random_state=0).fit(C) for C in (sparse, dense)
        ]
        assert np.array_equal(runs[0].labels_, runs[1].labels_)
        assert runs[0].loss_ == pytest.approx(runs[1].loss_, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_its_promises(digits, method):
    X, _ = digits
    X = X[:300]
    m = GromovDR(12, method=method, perplexity=15, random_state=3).fit(X)
    n = len(m.weights_)
    assert 2 <= n <= 12 and m.prototypes_.shape == (n, 2) and m.embedding_.shape == (300, 2)
    assert np.isfinite(m.prototypes_).all() and (m.weights_ > 0).all()
    assert np.allclose(np.asarray(m.plan_.sum(axis=1)).ravel(), 1 / 300)
    assert np.allclose(np.asarray(m.plan_.sum(axis=0)).ravel(), m.weights_)
    assert (np.diff(m.loss_curve_) <= 0).all() and m.loss_ == m.loss_curve_[-1]
    assert m.prototype_features_.shape == (n, X.shape[1])
    assert np.allclose(m.prototype_features_[0], X[m.labels_ == 0].mean(0))
    assert np.array_equal(m.prototype_indices_, np.sort(m.prototype_indices_))
    again = GromovDR(12, method=method, perplexity=15, random_state=3).fit(X)
    assert np.array_equal(again.prototypes_, m.prototypes_) and np.array_equal(again.labels_, m.labels_)


@pytest.mark.parametrize("method", METHODS)
def test_new_samples_are_placed_one_by_one(digits, method):
    X, _ = digits
    m = GromovDR(12, method=method, perplexity=15, random_state=0).fit(X[:400])
    new = X[400:440]
    together = m.predict(new)
    assert np.array_equal(together, [m.predict(row[None])[0] for row in new])
    assert np.array_equal(m.transform(new), m.prototypes_[together])


@pytest.mark.parametrize("method", ["isomap", "laplacian-eigenmaps", "sne", "tsne", "snekhorn", "tsnekhorn", "umap"])
def test_neighbour_methods_know_their_training_samples(digits, method):
    X, _ = digits
    some = GromovDR(12, method=method, perplexity=10, random_state=0).fit(X[:120])
    assert np.array_equal(some.predict(X[:120]), some.labels_)
    every = GromovDR(None, method=method, perplexity=10, random_state=0).fit(X[:120])
    assert np.array_equal(every.transform(X[:120]), every.embedding_)


@pytest.mark.parametrize("method", ["pca", "mds", "kernel-pca", "tsne", "snekhorn", "tsnekhorn"])
def test_training_samples_find_their_own_prototype(digits, method):
    X, _ = digits
    m = GromovDR(12, method=method, perplexity=15, random_state=0).fit(X)
    assert np.mean(m.predict(X) == m.labels_) >= 0.99
    hair = X + 1e-4 * np.random.default_rng(0).normal(size=X.shape)
    assert np.mean(m.predict(hair) == m.labels_) >= 0.97


@pytest.mark.parametrize("solver", ["vertex", "cg", "mirror"])
@pytest.mark.parametrize("init", ["agglomerative", "spectral", "kmeans", "random"])
def test_every_start_and_solver_descends(digits, solver, init):
    X, _ = digits
    m = GromovDR(8, perplexity=15, solver=solver, init=init, max_iter=20, random_state=0).fit(X[:200])
    assert (np.diff(m.loss_curve_) <= 0).all() and np.isfinite(m.loss_)


def test_the_agglomerative_start_is_the_lowest(digits):
    X, _ = digits
    losses = {
        init: np.mean([GromovDR(10, perplexity=20, init=init, random_state=s).fit(X).loss_ for s in range(3)])
        for init in ("agglomerative", "random")
    }
    assert losses["agglomerative"] < losses["random"]


def test_labels_come_back(digits):
    X, y = digits
    assert metrics.adjusted_rand_score(y, GromovClustering(10, perplexity=20, random_state=0).fit_predict(X)) > 0.8
    assert metrics.homogeneity_score(y, GromovDR(30, perplexity=20, random_state=0).fit_predict(X)) > 0.85


def test_more_starts_are_never_worse(digits):
    X, _ = digits
    losses = [GromovDR(8, perplexity=15, init="random", n_init=k, random_state=0).fit(X).loss_ for k in (1, 4)]
    assert losses[1] <= losses[0]


@pytest.mark.parametrize("method", ["pca", "mds", "kernel-pca"])
def test_the_unit_of_the_samples_does_not_decide_when_to_stop(digits, method):
    """A power of two changes exponents only, so that every round must be the same: tol is a share of the loss."""
    X, _ = digits
    unit = 2.0**-20
    kernel = {"kernel": "poly", "coef0": 0.0, "degree": 2, "gamma": 1.0}
    options = {"method": method, "init": "random", "random_state": 0, **kernel}
    large, small = (GromovDR(10, **options).fit(samples) for samples in (X[:200], unit * X[:200]))
    assert large.n_iter_ == small.n_iter_ > 1
    assert np.array_equal(large.labels_, small.labels_)


def test_doubling_a_weight_is_duplicating_the_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    doubled = np.vstack([X, X[7:8]])
    weights = np.ones(40)
    weights[7] = 2
    labels = np.arange(40) % 5
    C = np.exp(-(squareform(pdist(doubled)) ** 2))
    whole = GromovDR(5, precomputed="similarity", init=np.append(labels, labels[7]), solver="cg", random_state=0)
    weighted = GromovDR(5, precomputed="similarity", init=labels, solver="cg", random_state=0)
    a = whole.fit(C)
    b = weighted.fit(C[:40, :40], sample_weight=weights)
    assert a.loss_curve_[0] == pytest.approx(b.loss_curve_[0], rel=1e-9)
    assert a.loss_ == pytest.approx(b.loss_, rel=1e-9)


def test_alpha_moves_from_features_to_structure(digits):
    X, _ = digits
    X = X[:500]
    spread = lambda m: np.mean(
        [((X[m.labels_ == k] - f) ** 2).sum(1).sum() for k, f in enumerate(m.prototype_features_)]
    )  # noqa: E731
    runs = [GromovDR(10, perplexity=15, alpha=alpha, random_state=0).fit(X) for alpha in (1.0, 0.5, 0.05)]
    assert runs[1].loss_curve_[0] == pytest.approx(1.0)
    assert spread(runs[0]) > spread(runs[1]) > spread(runs[2])
    raw = GromovDR(10, perplexity=15, alpha=0.5, alpha_scale="raw", random_state=0).fit(X)
    assert (np.diff(raw.loss_curve_) <= 0).all()


def test_several_perplexities_are_the_mean_of_their_affinities(digits):
    X, _ = digits
    X = X[:200]
    both = GromovDR(6, perplexity=[5, 20], init=np.arange(200) % 6, pca=None, random_state=0).fit(X)
    parts = [affinity.FuzzySet(perplexity=p).fit(X) for p in (5, 20)]
    mean = sp.csr_array(0.5 * (parts[0].astype(np.float64) + parts[1].astype(np.float64)))
    given = GromovDR(6, precomputed="similarity", init=np.arange(200) % 6, random_state=0).fit(mean)
    assert both.loss_ == pytest.approx(given.loss_, rel=1e-5)


@pytest.mark.parametrize("method", ["tsnekhorn", "tsne", "umap", "laplacian-eigenmaps", "mds"])
@pytest.mark.parametrize("make", [GromovDR, GromovClustering])
def test_distances_stand_for_their_samples(digits, make, method):
    X = digits[0][:200]
    # The loss of one plan: where a descent ends may hang on the last digit of a distance.
    of = {"method": method, "perplexity": 10, "init": np.arange(200) % 6, "pca": None, "random_state": 0}
    samples = make(6, **of).fit(X)
    distances = make(6, precomputed="distance", **of).fit(pairwise_distances(X))
    assert distances.loss_curve_[0] == pytest.approx(samples.loss_curve_[0], rel=1e-4)
    assert distances.__sklearn_tags__().input_tags.pairwise


def test_any_distance_will_do(digits):
    X, y = digits[0][:400], digits[1][:400]
    cosine = pairwise_distances(X, metric="cosine")
    labels = GromovDR(10, perplexity=15, precomputed="distance", random_state=0).fit_predict(cosine)
    assert metrics.adjusted_rand_score(y, labels) > 0.6


@pytest.mark.parametrize("warm", [False, True])
def test_a_path_keeps_mass_and_place(digits, warm):
    X, _ = digits
    levels, lineage = GromovDR(perplexity=15, random_state=0).path(X[:400], [4, 8, 16], warm=warm)
    assert [len(level.weights_) for level in levels] == [4, 8, 16]
    for before, after, links in zip(levels[:-1], levels[1:], lineage, strict=True):
        assert np.allclose(links.sum(axis=1), before.weights_) and np.allclose(links.sum(axis=0), after.weights_)
    alone = GromovDR(4, perplexity=15, random_state=0).fit(X[:400])
    assert np.array_equal(levels[0].labels_, alone.labels_)


def test_a_path_that_is_stopped_has_the_levels_that_were_reached(digits):
    path = GromovDR(perplexity=15, random_state=0, callback=lambda progress: progress.stage == "fit")
    levels, lineage = path.path(digits[0][:200], [4, 8])
    assert [level.stop_reason_ for level in levels] == ["interrupted"] and not lineage


def test_a_path_may_follow_distances(digits):
    X = digits[0][:200]
    of = {"perplexity": 15, "precomputed": "distance", "random_state": 0}
    levels, _ = GromovDR(**of).path(pairwise_distances(X), [4, 8])
    assert np.array_equal(levels[0].labels_, GromovDR(4, **of).fit(pairwise_distances(X)).labels_)


def test_the_map_of_a_level_is_turned_onto_the_one_before(digits):
    X, _ = digits
    levels, _ = GromovDR(perplexity=15, random_state=0).path(X[:400], [10, 20])
    a, b = (level.embedding_ - level.embedding_.mean(0) for level in levels)
    u, _, vt = np.linalg.svd(b.T @ a)
    assert np.abs(u @ vt - np.eye(2)).max() < 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_prototypes": 0}, "n_prototypes == 0, must be >= 1"),
        ({"n_prototypes": 500}, "n_samples=100 should be >= n_prototypes=500"),
        ({"perplexity": 300}, "perplexity is 300"),
        ({"method": "tsn"}, "unknown method"),
        ({"alpha": 2.0}, "alpha == 2.0, must be <= 1"),
        ({"init": "best"}, 'unknown init "best"'),
        ({"normalization": "columns"}, 'unknown normalization "columns"'),
        ({"solver": "sinkhorn"}, 'unknown solver "sinkhorn"'),
        ({"n_components": 0}, "n_components == 0, must be >= 1"),
        ({"n_init": 0}, "n_init == 0, must be >= 1"),
        ({"method": "pca", "loss": "kl"}, "loss of a Gram method"),
    ],
)
def test_what_is_wrong_is_named(digits, change, message):
    X, _ = digits
    with pytest.raises(ValueError, match=message):
        GromovDR(**{"perplexity": 10, **change}).fit(X[:100])


def test_a_model_of_a_similarity_places_nobody(digits):
    X, _ = digits
    C = affinity.SymmetricEntropic(perplexity=10).fit(X[:100])
    m = GromovDR(5, precomputed="similarity", random_state=0).fit(C)
    with pytest.raises(ValueError, match="fitted to distances or a similarity"):
        m.predict(C[:5].toarray())
