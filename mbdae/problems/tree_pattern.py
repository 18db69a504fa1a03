"""Sparsity of the equations in joint coordinates, from that in Cartesian coordinates and the paths from the bodies to the root."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..system import layout as lay
from ..system.system import System
from ..system.tree.layout import BALL, JOINT_T, STEP_T
from ..typing import Integers
from .pattern import Pairs, Structure, boolean, multibody_structure


class _Paths:
    """Which velocities and positions of the joints move a body: patterns by bodies, and by Cartesian coordinates."""

    def __init__(self, system: Any, cartesian: System) -> None:
        joints, steps = (lay.records_of(system._model, *x) for x in ((lay.TREE_JOINT, JOINT_T), (lay.TREE_STEP, STEP_T)))
        own_q = [np.concatenate([_positions(s) for s in steps[j["step"]:j["step"] + j["steps"]]] or [_NONE]) for j in joints]
        own_v = [np.arange(j["v"], j["v"] + j["n"]) for j in joints]
        nb = len(joints)
        v, q = Pairs(nb, system.nv), Pairs(nb, system.nq)
        of_v, of_q = Pairs(cartesian.nv, system.nv), Pairs(cartesian.nq, system.nq)
        for joint in joints:
            body = int(joint["body"])
            at = cartesian.coordinates(cartesian.mechanism.bodies[body].name)  # type: ignore[union-attr]
            rows_v, rows_q = (np.arange(s.start, s.stop) for s in (at.v, at.q))
            k = int(np.flatnonzero(joints["body"] == body)[0])
            while k >= 0:
                v.add([body], own_v[k])
                q.add([body], own_q[k])
                of_v.add(rows_v, own_v[k])
                of_q.add(rows_q, own_q[k])
                k = int(joints[k]["above"])
        self.v, self.q, self.of_v, self.of_q = (x.csr() for x in (v, q, of_v, of_q))


_NONE = np.zeros(0, np.int64)


def _positions(step: Any) -> Integers:
    n = 0 if step["motion"] >= 0 else 4 if step["kind"] == BALL else 1
    return np.arange(step["q"], step["q"] + n)


def tree_structure(system: Any) -> Structure:
    """Structure of a `TreeSystem`."""
    cartesian = System(system.constrained)
    c, path = multibody_structure(cartesian), _Paths(system, cartesian)
    gradient = csr_array((np.ones(system.nnz), system.pattern.col, system.pattern.ptr), shape=(system.nc, system.nv))
    # of the bodies at the ends of each constraint
    ends = boolean(c.vel_v @ _bodies(cartesian))
    moved = boolean(ends @ path.q)
    map_q, map_v = _kinematics(system)
    inertia_q, inertia_v = path.v.T @ path.q, path.v.T @ path.v
    stabilised = map_v @ (boolean(gradient.T) @ moved)
    return Structure(
        map_q=map_q, map_v=map_v, stab_q=boolean(stabilised + map_q), stab_c=boolean(map_v @ gradient.T), mass=boolean(inertia_v),
        dyn_q=boolean(inertia_q + path.of_v.T @ c.dyn_q @ path.of_q + gradient.T @ moved),
        dyn_v=boolean(inertia_v + path.of_v.T @ c.dyn_v @ path.of_v), dyn_c=boolean(gradient.T + path.of_v.T @ c.dyn_c),
        phi_q=boolean(gradient @ map_v.T), vel_q=boolean(c.vel_q @ path.of_q + moved), vel_v=boolean(gradient),
        acc_v=boolean(c.acc_v @ path.of_v + gradient))


def _bodies(cartesian: System) -> csr_array:
    """The body that each Cartesian velocity coordinate belongs to."""
    assert cartesian.mechanism is not None
    pairs = Pairs(cartesian.nv, len(cartesian.mechanism.bodies))
    for k, body in enumerate(cartesian.mechanism.bodies):
        at = cartesian.coordinates(body.name).v
        pairs.add(np.arange(at.start, at.stop), [k])
    return pairs.csr()


def _kinematics(system: Any) -> tuple[csr_array, csr_array]:
    """The kinematic map: quaternions, and coordinates whose rates are velocities."""
    map_q, map_v = Pairs(system.nq, system.nq), Pairs(system.nq, system.nv)
    q = v = 0
    for at, to in [*system.quaternions.tolist(), (system.nq, system.nv)]:
        for k in range(at - q):
            map_v.add([q + k], [v + k])
        if at < system.nq:
            map_q.add(np.arange(at, at + 4), np.arange(at, at + 4))
            map_v.add(np.arange(at, at + 4), np.arange(to, to + 3))
        q, v = at + 4, to + 3
    return map_q.csr(), map_v.csr()
