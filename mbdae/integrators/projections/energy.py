"""The energy of a system in compiled code, its derivatives, and systems without a conserved energy."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ...compilation.compiled import compiled
from ...jacobians.signatures import Array, Tables, Vector
from ...system import evaluate as ev
from ...system import kernels, sparse
from ...system import layout as lay
from ...system.callbacks import call_force, view
from ...system.system import System
from .levels import Energy, Projection

VALUE, DERIVATIVES, RATE = range(3)
INCREMENT = 6e-6  # of central differences, relative
MAX_SPAN = 1e-3  # of a difference quotient along the motion [s]
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@compiled
def energy(t: float, q: Array, v: Array, user: Energy, model: Tables, work: Array) -> float:
    """`H(t, q, v)`, by the `Energy` of a user or that of the system."""
    if user.address == 0:
        return ev.energy(t, q, v, model, work)
    _call(VALUE, t, q, v, user)
    return user.out[0]


@compiled
def gradient(t: float, q: Array, v: Array, p: Projection, model: Tables, work: Array) -> None:
    """Derivatives of `H` by positions and velocities, into the `directions` of a `Projection`; its vector `room.x` is zero.

    For the energy of the system `dH/dq` is minus the force of gravity and springs at zero velocities.
    """
    user, by_position, by_velocity = p.energy, p.directions.by_position, p.directions.by_velocity
    if user.address == 0:
        kernels.place(t, q, model, work)
        kernels.place_velocity(p.room.x, model, work)
        kernels.force(t, q, p.room.x, p.room.x, model, work, by_position)
        for k in range(v.shape[0]):
            by_position[k] = -by_position[k]
        sparse.mass_times(kernels.mass_values(model, work), v, model, by_velocity)
    else:
        _call(DERIVATIVES, t, q, v, user)
        for k in range(v.shape[0]):
            by_position[k], by_velocity[k] = user.out[1 + k], user.out[1 + v.shape[0] + k]


@compiled
def rate(t: float, q: Array, v: Array, a: Array, user: Energy) -> tuple[float, float, float]:
    """`dH/dt` of a user's energy along the motion with accelerations `a`, the difference of two quotients for it, and their time span."""
    for k in range(a.shape[0]):
        user.state[q.shape[0] + v.shape[0] + k] = a[k]
    _call(RATE, t, q, v, user)
    return user.out[0], user.out[1], user.out[2]


@compiled
def _call(what: int, t: float, q: Array, v: Array, user: Energy) -> None:
    """Call the user's energy; the results are in `user.out`."""
    for k in range(q.shape[0]):
        user.state[k] = q[k]
    for k in range(v.shape[0]):
        user.state[q.shape[0] + k] = v[k]
    call_force(user.address, t, user.state.ctypes.data, what, user.out.ctypes.data, 0)


@compiled
def kinetic(v: Array, model: Tables, work: Array, out: Array) -> float:
    """`1/2 v . M v` with the mass blocks in `work`."""
    sparse.mass_times(kernels.mass_values(model, work), v, model, out)
    total = 0.0
    for k in range(v.shape[0]):
        total += 0.5 * v[k] * out[k]
    return total


