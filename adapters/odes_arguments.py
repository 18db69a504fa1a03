"""Problems as arguments of the solvers of scikits.odes: `dae("ida", **ida_arguments(problem))` is a solver, and likewise for the others."""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy

from mbdae.driver.callbacks import FATAL, GOOD, SolverCallbacks
from mbdae.driver.support import Settings, explicit_support, implicit_support, tightened
from mbdae.jacobians.strategy import Strategy, as_strategy
from mbdae.problems.base import Problem
from mbdae.results.events import as_events, evaluated, passed
from mbdae.typing import Event, Integers, Tolerance, Vector

from . import storage

SOLVERS = {"ida": "IDA", "ddaspk": "DASPK", "lsodi": "LSODI", "cvode": "CVODE", "dop853": "DOP853", "dopri5": "DOPRI5"}
LINEAR = {"ida": ("dense", "band"), "ddaspk": ("dense", "band"), "lsodi": ("dense",), "cvode": ("dense", "spgmr", "sptfqmr"),
          "dop853": ("dense",), "dopri5": ("dense",)}
SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))
INITIAL_CALLS = 2  # evaluations of DOP853 and DOPRI5 before their first step
MAX_STEPS = 1_000_000  # between two output times; the default of the package is 500

_FREE = Settings(linear_solver="dense, band")
_MASKED = Settings(mask=True, exclude=True, linear_solver="dense, band")
# in index 3 the error test includes the positions only; smaller tolerances limit the errors of the velocities
_TIGHT = Settings(mask=True, exclude=True, tighten=1e-3, linear_solver="dense, band")
_MULTISTEP = implicit_support(gear=_FREE, ggl=_MASKED, index2=_MASKED, index1=_MASKED, index3=_TIGHT)
_NO_LSODI = "its error test fails permanently on some mechanisms; it supports 'index1', and DASPK supports this form"
SUPPORT = {
    "ida": _MULTISTEP,
    "ddaspk": _MULTISTEP,
    "lsodi": implicit_support(index1=Settings(jacobian="exact d/dyd, difference d/dy"), gear=_NO_LSODI, ggl=_NO_LSODI, index2=_NO_LSODI,
                              index3=_NO_LSODI),
    "cvode": explicit_support(linear_solver="dense, Krylov"),
    "dop853": explicit_support(jacobian="none", linear_solver="none"),
    "dopri5": explicit_support(jacobian="none", linear_solver="none"),
}
_log = logging.getLogger(__name__)


