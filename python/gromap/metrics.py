"""How good a result is: labels against labels, labels against points, points against points, and groups by themselves.

Names and definitions are those of scikit-learn wherever it has one. Labels may be anything that can be compared or
hashed: numbers, strings, objects.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

from gromap import _arguments as given
from gromap import _core
from gromap._group_scores import (
    compactness,
    correlation_error,
    diffusion_components,
    inner_normalized_variance,
    label_agreement,
    numbered,
    purity,
    separation,
    size_balance,
)

__all__ = [
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "compactness",
    "completeness_score",
    "correlation_error",
    "diffusion_components",
    "homogeneity_score",
    "inner_normalized_variance",
    "label_agreement",
    "neighborhood_preservation",
    "normalized_mutual_info_score",
    "purity",
    "separation",
    "silhouette_score",
    "size_balance",
    "spectrum_error",
    "trustworthiness",
    "v_measure_score",
]


def _agreement(labels_true, labels_pred, score):
    truth, found = numbered(labels_true, "labels_true"), numbered(labels_pred, "labels_pred")
    if len(truth) != len(found):
        raise ValueError(f"labels_true and labels_pred must be of equal length, not {len(truth)} and {len(found)}")
    return _core.agreement(truth, found, score)


def adjusted_rand_score(labels_true, labels_pred):
    """The share of pairs of samples on which two labellings agree, adjusted for chance.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (N,)
        Two labels of each sample.

    Returns
    -------
    float
        1 for labellings equal up to names, 0 on average for random ones, negative for worse.

    Examples
    --------
    >>> from gromap.metrics import adjusted_rand_score
    >>> adjusted_rand_score(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    >>> adjusted_rand_score([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    return _agreement(labels_true, labels_pred, "adjusted_rand")


def adjusted_mutual_info_score(labels_true, labels_pred):
    """Mutual information between its mean over random labels (0) and the mean of the two entropies (1).

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (N,)
        Two labels of each sample.

    Returns
    -------
    float
        1 for labellings equal up to names, 0 on average for random ones of the same group sizes.

    Examples
    --------
    >>> from gromap.metrics import adjusted_mutual_info_score
    >>> adjusted_mutual_info_score([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> round(adjusted_mutual_info_score([0, 0, 1, 1], [0, 1, 0, 1]), 3)
    -0.5
    """
    return _agreement(labels_true, labels_pred, "adjusted_mutual_info")


def normalized_mutual_info_score(labels_true, labels_pred):
    """Mutual information over the mean of the two entropies; the same as :func:`v_measure_score`.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (N,)
        Two labels of each sample.

    Returns
    -------
    float
        From 0 to 1; not adjusted for chance.

    Examples
    --------
    >>> from gromap.metrics import normalized_mutual_info_score
    >>> round(normalized_mutual_info_score([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.8
    """
    return _agreement(labels_true, labels_pred, "normalized_mutual_info")


def homogeneity_score(labels_true, labels_pred):
    """Whether each found group holds samples of one true label only.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (N,)
        Two labels of each sample.

    Returns
    -------
    float
        From 0 to 1; grows with the number of groups.

    Examples
    --------
    >>> from gromap.metrics import homogeneity_score
    >>> homogeneity_score([0, 0, 1, 1], [0, 0, 1, 2])
    1.0
    """
    return _agreement(labels_true, labels_pred, "homogeneity")


def completeness_score(labels_true, labels_pred):
    """Whether all samples of a true label are in one found group.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (N,)
        Two labels of each sample.

    Returns
    -------
    float
        From 0 to 1; falls with the number of groups.

    Examples
    --------
    >>> from gromap.metrics import completeness_score
    >>> round(completeness_score([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.667
    """
    return _agreement(labels_true, labels_pred, "completeness")


def v_measure_score(labels_true, labels_pred):
    """The harmonic mean of homogeneity and completeness.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (N,)
        Two labels of each sample.

    Returns
    -------
    float
        From 0 to 1; not adjusted for chance.

    Examples
    --------
    >>> from gromap.metrics import v_measure_score
    >>> round(v_measure_score([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.8
    """
    return _agreement(labels_true, labels_pred, "v_measure")


def silhouette_score(X, labels, sample_weight=None):
    """How far points keep away from those of other labels.

    With a the mean distance of a point to the others of its label and b the smallest mean distance to the points of
    another label, its score is (b - a) / max(a, b), and 0 where it is alone with its label. Means of distances and
    the mean of the scores are weighted by ``sample_weight``; a point does not count among its own companions,
    whatever its weight.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The points, of a map for example.
    labels : array of shape (n,)
        Their labels: at least 2, and fewer than there are points.
    sample_weight : array of shape (n,), optional
        Their weights, on any scale; points of weight 0 are left out. Equal by default.

    Returns
    -------
    float
        From -1 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.metrics import silhouette_score
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [5.0]])
    >>> round(silhouette_score(X, ["a", "a", "b", "b", "b"]), 3)
    0.585
    >>> round(silhouette_score(X, ["a", "a", "b", "b", "b"], sample_weight=[1, 1, 1, 1, 0]), 3)
    0.9
    """
    weights = None if sample_weight is None else given.vector(sample_weight, "sample_weight", np.float64)
    return _core.silhouette(given.matrix(X, "X", np.float64), numbered(labels, "labels"), weights)


def trustworthiness(X, X_embedded, n_neighbors=5):
    """Whether neighbours on the map are neighbours among the samples.

    Every neighbour on the map is charged for how far beyond the ``n_neighbors``-th place it stands among the samples.
    Exact, in little memory: no N x N matrix is kept. Distances are Euclidean, of coordinates in single precision;
    ties go to the smaller index.

    Parameters
    ----------
    X : ndarray of shape (N, p)
        The samples.
    X_embedded : ndarray of shape (N, d)
        Their places on the map.
    n_neighbors : int
        Neighbours of each, fewer than N / 2.

    Returns
    -------
    float
        1 if all neighbours on the map are neighbours among the samples, about 1/2 for a random map.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.metrics import trustworthiness
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0]])
    >>> trustworthiness(X, -X, n_neighbors=1)
    1.0
    >>> round(trustworthiness(X, np.array([[0.0], [1.0], [9.0], [10.0], [12.0]]), n_neighbors=1), 3)
    0.8
    """
    map_ = given.samples(X_embedded, "X_embedded")
    return _core.neighborhood(given.samples(X, "X"), map_, given.count(n_neighbors), "trustworthiness")


def neighborhood_preservation(X, X_embedded, n_neighbors=5):
    """The mean share of a sample's nearest neighbours that are still its nearest on the map.

    Parameters
    ----------
    X : ndarray of shape (N, p)
        The samples.
    X_embedded : ndarray of shape (N, d)
        Their places on the map.
    n_neighbors : int
        Neighbours of each, fewer than N.

    Returns
    -------
    float
        1 if all are kept, about n_neighbors / N for a random map.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.metrics import neighborhood_preservation
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0]])
    >>> neighborhood_preservation(X, np.array([[0.0], [1.0], [9.0], [10.0], [12.0]]), n_neighbors=1)
    0.6
    """
    map_ = given.samples(X_embedded, "X_embedded")
    return _core.neighborhood(given.samples(X, "X"), map_, given.count(n_neighbors), "preservation")


def spectrum_error(graph, labels, eigenvalues=None):
    """How much of the spectrum of a graph is lost where its nodes are merged into groups.

    The mean distance between the leading eigenvalues of D^(-1/2) A D^(-1/2), which are those of the normalised Laplacian
    taken from 1, and the same of the coarse graph, whose edges are the sums of those between groups.

    Parameters
    ----------
    graph : scipy sparse matrix or ndarray of shape (N, N)
        Weights of edges, not negative; (A + A^T) / 2 counts. Nodes without edges do not.
    labels : array of shape (N,)
        The group of every node.
    eigenvalues : int, optional
        How many are compared; as many as groups unless given.

    Returns
    -------
    float
        From 0, where nothing is lost.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.metrics import spectrum_error
    >>> two = np.kron(np.eye(2), np.ones((3, 3)))
    >>> round(spectrum_error(two, [0, 0, 0, 1, 1, 1]), 6), spectrum_error(two, [0, 1, 0, 1, 0, 1]) > 0.4
    (0.0, True)
    """
    A = sp.csr_array(graph, dtype=np.float64)
    A = sp.csr_array((A + A.T) / 2)
    numbers = numbered(labels, "labels")
    if len(numbers) != A.shape[0]:
        raise ValueError(f"labels has {len(numbers)} entries, but the graph has {A.shape[0]} nodes")
    used = np.flatnonzero(A.sum(axis=1))
    A = A[used][:, used]
    numbers = np.unique(numbers[used], return_inverse=True)[1]
    groups = sp.csr_array((np.ones(len(numbers)), (np.arange(len(numbers)), numbers)))
    wanted = groups.shape[1] if eigenvalues is None else min(given.count(eigenvalues), A.shape[0])
    if wanted < 1:
        raise ValueError("there must be at least one eigenvalue to compare")
    before, after = (_leading(matrix, wanted) for matrix in (A, groups.T @ A @ groups))
    return float(np.abs(before - after).mean())


def _leading(A, wanted):
    """The largest eigenvalues of D^(-1/2) A D^(-1/2), descending; 0 where there are no more."""
    roots = sp.diags_array(1 / np.sqrt(A.sum(axis=1)))
    walk = sp.csr_array(roots @ A @ roots)
    if walk.shape[0] <= max(500, 3 * wanted):
        values = scipy.linalg.eigvalsh(walk.toarray())
    else:
        start = np.ones(walk.shape[0])
        values = scipy.sparse.linalg.eigsh(walk, wanted, which="LA", return_eigenvectors=False, v0=start)
    values = np.sort(values)[::-1][:wanted]
    return np.pad(values, (0, wanted - len(values)))
