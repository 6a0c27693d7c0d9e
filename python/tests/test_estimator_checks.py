"""scikit-learn's own checks of both estimators, and how many of them ran."""

from collections import Counter
from unittest import SkipTest

import sklearn
from gromap import GromovClustering, GromovDR
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

# Their data are small: as few prototypes and neighbours as these have samples for.
SMALL = {"perplexity": 4, "random_state": 0}
MAP = GromovDR(3, **SMALL)
CLASSICAL = GromovDR(None, method="pca")
CLUSTERS = GromovClustering(3, **SMALL)
ESTIMATORS = [MAP, CLASSICAL, CLUSTERS]

SIMILARITY_HAS_NO_WEIGHTS = (
    "a weight is mass that a plan carries; neighbours, means and affinities are those of the rows that are there, so a "
    "row left out or repeated is another similarity"
)
NO_CLUSTERS = "n_prototypes=None gives every sample a prototype of its own: nothing is clustered"
WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data": SIMILARITY_HAS_NO_WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": SIMILARITY_HAS_NO_WEIGHTS,
}
# The settings of pytest make a check that is expected to fail, and does not, a failure.
EXPECTED = {"map": WEIGHTS, "classical": {**WEIGHTS, "check_clustering": NO_CLUSTERS}, "clusters": WEIGHTS}


def kind(estimator):
    if isinstance(estimator, GromovClustering):
        return "clusters"
    return "classical" if estimator.n_prototypes is None else "map"


RAN, SKIPPED = Counter(), []


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED[kind(estimator)])
def test_scikit_learn(estimator, check):
    RAN[kind(estimator)] += 1
    try:
        check(estimator)
    except SkipTest as skip:
        SKIPPED.append(str(skip))
        raise


# How many there are in scikit-learn 1.9. Other versions have numbers of their own, none below that of 1.6.
KNOWN = {"map": 59, "classical": 59, "clusters": 54}
LEAST = 40


def test_all_of_them_ran():
    offered = {kind(estimator): sum(1 for _ in estimator_checks_generator(estimator)) for estimator in ESTIMATORS}
    assert dict(RAN) == offered
    assert all("SCIPY_ARRAY_API" in reason for reason in SKIPPED), "only what the environment must switch on is skipped"
    assert min(RAN.values()) >= LEAST
    if sklearn.__version__.startswith("1.9."):
        assert dict(RAN) == KNOWN
