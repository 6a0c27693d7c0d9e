"""Several views of the same samples: one plan, one map, and weights of the views."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from gromap import GromovClustering, GromovDR, load, metrics
from sklearn.base import clone


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    first, second = (rng.normal(size=(240, p)) + 4 * rng.normal(size=(4, p))[y] for p in (5, 7))
    return [first, second, rng.normal(size=(240, 6))], y


def recipe(**parameters):
    return GromovDR(8, perplexity=10, random_state=0, **parameters)


@pytest.mark.parametrize("weights", ["equal", "learned", [1, 2, 0.5]])
def test_a_list_of_views_gives_one_map(data, weights, tmp_path):
    views, y = data
    m = recipe(view_weights=weights).fit(views)
    assert m.view_weights_.shape == (3,) and m.view_weights_.sum() == pytest.approx(1)
    assert metrics.homogeneity_score(y, m.labels_) > 0.95
    assert m.prototype_features_.shape == (8, 18) and m.n_features_in_ == 18
    assert (m.predict(views) == m.labels_).all()
    assert m.transform([view[:5] for view in views]).shape == (5, 2)
    assert 0 < m.score(views) <= 1
    m.save(tmp_path / "views.gromap")
    for again in (load(tmp_path / "views.gromap"), pickle.loads(pickle.dumps(m))):
        assert again._model.to_bytes() == m._model.to_bytes()
        assert (again.view_weights_ == m.view_weights_).all()
        new = [view[::3] + 0.1 for view in views]
        assert (again.predict(new) == m.predict(new)).all()
    m.report(tmp_path / "map.html", X=views, labels=y)
    assert clone(m).get_params()["view_weights"] == weights


def test_learned_weights_mistrust_noise(data):
    views, y = data
    for estimator in (recipe(view_weights="learned"), GromovClustering(4, perplexity=10, view_weights="learned", random_state=0)):
        m = estimator.fit(tuple(views))
        assert m.view_weights_[2] < m.view_weights_[:2].min()
        assert m.view_weights_.min() > 0
    assert metrics.adjusted_rand_score(y, m.labels_) > 0.9


def test_a_list_of_lists_is_still_samples(data):
    views, _ = data
    m = recipe().fit(views[0].tolist())
    assert (m.labels_ == recipe().fit(views[0]).labels_).all() and (m.view_weights_ == [1.0]).all()


def test_similarities_and_distances_are_views_too(data):
    views, y = data
    squares = [((view[:, None] - view) ** 2).sum(-1) for view in views[:2]]
    m = recipe(precomputed="distance").fit([np.sqrt(square) for square in squares])
    assert metrics.homogeneity_score(y, m.labels_) > 0.95
    near = [sp.csr_array(np.where(square < 20, np.exp(-square / 10), 0)) for square in squares]
    m = recipe(precomputed="similarity", view_weights="learned").fit(near)
    assert metrics.homogeneity_score(y, m.labels_) > 0.95
    # One matrix is what the weighted sum of them is.
    shares = m.view_weights_ / [similarity.mean() for similarity in near]
    total = sp.csr_array(sum(share * similarity for share, similarity in zip(shares, near, strict=True)), dtype=np.float32)
    alone = recipe(precomputed="similarity").fit(total)
    assert alone.loss_ == pytest.approx(m.loss_, rel=1e-4)


def test_columns_of_frames_are_matched_by_name_in_every_view(data):
    views, _ = data
    frames = [pd.DataFrame(view, columns=[f"x{v}_{j}" for j in range(view.shape[1])]) for v, view in enumerate(views)]
    m = recipe().fit(frames)
    assert m.feature_names_in_[5] == "x1_0"
    turned = [frame.iloc[:, ::-1].assign(more=1.0) for frame in frames]
    assert (m.predict(turned) == m.labels_).all()
    with pytest.raises(ValueError, match="x1_3"):
        m.predict([frames[0], frames[1].drop(columns="x1_3"), frames[2]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda views: [], "empty"),
        (lambda views: [views[0], views[1][:-1]], "view 2 of 2: number of samples: expected 240, found 239"),
        (lambda views: [views[0], np.ones((240, 3))], "view 2 of 2: number of different samples is 1"),
        (lambda views: [views[0], np.full((240, 3), np.nan)], "view 2"),
    ],
)
def test_wrong_views_are_named(data, change, message):
    with pytest.raises(ValueError, match=message):
        recipe().fit(change(data[0]))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "number of view_weights: expected 3, found 2"),
        ([1.0, -1.0, 1.0], "view_weights is -1"),
        ([0.0, 0.0, 0.0], "sum of view_weights is 0"),
        ("lerned", "unknown view_weights"),
    ],
)
def test_wrong_weights_are_named(data, weights, message):
    with pytest.raises(ValueError, match=message):
        recipe(view_weights=weights).fit(data[0])


def test_new_samples_need_all_views(data):
    views, _ = data
    m = recipe().fit(views)
    with pytest.raises(ValueError, match="list of 3 views"):
        m.predict(views[0])
    with pytest.raises(ValueError, match="number of views: expected 3, found 2"):
        m.predict(views[:2])
    with pytest.raises(ValueError, match="view 1 of 3: number of features: expected 5, found 7"):
        m.predict([views[1], views[0], views[2]])


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_bytes_on_any_number_of_threads(data, threads):
    views, _ = data
    first = recipe(view_weights="learned").fit(views)._model.to_bytes()
    assert recipe(view_weights="learned", n_jobs=threads).fit(views)._model.to_bytes() == first
