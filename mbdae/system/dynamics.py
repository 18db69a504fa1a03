"""Accelerations and multipliers, `M a + Phi_q^T lam = Q(t, q, v, lam)`, `Phi_q a = c`, where forces may depend on the multipliers.

Without joint friction this is one linear system with the KKT matrix. With it the multipliers are a fixed point

    lam = g(lam),   g(lam) = B^-1 (Phi_q M^-1 Q(t, q, v, lam) - c),   B = Phi_q M^-1 Phi_q^T.

1. The fixed-point iteration `lam <- g(lam)`. Its contraction rate is `mu` times a ratio of lengths, so it usually suffices.
2. Where it contracts slowly or diverges, Newton's method from the same guess (see `coupling`).
3. Several solutions may exist then; the physical one is connected with the motion without friction. Where Newton's method does not
   contract, or converges where `det(I - g') <= 0`, continuation in `s` from 0 to 1 in `lam = (1 - s) g(0) + s g(lam)`. If that branch ends
   before `s = 1` the joint jams.

Arguments are real or complex; the imaginary parts of complex ones are derivatives, which converge with the real parts.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import carray
from numba.core import config

from ..compilation.compiled import compiled
from ..compilation.foreign import pointer
from ..typing import Bytes, Numbers, Vector
from . import kernels, kkt, rare
from . import layout as lay
from .callbacks import call_rare
from .codes import GOOD, NO_FRICTION, NOT_FINITE
from .coupling import linearise, new_coupling, oriented, weakest
from .dense import solve
from .layout import header, part
from .sparse import fill
from .vectors import is_finite, largest

FIXED_POINT_ITERATIONS = 60  # of the fixed-point iteration
NEWTON_ITERATIONS = 12
FREE_ITERATIONS = 3  # Newton iterations that need not contract: a kink of `|n|` may lie between them
MAX_CONTRACTION = 0.5  # contraction rate above which the next method takes over
REFRESH = 0.1  # contraction rate above which the iteration matrix is refreshed
PRECISION, DERIVATIVE_PRECISION = 1e-14, 1e-12  # relative
STAGNATION = 0.7  # contraction rate above which small corrections are rounding
ROUNDING, SURE_ROUNDING = 1e-10, 1e-13  # size of such corrections: after better rates, and in any case
FIRST_STEP, MIN_STEP = 0.25, 1.0 / 256.0  # of the continuation parameter s
ITERATING, CONVERGED, SLOW = range(3)  # verdicts on an iteration


class Point(NamedTuple):
    """A placed state, with `Phi_q`, `M` and their factors in `work`, and the right-hand side `c` of `Phi_q a = c`."""

    t: float
    q: np.ndarray
    v: np.ndarray
    c: np.ndarray
    model: np.ndarray
    work: np.ndarray


@compiled
def accelerations(t, q, v, c, a, lam, model, work):
    """Solve for `a` and `lam` at the placed state, with `Phi_q`, `M` and their factors in `work`; returns a status code.

    Where forces depend on the multipliers `lam` is an initial guess on entry, and after a failure again; the constraint equation that jams
    is then marked for `jammed_row`.
    """
    if header(model)[lay.COUPLED]:
        return coupled(t, q, v, c, a, lam, model, work)
    force = np.empty_like(v)
    kernels.force(t, q, v, lam, model, work, force)
    kkt.solve(model, work, force, c, a, lam)
    return GOOD if is_finite(largest(a)) and is_finite(largest(lam)) else NOT_FINITE


if TYPE_CHECKING or config.DISABLE_JIT:

    def coupled(t: float, q: Numbers, v: Numbers, c: Numbers, a: Numbers, lam: Numbers, model: Bytes, work: Numbers) -> int:
        status: int = _coupled(Point(t, q, v, c, model, work), a, lam)
        return status

else:

    @compiled
    def coupled(t, q, v, c, a, lam, model, work):
        """`_coupled`, out of line."""
        at = rare.address(lay.RARE_FRICTION, model, work)
        return call_rare(at, t, 0, rare.address_of(q, work), rare.address_of(v, work), rare.address_of(c, work), rare.address_of(a, work),
                         rare.address_of(lam, work), model.ctypes.data, work.ctypes.data)


@compiled
def coupled_real(t, _number, q, v, c, a, lam, model, work):
    """`_coupled` from addresses."""
    nq, nv, nc, n = rare.sizes_at(model)
    at = Point(t, carray(pointer(q), (nq,), np.float64), carray(pointer(v), (nv,), np.float64), carray(pointer(c), (nc,), np.float64),
               rare.model_at(model), carray(pointer(work), (n,), np.float64))
    return _guarded(at, carray(pointer(a), (nv,), np.float64), carray(pointer(lam), (nc,), np.float64))


@compiled
def coupled_complex(t, _number, q, v, c, a, lam, model, work):
    """`_coupled` from addresses of complex numbers."""
    nq, nv, nc, n = rare.sizes_at(model)
    at = Point(t, carray(pointer(q), (nq,), np.complex128), carray(pointer(v), (nv,), np.complex128),
               carray(pointer(c), (nc,), np.complex128), rare.model_at(model), carray(pointer(work), (n,), np.complex128))
    return _guarded(at, carray(pointer(a), (nv,), np.complex128), carray(pointer(lam), (nc,), np.complex128))


@compiled
def _guarded(at, a, lam):
    """`_coupled`; no exception can leave a function that is called by address."""
    try:
        return _coupled(at, a, lam)
    except Exception:  # numba's division of complex numbers by zero
        return NOT_FINITE


@compiled
def _coupled(at, a, lam):
    """Fixed-point iteration, Newton's method, continuation, each from the same guess."""
    force = np.empty_like(at.v)
    _remove_nan(lam)
    guess = lam.copy()
    status = _fixed_point(at, force, a, lam)
    if status == NO_FRICTION:
        lam[:] = guess
        coupling = new_coupling(at.model, lam)
        if _largest_at(coupling.rows, lam) > 0.0:  # zero is no guess
            status = _newton(at, 1.0, lam, coupling, 0, force, a, lam)
        if status != GOOD:
            status = _continuation(at, coupling, force, a, lam)
    if status != GOOD:
        lam[:] = guess
    return status


