"""Gauss and SPARK methods on large systems: shorter steps in the place of the coupled matrix, and the matrix where forces are stiff."""

from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import DormandPrince, ProjectedGauss, Spark, Status, library

from .helpers import assert_resumes_bit_for_bit

METHODS = pytest.mark.parametrize("method", [ProjectedGauss(h=None), Spark(h=None)], ids=["ProjectedGauss", "Spark"])
END = 0.5


@cache
def chain(links):
    return library.system("chain", links=links)


@cache
def exact(links):
    run = mbdae.solve(chain(links), DormandPrince(), (0.0, END), rtol=1e-11, atol=1e-13, t_eval=[END])
    assert run.success
    return run


@METHODS
@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-6])
def test_large_systems_take_shorter_steps(method, rtol):
    run = mbdae.solve(chain(64), method, (0.0, END), rtol=rtol, atol=rtol / 100, t_eval=[END])
    assert run.success, run.message
    assert run.statistics.jacobians == 0 and run.statistics.steps < 60 and run.statistics.rejected_newton < 10
    for name in ("q", "v"):
        x, y = getattr(run, name)[-1], getattr(exact(64), name)[-1]
        assert np.abs(x - y).max() < 20.0 * rtol * np.abs(y).max()


@METHODS
def test_steps_grow_after_a_tiny_first_one(method):
    """Corrections at rounding have no contraction rate."""
    run = mbdae.solve(chain(16), type(method)(h=None, first_step=1e-12), (0.0, END), rtol=1e-4, atol=1e-6)
    assert run.success and run.statistics.steps < 60


@METHODS
def test_stiff_forces_need_the_matrix_in_large_systems_too(method):
    """`flyball-governor` has 132 and 204 unknowns; the simplified method would take a hundred times as many steps."""
    run = mbdae.solve(library.system("flyball-governor"), method, (0.0, 1.0), rtol=1e-3, atol=1e-5)
    assert run.success and run.statistics.steps < 200 and run.statistics.jacobians > 0


@METHODS
@pytest.mark.parametrize("rtol", [1e-5, 1e-7])
def test_stiff_forces_at_small_tolerances(method, rtol):
    run = mbdae.solve(library.system("flyball-governor"), method, (0.0, 0.2), rtol=rtol, atol=rtol / 100, t_eval=[0.2])
    true = mbdae.solve(library.system("flyball-governor"), mbdae.RadauIIA(), (0.0, 0.2), rtol=1e-10, atol=1e-12, t_eval=[0.2])
    assert run.success and true.success
    assert np.abs(run.q[-1] - true.q[-1]).max() < 20.0 * rtol * np.abs(true.q[-1]).max()


@pytest.mark.parametrize("method", [ProjectedGauss(h=0.3), Spark(h=0.3)], ids=["ProjectedGauss", "Spark"])
def test_steps_of_fixed_length_fail_at_once_where_the_matrix_would_be_too_large(method):
    run = mbdae.solve(chain(256), method, (0.0, 0.6))
    assert run.status == Status.NEWTON_FAILED and run.statistics.jacobians == 0
    assert "Newton's method diverged" in run.message and "take shorter steps" in run.message


@pytest.mark.parametrize(("name", "rtol", "t_end"), [
    ("chain", 1e-3, 0.3), ("closed-loop-bars", 1e-6, 1.5), ("flyball-governor", 1e-3, 0.2)])
@METHODS
def test_a_run_that_is_resumed_goes_on_bit_for_bit(method, name, rtol, t_end, tmp_path):
    system = chain(16) if name == "chain" else library.system(name)

    def run(resume=None, **options):
        return mbdae.solve(system, type(method)(h=None, **options), (0.0, t_end), rtol=rtol, atol=rtol / 100.0, resume=resume)

    assert_resumes_bit_for_bit(run, tmp_path / "part.npz")
