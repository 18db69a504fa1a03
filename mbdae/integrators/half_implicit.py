"""The half-implicit method for index-3 equations [Fang, eqs. (4)-(12)]."""

from dataclasses import dataclass

import numpy as np

from ..compilation.compiled import compiled
from ..compilation.structure import Structure
from ..system import kernels, kkt, sparse
from ..system import layout as lay
from ..system.codes import DIVERGED, GOOD
from ..system.coupling import add_response, coupled_forces, follow, next_step, oriented
from ..system.layout import header, part
from ..system.least_norm import solve_least_norm
from ..system.system import System
from ..system.two_positions import solve_two_positions
from ..system.vectors import is_finite, largest, put
from ..typing import Vector
from .control.loop import loops, shortened, step_from
from .control.newton import NOISY_RATE, newton_test
from .control.records import put_state
from .one_step import COUPLED_ROUNDING_RATIO, OneStep, accept, at_rounding, balance, between, retry

DYNAMICS_TOL = 1e-6  # residual of the equations of motion, relative to accelerations, if forces depend on the multipliers
DIVERGENCE_RATIO = 1e4  # of a correction and the smallest one, above which the iteration diverges
MOST_DENSE = 4e9  # `nc^3` of all dense matrices of one step: a few seconds


class Scratch(Structure):
    """Vectors of a step."""

    b: Vector  # M^-1 (Q - G^T lam)
    d: Vector  # displacement
    e: Vector  # residual of the equations of motion
    r: Vector  # residual of the constraints, correction of the multipliers
    q1: Vector  # positions at the end of the step
    lam0: Vector  # initial guess of the multipliers


@compiled
def _solve(t, h, state, following, run):
    """Solve for the accelerations and multipliers at `t` with `Phi(t + h) = 0`; `GOOD` or the code of a failure.

    `state.a` and `state.lam` are the initial guess. After the first correction eqs. (11a), (11b) hold, and Newton's method with the matrix
    (12) is one solve with `B = G M^-1 G^T` per iteration. If forces depend on the multipliers, (11a) is evaluated in every iteration;
    `following` is `None` if they do not, and those parts are not compiled then. In a step across a singular position the frozen matrix can
    have the wrong sign; if the iteration diverges, it is replaced by the exact one in every iteration, see `_solve_anew`.
    """
    a, lam, s = state.a, state.lam, run.scratch
    b, d, e, r, q1, lam0 = s.b, s.d, s.e, s.r, s.q1, s.lam0
    model, work, counts = run.model, run.work, run.counts
    put(lam, lam0)
    G = part(model, work, lay.W_G)
    _begin(t, state, run)
    if following is not None:
        forces, phi = _prepare(t, state, following, run)
    size, smallest, frozen, rate, dense = np.inf, np.inf, True, 0.0, MOST_DENSE
    for k in range(run.newton.max_iter):
        counts.newton_iterations += 1
        counts.residuals += 1
        counts.solves += 1
        unbalanced = k == 0
        if following is not None:
            unbalanced = True
            followed = _follow(t, state, rate, forces, following, run)
        violation = _violation(t, h, state, run)
        # corrections: B dlam_hat = Phi - G M^-1 e, dx = -M^-1 (e + G^T dlam_hat), where -M^-1 e = h^2 (b - a) at first and zero then
        if unbalanced:
            for i in range(d.shape[0]):
                e[i] = h * h * (b[i] - a[i])
            if following is not None:
                put(r, phi)
                missing = largest(e)
            sparse.add_times(G, e, model, r)
        if frozen:
            kkt.solve_reduced(model, work, r, r)
        else:
            dense = _solve_anew(t + h, dense, run)
            counts.factorisations += 1
            counts.jacobians += 1
        if following is not None and followed:
            dense = _respond(t + h, frozen, dense, phi, following, run)
        if dense < 0.0:
            return DIVERGED
        before, size = size, _correct(h, unbalanced, state, run)
        # convergence test
        noisy = size > NOISY_RATE * before and at_rounding(violation, state.q, q1, G, model, work)
        verdict = newton_test(run.newton, k, size, before, 1.0, noisy)
        converged, rate = verdict.status == GOOD, verdict.rate
        if following is not None:
            converged = converged and _balanced(missing, h, state.q, a, run)
            if converged and followed and not oriented(following.coupling):
                return DIVERGED
        if converged:
            kkt.minimise(model, work, lam)
            return GOOD
        smallest = min(smallest, size)
        if frozen and k > 0 and not (size <= DIVERGENCE_RATIO * smallest and 2 * (k + 1) < run.newton.max_iter):
            put(b, a)  # restart from the guess
            put(lam0, lam)
            frozen, size = False, np.inf
        elif not is_finite(size):
            return verdict.status
    return DIVERGED


