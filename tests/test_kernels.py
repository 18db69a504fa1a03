"""Constraint kernels and kinematics against difference quotients, on random systems with every constraint family."""

from types import SimpleNamespace

import numpy as np
import pytest

import mbdae
from mbdae.model import rotations
from mbdae.system import evaluate as ev

from .helpers import T0, all_elements, central, quaternion, relative, rigid

STEP = 1e-30  # complex step


@pytest.fixture(scope="module", params=[11, 12, 13])
def case(request):
    """A random system at a random state off its constraints."""
    rng = np.random.default_rng(100 + request.param)
    system = mbdae.System(all_elements(request.param))
    q0, _ = system.initial_guess()
    return SimpleNamespace(s=system, t=T0 + 0.2, q=system.retract(q0, 0.3 * rng.normal(size=system.nv)),
                           v=rng.normal(size=system.nv), lam=rng.normal(size=system.nc))


def test_phi_q_is_the_derivative_of_phi_along_the_retraction(case):
    s, t, q = case.s, case.t, case.q
    exact, differences = s.phi_q(t, q).toarray(), central(lambda d: s.phi(t, s.retract(q, d)), s.nv)
    assert np.abs(exact).max() > 1.0
    assert relative(exact, differences) < 1e-9


def test_every_row_of_phi_q_depends_on_something(case):
    assert (np.abs(case.s.phi_q(case.t, case.q).toarray()).max(axis=1) > 1e-3).all()


def test_entries_outside_the_declared_pattern_are_zero(case):
    values, possible = case.s.phi_q(case.t, case.q).data, case.s.pattern.nonzero
    assert (values[~possible] == 0.0).all()
    assert 0 < possible.sum() < len(possible)


def test_nu_is_minus_the_time_derivative_of_phi(case):
    s, t, q, h = case.s, case.t, case.q, 1e-5
    differences = -(s.phi(t + h, q) - s.phi(t - h, q)) / (2 * h)
    assert (np.abs(differences) > 1e-3).sum() == 6  # so many constraints are driven
    assert relative(s.nu(t, q), differences) < 1e-9


def test_gamma_is_minus_the_rate_of_the_velocity_equation(case):
    s, t, q, v, h = case.s, case.t, case.q, case.v, 1e-5

    def rate(x):
        at = s.retract(q, x * v)
        return s.phi_q(t + x, at) @ v - s.nu(t + x, at)

    assert relative(s.gamma(t, q, v), -(rate(h) - rate(-h)) / (2 * h)) < 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_pins_of_planar_bodies(seed):
    """Between the ground and two bodies that all turn about points off their centres."""
    rng = np.random.default_rng(seed)
    bodies = [mbdae.PlanarBody(b, 1.0, 1.0, rng.normal(size=2), rng.normal()) for b in "abc"]
    ends = (("ground", "a"), ("a", "b"), ("c", "b"))
    pins = [mbdae.PlanarRevolute(f"{i} {j}", i, j, rng.normal(size=2), rng.normal(size=2)) for i, j in ends]
    s, h = mbdae.System(mbdae.Mechanism("pins", bodies, pins)), 1e-5
    q, v = rng.normal(size=(2, s.nv))
    velocity = s.phi_q(0.0, q) @ v
    assert relative(velocity, (s.phi(0.0, q + h * v) - s.phi(0.0, q - h * v)) / (2 * h)) < 1e-9
    rate = (s.phi_q(0.0, q + h * v) @ v - s.phi_q(0.0, q - h * v) @ v) / (2 * h)
    assert np.abs(rate).min() > 1e-3
    assert relative(s.gamma(0.0, q, v), -rate) < 1e-8


def test_gamma_with_accelerations_is_the_second_derivative_of_phi(case, rng):
    """`d^2 Phi / dt^2 = Phi_q a - gamma` along a path with velocity `v` and acceleration `a`."""
    s, t, q, v, h = case.s, case.t, case.q, case.v, 1e-3
    a = rng.normal(size=s.nv)

    def along(x):  # translations and small rotations: (x v + x^2/2 a) agrees with the path to second order
        return s.phi(t + x, s.retract(q, x * v + 0.5 * x * x * a))

    second = (-along(2 * h) + 16 * along(h) - 30 * along(0.0) + 16 * along(-h) - along(-2 * h)) / (12 * h * h)
    assert relative(s.phi_q(t, q) @ a - s.gamma(t, q, v), second) < 1e-6


