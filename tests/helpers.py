"""What several tests share: random vectors, difference quotients, small mechanisms, events, scripts of examples and their pictures."""

import importlib
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import mbdae
from mbdae.model import rotations

GROUND = "ground"
LONG = ("car-axis", "fekete", "flexible-slider-crank", "hmmwv", "iltis", "passenger-car", "pendulum-chain", "rail-carriage",
        "stiff-pendulum", "tethered-satellites", "truck", "wheelset")  # their functions or elements take long to compile
T0 = 0.3  # time at which `all_elements` is consistent


def need(method):
    """Skip if the package is missing."""
    available = method.availability()
    if available is not None and not available.installed:
        pytest.skip(f"{available.package} is not installed: {available.remedy}")
    return method


def case(name):
    """Parameters of a test of a mechanism of the library, thorough for the `LONG` ones."""
    return pytest.param(name, marks=pytest.mark.thorough if name in LONG else ())


def thorough_but(few, names):
    """Parameters of a test: these names, thorough but for a few."""
    return [pytest.param(name, marks=() if name in few else pytest.mark.thorough) for name in names]


def unit(rng):
    """A random unit vector."""
    a = rng.normal(size=3)
    return a / np.linalg.norm(a)


def quaternion(rng):
    """A random unit quaternion."""
    p = rng.normal(size=4)
    return p / np.linalg.norm(p)


def inertia(rng):
    """A random positive definite tensor with all six entries."""
    B = rng.normal(size=(3, 3))
    return B @ B.T + np.eye(3)


def rigid(rng, name, **more):
    """A rigid body with random mass, full inertia tensor and pose."""
    return mbdae.RigidBody(name, rng.uniform(1, 3), inertia(rng), rng.normal(size=3), quaternion(rng), any_inertia=True, **more)


def central(f, n, h=1e-6):
    """Matrix of central differences of `f(d)` at `d = 0` along the `n` coordinate axes."""
    return np.array([(f(h * e) - f(-h * e)) / (2 * h) for e in np.eye(n)]).T


def assert_resumes_bit_for_bit(run, path):
    """`run(max_steps=k)` for every `k`, saved in a file and resumed from it, gives the steps of `run()`."""
    whole = run()
    for k in range(1, len(whole.t) - 1):
        run(max_steps=k).save(path)
        found = run(resume=path)
        for name in ("t", "q", "v"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))


def relative(x, y):
    """Largest difference, relative to the largest entry of `y` where that exceeds one."""
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    return float(np.abs(x - y).max(initial=0.0) / (1.0 + np.abs(y).max(initial=0.0)))


def dense_kkt(system, t, q, b, c):
    """The KKT equations by NumPy, least squares of minimal norm: `(x, lam)`."""
    M, G = system.mass(t, q), system.phi_q(t, q).toarray()
    K = np.block([[M, G.T], [G, np.zeros((system.nc, system.nc))]])
    z = np.linalg.lstsq(K, np.concatenate([b, c]), rcond=1e-11)[0]
    return z[:system.nv], z[system.nv:]


# --- a system with every element -----------------------------------------------------------------------------------------


def drag(t, r, A, v, omega, F, T):
    """A user force: every body is slowed down, and drawn to the first one."""
    for k in range(r.shape[0]):
        F[k] = -0.3 * v[k] + (1.0 + np.sin(t)) * (r[0] - r[k])
        T[k] = -0.2 * omega[k] + 0.1 * A[k, 0]


def stiffening(length, rate, t):
    """A law for springs and actuators."""
    return 0.5 * length**3 + 0.2 * rate * length + np.sin(t)


def all_elements(seed, forces=True):
    """A random mechanism with every constraint family and every force family between all kinds of bodies.

    The positions given are consistent at `T0`, and no constraint is redundant.
    """
    first = _all_elements(seed, {}, forces)
    system = mbdae.System(first)
    offsets = dict(zip(system.labels, system.phi(T0, system.initial_guess()[0])))
    return _all_elements(seed, offsets, forces)


def _all_elements(seed, offset, with_forces):
    rng = np.random.default_rng(seed)
    bodies = _bodies(rng)
    joints = _joints(rng, {b.name: b for b in bodies}, lambda name: float(offset.get(name, 0.0)))
    return mbdae.Mechanism("all", bodies, joints, forces=_forces(rng) if with_forces else (), gravity=rng.normal(size=3))


def _bodies(rng):
    planar = [mbdae.PlanarBody(n, rng.uniform(1, 2), rng.uniform(1, 2), rng.normal(size=2), rng.normal()) for n in "de"]
    particles = [mbdae.Particle(n, rng.uniform(1, 2), rng.normal(size=3)) for n in "fg"]
    long = mbdae.RigidBody("c", 2.0, (1.0, 2.0, 2.5), rng.normal(size=3), quaternion(rng))
    return [rigid(rng, "a"), rigid(rng, "b"), *planar, long, *particles, rigid(rng, "h"), rigid(rng, "k")]


