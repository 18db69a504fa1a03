"""Forces of the HMMWV: suspension springs and tyres on the half cylinder, real or complex."""

from collections.abc import Callable
from functools import cache

import numba
import numpy as np

from .iltis_forces import act, cross

BUMP, BUMP_RADIUS = 4.107, 0.05
TYRE_STIFFNESS, TYRE_DAMPING = 296325.0, 3502.0
CUBIC = 216.0


@cache
def spring(stiffness: float, length: float) -> Callable[..., float]:
    """Tension of a suspension spring, `k d (1 + 216 d^2)`."""

    @numba.njit
    def tension(x, xd, t):
        d = x - length
        return stiffness * d * (1.0 + CUBIC * d * d)

    return tension


@numba.njit
def surface(x, radius):
    """Height and slope of the road that a rigid tyre of this radius would follow over the half cylinder."""
    s, reach = x - BUMP, radius + BUMP_RADIUS
    if s.real * s.real >= reach * reach - radius * radius:
        return 0.0 * x, 0.0 * x
    height = np.sqrt(reach * reach - s * s)
    return height - radius, -s / height


@numba.njit
def tyre_force(radius, x, z, vx, vz, bump):
    """Vertical force on a tyre whose centre is at `(x, z)`; zero where it does not touch the road."""
    height, slope = surface(x, radius)
    if not bump:
        height, slope = 0.0 * x, 0.0 * x
    d = radius + height - z
    if d.real <= 0.0:
        return 0.0 * d
    force = TYRE_STIFFNESS * d + TYRE_DAMPING * (slope * vx - vz)
    return force if force.real > 0.0 else 0.0 * force


@cache
def tyre(radius: float, centre: tuple[float, ...], bump: bool) -> Callable[..., None]:
    """The tyre of a spindle whose wheel has its centre at `centre`."""
    s = np.array(centre)

    @numba.njit
    def force(t, r, A, v, omega, F, T):
        w = cross(omega[0], s)
        arm = A[0, :, 0] * s[0] + A[0, :, 1] * s[1] + A[0, :, 2] * s[2]
        turn = A[0, :, 0] * w[0] + A[0, :, 1] * w[1] + A[0, :, 2] * w[2]
        load = tyre_force(radius, r[0, 0] + arm[0], r[0, 2] + arm[2], v[0, 0] + turn[0], v[0, 2] + turn[2], bump)
        push = (0.0 * load, 0.0 * load, load)
        act(F, T, A, 0, push, cross(arm, push))

    return force
