"""Groups of structurally orthogonal columns: no two columns of a group have a non-zero in the same row."""

import numpy as np

from ..compiled import compiled


def column_groups(pattern):
    """Greedy grouping of the columns of a sparse pattern, the fullest columns first.

    Parameters
    ----------
    pattern : scipy.sparse array, shape (m, n)

    Returns
    -------
    ndarray of int, shape (n,)
        Number of the group of each column, from 0.
    """
    csc, csr = pattern.tocsc(), pattern.tocsr()
    order = np.argsort(-np.diff(csc.indptr), kind="stable").astype(np.int64)
    groups = np.full(pattern.shape[1], -1, dtype=np.int64)
    as_index = [x.astype(np.int64) for x in (csc.indptr, csc.indices, csr.indptr, csr.indices)]
    _greedy(order, *as_index, groups)
    return groups


@compiled
def _greedy(order, col_ptr, rows, row_ptr, columns, groups):
    taken = np.full(order.shape[0] + 1, -1, dtype=np.int64)
    for column in order:
        for k in range(col_ptr[column], col_ptr[column + 1]):
            row = rows[k]
            for m in range(row_ptr[row], row_ptr[row + 1]):
                if groups[columns[m]] >= 0:
                    taken[groups[columns[m]]] = column
        g = 0
        while taken[g] == column:
            g += 1
        groups[column] = g
