"""Maps of weighted prototypes, by semi-relaxed Gromov-Wasserstein dimension reduction."""

from gromap import affinity, metrics
from gromap._core import __version__
from gromap._model import GromovClustering, GromovDR
from gromap._transport import Barycenter, Transport, srgw, srgw_barycenter

__all__ = [
    "Barycenter",
    "GromovClustering",
    "GromovDR",
    "Transport",
    "__version__",
    "affinity",
    "metrics",
    "srgw",
    "srgw_barycenter",
]
