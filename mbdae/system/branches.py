"""Branches of driven angles: `sin(theta - f) = 0` has the solutions `theta = f`, which a driver prescribes, and `theta = f + pi`.

The angle of a driver is `theta = atan2(u . c, u . b)`. Where Newton's method ends on the other branch, or nowhere, a continuation moves the
drivers from their values at the guess to the prescribed ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..model.base import Primitive
from ..model.bodies import PlanarBody, RigidBody
from ..model.drivers import AngleDriver
from ..model.mechanism import Mechanism
from ..model.motions import Constant, Function, Motion, Polynomial
from ..model.primitives import D, Turn
from ..model.rotations import to_matrix
from ..typing import Matrix, Vector
from .assembly import AssemblyError, approached, polished, positions
from .continuation import follow
from .extra import kind_of
from .words import motion, noted

if TYPE_CHECKING:
    from .system import System

MIN_PROJECTION = 1e-6  # length of the projection of a unit vector into the plane of an angle, below which the angle is undefined
MIN_STEPS = 16  # of a continuation


@dataclass(frozen=True)
class Driven:
    """A primitive constraint with a motion, the first of its equations, and the driver of an angle that it belongs to, if any."""

    primitive: Any  # with a field `f`
    row: int
    angle: AngleDriver | None

    @property
    def moves(self) -> bool:
        """Whether the motion depends on time."""
        return not isinstance(self.primitive.f, Constant)


class OffBranch(NamedTuple):
    """A driver whose angle is nearer to `f + pi` than to `f`."""

    driver: AngleDriver
    f: float
    theta: float


_DRIVEN: WeakKeyDictionary[System, list[Driven]] = WeakKeyDictionary()


def driven(system: System) -> list[Driven]:
    """All `Driven` primitives of a system's mechanism: those of its drivers, and others whose motion depends on time."""
    if system not in _DRIVEN:
        assert system.mechanism is not None
        _DRIVEN[system] = _driven(system.mechanism)
    return _DRIVEN[system]


def _driven(mechanism: Mechanism) -> list[Driven]:
    angles = {d.name: d for d in mechanism.drivers if isinstance(d, AngleDriver)}
    of_joints, found, row = joint_rows(mechanism), [], 0
    for p in mechanism.primitives:
        if hasattr(p, "f") and (row >= of_joints or not isinstance(p.f, Constant)):
            found.append(Driven(p, row, angles.get(p.name) if row >= of_joints else None))
        row += p.rows
    return found


def joint_rows(mechanism: Mechanism) -> int:
    """Number of the equations of joints; those of drivers follow."""
    return len(mechanism.labels) - sum(p.rows for d in mechanism.drivers for p in d.primitives(mechanism.bodies_by_name()))


def moves(system: System) -> bool:
    """Whether constraints may depend on time."""
    m = system.mechanism
    return m is None or any(x.moves for x in driven(system)) or any(kind_of(p).time_dependent(p) for p in m.primitives)


def mismatch(system: System, t: float, q: Vector) -> float:
    """The largest residual of the constraints that depend on time, at `t` [rad, m, or the unit of the equation]."""
    phi = system.phi(t, q)
    if system.mechanism is None:
        return float(np.abs(phi).max(initial=0.0))
    return max((abs(_error(system, t, q, x, phi)) for x in driven(system) if x.moves), default=0.0)


def _error(system: System, t: float, q: Vector, x: Driven, phi: Vector) -> float:
    theta = _angle(system, q, x.primitive) if x.angle else None
    return phi[x.row] if theta is None else _wrapped(_value(x.primitive, t) - theta)


def off_branch(system: System, t: float, q: Vector) -> list[OffBranch]:
    """Drivers of angles that are nearer to `f + pi` than to `f` [rad]."""
    if system.cartesian is not None:
        tree: Any = system
        return off_branch(system.cartesian, t, tree.to_cartesian(q, t=t).q)
    if system.mechanism is None or not any(isinstance(d, AngleDriver) for d in system.mechanism.drivers):
        return []
    found = [(x.angle, _value(x.primitive, t), _angle(system, q, x.primitive)) for x in driven(system) if x.angle]
    return [OffBranch(driver, f, theta) for driver, f, theta in found if theta is not None and abs(_wrapped(f - theta)) > 0.5 * math.pi]


def opposite(system: System, t: float, wrong: list[OffBranch]) -> str:
    """A message about the first of the drivers that `off_branch` has found."""
    driver, f, theta = wrong[0]
    return (f"{system.name}: driver {driver.name!r} asks for the angle {f:.6g} rad at t = {t:g}, but the positions are on the opposite "
            f"branch, at {theta:.6g} rad (sin(theta - f) vanishes there, too)")


