"""How many prototypes? One path over n, and what each level gains.

`path` fits several n on one similarity, which is the expensive part, and turns each map onto the one before. The loss
falls with n, as that of any clustering does; where it stops falling fast, more prototypes only cut groups into
pieces. What the pieces are is in the lineage: how much of each prototype goes on to which of the next level.
"""

import numpy as np
from gromap import GromovDR, metrics
from sklearn.datasets import make_blobs

# Twelve groups, three of them around each of four centres.
rng = np.random.default_rng(0)
far = np.array([[0, 0, 0], [30, 0, 0], [0, 30, 0], [0, 0, 30]])
centers = np.concatenate([center + rng.normal(0, 3.5, (3, 3)) for center in far])
X, y = make_blobs(1200, centers=centers, cluster_std=0.6, random_state=0)

sizes = [2, 4, 8, 12, 16, 24, 48]
levels, lineage = GromovDR(perplexity=30, random_state=0).path(X, sizes)

print("   n     loss   gain for each new prototype   agreement with the 12 groups")
for before, level in zip([None, *levels[:-1]], levels, strict=True):
    n, score = len(level.weights_), metrics.adjusted_rand_score(y, level.labels_)
    gain = "" if before is None else f"{(before.loss_ - level.loss_) / (n - len(before.weights_)):.4f}"
    print(f"{n:4d} {level.loss_:8.4f}   {gain:>27}   {score:.2f}")

gains = [
    (a.loss_ - b.loss_) / (len(b.weights_) - len(a.weights_)) for a, b in zip(levels[:-1], levels[1:], strict=True)
]
print(f"up to 12, a new prototype gains at least {min(gains[:3]):.3f}; beyond, at most {max(gains[3:]):.3f}")

# Who comes from whom: each column says which prototypes of the level before a prototype is made of.
four_to_eight = lineage[sizes.index(8) - 1]
for parent in range(4):
    children = four_to_eight[[parent]].tocoo().coords[1]
    print(f"prototype {parent} of 4 goes on to {children.tolist()} of 8")

assert metrics.adjusted_rand_score(y, levels[sizes.index(12)].labels_) > 0.9
assert min(gains[:3]) > 2 * max(gains[3:])
