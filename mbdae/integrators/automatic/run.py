"""A run in parts, each by the method that suits the equations there."""

from dataclasses import replace

import numpy as np

from ...driver.review import Reviewed
from ...problems.base import Problem
from ...results.choice import Choice, distinct
from ...results.messages import GIVES_WAY, failed, too_many_steps
from ...results.status import Status
from ...results.trajectory import COLUMNS, Trajectory, joined
from ...system.assembly import State
from ...typing import TimeProgress, Tolerance, Until, Vector
from ..adams.methods import Adams
from ..explicit.methods import DormandPrince
from .implicit import review_of
from .plan import CHATTERS, FRICTION, Plan, explicit_plan, first_plan, kinked_plan, stiff_plan, tolerances
from .reviews import Reviews


class AutomaticRun:
    """One integration; see `integrate` of `mbdae.driver.method` for the parameters."""

    def __init__(self, problem: Problem, state: State, t_end: float, rtol: float, atol: Tolerance, max_steps: int) -> None:
        self.given, self.t_end, self.rtol, self.atol, self.max_steps = problem, t_end, rtol, atol, max_steps
        self.plan, self.steps = first_plan(problem.system, rtol), 0
        self.reviews = Reviews(problem.system, state, t_end)
        self.parts: list[Trajectory] = []
        self.choices: list[Choice] = []

    @property
    def state(self) -> State:
        """Where the method begins, or was reviewed last."""
        return self.reviews.state

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
            self.plan = self._next(plan)

    def _next(self, plan: Plan) -> Plan:
        """The method to which this one gives way."""
        if not plan.explicit:
            return explicit_plan(self.rtol, self.reviews.kinked)
        return stiff_plan(self.given.system, self.rtol, self.reviews.why) if self.reviews.stiff else kinked_plan()

    def _part(self, plan: Plan, wanted: Vector | None, progress: TimeProgress | None, until: Until | None) -> Trajectory:
        """The run by one method, to the end or to the review that ends it."""
        problem, method = plan.problem(self.given), plan.at_most(self.max_steps - self.steps)
        self.choices.append(Choice(self.state.t, method.label, problem.formulation, plan.reason))
        if not plan.final:
            until = self._reviewed(plan, until)
        rtol, atol = tolerances(plan, problem, self.given, self.rtol, self.atol)
        return method.integrate(problem, self.state, self.t_end, rtol=rtol, atol=atol, t_eval=wanted, every=1, progress=progress,
                                until=until)

    def _reviewed(self, plan: Plan, until: Until | None) -> Reviewed:
        """The method is reviewed, and gives way where its steps show that the other one is faster."""
        reviews, method = self.reviews, plan.method
        reviews.begin()
        if isinstance(method, DormandPrince | Adams):
            return Reviewed(until, reviews.every, reviews.gives_way)
        return Reviewed(until, review_of(method, self.given.system).every, lambda row, remark, rejected: reviews.does_not_pay(row, method))

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
