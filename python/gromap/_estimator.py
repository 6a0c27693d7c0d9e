"""What both estimators share: parameters checked and handed over, samples validated, a fit watched."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from numbers import Integral, Real
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar
from sklearn.utils.validation import _check_sample_weight, validate_data

from gromap import _arguments as given
from gromap._progress import Bar, CallbackSupportMixin, SklearnCallbacks, Watch

_FLOATS = [np.float64, np.float32]

# Frames from a warning to whoever called fit: scikit-learn's callbacks put one of their own between.
_USER = 4 if hasattr(CallbackSupportMixin, "set_callbacks") else 3


class Estimator(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """A thin class over a recipe of the core."""

    def _parameters(self, **others):
        """Everything the core asks for that both estimators have."""
        check_scalar(self.n_init, "n_init", Integral, min_val=1)
        check_scalar(self.max_iter, "max_iter", Integral, min_val=0)
        check_scalar(self.tol, "tol", Real, min_val=0)
        self._check_words("method", "solver")
        self._check_words("loss", "scale", optional=True)
        if self.n_neighbors is not None:
            check_scalar(self.n_neighbors, "n_neighbors", Integral, min_val=1)
        if self.pca is not None and not isinstance(self.pca, str):
            check_scalar(self.pca, "pca", Integral, min_val=1)
        perplexity = np.atleast_1d(np.asarray(self.perplexity, dtype=np.float64))
        settings = given.Settings(self.solver, None, self.max_iter, self.tol, self.random_state)
        return SimpleNamespace(
            method=self.method,
            perplexity=perplexity.ravel().tolist(),
            n_neighbors=self.n_neighbors,
            loss=self.loss,
            init=self.init if isinstance(self.init, str) else given.plan_of(self.init, "init"),
            n_init=self.n_init,
            pca="none" if self.pca is None else self.pca,
            scale="none" if self.scale is None else self.scale,
            settings=settings,
            **others,
        )

    def _check_words(self, *names, optional=False):
        """Refuses what is no text; which words there are, the core says."""
        for name in names:
            value = getattr(self, name)
            if not (optional and value is None):
                check_scalar(value, name, str)

    def _check_precomputed(self):
        if self.precomputed not in (None, "similarity", "distance"):
            raise ValueError(f"precomputed is {self.precomputed!r}; it must be None, 'similarity' or 'distance'")

    def _samples(self, X, reset):
        """Samples as the core reads them: C-contiguous f32 or f64 as it is, anything else converted once."""
        least = 2 if reset else 1
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, order="C", ensure_min_samples=least, reset=reset)
        return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)

    def _input(self, X, sample_weight, size, name):
        """What a fit works on: samples, a similarity or distances, and weights; `size` of `name` must not exceed their
        number."""
        self._check_precomputed()
        if self.precomputed is None:
            X = self._samples(X, reset=True)
            parts = X, X.shape[0], X.dtype
        elif isinstance(X, tuple) and self.precomputed == "similarity":
            similarity = given.similarity_of(X)
            parts = similarity, similarity[0].shape[0], similarity[0].dtype
        else:
            # What a sparse matrix leaves out is no distance.
            sparse = "csr" if self.precomputed == "similarity" else False
            X = validate_data(self, X, accept_sparse=sparse, dtype=_FLOATS, order="C", ensure_min_samples=2)
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed {self.precomputed} must be square, not {X.shape[0]} x {X.shape[1]}")
            parts = X, X.shape[0], X.dtype
        X, n_samples, dtype = parts
        if size is not None and size > n_samples:
            raise ValueError(f"n_samples={n_samples} should be >= {name}={size}.")
        if sample_weight is not None:
            # It reads no more of X than the number of rows and the kind of array.
            rows = np.empty((n_samples, 0))
            sample_weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        return X, sample_weight, dtype

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

    def _callbacks(self, X, sample_weight):
        return SklearnCallbacks.of(self, self._most_rounds, X, sample_weight)

    @property
    def _most_rounds(self):
        return self.max_iter * self.n_init

    def _read_outcome(self, found):
        """How it was reached, and what was not done as well as asked."""
        self.loss_ = found["loss"]
        self.loss_curve_ = found["loss_curve"]
        self.stop_reason_ = found["stop_reason"]
        self.hardness_ = found["hardness"]
        self.certificate_ = found["certificate"]
        # The round that found nothing to move was one too; a classical method has no rounds and counts as one.
        rounds = len(self.loss_curve_) - 1 + (self.stop_reason_ == "stationary")
        self.n_iter_ = max(rounds, min(1, self.max_iter))
        self.warnings_ = found["warnings"]

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
