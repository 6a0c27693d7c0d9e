"""What scikit-learn users do with an estimator: pipelines, searches, copies, files, frames."""

import copy
import pickle
import warnings

import gromap
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from gromap import GromovClustering, GromovDR, _core
from helpers import assert_same_fit, fitted_values
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

DIGITS, CLASSES = (part[:300] for part in load_digits(return_X_y=True))
SMALL = {"perplexity": 10, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    return GromovDR(8, **SMALL).fit(DIGITS)


def test_a_pipeline_scales_and_places_new_samples():
    pipeline = make_pipeline(StandardScaler(), GromovDR(8, **SMALL)).fit(DIGITS)
    scaled = StandardScaler().fit(DIGITS)
    alone = GromovDR(8, **SMALL).fit(scaled.transform(DIGITS))
    np.testing.assert_array_equal(pipeline.predict(DIGITS[:20]), alone.predict(scaled.transform(DIGITS[:20])))
    np.testing.assert_array_equal(pipeline.transform(DIGITS[:20]), alone.transform(scaled.transform(DIGITS[:20])))


def test_a_classifier_on_the_map_is_cross_validated():
    pipeline = make_pipeline(GromovDR(30, n_components=3, **SMALL), KNeighborsClassifier(1))
    scores = cross_val_score(pipeline, DIGITS, CLASSES, cv=3)
    assert scores.mean() > 0.7
    linear = make_pipeline(GromovDR(None, 10, "pca"), LogisticRegression(max_iter=1000))
    assert cross_val_score(linear, DIGITS, CLASSES, cv=3).mean() > 0.8


def test_a_grid_search_finds_that_more_prototypes_keep_more_neighbours():
    search = GridSearchCV(GromovDR(**SMALL), {"n_prototypes": [2, 25]}, cv=3).fit(DIGITS)
    assert search.best_params_ == {"n_prototypes": 25} and 0.5 < search.best_score_ <= 1
    assert search.best_estimator_.predict(DIGITS).max() < 25


def test_a_grid_search_over_a_whole_pipeline_in_processes():
    pipeline = make_pipeline(StandardScaler(), GromovDR(**SMALL), KNeighborsClassifier(1))
    grid = {"gromovdr__n_prototypes": [3, 30], "gromovdr__method": ["tsnekhorn", "pca"]}
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(DIGITS, CLASSES)
    assert search.best_params_["gromovdr__n_prototypes"] == 30


def test_a_search_cuts_a_precomputed_similarity_both_ways():
    X, y = make_blobs(90, centers=3, random_state=0)
    C = np.exp(-np.square(X[:, None] - X).sum(2))
    assert GromovClustering(precomputed="similarity").__sklearn_tags__().input_tags.pairwise
    scores = cross_val_score(Agreement(3, precomputed="similarity", random_state=0), C, y, cv=3)
    assert scores.shape == (3,) and scores.min() > 0.9


class Agreement(GromovClustering):
    """Scores a fit by itself, so that a search only has to cut."""

    def score(self, X, y):
        return float(X.shape[0] == X.shape[1] / 2)


@pytest.mark.parametrize("copied", ["pickle", "joblib", "deepcopy", "copy"])
def test_copies_are_equal_in_every_bit(fitted, copied, tmp_path):
    if copied == "joblib":
        joblib.dump(fitted, tmp_path / "m.joblib")
        again = joblib.load(tmp_path / "m.joblib")
    else:
        make = {"pickle": lambda m: pickle.loads(pickle.dumps(m)), "deepcopy": copy.deepcopy, "copy": copy.copy}[copied]
        again = make(fitted)
    assert again is not fitted and again.get_params() == fitted.get_params()
    assert_same_fit(fitted, again)
    assert again._model.to_bytes() == fitted._model.to_bytes()
    np.testing.assert_array_equal(again.transform(DIGITS), fitted.transform(DIGITS))


def test_a_pickle_goes_through_the_model_format(fitted):
    state = fitted.__getstate__()
    assert isinstance(state["_model"], bytes) and "embedding_" not in state
    state["_model"] = state["_model"][:-100]
    with pytest.raises(ValueError, match="damaged"):
        GromovDR().__setstate__(state)


def test_a_clone_has_the_parameters_and_nothing_else(fitted):
    again = clone(fitted)
    assert again.get_params() == fitted.get_params() and not fitted_values(again)
    assert_same_fit(again.fit(DIGITS), fitted)


def test_unfitted_and_clustering_copies_work_too():
    assert pickle.loads(pickle.dumps(GromovDR(7))).n_prototypes == 7
    clusters = GromovClustering(5, **SMALL).fit(DIGITS)
    again = pickle.loads(pickle.dumps(clusters))
    assert_same_fit(clusters, again)
    np.testing.assert_array_equal(again.predict(DIGITS), clusters.predict(DIGITS))
    assert isinstance(clusters.__getstate__()["_model"], bytes) and "labels_" not in clusters.__getstate__()
    unfitted = clone(clusters)
    assert not fitted_values(unfitted) and not unfitted.__sklearn_is_fitted__() and clusters.__sklearn_is_fitted__()
    assert_same_fit(unfitted.fit(DIGITS), clusters)


def test_frames_come_out_if_asked(fitted):
    frame = pd.DataFrame(DIGITS, columns=[f"p{i}" for i in range(64)], index=np.arange(300) + 1000)
    m = GromovDR(8, **SMALL).set_output(transform="pandas").fit(frame)
    places = m.transform(frame)
    assert list(places.columns) == ["gromovdr0", "gromovdr1"] == list(m.get_feature_names_out())
    assert list(places.index) == list(frame.index)
    np.testing.assert_array_equal(places.to_numpy(), fitted.transform(DIGITS))
    assert isinstance(m.fit_transform(frame), pd.DataFrame)
    table = GromovDR(8, **SMALL).set_output(transform="polars").fit(DIGITS).transform(DIGITS)
    assert isinstance(table, pl.DataFrame) and table.columns == ["gromovdr0", "gromovdr1"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "csr", "csc", "list", "memmap", "fortran", "strided"])
