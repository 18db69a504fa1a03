"""Second-order Taylor arithmetic in one variable: exact first and second derivatives of a user's function of time.

A `Taylor` number is `(f, f', f'')`. The function may use `+ - * / **` and NumPy's elementary functions. Other
functions, such as `math.sin`, raise `TypeError`; the caller then falls back on difference quotients. Branches on values are allowed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# value and first two derivatives of the elementary functions
_FUNCTIONS: dict[np.ufunc, Callable[[Any], tuple[float, float, float]]] = {
    np.sin: lambda x: (np.sin(x), np.cos(x), -np.sin(x)),
    np.cos: lambda x: (np.cos(x), -np.sin(x), -np.cos(x)),
    np.tan: lambda x: (np.tan(x), 1 / np.cos(x) ** 2, 2 * np.tan(x) / np.cos(x) ** 2),
    np.exp: lambda x: (np.exp(x), np.exp(x), np.exp(x)),
    np.log: lambda x: (np.log(x), 1 / x, -1 / x**2),
    np.sqrt: lambda x: (np.sqrt(x), 0.5 / np.sqrt(x), -0.25 / x**1.5),
    np.square: lambda x: (x * x, 2 * x, 2.0),
    np.sinh: lambda x: (np.sinh(x), np.cosh(x), np.sinh(x)),
    np.cosh: lambda x: (np.cosh(x), np.sinh(x), np.cosh(x)),
    np.tanh: lambda x: (np.tanh(x), 1 - np.tanh(x) ** 2, -2 * np.tanh(x) * (1 - np.tanh(x) ** 2)),
    np.arctan: lambda x: (np.arctan(x), 1 / (1 + x * x), -2 * x / (1 + x * x) ** 2),
    np.arcsin: lambda x: (np.arcsin(x), 1 / np.sqrt(1 - x * x), x / (1 - x * x) ** 1.5),
    np.arccos: lambda x: (np.arccos(x), -1 / np.sqrt(1 - x * x), -x / (1 - x * x) ** 1.5),
    np.negative: lambda x: (-x, -1.0, 0.0),
    np.absolute: lambda x: (abs(x), np.sign(x), 0.0),
}


class Taylor:
    """`f(t + s) = f + f' s + f''/2 s^2 + ...`"""

    __slots__ = ("d", "dd", "f")

    def __init__(self, f: float, d: float = 0.0, dd: float = 0.0) -> None:
        self.f, self.d, self.dd = f, d, dd

    def __add__(self, other: "Taylor | float") -> "Taylor":
        o = _lift(other)
        return Taylor(self.f + o.f, self.d + o.d, self.dd + o.dd)

    def __neg__(self) -> "Taylor":
        return Taylor(-self.f, -self.d, -self.dd)

    def __sub__(self, other: "Taylor | float") -> "Taylor":
        return self + (-_lift(other))

    def __rsub__(self, other: "Taylor | float") -> "Taylor":
        return _lift(other) - self

    def __mul__(self, other: "Taylor | float") -> "Taylor":
        o = _lift(other)
        return Taylor(self.f * o.f, self.d * o.f + self.f * o.d, self.dd * o.f + 2 * self.d * o.d + self.f * o.dd)

    def __truediv__(self, other: "Taylor | float") -> "Taylor":
        return self * _lift(other) ** -1

    def __rtruediv__(self, other: "Taylor | float") -> "Taylor":
        return _lift(other) * self**-1

    def __pow__(self, n: "Taylor | float") -> "Taylor":
        if isinstance(n, Taylor):
            return _taylor(np.exp(n * np.log(self)))
        if n == 0:
            return Taylor(1.0)
        second = n * (n - 1) * self.f ** (n - 2) if n != 1 else 0.0
        return self._chain(self.f**n, n * self.f ** (n - 1), second)

    def __rpow__(self, base: float) -> "Taylor":
        return _taylor(np.exp(self * np.log(base)))

    __radd__ = __add__
    __rmul__ = __mul__

    def __abs__(self) -> "Taylor":
        return _taylor(np.absolute(self))

    def __lt__(self, other: "Taylor | float") -> bool:
        return self.f < _lift(other).f

    def __le__(self, other: "Taylor | float") -> bool:
        return self.f <= _lift(other).f

    def __gt__(self, other: "Taylor | float") -> bool:
        return self.f > _lift(other).f

    def __ge__(self, other: "Taylor | float") -> bool:
        return self.f >= _lift(other).f

    def _chain(self, g: float, g1: float, g2: float) -> "Taylor":
        return Taylor(g, g1 * self.d, g2 * self.d**2 + g1 * self.dd)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return NotImplemented
        if ufunc in _FUNCTIONS:
            return self._chain(*_FUNCTIONS[ufunc](self.f))
        a, b = (_lift(x) for x in args) if len(args) == 2 else (None, None)
        arithmetic = {np.add: "__add__", np.subtract: "__sub__", np.multiply: "__mul__",
                      np.divide: "__truediv__", np.power: "__pow__"}
        if a is None or ufunc not in arithmetic:
            return NotImplemented
        return getattr(a, arithmetic[ufunc])(args[1] if ufunc is np.power else b)


def _taylor(x: object) -> Taylor:
    """The value of an elementary function of a Taylor number."""
    assert isinstance(x, Taylor)
    return x


def _lift(x: Taylor | float) -> Taylor:
    return x if isinstance(x, Taylor) else Taylor(float(x))


class Derivatives(NamedTuple):
    """A function and its first two derivatives at one time."""

    value: float
    first: float
    second: float


def derivatives(function: Callable[[Any], Any], t: float) -> Derivatives:
    """`(f, f', f'')` of `function` at `t`.

    Raises
    ------
    TypeError
        If the function uses something that Taylor numbers do not know.
    """
    value = _lift(function(Taylor(t, 1.0, 0.0)))
    return Derivatives(float(value.f), float(value.d), float(value.dd))
