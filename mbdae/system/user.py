"""Kernels of systems made of a user's own functions: each evaluation is one call by address (see `from_functions`)."""

from ..compilation.compiled import compiled
from . import layout as lay
from .callbacks import call_system
from .layout import header


@compiled
def evaluate(what, t, q, v, lam, model, out):
    """Evaluate the user's function number `what` into `out`; `v` is its second vector."""
    is_complex = 1 if out.itemsize == 16 else 0
    call_system(header(model)[lay.ADDRESS], what, t, q.ctypes.data, v.ctypes.data, lam.ctypes.data, out.ctypes.data, is_complex)
