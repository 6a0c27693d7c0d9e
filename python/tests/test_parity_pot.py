"""The same start must lead where POT's solvers lead: same loss, same plan."""

import numpy as np
import ot
import pytest
import scipy.sparse as sp
from gromap import srgw, srgw_barycenter

N, K, P = 60, 5, 3
POT_LOSS = {"square": "square_loss", "kl": "kl_loss"}
EXACT = {"max_iter": 1000, "tol_rel": 1e-9, "tol_abs": 1e-9}


def problem(seed, symmetric):
    """Positive similarity and target, uneven weights, a random soft start, features."""
    rng = np.random.default_rng(seed)
    A = rng.random((N, P)) + 0.05
    B = A if symmetric else rng.random((N, P)) + 0.05
    C = A @ B.T / P
    target = rng.random((K, K)) + 0.1
    if symmetric:
        target = (target + target.T) / 2
    h = rng.random(N) + 0.2
    h /= h.sum()
    start = rng.random((N, K))
    start *= (h / start.sum(1))[:, None]
    X, F = rng.random((N, 2)), rng.random((K, 2))
    return {"A": A / np.sqrt(P), "B": B / np.sqrt(P), "C": C, "target": target, "h": h, "start": start, "X": X, "F": F}


def similarities(p, symmetric):
    """The same similarity in every form."""
    return {
        "dense": p["C"],
        "sparse": sp.csr_array(p["C"]),
        "low-rank": (p["A"],) if symmetric else (p["A"], p["B"]),
    }


