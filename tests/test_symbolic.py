"""Systems from SymPy expressions: against mechanisms, equations by hand, SymPy's own derivatives; and what is refused."""

import logging
import os
import subprocess
import sys

import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.library import andrews_classical as classical
from mbdae.symbolic import from_sympy
from mbdae.symbolic.code import code_of

from .forms import FORMS, STEP, by_complex_step, random_point, random_state
from .helpers import central, double_pendulum, relative

pytestmark = pytest.mark.thorough

sp = pytest.importorskip("sympy")
me = pytest.importorskip("sympy.physics.mechanics")

t = me.dynamicsymbols._t
x, y = me.dynamicsymbols("x y")
m, g, l = sp.symbols("m g l")
PENDULUM = {"q": [x, y], "mass": sp.diag(m, m), "force": [0, -m * g], "phi": [x**2 + y**2 - l**2],
            "parameters": {m: 2.0, g: 9.81, l: 1.5}, "q0": [0.9, -1.2], "name": "pendulum"}


def both(system, other, names, q, v, tolerance, time=0.0):
    """Compare evaluations of two systems at one state."""
    for name in names:
        args = (time, q, v) if name in ("force", "gamma") else (time, q)
        found, expected = (getattr(s, name)(*args) for s in (system, other))
        if name == "phi_q":
            found, expected = found.toarray(), expected.toarray()
        assert np.abs(found - expected).max(initial=0.0) <= tolerance * np.abs(expected).max(initial=1e-300), name


SIX = ("mass", "force", "phi", "phi_q", "nu", "gamma")


# --- a pendulum --------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pendulum():
    return from_sympy(**PENDULUM, potential=m * g * y, labels=["rod"])


def test_equations_of_the_pendulum(pendulum):
    q, v = np.array([0.3, -0.7]), np.array([1.1, 0.4])
    assert (pendulum.nq, pendulum.nv, pendulum.nc, pendulum.labels, pendulum.name) == (2, 2, 1, ("rod",), "pendulum")
    np.testing.assert_array_equal(pendulum.mass(0.0, q), [[2, 0], [0, 2]])
    np.testing.assert_allclose(pendulum.force(0.0, q, v), [0, -19.62], rtol=1e-15)
    assert pendulum.phi(0.0, q) == pytest.approx(0.58 - 2.25, rel=1e-15)
    np.testing.assert_allclose(pendulum.phi_q(0.0, q).toarray(), [[0.6, -1.4]], rtol=1e-15)
    assert pendulum.nu(0.0, q) == 0.0
    assert pendulum.gamma(0.0, q, v) == pytest.approx(-2 * (1.21 + 0.16), rel=1e-15)
    assert pendulum.energy(0.0, q, v) == pytest.approx(1.21 + 0.16 - 0.7 * 19.62, rel=1e-15)
    assert pendulum.start.lam == pytest.approx(19.62 * 0.8 / 3.0, rel=1e-14)  # at rest: 2 lam l = m g cos


def test_everything_is_compiled_for_real_and_complex_numbers(pendulum, rng):
    assert pendulum._functions.compiled
    q, v, d, e = rng.normal(size=(4, 2))
    for name, f in pendulum._functions.plain.items():
        if f is not None:
            args = [(q, d), (v, e)] if name in ("force", "gamma") else [(q, d)]
            assert len(f.signatures) == 2
            assert f(0.0, *[a for a, _ in args]).dtype == float
            slope = f(0.0, *[a + 1j * STEP * b for a, b in args]).imag / STEP
            difference = central(lambda s: f(0.0, *[a + s[0] * b for a, b in args]).ravel(), 1)[:, 0]  # noqa: B023
            np.testing.assert_allclose(slope.ravel(), difference, atol=1e-8)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_jacobians_are_exact(pendulum, form, rng):
    problem, state = form(pendulum), random_state(pendulum, rng)
    point = random_point(problem, state, rng)
    exact = by_complex_step(problem, 0.0, *point, 7.0)
    assert relative(problem.jacobian(0.0, *point, 7.0).toarray(), exact) < 1e-13


def test_solvers_meet_and_keep_the_energy(pendulum):
    runs = [mbdae.solve(pendulum, method, (0.0, 2.0), rtol=1e-10, atol=1e-12, t_eval=[2.0]) for method in (Ida(), SolveIvp("DOP853"))]
    start = pendulum.energy(0.0, pendulum.start.q, pendulum.start.v)
    for run in runs:
        assert run.energy[-1] == pytest.approx(start, abs=1e-7)
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-7)
    np.testing.assert_allclose(runs[0].lam, runs[1].lam, atol=1e-5)


