"""Compiled user functions: exact derivatives where complex numbers serve, differences otherwise; compiled systems; friction."""

import ctypes

import numba
import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.system import c_functions

from .forms import by_complex_step, random_point, random_state
from .helpers import GROUND, drag

pytestmark = pytest.mark.thorough
LAW = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_int64)


@numba.njit
def smooth(x, rate, t):
    return x * x * x + np.sin(2 * rate) * x + t


@numba.njit
def kinked(x, rate, t):
    """Comparisons of real parts: complex numbers pass on either branch."""
    return 3.0 * x**2 if x.real > 0.5 else 7.0 * x + rate


@numba.njit
def comparing(x, rate, t):
    return 3.0 * x**2 if x > 0.5 else 7.0 * x + rate


@numba.njit
def absolute(x, rate, t):
    """`abs` of a complex number is not analytic: taken for exact it would give half the derivative."""
    return x + abs(rate) * rate


def slopes(law, x, rate):
    f = LAW(c_functions.law(law).address)
    return [f(x, rate, 0.2, k) for k in range(3)]


@pytest.mark.parametrize(("x", "rate"), [(0.3, 0.7), (1.7, -0.4)])
def test_derivatives_of_analytic_laws_are_exact(x, rate):
    s, c = np.sin(2 * rate), np.cos(2 * rate)
    assert slopes(smooth, x, rate) == pytest.approx([x**3 + s * x + 0.2, 3 * x**2 + s, 2 * c * x], rel=1e-14)
    assert slopes(kinked, x, rate)[1:] == pytest.approx([6 * x, 0.0] if x > 0.5 else [7.0, 1.0], rel=1e-14)


@numba.njit
def cubic(x, rate, t):
    """Numba raises complex numbers to powers by logarithms: at negative lengths the imaginary part would be noise."""
    return x**3


@pytest.mark.parametrize(("law", "expected"), [(comparing, (10.2, 0.0)), (absolute, (1.0, 0.8)), (cubic, (3 * 1.7**2, 0.0))])
def test_other_laws_are_differenced(law, expected):
    assert slopes(law, 1.7, -0.4)[1:] == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_a_law_is_compiled_once_for_all_its_springs():
    bodies = [mbdae.Particle(f"{k}", 1.0, (k, 0, 0)) for k in range(40)]
    springs = [mbdae.TSDA(f"{k}", f"{k}", f"{k + 1}", law=smooth) for k in range(39)]
    before = c_functions.law.cache_info().misses
    mbdae.System(mbdae.Mechanism("m", bodies, forces=springs))
    assert c_functions.law.cache_info().misses - before <= 1


def with_force(function, n=2):
    bodies = [mbdae.RigidBody("a", 1.0, (1, 2, 3)), mbdae.Particle("b", 2.0, (1, 2, 3)), mbdae.PlanarBody("c", 1.0, 1.0, (2, 1), 0.4)][:n]
    return mbdae.System(mbdae.Mechanism("m", bodies, [mbdae.D("d", "a", "b", (1, 0, 0), (0, 0, 0), 17.0)],
                                        forces=[mbdae.UserForce("u", [b.name for b in bodies], function)]))


@numba.njit
def stepwise(t, r, A, v, omega, F, T):
    """Compares, and so cannot take complex numbers."""
    for k in range(r.shape[0]):
        if r[k, 0] > -100.0:
            F[k] = -0.3 * v[k] + np.sin(r[0])
            T[k] = A[k, 0] * omega[k]


@pytest.mark.parametrize(("function", "bound"), [(numba.njit(drag), 1e-14), (stepwise, 1e-8)])
def test_derivatives_of_user_forces(function, bound, rng):
    exact, plain = with_force(function, 3), with_force(function.py_func, 3)
    p, r = mbdae.Index3(exact), mbdae.Index3(plain)
    y, yd = random_point(p, random_state(exact, rng), rng)
    J = p.jacobian(0.3, y, yd, 2.0).toarray()
    np.testing.assert_allclose(J, r.jacobian(0.3, y, yd, 2.0).toarray(), atol=1e-8)
    h = 1e-4  # the force itself, by extrapolated differences
    f = [np.array([p.residual(0.3, y + k * h * e, yd + 2 * k * h * e) for e in np.eye(p.n)]).T for k in (-4, -2, -1, 1, 2, 4)]
    near, middle, far = ((f[5 - k] - f[k]) / (2 * w * h) for k, w in ((2, 1), (1, 2), (0, 4)))
    exact_to = (64 * near - 20 * middle + far) / 45
    assert np.abs(J - exact_to).max() < max(bound, 2e-10)
    if bound < 1e-10:
        assert np.abs(J - by_complex_step(p, 0.3, y, yd, 2.0)).max() < bound * 10


# --- compiled systems ------------------------------------------------------------------------------------------------------------


def _mass(t, q):
    M = np.zeros((2, 2), dtype=q.dtype)
    M[0, 0], M[1, 1], M[0, 1], M[1, 0] = 2.0 + np.cos(q[0]), 1.0, 0.1, 0.1
    return M


def _force(t, q, v):
    return np.array([-np.sin(q[0]) - 0.1 * v[0] * v[1], q[0] * v[1] ** 2])


def _phi(t, q):
    return np.array([q[0] ** 2 + q[1] - np.sin(t)])


def _phi_q(t, q):
    G = np.ones((1, 2), dtype=q.dtype)
    G[0, 0] = 2 * q[0]
    return G


def _nu(t, q):
    return np.array([np.cos(t) + 0 * q[0]])


def _gamma(t, q, v):
    return np.array([-2 * v[0] ** 2 - np.sin(t)])


