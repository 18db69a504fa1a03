"""The state within a step: an interpolant of a higher order than the collocation polynomial, and projections of its values.

The collocation polynomial has an error of order `s + 1`, far above that of the ends of the step, of order `2 s - 1`. With accelerations of
the equations of motion at the ends `x_0 = 0`, `x_(s+2) = 1` and at `s + 1` Lobatto points between them,

    v(theta) = v0 + h sum_j b_j(theta) a(t_j, q_j, v_j),   q(theta) = q0 + h sum_j b_j(theta) T(q_j) v_j,   b_j' = Lagrange polynomials,

has an error one order higher in `v`, two in `q`, than that of `q_j` and `v_j`: those of the collocation polynomial, and then those of this
interpolant itself. A cubic polynomial in `theta` takes up what is left at the end of the step. Where forces are stiff the second sweep
moves the velocities by more than a small part of what the first one has moved them, and the collocation polynomial is used as it is.
"""

from typing import Any

from numba import types

from ...compilation.compiled import by_address, compiled
from ...compilation.structure import Structure
from ...jacobians.signatures import Array, Tables
from ...system import kernels
from ...system import layout as lay
from ...system.codes import GOOD
from ...system.evaluate import solve_motion
from ...system.layout import count
from ...system.vectors import fill, is_finite, largest, put
from ...typing import Matrix, Vector
from .collocation import inside

NOT_TRIED, IMPROVED, COLLOCATION = range(3)  # what `Extension.state` says of a step
SWEEPS = 2
MAX_RATE = 0.2  # contraction rate of the sweeps above which forces count as stiff


class Extension(Structure):
    """The interpolant of a step.

    Attributes
    ----------
    state : int
        `NOT_TRIED`, `IMPROVED` or `COLLOCATION`.
    only : int
        1 if values within the step are not projected.
    q, v, rates, a : ndarray, shape (m, nq), (m, nv), (m, nq), (m, nv)
        Positions and velocities at the nodes, and their derivatives.
    gap_q, gap_v : ndarray
        The end of the step relative to the integrals.
    integrals : ndarray, shape (m,)
        `b_j` at one `theta`.
    lam, guess : ndarray
        Multipliers, and their initial guess.
    accelerate : compiled function
        `accelerations`, called by its address.
    work : ndarray
        Its workspace.
    """

    state: int
    only: int
    q: Matrix
    v: Matrix
    rates: Matrix
    a: Matrix
    gap_q: Vector
    gap_v: Vector
    integrals: Vector
    lam: Vector
    guess: Vector
    accelerate: Any
    work: Vector


@compiled
def accelerations(t: float, q: Array, v: Array, a: Array, lam: Array, model: Tables, work: Array) -> int:
    """Accelerations and multipliers of the equations of motion, with `lam` as initial guess; `GOOD` or the code of a failure."""
    return int(solve_motion(t, q, v, a, lam, model, work))


_F, _X, _M = types.float64, types.float64[::1], types.uint8[::1]
ACCELERATIONS = by_address(accelerations, types.int64(_F, _X, _X, _X, _X, _M, _X))


@compiled
def between(time, t, h, run, out):
    """The state at a time within the step from `t`, projected onto the constraints; `GOOD` or the code of a failure."""
    extension, theta, q, v = run.extension, (time - t) / h, run.within.q, run.within.v
    if extension.state == NOT_TRIED:
        extension.state = IMPROVED if _extend(t, h, run) else COLLOCATION
    if extension.state == IMPROVED:
        _values(theta, h, run, out.q, out.v)
    else:
        inside(theta, run.formulas[run.memory.level], run.Z, run.basis, run.y0, run.y)
        put(q, out.q)
        put(v, out.v)
    if extension.only != 0:
        return GOOD
    status, _ = run.project(time, out.q, out.v, out.a, out.lam, 0.0, run.projection, run.model, run.projected)
    return status


