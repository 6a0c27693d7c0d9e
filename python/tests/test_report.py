"""Pages that the package writes: whole, safe, and with what they were given."""

import re

import numpy as np
import pandas as pd
import pytest
from gromap import GromovDR
from helpers import data_of, text_of
from sklearn.datasets import load_digits

DIGITS = load_digits()
X, Y, IMAGES = DIGITS.data[:200], DIGITS.target[:200], DIGITS.images[:200]


@pytest.fixture(scope="module")
def fitted():
    return GromovDR(6, perplexity=10, random_state=0).fit(X)


def test_a_page_needs_no_network_and_is_the_same_every_time(fitted, tmp_path):
    for name in ("a.html", "b.html"):
        fitted.report(tmp_path / name)
    page = text_of(tmp_path / "a.html")
    assert page.lower().startswith("<!doctype html>") and page == text_of(tmp_path / "b.html")
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_everything_known_of_the_samples_is_taken(fitted, tmp_path):
    plain, full = tmp_path / "plain.html", tmp_path / "full.html"
    fitted.report(plain)
    columns = pd.DataFrame({"ink": X.sum(axis=1), "kind": np.where(Y % 2, "odd", "even")})
    ids = [f"digit {i}" for i in range(200)]
    fitted.report(full, title="Digits & <more>", labels=Y, images=IMAGES, columns=columns, ids=ids, X=X)
    assert len(text_of(full)) > len(text_of(plain)) + 1000
    assert "Digits &amp; &lt;more&gt;" in text_of(full) and "<more>" not in text_of(full)


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("bytes", lambda: np.zeros((200, 8, 8), dtype=np.uint8)),
        ("colours", lambda: np.zeros((200, 8, 8, 3), dtype=np.uint8)),
        ("floats", lambda: IMAGES / 16),
        ("all equal", lambda: np.ones((200, 8, 8))),
    ],
)
def test_pictures_come_in_any_numbers(fitted, tmp_path, kind, make):
    fitted.report(tmp_path / "a.html", images=make())
    assert (tmp_path / "a.html").stat().st_size > 1000


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (Y + 2, [str(number) for number in range(2, 12)]),
        ((Y + 2).astype(str), [str(number) for number in range(2, 12)]),
        (np.array([f"d{y + 2}" for y in Y], dtype=object), ["d10", "d11", *(f"d{y}" for y in range(2, 10))]),
        (Y % 2 == 0, ["False", "True"]),
    ],
)
def test_classes_are_ordered_as_in_the_command(fitted, tmp_path, labels, names):
    """Numbers by their value, "2" before "10"; other names by their letters."""
    fitted.report(tmp_path / "a.html", labels=labels)
    header, array = data_of(tmp_path / "a.html")
    assert header["classes"]["names"] == names
    assert [names[code] for code in array(header["classes"]["of"])] == [str(label) for label in labels]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: IMAGES / 32, IMAGES / 32 * 255),
        (lambda: np.round(IMAGES).astype(np.uint8), np.round(IMAGES)),
        (lambda: IMAGES.astype(np.float32), IMAGES),
        (lambda: IMAGES * 100 - 700, IMAGES / 16 * 255),
        (lambda: np.ones((200, 8, 8)), np.full((200, 8, 8), 255)),
    ],
    ids=["shares of white", "bytes", "numbers that could be bytes", "any numbers", "all white"],
)
def test_pictures_are_scaled_as_in_the_command(fitted, tmp_path, make, expected):
    """Shares of white become bytes, bytes stay, anything else is stretched. Pages keep every fourth shade."""
    fitted.report(tmp_path / "a.html", images=make())
    header, array = data_of(tmp_path / "a.html")
    pictures = header["pictures"]
    assert (pictures["width"], pictures["height"], pictures["channels"]) == (8, 8, 1)
    assert np.abs(array(pictures["pixels"]).astype(float) - expected.ravel()).max() <= 4


