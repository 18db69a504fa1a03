"""Runs that begin far from zero, where the spacing of floating-point times is no longer small beside the steps."""

import numpy as np
import pytest

import mbdae
from mbdae import library
from mbdae.integrators.control.loop import left_out, moved

FEW = {"HHT": mbdae.HHT(), "Bdf": mbdae.Bdf(), "DormandPrince": mbdae.DormandPrince()}
MORE = {"NullSpaceHHT": mbdae.NullSpaceHHT(), "DormandPrince:5": mbdae.DormandPrince(5), "HalfExplicit": mbdae.HalfExplicit(),
        "Adams": mbdae.Adams(),
        "RadauIIA": mbdae.RadauIIA(), "RosenbrockNystrom": mbdae.RosenbrockNystrom(), "SdirkDescriptor": mbdae.SdirkDescriptor(),
        "Trapezoidal": mbdae.TrapezoidalStateSpace(), "Spark": mbdae.Spark(h=None), "ProjectedGauss": mbdae.ProjectedGauss(h=None)}


@pytest.fixture(scope="module")
def exact():
    return mbdae.solve(library.system("double-pendulum"), mbdae.DormandPrince(), (0.0, 1.0), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", [*FEW, *(pytest.param(name, marks=pytest.mark.thorough) for name in MORE)])
@pytest.mark.parametrize("t0", (1e7, -1e8))
def test_errors_are_those_of_a_run_from_zero(name, t0, exact):
    """Steps of 1e-5 s and times that are multiples of 2e-9 or 1.5e-8 s: their rounding must not add up."""
    run = mbdae.solve(library.system("double-pendulum"), (FEW | MORE)[name], (t0, t0 + 1.0), rtol=1e-8, atol=1e-10)
    assert run.success, run.message
    assert run.t[-1] == t0 + 1.0
    for found, known in ((run.q[-1], exact.q[-1]), (run.v[-1], exact.v[-1])):
        assert np.abs(found - known).max() < 100.0 * 1e-8 * np.abs(known).max()


def test_the_first_step_of_bdf_moves_the_time():
    """Half a tolerance over the velocity is 4e-11 s here, less than the spacing of the times."""
    run = mbdae.solve(library.system("double-pendulum"), mbdae.Bdf(), (1e6, 1e6 + 1e-9), rtol=1e-6, atol=1e-8)
    assert run.success and run.t[-1] == 1e6 + 1e-9


def test_a_sum_of_many_equal_steps_is_compensated():
    t, carry, h = 1e7, 0.0, 3.7e-5
    for _ in range(10_000):
        end = moved(t, h, carry)
        carry, t = left_out(t, h, carry, end), end
    assert abs(carry) <= 0.5 * np.spacing(1e7)
    assert t + carry == pytest.approx(1e7 + 10_000 * h, abs=np.spacing(1e7))
