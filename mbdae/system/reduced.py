"""Tables from which `B = Phi_q M^-1 Phi_q^T` is formed: segments of `Phi_q`, pairs of them that meet on a body, the envelope."""

import numpy as np

from ..compilation.compiled import compiled
from ..typing import Integers, Records
from .layout import PAIR_T, SEGMENT_T
from .ordering import first_columns, joint_edges

# One row of `Phi_q` in the columns of one body. `filled` has a bit for each column that can be different from zero.
PIECE_T = np.dtype([(field, "i8") for field in ("row", "body", "at", "v", "n", "filled")])
TRANSLATION, ROTATION = 0b000111, 0b111000  # of a rigid body


def segment_table(pieces: Records) -> Records:
    """The segments of `Phi_q` in the order of its values, without translations or rotations of rigid bodies that can only be zero."""
    start, end = _filled_part(pieces["n"], pieces["filled"])
    table = np.zeros(len(pieces), dtype=SEGMENT_T)
    table["row"], table["at"], table["v"], table["n"] = pieces["row"], pieces["at"] + start, pieces["v"] + start, end - start
    return table[np.argsort(table["at"])]


def _filled_part(n: Integers, filled: Integers) -> tuple[Integers, Integers]:
    """First column and end of what is filled, where a rigid body, which has six columns, counts by halves: mass blocks stay whole."""
    rigid = n == 6
    return 3 * (rigid & (filled & TRANSLATION == 0)), np.where(rigid & (filled & ROTATION == 0), 3, n)


def meetings(body: Integers) -> Integers:
    """Pairs of pieces on the same body, each piece with itself among them: indices, shape (m, 2)."""
    by_body = np.argsort(body, kind="stable")
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(body[by_body])) + 1, [len(body)]]).astype(np.int64)
    sizes = np.diff(bounds)
    out = np.empty((int((sizes * (sizes + 1) // 2).sum()), 2), dtype=np.int64)
    _fill_meetings(bounds, by_body, out)
    return out


@compiled
def _fill_meetings(bounds, by_body, out):
    m = 0
    for g in range(bounds.shape[0] - 1):
        for x in range(bounds[g], bounds[g + 1]):
            for y in range(bounds[g], x + 1):
                out[m, 0], out[m, 1] = by_body[x], by_body[y]
                m += 1


def envelope(rows: Integers, joint: Integers, shared: Integers) -> tuple[Integers, Integers]:
    """First non-zero column of each row of `B` in the new order, and where each row begins in the envelope.

    Parameters
    ----------
    rows : ndarray of int, shape (nc,)
        Rows in their new order, those of a joint together.
    joint : ndarray of int, shape (nc,)
        Joint of each row.
    shared : ndarray of int, shape (m, 2)
        Pairs of rows that share a body.
    """
    begin = np.flatnonzero(np.diff(joint[rows], prepend=-1))
    number = np.searchsorted(begin, np.argsort(rows), side="right") - 1
    first = first_columns(np.arange(len(begin)), joint_edges(number, shared), np.diff(np.append(begin, len(rows))))
    lengths = np.arange(len(rows)) - first + 1
    return first, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def pair_table(pieces: Records, pairs: Integers, rows: Integers, first: Integers, ptr: Integers) -> Records:
    """Records of the products that make up `B`; those of one length stand together, each kind in the order of the envelope."""
    a, b = pairs.T
    both = pieces["filled"][a] & pieces["filled"][b]
    start, end = _filled_part(pieces["n"][a], both)
    place = np.argsort(rows)[pieces["row"]]
    high, low = np.maximum(place[a], place[b]), np.minimum(place[a], place[b])
    table = np.zeros(len(pairs), dtype=PAIR_T)
    table["to"], table["n"] = ptr[high] - first[high] + low, end - start
    table["a"], table["b"] = pieces["at"][a] + start, pieces["at"][b] + start
    table = table[both != 0]
    ordered: Records = table[np.lexsort((table["to"], table["n"]))]
    return ordered
