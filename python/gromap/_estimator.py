"""What both estimators share: parameters checked and handed over, data validated, a fit watched, a model kept."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from numbers import Integral, Real
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_array, check_scalar
from sklearn.utils.validation import _check_sample_weight, _get_feature_names, check_is_fitted, validate_data

from gromap import _arguments as given
from gromap import _core, _graph, _sure, table
from gromap._files import write_atomically
from gromap._progress import Bar, CallbackSupportMixin, SklearnCallbacks, Watch, with_callbacks

# What is said of a feature of a prototype.
_CONTRAST = ("feature", "mean", "against_rest", "against_neighbors")

_FLOATS = [np.float64, np.float32]

# What is known of the samples; all other fitted values follow from the model.
_OF_SAMPLES = ("n_features_in_", "feature_names_in_", "node_names_")

# Frames from a warning to whoever called fit: scikit-learn's callbacks put one of their own between.
_USER = 4 if hasattr(CallbackSupportMixin, "set_callbacks") else 3


def _frame(groups):
    """Rows of descriptions as columns."""
    columns = {key: [group[key] for group in groups] for key in ("name", "weight", "members", "typical")}
    for at in range(max((len(group["features"]) for group in groups), default=0)):
        told = [group["features"][at] if at < len(group["features"]) else (None, None, None, None) for group in groups]
        for key, values in zip(_CONTRAST, zip(*told, strict=True), strict=True):
            columns[f"{key}_{at + 1}"] = list(values)
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


class _Named(NamedTuple):
    array: np.ndarray
    names: list[str]


def _words(values):
    return [str(value) for value in np.asarray(values).tolist()]


class Estimator(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """A thin class over a recipe of the core; a subclass has its parameters and reads its own fitted values."""

    _size: str
    """The parameter that says how many prototypes or clusters there are."""

    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
        """Fit to samples, to a similarity, to distances, to a graph, or to several views of the same samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or what ``precomputed`` says
            With ``precomputed="similarity"`` an ndarray, a scipy sparse matrix, or a factor ``(A,)``; with
            ``precomputed="graph"`` an ndarray or a scipy sparse matrix; with ``precomputed="distance"`` an ndarray; each of
            shape (n_samples, n_samples). Frames with text or dates are made numbers of by the rules of :func:`gromap.table.read`,
            whose result is taken too. A graph may also be one of networkx, whose edges weigh their ``weight`` or 1, or the
            name of a GraphML file; ``node_names_`` then has its nodes, in the order of all that is said of samples. A list of
            these, but for graphs and tables, has several views of the same samples, which ``view_weights`` weighs; views that
            are samples may also come in a tuple.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Equal by default.

        Returns
        -------
        self
        """
        parameters = self._parameters()
        size = getattr(self, self._size)
        data = self._data(X, sample_weight, None if size == "auto" else size)
        if isinstance(size, str):
            found = _sure.count(_sure.of_map(parameters.common), data, self._quietly(), False)
            setattr(parameters, self._size, found.n_prototypes)
            if found.n_prototypes == 1:
                warnings.warn(found.sentence, stacklevel=_USER - 1)
        with self._running(SklearnCallbacks.of(self, self._most_rounds, X, sample_weight)) as running:
            model = self._solve(parameters, data, running)
        self._read_model(model if data.ids is None else model.named(data.ids, None, None), data.dtype)
        self._warn()
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit, and return the prototype or cluster of every sample.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.fit(X, y, sample_weight=sample_weight).labels_

    def predict(self, X, return_distance=False):
        """Return the prototype or cluster of every new sample; each is placed by itself.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a list of them
            If both these and the samples fitted to are DataFrames, columns are matched by name. A fit to several views needs
            all of them, in the same order.
        return_distance : bool, default=False
            Whether to return distances and outliers too.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        distances : ndarray of shape (n_samples,)
            To the mean sample of the prototype, features scaled as for the fit; only if asked for.
        is_outlier : ndarray of bool of shape (n_samples,)
            Whether that is farther, for its prototype, than any sample was that was fitted to; only if asked for.
        """
        check_is_fitted(self)
        if return_distance:
            labels, distances, is_outlier = self._model.novelty(self._samples(X), self._quietly())
            return labels.astype(np.int64), distances, is_outlier
        return self._model.predict(self._samples(X), self._quietly()).astype(np.int64)

    def compare(self, X):
        """Compare new samples with those fitted to: which are unlike any, and how weights shift.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        Comparison
        """
        check_is_fitted(self)
        placed, outliers, shifts = self._model.compare(self._samples(X), self._quietly())
        before, after, error = (np.array(column) for column in zip(*shifts, strict=True))
        return _sure.Comparison(placed, np.array(outliers, dtype=np.int64), before, after, error)

    def stability(self, X, n_resamples=20):
        """Say how sure the groups are: refit on halves of the samples, and see what is found again.

        A warning says where groups are no better than those of a Gaussian with the same mean and covariance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples fitted to.
        n_resamples : int, default=20
            Number of refits, each on half of the samples.

        Returns
        -------
        Stability
            ``prototypes`` has the Jaccard index of every prototype, for colours:
            ``m.report("map.html", numbers={"stability": m.stability(X).prototypes})``; ``samples`` has the co-assignment of
            every sample.
        """
        check_is_fitted(self)
        check_scalar(n_resamples, "n_resamples", Integral, min_val=1)
        with self._running() as running:
            found = self._model.stability(self._samples(X), n_resamples, running)
        if found["warning"] is not None:
            warnings.warn(found["warning"], stacklevel=2)
        return _sure.Stability(found["prototypes"], found["samples"], found["reference"], found["doubtful"])

    def save(self, path, *, labels=None, ids=None, names=None):
        """Write the fitted model to a file that Python, Rust and the ``gromap`` command read.

        The file holds all that :func:`gromap.load` needs to predict and transform. It appears whole or not at all, and
        replaces what was there.

        Parameters
        ----------
        path : str or path-like
        labels : array-like of shape (n_samples,), optional
            Known classes to keep with it.
        ids : sequence of str, optional
            Names of the samples to keep with it.
        names : sequence of str of length n, optional
            Names of the prototypes or clusters to keep with it.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from gromap import GromovDR, load
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> m = GromovDR(5, perplexity=10, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     m.save(os.path.join(folder, "a.gromap"))
        ...     again = load(os.path.join(folder, "a.gromap"))
        >>> bool((again.predict(X) == m.predict(X)).all())
        True
        """
        check_is_fitted(self)
        labels, ids, names = (None if told is None else _words(told) for told in (labels, ids, names))
        if any(told is not None for told in (labels, ids, names)):
            self._read_model(self._model.named(ids, labels, names), self._dtype)
        write_atomically(path, self._model.to_bytes())

    def describe(self, X=None, *, texts=None, labels=None, ids=None, names=None):
        """Say what each prototype or cluster is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            The samples fitted to: with them deviations are those of the samples, and typical samples are those near the mean.
        texts : sequence of str of length n_samples, optional
            A text of each sample, whose words name the prototypes.
        labels : array-like of shape (n_samples,), optional
            Known classes; without texts the largest one names a prototype.
        ids : sequence of str, optional
            Names of the samples.
        names : sequence of str of length n, optional
            Names to use instead.

        Returns
        -------
        pandas.DataFrame, or a dict of its columns where there is no pandas
            One row for each prototype: ``name``, ``weight``, ``members``, ``typical`` (a list of sample names), and for the features
            that set it apart most ``feature_1``, ``mean_1``, ``against_rest_1`` (standard deviations from the mean of all other
            samples), ``against_neighbors_1`` (from that of the nearest prototypes on the map), and so on.

        Examples
        --------
        >>> import numpy as np
        >>> from gromap import GromovDR
        >>> X = np.concatenate([np.random.default_rng(0).normal(c, 1.0, (30, 2)) for c in (0.0, 9.0)])
        >>> m = GromovDR(2, perplexity=10, random_state=0).fit(X)
        >>> found = m.describe(X, texts=["a cat"] * 30 + ["a dog"] * 30)
        >>> sorted(found["name"])
        ['cat', 'dog']
        """
        check_is_fitted(self)
        if isinstance(X, table.Table) and ids is None:
            ids = X.ids
        about = SimpleNamespace(
            samples=None if X is None else given.together(self._samples(X)),
            texts=None if texts is None else ["" if text is None else str(text) for text in texts],
            labels=None if labels is None else _words(labels),
            ids=None if ids is None else _words(ids),
            names=None if names is None else _words(names),
        )
        return _frame(self._model.describe(about))

    def _common(self):
        """Everything the core asks for that both estimators have."""
        check_scalar(self.n_init, "n_init", Integral, min_val=1)
        check_scalar(self.max_iter, "max_iter", Integral, min_val=0)
        check_scalar(self.tol, "tol", Real, min_val=0)
        check_scalar(self.coef0, "coef0", Real)
        check_scalar(self.degree, "degree", Integral, min_val=0)
        self._check_words("method", "solver", "kernel")
        self._check_words("loss", "scale", optional=True)
        for name in ("min_weight", "max_weight"):
            if getattr(self, name) is not None:
                check_scalar(getattr(self, name), name, Real)
        if self.gamma is not None:
            check_scalar(self.gamma, "gamma", Real)
        if self.n_neighbors is not None:
            check_scalar(self.n_neighbors, "n_neighbors", Integral, min_val=1)
        if self.pca is not None and not isinstance(self.pca, str):
            check_scalar(self.pca, "pca", Integral, min_val=1)
        if self.precomputed not in (None, "similarity", "distance", "graph"):
            raise ValueError(
                f"precomputed is {self.precomputed!r}; it must be None, 'similarity', 'distance' or 'graph'"
            )
        perplexity = np.atleast_1d(np.asarray(self.perplexity, dtype=np.float64))
        return SimpleNamespace(
            method=self.method,
            perplexity=perplexity.ravel().tolist(),
            n_neighbors=self.n_neighbors,
            kernel=self.kernel,
            gamma=self.gamma,
            coef0=self.coef0,
            degree=self.degree,
            loss=self.loss,
            init=self.init if isinstance(self.init, str) else given.plan_of(self.init, "init"),
            n_init=self.n_init,
            pca="none" if self.pca is None else str(self.pca),
            scale="none" if self.scale is None else self.scale,
            view_weights=(
                self.view_weights
                if isinstance(self.view_weights, str)
                else given.vector(self.view_weights, "view_weights", np.float64)
            ),
            rule=given.Rule(self.prototype_weights, self.min_weight, self.max_weight),
            # Only a share of the loss means the same for every similarity.
            settings=given.Settings(self.solver, None, self.max_iter, self.tol, 0.0, self.random_state),
        )

    def _check_words(self, *names, optional=False):
        """Refuses what is no text; which words there are, the core says."""
        for name in names:
            value = getattr(self, name)
            if not (optional and value is None):
                check_scalar(value, name, str)

    def _samples(self, X):
        """New samples as the core reads them, their columns in the order of those fitted to."""
        given.refuse_anndata(X)
        if isinstance(X, table.Table):
            X = _Named(X.X, X.feature_names)
        elif self._table is not None and table.is_frame(X):
            return table.encoded(self._table, X)
        if isinstance(X, _Named):
            return np.ascontiguousarray(X.array[:, self._model.columns_of(0, X.names)])
        if given.has_views(X, self.precomputed):
            return [self._view(self._in_order(view, at), at, 1) for at, view in enumerate(X)]
        if len(self.view_weights_) > 1:
            raise ValueError(f"X must be a list of {len(self.view_weights_)} views: this was fitted to as many")
        return self._validated(self._in_order(X, 0), reset=False)

    def _in_order(self, X, view):
        """Columns of a view in the order of those fitted to, if both have names."""
        names = _get_feature_names(X)
        if names is None or not hasattr(self, "feature_names_in_"):
            return X
        columns = self._model.columns_of(view, names.tolist())
        return X if columns == list(range(len(names))) else _safe_indexing(X, columns, axis=1)

    def _view(self, X, at, least):
        """One of several views, validated as samples or pairs are."""
        sparse = False if self.precomputed == "distance" else "csr"
        name = f"view {at + 1}"
        X = check_array(X, accept_sparse=sparse, dtype=_FLOATS, order="C", ensure_min_samples=least, input_name=name)
        if self.precomputed is None:
            return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"{name} must be square, not {X.shape[0]} x {X.shape[1]}")
        return X

    def _views(self, views):
        """Several views to fit to, and the names of all their features if every view has names."""
        names = [_get_feature_names(view) for view in views]
        views = [self._view(view, at, 2) for at, view in enumerate(views)]
        for name in _OF_SAMPLES:
            if hasattr(self, name):
                delattr(self, name)
        self.n_features_in_ = sum(view.shape[1] for view in views)
        if self.precomputed is None and all(of_view is not None for of_view in names):
            self.feature_names_in_ = np.concatenate(names)
        return views

    def _validated(self, X, reset=True):
        """C-contiguous f32 or f64 as it is, anything else converted once."""
        least = 2 if reset else 1
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, order="C", ensure_min_samples=least, reset=reset)
        return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)

    def _data(self, X, sample_weight, size):
        """What a fit works on, as the bindings read it; there must be at least `size` samples."""
        given.refuse_anndata(X)
        tabulated = self._tabulated(X)
        if tabulated is not None:
            X = tabulated.X
        if self.precomputed == "graph":
            X, names = _graph.weights_and_names(X)
            self.__dict__.pop("node_names_", None)
            if names is not None:
                self.node_names_ = names
        if given.has_views(X, self.precomputed):
            X = self._views(X)
        elif self.precomputed is None:
            X = self._validated(X)
        elif self.precomputed != "similarity" or not isinstance(X, tuple):
            # What a sparse matrix leaves out is no distance.
            sparse = False if self.precomputed == "distance" else "csr"
            X = validate_data(self, X, accept_sparse=sparse, dtype=_FLOATS, order="C", ensure_min_samples=2)
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed {self.precomputed} must be square, not {X.shape[0]} x {X.shape[1]}")
        several = isinstance(X, list)
        # Sparse views become one matrix, which the core keeps in single precision.
        array = [given.similarity_of(_single(view)) for view in X] if several else given.similarity_of(X)
        rows = X[0] if several else array[0] if isinstance(X, tuple) else X
        n_samples = rows.shape[0]
        dtype = np.result_type(*(view.dtype for view in X)) if several else rows.dtype
        names = getattr(self, "feature_names_in_", None) if self.precomputed is None else None
        if tabulated is not None:
            names = np.array(tabulated.feature_names, dtype=object)
        if size is not None and size > n_samples:
            raise ValueError(f"n_samples={n_samples} should be >= {self._size}={size}.")
        if sample_weight is not None:
            # It reads no more of X than the number of rows and the kind of array.
            empty = np.empty((n_samples, 0))
            sample_weight = _check_sample_weight(sample_weight, empty, dtype=np.float64, ensure_non_negative=True)
        return SimpleNamespace(
            kind=self.precomputed or "samples",
            array=array,
            weights=sample_weight,
            feature_names=None if names is None else names.tolist(),
            table=None if tabulated is None else tabulated.encoding,
            ids=None if tabulated is None else tabulated.ids,
            dtype=dtype,
        )

    def _tabulated(self, X):
        """A table, or a frame that has to become one; what was decided about a frame is a warning."""
        if self.precomputed is not None or isinstance(X, table.Table):
            return X if isinstance(X, table.Table) else None
        if not table.is_mixed(X):
            return None
        tabulated = table.read(X)
        for note in tabulated.notes:
            warnings.warn(f"{note} (gromap.table.read has these options)", stacklevel=_USER + 1)
        return tabulated

    def _quietly(self):
        return SimpleNamespace(threads=given.threads(self.n_jobs), callback=None)

    @contextmanager
    def _running(self, callbacks=None):
        """Threads and a watch for the core; the bar is closed however a fit ends."""
        bar = Bar(self._most_rounds) if self.verbose else None
        watch = Watch(bar, self.callback, callbacks)
        outcome = "stopped"
        try:
            yield SimpleNamespace(threads=given.threads(self.n_jobs), callback=watch if watch.listens else None)
            outcome = "done"
        finally:
            if bar is not None:
                bar.end(outcome)
        if callbacks is not None:
            callbacks.end()

    @property
    def _most_rounds(self):
        return self.max_iter * self.n_init

    def _read_model(self, model, dtype):
        """Keeps the model and the fitted values that users see; returns its results, for those that a subclass has."""
        self._model, self._dtype = model, dtype
        found = model.results()
        if found["feature_names"] is not None:
            self.feature_names_in_ = np.array(found["feature_names"], dtype=object)
        self._table = found["table"]
        self.ids_ = found["ids"]
        self.known_labels_ = found["classes"]
        self.names_ = found["prototype_names"]
        self.weights_ = found["weights"]
        self.view_weights_ = found["view_weights"]
        self.labels_ = found["labels"].astype(np.int64)
        self.plan_ = given.csr(found["plan"], len(self.weights_))
        self.loss_ = found["loss"]
        self.loss_curve_ = found["loss_curve"]
        self.stop_reason_ = found["stop_reason"]
        self.hardness_ = found["hardness"]
        self.certificate_ = found["certificate"]
        # The round that found nothing to move was one too; a classical method has no rounds and counts as one.
        rounds = len(self.loss_curve_) - 1 + (self.stop_reason_ == "stationary")
        self.n_iter_ = max(rounds, min(1, self.max_iter))
        self.warnings_ = found["warnings"]
        return found

    def _in_precision(self, array):
        """An array in the precision of the samples."""
        return None if array is None else array.astype(self._dtype, copy=False)

    def _warn(self, frames=_USER):
        """`frames` up from here is whoever called."""
        for message in self.warnings_:
            warnings.warn(message, stacklevel=frames)
        if self.stop_reason_ == "max_rounds":
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} rounds; more of them, or a larger "
                f"tol than {self.tol}, would let it",
                ConvergenceWarning,
                stacklevel=frames,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.precomputed != "distance"
        tags.input_tags.pairwise = self.precomputed is not None
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __getstate__(self):
        """Pickles hold the model in its own format, so that copies through them are equal in every bit."""
        state = super().__getstate__()
        if "_model" not in state:
            return state
        kept = {name: value for name, value in state.items() if not name.endswith("_") or name in _OF_SAMPLES}
        return {**kept, "_model": self._model.to_bytes()}

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_model" in state:
            self._read_model(_core.Model.from_bytes(state["_model"]), state["_dtype"])


def _single(view):
    return view.astype(np.float32) if sp.issparse(view) else view
