"""Co-clustering: what it finds, what it minimises, and POT's answer at the same summary."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import ot.coot
import pandas as pd
import pytest
from gromap import CootClustering
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

COMMAND = pathlib.Path(sys.executable).with_name("gromap")


def blocks(rng, noise, rows=(20, 30, 10), columns=(8, 12)):
    S = rng.permutation(np.arange(6.0)).reshape(3, 2)
    y, z = np.repeat(np.arange(3), rows), np.repeat(np.arange(2), columns)
    return S[np.ix_(y, z)] + noise * rng.normal(size=(60, 20)), y, z


def same(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@pytest.mark.parametrize("seed", range(5))
def test_blocks_are_recovered_exactly(seed):
    rng = np.random.default_rng(seed)
    X, y, z = blocks(rng, 0.2)
    order, columns = rng.permutation(60), rng.permutation(20)
    found = CootClustering(3, 2, random_state=seed).fit(X[np.ix_(order, columns)])
    assert same(found.labels_, y[order]) and same(found.feature_labels_, z[columns])
    assert np.all(np.diff(found.loss_curve_) <= 0)
    given = CootClustering(3, 2, prototype_weights=[1 / 3, 1 / 2, 1 / 6], feature_weights=[0.4, 0.6], random_state=seed).fit(X)
    assert np.all(np.diff(given.loss_curve_) <= 0)
    np.testing.assert_allclose(given.plan_.sum(axis=0), [1 / 3, 1 / 2, 1 / 6], atol=1e-12)
    np.testing.assert_allclose(given.feature_plan_.sum(axis=0), [0.4, 0.6], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_pot_finds_nothing_lower_at_the_same_summary(seed):
    X = np.random.default_rng(seed).random((40, 15))
    found = CootClustering(4, 3, prototype_weights="uniform", feature_weights="uniform", random_state=seed).fit(X)
    T, U, S = found.plan_.toarray(), found.feature_plan_.toarray(), found.summary_
    cost = (X[:, :, None, None] - S[None, None]) ** 2
    assert found.loss_ == pytest.approx(np.einsum("ijkl,ik,jl->", cost, T, U), rel=1e-9)
    np.testing.assert_allclose(S, T.T @ X @ U * 12, atol=1e-12)
    for start in (None, (T, U)):
        P, Q, log = ot.coot.co_optimal_transport(X, S, log=True, warmstart=None if start is None else _warm(start))
        assert found.loss_ <= np.einsum("ijkl,ik,jl->", cost, P, Q) + 1e-9


def _warm(start):
    zeros = [np.zeros(n) for n in (*start[0].shape, *start[1].shape)]
    return {"duals_sample": tuple(zeros[:2]), "pi_sample": start[0], "duals_feature": tuple(zeros[2:]), "pi_feature": start[1]}


@parametrize_with_checks([CootClustering(2, 1, n_init=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_report_is_a_page_or_a_picture(tmp_path):
    X, y, z = blocks(np.random.default_rng(0), 0.2)
    X = pd.DataFrame(X, columns=[f"<gene {j}>" for j in range(20)])
    found = CootClustering(3, 2, random_state=0).fit(X)
    found.report(tmp_path / "plain.html")
    found.report(tmp_path / "blocks.html", X, title="Genes & cells", ids=[f"cell {i}" for i in range(60)])
    page = (tmp_path / "blocks.html").read_text()
    assert "Genes &amp; cells" in page and "&lt;gene 3&gt;" in page and "cell 7" in page and "<script" not in page
    assert page != (tmp_path / "plain.html").read_text()
    found.report(tmp_path / "blocks.svg", X)
    assert (tmp_path / "blocks.svg").read_text().startswith("<svg")
    with pytest.raises(NotFittedError):
        CootClustering().report(tmp_path / "no.html")


def test_the_command_finds_the_same(tmp_path):
    X, _, _ = blocks(np.random.default_rng(3), 0.5)
    np.save(tmp_path / "x.npy", X)
    ran = subprocess.run(
        [COMMAND, "cluster", "x.npy", "--method", "coot", "-k", "3", "--feature-clusters", "2", "--json"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )
    said, found = json.loads(ran.stdout), CootClustering(3, 2, random_state=0).fit(X)
    assert said["labels"] == found.labels_.tolist() and said["feature_labels"] == found.feature_labels_.tolist()
    np.testing.assert_array_equal(said["summary"], found.summary_)


BAD = {
    "features": (lambda X: CootClustering(2, 30).fit(X), "n_feature_clusters is 30; it must be from 1 to 20"),
    "samples": (lambda X: CootClustering(99, 2).fit(X), "n_prototypes is 99"),
    "sum": (lambda X: CootClustering(2, 2, feature_weights=[0.5, 0.6]).fit(X), "sum of feature_weights is 1.1"),
    "number": (lambda X: CootClustering(2, 2, feature_weights=[1]).fit(X), "number of feature_weights: expected 2, found 1"),
    "sum of samples": (lambda X: CootClustering(2, 2, prototype_weights=[1, 1]).fit(X), "sum of prototype_weights is 2"),
    "ending": (lambda X: CootClustering(2, 2).fit(X).report("a.png"), "must end in .html or .svg"),
    "other X": (lambda X: CootClustering(2, 2).fit(X).report("a.html", X[:9]), "samples: expected 60, found 9"),
    "ids": (lambda X: CootClustering(2, 2).fit(X).report("a.html", ids=["a"]), "ids: expected 60, found 1"),
    "word": (lambda X: CootClustering(2, 2, prototype_weights="equal").fit(X), "one of learned, uniform"),
    "NaN": (lambda X: CootClustering(2, 2).fit(np.where(X > 5, np.nan, X)), "NaN"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call(blocks(np.random.default_rng(0), 0.5)[0])
