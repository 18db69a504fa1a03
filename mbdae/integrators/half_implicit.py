"""The half-implicit method for index-3 equations [Fang, eqs. (4)-(12)]."""

from dataclasses import dataclass

import numpy as np

from ..compilation.compiled import compiled
from ..system import kernels, kkt, sparse
from ..system import layout as lay
from ..system.coupling import add_response, coupled_forces, follow, next_step, oriented
from ..system.layout import header, part
from ..system.vectors import largest
from .one_step import CONVERGED, COUPLED_ROUNDING, DIVERGED, EXPLODED, ITERATIONS, MATRICES, NOT_FINITE, FixedStep, at_rounding, balance

BALANCE = 1e-6  # of the equations of motion, relative to accelerations, where forces depend on the multipliers


@compiled
def _solve_step(t, h, q, v, a, lam, scratch, following, tol, max_iter, model, work, counts):
    """Multipliers and accelerations at `t` that put the constraints right at `t + h`; returns the status.

    On entry `a` and `lam` are the guess, from the step before. After the first correction eqs. (11a), (11b) hold, so that Newton's method
    with the matrix (12) is one solve with `B = G M^-1 G^T` per iteration; where forces depend on the multipliers (11a) is evaluated in
    every iteration. Where a step leads across a singular position that matrix can have the wrong sign; then the true one is formed in
    every iteration.
    """
    b, d, e, r, q1, lam0 = scratch
    lam0[:] = lam
    G, L = part(model, work, lay.W_G), part(model, work, lay.W_MINV)
    # equations of motion at t with the old multipliers: they ask for the accelerations b
    kernels.place(q, model, work)
    kernels.place_velocity(v, model, work)
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    kkt.factor(model, work, header(model)[lay.CONSTANT_MASS] == 0)
    counts[MATRICES] += 1
    kernels.force(t, q, v, lam, model, work, d)
    b[:] = 0.0
    sparse.add_transposed(G, lam, model, b)
    for k in range(a.shape[0]):
        b[k] = d[k] - b[k]
    sparse.mass_solve(L, b, model, b)
    if following is not None:
        forces, phi = _prepare(t, q, v, lam, d, following, model, work)
    size, smallest, frozen, rate = np.inf, np.inf, True, 0.0
    for iteration in range(1, max_iter + 1):
        counts[ITERATIONS] += 1
        open_motion = iteration == 1
        if following is not None:
            open_motion = True
            followed = _follow(t, q, v, lam, rate, b, d, forces, following, model, work)
        # position at t + h, eqs. (4) and (9d)
        for k in range(d.shape[0]):
            d[k] = h * (v[k] + h * a[k])
        kernels.retract(q, d, model, q1)
        kernels.place(q1, model, work)
        kernels.phi(t + h, q1, model, work, r)
        opening = largest(r)
        # corrections: B dlam_hat = Phi - G M^-1 e, dx = -M^-1 (e + G^T dlam_hat), where -M^-1 e = h^2 (b - a) at first and zero then
        if open_motion:
            for k in range(d.shape[0]):
                e[k] = h * h * (b[k] - a[k])
            if following is not None:
                phi[:], missing = r, largest(e)
            sparse.add_times(G, e, model, r)
        if frozen:
            kkt.solve_reduced(model, work, r, r)
        else:
            _solve_anew(t + h, q1, G, L, d, r, model, work)
            counts[MATRICES] += 1
        if following is not None and followed:
            _respond(t + h, frozen, q1, d, e, r, phi, following, model, work)
        d[:] = 0.0
        sparse.add_transposed(G, r, model, d)
        sparse.mass_solve(L, d, model, d)
        before, size = size, 0.0
        for k in range(d.shape[0]):
            if open_motion:
                d[k] -= e[k]
            size += d[k] * d[k]
            a[k] -= d[k] / (h * h)
        for k in range(r.shape[0]):
            size += r[k] * r[k]
            lam[k] += r[k] / (h * h)
        converged = size < tol * tol or (size > 0.25 * before and at_rounding(opening, q1, G))
        if following is not None:
            rate, converged = np.sqrt(size / before), converged and _balanced(missing, h, q1, a, G)
            if converged and followed and not oriented(following.coupling):
                return DIVERGED
        if converged:
            kkt.minimise(model, work, lam)
            return CONVERGED
        smallest = min(smallest, size)
        if frozen and iteration > 1 and not (size <= EXPLODED * smallest and 2 * iteration < max_iter):
            a[:], lam[:] = b, lam0  # anew from the guess
            frozen, size = False, np.inf
        elif not np.isfinite(size):
            return NOT_FINITE
    return DIVERGED


@compiled
def _required(lam, b, forces, G, L, model):
    """`b = M^-1 (Q - G^T lam)`."""
    b[:] = 0.0
    sparse.add_transposed(G, lam, model, b)
    for k in range(b.shape[0]):
        b[k] = forces[k] - b[k]
    sparse.mass_solve(L, b, model, b)


@compiled
def _prepare(t, q, v, lam, d, following, model, work):
    """Of the forces `d` those that do not depend on the multipliers; room for the constraints."""
    next_step(following)
    forces = np.empty_like(d)
    coupled_forces(t, q, v, lam, model, work, forces)
    for k in range(d.shape[0]):
        forces[k] = d[k] - forces[k]
    return forces, np.empty_like(lam)


