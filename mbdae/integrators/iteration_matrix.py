"""The matrix `F_y + c F_yd` of Newton's method, with a real or complex `c`: scaled, factorised, and reused after `c` has changed.

Matrices are factorised where they are requested, in Python: dense ones by LAPACK, sparse ones by SuperLU, whose supernodes the compiled
elimination of `mbdae.system.sparse_lu` lacks. Compiled code solves with the factors.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgetrf, zgetrf
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from ..compilation.compiled import compiled
from ..compilation.structure import Structure
from ..problems.base import Problem
from ..system.codes import BAD_DERIVATIVES, GOOD, SINGULAR_MATRIX
from ..system.sparse_lu import USUAL_ORDERS, least_filled
from ..system.vectors import is_finite
from ..typing import Integers, Matrix, Numbers, Vector
from .dense_columns import substitute

DENSE_LIMIT = 120  # unknowns up to which dense factorisations are faster
USUAL_FILL = 8  # entries of the factors relative to those of the matrix, above which another order of the columns is tried
DENSE, SPARSE = range(2)


class Triangle(Structure):
    """A triangular factor by columns, with its diagonal."""

    start: np.ndarray
    rows: np.ndarray
    values: Vector


class Factors(Structure):
    """Factors of the scaled matrix, and the scaling for the present coefficient.

    Attributes
    ----------
    kind : int
        `DENSE` or `SPARSE`.
    c : float
        Coefficient of the factors, 0 before there are any; of a complex one the modulus.
    rows, columns : ndarray of int
        Powers of `c`, see `IterationMatrix`.
    row, column : ndarray
        The scaling; the correction is `column * x` with the result `x` of `solve`.
    x, z : ndarray
        The result of `solve`, and scratch.
    dense : ndarray, shape (n, n)
        The columns of `L` and `U` by rows; empty if they are sparse, as the arrays of sparse factors are if they are dense.
    pivots : ndarray of int32
        Rows that were exchanged, one after the other.
    L, U : Triangle
    diagonal : ndarray
        That of `U`.
    from_row, to_column : ndarray of int32
        Places of the equations and of the unknowns in the order of the pivots.
    """

    kind: int
    c: float
    rows: Integers
    columns: Integers
    row: Vector
    column: Vector
    x: Vector
    z: Vector
    dense: Matrix
    pivots: np.ndarray
    L: Triangle
    U: Triangle
    diagonal: Vector
    from_row: np.ndarray
    to_column: np.ndarray


@compiled
def _powers(c, powers, sign, out):
    """`out = c^(sign powers)`"""
    for k in range(out.shape[0]):
        x = 1.0
        for _ in range(powers[k]):
            x *= c
        out[k] = x if sign > 0 else 1.0 / x


@compiled
def adapt(c, factors):
    """Set the scaling for corrections with the coefficient `c`."""
    mean = 0.5 * abs(factors.c + c)
    _powers(mean, factors.rows, -1, factors.row)
    _powers(mean, factors.columns, 1, factors.column)


@compiled
def solve(residual, factors):
    """`factors.x = K^-1 D_r residual`."""
    x = factors.x
    for k in range(x.shape[0]):
        x[k] = factors.row[k] * residual[k]
    if factors.kind == DENSE:
        substitute(factors.dense, factors.pivots, x)
    else:
        _solve_sparse(factors, x, factors.z)


@compiled
def _solve_sparse(factors, x, z):
    L, U, n = factors.L, factors.U, x.shape[0]
    for k in range(n):
        z[factors.from_row[k]] = x[k]
    for k in range(n):
        u = z[k]
        if u != 0.0:
            for m in range(L.start[k], L.start[k + 1]):
                z[L.rows[m]] -= L.values[m] * u
            z[k] = u
    for k in range(n - 1, -1, -1):
        u = z[k] / factors.diagonal[k]
        if u != 0.0:
            for m in range(U.start[k], U.start[k + 1]):
                z[U.rows[m]] -= U.values[m] * u
        z[k] = u
    for k in range(n):
        x[k] = z[factors.to_column[k]]


@compiled
def scale(c, rows, columns, row, column):
    """The scaling of a new matrix."""
    _powers(abs(c), rows, -1, row)
    _powers(abs(c), columns, 1, column)


@compiled
def _scatter(values, rows, columns, row, column, A):
    """The scaled matrix into a square array, its columns by rows; whether all of it is finite."""
    A[:, :] = 0.0
    s = 0.0
    for k in range(values.shape[0]):
        x = row[rows[k]] * values[k] * column[columns[k]]
        A[columns[k], rows[k]] = x
        s += abs(x)
    return is_finite(s)


@compiled
def _scaled(values, rows, columns, row, column, entries, out):
    """The scaled values in the order `entries`; whether all are finite."""
    s = 0.0
    for k in range(values.shape[0]):
        m = entries[k]
        out[k] = row[rows[m]] * values[m] * column[columns[m]]
        s += abs(out[k])
    return is_finite(s)


class IterationMatrix:
    """Factors of `J(c) = F_y + c F_yd`, as `D_r K D_c` with `K = D_r^-1 J D_c^-1`.

    Rows with a derivative of index `i` are divided by `c^i`, columns of unknowns of index `i` multiplied by `c^(i - 1)`. For the equations
    of a mechanism `K` tends to a regular matrix for small steps, while the condition number of `J` grows as `c^3` in index 3.

    When the coefficient has become `c`, the factors of `J(c_J)` are reused with the scaling for the mean of `c` and `c_J`: rows with a
    derivative of index 1 are multiplied by the relaxation factor `2/(1 + c/c_J)` [Arnold, eq. (18)], constraints are not changed. A factor
    on the whole correction would violate them.

    Parameters
    ----------
    pattern : csc_array
    linsolver : {"dense", "sparse"}
    rows, columns : ndarray of int, optional
        Powers of `c` for equations and unknowns, see `scaling`. By default ones and zeros: the whole correction is relaxed, as in DASSL.
    dtype : type
        `float` or `complex`, of the matrix. The powers are those of `|c|`.

    Attributes
    ----------
    factors : Factors
        For compiled code, see `adapt` and `solve`.
    entries : int
        Number of those of the pattern.
    """

    def __init__(self, pattern: csc_array, linsolver: str, rows: Integers | None = None, columns: Integers | None = None,
                 dtype: type = float) -> None:
        n, self.entries = pattern.shape[1], int(pattern.nnz)
        powers = (np.array(np.ones(n) if rows is None else rows, dtype=np.int64),
                  np.array(np.zeros(n) if columns is None else columns, dtype=np.int64))
        size = n if linsolver == "dense" else 0
        none, empty = np.zeros(0, dtype=np.int32), _empty if linsolver == "dense" else _new_triangle
        self.factors = Factors(kind=DENSE if linsolver == "dense" else SPARSE, c=0.0, rows=powers[0], columns=powers[1], row=np.ones(n),
                               column=np.ones(n), x=np.empty(n, dtype), z=np.empty(n - size, dtype), dense=np.zeros((size, size), dtype),
                               pivots=np.zeros(size, dtype=np.int32), L=empty(dtype), U=empty(dtype), diagonal=np.zeros(0, dtype),
                               from_row=none, to_column=none)
        self._scaling = (*powers, self.factors.row, self.factors.column)
        self._kind: _Kind = _Dense(pattern, self.factors) if linsolver == "dense" else _Sparse(pattern, self.factors)

    def factorise(self, values: Numbers, c: complex) -> int:
        """Factorise `J(c)`, from its values in the order of the pattern; `GOOD`, `SINGULAR_MATRIX` or `BAD_DERIVATIVES`."""
        self.factors.c = c if isinstance(c, float) else abs(c)
        scale(c, *self._scaling)
        return self._kind.factorise(values)

    def extra(self) -> dict[str, np.ndarray]:
        """What later factorisations depend on, beside `factors`."""
        return self._kind.extra()

    def prepare(self, saved: Mapping[str, np.ndarray], prefix: str) -> None:
        """Adopt `extra`, and make room for saved factors whose names begin with `prefix`."""
        self._kind.prepare(saved, prefix)


def _new_triangle(dtype: type) -> Triangle:
    """Of sparse factors, before there are any."""
    none = np.zeros(0, dtype=np.int32)
    return Triangle(start=none, rows=none, values=np.zeros(0, dtype))


_empty = cache(_new_triangle)  # of all dense factors


class _Kind(ABC):
    """How the scaled matrix is factorised."""

    @abstractmethod
    def factorise(self, values: Numbers) -> int:
        """Factorise, from the values; `GOOD`, `SINGULAR_MATRIX` or `BAD_DERIVATIVES`."""

    def extra(self) -> dict[str, np.ndarray]:
        """See `IterationMatrix`."""
        return {}

    def prepare(self, saved: Mapping[str, np.ndarray], prefix: str) -> None:  # noqa: B027  # dense factors need nothing
        """See `IterationMatrix`."""


class _Dense(_Kind):
    """Factors by LAPACK, in place."""

    def __init__(self, pattern: csc_array, factors: Factors) -> None:
        place = pattern.indices.astype(np.int64), np.repeat(np.arange(pattern.shape[1]), np.diff(pattern.indptr))
        self._to = (*place, factors.row, factors.column, factors.dense)
        self._pivots, self._lu = factors.pivots, factors.dense.T
        self._getrf = zgetrf if factors.dense.dtype == complex else dgetrf

    def factorise(self, values: Numbers) -> int:
        if not _scatter(values, *self._to):
            return BAD_DERIVATIVES
        lu, self._pivots[:], info = self._getrf(self._lu, overwrite_a=1)
        if lu.base is not self._lu.base and lu is not self._lu:
            self._lu[...] = lu
        return SINGULAR_MATRIX if info else GOOD


class _Sparse(_Kind):
    """Factors by SuperLU. The order of the columns is chosen once, for the least fill-in of the first matrix."""

    def __init__(self, pattern: csc_array, factors: Factors) -> None:
        self._pattern, self._factors = pattern, factors
        self._order: Integers | None = None

    def factorise(self, values: Numbers) -> int:
        try:
            if self._order is None and not self._choose(values):
                return BAD_DERIVATIVES
            if not self._fill(values):
                return BAD_DERIVATIVES
            self._take(splu(self._matrix, permc_spec="NATURAL", relax=1))  # supernodes with zeros would slow `solve`
        except RuntimeError:  # exactly singular
            return SINGULAR_MATRIX
        return GOOD

    def _take(self, lu: Any) -> None:
        """Let compiled code have the factors."""
        f, order = self._factors, self._order
        assert order is not None
        for triangle, found in ((f.L, lu.L), (f.U, lu.U)):
            triangle.start, triangle.rows, triangle.values = found.indptr, found.indices, found.data
        f.diagonal, f.from_row, f.to_column = lu.U.diagonal(), lu.perm_r, np.empty(len(order), dtype=np.int32)
        f.to_column[order] = lu.perm_c

    def extra(self) -> dict[str, np.ndarray]:
        return {} if self._order is None else {"matrix.order": self._order.copy()}

    def prepare(self, saved: Mapping[str, np.ndarray], prefix: str) -> None:
        if "matrix.order" not in saved:
            return
        self._order = saved["matrix.order"].copy()
        self._arrange(self._order)
        f = self._factors
        for owner, start, names in ((f.L, "L.", ("start", "rows", "values")), (f.U, "U.", ("start", "rows", "values")),
                                    (f, "", ("diagonal", "from_row", "to_column"))):
            for name in names:
                setattr(owner, name, np.zeros_like(saved[f"{prefix}.{start}{name}"]))

    def _fill(self, values: Numbers) -> bool:
        """Store the scaled values; whether they are finite."""
        return bool(_scaled(values, *self._place, self._factors.row, self._factors.column, self._entries, self._matrix.data))

    def _choose(self, values: Numbers) -> bool:
        """Choose the order of the columns; whether the values are finite."""
        self._arrange(np.arange(self._pattern.shape[1]))
        if not self._fill(values):
            return False
        lu = least_filled(self._matrix, *USUAL_ORDERS)
        if lu.nnz > USUAL_FILL * self._pattern.nnz:  # of the matrix of a chain of 1024 links this one makes 100 times as many entries
            lu = min(lu, splu(self._matrix, permc_spec="MMD_AT_PLUS_A"), key=lambda x: int(x.nnz))
        order = np.argsort(lu.perm_c)
        self._order = order
        self._arrange(order)
        return True

    def _arrange(self, order: Integers) -> None:
        """Storage for the columns in the given order."""
        p = self._pattern
        lengths = np.diff(p.indptr)[order]
        self._entries = np.concatenate([np.arange(p.indptr[j], p.indptr[j + 1]) for j in order]).astype(np.int64)
        self._place = p.indices.astype(np.int64), np.repeat(np.arange(len(order)), np.diff(p.indptr))
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        self._matrix = csc_array((np.ones(p.nnz, self._factors.x.dtype), p.indices[self._entries], ends), shape=p.shape)


def scaling(problem: Problem) -> tuple[Integers, Integers]:
    """Powers of `c` for the equations and the unknowns of a problem, see `IterationMatrix`.

    The multipliers of the index-1 form are scaled like the derivatives of `v`, by one power.
    """
    rows = np.zeros(problem.m, dtype=np.int64)
    for equation, unknown in (("kinematics", "q"), ("dynamics", "v"), ("acceleration", "v")):
        if equation in problem.equations:
            rows[problem.equations[equation]] = problem.block_index[unknown]
    return rows, np.maximum(problem.index - 1, problem.algebraic)
