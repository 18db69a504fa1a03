"""The fully implicit method: backward Euler on the index-3 equations [Fang, eqs. (13)-(14)]."""

from dataclasses import dataclass

import numpy as np

from ..compilation.compiled import compiled
from ..system import kernels, kkt, sparse
from ..system import layout as lay
from ..system.codes import DIVERGED, GOOD
from ..system.coupling import Correction, corrections, next_step, oriented
from ..system.layout import header, part
from ..system.system import System
from ..system.vectors import is_finite, largest, put
from ..typing import Vector
from .control.loop import loops, shortened
from .control.newton import NOISY_RATE, newton_test
from .control.records import put_state
from .one_step import COUPLED_ROUNDING_RATIO, OneStep, accept, at_rounding, balance, between, retry

MAX_FROZEN_ITER = 12  # iterations after which the matrix is formed at the iterate if the contraction rate is above REFRESH_RATE
REFRESH_RATE = 0.5


class Scratch(Correction):
    """Vectors of a step; `r` and `c` are the residuals of the equations of motion and of the constraints."""

    d: Vector  # displacement
    G: Vector  # Phi_q at the end of the step
    lam0: Vector  # initial guess of the multipliers


@compiled
def _factor(run):
    """Factorise the iteration matrix for the constraint Jacobian and mass matrix in the workspace."""
    kkt.factor(run.model, run.work, header(run.model)[lay.CONSTANT_MASS] == 0)
    run.counts.factorisations += 1
    run.counts.jacobians += 1


@compiled
def _step(t, h, following, run):
    """One step from `run.start`, with the initial guess of `a` and `lam` in `run.end`; `GOOD` or the code of a failure.

    The iteration matrix is `[M G^T; G 0]` at the start of the step, or at the iterate after many iterations with slow convergence. It
    contains no derivatives of forces and reactions, except those of joint friction by the multipliers if it slows the convergence down.
    """
    start, end, s = run.start, run.end, run.scratch
    q1, v1, a, lam = end.q, end.v, end.a, end.lam
    d, G, r, c, da, dlam, lam0 = s.d, s.G, s.r, s.c, s.da, s.dlam, s.lam0
    model, work, counts = run.model, run.work, run.counts
    kernels.place(t, start.q, model, work)
    kernels.phi_q(t, start.q, model, work, part(model, work, lay.W_G))
    kernels.mass(t, start.q, model, work)
    _factor(run)
    kkt.minimise(model, work, lam)
    put(lam, lam0)
    if following is not None:
        next_step(following)
        followed = False
    size, rate = np.inf, 0.0
    _move(h, start, run.end, d, model)
    for k in range(run.newton.max_iter):
        kernels.place(t + h, q1, model, work)
        kernels.place_velocity(v1, model, work)
        kernels.phi_q(t + h, q1, model, work, G)
        kernels.mass(t + h, q1, model, work)
        if k > MAX_FROZEN_ITER and rate > REFRESH_RATE:  # beyond a singular position the matrix of the start gives no contraction
            put(G, part(model, work, lay.W_G))
            _factor(run)
        counts.newton_iterations += 1
        counts.residuals += 1
        counts.solves += 1
        # residual, eq. (13)
        kernels.force(t + h, q1, v1, lam, model, work, da)
        sparse.mass_times(kernels.mass_values(model, work), a, model, r)
        sparse.add_transposed(G, lam, model, r)
        kernels.phi(t + h, q1, model, work, c)
        for i in range(r.shape[0]):
            r[i] = da[i] - r[i]
        violation = largest(c)
        for i in range(c.shape[0]):
            c[i] = -c[i] / (h * h)
        # correction
        missing = 0.0
        if following is not None:
            sparse.mass_solve(part(model, work, lay.W_MINV), r, model, da)
            missing = largest(da)
            followed = corrections(t + h, end, rate, s, following, model, work)
        else:
            kkt.solve(model, work, r, c, da, dlam)
        for i in range(a.shape[0]):
            a[i] += da[i]
        for i in range(lam.shape[0]):
            lam[i] += dlam[i]
        before, size = size, np.sqrt(_squares(da) + _squares(dlam))
        _move(h, start, run.end, d, model)
        # convergence test; an error along the constraints, where forces are stiff, is one of the equations of motion, not of Phi
        slow = size > NOISY_RATE * before
        if slow and following is None:
            sparse.mass_solve(part(model, work, lay.W_MINV), r, model, d)
            missing = largest(d)
        noisy = slow and at_rounding(max(violation, h * h * COUPLED_ROUNDING_RATIO * missing), start.q, q1, G, model, work)
        verdict = newton_test(run.newton, k, size, before, 1.0, noisy)
        rate = verdict.rate
        if verdict.status == GOOD and following is not None and followed and not oriented(following.coupling):
            return DIVERGED
        if verdict.status == GOOD or not is_finite(size):
            return verdict.status
    return DIVERGED


