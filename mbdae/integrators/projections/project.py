"""The combined projection of a state onto constraints and energy, compiled once and called by address."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from ...compilation.compiled import by_address, compiled
from ...jacobians.signatures import Array, Tables, Vector
from ...results.diagnosis import explain as explain_state
from ...results.status import Cause, Status
from ...system import kernels, kkt, motion
from ...system import layout as lay
from ...system.codes import GOOD, NO_ENERGY, NO_FRICTION, NO_POSITION, NO_VALUE, NOT_CONSERVED, NOT_FINITE
from ...system.sparse import fill
from ...system.system import System
from ...system.vectors import is_finite, largest, put
from .energy import energy, energy_function, gradient, kinetic, rate
from .levels import (
    COUNTERS,
    FACTORISATIONS,
    SOLVES,
    Directions,
    Energy,
    Levels,
    Projection,
    Room,
    accelerations,
    identity_metric,
    positions,
    prepare,
    refresh,
    velocities,
)

# values of `project`: the levels, and the state whose energy is conserved
NOTHING, PREVIOUS, INITIAL = 0, 1, 2
PROJECTIONS = {"": ("", NOTHING), "P": ("P", NOTHING), "V": ("V", NOTHING), "PV": ("PV", NOTHING), "PVA": ("PVA", NOTHING),
               "PVAE-n": ("PVAE", PREVIOUS), "PVAE-0": ("PVAE", INITIAL)}
NORMS = "mass", "identity"

MAX_ENERGY_ITER = 30  # of the projection onto the energy
ENERGY_ROUNDING = 2.3e-16  # of an energy, relative to its kinetic and potential parts
REUSE_TOL = 1e-6  # relative error of the energy below which the gradient is reused
STAGNATION_TOL = 1e-12  # relative error of the energy above which stagnation is a failure
MAX_CORRECTION = 0.5  # of positions and velocities, relative to their size
MAX_POWER = 1e-6  # dH/dt, relative to the sum of the absolute values of its terms, above which the energy is not conserved
QUOTIENT_FACTOR = 10.0  # error of a difference quotient, relative to the difference of two of them
NOISE_FACTOR = 1e3  # error of the energy, relative to rounding


@compiled
def project(t: float, q: Array, v: Array, a: Array, lam: Array, target: float, p: Projection, model: Tables,
            work: Array) -> tuple[int, float]:
    """Project the state onto the constraints of `p.levels` and the energy `target`; `p` is a `Projection`.

    Returns `(code, H)`: `GOOD` or the code of a failure, and the energy after the projection. With the energy, velocities are always
    projected in the metric of the mass matrix: only then the change of the kinetic energy is of second order, and the derivative of the
    energy along its gradient does not change.
    """
    levels = p.levels
    before, reached, slope, ratio, parts, status = np.inf, target, 0.0, 1.0, 0.0, GOOD
    for k in range(MAX_ENERGY_ITER):
        # positions and velocities
        if levels.positions:
            status = positions(t, q, p, model, work)
        elif k == 0:
            status = refresh(t, q, p, model, work)
        if status != GOOD:
            return status, reached
        if levels.velocities:
            velocities(t, q, v, work if levels.energy else p.metric, p, model, work)
        if not levels.energy:
            break
        # error of the energy
        last, reached = reached, energy(t, q, v, p.energy, model, work)
        if k > 0:
            ratio *= _gain(target - last, reached - last)
        error = abs(target - reached)
        parts = kinetic(v, model, work, p.room.d)
        parts += abs(reached - parts)
        if not is_finite(reached):
            return NO_VALUE if is_finite(largest(v)) else NOT_FINITE, reached
        # convergence, or stagnation at rounding; divergence
        if error <= ENERGY_ROUNDING * parts or (error >= 0.5 * before and error <= STAGNATION_TOL * parts):
            break
        if (k > 2 and error >= 0.9 * before) or k == MAX_ENERGY_ITER - 1:
            return NO_ENERGY, reached
        before = error
        # correction along the gradient
        if k == 0 or error > REUSE_TOL * parts:
            slope = _directions(t, q, v, p, model, work)
        if not _correct(q, v, (target - reached) / (ratio * slope) if slope > 0.0 else np.inf, p, model):
            if error <= STAGNATION_TOL * parts:
                break
            return NO_ENERGY, reached
    # accelerations, multipliers, conservation of a user's energy
    if levels.accelerations:
        accelerations(t, q, v, a, p, model, work)
        status = _multipliers(t, q, v, lam, p, model, work)
    if levels.energy and p.energy.address != 0 and slope > 0.0 and status == GOOD:
        status = _conserved(t, q, v, parts, p)
    return status, reached


@compiled
def _gain(expected: float, found: float) -> float:
    """Correction factor of the slope: the projection of velocities in another metric than the mass matrix changes the energy."""
    return found / expected if 0.1 * abs(expected) < abs(found) < 10.0 * abs(expected) and found * expected > 0.0 else 1.0


@compiled
def _directions(t: float, q: Array, v: Array, p: Projection, model: Tables, work: Array) -> float:
    """The gradient of the energy in the tangent space, as displacement and velocity; returns the derivative of the energy along it."""
    d, room = p.directions, p.room
    fill(room.x, 0.0)
    fill(room.residual, 0.0)
    gradient(t, q, v, p, model, work)
    kkt.solve(model, p.metric, d.by_position, room.residual, d.dq, room.mu)
    kkt.solve(model, p.metric, d.by_velocity, room.residual, d.dv, room.mu)
    p.counts[SOLVES] += 2
    slope = 0.0
    for k in range(v.shape[0]):
        slope += d.by_position[k] * d.dq[k] + d.by_velocity[k] * d.dv[k]
    return slope


@compiled
def _correct(q: Array, v: Array, eta: float, p: Projection, model: Tables) -> bool:
    """Move by `eta` times the gradient; False, without a move, if the correction is too large."""
    dq, dv, room = p.directions.dq, p.directions.dv, p.room
    if not (abs(eta) * largest(dq) <= MAX_CORRECTION * (1.0 + largest(q))
            and abs(eta) * largest(dv) <= MAX_CORRECTION * (1.0 + largest(v))):
        return False
    for k in range(v.shape[0]):
        room.d[k] = eta * dq[k]
        v[k] += eta * dv[k]
    kernels.retract(q, room.d, model, room.trial)
    put(room.trial, q)
    return True


@compiled
def _multipliers(t: float, q: Array, v: Array, lam: Array, p: Projection, model: Tables, work: Array) -> int:
    """Multipliers of the equations of motion at `(q, v)`, with factors at `q` up to rounding; accelerations in `p.room.x`."""
    a = p.room.x
    p.counts[SOLVES] += 1
    status = motion.accelerations(t, q, v, a, lam, model, work)
    if lay.count(model, lay.DEPENDENT):  # the factors have the null space of Phi_q^T at nearby positions
        motion.refine(t, q, v, a, lam, model, work)
    return status


@compiled
def _conserved(t: float, q: Array, v: Array, parts: float, p: Projection) -> int:
    """`GOOD` if a user's energy is constant along the motion with the accelerations in `p.room.x`, otherwise `NOT_CONSERVED`.

    `dH/dt = sum_k (dH/dq_k v_k + dH/dv_k a_k) + dH/dt|_(q, v)` is compared with the sum of the absolute values of its terms, and with the
    errors by rounding and difference quotients.
    """
    d, a = p.directions, p.room.x
    power, difference, span = rate(t, q, v, a, p.energy)
    terms = 0.0
    for k in range(v.shape[0]):
        terms += abs(d.by_position[k] * v[k]) + abs(d.by_velocity[k] * a[k])
    bound = MAX_POWER * terms + QUOTIENT_FACTOR * difference + NOISE_FACTOR * ENERGY_ROUNDING * parts / span
    return NOT_CONSERVED if abs(power) > bound else GOOD


_F, _X, _M, _B = types.float64, types.float64[::1], types.uint8[::1], types.boolean
_LEVELS, _ENERGY = types.NamedUniTuple(_B, 4, Levels), types.NamedTuple((types.int64, _X, _X), Energy)
_ROOM, _DIRECTIONS = types.NamedUniTuple(_X, 7, Room), types.NamedUniTuple(_X, 4, Directions)
_PROJECTION = types.NamedTuple((_LEVELS, _ENERGY, _B, _X, _ROOM, _DIRECTIONS, types.int64[::1]), Projection)
PROJECT = by_address(project, types.Tuple((types.int64, _F))(_F, _X, _X, _X, _X, _F, _PROJECTION, _M, _X))
PREPARE = by_address(prepare, types.int64(_F, _X, _B, _X, _M, _X))


def check(owner: str, project: str, norm: str, function: Callable[..., Any] | None) -> None:
    """Validate the settings of a projection; `function` is the energy or `None`.

    Raises
    ------
    ValueError
    """
    if project not in tuple(PROJECTIONS):
        raise ValueError(f"{owner}: project must be one of {', '.join(map(repr, PROJECTIONS))}, got {project!r}")
    if norm not in NORMS:
        raise ValueError(f"{owner}: norm must be 'mass' or 'identity', got {norm!r}")
    if function is not None and not callable(function):
        raise ValueError(f"{owner}: energy must be a function of (t, q, v), got {function!r}")


class Projector:
    """Projections of one run.

    Parameters
    ----------
    owner : str
        Name of the method in messages.
    system : System
    project, norm : str
    function : callable or None
        The energy, see `energy_function`.
    work : ndarray, optional
        A workspace of the system that the projections share with the method.

    Attributes
    ----------
    levels : Levels
    keeps : int
        `NOTHING`, `PREVIOUS` or `INITIAL`: the state whose energy is conserved.
    projection, model, work
        Arguments of the kernel `project`.
    """

    def __init__(self, owner: str, system: System, project: str, norm: str, function: Callable[..., Any] | None = None,
                 work: Vector | None = None) -> None:
        self.owner, (letters, self.keeps) = owner, PROJECTIONS[project]
        self.system, self.model, self.work = system, system.model, system.workspace() if work is None else work
        self.levels = Levels(*(letter in letters for letter in "PVAE"))
        self.energy = energy_function(owner, system, function) if self.keeps else None
        self.projection = self._projection(norm == "identity")

    def _projection(self, identity: bool) -> Projection:
        """Arguments of the kernel `project`."""
        nq, nv, nc = self.system.nq, self.system.nv, self.system.nc
        energy = self.energy.user if self.energy else Energy(np.int64(0), np.zeros(0), np.zeros(0))
        room, directions = Room(*map(np.zeros, (nq, nq, nv, nv, nv, nc, nc))), Directions(*(np.zeros(nv) for _ in range(4)))
        metric = identity_metric(self.system) if identity else self.work
        return Projection(self.levels, energy, identity, metric, room, directions, np.zeros(COUNTERS, dtype=np.int64))

    def value(self, t: float, q: Vector, v: Vector) -> float:
        """The energy to be conserved, 0 if none is; raises a ValueError if it is not finite."""
        if not self.keeps:
            return 0.0
        value = energy(t, q, v, self.projection.energy, self.model, self.work)
        self.system.callbacks.check()
        if not np.isfinite(value):
            raise ValueError(f"{self.owner}: energy must return a finite number, got {value!r} at the start, t = {t:.9g}")
        return value

    @property
    def factorisations(self) -> int:
        """Number of factorisations for all projections."""
        return int(self.projection.counts[FACTORISATIONS])

    @property
    def solves(self) -> int:
        """Number of solutions of linear equations for all projections."""
        return int(self.projection.counts[SOLVES])

    def explain(self, code: int, t: float, q: Vector) -> Cause:
        """`(Status, reason)` for a code other than `GOOD`."""
        if code == NO_ENERGY:
            return Cause(Status.PROJECTION_FAILED, "the energy projection has no solution")
        if code == NOT_CONSERVED:
            power = f"dH/dt = {self.projection.energy.out[0]:.3g} at t = {t:.9g}"
            remedy = "project with 'PVA', or give the conserved quantity"
            return Cause(Status.PROJECTION_FAILED, f"the energy is not conserved, {power} ({remedy})")
        if code == NO_VALUE:
            return Cause(Status.NOT_FINITE, f"the energy, not the equations, is not finite at t = {t:.9g}")
        if code == NO_POSITION:
            worst: Any = np.argsort(-np.abs(self.system.phi(t, q)))[:2] if np.isfinite(q).all() else []
            largest = f"the largest residuals are those of {', '.join(self.system.labels[k] for k in worst)}"
            return Cause(Status.PROJECTION_FAILED, f"the projection onto the constraints has no solution; {largest}")
        if code in (NOT_FINITE, NO_FRICTION):
            return explain_state(self.system, code, self.work, t, q)
        return explain_state(self.system, code, self._singular(), t, q)

    def _singular(self) -> Vector:
        """The workspace with the factors that have lost rank."""
        head = self.model[:lay.HEADER_BYTES].view(np.int64)
        pivots = slice(head[lay.W_DIAG], head[lay.W_DIAG] + self.system.nc)
        return max((self.work, self.projection.metric), key=lambda x: np.count_nonzero(x[pivots] == 0.0))