def test_qdot_is_the_derivative_of_the_retraction(case):
    s, q, v, h = case.s, case.q, case.v, 1e-5
    assert relative(s.qdot(q, v), (s.retract(q, h * v) - s.retract(q, -h * v)) / (2 * h)) < 1e-9


def test_qdot_is_linear_in_the_velocity(case):
    s, q = case.s, case.q
    T = np.array([s.qdot(q, e) for e in np.eye(s.nv)]).T
    assert relative(T @ case.v, s.qdot(q, case.v)) < 1e-15


@pytest.mark.parametrize("size", [1e-14, 1e-9, 1e-4, 0.9e-3, 1.1e-3, 0.3, 1.7])
def test_difference_undoes_the_retraction(case, size, rng):
    s = case.s
    d = size * rng.uniform(-1, 1, size=s.nv)  # rotations below pi
    assert np.abs(s.difference(s.retract(case.q, d), case.q) - d).max() < 1e-14 * (1 + size) + 1e-2 * size * (size < 1e-13)


def test_retraction_by_the_difference_reaches_the_other_position(case, rng):
    s = case.s
    other = s.retract(case.q, rng.normal(size=s.nv))
    reached = s.retract(case.q, s.difference(other, case.q))
    assert relative(s.phi(case.t, reached), s.phi(case.t, other)) < 1e-13


def test_retraction_composes_rotations_like_matrices():
    s = mbdae.System(mbdae.Mechanism("one", [rigid(np.random.default_rng(0), "b")]))
    q, d = s.initial_guess()[0], np.array([0, 0, 0, 0.3, -0.8, 1.1])
    angle = np.linalg.norm(d[3:])
    K = np.array([[0, -d[5], d[4]], [d[5], 0, -d[3]], [-d[4], d[3], 0]]) / angle
    rodrigues = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    np.testing.assert_allclose(rotations.to_matrix(s.retract(q, d)[3:]), rotations.to_matrix(q[3:]) @ rodrigues, atol=1e-14)


def test_quaternions_stay_unit_under_a_million_radians():
    s = mbdae.System(mbdae.Mechanism("one", [rigid(np.random.default_rng(0), "b")]))
    q, _ = s.initial_guess()
    for _ in range(200):
        q = s.retract(q, np.full(6, 5e3))
    assert abs(np.linalg.norm(q[3:]) - 1) < 1e-15


def test_difference_takes_the_short_way_round():
    s = mbdae.System(mbdae.Mechanism("one", [rigid(np.random.default_rng(0), "b")]))
    q, d = s.initial_guess()[0], np.array([0, 0, 0, 0.0, 0.4, 0.0])
    other = s.retract(q, d)
    other[3:] *= -1.0  # the same rotation
    np.testing.assert_allclose(s.difference(other, q), d, atol=1e-15)


def test_the_length_of_a_quaternion_does_not_matter(case, rng):
    s, stretched = case.s, case.q.copy()
    for body in s._bodies[s._bodies["kind"] == 3]:
        stretched[body["q"] + 3:body["q"] + 7] *= rng.uniform(0.5, 2.0)
    for f in (lambda q: s.phi(case.t, q), lambda q: s.phi_q(case.t, q).toarray(), lambda q: s.gamma(case.t, q, case.v),
              lambda q: s.force(case.t, q, case.v, case.lam)):
        assert relative(f(stretched), f(case.q)) < 1e-13


# --- the same kernels with complex arguments -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def work(case):
    return case.s.workspace(complex)


def _evaluations(case):
    """Name -> function of `(q, v, lam, work)`, real or complex."""
    t, model = case.t, case.s.model
    return {
        "phi": lambda q, v, lam, w: ev.phi(t, q, model, w),
        "phi_q": lambda q, v, lam, w: ev.phi_q(t, q, model, w),
        "nu": lambda q, v, lam, w: ev.nu(t, q, model, w),
        "gamma": lambda q, v, lam, w: ev.gamma(t, q, v, model, w),
        "force": lambda q, v, lam, w: ev.force(t, q, v, lam, model, w),
    }


@pytest.mark.parametrize("name", ["phi", "phi_q", "nu", "gamma", "force"])
def test_complex_kernels_agree_with_the_real_ones(case, work, name):
    f = _evaluations(case)[name]
    real = f(case.q, case.v, case.lam, case.s.workspace())
    lifted = f(*(x.astype(complex) for x in (case.q, case.v, case.lam)), work)
    assert relative(lifted.real, real) < 1e-14
    assert (lifted.imag == 0.0).all()


