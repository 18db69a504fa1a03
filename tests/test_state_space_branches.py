"""Coordinates may belong to several positions: none is mistaken for another one, and what has failed leaves nothing behind."""

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.adapters.assimulo import Assimulo
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode
from mbdae.charts.chart import Chart
from mbdae.charts.configuration import prepare
from mbdae.charts.motion import positions
from mbdae.system.codes import GOOD, NO_POSITION

from .helpers import GROUND, need

FORMS = ("partition", "tangent")
both = pytest.mark.parametrize("form", FORMS)
SPIN = [0.0, 0.0, 0.0, 0.0, 9.0, 2.0, 0.0, 0.0, 0.0, 5.0, 1.0, 2.0]


def bodies_on_joints():
    """Two rigid bodies on a universal and a spherical joint."""
    bodies = [mbdae.RigidBody("p", 1.1, (0.02, 0.11, 0.1), (0.5, 0.0, 0.0)),
              mbdae.RigidBody("q", 0.6, (0.01, 0.03, 0.04), (1.3, 0.0, 0.0))]
    joints = [mbdae.Universal("u", GROUND, "p", s_j=(-0.5, 0.0, 0.0), a_i=(0.0, 1.0, 0.0), a_j=(0.0, 0.0, 1.0)),
              mbdae.Spherical("s", "p", "q", s_i=(0.5, 0.0, 0.0), s_j=(-0.3, 0.0, 0.0))]
    return mbdae.System(mbdae.Mechanism("bodies", bodies, joints, gravity=(0.0, 0.0, -9.81)))


def particles_on_rods():
    """Three particles, the first of them driven to and fro."""
    places = np.array([[0.5, 0.0, -0.2], [0.9, 0.4, -0.3], [0.7, 0.8, -0.9]])
    bodies = [mbdae.Particle(name, mass, tuple(r)) for name, mass, r in zip("abc", (1.0, 0.7, 0.4), places)]
    joints = [mbdae.Rod("ab", "a", "b", length=float(np.linalg.norm(places[0] - places[1]))),
              mbdae.Rod("bc", "b", "c", length=float(np.linalg.norm(places[1] - places[2])))]
    driver = mbdae.DistanceDriver("oa", GROUND, "a", lambda t: float(np.linalg.norm(places[0])) + 0.1 * np.sin(2 * t) ** 2)
    return mbdae.System(mbdae.Mechanism("particles", bodies, joints, [driver], gravity=(0.0, 0.0, -9.81)))


MECHANISMS = {"bodies": bodies_on_joints, "particles": particles_on_rods}
mechanisms = pytest.mark.parametrize("name", MECHANISMS)


def motion_of(system, name, times):
    state = mbdae.assemble(system, v=SPIN if name == "bodies" else None)
    return state, mbdae.solve(system, SolveIvp(), (0.0, times[-1]), formulation="ode", rtol=1e-11, atol=1e-12, t_eval=times, state=state)


@both
@mechanisms
@pytest.mark.parametrize("size", [1e4, 1e8, 1e12, 1e20, 1e45, np.nan])
def test_a_failed_evaluation_leaves_nothing_behind(name, form, size, rng):
    system = MECHANISMS[name]()
    problem, fresh = (mbdae.StateSpace(system, form) for _ in range(2))
    y, _ = problem.pack(system.start)
    fresh.pack(system.start)
    for _ in range(20):
        far, near = y.copy(), y.copy()
        far[:problem.dof] = size * (1.0 + 0.1 * rng.normal(size=problem.dof))
        near[:problem.dof] += 0.05 * rng.normal(size=problem.dof)
        assert not np.isfinite(problem.rhs(0.0, far)).any()
        np.testing.assert_allclose(problem.rhs(0.0, near), fresh.rhs(0.0, near), rtol=1e-8, atol=1e-8)


