"""Radau IIA formulas, and the coefficients that follow from their nodes."""

from functools import cache

import numpy as np
from numpy.polynomial import legendre

from ...compilation.structure import Structure
from ...typing import Matrix, Vector
from ..gauss.tableau import Extended, cardinal, inverse_of, nodes

STAGES = 3, 5, 7  # of the formulas in use
PAIRS = (STAGES[-1] - 1) // 2  # of complex eigenvalues, at most


class Formula(Structure):
    """The formula with `s` stages, `s` odd: collocation at the right Radau points, order `2 s - 1`, `a_si = b_i`, L-stable.

    `Y_i = y0 + Z_i`, `Z_i = h sum_j a_ij Y'_j`, `y1 = Y_s`. Newton's method decouples with the eigenvalues of `A^-1`, one real and
    `(s - 1)/2` pairs of complex ones,

        A^-1 = right_0 c_0 left_0 + sum_p 2 Re(right_p c_p left_p).

    Attributes
    ----------
    A : ndarray (s, s)
    c : ndarray (s,)
    inverse : ndarray (s, s)
        `A^-1`: `Y'_i = sum_j inverse_ij Z_j / h`.
    real : float
        The real eigenvalue `c_0`.
    pairs : ndarray of complex (p,)
        The eigenvalues `c_p` of positive imaginary part.
    left, right : ndarray (s,)
        Its eigenvectors.
    left_pairs : ndarray of complex (p, s)
    right_pairs : ndarray of complex (s, p)
    start : ndarray (s,)
        `u'(0) = sum_j start_j Z_j / h` is the derivative at the start of the step of the polynomial of degree `s - 1` through the `Y'_i`.
    differences : ndarray (3, s)
        `h sum_j differences_kj Z_j / h` is the divided difference of the `Y'_i` at all nodes but the last `k`, in the unit of the estimate,
        in which that at the start and all nodes is `(u'(0) - y'(0)) h/c_0`; zero for one node.
    weights : ndarray (s + 1,)
        Barycentric weights of the nodes `0, c_1, ..., c_s`.
    lobatto : ndarray (s + 3,)
        Nodes of the interpolant, with both ends of the step, see `interpolation`.
    rises : ndarray (s + 3, s + 3)
        `rises_ji`: the integral of the Lagrange polynomial of node `i` from 0 to node `j`.
    legendre : ndarray (s + 3, s + 3)
        `legendre_kj`: coefficient of the shifted Legendre polynomial `P_k` in the Lagrange polynomial of node `j`.

    References
    ----------
    [Hairer and Wanner, sections IV.5 and IV.8].
    """

    A: Matrix
    c: Vector
    inverse: Matrix
    real: float
    pairs: np.ndarray
    left: Vector
    right: Vector
    left_pairs: np.ndarray
    right_pairs: np.ndarray
    start: Vector
    differences: Matrix
    weights: Vector
    lobatto: Vector
    rises: Matrix
    legendre: Matrix


def radau_nodes(s: int) -> Extended:
    """Zeros of `P_s - P_(s-1)` on [0, 1], in extended precision; the last one is 1."""
    series = np.zeros(s + 1, dtype=np.longdouble)
    series[s], series[s - 1] = 1.0, -1.0
    x = np.sort(legendre.legroots(series.astype(float)).real).astype(np.longdouble)
    for _ in range(3):
        x = x - legendre.legval(x, series) / legendre.legval(x, legendre.legder(series))
    x[-1] = 1.0
    c: Extended = (1 + x) / 2
    return c


def lobatto_nodes(s: int) -> Extended:
    """0, the zeros of `P_(s+1)'`, 1, in extended precision."""
    series = np.zeros(s + 2, dtype=np.longdouble)
    series[s + 1] = 1.0
    slope = legendre.legder(series)
    x = np.sort(legendre.legroots(slope.astype(float)).real).astype(np.longdouble)
    for _ in range(3):
        x = x - legendre.legval(x, slope) / legendre.legval(x, legendre.legder(slope))
    return np.concatenate([[np.longdouble(0)], (1 + x) / 2, [np.longdouble(1)]])


def integrals(nodes_of: Extended) -> tuple[Extended, Extended]:
    """`(rises, legendre)`, see `Formula`."""
    m, (x, b) = len(nodes_of), nodes(len(nodes_of))
    rises = np.array([[xi * np.sum(b * cardinal(nodes_of, j, xi * x)) for j in range(m)] for xi in nodes_of])
    polynomials = legendre.legvander(2 * x - 1, m - 1)
    values = np.array([cardinal(nodes_of, j, x) for j in range(m)])
    return rises, (2 * np.arange(m)[:, None] + 1) * ((polynomials * b[:, None]).T @ values.T)


def coefficients(s: int) -> tuple[Extended, Extended]:
    """`(A, c)` in extended precision: `a_ij` is the integral of the Lagrange polynomial of node `j` from 0 to `c_i`."""
    c, (x, b) = radau_nodes(s), nodes(s)
    return np.array([[ci * np.sum(b * cardinal(c, j, ci * x)) for j in range(s)] for ci in c]), c


def divided(x: Extended) -> Extended:
    """Weights of the values at the nodes in their divided difference."""
    return np.array([1.0 / np.prod(xi - np.delete(x, i)) for i, xi in enumerate(x)])


@cache
def radau(s: int) -> Formula:
    """The formula with `s` stages, an odd number; its arrays are shared and must not be changed."""
    A, c = coefficients(s)
    inverse = inverse_of(A)
    values, right = np.linalg.eig(inverse.astype(float))
    left = np.linalg.inv(right)
    real, pairs = int(np.argmin(np.abs(values.imag))), np.flatnonzero(values.imag > 1e-6)
    scale = right[-1, real].real
    at_zero = np.array([cardinal(c, j, np.zeros((), dtype=c.dtype)) for j in range(s)])
    all_nodes = np.concatenate([[np.longdouble(0.0)], c])
    weights = divided(all_nodes)
    unit = np.prod(c) / values[real].real
    differences = unit * np.array([divided(c[:s - k]) @ inverse[:s - k] if s - k > 1 else np.zeros(s) for k in range(3)])
    lobatto = lobatto_nodes(s + 1)
    rises, series = integrals(lobatto)
    return Formula(A=_rounded(A), c=_rounded(c), inverse=_rounded(inverse), real=float(values[real].real), pairs=values[pairs].copy(),
                   left=np.ascontiguousarray(left[real].real * scale), right=np.ascontiguousarray(right[:, real].real / scale),
                   left_pairs=np.ascontiguousarray(left[pairs]), right_pairs=np.ascontiguousarray(right[:, pairs]),
                   start=_rounded(at_zero @ inverse), differences=_rounded(differences), weights=_rounded(weights),
                   lobatto=_rounded(lobatto), rises=_rounded(rises), legendre=_rounded(series))


def _rounded(x: Extended) -> Vector:
    """In double precision, rounded once."""
    return np.array(x, dtype=float, order="C")