FORMS = ["dense", "sparse", "low-rank"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("loss", ["square", "kl"])
@pytest.mark.parametrize("form", FORMS)
def test_conditional_gradient(form, loss, symmetric, fused, seed):
    p = problem(seed, symmetric)
    common = {"p": p["h"], "loss_fun": POT_LOSS[loss], "G0": p["start"], "log": True, "symmetric": symmetric, **EXACT}
    options = {}
    if fused:
        options = {"features": (p["X"], p["F"]), "alpha": 0.7}
        cost = ot.dist(p["X"], p["F"])
        plan, log = ot.gromov.semirelaxed_fused_gromov_wasserstein(cost, p["C"], p["target"], alpha=0.7, **common)
        expected = log["srfgw_dist"]
    else:
        plan, log = ot.gromov.semirelaxed_gromov_wasserstein(p["C"], p["target"], **common)
        expected = log["srgw_dist"]
    found = srgw(
        similarities(p, symmetric)[form], p["target"], h=p["h"], loss=loss, plan=p["start"], solver="cg", **options
    )
    # A low-rank operator leaves the constant of KL out and says so: compare what the plan changes.
    if not found.loss_is_complete:
        assert form == "low-rank" and loss == "kl"
        alpha = options.get("alpha", 1.0)
        constant = p["h"] @ (p["C"] * np.log(p["C"]) - p["C"]) @ p["h"]
        expected -= alpha * constant
    assert found.loss == pytest.approx(expected, rel=1e-8)
    np.testing.assert_array_equal(found.labels, plan.argmax(1))
    np.testing.assert_allclose(found.plan.toarray(), plan, atol=1e-9)
    np.testing.assert_allclose(found.plan.sum(axis=1), p["h"], rtol=1e-12)
    np.testing.assert_allclose(found.weights, plan.sum(0), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", ["square", "kl"])
def test_hard_plans_are_the_same(loss, seed):
    """A problem whose answer is hard: groups that are there to be found."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=N)
    target = np.full((K, K), 0.05) + np.diag(1.0 + np.arange(K) / K)
    C = target[np.ix_(truth, truth)] * (1 + 0.05 * rng.random((N, N)))
    C = (C + C.T) / 2
    start = np.eye(K)[truth] * 0.5 + rng.random((N, K))
    start /= start.sum(1, keepdims=True) * N
    plan, log = ot.gromov.semirelaxed_gromov_wasserstein(
        C, target, loss_fun=POT_LOSS[loss], G0=start, log=True, symmetric=True, **EXACT
    )
    assert np.count_nonzero(plan) == N, "this test wants a problem with a hard answer"
    found = srgw(C, target, loss=loss, plan=start, solver="cg")
    assert found.hardness == 1.0
    np.testing.assert_array_equal(found.plan.toarray(), plan)
    assert found.loss == pytest.approx(log["srgw_dist"], rel=1e-8)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("loss", ["square", "kl"])
@pytest.mark.parametrize("form", FORMS)
def test_entropic(form, loss, symmetric, fused):
    p = problem(7, symmetric)
    epsilon = 0.01
    common = {"p": p["h"], "loss_fun": POT_LOSS[loss], "epsilon": epsilon, "G0": p["start"], "symmetric": symmetric}
    common |= {"max_iter": 3000, "tol": 1e-12, "log": True}
    options = {}
    if fused:
        options = {"features": (p["X"], p["F"]), "alpha": 0.7}
        cost = ot.dist(p["X"], p["F"])
        _, log = ot.gromov.entropic_semirelaxed_fused_gromov_wasserstein(cost, p["C"], p["target"], alpha=0.7, **common)
        expected = log["srfgw_dist"]
    else:
        _, log = ot.gromov.entropic_semirelaxed_gromov_wasserstein(p["C"], p["target"], **common)
        expected = log["srgw_dist"]
    found = srgw(
        similarities(p, symmetric)[form],
        p["target"],
        h=p["h"],
        loss=loss,
        plan=p["start"],
        solver="mirror",
        epsilon=epsilon,
        max_iter=3000,
        tol=0.0,
        **options,
    )
    if not found.loss_is_complete:
        constant = p["h"] @ (p["C"] * np.log(p["C"]) - p["C"]) @ p["h"]
        expected -= options.get("alpha", 1.0) * constant
    assert found.loss == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("loss", ["square", "kl"])
@pytest.mark.parametrize("seed", range(3))
def test_vertex_descent_is_no_worse_than_pot_it_starts_from(loss, seed):
    p = problem(seed, True)
    plan, log = ot.gromov.semirelaxed_gromov_wasserstein(
        p["C"], p["target"], p=p["h"], loss_fun=POT_LOSS[loss], G0=p["start"], log=True, **EXACT
    )
    found = srgw(p["C"], p["target"], h=p["h"], loss=loss, plan=plan, solver="vertex", random_state=0)
    assert found.loss <= log["srgw_dist"] * (1 + 1e-12)


@pytest.mark.parametrize("loss", ["square", "kl"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", ["vertex", "cg"])
def test_barycenter_starts_where_pot_ends_and_ends_no_higher(solver, seed, loss):
    p = problem(seed, True)
    _, log = ot.gromov.semirelaxed_gromov_barycenters(
        K,
        [p["C"]],
        [p["h"]],
        loss_fun=POT_LOSS[loss],
        G0="random",
        random_state=seed,
        log=True,
        stop_criterion="loss",
    )
    reached = log["loss"][-1]
    start = srgw_barycenter(p["C"], K, h=p["h"], loss=loss, plan=log["T"][0], max_iter=0)
    assert start.loss <= reached * (1 + 1e-9), "the best target for POT's plan cannot be worse than POT's"
    found = srgw_barycenter(p["C"], K, h=p["h"], loss=loss, plan=log["T"][0], solver=solver, random_state=0)
    assert found.loss <= start.loss
    # The loss is the one of the given target, wherever that has no zeros.
    used = found.weights > 0
    target = found.target[np.ix_(used, used)]
    again = srgw(p["C"], target, h=p["h"], loss=loss, plan=found.plan[:, used], max_iter=0)
    assert again.loss == pytest.approx(found.loss, rel=1e-9)


def test_barycenter_of_several_matches_pot_given_the_plans():
    """Given plans, the target and the features are those of POT's closed forms."""
    p, q = problem(1, True), problem(2, True)
    shares = [0.3, 0.7]
    labels = [np.arange(N) % K, (np.arange(N) * 7) % K]
    plans = [np.eye(K)[lab] / N for lab in labels]
    target = ot.gromov._utils.update_barycenter_structure(
        plans, [p["C"], q["C"]], shares, target=True, loss_fun="square_loss"
    )
    features = ot.gromov._utils.update_barycenter_feature(plans, [p["X"], q["X"]], shares, target=True)
    found = srgw_barycenter(
        [p["C"], q["C"]], K, plan=labels, features=[p["X"], q["X"]], alpha=0.5, input_weights=shares, max_iter=0
    )
    np.testing.assert_allclose(found.target, target, rtol=1e-10)
    np.testing.assert_allclose(found.features, features, rtol=1e-10)
    assert found.stop_reason == "max_rounds" and len(found.plan) == 2
