"""Sliding velocities of joints with friction, as events at the kinks of the law of friction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.forces import Friction
from ..model.joints import PlanarRevolute, PlanarTranslational, Revolute
from ..results.jumps import EndOfRun
from ..results.status import Status
from ..spelling import guess
from ..system.assembly import AssemblyError, State, accelerations
from ..typing import Event, Vector
from .placed import Placed

if TYPE_CHECKING:
    from ..system.system import System

SHIFT = 1e-6  # of the limit, by which a state is moved to its other side
DIFFERENCE = 1e-5  # [s], of the difference quotient of the sliding velocity


@dataclass(frozen=True)
class SlidingLimit:
    """`s - side v_s`: the sliding velocity `s` of a joint with friction passes the transition velocity `v_s` of its law.

    As an event for `mbdae.solve(..., events=[...])` it restarts the method there, on the other side of the limit, and its times are those
    of the transitions between sliding and sticking (`|s| < v_s`). Velocities of both signs need two events, `side=1` and `side=-1`. With
    `smooth=False` there is no friction below `v_s`: where the joint would stick, it is driven back to the limit from both sides, and the
    run ends with `Status.ZENO`; with `smooth=True` it creeps.

    Parameters
    ----------
    friction : str
        Name of a `Friction`.
    side : {1, -1}

    Examples
    --------
    >>> import mbdae
    >>> limits = [mbdae.SlidingLimit("friction", side) for side in (1, -1)]  # for `events`
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
        self._system, self._limit = system, limit.side * friction.v_s
        self._joint: Any = next(j for j in mechanism.joints if j.name == friction.joint)

    def __call__(self, t: float, q: Vector, v: Vector) -> float:
        return self.velocity(t, q, v) - self._limit

    def on_event(self, t: float, state: State) -> tuple[Vector, Vector]:
        """The state on the other side of the limit.

        Raises
        ------
        EndOfRun
            If the accelerations of both sides lead back to the limit.
        """
        shift = self._shifted(t, state)
        below, above = (self._acceleration(t, state.q, state.v + d) for d in (-shift, shift))
        if below > 0.0 > above:
            raise EndOfRun(Status.ZENO, f"the joint {self._joint.name!r} sticks: below the limit v_s, without friction, it is accelerated, "
                                        "above it is stopped (Zeno behaviour); smooth=True replaces this law by one that creeps")
        return state.q, state.v + (shift if below > 0.0 else -shift)

    def _shifted(self, t: float, state: State) -> Vector:
        """The change of the velocities on the constraints that raises the sliding velocity by `SHIFT` of the limit."""
        s, n = self._system, self._system.nv
        rest = self.velocity(t, state.q, np.zeros(n))
        row = np.array([self.velocity(t, state.q, e) - rest for e in np.eye(n)])
        x = s.solve_kkt(t, state.q, row, np.zeros(s.nc)).x
        return SHIFT * abs(self._limit) / float(row @ x) * x

    def _acceleration(self, t: float, q: Vector, v: Vector) -> float:
        """The derivative of the sliding velocity, by a central difference."""
        s, h = self._system, DIFFERENCE
        try:
            a, _, _ = accelerations(s, t, q, v)
        except AssemblyError as error:  # the joint jams
            raise EndOfRun(Status.NEWTON_FAILED, str(error)) from error
        ahead, behind = (self.velocity(t + d, s.retract(q, d * v), v + d * a) for d in (h, -h))
        return (ahead - behind) / (2.0 * h)

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
