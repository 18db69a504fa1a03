"""Renumbering of the joints for a small envelope of `B = Phi_q M^-1 Phi_q^T` [Negrut, section 3.4.2.3], and the tables that go with it."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..compiled import compiled
from .layout import PAIR_T


def order_rows(group, shared):
    """Order of the constraint rows: joints renumbered, the rows of a joint kept together.

    The natural numbering and reverse Cuthill-McKee are compared by the work of the factorisation; the cheaper one wins.

    Parameters
    ----------
    group : ndarray of int, shape (nc,)
        Joint of each row.
    shared : ndarray of int, shape (m, 2)
        Pairs of rows that share a body.

    Returns
    -------
    ndarray of int, shape (nc,)
        Rows in their new order.
    """
    n = int(group.max()) + 1 if len(group) else 0
    if n == 0:
        return np.zeros(0, dtype=np.int64)
    edges = np.unique(group[shared], axis=0) if len(shared) else np.zeros((0, 2), dtype=np.int64)
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    graph = (graph + graph.T).tocsr()
    graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    candidates = (np.arange(n), reverse_cuthill_mckee(graph, symmetric_mode=True), reverse_cuthill_mckee(graph, symmetric_mode=True)[::-1])
    orders = [_rows_of(candidate, group) for candidate in candidates]
    return min(orders, key=lambda rows: factorisation_work(rows, shared))


def _rows_of(joints, group):
    position = np.empty(len(joints), dtype=np.int64)
    position[joints] = np.arange(len(joints))
    return np.argsort(position[group], kind="stable").astype(np.int64)


def first_columns(rows, shared):
    """First non-zero column of each row of `B` in the new order."""
    place = np.empty(len(rows), dtype=np.int64)
    place[rows] = np.arange(len(rows))
    first = np.arange(len(rows))
    if len(shared):
        a, b = place[shared[:, 0]], place[shared[:, 1]]
        np.minimum.at(first, np.maximum(a, b), np.minimum(a, b))
    return first


def factorisation_work(rows, shared):
    """Upper bound `1/2 sum beta (beta + 3)` of the work in the envelope [Negrut, eq. (3.126)]."""
    beta = np.arange(len(rows)) - first_columns(rows, shared)
    return 0.5 * float((beta * (beta + 3.0)).sum())


def segment_pairs(row, start, at, n):
    """Pairs of rows that share a body.

    Parameters
    ----------
    row, start, at, n : ndarray of int
        Segments of `Phi_q`: row, first column (it identifies the body), position in the values, length.

    Returns
    -------
    ndarray of int, shape (m, 5)
        `row_a, row_b, at_a, at_b, n` with `row_a >= row_b`.
    """
    by_body = np.argsort(start, kind="stable")
    cuts = np.flatnonzero(np.diff(start[by_body])) + 1
    bounds = np.concatenate([[0], cuts, [len(by_body)]]).astype(np.int64)
    sizes = np.diff(bounds)
    out = np.empty((int((sizes * (sizes + 1) // 2).sum()), 5), dtype=np.int64)
    _fill_pairs(bounds, by_body, row, at, n, out)
    return out


@compiled
def _fill_pairs(bounds, by_body, row, at, n, out):
    m = 0
    for g in range(bounds.shape[0] - 1):
        for x in range(bounds[g], bounds[g + 1]):
            for y in range(bounds[g], x + 1):
                a, b = by_body[x], by_body[y]
                if row[a] < row[b]:
                    a, b = b, a
                out[m, 0], out[m, 1], out[m, 2], out[m, 3], out[m, 4] = row[a], row[b], at[a], at[b], n[a]
                m += 1


def envelope(rows, pairs):
    """Tables of the envelope: `first`, `env_ptr` and the pairs with their place in it."""
    first = first_columns(rows, pairs[:, :2])
    lengths = np.arange(len(rows)) - first + 1
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    place = np.empty(len(rows), dtype=np.int64)
    place[rows] = np.arange(len(rows))
    a, b = place[pairs[:, 0]], place[pairs[:, 1]]
    hi, lo = np.maximum(a, b), np.minimum(a, b)
    table = np.zeros(len(pairs), dtype=PAIR_T)
    table["to"], table["a"], table["b"], table["n"] = ptr[hi] - first[hi] + lo, pairs[:, 2], pairs[:, 3], pairs[:, 4]
    return first, ptr, table[np.argsort(table["to"], kind="stable")]
