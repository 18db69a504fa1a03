"""What the one-step methods on index-3 equations share: `HalfImplicit` and `FullyImplicit`."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..compilation.compiled import compiled
from ..driver.arguments import is_finite, is_integer
from ..driver.method import Method
from ..driver.support import index3_support
from ..results.status import Status
from ..system import evaluate
from ..system.codes import DIVERGED, GOOD
from ..system.coupling import Following, new_following
from ..system.vectors import largest, put
from .control.driver import Driver
from .control.hermite import hermite
from .control.newton import NewtonRule
from .control.records import Run, State, new_state, put_state
from .control.stepper import FIXED, Stepper
from .resolution import warn_of_rounding

ROUNDING = 2e-15
COUPLED_ROUNDING = 0.1  # share of rounding in the equations of motion where forces depend on the multipliers


class OneStepRun(Run):
    """Arrays of an integration."""

    scratch: Any  # of the method
    following: Following | None  # `None` where no forces depend on the multipliers


@compiled
def at_rounding(phi, q, G):
    """Whether a largest `|Phi|` is as small as rounding of `q` allows: a correction that no longer contracts is then rounding too."""
    return phi <= ROUNDING * (1.0 + largest(q)) * max(1.0, largest(G))


@compiled
def balance(t, state, run):
    """Accelerations and multipliers from the equations of motion at a state, for which `state.lam` is a guess; what is wrong.

    An iteration may fail because friction, which depends on the multipliers, has changed its sign or has brought them to a branch that
    ends: `dynamics` finds the branch that is connected with the motion without friction.
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
    """The end of the step is the start of the next."""
    put_state(run.end, run.start)
    return GOOD


@compiled
def between(time, t, h, run, inside):
    """The state within a step, by cubics."""
    return hermite(time, t, h, run.start, run.end, run.model, inside)


class OneStepStepper(Stepper):
    """An integration by a one-step method."""

    def __init__(self, method, problem, state, t_end):
        super().__init__(problem.system, state, t_end)
        self.method, self.loops = method, method.loops
        self.clock.h, self.clock.fixed = method.h, 1
        newton = NewtonRule(float(method.newton_tolerance), int(method.max_iter), 1.0, np.inf, int(method.max_iter))
        following = new_following(self.model, self.system.start.lam) if self.system.has_friction else None
        common = self.common(rule=FIXED, newton=newton, start=new_state(State, state), end=new_state(State, state))
        self.run = OneStepRun(**common, scratch=method.scratch(self.system), following=following)

    def begin(self):
        """The first step needs nothing."""

    def explain(self, fault):
        """See `Stepper`."""
        if fault == DIVERGED:
            return Status.NEWTON_FAILED, f"Newton's method did not converge in {self.method.max_iter} iterations"
        return super().explain(fault)


@dataclass(frozen=True)
class FixedStep(Method):
    """Base of the methods with a fixed step on index-3 equations."""

    h: float
    tol: float | None
    max_iter: int

    support: ClassVar[dict] = index3_support()
    formulations: ClassVar[tuple] = ("index3",)
    one_step = True

    def __post_init__(self):
        for field, x in (("h", self.h), ("tol", self.tol)):
            if not (is_finite(x) and x > 0) and (field, x) != ("tol", None):
                raise ValueError(f"{type(self).__name__}: {field} must be positive and finite, got {x!r}")
        if not (is_integer(self.max_iter) and self.max_iter >= 1):
            raise ValueError(f"{type(self).__name__}: max_iter must be at least 1 and an integer, got {self.max_iter!r}")

    @property
    def step_size(self) -> float:
        """See `Method`."""
        return self.h

    @property
    def newton_tolerance(self) -> float:
        """What Newton's method stops at."""
        return self._usual_tolerance() if self.tol is None else self.tol

    def _usual_tolerance(self) -> float:
        return 1e-10

    @property
    def label(self):
        """Name and step for tables and legends."""
        return f"{type(self).__name__}(h={self.h:g})"

    def stepper(self, problem, state, t_end) -> Stepper:
        """The integration from a state."""
        return OneStepStepper(self, problem, state, t_end)

    def integrate(self, problem, state, t_end, *, rtol=None, atol=None, t_eval=None, every=1, progress=None, until=None):
        """See `mbdae.driver.method`; tolerances have no meaning here, and the last step takes what is left.

        Between the steps output is interpolated by cubics in `q` and `v` and linearly in `lam`.
        """
        warn_of_rounding(self.label, self.h, state, t_end)
        return Driver(self.stepper(problem, state, t_end), t_eval=t_eval, every=every, progress=progress, until=until).to_end()
