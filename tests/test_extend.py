"""Joints, primitive constraints and forces of a user's own: as good as built-in ones, compiled apart, and never stale."""

import os
import runpy
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj

import mbdae
from mbdae import extend
from mbdae.adapters.sundae import Ida
from mbdae.model import rotations
from mbdae.registry import find
from mbdae.system.elements import kinds as constraint_kinds
from mbdae.system.extra import kind_of

from .forms import FORMS, by_complex_step, by_differences, random_point, random_state
from .helpers import T0, all_elements, rigid
from .test_tree import agrees

pytestmark = pytest.mark.thorough
EXAMPLES = Path(__file__).parent.parent / "examples" / "extend"
G = 9.81
S = (0.1, 0.2, 0.3)


@pytest.fixture(scope="module")
def example():
    """What an example leaves behind, run once."""
    found = {}
    return lambda name: found.setdefault(name, runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__"))


# --- the examples ----------------------------------------------------------------------------------------------------------------


def test_every_example_of_an_extension_of_the_model_is_checked():
    assert {"joint", "primitive", "force"} <= {f.stem for f in EXAMPLES.glob("*.py")}
    assert all(len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 70 for name in ("joint", "primitive", "force"))


def test_the_joint_keeps_its_body_on_the_plane(example, capsys):
    found = example("joint")
    run, t = found["run"], found["t"]
    assert run.success and found["mechanism"].labels == ("plane.b0", "plane.b1", "plane.d") and found["mechanism"].dof == 3
    slope = np.radians(30.0)
    down = -0.5 * G * np.sin(slope) * t**2
    np.testing.assert_allclose(run.q[:, :3], np.column_stack([down * np.cos(slope), t, down * np.sin(slope)]), atol=1e-6)
    np.testing.assert_allclose(np.abs(run.lam[:, 2]), 2.0 * G * np.cos(slope), rtol=1e-6)
    half = 0.5 * 3.0 * t  # it goes on turning about the normal
    turned = np.abs(run.q[:, 3] - np.cos(0.5 * slope) * np.cos(half))
    assert turned.max() < 1e-6
    extend.check(found["mechanism"])


def bead_on_parabola(t, y, k=0.5):
    """`(1 + 4 k^2 x^2) x'' + 4 k^2 x x'^2 + 2 g k x = 0`, from Lagrange's equation in `x`."""
    x, v = y
    return v, -(4 * k * k * x * v * v + 2 * G * k * x) / (1 + 4 * k * k * x * x)


def test_the_primitive_moves_a_bead_as_lagrange_says(example):
    run = example("primitive")["run"]
    exact = solve_ivp(bead_on_parabola, (0.0, 5.0), (1.0, 0.0), "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    assert run.success
    np.testing.assert_allclose(run.q[-1], (exact[0], 0.0, 0.5 * exact[0] ** 2), atol=2e-6)
    assert np.ptp(run.energy) < 1e-5


def test_the_force_is_duffings_oscillator(example):
    runs = example("force")["runs"]
    omega2 = (4.0 + 20.0 * 0.25) / 2.0
    cn = ellipj(np.sqrt(omega2) * 5.0, 20.0 * 0.25 / (2.0 * 2.0 * omega2))[1]  # x = A cn(Omega t, k3 A^2 / (2 m Omega^2))
    for run in runs.values():
        assert run.success
        np.testing.assert_allclose(run.q[-1], (0.5 * cn, 0.0, 0.0), atol=2e-6)
    energy = 0.5 * 4.0 * 0.25 + 0.25 * 20.0 * 0.0625
    np.testing.assert_allclose(runs["Bushing"].energy, energy, rtol=1e-6)
    assert abs(runs["UserForce"].energy[-1] - energy) > 0.1  # a user force has no potential


# --- a primitive between any bodies ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parabola(example):
    """The type of the constraint of the example."""
    return example("primitive")["OnParabola"]


def slider(parabola, *more, f=()):
    """Two rigid bodies in space, a point of one on a parabola in the other, which hangs on a ball joint."""
    rng = np.random.default_rng(3)
    frame, ball = rigid(rng, "frame"), rigid(rng, "ball")
    joints = [mbdae.Spherical("hook", "ground", "frame", s_j=(0.3, -0.2, 0.1)), parabola("path", "frame", "ball", 0.7, S, (0, 0.4, 0.2))]
    return mbdae.Mechanism("slider", [frame, ball], [*joints, *more], forces=f, gravity=(0.0, 0.0, -G))


@pytest.mark.parametrize("ends", ["rigid on rigid", "rigid on ground", "planar on planar", "particle on rigid"])
def test_kernels_agree_with_differences_between_all_bodies(parabola, ends):
    rng = np.random.default_rng(5)
    bodies = {"planar": mbdae.PlanarBody("b", 1.0, 0.2, (0.3, 0.4), 0.5), "particle": mbdae.Particle("b", 1.0, (0.3, 0.4, 0.5)),
              "rigid": rigid(rng, "b")}
    other = {"planar": mbdae.PlanarBody("a", 1.0, 0.2), "rigid": rigid(rng, "a")}
    j, i = ends.split(" on ")
    s_j = (0.0, 0.0, 0.0) if j == "particle" else (0.1, 0.4, 0.0)
    p = parabola("path", "a" if i in other else "ground", "b", 0.7, (0.1, 0.2, 0.0), s_j)
    extend.check(mbdae.Mechanism("m", [*([other[i]] if i in other else []), bodies[j]], [p]))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_jacobians_are_exact_in_every_form(parabola, example, form, rng):
    bushing = example("force")["Bushing"]("pull", "frame", "ball", 3.0, 2.0, 0.5, (0.1, 0.0, 0.2), (0.0, 0.3, 0.0))
    system = mbdae.System(slider(parabola, f=[bushing]))
    problem = form(system)
    state = random_state(system, rng)
    y, yd = random_point(problem, state, rng)
    J = problem.jacobian(state.t, y, yd, 3.0).toarray()
    exact = by_complex_step(problem, state.t, y, yd, 3.0)  # every column on its own, without a pattern
    np.testing.assert_allclose(J, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())
    differences, doubt = by_differences(problem, state.t, y, yd, 3.0)
    assert (np.abs(J - differences) < 1e-6 * (1.0 + np.abs(J).max()) + 10.0 * doubt).all()


def test_state_space_forms_take_them_too(parabola):
    reference = mbdae.solve(slider(parabola), Ida(), (0.0, 0.5), rtol=1e-9, atol=1e-10)
    run = mbdae.solve(slider(parabola), find("SolveIvp:DOP853:partition").make(), (0.0, 0.5), rtol=1e-9, atol=1e-10)
    assert run.success and reference.success
    np.testing.assert_allclose(run.q[-1], reference.q[-1], atol=1e-6)


def test_redundant_equations_are_found(parabola):
    double = parabola("again", "frame", "ball", 0.7, S, (0, 0.4, 0.2))
    system = mbdae.System(slider(parabola, double))
    assert system.labels[system.dependent[0]] == "again" and len(system.dependent) == 1
    state = mbdae.assemble(system)
    assert np.abs(state.lam[-2] - state.lam[-1]) < 1e-10 * (1.0 + np.abs(state.lam).max())  # of minimal norm


def test_integrators_keep_the_constraint(parabola):
    for method in (mbdae.HalfImplicit(h=1e-3), Ida()):
        run = mbdae.solve(slider(parabola), method, (0.0, 0.2))
        assert run.success and run.constraint_residuals[:, 0].max() < 1e-6


def test_pictures_and_labels(parabola):
    m = slider(parabola)
    assert m.labels[-1] == "path" and m.without("path").labels == m.labels[:-1]
    system = mbdae.System(m)
    assert system.geometry.at(0.0, system.initial_guess()[0]).centres.shape == (2, 3)
    with pytest.raises(ValueError, match=r"OnParabola 'other': there is no body 'nobody'"):
        slider(parabola, parabola("other", "frame", "nobody", 1.0))


def test_files_refuse_what_they_do_not_know(parabola, tmp_path):
    with pytest.raises(mbdae.DescriptionError, match="OnParabola 'path' has the type OnParabola, which files do not know"):
        mbdae.save(slider(parabola), tmp_path / "m.yaml")
    assert not list(tmp_path.iterdir())


# --- mistakes --------------------------------------------------------------------------------------------------------------------


def register(kind, model, **changes):
    """A kind like another one for a class of its own."""
    @dataclass(frozen=True)
    class Copy(model):
        pass

    Copy.__name__ = "Copy"
    return extend.register(replace(kind, model=Copy, **changes)).model


def constant(e, out):
    out[e["row"]] = 0.5


def not_analytic(e, X, out):
    p = extend.unrotate(X, e["i"], extend.distance(X, e))
    out[e["row"]] = p[2] - e["k"] * abs(p[0]) ** 2


BROKEN = {
    "gamma": (dict(gamma=constant), r"gamma of 'path' is 0\.5"),
    "phi": (dict(phi=constant), r"phi_q of 'path'"),
    "nu": (dict(nu=constant), r"nu of 'path' is 0\.5"),
    "complex": (dict(phi=not_analytic), r"phi of 'path' is .* by a complex step"),
    "nonzero": (dict(nonzero=lambda p, end, k: ((True, False, True), (True,) * 3)), r"phi_q of 'path' has the value .* where nonzero"),
    "couplings": (dict(couplings=lambda p: []), r"depend on q\[.*couplings"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_wrong_kernel_is_found(parabola, what):
    changes, message = BROKEN[what]
    broken = register(kind_of(parabola("x", "a", "b", 1.0)), parabola, **changes)
    with pytest.raises(ValueError, match=message):
        extend.check(slider(broken))


def test_types_without_kernels_are_refused():
    @dataclass(frozen=True)
    class Unknown(extend.Primitive):
        pass

    m = mbdae.Mechanism("m", [mbdae.Particle("p", 1.0)], [Unknown("mystery", "ground", "p")])
    with pytest.raises(ValueError, match=r"Unknown 'mystery': there are no kernels for the type Unknown; .*mbdae\.extend\.register"):
        mbdae.System(m)


@pytest.mark.parametrize("base", [extend.Joint, extend.PlanarJoint, extend.Driver])
def test_joints_and_drivers_without_primitives_are_refused(base):
    @dataclass(frozen=True)
    class Hinge(base):
        pass

    for cls in (Hinge, base):
        with pytest.raises(TypeError, match=f"abstract class {cls.__name__}.* abstract method '?primitives"):
            cls("pin", "ground", "rod")


@pytest.mark.parametrize("model, message", [(mbdae.DP1, "DP1 is built in"), (int, "derived from Primitive"),
                                            (extend.Primitive, "derived from")])
def test_what_cannot_be_registered(model, message):
    with pytest.raises(ValueError, match=message):
        extend.register(extend.ConstraintKind(model, constant, constant, constant))


def test_kernels_with_other_parameters_are_refused(parabola):
    with pytest.raises(ValueError, match="phi of Copy has the parameters speed, out after the record; those are some of t, q, X, motions"):
        register(kind_of(parabola("x", "a", "b", 1.0)), parabola, phi=lambda e, speed, out: None)


def test_fields_of_other_sizes_are_refused(parabola):
    with pytest.raises(ValueError, match=r"field 'k' of .* must consist of float64 or int64"):
        register(kind_of(parabola("x", "a", "b", 1.0)), parabola, fields=(("k", "f4"),))


def test_equations_of_one_constraint_stay_together():
    @dataclass(frozen=True)
    class Two(extend.Primitive):
        rows = 2

    m = mbdae.Mechanism("m", [mbdae.Particle("p", 1.0)], [Two("pair", "ground", "p")])
    assert m.labels == ("pair.0", "pair.1") and m.without("pair.0", "pair.1").labels == ()
    with pytest.raises(ValueError, match=r"Two 'pair': the equation 'pair\.1' cannot be left out alone; leave out pair\.0, pair\.1"):
        m.without("pair.1")


# --- the kernels of built-in elements, from outside ---------------------------------------------------------------------------------


# rotations alone, both, points, a motion inside, angles of `q`; a law, functions of time: the others take minutes to compile
COPIED = (mbdae.DP2, mbdae.Coincident, mbdae.Turn, mbdae.PlanarAngle, mbdae.TSDA, mbdae.PointForce)


def foreign(element):
    """The same element of a kind that is registered, or itself."""
    kind, base = kind_of(element), type(element)
    if base not in COPIED:
        return element
    if base not in _copies:
        @dataclass(frozen=True)
        class Foreign(base):
            pass

        _copies[base] = Foreign
        extend.register(replace(kind, **{"model" if kind in constraint_kinds.KINDS else "models": Foreign}))
    new = object.__new__(_copies[base])
    for name, value in vars(element).items():
        object.__setattr__(new, name, value)
    return new


_copies = {}


@pytest.fixture(scope="module")
def twins():
    """A mechanism with every element, and the same one in which many are of registered kinds."""
    m = all_elements(21)
    m = replace(m, forces=[f for f in m.forces if not isinstance(f, mbdae.Friction)])  # which needs whole joints
    joints, drivers = ([foreign(p) for c in group for p in c.primitives(m.bodies_by_name())] for group in (m.joints, m.drivers))
    return mbdae.System(m), mbdae.System(replace(m, joints=joints, drivers=drivers, forces=[foreign(f) for f in m.forces]))


def test_registered_kinds_give_the_equations_of_built_in_ones(twins):
    built_in, registered = twins
    rng = np.random.default_rng(1)
    q = built_in.retract(built_in.initial_guess()[0], 0.2 * rng.normal(size=built_in.nv))
    v, lam = rng.normal(size=built_in.nv), rng.normal(size=built_in.nc)
    assert registered.labels == built_in.labels and registered.rheonomic
    assert sum(kind_of(p) not in constraint_kinds.KINDS for p in registered.mechanism.primitives) >= 6
    for evaluate in (lambda s: s.phi(T0, q), lambda s: s.phi_q(T0, q).toarray(), lambda s: s.nu(T0, q), lambda s: s.gamma(T0, q, v),
                     lambda s: s.force(T0, q, v, lam), lambda s: np.array(s.energy(T0, q, v)), lambda s: s.pattern.nonzero,
                     lambda s: s.excitation(T0)):
        np.testing.assert_allclose(evaluate(registered), evaluate(built_in), rtol=1e-13, atol=1e-13)


def test_registered_kinds_have_the_derivatives_of_built_in_ones(twins):
    for system in twins:
        extend.check(system.mechanism)
    problems = [mbdae.GGL(s) for s in twins]
    assert (problems[0].pattern != problems[1].pattern).nnz == 0


# --- compiled code on disk -----------------------------------------------------------------------------------------------------------


OUTSIDE = '''
from dataclasses import dataclass
import numba, mbdae, sys
from numba.core import event
from mbdae import extend as x
import constants
from helper import shifted

@dataclass(frozen=True)
class Height(x.Primitive):
    pass

def phi(e, X, out):
    out[e["row"]] = shifted(X[e["j"], 2]) * constants.SCALE

def phi_q(e, G):
    x.put_i(G, e, 0, (0.0, 0.0, -constants.SCALE), x.ORIGIN)
    x.put_j(G, e, 0, (0.0, 0.0, constants.SCALE), x.ORIGIN)

def gamma(e, out):
    out[e["row"]] = 0.0

x.register(x.ConstraintKind(Height, phi, phi_q, gamma))
compiled = []
class Listener(event.Listener):
    def on_start(self, e):
        compiled.append(e.data["dispatcher"].py_func.__name__)
    def on_end(self, e):
        pass
with event.install_listener("numba:compile", Listener()):
    s = mbdae.System(mbdae.Mechanism("m", [mbdae.Particle("p", 1.0, (0, 0, 2.0))], [Height("h", "ground", "p")]))
    value = s.phi(0.0, s.initial_guess()[0])[0]
print(value, len([n for n in compiled if "Height" in n or n == "phi"]))
'''


def test_compiled_kernels_are_kept_and_follow_every_change(tmp_path):
    files = {"element.py": OUTSIDE, "constants.py": "SCALE = 2.0\n",
             "helper.py": "import numba\n\n@numba.njit\ndef shifted(z):\n    return z - 1.0\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    def run(**environment):
        out = subprocess.run([sys.executable, "element.py"], cwd=tmp_path, capture_output=True, text=True, check=True,
                             env=os.environ | environment).stdout.split()
        return float(out[0]), int(out[1])

    value, compiled = run()
    assert value == 2.0 and compiled > 0
    assert run() == (2.0, 0)  # from disk
    (tmp_path / "constants.py").write_text("SCALE = 3.0\n")  # a constant in another module
    assert run()[0] == 3.0
    (tmp_path / "helper.py").write_text(files["helper.py"].replace("1.0", "0.5"))  # a function that a kernel calls
    assert run()[0] == 4.5
    (tmp_path / "element.py").write_text(OUTSIDE.replace("* constants.SCALE", "* -1.0", 1))
    assert run()[0] == -1.5
    assert run() == (-1.5, 0)
    assert run(NUMBA_DISABLE_JIT="1")[0] == -1.5


@dataclass(frozen=True)
class Aligning(extend.Force):
    """A torque on body j that turns it into the axes of the ground, of the quaternion in its coordinates."""

    i: str
    j: str
    k: float
    time_dependent = False

    def check(self, owner):
        self.set("k", extend.checks.nonnegative(self.k, owner, "k"))


def align(e, q, bodies, Q):
    body = bodies[e["j"]]
    for m in range(3):
        Q[body["v"] + 3 + m] -= e["k"] * q[body["q"] + 3] * q[body["q"] + 4 + m]


def aligned(e, q, bodies):
    return e["k"] * (1.0 - q[bodies[e["j"]]["q"] + 3] ** 2)


def test_kernels_see_quaternions_in_joint_coordinates():
    extend.register(extend.ForceKind(Aligning, align, aligned, fields=(("k", float),)))
    arm, hand = (rigid(np.random.default_rng(k), name) for k, name in ((1, "arm"), (2, "hand")))
    at = np.array(hand.position) - arm.position
    joints = [mbdae.Spherical("shoulder", "ground", "arm", s_i=arm.position),
              mbdae.Spherical("wrist", "arm", "hand", s_i=rotations.to_matrix(arm.orientation).T @ at)]
    agrees(mbdae.Mechanism("limb", [arm, hand], joints, forces=[Aligning("aim", "ground", "hand", 40.0)], gravity=(0.0, 0.0, -G)))
