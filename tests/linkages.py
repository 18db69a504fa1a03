"""Mechanisms with redundant constraint equations in every position: a door on two ball joints, and overconstrained linkages.

Bodies of a linkage lie between successive axes of revolute joints; the first and the last axis belong to the ground.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import mbdae

from .helpers import dense_kkt

GROUND = "ground"
GRAVITY = (0.0, -3.0, -9.81)


def door(hinges="balls"):
    """A frame that tumbles about a ball joint, and a leaf on it by two ball joints, or by the revolute joint that they amount to."""
    frame = mbdae.RigidBody("frame", 2.0, (0.2, 0.3, 0.35), (0, 0, 0), omega=(1.0, 2.0, 3.0))
    leaf = mbdae.RigidBody("leaf", 1.0, (0.05, 0.06, 0.1), (0.5, 0, 0), omega=(1.0, 2.0, 3.0))
    if hinges == "balls":
        hung = [mbdae.Spherical(f"hinge {k}", "frame", "leaf", s_i=(0.2, 0, z), s_j=(-0.3, 0, z)) for k, z in ((1, -0.4), (2, 0.4))]
    else:
        hung = [mbdae.Revolute("hinge", "frame", "leaf", s_i=(0.2, 0, 0), s_j=(-0.3, 0, 0), a_i=(0, 0, 1), a_j=(0, 0, 1))]
    return mbdae.Mechanism("door", [frame, leaf], [mbdae.Spherical("ball", GROUND, "frame"), *hung], gravity=(0, 0, -9.81))


def driven_door(hinges="balls"):
    """The same leaf on a frame that a driver swings about the x axis: the redundant equation becomes another one within a quarter turn."""
    free = door(hinges)
    bodies = [replace(b, velocity=None, omega=None) for b in free.bodies]
    spin = mbdae.AngleDriver("spin", GROUND, "frame", f=mbdae.Harmonic(2.0, 3.0), a_i=(1, 0, 0), b_i=(0, 1, 0), b_j=(0, 1, 0))
    axle = mbdae.Revolute("axle", GROUND, "frame", a_i=(1, 0, 0), a_j=(1, 0, 0))
    return mbdae.Mechanism("driven door", bodies, [axle, *free.joints[1:]], [spin], gravity=(0, 0, -9.81))


def closed_chain(name, axes, rate=2.0):
    """A loop of bodies on the axes given, pairs of a point and a direction; the body after the first axis is thrust at `rate` [rad/s]."""
    points, directions = (np.array(x, dtype=float) for x in zip(*axes))
    n = len(axes) - 1
    centres = 0.5 * (points[:-1] + points[1:])
    names = [GROUND, *(f"link {k + 1}" for k in range(n)), GROUND]
    bodies = [mbdae.RigidBody(names[k + 1], 1.0 + 0.5 * k, (0.05, 0.06 + 0.01 * k, 0.07), centres[k]) for k in range(n)]
    at = dict(zip(names[1:-1], centres)) | {GROUND: np.zeros(3)}
    joints = [mbdae.Revolute(f"joint {k + 1}", names[k], names[k + 1], s_i=p - at[names[k]], s_j=p - at[names[k + 1]], a_i=u, a_j=u)
              for k, (p, u) in enumerate(zip(points, directions))]
    return _moving(mbdae.Mechanism(name, bodies, joints, gravity=GRAVITY), directions[0], rate)


def _moving(mechanism, axis, rate):
    """The same with consistent velocities, the first body at `rate` about `axis`."""
    system = mbdae.System(mechanism)
    q, _ = system.initial_guess()
    G = system.phi_q(0.0, q).toarray()
    v = np.linalg.svd(G)[2][-1]  # one degree of freedom
    v *= rate / (v[3:6] @ axis)
    bodies = [mbdae.RigidBody(b.name, b.mass, b.inertia, b.position, velocity=v[6 * k:6 * k + 3], omega=v[6 * k + 3:6 * k + 6])
              for k, b in enumerate(mechanism.bodies)]
    return mbdae.Mechanism(mechanism.name, bodies, mechanism.joints, gravity=GRAVITY)


def turn(axis, angle):
    """Rotation matrix about the x- or z-axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]] if axis == "z" else [[1, 0, 0], [0, c, -s], [0, s, c]])


