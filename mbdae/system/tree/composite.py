"""The composite inertia matrix [Negrut, eq. (3.148)], its Cholesky factors without fill-in, and the closed-loop solve [ib., Algorithm 4].

Integrators use articulated-body inertias (see `inertia`), which need fewer operations. This is the thesis' way, for its tables and for
comparisons: `M = L L^T` with the velocities numbered from the leaves to the root [lemma 2], `T = L^-1 Phi_q^T` with its zeros [lemma 3],
`T^T T lam = T^T z - c`, `L^T a = z - T lam` [eqs. (3.152), (3.153)].

With dense matrices all of that is one elimination: `[M Phi_q^T; Phi_q 0] = L D L^T` without pivoting has `L` and `T` without the scaling by
square roots, and `-T^T T` in the place of the zero block (see `system.symmetric`).

A column of `L` has entries in the rows of its velocity and of those on the path to the root. They are stored one after the other, from the
velocity itself to the root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled, window
from ...typing import Integers, Matrix, Vector
from .. import kernels
from .. import layout as lay
from ..evaluations import KktSolution
from ..layout import NB, NV, header
from ..symmetric import arranged, solve_symmetric, width
from .inertia import add_wrench
from .layout import END_T, JOINT_T, MASS, MOMENTS, ROW_T, inertia_axes, inertias, joints
from .system import TreeSystem


class Operations(NamedTuple):
    """Additions, multiplications, divisions and square roots."""

    additions: int
    multiplications: int
    divisions: int = 0
    roots: int = 0


class ClosedLoopSolver:
    """`M a + Phi_q^T lam = b`, `Phi_q a = c` by the composite inertia matrix [Negrut, Algorithm 4].

    Parameters
    ----------
    system : TreeSystem
    sparse : bool
        With the zeros of the topology (*Alg-S*), or with dense matrices (*Alg-D*).

    Raises
    ------
    ValueError
        If constraints are redundant: `T^T T` is singular then.
    """

    def __init__(self, system: TreeSystem, sparse: bool = True) -> None:
        if len(system.dependent):
            raise ValueError(f"ClosedLoopSolver: {len(system.dependent)} constraint equations of {system.name} follow from the others; "
                             "System.solve_kkt takes redundant ones")
        self.system, self.sparse = system, sparse
        self._ptr, self._path = _paths(lay.records_of(system._model, lay.TREE_JOINT, JOINT_T), system.nv)
        self._column = np.repeat(np.arange(system.nv), np.diff(self._ptr))
        self._model, self._work = system.model, system.workspace()
        n, m = system.nv, system.nc
        self._H = np.zeros(self._ptr[-1])
        self._T, self._B, self._x = np.zeros((n, m)), np.zeros(m * width(m)), np.zeros(width(m))
        self._rows = _rows_by_leaves(system)

    def matrix(self, t: float, q: Vector) -> Matrix:
        """The composite inertia matrix, dense."""
        _composite(t, self.system._q(q), self._ptr, self._model, self._work, self._H)
        return self._dense()

    def evaluate(self, t: float, q: Vector) -> None:
        """`M` and `Phi_q`, for `solve`."""
        _composite(t, self.system._q(q), self._ptr, self._model, self._work, self._H)
        self._T[:] = self.system.phi_q(t, q).toarray().T

    def solve(self, b: Vector, c: Vector) -> KktSolution:
        """`(a, lam)` with what `evaluate` has found, which is overwritten."""
        a, lam = np.array(b, dtype=float), np.array(c, dtype=float)
        if self.sparse:
            solve_sparse(self._H, self._ptr, self._path, self._T, self._B, self._x, a, lam)
        else:
            n = len(a)
            x = np.empty(width(n + len(lam)))
            solve_symmetric(self.arranged(a, lam), x)
            a, lam = x[:n].copy(), x[n:n + len(lam)].copy()
        return KktSolution(a, lam, 0)

    def operands(self) -> tuple[Vector, Integers, Integers, Matrix]:
        """What `solve_sparse` takes: `M` by columns, where these begin and their rows; `Phi_q^T`."""
        return self._H, self._ptr, self._path, self._T

    def arranged(self, b: Vector, c: Vector) -> Vector:
        """What `solve_symmetric` takes: the upper triangle of `[M Phi_q^T; Phi_q 0]` with the right-hand side."""
        m = self.system.nc
        return arranged(np.block([[self._dense(), self._T], [self._T.T, np.zeros((m, m))]]), np.concatenate([b, c]))

    def _dense(self) -> Matrix:
        M = np.zeros((self.system.nv, self.system.nv))
        M[self._column, self._path] = M[self._path, self._column] = self._H
        return M

    def operations(self) -> dict[str, Operations]:
        """Operations of each step of *Algorithm 4* by its number, with all zeros of `L` and `T` left out.

        `solve_sparse` leaves out those of `L` and takes all columns of `T` at once: more operations in less time. The dense elimination
        has no square roots, and one division for each equation.
        """
        n, m = self.system.nv, self.system.nc
        k = np.diff(self._ptr) - 1 if self.sparse else np.arange(n)  # entries of a column below its diagonal
        lengths = np.diff(self._rows.ptr) if self.sparse else np.full(m, n)
        paths = [self._rows.at[x:y] for x, y in zip(self._rows.ptr, self._rows.ptr[1:])] if self.sparse else m * [np.arange(n)]
        columns = [int(k[path].sum()) for path in paths]
        shared = _shared(self._rows) if self.sparse else np.full((m, m), n)
        pairs = int(np.tril(shared).sum())
        zeros = _zeros(self.system, self._rows) if self.sparse else 0
        factor = int((k * (k + 1) // 2).sum()) + (_whole_blocks(self.system) if self.sparse else 0)
        cholesky = (m**3 - m) // 6
        return {
            "1": Operations(factor, factor, int(k.sum()), n),
            "2": Operations(int(k.sum()), int(k.sum()), n),
            "3.1": Operations(sum(columns) - zeros, sum(columns), int(lengths.sum())),
            "3.2": Operations(int(lengths.sum()), int(lengths.sum())),
            "3.3": Operations(pairs - m * (m + 1) // 2, pairs),
            "3.4": Operations(cholesky + m * (m - 1), cholesky + m * (m - 1), m * (m - 1) // 2 + 2 * m, m),
            "3.5": Operations(int(lengths.sum()) - n, int(lengths.sum())),
            "4": Operations(int(k.sum()) + n, int(k.sum()), n),
        }


class _Rows(NamedTuple):
    """The velocities on the paths of each constraint equation, from the leaves to the root."""

    ptr: Integers
    at: Integers


def gauss_operations(n: int) -> dict[str, Operations]:
    """Operations of Gaussian elimination with partial pivoting for one right-hand side [Negrut, table 6]."""
    squares, half = (n - 1) * n * (2 * n - 1) // 6, n * (n - 1) // 2
    return {"factorisation": Operations(squares, squares, half), "forward": Operations(half, half), "back": Operations(half, half, n)}


def _paths(tree: np.ndarray, nv: int) -> tuple[Integers, Integers]:
    """For each velocity itself and those before it on the path to the root."""
    before = np.full(nv, -1)
    for joint in tree:
        above = joint["above"]
        while above >= 0 and not tree[above]["n"]:
            above = tree[above]["above"]
        last = tree[above]["v"] + tree[above]["n"] - 1 if above >= 0 else -1
        for v in range(joint["v"], joint["v"] + joint["n"]):
            before[v], last = last, v
    path, ptr = [], [0]
    for v in range(nv):
        k = v
        while k >= 0:
            path.append(k)
            k = int(before[k])
        ptr.append(len(path))
    return np.array(ptr, np.int64), np.array(path, np.int64)


def _rows_by_leaves(system: TreeSystem) -> _Rows:
    p = system.pattern
    return _Rows(p.ptr, np.concatenate([p.col[x:y][::-1] for x, y in zip(p.ptr, p.ptr[1:])] or [np.zeros(0, np.int64)]))


def _shared(rows: _Rows) -> Integers:
    """Numbers of velocities that two rows have in common."""
    paths = [set(rows.at[x:y].tolist()) for x, y in zip(rows.ptr, rows.ptr[1:])]
    return np.array([[len(a & b) for b in paths] for a in paths], dtype=np.int64).reshape(len(paths), len(paths))


def _zeros(system: TreeSystem, rows: _Rows) -> int:
    """Entries of `Phi_q` that are zero on the paths: of velocities that move both ends of a cut joint alike."""
    tree = lay.records_of(system._model, lay.TREE_JOINT, JOINT_T)
    common = 0
    for ends in _ends(system):
        paths = []
        for n in ends:
            path, k = set(), n
            while k >= 0:
                path |= set(range(int(tree[k]["v"]), int(tree[k]["v"] + tree[k]["n"])))
                k = int(tree[k]["above"])
            paths.append(path)
        common += len(set.intersection(*paths)) if len(paths) > 1 else 0
    return common


def _ends(system: TreeSystem) -> list[list[int]]:
    """The joints of the bodies at the ends of each row."""
    rows, ends = lay.records_of(system._model, lay.TREE_ROW, ROW_T), lay.records_of(system._model, lay.TREE_END, END_T)
    return [[int(e["joint"]) for e in ends[r["end"]:r["end"] + r["ends"]]] for r in rows]


def _whole_blocks(system: TreeSystem) -> int:
    """Operations for the upper triangles of diagonal blocks, which a block Cholesky factorisation updates as a whole."""
    tree, more = lay.records_of(system._model, lay.TREE_JOINT, JOINT_T), 0
    for n in range(len(tree)):
        k = int(tree[n]["above"])
        while k >= 0:
            size = int(tree[k]["n"])
            more += int(tree[n]["n"]) * size * (size - 1) // 2
            k = int(tree[k]["above"])
    return more


@compiled
def _composite(t: float, q: Vector, ptr: Integers, model: np.ndarray, work: Vector, H: Vector) -> None:
    """The entries of the composite inertia matrix."""
    kernels.place(t, q, model, work)
    kernels.mass(t, q, model, work)
    M, tree, nb, nv = kernels.mass_values(model, work), joints(model), header(model)[NB], header(model)[NV]
    bodies, B = inertias(M, nb), inertia_axes(M, nb, nv)
    # composite masses, first moments and inertias about the centres of mass of the bodies
    K = np.zeros((nb, 10))
    for n in range(nb):
        K[n, 0] = bodies[n, MASS]
        for k in range(6):
            K[n, 4 + k] = bodies[n, MOMENTS + k]
    for n in range(nb - 1, -1, -1):
        if tree[n]["above"] >= 0:
            _add_composite(K[n], bodies[n], K[tree[n]["above"]])
    # B_u^T K_u B_v up the path
    F = np.zeros(9)
    for n in range(nb):
        for v in range(tree[n]["v"], tree[n]["v"] + tree[n]["n"]):
            _momentum(K[n], B[v], F)
            at, u = ptr[v], n
            while u >= 0:
                last = v if u == n else tree[u]["v"] + tree[u]["n"] - 1
                for w in range(last, tree[u]["v"] - 1, -1):
                    s = 0.0
                    for k in range(6):
                        s += B[w, k] * F[3 + k]
                    H[at] = s
                    at += 1
                for k in range(3):
                    F[k] = bodies[u, k]
                _carry(F)
                u = tree[u]["above"]


@compiled
def _add_composite(K: Vector, body: Vector, to: Vector) -> None:
    """Add mass `m`, first moment `h` and inertia `J` about the centre of mass to those about the one at `-rho`."""
    m, x, y, z = K[0], body[0], body[1], body[2]
    h = (K[1], K[2], K[3])
    to[0] += m
    to[1], to[2], to[3] = to[1] + h[0] + m * x, to[2] + h[1] + m * y, to[3] + h[2] + m * z
    hr = h[0] * x + h[1] * y + h[2] * z
    rr = x * x + y * y + z * z
    r = (x, y, z)
    for k in range(3):  # J + 2 (h . rho) 1 - h rho^T - rho h^T + m (rho . rho 1 - rho rho^T)
        to[4 + k] += K[4 + k] + 2.0 * (hr - h[k] * r[k]) + m * (rr - r[k] * r[k])
    for k in range(3):
        i, j = (0, 0, 1)[k], (1, 2, 2)[k]
        to[7 + k] += K[7 + k] - h[i] * r[j] - h[j] * r[i] - m * r[i] * r[j]


@compiled
def _momentum(K: Vector, b: Vector, F: Vector) -> None:
    """`K b` into the entries from 3 on: force `m a + alpha x h`, torque `h x a + J alpha`."""
    m, h0, h1, h2 = K[0], K[1], K[2], K[3]
    F[3] = m * b[0] + b[4] * h2 - b[5] * h1
    F[4] = m * b[1] + b[5] * h0 - b[3] * h2
    F[5] = m * b[2] + b[3] * h1 - b[4] * h0
    F[6] = h1 * b[2] - h2 * b[1] + K[4] * b[3] + K[7] * b[4] + K[8] * b[5]
    F[7] = h2 * b[0] - h0 * b[2] + K[7] * b[3] + K[5] * b[4] + K[9] * b[5]
    F[8] = h0 * b[1] - h1 * b[0] + K[8] * b[3] + K[9] * b[4] + K[6] * b[5]


@compiled
def _carry(F: Vector) -> None:
    """The wrench about the centre of mass of the body before."""
    before = np.zeros(9)
    add_wrench(F, 3, before, 3)
    for k in range(3, 9):
        F[k] = before[k]


@compiled
def solve_sparse(H: Vector, ptr: Integers, path: Integers, T: Matrix, B: Vector, x: Vector, a: Vector, lam: Vector) -> None:
    """*Alg-S*; `T` is `Phi_q^T`, `a` and `lam` are the right-hand sides and the solutions, `B` and `x` scratch, see `_multipliers`."""
    n, m = a.shape[0], lam.shape[0]
    # 1: M = L L^T, column by column from the leaves; 2 and 3.1 at once: L z = b, L T = Phi_q^T
    for v in range(n - 1, -1, -1):
        at, k = ptr[v], ptr[v + 1] - ptr[v]
        column, row = window(H, at, k), T[v]
        column[0] = 1.0 / np.sqrt(column[0])
        for i in range(1, k):
            column[i] *= column[0]
        a[v] *= column[0]
        for r in range(m):
            row[r] *= column[0]
        for i in range(1, k):
            u, y = path[at + i], column[i]
            other, below = window(H, ptr[u], k - i), T[u]
            for j in range(k - i):
                other[j] -= y * column[i + j]
            a[u] -= y * a[v]
            for r in range(m):
                below[r] -= y * row[r]
    _multipliers(T, B, a, lam, x)
    # 4: L^T a = z - T lam
    for v in range(n):
        at = ptr[v]
        for i in range(at + 1, ptr[v + 1]):
            a[v] -= H[i] * a[path[i]]
        a[v] *= H[at]


@compiled
def _multipliers(T: Matrix, B: Vector, z: Vector, lam: Vector, x: Vector) -> None:
    """Steps 3.2 to 3.5: `T^T T lam = T^T z - c` and `z - T lam`; `B` and `x` are scratch, see `solve_symmetric`."""
    n, m = T.shape
    w = x.shape[0]
    for k in range(B.shape[0]):
        B[k] = 0.0
    for r in range(m):
        B[r * w + m] = -lam[r]
    for v in range(n):
        row = T[v]
        for r in range(m):
            y, out = row[r], window(B, r * w, w)
            if y != 0.0:
                for q in range(m):
                    out[q] += y * row[q]
                out[m] += y * z[v]
    solve_symmetric(B, x)
    for v in range(n):
        row, s = T[v], 0.0
        for r in range(m):
            s += row[r] * x[r]
        z[v] -= s
    for r in range(m):
        lam[r] = x[r]
