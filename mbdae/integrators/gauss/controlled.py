"""Symmetric methods with steps of fixed size, or controlled by errors of positions and velocities: parameters, arrays, first step."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from ...compilation.structure import Structure
from ...driver.arguments import check_max_step, check_max_steps, check_step, is_finite, is_integer
from ...driver.method import Resumable
from ...driver.record import Record
from ...driver.support import Support, index3_support
from ...problems.base import Problem
from ...results.trajectory import Trajectory
from ...system.assembly import State as Start
from ...system.system import System
from ...typing import Matrix, TimeProgress, Tolerance, Until, Vector
from ..control.driver import Driver
from ..control.records import Run, State, new_state
from ..control.step_size import ELEMENTARY, Rule, StepSizeController, check_controller
from ..control.stepper import FIXED, Stepper
from ..explicit.arrays import Pair, new_pair
from ..explicit.start import StartedStepper

MAX_STEP_RATIO = 5.0  # of two consecutive steps
BOUNDARY = 2.0  # of `|h lambda|` from rest in equilibrium


@dataclass(frozen=True)
class Controlled(Resumable):
    """Base of symmetric methods on index-3 equations, whose steps are of fixed size or controlled by `rtol` and `atol`."""

    h: float | None
    tol: float
    max_iter: int
    _: KW_ONLY
    first_step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 10_000_000
    controller: StepSizeController = ELEMENTARY

    support: ClassVar[Support] = index3_support()
    formulations: ClassVar[tuple[str, ...]] = ("index3",)
    one_step = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not (self.h is None or (is_finite(self.h) and self.h > 0)):
            raise ValueError(f"{name}: h must be positive and finite, or None for step-size control, got {self.h!r}")
        if not (is_finite(self.tol) and self.tol > 0):
            raise ValueError(f"{name}: tol must be positive and finite, got {self.tol!r}")
        if not (is_integer(self.max_iter) and self.max_iter >= 1):
            raise ValueError(f"{name}: max_iter must be at least 1 and an integer, got {self.max_iter!r}")
        check_step(name, "first_step", self.first_step)
        check_max_step(name, self.max_step)
        check_max_steps(name, self.max_steps)
        check_controller(name, self.controller, self.adaptive)
        for field, default in (("first_step", 0.0), ("max_step", np.inf)):
            if self.h is not None and getattr(self, field) != default:
                raise ValueError(f"{name}: {field} is for step-size control, h=None; the step size is fixed at h = {self.h:g}")

    @property
    def adaptive(self) -> bool:
        """Whether the step size is controlled by the tolerances."""
        return self.h is None

    @property
    def step_size(self) -> float | None:
        """See `Method`."""
        return self.h

    @property
    def newton_tolerance(self) -> float:
        """Tolerance of Newton's method."""
        return self.tol

    @property
    @abstractmethod
    def order_of_steps(self) -> int:
        """Order of the method, one of 2, 4, 6, 8."""

    @property
    def step_label(self) -> str:
        """The step size for labels."""
        return "adaptive" if self.h is None else f"h={self.h:g}"

    def rule(self) -> Rule:
        """The step-size controller for compiled code."""
        return self.controller.rule(self.order_of_steps, MAX_STEP_RATIO) if self.adaptive else FIXED

    @abstractmethod
    def stepper(self, problem: Problem, state: Start, t_end: float, rtol: float, atol: Vector) -> Stepper:
        """The integration from a state, with an `atol` for each position and velocity."""

    def integrate(self, problem: Problem, state: Start, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`; the tolerances are used with step-size control only, `h=None`. The last step may be shorter."""
        n, given = problem.system.nq + problem.system.nv, np.asarray(atol if self.adaptive else 1.0, dtype=float)
        if given.shape not in ((), (n,)) or not (given > 0.0).all():
            raise ValueError(f"{type(self).__name__}: for step-size control atol must be one positive number, or {n} of them, for "
                             f"positions and velocities, got {atol!r}")
        bounds = np.broadcast_to(given, (n,))
        stepper = self.stepper(problem, state, t_end, rtol, bounds)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()


class Rates(Structure):
    """Derivatives of the positions at the start, in the middle and at the end of a step; accelerations of the equations of motion."""

    first: Vector
    middle: Vector
    last: Vector
    a0: Vector  # at the start
    a1: Vector  # at the end


class ControlledRun(Run):
    """Arrays of the error estimate, see `error`."""

    order: int  # of the method
    rtol: float
    atol_q: Vector  # of positions
    atol_v: Vector  # of velocities
    weights: Pair  # of the error norm
    sums: Pair  # residuals
    rates: Rates
    mid: State  # the middle of the step
    second: Matrix  # second differences of the accelerations of two steps, see `control.bend`


def arrays_of_estimate(method: Controlled, system: System, state: Start, rtol: float, atol: Vector) -> dict[str, Any]:
    """The fields that `ControlledRun` adds."""
    rates = Rates(**{name: np.zeros(system.nq) for name in ("first", "middle", "last")}, a0=state.a.copy(), a1=state.a.copy())
    return {"order": method.order_of_steps, "rtol": float(rtol), "atol_q": atol[:system.nq].copy(), "atol_v": atol[system.nq:].copy(),
            "weights": new_pair(system), "sums": new_pair(system), "rates": rates, "mid": new_state(State, state),
            "second": np.zeros((2, system.nv))}


class ControlledStepper(StartedStepper):
    """A `Stepper` for a `Controlled` method, with its clock and first step."""

    boundary = BOUNDARY

    def __init__(self, method: Controlled, problem: Problem, state: Start, t_end: float) -> None:
        super().__init__(problem.system, state, t_end)
        self.method, self.max_steps, self.error_order = method, method.max_steps, method.order_of_steps - 1
        self.clock.fixed, self.clock.largest = int(not method.adaptive), float(method.max_step)

    def begin(self) -> None:
        """See `Stepper`; steps of fixed size need no preparation."""
        if self.method.adaptive:
            self.start(None)
            self.run.rates.a0[:] = self.run.start.a
        else:
            self.clock.h = float(self.method.h)
