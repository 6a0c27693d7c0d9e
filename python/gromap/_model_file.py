"""Models from disk: one file for Python, Rust and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from gromap import _core
from gromap._clustering import GromovClustering
from gromap._reduction import GromovDR

# Parameters of the model file that have another name in scikit-learn.
_NAMES = {
    "prototypes": "n_prototypes",
    "clusters": "n_clusters",
    "dims": "n_components",
    "neighbors": "n_neighbors",
    "max_rounds": "max_iter",
    "tolerance": "tol",
    "seed": "random_state",
}


def load(path):
    """Read a model that ``save``, Rust or the ``gromap`` command wrote.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    GromovDR or GromovClustering
        What the file holds, fitted, with the parameters it was fitted with. A damaged file, or one of a later gromap,
        is a ``ValueError``.
    """
    model = _core.Model.from_bytes(Path(path).read_bytes())
    asked = json.loads(model.parameters())
    kind = GromovClustering if "clusters" in asked else GromovDR
    estimator = kind(**_parameters(kind, asked))
    found = estimator._read_model(model, np.dtype(np.float64))
    if found["fitted_to"] != "samples":
        estimator.precomputed = found["fitted_to"]
    if found["features"] is not None:
        estimator.n_features_in_ = found["features"].shape[1]
    return estimator


def _parameters(kind, asked):
    """The parameters of an estimator; those that it does not offer are not asked for by it either."""
    (perplexity, *others), pca, scale = asked["perplexity"], asked["pca"], asked["scale"]
    asked["perplexity"] = [perplexity, *others] if others else perplexity
    asked["pca"] = None if pca == "none" else int(pca) if pca.isdecimal() else pca
    asked["scale"] = None if scale == "none" else scale
    # A plan that was given is in the file, but belongs to its samples: nobody starts from it by accident.
    asked["init"] = "auto" if asked["init"] == "plan" else asked["init"]
    offered = kind._get_param_names()
    named = {_NAMES.get(name, name): value for name, value in asked.items()}
    return {name: value for name, value in named.items() if name in offered}
