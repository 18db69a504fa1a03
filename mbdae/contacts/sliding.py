"""Sliding velocities of joints with friction, as events at the kinks of the law of friction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.forces import Friction
from ..model.joints import PlanarRevolute, PlanarTranslational, Revolute
from ..spelling import guess
from ..system.assembly import State
from ..typing import Event, Vector
from .placed import Placed

if TYPE_CHECKING:
    from ..system.system import System


@dataclass(frozen=True)
class SlidingLimit:
    """`s - side v_s`: the sliding velocity `s` of a joint with friction passes the transition velocity `v_s` of its law.

    As an event for `mbdae.solve(..., events=[...])` it restarts the method there, and its times are those of the transitions between sliding
    and sticking (`|s| < v_s`). Velocities of both sides need two events, `side=1` and `side=-1`.

    Parameters
    ----------
    friction : str
        Name of a `Friction`.
    side : {1, -1}
    """

    friction: str
    side: int = 1

    def __post_init__(self) -> None:
        if self.side not in (1, -1):
            raise ValueError(f"SlidingLimit {self.friction!r}: side must be 1 or -1, got {self.side!r}")

    @classmethod
    def bind(cls, system: System, own: Mapping[int, SlidingLimit]) -> Mapping[int, Event]:
        """The limits of a run, by their numbers among its events, as functions of the coordinates of a system."""
        return {k: Sliding(limit, system) for k, limit in own.items()}


class Sliding:
    """A sliding limit as an event of a system."""

    def __init__(self, limit: SlidingLimit, system: System) -> None:
        mechanism = system.mechanism
        forces = () if mechanism is None else tuple(f for f in mechanism.forces if isinstance(f, Friction))
        friction = next((f for f in forces if f.name == limit.friction), None)
        if mechanism is None or friction is None:
            raise ValueError(f"SlidingLimit: there is no Friction {limit.friction!r}{guess(limit.friction, [f.name for f in forces])}")
        self.name = f"{limit.friction}{'+' if limit.side > 0 else '-'}"
        self._system, self._shift = system, limit.side * friction.v_s
        self._joint: Any = next(j for j in mechanism.joints if j.name == friction.joint)

    def __call__(self, t: float, q: Vector, v: Vector) -> float:
        return self.velocity(t, q, v) - self._shift

    def on_event(self, t: float, state: State) -> None:
        """The state is not changed, the method is restarted."""

    def velocity(self, t: float, q: Vector, v: Vector) -> float:
        """The sliding velocity, or the rate of the angle, of body j against body i."""
        system: Any = self._system
        if system.cartesian is not None:
            q, v, _ = system.to_cartesian(q, v, t=t)
            system = system.cartesian
        placed, joint = Placed(system, q), self._joint
        if isinstance(joint, PlanarRevolute):
            return float((placed.spin(joint.j) - placed.spin(joint.i))[2] @ v)
        a = placed.direction(joint.i, (*joint.a_i, 0.0) if isinstance(joint, PlanarTranslational) else joint.a_i)
        if isinstance(joint, Revolute):
            return float(a.x @ (placed.spin(joint.j) - placed.spin(joint.i)) @ v)
        P, Q = (placed.point(b, tuple(np.resize([*s, 0.0], 3))) for b, s in ((joint.i, joint.s_i), (joint.j, joint.s_j)))
        return float(a.x @ (Q.D - P.D) @ v + (Q.x - P.x) @ (a.D @ v))