@compiled
def _respond(at, lam, force, a, out):
    """Accelerations `a` and `out = g(lam)`, for the forces at `lam`; whether they are finite."""
    kernels.force(at.t, at.q, at.v, lam, at.model, at.work, force)
    kkt.solve(at.model, at.work, force, at.c, a, out)
    return is_finite(largest(a)) and is_finite(largest(out))


@compiled
def _fixed_point(at, force, a, lam):
    """`lam <- g(lam)` while the contraction rate is good; `NO_FRICTION` where it is not."""
    old, rate, state = np.empty_like(lam), 1.0, ITERATING
    before = slope_before = np.inf
    for k in range(FIXED_POINT_ITERATIONS):
        # the iteration
        old[:] = lam
        if not _respond(at, old, force, a, lam):
            return NOT_FINITE
        change, slope_change, size, slope = _changes(lam, old)
        scale = size + min(1.0, largest(force))
        # convergence of the real parts
        if state == ITERATING:
            state = _verdict(k, change, before, rate, scale)
            if k > 0 and change > ROUNDING * scale:
                rate = change / before
        if state == CONVERGED:  # the real parts; now the imaginary ones
            state = _derivative_verdict(slope_change, slope_before, slope)
            if state == CONVERGED:
                return GOOD
            state = CONVERGED if state == ITERATING else SLOW
        if state == SLOW:
            return NO_FRICTION
        before, slope_before = change, slope_change
    return NO_FRICTION


@compiled
def _verdict(k, change, before, rate, scale):
    """Convergence test after the `k`-th correction, of size `change`; the last one had the size `before`, `rate` is the rate so far."""
    now = change / before
    if change <= PRECISION * scale or (0.0 < now < MAX_CONTRACTION and now * change <= 0.1 * PRECISION * scale):
        return CONVERGED
    if now > STAGNATION and change <= (ROUNDING if rate < MAX_CONTRACTION else SURE_ROUNDING) * scale:
        return CONVERGED
    return SLOW if now > (MAX_CONTRACTION if k > 1 else 1.0) else ITERATING


@compiled
def _derivative_verdict(change, before, size):
    """The same test for the imaginary parts, once the real parts have converged."""
    now = change / before if before > 0.0 else 0.0
    if change <= DERIVATIVE_PRECISION * size or (0.0 < now < MAX_CONTRACTION and now * change <= 0.1 * DERIVATIVE_PRECISION * size):
        return CONVERGED
    if now > STAGNATION:
        return CONVERGED if change <= ROUNDING * size else SLOW
    return ITERATING


