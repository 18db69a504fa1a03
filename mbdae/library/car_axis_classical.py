"""Car axis in the coordinates of the test set: its two ends in the plane, two constraint equations that depend on time.

The data are those of `car_axis`; there the same mechanism consists of bodies and joints. With `q = (xl, yl, xr, yr)`, the wheel on the
road at `(xb, yb)`, `yb = r sin(w t)`, `xb = sqrt(L^2 - yb^2)`, and the lengths `Ll, Lr` of the springs:

    k xl'' = (L0 - Ll) xl/Ll - lam1 xb - 2 lam2 (xl - xr)           xl xb + yl yb = 0
    k yl'' = (L0 - Ll) yl/Ll - lam1 yb - 2 lam2 (yl - yr) - k g     (xl - xr)^2 + (yl - yr)^2 = L^2
    k xr'' = (L0 - Lr) (xr - xb)/Lr + 2 lam2 (xl - xr)
    k yr'' = (L0 - Lr) (yr - yb)/Lr + 2 lam2 (yl - yr) - k g

The multipliers of the test set are `-lam`.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from ..model.geometry import Picture
from ..system.system import System
from ..typing import Vector

LENGTH, FREE_LENGTH, GRAVITY = 1.0, 0.5, 1.0  # L, L0, g
MASS = 10.0 * 0.01**2 / 2.0  # k = M eps^2/2
HEIGHT, FREQUENCY = 0.1, 10.0  # of the road: r, w
START = ((0.0, 0.5, 1.0, 0.5), (-0.5, 0.0, -0.5, 0.0))


def four_coordinates(picture: Callable[[float, Vector], Picture] | None = None) -> System:
    """The mechanism as a `System` with `nq = 4`, `nc = 2`; `picture` as for `System.from_functions`."""
    q0, v0 = START
    return System.from_functions(nq=4, nc=2, mass=mass, force=force, phi=phi, phi_q=phi_q, nu=nu, gamma=gamma, energy=energy, q0=q0, v0=v0,
                                 picture=picture, name="car-axis, four coordinates", labels=["across", "axis"])


@njit(cache=True)
def angle(t):
    """Angle of the line from the left to the right wheel, `arcsin(yb/L)`."""
    return np.arcsin(HEIGHT * np.sin(FREQUENCY * t) / LENGTH)


@njit(cache=True)
def d_angle(t):
    """Its rate."""
    return HEIGHT * FREQUENCY * np.cos(FREQUENCY * t) / (LENGTH * np.cos(angle(t)))


@njit(cache=True)
def dd_angle(t):
    """Its second derivative, from `L (sin angle)'' = -w^2 yb`."""
    return np.tan(angle(t)) * (d_angle(t) ** 2 - FREQUENCY**2)


@njit(cache=True)
def wheel(t):
    """The right wheel: position, velocity and acceleration, each as x, y."""
    a, w, b = angle(t), d_angle(t), dd_angle(t)
    x, y = LENGTH * np.cos(a), LENGTH * np.sin(a)
    return x, y, -w * y, w * x, -b * y - w * w * x, b * x - w * w * y


@njit(cache=True)
def mass(t, q):
    """`M`, shape (4, 4)."""
    return (MASS + 0.0 * q[0]) * np.eye(4)


@njit(cache=True)
def spring(x, y):
    """Force of a spring at its end `(x, y)`, seen from the other."""
    length = np.sqrt(x * x + y * y)
    return (FREE_LENGTH - length) * x / length, (FREE_LENGTH - length) * y / length


@njit(cache=True)
def force(t, q, v):
    """`Q(t, q)`: springs and weight, shape (4,)."""
    xb, yb = wheel(t)[:2]
    left, right = spring(q[0], q[1]), spring(q[2] - xb, q[3] - yb)
    weight = MASS * GRAVITY
    return np.array([left[0], left[1] - weight, right[0], right[1] - weight])


@njit(cache=True)
def phi(t, q):
    """`Phi(t, q)`, shape (2,)."""
    xl, yl, xr, yr = q
    xb, yb = wheel(t)[:2]
    return np.array([xl * xb + yl * yb, (xl - xr) ** 2 + (yl - yr) ** 2 - LENGTH**2])


@njit(cache=True)
def phi_q(t, q):
    """`Phi_q(t, q)`, shape (2, 4)."""
    G = np.zeros((2, 4), dtype=q.dtype)
    G[0, 0], G[0, 1] = wheel(t)[:2]
    G[1, 0], G[1, 1] = 2.0 * (q[0] - q[2]), 2.0 * (q[1] - q[3])
    G[1, 2:] = -G[1, :2]
    return G


@njit(cache=True)
def nu(t, q):
    """`nu = -Phi_t`, shape (2,)."""
    _, _, d_xb, d_yb, _, _ = wheel(t)
    return np.array([-(q[0] * d_xb + q[1] * d_yb), 0.0 * q[0]])


@njit(cache=True)
def gamma(t, q, v):
    """`gamma = -(Phi_q v)_q v - 2 Phi_qt v - Phi_tt`, shape (2,)."""
    _, _, d_xb, d_yb, dd_xb, dd_yb = wheel(t)
    return np.array([-2.0 * (v[0] * d_xb + v[1] * d_yb) - q[0] * dd_xb - q[1] * dd_yb,
                     -2.0 * ((v[0] - v[2]) ** 2 + (v[1] - v[3]) ** 2)])


@njit(cache=True)
def energy(t, q, v):
    """Kinetic energy and that of springs and weight; the road does work, so it is not conserved."""
    xb, yb = wheel(t)[:2]
    left, right = np.sqrt(q[0] ** 2 + q[1] ** 2), np.sqrt((q[2] - xb) ** 2 + (q[3] - yb) ** 2)
    springs = 0.5 * ((left - FREE_LENGTH) ** 2 + (right - FREE_LENGTH) ** 2)
    return 0.5 * MASS * (v[0] ** 2 + v[1] ** 2 + v[2] ** 2 + v[3] ** 2) + springs + MASS * GRAVITY * (q[1] + q[3])
