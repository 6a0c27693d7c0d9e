"""A map of handwritten digits.

1,797 pictures of 8 x 8 pixels become 40 prototypes. Each has a place in the plane, a weight, and a mean picture;
samples of one digit share few prototypes, and prototypes of one digit lie side by side. Nothing below tells the map
which picture shows which digit: the labels only score it.

Usage: python images.py [map.html]
"""

import sys

import numpy as np
from gromap import GromovDR, metrics
from sklearn.datasets import load_digits

digits = load_digits()
m = GromovDR(n_prototypes=40, perplexity=30, random_state=0, verbose=1).fit(digits.data)

# What a prototype looks like: its mean picture, in characters from light to dark.
heaviest = np.argsort(-m.weights_)[:6]
shades = np.array(list(" .:-=+*#%@"))
pictures = [shades[np.round(m.prototype_features_[k] / 16 * 9).astype(int)].reshape(8, 8) for k in heaviest]
print("The six heaviest prototypes, and the share of the pictures that each stands for:")
print("   ".join(f"{m.weights_[k]:8.1%}" for k in heaviest))
for row in range(8):
    print("   ".join("".join(picture[row]) for picture in pictures))

# Is a prototype one digit? And do samples that lie together belong together?
purity = metrics.homogeneity_score(digits.target, m.labels_)
silhouette = metrics.silhouette_score(m.embedding_, digits.target)
print(f"homogeneity {purity:.2f}, silhouette of the digits on the map {silhouette:.2f}")

if len(sys.argv) > 1:
    m.report(sys.argv[1], title="Handwritten digits", labels=digits.target, images=digits.images / 16, X=digits.data)
    print(f"The map is in {sys.argv[1]}.")

assert purity > 0.85 and silhouette > 0.2
