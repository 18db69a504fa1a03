"""Checks of Jacobians by differences: which entries are wrong, and how accurate this comparison is."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array, issparse

from .grouping import column_groups
from .quotients import COLUMN, ENTRY, EPS, ROW, Group, as_pattern, columns_of, floors, groups_of
from .report import BlockReport, JacobianReport, WrongEntry
from .residuals import residual_of
from .signatures import Array, Differentiable, Indices, Mask, Residual, Vector, VectorFunction
from .sweep import INCREMENTS, Curve, Sweep, levels, perturbed

_ALL = slice(None), slice(None)
_TINY = float(np.finfo(float).tiny)
_RESIDUAL_ERROR = 4.0 * EPS  # rounding errors of Jacobians of implicit problems, relative to the largest element of a row
_RHS_ERROR = 1e-13  # of explicit problems, which solve linear equations, relative to the largest element of all


def check_jacobian(f: VectorFunction, x: ArrayLike, J: Any, pattern: Any = None, blocks: dict[str, tuple[slice, slice]] | None = None,
                   floor: ArrayLike | None = None, atol: ArrayLike = 0.0) -> JacobianReport:
    """Compare a Jacobian with central differences of `f`, their increments swept over 14 decades.

    An entry is wrong if it differs from the difference quotient at its best increment by more than the truncation and rounding errors. Both
    are estimated: truncation from the change of quotients with the increment, rounding from the change of `f` when its argument changes by
    rounding errors.

    Parameters
    ----------
    f : callable
        `f(x)`, shape (m,).
    x : array_like, shape (n,)
    J : array_like, sparse array, or callable
        Jacobian of `f` at `x`, shape (m, n), or `J(x)`.
    pattern : sparse array or array_like of truth, shape (m, n), optional
        Structural nonzeros, by default all entries of a dense `J` and the stored ones of a sparse `J`. Columns are perturbed in groups
        that follow from it, and one by one if there is a deviation in a group. Nonzeros of `J` or of the differences outside the pattern
        are wrong, too.
    blocks : dict of str to (slice, slice), optional
        Rows and columns to report on, by name.
    floor : float or array_like of shape (n,), optional
        The increments are 0.1 ... 1e-14 times `max(|x|, floor)`; by default `eps**(1/4)`.
    atol : float or array_like of shape (m,)
        Rounding errors of the elements of `J`, for all or by rows. With zero, all digits that differences resolve must be right, as those
        of explicit formulas are; sums with cancellation and solutions of linear equations need a tolerance.

    Returns
    -------
    JacobianReport

    Raises
    ------
    ValueError
        If shapes do not agree or `f(x)` is not finite. Exceptions of `f` are raised unchanged; it is also evaluated far from `x`.
    """
    x = _vector(x, "x")
    floor = floors(floor, len(x))
    J = _matrix(J(x) if callable(J) else J, len(x))
    return _checked(Sweep(f, x, floor, J.shape[0]), J, pattern, blocks, atol)


def check_folded(F: Residual, t: float, y: ArrayLike, yd: ArrayLike, c: float, J: Any, pattern: Any = None,
                 blocks: dict[str, tuple[slice, slice]] | None = None, floor: ArrayLike | None = None,
                 atol: ArrayLike = 0.0) -> JacobianReport:
    """Compare `F_y + c F_yd` with central differences of `F(t, y + d, yd + c d)`.

    Parameters
    ----------
    F : callable
        `F(t, y, yd, out)` fills `out`, shape (m,); its result is ignored.
    t : float
    y, yd : array_like, shape (n,)
    c : float
    J : array_like, sparse array, or callable
        `F_y + c F_yd`, or `J(t, y, yd, c)`.
    pattern, blocks, floor, atol
        As for `check_jacobian`, where the comparison is described.
    """
    y, yd = _vector(y, "y"), _vector(yd, "yd")
    if yd.shape != y.shape:
        raise ValueError(f"yd must have the shape of y, {y.shape}, got {yd.shape}")
    floor = floors(floor, len(y))
    J = _matrix(J(t, y, yd, c) if callable(J) else J, len(y))

    def at(z: Vector, zd: Vector) -> Array:
        out = np.full(J.shape[0], np.nan)
        F(t, z, zd, out)
        return out

    def noisy(rng: np.random.Generator) -> Array:
        return at(*(z + perturbed(np.maximum(np.abs(z), floor), rng) for z in (y, yd)))

    return _checked(Sweep(lambda z: at(z, yd + c * (z - y)), y, floor, J.shape[0], noisy, "F"), J, pattern, blocks, atol)


def check_problem(problem: Differentiable, t: float, y: ArrayLike, yd: ArrayLike, c: float, J: Any = None) -> JacobianReport:
    """Compare the Jacobian of a problem, or the given one, with differences of its residual, block by block.

    The residual is that of `residual_of`: the null space of redundant constraints is held at `y`, as in the Jacobian.

    Parameters
    ----------
    problem : Problem
    t : float
    y, yd : array_like, shape (n,)
    c : float
        Leading coefficient: the Jacobian is `F_y + c F_yd`.
    J : array_like or sparse array, optional

    Returns
    -------
    JacobianReport
    """
    y, yd = _vector(y, "y"), _vector(yd, "yd")
    J = _matrix(problem.jacobian(t, y, yd, c) if J is None else J, problem.n)
    size = np.zeros(J.shape[0])
    np.maximum.at(size, J.indices, np.where(np.isfinite(J.data), np.abs(J.data), 0.0))
    atol = _RESIDUAL_ERROR * size if problem.implicit else _RHS_ERROR * size.max()
    blocks = {f"{equation}, {unknown}": (rows, columns) for equation, rows in problem.equations.items()
              for unknown, columns in problem.blocks.items()}
    problem.residual(t, y, yd)  # the null space at this point
    return check_folded(residual_of(problem), t, y, yd, c, J, problem.pattern, blocks, atol=atol)


def _vector(x: ArrayLike, name: str) -> Vector:
    x = np.array(x, dtype=float)
    if x.ndim != 1:
        raise ValueError(f"{name} must be a vector, got shape {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError(f"{name}[{np.flatnonzero(~np.isfinite(x))[0]}] is not finite")
    return x


def _matrix(J: Any, n: int) -> csc_array:
    """A CSC array with all stored elements of a sparse one, or all elements of a dense one."""
    shape = np.shape(J) if not issparse(J) else J.shape
    if len(shape) != 2 or shape[1] != n:
        raise ValueError(f"J must be a matrix with {n} columns, one for each variable, got shape {shape}")
    if not issparse(J):
        m = shape[0]
        J = np.asarray(J, dtype=float).ravel(order="F"), np.tile(np.arange(m), n), m * np.arange(n + 1)
    J = csc_array(J, shape=shape, dtype=float, copy=True)
    J.sum_duplicates()
    return J


def _united(J: csc_array, pattern: csc_array) -> tuple[csc_array, Vector, Mask]:
    """The pattern with all nonzeros of `J`, its elements in that order, and which of them the pattern lacks."""
    m = J.shape[0]
    wanted, given = (A.indices + m * columns_of(A) for A in (pattern, J))
    keys = np.union1d(wanted, given[J.data != 0.0])
    values = np.zeros(len(keys))
    kept = np.isin(given, keys)
    values[np.searchsorted(keys, given[kept])] = J.data[kept]
    return as_pattern(csc_array((np.ones(len(keys)), (keys % m, keys // m)), shape=J.shape)), values, ~np.isin(keys, wanted)


def _checked(sweep: Sweep, J: csc_array, pattern: Any, blocks: dict[str, tuple[slice, slice]] | None, atol: ArrayLike) -> JacobianReport:
    pattern = as_pattern(J if pattern is None else pattern)
    if pattern.shape != J.shape:
        raise ValueError(f"pattern must have the shape of J, {J.shape}, got {pattern.shape}")
    if np.shape(atol) not in ((), J.shape[:1]):
        raise ValueError(f"atol must be a number or have shape ({J.shape[0]},), got {np.shape(atol)}")
    pattern, values, extra = _united(J, pattern)
    tallies = [_Tally(name, J.shape, *where) for name, where in (blocks or {"all": _ALL}).items()]
    search = _Search(sweep, pattern, values, extra, np.full(J.shape[0], atol), tallies)
    for group in groups_of(pattern, column_groups(pattern).groups, np.zeros(pattern.nnz, dtype=bool)):
        search.group(group)
    return search.report()


class _Search:
    """The comparison, group by group."""

    def __init__(self, sweep: Sweep, pattern: csc_array, values: Vector, extra: Mask, atol: Vector, tallies: "list[_Tally]") -> None:
        self.sweep, self.pattern, self.values, self.extra, self.atol, self.tallies = sweep, pattern, values, extra, atol, tallies
        self.columns = columns_of(pattern)
        self.wrong: list[WrongEntry] = []

    def group(self, group: Group) -> None:
        """Perturb the columns together, and one by one if there is a deviation."""
        entries, rows, owners = group.plan[:, ENTRY], group.plan[:, ROW], group.plan[:, COLUMN]
        curve, scale = self.sweep.curve(group.columns), self.sweep.scale
        expected = np.zeros(self.sweep.m)
        expected[rows] = self.values[entries] * scale[owners]
        good = self._agrees(curve, expected, scale[group.columns].max())
        self._take(curve, entries[good[rows]])
        if not good.all():
            for column in group.columns:
                self._single(column, ~good)

    def _single(self, column: int, doubtful: Mask) -> None:
        """One column, in the rows with deviations."""
        curve = self.sweep.curve(column)
        entries = np.arange(*self.pattern.indptr[column:column + 2])
        rows = self.pattern.indices[entries]
        self._take(curve, entries[doubtful[rows]])
        lacking = doubtful & ~self._agrees(curve, np.zeros(self.sweep.m), self.sweep.scale[column])
        lacking[rows] = False
        for row in map(int, np.flatnonzero(lacking)):
            self._note(curve, row, column, 0.0, outside=True)

    def _agrees(self, curve: Curve, expected: Vector, scale: float) -> Mask:
        return np.abs(curve.best - expected) <= curve.doubt + self.atol * scale

    def _take(self, curve: Curve, entries: Indices) -> None:
        """Entries of the pattern, at most one in a row."""
        rows, columns, values = self.pattern.indices[entries], self.columns[entries], self.values[entries]
        scale = self.sweep.scale[columns]
        found, doubt = curve.best[rows] / scale, curve.doubt[rows] / scale + self.atol[rows]
        for tally in self.tallies:
            tally.add(rows, columns, values, found, doubt, curve.changes[:, rows] / scale, curve.errors[:, rows] / scale)
        extra = self.extra[entries]
        for k in map(int, np.flatnonzero(extra | ~(np.abs(values - found) <= doubt))):
            self._note(curve, rows[k], columns[k], values[k], outside=bool(extra[k]))

    def _note(self, curve: Curve, row: int, column: int, value: float, outside: bool) -> None:
        tally = next((t for t in self.tallies if t.rows[row] and t.columns[column]), None)
        if tally:
            tally.wrong += 1
        scale = self.sweep.scale[column]
        self.wrong.append(WrongEntry(tally.name if tally else "", int(row), int(column), float(value), float(curve.best[row] / scale),
                                     float(curve.doubt[row] / scale + self.atol[row]), outside))

    def report(self) -> JacobianReport:
        def off(entry: WrongEntry) -> float:
            return abs(entry.value - entry.difference) / (entry.doubt or _TINY) if np.isfinite(entry.value) else np.inf

        blocks = [t.report() for t in self.tallies if t.entries or t.wrong]
        return JacobianReport(blocks, sorted(self.wrong, key=off, reverse=True), self.sweep.calls)


class _Tally:
    """Sums and maxima over a block."""

    def __init__(self, name: str, shape: tuple[int, int], rows: slice, columns: slice) -> None:
        self.name, self.entries, self.undecided, self.wrong, self.largest, self.disagreement = name, 0, 0, 0, 0.0, 0.0
        self.rows, self.columns = (np.zeros(k, dtype=bool) for k in shape)
        self.rows[rows], self.columns[columns] = True, True
        self.changes, self.errors = (np.zeros(len(INCREMENTS)) for _ in range(2))

    def add(self, rows: Indices, columns: Indices, values: Vector, found: Vector, doubt: Vector, changes: Vector, errors: Vector) -> None:
        here = self.rows[rows] & self.columns[columns]
        if not here.any():
            return
        values, found, doubt = values[here], found[here], doubt[here]
        self.entries += len(values)
        self.undecided += int(np.count_nonzero((values != 0.0) & (doubt >= np.fmax(np.abs(values), np.abs(found)))))
        self.largest = max(self.largest, np.abs(found).max())
        self.disagreement = np.fmax(self.disagreement, np.abs(values - found).max())
        self.changes = np.maximum(self.changes, changes[:, here].max(axis=1))
        self.errors = np.maximum(self.errors, errors[:, here].max(axis=1))

    def report(self) -> BlockReport:
        at, truncation, rounding = levels(self.changes, self.errors)
        size = self.largest or 1.0
        return BlockReport(self.name, self.entries, float(self.largest), float(INCREMENTS[at]), float(self.disagreement / size),
                           float(truncation / size), float(rounding / size), int(self.undecided), self.wrong)
