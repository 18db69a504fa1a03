"""User functions inside compiled kernels: plain and compiled ones agree, and what they raise arrives unchanged."""

import math
import os
import subprocess
import sys
from functools import cache

import numba
import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida
from mbdae.system.callbacks import Callbacks, call_motion

from .helpers import GROUND, drag, relative, rigid, stiffening

BREAKS_AT = 0.05


def ramp(t):
    return 0.5 + 0.3 * math.sin(t)


def ramp_rate(t):
    return 0.3 * math.cos(t)


def ramp_bend(t):
    return -0.3 * math.sin(t)


# --- plain and compiled --------------------------------------------------------------------------------------------------


def everything(rng, wrap):
    """A system whose law, motion, load and user force have gone through `wrap`."""
    f = mbdae.Function(wrap(ramp), wrap(ramp_rate), wrap(ramp_bend))
    law = wrap(stiffening)
    bodies = [rigid(rng, "a"), rigid(rng, "b"), mbdae.PlanarBody("c", 1, 1), mbdae.Particle("p", 2.0, (1, 2, 3))]
    joints = [mbdae.D("d", "a", "p", (1, 0, 0), (0, 0, 0), f), mbdae.DP1("dp1", "a", "b", (1, 0, 0), (0, 1, 0), f)]
    forces = [mbdae.TSDA("s", "a", "p", (0, 1, 0), law=law), mbdae.RSDA("r", GROUND, "c", law=law),
              mbdae.RSDA("x", "a", "b", law=law, a_i=(0, 0, 1), b_i=(1, 0, 0), b_j=(1, 0, 0)),
              mbdae.PointForce("f", "c", (f, 1.0, 2.0)), mbdae.UserForce("u", ("b", "p", "c"), wrap(drag))]
    return mbdae.System(mbdae.Mechanism("m", bodies, joints, forces=forces))


@pytest.fixture(scope="module")
def pair():
    """The same system with plain and with compiled functions."""
    return [everything(np.random.default_rng(3), wrap) for wrap in (lambda f: f, numba.njit)]


@pytest.mark.thorough
def test_plain_and_compiled_functions_agree(pair, rng):
    q, v, t = pair[0].initial_guess()[0], rng.normal(size=pair[0].nv), 0.4
    plain, compiled = ([s.phi(t, q), s.nu(t, q), s.gamma(t, q, v), s.force(t, q, v)] for s in pair)
    for x, y in zip(plain, compiled):
        assert np.abs(x).max() > 0.1
        np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-15)


@pytest.mark.thorough
def test_plain_and_compiled_functions_give_the_same_jacobian(pair, rng):
    p = [mbdae.Index3(s) for s in pair]
    y, yd = rng.normal(size=p[0].n), rng.normal(size=p[0].n)
    plain, compiled = (x.jacobian(0.4, y, yd, 3.0).toarray() for x in p)
    assert relative(plain, compiled) < 1e-9  # laws are differentiated by central differences
    h = 1e-6
    differences = np.array([(p[1].residual(0.4, y + h * e, yd + 3 * h * e) - p[1].residual(0.4, y - h * e, yd - 3 * h * e)) / (2 * h)
                            for e in np.eye(p[1].n)]).T
    assert relative(compiled, differences) < 1e-7


@pytest.mark.thorough
def test_plain_and_compiled_functions_give_the_same_motion(pair):
    ends = [mbdae.solve(s, mbdae.HalfImplicit(h=1e-3), (0.0, 0.05), every=1000).q[-1] for s in pair]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12, atol=1e-13)


OVERWRITTEN = """
import numpy as np
import mbdae
from mbdae.system import evaluate

def pull(t, r, A, v, omega, F, T):
    F[:] = 10.0 * r + v

points = [mbdae.Particle(f"p{k}", 1.0, (k, 1.0, 2.0)) for k in range(20)]
force = mbdae.UserForce("pull", [p.name for p in points], pull)
system = mbdae.System(mbdae.Mechanism("points", points, forces=[force], gravity=(0, 0, 0)))
q, v = np.random.default_rng(0).normal(size=(2, 60))
assert abs(system.force(0.0, q, v) - (10.0 * q + v)).max() < 1e-14
z = evaluate.force(0.0, q + 1e-30j * v, v + 0j, np.zeros(0, complex), system.model, system.workspace(complex))
assert abs(z.imag / 1e-30 - 10.0 * v).max() < 1e-6
"""