class EnergyFunction:
    """`energy(t, q, v)` of a user as a C function; exceptions are stored for `Callbacks.raise_pending`.

    Attributes
    ----------
    user : Energy
        For kernels; its address is 0 if the energy is that of `mbdae.system.evaluate`.
    """

    def __init__(self, owner: str, system: System, function: Callable[..., Any] | None) -> None:
        self._owner, self._system, self._function = owner, system, function
        self._keep = _FUNCTION(self._guarded)
        address = 0 if function is None else ctypes.cast(self._keep, ctypes.c_void_p).value
        self.user = Energy(np.int64(address or 0), np.zeros(system.nq + 2 * system.nv), np.zeros(3 + 2 * system.nv))

    def _guarded(self, t: float, state: int, what: int, out: int, _: int) -> None:
        s = self._system
        results = view(out, 3 + 2 * s.nv)
        q, v, a = np.split(view(state, s.nq + 2 * s.nv), [s.nq, s.nq + s.nv])
        results[:] = np.nan
        s.callbacks.called(self._evaluate, t, q, v, a, what, results, place=("the energy function", t))

    def _evaluate(self, t: float, q: Vector, v: Vector, a: Vector, what: int, out: Vector) -> None:
        s = self._system
        if what == RATE:
            out[:3] = self._rate(t, q, v, a)
            return
        out[0] = self._value(t, q, v)
        if what == DERIVATIVES:
            out[1:1 + s.nv] = [self._slope(t, q, v, s.qdot(q, e, t), 0.0 * v) for e in np.eye(s.nv)]
            out[1 + s.nv:1 + 2 * s.nv] = [self._slope(t, q, v, 0.0 * q, e) for e in np.eye(s.nv)]

    def _value(self, t: float, q: Vector, v: Vector) -> float:
        assert self._function is not None  # kernels call it only then
        value = self._function(t, np.array(q), np.array(v))  # copies: it cannot change the state
        if not isinstance(value, (float, int)) and not (isinstance(value, (np.generic, np.ndarray)) and value.shape == ()
                                                       and value.dtype.kind in "iuf"):
            raise ValueError(f"{self._owner}: energy must return a number, got {value!r} at t = {t:.9g}")
        return float(value)

    def _rate(self, t: float, q: Vector, v: Vector, a: Vector) -> tuple[float, float, float]:
        """See `rate`; the relative change of positions and velocities is at most `INCREMENT`."""
        qd = self._system.qdot(q, v, t)
        quickest = max(np.abs(qd).max() / (1.0 + np.abs(q).max()), np.abs(a).max() / (1.0 + np.abs(v).max()))
        step = min(INCREMENT / quickest, MAX_SPAN) if quickest > 0.0 else MAX_SPAN
        long, short = (self._quotient(t, q, v, qd, a, h) for h in (step, 0.5 * step))
        return short, abs(long - short), step

    def _quotient(self, t: float, q: Vector, v: Vector, along_q: Vector, along_v: Vector, h: float) -> float:
        ends = [self._value(t + x, q + x * along_q, v + x * along_v) for x in (h, -h)]
        return (ends[0] - ends[1]) / (2.0 * h)

    def _slope(self, t: float, q: Vector, v: Vector, along_q: Vector, along_v: Vector) -> float:
        """By a central difference."""
        h = INCREMENT * (1.0 + np.abs(q if along_q.any() else v).max())
        ends = [self._value(t, q + s * h * along_q, v + s * h * along_v) for s in (1, -1)]
        return (ends[0] - ends[1]) / (2.0 * h)


def energy_function(owner: str, system: System, function: Callable[..., Any] | None) -> EnergyFunction:
    """The energy that a projection conserves.

    Parameters
    ----------
    owner : str
        Name of the method in messages.
    system : System
    function : callable or None
        `energy(t, q, v) -> float`; by default that of the system.

    Raises
    ------
    ValueError
        If the system has none, or a mechanism has forces or drivers whose work is not part of its energy.
    """
    if function is not None:
        return EnergyFunction(owner, system, function)
    if system.mechanism is not None:
        _refuse_work(owner, system)
        return EnergyFunction(owner, system, None)
    if not np.isfinite(system.energy(0.0, *system.initial_guess())):
        raise ValueError(f"{owner}: {system.name} has no energy function; give one to System.from_functions, or as energy=, "
                         "or project with 'PVA'")
    return EnergyFunction(owner, system, system.energy)


def _refuse_work(owner: str, system: System) -> None:
    """Refuse forces without a known potential, which gravity and linear springs have, and drivers that depend on time."""
    mechanism = system.mechanism
    assert mechanism is not None
    culprit = next((f for f in mechanism.forces if not _has_potential(f)), None)
    if culprit is not None:
        kind = type(culprit).__name__
        why = "no known potential"
        why = "damping" if getattr(culprit, "c", 0.0) else "a law of its own" if getattr(culprit, "law", None) else why
        raise ValueError(f"{owner}: {kind} {culprit.name!r} has {why}, so the energy of {system.name} is not conserved or not known; "
                         "project with 'PVA', or give the conserved quantity as energy=")
    if (lay.records_of(system._model, lay.MOTION, lay.MOTION_T)["kind"] != 0).any():
        names = ", ".join(repr(d.name) for d in mechanism.drivers) or "a constraint that depends on time"
        raise ValueError(f"{owner}: {names} may do work, so the energy of {system.name} is not conserved; project with 'PVA', "
                         "or give the conserved quantity as energy=")


def _has_potential(force: Any) -> bool:
    """Whether a force is that of linear springs without damping."""
    return hasattr(force, "k") and not force.c and force.law is None
