"""From independent coordinates to the motion: positions, velocities, accelerations and multipliers on the constraints.

    Phi(t, q) = 0,   P q = z                         positions: quasi-Newton iteration with the factors of a nearby configuration
    Phi_q v = nu,    P T v = z'                      velocities: one solve, refined; or the same iteration
    [M Phi_q^T; Phi_q 0] (a, lam) = (Q, gamma)       accelerations and multipliers [Negrut, eqs. (3.7)-(3.11)]
    z'' = P (T a + T' v)

The norms of quaternions need no equations: the retraction preserves them.

The basis `N` of the null space takes `n` solves. That of an earlier configuration serves as long as the iteration for the velocities
takes fewer than these: each of its corrections takes one solve, and contracts the error by the relative change of the basis.
"""

from typing import Any

import numpy as np

from ..compilation.compiled import compiled
from ..jacobians.signatures import Array, Tables, Vector
from ..system import kernels, sparse
from ..system import layout as lay
from ..system.codes import GOOD, NO_POSITION, NOT_FINITE
from ..system.layout import QUATERNION_T, SEGMENT_T, header, part, table
from ..system.motion import accelerations
from ..system.vectors import is_finite, largest, put
from .configuration import add_tangent, complete, factorise, prepare, solve_chart
from .store import P_END, P_FIRST, PT_END, PT_FIRST, Factors, bases, chart, dot_within, is_complete, path, scratch, spans

MAX_ITER = 30  # of the quasi-Newton iteration for positions
CORRECTION_TOL = 1e-14  # relative to the largest coordinate or velocity
ROUNDING = 1e-11  # relative size below which corrections that stagnate are rounding errors
REFRESH_RATE = 0.2  # contraction rate above which the iteration matrix is factorised anew
STAGNATION_RATE = 0.7  # contraction rate above which small corrections are rounding errors
MAX_CONTRACTION = 0.5  # contraction rate above which the iteration may reach positions on another branch
MAX_ROTATION = 2.0  # first correction of an angle [rad] above which the linearisation is meaningless: rotations are periodic
MAX_REFINEMENTS = 3  # of the velocities, with the basis of the configuration
SOLVES_OF_CORRECTION = 4.0  # solves that take the time of a correction of the velocities, and of the positions at the same rate
FEW = 4  # number of independent coordinates below which the basis of an earlier configuration does not pay
MIN_SHARE = 1.0 / 64.0  # smallest step of the continuation, as a share of the distance to the new positions
RESIDUAL_TOL = 1e-8  # of the constraints, relative to the sum of the absolute values of their terms


@compiled
def evaluate(t: float, z: Array, zd: Array, q: Array, v: Array, a: Array, lam: Array, zdd: Array, factors: Factors) -> int:
    """The motion at `(z, z')`. On entry `q` is a guess, and the factors are those of a configuration near it.

    Returns `GOOD`, with the factors of the new configuration, or the code of a failure. `complete` supplies the basis there.
    """
    status = place(t, z, zd, q, v, factors)
    if status == GOOD:
        status = accelerations(t, q, v, a, lam, factors.model, factors.work)
        second_rates(t, q, v, a, factors.n, factors.store, factors.model, zdd)
    return status


@compiled
def place(t: float, z: Array, zd: Array, q: Array, v: Array, factors: Factors) -> int:
    """Positions and velocities at `(z, z')`, and the factors there; returns `GOOD` or the code of a failure."""
    _, store, model, work = factors
    status = positions(t, z, q, store, model, work)
    if status == GOOD:
        status = velocities(t, q, zd, v, store, model, work)
    return status


