"""Reference solutions to nearly double precision, by methods other than the compared ones."""

import numpy as np

from ..adapters.scipy import SolveIvp
from ..results.solution import Solution
from ..solve import solve
from ..system.assembly import State, accelerations
from ..system.system import System
from ..typing import ArrayLike, TimeProgress, Vector
from .kinematics import ReferenceSolution, freedom, kinematic_reference

RTOL, ATOL = 1e-12, 1e-13
STIFF_RTOL, STIFF_ATOL = 1e-11, 1e-12
PILOT_SHARE, PILOT_STEPS = 0.1, 2000  # a system is stiff if an explicit method needs more steps on this share of the time span
MAX_STEPS = 40_000


class ReferenceFailed(RuntimeError):
    """No reference solution could be computed."""


def reference(system: System, state: State, times: ArrayLike, *, progress: TimeProgress | None = None) -> ReferenceSolution:
    """A reference solution at given times.

    Without degrees of freedom: kinematic analysis. Otherwise: DOP853 on the underlying ODE with `rtol = 1e-12`, `atol = 1e-13`, or, for
    stiff systems, the implicit Radau method with `rtol = 1e-11`, `atol = 1e-12`. The states are projected onto the constraints.

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
    last = None
    if not _is_stiff(system, state, times):
        last = _integrated(system, state, times, SolveIvp("DOP853", max_steps=MAX_STEPS), RTOL, ATOL, progress)
    if last is None or not last.success:
        last = _integrated(system, state, times, SolveIvp("Radau"), STIFF_RTOL, STIFF_ATOL, progress)
    if not last.success:
        raise ReferenceFailed(f"{system.name}: no reference solution, {last.method}: {last.message}")
    source = f"{last.method} on the underlying ODE, rtol = {RTOL if 'DOP853' in last.method else STIFF_RTOL:g}"
    redundant = bool(accelerations(system, state.t, state.q, state.v)[2])
    return ReferenceSolution(last.t, last.q, last.v, last.a, last.lam, source, redundant)


def _is_stiff(system: System, state: State, times: Vector) -> bool:
    end = state.t + PILOT_SHARE * (times[-1] - state.t)
    pilot = _integrated(system, state, np.array([end]), SolveIvp("DOP853", max_steps=PILOT_STEPS), RTOL, ATOL, None)
    return not pilot.success


def _integrated(system: System, state: State, times: Vector, method: SolveIvp, rtol: float, atol: float,
                progress: TimeProgress | None) -> Solution:
    return solve(system, method, (state.t, times[-1]), formulation="ode", state=state, rtol=rtol, atol=atol, t_eval=times,
                 progress=progress)
