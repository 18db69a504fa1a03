"""Checks of the arguments of methods: numbers that are none, or not in their bounds, are refused when a method is made."""

import numpy as np

SHORTEST = 1e-100  # time span [s] that has a square
RTOL = (1e-200, 1e100)  # outside of which tolerances times unknowns are no floating-point numbers


def numbers(value):
    """An array of floats; NaN if there is something else in it, also words that look like numbers."""
    try:
        return np.full(2, np.nan) if np.asarray(value).dtype.kind in "bSUmM" else np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return np.full(2, np.nan)


def time_span(owner, t_span):
    """The two times as floats; refused if they are the same but for rounding."""
    span = numbers(t_span)
    if span.shape != (2,) or not np.isfinite(span).all() or span[0] == span[1]:
        raise ValueError(f"{owner}: t_span must be two different finite times, got {t_span!r}")
    shortest = max(SHORTEST, 4.0 * np.spacing(np.abs(span).max()))
    if abs(span[1] - span[0]) < shortest:
        raise ValueError(f"{owner}: t_span is too short, {t_span!r}: its times differ by their rounding only; they must be at least "
                         f"{shortest:.3g} apart")
    return float(span[0]), float(span[1])


def check_rtol(owner, value):
    """Refuse what is no positive number, or so small or large that nothing can be compared with it."""
    if not (is_finite(value) and RTOL[0] <= value <= RTOL[1]):
        raise ValueError(f"{owner}: rtol must be a positive number, from {RTOL[0]:g} to {RTOL[1]:g}, got {value!r}")


def is_finite(value):
    """Whether it is a finite real number, and not a truth value."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and bool(np.isfinite(value))


def is_integer(value):
    """Whether it is an integer, and not a truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_endless(value):
    return isinstance(value, (float, np.floating)) and bool(value == np.inf)


def check_max_steps(owner, value):
    """Refuse less than one step; `owner` is whose limit it is, for the message."""
    if not (is_integer(value) and value >= 1):
        raise ValueError(f"{owner}: max_steps must be at least 1, and an integer, got {value!r}")


def check_max_step(owner, value):
    """Refuse what is not positive; infinity is no limit."""
    if not (_is_endless(value) or (is_finite(value) and value > 0)):
        raise ValueError(f"{owner}: max_step must be positive, a number or infinity, got {value!r}")


def check_choice(owner, name, value, possible):
    """Refuse what is not one of the words that are possible."""
    if not (isinstance(value, str) and value in possible):
        raise ValueError(f"{owner}: {name} must be one of {', '.join(possible)}, got {value!r}")


def check_order(owner, value, highest, name="max_order"):
    """Refuse an order that is not an integer from 1 to `highest`."""
    if not (is_integer(value) and 1 <= value <= highest):
        raise ValueError(f"{owner}: {name} must be one of 1 to {highest}, got {value!r}")


def check_limit(owner, name, value):
    """Refuse what is no limit of a step: it is positive, or zero or infinite for none."""
    if not _is_endless(value):
        check_step(owner, name, value)


def check_step(owner, name, value):
    """Refuse what is neither the length of a step nor zero, for one that is chosen."""
    if not (is_finite(value) and value >= 0):
        raise ValueError(f"{owner}: {name} must be finite and not negative, a number, got {value!r}")
