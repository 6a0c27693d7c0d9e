"""Tools: what is computed of an AnnData and written into it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from gromap import GromovDR
from gromap import _arguments as given
from gromap.sc import _cells, _groups

__all__ = ["metacells"]


def metacells(
    adata,
    n=None,
    *,
    cells_per_metacell=75,
    use_rep="X_pca",
    neighbors_key=None,
    batch_key=None,
    min_size=None,
    max_size=None,
    method="fuzzy-tsne",
    perplexity=30.0,
    key_added="metacell",
    random_state=0,
    n_jobs=None,
    copy=False,
):
    """Group cells into metacells: small groups of like cells, of similar size, each with a place on a map.

    Groups are found first (:class:`gromap.GromovClustering`), then placed (:class:`gromap.GromovDR` with the groups fixed),
    and every cell gets a place of its own among them. More than 3,000 are found and placed at once, in less memory.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells in rows. It may be backed: ``X`` is not read unless ``use_rep="X"``.
    n : int, optional
        Number of metacells; without it, one for every ``cells_per_metacell`` cells.
    cells_per_metacell : float, default=75
        Cells of a metacell on average.
    use_rep : str, default="X_pca"
        Key of ``adata.obsm`` by which cells are compared, or "X".
    neighbors_key : str, optional
        Take neighbours that are there instead of seeking them in ``use_rep``: "neighbors", or what ``key_added`` of
        ``scanpy.pp.neighbors`` was, or a key of ``adata.obsp`` that holds sparse distances. Places of new cells are then
        not to be had.
    batch_key : str, optional
        Column of ``adata.obs``. No metacell has cells of two batches; each batch has its share of them, at least one, and
        all are on one map. Without it batches are grouped together.
    min_size, max_size : int, optional
        Cells that every metacell has at least and at most. Smaller groups are dissolved among their neighbours, larger ones
        halved, so that there may be some fewer or more than ``n``.
    method : str, default="fuzzy-tsne"
        Whose similarity and map are used, as in :class:`gromap.GromovDR`: one that compares neighbours.
    perplexity : float, default=30
        Effective number of neighbours of a cell, lowered where there are few cells.
    key_added : str, default="metacell"
        Column of ``adata.obs`` for the result.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random.
    n_jobs : int or None, default=None
        Threads; None uses all cores. The result is the same for any number.
    copy : bool, default=False
        Return a copy with the result instead of writing into ``adata``.

    Returns
    -------
    anndata.AnnData or None
        With ``copy=True``. It, or ``adata``, has

        - ``obs[key_added]``, the metacell of every cell, a category;
        - ``obsm["X_gromap"]``, a place for every cell, for ``scanpy.pl.embedding(adata, basis="gromap")``;
        - ``uns["gromap"]``: ``params``, ``key``, ``places`` and ``sizes`` of the metacells in the order of the categories,
          ``loss``, and ``model``, the bytes of a model file, which :func:`gromap.sc.get.model` reads.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> import gromap.sc
    >>> counts = np.random.default_rng(0).poisson(1.0, (300, 20))
    >>> adata = anndata.AnnData(counts.astype(np.float32))
    >>> gromap.sc.tl.metacells(adata, use_rep="X", cells_per_metacell=30)
    >>> adata.obs["metacell"].nunique(), adata.obsm["X_gromap"].shape
    (10, (300, 2))
    """
    if not hasattr(adata, "obsm"):
        raise TypeError(f"adata must be an AnnData, not {type(adata).__name__}; arrays go to gromap.GromovDR")
    adata = adata.copy() if copy else adata
    n = _number(adata.n_obs, n, cells_per_metacell)
    batches = None if batch_key is None else _batches(_cells.column_of(adata, batch_key, "batch_key"), batch_key)
    if batches is None:
        _groups.check_sizes(adata.n_obs, n, min_size, max_size)
    seed = given.seed(random_state)
    options = {"method": method, "random_state": seed, "n_jobs": n_jobs}
    rows, similarity, X = _compared(adata, use_rep, neighbors_key, perplexity, bool(min_size or max_size))
    bounds = (min_size, max_size)
    whole = {**options, "perplexity": _least(perplexity, adata.n_obs)}
    if batches is not None:
        labels, names = _apart(rows, similarity, X, n, bounds, options, perplexity, batches)
        model = _placed(rows, similarity, labels, whole)
    elif n > _groups.MANY and not any(bounds):
        model = GromovDR(n, precomputed="similarity" if similarity else None, **whole).fit(rows)
        labels = model.labels_
        names = [str(k) for k in range(len(model.prototypes_))]
    else:
        labels = _one_batch(rows, similarity, X, n, bounds, whole)
        names = [str(k) for k in range(labels.max() + 1)]
        model = _placed(rows, similarity, labels, whole)

    params = {
        "n": n,
        "use_rep": use_rep,
        "neighbors_key": neighbors_key,
        "batch_key": batch_key,
        "min_size": min_size,
        "max_size": max_size,
        "method": method,
        "perplexity": float(perplexity),
        "random_state": seed,
    }
    adata.obs[key_added] = pd.Categorical.from_codes(labels, categories=names)
    adata.obsm["X_gromap"] = np.asarray(model.sample_places_, dtype=np.float32)
    adata.uns["gromap"] = {
        "params": {name: value for name, value in params.items() if value is not None},
        "key": key_added,
        "places": np.asarray(model.prototypes_),
        "sizes": np.bincount(labels, minlength=len(names)),
        "loss": float(model.loss_),
        "model": np.frombuffer(model._model.to_bytes(), dtype=np.uint8).copy(),
    }
    return adata if copy else None


def _number(cells, n, cells_per_metacell):
    """How many metacells there are to be."""
    if cells < 2:
        raise ValueError(f"adata has {cells} cells; metacells are made of at least 2")
    if n is None:
        if not cells_per_metacell >= 1:
            raise ValueError(f"cells_per_metacell is {cells_per_metacell}; it must be at least 1")
        n = max(1, round(cells / cells_per_metacell))
    if isinstance(n, bool) or n != int(n) or n < 1:
        raise ValueError(f"n is {n}; it must be a whole number from 1")
    return int(n)


def _batches(column, batch_key):
    """The cells of every batch, by its name."""
    if column.isna().any():
        cell = column.index[int(np.argmax(column.isna()))]
        raise ValueError(f"batch_key {batch_key!r} is missing for cell {cell!r}")
    codes, names = pd.factorize(column.astype(str), sort=True)
    return {name: np.flatnonzero(codes == code) for code, name in enumerate(names)}


def _compared(adata, use_rep, neighbors_key, perplexity, bounds):
    """What cells are compared by: samples, or a similarity made of given distances; and the samples that bounds ask for."""
    if neighbors_key is None:
        X = _cells.representation_of(adata, use_rep)
        return X, False, X
    similarity = _groups.similarity_of_distances(_cells.distances_of(adata, neighbors_key), perplexity)
    return similarity, True, _cells.representation_of(adata, use_rep) if bounds else None


def _least(perplexity, cells):
    """The perplexity, or what so few cells allow: a third of the others."""
    return max(1.0, min(float(perplexity), (cells - 1) / 3))


def _one_batch(rows, similarity, X, n, bounds, options):
    labels = _groups.found(rows, n, similarity, options)
    return _groups.bounded(X, labels, *bounds) if any(bounds) else labels


def _apart(rows, similarity, X, n, bounds, options, perplexity, batches):
    """Metacells of each batch by itself, and their names."""
    labels, names = np.empty(rows.shape[0], dtype=np.int64), []
    for (batch, cells), share in zip(batches.items(), _shares(batches, n), strict=True):
        _groups.check_sizes(len(cells), share, *bounds, where=f"batch {batch!r}")
        own = rows[cells][:, cells] if similarity else rows[cells]
        within = {**options, "perplexity": _least(perplexity, len(cells))}
        found = _one_batch(own, similarity, None if X is None else X[cells], share, bounds, within)
        labels[cells] = found + len(names)
        names += [f"{batch}-{k}" for k in range(found.max() + 1)]
    return labels, names


def _shares(batches, n):
    return _groups.shares_of([len(cells) for cells in batches.values()], n)


def _placed(rows, similarity, labels, options):
    """A map of the groups as they are: with no rounds the plan stays, and prototypes are placed to suit it."""
    n = int(labels.max()) + 1
    kind = "similarity" if similarity else None
    estimator = GromovDR(n, precomputed=kind, init=labels, max_iter=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # no round was wanted
        return estimator.fit(rows)
