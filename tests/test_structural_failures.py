"""What goes wrong ends a run of a structural integrator with a status that says which and when; bad parameters are refused."""

import numpy as np
import pytest

import mbdae
from mbdae import Status, library
from mbdae.adapters.scipy import SolveIvp
from mbdae.results.diagnosis import singular_ahead
from mbdae.studies import stability_limit

from .helpers import BREAKS_AT, double_pendulum, thorough_but, torn, with_law
from .state_space_cases import system
from .structural_cases import LEVELS, METHODS, NULL_SPACE, UNSTABLE
from .test_adapter_state_space import parallelogram

STABLE = {name: made for name, made in METHODS.items() if name not in UNSTABLE}
ADAPTIVE = {"null-space HHT": mbdae.NullSpaceHHT(), **{f"HHT {level}": mbdae.HHT(level=level) for level in LEVELS}}


def dead_point():
    """A particle on a rod is pulled along a line, through its dead point at t = 0.4."""
    joints = [mbdae.Rod("rod", "ground", "p"), mbdae.CD("plane", "ground", "p", (0, 0, 1))]
    drive = mbdae.CoordinateDriver("pull", "ground", "p", mbdae.Polynomial((0.6, 1.0)), (1, 0, 0))
    return mbdae.Mechanism("dead point", [mbdae.Particle("p", 1.0, (0.6, 0.8, 0))], joints, [drive])


def fails(target, method, t_end, **options):
    """A run that must fail in good time, with what was computed until then; returns it."""
    s = mbdae.solve(target, method, (0.0, t_end), **options)
    assert not s.success and "the solution up to there is kept" in s.message, s.message
    assert f"t = {s.t[-1]:.9g}" in s.message
    assert s.statistics.seconds < 5.0 and s.statistics.steps == len(s.t) - 1
    for x in (s.q, s.v, s.a, s.lam):
        assert len(x) == len(s.t) and np.isfinite(x).all()
    return s


@pytest.mark.parametrize("method", STABLE)
def test_forces_that_are_not_finite(method):
    s = fails(with_law(torn), STABLE[method](2e-3), 0.2)
    assert s.status == Status.NOT_FINITE and "not finite" in s.message
    assert s.t[-1] == pytest.approx(BREAKS_AT, abs=2.1e-3)


@pytest.mark.parametrize("method", thorough_but(["null-space HHT"], ADAPTIVE))
def test_forces_that_are_not_finite_with_control(method):
    s = fails(with_law(torn), ADAPTIVE[method], 0.2)
    assert s.status in (Status.NOT_FINITE, Status.STEP_TOO_SMALL), s.message
    assert s.t[-1] == pytest.approx(BREAKS_AT, abs=1e-3)


def test_a_singular_start():
    """All cranks in line: one gradient follows from the others there, and so there are no coordinates to derive in."""
    s = fails(parallelogram(0.0), mbdae.NullSpaceHHT(), 0.2)
    assert s.status == Status.SINGULAR and list(s.t) == [0.0]
    assert "the constraints lose rank" in s.message


@pytest.mark.parametrize("method", NULL_SPACE)
def test_a_redundant_constraint_that_is_left_out_from_a_singular_start_holds_or_ends_the_run(method):
    s = mbdae.solve(parallelogram(0.0), NULL_SPACE[method](0.01), (0.0, 0.2))
    assert np.abs([s.system.phi(t, q) for t, q in zip(s.t, s.q)]).max() < 1e-9


@pytest.mark.parametrize("method", thorough_but(["null-space HHT"], ADAPTIVE))
def test_a_singular_position_on_the_way_is_seen_with_control(method):
    s = fails(dead_point(), ADAPTIVE[method], 1.0)
    assert s.status == Status.SINGULAR and 0.3 < s.t[-1] < 0.401 and ("rod" in s.message or "pull" in s.message), s.message


@pytest.mark.parametrize("h", [1e-3, 1e-2])
@pytest.mark.parametrize("method", NULL_SPACE)
def test_a_dead_point_that_cannot_be_passed(method, h):
    s = fails(dead_point(), NULL_SPACE[method](h), 1.0)
    assert s.status == Status.SINGULAR and 0.3 < s.t[-1] < 0.401 and ("rod" in s.message or "pull" in s.message), s.message


