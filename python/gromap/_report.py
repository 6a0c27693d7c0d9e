"""Maps to look at: a page for the browser, a picture for a notebook."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np

from gromap import _arguments as given
from gromap import _core
from gromap._files import write_atomically


def page(levels, lineage, **about):
    """One self-contained HTML page of one fitted estimator, or of the levels of a path."""
    return _core.html(_levels(levels, lineage), describe(levels[-1], **_by_texts(levels, **about), single=len(levels) == 1))


def _by_texts(levels, texts=None, names=None, columns=None, **about):
    """Names of prototypes by the words of texts, which are shown too."""
    if texts is not None:
        texts = ["" if text is None else str(text) for text in texts]
        if len(texts) != len(levels[-1].labels_):
            raise ValueError(f"texts: expected {len(levels[-1].labels_)}, found {len(texts)}")
        if names is None:
            names = [level._model.names_from_texts(texts) for level in levels]
            names = names[0] if len(levels) == 1 else names
        columns = {} if columns is None else {str(name): columns[name] for name in columns}
        columns = {"text": texts, **columns}
    return {"names": names, "columns": columns, **about}


def picture(estimator):
    """A static SVG that fits the width of a notebook."""
    drawn = _core.svg(_levels([estimator], []), describe(estimator))
    # Without a size of its own it takes that of the box; its view box keeps the proportions.
    scaled = re.sub(r'^(<svg[^>]*?) width="[^"]*" height="[^"]*"', r"\1", drawn)
    return f'<div style="max-width: 40rem">{scaled}</div>'


def write_page(path, levels, lineage, **about):
    write_atomically(path, page(levels, lineage, **about).encode())


def describe(
    estimator,
    title=None,
    labels=None,
    images=None,
    columns=None,
    ids=None,
    X=None,
    names=None,
    numbers=None,
    facts=None,
    single=True,
):
    """What is known of the samples and the prototypes, as the bindings read it; of one map, or of levels in turn."""
    ids = getattr(estimator, "node_names_", None) if ids is None else ids
    columns = {} if columns is None else {str(name): columns[name] for name in columns}
    features = getattr(estimator, "feature_names_in_", None)
    return SimpleNamespace(
        title=title,
        labels=None if labels is None else np.asarray(labels).astype(str).tolist(),
        columns=[(name, _column(values)) for name, values in columns.items()],
        ids=None if ids is None else [str(name) for name in ids],
        images=None if images is None else _images(images),
        samples=None if X is None else given.together(estimator._samples(X)),
        feature_names=None if features is None else features.tolist(),
        parameters=[(name, str(value)) for name, value in _changed(estimator).items()],
        facts=[(str(name), _told(value)) for name, value in (facts or {}).items()],
        names=None if names is None else [[str(name) for name in level] for level in _each(names, single)],
        numbers=[
            (str(name), [np.asarray(level, dtype=np.float64).tolist() for level in _each(values, single)])
            for name, values in (numbers or {}).items()
        ],
    )


def _told(value):
    """A value as text; of many numbers the first."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return str(value)
    values = np.ravel(np.asarray(value, dtype=object))
    told = [f"{each:.3g}" if isinstance(each, float) else str(each) for each in values[:12].tolist()]
    return ", ".join(told) + (f" … ({len(values)} in all)" if len(values) > 12 else "")


def _each(values, single):
    """One sequence for each level."""
    return [values] if single else values


def _levels(levels, lineage):
    links = [[(int(k), int(m), float(mass)) for k, m, mass in zip(*_triples(link), strict=True)] for link in lineage]
    return [level._model for level in levels], links


def _triples(link):
    link = link.tocoo()
    return (*link.coords, link.data)


def _column(values):
    values = np.asarray(values)
    return values.astype(np.float64).tolist() if values.dtype.kind in "biuf" else values.astype(str).tolist()


def _images(images):
    """A picture in each row; width, height and channels."""
    images = np.asarray(images)
    if images.ndim not in (3, 4):
        raise ValueError(f"images must have shape (n_samples, height, width[, channels]), not {images.shape}")
    count, height, width, channels = images.shape if images.ndim == 4 else (*images.shape, 1)
    precision = np.float64 if images.dtype.itemsize > 4 else np.float32
    values = np.ascontiguousarray(images, dtype=precision).reshape(count, height * width * channels)
    return values, (width, height, channels)


def _changed(estimator):
    """Parameters that are not their default, for the footer."""
    defaults = type(estimator)().get_params()
    silent = {"callback", "verbose", "n_jobs", "init"}
    changed = {name: value for name, value in estimator.get_params().items() if name not in silent}
    return {name: value for name, value in changed.items() if not given.same(value, defaults[name])}
