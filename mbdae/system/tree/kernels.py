"""The kernels of joint coordinates behind their address, see `call`."""

import numpy as np
from numba import carray

from ...compilation.compiled import compiled
from .. import layout as lay
from ..c_functions import pointer
from ..layout import header
from ..rare import model_at
from . import equations, inertia, kinematics
from .call import (
    FACTOR,
    FORCE,
    GAMMA,
    HALF_SOLVE,
    HALF_SOLVE_TRANSPOSED,
    MASS,
    MASS_TIMES,
    PHI_Q,
    PLACE,
    PLACE_VELOCITY,
    SCALE_ROWS,
)


@compiled
def evaluate(what, x, model, work):
    """See `call.evaluate`."""
    if what == PLACE:
        kinematics.place(x, model, work)
    elif what == PLACE_VELOCITY:
        kinematics.place_velocity(x, model, work)
    elif what == PHI_Q:
        equations.phi_q(model, work, x)
    elif what == GAMMA:
        equations.gamma(model, work, x)
    elif what == FORCE:
        equations.force(model, work, x)
    elif what == MASS:
        inertia.mass(model, work, x)


@compiled
def apply(what, A, x, out, model):
    """See `call.apply`."""
    if what == MASS_TIMES:
        inertia.mass_times(A, x, model, out)
    elif what == FACTOR:
        inertia.factor(A, model, out)
    elif what == HALF_SOLVE:
        inertia.half_solve(A, x, model, out)
    elif what == HALF_SOLVE_TRANSPOSED:
        inertia.half_solve_transposed(A, x, model, out)
    elif what == SCALE_ROWS:
        inertia.scale_rows(x, A, model, out)


@compiled
def real(_t, what, x, y, z, _a, _b, model, work):
    """Both from addresses."""
    _called(what, x, y, z, model_at(model), work, np.float64)
    return 0


@compiled
def of_complex(_t, what, x, y, z, _a, _b, model, work):
    """Both from addresses of complex numbers."""
    _called(what, x, y, z, model_at(model), work, np.complex128)
    return 0


@compiled
def _called(what, x, y, z, model, work, dtype):
    head = header(model)
    nv, nnz, mass = head[lay.NV], head[lay.NNZ], head[lay.W_MINV] - head[lay.W_MASS]
    if what <= MASS:
        n = head[lay.NQ] if what == PLACE else nnz if what == PHI_Q else head[lay.NC] if what == GAMMA else mass if what == MASS else nv
        evaluate(what, carray(pointer(x), (n,), dtype), model, carray(pointer(work), (head[lay.WORK_SIZE],), dtype))
    else:
        n = nnz if what == SCALE_ROWS else mass if what == FACTOR else nv
        A, given, out = carray(pointer(x), (mass,), dtype), carray(pointer(y), (n,), dtype), carray(pointer(z), (n,), dtype)
        apply(what, A, given, out, model)
