"""`problem`: a library mechanism in a form for solvers."""

from ..model.mechanism import Mechanism
from ..problems import FORMULATIONS, form_called
from ..problems.base import Problem
from ..system.system import System
from .base import Parameter, Parameters
from .catalogue import names, system


def problem(target: str | Mechanism | System, formulation: str = "ggl", **parameters: Parameter) -> Problem:
    """A mechanism in one form of its equations, with consistent initial values.

    Parameters
    ----------
    target : str, Mechanism or System
        Name of a mechanism of the library, or a mechanism or system.
    formulation : str
        `"index3" "ggl" "gear" "index2" "index1" "mass" "overdetermined" "ode" "partition"
        "tangent"`.
    **parameters
        Of a mechanism of the library, see `mbdae list --long`.

    Returns
    -------
    Problem
        With `y0`, `yd0`, `residual`, `jacobian`, `index`, `algebraic`, `tolerances` and more; the `*_arguments` functions of
        `mbdae.adapters` translate it for each solver.

    Raises
    ------
    ValueError
        If the name, the formulation or a parameter is unknown.

    Examples
    --------
    >>> problem("andrews", formulation="ggl").n
    82
    """
    if isinstance(target, str) and target in FORMULATIONS and formulation in names():
        raise ValueError(f"problem: mechanism and formulation are swapped, write problem({formulation!r}, {target!r})")
    return FORMULATIONS[form_called(formulation)](_system(target, parameters))


def _system(target: object, parameters: Parameters) -> System:
    if isinstance(target, str):
        return system(target, **parameters)
    if parameters:
        raise ValueError(f"problem: the parameter {next(iter(parameters))!r} belongs to a mechanism of the library, not to {target!r}")
    if isinstance(target, Mechanism):
        return System(target)
    if not isinstance(target, System):
        raise ValueError(f"problem: the target must be the name of a mechanism, a Mechanism or a System, got {type(target).__name__}")
    return target
