"""Input similarities: each a recipe whose ``fit(X)`` gives what :func:`gromap.srgw` takes.

A recipe returns an ndarray (dense), a scipy CSR array (sparse) or a tuple of factors (low rank), in the form the
method works with. Anything it could not do as well as asked is a ``UserWarning``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.special import ive

from gromap import _arguments as given
from gromap import _core

__all__ = [
    "Entropic",
    "FuzzySet",
    "Geodesic",
    "HeatKernel",
    "Kernel",
    "Linear",
    "NormalizedGraph",
    "SquaredDistance",
    "SymmetricEntropic",
    "nearest_neighbors",
]


class _Affinity:
    _kind: str

    def fit(self, X):
        """Similarity of the rows of X.

        Parameters
        ----------
        X : ndarray of shape (N, p)

        Returns
        -------
        ndarray, scipy.sparse.csr_array or tuple of factors
            What :func:`gromap.srgw` takes, and :class:`gromap.GromovDR` with ``precomputed="similarity"``.
        """
        found = _core.affinity(given.samples(X, "X"), self, given.seed(getattr(self, "random_state", 0)))
        for message in found["warnings"]:
            warnings.warn(message, stacklevel=2)
        return _similarity(found["similarity"])


def _similarity(found):
    if isinstance(found, list):
        return given.csr(found, len(found[2]) - 1)
    return found


@dataclass
class Linear(_Affinity):
    """X_c X_c^T of the centred samples (PCA), as a factor.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.affinity import Linear
    >>> (A,) = Linear().fit(np.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> (A @ A.T).tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """

    _kind = "linear"


@dataclass
class SquaredDistance(_Affinity):
    """-H E H of the squared distances (MDS), as a factor; twice the Gram matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.affinity import SquaredDistance
    >>> (A,) = SquaredDistance().fit(np.array([[0.0], [2.0]]))
    >>> (A @ A.T).round(12).tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """

    _kind = "squared_distance"


@dataclass
class Kernel(_Affinity):
    """A centred kernel (kernel PCA): exact and dense, or low rank by landmarks (Nystroem).

    Parameters
    ----------
    kernel : {"rbf", "poly", "sigmoid", "laplacian", "cosine"}
        As scikit-learn defines them.
    gamma : float, optional
        Unless given, 1 over the median distance for "rbf" and "laplacian", 1 / p for the others.
    coef0 : float
    degree : int
    landmarks : int, optional
        How many samples stand for all; None is exact, an N x N matrix.
    random_state : int
        Which samples they are.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.affinity import Kernel
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> Kernel().fit(X).shape, Kernel(landmarks=3).fit(X)[0].shape[0]
    ((6, 6), 6)
    """

    _kind = "kernel"
    kernel: str = "rbf"
    gamma: float | None = None
    coef0: float = 1.0
    degree: int = 3
    landmarks: int | None = None
    random_state: int = 0


@dataclass
class Geodesic(_Affinity):
    """-H E H of squared distances along the neighbour graph (Isomap).

    Parameters
    ----------
    neighbors : int
        Other samples that each is joined with, as scikit-learn's Isomap counts.
    metric : {"euclidean", "sqeuclidean", "cosine", "manhattan"}
        The length of an edge.
    landmarks : int, optional
        How many samples paths are sought from; None is exact, an N x N matrix.
    random_state : int
        Which samples they are.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.affinity import Geodesic
    >>> angles = np.linspace(0, 6, 50)
    >>> Geodesic(neighbors=2).fit(np.c_[np.cos(angles), np.sin(angles)]).shape
    (50, 50)
    """

    _kind = "geodesic"
    neighbors: int = 5
    metric: str = "euclidean"
    landmarks: int | None = None
    random_state: int = 0


@dataclass
class NormalizedGraph(_Affinity):
    """I plus the normalised neighbour graph (Laplacian eigenmaps).

    Parameters
    ----------
    neighbors : int, optional
        A sample counts among its own; N / 10 unless given, as in scikit-learn.
    metric : {"euclidean", "sqeuclidean", "cosine", "manhattan"}

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.affinity import NormalizedGraph
    >>> C = NormalizedGraph(neighbors=3).fit(np.arange(10.0)[:, None])
    >>> C.diagonal().tolist() == [1.0] * 10
    True
    """

    _kind = "normalized_graph"
    neighbors: int | None = None
    metric: str = "euclidean"


@dataclass
class FuzzySet(_Affinity):
    """UMAP's fuzzy simplicial set.

    Parameters
    ----------
    neighbors : int, optional
        A sample counts among its own, as in umap-learn; the perplexity, at least 15, unless given.
    metric : {"euclidean", "sqeuclidean", "cosine", "manhattan"}
    perplexity : float, optional
        Rows add up to its logarithm to base 2; as many as the neighbours unless given, as in umap-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.affinity import FuzzySet
    >>> C = FuzzySet(neighbors=4).fit(np.arange(20.0)[:, None])
    >>> C.shape, bool(0 < C.data.min() and C.data.max() <= 1)
    ((20, 20), True)
    """

    _kind = "fuzzy_set"
    neighbors: int | None = None
    metric: str = "euclidean"
    perplexity: float | None = None


@dataclass
class Entropic(_Affinity):
    """Rows of a given perplexity (SNE), or their symmetric mean (t-SNE).

    Parameters
    ----------
    perplexity : float
        Effective number of neighbours.
    neighbors : int, optional
        Neighbours looked at; three times the perplexity unless given.
    metric : {"sqeuclidean", "euclidean", "cosine", "manhattan"}
        What the exponentials are taken of.
    symmetric : bool
        Whether to give the joint affinity (P + P^T) / 2N of sum 1, or the rows of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.affinity import Entropic
    >>> P = Entropic(perplexity=3, symmetric=False).fit(np.arange(20.0)[:, None])
    >>> bool(np.allclose(P.sum(axis=1), 1))
    True
    """

    _kind = "entropic"
    perplexity: float = 30.0
    neighbors: int | None = None
    metric: str = "sqeuclidean"
    symmetric: bool = True


@dataclass
class SymmetricEntropic(_Affinity):
    """Symmetric, every row of sum one and of a given perplexity (SNEkhorn).

    After ``fit``: ``row_sum_error_``, ``entropy_error_`` and ``gap_`` say how well the optimality conditions hold,
    ``inactive_`` how many rows are above the perplexity, ``steps_`` and ``passes_`` what it took; ``temperatures_``
    and ``multipliers_`` are the dual solution.

    Parameters
    ----------
    perplexity : float
        Effective number of neighbours.
    neighbors : int, optional
        Neighbours looked at; three times the perplexity unless given.
    metric : {"sqeuclidean", "euclidean", "cosine", "manhattan"}
        The cost of a pair.
    tol : float
        The largest error of a row sum or an entropy.
    max_iter : int
        Newton steps at most.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.affinity import SymmetricEntropic
    >>> recipe = SymmetricEntropic(perplexity=4)
    >>> P = recipe.fit(np.random.default_rng(0).normal(size=(40, 2)))
    >>> recipe.converged_, bool(np.allclose(P.sum(axis=1), 1, atol=1e-3)), bool(abs(P - P.T).max() < 1e-6)
    (True, True, True)
    """

    _kind = "symmetric_entropic"
    perplexity: float = 30.0
    neighbors: int | None = None
    metric: str = "sqeuclidean"
    tol: float = 1e-3
    max_iter: int = 200
    converged_: bool = field(default=False, init=False, repr=False)

    def fit(self, X):
        """Similarity of the rows of X.

        Parameters
        ----------
        X : ndarray of shape (N, p)

        Returns
        -------
        scipy.sparse.csr_array
        """
        found = _core.symmetric_entropic(given.samples(X, "X"), self)
        similarity = found.pop("similarity")
        for name, value in found.items():
            setattr(self, f"{name}_", value)
        if not self.converged_:
            residual = max(self.row_sum_error_, self.entropy_error_, self.gap_)
            why = "; no similarity on these pairs has rows of sum one" if self.is_infeasible_ else ""
            warnings.warn(
                "the symmetric entropic affinity is not exact: "
                f"residual {residual:.1e} after {self.steps_} Newton steps, in {len(self.unsolved_)} rows (unsolved_){why}",
                stacklevel=2,
            )
        return _similarity(similarity)


@dataclass
class HeatKernel:
    """exp(-t L) of a graph, L its normalised Laplacian: how much heat of one node is at another after a time t.

    Rows are found some at a time, by products with the sparse graph (Chebyshev polynomials), and of each only the largest
    entries are kept: no N x N matrix is made. With all entries kept the kernel is positive definite.

    Parameters
    ----------
    t : float
        The time: the longer, the farther heat goes.
    entries : int
        Entries kept of every row, at most; an entry that one of its two rows keeps is kept.
    tolerance : float
        Error of an entry before anything is left out.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from gromap.affinity import HeatKernel
    >>> ring = sp.csr_array(np.roll(np.eye(8), 1, axis=1))
    >>> C = HeatKernel(t=1.0).fit(ring + ring.T)
    >>> bool(abs(C.sum(axis=1) - 1).max() < 1e-6), bool(C[0, 0] > C[0, 1] > C[0, 2])
    (True, True)
    """

    t: float = 3.0
    entries: int = 200
    tolerance: float = 1e-8

    _BLOCK = 256

    def fit(self, graph):
        """Heat kernel of a graph.

        Parameters
        ----------
        graph : scipy sparse matrix or ndarray of shape (N, N)
            Weights of edges, not negative; (A + A^T) / 2 counts, and loops do not.

        Returns
        -------
        scipy.sparse.csr_array
            What :func:`gromap.srgw` takes, and :class:`gromap.GromovDR` with ``precomputed="similarity"``.
        """
        if not (np.isfinite(self.t) and self.t > 0):
            raise ValueError(f"t is {self.t}; it must be positive and finite")
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance is {self.tolerance}; it must be between 0 and 1")
        if given.count(self.entries) < 1:
            raise ValueError(f"entries is {self.entries}; it must be at least 1")
        walk = _normalised(graph)
        # exp(-tL) = exp(-t) exp(tW) = sum of c_k T_k(W), c_k = (2 - [k = 0]) I_k(t) exp(-t): ive is I_k(t) exp(-t).
        terms = 1
        while terms < 10 or ive(terms, self.t) > self.tolerance / 4:
            terms += max(1, terms // 8)
        factors = 2 * ive(np.arange(terms + 1), self.t)
        factors[0] /= 2
        nodes = walk.shape[0]
        rows = [
            self._largest(_chebyshev(walk, factors, range(start, min(start + self._BLOCK, nodes))))
            for start in range(0, nodes, self._BLOCK)
        ]
        kept = sp.vstack(rows, format="csr")
        return sp.csr_array(kept.maximum(kept.T))

    def _largest(self, rows):
        """The largest entries of some rows; what the polynomial leaves below zero is none."""
        if self.entries < rows.shape[1]:
            bounds = np.partition(rows, -self.entries, axis=1)[:, -self.entries, None]
            rows = np.where(rows >= bounds, rows, 0.0)
        return sp.csr_array(np.maximum(rows, 0.0))


def _normalised(graph):
    """D^(-1/2) A D^(-1/2) of the undirected graph without loops; nodes without edges stay by themselves."""
    A = sp.csr_array(graph, dtype=np.float64)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"a graph must be square, not {A.shape[0]} x {A.shape[1]}")
    if not np.isfinite(A.data).all() or (A.data < 0).any():
        raise ValueError("weights of edges must be finite and not negative")
    A = sp.csr_array((A + A.T) / 2)
    A.setdiag(0)
    A.eliminate_zeros()
    degrees = A.sum(axis=1)
    alone = degrees == 0
    roots = 1 / np.sqrt(np.where(alone, 1.0, degrees))
    # Heat stays in a node without edges.
    return sp.csr_array(sp.diags_array(roots) @ A @ sp.diags_array(roots) + sp.diags_array(alone.astype(float)))


def _chebyshev(walk, factors, nodes):
    """Rows `nodes` of the sum of factors times the Chebyshev polynomials of a symmetric matrix."""
    before = np.zeros((walk.shape[0], len(nodes)))
    before[nodes, np.arange(len(nodes))] = 1
    now = walk @ before
    total = factors[0] * before + factors[1] * now
    for factor in factors[2:]:
        before, now = now, 2 * (walk @ now) - before
        total += factor * now
    return np.ascontiguousarray(total.T)


def nearest_neighbors(X, k, metric="sqeuclidean", search="auto", random_state=0):
    """The k nearest other samples of every sample.

    Parameters
    ----------
    X : ndarray of shape (N, p)
        Samples; single precision is what distances are searched in.
    k : int
        Neighbours of each, less than N.
    metric : {'sqeuclidean', 'euclidean', 'cosine', 'manhattan'}
    search : {'auto', 'exact', 'descent'}
        Exact, approximate, or by the number of samples.
    random_state : int
        Seed of the approximate search.

    Returns
    -------
    indices, distances : ndarrays of shape (N, k), of 32-bit numbers
        Nearest first, ties by index.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.affinity import nearest_neighbors
    >>> indices, distances = nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> indices.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 4.0])
    """
    return _core.neighbors(given.samples(X, "X"), int(k), metric, search, given.seed(random_state))
