"""A run in parts, each by the method that suits the equations there."""

from dataclasses import replace

import numpy as np

from ...driver.review import Reviewed
from ...problems.base import Problem
from ...results.choice import Choice, distinct
from ...results.messages import GIVES_WAY, failed, too_many_steps
from ...results.status import Status
from ...results.steps import TimedState
from ...results.trajectory import COLUMNS, Trajectory, joined
from ...system.assembly import State
from ...typing import TimeProgress, Tolerance, Until, Vector
from .plan import CHATTERS, FRICTION, Plan, first_plan, is_large, other_plan, stiff_rates, tolerances
from .stiffness import BOUNDARY, Rates, rates

EVERY_EXPLICIT = 25  # steps between two reviews of the explicit method
LONGER = 4  # factor on these after each return to it
EVERY_STIFF = 100  # of the implicit one
GAIN, GAIN_BDF = 2.0, 4.0  # ratio of its steps to the longest stable ones of the explicit method, below which it does not pay


class AutomaticRun:
    """One integration; see `integrate` of `mbdae.driver.method` for the parameters."""

    def __init__(self, problem: Problem, state: State, t_end: float, rtol: float, atol: Tolerance, max_steps: int) -> None:
        self.given, self.state, self.t_end, self.rtol, self.atol, self.max_steps = problem, state, t_end, rtol, atol, max_steps
        self.plan = first_plan(problem.system, rtol)
        self.found: Rates | None = None  # of stiff equations, after the first steps
        self.patience, self.steps = EVERY_EXPLICIT * (LONGER if is_large(problem.system) else 1), 0
        self.parts: list[Trajectory] = []
        self.choices: list[Choice] = []
        self._reviewed_at, self._stable_step = state.t, 0.0

    def to_end(self, t_eval: Vector | None, every: int, progress: TimeProgress | None, until: Until | None) -> Trajectory:
        """Integrate."""
        wanted = t_eval
        while True:
            plan, begun = self.plan, self.steps
            part = self._part(plan, wanted, progress, until)
            self.steps += part.statistics.steps or 0
            goes_on = part.message == GIVES_WAY
            wanted = None if wanted is None else wanted[len(part.t):]
            self.parts.append(part if t_eval is not None else _thinned(part, begun, every, not goes_on))
            if not goes_on:
                return self._whole()
            if self.steps >= self.max_steps:
                self.parts[-1] = replace(part, status=Status.TOO_MANY_STEPS, message=failed(too_many_steps(self.max_steps), self.state.t))
                return self._whole()
            if not plan.explicit:
                self.patience *= LONGER
            self.plan, self.found = other_plan(plan, self.given.system, self.rtol, self.found), None

    def _part(self, plan: Plan, wanted: Vector | None, progress: TimeProgress | None, until: Until | None) -> Trajectory:
        """The run by one method, to the end or to the review that ends it."""
        problem, method = plan.problem(self.given), plan.at_most(self.max_steps - self.steps)
        self.choices.append(Choice(self.state.t, method.label, problem.formulation, plan.reason))
        self._reviewed_at = self.state.t
        if not plan.final:
            until = Reviewed(until, self.patience, self._is_stiff) if plan.explicit else Reviewed(until, EVERY_STIFF, self._does_not_pay)
        return method.integrate(problem, self.state, self.t_end, rtol=self.rtol, atol=tolerances(problem, self.given, self.rtol, self.atol),
                                t_eval=wanted, every=1, progress=progress, until=until)

    # reviews -------------------------------------------------------------------------------------------------------------

    def _is_stiff(self, row: TimedState, remark: str) -> bool:
        """Whether the explicit method has remarked that its steps are at the limit of stability, or, after its first ones, will do so."""
        first = self._stable_step == 0.0
        self._stable_step = self._mean_step(row, self.patience)
        if first and not remark:
            self.found = stiff_rates(self.given.system, self.state, abs(self.t_end - self.state.t))
        return bool(remark) or self.found is not None

    def _does_not_pay(self, row: TimedState, remark: str) -> bool:
        """Whether the steps of the implicit method are not much longer than stable ones of the explicit method."""
        step, system = self._mean_step(row, EVERY_STIFF), self.given.system
        if is_large(system):  # the eigenvalues would cost more than the steps
            return step < GAIN_BDF * self._stable_step
        found = rates(system, self.state)
        return found is not None and found.fastest * step < GAIN * BOUNDARY

    def _mean_step(self, row: TimedState, steps: int) -> float:
        """Of the steps since the last review, which are ended by this state."""
        self.state = State(*row)
        span, self._reviewed_at = abs(row[0] - self._reviewed_at), row[0]
        return span / steps

    # the end -------------------------------------------------------------------------------------------------------------

    def _whole(self) -> Trajectory:
        """One trajectory, with the choices that have led to it."""
        whole = replace(joined(self.parts), choices=distinct(self.choices))
        whole.statistics.restarts = sum(p.statistics.restarts or 0 for p in self.parts) + len(self.parts) - 1
        if whole.status == Status.TOO_MANY_STEPS and self.choices[-1].reason == FRICTION:
            whole.message = f"{whole.message}; {CHATTERS}"
        return whole


def _thinned(part: Trajectory, begun: int, every: int, last: bool) -> Trajectory:
    """Every `every`-th of all steps, and the end of the last part; a part begins with the end of the one before, the step `begun`."""
    numbers = begun + np.arange(len(part.t))
    keep = (numbers % every == 0) & ((numbers > begun) | (begun == 0))
    if last and len(keep):
        keep[-1] |= numbers[-1] > begun or begun % every != 0
    return replace(part, **{name: getattr(part, name)[keep] for name in COLUMNS})
