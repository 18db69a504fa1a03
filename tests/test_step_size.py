"""Step-size controllers: the filters alone, and in the methods with error control."""

from functools import partial

import numpy as np
import pytest

import mbdae
from mbdae import ELEMENTARY, H211B, PI, PI42, PREDICTIVE, StepSizeController, library
from mbdae.adapters.scipy import SolveIvp
from mbdae.integrators.control.step_size import step_factor

from .helpers import thorough_but

CONTROLLERS = {"elementary": ELEMENTARY, "PI": PI, "PI42": PI42, "H211b": H211B, "predictive": PREDICTIVE}
METHODS = {"RosenbrockNystrom": mbdae.RosenbrockNystrom, "SdirkDescriptor": mbdae.SdirkDescriptor,
           "SdirkFirstOrder": mbdae.SdirkFirstOrder, "TrapezoidalStateSpace": mbdae.TrapezoidalStateSpace,
           "NullSpaceHHT": mbdae.NullSpaceHHT, "HHT": mbdae.HHT,
           "DormandPrince": partial(mbdae.DormandPrince, 5), "RadauIIA": mbdae.RadauIIA}
every_controller = pytest.mark.parametrize("name", CONTROLLERS)


def controlled(controller, k, size, n=400):
    """Steps `h` and errors of a model, `error = size(n) h^k`, with rejected steps."""
    rule, h, past_error, past_h, found, rejected = controller.rule(k, 5.0), 1.0, 0.0, 1.0, [], False
    for i in range(n):
        while True:
            error = size(i) * h**k
            factor = step_factor(rule, error, h, 0.0 if rejected else past_error, past_h)
            rejected = error > 1.0
            if not rejected:
                break
            h *= factor
        found.append((h, error))
        past_error, past_h, h = error, h, h * factor
    return np.array(found)


@every_controller
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_the_error_settles_at_the_set_point(name, k):
    """A ratio of one: `safety error^(-(beta1 + beta2)/k) = 1`; the loop of each filter is stable."""
    c = CONTROLLERS[name]
    found = controlled(c, k, lambda i: 37.0)
    np.testing.assert_allclose(found[-50:, 1], c.safety ** (k / (c.beta1 + c.beta2)), rtol=1e-6)


def test_the_filter_makes_steps_smoother():
    rng = np.random.default_rng(0)
    noise = np.exp(0.3 * rng.normal(size=2000))
    rough = {name: np.std(np.diff(np.log(controlled(c, 4, noise.__getitem__, 2000)[100:, 0]))) for name, c in CONTROLLERS.items()}
    assert rough["H211b"] < 0.4 * rough["elementary"]
    assert rough["PI42"] < rough["elementary"] < rough["predictive"]


def test_the_predictive_controller_follows_a_trend():
    """An error that changes by the same factor in every step leaves no offset, which the elementary one does."""
    offset = {}
    for name in ("elementary", "predictive"):
        found = controlled(CONTROLLERS[name], 4, lambda i: 1e-6 * 0.9**i, 200)
        c = CONTROLLERS[name]
        offset[name] = abs(np.log(found[-1, 1] / c.safety ** (4 / (c.beta1 + c.beta2))))
    assert offset["predictive"] < 1e-6 < 0.05 < offset["elementary"]


@every_controller
def test_after_a_rejected_step_only_the_present_error_counts(name):
    rule = CONTROLLERS[name].rule(4, 5.0)
    assert step_factor(rule, 16.0, 0.1, 0.5, 0.2) == pytest.approx(0.9 / 2.0)
    assert step_factor(rule, 0.1, 0.1, 0.0, 0.0) == pytest.approx(0.9 * 0.1**-0.25)


@pytest.mark.parametrize(("error", "ratio"), [(0.9**4, 1.0), (0.8**4, 1.0), (0.7**4, 0.9 / 0.7), (0.95**4, 0.9 / 0.95), (1.2**4, 0.75)])
def test_small_increases_are_held_back(error, ratio):
    """With `hold=1.2` ratios between 1 and 1.2 do not change the step; smaller and larger ones count."""
    rule = StepSizeController(safety=0.9, hold=1.2).rule(4, 3.0)
    assert step_factor(rule, error, 0.1, 0.0, 0.0) == pytest.approx(ratio, rel=1e-13)
    if ratio == 1.0:
        assert step_factor(rule, error, 0.1, 0.0, 0.0) == 1.0