@pytest.mark.parametrize("method", ["null-space trapezoidal", "Newmark trapezoidal position"])
def test_the_iteration_stalls_where_steps_are_much_too_long(method):
    s = mbdae.System(double_pendulum())
    fast = mbdae.assemble(s, v=20 * np.array([0, 0.5, 1, 0, 1, 0]))
    end = fails(s, STABLE[method](2.0), 20.0, state=fast)
    assert end.status == Status.NEWTON_FAILED and "does not converge" in end.message


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["null-space Fox-Goodwin", "null-space central differences", "null-space linear acceleration"])
def test_steps_beyond_the_limit_of_stability_explode(method):
    """It is told as a failure, or the motion is finite and wrong; nothing hangs. Below the limit the spring stays where it is.

    The spring has no damping: with that of the stiff double pendulum, 65 times the critical one, amplitudes grow by 0.5 % per step only.
    """
    s, made = system("stiff wheel", stiffness=1e6), METHODS[method]
    limit = stability_limit(s, 0.0, s.start.q, s.start.v, made(1.0))
    below, beyond = (mbdae.solve(s, made(share * limit), (0.0, 1.0)) for share in (0.95, 1.2))
    assert below.success and np.abs(below.q[:, 2]).max() < 1e-3
    assert beyond.statistics.seconds < 5.0 and np.isfinite(beyond.q).all() and np.isfinite(beyond.v).all()
    assert not beyond.success or np.abs(beyond.v).max() > 50.0, beyond.message


@pytest.mark.parametrize("adaptive", [False, True])
def test_the_last_accepted_state_of_a_run_that_ends_early_is_kept(adaptive):
    """Whatever `every` says, and once only."""
    method = mbdae.NullSpaceNewmark(None, first_step=0.01, max_steps=10) if adaptive else mbdae.NullSpaceNewmark(0.01, max_steps=10)
    whole, some, fifth = (mbdae.solve(system("double-pendulum"), method, (0.0, 1.0), rtol=1e-5, atol=1e-5, every=n) for n in (1, 100, 5))
    assert some.status == Status.TOO_MANY_STEPS and f"t = {some.t[-1]:.9g}" in some.message
    for end, rows in ((some, [0, 10]), (fifth, [0, 5, 10])):
        for name in ("t", "q", "v", "a", "lam"):
            np.testing.assert_array_equal(getattr(end, name), getattr(whole, name)[rows])


def test_the_state_behind_a_terminal_event_is_kept():
    """The event lies between it and the one before that `every` asks for."""
    def late(t, q, v):
        return t - 0.0777

    late.terminal = True
    end = mbdae.solve(system("double-pendulum"), mbdae.NullSpaceNewmark(0.01), (0.0, 1.0), events=late, every=5)
    assert end.t_events[0] == pytest.approx([0.0777], abs=1e-12) and end.t[-1] == pytest.approx(0.0777, abs=1e-12)


@pytest.mark.parametrize("method", thorough_but(["null-space HHT"], ADAPTIVE))
def test_too_many_steps(method):
    made = type(ADAPTIVE[method])(max_steps=7, **({} if "null" in method else {"level": ADAPTIVE[method].level}))
    s = fails(system("double-pendulum"), made, 1.0)
    assert s.status == Status.TOO_MANY_STEPS and s.statistics.steps == 7 and "7 steps were not enough" in s.message


@pytest.mark.parametrize("method", thorough_but(["null-space HHT"], ADAPTIVE))
def test_a_step_that_becomes_too_small(method):
    """A force that jumps ever more often leaves no step that the error test takes.

    A jump ends in steps of 5e-11 s, as errors of steps are held below a thousandth of the tolerances; with 1e-6 some
    runs resolve 300 000 jumps in a million steps.
    """
    def jumping(length, rate, t):
        return 1e4 * np.sign(np.sin(1.0 / max(0.05 - t, 1e-300)))

    s = mbdae.solve(with_law(jumping), ADAPTIVE[method], (0.0, 0.2), rtol=1e-5, atol=1e-5)
    assert s.statistics.steps + s.statistics.rejected_error < 300_000 and np.isfinite(s.q).all()
    assert s.success or s.status in (Status.STEP_TOO_SMALL, Status.NEWTON_FAILED), s.message


# --- parameters -----------------------------------------------------------------------------------------------------------------

