"""Changes of the state by events: what is recorded of them, and events that change it together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..typing import Vector
from .status import Cause, Status

if TYPE_CHECKING:
    from ..system.assembly import State
    from .watch import Side


@dataclass(frozen=True)
class Jump:
    """A change of the state at a time.

    Attributes
    ----------
    t : float
    events : tuple of int
        Which events have changed it.
    before, after : State
        Both consistent.
    impulses : dict of str to float
        Normal impulses by the names of the impacts [N s], or [N m s] for stops of angles.
    reactions : ndarray, shape (nc,)
        Impulses of the constraints, `M (v+ - v-) + Phi_q^T reactions = G^T impulses`; zero for changes by a user's function.

    Examples
    --------
    >>> import mbdae
    >>> ball = mbdae.Mechanism("ball", [mbdae.Particle("ball", 2.0, (0, 0, 1))], gravity=(0, 0, -9.81))
    >>> floor = mbdae.Impact("floor", mbdae.SpherePlane("ball", "ground"), restitution=0.5)
    >>> jump = mbdae.solve(ball, mbdae.SolveIvp(), (0, 0.6), events=floor).jumps[0]
    >>> float((-jump.after.v[2] / jump.before.v[2]).round(6))
    0.5
    """

    t: float
    events: tuple[int, ...]
    before: State
    after: State
    impulses: Mapping[str, float]
    reactions: Vector


class Change(NamedTuple):
    """New positions and velocities, with the impulses that have led to them."""

    q: Vector
    v: Vector
    impulses: Mapping[str, float]
    reactions: Vector


class EndOfRun(Exception):
    """The run ends here, for the cause in `status` and `reason`."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class EventGroup(ABC):
    """Events that change the state together, each of which has the group as its attribute `group`."""

    @abstractmethod
    def check(self, state: State) -> None:
        """Check the start of the run.

        Raises
        ------
        ValueError
        """

    @abstractmethod
    def act(self, state: State, fired: Collection[int]) -> Change:
        """The change at a state by the events that have a zero there, `fired`, and all others of the group that take part in it.

        Raises
        ------
        EndOfRun
            There is none.
        """

    @abstractmethod
    def due(self, state: State) -> tuple[int, ...]:
        """Events, by their number in `solve`, that must act at a state though their value has no zero there."""

    @abstractmethod
    def begin(self, state: State) -> dict[int, Side]:
        """Prepare for the motion from a state; events whose value is zero there."""

    @abstractmethod
    def ends(self, state: State) -> Cause | None:
        """Why the run cannot go on from a state, or `None`."""
