"""Random mechanisms, model files and calls for the tests of properties.

`python -m tests.random_mechanisms SEED COUNT mixed|linkage` runs the makers of mechanisms below through several methods.
"""

import numpy as np

import mbdae
from mbdae.model import rotations

from .helpers import quaternion, unit
from .linkages import GROUND, chain_of_axes, closed_axes, closed_chain

BIG = {"rigid": 0.6, "particle": 0.2, "planar": 0.2}


def drag(t, r, A, v, omega, F, T):
    """The resistance of the air, and a torque that grows with the time."""
    F -= 0.2 * v
    T[:, 0] += 0.1 * t


def swinging(theta, rate, t):
    """The torque of a spring that does not mind full turns."""
    return 2.0 * np.sin(theta) + 0.05 * rate


class Place:
    """Where the bodies of a random mechanism are; points and directions in the frames of bodies."""

    def __init__(self, rng, bodies):
        self.rng, self.bodies = rng, {b.name: b for b in bodies}

    def frame(self, name):
        if name == GROUND:
            return np.zeros(3), np.eye(3)
        b = self.bodies[name]
        if isinstance(b, mbdae.RigidBody):
            return np.array(b.position), rotations.to_matrix(b.orientation)
        if isinstance(b, mbdae.PlanarBody):
            c, s = np.cos(b.angle), np.sin(b.angle)
            return np.array([*b.position, 0.0]), np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
        return np.array(b.position), np.eye(3)

    def point(self, name, x):
        r, A = self.frame(name)
        return tuple(A.T @ (x - r))

    def direction(self, name, u):
        return tuple(self.frame(name)[1].T @ u)

    def kind(self, name):
        return "ground" if name == GROUND else type(self.bodies[name]).__name__

    def somewhere(self, name):
        """A point of a body in space."""
        r, A = self.frame(name)
        if self.kind(name) == "Particle":
            return r
        s = 0.5 * self.rng.normal(size=3)
        s[2] *= self.kind(name) != "PlanarBody"
        return r + A @ s


def mixed(rng):
    """Bodies of all kinds in trees and loops, all joints, drivers and forces."""
    n = int(rng.integers(1, 5))
    kinds = rng.choice(list(BIG), n, p=list(BIG.values()))
    bodies = [_body(rng, f"b{k}", kind) for k, kind in enumerate(kinds)]
    at = Place(rng, bodies)
    names = [GROUND, *(b.name for b in bodies)]
    joints = [x for k in range(n) if (x := _joint(at, f"j{k}", names[int(rng.integers(k + 1))], f"b{k}")) is not None]
    if n > 1 and rng.random() < 0.4:
        i, j = rng.choice(n, 2, replace=False)
        joints.append(_rod(at, "loop", f"b{i}", f"b{j}"))
    drivers = [_driver(at, f"b{int(rng.integers(n))}")] if rng.random() < 0.3 else []
    return mbdae.Mechanism("mixed", bodies, joints, drivers, _forces(at, joints), gravity=tuple(rng.normal(size=3) * (3, 3, 9)))


def _body(rng, name, kind):
    mass, place = float(10 ** rng.uniform(-0.5, 0.5)), rng.normal(size=3)
    if kind == "particle":
        return mbdae.Particle(name, mass, tuple(place))
    if kind == "planar":
        return mbdae.PlanarBody(name, mass, mass * float(rng.uniform(0.05, 0.3)), tuple(place[:2]), float(rng.uniform(-3, 3)))
    J = np.sort(rng.uniform(0.05, 0.3, 3))
    J[2] = min(J[2], 0.95 * (J[0] + J[1]))
    return mbdae.RigidBody(name, mass, tuple(mass * J), tuple(place), tuple(quaternion(rng)))


AXIS_JOINTS = ("Revolute", "Cylindrical", "Translational", "Universal")


def _joint(at, name, i, j):
    """A joint that the kinds of bodies allow; `None` for a body that is free."""
    rng, (a, b) = at.rng, (at.kind(i), at.kind(j))
    if b == "PlanarBody" and a in ("ground", "PlanarBody"):
        p = rng.normal(size=3) * (1, 1, 0)
        if rng.random() < 0.5:
            return mbdae.PlanarRevolute(name, i, j, at.point(i, p)[:2], at.point(j, p)[:2])
        u = np.array([np.cos(p[0]), np.sin(p[0]), 0.0])
        return mbdae.PlanarTranslational(name, i, j, at.point(i, p)[:2], at.point(j, p + 0.3 * u)[:2], at.direction(i, u)[:2])
    if {a, b} <= {"ground", "RigidBody"} and rng.random() < 0.9:
        return _spatial_joint(at, name, i, j)
    return _rod(at, name, i, j) if rng.random() < 0.8 else None


