"""Models in files: maps and clusters come back as they were, and place new samples."""

import gromap
import numpy as np
import pandas as pd
import polars as pl
import pytest
from gromap import GromovClustering, GromovDR
from helpers import assert_same_fit
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

X, NEW = load_digits().data[:300], load_digits().data[300:340]
SMALL = {"perplexity": 10, "random_state": 0}
METHODS = [
    "pca", "kernel-pca", "mds", "isomap", "laplacian-eigenmaps", "sne", "tsne", "snekhorn", "tsnekhorn", "heavy-tsne",
    "fuzzy-tsne", "umap",
]  # fmt: skip
OF_NEIGHBORS = METHODS[3:]
pytestmark = pytest.mark.filterwarnings("ignore:the neighbour graph has")
BOTH = pytest.mark.parametrize("make", [GromovDR, GromovClustering])


def through_a_file(estimator, tmp_path):
    estimator.save(tmp_path / "a.gromap")
    return gromap.load(tmp_path / "a.gromap")


PARAMETERS = [
    {},
    {"method": "kernel-pca", "kernel": "poly", "gamma": 0.5, "coef0": 2.0, "degree": 2},
    {"method": "kernel-pca", "kernel": "cosine"},
    {"method": "umap", "n_neighbors": 7, "n_components": 3, "n_init": 2, "init": "random"},
    {"perplexity": [5.0, 20.0], "pca": 10, "scale": "minmax", "solver": "cg", "max_iter": 30},
    {"alpha": 0.5, "alpha_scale": "raw", "pca": None, "scale": "standard", "solver": "mirror", "max_iter": 5},
    {"n_prototypes": None, "method": "mds"},
    {"normalization": "cells", "loss": "square", "tol": 1e-3},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_saved_map_comes_back_with_its_parameters(parameters, tmp_path):
    m = GromovDR(**{"n_prototypes": 6, **SMALL, **parameters}).fit(X)
    m.save(tmp_path / "a.gromap")
    again = gromap.load(tmp_path / "a.gromap")
    assert isinstance(again, GromovDR) and again.get_params() == m.get_params()
    assert_same_fit(m, again)
    np.testing.assert_array_equal(again.transform(X[:9]), m.transform(X[:9]))
    assert again._model.to_bytes() == (tmp_path / "a.gromap").read_bytes()


def test_saving_replaces_whole_files_and_leaves_no_others(tmp_path):
    path = tmp_path / "a.gromap"
    path.write_bytes(b"something else")
    fitted = GromovDR(8, **SMALL).fit(X)
    fitted.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.gromap"]
    with pytest.raises(FileNotFoundError):
        fitted.save(tmp_path / "nowhere" / "a.gromap")
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="damaged"):
        gromap.load(path)


@pytest.mark.parametrize("target", ["free", "identity"])
@pytest.mark.parametrize("method", METHODS)
def test_saved_clusters_come_back_and_place_new_samples(method, target, tmp_path):
    kernel = {"kernel": "poly", "gamma": 1e-3, "coef0": 0.5, "degree": 2} if method == "kernel-pca" else {}
    m = GromovClustering(6, method, target=target, target_scale="raw", **kernel, **SMALL).fit(X)
    again = through_a_file(m, tmp_path)
    assert isinstance(again, GromovClustering) and again.get_params() == m.get_params()
    assert_same_fit(m, again)
    labels = again.predict(NEW)
    np.testing.assert_array_equal(labels, m.predict(NEW))
    np.testing.assert_array_equal(labels, [m.predict(row[None])[0] for row in NEW])
    assert set(labels) <= set(m.labels_), "a cluster without samples takes none"


@pytest.mark.parametrize("method", METHODS)
def test_training_samples_find_their_own_cluster(method):
    m = GromovClustering(6, method, **SMALL).fit(X)
    found = m.predict(X)
    if method in OF_NEIGHBORS:
        np.testing.assert_array_equal(found, m.labels_)
    else:
        assert np.mean(found == m.labels_) >= 0.97


def test_what_a_file_does_not_hold_is_left_at_its_default(tmp_path):
    m = GromovClustering(4, init=np.arange(300) % 4, n_jobs=1, verbose=0, **SMALL).fit(X)
    again = through_a_file(m, tmp_path)
    assert again.init == "auto" and again.n_jobs is None
    np.testing.assert_array_equal(again.labels_, m.labels_)