def _frame(body):
    if isinstance(body, mbdae.RigidBody):
        return np.array(body.position), rotations.to_matrix(body.orientation)
    if isinstance(body, mbdae.PlanarBody):
        c, s = np.cos(body.angle), np.sin(body.angle)
        return np.array([*body.position, 0.0]), np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return np.array(body.position), np.eye(3)


def _joints(rng, body, offset):
    def seen(i, j, s):
        """The point `s` of body i as a point of body j."""
        (r, A), (x, B) = _frame(body[i]), _frame(body[j])
        return B.T @ (r + A @ s - x)

    def across(i, j, a):
        """The direction `a` of body i as a direction of body j."""
        return _frame(body[j])[1].T @ _frame(body[i])[1] @ a

    r, s_a, s_e, slide = lambda: rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    axis, pin, pivot = unit(rng), unit(rng), rng.normal(size=3)
    b_k = _frame(body["k"])[1].T @ pin
    turn = across("b", "c", np.cos(np.sin(2 * T0)) * np.eye(3)[1] - np.sin(np.sin(2 * T0)) * np.eye(3)[0])
    f, m = offset, mbdae
    return [
        m.Coincident("ball", "a", "b", s_a, seen("a", "b", s_a)),
        m.DP1("dp1", "a", "b", r(), r(), m.Polynomial((f("dp1"), 0.3, 0.2))),
        m.DP1("dp1 planar", "c", "d", r(), r(), f("dp1 planar")),
        m.DP2("dp2", "a", "f", r(), r(), f=m.Harmonic(0.5, 2.0, 0.1, f("dp2"))),
        m.DP2("dp2 planar", "d", "c", (0.6, 0.8, 0.0), r(), r(), f("dp2 planar")),
        m.D("d", "b", "d", r(), r(), m.Polynomial((1.0 + f("d"), 0.1, 0.05))),
        m.D("d point", "f", "g", (0, 0, 0), (0, 0, 0), lambda t: 1.0 + f("d point") + 0 * t),
        m.CD("cd", "e", "g", r(), r(), f=lambda t: f("cd") + np.exp(0.5 * t)),
        m.CD("cd ground", GROUND, "a", r(), r(), r(), f("cd ground")),
        m.Turn("turn", "b", "c", (1, 0, 0), (0, 1, 0), np.cross(turn, unit(rng)), lambda t: np.sin(2 * t)),
        m.PlanarAngle("angle", "d", "e", m.Polynomial((f("angle"), 0.0, 0.0, 0.4))),
        m.Coincident("plane", "e", "c", s_e, seen("e", "c", s_e)),
        m.Translational("slide", "c", "h", slide, seen("c", "h", slide + 0.3 * axis), axis, across("c", "h", axis)),
        m.Revolute("pin", GROUND, "k", pivot, _frame(body["k"])[1].T @ (pivot - body["k"].position), pin, b_k),
    ]


def _forces(rng):
    r, x, z, m = lambda: rng.normal(size=3), (1, 0, 0), (0, 0, 1), mbdae
    return [
        m.TSDA("spring", "a", "d", r(), r(), k=3.0, c=0.2, l0=0.3, law=stiffening),
        m.TSDA("tie", GROUND, "f", r(), k=2.0, l0=0.1),
        m.RSDA("twist", "b", "c", k=2.0, c=0.1, theta0=0.3, a_i=z, b_i=x, b_j=x),
        m.RSDA("planar twist", "d", "e", k=2.0, c=0.1, theta0=0.3, law=stiffening),
        m.PointForce("push", "a", (1.0, lambda t: np.sin(t), m.Polynomial((0.0, 2.0))), r()),
        m.PointForce("thrust", "e", lambda t: (t, 1.0, t * t), r(), "body"),
        m.PointTorque("motor", "c", (1.0, m.Harmonic(1.0, 3.0), 2.0)),
        m.PointTorque("wind", "b", (1.0, -2.0, 0.5), "global"),
        m.UserForce("drag", ("a", "d", "g", "h"), drag),
        m.Friction("rub", "slide", 0.1, v_s=0.5, smooth=True),
        m.Friction("bearing", "pin", 0.1, radius=0.2, v_s=0.5, smooth=True),
    ]


# --- small mechanisms ----------------------------------------------------------------------------------------------------


def double_pendulum(springs=True):
    """Two planar links under gravity; a rotational and a translational spring store energy."""
    bodies = [mbdae.PlanarBody("upper", 2.0, 0.3, (0.5, 0.0), 0.0), mbdae.PlanarBody("lower", 1.0, 0.2, (1.0, -0.5), -np.pi / 2)]
    joints = [mbdae.PlanarRevolute("top", GROUND, "upper", s_j=(-0.5, 0.0)),
              mbdae.PlanarRevolute("knee", "upper", "lower", (0.5, 0.0), (-0.5, 0.0))]
    forces = [mbdae.RSDA("coil", "upper", "lower", k=3.0, theta0=-0.5),
              mbdae.TSDA("band", GROUND, "lower", (0.3, 0.4, 0.0), (0.5, 0.1, 0.0), k=4.0, l0=0.5)]
    return mbdae.Mechanism("double pendulum", bodies, joints, forces=forces if springs else (), gravity=(0.0, -9.81, 0.0))