@compiled
def _extend(t, h, run):
    """Derivatives at the nodes, in two sweeps; whether these converge."""
    extension, formula, q0, v0, q1, v1 = run.extension, run.formulas[run.memory.level], run.start.q, run.start.v, run.end.q, run.end.v
    # the choice of redundant equations belongs to the steps
    model = run.model.copy() if count(run.model, lay.DEPENDENT) else run.model
    last = formula.lobatto.shape[0] - 1
    put(extension.guess, extension.lam)
    for j in range(last + 1):
        inside(formula.lobatto[j], formula, run.Z, run.basis, run.y0, run.y)
        put(q0 if j == 0 else q1 if j == last else run.within.q, extension.q[j])
        put(v0 if j == 0 else v1 if j == last else run.within.v, extension.v[j])
    before, moved = 0.0, 0.0
    for k in range(SWEEPS):
        if not _accelerations(t, h, k, formula, run, model):
            return False
        before, moved = moved, _integrate(t, h, formula, run, model)
        if k > 0 and not moved <= MAX_RATE * before:
            return False
    _gap(h, formula.rises[last], extension.a, v0, v1, extension.gap_v)
    _gap(h, formula.rises[last], extension.rates, q0, q1, extension.gap_q)
    return is_finite(largest(extension.gap_q) + largest(extension.gap_v))


@compiled
def _accelerations(t, h, sweep, formula, run, model):
    """Accelerations at the nodes; whether there are some."""
    extension = run.extension
    m = formula.lobatto.shape[0]
    for j in range(m):
        if sweep > 0 and (j == 0 or j == m - 1):  # the same states as before
            continue
        time, q, v, a = t + formula.lobatto[j] * h, extension.q[j], extension.v[j], extension.a[j]
        if extension.accelerate(time, q, v, a, extension.lam, model, extension.work) != GOOD:
            return False
    return True


@compiled
def _integrate(t, h, formula, run, model):
    """New velocities and positions at the nodes; the largest change of the velocities."""
    extension, moved = run.extension, 0.0
    m = formula.lobatto.shape[0]
    for j in range(1, m - 1):
        for k in range(extension.v.shape[1]):
            x = run.start.v[k]
            for i in range(m):
                x += h * formula.rises[j, i] * extension.a[i, k]
            moved = max(moved, abs(x - extension.v[j, k]))
            extension.v[j, k] = x
    for j in range(m):
        kernels.qdot(t + formula.lobatto[j] * h, extension.q[j], extension.v[j], model, extension.rates[j])
    for j in range(1, m - 1):
        for k in range(extension.q.shape[1]):
            x = run.start.q[k]
            for i in range(m):
                x += h * formula.rises[j, i] * extension.rates[i, k]
            extension.q[j, k] = x
    return moved


@compiled
def _gap(h, rises, slopes, x0, x1, gap):
    """The end of the step relative to the integral of the slopes."""
    for k in range(x0.shape[0]):
        x = x1[k] - x0[k]
        for i in range(rises.shape[0]):
            x -= h * rises[i] * slopes[i, k]
        gap[k] = x


@compiled
def _values(theta, h, run, q, v):
    """Positions and velocities of the interpolant."""
    extension, formula = run.extension, run.formulas[run.memory.level]
    integrals_at(theta, formula, extension.integrals)
    _sum(theta, h, formula.lobatto.shape[0], extension.integrals, extension.rates, run.start.q, extension.gap_q, q)
    _sum(theta, h, formula.lobatto.shape[0], extension.integrals, extension.a, run.start.v, extension.gap_v, v)


@compiled
def _sum(theta, h, m, integrals, slopes, x0, gap, out):
    """`out = x0 + h sum_j b_j slopes_j + theta^2 (3 - 2 theta) gap`."""
    share = theta * theta * (3.0 - 2.0 * theta)
    for k in range(out.shape[0]):
        out[k] = x0[k] + share * gap[k]
    for j in range(m):
        x, row = h * integrals[j], slopes[j]
        for k in range(out.shape[0]):
            out[k] += x * row[k]


@compiled
def integrals_at(theta, formula, out):
    """`b_j(theta)`, integrals of Lagrange polynomials, from their expansions in Legendre polynomials."""
    c, x = formula.legendre, 2.0 * theta - 1.0
    m = c.shape[0]
    before, now = 1.0, x  # P_(k-1), P_k
    fill(out, 0.0)
    for j in range(m):
        out[j] = c[0, j] * theta
    for k in range(1, m):
        after = ((2 * k + 1) * x * now - k * before) / (k + 1)
        integral = (after - before) / (2.0 * (2 * k + 1))  # of P_k from 0
        for j in range(m):
            out[j] += c[k, j] * integral
        before, now = now, after
