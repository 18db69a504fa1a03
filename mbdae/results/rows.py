"""The rows of output of a run, kept in memory."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..typing import Matrix, Vector

COLUMNS = ("t", "q", "v", "a", "lam")


class Columns(NamedTuple):
    """States at `n` times: `t` (n,), `q` (n, nq), `v` and `a` (n, nv), `lam` (n, nc)."""

    t: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    lam: Matrix


def by_rows(states: Sequence[tuple[Vector, ...]]) -> Any:
    """Arrays of rows from a sequence of tuples of vectors."""
    return tuple(np.array(column) for column in zip(*states))


class Rows:
    """Rows of output in the order of their times.

    Parameters
    ----------
    sizes : sequence of int
        Lengths of `q`, `v`, `a`, `lam`.

    Attributes
    ----------
    count : int
        Number of rows.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes, self.count = tuple(int(n) for n in sizes), 0
        self._parts: list[Columns] = []

    def append(self, columns: Columns) -> None:
        """Add rows, which are kept as they are."""
        self._parts.append(columns)
        self.count += len(columns.t)

    def columns(self) -> Columns:
        """All rows."""
        empty = Columns(np.zeros(0), *(np.zeros((0, n)) for n in self.sizes))
        found = Columns(*(np.concatenate(x) for x in zip(*(self._parts or [empty]))))
        self._parts = [found]
        return found
