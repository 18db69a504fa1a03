"""Steps of a method that is restarted from the projected states, see `Projected`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..problems.state_space import StateSpace
from ..results.statistics import COUNTERS
from ..results.steps import Step, split_state
from ..system.assembly import State as Start
from ..system.codes import ERROR_TEST, GOOD, NEEDS_STEP
from ..system.contents import saved_array
from ..typing import Matrix, Vector
from .control.interpreted import interpreted
from .control.newton import NewtonRule
from .control.records import Run, State, new_state, put_state
from .control.stepper import FIXED, Stepper
from .projections.restarted import Piece, Restarted
from .projections.states import Projection

STRETCH = 1.25  # factor of the step size after a step that was not cut
MIN_RATIO = 0.99  # of the step taken to the step proposed, below which it has been cut
SAME_TIME = 1e-9  # distance of two equal times, relative to the step size
TRIAL = 1e-3  # step relative to the time span that stands for the first one until the method has chosen it


class ProjectedStepper(Stepper):
    """An integration by `inner`, with a projection of each step.

    Where the method takes a shorter step than it is given, that is rejected, and `pending` with the size taken.

    Attributes
    ----------
    state : State
        Where the next step starts, with consistent accelerations and multipliers; those in `run.start` are of the output.
    piece : Piece
        The last step of the method.
    reached : float
        Energy of its projection.
    """

    run: Run
    piece: Piece
    ahead = 2.0  # methods of low order fail early

    def __init__(self, inner: Restarted, projection: Projection, state: Start, t_end: float, times: Vector | None) -> None:
        problem = inner.problem
        super().__init__(problem.system, state, t_end)
        self.inner, self.projection, self.times, self.state, self.reached = inner, projection, times, state, projection.target
        self.model, self.work = problem.model, problem._work
        self.max_steps = self.max_steps if inner.method.max_steps is None else inner.method.max_steps
        self.clock.fixed, self.clock.h = int(inner.step_size is not None), inner.step_size or TRIAL * abs(t_end - state.t)
        newton = NewtonRule(0.0, 0)  # that of the method is in its own runs
        self.run = Run(**self.common(rule=FIXED, newton=newton, start=new_state(State, state), end=new_state(State, state)))
        self.loops = interpreted(self._attempt, self._retry, self._accept, self._between, self._ratio)

    def begin(self) -> None:
        """The first step needs no preparation."""

    def assist(self, fault: int) -> None:
        """The start of the next step."""
        t, q, v, _, _ = self.row()
        self.state = Start(t, q, v, *self.inner.consistent(t, q, v)) if self.clock.steps else self.begins

    # the functions of the time loop --------------------------------------------------------------------------------------

    def _attempt(self, t: float, h: float, end: float, run: Run) -> tuple[int, float]:
        first = abs(h) if self.clock.steps else 0.0
        times = None if self.times is None else self.times[self.clock.next_output:]
        self.piece = self.inner.to(self.state, end) if self.fixed else self.inner.step(self.state, first, times)
        found, self.reached = self.projection.of(self.piece.t, self.piece.end)
        _put(found, run.end)
        return GOOD if self.piece.t == end else ERROR_TEST, 0.0

    def _ratio(self, status: int, error: float, h: float, run: Run) -> float:
        taken = abs(self.piece.t - self.state.t)
        if status != GOOD:
            return taken / abs(h)
        return STRETCH if taken >= MIN_RATIO * self.piece.first else 1.0

    def _retry(self, status: int, run: Run) -> float:
        self.clock.pending, self.clock.error = 1, 0.0
        return 1.0

    def _accept(self, h: float, factor: float, run: Run) -> int:
        self.projection.keep(self.reached)
        put_state(run.end, run.start)
        return NEEDS_STEP

    def _between(self, time: float, t: float, h: float, run: Run, inside: State) -> int:
        if abs(time - t) <= SAME_TIME * abs(h):
            put_state(run.start, inside)
        else:
            _put(self.projection.of(time, self.inner.within(self.piece, np.array([time]))[0])[0], inside)
        return GOOD

    # work ----------------------------------------------------------------------------------------------------------------

    def counted(self) -> dict[str, int | None]:
        """See `Stepper`: the sums over the runs, with the work of the projections if the method counts its own."""
        counted = {name: None if np.isnan(x) else int(x) for name, x in zip(COUNTERS, self.inner.counted)}
        for name in ("factorisations", "solves"):
            counted[name] = None if counted[name] is None else counted[name] + getattr(self.projection.projector, name)
        restarts = (counted["restarts"] or 0) + max(int(self.inner.counted[-1]) - 1, 0)
        return counted | {"steps": self.counts.steps, "restarts": restarts}

    # continuation --------------------------------------------------------------------------------------------------------

    @property
    def kept(self) -> dict[str, Any]:
        """See `Stepper`: arrays of the projection and the problem, too."""
        p, problem = self.projection.projector, self.inner.problem
        found = {**super().kept, "projector": p.projection, "projector.model": p.model, "projector.work": p.work,
                 "inner.counted": self.inner.counted}
        if isinstance(problem, StateSpace):
            chart = problem.chart
            found |= {"chart.P": chart.P, "chart.store": chart.store, "chart.model": chart.model, "chart.work": chart.work}
        return found

    def extra(self) -> dict[str, np.ndarray]:
        """See `Stepper`: the energy to be conserved, and the condition of the chart."""
        problem = self.inner.problem
        return {"target": np.array(self.projection.target),
                "chart.first": np.array(problem.chart.first if isinstance(problem, StateSpace) else np.nan)}

    def prepare(self, saved: Mapping[str, np.ndarray]) -> None:
        """See `Stepper`."""
        self.projection.target = float(saved_array(saved, "target"))
        if isinstance(self.inner.problem, StateSpace):
            self.inner.problem.chart.first = float(saved_array(saved, "chart.first"))

    def resume(self, saved: Mapping[str, np.ndarray]) -> None:
        """See `Stepper`."""
        super().resume(saved)
        self.clock.pending = 0  # the step is taken again
        if not self.clock.steps:
            self.inner.counted[:], self.projection.projector.projection.counts[:] = 0.0, 0
        self.assist(NEEDS_STEP)

    # steps ---------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> tuple[float, float]:
        """See `Stepper`: the time and the energy to be conserved."""
        return self.t, self.projection.target

    def step(self, before: tuple[float, float]) -> Step:
        """The last accepted step; the method repeats it, and interpolates or ends at the times within."""
        (t0, target), (t, q, v, a, lam) = before, self.row()

        def sample(times: Vector) -> Matrix:
            states = zip(times, self.inner.within(self.piece, times))
            return np.array([np.concatenate(self.projection.of(at, state, target)[0]) for at, state in states])

        return Step(t0, t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]), sample, split_state(self.system))


def _put(state: tuple[Vector, ...], out: State) -> None:
    """`out = state`."""
    for x, y in zip(state, (out.q, out.v, out.a, out.lam)):
        y[:] = x
