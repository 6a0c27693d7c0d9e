"""Counts of genes, as single-cell data come: sparse, skewed, of very different totals.

Six simulated cell types, 2,000 cells, 1,000 genes, a few marker genes for each type. The usual steps (share of the
cell's total, logarithm) come first; the map then takes the matrix as it is. A prototype is a small group of like
cells, what others call a metacell, and the genes that stand out in it say which type it is.
"""

import numpy as np
import scipy.sparse as sp
from gromap import GromovDR, metrics

rng = np.random.default_rng(0)
types, genes, cells, markers = 6, 1000, 2000, 25
base = rng.gamma(0.3, 1.0, genes)
profiles = np.tile(base, (types, 1))
for kind in range(types):
    profiles[kind, kind * markers : (kind + 1) * markers] += rng.gamma(4.0, 1.0, markers)
profiles /= profiles.sum(axis=1, keepdims=True)
truth = rng.choice(types, cells, p=[0.35, 0.25, 0.15, 0.12, 0.1, 0.03])
depth = rng.lognormal(7.0, 0.5, cells)
counts = sp.csr_array(rng.poisson(profiles[truth] * depth[:, None]))
print(f"{cells} cells, {genes} genes, {counts.nnz / np.prod(counts.shape):.0%} of the counts are not zero")

# Counts per 10,000, then log(1 + x): zeros stay zeros.
totals = sp.diags_array(1e4 / counts.sum(axis=1))
expression = (totals @ counts).tocsr()
expression.data = np.log1p(expression.data)

m = GromovDR(n_prototypes=30, perplexity=30, random_state=0).fit(expression.astype(np.float32))
print(f"{len(m.weights_)} groups of like cells, from {m.weights_.min():.1%} to {m.weights_.max():.1%} of them")

# Marker genes: where a prototype's mean is farthest above the mean of all cells.
above = m.prototype_features_ - expression.mean(axis=0)
strongest = above.argmax(axis=1)
named = strongest // markers  # genes 0 to 24 mark the first type, and so on
for kind in range(types):
    members = np.flatnonzero(named == kind)
    print(f"type {kind}: prototypes {members.tolist()}, {m.weights_[members].sum():.1%} of the cells")

found = named[m.labels_]
score = metrics.adjusted_rand_score(truth, found)
print(f"agreement of the types named by marker genes with the simulated ones: {score:.2f}")
assert score > 0.9 and metrics.homogeneity_score(truth, m.labels_) > 0.9
