"""Models on disk: one file for Python, Rust and the command, written whole or not at all."""

from __future__ import annotations

import json
import os
import struct
import tempfile
from pathlib import Path

# Where the model file and the estimator use different words.
_WORDS = {"at-start": "start", "min-max": "minmax", "polynomial": "poly", "none": None}


def write_atomically(path, data):
    """Write bytes beside the file and put them in its place: readers see the old file or the new one."""
    path = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # As open() would have made it: mkstemp gives the file to its owner alone.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def parameters_of(data):
    """The parameters of an estimator, from the bytes of a model that was read before and so is known to be sound."""
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["gromap-model"])
    asked = header["parameters"]
    start, projection, perplexities = asked["start"], asked["projection"], asked["perplexities"]
    return {
        "n_prototypes": asked["prototypes"],
        "n_components": asked["dims"],
        "method": asked["method"],
        "perplexity": perplexities[0] if len(perplexities) == 1 else perplexities,
        "n_neighbors": asked["neighbors"],
        "alpha": asked["alpha"],
        "alpha_scale": _word(asked["alpha_scale"]),
        "normalization": asked["normalization"],
        "loss": asked["loss"],
        # A plan that was given is in the file, but belongs to its samples: nobody starts from it by accident.
        "init": "auto" if start == "plan" else start,
        "n_init": asked["n_init"],
        "solver": _named(asked["solver"])[0],
        "max_iter": asked["max_rounds"],
        "tol": asked["rel_tolerance"],
        "pca": _word(projection) if isinstance(projection, str) else projection["to"],
        "scale": _word(asked["scaling"]),
        "precomputed": "similarity" if header["rows"] == "unknown" else None,
        "random_state": asked["seed"],
        **_kernel(asked["kernel"]),
    }


def _word(word):
    return _WORDS.get(word, word)


def _named(form):
    """A variant and its fields: ``"vertex"`` has none, ``{"mirror": {...}}`` has."""
    return (form, {}) if isinstance(form, str) else next(iter(form.items()))


def _kernel(form):
    name, fields = _named(form)
    return {"kernel": _word(name), **fields}
