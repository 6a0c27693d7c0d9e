"""How many groups there are, and how sure: counts on mixtures and noise, refits, and what is refused."""

import numpy as np
import pytest

import gromap
from gromap import GromovClustering, GromovDR


def mixture(components, dims, samples, seed):
    """Round groups of unequal sizes whose centres are 12 standard deviations apart or more."""
    rng = np.random.default_rng(seed)
    centers = []
    while len(centers) < components:
        center = rng.uniform(-6 * components ** (1 / min(dims, 3)), 6 * components ** (1 / min(dims, 3)), dims) * 1.6
        if all(np.linalg.norm(center - other) > 12 for other in centers):
            centers.append(center)
    shares = rng.uniform(0.5, 1.5, components)
    y = rng.choice(components, samples, p=shares / shares.sum())
    return np.array(centers)[y] + rng.normal(size=(samples, dims)), y


@pytest.fixture(scope="module")
def five():
    return mixture(5, 8, 600, 0)


@pytest.mark.parametrize(("components", "dims", "samples"), [(3, 2, 300), (5, 8, 600), (12, 10, 1200), (8, 60, 800)])
def test_groups_of_a_mixture_are_counted(components, dims, samples):
    X, _ = mixture(components, dims, samples, 1)
    assert gromap.suggest(X).n_prototypes == components


@pytest.mark.parametrize("dims", [2, 10, 60])
@pytest.mark.parametrize("draw", ["normal", "uniform"])
def test_noise_has_no_groups(dims, draw):
    X = getattr(np.random.default_rng(3), draw)(size=(500, dims))
    found = gromap.suggest(X)
    assert found.n_prototypes == 1 and found.link is None
    assert "no groups" in found.sentence


def test_the_table_speaks_for_the_number_that_is_suggested(five):
    found = gromap.suggest(five[0])
    rows = {row.n_prototypes: row for row in found.table}
    assert sorted(rows) == [row.n_prototypes for row in found.table]
    assert rows[5].stability > 0.99
    assert rows[5].silhouette == max(row.silhouette for row in found.table)
    assert rows[20].loss < rows[5].loss < rows[2].loss
    assert str(found).endswith(found.sentence) and "n = 5" in found.sentence


def test_auto_takes_what_is_suggested(five):
    X, y = five
    assert len(GromovDR("auto", random_state=0).fit(X).weights_) == 5
    labels = GromovClustering("auto", random_state=0).fit_predict(X)
    assert gromap.metrics.adjusted_rand_score(y, labels) > 0.99


def test_auto_warns_of_noise():
    X = np.random.default_rng(0).normal(size=(300, 3))
    with pytest.warns(UserWarning, match="no groups"):
        assert len(GromovClustering("auto", random_state=0).fit(X).weights_) == 1


def test_a_graph_has_communities():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), 60)
    edges = np.triu(rng.random((180, 180)) < np.where(groups[:, None] == groups, 0.3, 0.005), 1)
    found = gromap.suggest(edges.astype(float), precomputed="graph")
    assert found.n_prototypes == 3 and found.table[0].stability is None


def test_few_samples_are_refused():
    with pytest.raises(ValueError, match="at least 24"):
        gromap.suggest(np.random.default_rng(0).normal(size=(20, 2)))


def test_a_number_is_not_asked_for_twice(five):
    with pytest.raises(TypeError, match="leave it out"):
        gromap.suggest(five[0], n_prototypes=3)


def test_real_groups_are_found_again(five, recwarn):
    X, y = five
    found = GromovClustering(5, random_state=0).fit(X).stability(X, n_resamples=5)
    assert found.prototypes.min() > 0.99 > found.reference
    assert np.nanmin(found.samples) > 0.95 and len(found.samples) == len(X)
    assert len(found.doubtful) == 0 and not recwarn.list


def test_groups_of_noise_are_no_better_than_chance():
    X = np.random.default_rng(0).normal(size=(400, 5))
    m = GromovClustering(6, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="no better than those of data without groups"):
        found = m.stability(X, n_resamples=4)
    assert found.prototypes.mean() < 0.8 and len(found.doubtful) > 3


def test_refits_are_the_same_on_any_number_of_threads(five):
    X = five[0][:200]
    one, two = (GromovDR(4, random_state=0, n_jobs=jobs).fit(X).stability(X, 3) for jobs in (1, 2))
    assert (one.prototypes == two.prototypes).all() and one.reference == two.reference
    np.testing.assert_array_equal(one.samples, two.samples)


def test_stability_colours_a_map(five, tmp_path):
    X = five[0][:200]
    m = GromovDR(4, random_state=0).fit(X)
    m.report(tmp_path / "map.html", numbers={"stability": m.stability(X, 2).prototypes})
    assert (tmp_path / "map.html").stat().st_size > 10_000


def test_stability_needs_the_samples_fitted_to(five):
    m = GromovClustering(5, random_state=0).fit(five[0])
    with pytest.raises(ValueError, match="expected 600, found 100"):
        m.stability(five[0][:100])


def test_what_was_seen_is_no_outlier_and_what_is_far_is(five):
    X, _ = five
    m = GromovDR(5, random_state=0).fit(X)
    labels, distances, is_outlier = m.predict(X, return_distance=True)
    assert (labels == m.predict(X)).all() and not is_outlier.any()
    np.testing.assert_allclose(distances, np.linalg.norm(X - m.prototype_features_[labels], axis=1))
    again = mixture(5, 8, 600, 0)[0] + np.random.default_rng(1).normal(scale=0.1, size=X.shape)
    assert m.predict(again, return_distance=True)[2].mean() < 0.02
    assert m.predict(X[:3] + 100, return_distance=True)[2].all()


def test_outliers_are_told_after_loading(five, tmp_path):
    m = GromovClustering(5, scale="standard", random_state=0).fit(five[0])
    m.save(tmp_path / "five.gromap")
    far = five[0][:4] + np.array([[0], [0], [50], [50]])
    for model in (m, gromap.load(tmp_path / "five.gromap")):
        assert model.predict(far, return_distance=True)[2].tolist() == [False, False, True, True]


def test_a_prototype_that_grows_is_seen(five):
    X, y = five
    m = GromovClustering(5, random_state=0).fit(X)
    same = m.compare(X)
    assert same.placed == 1 and len(same.outliers) == 0
    np.testing.assert_allclose(same.after, same.before)
    more = m.compare(np.concatenate([X, X[y == 0], X[y == 0], X[:1] + 1000]))
    grown = m.predict(X[y == 0])[0]
    apart = (more.after - more.before) / more.error
    assert apart.argmax() == grown and apart[grown] > 3
    assert more.outliers.tolist() == [len(X) + 2 * (y == 0).sum()]


def test_a_model_of_pairs_knows_no_distances(five):
    m = GromovClustering(3, precomputed="similarity", random_state=0).fit(np.eye(30) + 0.1)
    with pytest.raises((ValueError, NotImplementedError)):
        m.predict(five[0], return_distance=True)