@compiled
def _begin(t, state, run):
    """The iteration matrix, and `run.scratch.b = M^-1 (Q - G^T lam)` with the guess of the multipliers."""
    q, v, d, model, work = state.q, state.v, run.scratch.d, run.model, run.work
    G, L = part(model, work, lay.W_G), part(model, work, lay.W_MINV)
    kernels.place(t, q, model, work)
    kernels.place_velocity(v, model, work)
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    kkt.factor(model, work, header(model)[lay.CONSTANT_MASS] == 0)
    run.counts.factorisations += 1
    run.counts.jacobians += 1
    kernels.force(t, q, v, state.lam, model, work, d)
    _required(state.lam, run.scratch.b, d, G, L, model)


@compiled
def _violation(t, h, state, run):
    """`Phi` at the positions at `t + h`, eqs. (4) and (9d), into `run.scratch.r`; its largest component."""
    d, q1, r, v, a = run.scratch.d, run.scratch.q1, run.scratch.r, state.v, state.a
    for i in range(d.shape[0]):
        d[i] = h * (v[i] + h * a[i])
    kernels.retract(state.q, d, run.model, q1)
    kernels.place(t + h, q1, run.model, run.work)
    kernels.phi(t + h, q1, run.model, run.work, r)
    return largest(r)


@compiled
def _correct(h, unbalanced, state, run):
    """Add the corrections for `dlam_hat` in `run.scratch.r` to the accelerations and multipliers; their norm as in eq. (8)."""
    d, e, r, model, work, a, lam = run.scratch.d, run.scratch.e, run.scratch.r, run.model, run.work, state.a, state.lam
    sparse.fill(d, 0.0)
    sparse.add_transposed(part(model, work, lay.W_G), r, model, d)
    sparse.mass_solve(part(model, work, lay.W_MINV), d, model, d)
    size = 0.0
    for i in range(d.shape[0]):
        if unbalanced:
            d[i] -= e[i]
        size += d[i] * d[i]
        a[i] -= d[i] / (h * h)
    for i in range(r.shape[0]):
        size += r[i] * r[i]
        lam[i] += r[i] / (h * h)
    return np.sqrt(size)


@compiled
def _solve_or_balance(t, h, state, run):
    """`_solve`; if it fails with joint friction, again from the multipliers of the equations of motion."""
    status = _solve(t, h, state, run.following, run)
    if run.following is not None and status != GOOD:
        put(run.scratch.lam0, state.lam)
        if balance(t, state, run) == GOOD:
            return _solve(t, h, state, run.following, run)
    return status


@compiled
def _required(lam, b, forces, G, L, model):
    """`b = M^-1 (Q - G^T lam)`."""
    sparse.fill(b, 0.0)
    sparse.add_transposed(G, lam, model, b)
    for k in range(b.shape[0]):
        b[k] = forces[k] - b[k]
    sparse.mass_solve(L, b, model, b)


@compiled
def _prepare(t, state, following, run):
    """The part of the forces in `run.scratch.d` that does not depend on the multipliers, and an array for the constraints."""
    next_step(following)
    d = run.scratch.d
    forces = np.empty_like(d)
    coupled_forces(t, state.q, state.v, state.lam, run.model, run.work, forces)
    for k in range(d.shape[0]):
        forces[k] = d[k] - forces[k]
    return forces, np.empty_like(state.lam)


@compiled
def _follow(t, state, rate, forces, following, run):
    """Evaluate `run.scratch.b` with the present multipliers; whether the iteration matrix contains `dQ/dlam`."""
    q, v, lam, b, d, model, work = state.q, state.v, state.lam, run.scratch.b, run.scratch.d, run.model, run.work
    kernels.place(t, q, model, work)
    kernels.place_velocity(v, model, work)
    coupled_forces(t, q, v, lam, model, work, d)
    for k in range(d.shape[0]):
        d[k] += forces[k]
    _required(lam, b, d, part(model, work, lay.W_G), part(model, work, lay.W_MINV), model)
    return follow(t, q, v, lam, rate, following, model, work)


@compiled
def _respond(t, frozen, dense, phi, following, run):
    """Add `dQ/dlam r`, for the correction `r` of the multipliers, to the residual `e`, and solve for `r` again; see `_solve_anew`."""
    d, e, r, model, work = run.scratch.d, run.scratch.e, run.scratch.r, run.model, run.work
    G, L = part(model, work, lay.W_G), part(model, work, lay.W_MINV)
    sparse.fill(d, 0.0)
    add_response(r, following.coupling, d)
    sparse.mass_solve(L, d, model, d)
    for k in range(d.shape[0]):
        e[k] += d[k]
    put(phi, r)
    sparse.add_times(G, e, model, r)
    if not frozen:
        return _solve_anew(t, dense, run)
    kkt.solve_reduced(model, work, r, r)
    return dense


