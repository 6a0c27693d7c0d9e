"""The datasets of the experiments: where their files are, how they become samples, and their classes.

Files come from one folder (`--data FOLDER`): `mnist/` and `fashion-mnist/` (IDX, the 10,000 of `t10k`), `coil-20/`
(PNG), `single-cell/`, `text/` and `views/` (npz); digits come with scikit-learn. Pixels are divided by their largest
value. Counts of genes are divided by their cell's total, times 10,000, and log(1 + x) is taken, as is usual; the views
of mfeat are standardised, each divided by the root of its number of columns so that none outweighs the others, and put
side by side. Methods see the first 50 principal components (`Dataset.reduced`) unless an experiment says otherwise.
"""

from __future__ import annotations

import functools
import gzip
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from sklearn.decomposition import PCA

FASHION = "T-shirt,trouser,pullover,dress,coat,sandal,shirt,sneaker,bag,boot".split(",")
CELLS = ("pbmc3k", "baron_pancreas_h1", "worm_neuron", "cbmc_citeseq")
IMAGES = ("mnist", "fashion-mnist", "coil-20")
NAMES = ("digits", *IMAGES, *CELLS, "banking77", "mfeat")
COMPONENTS = 50


@dataclass
class Dataset:
    name: str
    X: np.ndarray | scipy.sparse.csr_array
    y: np.ndarray
    classes: list
    shape: tuple | None = None  # of an image

    @functools.cached_property
    def reduced(self):
        """The first 50 principal components."""
        # Lanczos centres as it multiplies: the zeros of counts stay zeros. Of images a randomised range is enough.
        solver = "arpack" if scipy.sparse.issparse(self.X) else "randomized"
        components = min(COMPONENTS, *self.X.shape)
        return PCA(components, svd_solver=solver, random_state=0).fit_transform(self.X).astype(np.float32)


def idx(file, offset):
    with gzip.open(file) as stream:
        return np.frombuffer(stream.read(), np.uint8, offset=offset)


def digits():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Dataset("digits", X.astype(np.float32) / 16, y, [str(k) for k in range(10)], (8, 8))


def images(folder, name):
    X = idx(folder / name / "t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784) / np.float32(255)
    y = idx(folder / name / "t10k-labels-idx1-ubyte.gz", 8).astype(int)
    return Dataset(name, X, y, FASHION if name == "fashion-mnist" else [str(k) for k in range(10)], (28, 28))


def coil(folder):
    from PIL import Image

    files = sorted((folder / "coil-20").glob("obj*__*.png"))
    X = np.stack([np.asarray(Image.open(file).convert("L")) for file in files])
    y = np.array([int(file.name.removeprefix("obj").split("__")[0]) - 1 for file in files])
    return Dataset("coil-20", X.reshape(len(X), -1) / np.float32(255), y, [str(k + 1) for k in range(20)], X.shape[1:])


def cells(folder, name):
    folder = folder / "single-cell" / name
    counts = scipy.sparse.csr_array(scipy.sparse.load_npz(folder / "counts.npz")).astype(np.float32)
    with np.load(folder / "labels.npz") as labels:
        y, classes = labels["y"].astype(int), [str(one) for one in labels["classes"]]
    totals = np.maximum(counts.sum(1), 1)
    shares = (scipy.sparse.diags_array(1e4 / totals) @ counts).tocsr().astype(np.float32)
    return Dataset(name, shares.log1p(), y, classes)


def banking(folder):
    with np.load(folder / "text" / "banking77" / "banking77_minilm384.npz") as file:
        X, y, classes = file["X"].astype(np.float32), file["y"].astype(int), [str(one) for one in file["classes"]]
    return Dataset("banking77", X, y, classes)


def mfeat(folder):
    with np.load(folder / "views" / "mfeat" / "data.npz") as file:
        views = [file[key].astype(np.float64) for key in sorted(file.files) if key.startswith("V_")]
        y = file["y"].astype(int)
    scaled = [(view - view.mean(0)) / np.maximum(view.std(0), 1e-12) / np.sqrt(view.shape[1]) for view in views]
    return Dataset("mfeat", np.hstack(scaled).astype(np.float32), y, [str(k) for k in np.unique(y)])


def load(name, folder):
    """The dataset of this name, one of NAMES; digits need no folder."""
    if name == "digits":
        return digits()
    if name == "coil-20":
        return coil(folder)
    if name in IMAGES:
        return images(folder, name)
    if name in CELLS:
        return cells(folder, name)
    return {"banking77": banking, "mfeat": mfeat}[name](folder)


def blobs():
    """Made-up images of ten kinds, for smoke runs."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=400)
    X = np.clip(rng.random((10, 64))[y] + 0.1 * rng.normal(size=(400, 64)), 0, 1)
    return Dataset("blobs", X.astype(np.float32), y, [f"blob {k}" for k in range(10)], (8, 8))


def chosen(arguments):
    """The datasets asked for, one after the other, so that one at a time is in memory."""
    if arguments.smoke:
        yield blobs()
        return
    for name in arguments.datasets:
        yield load(name, arguments.data)
