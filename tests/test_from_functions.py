"""Systems of a user's own functions against the same systems built from mechanisms."""

import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida

from .helpers import central, double_pendulum, relative, thorough_but

L1, L2, M1, M2, J1, J2, GRAVITY = 0.5, 0.5, 2.0, 1.0, 0.3, 0.2, 9.81


# --- the double pendulum of the helpers, by hand -------------------------------------------------------------------------


def mass(t, q):
    return np.diag([M1, M1, J1, M2, M2, J2])


def force(t, q, v):
    return np.array([0.0, -M1 * GRAVITY, 0.0, 0.0, -M2 * GRAVITY, 0.0])


def phi(t, q):
    x, y, a, u, w, b = q
    return np.array([x - L1 * np.cos(a), y - L1 * np.sin(a), u - L2 * np.cos(b) - x - L1 * np.cos(a),
                     w - L2 * np.sin(b) - y - L1 * np.sin(a)])


def phi_q(t, q):
    s, c, p, k = L1 * np.sin(q[2]), L1 * np.cos(q[2]), L2 * np.sin(q[5]), L2 * np.cos(q[5])
    return np.array([[1, 0, s, 0, 0, 0], [0, 1, -c, 0, 0, 0], [-1, 0, s, 1, 0, p], [0, -1, -c, 0, 1, -k]])


def nu(t, q):
    return np.zeros(4)


def gamma(t, q, v):
    s, c, p, k = L1 * np.sin(q[2]), L1 * np.cos(q[2]), L2 * np.sin(q[5]), L2 * np.cos(q[5])
    a, b = v[2] ** 2, v[5] ** 2
    return np.array([-c * a, -s * a, -c * a - k * b, -s * a - p * b])


def energy(t, q, v):
    return 0.5 * v @ mass(t, q) @ v + GRAVITY * (M1 * q[1] + M2 * q[4])


Q0 = np.array([0.5, 0, 0, 1.0, -0.5, -np.pi / 2])
FULL = {"phi_q": phi_q, "nu": nu, "gamma": gamma, "energy": energy}


def refuses_complex(f):
    """The same function for a user who never thought of complex numbers."""
    def strict(t, *x):
        if any(np.iscomplexobj(a) for a in x):
            raise TypeError("real numbers only")
        return f(t, *x)

    return strict


def drops_imaginary_parts(f):
    return lambda t, *x: f(t, *(np.array([float(e.real) for e in a]) for a in x))


def user(wrap=lambda f: f, **more):
    return mbdae.System.from_functions(nq=6, nc=4, mass=wrap(mass), force=wrap(force), phi=wrap(phi), q0=Q0, name="user pendulum",
                                       **{k: wrap(f) if k != "energy" else f for k, f in more.items()})


VARIANTS = {
    "complete": lambda: user(**FULL), "minimal": user, "without gamma": lambda: user(phi_q=phi_q, nu=nu),
    "without phi_q": lambda: user(nu=nu, gamma=gamma), "real only": lambda: user(refuses_complex),
    "real only, complete": lambda: user(refuses_complex, **FULL), "not analytic": lambda: user(drops_imaginary_parts),
}


# accuracy of the Jacobians: exact, differences of exact values, differences of differences
JACOBIAN = {"complete": 1e-13, "minimal": 1e-4, "without gamma": 1e-6, "without phi_q": 1e-6, "real only": 1e-3,
            "real only, complete": 1e-8, "not analytic": 1e-3}


@pytest.fixture(scope="module")
def reference():
    return mbdae.System(double_pendulum(springs=False))


@pytest.fixture(scope="module", params=thorough_but(("complete", "minimal", "real only"), VARIANTS))
def variant(request):
    return request.param, VARIANTS[request.param]()


def test_evaluations_agree_with_the_mechanism(reference, variant, rng):
    s, r, t = variant[1], reference, 0.7
    assert (s.nq, s.nv, s.nc) == (r.nq, r.nv, r.nc)
    q, v = Q0 + 0.3 * rng.normal(size=6), rng.normal(size=6)
    exact = variant[0] in ("complete", "real only, complete")
    np.testing.assert_allclose(s.mass(t, q), r.mass(t, q), rtol=1e-15)
    np.testing.assert_allclose(s.force(t, q, v), r.force(t, q, v), rtol=1e-15)
    np.testing.assert_allclose(s.phi(t, q), r.phi(t, q), atol=1e-15)
    np.testing.assert_allclose(s.phi_q(t, q).toarray(), r.phi_q(t, q).toarray(), atol=1e-14 if exact else 1e-9)
    np.testing.assert_allclose(s.nu(t, q), r.nu(t, q), atol=1e-11)
    np.testing.assert_allclose(s.gamma(t, q, v), r.gamma(t, q, v), atol=1e-14 if exact else 1e-6)
    np.testing.assert_allclose(s.qdot(q, v), v)
    np.testing.assert_allclose(s.retract(q, v), q + v)
    np.testing.assert_allclose(s.difference(q + v, q), v, atol=1e-15)


