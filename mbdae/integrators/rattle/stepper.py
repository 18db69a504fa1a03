"""An integration by `Rattle`: arrays, failures, dense output."""

from typing import TYPE_CHECKING

import numpy as np

from ...compilation.structure import with_fields
from ...model.forces import RSDA, TSDA
from ...problems.base import Problem
from ...results.diagnosis import ChartError
from ...results.status import Cause, Status
from ...results.steps import Step, TimedState, split_state, taylor
from ...system import evaluate
from ...system.assembly import State as Start
from ...system.codes import DIVERGED, GOOD, NEEDS_STEP, VARIABLE_MASS
from ...system.extra import kind_of
from ...system.system import System
from ...typing import Matrix, Vector
from ..control.newton import NewtonRule
from ..control.records import new_state
from ..control.stepper import FIXED, Stepper
from .arrays import RattleRun, new_scratch
from .composition import STABILITY, weights
from .free_body import principal_axes
from .positions import SAME_MASS
from .step import LOOPS
from .sums import RattleState

if TYPE_CHECKING:
    from .methods import Rattle

LEAST_ETA = 0.01  # ratio of the error that is left and the correction, at least: Broyden corrections may come near to each other by chance
TRIAL = 1e-2  # displacement at which a mass matrix is evaluated again [m, rad]
VARIABLE = "Rattle: the mass matrix of {} is not constant; in Cartesian coordinates of mechanisms it is, for others take ProjectedGauss"


class RattleStepper(Stepper):
    """See `Stepper`."""

    loops = LOOPS
    run: RattleRun

    def __init__(self, method: "Rattle", problem: Problem, state: Start, t_end: float) -> None:
        super().__init__(problem.system, state, t_end)
        check(self.system, state)
        self.method, self.clock.h, self.clock.fixed = method, float(method.h), int(method.density is None)
        self.stability = STABILITY[method.order] if method.density is None else np.inf
        newton = NewtonRule(float(method.tol), int(method.max_iter), LEAST_ETA, np.inf, int(method.max_iter))
        start, end, inside = (self._with_rests(state) for _ in range(3))
        common = self.common(rule=FIXED, newton=newton, start=start, end=end, inside=inside)
        paced = int(method.density is not None)
        self.run = RattleRun(**common, scratch=new_scratch(self.system), weights=weights(method.order), free=principal_axes(self.system),
                             sees_velocities=int(sees_velocities(self.system)), paced=paced, pace=1.0, factored=0)

    def _with_rests(self, state: Start) -> RattleState:
        """The state with rests of zero."""
        return new_state(RattleState, state, q_rest=self.system.nq, v_rest=self.system.nv)

    @property
    def fixed(self) -> bool:
        """See `Stepper`: no step is cut after a failure."""
        return True

    def begin(self) -> None:
        """Accelerations and multipliers at the start, of which the first step is made; its length by the density in its middle."""
        start = self.run.start
        a, lam, code, _ = evaluate.accelerations(self.t, start.q, start.v, start.lam.copy(), self.model, self.work)
        if code == GOOD:
            start.a[:], start.lam[:] = a, lam
        if self.method.density is None:
            return
        state = self.row()
        ahead = np.copysign(0.5 * self.method.h / self._density(*state[:3]), self.t_end - self.t)
        self._set_pace(self._density(self.t + ahead, *taylor(self.system, state, self.t + ahead)))

    def assist(self, fault: int) -> None:
        """The length of the next step, which is to that of the last as in the mirror image of both."""
        assert fault == NEEDS_STEP, fault
        self._set_pace(self._density(*self.row()[:3]) ** 2 / self.run.pace)

    def _set_pace(self, pace: float) -> None:
        self.run.pace, self.clock.h = pace, self.method.h / pace

    def _density(self, t: float, q: Vector, v: Vector) -> float:
        """The density of the method."""
        assert self.method.density is not None
        found = float(self.method.density(t, q, v))
        if not (np.isfinite(found) and found > 0.0):
            raise ChartError(Status.NOT_FINITE, f"the density of the steps is {found} at t = {t:g}; it must be positive")
        return found

    def explain(self, fault: int) -> Cause:
        """See `Stepper`."""
        if fault == DIVERGED:
            return Cause(Status.NEWTON_FAILED, f"Newton's method did not converge in {self.method.max_iter} iterations")
        if fault == VARIABLE_MASS:
            raise ValueError(VARIABLE.format(self.system.name))
        return super().explain(fault)

    # steps ---------------------------------------------------------------------------------------------------------------

    def step(self, before: TimedState) -> Step:
        """The last accepted step; states within it are computed by shorter steps from its start."""
        t, q, v, a, lam = self.row()
        start = self._with_rests(Start(*before))
        return Step(before[0], t, lambda: (q.copy(), v.copy()), np.concatenate([q, v, a, lam]),
                    lambda times: self._within(times, before[0], start), split_state(self.system), self.method.order + 1)

    def _within(self, times: Vector, t0: float, start: RattleState) -> Matrix:
        """States at times within the last step, by rows."""
        run = with_fields(self.run, start=start)
        columns, code = self.sampled(run, times, t0)
        self.run.factored = 0  # the factors in the workspace are those of another position
        if code != GOOD:
            raise ChartError(*self.explain(code))
        return columns


def sees_velocities(system: System) -> bool:
    """Whether forces may depend on velocities, beside the gyroscopic torques; those of a user's functions may always."""
    if system.mechanism is None:
        return True
    springs = [f for f in system.mechanism.forces if isinstance(f, TSDA | RSDA) and f.c == 0.0 and f.law is None]
    return any(kind_of(f).sees_velocities for f in system.mechanism.forces if f not in springs)


def check(system: System, state: Start) -> None:
    """Refuse systems whose mass matrix depends on the positions.

    Raises
    ------
    ValueError
    """
    if system.constant_mass:
        return
    if not (system.of_functions and system.identity_map):
        raise ValueError(f"Rattle: {system.name} must be in Cartesian coordinates, in which the mass matrix is constant")
    M, d = system.mass(state.t, state.q), TRIAL * np.cos(np.arange(system.nv) + 1.0)
    for t, q in ((state.t + TRIAL, state.q), (state.t, state.q + d), (state.t, state.q - d)):
        if not np.abs(system.mass(t, q) - M).max() <= SAME_MASS * np.abs(M).max():
            raise ValueError(VARIABLE.format(system.name))