@compiled
def _continuation(at, coupling, force, a, lam):
    """The solution on the branch of `lam = g(0)`, the motion without friction, by continuation in the share of the coupling."""
    # base = g(0)
    base = np.empty_like(lam)
    fill(lam, 0.0)
    if not _respond(at, lam, force, a, base):
        return NOT_FINITE
    lam[:] = base
    reached, done, step, status = base.copy(), 0.0, FIRST_STEP, GOOD
    # s from 0 to 1
    while step >= MIN_STEP:
        share = min(1.0, done + step)
        status = _newton(at, share, base, coupling, FREE_ITERATIONS, force, a, lam)
        if status == GOOD:
            if share == 1.0:
                return GOOD
            reached[:], done, step = lam, share, 2.0 * step
        else:
            lam[:], step = reached, 0.5 * step
    if status == NO_FRICTION:
        linearise(at.t, at.q, at.v, lam, done, coupling, at.model, at.work)
        _mark(weakest(coupling), at.model, at.work)
    return status


@compiled
def _newton(at, share, base, coupling, free, force, a, lam):
    """Newton's method for `lam = (1 - share) base + share g(lam)`; the first `free` iterations need not contract.

    Complex multipliers take two more iterations with the matrix of the real solution: their imaginary parts are then exact to rounding.
    """
    rows, more, before, scale = coupling.rows, (2 if lam.itemsize == 16 else 0), np.inf, 0.0
    new, d = np.empty_like(lam), np.empty(rows.shape[0], lam.dtype)
    exists = linearise(at.t, at.q, at.v, lam, share, coupling, at.model, at.work)
    for k in range(NEWTON_ITERATIONS):
        # residual and correction, with a new matrix where the old one contracts slowly
        if not exists:
            return NO_FRICTION
        if not _respond(at, lam, force, a, new):
            return NOT_FINITE
        change = _correction(share, base, new, lam, coupling, d)
        scale = _largest_at(rows, lam) + min(1.0, largest(force))
        if change > REFRESH * before and change > SURE_ROUNDING * scale:
            if not linearise(at.t, at.q, at.v, lam, share, coupling, at.model, at.work):
                return NO_FRICTION
            change = _correction(share, base, new, lam, coupling, d)
        for i in range(rows.shape[0]):
            lam[rows[i]] += d[i]
        # convergence
        state = _verdict(k, change, before, 0.0, scale)
        if not is_finite(change) or (state == SLOW and k > free):
            return NO_FRICTION
        if state == CONVERGED:
            if more == 0:
                return _finish(at, share, coupling, force, a, lam)
            if more == 2:
                exists = linearise(at.t, at.q, at.v, lam, share, coupling, at.model, at.work)
            more -= 1
        before = change
    return NO_FRICTION


@compiled
def _correction(share, base, new, lam, coupling, d):
    """Newton's correction `d` of the multipliers that the forces depend on, for `new = g(lam)`; returns its size."""
    rows = coupling.rows
    for i in range(rows.shape[0]):
        k = rows[i]
        d[i] = (1.0 - share) * base[k] + share * new[k] - lam[k]
    solve(coupling.matrix, coupling.pivots, d)
    return largest(d)


@compiled
def _finish(at, share, coupling, force, a, lam):
    """Accept the solution if it is on the branch of the motion without friction; for `share = 1` evaluate `a` and all multipliers."""
    if not oriented(coupling):
        return NO_FRICTION
    if share < 1.0:
        return GOOD
    new = lam.copy()
    return GOOD if _respond(at, new, force, a, lam) else NOT_FINITE


@compiled
def _changes(x, old):
    """Largest changes and sizes: `(change, change of the imaginary parts, size, size of the imaginary parts)`."""
    change = slope_change = size = slope = 0.0
    for k in range(x.shape[0]):
        change, size = max(change, abs(x[k].real - old[k].real)), max(size, abs(x[k].real))
        slope_change, slope = max(slope_change, abs(x[k].imag - old[k].imag)), max(slope, abs(x[k].imag))
    return change, slope_change, size, slope


@compiled
def _largest_at(rows, x):
    out = 0.0
    for k in range(rows.shape[0]):
        out = max(out, abs(x[rows[k]]))
    return out


@compiled
def _remove_nan(x):
    """Replace entries of a guess that are not finite by zero."""
    for k in range(x.shape[0]):
        if not is_finite(x[k]):
            x[k] = 0.0


@compiled
def _mark(row, model, work):
    """Mark a constraint equation for `jammed_row`: all entries of a scratch vector become NaN but this one."""
    marks = part(model, work, lay.W_C1)
    fill(marks, np.nan)
    marks[row] = 0.0


def jammed_row(model: Bytes, work: Vector) -> int | None:
    """The constraint equation for which `accelerations` has just returned `NO_FRICTION`; `None` if unknown."""
    head = model[:lay.HEADER_BYTES].view(np.int64)
    found = np.flatnonzero(np.isfinite(work[head[lay.W_C1]:head[lay.W_C1] + head[lay.NC]]))
    return int(found[0]) if len(found) == 1 else None
