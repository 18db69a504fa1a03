"""The fully implicit method: backward Euler on the index-3 equations [Fang, eqs. (13)-(14)]."""

from dataclasses import dataclass

import numpy as np

from ..compilation.compiled import compiled
from ..system import kernels, kkt, sparse
from ..system import layout as lay
from ..system.coupling import corrections, next_step, oriented
from ..system.layout import header, part
from ..system.vectors import largest
from .one_step import CONVERGED, COUPLED_ROUNDING, DIVERGED, ITERATIONS, MATRICES, NOT_FINITE, SLOW, FixedStep, at_rounding, balance


@compiled
def _step(t, h, q, v, a, lam, s, following, tol, max_iter, model, work, counts):
    """One step from `t`; `a`, `lam` are the guess from the step before. Returns the status.

    Newton's matrix is `[M G^T; G 0]` at the start of the step, and at its end where that does not help; derivatives of forces and
    reactions are left out, but for those of joint friction by the multipliers where it makes the iteration converge slowly.
    """
    d, v1, q1, G, r1, r2, da, dlam, lam0 = s
    head = header(model)
    size, before, rate = np.inf, np.inf, 0.0
    kernels.place(q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    kernels.mass(t, q, model, work)
    kkt.factor(model, work, head[lay.CONSTANT_MASS] == 0)
    counts[MATRICES] += 1
    kkt.minimise(model, work, lam)
    lam0[:] = lam
    if following is not None:
        next_step(following)
        followed, missing = False, np.inf
    for iteration in range(max_iter + 1):
        # state at t + h, eq. (14)
        for k in range(v.shape[0]):
            v1[k] = v[k] + h * a[k]
            d[k] = h * v1[k]
        kernels.retract(q, d, model, q1)
        if iteration > 0:
            before, size = size, _size(da, dlam)
            converged = size < tol or (size > 0.5 * before and at_rounding(h * h * largest(r2), q1, G))
            if following is not None:
                rate = size / before
                converged = converged and (size < tol or at_rounding(h * h * COUPLED_ROUNDING * missing, q1, G))
                if converged and followed and not oriented(following.coupling):
                    return DIVERGED
            if converged:
                return CONVERGED
            if not np.isfinite(size):
                return NOT_FINITE
        if iteration == max_iter:
            break
        kernels.place(q1, model, work)
        kernels.place_velocity(v1, model, work)
        kernels.phi_q(t + h, q1, model, work, G)
        kernels.mass(t + h, q1, model, work)
        if iteration > SLOW and size > 0.5 * before:  # across a singular position the matrix of the start serves no more
            part(model, work, lay.W_G)[:] = G
            kkt.factor(model, work, head[lay.CONSTANT_MASS] == 0)
            counts[MATRICES] += 1
        counts[ITERATIONS] += 1
        # residual, eq. (13)
        kernels.force(t + h, q1, v1, lam, model, work, da)
        sparse.mass_times(kernels.mass_values(model, work), a, model, r1)
        sparse.add_transposed(G, lam, model, r1)
        kernels.phi(t + h, q1, model, work, r2)
        for k in range(r1.shape[0]):
            r1[k] = da[k] - r1[k]
        for k in range(r2.shape[0]):
            r2[k] = -r2[k] / (h * h)
        if following is not None:
            sparse.mass_solve(part(model, work, lay.W_MINV), r1, model, da)
            missing = largest(da)
            followed = corrections(t + h, q1, v1, lam, rate, r1, r2, da, dlam, following, model, work)
        else:
            kkt.solve(model, work, r1, r2, da, dlam)
        for k in range(a.shape[0]):
            a[k] += da[k]
        for k in range(lam.shape[0]):
            lam[k] += dlam[k]
    return DIVERGED


@compiled
def _size(da, dlam):
    s = 0.0
    for k in range(da.shape[0]):
        s += da[k] * da[k]
    for k in range(dlam.shape[0]):
        s += dlam[k] * dlam[k]
    return np.sqrt(s)


@compiled
def _advance(times, h, every, phase, last, q, v, a, lam, tol, max_iter, model, work, following, counts, out_t, out_q, out_v, out_a,
             out_lam, flag):
    """Steps `h` from each of `times` to the next; the state is stored after every step whose number, counted from `phase`, is a multiple
    of `every`. Returns the status, the number of steps that are complete, fewer if `flag` is set, and that of the states in `out`.
    `following` is `None` where no forces depend on the multipliers.
    """
    nv, nc = v.shape[0], lam.shape[0]
    s = (np.empty(nv), np.empty(nv), np.empty_like(q), np.empty(header(model)[lay.NNZ]), np.empty(nv), np.empty(nc), np.empty(nv),
         np.empty(nc), np.empty(nc))
    stored, n = 0, times.shape[0] - 1
    for k in range(n):
        if k > 0 and flag[0] != 0:
            return CONVERGED, k, stored
        status = _step(times[k], h, q, v, a, lam, s, following, tol, max_iter, model, work, counts)
        if following is not None and status != CONVERGED and balance(times[k], q, v, a, lam, s[8], model, work):
            status = _step(times[k], h, q, v, a, lam, s, following, tol, max_iter, model, work, counts)
        if status != CONVERGED:
            return status, k, stored
        v[:], q[:] = s[1], s[2]
        if (phase + k + 1) % every == 0 or (last and k == n - 1):
            out_t[stored], out_q[stored], out_v[stored], out_a[stored], out_lam[stored] = times[k + 1], q, v, a, lam
            stored += 1
    return CONVERGED, n, stored


@dataclass(frozen=True)
class FullyImplicit(FixedStep):
    """Backward Euler on index-3 equations: everything at the end of the step, strongly damped.

    `v1 = v + h a1`, `q1 = q (+) h v1`, `M a1 + Phi_q(q1)^T lam1 = Q(q1, v1)`, `Phi(t1, q1)/h^2 = 0` [Fang, eqs. (13)-(14)]. The unknowns of
    Newton's method are `(a1, lam1)`; its matrix is formed once per step without derivatives of forces and reactions.

    Parameters
    ----------
    h : float
        Step [s].
    tol : float or None
        Newton stops when the correction of `(a, lam)` is shorter than this. `None` is `1e-10/h^2`, as accurate as `HalfImplicit` with
        its `tol = 1e-10`, which is one of `h^2 (a, lam)`.
    max_iter : int
        Newton iterations per step before the run ends with `NEWTON_FAILED`.
    """

    h: float = 1e-3
    tol: float | None = None
    max_iter: int = 100

    stores_start = False
    advance = staticmethod(_advance)

    def _usual_tolerance(self) -> float:
        return min(1e-10 / self.h / self.h, 1e300)
