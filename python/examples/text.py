"""Texts: a map of what people write about, prototypes named by the words that set them apart.

1,500 made-up messages to a shop. Words are counted and weighted (TF-IDF), reduced to 30 dimensions, and mapped; vectors of a
language model would come in just the same. A prototype is named by the words that are frequent in it and rare in the others.

Usage: python text.py [map.html]
"""

import sys

import numpy as np
from gromap import GromovDR, metrics
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

TOPICS = {
    "delivery": "parcel late courier tracking address doorstep waiting shipped postcode driver delayed depot",
    "refund": "money back refund return receipt bank transfer days credited label exchange",
    "login": "password account email locked reset login code verify phone expired",
    "damage": "broken cracked arrived box scratched glass screen dented replacement photo",
    "sizes": "size small large fits waist sleeve tight shoes wide chart",
    "payment": "card declined paypal checkout charged twice invoice currency voucher discount",
}
FILLER = "please help my order the and with can you still not today again hello thanks since what about".split()

rng = np.random.default_rng(0)
truth = rng.choice(len(TOPICS), 1500)
words = [text.split() for text in TOPICS.values()]
texts = [
    " ".join(rng.permutation([*rng.choice(words[topic], rng.integers(3, 6)), *rng.choice(FILLER, rng.integers(3, 7))]))
    for topic in truth
]
print(f"{len(texts)} messages, for example: {texts[0]!r}")

vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
weights = vectorizer.fit_transform(texts)
X = normalize(TruncatedSVD(30, random_state=0).fit_transform(weights))
m = GromovDR(n_prototypes=24, perplexity=30, random_state=0).fit(X)

# Names: the mean weight of a word in a prototype, against its mean everywhere.
vocabulary = vectorizer.get_feature_names_out()
share = m.plan_.T @ weights / m.weights_[:, None]
apart = np.asarray(share - weights.mean(axis=0))
names = [", ".join(vocabulary[np.argsort(-row)[:3]]) for row in apart]
for k in np.argsort(-m.weights_)[:8]:
    print(f"{m.weights_[k]:5.1%}  {names[k]}")

score = metrics.homogeneity_score(truth, m.labels_)
print(f"homogeneity of the prototypes, by the topics that messages were made of: {score:.2f}")
if len(sys.argv) > 1:
    topics = np.array(list(TOPICS))[truth]
    m.report(sys.argv[1], title="Messages to a shop", labels=topics, columns={"text": texts}, names=names)
    print(f"The map is in {sys.argv[1]}.")

assert score > 0.9
of_topics = np.array([any(name.split(", ")[0] in text.split() for text in TOPICS.values()) for name in names])
assert m.weights_[of_topics].sum() > 0.9  # small prototypes may be named by what people say besides
