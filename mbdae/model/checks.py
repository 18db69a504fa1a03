"""Checks of user input. Every error names the element, the field, and what would be right."""

import inspect
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..typing import Vector

UNIT_TOLERANCE = 1e-8
ROUNDING = 4e-16  # vectors that have been scaled once are left as they are
EXCESS = 5e-3  # of a principal moment of inertia over the sum of the others; published ones are often printed with three digits
NO_NUMBERS = (bool, np.bool_, str, bytes)


def name(value: object, what: str) -> str:
    """A non-empty string that identifies an element."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what}: the name must be a non-empty string, got {value!r}; it is the first argument")
    return value


def number(value: Any, owner: str, field: str) -> float:
    """A finite float; texts and truth values are not taken for numbers."""
    if isinstance(value, NO_NUMBERS):
        raise ValueError(f"{owner}: {field} must be a number, got {value!r}")
    try:
        x = float(value)
    except OverflowError:
        x = math.inf
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {field} must be a number, got {value!r}") from None
    if not math.isfinite(x):
        raise ValueError(f"{owner}: {field} must be finite, got {x}")
    return x


def switch(value: object, owner: str, field: str) -> bool:
    """`True` or `False`."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{owner}: {field} must be True or False, got {value!r}")
    return bool(value)


def positive(value: object, owner: str, field: str) -> float:
    """A finite float above zero."""
    x = number(value, owner, field)
    if x <= 0.0:
        raise ValueError(f"{owner}: {field} must be positive, got {x:g}")
    return x


def nonnegative(value: object, owner: str, field: str) -> float:
    """A finite float not below zero."""
    x = number(value, owner, field)
    if x < 0.0:
        raise ValueError(f"{owner}: {field} must not be negative, got {x:g}")
    return x


def vector(value: object, n: int, owner: str, field: str) -> tuple[float, ...]:
    """`n` finite floats as a tuple."""
    components = entries(value, owner, field, f"a vector of {n} numbers")
    if len(components) != n:
        raise ValueError(f"{owner}: {field} must have {n} components, got {len(components)}")
    return tuple(number(x, owner, f"{field}[{k}]") for k, x in enumerate(components))


def partial(value: object, n: int, owner: str, field: str) -> tuple[float | None, ...]:
    """`n` finite floats as a tuple, of which some may be `None`."""
    components = entries(value, owner, field, f"a vector of {n} numbers")
    if len(components) != n:
        raise ValueError(f"{owner}: {field} must have {n} components, got {len(components)}")
    return tuple(x if x is None else number(x, owner, f"{field}[{k}]") for k, x in enumerate(components))


def entries(value: object, owner: str, field: str, what: str) -> tuple[Any, ...]:
    """The entries of a sequence as a tuple; `what` says what they should be."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError(f"{owner}: {field} must be {what}, got {value!r}")
    return tuple(value)


def nonzero(value: object, owner: str, field: str) -> tuple[float, ...]:
    """A vector of three that is not zero."""
    x = vector(value, 3, owner, field)
    if math.hypot(*x) == 0.0:
        raise ValueError(f"{owner}: {field} must not be the zero vector")
    return x


def unit(value: object, owner: str, field: str) -> tuple[float, ...]:
    """A unit vector of three; a vector of another length is refused, not scaled in silence."""
    x = nonzero(value, owner, field)
    norm = math.hypot(*x)
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        scaled = tuple(round(c / norm, 9) for c in x)
        raise ValueError(f"{owner}: {field} must be a unit vector, its length is {norm:.9g}; {scaled} would do")
    return x if abs(norm - 1.0) <= ROUNDING else tuple(c / norm for c in x)


def array(value: object, owner: str, field: str) -> Vector:
    """An array of finite floats, of any shape; texts and truth values are not taken for numbers."""
    try:
        if any(isinstance(x, NO_NUMBERS) for x in np.asarray(value, dtype=object).ravel()):
            raise TypeError
        a = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {field} must consist of numbers, got {value!r}") from None
    if not np.isfinite(a).all():
        raise ValueError(f"{owner}: {field} must be finite, got {a.tolist()}")
    return a


def inertia(value: object, owner: str, any_inertia: bool = False) -> tuple[float, ...]:
    """A symmetric positive definite 3x3 tensor as nine floats, from three principal moments or a full matrix.

    None of the principal moments may be larger than the sum of the others, unless `any_inertia` is true.
    """
    a = array(value, owner, "inertia")
    if a.shape == (3,):
        a = np.diag(a)
    elif a.shape == (9,):  # as this function returns it
        a = a.reshape(3, 3)
    if a.shape != (3, 3):
        raise ValueError(f"{owner}: inertia must be three principal moments or a 3x3 matrix, got shape {a.shape}")
    if np.abs(a - a.T).max() > 1e-12 * np.abs(a).max():
        raise ValueError(f"{owner}: inertia must be symmetric, got {a.tolist()}")
    first, second, third = np.linalg.eigvalsh(a)
    if first <= 0.0:
        raise ValueError(f"{owner}: inertia must be positive definite, its smallest eigenvalue is {first:.6g}")
    if third > (first + second) * (1.0 + EXCESS) and not any_inertia:
        raise ValueError(f"{owner}: inertia has the principal moments {first:.6g}, {second:.6g}, {third:.6g}, but no body has one that is "
                         "larger than the sum of the others; correct it, or accept it by any_inertia=True")
    return tuple(float(x) for x in (0.5 * a + 0.5 * a.T).ravel())


def takes(function: Any, owner: str, arguments: Sequence[str]) -> None:
    """A function that can be called with as many arguments; those without a signature are taken as they are.

    Raises
    ------
    ValueError
        Names the arguments.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        raise ValueError(f"{owner} must take the arguments ({', '.join(arguments)}), but it is defined with {signature}") from None
