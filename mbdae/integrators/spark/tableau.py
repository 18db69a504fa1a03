"""Specialised partitioned additive Runge-Kutta formulas (SPARK): their coefficients follow from two sets of nodes."""

from functools import cache

import numpy as np

from ...compilation.structure import Structure
from ...driver.arguments import is_integer
from ...typing import Matrix, Vector
from ..gauss.tableau import Extended, cardinal, inverse_of, nodes
from ..radau.tableau import lobatto_nodes

ORDERS = 2, 4, 6, 8
PAIRS = "gauss-lobatto", "lobatto"


class Formula(Structure):
    """The coefficients of a formula with `s` stages of the motion, at `c_i`, and `m` stages of the constraints, at `e_k`.

    The nodes `e_k`, `e_1 = 0`, `e_m = 1`, are those of Lobatto; `c_i` are those of Gauss with `s = m - 1`, order `2 s`, or the same as
    `e_k` with `s = m`, order `2 s - 2`. With the Lagrange polynomials `l_j` of the nodes `c_j`

        a_ij = int_0^(c_i) l_j,   g_kj = int_0^(e_k) l_j,   b_j = int_0^1 l_j,   d_k = weights of Lobatto,
        u_ij = b_j (1 - a_ji / b_i),   r_ik = d_k (1 - g_ki / b_i).

    The last two are the conditions for symplectic partitioned methods; `u = a` for Gauss, and Lobatto's IIIB for the IIIA of `a`.

    Attributes
    ----------
    A, U : ndarray (s, s)
        `a_ij` for positions, `u_ij` for velocities from applied forces.
    R : ndarray (s, m)
        `r_ik`, for velocities from reactions; the last column is zero.
    P : ndarray (m, s)
        `g_kj`, for the positions of the constraints; the first row is zero, the last one is `b`.
    b, c : ndarray (s,)
    d, e : ndarray (m,)
    E : ndarray (s, m)
        Values of the Lagrange polynomials of the nodes `e_k` at `c_i`, for multipliers on which forces depend.
    PU, PR : ndarray (m, s), (m, m)
        Positions of the constraints from accelerations, `P U` and `P R`, without the first row, and `b`, `d` in the last one: the
        constraints on positions at `e_2 ... e_m`, and that on velocities at the end.
    inverse : ndarray (m, m)
        The inverse of `PR`.
    AU, AR : ndarray (s, s), (s, m)
        `A U`, `A R`.

    References
    ----------
    L. O. Jay, *Specialized partitioned additive Runge-Kutta methods for systems of overdetermined DAEs with holonomic constraints*,
    SIAM J. Numer. Anal. 45 (2007); *Symplectic partitioned Runge-Kutta methods for constrained Hamiltonian systems*, SIAM J. Numer. Anal.
    33 (1996).
    """

    A: Matrix
    U: Matrix
    R: Matrix
    P: Matrix
    b: Vector
    c: Vector
    d: Vector
    e: Vector
    E: Matrix
    PU: Matrix
    PR: Matrix
    inverse: Matrix
    AU: Matrix
    AR: Matrix


def check(order: object, pair: object) -> None:
    """Validate order and pair.

    Raises
    ------
    ValueError
    """
    if not is_integer(order) or order not in ORDERS:
        raise ValueError(f"Spark: order must be one of {', '.join(map(str, ORDERS))}, got {order!r}")
    if pair not in PAIRS:
        raise ValueError(f"Spark: pair must be one of {', '.join(map(repr, PAIRS))}, got {pair!r}")


def _integrals(c: Extended, ends: Extended) -> Extended:
    """Integrals of the Lagrange polynomials of the nodes `c` from 0 to `ends`, by rows."""
    x, weights = nodes(len(c))
    return np.array([[end * np.sum(weights * cardinal(c, j, end * x)) for j in range(len(c))] for end in ends])


def _conjugate(b: Extended, d: Extended, P: Extended) -> Extended:
    """`r_ik = d_k (1 - g_ki / b_i)`."""
    return d[None, :] * (1 - P.T / b[:, None])


@cache
def formula(order: int, pair: str) -> Formula:
    """The formula of this order; its arrays are shared and must not be changed."""
    s = order // 2
    e = lobatto_nodes(s - 1)
    c = nodes(s)[0] if pair == "gauss-lobatto" else e
    one = np.ones(1, dtype=np.longdouble)
    b, d = _integrals(c, one)[0], _integrals(e, one)[0]
    A, P = _integrals(c, c), _integrals(c, e)
    U, R = _conjugate(b, b, A), _conjugate(b, d, P)
    E = np.array([cardinal(e, k, c) for k in range(len(e))]).T
    PU, PR = np.vstack([(P @ U)[1:], b]), np.vstack([(P @ R)[1:], d])
    exact = {"A": A, "U": U, "R": R, "P": P, "b": b, "c": c, "d": d, "e": e, "E": E, "PU": PU, "PR": PR, "inverse": inverse_of(PR),
             "AU": A @ U, "AR": A @ R}
    return Formula(**{name: np.array(x, dtype=float, order="C") for name, x in exact.items()})
