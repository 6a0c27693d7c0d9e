"""A graph, given as a CSR matrix: there are no features, only who knows whom.

600 people in four groups know many of their own group and few of the others. The two middle groups know each other
better than the rest, which a list of clusters cannot say and a map can.

Usage: python graph.py [map.html]
"""

import sys

import numpy as np
import scipy.sparse as sp
from gromap import GromovClustering, GromovDR, metrics

rng = np.random.default_rng(0)
groups = np.repeat(np.arange(4), 150)
chances = np.array(
    [
        [0.15, 0.01, 0.00, 0.00],
        [0.01, 0.15, 0.03, 0.00],
        [0.00, 0.03, 0.15, 0.01],
        [0.00, 0.00, 0.01, 0.15],
    ]
)
knows = np.triu(rng.random((600, 600)) < chances[np.ix_(groups, groups)], k=1)
graph = sp.csr_array(knows | knows.T, dtype=float)
print(f"{graph.shape[0]} people, {graph.nnz // 2} acquaintances")

# Communities: nodes that short random walks meet together.
labels = GromovClustering(4, precomputed="graph", random_state=0).fit_predict(graph)
score = metrics.adjusted_rand_score(groups, labels)
print(f"GromovClustering: agreement with the groups {score:.2f}")
assert score > 0.9

# A map of 40 prototypes: small circles of acquaintances, near each other if they know each other.
m = GromovDR(n_prototypes=40, precomputed="graph", random_state=0).fit(graph)
centres = np.array([m.embedding_[groups == group].mean(axis=0) for group in range(4)])
distances = np.linalg.norm(centres[:, None] - centres, axis=2)
print("distances between the groups on the map:")
print(np.round(distances, 1))
if len(sys.argv) > 1:
    names = np.array(["rowers", "singers", "dancers", "climbers"])
    m.report(sys.argv[1], title="Who knows whom", labels=names[groups], ids=[f"person {i}" for i in range(600)])
    print(f"The map is in {sys.argv[1]}.")

assert distances[1, 2] < distances[0, 3], "those who know each other are nearer"