@compiled
def _follow(t, q, v, lam, rate, b, d, forces, following, model, work):
    """`b` for the present multipliers, and whether their change is followed with derivatives."""
    kernels.place(q, model, work)
    kernels.place_velocity(v, model, work)
    coupled_forces(t, q, v, lam, model, work, d)
    for k in range(d.shape[0]):
        d[k] += forces[k]
    _required(lam, b, d, part(model, work, lay.W_G), part(model, work, lay.W_MINV), model)
    return follow(t, q, v, lam, rate, following, model, work)


@compiled
def _respond(t, frozen, q1, d, e, r, phi, following, model, work):
    """What the forces add, as they follow the correction `r` of the multipliers, joins `e`; `r` for that."""
    G, L = part(model, work, lay.W_G), part(model, work, lay.W_MINV)
    d[:] = 0.0
    add_response(r, following.coupling, d)
    sparse.mass_solve(L, d, model, d)
    for k in range(d.shape[0]):
        e[k] += d[k]
    r[:] = phi
    sparse.add_times(G, e, model, r)
    if frozen:
        kkt.solve_reduced(model, work, r, r)
    else:
        _solve_anew(t, q1, G, L, d, r, model, work)


@compiled
def _balanced(missing, h, q1, a, G):
    """Whether the equations of motion held before the last correction, but for `missing`, with forces that depend on the multipliers."""
    return missing <= BALANCE * h * h * (1.0 + largest(a)) or at_rounding(COUPLED_ROUNDING * missing, q1, G)


@compiled
def _solve_anew(t, q1, G, L, d, r, model, work):
    """`(G(q1) M^-1 G^T) x = r`, dense, into `r`; the solution of minimal norm where the matrix is singular."""
    G1, e, column = np.empty_like(G), np.zeros_like(r), np.empty_like(r)
    kernels.phi_q(t, q1, model, work, G1)
    B = np.empty((r.shape[0], r.shape[0]))
    for k in range(r.shape[0]):
        e[k] = 1.0
        d[:] = 0.0
        sparse.add_transposed(G, e, model, d)
        sparse.mass_solve(L, d, model, d)
        sparse.times(G1, d, model, column)
        B[:, k] = column
        e[k] = 0.0
    r[:] = np.linalg.lstsq(B, r, 1e-14)[0] if np.isfinite(B).all() and np.isfinite(r).all() else np.full_like(r, np.nan)


@compiled
def _advance(times, h, every, phase, last, q, v, a, lam, tol, max_iter, model, work, following, counts, out_t, out_q, out_v, out_a,
             out_lam, flag):
    """Steps `h` from each of `times` to the next; the state is stored at every step whose number, counted from `phase`, is a multiple of
    `every`. Returns the status, the number of steps that are complete, fewer if `flag` is set, and that of the states in `out`.

    The accelerations and multipliers of a time are found in the step that starts there, so a state is stored before it is left, and
    `last` asks for one more solve at the end without a step. `following` is `None` where no forces depend on the multipliers.
    """
    d, q1, lam0 = np.empty_like(v), np.empty_like(q), np.empty_like(lam)
    scratch = np.empty_like(v), d, np.empty_like(v), np.empty_like(lam), q1, lam0
    stored, n = 0, times.shape[0] - 1
    for k in range(n + 1 if last else n):
        if 0 < k < n and flag[0] != 0:
            return CONVERGED, k, stored
        status = _solve_step(times[k], h, q, v, a, lam, scratch, following, tol, max_iter, model, work, counts)
        if following is not None and status != CONVERGED and balance(times[k], q, v, a, lam, lam0, model, work):
            status = _solve_step(times[k], h, q, v, a, lam, scratch, following, tol, max_iter, model, work, counts)
        if status != CONVERGED:
            return status, k, stored
        if (phase + k) % every == 0 or k == n:
            out_t[stored], out_q[stored], out_v[stored], out_a[stored], out_lam[stored] = times[k], q, v, a, lam
            stored += 1
        if k < n:
            for i in range(v.shape[0]):
                v[i] += h * a[i]
                d[i] = h * v[i]
            kernels.retract(q, d, model, q1)
            q[:] = q1
    return CONVERGED, n, stored


@dataclass(frozen=True)
class HalfImplicit(FixedStep):
    """Half-implicit Euler for index-3 equations: symplectic, explicit in velocities and forces, implicit in positions.

    `v1 = v + h a`, `q1 = q (+) h v1`, with `M a + Phi_q(q)^T lam = Q(q, v)` and `Phi(t1, q1) = 0` [Fang, eqs. (3)-(5)]. Newton's matrix
    (12) is formed once per step. First order in `q`, `v` and `lam`. Not for stiff forces: these are explicit. Joint friction takes the
    multipliers of the step itself.

    Parameters
    ----------
    h : float
        Step [s].
    tol : float
        Newton stops when the correction of `(q, h^2 lam)` is shorter than this [Fang, eq. (8)].
    max_iter : int
        Newton iterations per step before the run ends with `NEWTON_FAILED`.
    """

    h: float = 1e-3
    tol: float = 1e-10
    max_iter: int = 100

    stores_start = True
    advance = staticmethod(_advance)
