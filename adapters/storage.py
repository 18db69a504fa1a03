"""Storage of Jacobians: writers from the values in the order of `Problem.pattern` into dense, band and CSC storage."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from mbdae.problems.base import Problem
from mbdae.typing import Integers, Vector

Store: TypeAlias = Callable[[Vector, Any], None]  # writes values in the order of `Problem.pattern` into the matrix of a solver


def positions(pattern: csc_array) -> tuple[Integers, Integers]:
    """Row and column of every value."""
    return pattern.indices, np.repeat(np.arange(pattern.shape[1]), np.diff(pattern.indptr))


def dense(problem: Problem) -> Store:
    """Writer into a 2-D array; entries outside of the pattern are set to zero."""
    rows, columns = positions(problem.pattern)

    def store(values: Vector, J: Vector) -> None:
        J[:] = 0.0
        J[rows, columns] = values

    return store


def csc(values: Vector, J: Vector) -> None:
    """Writer into the data array of a CSC matrix with the pattern of the problem."""
    J[:] = values


class Band:
    """A renumbering that reduces the bandwidth of the Jacobian: reverse Cuthill-McKee for its symmetrised pattern.

    Attributes
    ----------
    order : ndarray of int, shape (n,)
        `y[order]` are the unknowns of the solver; the equations have the same order.
    lower, upper : int
        Numbers of subdiagonals and superdiagonals.
    """

    def __init__(self, pattern: csc_array) -> None:
        symmetric = (pattern + pattern.T).tocsr()
        self.order = reverse_cuthill_mckee(symmetric, symmetric_mode=True).astype(np.int64)
        self.place = np.argsort(self.order)
        rows, columns = (self.place[k] for k in positions(pattern))
        self.lower, self.upper = int(max(0, (rows - columns).max())), int(max(0, (columns - rows).max()))
        self._row, self._column, self._diagonal = rows, columns, rows - columns

    def full(self, values: Vector, J: Vector) -> None:
        """Write into a square array, in the order of the band."""
        J[:] = 0.0
        J[self._row, self._column] = values

    def store(self, first: int) -> Store:
        """Writer into an array `J[first + i - j, j]`."""
        row = first + self._diagonal

        def store(values: Vector, J: Vector) -> None:
            J[:] = 0.0
            J[row, self._column] = values

        return store
