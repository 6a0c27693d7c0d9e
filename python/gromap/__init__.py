"""Maps of weighted prototypes, by semi-relaxed Gromov-Wasserstein dimension reduction."""

from gromap import affinity, metrics
from gromap._clustering import GromovClustering
from gromap._core import __version__
from gromap._progress import Progress
from gromap._reduction import GromovDR, Path, load
from gromap._transport import Barycenter, Transport, srgw, srgw_barycenter

__all__ = [
    "Barycenter",
    "GromovClustering",
    "GromovDR",
    "Path",
    "Progress",
    "Transport",
    "__version__",
    "affinity",
    "load",
    "metrics",
    "srgw",
    "srgw_barycenter",
]
