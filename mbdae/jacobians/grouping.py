"""Groups of structurally orthogonal columns: no two columns of a group have an entry in the same row.

The columns of a group are perturbed together, so a Jacobian costs one evaluation per group. Groups are a colouring of the
column-intersection graph, in which columns that share a row are adjacent; their smallest number is its chromatic number.

Coleman, Garbow, Moré: ACM Trans. Math. Software 10 (1984) 329-345, 346-347 (Algorithm 618); the idea is that of Curtis, Powell, Reid:
J. Inst. Math. Appl. 13 (1974) 117-119.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .colouring.fewest_groups import Search
from .colouring.incidence import as_pattern
from .colouring.orderings import ORDERS
from .signatures import Indices, Mask


@dataclass(frozen=True, eq=False, repr=False)
class Grouping:
    """Groups of columns, made by `column_groups`.

    Attributes
    ----------
    groups : ndarray of int64, shape (n,)
        Number of the group of each column, from 0; -1 for known columns.
    count : int
        Number of groups.
    lower_bound : int
        Lower bound on the chromatic number: `clique`, or larger if an exhaustive search has proved that `clique` groups are too few.
    largest_row : int
        Number of entries in the fullest row, without those of known columns.
    clique : int
        Size of the largest clique found in the column-intersection graph. The columns of a row are a clique: `largest_row <= clique`.
    order : str
        Origin of the groups: the order of columns, "complete search" or "tabu search".
    """

    groups: Indices
    count: int
    lower_bound: int
    largest_row: int
    clique: int
    order: str

    @property
    def optimal(self) -> bool:
        """Whether the number of groups is proved to be minimal."""
        return self.count == self.lower_bound

    @property
    def members(self) -> list[Indices]:
        """The columns of each group, a list of `count` arrays."""
        by_group = np.argsort(self.groups, kind="stable")
        ends = np.searchsorted(self.groups[by_group], np.arange(self.count + 1))
        return np.split(by_group, ends)[1:-1]

    def __repr__(self) -> str:
        known = np.count_nonzero(self.groups < 0)
        bound = "the fewest possible" if self.optimal else f"at least {self.lower_bound} are needed"
        return f"<Grouping: {len(self.groups) - known} columns in {self.count} groups, {bound}; {known} known columns; {self.order}>"


def column_groups(pattern: Any, order: str = "best", known_columns: ArrayLike | None = None) -> Grouping:
    """Group the columns of a sparse pattern.

    Sequential colouring assigns the columns in some order, each to the first group without an entry in its rows. With "best" all four
    orders are tried. If their result exceeds the lower bound, a search for larger cliques, an exhaustive search and a tabu search follow,
    each within a fixed amount of work. The method stops as soon as the lower bound is attained. It is deterministic.

    Parameters
    ----------
    pattern : sparse array or array_like, shape (m, n)
        The nonzeros are the entries; of a sparse array all stored elements, including explicit zeros.
    order : {"best", "natural", "largest-first", "smallest-last", "incidence-degree"}
        The degree of a column is the number of other columns that share a row with it. "natural" is from left to right, "largest-first" by
        decreasing degree. "smallest-last" fills the places from the last one, each with the column of smallest degree among the remaining;
        "incidence-degree" fills them from the first one, each with the column that is adjacent to the most columns before.
    known_columns : array_like of int or of bool, optional
        Indices or mask of columns that are not perturbed. They belong to no group and do not count in degrees and bounds.

    Returns
    -------
    Grouping
        A pattern without rows or without columns needs no evaluation: it has no groups, and -1 for its columns.

    Raises
    ------
    ValueError
        If the pattern does not have two dimensions, the order is unknown, or known columns do not exist.
    """
    if order != "best" and order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(('best', *ORDERS))}, got {order!r}")
    pattern = as_pattern(pattern)
    free = ~_known(known_columns, pattern.shape[1])
    groups = np.full(len(free), -1, dtype=np.int64)
    if 0 in pattern.shape or not free.any():
        return Grouping(groups, 0, 0, 0, 0, "natural" if order == "best" else order)
    search = Search(pattern if free.all() else pattern[:, free])
    if order == "best":
        search.best()
    else:
        search.only(order)
    groups[free] = search.groups
    return Grouping(groups, search.count, search.bound, search.largest_row, len(search.clique), search.order)


def check_groups(pattern: Any, groups: ArrayLike, known_columns: ArrayLike | None = None) -> None:
    """Check that the columns of each group are structurally orthogonal.

    Parameters
    ----------
    pattern : sparse array or array_like, shape (m, n)
    groups : array_like of int, shape (n,)
        As in `Grouping`.
    known_columns : array_like of int or of bool, optional
        As in `column_groups`.

    Raises
    ------
    ValueError
        If two columns of a group have an entry in the same row, a column that is not known is in no group, a known one is in one, or
        `groups` has the wrong shape or type or a number out of range.
    """
    pattern, groups = as_pattern(pattern), np.asarray(groups)
    n = pattern.shape[1]
    known = _known(known_columns, n)
    if groups.shape != (n,):
        raise ValueError(f"groups must have shape ({n},), one number for each column, got {groups.shape}")
    if groups.dtype.kind not in "iu" and n:
        raise ValueError(f"groups must be integers, got {groups.dtype}")
    _refuse((groups < -1) | (groups >= n), groups, f"groups are numbered from 0 to {n - 1} at most, -1 for known columns")
    _refuse((groups >= 0) & known, groups, "it is known and must have -1")
    if pattern.shape[0]:
        _refuse((groups < 0) & ~known, groups, "it is not known and must be in a group")
    entries = pattern.tocoo()
    row, column = (x[groups[entries.col] >= 0] for x in (entries.row, entries.col))
    sorting = np.lexsort((column, groups[column], row))
    row, column = row[sorting], column[sorting]
    twice = np.flatnonzero((row[1:] == row[:-1]) & (groups[column[1:]] == groups[column[:-1]]))
    if len(twice):
        a, b = column[twice[0]:twice[0] + 2]
        raise ValueError(f"columns {a} and {b} are both in group {groups[a]} and both have an entry in row {row[twice[0]]}; "
                         "put one of them into another group")


def _refuse(wrong: Mask, groups: Indices, reason: str) -> None:
    """Raise a ValueError that names the first wrong column."""
    for column in np.flatnonzero(wrong)[:1]:
        raise ValueError(f"groups: column {column} has {groups[column]}, but {reason}")


def _known(columns: ArrayLike | None, n: int) -> Mask:
    """Mask of the known columns."""
    mask = np.zeros(n, dtype=bool)
    if columns is None:
        return mask
    columns = np.asarray(columns)
    if columns.dtype == bool and columns.shape == (n,):
        return columns
    if columns.dtype == bool:
        raise ValueError(f"known_columns: a mask must have shape ({n},), one element for each column, got {columns.shape}")
    if columns.ndim != 1 or (columns.size and columns.dtype.kind not in "iu"):
        raise ValueError(f"known_columns must be a mask or a vector of column numbers, got {columns.dtype} of shape {columns.shape}")
    if columns.size and not 0 <= columns.min() <= columns.max() < n:
        wrong = columns[(columns < 0) | (columns >= n)][0]
        raise ValueError(f"known_columns: there is no column {wrong}, they are numbered from 0 to {n - 1}")
    mask[columns.astype(np.int64)] = True
    return mask
