"""Types in annotations, as `numpy.typing` has them: arrays, and functions that users give. Shapes are in the docstrings."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float64]
ComplexVector: TypeAlias = npt.NDArray[np.complex128]
Matrix: TypeAlias = npt.NDArray[np.float64]  # two axes or more
Integers: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Numbers: TypeAlias = npt.NDArray[Any]  # real or complex, for functions that the complex step differentiates
ArrayLike: TypeAlias = npt.ArrayLike

Tolerance: TypeAlias = float | Vector  # one number, or one for each unknown
Motion: TypeAlias = tuple[Vector, Vector]  # q, v
FullState: TypeAlias = tuple[Vector, Vector, Vector, Vector]  # q, v, a, lam

Event: TypeAlias = Callable[[float, Vector, Vector], float]  # of t, q, v
Until: TypeAlias = Callable[[float, Vector, Vector], bool]  # of t, q, v: whether a run ends
TimeProgress: TypeAlias = Callable[[float], object]  # of the time that has been reached
Progress: TypeAlias = Callable[[float, float, str], object]  # of what is done, of how much, and a text
