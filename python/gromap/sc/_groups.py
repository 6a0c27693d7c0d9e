"""From cells to groups: how many, of which sizes, in which batches; and the similarity of given neighbours.

Groups are clusters of the method (`GromovClustering`), which weighs how cells relate and not how far outlying ones lie: a
few strange cells do not make a group of their own, as they do for k-means. Bounds on sizes are kept afterwards, by
dissolving groups that are too small and halving those that are too large: exact, and without a matrix of cells by groups.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from gromap import GromovClustering, GromovDR
from gromap._group_scores import membership

# Up to so many groups they are found first and placed afterwards. Clusters by themselves take more memory for how groups
# relate than a map does, so that more than these are found and placed at once.
MANY = 3000
# Steps of the bisection for the width of a row.
_BISECTIONS = 60


def check_sizes(cells, n, min_size, max_size, where="adata"):
    """Refuses bounds that no grouping keeps."""
    for name, value in (("min_size", min_size), ("max_size", max_size)):
        if value is not None and (value != int(value) or value < 1):
            raise ValueError(f"{name} is {value}; it must be a whole number of cells from 1")
    least, most = min_size or 1, max_size or cells
    if n > cells:
        raise ValueError(f"n is {n}, and {where} has {cells} cells; ask for fewer metacells than cells")
    if least > cells:
        raise ValueError(f"min_size is {min_size}, and {where} has {cells} cells; lower min_size")
    if min_size and n * min_size > cells:
        raise ValueError(
            f"{n} metacells of at least {min_size} cells need {n * min_size}, and {where} has {cells}; lower min_size to "
            f"{cells // n} or n to {cells // min_size}"
        )
    if max_size and n * max_size < cells:
        raise ValueError(
            f"{n} metacells of at most {max_size} cells hold {n * max_size}, and {where} has {cells}; raise max_size to "
            f"{-(-cells // n)} or n to {-(-cells // max_size)}"
        )
    if min_size and max_size and max_size < 2 * min_size:
        raise ValueError(
            f"max_size is {max_size} and min_size {min_size}: a group that is too large could not be halved; raise max_size to "
            f"{2 * min_size}, or lower min_size to {max_size // 2}"
        )


def found(X, n, similarity, options):
    """The group of every row, n of them at most."""
    if n == 1:
        return np.zeros(X.shape[0], dtype=np.int64)
    estimator = GromovClustering if n <= MANY else GromovDR
    fitted = estimator(n, precomputed="similarity" if similarity else None, **options).fit(X)
    return np.unique(fitted.labels_, return_inverse=True)[1]


def bounded(X, labels, min_size, max_size):
    """Groups whose sizes are between bounds: the smallest joins the nearest of its neighbours until none is too small, then
    those too large are halved along their longest direction."""
    labels = _merged(X, labels, min_size) if min_size else labels
    return _halved(X, labels, max_size) if max_size else labels


def _merged(X, labels, min_size):
    labels = labels.copy()
    members, sizes = membership(labels)
    total = members @ X.astype(np.float64)
    alive = np.ones(len(sizes), dtype=bool)
    while alive.sum() > 1:
        candidates = np.flatnonzero(alive)
        small = candidates[np.argmin(sizes[candidates])]
        if sizes[small] >= min_size:
            break
        # Cells of a group that is dissolved go their own ways, each to the nearest mean of those left.
        alive[small] = False
        left, cells = np.flatnonzero(alive), np.flatnonzero(labels == small)
        nearest = left[_nearest(X[cells], total[left] / sizes[left, None])]
        labels[cells] = nearest
        np.add.at(total, nearest, X[cells])
        sizes = sizes + np.bincount(nearest, minlength=len(sizes))
        sizes[small] = 0
    return np.unique(labels, return_inverse=True)[1]


def _halved(X, labels, max_size):
    labels, sizes = labels.copy(), np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    pieces = np.split(order, np.cumsum(sizes)[:-1])
    large = [k for k, size in enumerate(sizes) if size > max_size]
    unused = len(sizes)
    queue = [pieces[k] for k in large]
    while queue:
        cells = queue.pop()
        if len(cells) <= max_size:
            continue
        centred = X[cells].astype(np.float64)
        centred -= centred.mean(axis=0)
        direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
        along = np.argsort(centred @ direction, kind="stable")
        upper = cells[along[len(cells) // 2 :]]
        labels[upper] = unused
        unused += 1
        queue += [cells[along[: len(cells) // 2]], upper]
    return labels


def _nearest(X, means):
    """The nearest mean of every row."""
    X = X.astype(np.float64)
    return ((means**2).sum(axis=1) - 2 * X @ means.T).argmin(axis=1)


def similarity_of_distances(distances, perplexity):
    """The entropic affinity of given neighbours, as t-SNE makes it: p_ij ~ exp(-b_i d_ij²) with rows of the perplexity,
    symmetrised. Rows with fewer neighbours than three times the perplexity get a third of their number."""
    distances = sp.csr_array(distances)
    cells = distances.shape[0]
    if distances.shape[0] != distances.shape[1]:
        raise ValueError(f"distances must be square, not {distances.shape[0]} x {distances.shape[1]}")
    if not (np.isfinite(distances.data) & (distances.data >= 0)).all():
        raise ValueError("distances must be finite and not negative")
    counts = np.diff(distances.indptr)
    if counts.min(initial=1) == 0:
        raise ValueError(f"cell number {int(np.argmin(counts))} has no neighbours; run scanpy.pp.neighbors again")
    place = np.arange(len(distances.data)) - np.repeat(distances.indptr[:-1], counts)
    squared = np.full((cells, counts.max()), np.inf)
    squared[np.repeat(np.arange(cells), counts), place] = distances.data.astype(np.float64) ** 2
    squared -= squared.min(axis=1, keepdims=True)
    weights = _rows_of_perplexity(squared, np.minimum(perplexity, np.maximum(counts / 3, 1.0)))
    data = weights[np.repeat(np.arange(cells), counts), place]
    rows = sp.csr_array((data, distances.indices, distances.indptr), shape=distances.shape)
    both = ((rows + rows.T) / (2 * cells)).tocsr()
    both.sum_duplicates()
    return both


def _rows_of_perplexity(squared, perplexity):
    """Rows exp(-b·squared) over their sum, b found by bisection so that the entropy is log perplexity."""
    finite = np.where(np.isfinite(squared), squared, 0.0)
    spread = np.maximum(finite.max(axis=1), 1e-300)
    low, high = np.full(len(squared), -30.0), np.full(len(squared), 30.0)  # log of b times the spread of a row
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        scale = (np.exp(middle) / spread)[:, None]
        weights = np.exp(-scale * squared)
        total = weights.sum(axis=1)
        entropy = np.log(total) + (weights * finite * scale).sum(axis=1) / total
        wide = entropy > np.log(perplexity)
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    return weights / total[:, None]


def shares_of(sizes, n):
    """How many of n metacells each batch gets: by its cells, at least one, by largest remainders."""
    sizes = np.asarray(sizes)
    n = max(n, len(sizes))
    exact = n * sizes / sizes.sum()
    shares = np.maximum(np.floor(exact).astype(int), 1)
    while shares.sum() < n:
        shares[np.argmax(exact - shares)] += 1
    while shares.sum() > n:
        most = np.where(shares > 1, shares - exact, -np.inf)
        shares[np.argmax(most)] -= 1
    return shares
