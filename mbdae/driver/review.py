"""Reviews of a run after every so many steps, which may end it where another method is to go on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..results.steps import TimedState
from ..typing import Until, Vector

# of the state after a step, of what the stepper remarks about its steps, and of the steps rejected since the last review
Decide: TypeAlias = Callable[[TimedState, str, int], bool]


@dataclass(frozen=True)
class Reviewed:
    """Passed as `until` to the methods of mbdae that run in `integrators.control.driver`.

    Attributes
    ----------
    until : callable or None
        What the user of the method has given.
    every : int
        Accepted steps between two reviews: their number, not the time they take, so that runs can be repeated.
    decide : callable
        `decide(row, remark, rejected)` is called with the state `(t, q, v, a, lam)` after the last accepted step and the number of steps
        that the error test has rejected since the last review; if it returns true, the run ends there with success and the message
        `GIVES_WAY`.
    """

    until: Until | None
    every: int
    decide: Decide

    def __call__(self, t: float, q: Vector, v: Vector) -> bool:
        """As the `until` of a method that knows nothing of reviews."""
        return False if self.until is None else self.until(t, q, v)
