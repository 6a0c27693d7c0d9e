"""What the functions promise beside parity: types, errors, certificates, determinism."""

import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from gromap import srgw, srgw_barycenter

RNG = np.random.default_rng(0)
A = RNG.random((30, 4))
C = A @ A.T
TARGET = np.eye(3) + 0.1


@pytest.mark.parametrize("solver", ["vertex", "cg", "mirror"])
@pytest.mark.parametrize("loss", ["square", "kl"])
def test_the_loss_curve_never_rises(solver, loss):
    result = srgw(C, TARGET, loss=loss, solver=solver, random_state=3)
    assert np.all(np.diff(result.loss_curve) <= 0)
    assert result.loss == pytest.approx(result.loss_curve[-1], rel=1e-12)
    assert result.plan.shape == (30, 3)


def test_binary_cross_entropy():
    scaled = C / (C.max() * 1.01)
    result = srgw_barycenter(scaled, 3, loss="bce", random_state=0)
    assert result.loss >= 0 and np.all((result.target >= 0) & (result.target <= 1))
    fixed = srgw(scaled, np.full((3, 3), 0.2) + 0.5 * np.eye(3), loss="bce", solver="cg", random_state=0)
    assert np.all(np.diff(fixed.loss_curve) <= 0)


def test_single_precision_is_near_double():
    double = srgw_barycenter(C, 3, random_state=0)
    single = srgw_barycenter(C.astype(np.float32), 3, random_state=0)
    np.testing.assert_array_equal(double.labels, single.labels)
    assert single.loss == pytest.approx(double.loss, rel=1e-5)


def test_a_gram_matrix_has_a_certificate_and_a_hard_answer():
    for seed in range(5):
        result = srgw_barycenter((A,), 4, random_state=seed)
        assert result.certificate == "psd" and result.hardness == 1.0
    assert srgw_barycenter(C, 4, random_state=0).certificate is None
    assert srgw_barycenter((A,), 4, loss="kl", random_state=0).certificate is None


def test_the_seed_decides_and_nothing_else():
    first, second = (srgw_barycenter(C, 5, random_state=4) for _ in range(2))
    assert first.loss == second.loss
    np.testing.assert_array_equal(first.labels, second.labels)
    state = np.random.get_state()[1].copy()
    srgw_barycenter(C, 5)
    np.testing.assert_array_equal(state, np.random.get_state()[1])


def test_fused_barycenter_with_no_structure_is_k_means():
    """alpha = 0 leaves the within-group variance of the features, as k-means has it."""
    X = np.concatenate([RNG.normal(0, 0.1, (15, 2)), RNG.normal(3, 0.1, (15, 2))])
    result = srgw_barycenter(C, 2, features=X, alpha=0.0, random_state=0)
    expected = sum(((X[part] - X[part].mean(0)) ** 2).sum() for part in (slice(15), slice(15, 30))) / 30
    assert result.loss == pytest.approx(expected, rel=1e-9)
    assert set(result.labels[:15]) != set(result.labels[15:])


def test_inputs_of_different_sizes_share_a_target():
    result = srgw_barycenter([C, C[:20, :20]], 3, random_state=0)
    assert [p.shape for p in result.plan] == [(30, 3), (20, 3)]
    assert len(result.labels) == 2 and result.target.shape == (3, 3)


def test_arguments_are_not_edited():
    messy = sp.csr_array((np.array([1.0, 2.0, 1.0, 3.0]), np.array([1, 0, 1, 0]), np.array([0, 2, 4])), shape=(2, 2))
    before = messy.indices.copy()
    srgw_barycenter(messy, 1)
    np.testing.assert_array_equal(before, messy.indices)