def test_other_values_need_no_new_derivatives(pendulum):
    before = code_of.cache_info()
    longer = from_sympy(**PENDULUM | {"parameters": {m: 2.0, g: 1.62, l: 2.5}}, potential=m * g * y)
    after = code_of.cache_info()
    assert (after.hits, after.misses) == (before.hits + 1, before.misses)
    assert longer.phi(0.0, np.zeros(2)) == -6.25
    assert longer.force(0.0, np.zeros(2), np.zeros(2))[1] == pytest.approx(-3.24, rel=1e-15)
    assert pendulum.phi(0.0, np.zeros(2)) == -2.25
    again = from_sympy(**PENDULUM, potential=m * g * y)
    assert again._functions.plain == pendulum._functions.plain  # with the same values, nor is anything compiled


# --- Lagrange's equations by SymPy -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_links():
    """The double pendulum of the helpers, by `LagrangesMethod` in its six Cartesian coordinates."""
    x1, y1, a, x2, y2, b = q = me.dynamicsymbols("x1 y1 a x2 y2 b")
    h1, h2, m1, m2, J1, J2 = symbols = sp.symbols("h1 h2 m1 m2 J1 J2")
    T = sum(c * z.diff(t) ** 2 for c, z in zip((m1, m1, J1, m2, m2, J2), q)) / 2
    c, s = sp.cos, sp.sin
    phi = [x1 - h1 * c(a), y1 - h1 * s(a), x2 - h2 * c(b) - x1 - h1 * c(a), y2 - h2 * s(b) - y1 - h1 * s(a)]
    method = me.LagrangesMethod(T - g * (m1 * y1 + m2 * y2), q, hol_coneqs=phi)
    values = {**dict(zip(symbols, (0.5, 0.5, 2.0, 1.0, 0.3, 0.2))), g: 9.81}
    return method, values, from_sympy(method, parameters=values, q0=[0.5, 0, 0, 1.0, -0.5, -np.pi / 2])


def test_two_links_agree_with_the_mechanism_of_bodies(two_links, rng):
    system, other = two_links[2], mbdae.System(double_pendulum(springs=False))
    assert system._functions.compiled
    for _ in range(5):
        state = random_state(other, rng, 0.3)
        both(system, other, ("mass", "force", "phi_q", "gamma"), state.q, state.v, 1e-14)
        a, lam, _ = system.solve_kkt(0.0, state.q, system.force(0.0, state.q, state.v), system.gamma(0.0, state.q, state.v))
        assert relative(a, state.a) < 1e-12 and relative(lam, state.lam) < 1e-12
        assert system.energy(0.0, state.q, state.v) == pytest.approx(other.energy(0.0, state.q, state.v), rel=1e-13)


def test_multipliers_have_the_sign_of_sympy(two_links, rng):
    method, values, system = two_links
    state = random_state(system, rng)
    point = dict(zip([*method.u, *method.q], [*state.v, *state.q])) | values
    eom = method.eom.subs(dict(zip(method.u.diff(t), state.a))).subs(dict(zip(method.lam_vec, state.lam))).subs(point)
    assert np.abs(np.array(eom, dtype=float)).max() < 1e-12
    by_sympy = np.array(method.solve_multipliers(point, "Matrix"), dtype=float)[:, 0]
    np.testing.assert_allclose(state.lam, by_sympy, rtol=1e-10)


DATA = "rr ra d da ss sa sb sc sd e ea zt ta tb zf fa u ua ub xa ya xb yb xc yc m1 m2 m3 m4 m5 m6 m7 I1 I2 I3 I4 I5 I6 I7"


