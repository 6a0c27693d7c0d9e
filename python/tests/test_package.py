"""The package as it is installed: types, the command, how long an import takes."""

import importlib.metadata
import importlib.resources
import inspect
import re
import subprocess
import sys

import gromap
import pytest


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_everything_public_is_named_and_documented():
    assert sorted(gromap.__all__) == sorted(set(gromap.__all__))
    for name in set(gromap.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(gromap, name)), name
    for estimator in (gromap.GromovDR, gromap.GromovClustering):
        for name, method in inspect.getmembers(estimator, callable):
            if not name.startswith("_") and method.__module__.startswith("gromap"):
                assert inspect.getdoc(method), f"{estimator.__name__}.{name}"
        documented = inspect.getdoc(estimator)
        missing = [name for name in inspect.signature(estimator).parameters if name not in documented]
        assert not missing


def test_versions_agree():
    assert gromap.__version__ == importlib.metadata.version("gromap")


def test_types_are_shipped():
    assert importlib.resources.files("gromap").joinpath("py.typed").is_file()
    assert importlib.resources.files("gromap").joinpath("_core.pyi").is_file()


TIMED = """
import time
from sklearn.cluster import KMeans
from sklearn.manifold import TSNE
begun = time.perf_counter()
from gromap import *
print(time.perf_counter() - begun)
"""


def test_an_import_takes_less_than_a_third_of_a_second_beyond_that_of_scikit_learn():
    seconds = [float(run("-c", TIMED).stdout) for _ in range(3)]
    assert min(seconds) < 0.3


def test_an_import_brings_no_plotting_notebook_or_frame_library():
    loaded = run("-c", "from gromap import *; import sys; print(*sys.modules)").stdout.split()
    assert "gromap._reduction" in loaded
    heavy = {"IPython", "matplotlib", "pandas", "polars", "tqdm", "torch"}
    # Some versions of scikit-learn look for pandas themselves.
    own = set(run("-c", "import sklearn.cluster, sklearn.manifold, sys; print(*sys.modules)").stdout.split())
    assert not heavy & (set(loaded) - own)


def test_the_command_is_part_of_the_package():
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="gromap")
    assert script.value == "gromap._command:main"
    asked = run("-c", "from gromap._command import main; main()", "--version")
    assert asked.returncode == 0 and gromap.__version__ in asked.stdout
    wrong = run("-c", "from gromap._command import main; main()", "no-such-verb")
    assert wrong.returncode == 2 and "no-such-verb" in wrong.stderr


def test_the_command_does_not_wait_for_scikit_learn():
    loaded = run("-c", "import gromap._command, sys; print(*sys.modules)").stdout.split()
    assert "gromap._core" in loaded and not {"numpy", "scipy", "sklearn"} & set(loaded)


def test_names_that_are_read_late_are_told_and_others_refused():
    assert set(gromap.__all__) <= set(dir(gromap))
    assert run("-c", "import gromap; gromap.metrics.silhouette_score; gromap.affinity.Linear").returncode == 0
    with pytest.raises(AttributeError, match="module 'gromap' has no attribute 'GromovDr'"):
        gromap.GromovDr  # noqa: B018


@pytest.mark.parametrize("unfitted", [True, False])
def test_a_map_shows_itself_in_a_notebook(unfitted):
    m = gromap.GromovDR(3, perplexity=5, random_state=0)
    if not unfitted:
        m.fit([[float(i % 7), float(i // 7)] for i in range(49)])
    bundle = m._repr_mimebundle_()
    assert "GromovDR" in bundle["text/plain"]
    assert ("<svg" in bundle["text/html"] and "</svg>" in bundle["text/html"]) is not unfitted
    if not unfitted:
        assert bundle["text/html"] == m._repr_html_()
        assert not re.search(r"<svg[^>]* width=", bundle["text/html"]), "it takes the width of the cell"
    else:
        assert "sk-top-container" in bundle["text/html"], "scikit-learn's diagram"
