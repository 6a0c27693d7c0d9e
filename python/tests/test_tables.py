"""Frames with words, dates, gaps and ids: as numbers, in models and their files, and from both shells."""

import datetime
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from gromap import GromovClustering, GromovDR, load, table

OPTIONS = {"perplexity": 8, "random_state": 0}


def to_polars(frame):
    """A polars frame without pyarrow, with nulls for what is missing."""
    cells = {name: [None if pd.isna(cell) else cell for cell in frame[name].tolist()] for name in frame}
    return pl.DataFrame(cells)


def sales(gaps=False):
    """Two kinds of customers, with every kind of column."""
    i = np.arange(60)
    frame = pd.DataFrame(
        {
            "customer_id": 9000 + (i * 13) % 60,
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta((i * 7) % 90, unit="D"),
            "city": np.array(["Oslo", "Rome"])[i % 2],
            "revenue": np.where(i % 2, 40.0, 5000.0) + (i * 37) % 23,
            "visits": 1.0 + (i * 7) % 5,
            "comment": [f"late delivery {k}" if k % 2 == 0 else f"lovely colour {k}" for k in i],
        }
    )
    if gaps:
        frame.loc[7, "city"] = None
        frame.loc[11, "visits"] = np.nan
    return frame


def fitted(**options):
    return GromovDR(6, **OPTIONS).fit(table.read(sales(), **options))


def test_a_table_is_numbers_with_names():
    t = table.read(sales())
    assert t.feature_names == ["since", "city=Oslo", "city=Rome", "revenue", "visits"]
    assert t.ids[1] == "9013" and len(t) == 60
    assert t.X[1].tolist() == [19723 + 7, 0, 1, 40 + 14, 3]
    said = "\n".join(t.notes)
    for words in ("customer_id holds ids", 'columns=["customer_id"]', "city (2 values)", "in days: since", "comment has 60"):
        assert words in said, said


@pytest.mark.parametrize("make", [to_polars, lambda frame: {name: frame[name] for name in frame}])
def test_all_kinds_of_frames_are_alike(make):
    expected, found = table.read(sales(True), missing="median"), table.read(make(sales(True)), missing="median")
    assert (found.X == expected.X).all()
    assert (found.encoding, found.ids) == (expected.encoding, expected.ids)


def test_cells_of_any_type():
    utc = datetime.timezone.utc
    t = table.read(
        {
            "whole": pd.array([1, None, 3, 4] * 2, dtype="Int64"),
            "flag": [True, False, None, True] * 2,
            "kind": pd.Categorical(["a", "b", None, "a"] * 2),
            "day": [datetime.date(1970, 1, 2), None, datetime.date(1970, 1, 4), datetime.date(1970, 1, 4)] * 2,
            "at": [datetime.datetime(1970, 1, 2, 12, tzinfo=utc)] * 8,
            "took": pd.to_timedelta([12, 24, 36, None] * 2, unit="h"),
        },
        missing="mean",
    )
    assert t.feature_names == ["whole", "flag", "kind=a", "kind=b", "day", "at", "took"]
    np.testing.assert_allclose(t.X[1], [8 / 3, 0, 0, 1, (1 + 3 + 3) / 3, 1.5, 1])
    np.testing.assert_allclose(t.X[2], [3, 2 / 3, 2 / 3, 1 / 3, 3, 1.5, 1.5])


def test_a_column_of_words_counts_as_much_as_one_of_numbers():
    X = table.TableEncoder().fit_transform(sales())
    np.testing.assert_allclose(X.var(axis=0), [1, 0.5, 0.5, 1, 1])
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-9)
    plain = table.TableEncoder(scale=None).fit_transform(sales())
    assert (plain == table.read(sales()).X).all()
    # A model scales the same way by itself, and shows means in their own units.
    m = fitted()
    by_hand = GromovDR(6, **OPTIONS).fit(X)
    assert (m.labels_ == by_hand.labels_).all()
    assert m.prototype_features_[:, 3].max() > 4000


def test_a_mixed_frame_goes_straight_into_a_fit():
    with pytest.warns(UserWarning, match="city"):
        m = GromovDR(6, **OPTIONS).fit(sales())
    assert (m.labels_ == fitted().labels_).all()
    with pytest.raises(ValueError, match='row 7, column "city": the value is missing; missing="median"'):
        GromovDR(6, **OPTIONS).fit(sales(gaps=True))
    groups = GromovClustering(2, **OPTIONS).fit(table.read(sales()))
    assert set(groups.labels_[::2]) != set(groups.labels_[1::2])


