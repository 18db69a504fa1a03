"""`solve`: one call for every mechanism, formulation, integrator and solver."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from .driver.arguments import check_rtol, is_integer, numbers, time_span
from .driver.calls import check_order, is_time_span, warn_of_tolerance
from .driver.continuation import Continued, continued, opened, requested
from .driver.method import Method
from .driver.recording import Recording, checked_interval
from .driver.restarts import integrate_in_charts
from .driver.segments import Segments
from .interrupts import held, signals
from .model.mechanism import Mechanism
from .problems import FORMULATIONS, StateSpace, form_called
from .problems.base import Problem
from .results.diagnosis import near_singular, singular_ahead
from .results.events import bound, changes, name_of
from .results.limits import check_limits, cut
from .results.messages import ended_by_event
from .results.minimum_norm import minimal_norm, with_minimal_norm
from .results.output import Output
from .results.rows import Columns
from .results.solution import Solution
from .results.status import Status
from .results.steps import StepwiseOutput
from .results.stream import Stream
from .results.trajectory import Trajectory
from .results.turning import Moment
from .results.watch import Watch
from .system.assembly import State
from .system.culprit import not_finite
from .system.start import check_state, refined, start_at
from .system.system import System
from .typing import ArrayLike, Event, FullState, TimeProgress, Tolerance, Vector

UNCLEAR = (Status.NOT_FINITE, Status.NEWTON_FAILED, Status.STEP_TOO_SMALL, Status.SOLVER_FAILED, Status.PROJECTION_FAILED)  # perhaps a NaN
JUST_AHEAD = 1e-4, 1e-3  # least and largest share of the time span in which a singular position may have been the cause of a failure


@held
def solve(target: Mechanism | System | Problem, method: Method | ArrayLike, t_span: ArrayLike | None = None, *,
          formulation: str | None = None, state: State | None = None, q0: ArrayLike | None = None, v0: ArrayLike | None = None,
          rtol: float = 1e-6, atol: ArrayLike = 1e-8, t_eval: ArrayLike | None = None, every: int = 1, dense_output: bool = False,
          events: Event | Sequence[Event] | None = None, progress: TimeProgress | None = None,
          resume: Solution | str | Path | None = None, checkpoint: str | Path | None = None, checkpoint_every: float = 60.0,
          output: Output | str | Path | None = None) -> Solution:
    """Integrate the equations of motion of a mechanism from `t_span[0]` to `t_span[1]`.

    Parameters
    ----------
    target : Mechanism, System or Problem
    method : method object, optional
        `HalfImplicit(h=...)`, `Ida()`, `SolveIvp("DOP853")`, ... Where it is left out, as in `solve(target, (0, 10))`, it is
        `mbdae.Automatic()`, which chooses from the mechanism; `Solution.method` tells what and why.
    t_span : (float, float)
        Initial and final time; backward in time if the second is the smaller one.
    formulation : str, optional
        `"index3" "ggl" "gear" "index2" "index1" "mass" "overdetermined" "ode" "partition" "tangent"`; by default the best one for the
        method, see `Solution.formulation`. A `Problem` as target has its own.
    state : State, optional
        Consistent initial values, used as they are; where they are off the constraints by more than a tenth of the tolerances, methods
        with error control start from the nearest state on the constraints.
    q0, v0 : array_like, optional
        Guess of the initial values, which is made consistent; by default that of the bodies.
    rtol, atol : float or (atol) array_like
        Tolerances of methods with error control; `atol` per block follows from the formulation (see `Problem.tolerances`).
    t_eval : array_like, optional
        Times of the output, in the direction of integration; by default the steps of the method.
    every : int
        Store every `every`-th step if `t_eval` is not given.
    dense_output : bool
        Provide `Solution.sol`, the interpolant of the method. The solution is the same with and without it.
    events : callable or sequence of callables, optional
        `event(t, q, v) -> float`, with `terminal` and `direction` as in SciPy: `terminal` may be a number of occurrences. Events are
        evaluated at the ends of the steps, and their zeros are located on the interpolant of the method. A terminal event ends the run
        with the step that contains its zero, and the solution at the zero. Up to there the solution is the same with and without events.
        An event with the attribute `on_event(t, state)`, which gives a `State`, `(q, v)` or `None`, changes the state: the method starts
        anew from the projected state, see `Solution.jumps` and docs/events.md. An `Impact` or `SlidingLimit` is such an event.
    progress : callable, optional
        `progress(t)`, called now and then.
    resume : Solution or path, optional
        An earlier run of the same call, or the file of one or of a checkpoint. `t_span` begins where that run begins and may end later. The
        result is that of the call without `resume`, to the last bit, but what has been computed is not computed again. External solvers
        keep no memory: they start at the last state of the run, and the message says so. See `docs/checkpoints.md`.
    checkpoint : path, optional
        A file (`.npz`) to which the run is written now and then after an accepted step, and at Ctrl-C; it always holds a complete
        checkpoint. After a crash the same call goes on with `resume=checkpoint`.
    checkpoint_every : float
        Seconds between two checkpoints.
    output : path or Output, optional
        A folder to which the rows of output are written during the run instead of memory, see `mbdae.Output`.

    Returns
    -------
    Solution
        With `success=False`, a status and a message if the run failed; it contains the states up to the failure.

    Raises
    ------
    ValueError
        Bad input, or a mechanism that cannot be made consistent.
    ImportError
        The solver is not installed; the message names the command that installs it.
    Exception
        Whatever a user function raises, itself, with a note that names the function, its bodies and the time.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.mechanism("four-link"), mbdae.Ida(), (0.0, 0.1), rtol=1e-6)
    >>> run.success, run.formulation
    (True, 'gear')
    """
    check_order(target, method, t_span)
    method, t_span = _method_and_span(method, t_span)
    problem = _problem(target, method, formulation)
    system = problem.system
    t0, t_end = time_span("solve", t_span)
    times = _outputs(t_eval, t0, t_end)
    if not (is_integer(every) and every >= 1):
        raise ValueError(f"every must be a positive integer, got {every!r}")
    rtol, tolerance = _tolerances(rtol, atol)
    warn_of_tolerance(rtol)
    if progress is not None and not callable(progress):
        raise ValueError(f"progress must be callable, got {progress!r}")
    progress = None if progress is None else signals.called(progress)
    functions = _events(system, events, t_end > t0)
    _check_recorded(method, {"resume": resume, "checkpoint": checkpoint, "output": output})
    start, sink, interval = _start(system, t0, state, q0, v0), _output(output), checked_interval(checkpoint, checkpoint_every)
    if method.step_size is None:
        start = refined(system, start, rtol, tolerance, state is None)
    run = partial(_run, method, problem, t_end, rtol=rtol, atol=tolerance, every=every, progress=progress)
    if any(map(changes, functions)):
        _check_alone(functions, {"resume": resume, "checkpoint": checkpoint, "output": output})
        segments = Segments(system, functions, start, t_end, t_eval=times, keep=dense_output, max_steps=method.max_steps)
        with _names_what_is_missing(method):
            trajectory = segments.to_end(lambda begin, t, watch: with_minimal_norm(system, run(begin, t, {"until": watch})))
        _name_cause(system, trajectory, start, t_end)
        solution = Solution(system, trajectory, method.label, problem.formulation)
        solution.t_events, solution.y_events = segments.zeros, segments.zero_motions
        solution.jumps, solution.sol = segments.jumps, segments.dense_output()
        return _limited(solution, trajectory, start)
    request = requested(method, problem, rtol=rtol, atol=tolerance, every=every if times is None else None,
                        events=None if events is None else len(functions), output=sink, start=start)
    past = None if resume is None else continued(opened(resume, system), method, request, times, t_end)
    recording = Recording(method, problem, request, past, sink, None if checkpoint is None else Path(checkpoint), interval)
    with recording:
        recording.watch = watch = _watch(system, functions, start, past, dense_output) if dense_output or events is not None else None
        start, begins, times = _at(start, past, times)
        with _names_what_is_missing(method):
            trajectory = run(begins, times, recording.options(watch) if _keeps_charts(method, problem) else {"until": watch})
        trajectory = recording.completed(trajectory)
        _name_cause(system, trajectory, start, t_end)
        solution = recording.solution(trajectory)
        if watch is not None:
            _finish(solution, watch, start, t_eval is None, events is not None, recording.stream)
        recording.close(_limited(solution, trajectory, start))
    return solution


def _keeps_charts(method: Method, problem: Problem) -> bool:
    """Whether the method runs without a restart in each chart."""
    return method.keeps_charts or not isinstance(problem, StateSpace)


def _run(method: Method, problem: Problem, t_end: float, start: State, times: Vector | None, watched: Mapping[str, Any],
         **options: Any) -> Trajectory:
    """One integration from a state to `t_end`, or to the event that ends it; `watched` has `until`, and `record` where there is one."""
    if isinstance(problem, StateSpace) and not method.keeps_charts:
        return integrate_in_charts(method, problem, start, t_end, t_eval=times, **watched, **options)
    return method.integrate(problem, start, t_end, t_eval=times, **watched, **options)


def _limited(solution: Solution, trajectory: Trajectory, start: State) -> Solution:
    """The solution up to a turn and to the limits of the model."""
    if trajectory.end is not None:
        cut(solution, trajectory.end, start.t)
    check_limits(solution, start.t)
    return solution


def _events(system: System, events: Event | Sequence[Event] | None, forward: bool) -> tuple[Event, ...]:
    """The events as functions of the coordinates of a system.

    Raises
    ------
    ValueError
        If one changes the state of a run backward in time.
    """
    made = () if events is None else bound(system, events)
    for event in made:
        if changes(event) and not forward:
            raise ValueError(f"the event {name_of(event)!r} changes the state, which is possible in runs forward in time only: "
                             "backward the state before a change does not follow from the one after it")
    return tuple(map(signals.called, made))


def _check_alone(functions: Sequence[Event], others: Mapping[str, object]) -> None:
    """Refuse what cannot be combined with events that change the state."""
    name = name_of(next(filter(changes, functions)))
    for option, value in others.items():
        if value is not None:
            raise ValueError(f"{option}: the event {name!r} changes the state, and runs in segments are kept in memory as a whole; "
                             f"leave {option} away, save the solution, or start the next run at solution.state()")


def _output(output: object) -> Output | None:
    """Where the rows go, if not into memory."""
    return output if output is None or isinstance(output, Output) else Output(output)  # type: ignore[arg-type]  # it validates


def _watch(system: System, functions: tuple[Event, ...], start: State, past: Continued | None, dense_output: bool) -> Watch:
    """What looks for events and stores steps."""
    if past is None:
        return Watch(system, functions, start, dense_output)
    if dense_output:
        raise ValueError(f"resume: there is no dense output of the steps before t = {past.at.t:.9g}, which are not computed again; leave "
                         "dense_output=True away, or resume")
    return Watch(system, functions, past.start, seen=past.events, at=Moment(past.at.t, past.at.q, past.at.v),
                 seen_motions=past.motions)


def _at(start: State, past: Continued | None, times: Vector | None) -> tuple[State, State, Vector | None]:
    """The initial state, the one that the method gets, and the times of output: those to come, where it has no memory of the others."""
    if past is None:
        return start, start, times
    if past.memory is not None:
        return past.start, past.start, times
    return past.start, past.at, None if times is None else times[past.rows:]


def _name_cause(system: System, trajectory: Trajectory, start: State, t_end: float) -> None:
    """Begin the message of a failed run with its cause, if it is a user function that is not finite or a singular position just ahead."""
    if trajectory.status not in UNCLEAR:
        return
    culprit = not_finite(system, trajectory, t_end)
    if culprit is not None:
        trajectory.message = f"{culprit}: {trajectory.message}"
    elif len(trajectory.t) and np.isfinite(trajectory.q[-1]).all() and np.isfinite(trajectory.v[-1]).all():
        t, q, v = float(trajectory.t[-1]), trajectory.q[-1], trajectory.v[-1]
        found = near_singular(system, start, t, q) or singular_ahead(system, start, t, q, v, _just_ahead(trajectory, start.t, t_end))
        if found is not None:
            trajectory.status, trajectory.message = found.status, f"{found.reason} ({trajectory.message})"


def _just_ahead(trajectory: Trajectory, t0: float, t_end: float) -> float:
    """How far ahead the cause of a failure may be: a step on average, as those before a failure are short, within a share of the span."""
    mean = abs(trajectory.t[-1] - t0) / max(trajectory.statistics.steps or 0, 1)
    least, most = (share * abs(t_end - t0) for share in JUST_AHEAD)
    return float(np.copysign(min(max(mean, least), most), t_end - t0))


def _method_and_span(method: object, t_span: ArrayLike | None) -> tuple[Method, ArrayLike]:
    """The method, by default the automatic choice, and the time span.

    Raises
    ------
    ValueError
        If the method is none.
    """
    if is_time_span(method, t_span):
        from .integrators.automatic.methods import Automatic  # with all integrators, when it is needed

        return Automatic(), cast(ArrayLike, method)
    _check_method(method)
    return cast(Method, method), cast(ArrayLike, t_span)


def _check_recorded(method: Method, options: Mapping[str, object]) -> None:
    """Refuse what a method cannot record."""
    for option, value in options.items():
        if value is not None and method.not_recorded:
            raise ValueError(f"{option}: {method.label} {method.not_recorded}")


def _check_method(method: object) -> None:
    if not isinstance(method, Method):
        raise ValueError(f"method must be a method object such as HalfImplicit(h=1e-3) or Ida(), or another subclass of mbdae.Method, "
                         f"got {method!r}")


@contextmanager
def _names_what_is_missing(method: Method) -> Iterator[None]:
    """Context: an import that fails because a package is missing raises an error with the command that installs it."""
    try:
        yield
    except ImportError as error:
        available = method.availability()
        if available is None or available.installed:
            raise
        fault = f" ({available.fault})" if available.fault else ""
        raise ImportError(f"{method.label} needs the package {available.package}{fault}: {available.remedy}") from error


def _problem(target: object, method: Method, formulation: str | None) -> Problem:
    """The problem in the requested form, or in the one that suits the method best."""
    formulation = None if formulation is None else form_called(formulation)
    if isinstance(target, Problem):
        if formulation not in (None, target.formulation):
            raise ValueError(f"the target is a problem of the form {target.formulation!r}, so formulation={formulation!r} is not possible")
        _check_formulation(method, target.formulation)
        return target
    if isinstance(target, Mechanism):
        target = System(target)
    if not isinstance(target, System):
        given = target.__name__ if isinstance(target, type) else type(target).__name__
        raise ValueError(f"solve: the target must be a Mechanism, System or Problem, got {given}")
    formulation = formulation or next(iter(method.formulations), "index3")
    _check_formulation(method, formulation)
    return FORMULATIONS[formulation](target)


def _check_formulation(method: Method, formulation: str) -> None:
    if formulation not in method.formulations:
        because, possible = method.support[formulation], ", ".join(method.formulations) or "none"
        raise ValueError(f"{method.label} cannot take the form {formulation!r}: {because}; it takes {possible}")


def _outputs(t_eval: ArrayLike | None, t0: float, t_end: float) -> Vector | None:
    """Validated times of the output."""
    if t_eval is None:
        return None
    if is_integer(t_eval):
        raise ValueError(f"t_eval must be times, got {t_eval!r}; write numpy.linspace({t0:g}, {t_end:g}, {t_eval}) for as many")
    t = np.atleast_1d(numbers(t_eval))
    sign = np.sign(t_end - t0)
    if t.ndim != 1 or not np.isfinite(t).all() or np.any(sign * np.diff(t) <= 0):
        raise ValueError(f"t_eval must be finite times, strictly monotonic in the direction of integration, got {t_eval!r}")
    if t.size and (sign * (t[0] - t0) < 0 or sign * (t[-1] - t_end) > 1e-12 * max(1.0, abs(t_end))):
        raise ValueError(f"t_eval must lie within t_span, it runs from {t[0]:g} to {t[-1]:g}")
    return t


def _tolerances(rtol: float, atol: ArrayLike) -> tuple[float, Tolerance]:
    """Validated tolerances."""
    check_rtol("solve", rtol)
    a = numbers(atol)
    if not np.isfinite(a).all() or (a < 0).any():
        raise ValueError(f"atol must be finite and not negative, got {atol!r}")
    return rtol, cast(Tolerance, atol)  # as it is given; a sequence serves as a vector


def _start(system: System, t0: float, state: State | None, q0: ArrayLike | None, v0: ArrayLike | None) -> State:
    """The initial state: the one given, or a consistent one from a guess."""
    if state is None and q0 is None and v0 is None and t0 == 0.0:
        given: State = system.start
        return given
    if state is None:
        made: State = start_at(system, t0, q0, v0)
        return made
    if not isinstance(state, State):
        raise ValueError(f"state must be a State, as assemble returns it, got {type(state).__name__}")
    if q0 is not None or v0 is not None:
        raise ValueError("state is taken as it is: give either state or a guess q0, v0")
    if state.t != t0:
        raise ValueError(f"state belongs to t = {state.t:g}, t_span begins at {t0:g}")
    for name, n in (("q", system.nq), ("v", system.nv), ("a", system.nv), ("lam", system.nc)):
        x = np.asarray(getattr(state, name))
        if x.shape != (n,):
            raise ValueError(f"state.{name} must have shape ({n},), got {x.shape}")
        if not np.isfinite(x).all():
            raise ValueError(f"state.{name} must be finite, got {x}")
    check_state(system, state)
    return state


def _finish(solution: Solution, watch: Watch, start: State, by_steps: bool, with_events: bool, stream: Stream | None) -> None:
    """Complete a solution with the times of events, the end at a terminal event, and dense output up to there."""
    found = watch.found()
    if with_events:
        solution.t_events, solution.y_events = found.times, found.motions
    if found.end is not None and found.state is not None and solution.success:
        _end_at(solution, found.end, found.state, start.t, by_steps, stream)
    if watch.pieces:
        solution.sol = StepwiseOutput(solution.system, start, watch.pieces, found.end)


def _end_at(solution: Solution, end: float, state: FullState, t0: float, by_steps: bool, stream: Stream | None) -> None:
    """End a solution at a terminal event; the state there is appended unless the user has set the times of the output."""
    before, limit = np.abs(solution.t - t0), abs(end - t0)
    keep = int(np.sum(before < limit if by_steps else before <= limit))
    q, v, a, lam = state
    last = Columns(*(np.asarray(x)[None] for x in (end, q, v, a, minimal_norm(solution.system, end, q, lam))))
    if stream is not None and by_steps:
        stream.truncate(keep)
        found = stream.end_with(last)
    else:
        kept = Columns(*(getattr(solution, name)[:keep] for name in Columns._fields))
        found = Columns(*(np.concatenate(x) for x in zip(kept, last))) if by_steps else kept
    for name, x in found._asdict().items():
        setattr(solution, name, x)
    solution.memory = None
    solution.message = ended_by_event(end)
