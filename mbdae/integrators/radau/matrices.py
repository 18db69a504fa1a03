"""Derivatives and matrices of a step in compiled code, dense and sparse factors."""

from ...compilation.compiled import compiled
from ...system import sparse_lu
from ...system.codes import BAD_DERIVATIVES, GOOD, SINGULAR_MATRIX
from ...system.vectors import fill, is_finite
from ..dense_columns import eliminate
from ..derivatives.kernels import evaluate
from ..iteration_matrix import DENSE, scale, solve
from .blocks import factorise_held, factorise_motion, solve_blocks

LONGEST = 64  # number of factorisations of whole matrices between those by blocks, at most


@compiled
def differentiate(t, run):
    """`F_y` and `F_yd` at `(t, y, yd)`, in the order of the pattern."""
    run.counts.jacobians += 1
    if run.redundant.shape[0] > 0:
        run.follow(t, run.y, run.redundant, run.followed, run.drifts, run.weight, run.model, run.work)
    evaluate(t, run.y, run.yd, run.within.q, run.derivatives, run.model, run.work)


@compiled
def factorise_all(h, run):
    """Factors of the real matrix and of the complex ones for a step `h`; `GOOD` or the code of a failure."""
    formula, d, memory, blocks = run.formulas[run.memory.level], run.derivatives, run.memory, run.sparse.blocks
    if blocks.pattern.nq > 0:
        if blocks.state.slow != 0:
            _wait(memory)
        blocks.state.slow, blocks.state.used = 0, int(memory.whole == 0)
        if memory.whole == 0:
            status = _factorise_blocks(h, formula, run)
            if status != SINGULAR_MATRIX:
                return status
            blocks.state.used = 0
            _wait(memory)
        memory.whole -= 1
    status = _factorise(formula.real / h, d, run.real, run.sparse)
    run.counts.factorisations += 1
    for p in range(formula.pairs.shape[0]):
        if status == GOOD:
            status = _factorise(formula.pairs[p] / h, d, run.pairs[p], run.sparse_pairs[p])
            run.counts.factorisations += 1
    return status


@compiled
def _wait(memory):
    """Whole matrices for a while, twice as long each time until a step by blocks is accepted."""
    memory.whole = memory.patience
    memory.patience = min(2 * memory.patience, LONGEST)


@compiled
def _factorise_blocks(h, formula, run):
    """The same by blocks, whose solutions are not scaled."""
    status = factorise_held(run.sparse.blocks)
    if status == GOOD:
        status = factorise_motion(formula.real / h, run.sparse.blocks)
        run.counts.factorisations += 1
        fill(run.real.column, 1.0)
    for p in range(formula.pairs.shape[0]):
        if status == GOOD:
            status = factorise_motion(formula.pairs[p] / h, run.sparse_pairs[p].blocks)
            run.counts.factorisations += 1
            fill(run.pairs[p].column, 1.0)
    return status


@compiled
def are_here(run):
    """Whether matrices are factorised here."""
    return run.real.kind == DENSE or run.sparse.factors.order.shape[0] > 0


@compiled
def solve_with(residual, factors, sparse, weight):
    """`factors.x = K^-1 D_r residual`, with the scaled matrix `K`; `weight` tells how accurate it is by blocks."""
    if sparse.blocks.state.used != 0:
        solve_blocks(residual, factors.x, weight, sparse.blocks)
        return
    if sparse.factors.order.shape[0] == 0:
        solve(residual, factors)
        return
    x = factors.x
    for k in range(x.shape[0]):
        x[k] = factors.row[k] * residual[k]
    sparse_lu.solve(sparse.factors, x)


@compiled
def _factorise(c, d, factors, sparse):
    """`F_y + c F_yd`, scaled and factorised."""
    row, column = factors.row, factors.column
    factors.c = abs(c)
    scale(c, factors.rows, factors.columns, row, column)
    if sparse.factors.order.shape[0] > 0:
        total, values = 0.0, sparse.columns.values
        for k in range(d.state.shape[0]):
            x = row[d.rows[k]] * (d.state[k] + c * d.rates[k]) * column[d.columns[k]]
            values[k] = x
            total += sparse_lu.size(x)
        return sparse_lu.factorise(sparse.columns, sparse.factors) if is_finite(total) else BAD_DERIVATIVES
    A, total = factors.dense, 0.0
    for k in range(A.shape[0]):
        fill(A[k], 0.0)
    for k in range(d.state.shape[0]):
        i, j = d.rows[k], d.columns[k]
        x = row[i] * (d.state[k] + c * d.rates[k]) * column[j]
        A[j, i] = x
        total += sparse_lu.size(x)
    if not is_finite(total):
        return BAD_DERIVATIVES
    return GOOD if eliminate(A, factors.pivots) else SINGULAR_MATRIX
