"""What is read from an AnnData: arrays by their keys, counts, sums over groups; and what is said where one is missing."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from gromap._group_scores import membership

# Rows of a matrix that are in memory at once; of a backed one no more are ever read.
_BLOCK = 20_000
# Entries that are looked at to tell counts from other numbers.
_LOOKED_AT = 100_000


def keys_of(mapping):
    """The keys that there are, for a message."""
    found = ", ".join(repr(str(key)) for key in mapping)
    return found or "nothing"


def column_of(adata, key, parameter):
    if key not in adata.obs:
        raise KeyError(f"{parameter} is {key!r}, and adata.obs has no such column; it has {keys_of(adata.obs)}")
    return adata.obs[key]


def representation_of(adata, use_rep):
    """The array that cells are compared by, dense and finite."""
    if use_rep == "X":
        rows = adata.X
        rows = rows if isinstance(rows, np.ndarray) or sp.issparse(rows) else rows[:]
    elif use_rep in adata.obsm:
        rows = adata.obsm[use_rep]
    else:
        way_out = "run scanpy.pp.pca(adata) first, or name another with use_rep" if use_rep == "X_pca" else "or 'X'"
        raise KeyError(f"use_rep is {use_rep!r}, and adata.obsm has no such key; it has {keys_of(adata.obsm)}; {way_out}")
    rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
    if not np.isfinite(rows).all():
        cell, column = np.argwhere(~np.isfinite(rows))[0]
        raise ValueError(f"use_rep {use_rep!r} has {rows[cell, column]} at cell {adata.obs_names[cell]!r}, column {column}")
    return rows


def distances_of(adata, neighbors_key):
    """The sparse distances that scanpy.pp.neighbors keeps: of its own entry in uns, or a key of obsp."""
    about = adata.uns.get(neighbors_key)
    key = about.get("distances_key", "distances") if hasattr(about, "get") else neighbors_key
    if key not in adata.obsp:
        raise KeyError(
            f"neighbors_key is {neighbors_key!r}, and adata.obsp has no {key!r}; it has {keys_of(adata.obsp)}; "
            "run scanpy.pp.neighbors(adata) first, or leave neighbors_key out"
        )
    return sp.csr_array(adata.obsp[key])


def counts_of(adata, counts):
    """The matrix that holds counts, the annotation of its genes, and where it was found."""
    if counts is not None:
        return _named(adata, counts)
    for key in ("counts", "raw", "X"):
        there = {"counts": key in adata.layers, "raw": adata.raw is not None, "X": adata.X is not None}[key]
        if there:
            matrix, var, name = _named(adata, key)
            if holds_counts(matrix):
                return matrix, var, name
    raise ValueError(
        "no counts to sum: adata.layers has no 'counts', and neither adata.raw nor adata.X holds whole numbers from 0; keep "
        "them before they are normalised, adata.layers['counts'] = adata.X.copy(), or name a layer with counts="
    )


def _named(adata, key):
    if key == "X" and adata.X is not None:
        return adata.X, adata.var, "X"
    if key == "raw" and adata.raw is not None:
        return adata.raw.X, adata.raw.var, "raw"
    if key in adata.layers:
        return adata.layers[key], adata.var, f"layers[{key!r}]"
    raise KeyError(
        f"counts is {key!r}, and adata.layers has no such key; it has {keys_of(adata.layers)}; 'X' and 'raw' name "
        "adata.X and adata.raw.X where they are there"
    )


def holds_counts(matrix):
    """Whether its first entries are whole numbers from 0; not all of a matrix on disk are read for it."""
    rows = matrix[: max(1, _LOOKED_AT // max(matrix.shape[1], 1))] if matrix.shape[0] else np.zeros((1, 1))
    values = rows.data if sp.issparse(rows) else np.asarray(rows)
    return bool((values >= 0).all() and (values == np.floor(values)).all())


def sums(matrix, numbers, groups):
    """The sum over the cells of each group, a row for each; sparse stays sparse. A matrix on disk is read in blocks."""
    total = None
    for first in range(0, matrix.shape[0], _BLOCK):
        rows = matrix[first : first + _BLOCK]
        members, _ = membership(numbers[first : first + _BLOCK])
        members.resize((groups, members.shape[1]))
        part = members @ (sp.csr_array(rows) if sp.issparse(rows) else np.asarray(rows, dtype=np.float64))
        total = part if total is None else total + part
    return sp.csr_matrix(total) if sp.issparse(total) else total


def groups_of(adata, key):
    """The metacell of every cell as a number, and their names."""
    if key not in adata.obs:
        raise KeyError(
            f"adata.obs has no {key!r}; run gromap.sc.tl.metacells(adata) first, or name the column it wrote with key="
        )
    column = adata.obs[key].astype("category").cat.remove_unused_categories()
    if column.isna().any():
        raise ValueError(f"adata.obs[{key!r}] is missing for cell {adata.obs_names[int(np.argmax(column.isna()))]!r}")
    return column.cat.codes.to_numpy().astype(np.int64), column.cat.categories.astype(str)


def is_categorical(column):
    """Whether a column names kinds: a category, text or a yes or no."""
    return column.dtype == bool or isinstance(column.dtype.name, str) and column.dtype.kind not in "biufcmM"
