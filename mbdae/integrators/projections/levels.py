"""Projections of positions, velocities and accelerations onto the constraints [Wei, eqs. (16)-(25)].

    min |x - x^|_N  subject to  Phi = 0,  Phi_q v = nu,  Phi_q a = gamma

The metric `N` is the mass matrix or the identity. Every projection is a solution of linear equations with the matrix
`[N Phi_q^T; Phi_q 0]`, whose factors are stored in `metric`, scratch of the system with `N` in the place of the mass matrix; for the mass
matrix it is `work` itself. Redundant rows are left out of the factorisation.
"""

from typing import NamedTuple

import numpy as np

from ...compilation.compiled import compiled
from ...jacobians.signatures import Array, Indices, Tables, Vector
from ...system import evaluate, kernels, kkt, sparse
from ...system import layout as lay
from ...system.codes import GOOD, NO_POSITION, NOT_FINITE, RANK_LOST
from ...system.extent import extent
from ...system.layout import header, part
from ...system.system import System
from ...system.vectors import is_finite, largest, put

MAX_POSITION_ITER = 30  # of Newton's method for positions
EPS = 2.3e-16
RESIDUAL_FACTOR = 1e3  # constraint violation of projected positions, relative to rounding errors
REFRESH_TOL = 1e-12  # relative correction of the positions above which the matrix is factorised again
SLOW = 0.03  # ratio of two residuals above which new factors cost less than further corrections with those of a stage
NEAR = 10.0  # rounding errors of the residual, at which slow corrections are rounding
SMALL = 4.0  # residual of projected velocities in ulps of a product of the largest entries
MAX_REFINEMENTS = 4  # of velocities and accelerations
FACTORISATIONS, SOLVES, COUNTERS = range(3)


class Levels(NamedTuple):
    """The levels on which the state is projected."""

    positions: bool
    velocities: bool
    accelerations: bool
    energy: bool


class Energy(NamedTuple):
    """A user's energy for kernels: the address of a C function, 0 if there is none, and arrays for its arguments and results."""

    address: np.int64
    state: Vector
    out: Vector


class Room(NamedTuple):
    """Scratch vectors of the lengths nq, nq, nv, nv, nv, nc and nc.

    Attributes
    ----------
    initial : ndarray
        Positions before the projection.
    trial : ndarray
        Positions after a correction.
    x, force : ndarray
        A vector of the size of velocities, and the upper right-hand side of the linear equations.
    d : ndarray
        Correction.
    residual, mu : ndarray
        The lower right-hand side, and multipliers of the projection.
    """

    initial: Vector
    trial: Vector
    x: Vector
    force: Vector
    d: Vector
    residual: Vector
    mu: Vector


class Directions(NamedTuple):
    """Derivatives of the energy by positions and velocities, and the directions `dq`, `dv` in which it increases within the constraints."""

    by_position: Vector
    by_velocity: Vector
    dq: Vector
    dv: Vector


class Projection(NamedTuple):
    """Settings and scratch of the projections of one run; `identity` tells whether `metric` is another array than `work`."""

    levels: Levels
    energy: Energy
    identity: bool
    metric: Vector
    room: Room
    directions: Directions
    counts: Indices


def identity_metric(system: System) -> Vector:
    """Scratch with the identity in the place of the mass matrix."""
    metric: Vector = system.workspace()
    evaluate.unit_mass(system.model, metric)
    return metric


@compiled
def prepare(t: float, q: Array, identity: bool, metric: Vector, model: Tables, work: Array) -> int:
    """Factorise at `q`, with the mass matrix in `work` and with the metric; `GOOD` or the code of a failure."""
    G, head = part(model, work, lay.W_G), header(model)
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, G)
    kernels.mass(t, q, model, work)
    lost = kkt.factor(model, work, head[lay.CONSTANT_MASS] == 0)
    if identity:
        put(G, part(model, metric, lay.W_G))
        lost = max(lost, kkt.factor(model, metric, False))
    if lost > head[lay.DEPENDENT + 1]:
        return RANK_LOST
    return GOOD if is_finite(largest(G)) else NOT_FINITE


