"""Integrators and adapters of a user's own: what comes with the base classes works in them, without a line about it in their files."""

import os
import runpy
import signal
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import mbdae
from mbdae import extend
from mbdae.adapters.scipy import SolveIvp
from mbdae.integrators.state_space.sdirk_tableau import SDIRK_4_15

from .helpers import relative
from .state_space_cases import exact, system

pytestmark = pytest.mark.thorough
EXAMPLES = Path(__file__).parent.parent / "examples" / "extend"


def names_of(example):
    return runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")


@pytest.fixture(scope="module")
def integrator():
    return names_of("integrator")


@pytest.fixture(scope="module")
def alexander(integrator):
    return integrator["Alexander3"]


@pytest.fixture(scope="module")
def adapter():
    return names_of("adapter")


def turning():
    """A bead that runs round a circle: no coordinate of it serves for a whole turn."""
    return mbdae.Mechanism("bead", [mbdae.Particle("bead", 1.0, (0.0, -1.0, 0.0), (7.0, 0.0, 0.0))],
                           [mbdae.Rod("rod", "ground", "bead"), mbdae.CD("plane", "ground", "bead", (0, 0, 1))], gravity=(0.0, -9.81, 0.0))


# --- the integrator --------------------------------------------------------------------------------------------------------------


def test_the_file_is_a_tableau_and_little_more(integrator):
    assert len((EXAMPLES / "integrator.py").read_text().splitlines()) <= 40
    tableau = integrator["Alexander3"].tableau
    assert (tableau.order, tableau.error_order) == (3, 2)
    assert abs(tableau.stability_at_infinity()) < 1e-12
    assert np.abs(tableau.stability(1j * np.logspace(-3, 9, 4001))).max() < 1.0 + 1e-12


def test_errors_follow_the_tolerance_in_the_example(integrator):
    for rtol, error in integrator["errors"].items():
        assert 0.05 * rtol < error < 20.0 * rtol


@pytest.mark.parametrize(("name", "t_end", "steps"), [
    ("double-spherical-pendulum", 0.5, (40, 80, 160)), ("driven pendulum", 0.2, (10, 20, 40)), ("andrews", 0.01, (80, 160, 320))])
def test_it_has_order_three(alexander, name, t_end, steps):
    """In `q`, `v` and `lam`, with a driver that depends on time and with loops."""
    found, errors = exact(name, t_end), []
    for n in steps:
        s = mbdae.solve(system(name), alexander(fixed_step=t_end / n), (0.0, t_end), rtol=1e-12, atol=1e-13, t_eval=found.t)
        assert s.success, s.message
        errors.append([relative(getattr(s, x), getattr(found, x)) for x in ("q", "v", "lam")])
    slopes = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slopes == pytest.approx([3.0] * 3, abs=0.15), (slopes, errors)


@pytest.mark.parametrize("name", ["double-pendulum", "andrews", "stiff wheel"])
@pytest.mark.parametrize("controller", [mbdae.ELEMENTARY, mbdae.PI42], ids=["elementary", "PI42"])
def test_errors_are_within_the_tolerances(alexander, name, controller):
    t_end = {"andrews": 0.01}.get(name, 0.3)
    found = mbdae.solve(system(name), mbdae.RosenbrockNystrom(local_error=1.0), (0.0, t_end), rtol=1e-10, atol=1e-11)
    before = 0
    for rtol in (1e-4, 1e-6):
        s = mbdae.solve(system(name), alexander(controller=controller), (0.0, t_end), rtol=rtol, atol=rtol)
        assert s.success and relative(s.q[-1], found.q[-1]) < 50.0 * rtol
        assert s.statistics.steps > before and s.statistics.rejected_error < 0.5 * s.statistics.steps
        before = s.statistics.steps


