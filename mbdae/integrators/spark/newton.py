"""Newton's method for the stages: simplified, with one factorisation for all stages, or with the coupled matrix.

In the simplified method derivatives of forces and reactions are left out, and `M` and `Phi_q` of all stages are those in the middle of
the step. Corrections of the motion are `dW_i = M^-1 R_i`, and with `Y = PU dW + PR dU`, `Z = PR dL` the stages of the constraints are
decoupled,

    M Y_k + Phi_q^T Z_k = (PU R + PR S)_k,   Phi_q Y_k = -p_k,

with the residuals `R` of the motion, `S` of the reactions, and `p_k = Phi_k/h^2` or, for the velocities at the end of the step, divided
by `h`: `m` solutions with one matrix of size `nv + nc`, whose cost is linear in the number of links of chains and trees. The contraction
rate is of the order of `h` times the relative rate of change of `Phi_q`, plus `h^2` times stiffness over mass. If the convergence is too
slow, the coupled matrix is used, also in the following steps, or the step is shortened, see `choice` of the Gauss methods.
"""

import numpy as np

from ...compilation.compiled import compiled, window
from ...system import kkt, sparse
from ...system import layout as lay
from ...system.codes import DIVERGED, GOOD, NOT_FINITE
from ...system.dense import solve
from ...system.extent import extent
from ...system.layout import part
from ...system.sparse import fill
from ...system.vectors import is_finite, largest, put, put_rows
from ..control.newton import ITERATE
from ..gauss.choice import COUPLED, SIMPLIFIED, goes_on, may_couple
from ..gauss.newton import MAX_COUPLED_STEPS, add_rows, middle
from ..gauss.progress import nothing, progress_after
from .stages import follow, residuals


@compiled
def solve_stages(t, h, stages, run):
    """Solve for the stages of one step from the guess in `run.scratch`; `GOOD` or the code of a failure.

    After slow convergence the coupled matrix is formed at the present stages; after divergence at the guess. If the iteration diverges
    again, it restarts once from zero accelerations.
    """
    counts, scratch, tol, form = run.counts, run.scratch, run.newton.tol, run.form
    from_rest, formed, progress = False, False, nothing()
    stages.rate, status = 0.0, _begin(t, h, stages, run)
    if status != GOOD:
        return status
    for iteration in range(1, run.newton.max_iter + 1):
        counts.newton_iterations += 1
        scratch.iterations = iteration
        # correction
        good = residuals(t, h, stages, run)
        if good:
            progress = progress_after(tol, iteration, _correct(h, stages, run), progress)
            good = progress.verdict.status != NOT_FINITE
            if not progress.noisy and progress.verdict.rate > 0.0:
                stages.rate = progress.verdict.rate
        # convergence test
        if good:
            follow(t, h, False, stages, run)
            if progress.verdict.status == GOOD:
                return GOOD
            if progress.verdict.status == ITERATE or progress.noisy or goes_on(progress.verdict.rate, stages, run):
                continue
        # coupled matrix, at the guess or at the present stages
        diverging = not good or progress.verdict.rate >= 1.0
        if (diverging and from_rest) or not may_couple(stages, run):
            return DIVERGED if good else NOT_FINITE
        if diverging or stages.mode == SIMPLIFIED:
            from_rest = diverging and formed
            _again(from_rest, run.start.lam, scratch, stages)
            follow(t, h, True, stages, run)
        stages.mode, stages.age, formed, progress = COUPLED, 0, True, nothing()
        status = form(t, h, stages, run.formula, run.model, run.work, scratch.other)
        if status != GOOD:
            stages.mode = SIMPLIFIED
            return status
        counts.jacobians += 1
        counts.factorisations += 1
    return DIVERGED


@compiled
def _begin(t, h, stages, run):
    """Stages from the guess, and factors in the middle of the step; `GOOD` or the code of a failure."""
    model, work, prepare = run.model, run.work, run.prepare
    _again(False, run.start.lam, run.scratch, stages)
    if stages.mode == COUPLED:
        stages.age += 1
        stages.mode = SIMPLIFIED if stages.age > MAX_COUPLED_STEPS else COUPLED
    follow(t, h, True, stages, run)
    run.counts.factorisations += 1
    status = prepare(t + 0.5 * h, middle(stages.Q), False, work, model, work)
    if status == GOOD:
        # minimum norm: corrections do not change the component in the null space of Phi_q^T, which grows by extrapolation
        for k in range(stages.L.shape[0]):
            kkt.minimise(model, work, stages.L[k])
    return status


