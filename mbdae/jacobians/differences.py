"""Jacobians by difference quotients, one evaluation per group of columns."""

import numpy as np
from scipy.sparse import csc_array

from .grouping import check_groups, column_groups
from .missing import check_pattern
from .quotients import RELATIVE, as_pattern, columns_of, difference, displace, floors, gather, groups_of, increments, vector

_NONE = np.zeros(0, dtype=np.int64)
_SHOWN = 6  # columns that a message lists


class NotFinite(ValueError):
    """A function has values that are not finite where differences need them."""


class _Quotients:
    """What both kinds of differences share: pattern, groups, and the loop over them.

    Subclasses define `_evaluate(point, moves, factor, columns)`: the function at `point`, displaced by `factor` times the moves in the
    columns. What it returns may be overwritten by the next call. The first element of `point` is what is differentiated by.
    """

    function, variable = "f", "x"  # as messages call them

    def __init__(self, pattern, scheme, groups, known, floor, check):
        if scheme not in RELATIVE:
            raise ValueError(f"scheme must be one of {', '.join(RELATIVE)}, got {scheme!r}")
        self.scheme, self.pattern = scheme, as_pattern(pattern)
        self.known = _mask(known, self.pattern.nnz)
        self.floor = floors(floor, self.pattern.shape[1])
        self.grouping, self.groups = _grouped(self.pattern, self.known, groups)
        self.calls = 0
        self._parts = groups_of(self.pattern, self.groups, self.known)
        self._weight = 0.5 if scheme == "central" else 1.0
        self._stages_left = 2 if check and (self.known.any() or self.pattern.nnz < np.prod(self.pattern.shape)) else 0
        m, n = self.pattern.shape
        self._z = np.zeros(n, complex if scheme == "complex" else float)
        self._base, self._plus = np.zeros(m), np.zeros(m)

    def __repr__(self):
        (m, n), name = self.pattern.shape, type(self).__name__
        return f"<{name}: {m} x {n}, {self.pattern.nnz} entries, {self.scheme}, {len(self._parts)} groups, {self.calls} evaluations so far>"

    def _differentiate(self, point, f0, known_values, out, stages=0):
        """The values of all entries; `stages` of the check may be left for later evaluations."""
        out = self._output(out)
        self._take_known(known_values, out)
        steps = increments(point[0], self.scheme, self.floor)
        moves = self._moves(point, steps)
        checked = self._stages_left > stages
        self._set_base(point, f0, needed=self._parts or checked)
        for part in self._parts:
            plus, minus = self._pair(point, moves, part.columns)
            row = gather(plus, minus, self._weight, steps, part.plan, part.corrections, out)
            if row >= 0:
                self._refuse(row, point, part)
        if checked:
            self._check(point, steps, out)
            self._stages_left = stages
        return out

    def _moves(self, point, steps):
        """What the variables are displaced by."""
        return (1j * steps if self.scheme == "complex" else steps,)

    def _pair(self, point, moves, columns):
        """Two vectors whose difference, times the weight, is the derivative along the steps in the columns."""
        if self.scheme == "forward":
            return self._evaluate(point, moves, 1.0, columns), self._base
        if self.scheme == "complex":
            self._plus[:] = self._evaluate(point, moves, 1.0, columns).imag
            return self._plus, self._base
        self._plus[:] = self._evaluate(point, moves, 1.0, columns)
        return self._plus, self._evaluate(point, moves, -1.0, columns)

    def _set_base(self, point, f0, needed):
        """`f` at the point itself; other schemes than "forward" do without."""
        if f0 is not None and np.shape(f0) != self._base.shape:
            raise ValueError(f"f0 must have shape {self._base.shape}, one value for each row of the pattern, got {np.shape(f0)}")
        if self.scheme == "forward" and needed:
            self._base[:] = self._here(point) if f0 is None else f0

    def _output(self, out):
        if out is None:
            return np.empty(self.pattern.nnz)
        if not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != (self.pattern.nnz,):
            raise ValueError(f"out must be an array of float64 of shape ({self.pattern.nnz},), one for each entry of the pattern")
        return out

    def _take_known(self, values, out):
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

    def _refuse(self, row, point, part):
        """Say where values are not finite."""
        lost = np.flatnonzero(~np.isfinite(self._here(point)))
        if len(lost):
            raise NotFinite(f"{self.function}({self.variable}) is not finite in row {lost[0]}: there are no differences at this point")
        shown = ", ".join(f"{self.variable}[{j}]" for j in part.columns[:_SHOWN]) + (", ..." if len(part.columns) > _SHOWN else "")
        raise NotFinite(f"{self.function} is not finite in row {row} when the columns of group {part.number} are displaced ({shown}), "
                         "though it is at the point itself; a smaller floor makes smaller increments")

    def _check(self, point, steps, values):
        """Compare with the derivative in a direction of its own: what the pattern lacks shows there."""
        J = csc_array((values, self.pattern.indices, self.pattern.indptr), shape=self.pattern.shape)
        if self.scheme == "complex":
            self._check_imaginary(point, values[~self.known])
            steps = steps * np.maximum(np.abs(point[0]), self.floor)

        def along(d, columns):
            out = np.empty(len(self._base))
            difference(*self._pair(point, self._moves(point, d), columns), self._weight, out)
            return out

        check_pattern(along, point[0], steps, J, self.known, self.scheme, (self.function, self.variable), lambda: np.abs(self._here(point)))

    def _check_imaginary(self, point, found):
        """If all complex steps are zero, there must be no other dependence."""
        if found.any():
            return
        here, moves = self._here(point).real.copy(), self._moves(point, -1j * increments(point[0], "forward", self.floor))  # real ones
        if any((self._evaluate(point, moves, 1.0, part.columns).real != here).any() for part in self._parts):
            raise ValueError(f"{self.function} has lost the imaginary part, which is the derivative: all complex steps are zero, and yet "
                             f"it depends on {self.variable}; the scheme 'complex' needs a function of complex arrays, 'central' does not")

    def _here(self, point):
        """The function at the point itself."""
        return self._evaluate(point, self._moves(point, self.floor), 0.0, _NONE)

    def _point(self, x, name):
        """A copy of what is differentiated by, or of its derivative."""
        n = self.pattern.shape[1]
        x = np.array(x, dtype=float)
        if x.shape != (n,):
            raise ValueError(f"{name} must have shape ({n},), one value for each column of the pattern, got {x.shape}")
        if not np.isfinite(x).all():
            raise NotFinite(f"{name}[{np.flatnonzero(~np.isfinite(x))[0]}] is not finite")
        return x

    def _csc(self, values):
        return csc_array((values, self.pattern.indices.copy(), self.pattern.indptr.copy()), shape=self.pattern.shape)


