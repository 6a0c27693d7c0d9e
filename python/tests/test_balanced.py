"""Balanced transport and given weights of prototypes, against POT and against what they promise."""

import numpy as np
import ot
import pytest
from gromap import GromovClustering, GromovDR, balanced_transport, load, srgw, srgw_barycenter

PROBLEMS = 400


def weights(rng, n, kind):
    if kind == "uniform":
        return np.full(n, 1.0 / n)
    w = rng.random(n) ** 4 if kind == "skewed" else rng.integers(0, 3, n).astype(float)
    w[rng.integers(n)] += 0.5
    return w / w.sum()


@pytest.mark.parametrize("costs", ["real", "integers", "distances"])
@pytest.mark.parametrize("kind", ["uniform", "skewed", "zeros"])
@pytest.mark.parametrize("shape", ["far more samples", "many samples", "as many points", "one point", "more points"])
def test_the_exact_plan_costs_what_pot_says(shape, kind, costs):
    rng = np.random.default_rng(7)
    for _ in range(PROBLEMS // 4):
        # So many samples that mass goes along paths between points; of fewer the simplex does it all.
        N = int(rng.integers(120, 300)) if shape == "far more samples" else int(rng.integers(1, 60))
        few = int(rng.integers(1, 13 if shape == "far more samples" else 9))
        n = {"far more samples": few, "many samples": few, "as many points": N, "one point": 1}.get(shape, N + 3)
        if costs == "distances":
            C = ot.dist(rng.random((N, 2)), rng.random((n, 2)))
        else:
            C = rng.random((N, n)) - 0.3 if costs == "real" else rng.integers(0, 4, (N, n)).astype(float)
        a, b = weights(rng, N, kind), weights(rng, n, kind)
        found = balanced_transport(C, a, b)
        assert found.cost == pytest.approx(ot.emd2(a, b, C), abs=1e-9)
        assert found.cost == pytest.approx((found.plan.toarray() * C).sum(), abs=1e-12)
        np.testing.assert_allclose(found.plan.sum(axis=1), a, atol=1e-12)
        np.testing.assert_allclose(found.plan.sum(axis=0), b, atol=1e-12)
        assert found.plan.nnz <= N + n - 1


def test_a_larger_problem_and_its_features():
    rng = np.random.default_rng(1)
    X, F = rng.normal(size=(3000, 5)) + 100.0, rng.normal(size=(20, 5)) + 100.0
    b = weights(rng, 20, "skewed")
    expected = ot.emd2(np.full(3000, 1 / 3000), b, ot.dist(X, F), numItermax=10**6)
    assert balanced_transport((X, F), b=b).cost == pytest.approx(expected, abs=1e-9)
    assert balanced_transport(ot.dist(X, F), b=b).cost == pytest.approx(expected, abs=1e-9)
    single = balanced_transport((X.astype(np.float32), F), b=b)
    assert single.cost == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 1.0])
def test_the_entropic_plan_is_pots(epsilon):
    rng = np.random.default_rng(3)
    C = rng.random((80, 6))
    a, b = weights(rng, 80, "skewed"), weights(rng, 6, "skewed")
    expected = ot.sinkhorn(a, b, C, epsilon, method="sinkhorn_log", numItermax=100_000, stopThr=1e-12)
    found = balanced_transport(C, a, b, epsilon=epsilon, max_iter=100_000, tol=1e-12)
    assert found.stop_reason == "converged"
    np.testing.assert_allclose(found.plan.toarray(), expected, atol=1e-6)
    assert balanced_transport(C, a, b, epsilon=1e-4, max_iter=1).stop_reason == "max_rounds"


