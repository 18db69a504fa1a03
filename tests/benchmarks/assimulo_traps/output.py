"""Text on the terminal, what ODASSL returns, and output times."""

import contextlib
import itertools
import time

import numpy as np

from .base import (
    ALL,
    PROGRESS,
    TRAPS,
    WITH_INTERPOLANT,
    blow_up,
    exact,
    noise,
    number,
    oscillator,
    outcome,
    pendulum,
    solver_of,
    told,
    trap,
)

# --- what is printed ---------------------------------------------------------------------------------------------------------------------

_PRINTS = "output taken off descriptor 1 or filtered, verbosity 49 (terminal.py; assimulo_settings.py: SILENT)"


def _printing(verbosity):
    @trap(f"what a normal run prints at verbosity {verbosity}", _PRINTS, ALL)
    def normal(name):
        solver_of(name, verbosity=verbosity).simulate(2.0)
        return ""

    @trap(f"what a failing run prints at verbosity {verbosity}", _PRINTS, ALL)
    def failing(name):
        solver = solver_of(name, noise, verbosity=verbosity) if name == "IDA" else solver_of(name, blow_up, (1.0,), verbosity=verbosity)
        if "maxsteps" in solver.options:
            solver.maxsteps = 20  # not all solvers notice the pole
        with contextlib.suppress(Exception):
            solver.simulate(2.0)
        return ""

    for which in ("normal", "failing"):
        TRAPS[f"prints-{which}-{verbosity}"] = TRAPS.pop(which)


for _verbosity in (49, 50):
    _printing(_verbosity)


@trap("how a run ends whose solution has a pole", "its exception becomes a status (assimulo.py: _failure)", ALL)
def pole(name):
    return outcome(solver_of(name, blow_up, (1.0,)), solution=lambda t: np.full(1, np.inf))


# --- ODASSL ------------------------------------------------------------------------------------------------------------------------------


@trap("first row of the results of ODASSL", "results are copies (assimulo_problems.py: handle_result)")
def odassl_first_row():
    y = solver_of("ODASSL").simulate(2.0)[1]
    return "the start" if np.allclose(y[0], exact(0.0)) else "the final state" if np.array_equal(y[0], y[-1]) else f"{y[0]}"


@trap("tolerances of ODASSL after a run with algvar", "algvar is taken away (assimulo_settings.py: _prepare)")
def odassl_algvar():
    from assimulo.solvers import ODASSL

    solver = ODASSL(pendulum(1, (0.6, -0.8), algvar=[1, 1, 1, 1, 0]))
    solver.verbosity, solver.rtol, solver.atol = 49, np.full(5, 1e-6), np.full(5, 1e-6)
    solver.simulate(0.1)
    return f"atol of the algebraic unknown {number(solver.atol[4])}, rtol {number(np.ravel(solver.rtol)[-1])}, before 1e-06"


@trap("pendulum (index 3) whose positions are zero at the start, ODASSL", "unknowns shifted off zero (assimulo_settings.py: _shift)")
def odassl_zeros():
    from assimulo.solvers import ODASSL

    found = []
    for origin, rtol in itertools.product(((0.6, -0.8), (0.0, 0.0)), (1e-4, 1e-6)):
        solver = ODASSL(pendulum(3, (0.6, -0.8), origin))
        solver.verbosity, solver.rtol, solver.atol = 49, rtol, np.array([rtol / 100] * 4 + [1e2])
        try:
            solver.simulate(0.5)
            found.append("success")
        except Exception as error:
            found.append(told(error))
    return f"rtol 1e-4: {found[0]}, 1e-6: {found[1]}; counted from elsewhere: {found[2]}, {found[3]}"


@trap("maxord = 3 of ODASSL", "set through its options (assimulo_settings.py: _set_steps)")
def odassl_maxord():
    solver, found = solver_of("ODASSL"), []
    for order in (3, 7):
        try:
            solver.maxord = order
            found.append(f"{order} is taken")
        except Exception as error:
            found.append(f"{order} is refused: {told(error)}")
    return "; ".join(found)


@trap("beyond the end of the time span", "nothing, it is documented (assimulo.py: Assimulo)", ALL)
def beyond_the_end(name):
    latest = []

    def rhs(t, y, *switches):
        latest.append(t)
        return oscillator(t, y)

    solver_of(name, rhs).simulate(2.0)
    return "evaluates beyond" if max(latest) > 2.0 + 1e-9 else "does not"


