"""Tables and scratch of a system in joint coordinates, beside those of `system.layout`.

The tables of the system are those of the mechanism in Cartesian coordinates, with the constraints that are left: its kernels are evaluated
in the frames of the bodies, which follow from the joint coordinates. The scratch `W_TREE` has their results and the kinematics of the tree.
"""

import numpy as np

from ...compilation.compiled import compiled, matrix, window
from .. import layout as lay
from ..layout import header, table

SLIDE, TURN, BALL = range(3)  # steps of a joint: along an axis, about an axis, about a point

_i, _f = "i8", "f8"
# A joint of the tree, parents first: its body, the one before it, and the joint of that one (-1 for the ground); its steps and
# velocities. The body's frame is at `s_j` of the body, turned by `C`; `angle` is the angle of `C` for planar bodies.
JOINT_T = np.dtype([("body", _i), ("parent", _i), ("above", _i), ("step", _i), ("steps", _i), ("v", _i), ("n", _i),
                    ("s_i", _f, 3), ("s_j", _f, 3), ("C", _f, 9), ("angle", _f)])
# A step has coordinates and velocities from `q` and `v` on, or a coordinate `sign f(t) + offset` that is prescribed by a motion (else -1).
STEP_T = np.dtype([("kind", _i), ("q", _i), ("v", _i), ("motion", _i), ("axis", _f, 3), ("sign", _f), ("offset", _f)])
# one row of Phi_q: its ends in Cartesian coordinates, and its path through the tree, joints from the leaves to the root
ROW_T = np.dtype([("end", _i), ("ends", _i), ("place", _i), ("places", _i)])
END_T = np.dtype([("joint", _i), ("at", _i)])  # values of the Cartesian row
PLACE_T = np.dtype([("joint", _i), ("at", _i)])  # values of the row
SIZES = ("nq", "nv", "nnz", "steps", "prescribed")  # of the Cartesian system, of the table of steps, and how many of these are prescribed

# Of every joint, first in all of these: rho (3), from the centre of mass of the body before to its own. Motions and wrenches have six
# numbers: of the centre of mass r (3), of the rotation (3).
KINEMATICS, BIAS, WRENCH, RATE = 21, 3, 9, 15  # then: the accelerations that velocities and prescribed motions cause, a wrench, the
# velocities that prescribed motions cause
POINT, STEP_AXIS, SPEED, ACCELERATION = 8, 3, 6, 7  # of a step, behind the point where it begins: of a prescribed one the axis, u', u''
INERTIA, MASS, MOMENTS, MOTION = 16, 3, 4, 10  # then: mass, J as xx, yy, zz, xy, xz, yz in global axes, an acceleration or wrench
FACTOR, ARTICULATED, LOAD = 30, 3, 24  # then: articulated inertia (21), a wrench or acceleration
AXIS = 6  # of a velocity: its direction as a motion of the body
GAIN, GAINS, ROOT = 7, 6, 12  # of a velocity, behind its direction: what it takes of the wrench, and 1 / sqrt(D)
HEAD = 2  # of the mass matrix and its factors: 1, or 0 for the identity, and the address of the compiled code


@compiled
def joints(model):
    return table(model, lay.TREE_JOINT, JOINT_T)


@compiled
def steps(model):
    return table(model, lay.TREE_STEP, STEP_T)


@compiled
def _sizes(model):
    return table(model, lay.TREE_SIZES, np.int64)


@compiled
def prescribed(model):
    """Number of steps whose motion is prescribed."""
    return _sizes(model)[4]


@compiled
def positions(model, work):
    """The Cartesian coordinates."""
    return window(work, header(model)[lay.W_TREE], _sizes(model)[0])


@compiled
def wrenches(model, work):
    """Forces by the Cartesian velocity coordinates."""
    return window(work, header(model)[lay.W_TREE] + _sizes(model)[0], _sizes(model)[1])


@compiled
def gradients(model, work):
    """Values of `Phi_q` by the Cartesian velocity coordinates."""
    n = _sizes(model)
    return window(work, header(model)[lay.W_TREE] + n[0] + n[1], n[2])


@compiled
def points(model, work):
    """For each step the point where it begins and what else POINT has, shape (steps, POINT)."""
    n = _sizes(model)
    return matrix(work, header(model)[lay.W_TREE] + n[0] + n[1] + n[2], n[3], POINT)


@compiled
def kinematics(model, work):
    """Shape (nb, KINEMATICS), in the order of the joints."""
    n = _sizes(model)
    return matrix(work, header(model)[lay.W_TREE] + n[0] + n[1] + n[2] + POINT * n[3], header(model)[lay.NB], KINEMATICS)


@compiled
def axes(model, work):
    """Shape (nv, AXIS)."""
    n, head = _sizes(model), header(model)
    return matrix(work, head[lay.W_TREE] + n[0] + n[1] + n[2] + POINT * n[3] + KINEMATICS * head[lay.NB], head[lay.NV], AXIS)


def scratch_size(nb: int, nv: int, sizes: list[int]) -> int:
    """Of `W_TREE`."""
    return sizes[0] + sizes[1] + sizes[2] + POINT * sizes[3] + KINEMATICS * nb + AXIS * nv


def mass_size(nb: int, nv: int) -> int:
    """Of the mass matrix and of its factors: the larger of both."""
    return HEAD + max(INERTIA * nb + AXIS * nv, FACTOR * nb + (AXIS + GAIN) * nv)


@compiled
def inertias(M, nb):
    return matrix(M, HEAD, nb, INERTIA)


@compiled
def inertia_axes(M, nb, nv):
    return matrix(M, HEAD + INERTIA * nb, nv, AXIS)


@compiled
def factors(L, nb):
    return matrix(L, HEAD, nb, FACTOR)


@compiled
def factor_axes(L, nb, nv):
    """Directions (AXIS) and gains (GAIN)."""
    return matrix(L, HEAD + FACTOR * nb, nv, AXIS + GAIN)
