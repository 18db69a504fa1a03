"""Types of the functions that Jacobians are made of, and what the strategies need of a problem."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
Array = NDArray[Any]  # real, or complex for the complex step
Arrays = tuple[Array, ...]  # the fields of a NamedTuple: plain tuples pass from Python to compiled code much faster
Tables = NDArray[np.uint8]  # of a system


class DerivativeArguments(NamedTuple):
    """The fields of `Sweep` and of `ComplexBuffers`, and the arguments of the kernel behind `out`, for complex numbers."""

    sweep: Arrays
    scratch: Arrays
    arguments: tuple[Any, ...]


class Residual(Protocol):
    """`F(t, y, yd, out)` fills `out`, shape (m,); the result is ignored."""

    def __call__(self, t: float, y: Array, yd: Array, out: Array, /) -> object: ...


class RightHandSide(Protocol):
    """`f(t, y, out)` fills `out`, shape (n,); the result is ignored."""

    def __call__(self, t: float, y: Array, out: Array, /) -> object: ...


class VectorFunction(Protocol):
    """`f(x)`, shape (m,)."""

    def __call__(self, x: Array, /) -> Array: ...


class ResidualJacobian(Protocol):
    """`F_y + c F_yd`, dense or sparse."""

    def __call__(self, t: float, y: Vector, yd: Vector, c: float, /) -> Vector | csc_array: ...


class KnownEntries(Protocol):
    """Entries of `F_y`, and all of `F_yd`, that need no evaluation of `F`; see `mbdae.problems.known.Known`."""

    mask: Mask
    columns: Mask

    def evaluate(self, t: float, y: Vector, yd: Vector) -> tuple[Vector, Vector]: ...


class Differentiable(Protocol):
    """What is needed of a problem, see `mbdae.problems.base.Problem`.

    `kernel(t, y, yd, out, *arguments)` is the residual of an implicit problem, `kernel(t, y, out, *arguments)` the right-hand side of an
    explicit one; `system` has `callbacks` for exceptions of user functions and, where forces or motions depend on time, `excitation`.
    """

    n: int
    m: int
    implicit: bool
    kernel: Callable[..., Any]
    blocks: dict[str, slice]
    equations: dict[str, slice]
    system: Any

    @property
    def arguments(self) -> tuple[Any, ...]: ...

    @property
    def pattern(self) -> csc_array: ...

    @property
    def known(self) -> KnownEntries: ...

    def residual(self, t: float, y: Vector, yd: Vector, out: Vector | None = None) -> Vector: ...

    def jacobian(self, t: float, y: Vector, yd: Vector, c: float) -> csc_array: ...

    def jacobian_values(self, t: float, y: Vector, yd: Vector, c: float, a: float = 1.0) -> Vector: ...