def test_analytic_functions_give_exact_derivatives(reference, rng):
    q = Q0 + rng.normal(size=6)
    np.testing.assert_allclose(user().phi_q(0.0, q).toarray(), reference.phi_q(0.0, q).toarray(), atol=1e-15)


@pytest.mark.parametrize("bend", [1.0, 1e3, 1e5])
def test_functions_that_bend_sharply_are_analytic_too(bend):
    """Central differences of a usual increment do not agree with their derivatives; those of a smaller one do."""
    s = mbdae.System.from_functions(nq=2, nc=0, mass=lambda t, q: np.eye(2), phi=lambda t, q: np.zeros(0, q.dtype), q0=[0.3 / bend, 1.0],
                                    force=lambda t, q, v: np.array([-np.arctan(bend * q[0]), -v[1]]))
    p = mbdae.Index1(s)
    J = p.jacobian(0.0, p.y0, p.yd0, 0.0).toarray()
    assert J[2, 0] == pytest.approx(bend / (1.0 + 0.3**2), rel=1e-13)


def test_energies_come_from_the_user_or_are_unknown(reference, rng):
    q, v = rng.normal(size=6), rng.normal(size=6)
    assert user(**FULL).energy(0.0, q, v) == pytest.approx(reference.energy(0.0, q, v), rel=1e-14)
    assert np.isnan(user().energy(0.0, q, v))
    assert user().kinetic_energy(0.0, q, v) == pytest.approx(reference.kinetic_energy(0.0, q, v), rel=1e-14)


@pytest.mark.parametrize("form", [mbdae.Index3, mbdae.GGL, lambda s: mbdae.GGL(s, "explicit"), mbdae.Gear, mbdae.Index2, mbdae.Index1,
                                  mbdae.Overdetermined])
def test_problems_agree_with_those_of_the_mechanism(reference, variant, form, rng):
    p, r = form(variant[1]), form(reference)
    y, yd = rng.normal(size=p.n), rng.normal(size=p.n)
    tolerance = 1e-13 if "complete" in variant[0] else 1e-6
    assert relative(p.residual(0.2, y, yd), r.residual(0.2, y, yd)) < tolerance
    assert relative(p.jacobian(0.2, y, yd, 5.0).toarray(), r.jacobian(0.2, y, yd, 5.0).toarray()) < JACOBIAN[variant[0]]


def test_starts_agree_with_those_of_the_mechanism(reference, variant, rng):
    guess = Q0 + 0.05 * rng.normal(size=6)
    found, expected = (mbdae.assemble(s, 0.0, guess, np.arange(6.0)) for s in (variant[1], reference))
    for name in ("q", "v", "a", "lam"):
        assert relative(getattr(found, name), getattr(expected, name)) < 1e-6


METHODS = [
    (mbdae.HalfImplicit(h=2e-3), None), (mbdae.FullyImplicit(h=2e-3), None), (SolveIvp("RK45"), None), (SolveIvp("Radau"), None),
    (Cvode(), None),
    *((Ida(), form) for form in Ida.formulations), (Ida(jacobian="difference"), "gear"), (Ida(linsolver="sparse"), "ggl"),
]


@pytest.mark.parametrize(("method", "formulation"), METHODS, ids=lambda x: getattr(x, "label", x))
def test_every_method_moves_it_like_the_mechanism(reference, variant, method, formulation):
    found, expected = (mbdae.solve(s, method, (0.0, 0.1), formulation=formulation, q0=Q0, t_eval=[0.1]) for s in (variant[1], reference))
    assert found.success, found.message
    assert np.abs(found.q[-1] - Q0).max() > 0.03
    np.testing.assert_allclose(found.q, expected.q, atol=1e-5)


# --- other coordinates, time, branches -----------------------------------------------------------------------------------


def quaternion_rate(t, q, w):
    e0, e1, e2, e3 = q
    return 0.5 * np.array([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1], [-e2, e1, e0]]) @ w


