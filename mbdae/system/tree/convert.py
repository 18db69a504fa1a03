"""Joint coordinates of bodies whose frames are known: steps of a joint from a relative position and orientation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...model import rotations
from ...model.base import Bodies
from ...model.bodies import GROUND, PlanarBody
from ...typing import Matrix, Vector
from .joints import Step
from .layout import BALL, SLIDE
from .spanning import Branch, SpanningTree


class Frame(NamedTuple):
    """Position and rotation matrix of a body, and its angle if it is planar."""

    r: Vector
    A: Matrix
    angle: float = 0.0


def coordinates(tree: SpanningTree, bodies: Bodies, frames: dict[str, Frame]) -> Vector:
    """The joint coordinates nearest to the frames: exact where these satisfy the joints."""
    parts = [_of_branch(branch, bodies, frames) for branch in tree.branches]
    return np.concatenate(parts) if parts else np.zeros(0)


def _of_branch(branch: Branch, bodies: Bodies, frames: dict[str, Frame]) -> Vector:
    way, before, own = branch.steps, frames[branch.before], frames[branch.body]
    R = before.A.T @ own.A @ way.C.T
    d = before.A.T @ (own.r + own.A @ way.s_j - before.r) - way.s_i
    turns = _turns([s for s in way.steps if s.kind != SLIDE], R)
    if isinstance(bodies[branch.body], PlanarBody) and len(turns) == 1:
        turns = [own.angle - (before.angle if branch.before != GROUND else 0.0) - way.angle]
    slides = _slides(way.steps, turns, d)
    values, rotated = iter(slides), iter(turns)
    found = [(s, np.atleast_1d(next(values) if s.kind == SLIDE else next(rotated))) for s in way.steps]
    return np.concatenate([np.zeros(0), *(x for s, x in found if s.positions)])


def _turns(steps: list[Step], R: Matrix) -> list[Any]:
    """Angles or the quaternion of the steps that turn, whose product is the rotation `R`."""
    if not steps:
        return []
    if steps[0].kind == BALL:
        return [rotations.from_matrix(R)]
    e = np.asarray(steps[0].axis)
    if len(steps) == 1:
        axial = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        return [np.arctan2(e @ axial, 0.5 * (np.trace(R) - 1.0))]
    f = np.asarray(steps[1].axis)  # perpendicular to the first
    u, w = R @ f, R.T @ e
    return [np.arctan2(np.cross(e, f) @ u, f @ u), np.arctan2(-np.cross(f, e) @ w, e @ w)]


def _slides(steps: tuple[Step, ...], turns: list[Any], d: Vector) -> Vector:
    """The lengths of the steps along axes whose sum is nearest to `d`."""
    R, directions, left = np.eye(3), [], iter(turns)
    for s in steps:
        if s.kind == SLIDE:
            directions.append(R @ np.asarray(s.axis))
        else:
            x = next(left)
            R = R @ (rotations.to_matrix(x) if s.kind == BALL else _about(s.axis, x))
    if not directions:
        return np.zeros(0)
    lengths: Vector = np.linalg.lstsq(np.array(directions).T, d, rcond=None)[0]
    return lengths


def _about(axis: tuple[float, ...], angle: float) -> Matrix:
    return rotations.to_matrix(np.append(np.cos(0.5 * angle), np.sin(0.5 * angle) * np.asarray(axis)))


