"""Numerical failure: a status, a message that says when and why, the solution up to there. And what a run has cost."""

import gc
from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import FullyImplicit, HalfImplicit, Statistics, Status
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.sundae import Cvode, Ida

from .helpers import double_pendulum, thorough_but

ADAPTIVE = {"IDA": Ida(), "IDA differences": Ida(jacobian="difference"), "IDA sparse": Ida(linsolver="sparse"), "CVODE": Cvode(),
            "CVODE differences": Cvode(jacobian="difference"), "RK45": SolveIvp("RK45"), "DOP853": SolveIvp(), "Radau": SolveIvp("Radau"),
            "BDF": SolveIvp("BDF"), "LSODA": SolveIvp("LSODA")}
ONE_STEP = {"half-implicit": HalfImplicit(h=1e-3), "fully implicit": FullyImplicit(h=1e-3)}
METHODS = ONE_STEP | ADAPTIVE
BREAKS_AT = 0.0505


def torn(length, rate, t):
    """A law that gives no number any more after some time."""
    return float("nan") if t > BREAKS_AT else 0.1 * length


@pytest.fixture(scope="module")
def system():
    return mbdae.System(double_pendulum())


@pytest.fixture(scope="module")
def fragile():
    m = double_pendulum()
    return mbdae.System(replace(m, forces=[*m.forces, mbdae.TSDA("band 2", "ground", "upper", (0, 1, 0), law=torn)]))


def assert_not_finite(s, name):
    """LSODA creeps up to the gap and ends with a step size that is too small."""
    assert not s.success
    if name == "LSODA":
        assert s.status in (Status.NOT_FINITE, Status.STEP_TOO_SMALL)
    else:
        assert s.status == Status.NOT_FINITE
        assert "not finite" in s.message


@pytest.mark.parametrize("name", METHODS)
def test_values_that_are_not_finite_end_the_run_with_what_was_computed(fragile, name):
    s = mbdae.solve(fragile, METHODS[name], (0.0, 0.2))
    assert not s.success
    assert_not_finite(s, name)
    assert "the solution up to there is kept" in s.message
    assert 0.02 < s.t[-1] < BREAKS_AT + 2e-3
    assert float(s.message.split("t = ")[-1].split(")")[0].split(";")[0]) == pytest.approx(s.t[-1], abs=3e-3)
    for x in (s.q, s.v, s.a, s.lam):
        assert len(x) == len(s.t)
        assert np.isfinite(x[:-1]).all()
    # the half-implicit method reaches one more position, whose accelerations it cannot tell
    assert s.statistics.steps == len(s.t) - 1


@pytest.mark.parametrize("name", thorough_but(("half-implicit", "IDA", "CVODE", "DOP853"), METHODS))
@pytest.mark.parametrize("options",
                         [{"t_eval": [0.01, 0.02, 0.2]}, {"t_eval": [0.15]}, {"dense_output": True, "t_eval": [0.01, 0.02, 0.15]}],
                         ids=["some", "none", "dense"])
def test_output_times_before_the_failure_are_kept(fragile, name, options):
    s = mbdae.solve(fragile, METHODS[name], (0.0, 0.2), **options)
    assert_not_finite(s, name)
    expected = [t for t in options["t_eval"] if t < BREAKS_AT]
    np.testing.assert_allclose(s.t, expected, atol=1e-14)
    assert s.q.shape == (len(expected), 6)
    assert s.lam.shape == (len(expected), 4)


@pytest.mark.parametrize("name", thorough_but(("half-implicit", "IDA", "DOP853"), METHODS))
def test_failure_at_the_very_start_keeps_the_start(name):
    def never(length, rate, t):
        return float("nan") if t > 0.0 else 0.0

    m = double_pendulum()
    s = mbdae.solve(replace(m, forces=[mbdae.TSDA("band 2", "ground", "upper", (0, 1, 0), law=never)]), METHODS[name], (0.0, 0.1))
    assert_not_finite(s, name)
    gc.collect()  # solvers that never took a step can be thrown away
    assert s.t[0] == 0.0
    assert s.t[-1] < 2e-3


@pytest.mark.parametrize("name", ADAPTIVE)
def test_too_many_steps(system, name):
    s = mbdae.solve(system, replace(ADAPTIVE[name], max_steps=7), (0.0, 1.0))
    assert s.status == Status.TOO_MANY_STEPS
    assert "7 steps were not enough" in s.message
    assert s.statistics.steps == 7
    assert len(s.t) == 8


@pytest.mark.parametrize("method", [HalfImplicit(h=1.0, max_iter=8), FullyImplicit(h=2.0, max_iter=8, tol=1e-10)], ids=lambda m: m.label)
def test_newton_fails_for_steps_that_are_too_large(system, method):
    fast = mbdae.assemble(system, v=20 * np.array([0, 0.5, 1, 0, 1, 0]))
    s = mbdae.solve(system, method, (0.0, 20.0), state=fast)
    assert s.status == Status.NEWTON_FAILED
    assert "Newton's method did not converge in 8 iterations (last step ended at t = " in s.message
    assert s.t[0] == 0.0
    assert np.isfinite(s.q).all()
    assert s.statistics.steps == len(s.t) - 1


def loud(length, rate, t):
    print("law")
    return torn(length, rate, t)


