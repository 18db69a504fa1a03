"""The energy of a system in compiled code, its derivatives, and who has none."""

import ctypes

import numpy as np

from ...compilation.compiled import compiled
from ...system import evaluate as ev
from ...system import kernels, sparse
from ...system import layout as lay
from ...system.callbacks import call_force, view

VALUE, DERIVATIVES, RATE = range(3)
INCREMENT = 6e-6  # of central differences, relative
LONGEST = 1e-3  # time that a difference quotient along the motion may span [s]
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@compiled
def energy(t, q, v, own, model, work):
    """`H(t, q, v)`; `own` is `(address, state, out)` of a function in Python, with the address 0 if there is none."""
    if own[0] == 0:
        return ev.energy(t, q, v, model, work)
    _call(VALUE, t, q, v, own)
    return own[2][0]


@compiled
def gradient(t, q, v, own, zero, model, work, by_position, by_velocity):
    """Derivatives of `H` along displacements of the positions and by the velocities.

    Without a function in Python by positions they are the forces of gravity and springs, those at rest, with the opposite sign.
    """
    if own[0] == 0:
        kernels.place(q, model, work)
        kernels.place_velocity(zero, model, work)
        kernels.force(t, q, zero, zero, model, work, by_position)
        for k in range(v.shape[0]):
            by_position[k] = -by_position[k]
        sparse.mass_times(kernels.mass_values(model, work), v, model, by_velocity)
    else:
        _call(DERIVATIVES, t, q, v, own)
        for k in range(v.shape[0]):
            by_position[k], by_velocity[k] = own[2][1 + k], own[2][1 + v.shape[0] + k]


@compiled
def rate(t, q, v, a, own):
    """`dH/dt` along the motion with accelerations `a`, of a function in Python; how far two difference quotients for it are apart, and
    the time that they span.
    """
    _, state, out = own
    for k in range(a.shape[0]):
        state[q.shape[0] + v.shape[0] + k] = a[k]
    _call(RATE, t, q, v, own)
    return out[0], out[1], out[2]


@compiled
def _call(what, t, q, v, own):
    address, state, out = own
    for k in range(q.shape[0]):
        state[k] = q[k]
    for k in range(v.shape[0]):
        state[q.shape[0] + k] = v[k]
    call_force(address, t, state.ctypes.data, what, out.ctypes.data, 0)


@compiled
def kinetic(v, model, work, out):
    """`1/2 v . M v` with the mass blocks in `work`."""
    sparse.mass_times(kernels.mass_values(model, work), v, model, out)
    total = 0.0
    for k in range(v.shape[0]):
        total += 0.5 * v[k] * out[k]
    return total


class EnergyFunction:
    """`energy(t, q, v)` of a user as a C function; an exception is kept for `Callbacks.raise_pending`.

    Attributes
    ----------
    own : tuple
        What kernels get: its address, 0 where the energy of `mbdae.system.evaluate` serves, and room for its arguments and results.
    """

    def __init__(self, owner, system, function):
        self._owner, self._system, self._function = owner, system, function
        self._keep = _FUNCTION(self._guarded)
        address = 0 if function is None else ctypes.cast(self._keep, ctypes.c_void_p).value
        self.own = np.int64(address), np.zeros(system.nq + 2 * system.nv), np.zeros(3 + 2 * system.nv)

    def _guarded(self, t, state, what, out, _):
        s, out = self._system, view(out, 3 + 2 * self._system.nv)
        q, v, a = np.split(view(state, s.nq + 2 * s.nv), [s.nq, s.nq + s.nv])
        out[:] = np.nan
        s.callbacks.called(self._evaluate, t, q, v, a, what, out, place=("the energy function", t))

    def _evaluate(self, t, q, v, a, what, out):
        s = self._system
        if what == RATE:
            out[:3] = self._rate(t, q, v, a)
            return
        out[0] = self._value(t, q, v)
        if what == DERIVATIVES:
            out[1:1 + s.nv] = [self._slope(t, q, v, s.qdot(q, e, t), 0.0 * v) for e in np.eye(s.nv)]
            out[1 + s.nv:1 + 2 * s.nv] = [self._slope(t, q, v, 0.0 * q, e) for e in np.eye(s.nv)]

    def _value(self, t, q, v):
        value = self._function(t, np.array(q), np.array(v))  # it cannot change the state
        if not isinstance(value, (float, int)) and not (isinstance(value, (np.generic, np.ndarray)) and value.shape == ()
                                                       and value.dtype.kind in "iuf"):
            raise ValueError(f"{self._owner}: energy must return a number, got {value!r} at t = {t:.9g}")
        return float(value)

    def _rate(self, t, q, v, a):
        """See `rate`; positions and velocities change by `INCREMENT`, relative, at most."""
        qd = self._system.qdot(q, v, t)
        quickest = max(np.abs(qd).max() / (1.0 + np.abs(q).max()), np.abs(a).max() / (1.0 + np.abs(v).max()))
        step = min(INCREMENT / quickest, LONGEST) if quickest > 0.0 else LONGEST
        long, short = (self._quotient(t, q, v, qd, a, h) for h in (step, 0.5 * step))
        return short, abs(long - short), step

    def _quotient(self, t, q, v, along_q, along_v, h):
        ends = [self._value(t + x, q + x * along_q, v + x * along_v) for x in (h, -h)]
        return (ends[0] - ends[1]) / (2.0 * h)

    def _slope(self, t, q, v, along_q, along_v):
        """By a central difference."""
        h = INCREMENT * (1.0 + np.abs(q if along_q.any() else v).max())
        ends = [self._value(t, q + s * h * along_q, v + s * h * along_v) for s in (1, -1)]
        return (ends[0] - ends[1]) / (2.0 * h)


def energy_function(owner, system, function):
    """The energy that a projection keeps.

    Parameters
    ----------
    owner : str
        Who asks, for messages.
    system : System
    function : callable or None
        `energy(t, q, v) -> float`; by default that of the system.

    Raises
    ------
    ValueError
        If the system has none, or a mechanism has forces or drivers that do work which its energy does not know.
    """
    if function is not None:
        return EnergyFunction(owner, system, function)
    if system.mechanism is not None:
        _refuse_work(owner, system)
        return EnergyFunction(owner, system, None)
    if not np.isfinite(system.energy(system.start.t, system.start.q, system.start.v)):
        raise ValueError(f"{owner}: {system.name} has no energy function; give one to System.from_functions, or as energy=, "
                         "or project with 'PVA'")
    return EnergyFunction(owner, system, system.energy)


def _refuse_work(owner, system):
    """Of gravity and linear springs the energy is known, and a driver that stands still does no work."""
    culprit = next((f for f in system.mechanism.forces if not _has_potential(f)), None)
    if culprit is not None:
        kind = type(culprit).__name__
        why = "no potential that is known"
        why = "damping" if getattr(culprit, "c", 0.0) else "a law of its own" if getattr(culprit, "law", None) else why
        raise ValueError(f"{owner}: {kind} {culprit.name!r} has {why}, so the energy of {system.name} is not conserved or not known; "
                         "project with 'PVA', or give the conserved quantity as energy=")
    if (lay.records_of(system._model, lay.MOTION, lay.MOTION_T)["kind"] != 0).any():
        names = ", ".join(repr(d.name) for d in system.mechanism.drivers) or "a constraint that depends on time"
        raise ValueError(f"{owner}: {names} may do work, so the energy of {system.name} is not conserved; project with 'PVA', "
                         "or give the conserved quantity as energy=")


def _has_potential(force):
    return hasattr(force, "k") and not force.c and force.law is None
