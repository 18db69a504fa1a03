"""The records of the time loop of all in-house methods: clock, counters, state, output."""

from typing import Any, TypeVar

import numpy as np

from ...compilation.compiled import compiled
from ...compilation.structure import Structure
from ...system.vectors import put
from ...typing import Vector
from .newton import NewtonRule
from .step_size import Rule


class Clock(Structure):
    """Time and length of the steps."""

    t: float  # time reached
    carry: float  # what rounding has left out of it, with error control: the steps add up to t + carry
    t_end: float
    h: float  # length of the next step, positive
    fixed: int  # 1 if it is not controlled by the error
    largest: float  # bound on it
    origin: float
    steps: int  # a step of fixed length ends at origin + steps h
    rejected: int  # 1 after a rejected step
    past_error: float  # of the last accepted step, for the step-size controller; 0 if there is none
    past_step: float
    phase: int  # steps since the last output
    next_output: int  # index of the next time of output
    fault: int  # why the last attempt was rejected
    usual: float  # rate of change of the velocities, see `mbdae.system.sudden`; infinite where it does not matter
    sudden: int  # 1 after a step in which they change suddenly
    before: float  # the time at its start
    hold: int  # 1 if the loop is to pause before the first step whose length depends on `t_end`, see `mbdae.results.memory`
    pending: int  # 1 after a step whose output lacks room, which is neither accepted nor rejected
    error: float  # of this step


class Counts(Structure):
    """Counters of `mbdae.results.statistics.Statistics`."""

    steps: int
    rejected_error: int
    rejected_newton: int
    residuals: int
    residuals_jacobian: int
    jacobians: int
    factorisations: int
    solves: int
    newton_iterations: int


S = TypeVar("S", bound=Structure)
COUNTERS = tuple(Counts.__annotations__)


class State(Structure):
    """Positions, velocities, accelerations, multipliers."""

    q: Vector
    v: Vector
    a: Vector
    lam: Vector


class Run(Structure):
    """What the time loop and all families have of an integration; each adds its own."""

    clock: Clock
    counts: Counts
    rule: Rule
    newton: NewtonRule
    start: Any  # a `State`, or more than that
    end: Any
    model: np.ndarray
    work: np.ndarray


class Output(Structure):
    """Where the time loop stores states."""

    times: Vector  # times of output; empty if steps are stored
    every: int  # which steps
    stored: int  # number of rows in use
    t: Vector
    q: Vector
    v: Vector
    a: Vector
    lam: Vector
    inside: State  # scratch for a state between two steps, and for the start of a step with a sudden change


def new_clock(t: float, t_end: float) -> Clock:
    """A clock at `t`, with no bound on the step."""
    return Clock(t=float(t), carry=0.0, t_end=float(t_end), h=0.0, fixed=0, largest=np.inf, origin=float(t), steps=0, rejected=0,
                 past_error=0.0, past_step=0.0, phase=0, next_output=0, fault=0, usual=0.0, sudden=0, before=float(t), hold=0, pending=0,
                 error=0.0)


def new_state(kind: type[S], start: object, **other: int) -> S:
    """A structure of this kind with copies of the arrays of `start`; the fields in `other` are zero, of these sizes."""
    names = kind.__annotations__
    return kind(**{name: np.zeros(other[name]) if name in other else np.array(getattr(start, name), dtype=float) for name in names})


def new_output(start: object, room: int, times: Vector | None = None, every: int = 1) -> Output:
    """Storage of `room` states of the sizes of `start`, at these times or at every `every`-th step."""
    names = State.__annotations__
    rows: dict[str, Any] = {name: np.empty((room, len(getattr(start, name)))) for name in names}
    inside = State(**{name: np.empty(len(getattr(start, name))) for name in names})
    return Output(times=np.zeros(0) if times is None else times, every=every, stored=0, t=np.empty(room), inside=inside, **rows)


@compiled
def put_state(state, out):
    """`out = state`."""
    put(state.q, out.q)
    put(state.v, out.v)
    put(state.a, out.a)
    put(state.lam, out.lam)