@pytest.mark.parametrize("name", ["phi", "phi_q", "nu", "gamma", "force"])
def test_complex_steps_are_directional_derivatives(case, work, name, rng):
    f = _evaluations(case)[name]
    real, d = (case.q, case.v, case.lam), [rng.normal(size=len(x)) for x in (case.q, case.v, case.lam)]
    step = f(*(x + 1j * STEP * e for x, e in zip(real, d)), work).imag / STEP
    h, plain = 1e-6, case.s.workspace()
    central_difference = (f(*(x + h * e for x, e in zip(real, d)), plain) - f(*(x - h * e for x, e in zip(real, d)), plain)) / (2 * h)
    assert np.abs(step).max() > 1e-3
    assert relative(step, central_difference) < 1e-8


def test_complex_kkt_solutions_are_derivatives(case, work, rng):
    s, t, h = case.s, case.t, 1e-6
    d, b, c = rng.normal(size=s.nq), rng.normal(size=s.nv), rng.normal(size=s.nc)
    step = ev.solve_kkt(t, case.q + 1j * STEP * d, b.astype(complex), c.astype(complex), s.model, work)
    ends = [s.solve_kkt(t, case.q + x * d, b, c) for x in (h, -h)]
    for k in range(2):  # x, then lam
        assert relative(step[k].imag / STEP, (ends[0][k] - ends[1][k]) / (2 * h)) < 1e-6


# --- mass and energies ---------------------------------------------------------------------------------------------------


def test_the_mass_matrix_has_masses_and_inertias_on_its_diagonal(case):
    s, M = case.s, case.s.mass(case.t, case.q)
    expected = np.zeros((s.nv, s.nv))
    for body, record in zip(s.mechanism.bodies, s._bodies):
        at, n = int(record["v"]), 2 if isinstance(body, mbdae.PlanarBody) else 3
        expected[at:at + n, at:at + n] = body.mass * np.eye(n)
        if isinstance(body, mbdae.PlanarBody):
            expected[at + 2, at + 2] = body.inertia
        elif isinstance(body, mbdae.RigidBody):
            expected[at + 3:at + 6, at + 3:at + 6] = np.reshape(body.inertia, (3, 3))
    np.testing.assert_array_equal(M, expected)
    np.testing.assert_allclose(s.mass_times(case.t, case.q, case.v), M @ case.v, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(s.kinetic_energy(case.t, case.q, case.v), 0.5 * case.v @ M @ case.v, rtol=1e-14)


def test_wrong_shapes_are_refused_by_name(case):
    s = case.s
    with pytest.raises(ValueError, match=rf"q must have shape \({s.nq},\), got \(3,\)"):
        s.phi(0.0, np.zeros(3))
    with pytest.raises(ValueError, match=rf"v must have shape \({s.nv},\)"):
        s.gamma(0.0, case.q, case.v[:-1])
    with pytest.raises(ValueError, match=rf"lam must have shape \({s.nc},\)"):
        s.force(0.0, case.q, case.v, case.lam[:-1])
    with pytest.raises(ValueError, match=rf"b must have shape \({s.nv},\)"):
        s.solve_kkt(0.0, case.q, case.v[:-1], case.lam)
    with pytest.raises(ValueError, match=rf"c must have shape \({s.nc},\)"):
        s.solve_kkt(0.0, case.q, case.v, case.lam[:-1])


def test_states_that_are_not_finite_are_reported(case):
    broken = case.q.copy()
    broken[0] = np.nan
    with pytest.raises(FloatingPointError, match="all: Phi is not finite"):
        case.s.phi(0.0, broken)


def test_systems_of_mechanisms_can_be_pickled():
    import pickle

    rng = np.random.default_rng(5)
    body = mbdae.RigidBody("b", 1.0, (1, 2, 2), (1, 0, 0), quaternion(rng))
    s = mbdae.System(mbdae.Mechanism("p", [body], [mbdae.Spherical("ball", "ground", "b", s_j=(-1, 0, 0))], gravity=(0, 0, -9.81)))
    copy = pickle.loads(pickle.dumps(s))
    assert copy.mechanism == s.mechanism
    q, _ = s.initial_guess()
    np.testing.assert_array_equal(copy.phi(0.0, q), s.phi(0.0, q))
