"""The solvers of Assimulo: supported formulations with their settings, and properties of the codes."""

from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import Any

from mbdae.driver.arguments import check_choice, check_limit, check_order, check_step
from mbdae.driver.support import EXPLICIT, FORMS, Settings, Support, explicit_support, implicit_support, supported
from mbdae.jacobians.strategy import Strategy, as_strategy

_MASKED = Settings(mask=True, exclude=True)
_DIFFERENCES = Settings(jacobian="difference")
_SHIFTED = Settings(jacobian="difference", scaling="unknowns shifted away from zero")
_FROZEN = "Assimulo declares the matrix of yd as constant to GLIMDA, but in this form it depends on the positions; use 'ggl'"
_ONE_FAST = "the work arrays of Assimulo 3.0 for DASP3 have the right shape for one fast unknown only, and 3.9 fails with one, too"

# In index 3 the velocities are excluded from the error test; with `tighten` the positions meet the tolerances.
_IDA = implicit_support(gear=Settings(), ggl=_MASKED, index2=_MASKED, index1=_MASKED,
                        index3=Settings(mask=True, exclude=True, tighten=1e-3))
_RADAU = implicit_support(ggl=_DIFFERENCES, index2=_DIFFERENCES, gear=_DIFFERENCES, index1=_DIFFERENCES,
                          index3=Settings(tighten=0.1, jacobian="difference"))
_ODASSL = implicit_support(overdetermined=_SHIFTED, ggl=_SHIFTED, gear=_SHIFTED, index2=_SHIFTED, index1=_SHIFTED,
                           index3=Settings(tighten=0.1, jacobian="difference", scaling="unknowns shifted away from zero"))
_GLIMDA = implicit_support(ggl=_DIFFERENCES, index2=_DIFFERENCES, index3=Settings(tighten=0.1, jacobian="difference"), gear=_FROZEN,
                           index1=_FROZEN)
_NONE_FAST = "a mechanism has no small parameter that separates slow and fast unknowns"
_DASP3: Support = {form: _NONE_FAST if form in EXPLICIT else _ONE_FAST for form in FORMS}


@dataclass(frozen=True)
class Facts:
    """Properties of one solver.

    Attributes
    ----------
    support : dict
    highest_order : int or None
        `None` if the order cannot be limited.
    first_step : float or None
        Default if neither user nor formulation set it; zero leaves it to the solver, `None` means that it cannot be set. The default
        of some solvers, 0.01 s, is longer than the period of fast mechanisms.
    max_step : bool
        Whether the step size can be limited.
    jacobian : {"exact", "difference", "none"}
        Whether the solver takes the exact Jacobian, always uses difference quotients, or needs none.
    interpolates : bool
        Whether it has dense output.
    stops : bool
        Whether it can be stopped after a step; otherwise exceptions must be raised through it.
    fortran : bool
        Whether it stores its state in COMMON blocks and prints when it fails.
    alone : bool
        Whether a nested run destroys the outer one, as steps or dense output use COMMON blocks.
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
        """Names of the supported forms, the best first."""
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
    if name == "Radau5ODE" and not is_old():  # a C code there, without static memory or output
        return replace(SOLVERS[name], fortran=False, alone=False)
    return SOLVERS[name]


@cache
def is_old() -> bool:
    """Whether Assimulo is older than 3.9."""
    return find_spec("assimulo") is not None and find_spec("assimulo.lib.radau5ode") is None


def check_options(owner: str, name: str, jacobian: str | Strategy, max_order: int | None, first_step: float, max_step: float) -> None:
    """Validate the options; raise a ValueError if one is wrong or the solver does not have it.

    Raises
    ------
    ValueError
    """
    facts = facts_of(name)
    strategy = as_strategy(jacobian, owner)
    if facts.jacobian != "exact" and strategy not in (None, as_strategy("exact")):
        makes = "uses its own difference quotients" if facts.jacobian == "difference" else "needs no Jacobian"
        raise ValueError(f"{owner}: {name} {makes}, so jacobian={jacobian!r} is not possible")
    if max_order is not None:
        if facts.highest_order is None:
            raise ValueError(f"{owner}: {name} has no max_order")
        check_order(owner, max_order, facts.highest_order, f"max_order of {name}")
    check_step(owner, "first_step", first_step)
    check_limit(owner, "max_step", max_step)
    if first_step and facts.first_step is None:
        raise ValueError(f"{owner}: {name} chooses its first step itself, first_step cannot be set")
    if max_step and not facts.max_step:
        raise ValueError(f"{owner}: {name} has no max_step")
