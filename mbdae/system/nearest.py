"""The nearest state on the constraints, compiled: for output whose positions and velocities violate them by no more than errors do.

`mbdae.system.assembly` has the same iterations with the cases that need more than they: line searches, positions far away.
"""

import numpy as np

from ..compilation.compiled import compiled
from . import kernels, kkt, sparse
from . import layout as lay
from .evaluate import factor
from .layout import count, header, part, table
from .vectors import largest, put

POSITION_TOL = 1e-13  # of the constraints, relative to the coordinates
STEP_TOL = 1e-9  # of the last step, relative to the displacement
VELOCITY_TOL = 1e-8  # of the constraints on velocities, relative to the velocities
MAX_ITERATIONS = 60
SUFFICIENT = 0.999  # decrease of the residual in a step of full length
SMALL = 1e-4  # residual, relative to the coordinates, below which it may increase


@compiled
def transported(y, x, model, out):
    """The covector `y` at the displacement `x` in local coordinates: `J_r(theta)^-T` on every rotation `theta` of `x`.

    `J_r^-1 = I + X / 2 + c X^2` with the cross product `X` of `theta` is `d log(exp(theta) exp(d)) / dd` at `d = 0`.
    """
    put(y, out)
    quaternions = table(model, lay.QUATERNION, lay.QUATERNION_T)
    for n in range(quaternions.shape[0]):
        at = quaternions[n]["v"]
        a0, a1, a2 = x[at], x[at + 1], x[at + 2]
        angle2 = a0 * a0 + a1 * a1 + a2 * a2
        if angle2 < 1e-6:
            c = 1.0 / 12.0 + angle2 / 720.0
        else:
            angle = np.sqrt(angle2)
            c = 1.0 / angle2 - (1.0 + np.cos(angle)) / (2.0 * angle * np.sin(angle))
        y0, y1, y2 = y[at], y[at + 1], y[at + 2]
        # X y, and X (X y)
        b0, b1, b2 = a1 * y2 - a2 * y1, a2 * y0 - a0 * y2, a0 * y1 - a1 * y0
        out[at] = y0 - 0.5 * b0 + c * (a1 * b2 - a2 * b1)
        out[at + 1] = y1 - 0.5 * b1 + c * (a2 * b0 - a0 * b2)
        out[at + 2] = y2 - 0.5 * b2 + c * (a0 * b1 - a1 * b0)
    return out


@compiled
def states_on_constraints(begin, t, q, v, model, work):
    """Replace the rows of `q` and `v` from number `begin` on by the nearest states; the number of the first row that needs more."""
    for k in range(begin, t.shape[0]):
        if not _nearest_state(t[k], q[k], v[k], model.copy() if count(model, lay.DEPENDENT) else model, work):
            return k
    return t.shape[0]


@compiled
def _nearest_state(t, q, v, model, work):
    """`min |q (-) guess|_M` subject to `Phi = 0`, then `min |v - guess|_M` subject to `Phi_q v = nu`; whether both are found.

    `q` and `v` are the guesses, and the result if it is found.
    """
    head = header(model)
    at, d = q.copy(), np.empty(head[lay.NV])
    if not _positions(t, q, at, d, model, work):
        return False
    u, defect, lam = v.copy(), np.empty(head[lay.NC]), np.empty(head[lay.NC])
    b = np.zeros(head[lay.NV])
    for _ in range(2):  # the second is iterative refinement
        velocity_defect(t, at, u, model, work, defect)
        kkt.solve(model, work, b, defect, d, lam)
        for k in range(d.shape[0]):
            u[k] += d[k]
    velocity_defect(t, at, u, model, work, defect)
    if not largest(defect) <= VELOCITY_TOL * (1.0 + largest(u)):
        return False
    put(at, q)
    put(u, v)
    return True


@compiled
def _positions(t, guess, q, d, model, work):
    """Newton's method with steps of full length from `q` for the nearest positions; the KKT matrix is factorised there."""
    head = header(model)
    residual, lam, x = np.empty(head[lay.NC]), np.empty(head[lay.NC]), np.empty(head[lay.NV])
    pull, moved, trial = np.empty(head[lay.NV]), np.empty(head[lay.NV]), np.empty(head[lay.NQ])
    kernels.place(t, q, model, work)
    kernels.phi(t, q, model, work, residual)
    for _ in range(MAX_ITERATIONS):
        # M d + Phi_q^T lam = -J^-T M x, Phi_q d = -Phi, with the displacement x from the guess
        kernels.difference(q, guess, model, x)
        kernels.place(t, guess, model, work)
        kernels.mass(t, guess, model, work)
        sparse.mass_times(kernels.mass_values(model, work), x, model, moved)
        transported(moved, x, model, pull)
        factor(t, q, model, work)
        for k in range(pull.shape[0]):
            pull[k] = -pull[k]
        size = largest(residual)
        for k in range(residual.shape[0]):
            residual[k] = -residual[k]
        kkt.solve(model, work, pull, residual, d, lam)
        if size < POSITION_TOL * (1.0 + largest(q)) and largest(d) < STEP_TOL * (1.0 + largest(x)):
            return True
        kernels.retract(q, d, model, trial)
        kernels.place(t, trial, model, work)
        kernels.phi(t, trial, model, work, residual)
        if not largest(residual) < max(SUFFICIENT * size, SMALL * (1.0 + largest(q))):
            return False
        put(trial, q)
    return False


@compiled
def velocity_defect(t, q, v, model, work, out):
    """`nu - Phi_q v`, after `factor` at `q`."""
    kernels.nu(t, q, model, work, out)
    for k in range(out.shape[0]):
        out[k] = -out[k]
    sparse.add_times(part(model, work, lay.W_G), v, model, out)
    for k in range(out.shape[0]):
        out[k] = -out[k]
