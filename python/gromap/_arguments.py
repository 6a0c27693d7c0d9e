"""What users hand in, as the bindings take it: contiguous arrays of known types, counts, seeds, threads.

Nothing is copied that is already contiguous and of a type the core reads.
"""

from __future__ import annotations

import os
from numbers import Integral

import joblib
import numpy as np
import scipy.sparse as sp

_MOST_THREADS = 64


class Input:
    """A similarity and what comes with it, as the bindings read them."""

    def __init__(self, similarity, weights=None, features=None, plan=None):
        self.similarity = similarity_of(similarity)
        self.weights = None if weights is None else vector(weights, "h", np.float64)
        self.features = None if features is None else samples(features, "features")
        self.plan = None if plan is None else plan_of(plan)


class Settings:
    """Solver, stopping rule and seed, as the bindings read them."""

    def __init__(self, solver, epsilon, max_iter, rel_tol, abs_tol, random_state):
        self.solver = solver
        self.epsilon = None if epsilon is None else float(epsilon)
        self.max_iter = count(max_iter)
        self.rel_tol = float(rel_tol)
        self.abs_tol = float(abs_tol)
        self.seed = seed(random_state)


class Rule:
    """What prototypes weigh, as the bindings read it."""

    def __init__(self, prototype_weights="learned", min_weight=None, max_weight=None):
        word = isinstance(prototype_weights, str)
        self.prototype_weights = (
            prototype_weights if word else vector(prototype_weights, "prototype_weights", np.float64)
        )
        self.min_weight = None if min_weight is None else float(min_weight)
        self.max_weight = None if max_weight is None else float(max_weight)


def has_views(X, precomputed):
    """Whether these are several views: a list of matrices, or a tuple, which as a similarity would be its factors."""
    if not isinstance(X, list) and (precomputed is not None or not isinstance(X, tuple)):
        return False
    if len(X) == 0:
        raise ValueError("X is empty: give samples, or a list of at least one view")
    return all(len(getattr(view, "shape", ())) == 2 for view in X)


def similarity_of(C):
    if isinstance(C, tuple):
        if len(C) not in (1, 2):
            raise ValueError(f"a low-rank similarity is (A,) or (A, B), not a tuple of {len(C)}")
        factors = [samples(factor, "factor") for factor in C]
        if len({factor.dtype for factor in factors}) > 1:
            factors = [factor.astype(np.float64) for factor in factors]
        return tuple(factors)
    if sp.issparse(C):
        if C.shape[0] != C.shape[1]:
            raise ValueError(f"C must be square, not {C.shape[0]} x {C.shape[1]}")
        rows = C.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), floating(rows.data, "C")[None]
    return samples(C, "C")


def refuse_anndata(X):
    """An AnnData holds many arrays; which one is meant, nobody can guess."""
    if type(X).__module__.partition(".")[0] == "anndata":
        raise TypeError(
            "X is an AnnData; for metacells use gromap.sc.tl.metacells(adata), for anything else one of its arrays, such as "
            "adata.obsm['X_pca']"
        )


def plan_of(plan, name="plan"):
    if sp.issparse(plan):
        plan = plan.toarray()
    plan = np.asarray(plan)
    if plan.ndim == 1:
        if not np.issubdtype(plan.dtype, np.integer) or plan.min(initial=0) < 0:
            raise ValueError(f"{name} given as labels must hold integers from 0")
        return plan.astype(np.uint32)
    return matrix(plan, name, np.float64)


def floating(array, name):
    """f32 and f64 stay as they are, other numbers become f64."""
    array = np.asarray(array)
    if array.dtype in (np.float32, np.float64):
        return np.ascontiguousarray(array)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, not {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def samples(array, name):
    array = floating(array, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, not {array.ndim}")
    return array


def matrix(array, name, dtype):
    return samples(array, name).astype(dtype, copy=False)


def vector(array, name, dtype):
    array = floating(array, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    return array.astype(dtype, copy=False)


def count(value):
    whole = int(value)
    if whole != value or whole < 0:
        raise ValueError(f"{value} is not a whole number from 0")
    return whole


def seed(random_state):
    """A seed of the core. None draws a fresh one and leaves numpy's global generator alone."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, Integral) and 0 <= random_state < 2**64:
        return int(random_state)
    raise ValueError(f"{random_state!r} cannot be used to seed; give an int from 0, a Generator, a RandomState or None")


def threads(n_jobs):
    """Threads for ``n_jobs``, counted as joblib does; None is what this process may use.

    joblib tells its workers their share of the cores by ``OMP_NUM_THREADS``: a search with several jobs does not
    start more threads than there are cores.
    """
    cores = joblib.cpu_count()
    if n_jobs is None:
        share = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(share)) if share.isdecimal() and int(share) > 0 else cores
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs == {n_jobs!r}, must be a positive or negative int, or None")
    # More threads than this would only wait for each other, and the result does not depend on them.
    most = max(cores, _MOST_THREADS)
    return min(int(n_jobs), most) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def csr(parts, columns):
    """Compressed rows of the core as scipy's."""
    values, indices, offsets = parts
    return sp.csr_array((values, indices, offsets), shape=(len(offsets) - 1, columns))


def labels_of(plan):
    """The column that takes most of each row."""
    return np.asarray(plan.argmax(axis=1)).ravel()


def same(a, b):
    """Whether two parameters are equal; arrays are never equal to a default."""
    return np.ndim(a) == np.ndim(b) == 0 and a == b


def together(samples):
    """The features of all views side by side, as those of prototypes are."""
    return np.hstack(samples) if isinstance(samples, list) else samples