def test_charts_events_and_dense_output(alexander):
    """A whole turn takes several charts; the bead passes the top, where `x = 0 < y`, at times known by another method."""
    def top(t, q, v):
        return q[0] if q[1] > 0.0 else 1.0

    own, other = (mbdae.solve(turning(), m, (0.0, 2.0), rtol=1e-8, atol=1e-9, events=top, dense_output=True)
                  for m in (alexander(), SolveIvp("DOP853")))
    assert own.success and own.statistics.restarts >= 2
    assert len(own.t_events[0]) == len(other.t_events[0]) > 0
    np.testing.assert_allclose(own.t_events[0], other.t_events[0], atol=1e-6)
    times = np.linspace(0.0, 2.0, 57)
    for found, expected in zip(own.sol(times), other.sol(times)):
        np.testing.assert_allclose(found, expected, atol=2e-6 * (1.0 + np.abs(expected).max()))


def test_output_does_not_change_the_run(alexander):
    plain = mbdae.solve(turning(), alexander(), (0.0, 1.0), rtol=1e-6, atol=1e-7)
    times = np.linspace(0.0, 1.0, 23)
    given = mbdae.solve(turning(), alexander(), (0.0, 1.0), rtol=1e-6, atol=1e-7, t_eval=times)
    both = mbdae.solve(turning(), alexander(), (0.0, 1.0), rtol=1e-6, atol=1e-7, t_eval=times, dense_output=True,
                       events=lambda t, q, v: v[0])
    np.testing.assert_array_equal(given.q[-1], plain.q[-1])
    np.testing.assert_array_equal(given.q, both.q)
    np.testing.assert_array_equal(given.lam, both.lam)


def test_backward_and_from_another_start(alexander):
    there = mbdae.solve(turning(), alexander(), (0.3, 0.8), rtol=1e-9, atol=1e-10)
    state = mbdae.State(0.8, there.q[-1], there.v[-1], there.a[-1], there.lam[-1])
    back = mbdae.solve(turning(), alexander(), (0.8, 0.3), state=state, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(back.q[-1], there.q[0], atol=1e-6)


def test_failures_are_told(alexander):
    s = mbdae.solve(turning(), alexander(max_steps=3), (0.0, 2.0))
    assert s.status == mbdae.Status.TOO_MANY_STEPS and len(s.t) == 4
    with pytest.raises(ValueError, match="Alexander3: jacobian must be one of"):
        alexander(jacobian="none")


@pytest.mark.parametrize("python", [False, True])
def test_interrupts_arrive(alexander, python):
    bead = turning()
    if python:
        law = mbdae.TSDA("law", "ground", "bead", (0, 5, 0), law=lambda x, xd, t: 0.0 * x)
        bead = mbdae.Mechanism("bead", bead.bodies, bead.joints, forces=[law], gravity=bead.gravity)
    prepared = mbdae.System(bead)
    expected = mbdae.solve(prepared, alexander(), (0.0, 0.5))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for delay in (0.02, 0.05, 0.11, 0.17):
            timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):
                timer.start()
                mbdae.solve(prepared, alexander(max_step=1e-6), (0.0, 50.0))
    finally:
        signal.signal(signal.SIGINT, before)
    np.testing.assert_array_equal(mbdae.solve(prepared, alexander(), (0.0, 0.5)).q, expected.q)


# --- its tableau -----------------------------------------------------------------------------------------------------------------


def test_a_tableau_given_by_numbers_is_the_same():
    """Fractions, texts, rounded numbers."""
    A = [[4 / 15], [1 / 2, 4 / 15], [51069 / 144200, -7809 / 144200, 4 / 15], list(SDIRK_4_15.A[3, :4]), SDIRK_4_15.A[4]]
    found = extend.sdirk("again", A, SDIRK_4_15.b_hat)
    assert (found.order, found.error_order) == (4, 3)
    for name in ("A", "c", "AA", "d", "d_error", "dense", "dense_z", "start"):
        expected = getattr(SDIRK_4_15, name)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("stages", [1, 2, 3, 6, 7])
