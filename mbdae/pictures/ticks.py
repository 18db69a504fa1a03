"""Numbers on logarithmic axes that do not run into each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..typing import Vector

MOST = 5  # numbers on an axis


def decade_ticks(*axes: Any, most: int = MOST) -> None:
    """Few numbers on logarithmic axes: at powers of ten, on narrow ones also between them, as plain as possible.

    Matplotlib's own numbers between the powers, `2 x 10^-3`, overlap on short axes.

    Parameters
    ----------
    *axes : matplotlib.axis.Axis
        Such as `axes.xaxis`, with their final limits.
    most : int
        Largest number of ticks.
    """
    from matplotlib.ticker import NullFormatter

    for axis in axes:
        low, high = sorted(axis.get_view_interval())
        ticks = _ticks(low, high, most)
        axis.set_ticks(ticks, labels=[_label(x) for x in ticks])
        axis.set_minor_formatter(NullFormatter())


def _ticks(low: float, high: float, most: int) -> Vector:
    """The finest of the usual series that has at most so many numbers in an interval."""
    found = next(ticks for ticks in _series(low, high) if len(ticks) <= most)
    if len(found) >= 2:
        return found
    from matplotlib.ticker import MaxNLocator

    even = np.asarray(MaxNLocator(2).tick_values(low, high))
    return even[(even >= low) & (even <= high)]


def _series(low: float, high: float) -> Iterator[Vector]:
    """Series from fine to coarse: 1, 2, 5; 1, 3; powers of ten; every second, third, ... of them."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors, every in (((1, 2, 5), 1), ((1, 3), 1), *(((1,), n) for n in range(1, last - first + 2))):
        ticks = np.array([f * 10.0**k for k in range(first, last + 1) if k % every == 0 for f in factors])
        yield ticks[(ticks >= low * (1.0 - 1e-9)) & (ticks <= high * (1.0 + 1e-9))]


def _label(x: float) -> str:
    """A power of ten as such unless it is short, other numbers in full or with an exponent."""
    power = math.log10(x)
    if abs(power - round(power)) < 1e-9 and not -2 < power < 3:
        return f"$10^{{{round(power)}}}$"
    text = f"{x:.3g}"
    number, exponent, size = text.partition("e")
    return f"${number}\\!\\cdot\\!10^{{{int(size)}}}$" if exponent else text
