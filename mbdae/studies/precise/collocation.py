"""Collocation at the nodes of Gauss or Radau in extended precision, for non-stiff and stiff equations.

The slopes `K_i = f(t + c_i h, y + h sum_j a_ij K_j)` are found in double precision and corrected in extended precision with the same
factors, see `Stages`: mostly one evaluation a stage. Order `2 s` with the nodes of Gauss, `2 s - 1` with those of
Radau [Hairer, Wanner, Solving ODEs II, section IV.5].

Step sizes follow from the expansion of the slopes in Legendre polynomials: where its coefficients decay by a factor `rho` from one to the
next, the slopes are accurate to the last coefficient, and the result, which is that of a quadrature of twice the order, to `rho^s` times as
much for smooth equations; `rho^(s/2)` is used, and nothing of that where forces are stiff, for which the order is that of the stages.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...typing import Numbers
from .compiled import CompiledStages
from .numbers import EPSILON, Extended
from .stages import Stages
from .stepping import Solver

SAFETY, MOST, LEAST = 0.85, 3.0, 0.2
MAX_CORRECTIONS = 10
CONVERGENCE = 0.01  # of the iteration, relative to the tolerance
DIVERGENCE = 0.9  # rate at which the iteration is given up
ROUNDING = 1e3  # multiple of the rounding unit below which corrections that do not shrink are rounding errors
NOISE, STIFF_NOISE = 1e-15, 1e-12  # rounding errors of slopes relative to their size
SUPERCONVERGENCE = 0.5  # share of the order of the quadrature that estimates count on
MISFIT = 100.0  # slopes at the ends that are off by more, relative to the last mode, show a jump


class Tableau(NamedTuple):
    """Nodes, matrix, weights, and the matrix from values at the nodes to coefficients of Legendre polynomials."""

    c: Numbers
    A: Numbers
    b: Numbers
    modes: Numbers


@lru_cache
def tableau(stages: int, nodes: str = "gauss") -> Tableau:
    """The tableau in extended precision.

    The quadrature is exact for products of two of the polynomials `P_0 ... P_s-1`, so its weights on [-1, 1] are
    `2 / sum_k (2 k + 1) P_k(z_i)^2`, and `(2 k + 1) / 2 w_i P_k(z_i)` the matrix of the coefficients.

    Parameters
    ----------
    stages : int
    nodes : {"gauss", "radau"}
    """
    z = _nodes(stages, nodes)
    P, degree = legendre(z, stages), np.arange(stages)
    b = 1 / ((2 * degree + 1) * P**2).sum(axis=1)
    modes = ((2 * degree + 1) * P * b[:, np.newaxis]).T
    return Tableau((1 + z) / 2, _integrals(z, stages) @ modes, b, modes)


def _nodes(stages: int, nodes: str) -> Numbers:
    """Zeros of `P_s`, or of `P_s - P_s-1`, in ascending order on [-1, 1], by Newton's method."""
    radau = nodes == "radau"
    z = np.sort(np.polynomial.legendre.legroots([0.0] * (stages - radau) + ([-1.0, 1.0] if radau else [1.0])).real).astype(Extended)
    inner = z[:-1] if radau else z
    for _ in range(3):
        P = legendre(inner, stages + 1)
        slope = [k * (P[:, k - 1] - inner * P[:, k]) / (1 - inner**2) for k in (stages - 1, stages)]
        inner -= (P[:, -1] - radau * P[:, -2]) / (slope[1] - radau * slope[0])
    return np.append(inner, Extended(1)) if radau else inner


def _integrals(z: Numbers, count: int) -> Numbers:
    """Integrals of the shifted Legendre polynomials from 0 to `(1 + z) / 2`, as columns."""
    P = legendre(z, count + 1)
    return np.array([(1 + z) / 2, *((P[:, k + 1] - P[:, k - 1]) / (2 * (2 * k + 1)) for k in range(1, count))]).T


