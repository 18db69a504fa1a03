"""The times of fixed steps: multiples of the step from the start, and the end itself, whatever the span and however the run is cut."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

import mbdae
from mbdae import FullyImplicit, HalfImplicit, ProjectedGauss
from mbdae.adapters.scipy import SolveIvp
from mbdae.integrators.control import driver
from mbdae.integrators.control.loop import next_step, shortened
from mbdae.integrators.control.records import new_clock

METHODS = {"half-implicit": HalfImplicit, "fully implicit": FullyImplicit, "Gauss": ProjectedGauss, "RATTLE": mbdae.Rattle,
           "SPARK": mbdae.Spark}


@pytest.fixture(params=METHODS)
def method(request):
    return METHODS[request.param]


def ends_of_steps(t0, t_end, h):
    """The times at which the time loop lets steps of fixed length end, and the lengths of these steps."""
    clock = new_clock(t0, t_end)
    clock.h, clock.fixed = h, 1
    times, steps = [t0], []
    last = False
    while not last:
        step, last, clock.t = next_step(clock)
        clock.steps += 1
        times.append(clock.t)
        steps.append(step)
    return np.array(times), np.array(steps), clock


@pytest.mark.parametrize(("t0", "t_end", "h", "n", "last"), [
    (0.0, 1.0, 0.1, 10, 0.1), (0.0, 1.04, 0.1, 11, 0.04), (0.0, 1.0005, 0.1, 10, 0.1005),
    (0.0, 1e-13, 0.1, 1, 1e-13), (0.0, 1e-3, 1e6, 1, 1e-3),
    (0.1, 0.0, 1e-3, 100, -1e-3), (3.0, 2.55, 0.1, 5, -0.05)])
def test_the_last_step_takes_what_is_left(t0, t_end, h, n, last):
    times, steps, clock = ends_of_steps(t0, t_end, h)
    assert len(steps) == n and steps[-1] == pytest.approx(last, rel=1e-10)
    assert shortened(steps[-1], clock) == (abs(abs(last) - h) >= 1e-9 * h) and not any(shortened(step, clock) for step in steps[:-1])
    assert times[0] == t0 and times[-1] == t_end and (np.sign(np.diff(times)) == np.sign(t_end - t0)).all()
    largest = max(abs(t0), abs(t_end))  # products may be fused
    np.testing.assert_allclose(times[:-1], t0 + np.arange(n) * np.copysign(h, t_end - t0), rtol=0, atol=3e-16 * largest)
    np.testing.assert_allclose(times[-1] - times[-2], steps[-1], rtol=1e-9, atol=1e-15)


def test_very_short_spans_are_one_step(system, method):
    x = mbdae.solve(system, method(h=1e-3), (0.0, 1e-13))
    assert x.success and x.statistics.steps == 1
    np.testing.assert_array_equal(x.t, [0.0, 1e-13])
    for name, bound in (("q", 1e-14), ("v", 1e-11), ("a", 1e-9), ("lam", 1e-9)):
        np.testing.assert_allclose(getattr(x, name)[1], getattr(x, name)[0], rtol=0, atol=bound)


def test_a_step_beyond_the_end_is_cut(system, method):
    x = mbdae.solve(system, method(h=1e6), (0.0, 1e-3))
    assert x.success and x.statistics.steps == 1 and x.t.tolist() == [0.0, 1e-3]
    np.testing.assert_allclose(x.v[1], x.v[0] + 1e-3 * x.a[0], atol=2e-5)
    with_output = mbdae.solve(system, method(h=1e6), (0.0, 1e-3), t_eval=[0.0, 5e-4, 1e-3])
    assert with_output.success and with_output.t.tolist() == [0.0, 5e-4, 1e-3]


@pytest.mark.parametrize("span", [(0.1, 0.35), (0.2, -0.15)])
@pytest.mark.parametrize("make", [HalfImplicit, FullyImplicit])
def test_output_between_the_steps_is_the_cubic_of_its_step(system, make, span):
    """Several times in a step, none in the next one, ends of steps themselves, in any direction of time."""
    steps = mbdae.solve(system, make(h=0.05), span)
    ends = steps.t
    times = np.interp([0.0, 0.3, 0.9, 1.0, 2.5, 4.0], range(len(ends)), ends)
    x = mbdae.solve(system, make(h=0.05), span, t_eval=times)
    assert x.success and x.t.tolist() == times.tolist() and x.statistics.steps == steps.statistics.steps
    order = np.argsort(ends)
    spline = CubicHermiteSpline(ends[order], steps.q[order], steps.v[order])
    np.testing.assert_allclose(x.q, spline(times), rtol=0.0, atol=1e-14)
    for name in ("q", "v", "a", "lam"):
        np.testing.assert_array_equal(getattr(x, name)[[0, 3, 5]], getattr(steps, name)[[0, 1, 4]])


def test_runs_end_exactly_at_the_end(system, method):
    for span in ((0.1, 0.0), (0.3, -0.4), (0.0, 0.7), (0.2, 0.9005), (0.0, 0.1 + 1e-11)):
        for every in (1, 7):
            x = mbdae.solve(system, method(h=1e-2), span, state=None, every=every)
            assert x.success and x.t[-1] == span[1] and (np.diff(x.t) != 0.0).all()
        assert mbdae.solve(system, method(h=1e-2), span, t_eval=[span[1]]).t.tolist() == [span[1]]


@pytest.mark.parametrize("rest", [2e-12, 1e-8, 1e-6, 1e-4, 5e-4])
def test_what_is_left_for_the_last_step_does_not_spoil_it(system, method, rest):
    """Divided by the square of a short step, rounding and the error of the velocities were accelerations of 1e7."""
    def errors(t_end):
        x, exact = (mbdae.solve(system, m, (0.0, t_end), rtol=1e-11, atol=1e-12) for m in (method(h=1e-3), SolveIvp("DOP853")))
        return [np.abs(getattr(x, name)[-1] - getattr(exact, name)[-1]).max() for name in ("v", "a", "lam")]

    # velocities of the half-implicit method are better than first order only while the step stays the same
    first_order = 5e-3 if method is HalfImplicit else 0.0
    for name, error, even in zip(("v", "a", "lam"), errors(0.2 + rest), errors(0.2)):
        assert error <= 2.0 * even + 1e-8 + first_order * (name == "v"), name


def test_steps_lost_in_rounding_are_named(system, method):
    x = mbdae.solve(system, method(h=1e-300), (0.0, 1.0))
    assert x.status == mbdae.Status.STEP_TOO_SMALL and "steps of 1e-300 do not move the time" in x.message and x.t.tolist() == [0.0]


@pytest.mark.parametrize("make", [HalfImplicit, FullyImplicit])
def test_the_same_run_gives_the_same_bits(system, monkeypatch, make):
    """However long the chunks are that the time a step takes allows."""
    def run(chunk):
        monkeypatch.setattr(driver, "FIRST_CHUNK", chunk)
        monkeypatch.setattr(driver, "CHUNK_SECONDS", chunk)
        return mbdae.solve(system, make(h=7.3e-4), (0.1, 0.4))

    runs = [run(chunk) for chunk in (1, 13, 64, 1000)]
    for x in runs[1:]:
        for name in ("t", "q", "v", "a", "lam"):
            np.testing.assert_array_equal(getattr(x, name), getattr(runs[0], name))
    np.testing.assert_allclose(runs[0].t[:-1], 0.1 + np.arange(len(runs[0].t) - 1) * 7.3e-4, rtol=3e-16)  # products may be fused


def test_matrices_are_counted(system):
    for make, extra in ((HalfImplicit, 1), (FullyImplicit, 0)):  # the accelerations at the end are those of a step that is not taken
        c = mbdae.solve(system, make(h=1e-3), (0.0, 0.05)).statistics
        assert c.steps == 50 and c.jacobians == c.factorisations == 50 + extra and c.newton_iterations == c.solves > 50


def test_matrices_formed_within_a_step_are_counted():
    """Where a step leads across a singular position the matrix is formed in every iteration."""
    bodies = [mbdae.Particle("a", 1.0, (0.5, 0.5, 0.0)), mbdae.Particle("b", 1.0, (1.0, 0.0, 0.0))]
    rods = [mbdae.Rod("r1", "ground", "a", length=0.5**0.5), mbdae.Rod("r2", "a", "b", length=0.5**0.5)]
    drivers = [mbdae.CoordinateDriver("x", "ground", "b", mbdae.Polynomial((1.0, 0.5)), (1.0, 0.0, 0.0)),
               *(mbdae.CoordinateDriver(k, "ground", b, 0.0, d) for k, b, d in
                 (("y", "b", (0.0, 1.0, 0.0)), ("z", "b", (0.0, 0.0, 1.0)), ("za", "a", (0.0, 0.0, 1.0))))]
    c = mbdae.solve(mbdae.Mechanism("straightened", bodies, rods, drivers), HalfImplicit(h=7e-3), (0.0, 2.0)).statistics
    assert c.factorisations > c.steps + 10


@pytest.mark.parametrize("make", [HalfImplicit, FullyImplicit, lambda h: mbdae.Newmark(h=h, beta=0.28, gamma=0.55)])
def test_steps_at_which_multipliers_are_rounding_are_warned_of(system, make):
    """Rounding of positions divided by `h^2`: errors of the multipliers are large where a warning is, small where none is."""
    def error(h):
        x = mbdae.solve(system, make(h), (0.0, 5 * h))
        exact = mbdae.assemble(system, 0.0).lam
        return np.abs(x.lam[3] - exact).max() / np.abs(exact).max()

    with pytest.warns(UserWarning, match="rounding of positions divided by h.2; take a step of .*e-0[67] s or more") as caught:
        assert error(1e-8) > 1e-2
    assert caught[0].filename == __file__
    assert error(6e-6) < 1e-2  # warnings are errors here


def test_methods_with_multipliers_for_accelerations_take_any_step(system):
    exact = mbdae.assemble(system, 0.0).lam
    x = mbdae.solve(system, mbdae.NullSpaceNewmark(h=1e-9), (0.0, 5e-9))
    assert np.abs(x.lam - exact).max() < 1e-7 * np.abs(exact).max()