def chain_of_axes(angles, lengths, twists):
    """Axes of a chain of links with common normals of the `lengths` and `twists` given, no offsets; and the frame at its end."""
    R, o, axes = np.eye(3), np.zeros(3), []
    for angle, length, twist in zip(angles, lengths, twists):
        axes.append((o, R[:, 2]))
        R = R @ turn("z", angle)
        o, R = o + length * R[:, 0], R @ turn("x", twist)
    return axes, R, o


def closed_axes(lengths, twists, first):
    """Axes of the closed loop whose first joint has the angle `first`, from the first of some random guesses that leads to one."""
    def gap(angles):
        _, R, o = chain_of_axes((first, *angles), lengths, twists)
        return np.concatenate([o, (R - np.eye(3)).ravel()])

    rng = np.random.default_rng(3)
    for _ in range(200):
        found = least_squares(gap, rng.uniform(-np.pi, np.pi, len(lengths) - 1), xtol=1e-15, ftol=1e-15, gtol=1e-15)
        if np.abs(found.fun).max() < 1e-12:
            return chain_of_axes((first, *found.x), lengths, twists)[0]
    raise AssertionError("the loop does not close")


A, B, ALPHA = 0.8, 1.2, np.radians(40.0)


def _bennett_axes(a=A, alpha=ALPHA, first=1.0):
    beta = np.arcsin(B / A * np.sin(ALPHA))
    k = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    other = 2 * np.arctan2(k, np.tan(first / 2))
    axes, R, o = chain_of_axes((first, other, -first, -other), (a, B, a, B), (alpha, beta, alpha, beta))
    assert np.abs(o).max() + np.abs(R - np.eye(3)).max() < 1e-12
    return axes


def bennett():
    """Four axes, sines of the twists in the ratio of the lengths: 20 equations of rank 17."""
    axes = _bennett_axes()
    return closed_chain("bennett", axes)


def bennett_with_independent_joints():
    """The same motion by two revolute joints, a cylindrical and a ball joint: 17 independent equations except in singular positions."""
    m = bennett()
    third, last = m.joints[2:]
    joints = [*m.joints[:2], mbdae.Cylindrical(third.name, third.i, third.j, s_i=third.s_i, s_j=third.s_j, a_i=third.a_i, a_j=third.a_j),
              mbdae.Spherical(last.name, last.i, last.j, s_i=last.s_i, s_j=last.s_j)]
    return mbdae.Mechanism("bennett with independent joints", m.bodies, joints, gravity=GRAVITY)


def goldberg():
    """Five axes of two of Bennett's linkages with a link and an axis in common, which is then taken away: 25 equations of rank 23."""
    beta = np.arcsin(B / A * np.sin(ALPHA))
    c = 0.5
    one, two = _bennett_axes(), _bennett_axes(c, np.arcsin(np.sin(beta) * c / B), 0.7)
    # the second so that its axes 1 and 4 are those of the first: the link of length B between them is in common
    frame, other = _frame(one[0], one[3]), _frame(two[0], two[3])
    R = frame @ other.T
    moved = [(one[0][0] + R @ (p - two[0][0]), R @ u) for p, u in two]
    assert np.abs(moved[3][0] - one[3][0]).max() < 1e-12 and np.abs(moved[3][1] - one[3][1]).max() < 1e-12
    return closed_chain("goldberg", [one[0], one[1], one[2], moved[2], moved[1]])


def _frame(first, second):
    """A rotation matrix fixed to two axes."""
    x = (second[0] - first[0]) / np.linalg.norm(second[0] - first[0])
    return np.column_stack([first[1], x, np.cross(first[1], x)])


