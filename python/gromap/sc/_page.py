"""The map of metacells as one page: named by their genes, coloured by columns of obs and by genes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from gromap.sc import _cells
from gromap.sc.get import _kinds, model

# Genes that a metacell is named by, and those that are there to colour by without being asked for.
_NAMED_BY = 3
_GENES = 40


def report(adata, path, *, color=None, genes=None, counts=None, title=None):
    """Write the map of metacells as one HTML file that needs no network.

    Metacells are named by the genes that set them apart: those whose share of the counts, per 10,000, is the largest
    multiple of the mean share of all metacells. Shares are raised by 1 before, so that a few counts of a rare gene name
    nothing.

    Parameters
    ----------
    adata : anndata.AnnData
        After :func:`gromap.sc.tl.metacells`.
    path : str or path-like
        The file, replaced if it is there.
    color : str, optional
        Column of ``adata.obs`` with the classes that are shown first; all other columns are there to colour by too.
    genes : sequence of str, optional
        Genes to colour by, as log(1 + counts per 10,000) of the metacell; without it those that name most metacells.
    counts : str, optional
        Where counts are, as in :func:`gromap.sc.get.metacells`.
    title : str, optional
        What stands above the map.
    """
    fitted = model(adata)
    about = adata.uns["gromap"]
    numbers, names = _cells.groups_of(adata, about["key"])
    order = _prototypes(adata, about["key"], names)
    matrix, var, _ = _cells.counts_of(adata, counts)
    shares = _shares(_cells.sums(matrix, numbers, len(names)))
    change = np.log2((shares + 1) / (shares.mean(axis=0) + 1))
    top = np.argsort(-change, axis=1, kind="stable")[:, :_NAMED_BY]
    gene_names = var.index.astype(str).to_numpy()
    shown = _asked(gene_names, genes) if genes is not None else _frequent(top)
    expression = np.log1p(shares)
    titles = [", ".join(gene_names[k] for k in row if change[j, k] > 0) or names[j] for j, row in enumerate(top)]
    columns = {name: adata.obs[name].astype(str) for name in _kinds(adata, None, about["key"]) if name != color}
    columns |= {name: adata.obs[name] for name in adata.obs if adata.obs[name].dtype.kind in "iuf"}
    fitted.report(
        path,
        title=title or f"{adata.n_obs} cells, {len(names)} metacells",
        labels=None if color is None else _cells.column_of(adata, color, "color").astype(str),
        columns=columns,
        ids=adata.obs_names,
        names=[titles[k] for k in order],
        numbers={gene_names[k]: expression[order, k] for k in shown},
    )


def _prototypes(adata, key, names):
    """Which row of the sorted groups every prototype is: prototypes are in the order of the categories."""
    place = {name: k for k, name in enumerate(names)}
    return [place[str(name)] for name in adata.obs[key].cat.categories if str(name) in place]


def _shares(sums):
    """Counts per 10,000 of each metacell."""
    sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums)
    return 1e4 * sums / np.maximum(sums.sum(axis=1, keepdims=True), 1)


def _asked(gene_names, genes):
    place = {name: k for k, name in enumerate(gene_names)}
    missing = [gene for gene in genes if gene not in place]
    if missing:
        raise KeyError(f"genes has {missing[0]!r}, and there is no such gene among the {len(place)} that are counted")
    return [place[gene] for gene in genes]


def _frequent(top):
    found, times = np.unique(top, return_counts=True)
    return found[np.argsort(-times, kind="stable")][:_GENES]
