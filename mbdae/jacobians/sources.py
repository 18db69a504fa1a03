"""Evaluations of `F_y`: difference quotients of several kinds, or the complex step. Known entries are not differenced."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array

from .differences import FoldedDifference
from .estimated import EstimatedPattern
from .grouping import Grouping
from .residuals import residual_of
from .signatures import Differentiable, Mask, Vector


class Source(Protocol):
    """One of the evaluations of `F_y` below; see `Grouped` for its attributes.

    `may_lack` tells whether entries may be missing from the pattern in use; `grow()` requests that the next evaluation looks for them, and
    returns whether it will.
    """

    known: bool

    @property
    def calls(self) -> int: ...

    @property
    def growths(self) -> int: ...

    @property
    def may_lack(self) -> bool: ...

    def state(self, t: float, y: Vector, yd: Vector, known: Vector, residual: Vector | None = None) -> Vector: ...

    def folded(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None = None, known: Vector | None = None) -> Vector: ...

    def grow(self) -> bool: ...


class Exact:
    """The complex step along column groups. Its complex evaluations do not count as calls of the residual."""

    known = False  # known entries would save nothing
    may_lack = False
    calls = growths = 0

    def __init__(self, problem: Differentiable, scheme: str = "forward", known: bool = True, floor: ArrayLike | None = None) -> None:
        self._problem = problem

    def state(self, t: float, y: Vector, yd: Vector, known: Vector, residual: Vector | None = None) -> Vector:
        """`F_y`, values in the order of `problem.pattern`."""
        return self._problem.jacobian_values(t, y, yd, 0.0)

    def folded(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None = None, known: Vector | None = None) -> Vector:
        """`F_y + c F_yd`."""
        return self._problem.jacobian_values(t, y, yd, c)

    def grow(self) -> bool:
        """No entry is missing."""
        return False


class Grouped:
    """Difference quotients along groups of columns in the structural pattern of the problem.

    Parameters
    ----------
    problem : Problem
    scheme : {"forward", "central"}
    known : bool
        Whether known entries are left out of the groups.
    floor : float or ndarray of shape (n,), optional
        Smallest size of an unknown for its increment, see `FoldedDifference`.

    Attributes
    ----------
    calls : int
        Evaluations of the residual, including the one at the state itself where it was not given.
    growths : int
        Extensions of the pattern.
    """

    def __init__(self, problem: Differentiable, scheme: str = "forward", known: bool = True, floor: ArrayLike | None = None) -> None:
        self._problem = problem
        mask = problem.known.mask if known and problem.known.mask.any() else None
        self.known, self._mask = mask is not None, mask
        self._difference = FoldedDifference(residual_of(problem), problem.pattern, scheme=scheme, groups=self._groups(mask), known=mask,
                                            floor=floor, check=False)
        self.growths = 0
        self.may_lack = False

    def _groups(self, mask: Mask | None) -> Grouping | None:
        """The default of `FoldedDifference`."""
        return None

    @property
    def calls(self) -> int:
        return self._difference.calls

    @property
    def grouping(self) -> Grouping:
        """Groups of the columns that are differenced."""
        found: Grouping = self._difference.grouping
        return found

    def state(self, t: float, y: Vector, yd: Vector, known: Vector, residual: Vector | None = None) -> Vector:
        """`F_y`, values in the order of `problem.pattern`; `known` are the values of its known entries."""
        return self.folded(t, y, yd, 0.0, residual, known)

    def folded(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None = None, known: Vector | None = None) -> Vector:
        """`F_y + c F_yd` by one quotient per group."""
        return self._difference.values(t, y, yd, c, f0=residual, known_values=_selected(known, self._mask))

    def grow(self) -> bool:
        """The structural pattern is complete."""
        return False


class Dense(Grouped):
    """Difference quotients one column at a time [Arnold, eq. (16)]; known columns are left out."""

    def _groups(self, mask: Mask | None) -> Grouping:
        n, pattern = self._problem.n, self._problem.pattern
        column_of = np.repeat(np.arange(n), np.diff(pattern.indptr))
        unknown = np.ones(pattern.nnz, dtype=bool) if mask is None else ~mask
        wanted = np.bincount(column_of[unknown], minlength=n) > 0
        largest = int(np.bincount(pattern.indices[unknown], minlength=1).max())
        return Grouping(np.where(wanted, np.cumsum(wanted) - 1, -1), int(wanted.sum()), largest, largest, largest, "natural")


class Estimated:
    """Difference quotients along groups in an estimated pattern [Arnold, section 3.1].

    The first evaluation, and the one after `grow`, perturbs one column at a time and adds the nonzeros to the pattern.
    """

    def __init__(self, problem: Differentiable, scheme: str = "forward", known: bool = True, floor: ArrayLike | None = None) -> None:
        self._problem, self._scheme, self._floor = problem, scheme, floor
        self._mask = problem.known.mask if known else np.zeros(problem.pattern.nnz, dtype=bool)
        self.known = bool(self._mask.any())
        self._full = Dense(problem, scheme, known, floor)
        self._sparse: FoldedDifference | None = None
        self._calls = 0
        self._full_next = True
        self.omega = EstimatedPattern(problem.pattern.shape)

    @property
    def calls(self) -> int:
        return self._calls + self._full.calls + (self._sparse.calls if self._sparse else 0)

    @property
    def growths(self) -> int:
        return self.omega.updates

    @property
    def may_lack(self) -> bool:
        """Whether the structural pattern holds more than the estimate."""
        return not self._keep.all()

    @property
    def grouping(self) -> Grouping:
        """Groups of the columns that are differenced."""
        return self._sparse.grouping if self._sparse else self._full.grouping

    def state(self, t: float, y: Vector, yd: Vector, known: Vector, residual: Vector | None = None) -> Vector:
        """`F_y`, values in the order of `problem.pattern`; `known` are the values of its known entries."""
        return self.folded(t, y, yd, 0.0, residual, known)

    def folded(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None = None, known: Vector | None = None) -> Vector:
        """`F_y + c F_yd` by one quotient per group."""
        if self._full_next:
            return self._full_difference(t, y, yd, c, residual, known)
        assert self._sparse is not None  # by `_regroup`
        values = np.zeros(self._problem.pattern.nnz)
        values[self._keep] = self._sparse.values(t, y, yd, c, f0=residual, known_values=_selected(known, self._mask))
        return values

    def grow(self) -> bool:
        """Evaluate all columns next time, as an entry may be missing; returns whether one can be."""
        self._full_next = self.may_lack
        return self._full_next

    def _full_difference(self, t: float, y: Vector, yd: Vector, c: float, residual: Vector | None, known: Vector | None) -> Vector:
        values = self._full.folded(t, y, yd, c, residual, known)
        self._full_next = False
        if self.omega.add(self._csc(np.where(self._mask, 0.0, values))):
            self._regroup()
        return values

    def _regroup(self) -> None:
        p = self._problem.pattern
        if self._sparse is not None:
            self._calls += self._sparse.calls
        places = self._csc(np.arange(1, p.nnz + 1)).multiply(self.omega.pattern).tocsc()
        self._keep = self._mask.copy()
        self._keep[places.data.astype(np.int64) - 1] = True
        counts = np.concatenate([[0], np.cumsum(self._keep)])
        kept = csc_array((np.ones(self._keep.sum(), dtype=bool), p.indices[self._keep], counts[p.indptr]), shape=p.shape)
        mask = self._mask[self._keep]
        self._sparse = FoldedDifference(residual_of(self._problem), kept, scheme=self._scheme, known=mask if mask.any() else None,
                                        floor=self._floor, check=False)

    def _csc(self, values: Vector) -> csc_array:
        p = self._problem.pattern
        return csc_array((values, p.indices, p.indptr), shape=p.shape)


def _selected(known: Vector | None, mask: Mask | None) -> Vector | None:
    """The values of the known entries; `None` if there are none."""
    return None if known is None or mask is None or not mask.any() else known[mask]