def legendre(z: Numbers, count: int) -> Numbers:
    """Legendre polynomials `P_0 ... P_count-1` at `z`, as columns."""
    P = [np.ones_like(z), z]
    for k in range(1, count - 1):
        P.append(((2 * k + 1) * z * P[-1] - k * P[-2]) / (k + 1))
    return np.array(P[:count]).T


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
        Whether the order is that of the stages; slopes then have larger rounding errors, too.
    solver : Stages or CompiledStages, optional
        For the same equations in double precision; by default with `f`.
    """

    def __init__(self, f: Callable[[Any, Numbers], Numbers], tol: float, stages: int = 10, nodes: str = "gauss", stiff: bool = False,
                 solver: Stages | CompiledStages | None = None) -> None:
        super().__init__(f, tol)
        self.tableau, self.stages = tableau(stages, nodes), stages
        self.order, self.noise, self.smooth = 2 * stages - (nodes == "radau"), STIFF_NOISE if stiff else NOISE, not stiff
        self._solver = solver or Stages(f, self.tableau.c, self.tableau.A)
        self._trial: tuple[Numbers, Numbers] | None = None  # modes of an attempt and what its result has lost by rounding
        self._memory: tuple[Any, Numbers] | None = None  # step size and modes of the last step

    def attempt(self, t: Any, y: Numbers, h: Any) -> tuple[Numbers, float]:
        K = self._slopes(t, y, h, self._guess(t, y, h))
        if K is None:
            return y, float("inf")
        modes, increment = self.tableau.modes @ K, h * (self.tableau.b @ K) + self.lost
        end = y + increment
        self._trial = modes, increment - (end - y)
        return end, self._error(t, y, h, modes, end)

    def accepted(self, t: Any, h: Any) -> None:
        assert self._trial is not None
        modes, self.lost = self._trial
        self._memory = h, modes

    def _guess(self, t: Any, y: Numbers, h: Any) -> Numbers:
        """The polynomial of the last step continued, or constant slopes."""
        if self._memory is None:
            return np.tile(self.derivative(t, y), (self.stages, 1))
        last, modes = self._memory
        z = 2 * (1 + self.tableau.c * h / last) - 1
        return legendre(z, self.stages) @ modes

    def _slopes(self, t: Any, y: Numbers, h: Any, K: Numbers) -> Numbers | None:
        """The slopes at the nodes, `None` if the iteration does not converge."""
        assert self.scale is not None
        double = self._solver.solve(float(t), y.astype(float), float(h), K.astype(float), self.scale.astype(float))
        if double is None:
            return None
        A, before, rate = self.tableau.A, np.inf, double.rate
        K = double.K.astype(Extended)
        for k in range(MAX_CORRECTIONS):
            inner = h * (A @ K) + self.lost
            Y = y + inner
            residual = np.array([self.f(t + c * h, x) for c, x in zip(self.tableau.c, Y)]) - K
            size, rounded = np.abs(residual).max() or Extended(1), inner - (Y - y)
            d = self._solver.correct((residual / size).astype(float), (rounded / size).astype(float)).astype(Extended) * size
            K = K + d
            change = max(self.size(h * row, y) for row in A @ d)
            rate = max(rate, change / before)
            if self._converged(k, change, rate):
                return K
            if not np.isfinite(change) or rate > DIVERGENCE:
                break
            before = change
        return None

    def _converged(self, k: int, change: float, rate: float) -> bool:
        """Convergence test after correction `k`: by its size, by what the next one will be, or by rounding errors."""
        predicted = change * rate / (1.0 - rate) if rate < 1.0 else np.inf
        limit = max(2.0 * EPSILON, CONVERGENCE * self.tol)
        return change <= limit or predicted < limit or (k > 1 and rate > 0.5 and change < ROUNDING * EPSILON)

    def _error(self, t: Any, y: Numbers, h: Any, modes: Numbers, end: Numbers) -> float:
        """Estimate of the local error from the decay of the modes; larger where slopes at the ends of the step do not fit."""
        s, sizes = self.stages, [self.size(h * m, y) for m in modes]
        noise = self.noise * max(sizes)
        last, middle = max(sizes[-2:]) - noise, max(sizes[s // 2 - 1:s // 2 + 1])
        unseen = self._unseen(t, y, h, modes, end)
        if unseen > MISFIT * (max(last, 0.0) + noise):
            return float(unseen * self.tableau.c[0])
        if last <= 0.0:
            return 0.0
        rho = min(1.0, (last / middle) ** (1.0 / (s - 1 - s // 2))) if middle > 0.0 else 1.0
        return float(last * max(rho**(SUPERCONVERGENCE * s * self.smooth), EPSILON))

    def _unseen(self, t: Any, y: Numbers, h: Any, modes: Numbers, end: Numbers) -> float:
        """Differences of the slopes at both ends from those of the polynomial: a jump before the first node or behind the last one."""
        signs = np.array([Extended((-1)**k) for k in range(self.stages)])
        gaps = [signs @ modes - self.derivative(t, y)]
        if self.tableau.c[-1] < 1:
            gaps.append(modes.sum(axis=0) - self.derivative_at_end(t + h, end))
        return max(self.size(h * gap, y) for gap in gaps)

    def factor(self, error: float) -> float:
        if not np.isfinite(error):
            return LEAST
        order = self.stages * (1.0 + SUPERCONVERGENCE * self.smooth)
        return float(np.clip(SAFETY * (self.tol / max(error, 1e-60)) ** (1.0 / order), LEAST, MOST))
