"""What several tests look at: the fitted values of an estimator, the data of a page."""

import base64
import gzip
import json
import re

import numpy as np
import scipy.sparse as sp


def fitted_values(estimator):
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}


def assert_same_fit(a, b):
    a, b = fitted_values(a), fitted_values(b)
    assert a.keys() == b.keys() and "plan_" in a
    for name, value in a.items():
        if sp.issparse(value):
            assert (value != b[name]).nnz == 0, name
        else:
            np.testing.assert_array_equal(value, b[name], err_msg=name)
            assert getattr(value, "dtype", None) == getattr(b[name], "dtype", None), name


def text_of(path):
    return path.read_text(encoding="utf-8")


def data_of(path):
    """The header of a page's data, and a function that reads one of its arrays."""
    text = re.search(r'<script id="gromap-data"[^>]*>([^<]*)<', text_of(path)).group(1)
    data = gzip.decompress(base64.b64decode(text))
    begin = 4 + int.from_bytes(data[:4], "little")

    def array(where):
        kind = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "f32": np.float32, "f64": np.float64}[where["type"]]
        return np.frombuffer(data, kind, where["length"], begin + where["at"])

    return json.loads(data[4:begin]), array
