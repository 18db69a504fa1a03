"""The state that was placed, as the kernels of constraints and forces see it."""

from typing import NamedTuple

import numpy as np

from ..compilation.compiled import compiled
from . import layout as lay
from .layout import BODY_T, MOTION_T, table


class Placed(NamedTuple):
    """What constraints depend on.

    Attributes
    ----------
    t : float
    q : ndarray
        Positions, for what the frames do not tell: how often a planar body has turned.
    X : ndarray, shape (nb + 1, 18)
        Frames of the bodies, the ground last, see `frames`.
    motions : ndarray of MOTION_T
        Functions of time.
    """

    t: float
    q: np.ndarray
    X: np.ndarray
    motions: np.ndarray


class PlacedBodies(NamedTuple):
    """What forces depend on and act on.

    Attributes
    ----------
    t, q, X, motions
        As in `Placed`.
    bodies : ndarray of BODY_T
    members : ndarray of int64
        Numbers of the bodies of forces on several bodies, one force after the other.
    """

    t: float
    q: np.ndarray
    X: np.ndarray
    motions: np.ndarray
    bodies: np.ndarray
    members: np.ndarray


@compiled
def placed(t, q, model, work):
    """`Placed`, after `frames.place`."""
    return Placed(t, q, lay.frames(model, work), table(model, lay.MOTION, MOTION_T))


@compiled
def placed_bodies(t, q, model, work):
    """`PlacedBodies`, after `frames.place_velocity`."""
    motions, bodies = table(model, lay.MOTION, MOTION_T), table(model, lay.BODY, BODY_T)
    return PlacedBodies(t, q, lay.frames(model, work), motions, bodies, table(model, lay.MEMBERS, np.int64))
