"""Which solver takes which formulation, how it is then run, and what limits a user can set to its steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

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
        Whether its error test leaves those out.
    excluded_atol : float, str or None
        Absolute tolerance of the blocks that the formulation excludes from the error test, or its origin; `None` for the default of the
        formulation.
    tighten : float
        Factor on the tolerances, where the error test cannot see all that the user's tolerances are meant for.
    scaling : str
        What the solver does about the index of the unknowns.
    jacobian, linear_solver : str
    """

    mask: bool = False
    exclude: bool = False
    excluded_atol: float | str | None = None
    tighten: float = 1.0
    scaling: str = "none"
    jacobian: str = "exact"
    linear_solver: str = "dense"


Support: TypeAlias = Mapping[str, Settings | str]  # by form: how the solver is run, or the reason why it is refused


def index3_support():
    """Support of an integrator that discretises the index-3 equations in its own way."""
    own = "it discretises the index-3 equations in its own way"
    return dict.fromkeys(FORMS, own) | {"index3": Settings(scaling="powers of h", linear_solver="reduced matrix, envelope")}


def explicit_support(**settings):
    """Support of a solver of `yd = f(t, y)`."""
    return {form: EXPLICIT_ONLY for form in FORMS} | {form: Settings(**settings) for form in EXPLICIT}


def implicit_support(**forms):
    """Support of a solver of `F(t, y, yd) = 0`: forms with their `Settings` or the reason why they are refused, the best first.

    Forms that are not named get the reason that holds for every such solver.
    """
    general = dict.fromkeys(EXPLICIT, IMPLICIT_ONLY)
    general |= {"overdetermined": SQUARE_ONLY, "mass": MASS_IS_RESIDUAL}
    return forms | {form: reason for form, reason in general.items() if form not in forms}


def supported(support):
    """Names of the forms that a solver takes, the best first."""
    return tuple(form for form, how in support.items() if isinstance(how, Settings))


def require(owner, support, problem):
    """How a problem is run, for functions that take problems of users.

    Raises
    ------
    ValueError
        If its form is refused; with the reason.
    """
    how = support[problem.formulation]
    if isinstance(how, str):
        raise ValueError(f"{owner} cannot take the form {problem.formulation!r}: {how}; it takes {', '.join(supported(support)) or 'none'}")
    return how


def tightened(support, problem, rtol, atol):
    """`rtol` and `atol` as the solver gets them for the form of a problem; an array `atol` is the user's own and stays as it is."""
    how = support.get(problem.formulation)
    factor = how.tighten if isinstance(how, Settings) else 1.0
    return rtol * factor, atol * factor if np.ndim(atol) == 0 else atol
