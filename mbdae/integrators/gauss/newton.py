"""Newton's method for the stages: simplified, with one factorisation for all stages, or with the coupled matrix.

    M Y_i + Phi_q^T Z_i = (B r)_i,   Phi_q Y_i = -p_i,   Y = B dW,   Z = B dL

For constraints on positions `B = A A` and `p_i = Phi_i/h^2`; for velocities the rows of `B` are those of the constraints, the moments of
the stages and the end, and `p_i` these divided by `h`. One more solution gives the corrections of `u` and `mu`,

    M du + Phi_q^T dmu = -sum_i b_i (M_i u + Phi_q,i^T mu),   Phi_q du = -Phi(t1, q1)/h - Phi_q sum_i b_i dV_i,

also where the coupled matrix is used: the motion of the stages does not change `Phi(t1, q1)` once the velocities satisfy their constraints.
With both constraints in the stages `B = A`, `p_i = g_i/h`, and there are `s` such solutions for `X = A du`,

    M X_i + Phi_q^T (A dmu)_i = -sum_j a_ij (M_j u_j + Phi_q,j^T mu_j),   Phi_q X_i = -Phi_i/h + sum_j a_ij g_j.

In the simplified method derivatives of forces and reactions are left out, and `Phi_q` of all stages is that in the middle of the step. The
stages are then decoupled, as above, with one factorisation of size `nv + nc`. The contraction rate is of the order of `h` times the
relative rate of change of `Phi_q`, plus `h^2` times stiffness over mass. If the convergence is too slow, the coupled matrix is used, also
in the following steps, or the step is shortened, see `choice`.
"""

import numpy as np

from ...compilation.compiled import compiled, window
from ...system import kkt
from ...system import layout as lay
from ...system.codes import DIVERGED, GOOD, NOT_FINITE
from ...system.dense import solve
from ...system.extent import extent
from ...system.layout import count
from ...system.sparse import fill
from ...system.vectors import is_finite, largest, put, put_rows
from ..control.newton import ITERATE
from .choice import COUPLED, SIMPLIFIED, goes_on, may_couple
from .progress import nothing, progress_after
from .stages import GGL, POSITION, VELOCITY, end_of, follow, residuals

RENEWAL_TOL = 1e-6  # relative correction of positions below which the null space of redundant constraints is that of the solution
MAX_COUPLED_STEPS = 100  # after which the simplified method is tried again


@compiled
def solve_stages(t, h, stages, run):
    """Solve for the stages of one step from the guess in `run.scratch`; `GOOD` or the code of a failure.

    Where the stages satisfy redundant constraints on velocities, their positions are near those where the constraints lose rank;
    multipliers without a component in the null space of `Phi_q^T` in the middle of the step make them unique. The null space is taken
    twice, at the guess and close to the solution, so that it does not depend on the guess.

    After slow convergence the coupled matrix is formed at the present stages; after divergence at the guess. If the iteration diverges
    again, it restarts once from zero accelerations: those of stiff vibrations, constant over the step, are a poor guess.
    """
    counts, scratch, tol, form = run.counts, run.scratch, run.newton.tol, run.form
    from_rest, formed, progress, correction = False, False, nothing(), (np.inf, np.inf)
    renew = run.level == VELOCITY and count(run.model, lay.DEPENDENT) > 0
    stages.rate, status = 0.0, _begin(t, h, stages, run)
    if status != GOOD:
        return status
    for iteration in range(1, run.newton.max_iter + 1):
        counts.newton_iterations += 1
        scratch.iterations = iteration
        # correction
        good = residuals(t, h, stages, run)
        if good:
            correction = _correct(h, stages, run)
            progress = progress_after(tol, iteration, correction, progress)
            good = progress.verdict.status != NOT_FINITE
            if not progress.noisy and progress.verdict.rate > 0.0:
                stages.rate = progress.verdict.rate
        # convergence test
        if good:
            follow(t, h, False, stages, run)
            if progress.verdict.status == GOOD:
                return GOOD
            if progress.verdict.status == ITERATE or progress.noisy or goes_on(progress.verdict.rate, stages, run):
                if renew and correction[1] < RENEWAL_TOL:
                    renew, progress, status = False, nothing(), _factorise(t, h, stages, run)
                if status != GOOD:
                    return status
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
        if run.level != POSITION:
            end_of(t, h, stages, run, scratch.end_q, scratch.end_v)
            status = _factorise(t, h, stages, run)
        if status == GOOD:
            status = form(t, h, stages, run.tableau, run.level, scratch.end_q, scratch.end_v, run.model, run.work, scratch.other)
        if status != GOOD:
            stages.mode = SIMPLIFIED
            return status
        counts.jacobians += 1
        counts.factorisations += 1
    return DIVERGED


