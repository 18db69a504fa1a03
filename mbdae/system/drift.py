"""Redundant constraints at acceleration level: a term that prevents exponential growth of the constraint violations.

With `N` an orthonormal basis of the null space of `Phi_q^T`, the acceleration equations are `(I - N N^T) (Phi_q a - gamma) = 0`. The
violations `e = Phi` obey `N^T e = 0` to first order, so `e'' = -N (2 N'^T e' + N''^T e)`. In directions `tau` that do not turn within the
complement of `N`, `tau' = -N N'^T tau`, the components of `e = tau s` then have `s'' = tau^T N' N'^T tau s`: exponential growth
where `N` turns, as of a bead on a rotating rod. With

    (I - N N^T) (Phi_q a - gamma + N' N'^T e) = 0

it is `s'' = 0`, the drift of independent constraints. From `Phi_q^T N = 0`, with `G = Phi_q`, its derivative `G'` along the motion, and the
pseudo-inverse `G^+` in the metric of the mass matrix,

    (I - N N^T) N' N'^T e = (G^+)^T G'^T N N^T G' G^+ e.
"""

import numpy as np

from ..compilation.compiled import compiled
from . import kernels, kkt, null_space, sparse
from . import layout as lay
from .layout import count, header

DISPLACEMENT = 1e-5  # of the difference quotient of Phi_q, relative to the size of the coordinates
MIN_SIZE, MAX_SIZE = 1e-3, 1.0  # bounds on that size
MAX_TIME = 1e-3  # bound on the time of the displacement [s]


@compiled
def drift_term(t, q, v, model, work, out):
    """`out = (I - N N^T) N' N'^T Phi`, after `kkt.factor`.

    The state must have been placed, and is placed again. `Phi_q'` is a central difference along the motion. The functions of time of the
    constraints themselves are left at `t`: the gradients of built-in ones do not depend on them where these are satisfied.
    """
    speed, size = _largest(v), _largest(q)
    if not speed > 0.0 and header(model)[lay.KIND] != lay.TREE:  # joints may move as prescribed
        sparse.fill(out, 0.0)
        return
    dt = DISPLACEMENT * min(max(size, MIN_SIZE), MAX_SIZE) / max(speed, 1e-300)
    dt = min(dt, MAX_TIME)
    rate = _gradient_rate(t, q, v, dt, model, work)
    e, zero, x, w = np.empty_like(out), np.zeros_like(out), np.empty_like(v), np.zeros_like(v)
    # x = G^+ e
    kernels.phi(t, q, model, work, e)
    kkt.solve(model, work, w, e, x, out)
    # w = G'^T N N^T G' x
    sparse.times(rate, x, model, e)
    _into_null_space(null_space.vectors(model, work), e)
    sparse.add_transposed(rate, e, model, w)
    # out = (G^+)^T w
    kkt.solve(model, work, w, zero, x, out)


@compiled
def subtract_drift_term(t, q, v, model, work, target):
    """`target -= (I - N N^T) N' N'^T Phi`, see `drift_term`, where constraint equations are redundant."""
    if count(model, lay.DEPENDENT):
        term = np.empty_like(target)
        drift_term(t, q, v, model, work, term)
        for k in range(target.shape[0]):
            target[k] -= term[k]


@compiled
def _gradient_rate(t, q, v, dt, model, work):
    """`d Phi_q/dt` along `v`, from differences over `dt` to both sides; the state is placed again afterwards."""
    forward, backward = np.empty(header(model)[lay.NNZ], work.dtype), np.empty(header(model)[lay.NNZ], work.dtype)
    at, qdot = np.empty_like(q), np.empty_like(q)
    kernels.qdot(t, q, v, model, qdot)
    for sign, out in ((1.0, forward), (-1.0, backward)):
        for k in range(q.shape[0]):
            at[k] = q[k] + sign * dt * qdot[k]
        kernels.place(t + sign * dt, at, model, work)
        kernels.phi_q(t, at, model, work, out)
    for k in range(forward.shape[0]):
        forward[k] = (forward[k] - backward[k]) / (2.0 * dt)
    kernels.place(t, q, model, work)
    kernels.place_velocity(v, model, work)
    return forward


@compiled
def _into_null_space(N, x):
    """`x = N N^T x`."""
    parts = np.empty(N.shape[0], x.dtype)
    for k in range(N.shape[0]):
        s = 0.0 * x[0]
        for i in range(x.shape[0]):
            s += N[k, i] * x[i]
        parts[k] = s
    sparse.fill(x, 0.0)
    for k in range(N.shape[0]):
        for i in range(x.shape[0]):
            x[i] += parts[k] * N[k, i]


@compiled
def _largest(x):
    out = 0.0
    for k in range(x.shape[0]):
        out = max(out, abs(x[k].real))
    return out
