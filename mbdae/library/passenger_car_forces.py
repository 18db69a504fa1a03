"""Forces of the passenger car: struts and tyres. Compiled; for real and for complex states, smooth but for wheels that leave the road."""

from collections.abc import Callable
from functools import cache

import numba
import numpy as np

from .iltis_forces import along, cross, dot

TYRE_STIFFNESS, TYRE_DAMPING = 2.2e5, 150.0  # N/m, N s/m
SIDE, SIDE_LOSS, ALONG, CAMBER = 22.0, 1.2e-3, 24.0, 0.9  # 1/rad, 1/(rad N), 1, 1/rad: slip stiffnesses relative to the load
FRICTION, TRAIL = 1.05, 0.028  # 1, m
CREEP = 0.5  # m/s, added to the speed that slips are relative to
DIGRESSION, REBOUND = 0.25, 0.4  # m/s, 1
STOP, STOP_STIFFNESS = 0.06, 4e7  # m, N/m^3


@cache
def strut(length: float, damping: float) -> Callable[..., float]:
    """Tension of damper and stops of a strut.

        c v0 v/w (1 + r v/w) + k s^3,    w = sqrt(v0^2 + v^2),

    a digressive damper with more force in rebound, and stops from 60 mm off the design length on, `s` beyond them.
    """

    @numba.njit
    def tension(x, xd, t):
        size = np.sqrt(DIGRESSION * DIGRESSION + xd * xd)
        force = damping * DIGRESSION * xd / size * (1.0 + REBOUND * xd / size)
        away = x - length
        if away.real > STOP:
            force += STOP_STIFFNESS * (away - STOP) ** 3
        if away.real < -STOP:
            force += STOP_STIFFNESS * (away + STOP) ** 3
        return force

    return tension


@numba.njit
def _slips(load, slide, drift, speed, camber):
    """Horizontal forces on the tyre, along and across the wheel, and the share of them that saturation leaves."""
    size = np.sqrt(speed * speed + CREEP * CREEP)
    ahead = -ALONG * load * slide / size
    aside = -load * (CAMBER * camber + (SIDE - SIDE_LOSS * load) * drift / size)
    limit = FRICTION * load
    share = 1.0 / np.sqrt(1.0 + (ahead * ahead + aside * aside) / (limit * limit))
    return share * ahead, share * aside, share


@numba.njit
def contact(radius, r, A, v, omega, F, T):
    """Force and torque of the tyre of a wheel that turns about its y-axis; nothing where it does not touch the road."""
    normal, axis = (0.0 * r[0], 0.0 * r[0], 1.0 + 0.0 * r[0]), (A[0, 1], A[1, 1], A[2, 1])
    x = cross(axis, normal)
    length = np.sqrt(dot(x, x))
    ahead = (x[0] / length, x[1] / length, x[2] / length)
    across, spoke = cross(normal, ahead), cross(ahead, axis)
    reach = r[2] / spoke[2]
    load = TYRE_STIFFNESS * (radius - reach) - TYRE_DAMPING * v[2]
    if reach.real >= radius or load.real <= 0.0:
        return
    down = (-reach * spoke[0], -reach * spoke[1], -reach * spoke[2])
    arm = (along(A, 0, down), along(A, 1, down), along(A, 2, down))
    turn = cross(omega, arm)  # velocity of the lowest point against the centre, in axes of the wheel
    slide = (v[0] + dot(A[0], turn), v[1] + dot(A[1], turn), v[2] + dot(A[2], turn))
    push, side, share = _slips(load, dot(slide, ahead), dot(slide, across), dot(v, ahead), axis[2])
    force = (push * ahead[0] + side * across[0], push * ahead[1] + side * across[1], load)
    lever = cross(down, force)
    moment = (lever[0], lever[1], lever[2] - TRAIL * side * share)
    for c in range(3):
        F[c] += force[c]
        T[c] += along(A, c, moment)


@cache
def tyre(radius: float) -> Callable[..., None]:
    """The tyre of a wheel."""

    @numba.njit
    def force(t, r, A, v, omega, F, T):
        contact(radius, r[0], A[0], v[0], omega[0], F[0], T[0])

    return force
