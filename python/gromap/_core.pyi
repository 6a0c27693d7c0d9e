"""The bindings: arrays in, arrays out. Arguments typed ``Any`` are read by attribute, as `_arguments.py` makes them."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Model",
    "__version__",
    "affinity",
    "agreement",
    "cluster",
    "cluster_distances",
    "cluster_similarity",
    "command",
    "fit",
    "fit_distances",
    "fit_similarity",
    "html",
    "neighborhood_preservation",
    "neighbors",
    "path",
    "silhouette",
    "srgw",
    "srgw_barycenter",
    "svg",
    "symmetric_entropic",
    "trustworthiness",
]

_Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
_Weights: TypeAlias = NDArray[np.float64] | None
_Links: TypeAlias = list[list[tuple[int, int, float]]]

__version__: str

@final
class Model:
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def results(self) -> dict[str, Any]: ...
    def predict(self, samples: _Floats, running: Any) -> NDArray[np.uint32]: ...
    def transform(self, samples: _Floats, running: Any) -> NDArray[np.float64]: ...

def fit(parameters: Any, samples: _Floats, weights: _Weights, running: Any) -> Model: ...
def fit_distances(parameters: Any, distances: _Floats, weights: _Weights, running: Any) -> Model: ...
def fit_similarity(parameters: Any, input: Any, running: Any) -> Model: ...
def path(
    parameters: Any, samples: _Floats, levels: tuple[Sequence[int], bool], weights: _Weights, running: Any
) -> tuple[list[Model], _Links]: ...
def cluster(
    parameters: Any, target: tuple[str, str], samples: _Floats, weights: _Weights, running: Any
) -> dict[str, Any]: ...
def cluster_distances(
    parameters: Any, target: tuple[str, str], distances: _Floats, weights: _Weights, running: Any
) -> dict[str, Any]: ...
def cluster_similarity(parameters: Any, target: tuple[str, str], input: Any, running: Any) -> dict[str, Any]: ...
def srgw(
    input: Any,
    target: NDArray[np.float64],
    prototype_features: NDArray[np.float64] | None,
    loss: str,
    alpha: float,
    settings: Any,
) -> dict[str, Any]: ...
def srgw_barycenter(
    inputs: Sequence[Any], shares: Sequence[float], prototypes: int, loss: str, alpha: float, settings: Any
) -> dict[str, Any]: ...
def affinity(samples: _Floats, recipe: Any) -> dict[str, Any]: ...
def symmetric_entropic(samples: NDArray[np.float32], recipe: Any) -> dict[str, Any]: ...
def neighbors(
    samples: NDArray[np.float32], k: int, metric: str, search: str, seed: int
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]: ...
def agreement(truth: NDArray[np.uint32], found: NDArray[np.uint32], score: str) -> float: ...
def silhouette(points: NDArray[np.float64], labels: NDArray[np.uint32], weights: _Weights) -> float: ...
def trustworthiness(samples: _Floats, embedding: NDArray[np.float64], k: int) -> float: ...
def neighborhood_preservation(samples: _Floats, embedding: NDArray[np.float64], k: int) -> float: ...
def html(levels: tuple[list[Model], _Links], about: Any) -> str: ...
def svg(levels: tuple[list[Model], _Links], about: Any) -> str: ...
def command(arguments: Sequence[str | PathLike[str]]) -> int: ...
