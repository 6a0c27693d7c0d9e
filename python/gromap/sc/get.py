"""Getters: metacells as an AnnData of their own, and the map behind them."""

from __future__ import annotations

import os
import tempfile

import anndata
import numpy as np
import pandas as pd

from gromap import load
from gromap.sc import _cells

__all__ = ["metacells", "model"]


def metacells(adata, *, key=None, counts=None, layers=None, obs=None):
    """The metacells of ``adata`` as an AnnData, a row for each, with the counts of their cells summed.

    Parameters
    ----------
    adata : anndata.AnnData
        After :func:`gromap.sc.tl.metacells`, or with any column of ``obs`` that names groups. It may be backed.
    key : str, optional
        Column of ``adata.obs``; the one that was written last by default.
    counts : str, optional
        Where counts are: a layer, "X" or "raw". Without it the first of layer "counts", ``raw`` and ``X`` that holds whole
        numbers.
    layers : sequence of str, optional
        Layers to sum besides; without it all that hold whole numbers from 0.
    obs : sequence of str, optional
        Columns of ``adata.obs`` to sum up; without it all that are categories, text or booleans.

    Returns
    -------
    anndata.AnnData
        ``X`` and ``layers`` have sums, sparse where they were. ``obs`` has ``n_cells``, and for every column of kinds the
        one that most cells have, under its own name, and their share, ``NAME_purity``. ``obsm["X_gromap"]`` has the places
        of the metacells and ``obsm[use_rep]`` the means of their cells; colours of categories in ``uns`` are kept.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> import gromap.sc
    >>> adata = anndata.AnnData(np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 5.0]]))
    >>> adata.obs["metacell"], adata.obs["type"] = ["0", "0", "1"], ["T", "T", "B"]
    >>> groups = gromap.sc.get.metacells(adata)
    >>> groups.X, groups.obs["n_cells"].tolist(), groups.obs["type"].tolist()
    (array([[3., 1.],
           [0., 5.]]), [2, 1], ['T', 'B'])
    """
    about = adata.uns.get("gromap", {})
    key = key or about.get("key", "metacell")
    numbers, names = _cells.groups_of(adata, key)
    matrix, var, place = _cells.counts_of(adata, counts)
    sizes = np.bincount(numbers, minlength=len(names))
    table = _summed_up(adata, numbers, len(names), _kinds(adata, obs, key))
    table.insert(0, "n_cells", sizes)
    table.index = pd.Index(names.to_numpy(dtype=object), name=None)
    result = anndata.AnnData(_cells.sums(matrix, numbers, len(names)), obs=table, var=var.copy())
    if matrix.shape[1] == adata.n_vars:  # those of raw may be others
        for name in _layers(adata, layers, place):
            result.layers[name] = _cells.sums(adata.layers[name], numbers, len(names))
    elif layers:
        raise ValueError(
            f"counts of {place} have {matrix.shape[1]} genes and layers {adata.n_vars}; name a layer with counts="
        )
    _means(adata, result, numbers, sizes, about.get("params", {}).get("use_rep"))
    if about.get("key") == key and len(about["places"]) == len(names):
        # Categories are in the order of the prototypes; a column may have been sorted since.
        order = [adata.obs[key].cat.categories.get_loc(name) for name in names]
        result.obsm["X_gromap"] = np.asarray(about["places"])[order]
    for name in table.columns:
        if f"{name}_colors" in adata.uns:
            result.uns[f"{name}_colors"] = adata.uns[f"{name}_colors"]
    result.uns["gromap"] = {"key": key, "counts": place, "params": dict(about.get("params", {}))}
    return result


def model(adata):
    """The map behind the metacells: a fitted :class:`gromap.GromovDR`, which places new cells.

    Parameters
    ----------
    adata : anndata.AnnData
        After :func:`gromap.sc.tl.metacells`.

    Returns
    -------
    gromap.GromovDR
        Its ``predict`` and ``transform`` take what ``use_rep`` was, of new cells in the same coordinates.
    """
    kept = adata.uns.get("gromap", {}).get("model")
    if kept is None:
        raise KeyError("adata.uns['gromap'] has no model; run gromap.sc.tl.metacells(adata) first")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cells.gromap")
        with open(path, "wb") as file:
            file.write(np.asarray(kept, dtype=np.uint8).tobytes())
        return load(path)


def _kinds(adata, obs, key):
    if obs is None:
        return [name for name in adata.obs if name != key and _cells.is_categorical(adata.obs[name])]
    for name in obs:
        _cells.column_of(adata, name, "obs")
    return list(obs)


def _summed_up(adata, numbers, groups, names):
    """Of every column the kind that most cells of a group have, the first of equals, and their share."""
    table = {}
    for name in names:
        column = adata.obs[name].astype("category")
        codes, kinds = column.cat.codes.to_numpy(), column.cat.categories
        known = codes >= 0
        counts = np.zeros((groups, max(len(kinds), 1)), dtype=np.int64)
        np.add.at(counts, (numbers[known], codes[known]), 1)
        total = counts.sum(axis=1)
        largest = np.where(total > 0, counts.argmax(axis=1), -1)  # none is known of a group
        table[name] = pd.Categorical.from_codes(largest, categories=kinds, ordered=column.cat.ordered)
        table[f"{name}_purity"] = np.divide(counts.max(axis=1), total, out=np.full(groups, np.nan), where=total > 0)
    return pd.DataFrame(table)


def _layers(adata, layers, place):
    if layers is None:
        return [name for name in adata.layers if _cells.holds_counts(adata.layers[name])]
    missing = [name for name in layers if name not in adata.layers]
    if missing:
        raise KeyError(f"adata.layers has no {missing[0]!r}; it has {_cells.keys_of(adata.layers)}")
    return list(layers)


def _means(adata, result, numbers, sizes, use_rep):
    """The means of what cells were compared by, and of their places where the map has none of the groups."""
    for name in {"X_gromap", use_rep} & set(adata.obsm.keys()):
        rows = np.asarray(adata.obsm[name], dtype=np.float64)
        result.obsm[name] = _cells.sums(rows, numbers, len(sizes)) / sizes[:, None]
