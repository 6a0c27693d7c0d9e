"""Places of samples: a map of prototypes is also a map of all samples."""

import pickle

import numpy as np
import pytest
from gromap import GromovDR, load, metrics
from helpers import assert_same_fit
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

RADIAL = ["sne", "tsne", "snekhorn", "tsnekhorn", "heavy-tsne", "fuzzy-tsne", "umap"]
GRAM = ["pca", "kernel-pca", "mds", "isomap", "laplacian-eigenmaps"]


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)[0][:500]


def fitted(X, method="fuzzy-tsne", n=25, d=2, **others):
    return GromovDR(n, d, method, perplexity=15, random_state=0, **others).fit(X)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("method", RADIAL + GRAM)
def test_every_sample_has_a_place_of_its_own(digits, method, d):
    m = fitted(digits, method, d=d)
    assert m.sample_places_.shape == (len(digits), d) and np.isfinite(m.sample_places_).all()
    if method in RADIAL:
        assert (cdist(m.sample_places_, m.prototypes_).argmin(1) == m.labels_).all()
    assert len(np.unique(m.sample_places_, axis=0)) > 400
    # The rule for new samples: those that were there before are where they were.
    error = np.abs(m.transform(digits, places="sample") - m.sample_places_).max()
    assert error <= 1e-5 * np.abs(m.prototypes_).max()
    assert np.array_equal(m.transform(digits, places="prototype"), m.transform(digits))


@pytest.mark.parametrize("method", ["tsnekhorn", "heavy-tsne", "umap"])
def test_places_keep_more_neighbours_than_prototypes_do(digits, method):
    m = fitted(digits, method)
    assert metrics.trustworthiness(digits, m.sample_places_) > metrics.trustworthiness(digits, m.embedding_) + 0.003
    new = load_digits(return_X_y=True)[0][500:900]
    own, theirs = m.transform(new, places="sample"), m.transform(new)
    assert metrics.trustworthiness(new, own) > metrics.trustworthiness(new, theirs)
    assert (cdist(own, m.prototypes_).argmin(1) == m.predict(new)).all()


def test_the_place_of_a_projection_is_the_projection(digits):
    m = fitted(digits, "pca", n=100)
    expected = PCA(2).fit_transform(digits)
    for axis in range(2):
        assert abs(np.corrcoef(m.sample_places_[:, axis], expected[:, axis])[0, 1]) > 0.97


def test_with_a_prototype_for_every_sample_both_places_are_the_same(digits):
    m = GromovDR(None, method="pca").fit(digits)
    assert np.array_equal(m.sample_places_, m.embedding_)
    assert np.array_equal(m.transform(digits[:9] + 1, places="sample"), m.transform(digits[:9] + 1))


def test_threads_change_no_bit(digits):
    one, three = (fitted(digits, n_jobs=jobs) for jobs in (1, 3))
    assert_same_fit(one, three)
    new = digits[:100] + 0.5
    assert np.array_equal(one.transform(new, places="sample"), three.transform(new, places="sample"))


@pytest.mark.parametrize("method", ["heavy-tsne", "pca", "isomap"])
def test_a_file_and_a_pickle_keep_them(digits, method, tmp_path):
    m = fitted(digits, method)
    m.save(tmp_path / "a.gromap")
    new = digits[:50] + 0.5
    for again in (load(tmp_path / "a.gromap"), pickle.loads(pickle.dumps(m))):
        assert np.array_equal(again.sample_places_, m.sample_places_)
        assert np.array_equal(again.transform(new, places="sample"), m.transform(new, places="sample"))


def test_weights_distances_and_similarities_have_them(digits):
    X = digits[:200]
    weights = np.arange(200) % 5.0
    m = GromovDR(12, perplexity=10, random_state=0).fit(X, sample_weight=weights)
    assert (cdist(m.sample_places_, m.prototypes_).argmin(1) == m.labels_).all()
    distances = cdist(X, X)
    of_pairs = GromovDR(12, perplexity=10, random_state=0, precomputed="distance").fit(distances)
    given = GromovDR(12, random_state=0, precomputed="similarity").fit(np.exp(-distances / 20))
    for m in (of_pairs, given):
        assert m.sample_places_.shape == (200, 2)
        assert (cdist(m.sample_places_, m.prototypes_).argmin(1) == m.labels_).all()


def test_single_precision_stays_single(digits):
    m = fitted(digits.astype(np.float32))
    assert m.sample_places_.dtype == m.transform(digits[:5].astype(np.float32), places="sample").dtype == np.float32


def test_wrong_places_are_refused(digits):
    m = fitted(digits[:100], n=5)
    with pytest.raises(ValueError, match='unknown places "samples"; it must be one of prototype, sample'):
        m.transform(digits[:3], places="samples")
    with pytest.raises(TypeError, match="places must be an instance of str"):
        m.transform(digits[:3], places=None)
    with pytest.raises(ValueError, match="NaN"):
        m.transform(np.full((2, 64), np.nan), places="sample")