def test_a_path_is_one_page(tmp_path):
    path = GromovDR(perplexity=10, random_state=0).path(X, [3, 6])
    path.report(tmp_path / "path.html", labels=Y)
    path.levels[1].report(tmp_path / "level.html", labels=Y)
    assert len(text_of(tmp_path / "path.html")) > len(text_of(tmp_path / "level.html"))


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"labels": Y[:5]}, "expected 200, found 5"),
        ({"ids": ["a"]}, "number of ids: expected 200, found 1"),
        ({"columns": {"ink": [1.0, 2.0]}}, 'column "ink": expected 200, found 2'),
        ({"images": X}, "images must have shape"),
        ({"images": np.zeros((200, 8, 8, 2))}, "channels"),
        ({"X": X[:7]}, "rows of the samples: expected 200, found 7"),
        ({"names": ["a"]}, "names of prototypes on level 0: expected 6, found 1"),
        ({"numbers": {"age": [1.0]}}, 'values of "age" on level 0: expected 6, found 1'),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(fitted, tmp_path, about, message):
    with pytest.raises(ValueError, match=message):
        fitted.report(tmp_path / "a.html", **about)
    assert not list(tmp_path.iterdir())


def test_prototypes_have_names_and_numbers_of_every_level(fitted, tmp_path):
    names = [f"group {k}" for k in range(len(fitted.weights_))]
    fitted.report(tmp_path / "a.html", names=names, numbers={"stability": fitted.weights_})
    header, arrays = data_of(tmp_path / "a.html")
    (level,) = header["levels"]
    assert level["names"] == names and level["numbers"][0]["name"] == "stability"
    assert (arrays(level["numbers"][0]["values"]) == fitted.weights_).all()
    # And every sample has its own place, to a step of 65,536.
    own = level["samplePlaces"]
    places = np.array(own["low"]) + arrays(own["at"]).reshape(-1, 2) * own["step"]
    assert np.allclose(places, fitted.sample_places_, atol=0.51 * max(own["step"]))
    path = fitted.path(X, [2, 4])
    named = [[f"{n}.{k}" for k in range(len(level.weights_))] for n, level in enumerate(path.levels)]
    path.report(tmp_path / "path.html", names=named)
    assert [level["names"] for level in data_of(tmp_path / "path.html")[0]["levels"]] == named


def test_facts_are_told_behind_details(fitted, tmp_path):
    fitted.report(tmp_path / "a.html", facts={"lab": 3, "shares": [0.25, 0.75]})
    facts = dict(data_of(tmp_path / "a.html")[0]["facts"])
    assert facts["lab"] == "3" and facts["shares"] == "0.25, 0.75"
    assert "made of" not in facts  # samples go without saying


def test_a_graph_hands_its_links_to_the_page(tmp_path):
    ring = np.roll(np.eye(40), 1, axis=1)
    GromovDR(5, precomputed="graph", random_state=0).fit(ring).report(tmp_path / "a.html")
    header, arrays = data_of(tmp_path / "a.html")
    assert dict(header["facts"])["made of"] == "a graph"
    (level,) = header["levels"]
    assert header["graph"]
    # Forty edges in all: shares are whole numbers of them, and every part of a ring touches another.
    edges = 40 * arrays(level["links"]["share"])
    assert len(edges) >= 4 and np.allclose(edges, edges.round(), atol=1e-4) and edges.min() > 0.5


def test_a_widget_tells_what_is_selected(fitted):
    pytest.importorskip("anywidget")
    widget = fitted.widget(labels=Y, names=["a"] * len(fitted.weights_), height=500)
    assert widget.height == 500 and "gromap" in widget._esm and "export default" in widget._esm and ".gm" in widget._css
    assert widget.selection.tolist() == [] and widget.selected_samples.tolist() == []
    # As the page tells it.
    widget.set_state({"_state": {"selected": [3, 1], "sample": None, "level": 0}})
    assert widget.selection.tolist() == [1, 3]
    assert (fitted.labels_[widget.selected_samples] % 2 == 1).all() and len(widget.selected_samples) > 0
    widget.selection = [2]
    assert widget._wanted == [2] and widget.selection.tolist() == [2]
    with pytest.raises(ValueError, match="prototype 99 does not exist"):
        widget.selection = [99]