@compiled
def _balanced(missing, h, q, a, run):
    """Whether `missing`, the residual of the equations of motion before the last correction times `h^2`, is below its tolerance."""
    model, work = run.model, run.work
    return missing <= DYNAMICS_TOL * h * h * (1.0 + largest(a)) or at_rounding(
        COUPLED_ROUNDING_RATIO * missing, q, run.scratch.q1, part(model, work, lay.W_G), model, work)


@compiled
def _solve_anew(t, dense, run):
    """Solve `(G(q1) M^-1 G^T) x = r` for `r` and `q1` of `run.scratch`, into `r`; the minimum-norm solution if the matrix is singular.

    A singular matrix is dense. Returns what is left of `dense`, see `MOST_DENSE`; if that is negative there is no solution.
    """
    q1, r, model, work = run.scratch.q1, run.scratch.r, run.model, run.work
    G1 = np.empty_like(part(model, work, lay.W_G))
    kernels.phi_q(t, q1, model, work, G1)
    if solve_two_positions(G1, model, work, r):
        return dense
    dense -= float(r.shape[0]) ** 3
    if dense >= 0.0:
        _solve_dense(G1, run)
    return dense


@compiled
def _solve_dense(G1, run):
    """`_solve_anew` with a dense matrix."""
    d, r, model, work = run.scratch.d, run.scratch.r, run.model, run.work
    G, L, e, column = part(model, work, lay.W_G), part(model, work, lay.W_MINV), np.zeros_like(r), np.empty_like(r)
    B = np.empty((r.shape[0], r.shape[0]))
    for k in range(r.shape[0]):
        e[k] = 1.0
        sparse.fill(d, 0.0)
        sparse.add_transposed(G, e, model, d)
        sparse.mass_solve(L, d, model, d)
        sparse.times(G1, d, model, column)
        for i in range(r.shape[0]):
            B[i, k] = column[i]
        e[k] = 0.0
    solve_least_norm(B, r)


@compiled
def _attempt(t, h, end, run):
    """One step, and the accelerations and multipliers of the next.

    After a last step of another length they follow from the equations of motion: those of the step would be its change of velocity
    divided by its length.
    """
    clock, start, new, d = run.clock, run.start, run.end, run.scratch.d
    if clock.steps == 0:
        status = _first(t, h, run)
        if status != GOOD:
            return status, 0.0
    else:
        put(start.a, new.a)
        put(start.lam, new.lam)
    # v1 = v + h a, q1 = q (+) h v1, eqs. (3), (4)
    v0, v1, a = start.v, new.v, new.a
    for k in range(d.shape[0]):
        v1[k] = v0[k] + h * a[k]
        d[k] = h * v1[k]
    kernels.retract(start.q, d, run.model, new.q)
    if shortened(h, clock):
        return balance(end, new, run), 0.0
    following = step_from(end, clock.steps + 1, clock).h if end != clock.t_end else h
    return _solve_or_balance(end, following, new, run), 0.0


@compiled
def _first(t, h, run):
    """Accelerations and multipliers of the first step into `run.end`; the initial values are not changed."""
    put_state(run.start, run.end)
    return _solve_or_balance(t, h, run.end, run)


LOOPS = loops(_attempt, retry, accept, between)


@dataclass(frozen=True)
class HalfImplicit(OneStep):
    """Half-implicit Euler for index-3 equations: symplectic, explicit in velocities and forces, implicit in positions.

    `v1 = v + h a`, `q1 = q (+) h v1`, with `M a + Phi_q(q)^T lam = Q(q, v)` and `Phi(t1, q1) = 0` [Fang, eqs. (3)-(5)]. The
    iteration matrix (12) is formed once per step. First order in `q`, `v` and `lam`. Forces are explicit, so the method does not suit stiff
    ones: `h` times the largest frequency must stay below 2. Joint friction depends on the multipliers of the same step.

    Parameters
    ----------
    h : float
        Step size [s].
    tol : float
        Newton's method stops when the norm of the correction of `(q, h^2 lam)` is below it [Fang, eq. (8)].
    max_iter : int
        Newton iterations per step, after which the run ends with `NEWTON_FAILED`.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.HalfImplicit(h=1e-3), (0.0, 0.1))
    >>> run.success
    True
    """

    h: float = 1e-3
    tol: float = 1e-10
    max_iter: int = 100

    loops = LOOPS
    stability = 2.0

    def scratch(self, system: System) -> Scratch:
        """See `OneStep`."""
        nv, nc = np.zeros(system.nv), np.zeros(system.nc)
        return Scratch(b=nv, d=nv.copy(), e=nv.copy(), r=nc, q1=np.zeros(system.nq), lam0=nc.copy())
