"""Planar truck in the nine coordinates of the book; data and equations in plain loops over its spring-damper elements.

Eich-Soellner, Fuehrer: Numerical Methods in Multibody Dynamics. With `p = (y1; y2, phi2; y3; y4, phi4; x5, y5, phi5)` the equations are
`M p'' + Phi_q^T lam = Q(t, p, p')` with the constant matrix `M = diag(m1, m2, l2, m3, m4, l4, m5, m5, l5)`, unconstrained or with the two
equations `Phi = 0` of the joint between chassis and loading area. The same truck as bodies and joints: `truck`.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import njit

from ..model.geometry import Picture
from ..system.system import System
from ..typing import Vector

GRAVITY = 9.81
# names of the book: axle 1 (rear), chassis 2, axle 3 (front), cab 4, loading area 5
m1, m2, m3, m4, m5 = MASSES = 1450.0, 3335.0, 600.0, 1100.0, 11515.0
l2, l4, l5 = 14313.0, 948.0, 33000.0
a12, a23, a24, a42, a25, a52 = -2.06, 2.44, 1.94, 3.64, 0.98, -3.07
b42, b24, c25, c1d, c2d = 0.9, -0.8, 2.44, -1.91, -1.31
h1, h2, h3 = -1.34, 0.0, 0.0
PIN_2, PIN_5 = (-3.07, 0.15), (-1.61, -0.75)  # (ac1, ac2), (cc1, cc2)

# from body, its point, to body, its point, k, d, nominal force; body 0 is the ground
ELEMENTS = {
    "10": (0, (a12, 0.0), 1, (0.0, 0.0), 44e5, 600.0, -2.329145162e6),
    "30": (0, (a23, 0.0), 3, (0.0, 0.0), 22e5, 300.0, -1.147434838e6),
    "12": (1, (0.0, 0.0), 2, (a12, h1), 8.247e5, 21593.0, -0.246872662e6),
    "23": (3, (0.0, 0.0), 2, (a23, h1), 2.711e5, 38537.0, -0.084924838e6),
    "24": (2, (a24, h2), 4, (b24, h3), 1.357e5, 12218.0, -0.12784288235294e6),
    "42": (2, (a42, h2), 4, (b42, h3), 1.357e5, 12218.0, -0.12720811764706e6),
    "25": (2, (a25, h2), 5, (c25, h3), 9.0e5, 38500.0, -0.85490594111111e6),
    "1d": (2, (a52, h2), 5, (c1d, h3), 7.70e5, 33013.0, -0.76635491099974e6),
    "2d": (2, (a52, h2), 5, (c2d, h3), 7.70e5, 33013.0, -0.76635491099974e6),
}
REAR_TYRE, FRONT_TYRE, PNEUMATIC = 0, 1, 3  # places in the table
_JOINED = 7  # elements of the constrained truck
KAPPA, L_NOMINAL, P_AIR, SHAPE, AREA = 1.4, 0.16, 1e5, 39.13228, 0.0562  # of the pneumatic element; kappa, l0, pa, s, A
_F_NOMINAL = ELEMENTS["23"][6] + ELEMENTS["23"][4] * L_NOMINAL

SPEED = 15.0
T_FRONT = 2.0 / SPEED  # when the road begins to rise under the axles
T_REAR = T_FRONT + (a23 - a12) / SPEED

STARTS = {"equilibrium": (0.5, 2.0, 0.0, 0.5, 2.9, 0.0, a25 - c25, 2.9, 0.0), "course": (0.52, 2.16, 0.0, 0.52, 2.68, 0.0, -1.5, 2.7, 0.0)}

# the same as arrays, for compiled code
_ENDS = np.array([(e[0], e[2]) for e in ELEMENTS.values()])
_POINTS = np.array([(*e[1], *e[3]) for e in ELEMENTS.values()])
_K, _D, _FN = (np.array([e[c] for e in ELEMENTS.values()]) for c in (4, 5, 6))
_INERTIA = np.array([m1, m2, l2, m3, m4, l4, m5, m5, l5])


def nine_coordinates(constrained: bool = True, start: str = "equilibrium", pneumatic: bool = False,
                     picture: Callable[[float, Vector], Picture] | None = None) -> System:
    """The truck as a `System` with `nq = 9`, `nc = 2` or 0; parameters as for `truck.build`."""
    joint = {"phi": phi, "phi_q": phi_q, "nu": nu, "gamma": gamma} if constrained else {
        "phi": no_phi, "phi_q": no_phi_q, "nu": no_phi, "gamma": no_gamma}
    elements, labels = (_JOINED, ["joint.x", "joint.y"]) if constrained else (len(ELEMENTS), [])
    force, energy = laws(elements, pneumatic)
    return System.from_functions(nq=9, nc=len(labels), mass=mass, force=force, **joint, energy=energy, q0=STARTS[start], labels=labels,
                                 picture=picture, name="truck, nine coordinates")


@cache
def laws(elements: int, pneumatic: bool) -> tuple[Callable[..., float], Callable[..., float]]:
    """`force(t, q, v)` and `energy(t, q, v)` of a truck with the first `elements` of the table."""

    @njit
    def force(t, q, v):
        return forces(t, q, v, elements, pneumatic)

    @njit
    def energy(t, q, v):
        return energies(t, q, v, elements, pneumatic)

    return force, energy


@njit(cache=True)
def road(t, t0):
    """Height of the road and its rate: a hump of 12 cm that begins at `t0`, five times continuously differentiable."""
    s = t - t0
    if s <= 0.0:
        return 0.0, 0.0
    return 1e-3 * s**6 * np.exp(-s), 1e-3 * s**5 * (6.0 - s) * np.exp(-s)


@njit(cache=True)
def pneumatic_force(length):
    """Force of the pneumatic element 23, without its damper."""
    return (_F_NOMINAL + P_AIR * AREA) * ((1.0 + SHAPE * L_NOMINAL) / (1.0 + SHAPE * length)) ** KAPPA - P_AIR * AREA


@njit(cache=True)
def placed(v):
    """Nine coordinates as those of all bodies: `x, y, angle` of ground, axle 1, chassis, axle 3, cab, loading area, shape (6, 3)."""
    X = np.zeros((6, 3), dtype=v.dtype)
    X[1, 1], X[2, 1], X[2, 2], X[3, 1], X[4, 1], X[4, 2], X[5, 0], X[5, 1], X[5, 2] = v
    return X


@njit(cache=True)
def poses(q):
    """The same with the x-coordinates that are fixed."""
    X = placed(q)
    X[1, 0], X[3, 0], X[4, 0] = a12, a23, a24 - b24
    return X


@njit(cache=True)
def arm(angle, x, y):
    """A point of a body, seen from its centre of mass in global directions."""
    c, s = np.cos(angle), np.sin(angle)
    return c * x - s * y, s * x + c * y


@njit(cache=True)
def arms(n, X):
    """The two points of an element, each seen from the centre of mass of its body."""
    i, j = _ENDS[n]
    ax, ay = arm(X[i, 2], _POINTS[n, 0], _POINTS[n, 1])
    bx, by = arm(X[j, 2], _POINTS[n, 2], _POINTS[n, 3])
    return i, j, ax, ay, bx, by


@njit(cache=True)
def mass(t, q):
    """`M`, shape (9, 9)."""
    return np.diag(_INERTIA + 0.0 * q)


@njit(cache=True)
def forces(t, q, v, elements, pneumatic):
    """`Q(t, q, v)`, shape (9,)."""
    X, V = poses(q), placed(v)
    F = np.zeros((6, 3), dtype=q.dtype)
    for n in range(elements):
        i, j, ax, ay, bx, by = arms(n, X)
        u, d_u = road(t, T_REAR if n == REAR_TYRE else T_FRONT) if n <= FRONT_TYRE else (0.0, 0.0)
        x, y = X[j, 0] + bx - X[i, 0] - ax, X[j, 1] + by - X[i, 1] - ay - u
        d_x = V[j, 0] - V[j, 2] * by - V[i, 0] + V[i, 2] * ay
        d_y = V[j, 1] + V[j, 2] * bx - V[i, 1] - V[i, 2] * ax - d_u
        length = np.sqrt(x * x + y * y)
        f = pneumatic_force(length) if pneumatic and n == PNEUMATIC else _K[n] * length + _FN[n]
        f += _D[n] * (x * d_x + y * d_y) / length
        f_x, f_y = f * x / length, f * y / length
        F[i, 0] += f_x
        F[i, 1] += f_y
        F[i, 2] += ax * f_y - ay * f_x
        F[j, 0] -= f_x
        F[j, 1] -= f_y
        F[j, 2] -= bx * f_y - by * f_x
    g = GRAVITY
    return np.array([F[1, 1] - m1 * g, F[2, 1] - m2 * g, F[2, 2], F[3, 1] - m3 * g, F[4, 1] - m4 * g, F[4, 2],
                     F[5, 0], F[5, 1] - m5 * g, F[5, 2]])


@njit(cache=True)
def energies(t, q, v, elements, pneumatic):
    """Kinetic energy and the potentials of weight and linear springs on a flat road."""
    X = poses(q)
    total = 0.5 * (_INERTIA * v * v).sum() + GRAVITY * (m1 * q[0] + m2 * q[1] + m3 * q[3] + m4 * q[4] + m5 * q[7])
    for n in range(elements):
        i, j, ax, ay, bx, by = arms(n, X)
        length = np.sqrt((X[j, 0] + bx - X[i, 0] - ax) ** 2 + (X[j, 1] + by - X[i, 1] - ay) ** 2)
        if not (pneumatic and n == PNEUMATIC):
            total += 0.5 * _K[n] * (length + _FN[n] / _K[n]) ** 2
    return total


@njit(cache=True)
def phi(t, q):
    """`Phi(q)`: the pin of the loading area less that of the chassis, shape (2,)."""
    (ax, ay), (bx, by) = arm(q[2], *PIN_2), arm(q[8], *PIN_5)
    return np.array([q[6] + bx - ax, q[7] + by - q[1] - ay])


@njit(cache=True)
def phi_q(t, q):
    """`Phi_q(q)`, shape (2, 9)."""
    (ax, ay), (bx, by) = arm(q[2], *PIN_2), arm(q[8], *PIN_5)
    G = np.zeros((2, 9), dtype=q.dtype)
    G[0, 2], G[0, 6], G[0, 8] = ay, 1.0, -by
    G[1, 1], G[1, 2], G[1, 7], G[1, 8] = -1.0, -ax, 1.0, bx
    return G


@njit(cache=True)
def nu(t, q):
    """`nu = -Phi_t`: the joint does not depend on time."""
    return 0.0 * q[:2]


@njit(cache=True)
def gamma(t, q, v):
    """`gamma(q, v) = -(Phi_q v)_q v`, shape (2,)."""
    (ax, ay), (bx, by) = arm(q[2], *PIN_2), arm(q[8], *PIN_5)
    return np.array([v[8] ** 2 * bx - v[2] ** 2 * ax, v[8] ** 2 * by - v[2] ** 2 * ay])


@njit(cache=True)
def no_phi(t, q):
    """Without the joint: no equation, shape (0,)."""
    return 0.0 * q[:0]


@njit(cache=True)
def no_phi_q(t, q):
    """Shape (0, 9)."""
    return np.zeros((0, 9), dtype=q.dtype)


@njit(cache=True)
def no_gamma(t, q, v):
    """Shape (0,)."""
    return 0.0 * q[:0]
