"""Bad input: the exceptions and the words that scikit-learn users know."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from gromap import GromovClustering, GromovDR
from sklearn.exceptions import NotFittedError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
MAP = GromovDR(4, perplexity=8, random_state=0)
CLUSTERS = GromovClustering(4, perplexity=8, random_state=0)
BOTH = pytest.mark.parametrize("make", [GromovDR, GromovClustering])


def small(make, size=4, **others):
    return make(size, **{"perplexity": 8, "random_state": 0, **others})


def with_entry(value):
    return np.where((np.arange(40)[:, None] == 7) & (np.arange(3) == 1), value, X)


SAMPLES = {
    "NaN": (with_entry(np.nan), ValueError, "Input X contains NaN"),
    "infinity": (with_entry(np.inf), ValueError, "Input X contains infinity"),
    "text": (np.full((40, 3), "a"), ValueError, "could not convert string to float|dtype='numeric' is not compatible"),
    "objects": (np.array([[{}, {}, {}]] * 40, dtype=object), TypeError, "argument must be .* string.* number"),
    "objects with text": (np.array([["a", 1, 2]] * 40, dtype=object), ValueError, "could not convert string to float"),
    "complex": (X + 1j, ValueError, "Complex data not supported"),
    "ragged lists": ([[1.0, 2.0], [3.0]] * 20, ValueError, "inhomogeneous|sequence"),
    "one dimension": (X[:, 0], ValueError, "Expected 2D array, got 1D array instead"),
    "three dimensions": (X[:, :, None], ValueError, "dim 3"),
    "no samples": (X[:0], ValueError, r"Found array with 0 sample\(s\)"),
    "no features": (X[:, :0], ValueError, r"Found array with 0 feature\(s\)"),
    "one sample": (X[:1], ValueError, r"Found array with 1 sample\(s\).* minimum of 2 is required"),
    "sparse NaN": (sp.csr_array(with_entry(np.nan)), ValueError, "Input X contains NaN"),
    "missing values of pandas": (pd.DataFrame(X).where(X < 1), ValueError, "Input X contains NaN"),
    "all equal": (np.ones((40, 3)), ValueError, "all samples are equal"),
    "nothing": (None, ValueError, "Expected 2D array"),
}


@BOTH
@pytest.mark.parametrize("name", SAMPLES)
def test_samples(make, name):
    samples, kind, message = SAMPLES[name]
    with pytest.raises(kind, match=message):
        small(make).fit(samples)


def test_more_prototypes_than_samples():
    with pytest.raises(ValueError, match=r"n_samples=40 should be >= n_prototypes=41\."):
        small(GromovDR, 41).fit(X)
    with pytest.raises(ValueError, match=r"n_samples=40 should be >= n_clusters=41\."):
        small(GromovClustering, 41).fit(X)


MAP_CALLS = ["transform", "predict", "score", "save", "report", "get_feature_names_out"]
CALLS = [(GromovDR, call) for call in MAP_CALLS] + [(GromovClustering, call) for call in ("predict", "save")]


@pytest.mark.parametrize(("make", "call"), CALLS)
def test_unfitted_use(make, call, tmp_path):
    argument = {"save": [tmp_path / "a"], "report": [tmp_path / "a"], "get_feature_names_out": []}.get(call, [X])
    with pytest.raises(NotFittedError, match=f"This {make.__name__} instance is not fitted yet"):
        getattr(make(4), call)(*argument)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("make", "call"),
    [(GromovDR, "transform"), (GromovDR, "predict"), (GromovDR, "score"), (GromovClustering, "predict")],
)
def test_another_number_of_features(make, call):
    m = small(make).fit(X)
    with pytest.raises(ValueError, match=f"X has 2 features, but {make.__name__} is expecting 3 features as input"):
        getattr(m, call)(X[:, :2])


@pytest.mark.parametrize(
    ("make", "call"), [(GromovDR, "transform"), (GromovDR, "predict"), (GromovClustering, "predict")]
)
def test_new_samples_are_checked(make, call):
    m = small(make).fit(X)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        getattr(m, call)(with_entry(np.nan))
    with pytest.raises(ValueError, match="Expected 2D array"):
        getattr(m, call)(X[0])
    assert len(getattr(m, call)(X[:1])) == 1, "one new sample is enough"


WEIGHTS = {
    "length": (np.ones(39), r"sample_weight.shape == \(39,\), expected \(40,\)"),
    "dimensions": (np.ones((40, 2)), "Sample weights must be 1D array or scalar"),
    "negative": (np.r_[np.ones(39), -1], "Negative values in data passed to `sample_weight`"),
    "NaN": (np.r_[np.ones(39), np.nan], "Input sample_weight contains NaN"),
    "zero": (np.zeros(40), "zero"),
}


@BOTH
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights(make, name):
    weights, message = WEIGHTS[name]
    with pytest.raises(ValueError, match=message):
        small(make).fit(X, sample_weight=weights)


PARAMETERS = {
    "n_init of 0": ({"n_init": 0}, ValueError, "n_init == 0, must be >= 1"),
    "n_init a float": ({"n_init": 1.5}, TypeError, "n_init must be an instance of .*int"),
    "max_iter": ({"max_iter": -1}, ValueError, "max_iter == -1, must be >= 0"),
    "tol": ({"tol": -1.0}, ValueError, "tol == -1.0, must be >= 0"),
    "tol as text": ({"tol": "small"}, TypeError, "tol must be an instance of"),
    "method": ({"method": "tsn"}, ValueError, 'unknown method "tsn"; it must be one of pca'),
    "perplexity": ({"perplexity": 40}, ValueError, "perplexity is 40; it must be at least 1 and less than 39"),
    "perplexity as text": ({"perplexity": "high"}, ValueError, "could not convert"),
    "no perplexity": ({"perplexity": []}, ValueError, "perplexities is 0"),
    "n_neighbors": ({"n_neighbors": 0}, ValueError, "n_neighbors == 0, must be >= 1"),
    "loss": ({"loss": "l1"}, ValueError, 'unknown loss "l1"; it must be one of square, kl, bce'),
    "init": ({"init": "best"}, ValueError, 'unknown init "best"'),
    "labels of init": ({"init": np.zeros(40)}, ValueError, "integers"),
    "length of init": ({"init": np.zeros(39, dtype=int)}, ValueError, "expected 40, found 39"),
    "solver": ({"solver": "sinkhorn"}, ValueError, 'unknown solver "sinkhorn"'),
    "pca": ({"pca": 4}, ValueError, "components is 4; it must be from 1 to 3"),
    "scale": ({"scale": "robust"}, ValueError, 'unknown scale "robust"'),
    "precomputed": ({"precomputed": "distances"}, ValueError, "precomputed is 'distances'"),
    "random_state": ({"random_state": "dice"}, ValueError, "'dice' cannot be used to seed"),
    "negative random_state": ({"random_state": -1}, ValueError, "-1 cannot be used to seed"),
    "n_jobs": ({"n_jobs": 0}, ValueError, "n_jobs == 0"),
    "n_jobs a float": ({"n_jobs": 1.5}, ValueError, "n_jobs == 1.5"),
    "no method": ({"method": None}, TypeError, "method must be an instance of str, not NoneType"),
    "no solver": ({"solver": None}, TypeError, "solver must be an instance of str, not NoneType"),
    "loss a number": ({"loss": 3}, TypeError, "loss must be an instance of str, not int"),
    "scale a number": ({"scale": 3}, TypeError, "scale must be an instance of str, not int"),
    "negative pca": ({"pca": -1}, ValueError, "pca == -1, must be >= 1"),
    "pca a float": ({"pca": 2.5}, TypeError, "pca must be an instance of int, not float"),
    "pca a word": ({"pca": "fifty"}, ValueError, 'unknown pca "fifty"'),
    "no init": ({"init": None}, ValueError, "init must hold real numbers"),
    "NaN perplexity": ({"perplexity": np.nan}, ValueError, "perplexity is NaN"),
    "random_state a float": ({"random_state": 1.5}, ValueError, "1.5 cannot be used to seed"),
    "kernel": ({"method": "kernel-pca", "kernel": "wave"}, ValueError, 'unknown kernel "wave"'),
    "gamma a word": ({"gamma": "auto"}, TypeError, "gamma must be an instance of float, not str"),
    "degree": ({"degree": -1}, ValueError, "degree == -1, must be >= 0"),
    "no kernel": ({"kernel": None}, TypeError, "kernel must be an instance of str"),
    "gamma": ({"method": "kernel-pca", "gamma": -1.0}, ValueError, "gamma is -1"),
}


@BOTH
@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(make, name):
    parameters, kind, message = PARAMETERS[name]
    estimator = small(make, **parameters)  # nothing is checked before fit
    with pytest.raises(kind, match=message):
        estimator.fit(X)


OWN = {
    "n_prototypes": (GromovDR(0), ValueError, "n_prototypes == 0, must be >= 1"),
    "n_prototypes as text": (GromovDR("many"), TypeError, "n_prototypes must be an instance of .*int"),
    "n_components": (small(GromovDR, n_components=0), ValueError, "n_components == 0, must be >= 1"),
    "too many n_components": (
        small(GromovDR, n_components=10**12),
        ValueError,
        "n_components is 1000000000000; it must be at most 40, the number of samples",
    ),
    "loss of a normalised kernel": (small(GromovDR, loss="bce"), ValueError, "bce needs entries from 0 to 1"),
    "loss of the identity": (small(GromovClustering, target="identity", loss="kl"), ValueError, "must be one of square"),
    "alpha": (small(GromovDR, alpha=1.1), ValueError, "alpha == 1.1, must be <= 1"),
    "alpha_scale": (small(GromovDR, alpha_scale="log"), ValueError, 'unknown alpha_scale "log"'),
    "normalization": (small(GromovDR, normalization=3), TypeError, "normalization must be an instance of str"),
    "coupling": (small(GromovDR, coupling=1.5), ValueError, "coupling == 1.5, must be <= 1"),
    "n_clusters": (GromovClustering(0), ValueError, "n_clusters == 0, must be >= 1"),
    "target": (small(GromovClustering, target="tree"), ValueError, 'unknown target "tree"'),
    "target_scale": (small(GromovClustering, target_scale="log"), ValueError, 'unknown target_scale "log"'),
    "prototype weights": (small(GromovClustering, prototype_weights="even"), ValueError, "even"),
}


@pytest.mark.parametrize("name", OWN)
def test_parameters_of_one_estimator(name):
    estimator, kind, message = OWN[name]
    with pytest.raises(kind, match=message):
        estimator.fit(X)


SIMILARITIES = {
    "not square": (X, "must be square, not 40 x 3"),
    "sparse, not square": (sp.csr_array(X), "must be square, not 40 x 3"),
    "negative entries": (X @ X.T, "kl loss needs"),
    "NaN": (np.full((40, 40), np.nan), "Input X contains NaN"),
    "three factors": ((X, X, X), "tuple of 3"),
    "too small": (np.ones((3, 3)), "n_samples=3 should be >= n_(prototypes|clusters)=4"),
}


@BOTH
@pytest.mark.parametrize("name", SIMILARITIES)
def test_similarities(make, name):
    similarity, message = SIMILARITIES[name]
    with pytest.raises(ValueError, match=message):
        small(make, precomputed="similarity").fit(similarity)


DISTANCES = {
    "not square": (X, ValueError, "a precomputed distance must be square, not 40 x 3"),
    "sparse": (sp.csr_array(np.ones((40, 40))), TypeError, "[Ss]parse"),
    "negative": (X @ X.T - 100, ValueError, "distance"),
    "NaN": (np.full((40, 40), np.nan), ValueError, "Input X contains NaN"),
}


@BOTH
@pytest.mark.parametrize("name", DISTANCES)
def test_distances(make, name):
    distances, kind, message = DISTANCES[name]
    with pytest.raises(kind, match=message):
        small(make, precomputed="distance").fit(distances)


def test_distances_are_not_enough_for_every_method():
    with pytest.raises(ValueError, match="method for given distances"):
        small(GromovDR, method="pca", precomputed="distance").fit(np.abs(X @ X.T))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "ascending, at least one"),
        ([4, 3], "ascending"),
        ([3, 41], "n_samples=40 should be"),
        ([2.5], "2.5 is not"),
    ],
)
def test_paths(sizes, message):
    with pytest.raises(ValueError, match=message):
        small(GromovDR).path(X, sizes)


def test_labels_of_a_map_with_a_prototype_for_every_sample():
    m = GromovDR(None, method="pca").fit(X)
    assert not hasattr(m, "predict") and m.transform(X).shape == (40, 2)
    with pytest.raises(AttributeError) as refused:
        m.predict(X)
    assert "have places of their own (transform), not labels" in str(refused.value.__cause__)
    same = GromovDR(40, method="pca").fit(X)
    with pytest.raises(ValueError, match="have places .transform., not labels"):
        same.predict(X)


@BOTH
def test_a_failed_fit_leaves_a_fitted_estimator_as_it_was(make):
    m = small(make).fit(X)
    before = m.labels_.copy()
    with pytest.raises(ValueError, match="NaN"):
        m.fit(with_entry(np.nan))
    np.testing.assert_array_equal(m.labels_, before)
