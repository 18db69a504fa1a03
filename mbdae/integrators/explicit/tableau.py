"""Explicit Runge-Kutta formulas with error estimate and dense output."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...compilation.structure import Structure
from ...typing import Matrix, Vector
from .hinges import Hinges, hinges_of


@dataclass(frozen=True, eq=False)
class Tableau:
    """`k_i = f(t0 + c_i h, y0 + h sum_(j<i) a_ij k_j)`, `y1 = y0 + h sum_i b_i k_i`.

    Rows of all arrays belong to the stages, then to the end of the step, then to further stages of the dense output.

    Attributes
    ----------
    name : str
    order, error_order : int
        Of the formula, and of its error estimate: the error is of order `h^(error_order + 1)`.
    stages : int
        Stages of a step, `s`.
    A : ndarray (m, m)
        Strictly lower triangular; row `s` are the weights `b`.
    c : ndarray (m,)
        Sums of the rows of `A`, to rounding.
    error, second_error, third_error : ndarray (m,)
        With `e^2 = |sum_i error_i k_i|^2 + |sum_i third_error_i k_i|^2` and `e3 = |sum_i second_error_i k_i|` the estimate is
        `h e^2 / sqrt(e^2 + 0.01 e3^2)` (Hairer, Norsett, Wanner, section II.10, without the third one); without a second one it is `h e`.
        The third one is of higher order than the first, and sees kinks and jumps within a step for which the first one is zero or small;
        it counts where steps resolve the motion, not at the boundary of the region of stability.
    differences : ndarray (2, m) or None
        The second and the third difference of the derivatives. `h |sum_i differences_(0, i) k_i|` is the error of a step with a kink, which
        counts where one of the two is sudden, see `control.bend`.
    dense : ndarray (n, m)
        Within the step, with `d = y1 - y0` and `F_3 ... F_(n+2) = h dense k`,
        `y = y0 + theta (d + (1 - theta) (h k_0 - d + theta (2 d - h (k_0 + k_s) + (1 - theta) (F_3 + theta (F_4 + ...)))))`.
    stiffness : float
        Modulus of `h lambda` at the boundary of the region of stability, near the negative real axis; infinite: not examined.
    held, held_c : ndarray or None
        Of half-explicit methods, like `A` and `c`: coefficients and times of the constraints of the stages, see `half_explicit`.
    """

    name: str
    order: int
    error_order: int
    stages: int
    A: Matrix
    c: Vector
    error: Vector
    second_error: Vector
    dense: Matrix
    stiffness: float
    third_error: Vector | None = None
    differences: Matrix | None = None
    held: Matrix | None = None
    held_c: Vector | None = None

    def __post_init__(self) -> None:
        if np.triu(self.A).any() or np.abs(self.A.sum(axis=1) - self.c).max() > 1e-13:
            raise ValueError(f"{self.name}: A must be strictly lower triangular, and c the sums of its rows")

    @property
    def b(self) -> Vector:
        """The weights, shape (s,)."""
        return self.A[self.stages, :self.stages]

    @property
    def degree(self) -> int:
        """Degree of the dense output, as a polynomial in `theta`."""
        return len(self.dense) + 3

    @cached_property
    def coefficients(self) -> "Coefficients":
        """The coefficients for compiled code."""
        uses_end = self.error[self.stages] != 0.0
        errors = [np.zeros_like(self.error) if x is None else x
                  for x in (self.error, self.second_error, self.third_error)]
        differences = np.zeros((0, len(self.c))) if self.differences is None else self.differences
        held = np.zeros_like(self.A) if self.held is None else self.held
        held_c = np.zeros_like(self.c) if self.held_c is None else self.held_c
        return Coefficients(A=self.A, c=self.c, errors=np.array(errors), differences=differences, dense=self.dense,
                            stages=self.stages, uses_end=int(uses_end), stiffness=float(self.stiffness), held=held, held_c=held_c,
                            hinges=hinges_of(self.c[:self.stages]))


class Coefficients(Structure):
    """A `Tableau` for compiled code: the estimates and differences by rows, and whether estimates contain the derivative at the end."""

    A: Matrix
    c: Vector
    errors: Matrix
    differences: Matrix
    dense: Matrix
    stages: int
    uses_end: int
    stiffness: float
    held: Matrix
    held_c: Vector
    hinges: Hinges


def matrix(rows: Mapping[int, Mapping[int, float]], m: int, n: int) -> Matrix:
    """An m x n matrix from its entries other than zero, by rows and columns."""
    out = np.zeros((m, n))
    for i, entries in rows.items():
        for j, x in entries.items():
            out[i, j] = x
    return out
