"""The estimators: thin classes over the fitted models of the core."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from gromap import _core
from gromap._transport import _csr, _Input, _labels, _plan, _Settings, _vector


class _Estimator(BaseEstimator):
    """What both estimators read from their parameters."""

    def _parameters(self, n_prototypes, **others):
        perplexity = np.atleast_1d(np.asarray(self.perplexity, dtype=np.float64))
        return SimpleNamespace(
            n_prototypes=n_prototypes,
            method=self.method,
            perplexity=list(perplexity),
            n_neighbors=self.n_neighbors,
            loss=self.loss,
            init=self.init if isinstance(self.init, str) else _plan(self.init),
            n_init=self.n_init,
            pca="none" if self.pca is None else self.pca,
            scale="none" if self.scale is None else self.scale,
            settings=_Settings(self.solver, None, self.max_iter, self.tol, self.random_state),
            **others,
        )

    def _samples(self, X, reset):
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=reset)
        return np.ascontiguousarray(X)

    @property
    def _precomputed(self):
        if self.precomputed not in (None, "similarity"):
            raise ValueError(f"precomputed is {self.precomputed!r}; it must be None or 'similarity'")
        return self.precomputed == "similarity"


class GromovDR(TransformerMixin, ClusterMixin, _Estimator):
    """Joint clustering and dimension reduction: N samples become n prototypes on a map.

    Parameters
    ----------
    n_prototypes : int or None, default=50
        Number of prototypes; None gives every sample one, which is classical dimension reduction.
    n_components : int, default=2
        Dimensions of the map.
    method : str, default="tsnekhorn"
        "pca", "kernel-pca", "mds", "isomap", "laplacian-eigenmaps", "sne", "tsne", "snekhorn", "tsnekhorn" or "umap".
    perplexity : float or sequence of float, default=30
        Effective number of neighbours of the entropic affinities; of several the mean affinity is taken.
    n_neighbors : int or None, default=None
        Neighbours looked at; None is what the method likes.
    alpha : float, default=1.0
        Weight of the structure against the features: 1 leaves the features out.
    alpha_scale : {"start", "raw"}, default="start"
        Whether both terms are divided by their value at the start, or taken as they are.
    normalization : {"measure", "cells"}, default="measure"
        What the Student kernels are divided by; "cells" is the paper's.
    loss : {"square", "kl", "bce"} or None, default=None
        How similarities are compared; None is the method's own.
    init : str or array, default="auto"
        "auto", "agglomerative", "spectral", "kmeans", "random", labels or a plan.
    n_init : int, default=1
        Starts, of which the lowest loss is kept.
    solver : {"vertex", "cg", "mirror"}, default="vertex"
        How the plan is improved.
    max_iter : int, default=100
        Rounds at most.
    tol : float, default=1e-5
        The descent ends when a round lowers the loss by no more than this share of it.
    pca : "auto", int or None, default="auto"
        Principal components kept before neighbours are sought; "auto" is 50 of more.
    scale : {None, "standard", "minmax"}, default=None
        Scaling of the features.
    kernel, gamma, coef0, degree : optional
        The kernel of kernel PCA, as in scikit-learn.
    precomputed : {None, "similarity"}, default=None
        Whether ``X`` is a similarity: an ndarray, a scipy sparse matrix, or a factor ``(A,)``.
    random_state : int, Generator, RandomState or None
        Seed of everything random.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n, n_components)
        Places of the prototypes that are used.
    weights_ : ndarray of shape (n,)
        Their weights, sum 1.
    prototype_features_ : ndarray of shape (n, n_features)
        Their mean samples.
    labels_ : ndarray of shape (n_samples,)
        The prototype of every sample.
    embedding_ : ndarray of shape (n_samples, n_components)
        The place of every sample.
    plan_ : scipy.sparse.csr_array
        The transport plan.
    loss_, loss_curve_, stop_reason_, hardness_, certificate_, n_iter_
        How it was reached.
    prototype_indices_ : ndarray of shape (n,)
        Which of the prototypes asked for are used.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gromap import GromovDR
    >>> X, _ = load_digits(return_X_y=True)
    >>> m = GromovDR(n_prototypes=20, random_state=0).fit(X)
    >>> m.prototypes_.shape, m.labels_.shape, bool(abs(m.weights_.sum() - 1) < 1e-9)
    ((20, 2), (1797,), True)
    """

    def __init__(
        self,
        n_prototypes=50,
        n_components=2,
        method="tsnekhorn",
        *,
        perplexity=30.0,
        n_neighbors=None,
        alpha=1.0,
        alpha_scale="start",
        normalization="measure",
        loss=None,
        init="auto",
        n_init=1,
        solver="vertex",
        max_iter=100,
        tol=1e-5,
        pca="auto",
        scale=None,
        kernel="rbf",
        gamma=None,
        coef0=1.0,
        degree=3,
        precomputed=None,
        random_state=None,
    ):
        self.n_prototypes = n_prototypes
        self.n_components = n_components
        self.method = method
        self.perplexity = perplexity
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.alpha_scale = alpha_scale
        self.normalization = normalization
        self.loss = loss
        self.init = init
        self.n_init = n_init
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
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Fit the map to samples, or to a similarity.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a similarity
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        parameters = self._map_parameters()
        if self._precomputed:
            self._model = _core.fit_similarity(parameters, _Input(X, sample_weight, None, None))
        else:
            X = self._samples(X, reset=True)
            self._model = _core.fit(parameters, X, _weights(sample_weight))
        return self._read(self._model)

    def _map_parameters(self):
        kernel = SimpleNamespace(kernel=self.kernel, gamma=self.gamma, coef0=self.coef0, degree=self.degree)
        return self._parameters(
            self.n_prototypes,
            n_components=self.n_components,
            alpha=float(self.alpha),
            alpha_scale=self.alpha_scale,
            normalization=self.normalization,
            kernel=kernel,
        )

    def _read(self, model):
        found = model.results()
        self.prototypes_ = found["prototypes"]
        self.weights_ = found["weights"]
        self.prototype_features_ = found["features"]
        self.labels_ = found["labels"].astype(np.int64)
        self.embedding_ = found["embedding"]
        self.plan_ = _csr(found["plan"], len(self.weights_))
        self.prototype_indices_ = found["kept"].astype(np.int64)
        self.loss_ = found["loss"]
        self.loss_curve_ = found["loss_curve"]
        self.stop_reason_ = found["stop_reason"]
        self.hardness_ = found["hardness"]
        self.certificate_ = found["certificate"]
        self.n_iter_ = len(self.loss_curve_) - 1
        self.warnings_ = found["warnings"]
        return self

    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit, and return the place of every sample."""
        return self.fit(X, sample_weight=sample_weight).embedding_

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit, and return the prototype of every sample."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X):
        """Place new samples, each by itself: one row step with the prototypes frozen."""
        check_is_fitted(self)
        return self._model.transform(self._samples(X, reset=False))

    def predict(self, X):
        """Return the prototype of every new sample."""
        check_is_fitted(self)
        return self._model.predict(self._samples(X, reset=False)).astype(np.int64)

    def path(self, X, sizes, *, warm=False, sample_weight=None):
        """Fit several numbers of prototypes on one similarity.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sizes : sequence of int
            Numbers of prototypes, ascending.
        warm : bool, default=False
            Start each level from the one before instead of afresh.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        levels : list of GromovDR
            A fitted estimator for each size, their maps turned onto each other.
        lineage : list of scipy.sparse.csr_array
            For each level but the first, the mass that its prototypes (columns) have from those before (rows).
        """
        samples = self._samples(X, reset=True)
        sizes = [int(size) for size in sizes]
        models, links = _core.path(self._map_parameters(), samples, sizes, warm, _weights(sample_weight))
        levels = []
        for size, model in zip(sizes, models, strict=True):
            level = GromovDR(**{**self.get_params(), "n_prototypes": size})
            level.n_features_in_ = samples.shape[1]
            level._model = model
            levels.append(level._read(model))
        lineage = []
        for before, after, triples in zip(levels[:-1], levels[1:], links, strict=True):
            rows, columns, mass = (np.array(column) for column in zip(*triples, strict=True))
            lineage.append(sp.csr_array((mass, (rows, columns)), shape=(len(before.weights_), len(after.weights_))))
        return levels, lineage