def test_nothing_is_printed_but_by_the_user(system, capfd):
    """At tolerances below rounding IDA gives up; SUNDIALS and scikit-sundae print reports of their own."""
    s = mbdae.solve(system, Ida(), (0.0, 0.3), rtol=1e-15, atol=1e-20)
    assert not s.success
    assert "SUNDIALS: " in s.message
    assert capfd.readouterr() == ("", "")
    m = double_pendulum()
    noisy = mbdae.System(replace(m, forces=[mbdae.TSDA("band", "ground", "upper", (0, 1, 0), law=loud)]))
    capfd.readouterr()
    for method in METHODS.values():
        mbdae.solve(noisy, method, (0.0, 0.06))
    captured = capfd.readouterr()
    assert set(captured.out.split("\n")) == {"law", ""}
    assert captured.err == ""


def test_a_singular_position_is_reported():
    """A slider-crank of two equal rods is driven through its dead point by a motion that the constraints do not allow."""
    bodies = [mbdae.Particle("p", 1.0, (0.6, 0.8, 0))]
    joints = [mbdae.Rod("rod", "ground", "p"), mbdae.CD("plane", "ground", "p", (0, 0, 1))]
    drive = mbdae.CoordinateDriver("pull", "ground", "p", mbdae.Polynomial((0.6, 1.0)), (1, 0, 0))
    m = mbdae.Mechanism("dead point", bodies, joints, [drive])
    for method in (HalfImplicit(h=1e-2), FullyImplicit(h=1e-2), Ida(), SolveIvp(), Cvode()):
        s = mbdae.solve(m, method, (0.0, 1.0))
        assert not s.success
        assert 0.3 < s.t[-1] < 0.45  # x = 1 is reached at t = 0.4
        assert len(s.message) > 20


# --- counters ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ONE_STEP)
def test_work_of_one_step_methods(system, name):
    s = mbdae.solve(system, ONE_STEP[name], (0.0, 0.3))
    c = s.statistics
    at_the_end = int(name.startswith("half"))  # whose accelerations are those of the next step
    assert c.steps + at_the_end == c.jacobians == c.factorisations == 300 + at_the_end
    assert c.rejected_error == c.rejected_newton == c.residuals_jacobian == 0
    assert c.residuals == c.solves == c.newton_iterations
    assert 1.0 <= c.iterations_per_step <= 4.0
    assert c.seconds > 0.0


@pytest.mark.parametrize("name", ADAPTIVE)
def test_work_of_adaptive_methods(system, name):
    loose, tight = (mbdae.solve(system, ADAPTIVE[name], (0.0, 0.3), rtol=r, atol=r).statistics for r in (1e-4, 1e-8))
    assert tight.steps > loose.steps > 0
    assert tight.residuals > loose.residuals >= loose.steps
    assert tight.residuals < 60 * tight.steps + 60


def test_evaluations_for_jacobians_are_counted_apart(system):
    for exact, differences in ((Ida(), Ida(jacobian="difference")), (Cvode(), Cvode(jacobian="difference")),
                               (SolveIvp("Radau"), SolveIvp("Radau", jacobian="difference"))):
        a, b = (mbdae.solve(system, m, (0.0, 0.3)).statistics for m in (exact, differences))
        n = 20 if isinstance(exact, Ida) else 12
        assert a.residuals_jacobian == 0
        assert b.residuals_jacobian >= b.jacobians * (n if isinstance(exact, (Ida, Cvode)) else 1) > 0
        assert a.jacobians > 0
        assert abs(a.residuals - b.residuals) < 0.5 * a.residuals


def test_explicit_methods_need_no_jacobian(system):
    s = mbdae.solve(system, SolveIvp("DOP853"), (0.0, 0.3))
    assert s.njev == s.nlu == 0
    assert s.nfev == s.statistics.residuals
    assert s.statistics.residuals_jacobian == 0


def test_what_a_backend_does_not_report_is_none(system):
    c = mbdae.solve(system, Ida(backend="wrapper"), (0.0, 0.1)).statistics
    assert c.newton_iterations is None
    assert c.iterations_per_step is None
    assert c.as_dict()["steps"] == c.steps
    assert set(c.as_dict()) == set(Statistics().as_dict())
    assert all(x is None for x in Statistics().as_dict().values())


def test_counters_do_not_depend_on_earlier_runs(system):
    for method in (Ida(), SolveIvp("Radau"), Cvode(), HalfImplicit(h=1e-2)):
        first, again = (mbdae.solve(system, method, (0.0, 0.2)).statistics.as_dict() for _ in range(2))
        assert first | {"seconds": 0, "cpu_seconds": 0} == again | {"seconds": 0, "cpu_seconds": 0}


def test_status_zero_is_success():
    assert Status.SUCCESS == 0
    assert all(s < 0 for s in Status if s is not Status.SUCCESS)


@pytest.mark.parametrize("h", [1e-3, 5e-3])
@pytest.mark.parametrize("steps", [1, 2])
def test_a_diverging_iteration_is_not_taken_for_rounding(h, steps):
    """Beyond a stable step the iterates grow to 1e24, and so does the rounding of their positions: the run must not end with success."""
    governor = mbdae.library.system("flyball-governor")
    x = mbdae.solve(governor, FullyImplicit(h=h), (0.0, steps * h))
    assert x.status in (Status.NEWTON_FAILED, Status.NOT_FINITE) and x.t.tolist() == [0.0]
    assert np.abs(governor.phi(0.0, x.q[0])).max() < 1e-12
