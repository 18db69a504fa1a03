"""Jacobians, statistics, options and events."""

import contextlib
import io
import warnings

import numpy as np

from .base import ALL, IMPLICIT, PROGRESS, WITH_EVENTS, WITH_JACOBIAN, exact, number, outcome, solver_of, told, trap, van_der_pol

# --- Jacobians, statistics, options ------------------------------------------------------------------------------------------------------


def _stiff(name, wanted=None, jac_of=np.array, **options):
    """A stiff run with a Jacobian: number of its calls, calls of the function, what is printed."""
    calls = []

    def jac(*arguments):
        c, y = (arguments[0], arguments[2]) if name in IMPLICIT else (1.0, arguments[1])
        J = np.array([[0.0, 1.0], [1e3 * (-2 * y[0] * y[1] - 1), 1e3 * (1 - y[0] ** 2)]])
        calls.append(1)
        return jac_of(c * np.eye(2) - J if name in IMPLICIT else J)

    solver = solver_of(name, van_der_pol, (2.0, -0.6), jac=jac, verbosity=30)
    if wanted is not None:
        solver.usejac = wanted
    for key, value in options.items():
        setattr(solver, key, value)
    PROGRESS.calls, out = 0, io.StringIO()
    with contextlib.redirect_stdout(out):
        y = solver.simulate(1.0)[1]
    assert abs(y[-1][0] - VAN_DER_POL) < 1e-2, f"the result is {y[-1][0]}"
    return len(calls), PROGRESS.calls, out.getvalue()


VAN_DER_POL = -1.8881499  # y(1), by SciPy's Radau with rtol = 1e-9


@trap("use of the Jacobian by default and with usejac = True", "usejac is set (assimulo_settings.py: configure)", WITH_JACOBIAN)
def jacobian_used(name):
    found = []
    for wanted in (None, True):
        if wanted is None or "usejac" in solver_of(name).options:
            calls, _, printed = _stiff(name, wanted)
            lines = [line for line in printed.split("\n") if "not currently supported" in line]
            found.append(("used" if calls else "not used") + (f", prints '{lines[0]}'" if lines else ""))
    return found[0] if len(set(found)) == 1 else "; usejac = True: ".join(found)


@trap("Jacobian while warnings are errors", "the warning is ignored during a run (assimulo.py: integrate)",
      ("IDA", "CVode", "Radau5ODE", "RodasODE", "LSODAR"))
def jacobian_strict(name):
    wanted = True if "usejac" in solver_of(name).options else None
    usual = _stiff(name, wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strict = _stiff(name, wanted)
    return "as ever" if strict[:2] == usual[:2] else f"{usual[0]} Jacobians and {usual[1]} calls become {strict[0]} and {strict[1]}"


@trap("warnings during a run with a Jacobian", "the warning is ignored during a run (assimulo.py: integrate)",
      ("IDA", "CVode", "Radau5ODE", "RodasODE", "LSODAR"))
def jacobian_warns(name):
    wanted = True if "usejac" in solver_of(name).options else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _stiff(name, wanted)
    return told(caught[0].message) if caught else "none"


@trap("sparse direct linear solver", "nothing, Jacobians are dense (storage.py)", ("CVode", "Radau5ODE", "IDA"))
def sparse(name):
    from scipy.sparse import csc_matrix

    if "linear_solver" not in solver_of(name).options:
        return "no such option"
    usual = solver_of(name, jac=lambda *a: csc_matrix(np.array([[0.0, 1.0], [-1.0, 0.0]])), jac_nnz=2)
    usual.usejac = True
    try:
        usual.linear_solver = "SPARSE"
    except Exception as error:
        return f"refused: {told(error)}"
    return outcome(usual)


@trap("item access to the statistics of what is not counted", "the raw table is read (assimulo.py: _statistics)", ALL)
def statistics_items(name):
    solver = solver_of(name)
    solver.simulate(2.0)
    missing = [key for key, n in solver.statistics.statistics.items() if n < 0 and key in ("nerrfails", "nlus", "nniters", "nnfails")]
    told = [key for key in missing if solver.statistics[key] == 0]
    return f"0 for {', '.join(told)}" if told else "all of nerrfails, nlus, nniters, nnfails are counted" if not missing else "raises"


@trap("evaluations that the statistics count, nfcns + nfcnjacs, of a stiff run", "the adapter counts calls (assimulo.py: _evaluations)",
      tuple(n for n in ALL if n not in ("RungeKutta4", "RungeKutta34", "Dopri5")))
def statistics_counts(name):
    solver = solver_of(name, van_der_pol, (2.0, -0.6))
    PROGRESS.calls = 0
    solver.simulate(1.0)
    counts = {key: n for key, n in solver.statistics.statistics.items() if n >= 0}
    told = counts.get("nfcns", 0) + counts.get("nfcnjacs", 0)
    share = told / PROGRESS.calls
    return "all" if abs(told - PROGRESS.calls) <= 2 else f"{100 * share:.0f} %" + ("" if "nfcnjacs" in counts else ", nfcnjacs is missing")


@trap("maxsteps = 3", "the adapter counts steps itself, maxsteps = 2^31 - 1 (assimulo_settings.py: PLENTY)", ALL)
def maxsteps_exceeded(name):
    solver = solver_of(name)
    if "maxsteps" not in solver.options:
        return "no such option"
    solver.maxsteps = 3
    return outcome(solver)


def _huge(name, number):
    solver = solver_of(name)
    if "maxsteps" not in solver.options:
        return "no such option"
    try:
        solver.maxsteps = number
    except Exception as error:
        return f"refused: {told(error)}"
    return outcome(solver)


@trap("maxsteps = 2^31 - 1", "used for no limit (assimulo_settings.py: PLENTY)", ALL)
def maxsteps_32bit(name):
    return _huge(name, 2**31 - 1)


@trap("maxsteps = 2^31", "2^31 - 1 is used for no limit (assimulo_settings.py: PLENTY)", ALL)
def maxsteps_huge(name):
    return _huge(name, 2**31)


# --- events ------------------------------------------------------------------------------------------------------------------------------


def _events(name, t0, t_end):
    found, signs = [], []

    class Kind:
        def handle_event(self, solver, event_info):
            found.append(solver.t)
            signs.extend(np.sign(event_info[0]))

    y0 = exact(t0)
    solver = solver_of(name, y0=y0, t0=t0, kind=Kind, state_events=lambda t, y, *others: np.array([y[0]]))
    solver.simulate(t_end)
    return found, signs


@trap("zeros of cos t between 0 and 9 as state events", "refused for ODASSL and GLIMDA, LSODAR: the flow decides on the direction "
      "(assimulo_settings.py: _check_events; assimulo_problems.py: _has_direction)", ALL)
def events(name):
    try:
        found, signs = _events(name, 0.0, 9.0)
    except Exception as error:
        return f"raises {told(error)}"
    expected = np.pi * np.array([0.5, 1.5, 2.5])
    if len(found) != 3:
        return f"{len(found)} of 3 found, no error"
    late = np.abs(np.array(found) - expected).max()
    direction = "with" if list(signs) == [-1, 1, -1] else "without"
    return f"found {direction} their direction" + (f", {number(late)} late" if late > 1e-3 else "")


@trap("a state event at a negative time", "refused for Radau5DAE (assimulo_settings.py: _check_events)", WITH_EVENTS)
def events_negative(name):
    found, _ = _events(name, -3.0, -1.0)
    return "found" if len(found) == 1 and abs(found[0] + np.pi / 2) < 1e-3 else f"{len(found)} of 1 found"
