"""From independent coordinates to the motion: positions, velocities, accelerations and multipliers on the constraints.

Of the equations `Phi(t, q) = 0`, `P q = z` positions are found by a quasi-Newton iteration with the factors of a configuration near by,
those of `Phi_q v = nu`, `P T v = z'` velocities, and of `[M Phi_q^T; Phi_q 0] (a, lam) = (Q, gamma)` the rest [Negrut, eqs. (3.7)-(3.11)].
Then `z'' = P (T a + T' v)`. The norms of quaternions need no equations: the retraction keeps them.
"""

import numpy as np

from ..compilation.compiled import compiled
from ..system import kernels, sparse
from ..system import layout as lay
from ..system.codes import GOOD, NO_POSITION, NOT_FINITE
from ..system.layout import BODY_T, PLANAR, RIGID, SEGMENT_T, header, part, table
from ..system.motion import accelerations
from ..system.vectors import dot, largest
from .configuration import combine, prepare, solve_chart
from .store import bases, chart, course, scratch

ITERATIONS = 30  # of the positions
PRECISION = 1e-14  # of positions, relative to the largest
ROUNDING = 1e-11  # corrections below this that do not shrink any more are rounding
SLOW = 0.2  # rate of convergence beyond which the factors are renewed
REFINEMENTS = 3  # of the velocities, if rounding has not been reached before
TIRED = 0.7  # rate beyond which corrections of the size of rounding are rounding
APART = 0.5  # rate beyond which an iteration may end at positions that are not connected with its guess
TURN = 2.0  # of a body, in radians, beyond which tangents say nothing: what turns comes back, and so its iteration seems to contract
SHORTEST = 1.0 / 64.0  # share of the way to new positions that is tried
CLOSED = 1e-8  # what the constraints may leave open, relative to their terms


@compiled
def evaluate(t, z, zd, q, v, a, lam, zdd, store, model, work):
    """Everything at `(z, z')`. `q` is a guess on entry, and the factors in `store` and `work` belong to some configuration near it.

    Returns `GOOD`, with the factors of the new configuration, or what is wrong.
    """
    status = place(t, z, zd, q, v, store, model, work)
    if status == GOOD:
        status = accelerations(t, q, v, a, lam, model, work)
        second_rates(t, q, v, a, z.shape[0], store, model, zdd)
    return status


@compiled
def place(t, z, zd, q, v, store, model, work):
    """Positions and velocities at `(z, z')`, and the factors there; what is wrong if it is not `GOOD`."""
    status = positions(t, z, q, store, model, work)
    if status == GOOD:
        velocities(t, q, zd, v, store, model, work)
    return status


@compiled
def positions(t, z, q, store, model, work):
    """`q` with `Phi(t, q) = 0` and `P q = z` on the branch of the guess `q`, and the factors there; what is wrong if it is not `GOOD`.

    The same coordinates may belong to several positions of a mechanism. An iteration that contracts from its beginning leads to those
    which are reached from the guess without a singular matrix on the way, by the theorem of Newton and Kantorovich; one that does not is
    given up, and the way is made in parts that do. That the matrix is the right one is not taken for granted: the constraints must hold.
    """
    guess, _, opened, _, _ = course(z.shape[0], model, store)
    guess[:] = q
    status = _settle(t, z, 0.0, opened, q, store, model, work)
    if status == GOOD:
        status = _arrive(t, z, q, store, model, work)
    return GOOD if status == GOOD else _in_parts(t, z, q, store, model, work)