def squeezer():
    """Andrews' mechanism by `LagrangesMethod` from where the centres of its seven bodies are, and the values of its parameters."""
    b, th, gam, ph, de, om, ep = q = me.dynamicsymbols("beta theta gamma phi delta Omega epsilon")
    rr, ra, d, da, ss, sa, sb, sc, sd, e, ea, zt, ta, tb, zf, fa, u, ua, ub, xa, ya, xb, yb, xc, yc, *inertia = symbols = sp.symbols(DATA)
    values = {x: getattr(classical, str(x)) for x in symbols}

    def turned(angle, along, across):
        c, s = sp.cos(angle), sp.sin(angle)
        return sp.Matrix([along * c - across * s, along * s + across * c])

    A, B, C, pin = sp.Matrix([xa, ya]), sp.Matrix([xb, yb]), sp.Matrix([xc, yc]), turned(b, rr, 0)
    turns = [b, b + th, gam, ph + de, de, om + ep, ep]
    centres = [turned(b, ra, 0), pin - turned(b + th, da, 0), B + turned(gam, sb, -sa), A + turned(de, zt, 0) + turned(ph + de, 0, ea - e),
               A + turned(de, -tb, -ta), A + turned(ep, 0, -u) + turned(om + ep, zf - fa, 0), A + turned(ep, -ub, -ua)]
    ends = [B + turned(gam, 0, -ss), A + turned(de, zt, 0) + turned(ph + de, 0, -e), A + turned(ep, 0, -u) + turned(om + ep, zf, 0)]
    phi = [z for end in ends for z in pin - turned(b + th, d, 0) - end]
    T = sum(M * r.diff(t).dot(r.diff(t)) + J * w.diff(t) ** 2 for r, w, M, J in zip(centres, turns, inertia[:7], inertia[7:])) / 2
    k, l0, torque = sp.symbols("k l0 torque")
    spring = B + turned(gam, sd, -sc) - C
    V = k * (sp.sqrt(spring.dot(spring)) - l0) ** 2 / 2
    values |= {k: classical.STIFFNESS, l0: classical.FREE_LENGTH, torque: classical.TORQUE}
    return me.LagrangesMethod(T - V + torque * b, q, hol_coneqs=phi), values, T + V


def test_squeezer_agrees_with_the_equations_of_the_literature(rng):
    method, values, energy = squeezer()
    system, other = from_sympy(method, parameters=values, energy=energy, q0=classical.start_angles()), classical.seven_angles()
    assert system._functions.compiled
    assert max(relative(getattr(system.start, name), getattr(other.start, name)) for name in ("q", "a", "lam")) < 1e-12
    for _ in range(10):
        q, v = rng.normal(size=7), rng.normal(size=7) * 100.0
        both(system, other, SIX, q, v, 1e-12)
        assert system.energy(0.0, q, v) == pytest.approx(other.energy(0.0, q, v), rel=1e-12)
    state = random_state(system, rng)
    for form in (mbdae.Index3, mbdae.GGL, mbdae.Index1):
        point = random_point(form(system), state, rng)
        found, expected = (form(z).jacobian(0.0, *point, 1e4).toarray() for z in (system, other))
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


# --- Kane's equations by SymPy -----------------------------------------------------------------------------------------------------------

r, theta, u1, u2, k = *me.dynamicsymbols("r theta u1 u2"), sp.Symbol("k")


def polar(speeds):
    """A point mass on a spring by `KanesMethod` in polar coordinates, with the speeds `r', theta'` or the components of the velocity."""
    N, O = me.ReferenceFrame("N"), me.Point("O")
    O.set_vel(N, 0)
    A = N.orientnew("A", "Axis", [theta, N.z])
    P = O.locatenew("P", r * A.x)
    across = r * u2 if speeds == "rates" else u2
    P.set_vel(N, u1 * A.x + across * A.y)
    method = me.KanesMethod(N, [r, theta], [u1, u2], [u1 - r.diff(), across - r * theta.diff()])
    method.kanes_equations([me.Particle("ball", P, m)], [(P, -m * g * N.y - k * (r - 1) * A.x)])
    return method


@pytest.mark.parametrize("speeds", ["rates", "components"])
def test_polar_coordinates_agree_with_cartesian_ones(speeds):
    values, spiral = {m: 2.0, g: 9.81, k: 50.0}, r - 1 - theta / 10
    V = m * g * r * sp.sin(theta) + k * (r - 1) ** 2 / 2
    system = from_sympy(polar(speeds), phi=[spiral], parameters=values, potential=V, q0=[1.0, 0.0], v0=[0.1, 1.0], name=speeds)
    R, angle = sp.sqrt(x**2 + y**2), sp.atan2(y, x)
    other = from_sympy(q=[x, y], mass=sp.diag(m, m), force=[-k * (R - 1) * x / R, -m * g - k * (R - 1) * y / R], parameters=values,
                       phi=[spiral.subs({r: R, theta: angle})], q0=[1.0, 0.0], v0=[0.1, 1.0])
    assert system._functions.compiled == (speeds == "rates") and other._functions.compiled
    found, expected = (mbdae.solve(s, SolveIvp("DOP853"), (0.0, 1.0), rtol=1e-11, atol=1e-12, t_eval=[1.0]) for s in (system, other))
    rho, phi = found.q[-1]
    np.testing.assert_allclose([rho * np.cos(phi), rho * np.sin(phi)], expected.q[-1], atol=1e-9)
    np.testing.assert_allclose(found.lam[-1], expected.lam[-1], rtol=1e-8)
    assert found.energy[-1] == pytest.approx(found.energy[0], abs=1e-9)


