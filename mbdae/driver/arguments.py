"""Validation of the parameters of methods and of the arguments of `solve`."""

from collections.abc import Collection
from typing import TypeGuard

import numpy as np

from ..typing import Vector

MIN_SPAN = 1e-100  # [s]; the square of a shorter time span underflows
RTOL = (1e-200, 1e100)  # bounds of relative tolerances: their products with unknowns must be floating-point numbers


def numbers(value: object) -> Vector:
    """An array of floats; NaN if it contains anything else, also strings that look like numbers."""
    try:
        return np.full(2, np.nan) if np.asarray(value).dtype.kind in "bSUmM" else np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return np.full(2, np.nan)


def time_span(owner: str, t_span: object) -> tuple[float, float]:
    """The two times as floats.

    Raises
    ------
    ValueError
        If they are equal, or differ by rounding only.
    """
    span = numbers(t_span)
    if span.shape != (2,) or not np.isfinite(span).all() or span[0] == span[1]:
        remedy = "; times of the output go into t_eval" if span.ndim == 1 and span.size > 2 else ""
        raise ValueError(f"{owner}: t_span must be two different finite times, got {t_span!r}{remedy}")
    shortest = max(MIN_SPAN, 4.0 * np.spacing(np.abs(span).max()))
    if abs(span[1] - span[0]) < shortest:
        raise ValueError(f"{owner}: t_span is too short, {t_span!r}: its times differ by their rounding only; they must be at least "
                         f"{shortest:.3g} apart")
    return float(span[0]), float(span[1])


def check_rtol(owner: str, value: object) -> None:
    """A relative tolerance: a positive number within the bounds `RTOL`."""
    if not (is_finite(value) and RTOL[0] <= value <= RTOL[1]):
        raise ValueError(f"{owner}: rtol must be a positive number, from {RTOL[0]:g} to {RTOL[1]:g}, got {value!r}")


def is_finite(value: object) -> TypeGuard[float]:
    """Whether it is a finite real number, and not a truth value."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and bool(np.isfinite(value))


def is_integer(value: object) -> TypeGuard[int]:
    """Whether it is an integer, and not a truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_infinite(value: object) -> bool:
    return isinstance(value, (float, np.floating)) and bool(value == np.inf)


def is_limit(value: object) -> TypeGuard[float]:
    """Whether it is a real number or positive infinity."""
    return _is_infinite(value) or is_finite(value)


def check_max_steps(owner: str, value: object) -> None:
    """A limit of the number of steps: an integer of at least 1."""
    if not (is_integer(value) and value >= 1):
        raise ValueError(f"{owner}: max_steps must be at least 1, and an integer, got {value!r}")


def check_max_step(owner: str, value: object) -> None:
    """A limit of the step size: positive; infinity is no limit."""
    if not (is_limit(value) and value > 0):
        raise ValueError(f"{owner}: max_step must be positive, a number or infinity, got {value!r}")


def check_local_error(owner: str, value: object) -> None:
    """A share of the tolerances: positive, at most 1."""
    if not (is_finite(value) and 0.0 < value <= 1.0):
        raise ValueError(f"{owner}: local_error must be above 0 and at most 1, got {value!r}")


def check_choice(owner: str, name: str, value: object, possible: Collection[str]) -> None:
    """One of the possible strings."""
    if not (isinstance(value, str) and value in possible):
        raise ValueError(f"{owner}: {name} must be one of {', '.join(possible)}, got {value!r}")


def check_order(owner: str, value: object, highest: int, name: str = "max_order") -> None:
    """An order: an integer from 1 to `highest`."""
    if not (is_integer(value) and 1 <= value <= highest):
        raise ValueError(f"{owner}: {name} must be one of 1 to {highest}, got {value!r}")


def check_limit(owner: str, name: str, value: object) -> None:
    """A limit of the step size: not negative; zero and infinity are no limit."""
    if not _is_infinite(value):
        check_step(owner, name, value)


def check_step(owner: str, name: str, value: object) -> None:
    """A step size: finite and not negative; zero leaves the choice to the method."""
    if not (is_finite(value) and value >= 0):
        raise ValueError(f"{owner}: {name} must be finite and not negative, a number, got {value!r}")
