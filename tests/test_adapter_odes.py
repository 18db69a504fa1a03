"""scikits.odes: what its functions and method objects promise, and the traps of the package that they guard against."""

import inspect
import logging
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import mbdae
from mbdae import Status, library
from mbdae.adapters import odes_arguments
from mbdae.adapters.odes import (
    DIRECT,
    Odes,
    _remedy,
    band_order,
    cvode_arguments,
    daspk_arguments,
    dop_arguments,
    ida_arguments,
    lsodi_arguments,
)
from mbdae.adapters.odes_arguments import LINEAR, SCIPY, SOLVERS, SUPPORT
from mbdae.adapters.scipy import SolveIvp
from mbdae.adapters.terminal import environment
from mbdae.driver.callbacks import SolverCallbacks
from mbdae.driver.support import FORMS, supported
from mbdae.problems import FORMULATIONS

from .helpers import BREAKS_AT, chain, falls_below, thorough_but, torn, with_law

package = pytest.importorskip("scikits_odes", reason="scikits.odes is not installed: make setup-all")
for part in ("scikits_odes_sundials.ida", "scikits_odes_daepack.ddaspkint"):
    pytest.importorskip(part, reason=f"{part} is not installed: make setup-all")

METHODS = {name: Odes(name) for name in SOLVERS} | {
    "cvode Adams": Odes("cvode", multistep="Adams"), "cvode Krylov": Odes("cvode", linsolver="spgmr"),
    "ida band": Odes("ida", "difference", "band"), "ddaspk band": Odes("ddaspk", linsolver="band"),
    "ida differences": Odes("ida", "difference"), "ddaspk differences": Odes("ddaspk", "difference"),
    "cvode differences": Odes("cvode", "difference"),
    **{f"{name} wrapper": Odes(name, backend="wrapper") for name in DIRECT},
    "ddaspk band wrapper": Odes("ddaspk", linsolver="band", backend="wrapper")}
PLAIN = list(SOLVERS)
CELLS = [(name, form) for name, method in METHODS.items() for form in supported(method.support) if "diff" not in name or form == "gear"]
REFUSED = [(solver, form) for solver in SOLVERS for form in FORMS if isinstance(SUPPORT[solver][form], str)]
ARGUMENTS = {"ida": ida_arguments, "ddaspk": daspk_arguments, "lsodi": lsodi_arguments, "cvode": cvode_arguments,
             "dop853": dop_arguments, "dopri5": dop_arguments}
NEW_SCIPY = SCIPY >= (1, 17)
TOL = 1e-6


@pytest.fixture(params=thorough_but(("ida", "ddaspk", "ddaspk wrapper", "cvode"), METHODS))
def method(request):
    return METHODS[request.param]


@pytest.fixture(params=[*PLAIN, *(f"{name} wrapper" for name in DIRECT)])
def plain(request):
    return METHODS[request.param]


def made(solver, system):
    """A solver as a script would make it, its problem and its start."""
    problem = FORMULATIONS[Odes(solver).formulations[0]](system)
    start = problem.pack(mbdae.assemble(system))
    return problem, (package.dae if problem.implicit else package.ode), start if problem.implicit else start[:1]


def solved(found):
    """Times and states of either interface of the package."""
    return (found.values.t, found.values.y) if hasattr(found, "values") else found[1:3]


# --- forms -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "form"), CELLS)
def test_every_supported_form_keeps_its_tolerance(system, reference, name, form):
    s = mbdae.solve(system, METHODS[name], (0.0, 0.5), formulation=form, t_eval=[0.2, 0.5])
    assert s.success, s.message
    np.testing.assert_allclose(s.q, reference(s.t)[0], atol=30 * TOL)
    np.testing.assert_allclose(s.v, reference(s.t)[1], atol=1e3 * TOL)
    np.testing.assert_allclose(s.lam, reference(s.t)[3], atol=1e4 * TOL)


@pytest.mark.parametrize(("solver", "form"), REFUSED)
def test_other_forms_are_refused_with_the_reason(system, solver, form):
    with pytest.raises(ValueError, match=f"cannot take the form '{form}'") as refusal:
        mbdae.solve(system, Odes(solver), (0.0, 0.1), formulation=form)
    assert SUPPORT[solver][form] in str(refusal.value)
    with pytest.raises(ValueError, match=f"_arguments: {SOLVERS[solver]}|dop_arguments: DOP853") as refusal:
        ARGUMENTS[solver](FORMULATIONS[form](system))
    assert SUPPORT[solver][form] in str(refusal.value)


@pytest.mark.parametrize(("solver", "jacobian", "linsolver"), [("ida", "difference", "band"), ("ddaspk", "exact", "band"),
                                                               ("ddaspk", "exact", "dense")])
