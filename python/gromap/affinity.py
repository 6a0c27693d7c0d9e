"""Input similarities: each a recipe whose ``fit(X)`` gives what :func:`gromap.srgw` takes.

A recipe returns an ndarray (dense), a scipy CSR array (sparse) or a tuple of factors (low rank), in the form the
method works with. Anything it could not do as well as asked is a ``UserWarning``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from gromap import _arguments as given
from gromap import _core

__all__ = [
    "Entropic",
    "FuzzySet",
    "Geodesic",
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
    neighbors : int
        A sample counts among its own, as in umap-learn.
    metric : {"euclidean", "sqeuclidean", "cosine", "manhattan"}

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.affinity import FuzzySet
    >>> C = FuzzySet(neighbors=4).fit(np.arange(20.0)[:, None])
    >>> C.shape, bool(0 < C.data.min() and C.data.max() <= 1)
    ((20, 20), True)
    """

    _kind = "fuzzy_set"
    neighbors: int = 15
    metric: str = "euclidean"


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
