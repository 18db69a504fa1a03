"""Stops of joints: limits of an angle or a displacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model import checks, joints, rotations
from ..model.joints import Cylindrical, PlanarRevolute, PlanarTranslational, Revolute, Translational
from ..spelling import guess
from ..typing import Vector
from .gaps import BodyGap, Distance, Gap, Measured
from .placed import Placed

if TYPE_CHECKING:
    from ..system.system import System

ANGLE, DISPLACEMENT = "angle", "displacement"
COORDINATES: dict[type, tuple[str, ...]] = {Revolute: (ANGLE,), PlanarRevolute: (ANGLE,), Translational: (DISPLACEMENT,),
                                            PlanarTranslational: (DISPLACEMENT,), Cylindrical: (ANGLE, DISPLACEMENT)}


@dataclass(frozen=True)
class JointStop(Gap):
    """`min(x - lower, upper - x)` for the angle or the displacement `x` of a joint.

    The displacement is that of the point `s_j` along the axis `a_i` from `s_i`. The angle is that of body `j` against body `i` about `a_i`:
    `angle_j - angle_i` between planar bodies, which counts all turns; otherwise, from `b_i` to `b_j`, within one turn about the middle of
    the limits.

    Parameters
    ----------
    joint : str
        Name of a `Revolute`, `Translational`, `Cylindrical`, `PlanarRevolute` or `PlanarTranslational` joint.
    lower, upper : float, optional
        At least one; both for an angle in space, less than one turn apart.
    coordinate : {"angle", "displacement"}, optional
        Needed for a `Cylindrical` joint.
    b_i, b_j : sequence of 3 floats, optional
        Directions of the bodies, perpendicular to the axis, between which the angle is measured. By default the first of
        `mbdae.model.rotations.triad` of the axes, as for joint coordinates.

    Examples
    --------
    >>> import mbdae
    >>> stop = mbdae.Impact("stop", mbdae.JointStop("pin", lower=-0.5, upper=0.5), restitution=0.3)
    """

    joint: str
    lower: float | None = None
    upper: float | None = None
    coordinate: str | None = None
    b_i: tuple[float, ...] | None = None
    b_j: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        owner = f"JointStop {self.joint!r}"
        for field in ("lower", "upper"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, checks.number(getattr(self, field), owner, field))
        if self.lower is None and self.upper is None:
            raise ValueError(f"{owner}: give lower or upper, or both")
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise ValueError(f"{owner}: lower must be less than upper, got {self.lower:g} and {self.upper:g}")
        if self.coordinate not in (None, ANGLE, DISPLACEMENT):
            raise ValueError(f"{owner}: coordinate must be {ANGLE!r} or {DISPLACEMENT!r}, got {self.coordinate!r}")
        if (self.b_i is None) != (self.b_j is None):
            raise ValueError(f"{owner}: give both of b_i and b_j, or none")
        for field in ("b_i", "b_j"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, checks.unit(getattr(self, field), owner, field))

    def on(self, system: System) -> Distance:
        """See `Gap`."""
        mechanism = system.mechanism
        if mechanism is None:
            raise ValueError(f"JointStop {self.joint!r}: {system.name!r} is a system of functions, without joints; use a UserGap")
        joint = next((j for j in mechanism.joints if j.name == self.joint), None)
        if joint is None:
            raise ValueError(f"JointStop: there is no joint {self.joint!r}{guess(self.joint, [j.name for j in mechanism.joints])}")
        possible = COORDINATES.get(type(joint), ())
        if not possible or self.coordinate not in (None, *possible):
            what = self.coordinate or "coordinate"
            raise ValueError(f"JointStop {self.joint!r}: a joint of the type {type(joint).__name__} has no {what} that a stop may limit")
        if self.coordinate is None and len(possible) > 1:
            raise ValueError(f"JointStop {self.joint!r}: a {type(joint).__name__} joint has {' and '.join(possible)}, give the coordinate")
        angle = (self.coordinate or possible[0]) == ANGLE
        planar = isinstance(joint, PlanarRevolute | PlanarTranslational)
        make: Any = PlanarAngle if angle and planar else Angle if angle else Displacement
        return _Limits(joint.i, joint.j, self, make(joint, self, mechanism.bodies_by_name())).on(system)


@dataclass(frozen=True)
class _Limits(BodyGap):
    """The stop as a gap between the bodies of its joint."""

    stop: JointStop
    coordinate: Any

    def measure(self, placed: Placed) -> Measured:
        """See `BodyGap`."""
        lower, upper = _limits(self.stop)
        x, row = self.coordinate.measure(placed)
        return (x - lower, row) if x - lower <= upper - x else (upper - x, -row)


def _limits(stop: JointStop) -> tuple[float, float]:
    return -np.inf if stop.lower is None else stop.lower, np.inf if stop.upper is None else stop.upper


class PlanarAngle:
    """`angle_j - angle_i` of planar bodies."""

    def __init__(self, joint: Any, stop: JointStop, bodies: Any) -> None:
        self._i, self._j = joint.i, joint.j

    def measure(self, placed: Placed) -> Measured:
        """The coordinate and its gradient."""
        return placed.angle(self._j) - placed.angle(self._i), placed.spin(self._j)[2] - placed.spin(self._i)[2]


class Angle:
    """The angle from `b_i` to `b_j` about `a_i`, within one turn about the middle of the limits."""

    def __init__(self, joint: Any, stop: JointStop, bodies: Any) -> None:
        self._joint = joint
        if stop.b_i is not None and stop.b_j is not None:
            self._b_i, self._b_j = stop.b_i, stop.b_j
        else:
            a_i, a_j = (joints._frame(bodies[b]) @ np.asarray(a) for b, a in ((joint.i, joint.a_i), (joint.j, joint.a_j)))
            self._b_i = tuple(rotations.triad(joint.a_i)[0])
            self._b_j = tuple(rotations.triad(np.asarray(joint.a_j) * (1.0 if a_i @ a_j >= 0.0 else -1.0))[0])
        if stop.lower is None or stop.upper is None or stop.upper - stop.lower >= 2.0 * np.pi:
            raise ValueError(f"JointStop {stop.joint!r}: an angle in space needs both lower and upper, less than one turn apart")
        self._middle = 0.5 * (stop.lower + stop.upper)

    def measure(self, placed: Placed) -> Measured:
        """The coordinate and its gradient."""
        i, j = self._joint.i, self._joint.j
        a, u, w = placed.direction(i, self._joint.a_i).x, placed.direction(i, self._b_i).x, placed.direction(j, self._b_j).x
        raw = np.arctan2(a @ np.cross(u, w), u @ w - (a @ u) * (a @ w))
        x = self._middle + np.remainder(raw - self._middle + np.pi, 2.0 * np.pi) - np.pi
        return float(x), a @ (placed.spin(j) - placed.spin(i))


class Displacement:
    """`(A_i a_i) . (P_j - P_i)`."""

    def __init__(self, joint: Any, stop: JointStop, bodies: Any) -> None:
        self._i, self._j = joint.i, joint.j
        self._a, self._s_i, self._s_j = (_in_space(x) for x in (joint.a_i, joint.s_i, joint.s_j))

    def measure(self, placed: Placed) -> Measured:
        """The coordinate and its gradient."""
        a, P, Q = placed.direction(self._i, self._a), placed.point(self._i, self._s_i), placed.point(self._j, self._s_j)
        d = Q.x - P.x
        row: Vector = a.x @ (Q.D - P.D) + d @ a.D
        return float(a.x @ d), row


def _in_space(s: tuple[float, ...]) -> tuple[float, ...]:
    return (*s, 0.0) if len(s) == 2 else tuple(s)
