"""Plots: the map of cells and metacells, by matplotlib."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gromap.sc import _cells

__all__ = ["map"]

_PALETTE = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb5566", "#997700", "#004488", "#888888")


def map(adata, color=None, *, ax=None, cmap="viridis", size=None, title=None, legend=True):
    """Draw cells as dots and metacells as discs, their areas the number of cells.

    Parameters
    ----------
    adata : anndata.AnnData
        After :func:`gromap.sc.tl.metacells`.
    color : str, optional
        A column of ``adata.obs`` or a gene: metacells have the kind that most of their cells have, or the mean of a number.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new one without.
    cmap : str, default="viridis"
        Colours of numbers.
    size : float, optional
        Area of a metacell of average size, in square points.
    title : str, optional
        Above the map; ``color`` without.
    legend : bool, default=True
        Whether kinds are listed, or a bar of numbers is drawn.

    Returns
    -------
    matplotlib.axes.Axes
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("gromap.sc.pl needs matplotlib: pip install 'gromap[sc]'") from error
    if "X_gromap" not in adata.obsm or "gromap" not in adata.uns:
        raise KeyError("adata.obsm has no 'X_gromap'; run gromap.sc.tl.metacells(adata) first")
    about = adata.uns["gromap"]
    numbers, _ = _cells.groups_of(adata, about["key"])
    cells, sizes = adata.obsm["X_gromap"], np.bincount(numbers)
    places = _cells.sums(cells, numbers, len(sizes)) / sizes[:, None]
    ax = plt.subplots(figsize=(6, 5), layout="constrained")[1] if ax is None else ax
    area = (size or 20_000 / (len(sizes) + 50)) * sizes / sizes.mean()
    disc = {"s": area, "edgecolors": "white", "linewidths": 0.6, "zorder": 2}
    values = None if color is None else _values(adata, color)
    if values is None or _cells.is_categorical(values):
        _kinds(ax, cells, places, numbers, values, disc, color, adata, legend)
    else:
        values = values.to_numpy(dtype=np.float64)
        ax.scatter(*cells.T, c="#d5d5d5", s=2, linewidths=0, zorder=1, rasterized=True)
        means = np.bincount(numbers, weights=values) / sizes
        drawn = ax.scatter(*places.T, c=means, cmap=cmap, **disc)
        if legend:
            ax.figure.colorbar(drawn, ax=ax, shrink=0.7)
    ax.set(xticks=[], yticks=[], xlabel="gromap 1", ylabel="gromap 2", title=title if title is not None else color or "")
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def _kinds(ax, cells, places, numbers, values, disc, color, adata, legend):
    """Cells in the colour of their kind, metacells in that of most of their cells."""
    if values is None:
        ax.scatter(*cells.T, c="#c5c5c5", s=2, linewidths=0, zorder=1, rasterized=True)
        ax.scatter(*places.T, c=_PALETTE[0], **disc)
        return
    column = values.astype("category")
    kinds = column.cat.categories
    given = adata.uns.get(f"{color}_colors")
    palette = np.array(given if given is not None and len(given) >= len(kinds) else _colors(len(kinds)), dtype=object)
    palette = np.append(palette[: len(kinds)], "#bbbbbb")  # the last is that of cells without a kind
    codes = column.cat.codes.to_numpy()
    counts = np.zeros((len(places), len(kinds) + 1))
    np.add.at(counts, (numbers, codes), 1)
    ax.scatter(*cells.T, c=palette[codes].tolist(), s=2, alpha=0.4, linewidths=0, zorder=1, rasterized=True)
    ax.scatter(*places.T, c=palette[counts.argmax(axis=1)].tolist(), **disc)
    if legend:
        handles = [ax.scatter([], [], c=[palette[k]], s=30, label=str(kind)) for k, kind in enumerate(kinds)]
        ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")


def _colors(count):
    from matplotlib import colormaps, colors

    if count <= len(_PALETTE):
        return list(_PALETTE[:count])
    return [colors.to_hex(colormaps["nipy_spectral"](share)) for share in np.linspace(0.05, 0.95, count)]


def _values(adata, color):
    """A column of obs, or the expression of a gene."""
    if color in adata.obs:
        return adata.obs[color]
    if color in adata.var_names:
        return pd.Series(np.asarray(adata.obs_vector(color), dtype=np.float64), index=adata.obs_names)
    raise KeyError(f"color is {color!r}: neither a column of adata.obs, which has {_cells.keys_of(adata.obs)}, nor a gene")