def test_large_systems(solver, jacobian, linsolver):
    m = chain(8)
    exact = mbdae.solve(m, SolveIvp(), (0.0, 0.1), rtol=1e-10, atol=1e-11, t_eval=[0.1])
    s = mbdae.solve(m, Odes(solver, jacobian, linsolver), (0.0, 0.1), t_eval=[0.1], formulation="ggl")
    assert s.success, s.message
    np.testing.assert_allclose(s.q, exact.q, atol=20 * TOL)


# --- times -------------------------------------------------------------------------------------------------------------------------------


def test_backward_in_time(system, reference, method):
    q, v, _, _ = reference(0.3)
    s = mbdae.solve(system, method, (0.3, 0.0), q0=q, v0=v, t_eval=[0.3, 0.15, 0.0])
    np.testing.assert_array_equal(s.t, [0.3, 0.15, 0.0])
    np.testing.assert_allclose(s.q, reference(s.t)[0], atol=40 * TOL)


@pytest.mark.parametrize("t0", [-0.4, -0.1, 7.0, 1e5])
def test_other_starts(system, reference, method, t0):
    """Trap: a time that is not positive is no stop time to SUNDIALS, and no time at all to the FORTRAN solvers."""
    s = mbdae.solve(system, method, (t0, t0 + 0.3), t_eval=[t0 + 0.1, t0 + 0.3])
    assert s.success, s.message
    np.testing.assert_allclose(s.q, reference(np.array([0.1, 0.3]))[0], atol=30 * TOL)


def test_output_times_are_hit(system, reference, method):
    assert mbdae.solve(system, method, (0.0, 0.1), t_eval=[]).q.shape == (0, 6)
    assert mbdae.solve(system, method, (0.0, 0.1), t_eval=[0.1]).q.shape == (1, 6)
    times = np.linspace(0.0, 0.3, 2000)
    s = mbdae.solve(system, method, (0.0, 0.3), t_eval=times)
    np.testing.assert_array_equal(s.t, times)
    np.testing.assert_allclose(s.q, reference(times)[0], atol=30 * TOL)
    np.testing.assert_allclose(s.a, reference(times)[2], atol=1e4 * TOL)


def test_output_does_not_change_the_steps(system, plain):
    few, many = (mbdae.solve(system, plain, (0.0, 0.3), t_eval=np.linspace(0.0, 0.3, n)) for n in (2, 500))
    assert few.statistics.steps == many.statistics.steps
    np.testing.assert_array_equal(few.q[-1], many.q[-1])


def test_steps_and_dense_output(system, reference, method):
    s = mbdae.solve(system, replace(method, max_step=0.02), (0.0, 0.3), dense_output=True)
    assert len(s.t) == s.statistics.steps + 1
    assert (np.diff(s.t) <= 0.02 * (1 + 1e-6)).all()
    assert s.t[-1] == 0.3
    np.testing.assert_allclose(s.sol(0.123)[0], reference(0.123)[0], atol=30 * TOL)


@pytest.mark.thorough
def test_every_end_is_met(system, plain):
    """Trap: rounding puts the last step of DASPK beyond the stop time, and LSODI's end where its interpolation fails."""
    rng = np.random.default_rng(7)
    for length, t0 in zip(10.0 ** rng.uniform(-7, -1, 40), rng.uniform(-1.0, 1.0, 40)):
        for start in (0.0, t0):
            end = start + length
            s = mbdae.solve(system, plain, (start, end), t_eval=[np.nextafter(end, -9.0), end])
            assert s.success, s.message
            assert s.t[-1] == end
            np.testing.assert_allclose(s.q[0], s.q[1], atol=1e-12)


def test_output_at_the_very_ends_of_steps(system, plain):
    """Trap: DASPK takes no time before the one that it has returned last, nor is there anything to interpolate behind it."""
    steps = mbdae.solve(system, plain, (0.0, 0.3)).t
    for towards in (-1.0, 1.0):
        s = mbdae.solve(system, plain, (0.0, 0.3), t_eval=np.nextafter(steps[1:-1], towards))
        assert s.success, s.message
        assert s.statistics.steps == len(steps) - 1


def test_short_spans(system, plain):
    for form in plain.formulations:
        s = mbdae.solve(system, plain, (0.0, 1e-7), formulation=form)
        assert s.success, s.message
        assert s.t[-1] == 1e-7


