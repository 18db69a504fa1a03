"""The second half of a step of RATTLE: the velocities at its end, with the accelerations and multipliers there."""

import numpy as np

from ...compilation.compiled import compiled
from ...system import dynamics, kernels, kkt, sparse
from ...system import layout as lay
from ...system.codes import DIVERGED, GOOD, NOT_FINITE
from ...system.layout import part
from ...system.vectors import largest
from ..control.newton import NOISY_RATE, newton_test
from .broyden import accelerated
from .free_body import add_gyroscopic
from .sums import add, put_velocities

VELOCITY_ROUNDING = 1e-15  # of corrections of the velocities, relative to the largest or 1
NOISE = 1e-12  # size of such corrections, below which those that do not contract are rounding errors


@compiled
def end_velocities(t1, h, state, run):
    """Solve `M (v1 - u) + G^T mu = h/2 Q(t1, q1)`, `G v1 = nu` for forces that do not depend on velocities, then for `a1` and `lam1`.

    `u` are the velocities of `run.scratch.moved`. With velocities zero there are no gyroscopic torques.
    """
    s, model, work, q, v, rest, z = run.scratch, run.model, run.work, state.q, state.v, state.v_rest, run.scratch.z
    sparse.fill(z, 0.0)
    kernels.place_velocity(z, model, work)
    kernels.force(t1, q, z, state.lam, model, work, s.b)
    for i in range(s.b.shape[0]):
        s.b[i] *= 0.5 * h
    _missing(t1, q, s.moved.v, part(model, work, lay.W_G), s.r, run)
    kkt.solve(model, work, s.b, s.r, z, s.s)
    put_velocities(s.moved, state)
    for i in range(z.shape[0]):
        add(v, rest, i, z[i])
    run.counts.residuals += 1
    run.counts.solves += 2
    return _accelerations(t1, state, run)


@compiled
def _accelerations(t1, state, run):
    """Accelerations and multipliers of a state; `GOOD` or the code of a failure."""
    q, v, target, model, work = state.q, state.v, run.scratch.r, run.model, run.work
    kernels.place_velocity(v, model, work)
    kernels.gamma(t1, q, v, model, work, target)
    return dynamics.accelerations(t1, q, v, target, state.a, state.lam, model, work)


@compiled
def coupled_velocities(t1, h, state, run):
    """Solve `M (v1 - u) + G^T mu = h/2 (Q(t1, q1, v1) + omega x J omega)`, `G v1 = nu`, with the accelerations and multipliers of `v1`.

    `u` are the velocities of `run.scratch.moved`; `u + h/2 a` is the guess of `v1`, with `a` of `state`. The KKT matrix in Broyden's
    method: one correction, and a second one that confirms it, where they hardly depend on velocities.
    """
    s, model, work, counts = run.scratch, run.model, run.work, run.counts
    q, v, a, u, b, z, target, mu = state.q, state.v, state.a, s.moved.v, s.b, s.z, s.r, s.s
    v_rest, u_rest = state.v_rest, s.moved.v_rest
    G, before = part(model, work, lay.W_G), np.inf
    put_velocities(s.moved, state)
    for i in range(a.shape[0]):
        add(v, v_rest, i, 0.5 * h * a[i])
    for k in range(run.newton.max_iter):
        counts.newton_iterations += 1
        counts.residuals += 1
        counts.solves += 2
        # accelerations and multipliers at v
        status = _accelerations(t1, state, run)
        if status != GOOD:
            return status
        # M z + G^T mu = h/2 (M a + omega x J omega), G z = nu - G u
        sparse.mass_times(kernels.mass_values(model, work), a, model, b)
        for i in range(b.shape[0]):
            b[i] *= 0.5 * h
        add_gyroscopic(v, 0.5 * h, model, b)
        _missing(t1, q, u, G, target, run)
        kkt.solve(model, work, b, target, z, mu)
        for i in range(z.shape[0]):
            z[i] += (u[i] - v[i]) + (u_rest[i] - v_rest[i])
        sparse.mass_times(kernels.mass_values(model, work), z, model, s.image)
        accelerated(k, z, s.image, s.velocities)
        # convergence test; a last correction beyond rounding changes the accelerations
        size = largest(z) / (1.0 + largest(v))
        noisy = size > NOISY_RATE * before and size <= NOISE
        verdict = newton_test(run.newton, k, size, before, 1.0, noisy)
        before = size
        if verdict.status == NOT_FINITE:
            return NOT_FINITE
        if verdict.status == GOOD and k > 0 and size <= VELOCITY_ROUNDING:
            return GOOD
        for i in range(z.shape[0]):
            add(v, v_rest, i, z[i])
        if verdict.status == GOOD and k > 0:
            return _accelerations(t1, state, run)
    return DIVERGED


@compiled
def _missing(t, q, v, G, out, run):
    """`out = nu - G v`."""
    kernels.nu(t, q, run.model, run.work, out)
    for k in range(out.shape[0]):
        out[k] = -out[k]
    sparse.add_times(G, v, run.model, out)
    for k in range(out.shape[0]):
        out[k] = -out[k]
