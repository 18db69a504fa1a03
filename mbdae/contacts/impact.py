"""Impacts: events that change the velocities by impulses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..model import checks
from ..results.jumps import Change, EndOfRun, EventGroup
from ..results.status import Cause, Status
from ..results.watch import Side
from ..system.assembly import State
from ..typing import Event, Vector
from .gaps import Distance, Gap, Measurement
from .impulses import NoImpulse, contacts, in_sequence, newton, poisson

if TYPE_CHECKING:
    from ..system.system import System

LAWS = {("newton", False): newton, ("poisson", False): poisson, ("newton", True): in_sequence, ("poisson", True): in_sequence}
PRESSED = 1e-8  # closing acceleration of a resting contact, relative to the accelerations of its points
DIFFERENCE = 1e-5  # [s], of the difference quotient of the rate


@dataclass(frozen=True)
class Impact:
    """A collision where a gap closes, as an event for `mbdae.solve(..., events=[...])`.

    Impulses `p >= 0` along the gradients `G` of all gaps that are closed at that time change the velocities, while the constraints hold:

        M (v+ - v-) + Phi_q^T Lambda = G^T p,    Phi_q v+ = nu

    Newton's law: the gap opens with at least `e` times the rate at which it has closed. Poisson's law: the impulse of the expansion is at
    least `e` times that of the compression. For one contact both are the same, and the energy `(1 - e^2) u^2 / (2 G X)` is lost, where `X`
    is the change of the velocities by the unit impulse. There is no friction in the contact, and joints with friction have none in the
    impact.

    Parameters
    ----------
    name : str
    gap : SpherePlane, SphereSphere, JointStop or UserGap
    restitution : float
        The coefficient `e` in [0, 1].
    law : {"newton", "poisson"}
    in_sequence : bool
        Several contacts that are closed at the same time: by default their impulses act together. True: one impact after another, the
        fastest approach first, as if there was a small gap between the bodies (Newton's cradle); both laws are then the same.
    rest_speed : float
        Rate of the gap [m/s or rad/s] below which a contact that closed has come to rest: if it is pressed, the run ends with
        `Status.ZENO`.
    tolerance : float
        A gap below this [m or rad] is closed when another contact has an impact.
    terminal : bool or int
        As for other events; the run ends after the impact.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> import mbdae
    >>> ball = mbdae.Mechanism("ball", [mbdae.Particle("ball", 2.0, (0, 0, 1))], gravity=(0, 0, -9.81))
    >>> floor = mbdae.Impact("floor", mbdae.SpherePlane("ball", "ground"), restitution=0.8)
    >>> run = mbdae.solve(ball, mbdae.SolveIvp(), (0, 1), events=floor)
    >>> run.t_events[0].round(4)
    array([0.4515])
    """

    name: str
    gap: Gap
    restitution: float
    law: str = "newton"
    in_sequence: bool = False
    rest_speed: float = 1e-5
    tolerance: float = 1e-9
    terminal: bool | int = False

    def __post_init__(self) -> None:
        owner = f"Impact {self.name!r}"
        checks.name(self.name, "Impact")
        if not isinstance(self.gap, Gap):
            raise ValueError(f"{owner}: gap must be a SpherePlane, SphereSphere, JointStop or UserGap, got {self.gap!r}")
        for field in ("restitution", "rest_speed", "tolerance"):
            object.__setattr__(self, field, checks.nonnegative(getattr(self, field), owner, field))
        if self.restitution > 1.0:
            raise ValueError(f"{owner}: restitution must lie in [0, 1], got {self.restitution!r}")
        if self.law not in ("newton", "poisson"):
            raise ValueError(f"{owner}: law must be 'newton' or 'poisson', got {self.law!r}")

    @classmethod
    def bind(cls, system: System, own: Mapping[int, Impact]) -> Mapping[int, Event]:
        """The impacts of a run, by their numbers among its events, as events of one group."""
        impacts = list(own.values())
        for impact in impacts[1:]:
            if (impact.law, impact.in_sequence) != (impacts[0].law, impacts[0].in_sequence):
                raise ValueError(f"Impact {impact.name!r}: law and in_sequence must be those of {impacts[0].name!r}, the contacts of a run "
                                 "may have impacts together")
        if len({impact.name for impact in impacts}) < len(impacts):
            raise ValueError(f"Impact: two impacts have the same name, there are {', '.join(i.name for i in impacts)}")
        members = {k: Contact(impact, system) for k, impact in own.items()}
        group = ContactGroup(system, members)
        for contact in members.values():
            contact.group = group
        return members


class Contact:
    """An impact as an event of a system: `gap - level`, where the level is zero unless the contact is closed already.

    Attributes
    ----------
    group : ContactGroup
    level : float
        Set at the start of each segment of a run.
    """

    direction = -1
    group: ContactGroup

    def __init__(self, impact: Impact, system: System) -> None:
        self.impact, self.name, self.terminal = impact, impact.name, impact.terminal
        self.distance: Distance = impact.gap.on(system)
        self.level = 0.0

    def __call__(self, t: float, q: Vector, v: Vector) -> float:
        return self.distance.value(t, q) - self.level

    def rate(self, t: float, q: Vector, v: Vector) -> float:
        """The rate of the gap."""
        return self.distance.rate(t, q, v)

    def on_event(self, t: float, state: State) -> tuple[Vector, Vector]:
        """The state after the impact, of all contacts of the group."""
        return self.group.act(state, [k for k, contact in self.group.members.items() if contact is self])[:2]


class ContactGroup(EventGroup):
    """The impacts of a run, whose impulses act together.

    Parameters
    ----------
    system : System
    members : dict of int to Contact
        By their numbers among the events of the run.
    """

    def __init__(self, system: System, members: Mapping[int, Contact]) -> None:
        self._system, self.members = system, dict(members)
        first = next(iter(members.values())).impact
        self._law = LAWS[first.law, first.in_sequence]

    def check(self, state: State) -> None:
        """See `EventGroup`: no gap is negative."""
        for contact in self.members.values():
            gap = contact.distance.value(state.t, state.q)
            if gap < -contact.impact.tolerance:
                raise ValueError(f"Impact {contact.name!r}: its gap is {gap:.6g} at the start, it must not be negative")

    def act(self, state: State, fired: Collection[int]) -> Change:
        """See `EventGroup`."""
        closed = self._closed(state, fired)
        G = np.array([at.gradient for at in closed.values()]).reshape(len(closed), self._system.nv)
        u = G @ state.v + np.array([at.drift for at in closed.values()])
        c = contacts(self._system, state.t, state.q, G, u)
        names = [self.members[k].name for k in closed]
        try:
            p = self._law(c, np.array([self.members[k].impact.restitution for k in closed]))
        except NoImpulse as error:
            raise EndOfRun(Status.SINGULAR, f"there are no impulses for the impact of {names[error.contact]!r}: the constraints, or other "
                                            "contacts, do not let it open") from error
        return Change(state.q, state.v + c.X @ p, dict(zip(names, p.tolist())), c.L @ p)

    def due(self, state: State) -> tuple[int, ...]:
        """See `EventGroup`: contacts that are closed and approach."""
        rates = {k: at.gradient @ state.v + at.drift for k, at in self._closed(state).items()}
        return tuple(k for k, rate in rates.items() if rate < -self.members[k].impact.rest_speed)

    def begin(self, state: State) -> dict[int, Side]:
        """See `EventGroup`."""
        sides = {}
        for k, contact in self.members.items():
            at = contact.distance.measured(state.t, state.q)
            contact.level = 0.0
            if at.gap > contact.impact.tolerance:
                continue
            if at.gradient @ state.v + at.drift > contact.impact.rest_speed:
                contact.level, sides[k] = min(at.gap, 0.0), Side(1)
            else:  # at rest without being pressed: it closes if it gives way
                contact.level = at.gap - contact.impact.tolerance
        return sides

    def ends(self, state: State) -> Cause | None:
        """See `EventGroup`: a contact at rest is pressed."""
        for k, at in self._closed(state).items():
            impact, rate = self.members[k].impact, float(at.gradient @ state.v + at.drift)
            closing = -self._acceleration(self.members[k], state)
            if abs(rate) <= impact.rest_speed and closing > PRESSED * (1.0 + float(np.abs(at.gradient) @ np.abs(state.a))):
                return Cause(Status.ZENO, _at_rest(impact, state.t, rate, closing))
        return None

    def _closed(self, state: State, fired: Collection[int] = ()) -> dict[int, Measurement]:
        """The closed contacts, and those that have just closed: their gap is that of the interpolant, off the constraints."""
        measured = {k: contact.distance.measured(state.t, state.q) for k, contact in self.members.items()}
        return {k: at for k, at in measured.items() if k in fired or at.gap <= self.members[k].impact.tolerance}

    def _acceleration(self, contact: Contact, state: State) -> float:
        """The second derivative of the gap along the motion, by a central difference of its rate."""
        s, h = self._system, DIFFERENCE
        rates = [contact.rate(state.t + d, s.retract(state.q, d * state.v), state.v + d * state.a) for d in (h, -h)]
        return (rates[0] - rates[1]) / (2.0 * h)


def _at_rest(impact: Impact, t: float, rate: float, closing: float) -> str:
    """The message for a contact that has come to rest: the flights `2 u/a (1 + e + e^2 + ...)` that would follow are a geometric series."""
    e = impact.restitution
    end = t + 2.0 * max(rate, 0.0) / (closing * (1.0 - e)) if e < 1.0 else t
    return (f"the contact of the impact {impact.name!r} comes to rest: its impacts accumulate at t = {end:.12g} (Zeno behaviour), and a "
            "contact that lasts is not part of the equations")
