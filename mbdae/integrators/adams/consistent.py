"""The corrected end on the constraints, with its accelerations, by the factors at the predicted one.

The two states differ by the error of the predictor, so that a step needs one factorisation: the projections and the equations of motion at
the end are solved by iterations with the factors of the predicted state, and with equations of the end. Where these converge slowly the
matrix is factorised again.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels, kkt
from ...system import layout as lay
from ...system.codes import GOOD, NOT_FINITE
from ...system.layout import header, part
from ...system.motion import subtract_equations
from ...system.vectors import is_finite, largest, put
from ..explicit.consistent import make_consistent_after_stage, normalise
from ..projections.levels import positions_with, velocities_with

MAX_CORRECTIONS = 3
EXACT = 1e-3  # error of accelerations relative to rtol
SLOW = -1  # the iterations do not converge fast


@compiled
def make_consistent_beside(t, state, run, model):
    """Project `q` and `v` in the metric of the mass matrix, and solve for `a` and `lam`; `GOOD` or the code of a failure."""
    q, v = state.q, state.v
    if not is_finite(largest(q) + largest(v)):
        return NOT_FINITE
    if state.lam.shape[0] != 0 and not header(model)[lay.COUPLED]:
        normalise(q, v, model)
        if _solve_beside(t, state, run, model) == GOOD:
            return GOOD
        # from the corrected positions, which the attempt may have moved
        put(run.raw.q, q)
        put(run.raw.v, v)
    return make_consistent_after_stage(t, state, run, model)


@compiled
def _solve_beside(t, state, run, model):
    q, v, work = state.q, state.v, run.work
    if not positions_with(t, q, run.projection, model, work):
        return SLOW
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    if not header(model)[lay.CONSTANT_MASS]:
        kernels.mass(t, q, model, work)
    if not velocities_with(t, q, v, run.projection, model, work):
        return SLOW
    run.counts.residuals += 1
    kernels.place_velocity(v, model, work)
    return _solve_motion(t, state, run, model)


@compiled
def _solve_motion(t, state, run, model):
    """`a` and `lam` at the placed state, by corrections of those at the predicted one."""
    work, a, lam = run.work, state.a, state.lam
    r, c, x, y = np.empty_like(a), np.empty_like(lam), np.empty_like(a), np.empty_like(lam)
    put(run.stage.a, a)
    put(run.stage.lam, lam)
    kernels.force(t, state.q, state.v, lam, model, work, r)
    kernels.gamma(t, state.q, state.v, model, work, c)
    put(a, x)
    put(lam, y)
    for _ in range(MAX_CORRECTIONS):
        subtract_equations(x, y, model, work, r, c)
        kkt.solve(model, work, r, c, x, y)
        run.counts.solves += 1
        for k in range(a.shape[0]):
            a[k] += x[k]
        for k in range(lam.shape[0]):
            lam[k] += y[k]
        size, whole = largest(x), largest(a)
        if not is_finite(size):
            return SLOW
        if size * size <= EXACT * run.rtol * whole * whole:
            return GOOD
    return SLOW
