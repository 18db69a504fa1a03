"""Which columns of a pattern meet in a row: all that a grouping of the columns has to know, without forming the graph of the meetings."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from ...compilation.compiled import compiled
from ..signatures import Indices, Mask


class Incidence(NamedTuple):
    """Rows and columns of a pattern.

    Row `r` has entries in `columns[row_ptr[r]:row_ptr[r + 1]]`, column `c` in `rows[column_ptr[c]:column_ptr[c + 1]]`. Two columns
    that share a row are neighbours; the degree of a column is the number of its neighbours.
    """

    row_ptr: Indices
    columns: Indices
    column_ptr: Indices
    rows: Indices


def as_pattern(pattern: Any) -> csr_array:
    """A matrix as CSR array of ones, sorted and without duplicates.

    Raises
    ------
    ValueError
        If it does not have two dimensions.
    """
    pattern = pattern if issparse(pattern) else np.asarray(pattern)
    if pattern.ndim != 2:
        raise ValueError(f"pattern must have two dimensions, rows and columns, got shape {pattern.shape}")
    if issparse(pattern):
        entries = pattern.tocoo()
        rows, columns = entries.row, entries.col
    else:
        rows, columns = np.nonzero(pattern)
    return csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=pattern.shape)


def incidence_of(pattern: csr_array) -> Incidence:
    """The `Incidence` of a CSR pattern without redundant rows: those with one column and those contained in another row."""
    kept = pattern[_maximal_rows(_both(pattern))]
    return _both(kept)


def _both(csr: csr_array) -> Incidence:
    """The `Incidence` of a CSR pattern with all rows."""
    csc = csr.tocsc()
    return Incidence(*(x.astype(np.int64) for x in (csr.indptr, csr.indices, csc.indptr, csc.indices)))


@compiled
def _maximal_rows(incidence: Incidence) -> Mask:
    """Mask of the rows of two or more columns that are not contained in another row; of equal rows the first."""
    row_ptr, columns, column_ptr, rows = incidence
    m, n = row_ptr.shape[0] - 1, column_ptr.shape[0] - 1
    maximal, mark = np.zeros(m, dtype=np.bool_), np.full(n, -1, dtype=np.int64)
    for row in range(m):
        size = row_ptr[row + 1] - row_ptr[row]
        if size < 2:
            continue
        rarest = columns[row_ptr[row]]
        for k in range(row_ptr[row], row_ptr[row + 1]):
            column = columns[k]
            mark[column] = row
            if column_ptr[column + 1] - column_ptr[column] < column_ptr[rarest + 1] - column_ptr[rarest]:
                rarest = column
        maximal[row] = True
        for k in range(column_ptr[rarest], column_ptr[rarest + 1]):  # rows that contain this one have its rarest column
            other = rows[k]
            surplus = row_ptr[other + 1] - row_ptr[other] - size
            if surplus > 0 or (surplus == 0 and other < row):
                for p in range(row_ptr[other], row_ptr[other + 1]):
                    surplus -= mark[columns[p]] != row
                    if surplus < 0:
                        break
                if surplus == 0:
                    maximal[row] = False
                    break
    return maximal


@compiled
def neighbours(column: int, most: int, incidence: Incidence, seen: Indices, out: Indices) -> int:
    """The number of neighbours of a column, at most `most`; they are written to `out`.

    `seen` is initially -1 and can be used once for each column.
    """
    row_ptr, columns, column_ptr, rows = incidence
    seen[column] = column
    count = 0
    for k in range(column_ptr[column], column_ptr[column + 1]):
        row = rows[k]
        for p in range(row_ptr[row], row_ptr[row + 1]):
            other = columns[p]
            if seen[other] != column:
                seen[other] = column
                out[count] = other
                count += 1
        if count == most:
            break
    return count


@compiled
def degrees(incidence: Incidence) -> Indices:
    """Degree of each column."""
    n = incidence.column_ptr.shape[0] - 1
    out, scratch, seen = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    for column in range(n):
        out[column] = neighbours(column, n - 1, incidence, seen, scratch)
    return out