class GromovClustering(ClusterMixin, _Estimator):
    """Clusters by semi-relaxed Gromov-Wasserstein, on any input similarity.

    Parameters
    ----------
    n_clusters : int, default=8
    method : str, default="tsnekhorn"
        Whose similarity and loss are used.
    target : {"free", "identity"}, default="free"
        Learn how clusters relate (srGWB), or let them be alike only to themselves (srGWI).
    target_scale : {"max", "raw"}, default="max"
        With the identity: the similarity scaled to a largest entry of 1, or as it is.
    perplexity, n_neighbors, loss, init, n_init, solver, max_iter, tol, pca, scale, precomputed, random_state
        As in :class:`GromovDR`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    weights_ : ndarray of shape (n_clusters,)
    target_ : ndarray of shape (n_clusters, n_clusters)
        How clusters relate.
    cluster_features_ : ndarray of shape (n_clusters, n_features)
        Mean samples.
    plan_, loss_, loss_curve_, stop_reason_, hardness_, certificate_, n_iter_
        How it was reached.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gromap import GromovClustering, metrics
    >>> X, y = load_digits(return_X_y=True)
    >>> labels = GromovClustering(10, random_state=0).fit_predict(X)
    >>> metrics.adjusted_rand_score(y, labels) > 0.8
    True
    """

    def __init__(
        self,
        n_clusters=8,
        method="tsnekhorn",
        *,
        target="free",
        target_scale="max",
        perplexity=30.0,
        n_neighbors=None,
        loss=None,
        init="auto",
        n_init=1,
        solver="vertex",
        max_iter=200,
        tol=1e-9,
        pca="auto",
        scale=None,
        precomputed=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.method = method
        self.target = target
        self.target_scale = target_scale
        self.perplexity = perplexity
        self.n_neighbors = n_neighbors
        self.loss = loss
        self.init = init
        self.n_init = n_init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.pca = pca
        self.scale = scale
        self.precomputed = precomputed
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Cluster samples, or by a similarity.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a similarity
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        kernel = SimpleNamespace(kernel="rbf", gamma=None, coef0=None, degree=None)
        parameters = self._parameters(
            self.n_clusters, n_components=1, alpha=1.0, alpha_scale="start", normalization="measure", kernel=kernel
        )
        target = (self.target, self.target_scale)
        if self._precomputed:
            found = _core.cluster_similarity(parameters, target, _Input(X, sample_weight, None, None))
        else:
            found = _core.cluster(parameters, target, self._samples(X, reset=True), _weights(sample_weight))
        self.plan_ = _csr(found["plan"], self.n_clusters)
        self.labels_ = _labels(self.plan_)
        self.weights_ = found["weights"]
        self.target_ = found["target"]
        self.cluster_features_ = found["features"]
        self.loss_ = found["loss"]
        self.loss_curve_ = found["loss_curve"]
        self.stop_reason_ = found["stop_reason"]
        self.hardness_ = found["hardness"]
        self.certificate_ = found["certificate"]
        self.n_iter_ = len(self.loss_curve_) - 1
        self.warnings_ = found["warnings"]
        return self


def _weights(sample_weight):
    return None if sample_weight is None else _vector(sample_weight, "sample_weight", np.float64)