@every_controller
def test_ratios_stay_within_their_bounds(name):
    rule = CONTROLLERS[name].rule(2, 3.0)
    assert step_factor(rule, 0.0, 0.1, 0.5, 0.1) == 3.0
    assert step_factor(rule, 1e-30, 0.1, 0.5, 0.1) == 3.0
    for error in (1e30, np.inf, np.nan):
        assert step_factor(rule, error, 0.1, 0.5, 0.1) == 0.2


@pytest.fixture(scope="module")
def mechanism():
    system = mbdae.System(library.mechanism("double-pendulum"))
    return system, mbdae.solve(system, SolveIvp(), (0.0, 1.0), rtol=1e-11, atol=1e-12, t_eval=[1.0]).q[-1]


@pytest.mark.parametrize("kind", thorough_but(["RosenbrockNystrom", "NullSpaceHHT"], METHODS))
def test_every_controller_keeps_the_tolerance(mechanism, kind):
    """As well as the elementary one: the methods of second order make many small errors of one sign."""
    system, exact = mechanism
    tol = 1e-10 if kind == "RadauIIA" else 1e-6  # at 1e-6 and 1e-8 it takes 12 to 17 steps, which do not depend on the controller
    found = {}
    for name, controller in CONTROLLERS.items():
        s = mbdae.solve(system, METHODS[kind](controller=controller), (0.0, 1.0), rtol=tol, atol=tol)
        assert s.success
        found[name] = np.abs(s.q[-1] - exact).max(), s.statistics.steps
    error, steps = found["elementary"]
    assert error < 1e-3
    assert len({steps for _, steps in found.values()}) > 2
    for e, n in found.values():
        assert e < max(3.0 * error, 3e-5)
        assert n < 1.5 * steps


@pytest.mark.parametrize("kind", ["RosenbrockNystrom", "NullSpaceHHT"])
def test_steps_of_the_filter_are_smoother_on_a_mechanism(mechanism, kind):
    system, _ = mechanism
    rough = []
    for controller in (ELEMENTARY, H211B):
        t = mbdae.solve(system, METHODS[kind](controller=controller), (0.0, 1.0), rtol=1e-6, atol=1e-6).t
        rough.append(np.std(np.diff(np.log(np.diff(t)[5:-1]))))
    assert rough[1] < rough[0]


@pytest.mark.parametrize(("call", "part"), [
    (lambda: StepSizeController(float("nan")), "beta1 must be finite"),
    (lambda: StepSizeController(safety=0.0), "safety is out of bounds"),
    (lambda: StepSizeController(safety=1.1), "safety is out of bounds"),
    (lambda: StepSizeController(shrink=1.0), "shrink is out of bounds"),
    (lambda: StepSizeController(shrink=0.0), "shrink is out of bounds"),
    (lambda: StepSizeController(grow=1.0), "grow is out of bounds"),
    (lambda: StepSizeController(grow=0.5), "grow is out of bounds"),
    (lambda: StepSizeController(hold=0.9), "hold is out of bounds"),
    (lambda: StepSizeController(hold=-0.5), "hold is out of bounds"),
    (lambda: StepSizeController(grow="2"), "grow is out of bounds"),
    (lambda: mbdae.RosenbrockNystrom(controller="PI"), "RosenbrockNystrom: controller must be a StepSizeController"),
    (lambda: mbdae.RosenbrockNystrom(fixed_step=1e-3, controller=PI), "steps of fixed size need no controller"),
    (lambda: mbdae.Newmark(1e-3, controller=H211B), "Newmark: steps of fixed size need no controller")])
def test_what_makes_no_sense_is_refused(call, part):
    with pytest.raises(ValueError, match=part):
        call()
