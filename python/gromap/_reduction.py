"""The map: joint clustering and dimension reduction as one estimator."""

from __future__ import annotations

from numbers import Integral, Real
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_scalar, estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gromap import _arguments as given
from gromap import _core, _report, _widget, metrics
from gromap._estimator import Estimator

# Neighbours that `score` looks at; scikit-learn's trustworthiness has the same default.
_SCORED_NEIGHBORS = 5


def _has_labels(estimator):
    if estimator.n_prototypes is None:
        raise AttributeError("n_prototypes is None: new samples have places of their own (transform), not labels")
    return True


class GromovDR(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Joint clustering and dimension reduction: N samples become n prototypes on a map.

    Every prototype has a place, a weight, a mean sample, and the samples it stands for. With few prototypes this is
    clustering, with one for every sample it is classical dimension reduction; in between it is both.

    Parameters
    ----------
    n_prototypes : int, "auto" or None, default=50
        Number of prototypes; None gives every sample one, which is classical dimension reduction. "auto" takes what
        :func:`gromap.suggest` would.
    n_components : int, default=2
        Dimensions of the map.
    method : str, default="fuzzy-tsne"
        "pca", "kernel-pca", "mds", "isomap", "laplacian-eigenmaps", "sne", "tsne", "snekhorn", "tsnekhorn",
        "heavy-tsne", "fuzzy-tsne" or "umap".
    perplexity : float or sequence of float, default=30
        Effective number of neighbours of every sample, for methods that have one; less than the number of samples; of several the
        mean affinity is taken, near and far at once.
    n_neighbors : int or None, default=None
        Neighbours looked at; None is what the method likes.
    alpha : float, default=1.0
        Weight of the structure against the features: 1 leaves the features out.
    alpha_scale : {"start", "raw"}, default="start"
        Whether both terms are divided by their value at the start, or taken as they are.
    normalization : str or None, default=None
        What the kernel of a neighbour embedding is divided by: "none", "cells" (its sum), "measure" (its sum weighted by
        the prototypes), "rows", "doubly-stochastic" (every row sums to 1 against the weights) or
        "doubly-stochastic-cells" (every row sums to 1, as published); None is the method's own.
    coupling : float, default=0.25
        How much the map has to say about the groups: with 1, as in the paper, samples go where the map can show them
        best; with 0 groups are found without a map and then placed.
    loss : {"square", "kl", "bce"} or None, default=None
        How similarities are compared; None is the method's own.
    init : str or array, default="auto"
        "auto", "agglomerative", "spectral", "kmeans", "random", labels or a plan.
    n_init : int, default=1
        Starts, of which the lowest loss is kept.
    prototype_weights : {"learned", "uniform"} or array-like of shape (n,), default="learned"
        What prototypes weigh: what their samples do, 1/n each, or these shares of the whole, which sum to 1. With other than
        learned weights the plan is found by conditional gradient, also if ``solver="vertex"``, and samples may be split:
        ``plan_`` shows how, ``hardness_`` how many are not.
    min_weight, max_weight : float, default=None
        What each of them weighs at least and at most, as shares of the whole, where weights are learned.
    solver : {"vertex", "cg", "mirror"}, default="vertex"
        How the plan is improved.
    max_iter : int, default=100
        Rounds at most.
    tol : float, default=1e-5
        The descent ends when a round lowers the loss by no more than this share of it.
    pca : "auto", int or None, default="auto"
        Principal components kept before neighbours are sought; "auto" is 50 of more.
    scale : {"auto", None, "standard", "minmax"}, default="auto"
        Scaling of the features; "auto" is "standard" for tables with text or dates (:mod:`gromap.table`), and none for all else.
    kernel, gamma, coef0, degree : optional
        The kernel of kernel PCA, as in scikit-learn, but for ``gamma=None`` of a kernel of distances: one over their
        median.
    precomputed : {None, "similarity", "distance", "graph"}, default=None
        Whether ``X`` is a similarity (an ndarray, a scipy sparse matrix, or a factor ``(A,)``), which is taken as it is;
        distances of all pairs (an ndarray), of which the method makes what it would make of samples; or a graph by the
        weights of its edges (an ndarray or a scipy sparse matrix). Nodes of a graph are as alike as short random walks
        meet them, and weigh what their degrees say; edges have no direction and loops do not count. Nodes without edges or
        in components too small for a prototype weigh nothing and join the heaviest one.
    view_weights : {"equal", "learned"} or array-like of shape (n_views,), default="equal"
        How much each view counts, where ``X`` is a list of views of the same samples: all the same, by how well common
        clusters serve each of them, or in these proportions.
    random_state : int, Generator, RandomState or None
        Seed of everything random. None draws a new one every time.
    n_jobs : int or None, default=None
        Threads; None and -1 use all cores. The result is the same, bit for bit, for any number.
    verbose : int, default=0
        Whether to show a progress bar: on a terminal, in a notebook, or as lines in a log.
    callback : callable or None, default=None
        Called with a :class:`Progress` at the start of every stage and after every round. If it returns something
        true, the descent ends with the best state so far (``stop_reason_`` is then "interrupted").

    Attributes
    ----------
    prototypes_ : ndarray of shape (n, n_components)
        Places of the prototypes that are used.
    weights_ : ndarray of shape (n,)
        Their weights, sum 1.
    prototype_features_ : ndarray of shape (n, n_features) or None
        Their mean samples; None for a similarity or distances.
    labels_ : ndarray of shape (n_samples,)
        The prototype of every sample.
    embedding_ : ndarray of shape (n_samples, n_components)
        The place of every sample: that of its prototype.
    sample_places_ : ndarray of shape (n_samples, n_components)
        A place of its own for every sample, among the prototypes: a map of all samples at the cost of one of n. For kernels of
        the distance its nearest prototype is the one it belongs to; for "pca", "mds" and their like it is the least-squares
        projection.
    plan_ : scipy.sparse.csr_array of shape (n_samples, n)
        The transport plan.
    prototype_indices_ : ndarray of shape (n,)
        Which of the prototypes asked for are used.
    loss_ : float
        The loss reached.
    loss_curve_ : ndarray
        The loss at the start and after every round, never increasing.
    stop_reason_ : str
        "converged", "stationary", "max_rounds", "inexact" (on a similarity that is not exactly the one asked for:
        ``warnings_`` says why) or "interrupted".
    n_iter_ : int
        Rounds done.
    hardness_ : float
        Share of the sample mass that goes to a single prototype.
    certificate_ : str or None
        Why a hard optimum must exist, if that is known: "psd", "nsd" or "squared_euclidean".
    view_weights_ : ndarray of shape (n_views,)
        How much each view counts, sum 1.
    warnings_ : list of str
        What was not done as well as asked.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    GromovClustering : Clusters without places.
    load : A map from a file.

    Notes
    -----
    The loss is semi-relaxed Gromov-Wasserstein: every sample keeps its weight, prototypes take what they get
    (Van Assel, Vincent-Cuaz, Vayer, Flamary and Courty, 2023).

    Single precision in, single precision out. Sparse samples are made dense.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gromap import GromovDR
    >>> X, _ = load_digits(return_X_y=True)
    >>> m = GromovDR(n_prototypes=20, random_state=0).fit(X)
    >>> m.prototypes_.shape, m.labels_.shape, bool(abs(m.weights_.sum() - 1) < 1e-9)
    ((20, 2), (1797,), True)
    >>> m.transform(X[:3]).shape, m.predict(X[:3]).shape
    ((3, 2), (3,))
    """

    _size = "n_prototypes"

    def __init__(
        self,
        n_prototypes=50,
        n_components=2,
        method="fuzzy-tsne",
        *,
        perplexity=30.0,
        n_neighbors=None,
        alpha=1.0,
        alpha_scale="start",
        normalization=None,
        coupling=0.25,
        loss=None,
        init="auto",
        n_init=1,
        prototype_weights="learned",
        min_weight=None,
        max_weight=None,
        solver="vertex",
        max_iter=100,
        tol=1e-5,
        pca="auto",
        scale="auto",
        kernel="rbf",
        gamma=None,
        coef0=1.0,
        degree=3,
        precomputed=None,
        view_weights="equal",
        random_state=None,
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self.n_prototypes = n_prototypes
        self.n_components = n_components
        self.method = method
        self.perplexity = perplexity
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.alpha_scale = alpha_scale
        self.normalization = normalization
        self.coupling = coupling
        self.loss = loss
        self.init = init
        self.n_init = n_init
        self.prototype_weights = prototype_weights
        self.min_weight = min_weight
        self.max_weight = max_weight
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.pca = pca
        self.scale = scale
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.precomputed = precomputed
        self.view_weights = view_weights
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit, and return the place of every sample.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y, sample_weight=sample_weight).embedding_

    def transform(self, X, places="prototype"):
        """Place new samples, each by itself: on its prototype, or on a place of its own.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a list of them
            If both these and the samples fitted to are DataFrames, columns are matched by name. A fit to several views needs
            all of them, in the same order.
        places : {"prototype", "sample"}, default="prototype"
            Whether a sample is placed where its prototype is, or on a place of its own among the prototypes, by the rule of
            ``sample_places_``. With a prototype for every sample both are the same.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        check_scalar(places, "places", str)
        X = self._samples(X)
        dtype = np.result_type(*X) if isinstance(X, list) else X.dtype
        return self._model.transform(X, places, self._quietly()).astype(dtype, copy=False)

    predict = available_if(_has_labels)(Estimator.predict)

    def score(self, X, y=None):
        """How well the map keeps neighbours: the trustworthiness of the places of ``X``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples, new or not; at least 4.
        y : ignored

        Returns
        -------
        float
            1 if all neighbours on the map are neighbours among the samples, about 1/2 for a random map.
        """
        check_is_fitted(self)
        X = self._samples(X)
        places = self._model.transform(X, "prototype", self._quietly())
        X = np.hstack(X) if isinstance(X, list) else X
        return metrics.trustworthiness(X, places, n_neighbors=min(_SCORED_NEIGHBORS, (len(X) - 1) // 2))

    def path(self, X, sizes, *, warm=False, sample_weight=None):
        """Fit several numbers of prototypes on one similarity.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or what ``precomputed`` says
        sizes : sequence of int
            Numbers of prototypes, ascending.
        warm : bool, default=False
            Start each level from the one before instead of afresh.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        Path
            ``levels``, a fitted estimator for each size, their maps turned onto each other, and ``lineage``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gromap import GromovDR
        >>> X, _ = load_iris(return_X_y=True)
        >>> levels, lineage = GromovDR(perplexity=15, random_state=0).path(X, [3, 6])
        >>> [len(level.weights_) for level in levels], lineage[0].shape
        ([3, 6], (3, 6))
        """
        parameters = self._parameters()
        sizes = [given.count(size) for size in sizes]
        data = self._data(X, sample_weight, max(sizes, default=None))
        with self._running() as running:
            models, links = _core.path(parameters, data, sizes, "warm" if warm else "fresh", running)
        # A path that was stopped has the levels that were reached.
        if data.ids is not None:
            models = [model.named(data.ids, None, None) for model in models]
        levels = [self._level(size, model, data.dtype) for size, model in zip(sizes, models, strict=False)]
        for level in levels:
            level._warn(frames=3)
        shapes = [tuple(len(level.weights_) for level in pair) for pair in zip(levels[:-1], levels[1:], strict=True)]
        return Path(levels, [_matrix(triples, shape) for triples, shape in zip(links, shapes, strict=True)])

    def report(
        self,
        path,
        *,
        title=None,
        labels=None,
        images=None,
        columns=None,
        ids=None,
        X=None,
        texts=None,
        names=None,
        numbers=None,
        facts=None,
    ):
        """Write the map as one HTML file that needs no network.

        Parameters
        ----------
        path : str or path-like
        title : str, optional
            What stands above the map.
        labels : array-like of shape (n_samples,), optional
            Classes to colour by.
        images : ndarray of shape (n_samples, height, width) or (n_samples, height, width, channels), optional
            Pictures of the samples: numbers from 0 to 1, from 0 to 255, or any that are then stretched to these.
        columns : mapping of str to array-like of shape (n_samples,), optional
            More to colour by or to search in, a DataFrame for example.
        ids : sequence, optional
            Names of the samples.
        X : array-like of shape (n_samples, n_features), optional
            The samples fitted to; with them the members of a prototype are ordered by how near its mean they are.
        texts : sequence of str of length n_samples, optional
            A text of each sample: its words name the prototypes, and it is shown.
        names : sequence of str of length n_prototypes, optional
            Names of the prototypes; without, they go by their texts, by their largest class, by what they stand out by, or by a text.
        numbers : mapping of str to array-like of shape (n_prototypes,), optional
            Numbers of the prototypes to colour by, such as ``{"stability": ...}``.
        facts : mapping of str to value, optional
            More to know about how the map was made, shown behind "details".
        """
        check_is_fitted(self)
        about = {"title": title, "labels": labels, "images": images, "columns": columns, "ids": ids, "X": X}
        words = {"texts": texts, "names": names, "numbers": numbers, "facts": facts}
        _report.write_page(path, [self], [], **about, **words)

    def widget(self, *, height=640, **about):
        """The map in a notebook, with what is selected on it back in Python.

        Needs ``pip install 'gromap[notebook]'``.

        Parameters
        ----------
        height : int, default=640
            Height in pixels.
        **about
            What :meth:`report` takes: ``title``, ``labels``, ``images``, ``columns``, ``ids``, ``X``, ``texts``, ``names``,
            ``numbers``, ``facts``.

        Returns
        -------
        anywidget.AnyWidget
            Its ``selection`` has the selected prototypes and can be set; ``selected_samples`` has their samples.
        """
        check_is_fitted(self)
        return _widget.widget([self], [], height, **about)

    def _parameters(self):
        if self.n_prototypes is not None and self.n_prototypes != "auto":
            check_scalar(self.n_prototypes, "n_prototypes", Integral, min_val=1)
        check_scalar(self.n_components, "n_components", Integral, min_val=1)
        check_scalar(self.alpha, "alpha", Real, min_val=0, max_val=1)
        check_scalar(self.coupling, "coupling", Real, min_val=0, max_val=1)
        self._check_words("alpha_scale")
        self._check_words("normalization", optional=True)
        return SimpleNamespace(
            common=self._common(),
            n_prototypes=None if self.n_prototypes == "auto" else self.n_prototypes,
            n_components=self.n_components,
            alpha=float(self.alpha),
            alpha_scale=self.alpha_scale,
            normalization=self.normalization,
            coupling=float(self.coupling),
        )

    def _solve(self, parameters, data, running):
        return _core.fit(parameters, data, running)

    def _level(self, size, model, dtype):
        """An estimator of one size with a model of that size."""
        level = type(self)(**{**self.get_params(), "n_prototypes": size})
        for name in ("n_features_in_", "feature_names_in_", "node_names_"):
            if hasattr(self, name):
                setattr(level, name, getattr(self, name))
        level._read_model(model, dtype)
        return level

    def _read_model(self, model, dtype):
        found = super()._read_model(model, dtype)
        self.prototypes_ = self._in_precision(found["prototypes"])
        self.prototype_features_ = self._in_precision(found["features"])
        self.embedding_ = self._in_precision(found["embedding"])
        self.sample_places_ = self._in_precision(model.sample_places())
        self.prototype_indices_ = found["kept"].astype(np.int64)
        return found

    @property
    def _n_features_out(self):
        return self.prototypes_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _repr_html_(self):
        """The map, once there is one; scikit-learn's diagram before."""
        return _report.picture(self) if hasattr(self, "_model") else estimator_html_repr(self)

    def _repr_mimebundle_(self, **kwargs):
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class Path(NamedTuple):
    """Maps of a growing number of prototypes, and how one becomes the next."""

    levels: list[GromovDR]
    """A fitted estimator for each size."""
    lineage: list[sp.csr_array]
    """For each level but the first, the mass that its prototypes (columns) have from those before (rows)."""

    def report(
        self,
        path,
        *,
        title=None,
        labels=None,
        images=None,
        columns=None,
        ids=None,
        X=None,
        texts=None,
        names=None,
        numbers=None,
        facts=None,
    ):
        """Write all maps as one HTML file, with a slider from few prototypes to many.

        Parameters
        ----------
        path, title, labels, images, columns, ids, X, texts
            As in :meth:`GromovDR.report`.
        names : sequence of sequence of str, optional
            A name of each prototype, one sequence for each level.
        numbers : mapping of str to sequence of sequence of float, optional
            Numbers of each prototype to colour by, one sequence for each level.
        facts : mapping of str to value, optional
            As in :meth:`GromovDR.report`.
        """
        about = {"title": title, "labels": labels, "images": images, "columns": columns, "ids": ids, "X": X}
        words = {"texts": texts, "names": names, "numbers": numbers, "facts": facts}
        _report.write_page(path, self.levels, self.lineage, **about, **words)

    def widget(self, *, height=640, **about):
        """All maps in a notebook, with the slider; as :meth:`GromovDR.widget`, whose ``level`` says which one is shown."""
        return _widget.widget(self.levels, self.lineage, height, **about)


def _matrix(triples, shape):
    rows, columns, mass = (np.array(column) for column in zip(*triples, strict=True))
    return sp.csr_array((mass, (rows, columns)), shape=shape)
