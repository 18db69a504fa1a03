"""Reviews of an automatic run: whether the steps of a method show that the other one should go on."""

import numpy as np

from ...results.steps import TimedState
from ...system.assembly import State
from ...system.system import System
from ..linearised import LinearisedMotion
from .implicit import Implicit, Review, is_large, review_of
from .stiffness import BOUNDARY, is_stiff, may_be_stiff

EVERY_EXPLICIT = 25  # steps between two reviews of the explicit method
LONGER = 4  # factor on these after each return to it
CHEAP = 5  # steps of Adams that cost as much as one of DormandPrince
REJECTED = 1 / 3  # rejected steps of DormandPrince over accepted ones, from which on Adams takes less time; smooth motions have up to 1/4
ESTIMATED = 30  # degrees of freedom up to which stiffness is estimated from eigenvalues, once
AT_LIMIT = ""  # what the reason of the choice adds to `stiff` where steps are at the limit of stability


class Reviews:
    """What the reviews of a run have shown so far.

    Attributes
    ----------
    state : State
        At the last review.
    patience : int
        Steps between two reviews of the explicit method.
    why : str
        Why the explicit method has given way, for the reason of the choice.
    kinked : bool
        Whether DormandPrince has given way to Adams, the other explicit method, as at kinks.
    stiff : bool
        Whether the explicit method has given way to an implicit one.
    """

    def __init__(self, system: System, state: State, t_end: float) -> None:
        self.system, self.state, self.t_end = system, state, t_end
        self.patience, self.why = EVERY_EXPLICIT * (LONGER if is_large(system) else 1), AT_LIMIT
        self.kinked = self.stiff = False
        self._motion, self._estimated = LinearisedMotion(system), system.freedom > ESTIMATED
        self._begun, self._reviews = state.t, 0  # of the steps that the next review looks at, and reviews of this method
        self._explicit = 0.0  # mean size of the last explicit steps
        self._accurate = np.inf  # that of explicit steps that were short for the sake of accuracy, not of stability
        self._implicit = 0.0  # that of implicit steps that were given up, over the gain that they have to bring

    def begin(self) -> None:
        """To be called where a method begins."""
        self._begun, self._reviews = self.state.t, 0

    @property
    def every(self) -> int:
        """Steps between two reviews of the explicit method."""
        return self.patience * (CHEAP if self.kinked else 1)

    def gives_way(self, row: TimedState, remark: str, rejected: int) -> bool:
        """Whether the explicit method should give way, which may have remarked that its steps are at the limit of stability."""
        self.stiff = self._is_stiff(row, remark)
        if self.stiff or self.kinked:
            return self.stiff
        self.kinked = rejected >= REJECTED * self.patience
        return self.kinked

    def _is_stiff(self, row: TimedState, remark: str) -> bool:
        self._explicit = step = self._mean_step(row, self.patience)  # of Adams those that cost as much as one of DormandPrince
        if remark:
            self.why, self._accurate = AT_LIMIT, np.inf
            return True
        return self._was_longer(step) or self._will_be_at_limit(step)

    def _was_longer(self, step: float) -> bool:
        """Whether steps of the implicit method, given up before, have proved to be longer by the gain that they have to bring."""
        if self._implicit <= step:
            return False
        self.why, self._accurate, self._implicit = ": explicit steps are much shorter", step, 0.0
        return True

    def _will_be_at_limit(self, step: float) -> bool:
        """Whether stability will limit the steps of the explicit method, by the eigenvalues, which are evaluated once in a run."""
        rest = abs(self.t_end - self.state.t)
        if self._estimated or not may_be_stiff(rest / step):
            return False
        self._estimated = True
        found = self._motion.rates(self.state)
        if found is None or not is_stiff(found, rest):
            return False
        self.why = f": the fastest component at {found.fastest:.2g}/s, the motion at {found.motion:.2g}/s"
        return True

    def does_not_pay(self, row: TimedState, method: Implicit) -> bool:
        """Whether the steps of the implicit method are not longer than those of the explicit one by the gain that they have to bring."""
        review = review_of(method, self.system)
        step = self._mean_step(row, review.every)
        if (self._reviews == 1 and not review.first) or step >= review.gain * self._explicit_step(step, review):
            return False
        self.patience, self._implicit = self.patience * LONGER, step / review.gain
        return True

    def _explicit_step(self, step: float, review: Review) -> float:
        """What the explicit method could take: stable steps, or those that it took if they were shorter; in large systems these."""
        if is_large(self.system):  # the eigenvalues would cost more than the steps
            return self._explicit
        if step >= review.gain * self._accurate:
            return self._accurate
        found = self._motion.rates(self.state)
        if found is None:
            return 0.0
        return min(self._accurate, BOUNDARY / found.fastest if found.fastest > 0.0 else np.inf)

    def _mean_step(self, row: TimedState, steps: int) -> float:
        """Of the steps since the last review, which are ended by this state."""
        self.state = State(*row)
        span, self._begun, self._reviews = abs(row[0] - self._begun), row[0], self._reviews + 1
        return span / steps
