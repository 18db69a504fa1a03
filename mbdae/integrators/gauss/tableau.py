"""Gauss formulas with one to four stages, and all that a step of index-3 equations needs of their coefficients."""

import numpy as np
from numpy.polynomial import legendre

from ...compilation.structure import Structure
from ...driver.arguments import is_integer

STAGES = 1, 2, 3, 4

# Nodes are data of the Legendre polynomials; all else follows from them. It is computed with extended precision and rounded once.


class Gauss(Structure):
    """The formula with `s` stages: collocation in the zeros of the shifted Legendre polynomial, order `2 s`, symplectic, symmetric.

    `Y_i = y0 + h sum_j a_ij k_j`, `y1 = y0 + h sum_i b_i k_i`. Quantities `w` without a derivative in the equations, such as multipliers,
    follow by `w1 = r w0 + sum_i d_i W_i` with `d = A^-T b` and `r = 1 - sum d = R(infinity) = (-1)^s` [Wei, eqs. (10)-(12)].

    Attributes
    ----------
    A : ndarray (s, s)
    b, c, d : ndarray (s,)
    r : float
    AA : ndarray (s, s)
        `A A`: positions of the stages from accelerations.
    A_inverse, AA_inverse : ndarray (s, s)

    References
    ----------
    [Wei, section 3.1]; Hairer, Lubich, Wanner, *Geometric numerical integration*, section II.1.3.
    """

    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    r: float
    AA: np.ndarray
    A_inverse: np.ndarray
    AA_inverse: np.ndarray

    @property
    def order(self):
        """For differential equations."""
        return 2 * len(self.b)


def _nodes(s):
    """Zeros and weights on [0, 1], refined by Newton's method beyond the precision of numpy's."""
    series = np.zeros(s + 1, dtype=np.longdouble)
    series[s] = 1.0
    x = legendre.leggauss(s)[0].astype(np.longdouble)
    for _ in range(3):
        x = x - legendre.legval(x, series) / legendre.legval(x, legendre.legder(series))
    slope = legendre.legval(x, legendre.legder(series))
    return (1 + x) / 2, 1 / ((1 - x * x) * slope**2)


def _cardinal(c, j, x):
    """The polynomial that is one in node `j` and zero in the others."""
    others = np.delete(c, j)
    return np.prod([(x - k) / (c[j] - k) for k in others], axis=0) if len(others) else np.ones_like(x)


def _inverse(A):
    """By Gauss-Jordan elimination with pivots, in the precision of `A`."""
    n = len(A)
    rows = np.hstack([A, np.eye(n, dtype=A.dtype)])
    for k in range(n):
        pivot = k + np.argmax(np.abs(rows[k:, k]))
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] /= rows[k, k]
        for i in set(range(n)) - {k}:
            rows[i] -= rows[i, k] * rows[k]
    return rows[:, n:]


def gauss(stages):
    """The formula with so many stages.

    Raises
    ------
    ValueError
        If there is none.
    """
    if not is_integer(stages) or stages not in STAGES:
        raise ValueError(f"a Gauss formula has {STAGES[0]} to {STAGES[-1]} stages, got {stages!r}")
    c, b = _nodes(stages)
    # the formula itself integrates the cardinal polynomials exactly, from 0 to c_i as well
    A = np.array([[ci * np.sum(b * _cardinal(c, j, ci * c)) for j in range(stages)] for ci in c])
    inverse = _inverse(A)
    exact = {"A": A, "b": b, "c": c, "d": b @ inverse, "AA": A @ A, "A_inverse": inverse, "AA_inverse": inverse @ inverse}
    return Gauss(r=(-1.0) ** stages, **{name: np.array(x, dtype=float, order="C") for name, x in exact.items()})
