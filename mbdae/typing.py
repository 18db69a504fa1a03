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
Flags: TypeAlias = npt.NDArray[np.bool_]
Records: TypeAlias = npt.NDArray[np.void]
Numbers: TypeAlias = npt.NDArray[Any]  # real or complex, for functions that the complex step differentiates
ArrayLike: TypeAlias = npt.ArrayLike

Tolerance: TypeAlias = float | Vector  # one number, or one for each unknown
Motion: TypeAlias = tuple[Vector, Vector]  # q, v
FullState: TypeAlias = tuple[Vector, Vector, Vector, Vector]  # q, v, a, lam

TimeFunction: TypeAlias = Callable[[float], float]
Law: TypeAlias = Callable[[float, float, float], float]  # of a length or an angle, its rate, t
PositionFunction: TypeAlias = Callable[[float, Numbers], ArrayLike]  # of t, q
VelocityFunction: TypeAlias = Callable[[float, Numbers, Numbers], ArrayLike]  # of t, q, v
MultiplierFunction: TypeAlias = Callable[[float, Numbers, Numbers, Numbers], ArrayLike]  # of t, q, v, lam
Retraction: TypeAlias = Callable[[Numbers, Numbers], ArrayLike]  # of q and a displacement
Energy: TypeAlias = Callable[[float, Vector, Vector], float]  # of t, q, v
Excitation: TypeAlias = Callable[[float], ArrayLike]  # of t

Limit: TypeAlias = Callable[[float, Vector, Vector, Vector], float]  # of t, q, v, lam
Event: TypeAlias = Callable[[float, Vector, Vector], float]  # of t, q, v
Density: TypeAlias = Callable[[float, Vector, Vector], float]  # of t, q, v
Until: TypeAlias = Callable[[float, Vector, Vector], bool]  # of t, q, v: whether a run ends
TimeProgress: TypeAlias = Callable[[float], object]  # of the time that has been reached
Progress: TypeAlias = Callable[[float, float, str], object]  # of what is done, of how much, and a text