def myard():
    """Five axes, symmetric about a plane: 25 equations of rank 23."""
    alpha, a = np.radians(50.0), 1.0
    b = a / np.sin(alpha)
    right = 0.5 * np.pi
    lengths, twists = (a, b, 0.0, b, a), (alpha, right, np.pi - 2 * alpha, right, np.pi - alpha)
    return closed_chain("myard", closed_axes(lengths, twists, 1.0))


def sarrus():
    """A platform guided along a line by two legs of three parallel axes each: 30 equations of rank 29."""
    height, reach = 0.6, 0.4
    bodies, joints = [mbdae.RigidBody("platform", 2.0, (0.1, 0.1, 0.15), (0, 0, 2 * height))], []
    for leg, (out, axis) in {"x": ((1, 0, 0), (0, 1, 0)), "y": ((0, 1, 0), (-1, 0, 0))}.items():
        out = np.array(out)
        foot, knee, top = 0.5 * out, (0.5 + reach) * out + (0, 0, height), 0.5 * out + (0, 0, 2 * height)
        names = GROUND, f"lower {leg}", f"upper {leg}", "platform"
        at = {GROUND: np.zeros(3), "platform": np.array([0, 0, 2 * height]), names[1]: 0.5 * (foot + knee), names[2]: 0.5 * (knee + top)}
        bodies += [mbdae.RigidBody(n, 0.7, (0.02, 0.03, 0.03), at[n]) for n in names[1:3]]
        joints += [mbdae.Revolute(f"{leg}{k}", i, j, s_i=p - at[i], s_j=p - at[j], a_i=axis, a_j=axis)
                   for k, (i, j, p) in enumerate(zip(names, names[1:], (foot, knee, top)))]
    return mbdae.Mechanism("sarrus", bodies, joints, gravity=GRAVITY)


LINKAGES = {f.__name__: f for f in (door, bennett, sarrus, goldberg, myard)}


PIECE = 0.5  # after which the reference is projected: off the constraints least squares do not see the rank
MAX_EVALUATIONS = 100_000


class NoReference(RuntimeError):
    """Steps tend to zero, as at a singular position."""


def reference(system, t_end, start=None, rtol=1e-10):
    """Positions at `t_end` by accelerations from NumPy's least squares of the whole KKT matrix: no row is left out."""
    start, evaluations = system.start if start is None else start, 0

    def rhs(t, y):
        nonlocal evaluations
        evaluations += 1
        if evaluations > MAX_EVALUATIONS:
            raise NoReference(f"{evaluations} evaluations up to t = {t:g}")
        q, v = y[:system.nq], y[system.nq:]
        try:
            a, _ = dense_kkt(system, t, q, system.force(t, q, v), system.gamma(t, q, v))
        except (FloatingPointError, np.linalg.LinAlgError):  # in a step that is too long, and is rejected
            return np.full(len(y), np.nan)
        return np.concatenate([system.qdot(q, v), a])

    q, v = start.q, start.v
    times = np.linspace(0.0, t_end, 1 + int(np.ceil(t_end / PIECE)))
    for piece in pairwise(times):
        y = solve_ivp(rhs, piece, np.concatenate([q, v]), "DOP853", rtol=rtol, atol=1e-2 * rtol).y[:, -1]
        q, v = _projected(system, piece[1], y[:system.nq], y[system.nq:])
    return q


def _projected(system, t, q, v):
    """The nearest state on the constraints, by pseudo-inverses of the whole `Phi_q`."""
    for _ in range(3):
        q = system.retract(q, -np.linalg.pinv(system.phi_q(t, q).toarray(), rcond=1e-5) @ system.phi(t, q))
    G = system.phi_q(t, q).toarray()
    return q, v - np.linalg.pinv(G, rcond=1e-5) @ (G @ v - system.nu(t, q))