def turned(q, d):
    """`q exp(d/2)`."""
    angle = np.linalg.norm(d)
    x = np.concatenate([[np.cos(angle / 2)], 0.5 * np.sinc(angle / 2 / np.pi) * d])
    (a, b, c, e), (f, g, h, k) = q, x
    return np.array([a * f - b * g - c * h - e * k, a * g + b * f + c * k - e * h, a * h - b * k + c * f + e * g,
                     a * k + b * h - c * g + e * f])


INERTIA = np.diag([1.0, 2.0, 2.5])


def top(retract):
    """A rigid body about its fixed centre, its x-axis held in the plane `z = 0.1 t`: four coordinates, three velocities, one constraint."""
    def constraint(t, q):
        e0, e1, e2, e3 = q / np.sqrt(q @ q)
        return np.array([2 * (e1 * e3 - e0 * e2) - 0.1 * t])

    return mbdae.System.from_functions(nq=4, nv=3, nc=1, mass=lambda t, q: INERTIA, force=lambda t, q, w: -np.cross(w, INERTIA @ w),
                                       phi=constraint, kinematics=quaternion_rate, retract=retract, q0=[1, 0, 0, 0],
                                       v0=[1.0, 0.3, 2.0], name="top")


@pytest.fixture(scope="module")
def held():
    """The same from a mechanism (it has a translation too)."""
    body = mbdae.RigidBody("b", 1.0, (1.0, 2.0, 2.5), omega=(1.0, 0.3, 2.0))
    return mbdae.System(mbdae.Mechanism("top", [body],
                                        [mbdae.DP1("plane", "ground", "b", (0, 0, 1), (1, 0, 0), mbdae.Polynomial((0, 0.1)))]))


@pytest.mark.parametrize("retract", [turned, None])
def test_coordinates_and_velocities_may_differ_in_number(held, retract, rng):
    s, t = top(retract), 0.4
    q, w = rng.normal(size=4), rng.normal(size=3)
    q /= np.linalg.norm(q)
    x, u = np.concatenate([np.zeros(3), q]), np.concatenate([np.zeros(3), w])
    np.testing.assert_allclose(s.qdot(q, w), held.qdot(x, u)[3:], atol=1e-15)
    np.testing.assert_allclose(s.phi(t, q), held.phi(t, x), atol=1e-15)
    np.testing.assert_allclose(s.phi_q(t, q).toarray(), held.phi_q(t, x).toarray()[:, 3:], atol=1e-13)
    np.testing.assert_allclose(s.nu(t, q), held.nu(t, x), atol=1e-11)
    np.testing.assert_allclose(s.gamma(t, q, w), held.gamma(t, x, u), atol=1e-7)
    np.testing.assert_allclose(s.force(t, q, w), held.force(t, x, u)[3:], atol=1e-15)
    np.testing.assert_allclose(s.phi_q(t, q).toarray(), central(lambda d: s.phi(t, s.retract(q, d)), 3), atol=1e-8)


@pytest.mark.parametrize("retract", [turned, None])
def test_differences_of_such_coordinates_undo_small_retractions(retract, rng):
    s, d = top(retract), 1e-4 * rng.normal(size=3)
    q = np.array([0.5, -0.5, 0.5, 0.5])
    np.testing.assert_allclose(s.difference(s.retract(q, d), q), d, atol=1e-11)


@pytest.mark.parametrize("retract", [turned, None])
@pytest.mark.parametrize(("method", "formulation", "atol"), [
    (mbdae.HalfImplicit(h=1e-3), None, 2e-3), (Ida(), "gear", 1e-5), (Ida(), "ggl", 1e-5), (Ida(), "index3", 1e-4),
    (SolveIvp("DOP853"), None, 1e-5),
], ids=lambda x: getattr(x, "label", x))
def test_such_systems_run_with_every_method(held, retract, method, formulation, atol):
    found = mbdae.solve(top(retract), method, (0.0, 0.5), formulation=formulation, t_eval=[0.5])
    expected = mbdae.solve(held, SolveIvp("DOP853"), (0.0, 0.5), v0=[0.0, 0.0, 0.0, 1.0, 0.3, 2.0], rtol=1e-10, atol=1e-10,
                           t_eval=[0.5]).q[-1, 3:]
    assert found.success, found.message
    q = found.q[-1] / np.linalg.norm(found.q[-1])
    np.testing.assert_allclose(q * np.sign(q @ expected), expected, atol=atol)