@compiled
def _begin(t, h, stages, run):
    """Stages from the guess, and factors in the middle of the step if they are used; `GOOD` or the code of a failure."""
    put_rows(run.scratch.W, stages.W)
    put_rows(run.scratch.L, stages.L)
    _clear(stages)
    if stages.mode == COUPLED:
        stages.age += 1
        stages.mode = SIMPLIFIED if stages.age > MAX_COUPLED_STEPS else COUPLED
    follow(t, h, True, stages, run)
    if stages.mode == SIMPLIFIED or run.level != POSITION or count(run.model, lay.DEPENDENT):
        return _factorise(t, h, stages, run)
    return GOOD


@compiled
def _clear(stages):
    """`u = 0` and `mu = 0`."""
    for i in range(stages.u.shape[0]):
        fill(stages.u[i], 0.0)
        fill(stages.mu[i], 0.0)


@compiled
def _factorise(t, h, stages, run):
    """Factorise in the middle of the step; `GOOD` or the code of a failure."""
    L, model, work, prepare = stages.L, run.model, run.work, run.prepare
    run.counts.factorisations += 1
    status = prepare(t + 0.5 * h, middle(stages.Q), False, work, model, work)
    if status == GOOD:
        # minimum norm: corrections do not change the component in the null space of Phi_q^T, which grows by extrapolation
        for i in range(L.shape[0]):
            kkt.minimise(model, work, L[i])
        for i in range(stages.mu.shape[0]):
            kkt.minimise(model, work, stages.mu[i])
    return status


