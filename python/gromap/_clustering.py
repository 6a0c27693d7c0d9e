"""Clusters without places: the other end of the method."""

from __future__ import annotations

from numbers import Integral
from types import SimpleNamespace

from sklearn.utils import check_scalar

from gromap import _core
from gromap._estimator import Estimator


class GromovClustering(Estimator):
    """Clusters by semi-relaxed Gromov-Wasserstein, on any input similarity.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters.
    method : str, default="fuzzy-tsne"
        Whose similarity and loss are used; the names are those of :class:`GromovDR`.
    target : {"free", "identity"}, default="free"
        Learn how clusters relate (srGWB), or let them be alike only to themselves (srGWI).
    target_scale : {"max", "raw"}, default="max"
        With the identity: the similarity scaled to a largest entry of 1, or as it is.
    prototype_weights : {"learned", "uniform"} or array-like of shape (n,), default="learned"
        What clusters weigh: what their samples do, 1/n each, or these shares of the whole, which sum to 1. With other than
        learned weights the plan is found by conditional gradient, also if ``solver="vertex"``, and samples may be split:
        ``plan_`` shows how, ``hardness_`` how many are not.
    min_weight, max_weight : float, default=None
        What each of them weighs at least and at most, as shares of the whole, where weights are learned.
    perplexity, n_neighbors, loss, init, n_init, solver, max_iter, tol, pca, scale, precomputed, view_weights
        As in :class:`GromovDR`.
    kernel, gamma, coef0, degree
        As in :class:`GromovDR`: the kernel of ``method="kernel-pca"``.
    random_state, n_jobs, verbose, callback
        As in :class:`GromovDR`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of every sample.
    weights_ : ndarray of shape (n_clusters,)
        The share of the samples that each has; 0 where one is not used.
    target_ : ndarray of shape (n_clusters, n_clusters)
        How clusters relate.
    cluster_features_ : ndarray of shape (n_clusters, n_features) or None
        Their mean samples; None for a similarity or distances.
    plan_ : scipy.sparse.csr_array of shape (n_samples, n_clusters)
        The transport plan.
    loss_, loss_curve_, stop_reason_, hardness_, certificate_, n_iter_, view_weights_, warnings_
        How it was reached, as in :class:`GromovDR`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    GromovDR : Clusters with a place on a map.
    load : Clusters from a file.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gromap import GromovClustering, metrics
    >>> X, y = load_digits(return_X_y=True)
    >>> labels = GromovClustering(10, random_state=0).fit_predict(X)
    >>> metrics.adjusted_rand_score(y, labels) > 0.8
    True
    """

    _size = "n_clusters"

    def __init__(
        self,
        n_clusters=8,
        method="fuzzy-tsne",
        *,
        target="free",
        target_scale="max",
        prototype_weights="learned",
        min_weight=None,
        max_weight=None,
        perplexity=30.0,
        n_neighbors=None,
        loss=None,
        init="auto",
        n_init=1,
        solver="vertex",
        max_iter=200,
        tol=1e-9,
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
        self.n_clusters = n_clusters
        self.method = method
        self.target = target
        self.target_scale = target_scale
        self.prototype_weights = prototype_weights
        self.min_weight = min_weight
        self.max_weight = max_weight
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

    def _parameters(self):
        if self.n_clusters != "auto":
            check_scalar(self.n_clusters, "n_clusters", Integral, min_val=1)
        self._check_words("target", "target_scale")
        return SimpleNamespace(
            common=self._common(), n_clusters=self.n_clusters, target=self.target, target_scale=self.target_scale
        )

    def _solve(self, parameters, data, running):
        return _core.cluster(parameters, data, running)

    def _read_model(self, model, dtype):
        found = super()._read_model(model, dtype)
        self.target_ = found["target"]
        self.cluster_features_ = self._in_precision(found["features"])
        return found