@pytest.mark.thorough
@both
@mechanisms
def test_positions_do_not_trust_factors_of_elsewhere(name, form, rng):
    """With those of a place far away every correction is tiny, though the constraints are open."""
    system = MECHANISMS[name]()
    chart, q0 = Chart(system, form), system.start.q
    for _ in range(20):
        chart.centre(0.0, q0)
        far = q0.copy()
        far += 1e12 * rng.normal(size=len(q0))
        prepare(0.0, far, chart.n, chart.store, system.model, chart.work)
        q, z = q0.copy(), chart.P @ q0 + 0.05 * rng.normal(size=chart.n)
        if positions(0.0, z, q, chart.store, system.model, chart.work) == GOOD:
            assert np.abs(system.phi(0.0, q)).max() < 1e-12
            np.testing.assert_allclose(chart.P @ q, z, atol=1e-12)
            assert np.abs(q - q0).max() < 1.0


@pytest.mark.thorough
@both
def test_positions_of_large_coordinates_are_found(form):
    """Rounding of coordinates of millions of metres is no open constraint."""
    problem = mbdae.StateSpace(library.system("tethered-satellites"), form)
    y, _ = problem.pack(problem.system.start)
    y[:problem.dof] += 1e-6 * np.abs(y[:problem.dof])
    assert np.isfinite(problem.rhs(0.0, y)).all()


@pytest.mark.thorough
def test_an_angle_far_away_has_no_position():
    """Its tangent leads far away, but what turns comes back, and the iteration might end on any branch."""
    system = library.system("slider-crank-free")
    chart = Chart(system, "partition")
    chart.centre(0.0, system.start.q)
    q = system.start.q.copy()
    z = chart.P @ q + 1e6
    assert positions(0.0, z, q, chart.store, system.model, chart.work) == NO_POSITION


@pytest.mark.thorough
@both
@mechanisms
@pytest.mark.parametrize("make", [lambda h: SolveIvp("RK45", first_step=h), lambda h: Assimulo("Dopri5", first_step=h)],
                         ids=["RK45", "Dopri5"])
def test_loose_tolerances_neither_fail_nor_jump(make, name, form):
    """Traps: of a state that has become huge an error is a small part; a search that has failed far away spoils the next one."""
    system, times = MECHANISMS[name](), np.linspace(0.0, 0.5, 6)
    state, exact = motion_of(system, name, times)
    problem = mbdae.StateSpace(system, form)
    for first_step in (0.0, 0.1, 0.2, 0.3, 0.4):
        for tolerance in (1e-2, 1e-3):
            s = mbdae.solve(problem, need(make(first_step)), (0.0, 0.5), rtol=tolerance, atol=tolerance, t_eval=times, state=state)
            assert s.success, s.message
            assert np.abs(s.q - exact.q).max() < 15.0 * tolerance + 0.05, (first_step, tolerance)  # a jump is of order one


@pytest.mark.parametrize("make", [lambda: Cvode(first_step=0.5), lambda: Assimulo("CVode", first_step=0.5)],
                         ids=["scikit-sundae", "Assimulo"])
@both
def test_a_first_step_beyond_the_chart_is_shortened(make, form):
    """Trap: CVODE asks for its first Jacobian where there are no positions."""
    system = bodies_on_joints()
    state, exact = motion_of(system, "bodies", [1.0])
    s = mbdae.solve(system, need(make()), (0.0, 1.0), formulation=form, rtol=1e-7, atol=1e-9, t_eval=[1.0], state=state)
    assert s.success, s.message
    np.testing.assert_allclose(s.q, exact.q, atol=1e-4)


@both
def test_what_does_not_fit_is_told(form):
    problem = mbdae.StateSpace(particles_on_rods(), form)
    y, yd = problem.pack(problem.system.start)
    np.testing.assert_allclose(problem.rhs(0, list(y)), yd, atol=1e-12)
    with pytest.raises(ValueError, match=rf"y must have the shape \({problem.n},\), got \({problem.n - 1},\)"):
        problem.rhs(0.0, y[:-1])
