"""Newton's method for the stages: simplified, with one factorisation for all stages, or with the coupled matrix.

    M Y_i + Phi_q^T Z_i = ((A A) r)_i,   Phi_q Y_i = -Phi_i/h^2,   Y = (A A) dW,   Z = (A A) dL

In the simplified method derivatives of forces and reactions are left out, and `Phi_q` of all stages is that in the middle of the step. The
stages are then decoupled, as above, with one factorisation of size `nv + nc`. The contraction rate is of the order of `h` times the
relative rate of change of `Phi_q`, plus `h^2` times stiffness over mass. If the convergence is too slow, the coupled matrix is used, also
in the following steps.
"""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled, window
from ...system import kkt
from ...system import layout as lay
from ...system.codes import DIVERGED, GOOD, NOT_FINITE
from ...system.dense import solve
from ...system.layout import count
from ...system.sparse import fill
from ...system.vectors import largest, put, put_rows
from ..control.newton import ITERATE, NewtonRule, Verdict, newton_test
from .stages import follow

SIMPLIFIED, COUPLED = range(2)
REUSE_RATE = 0.3  # contraction rate up to which a matrix is reused without a forecast of convergence
MAX_FORECAST_ITER = 12  # further iterations in the forecast of convergence at a larger rate
MAX_COUPLED_STEPS = 100  # after which the simplified method is tried again
POSITION_ROUNDING = 2e-15  # relative
STAGNATION_TOL = 1e-13  # relative corrections of positions below which stagnation is due to rounding
LATE_STAGNATION_TOL = 1e-11  # the same after `LATE_ITER` iterations, or after corrections that contracted
LATE_ITER = 4


class Progress(NamedTuple):
    """The convergence of Newton's method with one matrix.

    Attributes
    ----------
    k : int
        Number of corrections.
    size : float
        Size of the last correction of the velocities.
    left : float
        Its estimate without rounding.
    rate : float
        Contraction rate before the corrections were at rounding, 0 if it is not known.
    noisy : bool
        Whether the last correction was at rounding.
    verdict : Verdict
    """

    k: int
    size: float
    left: float
    rate: float
    noisy: bool
    verdict: Verdict


@compiled
def solve_stages(t, h, stages, run):
    """Solve for the stages of one step from the guess in `run.scratch`; `GOOD` or the code of a failure.

    After slow convergence the coupled matrix is formed at the present stages; after divergence at the guess. If the iteration diverges
    again, it restarts once from zero accelerations: those of stiff vibrations, constant over the step, are a poor guess.
    """
    counts, scratch, tol, form = run.counts, run.scratch, run.newton.tol, run.form
    from_rest, formed, progress = False, False, _nothing()
    status = _begin(t, h, stages, run)
    if status != GOOD:
        return status
    for iteration in range(1, run.newton.max_iter + 1):
        counts.newton_iterations += 1
        scratch.iterations = iteration
        # correction
        good = _residuals(t, h, stages, run)
        if good:
            progress = _test(tol, iteration, _correct(h, stages, run), progress)
            good = progress.verdict.status != NOT_FINITE
        # convergence test
        if good:
            follow(t, h, False, stages, run)
            if progress.verdict.status == GOOD:
                return GOOD
            if progress.verdict.status == ITERATE or progress.noisy:
                continue
        # coupled matrix, at the guess or at the present stages
        diverging = not good or progress.verdict.rate >= 1.0
        if diverging and from_rest:
            return DIVERGED if good else NOT_FINITE
        if diverging or stages.mode == SIMPLIFIED:
            from_rest = diverging and formed
            _again(from_rest, run.start.lam, scratch, stages)
            follow(t, h, True, stages, run)
        stages.mode, stages.age, formed, progress = COUPLED, 0, True, _nothing()
        status = form(t, h, stages, run.tableau, run.model, run.work, scratch.other)
        if status != GOOD:
            stages.mode = SIMPLIFIED
            return status
        counts.jacobians += 1
        counts.factorisations += 1
    return DIVERGED


@compiled
def _nothing():
    return Progress(0, np.inf, np.inf, 0.0, False, Verdict(ITERATE, 0.0, 1.0))


@compiled
def _begin(t, h, stages, run):
    """Stages from the guess, and factors in the middle of the step if they are used; `GOOD` or the code of a failure."""
    L, model, work, prepare = stages.L, run.model, run.work, run.prepare
    put_rows(run.scratch.W, stages.W)
    put_rows(run.scratch.L, L)
    if stages.mode == COUPLED:
        stages.age += 1
        stages.mode = SIMPLIFIED if stages.age > MAX_COUPLED_STEPS else COUPLED
    follow(t, h, True, stages, run)
    if stages.mode == SIMPLIFIED or count(model, lay.DEPENDENT):
        status = prepare(t + 0.5 * h, _middle(stages.Q), False, work, model, work)
        run.counts.factorisations += 1
        if status != GOOD:
            return status
        # minimum norm: corrections do not change the component in the null space of Phi_q^T, which grows by extrapolation
        for i in range(L.shape[0]):
            kkt.minimise(model, work, L[i])
    return GOOD


