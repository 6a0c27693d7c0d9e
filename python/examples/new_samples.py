"""Out of sample: a map as one step of a pipeline, kept in a file.

The map is fitted to training digits alone. New digits are placed one by one, by the same rule that placed the
training samples, with the prototypes frozen; a classifier on their places scores how much of the digit the map has
kept.
"""

import tempfile
from pathlib import Path

import numpy as np
from gromap import GromovDR, load
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# A pipeline, as with any transformer.
pipeline = make_pipeline(StandardScaler(with_std=False), GromovDR(60, random_state=0), KNeighborsClassifier(1))
accuracy = pipeline.fit(X_train, y_train).score(X_test, y_test)
print(f"60 places in the plane tell {accuracy:.0%} of new digits apart")

# The map by itself: where a new sample is, which prototype it joins, and how well neighbours are kept.
m = GromovDR(60, random_state=0).fit(X_train)
print(f"the first new digit joins prototype {m.predict(X_test[:1])[0]}, at {m.transform(X_test[:1])[0].round(1)}")
print(f"trustworthiness on training samples {m.score(X_train):.3f}, on new ones {m.score(X_test):.3f}")

# A model file holds all that new samples need; Rust and the `gromap` command read it too.
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "digits.gromap"
    m.save(file)
    print(f"the file has {file.stat().st_size / 1e6:.1f} MB")
    again = load(file)

assert np.array_equal(again.transform(X_test), m.transform(X_test))
assert accuracy > 0.85
