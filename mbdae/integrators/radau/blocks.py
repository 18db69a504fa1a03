"""Newton's matrix of GGL's equations by blocks, whose factors are far smaller than those of the whole matrix.

With `c = c_p/h` the matrix `F_y + c F_yd` of the unknowns `(q, v, lam, mu)` is

    [C  S  0  E]   r1      kinematics, C = c I - d(T v)/dq,  S = -T,  E = T Phi_q^T
    [K  A  R  0]   r2      equations of motion
    [N  G  0  0]   r3      velocity constraints
    [P  0  0  0]   r4      position constraints

`C` is block diagonal but for terms with `mu`, with blocks of four for quaternions, and `dq = C^-1 (r1 - S dv - E dmu)`. In `P dq = r4` the
term `-P C^-1 S dv` is about `G dv / c`, and `G dv = r3 - N dq` about `r3`. Without these differences

    P E dmu = c (P C^-1 r1 - r4) + r3,                                                      nc unknowns, real,
    [A - K C^-1 S, R; G - N C^-1 S, 0] (dv, dlam) = (r2, r3) - (K, N) C^-1 (r1 - E dmu),    nv + nc unknowns.

The error is of the size of `h` times the rate of change of `Phi_q`, relative to the solution; it is corrected by the residual `r4 - P dq`
of the position constraints. Where the correction of the first solution with these factors is very small, later solutions are not corrected.
Where it takes too many corrections, as for bodies that turn by a radian in a step, the whole matrix is factorised.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...compilation.structure import Structure
from ...system import sparse_lu
from ...system.codes import BAD_DERIVATIVES, GOOD, SINGULAR_MATRIX
from ...system.sparse_lu import Columns, SparseFactors, size
from ...system.vectors import fill, is_finite, put
from ...typing import Integers, Matrix, Vector
from ..dense_columns import eliminate, substitute
from .block_pattern import QUATERNION, BlockPattern

MAX_CORRECTIONS = 5  # of a solution
SMALL = 0.02  # size of the last correction, relative to that of the solution
NEGLIGIBLE = 1e-4  # size of a correction, relative to the tolerances
EXACT = 0.005  # size of the first correction, relative to that of the solution, below which later solutions are not corrected


class Square(Structure):
    """A matrix and its factors.

    Attributes
    ----------
    columns : Columns
        Its values by columns; all of them, without their places, where it is dense.
    dense : ndarray, shape (n, n)
        A view of these values, the columns by rows; empty for sparse ones.
    pivots : ndarray of int
    factors : SparseFactors
        Of no columns for dense ones.
    """

    columns: Columns
    dense: Matrix
    pivots: Integers
    factors: SparseFactors


class BlockState(Structure):
    """`used`: 1 if the matrices by blocks are in use, 0 if the whole ones are. `slow`: 1 if a solution was not corrected enough."""

    used: int
    slow: int


class Blocks(Structure):
    """The matrices of one coefficient `c`, real or complex.

    Attributes
    ----------
    state : BlockState
        The same for all coefficients.
    exact : ndarray of int, shape (1,)
        1 if solutions with these factors need no corrections.
    pattern : BlockPattern
    values, rates : ndarray, shape (nnz,)
        Entries of the whole matrix, `F_y` and `F_yd`.
    c : ndarray, shape (1,)
    inverse, moved : ndarray
        Values of `C^-1` and of `C^-1 S`.
    motion, held : Square
        The matrices of `(dv, dlam)` and of `dmu`; the second one is real, and the same for all coefficients.
    q, shift, b, mu, dx, y : ndarray
        Scratch of the size of positions, positions, `(v, lam)`, `mu`, and all unknowns.
    """

    state: BlockState
    exact: Integers
    pattern: BlockPattern
    values: Vector
    rates: Vector
    c: Vector
    inverse: Vector
    moved: Vector
    motion: Square
    held: Square
    q: Vector
    shift: Vector
    b: Vector
    mu: Vector
    dx: Vector
    y: Vector


@compiled
def _factorise(matrix):
    """Factorise a `Square`; `GOOD` or the code of a failure."""
    if matrix.factors.order.shape[0] > 0:
        return sparse_lu.factorise(matrix.columns, matrix.factors)
    return GOOD if eliminate(matrix.dense, matrix.pivots) else SINGULAR_MATRIX


@compiled
def _solve(matrix, x, y):
    """`x <- matrix^-1 x`; `y` is scratch."""
    if matrix.factors.order.shape[0] > 0:
        sparse_lu.solve_by(matrix.factors, x, y)
    else:
        substitute(matrix.dense, matrix.pivots, x)


@compiled
def _entry(at, blocks):
    """An entry of the whole matrix."""
    return blocks.values[at] + blocks.c[0] * blocks.rates[at]


# factors --------------------------------------------------------------------------------------------------------------------


@compiled
def factorise_held(blocks):
    """Factorise the matrix of `mu`, for all coefficients; `GOOD` or the code of a failure."""
    pattern, out, values, total = blocks.pattern, blocks.held.columns.values, blocks.values, 0.0
    products, first, second = pattern.held, pattern.gradient.at, pattern.shift.at
    fill(out, 0.0)
    for k in range(products.to.shape[0]):
        out[products.to[k]] += values[first[products.first[k]]] * values[second[products.second[k]]]
    for k in range(out.shape[0]):
        total += abs(out[k])
    return _factorise(blocks.held) if is_finite(total) else BAD_DERIVATIVES


@compiled
def factorise_motion(c, blocks):
    """Factorise the matrix of `(v, lam)`; `GOOD` or the code of a failure."""
    pattern, inverse, moved, out, total = blocks.pattern, blocks.inverse, blocks.moved, blocks.motion.columns.values, 0.0
    blocks.c[0], blocks.exact[0] = c, 0
    # C^-1
    for k in range(pattern.singles.shape[0]):
        inverse[k] = 1.0 / _entry(pattern.singles[k], blocks)
    for k in range(pattern.turns.shape[0]):
        _invert(pattern.turns[k], pattern.singles.shape[0] + QUATERNION**2 * k, blocks)
    # C^-1 S
    products, at = pattern.moved, pattern.map.at
    fill(moved, 0.0)
    for k in range(products.to.shape[0]):
        moved[products.to[k]] += inverse[products.first[k]] * blocks.values[at[products.second[k]]]
    # the matrix less (K, N) C^-1 S
    direct, products, at = pattern.motion, pattern.motion_products, pattern.by_position.at
    fill(out, 0.0)
    for k in range(direct.to.shape[0]):
        out[direct.to[k]] += _entry(direct.at[k], blocks)
    for k in range(products.to.shape[0]):
        out[products.to[k]] -= _entry(at[products.first[k]], blocks) * moved[products.second[k]]
    for k in range(out.shape[0]):
        total += size(out[k])
    return _factorise(blocks.motion) if is_finite(total) else BAD_DERIVATIVES


@compiled
def _invert(entries, to, blocks):
    """The inverse of the block of a quaternion: `c` times one plus an antisymmetric matrix, which needs no interchanges."""
    n, out = QUATERNION, blocks.inverse
    B = out[to:to + n * n].reshape(n, n)
    A = np.empty_like(B)
    for i in range(n):
        for j in range(n):
            at = entries[n * i + j]
            A[i, j] = _entry(at, blocks) if at >= 0 else 0.0
            B[i, j] = 1.0 if i == j else 0.0
    for k in range(n):
        pivot = 1.0 / A[k, k]
        for j in range(n):
            A[k, j] *= pivot
            B[k, j] *= pivot
        for i in range(n):
            if i != k:
                u = A[i, k]
                for j in range(n):
                    A[i, j] -= u * A[k, j]
                    B[i, j] -= u * B[k, j]


# solutions ------------------------------------------------------------------------------------------------------------------


@compiled
def solve_blocks(r, x, weight, blocks):
    """The solution `x`, corrected until the last correction is small: `SMALL` relative to it, in positions, velocities and reactions.

    The other equations are solved but for rounding and terms of `C` with `mu`, and a correction is by the residual of the position
    constraints. `blocks.state.slow` is 1 if it does not become small in positions and velocities. That of large reactions may be rounding,
    as corrections that are far below the tolerances are.
    """
    dx, moved = blocks.dx, 0.0
    _approximate(r, x, blocks)
    if blocks.exact[0] != 0:
        return
    whole = _size(x, weight)
    allowed = max(SMALL**2 * whole, NEGLIGIBLE**2 * x.shape[0])
    for correction in range(MAX_CORRECTIONS):
        _correction(r, x, dx, blocks)
        for k in range(x.shape[0]):
            x[k] += dx[k]
        moved = _size(dx, weight)
        total = moved + _size_of_reactions(dx, weight, blocks)
        blocks.exact[0] = int(correction == 0 and whole > 0.0 and total <= EXACT**2 * whole)
        if total <= allowed:
            return
    if not moved <= allowed:
        blocks.state.slow = 1


@compiled
def _approximate(r, x, blocks):
    """The solution without the differences that are left out."""
    pattern, c, q, shift, b, mu = blocks.pattern, blocks.c[0], blocks.q, blocks.shift, blocks.b, blocks.mu
    nq, nv, nc = pattern.nq, pattern.nv, pattern.nc
    _times_inverse(r, q, blocks)
    fill(mu, 0.0)
    _subtract(pattern.gradient, q, mu, blocks)
    for k in range(nc):
        mu[k] = r[nq + nv + k] - c * (mu[k] + r[nq + nv + nc + k])
    for k in range(nq):
        shift[k] = r[k]
    for k in range(nv + nc):
        b[k] = r[nq + k]
    _finish(x, blocks)


@compiled
def _correction(r, x, dx, blocks):
    """The same with the residual of the position constraints, and zeros in the other equations, on the right-hand side."""
    pattern, mu = blocks.pattern, blocks.mu
    fill(blocks.shift, 0.0)
    fill(blocks.b, 0.0)
    put(r[x.shape[0] - pattern.nc:], mu)
    _subtract(pattern.gradient, x, mu, blocks)
    for k in range(pattern.nc):
        mu[k] *= -blocks.c[0]
    _finish(dx, blocks)


@compiled
def _finish(x, blocks):
    """The solution with the right-hand sides of positions in `shift`, of velocities and `lam` in `b`, of `mu` in `mu`."""
    pattern, q, shift, b, mu = blocks.pattern, blocks.q, blocks.shift, blocks.b, blocks.mu
    nq, nv, nc = pattern.nq, pattern.nv, pattern.nc
    # mu
    _solve(blocks.held, mu, blocks.y)
    # v and lam
    _subtract(pattern.shift, mu, shift, blocks)
    _times_inverse(shift, q, blocks)
    _subtract_moving(pattern.by_position, q, b, blocks)
    _solve(blocks.motion, b, blocks.y)
    # q
    _subtract(pattern.map, b, shift, blocks)
    _times_inverse(shift, q, blocks)
    for k in range(nq):
        x[k] = q[k]
    for k in range(nv + nc):
        x[nq + k] = b[k]
    for k in range(nc):
        x[nq + nv + nc + k] = mu[k]


@compiled
def _times_inverse(x, out, blocks):
    """`out = C^-1 x`."""
    entries, inverse = blocks.pattern.inverse, blocks.inverse
    fill(out, 0.0)
    for k in range(inverse.shape[0]):
        out[entries.rows[k]] += inverse[k] * x[entries.columns[k]]


@compiled
def _subtract(entries, x, out, blocks):
    """`out -= B x` with the block of these entries, which has no rates."""
    for k in range(entries.at.shape[0]):
        out[entries.rows[k]] -= blocks.values[entries.at[k]] * x[entries.columns[k]]


@compiled
def _subtract_moving(entries, x, out, blocks):
    """`out -= B x` with the block of these entries, which may have rates."""
    for k in range(entries.at.shape[0]):
        out[entries.rows[k]] -= _entry(entries.at[k], blocks) * x[entries.columns[k]]


@compiled
def _size(x, weight):
    """The sum of squares of the weighted components."""
    total = 0.0
    for k in range(x.shape[0]):
        total += (weight[k] * size(x[k])) ** 2
    return total


@compiled
def _size_of_reactions(x, weight, blocks):
    """The same of the velocities that free bodies would have from the reactions `R dlam`, which the next correction is to remove."""
    pattern, b, total = blocks.pattern, blocks.b, 0.0
    nq, nv = pattern.nq, pattern.nv
    fill(b, 0.0)
    _subtract(pattern.reactions, x[nq + nv:], b, blocks)
    for k in range(nv):
        mass = blocks.rates[pattern.masses[k]]
        if mass > 0.0:
            total += (weight[nq + k] * size(b[k] / (blocks.c[0] * mass))) ** 2
    return total