@compiled
def _move(h, start, end, d, model):
    """Velocities and positions at the end of the step from the accelerations there, eq. (14)."""
    v0, v1, a1 = start.v, end.v, end.a
    for k in range(d.shape[0]):
        v1[k] = v0[k] + h * a1[k]
        d[k] = h * v1[k]
    kernels.retract(start.q, d, model, end.q)


@compiled
def _squares(x):
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k] * x[k]
    return s


@compiled
def _attempt(t, h, end, run):
    """One step; if it fails with joint friction, again from the accelerations and multipliers of the equations of motion.

    After a last step of another length accelerations and multipliers follow from the equations of motion: those of the step would be its
    change of velocity divided by its length.
    """
    put_state(run.start, run.end)
    status = _step(t, h, run.following, run)
    if run.following is not None and status != GOOD:
        put_state(run.start, run.end)
        put(run.scratch.lam0, run.end.lam)
        if balance(t, run.end, run) == GOOD:
            status = _step(t, h, run.following, run)
    if status == GOOD and shortened(h, run.clock):
        status = balance(end, run.end, run)
    return status, 0.0


LOOPS = loops(_attempt, retry, accept, between)


@dataclass(frozen=True)
class FullyImplicit(OneStep):
    """Backward Euler on index-3 equations: first order, strongly damped.

    `v1 = v + h a1`, `q1 = q (+) h v1`, `M a1 + Phi_q(q1)^T lam1 = Q(q1, v1)`, `Phi(t1, q1)/h^2 = 0` [Fang, eqs. (13)-(14)]. The unknowns of
    Newton's method are `(a1, lam1)`; its matrix is formed once per step, without derivatives of forces and reactions: with a stiffness `k`
    of a mass `m` corrections contract by `h^2 k / m`, and from 0.85 or so on the run ends with `NEWTON_FAILED`. `HHT` and `RadauIIA` have
    these derivatives.

    Parameters
    ----------
    h : float
        Step size [s].
    tol : float or None
        Newton's method stops when the norm of the correction of `(a, lam)` is below it. `None` is `1e-10/h^2`, as accurate as
        `HalfImplicit` with `tol = 1e-10`, which applies to `h^2 (a, lam)`.
    max_iter : int
        Newton iterations per step, after which the run ends with `NEWTON_FAILED`.

    Examples
    --------
    >>> import mbdae
    >>> run = mbdae.solve(mbdae.library.system("double-pendulum"), mbdae.FullyImplicit(h=1e-3), (0.0, 0.1))
    >>> run.success
    True
    """

    h: float = 1e-3
    tol: float | None = None
    max_iter: int = 100

    loops = LOOPS

    def scratch(self, system: System) -> Scratch:
        """See `OneStep`."""
        nv, nc = np.zeros(system.nv), np.zeros(system.nc)
        return Scratch(d=nv, G=np.zeros(len(system.pattern.col)), r=nv.copy(), c=nc, da=nv.copy(), dlam=nc.copy(), lam0=nc.copy())

    def _usual_tolerance(self) -> float:
        return min(1e-10 / self.h / self.h, 1e300)
