"""Where `F_y` comes from: difference quotients of several kinds, or the complex step. What is known need not be differenced."""

import numpy as np
from scipy.sparse import csc_array

from .differences import FoldedDifference
from .estimated import EstimatedPattern
from .grouping import Grouping


class Exact:
    """The complex step along column groups. Its complex evaluations are no calls of the residual."""

    known = False  # all of it costs as little as a part
    may_lack = False
    calls = growths = 0

    def __init__(self, problem, scheme="forward", known=True, floor=None):
        self._problem = problem

    def state(self, t, y, yd, known, residual=None):
        """`F_y`, values in the order of `problem.pattern`."""
        return self._problem.jacobian_values(t, y, yd, 0.0)

    def folded(self, t, y, yd, c, residual=None, known=None):
        """`F_y + c F_yd`."""
        return self._problem.jacobian_values(t, y, yd, c)

    def grow(self):
        """Nothing can be missing."""
        return False


class Grouped:
    """Difference quotients along groups of columns in the structural pattern of the problem.

    Parameters
    ----------
    problem : Problem
    scheme : {"forward", "central"}
    known : bool
        Whether entries that are known are left out of the groups.
    floor : float or ndarray of shape (n,), optional
        Smallest size of an unknown for its increment, see `FoldedDifference`.

    Attributes
    ----------
    calls : int
        Evaluations of the residual, that at the state itself included only where it was not given.
    growths : int
        Extensions of the pattern.
    """

    def __init__(self, problem, scheme="forward", known=True, floor=None):
        self._problem = problem
        mask = problem.known.mask if known and problem.known.mask.any() else None
        self.known, self._mask = mask is not None, mask
        self._difference = FoldedDifference(residual_of(problem), problem.pattern, scheme=scheme, groups=self._groups(mask), known=mask,
                                            floor=floor, check=False)
        self.growths = 0
        self.may_lack = False

    def _groups(self, mask):
        """The default of `FoldedDifference`."""
        return None

    @property
    def calls(self):
        return self._difference.calls

    @property
    def grouping(self):
        """Groups of the columns that are differenced."""
        return self._difference.grouping

    def state(self, t, y, yd, known, residual=None):
        """`F_y`, values in the order of `problem.pattern`; `known` are those of its entries that are."""
        return self.folded(t, y, yd, 0.0, residual, known)

    def folded(self, t, y, yd, c, residual=None, known=None):
        """`F_y + c F_yd` by one quotient per group."""
        return self._difference.values(t, y, yd, c, f0=residual, known_values=known[self._mask] if self.known else None)

    def grow(self):
        """The structural pattern is complete."""
        return False


class Dense(Grouped):
    """Difference quotients one column at a time [Arnold, eq. (16)]; columns that are known are left out."""

    def _groups(self, mask):
        n, pattern = self._problem.n, self._problem.pattern
        column_of = np.repeat(np.arange(n), np.diff(pattern.indptr))
        unknown = np.ones(pattern.nnz, dtype=bool) if mask is None else ~mask
        wanted = np.bincount(column_of[unknown], minlength=n) > 0
        largest = int(np.bincount(pattern.indices[unknown], minlength=1).max())
        return Grouping(np.where(wanted, np.cumsum(wanted) - 1, -1), int(wanted.sum()), largest, largest, largest, "natural")


class Estimated:
    """Difference quotients along groups in an estimated pattern [Arnold, section 3.1].

    The first evaluation, and the one after `grow`, differences one column at a time and adds what it sees to the pattern.
    """

    def __init__(self, problem, scheme="forward", known=True, floor=None):
        self._problem, self._scheme, self._floor = problem, scheme, floor
        self._mask = problem.known.mask if known else np.zeros(problem.pattern.nnz, dtype=bool)
        self.known = bool(self._mask.any())
        self._full = Dense(problem, scheme, known, floor)
        self._sparse, self._calls = None, 0
        self._must_look = True
        self.omega = EstimatedPattern(problem.pattern.shape)

    @property
    def calls(self):
        return self._calls + self._full.calls + (self._sparse.calls if self._sparse else 0)

    @property
    def growths(self):
        return self.omega.updates

    @property
    def may_lack(self):
        """Whether the structural pattern holds more than the estimate."""
        return not self._keep.all()

    @property
    def grouping(self):
        """Groups of the columns that are differenced."""
        return self._sparse.grouping if self._sparse else self._full.grouping

    def state(self, t, y, yd, known, residual=None):
        """`F_y`, values in the order of `problem.pattern`; `known` are those of its entries that are."""
        return self.folded(t, y, yd, 0.0, residual, known)

    def folded(self, t, y, yd, c, residual=None, known=None):
        """`F_y + c F_yd` by one quotient per group."""
        if self._must_look:
            return self._look(t, y, yd, c, residual, known)
        values = np.zeros(self._problem.pattern.nnz)
        values[self._keep] = self._sparse.values(t, y, yd, c, f0=residual, known_values=known[self._mask] if self.known else None)
        return values

    def grow(self):
        """Look at all columns next time: an entry may be missing. Returns whether there is any that could be."""
        self._must_look = self.may_lack
        return self._must_look

    def _look(self, t, y, yd, c, residual, known):
        values = self._full.folded(t, y, yd, c, residual, known)
        self._must_look = False
        if self.omega.add(self._csc(np.where(self._mask, 0.0, values))):
            self._regroup()
        return values

    def _regroup(self):
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

    def _csc(self, values):
        p = self._problem.pattern
        return csc_array((values, p.indices, p.indptr), shape=p.shape)


def residual_of(problem):
    """`F(t, y, yd, out)` of any problem, `yd - f(t, y)` of an explicit one; exceptions of user functions are raised."""
    kernel, arguments, check = problem.kernel, problem.arguments, problem.system.callbacks.check

    def implicit(t, y, yd, out):
        kernel(t, y, yd, out, *arguments)
        check()

    def explicit(t, y, yd, out):
        kernel(t, y, out, *arguments)
        check()
        np.subtract(yd, out, out=out)

    return implicit if problem.implicit else explicit