def _spatial_joint(at, name, i, j):
    rng = at.rng
    kind, p, u = str(rng.choice([*AXIS_JOINTS, "Spherical", "Rod"])), at.somewhere(j), unit(rng)
    if kind == "Rod":
        return _rod(at, name, i, j)
    points = {"s_i": at.point(i, p), "s_j": at.point(j, p)}
    if kind == "Spherical":
        return mbdae.Spherical(name, i, j, **points)
    w = np.cross(u, unit(rng)) if kind == "Universal" else u
    return getattr(mbdae, kind)(name, i, j, **points, a_i=at.direction(i, u), a_j=at.direction(j, w / np.linalg.norm(w)))


def _rod(at, name, i, j):
    p, x = at.somewhere(i), at.somewhere(j)
    return mbdae.Rod(name, i, j, s_i=at.point(i, p), s_j=at.point(j, x), length=float(np.linalg.norm(p - x)))


def _driver(at, j):
    rng = at.rng
    x, u = at.somewhere(j), unit(rng) * (1, 1, at.kind(j) != "PlanarBody")
    u /= np.linalg.norm(u)
    if rng.random() < 0.5:
        return mbdae.CoordinateDriver("drive", GROUND, j, f=table(rng, float(u @ x)), c=tuple(u), s_j=at.point(j, x))
    away = x + u * rng.uniform(0.5, 1.5)
    start = float(np.linalg.norm(away - x))
    return mbdae.DistanceDriver("drive", GROUND, j, f=mbdae.Harmonic(0.2 * start, 3.0, 0.0, start), s_i=tuple(away), s_j=at.point(j, x))


def table(rng, start, points=7, span=1.0):
    """A random table as a motion: a spline of degree 5 through its points, from the value `start`."""
    from scipy.interpolate import make_interp_spline

    t = np.linspace(-0.1 * span, 1.1 * span, points)
    spline = make_interp_spline(t, 0.1 * rng.normal(size=points), k=5)
    first, second, at_zero = spline.derivative(), spline.derivative(2), float(spline(0.0))
    return mbdae.Function(lambda t: start + float(spline(t)) - at_zero, lambda t: float(first(t)), lambda t: float(second(t)))


def _forces(at, joints):
    rng, names = at.rng, list(at.bodies)
    rigid = [name for name in names if at.kind(name) == "RigidBody"]
    found = []
    for k in range(int(rng.integers(0, 4))):
        name, kind = f"f{k}", int(rng.integers(6))
        j, r = str(rng.choice(names)), 0.3 * rng.normal(size=3)
        if kind <= 1 or not rigid:
            s_j, k_j = at.point(j, at.somewhere(j)), float(10 ** rng.uniform(0, 1.5))
            found.append(mbdae.TSDA(name, GROUND, j, s_i=tuple(3.0 * unit(rng)), s_j=s_j, k=k_j, c=0.1, l0=0.5))
            continue
        j = str(rng.choice(rigid))
        if kind == 2:
            found.append(mbdae.PointForce(name, j, (mbdae.Harmonic(1.0, 4.0), 0.5, mbdae.Polynomial((0.0, 1.0))), s=tuple(r)))
        elif kind == 3:
            found.append(mbdae.PointTorque(name, j, (0.1, mbdae.Harmonic(0.2, 5.0), 0.0)))
        elif kind == 4:
            found.append(mbdae.UserForce(name, (j,), drag))
        elif any(type(x).__name__ == "Revolute" for x in joints):
            turning = next(x for x in joints if type(x).__name__ == "Revolute")
            found.append(_rsda(name, turning))
    return found


def _rsda(name, joint):
    """A spring about the axis of a joint."""
    return mbdae.RSDA(name, joint.i, joint.j, law=swinging, a_i=joint.a_i, b_i=_normal(joint.a_i), b_j=_normal(joint.a_j))


def _normal(a):
    u = np.cross(a, (1.0, 0.0, 0.0) if abs(a[0]) < 0.8 else (0.0, 1.0, 0.0))
    return tuple(u / np.linalg.norm(u))


# linkages that move although they have as many equations as unknowns, or more --------------------------------------------------


def linkage(rng):
    """One of the families below, with random lengths, twists and springs."""
    made = LINKAGES[int(rng.integers(len(LINKAGES)))](rng)
    b = made.bodies[int(rng.integers(len(made.bodies)))]
    springs = [mbdae.TSDA("spring", GROUND, b.name, s_i=tuple(2.0 * unit(rng)), s_j=tuple(0.2 * rng.normal(size=3)),
                          k=float(10 ** rng.uniform(0, 1.5)), c=0.1, l0=0.5)] if rng.random() < 0.5 else []
    return mbdae.Mechanism(made.name, made.bodies, made.joints, forces=springs, gravity=made.gravity)