class GroupedDifference(_Quotients):
    """`(F_i(x + d) - F_i(x)) / d_r` for the entries `(i, r)` of a pattern, one displacement `d` for each group of columns.

    No two columns of a group have an entry in the same row, so every row of a difference belongs to one entry [Arnold, eq. (20)]. With a
    full pattern every column is a group [Arnold, eq. (16)]. With the exact pattern both are equal to the last bit. Entries that are
    known are no obstacle to a group: what they contribute, `sum_j J_ij d_j`, is subtracted, which is exact where they are constant.

    Parameters
    ----------
    f : callable
        `f(x)`, shape (m,). It gets the same array at every call, which it must not keep.
    pattern : sparse array or array_like, shape (m, n)
        What is not zero is an entry. Of a sparse array every stored element is one.
    scheme : {"forward", "central", "complex"}
        "forward" needs one evaluation per group and one more, and is good to about `sqrt(eps)`. "central" needs two per group:
        `eps**(2/3)`. "complex" needs one, of a function of complex arrays: rounding error.
    groups : Grouping or array_like of int, shape (n,), optional
        Number of the group of each column, by default those of `column_groups` for the entries that are not known.
    known : array_like of bool, shape (nnz,), optional
        Entries whose values are given at each evaluation, by columns (the order of `pattern`). Columns without any other entry are
        not displaced.
    floor : float or array_like of shape (n,), optional
        The increments are `sqrt(eps)` (central: `eps**(1/3)`) times `max(|x|, floor)`, rounded such that they are exact [Arnold, eq. (17)];
        by default `eps**(1/4)`.
    check : bool
        Whether the first evaluation looks for entries that the pattern lacks, and wrong known values: it costs one evaluation
        (two for central differences), and more where something is suspicious. Dependences that vanish at that point are not seen.

    Attributes
    ----------
    pattern : csc_array of bool, shape (m, n)
        Sorted, with int32 indices.
    grouping : Grouping or ndarray
        As found or given.
    groups : ndarray of int64, shape (n,)
        The groups in use, -1 for columns that are not displaced.
    known : ndarray of bool, shape (nnz,)
    calls : int
        Evaluations of `f` so far.

    Raises
    ------
    ValueError
        If the pattern, the groups, the mask or the scheme cannot be used.
    """

    def __init__(self, f, pattern, scheme="forward", groups=None, known=None, floor=None, check=True):
        super().__init__(pattern, scheme, groups, known, floor, check)
        self._f = f

    def __call__(self, x, f0=None, known_values=None):
        """The Jacobian, a CSC array in the pattern; see `values`."""
        return self._csc(self.values(x, f0, known_values))

    def values(self, x, f0=None, known_values=None, out=None):
        """The values of the entries, in the order of `pattern`.

        Parameters
        ----------
        x : array_like, shape (n,)
        f0 : array_like, shape (m,), optional
            `f(x)` if it is at hand. Only the scheme "forward" has a use for it.
        known_values : array_like, optional
            One for each known entry, by columns.
        out : ndarray of float64, shape (nnz,), optional
            Where to write them.

        Raises
        ------
        ValueError
            If a shape is wrong, a value is not finite, or an entry is missing from the pattern. Exceptions of `f` pass unchanged.
        """
        return self._differentiate((self._point(x, "x"),), f0, known_values, out)

    def _evaluate(self, point, moves, factor, columns):
        displace(point[0], moves[0], factor, columns, self._z)
        self.calls += 1
        return vector(self._f(self._z), len(self._base), "f", self.scheme == "complex")


