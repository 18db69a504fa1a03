"""The end of a run with redundant constraints: multipliers of minimal norm, and whether the equations have stayed redundant."""

from dataclasses import replace

import numpy as np

from ..system import evaluate as ev
from ..system.assembly import AssemblyError, positions
from ..system.system import System
from ..typing import Vector
from .status import Status
from .trajectory import Trajectory

INDEPENDENT = 1e-4  # `|Phi_q^T N|` relative to the longest row of `Phi_q`, from which on equations are not redundant any more


def with_minimal_norm(system: System, trajectory: Trajectory) -> Trajectory:
    """The trajectory with multipliers of minimal norm; it ends with `SINGULAR` where the rank of `Phi_q` grows.

    Redundant equations are found once, at the start. If they become independent on the way, methods do not keep them; states from there
    on are dropped. Nothing is done where nothing is redundant.
    """
    if not len(system.dependent):
        return trajectory
    t, q, lam = (np.array(x, order="C") for x in (trajectory.t, trajectory.q, trajectory.lam))
    rest = ev.minimise(t, q, lam, system.model, system.workspace())
    for k in np.flatnonzero(rest > INDEPENDENT).tolist():
        if _independent(system, t[k], q[k]):
            return _ended(system, replace(trajectory, lam=lam), k)
    return replace(trajectory, lam=lam)


def minimal_norm(system: System, t: float, q: Vector, lam: Vector) -> Vector:
    """Of all multipliers that mean the same forces as `lam` at `q` those of minimal norm; `lam` itself where nothing is redundant."""
    if not len(system.dependent):
        return lam
    rows = np.array(lam)[None]
    ev.minimise(np.array([t]), np.array(q)[None], rows, system.model, system.workspace())
    return rows[0]


def _independent(system: System, t: float, q: Vector) -> bool:
    """Whether the equations are independent not only because the positions are off the constraints."""
    try:
        q = positions(system, t, q)
    except AssemblyError:  # no positions nearby satisfy what was taken for redundant
        return True
    return ev.minimise(np.array([t]), q[None], np.zeros((1, system.nc)), system.model, system.workspace())[0] > INDEPENDENT


def _ended(system: System, trajectory: Trajectory, k: int) -> Trajectory:
    equations = ", ".join(system.labels[row] for row in system.dependent)
    message = (f"the constraints gain rank before t = {trajectory.t[k]:.9g}: equations that follow from others at the start ({equations}) "
               "do not any more; start at a position of full rank")
    x = trajectory
    return replace(x, t=x.t[:k], q=x.q[:k], v=x.v[:k], a=x.a[:k], lam=x.lam[:k], status=Status.SINGULAR, message=message)
