"""The mechanisms of the faults, and their solutions without a fault."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numba
import numpy as np

import mbdae
from mbdae.adapters.scipy import SolveIvp

from ..helpers import double_pendulum
from ..linkages import bennett, bennett_with_independent_joints, door

AT, T_END = 0.0505, 0.2  # when faults of functions begin, and the end of these runs [s]


def pendulum(*forces, drivers=(), law=None) -> mbdae.System:
    """The double pendulum with more forces, or with one more spring of this law."""
    m = double_pendulum()
    more = [] if law is None else [mbdae.TSDA("band 2", "ground", "upper", (0, 1, 0), law=law)]
    return mbdae.System(replace(m, forces=[*m.forces, *forces, *more], drivers=tuple(drivers)))


@numba.njit
def calm(length, rate, t):
    """A law without a fault."""
    return 0.1 * length


@cache
def whole(model: Callable, t_end: float) -> Callable:
    """`solution(t) -> (q, v)` of the system that `model()` makes, by DOP853 at 1e-12."""
    system = model()
    s = mbdae.solve(system, SolveIvp("DOP853"), (0.0, t_end), rtol=1e-12, atol=1e-13, dense_output=True)
    assert s.success, s.message
    return lambda t: s.sol(t)[:2]


def plain() -> mbdae.System:
    """The double pendulum of the faults of functions, without one."""
    return pendulum(law=calm)


def undisturbed() -> Callable:
    """Its solution."""
    return whole(plain, T_END)


def doubled(offset: float = 0.0) -> mbdae.Mechanism:
    """The double pendulum with its upper joint twice, the second one displaced."""
    m = double_pendulum()
    again = mbdae.PlanarRevolute("top 2", "ground", "upper", s_i=(offset, 0.0), s_j=(-0.5, 0.0))
    return replace(m, joints=[*m.joints, again])


def doubled_system() -> mbdae.System:
    return mbdae.System(doubled())


def single() -> mbdae.System:
    return mbdae.System(double_pendulum())


def hinged_by_balls() -> mbdae.System:
    return mbdae.System(door())


def hinged_by_a_pin() -> mbdae.System:
    return mbdae.System(door("pin"))


def crossing() -> mbdae.System:
    """Bennett's linkage with 17 equations: its motion passes a true singular position at 0.6995 s."""
    return mbdae.System(bennett_with_independent_joints())


def overconstrained() -> mbdae.System:
    """The same motion, of full rank everywhere."""
    return mbdae.System(bennett())


def angle_of(q: np.ndarray) -> np.ndarray:
    """Both angles of the double pendulum."""
    return q[[2, 5]]