@pytest.mark.parametrize("name", ["ida", "ddaspk", "lsodi", "cvode", "dop853"])
def test_first_step_and_order(system, name):
    method = Odes(name, first_step=1e-5)
    assert mbdae.solve(system, method, (0.0, 0.1)).t[1] == pytest.approx(1e-5, rel=1e-6)
    if name != "dop853":
        first, highest = (mbdae.solve(system, Odes(name, max_order=k), (0.0, 0.05)).statistics.steps for k in (1, None))
        assert first > 2 * highest


# --- events, progress, limits ------------------------------------------------------------------------------------------------------------


def test_terminal_events_end_the_run(system, reference, plain):
    s = mbdae.solve(system, replace(plain, max_step=0.02), (0.0, 0.5), events=falls_below)
    assert s.success
    assert s.t[-1] == s.t_events[0][0] < 0.45
    assert "a terminal event" in s.message
    assert reference(s.t[-1])[0][4] == pytest.approx(-0.6, abs=1e-5)


def test_progress_and_step_limit(system, plain):
    seen = []
    s = mbdae.solve(system, replace(plain, max_steps=4), (0.0, 0.5), progress=seen.append)
    assert s.status == Status.TOO_MANY_STEPS
    assert "4 steps were not enough" in s.message
    assert s.statistics.steps == len(seen) == 4
    np.testing.assert_array_equal(seen, s.t[1:])


def test_bad_options_are_refused():
    for options, message in (({"solver": "idas"}, "solver must be one of ida, ddaspk, lsodi, cvode, dop853, dopri5, got 'idas'"),
                             ({"jacobian": "sparse"}, "jacobian must be 'exact', .*got 'sparse'"),
                             ({"linsolver": "klu"}, "linsolver must be one of dense, band for IDA, got 'klu'"),
                             ({"solver": "lsodi", "linsolver": "band"}, "linsolver must be one of dense for LSODI"),
                             ({"linsolver": "band"}, "with linsolver='band' the package passes no Jacobian on to IDA, so jacobian must be"),
                             ({"solver": "ddaspk", "jacobian": "difference", "linsolver": "band"}, "with linsolver='band' the package"),
                             ({"multistep": "bdf"}, "multistep must be 'BDF' or 'Adams'"),
                             ({"multistep": "Adams"}, "multistep='Adams' is a choice of CVODE, not of IDA"),
                             ({"max_order": 6}, "max_order must be one of 1 to 5, got 6"),
                             ({"solver": "dop853", "max_order": 5}, "the order of DOP853 is fixed, got max_order=5"),
                             ({"max_step": -1.0}, "max_step must be finite and not negative"),
                             ({"first_step": float("nan")}, "first_step must be finite and not negative"),
                             ({"max_steps": 0}, "max_steps must be at least 1"),
                             ({"backend": "direct"}, "backend must be one of auto, library, wrapper, got 'direct'"),
                             ({"backend": "library"}, "IDA goes through the package, so backend='library' is not possible")):
        with pytest.raises(ValueError, match=f"^Odes: {message}"):
            Odes(**options)
    Odes("cvode", multistep="Adams", max_order=12)


def test_it_says_what_it_is():
    assert Odes("ddaspk", "difference").label == "scikits.odes DASPK, difference Jacobian"
    assert Odes("cvode", multistep="Adams").label == "scikits.odes CVODE Adams"
    assert Odes.package == "scikits.odes"
    assert Odes.availability().installed
    assert Odes.availability().remedy == _remedy(sys.version_info[:2])
    assert Odes.availability().checkout == "make setup-all"
    assert set(LINEAR) == set(SUPPORT) == set(SOLVERS)


def test_the_command_that_installs_it_depends_on_python():
    assert _remedy((3, 11)) == "apt-get install -y gfortran libsundials-dev && pip install 'mbdae[odes]'"
    assert _remedy((3, 13)) == "apt-get install -y gfortran libsundials-dev && pip install 'mbdae[odes7]'"
    older = """older=$(mktemp) && echo 'numpy<2.5' > "$older" && PIP_CONSTRAINT="$older" """
    assert _remedy((3, 12)) == f"apt-get install -y gfortran libsundials-dev && {older}pip install 'mbdae[odes]'"


