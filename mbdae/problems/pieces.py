"""The equations that all formulations share. They need `begin` before: `q` and `v` placed, `G` and the mass matrix evaluated."""

from typing import NamedTuple

import numpy as np

from ..compilation.compiled import compiled, generic, window
from ..jacobians.signatures import Array, Tables
from ..system import kernels, sparse
from ..system import layout as lay
from ..system.layout import count, header, part, table


class Motion(NamedTuple):
    """Views of the unknowns, the values of `Phi_q`, and the `nc` rows of the residual for the constraints."""

    q: Array
    v: Array
    a: Array
    lam: Array
    G: Array
    constraints: Array


class StabilisedState(NamedTuple):
    """The unknowns of the GGL equations and their derivatives."""

    q: Array
    v: Array
    qd: Array
    a: Array
    lam: Array
    mu: Array


@compiled
def sizes(model: Tables) -> tuple[int, int, int]:
    """`nq, nv, nc`."""
    head = header(model)
    return head[lay.NQ], head[lay.NV], head[lay.NC]


@compiled
def begin(t: float, q: Array, v: Array, model: Tables, work: Array) -> Array:
    """Place the state and evaluate `Phi_q` and `M`; returns the values of `Phi_q`."""
    G = part(model, work, lay.W_G)
    kernels.place(t, q, model, work)
    kernels.place_velocity(v, model, work)
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    return G


@compiled
def kinematics(t: float, q: Array, qd: Array, v: Array, model: Tables, out: Array) -> None:
    """`qd - T(q) v`."""
    kernels.qdot(t, q, v, model, out)
    for k in range(q.shape[0]):
        out[k] = qd[k] - out[k]


@compiled
def dynamics(t: float, q: Array, v: Array, a: Array, lam: Array, G: Array, model: Tables, work: Array, out: Array) -> None:
    """`M a + Phi_q^T lam - Q`."""
    _inertia_minus_force(t, q, v, a, lam, model, work, out)
    sparse.add_transposed(G, lam, model, out)


@compiled
def _inertia_minus_force(t: float, q: Array, v: Array, a: Array, lam: Array, model: Tables, work: Array, out: Array) -> None:
    """`M a - Q`."""
    force = part(model, work, lay.W_V1)
    kernels.force(t, q, v, lam, model, work, force)
    sparse.mass_times(kernels.mass_values(model, work), a, model, out)
    for k in range(v.shape[0]):
        out[k] -= force[k]


@generic
def equations_of_motion(t: float, y: Array, yd: Array, out: Array, model: Tables, work: Array) -> Motion:
    """Kinematics and dynamics of the forms with `y = (q, v, lam)`, written to the first rows of `out`; returns the `Motion`."""
    nq, nv, nc = sizes(model)
    q, v, lam, a = split(y, 0, nq), split(y, nq, nv), split(y, nq + nv, nc), split(yd, nq, nv)
    G = begin(t, q, v, model, work)
    kinematics(t, q, split(yd, 0, nq), v, model, split(out, 0, nq))
    dynamics(t, q, v, a, lam, G, model, work, split(out, nq, nv))
    return Motion(q, v, a, lam, G, split(out, nq + nv, nc))


@compiled
def stabilised(t: float, s: StabilisedState, model: Tables, work: Array, out: Array) -> None:
    """`out = (qd - T(q) (v - Phi_q^T mu), M a + Phi_q^T lam - Q, Phi_q v - nu, Phi)` at the `StabilisedState` `s`."""
    nq, nv, nc = sizes(model)
    dynamic, velocities, positions = split(out, nq, nv), split(out, nq + nv, nc), split(out, nq + nv + nc, nc)
    G = begin(t, s.q, s.v, model, work)
    # M a - Q, then Phi_q v, Phi_q^T lam and Phi_q^T mu in one pass over Phi_q
    _inertia_minus_force(t, s.q, s.v, s.a, s.lam, model, work, dynamic)
    x, nu = part(model, work, lay.W_V1), part(model, work, lay.W_C1)
    sparse.fill(x, 0.0)
    sparse.products(G, model, s.v, velocities, s.lam, dynamic, s.mu, x)
    # kinematics
    for k in range(nv):
        x[k] = s.v[k] - x[k]
    kinematics(t, s.q, s.qd, x, model, split(out, 0, nq))
    # constraints on velocities and positions
    kernels.nu(t, s.q, model, work, nu)
    for k in range(nc):
        velocities[k] -= nu[k]
    kernels.phi(t, s.q, model, work, positions)
    regularise(model, velocities, s.lam)
    regularise(model, positions, s.mu)


@compiled
def velocity(t: float, q: Array, v: Array, G: Array, model: Tables, work: Array, out: Array) -> None:
    """`Phi_q v - nu`."""
    nu = part(model, work, lay.W_C1)
    kernels.nu(t, q, model, work, nu)
    sparse.times(G, v, model, out)
    for k in range(nu.shape[0]):
        out[k] -= nu[k]


@compiled
def acceleration(t: float, q: Array, v: Array, a: Array, G: Array, model: Tables, work: Array, out: Array) -> None:
    """`Phi_q a - gamma`, with the term against drift where constraint equations are redundant (see `system.drift`)."""
    gamma, drift = part(model, work, lay.W_C1), table(model, lay.DRIFT, np.float64)
    kernels.gamma(t, q, v, model, work, gamma)
    sparse.times(G, a, model, out)
    for k in range(gamma.shape[0]):
        out[k] -= gamma[k]
    for k in range(drift.shape[0]):
        out[k] += drift[k]


@compiled
def regularise(model: Tables, out: Array, lam: Array) -> None:
    """`out -= w N N^T lam` where constraint equations are redundant, with an orthonormal basis `N` of the null space of `Phi_q^T`.

    Without this term the multipliers are determined up to a vector of the null space only. Multiplication by `N^T` eliminates the
    constraints, so `N^T lam = 0`: all constraints hold, and the multipliers have minimal norm. The problem evaluates `N` (see
    `Problem.follow`) and stores it times the root of the weight (see `regularisation`); derivatives treat it as constant.
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
def split(x: Array, at: int, n: int) -> Array:
    """`x[at:at + n]` without checks."""
    return window(x, at, n)


@compiled
def finite(x: Array) -> bool:
    """Whether no entry is NaN or infinite."""
    s = 0.0 * x[0]
    for k in range(x.shape[0]):
        s += 0.0 * x[k]
    return s == s
