"""Copies of a user's compiled functions in which all names mean what they mean now.

Numba takes the values of global names and of enclosing functions as constants when it first compiles a function, and does not notice that
they change later. Code that is kept on disk by the content of a function must not have other constants than this content.
"""

from types import CellType, FunctionType
from typing import Any

from numba import njit
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher

from .ingredients import is_of_others


def fresh(function: Any) -> Any:
    """A compiled function that has not been compiled yet, with all functions of the user that it calls."""
    return _copied(function, {})


def _copied(value: Any, made: dict[int, Any]) -> Any:
    """A copy of a compiled function of the user, anything else as it is; `made` has the copies by the identity of their originals."""
    if not _is_copied(value):
        return value
    if id(value) not in made:
        old = value.py_func
        scope, cells = dict(old.__globals__), tuple(CellType() for _ in old.__closure__ or ())
        function = FunctionType(old.__code__, scope, old.__name__, old.__defaults__, cells)
        function.__kwdefaults__, function.__qualname__, function.__module__ = old.__kwdefaults__, old.__qualname__, old.__module__
        made[id(value)] = njit(**{k: x for k, x in value.targetoptions.items() if k != "nopython"})(function)  # functions may be recursive
        for name in set(old.__code__.co_names) & scope.keys():
            scope[name] = _copied(scope[name], made)
        for new, cell in zip(cells, old.__closure__ or ()):
            new.cell_contents = _copied(cell.cell_contents, made)
    return made[id(value)]


def _is_copied(value: Any) -> bool:
    """Whether it is a compiled function of a user without types that were given."""
    if not isinstance(value, Dispatcher):
        return False
    own: Any = value  # numba's types lack some attributes
    is_plain = own._can_compile and not own.locals and own._compiler.pipeline_class is Compiler
    return is_plain and not is_of_others(own.py_func.__code__.co_filename)
