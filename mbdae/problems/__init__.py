"""Problem classes: the equations of a system in the form that a solver needs, with the settings for it.

`Index3`, `GGL`, `Gear`, `Index2`, `Index1`, `Overdetermined` are implicit problems `F(t, y, yd) = 0`, `MassMatrix` is `M yd = f(t, y)`,
`UnderlyingODE` is `yd = f(t, y)`; so is `StateSpace`, in independent coordinates.

The form of Hiller and Anantharaman, as the DAE solvers of Python know it (multipliers as derivatives of further unknowns, both constraints
kept), is `Gear` with the opposite sign of the multipliers; its name is accepted wherever a formulation is named.
"""

from .gear import Gear
from .ggl import GGL
from .index1 import Index1
from .index2 import Index2
from .index3 import Index3
from .mass_matrix import MassMatrix
from .names import ALIASES, FORMULATIONS, form_called
from .overdetermined import Overdetermined
from .state_space import StateSpace, TangentStateSpace
from .underlying_ode import UnderlyingODE

__all__ = ["ALIASES", "FORMULATIONS", "GGL", "Gear", "Index1", "Index2", "Index3", "MassMatrix", "Overdetermined", "StateSpace",
           "TangentStateSpace", "UnderlyingODE", "form_called"]