def test_functions_with_branches_and_absolute_values(rng):
    """A particle on a cone `z = |(x, y)|`, with quadratic drag against its speed and a one-sided spring: all real-only NumPy."""
    def drag(t, q, v):
        speed = np.linalg.norm(v)
        return np.array([-speed * v[0] * abs(v[0]), np.where(q[1] > 0, -q[1], 0.0), -9.81 - 0.1 * max(v[2], 0.0)])

    s = mbdae.System.from_functions(nq=3, nc=1, mass=lambda t, q: np.eye(3) * (2.0 + abs(q[0])), force=drag, q0=[1, 1, 1.5],
                                    phi=lambda t, q: np.array([q[2] - np.hypot(q[0], q[1])]))
    q, v = np.array([0.6, 0.8, 1.1]), rng.normal(size=3)
    np.testing.assert_allclose(s.phi_q(0.0, q).toarray(), [[-0.6, -0.8, 1.0]], atol=1e-9)
    p = mbdae.Index3(s)
    y, yd = np.array([*q, *v, 0.3]), rng.normal(size=7)
    J = central(lambda d: p.residual(0.0, y + d, yd + 3.0 * d), 7)
    assert relative(p.jacobian(0.0, y, yd, 3.0).toarray(), J) < 1e-5
    for method in (mbdae.HalfImplicit(h=1e-3), Ida(), SolveIvp()):
        solution = mbdae.solve(s, method, (0.0, 0.1), t_eval=[0.1])
        assert solution.success
        assert np.abs(solution.constraint_residuals).max() < 1e-2


def test_time_dependent_constraints_get_their_rates(rng):
    s = mbdae.System.from_functions(nq=2, nc=1, mass=lambda t, q: np.eye(2), force=lambda t, q, v: np.zeros(2),
                                    phi=lambda t, q: np.array([q[0] * np.cos(t) + q[1] - np.exp(0.5 * t)]))
    q, v, t = np.array([0.4, 0.7]), np.array([0.3, -0.2]), 0.8
    np.testing.assert_allclose(s.nu(t, q), [q[0] * np.sin(t) + 0.5 * np.exp(0.5 * t)], atol=1e-11)
    np.testing.assert_allclose(s.gamma(t, q, v), [q[0] * np.cos(t) + 2 * np.sin(t) * v[0] + 0.25 * np.exp(0.5 * t)], atol=1e-9)


def test_systems_without_constraints():
    s = mbdae.System.from_functions(nq=1, nc=0, mass=lambda t, q: np.eye(1), force=lambda t, q, v: -q, phi=lambda t, q: np.zeros(0),
                                    q0=[1.0])
    for method, atol in ((SolveIvp(), 1e-6), (Cvode(), 1e-4), (Ida(), 1e-4), (mbdae.HalfImplicit(h=1e-3), 1e-3)):
        solution = mbdae.solve(s, method, (0.0, np.pi), t_eval=[np.pi])
        assert solution.success
        assert solution.q[-1, 0] == pytest.approx(-1.0, abs=atol)


class Trouble(Exception):
    """What a user's function raises."""


@pytest.mark.parametrize("method", [mbdae.HalfImplicit(h=1e-2), mbdae.FullyImplicit(h=1e-2), Ida(), SolveIvp(), Cvode()],
                         ids=lambda m: m.label)
@pytest.mark.parametrize("name", ["mass", "force", "phi", "phi_q", "nu", "gamma"])
def test_exceptions_of_user_functions_arrive(name, method):
    if name in ("nu", "gamma") and isinstance(method, mbdae.HalfImplicit | mbdae.FullyImplicit):
        method = SolveIvp("RK45")  # the one-step integrators do not need them
    f = {"mass": mass, "force": force, "phi": phi, **FULL}[name]

    def breaks(t, *x):
        if t > 0.05:
            raise Trouble(f"no {name}")
        return f(t, *x)

    s = mbdae.System.from_functions(nq=6, nc=4, q0=Q0, **({"mass": mass, "force": force, "phi": phi, **FULL, name: breaks}))
    with pytest.raises(Trouble, match=f"no {name}"):
        mbdae.solve(s, method, (0.0, 0.2), formulation="index1" if isinstance(method, Ida) and name == "gamma" else None)


def test_a_system_of_user_functions_says_why_it_cannot_be_pickled():
    import pickle

    with pytest.raises(TypeError, match=r"System\.from_functions"):
        pickle.dumps(user())
