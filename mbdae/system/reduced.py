"""Tables from which `B = Phi_q M^-1 Phi_q^T` is formed: segments of `Phi_q`, pairs of them that meet on a body, the envelope."""

from typing import NamedTuple

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


class Runs(NamedTuple):
    """Stretches of values that two rows have in the same columns: their first pieces, shape (m, 2), and numbers of values, shape (m,)."""

    pairs: Integers
    lengths: Integers


def runs(pieces: Records) -> Runs:
    """The `Runs` of pieces that stand one after another in each row, as those along the paths of a tree.

    Rows that share a path to the root have it in one run, not in a pair of pieces for each of its joints: a ladder of `n` loops has
    `O(n^2)` runs and `O(n^3)` pairs.
    """
    row, body = pieces["row"], pieces["body"]
    begins = np.diff(row, prepend=-1) != 0
    before = np.where(begins, -1, np.roll(body, 1))
    order = np.lexsort((before, body))
    # a run begins where the pieces before differ, or where there is none
    new = (np.diff(body[order], prepend=-1) != 0), (np.diff(before[order], prepend=-2) != 0)
    of_body, of_group = (np.maximum.accumulate(np.where(x, np.arange(len(order)), 0)) for x in (new[0], new[0] | new[1]))
    last = np.where(before[order] < 0, np.arange(len(order)) + 1, of_group)
    out = Runs(np.empty((int((last - of_body).sum()), 2), dtype=np.int64), np.empty(int((last - of_body).sum()), dtype=np.int64))
    end = np.searchsorted(row, row, side="right")
    total = np.concatenate([[0], np.cumsum(pieces["n"])])
    _fill_runs(order, of_body, last, end, body.copy(), total, *out)
    return out


@compiled
def _fill_runs(order, first, last, end, body, total, pairs, lengths):
    m = 0
    for x in range(order.shape[0]):
        for y in range(first[x], last[x]):
            a, b = order[x], order[y]
            k, most = 1, min(end[a] - a, end[b] - b)
            while k < most and body[a + k] == body[b + k]:
                k += 1
            pairs[m, 0], pairs[m, 1], lengths[m] = a, b, total[a + k] - total[a]
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


def pair_table(pieces: Records, pairs: Integers, rows: Integers, first: Integers, ptr: Integers,
               lengths: Integers | None = None) -> Records:
    """Records of the products that make up `B`; those of one length stand together, each kind in the order of the envelope.

    Of the two segments `a` is that of the later row. `lengths` are those of `Runs`.
    """
    a, b = pairs.T
    both = pieces["filled"][a] & pieces["filled"][b]
    start, end = _filled_part(pieces["n"][a], both) if lengths is None else (0, lengths)
    place = np.argsort(rows)[pieces["row"]]
    a, b = np.where(place[a] >= place[b], pairs.T, pairs.T[::-1])
    high, low = place[a], place[b]
    table = np.zeros(len(pairs), dtype=PAIR_T)
    table["to"], table["n"] = ptr[high] - first[high] + low, end - start
    table["a"], table["b"] = pieces["at"][a] + start, pieces["at"][b] + start
    table = table[both != 0]
    ordered: Records = table[np.lexsort((table["to"], table["n"]))]
    return ordered