def test_dense_output_and_guesses_of_any_number_of_stages(stages):
    """Backward Euler with substeps: order 1 with `s` stages, and a repeated node; the dense output ends in the solution."""
    A = [[Fraction(1, stages)] * (k + 1) for k in range(stages)]
    b_hat = [Fraction(2, stages + 1)] + [Fraction(stages - 1, (stages + 1) * max(stages - 1, 1))] * (stages - 1)
    if stages == 1:
        with pytest.raises(ValueError, match="consistent and different"):
            extend.sdirk("Euler", A, [1])
        return
    tableau = extend.sdirk("Euler", A, b_hat)
    assert (tableau.order, tableau.error_order) == (1, 1)
    np.testing.assert_allclose(tableau.dense.sum(axis=1), tableau.b, atol=1e-12)
    for theta in (0.3, 0.9):
        assert tableau.dense.sum(axis=0) @ theta ** np.arange(1, 5) == pytest.approx(theta)
    for i in range(1, stages):  # exact for k = const
        np.testing.assert_allclose(tableau.start[i] @ tableau.c, tableau.c[i], atol=1e-12)


@pytest.mark.parametrize(("A", "b_hat", "message"), [
    ([[1, 0], [0, 1, 2]], [1], "rows of at most 2 numbers"), ([[1, 1], [0, 1]], [1], "lower triangular"),
    ([["1/2"], [0, "1/4"]], [1], "the elements of the diagonal of A must be positive and equal, got 0.5, 0.25"),
    ([[0], [1, 0]], [1], "must be positive and equal"), ([[1], [1, 1]], [1], "sum b = 2, sum b_hat = 1"),
    ([["1/4"], ["3/4", "1/4"]], ["1/2"], "sum b_hat = 0.5"), ([["1/4"], ["3/4", "1/4"]], ["3/4", "1/4"], "different")])
def test_coefficients_of_no_such_formula_are_refused(A, b_hat, message):
    with pytest.raises(ValueError, match=f"mine: .*{message}"):
        extend.sdirk("mine", A, b_hat)


# --- the adapter -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["ode", "partition", "tangent"])
def test_the_adapter_gives_what_the_built_in_one_does(adapter, form):
    runs = [mbdae.solve(turning(), m, (0.0, 1.5), formulation=form, rtol=1e-7, atol=1e-8, events=lambda t, q, v: q[0],
                        t_eval=np.linspace(0.0, 1.5, 13)) for m in (adapter["Solver"](adapter["DOP853"]), SolveIvp("DOP853"))]
    for name in ("t", "q", "v", "lam"):
        np.testing.assert_array_equal(*(getattr(r, name) for r in runs))
    assert runs[0].success and runs[0].statistics.steps == runs[1].statistics.steps
    assert runs[0].statistics.residuals == runs[1].statistics.residuals
    np.testing.assert_array_equal(*(r.t_events[0] for r in runs))


def test_the_adapter_refuses_what_its_solver_cannot_take(adapter):
    with pytest.raises(ValueError, match="it integrates yd = f"):
        mbdae.solve(turning(), adapter["Solver"](adapter["DOP853"]), (0.0, 1.0), formulation="index3")


def test_failures_of_the_solver_and_of_users_are_told_by_the_adapter(adapter):
    method = adapter["Solver"](adapter["DOP853"])

    def broken(mode):
        def law(x, xd, t):
            if t > 0.4 and mode == "raise":
                raise RuntimeError("mine")
            return np.nan if t > 0.4 else 0.0

        bead = turning()
        return mbdae.Mechanism("bead", bead.bodies, bead.joints, forces=[mbdae.TSDA("law", "ground", "bead", (0, 5, 0), law=law)])

    with pytest.raises(RuntimeError, match="mine"):
        mbdae.solve(broken("raise"), method, (0.0, 1.0))
    s = mbdae.solve(broken("nan"), method, (0.0, 1.0))
    assert not s.success and 0.3 < s.t[-1] <= 0.41 and "law" in s.message
    s = mbdae.solve(turning(), adapter["Solver"](adapter["DOP853"], max_steps=3), (0.0, 1.0))
    assert s.status == mbdae.Status.TOO_MANY_STEPS and len(s.t) == 4