@compiled
def positions(t: float, z: Array, q: Array, store: Array, model: Tables, work: Array) -> int:
    """`q` with `Phi(t, q) = 0` and `P q = z` on the branch of the guess `q`, and the factors there; `GOOD` or the code of a failure.

    Several positions of a mechanism may have the same coordinates. An iteration that contracts from its first step converges to the one
    that is connected with the guess by regular matrices (theorem of Newton and Kantorovich). If it does not contract, a continuation with
    step halving takes its place. The factors may belong to another configuration, so the constraints are checked at the end.
    """
    room = path(z.shape[0], model, store)
    put(q, room.guess)
    status = _quasi_newton(t, z, 0.0, room.residual, q, store, model, work)
    if status == GOOD:
        status = _verify(t, z, q, store, model, work)
    return GOOD if status == GOOD else _continuation(t, z, q, store, model, work)


@compiled
def _quasi_newton(t: float, z: Array, share: float, residual: Vector, q: Array, store: Array, model: Tables, work: Array) -> int:
    """Quasi-Newton iteration for `Phi(t, q) = share residual` and `P q = z`; `residual` is not used where the share is zero."""
    n = z.shape[0]
    room, P, span, before, refreshed = scratch(n, model, store), chart(n, model, store), spans(n, model, store), np.inf, False
    for _ in range(MAX_ITER):
        # residual and correction
        kernels.place(t, q, model, work)
        kernels.phi(t, q, model, work, room.residual)
        for k in range(residual.shape[0]):
            room.residual[k] = -room.residual[k] if share == 0.0 else share * residual[k] - room.residual[k]
        for k in range(n):
            room.mismatch[k] = z[k] - dot_within(P[k], q, span[k, P_FIRST], span[k, P_END])
        solve_chart(room.residual, room.mismatch, n, store, model, work, room.move)
        # stagnation at rounding, divergence
        size, scale = largest(room.move), 1.0 + largest(q)
        if not is_finite(size):
            return NOT_FINITE
        rate = size / before
        if rate > STAGNATION_RATE and size <= ROUNDING * scale:
            return GOOD
        if ((rate > MAX_CONTRACTION and size > ROUNDING * scale)
                or (before == np.inf and size > MAX_ROTATION and _rotation(room.move, model) > MAX_ROTATION)):
            return NO_POSITION
        # update, convergence
        kernels.retract(q, room.move, model, room.trial)
        put(room.trial, q)
        if size <= CORRECTION_TOL * scale or 0.0 < rate * size <= CORRECTION_TOL * scale:
            return GOOD
        before = size
        # full Newton once the contraction has been slow
        if refreshed or rate > REFRESH_RATE:
            refreshed = True
            status = prepare(t, q, n, store, model, work)
            if status != GOOD:
                return status
    return NO_POSITION


@compiled
def _rotation(move: Vector, model: Tables) -> float:
    """The largest rotation of a body by the displacement `move`."""
    angle = 0.0
    angles, quaternions = table(model, lay.ANGLE, np.int64), table(model, lay.QUATERNION, QUATERNION_T)
    for k in range(angles.shape[0]):
        angle = max(angle, abs(move[angles[k]]))
    for k in range(quaternions.shape[0]):
        at = quaternions[k]["v"]
        angle = max(angle, abs(move[at]), abs(move[at + 1]), abs(move[at + 2]))
    return angle


@compiled
def _verify(t: float, z: Array, q: Array, store: Array, model: Tables, work: Array) -> int:
    """Factorise at the limit of the iteration and check the equations there; `GOOD` or the code of a failure."""
    status = factorise(t, q, z.shape[0], store, model, work)
    return NO_POSITION if status == GOOD and not _satisfied(t, z, q, store, model, work) else status


