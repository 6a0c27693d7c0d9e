"""How many groups there are, and how sure they are: what `suggest` and `stability` give back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from gromap import _core


class Candidate(NamedTuple):
    """A number of prototypes, and what speaks for it."""

    n_prototypes: int
    stability: float | None
    """How much of a group is found again in half of the samples: the mean Jaccard index; None without samples."""
    loss: float
    """The loss of the clusters; all of one table are of one similarity."""
    silhouette: float | None
    """The silhouette of the samples by their groups; None without samples."""


class Suggestion(NamedTuple):
    """How many prototypes to take, and why."""

    n_prototypes: int
    """How many to take; 1 where there are no groups."""
    sentence: str
    """What to take and why."""
    table: list[Candidate]
    """A path over n; ``pandas.DataFrame(table)`` shows it."""
    link: float | None
    """How well the two groups are linked that are linked best: near 0 apart, about 1 within a group; None for one group."""
    reference_link: float
    """The weakest link in data of the same mean and covariance without groups."""

    def __str__(self):
        def number(value):
            return "-" if value is None else f"{value:.3f}"

        head = "prototypes  stability          loss  silhouette"
        rows = [f"{n:>10}  {number(s):>9}  {loss:>12.6e}  {number(w):>10}" for n, s, loss, w in self.table]
        return "\n".join([head, *rows, "", self.sentence])


class Stability(NamedTuple):
    """How much of the groups of a model is found again in halves of the samples."""

    prototypes: np.ndarray
    """For every prototype the mean Jaccard index of the group that covers it best in a refit, from 0 to 1."""
    samples: np.ndarray
    """For every sample the share of its group that is with it in refits; NaN where no half-sample had it."""
    reference: float
    """What chance reaches: 95 in 100 prototypes of data without groups stay below it."""
    doubtful: np.ndarray
    """Prototypes that are no better than that."""


class Comparison(NamedTuple):
    """New samples against those that a model was fitted to."""

    placed: float
    """The share of the new samples that are not outliers."""
    outliers: np.ndarray
    """Rows of new samples farther from their prototype than any sample was that was fitted to."""
    before: np.ndarray
    """Weights of the prototypes in the model."""
    after: np.ndarray
    """Their shares of the new samples."""
    error: np.ndarray
    """The standard error of ``after - before``, as if both were counts of independent samples."""


def suggest(X, *, sample_weight=None, **parameters):
    """Suggest a number of prototypes.

    Samples are cut into many groups, which are joined again where as much crosses the boundary between them as through
    their middles. What counts as a boundary is measured on data of the same mean and covariance without groups.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), or what ``precomputed`` says
        At least 24 samples.
    sample_weight : array-like of shape (n_samples,), optional
    **parameters
        Those of :class:`gromap.GromovDR`, such as ``perplexity``, ``scale``, ``random_state`` or ``precomputed``.

    Returns
    -------
    Suggestion

    Examples
    --------
    >>> import numpy as np
    >>> import gromap
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(10 * k, 1, (100, 4)) for k in range(5)])
    >>> gromap.suggest(X, random_state=0).n_prototypes
    5
    """
    from gromap._reduction import GromovDR

    if "n_prototypes" in parameters:
        raise TypeError("suggest() finds n_prototypes; leave it out")
    return suggestion(GromovDR(n_prototypes=None, **{"random_state": 0, **parameters}), X, sample_weight, True)


def suggestion(estimator, X, sample_weight, with_table):
    parameters = estimator._parameters()
    data = estimator._data(X, sample_weight, None)
    with estimator._running() as running:
        return count(parameters, data, running, with_table)


def count(parameters, data, running, with_table):
    """The suggestion for data that are validated; parameters of a map say how they are looked at."""
    found = _core.suggest(parameters, data, with_table, running)
    table = [Candidate(*row) for row in found["table"]]
    return Suggestion(found["n_prototypes"], found["sentence"], table, found["link"], found["reference_link"])


def of_map(common):
    """Parameters of a map that say how groups are counted, for an estimator of any kind."""
    return SimpleNamespace(
        common=common,
        n_prototypes=None,
        n_components=2,
        alpha=1.0,
        alpha_scale="start",
        normalization=None,
        coupling=0.25,
    )
