"""Functions of time with two derivatives: right-hand sides of constraints, drivers, prescribed loads."""

import math
from dataclasses import dataclass
from typing import Any

from ..typing import TimeFunction
from . import checks, taylor

MAX_COEFFICIENTS = 8


@dataclass(frozen=True)
class Constant:
    """`f(t) = value`.

    Parameters
    ----------
    value : float

    Examples
    --------
    >>> Constant(2.0)(5.0)
    (2.0, 0.0, 0.0)
    """

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.number(self.value, "Constant", "value"))

    def __call__(self, t: float) -> tuple[float, float, float]:
        return self.value, 0.0, 0.0


@dataclass(frozen=True)
class Polynomial:
    """`f(t) = c0 + c1 t + c2 t^2 + ...` with at most eight coefficients.

    Parameters
    ----------
    coefficients : sequence of floats
        `c0, c1, c2, ...`, one to eight of them.

    Examples
    --------
    >>> Polynomial((0.0, 2.0))(3.0)
    (6.0, 2.0, 0.0)
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        c = checks.entries(self.coefficients, "Polynomial", "coefficients", "a sequence of numbers")
        if not 1 <= len(c) <= MAX_COEFFICIENTS:
            raise ValueError(f"Polynomial: 1 to {MAX_COEFFICIENTS} coefficients are possible, got {len(c)}")
        object.__setattr__(self, "coefficients", checks.vector(c, len(c), "Polynomial", "coefficients"))

    def __call__(self, t: float) -> tuple[float, float, float]:
        f = d = dd = 0.0
        for c in reversed(self.coefficients):
            dd = dd * t + 2.0 * d
            d = d * t + f
            f = f * t + c
        return f, d, dd


@dataclass(frozen=True)
class Harmonic:
    """`f(t) = offset + amplitude sin(omega t + phase)`.

    Parameters
    ----------
    amplitude, omega, phase, offset : float
        `omega` [rad/s], `phase` [rad].

    Examples
    --------
    >>> Harmonic(amplitude=2.0, omega=3.0)(0.0)
    (0.0, 6.0, -0.0)
    """

    amplitude: float
    omega: float
    phase: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        for name in ("amplitude", "omega", "phase", "offset"):
            object.__setattr__(self, name, checks.number(getattr(self, name), "Harmonic", name))

    def __call__(self, t: float) -> tuple[float, float, float]:
        a, w = self.amplitude, self.omega
        s, c = math.sin(w * t + self.phase), math.cos(w * t + self.phase)
        return self.offset + a * s, a * w * c, -a * w * w * s


@dataclass(frozen=True)
class Function:
    """A user's function of time, plain Python or compiled with numba.

    Derivatives that are not given are derived: by Taylor arithmetic where the function allows it (plain arithmetic and
    NumPy's elementary functions), otherwise by difference quotients of sixth order.

    Parameters
    ----------
    f : callable
        `f(t) -> float`.
    df, d2f : callable, optional
        First and second derivative.

    Examples
    --------
    >>> Function(lambda t: t**3)(2.0)
    (8.0, 12.0, 12.0)
    """

    f: TimeFunction
    df: TimeFunction | None = None
    d2f: TimeFunction | None = None

    def __post_init__(self) -> None:
        for name in ("f", "df", "d2f"):
            g = getattr(self, name)
            if g is not None and not callable(g):
                raise ValueError(f"Function: {name} must be callable, got {g!r}")

    def __call__(self, t: float) -> tuple[float, float, float]:
        return self.value(t), self.first(t), self.second(t)

    def value(self, t: float) -> float:
        """`f(t)`."""
        return float(self.f(t))

    def first(self, t: float) -> float:
        """`f'(t)`."""
        return float(self.df(t)) if self.df is not None else _slope(self.f, t)

    def second(self, t: float) -> float:
        """`f''(t)`."""
        if self.d2f is not None:
            return float(self.d2f(t))
        if self.df is not None:
            return _slope(self.df, t)
        exact = _taylor(self.f, t)
        return _second_difference(self.f, t) if exact is None else exact.second


Motion = Constant | Polynomial | Harmonic | Function
ZERO = Constant(0.0)


def as_motion(value: Any, owner: str, field: str) -> Motion:
    """A motion from a number, a callable, or a motion."""
    if isinstance(value, Motion):
        return value
    if callable(value):
        return Function(value)
    return Constant(checks.number(value, owner, field))


def _plain(f: TimeFunction) -> TimeFunction:
    """The Python function behind a numba dispatcher, or the function itself."""
    return getattr(f, "py_func", f)


def _taylor(f: TimeFunction, t: float) -> taylor.Derivatives | None:
    """`(f, f', f'')` by Taylor arithmetic, `None` where the function does not allow it."""
    try:
        return taylor.derivatives(_plain(f), t)
    except Exception:  # whatever the user's code raises for an unknown number type; difference quotients are used instead
        return None


def _slope(f: TimeFunction, t: float) -> float:
    exact = _taylor(f, t)
    return _difference(f, t) if exact is None else exact.first


def _difference(f: TimeFunction, t: float) -> float:
    h: float = 4e-3 * max(1.0, abs(t)) ** 0.5
    d = [f(t + k * h) - f(t - k * h) for k in (1, 2, 3)]
    return (45 * d[0] - 9 * d[1] + d[2]) / (60 * h)


def _second_difference(f: TimeFunction, t: float) -> float:
    h: float = 1e-2 * max(1.0, abs(t)) ** 0.5
    s = [f(t + k * h) + f(t - k * h) for k in (1, 2, 3)]
    return (270 * s[0] - 27 * s[1] + 2 * s[2] - 490 * f(t)) / (180 * h * h)