@compiled
def _settle(t, z, rest, opened, q, store, model, work):
    """Quasi-Newton iteration for `Phi(t, q) = rest opened` and `P q = z`, with `opened` unused where nothing is to rest."""
    n = z.shape[0]
    move, _, r, _, trial, _, d, _ = scratch(n, model, store)
    P, before, renewed = chart(n, model, store), np.inf, False
    for _ in range(ITERATIONS):
        kernels.place(q, model, work)
        kernels.phi(t, q, model, work, r)
        for k in range(r.shape[0]):
            r[k] = -r[k] if rest == 0.0 else rest * opened[k] - r[k]
        for k in range(n):
            d[k] = z[k] - dot(P[k], q)
        solve_chart(r, d, n, store, model, work, move)
        size, scale = largest(move), 1.0 + largest(q)
        if not np.isfinite(size):
            return NOT_FINITE
        rate = size / before
        if rate > TIRED and size <= ROUNDING * scale:
            return GOOD
        if (rate > APART and size > ROUNDING * scale) or (before == np.inf and size > TURN and _turn(move, model) > TURN):
            return NO_POSITION
        kernels.retract(q, move, model, trial)
        q[:] = trial
        if size <= PRECISION * scale or 0.0 < rate * size <= PRECISION * scale:
            return GOOD
        before = size
        if renewed or rate > SLOW:
            renewed = True
            status = prepare(t, q, n, store, model, work)
            if status != GOOD:
                return status
    return NO_POSITION


@compiled
def _turn(move, model):
    """The largest angle by which `move` turns a body if it is finite."""
    angle = 0.0
    if header(model)[lay.KIND] == lay.MULTIBODY:
        bodies = table(model, lay.BODY, BODY_T)
        for b in range(bodies.shape[0]):
            at = bodies[b]["v"]
            if bodies[b]["kind"] == PLANAR:
                angle = max(angle, abs(move[at + 2]))
            elif bodies[b]["kind"] == RIGID:
                angle = max(angle, abs(move[at + 3]), abs(move[at + 4]), abs(move[at + 5]))
    return angle


@compiled
def _arrive(t, z, q, store, model, work):
    """Factorise at positions that have been found; whether the equations hold there."""
    status = prepare(t, q, z.shape[0], store, model, work)
    return NO_POSITION if status == GOOD and not _closed(t, z, q, store, model, work) else status


@compiled
def _closed(t, z, q, store, model, work):
    """Whether `P q = z` and the constraints hold at what was prepared, but for the rounding of the terms `Phi_q q` of each."""
    n = z.shape[0]
    P = chart(n, model, store)
    _, _, r, terms, _, _, _, _ = scratch(n, model, store)
    G, segments, scale = part(model, work, lay.W_G), table(model, lay.SEGMENT, SEGMENT_T), 1.0 + largest(q)
    kernels.phi(t, q, model, work, r)
    sparse.fill(terms, 0.0)
    for i in range(segments.shape[0]):
        s = segments[i]
        for k in range(s["n"]):
            terms[s["row"]] += abs(G[s["at"] + k])
    for k in range(r.shape[0]):
        if not abs(r[k]) <= CLOSED * scale * terms[k]:
            return False
    for k in range(n):
        if not abs(z[k] - dot(P[k], q)) <= CLOSED * scale:
            return False
    return True


@compiled
def _in_parts(t, z, q, store, model, work):
    """The way from the guess to `z` in parts, each with the factors of where it begins, and as long as its iteration contracts.

    Along it, what the guess leaves open of the constraints closes as well.
    """
    n = z.shape[0]
    P, status, share, done = chart(n, model, store), NO_POSITION, 0.5, 0.0  # of the way
    guess, reached, opened, way, goal = course(n, model, store)
    q[:], reached[:] = guess, guess
    kernels.place(guess, model, work)
    kernels.phi(t, guess, model, work, opened)
    for k in range(n):
        way[k] = z[k] - dot(P[k], guess)
    while share >= SHORTEST:
        rest = 1.0 - done - min(share, 1.0 - done)
        for k in range(n):
            goal[k] = z[k] - rest * way[k]
        status = prepare(t, q, n, store, model, work)
        if status == GOOD:
            status = _settle(t, goal, rest, opened, q, store, model, work)
        if status == GOOD and rest == 0.0:
            status = _arrive(t, z, q, store, model, work)
            if status == GOOD:
                return GOOD
        if status == GOOD:
            reached[:], done = q, 1.0 - rest
        else:
            q[:], share = reached, 0.5 * share
    if status == NO_POSITION:
        _look_ahead(t, q, n, store, model, work)
    return status