@compiled
def middle(Q):
    """Positions in the middle of the step: those of the middle stage, or the mean of the two next to it."""
    s = Q.shape[0]
    q = np.empty(Q.shape[1])
    for k in range(q.shape[0]):
        q[k] = 0.5 * (Q[(s - 1) // 2, k] + Q[s // 2, k])
    return q


@compiled
def _again(from_rest, lam, scratch, stages):
    """Restart from the guess, or from zero accelerations and the multipliers of the start."""
    W, L = stages.W, stages.L
    put_rows(scratch.W, W)
    put_rows(scratch.L, L)
    _clear(stages)
    if from_rest:
        for i in range(W.shape[0]):
            fill(W[i], 0.0)
            put(lam, L[i])


# corrections -----------------------------------------------------------------------------------------------------------------


@compiled
def _correct(h, stages, run):
    """Correct with the matrix in use; the size of the correction in velocities and positions, relative to the largest of each."""
    is_coupled, tableau, Y, du = stages.mode == COUPLED, run.tableau, run.scratch.Y, run.scratch.du
    # dV = h A dW, dQ = h^2 (A A) dW
    if is_coupled:
        _coupled(h, run.level, stages, run.scratch)
        run.counts.solves += 1
        speed, shift = abs(h) * largest_sum(tableau.A, Y), h * h * largest_sum(tableau.AA, Y)
    else:
        _simplified(h, stages, run)
        run.counts.solves += Y.shape[0]
        speed, shift = abs(h) * largest_sum(tableau.speeds, Y), h * h * largest_sum(tableau.shifts, Y)
    if run.level == VELOCITY:
        _correct_end(h, stages, run)
        speed, shift = max(speed, largest(du[0])), max(shift, abs(h) * largest(du[0]))
    elif run.level == GGL:
        _correct_each(h, stages, run)
        speed, shift = max(speed, largest_sum(tableau.mix_inverse, du)), max(shift, abs(h) * largest_all(du))
    if not is_finite(speed + shift):
        return np.inf, np.inf
    V, fastest = stages.V, 1.0 + largest(run.start.v)
    for i in range(V.shape[0]):
        fastest = max(fastest, largest(V[i]))
    return speed / fastest, shift / extent(run.start.q, run.model, run.work)


@compiled
def largest_sum(matrix, rows):
    """The largest entry of `|matrix rows|`, NaN or infinity if there is one."""
    out = 0.0
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            total = 0.0
            for j in range(rows.shape[0]):
                total += matrix[i, j] * rows[j, k]
            if not is_finite(total):
                return np.inf
            out = max(out, abs(total))
    return out


@compiled
def _simplified(h, stages, run):
    """The correction with decoupled stages; on return `Y = B dW`."""
    scratch, tableau, model, work, level = run.scratch, run.tableau, run.model, run.work, run.level
    R, P, Y, Z, x, mix = scratch.R, scratch.P, scratch.Y, scratch.Z, scratch.x, tableau.mix
    s, nv, nc = R.shape[0], R.shape[1], P.shape[1]
    b, p, scale = window(x, 0, nv), window(x, nv, nc), h * h if level == POSITION else h
    for i in range(s):
        for k in range(nv):
            total = 0.0
            for j in range(s):
                total += mix[i, j] * R[j, k]
            b[k] = total
        for k in range(nc):
            p[k] = -P[i, k] / scale
        kkt.solve(model, work, b, p, Y[i], Z[i])
    add_rows(tableau.mix_inverse, Y, stages.W)
    add_rows(tableau.mix_inverse, Z, stages.L)


@compiled
def _correct_end(h, stages, run):
    """Correct `u` and `mu`, which are the same in all stages."""
    scratch, u, mu, du, dmu = run.scratch, stages.u[0], stages.mu[0], run.scratch.du[0], run.scratch.dmu[0]
    b, p = window(scratch.x, 0, u.shape[0]), window(scratch.x, u.shape[0], mu.shape[0])
    # Phi_q sum_i b_i dV_i = -P_0 for s > 1, and one half of it for s = 1
    share = 0.5 if scratch.P.shape[0] == 1 else 1.0
    for k in range(u.shape[0]):
        b[k] = -scratch.balance[0, k]
    for k in range(mu.shape[0]):
        p[k] = share * scratch.P[0, k] - scratch.drift[0, k] / h
    run.counts.solves += 1
    kkt.solve(run.model, run.work, b, p, du, dmu)
    for k in range(u.shape[0]):
        u[k] += du[k]
    for k in range(mu.shape[0]):
        mu[k] += dmu[k]


@compiled
def _correct_each(h, stages, run):
    """Correct the `u` and `mu` of each stage; on return `du` is the correction of `A u`."""
    scratch, A, u, mu = run.scratch, run.tableau.A, stages.u, stages.mu
    P, drift, balance, du, dmu = scratch.P, scratch.drift, scratch.balance, scratch.du, scratch.dmu
    b, p = window(scratch.x, 0, u.shape[1]), window(scratch.x, u.shape[1], mu.shape[1])
    run.counts.solves += u.shape[0]
    for i in range(u.shape[0]):
        for k in range(b.shape[0]):
            b[k] = 0.0
            for j in range(u.shape[0]):
                b[k] -= A[i, j] * balance[j, k]
        for k in range(p.shape[0]):
            p[k] = -drift[i, k] / h
            for j in range(u.shape[0]):
                p[k] += A[i, j] * P[j, k]
        kkt.solve(run.model, run.work, b, p, du[i], dmu[i])
    add_rows(run.tableau.mix_inverse, du, u)
    add_rows(run.tableau.mix_inverse, dmu, mu)


@compiled
def largest_all(rows):
    """The largest absolute value of all rows."""
    out = 0.0
    for i in range(rows.shape[0]):
        out = max(out, largest(rows[i]))
    return out


@compiled
def add_rows(matrix, rows, out):
    """`out += matrix rows`."""
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            total = 0.0
            for j in range(rows.shape[0]):
                total += matrix[i, j] * rows[j, k]
            out[i, k] += total


@compiled
def _coupled(h, level, stages, scratch):
    """The correction with the coupled matrix and right-hand sides `r_i`, `-p_i`, as in `_simplified`; on return `Y = dW`."""
    R, P, Y, x, W, L = scratch.R, scratch.P, scratch.Y, scratch.x, stages.W, stages.L
    s, nv, nc = R.shape[0], R.shape[1], P.shape[1]
    n, scale = nv + nc, h * h if level == POSITION else h
    for i in range(s):
        for k in range(nv):
            x[i * n + k] = R[i, k]
        for k in range(nc):
            x[i * n + nv + k] = -P[i, k] / scale
    solve(stages.matrix, stages.pivots, x)
    for i in range(s):
        for k in range(nv):
            Y[i, k] = x[i * n + k]
            W[i, k] += Y[i, k]
        for k in range(nc):
            L[i, k] += x[i * n + nv + k]
