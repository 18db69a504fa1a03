"""One suspension of the Iltis: its points, and where its bodies are when the A-arm has turned by an angle.

Points are nominal positions (outward from the middle plane, up from the road) in the plane of the axle, all of them with three decimals:

    P   (0.1585, 0.600)  leaf spring link on the chassis        W   (0.615, 0.356)  wheel centre
    E   (0.488, 0.531)   leaf spring link on the hub            T   (0.448, 0.531)  tie rod on the hub, 0.14 m off the plane of the axle
    B   (0.572, 0.229)   A-arm on the hub                       K   (0.070, 0.600)  tie rod on chassis or rack, 0.14 m off
    A   (0.259, 0.302)   A-arm on the chassis                   S   (0.500, 0.241)  shock absorber on the A-arm, 0.075 m off
                                                                U   (0.297, 0.632)  shock absorber on the chassis, 0.075 m off

The hub turns about the line E B, the steering axis. Tie rods lie on the inner side of their axle, shock absorbers on the outer side.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..typing import Matrix, Vector

HEIGHT = 0.57  # of the centre of mass of the chassis above the road
FRONT, REAR = 0.97, -1.047  # the axles along the chassis
TIE, SHOCK = 0.14, 0.075
P, E, B, A, W, T, K, S, U = ((0.1585, 0.600), (0.488, 0.531), (0.572, 0.229), (0.259, 0.302), (0.615, 0.356), (0.448, 0.531),
                             (0.070, 0.600), (0.500, 0.241), (0.297, 0.632))
_SHARE = 0.16073 / math.hypot(A[0] - B[0], A[1] - B[1])
C = (B[0] + _SHARE * (A[0] - B[0]), B[1] + _SHARE * (A[1] - B[1]))  # centre of mass of the A-arm, 0.16073 m from B


def distance(a: Sequence[float], b: Sequence[float], x: float = 0.0) -> float:
    """Distance of two points, `x` apart along the car."""
    return math.hypot(x, a[0] - b[0], a[1] - b[1])


def seen(point: Sequence[float], origin: Sequence[float], side: float, x: float = 0.0) -> tuple[float, float, float]:
    """A nominal point from a nominal origin, in axes parallel to those of the chassis; `side` is 1 for y > 0, -1 for y < 0."""
    return x, side * (point[0] - origin[0]), point[1] - origin[1]


def on_chassis(point: Sequence[float], axle: float, side: float, x: float = 0.0) -> tuple[float, float, float]:
    """A nominal point from the centre of mass of the chassis."""
    return axle + x, side * point[0], point[1] - HEIGHT


def arm_axes(side: float) -> Matrix:
    """Rotation matrix whose y-axis lies along the A-arm in its nominal position."""
    c, s = (B[0] - A[0]) / distance(A, B), side * (B[1] - A[1]) / distance(A, B)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def places(axle: float, side: float, angle: float) -> tuple[tuple[Vector, Matrix], tuple[Vector, Matrix]]:
    """Centres of mass and orientations of A-arm and hub, seen from the chassis, when the arm has turned up by `angle`.

    Returns
    -------
    arm, hub : tuple of ndarray (3,) and ndarray (3, 3)
    """
    a, p, k = (np.array(on_chassis(point, 0.0, 1.0)) for point in (A, P, K))
    k[0] = -math.copysign(TIE, axle)
    turn = _about_x(angle)
    b = a + turn @ seen(B, A, 1.0)
    hub = _hub(b, p, k)
    centre = b + hub @ seen(W, B, 1.0)
    mirror = np.diag([1.0, side, 1.0])
    ahead = np.array([axle, 0.0, 0.0])
    return ((ahead + mirror @ (a + turn @ seen(C, A, 1.0)), mirror @ turn @ mirror),
            (ahead + mirror @ centre, mirror @ hub @ mirror))


def _hub(b: Vector, p: Vector, k: Vector) -> Matrix:
    """Orientation of the hub on the side y > 0: its ball at `b`, its link from `p`, its tie rod from `k`."""
    steering = np.array(seen(E, B, 1.0))
    upright = math.hypot(*steering)
    # E on two circles, about B and about P, on the outer side
    d = p - b
    length = math.hypot(*d)
    shift = (upright**2 - distance(P, E) ** 2 + length**2) / (2.0 * length)
    aside = math.sqrt(upright**2 - shift**2)
    e = (shift * d + aside * np.array([0.0, d[2], -d[1]])) / length
    tilt = math.atan2(e[2], e[1]) - math.atan2(steering[2], steering[1])
    # |b + tilt turn t - k| = L, with t along the steering axis and across it
    axis, t, to = steering / upright, np.array(seen(T, B, 1.0, k[0])), _about_x(tilt).T @ (k - b)
    along, across = axis * (axis @ t), np.cross(axis, t)
    wanted = 0.5 * (t @ t + to @ to - distance(T, K) ** 2) - along @ to
    u, w = (t - along) @ to, across @ to
    steer = math.atan2(w, u) - math.copysign(math.acos(wanted / math.hypot(u, w)), math.atan2(w, u))
    return _about_x(tilt) @ _about(axis, steer)


def _about_x(angle: float) -> Matrix:
    return _about(np.array([1.0, 0.0, 0.0]), angle)


def _about(axis: Vector, angle: float) -> Matrix:
    """Rotation about a unit axis."""
    x = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.eye(3) + math.sin(angle) * x + (1.0 - math.cos(angle)) * x @ x
