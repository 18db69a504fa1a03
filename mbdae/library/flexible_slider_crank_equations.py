"""The equations of the flexible slider-crank: data, mass matrix, forces, constraints, energies. See `flexible_slider_crank`.

With `a = phi1 - phi2`, `u = (q1, q2, q3, q4)` and the matrices below,

    M11 = J1 + M2 L1^2        M12 = M2 L1 L2 cos(a)/2 + rho L1 (cos(a) c1.u + sin(a) c2.u)
    M22 = J2 + u.Mq u + 2 rho c12.u        M33 = M3
    M1u = rho L1 (cos(a) c2 - sin(a) c1)       M2u = rho (c21 + Bq^T u)        Muu = Mq

    Q1 = -M2 L1 L2 phi2'^2 sin(a)/2 + rho L1 phi2'^2 (cos(a) c2.u - sin(a) c1.u) - 2 rho L1 phi2' (cos(a) c1.u' + sin(a) c2.u')
    Q2 = M2 L1 L2 phi1'^2 sin(a)/2 + rho L1 phi1'^2 (sin(a) c1.u - cos(a) c2.u) - 2 phi2' (rho c12 + Mq u).u' - rho u'.Bq u'
    Qu = phi2'^2 (rho c12 + Mq u) + rho L1 phi1'^2 (cos(a) c1 + sin(a) c2) + 2 rho phi2' Bq u' - Kq u - Dq u' - V3_u

    Phi = (L1 sin(phi1) + (L2 + q4) sin(phi2), x3 - L1 cos(phi1) - (L2 + q4) cos(phi2), phi1 - Omega t)

All functions also take complex arguments.
"""

from typing import Any

import numpy as np
from numba import njit

from ..typing import Vector

PI = 3.1415927  # as published; a part of the definition
M2, M3 = 0.151104, 0.075552
L1, L2 = 0.15, 0.30
J1, J2 = 0.002727, 0.0045339259
M1 = 0.36  # enters J1 only
YOUNG, RHO, WIDTH, HEIGHT = 0.20e12, 7870.0, 0.008, 0.008
OMEGA = 150.0

_VOLUME = WIDTH * HEIGHT * L2
_TENSION = YOUNG * WIDTH * HEIGHT / L2
MQ = RHO * _VOLUME * np.array([[0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 8.0, 1.0], [0.0, 0.0, 1.0, 2.0]])
KQ = _TENSION * np.array([[PI**4 / 24.0 * (HEIGHT / L2) ** 2, 0.0, 0.0, 0.0], [0.0, PI**4 * 2.0 / 3.0 * (HEIGHT / L2) ** 2, 0.0, 0.0],
                          [0.0, 0.0, 16.0 / 3.0, -8.0 / 3.0], [0.0, 0.0, -8.0 / 3.0, 7.0 / 3.0]])
_B13, _B14, _B24 = -16.0 / PI**3, 8.0 / PI**3 - 1.0 / PI, 0.5 / PI
BQ = _VOLUME * np.array([[0.0, 0.0, _B13, _B14], [0.0, 0.0, 0.0, _B24], [-_B13, 0.0, 0.0, 0.0], [-_B14, -_B24, 0.0, 0.0]])
DQ = np.array([[5.0, 0.0, 0.0, 0.0], [0.0, 25.0, 0.0, 0.0],
               [0.0, 0.0, 0.5 * 230.8375455264791, -0.5 * 262.688487992052], [0.0, 0.0, -0.5 * 262.688487992052, 0.5 * 421.7421837156818]])
C1 = _VOLUME * np.array([0.0, 0.0, 2.0 / 3.0, 1.0 / 6.0])
C2 = _VOLUME * np.array([2.0 / PI, 0.0, 0.0, 0.0])
C12 = L2 * _VOLUME * np.array([0.0, 0.0, 1.0 / 3.0, 1.0 / 6.0])
C21 = L2 * _VOLUME * np.array([1.0 / PI, -0.5 / PI, 0.0, 0.0])
K3, B3 = 0.5 * PI**2 * _TENSION / L2, 80.0 / (9.0 * PI**2)  # of the cubic potential V3


@njit(cache=True)
def _dot(x, y):
    total = x[0] * y[0]
    for k in range(1, 4):
        total += x[k] * y[k]
    return total


@njit(cache=True)
def _form(x, A, y):
    """`x^T A y`."""
    total = x[0] * _dot(A[0], y)
    for k in range(1, 4):
        total += x[k] * _dot(A[k], y)
    return total


@njit(cache=True)
def mass(t, q):
    """`M(q)`, shape (7, 7)."""
    s, c, u = np.sin(q[0] - q[1]), np.cos(q[0] - q[1]), q[3:]
    M = np.zeros((7, 7), dtype=q.dtype)
    M[0, 0] = J1 + M2 * L1**2
    M[0, 1] = M[1, 0] = 0.5 * M2 * L1 * L2 * c + RHO * L1 * (c * _dot(C1, u) + s * _dot(C2, u))
    M[1, 1] = J2 + _form(u, MQ, u) + 2.0 * RHO * _dot(C12, u)
    M[2, 2] = M3
    for i in range(4):
        M[0, 3 + i] = M[3 + i, 0] = RHO * L1 * (c * C2[i] - s * C1[i])
        M[1, 3 + i] = M[3 + i, 1] = RHO * (C21[i] - _dot(BQ[i], u))
        for j in range(4):
            M[3 + i, 3 + j] = MQ[i, j]
    return M