@BOTH
def test_files_that_are_no_models(make, tmp_path):
    with pytest.raises(FileNotFoundError):
        gromap.load(tmp_path / "nothing.gromap")
    (tmp_path / "text.gromap").write_text("no model")
    with pytest.raises(ValueError, match="damaged"):
        gromap.load(tmp_path / "text.gromap")
    make(4, **SMALL).fit(X).save(tmp_path / "cut.gromap")
    whole = (tmp_path / "cut.gromap").read_bytes()
    for damaged in (whole[:-9], whole[:100], whole + b"more", whole.replace(b"fuzzy-tsne", b"fuzzy-tsnf")):
        (tmp_path / "cut.gromap").write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            gromap.load(tmp_path / "cut.gromap")


@BOTH
@pytest.mark.parametrize("precomputed", ["distance", "similarity"])
def test_what_it_was_fitted_to_is_known(make, precomputed, tmp_path):
    given = pairwise_distances(X)
    m = make(5, precomputed=precomputed, **SMALL).fit(given if precomputed == "distance" else np.exp(-given / 10))
    again = through_a_file(m, tmp_path)
    assert again.precomputed == precomputed and again.get_params() == m.get_params()
    for estimator in (m, again):
        with pytest.raises(ValueError, match="fitted to"):
            estimator.predict(given[:3])


@BOTH
def test_several_perplexities_come_back_and_place_new_samples(make, tmp_path):
    m = make(6, perplexity=[5.0, 20.0], random_state=0).fit(X)
    again = through_a_file(m, tmp_path)
    assert again.perplexity == [5.0, 20.0]
    np.testing.assert_array_equal(again.predict(NEW), m.predict(NEW))
    np.testing.assert_array_equal(m.predict(X), m.labels_)


@pytest.mark.parametrize("method", METHODS)
def test_a_prototype_for_every_sample_gives_places_and_no_labels(method, tmp_path):
    m = GromovDR(None, method=method, **SMALL).fit(X)
    again = through_a_file(m, tmp_path)
    np.testing.assert_array_equal(again.transform(NEW), m.transform(NEW))
    assert again.n_prototypes is None and not hasattr(again, "predict")
    with pytest.raises(AttributeError) as refused:
        again.predict(NEW)
    assert "have places of their own (transform), not labels" in str(refused.value.__cause__)
    same = through_a_file(GromovDR(300, method=method, **SMALL).fit(X), tmp_path)
    with pytest.raises(ValueError, match=r"have places \(transform\), not labels"):
        same.predict(NEW)


NAMES = [f"p{i}" for i in range(64)]
FRAMES = {"pandas": lambda X, names: pd.DataFrame(X, columns=names), "polars": lambda X, names: pl.DataFrame(X, names)}
CALLS = [(GromovDR, "transform"), (GromovDR, "predict"), (GromovDR, "score"), (GromovClustering, "predict")]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize(("make", "call"), CALLS)
@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_columns_are_matched_by_name(make, call, loaded, frame, tmp_path):
    frame = FRAMES[frame]
    m = make(6, **SMALL).fit(frame(X, NAMES))
    expected = getattr(m, call)(frame(NEW, NAMES))
    if loaded:
        m = through_a_file(m, tmp_path)
        assert list(m.feature_names_in_) == NAMES and m.n_features_in_ == 64
    order = np.random.default_rng(0).permutation(64)
    reordered = frame(NEW[:, order], [NAMES[i] for i in order])
    np.testing.assert_array_equal(getattr(m, call)(reordered), expected)
    others = np.insert(NEW[:, order], 10, -1e6, axis=1)
    with_others = frame(others, [NAMES[i] for i in order[:10]] + ["id"] + [NAMES[i] for i in order[10:]])
    np.testing.assert_array_equal(getattr(m, call)(with_others), expected)
    renamed = frame(NEW, [*NAMES[:3], "q", *NAMES[4:]])
    with pytest.raises(ValueError, match='"p3", which the new samples do not have'):
        getattr(m, call)(renamed)
    with pytest.raises(ValueError, match='"p62", "p63", which the new samples do not have'):
        getattr(m, call)(frame(NEW[:, :62], NAMES[:62]))


@BOTH
def test_frames_and_arrays_may_be_mixed(make, tmp_path):
    named = through_a_file(make(6, **SMALL).fit(pd.DataFrame(X, columns=NAMES)), tmp_path)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        labels = named.predict(NEW)
    plain = make(6, **SMALL).fit(X)
    assert not hasattr(plain, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but"):
        np.testing.assert_array_equal(plain.predict(pd.DataFrame(NEW, columns=NAMES)), labels)


def test_a_level_of_a_path_knows_its_columns_too(tmp_path):
    frame = pd.DataFrame(X, columns=NAMES)
    level = GromovDR(**SMALL).path(frame, [3, 6]).levels[1]
    again = through_a_file(level, tmp_path)
    np.testing.assert_array_equal(again.predict(frame[NAMES[::-1]]), level.labels_)
