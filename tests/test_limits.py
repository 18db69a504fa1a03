"""Limits of a system of functions: a run that leaves them does not end with success, whatever carries it out."""

import numpy as np
import pytest

import mbdae
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Ida

from .helpers import thorough_but

METHODS = (mbdae.HalfImplicit(h=1e-3), mbdae.HHT(), mbdae.ProjectedGauss(h=1e-2), mbdae.Spark(h=1e-2), mbdae.RosenbrockNystrom(),
           mbdae.Bdf(), Ida(), SolveIvp("DOP853"), mbdae.DormandPrince(), mbdae.RadauIIA())
QUICK = (mbdae.HalfImplicit(h=1e-3), Ida(), SolveIvp("DOP853"))


def swing(limits, force=None):
    """A particle on a circle, at rest on the level of its centre."""
    return mbdae.System.from_functions(
        nq=2, nc=1, mass=lambda t, q: np.eye(2), force=force or (lambda t, q, v: np.array([0.0, -9.81]) + 0.0 * v),
        phi=lambda t, q: np.array([0.5 * (q @ q - 1.0)]), phi_q=lambda t, q: q[None, :], gamma=lambda t, q, v: np.array([-(v @ v)]),
        nu=lambda t, q: np.zeros(1), q0=[1.0, 0.0], limits=limits)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.label)
def test_a_run_ends_with_the_first_state_outside(method):
    system = swing({"the rod breaks": lambda t, q, v, lam: 20.0 - abs(lam[0])})
    found = mbdae.solve(system, method, (0.0, 1.0), t_eval=np.linspace(0.0, 1.0, 101))
    free = mbdae.solve(swing(None), method, (0.0, 1.0), t_eval=np.linspace(0.0, 1.0, 101))
    last = int(np.argmax(np.abs(free.lam[:, 0]) > 20.0))
    assert found.status == mbdae.Status.OUT_OF_LIMITS and len(found.t) == last + 1
    for name in ("t", "q", "v", "a", "lam"):
        np.testing.assert_array_equal(getattr(found, name), getattr(free, name)[:last + 1])
    assert found.message.startswith(f"the rod breaks at t = {found.t[-1]:.9g}")


def test_a_run_within_its_limits_is_as_without():
    found = mbdae.solve(swing({"the rod breaks": lambda t, q, v, lam: 1e3 - abs(lam[0])}), Ida(), (0.0, 1.0))
    assert found.success and found.t[-1] == 1.0


def test_limits_see_copies_and_may_raise():
    def careless(t, q, v, lam):
        q[:] = v[:] = lam[:] = 0.0
        return 1.0

    def raising(t, q, v, lam):
        raise KeyError("mine")

    same = mbdae.solve(swing({"never": careless}), Ida(), (0.0, 0.5))
    np.testing.assert_array_equal(same.q, mbdae.solve(swing(None), Ida(), (0.0, 0.5)).q)
    with pytest.raises(KeyError, match="mine"):
        mbdae.solve(swing({"never": raising}), Ida(), (0.0, 0.5))


def test_a_failed_run_keeps_its_status():
    system = swing({"late": lambda t, q, v, lam: 0.3 - t}, force=lambda t, q, v: np.array([0.0, -9.81 if t < 0.35 else np.nan]) + 0.0 * v)
    found = mbdae.solve(system, Ida(), (0.0, 1.0))
    assert found.status == mbdae.Status.NOT_FINITE and found.t[found.t > 0.3].size == 1


@pytest.mark.parametrize("limits", [{"x": 1.0}, {1: lambda t, q, v, lam: 1.0}])
def test_what_is_no_limit_is_refused(limits):
    with pytest.raises(ValueError, match="limits must be functions by name"):
        swing(limits)


def test_limits_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="the limit 'x' must give a number"):
        mbdae.solve(swing({"x": lambda t, q, v, lam: np.nan}), Ida(), (0.0, 0.1))


@pytest.mark.parametrize("method", thorough_but(QUICK, METHODS), ids=lambda m: m.label)
def test_what_belongs_to_later_times_is_cut_off(method):
    """Events and dense output end with the last state; an event that ends the run before is a success."""
    system = swing({"the rod breaks": lambda t, q, v, lam: 20.0 - abs(lam[0])})
    lowest = lambda t, q, v: q[0]  # noqa: E731
    found = mbdae.solve(system, method, (0.0, 2.5), events=lowest, dense_output=True)
    whole = mbdae.solve(swing(None), method, (0.0, 2.5), events=lowest, dense_output=True)
    assert found.status == mbdae.Status.OUT_OF_LIMITS and len(whole.t_events[0]) >= 1
    assert all(t <= found.t[-1] for t in found.t_events[0]) and found.t[-1] < whole.t_events[0][-1]
    np.testing.assert_array_equal(found.sol(found.t[-1])[0], whole.sol(found.t[-1])[0])
    with pytest.raises(ValueError, match="t must lie in"):
        found.sol(2.0)

    def early(t, q, v):
        return 0.1 - t

    early.terminal = True
    stopped = mbdae.solve(system, method, (0.0, 2.5), events=early)
    assert stopped.success and stopped.t[-1] == pytest.approx(0.1)