@njit(cache=True)
def _forces(q, v, damped, cubic):
    s, c, u, ud = np.sin(q[0] - q[1]), np.cos(q[0] - q[1]), q[3:], v[3:]
    pin_1, pin_2 = RHO * L1 * v[0] ** 2, RHO * L1 * v[1] ** 2
    bent, lever = c * _dot(C2, u) - s * _dot(C1, u), 0.5 * M2 * L1 * L2 * s
    Q = np.zeros_like(v)
    Q[0] = -lever * v[1] ** 2 + pin_2 * bent - 2.0 * RHO * L1 * v[1] * (c * _dot(C1, ud) + s * _dot(C2, ud))
    Q[1] = lever * v[0] ** 2 - pin_1 * bent - 2.0 * v[1] * (RHO * _dot(C12, ud) + _form(ud, MQ, u)) - RHO * _form(ud, BQ, ud)
    for k in range(4):
        Q[3 + k] = (v[1] ** 2 * (RHO * C12[k] + _dot(MQ[k], u)) + pin_1 * (c * C1[k] + s * C2[k])
                    + 2.0 * RHO * v[1] * _dot(BQ[k], ud) - _dot(KQ[k], u))
        if damped:
            Q[3 + k] -= _dot(DQ[k], ud)
    if cubic:
        stretch = B3 * (2.0 * u[3] - 4.0 * u[2])
        Q[3] -= K3 * (u[0] * u[3] - stretch * u[1])
        Q[4] -= K3 * (4.0 * u[1] * u[3] - stretch * u[0])
        Q[5] -= K3 * 4.0 * B3 * u[0] * u[1]
        Q[6] -= K3 * (0.5 * u[0] ** 2 + 2.0 * u[1] ** 2 - 2.0 * B3 * u[0] * u[1])
    return Q


@njit(cache=True)
def _force(t, q, v):
    return _forces(q, v, False, False)


@njit(cache=True)
def _force_damped(t, q, v):
    return _forces(q, v, True, False)


@njit(cache=True)
def _force_cubic(t, q, v):
    return _forces(q, v, False, True)


@njit(cache=True)
def _force_damped_cubic(t, q, v):
    return _forces(q, v, True, True)


FORCE = {(False, False): _force, (True, False): _force_damped, (False, True): _force_cubic, (True, True): _force_damped_cubic}


@njit(cache=True)
def phi(t, q):
    """`Phi(t, q)`, shape (3,)."""
    length = L2 + q[6]
    out = np.zeros(3, dtype=q.dtype)
    out[0] = L1 * np.sin(q[0]) + length * np.sin(q[1])
    out[1] = q[2] - L1 * np.cos(q[0]) - length * np.cos(q[1])
    out[2] = q[0] - OMEGA * t
    return out


@njit(cache=True)
def phi_q(t, q):
    """`Phi_q(q)`, shape (3, 7)."""
    length = L2 + q[6]
    G = np.zeros((3, 7), dtype=q.dtype)
    G[0, 0], G[0, 1], G[0, 6] = L1 * np.cos(q[0]), length * np.cos(q[1]), np.sin(q[1])
    G[1, 0], G[1, 1], G[1, 2], G[1, 6] = L1 * np.sin(q[0]), length * np.sin(q[1]), 1.0, -np.cos(q[1])
    G[2, 0] = 1.0
    return G


@njit(cache=True)
def nu(t, q):
    """`nu = -Phi_t`, shape (3,)."""
    out = np.zeros(3, dtype=q.dtype)
    out[2] = OMEGA
    return out


@njit(cache=True)
def gamma(t, q, v):
    """`gamma(q, v) = -(Phi_q v)_q v`, shape (3,)."""
    s1, c1, s2, c2 = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
    length = L2 + q[6]
    out = np.zeros(3, dtype=v.dtype)
    out[0] = L1 * s1 * v[0] ** 2 + length * s2 * v[1] ** 2 - 2.0 * c2 * v[1] * v[6]
    out[1] = -L1 * c1 * v[0] ** 2 - length * c2 * v[1] ** 2 - 2.0 * s2 * v[1] * v[6]
    return out


def strain_energy(q: Vector, cubic: bool = False) -> Any:
    """Energy of the deformed rod, of the type of `q`."""
    u = q[3:]
    V3 = K3 * (u[3] * (0.5 * u[0] ** 2 + 2.0 * u[1] ** 2) - B3 * u[0] * u[1] * (2.0 * u[3] - 4.0 * u[2])) if cubic else 0.0
    return 0.5 * u @ KQ @ u + V3


def energy(t: float, q: Vector, v: Vector, cubic: bool = False) -> Any:
    """Kinetic and strain energy."""
    return 0.5 * v @ mass(t, q) @ v + strain_energy(q, cubic)
