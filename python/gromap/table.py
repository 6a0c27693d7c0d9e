"""Tables as they are: frames with words, dates, gaps and ids, made into numbers.

The rules are those of the command and live in the core (``crates/gromap/src/table``); here frames become columns.
"""

from __future__ import annotations

import datetime
import warnings
from dataclasses import dataclass
from numbers import Number
from types import SimpleNamespace

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gromap import _core

__all__ = ["Table", "TableEncoder", "read"]

_DAY = datetime.timedelta(days=1)
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class Table:
    """A table as numbers, and how it became them; what :func:`read` gives and ``fit`` takes."""

    X: np.ndarray
    """The features, in their own units."""
    feature_names: list[str]
    """Their names; a text column has one for each of its values, such as ``"city=Oslo"``."""
    ids: list[str] | None
    """Names of the rows."""
    rows: np.ndarray
    """Which rows of the frame are kept."""
    notes: list[str]
    """What was decided that you should know."""
    encoding: str
    """How all this was done, as JSON; models keep it."""

    def __len__(self):
        return len(self.X)

    def __array__(self, dtype=None, copy=None):
        return self.X.copy() if copy else np.asarray(self.X, dtype=dtype)


def read(frame, *, columns=None, exclude=None, id=None, missing="error", categorical="onehot"):
    """Make numbers of a frame with any columns.

    Numbers stay as they are, dates become days since 1970, and text columns of few values become a feature of 0 and 1 for each
    value; others are left out, and ``notes`` says so. Estimators that are fitted to the result remember how it was made and
    take new frames as they are.

    Parameters
    ----------
    frame : pandas or polars DataFrame, or mapping of names to columns
    columns : sequence of str, optional
        The columns that are features; all that can be, by default.
    exclude : sequence of str, optional
        Columns to leave out.
    id : str, optional
        The column that names the rows; by default one that is called id, index or name, or counts the rows.
    missing : {"error", "drop", "median", "mean"}, default="error"
        Missing values: refuse them, drop their rows, or fill in the column's median (of text, the most frequent value) or mean
        (of text, the share of each value).
    categorical : {"onehot", "show"}, default="onehot"
        Whether text columns become features.

    Returns
    -------
    Table

    Examples
    --------
    >>> from gromap import table
    >>> t = table.read({"city": ["Oslo", "Rome", "Rome", "Oslo"], "sales": [1.0, None, 3.0, 4.0]}, missing="median")
    >>> t.feature_names
    ['city=Oslo', 'city=Rome', 'sales']
    >>> t.X.tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 3.0], [0.0, 1.0, 3.0], [1.0, 0.0, 4.0]]
    """
    given = _columns(frame)
    encoding, notes = _core.learn_table(given, _rules(columns, exclude, id, missing, categorical))
    return _encoded(encoding, given, notes, may_drop=True)


class TableEncoder(TransformerMixin, BaseEstimator):
    """The same as a transformer, for pipelines of scikit-learn.

    Parameters
    ----------
    columns, exclude, id, missing, categorical
        As in :func:`read`; rows cannot be dropped, since a transformer keeps all of them.
    scale : {"auto", "standard", None}, default="auto"
        Whether every column gets a variance of 1, the features of a text column together; "auto" does so if there are text
        columns or dates.

    Attributes
    ----------
    encoding_ : str
        How columns become features, as JSON.
    notes_ : list of str
        What was decided that you should know.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from gromap import GromovDR, table
    >>> frame = {"city": ["Oslo", "Rome"] * 30, "sales": [float(i % 7) for i in range(60)]}
    >>> m = make_pipeline(table.TableEncoder(), GromovDR(4, perplexity=10, random_state=0)).fit(frame)
    >>> m.predict(frame).shape
    (60,)
    """

    def __init__(self, columns=None, *, exclude=None, id=None, missing="error", categorical="onehot", scale="auto"):
        self.columns = columns
        self.exclude = exclude
        self.id = id
        self.missing = missing
        self.categorical = categorical
        self.scale = scale

    def fit(self, X, y=None):
        """Find out what each column of a frame is.

        Parameters
        ----------
        X : pandas or polars DataFrame, or mapping of names to columns
        y : ignored

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X, y=None):
        """Fit, and return the features.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return (self._fit(X) - self._shift) * self._factor

    def transform(self, X):
        """Make features of a frame as the one that was fitted to.

        Parameters
        ----------
        X : pandas or polars DataFrame, or mapping of names to columns
            In any order; a column that is missing is an error that names it.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return (encoded(self.encoding_, X) - self._shift) * self._factor

    def get_feature_names_out(self, input_features=None):
        """Names of the features.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return np.array(_core.table_features(self.encoding_)[0], dtype=object)

    def _fit(self, X):
        if self.missing == "drop":
            raise ValueError("a transformer keeps every row: use missing=\"median\", or fit gromap.table.read(X, missing=\"drop\")")
        if self.scale not in ("auto", "standard", None):
            raise ValueError(f"scale is {self.scale!r}; it must be 'auto', 'standard' or None")
        given = _columns(X)
        rules = _rules(self.columns, self.exclude, self.id, self.missing, self.categorical)
        self.encoding_, self.notes_ = _core.learn_table(given, rules)
        table = _encoded(self.encoding_, given, self.notes_, may_drop=False)
        self.feature_names_in_ = np.array([name for name, _ in given], dtype=object)
        self.n_features_in_ = len(given)
        width = len(table.feature_names)
        self._shift, self._factor = np.zeros(width), np.ones(width)
        _, is_mixed = _core.table_features(self.encoding_)
        if self.scale == "standard" or self.scale == "auto" and is_mixed:
            self._shift, self._factor = _core.table_scaling(self.encoding_, table.X)
        return table.X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.input_tags.two_d_array = False
        return tags


