"""Mechanisms with joint friction that the fixed-point iteration for their multipliers handles badly or not at all."""

import numpy as np

import mbdae
from mbdae import GROUND
from mbdae.library.random_tree import Draw
from mbdae.model import rotations

GRAVITY = (0.0, -9.81, 0.0)
KINDS = (mbdae.Revolute, mbdae.Revolute, mbdae.Translational, mbdae.Translational, mbdae.Spherical, mbdae.Universal, mbdae.Cylindrical)
STEEP = 0.1  # of the wedge


def wedge(mu, motion, v_s=1e-5, smooth=False, pendulum=False):
    """A block of 1 kg on a guide along x, with `x - 0.1 y = motion(t)`: the push `p` along `(1, -0.1)` is `mu n` times the direction.

    The normal force is `n = m g + 0.1 p` with the reactions' signs of `wedge_force`; a pendulum beside it has a degree of freedom.
    """
    bodies = [mbdae.PlanarBody("block", 1.0, 1.0)]
    joints = [mbdae.PlanarTranslational("guide", GROUND, "block"), mbdae.CD("push", GROUND, "block", (1.0, -STEEP, 0.0), f=motion)]
    if pendulum:
        bodies.append(mbdae.PlanarBody("free", 1.0, 0.1, (2.0, 0.0), 0.0))
        joints.append(mbdae.PlanarRevolute("pin", GROUND, "free", (1.5, 0.0), (-0.5, 0.0)))
    friction = mbdae.Friction("rub", "guide", mu, v_s=v_s, smooth=smooth)
    return mbdae.System(mbdae.Mechanism("wedge", bodies, joints, forces=[friction], gravity=GRAVITY))


def wedge_force(mu, way):
    """The first multiplier of the wedge at the direction `way` of its motion: `n = m g + way 0.1 mu n`."""
    return -9.81 / (1.0 - way * STEEP * mu)


def light_slider(mu=2.0, angle=1.0, speed=2.0, v_s=0.05):
    """A rod of 1 kg pinned to a slider of 0.1 kg on a guide with friction: Painleve's example with a guide for the contact."""
    c, s = np.cos(angle), np.sin(angle)
    bodies = [mbdae.PlanarBody("slider", 0.1, 0.01, (0.0, 0.0), 0.0, (speed, 0.0), 0.0),
              mbdae.PlanarBody("rod", 1.0, 0.01, (0.5 * c, 0.5 * s), angle, (speed, 0.0), 0.0)]
    joints = [mbdae.PlanarTranslational("guide", GROUND, "slider"), mbdae.PlanarRevolute("pin", "slider", "rod", (0.0, 0.0), (-0.5, 0.0))]
    friction = mbdae.Friction("rub", "guide", mu, v_s=v_s, smooth=True)
    return mbdae.System(mbdae.Mechanism("light slider", bodies, joints, forces=[friction], gravity=GRAVITY))


def tree(seed):
    """A random tree of 1 to 6 bodies with drivers, springs and smooth friction with `mu` up to 0.4; a seed means the same everywhere."""
    draw, bodies, joints, drivers, forces = Draw(seed), [], [], [], []
    poses = {GROUND: (np.zeros(3), np.eye(3))}
    for k in range(1 + draw.below(6)):
        parent = GROUND if k == 0 or draw.between(0.0, 1.0) < 0.15 else f"body {draw.below(k)}"
        body = _body(f"body {k}", draw)
        bodies.append(body)
        poses[body.name] = np.array(body.position), rotations.to_matrix(body.orientation)
        joint, axis = _joint(f"joint {k}", parent, body.name, poses, draw)
        joints.append(joint)
        _load(joint, axis, poses, draw, drivers, forces)
    return mbdae.Mechanism(f"tree {seed}", bodies, joints, drivers=drivers, forces=forces, gravity=(0.0, 0.0, -9.81))


def _body(name, draw):
    mass = 10.0 ** draw.between(-0.5, 1.0)
    x, y, z = (mass * draw.between(0.05, 0.3) ** 2 for _ in "xyz")
    return mbdae.RigidBody(name, mass, (y + z, x + z, x + y), 1.5 * draw.direction(3), tuple(draw.direction(4)))


def _joint(name, i, j, poses, draw):
    """A joint of any kind about halfway between its bodies, and the direction of its axis."""
    (r, A), (s, B) = poses[i], poses[j]
    kind, axis, place = KINDS[draw.below(len(KINDS))], draw.direction(3), 0.5 * (r + s) + 0.4 * draw.direction(3)
    ends = name, i, j, A.T @ (place - r), B.T @ (place - s)
    if kind is mbdae.Spherical:
        return kind(*ends), axis
    other = _across(axis, draw) if kind is mbdae.Universal else axis
    return kind(*ends, A.T @ axis, B.T @ other), axis


def _across(axis, draw):
    other = np.cross(axis, draw.direction(3))
    return other / np.linalg.norm(other)


def _load(joint, axis, poses, draw, drivers, forces):
    """A spring where the joint slides, a driver or friction where it turns about one axis, friction where it slides only."""
    number, share = joint.name.split()[1], draw.between(0.0, 1.0)
    if isinstance(joint, (mbdae.Translational, mbdae.Cylindrical)):
        forces.append(mbdae.TSDA(f"spring {number}", joint.i, joint.j, np.subtract(joint.s_i, joint.a_i), joint.s_j,
                                 k=10.0 ** draw.between(1.5, 3.0), c=draw.between(0.0, 3.0), l0=1.0))
    if isinstance(joint, mbdae.Revolute) and share < 0.3:
        b = _across(axis, draw)
        swing = mbdae.Harmonic(draw.between(0.2, 1.0), draw.between(1.0, 6.0))
        drivers.append(mbdae.AngleDriver(f"driver {number}", joint.i, joint.j, swing, joint.a_i,
                                         *(poses[k][1].T @ b for k in (joint.i, joint.j))))
    elif isinstance(joint, (mbdae.Revolute, mbdae.Translational)) and share < 0.8:
        radius = draw.between(0.02, 0.3) if isinstance(joint, mbdae.Revolute) else None
        forces.append(mbdae.Friction(f"friction {number}", joint.name, draw.between(0.0, 0.4), radius=radius, v_s=0.05, smooth=True))
