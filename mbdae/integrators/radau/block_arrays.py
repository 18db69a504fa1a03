"""The arrays of Newton's matrices by blocks."""

from functools import cache

import numpy as np

from ...problems.base import Problem
from ...problems.once import once
from ...system.sparse_lu import ROOM, Columns, new_factors
from ...typing import Vector
from ..derivatives.arrays import FormDerivatives
from .block_pattern import QUATERNION, BlockPattern, Direct, Elimination, Entries, Layout, Products, elimination
from .blocks import Blocks, BlockState, Square

NONE = np.zeros(0, dtype=np.int64)


def new_blocks(problem: Problem, d: FormDerivatives, types: tuple[type, ...]) -> tuple[Blocks, ...]:
    """One for each of these types of coefficients; of no unknowns where the elimination is not by blocks."""
    found: Elimination | None = once(problem, "elimination by blocks", lambda: elimination(problem))
    if found is None:
        return tuple(map(no_blocks, types))
    pattern, n, state, held = found.pattern, problem.n, BlockState(used=0, slow=0), _square(found.held, float)
    nq, nc, m = pattern.nq, pattern.nc, found.motion.size
    sizes = {"c": 1, "inverse": len(pattern.inverse.at), "moved": found.moved, "q": nq, "shift": nq, "b": m, "mu": nc, "dx": n, "y": n}
    return tuple(Blocks(state=state, exact=np.zeros(1, dtype=np.int64), pattern=pattern, values=d.state, rates=d.rates,
                        motion=_square(found.motion, dtype), held=held, **{name: np.zeros(k, dtype) for name, k in sizes.items()})
                 for dtype in types)


def _square(layout: Layout, dtype: type) -> Square:
    """Room for a matrix and its factors."""
    n, rows, starts, order = layout
    if order is None:
        values: Vector = np.zeros(n * n, dtype)
        return Square(columns=Columns(start=NONE, rows=NONE, values=values), dense=values.reshape(n, n), pivots=np.zeros(n, dtype=np.int64),
                      factors=new_factors(NONE, 0, dtype))
    return Square(columns=Columns(start=starts, rows=rows, values=np.zeros(len(rows), dtype)), dense=np.zeros((0, 0), dtype), pivots=NONE,
                  factors=new_factors(order.order, ROOM * order.entries, dtype))


@cache
def no_blocks(dtype: type) -> Blocks:
    """Blocks of no unknowns, into which nothing is written."""
    entries, direct = Entries(at=NONE, rows=NONE, columns=NONE), Direct(at=NONE, to=NONE)
    products = Products(first=NONE, second=NONE, to=NONE)
    pattern = BlockPattern(
        nq=0, nv=0, nc=0, singles=NONE, turns=np.zeros((0, QUATERNION**2), dtype=np.int64), inverse=entries, map=entries, shift=entries,
        by_position=entries, gradient=entries, reactions=entries, masses=NONE, moved=products, motion=direct, motion_products=products,
        held=products)
    vectors = ("c", "inverse", "moved", "q", "shift", "b", "mu", "dx", "y")
    layout = Layout(0, NONE, NONE, None)
    return Blocks(state=BlockState(used=0, slow=0), exact=NONE, pattern=pattern, values=np.zeros(0), rates=np.zeros(0),
                  motion=_square(layout, dtype), held=_square(layout, float), **{name: np.zeros(0, dtype) for name in vectors})
