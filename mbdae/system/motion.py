"""Accelerations and multipliers at a configuration that was prepared: the residual of their equations, one step of refinement."""

import numpy as np

from ..compilation.compiled import compiled
from . import dynamics, kernels, kkt, sparse
from . import layout as lay
from .layout import part
from .out_of_line import out_of_line


@out_of_line(lay.ACCELERATIONS, "txxxxmw", "i")
def accelerations(t, q, v, a, lam, model, work):
    """`a` and `lam` at the configuration and velocities that were prepared; with joint friction `lam` is a guess on entry."""
    gamma = np.empty_like(lam)
    kernels.gamma(t, q, v, model, work, gamma)
    return dynamics.accelerations(t, q, v, gamma, a, lam, model, work)


@compiled
def equation_residuals(t, q, v, a, friction, lam, model, work, r, c):
    """`r = Q - M a - Phi_q^T lam`, `c = gamma - Phi_q a` where all is in place; `friction` are the multipliers in `Q`."""
    G = part(model, work, lay.W_G)
    sums, rows = np.empty_like(r), np.empty_like(c)
    kernels.force(t, q, v, friction, model, work, r)
    kernels.gamma(t, q, v, model, work, c)
    sparse.mass_times(kernels.mass_values(model, work), a, model, sums)
    sparse.add_transposed(G, lam, model, sums)
    sparse.times(G, a, model, rows)
    for k in range(r.shape[0]):
        r[k] -= sums[k]
    for k in range(c.shape[0]):
        c[k] -= rows[k]


@out_of_line(lay.REFINE, "txxxxmw")
def refine(t, q, v, a, lam, model, work):
    """Removes the rounding of `a` and `lam` by one step of refinement, at the configuration that was prepared."""
    r, c, x, y = np.empty_like(v), np.empty_like(lam), np.empty_like(v), np.empty_like(lam)
    equation_residuals(t, q, v, a, lam, lam, model, work, r, c)
    kkt.solve(model, work, r, c, x, y)
    for k in range(x.shape[0]):
        a[k] += x[k]
    for k in range(y.shape[0]):
        lam[k] += y[k]
