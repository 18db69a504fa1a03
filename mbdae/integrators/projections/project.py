"""All projections of a state together, compiled once and called by address."""

import numpy as np
from numba import types

from ...compilation.compiled import by_address, compiled
from ...results.diagnosis import explain as explain_chart
from ...results.status import Status
from ...system import kernels, kkt, motion
from ...system import layout as lay
from ...system.codes import GOOD, NO_FRICTION, NO_POSITION, NOT_FINITE
from ...system.sparse import fill
from ...system.vectors import largest
from .energy import energy, energy_function, gradient, kinetic, rate
from .levels import COUNTERS, FACTORISATIONS, SOLVES, accelerations, identity_metric, positions, prepare, put, renew, velocities

# what `project` can be: the levels, and whose energy is kept
NOTHING, PREVIOUS, INITIAL = 0, 1, 2
PROJECTIONS = {"": ("", NOTHING), "P": ("P", NOTHING), "V": ("V", NOTHING), "PV": ("PV", NOTHING), "PVA": ("PVA", NOTHING),
               "PVAE-n": ("PVAE", PREVIOUS), "PVAE-0": ("PVAE", INITIAL)}
NORMS = "mass", "identity"

NO_ENERGY, NOT_CONSERVED, NO_VALUE = 20, 21, 22  # beside the codes of charts
ENERGY_ITERATIONS = 30
REACHED = 2.3e-16  # of an energy, relative to its kinetic and potential parts
NEAR = 1e-6  # the same, for a gradient that serves until the end
CLOSE = 1e-12  # an energy that gets no nearer than this is a failure
LONGEST = 0.5  # correction for the energy, relative to what is corrected
LEAK = 1e-6  # power that is gained or lost, relative to the powers of which it is the sum, with which the energy is not conserved
SPREAD = 10.0  # times the difference between two difference quotients: the error that they may have
NOISE = 1e3  # times rounding: the error that the energy may have


@compiled
def project(levels, t, q, v, a, lam, target, own, metrics, model, work, room):
    """The state moves onto what `levels = (positions, velocities, accelerations, energy)` ask for, `target` is the energy.

    Returns `(code, H)`, `GOOD` or what is wrong, and the energy reached. `metrics` are `(identity, metric)`, see `levels`; `room` is
    scratch from `room_for`. With the energy velocities are projected in the metric of the mass matrix, whatever the other is: only then is
    the kinetic energy changed in second order only, and the slope of the energy left as it was found.
    """
    by_position, by_velocity, by_acceleration, by_energy = levels
    vectors, directions, counts = room
    before, reached, slope, ratio, parts, status = np.inf, target, 0.0, 1.0, 0.0, GOOD
    for k in range(ENERGY_ITERATIONS):
        if by_position:
            status = positions(t, q, vectors, metrics[0], metrics[1], model, work, counts)
        elif k == 0:
            status = renew(t, q, metrics[0], metrics[1], model, work, counts)
        if status != GOOD:
            return status, reached
        if by_velocity:
            velocities(t, q, v, vectors, work if by_energy else metrics[1], model, work, counts)
        if not by_energy:
            break
        last, reached = reached, energy(t, q, v, own, model, work)
        if k > 0:
            ratio *= _gained(target - last, reached - last)
        open_energy = abs(target - reached)
        parts = kinetic(v, model, work, vectors[4])
        parts += abs(reached - parts)
        if not np.isfinite(reached):
            return NO_VALUE if np.isfinite(largest(v)) else NOT_FINITE, reached
        if open_energy <= REACHED * parts or (open_energy >= 0.5 * before and open_energy <= CLOSE * parts):
            break
        if (k > 2 and open_energy >= 0.9 * before) or k == ENERGY_ITERATIONS - 1:
            return NO_ENERGY, reached
        before = open_energy
        if k == 0 or open_energy > NEAR * parts:
            slope = _directions(t, q, v, own, metrics[1], model, work, vectors, directions, counts)
        if not _approach(q, v, (target - reached) / (ratio * slope) if slope > 0.0 else np.inf, model, vectors, directions):
            if open_energy <= CLOSE * parts:
                break
            return NO_ENERGY, reached
    if by_acceleration:
        accelerations(t, q, v, a, vectors, metrics[1], model, work, counts)
        status = _multipliers(t, q, v, lam, vectors, model, work, counts)
    if by_energy and own[0] != 0 and slope > 0.0 and status == GOOD:
        status = _conserved(t, q, v, vectors[2], own, parts, directions)
    return status, reached


