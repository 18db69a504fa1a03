"""A single value that is not finite, in any evaluation: the solution is that without it, or the run ends and says so; none hangs."""

import numpy as np
import pytest

import mbdae
from mbdae import Status
from mbdae.adapters.assimulo import Assimulo

from .helpers import thorough_but
from .reliability.models import T_END, pendulum
from .reliability.subjects import Subject, subjects

TIMES = np.linspace(0.0, T_END, 21)
BOUND = 100.0  # tolerances
# their difference quotients or their error tests would take the value for one of the solution
TRIED = ("Assimulo:Radau5DAE", "Assimulo:ODASSL", "Assimulo:GLIMDA", "Odes:lsodi", "Odes:dop853", "SolveIvp:Radau", "SolveIvp:BDF", "Bdf",
         "RadauIIA", "DormandPrince:8")
ENDS = (Status.NOT_FINITE, Status.STEP_TOO_SMALL, Status.NEWTON_FAILED, Status.SOLVER_FAILED, Status.PROJECTION_FAILED)


class Once:
    """The law of a spring, with NaN in the place of its value number `at`."""

    def __init__(self, at=0):
        self.at, self.calls = at, 0

    def __call__(self, length, rate, t):
        self.calls += 1
        return np.nan if self.calls == self.at else 0.1 * length


def differences(solve, count):
    """`(evaluation, difference in tolerances)` of the runs that end with success, over evaluations spread evenly in their logarithms."""
    law = Once()
    exact = solve(law)
    assert exact.success, exact.message
    for at in np.unique(np.geomspace(5, law.calls, count).astype(int)):
        found = solve(Once(at))
        assert found.success or found.status in ENDS, found.message
        if found.success:
            yield at, np.abs(found.q - exact.q).max() / 1e-6


def check(solve, count):
    wrong = [(int(at), x) for at, x in differences(solve, count) if not x < BOUND]
    assert not wrong, wrong


NAMES = [s.name for s in subjects() if not s.fixed and not s.name.startswith("Projected:")]


@pytest.mark.parametrize("name", thorough_but(tuple(x for x in TRIED if x in NAMES), NAMES))
def test_the_solution_is_right_or_the_run_ends(name):
    """Found by it: a derivative of 1e60 in RADAU5, ODASSL and GLIMDA, a state of 1e62 in DOP853, an exception of SciPy."""
    check(lambda law: Subject(name).solve(pendulum(law=law), (0.0, T_END), t_eval=TIMES), 40)


@pytest.mark.thorough
@pytest.mark.parametrize("t_span", [(2.0, 2.0 - T_END), (-1.0, T_END - 1.0)])
@pytest.mark.parametrize("name", [x for x in TRIED if x in NAMES])
def test_backward_and_from_other_times(name, t_span):
    check(lambda law: Subject(name).solve(pendulum(law=law), t_span, t_eval=np.linspace(*t_span, 21)), 60)


@pytest.mark.thorough
@pytest.mark.parametrize("solver", ["Radau5DAE", "ODASSL", "GLIMDA"])
@pytest.mark.parametrize("backend", ["library", "wrapper"])
def test_every_evaluation_of_codes_with_quotients_of_their_own(solver, backend):
    if not Assimulo.availability().installed:
        pytest.skip("Assimulo is not installed")
    method = Assimulo(solver, backend=backend)
    check(lambda law: mbdae.solve(pendulum(law=law), method, (0.0, T_END), rtol=1e-6, atol=1e-8, t_eval=TIMES), 200)
