"""Gauss formulas with one to four stages, and the coefficients that follow from their nodes."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.polynomial import legendre

from ...compilation.structure import Structure
from ...driver.arguments import is_integer
from ...typing import Matrix, Vector

STAGES = 1, 2, 3, 4
LEVELS = "velocity", "position", "ggl"  # of the constraints in the stages

# The nodes are zeros of Legendre polynomials. The other coefficients follow from them; they are computed in extended precision and rounded
# once.

Extended: TypeAlias = npt.NDArray[np.floating[Any]]  # of extended precision


class Gauss(Structure):
    """The formula with `s` stages: collocation at the zeros of the shifted Legendre polynomial; order `2 s`, symplectic, symmetric.

    `Y_i = y0 + h sum_j a_ij k_j`, `y1 = y0 + h sum_i b_i k_i`. Variables `w` whose derivatives do not occur, such as multipliers,
    follow from `w1 = r w0 + sum_i d_i W_i` with `d = A^-T b` and `r = 1 - sum d = R(infinity) = (-1)^s` [Wei, eqs. (10)-(12)].

    Attributes
    ----------
    A : ndarray (s, s)
    b, c, d : ndarray (s,)
    r : float
    AA : ndarray (s, s)
        `A A`, for the positions of the stages from accelerations.
    moments : ndarray (s, s)
        Weights of the constraints of the stages in the equations that the method solves. For constraints on velocities the rows
        `k < s - 1` are `b_i P_k(2 c_i - 1)`, with Legendre's polynomials; the last one is zero, and stands for the end of the step. For
        constraints on positions, and on both levels, the identity.
    mix, mix_inverse : ndarray (s, s)
        `Y = mix dW` decouples the corrections of the stages: `[moments A; b^T]` for velocities, `A A` for positions, `A` for both levels.
    speeds, shifts : ndarray (s, s)
        Corrections of velocities and positions from `Y`: `A mix^-1` and `A A mix^-1`.

    References
    ----------
    [Wei, section 3.1]; Hairer, Lubich, Wanner, *Geometric numerical integration*, section II.1.3.
    """

    A: Matrix
    b: Vector
    c: Vector
    d: Vector
    r: float
    AA: Matrix
    moments: Matrix
    mix: Matrix
    mix_inverse: Matrix
    speeds: Matrix
    shifts: Matrix

    @property
    def order(self) -> int:
        """Order for ordinary differential equations."""
        return 2 * len(self.b)


def nodes(s: int) -> tuple[Extended, Extended]:
    """Nodes and weights on [0, 1]; NumPy's nodes, refined by Newton's method in extended precision."""
    series = np.zeros(s + 1, dtype=np.longdouble)
    series[s] = 1.0
    x: Extended = legendre.leggauss(s)[0].astype(np.longdouble)
    for _ in range(3):
        x = x - legendre.legval(x, series) / legendre.legval(x, legendre.legder(series))
    slope: Extended = legendre.legval(x, legendre.legder(series))
    return (1 + x) / 2, 1 / ((1 - x * x) * slope**2)


def cardinal(c: Extended, j: int, x: Extended) -> Extended:
    """The Lagrange polynomial of node `j`."""
    others = np.delete(c, j)
    return np.prod([(x - k) / (c[j] - k) for k in others], axis=0) if len(others) else np.ones_like(x)


def inverse_of(A: Extended) -> Extended:
    """The inverse, by Gauss-Jordan elimination with row interchanges, in the precision of `A`."""
    n = len(A)
    rows = np.hstack([A, np.eye(n, dtype=A.dtype)])
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(rows[k:, k])))
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] /= rows[k, k]
        for i in set(range(n)) - {k}:
            rows[i] -= rows[i, k] * rows[k]
    return rows[:, n:]


def _moments(c: Extended, b: Extended) -> Extended:
    """Weights `b_i P_k(2 c_i - 1)` in the rows `k < s - 1`, and zeros in the last one."""
    rows = np.zeros((len(c), len(c)), dtype=c.dtype)
    for k in range(len(c) - 1):
        rows[k] = b * legendre.legval(2 * c - 1, np.eye(k + 1, dtype=c.dtype)[k])
    return rows


def _decoupled(A: Extended, b: Extended, c: Extended, level: str) -> dict[str, Extended]:
    """The coefficients that depend on the level."""
    one = np.eye(len(c), dtype=c.dtype)
    inverse = inverse_of(A)
    if level == "ggl":
        return {"moments": one, "mix": A, "mix_inverse": inverse, "speeds": one, "shifts": A}
    if level == "position":
        return {"moments": one, "mix": A @ A, "mix_inverse": inverse @ inverse, "speeds": inverse, "shifts": one}
    moments = _moments(c, b)
    mix = moments @ A
    mix[-1] = b
    inverse = inverse_of(mix)
    return {"moments": moments, "mix": mix, "mix_inverse": inverse, "speeds": A @ inverse, "shifts": A @ A @ inverse}


def gauss(stages: int, level: str = "velocity") -> Gauss:
    """The formula with `stages` stages, for constraints of this level, one of `LEVELS`.

    Raises
    ------
    ValueError
        If `stages` is not in `STAGES`, or `level` is not in `LEVELS`.
    """
    if not is_integer(stages) or stages not in STAGES:
        raise ValueError(f"a Gauss formula has {STAGES[0]} to {STAGES[-1]} stages, got {stages!r}")
    if level not in LEVELS:
        raise ValueError(f"stages_hold must be one of {', '.join(map(repr, LEVELS))}, got {level!r}")
    c, b = nodes(stages)
    # a_ij is the integral of the Lagrange polynomial j from 0 to c_i, for which the formula is exact
    A = np.array([[ci * np.sum(b * cardinal(c, j, ci * c)) for j in range(stages)] for ci in c])
    inverse = inverse_of(A)
    exact = {"A": A, "b": b, "c": c, "d": b @ inverse, "AA": A @ A, **_decoupled(A, b, c, level)}
    return Gauss(r=(-1.0) ** stages, **{name: np.array(x, dtype=float, order="C") for name, x in exact.items()})
