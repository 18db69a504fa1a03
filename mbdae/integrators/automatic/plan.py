"""The methods between which an automatic run chooses."""

from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from ...problems.base import Problem
from ...problems.ggl import GGL
from ...problems.state_space import StateSpace
from ...problems.underlying_ode import UnderlyingODE
from ...system.system import System
from ...typing import Tolerance
from ..adams.methods import Adams
from ..bdf import Bdf
from ..explicit.methods import DormandPrince
from ..radau.methods import RadauIIA
from ..state_space.methods import RosenbrockNystrom
from .implicit import Implicit, for_stiff, own_rtol, unknowns

CRUDE = 1e-3  # rtol from which on the explicit formula of order 5 is taken
NOT_STIFF, STIFF, PRESCRIBED, STABLE = "not stiff", "stiff", "the motion is prescribed", "stable steps are long enough"
KINKED = "a third of the steps were rejected, as at kinks"
FRICTION = "friction that jumps"
CHATTERS = ("joint friction with smooth=False jumps at the transition velocity, and where a joint sticks a method with error control "
            "chatters between its sides: use smooth=True, or HalfImplicit(h) with a step size of yours")

Made: TypeAlias = DormandPrince | Adams | Implicit
FORMS: dict[type, type[Problem]] = {DormandPrince: UnderlyingODE, Adams: UnderlyingODE, RosenbrockNystrom: StateSpace, RadauIIA: GGL,
                                    Bdf: GGL}


class Plan(NamedTuple):
    """A method, and why; a `final` one is not reviewed."""

    method: Made
    reason: str
    final: bool = False

    @property
    def explicit(self) -> bool:
        """Whether it is one of the methods for equations that are not stiff."""
        return isinstance(self.method, DormandPrince | Adams)

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


def stiff_plan(system: System, rtol: float, why: str) -> Plan:
    """The implicit method, after a review of the explicit one that has found `why`."""
    return Plan(for_stiff(system, rtol), f"{STIFF}, {unknowns(system)} unknowns{why}")


def kinked_plan() -> Plan:
    """The explicit method where forces have kinks, after a review of the other one."""
    return Plan(Adams(), KINKED)


def explicit_plan(rtol: float, kinked: bool) -> Plan:
    """The explicit method, after a review of an implicit one."""
    return Plan(Adams() if kinked else for_smooth(rtol), STABLE)


def for_smooth(rtol: float) -> DormandPrince:
    """The explicit method at the start."""
    return DormandPrince(5 if rtol >= CRUDE else 8)


def has_jumping_friction(system: System) -> bool:
    """Whether there is joint friction that ends at the transition velocity."""
    mechanism = system.mechanism
    return mechanism is not None and any(not getattr(force, "smooth", True) for force in mechanism.forces)


def tolerances(plan: Plan, problem: Problem, given: Problem, rtol: float, atol: Tolerance) -> tuple[float, Tolerance]:
    """`rtol` and `atol` for the method and the unknowns of its problem; an array `atol` has one number for each position and velocity."""
    own = own_rtol(plan.method, rtol)
    if own != rtol:
        atol = np.asarray(atol, dtype=float) * (own / rtol) if np.ndim(atol) else float(atol) * (own / rtol)
    if np.ndim(atol) == 0 or not isinstance(problem, GGL):
        return own, atol
    bounds, least = given.tolerances(own, atol), float(np.min(atol))
    out = problem.tolerances(own, least, least)  # as these methods do with one number
    for name in ("q", "v"):
        out[problem.blocks[name]] = bounds[given.blocks[name]]
    return own, out