CLASSES = (mbdae.Newmark, mbdae.HHT, mbdae.GeneralizedAlpha, mbdae.NullSpaceNewmark, mbdae.NullSpaceHHT, mbdae.NullSpaceGeneralizedAlpha)
NO_NUMBERS = (float("nan"), float("inf"), "1", None, True, 1j)
BAD = {"h": (*(x for x in NO_NUMBERS if x is not None), 0.0, -1e-3),
       "tol": (*NO_NUMBERS, 0.0, -1.0), "max_iter": (0, -1, 2.5, "3", None, True, float("nan")),
       "max_steps": (0, 1.5, None), "first_step": (*NO_NUMBERS, -1e-3)}
COEFFICIENTS = {"Newmark": {"beta": (*NO_NUMBERS, -0.1, 1.1), "gamma": (*NO_NUMBERS, -0.1, 1.1)},
                "HHT": {"alpha": (*NO_NUMBERS, -0.4, 0.1)},
                "GeneralizedAlpha": {"rho_inf": (*NO_NUMBERS, -0.1, 1.1)}}
BASES = {"level": ("index3", "", None, 3, []), "basis": ("sparse", "", None, 3, [])}


@pytest.mark.parametrize("made", CLASSES)
def test_bad_parameters_are_refused_by_name(made):
    name = made.__name__
    own = "basis" if "NullSpace" in name else "level"
    for field, values in (BAD | COEFFICIENTS[name.replace("NullSpace", "")] | {own: BASES[own]}).items():
        for value in values:
            with pytest.raises(ValueError, match=rf"^{name}: {field} must be ") as refused:
                made(**{field: value})
            assert repr(value) in str(refused.value)
    with pytest.raises(ValueError, match=r"first_step is for step-size control, h=None; the step size is fixed at h = 0\.01"):
        made(h=0.01, first_step=1e-3)


def test_beta_zero_on_positions_names_what_to_take_instead():
    with pytest.raises(ValueError, match=r"with beta = 0 .*another level, or NullSpaceNewmark"):
        mbdae.Newmark(beta=0.0)
    assert mbdae.Newmark(beta=0.0, level="velocity").formula.beta == 0.0


@pytest.mark.parametrize("made", CLASSES)
def test_coefficients_by_position(made):
    """After `h` come the coefficients of the formula, and nothing else."""
    count = 2 if "Newmark" in made.__name__ else 1
    values = (0.4, 0.6)[:count] if count == 2 else (-0.1,) if "HHT" in made.__name__ else (0.5,)
    method = made(1e-3, *values)
    names = ("beta", "gamma") if count == 2 else ("rho_inf",) if "Generalized" in made.__name__ else ("alpha",)
    assert tuple(getattr(method, n) for n in names) == values
    with pytest.raises(TypeError, match="positional"):
        made(1e-3, *values, True)


@pytest.mark.parametrize("atol", [0.0, -1.0, [1e-6] * 3])
def test_control_wants_one_positive_tolerance(atol):
    with pytest.raises(ValueError, match="atol"):
        mbdae.solve(system("double-pendulum"), mbdae.HHT(), (0.0, 0.1), rtol=1e-6, atol=atol)


# --- every method on every mechanism --------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("name", library.names())
def test_every_method_on_every_mechanism(name):
    """The first hundredth of the usual time, forty steps at most: nothing fails but position constraints with small beta."""
    s, entry = library.system(name), library.entry(name)
    h = min(entry.step, 1e-3 * entry.t_end)
    t_end = min(1e-2 * entry.t_end, 40 * h)
    for method in [*(made(h) for made in STABLE.values()), *ADAPTIVE.values()]:
        end = mbdae.solve(s, method, (0.0, t_end), rtol=1e-5, atol=1e-5)
        assert end.success, (method.label, end.message)
        assert all(np.isfinite(x).all() for x in (end.q, end.v, end.a, end.lam))


def test_a_singular_position_ahead_is_named():
    """The bars of the windows lie down at 0.714 s: a step that would end about there is told so, one from far away is not."""
    windows = library.system("n-four-bar")
    run = mbdae.solve(windows, SolveIvp(), (0.0, 0.7), formulation="ode", rtol=1e-10, atol=1e-10, t_eval=[0.0, 0.3, 0.7])
    status, reason = singular_ahead(windows, windows.start, 0.7, run.q[2], run.v[2], 0.02)
    assert status == Status.SINGULAR and "the constraints lose rank near t = 0.71" in reason
    assert all(name in reason for name in ("pivot 0.x", "left 1.x", "right 1.x"))
    assert singular_ahead(windows, windows.start, 0.3, run.q[1], run.v[1], 0.02) is None
    assert singular_ahead(windows, windows.start, 0.7, np.full(windows.nq, np.nan), run.v[2], 0.02) is None
