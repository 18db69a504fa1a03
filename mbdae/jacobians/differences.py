"""Jacobians by difference quotients, one evaluation per group of columns."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array

from .grouping import Grouping, check_groups, column_groups
from .missing import Comparison, check_pattern
from .quotients import RELATIVE, Group, as_pattern, columns_of, difference, displace, floors, gather, groups_of, increments, vector
from .signatures import Array, Indices, Mask, Residual, Vector, VectorFunction

_NONE = np.zeros(0, dtype=np.int64)
_NO_RATES = np.zeros(0)
_MAX_SHOWN = 6  # columns listed in a message


class NotFinite(ValueError):
    """The function is not finite at a point that the differences need."""


class Point(NamedTuple):
    """The point at which a function is differentiated by `x`; the others belong to implicit problems, where `x` is `y` and `xd` is `yd`."""

    x: Vector
    xd: Vector = _NO_RATES
    t: float = 0.0
    c: float = 0.0


class Increments(NamedTuple):
    """What `x` and `xd` are displaced by."""

    x: Array
    xd: Array = _NO_RATES


class _Quotients(ABC):
    """Base of both kinds of differences: pattern, groups, and the loop over them."""

    function, variable = "f", "x"  # their names in messages

    def __init__(self, pattern: Any, scheme: str, groups: Grouping | ArrayLike | None, known: ArrayLike | None, floor: ArrayLike | None,
                 check: bool) -> None:
        if scheme not in RELATIVE:
            raise ValueError(f"scheme must be one of {', '.join(RELATIVE)}, got {scheme!r}")
        self.scheme, self.pattern = scheme, as_pattern(pattern)
        self.known = _mask(known, self.pattern.nnz)
        self.floor = floors(floor, self.pattern.shape[1])
        self.grouping, self.groups = _grouped(self.pattern, self.known, groups)
        self.calls = 0
        self._parts = groups_of(self.pattern, self.groups, self.known)
        self._weight = 0.5 if scheme == "central" else 1.0
        self._checks_left = 2 if check and (self.known.any() or self.pattern.nnz < np.prod(self.pattern.shape)) else 0
        m, n = self.pattern.shape
        self._z = np.zeros(n, complex if scheme == "complex" else float)
        self._base, self._plus = np.zeros(m), np.zeros(m)

    @abstractmethod
    def _evaluate(self, point: Point, moves: Increments, factor: float, columns: Indices) -> Array:
        """The function at `point`, displaced by `factor` times the increments in the columns; the next call may overwrite the array."""

    def __repr__(self) -> str:
        (m, n), name = self.pattern.shape, type(self).__name__
        return f"<{name}: {m} x {n}, {self.pattern.nnz} entries, {self.scheme}, {len(self._parts)} groups, {self.calls} evaluations so far>"

    def _differentiate(self, point: Point, f0: ArrayLike | None, known_values: ArrayLike | None, out: Vector | None,
                       stages: int = 0) -> Vector:
        """The values of all entries; `stages` of the check are left for later evaluations."""
        out = self._output(out)
        self._take_known(known_values, out)
        steps = increments(point.x, self.scheme, self.floor)
        moves = self._moves(point, steps)
        checked = self._checks_left > stages
        self._set_base(point, f0, needed=bool(self._parts) or checked)
        for part in self._parts:
            plus, minus = self._pair(point, moves, part.columns)
            row = gather(plus, minus, self._weight, steps, part.plan, part.corrections, out)
            if row >= 0:
                self._refuse(row, point, part)
        if checked:
            self._check(point, steps, out)
            self._checks_left = stages
        return out

    def _moves(self, point: Point, steps: Array) -> Increments:
        """The increments along the steps."""
        return Increments(1j * steps if self.scheme == "complex" else steps)

    def _pair(self, point: Point, moves: Increments, columns: Indices) -> tuple[Vector, Vector]:
        """Two vectors; their difference times the weight is the derivative along the steps in the columns."""
        if self.scheme == "forward":
            return self._evaluate(point, moves, 1.0, columns), self._base
        if self.scheme == "complex":
            self._plus[:] = self._evaluate(point, moves, 1.0, columns).imag
            return self._plus, self._base
        self._plus[:] = self._evaluate(point, moves, 1.0, columns)
        return self._plus, self._evaluate(point, moves, -1.0, columns)

    def _set_base(self, point: Point, f0: ArrayLike | None, needed: bool) -> None:
        """`f` at the point itself, for the scheme "forward"."""
        if f0 is not None and np.shape(f0) != self._base.shape:
            raise ValueError(f"f0 must have shape {self._base.shape}, one value for each row of the pattern, got {np.shape(f0)}")
        if self.scheme == "forward" and needed:
            self._base[:] = self._here(point) if f0 is None else f0

    def _output(self, out: Vector | None) -> Vector:
        if out is None:
            return np.empty(self.pattern.nnz)
        if not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != (self.pattern.nnz,):
            raise ValueError(f"out must be an array of float64 of shape ({self.pattern.nnz},), one for each entry of the pattern")
        return out

    def _take_known(self, values: ArrayLike | None, out: Vector) -> None:
        count = np.count_nonzero(self.known)
        if values is None:
            if count:
                raise ValueError(f"known_values: {count} entries of the pattern were declared as known, but their values are not given")
            return
        values = np.asarray(values, dtype=float)
        if values.shape != (count,):
            raise ValueError(f"known_values must have shape ({count},), one for each known entry by columns, got {values.shape}")
        if not np.isfinite(values).all():
            raise ValueError(f"known_values[{np.flatnonzero(~np.isfinite(values))[0]}] is not finite")
        out[self.known] = values

    def _refuse(self, row: int, point: Point, part: Group) -> None:
        """Raise `NotFinite`, with the row and the columns."""
        lost = np.flatnonzero(~np.isfinite(self._here(point)))
        if len(lost):
            raise NotFinite(f"{self.function}({self.variable}) is not finite in row {lost[0]}: there are no differences at this point")
        shown = ", ".join(f"{self.variable}[{j}]" for j in part.columns[:_MAX_SHOWN]) + (", ..." if len(part.columns) > _MAX_SHOWN else "")
        raise NotFinite(f"{self.function} is not finite in row {row} when the columns of group {part.number} are perturbed ({shown}), "
                         "but it is at the point itself; a smaller floor makes smaller increments")

    def _check(self, point: Point, steps: Vector, values: Vector) -> None:
        """Compare with a directional derivative: entries missing from the pattern make a difference there."""
        J = csc_array((values, self.pattern.indices, self.pattern.indptr), shape=self.pattern.shape)
        if self.scheme == "complex":
            self._check_imaginary(point, values[~self.known])
            steps = steps * np.maximum(np.abs(point.x), self.floor)

        def along(d: Vector, columns: Indices) -> Vector:
            out = np.empty(len(self._base))
            difference(*self._pair(point, self._moves(point, d), columns), self._weight, out)
            return out

        comparison = Comparison(along, steps, J, self.known, self.scheme, self.function, self.variable, lambda: np.abs(self._here(point)))
        check_pattern(point.x, comparison)

    def _check_imaginary(self, point: Point, found: Vector) -> None:
        """If all complex steps give zero, the function must not change with real increments either."""
        if found.any():
            return
        here, moves = self._here(point).real.copy(), self._moves(point, -1j * increments(point.x, "forward", self.floor))  # real ones
        if any((self._evaluate(point, moves, 1.0, part.columns).real != here).any() for part in self._parts):
            raise ValueError(f"{self.function} discards the imaginary part, which is the derivative: all complex steps give zero, but it "
                             f"depends on {self.variable}; the scheme 'complex' needs a function of complex arrays, 'central' does not")

    def _here(self, point: Point) -> Array:
        """The function at the point itself."""
        return self._evaluate(point, self._moves(point, self.floor), 0.0, _NONE)

    def _point(self, x: ArrayLike, name: str) -> Vector:
        """A copy of the variable or its derivative."""
        n = self.pattern.shape[1]
        x = np.array(x, dtype=float)
        if x.shape != (n,):
            raise ValueError(f"{name} must have shape ({n},), one value for each column of the pattern, got {x.shape}")
        if not np.isfinite(x).all():
            raise NotFinite(f"{name}[{np.flatnonzero(~np.isfinite(x))[0]}] is not finite")
        return x

    def _csc(self, values: Vector) -> csc_array:
        return csc_array((values, self.pattern.indices.copy(), self.pattern.indptr.copy()), shape=self.pattern.shape)


class GroupedDifference(_Quotients):
    """`(F_i(x + d) - F_i(x)) / d_r` for the entries `(i, r)` of a pattern, one increment `d` for each group of columns.

    No two columns of a group have an entry in the same row, so every row of a difference belongs to one entry [Arnold, eq. (20)]. With a
    full pattern every column is a group [Arnold, eq. (16)]. With the exact pattern both are equal to the last bit. Entries that are
    known may share rows within a group: their contribution `sum_j J_ij d_j` is subtracted, which is exact where they are constant.

    Parameters
    ----------
    f : callable
        `f(x)`, shape (m,). Every call gets the same array.
    pattern : sparse array or array_like, shape (m, n)
        The nonzeros are the entries; of a sparse array all stored elements.
    scheme : {"forward", "central", "complex"}
        "forward" needs one evaluation per group and one more, and is good to about `sqrt(eps)`. "central" needs two per group:
        `eps**(2/3)`. "complex" needs one, of a function of complex arrays: rounding error.
    groups : Grouping or array_like of int, shape (n,), optional
        Group of each column, by default those of `column_groups` for the unknown entries.
    known : array_like of bool, shape (nnz,), optional
        Entries whose values are given at each evaluation, by columns (the order of `pattern`). Columns without any other entry are
        not perturbed.
    floor : float or array_like of shape (n,), optional
        The increments are `sqrt(eps)` (central: `eps**(1/3)`) times `max(|x|, floor)`, rounded such that they are exact [Arnold, eq. (17)];
        by default `eps**(1/4)`.
    check : bool
        Whether the first evaluation looks for entries missing from the pattern and for wrong known values. This costs one evaluation
        (two for central differences), and more if there is a deviation. Derivatives that vanish at that point are not detected.

    Attributes
    ----------
    pattern : csc_array of bool, shape (m, n)
        Sorted, with int32 indices.
    grouping : Grouping or ndarray
        As found or given.
    groups : ndarray of int64, shape (n,)
        The groups in use, -1 for columns that are not perturbed.
    known : ndarray of bool, shape (nnz,)
    calls : int
        Evaluations of `f` so far.

    Raises
    ------
    ValueError
        If the pattern, the groups, the mask or the scheme cannot be used.
    """

    def __init__(self, f: VectorFunction, pattern: Any, scheme: str = "forward", groups: Grouping | ArrayLike | None = None,
                 known: ArrayLike | None = None, floor: ArrayLike | None = None, check: bool = True) -> None:
        super().__init__(pattern, scheme, groups, known, floor, check)
        self._f = f

    def __call__(self, x: ArrayLike, f0: ArrayLike | None = None, known_values: ArrayLike | None = None) -> csc_array:
        """The Jacobian, a CSC array in the pattern; see `values`."""
        return self._csc(self.values(x, f0, known_values))

    def values(self, x: ArrayLike, f0: ArrayLike | None = None, known_values: ArrayLike | None = None, out: Vector | None = None) -> Vector:
        """The values of the entries, in the order of `pattern`.

        Parameters
        ----------
        x : array_like, shape (n,)
        f0 : array_like, shape (m,), optional
            `f(x)` if it is known. Only the scheme "forward" uses it.
        known_values : array_like, optional
            One for each known entry, by columns.
        out : ndarray of float64, shape (nnz,), optional
            Where to write them.

        Raises
        ------
        ValueError
            If a shape is wrong, a value is not finite, or an entry is missing from the pattern. Exceptions of `f` pass unchanged.
        """
        return self._differentiate(Point(self._point(x, "x")), f0, known_values, out)

    def _evaluate(self, point: Point, moves: Increments, factor: float, columns: Indices) -> Array:
        displace(point.x, moves.x, factor, columns, self._z)
        self.calls += 1
        return vector(self._f(self._z), len(self._base), "f", self.scheme == "complex")


class FoldedDifference(_Quotients):
    """`(F_i(t, y + d, yd + c d) - F_i(t, y, yd)) / d_r`: `F_y + c F_yd` of an implicit problem `F(t, y, yd) = 0` along groups of columns.

    This is the matrix for solvers with the formula `yd = c y + ...` [Arnold, eq. (15)]; `c = 0` gives `F_y`. The increments depend on the
    size of `y`. Everything else is as for `GroupedDifference`.

    Parameters
    ----------
    F : callable
        `F(t, y, yd, out)` fills `out`, shape (m,); its result is ignored. Every call gets the same arrays. For the scheme "complex" they
        are complex, except `t`.
    pattern : sparse array or array_like, shape (m, n)
        Of `F_y + c F_yd`.
    scheme, groups, known, floor, check
        As for `GroupedDifference`. The check belongs to the first evaluation, and if `c` is zero there, again to the first one with
        nonzero `c`.

    Attributes
    ----------
    pattern, grouping, groups, known, calls
        As for `GroupedDifference`.

    Raises
    ------
    ValueError
        If the pattern, the groups, the mask or the scheme cannot be used.
    """

    function, variable = "F", "y"

    def __init__(self, F: Residual, pattern: Any, scheme: str = "forward", groups: Grouping | ArrayLike | None = None,
                 known: ArrayLike | None = None, floor: ArrayLike | None = None, check: bool = True) -> None:
        super().__init__(pattern, scheme, groups, known, floor, check)
        self._F = F
        self._zd = np.zeros_like(self._z)
        self._out = np.full(len(self._base), np.nan, self._z.dtype)  # rows that F does not fill are not finite

    def __call__(self, t: float, y: ArrayLike, yd: ArrayLike, c: float, f0: ArrayLike | None = None,
                 known_values: ArrayLike | None = None) -> csc_array:
        """The Jacobian, a CSC array in the pattern; see `values`."""
        return self._csc(self.values(t, y, yd, c, f0, known_values))

    def values(self, t: float, y: ArrayLike, yd: ArrayLike, c: float, f0: ArrayLike | None = None, known_values: ArrayLike | None = None,
               out: Vector | None = None) -> Vector:
        """The values of the entries of `F_y + c F_yd`, in the order of `pattern`.

        Parameters
        ----------
        t : float
        y, yd : array_like, shape (n,)
        c : float
        f0 : array_like, shape (m,), optional
            `F(t, y, yd)` if it is known. Only the scheme "forward" uses it.
        known_values : array_like, optional
            One for each known entry, by columns.
        out : ndarray of float64, shape (nnz,), optional
            Where to write them.

        Raises
        ------
        ValueError
            If a shape is wrong, a value is not finite, or an entry is missing from the pattern. Exceptions of `F` pass unchanged.
        """
        c = float(c)
        if not np.isfinite(c):
            raise ValueError(f"c must be finite, got {c}")
        point = Point(self._point(y, "y"), self._point(yd, "yd"), t, c)
        return self._differentiate(point, f0, known_values, out, stages=0 if c else 1)

    def _moves(self, point: Point, steps: Vector) -> Increments:
        d = super()._moves(point, steps).x
        return Increments(d, point.c * d)

    def _evaluate(self, point: Point, moves: Increments, factor: float, columns: Indices) -> Array:
        displace(point.x, moves.x, factor, columns, self._z)
        displace(point.xd, moves.xd, factor, columns, self._zd)
        self.calls += 1
        self._F(point.t, self._z, self._zd, self._out)
        return self._out


def _mask(known: ArrayLike | None, nnz: int) -> Mask:
    """The known entries; none by default."""
    if known is None:
        return np.zeros(nnz, dtype=bool)
    known = np.array(known)
    if known.dtype != bool or known.shape != (nnz,):
        raise ValueError(f"known must be a mask of shape ({nnz},), one truth value for each entry of the pattern by columns, got shape "
                         f"{known.shape} of {known.dtype}")
    return known


def _grouped(pattern: csc_array, known: Mask, groups: Grouping | ArrayLike | None) -> tuple[Any, Indices]:
    """The grouping as found or given, and the groups of the columns that are perturbed."""
    columns, shape = columns_of(pattern)[~known], pattern.shape
    wanted = csc_array((np.ones(len(columns), dtype=bool), (pattern.indices[~known], columns)), shape=shape)
    free = np.bincount(columns, minlength=shape[1]) > 0
    if groups is None:
        groups = column_groups(wanted, known_columns=~free)
    numbers = np.asarray(getattr(groups, "groups", groups))
    if numbers.shape == free.shape and numbers.dtype.kind in "iu":
        numbers = np.where(free, numbers, -1).astype(np.int64)
    check_groups(wanted, numbers, ~free)
    return groups, numbers
