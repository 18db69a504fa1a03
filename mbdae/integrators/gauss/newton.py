"""The equations of the stages solved: simplified Newton with one factorisation, or Newton's method with all stages coupled.

Simplified: derivatives of forces and reactions are left out, and the gradients of all stages are those in the middle of the step. With
`Y = (A A) dW`, `Z = (A A) dL` the stages fall apart,

    M Y_i + Phi_q^T Z_i = ((A A) r)_i,   Phi_q Y_i = -Phi_i/h^2,

and one factorisation of size `nv + nc` serves all. Corrections shrink by a factor of the order of `h` times the rate at which the
gradients turn, and of `h^2` times stiffness over mass. Where that is not enough the coupled matrix takes over, and stays.
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
QUICK = 0.3  # contraction rate up to which a matrix is kept anyway
PATIENCE = 12  # further iterations that it may ask for if it is slower
RETRY = 100  # steps with coupled matrices after which one is begun without
ROUNDING = 2e-15  # of positions, relative
NOISE = 1e-13  # corrections of positions, relative, that are rounding if they do not shrink
STILL = 1e-11  # the same for corrections that did shrink before, or after so many iterations
PATIENT = 4


class Progress(NamedTuple):
    """Of Newton's method with one matrix.

    Attributes
    ----------
    k : int
        Number of corrections.
    size : float
        The last correction of the velocities.
    left : float
        The same without noise.
    rate : float
        Contraction rate before the corrections were noise, 0 if it is not known.
    noisy : bool
        Whether the last correction was noise.
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
    """The stages of one step from the guess in `run.scratch`; `GOOD` or what is wrong.

    Where a matrix does not serve, one of all stages is formed, at the guess if the iteration was about to diverge. If that does not help
    it begins once more without accelerations: those of stiff vibrations lead far away if they are taken to last for the step.
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
        # the test
        if good:
            follow(t, h, False, stages, run)
            if progress.verdict.status == GOOD:
                return GOOD
            if progress.verdict.status == ITERATE or progress.noisy:
                continue
        # another matrix, at the guess or at the present stages
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
    """The stages that follow from the guess, and the factors in the middle of the step where they are needed."""
    L, model, work, prepare = stages.L, run.model, run.work, run.prepare
    put_rows(run.scratch.W, stages.W)
    put_rows(run.scratch.L, L)
    if stages.mode == COUPLED:
        stages.age += 1
        stages.mode = SIMPLIFIED if stages.age > RETRY else COUPLED
    follow(t, h, True, stages, run)
    if stages.mode == SIMPLIFIED or count(model, lay.DEPENDENT):
        status = prepare(t + 0.5 * h, _middle(stages.Q), False, work, model, work)
        run.counts.factorisations += 1
        if status != GOOD:
            return status
        # no correction touches the part in the null space of Phi_q^T: extrapolated from step to step it would grow
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
    """Another attempt: without accelerations and with the multipliers of the start, or with the guess."""
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

    Positions are known to rounding, and what that makes of the velocities, `1/h` times as much, is no measure of the error that is left in
    the directions that the constraints leave free. Once a correction is noise, the rate before it tells how they contract. A matrix is
    given up if `PATIENCE` further iterations will not do.
    """
    size, shift = correction
    k, rate, tried = last.k, last.rate, size / last.size
    noisy = shift <= ROUNDING or (rate > 0.0 and tried > 2.0 * rate and shift <= STILL)
    hidden = noisy and rate > 0.0
    left, before = (rate * last.left, last.left) if hidden else (size, last.size)
    # a first correction with a new matrix that is rounding leaves nothing; small ones that do not contract have come to their end
    first = 0.0 if noisy and iteration > 1 else 1.0
    stagnant = size <= tol or (not hidden and shift <= (NOISE if iteration <= PATIENT else STILL))
    rule = NewtonRule(tol, k + 1 + PATIENCE, 0.0, 1.0, 1, QUICK)
    verdict = newton_test(rule, k, size if size <= tol else left, before, first, stagnant)
    if not hidden and 0.0 < verdict.rate < 1.0:
        rate = verdict.rate
    return Progress(k + 1, size, left, rate, noisy, verdict)


# corrections -----------------------------------------------------------------------------------------------------------------


@compiled
def _correct(h, stages, run):
    """A correction by the matrix in use; how large it is in the velocities and positions of the stages, relative to the largest ones."""
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
    """The correction; afterwards `Y = (A A) dW`."""
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
    """The correction with right-hand sides `r_i`, `-Phi_i/h^2`; afterwards `Y = dW`."""
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
