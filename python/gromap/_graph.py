"""Graphs of networkx, and GraphML files, as matrices of weights with a name for each node. networkx is asked for only here."""

from __future__ import annotations

import os
import sys

import numpy as np


def weights_and_names(X):
    """The weights of the edges as a scipy CSR array and the names of the nodes in its order; of an array, the array and None."""
    if isinstance(X, str | os.PathLike):
        X = _read(os.fspath(X))
    networkx = sys.modules.get("networkx")
    if networkx is None or not isinstance(X, networkx.Graph):
        return X, None
    nodes = list(X)
    if len(nodes) < 2:
        raise ValueError(f"the graph has {len(nodes)} nodes; it must have at least 2")
    names = np.empty(len(nodes), dtype=object)
    names[:] = nodes
    return networkx.to_scipy_sparse_array(X, nodelist=nodes, dtype=np.float64, format="csr"), names


def _read(path):
    if not path.lower().endswith((".graphml", ".graphml.gz")):
        raise ValueError(f"{path!r} is no graph that can be read: GraphML files are, by their ending .graphml")
    try:
        import networkx
    except ImportError as error:
        raise ImportError("GraphML files are read by networkx: pip install networkx") from error
    return networkx.read_graphml(path)
