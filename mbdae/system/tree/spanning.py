"""The spanning tree of a mechanism: which joints become coordinates, and which are cut and stay constraints."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ...model.base import Driver, Primitive
from ...model.bodies import GROUND, RigidBody
from ...model.forces import Friction
from ...model.mechanism import Mechanism
from ...spelling import guess
from .joints import Steps, free, steps_of
from .rheonomic import named_drivers
from .rheonomic import prescribed as with_prescribed


@dataclass(frozen=True, eq=False)
class Branch:
    """A body of the tree, the one before it, the joint between them (`None` if the body is free), and the steps of this."""

    body: str
    before: str
    joint: str | None
    steps: Steps


@dataclass(frozen=True, eq=False)
class SpanningTree:
    """Branches in the order of the coordinates, a body always behind the one before it, and the names of the other joints."""

    branches: tuple[Branch, ...]
    cut: tuple[str, ...]

    @property
    def prescribed(self) -> tuple[Driver, ...]:
        """The drivers that move joints without an unknown."""
        return tuple(s.prescribed.driver for b in self.branches for s in b.steps.steps if s.prescribed)


def spanning_tree(mechanism: Mechanism, cut: Iterable[str] = (), prescribed: Iterable[str] = ()) -> SpanningTree:
    """The tree of most constraint equations, near its root where there is a choice; bodies without a joint in it are free.

    Joints with friction are cut: their multipliers are needed. A joint that is prescribed counts as one equation more.

    Parameters
    ----------
    mechanism : Mechanism
    cut : iterable of str
        Names of joints that are cut in any case.
    prescribed : iterable of str
        Names of drivers that move a joint of the tree without an unknown.

    Raises
    ------
    ValueError
        If there is no such joint or driver, or if a driver prescribes no coordinate of the tree.
    """
    wanted = tuple(cut)
    names = [j.name for j in mechanism.joints]
    for name in wanted:
        if name not in names:
            known = ", ".join(names) or "none"
            raise ValueError(f"{mechanism.name}: there is no joint {name!r} to cut{guess(name, names)}; there are {known}")
    drivers = named_drivers(mechanism, prescribed)
    found = _grow(mechanism, {*wanted, *(f.joint for f in mechanism.forces if isinstance(f, Friction))}, drivers)
    for driver in drivers:
        branch = next((b for b in found.values() if {b.body, b.before} == {driver.i, driver.j}), None)
        if branch is None:
            raise ValueError(f"{mechanism.name}: driver {driver.name!r} cannot move a joint without an unknown: no joint of the tree is "
                             f"between {driver.i!r} and {driver.j!r}; cut another joint of the loop, or leave it a constraint")
        found[branch.body] = replace(branch, steps=with_prescribed(branch, driver))
    kept = {b.joint for b in found.values()}
    return SpanningTree(tuple(_ordered(mechanism, found)), tuple(name for name in names if name not in kept))


def _grow(mechanism: Mechanism, cut: set[str], drivers: Iterable[Driver | Primitive]) -> dict[str, Branch]:
    """Prim's algorithm from the ground, joints of most equations first; a new root where nothing is connected."""
    driven = {frozenset((d.i, d.j)) for d in drivers}
    bodies, at = mechanism.bodies_by_name(), _joints_by_body(mechanism, cut)
    found: dict[str, Branch] = {}
    depth = {GROUND: 0}
    heap: list[tuple[int, int, int, Any, str]] = []

    def reach(body: str) -> None:
        for number, joint in at.get(body, []):
            other = joint.j if joint.i == body else joint.i
            steps = steps_of(joint, body, bodies) if other not in depth else None
            if steps is not None:
                size = 6 if isinstance(bodies[other], RigidBody) else 3
                heapq.heappush(heap, (steps.rates - size - (frozenset((body, other)) in driven), depth[body], number, steps, body))

    joints = mechanism.joints
    reach(GROUND)
    while len(found) < len(mechanism.bodies):
        if not heap:
            root = _root(mechanism, at, found)
            found[root.name], depth[root.name] = Branch(root.name, GROUND, None, free(root)), 1
            reach(root.name)
            continue
        _, _, number, steps, before = heapq.heappop(heap)
        joint = joints[number]
        body = joint.j if joint.i == before else joint.i
        if body not in depth:
            found[body], depth[body] = Branch(body, before, joint.name, steps), depth[before] + 1
            reach(body)
    return found


def _joints_by_body(mechanism: Mechanism, cut: set[str]) -> dict[str, list[tuple[int, Any]]]:
    at: dict[str, list[tuple[int, Any]]] = {}
    for number, joint in enumerate(mechanism.joints):
        if joint.name not in cut:
            for end in {joint.i, joint.j}:
                at.setdefault(end, []).append((number, joint))
    return at


def _root(mechanism: Mechanism, at: dict[str, Any], found: dict[str, Branch]) -> Any:
    """Of the bodies that are left the one with most joints, then the heaviest."""
    left = [b for b in mechanism.bodies if b.name not in found]
    return max(left, key=lambda b: (len(at.get(b.name, [])), b.mass))


def _ordered(mechanism: Mechanism, found: dict[str, Branch]) -> Iterable[Branch]:
    """Depth first, so that a branch stands together; branches in the order of the bodies."""
    behind: dict[str, list[str]] = {}
    for body in mechanism.bodies:
        behind.setdefault(found[body.name].before, []).append(body.name)
    waiting = behind.get(GROUND, [])[::-1]
    while waiting:
        name = waiting.pop()
        yield found[name]
        waiting += behind.get(name, [])[::-1]
