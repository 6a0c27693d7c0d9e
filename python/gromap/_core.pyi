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
    "balanced_transport",
    "cluster",
    "command",
    "coot",
    "fit",
    "html",
    "neighborhood",
    "neighbors",
    "path",
    "silhouette",
    "srgw",
    "srgw_barycenter",
    "svg",
    "symmetric_entropic",
]

_Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
_Links: TypeAlias = list[list[tuple[int, int, float]]]

__version__: str

@final
class Model:
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def results(self) -> dict[str, Any]: ...
    def parameters(self) -> str: ...
    def columns_of(self, view: int, names: Sequence[str]) -> list[int]: ...
    def predict(self, samples: _Floats | Sequence[_Floats], running: Any) -> NDArray[np.uint32]: ...
    def transform(
        self, samples: _Floats | Sequence[_Floats], places: str, running: Any
    ) -> NDArray[np.float64]: ...
    def sample_places(self) -> NDArray[np.float64]: ...

def fit(parameters: Any, data: Any, running: Any) -> Model: ...
def cluster(parameters: Any, data: Any, running: Any) -> Model: ...
def path(
    parameters: Any, data: Any, sizes: Sequence[int], level: str, running: Any
) -> tuple[list[Model], _Links]: ...
def srgw(
    input: Any,
    target: NDArray[np.float64],
    prototype_features: NDArray[np.float64] | None,
    loss: str,
    alpha: float,
    rule: Any,
    settings: Any,
) -> dict[str, Any]: ...
def srgw_barycenter(
    inputs: Sequence[Any], shares: Sequence[float], prototypes: int, loss: str, alpha: float, rule: Any, settings: Any
) -> dict[str, Any]: ...
def balanced_transport(
    costs: Any,
    sample_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
    epsilon: float | None,
    max_iter: int,
    tol: float,
) -> dict[str, Any]: ...
def coot(parameters: Any, samples: _Floats, weights: NDArray[np.float64], running: Any) -> dict[str, Any]: ...
def affinity(samples: _Floats, recipe: Any, seed: int) -> dict[str, Any]: ...
def symmetric_entropic(samples: _Floats, recipe: Any) -> dict[str, Any]: ...
def neighbors(
    samples: _Floats, k: int, metric: str, search: str, seed: int
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]: ...
def agreement(truth: NDArray[np.uint32], found: NDArray[np.uint32], score: str) -> float: ...
def silhouette(points: NDArray[np.float64], labels: NDArray[np.uint32], weights: NDArray[np.float64] | None) -> float: ...
def neighborhood(samples: _Floats, embedding: _Floats, k: int, score: str) -> float: ...
def html(levels: tuple[list[Model], _Links], about: Any) -> str: ...
def svg(levels: tuple[list[Model], _Links], about: Any) -> str: ...
def command(arguments: Sequence[str | PathLike[str]]) -> int: ...
