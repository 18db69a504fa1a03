"""Accelerations and multipliers at a placed state with factors in `work`: solution, residual, iterative refinement."""

import numpy as np

from ..compilation.compiled import compiled
from . import dynamics, kernels, kkt, sparse
from . import layout as lay
from .codes import GOOD, NOT_FINITE
from .layout import header, part
from .out_of_line import out_of_line
from .tree import call
from .vectors import all_finite


@out_of_line(lay.ACCELERATIONS, "txxxxmw", "i")
def accelerations(t, q, v, a, lam, model, work):
    """Solve for `a` and `lam` at the placed state, after `kkt.factor`; with joint friction `lam` is an initial guess on entry."""
    gamma = np.empty_like(lam)
    kernels.gamma(t, q, v, model, work, gamma)
    return dynamics.accelerations(t, q, v, gamma, a, lam, model, work)


@compiled
def is_free_tree(model):
    """Whether a system in joint coordinates has no constraints, so that `articulated` can take the place of the KKT matrix."""
    head = header(model)
    return head[lay.KIND] == lay.TREE and head[lay.NC] == 0 and not head[lay.COUPLED]


@out_of_line(lay.ARTICULATED, "txxmwx", "i")
def articulated(t, q, v, model, work, a):
    """Accelerations of a tree without constraints at a state that is placed here; leaves the mass matrix and its factors."""
    call.evaluate(call.PLACE, t, q, model, work)
    call.evaluate(call.PLACE_VELOCITY, t, v, model, work)
    kernels.wrenches_of_bodies(t, part(model, work, lay.W_C1), model, work)
    call.evaluate(call.ACCELERATIONS, t, a, model, work)
    return GOOD if all_finite(a) else NOT_FINITE


@compiled
def equation_residuals(t, q, v, a, lam, model, work, r, c):
    """`r = Q(t, q, v, lam) - M a - Phi_q^T lam`, `c = gamma - Phi_q a`, with the state placed and `Phi_q` and `M` in `work`."""
    kernels.force(t, q, v, lam, model, work, r)
    kernels.gamma(t, q, v, model, work, c)
    subtract_equations(a, lam, model, work, r, c)


@compiled
def subtract_equations(a, lam, model, work, r, c):
    """Subtract `M a + Phi_q^T lam` from `r`, and `Phi_q a` from `c`."""
    G = part(model, work, lay.W_G)
    sums, rows = np.empty_like(r), np.empty_like(c)
    sparse.mass_times(kernels.mass_values(model, work), a, model, sums)
    sparse.add_transposed(G, lam, model, sums)
    sparse.times(G, a, model, rows)
    for k in range(r.shape[0]):
        r[k] -= sums[k]
    for k in range(c.shape[0]):
        c[k] -= rows[k]


@out_of_line(lay.REFINE, "txxxxmw")
def refine(t, q, v, a, lam, model, work):
    """One step of iterative refinement of `a` and `lam`, at the placed state, after `kkt.factor`."""
    r, c = np.empty_like(v), np.empty_like(lam)
    equation_residuals(t, q, v, a, lam, model, work, r, c)
    _add_solution(r, c, model, work, a, lam)


@out_of_line(lay.REFINED_ACCELERATIONS, "txxxxmw", "i")
def refined_accelerations(t, q, v, a, lam, model, work):
    """`accelerations` and `refine`, with one evaluation of the forces where they do not depend on the multipliers."""
    if header(model)[lay.COUPLED]:
        status = accelerations(t, q, v, a, lam, model, work)
        if status == GOOD:
            refine(t, q, v, a, lam, model, work)
        return status
    r, c = np.empty_like(v), np.empty_like(lam)
    kernels.force(t, q, v, lam, model, work, r)
    kernels.gamma(t, q, v, model, work, c)
    kkt.solve(model, work, r, c, a, lam)
    if not (all_finite(a) and all_finite(lam)):
        return NOT_FINITE
    subtract_equations(a, lam, model, work, r, c)
    _add_solution(r, c, model, work, a, lam)
    return GOOD


@compiled
def _add_solution(r, c, model, work, a, lam):
    """Add the solution of `M x + Phi_q^T y = r`, `Phi_q x = c`."""
    x, y = np.empty_like(a), np.empty_like(lam)
    kkt.solve(model, work, r, c, x, y)
    for k in range(x.shape[0]):
        a[k] += x[k]
    for k in range(y.shape[0]):
        lam[k] += y[k]
