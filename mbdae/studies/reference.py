"""Reference solutions to nearly double precision, by methods other than the compared ones."""

from collections.abc import Iterator

import numpy as np

from ..adapters.scipy import SolveIvp
from ..driver.method import Method
from ..integrators.explicit.methods import DormandPrince
from ..integrators.radau.methods import RadauIIA
from ..results.solution import Solution
from ..solve import solve
from ..system.assembly import State, accelerations
from ..system.system import System
from ..typing import ArrayLike, TimeProgress, Vector
from .kinematics import ReferenceSolution, freedom, kinematic_reference

RTOL, ATOL = 1e-12, 1e-13
PILOT_SHARE = 0.1  # of the time span
PILOT_STEPS, RADAU_STEPS = 2000, 300  # on it: a system is stiff if an explicit method needs more; the second ones as for a Radau method
MAX_STEPS, MANY_STEPS = 40_000, 400_000  # of the explicit method in Python, and in compiled code


class ReferenceFailed(RuntimeError):
    """No reference solution could be computed."""


def reference(system: System, state: State, times: ArrayLike, *, progress: TimeProgress | None = None) -> ReferenceSolution:
    """A reference solution at given times.

    Without degrees of freedom: kinematic analysis. Otherwise `rtol = 1e-12`, `atol = 1e-13` and, with states that are projected onto the
    constraints, SciPy's DOP853 on the underlying ODE; for stiff systems `RadauIIA`, or, where its steps are short, `DormandPrince`.

    Parameters
    ----------
    system : System
    state : State
        Consistent initial state.
    times : array_like
        Times, from `state.t` on, in the direction of integration.
    progress : callable, optional
        `progress(t)`.

    Returns
    -------
    ReferenceSolution

    Raises
    ------
    ReferenceFailed
        If the integration fails; the message says when and why.
    """
    times = np.asarray(times, dtype=float)
    if freedom(system, state) == 0:
        return kinematic_reference(system, times, state)
    for method in _methods(system, state, times):
        last = _integrated(system, state, times, method, progress)
        if last.success:
            break
    else:
        raise ReferenceFailed(f"{system.name}: no reference solution, {last.method}: {last.message}")
    source = f"{last.method} on the {'underlying ODE' if last.formulation == 'ode' else f'form {last.formulation!r}'}, rtol = {RTOL:g}"
    redundant = bool(accelerations(system, state.t, state.q, state.v)[2])
    return ReferenceSolution(last.t, last.q, last.v, last.a, last.lam, source, redundant)


def _methods(system: System, state: State, times: Vector) -> Iterator[Method]:
    """The methods to be tried, the cheapest first."""
    smooth = _suffices(system, state, times, DormandPrince(max_steps=PILOT_STEPS))
    long_steps = not smooth and _suffices(system, state, times, RadauIIA(max_steps=RADAU_STEPS))
    if smooth:
        yield SolveIvp("DOP853", max_steps=MAX_STEPS)
    if long_steps:
        yield RadauIIA()
    yield DormandPrince(max_steps=MANY_STEPS)
    if not long_steps:
        yield RadauIIA()


def _suffices(system: System, state: State, times: Vector, method: Method) -> bool:
    """Whether a method reaches the end of the first part of the time span."""
    end = state.t + PILOT_SHARE * (times[-1] - state.t)
    return _integrated(system, state, np.array([end]), method, None).success


def _integrated(system: System, state: State, times: Vector, method: Method, progress: TimeProgress | None) -> Solution:
    form = "ode" if "ode" in method.formulations else None
    return solve(system, method, (state.t, times[-1]), formulation=form, state=state, rtol=RTOL, atol=ATOL, t_eval=times, progress=progress)