def test_every_kind_of_table_gives_the_same_map(kind, fitted, tmp_path):
    names = [f"p{i}" for i in range(64)]
    if kind == "memmap":
        np.save(tmp_path / "X.npy", DIGITS)
    make = {
        "pandas": lambda: pd.DataFrame(DIGITS, columns=names),
        "polars": lambda: pl.DataFrame(DIGITS, schema=names),
        "csr": lambda: sp.csr_matrix(DIGITS),
        "csc": lambda: sp.csc_array(DIGITS),
        "list": lambda: DIGITS.tolist(),
        "memmap": lambda: np.load(tmp_path / "X.npy", mmap_mode="r"),
        "fortran": lambda: np.asfortranarray(DIGITS),
        "strided": lambda: np.repeat(DIGITS, 2, axis=1)[:, ::2],
    }
    X = make[kind]()
    m = GromovDR(8, **SMALL).fit(X)
    # Names of columns are part of the model.
    reference = GromovDR(8, **SMALL).fit(make["pandas"]()) if kind in ("pandas", "polars") else fitted
    assert m._model.to_bytes() == reference._model.to_bytes()
    np.testing.assert_array_equal(m.prototypes_, fitted.prototypes_)
    np.testing.assert_array_equal(m.predict(X[:30]), fitted.predict(DIGITS[:30]))
    if kind in ("pandas", "polars"):
        assert list(m.feature_names_in_) == names


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_prototypes", [8, None])
def test_precision_in_is_precision_out(dtype, n_prototypes):
    X = DIGITS.astype(dtype)
    m = GromovDR(n_prototypes, method="pca", random_state=0)
    outs = [m.fit_transform(X), m.transform(X), m.embedding_, m.prototypes_, m.prototype_features_]
    assert {out.dtype for out in outs} == {np.dtype(dtype)}
    assert pickle.loads(pickle.dumps(m)).embedding_.dtype == dtype
    assert GromovClustering(4, **SMALL).fit(X).cluster_features_.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mapped", [False, True])
