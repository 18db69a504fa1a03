"""How far a given state is from the constraints and from the equations of motion, compiled, in one call from Python each."""

import numpy as np

from ..compilation.compiled import compiled
from . import kernels, kkt, sparse
from . import layout as lay
from .evaluate import factor
from .layout import SEGMENT_T, count, header, part, table
from .nearest import velocity_defect
from .vectors import all_finite, largest, put


@compiled
def residuals(t, q, v, a, lam, with_forces, model, work):
    """Residuals of the constraints on positions and velocities, and the terms of the equations of motion.

    Returns
    -------
    levels : ndarray (3, nc)
        `Phi`, `Phi_q v - nu`, and the lengths of the rows of `Phi_q`.
    terms : ndarray (4, nv)
        `Q`, `M a`, `Phi_q^T lam`, and `M` times ones; zero without `with_forces`.
    """
    head = header(model)
    nv, nc = head[lay.NV], head[lay.NC]
    levels, terms, G = np.zeros((3, nc)), np.zeros((4, nv)), part(model, work, lay.W_G)
    kernels.place(t, q, model, work)
    kernels.phi(t, q, model, work, levels[0])
    kernels.phi_q(t, q, model, work, G)
    kernels.nu(t, q, model, work, levels[1])
    for i in range(nc):
        levels[1, i] = -levels[1, i]
    sparse.add_times(G, v, model, levels[1])
    _lengths(G, model, levels[2])
    if with_forces:
        kernels.mass(t, q, model, work)
        M = kernels.mass_values(model, work)
        sparse.mass_times(M, a, model, terms[1])
        sparse.add_transposed(G, lam, model, terms[2])
        sparse.mass_times(M, np.ones(nv), model, terms[3])
        kernels.place_velocity(v, model, work)
        kernels.force(t, q, v, lam, model, work, terms[0])
    return levels, terms


@compiled
def _lengths(G, model, out):
    """The Euclidean norms of the rows of `Phi_q`; `out` is zero."""
    segments = table(model, lay.SEGMENT, SEGMENT_T)
    for i in range(segments.shape[0]):
        s = segments[i]
        for k in range(s["n"]):
            out[s["row"]] += G[s["at"] + k] * G[s["at"] + k]
    for i in range(out.shape[0]):
        out[i] = np.sqrt(out[i])


@compiled
def onto_constraints(t, q, v, most, model, work, near, u):
    """Positions on the constraints next to `q` up to rounding, `near`, and velocities next to `v` there, `u`; whether they are finite.

    At most `most` corrections of the positions.
    """
    head = header(model)
    tables = model.copy() if count(model, lay.DEPENDENT) else model  # independent of earlier calls
    residual, lam, trial = np.zeros(head[lay.NC]), np.empty(head[lay.NC]), np.empty(head[lay.NQ])
    zero, d = np.zeros(head[lay.NV]), np.empty(head[lay.NV])
    put(q, near)
    kernels.place(t, near, tables, work)
    kernels.phi(t, near, tables, work, residual)
    for _ in range(most):
        # min |d|_M subject to Phi_q d = -Phi
        size = largest(residual)
        for i in range(residual.shape[0]):
            residual[i] = -residual[i]
        factor(t, near, tables, work)
        kkt.solve(tables, work, zero, residual, d, lam)
        kernels.retract(near, d, tables, trial)
        kernels.place(t, trial, tables, work)
        kernels.phi(t, trial, tables, work, residual)
        if not largest(residual) < size:
            break
        put(trial, near)
    # min |u - v|_M subject to Phi_q u = nu
    factor(t, near, tables, work)
    velocity_defect(t, near, v, tables, work, residual)
    kkt.solve(tables, work, zero, residual, d, lam)
    for i in range(d.shape[0]):
        u[i] = v[i] + d[i]
    return all_finite(near) and all_finite(u)


@compiled
def exceeds(x, given, rtol, atol, rounding):
    """Whether `|x - given| > atol + rtol |given| + rounding (1 + max |given|)` in a component."""
    least = atol + rounding * (1.0 + largest(given))
    for k in range(x.shape[0]):
        if abs(x[k] - given[k]) > least + rtol * abs(given[k]):
            return True
    return False
