"""The excitations `u(t)`: the functions of time through which the derivatives of the equations depend on time explicitly."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..model.base import Driver
from ..model.mechanism import Mechanism
from ..model.motions import Constant
from ..typing import Excitation, Vector
from .extra import kind_of


class Excitations:
    """`u(t)`, shape (n_u,), of a mechanism [Arnold, eqs. (1), (26)].

    A driven angle `f` enters through `cos f`, `sin f` and its two derivatives, a load through its components. Constraints to which a
    motion is only added (`c . d - f(t)`, distances, planar angles) have derivatives that do not contain it.

    Parameters
    ----------
    mechanism : Mechanism
        With its constraints.
    prescribed : iterable of Driver
        Drivers that are no constraints but move joints of a tree: these motions enter by `cos f`, `sin f`, `f` and its derivatives.
    """

    def __init__(self, mechanism: Mechanism, prescribed: Iterable[Driver] = ()) -> None:
        found = [*((kind_of(p).excitation, p) for p in mechanism.primitives), *((kind_of(f).excitation, f) for f in mechanism.forces),
                 *((_of_joint, d) for d in prescribed)]
        # each once, though several elements may share it
        self.functions = list(dict.fromkeys(u for excitation, x in found if excitation is not None for u in excitation(x)))

    def __bool__(self) -> bool:
        return bool(self.functions)

    def __call__(self, t: float) -> Vector:
        return np.array([x for u in self.functions for x in np.asarray(u(t))])


def _of_joint(driver: Any) -> list[Excitation]:
    """The excitation of a rheonomic joint."""
    def u(t: float) -> tuple[float, ...]:
        x, rate, curvature = driver.f(t)
        return math.cos(x), math.sin(x), x, rate, curvature

    return [] if isinstance(driver.f, Constant) else [u]


def checked_excitation(u: Excitation | None) -> Excitation | None:
    """A user's `u(t)` as it is, or with the reason why it cannot be one."""
    if u is None:
        return None
    if not callable(u):
        raise ValueError(f"excitation must be a function of time, got {u!r}")
    value = np.asarray(u(0.0), dtype=float)
    if value.ndim != 1 or not np.isfinite(value).all():
        raise ValueError(f"excitation(0) must be finite with shape (n_u,), got {value!r}")
    return u
