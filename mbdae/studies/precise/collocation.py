"""Collocation at the nodes of Gauss or Radau in extended precision, for non-stiff and stiff equations.

The slopes `K_i = f(t + c_i h, y + h sum_j a_ij K_j)` are found by fixed-point iteration, or by Newton's method with a Jacobian and factors
in double precision, whose iterations gain as many digits as the Jacobian has. Order `2 s` with the nodes of Gauss, `2 s - 1` with those of
Radau [Hairer, Wanner, Solving ODEs II, section IV.5].

Step sizes follow from the expansion of the slopes in Legendre polynomials: where its coefficients decay by a factor `rho` from one to the
next, the slopes are accurate to the last coefficient, and the result, which is that of a quadrature of twice the order, to `rho^s` times as
much.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import mpmath
import numpy as np
from scipy.linalg import lu_factor, lu_solve

from ...typing import Numbers
from .numbers import EPSILON, Extended
from .stepping import Solver

SAFETY, MOST, LEAST = 0.85, 3.0, 0.2
MAX_ITERATIONS = 40
DIGITS = 40  # of the coefficients
CONTRACTION = 0.3  # rate above which the Jacobian is evaluated again
INCREMENT = 1e-9  # of its differences, in extended precision


class Tableau(NamedTuple):
    """Nodes, matrix, weights, and the matrix from values at the nodes to coefficients of Legendre polynomials."""

    c: Numbers
    A: Numbers
    b: Numbers
    modes: Numbers


@lru_cache
def tableau(stages: int, nodes: str = "gauss") -> Tableau:
    """The tableau in extended precision.

    Parameters
    ----------
    stages : int
    nodes : {"gauss", "radau"}
    """
    with mpmath.workdps(DIGITS):
        c = _nodes(stages, nodes)
        P = mpmath.matrix([[mpmath.legendre(k, 2 * x - 1) for k in range(stages)] for x in c])
        inverse = P**-1
        A = mpmath.matrix([[_integral(k, x) for k in range(stages)] for x in c]) * inverse
        b = mpmath.matrix([[_integral(k, mpmath.mpf(1)) for k in range(stages)]]) * inverse
        return Tableau(extended(c), extended(A), extended(b)[0], extended(inverse))


def _nodes(stages: int, nodes: str) -> list[Any]:
    """Zeros of `P_s`, or of `P_s - P_s-1`, in ascending order on [0, 1]."""
    start = np.polynomial.legendre.legroots([0.0] * (stages - (nodes == "radau")) + ([1.0] if nodes == "gauss" else [-1.0, 1.0]))

    def f(x: Any) -> Any:
        return mpmath.legendre(stages, x) - (mpmath.legendre(stages - 1, x) if nodes == "radau" else 0)

    found = [mpmath.mpf(1) if nodes == "radau" and k == stages - 1 else mpmath.findroot(f, mpmath.mpf(float(x)))
             for k, x in enumerate(sorted(start.real))]
    return [(1 + x) / 2 for x in found]


def _integral(k: int, x: Any) -> Any:
    """The integral of the shifted Legendre polynomial `P_k` from 0 to `x`."""
    z = 2 * x - 1
    return x if k == 0 else (mpmath.legendre(k + 1, z) - mpmath.legendre(k - 1, z)) / (2 * (2 * k + 1))


def extended(x: Any) -> Numbers:
    """Numbers of mpmath as an array of extended ones."""
    if isinstance(x, mpmath.matrix):
        return np.array([[Extended(mpmath.nstr(x[i, j], 30)) for j in range(x.cols)] for i in range(x.rows)])
    return np.array([Extended(mpmath.nstr(v, 30)) for v in x])


class Collocation(Solver):
    """`y' = f(t, y)` by collocation.

    Parameters
    ----------
    f : callable
        `f(t, y) -> y'`, extended numbers.
    tol : float
        Bound on the estimate of the local error, relative to the scale of each unknown.
    stages : int
    nodes : {"gauss", "radau"}
    stiff : bool
        Newton's method in the place of the fixed-point iteration.
    """

    def __init__(self, f: Callable[[Any, Numbers], Numbers], tol: float, stages: int = 10, nodes: str = "gauss", stiff: bool = False) -> None:
        super().__init__(f, tol)
        self.tableau, self.stages, self.stiff = tableau(stages, nodes), stages, stiff
        self.order = 2 * stages - (nodes == "radau")
        self._trial: Numbers | None = None
        self._memory: tuple[Any, Numbers] | None = None  # step size and modes of the last step
        self._jacobian: Any = None
        self._factors: tuple[float, Any] | None = None

    def attempt(self, t: Any, y: Numbers, h: Any) -> tuple[Numbers, float]:
        K = self._slopes(t, y, h, self._guess(t, y, h))
        if K is None:
            return y, float("inf")
        modes = self.tableau.modes @ K
        self._trial = modes
        return y + h * (self.tableau.b @ K), self._error(modes, y, h)

    def accepted(self, t: Any, h: Any) -> None:
        assert self._trial is not None
        self._memory = h, self._trial

    def _guess(self, t: Any, y: Numbers, h: Any) -> Numbers:
        """The polynomial of the last step continued, or constant slopes."""
        if self._memory is None:
            return np.tile(self.derivative(t, y), (self.stages, 1))
        last, modes = self._memory
        z = 2 * (1 + self.tableau.c * h / last) - 1
        return legendre(z, self.stages) @ modes

    def _slopes(self, t: Any, y: Numbers, h: Any, K: Numbers) -> Numbers | None:
        """The slopes at the nodes, `None` if the iteration does not converge."""
        A, before, fresh = self.tableau.A, np.inf, False
        for k in range(MAX_ITERATIONS):
            Y = y + h * (A @ K)
            residual = np.array([self.f(t + c * h, x) for c, x in zip(self.tableau.c, Y)]) - K
            d = self._correction(t, y, h, residual) if self.stiff else residual
            K = K + d
            change = max(self.size(h * row, y) for row in A @ d)
            rate = change / before
            if change <= 2 * EPSILON or (k > 0 and rate < 1 and change * rate / (1 - rate) < 0.5 * EPSILON):
                return K
            if k > 2 and rate > 0.5 and change < 1e3 * EPSILON:  # rounding errors
                return K
            if not np.isfinite(change) or (k > 1 and rate > 0.9):
                if not self.stiff or fresh or not np.isfinite(change):
                    self._forget()
                    return None
            if self.stiff and k > 0 and rate > CONTRACTION and not fresh and change > 1e3 * EPSILON:
                self._forget()
                fresh = True
            before = change
        self._forget()
        return None

    def _forget(self) -> None:
        self._jacobian, self._factors = None, None

    def _correction(self, t: Any, y: Numbers, h: Any, residual: Numbers) -> Numbers:
        """`(I - h A x J)^-1 residual` in double precision."""
        if self._jacobian is None:
            self._jacobian = self._differences(t, y)
            self._factors = None
        if self._factors is None or self._factors[0] != float(h):
            n = len(y)
            matrix = np.eye(self.stages * n) - float(h) * np.kron(self.tableau.A.astype(float), self._jacobian)
            self._factors = float(h), lu_factor(matrix, overwrite_a=True, check_finite=False)
        scale = float(np.abs(residual).max()) or 1.0
        d = lu_solve(self._factors[1], (residual / scale).astype(float).ravel(), check_finite=False)
        return d.reshape(residual.shape).astype(Extended) * scale

    def _differences(self, t: Any, y: Numbers) -> Any:
        """`df/dy` in double precision, by differences in extended precision."""
        assert self.scale is not None
        base, columns = self.f(t, y), []
        for k in range(len(y)):
            x, step = y.copy(), INCREMENT * max(self.scale[k], abs(y[k]))
            x[k] += step
            columns.append(((self.f(t, x) - base) / step).astype(float))
        return np.array(columns).T

    def _error(self, modes: Numbers, y: Numbers, h: Any) -> float:
        """Estimate of the local error from the decay of the modes."""
        s, sizes = self.stages, [self.size(h * m, y) for m in modes]
        last, middle = max(sizes[-2:]), max(sizes[s // 2 - 1:s // 2 + 1])
        if last <= 0.0:
            return 0.0
        rho = min(1.0, (last / middle) ** (1.0 / (s - 1 - s // 2))) if middle > 0.0 else 1.0
        return float(last * max(rho**s, EPSILON))

    def factor(self, error: float) -> float:
        if not np.isfinite(error):
            return LEAST
        return float(np.clip(SAFETY * (self.tol / max(error, 1e-60)) ** (1.0 / (2 * self.stages)), LEAST, MOST))


def legendre(z: Numbers, count: int) -> Numbers:
    """Legendre polynomials `P_0 ... P_count-1` at `z`, as columns."""
    P = [np.ones_like(z), z]
    for k in range(1, count - 1):
        P.append(((2 * k + 1) * z * P[-1] - k * P[-2]) / (k + 1))
    return np.array(P[:count]).T
