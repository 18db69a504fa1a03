"""Runs of IDA and CVODE without Python in their loops."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from mbdae.driver.callbacks import SolverCallbacks, SolverFailure
from mbdae.driver.run import Run
from mbdae.jacobians.strategy import Strategy, as_strategy
from mbdae.problems.base import Problem
from mbdae.problems.underlying_ode import UnderlyingODE
from mbdae.results.statistics import Statistics
from mbdae.results.status import Status
from mbdae.results.trajectory import Trajectory
from mbdae.stopwatch import Stopwatch
from mbdae.system.assembly import State
from mbdae.typing import TimeProgress, Tolerance, Until, Vector

from ..direct.bound import EXACT, is_compiled
from ..direct.chunks import Chunks, march_of
from . import linear, linear_ode
from .bound import Bound
from .library import Library
from .march import MARCH, Solver
from .own_ode import own_ode
from .own_solver import OWN, own_solver
from .session import BDF, MANY_STEPS, Session


class Steps:
    """Single steps, for `Run.pull`."""

    def __init__(self, session: Session, bound: Bound, t: float, t_end: float) -> None:
        self.session, self.bound, self.t, self.t_end = session, bound, t, t_end

    def step(self) -> tuple[float, Vector, Vector | None]:
        """See `Stepper`."""
        code, t = self.session.step(self.t_end)
        self.bound.check()
        if code < 0:
            raise self.bound.failure(self.session, code, self.t)
        self.t, s = t, self.session
        return t, s.view(s.y).copy(), s.view(s.yp).copy() if s.name == "IDA" else None

    def at(self, t: float) -> tuple[Vector, Vector | None]:
        """See `Stepper`."""
        s = self.session
        return s.interpolated(t), s.interpolated(t, 1) if s.name == "IDA" else None


def carry_out(session: Session, bound: Bound, run: Run, single: bool, t_eval: Vector | None, every: int) -> Statistics:
    """Step to the end, in compiled code unless something is to be called after each step; the statistics of the run."""
    watch = Stopwatch()
    if single:
        run.carry_out(lambda: _in_single_steps(session, bound, run))
    else:
        chunks = _chunks(session, bound, run, t_eval is not None, every)
        watch = Stopwatch()  # without what was compiled
        run.carry_out(chunks.to_end)
    bound.pass_on()
    return _statistics(session, bound, run, watch)


def _in_single_steps(session: Session, bound: Bound, run: Run) -> None:
    try:
        run.pull(Steps(session, bound, run.t, run.t_end))
    except SolverFailure as failure:
        if failure.status != Status.STEP_TOO_SMALL:
            raise
        raise bound.explained(failure, run.t) from failure


def _chunks(session: Session, bound: Bound, run: Run, by_times: bool, every: int) -> Chunks:
    """The run for its compiled loop, which is compiled."""
    s, lib, ida = session, session.library, session.name == "IDA"
    solve, interpolate = ("IDASolve", "IDAGetDky") if ida else ("CVode", "CVodeGetDky")
    solver = Solver(implicit=int(ida), solve=lib.address(solve), interpolate=lib.address(interpolate), memory=s.memory.value,
                    y=s.y.value, yp=s.yp.value, inside=s.inside.value, reached=np.zeros(1))
    march = march_of(run, bound.equations, solver, by_times, every)
    chunks = Chunks(MARCH, march, bound, run, lambda: s.view(s.y), lambda code: SolverFailure(*s.failure(code)))
    chunks.compile()
    return chunks


def _statistics(session: Session, bound: Bound, run: Run, watch: Stopwatch) -> Statistics:
    """The counters of the solver and of the callbacks."""
    spent: dict[str, Any] = {"seconds": watch.seconds, "cpu_seconds": watch.cpu_seconds}
    names = {"rejected_error": "NumErrTestFails", "rejected_newton": "NumNonlinSolvConvFails", "factorisations": "NumLinSolvSetups",
             "newton_iterations": "NumNonlinSolvIters", "jacobians": "NumJacEvals"}
    counts: dict[str, Any] = {name: session.count(of) for name, of in names.items()}
    counts["jacobians"] = bound.callbacks.jacobians or counts["jacobians"]
    residuals, differences = ("NumResEvals", "NumLinResEvals") if session.name == "IDA" else ("NumRhsEvals", "NumLinRhsEvals")
    return Statistics(steps=run.steps, residuals=session.count(residuals), residuals_jacobian=session.count(differences), **counts, **spent)


def set_jacobian(session: Session, bound: Bound, jacobian: str | Strategy) -> None:
    """Tell the solver where its Jacobian comes from."""
    strategy = as_strategy(jacobian)
    if strategy is None:  # its own difference quotients
        return
    if session.name != "IDA":
        address = bound.rhs_jacobian()
    else:
        address = bound.exact_jacobian() if strategy == EXACT else bound.jacobian_in_python()
    session.call("SetJacFn", ctypes.c_void_p(address))


def supports(problem: Problem, linsolver: str, jacobian: Any) -> bool:
    """Whether a run needs nothing that only the package in Python has."""
    stored = linsolver in ("dense", OWN) or (linsolver == "sparse" and jacobian != "difference")
    return stored and is_compiled(problem)


class Request(NamedTuple):
    """A run as `Method.integrate` gets it, with the tolerances of the form."""

    problem: Problem
    state: State
    t_end: float
    rtol: float
    atol: Tolerance
    t_eval: Vector | None
    every: int
    progress: TimeProgress | None
    until: Until | None


class Settings(NamedTuple):
    """Settings of the solver.

    Attributes
    ----------
    jacobian : str or Strategy
    linsolver : {"dense", "sparse", "kkt"}
    max_order : int
    first_step, max_step : float
        Zero leaves the choice to the solver.
    max_steps : int
    multistep : int
        `ADAMS` or `BDF`, for CVODE.
    """

    jacobian: str | Strategy
    linsolver: str
    max_order: int
    first_step: float
    max_step: float
    max_steps: int
    multistep: int = BDF


def integrate(library: Library, request: Request, settings: Settings) -> Trajectory:
    """IDA for implicit problems, CVODE for explicit ones."""
    problem, state, forward = request.problem, request.state, 1.0 if request.t_end > request.state.t else -1.0
    callbacks = SolverCallbacks(problem, keeps=True, jacobian=settings.jacobian)
    start = problem.pack(state)
    run = Run(callbacks, state.t, request.t_end, start, t_eval=request.t_eval, every=request.every, progress=request.progress,
              until=request.until, max_steps=settings.max_steps)
    single = request.progress is not None or request.until is not None
    with Session(library, "IDA" if problem.implicit else "CVode", problem.n) as session:
        bound = Bound(library, callbacks, forward, settings.linsolver)
        _set_up(session, bound, request, settings, start)
        statistics = carry_out(session, bound, run, single, request.t_eval, request.every)
        return run.trajectory(statistics)


def _use_own(session: Session, bound: Bound, jacobian: str | Strategy) -> None:
    """The linear solver of mbdae."""
    problem = bound.problem
    if isinstance(problem, UnderlyingODE):
        own = own_ode(problem, bound.equations)
        bound.keep(own)
        session.use_own(own.solver, linear_ode.SOLVE)
        session.call("SetLinSysFn", ctypes.c_void_p(own.address))
        return
    session.use_own(own_solver(problem, bound.values, bound.equations.vector_data), linear.SOLVE)
    set_jacobian(session, bound, jacobian)


def _set_up(session: Session, bound: Bound, request: Request, settings: Settings, start: tuple[Vector, Vector]) -> None:
    """Create the solver at the start."""
    problem, t0 = request.problem, request.state.t
    if problem.implicit:
        session.start_ida(bound.residual(), t0, *start)
    else:
        session.start_cvode(bound.rhs(), t0, start[0], settings.multistep)
    session.call("SetUserData", ctypes.c_void_p(bound.equations._address))
    session.set_tolerances(request.rtol, problem.tolerances(request.rtol, request.atol))
    if problem.algebraic.any():
        session.set_algebraic(problem.algebraic, suppress=False)
    if settings.linsolver == "sparse":
        session.use_sparse(problem.pattern)
        set_jacobian(session, bound, settings.jacobian)
    elif settings.linsolver == OWN:
        _use_own(session, bound, settings.jacobian)
    else:
        session.use_dense()
        set_jacobian(session, bound, settings.jacobian)
    session.call("SetMaxNumSteps", MANY_STEPS)
    session.call("SetMaxOrd", settings.max_order)
    session.call("SetMaxStep", settings.max_step if np.isfinite(settings.max_step) else 0.0)
    session.call("SetInitStep", bound.guard.direction * settings.first_step)
    session.call("SetStopTime", request.t_end)