@compiled
def _middle(Q):
    """Positions in the middle of the step: those of the middle stage, or the mean of the two next to it."""
    s = Q.shape[0]
    q = np.empty(Q.shape[1])
    for k in range(q.shape[0]):
        q[k] = 0.5 * (Q[(s - 1) // 2, k] + Q[s // 2, k])
    return q


@compiled
def _residuals(t, h, stages, run):
    """Residuals of all stages; whether they are finite."""
    Q, V, W, L, R, P = stages.Q, stages.V, stages.W, stages.L, run.scratch.R, run.scratch.P
    c, model, work, evaluate, good = run.tableau.c, run.model, run.work, run.evaluate, True
    run.counts.residuals += c.shape[0]
    for i in range(c.shape[0]):
        good = good and evaluate(t + c[i] * h, Q[i], V[i], W[i], L[i], model, work, R[i], P[i])
    return good


@compiled
def _again(from_rest, lam, scratch, stages):
    """Restart from the guess, or from zero accelerations and the multipliers of the start."""
    W, L = stages.W, stages.L
    put_rows(scratch.W, W)
    put_rows(scratch.L, L)
    if from_rest:
        for i in range(W.shape[0]):
            fill(W[i], 0.0)
            put(lam, L[i])


@compiled
def _test(tol, iteration, correction, last):
    """`Progress` after a correction of velocities and positions, both relative.

    Rounding of positions, divided by `h`, enters the velocities and hides the error in the tangent space. Once a correction is at rounding,
    this error is estimated with the contraction rate before. A matrix is replaced if `MAX_FORECAST_ITER` further iterations do not suffice.
    """
    size, shift = correction
    k, rate, tried = last.k, last.rate, size / last.size
    noisy = shift <= POSITION_ROUNDING or (rate > 0.0 and tried > 2.0 * rate and shift <= LATE_STAGNATION_TOL)
    hidden = noisy and rate > 0.0
    left, before = (rate * last.left, last.left) if hidden else (size, last.size)
    # a first correction at rounding with a new matrix is the last; so are small corrections that stagnate
    first = 0.0 if noisy and iteration > 1 else 1.0
    stagnant = size <= tol or (not hidden and shift <= (STAGNATION_TOL if iteration <= LATE_ITER else LATE_STAGNATION_TOL))
    rule = NewtonRule(tol, k + 1 + MAX_FORECAST_ITER, 0.0, 1.0, 1, REUSE_RATE)
    verdict = newton_test(rule, k, size if size <= tol else left, before, first, stagnant)
    if not hidden and 0.0 < verdict.rate < 1.0:
        rate = verdict.rate
    return Progress(k + 1, size, left, rate, noisy, verdict)


# corrections -----------------------------------------------------------------------------------------------------------------


@compiled
def _correct(h, stages, run):
    """Correct with the matrix in use; the size of the correction in velocities and positions, relative to the largest of each."""
    is_coupled, tableau, Y = stages.mode == COUPLED, run.tableau, run.scratch.Y
    # dv = A dW = A^-1 (A A) dW, dq = (A A) dW
    if is_coupled:
        _coupled(h, stages, run.scratch)
        run.counts.solves += 1
        speed, shift = _largest_sum(tableau.A, Y), _largest_sum(tableau.AA, Y)
    else:
        _simplified(h, stages, run)
        run.counts.solves += Y.shape[0]
        speed, shift = _largest_sum(tableau.A_inverse, Y), 0.0
        for i in range(Y.shape[0]):
            shift = max(shift, largest(Y[i]))
    if not np.isfinite(speed + shift):
        return np.inf, np.inf
    V, fastest = stages.V, 1.0 + largest(run.start.v)
    for i in range(V.shape[0]):
        fastest = max(fastest, largest(V[i]))
    return abs(h) * speed / fastest, h * h * shift / (1.0 + largest(run.start.q))


@compiled
def _largest_sum(matrix, rows):
    """The largest entry of `|matrix rows|`, NaN or infinity if there is one."""
    out = 0.0
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            total = 0.0
            for j in range(rows.shape[0]):
                total += matrix[i, j] * rows[j, k]
            if not np.isfinite(total):
                return np.inf
            out = max(out, abs(total))
    return out


@compiled
def _simplified(h, stages, run):
    """The correction with decoupled stages; on return `Y = (A A) dW`."""
    scratch, tableau, model, work = run.scratch, run.tableau, run.model, run.work
    R, P, Y, Z, x, AA = scratch.R, scratch.P, scratch.Y, scratch.Z, scratch.x, tableau.AA
    s, nv, nc = R.shape[0], R.shape[1], P.shape[1]
    b, p = window(x, 0, nv), window(x, nv, nc)
    for i in range(s):
        for k in range(nv):
            total = 0.0
            for j in range(s):
                total += AA[i, j] * R[j, k]
            b[k] = total
        for k in range(nc):
            p[k] = -P[i, k] / (h * h)
        kkt.solve(model, work, b, p, Y[i], Z[i])
    _add(tableau.AA_inverse, Y, stages.W)
    _add(tableau.AA_inverse, Z, stages.L)


@compiled
def _add(matrix, rows, out):
    """`out += matrix rows`."""
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            total = 0.0
            for j in range(rows.shape[0]):
                total += matrix[i, j] * rows[j, k]
            out[i, k] += total


@compiled
def _coupled(h, stages, scratch):
    """The correction with the coupled matrix and right-hand sides `r_i`, `-Phi_i/h^2`; on return `Y = dW`."""
    R, P, Y, x, W, L = scratch.R, scratch.P, scratch.Y, scratch.x, stages.W, stages.L
    s, nv, nc = R.shape[0], R.shape[1], P.shape[1]
    n = nv + nc
    for i in range(s):
        for k in range(nv):
            x[i * n + k] = R[i, k]
        for k in range(nc):
            x[i * n + nv + k] = -P[i, k] / (h * h)
    solve(stages.matrix, stages.pivots, x)
    for i in range(s):
        for k in range(nv):
            Y[i, k] = x[i * n + k]
            W[i, k] += Y[i, k]
        for k in range(nc):
            L[i, k] += x[i * n + nv + k]
