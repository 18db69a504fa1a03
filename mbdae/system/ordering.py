"""Renumbering of the joints for a small envelope of `B = Phi_q M^-1 Phi_q^T` [Negrut, section 3.4.2.3]."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..typing import ArrayLike, Integers
from .gibbs_king import gibbs_king

NUMBERINGS = ("best", "natural", "rcm", "gibbs-king")


def joint_numbers(numbering: str | tuple[str, ...], names: Sequence[str]) -> str | list[int]:
    """A kind of numbering as it is; a tuple of the names of all joints and drivers as their numbers.

    Raises
    ------
    ValueError
        If the kind is not known, or a joint or driver is missing, unknown or named twice.
    """
    if not isinstance(numbering, tuple):
        if numbering not in NUMBERINGS:
            raise ValueError(f"System: numbering must be one of {', '.join(map(repr, NUMBERINGS))}, or the names of all joints and drivers "
                             f"in the order wanted, got {numbering!r}")
        return numbering
    number, wanted = {name: k for k, name in enumerate(names)}, Counter(numbering)
    for fault, found in (("unknown", [n for n in wanted if n not in number]), ("missing", [n for n in names if n not in wanted]),
                         ("named twice", [n for n, count in wanted.items() if count > 1])):
        if found:
            raise ValueError(f"System: numbering must name every joint and driver once; {fault}: {', '.join(map(repr, found))}")
    return [number[name] for name in wanted]


def order_rows(group: Integers, shared: Integers, numbering: str | Sequence[int] | Integers = "best") -> Integers:
    """Order of the constraint rows: joints renumbered, the rows of a joint kept together.

    Reverse Cuthill-McKee and Gibbs-King are tried forwards and backwards. Of all candidates the one with the least work of
    factorisation wins, of equals the first in the order natural, reverse Cuthill-McKee, Gibbs-King.

    Parameters
    ----------
    group : ndarray of int, shape (nc,)
        Joint of each row.
    shared : ndarray of int, shape (m, 2)
        Pairs of rows that share a body; one pair for every two joints that do will serve.
    numbering : {"best", "natural", "rcm", "gibbs-king"} or sequence of int
        Which candidates there are, or the joints in the order wanted.

    Returns
    -------
    ndarray of int, shape (nc,)
        Rows in their new order.
    """
    sizes, edges = np.bincount(group), joint_edges(group, shared)
    if isinstance(numbering, str):
        numbering = cheapest(candidates(len(sizes), edges, numbering), edges, sizes)
    position = np.empty(len(numbering), dtype=np.int64)
    position[numbering] = np.arange(len(numbering))
    return np.argsort(position[group], kind="stable").astype(np.int64)


def joint_edges(group: Integers, shared: Integers) -> Integers:
    """Pairs of joints that share a body, shape (m, 2): the edges of the graph whose nodes are the joints."""
    a, b = group[np.asarray(shared, dtype=np.int64).reshape(-1, 2).T]
    n = int(group.max(initial=-1)) + 1  # joints may have no row
    keys = np.unique(np.minimum(a, b)[a != b] * n + np.maximum(a, b)[a != b])
    return np.column_stack([keys // max(n, 1), keys % max(n, 1)])


def candidates(n: int, edges: Integers, numbering: str = "best") -> list[Integers]:
    """Numberings of `n` joints of one kind, or of all: joints in their new order, one array each."""
    found = [np.arange(n)] if numbering in ("best", "natural") else []
    if n and numbering in ("best", "rcm"):
        found += _both_ways(reverse_cuthill_mckee(_adjacency(n, edges), symmetric_mode=True))
    if n and numbering in ("best", "gibbs-king"):
        graph = _adjacency(n, edges)
        found += _both_ways(gibbs_king([x.tolist() for x in np.split(graph.indices, graph.indptr[1:-1])]))
    return found or [np.arange(n)]


def cheapest(found: list[Integers], edges: Integers, sizes: Integers) -> Integers:
    """The numbering with the least work of factorisation, of equals the first; joints have `sizes` rows."""
    return min(found, key=lambda joints: factorisation_work(joints, edges, sizes))


def _both_ways(joints: ArrayLike) -> list[Integers]:
    joints = np.array(joints, dtype=np.int64)
    return [joints, joints[::-1]]


def _adjacency(n: int, edges: Integers) -> csr_array:
    both = np.concatenate([edges, edges[:, ::-1]])
    graph = coo_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(n, n)).tocsr()
    graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return graph


def first_columns(order: Integers, edges: Integers, sizes: Integers | None = None) -> Integers:
    """First non-zero column of each row of `B` in the new order.

    Parameters
    ----------
    order : ndarray of int, shape (n,)
        Rows, or joints, in their new order.
    edges : ndarray of int, shape (m, 2)
        Pairs of them that share a body.
    sizes : ndarray of int, shape (n,), optional
        Number of rows of each joint, one by default. All rows of a joint begin in the same column.
    """
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    first = np.arange(len(order))
    if len(edges):
        a, b = place[edges[:, 0]], place[edges[:, 1]]
        np.minimum.at(first, np.maximum(a, b), np.minimum(a, b))
    if sizes is None:
        return first
    begin = np.cumsum(sizes[order]) - sizes[order]
    return np.repeat(begin[first], sizes[order])


def widths(order: Integers, edges: Integers, sizes: Integers | None = None) -> Integers:
    """Widths `beta` of the rows of `B`, the diagonal entry not counted [Negrut, eq. (3.123)]; arguments as of `first_columns`."""
    first = first_columns(order, edges, sizes)
    return np.arange(len(first)) - first


def factorisation_work(order: Integers, edges: Integers, sizes: Integers | None = None) -> float:
    """Upper bound `1/2 sum beta (beta + 3)` of the work in the envelope [Negrut, eq. (3.126)]; arguments as of `first_columns`."""
    beta = widths(order, edges, sizes)
    return 0.5 * float((beta * (beta + 3.0)).sum())
