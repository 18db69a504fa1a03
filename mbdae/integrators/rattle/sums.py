"""Positions and velocities as sums that keep what rounding leaves out.

The values of a long run then carry the rounding error of one step instead of the sum over all of them: momentum maps stay constant to
rounding [W. Kahan, Comm. ACM 8 (1965); Hairer, Lubich and Wanner, section VIII.5].
"""

from ...compilation.compiled import compiled, exact
from ...compilation.structure import Structure
from ...system.vectors import put
from ...typing import Vector
from ..control.records import put_state


class Phase(Structure):
    """Positions `q + q_rest` and velocities `v + v_rest`, the rests below the rounding of the values."""

    q: Vector
    v: Vector
    q_rest: Vector
    v_rest: Vector


class RattleState(Structure):
    """The same with accelerations and multipliers."""

    q: Vector
    v: Vector
    a: Vector
    lam: Vector
    q_rest: Vector
    v_rest: Vector


@exact
def add(x, rest, k, d):
    """Entry `k` of `x + rest` becomes larger by `d`."""
    x[k], rest[k] = added(x[k], rest[k], d)


@exact
def added(x, rest, d):
    """`x + rest + d` and its rest."""
    d += rest
    total = x + d
    part = total - x
    return total, (x - (total - part)) + (d - part)


@compiled
def put_velocities(x, out):
    """Those of a `Phase` or state into another."""
    put(x.v, out.v)
    put(x.v_rest, out.v_rest)


@compiled
def put_positions(x, out):
    """See `put_velocities`."""
    put(x.q, out.q)
    put(x.q_rest, out.q_rest)


@compiled
def put_all(state, out):
    """`out = state`, of two of `RattleState`."""
    put_state(state, out)
    put(state.q_rest, out.q_rest)
    put(state.v_rest, out.v_rest)