def slider_crank(friction=True):
    """A planar slider-crank with friction, smooth, in its guide and its crank pin."""
    bodies = [
        mbdae.PlanarBody("crank", 1.0, 0.02, (0.06, 0.08), np.arctan2(4, 3), omega=3.0),
        mbdae.PlanarBody("rod", 1.5, 0.05, (0.27, 0.08), -np.arcsin(0.16 / 0.34)),
        mbdae.PlanarBody("slider", 2.0, 0.01, (0.42, 0.0), 0.0),
    ]
    joints = [
        mbdae.PlanarRevolute("bearing", GROUND, "crank", s_j=(-0.1, 0.0)),
        mbdae.PlanarRevolute("crank pin", "crank", "rod", (0.1, 0.0), (-0.17, 0.0)),
        mbdae.PlanarRevolute("piston pin", "rod", "slider", (0.17, 0.0)),
        mbdae.PlanarTranslational("guide", GROUND, "slider"),
    ]
    forces = [mbdae.Friction("rub", "guide", 0.2, v_s=0.5, smooth=True),
              mbdae.Friction("pin", "crank pin", 0.1, 0.02, v_s=0.5, smooth=True)]
    return mbdae.Mechanism("slider-crank", bodies, joints, forces=forces if friction else (), gravity=(0.0, -9.81, 0.0))


def chain(n, order=None, omega=True):
    """`n` rigid links on spherical joints, hanging down; `order` shuffles the joints."""
    turned = [(0, 0, 1), (0, 1, 0), (-1, 0, 0)]
    spin = [(0.0, 2.0 * (-1) ** k, 0.0) if omega else None for k in range(n)]
    bodies = [mbdae.RigidBody(f"{k + 1}", 2.0, (0.01, 0.7, 0.7), (0, 0, -2 * k - 1), turned, omega=spin[k]) for k in range(n)]
    joints = [mbdae.Spherical(f"{k + 1}", str(k) if k else GROUND, str(k + 1), (1, 0, 0) if k else (0, 0, 0), (-1, 0, 0)) for k in range(n)]
    return mbdae.Mechanism("chain", bodies, [joints[k] for k in (range(n) if order is None else order)], gravity=(1.0, 2.0, -9.0))


# --- double pendulums with a law of their own --------------------------------------------------------------------------------

BREAKS_AT = 0.0505


def with_law(law):
    """System of the double pendulum with a spring of its own law `law(length, rate, t)`."""
    m = double_pendulum()
    return mbdae.System(replace(m, forces=[*m.forces, mbdae.TSDA("band 2", "ground", "upper", (0, 1, 0), law=law)]))


def torn(length, rate, t):
    """A law that gives no number any more after some time."""
    return float("nan") if t > BREAKS_AT else 0.1 * length


def loud(length, rate, t):
    """The same, and it prints."""
    print("law")
    return torn(length, rate, t)


# --- starts and events -------------------------------------------------------------------------------------------------------


def mass_start(system, level=3):
    """The equations with a mass matrix, and their unknowns at the start."""
    problem = mbdae.MassMatrix(system, level)
    return problem, problem.pack(mbdae.assemble(system))[0]


def falls_below(t, q, v):
    """Event that ends a run of the double pendulum: its lower link passes 0.6 m below the ground, downwards."""
    return q[4] + 0.6


falls_below.terminal, falls_below.direction = True, -1


def event(f, **attributes):
    """A copy of an event with `terminal`, `direction` of its own."""
    def g(t, q, v):
        return f(t, q, v)

    g.__dict__.update(attributes)
    return g


def angle(t, q, v):
    """Event: the bar of the fixture `swing` hangs straight down."""
    return q[2] + np.pi / 2


# --- scripts and pictures ----------------------------------------------------------------------------------------------------


def scripts_in(folder, scope="function"):
    """A fixture that imports scripts of a folder by name and forgets them in the end, for other folders have modules of the same names."""
    @pytest.fixture(scope=scope)
    def script():
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(folder))
            yield importlib.import_module
        for name in [n for n, m in list(sys.modules.items()) if (getattr(m, "__file__", None) or "").startswith(str(folder))]:
            del sys.modules[name]

    return script


def assert_picture(path):
    """A PNG that shows something."""
    with Image.open(path) as image:
        assert image.format == "PNG" and min(image.size) > 300
        assert len(image.convert("RGB").getcolors(1 << 24)) > 20
