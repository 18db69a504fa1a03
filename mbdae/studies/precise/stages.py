"""The equations of the stages of a collocation method in double precision.

    K_i = f(t + c_i h, y + h sum_j a_ij K_j)

Fixed-point iteration, or Newton's method with one Jacobian for all stages, and near the solution with that of each stage, whose factors
then correct slopes in extended precision: an iteration gains about as many digits as the differences of the Jacobians have, and few
evaluations in extended precision are left [as in iterative refinement; Higham, Accuracy and Stability of Numerical Algorithms,
chapter 12].
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from ...typing import Matrix, Numbers, Vector

MAX_ITERATIONS = 40
NEAR = 1e-6  # correction, relative to the sizes of the unknowns, from which on each stage has a Jacobian of its own
ROUNDING = 1e-15  # correction that ends the iteration
STAGNATION = 0.1  # rate at which corrections are rounding errors
DIVERGENCE = 0.9  # rate at which the iteration is given up
LEAST_RATE = 1e-9
INCREMENT = 1e-7  # of the differences


class Found(NamedTuple):
    """Slopes, one stage a row, and the contraction rate of the iteration with the factors that are kept."""

    K: Matrix
    rate: float


class Stages:
    """Solver of the equations of the stages.

    Parameters
    ----------
    f : callable
        `f(t, y) -> y'` in double precision.
    c, A : ndarray
        Nodes and matrix of the method.
    """

    def __init__(self, f: Callable[[float, Vector], Numbers], c: Numbers, A: Numbers) -> None:
        self._f, self._c, self._A = f, c.astype(float), A.astype(float)
        self._factors: Any = None
        self._jacobians: list[Matrix] = []

    def solve(self, t: float, y: Vector, h: float, K: Matrix, sizes: Vector) -> Found | None:
        """The slopes, from the guess `K`; corrections are relative to `sizes`. `None` if the iteration does not converge."""
        try:
            return self._solve(t, y, h, K, sizes)
        except (ArithmeticError, np.linalg.LinAlgError):
            return None

    def correct(self, residual: Matrix, rounded: Matrix | None = None) -> Matrix:
        """The correction of the slopes for the residual `f - K`, with the factors of the last solution.

        `rounded` is what the arguments of `f` have lost by rounding: times the Jacobian it belongs to the residual.
        """
        if rounded is not None:
            residual = residual + np.array([J @ x for J, x in zip(self._jacobians, rounded)])
        d: Matrix = lu_solve(self._factors, residual.ravel(), check_finite=False).reshape(residual.shape)
        return d

    def _solve(self, t: float, y: Vector, h: float, K: Matrix, sizes: Vector) -> Found | None:
        guess, middle, self._factors = K, len(self._c) // 2, None
        K, changes = self._iterate(t, y, h, guess, sizes, NEAR)
        if not changes[-1] <= NEAR:
            J = self._jacobian(t + self._c[middle] * h, (y + h * (self._A @ guess))[middle], sizes)
            self._factor(h, [J] * len(self._c))
            K, changes = self._iterate(t, y, h, guess, sizes, NEAR)
        if not changes[-1] <= NEAR:
            return None
        Y = y + h * (self._A @ K)
        self._factor(h, [self._jacobian(t + c * h, x, sizes) for c, x in zip(self._c, Y)])
        # the iteration starts beside the solution, so that its rate is seen above rounding errors
        K, changes = self._iterate(t, y, h, K + NEAR / h * sizes * _signs(K.shape), sizes, ROUNDING)
        return Found(K, _rate(changes)) if len(changes) > 1 and changes[-1] <= NEAR else None

    def _iterate(self, t: float, y: Vector, h: float, K: Matrix, sizes: Vector, until: float) -> tuple[Matrix, list[float]]:
        """The slopes after Newton's method with the present factors, or fixed-point iteration without factors, and the corrections.

        It ends with a correction of at most `until`, or with one that is a rounding error.
        """
        changes: list[float] = []
        for _ in range(MAX_ITERATIONS):
            Y = y + h * (self._A @ K)
            residual = np.array([self._f(t + c * h, x) for c, x in zip(self._c, Y)], dtype=float) - K
            d = residual if self._factors is None else self.correct(residual)
            K = K + d
            changes.append(float((np.abs(h * (self._A @ d)) / np.maximum(sizes, np.abs(y))).max()))
            rate = changes[-1] / changes[-2] if len(changes) > 1 and changes[-2] > 0.0 else 0.0
            rounded = changes[-1] < NEAR and len(changes) > 1 and rate > STAGNATION and until < NEAR
            if not changes[-1] > until or rounded or (rate > DIVERGENCE and len(changes) > 2):
                break
        return K, changes

    def _factor(self, h: float, jacobians: list[Matrix]) -> None:
        """Factors of `I - h (a_ij J_i)`."""
        self._jacobians, s, n = jacobians, len(jacobians), len(jacobians[0])
        matrix = np.eye(s * n)
        for i, J in enumerate(jacobians):
            matrix[i * n:(i + 1) * n] -= h * np.kron(self._A[i], J)
        self._factors = lu_factor(matrix, overwrite_a=True, check_finite=False)

    def _jacobian(self, t: float, y: Vector, sizes: Vector) -> Matrix:
        """`df/dy` by differences."""
        base, columns = self._f(t, y), []
        for k in range(len(y)):
            x = y.copy()
            x[k] += INCREMENT * max(sizes[k], abs(y[k]))
            columns.append(np.asarray((self._f(t, x) - base) / (x[k] - y[k]), dtype=float))
        return np.array(columns).T


def _rate(changes: list[float]) -> float:
    """The contraction rate of an iteration near its solution: the last ratio of two corrections that are more than rounding errors."""
    ratios = [after / before for before, after in pairwise(changes)]
    if len(ratios) > 1 and ratios[-1] > STAGNATION:
        ratios.pop()
    return max(LEAST_RATE, ratios[-1])


@cache
def _signs(shape: tuple[int, int]) -> Matrix:
    """Plus and minus one in no order."""
    signs: Matrix = np.random.default_rng(0).choice([-1.0, 1.0], shape)
    return signs
