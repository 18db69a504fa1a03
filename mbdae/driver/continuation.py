"""Runs that go on from an earlier one: what must agree, and what is kept for the next."""

from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ..problems.base import Problem
from ..results.identity import Identity, canonical
from ..results.memory import Memory, Request
from ..results.output import Output
from ..results.rows import COLUMNS, Columns
from ..results.solution import Solution
from ..results.storage import package_version
from ..system.assembly import State
from ..system.contents import saved_array
from ..system.system import System
from ..typing import Matrix, Tolerance, Vector
from .method import Method, Resumable

UNIMPORTANT = ("max_steps",)  # parameters of methods that do not change steps
SAME_START = 1e-9  # relative difference of two initial states that are the same
REMEDY = "or start a new run at its last state: solve(..., state=solution.state())"


def requested(method: Method, problem: Problem, *, rtol: float, atol: Tolerance, every: int | None, events: int | None,
              output: Output | None, start: State) -> Request:
    """What is asked of a run; `every` is `None` for output at given times, `events` without events."""
    form = {"formulation": problem.formulation, "formulation.parameters": canonical(problem.fixed_parameters)}
    form |= {f"formulation.{name}": str(getattr(problem, name)) for name in ("parametrisation", "pivots") if hasattr(problem, name)}
    options = _parameters("method", method) | form | {
        "rtol": canonical(rtol), "atol": canonical(np.asarray(atol, dtype=float).tolist()),
        "output times": "given" if every is None else f"every {every} steps", "events": "none" if events is None else str(events),
        "output folder": "none" if output is None else str(output.path.resolve()),
        "output columns": "all" if output is None else ", ".join(output.columns)}
    return Request(options, start)


def _parameters(name: str, method: Method) -> dict[str, str]:
    """A method in words, each parameter by its name."""
    found = {name: type(method).__qualname__}
    for field in _fields(type(method)):
        value = getattr(method, field)
        if isinstance(value, Method):
            found |= _parameters(f"{name}.{field}", value)
        elif field not in UNIMPORTANT:
            found[f"{name}.{field}"] = canonical(value)
    return found


@cache
def _fields(owner: type[Method]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(owner)) if is_dataclass(owner) else ()


@dataclass(frozen=True)
class Continued:
    """An earlier run as far as it is continued.

    Attributes
    ----------
    columns : Columns
        Its rows of output.
    events, motions : list of ndarray
        The times at which its events were found, and `q` and `v` there.
    start : State
        Its initial state.
    memory : Memory or None
        `None` if the run goes on from its last state alone.
    at : State
        The state from which it goes on; only `t`, `q` and `v` with a memory.
    """

    columns: Columns
    events: list[Vector]
    motions: list[Matrix]
    start: State
    memory: Memory | None
    at: State

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns.t)


def opened(resume: Solution | str | Path, system: System) -> Solution:
    """The earlier run.

    Raises
    ------
    ValueError
        It is no solution, or one of another system.
    """
    if isinstance(resume, str | Path):
        return Solution.load(resume, system)
    if not isinstance(resume, Solution):
        raise ValueError(f"resume must be a Solution or the path of a file of one, got {type(resume).__name__}")
    if resume.system is not system:
        difference = Identity(system).difference(Identity(resume.system).data)
        if difference:
            raise ValueError(f"resume: {difference}; continue it with the system that it was computed for")
    return resume


def continued(saved: Solution, method: Method, request: Request, times: Vector | None, t_end: float) -> Continued:
    """The part of an earlier run that a call of `solve` need not compute again.

    Raises
    ------
    ValueError
        The call is not one for a continuation of this run; the message names what differs.
    """
    _check_request(saved, method, request)
    resumable = isinstance(method, Resumable) and not method.not_resumable
    memory = _memory_of(saved) if resumable else None
    found = _from_memory(saved, request, memory) if memory is not None else _from_the_last_state(saved, request)
    forward = np.sign(t_end - found.start.t)
    if forward * (t_end - found.at.t) < 0.0:
        raise ValueError(f"resume: the saved run goes on from t = {found.at.t:.9g}, so t_span must end after that, got {t_end:.9g}")
    if times is not None and not np.array_equal(found.columns.t, times[:found.rows]):
        raise ValueError(f"resume: t_eval must begin with the {found.rows} times of output of the saved run up to t = {found.at.t:.9g}, "
                         "which cannot be computed again")
    return found


def _check_request(saved: Solution, method: Method, request: Request) -> None:
    if saved.request is None:
        raise ValueError(f"resume: the solution does not say how it was computed; {REMEDY[3:]}")
    difference = saved.request.difference(request)
    if difference is not None:
        name, old, new = difference
        raise ValueError(f"resume: {name} of the saved run is {old}, that of this call is {new}; repeat the call as it was, {REMEDY}")
    before, now = saved.request.start, request.start
    if before.t != now.t:
        raise ValueError(f"resume: t_span must begin where the saved run begins, at t = {before.t:.9g}, got {now.t:.9g}")
    for name in COLUMNS[1:]:
        x, y = getattr(before, name), getattr(now, name)
        if x.shape != y.shape or not np.abs(x - y).max(initial=0.0) <= SAME_START * (1.0 + np.abs(x).max(initial=0.0)):
            raise ValueError(f"resume: the saved run begins at another initial state, {name} differs; give the same state, q0 and v0, "
                             f"{REMEDY}")


def _memory_of(saved: Solution) -> Memory:
    if saved.package != package_version():
        raise ValueError(f"resume: the run was saved by mbdae {saved.package}, this is {package_version()}: the memory of integrators is "
                         f"valid within one release only; use that one, {REMEDY}")
    if saved.memory is None:
        raise ValueError(f"resume: the run cannot be continued, it has ended: {saved.message}; {REMEDY[3:]}")
    return saved.memory


def _from_memory(saved: Solution, request: Request, memory: Memory) -> Continued:
    """From an accepted step, with all that the integrator had."""
    assert saved.request is not None
    start, (q, v) = saved.request.start, (memory.contents.get(f"state.{x}", np.zeros(0)) for x in "qv")
    at = State(memory.t, q, v, np.zeros_like(start.a), np.zeros_like(start.lam))
    return _up_to(saved, start, memory, at, memory.rows)


def _from_the_last_state(saved: Solution, request: Request) -> Continued:
    """From the last state of a method whose memory cannot be kept."""
    assert saved.request is not None
    if len(saved.t) == 0:
        raise ValueError("resume: the saved run has no output to go on from")
    return _up_to(saved, saved.request.start, None, saved.state(), len(saved.t))


def _up_to(saved: Solution, start: State, memory: Memory | None, at: State, rows: int) -> Continued:
    columns, found = Columns(*(getattr(saved, name)[:rows] for name in COLUMNS)), saved.t_events or ()
    if memory is not None and found:  # a zero at the end of the step may be one of the next step
        events = [t[:n] for t, n in zip(found, saved_array(memory.contents, "events.found"))]
    else:
        events = [t[np.abs(t - start.t) <= abs(at.t - start.t)] for t in found]
    motions = [y[:len(t)] for y, t in zip(saved.y_events or (), events)]
    return Continued(columns, events, motions, start, memory, at)