def ida_arguments(problem: Problem, rtol: float = 1e-6, atol: Tolerance = 1e-8, jacobian: str | Strategy = "exact",
                  linsolver: str = "dense", events: Sequence[Event] | None = None,
                  callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for IDA: `dae("ida", **ida_arguments(problem))` has residual, Jacobian, tolerances, mask and first step.

    The package rounds `rtol`, `tstop` and step sizes to single precision: with a `tstop` below the end of the time span IDA stops before
    it. Backward in time it needs a negative `compute_initcond_t0`, although it is not used.

    Parameters
    ----------
    problem : Problem
        Any implicit form that `SUPPORT["ida"]` supports.
    rtol, atol : float
        Tolerances of positions and velocities; multipliers get those of the formulation.
    jacobian : str or Strategy
        `"exact"` (complex step along column groups), another strategy or its name such as `"grouped:partitioned"` (see
        `mbdae.JacobianStrategy`), or `"difference"`: the difference quotients of IDA.
    linsolver : {"dense", "band"}
        `"band"` renumbers unknowns and equations: `y` and `yd` of the solver are `y[band_order(problem)]`. The package takes no Jacobian
        for it, hence `jacobian="difference"`.
    events : sequence of callables, optional
        `event(t, q, v) -> float`, with `terminal` and `direction`, become root functions; `solve` ends at a terminal one, and returns the
        zeros of all, in both directions, in `roots`.
    callbacks : SolverCallbacks, optional
        Counter of evaluations. It should store exceptions, which cannot be raised through IDA. By default an exception of a user function
        is logged, and the solver ends with the flag of an unrecoverable error.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the solver does not support the formulation, or an option is unknown.
    """
    how = _settings("ida_arguments", "ida", problem, jacobian, linsolver)
    callbacks = _Logged(problem) if callbacks is None else callbacks
    callbacks.use(jacobian)
    band = storage.Band(problem.pattern) if linsolver == "band" else None
    rtol, atol = tightened(SUPPORT["ida"], problem, rtol, atol)
    options = {"eqsres": _residual(callbacks, band), "rtol": rtol, **_blocks(problem, how, rtol, atol, band), "linsolver": linsolver,
               "max_steps": MAX_STEPS, "first_step_size": problem.first_step, "old_api": False}
    if jacobian != "difference":
        options["jacfn"] = _ida_jacobian(callbacks)
    if events is not None:
        options |= _Roots(callbacks, events, band).of_dae()
    return options


def daspk_arguments(problem: Problem, rtol: float = 1e-6, atol: Tolerance = 1e-8, jacobian: str | Strategy = "exact",
                    linsolver: str = "dense", callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for DASPK: `dae("ddaspk", **daspk_arguments(problem))`, as `ida_arguments`.

    DASPK has no events, and always stops after 500 steps between two output times. Exceptions are raised through it. With
    `linsolver="band"` it takes the exact Jacobian only.
    """
    how = _settings("daspk_arguments", "ddaspk", problem, jacobian, linsolver)
    callbacks = SolverCallbacks(problem) if callbacks is None else callbacks
    callbacks.use(jacobian)
    band = storage.Band(problem.pattern) if linsolver == "band" else None
    rtol, atol = tightened(SUPPORT["ddaspk"], problem, rtol, atol)
    options = {"eqsres": _residual(callbacks, band), "rtol": np.full(problem.n, float(rtol)), **_blocks(problem, how, rtol, atol, band),
               "first_step": problem.first_step}
    if jacobian != "difference":
        options["jacfn"] = _daspk_jacobian(callbacks) if band is None else _daspk_band_jacobian(callbacks, band)
    return options


def lsodi_arguments(problem: Problem, rtol: float = 1e-6, atol: Tolerance = 1e-8,
                    callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for LSODI: `dae("lsodi", **lsodi_arguments(problem))`, as `ida_arguments`.

    LSODI takes no Jacobian from the user but the matrix before `yd`; it knows no events. Exceptions pass through it.
    """
    how = _settings("lsodi_arguments", "lsodi", problem)
    callbacks = SolverCallbacks(problem) if callbacks is None else callbacks
    return {"eqsres": _residual(callbacks), "adda_func": _without_matrix(callbacks), "method": "bdf", "rtol": rtol,
            "atol": problem.tolerances(rtol, atol, how.excluded_value), "first_step": problem.first_step, "max_steps": MAX_STEPS}


def cvode_arguments(problem: Problem, rtol: float = 1e-6, atol: Tolerance = 1e-8, jacobian: str | Strategy = "exact",
                    linsolver: str = "dense", multistep: str = "BDF", events: Sequence[Event] | None = None,
                    callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for CVODE: `ode("cvode", **cvode_arguments(problem))`, as `ida_arguments`.

    Parameters
    ----------
    problem : Problem
        Explicit: `UnderlyingODE` or `StateSpace`.
    rtol, atol, jacobian, events, callbacks
        As for `ida_arguments`.
    linsolver : {"dense", "spgmr", "sptfqmr"}
        The Krylov methods need no Jacobian.
    multistep : {"BDF", "Adams"}
    """
    _settings("cvode_arguments", "cvode", problem, jacobian, linsolver)
    check_multistep("cvode_arguments", multistep)
    callbacks = _Logged(problem) if callbacks is None else callbacks
    callbacks.use(jacobian)
    evaluate = callbacks.rhs()

    def rhs(t: float, y: Vector, out: Vector) -> Any:  # a plain function, as the package counts its arguments
        return evaluate(t, y, out)

    options = {"eqsrhs": rhs, "rtol": rtol, "atol": problem.tolerances(rtol, atol), "linsolver": linsolver, "lmm_type": multistep,
               "max_steps": MAX_STEPS, "old_api": False}
    if jacobian != "difference" and linsolver == "dense":
        options["jacfn"] = _rhs_jacobian(callbacks)
    if events is not None:
        options |= _Roots(callbacks, events).of_ode()
    return options


def dop_arguments(problem: Problem, rtol: float = 1e-6, atol: Tolerance = 1e-8, callbacks: SolverCallbacks | None = None) -> dict[str, Any]:
    """Arguments for DOP853 and DOPRI5: `ode("dop853", **dop_arguments(problem))`, as `cvode_arguments`, without Jacobian and events.

    All solvers of one of these names share one dictionary of options: use a solver before you make the next one. Exceptions pass through
    those of SciPy up to 1.16; newer ones go on after an exception, so it is logged and makes them fail.
    """
    _settings("dop_arguments", "dop853", problem)
    callbacks = (_Logged if SCIPY >= (1, 17) else SolverCallbacks)(problem) if callbacks is None else callbacks
    evaluate = callbacks.rhs()

    def rhs(t: float, y: Vector, out: Vector) -> None:
        flag = evaluate(t, y, out)
        # flags are not passed on, and relative to huge states an error may pass the test; the choice of the first step needs finite values
        if flag == FATAL or (flag != GOOD and callbacks.calls > INITIAL_CALLS):
            out[:] = np.nan

    # options not given here would be those of the previous solver
    return {"eqsrhs": rhs, **_dop_tolerances(problem, rtol, atol), "nsteps": MAX_STEPS, "first_step": 0.0, "max_step": 0.0}


def _dop_tolerances(problem: Problem, rtol: float, atol: Any) -> dict[str, Any]:
    """SciPy, whose solvers these are, takes either two numbers or, up to 1.16, two arrays."""
    atol = problem.tolerances(rtol, atol)
    if (atol == atol[0]).all():
        return {"rtol": float(rtol), "atol": float(atol[0])}
    if SCIPY >= (1, 17):
        raise ValueError("dop_arguments: DOP853 and DOPRI5 of SciPy 1.17 and newer take one atol for all unknowns, got an array; "
                         "SolveIvp('DOP853') takes arrays")
    return {"rtol": np.full(problem.n, float(rtol)), "atol": atol}


def band_order(problem: Problem) -> Integers:
    """Order of the unknowns for the band solvers: they see `y[order]`."""
    order: Integers = storage.Band(problem.pattern).order
    return order


def check_choices(owner: str, solver: Any, jacobian: str | Strategy, linsolver: str) -> None:
    """Refuse Jacobians and linear solvers that a solver cannot take."""
    as_strategy(jacobian, owner)
    if linsolver not in LINEAR[solver]:
        raise ValueError(f"{owner}: linsolver must be one of {', '.join(LINEAR[solver])} for {SOLVERS[solver]}, got {linsolver!r}")
    if linsolver == "band" and (solver == "ida") != (jacobian == "difference"):
        raise ValueError(f"{owner}: with linsolver='band' the package passes {'no' if solver == 'ida' else 'only a given'} Jacobian on to "
                         f"{SOLVERS[solver]}, so jacobian must {'be' if solver == 'ida' else 'not be'} 'difference'")
    if solver in ("lsodi", "dop853", "dopri5") and jacobian not in ("exact", "difference"):
        raise ValueError(f"{owner}: {SOLVERS[solver]} takes no Jacobian, so jacobian={jacobian!r} is not possible")


def check_multistep(owner: str, multistep: str) -> None:
    """Refuse what is no multistep method of CVODE."""
    if multistep not in ("BDF", "Adams"):
        raise ValueError(f"{owner}: multistep must be 'BDF' or 'Adams', got {multistep!r}")


def _settings(owner: str, solver: Any, problem: Problem, jacobian: str | Strategy = "exact", linsolver: str = "dense") -> Settings:
    check_choices(owner, solver, jacobian, linsolver)
    how = SUPPORT[solver][problem.formulation]
    if isinstance(how, str):
        raise ValueError(f"{owner}: {SOLVERS[solver]} cannot take the form {problem.formulation!r}: {how}")
    return how


def _blocks(problem: Problem, how: Settings, rtol: float, atol: Tolerance, band: storage.Band | None) -> dict[str, Any]:
    """Tolerances, mask and band in the order of the solver."""
    order = slice(None) if band is None else band.order
    options: dict[str, Any] = {"atol": problem.tolerances(rtol, atol, how.excluded_value)[order]}
    if band is not None:
        options |= {"lband": band.lower, "uband": band.upper}
    if how.mask:
        options["algebraic_vars_idx"] = np.flatnonzero(problem.algebraic[order]).tolist()  # the package asks a list for its truth
        options["exclude_algvar_from_error"] = how.exclude
    return options


class _Logged(SolverCallbacks):
    """For scripts: an exception in the equations cannot pass through the solver, so it is logged once and makes the solver fail.

    Left to the package, IDA would print it, go on with the residual of the call before, and print it again; CVODE would raise something
    else.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, keeps=True)

    def _keep(self, error: BaseException, out: Any = None) -> Any:
        _log.error("the solver is stopped by an exception in the equations", exc_info=error)
        return super()._keep(error, out)


# callbacks -------------------------------------------------------------------------------------------------------------------------------


def _residual(callbacks: SolverCallbacks, band: storage.Band | None = None) -> Callable[..., Any]:
    """A plain function of four arguments, since the package counts them and miscounts those of methods."""
    evaluate, n = callbacks.residual(), callbacks.problem.n
    if band is None:
        return evaluate
    order, x, xd, result = band.order, np.empty(n), np.empty(n), np.empty(n)

    def in_band_order(t: float, y: Vector, yd: Vector, out: Vector) -> int:
        x[order], xd[order] = y, yd
        flag = evaluate(t, x, xd, result)
        out[:] = result[order]
        return flag

    return in_band_order


def _ida_jacobian(callbacks: SolverCallbacks) -> Callable[..., Any]:
    evaluate = callbacks.jacobian(storage.dense(callbacks.problem))
    return lambda t, y, yd, residual, c, J: evaluate(t, y, yd, c, J)


def _daspk_jacobian(callbacks: SolverCallbacks) -> Callable[..., Any]:
    """The package hands rows to a solver that reads columns, so `J` must be transposed."""
    evaluate = callbacks.jacobian(storage.dense(callbacks.problem))
    return lambda t, y, yd, c, J: evaluate(t, y, yd, c, J.T)


def _daspk_band_jacobian(callbacks: SolverCallbacks, band: storage.Band) -> Callable[..., Any]:
    """DASPK wants columns of length `2 lower + upper + 1`, with room for pivoting, which the array of the package has not."""
    shape = callbacks.problem.n, 2 * band.lower + band.upper + 1
    evaluate, place = callbacks.jacobian(band.store(band.lower + band.upper)), band.place

    def jacobian(t: float, y: Vector, yd: Vector, c: float, J: Vector) -> None:
        if J.shape != shape:
            J.resize(shape, refcheck=False)  # in place: the package passes on what it holds itself
        evaluate(t, y[place], yd[place], c, J.T)

    return jacobian


def _without_matrix(callbacks: SolverCallbacks) -> Callable[..., Any]:
    """`p - A` with `A = dF/dyd`, for residuals `F = A yd - g`."""
    problem, rest = callbacks.problem, np.zeros(callbacks.problem.n)
    rows, columns = storage.positions(problem.pattern)

    def subtract(t: float, y: Vector, p: Vector) -> None:
        p[rows, columns] -= callbacks.direction * problem.jacobian_values(callbacks.time(t), y, rest, 1.0, 0.0)

    subtract = callbacks.guarded(subtract, None)

    def add(t: float, y: Vector, ml: int, mu: int, p: Vector, nrowp: Any = None) -> Vector:
        subtract(t, y, p)
        return p

    return add


def _rhs_jacobian(callbacks: SolverCallbacks) -> Callable[..., Any]:
    evaluate = callbacks.rhs_jacobian()

    def jacobian(t: float, y: Vector, f: Vector, J: Vector) -> int:
        J[:] = evaluate(t, y)
        return GOOD if callbacks.error is None else FATAL

    return jacobian


class _Roots:
    """Events as root functions. The package has no directions and no terminal events, and does not report which function has a root: this
    is determined from the values on both sides of the root.
    """

    def __init__(self, callbacks: SolverCallbacks, events: Sequence[Event] | None, band: storage.Band | None = None) -> None:
        self.callbacks, self.events, self.place = callbacks, as_events(events), slice(None) if band is None else band.place
        self.seen: deque[tuple[float, Vector]] = deque(maxlen=1000)  # (t, values), more than the root finder evaluates

    def of_dae(self) -> dict[str, Any]:
        values, stop = self._guarded()
        return {"rootfn": lambda t, y, yd, out: values(t, y, out), "nr_rootfns": len(self.events),
                "onroot": lambda t, y, yd, solver: stop(t)}

    def of_ode(self) -> dict[str, Any]:
        values, stop = self._guarded()
        return {"rootfn": lambda t, y, out: values(t, y, out), "nr_rootfns": len(self.events), "onroot": lambda t, y, solver: stop(t)}

    def _guarded(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        return self.callbacks.guarded(self._values, FATAL), self.callbacks.guarded(self._stop, True)

    def _values(self, s: float, y: Vector, out: Vector) -> int:
        t = self.callbacks.time(s)
        q, v = self.callbacks.problem.motion(t, y[self.place])
        out[:] = [evaluated(event, t, q, v) for event in self.events]
        self.seen.append((s, out.copy()))
        return GOOD

    def _stop(self, s: float) -> bool:
        """Whether a terminal event has occurred in its direction; then the package stops."""
        forward = 1.0 if s > self.seen[0][0] else -1.0
        after = next(g for r, g in reversed(self.seen) if r == s)
        _, before = max(((forward * r, g) for r, g in self.seen if forward * r < forward * s), key=lambda pair: pair[0])
        return any(passed(event, *g) for event, *g in zip(self.events, before, after) if getattr(event, "terminal", False))

