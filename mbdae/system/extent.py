"""The size of the coordinates of which the constraints are computed, which tells the size of their rounding errors."""

from ..compilation.compiled import compiled
from . import kernels
from .vectors import largest


@compiled
def extent(q, model, work):
    """One more than the largest coordinate in `Phi(t, q)`, after `kernels.place(t, q, model, work)`.

    In joint coordinates that is one of the positions of the bodies: the angles of a ladder of 266 m are small, its rounding errors are not.
    """
    return 1.0 + max(largest(q), largest(kernels.cartesian(q, model, work)))