# --- times -------------------------------------------------------------------------------------------------------------------------------


@trap("output at ten times backward in time (backward = True)", "the adapter turns the clock (mbdae/driver/callbacks.py)", ALL)
def backward_output(name):
    return _backward(name, 10)


@trap("steps backward in time (backward = True)", "the adapter turns the clock (mbdae/driver/callbacks.py)", ALL)
def backward_steps(name):
    return _backward(name, 0)


def _backward(name, ncp):
    solver = solver_of(name, y0=exact(1.0), t0=1.0)
    solver.backward = True
    try:
        found = solver.simulate(0.0, ncp)
    except BaseException as error:
        return f"raises {told(error)}"
    t, y = np.array(found[0]), np.asarray(found[1])
    if t[-1] != 0.0:
        return f"success, but ends at t = {t[-1]:.2g} with {len(t)} rows"
    wrong = np.abs(y - exact(t).T).max()
    rows = f" with {len(t)} rows instead of {ncp + 1}" if ncp and len(t) != ncp + 1 else ""
    return ("right" if wrong < 1e-2 else f"error of {number(wrong)} in row {np.abs(y - exact(t).T).max(axis=1).argmax()}") + rows


@trap("time_limit = 0.5 s", "report_continuously is always set (assimulo.py: _solver)", ALL)
def time_limit(name):
    found = []
    for continuously in (True, False):
        begin = time.monotonic()

        def rhs(t, y, *switches, begin=begin, continuously=continuously):
            if time.monotonic() - begin > 3.0:
                sentence = f"with report_continuously={continuously} it is ignored"
                PROGRESS.end("; ".join([*found, sentence]))
            return oscillator(t, y)

        solver = solver_of(name, rhs)
        solver.time_limit, solver.report_continuously = 0.5, continuously
        if "maxsteps" in solver.options:
            solver.options["maxsteps"] = 2**31 - 1
        try:
            solver.simulate(1e6)
            found.append(f"with report_continuously={continuously} the run ends")
        except Exception as error:
            found.append(f"with report_continuously={continuously} {type(error).__name__}")
    return "; ".join(found)


@trap("the start is reported twice", "stored once (assimulo_problems.py: _accept)", ALL)
def start_twice(name):
    found = []
    for continuously in (False, True):
        solver = solver_of(name)
        solver.report_continuously = continuously
        t = np.array(solver.simulate(2.0)[0])
        found.append(int((t == 0.0).sum()))
        if (np.diff(t[t > 0.0]) <= 0.0).any():
            return "later times are reported twice"
    return "once" if found == [1, 1] else f"{found[0]} times, {found[1]} times with report_continuously"


@trap("interpolate() one rounding beyond the last step", "times are clipped (assimulo.py: _within)", WITH_INTERPOLANT)
def interpolate_outside(name):
    found = {"after": set(), "before": set()}

    class Kind:
        before = None

        def handle_result(self, solver, t, y, yd=None):
            if self.before is not None and t > self.before:
                for where, at in (("after", np.nextafter(t, 9.0)), ("before", np.nextafter(self.before, -9.0))):
                    try:
                        value = solver.interpolate(at)
                        found[where].add("right" if np.abs(value - exact(at)).max() < 1e-2 else "wrong")
                    except Exception as error:
                        found[where].add(f"raises {told(error)}")
            self.before = t

    solver = solver_of(name, kind=Kind)
    solver.report_continuously = True
    try:
        solver.simulate(2.0)
    except Exception as error:
        return f"the run raises {told(error)}"
    return "; ".join(f"{where}: {' or '.join(sorted(answers))}" for where, answers in found.items())


@trap("interpolate() after simulate() has returned", "interpolants are used during the run (assimulo.py: _Listener)", WITH_INTERPOLANT)
def interpolate_afterwards(name):
    solver = solver_of(name)
    t = solver.simulate(2.0)[0]
    at = 0.5 * (t[-2] + t[-1])
    try:
        value = solver.interpolate(at)
    except Exception as error:
        return f"raises {told(error)}"
    return "right" if np.abs(value - exact(at)).max() < 1e-2 else "wrong"


@trap("finalize() after simulate() has returned", "called only where a run is broken off (assimulo_problems.py: handle_event)", ALL)
def finalize_twice(name):
    solver = solver_of(name)
    solver.simulate(2.0)
    solver.finalize()
    return "harmless"
