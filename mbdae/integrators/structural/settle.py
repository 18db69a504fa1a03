"""Velocities, accelerations and multipliers that satisfy their equations at given positions.

The accelerations that a step on constraints of one level works with serve these constraints: across them they are none of the motion, and
with multipliers for positions the velocities are open by the order of the method. In steps of one size all this is of order two; a step
of another size makes it one order less. What is put right here depends on no step, and the motion within the constraints stays as it is.
"""

from ...compilation.compiled import compiled
from ...system import kernels, kkt
from ...system import layout as lay
from ...system.layout import header, part
from ...system.motion import accelerations
from .step import POSITION, correct_velocity


@compiled
def settle(kind, t, state, scratch, model, work):
    """Velocities on `Phi_q v = nu`, if the method leaves them open, and `(a, lam)` of the equations of motion there; what is wrong.

    Positions and velocities are in place, `Phi_q` and the factors are those of the positions. Other velocities come in as they are.
    """
    q, v, a, _, lam = state
    if kind == POSITION:
        correct_velocity(t, q, v, scratch, model, work)
        kernels.place_velocity(v, model, work)
    return accelerations(t, q, v, a, lam, model, work)


@compiled
def restore(kind, t, state, scratch, model, work):
    """`settle` for a state of which nothing is in place; auxiliary accelerations move with the others.

    If that cannot be done the step that follows will tell.
    """
    q, v, a, w, _ = state
    kernels.place(q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    kernels.mass(t, q, model, work)
    kkt.factor(model, work, header(model)[lay.CONSTANT_MASS] == 0)
    kernels.place_velocity(v, model, work)
    for k in range(w.shape[0]):
        w[k] -= a[k]
    settle(kind, t, state, scratch, model, work)
    for k in range(w.shape[0]):
        w[k] += a[k]
