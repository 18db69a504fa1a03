"""Minimum-norm multipliers of a run with redundant constraints, and a check that the redundant equations have remained redundant."""

from dataclasses import replace

import numpy as np

from ..system import evaluate as ev
from ..system.assembly import AssemblyError, positions
from ..system.system import System
from ..typing import Vector
from .rows import Columns
from .status import Status
from .trajectory import Trajectory

RANK_TOL = 1e-4  # of `|Phi_q^T N|` relative to the largest row norm of `Phi_q`: beyond it equations are no longer redundant


def with_minimal_norm(system: System, trajectory: Trajectory) -> Trajectory:
    """The trajectory with minimum-norm multipliers, truncated with status `SINGULAR` where the rank of `Phi_q` increases.

    Redundant equations are identified once, at the start. If they become independent later, the methods do not enforce them, and the
    states from there on are discarded. Without redundant equations the trajectory is returned as it is.
    """
    norm = MinimumNorm(system)
    x = trajectory
    lam = norm(Columns(x.t, x.q, x.v, x.a, x.lam)).lam
    return norm.valid(replace(x, lam=lam))


class MinimumNorm:
    """The same for the rows of a run in parts.

    Parameters
    ----------
    system : System
    count : int
        Number of rows of the run before the first part.

    Attributes
    ----------
    gained : int or None
        The first row at which the rank has increased.
    """

    def __init__(self, system: System, count: int = 0) -> None:
        self._system, self._count = system, count
        self.gained: int | None = None

    def __call__(self, columns: Columns) -> Columns:
        """The rows with minimum-norm multipliers."""
        system, begin = self._system, self._count
        self._count += len(columns.t)
        if not len(system.dependent):
            return columns
        t, q, lam = (np.array(x, order="C") for x in (columns.t, columns.q, columns.lam))
        residual = ev.minimise(t, q, lam, system.model, system.workspace())
        for k in np.flatnonzero(residual > RANK_TOL).tolist():
            if self.gained is None and _independent(system, t[k], q[k]):
                self.gained = begin + k
        return columns._replace(lam=lam)

    def valid(self, trajectory: Trajectory) -> Trajectory:
        """The rows before the rank has increased, of all rows."""
        return trajectory if self.gained is None else _truncated(self._system, trajectory, self.gained)


def minimal_norm(system: System, t: float, q: Vector, lam: Vector) -> Vector:
    """The multipliers of minimal norm with the same constraint forces `Phi_q^T lam`; `lam` itself without redundant equations."""
    if not len(system.dependent):
        return lam
    rows = np.array(lam)[None]
    ev.minimise(np.array([t]), np.array(q)[None], rows, system.model, system.workspace())
    return rows[0]


def _independent(system: System, t: float, q: Vector) -> bool:
    """Whether the equations are independent at the nearest positions on the constraints, too."""
    try:
        q = positions(system, t, q)
    except AssemblyError:  # no positions nearby satisfy the equations taken for redundant
        return True
    return ev.minimise(np.array([t]), q[None], np.zeros((1, system.nc)), system.model, system.workspace())[0] > RANK_TOL


def _truncated(system: System, trajectory: Trajectory, k: int) -> Trajectory:
    equations = ", ".join(system.labels[row] for row in system.dependent)
    message = (f"the constraints gain rank before t = {trajectory.t[k]:.9g}: equations that follow from others at the start ({equations}) "
               "do not any more; start at a position of full rank")
    return replace(trajectory.first(k), status=Status.SINGULAR, message=message)
