"""The kernels of joint coordinates behind their address, see `call`."""

import numpy as np
from numba import carray

from ...compilation.compiled import compiled
from ...compilation.foreign import pointer
from .. import layout as lay
from ..layout import header
from ..rare import model_at
from . import articulated, equations, inertia, kinematics
from .call import (
    ACCELERATIONS,
    FACTOR,
    FORCE,
    GAMMA,
    HALF_SOLVE,
    HALF_SOLVE_TRANSPOSED,
    MASS,
    MASS_TIMES,
    NU,
    PHI_Q,
    PLACE,
    PLACE_VELOCITY,
    SCALE_ROWS,
)

COMPLEX = 16  # bytes of a number


@compiled
def evaluate(what, t, x, model, work):
    """See `call.evaluate`."""
    if what == PLACE:
        kinematics.place(t, x, model, work)
    elif what == PLACE_VELOCITY:
        kinematics.place_velocity(x, model, work)
    elif what == PHI_Q:
        equations.phi_q(model, work, x)
    elif what == NU:
        equations.nu(model, work, x)
    elif what == GAMMA:
        equations.gamma(model, work, x)
    elif what == FORCE:
        equations.force(model, work, x)
    elif what == ACCELERATIONS:
        articulated.accelerations(model, work, x)
    elif what == MASS:
        inertia.mass(model, work, x)


@compiled
def apply(what, A, x, out, model):
    """See `call.apply`."""
    if A[0] == 0.0:
        _unit(what, A, x, out)
    elif what == MASS_TIMES:
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
def _unit(what, A, x, out):
    """The same where the mass matrix is the identity."""
    if what == FACTOR:
        out[0], out[1] = A[0], A[1]
        return
    for k in range(x.shape[0]):
        out[k] = x[k]


@compiled
def real(t, what, x, y, z, item, _b, model, work):
    """Both from addresses; products with complex vectors, whose numbers take 16 bytes, by their real and imaginary parts."""
    table = model_at(model)
    if what > MASS and item == COMPLEX:
        A, given, out = _operands(what, x, y, z, table, np.float64, np.complex128)
        parts = given.real.copy(), given.imag.copy()
        for part in parts:
            apply(what, A, part, part, table)
        for k in range(out.shape[0]):
            out[k] = complex(parts[0][k], parts[1][k])
    else:
        _called(t, what, x, y, z, table, work, np.float64)
    return 0


@compiled
def of_complex(t, what, x, y, z, _item, _b, model, work):
    """Both from addresses of complex numbers."""
    _called(t, what, x, y, z, model_at(model), work, np.complex128)
    return 0


@compiled
def _called(t, what, x, y, z, model, work, dtype):
    if what <= MASS:
        head = header(model)
        nv, nnz, mass = head[lay.NV], head[lay.NNZ], head[lay.W_MINV] - head[lay.W_MASS]
        rows = what in (NU, GAMMA)
        n = head[lay.NQ] if what == PLACE else nnz if what == PHI_Q else head[lay.NC] if rows else mass if what == MASS else nv
        evaluate(what, t, carray(pointer(x), (n,), dtype), model, carray(pointer(work), (head[lay.WORK_SIZE],), dtype))
    else:
        A, given, out = _operands(what, x, y, z, model, dtype, dtype)
        apply(what, A, given, out, model)


@compiled
def _operands(what, x, y, z, model, kind, dtype):
    """The matrix, and two vectors that may be of another kind of numbers."""
    head = header(model)
    mass = head[lay.W_MINV] - head[lay.W_MASS]
    n = head[lay.NNZ] if what == SCALE_ROWS else mass if what == FACTOR else head[lay.NV]
    return carray(pointer(x), (mass,), kind), carray(pointer(y), (n,), dtype), carray(pointer(z), (n,), dtype)