def is_frame(X):
    """Whether this has named columns."""
    return hasattr(X, "columns") and hasattr(X, "shape") and not isinstance(X, np.ndarray)


def is_mixed(X):
    """Whether this is a frame with columns that are no numbers."""
    if not is_frame(X) or len(set(X.columns)) < len(X.columns):
        return False
    # Columns of numbers are not even looked at.
    others = (name for name, dtype in zip(X.columns, X.dtypes, strict=True) if not _is_number(dtype))
    cells = (_cells(X[name]) for name in others)
    return any(not isinstance(told, tuple) or told[1] for told in cells)


def _is_number(dtype):
    """Whether a dtype of pandas or polars is one of numbers."""
    kind = getattr(dtype, "kind", None)
    return kind in "biuf" if kind is not None else dtype.is_numeric() or str(dtype) == "Boolean"


def encoded(encoding, frame):
    """The features of a new frame, every row of it; what there is to say is a warning."""
    X, _, _, notes = _core.apply_table(encoding, _columns(frame), False)
    for note in notes:
        warnings.warn(note, stacklevel=3)
    return X


def _rules(columns, exclude, id, missing, categorical):
    names = {"columns": columns, "exclude": exclude}
    for option, value in names.items():
        if isinstance(value, str):
            raise ValueError(f"{option} must be a list of names, such as [{value!r}]")
    for option, value in {"missing": missing, "categorical": categorical}.items():
        if not isinstance(value, str):
            raise ValueError(f"{option} is {value!r}; it must be a word")
    return SimpleNamespace(
        columns=None if columns is None else [str(name) for name in columns],
        exclude=[] if exclude is None else [str(name) for name in exclude],
        id=None if id is None else str(id),
        missing=missing,
        categorical=categorical,
    )


def _encoded(encoding, given, notes, may_drop):
    X, rows, ids, more = _core.apply_table(encoding, given, may_drop)
    names, _ = _core.table_features(encoding)
    rows = np.arange(len(X)) if rows is None else np.array(rows)
    return Table(X, names, ids, rows, [*notes, *more], encoding)


def _columns(frame):
    """Columns as the bindings read them: numbers or days with NaN for gaps, or text with nothing for gaps."""
    if hasattr(frame, "columns") and hasattr(frame, "__getitem__"):
        names = list(frame.columns)
    elif hasattr(frame, "keys"):
        names = list(frame.keys())
    else:
        raise TypeError(f"a frame or a mapping of names to columns is needed, not {type(frame).__name__}")
    words = [str(name) for name in names]
    if len(set(words)) < len(words):
        double = next(name for name in words if words.count(name) > 1)
        raise ValueError(f"two columns are called {double!r}; names must differ")
    return [(word, _cells(frame[name])) for word, name in zip(words, names, strict=True)]


def _cells(series):
    values = series.to_numpy() if hasattr(series, "to_numpy") else np.asarray(series)
    if values.dtype.kind in "biuf":
        return np.ascontiguousarray(values, dtype=np.float64), False
    if values.dtype.kind in "mM":
        days = values.astype(f"{values.dtype.kind}8[us]").astype(np.float64) / 86_400e6
        days[np.isnat(values)] = np.nan
        return days, values.dtype.kind == "M"
    values = values.tolist()
    there = [value for value in values if not _lacks(value)]
    if there and all(isinstance(value, Number) for value in there):
        return np.array([np.nan if _lacks(value) else float(value) for value in values]), False
    if there and all(isinstance(value, datetime.date) for value in there):
        return np.array([np.nan if _lacks(value) else _days(value) for value in values]), True
    return ["" if _lacks(value) else str(value) for value in values]


def _lacks(value):
    # The missing value of pandas is neither equal to itself nor different.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def _days(value):
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return (value - _EPOCH) / _DAY
