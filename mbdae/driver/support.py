"""The formulations that a solver supports, and its settings for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..problems.base import Problem
from ..typing import Tolerance

FORMS = ("index3", "ggl", "gear", "index2", "index1", "mass", "overdetermined", "ode", "partition", "tangent")

EXPLICIT = ("ode", "partition", "tangent")

EXPLICIT_ONLY = "it integrates yd = f(t, y)"
IMPLICIT_ONLY = "it integrates F(t, y, yd) = 0; solvers of yd = f(t, y) do this form for less"
SQUARE_ONLY = "it needs as many equations as unknowns"
MASS_IS_RESIDUAL = "it takes residuals; 'index3' is the same equations as one"


@dataclass(frozen=True)
class Settings:
    """How a solver is run on one formulation.

    Attributes
    ----------
    mask : bool
        Whether the solver is told which unknowns are algebraic.
    exclude : bool
        Whether these are excluded from its error test.
    excluded_atol : float, str or None
        Absolute tolerance of the blocks that the formulation excludes from the error test, or its origin; `None` for the default of the
        formulation.
    tighten : float
        Factor on the tolerances, where the error test does not include all unknowns to which the user's tolerances apply.
    scaling : str
        How the solver scales unknowns or errors by the index of the unknowns.
    jacobian, linear_solver : str
    """

    mask: bool = False
    exclude: bool = False
    excluded_atol: float | str | None = None
    tighten: float = 1.0
    scaling: str = "none"
    jacobian: str = "exact"
    linear_solver: str = "dense"

    @property
    def excluded_value(self) -> float | None:
        """`excluded_atol` if it is a number, otherwise `None`, for `Problem.tolerances`."""
        return None if isinstance(self.excluded_atol, str) else self.excluded_atol


Support: TypeAlias = Mapping[str, Settings | str]  # by form: how the solver is run, or the reason why it is refused


def index3_support() -> dict[str, Settings | str]:
    """Support of an integrator that discretises the index-3 equations in its own way."""
    own = "it discretises the index-3 equations in its own way"
    refused: dict[str, Settings | str] = dict.fromkeys(FORMS, own)
    return refused | {"index3": Settings(scaling="powers of h", linear_solver="reduced matrix, envelope")}


def explicit_support(jacobian: str = "exact", linear_solver: str = "dense") -> dict[str, Settings | str]:
    """Support of a solver of `yd = f(t, y)`."""
    how = Settings(jacobian=jacobian, linear_solver=linear_solver)
    return {form: how if form in EXPLICIT else EXPLICIT_ONLY for form in FORMS}


def implicit_support(**forms: Settings | str) -> dict[str, Settings | str]:
    """Support of a solver of `F(t, y, yd) = 0`: forms with their `Settings` or the reason why they are refused, the best first.

    Forms that are not named are refused for the reason that holds for every such solver.
    """
    general = dict.fromkeys(EXPLICIT, IMPLICIT_ONLY)
    general |= {"overdetermined": SQUARE_ONLY, "mass": MASS_IS_RESIDUAL}
    return forms | {form: reason for form, reason in general.items() if form not in forms}


def supported(support: Support) -> tuple[str, ...]:
    """Names of the supported forms, the best first."""
    return tuple(form for form, how in support.items() if isinstance(how, Settings))


def require(owner: str, support: Support, problem: Problem) -> Settings:
    """The settings for a problem, for functions that take problems of users.

    Raises
    ------
    ValueError
        If its form is refused, with the reason.
    """
    how = support[problem.formulation]
    if isinstance(how, str):
        raise ValueError(f"{owner} cannot take the form {problem.formulation!r}: {how}; it takes {', '.join(supported(support)) or 'none'}")
    return how


def tightened(support: Support, problem: Problem, rtol: float, atol: Tolerance) -> tuple[float, Tolerance]:
    """`rtol` and `atol` for the solver, multiplied by `tighten` of the form; an array `atol` is that of the user and not changed."""
    how = support.get(problem.formulation)
    factor = how.tighten if isinstance(how, Settings) else 1.0
    return rtol * factor, atol * factor if np.ndim(atol) == 0 else atol
