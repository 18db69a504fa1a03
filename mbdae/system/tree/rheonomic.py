"""Rheonomic joints: the step of a joint whose length or angle a driver prescribes, `u(t) = sign f(t) + offset`, without an unknown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model.base import Driver, Primitive
from ...model.bodies import GROUND
from ...model.drivers import AngleDriver, CoordinateDriver, PlanarAngleDriver
from ...model.mechanism import Mechanism
from ...spelling import guess
from ...typing import Vector
from .joints import Prescribed, Steps
from .layout import BALL, SLIDE, TURN

if TYPE_CHECKING:
    from .spanning import Branch

PARALLEL = 1e-9  # sine of the angle between axes that count as parallel; distance of points that count as one, in metres


class _NotACoordinate(Exception):
    """Why a driver prescribes no length or angle of a joint."""


def named_drivers(mechanism: Mechanism, names: Iterable[str]) -> tuple[Driver | Primitive, ...]:
    """The drivers of these names.

    Raises
    ------
    ValueError
        If there is no such driver, or one is named twice.
    """
    drivers = {d.name: d for d in mechanism.drivers}
    wanted = tuple(names)
    for name in wanted:
        if name not in drivers:
            known = ", ".join(drivers) or "none"
            raise ValueError(f"{mechanism.name}: there is no driver {name!r} to prescribe a joint{guess(name, list(drivers))}; "
                             f"there are {known}")
        if wanted.count(name) > 1:
            raise ValueError(f"{mechanism.name}: driver {name!r} is named twice")
    return tuple(drivers[name] for name in wanted)


def prescribed(branch: Branch, driver: Driver | Primitive) -> Steps:
    """The steps of a branch with the one that the driver prescribes.

    Raises
    ------
    ValueError
        If the driver prescribes none of them.
    """
    rule = _RULES.get(type(driver))
    joint = f"joint {branch.joint!r}" if branch.joint else f"the free body {branch.body!r}"
    try:
        if rule is None:
            raise _NotACoordinate(f"a {type(driver).__name__} prescribes no length or angle of a joint")
        number, sign, offset = rule(driver, branch)
        step = branch.steps.steps[number]
        if step.prescribed is not None:
            raise _NotACoordinate(f"driver {step.prescribed.driver.name!r} prescribes the same coordinate of {joint}")
    except _NotACoordinate as reason:
        raise ValueError(f"driver {driver.name!r} cannot move {joint} without an unknown: {reason}; leave it a constraint") from None
    steps = list(branch.steps.steps)
    steps[number] = replace(step, prescribed=Prescribed(driver, sign, offset))
    return replace(branch.steps, steps=tuple(steps))


def _turn_of(steps: Steps) -> int:
    """The number of the only step that turns."""
    turns = [n for n, s in enumerate(steps.steps) if s.kind != SLIDE]
    if len(turns) != 1 or steps.steps[turns[0]].kind != TURN:
        raise _NotACoordinate("it does not turn about one axis alone")
    return turns[0]


def _angle(driver: AngleDriver, branch: Branch) -> tuple[int, float, float]:
    """`theta = theta_0 +- x`, with the angle `theta_0` of the driver where the coordinate `x` of the joint is zero."""
    way = branch.steps
    number = _turn_of(way)
    axis, forward = np.array(way.steps[number].axis), driver.i == branch.before
    turned = way.C if forward else way.C.T  # body j of the driver as body i sees it, at x = 0
    along = (axis if forward else -way.C.T @ axis) @ driver.a_i
    if abs(along) < 1.0 - PARALLEL:
        raise _NotACoordinate("its axis is another one")
    u = turned @ driver.b_j
    sine, cosine = float(np.cross(driver.a_i, driver.b_i) @ u), float(u @ driver.b_i)
    if math.hypot(sine, cosine) < PARALLEL:
        raise _NotACoordinate("b_j is parallel to the axis")
    sign = math.copysign(1.0, along)
    return number, sign, -sign * math.atan2(sine, cosine)


def _planar_angle(driver: PlanarAngleDriver, branch: Branch) -> tuple[int, float, float]:
    number = _turn_of(branch.steps)
    return number, 1.0 if driver.j == branch.body else -1.0, -branch.steps.angle


def _coordinate(driver: CoordinateDriver, branch: Branch) -> tuple[int, float, float]:
    """`c . r = c . r_0 +- x`, with the point `r_0` of the driver where the coordinate `x` of the joint is zero."""
    way, c = branch.steps, np.array(driver.c)
    if branch.before != GROUND:
        raise _NotACoordinate("its direction is fixed in space, not in a body")
    along = [float(np.array(s.axis) @ c) for s in way.steps]
    parallel = [abs(x) > 1.0 - PARALLEL for x in along]
    slides = [n for n, s in enumerate(way.steps) if s.kind == SLIDE]
    found = [n for n in slides if parallel[n]]
    if len(found) != 1 or any(abs(along[n]) > PARALLEL for n in slides if n != found[0]):
        raise _NotACoordinate("it does not slide along its direction alone")
    forward = driver.j == branch.body
    s_ground, s_body = map(_in_space, (driver.s_i, driver.s_j) if forward else (driver.s_j, driver.s_i))
    lever = way.C @ (s_body - np.array(way.s_j))
    tilts = any(s.kind == BALL or (s.kind == TURN and not parallel[n]) for n, s in enumerate(way.steps))
    if tilts and np.abs(lever).max() > PARALLEL:
        raise _NotACoordinate("its point moves when the body turns")
    sign, start = math.copysign(1.0, along[found[0]]), float(c @ (np.array(way.s_i) + lever - s_ground))
    return found[0], sign if forward else -sign, -sign * start


def _in_space(s: tuple[float, ...]) -> Vector:
    return np.array([*s, 0.0]) if len(s) == 2 else np.array(s)


_RULES: dict[type, Callable[[Any, Branch], tuple[int, float, float]]] = {
    AngleDriver: _angle, PlanarAngleDriver: _planar_angle, CoordinateDriver: _coordinate}
