"""Maps of weighted prototypes, by semi-relaxed Gromov-Wasserstein dimension reduction."""

from importlib import import_module
from typing import TYPE_CHECKING

from gromap._core import __version__

if TYPE_CHECKING:
    from gromap import affinity, metrics, sc, table
    from gromap._clustering import GromovClustering
    from gromap._coot import CootClustering
    from gromap._model_file import load
    from gromap._progress import Progress
    from gromap._reduction import GromovDR, Path
    from gromap._sure import Candidate, Comparison, Stability, Suggestion, suggest
    from gromap._transport import BalancedTransport, Barycenter, Transport, balanced_transport, srgw, srgw_barycenter

__all__ = [
    "BalancedTransport",
    "Barycenter",
    "Candidate",
    "Comparison",
    "CootClustering",
    "GromovClustering",
    "GromovDR",
    "Path",
    "Progress",
    "Stability",
    "Suggestion",
    "Transport",
    "__version__",
    "affinity",
    "balanced_transport",
    "load",
    "metrics",
    "srgw",
    "srgw_barycenter",
    "suggest",
    "table",
]

# Where a name lives; modules live where they are. They are read when first asked for, so that the command, which needs none
# of them, does not wait for scikit-learn.
_HOMES = {
    "BalancedTransport": "_transport",
    "Barycenter": "_transport",
    "Candidate": "_sure",
    "Comparison": "_sure",
    "CootClustering": "_coot",
    "GromovClustering": "_clustering",
    "GromovDR": "_reduction",
    "Path": "_reduction",
    "Progress": "_progress",
    "Stability": "_sure",
    "Suggestion": "_sure",
    "Transport": "_transport",
    "balanced_transport": "_transport",
    "load": "_model_file",
    "srgw": "_transport",
    "srgw_barycenter": "_transport",
    "suggest": "_sure",
}


# Modules that need an extra; `from gromap import *` does not ask for them.
_EXTRAS = {"sc"}


def __getattr__(name):
    if name not in __all__ and name not in _EXTRAS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"gromap.{_HOMES.get(name, name)}")
    value = getattr(module, name) if name in _HOMES else module
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__, *_EXTRAS})
