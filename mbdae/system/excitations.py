"""The excitations `u(t)`: the functions of time through which the derivatives of the equations depend on time explicitly."""

import math

import numpy as np

from ..model.forces import PointForce, PointTorque
from ..model.motions import Constant
from ..model.primitives import Turn


class Excitations:
    """`u(t)`, shape (n_u,), of a mechanism [Arnold, eqs. (1), (26)].

    A driven angle `f` enters through `cos f`, `sin f` and its two derivatives, a load through its components. Constraints to which a
    motion is only added (`c . d - f(t)`, distances, planar angles) have derivatives that do not contain it.

    Parameters
    ----------
    mechanism : Mechanism
    """

    def __init__(self, mechanism):
        self.angles = [p.f for p in mechanism.primitives if isinstance(p, Turn) and not isinstance(p.f, Constant)]
        loads = [f.force if isinstance(f, PointForce) else f.torque for f in mechanism.forces if isinstance(f, PointForce | PointTorque)]
        self.loads = [x for components in loads for x in components if not isinstance(x, Constant)]

    def __bool__(self):
        return bool(self.angles or self.loads)

    def __call__(self, t):
        out = []
        for f in self.angles:
            x, rate, curvature = f(t)
            out += [math.cos(x), math.sin(x), rate, curvature]
        out += [x(t)[0] for x in self.loads]
        return np.array(out)


def checked_excitation(u):
    """A user's `u(t)` as it is, or with the reason why it cannot be one."""
    if u is None:
        return None
    if not callable(u):
        raise ValueError(f"excitation must be a function of time, got {u!r}")
    value = np.asarray(u(0.0), dtype=float)
    if value.ndim != 1 or not np.isfinite(value).all():
        raise ValueError(f"excitation(0) must be finite with shape (n_u,), got {value!r}")
    return u
