"""Validation of a call of `solve`: the order of its arguments, and tolerances without a meaning."""

import warnings

import numpy as np

from ..model.mechanism import Mechanism
from ..problems.base import Problem
from ..system.system import System
from .arguments import is_finite
from .method import Method

EPSILON = float(np.finfo(float).eps)
ENDINGS_OF_FILES = (".json", ".yaml", ".yml")


def check_order(target: object, method: object, t_span: object) -> None:
    """Validate the order of the arguments, and that none is a name in place of an object.

    Raises
    ------
    ValueError
        Says how the call is meant to be.
    """
    if t_span is None and isinstance(method, Method):
        raise ValueError("solve: t_span must be two times, got None; write solve(target, method, (t0, t_end))")
    if isinstance(method, Mechanism | System | Problem):
        raise ValueError("solve: target and method are swapped; write solve(target, method, t_span)")
    if isinstance(t_span, Method):
        raise ValueError("solve: method and t_span are swapped; write solve(target, method, t_span)")
    for what, value in (("target", target), ("method", method)):
        if isinstance(value, str):
            raise ValueError(f"solve: the {what} must be an object, not the name {value!r}; {_remedy(what, value)}")
    if isinstance(method, type) and issubclass(method, Method):
        raise ValueError(f"solve: the method must be an object, not the class {method.__name__}; write {method.__name__}(...)")
    single = method if t_span is None else t_span
    if is_finite(single):
        raise ValueError(f"solve: t_span must be two different finite times, got {single!r}; write (0, {single!r})")


def _remedy(what: str, name: str) -> str:
    """What makes an object of a name."""
    if what == "method":
        return f"mbdae.registry.find({name!r}).make() makes a method"
    if name.lower().endswith(ENDINGS_OF_FILES):
        return f"mbdae.load({name!r}) reads a mechanism"
    return f"mbdae.library.mechanism({name!r}) makes a mechanism"


def is_time_span(method: object, t_span: object) -> bool:
    """Whether the second argument of `solve` is the time span, so that the method is left out."""
    return t_span is None and isinstance(method, tuple | list | np.ndarray)


def warn_of_tolerance(rtol: float, frames: int = 4) -> None:
    """Warn of a relative tolerance below the rounding of the numbers, or one that allows errors as large as the values.

    The warning names the line of the user's call, `frames` levels up: this function, `solve`, its decorator, the call.
    """
    if rtol < EPSILON:
        warnings.warn(f"rtol = {rtol:g} is below the rounding of double precision ({EPSILON:.2g}): only atol counts", stacklevel=frames)
    elif rtol >= 1.0:
        warnings.warn(f"rtol = {rtol:g} allows errors as large as the solution; meant is a small number such as 1e-6", stacklevel=frames)