class FoldedDifference(_Quotients):
    """`(F_i(t, y + d, yd + c d) - F_i(t, y, yd)) / d_r`: `F_y + c F_yd` of an implicit problem `F(t, y, yd) = 0` along groups of columns.

    This is the matrix that a solver needs whose formula gives `yd = c y + ...` [Arnold, eq. (15)]; `c = 0` gives `F_y`. The
    increments go by `y`. Everything else is as for `GroupedDifference`.

    Parameters
    ----------
    F : callable
        `F(t, y, yd, out)` fills `out`, shape (m,); what it returns is ignored. It gets the same arrays at every call, which it must
        not keep. For the scheme "complex" they are complex, except `t`.
    pattern : sparse array or array_like, shape (m, n)
        Of `F_y + c F_yd`.
    scheme, groups, known, floor, check
        As for `GroupedDifference`. The check comes with the first evaluation, and if `c` is zero there, once more with the first
        where it is not.

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

    def __init__(self, F, pattern, scheme="forward", groups=None, known=None, floor=None, check=True):
        super().__init__(pattern, scheme, groups, known, floor, check)
        self._F = F
        self._zd = np.zeros_like(self._z)
        self._out = np.full(len(self._base), np.nan, self._z.dtype)  # rows that F forgets are not finite

    def __call__(self, t, y, yd, c, f0=None, known_values=None):
        """The Jacobian, a CSC array in the pattern; see `values`."""
        return self._csc(self.values(t, y, yd, c, f0, known_values))

    def values(self, t, y, yd, c, f0=None, known_values=None, out=None):
        """The values of the entries of `F_y + c F_yd`, in the order of `pattern`.

        Parameters
        ----------
        t : float
        y, yd : array_like, shape (n,)
        c : float
        f0 : array_like, shape (m,), optional
            `F(t, y, yd)` if it is at hand. Only the scheme "forward" has a use for it.
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
        point = self._point(y, "y"), self._point(yd, "yd"), t, c
        return self._differentiate(point, f0, known_values, out, stages=0 if c else 1)

    def _moves(self, point, steps):
        d, = super()._moves(point, steps)
        return d, point[3] * d

    def _evaluate(self, point, moves, factor, columns):
        y, yd, t, _ = point
        displace(y, moves[0], factor, columns, self._z)
        displace(yd, moves[1], factor, columns, self._zd)
        self.calls += 1
        self._F(t, self._z, self._zd, self._out)
        return self._out


def _mask(known, nnz):
    if known is None:
        return np.zeros(nnz, dtype=bool)
    known = np.array(known)
    if known.dtype != bool or known.shape != (nnz,):
        raise ValueError(f"known must be a mask of shape ({nnz},), one truth value for each entry of the pattern by columns, got shape "
                         f"{known.shape} of {known.dtype}")
    return known


def _grouped(pattern, known, groups):
    """The grouping as found or given, and the groups of the columns that must be displaced."""
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