C5 = np.arange(10.0).reshape(5, 2)
BAD = {
    "weights that do not sum alike": (lambda: balanced_transport(C5, np.ones(5), np.ones(2)), "a sums to 5.0 and b to 2.0"),
    "too few weights": (lambda: balanced_transport(C5, b=np.ones(3)), "b has 3 entries, and the costs have 2"),
    "negative weight": (lambda: balanced_transport(C5, b=np.array([2.0, -1.0])), "not negative"),
    "no weight": (lambda: balanced_transport(C5, np.zeros(5), np.zeros(2)), "sum to zero"),
    "NaN": (lambda: balanced_transport(np.where(C5 == 3, np.nan, C5)), r"cost\[1, 1\] is NaN"),
    "epsilon": (lambda: balanced_transport(C5, epsilon=0.0), "epsilon is 0"),
    "three parts": (lambda: balanced_transport((C5, C5, C5)), "tuple of 3"),
    "features that do not fit": (lambda: balanced_transport((C5, np.ones((2, 3)))), "columns of the points"),
    "length": (lambda: srgw(np.eye(6), np.eye(2), prototype_weights=np.ones(3) / 3), "number of prototype_weights"),
    "sum": (lambda: srgw(np.eye(6), np.eye(2), prototype_weights=np.ones(2)), "sum of prototype_weights is 2"),
    "negative share": (lambda: srgw(np.eye(6), np.eye(2), prototype_weights=[1.5, -0.5]), "prototype_weights is -0.5"),
    "unknown word": (lambda: srgw(np.eye(6), np.eye(2), prototype_weights="equal"), "one of learned, uniform"),
    "least": (lambda: srgw(np.eye(6), np.eye(2), min_weight=0.6), "min_weight is 0.6; it must be from 0 to 1/2"),
    "most": (lambda: srgw_barycenter(np.eye(6), 2, max_weight=0.4), "max_weight is 0.4; it must be from 1/2 to 1"),
    "crossed": (lambda: srgw(np.eye(6), np.eye(4), min_weight=0.25, max_weight=0.249), "max_weight is 0.249"),
    "both": (lambda: srgw(np.eye(6), np.eye(2), prototype_weights="uniform", min_weight=0.1), "left out"),
    "mirror": (lambda: srgw(np.eye(6), np.eye(2), prototype_weights="uniform", solver="mirror"), "not learned"),
    "every sample": (
        lambda: GromovDR(None, method="pca", prototype_weights="uniform").fit(np.random.default_rng(0).random((20, 3))),
        "fewer prototypes than samples",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("loss", ["square", "kl"])
def test_fixed_weights_lead_where_pot_leads(loss, seed):
    rng = np.random.default_rng(seed)
    A = rng.random((40, 3)) + 0.05
    C, target = A @ A.T, rng.random((5, 5)) + 0.1
    target = (target + target.T) / 2
    h, q = weights(rng, 40, "skewed"), weights(rng, 5, "skewed")
    start = np.outer(h, q)
    plan, log = ot.gromov.gromov_wasserstein(
        C, target, h, q, loss_fun=f"{loss}_loss", G0=start, log=True, symmetric=True, max_iter=1000, tol_rel=1e-9, tol_abs=1e-9
    )
    found = srgw(C, target, h=h, loss=loss, plan=start, prototype_weights=q, solver="cg")
    assert found.loss == pytest.approx(log["gw_dist"], rel=1e-8)
    np.testing.assert_allclose(found.plan.toarray(), plan, atol=1e-8)
    np.testing.assert_allclose(found.weights, q, atol=1e-12)
    assert np.all(np.diff(found.loss_curve) <= 1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_a_barycenter_of_fixed_weights_ends_at_an_extreme_point(seed):
    """Corollary 1: C is positive semi-definite, so the plan is a vertex of those between h and q."""
    rng = np.random.default_rng(seed)
    A, n = rng.normal(size=(101, 4)), 6
    q = weights(rng, n, "skewed")
    found = srgw_barycenter((A,), n, prototype_weights=q, random_state=seed)
    assert found.plan.nnz <= 101 + n - 1
    np.testing.assert_allclose(found.weights, q, atol=1e-12)
    assert 0.9 < found.hardness < 1.0 and found.certificate is None
    assert np.all(np.diff(found.loss_curve) <= 1e-12)


def test_bounds_hold_and_cost_less_than_fixed_weights():
    rng = np.random.default_rng(0)
    A = np.concatenate([rng.normal(k, 0.4, (size, 3)) for k, size in enumerate([120, 50, 20, 10])])
    common = {"C": (A,), "n": 4, "plan": np.repeat(np.arange(4), [120, 50, 20, 10])}
    free = srgw_barycenter(**common)
    bounded = srgw_barycenter(**common, min_weight=0.15, max_weight=0.4)
    fixed = srgw_barycenter(**common, prototype_weights="uniform")
    assert bounded.weights.min() >= 0.15 - 1e-12 and bounded.weights.max() <= 0.4 + 1e-12
    np.testing.assert_allclose(fixed.weights, 0.25, atol=1e-12)
    assert free.loss < bounded.loss < fixed.loss


X = np.concatenate([np.random.default_rng(k).normal(4 * k, 1, (60, 5)) for k in range(3)])


@pytest.mark.parametrize("method", ["tsnekhorn", "fuzzy-tsne", "pca"])
def test_maps_and_clusters_have_the_weights_asked_for(method, tmp_path):
    m = GromovDR(7, method=method, perplexity=10, prototype_weights="uniform", random_state=0).fit(X)
    np.testing.assert_allclose(m.weights_, 1 / 7, atol=1e-12)
    # Extreme points are proved optimal for inner products alone; elsewhere a few more samples may be split.
    assert m.plan_.nnz < 180 + 7 if method == "pca" else m.hardness_ > 0.9
    assert np.all(np.diff(m.loss_curve_) <= 0)
    m.save(tmp_path / "a.gromap")
    again = load(tmp_path / "a.gromap")
    assert again.prototype_weights == "uniform" and (again.plan_ != m.plan_).nnz == 0
    q = np.array([0.5, 0.3, 0.2])
    c = GromovClustering(3, method, perplexity=10, prototype_weights=q, random_state=0).fit(X)
    np.testing.assert_allclose(c.weights_, q, atol=1e-12)
    c = GromovClustering(5, method, perplexity=10, min_weight=0.1, max_weight=0.25, random_state=0).fit(X)
    assert c.weights_.min() >= 0.1 - 1e-12 and c.weights_.max() <= 0.25 + 1e-12


def test_equal_groups_are_found_as_they_are():
    c = GromovClustering(3, perplexity=10, prototype_weights="uniform", random_state=0).fit(X)
    assert c.hardness_ == 1.0
    for group in range(3):
        assert len(set(c.labels_[60 * group : 60 * group + 60])) == 1


def test_one_thread_or_more_give_the_same():
    first, second = (
        GromovDR(9, perplexity=10, prototype_weights="uniform", n_jobs=jobs, random_state=0).fit(X) for jobs in (1, 3)
    )
    assert first.loss_ == second.loss_ and (first.plan_ != second.plan_).nnz == 0
