"""Forces of the Iltis: shock absorbers, leaf springs, tyres on a road. Compiled; for real and for complex states.

Comparisons use the real part only, so that the complex step gives the derivatives.
"""

from collections.abc import Callable
from functools import cache

import numba
import numpy as np

LEAF_STIFFNESS, LEAF_FREE, LEAF_STOP, LEAF_STOP_STIFFNESS = 35906.0, 0.152, 0.006, 1e7  # N/m, m, m, N/m
LEAF_ROOF = 0.137 - 0.1  # height above the centre of the chassis from which the length of a leaf spring is counted [m]
TYRE_STIFFNESS = 460000.0  # N/m
# Calspan formula
A0, A1, A2, A3, A4 = 2625.0, 14.47, 12930.0, 2.29, 18175.0
B1, B3, B4, SKID = -4.64e-5, 1.216, 2.18e-11, 1.0274
AF1, AF2 = -1.71e-5, 1.71e-5
BUMP_START, BUMP_LENGTH, BUMP_AMPLITUDE = 0.97, 5.0, 0.1  # m


@numba.njit
def spring(length):
    """Tension of the spring of a shock absorber [N]."""
    return -4.0092e6 + length * (2.8397e7 + length * (-6.7061e7 + length * 5.2796e7))


@numba.njit
def damper(rate):
    """Tension of its damper [N]: a polynomial about zero, straight lines outside."""
    if rate.real < -0.2:
        return -416.42 + 1844.3 * rate
    if rate.real > 0.21:
        return 1919.1638 + 1634.727 * rate
    return rate * (9945.627 + rate * (33955.72 + rate * (-59832.25 - 395651.0 * rate)))


@numba.njit
def shock(length, rate, t):
    """Law of a shock absorber [N]."""
    return spring(length) + damper(rate)


@numba.njit
def leaf(length):
    """Tension of a leaf spring [N], with the stop at its end."""
    if length.real < LEAF_STOP:
        return LEAF_STIFFNESS * (LEAF_STOP - LEAF_FREE) + LEAF_STOP_STIFFNESS * (length - LEAF_STOP)
    return LEAF_STIFFNESS * (length - LEAF_FREE)


@numba.njit
def along(A, k, x):
    """Component of the global vector `x` along the k-th axis of a body."""
    return A[0, k] * x[0] + A[1, k] * x[1] + A[2, k] * x[2]


@numba.njit
def dot(a, b):
    """`a . b`, without conjugation."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@numba.njit
def cross(a, b):
    """`a x b`."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@numba.njit
def act(F, T, A, k, force, moment):
    """Add a force at the centre of mass and a moment, both global, to those on the k-th body."""
    for c in range(3):
        F[k, c] += force[c]
        T[k, c] += along(A[k], c, moment)


@cache
def leaf_spring(inward: float, up: float) -> Callable[..., None]:
    """Leaf spring between chassis and hub, along the z-axis of the chassis through the end of the link.

    Parameters
    ----------
    inward, up : float
        Where the hub carries the end of the link, from the wheel centre [m].
    """

    @numba.njit
    def force(t, r, A, v, omega, F, T):
        between = r[1] - r[0]
        y = -inward if along(A[0], 1, between).real > 0.0 else inward
        arm = A[1, :, 1] * y + A[1, :, 2] * up
        tension = leaf(LEAF_ROOF - along(A[0], 2, between + arm))
        pull = tension * A[0, :, 2]
        act(F, T, A, 1, pull, cross(arm, pull))
        act(F, T, A, 0, -pull, cross(between + arm, -pull))

    return force


@numba.njit
def road(x, side):
    """Height and slope of the road: a cosine bump, `side` 1, -1 (a hole) or 0 (flat)."""
    s = (x - BUMP_START) * (2.0 * np.pi / BUMP_LENGTH)
    if side == 0.0 or s.real <= 0.0 or s.real >= 2.0 * np.pi:
        return 0.0 * x, 0.0 * x
    return side * BUMP_AMPLITUDE * (1.0 - np.cos(s)), side * BUMP_AMPLITUDE * (2.0 * np.pi / BUMP_LENGTH) * np.sin(s)


@numba.njit
def tyre_load(radius, centre, side):
    """Force normal to the road [N], slope of the road, distance of the wheel centre from its tangent [m]."""
    height, slope = road(centre[0], side)
    gap, scale = centre[2] - height, np.sqrt(1.0 + slope * slope)
    if gap.real >= radius:
        return 0.0 * gap, slope, gap / scale
    return TYRE_STIFFNESS * (radius - gap) / scale, slope, gap / scale


@numba.njit
def calspan(load, slip, camber):
    """Lateral force [N] and aligning torque [N m] of a tyre."""
    bounded = load if load.real < A2 else A2 + 0.0 * load
    friction = (B1 * load + B3 + B4 * load * load) * SKID
    gain = A1 * bounded * (bounded - A2) - A0 * A2
    turned = slip - A2 * A3 * (A4 - bounded) * bounded * camber / (A4 * gain)
    s = gain * turned / (A2 * friction * load)
    sign = 1.0 if s.real >= 0.0 else -1.0
    size = sign * s
    shape = size - size * size / 3.0 + size * size * size / 27.0 if size.real < 3.0 else 1.0 + 0.0 * size
    lateral = sign * friction * load * shape
    return lateral, (AF1 * load + AF2 * sign * lateral) * lateral


@numba.njit
def _roll(radius, side, r, A, v, F, T):
    load, slope, distance = tyre_load(radius, r, side)
    if load.real <= 0.0:
        return
    scale = np.sqrt(1.0 + slope * slope)
    normal, axis = (-slope / scale, 0.0 * slope, 1.0 / scale), (A[0, 1], A[1, 1], A[2, 1])
    x = cross(axis, normal)
    length = np.sqrt(dot(x, x))
    ahead = (x[0] / length, x[1] / length, x[2] / length)
    across, spoke = cross(normal, ahead), cross(ahead, axis)
    camber, slip = np.arctan(dot(normal, axis) / dot(normal, spoke)), np.arctan(dot(v, across) / dot(v, ahead))
    lateral, torque = calspan(load, slip, camber)
    reach = -distance / (scale * spoke[2])
    force = (load * normal[0] + lateral * across[0], load * normal[1] + lateral * across[1], load * normal[2] + lateral * across[2])
    lever = cross((reach * spoke[0], reach * spoke[1], reach * spoke[2]), force)
    for c in range(3):
        F[c] += force[c]
        T[c] += along(A, c, lever) + torque * along(A, c, normal)


@cache
def rolling_tyre(radius: float, left: float, right: float) -> Callable[..., None]:
    """Tyre of a wheel that rolls along x; `left` and `right` are the sides of the `road` at y > 0 and y < 0."""

    @numba.njit
    def force(t, r, A, v, omega, F, T):
        _roll(radius, left if r[0, 1].real > 0.0 else right, r[0], A[0], v[0], F[0], T[0])

    return force


@cache
def standing_tyre(radius: float) -> Callable[..., None]:
    """Tyre of a wheel that stands on the flat road: a vertical force through the wheel centre."""

    @numba.njit
    def force(t, r, A, v, omega, F, T):
        F[0, 2] += tyre_load(radius, r[0], 0.0)[0]

    return force
