"""The methods between which an automatic run chooses."""

from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from ...problems.base import Problem
from ...problems.ggl import GGL
from ...problems.state_space import StateSpace
from ...problems.underlying_ode import UnderlyingODE
from ...system.assembly import State
from ...system.system import System
from ...typing import Tolerance
from ..bdf import Bdf
from ..explicit.methods import DormandPrince
from ..state_space.methods import RosenbrockNystrom
from .stiffness import Rates, is_stiff, rates

CRUDE = 1e-3  # rtol from which on the explicit formula of order 5 is taken
MANY_FREEDOMS = 40  # degrees of freedom from which on BDF is the stiff method: the derivatives of the other take a solution for each one
ESTIMATED = 30  # degrees of freedom up to which stiffness is estimated after the first steps
NOT_STIFF, STIFF, PRESCRIBED, STABLE = "not stiff", "stiff", "the motion is prescribed", "stable steps are long enough"
FRICTION = "friction that jumps"
CHATTERS = ("joint friction with smooth=False jumps at the transition velocity, and where a joint sticks a method with error control "
            "chatters between its sides: use smooth=True, or HalfImplicit(h) with a step size of yours")

Made: TypeAlias = DormandPrince | RosenbrockNystrom | Bdf
FORMS: dict[type, type[Problem]] = {DormandPrince: UnderlyingODE, RosenbrockNystrom: StateSpace, Bdf: GGL}


class Plan(NamedTuple):
    """A method, and why; a `final` one is not reviewed."""

    method: Made
    reason: str
    final: bool = False

    @property
    def explicit(self) -> bool:
        """Whether it is the method for equations that are not stiff."""
        return isinstance(self.method, DormandPrince)

    def at_most(self, steps: int) -> Made:
        """The method with a limit of the steps."""
        return replace(self.method, max_steps=steps)

    def problem(self, given: Problem) -> Problem:
        """The equations in the form of the method; `given` is the underlying ODE."""
        form = FORMS[type(self.method)]
        return given if isinstance(given, form) else form(given.system)


def first_plan(system: System, rtol: float) -> Plan:
    """The method at the start."""
    explicit = for_smooth(rtol)
    if system.freedom == 0:
        return Plan(explicit, PRESCRIBED, True)
    if has_jumping_friction(system):
        return Plan(explicit, FRICTION, True)
    return Plan(explicit, NOT_STIFF)


def stiff_rates(system: System, state: State, span: float) -> Rates | None:
    """`Rates` at a state if they are those of stiff equations, for the time span that is left."""
    found = rates(system, state) if system.freedom <= ESTIMATED else None
    return found if found is not None and is_stiff(found, span) else None


def other_plan(plan: Plan, system: System, rtol: float, found: Rates | None) -> Plan:
    """The method that goes on after a review, which has `found` the rates of stiff equations."""
    if not plan.explicit:
        return Plan(for_smooth(rtol), STABLE)
    why = "" if found is None else f": the fastest component at {found.fastest:.2g}/s, the motion at {found.motion:.2g}/s"
    return Plan(for_stiff(system), STIFF + why)


def for_smooth(rtol: float) -> DormandPrince:
    """The explicit method."""
    return DormandPrince(5 if rtol >= CRUDE else 8)


def for_stiff(system: System) -> RosenbrockNystrom | Bdf:
    """The implicit method."""
    return Bdf() if is_large(system) else RosenbrockNystrom()


def is_large(system: System) -> bool:
    """Whether BDF is the stiff method."""
    return bool(system.freedom >= MANY_FREEDOMS)


def has_jumping_friction(system: System) -> bool:
    """Whether there is joint friction that ends at the transition velocity."""
    mechanism = system.mechanism
    return mechanism is not None and any(not getattr(force, "smooth", True) for force in mechanism.forces)


def tolerances(problem: Problem, given: Problem, rtol: float, atol: Tolerance) -> Tolerance:
    """`atol` for the unknowns of a problem; an array has one number for each position and each velocity."""
    if np.ndim(atol) == 0 or not isinstance(problem, GGL):
        return atol
    bounds, least = given.tolerances(rtol, atol), float(np.min(atol))
    out = problem.tolerances(rtol, least, least)  # as BDF does with one number
    for name in ("q", "v"):
        out[problem.blocks[name]] = bounds[given.blocks[name]]
    return out
