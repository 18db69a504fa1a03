"""Accelerations of trees against the articulated-body algorithm of Pinocchio (`pip install 'mbdae[peers]'`)."""

import numpy as np
import pytest

import mbdae
from mbdae.model import rotations
from mbdae.system.assembly import accelerations
from tests.helpers import GROUND, quaternion, unit

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'mbdae[peers]'")


def tree(rng, n):
    """A random tree of revolute and translational joints, some of them on a free body; its bodies stand where all coordinates are zero."""
    bodies = [mbdae.RigidBody("base", 3.0, _inertia(rng), rng.normal(size=3), quaternion(rng))]
    joints = []
    for k in range(1, n):
        before = bodies[rng.integers(max(0, k - 3), k)]
        s_i, a_i, s_j = rng.normal(size=3), unit(rng), rng.normal(size=3)
        A = rotations.to_matrix(before.orientation)
        turn = rotations.to_matrix(quaternion(rng))
        own = A @ turn
        kind = mbdae.Revolute if rng.random() < 0.7 else mbdae.Translational
        r = np.array(before.position) + A @ s_i - own @ s_j
        bodies.append(mbdae.RigidBody(f"body {k}", rng.uniform(0.5, 2.0), _inertia(rng), r, own))
        joints.append(kind(f"joint {k}", before.name, f"body {k}", s_i, s_j, a_i, turn.T @ a_i))
    return mbdae.Mechanism("tree", bodies, joints, gravity=(0.3, -0.2, -9.81))


def _inertia(rng):
    x = rng.normal(size=(5, 3))
    return sum((p @ p) * np.eye(3) - np.outer(p, p) for p in x)


def theirs(system):
    """The same tree in Pinocchio, with the free body first: positions of joints where the coordinates of `system` are zero."""
    model, joint, frames = pin.Model(), {GROUND: 0}, {}
    model.gravity.linear = np.array(system.mechanism.gravity)
    table = system.mechanism.bodies_by_name()
    for branch in system.tree.branches:
        body, way = table[branch.body], branch.steps
        if branch.joint is None:
            joint[body.name] = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), body.name)
            place = pin.SE3.Identity()
        else:
            (step,) = way.steps
            kind = pin.JointModelRevoluteUnaligned if step.kind else pin.JointModelPrismaticUnaligned
            # the frame of the joint has the axes of the body before, and its origin at the joint
            before = frames[branch.before].inverse() * pin.SE3(np.eye(3), np.array(way.s_i)) if branch.before in frames else None
            joint[body.name] = model.addJoint(joint[branch.before], kind(np.array(step.axis)), before, body.name)
            place = pin.SE3(way.C, -way.C @ np.array(way.s_j))
        frames[body.name] = place.inverse()
        model.appendBodyToJoint(joint[body.name], pin.Inertia(body.mass, np.zeros(3), np.reshape(body.inertia, (3, 3))), place)
    return model


@pytest.mark.parametrize("seed", range(5))
def test_accelerations_are_those_of_pinocchio(seed):
    rng = np.random.default_rng(seed)
    system = mbdae.System(tree(rng, 12), coordinates="joint")
    assert system.nc == 0
    model = theirs(system)
    q = system.retract(system.start.q, rng.normal(size=system.nv))
    v = rng.normal(size=system.nv)
    a, _, _ = accelerations(system, 0.0, q, v)
    # a free body: quaternions have the scalar last there, and velocities are in its own axes
    base = system.tree.branches[0]
    assert base.joint is None
    p = q[3:7] / np.linalg.norm(q[3:7])
    A = rotations.to_matrix(p)
    x, y = np.concatenate([q[:3], p[1:], p[:1], q[7:]]), np.concatenate([A.T @ v[:3], v[3:]])
    found = pin.aba(model, model.createData(), x, y, np.zeros(system.nv))
    linear = A @ (found[:3] + np.cross(v[3:6], y[:3]))
    expected = np.concatenate([linear, found[3:]])
    assert np.abs(a - expected).max() <= 1e-10 * np.abs(expected).max()
