"""The solvers of Assimulo: which forms they take, how they are then run, and what has to be known about their codes."""

from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import Any

from mbdae.driver.arguments import check_choice, check_limit, check_order, check_step
from mbdae.driver.support import EXPLICIT, FORMS, Settings, explicit_support, implicit_support, supported
from mbdae.jacobians.strategy import Strategy, as_strategy

from .contract import Support

_MASKED = Settings(mask=True, exclude=True)
_DIFFERENCES = Settings(jacobian="difference")
_SHIFTED = Settings(jacobian="difference", scaling="unknowns shifted off zero")
_FROZEN = "Assimulo tells GLIMDA that the matrix before yd is constant, but in this form it turns with the bodies; take 'ggl'"
_ONE_FAST = "Assimulo 3.0 hands DASP3 work arrays of a shape that is right for one fast unknown only, and 3.9 fails with one, too"

# In index 3 no error test sees the velocities, hence `tighten`: the positions then meet what was asked for.
_IDA = implicit_support(gear=Settings(), ggl=_MASKED, index2=_MASKED, index1=_MASKED,
                        index3=Settings(mask=True, exclude=True, tighten=1e-3))
_RADAU = implicit_support(ggl=_DIFFERENCES, index2=_DIFFERENCES, gear=_DIFFERENCES, index1=_DIFFERENCES,
                          index3=Settings(tighten=0.1, jacobian="difference"))
_ODASSL = implicit_support(overdetermined=_SHIFTED, ggl=_SHIFTED, gear=_SHIFTED, index2=_SHIFTED, index1=_SHIFTED,
                           index3=Settings(tighten=0.1, jacobian="difference", scaling="unknowns shifted off zero"))
_GLIMDA = implicit_support(ggl=_DIFFERENCES, index2=_DIFFERENCES, index3=Settings(tighten=0.1, jacobian="difference"), gear=_FROZEN,
                           index1=_FROZEN)
_NONE_FAST = "a mechanism has no small parameter that tells slow unknowns from fast ones"
_DASP3: Support = {form: _NONE_FAST if form in EXPLICIT else _ONE_FAST for form in FORMS}


@dataclass(frozen=True)
class Facts:
    """What has to be known about one solver.

    Attributes
    ----------
    support : dict
    highest_order : int or None
        `None` if the order cannot be limited.
    first_step : float or None
        Tried if neither user nor formulation say something; zero leaves it to the solver, `None` means that it cannot be set. The
        hundredth of a second that is the default of some is longer than the period of fast mechanisms.
    max_step : bool
        Whether steps can be limited.
    jacobian : {"exact", "difference", "none"}
        Whether the solver takes the exact Jacobian, makes difference quotients in any case, or needs none.
    interpolates : bool
        Whether it has an interpolant of its own.
    stops : bool
        Whether it can be asked to stop after a step; otherwise exceptions must be raised through it.
    fortran : bool
        Whether it keeps its state in COMMON blocks and writes to the terminal when it fails.
    alone : bool
        Whether a run spoils another one that is under way, because its steps or its interpolant are made with what lies in COMMON blocks.
    counts_all : bool
        Whether its count of evaluations includes those for Jacobians.
    """

    support: Support
    highest_order: int | None = None
    first_step: float | None = 0.0
    max_step: bool = True
    jacobian: str = "exact"
    interpolates: bool = True
    stops: bool = True
    fortran: bool = True
    alone: bool = False
    counts_all: bool = False

    @property
    def formulations(self) -> tuple[str, ...]:
        """Names of the forms that the solver takes, the best first."""
        return supported(self.support)


def _explicit(jacobian: str = "exact", **facts: Any) -> Facts:
    linear_solver = "none" if jacobian == "none" else "dense"
    return Facts(explicit_support(jacobian=jacobian, linear_solver=linear_solver), jacobian=jacobian, **facts)


SOLVERS = {
    "IDA": Facts(_IDA, 5, fortran=False),
    "CVode": _explicit(highest_order=5, fortran=False),
    "Radau5DAE": Facts(_RADAU, first_step=1e-4, jacobian="difference", alone=True),
    "Radau5ODE": _explicit(first_step=1e-4, alone=True),
    "RodasODE": _explicit(first_step=1e-4, alone=True),
    "ODASSL": Facts(_ODASSL, 5, jacobian="difference", interpolates=False, stops=False, alone=True),
    "GLIMDA": Facts(_GLIMDA, 3, first_step=1e-6, jacobian="difference", interpolates=False, stops=False),
    "DASP3ODE": Facts(_DASP3, first_step=None, max_step=False, jacobian="difference", interpolates=False),
    "LSODAR": _explicit(highest_order=12, first_step=None, counts_all=True, alone=True),
    "Dopri5": _explicit("none", alone=True),
    "RungeKutta34": _explicit("none", first_step=1e-6, max_step=False, fortran=False),
}


def facts_of(name: str) -> Facts:
    """The facts about a solver.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    check_choice("Assimulo", "solver", name, SOLVERS)
    if name == "Radau5ODE" and not is_old():  # it is written in C there, with memory of its own, and prints nothing
        return replace(SOLVERS[name], fortran=False, alone=False)
    return SOLVERS[name]


@cache
def is_old() -> bool:
    """Whether Assimulo is older than 3.9."""
    return find_spec("assimulo") is not None and find_spec("assimulo.lib.radau5ode") is None


def check_options(owner: str, name: str, jacobian: str | Strategy, max_order: int | None, first_step: float, max_step: float) -> None:
    """Refuse options that are wrong, or that the solver does not have.

    Raises
    ------
    ValueError
    """
    facts = facts_of(name)
    strategy = as_strategy(jacobian, owner)
    if facts.jacobian != "exact" and strategy not in (None, as_strategy("exact")):
        makes = "makes its difference quotients itself" if facts.jacobian == "difference" else "needs no Jacobian"
        raise ValueError(f"{owner}: {name} {makes}, so jacobian={jacobian!r} cannot be had")
    if max_order is not None and facts.highest_order is None:
        raise ValueError(f"{owner}: {name} has no max_order")
    if max_order is not None:
        check_order(owner, max_order, facts.highest_order, f"max_order of {name}")
    check_step(owner, "first_step", first_step)
    check_limit(owner, "max_step", max_step)
    if first_step and facts.first_step is None:
        raise ValueError(f"{owner}: {name} chooses its first step itself, first_step cannot be set")
    if max_step and not facts.max_step:
        raise ValueError(f"{owner}: {name} has no max_step")
