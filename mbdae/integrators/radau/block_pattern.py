"""Where the blocks of Newton's matrix are in its pattern, and the terms of their products, see `blocks`."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array

from ...compilation.structure import Structure
from ...problems.base import Problem
from ...system.sparse_lu import ALL_ORDERS, Ordering, ordering
from ...typing import Integers

QUATERNION = 4  # components
SMALLEST = 25  # unknowns up to which the whole matrix costs no more
DENSE_LIMIT = 40  # unknowns up to which the matrix of a block is dense
DENSE_SHARE = 0.4  # of the entries of a larger matrix of `(v, lam)`, from which on the whole matrix costs no more


class Entries(Structure):
    """Entries of a block: their places in the pattern of the whole matrix, their rows and columns within the block."""

    at: Integers
    rows: Integers
    columns: Integers


class Direct(Structure):
    """Entries that are copied: their places in the pattern of the whole matrix, and where they go."""

    at: Integers
    to: Integers


class Products(Structure):
    """The terms of a product of two blocks: the numbers of both factors, and where they go."""

    first: Integers
    second: Integers
    to: Integers


class BlockPattern(Structure):
    """The blocks, see `blocks`.

    Attributes
    ----------
    nq, nv, nc : int
    singles : ndarray of int
        Places of the diagonal of `C` in the rows of positions that do not belong to quaternions.
    turns : ndarray of int, shape (nt, 16)
        Places of its blocks of quaternions, -1 where there is no entry.
    inverse : Entries
        The entries of `C^-1`; `at` counts them.
    map, shift : Entries
        `S` and `E`.
    by_position : Entries
        `K` and `N`, one below the other.
    gradient, reactions : Entries
        `P` and `R`.
    masses : ndarray of int, shape (nv,)
        Places of the diagonal of `A`.
    moved : Products
        `C^-1 S`.
    motion, motion_products : Direct, Products
        The matrix of `(v, lam)`: these entries less the products of `by_position` and `moved`.
    held : Products
        The matrix of `mu`, `P E`.
    """

    nq: int
    nv: int
    nc: int
    singles: Integers
    turns: Integers
    inverse: Entries
    map: Entries
    shift: Entries
    by_position: Entries
    gradient: Entries
    reactions: Entries
    masses: Integers
    moved: Products
    motion: Direct
    motion_products: Products
    held: Products


class Layout(NamedTuple):
    """The places of the values of a square matrix by columns: sparse with an order for its elimination, or dense with all of them."""

    size: int
    rows: Integers
    starts: Integers
    order: Ordering | None


class Elimination(NamedTuple):
    """The blocks, the number of entries of `C^-1 S`, and the matrices of `(v, lam)` and of `mu`."""

    pattern: BlockPattern
    moved: int
    motion: Layout
    held: Layout


def elimination(problem: Problem) -> Elimination | None:
    """The elimination by blocks; `None` where the whole matrix costs no more, constraints are redundant, or a user has other kinematics."""
    s = problem.system
    turns = s.quaternions["q"].astype(np.int64)
    if problem.n <= SMALLEST or len(s.dependent) or s.nq - s.nv != len(turns) or not (s.identity_map or len(turns)):
        return None
    nq, nv, nc, n = s.nq, s.nv, s.nc, problem.n
    starts = np.array([0, nq, nq + nv, nq + nv + nc, n])
    rows = problem.pattern.indices.astype(np.int64)
    columns = np.repeat(np.arange(n), np.diff(problem.pattern.indptr))
    block_row, block_column = (np.searchsorted(starts, x, side="right") - 1 for x in (rows, columns))

    def entries(these_rows: tuple[int, ...], column: int, last: int = -1) -> Entries:
        at = np.flatnonzero(np.isin(block_row, these_rows) & (block_column >= column) & (block_column <= max(column, last)))
        return Entries(at=at, rows=rows[at] - starts[these_rows[0]], columns=columns[at] - starts[column])

    speed, shift, by_position, gradient = entries((0,), 1), entries((0,), 3), entries((1, 2), 0), entries((3,), 0)
    singles, turned, inverse = _inverse(entries((0,), 0), turns, nq)
    # C^-1 S
    first, second, r, c = _joined(inverse, speed)
    keys, to = np.unique(c * nq + r, return_inverse=True)
    moved = Entries(at=np.arange(len(keys)), rows=keys % nq, columns=keys // nq)
    # the matrices of (v, lam) and of mu
    motion, direct, products = _matrix(nv + nc, nv, entries((1, 2), 1, 2), by_position, moved)
    if motion.size > DENSE_LIMIT and len(motion.rows) > DENSE_SHARE * motion.size**2:
        return None
    held, _, held_products = _matrix(nc, nc, entries((3,), 3), gradient, shift)
    pattern = BlockPattern(
        nq=nq, nv=nv, nc=nc, singles=singles, turns=turned, inverse=inverse, map=speed, shift=shift, by_position=by_position,
        gradient=gradient, reactions=entries((1,), 2), masses=np.flatnonzero((block_row == 1) & (rows == columns)),
        moved=Products(first=first, second=second, to=to.ravel()), motion=direct, motion_products=products, held=held_products)
    return Elimination(pattern, len(keys), motion, held)


def _inverse(C: Entries, turns: Integers, nq: int) -> tuple[Integers, Integers, Entries]:
    """Places of the diagonal of `C` and of its blocks of quaternions, and the entries of the inverse of these."""
    i, j = (x.ravel() for x in np.meshgrid(np.arange(QUATERNION), np.arange(QUATERNION), indexing="ij"))
    places = {(r, c): at for r, c, at in zip(C.rows.tolist(), C.columns.tolist(), C.at.tolist())}
    single = np.setdiff1d(np.arange(nq), turns[:, None] + np.arange(QUATERNION))
    rows, columns = turns[:, None] + i, turns[:, None] + j
    inverse = Entries(at=np.arange(len(single) + rows.size), rows=np.append(single, rows), columns=np.append(single, columns))
    turned = [[places.get(x, -1) for x in zip(r, c)] for r, c in zip(rows.tolist(), columns.tolist())]
    singles = np.array([places[k, k] for k in single.tolist()], dtype=np.int64)
    return singles, np.array(turned, dtype=np.int64).reshape(-1, QUATERNION**2), inverse


def _joined(left: Entries, right: Entries) -> tuple[Integers, Integers, Integers, Integers]:
    """The terms of a product: numbers of both factors, row and column."""
    order = np.argsort(right.rows, kind="stable")
    first, last = (np.searchsorted(right.rows[order], left.columns, side=side) for side in ("left", "right"))
    counts = last - first
    a = np.repeat(np.arange(len(counts)), counts)
    b = order[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)]
    return a, b, left.rows[a], right.columns[b]


def _matrix(n: int, regular: int, plain: Entries, left: Entries, right: Entries) -> tuple[Layout, Direct, Products]:
    """A matrix of plain entries and products, with pivots on the diagonal of its first `regular` columns."""
    first, second, r, c = _joined(left, right)
    places = np.append(plain.columns, c) * n + np.append(plain.rows, r)
    keys, to = np.unique(places, return_inverse=True)
    layout, to = _layout(n, regular, keys), to.ravel()
    if layout.order is None:
        to = places
    return layout, Direct(at=plain.at, to=to[:len(plain.at)]), Products(first=first, second=second, to=to[len(plain.at):])


def _layout(n: int, regular: int, keys: Integers) -> Layout:
    """The layout of a matrix with entries in the places `column n + row`."""
    rows, starts = keys % max(n, 1), np.searchsorted(keys, n * np.arange(n + 1))
    if n <= DENSE_LIMIT:
        return Layout(n, rows, starts, None)
    pattern = csc_array((np.ones(len(rows)), rows, starts), shape=(n, n))
    return Layout(n, rows, starts, ordering(pattern, ALL_ORDERS, regular))
