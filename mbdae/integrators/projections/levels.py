"""Projections of positions, velocities and accelerations: the nearest ones that satisfy the constraints [Wei, eqs. (16)-(25)].

The distance is measured by a metric `N`, the mass matrix or the identity, and every projection is solved with factors of
`[N Phi_q^T; Phi_q 0]`. They live in `metric`, scratch of the system with `N` in the place of the mass matrix; for that it is `work` itself.
Rows that follow from others are left out by the factorisation.
"""

import numpy as np

from ...compilation.compiled import compiled
from ...system import kernels, kkt, sparse
from ...system import layout as lay
from ...system.codes import GOOD, NO_POSITION, NOT_FINITE, RANK_LOST
from ...system.layout import BLOCK_T, header, part
from ...system.vectors import largest

ITERATIONS = 30
EPS = 2.3e-16
OPEN = 1e3  # times rounding: what a projection may leave of the positions
RENEWED = 1e-12  # move, relative to the coordinates, beyond which the factors are renewed
REFINEMENTS = 4
FACTORISATIONS, SOLVES, COUNTERS = range(3)


def identity_metric(system):
    """Scratch with the identity in the place of the mass matrix."""
    metric, head = system.workspace(), system.model[:lay.HEADER_BYTES].view(np.int64)
    for block in lay.records_of(system.model, lay.BLOCK, BLOCK_T):
        unit = np.eye(block["n"]).ravel()
        for which in (lay.W_MASS, lay.W_MINV):
            at = head[which] + block["at"]
            metric[at:at + unit.size] = unit
    return metric


@compiled
def put(x, out):
    """`out = x`, without the checks of slices, which take long to compile."""
    for k in range(x.shape[0]):
        out[k] = x[k]


@compiled
def prepare(t, q, identity, metric, model, work):
    """Place `q` and factorise there, with the mass matrix in `work` and with the metric; `GOOD` or what is wrong."""
    G, head = part(model, work, lay.W_G), header(model)
    kernels.place(q, model, work)
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    lost = kkt.factor(model, work, head[lay.CONSTANT_MASS] == 0)
    if identity:
        put(G, part(model, metric, lay.W_G))
        lost = max(lost, kkt.factor(model, metric, False))
    if lost > head[lay.DEPENDENT + 1]:
        return RANK_LOST
    return GOOD if np.isfinite(largest(G)) else NOT_FINITE


@compiled
def renew(t, q, identity, metric, model, work, counts):
    """`prepare`, counted."""
    counts[FACTORISATIONS] += 2 if identity else 1
    return prepare(t, q, identity, metric, model, work)


@compiled
def rounding(q, G):
    """What rounding of `q` leaves of `Phi`."""
    return EPS * (1.0 + largest(q)) * max(1.0, largest(G))


@compiled
def positions(t, q, vectors, identity, metric, model, work, counts):
    """`q` moves to the nearest positions with `Phi(t, q) = 0`, as far as rounding allows; factors belong to `q` or positions near it.

    Newton's method on `N (q (-) q^) + Phi_q^T mu = 0`, `Phi = 0`: of each correction the part along the constraints undoes what earlier
    ones, with other gradients, have moved too far.
    """
    hat, trial, x, pull, d, r, mu = vectors
    put(q, hat)
    status = renew(t, q, identity, metric, model, work, counts)
    G, best = part(model, work, lay.W_G), np.inf
    for _ in range(ITERATIONS):
        if status != GOOD:
            return status
        kernels.place(q, model, work)
        kernels.phi(t, q, model, work, r)
        size = largest(r)
        if not np.isfinite(size):
            return NOT_FINITE
        if size >= 0.5 * best or size <= 0.1 * rounding(q, G):
            break
        best = size
        kernels.difference(q, hat, model, x)
        sparse.mass_times(kernels.mass_values(model, metric), x, model, pull)
        for k in range(x.shape[0]):
            pull[k] = -pull[k]
        for k in range(r.shape[0]):
            r[k] = -r[k]
        kkt.solve(model, metric, pull, r, d, mu)
        counts[SOLVES] += 1
        kernels.retract(q, d, model, trial)
        put(trial, q)
        if largest(d) > RENEWED * (1.0 + largest(q)):
            status = renew(t, q, identity, metric, model, work, counts)
    return GOOD if size <= OPEN * rounding(q, G) else NO_POSITION


@compiled
def velocities(t, q, v, vectors, metric, model, work, counts):
    """`v` moves to the nearest velocities with `Phi_q v = nu` at `q`."""
    nu = vectors[6]
    kernels.place(q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    sparse.fill(vectors[2], 0.0)
    best = np.inf
    for _ in range(REFINEMENTS):
        kernels.nu(t, q, model, work, nu)
        best = _refined(v, nu, best, vectors, metric, model, work, counts)
        if best == 0.0:
            break


@compiled
def accelerations(t, q, v, a, vectors, metric, model, work, counts):
    """`a` moves to the nearest accelerations with `Phi_q a = gamma` at `(q, v)`, for which `velocities` has been called or `prepare`."""
    gamma = vectors[6]
    kernels.place_velocity(v, model, work)
    sparse.fill(vectors[2], 0.0)
    best = np.inf
    for _ in range(REFINEMENTS):
        kernels.gamma(t, q, v, model, work, gamma)
        best = _refined(a, gamma, best, vectors, metric, model, work, counts)
        if best == 0.0:
            break


@compiled
def _refined(x, right, best, vectors, metric, model, work, counts):
    """Move `x` towards `Phi_q x = right`; `right` is lost. Returns what was open before, or 0 if a move gains nothing any more.

    `best` is what was open before the last move: one that does not halve it is the last.
    """
    _, _, rest, _, d, r, _ = vectors
    sparse.times(part(model, work, lay.W_G), x, model, r)
    for k in range(r.shape[0]):
        r[k] = right[k] - r[k]
    size = largest(r)
    if size >= 0.5 * best or size <= EPS * largest(x):
        return 0.0
    kkt.solve(model, metric, rest, r, d, right)
    counts[SOLVES] += 1
    for k in range(x.shape[0]):
        x[k] += d[k]
    return size
