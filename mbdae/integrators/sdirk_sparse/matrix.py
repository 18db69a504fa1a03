"""The sparse matrix of a stage: its pattern, and where its values come from.

With `F(t, y, y')` of the overdetermined form, `y = (q, v, lam)`, independent coordinates `P q` and `q'' = T a + T' v` a stage solves

    Phi = 0,  |p|^2 = 1,  P q = P q~ + (gamma h)^2 P q'',
    Phi_q v = nu,         P T v = P q'~ + gamma h P q'',
    M a + Phi_q^T lam = Q,  Phi_q a = gamma

for `(q, v, a, lam)`. `q~` and `q'~` are the parts of the formula that do not depend on the stage. For a quaternion with the angular
velocity `w` there is `p' = L(w) p` and `p'' = L(w') p - |w|^2 p / 4`. Derivatives of a user's kinematic map in `q''` are left out.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from ...jacobians.complex_step import sweep_of
from ...jacobians.grouping import column_groups
from ...problems.base import Problem
from ...problems.known import Map
from ...problems.pattern import structure
from ...system.sparse_lu import ROOM, least_filled
from ...system.system import System
from ...typing import Flags, Integers, Vector
from ..iteration_matrix import IterationMatrix
from .arrays import Basis, Entries, Partition, Rows, new_elimination

# what the values are, by kind: coefficients times entries of F_y (the first four), F_yd, a one, coordinates, and derivatives of p''
STATE, MINUS_STATE, STATE_GH2, STATE_GH, RATES, ONE, TWICE_Q, TURN_Q_GH2, TURN_Q_GH, TURN_V_GH2, TURN_V_GH = range(11)


class Layout(NamedTuple):
    """Rows and columns of the blocks of the matrix."""

    position: slice
    velocity: slice
    dynamics: slice
    acceleration: slice
    independent: slice
    rates: slice
    norms: slice
    q: slice
    v: slice
    a: slice
    lam: slice
    size: int


def layout(problem: Problem, partition: Partition) -> Layout:
    """Of the blocks."""
    s, r, n = problem.system, len(partition.kept), len(partition.independent)
    ends = np.cumsum([0, r, r, s.nv, s.nc, n, n, len(partition.norms)]).tolist()
    columns = np.cumsum([0, s.nq, s.nv, s.nv, s.nc]).tolist()
    blocks = [slice(i, k) for x in (ends, columns) for i, k in pairwise(x)]
    return Layout(**dict(zip(Layout._fields, blocks)), size=ends[-1])


def new_partition(problem: Problem, scales: Vector) -> Partition:
    """Room for a partition of the coordinates of a problem."""
    s, pattern = problem.system, problem.pattern
    rows, columns = pattern.indices.astype(np.int64), np.repeat(np.arange(problem.n), np.diff(pattern.indptr))
    at, norms = problem.equations["position"], np.array([int(x) for x, _ in s.quaternions.tolist()], dtype=np.int64)
    here = np.flatnonzero((rows >= at.start) & (rows < at.stop) & (columns < s.nq))
    quaternions = (norms[:, None] + np.arange(4)).ravel()
    i = np.concatenate([rows[here] - at.start, s.nc + np.arange(len(quaternions)) // 4])
    j, places = np.concatenate([columns[here], quaternions]), np.concatenate([here, -1 - quaternions])
    order, m = np.argsort(i, kind="stable"), s.nc + len(norms)
    jacobian = Rows(start=np.searchsorted(i[order], np.arange(m + 1)), columns=j[order], values=np.zeros(len(j)), places=places[order],
                    sizes=np.zeros(m))
    none = np.zeros(0, dtype=np.int64)
    return Partition(jacobian=jacobian, scales=scales, pivots=np.zeros(m, dtype=np.int64), independent=none, kept=none, norms=norms,
                     room=4 * len(j) + s.nq)


def new_basis(problem: Problem, partition: Partition) -> Basis:
    """The matrix of positions and velocities for a partition."""
    s, map_v, p, kept = problem.system, structure(problem.system).map_v.tocsc(), problem.system.pattern, partition.kept
    # the constraints that are kept, then the rows of T for the independent coordinates
    here = np.array([k for row in kept.tolist() for k in range(p.ptr[row], p.ptr[row + 1]) if p.nonzero[k]], dtype=np.int64)
    row_of, number = np.full(s.nc, -1), np.full(s.nq, -1)
    row_of[kept], number[partition.independent] = np.arange(len(kept)), len(kept) + np.arange(len(partition.independent))
    of_entry = np.repeat(np.arange(s.nc), np.diff(p.ptr))
    rows, columns = map_v.indices.astype(np.int64), np.repeat(np.arange(s.nv), np.diff(map_v.indptr))
    at = np.flatnonzero(number[rows] >= 0)
    i, j, places = (np.concatenate(x).astype(np.int64) for x in ((row_of[of_entry[here]], number[rows[at]]), (p.col[here], columns[at]),
                                                                 (here, -1 - at)))
    order, n = np.argsort(i, kind="stable"), len(kept) + len(partition.independent)
    sweep = sweep_of(map_v, column_groups(map_v).groups)
    sizes = np.zeros(n)
    sizes[len(kept):] = np.where(np.isin(partition.independent, (partition.norms[:, None] + np.arange(4)).ravel()), 0.5, 0.0)
    rows_of = Rows(start=np.searchsorted(i[order], np.arange(n + 1)), columns=j[order], values=np.zeros(len(j)), places=places[order],
                   sizes=sizes)
    none = np.zeros(0, dtype=np.int64)
    return Basis(rows=rows_of, b=np.zeros(n), move=np.zeros(s.nv), elimination=new_elimination(none, none, 0),
                 map_=Map(*sweep, np.zeros(s.nv), np.zeros(s.nq)), T=np.ones(map_v.nnz), residual=np.zeros(s.nc), rates=np.zeros(s.nq),
                 trial=np.zeros(s.nq))


def arrange(basis: Basis) -> bool:
    """Order of the elimination for the least fill-in, by SuperLU, for the present values; False if the matrix is singular."""
    rows, n = basis.rows, len(basis.b)
    A = csr_array((rows.values, rows.columns, rows.start), shape=(n, n)).tocsc()
    try:
        lu = least_filled(A, "COLAMD", "MMD_AT_PLUS_A")
    except RuntimeError:
        return False
    order, pivots = np.argsort(lu.perm_r).astype(np.int64), np.argsort(lu.perm_c).astype(np.int64)
    basis.elimination = new_elimination(order, pivots, ROOM * int(lu.nnz) + n)
    return True


def divide(partition: Partition, nc: int) -> None:
    """Independent coordinates and constraints that are kept, from the pivots."""
    pivots = partition.pivots
    free = np.ones(len(partition.scales), dtype=bool)
    free[pivots[pivots >= 0]] = False
    partition.independent, partition.kept = np.flatnonzero(free), np.flatnonzero(pivots[:nc] >= 0)


def assemble(problem: Problem, partition: Partition, linsolver: str) -> tuple[Entries, IterationMatrix]:
    """The matrix for a partition, and where its values come from."""
    s, at, eq = problem.system, layout(problem, partition), problem.equations
    rows, columns = problem.pattern.indices, np.repeat(np.arange(problem.n), np.diff(problem.pattern.indptr))
    place = np.arange(len(rows))
    of_q, of_v = columns < s.nq, (columns >= s.nq) & (columns < s.nq + s.nv)
    to = columns + np.where(columns >= s.nq + s.nv, s.nv, 0)  # without the accelerations, which follow the velocities
    found: list[tuple[Integers, ...]] = []

    def take(where: Flags, row: Integers, shift: int, kind: int) -> None:
        k = np.flatnonzero(where)
        found.append((row[rows[k]], to[k] + shift, np.full(len(k), kind), place[k]))

    def numbers(block: slice, chosen: Integers, target: slice) -> Integers:
        out = np.full(problem.m, -1)
        out[block.start + chosen] = np.arange(target.start, target.stop)
        return out

    position, velocity = (numbers(eq[x], partition.kept, y) for x, y in (("position", at.position), ("velocity", at.velocity)))
    dynamics, acceleration = (numbers(eq[x], np.arange(y.stop - y.start), y) for x, y in (("dynamics", at.dynamics),
                                                                                        ("acceleration", at.acceleration)))
    first, second = (numbers(eq["kinematics"], partition.independent, y) for y in (at.independent, at.rates))
    # constraints, equations of motion
    for row in (position, velocity, dynamics, acceleration):
        take(row[rows] >= 0, row, 0, STATE)
    in_rates = np.zeros(len(rows), dtype=bool)
    in_rates[problem.known.rates.places[problem.known.rates.signs != 0.0]] = True
    for row in (dynamics, acceleration):
        take((row[rows] >= 0) & of_v & in_rates, row, s.nv, RATES)
    # the formula for independent coordinates and their rates; the kinematics are q' - T v
    take((first[rows] >= 0) & of_v, first, s.nv, STATE_GH2)
    take((second[rows] >= 0) & (of_q | of_v), second, 0, MINUS_STATE)
    take((second[rows] >= 0) & of_v, second, s.nv, STATE_GH)
    n = len(partition.independent)
    found.append((at.independent.start + np.arange(n), partition.independent, np.full(n, ONE), np.zeros(n, dtype=np.int64)))
    quaternions = (partition.norms[:, None] + np.arange(4)).ravel()
    found.append((at.norms.start + np.arange(len(quaternions)) // 4, quaternions, np.full(len(quaternions), TWICE_Q), quaternions))
    found += _turns(s, at, partition)
    i, j, kinds, places = (np.concatenate(x).astype(np.int64) for x in zip(*found))
    keys, to = np.unique(j * at.size + i, return_inverse=True)
    starts = np.searchsorted(keys, np.arange(at.size + 1) * at.size)
    pattern = csc_array((np.ones(len(keys)), keys % at.size, starts), shape=(at.size, at.size))
    entries = Entries(kinds=kinds, places=places, to=to.astype(np.int64), values=np.zeros(len(keys)))
    return entries, IterationMatrix(pattern, linsolver, *_powers(at))


def _turns(s: System, at: Layout, partition: Partition) -> list[tuple[Integers, ...]]:
    """Rows, columns, kinds and places of the derivatives of `p''` for independent components of quaternions."""
    found: list[tuple[Integers, ...]] = []
    for k, (q, v) in enumerate(s.quaternions.tolist()):
        for i in np.flatnonzero((partition.independent >= q) & (partition.independent < q + 4)).tolist():
            row = int(partition.independent[i]) - q
            for block, by_q, by_v in ((at.independent, TURN_Q_GH2, TURN_V_GH2), (at.rates, TURN_Q_GH, TURN_V_GH)):
                found.append((np.full(4, block.start + i), q + np.arange(4), np.full(4, by_q), 16 * k + 4 * row + np.arange(4)))
                found.append((np.full(3, block.start + i), s.nq + v + np.arange(3), np.full(3, by_v), 12 * k + 3 * row + np.arange(3)))
    return found


def _powers(at: Layout) -> tuple[Integers, Integers]:
    """Powers of `1/(gamma h)` for rows and columns: in these units the matrix tends to a regular one for small steps."""
    rows, columns = np.zeros(at.size, dtype=np.int64), np.zeros(at.size, dtype=np.int64)
    for block, power in ((at.velocity, 1), (at.rates, 1), (at.dynamics, 2), (at.acceleration, 2)):
        rows[block] = power
    for block, power in ((at.v, 1), (at.a, 2), (at.lam, 2)):
        columns[block] = power
    return rows, columns
