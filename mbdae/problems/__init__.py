"""Problem classes: the equations of a system in the form a solver wants, with everything the solver must be told.

`Index3`, `GGL`, `Gear`, `Index2`, `Index1`, `Overdetermined` are implicit problems `F(t, y, yd) = 0`; `UnderlyingODE` is `yd = f(t, y)`.
"""

from .gear import Gear
from .ggl import GGL
from .index1 import Index1
from .index2 import Index2
from .index3 import Index3
from .overdetermined import Overdetermined
from .underlying_ode import UnderlyingODE

FORMULATIONS = {c.formulation: c for c in (Index3, GGL, Gear, Index2, Index1, Overdetermined, UnderlyingODE)}

__all__ = ["FORMULATIONS", "GGL", "Gear", "Index1", "Index2", "Index3", "Overdetermined", "UnderlyingODE"]
