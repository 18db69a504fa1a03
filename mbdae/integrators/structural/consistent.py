"""Consistent velocities, accelerations and multipliers at given positions.

A step on constraints of one level satisfies these constraints only. Its accelerations violate `Phi_q a = gamma`, and with constraints on
position level its velocities violate `Phi_q v = nu`, by terms of order two if all steps have the same size, and of order one otherwise. The
projection onto the hidden constraints removes these terms and does not depend on the step size.
"""

from ...compilation.compiled import compiled
from ...system import kernels, kkt
from ...system import layout as lay
from ...system.layout import header, part
from ...system.motion import accelerations
from .step import POSITION, correct_velocity


@compiled
def make_consistent(kind, t, state, scratch, model, work):
    """Project velocities onto `Phi_q v = nu` if `kind` is `POSITION`, and solve for `(a, lam)`; `GOOD` or the code of a failure.

    `work` holds the state, `Phi_q` and the factors at its positions.
    """
    if kind == POSITION:
        correct_velocity(t, state.q, state.v, scratch, model, work)
        kernels.place_velocity(state.v, model, work)
    return accelerations(t, state.q, state.v, state.a, state.lam, model, work)


@compiled
def restore(kind, t, state, scratch, model, work):
    """`make_consistent` after evaluation at the state; auxiliary accelerations change by the same increment.

    A failure is found by the step that follows.
    """
    q, v, a, w = state.q, state.v, state.a, state.w
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    kernels.mass(t, q, model, work)
    kkt.factor(model, work, header(model)[lay.CONSTANT_MASS] == 0)
    kernels.place_velocity(v, model, work)
    for k in range(w.shape[0]):
        w[k] -= a[k]
    make_consistent(kind, t, state, scratch, model, work)
    for k in range(w.shape[0]):
        w[k] += a[k]