def _friction(t, q, v, lam):
    return np.array([-0.2 * np.sqrt(lam[0] ** 2 + 0.01) * v[0], 0.0 * v[1]])


FUNCTIONS = {"mass": _mass, "force": _force, "phi": _phi, "phi_q": _phi_q, "nu": _nu, "gamma": _gamma}


def sliding(wrap=lambda f: f, friction=False, **more):
    """A rheonomic system with a variable mass matrix."""
    functions = {name: wrap(f) for name, f in (FUNCTIONS | more | ({"friction": _friction} if friction else {})).items()}
    return mbdae.System.from_functions(nq=2, nc=1, q0=[0.4, 0.1], v0=[0.3, 0.0], **functions)


@pytest.mark.parametrize("friction", [False, True])
def test_compiled_and_plain_systems_agree(friction, rng):
    plain, compiled = sliding(friction=friction), sliding(numba.njit, friction)
    assert compiled._functions.compiled and not plain._functions.compiled
    t, q, v, lam = 0.3, rng.normal(size=2), rng.normal(size=2), rng.normal(size=1)
    for f in (lambda s: s.phi(t, q), lambda s: s.nu(t, q), lambda s: s.gamma(t, q, v), lambda s: s.force(t, q, v, lam),
              lambda s: s.mass(t, q), lambda s: s.phi_q(t, q).toarray()):
        np.testing.assert_allclose(f(compiled), f(plain), rtol=1e-15, atol=1e-15)
    for make in (mbdae.Index3, mbdae.GGL, mbdae.Index1):
        p, r = make(compiled), make(plain)
        y, yd = rng.normal(size=p.n), rng.normal(size=p.n)
        np.testing.assert_allclose(p.jacobian(t, y, yd, 2.0).toarray(), r.jacobian(t, y, yd, 2.0).toarray(), rtol=1e-13, atol=1e-13)


def test_a_system_of_which_one_function_compares_is_called_in_python():
    def force(t, q, v):
        return np.array([-q[0] if v[0] > 0.0 else q[0], 0.0 * v[1]])

    s = sliding(numba.njit, force=force)
    assert not s._functions.compiled
    assert mbdae.solve(s, Ida(), (0.0, 0.5)).success


def test_forces_that_depend_on_multipliers(rng):
    """Friction of one's own: part of the multiplier's equation, in every form; it takes energy away."""
    s = sliding(numba.njit, friction=True)
    assert s.has_friction
    x = mbdae.assemble(s)
    left = s.mass(0.0, x.q) @ x.a + s.phi_q(0.0, x.q).T @ x.lam - _force(0.0, x.q, x.v) - _friction(0.0, x.q, x.v, x.lam)
    assert np.abs(left).max() < 1e-12
    ends = [mbdae.solve(s, m, (0.0, 2.0), formulation=f, rtol=1e-9, atol=1e-11) for f, m in (
        ("ggl", Ida()), ("index2", Ida()), ("gear", Ida()), ("ode", SolveIvp("DOP853")))]
    for end in ends[:3]:
        assert end.success, end.message
        np.testing.assert_allclose(end.q[-1], ends[-1].q[-1], atol=1e-6)
    without = mbdae.solve(sliding(), SolveIvp("DOP853"), (0.0, 2.0), rtol=1e-9, atol=1e-11)
    assert np.abs(without.q[-1] - ends[-1].q[-1]).max() > 1e-3


def test_a_guess_of_the_multipliers_may_be_needed():
    """A force that is no number at zero multipliers."""
    def friction(t, q, v, lam):
        return np.array([-0.1 * v[0] * lam[0] / np.sqrt(lam[0] ** 2), 0.0 * v[1]])

    with pytest.raises(ValueError, match="friction is not finite"), np.errstate(invalid="ignore"):
        mbdae.System.from_functions(nq=2, nc=1, q0=[0.4, 0.1], friction=friction, **FUNCTIONS)
    s = mbdae.System.from_functions(nq=2, nc=1, q0=[0.4, 0.1], v0=[0.3, 0.0], friction=friction, lam0=[1.0], **FUNCTIONS)
    assert np.isfinite(s.start.lam).all()


@pytest.mark.parametrize("name", ["force", "gamma", "mass"])
def test_exceptions_of_compiled_systems_arrive(name):
    @numba.njit
    def limit(q):
        if q[0].real > 0.45:
            raise ArithmeticError("too far")
        return 0.0

    f = numba.njit(FUNCTIONS[name])

    def broken(t, q, v):
        return f(t, q, v) + limit(q)

    def broken_at(t, q):
        return f(t, q) + limit(q)

    s = sliding(numba.njit, **{name: broken_at if name == "mass" else broken})
    assert s._functions.compiled
    routes = [(Ida(), "ggl"), (SolveIvp("DOP853"), "ode"), (mbdae.HalfImplicit(h=1e-2), None)]
    for method, form in routes[:2] if name == "gamma" else routes:  # the half-implicit method does not ask for it
        with pytest.raises(ArithmeticError, match="too far"):
            mbdae.solve(s, method, (0.0, 5.0), formulation=form)


def test_joint_friction_counts_as_forces_that_depend_on_multipliers():
    slider = mbdae.Translational("guide", GROUND, "b", a_i=(1, 0, 0), a_j=(1, 0, 0))
    body = mbdae.RigidBody("b", 1.0, (1, 1, 1))
    for forces in ((), (mbdae.Friction("rub", "guide", 0.1),)):
        assert mbdae.System(mbdae.Mechanism("m", [body], [slider], forces=forces)).has_friction == bool(forces)
