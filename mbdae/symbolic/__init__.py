"""Systems from symbolic equations: SymPy takes the derivatives, numba compiles them. SymPy is imported only when needed."""

from .build import from_sympy

__all__ = ["from_sympy"]
