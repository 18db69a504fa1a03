"""What users are handed are copies: writing to them changes nothing but them."""

import numba
import numpy as np
import pytest

import mbdae
from mbdae import HalfImplicit, ProjectedGauss
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida
from mbdae.integrators.projected import Projected

from .helpers import double_pendulum

METHODS = {"half-implicit": HalfImplicit(h=1e-3), "Gauss": ProjectedGauss(h=5e-3), "SPARK": mbdae.Spark(h=5e-3), "HHT": mbdae.HHT(),
           "Rosenbrock": mbdae.RosenbrockNystrom(), "explicit": mbdae.DormandPrince(), "Bdf": mbdae.Bdf(), "Radau IIA": mbdae.RadauIIA(),
           "IDA": Ida(), "DOP853": SolveIvp("DOP853"),
           "projected": Projected(HalfImplicit(h=1e-3), "PVA")}
COLUMNS = ("t", "q", "v", "a", "lam")


def same(x, y):
    assert x.success and y.success
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(x, name), getattr(y, name))


def test_the_start_of_a_system_cannot_be_changed():
    system = mbdae.System(double_pendulum())
    before = mbdae.solve(system, HalfImplicit(h=1e-3), (0.0, 0.01))
    start = system.start
    for name in ("q", "v", "a", "lam"):
        getattr(start, name)[:] = 7.0
        getattr(system.start, name)[:] = 7.0
    same(mbdae.solve(system, HalfImplicit(h=1e-3), (0.0, 0.01)), before)
    assert not np.isin(7.0, system.start.q)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_events_cannot_change_the_solution(system, method):
    def writes(t, q, v):
        q[:], v[:] = 7.0, 7.0
        return 1.0

    def reads(t, q, v):
        return 1.0

    def stops(t, q, v):
        writes(t, q, v)
        return t - 10.0

    def would_stop(t, q, v):
        return t - 10.0

    stops.terminal = would_stop.terminal = True
    x, y = (mbdae.solve(system, method, (0.0, 0.05), events=e) for e in ([writes, stops], [reads, would_stop]))
    same(x, y)


def test_events_that_are_no_numbers_are_refused(system):
    def broken(t, q, v):
        return np.nan if t > 0.02 else 1.0

    with pytest.raises(ValueError, match=r"the event 'broken' must give a finite number, got nan at t = 0\.02"):
        mbdae.solve(system, HalfImplicit(h=1e-3), (0.0, 0.05), events=broken)


def test_an_event_without_a_return_is_refused(system):
    with pytest.raises(ValueError, match=r"the event 'forgetful' must give a finite number, got None at t = 0; it has no return"):
        mbdae.solve(system, HalfImplicit(h=1e-3), (0.0, 0.05), events=forgetful)


def forgetful(t, q, v):
    """Has no value."""


def writing_energy(t, q, v):
    value = 0.5 * v @ v + 9.81 * q[1]
    q[:], v[:] = 7.0, 7.0
    return value


def particle(spoil, decorate=lambda f: f):
    """A particle on a circle whose functions write to their arguments, or do not."""
    @decorate
    def mass(t, q):
        out = np.eye(2) + 0.0 * q[0]
        if spoil:
            q[:] = 7.0
        return out

    @decorate
    def force(t, q, v):
        out = np.array([0.0 * q[0], -9.81 + 0.0 * q[1]]) - 0.1 * v
        if spoil:
            q[:] = 7.0
            v[:] = 7.0
        return out

    @decorate
    def phi(t, q):
        out = np.array([q[0] * q[0] + q[1] * q[1] - 1.0])
        if spoil:
            q[:] = 7.0
        return out

    @decorate
    def phi_q(t, q):
        out = 2.0 * q.copy().reshape(1, 2)
        if spoil:
            q[:] = 7.0
        return out

    @decorate
    def nu(t, q):
        if spoil:
            q[:] = 7.0
        return 0.0 * q[:1]

    @decorate
    def gamma(t, q, v):
        out = np.array([-2.0 * (v[0] * v[0] + v[1] * v[1])])
        if spoil:
            q[:] = 7.0
            v[:] = 7.0
        return out

    return mbdae.System.from_functions(nq=2, nc=1, mass=mass, force=force, phi=phi, phi_q=phi_q, nu=nu, gamma=gamma, q0=[1.0, 0.0],
                                       energy=writing_energy)


@pytest.mark.parametrize("decorate", [lambda f: f, pytest.param(numba.njit, marks=pytest.mark.thorough)], ids=["Python", "compiled"])
def test_user_functions_cannot_change_the_state(decorate):
    kept, spoilt = particle(False, decorate), particle(True, decorate)
    for method in (HalfImplicit(h=1e-2), Ida(), SolveIvp("DOP853")):
        x, y = (mbdae.solve(s, method, (0.0, 0.1)) for s in (kept, spoilt))
        same(x, y)
    before = y.q.copy(), y.v.copy()
    assert np.abs(y.energy).max() < 1.0
    np.testing.assert_array_equal((y.q, y.v), before)


@pytest.mark.parametrize("formulation", [mbdae.GGL, mbdae.Index3, mbdae.Index1])
def test_jacobians_can_be_changed_in_place(formulation):
    """Zeros removed from a Jacobian leave the pattern of the problem as it is."""
    problem = formulation(mbdae.System(double_pendulum()))
    y, yd = problem.y0, problem.yd0
    before = problem.jacobian(0.0, y, yd, 10.0).toarray()
    for J in (problem.jacobian(0.0, y, yd, 10.0), *problem.jacobian_parts(0.0, y, yd)):
        assert J.nnz > np.count_nonzero(J.toarray())
        J.eliminate_zeros()
    np.testing.assert_array_equal(problem.jacobian(0.0, y, yd, 10.0).toarray(), before)
