"""What problems `yd = f(t, y)` share."""

from collections.abc import Callable

import numpy as np

from ..jacobians.signatures import Vector
from .base import PatternBlocks, Problem
from .pattern import Structure


class Explicit(Problem):
    """Base of the forms that solvers of ordinary differential equations take.

    Subclasses define `kernel(t, y, out, *arguments)` and `rhs_jacobian(t, y)`, `df/dy` as a dense matrix.
    """

    implicit = False
    rhs_jacobian: Callable[[float, Vector], Vector]

    def rhs(self, t: float, y: Vector, out: Vector | None = None) -> Vector:
        """`f(t, y)`, shape (n,), written to `out` if given.

        Raises
        ------
        ValueError
            If `y` has another length.
        """
        y = np.ascontiguousarray(y, dtype=float)
        if y.shape != (self.n,):
            raise ValueError(f"{type(self).__name__}: y must have the shape ({self.n},), got {y.shape}")
        if out is None:
            out = np.empty(self.n)
        self.kernel(float(t), y, out, *self.arguments)
        self.system.callbacks.check()
        return out

    def residual(self, t: float, y: Vector, yd: Vector, out: Vector | None = None) -> Vector:
        """`yd - f(t, y)`, for solvers of implicit problems."""
        out = self.rhs(t, y, out)
        np.subtract(yd, out, out=out)
        return out

    def jacobian_values(self, t: float, y: Vector, yd: Vector, c: float, a: float = 1.0) -> Vector:
        """`c I - a df/dy`, dense, by columns."""
        return (c * np.eye(self.n) - a * self.rhs_jacobian(t, y)).ravel(order="F")

    def _pattern_blocks(self, s: Structure) -> PatternBlocks:
        sizes = {name: part.stop - part.start for name, part in (self.blocks | self.equations).items()}
        return {(row, name): np.ones((sizes[row], sizes[name])) for row in self.equations for name in self.blocks}