def test_kane_without_constraints():
    system = from_sympy(polar("rates"), parameters={m: 2.0, g: 9.81, k: 50.0}, q0=[1.0, 0.0])
    assert (system.nc, system._functions.compiled) == (0, True)
    np.testing.assert_allclose(system.start.a, [0.0, -9.81], atol=1e-15)
    assert np.isnan(system.energy(0.0, np.ones(2), np.ones(2)))


# --- time, plain symbols, branches -------------------------------------------------------------------------------------------------------


def test_constraints_that_depend_on_time(rng):
    a, b, c, da, db, dc, tau, w = sp.symbols("a b c da db dc tau w")
    phi = [a * sp.sin(w * tau) - b * sp.exp(tau) + c**3, sp.cosh(a - tau) * b - tau**2 * c]
    mass = [[2, tau * sp.sin(a), 0], [tau * sp.sin(a), 3 + b**2, 0], [0, 0, 1.5]]
    system = from_sympy(q=[a, b, c], v=[da, db, dc], time=tau, mass=mass, force=[da * tau, -db * c, w], phi=phi, parameters={w: 1.7},
                        q0=[0.1, 0.2, 0.3])
    assert system._functions.compiled
    f = {name: d.py_func for name, d in system._functions.plain.items() if d is not None}
    q, v, s = rng.normal(size=3), rng.normal(size=3), 0.6
    time, x = s + 1j * STEP, q + 1j * STEP * v
    np.testing.assert_allclose(-f["phi"](time, q + 0j).imag / STEP, system.nu(s, q), rtol=1e-14)
    np.testing.assert_allclose(f["phi"](time, x).imag / STEP, system.phi_q(s, q) @ v - system.nu(s, q), rtol=1e-13)
    speed = f["phi_q"](time, x) @ v - f["nu"](time, x)
    np.testing.assert_allclose(-speed.imag / STEP, system.gamma(s, q, v), rtol=1e-13)
    np.testing.assert_allclose(system.force(s, q, v), [v[0] * s, -v[1] * q[2], 1.7], rtol=1e-15)
    np.testing.assert_allclose(system.mass(s, q)[:2, :2], [[2, s * np.sin(q[0])], [s * np.sin(q[0]), 3 + q[1] ** 2]], rtol=1e-15)
    both(system, mbdae.System.from_functions(nq=3, nc=2, **{k: f[k] for k in ("mass", "force", "phi")}, q0=[0.1, 0.2, 0.3]),
         ("phi_q", "nu", "gamma"), q, v, 1e-7, s)


X, Y, U, W, p = sp.symbols("X Y U W p", real=True)
BRANCHES = [
    sp.Abs(X * Y - U), sp.sign(X) * Y, sp.Max(X, Y, U), sp.Min(X, Y, 0), sp.Heaviside(X - Y) * U**2, X**3, X**-3, (sp.Abs(X) + 1) ** 1.5,
    X**p, (X**2 + 1) ** Y, sp.Max(X, 0) ** sp.Rational(3, 2), 2**X, sp.atan2(Y, X), sp.tanh(300 * X), sp.tanh(p * U), sp.sec(X) + sp.cot(Y),
    sp.asin(X / 3) + sp.acos(Y / 3) + sp.atan(U), sp.sinc(Y), sp.log(p) * sp.log(p + X**2), (1 + X**2) ** sp.Rational(-5, 2),
    sp.Rational(1, 3) * X + sp.pi * Y + sp.E, sp.sqrt(X**2), sp.asinh(U) + sp.exp(-(W**2)) * sp.cosh(Y) * sp.sinh(U), 10**20 * X,
    sp.Piecewise((sp.sqrt(X), X > 0.5), (X**3 * Y, X > -0.1), (1 / X, True)),
    sp.Piecewise((X, (X > 0) & (Y < 1)), (Y, sp.Or(X < -1, sp.Not(Y > 0))), (U, True)),
    sp.Piecewise((U, X <= Y), (sp.Piecewise((W, U > 0), (X * Y, True)), True)),
]