@compiled
def _look_ahead(t, q, n, store, model, work):
    """`q` after the first correction of the whole way: what is open there stands against it."""
    guess, _, opened, way, _ = course(n, model, store)
    move, _, _, _, _, _, _, _ = scratch(n, model, store)
    if prepare(t, guess, n, store, model, work) == GOOD:
        for k in range(opened.shape[0]):
            opened[k] = -opened[k]
        solve_chart(opened, way, n, store, model, work, move)
        kernels.retract(guess, move, model, q)


@compiled
def velocities(t, q, zd, v, store, model, work):
    """`v` with `Phi_q v = nu` and `P T v = z'`, at the configuration that was prepared, refined to rounding."""
    n = zd.shape[0]
    move, _, r, product, _, _, d, _ = scratch(n, model, store)
    PT, N, _ = bases(n, model, store)
    sparse.fill(v, 0.0)
    combine(N, zd, v)
    for _ in range(REFINEMENTS):
        kernels.place_velocity(v, model, work)
        kernels.nu(t, q, model, work, r)
        sparse.times(part(model, work, lay.W_G), v, model, product)
        for k in range(r.shape[0]):
            r[k] -= product[k]
        for k in range(n):
            d[k] = zd[k] - dot(PT[k], v)
        if max(largest(r), largest(d)) <= PRECISION * (1.0 + largest(v)):
            return
        solve_chart(r, d, n, store, model, work, move)
        for k in range(v.shape[0]):
            v[k] += move[k]
    kernels.place_velocity(v, model, work)


@compiled
def second_rates(t, q, v, a, n, store, model, zdd):
    """`z'' = P q'' = P (T a + T' v)`, at the configuration that was prepared."""
    P = chart(n, model, store)
    PT, _, _ = bases(n, model, store)
    for k in range(n):
        zdd[k] = dot(PT[k], a)
    head = header(model)
    if head[lay.IDENTITY_MAP]:
        return
    _, _, _, _, turn, _, _, _ = scratch(n, model, store)
    if head[lay.KIND] == lay.MULTIBODY:
        quaternion_turn(q, v, table(model, lay.BODY, BODY_T), turn)
    else:
        map_rate(t, q, v, model, turn)
    for k in range(n):
        zdd[k] += dot(P[k], turn)


@compiled
def quaternion_turn(q, v, bodies, out):
    """`T' v`: for a quaternion `-|omega|^2 p / 4`, since `p' = p (0, omega) / 2`."""
    sparse.fill(out, 0.0)
    for b in range(bodies.shape[0]):
        if bodies[b]["kind"] == RIGID:
            at, to = bodies[b]["q"] + 3, bodies[b]["v"] + 3
            w2 = v[to] * v[to] + v[to + 1] * v[to + 1] + v[to + 2] * v[to + 2]
            for k in range(4):
                out[at + k] = -0.25 * w2 * q[at + k]


@compiled
def map_rate(t, q, v, model, out):
    """`T' v` of a user's kinematic map, by differences of fourth order along the motion."""
    rate, moved, step = np.empty_like(q), np.empty_like(q), 1e-3 / (1.0 + largest(v))
    kernels.qdot(t, q, v, model, rate)
    out[:] = 0.0
    for k in range(4):
        s, weight = (-2.0, -1.0, 1.0, 2.0)[k] * step, (1.0, -8.0, 8.0, -1.0)[k] / (12.0 * step)
        value = np.empty_like(q)
        moved[:] = q + s * rate
        kernels.qdot(t + s, moved, v, model, value)
        out += weight * value
