"""Explicit methods that start from rest: steps are short enough to see what moves the mechanism later."""

import numpy as np
import pytest

import mbdae
from mbdae import Adams, DormandPrince, HalfExplicit
from mbdae.integrators.explicit.rest import MANY, at_rest, longest_step

from .helpers import relative


def kicked(omega):
    """A mass that hangs at rest on a spring, and is kicked smoothly from 5 s on for 0.3 s."""

    def kick(t, r, A, v, omega, F, T):
        if 5.0 < t < 5.3:
            F[0, 1] = 10.0 * np.sin(np.pi * (t - 5.0) / 0.3)**4

    body = mbdae.PlanarBody("mass", 1.0, 0.1, (0.0, 0.0), 0.0)
    spring = mbdae.TSDA("spring", "ground", "mass", s_i=(0.0, 1.0, 0.0), k=omega**2, c=0.02 * omega, l0=1.0)
    mechanism = mbdae.Mechanism("kicked", [body], [], forces=[spring, mbdae.UserForce("kick", ("mass",), kick)], gravity=(0, 0, 0))
    return mbdae.System(mechanism)


def test_nothing_moves_by_a_tolerance_at_rest():
    weights = np.array([1e6, 1e4])
    assert at_rest(np.array([0.0, 0.0]), weights, 10.0)
    assert at_rest(np.array([1e-8, -1e-6]), weights, -10.0)
    assert not at_rest(np.array([0.0, -2e-5]), weights, 10.0)


@pytest.mark.parametrize("scale", (1e-4, 1.0, 1e4))
def test_the_power_method_finds_the_fastest_vibration(scale):
    omega, damping = np.array([1.0, 7.0, 77.0]) * scale, 0.02
    G = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.diag(omega**2), -np.diag(2 * damping * omega)]])
    step = longest_step(lambda y: G @ y, np.zeros(6), np.zeros(6), 1e6 / scale, 6.0)
    assert step == pytest.approx(1e3 / scale)  # the time span is so long that the least step counts
    step = longest_step(lambda y: G @ y, np.zeros(6), np.zeros(6), 10.0 / scale, 6.0)
    assert step == pytest.approx(6.0 / omega[-1], rel=0.1)


def test_without_rates_there_is_no_limit():
    free = np.block([[np.zeros((2, 2)), np.eye(2)], [np.zeros((2, 4))]])
    assert longest_step(lambda y: free @ y, np.zeros(4), np.zeros(4), 10.0, 6.0) == np.inf


def test_jumps_of_friction_at_rest_do_not_shorten_steps_without_end():
    assert longest_step(lambda y: np.array([y[1], -np.sign(y[1])]), np.zeros(2), np.zeros(2), 10.0, 6.0) == 10.0 / MANY


@pytest.mark.parametrize("method", (DormandPrince(), DormandPrince(order=5), HalfExplicit(), Adams()),
                         ids=("8", "5", "half-explicit", "Adams"))
@pytest.mark.parametrize("t0, t_end", ((0.0, 20.0), (-3.0, 20.0)))
def test_a_kick_after_rest_is_met(method, t0, t_end):
    system = kicked(60.0)
    start = mbdae.assemble(system, t=t0)
    times = np.linspace(t0, t_end, 101)
    kwargs = dict(state=start, t_eval=times)
    want = mbdae.solve(system, DormandPrince(max_step=2e-3), (t0, t_end), rtol=1e-11, atol=1e-13, **kwargs)
    scale = np.abs(want.v).max()
    for rtol in (1.3e-4, 1e-4, 8e-5, 1e-6):
        found = mbdae.solve(system, method, (t0, t_end), rtol=rtol, atol=rtol / 100, **kwargs)
        assert found.success
        assert np.abs(found.v - want.v).max() < 300 * rtol * (scale + 0.01)  # 1e4 and more if the kick is passed over


@pytest.mark.parametrize("rtol", [f * 1e-4 for f in (0.8, 0.9, 1.0, 1.1, 1.25)])
def test_the_truck_meets_its_hump(rtol):
    system, times = mbdae.library.system("truck"), np.linspace(0.0, 2.0, 51)
    want = mbdae.solve(system, DormandPrince(max_step=0.01), (0.0, 2.0), rtol=1e-11, atol=1e-13, t_eval=times)
    found = mbdae.solve(system, DormandPrince(), (0.0, 2.0), rtol=rtol, atol=rtol / 100, t_eval=times)
    assert relative(found.v, want.v) < 30 * rtol


def test_a_user_exception_at_rest_arrives_unchanged():
    class Broken(Exception):
        pass

    def force(t, r, A, v, omega, F, T):
        if v[0, 0] != 0.0:
            raise Broken("moves")

    body = mbdae.PlanarBody("mass", 1.0, 0.1, (0.0, 0.0), 0.0)
    mechanism = mbdae.Mechanism("broken", [body], [], forces=[mbdae.UserForce("force", ("mass",), force)], gravity=(0, 0, 0))
    with pytest.raises(Broken, match="moves"):
        mbdae.solve(mbdae.System(mechanism), DormandPrince(), (0.0, 1.0))