def closed(system: System, t: float, guess: Vector) -> Vector:
    """Positions on `Phi(t, q) = 0` near a guess, with all driven angles on the branch of their drivers.

    Raises
    ------
    AssemblyError
        Names the constraints that cannot be satisfied, or the driver whose branch cannot be reached.
    """
    if system.cartesian is not None:
        tree: Any = system
        nearest: Vector = tree.closed(t, guess)
        return nearest
    failure, wrong = None, []
    try:
        q = positions(system, t, guess)
        wrong = off_branch(system, t, q)
        if not wrong:
            return q
    except AssemblyError as error:
        failure = error
    led = _by_continuation(system, t, guess)
    if led is not None:
        return led
    raise failure or AssemblyError(f"{opposite(system, t, wrong)}; turn {wrong[0].driver.j!r} in the guess to the prescribed angle")


def _by_continuation(system: System, t: float, guess: Vector) -> Vector | None:
    """Positions by continuation in the values of the drivers, from those at the guess; `None` if it fails."""
    if system.mechanism is None or not driven(system):
        return None
    try:
        ramp = type(system)(_ramped(system, t, guess))
        q = polished(system, t, follow(ramp, 0.0, positions(ramp, 0.0, guess), 1.0, 1.0 / MIN_STEPS))
    except AssemblyError:
        return None
    return None if off_branch(system, t, q) else near_guess(system, t, q, guess)


def near_guess(system: System, t: float, q: Vector, guess: Vector) -> Vector:
    """The positions on the branch of `q` nearest to the guess in the mass metric; `q` itself if they are not found."""
    try:
        found = approached(system, t, q, guess)
    except AssemblyError:
        return q
    return q if off_branch(system, t, found) else found


def _ramped(system: System, s: float, guess: Vector) -> Mechanism:
    """The mechanism for the continuation: drivers go from their values at the guess, at `t = 0`, to those for the time `s`, at `t = 1`."""
    mechanism, phi = system.mechanism, system.phi(s, guess)
    assert mechanism is not None
    ramps = {x.row: _ramp(system, s, guess, x, phi) for x in driven(system)}
    constraints, row = [], 0
    for p in mechanism.primitives:
        constraints.append(_with_motion(p, ramps[row]) if row in ramps else p)
        row += p.rows
    return Mechanism(mechanism.name, mechanism.bodies, constraints)


def _with_motion(p: Any, f: Motion) -> Primitive:
    driven: Primitive = replace(p, f=f)
    return driven


def _ramp(system: System, t: float, guess: Vector, x: Driven, phi: Vector) -> Constant | Polynomial:
    f = _value(x.primitive, t)
    if isinstance(x.primitive, Turn):
        theta = _angle(system, guess, x.primitive)
        turn = 0.0 if theta is None else _wrapped(f - theta)
        if not x.angle and abs(turn) > 0.5 * math.pi:  # without a driver both branches will do
            turn -= math.copysign(math.pi, turn)
    else:
        turn = -phi[x.row]
    if isinstance(x.primitive, D) and f - turn <= 0.0:
        return Constant(f)
    return Polynomial((f - turn, turn))


def _angle(system: System, q: Vector, p: Turn) -> float | None:
    """The angle of a `Turn` at the positions `q` in (-pi, pi]; `None` where its direction is perpendicular to the plane of the angle."""
    u = _axes(system, p.i, q).T @ _axes(system, p.j, q) @ np.array(p.a_j)
    cosine, sine = float(u @ p.a_i), float(u @ p.b_i)
    return math.atan2(sine, cosine) if math.hypot(sine, cosine) > MIN_PROJECTION else None


def _axes(system: System, name: str, q: Vector) -> Matrix:
    """Rotation matrix of a body, or of the ground."""
    assert system.mechanism is not None
    body = system.mechanism.body(name)
    x = q[system.coordinates(name).q] if body is not None else q[:0]
    if isinstance(body, RigidBody):
        return to_matrix(x[3:])
    c, s = (math.cos(x[2]), math.sin(x[2])) if isinstance(body, PlanarBody) else (1.0, 0.0)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _value(p: Any, t: float) -> float:
    """The prescribed value `f(t)` of a primitive of a driver."""
    with noted(motion(p), t):
        if isinstance(p.f, Function):
            return p.f.value(t)
        value, _, _ = p.f(t)
        return float(value)


def _wrapped(angle: float) -> float:
    """The angle in [-pi, pi]."""
    return math.remainder(angle, 2.0 * math.pi)
