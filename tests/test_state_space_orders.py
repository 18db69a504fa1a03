"""Observed orders of the state-space integrators: at the ends of fixed steps, of the multipliers, and inside the steps."""

import numpy as np
import pytest

import mbdae

from .helpers import relative, thorough_but
from .state_space_cases import EVERY, EVERY_OF_ORDER_FOUR, FORMS, METHODS, TRAPEZOIDAL, exact, order, orders, problem, run

# mechanism -> time span, numbers of steps: multiples of five, as errors are taken at five times
CASES = {"double-pendulum": (0.5, (40, 80, 160)), "andrews": (0.01, (40, 80, 160)), "double-spherical-pendulum": (0.5, (40, 80, 160)),
         "driven pendulum": (0.2, (10, 20, 40))}
SLOW = {"spatial-four-bar": (0.15, (15, 30, 60)), "car-axis": (0.5, (160, 320, 640)), "bricard": (0.5, (20, 40, 80))}


def steps(name):
    t_end, numbers = (CASES | SLOW)[name]
    return t_end, [t_end / k for k in numbers]


@pytest.mark.parametrize("form", FORMS)
@EVERY
@pytest.mark.parametrize("name", [*CASES, *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW)])
def test_observed_order(name, method, form):
    """Of `q` and `v`; `lam` follows from them by the equations of motion and has the same one."""
    t_end, hs = steps(name)
    if order(method) == 2:  # which needs shorter steps for errors that follow a power of them
        hs = [0.5 * h for h in hs]
    slopes, rows = orders(name, method, hs, t_end, form)
    assert slopes == pytest.approx([order(method)] * 3, abs=0.15), (slopes, rows)


@EVERY
@pytest.mark.parametrize("name", thorough_but(["double-pendulum"], ["double-pendulum", "andrews"]))
def test_output_inside_the_steps_has_order_three(name, method):
    """Dense output of SDIRK formulas, cubics for the others: order 3 at least, or that of the method; on the constraints."""
    t_end, hs = steps(name)
    times, errors = np.linspace(0.0, t_end, 24)[1:-1], []  # within steps
    reference = mbdae.solve(problem(name), METHODS[method](fixed_step=hs[-1] / 40), (0.0, t_end), rtol=1e-12, atol=1e-13, t_eval=times)
    for h in hs:
        s = run(name, METHODS[method](fixed_step=h), t_end, rtol=1e-12, atol=1e-13, t_eval=times)
        errors.append([np.abs(s.q - reference.q).max(), np.abs(s.v - reference.v).max()])
        assert max(np.abs(s.system.phi(t, q)).max() for t, q in zip(s.t, s.q)) < 1e-12
    least = min(3.0, order(method))
    assert min(np.polyfit(np.log(hs), np.log(np.array(errors)), 1)[0]) > least - 0.2, errors


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["double-pendulum", "andrews", "driven pendulum", "spatial-four-bar"])
def test_state_space_and_descriptor_form_of_the_trapezoidal_rule_are_one(name, form):
    """The discretised equations are the same, so only what Newton's method leaves open differs."""
    t_end = {"andrews": 0.01}.get(name, 0.25)
    ends = []
    for method in TRAPEZOIDAL:
        s = run(name, METHODS[method](fixed_step=t_end / 50), t_end, form, rtol=1e-11, atol=1e-11)
        ends.append((s.q[-1], s.v[-1], s.lam[-1]))
    assert max(relative(x, y) for x, y in zip(*ends)) < 1e-8


@EVERY_OF_ORDER_FOUR
def test_tangent_planes_and_partitions_lead_to_the_same_motion(method):
    """Different coordinates, different discretisation: errors of the same size on both."""
    by = {form: _error(method, form) for form in FORMS}
    assert 0.05 < by["partition"] / by["tangent"] < 20.0


def _error(method, form):
    found = exact("andrews", 0.01)
    s = run("andrews", METHODS[method](fixed_step=5e-5), 0.01, form, rtol=1e-12, atol=1e-13, t_eval=found.t)
    return np.abs(s.q[-1] - found.q[-1]).max()