@compiled
def refresh(t: float, q: Array, p: Projection, model: Tables, work: Array) -> int:
    """`prepare`, counted."""
    p.counts[FACTORISATIONS] += 2 if p.identity else 1
    return prepare(t, q, p.identity, p.metric, model, work)


@compiled
def rounding(q: Array, G: Vector, model: Tables, work: Array) -> float:
    """The size of `Phi` that follows from rounding errors of the placed positions `q`."""
    return float(EPS * extent(q, model, work) * max(1.0, largest(G)))


@compiled
def positions(t: float, q: Array, p: Projection, model: Tables, work: Array) -> int:
    """Project `q` onto `Phi(t, q) = 0`, up to rounding; the factors on return belong to `q` or positions near it.

    Newton's method for `N (q (-) q^) + Phi_q^T mu = 0`, `Phi = 0`. The first equation removes the tangential components of earlier
    corrections, which were computed with other `Phi_q`.
    """
    room = p.room
    put(q, room.initial)
    status = refresh(t, q, p, model, work)
    G, best, size = part(model, work, lay.W_G), np.inf, 0.0
    for _ in range(MAX_POSITION_ITER):
        if status != GOOD:
            return status
        # residual, convergence or stagnation at rounding
        size = _residual(t, q, p, model, work)
        if not is_finite(size):
            return NOT_FINITE
        if size >= 0.5 * best or size <= 0.1 * rounding(q, G, model, work):
            break
        best = size
        if _correct(q, p, model, work) > REFRESH_TOL * (1.0 + largest(q)):
            status = refresh(t, q, p, model, work)
    return GOOD if size <= RESIDUAL_FACTOR * rounding(q, G, model, work) else NO_POSITION


@compiled
def positions_beside(t: float, q: Array, p: Projection, model: Tables, work: Array) -> int:
    """The same where the factors at hand belong to positions beside `q`, which serve as long as the residuals decrease fast.

    The factors on return belong to `q`, which is nearest in the metric of the positions beside it.
    """
    put(q, p.room.initial)
    G, best, size, newton = part(model, work, lay.W_G), np.inf, 0.0, False
    for _ in range(MAX_POSITION_ITER):
        size, small = _residual(t, q, p, model, work), rounding(q, G, model, work)
        if not is_finite(size) or size <= small or (size >= 0.5 * best and (newton or size <= NEAR * small)):
            break
        # slow: Newton's method from here on, whose first correction removes tangential components as well
        slow = size > SLOW * best and size > NEAR * small
        best = np.inf if slow and not newton else size
        newton = newton or slow
        if newton:
            status = refresh(t, q, p, model, work)
            if status != GOOD:
                return status
        _correct(q, p, model, work)
    if not is_finite(size):
        return NOT_FINITE
    status = refresh(t, q, p, model, work)
    return NO_POSITION if status == GOOD and size > RESIDUAL_FACTOR * rounding(q, G, model, work) else status


@compiled
def positions_with(t: float, q: Array, p: Projection, model: Tables, work: Array) -> bool:
    """The same with the factors at hand alone; whether the residuals have decreased fast. `q` is placed, and the factors are not its."""
    put(q, p.room.initial)
    G, best = part(model, work, lay.W_G), np.inf
    for _ in range(MAX_POSITION_ITER):
        size, small = _residual(t, q, p, model, work), rounding(q, G, model, work)
        if size <= small:
            return True
        if not is_finite(size) or size > SLOW * best:
            return size <= NEAR * small
        best = size
        _correct(q, p, model, work)
    return False


@compiled
def _residual(t: float, q: Array, p: Projection, model: Tables, work: Array) -> float:
    """The size of `Phi(t, q)`, which is left in `p.room.residual`; places `q`."""
    kernels.place(t, q, model, work)
    kernels.phi(t, q, model, work, p.room.residual)
    return float(largest(p.room.residual))


@compiled
def _correct(q: Array, p: Projection, model: Tables, work: Array) -> float:
    """One correction of the positions after `_residual`; its size."""
    room = p.room
    kernels.difference(q, room.initial, model, room.x)
    sparse.mass_times(kernels.mass_values(model, p.metric), room.x, model, room.force)
    for k in range(room.x.shape[0]):
        room.force[k] = -room.force[k]
    for k in range(room.residual.shape[0]):
        room.residual[k] = -room.residual[k]
    kkt.solve(model, p.metric, room.force, room.residual, room.d, room.mu)
    p.counts[SOLVES] += 1
    kernels.retract(q, room.d, model, room.trial)
    put(room.trial, q)
    return float(largest(room.d))


