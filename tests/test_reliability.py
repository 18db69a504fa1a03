"""The fault matrix, for some methods; all of them: `python -m tests.reliability`."""

import pytest

from mbdae.registry import find
from mbdae.studies import grid

from .helpers import need
from .reliability.fault import FAULTS
from .reliability.matrix import carry_out
from .reliability.outcomes import Outcome, Promise, outcome
from .reliability.subjects import Subject
from .reliability.tolerances import Case, amplification, growth, kept, replaced, section, short, steps_back

QUICK = ("HalfImplicit", "Ida")
OTHERS = ("FullyImplicit", "GeneralizedAlpha:stabilised", "HHT", "NullSpaceHHT", "ProjectedGauss:2", "Rattle:2", "Spark:4", "Spark:lobatto",
          "Spark:adaptive", "Bdf", "RosenbrockNystrom", "Automatic", "DormandPrince:8", "HalfExplicit",
          "Adams", "RadauIIA", "SolveIvp:DOP853", "Cvode:BDF", "Odes:ddaspk", "Assimulo:Radau5DAE", "Radau13", "Projected:HalfImplicit")
BY_NAME = pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)


def check(fault, name):
    family = find(name.removeprefix("Projected:")).family
    if family.availability() is not None:
        need(family)
    cell = carry_out(fault, Subject(name))
    assert cell.outcome.good, cell.outcome


@pytest.mark.thorough
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


# --- error over tolerance ------------------------------------------------------------------------------------------------


def _rows(errors):
    return [grid.RunRow("m", 1.0, 1, "A", "index3", "rtol", 10.0**-k, 10.0**(-k - 2), tolerances_q=x, tolerances_v=2 * x,
                        error_q_max=x * 10.0**-k) for k, x in zip(range(4, 11), errors)]


def test_the_growth_of_error_over_tolerance_is_measured():
    flat, growing = _rows([3.0] * 7), _rows([2.0**k for k in range(7)])
    assert growth(flat) == pytest.approx(1.0) and growth(growing) == pytest.approx(2.0)
    assert steps_back(growing) == 0 and steps_back(_rows([1.0, 11.0, 1.0, 1.0, 1.0, 30.0, 30.0])) == 2
    assert [short(x) for x in (2.5e5, 123.4, 7.26, 0.314, 0.00123)] == ["2e5", "123", "7.3", "0.31", "1e-3"]


def test_the_section_on_tolerances_is_kept_and_replaced():
    cases = [Case(grid.Target.of("double-pendulum", t_end=2.0), _rows([200.0, *[3.0] * 6]), 10.0)]
    text = section(cases, 60.0)
    assert "| A | 200 (m, 1e-4) | 400 (m, 1e-4) | 1 | 1 |" in text and "| A | **200** / **400** | 3 / 6 |" in text
    first = replaced("# page\n\nrest\n", text)
    assert kept(first) == text and replaced(first, text) == first and first.startswith("# page\n\nrest\n\n## ")


@pytest.mark.thorough
def test_errors_follow_the_tolerance():
    """One mechanism of the table: with estimates of an order less than the method's own, or errors of steps that fall like `rtol^(3/2)`."""
    target = grid.Target.of("double-pendulum", t_end=2.0)
    assert 3.0 < amplification(target) < 30.0
    methods = ["RosenbrockNystrom", "SdirkFirstOrder", "SdirkDescriptor", "HHT"]
    table = grid.study("tolerance", [target], methods=methods, rtol=(1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9))
    for k in range(4):
        curve = table.rows[6 * k:6 * k + 6]
        assert 0.8 < growth(curve) < 1.25, curve[0].method
        assert steps_back(curve) == 0