@compiled
def _gained(expected, found):
    """By how much the slope is to be corrected: velocities projected in another metric than that of the mass change the energy, too."""
    return found / expected if 0.1 * abs(expected) < abs(found) < 10.0 * abs(expected) and found * expected > 0.0 else 1.0


@compiled
def _directions(t, q, v, own, metric, model, work, vectors, directions, counts):
    """The gradient of the energy within the constraints, as displacement and velocity, and the slope of the energy along it."""
    by_position, by_velocity, dq, dv = directions
    _, _, zero, _, _, none, mu = vectors
    fill(zero, 0.0)
    fill(none, 0.0)
    gradient(t, q, v, own, zero, model, work, by_position, by_velocity)
    kkt.solve(model, metric, by_position, none, dq, mu)
    kkt.solve(model, metric, by_velocity, none, dv, mu)
    counts[SOLVES] += 2
    slope = 0.0
    for k in range(v.shape[0]):
        slope += by_position[k] * dq[k] + by_velocity[k] * dv[k]
    return slope


@compiled
def _approach(q, v, eta, model, vectors, directions):
    """Go as far as `eta` along the gradient; whether that makes sense."""
    _, _, dq, dv = directions
    _, trial, _, _, d, _, _ = vectors
    if not (abs(eta) * largest(dq) <= LONGEST * (1.0 + largest(q)) and abs(eta) * largest(dv) <= LONGEST * (1.0 + largest(v))):
        return False
    for k in range(v.shape[0]):
        d[k] = eta * dq[k]
        v[k] += eta * dv[k]
    kernels.retract(q, d, model, trial)
    put(trial, q)
    return True


@compiled
def _multipliers(t, q, v, lam, vectors, model, work, counts):
    """The multipliers of the equations of motion at `(q, v)`, for factors that belong to `q` up to rounding."""
    a = vectors[2]
    counts[SOLVES] += 1
    status = motion.accelerations(t, q, v, a, lam, model, work)
    if lay.count(model, lay.DEPENDENT):  # a null space of positions nearby is not quite free of forces
        motion.refine(t, q, v, a, lam, model, work)
    return status


@compiled
def _conserved(t, q, v, a, own, parts, directions):
    """`GOOD` if an energy from a function in Python stays as it is in a motion with accelerations `a`, otherwise `NOT_CONSERVED`.

    `dH/dt` is the sum of the powers `dH/dq_k v_k` and `dH/dv_k a_k` and of `dH/dt` at rest. It is not zero if it is more than a small part
    of them, and more than rounding and difference quotients can make of it.
    """
    by_position, by_velocity, _, _ = directions
    leak, apart, step = rate(t, q, v, a, own)
    powers = 0.0
    for k in range(v.shape[0]):
        powers += abs(by_position[k] * v[k]) + abs(by_velocity[k] * a[k])
    bound = LEAK * powers + SPREAD * apart + NOISE * REACHED * parts / step
    return NOT_CONSERVED if abs(leak) > bound else GOOD


_F, _X, _M, _B = types.float64, types.float64[::1], types.uint8[::1], types.boolean
OWN = types.Tuple((types.int64, _X, _X))
METRICS = types.Tuple((_B, _X))
ROOM = types.Tuple((types.UniTuple(_X, 7), types.UniTuple(_X, 4), types.int64[::1]))
PROJECT = by_address(project, types.Tuple((types.int64, _F))(types.UniTuple(_B, 4), _F, _X, _X, _X, _X, _F, OWN, METRICS, _M, _X, ROOM))
PREPARE = by_address(prepare, types.int64(_F, _X, _B, _X, _M, _X))