def random_bennett(rng):
    """Four axes, `sin alpha / a = sin beta / b`."""
    alpha, beta = np.radians(rng.uniform(25.0, 80.0)), np.radians(rng.uniform(85.0, 120.0))
    a, first = rng.uniform(0.5, 1.2), rng.uniform(0.6, 2.2)
    b = a * np.sin(beta) / np.sin(alpha)
    k = np.sin(0.5 * (beta + alpha)) / np.sin(0.5 * (beta - alpha))
    other = 2.0 * np.arctan2(k, np.tan(0.5 * first))
    axes, R, o = chain_of_axes((first, other, -first, -other), (a, b, a, b), (alpha, beta, alpha, beta))
    assert np.abs(o).max() + np.abs(R - np.eye(3)).max() < 1e-10
    return closed_chain("bennett", axes, rng.uniform(0.5, 2.0))


def random_myard(rng):
    """Five axes, symmetric about a plane."""
    alpha, a, right = np.radians(rng.uniform(40.0, 65.0)), rng.uniform(0.7, 1.3), 0.5 * np.pi
    b = a / np.sin(alpha)
    lengths, twists = (a, b, 0.0, b, a), (alpha, right, np.pi - 2 * alpha, right, np.pi - alpha)
    return closed_chain("myard", closed_axes(lengths, twists, rng.uniform(0.8, 1.2)), rng.uniform(0.5, 1.5))


def parallelogram(rng):
    """A coupler on two to four parallel cranks, all joints revolute."""
    u, cranks = unit(rng), int(rng.integers(2, 5))
    d = np.cross(u, unit(rng))
    d *= rng.uniform(0.4, 1.0) / np.linalg.norm(d)
    feet = rng.normal(size=(cranks, 3))
    coupler = feet.mean(axis=0) + d
    bodies = [mbdae.RigidBody("coupler", 1.0, (0.1, 0.15, 0.2), tuple(coupler))]
    joints = []
    for k, foot in enumerate(feet):
        crank, axes = f"crank {k}", {"a_i": tuple(u), "a_j": tuple(u)}
        bodies.append(mbdae.RigidBody(crank, 0.5, (0.02, 0.03, 0.03), tuple(foot + 0.5 * d)))
        joints.append(mbdae.Revolute(f"foot {k}", GROUND, crank, s_i=tuple(foot), s_j=tuple(-0.5 * d), **axes))
        joints.append(mbdae.Revolute(f"top {k}", crank, "coupler", s_i=tuple(0.5 * d), s_j=tuple(foot + d - coupler), **axes))
    return mbdae.Mechanism("parallelogram", bodies, joints, gravity=tuple(3.0 * rng.normal(size=3)))


def random_sarrus(rng):
    """A platform on two legs of three parallel axes each, in two directions."""
    height, reach, turn = rng.uniform(0.4, 0.8), rng.uniform(0.2, 0.5), rng.uniform(0.8, 2.2)
    bodies, joints = [mbdae.RigidBody("platform", 2.0, (0.1, 0.1, 0.15), (0, 0, 2 * height))], []
    for leg, angle in {"x": 0.0, "y": turn}.items():
        out, axis = np.array([np.cos(angle), np.sin(angle), 0.0]), (-np.sin(angle), np.cos(angle), 0.0)
        foot, knee, top = 0.5 * out, (0.5 + reach) * out + (0, 0, height), 0.5 * out + (0, 0, 2 * height)
        names = GROUND, f"lower {leg}", f"upper {leg}", "platform"
        at = {GROUND: np.zeros(3), "platform": np.array([0, 0, 2 * height]), names[1]: 0.5 * (foot + knee), names[2]: 0.5 * (knee + top)}
        bodies += [mbdae.RigidBody(n, 0.7, (0.02, 0.03, 0.03), tuple(at[n])) for n in names[1:3]]
        joints += [mbdae.Revolute(f"{leg}{k}", i, j, s_i=tuple(p - at[i]), s_j=tuple(p - at[j]), a_i=axis, a_j=axis)
                   for k, (i, j, p) in enumerate(zip(names, names[1:], (foot, knee, top)))]
    return mbdae.Mechanism("sarrus", bodies, joints, gravity=(0.0, -3.0, -9.81))


def random_goldberg(rng):
    """Two of Bennett's linkages with a link and an axis in common, which is taken away."""
    from .linkages import goldberg

    made = goldberg()
    bodies = [mbdae.RigidBody(b.name, float(rng.uniform(0.5, 2.0)), tuple(rng.uniform(0.05, 0.09, 3)), b.position) for b in made.bodies]
    return mbdae.Mechanism(made.name, bodies, made.joints, gravity=tuple(3.0 * rng.normal(size=3)))


LINKAGES = (random_bennett, random_myard, parallelogram, random_sarrus, random_goldberg)
