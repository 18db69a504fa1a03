"""Common parts of the one-step methods on index-3 equations, `HalfImplicit` and `FullyImplicit`."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..compilation.compiled import compiled
from ..compilation.structure import Structure
from ..driver.arguments import is_finite, is_integer
from ..driver.method import Resumable
from ..driver.record import Record
from ..driver.support import Support, index3_support
from ..problems.base import Problem
from ..results.status import Cause, Status
from ..results.trajectory import Trajectory
from ..system import evaluate
from ..system.assembly import State as Start
from ..system.codes import DIVERGED, GOOD
from ..system.coupling import Following, new_following
from ..system.extent import extent
from ..system.system import System
from ..system.vectors import largest, put
from ..typing import TimeProgress, Tolerance, Until, Vector
from .control.driver import Driver
from .control.hermite import hermite
from .control.loop import Loops
from .control.newton import NewtonRule
from .control.records import Run, State, new_state, put_state
from .control.stepper import FIXED, Stepper
from .resolution import warn_of_rounding

POSITION_ROUNDING = 2e-15  # of `Phi`, relative to the positions
MAX_GROWTH = 10.0  # of the largest position in a step
COUPLED_ROUNDING_RATIO = 0.1  # rounding of `Phi`, relative to that of the equations of motion, if forces depend on the multipliers


class OneStepRun(Run):
    """Arrays of an integration."""

    scratch: Any  # of the method
    following: Following | None  # `None` if no forces depend on the multipliers


@compiled
def at_rounding(phi, q0, q, G, model, work):
    """Whether the largest `|Phi|` is at rounding of the placed positions `q`: then a correction that does not contract is rounding, too.

    Positions that have grown by more than `MAX_GROWTH` in a step from `q0` are those of an iteration that diverges.
    """
    grown = MAX_GROWTH * (1.0 + largest(q0))
    size = extent(q, model, work) if 1.0 + largest(q) <= grown else grown
    return phi <= POSITION_ROUNDING * size * max(1.0, largest(G))


@compiled
def balance(t, state, run):
    """Solve `M a + Phi_q^T lam = Q`, `Phi_q a = gamma` at a state, from the guess `state.lam`; `GOOD` or the code of a failure.

    An iteration may fail because joint friction changes its sign, or because the solution branch of its multipliers ends. `dynamics` finds
    the branch that continues the solution without friction.
    """
    a, lam, code, _ = evaluate.accelerations(t, state.q, state.v, state.lam, run.model, run.work)
    put(a, state.a)
    put(lam, state.lam)
    return code


@compiled
def retry(status, run):
    """A step of fixed length is not repeated."""
    return 0.0


@compiled
def accept(h, factor, run):
    """The end of the step becomes the start of the next."""
    put_state(run.end, run.start)
    return GOOD


@compiled
def between(time, t, h, run, inside):
    """The state within a step, by cubic Hermite interpolation."""
    return hermite(time, t, h, run.start, run.end, run.model, inside)


class OneStepStepper(Stepper):
    """An integration by a one-step method."""

    run: OneStepRun

    def __init__(self, method: "OneStep", problem: Problem, state: Start, t_end: float) -> None:
        super().__init__(problem.system, state, t_end)
        self.method, self.loops, self.stability = method, method.loops, method.stability
        self.clock.h, self.clock.fixed = method.h, 1
        newton = NewtonRule(float(method.newton_tolerance), int(method.max_iter), 1.0, np.inf, int(method.max_iter))
        following = new_following(self.model, np.array(state.lam)) if self.system.has_friction else None
        common = self.common(rule=FIXED, newton=newton, start=new_state(State, state), end=new_state(State, state))
        self.run = OneStepRun(**common, scratch=method.scratch(self.system), following=following)

    def begin(self) -> None:
        """The first step needs no preparation."""

    def explain(self, fault: int) -> Cause:
        """See `Stepper`."""
        if fault == DIVERGED:
            return Cause(Status.NEWTON_FAILED, f"Newton's method did not converge in {self.method.max_iter} iterations")
        return super().explain(fault)


@dataclass(frozen=True)
class FixedStep(Resumable):
    """Base of the methods with a fixed step size on index-3 equations."""

    h: float
    tol: float | None
    max_iter: int

    support: ClassVar[Support] = index3_support()
    formulations: ClassVar[tuple[str, ...]] = ("index3",)
    one_step = True

    def __post_init__(self) -> None:
        for field, x in (("h", self.h), ("tol", self.tol)):
            if not (is_finite(x) and x > 0) and (field, x) != ("tol", None):
                raise ValueError(f"{type(self).__name__}: {field} must be positive and finite, got {x!r}")
        if not (is_integer(self.max_iter) and self.max_iter >= 1):
            raise ValueError(f"{type(self).__name__}: max_iter must be at least 1 and an integer, got {self.max_iter!r}")

    @property
    def step_size(self) -> float | None:
        """See `Method`."""
        return self.h

    @property
    def newton_tolerance(self) -> float:
        """Tolerance of Newton's method."""
        return self._usual_tolerance() if self.tol is None else self.tol

    def _usual_tolerance(self) -> float:
        return 1e-10

    @property
    def label(self) -> str:
        """Name and step size for tables and legends."""
        return f"{type(self).__name__}(h={self.h:g})"

    @abstractmethod
    def stepper(self, problem: Problem, state: Start, t_end: float) -> Stepper:
        """The integration from a state."""

    def integrate(self, problem: Problem, state: Start, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `mbdae.driver.method`; the tolerances are not used, and the last step may be shorter."""
        stepper = self.stepper(problem, state, t_end)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()


@dataclass(frozen=True)
class OneStep(FixedStep):
    """Base of the methods that advance `(q, v, a, lam)` by one compiled function.

    A subclass defines `loops`, see `mbdae.integrators.control.loop`, `scratch`, and where its steps can be unstable
    `stability`, see `Stepper`.
    """

    loops: ClassVar[Loops]
    stability: ClassVar[float] = np.inf

    @abstractmethod
    def scratch(self, system: System) -> Structure:
        """Vectors of a step."""

    def stepper(self, problem: Problem, state: Start, t_end: float) -> Stepper:
        """The integration from a state."""
        return OneStepStepper(self, problem, state, t_end)

    def integrate(self, problem: Problem, state: Start, t_end: float, *, rtol: float, atol: Tolerance, t_eval: Vector | None = None,
                  every: int = 1, progress: TimeProgress | None = None, until: Until | None = None,
                  record: Record | None = None) -> Trajectory:
        """See `FixedStep`; output within a step is interpolated by cubic polynomials in `q` and `v`, and linearly in `lam`."""
        warn_of_rounding(self.label, self.h, state, t_end)
        stepper = self.stepper(problem, state, t_end)
        return Driver(stepper, t_eval=t_eval, every=every, progress=progress, until=until, record=record).to_end()