@compiled
def _satisfied(t: float, z: Array, q: Array, store: Array, model: Tables, work: Array) -> bool:
    """Whether `P q = z` and `Phi = 0` hold at the configuration of the factors, up to rounding of the terms `Phi_q q` of each.

    Where all derivatives of an equation vanish, as of redundant ones in joint coordinates, those of the others tell the size.
    """
    n = z.shape[0]
    P, room, span = chart(n, model, store), scratch(n, model, store), spans(n, model, store)
    G, segments, scale = part(model, work, lay.W_G), table(model, lay.SEGMENT, SEGMENT_T), 1.0 + largest(q)
    # sums of the absolute values of the rows of Phi_q
    kernels.phi(t, q, model, work, room.residual)
    sparse.fill(room.product, 0.0)
    for i in range(segments.shape[0]):
        s = segments[i]
        for k in range(s["n"]):
            room.product[s["row"]] += abs(G[s["at"] + k])
    # comparisons that are false for NaN
    longest = largest(room.product)
    for k in range(room.residual.shape[0]):
        size = room.product[k] if room.product[k] != 0.0 else longest
        if not abs(room.residual[k]) <= RESIDUAL_TOL * scale * size:
            return False
    for k in range(n):
        if not abs(z[k] - dot_within(P[k], q, span[k, P_FIRST], span[k, P_END])) <= RESIDUAL_TOL * scale:
            return False
    return True


@compiled
def _continuation(t: float, z: Array, q: Array, store: Array, model: Tables, work: Array) -> int:
    """Continuation with step halving from the guess to `z`, each step with the factors of its first configuration.

    The residual of the guess is reduced in proportion, so constraint violations vanish on the way.
    """
    n = z.shape[0]
    P, room, span, status = chart(n, model, store), path(n, model, store), spans(n, model, store), NO_POSITION
    share, done = 0.5, 0.0  # the next step, and what has been covered of the distance
    # the guess: its residual, and its distance from z
    put(room.guess, q)
    put(room.guess, room.reached)
    kernels.place(t, room.guess, model, work)
    kernels.phi(t, room.guess, model, work, room.residual)
    for k in range(n):
        room.distance[k] = z[k] - dot_within(P[k], room.guess, span[k, P_FIRST], span[k, P_END])
    while share >= MIN_SHARE:
        # one step
        left = 1.0 - done - min(share, 1.0 - done)
        for k in range(n):
            room.goal[k] = z[k] - left * room.distance[k]
        status = prepare(t, q, n, store, model, work)
        if status == GOOD:
            status = _quasi_newton(t, room.goal, left, room.residual, q, store, model, work)
        if status == GOOD and left == 0.0:
            status = _verify(t, z, q, store, model, work)
            if status == GOOD:
                return GOOD
        # accept, or repeat with half the step
        if status == GOOD:
            put(q, room.reached)
            done = 1.0 - left
        else:
            put(room.reached, q)
            share *= 0.5
    if status == NO_POSITION:
        _first_newton_step(t, q, n, store, model, work)
    return status


@compiled
def _first_newton_step(t: float, q: Array, n: int, store: Array, model: Tables, work: Array) -> None:
    """`q` after one Newton step over the whole distance: its residual shows which constraints prevent the motion."""
    room, move = path(n, model, store), scratch(n, model, store).move
    if prepare(t, room.guess, n, store, model, work) == GOOD:
        for k in range(room.residual.shape[0]):
            room.residual[k] = -room.residual[k]
        solve_chart(room.residual, room.distance, n, store, model, work, move)
        kernels.retract(room.guess, move, model, q)


