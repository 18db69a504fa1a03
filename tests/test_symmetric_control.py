"""Step-size control of `Spark` and `ProjectedGauss`: errors over tolerances, order of the estimate, output, failures."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import mbdae
from mbdae import ProjectedGauss, Spark, Status, library
from mbdae.integrators.control import driver
from mbdae.integrators.gauss.error import combined

from .helpers import relative
from .test_explicit_rest import kicked

SPANS = {"double-spherical-pendulum": 2.0, "heavy-top": 0.5, "spatial-four-bar": 1.0, "andrews": 0.03, "stewart-platform": 0.3,
         "bricard": 1.0, "car-axis": 1.0}
METHODS = {"SPARK": Spark(h=None), "Lobatto": Spark(h=None, pair="lobatto"), "order 4": Spark(h=None, order=4),
           "order 8": Spark(h=None, order=8), "Gauss": ProjectedGauss(h=None), "2 stages": ProjectedGauss(h=None, stages=2)}
ALL = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
TWO = pytest.mark.parametrize("method", (METHODS["SPARK"], METHODS["Gauss"]), ids=("SPARK", "Gauss"))


@cache
def system_of(name):
    return library.system(name)


@cache
def exact(name, t_end):
    x = mbdae.solve(system_of(name), mbdae.DormandPrince(max_step=t_end / 100), (0.0, t_end), rtol=2e-13, atol=2e-15, t_eval=[t_end])
    assert x.success
    return x


def solved(name, method, rtol, t_span, **options):
    x = mbdae.solve(system_of(name), method, t_span, rtol=rtol, atol=rtol / 100, **options)
    assert x.success, x.message
    return x


def over_tolerance(name, method, rtol):
    """Errors of positions and velocities at the end, the larger one, relative to the tolerance."""
    x, best = solved(name, method, rtol, (0.0, SPANS[name])), exact(name, SPANS[name])
    return max(relative(x.q[-1], best.q[-1]), relative(x.v[-1], best.v[-1])) / rtol


@TWO
@pytest.mark.parametrize("name", SPANS)
def test_errors_are_proportional_to_the_tolerance(name, method):
    found = np.array([over_tolerance(name, method, rtol) for rtol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)])
    absolute = found * 10.0 ** -np.arange(8)
    assert max(found) < 20.0
    assert ((absolute[2:] < absolute[:-2]) | (found[2:] < 0.01)).all()  # two decades of the tolerance always count


@ALL
@pytest.mark.parametrize("name", SPANS)
def test_errors_with_other_formulas(name, method):
    assert max(over_tolerance(name, method, rtol) for rtol in (1e-3, 1e-6, 1e-8)) < 40.0


@pytest.mark.parametrize("pair", ["gauss-lobatto", "lobatto"])
def test_order_two_is_controlled_too(pair):
    for rtol in (1e-3, 1e-5, 1e-7):
        assert over_tolerance("spatial-four-bar", Spark(h=None, order=2, pair=pair), rtol) < 40.0


@TWO
@pytest.mark.parametrize("name", ["double-spherical-pendulum", "andrews"])
def test_the_way_back_and_another_start_of_time(name, method):
    t = SPANS[name]
    end = mbdae.State(t, *(getattr(exact(name, t), x)[-1] for x in ("q", "v", "a", "lam")))
    start = system_of(name).start
    for rtol in (1e-4, 1e-7, 1e-10):
        back = solved(name, method, rtol, (t, 0.0), state=end)
        assert back.t[-1] == 0.0 and relative(back.q[-1], start.q) < 40.0 * rtol
        later = solved(name, method, rtol, (100.0, 100.0 + t), state=mbdae.assemble(system_of(name), 100.0, start.q, start.v))
        assert relative(later.v[-1], exact(name, t).v[-1]) < 40.0 * rtol


@ALL
def test_kinks_of_the_loads(method):
    """Those of the closed loop of bars at 0.5 s and 1 s."""
    best = mbdae.solve(system_of("closed-loop-bars"), mbdae.DormandPrince(max_step=2e-3), (0.0, 1.5), rtol=2e-13, atol=2e-15)
    for rtol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10):
        x = solved("closed-loop-bars", method, rtol, (0.0, 1.5))
        assert relative(x.v[-1], best.v[-1]) < 100.0 * rtol


@ALL
@pytest.mark.parametrize("t0", (0.0, -3.0))
def test_a_kick_after_rest_is_met(method, t0):
    system, times = kicked(60.0), np.linspace(t0, 20.0, 101)
    start = mbdae.assemble(system, t=t0)
    best = mbdae.solve(system, mbdae.DormandPrince(max_step=2e-3), (t0, 20.0), state=start, t_eval=times, rtol=1e-11, atol=1e-13)
    for rtol in (1.3e-4, 1e-6):
        x = mbdae.solve(system, method, (t0, 20.0), rtol=rtol, atol=rtol / 100, state=start, t_eval=times)
        assert np.abs(x.v - best.v).max() < 300.0 * rtol * (np.abs(best.v).max() + 0.01)


@TWO
@pytest.mark.parametrize("rtol", [1e-4, 1e-7])
def test_the_truck_meets_its_hump(method, rtol):
    times = np.linspace(0.0, 2.0, 51)
    best = mbdae.solve(system_of("truck"), mbdae.DormandPrince(max_step=0.01), (0.0, 2.0), rtol=1e-11, atol=1e-13, t_eval=times)
    assert relative(solved("truck", method, rtol, (0.0, 2.0), t_eval=times).v, best.v) < 30.0 * rtol


# --- the estimate ----------------------------------------------------------------------------------------------------------------


def estimated(monkeypatch, method, h):
    """The error of one step of this length, in units of the tolerances."""
    found, original = [], driver.Driver.to_end

    def to_end(self):
        x = original(self)
        found.append(self.stepper.clock.past_error)
        return x

    monkeypatch.setattr(driver.Driver, "to_end", to_end)
    x = mbdae.solve(system_of("double-spherical-pendulum"), method(h), (0.0, h), rtol=1e-6, atol=1.0)
    assert x.statistics.steps == 1
    return found[0]


@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize("make", [lambda n, h: Spark(h=None, order=n, first_step=h),
                                  lambda n, h: Spark(h=None, order=n, pair="lobatto", first_step=h),
                                  lambda n, h: ProjectedGauss(h=None, stages=n // 2, first_step=h)], ids=("SPARK", "Lobatto", "Gauss"))
def test_the_order_of_the_estimate(monkeypatch, make, order):
    coarse, fine = (estimated(monkeypatch, lambda h: make(order, h), h) for h in (0.04, 0.02))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.4)


@pytest.mark.parametrize("order", [6, 8])
def test_residuals_that_do_not_decrease_are_not_reduced_much(order):
    assert combined(order, 1.0, 1e-3, 1e-3) > 0.9e-3 and combined(order, 1.0, 1e-2, 0.0) == 0.0
    assert combined(order, 1.0, 1e-1, 1e-4) < 0.1e-4


# --- steps, output, failures -----------------------------------------------------------------------------------------------------


@TWO
def test_limits_of_the_step(method):
    x = solved("double-spherical-pendulum", replace(method, max_step=0.01, first_step=0.003), 1e-4, (0.0, 1.0))
    assert np.diff(x.t).max() < 0.01 * 1.0101 and x.t[1] == 0.003
    x = mbdae.solve(system_of("double-spherical-pendulum"), replace(method, max_steps=7), (0.0, 10.0))
    assert x.status == Status.TOO_MANY_STEPS and len(x.t) == 8
    few, many = (solved("double-spherical-pendulum", replace(method, controller=mbdae.StepSizeController(safety=s)), 1e-6, (0.0, 1.0))
                 for s in (1.0, 0.5))
    assert few.statistics.steps < many.statistics.steps and few.statistics.rejected_error > many.statistics.rejected_error


@TWO
def test_output_at_given_times_events_and_dense_output(method):
    rtol, times = 1e-7, np.array([0.0, 0.31, 0.3100001, 0.9, 1.0])
    best = mbdae.solve(system_of("andrews"), mbdae.DormandPrince(), (0.0, 0.03), rtol=1e-12, atol=1e-14, t_eval=0.03 * times)
    x = solved("andrews", method, rtol, (0.0, 0.03), t_eval=0.03 * times)
    assert relative(x.v, best.v) < 40.0 * rtol and x.constraint_residuals[:, 0].max() < 1e-12
    dense = solved("andrews", method, rtol, (0.0, 0.03), dense_output=True)
    assert max(relative(dense.sol(t)[1], v) for t, v in zip(best.t, best.v)) < 200.0 * rtol
    crossing = solved("double-spherical-pendulum", method, 1e-8, (0.0, 2.0), events=lambda t, q, v: v[0])
    same = solved("double-spherical-pendulum", mbdae.DormandPrince(), 1e-11, (0.0, 2.0), events=lambda t, q, v: v[0])
    np.testing.assert_allclose(crossing.t_events[0], same.t_events[0], atol=1e-7)


@TWO
def test_constraints_hold_at_every_step(method):
    x = solved("spatial-four-bar", method, 1e-3, (0.0, 1.0))
    assert x.constraint_residuals[:, 0].max() < 1e-13 and x.constraint_residuals[:, 1].max() < 1e-12


@TWO
@pytest.mark.filterwarnings("ignore")
def test_failures(method):
    x = mbdae.solve(system_of("double-spherical-pendulum"), method, (0.0, 1.0), rtol=1e-16, atol=1e-18)
    assert x.status == Status.STEP_TOO_SMALL and "tolerances are below rounding" in x.message

    def vanishing(t, r, A, v, omega, F, T):
        F[0, 0] = np.sqrt(0.5 - t)

    body = mbdae.PlanarBody("mass", 1.0, 0.1, (0.0, 0.0), 0.0)
    m = mbdae.Mechanism("vanishing", [body], [], forces=[mbdae.UserForce("push", ("mass",), vanishing)], gravity=(0, 0, 0))
    x = mbdae.solve(m, method, (0.0, 1.0))
    assert x.status in (Status.NOT_FINITE, Status.STEP_TOO_SMALL) and 0.49 < x.t[-1] <= 0.5 and "push" in x.message


def test_parameters():
    assert Spark(h=None).label == "Spark(6, adaptive)" and Spark(h=None).step_size is None and Spark(h=0.1).step_size == 0.1
    assert ProjectedGauss(h=None).label == "ProjectedGauss(3, adaptive, PVA)"
    assert ProjectedGauss(h=None, stages_hold="ggl").label == "ProjectedGauss(3, adaptive, PVA, GGL stages)"
    for wrong, what in (({"h": 0.1, "first_step": 0.1}, "first_step is for step-size"), ({"h": 0.1, "max_step": 1.0}, "max_step is"),
                        ({"h": 0.1, "controller": mbdae.PI}, "need no controller"), ({"h": None, "max_steps": 0}, "max_steps must be"),
                        ({"h": None, "first_step": -1.0}, "first_step must be"), ({"h": None, "max_step": 0.0}, "max_step must be")):
        for method in (Spark, ProjectedGauss):
            with pytest.raises(ValueError, match=f"{method.__name__}: .*{what}" if "controller" not in what else what):
                method(**wrong)
    for wrong in ({"stages_hold": "position"}, {"project": "PV"}, {"project": ""}):
        with pytest.raises(ValueError, match="step-size control, h=None, needs"):
            ProjectedGauss(h=None, **wrong)
    for atol in (0.0, -1.0, [1e-6, 1e-6], float("nan")):
        with pytest.raises(ValueError, match="atol"):
            mbdae.solve(system_of("double-spherical-pendulum"), Spark(h=None), (0.0, 0.1), atol=atol)


def test_a_tolerance_for_each_position_and_velocity():
    s = system_of("double-spherical-pendulum")
    x, y = (mbdae.solve(s, Spark(h=None), (0.0, 1.0), rtol=1e-6, atol=atol) for atol in (1e-8, np.full(s.nq + s.nv, 1e-8)))
    np.testing.assert_array_equal(x.q, y.q)


def test_by_name():
    for name, kind in (("Spark:adaptive", Spark(h=None)), ("Spark:4:lobatto:adaptive", Spark(h=None, order=4, pair="lobatto")),
                       ("ProjectedGauss:adaptive", ProjectedGauss(h=None)),
                       ("ProjectedGauss:2:adaptive", ProjectedGauss(h=None, stages=2))):
        spec = mbdae.registry.find(name)
        assert (spec.control, spec.make()) == ("rtol", kind)
        assert mbdae.registry.find(f"{name}:index3").formulation == "index3"
    assert mbdae.registry.find("Spark").control == "h" and mbdae.registry.find("Spark:4").family.forms("4") == ()
