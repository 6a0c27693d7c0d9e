"""Clusters of samples and of features at once."""

from __future__ import annotations

from numbers import Integral, Real
from pathlib import PurePath
from types import SimpleNamespace

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_scalar
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from gromap import _arguments as given
from gromap import _core
from gromap._files import write_atomically


class CootClustering(ClusterMixin, BaseEstimator):
    """Co-clustering by CO-Optimal Transport (Redko et al., 2020).

    Finds clusters of samples, clusters of features and the matrix of the means of their blocks, the summary S::

        min over S, T, U:  sum_ijkl (X[i,j] - S[k,l])^2 T[i,k] U[j,l]

    by turns: the plan T of the samples and the plan U of the features are transport problems, S a mean.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters of samples.
    n_feature_clusters : int, default=8
        Clusters of features.
    prototype_weights, feature_weights : {"learned", "uniform"} or array-like, default="learned"
        What clusters of samples and of features weigh: what their members do, the same, or these shares, which sum to 1. With
        given weights members may be split between clusters, and both problems are balanced transport.
    n_init : int, default=10
        Starts from different seeds, of which the lowest loss is kept.
    max_iter : int, default=200
        Rounds at most.
    tol : float, default=1e-9
        Stop when a round lowers the loss by no more than this share of it.
    random_state : int, numpy Generator or RandomState, default=None
        Seed of the starts.
    n_jobs : int, default=None
        Threads, counted as joblib does; the result does not depend on them.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster that takes most of each sample.
    feature_labels_ : ndarray of shape (n_features,)
        The cluster that takes most of each feature.
    summary_ : ndarray of shape (n_clusters, n_feature_clusters)
        Means of the blocks.
    plan_ : scipy.sparse.csr_array of shape (n_samples, n_clusters)
        How much of each sample each cluster takes.
    feature_plan_ : scipy.sparse.csr_array of shape (n_features, n_feature_clusters)
        How much of each feature each cluster takes.
    loss_, loss_curve_, stop_reason_, hardness_, n_iter_
        How it was reached; hardness is that of ``plan_``.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from gromap import CootClustering
    >>> X = np.kron(np.array([[0.0, 1.0], [1.0, 0.0]]), np.ones((6, 4)))
    >>> found = CootClustering(2, 2, random_state=0).fit(X)
    >>> bool(found.loss_ < 1e-12), len(set(found.feature_labels_[:4]))
    (True, 1)
    """

    def __init__(
        self,
        n_clusters=8,
        n_feature_clusters=8,
        *,
        prototype_weights="learned",
        feature_weights="learned",
        n_init=10,
        max_iter=200,
        tol=1e-9,
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.n_feature_clusters = n_feature_clusters
        self.prototype_weights = prototype_weights
        self.feature_weights = feature_weights
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None, sample_weight=None):
        """Co-cluster samples and features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Equal by default.

        Returns
        -------
        self
        """
        for name in ("n_clusters", "n_feature_clusters", "n_init"):
            check_scalar(getattr(self, name), name, Integral, min_val=1)
        check_scalar(self.max_iter, "max_iter", Integral, min_val=0)
        check_scalar(self.tol, "tol", Real, min_val=0)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        parameters = SimpleNamespace(
            n_clusters=int(self.n_clusters),
            n_feature_clusters=int(self.n_feature_clusters),
            prototype_weights=given.Rule(self.prototype_weights).prototype_weights,
            feature_weights=given.Rule(self.feature_weights).prototype_weights,
            n_init=int(self.n_init),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            seed=given.seed(self.random_state),
        )
        running = SimpleNamespace(threads=given.threads(self.n_jobs), callback=None)
        found = _core.coot(parameters, X, weights, running)
        self.plan_ = given.csr(found["plan"], parameters.n_clusters)
        self.feature_plan_ = given.csr(found["feature_plan"], parameters.n_feature_clusters)
        self.labels_ = given.labels_of(self.plan_)
        self.feature_labels_ = given.labels_of(self.feature_plan_)
        self.summary_ = found["summary"]
        self.loss_, self.loss_curve_ = found["loss"], found["loss_curve"]
        self.stop_reason_, self.hardness_ = found["stop_reason"], found["hardness"]
        self.n_iter_ = len(self.loss_curve_) - 1
        return self

    def report(self, path, X=None, *, title=None, ids=None):
        """Write a picture of the co-clustered matrix: rows and columns in the order of their clusters, the means of blocks beside it.

        Parameters
        ----------
        path : str or path-like
            ``.html`` is a page that also lists the members of every cluster, ``.svg`` the picture alone. Neither needs a network.
        X : array-like of shape (n_samples, n_features), optional
            What was fitted; without it every value is shown as the mean of its block.
        title : str, optional
        ids : sequence of n_samples, optional
            Names of the samples.
        """
        check_is_fitted(self)
        ending = PurePath(path).suffix.lower()
        if ending not in (".html", ".htm", ".svg"):
            raise ValueError(f"path must end in .html or .svg, not in {ending!r}")
        names = getattr(self, "feature_names_in_", None)
        about = SimpleNamespace(
            labels=self.labels_.tolist(),
            feature_labels=self.feature_labels_.tolist(),
            summary=self.summary_,
            samples=None if X is None else validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False),
            title=title,
            ids=None if ids is None else [str(name) for name in ids],
            feature_names=None if names is None else names.tolist(),
        )
        write_atomically(path, _core.blocks(about, ending == ".svg").encode())
