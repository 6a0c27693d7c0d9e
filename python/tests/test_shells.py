"""One method, several shells: the same file and seed give the same loss and labels in Python and in the command."""

import gzip
import json
import pathlib
import subprocess
import sys

import gromap
import numpy as np
import pandas as pd
import pytest
from gromap import GromovClustering, GromovDR
from helpers import data_of
from sklearn.datasets import load_digits

X, Y = load_digits().data[:400], load_digits().target[:400]
NEW = load_digits().data[400:450]


def command(*arguments, folder):
    """The command of the package, which is the binary's."""
    call = [sys.executable, "-c", "from gromap._command import main; main()", *arguments]
    return subprocess.run(call, capture_output=True, text=True, timeout=120, check=False, cwd=folder)


DEMO = pathlib.Path(__file__).parents[2] / "crates/gromap-cli/data/fashion-mnist-2000.gz"


def test_the_demo_in_rust_is_a_fit_in_python(tmp_path):
    """The demo calls the crate with its defaults: what they are there, they are here."""
    done = command("demo", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    pixels = np.frombuffer(gzip.decompress(DEMO.read_bytes()), dtype=np.uint8)[: 2000 * 784].reshape(2000, 784)
    m = GromovDR(told["n_prototypes"], random_state=told["seed"]).fit(pixels.astype(np.float32) / np.float32(255))
    assert (told["loss"], told["loss_history"]) == (m.loss_, m.loss_curve_.tolist())
    assert (told["stop_reason"], told["n_used"]) == (m.stop_reason_, len(m.weights_))
    by_index = sorted(told["prototypes"], key=lambda prototype: prototype["index"])
    assert [prototype["members"] for prototype in by_index] == np.bincount(m.labels_).tolist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shells")
    if " fit " not in command("--help", folder=folder).stdout:
        pytest.skip("this command does not fit yet")
    np.save(folder / "double.npy", X)
    np.save(folder / "single.npy", X.astype(np.float32))
    return folder


def fitted(folder, *arguments):
    done = command("fit", *arguments, "--json", "-o", "m.gromap", "--force", folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), gromap.load(folder / "m.gromap")


FITS = {
    "defaults": (["double.npy", "--prototypes", "20"], {"n_prototypes": 20}),
    "seed": (
        ["double.npy", "--prototypes", "20", "--init", "random", "--seed", "7"],
        {"n_prototypes": 20, "init": "random", "random_state": 7},
    ),
    "perplexity": (["double.npy", "--prototypes", "15", "--perplexity", "12"], {"n_prototypes": 15, "perplexity": 12}),
    "perplexities": (
        ["double.npy", "--prototypes", "12", "--perplexity", "8,30"],
        {"n_prototypes": 12, "perplexity": [8, 30]},
    ),
    "umap": (["double.npy", "--prototypes", "10", "--method", "umap"], {"n_prototypes": 10, "method": "umap"}),
    "pca": (["double.npy", "--prototypes", "10", "--method", "pca"], {"n_prototypes": 10, "method": "pca"}),
    "starts": (
        ["double.npy", "--prototypes", "8", "--n-init", "3", "--threads", "1"],
        {"n_prototypes": 8, "n_init": 3, "n_jobs": 2},
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_the_command_and_the_estimator_fit_the_same_map(name, folder):
    arguments, parameters = FITS[name]
    told, read = fitted(folder, *arguments, "--precision", "f64")
    m = GromovDR(**{"random_state": 0, **parameters}).fit(X)
    assert told["loss"] == m.loss_ == read.loss_
    assert told["loss_history"] == m.loss_curve_.tolist()
    assert (told["n_used"], told["stop_reason"]) == (len(m.weights_), m.stop_reason_)
    np.testing.assert_array_equal(read.labels_, m.labels_)
    np.testing.assert_array_equal(read.prototypes_, m.prototypes_)
    np.testing.assert_array_equal(read.transform(X[:20] + 0.5), m.transform(X[:20] + 0.5))


def test_single_precision_too(folder):
    told, read = fitted(folder, "single.npy", "--prototypes", "20", "--precision", "f32")
    m = GromovDR(20, random_state=0).fit(X.astype(np.float32))
    assert told["loss"] == m.loss_
    np.testing.assert_array_equal(read.labels_, m.labels_)


def told(folder, *arguments):
    done = command(*arguments, "--json", "--force", folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_clusters_too(folder):
    arguments = ["--clusters", "10", "--precision", "f64", "-o", "clusters.gromap"]
    loss = told(folder, "cluster", "double.npy", *arguments)["loss"]
    m = GromovClustering(10, random_state=0).fit(X)
    read = gromap.load(folder / "clusters.gromap")
    assert isinstance(read, GromovClustering) and loss == m.loss_ == read.loss_
    np.testing.assert_array_equal(read.labels_, m.labels_)
    np.testing.assert_array_equal(read.predict(NEW), m.predict(NEW))


MODELS = {
    "map": lambda frame: GromovDR(12, random_state=0).fit(frame),
    "clusters": lambda frame: GromovClustering(12, random_state=0).fit(frame),
    "several perplexities": lambda frame: GromovDR(12, perplexity=[8, 30], random_state=0).fit(frame),
    "a prototype for every sample": lambda frame: GromovDR(None, method="pca", random_state=0).fit(frame),
}


@pytest.mark.parametrize("name", MODELS)
def test_new_samples_go_to_one_place_in_all_shells(name, folder):
    """Columns are matched by name, whatever their order."""
    names = [f"p{i}" for i in range(64)]
    m = MODELS[name](pd.DataFrame(X, columns=names))
    m.save(folder / "python.gromap")
    frame = pd.DataFrame(NEW, columns=names)
    frame[names[::-1]].to_csv(folder / "new.csv", index=False)
    placed = told(folder, "transform", "python.gromap", "new.csv", "--precision", "f64")
    if hasattr(m, "predict"):
        assert placed["labels"] == m.predict(frame).tolist()
    if hasattr(m, "transform"):
        np.testing.assert_array_equal(placed["coordinates"], m.transform(frame))


def test_pages_show_the_same_classes_and_pictures(folder):
    np.save(folder / "labels.npy", Y + 2)
    arguments = ["--prototypes", "12", "--precision", "f64", "--labels", "labels.npy", "--images", "8x8"]
    told(folder, "fit", "double.npy", *arguments, "--report", "command.html")
    GromovDR(12, random_state=0).fit(X).report(folder / "python.html", labels=Y + 2, images=X.reshape(-1, 8, 8), X=X)
    names, codes, pixels = [], [], []
    for shell in ("command", "python"):
        header, array = data_of(folder / f"{shell}.html")
        names.append(header["classes"]["names"])
        codes.append(array(header["classes"]["of"]))
        pixels.append(array(header["pictures"]["pixels"]))
    assert names[0] == names[1] == [str(number) for number in range(2, 12)]
    np.testing.assert_array_equal(*codes)
    np.testing.assert_array_equal(*pixels)


def test_the_command_reads_what_python_wrote(folder):
    m = GromovDR(12, random_state=0).fit(X)
    m.save(folder / "python.gromap")
    done = command("info", "python.gromap", "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    assert m.method in done.stdout
