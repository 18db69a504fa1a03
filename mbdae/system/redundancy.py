"""Constraint equations that follow from the others wherever the mechanism moves.

The factorisation of `Phi_q M^-1 Phi_q^T` leaves out rows whose pivot vanishes to rounding. It squares the condition number of `Phi_q`, so
rounding can hide a redundancy where inertias differ much. Where a pivot is small the rank is found by Gram-Schmidt orthogonalisation of the
rows of `Phi_q`, at the start and at neighbouring states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..typing import Flags, Integers, Matrix, Vector
from . import layout as lay
from .assembly import AssemblyError, positions, velocities
from .branches import moves
from .continuation import follow

if TYPE_CHECKING:
    from .system import System

NEIGHBOURS = 3
DISPLACEMENT = 0.02  # of a neighbour, relative to the size of the coordinates
SMALL_PIVOT = 1e-7  # pivots of the KKT matrix below this fraction of their diagonal entries
DEPENDENT = 1e-7  # remainder of a row after orthogonalisation, relative to the row
MAX_ROWS = 1500  # that are orthogonalised; beyond, the pivots decide
NONZERO = 1e-7  # entries of a null vector of unit length
MOVED = 0.3  # rad or m, of a coordinate by the drivers
FIRST_TIME, LAST_TIME = 7e-4, 10.0  # of the times at which this is looked at, each interval twice the one before [s]


def _none() -> Integers:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Redundancy:
    """Redundant constraint equations.

    Attributes
    ----------
    rows : ndarray of int64
        As many as are redundant, so that the others are independent at the start; in the user's order the first ones are kept.
    candidates : ndarray of int64
        All equations that follow from others. Which of them are left out may change with the position.
    """

    rows: Integers = field(default_factory=_none)
    candidates: Integers = field(default_factory=_none)


def find_redundancy(system: System, t: float, q: Vector) -> Redundancy:
    """The redundant constraint equations: `nc` less the largest rank of `Phi_q` at `q` and at other consistent positions.

    Of dependent equations the first ones, in the user's order, are kept. The rank is smaller only at a singular position; equations
    that are dependent just there are not redundant.

    Parameters
    ----------
    system : System
    t : float
    q : ndarray, shape (nq,)
        Positions that satisfy the constraints.

    Returns
    -------
    Redundancy
    """
    pivots = _relative_pivots(system, t, q)
    if not (pivots < SMALL_PIVOT).any():
        return Redundancy()
    if system.nc > MAX_ROWS:
        return Redundancy(np.flatnonzero(pivots == 0.0), np.arange(system.nc))
    states = _states(system, t, q)
    gradients = [system.phi_q(at, x).toarray() for at, x in states]
    found = [_dependent(G) for G in gradients]
    rows = min(found, key=len)
    involved = [_involved(G, len(rows)) for G, other in zip(gradients, found) if len(other) == len(rows)]
    return Redundancy(rows, np.flatnonzero(np.any(involved, axis=0)))


def _states(system: System, t: float, q: Vector) -> list[tuple[float, Vector]]:
    """Times and consistent positions: the given ones, neighbours of these, and others to which drivers have led the mechanism."""
    rng = np.random.default_rng(0)
    found = [(t, q), *((t, _neighbour(system, t, q, rng)) for _ in range(NEIGHBOURS))]
    if moves(system):
        later, moved = _later(system, t, q)
        found += [(later, moved), (later, _neighbour(system, later, moved, rng))]
    return [(at, x) for at, x in found if x is not None]


def _later(system: System, t: float, q: Vector) -> tuple[float, Vector]:
    """The first of some times at which drivers have moved a coordinate by `MOVED`, or the last one that can be reached."""
    at, x, dt = t, q, FIRST_TIME
    try:
        while dt <= LAST_TIME and _displacement(system, t, q, at, x) < MOVED:
            x = follow(system, at, x, at + dt)
            at, dt = at + dt, 2.0 * dt
    except Exception:  # a dead point, or a motion that is not defined so late
        system.callbacks.forget()
    return at, x


def _displacement(system: System, t0: float, q0: Vector, t: float, q: Vector) -> float:
    """The largest displacement of a body's coordinate between two states."""
    if system.cartesian is not None:
        tree: Any = system
        return _displacement(system.cartesian, t0, tree.to_cartesian(q0, t=t0).q, t, tree.to_cartesian(q, t=t).q)
    return float(np.abs(system.difference(q, q0)).max(initial=0.0))


def _involved(G: Matrix, d: int) -> Flags:
    """Which rows follow from others: those where some vector of the null space of `G^T`, of `d` dimensions, is not zero."""
    lengths = np.maximum(np.linalg.norm(G, axis=1, keepdims=True), 1e-300)
    N = np.linalg.svd(G / lengths)[0][:, len(G) - d:]
    involved: Flags = (np.abs(N) > NONZERO).any(axis=1)
    return involved


def _relative_pivots(system: System, t: float, q: Vector) -> Vector:
    """The pivots of the KKT matrix relative to the diagonal entries, in the user's order of the equations; zero where there is none."""
    system.solve_kkt(t, q, np.zeros(system.nv), np.zeros(system.nc))
    head, work = system._header, system._work
    W, inverse = (work[head[k]:head[k] + n] for k, n in ((lay.W_W, system.nnz), (lay.W_DIAG, system.nc)))
    row = np.repeat(np.arange(system.nc), np.diff(system.pattern.ptr))
    scaled = np.bincount(row, W**2, system.nc)[system.row_order] * inverse
    pivots = np.zeros(system.nc)
    pivots[system.row_order] = np.divide(1.0, scaled, out=np.zeros(system.nc), where=scaled != 0.0)
    return pivots


def _dependent(G: Matrix) -> Integers:
    """Numbers of the rows that are combinations of the rows before them, by Gram-Schmidt orthogonalisation, done twice."""
    basis, found = np.zeros((0, G.shape[1])), []
    for k, row in enumerate(G):
        rest = row
        for _ in range(2):
            rest = rest - basis.T @ (basis @ rest)
        size = np.linalg.norm(rest)
        if size > DEPENDENT * np.linalg.norm(row):
            basis = np.vstack([basis, rest / size])
        else:
            found.append(k)
    return np.array(found, dtype=np.int64)


def _neighbour(system: System, t: float, q: Vector, rng: np.random.Generator) -> Vector | None:
    """Consistent positions at a small distance along a random admissible motion; `None` where there are none."""
    try:
        v = velocities(system, t, q, rng.normal(size=system.nv)) - velocities(system, t, q, np.zeros(system.nv))
    except AssemblyError:
        return None
    speed = np.abs(v).max()
    if speed <= 1e-9:
        return None
    try:
        return positions(system, t, system.retract(q, v * (DISPLACEMENT * (np.abs(q).max() or 1.0) / speed)))
    except AssemblyError:
        return None