def room_for(system):
    """Scratch: `(hat, trial, x, pull, d, r, mu)`, four vectors of directions, and the counters of `levels`."""
    nq, nv, nc = system.nq, system.nv, system.nc
    vectors, directions = tuple(np.zeros(n) for n in (nq, nq, nv, nv, nv, nc, nc)), tuple(np.zeros(nv) for _ in range(4))
    return vectors, directions, np.zeros(COUNTERS, dtype=np.int64)


def check(owner, project, norm, function):
    """Whether there is such a projection; `function` is the energy or `None`.

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
        Who asks, for messages.
    system : System
    project, norm : str
    function : callable or None
        The energy, see `energy_function`.

    Attributes
    ----------
    levels : tuple of bool
    keeps : int
        `NOTHING`, `PREVIOUS` or `INITIAL`: whose energy.
    model, own, metrics, room
        For the kernel `project`.
    """

    def __init__(self, owner, system, project, norm, function=None):
        self.owner, (letters, self.keeps) = owner, PROJECTIONS[project]
        self.system, self.model, self.work, self.room = system, system.model, system.workspace(), room_for(system)
        self.levels = tuple(letter in letters for letter in "PVAE")
        identity = norm == "identity"
        self.metrics = identity, identity_metric(system) if identity else self.work
        self.energy = energy_function(owner, system, function) if self.keeps else None
        unused = np.int64(0), np.zeros(0), np.zeros(0)
        self.own = self.energy.own if self.energy else unused

    def value(self, t, q, v):
        """The energy that is to be kept, 0 if none is; a ValueError if it is not finite."""
        if not self.keeps:
            return 0.0
        value = energy(t, q, v, self.own, self.model, self.work)
        self.system.callbacks.check()
        if not np.isfinite(value):
            raise ValueError(f"{self.owner}: energy must return a finite number, got {value!r} at the start, t = {t:.9g}")
        return value

    @property
    def factorisations(self):
        """How many there were, for all projections."""
        return int(self.room[2][FACTORISATIONS])

    @property
    def solves(self):
        """How many there were, for all projections."""
        return int(self.room[2][SOLVES])

    def explain(self, code, t, q):
        """`(Status, reason)` for a code other than `GOOD`."""
        if code == NO_ENERGY:
            return Status.PROJECTION_FAILED, "the energy projection has no solution"
        if code == NOT_CONSERVED:
            leak = f"dH/dt = {self.own[2][0]:.3g} at t = {t:.9g}"
            return Status.PROJECTION_FAILED, f"the energy is not conserved, {leak} (project with 'PVA', or give what is conserved),"
        if code == NO_VALUE:
            return Status.NOT_FINITE, f"the energy, not the equations, is not finite at t = {t:.9g}"
        if code == NO_POSITION:
            worst = np.argsort(-np.abs(self.system.phi(t, q)))[:2] if np.isfinite(q).all() else []
            names = ", ".join(self.system.labels[k] for k in worst)
            return Status.PROJECTION_FAILED, f"the projection onto the constraints has no solution; those that remain open most are {names}"
        if code in (NOT_FINITE, NO_FRICTION):
            return explain_chart(self.system, code, self.work, t, q)
        return explain_chart(self.system, code, self._singular(), t, q)

    def _singular(self):
        """The scratch whose factorisation has found less rank than there should be."""
        head = self.model[:lay.HEADER_BYTES].view(np.int64)
        pivots = slice(head[lay.W_DIAG], head[lay.W_DIAG] + self.system.nc)
        return max((self.work, self.metrics[1]), key=lambda x: np.count_nonzero(x[pivots] == 0.0))