@compiled
def _again(from_rest, lam, scratch, stages):
    """Start from the guess, or from zero accelerations and the multipliers of the start."""
    put_rows(scratch.W, stages.W)
    put_rows(scratch.U, stages.U)
    put_rows(scratch.L, stages.L)
    if from_rest:
        for i in range(stages.W.shape[0]):
            fill(stages.W[i], 0.0)
        for k in range(stages.U.shape[0]):
            fill(stages.U[k], 0.0)
            put(lam, stages.L[k])


# corrections -----------------------------------------------------------------------------------------------------------------


@compiled
def _correct(h, stages, run):
    """Correct with the matrix in use; the size of the correction in velocities and positions, relative to the largest of each."""
    f, s = run.formula, run.scratch
    if stages.mode == COUPLED:
        _coupled(h, stages, f, s)
        run.counts.solves += 1
    else:
        _simplified(h, run)
        run.counts.solves += s.Y.shape[0]
    speed = abs(h) * max(_largest_of_two(f.U, s.dW, f.R, s.dU), largest(s.Y[s.Y.shape[0] - 1]))
    shift = h * h * _largest_of_two(f.AU, s.dW, f.AR, s.dU)
    for k in range(s.Y.shape[0] - 1):
        shift = max(shift, h * h * largest(s.Y[k]))
    if not is_finite(speed + shift):
        return np.inf, np.inf
    _add_all(s.dW, stages.W)
    _add_all(s.dU, stages.U)
    _add_all(s.dL, stages.L)
    fastest = 1.0 + largest(run.start.v)
    for i in range(stages.V.shape[0]):
        fastest = max(fastest, largest(stages.V[i]))
    return speed / fastest, shift / extent(run.start.q, run.model, run.work)


@compiled
def _largest_of_two(A, x, B, y):
    """The largest entry of `|A x + B y|`, infinity if one is not finite."""
    out = 0.0
    for i in range(A.shape[0]):
        for k in range(x.shape[1]):
            total = 0.0
            for j in range(x.shape[0]):
                total += A[i, j] * x[j, k]
            for j in range(y.shape[0]):
                total += B[i, j] * y[j, k]
            if not is_finite(total):
                return np.inf
            out = max(out, abs(total))
    return out


@compiled
def _add_all(rows, out):
    """`out += rows`."""
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            out[i, k] += rows[i, k]


@compiled
def _simplified(h, run):
    """The corrections with decoupled stages; `Y` are those of the positions of the constraints and of the end, divided by `h^2` and `h`."""
    f, s, model, work = run.formula, run.scratch, run.model, run.work
    n, nv, m, nc = s.R.shape[0], s.R.shape[1], s.P.shape[0], s.P.shape[1]
    b, p = window(s.x, 0, nv), window(s.x, nv, nc)
    for i in range(n):
        sparse.mass_solve(part(model, work, lay.W_MINV), s.R[i], model, s.dW[i])
    for k in range(m):
        for r in range(nv):
            total = 0.0
            for i in range(n):
                total += f.PU[k, i] * s.R[i, r]
            for j in range(m):
                total += f.PR[k, j] * s.S[j, r]
            b[r] = total
        scale = h * h if k < m - 1 else h
        for r in range(nc):
            p[r] = -s.P[k, r] / scale
        kkt.solve(model, work, b, p, s.Y[k], s.Z[k])
    # dU = PR^-1 (Y - PU dW), dL = PR^-1 Z
    for k in range(m):
        fill(s.dL[k], 0.0)
        put(s.Y[k], s.S[k])
        for i in range(n):
            for r in range(nv):
                s.S[k, r] -= f.PU[k, i] * s.dW[i, r]
    for k in range(m):
        fill(s.dU[k], 0.0)
    add_rows(f.inverse, s.S, s.dU)
    add_rows(f.inverse, s.Z, s.dL)


@compiled
def _coupled(h, stages, f, s):
    """The corrections with the coupled matrix, and `Y` as in `_simplified`."""
    n, nv, m, nc, x = s.R.shape[0], s.R.shape[1], s.P.shape[0], s.P.shape[1], s.x
    reactions, multipliers = n * nv, (n + m) * nv
    for i in range(n):
        put(s.R[i], window(x, i * nv, nv))
    for k in range(m):
        put(s.S[k], window(x, reactions + k * nv, nv))
        scale = h * h if k < m - 1 else h
        for r in range(nc):
            x[multipliers + k * nc + r] = -s.P[k, r] / scale
    solve(stages.matrix, stages.pivots, x)
    for i in range(n):
        put(window(x, i * nv, nv), s.dW[i])
    for k in range(m):
        put(window(x, reactions + k * nv, nv), s.dU[k])
        put(window(x, multipliers + k * nc, nc), s.dL[k])
        fill(s.Y[k], 0.0)
    add_rows(f.PR, s.dU, s.Y)
    for k in range(m):
        for i in range(n):
            for r in range(nv):
                s.Y[k, r] += f.PU[k, i] * s.dW[i, r]
