"""How good small groups of like samples are: metacells, prototypes, clusters.

    compactness   mean over components c of Var(c | group)          lower is better
    separation    distance of a group's mean to the nearest other   higher is better
    purity        share of a group's largest class
    INV           a high quantile over columns of Var / mean        about 1 where only counting noise is left

The first two live in diffusion components, as Persad and others (2023) have them; the inner normalised variance is
that of Ben-Kiki and others (2022). All sums over groups are products with one sparse matrix of memberships, so that
no score takes more than a pass over the samples.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree

from gromap import _arguments as given
from gromap import _core

# Beyond this many columns a matrix of all their pairs is no longer small.
_MOST_PAIRED_COLUMNS = 10_000
# Rows that are squared at once.
_BLOCK = 20_000


def numbered(labels, name):
    """Labels as numbers from 0."""
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {labels.ndim}")
    if labels.dtype == object:  # need not have an order
        numbers = {}
        return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.uint32)
    return np.unique(labels, return_inverse=True)[1].astype(np.uint32)


def diffusion_components(X, n_components=9, n_neighbors=30, random_state=0):
    """Places of samples by how random walks between neighbours spread from them.

    A sample is linked to its ``n_neighbors`` nearest by exp(-d / s), s being its distance to the one at a third of them;
    links are added up both ways. The components are right eigenvectors of the walk, of length 1, times l / (1 - l) for
    their eigenvalue l: walks of all lengths at once.

    Parameters
    ----------
    X : ndarray of shape (N, p)
        The samples, principal components for example.
    n_components : int, default=9
        Eigenvectors after the constant one.
    n_neighbors : int, default=30
        Neighbours of each sample.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the search for eigenvectors, and for neighbours of more than 100,000 samples.

    Returns
    -------
    ndarray of shape (N, n_components)
        Of a graph in several pieces these are the components within them, and a further column for each piece tells who
        is of it, at the largest scale of the others, where l / (1 - l) would be infinite; a warning counts them.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.metrics import diffusion_components
    >>> line = np.linspace(0, 1, 60)
    >>> first = diffusion_components(line[:, None], n_components=1, n_neighbors=6)[:, 0]
    >>> bool(abs(np.corrcoef(line, first)[0, 1]) > 0.95)
    True
    """
    X, seed = given.samples(X, "X"), given.seed(random_state)
    n_components, n_neighbors = given.count(n_components), given.count(n_neighbors)
    if n_components < 1:
        raise ValueError("n_components is 0; it must be at least 1")
    if not 1 <= n_neighbors < len(X):
        raise ValueError(f"n_neighbors is {n_neighbors}; it must be from 1 to {len(X) - 1}, one less than the samples")
    links = _links(X, n_neighbors, seed)
    pieces, piece = connected_components(links, directed=False)
    wanted = pieces + n_components
    if wanted >= len(X):
        raise ValueError(f"{len(X)} samples are too few for {n_components} components of {pieces} pieces")
    if pieces > 1:
        warnings.warn(
            f"the graph of {n_neighbors} neighbours is in {pieces} pieces, which have columns of their own; more neighbours "
            "may join them",
            stacklevel=2,
        )
    root = np.sqrt(links.sum(axis=1))
    walk = sp.diags_array(1 / root) @ links @ sp.diags_array(1 / root)
    start = np.random.default_rng(seed).random(len(X))
    values, vectors = _largest(walk, wanted, start)
    values, vectors = values[pieces:], vectors[:, pieces:] / root[:, None]
    scales = values / (1 - values)
    if pieces > 1:
        vectors = np.hstack([vectors, np.eye(pieces)[piece]])
        scales = np.append(scales, np.full(pieces, np.abs(scales).max()))
    return vectors / np.linalg.norm(vectors, axis=0) * scales


def _links(X, n_neighbors, seed):
    """Weights of the links between neighbours, both ways added up."""
    neighbors, distances = _core.neighbors(X, n_neighbors, "euclidean", "auto", seed)
    distances = distances.astype(np.float64)
    # Where that many are copies of a sample, the nearest that is none sets the scale.
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1)
    scale = np.maximum(distances[:, max(n_neighbors // 3, 1) - 1], nearest)
    ratio = distances / scale[:, None]
    offsets = np.arange(0, neighbors.size + 1, n_neighbors)
    links = sp.csr_array((np.exp(-ratio).ravel(), neighbors.ravel().astype(np.int64), offsets), shape=(len(X), len(X)))
    return (links + links.T).tocsr()


def _largest(matrix, count, start):
    """The largest eigenvalues, descending, and their vectors."""
    if matrix.shape[0] < 3 * count:  # Lanczos needs room
        values, vectors = np.linalg.eigh(matrix.toarray())
        return values[: -count - 1 : -1], vectors[:, : -count - 1 : -1]
    values, vectors = eigsh(matrix, count, which="LA", v0=start, tol=1e-6)
    order = np.argsort(-values)
    return values[order], vectors[:, order]


def compactness(components, labels):
    """How tight groups are: the variance of their samples, the mean over components.

    Parameters
    ----------
    components : ndarray of shape (N, d)
        Places of the samples, of :func:`diffusion_components` for example.
    labels : array of shape (N,)
        The group of every sample.

    Returns
    -------
    ndarray of shape (n_groups,)
        Of every group, in the order of the sorted labels; lower is better. NaN for a group of one, which has no variance.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.metrics import compactness
    >>> compactness(np.array([[0.0], [2.0], [5.0], [5.0], [9.0]]), ["a", "a", "b", "b", "c"])
    array([ 2.,  0., nan])
    """
    components, members, sizes = _grouped(components, labels, "components")
    _, within = _moments(components, members, sizes)
    return np.divide(within.mean(axis=1), sizes - 1, out=np.full(len(sizes), np.nan), where=sizes > 1)


def separation(components, labels):
    """How far groups are apart: the distance of each mean to the nearest mean of another.

    Parameters
    ----------
    components : ndarray of shape (N, d)
        Places of the samples, of :func:`diffusion_components` for example.
    labels : array of shape (N,)
        The group of every sample; at least two groups.

    Returns
    -------
    ndarray of shape (n_groups,)
        Of every group, in the order of the sorted labels; higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.metrics import separation
    >>> separation(np.array([[0.0], [2.0], [5.0], [5.0], [9.0]]), ["a", "a", "b", "b", "c"])
    array([4., 4., 4.])
    """
    components, members, sizes = _grouped(components, labels, "components")
    if len(sizes) < 2:
        raise ValueError("labels name one group; separation is between at least two")
    means = (members @ components) / sizes[:, None]
    return cKDTree(means).query(means, k=2)[0][:, 1]


def purity(classes, labels):
    """The share of each group that its largest class has.

    Parameters
    ----------
    classes : array of shape (N,)
        The class of every sample.
    labels : array of shape (N,)
        The group of every sample.

    Returns
    -------
    ndarray of shape (n_groups,)
        Of every group, in the order of the sorted labels, from 0 to 1.

    Examples
    --------
    >>> from gromap.metrics import purity
    >>> purity(["T", "T", "B", "B"], [0, 0, 0, 1])
    array([0.66666667, 1.        ])
    """
    counts = _table(classes, labels)
    return np.asarray(counts.max(axis=1).todense()).ravel() / counts.sum(axis=1)


def inner_normalized_variance(X, labels, quantile=0.95):
    """Variance over mean of every column within each group, and of these a high quantile.

    Where the samples of a group differ by counting noise alone, the variance of a count is its mean, and the ratio 1: what
    exceeds it is structure that the group hides. Totals that differ between samples count as such, so divide them out
    before.

    Parameters
    ----------
    X : ndarray or scipy sparse matrix of shape (N, p)
        Counts, not negative.
    labels : array of shape (N,)
        The group of every sample.
    quantile : float, default=0.95
        Which of the columns with a mean above 0 speaks for a group.

    Returns
    -------
    ndarray of shape (n_groups,)
        Of every group, in the order of the sorted labels; lower is better. NaN for a group of one.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.metrics import inner_normalized_variance
    >>> inner_normalized_variance(np.array([[1, 0], [3, 4], [2, 2], [2, 2]]), [0, 0, 1, 1], quantile=1.0)
    array([4., 0.])
    """
    if not 0 <= quantile <= 1:
        raise ValueError(f"quantile is {quantile}; it must be from 0 to 1")
    X, members, sizes = _grouped(X, labels, "X")
    lowest = X.data.min(initial=0) if sp.issparse(X) else X.min(initial=0)
    if lowest < 0:
        raise ValueError("X has negative entries; the ratio of variance and mean is one of counts")
    means, within = _moments(X, members, sizes)
    found = np.full(len(sizes), np.nan)
    for k in np.flatnonzero(sizes > 1):
        seen = means[k] > 0
        if seen.any():
            found[k] = np.quantile(within[k, seen] / (sizes[k] - 1) / means[k, seen], quantile)
    return found


def size_balance(labels):
    """How equal groups are: the effective number of groups over their number.

    The effective number is exp(H), H the entropy of the shares that groups have of the samples.

    Parameters
    ----------
    labels : array of shape (N,)
        The group of every sample.

    Returns
    -------
    float
        1 for groups of equal size, near 0 where one group has nearly all.

    Examples
    --------
    >>> from gromap.metrics import size_balance
    >>> size_balance([0, 0, 1, 1]), round(size_balance([0, 1, 1, 1]), 3)
    (1.0, 0.877)
    """
    numbers = numbered(labels, "labels")
    if not len(numbers):
        raise ValueError("labels are empty")
    shares = np.bincount(numbers) / len(numbers)
    return float(np.exp(-(shares * np.log(shares)).sum()) / len(shares))


def correlation_error(X, labels):
    """How much of the correlation between columns is lost when each sample is replaced by the mean of its group.

    The covariance of two columns is that between groups plus that within. Both are divided by the columns' deviations over
    all samples, so that noise of its own in a column is no error, as it would be if deviations were those of the means:
    what is lost is what columns have in common inside groups.

    Parameters
    ----------
    X : ndarray or scipy sparse matrix of shape (N, p)
        Expression of p genes, for example the variable ones; all pairs of them are held in memory.
    labels : array of shape (N,)
        The group of every sample.

    Returns
    -------
    float
        The root mean square over pairs of different columns; 0 if all correlation is between groups. Constant columns do
        not count.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.metrics import correlation_error
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [4.0, 4.0], [5.0, 5.0]])
    >>> round(correlation_error(X, [0, 0, 1, 1]), 4), round(correlation_error(X, [0, 0, 0, 0]), 4)
    (0.0588, 1.0)
    """
    X, members, sizes = _grouped(X, labels, "X")
    if X.shape[1] > _MOST_PAIRED_COLUMNS:
        raise ValueError(
            f"X has {X.shape[1]} columns; pairs of more than {_MOST_PAIRED_COLUMNS} take too much memory: choose some, "
            "the most variable genes for example"
        )
    products = X.T @ X
    products = products.toarray() if sp.issparse(products) else products
    sums = _dense(members @ X)
    mean = sums.sum(axis=0) / X.shape[0]
    total = products / X.shape[0] - np.outer(mean, mean)
    within = (products - (sums / sizes[:, None]).T @ sums) / X.shape[0]
    varying = total.diagonal() > 1e-12 * products.diagonal() / X.shape[0]
    if varying.sum() < 2:
        raise ValueError("X has fewer than two columns that vary")
    deviation = np.sqrt(total.diagonal()[varying])
    lost = within[np.ix_(varying, varying)] / np.outer(deviation, deviation)
    pairs = varying.sum() * (varying.sum() - 1)
    return float(np.sqrt(max((lost**2).sum() - (lost.diagonal() ** 2).sum(), 0.0) / pairs))


def label_agreement(places, classes, n_neighbors=15):
    """The mean share of a sample's nearest neighbours on a map that are of its class.

    Parameters
    ----------
    places : ndarray of shape (N, d)
        Places of the samples.
    classes : array of shape (N,)
        Their classes.
    n_neighbors : int, default=15
        Neighbours of each, fewer than N.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap.metrics import label_agreement
    >>> label_agreement(np.array([[0.0], [1.0], [10.0], [11.0]]), ["T", "T", "B", "B"], n_neighbors=1)
    1.0
    """
    places, numbers = given.samples(places, "places"), numbered(classes, "classes")
    n_neighbors = given.count(n_neighbors)
    if len(places) != len(numbers):
        raise ValueError(f"places and classes must be of equal length, not {len(places)} and {len(numbers)}")
    if not 1 <= n_neighbors < len(places):
        raise ValueError(f"n_neighbors is {n_neighbors}; it must be from 1 to {len(places) - 1}")
    neighbors, _ = _core.neighbors(places, n_neighbors, "euclidean", "auto", 0)
    return float((numbers[neighbors] == numbers[:, None]).mean())


def membership(labels):
    """A sparse matrix with a row for each group, 1 where a sample is of it; and the sizes of the groups."""
    numbers = np.asarray(labels, dtype=np.int64)
    count = int(numbers.max(initial=-1)) + 1
    ones = np.ones(len(numbers))
    return (
        sp.csr_array((ones, (numbers, np.arange(len(numbers)))), shape=(count, len(numbers))),
        np.bincount(numbers, minlength=count),
    )


def _grouped(X, labels, name):
    """Samples in double precision, dense or CSR, with the membership of their groups."""
    numbers = numbered(labels, "labels")
    X = sp.csr_array(X).astype(np.float64) if sp.issparse(X) else given.matrix(X, name, np.float64)
    if X.shape[0] != len(numbers):
        raise ValueError(f"{name} and labels must be of equal length, not {X.shape[0]} and {len(numbers)}")
    if not len(numbers):
        raise ValueError(f"{name} has no rows")
    return X, *membership(numbers)


def _moments(X, members, sizes):
    """Of every group and column the mean, and the sum of squared differences from it."""
    means = _dense(members @ X) / sizes[:, None]
    if sp.issparse(X):
        return means, np.maximum(_dense(members @ X.power(2)) - sizes[:, None] * means**2, 0)
    # Differences are squared, not the samples: nothing cancels. In blocks, for a copy of X may be large.
    groups, within = members.tocsc().indices, np.zeros_like(means)
    for first in range(0, len(X), _BLOCK):
        rows = slice(first, first + _BLOCK)
        within += members[:, rows] @ (X[rows] - means[groups[rows]]) ** 2
    return means, within


def _table(classes, labels):
    """How many samples of each class every group has."""
    classes, labels = numbered(classes, "classes"), numbered(labels, "labels")
    if len(classes) != len(labels):
        raise ValueError(f"classes and labels must be of equal length, not {len(classes)} and {len(labels)}")
    return sp.coo_array((np.ones(len(labels), dtype=np.int64), (labels, classes))).tocsr()


def _dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
