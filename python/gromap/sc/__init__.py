"""Metacells of single-cell data, in the conventions of scanpy: ``tl`` computes, ``get`` returns, ``pl`` draws.

    gromap.sc.tl.metacells(adata)          obs["metacell"], obsm["X_gromap"], uns["gromap"]
    gromap.sc.get.metacells(adata)         an AnnData of metacells, their counts summed
    gromap.sc.pl.map(adata, color="type")  cells and metacells on the map
    gromap.sc.report(adata, "map.html")    the map as one page, metacells named by their genes

Needs ``pip install 'gromap[sc]'``.
"""

try:
    import anndata  # noqa: F401
except ImportError as error:
    raise ImportError("gromap.sc needs anndata: pip install 'gromap[sc]'") from error

from gromap.sc import get, pl, tl
from gromap.sc._page import report

__all__ = ["get", "pl", "report", "tl"]