BAD = {
    "square C": (lambda: srgw(C[:, :5], TARGET), "columns of a similarity: expected 30, found 5"),
    "square target": (lambda: srgw(C, TARGET[:2]), "columns of the target"),
    "NaN names the entry": (lambda: srgw(np.where(np.eye(30) * (np.arange(30) == 4), np.nan, C), TARGET), r"\[4, 4\]"),
    "negative weight": (lambda: srgw(C, TARGET, h=np.r_[np.ones(29), -1]), r"sample_weights\[29\] is -1"),
    "zero weights": (lambda: srgw(C, TARGET, h=np.zeros(30)), "sum to zero"),
    "number of weights": (lambda: srgw(C, TARGET, h=np.ones(29)), "expected 30, found 29"),
    "KL and negative entries": (lambda: srgw(C - 1.0, TARGET, loss="kl"), r"kl loss needs similarity .*\[\d+, \d+\]"),
    "KL and a factor with signs": (lambda: srgw((A - 0.5,), TARGET, loss="kl"), "only known to lie in"),
    "KL and a zero target": (lambda: srgw(C, np.eye(3), loss="kl"), r"target\[0, 1\] is 0"),
    "BCE above one": (lambda: srgw(C * 9, TARGET, loss="bce"), "bce loss needs"),
    "no prototype": (lambda: srgw_barycenter(C, 0), "n_prototypes is 0; it must be from 1 to 30"),
    "more prototypes than samples": (lambda: srgw_barycenter(C, 31), "n_prototypes is 31"),
    "unknown loss": (lambda: srgw(C, TARGET, loss="cosine"), "one of square, kl, bce"),
    "unknown solver": (lambda: srgw(C, TARGET, solver="adam"), "one of vertex, cg, mirror"),
    "epsilon without mirror": (lambda: srgw(C, TARGET, epsilon=0.1), "mirror"),
    "epsilon of zero": (lambda: srgw(C, TARGET, solver="mirror", epsilon=0.0), "epsilon is 0"),
    "alpha without features": (lambda: srgw(C, TARGET, alpha=0.5), "no features"),
    "alpha out of range": (lambda: srgw(C, TARGET, features=(A, A[:3]), alpha=1.5), "alpha is 1.5"),
    "features that do not fit": (lambda: srgw(C, TARGET, features=(A[:5], A[:3]), alpha=0.5), "rows of the features"),
    "one feature matrix": (lambda: srgw(C, TARGET, features=A, alpha=0.5), "tuple"),
    "plan of another size": (lambda: srgw(C, TARGET, plan=np.full((30, 2), 1 / 60)), "columns of the starting plan"),
    "plan with wrong sums": (lambda: srgw(C, TARGET, plan=np.full((30, 3), 1.0)), "plan row 0 sums to 3"),
    "labels out of range": (lambda: srgw(C, TARGET, plan=np.full(30, 3)), "label is 3"),
    "float labels": (lambda: srgw(C, TARGET, plan=np.zeros(30)), "integers"),
    "text": (lambda: srgw(np.array([["a"]]), TARGET), "real numbers"),
    "vector": (lambda: srgw(np.ones(3), TARGET), "two dimensions"),
    "lists of different lengths": (lambda: srgw_barycenter([C, C], 2, h=[None]), "1 entries for 2"),
    "no similarity": (lambda: srgw_barycenter([], 2), "number of inputs is 0"),
    "three factors": (lambda: srgw((A, A, A), TARGET), "tuple of 3"),
    "negative tolerance": (lambda: srgw(C, TARGET, tol=-1.0), "tolerance is -1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_ctrl_c_is_heard_and_the_gil_is_free():
    """A long solve lets other threads run, and an interrupt through."""
    # What runs in the background of a shell is started deaf to it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    big = RNG.random((1500, 30))
    ticks = []

    def interrupt():
        for _ in range(5):
            ticks.append(time.perf_counter())
            time.sleep(0.02)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            srgw((big,), np.eye(60), solver="mirror", epsilon=1e-3, tol=0.0, max_iter=100_000, random_state=0)
    thread.join()
    assert len(ticks) == 5
