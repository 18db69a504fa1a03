"""The matrix `F_y + c F_yd` of Newton's method in a BDF step: scaled, factorised, and reused after `c` has changed."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from ..compilation.compiled import compiled
from ..problems.base import Problem
from ..typing import Integers, Vector

DENSE_LIMIT = 120  # unknowns up to which dense factorisations are faster
ORDERINGS = ("COLAMD", "MMD_AT_PLUS_A")
SINGULAR, NOT_FINITE = "singular", "not finite"


@compiled
def _powers(c, powers, sign, out):
    """`out = c^(sign powers)`"""
    for k in range(out.shape[0]):
        x = 1.0
        for _ in range(powers[k]):
            x *= c
        out[k] = x if sign > 0 else 1.0 / x


@compiled
def _scatter(values, rows, columns, row, column, A):
    """The scaled matrix into a square array; whether all of it is finite."""
    A[:, :] = 0.0
    s = 0.0
    for k in range(values.shape[0]):
        x = row[rows[k]] * values[k] * column[columns[k]]
        A[rows[k], columns[k]] = x
        s += abs(x)
    return np.isfinite(s)


@compiled
def _scaled(values, rows, columns, row, column, entries, out):
    """The scaled values in the order `entries`; whether all are finite."""
    s = 0.0
    for k in range(values.shape[0]):
        m = entries[k]
        out[k] = row[rows[m]] * values[m] * column[columns[m]]
        s += abs(out[k])
    return np.isfinite(s)


@compiled
def _product(row, r, out):
    for k in range(r.shape[0]):
        out[k] = row[k] * r[k]


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

    Attributes
    ----------
    c : float
        Coefficient of the factors.
    column : ndarray
        The correction is `column * x` with the result `x` of `solve`.
    factorisations, solves : int
    """

    def __init__(self, pattern: csc_array, linsolver: str, rows: Integers | None = None, columns: Integers | None = None) -> None:
        n = pattern.shape[1]
        self._powers = (np.array(np.ones(n) if rows is None else rows, dtype=np.int64),
                        np.array(np.zeros(n) if columns is None else columns, dtype=np.int64))
        self._row, self.column, self._load = np.ones(n), np.ones(n), np.empty(n)
        self._factors: _Factors = _Dense(pattern) if linsolver == "dense" else _Sparse(pattern)
        self.c, self.factorisations, self.solves = 0.0, 0, 0

    def factorise(self, values: Vector, c: float) -> str:
        """Factorise `J(c)`, from its values in the order of the pattern; `""`, or `"singular"` or `"not finite"` if this fails."""
        self.c = c
        self.adapt(c)
        self.factorisations += 1
        return self._factors.factorise(values, self._row, self.column)

    def adapt(self, c: float) -> None:
        """Set the scaling for corrections with another coefficient."""
        mean = 0.5 * abs(self.c + c)
        _powers(mean, self._powers[0], -1, self._row)
        _powers(mean, self._powers[1], 1, self.column)

    def solve(self, residual: Vector) -> Vector:
        """`K^-1 D_r residual`, in an array that the next call overwrites."""
        self.solves += 1
        _product(self._row, residual, self._load)
        return self._factors.solve(self._load)


    def contents(self) -> dict[str, np.ndarray]:
        """What later calls depend on, by name."""
        numbers = {name: np.array(getattr(self, name)) for name in ("c", "factorisations", "solves")}
        return numbers | {"row": self._row.copy(), "column": self.column.copy()} | self._factors.contents()

    def resume(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on with these `contents`."""
        self.c, self.factorisations, self.solves = float(saved["c"]), int(saved["factorisations"]), int(saved["solves"])
        self._row[:], self.column[:] = saved["row"], saved["column"]
        self._factors.resume(saved)


class _Factors(ABC):
    """Factors of the scaled matrix."""

    @abstractmethod
    def factorise(self, values: Vector, row: Vector, column: Vector) -> str:
        """Factorise, from the values and the scaling of rows and columns; `""`, `SINGULAR` or `NOT_FINITE`."""

    @abstractmethod
    def solve(self, b: Vector) -> Vector:
        """The solution, which may overwrite `b`."""

    @abstractmethod
    def contents(self) -> dict[str, np.ndarray]:
        """The factors, or what they are made of."""

    @abstractmethod
    def resume(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on with these `contents`."""


class _Dense(_Factors):
    """Factors by LAPACK, in place."""

    def __init__(self, pattern: csc_array) -> None:
        n = pattern.shape[1]
        self._place = pattern.indices.astype(np.int64), np.repeat(np.arange(n), np.diff(pattern.indptr))
        self._A, self._pivots = np.zeros((n, n), order="F"), np.zeros(n, dtype=np.int32)

    def factorise(self, values: Vector, row: Vector, column: Vector) -> str:
        if not _scatter(values, *self._place, row, column, self._A):
            return NOT_FINITE
        _, self._pivots, info = dgetrf(self._A, overwrite_a=1)
        return SINGULAR if info else ""

    def solve(self, b: Vector) -> Vector:
        x: Vector = dgetrs(self._A, self._pivots, b, overwrite_b=1)[0]
        return x

    def contents(self) -> dict[str, np.ndarray]:
        return {"A": self._A.copy(), "pivots": self._pivots.copy()}

    def resume(self, saved: Mapping[str, np.ndarray]) -> None:
        self._A[...], self._pivots = saved["A"], saved["pivots"].copy()


class _Sparse(_Factors):
    """Factors by SuperLU. The order of the columns is chosen once, for the least fill-in of the first matrix."""

    def __init__(self, pattern: csc_array) -> None:
        self._pattern = pattern
        self._order: Integers | None = None

    def factorise(self, values: Vector, row: Vector, column: Vector) -> str:
        try:
            if self._order is None and not self._choose(values, row, column):
                return NOT_FINITE
            if not self._fill(values, row, column):
                return NOT_FINITE
            self._factors = splu(self._matrix, permc_spec="NATURAL")
        except RuntimeError:  # exactly singular
            return SINGULAR
        return ""

    def solve(self, b: Vector) -> Vector:
        x = self._factors.solve(b)
        b[self._order] = x
        return b

    def contents(self) -> dict[str, np.ndarray]:
        return {} if self._order is None else {"order": self._order.copy(), "values": self._matrix.data.copy()}

    def resume(self, saved: Mapping[str, np.ndarray]) -> None:
        """The same values give the same factors."""
        if "order" in saved:
            self._order = saved["order"].copy()
            self._arrange(self._order)
            self._matrix.data[:] = saved["values"]
            self._factors = splu(self._matrix, permc_spec="NATURAL")

    def _fill(self, values: Vector, row: Vector, column: Vector) -> bool:
        """Store the scaled values; whether they are finite."""
        return bool(_scaled(values, *self._place, row, column, self._entries, self._matrix.data))

    def _choose(self, values: Vector, row: Vector, column: Vector) -> bool:
        """Choose the order of the columns; whether the values are finite."""
        n = self._pattern.shape[1]
        self._arrange(np.arange(n))
        if not self._fill(values, row, column):
            return False
        found = [splu(self._matrix, permc_spec=name) for name in ORDERINGS]
        order = np.argsort(min(found, key=lambda lu: lu.nnz).perm_c)
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
        self._matrix = csc_array((np.ones(p.nnz), p.indices[self._entries], ends), shape=p.shape)


def scaling(problem: Problem) -> tuple[Integers, Integers]:
    """Powers of `c` for the equations and the unknowns of a problem, see `IterationMatrix`.

    The multipliers of the index-1 form are scaled like the derivatives of `v`, by one power.
    """
    rows = np.zeros(problem.m, dtype=np.int64)
    for equation, unknown in (("kinematics", "q"), ("dynamics", "v"), ("acceleration", "v")):
        if equation in problem.equations:
            rows[problem.equations[equation]] = problem.block_index[unknown]
    return rows, np.maximum(problem.index - 1, problem.algebraic)