@pytest.mark.thorough
def test_a_user_force_sees_states_that_have_not_been_freed():
    """With glibc, memory is overwritten as soon as it is freed; with other libraries the test only says that forces are right."""
    done = subprocess.run([sys.executable, "-c", OVERWRITTEN], env=os.environ | {"MALLOC_PERTURB_": "165"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_user_force_sees_the_states_of_its_bodies_in_its_order(rng):
    seen = {}

    def spy(t, r, A, v, omega, F, T):
        seen.update(t=t, r=r.copy(), A=A.copy(), v=v.copy(), omega=omega.copy(), zero=not F.any() and not T.any())
        F[0], T[1], F[2] = (1, 2, 3), (4, 5, 6), (7, 8, 9)

    bodies = [mbdae.PlanarBody("c", 1, 1, (1, 2), 0.5), rigid(rng, "a"), mbdae.Particle("p", 1.0, (7, 8, 9))]
    s = mbdae.System(mbdae.Mechanism("m", bodies, forces=[mbdae.UserForce("u", ("a", "c", "p"), spy)]))
    q, v = s.initial_guess()[0], rng.normal(size=s.nv)
    v[6:9] = 0.0  # no gyroscopic torque
    np.testing.assert_array_equal(s.force(0.7, q, v), [0, 0, 6, 1, 2, 3, 0, 0, 0, 7, 8, 9])
    assert seen["t"] == 0.7
    assert seen["zero"]
    np.testing.assert_array_equal(seen["r"], [bodies[1].position, (1, 2, 0), (7, 8, 9)])
    np.testing.assert_allclose(seen["A"][0], mbdae.model.rotations.to_matrix(bodies[1].orientation), atol=1e-15)
    np.testing.assert_allclose(seen["A"][1], [[np.cos(0.5), -np.sin(0.5), 0], [np.sin(0.5), np.cos(0.5), 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_array_equal(seen["A"][2], np.eye(3))
    np.testing.assert_array_equal(seen["v"], [v[3:6], [v[0], v[1], 0], v[9:12]])
    np.testing.assert_array_equal(seen["omega"], [v[6:9], [0, 0, v[2]], np.zeros(3)])


# --- exceptions ----------------------------------------------------------------------------------------------------------


class Trouble(Exception):
    """What a user's function raises."""


def law_that_breaks(x, rate, t):
    if t > BREAKS_AT:
        raise Trouble("the spring is broken")
    return 0.1 * x


def motion_that_breaks(t):
    if t > BREAKS_AT:
        raise Trouble("the motor is broken")
    return 1.0 + 0.0 * t


def force_that_breaks(t, r, A, v, omega, F, T):
    if t > BREAKS_AT:
        raise Trouble("the wind is broken")
    F[0, 0] = 1.0


def compiled_law(x, rate, t):
    if t > BREAKS_AT:
        raise ArithmeticError("the compiled spring is broken")
    return 0.1 * x


def compiled_motion(t):
    if t > BREAKS_AT:
        raise ArithmeticError("the compiled motor is broken")
    return 1.0 + 0.0 * t


def compiled_force(t, r, A, v, omega, F, T):
    if t > BREAKS_AT:
        raise ArithmeticError("the compiled wind is broken")
    F[0, 0] = 1.0


def interrupted_law(x, rate, t):
    if t > BREAKS_AT:
        raise KeyboardInterrupt
    return 0.1 * x


def constant(t):
    return 0.0


FUNCTIONS = {
    "law": law_that_breaks, "motion": motion_that_breaks, "load": motion_that_breaks, "user force": force_that_breaks,
    "compiled law": compiled_law, "compiled motion": compiled_motion, "compiled load": compiled_motion,
    "compiled user force": compiled_force,
    "interrupted law": interrupted_law,
}
PLACES = {"law": "the law of TSDA 's' between 'ground' and 'p'", "motion": "the motion of constraint 'rod' between 'ground' and 'p'",
          "load": "component 0 of PointForce 'f' on 'p'", "force": "the user force 'u' on 'p'"}
MESSAGES = {"law": "spring", "motion": "motor", "load": "motor", "force": "wind"}


@cache
def fragile(kind):
    """A pendulum with one function that raises after `BREAKS_AT`."""
    f = numba.njit(FUNCTIONS[kind]) if kind.startswith("compiled") else FUNCTIONS[kind]
    joints, forces = [mbdae.Rod("rod", GROUND, "p", length=1.0)], []
    if kind.endswith("law"):
        forces = [mbdae.TSDA("s", GROUND, "p", (0, 0, 1), law=f)]
    elif kind.endswith("motion"):
        joints = [mbdae.D("rod", GROUND, "p", (0, 0, 0), (0, 0, 0), mbdae.Function(f, constant, constant))]
    elif kind.endswith("load"):
        forces = [mbdae.PointForce("f", "p", (f, 0.0, 0.0))]
    else:
        forces = [mbdae.UserForce("u", ("p",), f)]
    return mbdae.System(mbdae.Mechanism("m", [mbdae.Particle("p", 1.0, (1, 0, 0))], joints, forces=forces, gravity=(0, 0, -9.81)))


def expected(kind):
    """Type and message of what must arrive."""
    if kind.startswith("interrupted"):
        return KeyboardInterrupt, ""
    word = MESSAGES[kind.split()[-1]]
    return (ArithmeticError, f"the compiled {word} is broken") if kind.startswith("compiled") else (Trouble, f"the {word} is broken")


def solve(method, formulation=None):
    return lambda s: mbdae.solve(s, method, (0.0, 0.2), formulation=formulation)


def evaluate(s):
    """The evaluation of the system that meets the function."""
    q, v = s.initial_guess()
    if s.mechanism.forces:
        s.force(0.1, q, v)
    else:
        s.phi(0.1, q)


ROUTES = {
    "system": evaluate,
    "assembly": lambda s: mbdae.assemble(s, 0.1),
    "half-implicit": solve(mbdae.HalfImplicit(h=1e-2)),
    "fully implicit": solve(mbdae.FullyImplicit(h=1e-2)),
    "RATTLE": solve(mbdae.Rattle(h=1e-2)),
    "SPARK": solve(mbdae.Spark(h=1e-2)),
    "Lobatto": solve(mbdae.Spark(h=1e-2, order=2, pair="lobatto")),
    "IDA gear": solve(Ida(), "gear"),
    "IDA index3": solve(Ida(), "index3"),
    "IDA differences": solve(Ida(jacobian="difference"), "ggl"),
    "IDA sparse": solve(Ida(linsolver="sparse"), "ggl"),
    "IDA kkt": solve(Ida(linsolver="kkt"), "ggl"),
    "IDA gmres": solve(Ida(linsolver="gmres"), "gear"),
    "CVODE": solve(Cvode()),
    "SciPy DOP853": solve(SolveIvp("DOP853")),
    "SciPy Radau": solve(SolveIvp("Radau")),
    "SciPy LSODA": solve(SolveIvp("LSODA")),
    "residual": lambda s: _residual(mbdae.GGL(s)),
    "jacobian": lambda s: _jacobian(mbdae.GGL(s)),
    "rhs": lambda s: mbdae.UnderlyingODE(s).rhs(0.1, np.ones(6)),
    "rhs jacobian": lambda s: mbdae.UnderlyingODE(s).rhs_jacobian(0.1, np.ones(6)),
}


def _residual(p):
    p.residual(0.1, np.ones(p.n), np.ones(p.n))


def _jacobian(p):
    p.jacobian(0.1, np.ones(p.n), np.ones(p.n), 1.0)


# the value of a motion does not enter the equations on the acceleration level
CASES = [(route, kind) for route in ROUTES for kind in FUNCTIONS if not (kind.endswith("motion") and route.startswith("rhs"))]


@pytest.mark.parametrize(("route", "kind"), CASES)
def test_what_a_user_function_raises_arrives_unchanged(route, kind):
    system = fragile(kind)
    error, message = expected(kind)
    with pytest.raises(error) as caught:
        ROUTES[route](system)
    assert caught.type is error
    assert str(caught.value) == message
    if error is not KeyboardInterrupt:
        note, = caught.value.__notes__
        assert note.startswith(f"in {PLACES[kind.split()[-1]]} at t = 0.")


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_system_can_be_used_again_after_its_function_has_raised(kind):
    system = fragile(kind)
    with pytest.raises(expected(kind)[0]):
        evaluate(system)
    q, v = system.initial_guess()
    assert np.isfinite(system.force(0.01, q, v)).all()
    assert mbdae.solve(system, mbdae.HalfImplicit(h=1e-2), (0.0, 0.04)).success


def test_an_exception_in_a_driver_rate_arrives():
    def rate(t):
        raise Trouble("no rate")

    f = mbdae.Function(ramp, rate, ramp_bend)
    s = mbdae.System(mbdae.Mechanism("m", [mbdae.Particle("p", 1.0, (1, 0, 0))], [mbdae.D("rod", GROUND, "p", (0, 0, 0), (0, 0, 0), f)]))
    with pytest.raises(Trouble, match="no rate"):
        mbdae.solve(s, Ida(), (0.0, 1.0))


def raised_by(system):
    """The exception of a run, and its notes."""
    with pytest.raises(Trouble) as caught:
        mbdae.solve(system, mbdae.HalfImplicit(h=1e-2), (0.0, 0.2))
    return caught.value, caught.value.__notes__


def test_an_exception_that_a_function_keeps_arrives_itself_with_one_note_for_each_place():
    mine = Trouble("mine")

    def force(t, r, A, v, omega, F, T):
        if t > BREAKS_AT:
            raise mine

    forces = [mbdae.UserForce("calm", "p", lambda *args: None), mbdae.UserForce("wind", ("p", "o"), force)]
    bodies = [mbdae.Particle("p", 1.0, (1, 0, 0)), mbdae.Particle("o", 1.0, (0, 0, 0))]
    system = mbdae.System(mbdae.Mechanism("m", bodies, forces=forces))
    for _ in range(2):
        error, notes = raised_by(system)
        assert error is mine
        assert notes == ["in the user force 'wind' on 'p', 'o' at t = 0.06"]


@pytest.mark.parametrize("wrap", [lambda f: f, pytest.param(numba.njit, marks=pytest.mark.thorough)], ids=["plain", "compiled"])
def test_an_exception_of_a_function_of_a_system_names_it(wrap):
    def force(t, q, v):
        if t > BREAKS_AT:
            raise ArithmeticError("no force")
        return np.array([0.0 * v[0], -9.81])

    one = np.eye(2)
    system = mbdae.System.from_functions(
        nq=2, nc=1, q0=[1.0, 0.0], check=False, force=wrap(force), mass=wrap(lambda t, q: one),
        phi=wrap(lambda t, q: np.array([q @ q - 1.0])),
        phi_q=wrap(lambda t, q: 2.0 * q.reshape((1, 2))), nu=wrap(lambda t, q: np.zeros(1)),
        gamma=wrap(lambda t, q, v: np.array([-2.0 * (v @ v)])))
    with pytest.raises(ArithmeticError, match="no force") as caught:
        mbdae.solve(system, mbdae.HalfImplicit(h=1e-2), (0.0, 0.2))
    assert caught.value.__notes__ == ["in the user function 'force' at t = 0.06"]


def test_a_compiled_function_of_two_elements_names_both():
    law = numba.njit(compiled_law)
    springs = [mbdae.TSDA(name, GROUND, "p", (0, 0, 1), law=law) for name in ("left", "right")]
    system = mbdae.System(mbdae.Mechanism("m", [mbdae.Particle("p", 1.0, (1, 0, 0))], forces=springs))
    with pytest.raises(ArithmeticError) as caught:
        system.force(0.1, *system.initial_guess())
    left, right = (f"the law of TSDA '{name}' between 'ground' and 'p'" for name in ("left", "right"))
    places = f"{left} or {right}" if not numba.config.DISABLE_JIT else left
    assert caught.value.__notes__ == [f"in {places} at t = 0.1"]


def test_an_exception_in_the_motion_of_a_driver_names_it_already_at_the_start():
    def turn(t):
        if t > BREAKS_AT:
            raise Trouble("no turn")
        return t

    bodies, z, x = [mbdae.RigidBody("rotor", 1.0, (1.0, 1.0, 1.0))], (0, 0, 1), (1, 0, 0)
    joints = [mbdae.Revolute("pin", GROUND, "rotor", (0, 0, 0), (0, 0, 0), z, z)]
    system = mbdae.System(mbdae.Mechanism("m", bodies, joints, [mbdae.AngleDriver("motor", GROUND, "rotor", turn, z, x, x)]))
    with pytest.raises(Trouble) as caught:
        mbdae.assemble(system, 0.1)
    note, = caught.value.__notes__
    assert note.startswith("in the motion of driver 'motor' between 'ground' and 'rotor' at t = ")


def test_an_exception_in_an_event_or_in_the_progress_function_arrives():
    def broken(*args):
        raise Trouble("from outside")

    for options in ({"events": broken}, {"progress": broken}):
        for method in (mbdae.HalfImplicit(h=1e-2), Ida(), SolveIvp()):
            with pytest.raises(Trouble, match="from outside"):
                mbdae.solve(fragile("law"), method, (0.0, 0.04), **options)


@cache
def two_that_raise():
    """Two compiled functions of time that raise after one second, and the sum of what their addresses give."""
    def after_a_second(name):
        @numba.njit
        def f(t):
            if t > 1.0:
                raise ValueError(name)
            return t

        return f

    @numba.njit
    def total(a, b, t):
        return call_motion(a, t) + call_motion(b, t)

    return after_a_second("first"), after_a_second("second"), total


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_exceptions_of_the_same_evaluation_do_not_come_up_later():
    callbacks, (first, second, total) = Callbacks(), two_that_raise()
    addresses = callbacks.motion(first), callbacks.motion(second)
    assert np.isnan(total(*addresses, 2.0))
    with pytest.raises(ValueError, match="first"):
        callbacks.check()
    assert total(*addresses, 0.5) == 1.0
    callbacks.check()
    total(*addresses, 2.0)
    callbacks.forget()
    callbacks.check()
