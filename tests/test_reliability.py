"""The fault matrix, for some methods; all of them: `python -m tests.reliability`."""

import pytest

from mbdae.registry import find

from .helpers import need
from .reliability.fault import FAULTS
from .reliability.matrix import carry_out
from .reliability.outcomes import Outcome, Promise, outcome
from .reliability.subjects import Subject

QUICK = ("HalfImplicit", "Ida")
OTHERS = ("FullyImplicit", "GeneralizedAlpha:stabilised", "HHT", "NullSpaceHHT", "ProjectedGauss:2", "Bdf", "RosenbrockNystrom",
          "SolveIvp:DOP853", "Cvode:BDF", "Odes:ddaspk", "Assimulo:Radau5DAE", "Radau13", "Projected:HalfImplicit")
BY_NAME = pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)


def check(fault, name):
    family = find(name.removeprefix("Projected:")).family
    if family.availability() is not None:
        need(family)
    cell = carry_out(fault, Subject(name))
    assert cell.outcome.good, cell.outcome


@pytest.mark.parametrize("method", QUICK)
@BY_NAME
def test_faults(fault, method):
    check(fault, method)


@pytest.mark.thorough
@pytest.mark.parametrize("method", OTHERS)
@BY_NAME
def test_faults_in_other_methods(fault, method):
    check(fault, method)


def test_defects_are_seen():
    """The judge itself: a wrong success, a nameless end, a foreign exception."""
    subject, fault = Subject("HalfImplicit"), next(f for f in FAULTS if f.name == "nan of a Python law")
    trial = fault.make(subject)
    ended = trial.promise

    def judged(promise, run=trial.run):
        return outcome(run, promise, 1e-4, 10.0).kind

    assert judged(ended) == "ended"
    assert judged(Promise(ended.before, ended.statuses, ended.window, ended.before, "another force")) == "unnamed"
    assert judged(Promise(ended.before, (), ended.window)) == "unnamed"
    assert judged(Promise(None, ended.statuses, (0.1, 0.2), None, "band 2")) == "lost"
    assert judged(Promise(None, ended.statuses, ended.window, lambda t: tuple(x + 0.1 for x in ended.before(t)), "band 2")) == "lost"

    def raises():
        raise KeyError("x")

    assert judged(ended, raises) == "other"
    calm = next(f for f in FAULTS if f.name == "tiny time span").make(subject)
    assert judged(Promise(), calm.run) == "wrong"
    assert judged(Promise(lambda t: tuple(x + 0.1 for x in ended.before(t))), calm.run) == "wrong"
    assert isinstance(outcome(calm.run, calm.promise, 1e-4, 10.0), Outcome)