def test_branches_and_functions_have_exact_derivatives(rng):
    n = len(BRANCHES)
    free = sp.symbols(f"q2:{n}"), sp.symbols(f"v2:{n}")
    system = from_sympy(q=[X, Y, *free[0]], v=[U, W, *free[1]], mass=sp.eye(n), force=BRANCHES, parameters={p: 3.0},
                        q0=[0.7, 0.2, *[0.0] * (n - 2)], v0=[0.3, -0.5, *[0.0] * (n - 2)])
    assert system._functions.compiled
    force, seen = system._functions.plain["force"], (X, Y, U, W)
    slopes = [[e.diff(s) for s in seen] for e in BRANCHES]
    for _ in range(10):
        at, d = rng.integers(-1400, 1400, 4), rng.normal(size=4)
        q, v, dq, dv = np.zeros((4, n))
        q[:2], v[:2], dq[:2], dv[:2] = at[:2] / 1000, at[2:] / 1000, d[:2], d[2:]
        values = {s: sp.Rational(int(a), 1000) for s, a in zip(seen, at)} | {p: 3}  # exact, so that SymPy finds all digits
        np.testing.assert_allclose(force(0.0, q, v), [float(e.subs(values)) for e in BRANCHES], rtol=1e-13)
        expected = np.array([[float(s.subs(values)) for s in row] for row in slopes])
        found = force(0.0, q + 1j * STEP * dq, v + 1j * STEP * dv).imag / STEP
        error = np.abs(found - expected @ d) / (np.abs(expected) @ np.abs(d) + 1e-100)  # SymPy gives up there
        assert error.max() < 2e-14, [(e, x) for e, x in zip(BRANCHES, error) if not x < 2e-14]


def test_only_the_branch_that_counts_is_evaluated():
    """`1/X` is common to both entries, but not to be touched at zero."""
    guarded = sp.Piecewise((1 / X, X > 0), (0, True))
    system = from_sympy(q=[X, Y], v=[U, W], mass=sp.eye(2), force=[guarded + 1, guarded * Y], q0=[-1.0, 1.0])
    force = system._functions.plain["force"]
    for kind in (float, complex):
        np.testing.assert_array_equal(force(0.0, np.array([0, 3], kind), np.zeros(2, kind)), [1, 0])
        np.testing.assert_array_equal(force(0.0, np.array([0.5, 3], kind), np.zeros(2, kind)), [3, 6])


def test_a_kink_at_the_guess_is_reported(caplog):
    pushed = {"q": [X], "v": [U], "mass": [[1]], "force": [X - sp.sign(U)], "q0": [2.0]}
    assert not from_sympy(**pushed)._functions.compiled
    assert "disagree at the initial guess; if there is a kink" in caplog.text
    caplog.clear()
    assert from_sympy(**pushed, v0=[0.1])._functions.compiled
    assert not caplog.text


def test_what_numba_cannot_do_is_left_to_scipy(caplog, rng):
    from scipy.special import jv

    system = from_sympy(q=[x, y], mass=sp.eye(2), force=[sp.besselj(1, g * x), x.diff() ** 2 + m], phi=[x - y**2], q0=[0.49, 0.7],
                        parameters={g: 2.0, m: 3.0}, name="drum")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "drum: force is evaluated by SciPy, without numba: there is no code for besselj" in caplog.text
    assert not system._functions.compiled and len(system._functions.plain["phi"].signatures) == 2
    np.testing.assert_allclose(system.force(0.0, [0.4, 0.1], [2.0, 0.0]), [jv(1, 0.8), 7.0], rtol=1e-14)
    problem = mbdae.GGL(system)
    point = random_point(problem, system.start, rng)
    run = mbdae.solve(system, Ida(), (0.0, 1.0), rtol=1e-9, atol=1e-11)
    assert run.success and abs(run.q[-1, 0] - run.q[-1, 1] ** 2) < 1e-10
    assert relative(problem.jacobian(0.0, *point, 2.0).toarray(), central(lambda d: problem.residual(0.0, point[0] + d, point[1] + 2 * d),
                                                                        problem.n)) < 1e-7


# --- without SymPy, without numba --------------------------------------------------------------------------------------------------------


def test_without_sympy(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(ImportError, match="pip install sympy"):
        from_sympy(q=[], mass=[], force=[])


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, check=True).stdout


def test_sympy_is_imported_only_when_needed():
    assert run("import mbdae.symbolic, sys; print('sympy' in sys.modules)") == "False\n"


PLAIN = """
import sympy as sp
from mbdae.symbolic import from_sympy
x, y, u, w = sp.symbols("x y u w")
s = from_sympy(q=[x, y], v=[u, w], mass=sp.eye(2), force=[sp.Abs(x) ** 1.5, sp.tanh(w)], phi=[x - y**3], q0=[1, 1], v0=[3, 1])
print(*s.start.a, *s.start.lam)
"""


def test_interpreter_mode_gives_the_same_numbers():
    plain, fast = (np.array(run(PLAIN, NUMBA_DISABLE_JIT=flag).split(), dtype=float) for flag in ("1", "0"))
    np.testing.assert_allclose(plain, fast, rtol=1e-14)
