"""Consistent velocities, accelerations and multipliers at given positions.

The accelerations that a step on constraints of one level works with serve these constraints: across them they are none of the motion, and
with multipliers for positions the velocities violate `Phi_q v = nu` by the order of the method. In steps of one size all this is of order
two; a step of another size makes it one order less. The projection here depends on no step, and keeps the motion within the constraints.
"""

from ...compilation.compiled import compiled
from ...system import kernels, kkt
from ...system import layout as lay
from ...system.layout import header, part
from ...system.motion import accelerations
from .step import POSITION, correct_velocity


@compiled
def make_consistent(kind, t, state, scratch, model, work):
    """Velocities on `Phi_q v = nu`, if the method does not keep them there, and `(a, lam)` of the equations of motion; what is wrong.

    Positions and velocities are in place, `Phi_q` and the factors are those of the positions. Other velocities come in as they are.
    """
    if kind == POSITION:
        correct_velocity(t, state.q, state.v, scratch, model, work)
        kernels.place_velocity(state.v, model, work)
    return accelerations(t, state.q, state.v, state.a, state.lam, model, work)


@compiled
def restore(kind, t, state, scratch, model, work):
    """`make_consistent` for a state of which nothing is in place; auxiliary accelerations move with the others.

    If that cannot be done the step that follows will tell.
    """
    q, v, a, w = state.q, state.v, state.a, state.w
    kernels.place(q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    kernels.mass(t, q, model, work)
    kkt.factor(model, work, header(model)[lay.CONSTANT_MASS] == 0)
    kernels.place_velocity(v, model, work)
    for k in range(w.shape[0]):
        w[k] -= a[k]
    make_consistent(kind, t, state, scratch, model, work)
    for k in range(w.shape[0]):
        w[k] += a[k]