@compiled
def velocities(t: float, q: Array, v: Array, metric: Vector, p: Projection, model: Tables, work: Array) -> None:
    """Project `v` onto `Phi_q v = nu` at `q`, in the given metric."""
    kernels.place(t, q, model, work)
    kernels.phi_q(t, q, model, work, part(model, work, lay.W_G))
    _velocities(t, q, v, 1.0, metric, p, model, work)


@compiled
def velocities_at(t: float, q: Array, v: Array, p: Projection, model: Tables, work: Array) -> None:
    """The same at the placed `q` to which the factors belong, as after `positions_beside`."""
    _velocities(t, q, v, SMALL * max(1.0, largest(part(model, work, lay.W_G))), p.metric, p, model, work)


@compiled
def velocities_with(t: float, q: Array, v: Array, p: Projection, model: Tables, work: Array) -> bool:
    """The same with factors of positions beside `q`; whether the residuals have decreased fast."""
    sparse.fill(p.room.x, 0.0)
    small, best = SMALL * EPS * max(1.0, largest(part(model, work, lay.W_G))), np.inf
    for _ in range(MAX_POSITION_ITER):
        kernels.nu(t, q, model, work, p.room.mu)
        size, rounded = _violation(v, p, model, work), small * largest(v)
        if size <= rounded:
            return True
        if not is_finite(size) or size > SLOW * best:
            return size <= NEAR * rounded
        best = size
        _add_correction(v, p.metric, p, model)
    return False


@compiled
def _velocities(t: float, q: Array, v: Array, small: float, metric: Vector, p: Projection, model: Tables, work: Array) -> None:
    sparse.fill(p.room.x, 0.0)
    best = np.inf
    for _ in range(MAX_REFINEMENTS):
        kernels.nu(t, q, model, work, p.room.mu)
        best = _refined(v, best, small, metric, p, model, work)
        if best == 0.0:
            break


@compiled
def accelerations(t: float, q: Array, v: Array, a: Array, p: Projection, model: Tables, work: Array) -> None:
    """Project `a` onto `Phi_q a = gamma` at `(q, v)`, after `velocities` or `prepare`."""
    kernels.place_velocity(v, model, work)
    sparse.fill(p.room.x, 0.0)
    best = np.inf
    for _ in range(MAX_REFINEMENTS):
        kernels.gamma(t, q, v, model, work, p.room.mu)
        best = _refined(a, best, 1.0, p.metric, p, model, work)
        if best == 0.0:
            break


@compiled
def _refined(x: Array, best: float, small: float, metric: Vector, p: Projection, model: Tables, work: Array) -> float:
    """One correction of `x` for `Phi_q x = mu`; `mu` is overwritten, and `p.room.x` must be zero.

    Returns the residual before the correction, or 0 if `x` is accepted: if the residual is at rounding, `small` ulps of `x`, or more than
    half of `best`, the residual before the last correction.
    """
    size = _violation(x, p, model, work)
    if size >= 0.5 * best or size <= small * EPS * largest(x):
        return 0.0
    _add_correction(x, metric, p, model)
    return size


@compiled
def _violation(x: Array, p: Projection, model: Tables, work: Array) -> float:
    """The size of `mu - Phi_q x`, which is left in `p.room.residual`."""
    room = p.room
    sparse.times(part(model, work, lay.W_G), x, model, room.residual)
    for k in range(room.residual.shape[0]):
        room.residual[k] = room.mu[k] - room.residual[k]
    return float(largest(room.residual))


@compiled
def _add_correction(x: Array, metric: Vector, p: Projection, model: Tables) -> None:
    """Correct `x` for the residual in `p.room`; `mu` is overwritten, and `p.room.x` must be zero."""
    room = p.room
    kkt.solve(model, metric, room.x, room.residual, room.d, room.mu)
    p.counts[SOLVES] += 1
    for k in range(x.shape[0]):
        x[k] += room.d[k]