@pytest.mark.parametrize("kind", [GromovDR, GromovClustering])
def test_new_frames_are_encoded_alike_also_after_load(kind, tmp_path):
    m = kind(4, **OPTIONS).fit(table.read(sales(True), missing="median"))
    expected = m.predict(sales(True))
    m.save(tmp_path / "m.gromap")
    for again in (load(tmp_path / "m.gromap"), pickle.loads(pickle.dumps(m))):
        shuffled = sales(True)[["visits", "comment", "city", "revenue", "since"]].assign(extra="x")
        assert (again.predict(shuffled) == expected).all()
        assert (again.predict(to_polars(shuffled)) == expected).all()
        assert again.ids_[1] == "9013"
        with pytest.raises(ValueError, match='"revenue"'):
            again.predict(shuffled.drop(columns="revenue"))
        with pytest.warns(UserWarning, match=r"column city: .* not seen in fitting \(Lima\)"):
            again.predict(shuffled.replace({"city": {"Rome": "Lima"}}))


def test_rows_are_dropped_where_that_is_said():
    t = table.read(sales(True), missing="drop")
    assert len(t) == 58 and not {7, 11} & set(t.rows)
    m = GromovDR(6, **OPTIONS).fit(t)
    assert len(m.labels_) == 58
    with pytest.raises(ValueError, match="leave such rows out"):
        m.predict(sales(True))
    with pytest.raises(ValueError, match="keeps every row"):
        table.TableEncoder(missing="drop").fit(sales())


def test_an_encoder_in_a_pipeline():
    pipe = make_pipeline(table.TableEncoder(missing="median", exclude=["comment"]), GromovDR(6, **OPTIONS))
    labels = clone(pipe).fit(sales(True)).predict(sales(True))
    assert len(set(labels[::2]) & set(labels[1::2])) == 0
    names = pipe.fit(sales()).named_steps["tableencoder"].get_feature_names_out()
    assert names.tolist() == ["since", "city=Oslo", "city=Rome", "revenue", "visits"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["town"]}, 'columns="town": there is no column of this name; the columns are customer_id'),
        ({"columns": "city"}, "must be a list of names"),
        ({"missing": "guess"}, 'unknown missing "guess"; it must be one of error, drop, median, mean'),
        ({"categorical": "hash"}, "onehot, show"),
        ({"columns": ["comment", "city"], "exclude": ["city"]}, "asked for and left out"),
    ],
)
def test_what_is_wrong_is_named(options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        table.read(sales(), **options)


def test_prototypes_have_names_and_contrasts(tmp_path):
    m, frame = fitted(), sales()
    found = m.describe(frame, texts=frame["comment"])
    assert found["members"].sum() == 60 and abs(found["weight"].sum() - 1) < 1e-9
    late = found["name"].str.contains("delivery")
    assert (late != found["name"].str.contains("colour")).all()
    X = table.read(frame).X
    for k, row in found.iterrows():
        j = table.read(frame).feature_names.index(row["feature_1"])
        own = m.labels_ == k
        expected = (X[own, j].mean() - X[~own, j].mean()) / X[:, j].std()
        assert abs(row["against_rest_1"] - expected) < 1e-9
        assert set(row["typical"]) <= {m.ids_[i] for i in np.flatnonzero(own)}
    assert m.describe(names=list("abcdef"))["name"].tolist() == list("abcdef")
    assert m.describe()["name"].str.contains("high|low|city").all()
    m.report(tmp_path / "map.html", texts=frame["comment"])
    with pytest.raises(ValueError, match="texts: expected 60, found 3"):
        m.report(tmp_path / "map.html", texts=["a", "b", "c"])


def test_names_are_kept_in_the_file(tmp_path):
    m = fitted()
    classes = np.array(["x", "y"])[np.arange(60) % 2]
    m.save(tmp_path / "m.gromap", labels=classes, ids=range(60), names=list("abcdef"))
    again = load(tmp_path / "m.gromap")
    assert (again.ids_[59], again.known_labels_[1], again.names_) == ("59", "y", list("abcdef"))
    assert again.describe()["name"].tolist() == list("abcdef")
    with pytest.raises(ValueError, match="ids: expected 60, found 2"):
        m.save(tmp_path / "m.gromap", ids=["a", "b"])


def test_the_command_and_python_agree(tmp_path):
    sales(True).to_csv(tmp_path / "sales.csv", index=False)
    sales(True).to_parquet(tmp_path / "sales.parquet") if _has_pyarrow() else None
    files = ["sales.csv"] + (["sales.parquet"] if _has_pyarrow() else [])
    m = GromovDR(6, **OPTIONS).fit(table.read(sales(True), missing="median"))
    for file in files:
        command = [sys.executable, "-c", "from gromap._command import main; main()", "fit", file, "-n", "6", "--perplexity", "8"]
        command = [*command, "--missing", "median", "-o", "m.gromap", "--force", "--quiet"]
        subprocess.run(command, cwd=tmp_path, check=True)
        theirs = load(tmp_path / "m.gromap")
        assert (theirs.labels_ == m.labels_).all()
        assert (theirs.predict(sales(True)) == m.predict(sales(True))).all()
        assert theirs.feature_names_in_.tolist() == m.feature_names_in_.tolist()


def _has_pyarrow():
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True