@compiled
def velocities(t: float, q: Array, zd: Array, v: Array, store: Array, model: Tables, work: Array) -> int:
    """`v` with `Phi_q v = nu` and `P T v = z'` for the factors in `store` and `work`, to rounding; `GOOD` or the code of a failure."""
    n, before, refinements = zd.shape[0], 0.0, 0
    room, PT, span = scratch(n, model, store), bases(n, model, store).PT, spans(n, model, store)
    status = complete(n, store, model, work) if n < FEW else GOOD
    sparse.fill(v, 0.0)
    add_tangent(zd, n, store, model, v)
    while status == GOOD:
        # residuals
        kernels.place_velocity(v, model, work)
        kernels.nu(t, q, model, work, room.residual)
        sparse.times(part(model, work, lay.W_G), v, model, room.product)
        for k in range(room.residual.shape[0]):
            room.residual[k] -= room.product[k]
        for k in range(n):
            room.mismatch[k] = zd[k] - dot_within(PT[k], v, span[k, PT_FIRST], span[k, PT_END])
        size, tol = max(largest(room.residual), largest(room.mismatch)), CORRECTION_TOL * (1.0 + largest(v))
        if size <= tol or refinements == MAX_REFINEMENTS:
            return GOOD
        if is_complete(store):
            refinements += 1
        else:
            # the basis of an earlier configuration: converged to rounding, or the basis of this one, if that is less work
            error = size if before > 0.0 else max(largest(room.product), largest(room.mismatch))
            rate = error / (before if before > 0.0 else 1e-300 + largest(v))
            if rate > STAGNATION_RATE and size * CORRECTION_TOL <= ROUNDING * tol:
                return GOOD
            if not SOLVES_OF_CORRECTION * _remaining(rate, tol / size) <= n:
                status = complete(n, store, model, work)
                sparse.fill(v, 0.0)
                add_tangent(zd, n, store, model, v)
                continue
        before = size
        # correction
        solve_chart(room.residual, room.mismatch, n, store, model, work, room.move)
        for k in range(v.shape[0]):
            v[k] += room.move[k]
    return status


@compiled
def _remaining(rate: float, ratio: float) -> float:
    """Corrections that reduce an error to the given ratio at a contraction rate."""
    if rate == 0.0:
        return 0.0
    return np.log(ratio) / np.log(rate) if rate < 1.0 else np.inf


@compiled
def second_rates(t: float, q: Array, v: Array, a: Array, n: int, store: Array, model: Tables, zdd: Array) -> None:
    """`z'' = P q'' = P (T a + T' v)`; `PT` in `store` belongs to `q`."""
    P, PT, span = chart(n, model, store), bases(n, model, store).PT, spans(n, model, store)
    for k in range(n):
        zdd[k] = dot_within(PT[k], a, span[k, PT_FIRST], span[k, PT_END])
    head = header(model)
    if head[lay.IDENTITY_MAP]:
        return
    turn = scratch(n, model, store).trial
    if head[lay.KIND] != lay.USER:
        quaternion_turn(q, v, table(model, lay.QUATERNION, QUATERNION_T), turn)
    else:
        map_rate(t, q, v, model, turn)
    for k in range(n):
        zdd[k] += dot_within(P[k], turn, span[k, P_FIRST], span[k, P_END])


@compiled
def quaternion_turn(q: Array, v: Array, quaternions: Any, out: Array) -> None:
    """`T' v`: for a quaternion `-|omega|^2 p / 4`, since `p' = p (0, omega) / 2`."""
    sparse.fill(out, 0.0)
    for n in range(quaternions.shape[0]):
        at, to = quaternions[n]["q"], quaternions[n]["v"]
        w2 = v[to] * v[to] + v[to + 1] * v[to + 1] + v[to + 2] * v[to + 2]
        for k in range(4):
            out[at + k] = -0.25 * w2 * q[at + k]


@compiled
def map_rate(t: float, q: Array, v: Array, model: Tables, out: Array) -> None:
    """`T' v` of a user's kinematic map, by differences of fourth order along the motion."""
    rate, moved, step = np.empty_like(q), np.empty_like(q), 1e-3 / (1.0 + largest(v))
    kernels.qdot(t, q, v, model, rate)
    value = np.empty_like(q)
    sparse.fill(out, 0.0)
    for k in range(4):
        s, weight = (-2.0, -1.0, 1.0, 2.0)[k] * step, (1.0, -8.0, 8.0, -1.0)[k] / (12.0 * step)
        for i in range(q.shape[0]):
            moved[i] = q[i] + s * rate[i]
        kernels.qdot(t + s, moved, v, model, value)
        for i in range(q.shape[0]):
            out[i] += weight * value[i]
