"""The equations that all formulations are made of. `q` and `v` must have been placed and `G` evaluated."""

import numpy as np

from ..compilation.compiled import compiled, generic, window
from ..system import kernels, sparse
from ..system import layout as lay
from ..system.layout import count, header, part, table


@compiled
def sizes(model):
    """`nq, nv, nc`."""
    head = header(model)
    return head[lay.NQ], head[lay.NV], head[lay.NC]


@compiled
def begin(t, q, v, model, work):
    """Place the state and evaluate `Phi_q` and `M`; returns the values of `Phi_q`."""
    G = part(model, work, lay.W_G)
    kernels.place(q, model, work)
    kernels.place_velocity(v, model, work)
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    return G


@compiled
def kinematics(t, q, qd, v, model, out):
    """`qd - T(q) v`."""
    kernels.qdot(t, q, v, model, out)
    for k in range(q.shape[0]):
        out[k] = qd[k] - out[k]


@compiled
def dynamics(t, q, v, a, lam, G, model, work, out):
    """`M a + Phi_q^T lam - Q`."""
    _inertia_minus_force(t, q, v, a, lam, model, work, out)
    sparse.add_transposed(G, lam, model, out)


@compiled
def _inertia_minus_force(t, q, v, a, lam, model, work, out):
    """`M a - Q`."""
    force = part(model, work, lay.W_V1)
    kernels.force(t, q, v, lam, model, work, force)
    sparse.mass_times(kernels.mass_values(model, work), a, model, out)
    for k in range(v.shape[0]):
        out[k] -= force[k]


@generic
def equations_of_motion(t, y, yd, out, model, work):
    """Kinematics and dynamics of the forms with `y = (q, v, lam)`, written to the first rows of `out`.

    Returns `q, v, a, lam`, the values of `Phi_q`, and the `nc` rows that follow, for the constraints.
    """
    nq, nv, nc = sizes(model)
    q, v, lam, a = split(y, 0, nq), split(y, nq, nv), split(y, nq + nv, nc), split(yd, nq, nv)
    G = begin(t, q, v, model, work)
    kinematics(t, q, split(yd, 0, nq), v, model, split(out, 0, nq))
    dynamics(t, q, v, a, lam, G, model, work, split(out, nq, nv))
    return q, v, a, lam, G, split(out, nq + nv, nc)


@compiled
def stabilised(t, q, qd, v, a, lam, mu, G, model, work, kinematic, dynamic, velocities):
    """`qd - T(q) (v - Phi_q^T mu)`, `M a + Phi_q^T lam - Q` and `Phi_q v - nu`, with one pass over `Phi_q`."""
    _inertia_minus_force(t, q, v, a, lam, model, work, dynamic)
    x, nu = part(model, work, lay.W_V1), part(model, work, lay.W_C1)
    sparse.fill(x, 0.0)
    sparse.products(G, model, v, velocities, lam, dynamic, mu, x)
    for k in range(v.shape[0]):
        x[k] = v[k] - x[k]
    kinematics(t, q, qd, x, model, kinematic)
    kernels.nu(t, q, model, work, nu)
    for k in range(nu.shape[0]):
        velocities[k] -= nu[k]


@compiled
def velocity(t, q, v, G, model, work, out):
    """`Phi_q v - nu`."""
    nu = part(model, work, lay.W_C1)
    kernels.nu(t, q, model, work, nu)
    sparse.times(G, v, model, out)
    for k in range(nu.shape[0]):
        out[k] -= nu[k]


@compiled
def acceleration(t, q, v, a, G, model, work, out):
    """`Phi_q a - gamma`, and where constraint equations are redundant the term that keeps them from drifting (see `system.drift`)."""
    gamma, drift = part(model, work, lay.W_C1), table(model, lay.DRIFT, np.float64)
    kernels.gamma(t, q, v, model, work, gamma)
    sparse.times(G, a, model, out)
    for k in range(gamma.shape[0]):
        out[k] -= gamma[k]
    for k in range(drift.shape[0]):
        out[k] += drift[k]


@compiled
def regularise(model, out, lam):
    """`out -= w N N^T lam` where constraint equations are redundant, with an orthonormal basis `N` of the null space of `Phi_q^T`.

    Without this every vector of the null space could be added to the multipliers. Multiplied by `N^T` the equations say that `N^T lam`
    vanishes, since the constraints drop out: all of them hold, and the multipliers have minimal norm. The problem renews `N` (see
    `Problem.follow`) and stores it with the root of the weight (see `regularisation`); to derivatives it is constant.
    """
    nc = lam.shape[0]
    for k in range(count(model, lay.DEPENDENT)):
        n = window(table(model, lay.NULL_SPACE, np.float64), k * nc, nc)
        s = 0.0 * lam[0]
        for i in range(nc):
            s += n[i] * lam[i]
        for i in range(nc):
            out[i] -= s * n[i]


@compiled
def split(x, at, n):
    """`x[at:at + n]` without checks."""
    return window(x, at, n)


@compiled
def finite(x):
    """Whether no entry is NaN or infinite."""
    s = 0.0 * x[0]
    for k in range(x.shape[0]):
        s += 0.0 * x[k]
    return s == s
