"""Order in which bodies and joints are eliminated from equations with the topology of a mechanism: without fill-in for chains and trees.

A spanning tree of the bodies, rooted in the ground, is eliminated from its leaves to the root, a body before the joint to its parent. The
pivots of the joint are then those of `-Phi_q A^-1 Phi_q^T` with the articulated inertia `A` of the body: its equations are independent in
the coordinates of the body alone, so that none of them vanishes. What is left of a branch depends on the parent only.

A joint that closes a loop follows all bodies of the loop below the one that they have in common (for loops through the ground: all
bodies). The constraints of a loop depend on motions relative to that body, so that independent ones still are without it.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..typing import Integers
from .build import joint_of_rows
from .system import System

ROOT = -1  # the ground, in the place of a body


class Node(NamedTuple):
    """A body, or a joint (or driver) with its constraint equations, by its number."""

    is_body: bool
    number: int


@dataclass
class _Tree:
    """A spanning forest.

    Attributes
    ----------
    parent : list of int
        Of each body; `ROOT` without one.
    joint : list of int
        Joint of each body to its parent, -1 without one.
    children : list of list of int
        Of each body, those of the root last.
    """

    parent: list[int]
    joint: list[int]
    children: list[list[int]]

    def common(self, bodies: Sequence[int]) -> int:
        """The last body that the paths from the root to the given ones have in common, `ROOT` if there is none."""
        paths = [self._path(b) for b in bodies]
        found = ROOT
        for step in zip(*paths):
            if len(set(step)) > 1:
                break
            found = step[0]
        return found

    def _path(self, body: int) -> list[int]:
        path = []
        while body != ROOT:
            path.append(body)
            body = self.parent[body]
        return path[::-1]


class Elimination(NamedTuple):
    """Bodies and joints in the order of their elimination, and the constraint equations of each joint or driver."""

    order: list[Node]
    rows: list[Integers]


_KNOWN: WeakKeyDictionary[System, Elimination] = WeakKeyDictionary()


def elimination(system: System) -> Elimination:
    """The `Elimination` of a mechanism in Cartesian coordinates, not to be changed."""
    if system not in _KNOWN:  # each run asks for it
        assert system.mechanism is not None
        joint = joint_of_rows(system.mechanism)  # ascending
        ends = bodies_of_joints(system, joint)
        rows = np.split(np.arange(len(joint)), np.searchsorted(joint, np.arange(1, len(ends))))
        _KNOWN[system] = Elimination(elimination_order(len(system._bodies), ends), rows)
    return _KNOWN[system]


def elimination_order(bodies: int, ends: list[list[int]]) -> list[Node]:
    """The order for so many bodies and the bodies of each joint."""
    tree = _spanning(bodies, ends)
    of_tree, closing = set(tree.joint), dict[int, list[int]]()
    for joint, connected in enumerate(ends):
        if joint not in of_tree and connected:
            at = ROOT if len(connected) == 1 else tree.common(connected)
            closing.setdefault(at, []).append(joint)
    order: list[Node] = []
    for body in _leaves_first(tree):
        order += [Node(False, joint) for joint in closing.get(body, [])]
        if body != ROOT:
            order.append(Node(True, body))
            if tree.joint[body] >= 0:
                order.append(Node(False, tree.joint[body]))
    return order


def bodies_of_joints(system: System, joint_of_row: Integers) -> list[list[int]]:
    """The bodies that the equations of each joint or driver depend on, without the ground; empty for those without equations."""
    assert system.mechanism is not None
    pattern = system.pattern
    rows = np.repeat(np.arange(system.nc), np.diff(pattern.ptr))
    body = np.searchsorted(system._bodies["v"], pattern.col, side="right") - 1
    found: list[list[int]] = [[] for _ in system.mechanism.constraints]
    for joint, b in np.unique(np.column_stack([joint_of_row[rows], body]), axis=0).tolist():
        found[joint].append(b)
    return found


def _spanning(n: int, ends: list[list[int]]) -> _Tree:
    """Breadth first from the ground, then from bodies that no joint connects with it."""
    meeting: list[list[tuple[int, int]]] = [[] for _ in range(n + 1)]  # (joint, body at its other end) of each body, the ground last
    for joint, bodies in enumerate(ends):
        if 1 <= len(bodies) <= 2:
            a, b = (*bodies, ROOT)[:2]
            meeting[a].append((joint, b))
            meeting[b].append((joint, a))
    tree, seen = _Tree([ROOT] * n, [-1] * n, [[] for _ in range(n + 1)]), {ROOT}
    for start in (ROOT, *range(n)):
        if start != ROOT and start in seen:
            continue
        if start != ROOT:
            tree.children[ROOT].append(start)
            seen.add(start)
        queue = deque([start])
        while queue:
            a = queue.popleft()
            for joint, b in meeting[a]:
                if b not in seen:
                    seen.add(b)
                    tree.parent[b], tree.joint[b] = a, joint
                    tree.children[a].append(b)
                    queue.append(b)
    return tree


def _leaves_first(tree: _Tree) -> list[int]:
    """The bodies, children before their parents, at last the root."""
    order, stack = [], [ROOT]
    while stack:
        body = stack.pop()
        order.append(body)
        stack += tree.children[body]
    return order[::-1]
