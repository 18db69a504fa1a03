"""Formulations by name."""

from ..spelling import guess
from .gear import Gear
from .ggl import GGL
from .index1 import Index1
from .index2 import Index2
from .index3 import Index3
from .mass_matrix import MassMatrix
from .overdetermined import Overdetermined
from .state_space import StateSpace, TangentStateSpace
from .underlying_ode import UnderlyingODE

FORMULATIONS = {c.formulation: c for c in (Index3, GGL, Gear, Index2, Index1, MassMatrix, Overdetermined, UnderlyingODE, StateSpace,
                                           TangentStateSpace)}
ALIASES = {"hiller-anantharaman": "gear"}


def form_called(name: str) -> str:
    """The name of a formulation, or that which an alias stands for.

    Raises
    ------
    ValueError
        If there is none; the message lists those there are.
    """
    form = ALIASES.get(name, name) if isinstance(name, str) else None
    if form not in FORMULATIONS:
        raise ValueError(f"unknown formulation {name!r}; there are {', '.join(FORMULATIONS)}{guess(name, (*FORMULATIONS, *ALIASES))}")
    return form
