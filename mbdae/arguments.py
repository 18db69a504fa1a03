"""Checks of the arguments of methods: numbers that are none, or not in their bounds, are refused when a method is made."""

import numpy as np


def is_finite(value):
    """Whether it is a finite real number, and not a truth value."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and bool(np.isfinite(value))


def is_integer(value):
    """Whether it is an integer, and not a truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_max_steps(owner, value):
    """Refuse less than one step; `owner` is whose limit it is, for the message."""
    if not (is_integer(value) and value >= 1):
        raise ValueError(f"{owner}: max_steps must be at least 1, and an integer, got {value!r}")


def check_max_step(owner, value):
    """Refuse what is not positive; infinity is no limit."""
    endless = isinstance(value, (float, np.floating)) and value == np.inf
    if not (endless or (is_finite(value) and value > 0)):
        raise ValueError(f"{owner}: max_step must be positive, a number or infinity, got {value!r}")


def check_step(owner, name, value):
    """Refuse what is neither the length of a step nor zero, for one that is chosen."""
    if not (is_finite(value) and value >= 0):
        raise ValueError(f"{owner}: {name} must be finite and not negative, a number, got {value!r}")
