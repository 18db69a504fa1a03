"""pyradau13: the traps of the package, each of which the adapter guards against."""

import numpy as np
import pytest

import mbdae
from mbdae import MassMatrix, Status
from mbdae.adapters.radau13 import Radau13, radau13_arguments
from mbdae.adapters.scipy import SolveIvp

from .helpers import falls_below, mass_start, slider_crank, with_law

package = pytest.importorskip("pyradau13", reason="pyradau13 is not installed: pip install ./solvers/pyradau13")


@pytest.fixture(autouse=True, params=["library", "wrapper"])
def backend(request, monkeypatch):
    """Through both ways to the code."""
    if request.param == "wrapper":
        monkeypatch.setattr("mbdae.adapters.radau13.called_directly", lambda *arguments: False)


def test_unknowns_come_in_the_order_of_their_index(system):
    """Trap: RADAU takes numbers of unknowns of index 1, 2 and 3 that follow each other; in another order it fails."""
    for level, accelerations in ((3, False), (3, True), (2, False), (2, True), (1, True)):
        problem = MassMatrix(system, level, accelerations)
        assert (np.diff(problem.index) >= 0).all()
        arguments = radau13_arguments(problem)
        assert [arguments[f"dae_index_{k}_count"] for k in (1, 2, 3)] == [int((problem.index == k).sum()) for k in (1, 2, 3)]
    problem, y0 = mass_start(system)
    wrong = radau13_arguments(problem) | {"dae_index_1_count": problem.n, "dae_index_2_count": 0, "dae_index_3_count": 0, "max_steps": 2000}
    with pytest.raises(RuntimeError, match="radau failed"):
        package.radau13(**wrong, y0=y0, t=0.3)


def test_both_tolerances_are_vectors(system):
    """Trap: the package refuses a vector of absolute tolerances together with one relative tolerance."""
    problem, y0 = mass_start(system)
    arguments = radau13_arguments(problem)
    assert arguments["reltol"].shape == arguments["abstol"].shape == (problem.n,)
    with pytest.raises(ValueError, match="reltol/abstol"):
        package.radau13(**(arguments | {"reltol": 1e-6}), y0=y0, t=0.1)


@pytest.mark.parametrize("order", [9, 13])
def test_high_orders_are_refused_in_index_3(order):
    """Trap: with friction order 13 ends with success on a motion that is wrong by a radian."""
    system = mbdae.System(slider_crank())
    with pytest.raises(ValueError, match=rf"Radau13: in index 3 steps of order {order} .* MassMatrix\(system, level=2\) or level=1"):
        mbdae.solve(MassMatrix(system, 3), Radau13(order), (0.0, 0.3))
    with pytest.raises(ValueError, match=f"radau13_arguments: in index 3 steps of order {order}"):
        radau13_arguments(MassMatrix(system, 3), order=order)
    expected = mbdae.solve(system, SolveIvp(), (0.0, 0.3), rtol=1e-9, atol=1e-11, t_eval=[0.3])
    for method, level in ((Radau13(), 3), (Radau13(order), 2), (Radau13(order), 1)):
        s = mbdae.solve(MassMatrix(system, level), method, (0.0, 0.3), rtol=1e-5, atol=1e-7, t_eval=[0.3])
        np.testing.assert_allclose(s.q, expected.q, atol=1e-4)


def test_last_steps_of_rounding_size_succeed(system):
    """Trap: a step that ends just before the end of the time span leaves one that RADAU takes for too small."""
    problem = MassMatrix(system, 2)
    for t in mbdae.solve(problem, Radau13(), (0.0, 0.3)).t[6:-1]:
        end = float(np.nextafter(t, 1.0))
        s = mbdae.solve(problem, Radau13(), (0.0, end))
        assert s.success, s.message
        assert s.t[-1] == end


def test_what_has_been_raised_once_is_raised_again(system):
    """Trap: RADAU goes on after an exception, and Python then makes a SystemError of the next call that succeeds."""
    error = ValueError("of the user")

    def law(length, rate, t):
        if t > 0.1:
            raise error
        return 0.1 * length

    problem, y0 = mass_start(with_law(law))
    arguments = radau13_arguments(problem, events=[falls_below])
    assert np.isfinite(arguments["rhs_fn"](0.0, y0)).all()
    for call in (lambda: arguments["rhs_fn"](0.2, y0), lambda: arguments["rhs_fn"](0.0, y0), lambda: arguments["jacobian_fn"](0.0, y0),
                 lambda: arguments["dense_callback"](0.0, 0.0, y0, None)):
        with pytest.raises(ValueError) as caught:
            call()
        assert caught.value is error


def test_steps_do_not_shrink_without_limit():
    """Trap: at time zero RADAU takes no step for too small, and goes on by steps of 1e-20 s."""
    s = mbdae.solve(with_law(lambda length, rate, t: 1e30 if t > 0.0 else 0.0), Radau13(max_steps=2000), (0.0, 0.1))
    assert s.status == Status.STEP_TOO_SMALL
    assert s.statistics.residuals < 1000
