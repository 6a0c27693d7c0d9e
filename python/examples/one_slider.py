"""From t-SNE to clusters in one slider.

t-SNE shows every sample and names no groups; k-means names groups and shows nothing. Here both are ends of one
number: with a prototype for every sample the method is t-SNE, with ten it is a clustering that has places, and
everything between is a map with fewer and fewer points. The page has the slider.

Usage: python one_slider.py [map.html]
"""

import sys

from gromap import GromovDR, metrics
from sklearn.datasets import load_digits

digits = load_digits(n_class=6)
X, y = digits.data[:500], digits.target[:500]

# The classical end: every sample is a prototype.
tsne = GromovDR(None, method="tsne", perplexity=30, random_state=0).fit(X)
print(f"n = N = {len(tsne.weights_)}: trustworthiness {metrics.trustworthiness(X, tsne.embedding_):.3f}")

# The rest of the way, on one similarity.
path = GromovDR(method="tsne", perplexity=30, random_state=0).path(X, [6, 12, 25, 50])
for level in reversed(path.levels):
    trust = metrics.trustworthiness(X, level.embedding_)
    purity = metrics.homogeneity_score(y, level.labels_)
    agreement = metrics.adjusted_rand_score(y, level.labels_)
    n = len(level.weights_)
    print(
        f"n = {n:3d}: trustworthiness {trust:.3f}, homogeneity {purity:.2f}, agreement with the digits {agreement:.2f}"
    )

if len(sys.argv) > 1:
    path.report(sys.argv[1], title="From t-SNE to clusters", labels=y, images=digits.images[:500] / 16, X=X)
    print(f"The slider is in {sys.argv[1]}.")

few, many = path.levels[0], path.levels[-1]
assert metrics.adjusted_rand_score(y, few.labels_) > 0.8, "the clustering end names the digits"
assert metrics.trustworthiness(X, many.embedding_) > 0.95, "the other end keeps neighbours"
