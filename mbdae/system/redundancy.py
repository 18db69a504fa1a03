"""Constraint equations that follow from the others wherever the mechanism moves.

The factorisation of the KKT matrix leaves out rows whose pivot vanishes to rounding. That is quick, but it works with the squares of
the entries of `Phi_q`, and rounding hides a redundancy where inertias differ much. So whatever looks suspicious there is looked at once
more carefully: by orthogonalisation of the rows of `Phi_q` at the start and at neighbouring states.
"""

import numpy as np

from . import layout as lay
from .assembly import AssemblyError, accelerations, positions, velocities

NEIGHBOURS = 3
DISTANCE = 0.02  # of a neighbour, relative to the size of the coordinates
SUSPICIOUS = 1e-7  # pivots of the KKT matrix below this fraction of their diagonal entries
DEPENDENT = 1e-7  # what is left of a row, relative to the row, when its part along the others is taken away
MOST_ROWS = 1500  # that are orthogonalised; beyond, the factorisation itself decides


def dependent_rows(system, start):
    """Numbers of redundant constraint equations, as few as at any of some consistent neighbours of `start`.

    Of equations that depend on each other the first ones, in the user's order, are kept. At a singular position more equations depend
    on each other than anywhere else; those are needed next to it and are not counted.

    Parameters
    ----------
    system : System
    start : State

    Returns
    -------
    ndarray of int64
    """
    if not _suspicious(system, start):
        return np.zeros(0, dtype=np.int64)
    if system.nc > MOST_ROWS:
        return np.array(sorted(system.labels.index(label) for label in start.redundant), dtype=np.int64)
    rng = np.random.default_rng(0)
    states = [start.q, *(_neighbour(system, start, rng) for _ in range(NEIGHBOURS))]
    return min((_dependent(system.phi_q(start.t, q).toarray()) for q in states if q is not None), key=len)


def _suspicious(system, start):
    """Whether a pivot of the KKT matrix nearly vanishes."""
    accelerations(system, start.t, start.q, start.v)
    head, work = system.model[:lay.HEADER_BYTES].view(np.int64), system._work
    W, inverse = (work[head[k]:head[k] + n] for k, n in ((lay.W_W, system.nnz), (lay.W_DIAG, system.nc)))
    row = np.repeat(np.arange(system.nc), np.diff(system.pattern.ptr))
    diagonal = np.bincount(row, W**2, system.nc)[system.row_order]
    return bool((SUSPICIOUS * diagonal * inverse > 1.0).any() or (inverse == 0.0).any())


def _dependent(G):
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


def _neighbour(system, start, rng):
    """Consistent positions a little further along a random motion; `None` where there are none."""
    rest = velocities(system, start.t, start.q, np.zeros(system.nv))
    v = velocities(system, start.t, start.q, rng.normal(size=system.nv)) - rest
    speed = np.abs(v).max()
    if speed <= 1e-9:
        return None
    try:
        return positions(system, start.t, system.retract(start.q, v * (DISTANCE * (np.abs(start.q).max() or 1.0) / speed)))
    except AssemblyError:
        return None