def test_the_shell_gives_pip_the_constraint(tmp_path):
    pip = """pip() { echo "$@" && cat "$PIP_CONSTRAINT"; }; """
    script = pip + _remedy((3, 12)).partition(" && ")[2]
    done = subprocess.run(["sh", "-c", script], env=os.environ | {"TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert done.stdout == "install mbdae[odes]\nnumpy<2.5\n"


# --- failures ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError("of the user"), ValueError("of the user"), KeyboardInterrupt()],
                         ids=lambda e: type(e).__name__)
def test_exceptions_of_the_user_arrive_unchanged(method, error, capfd):
    """Trap: IDA prints them and goes on, CVODE raises others, and FORTRAN leaves notes in standard error."""

    def law(length, rate, t):
        if t > BREAKS_AT:
            raise error
        return 0.1 * length

    with pytest.raises(type(error)) as caught:
        mbdae.solve(with_law(law), method, (0.0, 0.2))
    assert caught.value is error
    assert capfd.readouterr() == ("", "")


def test_interrupts_of_the_progress_function_arrive(system, plain, capfd):
    def stop(t):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mbdae.solve(system, plain, (0.0, 0.2), progress=stop)
    assert capfd.readouterr() == ("", "")


def test_values_that_are_not_finite_end_the_run(fragile, method):
    s = mbdae.solve(fragile, method, (0.0, 0.2))
    assert s.status == Status.NOT_FINITE
    assert "not finite" in s.message
    assert "the solution up to there is kept" in s.message
    assert 0.02 < s.t[-1] < BREAKS_AT + 1e-3
    assert np.isfinite(s.q).all()
    assert s.statistics.steps == len(s.t) - 1


def test_values_that_are_never_finite_keep_the_start(plain):
    s = mbdae.solve(with_law(lambda length, rate, t: float("nan") if t > 0.0 else 0.0), plain, (0.0, 0.1))
    assert s.status == Status.NOT_FINITE
    np.testing.assert_array_equal(s.t, [0.0])


def singular():
    """A mechanism that reaches a dead point at t = 0.4."""
    joints = [mbdae.Rod("rod", "ground", "p"), mbdae.CD("plane", "ground", "p", (0, 0, 1))]
    drive = mbdae.CoordinateDriver("pull", "ground", "p", mbdae.Polynomial((0.6, 1.0)), (1, 0, 0))
    return mbdae.Mechanism("dead point", [mbdae.Particle("p", 1.0, (0.6, 0.8, 0))], joints, [drive])


def test_a_singular_position_is_reported(plain, capfd):
    s = mbdae.solve(singular(), plain, (0.0, 1.0))
    failures = (Status.STEP_TOO_SMALL, Status.NEWTON_FAILED, Status.NOT_FINITE, Status.SOLVER_FAILED)
    assert s.status in failures or (s.status == Status.SINGULAR and "lose rank" in s.message), s.message
    assert s.t[-1] == pytest.approx(0.4, abs=1e-2)
    assert len(s.message) > 40
    assert capfd.readouterr() == ("", "")


def test_times_in_messages_of_sundials_are_explained():
    """Its clock starts at zero, whatever the time."""
    for t0, told in ((0.2, True), (0.0, False)):
        never = with_law(lambda length, rate, t, t0=t0: float("nan") if t > t0 else 0.0)
        s = mbdae.solve(never, Odes("ida"), (t0, t0 + 1.0))
        assert "SUNDIALS: At t = 0" in s.message
        assert ("(t relative to the start)" in s.message) == told


@pytest.mark.thorough
def test_fortran_prints_nothing_when_the_process_ends():
    """Trap: what DASPK writes about its failure waits in a buffer of FORTRAN until then."""
    script = ("import mbdae; from mbdae.adapters.odes import Odes; from tests.test_adapter_odes import singular\n"
              "for name in ('ddaspk', 'lsodi', 'dop853', 'ida', 'cvode'): print(mbdae.solve(singular(), Odes(name), (0.0, 1.0)).success)")
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (run.stdout, run.stderr) == ("False\n" * 5, "")


def test_nothing_is_printed_but_by_the_user(method, capfd):
    def loud(length, rate, t):
        print("law")
        return torn(length, rate, t)

    noisy = with_law(loud)
    capfd.readouterr()
    mbdae.solve(noisy, method, (0.0, 0.06))
    captured = capfd.readouterr()
    assert set(captured.out.split("\n")) == {"law", ""}
    assert captured.err == ""


# --- work --------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["ida", "ddaspk", "cvode"])
def test_the_exact_jacobian_is_used_and_saves_evaluations(system, solver):
    problem = FORMULATIONS[Odes(solver).formulations[0]](system)
    calls, kernel = [0], problem.kernel

    def counting(*arguments):
        calls[0] += 1
        return kernel(*arguments)

    problem.kernel = counting
    spent, counts = [], []
    for jacobian in ("exact", "difference"):
        calls[0] = 0
        counts.append(mbdae.solve(problem, Odes(solver, jacobian), (0.0, 0.3)).statistics)
        spent.append(calls[0] - 1)  # one call compiles
    exact, difference = counts
    assert exact.jacobians > 0
    assert exact.residuals == spent[0] and exact.residuals_jacobian == 0
    assert spent[1] > spent[0]
    if solver == "ida":  # it does not tell one from the other
        assert difference.residuals is difference.residuals_jacobian is difference.jacobians is None
    else:
        assert difference.residuals + difference.residuals_jacobian == spent[1]
        assert abs(difference.residuals - exact.residuals) < 0.2 * exact.residuals


def test_counters_of_the_solvers(system):
    counts = {name: mbdae.solve(system, METHODS[name], (0.0, 0.5)).statistics for name in PLAIN}
    assert all(c.steps > 5 and c.seconds > 0 and c.residuals >= c.steps for c in counts.values())
    assert counts["ddaspk"].newton_iterations > counts["ddaspk"].steps
    assert counts["lsodi"].residuals_jacobian == 17 * counts["lsodi"].jacobians > 0
    assert counts["cvode"].factorisations > 0
    assert all(counts[name].rejected_error is not None for name in ("ddaspk", "cvode", "dop853", "dopri5"))
    assert counts["ida"].rejected_error is counts["ida"].newton_iterations is None


# --- scripts of users of the package -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", PLAIN)
def test_problems_drop_into_the_package(system, reference, solver):
    problem, kind, start = made(solver, system)
    t, y = solved(kind(solver, **ARGUMENTS[solver](problem, rtol=1e-8, atol=1e-10)).solve([0.0, 0.1, 0.3], *start))
    q, v = problem.motion(0.3, y[-1])
    assert t[-1] == 0.3
    np.testing.assert_allclose(q, reference(0.3)[0], atol=1e-6)
    np.testing.assert_allclose(v, reference(0.3)[1], atol=1e-5)


@pytest.mark.parametrize("solver", PLAIN)
def test_problems_run_backward_in_scripts(system, reference, solver):
    """Trap: IDA refuses to, for the sake of a start that it need not compute."""
    q, v, _, _ = reference(0.3)
    problem, kind, _ = made(solver, system)
    start = problem.pack(mbdae.assemble(system, 0.3, q, v))[:1 + problem.implicit]
    more = {"compute_initcond_t0": -0.01} if solver == "ida" else {}
    t, y = solved(kind(solver, **ARGUMENTS[solver](problem) | more).solve([0.3, 0.2, 0.1], *start))
    assert t[-1] == 0.1
    np.testing.assert_allclose(problem.motion(0.1, y[-1])[0], reference(0.1)[0], atol=40 * TOL)


def test_bad_arguments_are_refused(system):
    implicit, explicit = mbdae.GGL(system), mbdae.UnderlyingODE(system)
    for make, message in ((lambda: ida_arguments(implicit, jacobian="sparse"), "ida_arguments: jacobian"),
                          (lambda: ida_arguments(implicit, linsolver="klu"), "ida_arguments: linsolver"),
                          (lambda: ida_arguments(implicit, events=["fall"]), "events must be callables"),
                          (lambda: daspk_arguments(implicit, jacobian="difference", linsolver="band"), "daspk_arguments: with linsolver"),
                          (lambda: cvode_arguments(explicit, multistep="adams"), "cvode_arguments: multistep"),
                          (lambda: dop_arguments(explicit, atol=[1e-8]), "atol")):
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.parametrize(("solver", "jacobian"), [("ida", "difference"), ("ddaspk", "exact")])
def test_bands_drop_into_the_package(system, reference, solver, jacobian):
    problem = mbdae.GGL(system)
    order, y = band_order(problem), np.empty(problem.n)
    start = (x[order] for x in problem.pack(mbdae.assemble(system)))
    arguments = ARGUMENTS[solver](problem, 1e-8, 1e-10, jacobian=jacobian, linsolver="band")
    y[order] = solved(package.dae(solver, **arguments).solve([0.0, 0.1, 0.3], *start))[1][-1]
    np.testing.assert_allclose(problem.motion(0.3, y)[0], reference(0.3)[0], atol=1e-6)


@pytest.mark.parametrize(("solver", "linsolver"), [("ida", "dense"), ("ida", "band"), ("cvode", "dense")])
def test_events_drop_into_sundials(system, solver, linsolver):
    """Trap: SUNDIALS knows no directions, and the package stops at every root."""

    def clock(t, q, v):
        return t - 0.123

    def rises(t, q, v):
        return q[4] + 0.6

    rises.terminal, rises.direction = True, 1
    problem, kind, start = made(solver, system)
    jacobian = "difference" if linsolver == "band" else "exact"
    order = band_order(problem) if linsolver == "band" else slice(None)
    arguments = ARGUMENTS[solver](problem, 1e-8, 1e-10, jacobian, linsolver, events=[rises, clock, falls_below])
    found = kind(solver, **arguments).solve(np.linspace(0.0, 0.5, 11), *(x[order] for x in start))
    assert found.flag.name if solver == "cvode" else found.flag == 2
    expected = mbdae.solve(system, Odes("dop853", max_step=0.01), (0.0, 0.5), events=falls_below, rtol=1e-9, atol=1e-11).t_events[0]
    np.testing.assert_allclose(found.roots.t, [0.123, *expected], atol=1e-6)
    found = kind(solver, **ARGUMENTS[solver](problem, jacobian=jacobian, linsolver=linsolver, events=[rises])).solve(
        [0.0, 0.5], *(x[order] for x in start))
    assert found.values.t[-1] == 0.5  # it falls only
    assert len(found.roots.t) == 1


def test_events_run_backward_too(system, reference):
    problem = mbdae.UnderlyingODE(system)
    q, v, _, _ = reference(0.5)
    y0, _ = problem.pack(mbdae.assemble(system, 0.5, q, v))
    rises = lambda t, q, v: q[4] + 0.6  # noqa: E731 - functions carry their own attributes
    rises.terminal, rises.direction = True, 1
    found = package.ode("cvode", **cvode_arguments(problem, events=rises)).solve([0.5, 0.3, 0.1, 0.0], y0)
    expected = mbdae.solve(system, Odes("dop853", max_step=0.01), (0.0, 0.5), events=falls_below, rtol=1e-9, atol=1e-11).t_events[0]
    np.testing.assert_allclose(found.roots.t, expected, atol=1e-4)
    assert found.values.t[-1] == 0.3


@pytest.mark.parametrize("solver", ["ida", "cvode"])
def test_exceptions_stop_scripts_around_sundials_and_are_logged(solver, caplog):
    """Trap: IDA would print each of them and go on, CVODE would raise a SystemError."""

    def law(length, rate, t):
        if t > BREAKS_AT:
            raise RuntimeError("of the user")
        return 0.0

    problem, kind, start = made(solver, with_law(law))
    silence = {"err_handler": lambda code, module, function, message: None}
    with caplog.at_level(logging.ERROR):
        found = kind(solver, **ARGUMENTS[solver](problem), **silence).solve([0.0, 0.2], *start)
    assert found.flag < 0
    assert "unrecoverable" in found.message or "non-recoverable" in found.message
    assert [record.exc_info[1].args for record in caplog.records] == [("of the user",)]
    callbacks = SolverCallbacks(problem, keeps=True)
    kind(solver, **ARGUMENTS[solver](problem, callbacks=callbacks), **silence).solve([0.0, 0.2], *start)
    with pytest.raises(RuntimeError, match="of the user"):
        callbacks.raise_kept()


@pytest.mark.parametrize("first", [0.0, 0.001, BREAKS_AT, 0.19])
@pytest.mark.parametrize("solver", ["dop853", "dopri5"])
@pytest.mark.skipif(not NEW_SCIPY, reason="exceptions pass through the solvers of SciPy up to 1.16")
def test_exceptions_stop_scripts_around_those_of_scipy_and_are_logged(solver, first, caplog):
    """Trap: since SciPy 1.17 they go on after an exception, as long as their limit of steps allows; huge derivatives that do not change
    would be a success.
    """

    def law(length, rate, t):
        if t > first:
            raise RuntimeError("of the user")
        return 0.0

    problem, kind, start = made(solver, with_law(law))
    with caplog.at_level(logging.ERROR), pytest.warns(UserWarning, match="dop"):
        found = kind(solver, **ARGUMENTS[solver](problem)).solve([0.0, 0.2], *start)
    assert found.flag < 0
    assert found.values.t[-1] == 0.0
    assert [record.exc_info[1].args for record in caplog.records] == [("of the user",)]


@pytest.mark.parametrize("solver", ["ddaspk", "lsodi", *([] if NEW_SCIPY else ["dop853", "dopri5"])])
def test_exceptions_pass_through_scripts_around_fortran(system, solver):
    error = RuntimeError("of the user")

    def law(length, rate, t):
        raise error

    _, kind, start = made(solver, system)
    problem = FORMULATIONS[Odes(solver).formulations[0]](with_law(law))
    with pytest.raises(RuntimeError) as caught:
        kind(solver, **ARGUMENTS[solver](problem)).solve([0.0, 0.2], *start)
    assert caught.value is error


# --- traps -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ida", "cvode", "cvode Adams"])
def test_the_stop_time_survives_single_precision(name):
    """Trap: the package passes 0.03 on as 0.0299999993; SUNDIALS stops there, and from there steps far beyond the end."""
    system = mbdae.System(library.mechanism("andrews"))
    problem = FORMULATIONS["ode" if "cvode" in name else "ggl"](system)
    last, kernel = [0.0], problem.kernel

    def watching(t, *arguments):
        last[0] = max(last[0], t)
        return kernel(t, *arguments)

    problem.kernel = watching
    s = mbdae.solve(problem, METHODS[name], (0.0, 0.03), rtol=1e-8, atol=1e-10, t_eval=[0.03])
    assert 0.03 <= last[0] < 0.03 * (1.0 + 1e-7)
    exact = mbdae.solve(system, SolveIvp(), (0.0, 0.03), rtol=1e-12, atol=1e-13, t_eval=[0.03])
    np.testing.assert_allclose(s.q, exact.q, atol=1e-5)


def test_daspk_gets_the_jacobian_by_columns(system):
    """Trap: the package copies the rows of `J` into the columns of DASPK's matrix. With it as it is DASPK fails on the first steps."""
    problem = mbdae.GGL(system)
    y, yd = problem.pack(mbdae.assemble(system))
    J, expected = np.full((problem.n, problem.n), np.nan), problem.jacobian(0.0, y, yd, 1e3).toarray()
    daspk_arguments(problem)["jacfn"](0.0, y, yd, 1e3, J)
    np.testing.assert_allclose(J.T, expected)
    callbacks = SolverCallbacks(problem)
    assert package.dae("ddaspk", **daspk_arguments(problem, callbacks=callbacks)).solve([0.0, 0.1], y, yd)[0] == 1
    assert 3 < callbacks.jacobians < callbacks.calls / 3


def test_daspk_gets_a_band_with_room_for_pivoting(system):
    """Trap: the package's own array is too short for a band and has the wrong leading dimension."""
    problem = mbdae.GGL(system)
    y, yd = problem.pack(mbdae.assemble(system))
    order = band_order(problem)
    arguments = daspk_arguments(problem, linsolver="band")
    lower, upper = arguments["lband"], arguments["uband"]
    J = np.zeros((lower + upper + 1, problem.n))
    arguments["jacfn"](0.0, y[order], yd[order], 1e3, J)
    assert J.shape == (problem.n, 2 * lower + upper + 1)
    expected = problem.jacobian(0.0, y, yd, 1e3).toarray()[np.ix_(order, order)]
    for j in range(problem.n):
        for i in range(max(0, j - upper), min(problem.n, j + lower + 1)):
            assert J[j, lower + upper + i - j] == pytest.approx(expected[i, j])


ONE_RUN = {"ddaspk": "DASPK", "lsodi": "LSODI"} | dict.fromkeys(["dop853", "dopri5"] if NEW_SCIPY else [], "DOP853 and DOPRI5 of SciPy")


@pytest.mark.parametrize("solver", ONE_RUN)
def test_fortran_does_one_run_at_a_time(system, solver):
    """Trap: static memory. A run within another one spoils it without a word."""
    method = Odes(solver)
    with pytest.raises(RuntimeError, match=f"{ONE_RUN[solver]} can do one run at a time"):
        mbdae.solve(system, method, (0.0, 0.1), progress=lambda t: mbdae.solve(system, method, (0.0, 0.1)))
    assert mbdae.solve(system, method, (0.0, 0.1)).success


@pytest.mark.parametrize("outer", sorted(set(SOLVERS) - set(ONE_RUN)))
def test_other_runs_may_be_nested(system, outer):
    alone = mbdae.solve(system, Odes(outer), (0.0, 0.1))
    nested = mbdae.solve(system, Odes(outer), (0.0, 0.1), progress=lambda t: mbdae.solve(system, Odes(outer, max_step=0.01), (0.0, 0.03)))
    np.testing.assert_array_equal(nested.q, alone.q)


def test_tolerances_of_dop853(system):
    """Trap: SciPy takes two numbers or, up to 1.16, two arrays."""
    problem = FORMULATIONS["ode"](system)
    given = dop_arguments(problem, 1e-5, np.full(problem.n, 1e-7))
    assert (given["rtol"], given["atol"]) == (1e-5, 1e-7)
    unequal = np.geomspace(1e-8, 1e-6, problem.n)
    if NEW_SCIPY:
        with pytest.raises(ValueError, match=r"SciPy 1\.17 and newer take one atol for all unknowns"):
            dop_arguments(problem, 1e-5, unequal)
    else:
        given = dop_arguments(problem, 1e-5, unequal)
        np.testing.assert_array_equal(given["atol"], unequal)
        assert given["rtol"].shape == unequal.shape


def test_environment_variables_of_the_user_stay(monkeypatch):
    monkeypatch.delenv("MBDAE_TEST", raising=False)
    with environment("MBDAE_TEST", "ours"):
        assert os.environ["MBDAE_TEST"] == "ours"
    assert "MBDAE_TEST" not in os.environ
    monkeypatch.setenv("MBDAE_TEST", "user's")
    with environment("MBDAE_TEST", "ours"):
        assert os.environ["MBDAE_TEST"] == "user's"
    assert os.environ["MBDAE_TEST"] == "user's"


def test_options_of_dop853_do_not_linger(system):
    """Trap: all solvers of a class share one dictionary of options."""
    mbdae.solve(system, Odes("dop853", max_step=1e-3, first_step=1e-6), (0.0, 0.01))
    problem, kind, start = made("dop853", system)
    solver = kind("dop853", **dop_arguments(problem))
    solver.solve([0.0, 0.1], *start)
    inner = solver._integrator.solver._integrator
    assert (inner.max_step, inner.first_step) == (0.0, 0.0)
    steps = [mbdae.solve(system, method, (0.0, 0.1)).statistics.steps for method in (Odes("dop853"), Odes("dop853", max_step=1e-3))]
    assert steps[1] > 90 > steps[0]


@pytest.mark.parametrize("solver", PLAIN)
def test_callbacks_are_plain_functions(system, solver):
    """Trap: the package counts the arguments of what it is given, miscounts those of methods, and cannot count those of compiled code."""
    problem, _, _ = made(solver, system)
    arguments = ARGUMENTS[solver](problem)
    f = arguments["eqsres" if problem.implicit else "eqsrhs"]
    assert inspect.isfunction(f)
    assert len(inspect.getfullargspec(f).args) == (4 if problem.implicit else 3)


@pytest.mark.parametrize("solver", PLAIN)
def test_a_solver_that_takes_no_flags_is_stopped_by_values(solver):
    """Trap: with what is left in its array it would go on, DOP853 possibly for good."""

    def law(length, rate, t):
        raise RuntimeError("of the user")

    problem = FORMULATIONS[Odes(solver).formulations[0]](with_law(law))
    arguments = ARGUMENTS[solver](problem, callbacks=SolverCallbacks(problem, keeps=True))
    y, out = np.zeros(problem.n), np.zeros(problem.n)
    flags = [arguments["eqsres"](0.0, y, y, out) if problem.implicit else arguments["eqsrhs"](0.0, y, out) for _ in range(2)]
    assert flags == [-1, -1] if solver in ("ida", "cvode") else (np.isnan(out) | (out == 1e60)).all()


@pytest.mark.parametrize("solver", ["ida", "ddaspk"])
def test_multipliers_are_not_in_the_error_test(solver):
    problem = mbdae.Index2(mbdae.System(library.mechanism("andrews")))
    steps = []
    for tolerance in (1.0, 1e4):
        atol = np.full(problem.n, 1e-8)
        atol[problem.blocks["lam"]] = tolerance
        steps.append(mbdae.solve(problem, Odes(solver), (0.0, 0.03), atol=atol).statistics.steps)
    assert steps[0] == steps[1]


def test_daspk_finds_a_consistent_start_by_itself(system):
    """Trap: it asks for the truth of what names the algebraic unknowns, which an array does not have."""
    problem = mbdae.Index1(system)
    y, yd = problem.pack(mbdae.assemble(system))
    expected = y.copy()
    y[problem.blocks["lam"]] += 0.1
    arguments = daspk_arguments(problem) | {"compute_initcond": "yp0", "first_step": 1e-6}
    found, rate = np.empty(problem.n), np.empty(problem.n)
    solver = package.dae("ddaspk", **arguments)
    solver.init_step(0.0, y, yd, found, rate)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("solver", ["ida", "lsodi", "cvode", "dop853"])
def test_scripts_may_ask_for_few_output_times(system, solver):
    """Trap: by default the solvers stop after 500 steps between two output times."""
    problem, kind, start = made(solver, system)
    t, _ = solved(kind(solver, **ARGUMENTS[solver](problem, 1e-9, 1e-12) | _SHORT[solver]).solve([0.0, 1.0], *start))
    assert t[-1] == 1.0


_SHORT = {"ida": {"max_step_size": 1e-3}, "lsodi": {"max_step_size": 1e-3}, "cvode": {"max_step_size": 1e-3}, "dop853": {"max_step": 1e-3}}


@pytest.mark.thorough
def test_modules_import_without_the_package():
    hidden = "import sys; sys.modules.update(scikits_odes=None, scikits_odes_sundials=None, scikits_odes_daepack=None)\n"
    script = hidden + "from mbdae.adapters.odes import Odes; print(Odes('lsodi').formulations, Odes.availability().installed)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert run.stdout == "('index1',) False\n", run.stderr
    assert odes_arguments.__name__ == "mbdae.adapters.odes_arguments"
