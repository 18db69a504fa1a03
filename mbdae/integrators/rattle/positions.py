"""The first half of a step of RATTLE: impulses of forces and constraints, and the motion of the bodies without them."""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels, kkt, sparse
from ...system import layout as lay
from ...system.codes import DIVERGED, GOOD, NOT_FINITE, RANK_LOST, VARIABLE_MASS
from ...system.layout import count, part
from ...system.two_positions import solve_two_positions
from ...system.vectors import is_finite, largest, put
from ..control.newton import NOISY_RATE, newton_test
from ..one_step import at_rounding
from .broyden import accelerated
from .free_body import add_gyroscopic, move, positions_ahead
from .sums import add, put_velocities

DIVERGENCE_RATIO = 1e4  # of a correction and the smallest one, above which the iteration diverges
SAME_MASS = 1e-9  # relative difference of two mass matrices that are the same


@compiled
def factor(t, q, run):
    """Place `q` and factorise the KKT matrix there; `GOOD`, or why that is no regular position of a system with constant masses."""
    model, work, mass = run.model, run.work, run.scratch.mass
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    if mass.shape[0] > 0:
        kernels.mass(t, q, model, work)
        M = kernels.mass_values(model, work)
        bound = SAME_MASS * largest(mass)
        for k in range(mass.shape[0]):
            if not abs(M[k] - mass[k]) <= bound:
                return VARIABLE_MASS if is_finite(M[k]) else NOT_FINITE
    lost = kkt.factor(model, work, mass.shape[0] > 0)
    run.counts.factorisations += 1
    run.counts.jacobians += 1
    return GOOD if lost == 0 or lost == count(model, lay.DEPENDENT) else RANK_LOST


@compiled
def place_constraints(t, q, run):
    """Place `q` with `Phi_q`; the factors of the KKT matrix stay as they are, unless there are redundant constraints."""
    model, work = run.model, run.work
    if count(model, lay.DEPENDENT) > 0 or run.scratch.mass.shape[0] > 0:
        return factor(t, q, run)
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    return GOOD


@compiled
def first_kick(h, state, run):
    """`run.scratch.kicked`: the velocities after half a step of forces and reactions, without the gyroscopic torques."""
    kicked, b, a, model, work = run.scratch.kicked, run.scratch.b, state.a, run.model, run.work
    sparse.fill(b, 0.0)
    add_gyroscopic(state.v, 0.5 * h, model, b)
    sparse.mass_solve(part(model, work, lay.W_MINV), b, model, b)
    put_velocities(state, kicked)
    v, rest = kicked.v, kicked.v_rest
    for k in range(b.shape[0]):
        add(v, rest, k, 0.5 * h * a[k] + b[k])


@compiled
def later_kick(t, h, state, run):
    """The same between two parts of a step, `h` their mean length, after `place_constraints`; for forces that do not depend on velocities.

    The reactions are those of the guess `state.lam`. The velocities before it are those of `run.scratch.moved`.
    """
    s, model, work = run.scratch, run.model, run.work
    kicked, b, z = s.kicked, s.b, s.z
    # with velocities zero there are no gyroscopic torques
    sparse.fill(z, 0.0)
    kernels.place_velocity(z, model, work)
    kernels.force(t, state.q, z, state.lam, model, work, b)
    sparse.add_transposed(part(model, work, lay.W_G), state.lam, model, z)
    for k in range(b.shape[0]):
        b[k] = h * (b[k] - z[k])
    sparse.mass_solve(part(model, work, lay.W_MINV), b, model, b)
    put_velocities(s.moved, kicked)
    v, rest = kicked.v, kicked.v_rest
    for k in range(b.shape[0]):
        add(v, rest, k, b[k])


@compiled
def move_constrained(t1, h, run):
    """Solve `q1 = move(q0, v - M^-1 G^T impulse), Phi(t1, q1) = 0` for the impulse, from `q0` and `v` of `run.scratch.kicked`.

    The matrix of the start, or of an earlier position, in Broyden's method; if that fails, as in a step across a singular position, again
    with the exact one.
    """
    s, model, work, counts = run.scratch, run.model, run.work, run.counts
    q0, q1, r, impulse, G = s.kicked.q, s.moved.q, s.r, s.impulse, part(run.model, run.work, lay.W_G)
    before, smallest, exact, first = np.inf, np.inf, False, 0
    put_velocities(s.kicked, s.guess)
    sparse.fill(impulse, 0.0)
    for k in range(run.newton.max_iter):
        counts.newton_iterations += 1
        counts.residuals += 1
        counts.solves += 1
        # residual
        positions_ahead(s.kicked, h, run.free, model, q1)
        kernels.place(t1, q1, model, work)
        kernels.phi(t1, q1, model, work, r)
        violation = largest(r)
        for i in range(r.shape[0]):
            r[i] /= h
        # correction of the impulse
        if exact:
            if not _solve_exactly(t1, q1, run):
                return DIVERGED
        else:
            put(r, s.s)
            kkt.solve_reduced(model, work, r, r)
            accelerated(k, r, s.s, s.positions)
        size = abs(h) * _add_impulse(r, G, run) / (1.0 + largest(q0))
        # convergence test
        noisy = size > NOISY_RATE * before and at_rounding(violation, q0, q1, G, model, work)
        verdict = newton_test(run.newton, k - first, size, before, 1.0, noisy)
        before = size
        if verdict.status == GOOD:
            move(s.kicked, h, run.free, model, s.moved)
            return GOOD
        smallest = min(smallest, size)
        if not exact and k > 0 and not (size <= DIVERGENCE_RATIO * smallest and 2 * (k + 1) < run.newton.max_iter):
            exact, before, first = True, np.inf, k + 1
            put_velocities(s.guess, s.kicked)
            sparse.fill(impulse, 0.0)
            kkt.factor(model, work, False)
        elif not is_finite(size):
            return NOT_FINITE
    return DIVERGED


@compiled
def _add_impulse(r, G, run):
    """`impulse += r`, `v -= M^-1 G^T r`; the largest change of the velocities."""
    v, rest, impulse, d = run.scratch.kicked.v, run.scratch.kicked.v_rest, run.scratch.impulse, run.scratch.b
    sparse.fill(d, 0.0)
    sparse.add_transposed(G, r, run.model, d)
    sparse.mass_solve(part(run.model, run.work, lay.W_MINV), d, run.model, d)
    for i in range(d.shape[0]):
        add(v, rest, i, -d[i])
    for i in range(r.shape[0]):
        impulse[i] += r[i]
    return largest(d)


@compiled
def _solve_exactly(t1, q1, run):
    """The impulse in `run.scratch.r` for the constraints at `q1`; whether there is one."""
    model, work = run.model, run.work
    G1 = np.empty_like(part(model, work, lay.W_G))
    kernels.phi_q(t1, q1, model, work, G1)
    run.counts.factorisations += 1
    run.counts.jacobians += 1
    return solve_two_positions(G1, model, work, run.scratch.r)
