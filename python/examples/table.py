"""A table: customers of a shop by what they spend, how often they come and how they pay.

1,200 made-up customers in a DataFrame. Columns have different units, so they are scaled; money is taken by its logarithm, and
ways to pay become columns of their own. The names of the columns stay with the model: prototypes are named by what they stand out
by, and new tables may have their columns in another order.

Usage: python table.py [map.html]
"""

import sys

import numpy as np
import pandas as pd
from gromap import GromovDR, metrics

rng = np.random.default_rng(0)
KINDS = pd.DataFrame(
    {
        "age": [24, 41, 67, 35],
        "visits": [14, 3, 5, 24],
        "revenue": [60, 900, 250, 2500],
        "returns": [4, 0.5, 0.3, 2],
    },
    index=["students", "gift buyers", "pensioners", "regulars"],
)
kind = rng.choice(len(KINDS), 1200, p=[0.4, 0.25, 0.2, 0.15])
centre = KINDS.to_numpy()[kind]
customers = pd.DataFrame(
    {
        "age": np.clip(rng.normal(centre[:, 0], 6), 16, 95).round(),
        "visits": rng.poisson(centre[:, 1]),
        "revenue": (centre[:, 2] * rng.lognormal(0, 0.4, 1200)).round(2),
        "returns": rng.poisson(centre[:, 3]),
        "pays by": np.where(rng.random(1200) < np.array([0.9, 0.6, 0.2, 0.7])[kind], "card", "cash"),
    }
)
print(customers.head(3).to_string())

features = pd.get_dummies(customers, columns=["pays by"], dtype=float)
features["revenue"] = np.log10(features["revenue"])
m = GromovDR(n_prototypes=20, scale="standard", perplexity=30, random_state=0).fit(features)

deviation = (m.prototype_features_ - features.mean().to_numpy()) / features.std().to_numpy()
order = np.argsort(-m.weights_)
print("the five heaviest prototypes, and what they stand out by:")
for k in order[:5]:
    strongest = np.argsort(-np.abs(deviation[k]))[:2]
    what = ", ".join(f"{'high' if deviation[k, j] > 0 else 'low'} {features.columns[j]}" for j in strongest)
    print(f"{m.weights_[k]:5.1%}  {what}")

shuffled = features[rng.permutation(features.columns)]
print(f"columns in another order, the same prototypes: {(m.predict(shuffled) == m.predict(features)).all()}")
if len(sys.argv) > 1:
    columns = {"pays by": customers["pays by"], "revenue": customers["revenue"]}
    m.report(sys.argv[1], title="Customers", labels=KINDS.index.to_numpy()[kind], columns=columns, X=features)
    print(f"The map is in {sys.argv[1]}.")

assert (m.predict(shuffled) == m.predict(features)).all()
assert metrics.homogeneity_score(kind, m.labels_) > 0.75
