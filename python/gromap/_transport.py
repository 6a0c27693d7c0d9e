"""srGW and its barycenters: what POT users call, on dense, sparse and low-rank similarities."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from gromap import _arguments as given
from gromap import _core


@dataclass(frozen=True)
class Transport:
    """A plan and how it was reached."""

    plan: sp.csr_array
    """Transport plan, N x n; row i sums to h[i]."""
    weights: np.ndarray
    """Column sums of the plan."""
    loss: float
    """Loss reached."""
    loss_is_complete: bool
    """False if the loss leaves out the part that no plan changes, because it would cost N x N."""
    loss_curve: np.ndarray
    """Loss at the start and after every round, never increasing."""
    stop_reason: str
    """'converged', 'stationary', 'max_rounds' or 'interrupted'."""
    hardness: float
    """Share of the sample mass in rows with a single entry."""

    @property
    def labels(self) -> np.ndarray:
        """The prototype that takes most of each sample."""
        return given.labels_of(self.plan)


@dataclass(frozen=True)
class Barycenter:
    """A learnt target, the plans to it, and how they were reached.

    ``plan``, ``weights`` and ``labels`` are lists when the input was a list of similarities.
    """

    target: np.ndarray
    """Similarities between the prototypes, n x n."""
    features: np.ndarray | None
    """Features of the prototypes, n x p, if features were given."""
    plan: Any
    weights: Any
    loss: float
    loss_is_complete: bool
    loss_curve: np.ndarray
    stop_reason: str
    hardness: float
    certificate: str | None
    """'psd', 'nsd' or 'squared_euclidean' if a hard optimum is known to exist, and why."""

    @property
    def labels(self) -> Any:
        """The prototype that takes most of each sample."""
        return [given.labels_of(p) for p in self.plan] if isinstance(self.plan, list) else given.labels_of(self.plan)


def srgw(
    C,
    Cbar,
    h=None,
    loss="square",
    plan=None,
    features=None,
    alpha=1.0,
    solver="vertex",
    epsilon=None,
    max_iter=1000,
    tol=1e-9,
    random_state=None,
    prototype_weights="learned",
    min_weight=None,
    max_weight=None,
):
    """Semi-relaxed Gromov-Wasserstein transport from N samples to the n prototypes of a target.

    Minimises over plans T with row sums h::

        alpha * sum_ijkl L(C[i,j], Cbar[k,l]) T[i,k] T[j,l] + (1 - alpha) * sum_ik |x_i - f_k|^2 T[i,k]

    Parameters
    ----------
    C : ndarray, scipy sparse, or tuple
        Similarity of the samples: N x N, or a low-rank factor ``(A,)`` for A @ A.T or ``(A, B)``
        for A @ B.T.
    Cbar : ndarray of shape (n, n)
        The target.
    h : array of shape (N,), optional
        Sample weights, scaled to sum 1; uniform by default.
    loss : {'square', 'kl', 'bce'}
        How similarities are compared.
    plan : array, optional
        Where to start: N labels, or an N x n plan, dense or sparse. Random by default.
    features : tuple (X, F), optional
        Features of the samples, N x p, and of the prototypes, n x p, for ``alpha < 1``.
    alpha : float
        Weight of the structure against the features.
    solver : {'vertex', 'cg', 'mirror'}
        Exact moves of single samples, conditional gradient, or mirror descent.
    epsilon : float, optional
        Inverse step size of ``solver='mirror'``.
    max_iter : int
        Rounds at most.
    tol : float
        Stop when a round changes the loss by no more than this, absolutely or relatively.
    random_state : int, numpy Generator or RandomState, optional
        Seed of the start and of the order of visits.
    prototype_weights : {'learned', 'uniform'} or array of shape (n,)
        What prototypes weigh: what suits them, 1/n each, or these shares of the whole. With other than learned weights this
        is Gromov-Wasserstein transport with both marginals fixed, solved by conditional gradient (``solver='vertex'`` too:
        single samples cannot move when weights must not change); rows of the plan may be split.
    min_weight, max_weight : float, optional
        What every prototype weighs at least and at most, as shares of the whole, where weights are learned.

    Returns
    -------
    Transport

    Examples
    --------
    >>> import numpy as np
    >>> from gromap import srgw
    >>> A = np.array([[1.0, 0.0], [1.1, 0.0], [0.0, 0.9], [0.0, 1.0]])
    >>> result = srgw((A,), np.eye(2), random_state=0)
    >>> bool(result.labels[0] == result.labels[1] != result.labels[2] == result.labels[3])
    True
    """
    X, F = _pair(features)
    target = given.matrix(Cbar, "Cbar", np.float64)
    prototypes = None if F is None else given.matrix(F, "features[1]", np.float64)
    settings = given.Settings(solver, epsilon, max_iter, tol, tol, random_state)
    rule = given.Rule(prototype_weights, min_weight, max_weight)
    found = _core.srgw(given.Input(C, h, X, plan), target, prototypes, loss, _alpha(alpha, features), rule, settings)
    return _result(Transport, {**found, "plan": given.csr(found["plan"], target.shape[0])})


def srgw_barycenter(
    C,
    n,
    h=None,
    loss="square",
    plan=None,
    features=None,
    alpha=1.0,
    input_weights=None,
    solver="vertex",
    epsilon=None,
    max_iter=1000,
    tol=1e-9,
    random_state=None,
    prototype_weights="learned",
    min_weight=None,
    max_weight=None,
):
    """The target of n prototypes closest to one similarity, or to several.

    Parameters
    ----------
    C : ndarray, scipy sparse, tuple, or a list of these
        One similarity as in :func:`srgw`, or a list of them; then ``h``, ``plan`` and ``features``
        are lists too.
    n : int
        Number of prototypes.
    features : ndarray of shape (N, p), optional
        Features of the samples, for ``alpha < 1``; those of the prototypes are learnt.
    input_weights : array, optional
        How much each input of a list counts; equal by default.
    h, loss, plan, alpha, solver, epsilon, max_iter, tol, random_state
        As in :func:`srgw`.
    prototype_weights, min_weight, max_weight
        As in :func:`srgw`; they hold for every input.

    Returns
    -------
    Barycenter

    Examples
    --------
    >>> import numpy as np
    >>> from gromap import srgw_barycenter
    >>> A = np.array([[1.0, 0.0], [1.1, 0.0], [0.0, 0.9], [0.0, 1.0]])
    >>> result = srgw_barycenter((A,), 2, random_state=0)
    >>> result.hardness, result.certificate
    (1.0, 'psd')
    """
    several = isinstance(C, list)
    if not several:
        C, h, plan, features = [C], [h], [plan], [features]
    parts = {"h": h, "plan": plan, "features": features}
    lists = {name: [None] * len(C) if value is None else value for name, value in parts.items()}
    for name, value in {**lists, "input_weights": C if input_weights is None else input_weights}.items():
        if len(value) != len(C):
            raise ValueError(f"{name} has {len(value)} entries for {len(C)} similarities")
    inputs = [given.Input(*part) for part in zip(C, lists["h"], lists["features"], lists["plan"], strict=True)]
    shares = [1.0] * len(C) if input_weights is None else [float(w) for w in input_weights]
    settings = given.Settings(solver, epsilon, max_iter, tol, tol, random_state)
    rule = given.Rule(prototype_weights, min_weight, max_weight)
    alpha = _alpha(alpha, lists["features"][:1])
    found = _core.srgw_barycenter(inputs, shares, given.count(n), loss, alpha, rule, settings)
    plans = [given.csr(p, n) for p in found.pop("plans")]
    weights = found.pop("weights")
    if not several:
        plans, weights = plans[0], weights[0]
    return _result(Barycenter, {**found, "plan": plans, "weights": weights})


@dataclass(frozen=True)
class BalancedTransport:
    """An optimal plan between two sets of weights."""

    plan: sp.csr_array
    """Transport plan, N x n; row i sums to a[i], column k to b[k], both scaled to sum 1."""
    cost: float
    """Sum of cost times plan, without entropy."""
    stop_reason: str
    """'converged', or 'max_rounds' for an entropic plan whose column sums are not within tol."""
    hardness: float
    """Share of the sample mass in rows with a single entry."""

    @property
    def labels(self) -> np.ndarray:
        """The point that takes most of each sample."""
        return given.labels_of(self.plan)


def balanced_transport(C, a=None, b=None, epsilon=None, max_iter=10_000, tol=1e-9):
    """Optimal transport from N samples to n points, both with given weights: exact, or with entropy.

    Made for many samples and few points; costs between features are computed as they are needed and never held
    as an N x n array.

    Parameters
    ----------
    C : ndarray of shape (N, n), or tuple (X, F)
        Costs, which may be negative, or features of the samples, N x p, and of the points, n x p, whose squared distances they are.
    a, b : array of shape (N,) and (n,), optional
        Weights of samples and points, which must sum alike and are scaled to sum 1; uniform by default.
    epsilon : float, optional
        Adds epsilon * sum T (log T - 1) to the cost, which Sinkhorn's algorithm minimises in the log domain. Without it
        the plan is exact.
    max_iter, tol : int, float
        With ``epsilon``: passes at most, and how far, all together, column sums may be from b.

    Returns
    -------
    BalancedTransport

    Examples
    --------
    >>> import numpy as np
    >>> from gromap import balanced_transport
    >>> found = balanced_transport((np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [2.0]])))
    >>> round(found.cost, 6), found.plan.nnz  # the sample in the middle is split
    (0.333333, 4)
    """
    costs = (given.samples(C[0], "X"), given.matrix(C[1], "F", np.float64)) if _is_pair(C) else given.samples(C, "C")
    rows, columns = (len(costs[0]), len(costs[1])) if isinstance(costs, tuple) else costs.shape
    sides = [("a", a, rows), ("b", b, columns)]
    a, b = (np.full(n, 1.0 / n) if w is None else given.vector(w, name, np.float64) for name, w, n in sides)
    for name, weights, n in [("a", a, rows), ("b", b, columns)]:
        if len(weights) != n:
            raise ValueError(f"{name} has {len(weights)} entries, and the costs have {n}")
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ValueError(f"{name} must hold finite weights that are not negative")
    if abs(a.sum() - b.sum()) > 1e-6 * max(a.sum(), b.sum()):
        raise ValueError(f"a sums to {a.sum()} and b to {b.sum()}; all that leaves the samples must reach the points")
    if not isinstance(costs, tuple):
        costs = costs.astype(np.float64, copy=False)
    total = b.sum()
    found = _core.balanced_transport(
        costs, a, b / total if total > 0 else b, None if epsilon is None else float(epsilon), given.count(max_iter), float(tol)
    )
    return _result(BalancedTransport, {**found, "plan": given.csr(found["plan"], columns)})


def _is_pair(C):
    if not isinstance(C, tuple):
        return False
    if len(C) != 2:
        raise ValueError(f"C must be an array of costs or a tuple (X, F), not a tuple of {len(C)}")
    return True


def _result(kind, found):
    """The fields that a result has; the core says more of some than they hold."""
    return kind(**{field.name: found[field.name] for field in fields(kind)})


def _alpha(alpha, features):
    if alpha != 1.0 and (features is None or features[0] is None):
        raise ValueError(f"alpha is {alpha}, but no features were given; without them it must be 1")
    return float(alpha)


def _pair(features):
    if features is None:
        return None, None
    if not isinstance(features, tuple) or len(features) != 2:
        raise ValueError("features must be a tuple (X, F): those of the samples and those of the prototypes")
    return features
