"""Maps of weighted prototypes, by semi-relaxed Gromov-Wasserstein dimension reduction."""

from gromap import metrics
from gromap._core import __version__
from gromap._transport import Barycenter, Transport, srgw, srgw_barycenter

__all__ = ["Barycenter", "Transport", "__version__", "metrics", "srgw", "srgw_barycenter"]