def test_contiguous_samples_reach_the_core_without_a_copy(monkeypatch, dtype, mapped, tmp_path):
    X = np.ascontiguousarray(DIGITS, dtype=dtype)
    if mapped:
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    seen = []
    fit, cluster = _core.fit, _core.cluster
    monkeypatch.setattr(_core, "fit", lambda p, data, *rest: seen.append(data.array) or fit(p, data, *rest))
    monkeypatch.setattr(_core, "cluster", lambda p, data, *rest: seen.append(data.array) or cluster(p, data, *rest))
    GromovDR(4, **SMALL).fit(X)
    GromovClustering(4, **SMALL).fit(X)
    assert len(seen) == 2 and all(np.shares_memory(samples, X) for samples in seen)


def test_weights_may_be_any_vector_and_scale(fitted):
    weights = np.ones(300)
    weights[:100] = 3
    found = [
        GromovDR(8, **SMALL).fit(DIGITS, sample_weight=kind(weights)) for kind in (list, pd.Series, lambda w: 2 * w)
    ]
    for m in found[1:]:
        np.testing.assert_array_equal(m.labels_, found[0].labels_)
    assert not np.array_equal(found[0].weights_, fitted.weights_)
    np.testing.assert_allclose(found[0].plan_.sum(axis=1), weights / weights.sum())
    clusters = GromovClustering(4, **SMALL).fit(DIGITS, sample_weight=weights)
    np.testing.assert_allclose(clusters.plan_.sum(axis=1), weights / weights.sum())
    np.testing.assert_array_equal(clusters.fit_predict(DIGITS, sample_weight=weights), clusters.labels_)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1, -9, 10**7])
def test_the_number_of_threads_changes_no_bit(n_jobs, fitted):
    m = GromovDR(8, n_jobs=n_jobs, **SMALL).fit(DIGITS)
    assert m._model.to_bytes() == fitted._model.to_bytes()


@pytest.mark.parametrize("state", [0, np.int64(0), np.uint64(2**64 - 1), "generator", "random state"])
def test_random_states(state):
    make = {"generator": lambda: np.random.default_rng(5), "random state": lambda: np.random.RandomState(5)}
    runs = [
        GromovDR(8, perplexity=10, init="random", random_state=make[state]() if isinstance(state, str) else state).fit(
            DIGITS
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].labels_, runs[1].labels_)


def test_without_a_seed_fits_differ_and_numpy_is_left_alone():
    state = np.random.get_state()[1].copy()
    runs = [GromovDR(8, perplexity=10, init="random", max_iter=0).fit(DIGITS) for _ in range(2)]
    assert not np.array_equal(runs[0].labels_, runs[1].labels_)
    np.testing.assert_array_equal(state, np.random.get_state()[1])


@pytest.mark.parametrize("estimator", [GromovDR(8, **SMALL), GromovClustering(8, **SMALL)], ids=["map", "clusters"])
def test_running_out_of_rounds_is_a_convergence_warning(estimator):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 ") as caught:
        clone(estimator).set_params(max_iter=1, init="random", tol=0.0).fit(DIGITS)
    assert caught[0].filename == __file__, "the warning points at whoever called fit"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(estimator).fit(DIGITS).stop_reason_ in ("converged", "stationary")


def test_a_similarity_in_any_form_gives_one_map():
    rng = np.random.default_rng(0)
    A = rng.random((60, 4))
    forms = [A @ A.T, sp.csr_array(A @ A.T), (A,)]
    runs = [GromovDR(5, method="pca", precomputed="similarity", random_state=0).fit(C) for C in forms]
    for m in runs[1:]:
        np.testing.assert_array_equal(m.labels_, runs[0].labels_)
        np.testing.assert_allclose(m.prototypes_, runs[0].prototypes_, atol=1e-9)
    assert runs[0].n_features_in_ == 60 and runs[0].prototype_features_ is None


def test_the_score_is_the_trustworthiness_of_the_places(fitted):
    expected = gromap.metrics.trustworthiness(DIGITS, fitted.transform(DIGITS), n_neighbors=5)
    assert fitted.score(DIGITS) == expected > 0.7
    assert 0 <= fitted.score(DIGITS[:4]) <= 1
